"""When an answer over a table counts as right: python -m pytest packages/hearth-bench/tests/unit/test_table_questions.py"""

from __future__ import annotations

import pytest

from hearth.protocols import HomeAnswer, ValueKind
from hearth_bench.measure.memory.table_questions import TableQuestion, is_right


def told(value: str, kind: ValueKind = "text") -> HomeAnswer:
    return HomeAnswer(kind, value, "", (), 1.0)


@pytest.mark.parametrize(
    ("answers", "operation", "right", "wrong"),
    [
        (("56",), "sum", "56 hours (3 rows: Ana: 20; Bo: 30; Cy: 6)", "5.6"),
        (("€1,450.50",), "sum", "€1.450,50", "€1,450"),
        (("Gwen",), "cell", "gwen (£3)", "Gwendolyn"),
        (("yes",), "yesno", "Yes", "No, yes is said elsewhere"),
        (("8.10.",), "cell", "8.10. (62)", "9.10."),
    ],
)
def test_an_answer_is_held_against_the_right_one(
    answers: tuple[str, ...], operation: str, right: str, wrong: str
) -> None:
    one = TableQuestion("?", answers, operation)
    assert is_right(told(right), one)
    assert not is_right(told(wrong), one)
    assert not is_right(HomeAnswer("unknown", ""), one)


def test_a_list_has_all_rows_and_no_other() -> None:
    one = TableQuestion("who hasnt paid", ("Bo", "Cai"), "list", is_list=True)
    assert is_right(told("Bo; Cai", "list"), one)
    assert not is_right(told("Bo; Cai; Ana", "list"), one)
    assert not is_right(told("Bo", "list"), one)


def test_what_no_table_tells_is_refused() -> None:
    one = TableQuestion("what flour", (), "nothing")
    assert is_right(HomeAnswer("unknown", ""), one)
    assert not is_right(told("70"), one)
