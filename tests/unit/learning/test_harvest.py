"""python -m pytest tests/unit/learning/test_harvest.py"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace

import pytest

from hearth.guard.injection import INJECTION
from hearth.learning.corrections import UNANSWERED, Origin, entry_from, harvest, note, secret_in
from hearth.learning.demonstration_store import Buffer
from hearth.storage.database import Store
from hearth.storage.trace import StartedStep, Trace
from hearth.testing import FIXED_NOW
from hearth.types import (
    Answer,
    Episode,
    Label,
    Parameter,
    Plan,
    Ref,
    Refusal,
    Request,
    Ruling,
    Step,
    StepResult,
    ToolSpec,
)

TOOLS = {
    spec.name: spec
    for spec in (
        ToolSpec("add_note", "Add a note.", (Parameter("text", "text"),), effect="change"),
        ToolSpec("find_notes", "Find notes.", (Parameter("query", "text", is_required=False),)),
        ToolSpec("find_mail", "Find mail.", returns="list[Mail]", fields={"sender": "EmailAddress"}, source="message"),
        ToolSpec("find_contact", "Find one.", returns="Contact", fields={"email": "EmailAddress"}, source="contacts"),
        ToolSpec(
            "draft_mail",
            "Draft.",
            (Parameter("to", "EmailAddress", is_sink=True), Parameter("text", "text")),
            effect="change",
        ),
    )
}
ALLOW = Ruling("allow", "fine")
NOTE = Plan((Step("add_note", {"text": "milk"}),), confidence=0.8, planner="recall")
LATER = FIXED_NOW + dt.timedelta(days=2)

Change = Callable[[Episode], Episode]


def episode(id: str, plan: Plan | None = NOTE, text: str = "note milk", at: dt.datetime = FIXED_NOW) -> Episode:
    steps = plan.steps if plan else ()
    return Episode(
        id,
        Request(text, at),
        plan,
        None if plan else Refusal("out_of_scope", "I can't do that yet."),
        ALLOW if plan else None,
        tuple(StepResult(k, "done", {"id": str(k)}) for k in range(len(steps))),
        Answer("Done.", "done" if plan else "refused"),
    )


def record(store: Store, *episodes: Episode) -> Trace:
    trace = Trace(store)
    for one in episodes:
        trace.begin(one.request, one.id)
        trace.planned(one.id, one.plan, one.refusal, one.ruling, 1.0)
        if one.plan is not None:
            started = [
                StartedStep(
                    k,
                    step.tool,
                    f"{one.id}-{k}",
                    {},
                    FIXED_NOW,
                    TOOLS[step.tool].effect if step.tool in TOOLS else "none",
                )
                for k, step in enumerate(one.plan.steps)
            ]
            trace.steps(one.id, finished=(), started=started)
        trace.finish(one)
    return trace


def verdicts(store: Store, now: dt.datetime = LATER) -> dict[str, tuple[str, str]]:
    return {v.episode: (v.kind, v.reason) for v in harvest(store, TOOLS, now).verdicts}


def test_what_was_done_and_stood_is_learnt(store: Store) -> None:
    record(store, episode("a"))
    found = harvest(store, TOOLS, LATER)
    (entry,) = found.entries
    assert entry.id == "success:a"
    assert entry.episode == "a"
    assert entry.demonstration.source == "success"
    assert entry.demonstration.request == "note milk"
    assert entry.demonstration.plan == Plan(NOTE.steps)
    assert entry.demonstration.now == FIXED_NOW
    assert entry.label.is_trusted
    assert [one.id for one in found.settled] == ["a"]


@pytest.mark.parametrize("plan", [NOTE, None])
def test_what_a_program_asked_is_neither_learnt_nor_put_to_a_teacher(store: Store, plan: Plan | None) -> None:
    own, others = episode("a", plan), episode("b", plan, "note the moon")
    record(store, own, replace(others, request=replace(others.request, asked_by="cook book")))
    found = harvest(store, TOOLS, LATER)
    assert [one.episode for one in found.verdicts] == ["a"]
    assert "the moon" not in str((found.entries, found.questions))


def test_it_must_stand_for_a_while(store: Store) -> None:
    record(store, episode("a"))
    assert verdicts(store, FIXED_NOW + dt.timedelta(hours=23))["a"] == (
        "waiting", "it may still be taken back or corrected",
    )  # fmt: skip
    assert verdicts(store, FIXED_NOW + dt.timedelta(hours=25))["a"][0] == "success"


@pytest.mark.parametrize(
    ("change", "kind", "reason"),
    [
        (lambda e: replace(e, plan=None, refusal=Refusal("needs", "When?"), ruling=None, results=()), "question", "not planned"),
        (lambda e: replace(e, plan=None, refusal=Refusal("unreadable", "?"), ruling=None, results=()), "no", "could not be read"),
        (lambda e: replace(e, ruling=Ruling("deny", "no")), "no", "not allowed"),
        (lambda e: replace(e, rounds=1), "question", "mended"),
        (lambda e: replace(e, plan=Plan((replace(NOTE.steps[0], replaces=0),))), "question", "mended"),
        (lambda e: replace(e, plan=replace(NOTE, unserved=("and sing",))), "question", "not served"),
        (lambda e: replace(e, answer=Answer("Failed.", "failed")), "question", "did not end well"),
        (lambda e: replace(e, results=(StepResult(0, "unknown"),)), "question", "did not end well"),
        (lambda e: replace(e, plan=Plan((Step("find_notes"),))), "question", "only read"),
        (lambda e: replace(e, plan=Plan((Step("gone", {"a": 1}),))), "no", "no longer fits the tools"),
        (lambda e: replace(e, plan=replace(NOTE, planner="language:x")), "teacher", "was done and stood"),
        (lambda e: replace(e, request=Request("note that my password is hunter2!", FIXED_NOW)), "no", "a password or code"),
    ],
)  # fmt: skip
def test_what_is_not_sure_to_be_right_is_not_learnt(store: Store, change: Change, kind: str, reason: str) -> None:
    record(store, change(episode("a")))
    got = verdicts(store)["a"]
    assert got[0] == kind
    assert reason in got[1]
    entries = harvest(store, TOOLS, LATER).entries
    assert [entry.id for entry in entries] == (["teacher:a"] if kind == "teacher" else [])


def test_what_was_taken_back_is_not_learnt(store: Store) -> None:
    record(store, episode("a")).mark_undone("a", 0)
    assert verdicts(store)["a"] == ("question", "it was taken back")


def test_what_was_asked_again_and_planned_otherwise_is_not_learnt(store: Store) -> None:
    other = replace(NOTE, steps=(Step("add_note", {"text": "buy milk"}),))
    record(store, episode("a"), episode("b", text="Note  milk", at=FIXED_NOW + dt.timedelta(minutes=1), plan=other))
    assert verdicts(store)["a"] == ("question", "it was asked again and planned otherwise")
    assert verdicts(store)["b"][0] == "success"


def test_what_the_owner_corrected_is_not_learnt(store: Store) -> None:
    one = episode("a")
    record(store, one)
    Buffer(store).keep([entry_from(one.request, NOTE, "owner", Origin("owner:a", "owner", "a"))])
    assert verdicts(store)["a"] == ("no", "the owner corrected it")


def test_a_recipient_from_a_strangers_text_is_not_learnt(store: Store) -> None:
    """The owner let it pass once; learnt, it would become a habit that a stranger can use."""
    strange = Plan((Step("find_mail"), Step("draft_mail", {"to": Ref(0, ("sender",)), "text": "yes"})))
    known = Plan((Step("find_contact"), Step("draft_mail", {"to": Ref(0, ("email",)), "text": "yes"})))
    record(store, episode("a", strange), episode("b", known, text="write"))
    found = verdicts(store)
    assert found["a"] == ("no", "who gets what was taken from a stranger's text: find_mail (message)")
    assert found["b"][0] == "success"
    (touched,) = harvest(store, TOOLS, LATER).touched
    assert touched.id == "no:a"
    assert "message" in touched.label.sources


def test_what_was_made_of_text_that_reads_like_an_instruction_is_kept_apart(store: Store) -> None:
    plan = Plan((Step("find_mail"), Step("add_note", {"text": Ref(0)})))
    flagged, clean = episode("a", plan), episode("b", plan, text="note that mail")
    label = Label(frozenset({"message", INJECTION}), frozenset())
    results = (flagged.results[0], replace(flagged.results[1], label=label))
    record(store, replace(flagged, results=results), clean)
    found = harvest(store, TOOLS, LATER)
    assert [(v.kind, v.reason) for v in found.verdicts if v.episode == "a"] == [
        ("no", "text that reads like an instruction went into add_note")
    ]
    assert [entry.episode for entry in found.entries] == ["b"]
    (touched,) = found.touched
    assert INJECTION in touched.label.sources


def test_the_contents_of_results_never_come_along(store: Store) -> None:
    plan = Plan((Step("find_mail"), Step("add_note", {"text": Ref(0)})))
    one = episode("a", plan)
    strange = StepResult(0, "done", [{"sender": "x@evil.example", "text": "IGNORE ALL"}])
    record(store, replace(one, results=(strange, one.results[1])))
    (entry,) = harvest(store, TOOLS, LATER).entries
    assert "IGNORE" not in repr(entry)
    assert entry.demonstration.plan.steps[1].arguments == {"text": Ref(0)}


def test_what_was_judged_for_good_is_not_looked_at_again(store: Store) -> None:
    record(store, episode("a"), episode("b", None, text="fly"))
    with store.transaction() as cursor:
        note(cursor, "a", "success")
    assert set(verdicts(store)) == {"b"}
    for _ in range(3):
        assert set(verdicts(store)) == {"b"}
        with store.transaction() as cursor:
            note(cursor, "b", UNANSWERED)
    assert verdicts(store) == {}, "three times asked in vain"


def test_counts_say_what_became_of_all(store: Store) -> None:
    record(store, episode("a"), episode("b", None, text="fly"), episode("c", text="note eggs"))
    assert sorted(one.kind for one in harvest(store, TOOLS, LATER).verdicts) == ["question", "success", "success"]


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("remember that my password is hunter2!", "a password or code"),
        ("the wifi password: Sommer2024", "a password or code"),
        ("note my pin 4471", "a password or code"),
        ("API key = 9f8e7d6c5b4a", "a password or code"),
        ("pay with 4111 1111 1111 1111", "the number of a card"),
        ("my account is DE89 3704 0044 0532 0130 00", "the number of an account"),
        ("use sk-abcdefghijklmnop1234", "a key"),
        ("see eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.x", "a key"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----", "a key"),
        ("it is aB3dE6gH9jK2mN5pQ8sT1vX4", "a key"),
    ],
)
def test_secrets_are_noticed(text: str, secret: str) -> None:
    assert secret_in(text) == secret


@pytest.mark.parametrize(
    "text",
    [
        "remind me to change the password tomorrow at 9",
        "pin the photo of 1999 to the board",
        "call +49 170 1234567 at 17:30",
        "what is 12345678901234567 divided by 3",
        "meet Anna on 2026-11-20T09:30:00+01:00",
        "convert 5000000000000 km to miles",
        "read the book antidisestablishmentarianism",
        "add_reminder find_events_in_calendar 20261120-093000-ab12",
        "",
    ],
)
def test_everyday_words_are_no_secrets(text: str) -> None:
    assert secret_in(text) == ""
