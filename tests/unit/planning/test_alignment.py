"""python -m pytest tests/unit/planning/test_alignment.py"""

from __future__ import annotations

import datetime as dt
import json

import pytest

from hearth.language.values.slots import find_slots
from hearth.planning.arguments.alignment import (
    Constant,
    Lesson,
    Result,
    Said,
    Several,
    Slotted,
    explain,
    lesson_from_json,
    lesson_to_json,
    tokens_of,
)
from hearth.types import Argument, Context, Demonstration, Plan, Ref, Step

NOW = dt.datetime(2026, 11, 20, 9, 30, tzinfo=dt.timezone(dt.timedelta(hours=1)))


def demo(request: str, *steps: tuple[str, dict[str, Argument]]) -> Demonstration:
    return Demonstration("d", request, Plan(tuple(Step(tool, arguments) for tool, arguments in steps)), now=NOW)


def whole(request: str, *steps: tuple[str, dict[str, Argument]]) -> Lesson:
    return explain(demo(request, *steps))[0]


def test_words_and_slots_are_found_as_sources() -> None:
    lesson = whole(
        "remind me to water the plants tomorrow at 9 am",
        ("add_reminder", {"text": "water the plants", "at": "2026-11-21T09:00:00+01:00", "repeat": "none"}),
    )
    sources = lesson.steps[0].sources
    assert lesson.words == ("remind", "me", "to", "water", "the", "plants", "<time>")
    assert sources["text"] == Said(3, 6)
    assert isinstance(sources["at"], Slotted)
    assert "datetime" in sources["at"].views
    assert sources["repeat"] == Constant("none")
    assert lesson.form == "remind me to something tomorrow at nine"


def test_a_wall_clock_time_is_known_under_another_offset() -> None:
    lesson = whole(
        "remind me to pay on 5 July at 8 am", ("add_reminder", {"text": "pay", "at": "2027-07-05T08:00:00+02:00"})
    )
    assert isinstance(lesson.steps[0].sources["at"], Slotted)


@pytest.mark.parametrize(
    ("request_text", "tool", "argument", "value", "is_said"),
    [
        ("brew it for 36 hours", "set_timer", "length", "PT36H", True),
        ("brew it for 36 hours", "set_timer", "length", "PT26H", False),
        ("birthdays before Christmas", "upcoming_birthdays", "start", "2026-11-20", True),
        ("birthdays before Christmas", "upcoming_birthdays", "start", "2026-11-21", False),
        ("what are 6 plumes at 18.50 each", "calculate", "expression", "6 * 18.50", True),
        ("what are 6 plumes at 18.50 each", "calculate", "expression", "6*18.5", True),
        ("what are 6 plumes at 18.50 each", "calculate", "expression", "6 * 18.05", False),
    ],
)
def test_a_value_written_otherwise_is_the_same(
    request_text: str, tool: str, argument: str, value: str, *, is_said: bool
) -> None:
    source = whole(request_text, (tool, {argument: value})).steps[0].sources[argument]
    assert isinstance(source, Slotted) is is_said


def test_lists_results_and_quotes() -> None:
    lesson = whole(
        'mail Anna the "big" list: milk, eggs and bread',
        ("find_contact", {"name": "Anna"}),
        ("draft_mail", {"to": [Ref(0, ("email",))], "text": "big", "items": ["milk", "eggs", "bread"]}),
    )
    contact, mail = lesson.steps
    assert contact.is_many
    assert mail.sources["to"] == Several((Result(0, ("email",), "find_contact"),))
    assert isinstance(mail.sources["text"], Said)
    items = mail.sources["items"]
    assert isinstance(items, Said)
    assert items.is_list


def test_steps_that_are_alike_become_one() -> None:
    lesson = whole(
        "write Anna, Ben and Mia that dinner is ready",
        ("find_contact", {"name": "Anna"}),
        ("find_contact", {"name": "Ben"}),
        ("find_contact", {"name": "Mia"}),
        ("draft_mail", {"to": [Ref(0, ("email",)), Ref(1, ("email",)), Ref(2, ("email",))], "text": "dinner is ready"}),
    )
    assert [step.tool for step in lesson.steps] == ["find_contact", "draft_mail"]
    assert lesson.steps[0].is_many
    assert isinstance(lesson.steps[0].sources["name"], Several)
    assert lesson.steps[1].sources["to"] == Several((Result(0, ("email",), "find_contact"),))


def test_each_clause_is_a_lesson_of_its_own() -> None:
    first, *parts = explain(
        demo(
            "find the mail about the boiler and delete it",
            ("find_mail", {"query": "the boiler"}),
            ("delete_mail", {"mail": Ref(0, ("id",))}),
        )
    )
    assert first.n_clauses == 2
    assert [[step.tool for step in part.steps] for part in parts] == [["find_mail"], ["delete_mail"]]
    assert parts[1].has_outside
    assert not parts[0].has_outside
    assert parts[1].steps[0].sources["mail"] == Result(-1, ("id",), "find_mail")


def test_a_refusal_is_a_lesson_without_steps() -> None:
    (lesson,) = explain(Demonstration("d", "turn on the lights", Plan(())))
    assert lesson.steps == ()


def test_lessons_survive_json() -> None:
    for lesson in explain(
        demo(
            "add milk to the shopping list and also remind Anna at 17:30",
            ("add_to_list", {"list": "shopping", "items": ["milk"]}),
            ("find_contact", {"name": "Anna"}),
            ("draft_mail", {"to": [Ref(1, ("email",))], "text": {"a": 1}}),
        )
    ):
        assert lesson_from_json("d", json.loads(json.dumps(lesson_to_json(lesson)))) == lesson


def test_names_in_capitals_are_one_word() -> None:
    text = "show me everyone at Nordwind GmbH in Leipzig"
    words = [token.word for token in tokens_of(text, find_slots(text, NOW, Context()))]
    assert words == ["show", "me", "everyone", "at", "<name>", "in", "<name>"]


def test_the_end_of_one_day_is_not_where_another_begins() -> None:
    request = "shift prac from thursday to friday"
    lesson = whole(request, ("move_event", {"start": "2026-11-27T00:00:00+01:00"}))
    source = lesson.steps[0].sources["start"]
    assert isinstance(source, Slotted)
    assert lesson.words.index("to") < source.token
    assert "start" in source.views


def test_a_time_that_only_the_tense_puts_in_the_past_is_explained_ahead() -> None:
    lesson = whole("karate got moved it is now tuesday at five", ("move_event", {"start": "2026-11-24T17:00:00+01:00"}))
    assert isinstance(lesson.steps[0].sources["start"], Slotted)
