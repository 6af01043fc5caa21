"""Which words of a request are a free-text argument: the title, the query, the body of a mail.

A stretch is judged by the words around it, the words in it (`planning.manners`) and its own shape; the arguments of all
steps are chosen together, so that no words serve two of them unless nothing else does. Deterministic; the time grows
linearly with the request.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hearth.planning.check import canonical
from hearth.planning.manners import (
    ABSENT,
    CONSTANT,
    SAID,
    Manner,
    Manners,
    content_odds,
    kind_odds,
    left_odds,
    right_odds,
)
from hearth.planning.text import listed
from hearth.planning.thesaurus import KNOWN_WORDS
from hearth.types import Parameter

# Set by cross-validation on the shipped demonstrations (benchmarks/planning.py reports the result).
_W_LEFT, _W_RIGHT, _W_CONTENT = 0.8, 0.4, 1.0
_QUOTED_ODDS = 3.0
_MAX_CONTENT = 9.0
"""However long a stretch is, its words count no more than this."""
_W_ABSENT, _BAR = 1.0, -1.0
_ABSENT_REQUIRED = -12.0
_SHARED_WORDS = 4.0
"""Price of words that serve two steps."""
_FUNCTION_ODDS = -0.5
_CUT_SHORT = 3.0
_N_EDGES, _N_STRETCHES = 12, 6

FUNCTION_WORDS = frozenset(
    listed(
        "a an the my our your his her their its of to in on at for with and or is are was were be been will would should "
        "could can has have had do does did i you we he she it they that this not no so as by from but if up out off"
    )
)
_PRONOUNS = frozenset(
    listed("it them they him her he she that this these those one there then me you us everything everyone")
)
_TITLES = frozenset(
    listed("my our the dr . mr mrs ms miss prof aunt auntie uncle grandma grandpa granny cousin brother sister")
)
_OPENERS = frozenset(listed(": that saying"))
"""What follows them is said to the end of the clause."""
_TRIM_ENDS = frozenset(listed(", . ; : ! ? - please pls thanks"))
_TRIM_STARTS = frozenset(listed(", . ; : ! ? - that please 's"))
_LOOSE_STARTS = frozenset(listed("about of regarding named called titled and or is are saying for on from to than"))
_LOOSE_ENDS = frozenset(
    listed(
        "for to at of with about until till from and or is are the a an my by so but should be will every starting in "
        "into on when"
    )
)
_TAIL_VERBS = frozenset(
    listed(
        "say says start starts begin begins come comes go goes live lives take takes place leave leaves end ends due full "
        "open happen happens now next today yet please there read mean means arrive arrives can works"
    )
)
"""What a question ends with is not part of what it asks about."""
_OWN_VALUES = frozenset({"<quoted>", "<name>", "<file>", "<email>", "<phone>", "<url>", "<expression>", "<unit>"})
"""Values that may be a text argument all by themselves; a time or a number may not, unless demonstrations have it."""
JOINTS = frozenset({",", "and", "&"})


@dataclass(frozen=True, slots=True)
class Wanted:
    """A free-text argument to be found."""

    step: int
    tool: str
    parameter: Parameter
    is_lookup: bool
    """Its tool only reads: the words say what to look for."""

    @property
    def is_list(self) -> bool:
        return canonical(self.parameter.type).startswith("list[")

    @property
    def is_name(self) -> bool:
        return "PersonName" in canonical(self.parameter.type)


@dataclass(frozen=True, slots=True)
class Stretch:
    first: int
    last: int
    """One past its last word."""
    score: float
    """Log-odds that it is the argument, roughly."""


def best_stretches(
    wanted: Sequence[Wanted], words: tuple[str, ...], taken: Mapping[int, set[int]], manners: Manners
) -> list[Stretch | None]:
    """Choose a stretch, or none, for each argument.

    Args:
        words: The request's form.
        taken: Word → steps that have used it already.
    """
    options = [_options(one, words, taken, manners) for one in wanted]
    best: tuple[float, tuple[Stretch | None, ...]] = (float("-inf"), ())
    for choice in itertools.product(*options):
        score = sum(stretch.score if stretch else price for stretch, price in choice)
        if score > best[0]:
            score -= _overlaps([(one.step, stretch) for one, (stretch, _) in zip(wanted, choice)])
            if score > best[0]:
                best = (score, tuple(stretch for stretch, _ in choice))
    return list(best[1])


def _overlaps(chosen: Sequence[tuple[int, Stretch | None]]) -> float:
    price = 0.0
    for (step, a), (other, b) in itertools.combinations(chosen, 2):
        if a and b and a.first < b.last and b.first < a.last:
            price += 100.0 if step == other else _SHARED_WORDS
    return price


def _options(
    wanted: Wanted, words: tuple[str, ...], taken: Mapping[int, set[int]], manners: Manners
) -> list[tuple[Stretch | None, float]]:
    """The likeliest stretches for one argument, and leaving it out with its price."""
    manner = manners.of(wanted.tool, wanted.parameter.name)
    levels = manners.levels(wanted.tool, wanted.parameter.name)
    n = len(words)
    left = [_W_LEFT * max(left_odds(levels, words, i), _left_floor(words, taken, i)) for i in range(n)]
    right = [_W_RIGHT * max(right_odds(levels, words, j), _right_floor(words, taken, j)) for j in range(n + 1)]
    content = [0.0]
    for place, word in enumerate(words):
        odds = _content(wanted, levels, words, place)
        if wanted.step in taken.get(place, ()):
            odds -= 6.0
        content.append(content[-1] + _W_CONTENT * max(-2.5, min(2.5, odds)))
    firsts = sorted(range(n), key=lambda i: -left[i])[:_N_EDGES]
    lasts = sorted(range(1, n + 1), key=lambda j: -right[j])[:_N_EDGES]
    found: dict[tuple[int, int], float] = {}
    for first, last in itertools.product(firsts, lasts):
        place_ = _trimmed(wanted, words, first, last) if first < last else None
        if place_ is None or any(wanted.step in taken.get(k, ()) for k in range(*place_)):
            continue
        score = left[first] + right[last] + min(_MAX_CONTENT, content[place_[1]] - content[place_[0]])
        score += _shape_odds(wanted, words[place_[0] : place_[1]], manner, "<name>" in words)
        if _is_cut_short(wanted, words, taken, first, last):
            score -= _CUT_SHORT
        found[place_] = max(score, found.get(place_, score))
    best = sorted(found, key=lambda p: (-found[p], p))[:_N_STRETCHES]
    return [*((Stretch(*p, found[p]), 0.0) for p in best), (None, _price_of_leaving_out(wanted, manner, words))]


def _price_of_leaving_out(wanted: Wanted, manner: Manner | None, words: tuple[str, ...]) -> float:
    unsaid = _ABSENT_REQUIRED if wanted.parameter.is_required else 0.0
    if manner is None:
        return unsaid
    odds = kind_odds(manner, words)
    implied = max((odds[k] for k in odds if k.startswith(CONSTANT) and not looks_like_a_value(k)), default=0.0)
    if implied > 0.5:
        return 2.0
    if wanted.parameter.is_required:
        return unsaid
    return _W_ABSENT * math.log((odds.get(ABSENT, 0.0) + 0.02) / (odds.get(SAID, 0.0) + 0.02)) + _BAR


def looks_like_a_value(kind: str) -> bool:
    """A constant with digits is a date or number that some request happened to have: no convention."""
    return any(character.isdigit() for character in kind)


# ── Judging a stretch ─────────────────────────────────────────────────────────────────────────────────────


def _content(wanted: Wanted, levels: Sequence[Manner], words: Sequence[str], place: int) -> float:
    word = words[place]
    odds = content_odds(levels, word)
    if word in FUNCTION_WORDS:
        odds = max(odds, _FUNCTION_ODDS)
    if wanted.is_list and word in JOINTS:
        odds = max(odds, 0.5)
    if place == 0 and word in KNOWN_WORDS:
        odds -= 1.0  # what a request begins with asks
    return odds


def _left_floor(words: Sequence[str], taken: Mapping[int, set[int]], place: int) -> float:
    """What the place alone says of an argument beginning there: after a colon or a value that is spoken for."""
    if place and (words[place - 1] == ":" or words[place] == "<quoted>"):
        return 1.0
    return -0.5 if place and place - 1 in taken else -9.0


def _right_floor(words: Sequence[str], taken: Mapping[int, set[int]], place: int) -> float:
    """What the place alone says of an argument ending there: at the end, before a value that is spoken for."""
    if place >= len(words) or place in taken:
        return 0.5
    return 1.0 if place and words[place - 1] == "<quoted>" else -9.0


def _is_cut_short(wanted: Wanted, words: Sequence[str], taken: Mapping[int, set[int]], first: int, last: int) -> bool:
    """Whether a message that was opened (`saying …`) would end before the clause does."""
    if wanted.is_list or wanted.is_name or wanted.is_lookup or not first or words[first - 1] not in _OPENERS:
        return False
    return last < len(words) and last not in taken and words[last - 1] != "<quoted>"


def _shape_odds(wanted: Wanted, words: Sequence[str], manner: Manner | None, has_name: bool) -> float:
    """What the stretch itself says: a quoted text is one, a pronoun is none, a name is short."""
    if all(word in _PRONOUNS or word in FUNCTION_WORDS for word in words):
        return -8.0
    if len(words) == 1 and words[0].startswith("<"):
        if words[0] in ("<quoted>", "<expression>") and not wanted.is_name:
            return _QUOTED_ODDS
        known = manner is not None and (manner.inside[words[0]] or manner.views.get(words[0]))
        if words[0] not in _OWN_VALUES and not known:
            return -6.0
    if not wanted.is_name:
        return 0.0
    if any(word.startswith("<") and word not in ("<name>", "<quoted>") for word in words):
        return -8.0
    n_names = sum(word == "<name>" for word in words)
    n_others = sum(word != "<name>" and word not in _TITLES for word in words)
    if n_names > 1:
        return -8.0
    return (2.0 if n_names else -3.0 * has_name) - 1.5 * max(0, n_others - (0 if n_names else 2))


def _trimmed(wanted: Wanted, words: Sequence[str], first: int, last: int) -> tuple[int, int] | None:
    """Without punctuation, politeness and loose words at the ends; None when nothing is left."""
    while first < last and (words[last - 1] in _TRIM_ENDS or (words[last - 1] in _LOOSE_ENDS and last - first > 1)):
        last -= 1
    while first < last and (words[first] in _TRIM_STARTS or words[first] in _LOOSE_STARTS):
        first += 1
    if wanted.is_name:
        while first < last and words[first] in KNOWN_WORDS and words[first] not in _TITLES:
            first += 1
        while first < last and words[last - 1] in KNOWN_WORDS and words[last - 1] not in _TITLES:
            last -= 1
    elif wanted.is_lookup:
        while last - first > 1 and words[last - 1] in _TAIL_VERBS:
            last -= 1
    return (first, last) if first < last else None
