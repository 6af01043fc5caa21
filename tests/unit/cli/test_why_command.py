"""`hearth why`: every sentence rests on a field that was recorded."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
from dataclasses import replace
from pathlib import Path

import pytest

from hearth.cli import run
from hearth.cli.why_command import Record, explained, explained_step
from hearth.guard.egress.ledger import Draft, Ledger
from hearth.storage.database import Store
from hearth.storage.trace import CallRecord, StartedStep, Trace
from hearth.testing import FIXED_NOW
from hearth.types import (
    OWNER,
    Answer,
    Asked,
    Episode,
    Label,
    Plan,
    Ref,
    Refusal,
    Request,
    Ruling,
    Step,
    StepResult,
)

NOW = FIXED_NOW
CARD = Label(frozenset({"contacts", "owner"}), frozenset())
MAIL = Label(frozenset({"message"}), frozenset())
PLAN = Plan(
    (
        Step("find_contact", {"name": "Ben"}, text="to Ben"),
        Step("send_mail", {"to": Ref(0, ("email",)), "text": "the roof is done", "at": "2026-11-21T09:00:00+01:00"}),
        Step("add_to_list", {"items": ["milk"]}, after=(1,), replaces=0),
    ),
    confidence=0.9312,
    planner="student",
    rests_on=("d-1", "gone"),
    unserved=("and sing a song",),
    expected_f1=0.9,
    considered=((("find_contact", "send_mail"), 0.8), ((), 0.2)),
)
STARTED = (
    StartedStep(0, "find_contact", "e1-0", {"name": "Ben"}, NOW, "none", Ruling("allow", "it only reads", "default")),
    StartedStep(
        *(1, "send_mail", "e1-1"),
        {"to": "ben@x.example", "text": "the roof is done", "at": "2026-11-21T09:00:00+01:00"},
        *(NOW, "send", Ruling("ask", "mail cannot be taken back", "policy.send_mail")),
        {"to": CARD, "text": OWNER, "at": OWNER},
    ),
    StartedStep(2, "add_to_list", "e1-2", {"items": ["milk"]}, NOW, "change"),
)
RESULTS = (
    StepResult(0, "done", [{"name": "Ben Ode", "email": "ben@x.example"}], CARD, duration_ms=3, key="e1-0"),
    StepResult(1, "done", None, OWNER, duration_ms=90, n_attempts=2, key="e1-1", notices=("The server was slow",)),
    StepResult(2, "done", None, OWNER, duration_ms=9, key="e1-2"),
)
EPISODE = Episode(
    "e1",
    Request("tell Ben “the roof is done” tomorrow at nine and sing a song", NOW),
    PLAN,
    None,
    Ruling("allow", "you agreed (mail cannot be taken back)", "policy.send_mail"),
    RESULTS,
    Answer("Sent.", "partly"),
    rounds=1,
    asked=(Asked("This is what I would do: …", "once"),),
)


def record(episode: Episode = EPISODE, started: tuple[StartedStep, ...] = STARTED) -> Record:
    calls = {s.step: CallRecord(s, next(r for r in episode.results if r.step == s.step)) for s in started}
    return Record(episode, calls, {"d-1": ("tell Ann that it rains", "teacher")})


def says(what: Record) -> list[str]:
    return [sentence for section in explained(what) for sentence in section.says]


def test_who_asked_is_said() -> None:
    others = replace(EPISODE, request=replace(EPISODE.request, asked_by="cook book"))
    assert says(record(others))[0] == "The program “cook book” asked this on Fri 20 Nov 2026 09:30."


def test_what_was_made_up_is_told_from_the_owners_words() -> None:
    assert EPISODE.plan is not None
    first, *rest = EPISODE.plan.steps
    name = next(iter(first.arguments))
    for source, said in (("teacher", "the teacher"), ("model", "a language model")):
        steps = (replace(first, unsaid={name: source}), *rest)
        told = says(record(replace(EPISODE, plan=replace(EPISODE.plan, steps=steps))))
        assert any(f"made up by {said}; your request does not say it" in sentence for sentence in told)
    assert not any("made up by" in sentence for sentence in says(record()))


def test_a_request_is_explained_whole() -> None:
    assert {section.title: list(section.says) for section in explained(record())} == {
        "Asked": ["You asked this on Fri 20 Nov 2026 09:30."],
        "The plan": [
            "It was made by student, with a confidence of 0.93.",
            "Expected share of its tools that is right: 0.90.",
            "Of the plans that the teacher gave, 80% called find_contact, send_mail.",
            "Of the plans that the teacher gave, 20% called no tool.",
            "It rests on “tell Ann that it rains” (demonstration d-1, from a teacher).",
            "It rests on demonstration gone, which is not held any more.",
            "Not planned, as no tool serves it: “and sing a song”.",
        ],
        "Who agreed": [
            "The plan was allowed by the rule policy.send_mail: you agreed (mail cannot be taken back).",
            "You were asked “This is what I would do: …”; you agreed, this once.",
        ],
        "Step 1: find_contact": [
            "It was done in 3 ms.",
            "It serves: “to Ben”.",
            "It was allowed by the rule default: it only reads.",
            "It only reads.",
            'name = "Ben": your own words.',
        ],
        "Step 2: send_mail": [
            "It was done in 90 ms.",
            "It had to be asked about by the rule policy.send_mail: mail cannot be taken back.",
            "It sends, or cannot be taken back.",
            'to = "ben@x.example": the field email of what step ① (find_contact) found, in “Ben Ode” '
            "(made from your contacts, your request).",
            'text = "the roof is done": your own words.',
            "at = Sat 21 Nov 2026 09:00: taken from your request by the planner, though not word for word.",
            "It was tried 2 times.",
            "The server was slow.",
        ],
        "Step 3: add_to_list": [
            "It was done in 9 ms.",
            "It changes your data.",
            'items = "milk": taken from your request by the planner, though not word for word.',
            "It waited for step 2, without taking data from it.",
        ],
        "Repaired": [
            "The rest was planned anew 1 time.",
            "Step 3 (add_to_list) replaces step 1, which failed.",
        ],
        "What left this device": ["Nothing: the ledger has no entry for this request."],
        "Taking it back": [
            "Step 2 (send_mail): what was sent cannot be called back.",
            "Step 3 (add_to_list): `hearth undo e1` takes it back, for 30 days.",
        ],
    }


def test_a_value_of_a_stranger_is_named() -> None:
    started = dataclasses.replace(STARTED[1], labels={"to": MAIL})
    (sentence,) = [s for s in explained_step(record(started=(started,)), 1).says if s.startswith("to = ")]
    assert sentence.endswith("(made from a message that came in), which somebody else may have written.")


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("failed", "It failed: no such list."),
        ("skipped", "It was left out: no such list."),
        ("denied", "It was denied: no such list."),
        ("unknown", "Whether it had its effect is not known: no such list."),
    ],
)
def test_a_step_that_did_not_end_well_says_so(status: str, said: str) -> None:
    result = StepResult(2, status, error="no such list")  # type: ignore[arg-type]
    episode = dataclasses.replace(EPISODE, results=(*RESULTS[:2], result))
    assert explained_step(record(episode), 2).says[0] == said
    assert not any("hearth undo" in sentence for sentence in says(record(episode)))


def test_a_step_that_never_ran_a_refusal_and_an_old_record() -> None:
    never = dataclasses.replace(EPISODE, results=(), ruling=Ruling("deny", "you said no", "default"), asked=())
    assert explained_step(record(never, ()), 0).says[0] == "It was not run."
    assert "The plan was denied by the rule default: you said no." in says(record(never, ()))
    assert says(record(never, ()))[-1] == "Nothing was changed or sent."
    refused = dataclasses.replace(never, plan=None, ruling=None, refusal=Refusal("out_of_scope", "I cannot sing yet"))
    assert "I cannot sing yet (out of scope)" in says(record(refused, ()))


def test_it_is_read_from_the_home(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store.open(home / "hearth.db") as store:
        trace = Trace(store)
        trace.begin(EPISODE.request, "e1")
        trace.planned("e1", PLAN, None, EPISODE.ruling, 3.0)
        trace.steps("e1", finished=(), started=STARTED)
        trace.finish(EPISODE)
        trace.mark_undone("e1", 2)
        ledger = Ledger(store, lambda: NOW.astimezone(dt.UTC))
        ledger.append(
            Draft(
                *("sent", "smtp.x.example", "send a mail", b"[A]", 210, {"[A]": "Ben"}),
                *(465, "", "TLSv1.3 X", "policy.send_mail", "e1", 1),
            )
        )
        ledger.append(Draft("used", "llm.example", "answer", n_tokens=30, episode="e1"))
        ledger.append(Draft("refused", "x.example", "the budget is used up", episode="e1"))
    assert run(["--home", str(home), "why", "e1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    about = {section["about"]: section["says"] for section in document["why"]}
    sent = (
        "210 bytes went to smtp.x.example over TLSv1.3 X (send a mail; ledger entry 1, under the rule "
        "policy.send_mail), with 1 value masked."
    )
    assert sent in about["Step 2: send_mail"]
    assert about["What left this device"] == [
        sent,
        "llm.example counted 30 tokens (answer; ledger entry 2).",
        "Kept from leaving: the budget is used up (ledger entry 3).",
    ]
    assert "It was allowed by the rule default: it only reads." in about["Step 1: find_contact"]
    assert "You took it back." in about["Step 3: add_to_list"]
    assert "Step 3 (add_to_list): you took it back." in about["Taking it back"]

    assert run(["--home", str(home), "why", "e1", "2"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(
        "“tell Ben “the roof is done” tomorrow at nine and sing a song”\nStep 2: send_mail\n  · It was"
    )
    assert "Step 1" not in out
    assert run(["--home", str(home), "why", "e1", "4"]) == 4
    assert "e1 has 3 steps, there is no step 4" in capsys.readouterr().err
    assert run(["--home", str(home), "why", "nope"]) == 4
    assert run(["--home", str(home), "why"]) == 0  # the last request
    assert run(["--home", str(home), "why", "e1", "0"]) == 2
