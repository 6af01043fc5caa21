"""Whether a new version may replace the one in use, by the tasks that each is tried on."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hearth import __version__, config
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.planning.tool_heads import HeadPrior
from hearth.protocols import Encoder
from hearth.storage.database import Store
from hearth.types import Demonstration, Plain, Plan, ToolSpec

# ── Tasks ─────────────────────────────────────────────────────────────────────────────────────────────────
# Cluster the owner's requests into tasks, the task knowledge base; the same samples give the same tasks.
#
# A task is a group of demonstrations that use similar tools for similar words. It knows its samples, its tools, how
# well it is planned, and its related tasks. A new request is allocated to the task of the samples it is most like, or
# is recognised as of an unseen task when it is like none: below a threshold calibrated on the samples themselves,
# each compared with its own task (seen) and with all others (what an unseen task would look like).
#
# Source: Sedna's lifelong learning, https://sedna.readthedocs.io: task definition, allocation, relationship,
# unseen-task recognition. Not covered: requests of two tasks at once are allocated to one.

_TOOL_SHARE = 0.75
"""Share of tools in the squared length of the clustered vectors; the words have the rest."""
_ALIKE = 0.5
"""Least similarity of a tool set to the centre of its task."""
_N_ROUNDS = 4
_AKIN = 0.25
_N_AKIN = 3
_N_NAMED = 3
_MOST_ALARMS = 0.1
"""Most requests of seen tasks that may be taken for unseen, as a share."""
_NOTHING = "(nothing)"
"""Task of what is to be refused."""
_REST = "(small tasks)"
_NEW = "(new)"

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Task:
    """One kind of request."""

    name: str
    """Name made of its most usual tools."""
    tools: tuple[tuple[str, float], ...]
    """Tools with the share of its samples that use them, most used first."""
    members: tuple[str, ...]
    """Ids of its samples."""
    score: float | None = None
    """Mean Node-F1 of samples judged as if they had not been taught; None when none was judged."""
    n_judged: int = 0
    akin: tuple[tuple[str, float], ...] = ()
    """Names of related tasks by shared tools, with the similarity in [0, 1]."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Task:
        tools, akin = (tuple((name, share) for name, share in data[key]) for key in ("tools", "akin"))
        return cls(data["name"], tools, tuple(data["members"]), data["score"], data["n_judged"], akin)


@dataclass(frozen=True, slots=True)
class Frontier:
    """The threshold between seen and unseen tasks."""

    threshold: float
    """Similarity to the nearest sample below which a request is of an unseen task."""
    caught: float
    """Share of unseen tasks' samples recognised, each task judged with all its samples away."""
    false_alarms: float
    """Share of seen tasks' samples taken for unseen."""


def find_tasks(sequences: Mapping[str, Sequence[str]], vectors: Mapping[str, Floats]) -> tuple[Task, ...]:
    """Group demonstrations into tasks, largest first; those of a refusal come last.

    Args:
        sequences: Id → tools of the plan.
        vectors: Id → vector of the request.
    """
    ids = sorted(id for id, sequence in sequences.items() if sequence)
    refused = tuple(sorted(id for id, sequence in sequences.items() if not sequence))
    nothing = (Task(_NOTHING, (), refused),) if refused else ()
    if not ids:
        return nothing
    sets = sorted({tuple(sorted(set(sequences[id]))) for id in ids})
    points, counts, groups = _points(ids, sets, sequences, vectors)
    order = sorted(range(len(sets)), key=lambda k: (-counts[k], sets[k]))
    owner = _clustered(points, counts, order)
    tasks = []
    for cluster in sorted(set(owner)):
        members = sorted(id for k in np.flatnonzero(owner == cluster) for id in groups[k])
        tasks.append(Task("", _tools_of(members, sequences), tuple(members)))
    tasks.sort(key=lambda task: (-len(task.members), task.tools))
    return (*_akin(_named(tasks, sequences)), *nothing)


def _tools_of(members: Sequence[str], sequences: Mapping[str, Sequence[str]]) -> tuple[tuple[str, float], ...]:
    uses = Counter(tool for id in members for tool in set(sequences[id]))
    return tuple(sorted(((tool, round(n / len(members), 4)) for tool, n in uses.items()), key=lambda t: (-t[1], t[0])))


def _points(
    ids: Sequence[str],
    sets: Sequence[tuple[str, ...]],
    sequences: Mapping[str, Sequence[str]],
    vectors: Mapping[str, Floats],
) -> tuple[NDArray[np.float64], NDArray[np.float64], list[list[str]]]:
    """Return each tool set as one unit vector, how often it was used, and by which demonstrations."""
    row = {tools: k for k, tools in enumerate(sets)}
    groups: list[list[str]] = [[] for _ in sets]
    for id in ids:
        groups[row[tuple(sorted(set(sequences[id])))]].append(id)
    tools = sorted({tool for one in sets for tool in one})
    column = {tool: k for k, tool in enumerate(tools)}
    uses = np.zeros((len(sets), len(tools)))
    for k, one in enumerate(sets):
        uses[k, [column[tool] for tool in one]] = 1.0
    rarity = np.log(1 + len(sets) / uses.sum(axis=0))
    words = np.array([np.mean([np.asarray(vectors[id], dtype=np.float64) for id in group], axis=0) for group in groups])
    words = words - words.mean(axis=0)
    joined = np.hstack([_unit(uses * rarity) * _TOOL_SHARE**0.5, _unit(words) * (1 - _TOOL_SHARE) ** 0.5])
    return joined, np.array([len(group) for group in groups], dtype=np.float64), groups


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))


def _clustered(points: NDArray[np.float64], counts: NDArray[np.float64], order: Sequence[int]) -> NDArray[np.int64]:
    """Cluster the tool sets: common sets lead, others join the most similar; then each moves to the nearest centre."""
    sums: list[NDArray[np.float64]] = []
    owner = np.zeros(len(points), dtype=np.int64)
    for k in order:
        middles = _unit(np.array(sums)) if sums else np.zeros((0, points.shape[1]))
        near = middles @ points[k]
        best = int(near.argmax()) if len(near) else -1
        if best < 0 or near[best] < _ALIKE:
            best = len(sums)
            sums.append(np.zeros(points.shape[1]))
        sums[best] = sums[best] + counts[k] * points[k]
        owner[k] = best
    for _ in range(_N_ROUNDS):
        totals = np.zeros((len(sums), points.shape[1]))
        np.add.at(totals, owner, points * counts[:, None])
        fresh = (points @ _unit(totals).T).argmax(axis=1)
        if np.array_equal(fresh, owner):
            break
        owner = fresh
    return owner


def _named(tasks: Sequence[Task], sequences: Mapping[str, Sequence[str]]) -> list[Task]:
    """Name each task after the commonest sequence of its samples."""
    names: Counter[str] = Counter()
    named = []
    for task in tasks:
        usual = Counter(tuple(sequences[id]) for id in task.members)
        best = min(usual, key=lambda sequence: (-usual[sequence], len(sequence), sequence))
        name = (" + ".join(best[:_N_NAMED]) or _NOTHING) + (" + …" if len(best) > _N_NAMED else "")
        names[name] += 1
        named.append(replace(task, name=name if names[name] == 1 else f"{name} ({names[name]})"))
    return named


def _akin(tasks: Sequence[Task]) -> tuple[Task, ...]:
    """Relate tasks by the tools they share (weighted Jaccard)."""
    shares = [dict(task.tools) for task in tasks]
    by_tool: dict[str, list[int]] = {}
    for k, mine in enumerate(shares):
        for tool in mine:
            by_tool.setdefault(tool, []).append(k)
    found = []
    for k, (task, mine) in enumerate(zip(tasks, shares)):
        others = {j for tool in mine for j in by_tool[tool]} - {k}
        near = []
        for j in others:
            both = mine.keys() | shares[j].keys()
            least = sum(min(mine.get(t, 0.0), shares[j].get(t, 0.0)) for t in both)
            most = sum(max(mine.get(t, 0.0), shares[j].get(t, 0.0)) for t in both)
            if least / most >= _AKIN:
                near.append((tasks[j].name, round(least / most, 3)))
        near.sort(key=lambda item: (-item[1], item[0]))
        found.append(replace(task, akin=tuple(near[:_N_AKIN])))
    return tuple(found)


# ── Scores, what is unseen ────────────────────────────────────────────────────────────────────────────────


def with_scores(tasks: Sequence[Task], scores: Mapping[str, float]) -> tuple[Task, ...]:
    """Return the tasks with the mean score of those of their samples that were judged."""
    judged = [[scores[id] for id in task.members if id in scores] for task in tasks]
    return tuple(
        replace(task, score=round(float(np.mean(mine)), 4) if mine else None, n_judged=len(mine))
        for task, mine in zip(tasks, judged)
    )


def without(
    tasks: Sequence[Task], gone: frozenset[str], sequences: Mapping[str, Sequence[str]], scores: Mapping[str, float]
) -> tuple[Task, ...]:
    """Return the tasks without the samples `gone`; tasks that had one get name, tools and score anew."""
    kept = []
    for task in tasks:
        members = tuple(id for id in task.members if id not in gone and id in sequences)
        if len(members) == len(task.members):
            kept.append(replace(task, akin=()))
        elif members:
            kept.append(Task("", _tools_of(members, sequences), members))
    touched = [task for task in kept if not task.name]
    fresh = iter(with_scores(_named(touched, sequences), scores))
    return _akin([task if task.name else next(fresh) for task in kept])


def by_sample(tasks: Sequence[Task]) -> dict[str, str]:
    """Map the id of each sample to the name of its task."""
    return {id: task.name for task in tasks for id in task.members}


def grouped(tasks: Sequence[Task], ids: Sequence[str], least: int) -> dict[str, list[str]]:
    """Group `ids` by task. Tasks with fewer than `least` of them are judged together; so are ids of no task, but
    separately, as new samples must not make up for a loss."""
    owner = by_sample(tasks)
    found: dict[str, list[str]] = {}
    for id in ids:
        found.setdefault(owner.get(id, _NEW), []).append(id)
    small = [name for name, mine in found.items() if len(mine) < least and name != _NEW]
    rest = [id for name in small for id in found.pop(name)]
    return {**found, **({_REST: rest} if rest else {})}


def find_frontier(seen: Sequence[float], unseen: Sequence[float]) -> Frontier | None:
    """Find the threshold that recognises most unseen samples at few false alarms; None without samples of both.

    Args:
        seen: Similarity of samples to the nearest other sample of any task.
        unseen: Similarity of samples to the nearest sample of another task than theirs.
    """
    if not seen or not unseen:
        return None
    mine, others = np.sort(np.asarray(seen)), np.sort(np.asarray(unseen))
    threshold = float(mine[int(_MOST_ALARMS * len(mine))])  # so many of the seen lie below
    caught = np.searchsorted(others, threshold) / len(others)
    alarms = np.searchsorted(mine, threshold) / len(mine)
    return Frontier(threshold, round(float(caught), 4), round(float(alarms), 4))


# ── Promotion gate ────────────────────────────────────────────────────────────────────────────────────────
# Gate new versions before they plan: a version must harm no task and be of use, or the old one stays.
#
# Both versions are judged on the same demonstrations, each as if it alone had not been taught: those the old version
# was judged on, and some of the new ones. A task got worse when its mean score fell by more than one point and by
# more than chance explains (two standard errors of the paired differences); tasks with few samples are judged
# together. New plans must be consistent with each other and with what is known: with each left out, the others find
# it at least a third as well as known ones are found, and no more than half of them may be others than plans the old
# version was sure of; random labels and plans that contradict what is known do not pass this. A version is of use
# when the mean over all improved, or when something new was taught. The owner's own demonstrations need not be
# consistent with anything.
#
# Covered: batches that are wrong as a whole, or for one task. Not covered: a few wrong plans in a good batch (they
# cost little), wrong plans that agree with each other about what was unknown, and harm that no sample shows.

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
