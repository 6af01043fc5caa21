"""Finds texts by a few words of the owner: every significant word must occur, in any order; small words do not count.

Case, accents and plural endings make no difference; a word of four letters or more also finds longer words that it
begins. Not covered: synonyms, typing errors, word forms beyond English plurals.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from hearth.language.text.normalize import folded, stem

N_MAX_QUERY_CHARACTERS = 2_000
N_MAX_WORDS = 32
_SMALL_NAMES = (
    "a an the my our your his her its their this that these those some any of for to in on at with and or from by "
    "about is are was were be do does did have has had i me we us you it all regarding"
)
_SMALL = frozenset(_SMALL_NAMES.split())
NO_SUCH_WORD = "Nothing has all of the words; given is what has those that occur at all."
_fold = folded.__wrapped__  # texts of whole mails and files must not stay in a cache of short texts


@dataclass(frozen=True, slots=True)
class Wanted:
    """Words to look for, one pattern each; falsy when none is left."""

    patterns: tuple[re.Pattern[str], ...]

    def __bool__(self) -> bool:
        return bool(self.patterns)

    def missing_in(self, text: str) -> Wanted:
        """Return the words that `text` does not hold."""
        if not self.patterns:
            return self
        plain = fold(text)
        return Wanted(tuple(p for p in self.patterns if not p.search(plain)))

    def known_in(self, texts: Iterable[str]) -> Wanted:
        """Return the words that occur in some of the texts, where these are at least two thirds of all, else nothing.

        A word that no text has cannot tell which one is meant: "that newsletter of the garden club".
        """
        left = list(self.patterns)
        for text in texts:
            plain = fold(text)
            left = [p for p in left if not p.search(plain)]
        kept = tuple(p for p in self.patterns if p not in left)
        return Wanted(kept if 0 < 3 * len(left) <= len(self.patterns) else ())

    def count_in(self, text: str) -> int:
        """Count how often the words occur, at most ten times each."""
        plain = fold(text)
        return sum(min(len(p.findall(plain)), 10) for p in self.patterns)

    def place_in(self, text: str) -> int:
        """Return where the first of the words occurs; 0 when none does or folding changed the length."""
        plain = fold(text)
        if len(plain) != len(text):
            return 0
        places = [match.start() for p in self.patterns if (match := p.search(plain))]
        return min(places, default=0)


def fold(text: str) -> str:
    """Fold to lower case without accents, for texts of any length."""
    return str(_fold(text))


def wanted(query: str, generic: frozenset[str] = frozenset()) -> Wanted:
    """Return the significant words of `query`.

    Args:
        generic: Stems people say but do not write (`mail`, `note`): they do not count.
    """
    return _wanted(query[:N_MAX_QUERY_CHARACTERS], generic)


@lru_cache(maxsize=200)
def _wanted(query: str, generic: frozenset[str]) -> Wanted:
    found = list(dict.fromkeys(re.findall(r"\w+(?:['’]s\b)?", fold(query))))
    telling = [word for word in found if word not in _SMALL] or found
    specific = [word for word in map(stem, telling) if word not in generic]
    return Wanted(tuple(_pattern(word) for word in dict.fromkeys(specific[:N_MAX_WORDS])))


def _pattern(word: str) -> re.Pattern[str]:
    if any(c >= "\u2e80" for c in word):
        return re.compile(re.escape(word))  # Chinese, Japanese, Korean: no spaces between words
    if word.endswith("y") and len(word) > 3:
        return re.compile(rf"(?<!\w){re.escape(word[:-1])}(?:y|ies)")
    ending = "" if len(word) >= 4 else r"(?:['’]?s|es)?(?!\w)"
    return re.compile(rf"(?<![^\W_]){re.escape(word)}{ending}")


def excerpt(text: str, words: Wanted, n_max: int) -> str:
    """Return at most about `n_max` characters of `text`, around the first of the words; `…` marks what was cut off."""
    if len(text) <= n_max:
        return text
    place = words.place_in(text) if words else 0
    start = 0 if place < n_max * 2 // 3 else place - n_max // 3
    if start:
        start = text.rfind(" ", start - 40, start) + 1 or start
    end = start + n_max
    if end < len(text):
        end = max(text.rfind(" ", end - 40, end), text.rfind("\n", end - 40, end), end - 40)
    return f"{'…' if start else ''}{text[start:end].strip()}{'…' if end < len(text) else ''}"


def names(items: Iterable[str], n_max: int = 5) -> str:
    """Join a few of them for a message: `'a', 'b' and 3 more`."""
    known = list(items)
    shown = ", ".join(repr(item) for item in known[:n_max])
    return f"{shown} and {len(known) - n_max} more" if len(known) > n_max else shown
