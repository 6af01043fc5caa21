"""Aligns a request with a demonstration: which words are the same, where the words of a value stand.

Two words are the same when they are equal, or when both have four letters or more and differ by one typing error. A
value is found by the words around it, a quotation by its position among the quotations.

Covered: other politeness, order and spelling, values at either end. Not covered: words of the same meaning, languages
without spaces between words.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence

from hearth.language.text.word_match import folded
from hearth.types import Argument

_WORD = re.compile(r"[^\W_]+")
POLITE = frozenset(
    re.findall(r"\S+", "please pls plz thanks thank ta hey hi hello ok okay so um uh right hearth you can could would")
)
"""Words that change nothing; they count little when requests are compared."""
_LEAST_FUZZY = 4
Span = tuple[int, int]
"""First index and the index after the last: letters of a text, or words of a request."""


@functools.lru_cache(maxsize=200_000)
def words_of(text: str) -> tuple[tuple[str, ...], tuple[Span, ...]]:
    found = [match.span() for match in _WORD.finditer(text)]
    return tuple(folded(text[a:b]) for a, b in found), tuple(found)


@functools.lru_cache(maxsize=200_000)
def spellings_of(word: str) -> frozenset[str]:
    """Return a word and, if it is longer, all its forms with one letter deleted.

    Two words with a form in common differ by one typing error.

    Source:
        Symmetric deletion: Garbe 2012, SymSpell; Mor & Fraenkel 1982.
    """
    if len(word) < _LEAST_FUZZY or not word.isalpha():
        return frozenset([word])
    return frozenset([word, *(word[:k] + word[k + 1 :] for k in range(len(word)))])


class Said:
    """A request with its words indexed for lookup."""

    def __init__(self, text: str, weight: Callable[[str], float]) -> None:
        self.text = text
        self.words, self.places = words_of(text)
        self.weights = [weight(word) for word in self.words]
        self.whole = sum(self.weights)
        self._by_word: dict[str, list[int]] = {}
        self._by_spelling: dict[str, list[int]] = {}
        for place, word in enumerate(self.words):
            self._by_word.setdefault(word, []).append(place)
            if len(word) >= _LEAST_FUZZY:
                for spelling in spellings_of(word):
                    self._by_spelling.setdefault(spelling, []).append(place)

    def paired(self, taught: Sequence[str]) -> dict[int, int]:
        """Pair a demonstration's words with the request's: equal or one typing error apart, in order if possible."""
        pairs: dict[int, int] = {}
        taken: set[int] = set()
        at = 0
        for k, word in enumerate(taught):
            choices = [j for j in self._by_word.get(word, ()) if j not in taken]
            if not choices and len(word) >= _LEAST_FUZZY:
                alike = {j for spelling in spellings_of(word) for j in self._by_spelling.get(spelling, ())}
                choices = [j for j in sorted(alike) if j not in taken and abs(len(self.words[j]) - len(word)) <= 1]
            if choices:
                place = at
                j = min(choices, key=lambda j: (j < place, abs(j - place)))
                pairs[k] = j
                taken.add(j)
                at = j + 1
        return pairs


def place_of(slot: Span, partner: Mapping[int, int], n_taught: int, n_said: int) -> Span | None:
    """Find the span of the request that stands in a value's place: between the words around the value."""
    a, b = slot
    if all(k in partner for k in range(a, b)):
        inside = [partner[k] for k in range(a, b)]
        if inside == list(range(inside[0], inside[0] + len(inside))):
            before = partner.get(a - 1, -1) if a else -1
            if b < n_taught or a == 0 or before + 1 == inside[0]:
                end = inside[-1] + 1
                return inside[0], end
    left = next((partner[k] + 1 for k in range(a - 1, -1, -1) if k in partner), 0)
    outer = {partner[k] for k in partner if not a <= k < b}
    right = next((partner[k] for k in range(b, n_taught) if k in partner and partner[k] >= left), n_said)
    while left < right and left in outer:
        left += 1
    return (left, right) if left < right and outer.isdisjoint(range(left, right)) else None


_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»]+)[\"”“»]")
_QUOTES = frozenset('"“”„«»')


def quotations(text: str, starts: Sequence[Span]) -> dict[int, Span]:
    """Map the words that begin a quotation to its position and the number of quotations."""
    found = [match.start(1) for match in _QUOTED.finditer(text)]
    return {word: (found.index(at), len(found)) for word, at in starts if at in found}


def quoted_at(which: Span, text: str, places: Sequence[Span]) -> Span | None:
    """Return the words of the quotation in the same position, when there are as many quotations."""
    found = [match.span(1) for match in _QUOTED.finditer(text)]
    if len(found) != which[1]:
        return None
    start, end = found[which[0]]
    inside = [k for k, (a, b) in enumerate(places) if a >= start and b <= end]
    return (inside[0], inside[-1] + 1) if inside else None


def trimmed(span: Span, text: str, said: Sequence[str], places: Sequence[Span]) -> Span:
    """Trim a value's words: nothing polite before it, nothing of another sentence."""
    first, end = span
    while first < end and said[first] in POLITE:
        first += 1
    for k in range(end - 1, first, -1):
        gap = _gap(text, places, k)
        if set(gap) & _QUOTES or (":" in gap and " " in gap):
            return (k, end) if ":" in gap else (first, k)
    return first, end


def _gap(text: str, places: Sequence[Span], k: int) -> str:
    """Return the text between a word and the one before."""
    return text[places[k - 1][1] : places[k][0]]


def as_value(value: Argument, words: str) -> Argument | None:
    """Convert words to a value of the same type; None when they are none."""
    if isinstance(value, str):
        return words
    number = re.fullmatch(r"\d+(?:\.\d+)?", words)
    if number is None:
        return None
    return int(words) if isinstance(value, int) and words.isdigit() else float(words)
