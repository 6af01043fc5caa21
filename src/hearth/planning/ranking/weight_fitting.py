"""Weighs the ranker's evidence, by demonstrations as if they had not been taught, and chooses at least risk."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearth.language.request_sketch import sketch_of
from hearth.models.ridge import Heads
from hearth.planning.ranking.features import (
    FEATURES,
    HALF,
    RARE_FEATURES,
    SEEN_FEATURES,
    Counts,
    Evidence,
    FloatRows,
    Floats,
    Grounds,
    Known,
    Neighbourhood,
    Reader,
    Reading,
    Sequence_,
    Taught,
    candidates,
    features,
    possible,
    rows_of,
    set_of,
    steps_of,
)
from hearth.protocols import Proposal
from hearth.types import ToolSpec

# ── Min risk ──────────────────────────────────────────────────────────────────────────────────────────────
# Chooses among the weighed candidates by minimum risk, and computes the signs of how sure the choice is.

_LEAST_CHANCE = 0.02
_SAME = 0.93
"""Likeness from which two requests count as the same; different requests hardly ever reach it."""
_SAME_WEIGHT = 0.8
"""Share of the nearest one's weight from which others count as equally near."""
_TAUGHT_SHARE = 0.9


def best_of(found: Sequence[Sequence_], gold: Sequence_) -> int | None:
    """Return the right candidate: the very sequence, else the one with its tools and the most of its links."""
    links = set(pairwise(gold))
    wanted = set_of(gold)
    same = [k for k, sequence in enumerate(found) if set_of(sequence) == wanted]
    return max(same, key=lambda k: (found[k] == gold, len(links & set(pairwise(found[k]))), -k), default=None)


def least_risk(found: Sequence[Sequence_], p: NDArray[np.float64]) -> int:
    """Return the candidate with the highest expected score (node F1 + link F1) under the others' probabilities.

    Source:
        Minimum Bayes risk: Kumar & Byrne 2004, https://aclanthology.org/N04-1022.
    """
    sets = [set(s) for s in found]
    links = [set(steps_of(s)[1:-1]) for s in found]
    gain = _overlaps(sets) + _overlaps(links)
    gain[np.diag_indices(len(found))] = [1.0 + bool(mine) for mine in links]
    return int((gain @ p).argmax())


def _overlaps(sets: Sequence[Collection[Hashable]]) -> NDArray[np.float64]:
    """Return the F1 of each set with each, shape [n, n]."""
    places = {one: place for place, one in enumerate(dict.fromkeys(one for mine in sets for one in mine))}
    sizes = np.array([len(mine) for mine in sets])
    has = np.zeros((len(sets), len(places)))
    has[np.repeat(np.arange(len(sets)), sizes), [places[one] for mine in sets for one in mine]] = 1.0
    return np.asarray(2 * (has @ has.T) / np.maximum(sizes[:, None] + sizes, 1), dtype=np.float64)


def overlap(mine: Sequence_, theirs: Sequence_) -> float:
    """Return the node F1 of two plans' tools: 1 for the same set."""
    a, b = set(mine), set(theirs)
    return 2 * len(a & b) / max(len(a) + len(b), 1)


def as_taught(found: Sequence[Sequence_], p: NDArray[np.float64], evidence: Evidence) -> NDArray[np.float64]:
    """Correct the probabilities if this very request was taught.

    They then mostly follow what was taught for it, whatever a model trained earlier proposes; otherwise they stay.
    """
    if evidence.nearest < _SAME or not evidence.neighbours:
        return p
    least = _SAME_WEIGHT * evidence.neighbours[0][1]
    taught = np.zeros(len(found))
    for sequence, weight in evidence.neighbours:
        if weight >= least and sequence in found:
            taught[found.index(sequence)] += weight
    if not taught.any():
        return p
    return np.asarray((1 - _TAUGHT_SHARE) * p + _TAUGHT_SHARE * taught / taught.sum(), dtype=np.float64)


N_SURENESS_SIGNS = 5


def sureness_signs(
    first: Sequence_, found: Sequence[Sequence_], p: NDArray[np.float64], evidence: Evidence
) -> NDArray[np.float64]:
    """Return the signs of a right choice: the probability of all candidates with its tools, and how alone it is."""
    mine = set_of(first)
    together = float(sum(q for sequence, q in zip(found, p) if set_of(sequence) == mine))
    together = min(max(together, _LEAST_CHANCE), 1 - 1e-3)
    least = min((float(evidence.tools[evidence.place[tool]]) for tool in mine), default=0.0)
    agree = sum(w for sequence, w in evidence.neighbours if set_of(sequence) == mine)
    return np.array([np.log(together / (1 - together)), least, agree, evidence.nearest, float(len(first) > 2)])


# ── Logistic ──────────────────────────────────────────────────────────────────────────────────────────────
# Fits small convex models to their one optimum: how to weigh evidence, and how sure to be. Deterministic.

_N_STEPS = 50


@dataclass(frozen=True, slots=True)
class Weigher:
    """Scores of candidates from their features: z = ((f - mean) / spread) · weights."""

    mean: Floats
    spread: Floats
    weights: Floats

    def probabilities(self, features: Floats) -> Floats:
        """Return the softmax over the candidates of one request, features [n_candidates, n_features]."""
        z = (features - self.mean) / self.spread @ self.weights
        p = np.exp(z - z.max())
        return np.asarray(p / p.sum(), dtype=np.float64)


_PENALTY = 0.01


def fit_weigher(
    groups: Sequence[Floats],
    right: Sequence[int],
    penalty: float = _PENALTY,
    *,
    free: NDArray[np.bool_] | None = None,
    fixed: Weigher | None = None,
) -> Weigher:
    """Fit the weights under which the right candidates are likeliest.

    Args:
        groups: Features of each request's candidates, shape [n_candidates, n_features].
        right: Row of the right one in each group.
        free: Which weights to fit; None is all.
        fixed: Gives the others, 0 when left out.
    Source:
        Conditional logit: McFadden 1974; Newton's method with halving.
    """
    stacked = np.vstack(groups)
    mean, spread = stacked.mean(axis=0), stacked.std(axis=0) + 1e-9
    free = np.ones(stacked.shape[1], dtype=np.bool_) if free is None else free
    given = np.zeros(len(stacked))
    if fixed is not None:
        given = ((stacked - fixed.mean) / fixed.spread)[:, ~free] @ fixed.weights[~free]
    x = ((stacked - mean) / spread)[:, free]
    starts = np.cumsum([0, *(len(group) for group in groups[:-1])])
    owner = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    chosen = starts + np.asarray(right)
    wanted = x[chosen].sum(axis=0)
    n = len(groups)

    def loss(w: Floats) -> tuple[float, Floats]:
        z = x @ w + given
        top = np.maximum.reduceat(z, starts)
        e = np.exp(z - top[owner])
        total = np.add.reduceat(e, starts)
        value = (np.log(total) + top - z[chosen]).sum() / n + penalty / 2 * float(w @ w)
        return float(value), e / total[owner]

    w = np.zeros(x.shape[1])
    value, p = loss(w)
    for _ in range(_N_STEPS):
        gradient = (x.T @ p - wanted) / n + penalty * w
        expected = np.add.reduceat(x * p[:, None], starts)
        curvature = ((x.T * p) @ x - expected.T @ expected) / n + penalty * np.eye(len(w))
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        while True:
            fresh = w - size * step
            fresh_value, fresh_p = loss(fresh)
            if fresh_value <= value - 1e-4 * size * float(gradient @ step) or size < 1e-4:
                break
            size /= 2
        w, value, p = fresh, fresh_value, fresh_p
        if np.abs(size * step).max() < 1e-5:
            break
    weights = np.zeros(len(free))
    weights[free] = w
    if fixed is not None:
        mean, spread = np.where(free, mean, fixed.mean), np.where(free, spread, fixed.spread)
        weights = np.where(free, weights, fixed.weights)
    return Weigher(mean, spread, weights)


def leave_out_groups(
    weigher: Weigher,
    groups: Sequence[Floats],
    right: Sequence[int],
    free: NDArray[np.bool_],
    penalty: float = _PENALTY,
) -> list[Weigher]:
    """Return, for each group, the weights of `fit_weigher` as if it had not been fitted on: one Newton step from them.

    Source:
        Approximate leave-one-out: Rad & Maleki 2020, https://arxiv.org/abs/1801.10243, eq. 6.
    """
    n_free = int(free.sum())
    gradients, curvatures = np.zeros((len(groups), n_free)), np.zeros((len(groups), n_free, n_free))
    for k, (group, chosen) in enumerate(zip(groups, right)):
        x = ((group - weigher.mean) / weigher.spread)[:, free]
        p = weigher.probabilities(group)
        expected = p @ x
        gradients[k] = expected - x[chosen]
        curvatures[k] = (x.T * p) @ x - np.outer(expected, expected)
    whole = curvatures.sum(axis=0) + len(groups) * penalty * np.eye(n_free)
    moved = np.linalg.solve(whole - curvatures, gradients[:, :, None])[:, :, 0]
    weights = np.tile(weigher.weights, (len(groups), 1))
    weights[:, free] += moved
    return [Weigher(weigher.mean, weigher.spread, mine) for mine in weights]


def fit_logistic(features: Floats, is_right: Sequence[bool], penalty: float = 0.01) -> Weigher:
    """Fit a logistic regression with intercept; read its weights with `chance`."""
    x = np.column_stack([features, np.ones(len(features))])
    mean = np.append(features.mean(axis=0), 0.0)
    spread = np.append(features.std(axis=0) + 1e-9, 1.0)
    x = (x - mean) / spread
    y = np.asarray(is_right, dtype=np.float64)
    w = np.zeros(x.shape[1])
    for _ in range(_N_STEPS):
        p = 1 / (1 + np.exp(-np.clip(x @ w, -30, 30)))
        gradient = x.T @ (p - y) / len(y) + penalty * w
        curvature = (x.T * (p * (1 - p))) @ x / len(y) + penalty * np.eye(len(w))
        step = np.linalg.solve(curvature, gradient)
        step /= max(1.0, float(np.abs(step).max()) / 2)  # far from the optimum a Newton step may overshoot
        w -= step
        if np.abs(step).max() < 1e-6:
            break
    return Weigher(mean, spread, w)


def chance(weigher: Weigher, features: Floats) -> Floats:
    """Return the probability that each row is right, features [n, n_features], from `fit_logistic`."""
    x = (np.column_stack([features, np.ones(len(features))]) - weigher.mean) / weigher.spread
    return np.asarray(1 / (1 + np.exp(-np.clip(x @ weigher.weights, -30, 30))), dtype=np.float64)


# ── Unseen tools ──────────────────────────────────────────────────────────────────────────────────────────
# Scores tools that were taught seldom or never: by their texts, by similar tools, and by their few examples.
#
# How far each of these is trusted is fitted on taught tools that are hidden for the purpose.

_N_CONSIDERED = 40
"""Number of such tools considered for a request: the nearest, and the likeliest by their examples."""
_N_LENDING = 12
_LEAST_USUAL = 20
_WORD = re.compile(r"[^\W\d_]+|\d+")
_TRANSFER_RIDGE = 1.0
_BY_TEXT = (
    "near",
    "near_mean",
    "near_whole",
    "near_rank",
    "near_left",
    "near_odd",
    "near_whole_odd",
    "name_odd",
    "name_whole_odd",
    "name",
    "name_whole",
    "name_left",
    "borrowed",
    "transfer",
    "transfer_clause",
    "name_words",
    "words",
)
_BY_EXAMPLES = ("head", "clause_best", "clause_any")
SIGNS = (*_BY_TEXT, *_BY_EXAMPLES, *(f"{name}_few" for name in _BY_EXAMPLES), "few")


def tool_text(spec: ToolSpec) -> str:
    """Return a tool's name and description, as they are encoded."""
    return f"{tool_name(spec)}: {spec.description}"


def tool_name(spec: ToolSpec) -> str:
    return spec.name.replace("_", " ")


class ToolTexts:
    """Texts of the tools on offer, as vectors and words."""

    def __init__(self, tools: Mapping[str, ToolSpec], vectors: FloatRows, names: FloatRows, n_words: int) -> None:
        """Keep the texts' vectors.

        Args:
            vectors: Vectors of whole texts, shape [n_tools, dim].
            names: Vectors of names alone.
        """
        self.vectors, self.names = vectors, names
        self._specs = list(tools.values())
        self._n_words = n_words

    def nearness(self, asked: FloatRows) -> FloatRows:
        """Return the similarity of each tool's text to clauses or requests [n, dim], shape [n_tools, n]."""
        return np.asarray(self.vectors @ asked.T, dtype=np.float32)

    def shared_words(self, reading: Reading, rows: NDArray[np.int64]) -> Floats:
        """Return about the cosine of a request's words with tools' names, and with their whole texts, shape [n, 2]."""
        asked = reading.words[0] / np.float32(HALF)
        return np.column_stack([sketches[rows] @ asked for sketches in self._words]).astype(np.float64)

    @cached_property
    def _words(self) -> tuple[FloatRows, FloatRows]:
        """Return sketches of the words of names and of whole texts, as `Reading.words` has them."""
        names = [tool_name(spec) for spec in self._specs]
        whole = [f"{name} {spec.description}" for name, spec in zip(names, self._specs)]
        return self._sketched(names), self._sketched(whole)

    def _sketched(self, texts: Sequence[str]) -> FloatRows:
        sketches = [sketch_of(tuple(_WORD.findall(text.lower()))) for text in texts]
        return np.asarray(np.reshape(sketches, (len(texts), -1, self._n_words)).sum(axis=1), dtype=np.float32)


class Transfer:
    """Transfers scores of well-known tools to others by a ridge regression on the tools' texts.

    Source:
        Kronecker kernel ridge regression in two steps: Stock et al. 2018, https://arxiv.org/abs/1606.04275
    """

    def __init__(self, vectors: FloatRows, is_known: NDArray[np.bool_]) -> None:
        known = vectors[is_known].astype(np.float64)
        self._is_known = is_known
        self._centre = known.mean(axis=0) if len(known) else np.zeros(vectors.shape[1])
        apart = known - self._centre
        kernel = apart @ apart.T
        kernel[np.diag_indices_from(kernel)] += _TRANSFER_RIDGE
        self._solve = apart.T @ np.linalg.inv(kernel) if len(known) else np.zeros((vectors.shape[1], 0))
        self._vectors = vectors

    def scores(self, wanted: Floats, rows: NDArray[np.int64]) -> Floats:
        """Score the tools `rows` from the scores of all tools, shape [n, n_tools]; returns shape [n, n_rows]."""
        known = wanted[:, self._is_known]
        mean = known.mean(axis=1, keepdims=True) if known.size else np.zeros((len(wanted), 1))
        return np.asarray((known - mean) @ self._solve.T @ (self._vectors[rows] - self._centre).T + mean, np.float64)


class Looks(NamedTuple):
    """The heads' scores of each tool on offer."""

    whole: Floats
    """Scores from the whole text, shape [n_tools]."""
    best: Floats
    """Scores from the clause that suggests the tool most."""
    any: Floats
    """Scores from any clause (noisy or)."""
    by_clause: Floats
    """Scores from each clause, shape [n_clauses, n_tools]."""


@dataclass(frozen=True, slots=True)
class TextSigns:
    """Tells by the texts of hardly taught tools whether they are wanted."""

    texts: ToolTexts
    usual: FloatRows
    """Vectors of some requests, to tell how near a tool is to any; shape [n, dim]."""
    transfer: Transfer

    def of(
        self, reading: Reading, looks: Looks, rows: NDArray[np.int64], few: Floats
    ) -> tuple[NDArray[np.int64], Floats]:
        """Return the hardly taught tools that may be wanted, and the signs of each, shape [n, len(SIGNS)].

        Args:
            rows: The hardly taught tools.
            few: 1 for tools never taught, towards 0 for those taught often; one for each row.
        """
        asked = np.vstack([reading.acts, reading.whole])
        near = self.texts.nearness(asked)
        best = near[:, :-1].max(axis=1)
        fifth = np.partition(best, -min(5, len(best)))[-min(5, len(best))]
        if len(rows) > _N_CONSIDERED:
            chosen = np.argsort(-(best + near[:, -1])[rows] - 2 * looks.whole[rows], kind="stable")[:_N_CONSIDERED]
            rows, few = rows[chosen], few[chosen]
        near, best, name = near[rows], best[rows], self.texts.names[rows] @ asked.T
        name_best = name[:, :-1].max(axis=1)
        centre, spread = _odd(self.texts.vectors[rows], self.usual)
        name_centre, name_spread = _odd(self.texts.names[rows], self.usual)
        wanted = looks.whole
        n = min(_N_LENDING, len(wanted))
        lending = np.argpartition(-wanted, n - 1)[:n]
        alike = np.clip(self.texts.vectors[rows] @ self.texts.vectors[lending].T, 0, 1) ** 2
        alike[rows[:, None] == lending] = 0.0
        left = 1 - np.clip(looks.by_clause.max(axis=1), 0, 1)
        by_text = np.column_stack(
            [
                best,
                near[:, :-1].mean(axis=1),
                near[:, -1],
                best - fifth,
                (near[:, :-1] * left).max(axis=1),
                (best - centre) / spread,
                (near[:, -1] - centre) / spread,
                (name_best - name_centre) / name_spread,
                (name[:, -1] - name_centre) / name_spread,
                name_best,
                name[:, -1],
                (name[:, :-1] * left).max(axis=1),
                (alike * np.clip(wanted[lending], 0, 1)).max(axis=1),
                self.transfer.scores(wanted[None], rows)[0],
                self.transfer.scores(looks.by_clause, rows).max(axis=0),
                self.texts.shared_words(reading, rows),
            ]
        )
        by_examples = np.clip(np.column_stack([looks.whole, looks.best, looks.any])[rows], -0.2, 1.2)
        signs = np.hstack([by_text * few[:, None], by_examples, by_examples * few[:, None], few[:, None]])
        return rows, signs.astype(np.float64)


def _odd(vectors: FloatRows, usual: FloatRows) -> tuple[FloatRows, FloatRows]:
    """Return mean and spread of the similarity of texts to usual requests."""
    if len(usual) < _LEAST_USUAL:
        return np.zeros(len(vectors), dtype=np.float32), np.ones(len(vectors), dtype=np.float32)
    near = vectors @ usual.T
    return near.mean(axis=1), near.std(axis=1) + np.float32(0.02)


def by_text(weigher: Weigher | None, signs: Floats) -> Floats:
    """Return the probability that each tool is wanted, from its signs."""
    return chance(weigher or TEXT_ONLY, signs)


def _text_only() -> Weigher:
    """Return the weights used until there are enough demonstrations to fit."""
    mean, spread, weight = np.zeros(len(SIGNS) + 1), np.ones(len(SIGNS) + 1), np.zeros(len(SIGNS) + 1)
    for name, centre, width, w in (
        ("near", 0.45, 0.12, 1.2),
        ("near_mean", 0.25, 0.12, 0.2),
        ("borrowed", 0.0, 1.0, 1.0),
        ("near_rank", 0.0, 0.1, 0.6),
        ("head", 0.0, 1.0, 4.0),
    ):
        k = SIGNS.index(name)
        mean[k], spread[k], weight[k] = centre, width, w
    weight[-1] = -1.0
    return Weigher(mean, spread, weight)


TEXT_ONLY = _text_only()


# ── Leave out ─────────────────────────────────────────────────────────────────────────────────────────────
# Turns what a ranker knows, with some demonstrations left out, into evidence for single requests.
#
# Planning uses the view of everything. Fitting uses views without some demonstrations, to see what evidence is worth
# for requests it was not learned from.

_N_NEIGHBOURS = 15
_SHARPNESS = 10.0
"""Rate at which a neighbour's weight falls with its distance in likeness."""
_N_KNOWN = 20
_RARE_USES = 2
"""With fewer uses than this many times `text_trust`, a link never seen is no evidence."""
_STRANGER_USES = 4
"""Tools taught fewer than this many times `text_trust` are judged by their texts too."""


@dataclass(frozen=True, slots=True)
class ViewOptions:
    use_heads: bool
    use_neighbours: bool
    text_trust: float


class Case(NamedTuple):
    """One request with what is known of it; of a demonstration, what would be known had it not been taught."""

    rows: FloatRows
    """The heads' outputs for the whole text, then for its acts if there are several, shape [n_rows, n_outputs]."""
    reading: Reading
    proposal: Proposal | None = None
    own: tuple[int, Sequence_] | None = None
    """Its row and sequence, when it was taught itself and is to be judged as if it had not been."""
    strangers: tuple[NDArray[np.int64], Floats] | None = None
    """Result of `View.strangers`, if it was computed already."""
    gold: Sequence_ = ()
    """The right sequence of a demonstration."""

    @property
    def predicted(self) -> FloatRows:
        """Return the outputs for the whole text, shape [n_outputs]."""
        return np.asarray(self.rows[0], dtype=np.float32)

    @property
    def acts(self) -> FloatRows:
        """Return the outputs for the acts, shape [n_acts, n_outputs]."""
        return self.rows[-self.reading.n_acts :]


@dataclass(eq=False)
class View:
    """Evidence from all but the hidden demonstrations. Immutable; rebuilt when anything is learned or removed."""

    names: Sequence[str]
    """Tools on offer."""
    texts: ToolTexts
    outputs: Sequence[str]
    """Names of the heads' outputs."""
    counts: Counts
    """Counts of what is not hidden."""
    neighbourhood: Neighbourhood
    options: ViewOptions
    hidden: NDArray[np.bool_] | None = None
    """Rows of the neighbourhood that are left out."""
    place: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        names, counts = self.names, self.counts
        self.place = {name: place for place, name in enumerate(names)}
        text = {name: column for column, name in enumerate(self.outputs)}
        self._columns = np.array([text.get(f"t {n}", -1) if n in counts.tools else -1 for n in names], dtype=np.int64)
        self._sizes = {n: text[f"n {n}"] for n in range(1, 7) if f"n {n}" in text}
        self._uses = np.array([counts.tools.get(name, 0) for name in names], dtype=np.float64)
        links = ((link, text.get(f"l {link[0]} > {link[1]}")) for link in counts.links)
        self._links = {link: column for link, column in links if column is not None}
        self._known = Known(counts, self.place, self._links)
        transfer = Transfer(self.texts.vectors, self._uses >= self.options.text_trust)
        self._text_signs = TextSigns(self.texts, self.neighbourhood.usual(), transfer)

    def evidence(self, case: Case, weigher: Weigher | None) -> tuple[Evidence, NDArray[np.int64]]:
        """Judge one request by the heads' outputs for it and its likeness to what was taught.

        Args:
            weigher: How far texts of tools are trusted.
        Returns:
            The evidence, and rows of the nearest demonstrations.
        """
        predicted, reading = case.predicted, case.reading
        left_out = case.own[1] if case.own is not None else None
        hidden = self._hidden_from(case.own)
        nearest, alike = self.neighbourhood.nearest(reading, _N_NEIGHBOURS, hidden)
        weights = np.exp((alike - alike[:1]) * _SHARPNESS)
        weights = weights / max(float(weights.sum()), 1e-12)
        sequences = [(self.neighbourhood.sequences[row], float(w)) for row, w in zip(nearest, weights)]
        neighbours = [(s, w) for s, w in sequences if all(tool in self.place for tool in s)]
        looks, said = self.looks(case, neighbours)
        uses = self.uses_without(left_out)
        rows, signs = self.strangers(looks, reading, uses) if case.strangers is None else case.strangers
        scores = (looks.whole.copy(), looks.best.copy(), looks.any.copy())
        if len(rows):
            self._blend(scores, rows, by_text(weigher, signs), uses)
        evidence = Evidence(
            self.place,
            *scores,
            looks.by_clause,
            self.neighbourhood.asked_for(reading, self.place, hidden),
            said,
            predicted,
            self._links,
            {n: float(predicted[column]) for n, column in self._sizes.items()} if self.options.use_heads else {},
            self._known.best(scores[0], predicted, _N_KNOWN),
            neighbours if self.options.use_neighbours else [],
            float(alike[0]) if len(alike) else 0.0,
            self._rarity(uses),
            case.proposal,
            left_out,
        )
        return evidence, nearest

    def _hidden_from(self, own: tuple[int, Sequence_] | None) -> NDArray[np.bool_] | None:
        if own is None:
            return self.hidden
        hidden = np.zeros(len(self.neighbourhood.ids), dtype=np.bool_) if self.hidden is None else self.hidden.copy()
        hidden[own[0]] = True
        return hidden

    def uses_without(self, left_out: Sequence_ | None) -> Floats:
        """Return how often each tool on offer was taught."""
        if left_out is None:
            return self._uses
        uses = self._uses.copy()
        uses[[self.place[tool] for tool in set(left_out) if tool in self.place]] -= 1
        return uses

    def looks(self, case: Case, neighbours: Sequence[tuple[Sequence_, float]] = ()) -> tuple[Looks, Floats]:
        """Return the heads' scores of each tool, and where in the request its act stands."""
        if not self.options.use_heads:
            votes = np.zeros(len(self.names))
            for sequence, weight in neighbours:
                votes[[self.place[tool] for tool in set(sequence)]] += weight
            return Looks(votes, votes, votes, votes[None]), np.full(len(votes), 0.5)
        by_act = _picked(case.acts, self._columns)
        any_ = 1 - np.prod(1 - np.clip(by_act, 0, 0.98), axis=0)
        said = np.where(self._columns >= 0, by_act.argmax(axis=0) / max(len(by_act) - 1, 1), 0.5)
        return Looks(_picked(case.predicted, self._columns), by_act.max(axis=0), any_, by_act), said

    def strangers(self, looks: Looks, reading: Reading, uses: Floats) -> tuple[NDArray[np.int64], Floats]:
        """Return the rows of hardly taught tools that may be wanted, and their signs."""
        trust = self.options.text_trust
        rare = np.flatnonzero(uses < _STRANGER_USES * trust)
        if not len(rare):
            return rare, np.zeros((0, len(SIGNS)))
        few = trust / (trust + uses[rare])
        return self._text_signs.of(reading, looks, rare, few)

    def _rarity(self, uses: Floats) -> Floats:
        trust = self.options.text_trust
        return np.where(uses < _RARE_USES * trust, trust / (trust + uses), 0.0)

    def _blend(self, scores: Sequence[Floats], rows: NDArray[np.int64], p: Floats, uses: Floats) -> None:
        share = np.clip(1.5 - uses[rows] / (_STRANGER_USES * self.options.text_trust), 0, 1)
        for score in scores:
            score[rows] = (1 - share) * score[rows] + share * p


def counts_of(sequences: Mapping[str, Sequence_] | Sequence[Sequence_]) -> Counts:
    counts = Counts()
    for sequence in sequences.values() if isinstance(sequences, Mapping) else sequences:
        counts.add(sequence)
    return counts


def _picked(scores: NDArray[np.floating], columns: NDArray[np.int64]) -> Floats:
    """Return scores, shape [..., n_outputs], in the order of the tools on offer; 0 for tools without a column."""
    padded = np.concatenate([scores, np.zeros((*scores.shape[:-1], 1))], axis=-1)
    return np.where(columns >= 0, padded[..., columns], 0.0).astype(np.float64)


# ── Weight fitting ────────────────────────────────────────────────────────────────────────────────────────
# Fits the few weights that combine a ranker's evidence, on its demonstrations as if they had not been taught.
#
# To fit the weights of candidates, each demonstration is left out alone; to see how far the texts of tools can be
# trusted, all that use some tools are left out together. The fit depends on the set of demonstrations and not on
# their order.

LEAST_TAUGHT = 20
N_CHOSEN = 12
_LEAST_GROUPS = 10
_LEAST_HIDDEN = 100
"""Least number of demonstrations for tools to be hidden."""
_EXAMPLES = (0, 1, 4)
"""Examples that hidden tools keep, one view for each number."""
_HIDDEN_SHARE = 0.12
"""Share of the tools hidden in one view."""
_MOST_TOUCHED = 0.3
"""Greatest share of the demonstrations affected in one view."""
_N_TOUCHED, _N_OTHERS = 120, 60


@dataclass(frozen=True, slots=True)
class Joining:
    """The weights, all fitted together."""

    weigher: Weigher | None = None
    """Weights of the candidates' features."""
    sureness: Weigher | None = None
    strangers: Weigher | None = None
    """Weights of the signs for hardly taught tools."""

    def fits(self) -> bool:
        """Return whether the weights fit the signs that are read now; those of another Hearth may be for others."""
        signs = (
            (self.weigher, len(UNTAUGHT.weights)),
            (self.sureness, N_SURENESS_SIGNS + 1),
            (self.strangers, len(SIGNS) + 1),
        )
        return all(w is None or {len(w.mean), len(w.spread), len(w.weights)} == {n} for w, n in signs)


@dataclass(frozen=True, slots=True)
class Lessons:
    """Data to fit from."""

    taught: Mapping[str, Taught]
    held: Mapping[str, Proposal]
    """Proposals of a trained model; if there are any, only these demonstrations are fitted on."""
    reader: Reader
    heads: Heads
    view: View
    """View of all demonstrations."""
    options: ViewOptions
    n_fit: int
    n_free: int
    graph: frozenset[tuple[str, str]] | None = None
    """Links that are possible; the weights are fitted on the candidates that remain."""
    hides_tools: bool = True
    others: Mapping[Sequence_, int] = field(default_factory=dict)
    """Sequences that a prior counts."""


def _with_strangers(view: View, cases: Sequence[Case]) -> list[Case]:
    found = []
    for case in cases:
        looks, _ = view.looks(case)
        uses = view.uses_without(case.own[1] if case.own else None)
        found.append(case._replace(strangers=view.strangers(looks, case.reading, uses)))
    return found


def fit(lessons: Lessons) -> Joining:
    """Fit a ranker taught at least LEAST_TAUGHT demonstrations; None for weights that cannot be fitted."""
    pool = lessons.held or lessons.taught
    ids = sorted(pool, key=digest)[: lessons.n_fit]
    cases = one_by_one(lessons, ids)
    views = _hidden_views(lessons)
    cases = _with_strangers(lessons.view, cases)
    views = [(view, _with_strangers(view, mine)) for view, mine in views]
    strangers = _fit_strangers([(lessons.view, cases), *views]) if views else None
    outcomes = [_outcome(lessons, lessons.view, case, strangers) for case in cases]
    weigher = _fit_weights(outcomes)
    if weigher is None:
        return Joining(strangers=strangers)
    hidden = [_outcome(lessons, view, case, strangers) for view, mine in views for case in mine]
    weigher = _fit_weights(hidden, weigher) or weigher
    return Joining(weigher, _fit_sureness(weigher, outcomes), strangers)


def fit_outcomes(outcomes: Sequence[Outcome]) -> Joining:
    """Fit weights on demonstrations that were not taught when planned (`learning.versions.drafting`)."""
    weigher = _fit_weights(outcomes)
    return Joining(weigher, _fit_sureness(weigher, outcomes)) if weigher is not None else Joining()


def joining_of(numbers: Sequence[Sequence[Sequence[float]]]) -> Joining | None:
    """Read the weights that a prior has (`Statistics.joining`); None for none."""
    if len(numbers) != 2:
        return None
    weigher, sureness = (Weigher(*(np.array(part, dtype=np.float64) for part in one)) for one in numbers)
    return Joining(weigher, sureness)


def digest(text: str) -> bytes:
    """Hash an id, for an order independent of when demonstrations were taught."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


# ── Demonstrations as if they had not been taught ─────────────────────────────────────────────────────────


def one_by_one(lessons: Lessons, ids: Sequence[str]) -> list[Case]:
    """Return demonstrations, each as if it alone had not been taught."""
    return _cases(lessons, ids, is_together=False)


def _cases(lessons: Lessons, ids: Sequence[str], *, is_together: bool) -> list[Case]:
    """Return demonstrations, each as if it alone, or all of them together, had not been taught."""
    chosen = [lessons.taught[id] for id in ids]
    readings = [one.reading for one in chosen]
    sizes = [len(reading.vectors) for reading in readings]
    if lessons.options.use_heads:
        rows, targets = lessons.reader.features(readings), [row for one in chosen for row in rows_of(one)]
        predicted = lessons.heads.leave_out(rows, targets, [len(rows)] if is_together else sizes)
    else:
        predicted = np.zeros((sum(sizes), 0), np.float32)
    ends = np.cumsum(sizes)
    return [
        Case(
            predicted[end - size : end],
            one.reading,
            lessons.held.get(id),
            None if is_together else (lessons.view.neighbourhood.place[id], one.sequence),
            gold=one.sequence,
        )
        for id, one, size, end in zip(ids, chosen, sizes, ends)
    ]


def _hidden_views(lessons: Lessons) -> list[tuple[View, list[Case]]]:
    """Make views in which some tools have few or no examples, with requests that use them and others."""
    if len(lessons.taught) < _LEAST_HIDDEN or not lessons.options.use_heads or not lessons.hides_tools:
        return []
    found = []
    for n_examples in _EXAMPLES:
        touched, others, tools = _hide(lessons, n_examples)
        gone = [*touched, *others]
        # Only proposals of a model that knew a tool exist: with the tool hidden, there is none to use.
        cases = [case._replace(proposal=None) for case in _cases(lessons, gone, is_together=True)]
        base = lessons.view
        hidden = np.zeros(len(base.neighbourhood.ids), dtype=np.bool_)
        hidden[[base.neighbourhood.place[id] for id in gone]] = True
        out = set(gone)
        counts = counts_of([one.sequence for id, one in lessons.taught.items() if id not in out])
        for sequence, n in lessons.others.items():
            if tools.isdisjoint(sequence):
                counts.add(sequence, n)
        view = View(base.names, base.texts, lessons.heads.outputs, counts, base.neighbourhood, lessons.options, hidden)
        found.append((view, [*cases[:_N_TOUCHED], *cases[len(touched) :]]))
    return found


def _hide(lessons: Lessons, n_examples: int) -> tuple[list[str], list[str], frozenset[str]]:
    """Return ids of demonstrations that use some tools (all but a few of each), ids of others, and the tools."""
    counts, place = lessons.view.counts, lessons.view.place
    ids = sorted(lessons.taught, key=digest)
    tools = sorted((tool for tool in counts.tools if tool in place), key=lambda tool: digest(f"{n_examples} {tool}"))
    chosen: dict[str, int] = {}
    n_touched = 0
    for tool in tools:
        if len(chosen) >= _HIDDEN_SHARE * len(tools):
            break
        if n_touched + counts.tools[tool] <= _MOST_TOUCHED * len(ids):
            chosen[tool] = 0
            n_touched += counts.tools[tool]
    touched, others = [], []
    for id in ids:
        mine = chosen.keys() & set(lessons.taught[id].sequence)
        if not mine:
            others.append(id)
        elif any(chosen[tool] < n_examples for tool in mine):
            for tool in mine:
                chosen[tool] += 1
        else:
            touched.append(id)
    return touched, others[:_N_OTHERS], frozenset(chosen)


# ── Fits ──────────────────────────────────────────────────────────────────────────────────────────────────


class Outcome(NamedTuple):
    """The candidates for a demonstration that was not taught."""

    gold: Sequence_
    found: list[Sequence_]
    signs: NDArray[np.float64]
    evidence: Evidence


def _outcome(lessons: Lessons, view: View, case: Case, strangers: Weigher | None) -> Outcome:
    evidence, _ = view.evidence(case, strangers)
    grounds = Grounds(evidence, view.counts)
    found = possible(candidates(grounds, lessons.n_free), lessons.graph)
    return Outcome(case.gold, found, features(found, grounds), evidence)


def _fit_weights(outcomes: Sequence[Outcome], fixed: Weigher | None = None) -> Weigher | None:
    """Fit the weights under which right candidates win.

    Args:
        fixed: Weights to keep; only those that concern hardly taught tools are fitted.
    """
    fitted = _fitted_on(outcomes)
    if len(fitted) < _LEAST_GROUPS:
        return None
    groups, right = [outcomes[k].signs for k in fitted], list(fitted.values())
    return fit_weigher(groups, right, free=_free(outcomes, is_rare=fixed is not None), fixed=fixed)


def _fitted_on(outcomes: Sequence[Outcome]) -> dict[int, int]:
    """Map each outcome that has a right candidate to that candidate's index."""
    best = {k: best_of(outcome.found, outcome.gold) for k, outcome in enumerate(outcomes)}
    return {k: right for k, right in best.items() if right is not None}


def _free(outcomes: Sequence[Outcome], *, is_rare: bool) -> NDArray[np.bool_]:
    """Return which weights are fitted: those that concern hardly taught tools, or the others."""
    is_trained = outcomes[0].evidence.proposal is not None
    return np.array(
        [(name in RARE_FEATURES) == is_rare and not (is_trained and name in SEEN_FEATURES) for name in FEATURES]
    )


def _fit_strangers(views: Sequence[tuple[View, Sequence[Case]]]) -> Weigher | None:
    signs, right = [], []
    for view, cases in views:
        for case in cases:
            if case.strangers is not None and len(case.strangers[0]):
                rows, mine = case.strangers
                wanted = set(case.gold)
                signs.append(mine)
                right += [view.names[row] in wanted for row in rows]
    return fit_logistic(np.vstack(signs), right, penalty=1e-4) if any(right) and not all(right) else None


def _fit_sureness(weigher: Weigher, outcomes: Sequence[Outcome]) -> Weigher | None:
    """Fit how sure to be of a choice, on choices by weights that were fitted without the request.

    Weights fitted with the request overstate its sureness, the more so the fewer requests there are.
    """
    fitted = _fitted_on(outcomes)
    groups = [outcomes[k].signs for k in fitted]
    without = leave_out_groups(weigher, groups, list(fitted.values()), _free(outcomes, is_rare=False))
    weighers = dict(zip(fitted, without))
    rows, right = [], []
    for k, outcome in enumerate(outcomes):
        if outcome.found:
            p = weighers.get(k, weigher).probabilities(outcome.signs)
            order = np.argsort(-p, kind="stable")[:N_CHOSEN]
            first = outcome.found[int(order[least_risk([outcome.found[int(i)] for i in order], p[order])])]
            rows.append(sureness_signs(first, outcome.found, p, outcome.evidence))
            right.append(set_of(first) == set_of(outcome.gold))
    return fit_logistic(np.array(rows), right) if any(right) and not all(right) else None


def _prior(weights: Mapping[str, float]) -> Weigher:
    return Weigher(np.zeros(len(FEATURES)), np.ones(len(FEATURES)), np.array([weights.get(f, 0.0) for f in FEATURES]))


UNTAUGHT = _prior({"tools_odds": 0.5, "links_log": 0.1, "votes_set": 2.0, "votes_sequence": 2.0, "links_new": -0.1})
"""Weights used until there are enough demonstrations to fit."""
