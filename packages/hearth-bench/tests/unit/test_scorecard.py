"""The scorecard: every table's places lie in the kept result files, and each result says how old it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hearth_bench.measure import scorecard
from hearth_bench.measure import scorecard_run as parts
from hearth_bench.measure.result_file import RESULTS
from hearth_bench.measure.scorecard import number, place_of, read_result, value_at
from hearth_bench.measure.scorecard_tables import TABLES, Row, Table

TABLE = Table(
    "G", "T", "made", "python -m x", (("one", "a"), ("two", "b")),
    (Row("floor", "floor_"), Row("us"), Row("oracle", by_definition={"a": 1.0})), ("src",),
)  # fmt: skip


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.title)
def test_every_row_has_a_number_in_its_file(table: Table) -> None:
    document = read_result(RESULTS / f"{table.file}.json")
    if document is None:
        pytest.skip(f"{table.file} has not been measured")
    for row in table.rows:
        if row.by_definition is None:
            found = [value_at(document, place_of(row, key)) for _, key in table.columns]
            assert any(isinstance(value, int | float) for value in found), (table.file, row.label, found)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.title)
def test_every_table_has_a_floor_and_an_oracle(table: Table) -> None:
    labels = [row.label for row in table.rows]
    assert any(label.startswith("floor") for label in labels)
    assert any(label.startswith("oracle") for label in labels) or "there is no oracle" in table.note
    assert any(not label.startswith(("floor", "oracle")) for label in labels)


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
