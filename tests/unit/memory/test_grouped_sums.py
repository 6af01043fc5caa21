"""Sums by group: which questions ask for them, and which only name a price."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from hearth.memory.inquiry import grouped_sums
from hearth.memory.inquiry.grouped_sums import GroupsAsked, answer_by_group, asked_of_groups
from hearth.memory.passages.passage_store import PassageStore
from hearth.protocols import HomeAnswer, Witness
from hearth.storage.database import Store
from hearth.testing import make_call


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


def test_every_row_that_was_counted_is_a_witness(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Which of them are shown is for the caller: the label of the answer is that of all."""
    rows = tuple(Witness(f"documents/{k}", "document", "kiln £10", "file") for k in range(3))
    strange = Witness("INBOX/1", "mail", "kiln £9", "message")

    def spent(question: str, *_: object) -> HomeAnswer:
        return HomeAnswer("amount", "£10.00", "", (strange, *rows) if "January" in question else rows)

    monkeypatch.setattr(grouped_sums, "answer_from_records", spent)
    with Store.open(tmp_path / "hearth.db") as store:
        call = make_call(now=dt.datetime(2026, 12, 20, tzinfo=dt.UTC))
        found = answer_by_group("kiln rent by month", PassageStore(store, None), call)
    assert found is not None
    assert found.value.count("£10.00") == 12
    assert len(found.witnesses) == 1 + 12 * len(rows)
    assert {one.source for one in found.witnesses} == {"message", "file"}
