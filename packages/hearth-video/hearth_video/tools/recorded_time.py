"""Resolve the room and the period of home video that a request means, and find what was recorded then.

A future time is read as the same weekday before, with a notice; missing recordings are reported, too. Not covered:
which half of the day an hour without one means (left to the planner).
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from typing import NewType

from hearth.errors import NotFound, ToolError
from hearth.language.tokens import folded, stems
from hearth.protocols import CallContext, Footage, Recording

VideoId = NewType("VideoId", str)

AROUND_A_MOMENT = dt.timedelta(minutes=5)
"""Time before and after the moment asked about in which people are looked for."""
MAX_PERIOD = dt.timedelta(days=31)
JOINED = dt.timedelta(minutes=2)
"""Longest absence after which somebody counts as continuously present."""
_EVERYWHERE = frozenset({"house", "home", "flat", "apartment", "place", "everywhere", "anywhere", "all", "every"})
_PLAIN_WORDS = frozenset({"the", "my", "our", "room", "in", "a", "camera", "cam", "video", "footage", "of", "whole"})

# ── Which stretch of time, which room ─────────────────────────────────────────────────────────────────────


def footage_of(call: CallContext) -> Footage:
    """Return the owner's footage. Raises: ToolError: There is none, or no camera is known."""
    if call.footage is None:
        raise ToolError("home video is not available here; run this on a home made with `hearth init`")
    if not call.footage.rooms():
        raise NotFound(
            "no video has been added yet; add some with "
            '`hearth video add FILE --camera kitchen --start "2026-11-19 18:00"`'
        )
    return call.footage


def room_meant(room: str, footage: Footage) -> str:
    """Return the room as the footage names it; empty for all. Raises: NotFound: names those that have a camera."""
    asked = stems(room[:200]) - _PLAIN_WORDS
    if asked <= _EVERYWHERE:
        return ""
    rooms = footage.rooms()
    fitting = [known for known in rooms if folded(known) == folded(room.strip())]
    fitting = fitting or [known for known in rooms if asked <= stems(known)]
    fitting = fitting or [known for known in rooms if not stems(known) - _PLAIN_WORDS - asked]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise NotFound(f"{len(fitting)} rooms fit {room.strip()[:100]!r}: {listed(fitting)}; say which one")
    raise NotFound(f"no camera looks into {room.strip()[:100]!r}; there is video of {listed(rooms)}")


def period_meant(
    call: CallContext, start: dt.datetime | None, end: dt.datetime | None, at: dt.datetime | None = None
) -> tuple[dt.datetime, dt.datetime]:
    """Return the period that is meant, none of it in the future. Raises: ToolError."""
    now = call.now
    if at is not None and (start is not None or end is not None):
        raise ToolError("a moment and a stretch of time were given; give either `at` or `start` and `end`")
    if start is not None and start == end:
        at, start, end = start, None, None
    try:
        if at is not None:
            first, last = at - AROUND_A_MOMENT, at + AROUND_A_MOMENT
        elif start is None and end is None:
            first, last = _midnight(now), now
        elif start is None:
            assert end is not None
            day = end if (end.hour, end.minute, end.second) != (0, 0, 0) else end - dt.timedelta(seconds=1)
            first, last = _midnight(day.astimezone(now.tzinfo)), end
        else:
            first, last = start, end if end is not None else max(now, start)
        if end is not None and start is not None and end <= start:
            raise ToolError(f"the end {end.isoformat()} is not after the start {start.isoformat()}; give a later end")
        first, last = _looking_back(call, first, last)
    except OverflowError:
        raise ToolError("that time is outside of what a calendar holds; give one of the last years") from None
    last = min(last, now)
    if last - first > MAX_PERIOD:
        raise ToolError(f"{(last - first).days} days are too long; ask for at most {MAX_PERIOD.days} days at a time")
    return first, last


def _looking_back(call: CallContext, first: dt.datetime, last: dt.datetime) -> tuple[dt.datetime, dt.datetime]:
    """Replace a future day by the same weekday before, since video shows the past. Raises: ToolError: later today."""
    if first < call.now:
        return first, last
    n_days = (first.astimezone(call.now.tzinfo).date() - call.now.date()).days
    if not 0 < n_days <= 7:
        when = "later today" if n_days <= 0 else f"on {said_day(first, call.now)}"
        raise ToolError(f"{first:%H:%M} {when} is still to come; video is of what has been: say which day is meant")
    week = dt.timedelta(days=7)
    call.notices.append(
        f"{said_day(first, call.now)} is still to come, so I looked at {said_day(first - week, call.now)}"
    )
    return first - week, last - week


def _midnight(moment: dt.datetime) -> dt.datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


_AT = frozenset({"door", "doorbell", "entrance", "gate", "counter", "window"})
"""Places that people are at, not in."""
_ID = re.compile(r"(?P<room>[^@]*)@(?P<start>[^@/]{16,40})/(?P<end>[^@/]{16,40})")


def video_id(room: str, start: dt.datetime, end: dt.datetime) -> VideoId:
    return VideoId(f"{room.replace('@', ' ')}@{start.isoformat()}/{end.isoformat()}")


def parts_of_id(video: object) -> tuple[str, dt.datetime, dt.datetime]:
    """Return room, start and end of a video. Raises: NotFound: It is no id that `find_video` gave."""
    match = _ID.fullmatch(video) if isinstance(video, str) else None
    try:
        if match is not None:
            start, end = dt.datetime.fromisoformat(match["start"]), dt.datetime.fromisoformat(match["end"])
            if start.tzinfo is not None and end.tzinfo is not None and start < end <= start + MAX_PERIOD:
                return match["room"], start, end
    except ValueError:
        pass
    raise NotFound(f"there is no video {str(video)[:100]!r}; look for it with find_video first")


def recorded(
    call: CallContext, footage: Footage, room: str, start: dt.datetime, end: dt.datetime
) -> tuple[Recording, ...]:
    """Return the recordings of a period; a notice names the gaps. Raises: NotFound: names when there is video."""
    found = footage.recordings(room, start, end)
    if not found:
        every = footage.recordings(room)
        there_is = f"there is video of {_stretches(every, start, call.now)}" if every else "there is none at all"
        raise NotFound(f"nothing was recorded{in_room(room)} {said_span(start, end, call.now)}; {there_is}")
    missing = _gaps(found, start, end)
    if end - start > 2 * AROUND_A_MOMENT and sum(missing, dt.timedelta()) > 0.05 * (end - start):
        call.notices.append(f"There is video only of {_stretches(found, start, call.now)}")
    return found


def _gaps(recordings: Sequence[Recording], start: dt.datetime, end: dt.datetime) -> list[dt.timedelta]:
    """Return the lengths of the gaps between recordings."""
    gaps, covered = [], start
    for one in sorted(recordings, key=lambda r: r.start):
        if one.start > covered:
            gaps.append(one.start - covered)
        covered = max(covered, one.end)
    return gaps + ([end - covered] if covered < end else [])


def _stretches(recordings: Sequence[Recording], near: dt.datetime, now: dt.datetime) -> str:
    """Name the three stretches of video nearest to a moment."""
    merged: list[tuple[str, dt.datetime, dt.datetime]] = []
    for one in sorted(recordings, key=lambda r: (r.room, r.start)):
        if merged and merged[-1][0] == one.room and one.start - merged[-1][2] <= JOINED:
            merged[-1] = (one.room, merged[-1][1], max(merged[-1][2], one.end))
        else:
            merged.append((one.room, one.start, one.end))
    nearest = sorted(merged, key=lambda m: (abs((m[1] - near).total_seconds()), m))[:3]
    parts = [f"{the_room(room)} {said_span(a, b, now)}" for room, a, b in sorted(nearest, key=lambda m: m[1])]
    n_more = len(merged) - len(nearest)
    return "; ".join(parts) + (f"; and of {n_more} more stretches" if n_more else "")


# ── Words ─────────────────────────────────────────────────────────────────────────────────────────────────


def listed(items: Sequence[str]) -> str:
    return ", ".join(items[:-1]) + f" and {items[-1]}" if len(items) > 1 else "".join(items)


def the_room(room: str) -> str:
    return f"the {room}" if room and not room.lower().startswith("the ") else room


def in_room(room: str) -> str:
    """Return where, in words: ` in the hall`, ` at the front door`; empty where no room is named."""
    is_at = room.lower().rpartition(" ")[2] in _AT
    return f" {'at' if is_at else 'in'} {the_room(room)}" if room else ""


def said_day(moment: dt.datetime, now: dt.datetime) -> str:
    local = moment.astimezone(now.tzinfo)
    text = f"{local:%A} {local.day} {local:%B}"
    return text if local.year == now.year else f"{text} {local.year}"


def said_span(start: dt.datetime, end: dt.datetime, now: dt.datetime) -> str:
    """Return a period in words: `on Thursday 19 November from 18:00 to 22:00`."""
    a, b = start.astimezone(now.tzinfo), end.astimezone(now.tzinfo)
    last = b if (b.hour, b.minute, b.second) != (0, 0, 0) or b - a < dt.timedelta(days=1) else b - dt.timedelta(1)
    if a.date() == last.date() and a == _midnight(a) and b != last:
        return f"on {said_day(a, now)}"
    if a.date() == b.date():
        return f"on {said_day(a, now)} from {a:%H:%M} to {b:%H:%M}"
    return f"from {said_day(a, now)}, {a:%H:%M} to {said_day(b, now)}, {b:%H:%M}"
