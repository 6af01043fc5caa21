"""Lays out statistics as one row of numbers, in an order that many edges agree on beforehand.

For sums of which only the total is seen, each number needs the same place on every edge. So the names come from a
public list of tool sequences, and demonstrations with other sequences are left out. All that follows from the
sequences (outputs, tools, pairs) is derived here and never sent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from hearth.errors import StatisticsError
from hearth.planning.ranking.candidates import Sequence_
from hearth.planning.ranking.examples import targets_of
from hearth.planning.ranking.features import ReadingOptions, fingerprint_of
from hearth.planning.ranking.statistics.sufficient_statistics import MOST_STEPS, PairLink, Statistics, Sums, Whole

Row = NDArray[np.uint64]
"""Whole numbers modulo 2⁶⁴."""


@dataclass(frozen=True)
class Layout:
    """Places of all numbers, in the order in which they are listed here."""

    encoder: str
    n_inputs: int
    reading: ReadingOptions
    sequences: tuple[Sequence_, ...]
    """Tool sequences, sorted."""

    @property
    def fingerprint(self) -> str:
        return f"{self.encoder}; {fingerprint_of(self.reading, self.n_inputs)}"

    @cached_property
    def tools(self) -> tuple[str, ...]:
        return tuple(sorted({tool for sequence in self.sequences for tool in sequence}))

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """Return the names of all outputs; how often those in `derived` are wanted follows from the sequences."""
        return tuple(sorted({*self.derived, *(f"{kind} {tool}" for kind in "at" for tool in self.tools)}))

    @cached_property
    def derived(self) -> tuple[str, ...]:
        return tuple(sorted(masses_of(dict.fromkeys(self.sequences, 1))))

    @cached_property
    def counted(self) -> tuple[str, ...]:
        return tuple(output for output in self.outputs if output not in set(self.derived))

    @cached_property
    def links(self) -> tuple[PairLink, ...]:
        pairs = {
            (first, sequence[b], b == a + 1)
            for sequence in self.sequences
            for a, first in enumerate(sequence)
            for b in range(a + 1, len(sequence))
        }
        return tuple((a, b, is_next, is_used) for a, b, is_next in sorted(pairs) for is_used in (False, True))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of: numbers of demonstrations and rows, A, B, masses that sequences do not say, sequences, links."""
        d = self.reading.n_features(self.n_inputs)
        counts = (len(self.counted), len(self.sequences), len(self.links))
        return 2, d * (d + 1) // 2, d * len(self.outputs), *counts

    @property
    def n_values(self) -> int:
        return sum(self.sizes)

    def over(self, statistics: Statistics) -> Statistics:
        """Return the statistics with a place for every name listed, and none for others."""
        if statistics.fingerprint != self.fingerprint:
            raise StatisticsError(f"statistics over {statistics.fingerprint!r} do not fit {self.fingerprint!r}")
        s = statistics
        return Statistics(
            s.encoder,
            s.n_inputs,
            s.reading,
            s.n_edges,
            s.n_demonstrations,
            _wide(s.sums, self.outputs),
            {sequence: s.sequences.get(sequence, 0) for sequence in self.sequences},
            {link: s.links.get(link, 0) for link in self.links},
            s.is_noisy,
        )

    def counted_mass(self, wide: Statistics) -> Whole:
        """Return how often each output in `counted` is wanted, of statistics over this layout."""
        is_counted = np.isin(np.array(self.outputs), np.array(self.counted))
        return np.asarray(wide.sums.mass[is_counted], dtype=np.int64)

    def row(self, statistics: Statistics) -> Row:
        """Return the row. Raises: StatisticsError: Of other features, or with demonstrations that have no place."""
        if not statistics.sequences.keys() <= set(self.sequences):
            raise StatisticsError("some demonstrations have sequences that are not listed; sum without them")
        wide = self.over(statistics)
        parts = (
            np.array([wide.n_demonstrations, wide.sums.n_rows]),
            wide.sums.gram,
            wide.sums.moments.reshape(-1),
            self.counted_mass(wide),
            np.array(list(wide.sequences.values())),
            np.array(list(wide.links.values())),
        )
        return np.concatenate([np.asarray(part, dtype=np.int64) for part in parts]).view(np.uint64)

    def statistics(self, row: Row, n_edges: int) -> Statistics:
        """Return the statistics in `row`; not checked.

        Raises:
            StatisticsError: It has another length.
        """
        if row.shape != (self.n_values,):
            raise StatisticsError(f"a row of {self.n_values} numbers was expected, got {row.shape}")
        parts = np.split(row.view(np.int64), np.cumsum(self.sizes)[:-1])
        (n, n_rows), gram, moments, counted, counts, links = parts
        sequences = {one: int(k) for one, k in zip(self.sequences, counts) if k}
        mass = masses_of(sequences) | {output: int(k) for output, k in zip(self.counted, counted) if k}
        used = np.array([output in mass for output in self.outputs], dtype=np.bool_)
        outputs = tuple(output for output in self.outputs if output in mass)
        wanted = np.array([mass[output] for output in outputs], dtype=np.int64)
        return Statistics(
            self.encoder,
            self.n_inputs,
            self.reading,
            n_edges,
            int(n),
            Sums(outputs, int(n_rows), gram, moments.reshape(-1, len(self.outputs))[:, used], wanted),
            sequences,
            {link: int(k) for link, k in zip(self.links, links) if k},
        )


def masses_of(sequences: Mapping[Sequence_, int]) -> dict[str, int]:
    """Return how often each link and each size is wanted, given how often each sequence was taught.

    Tools are wanted by acts, too, of which sequences say nothing.
    """
    found: dict[str, int] = {}
    for sequence, n in sequences.items():
        for output in targets_of(sequence):
            if not output.startswith("t "):
                found[output] = found.get(output, 0) + n
    return found


def _wide(sums: Sums, outputs: tuple[str, ...]) -> Sums:
    place = {output: k for k, output in enumerate(sums.outputs)}
    known = [k for k, output in enumerate(outputs) if output in place]
    columns = [place[outputs[k]] for k in known]
    moments: Whole = np.zeros((sums.n_features, len(outputs)), dtype=np.int64)
    mass: Whole = np.zeros(len(outputs), dtype=np.int64)
    moments[:, known], mass[known] = sums.moments[:, columns], sums.mass[columns]
    return Sums(outputs, sums.n_rows, sums.gram, moments, mass)


@cache
def public_sequences() -> tuple[Sequence_, ...]:
    """Return the tool sequences of the demonstrations shipped with every Hearth, which are public."""
    with (files("hearth.data") / "demonstrations.jsonl").open(encoding="utf-8") as lines:
        plans = (json.loads(line).get("task_nodes", ()) for line in lines if line.strip())
        found = {tuple(str(node["task"]) for node in nodes) for nodes in plans}
    return tuple(sorted(one for one in found if 0 < len(one) <= MOST_STEPS))


@cache
def public_tools() -> frozenset[str]:
    """Return the tools of the public sequences: an owner's own tools, whatever their names, are never among them."""
    return frozenset(tool for sequence in public_sequences() for tool in sequence)
