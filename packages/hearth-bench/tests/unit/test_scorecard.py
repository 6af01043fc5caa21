"""The scorecard: every table's places lie in the kept result files, and each result says how old it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hearth_bench.measure import scorecard
from hearth_bench.measure import scorecard_run as parts
from hearth_bench.measure.result_file import RESULTS, ROOT
from hearth_bench.measure.scorecard import found_of, number, place_of, read_result, value_at
from hearth_bench.measure.scorecard_answers import ANSWER_TABLES
from hearth_bench.measure.scorecard_goals import GOALS, Goal, GoalTable
from hearth_bench.measure.scorecard_tables import TABLES, Row, Table

TABLE = Table(
    "G", "T", "made", "python -m x", (("one", "a"), ("two", "b")),
    (Row("floor", "floor_"), Row("us"), Row("oracle", by_definition={"a": 1.0})), ("src",),
)  # fmt: skip


ALL_TABLES = (*TABLES, *ANSWER_TABLES)
AWAITED = frozenset({"question/", "parts/asked_beyond_nothing/"})
"""Beginnings of what programs write since, and kept files hold when they are measured again."""


def _is_awaited(place: str) -> bool:
    return place.removeprefix("results/").startswith(tuple(AWAITED))


@pytest.mark.parametrize("table", ALL_TABLES, ids=lambda table: table.title)
def test_every_row_has_a_number_in_its_file(table: Table) -> None:
    document = read_result(RESULTS / f"{table.file}.json")
    if document is None:
        pytest.skip(f"{table.file} has not been measured")
    for row in table.rows:
        if row.by_definition is None and not _is_awaited(row.at):
            found = [value_at(document, place_of(row, key)) for _, key in table.columns]
            assert any(isinstance(value, int | float) for value in found), (table.file, row.label, found)


@pytest.mark.parametrize("table", ALL_TABLES, ids=lambda table: table.title)
def test_every_table_has_a_floor_and_an_oracle(table: Table) -> None:
    labels = [row.label for row in table.rows]
    assert any(label.startswith("floor") for label in labels)
    assert any(label.startswith("oracle") for label in labels) or "there is no oracle" in table.note
    assert any(not label.startswith(("floor", "oracle")) for label in labels)


@pytest.mark.parametrize("goal", [goal for table in GOALS for goal in table.goals], ids=lambda goal: goal.label)
def test_every_goal_has_a_command_and_its_number_in_its_file(goal: Goal) -> None:
    assert goal.command
    if not goal.file:
        path, _, name = goal.at.partition("::")
        assert not name or f"def {name}(" in (ROOT / path).read_text()
        return
    document = read_result(RESULTS / f"{goal.file}.json")
    if document is None:
        assert found_of(RESULTS, goal)[0] == "**not measured yet**"
    elif not _is_awaited(goal.at):
        assert isinstance(value_at(document, goal.at), bool | int | float), (goal.file, goal.at)


def test_goals_say_what_was_asked_and_what_is_measured(tmp_path: Path) -> None:
    made = {"at": "2026-01-02T03:04:05", "commit": "abc", "good": 0.9, "bad": 0.02, "same": True}
    (tmp_path / "made.json").write_text(json.dumps(made))
    goals = (
        Goal("good", "made", "good", 0.85, "run", then=0.6),
        Goal("bad", "made", "bad", 0.01, "run", is_at_most=True),
        Goal("same", "made", "same", 1.0, "run"),
        Goal("only told", "made", "good", None, "run"),
        Goal("later", "made", "later", 0.5, "run"),
        Goal("never", "none", "good", 0.5, "run"),
        Goal("tested", "", "tests/a.py", 1.0, "pytest"),
    )
    page = scorecard.scorecard(tmp_path, [], [GoalTable("T", goals)])
    assert "| good | 0.600 | ≥ 0.850 | 0.900 | yes | 2026-01-02, abc | `run` |" in page
    assert "| bad |  | ≤ 0.010 | 0.020 | **no** | 2026-01-02, abc | `run` |" in page
    assert "| same |  | ≥ 1.000 | yes | yes |" in page
    assert "| only told |  | – | 0.900 |  |" in page
    assert "| later |  | ≥ 0.500 | **not measured yet** |  | not in `made.json` of 2026-01-02, abc |" in page
    assert "| never |  | ≥ 0.500 | **not measured yet** |  | `none.json` is not there |" in page
    assert "| tested |  | ≥ 1.000 | a test: `tests/a.py` |" in page


def test_a_table_is_made_of_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scorecard, "_changes", lambda _commit, _code: 3)
    made = {
        "floor_a": 0.1,
        "a": 0.25,
        "b": 1234,
        "commit": "abc+",
        "at": "2026-01-02T03:04:05",
        "wall_s": 2.0,
        "seed": 7,
    }
    (tmp_path / "made.json").write_text(json.dumps(made))
    scorecard.age.cache_clear()
    page = scorecard.scorecard(tmp_path, [TABLE])
    assert "| floor | 0.100 | – |\n| **us** | 0.250 | 1,234 |\n| oracle *by definition* | 1.000 | – |" in page
    assert "2026-01-02 03:04 UTC · commit abc+ · machine unknown · seed 7 · 2 s" in page
    assert "**older than the code: 3 later commits to what it measures**" in page
    assert "Not measured yet: `python -m x`" in scorecard.scorecard(tmp_path / "none", [TABLE])


@pytest.mark.parametrize(
    ("commit", "n", "said"),
    [
        ("abc", 0, "the code it measures has not changed since"),
        ("abc", 1, "**older than the code: 1 later commit to what it measures**"),
        ("abc+", 0, "its tree held changes that were not committed; the code"),
        ("abc", None, "not in this history"),
        ("", 0, "not in this history"),
    ],
)
def test_a_result_says_how_old_it_is(commit: str, n: int | None, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scorecard, "_changes", lambda _commit, _code: n)
    scorecard.age.cache_clear()
    assert said in scorecard.age(commit, ("src",))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.5, "0.500"),
        (3, "3"),
        (1234.5, "1,234"),
        (123.45, "123.5"),
        (0.00002, "2.0e-05"),
        (None, "–"),
        (True, "–"),
        ("x", "–"),
    ],
)
def test_numbers(value: object, shown: str) -> None:
    assert number(value) == shown


def test_what_does_not_fit_into_the_time_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "RESULTS", tmp_path)
    (tmp_path / "slow.json").write_text('{"wall_s": 1000}')
    (tmp_path / "odd.json").write_text("[]")
    made = tmp_path / "ran"
    quick = parts.Part("quick", ("-c", f"open({str(made)!r}, 'w')"), "none")
    failing = parts.Part("failing", ("-c", "raise SystemExit(3)"), "odd")
    left_out = parts.measure([parts.Part("slow", ("-c", "1/0"), "slow"), quick, failing], 60)
    assert made.exists()
    assert left_out.keys() == {"slow", "failing"}
    assert left_out["slow"].startswith("took 1000 s the last time")
    assert left_out["failing"] == "it ended with exit code 3"


def test_the_quick_parts_took_less_than_ten_minutes_together() -> None:
    assert sum(parts.last_s(part) for part in parts.QUICK) <= 600
