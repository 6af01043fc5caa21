"""Tools for home video: who was in view, when, where, doing what; in words, with pictures where asked for.

The tools ask the owner's footage (`protocols.Footage`) and never see a pixel; results may be a stranger's doing (source
`sensor`). Not covered: the identity of people nobody enrolled, what happened where no camera looked, and sound.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from hearth import protocols
from hearth.errors import ToolError
from hearth.formats.tool_signature import tool
from hearth.protocols import CallContext, Footage
from hearth.types import PersonName
from hearth_video.tools.people_seen import (
    Given,
    Sighting,
    doing,
    given,
    how_sure,
    is_called,
    named,
    names_meant,
    records,
    said_activity,
    said_length,
    stays,
    summary,
    told,
    who,
)
from hearth_video.tools.recorded_time import (
    VideoId,
    footage_of,
    in_room,
    listed,
    parts_of_id,
    period_meant,
    recorded,
    room_meant,
    said_day,
    said_span,
    video_id,
)

ActivityName = Literal[
    "stand",
    "sit",
    "walk",
    "wave",
    "reach",
    "lie",
    "fall",
    "cook",
    "lay the table",
    "eat",
    "clear the table",
    "wash up",
    "clean",
    "work",
]
"""Activities that can be asked for. Which are ever recognised depends on the activity model: the last seven need one
that was trained on them."""

MAX_PICTURES = 12
LOOKING_S = 900.0
"""Longest time for indexing video that was never looked at."""
_NOBODY = PersonName("")


@dataclass(frozen=True, slots=True)
class Video:
    """The recordings of a room in a period; nothing was looked at yet."""

    id: VideoId
    room: str
    """Name of the room; empty: every room with a camera."""
    start: dt.datetime
    end: dt.datetime
    cameras: tuple[str, ...]
    n_recordings: int


@dataclass(frozen=True, slots=True)
class Presence:
    """Number and length of a person's stays in view."""

    name: PersonName
    n_times: int
    length: dt.timedelta
    text: str


@dataclass(frozen=True, slots=True)
class Headcount:
    """How many people were seen, somebody who comes back and is not known being counted each time."""

    n_people: int
    n_known: int
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Whether something was seen: yes or no."""

    is_so: bool
    confidence: float
    """Of a yes, of the surest moment, in [0, 1]; of a no, the share of the time of which it could be told."""
    moments: tuple[dt.datetime, ...]
    """When it began, each time."""
    text: str


@dataclass(frozen=True, slots=True)
class Description:
    """A description of a period."""

    start: dt.datetime
    end: dt.datetime
    text: str
    timeline: str
    """File of a picture of who was where when; empty when nobody was seen."""


@dataclass(frozen=True, slots=True)
class Picture:
    path: str
    """Path of a file on this device."""
    at: dt.datetime
    text: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of two days."""

    day: dt.date
    other: dt.date
    text: str


# ── Tools ─────────────────────────────────────────────────────────────────────────────────────────────────


@tool(
    source="sensor",
    answer="Recordings[ of the {room}] between {start} and {end}: {n_recordings}.",
    timeout_s=60,
)
def find_video(
    call: CallContext,
    room: str = "",
    start: dt.datetime | None = None,
    end: dt.datetime | None = None,
    at: dt.datetime | None = None,
) -> Video:
    """Find the home video of a room in a stretch of time, or around one moment; of today when no time is said.

    Args:
        room: Where; empty for every room that has a camera.
        start: Only what was recorded from then on.
        end: Only what was recorded before then.
        at: The moment that is asked about, instead of a stretch.
    Examples:
        is there video of the kitchen from last night
        what did the hall camera record on Monday
        find the footage of the garden between two and four
    """
    footage = footage_of(call)
    place = room_meant(room, footage)
    first, last = period_meant(call, start, end, at)
    found = recorded(call, footage, place, first, last)
    cameras = tuple(sorted({one.camera for one in found}))
    return Video(video_id(place, first, last), place, first, last, cameras, len(found))


@tool(
    source="sensor",
    answer="{text}[ {place}], {start}, for {length}",
    answer_none="Nobody was seen.",
    timeout_s=LOOKING_S,
    n_retries=1,
)
def detect_people(call: CallContext, video: VideoId) -> list[Sighting]:
    """Look whether anybody was in a room in a video, and when; not who they are.

    Args:
        video: The video, as found.
    Examples:
        was anybody in the kitchen this morning
        did somebody come through the hall yesterday
        is there someone in the garden
    """
    room, start, end = parts_of_id(video)
    footage = footage_of(call)
    seen = footage.people(room_meant(room, footage), start, end, call.cancelled)
    return records(call, seen, was_asked_who=False)


@tool(
    source="sensor",
    answer="{text}[ {place}], {start}, for {length}",
    answer_none="Nobody like that was seen.",
    timeout_s=LOOKING_S,
    n_retries=1,
)
def identify_people(call: CallContext, people: list[Sighting], name: PersonName = _NOBODY) -> list[Sighting]:
    """Say who was in a room in a video, or whether and when one person was there, by name.

    Args:
        people: The people seen.
        name: Only this person.
    Examples:
        who was in the kitchen yesterday evening
        was Anna at home on Tuesday
        when did Grace come in
    """
    seen = named(call, given(people))
    if not str(name).strip():
        return records(call, seen, was_asked_who=True)
    meant = names_meant(call, str(name))
    mine = [one for one in seen if any(is_called(one.name, asked) for asked in meant)]
    if not mine and seen:
        n_unknown = sum(not one.name for one in seen)
        unknown = [f"{n_unknown} {'person' if n_unknown == 1 else 'people'} I don't know"] if n_unknown else []
        others = [*sorted({one.name for one in seen if one.name}), *unknown]
        call.notices.append(
            f"Seen then, but not recognised as {str(name).strip()[:60]}: {listed(others)}. "
            "I know those who were enrolled with `hearth people enroll`"
        )
    return records(call, mine, was_asked_who=True)


@tool(
    source="sensor",
    answer="{text}[ {place}], {start}, for {length}",
    answer_none="Nothing like that was seen.",
    timeout_s=LOOKING_S,
    n_retries=1,
)
def recognise_activity(
    call: CallContext, people: list[Sighting], activity: ActivityName | None = None
) -> list[Sighting]:
    """Say what people were doing in a room in a video, stretch by stretch, or when somebody did one thing.

    Args:
        people: The people seen.
        activity: Only this.
    Examples:
        what was Anna doing at seven
        when did Ben sit down
        what were people doing in the hall last night
    """
    seen = doing(call, given(people))
    if activity is None:
        return records(call, seen, was_asked_who=True)
    mine = [one for one in seen if one.activity == activity]
    if not mine and seen:
        other = sorted({said_activity(one.activity) for one in seen if one.activity})
        call.notices.append(
            f"What I could tell: {listed(other)}" if other else "I could not tell what anybody was doing"
        )
    return records(call, mine, was_asked_who=True)


@tool(source="sensor", answer="{text}", timeout_s=LOOKING_S, n_retries=1)
def count_people(call: CallContext, people: list[Sighting]) -> Headcount:
    """Count the people seen in a room in a video: how many there were, how many of them are known.

    Args:
        people: The people seen.
    Examples:
        how many people came through the hall yesterday
        how many visitors were at the front door this morning
        count the people in the garden on Sunday
    """
    seen = named(call, given(people))
    names = sorted({one.name for one in seen if one.name})
    n_unknown = sum(not one.name for one in seen)
    n = len(names) + n_unknown
    if not n:
        return Headcount(0, 0, "Nobody: 0 people were seen.")
    parts = list(names)
    if n_unknown == 1:
        parts.append("one I don't know" if names else "nobody I know")
    elif n_unknown:
        again = "who comes back is counted again"
        parts.append(f"{n_unknown} I don't know ({again})" if names else f"nobody I know; {again}")
    return Headcount(n, len(names), f"{n} {'person' if n == 1 else 'people'}: {listed(parts)}.")


@tool(source="sensor", answer="{text}", timeout_s=LOOKING_S, n_retries=1)
def check_activity(call: CallContext, people: list[Sighting], activity: ActivityName | None = None) -> Finding:
    """Say yes or no whether anybody in a video did one thing: fell, sat down, waved; with the moment and how sure.

    Args:
        people: The people seen.
        activity: What they may have done; left out: whether anybody was there at all.
    Examples:
        did anyone fall last night
        was somebody waving at the front door at noon
        did Grandma sit down in the living room today
    """
    seen = doing(call, given(people))
    if activity is None:
        return _anybody(call, named(call, given(people)))
    what = said_activity(activity)
    if not seen:
        return Finding(False, 0.0, (), f"No: nobody was seen, so nobody was seen {what}.")
    mine = sorted((one for one in seen if one.activity == activity), key=lambda one: one.start)
    zone = call.now.tzinfo
    if mine:
        surest = max(mine, key=lambda one: one.activity_confidence)
        moments = tuple(one.start.astimezone(zone).replace(microsecond=0) for one in mine)
        first, at = mine[0], surest.start.astimezone(zone)
        times = "once" if len(mine) == 1 else f"{len(mine)} times"
        who_first = who(first)[0].upper() + who(first)[1:]
        when = f"{said_day(at, call.now)} at {at:%H:%M:%S}"
        text = (
            f"Yes, {times}. I am {how_sure(surest.activity_confidence)}"
            f"{' of one' if len(mine) > 1 else ''}: {who(surest)} {what}{in_room(surest.room)} on {when}."
        )
        if surest is not first:
            begin = moments[0]
            text += f" First: {who_first}, {begin:%H:%M:%S}."
        return Finding(True, surest.activity_confidence, moments, text)
    watched_s = sum((one.end - one.start).total_seconds() for one in seen)
    told_s = sum((one.end - one.start).total_seconds() for one in seen if one.activity)
    share = told_s / watched_s if watched_s else 0.0
    others = sorted({said_activity(one.activity) for one in seen if one.activity})
    could = f"they were {listed(others)}" if others else "I could not tell what anybody was doing"
    n = len({one.id for one in given(people)})
    text = (
        f"No, nobody was seen {what}. Of {n} {'sighting' if n == 1 else 'sightings'} I could tell what was done for "
        f"{share:.0%}".replace("%", " %")
        + f" of the time: {could}."
    )
    return Finding(False, share, (), text)


def _anybody(call: CallContext, seen: Sequence[protocols.Sighting]) -> Finding:
    """Say whether anybody was seen, from when to when, and how sure it is."""
    if not seen:
        return Finding(False, 0.0, (), "No, nobody was seen.")
    ordered = sorted(seen, key=lambda one: one.start)
    zone = call.now.tzinfo
    moments = tuple(one.start.astimezone(zone).replace(microsecond=0) for one in ordered)
    surest = max(ordered, key=lambda one: one.confidence)
    names = sorted({one.name for one in ordered if one.name})
    n_unknown = sum(not one.name for one in ordered)
    unknown = [] if not n_unknown else ["somebody I don't know" + (f", {n_unknown} times" if n_unknown > 1 else "")]
    last = max(one.end for one in ordered).astimezone(zone)
    text = (
        f"Yes: {listed([*names, *unknown])}{in_room(ordered[0].room)}, {said_day(moments[0], call.now)}, "
        f"from {moments[0]:%H:%M:%S} to {last:%H:%M:%S}. I am {how_sure(surest.confidence)} of one."
    )
    return Finding(True, surest.confidence, moments, text)


@tool(source="sensor", answer="{text}", answer_none="Nobody was seen.", timeout_s=60)
def measure_presence(people: list[Sighting]) -> list[Presence]:
    """Add up how long and how often each person was in a room in a video, or did what was asked about.

    Args:
        people: The people seen.
    Examples:
        how long was Anna in the kitchen today
        how often did somebody pass the front door yesterday
        how much time did Ben spend sitting this afternoon
    """
    by_name: dict[str, list[tuple[dt.datetime, dt.datetime]]] = {}
    for one in given(people):
        by_name.setdefault(one.name, []).append((one.start, one.end))
    found = []
    for name, spans in by_name.items():
        mine = stays(spans) if name else sorted(spans)  # strangers are not one person
        length = sum((b - a for a, b in mine), dt.timedelta())
        times = "once" if len(mine) == 1 else f"{len(mine)} times"
        text = f"{name or 'Somebody I do not know'}: seen {times}, {said_length(length)} in all"
        found.append(Presence(PersonName(name), len(mine), length, text))
    return sorted(found, key=lambda one: (-one.length, one.name))


@tool(source="sensor", answer="{text}[\nTimeline: {timeline}]", timeout_s=LOOKING_S, n_retries=1)
def describe_period(
    call: CallContext, start: dt.datetime | None = None, end: dt.datetime | None = None, room: str = ""
) -> Description:
    """Describe what home video shows of a stretch of time: who was where, when, doing what, with a timeline picture.

    Of today when no time is said.

    Args:
        start: From when on.
        end: Until when.
        room: Where; empty for every room that has a camera.
    Examples:
        what happened in the kitchen yesterday evening
        give me a summary of this afternoon at home
        what went on in the hall while I was away
    """
    footage = footage_of(call)
    place = room_meant(room, footage)
    first, last = period_meant(call, start, end)
    recorded(call, footage, place, first, last)
    seen = _all_seen(call, footage, place, first, last)
    first, last = first.astimezone(call.now.tzinfo), last.astimezone(call.now.tzinfo)
    if not seen:
        return Description(first, last, f"Nobody was seen{in_room(place)} {said_span(first, last, call.now)}.", "")
    when = said_span(first, last, call.now)
    lines = [f"{when[0].upper()}{when[1:]}{in_room(place)}:", *told(seen, call.now, says_room=not place)]
    return Description(first, last, "\n".join(lines), footage.timeline(seen))


def _all_seen(
    call: CallContext, footage: Footage, room: str, start: dt.datetime, end: dt.datetime
) -> list[protocols.Sighting]:
    found = footage.people(room, start, end, call.cancelled)
    everyone = [Given(one.id, one.start, one.end) for one in found]
    zone = call.now.tzinfo
    local = [
        replace(one, start=one.start.astimezone(zone), end=one.end.astimezone(zone)) for one in doing(call, everyone)
    ]
    return sorted(local, key=lambda one: (one.start, one.room, one.id))


@tool(
    source="sensor",
    answer="{text}, {at}: {path}",
    answer_none="There is nobody to show.",
    timeout_s=LOOKING_S,
    n_retries=1,
)
def show_frames(call: CallContext, people: list[Sighting], show_strangers: bool = False) -> list[Picture]:
    """Show pictures of who was in a room, from a video: with boxes, names and posture; unknown faces are blurred.

    Args:
        people: The people seen.
        show_strangers: Do not blur the faces of people who are not known.
    Examples:
        show me when Grace came in
        let me see who was at the front door this morning
        show me pictures of Anna in the kitchen yesterday
    """
    shown = given(people)
    if len(shown) > MAX_PICTURES:
        n_left = len(shown) - MAX_PICTURES
        call.notices.append(f"{n_left} more are not shown; ask for a shorter time or for one person")
        shown = [shown[k * len(shown) // MAX_PICTURES] for k in range(MAX_PICTURES)]  # spread over the whole time
    if not shown:
        return []
    footage = footage_of(call)
    ids = tuple(one.id for one in shown)
    seen = {one.id: one for one in footage.named(ids)}
    found = []
    for one, path in zip(shown, footage.pictures(ids, shows_strangers=show_strangers), strict=True):
        known = seen.get(one.id)
        text = f"{who(known)}{in_room(known.room)}" if known is not None else one.name or "somebody"
        found.append(Picture(path, one.start.astimezone(call.now.tzinfo), text))
    return found


@tool(source="sensor", answer="{text}", timeout_s=LOOKING_S, n_retries=1)
def compare_days(call: CallContext, day: dt.date, other: dt.date, room: str = "") -> Comparison:
    """Compare what home video shows of two days: who was there, when first and last, for how long.

    Args:
        day: One day.
        other: The other day.
        room: Where; empty for every room that has a camera.
    Examples:
        compare today with yesterday in the kitchen
        was Grandpa up earlier on Monday than on Tuesday
        how did Saturday differ from Sunday at home
    """
    footage = footage_of(call)
    place = room_meant(room, footage)
    if day == other:
        raise ToolError(f"{day.isoformat()} was given twice; say which two days to compare")
    texts = []
    for one in (day, other):
        try:
            start = dt.datetime.combine(one, dt.time(), call.now.tzinfo)
            first, last = period_meant(call, start, start + dt.timedelta(days=1))
        except OverflowError:
            raise ToolError(
                f"{one.isoformat()} is outside of what a calendar holds; give a day of the last years"
            ) from None
        if not footage.recordings(place, first, last):
            texts.append(f"{said_day(first, call.now)}: nothing was recorded{in_room(place)}.")
            continue
        seen = _all_seen(call, footage, place, first, last)
        texts.append(f"{said_day(first, call.now)}: {summary(seen, call.now) or 'nobody was seen.'}")
    return Comparison(day, other, "\n".join(texts))


TOOLS = (
    find_video,
    detect_people,
    identify_people,
    recognise_activity,
    count_people,
    check_activity,
    measure_presence,
    describe_period,
    show_frames,
    compare_days,
)
