"""Demonstrations as patterns: what is said, unsaid, counted from the day, read anew."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.planning.owner_macros import filled, is_alike, template_of, words_at, words_of, written_in
from hearth.registry import load_tools
from hearth.types import Argument, Demonstration, Plan, Ref, Step

TOOLS = load_tools(None).specs
MONDAY = dt.datetime(2026, 9, 7, 20, tzinfo=dt.timezone(dt.timedelta(hours=2)))


def shown(request: str, *steps: Step, now: dt.datetime | None = MONDAY) -> Demonstration:
    return Demonstration("d", request, Plan(steps), source="owner", now=now)


@pytest.mark.parametrize(
    ("request_text", "value", "unsaid"),
    [
        ("cosy please", "floor lamp", True),
        ("floor lamp off", "floor lamp", False),
        ("flor lamp off", "floor lamp", False),  # an error of typing is still said
        ("dim to thirty", 30, False),
        ("cosy please", 30, True),
        ("cosy for 90 minutes", "PT90M", False),
        ("cosy", "PT90M", True),
        ("tomorrow at nine", "2026-09-08T09:00:00+02:00", False),
        ("evening look", "2026-09-07T18:00:00+02:00", True),
    ],
)
def test_what_a_request_says_of_its_plan(request_text: str, value: Argument, unsaid: bool) -> None:
    template = template_of(shown(request_text, Step("turn_off", {"device": value})), TOOLS)
    assert template is not None
    assert bool(template.unsaid) is unsaid


def test_a_moment_without_a_time_to_count_from_makes_no_pattern() -> None:
    step = Step("find_video", {"start": "2026-09-07T18:00:00+02:00"})
    assert template_of(shown("evening look", step, now=None), TOOLS) is None
    assert template_of(shown("evening look", step), TOOLS) is not None
    assert template_of(shown("no idea"), TOOLS) is None


def test_moments_are_counted_from_the_new_day() -> None:
    step = Step(
        "find_video", {"room": "hall", "start": "2026-09-06T22:00:00+02:00", "end": "2026-09-07T06:00:00+02:00"}
    )
    template = template_of(shown("night report", step), TOOLS)
    assert template is not None
    later = dt.datetime(2026, 10, 26, 7, tzinfo=dt.timezone(dt.timedelta(hours=1)))
    (made,) = filled(template, [0], later, "").steps
    assert made.arguments == {
        "room": "hall",
        "start": "2026-10-25T22:00:00+01:00",
        "end": "2026-10-26T06:00:00+01:00",
    }
    day = template_of(shown("birthdays ahead", Step("upcoming_birthdays", {"start": "2026-09-08"})), TOOLS)
    assert day is not None
    assert filled(day, [0], later, "").steps[0].arguments == {"start": "2026-10-27"}


def test_the_content_is_what_the_plan_writes() -> None:
    mail = (
        Step("find_contact", {"name": "Ana"}),
        Step("draft_mail", {"to": [Ref(0, ("email",))], "text": "we start at six"}),
    )
    template = template_of(shown("tell the choir that we start at six", *mail), TOOLS)
    assert template is not None
    assert template.content is not None
    assert template.written == "we start at six"
    assert template.stems == ("tell", "the", "choir", "that")
    plan = filled(template, [0, 1], MONDAY, "bring lamps")
    assert plan.steps[1].arguments == {"to": [Ref(0, ("email",))], "text": "bring lamps"}
    looked_up = template_of(shown("find choir songs", Step("find_notes", {"query": "choir songs"})), TOOLS)
    assert looked_up is not None
    assert looked_up.content is None


def test_a_content_with_errors_of_typing_is_found() -> None:
    step = Step("append_to_note", {"note": "n", "text": "eleven loaves left over today"})
    template = template_of(shown("sheet: elevn loaves left over today", step), TOOLS)
    assert template is not None
    assert template.content is not None


@pytest.mark.parametrize(
    ("request_text", "phrase", "written"),
    [
        ("log: half a day, stitches", "log", "half a day, stitches"),
        ("tell the choir that we start at six. Send it", "choir", "we start at six"),
        ('tell the choir "bring lamps". yes send it, they know', "choir", "bring lamps"),
        ("Tell the choir it's over, and I want tea.", "choir", "it's over, and I want tea"),
        ('dump: title could be "rinse"', "dump", 'title could be "rinse"'),
        ("choir call: hall at nine, wear dark. mail them, out now", "choir", "hall at nine, wear dark"),
        ("the choir should know the hall is booked", "choir", "the hall is booked"),
        ("tell the choir", "choir", ""),
        ("choir: send", "choir", ""),
    ],
)
def test_what_a_request_writes(request_text: str, phrase: str, written: str) -> None:
    end = request_text.index(phrase) + len(phrase)
    assert written_in(request_text, end) == written


@pytest.mark.parametrize(
    ("known", "word", "alike"),
    [
        ("goodnight", "goodnihgt", True),
        ("edit", "eidt", True),
        ("look", "lok", True),
        ("tell", "tel", True),
        ("house", "hous", True),
        ("close", "closing", True),
        ("labelled", "labeled", True),
        ("sleep", "steep", False),
        ("sleep", "sweep", False),
        ("four", "for", False),
        ("lamp", "camp", False),
        ("on", "no", False),
        ("", "a", False),
    ],
)
def test_words_that_read_alike(known: str, word: str, alike: bool) -> None:
    assert is_alike(known, word) is alike


@given(st.text(max_size=80), st.integers(0, 80))
def test_nothing_raises_on_any_text(text: str, end: int) -> None:
    words = words_at(text)
    assert [word.stem for word in words] == list(words_of(text))
    assert all(text[word.start : word.end] for word in words)
    assert written_in(text, min(end, len(text))) in (
        text,
        *(text[i:j] for i in range(len(text)) for j in range(i, len(text) + 1)),
    )
    template = template_of(shown(text, Step("add_note", {"text": "milk"})), TOOLS)
    assert template is not None
    assert len(filled(template, [0], MONDAY, text).steps) == 1


@given(st.text(max_size=12), st.text(max_size=12))
def test_a_word_is_alike_to_itself(one: str, other: str) -> None:
    assert is_alike(one, one)
    is_alike(one, other)
