"""Describe a version beside its weights: tasks, how well its samples are planned, where unseen tasks begin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hearth.learning.tasks import Frontier, Task, by_sample, find_frontier, find_tasks, with_scores
from hearth.learning.versions import promotion_gate
from hearth.learning.versions.promotion_gate import node_f1

_N_AT_ONCE = 32
"""Samples judged at once: few enough that progress moves."""
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


class Learner(Protocol):
    """Something that was taught demonstrations and is judged by them."""

    def left_out(self, ids: Sequence[str]) -> Sequence[Sequence[str]]:
        """Return the tools planned for each demonstration, as if it alone had not been taught."""
        ...

    def tools_of(self, id: str) -> Sequence[str]:
        """Return the tools of a demonstration's plan, in order."""
        ...

    def vector(self, id: str) -> NDArray[np.float64]:
        """Return the vector of a demonstration's request."""
        ...

    def nearest(self, ids: Sequence[str], n: int) -> Sequence[Sequence[tuple[str, float]]]:
        """Return for each demonstration the `n` others most similar to it, with their likeness, nearest first."""
        ...


def tasks_of(learner: Learner, taught: Sequence[str]) -> tuple[Task, ...]:
    """Group demonstrations that a learner was taught into tasks. Args: taught: Their ids."""
    return find_tasks({id: learner.tools_of(id) for id in taught}, {id: learner.vector(id) for id in taught})


def describe(learner: Learner, tasks: Sequence[Task], judged: Iterable[str], progress: Progress) -> Described:
    """Judge a learner by its own demonstrations, each as if it had not been taught.

    Args:
        tasks: All it was taught.
        judged: Ids of those that are judged; others than the tasks' are passed over.
    """
    known = by_sample(tasks)
    scores = scored(learner, sorted(known.keys() & set(judged)), progress)
    return Described(with_scores(tasks, scores), scores, _frontier(learner, tasks))


def scored(learner: Learner, ids: Sequence[str], progress: Progress = silent) -> dict[str, float]:
    """Return the Node-F1 of the plans for demonstrations, each as if it alone had not been taught."""
    scores: dict[str, float] = {}
    for start in range(0, len(ids), _N_AT_ONCE):
        part = ids[start : start + _N_AT_ONCE]
        scores |= {id: node_f1(tools, learner.tools_of(id)) for id, tools in zip(part, learner.left_out(part))}
        progress("judging", start + len(part), len(ids))
    return scores


def _frontier(learner: Learner, tasks: Sequence[Task]) -> Frontier | None:
    """Find where unseen tasks begin: compare each sample with all others, and with those of other tasks alone."""
    owner = by_sample(tasks)
    seen, unseen = [], []
    ids = promotion_gate.drawn((id for id in owner if learner.tools_of(id)), _N_FRONTIER)
    for id, found in zip(ids, learner.nearest(ids, _N_FAR), strict=True):
        seen += [likeness for _, likeness in found[:1]]
        unseen += [likeness for other, likeness in found if owner.get(other) != owner[id]][:1]
    return find_frontier(seen, unseen)
