"""Compares words and names as people mean them, and finds texts by a few words of the owner.

Case, accents and plural endings make no difference; in a search every significant word must occur, in any order, small
words do not count, and a word of four letters or more also finds longer words that it begins. Titles are compared word
by word (`Query`), which is quick for thousands of events; long texts are searched by patterns (`wanted`), which find
words inside names of files and of languages without spaces, count them, and tell where they are. What a person allows
another by name is compared exactly (`same_name`): in any case and however its letters are stored, but "café" is not
"cafe". Not covered: synonyms, typing errors, word forms beyond English plurals and possessives.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

# ── The same word ─────────────────────────────────────────────────────────────────────────────────────


_SMALL = frozenset(
    re.findall(
        r"\w+",
        "a an the my our your his her their this that these those some any of for to in on at with and or from by "
        "about is are was were be do does did have has had i me we us you it",
    )
)
_SMALL_OF_TITLES = _SMALL | {"next"}
_ARTICLES = frozenset({"the", "a", "an", "my", "our", "this", "that"})
"""Words that alone name nothing: "the" of "move the reminder"."""
_SMALL_OF_TEXTS = _SMALL | {"its", "all", "regarding"}
_GENERIC = frozenset(
    re.findall(r"\w+", "appointment appt event meeting entry calendar reminder task date session contact person")
)
_FILLERS = frozenset(re.findall(r"\w+", "thing one stuff item entry bit"))
"""Stems that people put in the place of a word which they leave out: "the tape thing"."""
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
        self.words = found - _SMALL_OF_TITLES or found - _ARTICLES
        self.specific = self.words - _GENERIC - _FILLERS
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


# ── The same name ─────────────────────────────────────────────────────────────────────────────────────


def same_name(name: str) -> str:
    """Return a name as it is compared.

    >>> same_name("José") == same_name("JOSE\\u0301")
    True
    >>> same_name("José") == same_name("Jose")
    False
    """
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).split())


def by_same_name(names: Iterable[str]) -> dict[str, str]:
    """Return names by how they are compared, without those of which there are several."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(same_name(name), []).append(name)
    return {key: several[0] for key, several in found.items() if len(several) == 1}


# ── A few words of the owner ──────────────────────────────────────────────────────────────────────────


N_MAX_QUERY_CHARACTERS = 2_000
N_MAX_WORDS = 32
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

        A word that no text has cannot tell which one is meant: "that newsletter of the garden club". One that stands
        for a word left out, as in "the wifi thing", tells nothing beside another.
        """
        telling = [p for p in self.patterns if p not in _filling()]
        left = list(telling)
        for text in texts:
            plain = fold(text)
            left = [p for p in left if not p.search(plain)]
        kept = tuple(p for p in telling if p not in left)
        is_less = len(kept) < len(self.patterns)
        return Wanted(kept if is_less and 3 * len(left) <= len(telling) else ())

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
    telling = [word for word in found if word not in _SMALL_OF_TEXTS] or found
    specific = [word for word in map(stem, telling) if word not in generic]
    return Wanted(tuple(_pattern(word) for word in dict.fromkeys(specific[:N_MAX_WORDS])))


_ALSO_CALLED = {"quote": ("quotation", "estimate"), "estimate": ("quote", "quotation"), "invoice": ("bill",)}
"""Papers whose writers call them otherwise than who gets them."""


def called(word: str) -> tuple[str, ...]:
    """Return a stem and what its thing is called, too: a "quotation" is a quote."""
    return (word, *_ALSO_CALLED.get(word, ()))


def _pattern(word: str) -> re.Pattern[str]:
    if word in _ALSO_CALLED:
        return re.compile(rf"(?<![^\W_])(?:{'|'.join(called(word))})")
    if any(c >= "\u2e80" for c in word):
        return re.compile(re.escape(word))  # Chinese, Japanese, Korean: no spaces between words
    if word.endswith("y") and len(word) > 3:
        return re.compile(rf"(?<!\w){re.escape(word[:-1])}(?:y|ies)")
    ending = "" if len(word) >= 4 else r"(?:['’]?s|es)?(?!\w)"
    return re.compile(rf"(?<![^\W_]){re.escape(word)}{ending}")


@functools.cache
def _filling() -> frozenset[re.Pattern[str]]:
    return frozenset(map(_pattern, _FILLERS))


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
