"""What no tool should be made to serve is read before anything is planned; what only sounds like it is left alone."""

from __future__ import annotations

import json

import pytest

from hearth.language.reading import beyond_tools, without_manner
from hearth.language.values.slots import find_slots
from hearth.testing import FIXED_NOW
from hearth.types import Context
from tests import ROOT


def said(text: str) -> str:
    return beyond_tools(text, find_slots(text, FIXED_NOW, Context()))


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("I feel really anxious", "I'm sorry that you feel like that"),
        ("I'm so lonely today", "I'm sorry that you feel like that"),
        ("honestly I feel like a failure", "I'm sorry that you feel like that"),
        ("I want to kill myself", "call your emergency number"),
        (
            "write a python script that sums the numbers in budget.csv",
            "I can't write a script yet, and I left your files",
        ),
        ("make me a bash script to rename my photos", "I can't write a script yet"),
        ("every morning at 7 tell me what is on my calendar", "at a time that comes again yet"),
        ("every morning at 7 tell me the weather and my first appointment", "at a time that comes again yet"),
        ("tell me every day at 8 what my day looks like", "at a time that comes again yet"),
    ],
)
def test_it_is_answered_and_not_planned(text: str, answer: str) -> None:
    assert answer in said(text)


@pytest.mark.parametrize(
    "text",
    [
        "I am sad, remind me to call Ben",
        "I'm afraid I can't come on Friday",
        "I'm down for lunch",
        "I'm lost, where is the station",
        "write down that the code of the gate is 4711",
        "write Karin that the program is ready",
        "make a note that the script of the play is due",
        "create an event code review on Friday",
        "every Sunday at 6 pm remind me to feed the sourdough",
        "every morning at 7 tell me to take my pills",
        "tell me at four to feed the cat, and every Sunday at 6 pm to water the fern",
        "add choir rehearsal every Tuesday at 7 pm",
        "tell Anna that I come every Monday",
        "give me the weekly weather",
        "set my suicide prevention meeting for this afternoon",
        "",
    ],
)
def test_what_only_sounds_like_it_is_planned(text: str) -> None:
    assert said(text) == ""


def test_nothing_that_is_shipped_is_turned_away() -> None:
    lines = (ROOT / "src/hearth/data/demonstrations.jsonl").read_text(encoding="utf-8").splitlines()
    requests = [one["user_request"] for one in map(json.loads, lines) if one["task_nodes"]]
    assert [text for text in requests if said(text)] == []


@pytest.mark.parametrize(
    ("text", "rest", "manner"),
    [
        ("write Karin that I'm late in my usual style", "write Karin that I'm late", "in my usual style"),
        ("in my own words, write Karin that I'm late", "write Karin that I'm late", "in my own words"),
        ("mail Ben the way I always write that it rains", "mail Ben that it rains", "the way I always write"),
        ("note that style matters", "note that style matters", ""),
        ("in my usual style", "in my usual style", ""),
    ],
)
def test_the_manner_is_no_part_of_the_text(text: str, rest: str, manner: str) -> None:
    assert without_manner(text) == (rest, manner)
