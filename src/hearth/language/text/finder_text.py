"""Defines what finders in a text read and return: a plain text with the places of the original, and labelled spans.

`plain` drops invisible characters and replaces look-alike letters with the Latin ones; `Plain.original` maps a place in
`Plain.text` back to the original. Takes time linear in the text; accepts any text, lone surrogates included.

Covered: zero-width characters, soft hyphens, direction marks, full-width and styled letters and digits, Cyrillic and
Greek look-alikes, accents (when words are compared). Not covered: look-alikes made of several letters (`rn` for `m`),
digits for letters (`M1a`).
"""

from __future__ import annotations

import functools
import re
import unicodedata
from array import array
from dataclasses import dataclass
from typing import NamedTuple


class Found(NamedTuple):
    """A labelled span of a text. A tuple: many are made, and a frozen dataclass takes three times as long."""

    start: int
    end: int
    kind: str
    """One of `config.MASK_KINDS`."""
    by: str = "form"
    """Finder that made it: `form`, `owner` (the owner's own names) or `tagger`."""


def n_digits(text: str) -> int:
    """Count the digits in a text."""
    return sum(c.isdigit() for c in text)


_INVISIBLE = (
    "\u00ad\u034f\u061c\u180e"
    "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
    "\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\ufeff"
)
_HIDDEN = re.compile(f"[{_INVISIBLE}]")
_LOOKS_LIKE = dict(
    zip(
        "АВЕЅІЈКМНОРСТУХаеѕіјкорсухһԁԛԝҮүΑΒΕΖΗΙΚΜΝΟΡΤΥΧοıⅼ",
        "ABESIJKMHOPCTYXaesijkopcyxhdqwYyABEZHIKMNOPTYXoil",
        strict=True,
    )
)


class _Table(dict[int, str]):
    """A table for `str.translate`: the reading of each character, worked out when first met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character in _INVISIBLE:
            read = ""
        elif character in _LOOKS_LIKE:
            read = _LOOKS_LIKE[character]
        else:
            read = unicodedata.normalize("NFKC", character)
            if len(read) != 1 and not read.isalnum():
                read = character  # `¨` is a space and an accent: no letter is hidden in it
        self[code] = read
        return read


_TABLE = _Table()


@dataclass(frozen=True, slots=True)
class Plain:
    """A text as it is read, and the way back to its characters."""

    text: str
    places: array[int] | None
    """Place of each character in the original; None when no place differs."""

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Map the characters from `start` to `end` to their places in the original."""
        if self.places is None:
            return start, end
        return self.places[start], self.places[end - 1] + 1


def plain(text: str) -> Plain:
    """Normalise a text."""
    if text.isascii():
        return Plain(text, None)
    read = text.translate(_TABLE)
    if len(read) == len(text) and not _HIDDEN.search(text):
        return Plain(read, None)
    places = array("L")
    for index, character in enumerate(text):
        for _ in _TABLE[ord(character)]:
            places.append(index)
    return Plain(read, places)


# ── Words ─────────────────────────────────────────────────────────────────────────────────────────────────

_WORD = re.compile(r"[\u2e80-\U0003ffff]|[^\W_\u2e80-\U0003ffff]+(?:[\u0300-\u036f]+[^\W_\u2e80-\U0003ffff]*)*")
"""Matches a word; each Chinese, Japanese or Korean letter is one, since a name may begin and end anywhere."""
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")
_SPECIAL = str.maketrans({"ß": "ss", "ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"})


class Words:
    """The words of a plain text, folded, and their places in it, which are worked out when first asked for."""

    __slots__ = ("_places", "_text", "folded")

    def __init__(self, text: str, folded: list[str]) -> None:
        """Build it with `words` instead."""
        self.folded = folded
        self._text = text
        self._places: tuple[list[int], list[int]] | None = None

    @property
    def starts(self) -> list[int]:
        return self._found()[0]

    @property
    def ends(self) -> list[int]:
        return self._found()[1]

    def _found(self) -> tuple[list[int], list[int]]:
        if self._places is None:
            spans = [match.span() for match in (_ASCII_WORD if self._text.isascii() else _WORD).finditer(self._text)]
            self._places = [start for start, _ in spans], [end for _, end in spans]
        return self._places


def words(text: str) -> Words:
    """Split a plain text into its words: runs of letters and digits."""
    if text.isascii():
        return Words(text, _ASCII_WORD.findall(text.lower()))
    return Words(text, [fold(word) for word in _WORD.findall(text)])


def fold(word: str) -> str:
    """Fold a word for comparison: lower case, without accents, look-alikes and invisible characters."""
    return word.lower() if word.isascii() else _folded(word) if len(word) <= 64 else _folded.__wrapped__(word)


@functools.lru_cache(maxsize=8_000)
def _folded(word: str) -> str:
    apart = unicodedata.normalize("NFKD", word.translate(_TABLE).casefold())
    return "".join(c for c in apart if not unicodedata.combining(c)).translate(_SPECIAL)
