"""Turns a request into the numbers that the tool heads are solved over.

Beside the sentence vector stand a sketch of its words, pairs of words, the word it opens with beside each other one
("did … alarm" asks for what "set … alarm" changes) and groups of four letters (signed hashing, so that a spelling never
seen still shares most of its groups) and cosines of random projections of the vector, which let a
linear head bend. Values said are stand-ins already (`<time>`, `<name>`), so that what is asked counts, not about what.

Sources: Weinberger et al. 2009 (signed hashing); Rahimi & Recht 2007 (random cosine features).
"""

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from hearth.language.tokens import listed

N_SKETCH, N_COSINES = 2048, 512
"""Cells of the sketch, a power of two; cosines."""
COSINE_SEED = 0
_COSINE_SCALE = 2.0
_N_LETTERS = 4
_SIGN_BIT = 20
_DIGIT = re.compile(r"\d")
_POLITE = frozenset(
    listed("please can could would you i'd like to hey hi olly alexa google ok okay kindly just so will want need me")
)
"""Words before the one that a request opens with."""

Floats = NDArray[np.float32]


def request_features(vectors: Floats, words: Sequence[Sequence[str]], projection: Floats, phases: Floats) -> Floats:
    """Return features of requests, shape [n, 1 + dim + N_SKETCH + n_cosines].

    Args:
        vectors: Sentence vectors, shape [n, dim].
        words: Per request its words in lower case, values as `<kind>`.
        projection: Shape [dim, n_cosines]; no columns for no cosines.
        phases: Shape [n_cosines].
    """
    ones = np.ones((len(vectors), 1), dtype=np.float32)
    sketches = np.stack([sketch_of(tuple(one)) for one in words]) if len(words) else np.zeros((0, N_SKETCH), np.float32)
    cosines = np.cos(vectors @ projection + phases) * np.sqrt(2 / max(len(phases), 1))
    return np.hstack([ones, vectors, sketches, cosines]).astype(np.float32)


@functools.cache
def drawn_cosines(dim: int, seed: int = COSINE_SEED) -> tuple[Floats, Floats]:
    """Draw the random cosines: a projection of shape [dim, N_COSINES] in half precision, as it is kept, and phases."""
    draw = np.random.default_rng(seed)
    projection = (draw.standard_normal((dim, N_COSINES)) * _COSINE_SCALE).astype(np.float16).astype(np.float32)
    return projection, draw.uniform(0, 2 * np.pi, N_COSINES).astype(np.float32)


@functools.lru_cache(maxsize=256)
def sketch_of(words: tuple[str, ...]) -> Floats:
    """Return the sketch of one request, of length 1 unless there are no words, shape [N_SKETCH]."""
    cells = np.zeros(N_SKETCH, dtype=np.float32)
    for gram in sorted(set(_grams(words))):
        key = zlib.crc32(gram.encode("utf-8", "surrogatepass"))
        cells[key % N_SKETCH] += 1.0 if (key >> _SIGN_BIT) & 1 else -1.0
    length = float(np.linalg.norm(cells))
    return cells / length if length > 0 else cells


def _grams(words: Sequence[str]) -> Iterator[str]:
    said = [_DIGIT.sub("0", word) for word in words if word[0].isalnum() or word[0] in "<'"]
    yield from (f"1{word}" for word in said)
    yield from (f"2{a} {b}" for a, b in zip(["^", *said], [*said, "$"]))
    opening = next((place for place, word in enumerate(said) if word not in _POLITE), 0)
    yield from (f"3{said[opening]} {word}" for word in said[opening + 1 :])
    line = f" {' '.join(said)} "
    yield from (f"c{line[k : k + _N_LETTERS]}" for k in range(len(line) - _N_LETTERS + 1))
