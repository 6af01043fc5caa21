"""Our metrics against the numbers that TaskBench's, GNN4TaskPlan's and Google's own programs gave for fuzzed plans.

The file holds the plans and the numbers, none of their code. `rouge-score` is not a dependency: 500 pairs of texts are.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from hearth.errors import PlanError
from hearth_bench.metrics.plan_metrics import f1, is_accurate, unknown_share
from hearth_bench.metrics.step_metrics import rouge_l, rouge_n
from hearth_bench.metrics.taskbench import Counted, content_kind, count_plan, output_types, taskbench_scores
from tests import BENCH_DATA

FILE = BENCH_DATA / "metrics" / "reference.jsonl"
CLOSE = 1e-9


@cache
def lines() -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(line) for line in FILE.read_text().splitlines())


def groups() -> tuple[dict[str, Any], ...]:
    return lines()[1:-1]


def read(group: dict[str, Any]) -> tuple[list[Counted], list[Counted], list[str]]:
    tools = lines()[0]["tools"][group["kind"]]
    kinds = (
        None if group["kind"] == "temporal" else output_types([{"id": t, "output-type": o} for t, o in tools.items()])
    )
    golds = [count_plan(gold, kinds) for gold, _ in group["plans"]]
    return [count_plan({"result": predicted}, kinds) for _, predicted in group["plans"]], golds, list(tools)


def test_there_are_enough_plans() -> None:
    assert lines()[0]["n_plans"] == sum(len(group["plans"]) for group in groups()) >= 500


@pytest.mark.parametrize("kind", ["temporal", "resource"])
def test_taskbench(kind: str) -> None:
    for group in groups():
        if group["kind"] == kind:
            scores = taskbench_scores(*read(group))
            assert scores == pytest.approx(group["taskbench"], abs=CLOSE), group["plans"][0]


def test_gnn4taskplan() -> None:
    for group in groups():
        tools = set(lines()[0]["tools"][group["kind"]])
        known = {(a, b) for a in sorted(tools)[:4] for b in tools}
        pairs = [(count_plan(predicted).graph, count_plan(gold).graph) for gold, predicted in group["plans"]]
        wanted = group["gnn4taskplan"]
        assert [f1(p.nodes, g.nodes) for p, g in pairs] == pytest.approx(wanted["node_f1"], abs=CLOSE)
        assert [f1(p.links, g.links) for p, g in pairs] == pytest.approx(wanted["link_f1"], abs=CLOSE)
        accuracy = sum(is_accurate(p, g) for p, g in pairs) / len(pairs)
        assert round(accuracy, 4) == pytest.approx(wanted["accuracy"], abs=CLOSE)
        nodes = [[unknown_share(p.nodes, tools), float(unknown_share(p.nodes, tools) > 0)] for p, _ in pairs]
        links = [[unknown_share(p.links, known), float(unknown_share(p.links, known) > 0)] for p, _ in pairs]
        assert nodes == [pytest.approx(pair, abs=CLOSE) for pair in wanted["node_hallucination"]]
        assert links == [pytest.approx(pair, abs=CLOSE) for pair in wanted["link_hallucination"]]


def test_rouge() -> None:
    rows = lines()[-1]["rouge"]
    assert len(rows) == 500
    for predicted, gold, one, two, longest in rows:
        found = [rouge_n(predicted, gold, 1), rouge_n(predicted, gold, 2), rouge_l(predicted, gold)]
        assert found == pytest.approx([one, two, longest], abs=CLOSE), (predicted, gold)


# ── What fuzzing does not reach ───────────────────────────────────────────────────────────────────────────


def test_a_plan_that_is_none_is_named() -> None:
    with pytest.raises(PlanError, match=r"task_nodes is 'a, b'; expected a list of"):
        count_plan({"task_nodes": "a, b"})
    with pytest.raises(PlanError, match="task_nodes is None"):
        count_plan({})


def test_what_the_source_reads_twice_is_left_out() -> None:
    node = {"task": "a", "arguments": [7, "<node-9>", "<node-x>", {"value": None}]}
    assert count_plan({"task_nodes": [node]}, {"a": "text"}).argument_values == ()


def test_domains_are_told_apart_by_their_tools() -> None:
    assert output_types([{"id": "a", "parameters": []}]) is None
    assert output_types([{"id": "a", "output-type": ["text"]}, {"id": "b", "output-type": []}]) == {
        "a": "text",
        "b": "none",
    }


def test_content_kinds() -> None:
    assert [content_kind(t) for t in ("a.jpg", "b.mp3", "c.webm", "words")] == ["image", "audio", "video", "text"]
