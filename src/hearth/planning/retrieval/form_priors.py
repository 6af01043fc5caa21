"""Predicts from the forms of all demonstrations which tools, and which words of tool names, a request means.

A ridge regression in closed form: adding or removing demonstrations changes sums only, so the result does not depend on
the order they came in, and one that is removed leaves nothing behind. Neighbours know the single case, the regression
knows the rule; the planner adds the two.

Source: Hoerl & Kennard 1970 (ridge); the sums are the sufficient statistics of least squares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

_RIDGE = 0.2


class Leaning:
    """Sums over forms and targets, solved when asked."""

    def __init__(self, dim: int) -> None:
        self._gram = np.zeros((dim, dim), dtype=np.float64)
        self._sums: dict[str, NDArray[np.float64]] = {}
        self._counts: dict[str, int] = {}
        self._weights: tuple[dict[str, int], NDArray[np.float32]] | None = None

    def count(self, forms: NDArray[np.float32], targets: Sequence[Sequence[str]], sign: int) -> None:
        """Add (`sign` 1) or take away (-1) rows.

        Args:
            forms: Shape [n, dim].
            targets: Per row, the names that are true of it.
        """
        exact = forms.astype(np.float64)
        self._gram += sign * (exact.T @ exact)
        rows_of: dict[str, list[int]] = {}
        for row, names in enumerate(targets):
            for name in dict.fromkeys(names):
                rows_of.setdefault(name, []).append(row)
        for name, rows in rows_of.items():
            total = self._sums.get(name)
            added = sign * exact[rows].sum(axis=0)
            self._sums[name] = added if total is None else total + added
            self._counts[name] = self._counts.get(name, 0) + sign * len(rows)
            if self._counts[name] == 0:
                del self._sums[name], self._counts[name]
        self._weights = None

    def of(self, forms: NDArray[np.float32]) -> list[Mapping[str, float]]:
        """Return for each form how much every name is meant, about 0 to 1."""
        if not self._sums:
            return [{} for _ in forms]
        if self._weights is None:
            names = sorted(self._sums)
            targets = np.stack([self._sums[name] for name in names], axis=1)
            solved = np.linalg.solve(self._gram + _RIDGE * np.eye(len(self._gram)), targets)
            self._weights = ({name: index for index, name in enumerate(names)}, solved.astype(np.float32))
        place, weights = self._weights
        said = forms @ weights
        return [{name: float(row[index]) for name, index in place.items()} for row in said]
