"""Compiles the owner's ordered rules, and reports their faults before any is tried.

The first rule whose conditions hold decides. A rule about unknown tools or arguments, with a condition no value can
meet, or that never decides because an earlier rule always does, would silently rule on nothing: each is a fault,
reported with its line and a correction, and Hearth does not start with one.

Covered: names, types, empty ranges and choices, unsafe patterns, rules hidden by an earlier one of the same tool.
Not covered: rules that only several earlier ones together hide. Among more than `MAX_COMPARED` rules for one tool, only
equal and unconditional ones are compared.
"""

from __future__ import annotations

import datetime as dt
import difflib
import hashlib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hearth.config import OrderedRule, When
from hearth.errors import WrongType
from hearth.formats.tool_signature import from_plain
from hearth.guard.flow.labels import VOUCHED_TYPES, item_type
from hearth.guard.policy.conditions import (
    ORDERED_TYPES,
    Circumstances,
    Condition,
    Given,
    Rate,
    Times,
    is_wider,
    never_holds,
)
from hearth.guard.policy.safe_regex import Pattern, checked_pattern
from hearth.registry import COMPANION_TOOLS
from hearth.types import TRUSTED_SOURCES, TYPE_NAMES, UNTRUSTED_SOURCES, Parameter, Plain, Ruling, ToolSpec

MAX_COMPARED = 300
_PERIODS = {
    "minute": dt.timedelta(minutes=1),
    "hour": dt.timedelta(hours=1),
    "day": dt.timedelta(days=1),
    "week": dt.timedelta(days=7),
}
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_TEXT_TYPES = VOUCHED_TYPES | {"text", "Url", "PersonName", "FilePath", "any"}
_UNSET = Condition()


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
