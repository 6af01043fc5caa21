"""Chooses the arguments of a call together, or of several calls of one tool, from what each might be.

Of two parameters that point at the same words, the less sure one takes its next likeliest; an optional one that only
repeats another's words stays unsaid. Several calls of one tool share what is said once and take turns with what is said
several times. Not covered: calls whose values are worked out from each other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hearth.types import Argument, Parameter

_SHARED_PRICE = 4.0
"""Log-probability by which words that no other parameter of the call has may be less likely."""
_ORDER_GAIN = 0.3
"""Log-probability of two values that stand in the order of their parameters, against the other order."""
_N_BEAM = 48
_LEAST_FURTHER = math.log(0.5)
"""Least log-probability, against the likeliest value, of a value that shows a further call."""
_LEAST_IN_TURN = math.log(0.0025)
"""The same where the number of calls is known."""
_MOST_CALLS = 12
_SURE_MISSING = math.log(0.97 / 0.03)
"""Log-odds of "not said" from which on a required parameter is missing."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that a parameter may have."""

    value: Argument
    score: float
    """Log-probability against the likeliest of its kind, plus that of the kind."""
    confidence: float
    place: tuple[int, int] | None = None
    """Characters that say it; None of what stands nowhere."""
    is_number: bool = False
    is_piece: bool = False
    """One of several things named together, where the likeliest value is all of them."""

    def overlaps(self, other: Choice) -> bool:
        """Return whether two values are read from the same words. A number may stand in a longer text."""
        if self.place is None or other.place is None or self.is_number != other.is_number:
            return False
        return self.place[0] < other.place[1] and other.place[0] < self.place[1]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the text says of one parameter."""

    parameter: Parameter
    choices: tuple[Choice, ...]
    """Likeliest first."""
    unsaid: float
    """Log-probability that it is not said."""


Chosen = dict[str, Choice | None]


def choose(evidence: Sequence[Evidence]) -> Chosen:
    """Return the likeliest values of one call, None of what is unsaid."""
    order = sorted(evidence, key=lambda e: -e.choices[0].confidence if e.choices else 0.0)
    place = {one.parameter.name: k for k, one in enumerate(evidence)}
    beam: list[tuple[float, tuple[Choice | None, ...]]] = [(0.0, ())]
    for one in order:
        longer = []
        for score, taken in beam:
            for choice in (*one.choices, None):
                longer.append(
                    (score + _worth(one, choice, taken) + _order(one, choice, order, taken, place), (*taken, choice))
                )
        longer.sort(key=lambda pair: -pair[0])
        beam = longer[:_N_BEAM]
    return {one.parameter.name: choice for one, choice in zip(order, beam[0][1])}


def _worth(evidence: Evidence, choice: Choice | None, taken: Sequence[Choice | None]) -> float:
    if choice is None:
        is_required = evidence.parameter.is_required
        return evidence.unsaid - (_SURE_MISSING if is_required else 0.0) if evidence.choices else 0.0
    n_shared = sum(other is not None and choice.overlaps(other) for other in taken)
    return choice.score - _SHARED_PRICE * n_shared


def _order(
    evidence: Evidence,
    choice: Choice | None,
    order: Sequence[Evidence],
    taken: Sequence[Choice | None],
    place: Mapping[str, int],
) -> float:
    """Return what a value gains by standing as its parameter does before or after the others."""
    if choice is None or choice.place is None:
        return 0.0
    gain = 0.0
    for other, value in zip(order, taken):
        if value is None or value.place is None or value.is_number != choice.is_number or choice.overlaps(value):
            continue
        is_before = place[evidence.parameter.name] < place[other.parameter.name]
        gain += _ORDER_GAIN if is_before == (choice.place < value.place) else -_ORDER_GAIN
    return gain


def n_calls(evidence: Sequence[Evidence]) -> int:
    """Return how many calls of the tool the text asks for: as many as its values come in turns, at least one."""
    telling = [one for one in evidence if one.parameter.is_required]
    turns = _turns(telling, choose(evidence)).values()
    # What is a list names several things in one call.
    return min(_MOST_CALLS, _n_of([len(values) for values in turns if not isinstance(values[0].value, list)]))


def _n_of(turns: Sequence[int]) -> int:
    several = sorted({n for n in turns if n > 1})
    if len(several) == 2 and turns.count(several[0]) == turns.count(several[1]) == 1:
        return several[0] * several[1]  # each of these with each of those
    return several[-1] if several else 1


def choose_each(evidence: Sequence[Evidence], n: int) -> list[Chosen]:
    """Return the values of `n` calls, in the order of the text."""
    first = choose(evidence)
    if n <= 1:
        return [first]
    turns = _turns(evidence, first, n)
    crossed = sorted((name for name, values in turns.items() if 1 < len(values) < n), key=lambda name: len(turns[name]))
    is_crossed = len(crossed) == 2 and len(turns[crossed[0]]) * len(turns[crossed[1]]) == n
    anchors = next((values for values in turns.values() if len(values) == n), ())
    calls: list[Chosen] = []
    for k in range(n):
        call = dict(first)
        for name, values in turns.items():
            if is_crossed and name in crossed:
                outer = max(crossed, key=lambda c: turns[c][0].place or (0, 0))
                inner = len(turns[outer])
                call[name] = values[k % inner] if name == outer else values[k // inner]
            else:
                call[name] = _in_turn(values, k, n, anchors)
        calls.append(call)
    return calls


def _in_turn(values: Sequence[Choice], k: int, n: int, anchors: Sequence[Choice]) -> Choice:
    """Return the value of call `k`: its own, or the last said before the call's; or before the next call's, where such
    values follow what they belong to."""
    if len(values) == n:
        return values[k]
    if not anchors:
        return values[min(k, len(values) - 1)]
    places = [one.place or (0, 0) for one in anchors]
    is_leading = (values[0].place or (0, 0)) < places[0]
    if is_leading:
        before = [v for v in values if (v.place or (0, 0)) <= places[k]]
    else:
        before = [v for v in values if k + 1 == n or (v.place or (0, 0)) < places[k + 1]]
    return before[-1] if before else values[0]


def _free_pieces(one: Evidence, first: Choice, taken: Mapping[str, Sequence[Choice]]) -> list[Choice]:
    """Return the pieces of a list that its parameter may take in turn: those that no other parameter uses."""
    pieces = [choice for choice in one.choices if choice.is_piece]
    if not pieces or not (first.is_piece or first.overlaps(pieces[0])):
        return []
    others = [value for name, values in taken.items() if name != one.parameter.name for value in values]
    return [piece for piece in pieces if not any(piece.overlaps(other) for other in others)]


def _turns(evidence: Sequence[Evidence], first: Mapping[str, Choice | None], most: int = 0) -> dict[str, list[Choice]]:
    """Return the values that each parameter takes in turn, in the order of the text.

    Args:
        most: Number of calls, where it is known: weaker values then count as well, up to so many.
    """
    taken = {name: [choice] for name, choice in first.items() if choice is not None}
    for one in sorted(evidence, key=lambda e: -e.choices[0].confidence if e.choices else 0.0):
        mine = taken.get(one.parameter.name)
        if not mine or mine[0].place is None:
            continue
        if len(pieces := _free_pieces(one, mine[0], taken)) > 1:
            taken[one.parameter.name] = pieces
            continue
        least = mine[0].score + (_LEAST_IN_TURN if most else _LEAST_FURTHER)
        for choice in one.choices:
            if choice.place is None or choice.score < least or (most and len(mine) >= most):
                continue
            if not any(choice.overlaps(other) for values in taken.values() for other in values):
                mine.append(choice)
    return {name: sorted(values, key=lambda v: v.place or (0, 0)) for name, values in taken.items() if len(values) > 1}
