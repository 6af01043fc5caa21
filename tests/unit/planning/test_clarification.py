"""Questions back: which of two values that were said."""

from __future__ import annotations

import datetime as dt

import pytest

from hearth.language.discourse.plain_request import answered
from hearth.language.reading import Utterance
from hearth.planning.dialogue.amendments import either_asked, nearest_rhythm, question_about
from hearth.registry import load_tools
from hearth.testing import FIXED_NOW
from hearth.types import Answer, Context, Entity, Episode, Parameter, Plan, Ref, Refusal, Request, Step, ToolSpec

TOOLS = {
    "set_temperature": ToolSpec("set_temperature", "", (Parameter("temperature", "number"),), effect="change"),
    "add_reminder": ToolSpec(
        "add_reminder", "", (Parameter("text", "text"), Parameter("at", "datetime")), effect="change"
    ),
    "find_events": ToolSpec("find_events", "", (Parameter("start", "datetime"),)),
}


def asked(text: str, tool: str, arguments: dict[str, str | float]) -> Refusal | None:
    plan = Plan((Step(tool, {**arguments}),), planner="recall")
    return either_asked(Utterance(text, FIXED_NOW), plan, TOOLS)


def test_one_of_two_values_is_asked_for_and_answered() -> None:
    text = "set the heating to 21 or 23"
    refusal = asked(text, "set_temperature", {"temperature": 21})
    assert refusal is not None
    assert (refusal.kind, refusal.missing) == ("needs", ("set_temperature.temperature",))
    assert refusal.reason == "21 or 23? I need to know that to set a temperature."
    last = Episode("e", Request(text, FIXED_NOW), None, refusal, None, (), Answer("", "needs"))
    later = FIXED_NOW + dt.timedelta(minutes=1)
    assert answered(Utterance("23 please", later), last) == "set the heating to 23"
    assert answered(Utterance("what's on tomorrow", later), last) == ""


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        ("set the heating to 21", "set_temperature", {"temperature": 21}),
        (
            "remind me at 5 to buy milk or cream",
            "add_reminder",
            {"text": "buy milk or cream", "at": "2026-11-20T17:00:00+01:00"},
        ),
        ("what's on tomorrow or on Monday", "find_events", {"start": "2026-11-21T00:00:00+01:00"}),
        (
            "remind me at 5 to call at 6 or 7",
            "add_reminder",
            {"text": "call at 6 or 7", "at": "2026-11-20T17:00:00+01:00"},
        ),
    ],
)
def test_nothing_is_asked_where_both_are_looked_at_or_stand_in_a_text(
    text: str, tool: str, arguments: dict[str, str | float]
) -> None:
    assert asked(text, tool, arguments) is None


REPEATING = {
    "add_event": ToolSpec(
        "add_event", "", (Parameter("repeat", "text", enum=("none", "weekly", "every 6 weeks", "every 8 weeks")),)
    )
}
UNSURE = Refusal("out_of_scope", "I can't do that yet.")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "repeat yoga every 7 weeks",
            "I can't repeat anything every 7 weeks; the nearest I can do: every 6 weeks and every 8 weeks.",
        ),
        ("repeat yoga every 3 weeks", "I can't repeat anything every 3 weeks; the nearest I can do: every 6 weeks."),
        ("repeat yoga every 3 days", "I can't repeat anything every 3 days; the nearest I can do: daily."),
        ("repeat yoga every 6 weeks", ""),
        ("repeat yoga every week", ""),
        ("repeat yoga", ""),
    ],
)
def test_a_rhythm_that_is_not_kept_is_named_with_the_nearest(text: str, reason: str) -> None:
    assert nearest_rhythm(Utterance(text, FIXED_NOW), UNSURE, REPEATING) == reason
    assert nearest_rhythm(Utterance(text, FIXED_NOW), Plan(()), REPEATING) == ""
    assert nearest_rhythm(Utterance(text, FIXED_NOW), Refusal("needs", "When?"), REPEATING) == ""


SHIPPED = load_tools(None).specs


@pytest.mark.parametrize(
    ("missing", "question"),
    [
        ("convert_units.from_unit", "What unit is it in now? I need to know that to convert units."),
        ("convert_units.to_unit", "What unit do you want? I need to know that to convert units."),
        ("add_event.title", "What is it? I need to know that to add an event."),
        ("cancel_event.event", "Which event? I need to know that to cancel an event."),
        ("draft_reply.text", "What should the reply say? I need to know that to draft a reply."),
        ("add_to_list.items", "What should I put on it? I need to know that to add to a list."),
        ("add_reminder.text", "What should you be reminded of? I need to know that to add a reminder."),
        ("move_file.to", "Where to? I need to know that to move a file."),
        ("time_until.date", "Which day? I need to know that to count the days."),
        ("turn_on.device", "Which device? I need to know that to turn on."),
    ],
)
def test_what_is_missing_is_asked_for_as_a_person_would(missing: str, question: str) -> None:
    tool, _, name = missing.partition(".")
    assert question_about([(tool, name)], SHIPPED) == question


def test_every_question_about_a_shipped_tool_is_one() -> None:
    asked = [
        question_about([(s.name, p.name)], SHIPPED) for s in SHIPPED.values() for p in s.parameters if p.is_required
    ]
    starts = ("When", "Wh", "How", "At what", "To which", "In which")
    assert [question for question in asked if not question.startswith(starts) or "owner" in question] == []


def test_a_parameter_without_a_description_is_asked_for_by_its_name() -> None:
    tools = {"paint_wall": ToolSpec("paint_wall", "", (Parameter("main_colour", "text"), Parameter("wall", "WallId")))}
    assert question_about([("paint_wall", "main_colour")], tools).startswith("What is the main colour?")
    assert question_about([("paint_wall", "wall")], tools).startswith("Which wall?")


CLERKS = Context(
    entities=tuple(Entity(f"{name} Hall", "person", (name,)) for name in ("Joe", "Martin", "Helen", "Orla", "Gráinne"))
)


@pytest.mark.parametrize(
    ("text", "to", "reason"),
    [
        ("ask joe, martin or helen to open the hall", ("Joe Hall", "Martin Hall"), "joe, martin or helen?"),
        ("ask martin or grainne to open the hall", ("Martin Hall",), "martin or grainne?"),
        ("ask martin or zoltan to open the hall", ("Martin Hall",), "martin or zoltan?"),
        ("tell Joe or Martin it's off", ("Joe Hall",), "Joe or Martin?"),
        ("ask joe, martin and helen to open the hall", ("Joe Hall",), ""),
        ("ask orla if joe or martin is coming", ("Orla Hall",), ""),
        ("ask orla for tea or cake", ("Orla Hall",), ""),
    ],
)
def test_whom_something_is_sent_to_is_asked_where_it_is_left_open(text: str, to: tuple[str, ...], reason: str) -> None:
    looked = tuple(Step("find_contact", {"name": name}) for name in to)
    draft = Step("draft_mail", {"to": [Ref(k, ("email",)) for k in range(len(to))], "text": "x"})
    said = Utterance(text, FIXED_NOW, context=CLERKS)
    refusal = either_asked(said, Plan((*looked, draft), planner="recall"), load_tools(None).specs)
    assert (refusal.reason if refusal is not None else "").startswith(reason)
    assert (refusal is not None) is bool(reason)
    if refusal is None:
        return
    last = Episode("e", said, None, refusal, None, (), Answer("", "needs"))
    later = Utterance("Martin please", FIXED_NOW + dt.timedelta(minutes=1), context=CLERKS)
    assert answered(later, last).startswith(
        text.partition(" ")[0] + " " + next(n for n in ("martin", "Martin") if n in text)
    )
    assert answered(later.saying("orla"), last) == ""
