"""The benchmark report: every number from a result file, nothing typed by hand, a missing one named."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from hearth_bench.measure.benchmark_report import ASPECTS, BENCHMARKS, PAGE, main, report
from hearth_bench.measure.result_file import RESULTS


def test_the_page_is_of_these_results(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0
    assert "up to date" in capsys.readouterr().out
    assert PAGE.read_text(encoding="utf-8") == report(RESULTS)


def test_every_benchmark_sees_something_that_has_a_column() -> None:
    known = {name for _, name in ASPECTS}
    for one in BENCHMARKS:
        assert one.sees
        assert set(one.sees) <= known
        assert one.figures or one.note


def test_a_result_that_is_missing_or_lacks_a_figure_is_named(tmp_path: Path) -> None:
    bfcl = next(one for one in BENCHMARKS if one.name == "BFCL")
    assert "Not measured yet." in report(tmp_path, (bfcl,))
    (tmp_path / "bench_planning_bfcl.json").write_text(json.dumps({"node_f1": 0.5}))
    with pytest.raises(ValueError, match="has no 'floor_copy_node_f1'"):
        report(tmp_path, (bfcl,))
    alone = dataclasses.replace(bfcl, figures=(dataclasses.replace(bfcl.figures[0], floor="", oracle=""),))
    assert "| right tools (Node-F1) | – | 0.500 | – |" in report(tmp_path, (alone,))
