"""Answers to questions back, and corrections whose mark comes last."""

from __future__ import annotations

import datetime as dt

import pytest

from hearth.language.discourse.plain_request import answered, with_mark_first
from hearth.language.reading import Utterance
from hearth.testing import FIXED_NOW
from hearth.types import Answer, Context, Entity, Episode, Refusal, Request


def _asked(said: str, missing: str, kind: str = "needs") -> Episode:
    refusal = Refusal(kind, "When?", (missing,))  # type: ignore[arg-type]
    return Episode("e", Request(said, FIXED_NOW), None, refusal, None, (), Answer("When?", "needs"))


@pytest.mark.parametrize(
    ("said", "missing", "text", "whole"),
    [
        ("remind me to text mum", "add_reminder.at", "6pm", "remind me to text mum at 6pm"),
        ("remind me to call Donna.", "add_reminder.at", "Tomorrow at two", "remind me to call Donna Tomorrow at two"),
        ("set a timer", "set_timer.length", "20 minutes", "set a timer for 20 minutes"),
        ("add to shopping", "add_to_list.items", "eggs", "add eggs to shopping"),
        ("email Miguel", "draft_mail.text", "The truck is blocked in.", "email Miguel: The truck is blocked in"),
        ("add eggs", "add_to_list.list", "the baking one", "add eggs to the baking list"),
        ("put eggs on a list", "add_to_list.list", "hen do", 'put eggs on the "hen do" list'),
        ("make a new list: sashes, a bus", "add_to_list.list", "hen do", 'add sashes, a bus to the "hen do" list'),
        ("show the parish to do list", "read_list.list", "parish to do", 'what\'s on the "parish to do" list'),
        ("add eggs", "add_to_list.list", "what's on the baking list", ""),
        ("add eggs", "add_to_list.list", "stop", ""),
        ("add eggs", "add_to_list.list", "none of them", ""),
        ("add eggs", "add_to_list.list", "no", ""),
        ("add eggs", "add_to_list.list", "never mind", ""),
        ("add eggs", "add_to_list.list", "leave it", ""),
        ("make a new list: sashes, a bus", "add_to_list.list", "stop it", ""),
        ("add eggs", "add_to_list.list", "eggs, milk and all that", ""),
        ("set a reminder", "add_reminder.text", "to ring Ida at six", "set a reminder to ring Ida at six"),
        ("set a reminder", "add_reminder.text", "call the plumber at 5", "set a reminder: call the plumber at 5"),
        ("set a timer", "set_timer.length", "ten", "set a timer for ten minutes"),
        ("set an alarm", "add_reminder.at", "half six", "set an alarm at half six"),
        ("send an email", "draft_mail.to", "sam@example.org", "send an email to sam@example.org"),
        ("how many miles is 26?", "convert_units.from_unit", "km", "how many miles is 26 km"),
        ("convert 26 to miles", "convert_units.from_unit", "it's in kilometres", "convert 26 kilometres to miles"),
        ("convert 26 km", "convert_units.to_unit", "miles", "convert 26 km to miles"),
        ("convert 26 to miles", "convert_units.from_unit", "bananas", ""),
        ("convert 26 and 27 to miles", "convert_units.from_unit", "km", ""),
        ("send an email", "draft_mail.to", "the blue one", ""),
        ("email Miguel", "draft_mail.text", "call Ana", ""),
        ("set a reminder", "add_reminder.text", "what do I have tomorrow", ""),
        ("set a reminder", "add_reminder.text", "call Ana?", ""),
        ("remind me to text mum", "add_reminder.at", "what's the time", ""),
        ("remind me to text mum", "add_reminder.at", "the blue one", ""),
        ("email Miguel", "draft_mail.text", "never mind", ""),
        ("tell her the van is here", "find_contact.name", "Ida Berg", ""),
        ("email Miguel", "draft_mail.text", "", ""),
    ],
)
def test_an_answer_completes_what_was_asked(said: str, missing: str, text: str, whole: str) -> None:
    assert answered(Utterance(text, FIXED_NOW), _asked(said, missing)) == whole


def test_nothing_is_completed_later_or_where_nothing_was_asked() -> None:
    late = FIXED_NOW + dt.timedelta(minutes=16)
    assert answered(Utterance("6pm", late), _asked("remind me to text mum", "add_reminder.at")) == ""
    assert answered(Utterance("6pm", FIXED_NOW), _asked("fly", "add_reminder.at", "out_of_scope")) == ""


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("Half past ten, I beg your pardon.", "no, Half past ten"),
        ("9 i mean", "no, 9"),
        ("scratch that, Sunday", "no, Sunday"),
        ("actually half past two would be better", "actually half past two"),
        ("tell Ben I'm late, sorry", "tell Ben I'm late, sorry"),
        ("sorry", "sorry"),
    ],
)
def test_a_mark_at_the_end_is_read_first(said: str, read: str) -> None:
    assert with_mark_first(said) == read


def test_who_is_told_takes_the_place_of_her() -> None:
    known = Context(entities=(Entity("Ida Berg", "person", ("Ida",)),))
    asked = _asked("tell her the van is here", "find_contact.name")
    assert answered(Utterance("Ida", FIXED_NOW, context=known), asked) == "tell Ida the van is here"
