"""Finds the demonstrations most similar to a request, and similar clauses with the tools they asked for.

Rows are in the order of their ids, so nothing depends on the order of teaching.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from hearth.planning.ranking.examples import Taught
from hearth.planning.ranking.features import FloatRows, Reading, likeness_of_texts

_N_LOOKED_AT = 200
"""Number of demonstrations, nearest by their sentence vectors and words, that are compared in full."""
_N_USUAL = 256
_N_CLAUSES = 12
_CLAUSE_SHARPNESS = 15.0
_N_CLAUSES_LOOKED_AT = 150
_ROUGH_WIDTH = 128
"""Number of components, the first of each vector, by which clauses are preselected for a full comparison."""


class Neighbourhood:
    """Demonstrations as arrays; kept up to date by `add` and `drop` at the cost of copying them."""

    def __init__(self, taught: Mapping[str, Taught]) -> None:
        self._build(taught)

    def _build(self, taught: Mapping[str, Taught]) -> None:
        self.ids = sorted(taught)
        mine = [taught[id] for id in self.ids]
        self.sequences = [one.sequence for one in mine]
        self._pooled, self._by_word = _texts(mine)
        self._clauses, self._asked, self._n_clauses = _clauses(mine)
        self._index()

    def add(self, fresh: Mapping[str, Taught]) -> None:
        """Add demonstrations whose ids are new; quick for a few."""
        if not self.ids:
            self._build(fresh)
            return
        ids = sorted(fresh)
        mine = [fresh[id] for id in ids]
        rows = [bisect_left(self.ids, id) for id in ids]
        pooled, by_word = _texts(mine)
        clauses, asked, n_clauses = _clauses(mine)
        starts = np.append(self._starts, len(self._clauses))[rows]
        self._pooled = np.insert(self._pooled, rows, pooled, axis=0)
        self._by_word = np.insert(self._by_word, rows, by_word, axis=1)
        self._clauses = np.insert(self._clauses, np.repeat(starts, n_clauses), clauses, axis=0)
        self._n_clauses = np.insert(self._n_clauses, rows, n_clauses)
        place = len(asked)
        for row, start, id, one, n in reversed(list(zip(rows, starts, ids, mine, n_clauses))):
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
        self._pooled, self._by_word = self._pooled[~gone], self._by_word[:, ~gone]
        self._clauses, self._n_clauses = self._clauses[~out], self._n_clauses[~gone]
        self._asked = [tools for tools, is_gone in zip(self._asked, out) if not is_gone]
        self._index()

    def _index(self) -> None:
        self.place = {id: row for row, id in enumerate(self.ids)}
        self._sentences = np.ascontiguousarray(self._pooled[:, : self._pooled.shape[1] // 4])
        self._rough = np.ascontiguousarray(self._clauses[:, :_ROUGH_WIDTH])
        self._owner = np.repeat(np.arange(len(self.ids)), self._n_clauses)
        self._starts = np.cumsum(self._n_clauses) - self._n_clauses

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
        used = np.flatnonzero(reading.words)
        words = reading.words[used].astype(np.float32) @ self._by_word[used]
        sentence = reading.pooled[: self._sentences.shape[1]].astype(np.float32)
        rough = likeness_of_texts(self._sentences @ sentence, words, is_rough=True)
        if hidden is not None:
            rough[hidden] = -np.inf
        rows = np.arange(len(rough))
        if len(rough) > _N_LOOKED_AT:
            rows = np.sort(np.argpartition(-rough, _N_LOOKED_AT)[:_N_LOOKED_AT])
        if hidden is not None:
            rows = rows[~hidden[rows]]
        alike = likeness_of_texts(self._pooled[rows] @ reading.pooled.astype(np.float32), words[rows])
        best = np.argsort(-alike, kind="stable")[:n]
        return rows[best], alike[best]

    def asked_for(
        self, reading: Reading, place: Mapping[str, int], hidden: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """Return how far the clauses most similar to each clause asked for each tool, shape [n_clauses, n_tools].

        A clause that asks for nothing has no votes.

        Args:
            place: Index of each tool on offer.
            hidden: Rows to ignore.
        """
        found = np.zeros((len(reading.clauses), len(place)))
        if not len(self._clauses):
            return found
        vectors = reading.vectors
        rough = vectors[:, :_ROUGH_WIDTH] @ self._rough.T
        if hidden is not None:
            rough[:, hidden[self._owner]] = -np.inf
        n_looked_at = min(_N_CLAUSES_LOOKED_AT, rough.shape[1])
        for clause, mine in enumerate(rough):
            rows = np.sort(np.argpartition(-mine, n_looked_at - 1)[:n_looked_at])
            rows = rows[np.isfinite(mine[rows])]
            alike = self._clauses[rows] @ vectors[clause]
            top = np.argsort(-alike, kind="stable")[:_N_CLAUSES]
            weights = np.exp((alike[top] - alike[top[:1]]) * _CLAUSE_SHARPNESS)
            for row, weight in zip(rows[top], weights / max(float(weights.sum()), 1e-12)):
                for tool in self._asked[row]:
                    if tool in place:
                        found[clause, place[tool]] += weight
        return found


def _texts(taught: list[Taught]) -> tuple[FloatRows, FloatRows]:
    """Return pooled vectors, shape [n, 4 * dim], and words, shape [n_words, n]."""
    if not taught:
        return np.zeros((0, 0), dtype=np.float32), np.zeros((0, 0), dtype=np.float32)
    pooled = np.array([one.reading.pooled for one in taught], dtype=np.float32)
    return pooled, np.array([one.reading.words for one in taught], dtype=np.float32).T.copy()


def _clauses(taught: list[Taught]) -> tuple[FloatRows, list[tuple[str, ...]], NDArray[np.int64]]:
    """Return vectors of all clauses, the tools each asked for, and how many clauses each demonstration has."""
    if not taught:
        return np.zeros((0, 0), dtype=np.float32), [], np.zeros(0, dtype=np.int64)
    vectors = np.concatenate([one.reading.vectors for one in taught])
    asked = [tools for one in taught for tools in one.clause_tools]
    return vectors, asked, np.array([len(one.clause_tools) for one in taught], dtype=np.int64)
