"""The best of each number is kept, and a loss of more than a fifth is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hearth_bench.measure import best_results
from hearth_bench.measure.best_results import Best, lost, updated, value_of, watched
from hearth_bench.measure.result_file import RESULTS


def document(value: float, commit: str = "abc") -> dict[str, object]:
    return {"commit": commit, "at": "2026-11-23T10:00:00+00:00", "results": {"start": 1, "idle_rss_mb": value}}


def test_a_better_number_takes_the_place_of_the_best_and_a_worse_one_does_not() -> None:
    best = updated({}, "start", document(200.0, "one"))
    best = updated(best, "start", document(150.0, "two"))
    best = updated(best, "start", document(180.0, "three"))
    assert best == {"start/idle_rss_mb": Best(150.0, "two", "2026-11-23T10:00:00+00:00")}


@pytest.mark.parametrize(("now", "is_lost"), [(150.0, False), (180.0, False), (180.1, True)])
def test_what_is_over_a_fifth_worse_is_lost(tmp_path: Path, now: float, is_lost: bool) -> None:
    (tmp_path / "start.json").write_text(json.dumps(document(now)))
    best = {"start/idle_rss_mb": Best(150.0, "two", "")}
    assert [(key, value) for key, _, value in lost(best, tmp_path)] == [("start/idle_rss_mb", now)] * is_lost


@pytest.mark.parametrize(("now", "is_lost"), [(0.9, False), (0.75, False), (0.74, True)])
def test_a_number_that_is_better_higher(now: float, is_lost: bool) -> None:
    assert Best(0.9, "", "").is_lost_at(now, is_lower_better=False) is is_lost


def test_a_number_is_found_in_files_of_both_forms() -> None:
    assert value_of({"results": {"a": {"b": 2}}}, "a/b") == 2.0
    assert value_of({"right": 0.5}, "right") == 0.5
    assert value_of({"right": True}, "right") is None
    assert value_of({}, "a/b") is None


def test_every_watched_number_is_in_its_file() -> None:
    missing = [
        f"{file}/{place}"
        for file, place, _ in watched()
        if value_of(json.loads((RESULTS / f"{file}.json").read_text()), place) is None
    ]
    assert missing == []


def test_a_loss_is_said_aloud(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for value, commit in ((100.0, "one"), (130.0, "two")):
        (tmp_path / "start.json").write_text(json.dumps(document(value, commit)))
        best_results.main(["--folder", str(tmp_path)])
    assert "LOST  start/idle_rss_mb: 130, and was 100 at one (2026-11-23)" in capsys.readouterr().err
    assert json.loads((tmp_path / "best.json").read_text())["start/idle_rss_mb"]["commit"] == "one"
