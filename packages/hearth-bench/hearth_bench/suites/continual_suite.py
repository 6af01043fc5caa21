"""Measure learning over a stream of rounds: what remains of each round after the later ones; flat results.

Each round's demonstrations are a task; R[i][j] is the score on task j's test requests after learning rounds 0..i.
Test requests belong to the round whose demonstrations use their tools most.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import numpy as np

from hearth.cli.invocation import SILENT, Progress
from hearth.planning.ranking.features import Reading
from hearth.planning.ranking.ranker import Ranker
from hearth.types import Demonstration
from hearth_bench.data.datasets import PlanData, domain_rounds
from hearth_bench.metrics.plan_metrics import (
    Matrix,
    PlanGraph,
    average_accuracy,
    backward_transfer,
    f1,
    forgetting,
    forward_transfer,
    is_accurate,
)
from hearth_bench.suites.planning_suite import Method, Read, graph_of_ranking

Order = Literal["domain", "shuffle", "file"]
ORDERS: tuple[Order, ...] = ("domain", "shuffle", "file")
StreamMethod = Literal["student", "heads", "recall", "joint", "finetune", "replay"]
"""Methods. `joint`: taught everything at once, the upper bound. `finetune`: a trained model continued on each round's
demonstrations alone; `replay`: with some of the earlier ones among them."""
STREAM_METHODS: tuple[StreamMethod, ...] = ("student", "recall", "heads", "finetune", "replay", "joint")
TRAINED: tuple[StreamMethod, ...] = ("finetune", "replay")


class Learner(Protocol):
    """A learner that learns round by round."""

    def learn(self, rows: Sequence[int]) -> dict[str, float]:
        """Learn these rows of train, and return the CPU seconds it took, by name."""
        ...

    def plans(self) -> list[PlanGraph]:
        """Return its plan for each test request."""
        ...


def rounds_of(data: PlanData, order: Order, n_rounds: int, seed: int) -> list[list[int]]:
    """Divide the rows into rounds.

    Raises:
        ValueError: There are fewer demonstrations than rounds, or the order is unknown.
    """
    n = len(data.demonstrations)
    if not 1 <= n_rounds <= n:
        raise ValueError(f"{n_rounds} rounds of {n} demonstrations; expected 1 to {n}")
    if order == "domain":
        return domain_rounds(data, n_rounds)
    if order not in ORDERS:
        raise ValueError(f"unknown order {order!r}; known are {', '.join(ORDERS)}")
    rows = np.random.default_rng(seed).permutation(n) if order == "shuffle" else np.arange(n)
    return [[int(row) for row in part] for part in np.array_split(rows, n_rounds)]


def tasks_of(train: PlanData, rounds: Sequence[Sequence[int]], test: PlanData) -> list[list[int]]:
    """Assign the rows of `test` to rounds: each to the one that uses its tools most, by share of the round."""
    uses = []
    for rows in rounds:
        counted = Counter(step.tool for row in rows for step in train.demonstrations[row].plan.steps)
        total = max(counted.total(), 1)
        uses.append({tool: n / total for tool, n in counted.items()})
    tasks: list[list[int]] = [[] for _ in rounds]
    for row, d in enumerate(test.demonstrations):
        fit = [sum(use.get(step.tool, 0.0) for step in d.plan.steps) for use in uses]
        tasks[int(np.argmax(fit))].append(row)
    return tasks


# ── Learners ──────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Readings:
    """Readings of the training and the test requests."""

    taught: Read
    asked: Sequence[Reading]


class StudentLearner:
    """Learner with tier one, neighbours or both; learning a round adds to what is known."""

    def __init__(self, student: Ranker, readings: Readings) -> None:
        self.student = student
        self._taught = readings.taught
        self._readings = readings.asked

    def learn(self, rows: Sequence[int]) -> dict[str, float]:
        started = time.process_time()
        mine = self._taught.subset(rows)
        self.student.learn(mine.demonstrations, mine.readings, mine.step_vectors)
        self.student.heads.settle()
        learnt = time.process_time()
        self.student.settle()
        return {"round_cpu_s": learnt - started, "fit_cpu_s": time.process_time() - learnt}

    def plans(self) -> list[PlanGraph]:
        return [graph_of_ranking(r) for r in self.student.rank_readings(self._readings)]


class TrainedLearner:
    """Learner with a model trained by gradient descent on each round, starting from the model of the round before."""

    def __init__(self, stream: Stream, trainer: Trainer, folder: Path, seed: int, n_replayed: int) -> None:
        self._train, self._test, self._trainer = stream.train, stream.test, trainer
        self._folder, self._n_replayed = folder, n_replayed
        self._drawn = np.random.default_rng(seed)
        self._seen: list[int] = []
        self._k = 0
        self._plan: Callable[[Sequence[Demonstration]], list[PlanGraph]] | None = None

    def learn(self, rows: Sequence[int]) -> dict[str, float]:
        started = time.process_time()
        n = min(self._n_replayed, len(self._seen))
        again = [int(row) for row in self._drawn.choice(self._seen, n, replace=False)] if n else []
        mine = [self._train.demonstrations[row] for row in [*rows, *again]]
        before = self._folder / f"round-{self._k - 1}" if self._k else None
        self._plan = self._trainer.train(mine, self._folder / f"round-{self._k}", before)
        self._seen += rows
        self._k += 1
        return {"round_cpu_s": time.process_time() - started, "fit_cpu_s": 0.0}

    def plans(self) -> list[PlanGraph]:
        if self._plan is None:
            return [PlanGraph((), ()) for _ in self._test.demonstrations]
        return self._plan(self._test.demonstrations)


class Trainer(Protocol):
    """Trainer of the model that `finetune` and `replay` use."""

    def train(
        self, demonstrations: Sequence[Demonstration], folder: Path, start_from: Path | None
    ) -> Callable[[Sequence[Demonstration]], list[PlanGraph]]:
        """Train into `folder`, and return a function that plans requests."""
        ...


# ── The stream ────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Stream:
    """Rounds of demonstrations with the test requests of each."""

    train: PlanData
    test: PlanData
    order: Order
    rounds: list[list[int]]
    tasks: list[list[int]]

    @classmethod
    def of(cls, train: PlanData, test: PlanData, order: Order, n_rounds: int, seed: int) -> Stream:
        rounds = rounds_of(train, order, n_rounds, seed)
        return cls(train, test, order, rounds, tasks_of(train, rounds, test))

    @property
    def used(self) -> list[int]:
        """Rounds that have test requests."""
        return [k for k, rows in enumerate(self.tasks) if rows]

    def scores(self, plans: Sequence[PlanGraph]) -> list[tuple[float, float]]:
        """Return the node F1 and accuracy of each test request."""
        wanted = [gold.graph for gold in self.test.gold()]
        return [(f1(p.nodes, g.nodes), float(is_accurate(p, g))) for p, g in zip(plans, wanted)]

    def by_task(self, scores: Sequence[tuple[float, float]]) -> list[float]:
        """Return the mean node F1 of each task that has test requests."""
        return [float(np.mean([scores[row][0] for row in self.tasks[k]])) for k in self.used]


def run_stream(stream: Stream, learner: Learner, label: str, progress: Progress = SILENT) -> dict[str, object]:
    """Teach the rounds one after the other, and test all tasks after each.

    Returns:
        `acc bwt fwt forgetting` of node F1 over the tasks that have test requests, `final_node_f1` and
        `final_accuracy` over all requests, `r_matrix`, `seen_node_f1` (after each round, over requests of the tasks so
        far), `round_cpu_s`, `fit_cpu_s`.
    """
    untaught = stream.by_task(stream.scores(learner.plans()))
    costs: list[dict[str, float]] = []
    r: list[list[float]] = []
    seen: list[float] = []
    final: list[tuple[float, float]] = []
    with progress.stage(label, len(stream.rounds)) as advance:
        for k, rows in enumerate(stream.rounds):
            costs.append(learner.learn(rows))
            if k in stream.used or k == len(stream.rounds) - 1:
                final = stream.scores(learner.plans())
                if k in stream.used:
                    r.append(stream.by_task(final))
                else:  # the last rounds have no test requests but still count
                    r[-1] = stream.by_task(final)
                seen.append(float(np.mean([final[row][0] for task in stream.tasks[: k + 1] for row in task])))
            advance(1)
    return {
        **transfer(np.array(r), untaught),
        **_finally(final),
        "seen_node_f1": [round(value, 4) for value in seen],
        "round_cpu_s": [round(cost["round_cpu_s"], 3) for cost in costs],
        "fit_cpu_s": [round(cost["fit_cpu_s"], 3) for cost in costs],
    }


def transfer(matrix: Matrix, untaught: Sequence[float]) -> dict[str, object]:
    return {
        "acc": round(average_accuracy(matrix), 4),
        "bwt": round(backward_transfer(matrix), 4),
        "fwt": round(forward_transfer(matrix, untaught), 4),
        "forgetting": round(forgetting(matrix), 4),
        "r_matrix": [[round(float(value), 4) for value in row] for row in matrix],
    }


def _finally(scores: Sequence[tuple[float, float]]) -> dict[str, object]:
    return {
        "final_node_f1": round(float(np.mean([s[0] for s in scores])), 4),
        "final_accuracy": round(float(np.mean([s[1] for s in scores])), 4),
    }


def joint_scores(stream: Stream, learner: Learner) -> dict[str, object]:
    """Return the same keys for a learner taught everything at once: nothing is forgotten, nothing comes before."""
    cost = learner.learn([row for rows in stream.rounds for row in rows])
    scores = stream.scores(learner.plans())
    tasks = stream.by_task(scores)
    mean = round(float(np.mean(tasks)), 4)
    return {
        "acc": mean,
        "bwt": 0.0,
        "fwt": 0.0,
        "forgetting": 0.0,
        "r_matrix": [[round(value, 4) for value in tasks]] * len(tasks),
        **_finally(scores),
        "seen_node_f1": [],
        "round_cpu_s": [round(cost["round_cpu_s"], 3)],
        "fit_cpu_s": [round(cost["fit_cpu_s"], 3)],
    }


def run_student(
    stream: Stream,
    method: Method,
    blank: Ranker,
    readings: Readings,
    progress: Progress = SILENT,
    *,
    with_joint: bool = True,
) -> tuple[dict[str, object], dict[str, object]]:
    """Run a student method over the stream, and the same method taught everything at once.

    Args:
        blank: A student with the options of the method.
        with_joint: False leaves the second result empty and its keys None.
    Returns:
        The keys of `run_stream`; the first result also has `joint_acc` and `max_weight_difference` (of the heads, to
        joint).
    """
    learner = StudentLearner(blank.blank(), readings)
    results = run_stream(stream, learner, f"Stream of {len(stream.rounds)} rounds, {method}", progress)
    if not with_joint:
        return {**results, "joint_acc": None, "max_weight_difference": None}, {}
    joint = StudentLearner(blank.blank(), readings)
    with progress.stage(f"All rounds at once, {method}", 1):
        at_once = joint_scores(stream, joint)
    difference = learner.student.difference(joint.student)
    return (
        {**results, "joint_acc": at_once["acc"], "max_weight_difference": difference},
        {**at_once, "joint_acc": at_once["acc"], "max_weight_difference": 0.0},
    )
