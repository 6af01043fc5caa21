"""Extracts values from a text in the form of a parameter's type: words of the text, or what a finder reads there.

Words never cross a turn of a conversation, and stand without the punctuation around them. A date stays as written for a
text parameter, unless its description asks for a form (`YYYY-MM-DD`).
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from hearth.formats.plan_validation import canonical
from hearth.language.values.slots import Slot, find_slots
from hearth.models.encoder.lora_encoder import Array
from hearth.models.span_extractor import TURN, Answer
from hearth.types import Argument, Context, Parameter

_MOST_TOKENS = 48
_TOKEN_PRICE = 0.1
"""Price of each further token of a span, in log-probability: the reader scores start and end separately."""
_WORTH_A_PLACE = 3.0
"""Log-probability by which words that no other parameter of the call has taken may be less likely."""
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
_DIGITS = re.compile(r"(?<![\d.,])[-−]?\d[\d,]*(?:\.\d+)?(?!\d)")
_NUMBERS = ("integer", "number")
_QUOTES = "\"'“”‘’«»„`"
_EDGES = " \t\r\n.,;:!?…" + _QUOTES
_OPENERS = {")": "(", "]": "[", "}": "{"}
_JOINT = re.compile(r"\s*(?:,\s*(?:and|or|as well as)\s+|[,;\n]\s*|\s(?:and|or|as well as|plus|&)\s)\s*", re.IGNORECASE)
_QUOTED = re.compile(r"[\"“«]([^\"”»\n]+)[\"”»]|(?<!\w)['‘]([^'’\n]+)['’](?!\w)")
_ISO_ASKED = re.compile(r"y{4}[-/]m{2}[-/]d{2}", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<![A-Z])[.!?](?=\s+[A-Z])")
_DAY_SAID = re.compile(
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun|to(?:day|morrow|night)|"
    r"yesterday|day|week|month|year)|\d(?:st|nd|rd|th)\b|\d{4}|\d[-/.]\d",
    re.IGNORECASE,
)
_CURRENCY_ASKED = re.compile(r"\bcurrency\b", re.IGNORECASE)
_SHARE_ASKED = re.compile(
    r"\bdecimal\b|\b0(?:\.0)? (?:to|and|-) 1(?:\.0)?\b|\bfraction\b|(?<![\d.])0?\.\d", re.IGNORECASE
)
_CLOCK_ASKED = re.compile(r"h{2}:m{2}(?! *am)|24[- ]hour", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Spoken:
    """A value and where it is said."""

    value: Argument
    start: int
    end: int
    confidence: float = 1.0


class Saying:
    """A text with what finders read in it."""

    def __init__(self, text: str, now: dt.datetime, context: Context) -> None:
        self.text = text
        self._now = now if now.tzinfo else now.replace(tzinfo=dt.UTC)
        self._context = context
        self._slots = find_slots(text, self._now, context)
        self._turns = [(m.start(), m.end()) for m in TURN.finditer(text)] if TURN.match(text) else []
        self._sentences = [m.end() for m in _SENTENCE_END.finditer(text)]
        self._numbers: list[Spoken] | None = None
        self._percentages: set[int] = set()

    # ── With the reader ───────────────────────────────────────────────────────────────────────────────────

    def best(self, parameter: Parameter, answer: Answer, taken: Sequence[tuple[int, int]] = ()) -> Spoken | None:
        """Return the likeliest mention for a parameter, converted to its type; None when there is none of that type.

        Args:
            taken: Places that other parameters of the call have; words apart from them are preferred when hardly less
                likely.
        """
        kind = canonical(parameter.type)
        if kind in _NUMBERS:
            return self._best_of(self.numbers(kind, is_share=_is_share(parameter)), answer)
        if kind in _TYPED_VIEWS:
            return self._best_of(self._typed(kind, parameter.name), answer)
        place = self._words(answer, taken)
        if place is None:
            return None
        start, end, chance = place
        if kind.startswith("list["):
            value = self.items(start, end, kind[5:-1])
            return None if value is None else Spoken(value, start, end, chance)
        if kind == "PersonName":
            slot = self._slot_at(start, end)
            if slot is not None and slot.kind == "person" and not slot.is_ambiguous:
                return Spoken(str(slot.views["name"]), start, end, chance)
        return Spoken(self._in_form(parameter, start, end), start, end, chance)

    def _best_of(self, candidates: Sequence[Spoken], answer: Answer) -> Spoken | None:
        """Return the candidate on whose tokens the reader's span most likely begins and ends."""
        best, best_score = None, -math.inf
        total = 0.0
        for one in candidates:
            inside = np.flatnonzero((answer.spans[:, 0] < one.end) & (answer.spans[:, 1] > one.start))
            if not len(inside):
                continue
            score = float(answer.start[inside].max() + answer.end[inside].max())
            total += math.exp(score)
            if score > best_score:
                best, best_score = one, score
        if best is None:
            return None
        return Spoken(best.value, best.start, best.end, math.exp(best_score) / total if total else 0.0)

    def _words(self, answer: Answer, taken: Sequence[tuple[int, int]] = ()) -> tuple[int, int, float] | None:
        """Return the likeliest span inside one turn: its characters and probability."""
        spans = answer.spans
        n = len(spans)
        if not n:
            return None
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
        allowed = (length >= 0) & (length < _MOST_TOKENS) & (turn[:, None] == turn[None, :])
        allowed &= ~is_mark[:, None] & ~is_mark[None, :]
        scores = np.where(allowed, scores, -np.inf)
        scores = _apart(scores, spans, taken)
        for _ in range(4):
            first, last = np.unravel_index(int(np.argmax(scores)), scores.shape)
            best = float(scores[first, last])
            if not math.isfinite(best):
                return None
            start, end = self.trimmed(int(spans[first, 0]), int(spans[last, 1]))
            if start < end:
                return start, end, math.exp(best)
            scores[first, last] = -np.inf
        return None

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
        slot = next((s for s in find_slots(said, self._now, self._context) if s.kind == "time"), None)
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

    def items(self, start: int, end: int, kind: str) -> list[Argument] | None:
        """Return the things named in a stretch, each of type `kind`; None when one is of another type."""
        said = self.text[start:end]
        quoted = [a or b for a, b in _QUOTED.findall(self.text[max(0, start - 1) : end + 1])]
        pieces = quoted if len(quoted) > 1 else _JOINT.split(said)
        named = [piece.strip(_EDGES) for piece in pieces]
        named = [re.sub(r"^(?:and|or)\s+", "", piece, flags=re.IGNORECASE) for piece in named if piece]
        if kind in (*_NUMBERS, "any") and re.fullmatch(r"[\d\s.,x×-]+(?:to\s[\d\s.]+)?", said):
            named = re.findall(r"-?\d+(?:\.\d+)?", re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", said))
        if kind in _NUMBERS or (kind == "any" and named and all(_number(p) is not None for p in named)):
            numbers = [n for n in map(_number, named) if n is not None and (kind != "integer" or n == int(n))]
            return [int(n) if n == int(n) else n for n in numbers] or None
        if kind in _TYPED_VIEWS:
            found = [one.value for one in self._typed(kind, "") if one.start >= start and one.end <= end]
            return found or None
        if kind not in ("text", "any", "PersonName"):
            return None
        return list(named) or None

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

    def numbers(self, kind: str, *, is_share: bool = False) -> list[Spoken]:
        """Return every number said, in digits or in words; whole ones only for `integer`.

        Args:
            is_share: Count a percentage as its share of 1.
        """
        if self._numbers is None:
            found: dict[int, Spoken] = {}
            for match in _DIGITS.finditer(self.text):
                value = _number(match[0])
                if value is not None:
                    found[match.start()] = Spoken(_plain(value), match.start(), match.end())
            for slot in self._slots:
                read = slot.views.get("number")
                if isinstance(read, int | float) and not isinstance(read, bool) and math.isfinite(read):
                    inside = [a for a in found if slot.start <= a < slot.end]
                    if len(inside) <= 1:
                        for a in inside:
                            del found[a]
                        found[slot.start] = Spoken(_plain(float(read)), slot.start, slot.end)
                        if slot.views.get("unit") == "percent":
                            self._percentages.add(slot.start)
            self._numbers = [found[a] for a in sorted(found)]
        if is_share and kind == "number":
            return [
                replace(one, value=_plain(cast(float, one.value) / 100)) if one.start in self._percentages else one
                for one in self._numbers
            ]
        if kind == "integer":
            return [one for one in self._numbers if isinstance(one.value, int)]
        return self._numbers

    # ── Without the reader ────────────────────────────────────────────────────────────────────────────────

    def first(self, parameter: Parameter, taken: Sequence[tuple[int, int]]) -> Spoken | None:
        """Return the first value of a parameter's type whose place is not taken; free text only if it is quoted."""
        kind = canonical(parameter.type)
        if kind in _NUMBERS:
            able = [n for n in self.numbers(kind) if not self._is_in_time(n)]
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


def _apart(scores: Array, spans: NDArray[np.int32], taken: Sequence[tuple[int, int]]) -> Array:
    """Exclude spans that touch taken places from the scores, if one apart from them is hardly less likely."""
    if not taken:
        return scores
    is_taken = np.zeros(len(spans), dtype=np.int64)
    for start, end in taken:
        is_taken |= (spans[:, 0] < end) & (spans[:, 1] > start)
    before = np.concatenate([[0], np.cumsum(is_taken)])
    touches = before[1:][None, :] - before[:-1][:, None] > 0
    free = np.where(touches, -np.inf, scores)
    return free if float(free.max()) > float(scores.max()) - _WORTH_A_PLACE else scores


def _is_share(parameter: Parameter) -> bool:
    """Return whether a percentage is wanted as its share of 1."""
    return _SHARE_ASKED.search(parameter.description) is not None


def _is_short_form(said: str) -> bool:
    """Return whether the final point belongs to the word: `D.C.`, `M.D.`, `Inc.`."""
    return re.search(r"(?:\b[A-Za-z]\.){2,}$|\b(?:Inc|Jr|Sr|Ltd|Co|St|Dr)\.$", said) is not None


def _number(text: str) -> float | None:
    cleaned = text.strip().lstrip("$€£").rstrip("%").replace(",", "").replace("−", "-")
    try:
        value = float(cleaned)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _plain(value: float) -> int | float:
    return int(value) if value.is_integer() and abs(value) < 1e15 else value
