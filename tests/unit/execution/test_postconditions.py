"""What came out beside what the plan asked for: each check with a result that keeps it and one that does not."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from hearth.execution.results import unmet
from hearth.guard.labels import Value
from hearth.types import OWNER, Parameter, Plain, StepResult, ToolSpec

EVENTS = ToolSpec(
    "find_events",
    "Find events.",
    (Parameter("start", "datetime"), Parameter("end", "datetime"), Parameter("query", "text")),
    returns="list[Event]",
    fields={"id": "EventId", "title": "text", "start": "datetime", "end": "datetime"},
)
MAILS = ToolSpec(
    "find_mail",
    "Find mails.",
    (Parameter("sender", "text"), Parameter("start", "datetime"), Parameter("end", "datetime")),
    returns="list[Mail]",
    fields={"id": "MailId", "sender": "EmailAddress", "sender_name": "text", "subject": "text", "received": "datetime"},
)
REMIND = ToolSpec(
    "add_reminder",
    "Remind.",
    (Parameter("text", "text"), Parameter("at", "datetime"), Parameter("times", "integer", is_required=False)),
    returns="Reminder",
    fields={"id": "ReminderId", "text": "text", "at": "datetime", "times": "integer"},
    effect="change",
)
SEND = ToolSpec(
    "send_mail",
    "Send.",
    (Parameter("draft", "DraftId"),),
    returns="Sent",
    fields={"id": "MailId", "to": "list[EmailAddress]", "subject": "text"},
    effect="send",
)
FRIDAY = {"start": "2026-11-20T00:00:00+01:00", "end": "2026-11-21T00:00:00+01:00"}


def event(start: str, end: str, title: str = "Dentist") -> dict[str, Plain]:
    return {"id": title, "title": title, "start": start, "end": end}


def mail(sender: str, name: str, received: str = "2026-11-20T10:00:00+01:00") -> dict[str, Plain]:
    return {"id": "m", "sender": sender, "sender_name": name, "subject": "Keys", "received": received}


def told(spec: ToolSpec, given: Mapping[str, Plain], value: Plain) -> tuple[str, ...]:
    return unmet(spec, {name: Value(item, OWNER) for name, item in given.items()}, value)


@pytest.mark.parametrize(
    "found",
    [
        [],
        None,
        [event("2026-11-20T15:00:00+01:00", "2026-11-20T16:00:00+01:00")],
        [event("2026-11-19T22:00:00+01:00", "2026-11-20T02:00:00+01:00")],  # reaches into the day
        [event("2026-11-20T22:00:00+01:00", "2026-11-23T02:00:00+01:00")],
        [event("2026-11-20T00:00:00+01:00", "2026-11-21T00:00:00+01:00")],  # the whole day
        [event("2026-11-20", "2026-11-21")],
        [event("soon", "later")],
        [{"title": "without a time"}],
        "no record at all",
    ],
)
def test_what_lies_in_the_period_is_not_spoken_of(found: Plain) -> None:
    assert told(EVENTS, FRIDAY, found) == ()


@pytest.mark.parametrize(
    "stray",
    [
        event("2026-11-22T15:00:00+01:00", "2026-11-22T16:00:00+01:00", "Concert"),
        event("2026-11-19T15:00:00+01:00", "2026-11-19T16:00:00+01:00", "Concert"),
        event("2026-11-21T00:00:00+01:00", "2026-11-21T01:00:00+01:00", "Concert"),
    ],
)
def test_what_lies_outside_the_period_is_named(stray: dict[str, Plain]) -> None:
    right = event("2026-11-20T15:00:00+01:00", "2026-11-20T16:00:00+01:00")
    assert told(EVENTS, FRIDAY, [right, stray]) == ("1 of 2 found lie outside the time that was asked for: “Concert”.",)


def test_half_a_period_and_none_at_all() -> None:
    late = mail("a@x.example", "A", "2026-11-25T10:00:00+01:00")
    assert told(MAILS, {"end": FRIDAY["end"]}, [late])
    assert not told(MAILS, {"start": FRIDAY["start"]}, [late])
    assert not told(MAILS, {}, [late])


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("Anna Berg", mail("anna@x.example", "Anna Berg")),
        ("Anna Berg", mail("a.berg@x.example", "")),
        ("anna@x.example", mail("Anna@X.example", "A")),
        ("my landlord", mail("brandt@x.example", "Rainer Brandt")),  # the tool knows who that is
        ("Mum", mail("ingrid@x.example", "Ingrid Falkenberg")),
        ("", mail("x@x.example", "X")),
    ],
)
def test_a_mail_of_whom_was_asked_for_is_not_spoken_of(asked: str, found: dict[str, Plain]) -> None:
    assert told(MAILS, {"sender": asked}, [found]) == ()


@pytest.mark.parametrize("asked", ["Anna Berg", "anna@x.example"])
def test_a_mail_of_another_is_named(asked: str) -> None:
    assert told(MAILS, {"sender": asked}, [mail("eve@evil.example", "Eve Moss")]) == (
        f"1 of 1 found are not from {asked}: “Keys”.",
    )


def test_the_moment_that_was_asked_for_is_the_one_that_was_set() -> None:
    given: dict[str, Plain] = {"text": "call mum", "at": "2026-11-20T18:00:00+01:00", "times": 2}
    kept: dict[str, Plain] = {"id": "r", "text": "Call mum.", "at": "2026-11-20T17:00:00+00:00", "times": 2}
    assert told(REMIND, given, kept) == ()
    assert told(REMIND, given, {**kept, "at": "2026-11-20T19:00:00+01:00"}) == (
        "Add reminder was to use 2026-11-20T18:00:00+01:00 as at, but says 2026-11-20T19:00:00+01:00; please check.",
    )
    assert told(REMIND, given, {**kept, "times": 3})
    assert told(REMIND, {**given, "times": None}, kept) == ()


@pytest.mark.parametrize(
    ("kept", "is_told"), [(None, False), ("1990-05-03", False), ("2027-05-03", False), ("1990-06-03", True)]
)
def test_a_birthday_is_said_without_its_year(kept: str | None, is_told: bool) -> None:
    day, other = (Parameter(name, "date", is_required=False) for name in ("birthday", "due"))
    change = ToolSpec(
        "change", "Change.", (day, other), returns="Card", fields={"birthday": "date", "due": "date"}, effect="change"
    )
    assert bool(told(change, {"birthday": "2027-05-03"}, {"id": "x", "birthday": kept})) == is_told
    assert told(change, {"due": "2027-05-03"}, {"id": "x", "due": None})
    assert told(change, {"due": "2027-05-03"}, {"id": "x", "due": "2028-05-03"})


def test_a_change_that_shows_nothing_is_told() -> None:
    assert told(REMIND, {"text": "x"}, None) == (
        "Add reminder says it is done, but returned nothing to show for it; please check.",
    )
    silent = ToolSpec("wipe", "Wipe.", returns="none", effect="change")
    assert told(silent, {}, None) == ()


def test_what_was_sent_has_the_recipients_of_its_draft() -> None:
    draft = StepResult(0, "done", {"id": "d1", "to": ["ann@x.example", "bob@x.example"], "subject": "Keys"})
    given = {"draft": Value("d1", OWNER)}
    right: Plain = {"id": "m1", "to": ["Bob@x.example", "ann@x.example"], "subject": "Keys"}
    wrong: Plain = {"id": "m1", "to": ["ann@x.example", "eve@evil.example"], "subject": "Keys"}
    assert unmet(SEND, given, right, {0: draft}) == ()
    assert unmet(SEND, given, wrong, {0: draft}) == (
        "This went to ann@x.example, eve@evil.example, but the draft was for ann@x.example, bob@x.example.",
    )
    assert unmet(SEND, {"draft": Value("d2", OWNER)}, wrong, {0: draft}) == ()


def test_recipients_named_in_the_call_itself_are_compared() -> None:
    post = ToolSpec(
        "post", "Post.", (Parameter("to", "EmailAddress", is_sink=True),), "Sent", {"to": "EmailAddress"}, "send"
    )
    assert told(post, {"to": "ann@x.example"}, {"to": "ann@x.example"}) == ()
    assert told(post, {"to": "ann@x.example"}, {"to": "eve@evil.example"})
