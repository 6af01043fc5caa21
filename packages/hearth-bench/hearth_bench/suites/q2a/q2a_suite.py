"""Q2A: measure how well an owner's instructions are planned on the first day, and after further learning.

A planner begins with the shipped demonstrations and is taught an owner's stream in order of time, in rounds of two
weeks. After each round the owner's instructions of the measured split are planned: those of a round are a task, so
R[i][j] is the score on round j's instructions after learning rounds 0..i. Three ways of being taught are compared:
`personal` (the owner's own stream), `shared` (everybody's), `untaught` (nothing).

Measures, the same for every way: *decomposition* (ROUGE-L of the steps' words), *invocation* (macro Node-F1, Link-F1,
all tools and links right), *parameters* (F1 of names and of values, the whole plan exact), `right` (exact, or asked or
refused where that is right), `executed` (run in the owner's home, the plan changes and finds what the right one does)
and `wrong_side_effect` (it changes or sends what the right one does not).

Each owner is measured apart, with everything learnt for that owner (`measure_user`); measuring owners side by side
gives the same results (`q2a_users`). Nothing leaves the device in any of the ways.

Not covered: repairing and asking back; a plan that does the right thing in another way counts as wrong in `right` and
may count in `executed`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hearth.agent import shipped_demonstrations
from hearth.errors import HearthError, PlanError
from hearth.formats.plans import check_plan
from hearth.language.discourse.coreference import read_after, with_records
from hearth.language.reading import Utterance
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.protocols import Encoder
from hearth.types import Answer, Demonstration, Episode, Plan, Refusal, Request, Step
from hearth_bench.data.q2a_homes import Outcome, World, effect_of, execute, read_world
from hearth_bench.data.q2a_instructions import Sample, Split, read_owner
from hearth_bench.ianvs.case_outcome import Report
from hearth_bench.metrics.argument_f1 import GoldCall, is_value_right, taskbench_argument_f1
from hearth_bench.metrics.plan_metrics import (
    PlanGraph,
    average_accuracy,
    backward_transfer,
    f1,
    forgetting,
    forward_transfer,
    is_accurate,
)
from hearth_bench.metrics.step_metrics import rouge_l
from hearth_bench.scoring.system_metrics import Usage, latency_ms
from hearth_bench.suites.planning_suite import links_of_steps

Scores: TypeAlias = NDArray[np.float64]
"""R of one owner, shape [n_rounds, n_rounds]."""
Way = Literal["personal", "shared", "untaught"]
WAYS: tuple[Way, ...] = ("untaught", "shared", "personal")
N_ROUNDS, DAYS_A_ROUND = 4, 14
ASK_BELOW = 0.7
"""Sureness from which a plan is taken without asking a teacher; as in the settings."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Result of one instruction."""

    sample: Sample
    is_planned: bool
    node_f1: float
    link_f1: float
    tools_right: bool
    is_exact: bool
    is_executed: bool
    wrong_side_effect: bool
    rouge: float
    steps: tuple[Step, ...]
    ms: float | None = None
    """Milliseconds to plan it; None: no planner was asked."""

    @property
    def is_right(self) -> bool:
        return self.is_exact if self.sample.plan is not None else not self.is_planned


def round_of(sample: Sample, first: Sample) -> int:
    """Return the two-week round of an instruction, counted from the owner's first."""
    days = (sample.request.now.date() - first.request.now.date()).days
    return min(days // DAYS_A_ROUND, N_ROUNDS - 1)


def demonstration_of(sample: Sample) -> Demonstration:
    """Make the demonstration that an instruction teaches; an empty plan teaches a refusal."""
    plan = sample.plan or Plan(())
    return Demonstration(f"q2a {sample.id}", sample.request.text, plan, source="owner", now=sample.request.now)


# ── One owner, one way ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class OwnerRun:
    """An owner's instructions with the outcomes of the right plans, each of which is run once."""

    world: World
    samples: Sequence[Sample]
    n_each: int = 0
    """Number of instructions asked of a split, from its start; 0: all."""
    _outcomes: dict[str, Outcome] = field(default_factory=dict)

    @classmethod
    def of(cls, owner: str, n_each: int = 0) -> OwnerRun:
        return cls(read_world(owner), read_owner(owner), n_each)

    def outcome_of(self, sample: Sample) -> Outcome:
        """Return the outcome of the right plan, which must exist."""
        if sample.id not in self._outcomes:
            plan = check_plan(sample.plan or Plan(()), self.world.specs)
            self._outcomes[sample.id] = execute(plan, self.world, sample.request.now)
        return self._outcomes[sample.id]

    def asked(self, split: Split) -> list[Sample]:
        found = [sample for sample in self.samples if sample.split == split]
        return found[: self.n_each] if self.n_each else found

    def request_of(self, sample: Sample) -> Request:
        """Return the instruction as it is read after the one it refers to."""
        before = next((one for one in self.samples if one.id == sample.follows), None)
        if before is None or before.plan is None:
            return sample.request
        results = self.outcome_of(before).results
        last = Episode(before.id, before.request, before.plan, None, None, results, Answer("", "done"))
        said = Utterance.of(sample.request, self.world.known(sample.request.now))
        read = read_after(said, [last], self.world.specs)
        return replace(sample.request, text=read.text, records=read.records)

    def judge(self, sample: Sample, answer: Plan | Refusal, ms: float | None = None) -> Judged:
        """Compare a planner's answer with the right one."""
        gold = sample.plan.steps if sample.plan is not None else ()
        steps = answer.steps if isinstance(answer, Plan) else ()
        want, got = graph_of(gold), graph_of(steps)
        tools = self.world.specs
        extra = Counter(s.tool for s in steps if s.tool in tools and tools[s.tool].effect != "none")
        return Judged(
            sample=sample,
            is_planned=bool(steps),
            node_f1=f1(got.nodes, want.nodes),
            link_f1=f1(got.links, want.links),
            tools_right=is_accurate(got, want),
            is_exact=bool(gold) and is_same(steps, gold),
            is_executed=self._has_same_outcome(sample, answer) if gold else not steps,
            wrong_side_effect=bool(extra - Counter(s.tool for s in gold)),
            rouge=rouge_l(" ".join(s.text for s in steps), " ".join(s.text for s in gold)) if gold else 0.0,
            steps=steps,
            ms=ms,
        )

    def _has_same_outcome(self, sample: Sample, answer: Plan | Refusal) -> bool:
        if not isinstance(answer, Plan):
            return False
        try:
            outcome = execute(check_plan(answer, self.world.specs), self.world, sample.request.now)
        except (PlanError, HearthError):
            return False
        return effect_of(outcome, answer) == effect_of(self.outcome_of(sample), sample.plan or answer)


def graph_of(steps: Sequence[Step]) -> PlanGraph:
    return PlanGraph(tuple(step.tool for step in steps), links_of_steps(steps))


def is_same(steps: Sequence[Step], gold: Sequence[Step]) -> bool:
    """Return whether the right steps match the plan's one to one, with the same tools and arguments."""
    if len(steps) != len(gold):
        return False
    place: dict[int, int] = {}  # by planned step: its place in the right plan
    for index, right in enumerate(gold):
        for k, step in enumerate(steps):
            if k in place or step.tool != right.tool or step.arguments.keys() != right.arguments.keys():
                continue
            if all(is_value_right(step.arguments[name], [value], place) for name, value in right.arguments.items()):
                place[k] = index
                break
        else:
            return False
    return True


# ── The measurement ───────────────────────────────────────────────────────────────────────────────────────


class Pupil:
    """The home's planner, with what ships, and what it is taught."""

    def __init__(self, encoder: Encoder) -> None:
        self.planner = RecallPlanner(encoder)
        self.planner.add(shipped_demonstrations())

    def learn(self, demonstrations: Sequence[Demonstration]) -> None:
        self.planner.add(demonstrations)

    def plan(self, request: Request, run: OwnerRun) -> Plan | Refusal:
        answer = self.planner.plan(request, run.world.known(request.now), run.world.specs)
        return with_records(answer, request.records, run.world.specs) if isinstance(answer, Plan) else answer


@dataclass(frozen=True, slots=True)
class UserResult:
    """Results of one owner."""

    owner: str
    judged: Mapping[Way, tuple[Judged, ...]]
    """Results after the last round."""
    rows: Mapping[Way, list[list[float]]]
    """Matrix R of each way that learns."""
    before: list[float]
    """Scores of each task before anything was learnt."""
    floor: tuple[Judged, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """The part of the data that is measured."""

    split: Split
    owners: Sequence[str]
    """Their streams are learnt in the way `shared`."""
    n_each: int = 0
    """Number of instructions of the split, from its start; 0 for all."""


def measure_user(encoder: Encoder, owner: str, part: Part, report: Report = lambda _doing, _share: None) -> UserResult:
    """Measure one owner in every way, independently of the other owners measured."""
    report(f"{owner}: home", 0)
    split = part.split
    run = OwnerRun.of(owner, part.n_each)
    streams: Mapping[Way, Mapping[str, Sequence[Sample]]] = {
        "personal": {owner: run.samples},
        "shared": {one: read_owner(one) for one in part.owners},
    }
    judged: dict[Way, tuple[Judged, ...]] = {}
    rows: dict[Way, list[list[float]]] = {}
    for number, way in enumerate(streams):
        report(f"{owner}: {way}", (1 + number * (N_ROUNDS + 1)) / (2 * N_ROUNDS + 3))
        pupil = Pupil(encoder)
        if "untaught" not in judged:
            judged["untaught"] = _plan_all(run, pupil, split)
        rows[way] = []
        for k in range(N_ROUNDS):
            report(f"{owner}: {way}, round {k + 1}", (2 + number * (N_ROUNDS + 1) + k) / (2 * N_ROUNDS + 3))
            pupil.learn(_stream(streams[way], k))
            judged[way] = _plan_all(run, pupil, split)
            rows[way].append(_by_round(judged[way], run))
    return UserResult(owner, judged, rows, _by_round(judged["untaught"], run), _copied(run, encoder, split))


def q2a_document(users: Sequence[UserResult], split: Split) -> dict[str, object]:
    """Build the document: flat keys, `WAY.measure`, `OWNER.WAY.right`, and lists by round."""
    results: dict[str, object] = {"split": split, "n_owners": len(users)}
    results["n"] = sum(len(user.floor) for user in users)
    for way in WAYS:
        results |= {f"{way}.{k}": v for k, v in summary([one for user in users for one in user.judged[way]]).items()}
        for user in users:
            results[f"{user.owner}.{way}.right"] = _share(one.is_right for one in user.judged[way])
        if way != "untaught":
            matrices = [np.array(user.rows[way]) for user in users]
            results |= {f"{way}.{k}": v for k, v in _transfer(matrices, [user.before for user in users]).items()}
    results["oracle.right"] = 1.0
    floor = summary([one for user in users for one in user.floor])
    results |= {f"floor_nearest.{name}": value for name, value in floor.items()}
    return results


def _stream(streams: Mapping[str, Sequence[Sample]], k: int) -> list[Demonstration]:
    """Return the demonstrations of all streams in round `k`, in order of time."""
    found = [
        sample
        for samples in streams.values()
        for sample in samples
        if sample.split == "stream" and round_of(sample, samples[0]) == k
    ]
    return [demonstration_of(sample) for sample in sorted(found, key=lambda one: one.request.now)]


def _plan_all(run: OwnerRun, pupil: Pupil, split: Split) -> tuple[Judged, ...]:
    found = []
    for sample in run.asked(split):
        request = run.request_of(sample)
        started = time.perf_counter()
        answer = pupil.plan(request, run)
        found.append(run.judge(sample, answer, 1000 * (time.perf_counter() - started)))
    return tuple(found)


def _copied(run: OwnerRun, encoder: Encoder, split: Split) -> tuple[Judged, ...]:
    """Judge the floor: the plan of the nearest instruction of the owner's stream, unchanged."""
    known = [sample for sample in run.samples if sample.split == "stream"]
    vectors = encoder.encode([sample.request.text for sample in known])
    found = []
    for sample in run.asked(split):
        nearest = known[int(np.argmax(vectors @ encoder.encode([sample.request.text])[0]))]
        found.append(run.judge(sample, nearest.plan or Refusal("out_of_scope", "as the nearest")))
    return tuple(found)


# ── Sums ──────────────────────────────────────────────────────────────────────────────────────────────────


def _by_round(judged: Sequence[Judged], run: OwnerRun) -> list[float]:
    return [
        _share(one.is_right for one in judged if round_of(one.sample, run.samples[0]) == k) for k in range(N_ROUNDS)
    ]


def _share(values: object) -> float:
    listed = [float(value) for value in values]  # type: ignore[attr-defined]
    return round(float(np.mean(listed)), 4) if listed else 0.0


def _argument_f1(inside: Sequence[Judged]) -> dict[str, float]:
    gold = [
        [GoldCall(s.tool, {n: (v,) for n, v in s.arguments.items()}) for s in one.sample.plan.steps]
        for one in inside
        if one.sample.plan
    ]
    made = [one.steps for one in inside]
    names = taskbench_argument_f1(made, gold, with_values=False)
    values = taskbench_argument_f1(made, gold, with_values=True)
    return {"argument_name_f1": round(names or 0.0, 4), "argument_value_f1": round(values or 0.0, 4)}


def summary(judged: Sequence[Judged]) -> dict[str, object]:
    """Compute the measures over some instructions."""
    inside = [one for one in judged if one.sample.plan is not None]
    outside = [one for one in judged if one.sample.plan is None]
    usages = [Usage(latency_ms=one.ms) for one in judged if one.ms is not None]
    times = {f"latency_p{q}_ms": round(latency_ms(usages, q), 2) for q in (50, 95)} if usages else {}
    return {
        "n": len(judged),
        "rouge_l": _share(one.rouge for one in inside),
        "node_f1": _share(one.node_f1 for one in inside),
        "link_f1": _share(one.link_f1 for one in inside if one.sample.kind != "single"),
        "tools_right": _share(one.tools_right for one in inside),
        **_argument_f1(inside),
        "exact": _share(one.is_exact for one in inside),
        "executed": _share(one.is_executed for one in inside),
        "refused_rightly": _share(not one.is_planned for one in outside),
        "refused_wrongly": _share(not one.is_planned for one in inside),
        "wrong_side_effect": _share(one.wrong_side_effect for one in judged),
        "right": _share(one.is_right for one in judged),
        **{f"right_{kind}": _share(one.is_right for one in judged if one.sample.kind == kind) for kind in _KINDS},
        "right_with_convention": _share(one.is_right for one in judged if one.sample.convention),
        **times,
    }


_KINDS = ("single", "chain", "dag", "ask", "refuse")


def _transfer(matrices: Sequence[Scores], before: Sequence[Sequence[float]]) -> dict[str, object]:
    """Return means over owners of the metrics of R."""
    return {
        "acc": round(float(np.mean([average_accuracy(r) for r in matrices])), 4),
        "bwt": round(float(np.mean([backward_transfer(r) for r in matrices])), 4),
        "fwt": round(float(np.mean([forward_transfer(r, b) for r, b in zip(matrices, before, strict=True)])), 4),
        "forgetting": round(float(np.mean([forgetting(r) for r in matrices])), 4),
        "r_matrix": np.mean(matrices, axis=0).round(4).tolist(),
        "before": np.mean(before, axis=0).round(4).tolist(),
    }


_COLUMNS = (
    *("node_f1", "link_f1", "tools_right", "argument_name_f1", "argument_value_f1"),
    *("exact", "executed", "right", "refused_wrongly", "wrong_side_effect"),
)


def q2a_lines(document: Mapping[str, object]) -> list[str]:
    """Format the table: a row for each way, the floor at the top, the change by learning at the bottom."""
    rows = [["", *(name.replace("_", " ") for name in _COLUMNS)]]
    for way in ("floor_nearest", *WAYS):
        rows.append([way.replace("_", " "), *(f"{float(str(document[f'{way}.{name}'])):.3f}" for name in _COLUMNS)])
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    for way in ("shared", "personal"):
        moved = ", ".join(f"{name} {document[f'{way}.{name}']}" for name in ("acc", "bwt", "fwt", "forgetting"))
        lines.append(f"{way}: {moved}")
    return [f"{document['n']} instructions of split {document['split']}; the oracle has 1 everywhere", *lines]
