"""Score a file of predicted plans against a file of right ones: every metric of plans, in three groups."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hearth.errors import PlanError, RequestError
from hearth.formats.plans import plan_from_json, read_graph, read_jsonl, read_tools
from hearth.protocols import Encoder
from hearth.types import Plan
from hearth_bench.data.datasets import graph_of, read_plans, sha256_of
from hearth_bench.metrics.argument_f1 import argument_scores
from hearth_bench.metrics.plan_metrics import PlanGraph, plan_scores
from hearth_bench.metrics.step_metrics import step_scores
from hearth_bench.metrics.taskbench import Counted, count_plan, output_types, taskbench_scores
from hearth_bench.run_record import Stopwatch, origin

_NOTHING: Mapping[str, Any] = {"task_nodes": [], "task_links": [], "task_steps": []}


def score_file(
    predicted: Path,
    gold: Path,
    tools: Path,
    graph: Path | None = None,
    *,
    encoder: Encoder | None = None,
    is_strict: bool = False,
) -> dict[str, object]:
    """Compare plans by id; a request without a usable prediction counts as an empty plan, and is reported.

    Args:
        encoder: Encoder for `step_similarity`.
        is_strict: Stop at the first line that cannot be used.
    Raises:
        RequestError: A file cannot be read, or the files have no id in common. RegistryError: The tool file is wrong.
    """
    watch = Stopwatch()
    specs = read_tools(tools)
    right = read_plans(gold, specs, skip_bad=not is_strict)
    kinds = output_types(json.loads(tools.read_text("utf-8-sig"))["nodes"])
    raw = {str(line.get("id") or f"{gold.stem}-{number}"): line for number, line in read_jsonl(gold, [])}
    given, faults = _predictions(predicted, kinds, is_strict=is_strict)
    ids = [d.id for d in right.demonstrations]
    if not given.keys() & set(ids):
        raise RequestError(f"{predicted}: none of its {len(given)} ids is one of {gold}; predictions are matched by id")
    nothing = (Plan(()), count_plan(_NOTHING, kinds))
    plans = [given.get(id, nothing) for id in ids]
    golds = right.gold()
    graphs = [_graph(plan, counted, kinds) for plan, counted in plans]
    counted_gold = [count_plan(raw[id], kinds) for id in ids]
    links = read_graph(graph) if graph else None
    has_steps = any(c.steps for c in counted_gold)
    steps = step_scores([c.steps for _, c in plans], [c.steps for c in counted_gold], encoder) if has_steps else {}
    exact = [p.nodes == g.graph.nodes and set(p.links) == set(g.graph.links) for p, g in zip(graphs, golds)]
    return {
        "benchmark": "score",
        "task_decomposition": steps,
        "tool_invocation": {
            **plan_scores(graphs, [g.graph for g in golds], set(specs), links),
            "same_graph": sum(exact) / len(exact),
        },
        "parameter_prediction": argument_scores([plan.steps for plan, _ in plans], [g.calls for g in golds], specs),
        "taskbench": taskbench_scores([counted for _, counted in plans], counted_gold, list(specs)),
        "n": len(ids),
        "n_missing": sum(id not in given for id in ids),
        "n_unasked": len(given.keys() - set(ids)),
        "faults": [*right.faults, *faults],
        "predicted": predicted.name,
        "gold": gold.name,
        "predicted_sha256": sha256_of(predicted),
        "gold_sha256": right.sha256,
        "tools_sha256": sha256_of(tools),
        **watch.spent(),
        **origin(),
    }


def score_lines(document: Mapping[str, Any]) -> list[str]:
    """Format a score for a reader."""
    lines = [f"{document['predicted']} against {document['gold']}: {document['n']:,} requests"]
    for key in ("n_missing", "n_unasked"):
        if document[key]:
            lines[0] += f", {document[key]:,} {'without a plan' if key == 'n_missing' else 'plans nobody asked for'}"
    for group in ("task_decomposition", "tool_invocation", "parameter_prediction", "taskbench"):
        lines += ["", group.replace("_", " ")]
        lines += [f"  {name:<28}{value:.4f}" for name, value in document[group].items() if value is not None]
    return lines


def _predictions(
    path: Path, kinds: Mapping[str, str] | None, *, is_strict: bool
) -> tuple[dict[str, tuple[Plan, Counted]], list[str]]:
    faults: list[str] = []
    found: dict[str, tuple[Plan, Counted]] = {}
    for number, line in read_jsonl(path, None if is_strict else faults):
        try:
            found[str(line.get("id") or f"{path.stem}-{number}")] = (plan_from_json(line), count_plan(line, kinds))
        except PlanError as error:
            if is_strict:
                raise RequestError(f"{path}:{number}: {error}") from None
            faults.append(f"{path}:{number}: {error}")
    return found, faults


def _graph(plan: Plan, counted: Counted, kinds: Mapping[str, str] | None) -> PlanGraph:
    """Build the graph, with links as the file names them, else from references."""
    made = graph_of(plan)
    if kinds is None and counted.graph.links:
        return PlanGraph(made.nodes, tuple(dict.fromkeys(counted.graph.links)))
    return PlanGraph(made.nodes, tuple(dict.fromkeys(made.links)))
