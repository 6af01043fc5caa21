"""Finds several things in a row that one verb is said of, and says it of each: "turn off the lamp and the heater" is
"turn off the lamp. turn off the heater".

Covered: a row right behind the verb that an act begins with ("lock the front door and the side gate", "dim the lamp,
the spots and the shelf to 20"); a row that an act begins with, before a state ("kitchen light and telly off"); a
question for the state of a thing and of one behind it ("is the back door locked and the garage"). Not covered: rows
behind other words ("the note about the car and the bike" is one note, "remind me to feed the cat and the dog" one
reminder), acts that except something, "the front and back door", names that the owner knows with an "and" in them,
things with a value in them, other languages than English. Whether both are one all the same ("the black and the white
lamp"), words alone do not tell: whoever asks plans it both ways.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hearth.language.acts.clauses import DETERMINERS, STATES, VERBS
from hearth.language.text.tokens import Clause, Slot, Token, listed

_PARTICLES = frozenset(listed("on off up down out"))
_ASKING = frozenset(listed("is are was were"))
_POLITE = frozenset(listed("please can could would will you kindly hey hi hello ok okay now just and then also so pls"))
"""Words before the verb with which an act still begins with it."""
_NO_THINGS = frozenset(
    listed(
        "of to at in for with onto into about from by as is are was were be been will would should could can has have "
        "had do does did i you we he she it they them him me us no so if please pls then also too what who when where "
        "how why there here now just today tomorrow tonight oh ok okay once since while until both all"
    )
)
_EXCEPTING = frozenset(
    listed("but except excepting not never without other apart instead stop either or don't dont than")
)
"""Words that say of one of the things what is not said of the others."""
_LEADS_ON = frozenset(listed("to at in on for by"))
"""Words behind a row after which one value, or one more name, goes for all of it."""
_VALUES = frozenset(listed("time duration number quantity unit expression email phone url file quoted"))
_MOST_WORDS, _MOST_THINGS, _LONGEST = 4, 6, 500
"""Words of a thing's name; things in a row; characters of the act said of each."""


@dataclass(frozen=True, slots=True)
class SharedVerb:
    """Things in a row that one verb is said of."""

    things: tuple[str, ...]
    text: str
    """The whole text, with what is said of all said of each."""
    is_state_behind: bool
    """Whether what is said of them stands behind the last alone: "kitchen light and telly off"."""


def shared_verbs(
    text: str, said: Sequence[Token], acts: Sequence[Clause], mentions: Sequence[Slot]
) -> Iterator[SharedVerb]:
    """Yield the rows of things of a request, one for each act that has one.

    Args:
        said: The request's words.
        acts: Its parts that each ask for one thing.
        mentions: Its typed values, and all that is said in it that the context knows.
    """
    for act in acts:
        inside = said[bisect_left(said, act.start, key=_start) : bisect_left(said, act.end, key=_start)]
        row = _Row.in_act(inside, [slot for slot in mentions if act.start <= slot.start < act.end], text)
        if row is None:
            continue
        places = [(row.said[first].start, row.said[last - 1].end) for first, last in row.things]
        before = text[act.start : places[0][0]]
        behind = text[places[0][1] : row.said[row.behind].end] if row.behind else text[places[-1][1] : act.end]
        things = tuple(text[first:last] for first, last in places)
        of_each = ". ".join(f"{before}{thing}{behind}".strip() for thing in things)
        if len(things) <= _MOST_THINGS and len(of_each) <= _LONGEST:
            yield SharedVerb(things, text[: act.start] + of_each + text[act.end :], is_state_behind=not before.strip())


@dataclass(frozen=True, slots=True)
class _Row:
    said: Sequence[Token]
    things: list[tuple[int, int]]
    """First word of each and the one after its last."""
    behind: int = 0
    """Place of the state between the first thing and the other; 0 where there is none."""

    @classmethod
    def in_act(cls, said: Sequence[Token], mentions: Sequence[Slot], text: str) -> _Row | None:
        """Return the row of an act; None where it has none, or several things are known by one name."""
        if len(said) < 3 or any(token.low in _EXCEPTING for token in said):
            return None
        values = [slot for slot in mentions if slot.kind in _VALUES]
        valued = {k for k, token in enumerate(said) if any(s.start < token.end and token.start < s.end for s in values)}
        start = next((k for k, token in enumerate(said) if token.low not in _POLITE), 0)
        if said[start].low in _ASKING:
            return cls._asked(said, start + 1, valued, text)
        row = cls._ordered(said, start, valued, text)
        joints = [said[first - 1].start for first, _ in row.things[1:]] if row is not None else []
        return None if any(slot.start < joint < slot.end for slot in mentions for joint in joints) else row

    @classmethod
    def _ordered(cls, said: Sequence[Token], start: int, valued: set[int], text: str) -> _Row | None:
        """Return the row behind the verb that stands at a word, or of what stands there before a state."""
        is_verb = said[start].low in VERBS
        if is_verb:
            start += 1 + (said[min(start + 1, len(said) - 1)].low in _PARTICLES)
        things = _things_from(said, start, valued, text)
        if len(things) < 2 or not _is_plain(said, things):
            return None
        end = things[-1][1]
        has_state = end < len(said) and said[end].low in STATES
        return cls(said, things) if (is_verb or has_state) and _is_all(said, end + has_state, valued) else None

    @classmethod
    def _asked(cls, said: Sequence[Token], start: int, valued: set[int], text: str) -> _Row | None:
        """Return the thing at a word whose state is asked for, and the one behind that state."""
        things = _things_from(said, start, valued, text)
        if len(things) != 1 or not _is_asked_again(said, things[0][1], valued, text):
            return None
        end = things[0][1]
        return cls(said, [things[0], (end + 2, len(said))], end)


def _things_from(said: Sequence[Token], start: int, valued: set[int], text: str) -> list[tuple[int, int]]:
    """Return the things in a row that begins at a word; of the last comma on, only what a joining word follows."""
    found: list[tuple[int, int]] = []
    n_joined = 0
    while start < len(said):
        first = start + (said[start].low in DETERMINERS)
        stop = first
        while stop < len(said) and _is_naming(said, stop, valued, text):
            stop += 1
        if not 0 < _n_words(said[first:stop]) <= _MOST_WORDS:
            break
        found.append((start, stop))
        is_joined = _joins(said, stop, text)
        if is_joined:
            n_joined = len(found) + 1
        elif stop == len(said) or said[stop].low != ",":
            break
        start = stop + 1 + (not is_joined and _joins(said, stop + 1, text))
        n_joined = len(found) + 1 if start == stop + 2 else n_joined
    return found[: max(n_joined, 1)]


def _is_asked_again(said: Sequence[Token], end: int, valued: set[int], text: str) -> bool:
    """Return whether behind a thing there is its state, and then one more thing and nothing else."""
    if end + 2 >= len(said) or said[end].low not in STATES or not _joins(said, end + 1, text):
        return False
    others = _things_from(said, end + 2, valued, text)
    return len(others) == 1 and others[0][1] == len(said)


def _is_all(said: Sequence[Token], end: int, valued: set[int]) -> bool:
    """Return whether behind a row no more is said than goes for all of it: a state, one value, a place."""
    rest = [k for k in range(end, len(said)) if said[k].low not in ("please", "pls", "too", "now")]
    if not rest:
        return True
    others = [k for k in rest if k not in valued]
    is_led = said[rest[0]].low in _LEADS_ON or rest[0] in valued
    names_more = any(not said[k].low[0].isalnum() or said[k].low in {*VERBS, "and", "n", "plus"} for k in others)
    return is_led and not names_more and len(others) <= _MOST_WORDS


def _is_plain(said: Sequence[Token], things: Sequence[tuple[int, int]]) -> bool:
    """Return whether each is named by itself: not "the front and back door", where the first has the only article."""
    articles = [said[first].low in DETERMINERS for first, _ in things]
    return all(articles) or not articles[0]


def _joins(said: Sequence[Token], place: int, text: str) -> bool:
    """Return whether a word joins what stands before it and behind: not in "B&B"."""
    if not 0 < place < len(said) - 1 or said[place].low not in ("and", "n", "&", "plus"):
        return False
    return text[said[place].start - 1].isspace() and text[said[place].end].isspace()


def _is_naming(said: Sequence[Token], place: int, valued: set[int], text: str) -> bool:
    low = said[place].low
    if low in ("-", "'s") and place:  # "brother-in-law", "Ann's"
        return said[place].start == said[place - 1].end and (low != "-" or not text[said[place].end :][:1].isspace())
    if place and said[place - 1].low == "-" and low[0].isalpha():
        return place not in valued
    is_word = low[0].isalpha() and low not in ("and", "n", "plus")
    return is_word and place not in valued and low not in VERBS | STATES | _NO_THINGS | DETERMINERS


def _n_words(said: Sequence[Token]) -> int:
    """Return how many words there are, what hyphens hold together as one."""
    words = sum(token.low[0].isalpha() for token in said)
    return words - sum(token.low == "-" for token in said)


def _start(token: Token) -> int:
    return token.start
