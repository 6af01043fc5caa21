"""A request and a demonstration side by side: which words are the same, where the words of a value stand.

Two words are the same when they are, or when both have four letters or more and are an error of typing apart. A value
is found by what stands around it, a quotation by its place among the quotations.

Covered: other politeness, order and spelling, values at either end. Not covered: words of the same meaning, languages
without spaces between words.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence

from hearth.language.text.normalize import folded
from hearth.types import Argument

_WORD = re.compile(r"[^\W_]+")
POLITE = frozenset(
    re.findall(r"\S+", "please pls plz thanks thank ta hey hi hello ok okay so um uh right hearth you can could would")
)
"""Words that change nothing; they count little when requests are compared."""
_LEAST_FUZZY = 4
Span = tuple[int, int]
"""From a first to behind a last: letters of a text, or words of a request."""


@functools.lru_cache(maxsize=200_000)
def words_of(text: str) -> tuple[tuple[str, ...], tuple[Span, ...]]:
    found = [match.span() for match in _WORD.finditer(text)]
    return tuple(folded(text[a:b]) for a, b in found), tuple(found)


@functools.lru_cache(maxsize=200_000)
def spellings_of(word: str) -> frozenset[str]:
    """The word and, of a longer one, what is left of it without one letter: two words with one in common are an error
    of typing apart.

    Source:
        Symmetric deletion: Garbe 2012, SymSpell; Mor & Fraenkel 1982.
    """
    if len(word) < _LEAST_FUZZY or not word.isalpha():
        return frozenset([word])
    return frozenset([word, *(word[:k] + word[k + 1 :] for k in range(len(word)))])


class Said:
    """A request, its words ready to be looked up."""

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
        """Words of a demonstration beside words of the request: the same, or one error of typing apart; in order where
        there is a choice."""
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
    """Where in the request the words stand that are in a value's place: between those beside it."""
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
    """Of stretches (first word, where it begins) those that begin a quotation: which it is, of how many."""
    found = [match.start(1) for match in _QUOTED.finditer(text)]
    return {word: (found.index(at), len(found)) for word, at in starts if at in found}


def quoted_at(which: Span, text: str, places: Sequence[Span]) -> Span | None:
    """The words of the quotation in the same place, where there are as many."""
    found = [match.span(1) for match in _QUOTED.finditer(text)]
    if len(found) != which[1]:
        return None
    start, end = found[which[0]]
    inside = [k for k, (a, b) in enumerate(places) if a >= start and b <= end]
    return (inside[0], inside[-1] + 1) if inside else None


def trimmed(span: Span, text: str, said: Sequence[str], places: Sequence[Span]) -> Span:
    """The words of a value alone: nothing polite before it, nothing of another sentence."""
    first, end = span
    while first < end and said[first] in POLITE:
        first += 1
    for k in range(end - 1, first, -1):
        gap = _gap(text, places, k)
        if set(gap) & _QUOTES or (":" in gap and " " in gap):
            return (k, end) if ":" in gap else (first, k)
    return first, end


def _gap(text: str, places: Sequence[Span], k: int) -> str:
    """What stands between a word and the one before."""
    return text[places[k - 1][1] : places[k][0]]


def as_value(value: Argument, words: str) -> Argument | None:
    """Words as a value of the same type; None when they are none."""
    if isinstance(value, str):
        return words
    number = re.fullmatch(r"\d+(?:\.\d+)?", words)
    if number is None:
        return None
    return int(words) if isinstance(value, int) and words.isdigit() else float(words)
