"""Describe a version beside its weights: tasks, how well its samples are planned, where unseen tasks begin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from hearth.learning.tasks import Frontier, Task, by_sample, find_frontier, find_tasks, with_scores
from hearth.learning.versions import promotion_gate
from hearth.learning.versions.promotion_gate import node_f1
from hearth.planning.ranking.ranker import Ranking, Student
from hearth.types import Demonstration

_N_AT_ONCE = 32
"""Samples judged at once: few enough that progress moves."""
_N_JUDGED = 600
"""Number of samples on which versions are compared."""
_N_FRONTIER = 300
_N_FAR = 200
"""Number of nearest samples among which one of another task is looked for."""


class Progress(Protocol):
    """Receives the progress of a long task."""

    def __call__(self, stage: str, done: int, total: int) -> None: ...


def silent(stage: str, done: int, total: int) -> None:
    """Tell nobody: a `Progress` that does nothing."""


@dataclass(frozen=True, slots=True)
class Described:
    """Description of a version beside its weights."""

    tasks: tuple[Task, ...]
    scores: Mapping[str, float]
    """Scores of samples, each judged as if it had not been taught."""
    frontier: Frontier | None

    def record(self, n: int) -> dict[str, object]:
        """Return the record for the lineage. Args: n: Number of demonstrations."""
        record: dict[str, object] = {
            "n": n,
            **({"node_f1": round(sum(self.scores.values()) / len(self.scores), 4)} if self.scores else {}),
            "n_judged": len(self.scores),
            "n_tasks": len(self.tasks),
            "n_tools": len({tool for task in self.tasks for tool, _ in task.tools}),
        }
        if self.frontier is not None:
            f = self.frontier
            record["frontier"] = {"threshold": f.threshold, "caught": f.caught, "false_alarms": f.false_alarms}
        return record


def describe(student: Student, taught: Sequence[str], also: Iterable[str], progress: Progress) -> Described:
    """Judge a student by its own demonstrations, each as if it had not been taught.

    Args:
        also: Ids to be judged in any case.
    """
    sequences = {id: student.taught(id).sequence for id in taught}
    tasks = find_tasks(sequences, {id: student.taught(id).reading.pooled.astype(np.float64) for id in taught})
    by_task = {task.name: task.members for task in tasks}
    chosen = sorted({*promotion_gate.choose(by_task, _N_JUDGED), *(id for id in also if id in sequences)})
    scores: dict[str, float] = {}
    for start in range(0, len(chosen), _N_AT_ONCE):
        part = chosen[start : start + _N_AT_ONCE]
        for id, ranking in zip(part, student.rank_left_out(part)):
            planned = ranking.candidates[0].tools if ranking.candidates else ()
            scores[id] = node_f1(planned, sequences[id])
        progress("judging", start + len(part), len(chosen))
    frontier = _frontier(student, tasks, promotion_gate.drawn(taught, _N_FRONTIER))
    return Described(with_scores(tasks, scores), scores, frontier)


def scores_of(ids: Sequence[str], rankings: Sequence[Ranking], gold: Mapping[str, Demonstration]) -> dict[str, float]:
    """Return the Node-F1 of the plan for each of `ids`."""
    scores = {}
    for id, ranking in zip(ids, rankings):
        planned = ranking.candidates[0].tools if ranking.candidates else ()
        scores[id] = node_f1(planned, [step.tool for step in gold[id].plan.steps])
    return scores


def _frontier(student: Student, tasks: Sequence[Task], ids: Sequence[str]) -> Frontier | None:
    """Find where unseen tasks begin: compare each sample with all others, and with those of other tasks alone."""
    owner = by_sample(tasks)
    seen, unseen = [], []
    for id in ids:
        found = student.nearest(student.taught(id).reading, _N_FAR, id)
        seen += [likeness for _, likeness in found[:1]]
        unseen += [likeness for other, likeness in found if owner[other] != owner[id]][:1]
    return find_frontier(seen, unseen)
