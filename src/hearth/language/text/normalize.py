"""Compares words as people mean them: case, accents and plural endings make no difference.

Not covered: synonyms and inflection beyond English plurals and possessives.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable

_STOP = frozenset(
    re.findall(
        r"\w+",
        "a an the my our your his her their this that these those some any of for to in on at with and or from by "
        "about is are was were be do does did have has had i me we us you it next",
    )
)
_GENERIC = frozenset(
    re.findall(r"\w+", "appointment event meeting entry calendar reminder task date session contact person")
)
_SPECIAL = str.maketrans({"ß": "ss", "ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"})


@functools.lru_cache(maxsize=4_000)
def folded(text: str) -> str:
    """Fold to lower case, without accents: `Zoë Müller` is `zoe muller`."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in plain if not unicodedata.combining(c)).translate(_SPECIAL)


@functools.lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return a folded word without possessive or plural ending."""
    word = word.removesuffix("'s").removesuffix("’s")
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


@functools.lru_cache(maxsize=4_000)
def stems(text: str) -> frozenset[str]:
    """Return the stems of the words in `text`."""
    return frozenset(stem(word) for word in re.findall(r"[\w]+(?:['’]s\b)?", folded(text)))


BY_ID = "id:"
"""Begins a query for the one record that has the id behind it: what the owner picked from the last answer."""


class Query:
    """Words that must all occur. Small words (`the`, `my`, `with`) do not count."""

    def __init__(self, text: str) -> None:
        found = stems(text)
        self.words = found - _STOP or found
        self.specific = self.words - _GENERIC
        """Words of the query without such as `appointment`, which people say but do not write in a title."""

    def matches(self, text: str) -> bool:
        """Return whether every word of the query is a word of `text` or begins one (from four letters on)."""
        return self._all_in(self.words, text)

    def matches_loosely(self, text: str) -> bool:
        """Match as `matches` does, by the specific words alone; False when there is none."""
        return bool(self.specific) and self._all_in(self.specific, text)

    def known_in(self, texts: Iterable[str]) -> Query | None:
        """Return the query without the words that none of the texts has; None where that is none of them, or
        more than a third."""
        left = set(self.specific or self.words)
        n_all = len(left)
        for text in texts:
            known = stems(text)
            left = {word for word in left if not _is_in(word, known)}
        if not 0 < 3 * len(left) <= n_all:
            return None
        return Query(" ".join(sorted((self.specific or self.words) - left)))

    def _all_in(self, words: frozenset[str], text: str) -> bool:
        known = stems(text)
        return all(_is_in(word, known) for word in words)


def id_asked(query: str) -> str:
    """Return the id of the one record that a query names (`id:…`); empty for one by words."""
    return query.removeprefix(BY_ID) if query.startswith(BY_ID) else ""


def _is_in(word: str, known: frozenset[str]) -> bool:
    return word in known or (len(word) >= 4 and any(other.startswith(word) for other in known))
