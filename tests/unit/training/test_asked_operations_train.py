"""What is learnt of questions is kept apart from what only counts, and every line of it can be learnt."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from hearth.memory.answers.home_answers import OPERATIONS, Understood, stretch_of, words_of
from hearth.memory.inquiry.record_answers import asked_of_dates, asked_of_records
from training.asked_operations_train import QUESTIONS, UNSEEN, AskedQuestion, marks_fitted, read_asked


def test_what_only_counts_is_not_learnt() -> None:
    learnt, unseen = (
        {" ".join(re.findall(r"\w+", one.q.lower())) for one in read_asked(p)} for p in (QUESTIONS, UNSEEN)
    )
    assert not learnt & unseen


@pytest.mark.parametrize("path", [QUESTIONS, UNSEEN])
def test_every_line_names_an_operation_and_its_own_words(path: Path) -> None:
    for one in read_asked(path):
        assert one.op in OPERATIONS
        assert one.matter in one.q
        assert one.when in one.q
        assert words_of(one.q)


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if name not in ("read", "since", "next_time")])
def test_the_parsers_know_each_operation_as_it_is_said(operation: str) -> None:
    said = Understood(operation, 1.0, "the harbour bus", "this year").said()
    assert asked_of_records(said) or asked_of_dates(said)


def test_a_stretch_is_learnt_and_found_in_another_question() -> None:
    rows = [("what did {} cost us", "sum"), ("add up {} please", "sum")]
    named = ["the ferry", "swimming", "the new roof", "hay", "our heating oil", "ballet shoes"]
    asked = [AskedQuestion(q=form.format(one), op=op, matter=one, when="") for one in named for form, op in rows]
    marks = marks_fitted(asked)
    assert stretch_of("what did chimney sweeping cost us", "sum", marks[0]) == "chimney sweeping"
    assert stretch_of("what did hay cost us", "sum", marks[1]) == ""
    assert marks.dtype == np.float32
