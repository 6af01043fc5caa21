"""Finds several things that one verb is said of, and says it of each: "turn off the lamp and the heater" is "turn off
the lamp. turn off the heater".

Covered: things joined by "and", "n", "&" or "plus", and by commas before one of these; a verb before them, a state
behind them ("kitchen light and telly off") or between ("is the back door locked and the garage"). Not covered: things
of more than four words or with a value in them; languages other than English. Whether each is a thing by itself, or
both are one ("salt and vinegar crisps"), words alone do not tell: whoever asks plans it both ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hearth.language.acts.clauses import VERBS
from hearth.language.text.tokens import Clause, Slot, Token, listed

_JOINING = frozenset(listed("and n & plus"))
_DETERMINERS = frozenset(listed("the a an my our your his her their this that these those"))
_STATES = frozenset(listed("on off up down out in open shut closed locked unlocked done finished gone"))
_NO_THINGS = frozenset(
    listed(
        "of to at for with or is are was were be been will would should could can has have had do does did i you we he "
        "she it they them him me us not no so as by from but if about please then also too what who when where how why "
        "there here now just oh ok okay pls once since while until both all"
    )
)
_BEHIND = (
    _STATES | _JOINING | frozenset(listed("in at to for from of by with please pls as today tomorrow tonight now"))
)
"""What a thing may end before."""
_MOST_WORDS = 4
_POSSESSIVE = "'s"


@dataclass(frozen=True, slots=True)
class SharedVerb:
    """Things that one verb is said of."""

    things: tuple[str, ...]
    text: str
    """The whole text, with what is said of all said of each."""
    is_state_behind: bool
    """Whether what is said of the things stands behind the last of them alone."""


def shared_verb(text: str, said: Sequence[Token], slots: Sequence[Slot], acts: Sequence[Clause]) -> SharedVerb | None:
    """Return the first of a request's acts that is about several things at once; None where none is.

    Args:
        said: The request's words.
        slots: Its typed values.
        acts: Its parts that each ask for one thing.
    """
    for act in acts:
        inside = [token for token in said if act.start <= token.start < act.end]
        valued = {k for k, t in enumerate(inside) if any(s.start < t.end and t.start < s.end for s in slots)}
        found = _things(inside, valued)
        if found is None:
            continue
        things, behind = found
        cut = [(inside[first].start, inside[last - 1].end) for first, last in things]
        start = text[act.start : cut[0][0]]
        between = text[cut[0][1] : inside[behind].end] if behind is not None else ""
        rest = between if behind is not None else text[cut[-1][1] : act.end]
        each = [text[first:last] for first, last in cut]
        spelt = ". ".join(f"{start}{thing}{rest}".strip() for thing in each)
        is_behind = not start.strip() and bool(rest.strip())
        return SharedVerb(tuple(each), text[: act.start] + spelt + text[act.end :], is_behind)
    return None


def _things(said: Sequence[Token], valued: set[int]) -> tuple[list[tuple[int, int]], int | None] | None:
    """Return where the things stand, and where the state stands that is between the first and the others."""
    for place, token in enumerate(said):
        if token.low not in _JOINING or place in (0, len(said) - 1):
            continue
        last = _thing_from(said, place + 1, valued)
        if last is None:
            continue
        first = _things_before(said, place, valued)
        if first:
            return [*first, *_and_on(said, last, valued)], None
        is_state = said[place - 1].low in _STATES and last[1] == len(said)
        first = _things_before(said, place - 1, valued) if is_state else []
        if first:
            return [first[-1], last], place - 1
    return None


def _and_on(said: Sequence[Token], last: tuple[int, int], valued: set[int]) -> list[tuple[int, int]]:
    """Return a thing and those that are joined to it behind."""
    found = [last]
    while found[-1][1] < len(said) - 1 and said[found[-1][1]].low in _JOINING:
        after = _thing_from(said, found[-1][1] + 1, valued)
        if after is None:
            break
        found.append(after)
    return found


def _thing_from(said: Sequence[Token], start: int, valued: set[int]) -> tuple[int, int] | None:
    """Return the thing that begins at a word; None where other words follow it than belong behind a thing."""
    first = start + (said[start].low in _DETERMINERS)
    stop = first
    while stop < len(said) and _is_naming(said, stop, valued):
        stop += 1
    is_ended = stop == len(said) or not said[stop].low[0].isalnum() or said[stop].low in _BEHIND
    return (start, stop) if is_ended and 0 < stop - first <= _MOST_WORDS else None


def _things_before(said: Sequence[Token], stop: int, valued: set[int]) -> list[tuple[int, int]]:
    """Return the things that end before a word, in order: those before commas, too."""
    found: list[tuple[int, int]] = []
    while stop > 0:
        start = stop
        while start > 0 and _is_naming(said, start - 1, valued):
            start -= 1
        start += start < stop and said[start].low == _POSSESSIVE  # "what's": no name's
        if not 0 < stop - start <= _MOST_WORDS:
            break
        start -= start > 0 and said[start - 1].low in _DETERMINERS
        found.insert(0, (start, stop))
        if start == 0 or said[start - 1].low not in {",", *_JOINING}:
            break
        stop = start - 1
    return found


def _is_naming(said: Sequence[Token], place: int, valued: set[int]) -> bool:
    token = said[place]
    is_word = (token.low[0].isalpha() or token.low == _POSSESSIVE) and token.low not in _JOINING
    return is_word and place not in valued and token.low not in VERBS | _STATES | _NO_THINGS | _DETERMINERS
