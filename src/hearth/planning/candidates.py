"""Tool sequences that might serve a request, from what is known of it.

Three sources: sequences seen before, new ones put together from the tools that score highest, in the order that the
links between them suggest, and those that a trained model proposes. What is proposed depends on the evidence alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise, permutations

import numpy as np
from numpy.typing import NDArray

from hearth.protocols import Proposal

Floats = NDArray[np.float64]
Sequence_ = tuple[str, ...]
ENDS = ""
"""Stands before the first tool and after the last in the links of a sequence."""
MOST_STEPS = 5
"""Longer sequences are known ones or a trained model's; their orders are not compared."""
_N_TOOLS = 8
_N_ORDERS = 2
"""Orders proposed of each set."""
_FLOOR = 0.01
_RARE_LINK = 0.4
"""How likely a link is of two wanted tools, one of which was hardly ever taught."""


def steps_of(sequence: Sequence_) -> list[tuple[str, str]]:
    """Neighbours in a sequence, both ends included."""
    return list(pairwise((ENDS, *sequence, ENDS)))


def set_of(sequence: Sequence_) -> Sequence_:
    return tuple(sorted(set(sequence)))


@dataclass(slots=True)
class Counts:
    """How often sequences, sets, links and tools were taught."""

    sequences: Counter[Sequence_] = field(default_factory=Counter)
    sets: Counter[Sequence_] = field(default_factory=Counter)
    links: Counter[tuple[str, str]] = field(default_factory=Counter)
    tools: Counter[str] = field(default_factory=Counter)

    def add(self, sequence: Sequence_, n: int = 1) -> None:
        """Count a sequence `n` times; a negative n takes it back."""
        self.sequences[sequence] += n
        self.sets[set_of(sequence)] += n
        for link in steps_of(sequence):
            self.links[link] += n
        for tool in set(sequence):
            self.tools[tool] += n
        if n < 0:
            for counter, keys in (
                (self.sequences, [sequence]),
                (self.sets, [set_of(sequence)]),
                (self.links, steps_of(sequence)),
                (self.tools, sequence),
            ):
                for key in keys:
                    if not counter[key]:  # type: ignore[index]
                        del counter[key]


@dataclass(frozen=True)
class Evidence:
    """What is known of one request. Arrays have one entry for each tool on offer."""

    place: Mapping[str, int]
    """Tools on offer and their places in the arrays."""
    tools: Floats
    """How likely each tool is, from the whole text."""
    clause_best: Floats
    """The same from the clause that suggests the tool most."""
    clause_any: Floats
    """The same, of any clause (noisy or)."""
    by_clause: Floats
    """How likely each tool is from each clause, shape [n_clauses, n_tools]."""
    steps: Floats
    """How far clauses like each clause asked for it, shape [n_clauses, n_tools]."""
    said: Floats
    """Where in the request a tool's clause stands, 0 to 1; one half where that is not known."""
    predicted: NDArray[np.float32]
    """Outputs of the heads for the whole text."""
    link_columns: Mapping[tuple[str, str], int]
    """Which of them says how likely one tool directly follows another."""
    sizes: Mapping[int, float]
    """How likely the plan has so many steps."""
    known: Sequence[Sequence_]
    """The taught sequences that fit best."""
    neighbours: Sequence[tuple[Sequence_, float]]
    """Sequences of the most similar demonstrations, with weights that add up to 1."""
    nearest: float
    """Likeness of the most similar demonstration."""
    rarity: Floats
    """1 for tools never taught, 0 for those taught a few times; a link of a rare tool that was never seen says nothing
    against it."""
    proposal: Proposal | None = None
    """What the trained model says, where there is one."""
    left_out: Sequence_ | None = None
    """When fitting: this request's own sequence, which counts as taught once less."""

    @cached_property
    def votes(self) -> dict[str, float]:
        """Weight of the neighbours that use each tool."""
        found: dict[str, float] = {}
        for sequence, weight in self.neighbours:
            for tool in set(sequence):
                found[tool] = found.get(tool, 0.0) + weight
        return found


class Grounds:
    """What bears on the candidates of one request, as arrays over the few tools they use; the last entry is the end."""

    def __init__(self, evidence: Evidence, counts: Counts) -> None:
        self.evidence, self.counts = evidence, counts
        self.top = _top_tools(evidence)
        used = dict.fromkeys(tool for tool, _ in self.top)
        for sequence in (*evidence.known, *(sequence for sequence, _ in evidence.neighbours)):
            used.update(dict.fromkeys(sequence))
        if evidence.proposal is not None:
            for sequence, _ in evidence.proposal.sequences:
                used.update(dict.fromkeys(tool for tool in sequence if tool in evidence.place))
        self.names = [*used, ENDS]
        self.place = {name: k for k, name in enumerate(self.names)}
        rows = np.array([evidence.place[name] for name in self.names[:-1]], dtype=np.int64)
        self.tools = np.append(evidence.tools[rows], 0.0)
        self.best = np.append(evidence.clause_best[rows], 0.0)
        self.any = np.append(evidence.clause_any[rows], 0.0)
        self.by_clause = np.hstack([evidence.by_clause[:, rows], np.zeros((len(evidence.by_clause), 1))])
        self.steps = np.hstack([evidence.steps[:, rows], np.zeros((len(evidence.steps), 1))])
        self.said = np.append(evidence.said[rows], 0.5)
        self.rarity = np.append(evidence.rarity[rows], 0.0)
        self.is_end = np.array([name == ENDS for name in self.names])
        self._links()

    def _links(self) -> None:
        """`link`, how likely b follows a; `n_links`, how often it was taught; `strength`, both with what is said first.

        All have shape [n_names, n_names].
        """
        e, names = self.evidence, self.names
        get, count = e.link_columns.get, self.counts.links.get
        columns = np.array([[get((a, b), -1) for b in names] for a in names])
        taught = np.array([[count((a, b), 0) for b in names] for a in names], dtype=np.float64)
        if e.left_out is not None:
            for a, b in set(steps_of(e.left_out)):
                if a in self.place and b in self.place:
                    taught[self.place[a], self.place[b]] = max(taught[self.place[a], self.place[b]] - 1, 0)
        link = np.where(columns >= 0, np.append(e.predicted, 0.0)[columns], 0.0)
        either = (self.rarity[:, None] > 0) | (self.rarity > 0)
        likely = np.where(self.is_end, 1.0, self.tools)
        self.link = np.where(either, np.maximum(link, _RARE_LINK * np.minimum(likely[:, None], likely)), link)
        self.n_links = np.where(either, np.maximum(taught, 1.0), taught)
        before = np.array([self.counts.tools[name] for name in names[:-1]] + [self.counts.sequences.total()])
        start, end = np.where(self.is_end, 0.0, self.said), np.where(self.is_end, 1.0, self.said)
        share = 0.3 * np.log(0.01 + taught / (1 + before[:, None]))
        self.strength = np.log(np.maximum(self.link, _FLOOR)) + share + end - start[:, None]

    def paths(self, found: Sequence[Sequence_]) -> NDArray[np.int64]:
        """Places of the tools of sequences of one length, with both ends, shape [n, length + 2]."""
        end = len(self.names) - 1
        return np.array([[end, *(self.place[tool] for tool in sequence), end] for sequence in found])


def candidates(grounds: Grounds, n_free: int) -> list[Sequence_]:
    """Known sequences worth a look, those a trained model proposes, and `n_free` new sets; each once, in order."""
    evidence = grounds.evidence
    own = evidence.left_out
    found = dict.fromkeys([*evidence.known, *(sequence for sequence, _ in evidence.neighbours)])
    if own is not None and grounds.counts.sequences[own] == 1:
        found.pop(own, None)
    if evidence.proposal is not None:
        for sequence, _ in evidence.proposal.sequences:
            if sequence and all(tool in evidence.place for tool in sequence):
                found[sequence] = None
    for sequence in _free(grounds, n_free):
        found[sequence] = None
    return list(found)


def possible(found: list[Sequence_], graph: frozenset[tuple[str, str]] | None) -> list[Sequence_]:
    """Those whose links are all in the graph; all of them where there is no graph or none is."""
    if graph is None:
        return found
    return [s for s in found if all((a, b) in graph for a, b in steps_of(s)[1:-1])] or found


class Known:
    """Taught sequences as arrays, to find those that fit a prediction."""

    def __init__(self, counts: Counts, tools: Mapping[str, int], link_columns: Mapping[tuple[str, str], int]) -> None:
        """Those whose every tool is on offer (`tools`: name → place)."""
        self.sequences = sorted(s for s in counts.sequences if all(tool in tools for tool in s))
        self._tools = _padded([[tools[tool] for tool in dict.fromkeys(s)] for s in self.sequences])
        links = [dict.fromkeys(link_columns.get(link, -1) for link in steps_of(s)) for s in self.sequences]
        self._links = _padded([[column for column in mine if column >= 0] for mine in links])

    def best(self, tools: Floats, predicted: NDArray[np.float32], n: int) -> list[Sequence_]:
        """The `n` that fit scores of tools, shape [n_tools], and the heads' outputs, best first."""
        if not self.sequences:
            return []
        fit = np.append(2 * tools - 1, 0.0)[self._tools].sum(axis=1)
        if predicted.size:
            fit = fit + 0.5 * np.append(2 * predicted - 1, 0.0)[self._links].sum(axis=1)
        return [self.sequences[int(row)] for row in np.argsort(-fit, kind="stable")[:n]]


def _padded(rows: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Rows of places, filled up with -1."""
    found = np.full((len(rows), max((len(row) for row in rows), default=0)), -1)
    for k, row in enumerate(rows):
        found[k, : len(row)] = row
    return found


@cache
def _subsets(n: int) -> NDArray[np.bool_]:
    """All subsets of n things with 1 to MOST_STEPS members, shape [n_subsets, n]."""
    bits = (np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1
    return np.asarray(bits[bits.sum(axis=1) <= MOST_STEPS], dtype=np.bool_)


@cache
def orders_of(n: int) -> NDArray[np.int64]:
    """All orders of n things, the given one first, shape [n!, n]."""
    return np.array(list(permutations(range(n))), dtype=np.int64).reshape(-1, n)


def _top_tools(evidence: Evidence) -> list[tuple[str, float]]:
    """The likeliest tools, by all that is known."""
    mixed = evidence.tools + 0.5 * evidence.clause_any
    for tool, vote in evidence.votes.items():
        if tool in evidence.place:
            mixed[evidence.place[tool]] += 0.3 * vote
    mixed = np.minimum(mixed / 1.5, 1.0)
    n = min(_N_TOOLS, len(mixed))
    rows = np.sort(np.argpartition(-mixed, n - 1)[:n]) if n else np.zeros(0, dtype=np.int64)
    names = list(evidence.place)
    return [(names[row], float(mixed[row])) for row in rows[np.argsort(-mixed[rows], kind="stable")]]


def _free(grounds: Grounds, n_free: int) -> list[Sequence_]:
    """The likeliest sets of the likeliest tools, each in its likeliest orders."""
    if not n_free or not grounds.top:
        return []
    p = np.clip([p for _, p in grounds.top], 0.02, 0.98)
    subsets = _subsets(len(p))
    sizes = np.array([max(grounds.evidence.sizes.get(n, 0.0), 0.03) for n in range(MOST_STEPS + 1)])
    likelihood = subsets @ (np.log(p) - np.log(1 - p)) + np.log(sizes)[subsets.sum(axis=1)]
    top = np.array([grounds.place[tool] for tool, _ in grounds.top])
    end = len(grounds.names) - 1
    found: list[Sequence_] = []
    for row in np.argsort(-likelihood, kind="stable")[:n_free]:
        members = top[subsets[row]]
        orders = members[orders_of(len(members))]
        ends = np.full((len(orders), 1), end)
        path = np.hstack([ends, orders, ends])
        score = grounds.strength[path[:, :-1], path[:, 1:]].sum(axis=1)
        for order in np.argsort(-score, kind="stable")[:_N_ORDERS]:
            found.append(tuple(grounds.names[i] for i in orders[order]))
    return found
