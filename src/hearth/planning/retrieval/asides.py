"""Tells a clause that wishes for nothing by itself: a reason ("I smell burning"), or the deed once more ("put it in").

Beside clauses that are served, such a one is not told as left undone. A logistic function of the encoder's vector and
of the first and last words, trained on clauses of demonstrations whose words no step of the plan takes up, against
clauses that are wishes, those that nobody serves among them (`training.asides_train`). Left out by turns, it finds
two of three; of the wishes one in forty is taken for one. Not covered: wishes put as reasons ("I'm cold").
"""

from __future__ import annotations

import functools
import json
import math
import re
import zlib
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from hearth.protocols import Encoder

Floats = NDArray[np.float32]
LIKELY = 0.6
"""Least chance at which a clause is an aside: a wish lost without a word is worse than a reason told as undone."""
_N_BUCKETS = 256
_VECTOR_SCALE, _WORDS_SCALE, _LENGTH_SCALE, _MOST_WORDS = 3.0, 0.7, 6.0, 12
_WORD = re.compile(r"\w+|[?!.]")


@functools.cache
def _weights() -> Floats:
    data = json.loads((files("hearth.data") / "asides.json").read_text(encoding="utf-8"))
    return np.array(data["weights"], dtype=np.float32)


def is_aside(clause: str, encoder: Encoder) -> bool:
    """Return whether a clause wishes for nothing by itself."""
    weights = _weights()
    features = features_of([clause], encoder)[0]
    if len(features) != len(weights):  # an encoder that it was not trained on
        return False
    return 1 / (1 + math.exp(-float(features @ weights))) >= LIKELY


def features_of(clauses: list[str], encoder: Encoder) -> Floats:
    """Return what speaks for each clause, shape [clauses, dim + 258]."""
    vectors = encoder.encode(clauses) * _VECTOR_SCALE
    words = np.array([_ends_of(clause) for clause in clauses], dtype=np.float32) * _WORDS_SCALE
    lengths = [[min(len(clause.split()), _MOST_WORDS) / _LENGTH_SCALE, 1.0] for clause in clauses]
    return np.hstack([vectors, words, np.array(lengths)]).astype(np.float32)


def _ends_of(clause: str) -> Floats:
    """Return a sketch of the first two words and the last."""
    words = _WORD.findall(clause.lower())
    found = np.zeros(_N_BUCKETS, dtype=np.float32)
    for key in [*(f"{place}{word}" for place, word in enumerate(words[:2])), f"${words[-1] if words else ''}"]:
        found[zlib.crc32(key.encode()) % _N_BUCKETS] += 1
    return found
