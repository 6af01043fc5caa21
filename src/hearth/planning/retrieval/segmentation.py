"""Cuts a request into its acts where the classifier of intents marks that one begins, and tells what wishes nothing.

What the rules of `language.acts.clauses` cut is cut here as well unless the marks speak against it; they stand alone
for a request that is longer than what is marked, and without a classifier. Two things under one verb ("turn off the
lamp and the heater") are one act. Not covered: a thing's name of more than four words, or of some without an article.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hearth.language.acts.clauses import DETERMINERS, STATES, VERBS, past_joining
from hearth.language.reading import Utterance
from hearth.language.text.tokens import Clause, Slot, Token, listed
from hearth.models.intent_classifier import IntentClassifier, MarkedToken
from hearth.planning.retrieval.plan_assembly import is_later

_BEGINS, _BEGINS_BY_RULE = 0.4, 0.1
"""Least chance that an act begins at a word: at any, and at one where a rule says so."""
_IS_ASIDE = 0.5
"""Mean chance of its words above which a piece belongs to no act, unless it holds a value that is no part of today."""
_IS_WISH = 0.06
"""Mean chance below which a piece that a plan takes no word of is told as left undone: of 41 such pieces on requests
looked at, 17 of 24 below it were wishes, 1 of 17 above."""
_MARKS = frozenset(",;.!:-–—")
_LEADING = frozenset(listed("so oh +"))
"""Words before an act that join it to the one before, beside those of the rules."""
_STATES = STATES | frozenset(listed("in done finished gone over low high"))
_MOST_NAMING = 4
"""Words of a thing's name, its article among them."""


@dataclass(frozen=True, slots=True)
class Acts:
    """A request cut into pieces, in order."""

    pieces: tuple[Clause, ...]
    asides: frozenset[int] = frozenset()
    """Places of those that, as marked, wish nothing."""
    wishes: frozenset[int] = frozenset()
    """Places of those that, as marked, surely wish something."""


def acts_of(said: Utterance, classifier: IntentClassifier | None) -> Acts:
    """Return the acts of a request, at least one where it has any words; by the rules alone where it goes on behind the
    words that are marked."""
    marked = classifier.marked(said.text) if classifier is not None else ()
    if len(said.tokens) < 2 or not marked or marked[-1].start < said.tokens[-1].start:
        return Acts(said.acts)
    marks = {mark.start: mark for mark in reversed(marked)}
    unmarked = MarkedToken(0, 0.0, 0.0)
    chances = [marks.get(token.start, unmarked) for token in said.tokens]
    by_rule, in_value = _places_by_rule(said, chances), _in_value(said)
    pieces: list[Clause] = []
    for_nothing: list[float] = []
    for first, last in pairwise([0, *_cuts(chances, by_rule, in_value), len(said.tokens)]):
        piece = _clause(said, in_value, first, last)
        if piece is None:
            continue
        is_beside = bool(pieces) and _is_aside(pieces[-1], for_nothing[-1])
        if pieces and not is_beside and first not in by_rule and _names_a_thing(said, piece):
            pieces[-1] = _up_to(said, pieces[-1], piece)
        else:
            pieces.append(piece)
            for_nothing.append(float(np.mean([chance.is_aside for chance in chances[first:last]])))
    asides = frozenset(k for k, piece in enumerate(pieces) if _is_aside(piece, for_nothing[k]))
    wishes = frozenset(k for k, chance in enumerate(for_nothing) if chance < _IS_WISH)
    return Acts(tuple(pieces), asides if len(asides) < len(pieces) else frozenset(), wishes)


def _cuts(chances: Sequence[MarkedToken], by_rule: Collection[int], in_value: Sequence[Slot | None]) -> list[int]:
    """Return the places at which an act begins after another; none within a value."""
    found = []
    for place, chance in enumerate(chances):
        is_within = place == 0 or (in_value[place] is not None and in_value[place] is in_value[place - 1])
        if not is_within and chance.begins > (_BEGINS_BY_RULE if place in by_rule else _BEGINS):
            found.append(place)
    return found


def _is_aside(piece: Clause, for_nothing: float) -> bool:
    """Return whether a piece wishes nothing, as marked, and holds no value; "today" is said of anything."""
    holds_value = any(slot.kind != "time" or is_later(slot) for slot in piece.slots)
    return not holds_value and for_nothing > _IS_ASIDE


def _names_a_thing(said: Utterance, piece: Clause) -> bool:
    """Return whether a piece is no more than a thing's name, which belongs to the verb before: "… and the heater"."""
    words = [token.low for token in said.tokens if piece.start <= token.start < piece.end]
    is_short = len(words) == 1 or (words[0] in DETERMINERS and len(words) <= _MOST_NAMING)
    return is_short and not piece.slots and not (VERBS | _STATES).intersection(words)


def _up_to(said: Utterance, one: Clause, last: Clause) -> Clause:
    return Clause(one.start, last.end, said.text[one.start : last.end], (*one.slots, *last.slots))


def _in_value(said: Utterance) -> list[Slot | None]:
    """Return, for each token, the value it is of."""
    values: list[Slot | None] = []
    slots, place = said.slots, 0
    for token in said.tokens:
        while place < len(slots) and slots[place].end <= token.start:
            place += 1
        values.append(slots[place] if place < len(slots) and slots[place].start < token.end else None)
    return values


def _places_by_rule(said: Utterance, chances: list[MarkedToken]) -> frozenset[int]:
    """Return the places where the rules cut."""
    starts = [token.start for token in said.tokens]
    found = set()
    for one, after in pairwise(said.acts):
        between = range(bisect_left(starts, one.end), bisect_right(starts, after.start))
        if between:
            found.add(max(between, key=lambda k: (chances[k].begins, -k)))
    return frozenset(found)


def _clause(said: Utterance, in_value: Sequence[Slot | None], first: int, last: int) -> Clause | None:
    """Return the piece from one token up to another, without the marks and joining words at its ends."""
    tokens = said.tokens
    while last > first and tokens[last - 1].low in _MARKS and in_value[last - 1] is None:
        last -= 1
    while first < last and in_value[first] is None:
        after = min(past_joining(tokens, first), last)
        if after == first and (tokens[first].low in _MARKS or tokens[first].low in _LEADING):
            after += 1
        if after in (first, last):
            break
        first = after
    if first == last or all(_is_mark(token) for token in tokens[first:last]):
        return None
    start, end = tokens[first].start, tokens[last - 1].end
    slots = dict.fromkeys(slot for slot in in_value[first:last] if slot is not None and slot.start >= start)
    return Clause(start, end, said.text[start:end], tuple(slots))


def _is_mark(token: Token) -> bool:
    return token.kind == "mark"
