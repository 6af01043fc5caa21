"""Generates candidate tool sequences for a request, from the evidence.

Three sources: sequences seen before, new ones put together from the tools that score highest, in the order that the
links between them suggest, and those that a trained model proposes. What is proposed depends on the evidence alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise, permutations, product, repeat

import numpy as np
from numpy.typing import NDArray

from hearth.protocols import Proposal

Floats = NDArray[np.float64]
Sequence_ = tuple[str, ...]
ENDS = ""
"""Marker before the first tool and after the last in the links of a sequence."""
MOST_STEPS = 5
"""Most steps of a new set; longer sequences are known ones or a trained model's, and their orders are not compared."""
_N_TOOLS = 8
_N_ORDERS = 2
"""Number of orders proposed of each set."""
_FLOOR = 0.01
_RARE_LINK = 0.4
"""Probability of a link between two wanted tools, one of which was hardly ever taught."""


def steps_of(sequence: Sequence_) -> list[tuple[str, str]]:
    """Return the neighbours in a sequence, both ends included."""
    return list(pairwise((ENDS, *sequence, ENDS)))


def set_of(sequence: Sequence_) -> Sequence_:
    return tuple(sorted(set(sequence)))


@dataclass(slots=True)
class Counts:
    """Counts of how often sequences, sets, links and tools were taught."""

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
    """Evidence on one request. Arrays have one entry for each tool on offer."""

    place: Mapping[str, int]
    """Index of each tool on offer in the arrays."""
    tools: Floats
    """Probability of each tool, from the whole text."""
    clause_best: Floats
    """The same from the clause that suggests the tool most."""
    clause_any: Floats
    """The same from any clause (noisy or)."""
    by_clause: Floats
    """Probability of each tool from each clause, shape [n_clauses, n_tools]."""
    steps: Floats
    """Degree to which clauses like each clause asked for each tool, shape [n_clauses, n_tools]."""
    said: Floats
    """Position of a tool's clause in the request, 0 to 1; one half when it is not known."""
    predicted: NDArray[np.float32]
    """Outputs of the heads for the whole text."""
    link_columns: Mapping[tuple[str, str], int]
    """Index of the output that says how likely one tool directly follows another."""
    sizes: Mapping[int, float]
    """Probability that the plan has so many steps."""
    known: Sequence[Sequence_]
    """Taught sequences that fit best."""
    neighbours: Sequence[tuple[Sequence_, float]]
    """Sequences of the most similar demonstrations, with weights that add up to 1."""
    nearest: float
    """Likeness of the most similar demonstration."""
    rarity: Floats
    """1 for tools never taught, 0 for those taught a few times; an unseen link of a rare tool is no evidence."""
    proposal: Proposal | None = None
    """Proposal of the trained model, if there is one."""
    left_out: Sequence_ | None = None
    """This request's own sequence, which counts as taught once less; set only when fitting."""

    @cached_property
    def votes(self) -> dict[str, float]:
        """Return the weight of the neighbours that use each tool."""
        found: dict[str, float] = {}
        for sequence, weight in self.neighbours:
            for tool in set(sequence):
                found[tool] = found.get(tool, 0.0) + weight
        return found


class Grounds:
    """Evidence on the candidates of one request, as arrays over the few tools they use; the last entry is the end."""

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
        self.name_of = np.full(len(evidence.place), len(self.names))
        """Index in `names` of each tool on offer; one past the end for those that are not there."""
        self.name_of[rows] = np.arange(len(rows))
        self.tools, self.best, self.any, self.rarity, self.said = _with_end(
            [evidence.tools, evidence.clause_best, evidence.clause_any, evidence.rarity, evidence.said], rows
        )
        self.said[-1] = 0.5
        self.by_clause, self.steps = _with_end(evidence.by_clause, rows), _with_end(evidence.steps, rows)
        self.is_end = np.array([name == ENDS for name in self.names])
        self._links()

    def _links(self) -> None:
        """Compute `link`, `n_links` and `strength`, all of shape [n_names, n_names].

        `link` is how likely b follows a; `n_links` how often it was taught; `strength` combines both with which is said
        first.
        """
        e, names = self.evidence, self.names
        pairs, shape = list(product(names, names)), (len(names), len(names))
        columns = np.fromiter(map(e.link_columns.get, pairs, repeat(-1)), np.int64, len(pairs)).reshape(shape)
        taught = np.fromiter(map(self.counts.links.get, pairs, repeat(0)), np.float64, len(pairs)).reshape(shape)
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

    def paths(self, found: Sequence[Sequence_], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the indices of the tools of sequences of these lengths, with both ends, shape [n, most + 2].

        Shorter ones are padded with the end.
        """
        path = np.full((len(found), int(lengths.max(initial=0)) + 2), len(self.names) - 1)
        step = np.arange(path.shape[1]) - 1
        path[(step >= 0) & (step < lengths[:, None])] = [self.place[tool] for sequence in found for tool in sequence]
        return path


def _with_end(scores: Sequence[Floats] | Floats, rows: NDArray[np.int64]) -> Floats:
    """Return scores of some tools, shape [n, n_tools], with a 0 appended for the end."""
    found = np.zeros((len(scores), len(rows) + 1))
    for k, mine in enumerate(scores):
        found[k, :-1] = mine[rows]
    return found


def candidates(grounds: Grounds, n_free: int) -> list[Sequence_]:
    """Return known sequences worth a look, a trained model's proposals, and `n_free` new sets; each once, in order."""
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
    """Return those whose links are all in the graph; all of them without a graph, or if none remains."""
    if graph is None:
        return found
    return [s for s in found if all((a, b) in graph for a, b in steps_of(s)[1:-1])] or found


class Known:
    """Taught sequences as arrays, to find those that fit a prediction."""

    def __init__(self, counts: Counts, tools: Mapping[str, int], link_columns: Mapping[tuple[str, str], int]) -> None:
        """Keep those whose every tool is on offer (`tools`: name → place)."""
        self.sequences = sorted(s for s in counts.sequences if all(tool in tools for tool in s))
        self._tools = _padded([[tools[tool] for tool in dict.fromkeys(s)] for s in self.sequences])
        links = [dict.fromkeys(link_columns.get(link, -1) for link in steps_of(s)) for s in self.sequences]
        self._links = _padded([[column for column in mine if column >= 0] for mine in links])

    def best(self, tools: Floats, predicted: NDArray[np.float32], n: int) -> list[Sequence_]:
        """Return the `n` that best fit scores of tools, shape [n_tools], and the heads' outputs, best first."""
        if not self.sequences:
            return []
        fit = np.append(2 * tools - 1, 0.0)[self._tools].sum(axis=1)
        if predicted.size:
            fit = fit + 0.5 * np.append(2 * predicted - 1, 0.0)[self._links].sum(axis=1)
        return [self.sequences[int(row)] for row in np.argsort(-fit, kind="stable")[:n]]


def _padded(rows: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Pad rows of indices with -1."""
    found = np.full((len(rows), max((len(row) for row in rows), default=0)), -1)
    for k, row in enumerate(rows):
        found[k, : len(row)] = row
    return found


@cache
def _subsets(n: int) -> NDArray[np.bool_]:
    """Return all subsets of n things with 1 to MOST_STEPS members, shape [n_subsets, n]."""
    bits = (np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1
    return np.asarray(bits[bits.sum(axis=1) <= MOST_STEPS], dtype=np.bool_)


@cache
def orders_of(n: int) -> NDArray[np.int64]:
    """Return all orders of n things, the given one first, shape [n!, n]."""
    return np.array(list(permutations(range(n))), dtype=np.int64).reshape(-1, n)


@cache
def walks_of(n: int) -> NDArray[np.int64]:
    """Return all orders of n things at 1 to n, the given one first, between 0 and n + 1; shape [n!, n + 2]."""
    ends = np.zeros((len(orders_of(n)), 1), dtype=np.int64)
    return np.hstack([ends, orders_of(n) + 1, ends + n + 1])


def _top_tools(evidence: Evidence) -> list[tuple[str, float]]:
    """Return the likeliest tools, by all evidence."""
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
    """Return the likeliest sets of the likeliest tools, each in its likeliest orders."""
    if not n_free or not grounds.top:
        return []
    p = np.clip([p for _, p in grounds.top], 0.02, 0.98)
    subsets = _subsets(len(p))
    sizes = np.array([max(grounds.evidence.sizes.get(n, 0.0), 0.03) for n in range(MOST_STEPS + 1)])
    likelihood = subsets @ (np.log(p) - np.log(1 - p)) + np.log(sizes)[subsets.sum(axis=1)]
    top = np.array([grounds.place[tool] for tool, _ in grounds.top])
    best = np.argsort(-likelihood, kind="stable")[:n_free]
    lengths = subsets[best].sum(axis=1)
    found: dict[int, list[Sequence_]] = {}
    for n in range(1, MOST_STEPS + 1):
        mine = np.flatnonzero(lengths == n)
        if len(mine):
            found |= dict(zip(mine.tolist(), _ordered(grounds, top[np.nonzero(subsets[best[mine]])[1]].reshape(-1, n))))
    return [sequence for k in range(len(best)) for sequence in found[k]]


def _ordered(grounds: Grounds, sets: NDArray[np.int64]) -> list[list[Sequence_]]:
    """Return the likeliest orders of each set of places, shape [n_sets, n]."""
    ends = np.full((len(sets), 1), len(grounds.names) - 1)
    every = np.hstack([ends, sets, ends])[:, walks_of(sets.shape[1])]
    score = grounds.strength[every[:, :, :-1], every[:, :, 1:]].sum(axis=2)
    best = np.argsort(-score, axis=1, kind="stable")[:, :_N_ORDERS]
    chosen = every[np.arange(len(sets))[:, None], best, 1:-1].tolist()
    return [[tuple(grounds.names[place] for place in order) for order in mine] for mine in chosen]
