"""Round weights to so few bits that what is saved is what is used, and that similar files differ little."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

N_BITS = 7
"""Significant bits of the weights that predict, by default: predictions change by about 1/1000."""


def rounded(weights: NDArray[np.float64], n_bits: int = N_BITS) -> NDArray[np.float32]:
    """Round weights to `n_bits` and the range of half precision."""
    fraction, power = np.frexp(weights.astype(np.float32))
    whole = np.rint(fraction * np.float32(2**n_bits)) / np.float32(2**n_bits)
    return unpacked(*packed(np.ldexp(whole, power).astype(np.float32)))


def packed(weights: NDArray[np.float32]) -> tuple[int, NDArray[np.float16]]:
    """Pack rounded weights into half as many bytes; also return the power of two they were multiplied by."""
    exponent = 12 - int(np.frexp(np.abs(weights).max(initial=0.0))[1])
    return exponent, np.ldexp(weights, exponent).astype(np.float16)


def unpacked(exponent: int, halves: NDArray[np.float16]) -> NDArray[np.float32]:
    """Restore the weights that `packed` was given."""
    return np.asarray(np.ldexp(halves.astype(np.float32), -exponent), dtype=np.float32)


def as_integers(values: NDArray[np.float64], fine: int) -> tuple[int, NDArray[np.signedinteger]]:
    """Return values times a grain as whole numbers of the smallest type that holds them; products of a weight and a
    target are multiples of 1/fine²."""
    grain = next((g for g in (1, fine) if np.array_equal(values * g, np.rint(values * g))), fine**2)
    whole = np.rint(values * grain)
    largest = float(np.abs(whole).max(initial=0))
    return grain, whole.astype(np.int16 if largest < 2**15 else np.int32 if largest < 2**31 else np.int64)
