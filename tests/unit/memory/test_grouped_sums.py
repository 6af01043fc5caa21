"""Sums by group: which questions ask for them, and which only name a price."""

from __future__ import annotations

import pytest

from hearth.memory.inquiry.grouped_sums import GroupsAsked, asked_of_groups


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("what did I spend by month on the kiln", GroupsAsked("month", "kiln")),
        ("what did I spend per month on the kiln", GroupsAsked("month", "kiln")),
        ("kiln rent by month", GroupsAsked("month", "kiln rent")),
        ("sales per buyer", GroupsAsked("buyer", "sales")),
        ("how much did each buyer pay", GroupsAsked("buyer", "")),
        ("who bought the most from me at fairs", GroupsAsked("buyer", "fairs", "most")),
    ],
)
def test_groups_are_read(question: str, asked: GroupsAsked) -> None:
    assert asked_of_groups(question) == asked


@pytest.mark.parametrize(
    "question",
    [
        "how much is the rent per month",
        "what do I pay per month for the gym",
        "meetings by month",
        "who bought the bread",
    ],
)
def test_a_price_or_a_list_is_no_sum(question: str) -> None:
    assert asked_of_groups(question) is None
