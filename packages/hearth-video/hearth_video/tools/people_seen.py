"""Sightings of people on home video as tools pass them on, and their description in words.

The experts' confidence is given in words: nothing, `probably`, `perhaps`.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NewType, cast

from hearth import protocols
from hearth.errors import ToolError
from hearth.language.tokens import folded, stems
from hearth.protocols import CallContext
from hearth.tools.pim.contacts import entities
from hearth.types import PersonName
from hearth_video.tools.recorded_time import JOINED, footage_of, in_room, listed, said_day

SightingId = NewType("SightingId", str)
MAX_SIGHTINGS = 500
_MAX_LINES = 40
_SURE, _LIKELY = 0.85, 0.6
_DOING = {
    "stand": "standing",
    "sit": "sitting",
    "walk": "walking",
    "wave": "waving",
    "reach": "reaching for something",
    "lie": "lying down",
    "fall": "falling",
    "cook": "cooking",
    "lay the table": "laying the table",
    "eat": "eating",
    "clear the table": "clearing the table",
    "wash up": "washing up",
    "clean": "cleaning",
    "work": "working",
}


@dataclass(frozen=True, slots=True)
class Sighting:
    """One person in view for a while, or for as long as they did one thing."""

    id: SightingId
    room: str
    start: dt.datetime
    end: dt.datetime
    length: dt.timedelta
    name: PersonName
    """Name of the person; empty: not known, or not looked at yet."""
    activity: str
    """Name of the activity; empty: not known."""
    confidence: float
    """Lowest confidence of the statements made; in [0, 1]."""
    text: str
    """Description in words: who, doing what, and how sure."""
    place: str
    """Where, in words: `in the hall`, `at the front door`; empty: not known."""


# ── From step to step ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Given:
    """A sighting received from an earlier step."""

    id: str
    start: dt.datetime
    end: dt.datetime
    name: str = ""


def given(people: object) -> list[Given]:
    """Read the sightings from an earlier step. Raises: ToolError: These are no sightings."""
    found = []
    for one in cast("list[Any]", people if isinstance(people, list | tuple) else [people]):
        try:
            start, end = dt.datetime.fromisoformat(one["start"]), dt.datetime.fromisoformat(one["end"])
            id_ = one["id"]
            if not isinstance(id_, str) or start.tzinfo is None or end.tzinfo is None:
                raise TypeError
        except (TypeError, KeyError, ValueError):
            raise ToolError(f"{str(one)[:60]!r} is nobody seen in a video; look with detect_people first") from None
        found.append(Given(id_, start, end, str(one.get("name") or "")))
    return found


def named(call: CallContext, people: Sequence[Given]) -> list[protocols.Sighting]:
    """Return the same sightings with names, limited to the times given."""
    by_id = {one.id: one for one in people}
    found = footage_of(call).named(tuple(by_id)) if by_id else ()
    return [_cut(seen, by_id[seen.id].start, by_id[seen.id].end) for seen in found if seen.id in by_id]


def doing(call: CallContext, people: Sequence[Given]) -> list[protocols.Sighting]:
    """Return a sighting for each stretch of one activity, within the times given."""
    if not people:
        return []
    first, last = min(one.start for one in people), max(one.end for one in people)
    found = footage_of(call).doing(tuple(dict.fromkeys(one.id for one in people)))
    return [_cut(seen, first, last) for seen in found if seen.start <= last and seen.end >= first]


def _cut(seen: protocols.Sighting, start: dt.datetime, end: dt.datetime) -> protocols.Sighting:
    return replace(seen, start=max(seen.start, start), end=min(seen.end, end))


def records(call: CallContext, seen: Iterable[protocols.Sighting], *, was_asked_who: bool) -> list[Sighting]:
    """Return records in order of time, as many as an answer can hold."""
    found = sorted(seen, key=lambda one: (one.start, one.room, one.id))
    if len(found) > MAX_SIGHTINGS:
        n_left = len(found) - MAX_SIGHTINGS
        call.notices.append(f"{n_left} more sightings are left out; ask for a shorter time to have them all")
    return [_record_of(one, was_asked_who, call.now.tzinfo) for one in found[:MAX_SIGHTINGS]]


def _record_of(seen: protocols.Sighting, was_asked_who: bool, zone: dt.tzinfo | None) -> Sighting:
    sure = [seen.confidence]
    if seen.name:
        sure.append(seen.name_confidence)
    if seen.activity:
        sure.append(seen.activity_confidence)
    text = who(seen) if was_asked_who else _hedged("somebody", seen.confidence)
    return Sighting(
        id=SightingId(seen.id),
        room=seen.room,
        start=seen.start.astimezone(zone),
        end=seen.end.astimezone(zone),
        length=dt.timedelta(seconds=max(1, round((seen.end - seen.start).total_seconds()))),
        name=PersonName(seen.name),
        activity=seen.activity,
        confidence=round(min(sure), 3),
        text=text + (f", {_what(seen)}" if seen.activity else ""),
        place=in_room(seen.room).strip(),
    )


# ── Words ─────────────────────────────────────────────────────────────────────────────────────────────────


def who(seen: protocols.Sighting) -> str:
    """Return the person in words: `Anna`, `probably Anna`, `perhaps somebody I don't know`."""
    if seen.name:
        return _hedged(seen.name, seen.name_confidence)
    return _hedged("somebody I don't know", seen.confidence)


def said_activity(activity: str) -> str:
    """Return an activity as said in a sentence: `sitting` for `sit`."""
    return _DOING.get(activity, activity)


def _what(seen: protocols.Sighting) -> str:
    return _hedged(said_activity(seen.activity), seen.activity_confidence)


def _hedged(text: str, confidence: float) -> str:
    return text if confidence >= _SURE else f"probably {text}" if confidence >= _LIKELY else f"perhaps {text}"


def is_called(name: str, asked: str) -> bool:
    """Say whether `asked` is a part of the name or more of it than was enrolled; a possessive makes no difference."""
    wanted, known = stems(asked), stems(name)
    return bool(wanted and known) and (wanted <= known or known <= wanted)


def names_meant(call: CallContext, asked: str) -> tuple[str, ...]:
    """Return the name itself, and the full names of the contacts who are called so: `dad`, `my wife`; `me` is the
    owner."""
    plain = folded(asked).strip().removeprefix("my ").removeprefix("our ").removesuffix("'s")
    if plain in ("me", "myself", "i"):
        return (str(call.settings.get("owner", {}).get("name") or asked),)
    known = [one.name for one in entities(call.workspace) if plain in {_bare(alias) for alias in one.aliases}]
    return (asked, *known)


def _bare(alias: str) -> str:
    return folded(alias).strip().removeprefix("my ").removeprefix("our ")


def said_length(length: dt.timedelta) -> str:
    """Return a length in words: `1 h 5 min`, `40 s`."""
    seconds = round(length.total_seconds())
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    if minutes >= 10 or (minutes and not seconds):
        return f"{minutes} min"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def how_sure(confidence: float) -> str:
    """Return a chance in words, with its number: `fairly sure (72 %)`."""
    word = "sure" if confidence >= _SURE else "fairly sure" if confidence >= _LIKELY else "not sure"
    return f"{word} ({confidence:.0%})".replace("%)", " %)")


# ── Several of them ───────────────────────────────────────────────────────────────────────────────────────


def stays(spans: Iterable[tuple[dt.datetime, dt.datetime]]) -> list[tuple[dt.datetime, dt.datetime]]:
    """Join stretches that have hardly a gap between them."""
    found: list[tuple[dt.datetime, dt.datetime]] = []
    for start, end in sorted(spans):
        if found and start - found[-1][1] <= JOINED:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def told(seen: Sequence[protocols.Sighting], now: dt.datetime, *, says_room: bool) -> list[str]:
    """Return a line for each stay of each person: when, who, and what they did, the longest first."""
    says_day = len({one.start.astimezone(now.tzinfo).date() for one in seen}) > 1
    lines: list[tuple[dt.datetime, str]] = []
    groups: dict[tuple[str, str], list[protocols.Sighting]] = {}
    for one in seen:
        groups.setdefault((one.name, one.room), []).append(one)
    for (_, room), ones in groups.items():
        for start, end in stays((one.start, one.end) for one in ones):
            inside = [one for one in ones if start <= one.start <= end]
            surest = max(inside, key=lambda one: one.name_confidence if one.name else one.confidence)
            a, b = start.astimezone(now.tzinfo), end.astimezone(now.tzinfo)
            day = f"{said_day(a, now)}, " if says_day else ""
            place = in_room(room) if says_room else ""
            until = f" to {b:%H:%M}" if f"{a:%H:%M}" != f"{b:%H:%M}" else ""
            did = _deeds(inside)
            lines.append((start, f"· {day}{a:%H:%M}{until}: {who(surest)}{place}{', ' + did if did else ''}"))
    lines.sort()
    n_more = len(lines) - _MAX_LINES
    return [text for _, text in lines[:_MAX_LINES]] + ([f"… and {n_more} more"] if n_more > 0 else [])


def _deeds(seen: Sequence[protocols.Sighting]) -> str:
    """Return activities with their lengths: `sitting (4 min) and probably walking (20 s)`."""
    lengths: dict[str, dt.timedelta] = {}
    best: dict[str, protocols.Sighting] = {}
    for one in seen:
        if one.activity:
            lengths[one.activity] = lengths.get(one.activity, dt.timedelta()) + (one.end - one.start)
            if one.activity not in best or one.activity_confidence > best[one.activity].activity_confidence:
                best[one.activity] = one
    order = sorted(lengths, key=lambda name: (-lengths[name], name))[:4]
    return listed([f"{_what(best[name])} ({said_length(lengths[name])})" for name in order])


def summary(seen: Sequence[protocols.Sighting], now: dt.datetime) -> str:
    """Return each person with first and last time and the time in view; empty for nobody."""
    parts = []
    ordered = sorted(seen, key=lambda one: (not one.name, one.name))
    for name, group in itertools.groupby(ordered, key=lambda one: one.name):
        ones = list(group)
        mine = stays((one.start, one.end) for one in ones)
        first, last = mine[0][0].astimezone(now.tzinfo), mine[-1][1].astimezone(now.tzinfo)
        length = said_length(sum((b - a for a, b in mine), dt.timedelta()))
        did = _deeds(ones)
        more = f" ({did})" if did else ""
        parts.append(f"{name or 'people I do not know'} from {first:%H:%M} to {last:%H:%M}, {length} in view{more}")
    return "; ".join(parts) + "." if parts else ""
