"""Measure planning: one student taught on one file, judged on another; flat results.

Covered: tools, order and links of plans, arguments where the data have them, hallucination, calibration, latency of one
request at a time, an oracle and two floors. Test tools may differ from those taught; where a sample lists its tools,
only those are offered. Not covered: running the plans.
"""

from __future__ import annotations

import datetime as dt
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from hearth.cli.invocation import SILENT, Progress
from hearth.planning.plan_drafting import Drafter, Filling
from hearth.planning.ranking.features import FloatRows, Reading
from hearth.planning.ranking.ranker import Candidate, Ranker, RankerOptions, Ranking
from hearth.protocols import Encoder
from hearth.types import Demonstration, Plan, Step
from hearth_bench.data.datasets import PlanData, graph_of
from hearth_bench.metrics.argument_f1 import argument_scores
from hearth_bench.metrics.plan_metrics import (
    Link,
    PlanGraph,
    accuracy_at_coverage,
    calibration_error,
    calibration_floor,
    f1,
    is_accurate,
    plan_scores,
    taskbench_edit_distance,
    taskbench_link_f1,
    taskbench_node_f1,
)

Method = Literal["student", "heads", "recall"]
"""Methods. `student`: heads and neighbours; `heads`: without neighbours; `recall`: neighbours alone."""
METHODS: tuple[Method, ...] = ("student", "heads", "recall")
_CHUNK = 128
_N_ORACLE = 6
FIXED_NOW = dt.datetime(2026, 11, 20, 9, 30, tzinfo=dt.UTC)
"""Time at which requests without a time of their own are taken to be said: results must not depend on the day."""


@dataclass(frozen=True, slots=True)
class PlanningOptions:
    method: Method = "student"
    n_timed: int = 100
    """Number of requests planned one at a time to measure latency, encoding included; 0 measures none."""
    student: RankerOptions = field(default_factory=RankerOptions)
    restrict_to_graph: bool = False
    """True: allow only links of the given graph."""


class Read(NamedTuple):
    """Demonstrations with their readings, made once and used by every method."""

    demonstrations: tuple[Demonstration, ...]
    readings: tuple[Reading, ...]
    step_vectors: tuple[FloatRows, ...]
    cpu_s: float

    def subset(self, rows: Sequence[int]) -> Read:
        return Read(
            tuple(self.demonstrations[row] for row in rows),
            tuple(self.readings[row] for row in rows),
            tuple(self.step_vectors[row] for row in rows),
            self.cpu_s,
        )


# ── Teaching and planning ─────────────────────────────────────────────────────────────────────────────────


def read_all(
    data: PlanData, encoder: Encoder, options: RankerOptions | None = None, progress: Progress = SILENT
) -> Read:
    """Encode every demonstration; this takes most of the time."""
    started = time.process_time()
    student = Ranker(encoder, data.tools, options)
    readings: list[Reading] = []
    vectors: list[FloatRows] = []
    with progress.stage(f"Reading {len(data.demonstrations):,} demonstrations", len(data.demonstrations)) as advance:
        for start in range(0, len(data.demonstrations), _CHUNK):
            part = data.demonstrations[start : start + _CHUNK]
            readings += student.read([d.request for d in part])
            vectors += student.step_vectors(part)
            advance(len(part))
    return Read(data.demonstrations, tuple(readings), tuple(vectors), time.process_time() - started)


def options_for(method: Method, options: RankerOptions) -> RankerOptions:
    """Return the student options for a method."""
    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}; known are {', '.join(METHODS)}")
    if method == "recall":
        return replace(options, use_heads=False, n_free=0)
    return replace(options, use_neighbours=False) if method == "heads" else options


def teach(student: Ranker, read: Read) -> float:
    """Learn and fit, and return the CPU seconds it took, without encoding."""
    started = time.process_time()
    student.learn(read.demonstrations, read.readings, read.step_vectors)
    student.fit()
    return time.process_time() - started


def plan_all(drafter: Drafter, test: PlanData, progress: Progress = SILENT) -> list[Ranking]:
    """Rank plans for every request, each with the tools it lists, else with those of `test`."""
    found: list[Ranking] = []
    with progress.stage(f"Planning {len(test.demonstrations):,} requests", len(test.demonstrations)) as advance:
        for start in range(0, len(test.demonstrations), _CHUNK):
            part = test.demonstrations[start : start + _CHUNK]
            found += drafter.rank([d.request for d in part], [d.tools for d in part], test.tools)
            advance(len(part))
    return found


def graph_of_ranking(ranking: Ranking) -> PlanGraph:
    return _graph(ranking.candidates[0]) if ranking.candidates else PlanGraph((), ())


def _graph(candidate: Candidate) -> PlanGraph:
    return PlanGraph(candidate.tools, tuple((candidate.tools[a], candidate.tools[b]) for a, b in candidate.links))


def links_of_steps(steps: Sequence[Step]) -> tuple[Link, ...]:
    """Return the links that references make, each once."""
    pairs = [(ref.step, k) for k, step in enumerate(steps) for ref in step.refs() if 0 <= ref.step < len(steps)]
    return tuple(dict.fromkeys((steps[a].tool, steps[b].tool) for a, b in pairs))


# ── Judging ───────────────────────────────────────────────────────────────────────────────────────────────


def judge(
    rankings: Sequence[Ranking],
    gold: Sequence[Demonstration],
    tools: frozenset[str],
    known_links: frozenset[Link] | None = None,
    *,
    plans: Sequence[PlanGraph] | None = None,
    wanted: Sequence[PlanGraph] | None = None,
) -> dict[str, float]:
    """Score rankings: those of `plan_metrics.plan_scores`, and how well confidence tells right from wrong.

    Args:
        plans: Final plans, if they differ from the first candidates.
        wanted: Gold plans as in their file; made from `gold` when None.
    """
    plans = plans if plans is not None else [graph_of_ranking(r) for r in rankings]
    wanted = wanted if wanted is not None else [graph_of(d.plan) for d in gold]
    is_right = [is_accurate(p, g) for p, g in zip(plans, wanted)]
    sure = [ranking.confidence for ranking in rankings]
    wanted_sets = [set(g.nodes) for g in wanted]
    among = [any(set(c.tools) == s for c in r.candidates[:_N_ORACLE]) for r, s in zip(rankings, wanted_sets)]
    pooled = taskbench_link_f1(plans, wanted)
    return {
        **plan_scores(plans, wanted, tools, known_links),
        "tool_accuracy": float(np.mean([_same_places(p.nodes, g.nodes) for p, g in zip(plans, wanted)])),
        "taskbench_node_f1": taskbench_node_f1(plans, wanted, tools),
        **({} if pooled is None else {"taskbench_link_f1": pooled}),
        "taskbench_edit_distance": taskbench_edit_distance(plans, wanted, tools),
        "ece": calibration_error(sure, is_right),
        "ece_floor": calibration_floor(sure),
        "accuracy_at_50": accuracy_at_coverage(sure, is_right, 0.5),
        "accuracy_at_80": accuracy_at_coverage(sure, is_right, 0.8),
        "accuracy_at_100": accuracy_at_coverage(sure, is_right, 1.0),
        "accuracy_in_first_6": float(np.mean(among)),
        "node_f1_asking_40": _asking([r.expected_f1() for r in rankings], plans, wanted, 0.4),
        **_by_length(is_right, wanted),
    }


def _asking(sure: Sequence[float], plans: Sequence[PlanGraph], wanted: Sequence[PlanGraph], share: float) -> float:
    """Return the Node-F1 when the least sure `share` of the requests goes to a teacher who is always right."""
    order = np.argsort(sure, kind="stable")
    scores = np.array([f1(p.nodes, g.nodes) for p, g in zip(plans, wanted)])
    scores[order[: round(share * len(order))]] = 1.0
    return float(scores.mean())


def _same_places(predicted: Sequence[str], gold: Sequence[str]) -> float:
    """Return the share of positions with the right tool, over the longer plan's length."""
    return sum(p == g for p, g in zip(predicted, gold)) / max(len(predicted), len(gold), 1)


def _by_length(is_right: Sequence[bool], wanted: Sequence[PlanGraph]) -> dict[str, float]:
    found = {}
    for name, lengths in (("1", range(2)), ("2", range(2, 3)), ("3", range(3, 4)), ("4_and_more", range(4, 1000))):
        mine = [ok for ok, g in zip(is_right, wanted) if len(g.nodes) in lengths]
        if mine:
            found[f"accuracy_steps_{name}"] = float(np.mean(mine))
            found[f"n_steps_{name}"] = float(len(mine))
    return found


def oracle(rankings: Sequence[Ranking], wanted: Sequence[PlanGraph]) -> list[PlanGraph]:
    """Return the best of each request's first candidates: the upper bound of choosing among them."""
    best = []
    for ranking, gold in zip(rankings, wanted):
        graphs = [_graph(c) for c in ranking.candidates[:_N_ORACLE]] or [PlanGraph((), ())]
        best.append(
            max(graphs, key=lambda g: (f1(g.nodes, gold.nodes), g.nodes == gold.nodes, f1(g.links, gold.links)))
        )
    return best


def floors(read: Read, train: PlanData, test: PlanData, readings: Sequence[Reading]) -> dict[str, list[PlanGraph]]:
    """Make plans without learning: the plan taught most often, and that of the most similar demonstration."""
    golds = train.gold()
    often = [graph for graph, _ in Counter(g.graph for g in golds if g.graph.nodes).most_common()]
    frequent = []
    for d in test.demonstrations:
        offered = set(d.tools or test.tools)
        known = next((graph for graph in often if offered.issuperset(graph.nodes)), None)
        frequent.append(known or PlanGraph(tuple(d.tools[:1]) or (next(iter(test.tools)),), ()))
    taught = np.array([reading.whole for reading in read.readings])
    asked = np.array([reading.whole for reading in readings])
    nearest = (asked @ taught.T).argmax(axis=1)
    return {"floor_": frequent, "floor_copy_": [golds[int(row)].graph for row in nearest]}


# ── The whole measurement ─────────────────────────────────────────────────────────────────────────────────


def run_planning(
    train: Read,
    test: PlanData,
    encoder: Encoder,
    options: PlanningOptions | None = None,
    *,
    graph: frozenset[Link] | None = None,
    known: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """Teach `train`, and plan `test` with the tools of `test`; without arguments, floors and oracle.

    Args:
        train: Demonstrations as `read_all` returns them.
        graph: Existing links, for the hallucination rate; those of the demonstrations when None.
        known: Keys to add to the results (seed, file names).
    Returns:
        Flat results: the keys of `judge`, `latency_p50_ms`, `latency_p99_ms`, `learn_cpu_s`, `encode_cpu_s`, `method`.
    """
    o = options or PlanningOptions()
    student = Ranker(encoder, test.tools, options_for(o.method, o.student), graph if o.restrict_to_graph else None)
    learn_cpu_s = teach(student, train)
    data = PlanData(train.demonstrations, test.tools, "")
    results = measure(student, Material(data, test, graph), n_timed=o.n_timed)
    return {
        "method": o.method,
        **{key: value for key, value in results.items() if value is not None},
        "learn_cpu_s": round(learn_cpu_s, 2),
        "encode_cpu_s": round(train.cpu_s, 2),
        **(known or {}),
    }


@dataclass(frozen=True, slots=True)
class Material:
    """Data that a student is taught and judged with."""

    train: PlanData
    test: PlanData
    graph: frozenset[Link] | None = None
    """Existing links; those of `train` when None."""
    unserved: PlanData | None = None
    """Requests that no offered tool serves: no call is the right answer."""


def measure(
    student: Ranker,
    material: Material,
    *,
    filler: Filling | None = None,
    read: Read | None = None,
    n_timed: int = 100,
    progress: Progress = SILENT,
) -> dict[str, float | int | bool | None]:
    """Judge a taught student on the test requests.

    Args:
        filler: Fills arguments; None leaves their keys None, as data without parameters do.
        read: Taught demonstrations with their readings, needed for the floors.
    Returns:
        Flat results, see docs/howto/benchmarks.md; a key is None where the data hold nothing of its kind.
    """
    train, test, graph = material.train, material.test, material.graph
    golds, names = test.gold(), frozenset(test.tools)
    wanted = [gold.graph for gold in golds]
    drafter = Drafter(student, filler, train.demonstrations)
    rankings = plan_all(drafter, test, progress)
    plans = _drafts(drafter, rankings, test, progress)
    graphs = [_unique(graph_of(plan)) for plan in plans]
    links = graph if graph is not None else frozenset(link for gold in train.gold() for link in gold.graph.links)
    scores: dict[str, float | int | bool | None] = {
        key: round(value, 4)
        for key, value in judge(rankings, test.demonstrations, names, links, plans=graphs, wanted=wanted).items()
    }
    scores.setdefault("link_f1", None)
    scores |= _by_novelty(train, graphs, wanted)
    scores |= tools_right_by_kind(plans, test)
    scores |= _arguments(plans, test, drafter, filler is not None, progress)
    for prefix, bound in _bounds(rankings, read, train, test, student).items():
        mine = plan_scores(bound, wanted, names)
        kept = [key for key in _BOUNDED if key in mine]
        if prefix == "oracle_" and drafter.links_by_reference:
            kept = [key for key in kept if key != "link_f1"]  # candidates have no references yet
        scores |= {f"{prefix}{key}": round(mine[key], 4) for key in kept}
    return {
        **scores,
        "n": len(golds),
        "n_train": len(train.demonstrations),
        "n_tools": len(test.tools),
        "n_new_tools": len(names - {step.tool for d in train.demonstrations for step in d.plan.steps}),
        "listed_tools_are_the_plan": drafter.listed_is_plan,
        **_refusals(drafter, material.unserved, progress),
        **_latency(drafter, test, n_timed),
    }


_BOUNDED = ("node_f1", "link_f1", "accuracy", "exact")


def _bounds(
    rankings: Sequence[Ranking], read: Read | None, train: PlanData, test: PlanData, student: Ranker
) -> dict[str, list[PlanGraph]]:
    found = {"oracle_": oracle(rankings, [gold.graph for gold in test.gold()])}
    if read is not None:
        found |= floors(read, train, test, student.read([d.request for d in test.demonstrations]))
    return found


def _by_novelty(train: PlanData, plans: Sequence[PlanGraph], wanted: Sequence[PlanGraph]) -> dict[str, float]:
    """Return the accuracy on tool sequences that were taught, and on new ones."""
    seen = {tuple(step.tool for step in d.plan.steps) for d in train.demonstrations}
    found = {}
    for name, is_seen in (("seen", True), ("new", False)):
        right = [is_accurate(p, g) for p, g in zip(plans, wanted) if (g.nodes in seen) == is_seen]
        if right:
            found[f"accuracy_{name}_sequences"] = round(float(np.mean(right)), 4)
            found[f"n_{name}_sequences"] = float(len(right))
    return found


def needs_filling(data: PlanData) -> bool:
    """Return whether the data have arguments to fill."""
    return any(call.right for gold in data.gold() for call in gold.calls)


def _drafts(drafter: Drafter, rankings: Sequence[Ranking], test: PlanData, progress: Progress) -> list[Plan]:
    plans = []
    with progress.stage("Filling arguments", len(rankings)) as advance:
        for ranking, d in zip(rankings, test.demonstrations):
            plans.append(drafter.draft(ranking, d.request, d.now or FIXED_NOW, test.tools).plan)
            advance(1)
    return plans


def _unique(graph: PlanGraph) -> PlanGraph:
    return PlanGraph(graph.nodes, tuple(dict.fromkeys(graph.links)))


_ARGUMENT_KEYS = ("arg_name_f1", "arg_value_f1")


def _arguments(
    plans: Sequence[Plan], test: PlanData, drafter: Drafter, is_filled: bool, progress: Progress
) -> dict[str, float | int | bool | None]:
    """Score the arguments of the plans, and those filled for the gold plans' tools (`…_given_tools`)."""
    if not is_filled:
        return dict.fromkeys([*_ARGUMENT_KEYS, "arg_value_f1_given_tools"])
    golds = test.gold()
    calls = [gold.calls for gold in golds]
    planned = argument_scores([plan.steps for plan in plans], calls, test.tools)
    steps = []
    with progress.stage("Filling arguments, tools given", len(golds)) as advance:
        for gold, d in zip(golds, test.demonstrations):
            steps.append(drafter.fill(gold.graph.nodes, d.request, d.now or FIXED_NOW, test.tools)[0])
            advance(1)
    given = argument_scores(steps, calls, test.tools)
    found: dict[str, float | int | bool | None] = {key: _rounded(value) for key, value in planned.items()}
    found |= {f"{key}_given_tools": _rounded(value) for key, value in given.items() if not key.startswith("n_")}
    for kind, rows in _by_kind(test).items():
        for ending, made in (("", [plan.steps for plan in plans]), ("_given_tools", steps)):
            mine = argument_scores([made[row] for row in rows], [calls[row] for row in rows], test.tools)
            found[f"calls_exact_{kind}{ending}"] = _rounded(mine["calls_exact"])
    if drafter.links_by_reference:
        graphs = [PlanGraph(gold.graph.nodes, links_of_steps(mine)) for gold, mine in zip(golds, steps)]
        found["link_f1_given_tools"] = _rounded(taskbench_link_f1(graphs, [gold.graph for gold in golds]))
    return found


def _by_kind(data: PlanData) -> dict[str, list[int]]:
    """Return the rows of each kind of request, for data that name several."""
    rows: dict[str, list[int]] = {}
    for row, fields in enumerate(data.unknown):
        if isinstance(fields.get("kind"), str):
            rows.setdefault(str(fields["kind"]), []).append(row)
    return dict(sorted(rows.items())) if len(rows) > 1 else {}


def tools_right_by_kind(plans: Sequence[Plan], data: PlanData) -> dict[str, float]:
    """Return the share of requests whose plan calls the right tools as often, by kind, whatever the arguments."""
    found: dict[str, float] = {}
    wanted = [Counter(gold.graph.nodes) for gold in data.gold()]
    for kind, rows in _by_kind(data).items():
        right = [Counter(step.tool for step in plans[row].steps) == wanted[row] for row in rows]
        found[f"tools_right_{kind}"] = round(float(np.mean(right)), 4)
        found[f"n_{kind}"] = len(rows)
    return found


def _refusals(drafter: Drafter, unserved: PlanData | None, progress: Progress) -> dict[str, float | int]:
    """Return the share of requests without a plan for which no call is drafted, in all and by kind."""
    if unserved is None or not unserved.demonstrations:
        return {}
    plans = _drafts(drafter, plan_all(drafter, unserved, progress), unserved, progress)
    refused = [not plan.steps for plan in plans]
    found: dict[str, float | int] = {"refused_unserved": round(float(np.mean(refused)), 4), "n_unserved": len(plans)}
    for kind, rows in _by_kind(unserved).items():
        found[f"refused_{kind}"] = round(float(np.mean([refused[row] for row in rows])), 4)
        found[f"n_{kind}"] = len(rows)
    return found


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _latency(drafter: Drafter, test: PlanData, n: int) -> dict[str, float | None]:
    """Measure milliseconds of one plan at a time, from text to steps with arguments; the first few are not counted."""
    times_ms: list[float] = []
    calls_ms: list[float] = []
    for d in (*test.demonstrations[:n][:3], *test.demonstrations[:n]):
        started = time.perf_counter()
        (ranking,) = drafter.rank([d.request], [d.tools], test.tools)
        ranked = time.perf_counter()
        plan = drafter.draft(ranking, d.request, FIXED_NOW, test.tools).plan
        ended = time.perf_counter()
        times_ms.append((ended - started) * 1000)
        if plan.steps and any(step.arguments for step in plan.steps):
            calls_ms.append((ended - ranked) * 1000 / len(plan.steps))
    found: dict[str, float | None] = {}
    for name, all_ms in (("latency", times_ms[3:]), ("call_latency", calls_ms[3:])):
        for share in (50, 99):
            found[f"{name}_p{share}_ms"] = round(float(np.percentile(all_ms, share)), 2) if all_ms else None
    return found
