"""What an owner's own words stand for: "goodnight" is the lamp, the door and seventeen degrees, since they taught it.

A demonstration by the owner (taught, corrected, or a success of theirs) holds a convention when its plan has values
that its request does not say, and none that hangs on a date: they cannot be read from words, only known. Its phrase is
what such requests share and others lack. A request that says the phrase, and little beside it, gets the newest such
plan.

Covered: one or several words, small typing errors in long ones, meanings that change (the newest holds).
Not covered: conventions with a part that must be read anew ("tell the band that …"), exceptions ("goodnight, but leave
the lamp"), phrases that ordinary requests use as well.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hearth.tools.words import folded, stem
from hearth.types import Argument, Demonstration, Plan, Ref

OWNERS = ("owner", "success")
"""Sources of demonstrations that are in the owner's own words."""
CONFIDENCE = 0.9
"""Of a plan whose phrase stood for nothing else; as right on the development half of Q2A as it says."""
_LONGEST = 3
_LEAST_PURITY = 0.75
_MOST_BESIDE = 5
"""Telling words beside the phrase: with more, the request asks for something else, too."""
_LIKE, _LEAST_FUZZY = 0.8, 5
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d")
_SMALL = frozenset(
    re.findall(
        r"[\w']+",
        "a an the my our your to for of on in at with and or please pls plz ok okay now then so um uh yeah hey hi ta "
        "thanks just again all it is that this i im i'm we me you go do as always ever from here be get got today "
        "tonight",
    )
)
_EXCEPT = frozenset(
    re.findall(
        r"[\w']+",
        "but except without not no don't dont leave keep only instead cancel stop what when who why how include mean "
        "means",
    )
)
"""A request with one of these says more than the phrase, or asks about it."""


@dataclass(frozen=True, slots=True)
class Convention:
    """A demonstration that holds one."""

    id: str
    words: tuple[str, ...]
    plan: Plan
    defined: tuple[str, ...] = ()
    """The phrase that the request explains ("close up, by which I mean …"); empty: it explains none."""


class Conventions:
    """The conventions among some demonstrations, oldest first; made anew when they change."""

    def __init__(self, own: Sequence[Demonstration], others: Iterable[str]) -> None:
        """Find what the owner's words stand for.

        Args:
            own: What the owner taught, oldest first.
            others: Requests of everybody else's demonstrations: a phrase they use is no convention.
        """
        self._held = [one for d in own if (one := _held(d)) is not None]
        alike = _spellings([word for one in self._held for word in one.words])
        read = [words_of(text) for text in others]
        begun = Counter(words[0] for words in read if words)
        self._commands = frozenset(word for word, n in begun.items() if n > 1 and word not in _SMALL)
        spoken = Counter(gram for words in read for gram in set(_grams(words)))
        said: dict[tuple[str, ...], list[Convention]] = {}
        for one in self._held:
            for gram in set(_grams([alike.get(word, word) for word in one.words])):
                said.setdefault(gram, []).append(one)
        ids = {one.id for one in self._held}
        beside: dict[tuple[str, ...], list[str]] = {}  # first tool of what else the owner said a phrase for
        for d in own:
            if d.id not in ids:
                for gram in set(_grams([alike.get(word, word) for word in words_of(d.request)])) & said.keys():
                    beside.setdefault(gram, []).append(d.plan.steps[0].tool if d.plan.steps else "")
        self._phrases: Mapping[tuple[str, ...], list[Convention]] = {
            gram: found for gram, found in said.items() if _is_phrase(gram, found, spoken[gram], beside.get(gram, []))
        }

    def __len__(self) -> int:
        return len(self._held)

    def meant(self, text: str) -> tuple[Plan, str] | None:
        """The plan that a request stands for and the demonstration it rests on; None when it is no convention."""
        words = words_of(text)
        if not self._phrases or not words or _EXCEPT & set(words):
            return None
        best: tuple[int, int, Convention] | None = None
        for gram, found in self._phrases.items():
            place = _place(gram, words)
            if place is None:
                continue
            beside = [word for k, word in enumerate(words) if not place <= k < place + len(gram) and word not in _SMALL]
            known = {word for one in found for word in one.words}
            new = [word for word in beside if word not in known]
            if any(word in self._commands or word.isdigit() for word in new):
                continue  # "remind me of …" asks for something else, whatever stands in it
            n_beside = len(new)
            rank = (len(gram), len(found), found[-1])
            if n_beside <= _MOST_BESIDE and (best is None or rank[:2] > best[:2]):
                best = rank
        return (best[2].plan, best[2].id) if best is not None else None


def words_of(text: str) -> tuple[str, ...]:
    """The stems of a text's words, in order."""
    return tuple(stem(word) for word in re.findall(r"[\w]+(?:['’]\w+\b)?", folded(text)))


def is_fixed(demonstration: Demonstration) -> bool:
    """Whether a plan has values that its request does not say, and nothing of it must be read anew."""
    said = set(words_of(demonstration.request))
    values = [value for step in demonstration.plan.steps for value in step.arguments.values()]
    literal = [one for value in values for one in _literals(value)]
    if not literal or _has_moment(demonstration):
        return False
    return not any(_is_said(one, said) for one in literal)


_DEFINES = re.compile(
    r"\s*[,.;:(=–—-]*\s*(?:and |which |for you |to you |by which )*"
    r"(?:that'?s|that is|means|meaning|i mean|is what|i\.?e\.|aka|as in|=)(?=[\s,:])",
    re.IGNORECASE,
)
_MOST_DEFINED = 6


def _held(demonstration: Demonstration) -> Convention | None:
    """The convention of a demonstration: of one that explains itself, the words before "that is"."""
    if is_fixed(demonstration):
        return Convention(demonstration.id, words_of(demonstration.request), demonstration.plan)
    match = _DEFINES.search(demonstration.request)
    words = list(words_of(demonstration.request[: match.start()])) if match else []
    while words and words[-1] in _SMALL:
        words.pop()
    if not 0 < len(words) <= _MOST_DEFINED or _has_moment(demonstration) or _has_text(demonstration):
        return None
    phrase = words[-2:] if len(words) > 1 and words[-2] not in _SMALL else words[-1:]
    return Convention(demonstration.id, tuple(words), demonstration.plan, tuple(phrase))


def _has_text(demonstration: Demonstration) -> bool:
    """Whether a value is a text of its own, as of a mail: such a plan is for once."""
    values = [value for step in demonstration.plan.steps for value in step.arguments.values()]
    return any(isinstance(x, str) and len(x.split()) > 3 for value in values for x in _literals(value))


def _has_moment(demonstration: Demonstration) -> bool:
    values = [value for step in demonstration.plan.steps for value in step.arguments.values()]
    return not values or any(isinstance(x, str) and _MOMENT.match(x) for value in values for x in _literals(value))


def _literals(value: Argument) -> list[object]:
    if isinstance(value, list):
        return [one for item in value for one in _literals(item)]
    if isinstance(value, dict):
        return [one for item in value.values() for one in _literals(item)]
    return [] if isinstance(value, Ref) or value is None else [value]


def _is_said(value: object, said: set[str]) -> bool:
    """Whether the words of a value are among those of the request: of a longer value, most of them."""
    words = words_of(str(value))
    telling = [word for word in words if word not in _SMALL] or list(words)
    return bool(telling) and sum(word in said for word in telling) > len(telling) / 2


def _grams(words: Sequence[str]) -> Iterable[tuple[str, ...]]:
    for n in range(1, _LONGEST + 1):
        for start in range(len(words) - n + 1):
            gram = tuple(words[start : start + n])
            if not _SMALL.issuperset(gram):
                yield gram


def _is_phrase(gram: tuple[str, ...], found: Sequence[Convention], n_spoken: int, beside: Sequence[str]) -> bool:
    """Said of one convention and hardly of anything else; a phrase heard once must be the whole of what was said.

    Args:
        n_spoken: How many requests of others have it.
        beside: What the owner's other requests with it began with: one that explains the phrase begins alike.
    """
    tool, n_alike = Counter(one.plan.steps[0].tool for one in found).most_common(1)[0]
    n_explained = sum(one == tool for one in beside)
    if n_alike + n_explained < _LEAST_PURITY * (len(found) + len(beside) + n_spoken):
        return False
    telling = [word for word in found[-1].words if word not in _SMALL]
    return len(found) + n_explained > 1 or len(telling) <= len(gram) or any(one.defined == gram for one in found)


def _spellings(words: Sequence[str]) -> dict[str, str]:
    """Each word that reads like an earlier one, with that one: an error of typing is no word of its own."""
    known: list[str] = []
    found: dict[str, str] = {}
    for word in dict.fromkeys(words):
        first = next((one for one in known if _alike(one, word)), None)
        if first is None:
            known.append(word)
        else:
            found[word] = first
    return found


def _place(gram: tuple[str, ...], words: Sequence[str]) -> int | None:
    for start in range(len(words) - len(gram) + 1):
        if all(_alike(a, b) for a, b in zip(gram, words[start:], strict=False)):
            return start
    return None


def _alike(known: str, word: str) -> bool:
    if known == word:
        return True
    if len(known) < _LEAST_FUZZY or len(word) < _LEAST_FUZZY or known[0] != word[0]:
        return False
    return difflib.SequenceMatcher(None, known, word).ratio() >= _LIKE
