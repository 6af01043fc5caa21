"""Laws of the calendar and contact files: what is read is what was written, and no bytes break a tool."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
from zoneinfo import ZoneInfo

import icalendar
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.errors import ToolError
from hearth.formats.content_lines import escape, new_component, new_line, parse, split_value, unescape
from hearth.formats.tool_signature import to_plain
from hearth.testing import FIXED_NOW, InMemoryWorkspace, make_call
from hearth.tools.pim.calendar import add_event, cancel_event, change_event, find_events, move_event, next_event
from hearth.tools.pim.contacts import change_contact, entities, list_contacts, upcoming_birthdays
from hearth.tools.pim.reminders import complete_reminder, find_reminders, move_reminder
from hearth.types import EmailAddress

ZONE = FIXED_NOW.tzinfo
texts = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t"), max_size=300)
starts = st.datetimes(dt.datetime(1990, 1, 1), dt.datetime(2190, 1, 1), timezones=st.just(ZoneInfo("Europe/Berlin")))

SEED = b"""BEGIN:VCALENDAR\r
VERSION:2.0\r
BEGIN:VTIMEZONE\r
TZID:Own\r
BEGIN:STANDARD\r
DTSTART:19700101T000000\r
TZOFFSETFROM:+0500\r
TZOFFSETTO:+0500\r
END:STANDARD\r
END:VTIMEZONE\r
BEGIN:VEVENT\r
UID:a\r
DTSTART;TZID=Own:20261124T183000\r
DTEND;TZID=Own:20261124T193000\r
RRULE:FREQ=WEEKLY;INTERVAL=1;BYDAY=TU;UNTIL=20271224T183000Z\r
EXDATE;TZID=Own:20261201T183000\r
SUMMARY:Yoga\\, with Anna\r
ATTENDEE;CN="Anna; B":mailto:a@b.c\r
DESCRIPTION:folded\r
  here\r
END:VEVENT\r
BEGIN:VEVENT\r
UID:a\r
RECURRENCE-ID;TZID=Own:20261208T183000\r
DTSTART;TZID=Own:20261209T183000\r
DURATION:PT1H\r
END:VEVENT\r
BEGIN:VTODO\r
UID:t\r
DTSTART:20261121T080000\r
DUE:20261121T080000\r
RRULE:FREQ=DAILY;COUNT=5\r
SUMMARY:pills\r
END:VTODO\r
END:VCALENDAR\r
"""
CARD = b"""BEGIN:VCARD\r
VERSION:3.0\r
UID:1\r
FN:Zo\xc3\xab M\xc3\xbcller\r
N:M\xc3\xbcller;Zo\xc3\xab;;;\r
item1.EMAIL;type=INTERNET;type=HOME:old@x.org\r
NOTE;ENCODING=QUOTED-PRINTABLE:My dentist=\r
 x\r
BDAY:1985-02-28\r
ADR;TYPE=HOME:;;Main\\, St;B;;1;D\r
END:VCARD\r
"""
ODD = (
    *(b":", b";", b"\r\n", b"\r", b"\n ", b"=", b"\\", b'"', b"\xff", b"\0", b"9999", b"INTERVAL=0", b"FREQ=SECONDLY"),
    *(b"END:VEVENT\r\n", b"BEGIN:X\r\n", b"00000000", b"COUNT=", b"20261124T183000", b"RRULE:FREQ=DAILY\r\n"),
)
pieces = st.one_of(st.binary(max_size=8), st.sampled_from(ODD))
edits = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 12), pieces), min_size=1, max_size=5)


def edited(data: bytes, changes: list[tuple[float, int, bytes]]) -> bytes:
    for place, n_removed, piece in changes:
        at = int(place * len(data))
        data = data[:at] + piece + data[at + n_removed :]
    return data


@given(edits)
def test_a_file_that_can_be_read_is_written_back_byte_for_byte(changes: list[tuple[float, int, bytes]]) -> None:
    for seed in (SEED, CARD):
        data = edited(seed, changes)
        try:
            document = parse(data)
        except ValueError:
            continue
        assert document.render() == data


@given(texts, texts)
def test_text_survives_escaping_and_folding(text: str, name: str) -> None:
    line = new_line("SUMMARY", escape(text), {"CN": name.strip()})
    (read,) = parse(new_component("X", line).render()).components()[0].lines()
    assert read.text() == text.replace("\r\n", "\n").replace("\r", "\n")
    assert unescape(escape(text)) == read.text()
    assert all(len(part) <= 75 for part in line.raw.split(b"\r\n"))


@given(st.lists(texts, min_size=1, max_size=6))
def test_structured_values_split_as_they_were_joined(parts: list[str]) -> None:
    for separator in ";,":
        assert split_value(separator.join(escape(part) for part in parts), separator) == parts


@given(texts, texts, starts, st.integers(1, 10_000))
@settings(max_examples=60)
def test_an_added_event_is_found_and_read_alike_by_another_library(
    title: str, place: str, start: dt.datetime, n_minutes: int
) -> None:
    workspace = InMemoryWorkspace()
    try:
        event = add_event(
            make_call(workspace=workspace), title or "x", start, length=dt.timedelta(minutes=n_minutes), place=place
        )
    except ToolError:
        assert workspace.list() == ()
        return
    day = dt.timedelta(days=1)
    assert find_events(make_call(workspace=workspace), start=event.start - day, end=event.end + day) == [event]
    (read,) = icalendar.Calendar.from_ical(workspace.read(workspace.list()[0])).events
    whole_day = not isinstance(read.start, dt.datetime)
    first, last = (dt.datetime.combine(d, dt.time(), ZONE) if whole_day else d for d in (read.start, read.end))
    assert (event.start, event.end) == (first, last)
    assert str(read["SUMMARY"]) == event.title


@given(edits)
@settings(max_examples=100)
def test_no_bytes_break_a_tool(changes: list[tuple[float, int, bytes]]) -> None:
    files = {"calendar/x.ics": SEED, "reminders/x.ics": SEED, "contacts/x.vcf": CARD}
    workspace = InMemoryWorkspace({path: edited(data, changes) for path, data in files.items()})
    call = make_call(workspace=workspace)
    moment = dt.datetime(2026, 12, 5, 15, tzinfo=ZONE)
    events = find_events(call, "", FIXED_NOW, moment + dt.timedelta(days=30))
    reminders, people = find_reminders(call), list_contacts(call)
    for found in (events, reminders, people, entities(workspace), upcoming_birthdays(call)):
        json.dumps(to_plain(found), ensure_ascii=False).encode()
    for tool, arguments in (
        (next_event, {}),
        *((move_event, {"event": e.id, "start": moment}) for e in events[:2]),
        *((change_event, {"event": e.id, "place": "Lake", "repeat": "weekly"}) for e in events[:2]),
        *((cancel_event, {"event": e.id}) for e in events[:2]),
        (move_event, {"event": "a", "start": moment}),
        *((complete_reminder, {"reminder": r.id}) for r in reminders[:2]),
        *((move_reminder, {"reminder": r.id, "at": moment}) for r in reminders[:2]),
        *((change_contact, {"contact": c.id, "email": EmailAddress("a@b.org")}) for c in people[:2]),
    ):
        with contextlib.suppress(ToolError):
            json.dumps(to_plain(tool.call(arguments, call)), ensure_ascii=False).encode()
