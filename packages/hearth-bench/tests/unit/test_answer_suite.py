"""python -m pytest packages/hearth-bench/tests/unit/test_answer_suite.py"""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest

from hearth.errors import RequestError
from hearth.memory.answers.question_answering import MemoryAnswer
from hearth.memory.search.search_words import Period
from hearth.testing import HashEncoder
from hearth_bench.suites.answers_suite import (
    ADVERSARIAL,
    FOREIGN,
    Answered,
    TokenF1,
    answer_figures,
    answer_lines,
    auroc,
    is_same_time,
    read_date,
    with_names,
)
from hearth_bench.suites.preferences_suite import (
    ChangedCase,
    choose,
    leaning,
    measure_changes,
    measure_preferences,
    preference_lines,
    read_preferences,
    shipped_changes,
)


def day(year: int, month: int, number: int) -> dt.datetime:
    return dt.datetime(year, month, number, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("said", "right", "is_listed", "expected"),
    [
        ("the blue bikes", "a blue bike", False, 1.0),
        ("red", "blue", False, 0.0),
        ("", "blue", False, 0.0),
        ("pottery, camping", "pottery, swimming", True, 0.5),
        ("blue bike", "bike", False, 2 / 3),
    ],
)
def test_f1_is_of_stemmed_tokens(said: str, right: str, is_listed: bool, expected: float) -> None:
    assert TokenF1()(said, right, is_listed) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("7 May 2023", day(2023, 5, 7), day(2023, 5, 8)),
        ("May 7, 2023", day(2023, 5, 7), day(2023, 5, 8)),
        ("June 2023", day(2023, 6, 1), day(2023, 7, 1)),
        ("2022", day(2022, 1, 1), day(2023, 1, 1)),
        ("The week before 9 June 2023", day(2023, 6, 2), day(2023, 6, 9)),
        ("The sunday before 25 May 2023", day(2023, 5, 21), day(2023, 5, 22)),
        ("The Friday before 14September, 2022", day(2022, 9, 9), day(2022, 9, 10)),
        ("the weekend before 20 October 2023", day(2023, 10, 14), day(2023, 10, 16)),
    ],
)
def test_right_dates_are_read(text: str, start: dt.datetime, end: dt.datetime) -> None:
    assert read_date(text) == Period(start, end)


@pytest.mark.parametrize("text", ["4 years", "since 2016, mostly", "", "the fortnight before 9 June 2023"])
def test_what_is_no_date_is_not_read_as_one(text: str) -> None:
    found = read_date(text)
    assert found is None or text.startswith("the fortnight")


def test_times_agree_when_they_share_half() -> None:
    june = Period(day(2023, 6, 1), day(2023, 7, 1))
    assert is_same_time(Period(day(2023, 6, 1), day(2023, 6, 20)), june)
    assert not is_same_time(Period(day(2023, 6, 1), day(2023, 6, 2)), june)
    assert not is_same_time(None, june)


def test_names_are_swapped_at_once() -> None:
    assert with_names("Did Ana call Ben?", ("Ana", "Ben"), ("Ben", "Ana")) == "Did Ben call Ana?"
    assert with_names("Did Ana call?", (), ("Ben",)) == "Did Ana call?"


def test_auroc_counts_ties_half() -> None:
    assert auroc([0.9, 0.8], [0.1, 0.2]) == 1
    assert auroc([0.5], [0.5]) == 0.5
    assert auroc([], [0.5]) is None


def test_refusing_is_right_only_where_there_is_no_answer() -> None:
    said, refused = MemoryAnswer("said", "blue", 0.9), MemoryAnswer("unknown", "no", 0.1)
    asked = [
        Answered(4, "blue", said, said, "blue", "blue", "blue red"),
        Answered(4, "red", refused, said, "blue", "blue", "blue red"),
        Answered(ADVERSARIAL, "", refused, said, "blue", "blue", "blue red"),
        Answered(FOREIGN, "", said, said, "blue", "blue", "blue red"),
    ]
    figures = answer_figures(asked)
    assert figures["answer_f1"] == 0.5
    assert figures["adversarial_refused"] == 1
    assert figures["foreign_refused"] == 0
    assert figures["answerable_refused"] == 0.5
    assert figures["abstention_accuracy"] == pytest.approx(2 / 3, abs=1e-4)
    assert any("AUROC" in line for line in answer_lines(figures))


def test_preferences_are_found_and_chosen(tmp_path: Path) -> None:
    entry = {"preference": "I hate wicker chairs.", "question": "Which chairs for the terrace?"}
    options = ["steel bench", "wicker chairs", "wicker chairs now", "wicker chairs please"]
    (tmp_path / "explicit_home.json").write_text(json.dumps([entry]))
    (tmp_path / "mcq_home.json").write_text(json.dumps([entry | {"classification_task_options": options}]))
    figures = measure_preferences(read_preferences(tmp_path), HashEncoder(384))
    assert figures["preference_recall_at_1"] == 1
    assert figures["choice_right"] == 1
    assert figures["floor_question_choice_right"] == 0
    assert list(preference_lines(figures))


@pytest.mark.parametrize("content", ["{", "[1]", '[{"question": "x"}]', "3"])
def test_a_file_in_another_form_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "explicit_home.json").write_text(content)
    with pytest.raises(RequestError, match=r"explicit_home\.json"):
        read_preferences(tmp_path)


def test_a_folder_without_preferences_is_named(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"explicit_\*\.json"):
        read_preferences(tmp_path)


def test_the_place_of_an_option_is_worth_nothing() -> None:
    assert choose(HashEncoder(384), "I hate figs.", "", ["same", "same", "same", "same"]) == 2
    options = ["figs", "figs cake", "plum"]
    assert choose(HashEncoder(384), "I hate figs.", "", options) == 2
    assert choose(HashEncoder(384), "I hate figs.", "", options[::-1]) == 0


@pytest.mark.parametrize(("clause", "sign"), [("I love figs", 1), ("I avoid figs", -1), ("figs", 0)])
def test_leaning(clause: str, sign: float) -> None:
    assert leaning(clause) == sign


def test_an_old_value_that_wins_is_counted() -> None:
    kept = ChangedCase("k01", "My locker is 48.", "The bus is late.", "What is my locker?", "48")
    lost = ChangedCase("c01", "My boat is called Gull.", "Nothing of note.", "What is my boat called?", "Nothing")
    figures = measure_changes([lost, kept], HashEncoder(384))
    assert (figures["changed_old_won"], figures["changed_right"], figures["unchanged_right"]) == (1, 0, 1)


def test_shipped_changes_are_what_they_say() -> None:
    cases = shipped_changes()
    assert len({case.id for case in cases}) == len(cases)
    assert sum(case.is_changed for case in cases) >= 60
    for case in cases:
        assert case.right in (case.new if case.is_changed else case.old)
    newer = shipped_changes(is_newer=True)
    assert len(newer) == 40
    assert not {case.old for case in cases} & {case.old for case in newer}
