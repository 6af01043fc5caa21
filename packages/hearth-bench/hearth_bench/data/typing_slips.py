"""Types a text as somebody in a hurry does: slips of the hand at a fixed rate, the same for the same text and seed.

Letters swapped, missed, doubled, or the next key's, as often as in collections of people's own slips (Baba & Suzuki
2012: half are one letter missed or too many, a third another letter, the rest swapped), in words of at least four
letters and never at their first. Digits, capitals and addresses are left alone, as slips there change what is asked.
"""

from __future__ import annotations

import re
import zlib

import numpy as np

_WORD = re.compile(r"(?<![\w@/.'’-])[a-z]{4,}(?![\w@/'’-])")
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def with_slips(text: str, seed: int = 0, *, share: float = 0.2) -> str:
    """Return the text with one slip in about `share` of its longer words, in at least one if there is one."""
    draw = np.random.default_rng([seed, zlib.crc32(text.encode("utf-8", "surrogatepass"))])
    places = list(_WORD.finditer(text))
    chosen = [match for match in places if draw.random() < share]
    if places and not chosen:
        chosen = [places[int(draw.integers(len(places)))]]
    for match in reversed(chosen):
        text = text[: match.start()] + _slipped(match[0], draw) + text[match.end() :]
    return text


def _slipped(word: str, draw: np.random.Generator) -> str:
    kind = draw.choice(["missed", "twice", "other", "swapped"], p=[0.3, 0.2, 0.3, 0.2])
    k = int(draw.integers(1, len(word)))
    if kind == "missed":
        return word[:k] + word[k + 1 :]
    if kind == "twice":
        return word[:k] + word[k] + word[k:]
    if kind == "other":
        beside = _beside(word[k])
        return word[:k] + beside[int(draw.integers(len(beside)))] + word[k + 1 :]
    k = min(k, len(word) - 2)
    return word[:k] + word[k + 1] + word[k] + word[k + 2 :]


def _beside(letter: str) -> str:
    row = next(row for row in _ROWS if letter in row)
    k = row.index(letter)
    return row[max(k - 1, 0) : k] + row[k + 1 : k + 2]
