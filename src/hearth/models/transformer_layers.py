"""Provide the published encoder's layers under short names, int8 matrices, and low-rank changes to them: arrays only.

An adapted matrix is the published one plus a product of two thin ones, so one owner's file holds the thin ones alone
and all owners share the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
SmallArray = NDArray[np.int8]

WIDTH, N_LAYERS, N_HEADS = 384, 6, 12
LAYER_MATRICES = ("qkv", "o", "i", "f")
"""Matrices of one layer, each [out, in]: attention in and out, feed-forward in and out. Their biases end in b."""
LAYER_NORMS = ("n1", "n2")
LAYER_PARTS = tuple(f"{name}{end}" for name in (*LAYER_MATRICES, *LAYER_NORMS) for end in ("", "b"))


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a pointer."""

    width: int = 256
    n_blocks: int = 2
    n_heads: int = 4
    n_upper: int = 2
    """Encoder layers that are adapted, from the top."""
    rank: int = 16
    """Rank of the change to each of their matrices."""

    @property
    def upper(self) -> range:
        """Numbers of the adapted layers."""
        return range(N_LAYERS - self.n_upper, N_LAYERS)


def layer_weights(weights: Mapping[str, Array], layer: int) -> dict[str, Array]:
    """Return one encoder layer of the published file, under the names of `LAYER_PARTS`."""
    name = f"encoder.layer.{layer}"

    def joined(kind: str) -> Array:
        return np.concatenate([weights[f"{name}.attention.self.{part}.{kind}"] for part in ("query", "key", "value")])

    parts = {"o": "attention.output.dense", "n1": "attention.output.LayerNorm"}
    parts |= {"i": "intermediate.dense", "f": "output.dense", "n2": "output.LayerNorm"}
    found = {"qkv": joined("weight"), "qkvb": joined("bias")}
    for short, long in parts.items():
        found[short], found[f"{short}b"] = weights[f"{name}.{long}.weight"], weights[f"{name}.{long}.bias"]
    return found


def upper_weights(weights: Mapping[str, Array], shape: Shape) -> dict[str, Array]:
    """Return the layers that are adapted, as published: `e4.qkv` and so on."""
    return {f"e{layer}.{part}": v for layer in shape.upper for part, v in layer_weights(weights, layer).items()}


def quantised(weight: Array) -> tuple[SmallArray, Array]:
    """Return a matrix [out, in] as int8 [in, out] and the scale of each output."""
    scale = np.maximum(np.abs(weight).max(axis=1) / 127, 1e-12).astype(np.float32)
    return np.ascontiguousarray(np.rint(weight / scale[:, None]).astype(np.int8).T), scale


def thinned(change: Array, rank: int) -> tuple[Array, Array]:
    """Return the nearest product of two thin matrices, [rank, in] and [out, rank], to a change [out, in].

    Source:
        Eckart & Young 1936.
    """
    left, sizes, right = np.linalg.svd(change, full_matrices=False)
    root = np.sqrt(sizes[:rank])
    return np.ascontiguousarray(root[:, None] * right[:rank]), np.ascontiguousarray(left[:, :rank] * root)
