"""Which list "the list" is."""

from __future__ import annotations

import datetime as dt

import pytest

from hearth.language.discourse.plain_request import on_its_list
from hearth.testing import FIXED_NOW
from hearth.types import Answer, Episode, Plan, Request, Step


def _used(name: str) -> Episode:
    plan = Plan((Step("add_to_list", {"list": name, "items": ["rope"]}),))
    return Episode("e", Request("add rope", FIXED_NOW), plan, None, None, (), Answer("", "done"))


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("what's on the list now", "what's on the camping list now"),
        ("take the rope off, we've got one", "take the rope off the camping list"),
        ("cross torches off", "take torches off the camping list"),
        ("add torches to my list please", "add torches to the camping list please"),
        ("take it off", "take it off"),
        ("take the day off", "take the day off"),
        ("show me the list of members", "show me the list of members"),
    ],
)
def test_the_list_is_the_one_that_was_used(said: str, read: str) -> None:
    assert on_its_list(said, [_used("the camping list")], FIXED_NOW, ["shopping", "camping"]) == read


def test_else_it_is_the_only_one_there_is() -> None:
    late = FIXED_NOW + dt.timedelta(hours=1)
    said = "put eggs on the list"
    assert on_its_list(said, [], FIXED_NOW, ["shopping"]) == "put eggs on the shopping list"
    assert on_its_list(said, [], FIXED_NOW, ["shopping", "camping"]) == said
    assert on_its_list(said, [_used("camping")], late, ["shopping", "camping"]) == said
    assert on_its_list("take eggs off", [], FIXED_NOW, ["shopping"]) == "take eggs off"


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("show the parish to do list", 'show the "parish to do" list'),
        ("what's on the list", "what's on the list"),
        ("show the camping list", "show the camping list"),
        ("remind me of the parish to do", "remind me of the parish to do"),
        ('show the "parish to do" list', 'show the "parish to do" list'),
    ],
)
def test_a_name_that_reads_as_more_is_marked(said: str, read: str) -> None:
    assert on_its_list(said, [], FIXED_NOW, ["camping", "parish to do"]) == read
