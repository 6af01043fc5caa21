"""How well plans are made: one student taught on one file, judged on another; flat results.

Covered: tools, order and links of plans, hallucination, latency of one request at a time, calibration.
Not covered: argument scores; data without parameters has none, and their keys are left out.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from hearth.bench.datasets import PlanData, graph_of
from hearth.bench.metrics import (
    Link,
    PlanGraph,
    accuracy_at_coverage,
    calibration_error,
    is_accurate,
    plan_scores,
    taskbench_node_f1,
)
from hearth.planning.reading import FloatRows, Reading
from hearth.planning.student import Ranking, Student, StudentOptions
from hearth.protocols import Encoder
from hearth.types import Demonstration

Method = Literal["student", "heads", "recall"]
"""`student`: heads and neighbours; `heads`: without neighbours; `recall`: neighbours alone."""
METHODS: tuple[Method, ...] = ("student", "heads", "recall")


@dataclass(frozen=True, slots=True)
class PlanningOptions:
    method: Method = "student"
    n_timed: int = 100
    """Requests planned one at a time to measure latency, encoding included; 0 measures none."""
    student: StudentOptions = field(default_factory=StudentOptions)
    restrict_to_graph: bool = False
    """Allow only links of the graph that was given."""


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


def read_all(data: PlanData, encoder: Encoder, options: StudentOptions | None = None) -> Read:
    """Encode every demonstration; by far the most of the time."""
    started = time.process_time()
    student = Student(encoder, data.tools, options)
    readings = student.read([d.request for d in data.demonstrations])
    vectors = student.step_vectors(data.demonstrations)
    return Read(data.demonstrations, tuple(readings), tuple(vectors), time.process_time() - started)


def options_for(method: Method, options: StudentOptions) -> StudentOptions:
    """The student that a method stands for."""
    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}; known are {', '.join(METHODS)}")
    if method == "recall":
        return replace(options, use_heads=False, n_free=0)
    return replace(options, use_neighbours=False) if method == "heads" else options


def teach(student: Student, read: Read) -> float:
    """Learn and fit; CPU-seconds it took, encoding not counted."""
    started = time.process_time()
    student.learn(read.demonstrations, read.readings, read.step_vectors)
    student.fit()
    return time.process_time() - started


def graph_of_ranking(ranking: Ranking) -> PlanGraph:
    if not ranking.candidates:
        return PlanGraph((), ())
    first = ranking.candidates[0]
    return PlanGraph(first.tools, tuple((first.tools[a], first.tools[b]) for a, b in first.links))


def judge(
    rankings: Sequence[Ranking],
    gold: Sequence[Demonstration],
    tools: frozenset[str],
    known_links: frozenset[Link] | None = None,
) -> dict[str, float]:
    """Scores of rankings: those of `metrics.plan_scores`, and how well confidence tells right from wrong."""
    plans, wanted = [graph_of_ranking(r) for r in rankings], [graph_of(d.plan) for d in gold]
    is_right = [is_accurate(p, g) for p, g in zip(plans, wanted)]
    sure = [ranking.confidence for ranking in rankings]
    wanted_sets = [set(g.nodes) for g in wanted]
    among = [any(set(c.tools) == s for c in r.candidates[:6]) for r, s in zip(rankings, wanted_sets)]
    return {
        **plan_scores(plans, wanted, tools, known_links),
        "taskbench_node_f1": taskbench_node_f1(plans, wanted),
        "ece": calibration_error(sure, is_right),
        "accuracy_at_50": accuracy_at_coverage(sure, is_right, 0.5),
        "accuracy_at_80": accuracy_at_coverage(sure, is_right, 0.8),
        "accuracy_in_first_6": float(np.mean(among)),
        **_by_length(is_right, wanted),
    }


def _by_length(is_right: Sequence[bool], wanted: Sequence[PlanGraph]) -> dict[str, float]:
    found = {}
    for name, lengths in (("2", range(2, 3)), ("3", range(3, 4)), ("4_and_more", range(4, 1000))):
        mine = [ok for ok, g in zip(is_right, wanted) if len(g.nodes) in lengths]
        if mine:
            found[f"accuracy_steps_{name}"] = float(np.mean(mine))
    return found


def run_planning(
    train: Read,
    test: PlanData,
    encoder: Encoder,
    options: PlanningOptions | None = None,
    *,
    graph: frozenset[Link] | None = None,
    known: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """Teach `train`, plan `test` with the tools of `test`.

    Args:
        train: As `read_all` gives it.
        graph: Links that exist, for the hallucination rate; those of the demonstrations when None.
        known: Keys to add to the results (seed, file names).
    Returns:
        Flat results: the keys of `judge`, `latency_p50_ms`, `latency_p99_ms`, `learn_cpu_s`, `encode_cpu_s`, `method`.
    """
    o = options or PlanningOptions()
    student = Student(encoder, test.tools, options_for(o.method, o.student), graph if o.restrict_to_graph else None)
    learn_cpu_s = teach(student, train)
    rankings = student.rank_readings(student.read([d.request for d in test.demonstrations]))
    gold = test.demonstrations
    links = graph if graph is not None else _links(train.demonstrations)
    scores = judge(rankings, gold, frozenset(test.tools), links)
    seen = {tuple(step.tool for step in d.plan.steps) for d in train.demonstrations}
    for name, is_mine in (("seen", True), ("new", False)):
        rows = [k for k, d in enumerate(gold) if (tuple(s.tool for s in d.plan.steps) in seen) == is_mine]
        if rows:
            mine = judge([rankings[k] for k in rows], [gold[k] for k in rows], frozenset(test.tools))
            scores[f"accuracy_{name}_sequences"] = mine["accuracy"]
    return {
        "method": o.method,
        **{key: round(value, 4) for key, value in scores.items()},
        "n": len(gold),
        **_latency(student, [d.request for d in gold][: o.n_timed]),
        "learn_cpu_s": round(learn_cpu_s, 2),
        "encode_cpu_s": round(train.cpu_s, 2),
        **(known or {}),
    }


def _links(demonstrations: Sequence[Demonstration]) -> frozenset[Link]:
    return frozenset(link for d in demonstrations for link in graph_of(d.plan).links)


def _latency(student: Student, requests: Sequence[str]) -> dict[str, float]:
    times_ms = []
    for request in requests:
        started = time.perf_counter()
        student.rank(request)
        times_ms.append((time.perf_counter() - started) * 1000)
    if not times_ms:
        return {}
    return {
        "latency_p50_ms": round(float(np.percentile(times_ms, 50)), 2),
        "latency_p99_ms": round(float(np.percentile(times_ms, 99)), 2),
    }
