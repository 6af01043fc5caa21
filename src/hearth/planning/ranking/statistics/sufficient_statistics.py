"""Computes what students can exchange: exact sums over demonstrations, in whole numbers.

`Statistics` are the sums from which heads are solved (A = Σ φφᵀ and B = Σ φyᵀ over the whole-number features of whole
requests and of their acts) and the counts of tool sequences that say what may be proposed. Adding two edges' statistics
equals having learned both's demonstrations at once, to the last bit; subtracting one again leaves no trace of it.

Only demonstrations whose every tool is public are summed; the sums hold nothing of a demonstration but the features
of its request (hand over masked requests), which tools, and in what order. Not covered: sums of few demonstrations can
be taken apart (the Gram matrix of one request is that request), which is why a giver waits until it has many, and why
a service is best shown sums over several edges alone (`edge.federation`).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hearth.errors import StatisticsError
from hearth.models.random_features import UNIT
from hearth.models.ridge import Heads, NormalEquations
from hearth.planning.ranking.calibration.weight_fitting import digest
from hearth.planning.ranking.examples import Taught, rows_of
from hearth.planning.ranking.features import Reader, ReadingOptions, fingerprint_of

Whole: TypeAlias = NDArray[np.int64]
PairLink: TypeAlias = tuple[str, str, bool, bool]
"""Two tools of one plan: whether the second directly follows the first, whether it uses its result."""

MOST_LENGTH = 1.5
"""Greatest squared length of a row of features, in units of UNIT²."""
MOST_STEPS, MOST_ACTS = 12, 4
"""Demonstrations with longer rows, more steps or more acts are left out of sums, so that none counts for more."""
MOST_ROWS = 1 + MOST_ACTS
"""Most rows of a demonstration: of the whole request, and of each act."""
LARGEST = 2**52
"""Sums stay below this: float64 holds them exactly."""


@dataclass(frozen=True)
class Sums:
    """The statistics of one set of heads."""

    outputs: tuple[str, ...]
    """Names of the outputs, sorted."""
    n_rows: int
    gram: Whole
    """A, its upper triangle row by row, shape [D (D + 1) / 2]."""
    moments: Whole
    """B, shape [D, n_outputs]."""
    mass: Whole
    """Number of rows that want each output."""

    @property
    def n_features(self) -> int:
        return len(self.moments)

    def square(self) -> Whole:
        """Return the full matrix A, shape [D, D]."""
        return self._square().astype(np.int64)

    def _square(self) -> NDArray[np.float64]:
        """Return A as floats, which hold these sums exactly; built by rows, as index lists are three times as large."""
        n = self.n_features
        found, start = np.zeros((n, n)), 0
        for row in range(n):
            found[row, row:] = found[row:, row] = self.gram[start : start + n - row]
            start += n - row
        return found

    def heads(self, ridge: float, fingerprint: str) -> Heads:
        """Return heads that learned exactly this."""
        moments, mass = (part.astype(np.float64) for part in (self.moments, self.mass))
        sums = NormalEquations(self.outputs, self._square(), moments)
        return Heads.of_statistics(sums, mass, float(self.n_rows), ridge=ridge, fingerprint=fingerprint)

    def solved(self, ridge: float, fingerprint: str, n_bits: int) -> Heads:
        """Return heads that learned exactly this and learn no more."""
        sums = NormalEquations(self.outputs, self._square(), self.moments.astype(np.float64))
        return Heads.solved_from(sums, ridge=ridge, fingerprint=fingerprint, n_bits=n_bits)

    def plus(self, other: Sums, sign: int = 1) -> Sums:
        """Add another's sums, or subtract them; outputs that no row wants any more are dropped."""
        if self.n_features != other.n_features:
            raise StatisticsError(
                f"sums over {other.n_features} features cannot be added to sums over {self.n_features}"
            )
        outputs = tuple(sorted({*self.outputs, *other.outputs}))
        moments = np.zeros((self.n_features, len(outputs)), dtype=np.int64)
        mass = np.zeros(len(outputs), dtype=np.int64)
        place = {name: k for k, name in enumerate(outputs)}
        for one, times in ((self, 1), (other, sign)):
            columns = [place[name] for name in one.outputs]
            moments[:, columns] += times * one.moments
            mass[columns] += times * one.mass
        gram = self.gram + sign * other.gram
        if max(int(np.abs(gram).max(initial=0)), int(np.abs(moments).max(initial=0))) > LARGEST:
            raise StatisticsError("the sums would exceed what can be added exactly; merge fewer demonstrations")
        used = mass != 0
        kept = tuple(name for name, is_used in zip(outputs, used) if is_used)
        return Sums(kept, self.n_rows + sign * other.n_rows, gram, moments[:, used], mass[used])

    def image(self, blocks: Sequence[tuple[int, int, int, int]]) -> Sums:
        """Apply a linear map to the features.

        Args:
            blocks: For each run of features: its length, the number kept, their factor, and 1 when the others are
                added to those kept, in turns (0: left out).
        """
        square = _mapped(_mapped(self.square(), blocks).T, blocks)
        upper = np.triu_indices(len(square))
        return replace(self, gram=square[upper], moments=_mapped(self.moments, blocks))


def upper_place(n_features: int) -> Whole:
    """Return the indices of the diagonal in an upper triangle stored row by row."""
    rows = np.arange(n_features, dtype=np.int64)
    return rows * n_features - rows * (rows - 1) // 2


def _mapped(rows: Whole, blocks: Sequence[tuple[int, int, int, int]]) -> Whole:
    parts, start = [], 0
    for n, n_kept, times, is_folded in blocks:
        part = rows[start : start + n]
        part = part.reshape(-1, n_kept, part.shape[1]).sum(axis=0) if is_folded else part[:n_kept]
        parts.append(part * times)
        start += n
    return np.ascontiguousarray(np.vstack(parts))


@dataclass(frozen=True)
class Statistics:
    """Sums over demonstrations of one edge or of many."""

    encoder: str
    """Name of the sentence encoder; vectors of another cannot be added."""
    n_inputs: int
    """Dimension of the encoder."""
    reading: ReadingOptions
    n_edges: int
    n_demonstrations: int
    sums: Sums
    sequences: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    links: Mapping[PairLink, int] = field(default_factory=dict)
    is_noisy: bool = False
    """True when noise was added: the sums are near what demonstrations have, and no longer tied to each other."""
    joining: tuple[tuple[tuple[float, ...], ...], ...] = ()
    """Weights of the evidence in a prior, for a student with few demonstrations of its own; fitted on public ones.

    Mean, spread and weights of candidates, and the same of how sure to be (`planning.warm_start`).
    """

    @property
    def fingerprint(self) -> str:
        """Return the fingerprint of the features; only statistics with the same one can be added."""
        return f"{self.encoder}; {fingerprint_of(self.reading, self.n_inputs)}"

    @cached_property
    def digest(self) -> str:
        """Return a hash that is equal for equal statistics alone."""
        said = (self.fingerprint, self.n_edges, self.n_demonstrations, self.is_noisy, self.joining)
        found = hashlib.sha256(repr(said).encode())
        found.update(repr((self.sums.outputs, self.sums.n_rows)).encode())
        for part in (self.sums.gram, self.sums.moments, self.sums.mass):
            found.update(np.ascontiguousarray(part).data)
        found.update(repr((sorted(self.sequences.items()), sorted(self.links.items()))).encode())
        return found.hexdigest()

    @property
    def tools(self) -> tuple[str, ...]:
        """Return every tool that is named."""
        return tuple(sorted({tool for sequence in self.sequences for tool in sequence}))

    def plus(self, other: Statistics, sign: int = 1) -> Statistics:
        """Add another's statistics; with sign −1, remove them as if they had never been added.

        Raises:
            StatisticsError: Of other features; or more would be taken away than there is.
        """
        if self.fingerprint != other.fingerprint:
            raise StatisticsError(
                f"statistics over {other.fingerprint!r} cannot be added to those over {self.fingerprint!r}; "
                "both need the same encoder and profile"
            )
        sequences, links = Counter(self.sequences), Counter(self.links)
        for name, n in other.sequences.items():
            sequences[name] += sign * n
        for link, n in other.links.items():
            links[link] += sign * n
        n_demonstrations = self.n_demonstrations + sign * other.n_demonstrations
        if n_demonstrations < 0 or any(n < 0 for n in (*sequences.values(), *links.values())):
            raise StatisticsError("more would be taken away than was added; nothing was changed")
        return replace(
            self,
            n_edges=max(self.n_edges + sign * other.n_edges, 0),
            n_demonstrations=n_demonstrations,
            sums=self.sums.plus(other.sums, sign),
            sequences={name: n for name, n in sorted(sequences.items()) if n},
            links={link: n for link, n in sorted(links.items()) if n},
            is_noisy=self.is_noisy or other.is_noisy,
            joining=(),
        )

    def minus(self, other: Statistics) -> Statistics:
        """Subtract another's statistics."""
        return self.plus(other, -1)

    def seen_by(self, reading: ReadingOptions) -> Statistics:
        """Return what an edge with fewer features would have summed from the same requests, to the last bit.

        Raises:
            StatisticsError: Its features are no image of these.
        """
        if reading == self.reading:
            return self
        mine = self.reading
        sizes = ((mine.n_cosines, reading.n_cosines), (mine.n_words, reading.n_words))
        if mine.seed != reading.seed or reading.times % mine.times or any(a < b or a % b for a, b in sizes):
            raise StatisticsError(
                f"features {fingerprint_of(reading, self.n_inputs)!r} are no part of {self.fingerprint!r}; "
                "only profiles nested in it can use its statistics"
            )
        n_vector = 1 + self.n_inputs
        blocks = (
            (n_vector, n_vector, 1, 0),
            (mine.n_words, reading.n_words, 1, 1),
            (mine.n_cosines, reading.n_cosines, reading.times // mine.times, 0),
        )
        return replace(self, reading=reading, sums=self.sums.image(blocks))

    def of_tools(self, tools: Collection[str]) -> bool:
        """Return whether only these tools are named."""
        return set(self.tools) <= set(tools)


def merged(several: Iterable[Statistics]) -> Statistics:
    """Return the sum: as if one student had learned the demonstrations of all, in whatever order.

    Raises:
        StatisticsError: None were given, or their features differ.
    """
    total: Statistics | None = None
    for one in several:
        total = one if total is None else total.plus(one)
    if total is None:
        raise StatisticsError("there are no statistics to merge; give at least one")
    return total


def summed(
    reader: Reader, taught: Mapping[str, Taught], public: Collection[str], most: int | None = None
) -> Statistics:
    """Sum demonstrations whose every tool is in `public`; the others leave no trace in the statistics.

    Args:
        most: Greatest number of demonstrations, chosen by lot from their ids: it bounds what one edge counts for.
    """
    allowed = frozenset(public)
    ids = sorted(
        (id for id, one in taught.items() if _is_bounded(one) and allowed.issuperset(one.sequence)), key=digest
    )
    chosen = [taught[id] for id in ids]
    rows = reader.features([one.reading for one in chosen])
    owner = np.repeat(np.arange(len(chosen)), [len(one.reading.vectors) for one in chosen])
    is_long = np.zeros(len(chosen), dtype=np.bool_)
    is_long[owner[_length(rows) > MOST_LENGTH]] = True
    kept = np.flatnonzero(~is_long)[:most]
    chosen, rows = [chosen[k] for k in kept], rows[np.isin(owner, kept)]
    links: Counter[PairLink] = Counter()
    for one in chosen:
        links.update(pair_links(one))
    return Statistics(
        reader.encoder_name,
        reader.dim,
        reader.options,
        1,
        len(chosen),
        _sums(rows, [row for one in chosen for row in rows_of(one)]),
        dict(sorted(Counter(one.sequence for one in chosen).items())),
        dict(sorted(links.items())),
    )


def _is_bounded(one: Taught) -> bool:
    return len(one.sequence) <= MOST_STEPS and len(one.act_tools) <= MOST_ACTS


def _length(rows: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the squared lengths of rows, in units of UNIT²."""
    return np.asarray((rows.astype(np.float64) ** 2).sum(axis=1) / UNIT**2, dtype=np.float64)


def pair_links(one: Taught) -> list[PairLink]:
    """Return the link of every two steps of a plan."""
    pairs = combinations(range(len(one.sequence)), 2)
    return [(one.sequence[a], one.sequence[b], b == a + 1, (a, b) in one.links) for a, b in pairs]


def _sums(features: NDArray[np.floating], wanted: Sequence[Iterable[str]]) -> Sums:
    rows = np.asarray(features, dtype=np.float64)
    names = sorted({name for mine in wanted for name in mine})
    place = {name: k for k, name in enumerate(names)}
    targets = np.zeros((len(rows), len(names)))
    for row, mine in enumerate(wanted):
        targets[row, [place[name] for name in set(mine)]] = 1.0
    upper = np.triu_indices(rows.shape[1])
    gram = (rows.T @ rows)[upper].astype(np.int64)  # sums of whole numbers below 2⁵³ are exact
    moments = (rows.T @ targets).astype(np.int64)
    return Sums(tuple(names), len(rows), gram, moments, targets.sum(axis=0).astype(np.int64))
