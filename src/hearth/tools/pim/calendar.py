"""Tools for the owner's calendar: iCalendar files in `calendar/` from any program, and a configured CalDAV calendar.

Each event made here is one file. Moving, changing or cancelling one occurrence of a repeating event leaves the others
alone. All times come back in the owner's zone (`CallContext.now`).
Not covered: answering invitations; free/busy of other people.
"""

from __future__ import annotations

import datetime as dt
import functools
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated

from hearth.errors import NotFound, ToolError
from hearth.formats.content_lines import checked_email, checked_text, escape, new_component, new_line
from hearth.formats.tool_signature import ID_IS_A_KEY, Names, tool
from hearth.language.text.word_match import Query, id_asked
from hearth.protocols import CallContext
from hearth.tools.pim import ical
from hearth.tools.pim.calendar_events import FOLDER, Change, Entry, Event, EventId, Events, Place, Search, entry_of
from hearth.tools.pim.ical import When
from hearth.tools.pim.servers.mirror import Mirror, file_name
from hearth.types import EmailAddress, Plain, Referent

MAX_EVENTS = 200
MAX_TITLE_CHARS, MAX_ATTENDEES = 1_000, 200
DAY_STARTS, DAY_ENDS = dt.time(8), dt.time(22)
"""Waking hours, in which free time of whole days is sought."""
MIN_FREE = dt.timedelta(minutes=15)
MAX_FREE_RANGE = dt.timedelta(days=92)

_NAMESPACE = uuid.UUID("5f0b7c1e-8a44-4d0e-9b57-3e6c1f7a2d90")
_YEAR = dt.timedelta(days=366)
_LONGEST = dt.timedelta(days=31)


@dataclass(frozen=True, slots=True)
class FreeSlot:
    start: dt.datetime
    end: dt.datetime


# ── Tools that read ───────────────────────────────────────────────────────────────────────────────────────


_finding = functools.partial(tool, timeout_s=60, n_retries=1)
_reading = functools.partial(_finding, unconfirmed="file", origins=ID_IS_A_KEY, answer="{title}, {start}[, {place}]")


@_reading(answer_none="No events found.")
def find_events(
    call: CallContext, query: str = "", start: dt.datetime | None = None, end: dt.datetime | None = None
) -> list[Event]:
    """Find events in the owner's calendar, by words, by time, or both.

    Without any time: what is still to come within a year, a repeating event once (the next time it takes place).

    Args:
        query: Words of the title, place, attendees or notes; all must occur. Empty for every event.
        start: Only events that have not ended by then.
        end: Only events that begin before.
    Examples:
        what's on my calendar tomorrow
        do I have anything with Anna next week
        when did I see the dentist last month
        show me my events on Friday
    """
    if id := id_asked(query):
        return [Events(call).one(EventId(id))]
    first, last = _range(start, end, call.now)
    is_once = start is None and end is None
    found = Events(call).read(refresh=True).find(Search(Query(query), first, last, is_once=is_once))
    if len(found) > MAX_EVENTS:
        call.notices.append(f"{len(found) - MAX_EVENTS} more events were found; ask for a shorter time to see them.")
    return [event for _, event in found[:MAX_EVENTS]]


def _range(start: dt.datetime | None, end: dt.datetime | None, now: dt.datetime) -> tuple[dt.datetime, dt.datetime]:
    """Return the range asked for; by default a year from now, or with only an end in the past, the year before it."""
    zone = now.tzinfo
    if end is not None:
        end = ical.checked_moment(end, "the end", zone)
    if start is not None:
        start = ical.checked_moment(start, "the start", zone)
    elif end is not None and end <= now:
        start = end - _YEAR
    else:
        start = now
    end = end or start + _YEAR
    if end <= start:
        raise ToolError(f"the end {end.isoformat()} is not after the start {start.isoformat()}; give a later end")
    return start, end


@_reading()
def next_event(call: CallContext, query: str = "") -> Event:
    """Find the next event in the owner's calendar, the next of all or the next that matches some words.

    Args:
        query: Words of the title, place, attendees or notes; all must occur. Empty for any event; `appointment` or
            `meeting` alone mean any, too, where none is called so.
    Examples:
        what's my next appointment
        when is my next meeting with Ben
        where do I have to be next
    """
    calendar = Events(call).read(refresh=True)
    wanted = Query(query)
    coming = calendar.find(Search(wanted, call.now, call.now + 10 * _YEAR, is_coming=True, is_once=True))
    if not coming and wanted.words and not wanted.specific:
        coming = calendar.find(Search(Query(""), call.now, call.now + 10 * _YEAR, is_coming=True, is_once=True))
    if coming:
        return coming[0][1]
    what = f"no event with {query.strip()[:200]!r}" if query.strip() else "no event"
    past = calendar.find(Search(wanted, call.now - 2 * _YEAR, call.now))
    if not past:
        raise NotFound(f"there is {what} in the calendar, neither coming nor in the last two years")
    last = past[-1][1]
    raise NotFound(f"there is {what} to come; the last was {last.title!r} on {last.start:%Y-%m-%d}")


@_finding(answer="{start_day} from {start_time} to {end}", answer_none="You have no free time then.")
def find_free_time(
    call: CallContext, start: dt.datetime, end: dt.datetime, length: dt.timedelta | None = None
) -> list[FreeSlot]:
    """Find when the owner is free between two times.

    Of whole days, only 8:00 to 22:00 counts; all-day entries do not block a day unless they are marked as busy. Of a
    moment ("at 2") the hour from then counts.

    Args:
        start: First moment that counts; what has passed already does not.
        end: Last moment that counts.
        length: How long the free time must be at least; 15 minutes when not said.
    Examples:
        when am I free tomorrow afternoon
        find two free hours next week
        do I have time on Friday evening
    """
    first, last = _range(start, end, call.now)
    if last - first > MAX_FREE_RANGE:
        raise ToolError(f"{(last - first).days} days are too many; ask for at most {MAX_FREE_RANGE.days}")
    if length is not None and length <= dt.timedelta(0):
        raise ToolError(f"a length of {length} is no time; expected more than 0 minutes")
    if last <= call.now:
        raise ToolError(f"{last.isoformat()} has passed; ask for a time to come")
    if last - first < MIN_FREE:
        last = first + min(length or dt.timedelta(hours=1), dt.timedelta(days=1))
    found = Events(call).read(refresh=True).find(Search(Query(""), first, last))
    busy = sorted((event.start, event.end) for entry, event in found if entry.is_busy)
    slots: list[FreeSlot] = []
    for opens, closes in _windows(first, last):
        free_from = max(opens, call.now)
        for begun, over in [*busy, (closes, closes)]:
            until = min(begun, closes)
            if until - free_from >= (length or MIN_FREE):
                slots.append(FreeSlot(free_from, until))
            free_from = max(free_from, over)
    return slots[:MAX_EVENTS]


def _windows(start: dt.datetime, end: dt.datetime) -> Iterator[tuple[dt.datetime, dt.datetime]]:
    """Yield the range itself when it is shorter than a day, else the waking hours of each of its days."""
    if end - start < dt.timedelta(days=1):
        yield start, end
        return
    for n in range((end.date() - start.date()).days + 1):
        day = start.date() + dt.timedelta(days=n)
        opens = max(start, dt.datetime.combine(day, DAY_STARTS, start.tzinfo))
        closes = min(end, dt.datetime.combine(day, DAY_ENDS, start.tzinfo))
        if opens < closes:
            yield opens, closes


# ── Which event ───────────────────────────────────────────────────────────────────────────────────────────


def _event_meant(event: object, call: CallContext, given: Mapping[str, object]) -> Referent:  # noqa: ARG001 - a Resolver
    """Resolve the id of an event, or of one time of a repeating one, with whom a server may write to when it changes.
    Raises: NotFound; ToolError: it cannot be read."""
    id = EventId(str(event))
    events = Events(call)
    try:
        entry = events.entry_of(id)
        start = ical.in_zone(entry.start, call.now.tzinfo)
    except (ValueError, OverflowError) as error:
        raise ToolError(f"the event {str(event)[:100]!r} cannot be read: {error}") from None
    when = f"{start:%a %d %b %Y %H:%M}" if isinstance(entry.start, dt.datetime) else f"{start:%a %d %b %Y}"
    often = f", every time ({entry.repeat})" if entry.is_series and not entry.recurrence else ""
    state = (
        ("its end", str(entry.end)),
        ("its place", entry.place),
        ("who comes", ", ".join(entry.attendees)),
        ("its notes", entry.notes),
        ("its repeat", entry.repeat),
    )
    told = events.told(id)
    return Referent(id, f"“{entry.title}”, {when}{often}", aliases=(entry.title, *told), state=state, told=told)


EventMeant = Annotated[EventId, Names(_event_meant)]

# ── Tools that change ─────────────────────────────────────────────────────────────────────────────────────


def _undo_on_server(arguments: Mapping[str, object], result: Plain, call: CallContext) -> None:  # noqa: ARG001
    mirror = Mirror.configured(call, "calendar")
    if mirror is None or not isinstance(result, dict):
        return
    event = EventId(str(result["id"]))
    try:
        path = Events(call).locate(event).path
    except NotFound:  # the call added it, and the journal has removed the copy
        mirror.undo(f"{mirror.folder}/{file_name(event)}.ics")
        return
    if mirror.owns(path):
        if told := Events(call).told(event):
            call.notices.append(f"the calendar server may write to {', '.join(told)} about it, too")
        mirror.undo(path)


_adding = functools.partial(tool, effect="change", undo=_undo_on_server, timeout_s=60, n_retries=1)
_changing = functools.partial(_adding, unconfirmed="file", origins=ID_IS_A_KEY)


@_adding(answer="Added to your calendar: {title}, {start}[, {place}][, with {attendees}][, then {repeat}].")
def add_event(
    call: CallContext,
    title: str,
    start: dt.datetime,
    end: dt.datetime | None = None,
    length: dt.timedelta | None = None,
    place: str = "",
    attendees: tuple[EmailAddress, ...] = (),
    repeat: ical.RepeatOrNot = "none",
) -> Event:
    """Put a new event into the owner's calendar; nobody is invited or written to.

    An event that starts at midnight, without end or length, lasts the whole day; any other lasts an hour unless said.

    Args:
        title: What it is.
        start: When it begins.
        end: When it ends; give this or the length.
        length: How long it lasts; give this or the end.
        place: Where it is.
        attendees: E-mail addresses of people who take part.
        repeat: How often it takes place again.
    Examples:
        put lunch with Anna in my calendar on Friday at one
        schedule a two hour planning session tomorrow at 9
        add the concert on 3 May at 8 pm in the town hall
        I have yoga every Tuesday at 18:30
    """
    title, place = checked_text(title, "title", MAX_TITLE_CHARS), checked_text(place, "place", MAX_TITLE_CHARS)
    if not title:
        raise ToolError("an event needs a title; say what it is")
    if len(attendees) > MAX_ATTENDEES:
        raise ToolError(f"{len(attendees)} attendees are too many; expected at most {MAX_ATTENDEES}")
    zone = call.now.tzinfo
    start = ical.checked_moment(start, "the start", zone)
    first, last = _extent(start, end, length, zone)
    uid = str(uuid.uuid5(_NAMESPACE, call.key))
    utc = f"{call.now.astimezone(dt.UTC):%Y%m%dT%H%M%SZ}"
    event = new_component(
        "VEVENT",
        new_line("UID", uid),
        new_line("DTSTAMP", utc),
        new_line("CREATED", utc),
        new_line("LAST-MODIFIED", utc),
        ical.time_line("DTSTART", first, zone),
        ical.time_line("DTEND", last, zone),
        new_line("SUMMARY", escape(title)),
    )
    rule = ical.rule_for(repeat, first)
    if rule:
        event.add(new_line("RRULE", rule))
    if place:
        event.add(new_line("LOCATION", escape(place)))
    for address in dict.fromkeys(checked_email(a) for a in attendees):
        # The server must not mail them: RFC 6638 section 7.1.
        event.add(new_line("ATTENDEE", f"mailto:{address}", {"SCHEDULE-AGENT": "NONE"}))
    document = ical.new_calendar(first.year, zone, event)
    mirror = Mirror.configured(call, "calendar")
    if mirror is not None:
        mirror.create(uid, document)
    else:
        call.workspace.write(f"{FOLDER}/{uid}.ics", document.render())
    return _as_event(call, entry_of(0, event, document))


def _extent(
    start: dt.datetime, end: dt.datetime | None, length: dt.timedelta | None, zone: dt.tzinfo | None
) -> tuple[When, When]:
    """Return start and end as written: days if they are at midnight. Raises: ToolError: they do not fit."""
    is_midnight = start.time() == dt.time()
    if length is not None and length <= dt.timedelta(0):
        raise ToolError(f"a length of {length} is no time; expected more than 0 minutes")
    if end is None and length is None:
        if is_midnight:
            return start.date(), start.date() + dt.timedelta(days=1)
        length = dt.timedelta(hours=1)
    if length is not None:
        try:
            by_length = (start.astimezone(dt.UTC) + length).astimezone(zone)
        except OverflowError:
            raise ToolError(f"a length of {length.days} days is too long; expected an event that ends") from None
        if end is not None and end != by_length:
            raise ToolError(
                f"the end {end.isoformat()} and the length {length} do not agree, which would end "
                f"{by_length.isoformat()}; give one of them"
            )
        end = by_length
    end = ical.checked_moment(end or start, "the end", zone)
    if end <= start:
        raise ToolError(f"the end {end.isoformat()} is not after the start {start.isoformat()}; give a later end")
    if is_midnight and end.time() == dt.time():
        return start.date(), end.date()
    return start, end


@_changing(answer="{title} is now {start}.")
def move_event(call: CallContext, event: EventMeant, start: dt.datetime) -> Event:
    """Move an event in the owner's calendar to another time; it lasts as long as before.

    Of a repeating event, only the occurrence that was found is moved.

    Args:
        event: The event, as found.
        start: When it begins now; at midnight only the day changes and the time of day stays.
    Examples:
        move my dentist appointment to Thursday at 3
        push lunch with Anna back to 1 pm
        reschedule the team meeting to next Monday
    """
    start = ical.checked_moment(start, "the start", call.now.tzinfo)
    return _changed(call, event, "moved", lambda place: place.move(start, call.now))


@_changing(answer="Changed: {title}, {start}[, {place}][, then {repeat}].")
def change_event(
    call: CallContext,
    event: EventMeant,
    title: str = "",
    place: str = "",
    length: dt.timedelta | None = None,
    attendees: tuple[EmailAddress, ...] = (),
    repeat: ical.Repeat | None = None,
) -> Event:
    """Change what an event in the owner's calendar says, how long it lasts, who takes part or how it repeats.

    Nobody is invited or written to. Of a repeating event, only the occurrence that was found is changed, save for how
    it repeats. What is not given stays.

    Args:
        event: The event, as found.
        title: What it is called now.
        place: Where it is now.
        length: How long it lasts now.
        attendees: E-mail addresses of people who take part, too.
        repeat: How often it takes place from now on.
    Examples:
        make the yoga class weekly
        rename the standup to daily sync
        the team dinner is at the harbour now
        make the planning meeting two hours long
    """
    title, place = checked_text(title, "title", MAX_TITLE_CHARS), checked_text(place, "place", MAX_TITLE_CHARS)
    addresses = tuple(dict.fromkeys(checked_email(address) for address in attendees))
    if len(addresses) > MAX_ATTENDEES:
        raise ToolError(f"{len(addresses)} attendees are too many; expected at most {MAX_ATTENDEES}")
    if length is not None and not dt.timedelta(0) < length <= _LONGEST:
        raise ToolError(
            f"a length of {length} is no event's; expected more than 0 minutes and at most {_LONGEST.days} days"
        )
    change = Change(title, place, repeat, addresses, length)
    if change == Change():
        raise ToolError("nothing to change; say a title, a place, a length, who takes part or how it repeats")
    return _changed(call, event, "changed", lambda where: where.change(change, call.now))


@_changing(answer="Cancelled: {title}, {start}.")
def cancel_event(call: CallContext, event: EventMeant) -> Event:
    """Take an event out of the owner's calendar; nobody is told.

    Of a repeating event, only the occurrence that was found is cancelled.

    Args:
        event: The event, as found.
    Examples:
        cancel lunch with Ben
        take the yoga class on Tuesday out of my calendar
        delete my dentist appointment
    """
    return _changed(call, event, "cancelled", lambda place: place.cancel(call.now))


def _changed(call: CallContext, event: EventId, how: str, change: Callable[[Place], None]) -> Event:
    """Change an event, and return it as it is now; one that is cancelled as it was."""
    events = Events(call)
    place = events.locate(event)
    try:
        entry = place.entry() if how == "cancelled" else None
        change(place)
        entry = entry or place.entry()
    except (ValueError, OverflowError) as error:
        raise ToolError(f"the event {event!r} cannot be {how}: {error}") from None
    result = replace(_as_event(call, entry), id=event)
    events.save(place)
    return result


def _as_event(call: CallContext, entry: Entry) -> Event:
    event = Events(call).event("", entry)
    if event is None:
        raise ToolError(f"the time {entry.start} cannot be said in the owner's time zone")
    return event


TOOLS = (find_events, next_event, add_event, move_event, change_event, cancel_event, find_free_time)
