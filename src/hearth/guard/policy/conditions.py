"""Decides a rule's condition on one argument: yes, no or not known yet.

A value that a reference will bring is not known before the plan runs: then a condition is undecided (None), and the
monitor decides it again on the real value before the call. For a list, a rule that allows requires every item to fit; a
rule that asks or denies needs only one item that fits.

Covered: type, range, choice, pattern, length, sources, contact book, group.
Not covered: relations between arguments.
"""

from __future__ import annotations

import datetime as dt
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hearth.errors import WrongType
from hearth.formats.tool_signature import from_plain
from hearth.guard.flow.labels import VOUCHED_TYPES, Value, item_type
from hearth.guard.flow.trusted_contacts import KnownAddresses, normalised
from hearth.guard.policy.safe_regex import Pattern
from hearth.language.text.confusables import plain
from hearth.types import OWNER, Label, Parameter, Plain, Referent

ORDERED_TYPES = frozenset({"integer", "number", "date", "datetime", "time", "duration"})
"""Types that have a range."""


@dataclass(frozen=True, slots=True)
class Given:
    """One argument, as far as it is known."""

    value: Value | None
    """None when a reference will bring it."""
    worst: Label = OWNER
    """Its label at worst; the label itself once the value is known."""
    best: Label | None = None
    """Its label at best, where that may differ."""

    @classmethod
    def known(cls, value: Value) -> Given:
        return cls(value, value.label)


@dataclass(frozen=True, slots=True)
class Condition:
    """Requirements for one argument; those left out are not checked."""

    one_of: tuple[Plain, ...] | None = None
    low: Any = None
    """Decoded to the parameter's type, like `high`; both bounds are inclusive."""
    high: Any = None
    pattern: Pattern | None = None
    max_chars: int | None = None
    max_items: int | None = None
    only_from: frozenset[str] | None = None
    not_from: frozenset[str] = frozenset()
    contact: bool | None = None
    group: str = ""
    given: bool | None = None

    def holds(
        self, parameter: Parameter, given: Given | None, book: KnownAddresses | None, *, every: bool
    ) -> bool | None:
        """Return whether an argument fits; None when that is not known yet.

        Args:
            given: None when the argument is left out; its default counts then, if it has one.
            book: None when the contact book is not available.
            every: For a list, whether every item must fit; else one is enough.
        """
        is_there = given is not None
        if self.given is not None and self.given != is_there:
            return False
        if given is None:
            if self._asks_nothing_else:
                return True
            if parameter.default is None:
                return False
            given = Given.known(Value(parameter.default, OWNER))
        return _all((self._holds_label(given), self._holds_value(parameter, given, book, every=every)))

    def meets_change(self, change: str) -> bool:
        """Return whether a level may come to fit by changing by some, which ends nobody knows where: what goes up may
        come to a least level, what goes down to a highest.

        Args:
            change: `up_by` or `down_by`; anything else may be either.
        """
        ends = {"up_by": self.low, "down_by": self.high}
        return self.one_of is not None or change not in ends or ends[change] is not None

    @property
    def is_limit(self) -> bool:
        """Return whether it says which numbers fit."""
        return self.low is not None or self.high is not None or self.one_of is not None

    @property
    def _asks_nothing_else(self) -> bool:
        return self == Condition(given=self.given)

    def _holds_label(self, given: Given) -> bool | None:
        if self.only_from is None and not self.not_from:
            return True
        fits = [
            (self.only_from is None or label.sources <= self.only_from) and not label.sources & self.not_from
            for label in (given.worst, given.best or given.worst)
        ]
        return fits[0] if fits[0] == fits[1] else None

    def _holds_value(
        self, parameter: Parameter, given: Given, book: KnownAddresses | None, *, every: bool
    ) -> bool | None:
        names, checks = self._name_checks(parameter, every=every), self._checks(parameter, book)
        if not names and not checks and self.max_items is None:
            return True
        if given.value is None:
            return None
        data = given.value.data
        items = data if isinstance(data, list) else [data]
        if self.max_items is not None and len(items) > self.max_items:
            return False
        if not names and not checks:
            return True
        if not items:
            return False
        if given.value.is_open:
            return None  # the words alone say nothing of the thing
        things = given.value.things if len(given.value.things) == len(items) else (None,) * len(items)
        fits = [
            _all(
                [
                    *(_any([check(text) for text in _texts(item, thing, every=every)]) for check in names),
                    *(check(item) for check in checks),
                ]
            )
            for item, thing in zip(items, things, strict=True)
        ]
        return _all(fits) if every else _any(fits)

    def _name_checks(self, parameter: Parameter, *, every: bool) -> list[Callable[[Plain], bool | None]]:
        """Checks that any name of a thing may pass."""
        checks: list[Callable[[Plain], bool | None]] = []
        if self.one_of is not None:
            chosen, kind = self.one_of, item_type(parameter.type)
            if not every and parameter.names_a_thing:
                chosen = (*chosen, *(_folded(choice) for choice in chosen if isinstance(choice, str)))
            checks.append(lambda item: any(_is_same(item, choice, kind) for choice in chosen))
        if self.pattern is not None:
            pattern, is_thing = self.pattern, parameter.names_a_thing
            if every:
                checks.append(lambda item: pattern.fits(item) if isinstance(item, str) else False)
            else:
                checks.append(
                    lambda item: pattern.may_fit(item, is_any_case=is_thing) if isinstance(item, str) else False
                )
        return checks

    def _checks(self, parameter: Parameter, book: KnownAddresses | None) -> list[Callable[[Plain], bool | None]]:
        """Checks of the value itself."""
        kind = item_type(parameter.type)
        checks: list[Callable[[Plain], bool | None]] = []
        if self.low is not None or self.high is not None:
            checks.append(lambda item: self._in_range(item, kind))
        if self.max_chars is not None:
            n_max = self.max_chars
            checks.append(lambda item: isinstance(item, str) and len(item) <= n_max)
        if self.contact is not None:
            wanted = self.contact
            checks.append(lambda item: None if book is None else book.vouches(item) == wanted)
        if self.group:
            group = self.group
            checks.append(lambda item: None if book is None else book.is_in_group(item, group))
        return checks

    def _in_range(self, item: Plain, kind: str) -> bool | None:
        bound = self.low if self.low is not None else self.high
        zone = bound.tzinfo if isinstance(bound, dt.datetime) else None
        try:
            value: Any = from_plain(item, kind, zone)
            return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)
        except (WrongType, TypeError):
            return None


def _texts(item: Plain, thing: Referent | None, *, every: bool) -> tuple[Plain, ...]:
    """Texts by which a rule may name a value: of a thing its id and its names, in any case; of any other text itself,
    and as it reads. Where the rule allows (`every`), only those that name nothing else."""
    if thing is None:
        is_plain = every or not isinstance(item, str) or item.isascii()
        return (item,) if is_plain else (item, plain(unicodedata.normalize("NFC", str(item))).text)
    names = (thing.name, *thing.spellings, *(() if every else thing.aliases))
    exact = (item, *(name for name in names if name))
    return exact if every else tuple(dict.fromkeys((*exact, *(_folded(str(text)) for text in exact))))


def _folded(text: str) -> str:
    """A name as it is read: in any case, without what is invisible, look-alike letters as those they look like, letters
    with their accents as one."""
    return (text if text.isascii() else plain(unicodedata.normalize("NFC", text)).text).casefold().strip()


def _is_same(value: Plain, choice: Plain, kind: str) -> bool:
    """Return whether a value is the chosen one; addresses and numbers match in any case and spacing."""
    if kind in VOUCHED_TYPES and isinstance(value, str) and isinstance(choice, str):
        return normalised(value) == normalised(choice)
    if isinstance(value, bool) or isinstance(choice, bool):
        return value is choice
    return value == choice


def _all(outcomes: Sequence[bool | None] | Any) -> bool | None:
    """Return False if any outcome is, None if any other is undecided, else True."""
    found = tuple(outcomes)
    return False if False in found else None if None in found else True


def _any(outcomes: Sequence[bool | None]) -> bool | None:
    return True if True in outcomes else None if None in outcomes else False


# ── What can be said without any value ────────────────────────────────────────────────────────────────────


def never_holds(condition: Condition, parameter: Parameter) -> str:
    """Say why no value can ever fit; empty when one may."""
    if condition.low is not None and condition.high is not None and condition.low > condition.high:
        return f"min {condition.low} is more than max {condition.high}"
    if condition.only_from is not None and condition.only_from <= condition.not_from:
        return "every source of `only_from` stands in `not_from`"
    chosen: Sequence[Plain] | None = condition.one_of
    if chosen is None and parameter.enum:
        chosen = parameter.enum
    if chosen is None:
        return ""
    if parameter.enum and not set(map(str, chosen)) & set(parameter.enum):
        return f"{parameter.name!r} is one of {', '.join(parameter.enum)}, and none of these is chosen"
    single = Condition(low=condition.low, high=condition.high, pattern=condition.pattern, max_chars=condition.max_chars)
    if all(single.holds(parameter, Given.known(Value(value, OWNER)), None, every=True) is False for value in chosen):
        said = ", ".join(repr(value) for value in chosen[:5])
        return f"none of its possible values ({said}) fits the rest of the condition"
    return ""


def is_wider(one: Condition, other: Condition) -> bool:
    """Return whether everything that fits `other` fits `one` as well; False when that cannot be told."""
    if one == other:
        return True
    return (
        _lets_through(one.one_of, other.one_of, _within)
        and _lets_through(one.low, other.low, lambda theirs, ours: _up_to(ours, theirs))
        and _lets_through(one.high, other.high, _up_to)
        and _lets_through(one.pattern, other.pattern, lambda theirs, ours: bool(theirs.text == ours.text))
        and _lets_through(one.max_chars, other.max_chars, _up_to)
        and _lets_through(one.max_items, other.max_items, _up_to)
        and _lets_through(one.only_from, other.only_from, _up_to)
        and one.not_from <= other.not_from
        and (one.contact is None or one.contact == other.contact or (one.contact is True and bool(other.group)))
        and (not one.group or one.group == other.group)
        and (one.given is None or one.given == other.given or (one.given is True and not other._asks_nothing_else))
    )


def _lets_through(limit: Any, other: Any, is_within: Callable[[Any, Any], bool]) -> bool:
    """Return whether a limit lets through all that another does; None limits nothing."""
    return limit is None or (other is not None and is_within(other, limit))


def _within(values: Sequence[Plain], others: Sequence[Plain]) -> bool:
    return all(any(type(v) is type(o) and v == o for o in others) for v in values)


def _up_to(low: Any, high: Any) -> bool:
    try:
        return bool(low <= high)
    except TypeError:
        return False


# ── When ──────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Rate:
    """A limit on the number of calls within a length of time."""

    n: int
    per: dt.timedelta
    is_more_than: bool = False
    """True: holds after the first n calls; False: holds for the first n."""

    def holds(self, n_before: int) -> bool:
        return n_before >= self.n if self.is_more_than else n_before < self.n


@dataclass(frozen=True, slots=True)
class Times:
    """Hours of the day, in the owner's zone; over midnight when `start` is later than `end`."""

    start: dt.time = dt.time(0)
    end: dt.time = dt.time(0)
    weekdays: frozenset[int] = frozenset(range(7))

    def hold(self, now: dt.datetime) -> bool:
        moment = now.time()
        if self.start == self.end:
            is_within = True
        elif self.start < self.end:
            is_within = self.start <= moment < self.end
        else:
            is_within = moment >= self.start or moment < self.end
        return is_within and now.weekday() in self.weekdays

    def is_wider(self, other: Times) -> bool:
        """Return whether every moment of `other` is one of this."""
        if not other.weekdays <= self.weekdays:
            return False
        if self.start == self.end or (self.start, self.end) == (other.start, other.end):
            return True
        return self.start < self.end and other.start < other.end and self.start <= other.start and other.end <= self.end


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Facts a rule may use besides the arguments; None means not known yet."""

    now: dt.datetime | None = None
    book: KnownAddresses | None = None
    n_calls: Mapping[dt.timedelta, int] | None = None
    """Calls of this tool so far, within each length of time that a rule asks about."""
    n_planned: int = 0
    """Calls of this tool that the plan makes before this one."""
