"""Times, time zones and repetition of iCalendar components (RFC 5545), over `formats.content_lines`.

A time is read with its meaning kept: a `date` for a whole day, an aware `datetime` for a moment, a naive one for a
floating time (the same wall clock everywhere). `in_zone` turns any of them into the owner's zone. Not covered: rules
that repeat more often than daily are refused (one line could stand for millions of occurrences).
"""

from __future__ import annotations

import datetime as dt
import functools
import hashlib
import itertools
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar, cast, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from hearth import patterns as re
from hearth.errors import ToolError, Unreadable
from hearth.formats.bounded_reading import Bounds, read_bounded
from hearth.formats.content_lines import Component, Line, new_component, new_line, parse
from hearth.formats.tool_signature import parse_duration

if TYPE_CHECKING:
    import icalendar


_Read = TypeVar("_Read")
When = dt.date | dt.datetime
"""A whole day, or a moment (aware) or wall-clock time (naive)."""

MIN_YEAR, MAX_YEAR = 1900, 2200
MAX_TIMES_A_DAY = 24
"""Most occurrences that the rule of one event may have in a day."""
MAX_EXPANDED = 20_000
"""Most occurrences of one series that are looked at for one question."""
MAX_ZONE_BYTES = 64_000
"""Most bytes of a time zone that a file defines for itself; whole histories of real zones have some 10,000."""
FIRST_YEAR_OF_SERIES = "1583"
"""First year of the Gregorian calendar; a series since the year 26 would be a mistake in a file, and slow."""
Repeat = Literal[
    "daily", "every 2 days", "every 3 days", "every 4 days", "every 5 days", "every 10 days", "on weekdays",
    "on weekends", "weekly", "every 2 weeks", "every 3 weeks", "every 4 weeks", "every 5 weeks", "every 6 weeks",
    "every 8 weeks", "every 12 weeks", "monthly", "every 2 months", "every 3 months", "every 4 months",
    "every 6 months", "yearly", "every 2 years", "every 5 years", "every 10 years",
]  # fmt: skip
RepeatOrNot = Literal["none", Repeat]
REPEATS: tuple[str, ...] = get_args(RepeatOrNot)
_WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_DAY_SETS = {"on weekdays": _WEEKDAYS[:5], "on weekends": _WEEKDAYS[5:]}
_UNITS = {"DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}
RECURRENCE = ("RRULE", "RDATE", "EXDATE", "EXRULE")

# ── Reading times ─────────────────────────────────────────────────────────────────────────────────────────

_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z)?)?\Z")
TIMES = re.compile(r"[12]\d{7}(T\d{6}Z?)?(,[12]\d{7}(T\d{6}Z?)?){0,500}\Z")
PLAIN_RULE = re.compile(
    r"FREQ=(DAILY|WEEKLY|MONTHLY|YEARLY)"
    r"(;(INTERVAL=\d{1,4}|COUNT=\d{1,4}|UNTIL=\d{8}(T\d{6}Z?)?|WKST=(MO|TU|WE|TH|FR|SA|SU)|BYSETPOS=-?1"
    r"|BYDAY=[+-]?[1-5]?(MO|TU|WE|TH|FR|SA|SU)(,[+-]?[1-5]?(MO|TU|WE|TH|FR|SA|SU)){0,13}"
    r"|BYMONTHDAY=-?\d{1,2}(,-?\d{1,2}){0,30}|BYMONTH=\d{1,2}(,\d{1,2}){0,11}|BYHOUR=\d{1,2}(,\d{1,2}){0,3}"
    r"|BYMINUTE=\d{1,2}|BYSECOND=\d{1,2})){0,9}\Z"
)
"""The rules that people's calendars are full of, whose expansion is known to end soon."""


def read_time(line: Line, document: Component) -> When:
    """Return the (first) time of a property. Raises: ValueError."""
    return times(line, document)[0]


def times(line: Line, document: Component) -> list[When]:
    """Return every time of a property such as EXDATE; of a period, its start. Raises: ValueError."""
    zone = zone_of(line.parameter("TZID"), document) if line.params else None
    return [read_text(text.strip().partition("/")[0], zone) for text in line.value.split(",")]


def read_text(text: str, zone: dt.tzinfo | None) -> When:
    """Return the time that stands there, in `zone` unless it is in UTC. Raises: ValueError."""
    match = _TIME.match(text)
    if match is None:
        raise ValueError(f"{text[:40]!r} is not an iCalendar time; expected one such as 20261120T183000Z")
    year, month, day, hour, minute, second, utc = match.groups()
    if hour is None:
        return dt.date(int(year), int(month), int(day))
    tzinfo = dt.UTC if utc else zone
    return dt.datetime(
        int(year), int(month), int(day), int(hour), int(minute), min(int(second), 59), tzinfo=tzinfo
    )  # a leap second has no datetime


def zone_of(tzid: str, document: Component) -> dt.tzinfo | None:
    """Return the zone that TZID means in this file; None when it names none (read as floating)."""
    if not tzid:
        return None
    zone = named_zone(tzid)
    if zone is not None:
        return zone
    for root in document.components("VCALENDAR"):
        for component in root.components("VTIMEZONE"):
            if component.text("TZID") == tzid:
                check_zone(component)
                return _defined_zone(component.render())
    return None


def check_zone(vtimezone: Component) -> None:
    """Check a zone that a file defines. Raises: ValueError: It is too large, or changes more often than zones do."""
    n_bytes = sum(len(line.raw) for part in (vtimezone, *vtimezone.components()) for line in part.lines())
    if n_bytes > MAX_ZONE_BYTES:
        raise ValueError(f"its time zone is defined in {n_bytes:,} bytes; expected at most {MAX_ZONE_BYTES:,}")
    for observance in vtimezone.components():
        for line in observance.lines("RRULE"):
            if rule_parts(line.value).get("FREQ", "").upper() not in ("YEARLY", "MONTHLY"):
                raise ValueError(f"its time zone changes by {line.value[:60]!r}; expected a yearly rule")


@functools.lru_cache(maxsize=512)
def named_zone(tzid: str) -> ZoneInfo | None:
    """Return a zone by IANA name, also behind a vendor's prefix (`/mozilla.org/20050126_1/Europe/Berlin`), or Windows
    name."""
    parts = tzid.strip("/").split("/")
    for name in dict.fromkeys((tzid, "/".join(parts[-2:]), "/".join(parts[-3:]))):
        try:
            return ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            continue
    from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON  # heavy; only odd files need it

    return ZoneInfo(WINDOWS_TO_OLSON[tzid]) if tzid in WINDOWS_TO_OLSON else None


@functools.lru_cache(maxsize=64)
def _defined_zone(vtimezone: bytes) -> dt.tzinfo | None:
    import icalendar  # heavy; only files with a zone of their own need it

    plain = _plain_zone(parse(vtimezone).components()[0])
    if plain is None:
        return None
    try:
        timezone = cast(icalendar.Timezone, icalendar.Timezone.from_ical(plain))
        return cast(dt.tzinfo, timezone.to_tz(lookup_tzid=False))
    except Exception:  # a third-party parser on foreign bytes: whatever it raises, the zone is unknown
        return None


_OF_A_ZONE = {
    "DTSTART": TIMES,
    "RDATE": TIMES,
    "TZOFFSETFROM": re.compile(r"[+-]\d{4}(\d\d)?\Z"),
    "TZOFFSETTO": re.compile(r"[+-]\d{4}(\d\d)?\Z"),
    "RRULE": PLAIN_RULE,
}


def _plain_zone(vtimezone: Component) -> bytes | None:
    """Return the definition of a zone anew, with nothing in it but what was recognised; None where it has more."""
    written = [new_line("TZID", "X")]
    observances: list[Component] = []
    for observance in vtimezone.components():
        lines = [line for line in observance.lines() if line.name in _OF_A_ZONE]
        if observance.name not in ("STANDARD", "DAYLIGHT") or any(
            _OF_A_ZONE[x.name].match(x.value) is None for x in lines
        ):
            return None
        observances.append(new_component(observance.name, *(new_line(line.name, line.value) for line in lines)))
    return new_component("VTIMEZONE", *written, *observances).render()


def in_zone(when: When, zone: dt.tzinfo | None) -> dt.datetime:
    """Return `when` in `zone`: a day at its midnight, a floating time unchanged. Raises: ValueError: out of range
    there."""
    if not isinstance(when, dt.datetime):
        return dt.datetime.combine(when, dt.time(), zone)
    if when.tzinfo is None:
        return when.replace(tzinfo=zone)
    try:
        return when.astimezone(zone)
    except OverflowError:
        raise ValueError(f"{when.isoformat()} cannot be said in the owner's time zone") from None


def span(component: Component, document: Component) -> tuple[When, When]:
    """Return start and end of an event as written; without an end, a day lasts a day and a moment has no length.

    Raises:
        ValueError: No start, or a time that cannot be read.
    """
    first = component.line("DTSTART")
    if first is None:
        raise ValueError("an event without DTSTART")
    start = read_time(first, document)
    last = component.line("DTEND")
    length = component.line("DURATION")
    if last is not None:
        end = read_time(last, document)
        if isinstance(start, dt.datetime) != isinstance(end, dt.datetime):
            raise ValueError("DTSTART and DTEND are not both days or both times")
        return start, end
    if length is not None:
        return start, start + _length(length.value)
    return start, start if isinstance(start, dt.datetime) else start + dt.timedelta(days=1)


def _length(text: str) -> dt.timedelta:
    return parse_duration(text.strip().lstrip("+").upper())


# ── Writing times ─────────────────────────────────────────────────────────────────────────────────────────


def _compact(when: When) -> str:
    """Return `20261120` or `20261120T183000`; `strftime` does not pad years below 1000."""
    text = when.isoformat()[:19] if isinstance(when, dt.datetime) else when.isoformat()
    return text.replace("-", "").replace(":", "")


def time_line(name: str, when: When, zone: dt.tzinfo | None) -> Line:
    """Return a property with a time: a day, a floating time, or a moment in `zone` if that has an IANA name, else in
    UTC."""
    if not isinstance(when, dt.datetime):
        return new_line(name, _compact(when), {"VALUE": "DATE"})
    if when.tzinfo is None:
        return new_line(name, _compact(when))
    key = zone.key if isinstance(zone, ZoneInfo) else ""
    if key and key != "UTC":
        return new_line(name, _compact(when.astimezone(zone)), {"TZID": key})
    return new_line(name, _compact(when.astimezone(dt.UTC)) + "Z")


def mail_of(user: Line) -> str:
    """Return the e-mail address of an ATTENDEE or ORGANIZER: of its `mailto:`, else the one that servers which name
    people by paths give beside it (RFC 7986, section 6.2); empty where there is none."""
    value = user.value.strip()
    is_mail = value[:7].lower() == "mailto:"
    address = (value[7:] if is_mail else user.parameter("EMAIL")).strip()
    return address if is_mail or "@" in address else ""


def user_said(user: Line) -> str:
    """Return how an ATTENDEE or ORGANIZER is told from others: the e-mail address, else the name and what else it is
    called by, such as a phone number."""
    name, value = user.parameter("CN").strip(), user.value.strip()
    return mail_of(user) or (f"{name} ({value})" if name and value else name or value) or "unknown"


def line_like(old: Line, name: str, when: When, document: Component) -> Line:
    """Return another time, in the zone (or floating, or as a day) that the property `old` was written in.

    A moment replaces a day in its own zone, and a floating time by its wall clock.
    """
    was = read_time(old, document)
    if not isinstance(when, dt.datetime) or not isinstance(was, dt.datetime):
        return time_line(name, when, when.tzinfo if isinstance(when, dt.datetime) else None)
    if was.tzinfo is None or when.tzinfo is None:
        return new_line(name, _compact(when))
    if old.value.endswith("Z"):
        return new_line(name, _compact(when.astimezone(dt.UTC)) + "Z")
    return new_line(name, _compact(when.astimezone(was.tzinfo)), {"TZID": old.parameter("TZID")})


def renamed(line: Line, name: str) -> Line:
    """Return the same time under another property name."""
    params = {key: line.parameter(key) for key in ("TZID", "VALUE") if line.parameter(key)}
    return new_line(name, line.value, params)


def new_calendar(year: int, zone: dt.tzinfo | None, *components: Component) -> Component:
    """Return a document with a VCALENDAR around `components`, and the VTIMEZONE of `zone` (from `year` on) if they use
    it."""
    calendar = new_component(
        "VCALENDAR", new_line("VERSION", "2.0"), new_line("PRODID", "-//Hearth//hearth-agent//EN"), *components
    )
    document = Component(items=[calendar])
    define_zone(document, zone, year)
    return document


def define_zone(document: Component, zone: dt.tzinfo | None, year: int) -> None:
    """Add the VTIMEZONE of `zone` to the file if its times name it and it is not there yet."""
    key = zone.key if isinstance(zone, ZoneInfo) else ""
    for calendar in document.components("VCALENDAR"):
        known = {component.text("TZID") for component in calendar.components("VTIMEZONE")}
        used = any(line.parameter("TZID") == key for item in calendar.components() for line in item.lines())
        if key and used and key not in known:
            place = next(i for i, item in enumerate(calendar.items) if isinstance(item, Component))
            calendar.items.insert(place, parse(_vtimezone(key, year)).components()[0])


@functools.lru_cache(maxsize=16)
def _vtimezone(key: str, year: int) -> bytes:
    import icalendar  # heavy; only writing needs it

    first, last = dt.date(max(year - 1, 1970), 1, 1), dt.date(max(year, 1970) + 11, 1, 1)
    zone = icalendar.Timezone.from_tzinfo(ZoneInfo(key), key, first_date=first, last_date=last)
    zone.pop("COMMENT", None)
    return bytes(zone.to_ical())


def stamp(component: Component, now: dt.datetime) -> None:
    """Mark a changed component: DTSTAMP and LAST-MODIFIED now, SEQUENCE one higher."""
    utc = f"{now.astimezone(dt.UTC):%Y%m%dT%H%M%SZ}"
    component.put(new_line("DTSTAMP", utc))
    component.put(new_line("LAST-MODIFIED", utc))
    sequence = component.text("SEQUENCE")
    component.put(new_line("SEQUENCE", str(int(sequence) + 1 if sequence.isdecimal() else 1)))


def checked_moment(when: dt.datetime, what: str, zone: dt.tzinfo | None) -> dt.datetime:
    """Return `when` in the owner's zone. Raises: ToolError: a year no calendar keeps."""
    if not MIN_YEAR < when.year < MAX_YEAR:
        raise ToolError(
            f"{what} {when.isoformat()!r} is out of range; expected a year between {MIN_YEAR} and {MAX_YEAR}"
        )
    return when.replace(tzinfo=zone) if when.tzinfo is None else when.astimezone(zone)


# ── Repetition ────────────────────────────────────────────────────────────────────────────────────────────


def rule_for(repeat: str, start: dt.date) -> str:
    """Return the RRULE of one of `REPEATS`; in months that lack the day it means their last one. Empty for `none`."""
    if repeat == "none":
        return ""
    if repeat in _DAY_SETS:
        return f"FREQ=WEEKLY;BYDAY={','.join(_DAY_SETS[repeat])}"
    rule = f"FREQ={repeat.upper()}"
    if repeat.startswith("every "):
        _, interval, units = repeat.split()
        freq = next(freq for freq, unit in _UNITS.items() if f"{unit}s" == units)
        rule, repeat = f"FREQ={freq};INTERVAL={interval}", freq.lower()
    days = ",".join(str(day) for day in range(28, start.day + 1))
    if repeat == "monthly" and start.day > 28:
        return f"{rule};BYMONTHDAY={days};BYSETPOS=-1"
    if repeat == "yearly" and (start.month, start.day) == (2, 29):
        return f"{rule};BYMONTH=2;BYMONTHDAY={days};BYSETPOS=-1"
    return rule


def moved_rule(rule: str, before: When, after: When, delta: dt.timedelta) -> str:
    """Return the rule of a series whose start moved from `before` to `after`. Raises: ToolError: it fits one day
    only."""
    parts = rule_parts(rule)
    freq = parts.get("FREQ", "").lower()
    limits = {name: value for name, value in parts.items() if name.startswith("BY")}
    if limits and before.timetuple()[:3] != after.timetuple()[:3]:
        own = rule_parts(rule_for(freq, before))
        if limits == {name: value for name, value in own.items() if name.startswith("BY")}:
            parts = {name: value for name, value in parts.items() if name not in limits}
            parts |= rule_parts(rule_for(freq, after))
        elif freq == "weekly" and limits == {"BYDAY": _WEEKDAYS[before.weekday()]}:
            parts["BYDAY"] = _WEEKDAYS[after.weekday()]
        else:
            raise ToolError(
                f"the series repeats by {rule!r}, which fits its day only; move one occurrence of it instead"
            )
    elif not limits and freq in ("monthly", "yearly"):
        parts |= rule_parts(rule_for(freq, after))
    if "UNTIL" in parts:
        parts["UNTIL"] = shifted(parts["UNTIL"], delta)
    return ";".join(f"{name}={value}" for name, value in parts.items())


def repeat_of(component: Component) -> str:
    """Return how a component repeats: one of `REPEATS`, `every 5 weeks`, or `on other days` for a list of dates."""
    line = component.line("RRULE")
    if line is None:
        return "on other days" if component.line("RDATE") is not None else "none"
    parts = rule_parts(line.value)
    interval, freq = parts.get("INTERVAL", "1"), parts.get("FREQ", "").upper()
    days = set(parts.get("BYDAY", "").split(","))
    if interval == "1" and freq in ("DAILY", "WEEKLY"):
        for name, those in _DAY_SETS.items():
            if days == set(those):
                return name
    if interval == "1" or freq not in _UNITS:
        return freq.lower() or "none"
    return f"every {interval} {_UNITS[freq]}s"


def rule_parts(rule: str) -> dict[str, str]:
    return {name.upper(): value for name, _, value in (part.partition("=") for part in rule.split(";")) if name}


def repeats(component: Component) -> bool:
    return any(item.name in ("RRULE", "RDATE") for item in component.lines())


def components_of(document: Component, name: str) -> list[Component]:
    """List the components of one kind (VEVENT, VTODO) in a file's calendars."""
    return [component for calendar in document.components("VCALENDAR") for component in calendar.components(name)]


def read_each(
    data: bytes, name: str, read: Callable[[int, Component, Component], _Read]
) -> tuple[tuple[_Read, ...], str]:
    """Read each component of one kind; also say why a part of the file, or all of it, could not be read."""
    try:
        document = parse(data)
    except ValueError as error:
        return (), str(error)
    found: list[_Read] = []
    fault = ""
    for index, component in enumerate(components_of(document, name)):
        try:
            found.append(read(index, component, document))
        except (ValueError, OverflowError) as error:
            fault = fault or str(error)
    return tuple(found), fault


SENT_BY_OTHERS = "X-HEARTH-INVITED"
"""Marks an event that came in as somebody's invitation, in the place of the calendar's `METHOD`, which is not kept."""


def is_sent(document: Component) -> bool:
    """Return whether a calendar is a message to somebody (RFC 5546) and no copy of a calendar."""
    methods = (calendar.text("METHOD").strip().upper() for calendar in document.components("VCALENDAR"))
    return any(method not in ("", "PUBLISH") for method in methods)


def check_rules(component: Component) -> None:
    """Check the rules of a component. Raises: ValueError: A rule whose expansion would never end, or with too many
    occurrences."""
    first = component.line("DTSTART") or component.line("DUE")
    if repeats(component) and first is not None and first.value[:4] < FIRST_YEAR_OF_SERIES:
        raise ValueError(f"it repeats since the year {first.value[:4]!r}; expected {FIRST_YEAR_OF_SERIES} or later")
    for line in component.lines():
        if line.name in ("RRULE", "EXRULE"):
            check_rule(line.value)


def check_rule(rule: str) -> None:
    """Raises: ValueError: Its expansion would never end, or has too many occurrences."""
    parts = rule_parts(rule)
    interval = parts.get("INTERVAL", "1")
    if parts.get("FREQ", "").upper() not in _UNITS:
        raise ValueError(f"it repeats by {rule[:60]!r}; Hearth reads daily, weekly, monthly and yearly rules")
    if not (interval.isdecimal() and len(interval) <= 6 and 1 <= int(interval) <= 100_000):
        raise ValueError(f"it repeats by {rule[:60]!r}; expected INTERVAL to be a whole number above 0")
    per_day = math.prod(len(parts.get(name, "").split(",")) for name in ("BYHOUR", "BYMINUTE", "BYSECOND"))
    if per_day > MAX_TIMES_A_DAY:
        raise ValueError(f"it takes place {per_day:,} times a day; expected at most {MAX_TIMES_A_DAY}")
    if not _has_a_day(parts):
        raise ValueError(f"it repeats by {rule[:60]!r}, on a day that never comes")


def _check_as_read(calendar: icalendar.Calendar) -> None:
    """Check the rules as the parser that expands them read them: of damaged lines it makes something else than
    `content_lines` does. Raises: ValueError: As `check_rules`."""
    for component in calendar.walk():
        for name in ("RRULE", "EXRULE"):
            found = component.get(name, [])
            for rule in found if isinstance(found, list) else [found]:
                check_rule(rule.to_ical().decode("utf-8", "replace"))
        start = component.get("DTSTART")
        is_series = component.name in ("VEVENT", "VTODO") and ("RRULE" in component or "RDATE" in component)
        if is_series and start is not None and start.dt.year < int(FIRST_YEAR_OF_SERIES):
            raise ValueError(f"it repeats since the year {start.dt.year}; expected {FIRST_YEAR_OF_SERIES} or later")


def _has_a_day(parts: Mapping[str, str]) -> bool:
    """Return whether some month of a rule has a day of it; looking for one that has not would take all years to 9999.

    Raises:
        ValueError: Its months or days are no numbers.
    """
    months = [int(month) for month in parts.get("BYMONTH", "").split(",") if month] or [1]
    days = [abs(int(day)) for day in parts.get("BYMONTHDAY", "").split(",") if day] or [1]
    lengths = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}
    return any(1 <= month <= 12 and 1 <= day <= lengths.get(month, 31) for month in months for day in days)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One occurrence of a component."""

    number: int
    """Number of the component it comes from."""
    start: When
    end: When
    recurrence: When
    """Time by the rule, before anybody moved it."""


def expanded(data: bytes, kind: str, start: dt.datetime, end: dt.datetime | None) -> Iterator[Occurrence]:
    """Expand the one series of a file, whose components have numbers; `series.occurrences` decides in which process.

    Raises:
        ValueError: The series cannot be expanded.
    """
    import icalendar  # heavy; only files with repetition need them
    import recurring_ical_events

    class Times(recurring_ical_events.Occurrence):  # type: ignore[misc]  # the library has no types
        """An occurrence as its times: a copy of the whole component for each takes three times as long."""

        def as_component(self, keep_recurrence_attributes: bool) -> Occurrence:  # noqa: ARG002  # as the library calls it
            component = self._adapter._component
            moved = component.get("RECURRENCE-ID")
            recurrence = moved.dt if moved is not None else self.start
            return Occurrence(int(component["X-HEARTH-INDEX"]), self.start, self.end, recurrence)

    try:
        calendar = icalendar.Calendar.from_ical(data)
        _check_as_read(calendar)
        query = recurring_ical_events.of(
            calendar, components=[recurring_ical_events.ComponentsWithName(kind, occurrence=Times)]
        )
        found = query.after(start) if end is None else query.between(start, end)
        yield from itertools.islice(found, MAX_EXPANDED)
    except Exception as error:  # a third-party parser on foreign bytes: whatever it raises, the file is unreadable
        raise ValueError(f"its repetition cannot be read ({str(error)[:120]})") from None


def occurrence_pieces(data: bytes, options: Mapping[str, str]) -> Iterator[bytes]:
    """Yield the occurrences of a series as JSON, in the process for strangers' bytes; moments are in UTC.

    Raises:
        Unreadable: The series cannot be expanded.
    """
    zone = ZoneInfo(options["zone"]) if options["zone"] else None
    start, *ends = (dt.datetime.fromisoformat(text) for text in (options["start"], options["end"]) if text)
    end = ends[0].astimezone(zone) if ends else None
    found = expanded(data, options["kind"], start.astimezone(zone), end)
    try:
        listed = [
            (one.number, *(_in_utc(when) for when in (one.start, one.end, one.recurrence)))
            for one in itertools.islice(found, int(options["n_most"]))
        ]
    except ValueError as error:
        raise Unreadable(str(error)) from None
    yield json.dumps(listed).encode()


def _in_utc(when: When) -> str:
    if isinstance(when, dt.datetime) and when.tzinfo is not None:
        return f"{_compact(when.astimezone(dt.UTC))}Z"
    return _compact(when)


def recurrence_text(recurrence: When, series_start: When) -> str:
    """Return the occurrence's name within its series: its time by the rule, in the series' own zone."""
    if not isinstance(series_start, dt.datetime) or not isinstance(recurrence, dt.datetime):
        return _compact(recurrence)[:8]
    if series_start.tzinfo is not None and recurrence.tzinfo is not None:
        recurrence = recurrence.astimezone(series_start.tzinfo)
    return _compact(recurrence)


def recurrence_time(text: str, series_start: When) -> When:
    """Undo `recurrence_text`. Raises: ValueError."""
    when = read_text(text, series_start.tzinfo if isinstance(series_start, dt.datetime) else None)
    if isinstance(when, dt.datetime) != isinstance(series_start, dt.datetime):
        raise ValueError(f"{text!r} is not an occurrence of a series that starts {series_start}")
    return when


def shifted(text: str, delta: dt.timedelta) -> str:
    """Return a time as written (in UNTIL), moved by `delta`. Raises: ValueError."""
    return _compact(read_text(text, None) + delta) + ("Z" if text.endswith("Z") else "")


# ── Series ─────────────────────────────────────────────────────────────────────────────────────────────
# Expands what repeats: the times of a series, with its exceptions and the occurrences that were changed.
# Two libraries do the expanding. Of a plain series (`ical.PLAIN_RULE`, times, names of zones) they are given in this
# process what was recognised here, written anew, and nothing else of the file. What is not plain is given to them in
# the process for strangers' bytes (`formats.bounded_reading`).
# Not covered: rules that repeat more often than daily (`ical.check_rules` refuses them).


_FIRST_EXPANDED = 100
"""So many are asked for at first where a series goes on without end; hardly anybody wants more."""
MAX_COMPONENTS = 1_000
_SINCE = "199"
"""A plain series that repeats each day or week begins later: an older one takes long to come to the present."""
_READER = "hearth.tools.pim.ical:occurrence_pieces"
_BOUNDS = Bounds(cpu_s=2, wait_s=20, n_most_bytes=4_000_000)
_PLAIN = {
    "DTSTART": TIMES,
    "DTEND": TIMES,
    "DUE": TIMES,
    "RDATE": TIMES,
    "EXDATE": TIMES,
    "RECURRENCE-ID": TIMES,
    "RRULE": PLAIN_RULE,
    "DURATION": re.compile(r"\+?P(\d{1,4}W|(\d{1,4}D)?(T(\d{1,4}H)?(\d{1,4}M)?(\d{1,4}S)?)?)\Z"),
    "SEQUENCE": re.compile(r"\d{1,6}\Z"),
}
_VALUES = ("DATE", "DATE-TIME")


@dataclass(slots=True)
class Effort:
    """How long one question may yet wait for series that are not plain; the plain ones always answer."""

    left_s: float = 4.0


def occurrences(
    document: Component,
    components: Mapping[int, Component],
    start: dt.datetime,
    end: dt.datetime | None,
    effort: Effort | None = None,
) -> Iterator[Occurrence]:
    """Expand a series: its rule, exceptions and overrides.

    Args:
        document: The file, for its zones.
        components: The series and its overrides (one kind, one uid), by the number that the result names them by.
        start: First moment of interest; aware.
        end: Occurrences that overlap start to end; None for all that end after `start`, in order, one at a time.
        effort: What the question's other series have left of its time; None for a question about this one alone.
    Raises:
        ValueError: The series cannot be expanded, or not in the time that is left.
    """
    for component in components.values():
        check_rules(component)
    kind = next(iter(components.values())).name
    plain = _plain(components)
    if plain is not None:
        return expanded(plain, kind, start, end)
    data = _numbered(document, components)
    asked = _Question(data, kind, start, end, effort or Effort(), frozenset(components))
    return _expanded_elsewhere(asked)


# ── What is plain ─────────────────────────────────────────────────────────────────────────────────────────


def _plain(components: Mapping[int, Component]) -> bytes | None:
    """Return a file of these components with nothing in it but what was recognised; None where that is not all."""
    if len(components) > MAX_COMPONENTS:
        return None
    written: list[Component] = []
    for number, component in components.items():
        lines = [_plain_line(line) for line in component.lines() if line.name in _PLAIN or line.name == "EXRULE"]
        if None in lines or _is_long_ago(component):
            return None
        kept = [line for line in lines if line is not None]
        named = new_line("UID", "x"), new_line("X-HEARTH-INDEX", str(number))
        written.append(new_component(component.name, *named, *kept))
    return new_component("VCALENDAR", *written).render()


def _is_long_ago(component: Component) -> bool:
    often = any(line.value.startswith(("FREQ=DAILY", "FREQ=WEEKLY")) for line in component.lines("RRULE"))
    return often and any(line.value < _SINCE for line in component.lines("DTSTART"))


def _plain_line(line: Line) -> Line | None:
    pattern = _PLAIN.get(line.name)
    if pattern is None or pattern.match(line.value) is None:
        return None
    params = {name: line.parameter(name) for name in ("TZID", "VALUE", "RANGE") if line.params and line.parameter(name)}
    if params.get("VALUE", "DATE") not in _VALUES or params.get("RANGE", "THISANDFUTURE") != "THISANDFUTURE":
        return None
    if "TZID" in params:
        zone = named_zone(params["TZID"])
        if zone is None:
            return None
        params["TZID"] = zone.key
    return new_line(line.name, line.value, params)


# ── What is not ───────────────────────────────────────────────────────────────────────────────────────────


def _numbered(document: Component, components: Mapping[int, Component]) -> bytes:
    """Return a file of these components, each with its number in it, with the zones they use. Its own zone names are
    made unique, since the parser keeps the first definition of a name for all later files."""
    used = {line.parameter("TZID") for component in components.values() for line in component.lines() if line.params}
    zones = [
        zone
        for calendar in document.components("VCALENDAR")
        for zone in calendar.components("VTIMEZONE")
        if zone.text("TZID") in used
    ]
    for zone in zones:
        check_zone(zone)
    data = b"".join(zone.render() for zone in zones)
    for number, component in components.items():
        items = [new_line("X-HEARTH-INDEX", str(number)), *component.items]
        data += Component(component.name, items, component.begin, component.end).render()
    for zone in zones:
        tzid = zone.text("TZID")
        if tzid and named_zone(tzid) is None:
            unique = f"X-{hashlib.sha256(zone.render()).hexdigest()[:16]}".encode()
            name = re.escape(tzid.encode("utf-8", "surrogateescape"))
            data = re.sub(rb'(TZID[=:])"?' + name + rb'"?(?=[\r\n:;])', rb"\g<1>" + unique, data)
    data = re.sub(rb"\r(?!\n)", b"\r\n", data)  # a lone CR ends a line here, but not for that parser
    return b"BEGIN:VCALENDAR\r\n" + data + b"END:VCALENDAR\r\n"


@dataclass(frozen=True, slots=True)
class _Question:
    """What the process for strangers' bytes is asked."""

    data: bytes
    kind: str
    start: dt.datetime
    end: dt.datetime | None
    effort: Effort
    numbers: frozenset[int]
    """Of the components: no answer names another one."""


def _expanded_elsewhere(asked: _Question) -> Iterator[Occurrence]:
    """As `ical.expanded`, in the process for strangers' bytes; moments are in UTC."""
    n_most = _FIRST_EXPANDED if asked.end is None else MAX_EXPANDED
    found = _answer(asked, n_most)
    yield from found
    if len(found) == n_most < MAX_EXPANDED:
        yield from _answer(asked, MAX_EXPANDED)[n_most:]


def _answer(asked: _Question, n_most: int) -> list[Occurrence]:
    """Raises: ValueError."""
    if asked.effort.left_s <= 0:
        raise ValueError("its repetition was not looked at, as that of others took too long")
    zone = asked.start.tzinfo.key if isinstance(asked.start.tzinfo, ZoneInfo) else None
    options = {
        "kind": asked.kind,
        "start": asked.start.isoformat(),
        "end": asked.end.isoformat() if asked.end is not None else "",
        "zone": zone or "",
        "n_most": n_most,
    }
    began = time.monotonic()
    try:
        said = json.loads(read_bounded(_READER, asked.data, _BOUNDS, options))
        return [_occurrence(row, asked.numbers) for row in said[:n_most]]
    except (Unreadable, ValueError, TypeError) as error:
        raise ValueError(f"its repetition cannot be read ({str(error)[:120]})") from None
    finally:
        asked.effort.left_s -= time.monotonic() - began


def _occurrence(said: object, numbers: frozenset[int]) -> Occurrence:
    """Raises: ValueError: It is none."""
    match said:
        case [int(number), str(start), str(end), str(recurrence)] if number in numbers:
            first, last, name = (read_text(text, None) for text in (start, end, recurrence))
            return Occurrence(number, first, last, name)
    raise ValueError("what was read of it are no times")
