"""Typed values found in a request, without training: the same text, time and context give the same slots.

Slots never overlap, stand in the order of the text, and `text[slot.start:slot.end] == slot.text`. No text raises, and
reading takes time linear in its length. English only: of other languages, addresses, numbers, files, quoted text,
known names and numeric dates are still found.

Views by kind, all plain data:

* `time`: `datetime` (the one moment that stands for it), `date`, `start` and `end` (what was said, bounded: `end` is
  exclusive; one of them is missing when that side is open), `time` when a clock time was said, `duration` for a range
  of clock times, `repeat` (`daily`, `weekly`, `monthly`, `yearly`; `hourly`, `minutely`) with `repeat_every` (when not
  1) and `repeat_days` (`MO`, …). How unsure English is read: `planning.moments` and `planning.days`.
* `duration`: `duration` (a month counts 30 days, a year 365), and `number` with `unit` when it is of one unit.
* `number`: `number`, `integer` when whole; of a percentage also `unit` (`percent`) and `fraction`.
* `quantity`: `number`, `integer` when whole, `unit` (a name pint knows, or an ISO 4217 currency). `unit`: `unit`.
* `expression`: `expression`, a sum in signs.
* `email`: `email`. `phone`: `phone` (E.164). `url`: `url`. `file`: `path`, `name`. `quoted`: `text`.
* `person` and other entities: `name`, the entity's name; `candidates` when ambiguous. `unknown_person`: `name`.
* Every kind has `text`: what was written, without quotation marks.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import replace

from hearth.planning.names import find_names
from hearth.planning.text import Clause, Slot, Token, listed, tokens
from hearth.planning.times import find_times
from hearth.planning.values import find_addresses, find_numbers, find_phones, find_quoted
from hearth.types import Context

__all__ = ["Clause", "Slot", "clauses", "find_slots", "without"]

_RANKS = {
    kind: rank
    for rank, kind in enumerate(
        listed("quoted email url file person time phone expression quantity duration number unit unknown_person")
    )
}
"""Of slots of equal length that overlap the first kind wins."""
_CUE_WORDS = frozenset(
    listed(
        "at on in for of to from between within during over around about since until till before after by "
        "with without into as than under above below per every each near via cc"
    )
)


def find_slots(text: str, now: dt.datetime, context: Context) -> tuple[Slot, ...]:
    """Find the typed values in a request.

    Of overlapping values the longest counts, then the most specific kind.

    Args:
        text: The request as the owner wrote it; any text.
        now: When it was asked, with time zone.
        context: Names the owner knows, and the country that decides phone numbers and the order of 3/4/2027.
    Raises:
        ValueError: `now` has no time zone.
    """
    if now.tzinfo is None:
        raise ValueError(f"the request's time {now.isoformat()!r} has no time zone; give it the owner's")
    said = tokens(text)
    found = [
        *find_quoted(text),
        *find_addresses(text),
        *find_names(text, said, context),
        *find_times(text, said, now, context.country),
        *find_phones(text, context.country),
        *find_numbers(text, said),
    ]
    return tuple(_finished(slot, said, place) for slot, place in _placed(_apart(text, found), said))


def _apart(text: str, found: list[Slot]) -> list[Slot]:
    """The slots that remain when of overlapping ones the longest, then the most specific is kept."""
    taken = bytearray(len(text))
    kept = []
    for slot in sorted(found, key=lambda s: (s.start - s.end, _RANKS.get(s.kind, 4), s.start)):
        if taken.find(1, slot.start, slot.end) < 0:
            taken[slot.start : slot.end] = b"\x01" * (slot.end - slot.start)
            kept.append(slot)
    kept.sort(key=lambda s: s.start)
    return kept


def _placed(slots: Sequence[Slot], said: Sequence[Token]) -> list[tuple[Slot, int]]:
    """Each slot with the index of the token before it (-1: none)."""
    result = []
    index = 0
    for slot in slots:
        while index < len(said) and said[index].end <= slot.start:
            index += 1
        result.append((slot, index - 1))
    return result


def _finished(slot: Slot, said: Sequence[Token], before: int) -> Slot:
    """The slot with its cue, and its text as a view."""
    views = {"text": slot.text, **slot.views}
    if slot.cue or before < 0 or said[before].low not in _CUE_WORDS:
        return replace(slot, views=views, cue_start=slot.cue_start if slot.cue else slot.start)
    return replace(slot, views=views, cue=said[before].low, cue_start=said[before].start)


# ── Clauses ───────────────────────────────────────────────────────────────────────────────────────────────

_SENTENCE = re.compile(r"(?:[.!?;]+\s+|\s+and then\s+|,?\s+then\s+)", re.IGNORECASE)


def clauses(text: str, slots: Sequence[Slot]) -> tuple[Clause, ...]:
    """Cut a request into the parts that each ask for one thing, in order; never inside a slot or a list of nouns."""
    cuts = [
        match.span()
        for match in _SENTENCE.finditer(text)
        if not any(slot.start < match.end() and match.start() < slot.end for slot in slots)
    ]
    result: list[Clause] = []
    start = 0
    for end, following in [*cuts, (len(text), len(text))]:
        if text[start:end].strip():
            result.append(Clause(start, end, text[start:end], tuple(s for s in slots if start <= s.start < end)))
        start = following
    return tuple(result)


def without(text: str, slots: Sequence[Slot]) -> str:
    """The request with each slot replaced by its kind (`call <person> <time>`), to compare requests by their form."""
    parts: list[str] = []
    place = 0
    for slot in slots:
        parts += [text[place : slot.start], f"<{slot.kind}>"]
        place = slot.end
    return "".join([*parts, text[place:]])
