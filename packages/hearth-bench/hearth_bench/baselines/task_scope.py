"""Decides whether a request is of a taught task, or of a kind never seen, which is refused.

A request is known when its nearest demonstrations are as near as those of demonstrations are to each other, all but a
small share. That share bounds how often a request of a taught task is refused, whatever the encoder; what helps to
recognise others is learned from requests that were rightly refused, if there are any.

Covered: requests unlike everything taught. Not covered: a request that reads like a taught task and means another.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hearth.planning.ranking.examples import Taught
from hearth.planning.ranking.features import Reading
from hearth.planning.ranking.logistic import Weigher, chance, fit_logistic
from hearth.planning.ranking.neighbours import Neighbourhood
from hearth.planning.ranking.ranker import Student

WRONGLY_REFUSED = 0.03
"""Approximate greatest share of requests of taught tasks that is refused.

With fewer than fifty demonstrations, a request less familiar than all of them are to each other is refused.
"""
LEAST_TAUGHT = 20
"""Least number of demonstrations for anything to be refused as strange: with fewer, too little is known."""
_LEAST_REFUSED = 20
_VERY_NEAR = 0.75
"""A request is known by one demonstration if it is nearer to it than this share of demonstrations is to any other."""
_N_COMPARED = 300
_N_NEAREST = 5
_N_NEAREST_REFUSED = 3

Floats = NDArray[np.float64]


class Scope:
    """The tasks a student was taught. Made from the student as it is; make it anew when it has learned more."""

    def __init__(self, student: Student, refused: Mapping[str, Reading] | None = None) -> None:
        """Compare a few hundred demonstrations with all others.

        Args:
            refused: Requests that were rightly refused, by id.
        """
        self._student = student
        readings = dict(refused or {})
        self._refused = Neighbourhood(
            {id: Taught((), frozenset(), one, (), frozenset()) for id, one in readings.items()}
        )
        ids = sorted(student.ids, key=_digest)[:_N_COMPARED]
        self.is_wide = len(ids) < LEAST_TAUGHT
        """True when too little was taught to tell."""
        self._weigher: Weigher | None = None
        self.threshold = -math.inf
        """Least familiarity; requests less familiar are refused."""
        self._very_near = math.inf
        if self.is_wide:
            return
        known = np.array([self._signs(student.taught(id).reading, id) for id in ids])
        if len(readings) >= _LEAST_REFUSED:
            strange = np.array([self._signs(one, None, id) for id, one in sorted(readings.items())[:_N_COMPARED]])
            right = [True] * len(known) + [False] * len(strange)
            self._weigher = fit_logistic(np.vstack([known, strange]), right)
        self._very_near = float(np.quantile(known[:, 1], _VERY_NEAR))
        scores = np.sort(self._familiarity(known))
        # The conformal quantile: of n + 1 exchangeable scores, at most this share lies below the k-th least of n.
        k = max(1, math.floor(WRONGLY_REFUSED * (len(scores) + 1)))
        self.threshold = float(scores[k - 1])

    def familiarity(self, readings: Sequence[Reading]) -> Floats:
        """Return how familiar requests are, shape [n]; higher is more familiar, comparable with `threshold`."""
        return self._familiarity(np.array([self._signs(one) for one in readings]).reshape(len(readings), 4))

    def is_known(self, reading: Reading) -> bool:
        """Return whether a request is of a taught task; always true when too little was taught to tell."""
        if self.is_wide:
            return True
        signs = np.array([self._signs(reading)])
        is_very_near = signs[0, 1] >= self._very_near and signs[0, 1] > signs[0, 3]
        return bool(is_very_near or self._familiarity(signs)[0] >= self.threshold)

    def _familiarity(self, signs: Floats) -> Floats:
        return chance(self._weigher, signs) if self._weigher is not None else signs[:, 0]

    def _signs(self, reading: Reading, without: str | None = None, without_refused: str | None = None) -> list[float]:
        """Return the likeness to the nearest demonstrations and to the nearest refused requests."""
        near = [likeness for _, likeness in self._student.nearest(reading, _N_NEAREST, without)] or [0.0]
        rows, alike = self._refused.nearest(reading, _N_NEAREST_REFUSED + 1)
        others = [float(a) for row, a in zip(rows, alike) if self._refused.ids[row] != without_refused]
        far = others[:_N_NEAREST_REFUSED] or [0.0]
        return [sum(near) / len(near), near[0], sum(far) / len(far), far[0]]


def _digest(id: str) -> bytes:
    return hashlib.sha256(id.encode("utf-8", "surrogatepass")).digest()
