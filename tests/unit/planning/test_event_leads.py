"""A reminder said with a new event; the reminders of days whose events are listed."""

from __future__ import annotations

import datetime as dt

import pytest

from hearth.language.discourse.relative_anchors import lead_of
from hearth.language.reading import Utterance
from hearth.planning.dialogue.amendments import events_between, reminders_of_days, with_lead
from hearth.registry import load_tools
from hearth.testing import FIXED_NOW
from hearth.types import Argument, Plan, Ref, Request, Step

ASKED = Request("what is on", FIXED_NOW)
TOOLS = load_tools(None).specs
LUNCH = Step("add_event", {"title": "lunch", "start": "2099-01-02T13:00:00+01:00"})


@pytest.mark.parametrize(
    ("text", "rest", "before"),
    [
        ("lunch on friday at one, remind me 30 minutes before", "lunch on friday at one", dt.timedelta(minutes=30)),
        ("add the dentist tomorrow at 3 with a reminder an hour before", "add the dentist tomorrow at 3", dt.timedelta(hours=1)),
        ("call at 9 and please remind me 2 hours beforehand.", "call at 9", dt.timedelta(hours=2)),
        ("call at 14:00 - alert me 15 min before it please", "call at 14:00", dt.timedelta(minutes=15)),
        ("trip on 3 May, and set a reminder one day ahead", "trip on 3 May", dt.timedelta(days=1)),
    ],
)  # fmt: skip
def test_the_reminder_that_ends_a_request(text: str, rest: str, before: dt.timedelta) -> None:
    lead = lead_of(Utterance(text, FIXED_NOW))
    assert lead is not None
    assert (lead.rest, lead.before) == (rest, before)
    assert lead.text in text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "remind me 30 minutes before",
        "remind me an hour before the dentist",
        "lunch at one, an hour before the film",
        "move lunch 30 minutes earlier",
        "what did I do 30 minutes before",
        "remind me in 30 minutes",
    ],
)
def test_no_reminder_is_said(text: str) -> None:
    assert lead_of(Utterance(text, FIXED_NOW)) is None


def test_the_reminder_may_be_of_a_deed_the_day_before() -> None:
    lead = lead_of(Utterance("party on friday at one and remind me the evening before to ice the cake", FIXED_NOW))
    assert lead is not None
    assert (lead.rest, lead.deed) == ("party on friday at one", "ice the cake")
    plan = with_lead(Plan((LUNCH,), 0.9), lead, FIXED_NOW, TOOLS)
    assert plan is not None
    assert plan.steps[1].arguments == {"text": "ice the cake", "at": "2099-01-01T18:00:00+01:00"}
    before = lead_of(Utterance("party on friday, remind me the day before", FIXED_NOW))
    assert before is not None
    day = Step("add_event", {"title": "party", "start": "2099-01-02T00:00:00+01:00"})
    plan = with_lead(Plan((day,)), before, FIXED_NOW, TOOLS)
    assert plan is not None
    assert plan.steps[1].arguments["at"] == "2099-01-01T09:00:00+01:00"


def test_the_reminder_follows_its_event() -> None:
    lead = lead_of(Utterance("lunch on friday at one, remind me 30 minutes before", FIXED_NOW))
    assert lead is not None
    plan = with_lead(Plan((LUNCH,), 0.9), lead, FIXED_NOW, TOOLS)
    assert plan is not None
    assert plan.steps[1].arguments == {"text": Ref(0, ("title",)), "at": "2099-01-02T12:30:00+01:00"}
    assert plan.steps[1].text == "remind me 30 minutes before"


@pytest.mark.parametrize(
    "plan",
    [
        Plan((Step("add_to_list", {"list": "shopping", "items": ["milk"]}),)),
        Plan((LUNCH, LUNCH)),
        Plan((LUNCH,), unserved=("bring cake",)),
        Plan((Step("add_event", {"title": "lunch", "start": Ref(0, ("start",))}),)),
        Plan((Step("add_event", {"title": "lunch", "start": "2001-01-01T13:00:00+01:00"}),)),
        Plan((Step("add_event", {"title": "lunch", "start": "soon"}),)),
        Plan((Step("add_event", {"title": "lunch", "start": "2099-01-02T13:00:00"}),)),
    ],
)
def test_what_is_no_event_to_come_is_left_as_it_was(plan: Plan) -> None:
    lead = lead_of(Utterance("lunch on friday at one, remind me 30 minutes before", FIXED_NOW))
    assert lead is not None
    assert with_lead(plan, lead, FIXED_NOW, TOOLS) is None


def days(start: str, end: str, **more: str) -> Step:
    return Step("find_events", {"start": f"{start}+01:00", "end": f"{end}+01:00", **more})


@pytest.mark.parametrize(
    "step",
    [
        days("2026-11-21T00:00:00", "2026-11-22T00:00:00"),
        days("2026-11-23T00:00:00", "2026-11-30T00:00:00"),
        days("2026-11-20T09:30:00", "2026-11-21T00:00:00"),  # the rest of today
    ],
)
def test_the_reminders_of_whole_days_are_listed_beside_their_events(step: Step) -> None:
    (added,) = reminders_of_days(Plan((step,)), ASKED, TOOLS)
    assert (added.tool, added.arguments) == ("find_reminders", step.arguments)
    assert len(reminders_of_days(Plan((step, step)), ASKED, TOOLS)) == 2


@pytest.mark.parametrize(
    "step",
    [
        days("2026-11-21T00:00:00", "2026-11-22T00:00:00", query="dentist"),
        days("2026-11-21T12:00:00", "2026-11-21T18:00:00"),
        days("2026-11-21T12:00:00", "2026-11-22T00:00:00"),
        days("2026-11-23T00:00:00", "2026-12-23T00:00:00"),
        Step("find_events"),
        Step("find_events", {"start": "2026-11-21T00:00:00+01:00"}),
        Step("find_free_time", {"start": "2026-11-21T00:00:00+01:00", "end": "2026-11-22T00:00:00+01:00"}),
    ],
)
def test_what_is_no_list_of_whole_days_is_left_as_it_was(step: Step) -> None:
    assert reminders_of_days(Plan((step,)), ASKED, TOOLS) == ()
    assert reminders_of_days(Plan((days("2026-11-21T00:00:00", "2026-11-22T00:00:00"), step)), ASKED, TOOLS) == ()


@pytest.mark.parametrize(
    "text",
    [
        "how many events do I have on friday",
        "what meetings are on",
        "any appointments",
        "how much is on",
        "who cooks on friday",
    ],
)
def test_no_reminders_are_listed_where_events_alone_are_asked_for(text: str) -> None:
    step = days("2026-11-21T00:00:00", "2026-11-22T00:00:00")
    assert reminders_of_days(Plan((step,)), Request(text, FIXED_NOW), TOOLS) == ()
    assert len(reminders_of_days(Plan((step,)), Request("what is on friday", FIXED_NOW), TOOLS)) == 1


@pytest.mark.parametrize(
    ("text", "end", "is_listed"),
    [
        ("am I free on friday evening", "2026-11-21T22:00:00+01:00", True),
        ("do I have time tomorrow evening", "2026-11-21T22:00:00+01:00", True),
        ("when am I free on friday evening", "2026-11-21T22:00:00+01:00", False),
        ("am I free this week", "2026-11-25T00:00:00+01:00", False),
        ("am I free at 6", "2026-11-21T18:01:00+01:00", True),
    ],
)
def test_what_lies_between_free_hours_is_listed_where_it_is_asked_if_they_are_free(
    text: str, end: str, is_listed: bool
) -> None:
    span: dict[str, Argument] = {"start": "2026-11-21T18:00:00+01:00", "end": end}
    free = Step("find_free_time", span)
    shown = {**span, "end": "2026-11-21T19:00:00+01:00"} if "at 6" in text else span
    wanted = (Step("find_events", shown, text=free.text),) if is_listed else ()
    assert events_between(Plan((free,)), Request(text, FIXED_NOW), TOOLS) == wanted
    assert events_between(Plan((free, Step("draft_mail"))), Request(text, FIXED_NOW), TOOLS) == ()
