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
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hearth.errors import StatisticsError
from hearth.models.ridge import UNIT
from hearth.planning.ranking.features import ReadingOptions, Sequence_
from hearth.planning.ranking.sufficient_statistics import (
    MOST_LENGTH,
    MOST_ROWS,
    MOST_STEPS,
    Layout,
    Statistics,
    Sums,
    Whole,
    faults_of,
    masses_of,
    merged,
    upper_place,
)
from hearth_cloud.statistics import private_sums
from hearth_cloud.statistics.public_acts import Evidence

Floats = NDArray[np.float64]

JUDGES = ReadingOptions(n_cosines=64, n_words=128)
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
    tools: frozenset[str] | None = None
    """Names of tools that may be in it; None: any. A name that nobody offers would reach every device by the prior."""


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
    contributions: Mapping[str, Statistics],
    terms: Terms | None = None,
    anchor: Statistics | None = None,
) -> Merged:
    """Sum exactly the contributions that are possible and agree with the rest; set the others aside.

    Args:
        contributions: By edge, or by group of edges where only their sums are known.
        anchor: Statistics of demonstrations that are trusted; they judge, and are not in the sum.
    """
    terms = terms or Terms()
    reasons: dict[str, str] = {}
    looked_at: dict[str, Seen] = {}
    for edge in sorted(contributions):  # one by one: many large ones do not fit in memory together
        one = contributions[edge]
        reasons[edge] = refusal(one, terms)
        if not reasons[edge]:
            looked_at[edge] = Seen.of(one)
    explained: dict[str, float] = {}
    trusted = Seen.of(anchor) if anchor is not None else None
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


def judged_alone(name: str, contribution: Statistics, terms: Terms, anchor: Seen | None) -> Judged:
    """Judge a contribution that was possible when it was taken (`refusal`) by the anchor alone: whether one is taken
    then does not depend on another, without which noise would hide none, and nobody has to see all of them."""
    reason = unfit(contribution, terms)
    if reason or anchor is None:
        return Judged(name, None, reason)
    score = explained_by_others({name: Seen.of(contribution)}, anchor)[name]
    if score < terms.least_explained:
        reason = f"what is public explains {score:.2f} of what its demonstrations want: contradicted"
    return Judged(name, score, reason)


def refusal(contribution: Statistics, terms: Terms) -> str:
    """Return why a contribution cannot be accepted, judged without the others; empty if it can."""
    return unfit(contribution, terms) or next(faults_of(contribution), "") or impossible(contribution)


def unfit(contribution: Statistics, terms: Terms) -> str:
    """Return why a contribution does not meet the terms, by its counts and names alone; empty if it does."""
    n = contribution.n_demonstrations
    most, least = terms.most * contribution.n_edges, terms.least * contribution.n_edges
    if contribution.is_noisy:
        return "it has noise in it, which cannot be judged"
    if n > most:
        return f"it counts for {n} demonstrations; at most {most} are taken, chosen by the edge"
    unknown = sorted(set(contribution.tools) - terms.tools) if terms.tools is not None else []
    if unknown:
        names = f"{len(unknown)} tools that are not public, {unknown[0][:60]!r} among them"
        return f"it names {names}; sums are of public tools alone"
    if n < least:
        return f"it holds {n} demonstrations; sums of fewer than {least} say too much about each"
    return ""


def impossible(contribution: Statistics) -> str:
    """Return why no demonstrations can have these matrices; empty if some may. A, bordered by any column of B and the
    count of that target, must have no negative direction. Checked in the leading features."""
    seen = _leading(contribution)
    n_rows = max(seen.n_rows, 1)
    values, directions = np.linalg.eigh(seen.square() / (UNIT**2 * n_rows))
    if values[0] < -_TOLERANCE:
        return "products of the features are those of no rows: they have a negative direction"
    turned = directions.T @ (seen.moments / (UNIT * n_rows))
    needed = (turned**2 / np.maximum(values, _TOLERANCE)[:, None]).sum(axis=0)
    if (needed > seen.mass / n_rows * (1 + 1e-6) + 1e-3).any():
        return "moments are those of no targets: no rows with these features can want this"
    return ""


def evidence_of(statistics: Statistics) -> Evidence:
    """Return what heads for single tools are solved from, in the judges' features."""
    seen = Seen.of(statistics)
    return Evidence(tuple(output.removeprefix("t ") for output in seen.tools), seen.gram, seen.moments)


def shared(statistics: Statistics, share: float) -> Statistics:
    """Return noisy sums scaled down to a share of themselves; everything that is in them stays in."""
    s = statistics
    sequences = {name: max(1, round(n * share)) for name, n in s.sequences.items()}
    derived = masses_of(sequences)
    less = np.maximum(np.rint(s.sums.mass * share), 1).astype(np.int64)
    mass = np.array([derived.get(output, k) for output, k in zip(s.sums.outputs, less.tolist())], dtype=np.int64)
    gram, moments = (np.rint(part * share).astype(np.int64) for part in (s.sums.gram, s.sums.moments))
    n = sum(sequences.values())
    n_rows = max(n, int(mass.max(initial=0)))
    return replace(
        s,
        n_demonstrations=n,
        sums=replace(s.sums, n_rows=n_rows, gram=gram, moments=moments, mass=mass),
        sequences=sequences,
        links={link: max(1, round(n_links * share)) for link, n_links in s.links.items()},
    )


def _leading(statistics: Statistics) -> Sums:
    return statistics.seen_by(judges_of(statistics)).sums


def judges_of(statistics: Statistics) -> ReadingOptions:
    """Return the judges' features where they are part of these, else these."""
    mine = statistics.reading
    judges = replace(JUDGES, seed=mine.seed)
    return judges if mine.n_cosines > judges.n_cosines and mine.n_words > judges.n_words else mine


@dataclass(frozen=True, slots=True)
class Seen:
    """The view that judges have: sums of rows and which tools they want, in units of features of length 1."""

    tools: tuple[str, ...]
    gram: Floats
    moments: Floats
    mass: Floats

    @classmethod
    def of(cls, statistics: Statistics) -> Seen:
        sums = _leading(statistics)
        columns = [k for k, output in enumerate(sums.outputs) if output.startswith("t ")]
        return cls(
            tuple(sums.outputs[k] for k in columns),
            sums.square() / UNIT**2,
            sums.moments[:, columns] / UNIT,
            sums.mass[columns].astype(np.float64),
        )

    def over(self, tools: Sequence[str]) -> Seen:
        """Return the same sums with columns for all of `tools`."""
        place = {tool: k for k, tool in enumerate(tools)}
        columns = [place[tool] for tool in self.tools]
        moments, mass = np.zeros((len(self.gram), len(tools))), np.zeros(len(tools))
        moments[:, columns], mass[columns] = self.moments, self.mass
        return Seen(tuple(tools), self.gram, moments, mass)

    def explained(self, weights: Floats) -> float:
        """Return the share of the targets that `weights` explain: 1 − Σ(y − wᵀφ)² / Σy², from the sums alone."""
        missed = self.mass.sum() - 2 * (weights * self.moments).sum() + (weights * (self.gram @ weights)).sum()
        return float(1 - missed / max(self.mass.sum(), 1e-9))


def explained_by_others(contributions: Mapping[str, Seen], anchor: Seen | None = None) -> dict[str, float]:
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

_SHARES = {"gram": 0.5, "moments": 0.4, "counts": 0.1}
"""Shares of ρ by part; they add up to 1 (zCDP composes by addition: Bun & Steinke 2016, lemma 1.7)."""


def sensitivities(most: int) -> dict[str, float]:
    """Return how far one edge with `most` demonstrations can move each part, in L2.

    A row of a demonstration moves A by φφᵀ (its norm is |φ|²), B by φyᵀ (|φ| |y|, |y|² being the number of its outputs:
    tools twice, links and a size of the whole, tools twice of an act), counts by one sequence, its tools' pairs and its
    rows' tools; rows and edges add up by the triangle inequality.
    """
    length = math.sqrt(MOST_LENGTH) * UNIT
    of_whole, of_acts = math.sqrt(3 * MOST_STEPS + 2), (MOST_ROWS - 1) * math.sqrt(2 * MOST_STEPS)
    pairs = MOST_STEPS * (MOST_STEPS - 1) / 2
    return {
        "gram": most * MOST_ROWS * length**2,
        "moments": most * length * (of_whole + of_acts),
        "counts": most * math.sqrt(1 + pairs**2 + (2 * MOST_ROWS * MOST_STEPS) ** 2),
    }


def noisy(
    statistics: Statistics, rho: float, most: int, sequences: Collection[Sequence_], seed: bytes | None = None
) -> Statistics:
    """Return the sum as it may be published (`private_sums`): noise on every number, names from a public list only.

    The set of names would itself reveal something, so names come only from `sequences`. The steps that then make the
    sums usable (A without negative directions, counts that agree) see only the noisy numbers.

    Args:
        rho: Zero-concentrated privacy loss of everything that one edge contributed.
        most: Demonstrations that each edge may have counted for.
        seed: 32 bytes, for tests; None draws from the system.
    """
    if not rho > 0:
        raise StatisticsError(f"noise needs rho above 0, not {rho!r}; without noise publish the plain sum")
    s = statistics
    layout = Layout(s.encoder, s.n_inputs, s.reading, tuple(sorted(sequences)))
    row = layout.over(s)
    counts = (
        layout.counted_mass(row),
        *(np.array(list(n.values()), dtype=np.int64) for n in (row.sequences, row.links)),
    )
    tables = {
        "gram": row.sums.gram,
        "moments": row.sums.moments,
        "counts": np.concatenate(counts),
    }
    spread = private_sums.spreads(sensitivities(most), _SHARES, rho)
    found = private_sums.released(tables, spread, seed)
    parts = np.split(found.pop("counts"), np.cumsum([len(part) for part in counts])[:-1])
    return _usable(layout, [*found.values(), *parts], spread["gram"], s.n_edges)


def _usable(layout: Layout, found: Sequence[Whole], spread: float, n_edges: int) -> Statistics:
    """Turn noisy numbers into sums that heads can be solved from; uses nothing else."""
    gram, moments, wanted, counts, links = found
    sequences = {one: int(n) for one, n in zip(layout.sequences, counts) if n >= 1}
    tools = {tool for one in sequences for tool in one}
    said = {output: int(k) for output, k in zip(layout.counted, wanted) if k >= 1 and output[2:] in tools}
    mass = masses_of(sequences) | said
    kept = [k for k, output in enumerate(layout.outputs) if output in mass]
    n = sum(sequences.values())
    outputs = tuple(layout.outputs[k] for k in kept)
    n_wanted = np.array([mass[output] for output in outputs], dtype=np.int64)
    n_rows = max(n, int(n_wanted.max(initial=0)))
    sums = Sums(outputs, n_rows, _raised(gram, len(moments), spread), moments[:, kept], n_wanted)
    pairs = {link: int(k) for link, k in zip(layout.links, links) if k >= 1 and tools.issuperset(link[:2])}
    return Statistics(
        layout.encoder, layout.n_inputs, layout.reading, n_edges, n, sums, sequences, pairs, is_noisy=True
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
