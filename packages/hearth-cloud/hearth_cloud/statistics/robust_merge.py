"""Merge many edges' statistics into one prior: the exact sum of the accepted ones, with noise where that is wanted.

One edge's influence is bounded first: it contributes at most `Terms.most` demonstrations, and sums that no such number
of demonstrations can have are refused (`statistics_codec.faults_of` for single numbers, `impossible` for matrices).
Then each contribution is judged by what the others know: weights solved from the others' sums show how much of this
edge's targets they explain. Honest edges, however different their owners, are explained in part. An edge whose targets
were swapped, flipped or randomised is explained less well than by predicting nothing, and is set aside.

Covered: scaled, flipped, swapped, random and one-tool poisoning by fewer than half of the edges, or by more where
there is an anchor (public demonstrations of the service's own). Not covered: a few wrong demonstrations among right
ones, wrong ones about tools nobody else uses, and poison inside a secure sum of several edges: there the sum is judged
and set aside as a whole (`docs/decisions/0011-secret-sums-in-groups.md`).
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hearth.edge.federation.secure_aggregation import stream
from hearth.errors import StatisticsError
from hearth.models.random_features import UNIT
from hearth.planning.ranking.candidates import Sequence_
from hearth.planning.ranking.features import WHOLE, ReadingOptions
from hearth.planning.ranking.statistics.statistics_codec import faults_of
from hearth.planning.ranking.statistics.sufficient_statistics import (
    MOST_CLAUSES,
    MOST_LENGTH,
    MOST_STEPS,
    Statistics,
    Sums,
    Whole,
    merged,
    upper_place,
)
from hearth.planning.ranking.statistics.vector_layout import Layout, masses_of

Floats = NDArray[np.float64]

JUDGES = ReadingOptions(n_random=256, n_words=256, n_clause=128, is_nested=True)
"""Features in which contributions are judged: the leading part of every profile's features, so that judging many stays
cheap."""
_RIDGE = 0.3
_LEAST_JUDGED = 3
"""Least number of contributions that can be judged without an anchor."""
_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Terms:
    """Requirements on a contribution."""

    most: int = 400
    """Largest number of demonstrations that one edge may count for."""
    least: int = 30
    """Least number of demonstrations; sums over fewer reveal too much about each."""
    least_explained: float = 0.0
    """Least share of its targets that the others' weights must explain; below 0 they mislead on it."""
    least_of_usual: float = 0.25
    """The same limit relative to the median over all contributions."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One contribution."""

    edge: str
    explained: float | None
    """Share of its targets explained by weights of the others; None if it was not examined that far."""
    reason: str = ""
    """Reason why it is not in the prior; empty if it is."""


@dataclass(frozen=True, slots=True)
class Merged:
    """A prior and how it came about."""

    statistics: Statistics | None
    """The merged statistics; None where nothing was left."""
    judged: tuple[Judged, ...]

    @property
    def kept(self) -> tuple[str, ...]:
        return tuple(one.edge for one in self.judged if not one.reason)

    @property
    def quarantined(self) -> tuple[str, ...]:
        return tuple(one.edge for one in self.judged if one.reason)


def robust(
    contributions: Mapping[str, Statistics], terms: Terms | None = None, anchor: Statistics | None = None
) -> Merged:
    """Sum exactly the contributions that are possible and agree with the rest; set the others aside.

    Args:
        contributions: By edge, or by group of edges where only their sums are known.
        anchor: Statistics of demonstrations that are trusted; they judge, and are not in the sum.
    """
    terms = terms or Terms()
    reasons: dict[str, str] = {}
    looked_at: dict[str, _Seen] = {}
    for edge in sorted(contributions):  # one by one: many large ones do not fit in memory together
        one = contributions[edge]
        reasons[edge] = refusal(one, terms)
        if not reasons[edge]:
            looked_at[edge] = _Seen.of(one)
    explained: dict[str, float] = {}
    trusted = _Seen.of(anchor) if anchor is not None else None
    while len(looked_at) >= (1 if trusted else _LEAST_JUDGED):
        scores = explained_by_others(looked_at, trusted)
        explained |= scores
        worst = min(scores, key=lambda edge: (scores[edge], edge))
        least = max(terms.least_explained, terms.least_of_usual * float(np.median(list(scores.values()))))
        if scores[worst] >= least:
            break
        reasons[worst] = (
            f"what the others know explains {scores[worst]:.2f} of what its demonstrations want, "
            f"at least {least:.2f} is expected: it contradicts them"
        )
        del looked_at[worst]
    total = merged(contributions[edge] for edge in sorted(looked_at)) if looked_at else None
    judged = tuple(Judged(edge, explained.get(edge), reason) for edge, reason in sorted(reasons.items()))
    return Merged(total, judged)


def refusal(contribution: Statistics, terms: Terms) -> str:
    """Return why a contribution cannot be accepted, judged without the others; empty if it can."""
    n = contribution.n_demonstrations
    most, least = terms.most * contribution.n_edges, terms.least * contribution.n_edges
    if contribution.is_noisy:
        return "it has noise in it, which cannot be judged"
    if n > most:
        return f"it counts for {n} demonstrations; at most {most} are taken, chosen by the edge"
    if n < least:
        return f"it holds {n} demonstrations; sums of fewer than {least} say too much about each"
    return next(faults_of(contribution), "") or impossible(contribution)


def impossible(contribution: Statistics) -> str:
    """Return why no demonstrations can have these matrices; empty if some may. A, bordered by any column of B and the
    count of that target, must have no negative direction. Checked in the leading features."""
    for name, sums in (("texts", contribution.text), ("clauses", contribution.clause)):
        seen = _leading(contribution, name)
        scale = UNIT**2 * max(sums.n_rows, 1)
        gram = seen.square() / scale
        values, directions = np.linalg.eigh(gram)
        if values[0] < -_TOLERANCE:
            return f"products of the {name}' features are those of no rows: they have a negative direction"
        turned = directions.T @ (seen.moments / (UNIT * max(sums.n_rows, 1)))
        needed = (turned**2 / np.maximum(values, _TOLERANCE)[:, None]).sum(axis=0)
        if (needed > seen.mass / max(sums.n_rows, 1) * (1 + 1e-6) + 1e-3).any():
            return f"moments of the {name} are those of no targets: no rows with these features can want this"
    return ""


def _leading(statistics: Statistics, name: str) -> Sums:
    small = statistics.seen_by(_judges_of(statistics))
    return small.text if name == "texts" else small.clause


def _judges_of(statistics: Statistics) -> ReadingOptions:
    """Return the judges' features where they are part of these, else these."""
    mine = statistics.reading
    judges = replace(JUDGES, seed=mine.seed)
    is_part = mine.is_nested or mine == replace(WHOLE, seed=mine.seed)
    return judges if is_part and mine.n_random > judges.n_random else mine


@dataclass(frozen=True, slots=True)
class _Seen:
    """The view that judges have: sums of the texts and which tools they want, in units of features of length 1."""

    tools: tuple[str, ...]
    gram: Floats
    moments: Floats
    mass: Floats

    @classmethod
    def of(cls, statistics: Statistics) -> _Seen:
        sums = _leading(statistics, "texts")
        columns = [k for k, output in enumerate(sums.outputs) if output.startswith("t ")]
        return cls(
            tuple(sums.outputs[k] for k in columns),
            sums.square() / UNIT**2,
            sums.moments[:, columns] / UNIT,
            sums.mass[columns].astype(np.float64),
        )

    def over(self, tools: Sequence[str]) -> _Seen:
        """Return the same sums with columns for all of `tools`."""
        place = {tool: k for k, tool in enumerate(tools)}
        columns = [place[tool] for tool in self.tools]
        moments, mass = np.zeros((len(self.gram), len(tools))), np.zeros(len(tools))
        moments[:, columns], mass[columns] = self.moments, self.mass
        return _Seen(tuple(tools), self.gram, moments, mass)

    def explained(self, weights: Floats) -> float:
        """Return the share of the targets that `weights` explain: 1 − Σ(y − wᵀφ)² / Σy², from the sums alone."""
        missed = self.mass.sum() - 2 * (weights * self.moments).sum() + (weights * (self.gram @ weights)).sum()
        return float(1 - missed / max(self.mass.sum(), 1e-9))


def explained_by_others(contributions: Mapping[str, _Seen], anchor: _Seen | None = None) -> dict[str, float]:
    """Return how much of each contribution's targets is explained by weights solved from all others (and the
    anchor)."""
    everyone = [*contributions.values(), *([anchor] if anchor is not None else [])]
    tools = sorted({tool for one in everyone for tool in one.tools})
    wide = {edge: one.over(tools) for edge, one in contributions.items()}
    total = [one.over(tools) for one in everyone]
    gram = np.sum([one.gram for one in total], axis=0)
    moments = np.sum([one.moments for one in total], axis=0)
    found = {}
    for edge, mine in wide.items():
        others = gram - mine.gram
        others[np.diag_indices_from(others)] += _RIDGE
        found[edge] = mine.explained(np.linalg.solve(others, moments - mine.moments))
    return found


# ── Noise ─────────────────────────────────────────────────────────────────────────────────────────────────


def epsilon_of(rho: float, delta: float) -> float:
    """Return the ε for which ρ-zCDP is (ε, δ)-differentially private.

    Source:
        Canonne, Kamath, Steinke 2020, The discrete Gaussian for differential privacy, corollary 13,
        https://arxiv.org/abs/2004.00010; never above Bun & Steinke 2016, proposition 1.3,
        https://arxiv.org/abs/1605.02065 (ρ + 2√(ρ ln 1/δ)).
    """
    if not (rho >= 0 and 0 < delta < 1):
        raise ValueError(f"rho {rho!r} must be at least 0 and delta {delta!r} between 0 and 1")
    if rho == 0:
        return 0.0
    low, high = 0.0, rho + 2 * math.sqrt(rho * math.log(1 / delta))
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if _log_delta(rho, middle) <= math.log(delta) else (middle, high)
    return high


def _log_delta(rho: float, epsilon: float) -> float:
    """Return log δ of ρ-zCDP at ε: the least over orders a > 1 of (a − 1)(aρ − ε) − log(a − 1) + a log(1 − 1/a)."""

    def at(a: float) -> float:
        return (a - 1) * (a * rho - epsilon) - math.log(a - 1) + a * math.log1p(-1 / a)

    low, high = 1 + 1e-9, max((epsilon + 1) / (2 * rho) + 2, 2.0)
    for _ in range(200):  # convex in a: golden section
        left, right = low + 0.382 * (high - low), low + 0.618 * (high - low)
        low, high = (low, right) if at(left) <= at(right) else (left, high)
    return min(at((low + high) / 2), 0.0)


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise that is added to a sum before anybody sees it."""

    rho: float
    """Zero-concentrated privacy loss of everything one edge contributed, for each prior that is published."""
    delta: float = 1e-6

    @property
    def epsilon(self) -> float:
        return epsilon_of(self.rho, self.delta)


_SHARES = {"text gram": 0.35, "text moments": 0.25, "clause gram": 0.15, "clause moments": 0.15, "counts": 0.1}
"""Shares of ρ by part; they add up to 1 (zCDP composes by addition: Bun & Steinke 2016, lemma 1.7)."""


def sensitivities(most: int) -> dict[str, float]:
    """Return how far one edge with `most` demonstrations can move each part, in L2.

    A demonstration moves A by φφᵀ (its norm is |φ|²), B by φyᵀ (|φ| |y|, |y|² being the number of its outputs), counts
    by one sequence, its tools' pairs and its clauses' tools; edges add up by the triangle inequality.
    """
    length = math.sqrt(MOST_LENGTH) * UNIT
    n_outputs = 2 * MOST_STEPS + 2
    return {
        "text gram": most * length**2,
        "text moments": most * length * math.sqrt(n_outputs),
        "clause gram": most * MOST_CLAUSES * length**2,
        "clause moments": most * MOST_CLAUSES * length * math.sqrt(MOST_STEPS),
        "counts": most * math.sqrt(1 + (MOST_STEPS * (MOST_STEPS - 1) / 2) ** 2 + (MOST_CLAUSES * MOST_STEPS) ** 2),
    }


def noisy(
    statistics: Statistics, noise: Noise, most: int, sequences: Collection[Sequence_], seed: bytes | None = None
) -> Statistics:
    """Return the sum as it may be published: rounded Gaussian noise on every number, names only from a public list.

    Rounding comes after the noise and costs no privacy; whole numbers stay whole. The set of names would itself reveal
    something, so names come only from `sequences` (public ones). The steps that then make the sums usable (A without
    negative directions, counts that agree) see only the noisy numbers.

    Args:
        most: Demonstrations that each edge may have counted for.
        seed: 32 bytes, for tests; None draws from the system.
    Source:
        Gaussian mechanism under zCDP: Bun & Steinke 2016, lemma 2.5.
    Not covered: floating-point Gaussians are not ideal (Mironov 2012); rounded to whole numbers at a spread of
    thousands and more, their low bits are gone, and their tails end at 8.5 spreads.
    """
    if not noise.rho > 0:
        raise StatisticsError(f"noise needs rho above 0, not {noise.rho!r}; without noise publish the plain sum")
    s = statistics
    layout = Layout(s.encoder, s.n_inputs, s.reading, tuple(sorted(sequences)))
    moved = sensitivities(most)
    spread = {part: moved[part] / math.sqrt(2 * noise.rho * share) for part, share in _SHARES.items()}
    row = layout.over(s)
    n_values = layout.n_values
    drawn = np.split(gaussian(n_values, seed), np.cumsum(layout.sizes)[:-1])
    parts = (
        *("text gram", "text moments", "clause gram", "clause moments"),
        *("counts", "counts", "counts"),
    )
    exact = (
        *(row.text.gram, row.text.moments, row.clause.gram, row.clause.moments, row.clause.mass),
        *(np.array(list(values), dtype=np.int64) for values in (row.sequences.values(), row.links.values())),
    )
    found = [
        values + np.rint(draw * spread[part]).astype(np.int64).reshape(values.shape)
        for values, draw, part in zip(exact, drawn[1:], parts)
    ]
    return _usable(layout, found, (spread["text gram"], spread["clause gram"]), s.n_edges)


def _usable(layout: Layout, found: Sequence[Whole], spreads: tuple[float, float], n_edges: int) -> Statistics:
    """Turn noisy numbers into sums that heads can be solved from; uses nothing else."""
    gram, moments, clause_gram, clause_moments, wanted, counts, links = found
    sequences = {one: int(n) for one, n in zip(layout.sequences, counts) if n >= 1}
    mass = masses_of(sequences)
    tools = {tool for one in sequences for tool in one}
    kept = [k for k, output in enumerate(layout.outputs) if output in mass]
    kept_tools = [k for k, tool in enumerate(layout.tools) if tool in tools and wanted[k] >= 1]
    n = sum(sequences.values())
    outputs = tuple(layout.outputs[k] for k in kept)
    text_mass = np.array([mass[output] for output in outputs], dtype=np.int64)
    text = Sums(outputs, n, _raised(gram, len(moments), spreads[0]), moments[:, kept], text_mass)
    clause = Sums(
        tuple(layout.tools[k] for k in kept_tools),
        max(n, int(wanted.max(initial=0))),
        _raised(clause_gram, len(clause_moments), spreads[1]),
        clause_moments[:, kept_tools],
        wanted[kept_tools],
    )
    pairs = {link: int(k) for link, k in zip(layout.links, links) if k >= 1 and tools.issuperset(link[:2])}
    return Statistics(
        layout.encoder, layout.n_inputs, layout.reading, n_edges, n, text, clause, sequences, pairs, is_noisy=True
    )


def _raised(gram: Whole, n_features: int, spread: float) -> Whole:
    """Return A without negative directions and raised above the noise: the ridge that the noise calls for becomes part
    of it."""
    none = np.zeros((n_features, 0), dtype=np.int64)
    values, directions = np.linalg.eigh(Sums((), 0, gram, none, none[0]).square().astype(np.float64))
    square = (directions * np.maximum(values, 0)) @ directions.T
    raised = np.rint(square[np.triu_indices(n_features)]).astype(np.int64)
    raised[upper_place(n_features)] += round(spread * math.sqrt(n_features)) + n_features
    return np.asarray(raised, dtype=np.int64)


def gaussian(n: int, seed: bytes | None = None) -> Floats:
    """Return `n` standard normal numbers from a cipher's stream (Box & Muller 1958)."""
    whole = stream(seed if seed is not None else secrets.token_bytes(32), 2 * ((n + 1) // 2))
    uniform = ((whole >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53
    length, angle = np.sqrt(-2 * np.log(uniform[::2])), 2 * np.pi * uniform[1::2]
    return np.concatenate([length * np.cos(angle), length * np.sin(angle)])[:n]
