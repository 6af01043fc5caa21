"""Gate new versions before they plan: a version must harm no task and be of use, or the old one stays.

Both versions are judged on the same demonstrations, each as if it alone had not been taught: those the old version was
judged on, and some of the new ones. A task got worse when its mean score fell by more than one point and by more than
chance explains (two standard errors of the paired differences); tasks with few samples are judged together. New plans
must be consistent with each other and with what is known: with each left out, the others find it at least a third as
well as known ones are found, and no more than half of them may be others than plans the old version was sure of; random
labels and plans that contradict what is known do not pass this. A version is of use when the mean over all improved, or
when something new was taught. The owner's own demonstrations need not be consistent with anything.

Covered: batches that are wrong as a whole, or for one task. Not covered: a few wrong plans in a good batch (they cost
little), wrong plans that agree with each other about what was unknown, and harm that no sample shows.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hearth import __version__, config
from hearth.learning.tasks import Frontier, Task, by_sample, find_frontier, find_tasks, with_scores
from hearth.planning.ranking.heads.tool_heads import HeadPrior
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.protocols import Encoder
from hearth.storage.database import Store
from hearth.types import Demonstration, Plain, Plan, ToolSpec

ALLOWED_LOSS = 0.01
"""Largest loss a task may have: one point."""
LEAST_SAMPLES = 5
"""Tasks with fewer samples are judged together."""
_N_ERRORS = 2.0
_LEAST_AGREEMENT = 1 / 3
_N_AGREEING = 5
"""Fewest new samples that can be expected to be consistent with each other."""


@dataclass(frozen=True, slots=True)
class TaskChange:
    """Change of one task's score."""

    task: str
    before: float
    after: float
    n: int
    is_worse: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """Decision whether a new version may plan, and why."""

    is_promoted: bool
    reason: str
    """Explanation for a person."""
    before: float
    """Mean score of the old version over all samples."""
    after: float
    n: int
    changes: tuple[TaskChange, ...] = ()
    """Tasks whose score changed, the worst first."""

    def to_json(self) -> dict[str, Plain]:
        def scores(one: Verdict | TaskChange) -> dict[str, Plain]:
            return {"before": round(one.before, 4), "after": round(one.after, 4), "n": one.n}

        changes: list[Plain] = [{"task": c.task, **scores(c), "worse": c.is_worse} for c in self.changes]
        return {"promoted": self.is_promoted, "reason": self.reason, **scores(self), "changes": changes}


def node_f1(planned: Sequence[str], wanted: Sequence[str]) -> float:
    """Return the Node-F1 of two plans' sets of tools."""
    mine, gold = set(planned), set(wanted)
    return 2 * len(mine & gold) / (len(mine) + len(gold)) if mine or gold else 1.0


def judge(
    before: Mapping[str, float],
    after: Mapping[str, float],
    tasks: Mapping[str, Sequence[str]],
    *,
    taught_new: bool,
    fresh: Collection[str] = (),
    denied: Collection[str] = (),
) -> Verdict:
    """Compare two versions by their scores of the same samples (id → score in [0, 1]).

    Args:
        tasks: Name → ids of its samples, each id in one task.
        taught_new: Whether something new was taught: then the mean need not improve, only not get worse as a task may
            not; of fewer than `LEAST_SAMPLES`, not fall by more than `ALLOWED_LOSS`, chance or not.
        fresh: Ids of new samples that must follow from one another; not those the owner taught.
        denied: Ids of new samples that the old version surely plans otherwise.
    """
    ids = sorted(before.keys() & after.keys())
    if not ids:
        return Verdict(True, "nothing was learnt before that could get worse", 0.0, 0.0, 0)
    changes = []
    for name, members in sorted(tasks.items()):
        mine = [id for id in members if id in before and id in after]
        differences = np.array([after[id] - before[id] for id in mine])
        if not differences.any():
            continue
        was, now = (float(np.mean([scores[id] for id in mine])) for scores in (before, after))
        changes.append(TaskChange(name, was, now, len(mine), is_worse(differences)))
    changes.sort(key=lambda c: (c.after - c.before, c.task))
    old, new = (float(np.mean([scores[id] for id in ids])) for scores in (before, after))
    # What chance explains can only be said of enough samples; of fewer, every fall counts.
    few = len(ids) < LEAST_SAMPLES
    fell = new < old - ALLOWED_LOSS if few else is_worse(np.array([after[id] - before[id] for id in ids]))
    is_good, reason = _ruling(old, new, changes, is_enough=taught_new and not fell)
    strange = _disagreement([after[id] for id in fresh if id in after], [after[id] for id in ids if id not in fresh])
    objection = strange or _denial([id for id in fresh if id in after], denied)
    if is_good and objection:
        is_good, reason = False, objection
    return Verdict(is_good, reason, old, new, len(ids), tuple(changes))


def is_worse(differences: np.ndarray) -> bool:
    """Say whether scores fell by more than is allowed and more than chance explains."""
    n = len(differences)
    if n < 2:
        return False
    mean = float(differences.mean())
    error = float(differences.std(ddof=1)) / n**0.5
    return mean < -ALLOWED_LOSS and mean + _N_ERRORS * error < 0


def _ruling(old: float, new: float, changes: Sequence[TaskChange], *, is_enough: bool) -> tuple[bool, str]:
    worse = [c for c in changes if c.is_worse]
    points = f"{100 * old:.1f} → {100 * new:.1f}"
    if worse:
        named = ", ".join(f"{c.task} ({100 * c.before:.1f} → {100 * c.after:.1f})" for c in worse[:3])
        more = f" and {len(worse) - 3} more" if len(worse) > 3 else ""
        return False, f"it would make {len(worse)} task{'s' * (len(worse) > 1)} worse: {named}{more}"
    if new > old:
        return True, f"no task got worse, and the whole improved ({points} points)"
    if is_enough:
        return True, f"no task got worse ({points} points), and it is new"
    return False, f"nothing would improve ({points} points)"


def _disagreement(fresh: Sequence[float], known: Sequence[float]) -> str:
    """Return an objection to the new samples as a whole; empty for none."""
    if len(fresh) < _N_AGREEING or not known:
        return ""
    mine, theirs = float(np.mean(fresh)), float(np.mean(known))
    if mine >= _LEAST_AGREEMENT * theirs:
        return ""
    return (
        f"its plans do not follow from one another or from what is known: {100 * mine:.1f} points with each left out, "
        f"where known ones have {100 * theirs:.1f}"
    )


def _denial(fresh: Sequence[str], denied: Collection[str]) -> str:
    """Return an objection where most new samples deny what was sure; their own scores say nothing of who is right."""
    n = sum(id in denied for id in fresh)
    if n < _N_AGREEING or n <= len(fresh) / 2:
        return ""
    return f"{n} of {len(fresh)} of its plans are others than those that were sure before"


def choose(tasks: Mapping[str, Sequence[str]], n: int) -> list[str]:
    """Choose at most `n` ids; by a hash, so that the same are chosen again.

    The largest tasks get as many as they need to be judged alone; the rest is spread as evenly as possible.
    """
    queues = [sorted(members, key=_lot) for _, members in sorted(tasks.items())]
    queues.sort(key=len, reverse=True)
    chosen: list[str] = []
    for queue in queues:
        if len(queue) >= LEAST_SAMPLES and len(chosen) + LEAST_SAMPLES <= n:
            chosen += queue[:LEAST_SAMPLES]
            del queue[:LEAST_SAMPLES]
    depth = 0
    while len(chosen) < n and any(depth < len(queue) for queue in queues):
        layer = sorted((queue[depth] for queue in queues if depth < len(queue)), key=_lot)
        chosen += layer[: n - len(chosen)]
        depth += 1
    return sorted(chosen)


def drawn(ids: Iterable[str], n: int) -> list[str]:
    """Choose at most `n` of `ids`, by the same hash."""
    return sorted(sorted(ids, key=_lot)[:n])


def _lot(id: str) -> bytes:
    return hashlib.sha256(id.encode("utf-8", "surrogatepass")).digest()


# ── A version beside its weights ───────────────────────────────────────────────────────────────────────
# Describe a version beside its weights: tasks, how well its samples are planned, where unseen tasks begin.


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
    ids = drawn((id for id in owner if learner.tools_of(id)), _N_FRONTIER)
    for id, found in zip(ids, learner.nearest(ids, _N_FAR), strict=True):
        seen += [likeness for _, likeness in found[:1]]
        unseen += [likeness for other, likeness in found if owner.get(other) != owner[id]][:1]
    return find_frontier(seen, unseen)


# ── What the gate judges by ────────────────────────────────────────────────────────────────────────────
# Rehearse what was taught: a home's planner plans its own demonstrations, each as if it alone had not been taught.
# In memory alone: what is tried counts for nobody else, and nothing is written.
# Covered: plans, refusals, and questions back, which count as plans of the tools that they are about. Not covered:
# values of arguments; what the agent does with a plan; names that only the owner's contacts or devices hold.


JUDGE = f"{RecallPlanner.name} {__version__}"
"""What scores were made with: those of another planner, or of another Hearth, are not compared with."""

_N_NEAR, _N_RIVALS = 100, 2


@dataclass(frozen=True, slots=True)
class Tried:
    """How a request is planned."""

    tools: tuple[str, ...]
    """Tools of the plan, or of the question back; none for a refusal."""
    confidence: float
    """Of the plan; 0 for a question or a refusal."""


class Rehearsal:
    """What a home plans with, to be judged; satisfies `Learner`."""

    def __init__(
        self, encoder: Encoder, store: Store, tools: Mapping[str, ToolSpec], prior: HeadPrior | None = None
    ) -> None:
        """Rehearse what the store holds. Args: prior: In place of the one that the home took."""
        self._planner = RecallPlanner(encoder, store, config.cache_folder(os.environ), prior)
        self._tools = tools

    @property
    def ids(self) -> tuple[str, ...]:
        return self._planner.ids()

    def tools(self) -> frozenset[str]:
        """Return the tools of all plans taught."""
        return frozenset(tool for id in self.ids for tool in self.tools_of(id))

    def suppose(self, demonstrations: Iterable[Demonstration], gone: Sequence[str] = ()) -> None:
        """Count demonstrations as taught, and those of some ids as forgotten."""
        self._planner.suppose(demonstrations, gone)

    def write_supposed(self) -> None:
        """Write the forms of what was supposed and is in the store by now, so that they need not be made again."""
        self._planner.remembered.write_supposed()

    def tried(self, demonstration: Demonstration) -> Tried:
        """Return how its request is planned, as if the demonstration alone had not been taught."""
        answer = self._planner.plan_untaught(demonstration, self._tools)
        if isinstance(answer, Plan):
            return Tried(tuple(step.tool for step in answer.steps), answer.confidence)
        return Tried(tuple(dict.fromkeys(name.partition(".")[0] for name in answer.missing)), 0.0)

    def left_out(self, ids: Sequence[str]) -> list[tuple[str, ...]]:
        return [self.tried(self._planner.remembered.demonstration(id)).tools for id in ids]

    def tools_of(self, id: str) -> tuple[str, ...]:
        return self._planner.remembered.tools_of(id)

    def vector(self, id: str) -> NDArray[np.float64]:
        return self._planner.remembered.vector(id)

    def nearest(self, ids: Sequence[str], n: int) -> list[list[tuple[str, float]]]:
        return self._planner.remembered.nearest(ids, n)

    def rivals(self, ids: Sequence[str]) -> set[str]:
        """Return the demonstrations most like some that are planned with other tools."""
        found: set[str] = set()
        for id, near in zip(ids, self.nearest(ids, _N_NEAR), strict=True):
            mine = self.tools_of(id)
            found |= set([other for other, _ in near if self.tools_of(other) != mine][:_N_RIVALS])
        return found

    def digest(self) -> str:
        """Return a SHA-256 of all that plans; empty when nothing was taught."""
        return self._planner.remembered.digest() if len(self._planner) else ""
