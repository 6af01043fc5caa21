"""What results say of themselves, how they are written, and how they are shown."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from hearth.atomic_files import check_writable, write_bytes
from hearth.cli.invocation import Progress
from hearth.errors import RequestError, StoreError
from hearth.version import __version__
from hearth_bench.report.result_figures import continual_png
from hearth_bench.report.terminal_tables import continual_lines, planning_lines
from hearth_bench.run_record import Stopwatch, commit, origin, write_json


def test_origin_says_where_a_result_was_made() -> None:
    found = origin()
    assert found["version"] == __version__
    assert "cores" in str(found["machine"])
    assert commit() == found["commit"]


def test_a_stopwatch_counts_both_clocks() -> None:
    watch = Stopwatch()
    sum(k * k for k in range(200_000))
    assert set(watch.read()) == {"wall_s", "cpu_s"}
    assert watch.read()["wall_s"] >= 0


def test_results_are_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    write_json(path, {"name": "Grüße", "score": 0.5})
    assert json.loads(path.read_text()) == {"name": "Grüße", "score": 0.5}
    with pytest.raises(TypeError):
        write_json(path, {"score": object()})
    assert json.loads(path.read_text())["score"] == 0.5
    assert [p.name for p in tmp_path.iterdir()] == ["result.json"]


def test_a_result_that_cannot_be_written_leaves_the_older_one(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.mkdir()
    with pytest.raises(StoreError, match="Is a directory; it is as before"):
        write_bytes(path, b"x")
    assert [p.name for p in tmp_path.iterdir()] == ["result.json"]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    check_writable(tmp_path / "result.json")
    with pytest.raises(RequestError, match="is a folder; name a file in it"):
        check_writable(tmp_path)
    with pytest.raises(RequestError, match=r"there is no folder .*absent.*; make it first"):
        check_writable(tmp_path / "absent" / "result.json")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_to_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(RequestError, match="may not be written to"):
        check_writable(tmp_path / "result.json")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_a_bar_on_a_terminal_a_line_elsewhere_and_nothing_without() -> None:
    for stream, wanted in ((Terminal(), "Reading"), (io.StringIO(), "Reading: ")):
        with Progress(stream).stage("Reading", 2) as advance:
            advance(1)
            advance(1)
        assert wanted in stream.getvalue()
    with Progress().stage("Reading", 2) as advance:
        advance(1)
    Progress().say("nothing")


def method(acc: float, n_rounds: int, **more: Any) -> dict[str, Any]:
    return {
        "method": "student",
        "acc": acc,
        "bwt": -0.01,
        "fwt": 0.2,
        "forgetting": 0.01,
        "joint_acc": acc,
        "r_matrix": [[acc] * n_rounds] * n_rounds,
        "final_node_f1": acc,
        "final_accuracy": acc / 2,
        "seen_node_f1": [acc] * n_rounds,
        "round_cpu_s": [0.5] * n_rounds,
        "fit_cpu_s": [0.5] * n_rounds,
        **more,
    }


def stream(n_rounds: int) -> dict[str, Any]:
    joint = method(0.9, n_rounds, seen_node_f1=[], round_cpu_s=[3.0])
    return {
        **method(0.8, n_rounds),
        "methods": {"student": method(0.8, n_rounds), "joint": joint, "finetune": method(0.4, n_rounds)},
        "left_out": {"replay": "torch is not installed"},
        "train": "train.jsonl",
        "test": "test.jsonl",
        "n_train": 2727,
        "n": 300,
        "n_rounds": n_rounds,
        "order": "domain",
        "commit": "",
        "wall_s": 61.0,
        "cpu_s": 70.0,
    }


@pytest.mark.parametrize("n_rounds", [1, 3, 20])
def test_pictures_of_streams_short_and_long(n_rounds: int) -> None:
    assert continual_png(stream(n_rounds)).startswith(b"\x89PNG")


def test_streams_are_shown_aligned() -> None:
    lines = continual_lines(stream(3))
    assert lines[0] == "train.jsonl: 2,727 demonstrations in 3 rounds, order domain; 300 requests of test.jsonl"
    rows = [line for line in lines if line.startswith(("student", "joint", "finetune", "        "))]
    assert len({len(row) for row in rows}) == 1
    assert "-0.010" in rows[1]
    assert lines[-1] == "left out      replay: torch is not installed"


def test_planning_is_shown_between_floor_and_oracle() -> None:
    scores = {"node_f1": 0.5, "link_f1": None, "accuracy": 0.25, "exact": 0.125}
    document: dict[str, Any] = {
        "test": "test.jsonl",
        "n": 4,
        "n_tools": 2800,
        "n_new_tools": 0,
        "n_train": 10,
        "method": "student",
        "tier_two": True,
        "tier_two_left_out": None,
        **{
            f"{prefix}{key}": value
            for prefix in ("", "floor_", "floor_copy_", "oracle_")
            for key, value in scores.items()
        },
        "accuracy_steps_4_and_more": 0.5,
        "n_steps_4_and_more": 2.0,
        **{f"accuracy_at_{share}": 0.5 for share in (50, 80, 100)},
        "ece": 0.04,
        "node_hallucination": 0.0,
        "link_hallucination": 0.0,
        "latency_p50_ms": None,
        "wall_s": 3.0,
        "cpu_s": 2.0,
        "learn_cpu_s": 1.0,
    }
    lines = planning_lines(document)
    assert lines[0] == "test.jsonl: 4 requests, 2,800 tools (0 never taught), learnt from 10 demonstrations"
    assert lines[5].split() == ["student", "with", "tier", "two", "0.500", "–", "0.250", "0.125"]
    assert "by steps      4+: 0.500 of 2" in lines
    assert "one plan      –" in lines
    assert not any(line.startswith(("arguments", "left out")) for line in lines)


def test_the_disk_is_waited_for_where_something_would_be_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[int] = []
    monkeypatch.setattr(os, "fsync", waited.append)
    write_bytes(tmp_path / "a", b"1", is_lasting=False)
    assert ((tmp_path / "a").read_bytes(), waited) == (b"1", [])
    write_json(tmp_path / "b", {"x": 1})
    assert len(waited) == 2  # the file, and the folder that names it
