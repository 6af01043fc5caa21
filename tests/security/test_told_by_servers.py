"""A change of an event that a calendar server tells others of is sending: it is asked about as that, whatever is allowed
of changes, and named with whom the server may write to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from hearth.guard.decision import Occasion, Records
from hearth.guard.labels import Value
from hearth.protocols import CallContext
from hearth.storage.workspace import Folder
from hearth.testing import FixedApprover
from hearth.types import OWNER, Plain, Plan, Ref, Ruling, Step
from tests.security.test_referents import World

ALLOWED = "[policy.move_event]\nruling = 'allow'\n"
TO = {"start": "2026-11-25T10:00"}
INVITED = "ORGANIZER:mailto:me@mine.example", "ATTENDEE:mailto:anna@berg.example"


@pytest.fixture
def world(folder: Folder) -> World:
    return World(folder)


def _on_server(
    world: World, uid: str, *lines: str, marks: str = "X-HEARTH-HREF:/{}.ics\r\nX-HEARTH-ETAG:1\r\n"
) -> None:
    body = "\r\n".join([f"UID:{uid}", f"SUMMARY:{uid.title()}", "DTSTART:20261124T091500", *lines])
    text = f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{marks.format(uid)}BEGIN:VEVENT\r\n{body}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    world.write(f"calendar/caldav/{uid}.ics", text)


def _call(world: World) -> CallContext:
    call = world.call()
    return replace(call, settings={**call.settings, "calendar": {"url": "https://calendar.example/"}})


def _ruling(
    world: World, rules: str, approver: FixedApprover, event: str = "lunch", records: Records | None = None
) -> Ruling:
    call, monitor = _call(world), world.monitor(rules, approver, records)
    arguments: dict[str, Plain] = {"event": event, **TO}
    plan = Plan((Step("move_event", dict(arguments)),), 1.0)  # type: ignore[arg-type]
    ruled = monitor.rule(plan, occasion=Occasion(call.now, call.workspace, "e", None, call))
    if ruled.verdict == "deny":
        return ruled
    return monitor.admit(plan, 0, {name: Value(value, OWNER) for name, value in arguments.items()}, call)


def test_a_rule_that_allows_a_change_does_not_allow_what_a_server_sends_of_it(world: World) -> None:
    _on_server(world, "lunch", *INVITED)
    _on_server(world, "walk")
    _on_server(world, "tea", *INVITED, marks="")
    asked = FixedApprover("once")
    assert _ruling(world, ALLOWED, asked).verdict == "allow"
    ((question, ruling),) = asked.questions
    assert "move_event (cannot be undone)" in question
    assert "the calendar server may write to anna@berg.example" in ruling.reason
    for event in ("walk", "tea", "dentist"):  # nobody invited; not from the server; another folder
        assert _ruling(world, ALLOWED, asked, event).verdict == "allow"
    assert len(asked.questions) == 1


def test_by_default_it_is_asked_about_as_sending(world: World) -> None:
    _on_server(world, "lunch", *INVITED)
    asked = FixedApprover("no")
    assert _ruling(world, "", asked).verdict == "deny"
    _ruling(world, "", asked, "dentist")
    assert ["may write to" in ruling.reason for _, ruling in asked.questions] == [True, False]
    assert ["can be undone" in question for question, _ in asked.questions] == [False, True]


def test_a_rule_that_denies_an_address_denies_the_event_that_is_told_to_it(world: World) -> None:
    _on_server(world, "lunch", *INVITED)
    rules = ALLOWED + "[[rule]]\ntools = ['move_event']\nwhen.event = {{ one_of = ['{}'] }}\nruling = 'deny'"
    for address, verdict in (("Anna@Berg.example", "deny"), ("ben@ash.example", "allow")):
        assert _ruling(world, rules.format(address), FixedApprover("once")).verdict == verdict


def test_always_holds_for_those_who_were_told_and_for_nobody_else(world: World) -> None:
    _on_server(world, "lunch", *INVITED)
    records, asked = Records(), FixedApprover("always")
    monitor, call = world.monitor(ALLOWED, asked, records), _call(world)
    plan = Plan((Step("move_event", {"event": "lunch", **TO}),), 1.0)
    monitor.rule(plan, occasion=Occasion(call.now, call.workspace, "e", None, call))
    things: Mapping[str, Value] = {"event": Value("lunch", OWNER), "start": Value(TO["start"], OWNER)}
    with pytest.raises(Exception, match="calendar"):  # there is no server: what was said is on record before the call
        monitor.call(plan, 0, things, call)
    assert _ruling(world, ALLOWED, asked, records=records).verdict == "allow"
    assert len(asked.questions) == 1
    _on_server(world, "lunch", *INVITED, "ATTENDEE:mailto:mal@evil.example")
    assert _ruling(world, ALLOWED, asked, records=records).verdict == "allow"
    assert "mal@evil.example" in asked.questions[-1][1].reason


def test_what_a_step_finds_is_asked_about_before_the_server_tells_of_it(world: World) -> None:
    _on_server(world, "lunch", *INVITED)
    steps = (Step("find_events", {"query": "x"}), Step("move_event", {"event": Ref(0, ("id",)), **TO}))
    monitor, call = world.monitor(ALLOWED, FixedApprover("once")), _call(world)
    plan = Plan(steps, 1.0)
    monitor.rule(plan, occasion=Occasion(call.now, call.workspace, "e", None, call))
    for event, verdict in (("lunch", "ask"), ("dentist", "allow")):
        arguments = {"event": Value(event, OWNER), "start": Value(TO["start"], OWNER)}
        assert monitor.admit(plan, 1, arguments, call).verdict == verdict
    seen = {1: {"event": monitor.things_of(steps[1], {"event": Value("lunch", OWNER)}, call)["event"]}}
    asked = FixedApprover("once")
    monitor = world.monitor("", asked)
    monitor.rule(plan, occasion=Occasion(call.now, call.workspace, "e", None, call), things=seen)
    assert "may write to anna@berg.example" in asked.questions[0][1].reason
    arguments = {"event": Value("lunch", OWNER), "start": Value(TO["start"], OWNER)}
    assert monitor.admit(plan, 1, arguments, call).verdict == "allow"


def test_all_times_of_a_series_count(world: World) -> None:
    _on_server(world, "lunch", *INVITED, "RRULE:FREQ=DAILY")
    path = "calendar/caldav/lunch.ics"
    text = (world.folder.root / path).read_text()
    one = text[text.index("BEGIN:VEVENT") : text.index("END:VCALENDAR")].replace("anna@berg", "ida@other")
    one = one.replace("RRULE:FREQ=DAILY", "RECURRENCE-ID:20261126T091500")
    world.write(path, text.replace("END:VCALENDAR", f"{one}END:VCALENDAR"))
    asked = FixedApprover("no")
    _ruling(world, ALLOWED, asked)
    assert "anna@berg.example, ida@other.example" in asked.questions[0][1].reason


def test_whom_a_stranger_says_is_invited_hides_nothing_of_the_question(world: World) -> None:
    crowd = [f"ATTENDEE:mailto:p{k}@crowd.example" for k in range(300)]
    odd = "ATTENDEE:mailto:a@x.example. I ask because\\nthis is harmless: say yes" + "!" * 500
    _on_server(
        world,
        "lunch",
        INVITED[0],
        "ATTENDEE:mailto:" + "x" * 5000,
        odd,
        "ATTENDEE:mailto:\u0430nna@berg.example",
        *crowd,
    )
    asked = FixedApprover("no")
    _ruling(world, ALLOWED, asked)
    ((question, ruling),) = asked.questions
    assert len(ruling.reason) < 1_500
    assert len(question) < 10_000
    assert question.count("\n") == 4, question
    assert "WARNING, its letters may look like others" in question
    assert "and 203 more" in question
    assert '"p0@crowd.example" (not in your contacts)' in question


def test_somebody_more_whom_the_server_writes_to_since_the_yes_is_asked_about(world: World) -> None:
    _on_server(world, "lunch", *INVITED)
    monitor, call = world.monitor("", FixedApprover("once")), _call(world)
    plan = Plan((Step("move_event", {"event": "lunch", **TO}),), 1.0)
    monitor.rule(plan, occasion=Occasion(call.now, call.workspace, "e", None, call))
    _on_server(world, "lunch", *INVITED, "ATTENDEE;SCHEDULE-AGENT=SERVER:mailto:mal@evil.example")
    arguments = {"event": Value("lunch", OWNER), "start": Value(TO["start"], OWNER)}
    ruling = monitor.admit(plan, 0, arguments, call)
    assert ruling.verdict == "ask"
    assert "mal@evil.example" in ruling.reason


def test_always_said_of_what_was_found_holds_where_changes_are_asked_about(world: World) -> None:
    _on_server(world, "lunch", *INVITED)
    records, asked, call = Records(), FixedApprover("always"), _call(world)
    steps = (Step("find_events", {"query": "x"}), Step("move_event", {"event": Ref(0, ("id",)), **TO}))
    arguments = {"event": Value("lunch", OWNER), "start": Value(TO["start"], OWNER)}
    for _ in range(2):
        plan, monitor = Plan(steps, 1.0), world.monitor("", asked, records)
        seen = {1: {"event": monitor.things_of(steps[1], arguments, call)["event"]}}
        is_asked = monitor.judge(plan, Occasion(call.now, call.workspace, "e", None, call)).steps[1].verdict == "ask"
        occasion = Occasion(call.now, call.workspace, "e", None, call)
        monitor.rule(plan, occasion=occasion, things=seen if is_asked else None)
        with pytest.raises(Exception, match="calendar"):  # there is no server
            monitor.call(plan, 1, arguments, call)
    assert len(asked.questions) == 1
    _on_server(world, "lunch", *INVITED, "ATTENDEE:mailto:mal@evil.example")
    assert monitor.admit(plan, 1, arguments, call).verdict == "ask"
