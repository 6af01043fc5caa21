"""Finds the demonstrations most similar to a request, and similar acts with the tools they asked for.

Rows are in the order of their ids, so nothing depends on the order of teaching.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from hearth.planning.ranking.examples import Taught
from hearth.planning.ranking.features import FloatRows, Reading, likeness_of_texts, unit

_N_USUAL = 256
_N_ACTS = 12
_ACT_SHARPNESS = 15.0
_N_ACTS_LOOKED_AT = 150
_ROUGH_WIDTH = 128
"""Number of components, the first of each vector, by which acts are preselected for a full comparison."""


class Neighbourhood:
    """Demonstrations as arrays; kept up to date by `add` and `drop` at the cost of copying them."""

    def __init__(self, taught: Mapping[str, Taught]) -> None:
        self._build(taught)

    def _build(self, taught: Mapping[str, Taught]) -> None:
        self.ids = sorted(taught)
        mine = [taught[id] for id in self.ids]
        self.sequences = [one.sequence for one in mine]
        self._sentences, self._by_word = _texts(mine)
        self._acts, self._asked, self._n_acts = _acts(mine)
        self._index()

    def add(self, fresh: Mapping[str, Taught]) -> None:
        """Add demonstrations whose ids are new; quick for a few."""
        if not self.ids:
            self._build(fresh)
            return
        ids = sorted(fresh)
        mine = [fresh[id] for id in ids]
        rows = [bisect_left(self.ids, id) for id in ids]
        sentences, by_word = _texts(mine)
        acts, asked, n_acts = _acts(mine)
        starts = np.append(self._starts, len(self._acts))[rows]
        self._sentences = np.insert(self._sentences, rows, sentences, axis=0)
        self._by_word = np.insert(self._by_word, rows, by_word, axis=1)
        self._acts = np.insert(self._acts, np.repeat(starts, n_acts), acts, axis=0)
        self._n_acts = np.insert(self._n_acts, rows, n_acts)
        place = len(asked)
        for row, start, id, one, n in reversed(list(zip(rows, starts, ids, mine, n_acts))):
            self.ids.insert(row, id)
            self.sequences.insert(row, one.sequence)
            self._asked[start:start] = asked[place - n : place]
            place -= n
        self._index()

    def drop(self, ids: Collection[str]) -> None:
        """Drop demonstrations."""
        gone = np.zeros(len(self.ids), dtype=np.bool_)
        gone[[self.place[id] for id in ids]] = True
        out = gone[self._owner]
        self.ids = [id for id, is_gone in zip(self.ids, gone) if not is_gone]
        self.sequences = [sequence for sequence, is_gone in zip(self.sequences, gone) if not is_gone]
        self._sentences, self._by_word = self._sentences[~gone], self._by_word[:, ~gone]
        self._acts, self._n_acts = self._acts[~out], self._n_acts[~gone]
        self._asked = [tools for tools, is_gone in zip(self._asked, out) if not is_gone]
        self._index()

    def _index(self) -> None:
        self.place = {id: row for row, id in enumerate(self.ids)}
        self._rough = np.ascontiguousarray(self._acts[:, :_ROUGH_WIDTH])
        self._owner = np.repeat(np.arange(len(self.ids)), self._n_acts)
        self._starts = np.cumsum(self._n_acts) - self._n_acts

    def usual(self) -> FloatRows:
        """Return unit vectors of some requests, spread evenly over the ids."""
        some = self._sentences[:: max(len(self.ids) // _N_USUAL, 1)][:_N_USUAL]
        return np.asarray(some / np.maximum(np.linalg.norm(some, axis=1, keepdims=True), 1e-6), dtype=np.float32)

    def nearest(
        self, reading: Reading, n: int, hidden: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the rows of the `n` most similar, nearest first, with their likeness (1 for the same text).

        Args:
            hidden: Rows to ignore, shape [n_taught].
        """
        if not self.ids:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        said = unit(reading.words[0])
        used = np.flatnonzero(said)
        words = said[used] @ self._by_word[used]
        alike = likeness_of_texts(self._sentences @ reading.vectors[0].astype(np.float32), words)
        if hidden is not None:
            alike[hidden] = -np.inf
        best = np.argsort(-alike, kind="stable")[:n]
        best = best[np.isfinite(alike[best])]
        return best, alike[best]

    def asked_for(
        self, reading: Reading, place: Mapping[str, int], hidden: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """Return how far the acts most similar to each act asked for each tool, shape [n_acts, n_tools].

        A act that asks for nothing has no votes.

        Args:
            place: Index of each tool on offer.
            hidden: Rows to ignore.
        """
        found = np.zeros((reading.n_acts, len(place)))
        if not len(self._acts):
            return found
        vectors = reading.acts
        rough = vectors[:, :_ROUGH_WIDTH] @ self._rough.T
        if hidden is not None:
            rough[:, hidden[self._owner]] = -np.inf
        n_looked_at = min(_N_ACTS_LOOKED_AT, rough.shape[1])
        for act, mine in enumerate(rough):
            rows = np.sort(np.argpartition(-mine, n_looked_at - 1)[:n_looked_at])
            rows = rows[np.isfinite(mine[rows])]
            alike = self._acts[rows] @ vectors[act]
            top = np.argsort(-alike, kind="stable")[:_N_ACTS]
            weights = np.exp((alike[top] - alike[top[:1]]) * _ACT_SHARPNESS)
            for row, weight in zip(rows[top], weights / max(float(weights.sum()), 1e-12)):
                for tool in self._asked[row]:
                    if tool in place:
                        found[act, place[tool]] += weight
        return found


def _texts(taught: list[Taught]) -> tuple[FloatRows, FloatRows]:
    """Return the vectors of whole requests, shape [n, dim], and their words, shape [n_words, n]."""
    if not taught:
        return np.zeros((0, 0), dtype=np.float32), np.zeros((0, 0), dtype=np.float32)
    sentences = np.array([one.reading.vectors[0] for one in taught], dtype=np.float32)
    return sentences, unit(np.array([one.reading.words[0] for one in taught])).T.copy()


def _acts(taught: list[Taught]) -> tuple[FloatRows, list[tuple[str, ...]], NDArray[np.int64]]:
    """Return vectors of all acts, the tools each asked for, and how many acts each demonstration has."""
    if not taught:
        return np.zeros((0, 0), dtype=np.float32), [], np.zeros(0, dtype=np.int64)
    vectors = np.concatenate([one.reading.acts for one in taught])
    asked = [tools for one in taught for tools in one.act_tools]
    return vectors, asked, np.array([len(one.act_tools) for one in taught], dtype=np.int64)
