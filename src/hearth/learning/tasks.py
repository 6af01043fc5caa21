"""Cluster the owner's requests into tasks, the task knowledge base; the same samples give the same tasks.

A task is a group of demonstrations that use similar tools for similar words. It knows its samples, its tools, how well
it is planned, and its related tasks. A new request is allocated to the task of the samples it is most like, or is
recognised as of an unseen task when it is like none: below a threshold calibrated on the samples themselves, each
compared with its own task (seen) and with all others (what an unseen task would look like).

Source: Sedna's lifelong learning, https://sedna.readthedocs.io: task definition, allocation, relationship, unseen-task
recognition. Not covered: requests of two tasks at once are allocated to one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
