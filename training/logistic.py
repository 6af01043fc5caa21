"""What the trainers of logistic regressions share: chances from scores, and the descent to weights."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
_TOLD_EVERY = 50


def chances_of(scores: Floats) -> Floats:
    """Return the softmax of scores, shape [rows, outputs]."""
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True), dtype=np.float32)


def descended(shape: tuple[int, int], slope: Callable[[Floats], Floats], n_steps: int, step: float) -> Floats:
    """Return the weights that Adam (Kingma & Ba 2015) comes to from zero, over all rows at once.

    The step falls as a cosine.

    Args:
        slope: The gradient at some weights.
        step: The first step.
    """
    weights = np.zeros(shape, dtype=np.float32)
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    for k in range(1, n_steps + 1):
        now = slope(weights)
        mean = 0.9 * mean + 0.1 * now
        square = 0.99 * square + 0.01 * now**2
        rate = step * (1 + np.cos(np.pi * k / n_steps)) / 2 + 1e-4
        weights -= np.float32(rate) * (mean / (1 - 0.9**k)) / (np.sqrt(square / (1 - 0.99**k)) + 1e-8)
        if k % _TOLD_EVERY == 0:
            print(f"fitting, step {k} of {n_steps} …", file=sys.stderr)
    return weights
