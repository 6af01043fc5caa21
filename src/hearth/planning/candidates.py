"""Tool sequences that might serve a request, each with what speaks for it, as numbers.

Two sources: sequences seen before, and new ones put together from the tools that score highest, in the order that the
links between them suggest. What is proposed and the features depend on the evidence alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise, permutations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Sequence_ = tuple[str, ...]
ENDS = ""
"""Stands before the first tool and after the last in the links of a sequence."""
_MOST_STEPS = 5
_N_TOOLS = 8
_N_ORDERS = 2
"""Orders proposed of each set."""
_FLOOR = 0.01


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


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of one request."""

    tools: Mapping[str, float]
    """How likely each tool is, from the whole text; tools not named: 0."""
    clause_best: Mapping[str, float]
    """The same from the clause that suggests the tool most."""
    clause_any: Mapping[str, float]
    """The same, of any clause (noisy or)."""
    link: Callable[[str, str], float]
    """How likely one tool directly follows another."""
    said: Mapping[str, float]
    """Where in the request a tool's clause stands, 0 to 1."""
    sizes: Mapping[int, float]
    """How likely the plan has so many steps."""
    known: Sequence[Sequence_]
    """The taught sequences that fit best."""
    neighbours: Sequence[tuple[Sequence_, float]]
    """Sequences of the most similar demonstrations, with weights that add up to 1."""
    nearest: float
    """Likeness of the most similar demonstration."""
    rare: frozenset[str] = frozenset()
    """Tools taught so seldom that a link never seen says nothing against it."""
    left_out: Sequence_ | None = None
    """When fitting: this request's own sequence, which counts as taught once less."""


def candidates(evidence: Evidence, counts: Counts, n_free: int) -> list[Sequence_]:
    """Known sequences worth a look, and `n_free` new ones; each once, in a fixed order."""
    own = evidence.left_out
    found = dict.fromkeys([*evidence.known, *(sequence for sequence, _ in evidence.neighbours)])
    if own is not None and counts.sequences[own] == 1:
        found.pop(own, None)
    for sequence in _free(evidence, counts, n_free):
        found[sequence] = None
    return list(found)


class Known:
    """Taught sequences as arrays, to find those that fit a prediction."""

    def __init__(self, counts: Counts, tools: Mapping[str, int], columns: Mapping[str, int]) -> None:
        """Those whose every tool is on offer (`tools`: name → place); `columns` are the outputs of the heads."""
        self.sequences = sorted(s for s in counts.sequences if all(tool in tools for tool in s))
        self._tools = np.zeros((len(self.sequences), len(tools)), dtype=np.float32)
        self._links = np.zeros((len(self.sequences), len(columns)), dtype=np.float32)
        for row, sequence in enumerate(self.sequences):
            self._tools[row, [tools[tool] for tool in sequence]] = 1.0
            places = [columns[name] for a, b in steps_of(sequence) if (name := f"l {a} > {b}") in columns]
            self._links[row, places] = 1.0

    def best(self, tools: NDArray[np.float32], predicted: NDArray[np.float32], n: int) -> list[Sequence_]:
        """The `n` that fit scores of tools, shape [n_tools], and the heads' outputs, best first."""
        if not self.sequences:
            return []
        fit = self._tools @ (2 * tools - 1)
        if predicted.size:
            fit = fit + 0.5 * (self._links @ (2 * predicted - 1))
        return [self.sequences[int(row)] for row in np.argsort(-fit, kind="stable")[:n]]


@cache
def _subsets(n: int) -> NDArray[np.bool_]:
    """All subsets of n things with 1 to _MOST_STEPS members, shape [n_subsets, n]."""
    bits = (np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1
    return np.asarray(bits[bits.sum(axis=1) <= _MOST_STEPS], dtype=np.bool_)


@cache
def _orders(n: int) -> NDArray[np.int64]:
    return np.array(list(permutations(range(n))), dtype=np.int64)


def _free(evidence: Evidence, counts: Counts, n_free: int) -> list[Sequence_]:
    """The likeliest sets of the likeliest tools, each in its likeliest order."""
    if not n_free:
        return []
    votes: dict[str, float] = {}
    for sequence, weight in evidence.neighbours:
        for tool in set(sequence):
            votes[tool] = votes.get(tool, 0.0) + weight
    mixed = {
        tool: min(1.0, (p + 0.3 * votes.get(tool, 0.0) + 0.5 * evidence.clause_any.get(tool, 0.0)) / 1.5)
        for tool, p in evidence.tools.items()
    }
    top = sorted(mixed, key=lambda tool: (-mixed[tool], tool))[:_N_TOOLS]
    p = np.clip([mixed[tool] for tool in top], 0.02, 0.98)
    subsets = _subsets(len(top)) if top else np.zeros((0, 0), dtype=np.bool_)
    likelihood = subsets @ (np.log(p) - np.log(1 - p))
    sizes = np.array([max(evidence.sizes.get(int(n), 0.0), 0.03) for n in range(_MOST_STEPS + 1)])
    likelihood = likelihood + np.log(sizes)[subsets.sum(axis=1)]
    best = np.argsort(-likelihood, kind="stable")[:n_free]
    ends = len(top)
    names = [*top, ENDS]
    strength = np.array([[_strength(a, b, evidence, counts) for b in names] for a in names])
    found = []
    for row in best:
        members = np.flatnonzero(subsets[row])
        orders = members[_orders(len(members))]
        path = np.hstack([np.full((len(orders), 1), ends), orders, np.full((len(orders), 1), ends)])
        score = strength[path[:, :-1], path[:, 1:]].sum(axis=1)
        for order in np.argsort(-score, kind="stable")[:_N_ORDERS]:
            found.append(tuple(top[int(i)] for i in orders[order]))
    return found


def _order_log(sequence: Sequence_, evidence: Evidence, counts: Counts) -> float:
    """How likely this order is among all orders of its tools."""
    if len(sequence) > _MOST_STEPS or len(sequence) < 2:
        return 0.0
    names = [*sequence, ENDS]
    strength = np.array([[_strength(a, b, evidence, counts) for b in names] for a in names])
    orders = _orders(len(sequence))
    ends = np.full((len(orders), 1), len(sequence))
    path = np.hstack([ends, orders, ends])
    scores = strength[path[:, :-1], path[:, 1:]].sum(axis=1)
    return float(scores[0] - np.log(np.exp(scores - scores.max()).sum()) - scores.max())


def _strength(a: str, b: str, evidence: Evidence, counts: Counts) -> float:
    n = _taught(counts.links[a, b], (a, b) in steps_of(evidence.left_out) if evidence.left_out is not None else False)
    before = counts.tools[a] if a else counts.sequences.total()
    ahead = evidence.said.get(b, 1.0 if not b else 0.5) - evidence.said.get(a, 0.0 if not a else 0.5)
    return float(np.log(max(evidence.link(a, b), _FLOOR)) + 0.3 * np.log(0.01 + n / (1 + before)) + ahead)


def _taught(n: int, is_own: bool) -> int:
    return max(n - is_own, 0)


FEATURES = (
    "tools_fit",
    "tools_odds",
    "tools_least",
    "tools_missed",
    "links_fit",
    "links_log",
    "links_count",
    "links_new",
    "votes_sequence",
    "votes_set",
    "votes_tools",
    "votes_links",
    "clauses_fit",
    "clauses_log",
    "clauses_missed",
    "any_fit",
    "size_1",
    "size_3",
    "size_more",
    "size_log",
    "known",
    "known_set",
    "known_log",
    "known_near",
    "order_log",
    "links_new_near",
    "said_back",
)


def features(found: Sequence[Sequence_], evidence: Evidence, counts: Counts) -> Floats:
    """What speaks for each sequence, shape [n_found, len(FEATURES)]."""
    by_sequence: Counter[Sequence_] = Counter()
    by_set: Counter[Sequence_] = Counter()
    by_tool: Counter[str] = Counter()
    by_link: Counter[tuple[str, str]] = Counter()
    for sequence, weight in evidence.neighbours:
        by_sequence[sequence] += weight  # type: ignore[assignment]
        by_set[set_of(sequence)] += weight  # type: ignore[assignment]
        for tool in set(sequence):
            by_tool[tool] += weight  # type: ignore[assignment]
        for link in steps_of(sequence):
            by_link[link] += weight  # type: ignore[assignment]
    own = evidence.left_out
    own_set, own_links = (set_of(own), set(steps_of(own))) if own is not None else (None, set())
    ranked = sorted(evidence.tools.items(), key=lambda item: -item[1])[:20]
    ranked_clause = sorted(evidence.clause_best.items(), key=lambda item: -item[1])[:20]
    rows = []
    for sequence in found:
        tools, links, members = set(sequence), steps_of(sequence), set_of(sequence)
        p = np.clip([evidence.tools.get(tool, 0.0) for tool in members], _FLOOR, 1 - _FLOOR)
        c = np.array([evidence.clause_best.get(tool, 0.0) for tool in members])
        y = np.array([evidence.clause_any.get(tool, 0.0) for tool in members])
        n_links = [
            max(_taught(counts.links[link], link in own_links), int(bool(evidence.rare & {*link}))) for link in links
        ]
        q = np.array([evidence.link(a, b) if n else 0.0 for (a, b), n in zip(links, n_links)])
        n_known = _taught(counts.sequences[sequence], sequence == own)
        n_set = _taught(counts.sets[members], members == own_set)
        n = len(sequence)
        rows.append(
            (
                (2 * p - 1).sum(),
                np.log(p / (1 - p)).sum(),
                p.min(),
                np.log(max(next((v for tool, v in ranked if tool not in tools), 0.0), _FLOOR)),
                (2 * q - 1).sum(),
                np.log(np.clip(q, _FLOOR, 1)).sum(),
                np.log1p(n_links).sum(),
                sum(k == 0 for k in n_links),
                by_sequence[sequence],
                by_set[members],
                sum(2 * by_tool[tool] - 1 for tool in members),
                sum(by_link[link] - 0.5 for link in links),
                (2 * c - 1).sum(),
                np.log(np.clip(c, 0.02, 1)).sum(),
                next((v for tool, v in ranked_clause if tool not in tools), 0.0),
                (2 * y - 1).sum(),
                n == 1,
                n == 3,
                n > 3,
                np.log(max(evidence.sizes.get(min(n, 6), 0.0), 0.02)),
                n_known > 0,
                n_set > 0,
                np.log(n_known) if n_known else 0.0,
                (n_known > 0) * evidence.nearest,
                _order_log(sequence, evidence, counts),
                sum(k == 0 for k in n_links) * evidence.nearest,
                sum(min(evidence.said.get(b, 0.5) - evidence.said.get(a, 0.5), 0.0) for a, b in links[1:-1]),
            )
        )
    return np.array(rows, dtype=np.float64).reshape(len(found), len(FEATURES))
