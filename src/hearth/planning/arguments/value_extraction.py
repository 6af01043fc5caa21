"""Values in the form of a parameter's type, numbers in the unit that it asks for."""

from __future__ import annotations

import calendar
import datetime as dt
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from hearth.formats.plans import canonical
from hearth.language.reading import Utterance
from hearth.language.temporal.time_words import UNITS
from hearth.language.tokens import LONG_UNITS, UNIT_WORDS, Slot, tokens
from hearth.language.values.numbers import find_numbers
from hearth.models.lora_encoder import Array
from hearth.models.span_extractor import TURN, Answer
from hearth.tools.calculator import named_unit, registry
from hearth.types import Argument, Context, Parameter

# ── Number readings ───────────────────────────────────────────────────────────────────────────────────────
# Reads the numbers of a text in the form a parameter asks for: its unit, shares of 1, months by name.
#
# A number keeps its place, so that the reader can choose among them. Converted are units that the description names
# ("in seconds"), percentages where a share is asked for, and spans of time where their length is. Not covered: units
# that neither the text nor the description names, and sums.

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


# ── Value extraction ──────────────────────────────────────────────────────────────────────────────────────
# Extracts values from a text in the form of a parameter's type: words of the text, or what a finder reads there.
#
# Words never cross a turn of a conversation, and stand without the punctuation around them. A date stays as written
# for a text parameter, unless its description asks for a form (`YYYY-MM-DD`).

_MOST_TOKENS = 48
_TOKEN_PRICE = 0.1
"""Price of each further token of a span, in log-probability: the reader scores start and end separately."""
_N_MENTIONS, _N_VARIANTS = 10, 4
"""Number of spans considered for a parameter, and of those that may overlap."""
_MOST_NAME_WORDS = 4
_QUOTE_PRICE = 3.0
"""Log-probability that a span loses which begins or ends within quotation marks and is not all that they hold."""
_SENTENCE_PRICE = 2.0
"""Price of a span that goes beyond the end of a sentence."""
_TYPED_VIEWS = {
    "datetime": ("datetime", "start"),
    "date": ("date", "start"),
    "time": ("time",),
    "duration": ("duration",),
    "EmailAddress": ("email",),
    "PhoneNumber": ("phone",),
    "Url": ("url",),
    "FilePath": ("path",),
}
_END_NAMES = frozenset({"end", "until", "to", "before", "due", "finish"})
_QUOTES = "\"'“”‘’«»„`"
_EDGES = " \t\r\n.,;:!?…" + _QUOTES
_OPENERS = {")": "(", "]": "[", "}": "{"}
_JOINT = re.compile(r"\s*(?:,\s*(?:and|or|as well as)\s+|[,;\n]\s*|\s(?:and|or|as well as|plus|&)\s)\s*", re.IGNORECASE)
_QUOTED = re.compile(r"[\"“«]([^\"”»\n]+)[\"”»]|(?<!\w)['‘]((?:[^'‘’\n]|(?<=\w)['’](?=\w))+)['’](?!\w)")
_PLAIN_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*\w)")
_LIST_JOINT = re.compile(r"\s*(?:,\s*(?:and\s+|or\s+)?|\s(?:and|or|&)\s|\n\s*[-*•]\s*)\s*", re.IGNORECASE)
_BRACKETED = re.compile(r"\[([^\[\]\n]{1,2000})\]")
_NUMBERS_ASKED = re.compile(
    r"\b(?:numbers?|integers?|floats?|limits?|coordinates?|coefficients?|values?)\b", re.IGNORECASE
)
_ISO_ASKED = re.compile(r"y{4}[-/]m{2}[-/]d{2}", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<![A-Z])[.!?](?=\s+[A-Z])")
_DAY_SAID = re.compile(
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun|to(?:day|morrow|night)|"
    r"yesterday|day|week|month|year)|\d(?:st|nd|rd|th)\b|\d{4}|\d[-/.]\d",
    re.IGNORECASE,
)
_CURRENCY_ASKED = re.compile(r"\bcurrency\b", re.IGNORECASE)
_CLOCK_ASKED = re.compile(r"h{2}:m{2}(?! *am)|24[- ]hour", re.IGNORECASE)


class Saying:
    """A text with what finders read in it."""

    def __init__(self, text: str, now: dt.datetime, context: Context) -> None:
        self.text = text
        self._now = now if now.tzinfo else now.replace(tzinfo=dt.UTC)
        self._context = context
        self._read = Utterance(text, self._now, context=context)
        self._slots = self._read.mentions
        self._turns = [(m.start(), m.end()) for m in TURN.finditer(text)] if TURN.match(text) else []
        self._sentences = [m.end() for m in _SENTENCE_END.finditer(text)]
        self._numbers = NumberReadings(text, self._slots)
        quoted = [m.span(1 if m[1] else 2) for m in _QUOTED.finditer(text)]
        self._quoted = [(a, b) for a, b in quoted if b - a < len(text) / 2]  # a request may be quoted as a whole
        self._brackets = [m.span(1) for m in _BRACKETED.finditer(text)]

    # ── With the reader ───────────────────────────────────────────────────────────────────────────────────

    def mentions(self, parameter: Parameter, answer: Answer) -> list[Spoken]:
        """Return what may be said for a parameter, converted to its type, likeliest first; none when there is nothing
        of that type."""
        kind = canonical(parameter.type)
        if kind in NUMBERS:
            return _ranked(self.numbers(parameter), answer)
        if kind in _TYPED_VIEWS:
            return _ranked(self._typed(kind, parameter.name), answer)
        found = []
        for start, end, chance in self._words(answer):
            if kind.startswith("list["):
                value: Argument | None = self._list(parameter, start, end, kind[5:-1])
            elif kind == "PersonName":
                value = self._person(start, end)
            else:
                value = self._in_form(parameter, start, end)
            if value is not None:
                found.append(Spoken(value, start, end, chance))
        return found

    def _list(self, parameter: Parameter, start: int, end: int, kind: str) -> Argument | None:
        """Return the items of a stretch, or of the brackets it lies in."""
        inside = next(((a, b) for a, b in self._brackets if a - 1 <= start and end <= b + 1), None)
        inside = inside or self._with_neighbours(start, end)
        items = self.items(*inside, kind)
        is_numeric = kind in NUMBERS or (kind == "any" and _NUMBERS_ASKED.search(parameter.description) is not None)
        wanted = kind if kind in NUMBERS else "number"
        if is_numeric and not (items and all(isinstance(item, int | float) for item in items)):
            said = [one.value for one in self.numbers(replace(parameter, type=wanted)) if start <= one.start < end]
            return said or items
        return items

    def _with_neighbours(self, start: int, end: int) -> tuple[int, int]:
        """Return a stretch of numbers or quoted texts with those that stand beside it in the same list."""
        quoted = [(a - 1, b + 1) for a, b in self._quoted]
        for units in (quoted, [m.span() for m in _PLAIN_NUMBER.finditer(self.text)]):
            mine = [k for k, (a, b) in enumerate(units) if a < end and b > start]
            if not mine or re.search(r"[A-Za-z]{4,}", self.text[start : units[mine[0]][0]]):
                continue
            first, last = mine[0], mine[-1]
            while first and _LIST_JOINT.fullmatch(self.text, units[first - 1][1], units[first][0]):
                first -= 1
            while last + 1 < len(units) and _LIST_JOINT.fullmatch(self.text, units[last][1], units[last + 1][0]):
                last += 1
            return min(start, units[first][0]), max(end, units[last][1])
        return start, end

    def _person(self, start: int, end: int) -> str:
        slot = self._slot_at(start, end)
        is_known = slot is not None and slot.kind == "person" and not slot.is_ambiguous
        return str(slot.views["name"]) if slot is not None and is_known else self.text[start:end]

    def _words(self, answer: Answer) -> list[tuple[int, int, float]]:
        """Return the likeliest spans inside one turn, first that overlap and then that do not: characters and
        probability of each."""
        spans = answer.spans
        n = len(spans)
        if not n:
            return []
        scores = self._span_scores(answer)
        found: dict[tuple[int, int], float] = {}
        for n_seen in range(4 * _N_MENTIONS):
            first, last = np.unravel_index(int(np.argmax(scores)), scores.shape)
            best = float(scores[first, last])
            if not math.isfinite(best) or len(found) == _N_MENTIONS:
                break
            place = self.trimmed(int(spans[first, 0]), int(spans[last, 1]))
            if place[0] < place[1]:
                found.setdefault(place, math.exp(min(0.0, best)))
            scores[first, last] = -np.inf
            if n_seen >= _N_VARIANTS:
                scores[: last + 1, first:] = -np.inf  # whatever overlaps
        return [(start, end, chance) for (start, end), chance in found.items()]

    def _span_scores(self, answer: Answer) -> Array:
        """Return the log-probability of each span, shape [n_text, n_text]; minus infinity where none may be."""
        spans = answer.spans
        n = len(spans)
        turn = np.zeros(n, dtype=np.int64)
        is_mark = np.zeros(n, dtype=bool)
        for start, end in self._turns:
            turn += spans[:, 0] >= start
            is_mark |= (spans[:, 0] < end) & (spans[:, 1] > start)
        # Where the middle of a long text was left out, tokens are not adjacent.
        apart = np.flatnonzero(spans[1:, 0] - spans[:-1, 1] > 200)
        for k in apart:
            turn[k + 1 :] += 1_000_000
        place = np.arange(n)
        length = place[None, :] - place[:, None]
        sentence = np.searchsorted(self._sentences, spans[:, 0])
        scores = answer.start[:, None] + answer.end[None, :] - _TOKEN_PRICE * length
        scores -= _SENTENCE_PRICE * np.maximum(sentence[None, :] - sentence[:, None], 0)
        allowed = (length >= 0) & (length < _MOST_TOKENS)
        for start, end in self._quoted:
            inside = (spans[:, 0] < end) & (spans[:, 1] > start)
            scores -= _QUOTE_PRICE * (inside[:, None] | inside[None, :])
            whole = np.flatnonzero(inside)
            if len(whole):
                first, last = whole[0], whole[-1]
                scores[first, last] = answer.start[first] + answer.end[last]
                allowed[first, last] = True
        allowed &= (turn[:, None] == turn[None, :]) & ~is_mark[:, None] & ~is_mark[None, :]
        return np.asarray(np.where(allowed, scores, -np.inf))

    def trimmed(self, start: int, end: int) -> tuple[int, int]:
        """Strip punctuation and quotation marks around; a closing bracket stays when its opening one is inside."""
        text = self.text
        while start < end and (text[start] in _EDGES or text[start] in ")]}"):
            start += 1
        while start < end:
            last = text[end - 1]
            is_unopened = last in _OPENERS and text[start:end].count(_OPENERS[last]) < text[start:end].count(last)
            if not (last in _EDGES or is_unopened) or _is_short_form(text[start:end]):
                break
            end -= 1
        while start < end and text[start] in "([{" and not any(c in text[start:end] for c in ")]}"):
            start += 1
        return start, end

    # ── Forms ─────────────────────────────────────────────────────────────────────────────────────────────

    def _in_form(self, parameter: Parameter, start: int, end: int) -> str:
        """Return the words as written, or the date in the form the description asks for."""
        said = self.text[start:end]
        told = f"{parameter.description} {parameter.unit}"
        is_date, is_clock = _ISO_ASKED.search(told) is not None, _CLOCK_ASKED.search(told) is not None
        if not (is_date or is_clock):
            return self._currency(start, end) or said if _CURRENCY_ASKED.search(told) else said
        slot = next(iter(self._read.saying(said).times), None)
        slot = slot or self._slot_at(start, end)
        if slot is None or slot.kind != "time":
            return said
        parts = []
        day = slot if not is_date or _DAY_SAID.search(slot.text) else self._day_near(start)
        if is_date and day is not None and isinstance(day.views.get("date"), str):
            parts.append(str(day.views["date"]))
        if is_clock and isinstance(slot.views.get("time"), str):
            parts.append(str(slot.views["time"])[:5])
        return " ".join(parts) or said

    def _day_near(self, place: int) -> Slot | None:
        """Return the nearest time that names a day: `10:00` alone has none."""
        named = [s for s in self._slots if s.kind == "time" and _DAY_SAID.search(s.text)]
        return min(named, key=lambda s: abs(s.start - place), default=None)

    def _currency(self, start: int, end: int) -> str | None:
        """Return the code of the currency said in a stretch (`dollars` is USD)."""
        slot = self._slot_at(start, end)
        unit = slot.views.get("unit") if slot is not None else None
        return unit if isinstance(unit, str) and re.fullmatch("[A-Z]{3}", unit) else None

    def _slot_at(self, start: int, end: int) -> Slot | None:
        """Return the slot that shares most characters with a stretch."""
        best = max(self._slots, key=lambda s: min(s.end, end) - max(s.start, start), default=None)
        return best if best is not None and best.start < end and best.end > start else None

    def _pieces(self, start: int, end: int) -> list[str]:
        """Return what is listed in a stretch, by its quotation marks or by commas and "and"."""
        quoted = [a or b for a, b in _QUOTED.findall(self.text[max(0, start - 1) : end + 1])]
        pieces = quoted if len(quoted) > 1 else _JOINT.split(self.text[start:end])
        stripped = [piece.strip(_EDGES) for piece in pieces]
        return [re.sub(r"^(?:and|or)\s+", "", piece, flags=re.IGNORECASE) for piece in stripped if piece]

    def items(self, start: int, end: int, kind: str) -> list[Argument] | None:
        """Return the things named in a stretch, each of type `kind`; None when one is of another type."""
        said, named = self.text[start:end], self._pieces(start, end)
        if kind in (*NUMBERS, "any") and re.fullmatch(r"[\d\s.,x×-]+(?:to\s[\d\s.]+)?", said):
            named = re.findall(r"-?\d+(?:\.\d+)?", re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", said))
        if kind in NUMBERS or (kind == "any" and named and all(number_in(p) is not None for p in named)):
            numbers = [n for n in map(number_in, named) if n is not None and (kind != "integer" or n == int(n))]
            return [int(n) if n == int(n) else n for n in numbers] or None
        if kind in _TYPED_VIEWS:
            found = [one.value for one in self._typed(kind, "") if one.start >= start and one.end <= end]
            return found or None
        if kind not in ("text", "any", "PersonName"):
            return None
        return list(named) or None

    def pieces(self, start: int, end: int) -> list[Spoken]:
        """Return the things that a stretch names together (`gold, silver and tin`), each with its place; none when it
        names one, or says more than names."""
        if any(a < end and b > start for a, b in self._quoted if (a, b) != (start, end)):
            return []
        found = []
        at = start
        for joint in (*_JOINT.finditer(self.text, start, end), None):
            place = self.trimmed(at, joint.start() if joint is not None else end)
            if place[0] < place[1]:
                found.append(Spoken(self.text[place[0] : place[1]], *place))
            at = joint.end() if joint is not None else end
        is_joined = re.search(r"\b(?:and|or|as well as|plus)\b|&", self.text[start:end]) is not None
        is_names = all(len(str(one.value).split()) <= _MOST_NAME_WORDS for one in found)
        return found if is_joined and is_names and len(found) > 1 else []

    def _typed(self, kind: str, name: str) -> list[Spoken]:
        """Return the finders' values that fit a type, in the order of the text."""
        views = _TYPED_VIEWS[kind]
        if name in _END_NAMES and kind in ("datetime", "date"):
            views = ("end", *views)
        found = []
        for slot in self._slots:
            for view in views:
                value = slot.views.get(view)
                if isinstance(value, str) and value:
                    found.append(Spoken(value[:10] if kind == "date" else value, slot.start, slot.end))
                    break
        return found

    def numbers(self, parameter: Parameter) -> list[Spoken]:
        """Return every number said, in digits or in words, in the parameter's unit; whole ones only for `integer`."""
        return self._numbers.of(parameter)

    # ── Without the reader ────────────────────────────────────────────────────────────────────────────────

    def first(self, parameter: Parameter, taken: Sequence[tuple[int, int]]) -> Spoken | None:
        """Return the first value of a parameter's type whose place is not taken; free text only if it is quoted."""
        kind = canonical(parameter.type)
        if kind in NUMBERS:
            able = [n for n in self.numbers(parameter) if not self._is_in_time(n)]
        elif kind in _TYPED_VIEWS:
            able = self._typed(kind, parameter.name)
        elif kind == "PersonName":
            able = [Spoken(str(s.views["name"]), s.start, s.end) for s in self._slots if s.kind == "person"]
        elif kind == "text":
            able = [Spoken(str(s.views["text"]), s.start, s.end) for s in self._slots if s.kind == "quoted"]
        else:
            able = []
        return next((one for one in able if all(one.end <= a or one.start >= b for a, b in taken)), None)

    def _is_in_time(self, one: Spoken) -> bool:
        return any(s.kind in ("time", "phone") and s.start <= one.start < s.end for s in self._slots)


def _ranked(candidates: Sequence[Spoken], answer: Answer) -> list[Spoken]:
    """Return the candidates by how likely the reader's span begins and ends on their tokens, with that share of all."""
    scored = []
    for one in candidates:
        inside = np.flatnonzero((answer.spans[:, 0] < one.end) & (answer.spans[:, 1] > one.start))
        if len(inside):
            scored.append((float(answer.start[inside].max() + answer.end[inside].max()), one))
    scored.sort(key=lambda pair: -pair[0])
    total = sum(math.exp(score) for score, _ in scored)
    return [replace(one, confidence=math.exp(score) / total if total else 0.0) for score, one in scored[:_N_MENTIONS]]


def _is_short_form(said: str) -> bool:
    """Return whether the final point belongs to the word: `D.C.`, `M.D.`, `Inc.`."""
    return re.search(r"(?:\b[A-Za-z]\.){2,}$|\b(?:Inc|Jr|Sr|Ltd|Co|St|Dr)\.$", said) is not None
