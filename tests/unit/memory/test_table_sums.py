"""Rows of tables that a question means: a club's accounts and a list of who has paid."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.memory.inquiry.amounts.table_sums import asked_of_table
from hearth.memory.inquiry.home_answers import HomeAnswers
from hearth.memory.inquiry.reading.answer_reading import AnswerReader
from hearth.protocols import HomeAnswer
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW, InMemoryWorkspace, make_call
from hearth.tools.memory import DOUBTED

ACCOUNTS = (
    "date,what,type,amount\n2026-01-03,Court hire,expense,120.00\n2026-02-01,Subs,income,300.50\n"
    "2026-02-14,Court hire,expense,80.00\n2025-06-01,Raffle,income,60.00\n2026-03-01,Shuttles,expense,45.25\n"
)
PUPILS = "pupil,instrument,fee,paid\nHana,cello,90.00,yes\nOle,flute,60.00,no\nMin,cello,90.00,no\n"


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[HomeAnswers]:
    with Store.open(tmp_path / "hearth.db") as store:
        yield HomeAnswers(store, None, AnswerReader())


def answer(home: HomeAnswers, question: str) -> HomeAnswer:
    files = {"documents/badminton accounts.csv": ACCOUNTS.encode(), "documents/pupils.csv": PUPILS.encode()}
    now = FIXED_NOW.replace(year=2026, month=11, day=24)
    return home.find_answer(question, make_call(workspace=InMemoryWorkspace(files), now=now))


@pytest.mark.parametrize(
    ("question", "value", "is_sure"),
    [
        ("how much has badminton spent on court hire", "200.00 (2 rows)", True),
        ("what did badminton take in this year", "300.50", True),
        ("what is the badminton income", "360.50 (2 rows)", True),
        ("how much did the club spend on shuttles", "45.25", False),  # no table speaks of a club
        ("how much do the pupils still owe", "150.00 (2 rows)", True),
        ("how much do the cello pupils still owe me", "90.00", True),
        ("which pupils haven't paid", "Ole; Min", True),
        ("how many pupils have paid", "1", True),
        ("how many pupils have not paid yet", "2", True),
    ],
)
def test_the_rows_that_are_meant_are_summed_counted_or_listed(
    ask: HomeAnswers, question: str, value: str, is_sure: bool
) -> None:
    found = answer(ask, question)
    assert found.value == value
    assert (found.chance > DOUBTED) is is_sure
    assert found.witnesses


@pytest.mark.parametrize(
    "question", ["how much did I spend on clay", "how much is the rent", "which pupils play", "who owes me"]
)
def test_other_questions_are_left_to_others(question: str) -> None:
    assert asked_of_table(question) is None
