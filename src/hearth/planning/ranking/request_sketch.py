"""Turns a request into the numbers that the tool heads are solved over.

Beside the sentence vector stand a sketch of its words, of pairs of words that stand near each other and of groups of
four letters (signed hashing, so that a spelling never seen still shares most of its groups) and cosines of random
projections of the vector, which let a linear head bend. Values said are stand-ins already (`<time>`, `<name>`), so that
what is asked counts, not about what.

Sources: Weinberger et al. 2009 (signed hashing); Rahimi & Recht 2007 (random cosine features).
"""

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_N_LETTERS = 4
_APART = 4
"""Pairs of words count with at most so many words between them."""
_SIGN_BIT = 20
_DIGIT = re.compile(r"\d")

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Grams:
    """Sizes of a sketch, and the weights of what is counted in it beside single words."""

    n_cells: int
    neighbours: float
    """Two words one after the other."""
    apart: float
    """Two words with others between them; 0 for none."""
    letters: float
    """Four letters."""


TELLING = Grams(2048, neighbours=1.0, apart=1.0, letters=1.0)
"""For heads: right tools of the second tenth of real requests at .93 honest refusals .939; without pairs apart .932."""
ALIKE = Grams(512, neighbours=0.5, apart=0.0, letters=0.3)
"""For likeness: votes for the right tools among shipped demonstrations .709; with pairs as in `TELLING` .698."""
N_SKETCH = TELLING.n_cells


def request_features(vectors: Floats, words: Sequence[Sequence[str]], projection: Floats, phases: Floats) -> Floats:
    """Return features of requests, shape [n, 1 + dim + N_SKETCH + n_cosines].

    Args:
        vectors: Sentence vectors, shape [n, dim].
        words: Per request its words in lower case, values as `<kind>`.
        projection: Shape [dim, n_cosines]; no columns for no cosines.
        phases: Shape [n_cosines].
    """
    ones = np.ones((len(vectors), 1), dtype=np.float32)
    sketches = np.stack([sketch(tuple(one)) for one in words]) if len(words) else np.zeros((0, N_SKETCH), np.float32)
    cosines = np.cos(vectors @ projection + phases) * np.sqrt(2 / max(len(phases), 1))
    return np.hstack([ones, vectors, sketches, cosines]).astype(np.float32)


@functools.lru_cache(maxsize=512)
def sketch(words: tuple[str, ...], grams: Grams = TELLING) -> Floats:
    """Return the sketch of one request, of length 1 unless there are no words, shape [grams.n_cells]."""
    cells = np.zeros(grams.n_cells, dtype=np.float32)
    for gram, weight in sorted(set(_grams(words, grams))):
        key = zlib.crc32(gram.encode("utf-8", "surrogatepass"))
        cells[key % grams.n_cells] += weight if (key >> _SIGN_BIT) & 1 else -weight
    length = float(np.linalg.norm(cells))
    return cells / length if length > 0 else cells


def _grams(words: Sequence[str], grams: Grams) -> Iterator[tuple[str, float]]:
    said = [_DIGIT.sub("0", word) for word in words if word[0].isalnum() or word[0] in "<'"]
    line = f" {' '.join(said)} "
    yield from ((f"1{word}", 1.0) for word in said)
    yield from ((f"2{a} {b}", grams.neighbours) for a, b in zip(["^", *said], [*said, "$"]))
    yield from ((f"c{line[k : k + _N_LETTERS]}", grams.letters) for k in range(len(line) - _N_LETTERS + 1))
    if grams.apart:
        pairs = ((a, b) for k, a in enumerate(said) for b in said[k + 2 : k + 2 + _APART])
        yield from ((f"s{a} {b}", grams.apart) for a, b in pairs)
