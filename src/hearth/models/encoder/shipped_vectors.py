"""Vectors of the texts that ship, made once (`training.shipped_vectors_make`), so that no device reads them again.

A new home learns some three thousand demonstrations; to read them takes most of a minute on a small device, to find
them here a second. Each vector is in 8 bits with a scale (cosine to what the encoder says >= 0.9999), known by a hash
of its text. The file is mapped, not read. Covered: the forms of the shipped demonstrations. Not covered: anything
else, which the encoder reads as ever.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Sequence
from importlib.resources import as_file, files

import numpy as np
from numpy.typing import NDArray

FILE = "shipped_vectors.npy"
_STEPS = 127
_WIDTH = 384
_ROW = np.dtype([("key", "<u8"), ("scale", "<f4"), ("vector", "i1", (_WIDTH,))])


class ShippedVectors:
    """A table of texts' vectors, in the order of their keys. May be used from several threads at once."""

    def __init__(self, rows: NDArray[np.void]) -> None:
        """Use `ShippedVectors.open` or `ShippedVectors.of`."""
        self.rows = rows
        self._keys = np.ascontiguousarray(rows["key"])

    @classmethod
    @functools.cache
    def open(cls) -> ShippedVectors:
        """Map the file that ships."""
        with as_file(files("hearth.data") / FILE) as path:
            return cls(np.load(path, mmap_mode="r"))

    @classmethod
    def of(cls, texts: Sequence[str], vectors: NDArray[np.float32]) -> ShippedVectors:
        """Keep texts with their unit vectors, shape [texts, 384]; a text that comes twice is kept once."""
        keys, first = np.unique(np.array(_keys_of(texts), dtype=np.uint64), return_index=True)
        rows = np.zeros(len(keys), dtype=_ROW)
        rows["key"] = keys
        rows["scale"] = np.abs(vectors[first]).max(axis=1) / _STEPS
        rows["vector"] = np.rint(vectors[first] / rows["scale"][:, None])
        return cls(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def places_of(self, texts: Sequence[str]) -> NDArray[np.intp]:
        """Return the row of each text, -1 where there is none, shape [texts]."""
        keys = np.array(_keys_of(texts), dtype=np.uint64)
        places = np.searchsorted(self._keys, keys)
        is_there = places < len(self._keys)
        is_there[is_there] = self._keys[places[is_there]] == keys[is_there]
        return np.where(is_there, places, -1)

    def at(self, places: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return the unit vectors of rows, shape [rows, 384]."""
        found = self.rows[places]
        vectors = found["vector"] * found["scale"][:, None]
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def _keys_of(texts: Iterable[str]) -> list[int]:
    return [
        int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "little")
        for text in texts
    ]
