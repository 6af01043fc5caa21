"""Mends words typed wrongly, so that a request is read as it was meant: "remnid", "shoping", "tommorow".

A word is mended when it is of no known vocabulary (common English, the words of this field, the owner's own names) and
one known word is clearly the likeliest to have been meant: a noisy channel with a price for each slip of the hand and a
rank for how common words are. Where nothing is clear, the word stays. Capitals inside a request, digits, addresses and
what stands in quotation marks are never touched.

Covered: the apostrophe left out behind a name; one slip in a word of four to seven letters, two in a longer one if a
word of this field or of the owner's was meant. Not covered: right words in a wrong place ("by milk"), words glued
together, languages other than English.

Source: Kernighan, Church & Gale 1990 (a noisy channel for spelling); Damerau 1964 (four kinds of slips).
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

LEAST_LETTERS, MOST_LETTERS = 4, 24
_MOST_STRANGE = 200
"""Number of different unknown words of a text that are looked at."""
_TWO_SLIPS_LETTERS = 7
"""Least length of a word in which two slips are thought of."""
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_CHUNK = re.compile(r"\S+")
_QUOTED = re.compile(r"\"[^\"]{0,500}\"|“[^”]{0,500}”")
_NO_WORD = re.compile(r"[@/\\_\d]|\.\w")
"""Matches in what holds no words of a language: addresses, paths, codes."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_ENDINGS = ("'s", "s", "es", "n't", "'ll", "'re", "'ve", "'d")
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_SWAPPED, _MISSED, _TWICE, _ADDED, _NEIGHBOUR, _OTHER = 1.0, 1.5, 1.0, 2.2, 2.0, 3.5
"""Prices of slips: letters swapped, one missed, one typed twice, one too many, the next key, any other."""
_FIRST_LETTER = 4.5
"""Price of a slip at the first letter, where they are rare."""
_OWN_RANK = 100
"""Rank of a word of the owner's, as if it were among the commonest."""
_CLEARLY = 0.7
"""Least difference of the best word's price and the next one's."""
_DEAREST = 11.0
"""Price above which a word is taken for one that is not known rather than for a slip."""


@dataclass(frozen=True, slots=True)
class Mended:
    """A text with its words mended."""

    text: str
    typed: Mapping[str, str]
    """Mended words that are none of the owner's own, each with what was typed."""

    def as_typed(self, value: str) -> str:
        """Return words of the mended text as the owner typed them, but for the owner's own names."""
        return _WORD.sub(lambda match: self.typed.get(match[0], match[0]), value) if self.typed else value


AS_TYPED = Mended("", {})
"""Nothing was mended."""


class Spelling:
    """Knows words, and what was meant by one it does not know."""

    def __init__(self, familiar: Sequence[str], common: Sequence[str]) -> None:
        """Keep the vocabulary, in lower case and the commonest first.

        Args:
            familiar: Words of this field.
            common: English words beside them.
        """
        self._familiar = frozenset(familiar)
        self._ranks = {word: rank for rank, word in enumerate((*familiar, *common), start=1)}

    @classmethod
    @functools.cache
    def shipped(cls) -> Spelling:
        """Return the words that come with Hearth; `training.word_list_make` counts them."""
        familiar, _, common = (files("hearth.data") / "words.txt").read_text().partition("\n\n")
        return cls(familiar.split(), common.split())

    def strange(self, text: str, own: Collection[str] = ()) -> frozenset[str]:
        """Return the words of a text, in lower case, that might be mended: those of no known vocabulary.

        Args:
            own: As in `mended`.
        """
        words = frozenset(own)
        said = {match[0].lower().replace("’", "'") for match in itertools.islice(_plain_words(text), _MOST_STRANGE)}
        return frozenset(w for w in said if LEAST_LETTERS <= len(w) <= MOST_LETTERS and not self._is_known(w, words))

    def mended(self, text: str, own: Collection[str] = (), people: Collection[str] = ()) -> Mended:
        """Return `text` with what is clearly mistyped mended; it stays as it is where nothing is.

        Args:
            own: The owner's words in lower case: names, lists, devices.
            people: Words of the names of people, in lower case: "gareths quote" is Gareth's.
        """
        parts: list[str] = []
        done, kept = 0, dict[str, str]()
        words = frozenset(own)
        known: dict[str, str] = {}
        for match in _plain_words(text):
            typed, low = match[0], match[0].lower().replace("’", "'")
            if low[:-1] in people and low.endswith("s") and low not in words and low not in self._ranks:
                parts += [text[done : match.start()], (said := f"{typed[:-1]}'{typed[-1]}")]
                done, kept[said] = match.end(), typed
                continue
            if typed != low and not (typed == typed.capitalize() and match.start() == 0):
                continue
            if low not in known:
                known[low] = self.meant(low, words) if len(known) < _MOST_STRANGE else low
            meant = known[low]
            if meant == low:
                continue
            said = meant.capitalize() if typed[0].isupper() else meant
            parts += [text[done : match.start()], said]
            done = match.end()
            if meant not in own:
                kept[said] = typed
        return Mended("".join([*parts, text[done:]]), kept)

    def meant(self, word: str, own: frozenset[str] = frozenset()) -> str:
        """Return the word that was meant: `word` itself when it is known, or when no other is clearly meant."""
        if not LEAST_LETTERS <= len(word) <= MOST_LETTERS or self._is_known(word, own):
            return word
        prices = dict(self._one_slip(word, own))
        if len(word) >= _TWO_SLIPS_LETTERS:
            for other in self._familiar | own:
                price = two_slips_price(word, other) if other not in prices else math.inf
                if price < math.inf:
                    prices[other] = price + math.log(self._rank(other, own) or 1)
        ranked = sorted(prices.items(), key=lambda item: (item[1], item[0]))
        if not ranked or ranked[0][1] > _DEAREST:
            return word
        is_clear = len(ranked) == 1 or ranked[1][1] - ranked[0][1] >= _CLEARLY
        return ranked[0][0] if is_clear else word

    def _is_known(self, word: str, own: frozenset[str]) -> bool:
        if self._rank(word, own) is not None:
            return True
        if any(self._rank(f"{word[:-k]}'{word[-k:]}", own) is not None for k in (1, 2)):
            return True  # "isnt"
        stems = (word.removesuffix(end) for end in _ENDINGS if word.endswith(end))
        return any(len(stem) > 2 and self._rank(stem, own) is not None for stem in stems)

    def _rank(self, word: str, own: frozenset[str]) -> int | None:
        rank = self._ranks.get(word)
        return min(rank or _OWN_RANK, _OWN_RANK) if word in own else rank

    def _one_slip(self, word: str, own: frozenset[str]) -> Iterator[tuple[str, float]]:
        best: dict[str, float] = {}
        for other, price in _slips(word):
            rank = self._rank(other, own)
            if rank is not None:
                best[other] = min(best.get(other, math.inf), price + math.log(max(rank, 1)))
        yield from best.items()


def _plain_words(text: str) -> Iterator[re.Match[str]]:
    """Find the words that are neither quoted nor part of an address, a path or a code."""
    quoted = [match.span() for match in _QUOTED.finditer(text)]
    place = 0
    for chunk in _CHUNK.finditer(text):
        while place < len(quoted) and quoted[place][1] <= chunk.start():
            place += 1
        is_quoted = place < len(quoted) and quoted[place][0] < chunk.end()
        if not is_quoted and not _NO_WORD.search(chunk[0]):
            yield from _WORD.finditer(text, *chunk.span())


def words_in_text(text: str) -> Iterator[str]:
    """Yield the words of a text in lower case."""
    yield from (match[0].lower().replace("’", "'") for match in _WORD.finditer(text))


def one_slip_from(word: str) -> frozenset[str]:
    """Return every text that differs from `word` by one slip of the hand."""
    return frozenset(other for other, _ in _slips(word)) - {word}


def _slips(word: str) -> Iterator[tuple[str, float]]:
    """Yield every text from which one slip of the hand makes `word`, with the price of that slip."""
    for k in range(len(word) + 1):
        before, after = word[:k], word[k:]
        at_first = _FIRST_LETTER if k == 0 else 0.0
        if len(after) > 1 and after[0] != after[1]:
            yield before + after[1] + after[0] + after[2:], _SWAPPED + at_first
        if after:
            is_twice = k > 0 and word[k - 1] == after[0]
            yield before + after[1:], (_TWICE if is_twice else _ADDED) + at_first
            near = _neighbours().get(after[0], "")
            for letter in _LETTERS:
                if letter != after[0]:
                    yield before + letter + after[1:], (_NEIGHBOUR if letter in near else _OTHER) + at_first
        for letter in _LETTERS:
            is_twice = k > 0 and word[k - 1] == letter
            yield before + letter + after, (_TWICE if is_twice else _MISSED) + at_first


def two_slips_price(word: str, other: str) -> float:
    """Return the price of two slips between words of the same first letter; infinite for more, or for none."""
    if abs(len(word) - len(other)) > 2 or word[0] != other[0]:
        return math.inf
    before = list(range(len(other) + 1))
    older: list[int] = []
    for i, letter in enumerate(word, 1):
        row = [i]
        for j, wanted in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and word[i - 2] == wanted:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
        if min(row) > 2:
            return math.inf
        older, before = before, row
    return 2 * _NEIGHBOUR if before[-1] == 2 else math.inf


@functools.cache
def _neighbours() -> Mapping[str, str]:
    """Return the keys beside each key."""
    found: dict[str, str] = {}
    for r, row in enumerate(_ROWS):
        for k, key in enumerate(row):
            around = [row[k - 1 : k], row[k + 1 : k + 2]]
            around += [_ROWS[o][max(k - 1, 0) : k + 2] for o in (r - 1, r + 1) if 0 <= o < len(_ROWS)]
            found[key] = "".join(around)
    return found
