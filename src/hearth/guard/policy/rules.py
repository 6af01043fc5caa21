"""The owner's rules in order, and the policy that they make for a call."""

from __future__ import annotations

import datetime as dt
import difflib
import hashlib
import importlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from hearth.config import OrderedRule, Settings, When
from hearth.errors import ConfigError, PlanError, WrongType
from hearth.formats.tool_signature import from_plain
from hearth.guard.labels import (
    VOUCHED_TYPES,
    KnownAddresses,
    PlannedStep,
    StepLabels,
    Value,
    item_type,
    normalised,
    origins,
    predict,
    refs_in,
)
from hearth.language.values.identifying import plain
from hearth.registry import COMPANION_TOOLS
from hearth.types import (
    OWNER,
    TRUSTED_SOURCES,
    TYPE_NAMES,
    UNTRUSTED_SOURCES,
    Argument,
    Label,
    Parameter,
    Plain,
    Plan,
    Referent,
    Ruling,
    Step,
    ToolSpec,
)

# ── Rules ─────────────────────────────────────────────────────────────────────────────────────────────────
# Compiles the owner's ordered rules, and reports their faults before any is tried.
#
# The first rule whose conditions hold decides. A rule about unknown tools or arguments, with a condition no value can
# meet, or that never decides because an earlier rule always does, would silently rule on nothing: each is a fault,
# reported with its line and a correction, and Hearth does not start with one.
#
# Covered: names, types, empty ranges and choices, unsafe patterns, rules hidden by an earlier one of the same tool.
# Not covered: rules that only several earlier ones together hide. Among more than `MAX_COMPARED` rules for one tool,
# only equal and unconditional ones are compared.

# ── Patterns that end ──────────────────────────────────────────────────────────────────────────────────
# Accepts only regular expressions that cannot run away, for the patterns of a policy.
# A pattern is refused unless its syntax shows that the number of ways to try it on a text of `MAX_TEXT_CHARS` has a
# small bound: no back-references, no lookaround, no repetition of something that itself varies, few open repetitions
# side by side. Accepted patterns are matched by the standard library, against the whole text.
# Covered: catastrophic backtracking, by exponential and by polynomial patterns.
# Not covered: whether a pattern says what was meant.


MAX_PATTERN_CHARS = 500
MAX_TEXT_CHARS = 1000
"""Longer texts are not matched at all: `fits` returns None for them."""
MAX_COST = 2_000_000
"""Ways to try a pattern on the longest text; about as many steps are taken at worst."""

_parser: Any = importlib.import_module("re._parser")
_FORBIDDEN = {
    "GROUPREF": "a back-reference",
    "GROUPREF_EXISTS": "a back-reference",
    "ASSERT": "looking ahead or behind",
    "ASSERT_NOT": "looking ahead or behind",
}


@dataclass(frozen=True, slots=True)
class Pattern:
    """A checked pattern."""

    text: str
    compiled: re.Pattern[str]

    def fits(self, text: str) -> bool | None:
        """Return whether the whole of `text` matches; None if the text is too long to be checked."""
        return None if len(text) > MAX_TEXT_CHARS else self.compiled.fullmatch(text) is not None

    def may_fit(self, text: str, *, is_any_case: bool) -> bool | None:
        """Return the same as a rule that denies reads it: the dot stands for ends of lines, too, letters that are
        written in two ways are one, and in a thing's name case does not count."""
        composed = unicodedata.normalize("NFC", text)
        if len(composed) > MAX_TEXT_CHARS:
            return None
        flags = re.DOTALL | (re.IGNORECASE if is_any_case else re.NOFLAG)
        return re.compile(unicodedata.normalize("NFC", self.text), flags).fullmatch(composed) is not None


def checked_pattern(text: str) -> Pattern:
    """Compile `text`. Raises: ValueError: Not a pattern, or one that may run away; says what to write instead."""
    if len(text) > MAX_PATTERN_CHARS:
        raise ValueError(f"the pattern has {len(text)} characters; at most {MAX_PATTERN_CHARS}, so list values instead")
    try:
        tree = _parser.parse(text)
        cost = _cost(tree, is_repeated=False)
        compiled = re.compile(text)
    except (re.error, OverflowError) as error:
        raise ValueError(f"{text!r} is no regular expression: {error}; mend it or use `one_of`") from None
    except RecursionError:
        raise ValueError("the pattern is nested too deeply; write a simpler one") from None
    if cost > MAX_COST:
        raise ValueError(
            f"{text!r} could take too long on some texts; use fewer `*`, `+` and `?`, or a fixed count such as {{1,20}}"
        )
    return Pattern(text, compiled)


def _cost(tree: Iterable[Any], *, is_repeated: bool) -> int:
    """Bound the number of ways a sequence can be tried. Raises: ValueError."""
    cost = 1
    for operator, argument in tree:
        cost *= _cost_of(str(operator), argument, is_repeated=is_repeated)
        if cost > MAX_COST:
            return cost
    return cost


def _cost_of(name: str, argument: Any, *, is_repeated: bool) -> int:
    if name in _FORBIDDEN:
        raise ValueError(f"the pattern uses {_FORBIDDEN[name]}, which can take forever; write it without")
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        low, high, inner = argument
        n_ways = min(int(high), MAX_TEXT_CHARS) - min(int(low), MAX_TEXT_CHARS) + 1
        within = _cost(inner, is_repeated=is_repeated or high > 1)
        if high > 1 and within > 1:
            raise ValueError("the pattern repeats something that itself varies, such as (a+)*; repeat a single class")
        return n_ways * within
    if name == "BRANCH":
        branches = argument[1]
        if is_repeated and not _start_differently(branches):
            raise ValueError("the pattern repeats alternatives that begin alike, such as (a|ab)*; write a class [ab]*")
        return (
            len(branches) * max(_cost(branch, is_repeated=is_repeated) for branch in branches) if not is_repeated else 1
        )
    if name == "SUBPATTERN":
        return _cost(argument[-1], is_repeated=is_repeated)
    if name == "ATOMIC_GROUP":
        return _cost(argument, is_repeated=is_repeated)
    return 1


def _start_differently(branches: Iterable[Any]) -> bool:
    """Return whether each alternative is a text with a different first letter, so that at most one can be tried."""
    firsts = []
    for branch in branches:
        if not branch or any(str(operator) != "LITERAL" for operator, _ in branch):
            return False
        firsts.append(branch[0][1])
    return len(set(firsts)) == len(firsts)


# ── Conditions ─────────────────────────────────────────────────────────────────────────────────────────
# Decides a rule's condition on one argument: yes, no or not known yet.
# A value that a reference will bring is not known before the plan runs: then a condition is undecided (None), and the
# monitor decides it again on the real value before the call. For a list, a rule that allows requires every item to
# fit; a rule that asks or denies needs only one item that fits.
# Covered: type, range, choice, pattern, length, sources, contact book, group.
# Not covered: relations between arguments.


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


# ── Rules ──────────────────────────────────────────────────────────────────────────────────────────────


MAX_COMPARED = 300
_PERIODS = {
    "minute": dt.timedelta(minutes=1),
    "hour": dt.timedelta(hours=1),
    "day": dt.timedelta(days=1),
    "week": dt.timedelta(days=7),
}
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_TEXT_TYPES = VOUCHED_TYPES | {"text", "Url", "PersonName", "FilePath", "any"}


@dataclass(frozen=True, slots=True)
class ToolRule:
    """One rule as it applies to one tool."""

    name: str
    verdict: str
    reason: str
    conditions: Mapping[str, Condition] = field(default_factory=dict)
    times: Times | None = None
    rates: tuple[Rate, ...] = ()
    line: int = 0
    digest: str = ""
    """Digest of the rule's text in the settings: another rule may have its name or its place tomorrow."""

    def holds(
        self, spec: ToolSpec, given: Mapping[str, Given], circumstances: Circumstances
    ) -> tuple[bool | None, str]:
        """Return whether the rule decides a call, None when that is not known yet, and the condition that shows it."""
        undecided = ""
        for name, condition in self.conditions.items():
            parameter = spec.parameter(name)
            assert parameter is not None  # checked when it was compiled
            fits = condition.holds(parameter, given.get(name), circumstances.book, every=self.verdict == "allow")
            if condition.is_limit and (change := self._change_of(parameter, given)) is not None:
                if change.value is None:
                    fits = None
                elif change.value.data != "to":
                    fits = self.verdict != "allow" and condition.meets_change(str(change.value.data))
            if fits is False:
                return False, f"{name!r} does not fit"
            if fits is None:
                undecided = undecided or f"{name!r} is not known yet"
        if self.times is not None:
            if circumstances.now is None:
                undecided = undecided or "the time is not known yet"
            elif not self.times.hold(circumstances.now):
                return False, f"it is {circumstances.now:%a %H:%M}"
        for rate in self.rates:
            if circumstances.n_calls is None:
                undecided = undecided or "how often it was called is not known yet"
                continue
            n_before = circumstances.n_calls.get(rate.per, 0) + circumstances.n_planned
            if not rate.holds(n_before):
                return False, f"{spec.name} was called {n_before} times within {_said(rate.per)}"
        return (None, undecided) if undecided else (True, "all its conditions hold")

    def _change_of(self, parameter: Parameter, given: Mapping[str, Given]) -> Given | None:
        """Return what says whether a number is a level or how far one is to change; None where nothing does, or where
        the rule says itself which of them it is about."""
        return given.get(parameter.level_or) if parameter.level_or not in self.conditions else None

    @property
    def is_unconditional(self) -> bool:
        return not self.conditions and self.times is None and not self.rates

    def hides(self, later: ToolRule) -> bool:
        """Return whether this rule decides every call that `later` would."""
        if not self.conditions.keys() <= later.conditions.keys():
            return False
        if self.times is not None and (later.times is None or not self.times.is_wider(later.times)):
            return False
        if not set(self.rates) <= set(later.rates):
            return False
        if self.verdict == "allow" != later.verdict and any(c.one_of or c.pattern for c in later.conditions.values()):
            # For a list, this rule needs every item to fit, the later one only one.
            return all(
                is_wider(c, later.conditions[n]) and c == later.conditions[n] for n, c in self.conditions.items()
            )
        return all(is_wider(condition, later.conditions[name]) for name, condition in self.conditions.items())

    def ruling(self, spec: ToolSpec) -> Ruling:
        reason = self.reason or f"your {self.name} says {self.verdict} for {spec.name}"
        return Ruling(
            "deny" if self.verdict == "deny" else "ask" if self.verdict == "ask" else "allow", reason, self.name
        )


def _said(length: dt.timedelta) -> str:
    return next(f"a {name}" for name, period in _PERIODS.items() if period == length)


@dataclass(frozen=True, slots=True)
class Compiled:
    """Rules by tool, in order, and the faults found."""

    by_tool: Mapping[str, tuple[ToolRule, ...]]
    faults: tuple[str, ...]


def compiled(
    rules: Sequence[OrderedRule],
    tables: Mapping[str, int],
    specs: Mapping[str, ToolSpec],
    lines: Mapping[int, int],
    path: str,
) -> Compiled:
    """Check and compile rules.

    Args:
        tables: The `[policy.TOOL]` tables with their lines: they come after every ordered rule.
        lines: The line of each rule, by its position.
        path: Named in faults.
    """
    faults = [f"{_where(path, lines.get(place, 0))}{fault}" for place, fault in _twice(rules)]
    by_tool: dict[str, list[ToolRule]] = {}
    patterns: dict[str, Pattern | str] = {}
    for place, rule in enumerate(rules):
        line = lines.get(place, 0)
        where = _where(path, line)
        said = f"rule {rule.name!r}" if rule.name else f"rule {place + 1}"
        found = [f"{where}{said} {fault}" for fault in _faults_of(rule, specs)]
        for tool in dict.fromkeys(rule.tools):
            if tool not in specs:
                continue
            try:
                one = _tool_rule(rule, said, specs[tool], line, patterns)
            except ValueError as error:
                found.append(f"{where}{said} {error}")
                continue
            found.extend(f"{where}{said} {fault}" for fault in _impossible(one, specs[tool]))
            by_tool.setdefault(tool, []).append(one)
        faults.extend(dict.fromkeys(found))
    for tool, several in by_tool.items():
        faults.extend(f"{_where(path, later.line)}{fault}" for later, fault in _hidden(several))
        if tool in tables and (first := next((r for r in several if r.is_unconditional), None)):
            faults.append(
                f"{_where(path, tables[tool])}[policy.{tool}] is never reached, because {first.name} decides every "
                f"call of {tool} before it; take one of them out"
            )
    return Compiled({tool: tuple(several) for tool, several in by_tool.items()}, tuple(dict.fromkeys(faults)))


def _where(path: str, line: int) -> str:
    """Where a fault is, to go before it; line 0 is unknown."""
    return f"{path}, line {line}: " if line else f"{path}: "


# ── Names and types ───────────────────────────────────────────────────────────────────────────────────────


def unknown_name(name: str, known: Iterable[str], what: str, where_to_look: str) -> str:
    """Explain what is wrong with a name that is not in `known`, and suggest the one that was probably meant."""
    choices = list(known)
    near = difflib.get_close_matches(_latin(name), choices, 1)
    odd = next((c for c in name if not c.isascii()), "")
    strange = f" (it holds {unicodedata.name(odd, 'an unnamed character')})" if odd else ""
    hint = f"did you mean {near[0]!r}?" if near else f"see {where_to_look}"
    return f"names no {what} {name!a}{strange}; {hint}"


def _latin(name: str) -> str:
    """Replace look-alike letters of other scripts in `name`, to guess what was meant."""
    return "".join(_LOOKALIKES.get(c, c) for c in unicodedata.normalize("NFKC", name))


_LOOKALIKES = dict(zip("аеорсухіјѕһԁɡαοεινκτΙ", "aeopcyxijshdgaoeivktI", strict=True))


def _twice(rules: Sequence[OrderedRule]) -> Iterator[tuple[int, str]]:
    """Find names used twice, from which a ruling could not tell its rule; by the later rule's position."""
    first: dict[str, int] = {}
    for place, rule in enumerate(rules):
        if rule.name and rule.name in first:
            yield place, f"rule {rule.name!r} has the name of rule {first[rule.name] + 1}; give it another one"
        first.setdefault(rule.name, place)


def _faults_of(rule: OrderedRule, specs: Mapping[str, ToolSpec]) -> Iterator[str]:
    if not rule.tools:
        yield 'names no tool; write tools = ["…"]'
    for tool in rule.tools:
        if tool not in specs:
            if tool not in COMPANION_TOOLS:
                yield unknown_name(tool, specs, "registered tool", "`hearth tools`")
            continue
        spec = specs[tool]
        for name in rule.when:
            if spec.parameter(name) is None:
                known = [p.name for p in spec.parameters]
                yield unknown_name(name, known, f"argument of {tool}", f"its arguments: {', '.join(known) or 'none'}")
    if rule.weekdays is not None and not rule.weekdays:
        yield "has no weekday, so it never counts; take `weekdays` out or name days"
    if rule.between is not None and dt.time.fromisoformat(rule.between[0]) == dt.time.fromisoformat(rule.between[1]):
        yield f"counts between {rule.between[0]} and {rule.between[1]}, which is no time; take `between` out"
    up_to, beyond = rule.at_most, rule.more_than
    if up_to and beyond and up_to.per == beyond.per and up_to.calls <= beyond.calls:
        yield (
            f"counts up to {up_to.calls} and beyond {beyond.calls} calls per {up_to.per}, which is never; "
            "take one of them out"
        )


def _tool_rule(rule: OrderedRule, said: str, spec: ToolSpec, line: int, patterns: dict[str, Pattern | str]) -> ToolRule:
    """Compile one rule for one tool. Raises: ValueError: A condition does not fit the argument's type."""
    conditions = {}
    for name, when in rule.when.items():
        parameter = spec.parameter(name)
        if parameter is not None:
            conditions[name] = _condition(when, parameter, spec.name, patterns)
    times = None
    if rule.between is not None or rule.weekdays is not None:
        start, end = (dt.time.fromisoformat(text) for text in rule.between or ("00:00", "00:00"))
        days = rule.weekdays if rule.weekdays is not None else _WEEKDAYS
        times = Times(start, end, frozenset(_WEEKDAYS.index(day) for day in days))
    rates = [Rate(rule.at_most.calls, _PERIODS[rule.at_most.per])] if rule.at_most else []
    if rule.more_than:
        rates.append(Rate(rule.more_than.calls, _PERIODS[rule.more_than.per], is_more_than=True))
    digest = hashlib.sha256(rule.model_dump_json().encode()).hexdigest()[:16]
    return ToolRule(said, rule.ruling, rule.reason, conditions, times, tuple(rates), line, digest)


def _condition(when: When, parameter: Parameter, tool: str, patterns: dict[str, Pattern | str]) -> Condition:
    kind = item_type(parameter.type)
    what = f"{parameter.name!r} of {tool}, which is a {parameter.type}"
    _check_fits(when, parameter, kind, what)
    for name in (*(when.only_from or ()), *when.not_from):
        if name not in TRUSTED_SOURCES | UNTRUSTED_SOURCES and not name.startswith("tool:"):
            raise ValueError(unknown_name(name, sorted(TRUSTED_SOURCES | UNTRUSTED_SOURCES), "source", "policy.md"))
    if when == When():
        raise ValueError(f"asks nothing of {parameter.name!r}; write a condition or take it out")
    return Condition(
        one_of=None if when.one_of is None else tuple(_decodable(v, kind, what) for v in when.one_of),
        low=_bound(when.min, kind, what),
        high=_bound(when.max, kind, what),
        pattern=_pattern(when.matches, patterns),
        max_chars=when.max_chars,
        max_items=when.max_items,
        only_from=None if when.only_from is None else frozenset(when.only_from),
        not_from=frozenset(when.not_from),
        contact=when.contact,
        group=when.group,
        given=when.given,
    )


def _check_fits(when: When, parameter: Parameter, kind: str, what: str) -> None:
    """Raises: ValueError: An argument of this type can never meet the condition."""
    if (when.min is not None or when.max is not None) and kind not in ORDERED_TYPES:
        raise ValueError(f"gives a range for {what}; ranges are for {', '.join(sorted(ORDERED_TYPES))}")
    is_text = kind in _TEXT_TYPES or parameter.is_resolved  # a thing is matched by its names
    if (when.matches is not None or when.max_chars is not None) and not is_text:
        raise ValueError(f"asks for a text in {what}; use `one_of`, `min` or `max`")
    stands_for_people = parameter.is_sink and kind not in TYPE_NAMES  # the id of a draft, say
    if (when.contact is not None or when.group) and kind not in _TEXT_TYPES and not stands_for_people:
        raise ValueError(f"looks for a contact in {what}; contacts have addresses and numbers")
    if when.max_items is not None and not parameter.type.startswith("list[") and parameter.type != "any":
        raise ValueError(f"counts the items of {what}; only lists have items")


def _decodable(value: Plain, kind: str, what: str) -> Plain:
    try:
        from_plain(value, kind)
    except WrongType as error:
        raise ValueError(f"offers {value!r} for {what}: {error}") from None
    return value


def _bound(value: Plain | dt.date | dt.time, kind: str, what: str) -> object:
    if value is None:
        return None
    if isinstance(value, dt.date | dt.time):
        value = value.isoformat()
    try:
        return from_plain(value, kind, dt.UTC)
    except WrongType as error:
        raise ValueError(f"limits {what}: {error}") from None


def _pattern(text: str | None, patterns: dict[str, Pattern | str]) -> Pattern | None:
    if text is None:
        return None
    if text not in patterns:
        try:
            patterns[text] = checked_pattern(text)
        except ValueError as error:
            patterns[text] = f"has an unusable pattern: {error}"
    found = patterns[text]
    if isinstance(found, str):
        raise ValueError(found)
    return found


# ── Rules that can never count ────────────────────────────────────────────────────────────────────────────


def _impossible(rule: ToolRule, spec: ToolSpec) -> Iterator[str]:
    for name, condition in rule.conditions.items():
        parameter = spec.parameter(name)
        if parameter is not None and (why := never_holds(condition, parameter)):
            yield f"can never count for {spec.name}: {why}; mend the condition on {name!r}"
        if parameter is not None and condition.given is False and condition != Condition(given=False):
            yield f"can never count for {spec.name}: {name!r} must be absent and fit; take one of them out"
        if parameter is not None and condition.given is False and parameter.is_required:
            yield f"can never count for {spec.name}: {name!r} is always given; take `given` out"


def _hidden(rules: Sequence[ToolRule]) -> Iterator[tuple[ToolRule, str]]:
    """Find the rules of one tool that never decide, because an earlier one always does."""
    equal: dict[object, ToolRule] = {}
    unconditional: ToolRule | None = None
    for place, later in enumerate(rules):
        key = (frozenset(later.conditions.items()), later.times, frozenset(later.rates))
        first = unconditional or equal.get(key)
        if first is None and place < MAX_COMPARED:
            first = next((earlier for earlier in rules[:place] if earlier.hides(later)), None)
        if first is not None:
            is_equal = equal.get(key) is first
            what = (
                "says otherwise for the same calls"
                if is_equal and first.verdict != later.verdict
                else "is there before"
            )
            at = f" (line {first.line})" if first.line else ""
            yield later, f"{later.name} is never reached: {first.name}{at} {what}; take one of them out"
        equal.setdefault(key, later)
        if later.is_unconditional:
            unconditional = unconditional or later


# ── Policy ────────────────────────────────────────────────────────────────────────────────────────────────
# Applies the owner's rules: every plan gets allow, ask or deny with a reason; what nothing names is denied.
#
#     [[rule]]                                    [policy.send_mail]
#     tools = ["draft_mail"]                      ruling = "ask"
#     when.to = { contact = true }                reason = "mail cannot be taken back"
#     ruling = "allow"
#
# `[[rule]]` tables are tried in order, then the table of the tool, then the default: a tool that only reads runs, one
# that changes or sends something asks. A value that a stranger may have written and that decides where data goes (a
# sink) turns an allow into an ask; so does a repair that changes or sends something, because it may act on another
# record than the intended one.
#
# A plan is judged before anything is read. Where a rule depends on a value that a reference will bring, the plan gets
# the mildest ruling that is still possible, and the monitor judges the call again on the real values.
#
# Covered: which tools run, with which arguments, from which sources, when and how often. Not covered: whether the
# plan is what the owner meant (`guard.policy.warrant`).

Verdict = Literal["allow", "ask", "deny"]
SEVERITY: Mapping[str, int] = {"allow": 0, "ask": 1, "deny": 2}
MAX_FAULTS = 20
"""Most faults of a policy that are reported at once."""
UNKNOWN = Circumstances()


class RuleSetting(Protocol):
    """The owner's ruling on one tool; `config.Rule` is one."""

    @property
    def ruling(self) -> Verdict: ...

    @property
    def reason(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule made in code."""

    ruling: Verdict
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Tried:
    """One rule that was tried for a call, in order."""

    rule: str
    fits: bool | None
    """None: not known before the plan runs."""
    why: str


@dataclass(frozen=True, slots=True)
class Decision:
    """Decision of the rules on one call."""

    ruling: Ruling
    possible: tuple[Ruling, ...] = ()
    """Rulings that the real values may still bring instead."""
    tried: tuple[Tried, ...] = ()

    @property
    def is_open(self) -> bool:
        """Return whether the real values may bring another verdict."""
        return any(other.verdict != self.ruling.verdict for other in self.possible)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A ruling on a plan, with the step rulings it was made from."""

    ruling: Ruling
    steps: tuple[Ruling, ...] = ()
    """One ruling per step; empty when the plan could not be read."""
    labels: tuple[StepLabels, ...] = ()
    decisions: tuple[Decision, ...] = ()
    """Detailed decision for each step."""
    things: Mapping[int, Mapping[str, Value]] = field(default_factory=dict)
    """By step: the literals that name things, resolved as far as that could be done before the plan runs."""


class Policy:
    """Ordered rules, then rules by exact tool name, over safe defaults."""

    def __init__(
        self, rules: Mapping[str, RuleSetting] | None = None, ordered: Mapping[str, Sequence[ToolRule]] | None = None
    ) -> None:
        self._rules = dict(rules or {})
        self._ordered = {tool: tuple(several) for tool, several in (ordered or {}).items()}

    @classmethod
    def from_settings(
        cls,
        rules: Mapping[str, RuleSetting],
        specs: Mapping[str, ToolSpec],
        ordered: Sequence[OrderedRule] = (),
        *,
        lines: Mapping[str, int] | None = None,
        path: str = "hearth.toml",
    ) -> Policy:
        """Build from checked settings.

        Args:
            rules: The `[policy.TOOL]` rules, by exact tool name.
            specs: Every registered tool, by name.
            ordered: The `[[rule]]` tables.
            lines: Line numbers where tables begin: `policy.NAME` and `rule.N`.
        Raises:
            ConfigError: A rule could rule on nothing, or on something other than it says, so Hearth does not start with
                it; names file, line and fix of each.
        """
        lines = lines or {}
        faults = [
            f"{path}{_at(lines.get(f'policy.{name}', 0))}: [policy.{name}] "
            + unknown_name(name, specs, "registered tool", "`hearth tools`")
            for name in rules
            if name not in specs and name not in COMPANION_TOOLS
        ]
        tables = {name: lines.get(f"policy.{name}", 0) for name in rules}
        places = {place: lines.get(f"rule.{place}", 0) for place in range(len(ordered))}
        found = compiled(ordered, tables, specs, places, path) if ordered else Compiled({}, ())
        faults += found.faults
        if faults:
            more = len(faults) - MAX_FAULTS
            raise ConfigError("\n".join([*faults[:MAX_FAULTS], *([f"… and {more} more"] if more > 0 else [])]))
        return cls(rules, found.by_tool)

    @classmethod
    def of(cls, settings: Settings, specs: Mapping[str, ToolSpec], path: str = "hearth.toml") -> Policy:
        """Build the policy of a whole `hearth.toml`. Raises: ConfigError, as `from_settings`."""
        names = [*(f"policy.{name}" for name in settings.policy), *(f"rule.{k}" for k in range(len(settings.rule)))]
        lines = {name: settings.line_of(name) for name in names}
        return cls.from_settings(settings.policy, specs, settings.rule, lines=lines, path=path)

    def ordered_rules(self, tool: str) -> tuple[ToolRule, ...]:
        """The ordered rules that are tried for a tool."""
        return self._ordered.get(tool, ())

    def key_of(self, tool: str, rule: str) -> str:
        """Return what a standing answer stores of the rule that asked: for an ordered rule, its content too."""
        found = next((one for one in self.ordered_rules(tool) if one.name == rule), None)
        return f"{rule} {found.digest}" if found is not None else rule

    def rates(self, tool: str) -> frozenset[dt.timedelta]:
        """The lengths of time within which calls of a tool are counted."""
        return frozenset(rate.per for rule in self.ordered_rules(tool) for rate in rule.rates)

    def needs_values(self, tool: str) -> bool:
        """Return whether the ruling on a call depends on more than the tool's name."""
        return tool in self._ordered

    # ── One call ──────────────────────────────────────────────────────────────────────────────────────────

    def rule_tool(self, spec: ToolSpec) -> Ruling:
        """Rule on a call that no ordered rule decides, whatever its arguments."""
        rule = self._rules.get(spec.name)
        if rule is not None:
            reason = rule.reason or f"your rule for {spec.name} says {rule.ruling}"
            return Ruling(rule.ruling, reason, f"policy.{spec.name}")
        if spec.effect == "none":
            return Ruling("allow", f"{spec.name} only reads", "default")
        if spec.effect == "change":
            return Ruling("ask", f"{spec.name} would change your data", "default")
        if spec.effect == "send":
            return Ruling("ask", f"{spec.name} would send something that cannot be taken back", "default")
        return Ruling("deny", f"{spec.name} declares the effect {spec.effect!r}, which no rule knows", "default")

    def decide(
        self, spec: ToolSpec, given: Mapping[str, Given], circumstances: Circumstances, *, is_final: bool
    ) -> Decision:
        """Apply the rules to one call, as far as its arguments are known.

        Args:
            is_final: The values are the real ones. A condition that still cannot be decided counts against the call: a
                rule that allows does not hold, one that asks or denies does.
        """
        possible: list[Ruling] = []
        tried: list[Tried] = []
        decided: Ruling | None = None
        for rule in self._ordered.get(spec.name, ()):
            fits, why = rule.holds(spec, given, circumstances)
            if fits is None and is_final:
                fits = rule.verdict != "allow"
            tried.append(Tried(rule.name, fits, why))
            if fits:
                decided = rule.ruling(spec)
                break
            if fits is None:
                possible.append(rule.ruling(spec))
        if decided is None:
            decided = self.rule_tool(spec)
            tried.append(Tried(decided.rule, True, decided.reason))
        mildest = min((decided, *possible), key=lambda ruling: SEVERITY[ruling.verdict])
        others = tuple(ruling for ruling in (decided, *possible) if ruling is not mildest)
        return Decision(mildest, others, tuple(tried))

    def judge_call(self, spec: ToolSpec, arguments: Mapping[str, Value], circumstances: Circumstances) -> Decision:
        """Rule on a call with its real values."""
        given = {name: Given.known(value) for name, value in arguments.items()}
        return self.decide(spec, given, circumstances, is_final=True)

    # ── A whole plan ──────────────────────────────────────────────────────────────────────────────────────

    def judge(
        self,
        plan: Plan,
        tools: Mapping[str, ToolSpec],
        n_consented: int = 0,
        circumstances: Mapping[str, Circumstances] | None = None,
        things: Mapping[int, Mapping[str, Value]] | None = None,
    ) -> Judgement:
        """Rule on a whole plan: the strictest ruling on any of its steps, with every reason of that strictness.

        Args:
            n_consented: The number of leading steps that were allowed before; they are not ruled on again, but their
                labels count.
            circumstances: By tool; those of other tools are unknown.
            things: As `Judgement.things`; without it nothing that literals name is known yet.
        """
        things = things or {}
        try:
            labels = predict(plan, tools)
        except PlanError as error:
            return Judgement(Ruling("deny", f"the plan cannot be run: {error}", "plan"))
        n_planned: dict[str, int] = {}
        decisions: list[Decision] = []
        for index, step in enumerate(plan.steps):
            known = (circumstances or {}).get(step.tool, UNKNOWN)
            n_before = n_planned.get(step.tool, 0)
            n_planned[step.tool] = n_before + 1
            if index < n_consented:
                decisions.append(Decision(Ruling("allow", "agreed to before", "consent")))
            else:
                at_step = Circumstances(known.now, known.book, known.n_calls, n_before)
                planned = PlannedStep(plan, index, tools)
                decisions.append(self._judge_step(planned, labels[index], at_step, things.get(index, {})))
        if not decisions:
            return Judgement(Ruling("deny", "the plan has no steps", "plan"))
        steps = tuple(decision.ruling for decision in decisions)
        return Judgement(strictest(steps), steps, labels, tuple(decisions), things)

    def _judge_step(
        self, planned: PlannedStep, labels: StepLabels, circumstances: Circumstances, things: Mapping[str, Value]
    ) -> Decision:
        step, spec = planned.step, planned.spec
        if spec.name in self._ordered:
            given = {name: _given(spec, value, name, labels, things) for name, value in step.arguments.items()}
            given |= {name: Given.known(value) for name, value in things.items() if name not in given}
            decision = self.decide(spec, given, circumstances, is_final=False)
        else:
            decision = Decision(self.rule_tool(spec))
        if decision.ruling.verdict != "allow":
            return decision
        if step.replaces is not None and spec.effect != "none":
            asks = Ruling("ask", f"{spec.name} would act on something else than you first asked for", "repair")
            return Decision(asks, decision.possible, decision.tried)
        return self._with_sinks(planned, labels, decision)

    @staticmethod
    def _with_sinks(planned: PlannedStep, labels: StepLabels, decision: Decision) -> Decision:
        """Revise the decision by the sources of the values that decide where data goes."""
        for parameter in planned.spec.parameters:
            label = labels.arguments.get(parameter.name)
            if not parameter.is_sink or label is None or label.is_trusted:
                continue
            where = " and ".join(origins(planned, parameter.name))
            asks = Ruling("ask", stranger_reason(parameter.name, planned.spec.name, where), "label")
            if not labels.may_turn_out_trusted(parameter.name):
                return Decision(asks, decision.possible, decision.tried)
            decision = Decision(decision.ruling, (*decision.possible, asks), decision.tried)
        return decision


def stranger_reason(parameter: str, tool: str, where: str) -> str:
    return f"{parameter!r} of {tool} decides where data goes and comes from {where}, which a stranger may have written"


def strictest(steps: Sequence[Ruling]) -> Ruling:
    """The strictest of some rulings, with every reason of that strictness."""
    worst = max(steps, key=lambda ruling: SEVERITY[ruling.verdict])
    reasons = dict.fromkeys(ruling.reason for ruling in steps if ruling.verdict == worst.verdict)
    return Ruling(worst.verdict, "; ".join(reasons), worst.rule)


def _given(spec: ToolSpec, value: Argument, name: str, labels: StepLabels, things: Mapping[str, Value]) -> Given:
    """An argument of a plan: a literal is known, with the thing it names; a reference to a result is not."""
    parameter = spec.parameter(name)
    is_unresolved = parameter is not None and parameter.is_resolved and name not in things
    if refs_in(value) or is_unresolved or (name in things and things[name].is_open):
        return Given(None, labels.arguments[name], labels.best.get(name))
    return Given.known(things[name] if name in things else Value(literal(value), labels.arguments[name]))


def literals(step: Step, labels: Mapping[str, Label]) -> dict[str, Value]:
    """Return the arguments of a step that are known before it runs, with their labels."""
    return {name: Value(literal(one), labels[name]) for name, one in step.arguments.items() if not refs_in(one)}


def literal(value: Argument) -> Plain:
    """Return a literal as plain data."""
    if isinstance(value, list):
        return [literal(item) for item in value]
    if isinstance(value, dict):
        return {key: literal(item) for key, item in value.items()}
    assert value is None or isinstance(value, bool | int | float | str)
    return value


def _at(line: int) -> str:
    return f", line {line}" if line else ""
