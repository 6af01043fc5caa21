"""How likely tools are by their texts, for those taught seldom or never."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hearth.planning.reading import FloatRows
from hearth.planning.weighing import Weigher, chance

N_SIGNS = 4
TEXT_ONLY = Weigher(
    np.array([0.45, 0.25, 0.0, 0.0, 0.0]), np.array([0.12, 0.12, 1.0, 0.1, 1.0]), np.array([1.2, 0.2, 1.0, 0.6, -1.0])
)
"""Used until there are enough demonstrations to fit."""
_N_LENDING = 12


class ToolTexts:
    """Vectors of the tools' texts, and how near they are to a request."""

    def __init__(self, vectors: FloatRows) -> None:
        self.vectors = vectors

    def nearness(self, clauses: FloatRows) -> FloatRows:
        """Of each tool to each clause, shape [n_tools, n_clauses]."""
        return np.asarray(self.vectors @ clauses.T, dtype=np.float32)

    def signs(
        self, near: FloatRows, wanted: NDArray[np.float64], rows: NDArray[np.int64] | Sequence[int]
    ) -> NDArray[np.float64]:
        """How near the texts of some tools are, and how wanted other tools with texts like them are.

        Args:
            near: As `nearness` gives it.
            wanted: How likely each tool is by what was taught, shape [n_tools].
            rows: The tools asked for.
        """
        rows = np.asarray(rows, dtype=np.int64)
        best = near.max(axis=1)
        n = min(_N_LENDING, len(wanted))
        lending = np.argpartition(-wanted, n - 1)[:n]
        alike = np.clip(self.vectors[rows] @ self.vectors[lending].T, 0, 1) ** 2
        alike[rows[:, None] == lending] = 0.0
        borrowed = (alike * np.clip(wanted[lending], 0, 1)).max(axis=1)
        fifth = np.partition(best, -min(5, len(best)))[-min(5, len(best))]
        return np.column_stack([best[rows], near[rows].mean(axis=1), borrowed, best[rows] - fifth]).astype(np.float64)


def by_text(weigher: Weigher | None, signs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The chance that each tool is wanted, from its signs."""
    return chance(weigher or TEXT_ONLY, signs)
