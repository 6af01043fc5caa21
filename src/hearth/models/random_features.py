"""Map vectors to random features in whole numbers, the same to the last bit alone, in a batch, or on any machine.

Inputs are rounded to whole numbers, and the random directions are products of Hadamard matrices and signs, so that
everything up to the last rounding is addition of whole numbers. No matrix is stored or drawn at the start.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.floating] | NDArray[np.signedinteger]

UNIT = 4096
"""Length to which a feature vector of length one is stretched before rounding."""
INPUT_GRAIN = 512
"""Inputs are rounded to multiples of 1/INPUT_GRAIN."""
_N_TURNS = 3


@dataclass(frozen=True)
class RandomFeatures:
    """A fixed random map of vectors to `n_features` whole numbers: rectified projections on orthogonal directions.

    Its inner products approach an arc-cosine kernel; orthogonal directions lower the error at no cost.

    Source:
        Cho & Saul 2009, Kernel methods for deep learning, section 2; Yu et al. 2016, Orthogonal random features,
        section 4 (three turns of signs and a Hadamard matrix), https://arxiv.org/abs/1610.09072
    """

    n_inputs: int
    n_features: int
    seed: int = 0
    threshold: float = 0.5
    """Bound that a projection must exceed, in units of its own standard deviation over the sphere."""
    n_whole: int = 0
    """Total, when more than `n_features`: these are the first of so many, the same to the last bit."""

    @cached_property
    def _width(self) -> int:
        """Power of two to which inputs are padded."""
        return 1 << max(self.n_inputs - 1, 1).bit_length()

    @cached_property
    def _signs(self) -> Floats:
        """Random signs, shape [n_blocks, _N_TURNS, width]."""
        drawn = np.random.Generator(np.random.PCG64(self.seed))
        n_blocks = -(-self.n_features // self._width)
        return np.asarray(drawn.integers(0, 2, size=(n_blocks, _N_TURNS, self._width)) * 2.0 - 1.0, dtype=np.float64)

    @cached_property
    def _factors(self) -> tuple[Floats, Floats]:
        """Hadamard matrices whose Kronecker product is the one of `width`."""
        n_bits = self._width.bit_length() - 1
        return _hadamard(n_bits - n_bits // 2), _hadamard(n_bits // 2)

    @cached_property
    def _scale(self) -> float:
        """Scale that makes the mean square length 1 on the unit sphere: E[max(z - b, 0)²] of a standard normal z."""
        z = np.linspace(self.threshold, self.threshold + 12, 20_001)
        density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
        n_features = max(self.n_whole, self.n_features)
        return float(1 / np.sqrt(np.sum((z - self.threshold) ** 2 * density) * (z[1] - z[0]) * n_features))

    def of(self, vectors: Rows, length: float = 1.0) -> NDArray[np.float32]:
        """Return features of unit `vectors` [n, n_inputs]: whole numbers [n, n_features], about UNIT * `length` long
        (the first k of n: √(k/n) of that)."""
        padded = np.zeros((len(vectors), self._width))
        padded[:, : self.n_inputs] = np.rint(np.asarray(vectors, dtype=np.float64) * INPUT_GRAIN)
        projected = np.hstack([self._turned(padded, signs) for signs in self._signs])[:, : self.n_features]
        raised = np.maximum(projected / (INPUT_GRAIN * self._width) - self.threshold, 0)
        return np.rint(raised * (self._scale * UNIT * length)).astype(np.float32)

    def _turned(self, rows: Floats, signs: Floats) -> Floats:
        """Apply the turns of signs and Hadamard matrices, each times √width; whole numbers throughout, below 2⁵³."""
        left, right = self._factors
        for turn in signs:
            rows = rows * turn
            rows = (left @ (rows.reshape(len(rows), len(left), len(right)) @ right)).reshape(len(rows), self._width)
        return rows


def _hadamard(n_bits: int) -> Floats:
    found = np.ones((1, 1))
    for _ in range(n_bits):
        found = np.block([[found, found], [found, -found]])
    return found
