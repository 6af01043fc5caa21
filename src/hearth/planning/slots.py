"""Typed values found in a request, without training: the same text, time and context give the same slots.

Slots never overlap, stand in the order of the text, and `text[slot.start:slot.end] == slot.text`.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hearth.types import Context, Plain


@dataclass(frozen=True, slots=True)
class Slot:
    """One value said in a request."""

    kind: str
    """`time`, `duration`, `number`, `quantity`, `email`, `phone`, `url`, `file`, `quoted`, `person`,
    `unknown_person`, or the kind of an entity of the context (`room`, …)."""
    start: int
    """First character of the value in the request, cue words excluded."""
    end: int
    """One past its last character."""
    text: str
    views: Mapping[str, Plain] = field(default_factory=dict)
    """The value in every form a parameter may want, in Hearth's plain encoding (ISO 8601). See `find_slots`."""
    cue: str = ""
    """The words just before that say its part, lower case: `at`, `from`, `until`, `by`, `for`, `to`, `every`, …"""
    cue_start: int = -1
    """First character of the cue; equal to `start` when there is none."""
    is_timed: bool = False
    """For a time: a clock time or a moment was said, not only a day or a longer stretch."""
    is_ambiguous: bool = False
    """The context knows several; `views["candidates"]` lists their names."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a request that asks for one thing."""

    start: int
    end: int
    text: str
    slots: tuple[Slot, ...] = ()
    """The slots that lie in it."""


_QUOTED = re.compile(r'"([^"\n]{1,2000})"|“([^”\n]{1,2000})”')
_EMAIL = re.compile(r"(?<![\w.+-])[A-Za-z0-9][\w.+-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}\b")
_SENTENCE = re.compile(r"(?:[.!?;]+\s+|\s+and then\s+|,?\s+then\s+)", re.IGNORECASE)


def find_slots(text: str, now: dt.datetime, context: Context) -> tuple[Slot, ...]:
    """Find the typed values in a request. Never raises for any text.

    Args:
        text: The request as the owner wrote it.
        now: When it was asked, with time zone.
        context: Names the owner knows, and the country that decides phone numbers and date order.
    """
    found: list[Slot] = []
    for match in _QUOTED.finditer(text):
        group = 1 if match[1] is not None else 2
        found.append(Slot("quoted", match.start(), match.end(), match[0], {"text": match[group]}, "", match.start()))
    for match in _EMAIL.finditer(text):
        found.append(Slot("email", match.start(), match.end(), match[0], {"email": match[0]}, "", match.start()))
    for entity in context.entities:
        for match in re.finditer(rf"\b{re.escape(entity.name)}\b", text, re.IGNORECASE):
            start, end = match.span()
            found.append(Slot(entity.kind, start, end, match[0], {"name": entity.name}, "", start))
    found.sort(key=lambda slot: (slot.start, -slot.end))
    kept: list[Slot] = []
    for slot in found:
        if not kept or slot.start >= kept[-1].end:
            kept.append(slot)
    return tuple(kept)


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
