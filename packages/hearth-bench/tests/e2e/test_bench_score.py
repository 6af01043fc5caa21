"""`hearth bench score`: a file of plans, whoever made it, beside the right ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hearth import cli
from tests import BENCH_DATA

WORLD = BENCH_DATA / "bench"
TEST, TOOLS, GRAPH = (WORLD / name for name in ("test.jsonl", "tool_desc.json", "graph_desc.json"))
Ran = tuple[int, str, str]


@pytest.fixture
def score(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Ran]:
    (tmp_path / "gold.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines()))

    def score(predicted: Path, *more: object) -> Ran:
        capfd.readouterr()
        parts = [
            "bench",
            "score",
            "--predicted",
            predicted,
            "--gold",
            tmp_path / "gold.jsonl",
            "--tools",
            TOOLS,
            "--json",
            tmp_path / "out.json",
        ]
        code = cli.run([str(part) for part in (*parts, *more)])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return score


def lines() -> list[dict[str, Any]]:
    """Requests with plans, each step in words."""
    rows = [json.loads(line) for line in TEST.read_text().splitlines()]
    return [{**row, "task_steps": [f"Call {node['task']}" for node in row["task_nodes"]]} for row in rows]


def test_right_plans_are_all_right(score: Callable[..., Ran], tmp_path: Path) -> None:
    code, said, _ = score(tmp_path / "gold.jsonl", "--graph", GRAPH, "--similarity")
    found = json.loads((tmp_path / "out.json").read_text())
    assert (code, found["n"], found["n_missing"], found["faults"]) == (0, 12, 0, [])
    for group, names in (
        ("task_decomposition", ["rouge1", "rouge2", "rougeL", "step_similarity"]),
        ("tool_invocation", ["node_f1", "link_f1", "accuracy", "exact", "same_graph"]),
        ("parameter_prediction", ["arg_name_f1", "arg_value_f1", "call_exact"]),
        ("taskbench", ["node_micro_f1", "link_f1", "argument_name_f1", "argument_value_f1"]),
    ):
        assert [found[group][name] for name in names] == pytest.approx([1.0] * len(names), abs=1e-6), group
    assert found["taskbench"]["edit_distance"] == 0
    assert "parameter prediction" in said


def test_missing_and_bad_plans_count_as_empty_and_are_said(score: Callable[..., Ran], tmp_path: Path) -> None:
    rows = lines()
    kept = [{"id": row["id"], "result": {k: row[k] for k in ("task_steps", "task_nodes")}} for row in rows[:6]]
    path = tmp_path / "p.jsonl"
    bad = [{"id": rows[6]["id"], "task_nodes": "none"}, {"id": "nobody", "task_nodes": []}]
    path.write_text("\n".join(map(json.dumps, [*kept, *bad])) + "\n{\n")
    code, said, told = score(path)
    found = json.loads((tmp_path / "out.json").read_text())
    assert (code, found["n"], found["n_missing"], found["n_unasked"]) == (6, 12, 6, 1)
    assert found["tool_invocation"]["node_f1"] == pytest.approx(0.5, abs=1e-6)
    assert found["task_decomposition"]["rougeL"] == 0.5
    assert "p.jsonl:7: the plan is malformed" in told
    assert "p.jsonl:9: not a JSON object" in told
    assert "6 without a plan, 1 plans nobody asked for" in said
    assert score(path, "--strict")[0] == 3


def test_files_that_do_not_belong_together_are_refused(score: Callable[..., Ran], tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"id": "x", "task_nodes": []}\n')
    code, _, told = score(path)
    assert (code, "none of its 1 ids is one of" in told) == (3, True)
