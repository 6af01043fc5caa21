"""What is to be repeated on several days of the week is repeated on all of them."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pytest

from hearth.language.reading import Utterance
from hearth.planning.dialogue.amendments import with_each_day, with_each_time
from hearth.registry import load_tools
from hearth.types import Plan, Ref, Step

SPECS = load_tools(None).specs
NOW = dt.datetime(2026, 11, 26, 9, 30, tzinfo=ZoneInfo("Europe/Berlin"))


def planned(request: str, tool: str, arguments: dict[str, str], now: dt.datetime = NOW) -> list[dict[str, object]]:
    plan = with_each_day(Plan((Step(tool, {**arguments}),)), Utterance(request, now), SPECS)
    return [dict(step.arguments) for step in plan.steps]


@pytest.mark.parametrize(
    ("text", "at", "repeat"),
    [
        ("alarm for 6 on weekdays", "2026-11-27T06:00:00+01:00", "on weekdays"),
        ("remind me every weekend at 10 to water the plants", "2026-11-28T10:00:00+01:00", "on weekends"),
    ],
)
def test_all_weekdays_or_weekends_are_one_repetition(text: str, at: str, repeat: str) -> None:
    assert planned(text, "add_reminder", {"text": "x", "at": at}) == [{"text": "x", "at": at, "repeat": repeat}]
    assert planned(text, "add_reminder", {"text": "x", "at": at, "repeat": "daily"})[0]["repeat"] == repeat


def test_other_days_are_a_step_each() -> None:
    text = "yoga every mon, wed and fri at 6pm"
    found = planned(text, "add_event", {"title": "yoga", "start": "2026-11-27T18:00:00+01:00", "repeat": "weekly"})
    assert [one["start"] for one in found] == [f"2026-{day}T18:00:00+01:00" for day in ("11-27", "11-30", "12-02")]
    assert {one["repeat"] for one in found} == {"weekly"}


def test_an_hour_stays_the_hour_when_the_clocks_change() -> None:
    before = dt.datetime(2027, 3, 24, 9, 30, tzinfo=ZoneInfo("Europe/Berlin"))
    text = "remind me every thursday and monday at 8 to put the bins out"
    found = planned(
        text, "add_reminder", {"text": "bins", "at": "2027-03-25T08:00:00+01:00", "repeat": "weekly"}, before
    )
    assert [one["at"] for one in found] == ["2027-03-25T08:00:00+01:00", "2027-03-29T08:00:00+02:00"]


@pytest.mark.parametrize(
    "text", ["remind me every tuesday at 9", "remind me every day at 9", "remind me on tuesday at 9", "remind me"]
)
def test_one_day_or_none_stays(text: str) -> None:
    given = {"text": "x", "at": "2026-12-01T09:00:00+01:00", "repeat": "weekly"}
    assert planned(text, "add_reminder", given) == [given]


def test_steps_that_use_results_stay() -> None:
    plan = Plan((Step("find_events"), Step("add_reminder", {"text": "x", "at": Ref(0, ("start",))})))
    assert with_each_day(plan, Utterance("every mon and thu at 8", NOW), SPECS) is plan


def timed(request: str, at: str, unserved: tuple[str, ...] = ()) -> tuple[list[object], tuple[str, ...]]:
    plan = Plan((Step("add_reminder", {"text": "x", "at": at}),), unserved=unserved)
    found = with_each_time(plan, Utterance(request, NOW), SPECS)
    return [str(step.arguments["at"])[5:16] for step in found.steps], found.unserved


def test_each_clock_time_of_a_row_gets_a_step() -> None:
    at = "2026-11-27T06:00:00+01:00"
    assert timed("wake me at 6 tomorrow and at 6:15", at)[0] == ["11-27T06:00", "11-27T06:15"]
    told = timed("remind me at 8am, 2pm and 8pm to eat", "2026-11-27T08:00:00+01:00", ("2pm", "fly"))
    assert told == (["11-27T08:00", "11-27T14:00", "11-27T20:00"], ("fly",))


@pytest.mark.parametrize(
    "text",
    [
        "wake me at 6 tomorrow",
        "remind me tomorrow at 6 to call Ana at 8",
        "remind me tomorrow at 6 or 8 to eat",
        "remind me tomorrow at 6 and on Friday at 8 to eat",
        "remind me to eat",
    ],
)
def test_times_that_are_no_row_stay(text: str) -> None:
    assert timed(text, "2026-11-27T06:00:00+01:00") == (["11-27T06:00"], ())


def test_a_start_and_an_end_are_no_row() -> None:
    plan = Plan((Step("add_event", {"title": "x", "start": "2026-11-26T10:00:00+01:00"}),))
    assert with_each_time(plan, Utterance("x at 10 and 12", NOW), SPECS) == plan
