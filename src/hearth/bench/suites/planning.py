"""How well plans are made: one student taught on one file, judged on another; flat results.

Covered: tools, order and links of plans, arguments where the data have them, hallucination, calibration, latency of one
request at a time, an oracle and two floors. Test tools may be others than the ones taught; where a sample lists its
tools, only those are offered. Not covered: running the plans.
"""

from __future__ import annotations

import datetime as dt
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, Protocol

import numpy as np

from hearth.bench.arguments import argument_scores
from hearth.bench.datasets import Gold, PlanData, graph_of
from hearth.bench.metrics import (
    Link,
    PlanGraph,
    accuracy_at_coverage,
    calibration_error,
    f1,
    is_accurate,
    plan_scores,
    taskbench_edit_distance,
    taskbench_link_f1,
    taskbench_node_f1,
)
from hearth.bench.progress import SILENT, Progress
from hearth.planning.reading import FloatRows, Reading
from hearth.planning.student import Candidate, Ranking, Student, StudentOptions
from hearth.protocols import Encoder
from hearth.types import Argument, Context, Demonstration, Ref, Step, ToolSpec

Method = Literal["student", "heads", "recall"]
"""`student`: heads and neighbours; `heads`: without neighbours; `recall`: neighbours alone."""
METHODS: tuple[Method, ...] = ("student", "heads", "recall")
_CHUNK = 128
_LISTED_SHARE = 0.9
"""So often must the tools a demonstration lists be its plan for a list to be taken as the plan."""
_LEAST_LISTED = 20
_N_ORACLE = 6
FIXED_NOW = dt.datetime(2026, 11, 20, 9, 30, tzinfo=dt.UTC)
"""When requests without a time of their own are taken to be said: results must not depend on the day."""


class Filled(Protocol):
    """What `Filling` says of one step."""

    @property
    def arguments(self) -> Mapping[str, Argument]: ...


class Filling(Protocol):
    """Fills the arguments of steps from a request; `planning.filling.Filler` does."""

    def fill(
        self, text: str, steps: Sequence[ToolSpec], now: dt.datetime | None, context: Context
    ) -> Sequence[Filled]: ...


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


@dataclass(frozen=True, slots=True)
class Made:
    """What was planned for one sample."""

    ranking: Ranking
    steps: tuple[Step, ...]
    links: tuple[Link, ...]

    @property
    def graph(self) -> PlanGraph:
        return PlanGraph(tuple(step.tool for step in self.steps), self.links)


# ── Teaching and planning ─────────────────────────────────────────────────────────────────────────────────


def read_all(
    data: PlanData, encoder: Encoder, options: StudentOptions | None = None, progress: Progress = SILENT
) -> Read:
    """Encode every demonstration; by far the most of the time."""
    started = time.process_time()
    student = Student(encoder, data.tools, options)
    readings: list[Reading] = []
    vectors: list[FloatRows] = []
    with progress.stage(f"Reading {len(data.demonstrations):,} demonstrations", len(data.demonstrations)) as advance:
        for start in range(0, len(data.demonstrations), _CHUNK):
            part = data.demonstrations[start : start + _CHUNK]
            readings += student.read([d.request for d in part])
            vectors += student.step_vectors(part)
            advance(len(part))
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


def plan_all(
    student: Student, test: PlanData, listed_is_plan: bool = False, progress: Progress = SILENT
) -> list[Ranking]:
    """Rank plans for every request, each with the tools it lists, else with those of `test`."""
    if student.tools != test.tools:
        student.set_tools(test.tools)
    found: dict[int, Ranking] = {}
    offered: dict[tuple[str, ...], list[int]] = {}
    for row, d in enumerate(test.demonstrations):
        offered.setdefault(d.tools, []).append(row)
    with progress.stage(f"Planning {len(test.demonstrations):,} requests", len(test.demonstrations)) as advance:
        for names, rows in offered.items():
            if names and listed_is_plan:
                found |= dict.fromkeys(rows, _whole_list(names))
                advance(len(rows))
                continue
            mine = {name: test.tools[name] for name in names} if names else dict(test.tools)
            if student.tools != mine:
                student.set_tools(mine)
            for start in range(0, len(rows), _CHUNK):
                part = rows[start : start + _CHUNK]
                readings = student.read([test.demonstrations[row].request for row in part])
                found |= dict(zip(part, student.rank_readings(readings)))
                advance(len(part))
    if student.tools != test.tools:
        student.set_tools(test.tools)
    return [found[row] for row in range(len(test.demonstrations))]


def listed_share(demonstrations: Sequence[Demonstration]) -> float:
    """How often the tools that a demonstration lists are its plan, in that order; 0 when too few list theirs."""
    listed = [d for d in demonstrations if d.tools and d.plan.steps]
    if len(listed) < _LEAST_LISTED:
        return 0.0
    return sum(tuple(step.tool for step in d.plan.steps) == d.tools for d in listed) / len(listed)


def _whole_list(names: tuple[str, ...]) -> Ranking:
    return Ranking((Candidate(names, tuple((k, k + 1) for k in range(len(names) - 1)), 1.0),), _LISTED_SHARE, ())


def graph_of_ranking(ranking: Ranking) -> PlanGraph:
    return _graph(ranking.candidates[0]) if ranking.candidates else PlanGraph((), ())


def _graph(candidate: Candidate) -> PlanGraph:
    return PlanGraph(candidate.tools, tuple((candidate.tools[a], candidate.tools[b]) for a, b in candidate.links))


def fill_all(
    chosen: Sequence[Sequence[str]], test: PlanData, filler: Filling, progress: Progress, label: str
) -> list[tuple[Step, ...]]:
    """The steps of each plan with their arguments, filled from the request."""
    found = []
    with progress.stage(label, len(chosen)) as advance:
        for names, d in zip(chosen, test.demonstrations):
            specs = [test.tools[name] for name in names]
            filled = filler.fill(d.request, specs, d.now or FIXED_NOW, Context()) if specs else []
            found.append(tuple(Step(name, dict(one.arguments)) for name, one in zip(names, filled)))
            advance(1)
    return found


def links_of_steps(steps: Sequence[Step]) -> tuple[Link, ...]:
    """Links that references make, each once."""
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
    """Scores of rankings: those of `metrics.plan_scores`, and how well confidence tells right from wrong.

    Args:
        plans: What was planned in the end, where that is more than the first candidates.
        wanted: The gold plans as their file has them; made from `gold` when None.
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
        "accuracy_at_50": accuracy_at_coverage(sure, is_right, 0.5),
        "accuracy_at_80": accuracy_at_coverage(sure, is_right, 0.8),
        "accuracy_at_100": accuracy_at_coverage(sure, is_right, 1.0),
        "accuracy_in_first_6": float(np.mean(among)),
        **_by_length(is_right, wanted),
    }


def _same_places(predicted: Sequence[str], gold: Sequence[str]) -> float:
    """Share of places with the right tool, of the longer plan's."""
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
    """The best of each request's first candidates: what choosing among them could reach at most."""
    best = []
    for ranking, gold in zip(rankings, wanted):
        graphs = [_graph(c) for c in ranking.candidates[:_N_ORACLE]] or [PlanGraph((), ())]
        best.append(
            max(graphs, key=lambda g: (f1(g.nodes, gold.nodes), g.nodes == gold.nodes, f1(g.links, gold.links)))
        )
    return best


def floors(read: Read, train: PlanData, test: PlanData, readings: Sequence[Reading]) -> dict[str, list[PlanGraph]]:
    """Plans made without learning: the plan taught most often, and that of the most similar demonstration."""
    golds = train.gold()
    often = [graph for graph, _ in Counter(g.graph for g in golds if g.graph.nodes).most_common()]
    frequent = []
    for d in test.demonstrations:
        offered = set(d.tools or test.tools)
        known = next((graph for graph in often if offered.issuperset(graph.nodes)), None)
        frequent.append(known or PlanGraph(tuple(d.tools[:1]) or (next(iter(test.tools)),), ()))
    taught = np.array([_sentence(reading) for reading in read.readings])
    asked = np.array([_sentence(reading) for reading in readings])
    nearest = (asked @ taught.T).argmax(axis=1)
    return {"floor_": frequent, "floor_copy_": [golds[int(row)].graph for row in nearest]}


def _sentence(reading: Reading) -> FloatRows:
    """The text's own vector, which comes first of the four that are pooled."""
    whole = reading.pooled[: len(reading.pooled) // 4].astype(np.float32)
    return np.asarray(whole / max(float(np.linalg.norm(whole)), 1e-9), dtype=np.float32)


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
    """Teach `train`, plan `test` with the tools of `test`; without arguments, floors and oracle.

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
    data = PlanData(train.demonstrations, test.tools, "")
    results = measure(student, data, test, graph=graph, n_timed=o.n_timed)
    return {
        "method": o.method,
        **{key: value for key, value in results.items() if value is not None},
        "learn_cpu_s": round(learn_cpu_s, 2),
        "encode_cpu_s": round(train.cpu_s, 2),
        **(known or {}),
    }


def measure(
    student: Student,
    train: PlanData,
    test: PlanData,
    *,
    filler: Filling | None = None,
    graph: frozenset[Link] | None = None,
    read: Read | None = None,
    n_timed: int = 100,
    progress: Progress = SILENT,
) -> dict[str, float | int | bool | None]:
    """Judge a taught student on `test`.

    Args:
        filler: Fills arguments; None leaves their keys None, as data without parameters do.
        graph: Links that exist; those of `train` when None.
        read: What was taught, as it was read: gives the floors.
    Returns:
        Flat results, see docs/howto/benchmarks.md; a key is None where the data hold nothing of its kind.
    """
    golds, names = test.gold(), frozenset(test.tools)
    wanted = [gold.graph for gold in golds]
    share = listed_share(train.demonstrations)
    rankings = plan_all(student, test, share >= _LISTED_SHARE, progress)
    links = graph if graph is not None else frozenset(link for gold in train.gold() for link in gold.graph.links)
    by_reference = _links_by_reference(train.gold())
    filled = filler if filler is not None and needs_filling(test) else None
    made = _made(rankings, test, filled, by_reference, progress)
    graphs = [one.graph for one in made]
    scores: dict[str, float | int | bool | None] = {
        key: round(value, 4)
        for key, value in judge(rankings, test.demonstrations, names, links, plans=graphs, wanted=wanted).items()
    }
    scores.setdefault("link_f1", None)
    scores |= _by_novelty(train, graphs, wanted)
    scores |= _arguments(made, test, filled, by_reference, progress)
    for prefix, plans in _bounds(rankings, read, train, test, student).items():
        mine = plan_scores(plans, wanted, names)
        scores |= {f"{prefix}{key}": round(mine[key], 4) for key in _BOUNDED if key in mine}
    return {
        **scores,
        "n": len(golds),
        "n_train": len(train.demonstrations),
        "n_tools": len(test.tools),
        "n_new_tools": len(names - {step.tool for d in train.demonstrations for step in d.plan.steps}),
        "listed_tools_are_the_plan": share >= _LISTED_SHARE,
        **_latency(student, test, filled, n_timed),
    }


_BOUNDED = ("node_f1", "link_f1", "accuracy", "exact")


def _bounds(
    rankings: Sequence[Ranking], read: Read | None, train: PlanData, test: PlanData, student: Student
) -> dict[str, list[PlanGraph]]:
    found = {"oracle_": oracle(rankings, [gold.graph for gold in test.gold()])}
    if read is not None:
        found |= floors(read, train, test, student.read([d.request for d in test.demonstrations]))
    return found


def _by_novelty(train: PlanData, plans: Sequence[PlanGraph], wanted: Sequence[PlanGraph]) -> dict[str, float]:
    """Accuracy on sequences of tools that were taught, and on new ones."""
    seen = {tuple(step.tool for step in d.plan.steps) for d in train.demonstrations}
    found = {}
    for name, is_seen in (("seen", True), ("new", False)):
        right = [is_accurate(p, g) for p, g in zip(plans, wanted) if (g.nodes in seen) == is_seen]
        if right:
            found[f"accuracy_{name}_sequences"] = round(float(np.mean(right)), 4)
            found[f"n_{name}_sequences"] = float(len(right))
    return found


def needs_filling(data: PlanData) -> bool:
    """Whether the data have arguments to be filled."""
    return any(call.right for gold in data.gold() for call in gold.calls)


def _links_by_reference(golds: Sequence[Gold]) -> bool:
    """Whether the data say by references which step feeds which."""
    return any(isinstance(v, Ref) for g in golds for call in g.calls for right in call.right.values() for v in right)


def _made(
    rankings: Sequence[Ranking], test: PlanData, filler: Filling | None, by_reference: bool, progress: Progress
) -> list[Made]:
    graphs = [graph_of_ranking(r) for r in rankings]
    if filler is None:
        return [Made(r, tuple(Step(tool) for tool in g.nodes), g.links) for r, g in zip(rankings, graphs)]
    filled = fill_all([g.nodes for g in graphs], test, filler, progress, "Filling arguments")
    return [
        Made(r, steps, links_of_steps(steps) if by_reference else g.links)
        for r, g, steps in zip(rankings, graphs, filled)
    ]


_ARGUMENT_KEYS = ("arg_name_f1", "arg_value_f1")


def _arguments(
    made: Sequence[Made], test: PlanData, filler: Filling | None, by_reference: bool, progress: Progress
) -> dict[str, float | int | bool | None]:
    """Argument scores of the plans, and of the gold plans' tools filled alone (`…_given_tools`)."""
    if filler is None:
        return dict.fromkeys([*_ARGUMENT_KEYS, "arg_value_f1_given_tools"])
    golds = test.gold()
    calls = [gold.calls for gold in golds]
    planned = argument_scores([one.steps for one in made], calls, test.tools)
    label = "Filling arguments, tools given"
    steps = fill_all([gold.graph.nodes for gold in golds], test, filler, progress, label)
    given = argument_scores(steps, calls, test.tools)
    found: dict[str, float | int | bool | None] = {key: _rounded(value) for key, value in planned.items()}
    found |= {f"{key}_given_tools": _rounded(value) for key, value in given.items() if not key.startswith("n_")}
    if by_reference:
        plans = [PlanGraph(gold.graph.nodes, links_of_steps(mine)) for gold, mine in zip(golds, steps)]
        found["link_f1_given_tools"] = _rounded(taskbench_link_f1(plans, [gold.graph for gold in golds]))
    return found


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _latency(student: Student, test: PlanData, filler: Filling | None, n: int) -> dict[str, float | None]:
    """Milliseconds of one plan at a time, from text to steps with arguments; the first few are not counted."""
    requests = [d.request for d in test.demonstrations][:n]
    times_ms: list[float] = []
    calls_ms: list[float] = []
    for text in [*requests[:3], *requests]:
        started = time.perf_counter()
        ranking = student.rank(text)
        ranked = time.perf_counter()
        if filler is not None and ranking.candidates:
            specs = [test.tools[name] for name in ranking.candidates[0].tools]
            filler.fill(text, specs, FIXED_NOW, Context())
            calls_ms.append((time.perf_counter() - ranked) * 1000 / len(specs))
        times_ms.append((time.perf_counter() - started) * 1000)
    found: dict[str, float | None] = {}
    for name, all_ms in (("latency", times_ms[3:]), ("call_latency", calls_ms[3:])):
        for share in (50, 99):
            found[f"{name}_p{share}_ms"] = round(float(np.percentile(all_ms, share)), 2) if all_ms else None
    return found
