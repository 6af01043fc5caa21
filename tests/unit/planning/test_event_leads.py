"""A reminder said with a new event; the reminders of days whose events are listed."""

from __future__ import annotations

import datetime as dt

import pytest

from hearth.language.discourse.relative_anchors import lead_of
from hearth.language.reading import Utterance
from hearth.planning.dialogue.amendments import (
    asked_next_free,
    events_between,
    in_the_other_half,
    lacking_on_card,
    next_free,
    reminders_of_days,
    whether_free,
    with_lead,
    without_contradictions,
)
from hearth.registry import load_tools
from hearth.testing import FIXED_NOW
from hearth.types import Argument, Plain, Plan, Ref, Refusal, Request, Step, StepResult

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


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("is there a thing on tomorrow at 4 pm", "2026-11-21T17:00:00+01:00"),
        ("what happens around 4pm tomorrow", "2026-11-21T17:00:00+01:00"),
        ("list my diary from 4 pm tomorrow", "2026-11-22T00:00:00+01:00"),
        ("what have we got after 4 pm tomorrow", "2026-11-22T00:00:00+01:00"),
        ("what comes next after 4 pm tomorrow", None),
        ("from 4 pm tomorrow onwards", None),
    ],
)
def test_a_clock_time_asks_for_its_hour_or_the_rest_of_its_day(text: str, end: str | None) -> None:
    found = then_alone(text, Step("find_events", {"start": "2026-11-21T16:00:00+01:00"}))
    assert found.steps[0].arguments.get("end") == end
    if end is not None:
        assert then_alone(text, Step("find_events", {"end": "2026-11-21T16:00:00+01:00"})).steps == found.steps


def test_what_is_on_before_a_clock_time_stays() -> None:
    step = Step("find_events", {"end": "2026-11-21T16:00:00+01:00"})
    assert then_alone("what have we on by 4 pm tomorrow", step).steps == (step,)


def then_alone(text: str, *steps: Step) -> Plan:
    found = without_contradictions(Plan(steps), Utterance(text, FIXED_NOW), TOOLS)
    assert isinstance(found, Plan)
    return found


def test_an_event_that_is_changed_is_on_at_the_moment_that_is_said() -> None:
    look = Step("find_events", {"start": "2026-11-21T16:00:00+01:00"})
    act = Step("cancel_event", {"event": Ref(0, ("id",))})
    found = then_alone("call off the one tomorrow at 4 pm", look, act)
    assert found.steps[0].arguments["end"] == "2026-11-21T16:01:00+01:00"


@pytest.mark.parametrize(
    ("text", "start", "other"),
    [
        ("anything at 7 tomorrow", "2026-11-21T07:00:00+01:00", "2026-11-21T19:00:00+01:00"),
        ("anything at 3 tomorrow", "2026-11-21T15:00:00+01:00", "2026-11-21T03:00:00+01:00"),
        ("anything at 7am tomorrow", "2026-11-21T07:00:00+01:00", None),
        ("anything at 7 tomorrow evening", "2026-11-21T19:00:00+01:00", None),
        ("anything at 19:00 tomorrow", "2026-11-21T19:00:00+01:00", None),
        ("anything tomorrow", "2026-11-21T00:00:00+01:00", None),
    ],
)
def test_an_hour_may_be_of_the_other_half_of_the_day(text: str, start: str, other: str | None) -> None:
    end = (dt.datetime.fromisoformat(start) + dt.timedelta(hours=1)).isoformat()
    plan = Plan((Step("find_events", {"start": start, "end": end}),))
    found = in_the_other_half(plan, Utterance(text, FIXED_NOW), TOOLS)
    assert (found.steps[0].arguments["start"] if found is not None else None) == other
    cancelled = Plan((*plan.steps, Step("cancel_event", {"event": Ref(0, ("id",))})))
    assert in_the_other_half(cancelled, Utterance(text, FIXED_NOW), TOOLS) is None


DAY = ("2026-11-21T00:00:00+01:00", "2026-11-22T00:00:00+01:00")
AT_TWO = ("2026-11-21T14:00:00+01:00", "2026-11-21T14:01:00+01:00")
NOON_TO_SIX = ("2026-11-21T12:00:00+01:00", "2026-11-21T18:00:00+01:00")


@pytest.mark.parametrize(
    ("text", "asked", "free", "said"),
    [
        ("are we free tomorrow at 2", AT_TWO, [("14:00", "15:00")], "Yes, you are free then."),
        ("have I got room tomorrow at 2", AT_TWO, [], "No, you are not free then."),
        ("do I have room tomorrow at 2", AT_TWO, [], "No, you are not free then."),
        ("do I have room tomorrow at 2", AT_TWO, [("14:20", "15:00")], "No, you are not free then."),
        ("am I tied up tomorrow at 2", AT_TWO, [], "Yes, you are busy then."),
        ("am I tied up tomorrow at 2", AT_TWO, [("14:00", "14:30")], "No, you are free then."),
        ("am I free or busy tomorrow at 2", AT_TWO, [], ""),
        ("would tomorrow afternoon suit", NOON_TO_SIX, [("12:00", "18:00")], "Yes, you are free then."),
        ("would tomorrow afternoon suit", NOON_TO_SIX, [("13:00", "18:00")], "Partly: you are free for some of it."),
        ("is tomorrow open", DAY, [("08:00", "22:00")], "Yes, you are free then."),
        ("when am I free tomorrow", DAY, [("08:00", "22:00")], ""),
        ("could you look for a gap tomorrow", DAY, [("08:00", "22:00")], ""),
        ("find me a gap tomorrow", DAY, [("08:00", "22:00")], ""),
        ("am I free in the next week", ("2026-11-21T00:00:00+01:00", "2026-11-28T00:00:00+01:00"), [], ""),
        ("is the hut free tomorrow afternoon", NOON_TO_SIX, [("12:00", "18:00")], ""),
        ("am I not free tomorrow at 2", AT_TWO, [("14:00", "15:00")], ""),
        ("can I take tomorrow afternoon off", NOON_TO_SIX, [("12:00", "18:00")], ""),
    ],
)
def test_whether_hours_are_free_is_told_as_yes_or_no(
    text: str, asked: tuple[str, str], free: list[tuple[str, str]], said: str
) -> None:
    plan = Plan((Step("find_free_time", {"start": asked[0], "end": asked[1]}),))
    assert whether_free(plan, text, (result(free),), FIXED_NOW) == said


def result(free: list[tuple[str, str]]) -> StepResult:
    slots: list[Plain] = [
        {name: f"2026-11-21T{time}:00+01:00" for name, time in zip(("start", "end"), one)} for one in free
    ]
    return StepResult(0, "done", value=slots)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("when's my next free evening", "evening"),
        ("what's the next evening I'm free?", "evening"),
        ("which afternoon am I free next", "afternoon"),
        ("when do I next have a free morning", "morning"),
        ("find me the next free day", "day"),
        ("when's my next evening class", ""),
        ("when's my next free swimming lesson", ""),
        ("when's the next parents' evening", ""),
        ("am I free this evening", ""),
        ("put dinner with Leo in for my next free evening", ""),
    ],
)
def test_the_next_free_part_of_a_day_that_is_asked_for(text: str, part: str) -> None:
    said, planned = Utterance(text, FIXED_NOW), Plan((Step("next_event", {"query": "evening"}),))
    asked = asked_next_free(said, planned, TOOLS)
    assert (asked[1] if asked is not None else "") == part
    assert asked_next_free(said, Plan((Step("add_event", {"title": "dinner"}),)), TOOLS) is None


def test_the_first_free_time_that_holds_the_whole_part_is_told() -> None:
    free = [
        {"start": "2026-11-21T16:00:00+01:00", "end": "2026-11-21T21:00:00+01:00"},
        {"start": "2026-11-22T08:00:00+01:00", "end": "2026-11-22T22:00:00+01:00"},
    ]
    found = next_free("evening", free, FIXED_NOW, Plan(()), TOOLS)
    assert isinstance(found, Plan)
    assert found.steps[0].arguments == {"start": "2026-11-22T18:00:00+01:00", "end": "2026-11-22T22:00:00+01:00"}
    assert isinstance(next_free("evening", free[:1], FIXED_NOW, Plan(()), TOOLS), Refusal)


def test_a_length_that_is_sought_is_there_or_not_and_other_plans_say_no_yes() -> None:
    step = Step("find_free_time", {"start": DAY[0], "end": DAY[1], "length": "PT2H"})
    assert (
        whether_free(Plan((step,)), "am I busy for 2 hours tomorrow", (result([("08:00", "22:00")]),), FIXED_NOW) == ""
    )
    text = "have we 2 hours tomorrow, is there room"
    assert whether_free(Plan((step,)), "is there room for 2 hours", (result([("08:00", "11:00")]),), FIXED_NOW) == (
        "Yes, there is time for that."
    )
    assert whether_free(Plan((step,)), "is there room for 2 hours", (result([]),), FIXED_NOW) == (
        "No, there is no time for that."
    )
    for plan in (Plan(()), Plan((step, step)), Plan((step, Step("read_list", {"list": "x"})))):
        assert whether_free(plan, text, (result([]),), FIXED_NOW) == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("when was Nele born", "The card of Nele Busch has no birthday."),
        ("what's nele's mobile", "The card of Nele Busch has no phone number."),
        ("tell me what nele's address is", "The card of Nele Busch has no address."),
        ("what street does nele live in", "The card of Nele Busch has no address."),
        ("where does nele live", "The card of Nele Busch has no address."),
        ("what's nele's email address", ""),  # is there
        ("who is nele", ""),
        ("what are nele's phone number and birthday", ""),  # two values
        ("text nele happy birthday", ""),
    ],
)
def test_what_a_card_has_not_is_said(text: str, said: str) -> None:
    card: dict[str, Plain] = {
        "name": "Nele Busch",
        "email": "nele@home.example",
        "phone": "",
        "address": "",
        "birthday": None,
    }
    plan = Plan((Step("find_contact", {"name": "Nele Busch"}),))
    assert lacking_on_card(plan, text, (StepResult(0, "done", card),)) == said
    assert lacking_on_card(plan, text, (StepResult(0, "failed", None),)) == ""
    assert lacking_on_card(Plan((Step("find_mail", {"query": "nele"}),)), text, (StepResult(0, "done", card),)) == ""
    if "birthday" in said:
        assert lacking_on_card(plan, text, (StepResult(0, "done", card),), ("birthday",)) == ""
