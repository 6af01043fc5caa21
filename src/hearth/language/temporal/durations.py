"""Reads lengths of time at a place in a request: "45 min", "an hour and a half", "2 hours 15", "a free hour".

The reader takes a `Line` and an index and returns what is said there and the index after it, or None. It looks no
further than a few words.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from hearth.language.temporal.clock_times import Line, glued
from hearth.language.temporal.time_words import SECONDS, SHORT_UNITS, UNITS
from hearth.language.text.tokens import ONES, listed, spoken_number

OPEN_WORDS = frozenset(listed("free spare uninterrupted quiet"))
"""Words before "hour" that ask for one hour without a number: "the first free hour"."""
_KINDS = OPEN_WORDS | set(
    listed(
        "full whole more business working solid straight consecutive unbroken undisturbed continuous extra focused "
        "clear long short good clean empty"
    )
)
"""Words that may stand between a number and its unit."""
_AMOUNTS = {
    tuple(phrase.split()): amount
    for phrase, amount in (
        ("three quarters of an", 0.75),
        ("three quarter of an", 0.75),
        ("a quarter of an", 0.25),
        ("a quarter of a", 0.25),
        ("quarter of an", 0.25),
        ("half a", 0.5),
        ("half an", 0.5),
        ("a couple of", 2.0),
        ("a couple", 2.0),
        ("couple of", 2.0),
        ("couple", 2.0),
        ("a few", 3.0),
        ("few", 3.0),
    )
}
"""What is said before a unit in the place of a number; of two that begin alike, the longer first."""
_AFTER_MINUTES = frozenset(
    ["", ".", ",", "?", "!", ";", *listed("for to please and on before until with starting from timer countdown")]
)


@dataclass(slots=True)
class Length:
    """A length of time; months and years are kept apart because they have no fixed length."""

    months: float = 0
    days: float = 0
    seconds: float = 0
    n_units: int = 0
    amount: float = 0
    unit: str = ""
    is_article: bool = False
    """True when said as "a day", without a number."""

    @property
    def is_clocked(self) -> bool:
        """Return whether hours, minutes or seconds were said."""
        return self.seconds != 0

    @property
    def duration(self) -> dt.timedelta:
        """Return the length, a month counted as 30 days. Raises: OverflowError."""
        return dt.timedelta(days=self.days + 30 * self.months, seconds=self.seconds)

    def add(self, amount: float, unit: str) -> None:
        name, factor = UNITS[unit]
        count = amount * factor
        if name in ("month", "year"):
            self.months += count * (12 if name == "year" else 1)
        elif name in ("day", "week") and (count * (7 if name == "week" else 1)).is_integer():
            self.days += count * (7 if name == "week" else 1)
        else:
            self.seconds += count * SECONDS[name]
        self.n_units += 1
        self.amount, self.unit = count, name


def length(line: Line, index: int) -> tuple[Length, int] | None:
    """Read a length of time: "45 min", "an hour and a half", "2h30", "two days and 3 hours"."""
    found = Length()
    if line.tokens[index].kind == "hours":
        return _compact(line, index)
    place = _amount_and_unit(line, index, found)
    if place is None:
        return None
    for _ in range(3):
        following = place
        if line.word(following) in ("and", ","):
            following += 1
        share = _share(line, following) if following > place else None
        if share is not None:
            found.add(share[0], found.unit)
            place = share[1]
            continue
        smaller = Length()
        after = _amount_and_unit(line, following, smaller) if following < len(line.tokens) else None
        if after is None or SECONDS.get(smaller.unit, 10**8) >= SECONDS.get(found.unit, 10**7) or smaller.is_article:
            break
        found.add(smaller.amount, smaller.unit)
        place = after
    place = _bare_minutes(line, place, found)
    found.amount = found.amount if found.n_units == 1 else 0
    return found, place


def _share(line: Line, index: int) -> tuple[float, int] | None:
    """Read the "a half" or "three quarters" that is added to a whole number, and the index after it."""
    words = line.words[index : index + 3]
    is_clock = words[2:] == ["to"] and (line.word(index + 3).isdecimal() or line.word(index + 3) in ONES)
    if words[2:] in (["of"], ["past"]) or is_clock:
        return None
    if words[:2] in (["a", "half"], ["a", "quarter"]):
        return (0.5 if words[1] == "half" else 0.25), index + 2
    return (0.75, index + 2) if words[:2] in (["three", "quarters"], ["three", "quarter"]) else None


def _bare_minutes(line: Line, place: int, found: Length) -> int:
    """Add the minutes of "2 hours 15", "an hour and twenty" to `found` and return the index after them."""
    if found.unit != "hour" or found.n_units != 1 or not found.amount.is_integer():
        return place
    said = spoken_number(line.tokens, place + (line.word(place) == "and"))
    if said is None or not (said[0].is_integer() and 1 <= said[0] <= 59) or line.word(said[1]) not in _AFTER_MINUTES:
        return place
    found.add(said[0], "minute")
    return said[1]


def _compact(line: Line, index: int) -> tuple[Length, int] | None:
    """Read 2h, 2h30, 2h30m, 2h 30m."""
    hours, _, minutes = line.words[index].rstrip("min").partition("h")
    found = Length()
    found.add(int(hours), "hour")
    place = index + 1
    if minutes:
        found.add(int(minutes), "minute")
    else:
        smaller = Length()
        after = _amount_and_unit(line, place, smaller) if place < len(line.tokens) else None
        if after is not None and smaller.unit in ("minute", "second"):
            found.add(smaller.amount, smaller.unit)
            place = after
    return found, place


def _amount_and_unit(line: Line, index: int, found: Length) -> int | None:
    """Add one amount with its unit to `found` and return the index after it."""
    read = _amount_in_words(line, index)
    if read is None and line.word(index) in ("a", "an") and line.word(index + 1) in UNITS:
        found.is_article, read = True, (1.0, index + 1)
    read = read or _number(line, index)
    if read is None:
        return None
    amount, place = read
    if line.word(place) == "-" and line.touches(place) and line.touches(place + 1):
        place += 1
    place += line.word(place) in _KINDS
    unit = line.word(place)
    if unit not in UNITS or amount > 1_000_000 or (unit in SHORT_UNITS and not line.touches(place)):
        return None
    if unit == "s" and amount >= 1000:
        return None  # "the 1960s"
    found.add(amount, unit)
    return place + 1


def _amount_in_words(line: Line, index: int) -> tuple[float, int] | None:
    """Read the "half an" of "half an hour", the "a couple of" of "a couple of days"; of "a free hour", the article."""
    opening = index + (line.word(index) in ("a", "an"))
    if _is_open(line, opening):
        return 1.0, opening
    words = tuple(line.words[index : index + 4])
    for phrase, amount in _AMOUNTS.items():
        if words[: len(phrase)] == phrase:
            return amount, index + len(phrase)
    half = index + (line.word(index) == "a")
    share = {"half": 0.5, "quarter": 0.25}.get(line.word(half))
    return (share, half + 1) if share is not None and line.word(half + 1) == "hour" else None


def _number(line: Line, index: int) -> tuple[float, int] | None:
    """Read "45", "two", "two and a half"; no number that belongs to something else."""
    said = spoken_number(line.tokens, index)
    if said is None or glued(line, index):
        return None
    amount, place = said
    share = _share(line, place + 1) if line.word(place) == "and" else None
    return (amount + share[0], share[1]) if share is not None else (amount, place)


def _is_open(line: Line, index: int) -> bool:
    """Return whether one free hour is asked for: "free hour"."""
    return line.word(index) in OPEN_WORDS and line.word(index + 1) == "hour"
