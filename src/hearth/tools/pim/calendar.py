"""The tools of the calendar, and the events they find and write."""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, NewType

from hearth.errors import Ambiguous, NotFound, ToolError
from hearth.formats.content_lines import (
    Component,
    Line,
    checked_email,
    checked_text,
    escape,
    new_component,
    new_line,
    parse,
    read_folder,
    unreadable_notice,
)
from hearth.formats.record_places import RecordPlaces, canonical_address
from hearth.formats.tool_signature import ID_IS_A_KEY, Names, tool
from hearth.language.tokens import Query, id_asked, ignored
from hearth.protocols import CallContext
from hearth.tools.pim import ical
from hearth.tools.pim.ical import Effort, When, occurrences
from hearth.tools.pim.servers import subscriptions
from hearth.tools.pim.servers.mirror import Mirror, file_name
from hearth.types import EmailAddress, Plain, Referent

# ── Calendar events ───────────────────────────────────────────────────────────────────────────────────────
# Read and change events in the owner's calendar files, whichever program wrote them.
#
# A file may hold many components; unchanged ones stay byte for byte. Repetition is expanded; the id of one occurrence
# of a repeating event (`uid#20261120T183000`) names that occurrence alone, the bare uid the whole series. Not
# covered: tasks and journals in these files, which are left as they are.

FOLDER = "calendar"
MAX_SERIES_LENGTH = dt.timedelta(days=366)
"""Longest repeating event; a longer one is a mistake in a file, and would overlap itself many times at every moment."""
_OCCURRENCE = re.compile(r"(?P<uid>.+)#(?P<recurrence>\d{8}(?:T\d{6})?)\Z", re.DOTALL)

_PLACES = RecordPlaces()

EventId = NewType("EventId", str)


@dataclass(frozen=True, slots=True)
class Event:
    """One event, or one occurrence of a repeating one. An all-day event lasts from midnight to midnight."""

    id: EventId
    title: str
    start: dt.datetime
    end: dt.datetime
    place: str
    attendees: tuple[EmailAddress, ...]
    notes: str
    repeat: str
    """`none`, `daily`, `weekly`, `monthly`, `yearly`, or in words (`every 2 weeks`)."""


# ── What files hold ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Entry:
    """One VEVENT as it stands in its file."""

    index: int
    """Position among the VEVENTs of the file."""
    uid: str
    title: str
    place: str
    attendees: tuple[EmailAddress, ...]
    notes: str
    repeat: str
    start: When
    end: When
    recurrence: str
    """Occurrence of the series that this one replaces; empty for a single event or the series itself."""
    is_series: bool
    is_cancelled: bool
    is_busy: bool
    organiser: str
    """Address of the person who invites; empty for an event of the owner's own, and for one that names nobody."""
    is_invitation: bool
    """Whether somebody else sent it, named or not."""
    invited: tuple[str, ...]
    """Attendees whom a server writes to by itself, whatever they are named by: RFC 6638, section 7.1."""
    accepted: frozenset[str]
    """Addresses of the attendees who said that they come."""
    words: str
    """Words that a query is compared with."""


@dataclass(frozen=True, slots=True)
class _File:
    entries: tuple[Entry, ...]
    fault: str = ""
    """Reason why (a part of) the file could not be read."""


@functools.lru_cache(maxsize=20_000)
def _file(data: bytes) -> _File:
    """Parse a file; cached by content, so that it can never be out of date."""
    return _File(*ical.read_each(data, "VEVENT", entry_of))


def _events(document: Component) -> list[Component]:
    return ical.components_of(document, "VEVENT")


def entry_of(index: int, event: Component, document: Component) -> Entry:
    start, end = ical.span(event, document)
    ical.check_rules(event)
    if ical.repeats(event) and ical.in_zone(end, dt.UTC) - ical.in_zone(start, dt.UTC) > MAX_SERIES_LENGTH:
        raise ValueError(f"it repeats, but each time lasts from {start} to {end}")
    moved = event.line("RECURRENCE-ID")
    attendees = list(event.lines("ATTENDEE"))
    addresses = [EmailAddress(address) for line in attendees if (address := ical.mail_of(line))]
    title, place, notes = event.text("SUMMARY").strip(), event.text("LOCATION").strip(), event.text("DESCRIPTION")
    transparency = event.text("TRANSP").upper()
    organiser = event.line("ORGANIZER")
    names = " ".join(f"{line.parameter('CN')} {ical.mail_of(line)}" for line in attendees)
    invited = [line for line in attendees if line.parameter("SCHEDULE-AGENT").upper() not in ("NONE", "CLIENT")]
    return Entry(
        index=index,
        uid=event.text("UID").strip(),
        title=title or "(untitled)",
        place=place,
        attendees=tuple(addresses),
        notes=notes.strip(),
        repeat=ical.repeat_of(event),
        start=start,
        end=end,
        recurrence=ical.recurrence_text(ical.read_time(moved, document), start) if moved is not None else "",
        is_series=ical.repeats(event),
        is_cancelled=event.text("STATUS").upper() == "CANCELLED",
        is_busy=transparency == "OPAQUE" or (transparency != "TRANSPARENT" and isinstance(start, dt.datetime)),
        organiser=ical.user_said(organiser).lower() if organiser is not None else "",
        is_invitation=organiser is not None or event.line(ical.SENT_BY_OTHERS) is not None or ical.is_sent(document),
        accepted=frozenset(
            ical.mail_of(line).lower() for line in attendees if line.parameter("PARTSTAT").upper() == "ACCEPTED"
        ),
        invited=tuple(ical.user_said(line) for line in invited) if organiser is not None else (),
        words=f"{title} {place} {names} {notes}"[:20_000],
    )


@dataclass(frozen=True, slots=True)
class Search:
    """A search for events."""

    query: Query
    start: dt.datetime
    end: dt.datetime | None = None
    is_coming: bool = False
    """True: only events that begin at `start` or later; else also those still going on."""
    is_once: bool = False
    """True: only the first occurrence of each series."""
    is_loose: bool = False
    """True: generic words of the query need not occur."""

    def asks_for(self, entry: Entry) -> bool:
        return self.query.matches_loosely(entry.words) if self.is_loose else self.query.matches(entry.words)

    def covers(self, event: Event) -> bool:
        is_late_enough = event.start >= self.start or (event.end > self.start and not self.is_coming)
        return is_late_enough and not self.is_past(event)

    def is_past(self, event: Event) -> bool:
        """Say whether the event begins after the range."""
        return self.end is not None and event.start >= self.end


class Events:
    """Every readable event of the owner, for one call."""

    def __init__(self, call: CallContext) -> None:
        self._call = call
        self._zone = call.now.tzinfo
        self._owner = str(call.settings.get("owner", {}).get("email") or "").strip().lower()
        self.mirror = Mirror.configured(call, "calendar")
        self.files: dict[str, _File] = {}
        self._data: dict[str, bytes] = {}
        self._documents: dict[str, tuple[Component, list[Component]]] = {}
        self.faults: dict[str, str] = {}
        self._effort = Effort()

    def read(self, *, refresh: bool) -> Events:
        """Read the files; with `refresh`, fetch the server's changes and the published calendars that are due first."""
        if refresh and self.mirror is not None:
            self.mirror.refresh()
        feeds = subscriptions.feeds_of(self._call.settings)
        if refresh and feeds:
            subscriptions.refresh(self._call)
        others = {feed.path for feed in feeds}
        for path, data, fault in read_folder(self._call.workspace, FOLDER, "*.ics"):
            if subscriptions.is_subscribed(path) and path not in others:
                continue  # taken out of the settings; its copy goes at the next fetching
            if fault:
                self.faults[path] = fault
                continue
            self._data[path] = data
            self.files[path] = _file(data)
            if self.files[path].fault:
                self.faults[path] = self.files[path].fault
        return self

    def find(self, search: Search) -> list[tuple[Entry, Event]]:
        """Return the events that `search` wants, by time. Generic words are required only if some event has them
        all."""
        found: dict[str, tuple[Entry, Event]] = {}
        for is_loose in (False, True):
            for entry, event in self._found(replace(search, is_loose=is_loose)):
                found.setdefault(event.id, (entry, event))
            if found:
                break
        entries = (entry.words for file in self.files.values() for entry in file.entries)
        if not found and (known := search.query.known_in(entries)) is not None:
            found = {event.id: (entry, event) for entry, event in self._found(replace(search, query=known))}
            if found:
                self._call.notices.append(ignored(search.query.text, known))
        if self.faults:
            self._call.notices.append(unreadable_notice(self.faults))
        return sorted(found.values(), key=lambda pair: (pair[1].start, pair[1].end, pair[1].title, pair[1].id))

    def _found(self, search: Search) -> Iterator[tuple[Entry, Event]]:
        for path, file in self.files.items():
            if self._call.cancelled.is_set():
                return
            series = {entry.uid for entry in file.entries if entry.is_series}
            wanted: dict[str, None] = {}
            for entry in file.entries:
                if not search.asks_for(entry):
                    continue
                if entry.uid in series:
                    wanted[entry.uid] = None
                elif not entry.is_cancelled:
                    event = self.event(path, entry)
                    if event is not None and search.covers(event):
                        yield entry, event
            for uid in wanted:
                yield from self._expanded(path, uid, search)

    def _expanded(self, path: str, uid: str, search: Search) -> Iterator[tuple[Entry, Event]]:
        """Yield the occurrences of one series."""
        entries = {entry.index: entry for entry in self.files[path].entries if entry.uid == uid}
        master = next(entry for entry in entries.values() if entry.is_series)
        if path not in self._documents:  # a file may hold thousands of series
            document = parse(self._data[path])
            self._documents[path] = document, _events(document)
        document, events = self._documents[path]
        components = {index: events[index] for index in entries}
        one_by_one = search.is_once or search.end is None
        try:
            end = None if one_by_one else search.end
            for found in occurrences(document, components, search.start, end, self._effort):
                entry = entries[found.number]
                name = ical.recurrence_text(found.recurrence, master.start)
                repeat = master.repeat
                entry = replace(entry, start=found.start, end=found.end, recurrence=name, repeat=repeat)
                event = self.event(path, entry)
                if event is None or search.is_past(event):
                    return
                if search.asks_for(entry) and search.covers(event) and not entry.is_cancelled:
                    yield entry, event
                    if one_by_one:
                        return
        except ValueError as error:
            self.faults[path] = str(error)

    def event(self, path: str, entry: Entry) -> Event | None:
        uid = entry.uid or f"{path}#{entry.index}"
        try:
            start, end = ical.in_zone(entry.start, self._zone), ical.in_zone(entry.end, self._zone)
        except ValueError as error:
            self.faults[path] = str(error)
            return None
        id = EventId(f"{uid}#{entry.recurrence}" if entry.recurrence else uid)
        if subscriptions.is_subscribed(path):
            self._call.origins[id] = "web"  # whoever publishes the feed writes all of it
        elif entry.is_invitation and (not entry.organiser or entry.organiser != self._owner):
            self._call.origins[id] = "message"  # the person who invites writes all of it
        elif "#" in entry.uid:
            self._call.origins[id] = "file"  # not made by Hearth: it could pass for a time of another event
        return Event(
            id=id,
            title=entry.title,
            start=start,
            end=max(start, end),
            place=entry.place,
            attendees=entry.attendees,
            notes=entry.notes,
            repeat=entry.repeat,
        )

    # ── Finding and saving one event ──────────────────────────────────────────────────────────────────────

    def locate(self, event: EventId) -> Place:
        """Return the components that an id names.

        Raises:
            NotFound. Ambiguous: Files hold different events under that id. ToolError: Its file cannot be read, or it
                is of a published calendar, which is only read.
        """
        held = self._held(EventId(str(event)))
        if subscriptions.is_subscribed(held.path):
            name = held.path.rpartition("/")[2].removesuffix(".ics")
            raise ToolError(
                f"{held.entries[0].title!r} is of the published calendar {name!r}, which is only read; add an event "
                "of your own in its place"
            )
        return held.place()

    def entry_of(self, event: EventId) -> Entry:
        """Return the event that an id names. Raises: As `locate`."""
        held = self._held(EventId(str(event)))
        if subscriptions.is_subscribed(held.path):
            return self.locate(event).entry()
        if held.recurrence:
            return held.place().entry()
        return next((entry for entry in held.entries if not entry.recurrence), held.entries[0])

    def told(self, event: EventId) -> tuple[str, ...]:
        """Return whom the owner's server may write to by itself when an event is changed there: those whom the owner
        invited, to any time of it, or who invited the owner. Raises: As `locate`."""
        if self.mirror is None:
            return ()
        held = self._held(event)
        if not self.mirror.owns(held.path):
            return ()
        found: list[str] = []
        for entry in held.entries:
            if entry.organiser == self._owner:
                found += entry.invited
            elif entry.organiser:
                found.append(entry.organiser)
        return tuple(dict.fromkeys(_in_one_spelling(one) for one in found if one.lower() != self._owner))

    def one(self, event: EventId) -> Event:
        """Return the event that an id names, as it stands. Raises: NotFound, Ambiguous: As `locate`."""
        held = self._held(event)
        entry = held.place().entry() if held.recurrence else held.entries[0]
        if (found := self.event(held.path, entry)) is None:
            raise NotFound(f"the event {event[:200]!r} cannot be read: {unreadable_notice(self.faults)}")
        return replace(found, id=event)

    def _held(self, event: EventId) -> _Held:
        """Find the one file that holds an event. Raises: As `locate`."""
        listing = self._call.workspace.list(FOLDER, "*.ics")
        path = _PLACES.find(listing, event)
        if path is not None:
            with contextlib.suppress(ToolError):
                data = self._call.workspace.read(path)
                if (found := _held_in(event, {path: (data, _file(data))}, {})) is not None:
                    return found
        self.read(refresh=False)
        files = {path: (self._data[path], file) for path, file in self.files.items()}
        found = _held_in(event, files, self.faults)
        if found is None:
            hint = f" ({unreadable_notice(self.faults)})" if self.faults else ""
            raise NotFound(f"there is no event {event[:200]!r}; look for it with find_events first{hint}")
        _PLACES.keep(listing, event, found.path)
        return found

    def save(self, place: Place) -> None:
        """Write the changed file, or delete it when nothing is left in it; an event from a server is changed there
        first."""
        is_empty = not any(
            item.name != "VTIMEZONE"
            for calendar in place.document.components("VCALENDAR")
            for item in calendar.components()
        )
        mirrored = self.mirror if self.mirror is not None and self.mirror.owns(place.path) else None
        if mirrored is not None:
            mirrored.delete(place.path) if is_empty else mirrored.replace(place.path, place.document)
        elif is_empty:
            self._call.workspace.delete(place.path)
        else:
            self._call.workspace.write(place.path, place.document.render())


def _in_one_spelling(address: str) -> str:
    """An address as mail goes to it; what is none, on one line and cut."""
    try:
        return canonical_address(address)
    except ValueError:
        return " ".join(address.split())[:100]


@dataclass(frozen=True, slots=True)
class _Held:
    """The file that holds an event, with its entries of one uid."""

    path: str
    data: bytes
    entries: tuple[Entry, ...]
    recurrence: str
    """The one occurrence that is meant; empty for a single event or the whole series."""

    def place(self) -> Place:
        document = parse(self.data)
        components = _events(document)
        return Place(self.path, document, [components[entry.index] for entry in self.entries], self.recurrence)


def _held_in(event: EventId, files: Mapping[str, tuple[bytes, _File]], faults: Mapping[str, str]) -> _Held | None:
    """Return where an event is among files that were read. Raises: Ambiguous; ToolError: Its file cannot be read."""
    match = _OCCURRENCE.fullmatch(event)
    for uid, recurrence in [(str(event), "")] + ([(match["uid"], match["recurrence"])] if match else []):
        held: list[_Held] = []
        for path, (data, file) in files.items():
            if found := tuple(e for e in file.entries if (e.uid or f"{path}#{e.index}") == uid):
                held.append(_Held(path, data, found, recurrence))
            elif path in faults and path.rpartition("/")[2] == f"{file_name(uid)}.ics":
                raise ToolError(f"the event's file {path!r} cannot be read: {faults[path]}; mend or remove it")
        if len({(one.entries[0].title, one.entries[0].start) for one in held}) > 1:
            paths = ", ".join(repr(one.path) for one in held)
            raise Ambiguous(f"{paths} hold different events under the id {event[:200]!r}; remove all but one")
        if held:
            return held[0]
    return None


# ── Changing one event ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes different of an event; what is not given stays."""

    title: str = ""
    place: str = ""
    repeat: ical.Repeat | None = None
    attendees: tuple[str, ...] = ()
    """Addresses of people who take part beside those who do."""
    length: dt.timedelta | None = None


@dataclass(slots=True)
class Place:
    """The place of an event. `move` and `cancel` change `document`; `Events.save` writes it."""

    path: str
    document: Component
    components: list[Component]
    """All components of one uid: the event or series, and occurrences that differ."""
    recurrence: str
    """The one occurrence that is meant; empty for a single event or the whole series."""

    @property
    def master(self) -> Component | None:
        return next((c for c in self.components if c.line("RECURRENCE-ID") is None), None)

    def entry(self) -> Entry:
        """The event as it stands. Raises: NotFound: the series has no such occurrence (any more)."""
        override = self._override() if self.recurrence else None
        if override is not None or not self.recurrence:
            component = override or self.master or self.components[0]
            entry = entry_of(0, component, self.document)
            series = self.master if override is not None else None
            repeat = ical.repeat_of(series) if series is not None else entry.repeat
            return replace(entry, recurrence=self.recurrence, repeat=repeat)
        master = self._existing_master()
        entry = entry_of(0, master, self.document)
        start = ical.recurrence_time(self.recurrence, entry.start)
        return replace(entry, start=start, end=_later(start, entry.start, entry.end), recurrence=self.recurrence)

    def move(self, start: dt.datetime, now: dt.datetime) -> None:
        """Move the event to `start`, keeping its length. Midnight means: that day, at its present time.

        Raises:
            NotFound: No such occurrence.
            ToolError: A series whose rule cannot be moved; nothing was changed.
        """
        if self.recurrence:
            component = self._override() or self._new_override(self._existing_master())
            _set_start(component, self.document, start)
        else:
            component = self.master or self.components[0]
            before = ical.span(component, self.document)[0]
            _set_start(component, self.document, start)
            if ical.repeats(component):
                self._shift_series(component, before)
        ical.stamp(component, now)
        ical.define_zone(self.document, now.tzinfo, start.year)

    def change(self, change: Change, now: dt.datetime) -> None:
        """Change what an event says. How it repeats is changed for the whole series, the rest where it was found.

        Raises:
            NotFound: No such occurrence.
            ToolError: Its rule or length cannot be so; nothing was changed.
        """
        component = self.master or self.components[0]
        if change.repeat is not None:
            rule = ical.rule_for(change.repeat, ical.span(component, self.document)[0])
            component.put(new_line("RRULE", rule))
            ical.stamp(component, now)
        if not (change.title or change.place or change.attendees or change.length):
            return
        if self.recurrence and ical.repeats(component):
            component = self._override() or self._new_override(self._existing_master())
        if change.title:
            component.put(new_line("SUMMARY", escape(change.title)))
        if change.place:
            component.put(new_line("LOCATION", escape(change.place)))
        if change.length:
            _set_length(component, self.document, change.length)
        known = {ical.mail_of(line).lower() for line in component.lines("ATTENDEE")}
        for address in change.attendees:
            if address.lower() not in known:
                # The server must not mail them: RFC 6638 section 7.1.
                component.add(new_line("ATTENDEE", f"mailto:{address}", {"SCHEDULE-AGENT": "NONE"}))
        ical.stamp(component, now)

    def cancel(self, now: dt.datetime) -> None:
        """Remove the event: one occurrence becomes an exception, anything else is deleted."""
        if not self.recurrence:
            self._drop(*self.components)
            return
        override, master = self._override(), self.master
        if override is not None:
            self._drop(override)
        if master is not None:
            master = self._existing_master() if override is None else master
            first = master.line("DTSTART")
            when = ical.recurrence_time(self.recurrence, self._series_start())
            if first is not None:
                master.add(ical.line_like(first, "EXDATE", when, self.document))
            ical.stamp(master, now)

    def _series_start(self) -> When:
        return ical.span(self.master or self.components[0], self.document)[0]

    def _override(self) -> Component | None:
        """Return the component that replaces the occurrence meant."""
        for component in self.components:
            line = component.line("RECURRENCE-ID")
            if line is None:
                continue
            when = ical.read_time(line, self.document)
            if ical.recurrence_text(when, self._series_start()) == self.recurrence:
                if line.parameter("RANGE"):
                    raise ToolError(
                        f"the occurrence {self.recurrence} was changed together with all that follow it; "
                        "change it in the program that did that"
                    )
                return component
        return None

    def _existing_master(self) -> Component:
        """Return the series, if the occurrence meant takes place by its rule. Raises: NotFound."""
        if self.master is not None:
            when = ical.in_zone(ical.recurrence_time(self.recurrence, self._series_start()), dt.UTC)
            numbered = dict(enumerate(self.components))
            for found in occurrences(self.document, numbered, when, when + dt.timedelta(days=1)):
                if ical.recurrence_text(found.recurrence, self._series_start()) == self.recurrence:
                    return self.master
        raise NotFound(f"the series has no occurrence at {self.recurrence!r} (any more); look for it with find_events")

    def _new_override(self, master: Component) -> Component:
        """Insert a copy of the series for one occurrence, behind it."""
        length_end, first = master.line("DTEND"), master.line("DTSTART")
        start, end = ical.span(master, self.document)
        when = ical.recurrence_time(self.recurrence, start)
        copy = Component(master.name, list(master.items), master.begin, master.end)
        copy.remove(*ical.RECURRENCE)
        if first is not None:
            copy.put(ical.line_like(first, "DTSTART", when, self.document))
            copy.put(ical.line_like(first, "RECURRENCE-ID", when, self.document))
        if length_end is not None:
            copy.put(ical.line_like(length_end, "DTEND", _later(when, start, end), self.document))
        for calendar in self.document.components("VCALENDAR"):
            places = [i for i, item in enumerate(calendar.items) if item is master]
            if places:
                calendar.items.insert(places[0] + 1, copy)
        self.components.append(copy)
        return copy

    def _shift_series(self, master: Component, before: When) -> None:
        """Move the rule, the exceptions and the names of changed occurrences along after the series' start moved."""
        after = ical.span(master, self.document)[0]
        if isinstance(before, dt.datetime) != isinstance(after, dt.datetime):
            raise ToolError("a repeating whole-day event cannot get a time of day; cancel it and add it anew")
        delta = _wall(after) - _wall(before)
        line = master.line("RRULE")
        if line is not None:
            master.put(new_line("RRULE", ical.moved_rule(line.value, before, after, delta)))
        for component in self.components:
            items: list[Line | Component] = []
            for item in component.items:
                if isinstance(item, Line) and item.name in ("EXDATE", "RDATE", "RECURRENCE-ID"):
                    for when in ical.times(item, self.document):
                        items.append(ical.line_like(item, item.name, when + delta, self.document))
                else:
                    items.append(item)
            component.items = items

    def _drop(self, *components: Component) -> None:
        for calendar in self.document.components("VCALENDAR"):
            calendar.items = [item for item in calendar.items if not any(item is c for c in components)]


def _set_start(component: Component, document: Component, start: dt.datetime) -> None:
    """Move an event to `start` (in the owner's zone), keeping its length."""
    old_start, old_end = ical.span(component, document)
    is_midnight = start.time() == dt.time()
    first = component.line("DTSTART")
    new_start: When = start
    if not isinstance(old_start, dt.datetime):
        if not is_midnight:  # an all-day event that gets a time lasts an hour
            component.remove("DURATION")
            component.put(ical.time_line("DTSTART", start, start.tzinfo))
            component.put(ical.time_line("DTEND", start + dt.timedelta(hours=1), start.tzinfo))
            return
        new_start = start.date()
    elif is_midnight:
        new_start = dt.datetime.combine(start.date(), ical.in_zone(old_start, start.tzinfo).time(), start.tzinfo)
    if first is not None:
        component.put(ical.line_like(first, "DTSTART", new_start, document))
    last = component.line("DTEND")
    if last is not None:
        component.put(ical.line_like(last, "DTEND", _later(new_start, old_start, old_end), document))


def _set_length(component: Component, document: Component, length: dt.timedelta) -> None:
    """Let an event end so long after it begins. Raises: ToolError: It lasts whole days."""
    start = ical.span(component, document)[0]
    first = component.line("DTSTART")
    if not isinstance(start, dt.datetime) or first is None:
        raise ToolError("it lasts whole days, so no length fits it; move it to a time first")
    component.remove("DURATION", "DTEND")
    component.put(ical.line_like(first, "DTEND", start + length, document))


def _later(start: When, old_start: When, old_end: When) -> When:
    """Return `start` plus the real time between the old start and end."""
    if not isinstance(start, dt.datetime):
        return start + (_wall(old_end) - _wall(old_start))
    zone = old_start.tzinfo if isinstance(old_start, dt.datetime) else None
    if zone is None:
        return start + (_wall(old_end) - _wall(old_start))
    length = ical.in_zone(old_end, zone).astimezone(dt.UTC) - ical.in_zone(old_start, zone).astimezone(dt.UTC)
    return (ical.in_zone(start, zone).astimezone(dt.UTC) + length).astimezone(start.tzinfo or zone)


def _wall(when: When) -> dt.datetime:
    return when.replace(tzinfo=None) if isinstance(when, dt.datetime) else dt.datetime.combine(when, dt.time())


# ── Calendar ──────────────────────────────────────────────────────────────────────────────────────────────
# Tools for the owner's calendar: iCalendar files in `calendar/` from any program, and a configured CalDAV calendar.
#
# Each event made here is one file. Moving, changing or cancelling one occurrence of a repeating event leaves the
# others alone. All times come back in the owner's zone (`CallContext.now`). Not covered: answering invitations;
# free/busy of other people.

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
    for opens, closes in hours_asked(first, last):
        free_from = max(opens, call.now)
        for begun, over in [*busy, (closes, closes)]:
            until = min(begun, closes)
            if until - free_from >= (length or MIN_FREE):
                slots.append(FreeSlot(free_from, until))
            free_from = max(free_from, over)
    return slots[:MAX_EVENTS]


def hours_asked(start: dt.datetime, end: dt.datetime) -> Iterator[tuple[dt.datetime, dt.datetime]]:
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
