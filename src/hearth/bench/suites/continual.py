"""Learning over a stream of rounds: what each round leaves of the ones before; flat results.

Each round's demonstrations are a task; R[i][j] is the score on task j's test requests after learning rounds 0..i.
Test requests belong to the round whose demonstrations use their tools most.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from hearth.bench.datasets import PlanData, domain_rounds, graph_of
from hearth.bench.metrics import average_accuracy, backward_transfer, f1, forgetting, forward_transfer
from hearth.bench.suites.planning import Method, Read, graph_of_ranking, options_for, read_all, teach
from hearth.planning.student import Student, StudentOptions
from hearth.protocols import Encoder
from hearth.types import Demonstration

Order = Literal["domain", "shuffle", "file"]
StreamMethod = Method | Literal["joint"]
"""`joint`: taught everything at once, the upper bound."""


@dataclass(frozen=True, slots=True)
class ContinualOptions:
    method: StreamMethod = "student"
    order: Order = "domain"
    n_rounds: int = 10
    seed: int = 0
    student: StudentOptions = field(default_factory=StudentOptions)


def rounds_of(data: PlanData, order: Order, n_rounds: int, seed: int) -> list[list[int]]:
    """Rows of each round.

    Raises:
        ValueError: Fewer demonstrations than rounds, or an unknown order.
    """
    n = len(data.demonstrations)
    if not 1 <= n_rounds <= n:
        raise ValueError(f"{n_rounds} rounds of {n} demonstrations; expected 1 to {n}")
    if order == "domain":
        return domain_rounds(data, n_rounds)
    if order not in ("shuffle", "file"):
        raise ValueError(f"unknown order {order!r}; known are domain, shuffle, file")
    rows = np.random.default_rng(seed).permutation(n) if order == "shuffle" else np.arange(n)
    return [[int(row) for row in part] for part in np.array_split(rows, n_rounds)]


def tasks_of(train: PlanData, rounds: Sequence[Sequence[int]], test: PlanData) -> list[list[int]]:
    """Rows of `test` that belong to each round: where its tools are used most, by share of the round."""
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


def run_continual(
    train: PlanData,
    test: PlanData,
    encoder: Encoder,
    options: ContinualOptions | None = None,
    *,
    read: Read | None = None,
) -> dict[str, object]:
    """Teach the rounds one after the other and test all tasks after each.

    Args:
        read: `read_all(train, …)`, when it was made already.
    Returns:
        `acc bwt fwt forgetting` of node F1 over the tasks that have test requests, `final_node_f1` and
        `final_accuracy` over all requests, `joint_acc` (ACC of a student taught everything at once),
        `max_weight_difference` to it, `r_matrix`, `round_cpu_s` (heads and
        memory), `fit_cpu_s` (the weights that join them, which need not be fitted each round), `method`.
    """
    o = options or ContinualOptions()
    taught = read if read is not None else read_all(train, encoder, o.student)
    rounds = rounds_of(train, o.order, o.n_rounds, o.seed)
    tasks = tasks_of(train, rounds, test)
    used = [k for k, rows in enumerate(tasks) if rows]
    method: Method = "student" if o.method == "joint" else o.method
    student = Student(encoder, train.tools, options_for(method, o.student))
    joint = Student(encoder, train.tools, options_for(method, o.student))
    requests = student.read([d.request for d in test.demonstrations])

    def scores(of: Student) -> list[tuple[float, float]]:
        return _scores([graph_of_ranking(r).nodes for r in of.rank_readings(requests)], test.demonstrations)

    def by_task(of: list[tuple[float, float]]) -> list[float]:
        return [float(np.mean([of[row][0] for row in tasks[k]])) for k in used]

    untaught = by_task(scores(student))
    teach(joint, taught.subset([row for rows in rounds for row in rows]))
    joint_scores = scores(joint)
    round_cpu_s: list[float] = []
    fit_cpu_s: list[float] = []
    if o.method == "joint":
        final, r = joint_scores, [by_task(joint_scores)] * len(used)
    else:
        r, final = [], []
        for k, rows in enumerate(rounds):
            started = time.process_time()
            mine = taught.subset(rows)
            student.learn(mine.demonstrations, mine.readings, mine.step_vectors)
            student.heads.settle()
            student.clause_heads.settle()
            round_cpu_s.append(round(time.process_time() - started, 3))
            started = time.process_time()
            student.settle()
            fit_cpu_s.append(round(time.process_time() - started, 3))
            if k in used:
                final = scores(student)
                r.append(by_task(final))
        if len(rounds) - 1 not in used:  # the last rounds have no test requests, and still count
            final = scores(student)
            r[-1] = by_task(final)
    matrix = np.array(r)
    return {
        "method": o.method,
        "order": o.order,
        "acc": round(average_accuracy(matrix), 4),
        "bwt": round(backward_transfer(matrix), 4),
        "fwt": round(forward_transfer(matrix, untaught), 4),
        "forgetting": round(forgetting(matrix), 4),
        "joint_acc": round(float(np.mean(by_task(joint_scores))), 4),
        "final_node_f1": round(float(np.mean([s[0] for s in final])), 4),
        "final_accuracy": round(float(np.mean([s[1] for s in final])), 4),
        "max_weight_difference": 0.0 if o.method == "joint" else student.difference(joint),
        "r_matrix": [[round(float(value), 4) for value in row] for row in matrix],
        "round_cpu_s": round_cpu_s,
        "fit_cpu_s": fit_cpu_s,
        "n_rounds": o.n_rounds,
        "n_tasks": len(used),
    }


def _scores(predicted: Sequence[tuple[str, ...]], gold: Sequence[Demonstration]) -> list[tuple[float, float]]:
    """Node F1 and accuracy of each request."""
    nodes = [graph_of(d.plan).nodes for d in gold]
    return [(f1(p, g), float(f1(p, g) >= 0.99)) for p, g in zip(predicted, nodes)]
