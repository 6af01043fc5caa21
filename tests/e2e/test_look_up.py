"""What would be changed is looked up before the question, which names it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

import pytest

import hearth
from hearth.agent import Agent
from hearth.errors import Ambiguous
from hearth.formats.tool_signature import Names
from hearth.protocols import CallContext, Reply
from hearth.testing import FIXED_NOW
from hearth.types import Episode, Plan, Ref, Referent, Request, Ruling, Step

DELETE = Plan((Step("find_notes", {"query": "boiler"}), Step("delete_note", {"note": Ref(0, ("id",))})))


class Asker:
    """An owner who says what they are told to, and does something meanwhile."""

    def __init__(self) -> None:
        self.questions: list[str] = []
        self.replies: list[Reply] = ["once"]
        self.meanwhile: Callable[[], object] = lambda: None

    def approve(self, question: str, ruling: Ruling) -> Reply:
        self.questions.append(question)
        self.meanwhile()
        return self.replies[len(self.questions) - 1]


@pytest.fixture
def asker() -> Asker:
    return Asker()


@pytest.fixture
def agent(home: Path, asker: Asker) -> Iterator[Agent]:
    opened = Agent.open(home, asker, environ={}, clock=lambda: FIXED_NOW)
    yield opened
    opened.close()


def note(home: Path, name: str, text: str) -> Path:
    path = home / "owner" / "notes" / name
    path.write_text(text)
    return path


def run(agent: Agent, plan: Plan = DELETE) -> Episode:
    return agent.run(Request("delete the note about the boiler", FIXED_NOW), plan)


def test_the_question_names_the_thing_and_the_plan_reads_it_once(agent: Agent, asker: Asker, home: Path) -> None:
    path = note(home, "a.md", "# Old boiler\n\nserviced in May\n")
    assert run(agent).answer.status == "done"
    (question,) = asker.questions
    assert 'note: "Old boiler"' in question
    assert "the id from 1" not in question
    assert not path.exists()


def test_what_is_not_there_or_is_several_is_not_asked_about(agent: Agent, asker: Asker, home: Path) -> None:
    missing = run(agent)
    assert (missing.answer.status, missing.ruling and missing.ruling.verdict) == ("failed", "deny")
    assert "no such note" in missing.answer.text
    paths = [note(home, f"{k}.md", f"# Boiler {k}\n\nboiler\n") for k in range(2)]
    several = run(agent)
    assert several.answer.status == "needs"
    assert "Boiler 0" in several.answer.text
    assert asker.questions == []
    assert all(path.exists() for path in paths)
    assert [result.status for result in several.results] == ["done", "failed"]


def test_the_record_of_a_plan_that_ended_there_is_whole_and_is_not_carried_on(agent: Agent, home: Path) -> None:
    kept = run(agent)
    assert agent.trace.episode(kept.id).answer == kept.answer
    note(home, "a.md", "# Boiler\n\nboiler\n")
    assert agent.recover() == ()
    assert (home / "owner" / "notes" / "a.md").exists()


def test_another_thing_than_the_one_agreed_to_is_asked_about_again(agent: Agent, asker: Asker, home: Path) -> None:
    path = note(home, "a.md", "# Boiler\n\nboiler\n")

    asker.replies = ["once", "no"]
    asker.meanwhile = lambda: path.write_text("# Boiler of the neighbours\n\nboiler\n")
    done = run(agent)
    assert len(asker.questions) == 2
    assert "neighbours" in asker.questions[1]
    assert done.answer.status == "denied"
    assert path.exists()


def test_a_reading_step_that_is_itself_asked_about_is_not_read_before(home: Path, asker: Asker) -> None:
    with (home / "hearth.toml").open("a") as settings:
        settings.write('\n[policy.find_notes]\nruling = "ask"\n')
    note(home, "a.md", "# Boiler\n\nboiler\n")
    opened = Agent.open(home, asker, environ={}, clock=lambda: FIXED_NOW)
    try:
        asker.replies = ["no"]
        assert run(opened).answer.status == "denied"
        assert "the id from 1 (find_notes)" in asker.questions[0]
    finally:
        opened.close()


def test_a_no_leaves_everything_and_a_deny_is_no_question(home: Path, asker: Asker) -> None:
    with (home / "hearth.toml").open("a") as settings:
        settings.write('\n[policy.delete_note]\nruling = "deny"\n')
    path = note(home, "a.md", "# Boiler\n\nboiler\n")
    opened = Agent.open(home, asker, environ={}, clock=lambda: FIXED_NOW + dt.timedelta(minutes=1))
    try:
        assert run(opened).answer.status == "denied"
        assert asker.questions == []
    finally:
        opened.close()
    assert path.exists()


def test_what_a_rule_denies_of_what_was_found_is_not_asked_about(home: Path, asker: Asker) -> None:
    rule = '\n[[rule]]\ntools = ["delete_note"]\nwhen.note = { one_of = ["Old boiler"] }\nruling = "deny"\nreason = "it stays"\n'
    with (home / "hearth.toml").open("a") as settings:
        settings.write(rule)
    path = note(home, "a.md", "# Old boiler\n\nserviced in May\n")
    opened = Agent.open(home, asker, environ={}, clock=lambda: FIXED_NOW)
    denied = run(opened)
    assert (denied.answer.status, denied.ruling and denied.ruling.reason) == ("denied", "it stays")
    assert asker.questions == []
    path.write_text("# New boiler\n\nboiler\n")
    assert run(opened).answer.status == "done"
    assert len(asker.questions) == 1
    opened.close()


def _box_meant(box: object, call: CallContext, given: Mapping[str, object]) -> Referent:
    if box == "raises":
        raise ValueError("boom")
    if box == "two":
        raise Ambiguous("two boxes are called 'two': red, blue; say which one")
    if box == "changes":
        return Referent(call.workspace.read("documents/box.txt").decode())
    return Referent(str(box))


@hearth.tool(effect="change")
def open_box(box: Annotated[str, Names(_box_meant)]) -> str:
    """Open a box."""
    return f"opened {box}"


@pytest.mark.parametrize(
    ("box", "status", "said"),
    [
        ("red", "done", "opened red"),
        ("raises", "failed", "'open_box' failed with ValueError while it looked for what is meant"),
        ("two", "needs", "two boxes are called 'two': red, blue; say which one"),
        ("changes", "denied", "'box' was 'red' when you agreed, and is 'blue' now"),
    ],
)
def test_a_resolver_that_fails_cannot_tell_or_finds_something_else_ends_in_an_answer(
    home: Path, asker: Asker, box: str, status: str, said: str
) -> None:
    (home / "owner" / "documents" / "box.txt").write_text("red")
    asker.replies = ["once", "no"]
    asker.meanwhile = lambda: (home / "owner" / "documents" / "box.txt").write_text("blue")
    opened = Agent.open(home, asker, environ={}, clock=lambda: FIXED_NOW, extra_tools=[open_box])
    done = opened.run(Request("open the box", FIXED_NOW), Plan((Step("open_box", {"box": box}),)))
    opened.close()
    assert done.answer.status == status
    assert said.casefold() in done.answer.text.casefold()
    assert len(asker.questions) == (2 if box == "changes" else 1)


# ── Allowed steps, and what is done in the place of something ─────────────────────────────────────────────

ANNA, BEN = "anna@berg.example", "ben@ash.example"


def mailing(whom: str, *more: Step) -> Plan:
    draft = Step("draft_mail", {"to": [Ref(0, ("email",))], "text": "the rehearsal is off"})
    return Plan((Step("find_contact", {"name": whom}), draft, *more))


def with_contacts(home: Path, *rules: str) -> None:
    for name, address in (("Anna Berg", ANNA), ("Ben Ash", BEN)):
        card = f"BEGIN:VCARD\r\nVERSION:4.0\r\nUID:{name[:3]}\r\nFN:{name}\r\nEMAIL:{address}\r\nEND:VCARD\r\n"
        (home / "owner" / "contacts" / f"{name[:3]}.vcf").write_text(card)
    with (home / "hearth.toml").open("a") as settings:
        settings.writelines(f'\n[policy.{tool}]\nruling = "allow"\n' for tool in rules)


def drafts(home: Path) -> list[str]:
    found = [path.read_text() for path in (home / "owner" / "mail").rglob("*") if path.is_file()]
    return sorted(address for address in (ANNA, BEN) if any(f"To: {address}" in text for text in found))


def test_what_an_allowed_step_is_given_stands_in_the_question_about_the_others(home: Path, asker: Asker) -> None:
    with_contacts(home, "draft_mail", "append_to_note")
    (home / "owner" / "documents" / "code.txt").write_text("the garage opens with 4471")
    asker.replies = ["no", "no"]
    steps = (
        Step("find_contact", {"name": "Anna Berg"}),
        Step("read_file", {"path": "code.txt"}),
        Step("draft_mail", {"to": [Ref(0, ("email",))], "text": Ref(1, ("text",))}),
        Step("send_mail", {"draft": Ref(2, ("id",))}),
    )
    opened = Agent.open(home, asker, environ={}, clock=lambda: FIXED_NOW)
    try:
        opened.run(Request("send Anna the code", FIXED_NOW), Plan(steps))
        assert f'to (decides where it goes): "{ANNA}" ("Anna Berg" in your contacts)' in asker.questions[0]
        assert "the garage opens with 4471" in asker.questions[0]
        assert drafts(home) == []
        note(home, "a.md", "# Old boiler\n\nserviced in May\n")
        write = Step("append_to_note", {"note": Ref(0, ("id",)), "text": "and in June"})
        run(opened, Plan((DELETE.steps[0], write, Step("delete_file", {"path": "code.txt"}))))
        assert 'note: "Old boiler"' in asker.questions[1]
    finally:
        opened.close()


def test_an_allowed_plan_is_done_without_a_question(home: Path, asker: Asker) -> None:
    with_contacts(home, "draft_mail")
    opened = Agent.open(home, asker, environ={}, clock=lambda: FIXED_NOW)
    assert opened.run(Request("email Anna", FIXED_NOW), mailing("Anna Berg")).answer.status == "done"
    opened.close()
    assert (asker.questions, drafts(home)) == ([], [ANNA])


@pytest.mark.parametrize("reply", ["once", "no"])
def test_a_revision_names_its_thing_and_says_what_is_taken_back(
    agent: Agent, asker: Asker, home: Path, reply: Reply
) -> None:
    asker.replies = ["once", reply]
    first, second = note(home, "a.md", "# Old boiler\n\nboiler\n"), note(home, "b.md", "# Campsite\n\ntent\n")
    before = run(agent)
    other = Plan((Step("find_notes", {"query": "campsite"}), DELETE.steps[1]))
    agent.run(Request("delete the campsite note", FIXED_NOW, revises=before.id), other)
    assert asker.questions[1].startswith(
        'First I would take back what I did for "delete the note about the boiler".\nThis is what I would do:\n'
    )
    assert 'note: "Campsite"' in asker.questions[1]
    assert (first.exists(), second.exists()) == ((True, False) if reply == "once" else (False, True))


def test_what_was_done_to_the_same_thing_is_put_right_with_one_question(agent: Agent, asker: Asker, home: Path) -> None:
    asker.replies = ["once", "once"]
    event = "\r\n".join(["BEGIN:VEVENT", "UID:a", "SUMMARY:Lunch", "DTSTART:20261124T120000", "END:VEVENT"])
    path = home / "owner" / "calendar" / "a.ics"
    path.write_text(f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{event}\r\nEND:VCALENDAR\r\n")
    ids: list[str] = []
    for hour in (15, 16):
        move = Step("move_event", {"event": Ref(0, ("id",)), "start": f"2026-11-24T{hour}:00:00+01:00"})
        request = Request("move lunch", FIXED_NOW, revises="".join(ids))
        done = agent.run(request, Plan((Step("find_events", {"query": "lunch"}), move)))
        assert done.answer.status == "done", done.answer.text
        ids = [done.id]
    assert len(asker.questions) == 2
    assert "T160000" in path.read_text()


def test_what_is_there_only_once_it_is_taken_back_can_be_revised(agent: Agent, asker: Asker, home: Path) -> None:
    asker.replies = ["once", "once"]
    path = note(home, "a.md", "# Old boiler\n\nboiler\n")
    before = run(agent)
    write = Step("append_to_note", {"note": Ref(0, ("id",)), "text": "and in June"})
    plan = Plan((DELETE.steps[0], write))
    done = agent.run(Request("write into the boiler note", FIXED_NOW, revises=before.id), plan)
    assert done.answer.status == "done", done.answer.text
    assert "and in June" in path.read_text()


def test_a_standing_yes_to_another_takes_nothing_back_before_the_question(
    agent: Agent, asker: Asker, home: Path
) -> None:
    with_contacts(home)
    asker.replies = ["always", "no", "no"]
    before = agent.run(Request("email Anna", FIXED_NOW), mailing("Anna Berg"))
    revised = agent.run(Request("email Ben", FIXED_NOW, revises=before.id), mailing("Ben Ash"))
    assert (revised.answer.status, drafts(home)) == ("denied", [ANNA])
    assert f'"{BEN}"' in asker.questions[1]
    again = agent.run(Request("email Anna", FIXED_NOW, revises=before.id), mailing("Anna Berg"))
    assert (again.answer.status, len(asker.questions)) == ("done", 2)
