"""Reads the numbers of a text in the form a parameter asks for: its unit, shares of 1, months by name.

A number keeps its place, so that the reader can choose among them. Converted are units that the description names
("in seconds"), percentages where a share is asked for, and spans of time where their length is. Not covered: units that
neither the text nor the description names, and sums.
"""

from __future__ import annotations

import calendar
import datetime as dt
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from hearth.formats.plan_validation import canonical
from hearth.language.temporal.time_words import UNITS
from hearth.language.text.tokens import LONG_UNITS, UNIT_WORDS, Slot, tokens
from hearth.language.values.numbers import find_numbers
from hearth.tools.unit_conversion import named_unit, registry
from hearth.types import Argument, Parameter

NUMBERS = ("integer", "number")
_DIGITS = re.compile(r"(?<![\d.,])(?:(?<![\w)\]])[-−])?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?(?!\d)")
_TOUCHING = re.compile(r"(°?[A-Za-zµμΩ]{1,4}(?:[/·][a-z]{1,3})?[²³]?)(?!\w)| ([kmMGnpµμ][A-ZΩ][a-z]?)(?!\w)")
"""A unit that touches its number, or is written as no word is: `50 mH`."""
_SHARE_ASKED = re.compile(
    r"\bdecimal\b|\b0(?:\.0)? (?:to|and|-) 1(?:\.0)?\b|\bfraction\b|(?<![\d.])0?\.\d", re.IGNORECASE
)
_PERCENT_ASKED = re.compile(r"\bper ?cent|%|\b100\b", re.IGNORECASE)
_UNIT_ASKED = re.compile(
    r"\b(?:in|of|as)\s+(?=((?:[a-z°]+\s+){0,2}[a-z°]+)\b)|\(in ([^)]{1,24})\)|\(([a-zµ°/²³]{1,8})\)", re.IGNORECASE
)
_LENGTH_ASKED = re.compile(r"\bnumber of (\w+)\b|\bhow many (\w+)\b", re.IGNORECASE)
_TIME_UNITS = frozenset({"second", "minute", "hour", "day", "week", "month", "year"})
_TIME_LENGTHS_S = {
    "second": 1.0,
    "minute": 60.0,
    "hour": 3600.0,
    "day": 86_400.0,
    "week": 604_800.0,
    "month": 2_592_000.0,
    "year": 31_536_000.0,
}
_PERIOD = re.compile(r"\b(?:week|fortnight|month|year|decade)\b", re.IGNORECASE)
_MONTHS = {name.lower(): k for names in (calendar.month_name, calendar.month_abbr) for k, name in enumerate(names) if k}
_MONTH_SAID = re.compile(rf"\b({'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b\.?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Spoken:
    """A value and where it is said."""

    value: Argument
    start: int
    end: int
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class _Number:
    """A number as it stands in the text."""

    value: float
    start: int
    end: int
    unit: str = ""
    """Unit as `language.values.numbers` names it; `percent` of a percentage."""
    digits: float = math.nan
    """What its digits alone say, without a `k` behind them."""


class NumberReadings:
    """The numbers of one text; each parameter reads them in its own form."""

    def __init__(self, text: str, slots: Sequence[Slot]) -> None:
        """Keep the text; `slots` are what finders read in it."""
        self._text = text
        self._slots = slots
        self._said: list[_Number] | None = None

    def of(self, parameter: Parameter) -> list[Spoken]:
        """Return every number that can be the parameter's value, in the order of the text; whole ones only for an
        `integer`."""
        kind = canonical(parameter.type)
        kind = kind[5:-1] if kind.startswith("list[") else kind
        asked = f"{parameter.name.replace('_', ' ')} {parameter.description} {parameter.unit}"
        unit = _unit_asked(asked)
        said = self._numbers()
        if unit:
            able = [one for one in said if _is_measured_in(self._unit(one), unit)]
            said = able or said
        found = [Spoken(_plain(self._converted(one, kind, asked, unit)), one.start, one.end) for one in said]
        taken = {one.start for one in found}
        if unit in _TIME_UNITS:
            found += [one for one in self._lengths(unit) if one.start not in taken]
        if kind == "integer" and re.search(r"\bmonths?\b", parameter.name.replace("_", " "), re.IGNORECASE):
            found += [Spoken(_MONTHS[m[1].lower()], *m.span()) for m in _MONTH_SAID.finditer(self._text)]
        found.sort(key=lambda one: one.start)
        return [one for one in found if isinstance(one.value, int)] if kind == "integer" else found

    def _numbers(self) -> list[_Number]:
        if self._said is None:
            found: dict[int, _Number] = {}
            for match in _DIGITS.finditer(self._text):
                value = number_in(match[0])
                if value is not None:
                    found[match.start()] = _Number(value, match.start(), match.end(), "", value)
            for slot in (*self._slots, *find_numbers(self._text, tokens(self._text))):
                read = slot.views.get("number")
                if isinstance(read, bool) or not isinstance(read, int | float) or not math.isfinite(read):
                    continue
                inside = [a for a in found if slot.start <= a < slot.end]
                if len(inside) > 1 or any(a in found and found[a].unit for a in inside):
                    continue
                digits = found.pop(inside[0]).digits if inside else math.nan
                found[slot.start] = _Number(float(read), slot.start, slot.end, str(slot.views.get("unit", "")), digits)
            self._said = [found[a] for a in sorted(found)]
        return self._said

    def _converted(self, one: _Number, kind: str, asked: str, unit: str) -> float:
        if one.unit == "percent":
            is_share = _SHARE_ASKED.search(asked) or not _PERCENT_ASKED.search(asked)
            return round(one.value / 100, 12) if kind == "number" and is_share else one.value
        if unit == "kelvin" and self._text[one.start : one.end].endswith("K"):
            return one.digits
        if not unit or unit == one.unit:
            return one.value
        if one.unit in _TIME_UNITS and unit in _TIME_UNITS:
            return round(one.value * _TIME_LENGTHS_S[one.unit] / _TIME_LENGTHS_S[unit], 6)
        return _measured(one.value, self._unit(one), unit)

    def _unit(self, one: _Number) -> str:
        """Return the unit said with a number, else what may be one behind it."""
        touching = _TOUCHING.match(self._text, one.end) if not one.unit else None
        return (touching[1] or touching[2]) if touching is not None else one.unit

    def _lengths(self, unit: str) -> list[Spoken]:
        """Return periods said without a number (`the next week`) as their length."""
        found = []
        for slot in self._slots:
            start, end = slot.views.get("start"), slot.views.get("end")
            if (
                slot.kind != "time"
                or not _PERIOD.search(slot.text)
                or not (start and end)
                or re.search(r"\d", slot.text)
            ):
                continue
            length_s = (dt.datetime.fromisoformat(str(end)) - dt.datetime.fromisoformat(str(start))).total_seconds()
            found.append(Spoken(_plain(float(round(length_s / _TIME_LENGTHS_S[unit]))), slot.start, slot.end))
        return found


@lru_cache(maxsize=4096)
def _unit_asked(asked: str) -> str:
    """Return the unit that a parameter's texts ask for, as `language.values.numbers` names it, or as pint does; empty
    when there is none."""
    for match in (*_LENGTH_ASKED.finditer(asked), *_UNIT_ASKED.finditer(asked)):
        said = next((group for group in match.groups() if group), "").lower().split()
        for n in range(min(3, len(said)), 0, -1):
            named = LONG_UNITS.get(tuple(said[:n])) or (_unit_of(said[0]) if n == 1 else None)
            if named:
                return named
    return ""


def _unit_of(word: str) -> str:
    if word in UNITS and len(word) > 2:
        return UNITS[word][0]
    if word in UNIT_WORDS:
        return UNIT_WORDS[word]
    return word.removesuffix("s") if word in _PHYSICAL else "henry" if word == "henries" else ""


_PHYSICAL = frozenset(
    f"{prefix}{name}{ending}"
    for prefix in ("", "milli", "kilo", "mega")
    for name in (
        "henry",
        "farad",
        "ohm",
        "volt",
        "ampere",
        "tesla",
        "newton",
        "coulomb",
        "joule",
        "hertz",
        "pascal",
        "watt",
    )
    for ending in ("", "s")
)


@lru_cache(maxsize=4096)
def _measured(value: float, given: str, wanted: str) -> float:
    """Return a value in the wanted unit, unchanged when the two measure different things."""
    source, target = _known(given), _known(wanted)
    if source is None or target is None or source.dimensionality != target.dimensionality:
        return value
    units: Any = registry()
    try:
        return value if source == units.degree else round(float(units.Quantity(value, source).to(target).magnitude), 10)
    except (ValueError, TypeError):
        return value


@lru_cache(maxsize=4096)
def _is_measured_in(given: str, wanted: str) -> bool:
    """Return whether a number said with a unit can be meant where another is asked for; one without can always."""
    source, target = _known(given), _known(wanted)
    if given == "percent" or source is None or target is None:
        return given != "percent" and not _is_money(given)
    return bool(source.dimensionality == target.dimensionality)


def _is_money(unit: str) -> bool:
    return len(unit) == 3 and unit.isupper()


@lru_cache(maxsize=4096)
def _known(unit: str) -> Any:
    """Return pint's unit of a name, or None. Money has no rates here, and prose behind a number is no unit."""
    if not unit or _is_money(unit) or unit in ("percent", "degree", "in", "at", "a", "x", "am", "pm"):
        return None
    if unit in UNITS and unit not in ("m", "d"):
        unit = UNITS[unit][0]
    try:
        return registry().Unit(unit.replace("μ", "µ")) if unit not in UNIT_WORDS else named_unit(UNIT_WORDS[unit])
    except (AttributeError, ValueError, TypeError):  # pint's UndefinedUnitError is an AttributeError
        return named_unit(unit)


def number_in(text: str) -> float | None:
    """Return the finite number that a text is, a currency sign or per cent aside; None when it is none."""
    cleaned = text.strip().lstrip("$€£").rstrip("%").replace(",", "").replace("−", "-")
    try:
        value = float(cleaned)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _plain(value: float) -> int | float:
    return int(value) if value.is_integer() and abs(value) < 1e15 else value
