"""Tools for reminders and timers: iCalendar tasks (VTODO with an alarm) in `reminders/`, from any program.

A repeating reminder is one task; completing it moves it to its next time. The unchanged parts of a file stay byte for
byte. Not covered: ringing. These tools keep the list; `hearth up` rings, and so does any program that shows alarms.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, NewType

from hearth.errors import NotFound, ToolError
from hearth.formats.content_lines import (
    Component,
    checked_text,
    escape,
    new_component,
    new_line,
    parse,
    read_folder,
    unreadable_notice,
)
from hearth.formats.record_places import RecordPlaces
from hearth.formats.tool_signature import ID_IS_A_KEY, Names, tool
from hearth.language.tokens import Query, id_asked, ignored
from hearth.protocols import CallContext
from hearth.tools.pim import ical
from hearth.tools.pim.ical import Effort, When, occurrences
from hearth.types import Referent

FOLDER = "reminders"
MAX_TEXT_CHARS = 2_000
MAX_TIMER = dt.timedelta(days=366)
MAX_REMINDERS = 200
_NAMESPACE = uuid.UUID("b1d0a5b4-6c0f-4f0c-9d3a-2a6d1f7e4c35")

_PLACES = RecordPlaces()

ReminderId = NewType("ReminderId", str)


@dataclass(frozen=True, slots=True)
class Reminder:
    """Something the owner wants to be reminded of."""

    id: ReminderId
    text: str
    at: dt.datetime | None
    """Time of the reminder, of a repeating one the next time; None for a task of another program without a time."""
    repeat: str
    """`none`, `daily`, `weekly`, `monthly`, `yearly`, or in words (`every 2 weeks`)."""
    is_done: bool


# ── What files hold ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Task:
    """One VTODO as it stands in its file."""

    index: int
    uid: str
    text: str
    words: str
    due: When | None
    repeat: str
    is_done: bool


@dataclass(frozen=True, slots=True)
class _File:
    tasks: tuple[_Task, ...]
    fault: str = ""


@functools.lru_cache(maxsize=20_000)
def _file(data: bytes) -> _File:
    """Parse a file; cached by content, so that it can never be out of date."""
    return _File(*ical.read_each(data, "VTODO", _task))


def _todos(document: Component) -> list[Component]:
    return ical.components_of(document, "VTODO")


def _task(index: int, todo: Component, document: Component) -> _Task:
    line = todo.line("DUE") or todo.line("DTSTART")
    ical.check_rules(todo)
    text = todo.text("SUMMARY").strip()
    is_over = todo.text("STATUS").upper() in ("COMPLETED", "CANCELLED") or todo.text("PERCENT-COMPLETE") == "100"
    return _Task(
        index=index,
        uid=todo.text("UID").strip(),
        text=text or "(without text)",
        words=f"{text} {todo.text('DESCRIPTION')}"[:20_000],
        due=ical.read_time(line, document) if line is not None else None,
        repeat=ical.repeat_of(todo),
        is_done=is_over or todo.line("COMPLETED") is not None,
    )


_WHOLE_DAY_AT = dt.timedelta(hours=9)
"""When a reminder for a whole day is due, from the midnight that stands for it."""


@dataclass(slots=True)
class _Place:
    """The place of a reminder in its file."""

    path: str
    document: Component
    todo: Component
    task: _Task


class _Reminders:
    """Every readable reminder of the owner, for one call."""

    def __init__(self, call: CallContext) -> None:
        self._call = call
        self._data: dict[str, bytes] = {}
        self._tasks: dict[ReminderId, tuple[str, _Task]] = {}
        self._faults: dict[str, str] = {}
        self._effort = Effort()

    def read(self) -> _Reminders:
        """Read all files."""
        for path, data, fault in read_folder(self._call.workspace, FOLDER, "*.ics"):
            if fault:
                self._faults[path] = fault
                continue
            self._take(path, data)
        return self

    def _take(self, path: str, data: bytes) -> None:
        file = _file(data)
        self._data[path] = data
        for task in file.tasks:
            self._tasks.setdefault(ReminderId(task.uid or f"{path}#{task.index}"), (path, task))
        if file.fault:
            self._faults[path] = file.fault

    def open(self, query: Query, start: dt.datetime | None, end: dt.datetime | None) -> list[Reminder]:
        """Return matching reminders to come or overdue, soonest first, those without a time last."""
        found = self._open_as(query.matches, start, end) or self._open_as(query.matches_loosely, start, end)
        words = (task.words for _, task in self._tasks.values() if not task.is_done)
        if not found and (known := query.known_in(words)) is not None:
            found = self._open_as(known.matches, start, end)
            if found:
                self._call.notices.append(ignored(query.text, known))
        if self._faults:
            self._call.notices.append(unreadable_notice(self._faults))
        latest = dt.datetime.max.replace(tzinfo=dt.UTC)
        return sorted(found, key=lambda reminder: (reminder.at or latest, reminder.text, reminder.id))

    def _open_as(
        self, is_meant: Callable[[str], bool], start: dt.datetime | None, end: dt.datetime | None
    ) -> list[Reminder]:
        found: list[Reminder] = []
        for id_, (path, task) in self._tasks.items():
            if task.is_done or not is_meant(task.words):
                continue
            try:
                at = self.next_time(path, task, start or self._call.now)
            except ValueError as error:
                self._faults[path] = str(error)
                continue
            if _is_within(at, start, end):
                found.append(Reminder(id_, task.text, at, task.repeat, is_done=False))
        return found

    def tasks(self) -> Iterable[tuple[ReminderId, tuple[str, _Task]]]:
        """Return every task with its id and its file."""
        return self._tasks.items()

    def next_time(self, path: str, task: _Task, start: dt.datetime) -> dt.datetime | None:
        """Return when a task is due; for a repeating one, the first time from `start` on."""
        if task.due is None:
            return None
        due = ical.in_zone(task.due, self._call.now.tzinfo)
        if task.repeat == "none" or due >= start:
            return due
        document = parse(self._data[path])
        todo = _todos(document)[task.index]
        return next_time(todo, document, start - dt.timedelta(seconds=1), self._effort) or due

    def times(self, path: str, task: _Task, start: dt.datetime, end: dt.datetime) -> list[dt.datetime]:
        """Return the times from `start` until before `end` at which a task with a time is due."""
        assert task.due is not None
        due = ical.in_zone(task.due, self._call.now.tzinfo)
        times = [due]
        if task.repeat != "none":
            document = parse(self._data[path])
            todo = _without_end(_todos(document)[task.index])
            found = occurrences(document, {0: todo}, max(start, due), end, self._effort)
            times = [ical.in_zone(one.start, self._call.now.tzinfo) for one in found]
        return [at for at in times if start <= at < end]

    def last_time(self, path: str, task: _Task, start: dt.datetime, by: dt.datetime) -> dt.datetime:
        """Return the last time from `start`, one of its times, until `by` that a repeating task is due."""
        document = parse(self._data[path])
        todo = _without_end(_todos(document)[task.index])
        found = occurrences(document, {0: todo}, start, by + dt.timedelta(seconds=1), self._effort)
        times = [ical.in_zone(one.start, self._call.now.tzinfo) for one in found]
        return max((at for at in times if start <= at <= by), default=start)

    def is_still_due(self, reminder: ReminderId, due: dt.datetime) -> bool:
        """Return whether what was due then is neither done nor deleted nor moved."""
        if reminder not in self._tasks:
            return bool(self._faults)  # it may stand in what cannot be read
        _, task = self._tasks[reminder]
        if task.is_done or task.due is None:
            return False
        try:
            at = (ical.in_zone(task.due, self._call.now.tzinfo) + _into_the_day(task)).astimezone(dt.UTC)
        except (ValueError, OverflowError):
            return False
        return at == due.astimezone(dt.UTC) or (task.repeat != "none" and at <= due)

    def locate(self, reminder: ReminderId) -> _Place:
        """Return the place of a reminder. Raises: NotFound."""
        reminder = ReminderId(str(reminder))
        listing = self._call.workspace.list(FOLDER, "*.ics")
        if (known := _PLACES.find(listing, reminder)) is not None:
            with contextlib.suppress(ToolError):
                self._take(known, self._call.workspace.read(known))
        if reminder not in self._tasks:
            self.read()
        if reminder not in self._tasks:
            hint = f" ({unreadable_notice(self._faults)})" if self._faults else ""
            raise NotFound(f"there is no reminder {reminder[:200]!r}; look for it with find_reminders first{hint}")
        path, task = self._tasks[reminder]
        _PLACES.keep(listing, reminder, path)
        document = parse(self._data[path])
        return _Place(path, document, _todos(document)[task.index], task)


def due_between(call: CallContext, start: dt.datetime, end: dt.datetime) -> list[Reminder]:
    """Return the open reminders that are due from `start` until before `end`, soonest first: one for a whole day at
    nine, of a repeating one the first time and the last that has passed. What cannot be read is left out."""
    reminders = _Reminders(call).read()
    found = []
    for id_, (path, task) in reminders.tasks():
        if task.is_done:
            continue
        later = _into_the_day(task)
        with contextlib.suppress(ValueError):  # a rule that cannot be read; `find_reminders` says so
            at = reminders.next_time(path, task, start - later)
            if at is None or not start <= at + later < end:
                continue
            times = {at}
            if task.repeat != "none" and at + later <= call.now:
                times.add(reminders.last_time(path, task, at, min(call.now, end) - later))
            found += [Reminder(id_, task.text, one + later, task.repeat, is_done=False) for one in times]
    return sorted(found, key=lambda reminder: (reminder.at or end, reminder.text, reminder.id))


def times_between(call: CallContext, start: dt.datetime, end: dt.datetime) -> list[Reminder]:
    """Return every time of every reminder from `start` until before `end`, done ones too, soonest first; one for a
    whole day at nine. What cannot be read is left out."""
    reminders = _Reminders(call).read()
    found = []
    for id_, (path, task) in reminders.tasks():
        if task.due is None:
            continue
        later = _into_the_day(task)
        with contextlib.suppress(ValueError, OverflowError):
            for at in reminders.times(path, task, start - later, end - later):
                found.append(Reminder(id_, task.text, at + later, task.repeat, task.is_done))
    return sorted(found, key=lambda reminder: (reminder.at or end, reminder.text, reminder.id))


def still_due(call: CallContext, rung: Iterable[tuple[str, dt.datetime]]) -> set[tuple[str, dt.datetime]]:
    """Return those due times, each with the id of its reminder, that are neither done nor deleted nor moved."""
    reminders = _Reminders(call).read()
    return {(id_, due) for id_, due in rung if reminders.is_still_due(ReminderId(id_), due)}


def _into_the_day(task: _Task) -> dt.timedelta:
    return dt.timedelta(0) if isinstance(task.due, dt.datetime) else _WHOLE_DAY_AT


def _is_within(at: dt.datetime | None, start: dt.datetime | None, end: dt.datetime | None) -> bool:
    if at is None:
        return start is None and end is None
    return (start is None or at >= start) and (end is None or at < end)


def next_time(
    todo: Component, document: Component, after: dt.datetime, effort: Effort | None = None
) -> dt.datetime | None:
    """Return the first time of a repeating task later than `after`, in that zone; None if it does not come again.

    Raises:
        ValueError: The rule cannot be read.
    """
    for found in occurrences(document, {0: _without_end(todo)}, after, None, effort):
        at = ical.in_zone(found.start, after.tzinfo)
        if at > after:
            return at
    return None


def _without_end(todo: Component) -> Component:
    """Return the task without its end: the rule repeats the start, and an end would blur the order."""
    first = todo.line("DTSTART") or todo.line("DUE")
    copy = Component(todo.name, list(todo.items), todo.begin, todo.end)
    copy.remove("DUE", "DURATION")
    if first is not None:
        copy.put(ical.renamed(first, "DTSTART"))
    return copy


# ── Tools ─────────────────────────────────────────────────────────────────────────────────────────────────


def _reminder_meant(reminder: object, call: CallContext, given: Mapping[str, object]) -> Referent:  # noqa: ARG001
    """Resolve the id of a reminder (a `Resolver`): its text and its time. Raises: NotFound."""
    task = _Reminders(call).locate(ReminderId(str(reminder))).task
    at = f", {ical.in_zone(task.due, call.now.tzinfo):%a %d %b %Y %H:%M}" if task.due is not None else ""
    return Referent(str(reminder), f"“{task.text}”{at}", aliases=(task.text,))


ReminderMeant = Annotated[ReminderId, Names(_reminder_meant)]


@tool(effect="change", answer="Reminder set: {text}, {at}[, then {repeat}].")
def add_reminder(call: CallContext, text: str, at: dt.datetime, repeat: ical.RepeatOrNot = "none") -> Reminder:
    """Remind the owner of something at a time, once or again and again.

    Args:
        text: What to be reminded of.
        at: When; of a repeating reminder, the first time.
        repeat: How often.
    Examples:
        remind me to water the plants tomorrow at nine
        every day at 8 in the evening remind me to take my tablets
        don't let me forget to call the plumber on Monday morning
    """
    return _added(call, text, at, repeat)


@tool(effect="change", answer="Timer set for {at}: {text}.")
def set_timer(call: CallContext, length: dt.timedelta, text: str = "timer") -> Reminder:
    """Set a timer that is up after a length of time.

    Args:
        length: How long from now.
        text: What it is for.
    Examples:
        set a timer for 12 minutes
        start a 45 second timer for the eggs
        tell me when an hour and a half is up
    """
    if not dt.timedelta(0) < length <= MAX_TIMER:
        raise ToolError(f"a timer of {length} cannot be set; expected more than 0 seconds and at most a year")
    at = (call.now.astimezone(dt.UTC) + length).astimezone(call.now.tzinfo)
    return _added(call, text or "timer", at, "none")


def _added(call: CallContext, text: str, at: dt.datetime, repeat: ical.RepeatOrNot) -> Reminder:
    text = checked_text(text, "text", MAX_TEXT_CHARS)
    if not text:
        raise ToolError("a reminder needs a text; say what to be reminded of")
    zone = call.now.tzinfo
    at = ical.checked_moment(at, "the time", zone)
    if at < call.now - dt.timedelta(minutes=1) and repeat == "none":
        raise ToolError(f"{at.isoformat()} has passed (it is {call.now.isoformat()}); give a time to come")
    utc = f"{call.now.astimezone(dt.UTC):%Y%m%dT%H%M%SZ}"
    alarm = new_component(
        "VALARM",
        new_line("ACTION", "DISPLAY"),
        new_line("DESCRIPTION", escape(text)),
        new_line("TRIGGER", "PT0S", {"RELATED": "END"}),
    )
    todo = new_component(
        "VTODO",
        new_line("UID", str(uuid.uuid5(_NAMESPACE, call.key))),
        new_line("DTSTAMP", utc),
        new_line("CREATED", utc),
        new_line("LAST-MODIFIED", utc),
        ical.time_line("DUE", at, zone),
        new_line("SUMMARY", escape(text)),
        new_line("STATUS", "NEEDS-ACTION"),
        alarm,
    )
    if repeat != "none":
        todo.add(ical.time_line("DTSTART", at, zone))
        todo.add(new_line("RRULE", ical.rule_for(repeat, at)))
    document = ical.new_calendar(at.year, zone, todo)
    if at < call.now - dt.timedelta(minutes=1):
        _set_due(todo, document, next_time(todo, document, call.now) or at)
    task = _task(0, todo, document)
    call.workspace.write(f"{FOLDER}/{task.uid}.ics", document.render())
    return _as_reminder(call, ReminderId(task.uid), task)


@tool(
    unconfirmed="file",
    origins=ID_IS_A_KEY,
    answer="{text}[, {at}][, {repeat}]",
    answer_none="You have no open reminders like that.",
)
def find_reminders(
    call: CallContext, query: str = "", start: dt.datetime | None = None, end: dt.datetime | None = None
) -> list[Reminder]:
    """Find open reminders, by words, by time, or both; overdue ones too when no time is given.

    Args:
        query: Words of the reminder; all must occur. Empty for every open reminder.
        start: Only those due at this time or later.
        end: Only those due before.
    Examples:
        what are my reminders
        what do I have to remember today
        do I have a reminder about the passport
    """
    zone = call.now.tzinfo
    start = ical.checked_moment(start, "the start", zone) if start is not None else None
    end = ical.checked_moment(end, "the end", zone) if end is not None else None
    if start is not None and end is not None and end <= start:
        raise ToolError(f"the end {end.isoformat()} is not after the start {start.isoformat()}; give a later end")
    if id := id_asked(query):
        return [one for one in _Reminders(call).read().open(Query(""), None, None) if one.id == id]
    found = _Reminders(call).read().open(Query(query), start, end)
    if len(found) > MAX_REMINDERS:
        call.notices.append(f"{len(found) - MAX_REMINDERS} more reminders were found; ask for a shorter time.")
    return found[:MAX_REMINDERS]


@tool(effect="change", unconfirmed="file", origins=ID_IS_A_KEY, answer="Done: {text}.")
def complete_reminder(call: CallContext, reminder: ReminderMeant) -> Reminder:
    """Mark a reminder as done; a repeating one moves to its next time.

    Args:
        reminder: The reminder, as found.
    Examples:
        mark the reminder to return the library books as done
        I have watered the plants, tick that off
    """
    place = _Reminders(call).locate(reminder)
    todo, document = place.todo, place.document
    following: dt.datetime | None = None
    try:
        if place.task.repeat != "none" and place.task.due is not None:
            due = ical.in_zone(place.task.due, call.now.tzinfo)
            following = next_time(todo, document, max(due, call.now))
        if following is not None:
            _count_down(todo, document, following)
            _set_due(todo, document, following)
    except (ValueError, OverflowError) as error:
        raise ToolError(f"the reminder {place.task.text[:80]!r} cannot be moved to its next time: {error}") from None
    if following is None:
        utc = f"{call.now.astimezone(dt.UTC):%Y%m%dT%H%M%SZ}"
        todo.put(new_line("STATUS", "COMPLETED"))
        todo.put(new_line("COMPLETED", utc))
        todo.put(new_line("PERCENT-COMPLETE", "100"))
    return _saved(call, place, reminder)


@tool(effect="change", unconfirmed="file", origins=ID_IS_A_KEY, answer="{text} is now set for {at}.")
def move_reminder(call: CallContext, reminder: ReminderMeant, at: dt.datetime) -> Reminder:
    """Set a reminder to another time; a repeating one goes on from there.

    Args:
        reminder: The reminder, as found.
        at: When; at midnight only the day changes and the time of day stays.
    Examples:
        move the bin reminder to tonight at 8
        remind me about the visa form on Monday instead
    """
    zone = call.now.tzinfo
    at = ical.checked_moment(at, "the time", zone)
    place = _Reminders(call).locate(reminder)
    due = place.task.due
    if at.time() == dt.time() and isinstance(due, dt.datetime):
        at = dt.datetime.combine(at.date(), ical.in_zone(due, zone).time(), zone)
    if at < call.now - dt.timedelta(minutes=1):
        raise ToolError(f"{at.isoformat()} has passed (it is {call.now.isoformat()}); give a time to come")
    line = place.todo.line("RRULE")
    try:
        if line is not None and due is not None:
            place.todo.put(new_line("RRULE", ical.moved_rule(line.value, ical.in_zone(due, zone), at, dt.timedelta(0))))
        _set_due(place.todo, place.document, at)
    except (ValueError, OverflowError) as error:
        raise ToolError(f"the reminder {place.task.text[:80]!r} cannot be moved: {error}") from None
    return _saved(call, place, reminder)


@tool(effect="change", unconfirmed="file", origins=ID_IS_A_KEY, answer="Reminder deleted: {text}.")
def delete_reminder(call: CallContext, reminder: ReminderMeant) -> Reminder:
    """Delete a reminder, with all its repetitions.

    Args:
        reminder: The reminder, as found.
    Examples:
        remove my reminder about the gym membership
        I no longer need the reminder to fix the gate
    """
    place = _Reminders(call).locate(reminder)
    result = _as_reminder(call, reminder, place.task)
    for calendar in place.document.components("VCALENDAR"):
        calendar.items = [item for item in calendar.items if item is not place.todo]
    if any(c.name != "VTIMEZONE" for cal in place.document.components("VCALENDAR") for c in cal.components()):
        call.workspace.write(place.path, place.document.render())
    else:
        call.workspace.delete(place.path)
    return result


def _set_due(todo: Component, document: Component, at: dt.datetime) -> None:
    """Move DUE, and DTSTART where there is one, to `at`; an all-day task stays one when `at` is midnight."""
    due, start = todo.line("DUE"), todo.line("DTSTART")
    model = due or start
    was = ical.read_time(model, document) if model is not None else at
    when: When = at if isinstance(was, dt.datetime) or at.time() != dt.time() else at.date()
    if start is not None:
        todo.put(ical.line_like(start, "DTSTART", when, document))
    if due is not None:
        todo.put(ical.line_like(due, "DUE", when, document))
    if start is None and due is None:
        todo.put(ical.time_line("DUE", when, at.tzinfo))


def _count_down(todo: Component, document: Component, following: dt.datetime) -> None:
    """Reduce COUNT in the rule to what is left of it when it goes on from `following`."""
    line = todo.line("RRULE")
    parts = ical.rule_parts(line.value) if line is not None else {}
    if not parts.get("COUNT", "").isdecimal():
        return
    first = todo.line("DTSTART") or todo.line("DUE")
    begun = ical.in_zone(ical.read_time(first, document), following.tzinfo) if first is not None else following
    found = occurrences(document, {0: _without_end(todo)}, begun - dt.timedelta(seconds=1), following)
    parts["COUNT"] = str(max(1, int(parts["COUNT"]) - sum(1 for _ in found)))
    todo.put(new_line("RRULE", ";".join(f"{name}={value}" for name, value in parts.items())))


def _saved(call: CallContext, place: _Place, reminder: ReminderId) -> Reminder:
    ical.stamp(place.todo, call.now)
    try:
        task = _task(0, place.todo, place.document)
        ical.define_zone(place.document, call.now.tzinfo, call.now.year)
        result = _as_reminder(call, reminder, task)
    except ValueError as error:
        raise ToolError(f"the reminder {reminder!r} cannot be changed: {error}") from None
    call.workspace.write(place.path, place.document.render())
    return result


def _as_reminder(call: CallContext, reminder: ReminderId, task: _Task) -> Reminder:
    at = ical.in_zone(task.due, call.now.tzinfo) if task.due is not None else None
    return Reminder(reminder, task.text, at, task.repeat, task.is_done)


TOOLS = (add_reminder, set_timer, find_reminders, complete_reminder, move_reminder, delete_reminder)
