from __future__ import annotations

import datetime as dt
import subprocess
import sys
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from hearth.errors import NotFound, ToolError
from hearth.formats.tool_signature import FunctionTool, to_plain
from hearth.protocols import CallContext
from hearth.storage.workspace import Folder
from hearth.testing import FIXED_NOW, InMemoryWorkspace, check_tool, make_call
from hearth.tools.pim import calendar as events
from hearth.tools.pim.calendar import (
    MAX_EVENTS,
    TOOLS,
    Event,
    EventId,
    add_event,
    cancel_event,
    change_event,
    find_events,
    find_free_time,
    move_event,
    next_event,
)
from hearth.types import EmailAddress, Plain, Referent

ZONE = FIXED_NOW.tzinfo


def at(day: int, hour: int = 0, minute: int = 0, month: int = 11, year: int = 2026) -> dt.datetime:
    return dt.datetime(year, month, day, hour, minute, tzinfo=ZONE)


class Home:
    """One owner's folder; every call gets a key of its own."""

    def __init__(self, files: dict[str, str] | None = None, now: dt.datetime = FIXED_NOW) -> None:
        self.workspace = InMemoryWorkspace({f"calendar/{name}": data for name, data in (files or {}).items()}, now)
        self.now = now
        self.n_calls = 0
        self.notices: list[str] = []

    def call(self) -> CallContext:
        self.n_calls += 1
        call = make_call(f"k{self.n_calls}", self.now, self.workspace)
        self.notices = call.notices
        return call

    def text(self, name: str) -> str:
        return self.workspace.read(f"calendar/{name}").decode().replace("\r\n", "\n")


def calendar(*events: str, zones: str = "") -> str:
    body = "".join(f"BEGIN:VEVENT\n{event.strip()}\nEND:VEVENT\n" for event in events)
    return f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//other//EN\n{zones}{body}END:VCALENDAR\n"


def timed(uid: str, title: str, start: str = "20261124T100000Z", extra: str = "") -> str:
    return f"UID:{uid}\nDTSTART:{start}\nDURATION:PT1H\nSUMMARY:{title}\n{extra}"


YOGA = """\
UID:yoga
DTSTART;TZID=Europe/Berlin:20261013T183000
DTEND;TZID=Europe/Berlin:20261013T193000
RRULE:FREQ=WEEKLY;BYDAY=TU
EXDATE;TZID=Europe/Berlin:20261201T183000
SUMMARY:Yoga
X-KEEP;X-P=1:as it is
"""
YOGA_MOVED = """\
UID:yoga
RECURRENCE-ID;TZID=Europe/Berlin:20261208T183000
DTSTART;TZID=Europe/Berlin:20261209T190000
DTEND;TZID=Europe/Berlin:20261209T200000
SUMMARY:Yoga at the lake
"""


def starts(events: list[Event]) -> list[dt.datetime]:
    return [event.start for event in events]


# ── Contracts ─────────────────────────────────────────────────────────────────────────────────────────────

SAMPLES: list[tuple[FunctionTool, dict[str, Plain]]] = [
    (find_events, {"query": "yoga", "start": at(1).isoformat(), "end": at(30).isoformat()}),
    (next_event, {"query": "yoga"}),
    (find_free_time, {"start": at(23).isoformat(), "end": at(24).isoformat(), "length": "PT1H"}),
    (
        add_event,
        {
            "title": "Lunch",
            "start": at(24, 13).isoformat(),
            "end": at(24, 14).isoformat(),
            "place": "Rome",
            "attendees": ["anna@example.org"],
            "repeat": "weekly",
        },
    ),
    (move_event, {"event": "yoga#20261124T183000", "start": at(25, 19).isoformat()}),
    (move_event, {"event": "yoga", "start": at(14, 19, month=10).isoformat()}),
    (change_event, {"event": "yoga#20261124T183000", "place": "Lake", "attendees": ["anna@example.org"]}),
    (change_event, {"event": "single", "title": "Mats", "length": "PT2H", "repeat": "weekly"}),
    (cancel_event, {"event": "yoga#20261124T183000"}),
    (cancel_event, {"event": "single"}),
]


@pytest.mark.parametrize(
    ("tool", "arguments"), SAMPLES, ids=lambda value: getattr(value, "spec", None) and value.spec.name
)
def test_contract(tool: FunctionTool, arguments: dict[str, Plain]) -> None:
    home = Home({"yoga.ics": calendar(YOGA, YOGA_MOVED), "single.ics": calendar(timed("single", "Yoga mat"))})
    check_tool(tool, arguments, home.call())


def test_every_tool_is_described_for_planners() -> None:
    assert [t.spec.name for t in TOOLS] == [
        *("find_events", "next_event", "add_event", "move_event", "change_event", "cancel_event", "find_free_time"),
    ]
    for t in TOOLS:
        assert 2 <= len(t.spec.examples) <= 4
        assert t.spec.answer
        assert t.spec.domain == "calendar"
    changing = {t.spec.name for t in TOOLS if t.spec.effect == "change"}
    assert changing == {"add_event", "move_event", "change_event", "cancel_event"}


def test_the_module_is_light() -> None:
    code = (
        "import sys, hearth.tools.pim.calendar, hearth.tools.pim.reminders, hearth.tools.pim.contacts, hearth.tools.clock\n"
        "print([m for m in ('icalendar', 'recurring_ical_events', 'vobject', 'httpx', 'pydantic') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


# ── Adding ────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_added_event_is_a_file_that_other_programs_read() -> None:
    import icalendar

    home = Home()
    title, place = "Lunch; with, Änna\nsecond line 🎉\\", "Via Roma 1, Köln"
    event = add_event(
        home.call(), title, at(24, 13), length=dt.timedelta(hours=2), place=place, attendees=["anna@example.org"]
    )
    (path,) = home.workspace.list("calendar")
    assert path == f"calendar/{event.id}.ics"
    data = home.workspace.read(path)
    assert data.count(b"\n") == data.count(b"\r\n")
    assert all(len(line) <= 75 for line in data.split(b"\r\n"))
    (read,) = icalendar.Calendar.from_ical(data).events
    assert (str(read["SUMMARY"]), str(read["LOCATION"])) == (title, place)
    assert read.start == at(24, 13)
    assert "DTSTART;TZID=Europe/Berlin:20261124T130000" in data.decode()
    assert read.end == at(24, 15)
    assert "VTIMEZONE" in data.decode()
    assert (event.title, event.place, event.start, event.end) == (title, place, at(24, 13), at(24, 15))
    assert event.attendees == ("anna@example.org",)
    assert "ORGANIZER" not in data.decode(), "nobody is invited"
    assert find_events(home.call()) == [event]


def test_midnight_without_an_end_is_a_whole_day() -> None:
    home = Home()
    event = add_event(home.call(), "Holiday", at(24))
    assert "DTSTART;VALUE=DATE:20261124\nDTEND;VALUE=DATE:20261125\n" in home.text(f"{event.id}.ics")
    assert (event.start, event.end) == (at(24), at(25))
    trip = add_event(home.call(), "Trip", at(24), end=at(27))
    assert "DTEND;VALUE=DATE:20261127\n" in home.text(f"{trip.id}.ics")
    party = add_event(home.call(), "Party", at(24), length=dt.timedelta(hours=3))
    assert (party.start, party.end) == (at(24), at(24, 3))


def test_an_event_lasts_an_hour_unless_said() -> None:
    home = Home()
    assert add_event(home.call(), "Call", at(24, 13, 30)).end == at(24, 14, 30)
    assert add_event(home.call(), "Call", at(24, 13), end=at(24, 13, 10)).end == at(24, 13, 10)
    both = add_event(home.call(), "Call", at(24, 13), end=at(24, 15), length=dt.timedelta(hours=2))
    assert both.end == at(24, 15)


def test_a_length_is_real_time_across_a_clock_change() -> None:
    event = add_event(Home().call(), "Night", at(24, 22, month=10), length=dt.timedelta(hours=8))
    assert event.end == at(25, 5, month=10), "the clock goes back an hour at three"


def test_times_of_another_zone_are_the_same_moment() -> None:
    tokyo = dt.datetime(2026, 11, 24, 21, 0, tzinfo=ZoneInfo("Asia/Tokyo"))
    event = add_event(Home().call(), "Call Kenji", tokyo)
    assert event.start == tokyo
    assert event.start.tzinfo == ZONE


def test_a_zone_without_a_name_is_written_as_utc() -> None:
    now = dt.datetime(2026, 11, 20, 9, 30, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    home = Home(now=now)
    event = add_event(home.call(), "Call", now.replace(hour=15))
    assert "DTSTART:20261120T133000Z\n" in home.text(f"{event.id}.ics")
    assert event.start == now.replace(hour=15)
    assert event.start.utcoffset() == dt.timedelta(hours=2)


def test_a_month_without_that_day_uses_its_last_one() -> None:
    home = Home()
    add_event(home.call(), "Rent", at(31, 9, month=12), repeat="monthly")
    days = [e.start.date() for e in find_events(home.call(), start=at(1, month=12), end=at(1, month=5, year=2027))]
    assert [(d.month, d.day) for d in days] == [(12, 31), (1, 31), (2, 28), (3, 31), (4, 30)]
    add_event(home.call(), "Leap day", at(29, 9, month=2, year=2028), repeat="yearly")
    leaps = find_events(home.call(), "leap", at(1, year=2027), at(1, month=4, year=2030))
    assert [(e.start.year, e.start.day) for e in leaps] == [(2028, 29), (2029, 28), (2030, 28)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"title": ""}, "an event needs a title; say what it is"),
        ({"title": " \n\t"}, "an event needs a title"),
        ({"title": "x" * 1001}, "the title has 1001 characters; expected at most 1000"),
        ({"title": "a\0b"}, r"the title holds the character '\\x00'"),
        ({"place": "x" * 1001}, "the place has 1001 characters"),
        ({"end": at(24, 12)}, "the end 2026-11-24T12:00:00.01:00 is not after the start 2026-11-24T13:00"),
        ({"end": at(24, 13)}, "is not after the start"),
        ({"length": dt.timedelta(0)}, "a length of 0:00:00 is no time; expected more than 0 minutes"),
        ({"length": dt.timedelta(hours=-1)}, "is no time"),
        ({"length": dt.timedelta(days=99999999)}, "a length of 99999999 days is too long"),
        ({"length": dt.timedelta(days=99999)}, "out of range; expected a year between 1900 and 2200"),
        ({"length": dt.timedelta(hours=1), "end": at(24, 16)}, "the end .* and the length 1:00:00 do not agree"),
        ({"start": at(31, 23, month=12, year=9999)}, "the start '9999.*' is out of range; expected a year between"),
        ({"start": at(1, year=1)}, "is out of range"),
        ({"attendees": ["Anna"]}, "'Anna' is not an e-mail address"),
        ({"attendees": [f"a{n}@example.org" for n in range(201)]}, "201 attendees are too many; expected at most 200"),
    ],
)
def test_what_cannot_be_added_says_why_and_writes_nothing(arguments: dict[str, object], message: str) -> None:
    home = Home()
    with pytest.raises(ToolError, match=message):
        add_event.call({"title": "Lunch", "start": at(24, 13)} | arguments, home.call())
    assert home.workspace.list() == ()


def test_the_longest_title_reads_back() -> None:
    home = Home()
    title = ("Äü🎉,;\\" * 200)[:1000]
    assert find_events(home.call(), start=at(1), end=at(30)) == []
    assert add_event(home.call(), title, at(24, 13)).title == title
    assert next_event(home.call()).title == title


# ── Finding ───────────────────────────────────────────────────────────────────────────────────────────────


def test_all_forms_of_time_come_back_in_the_owners_zone() -> None:
    custom = (
        "BEGIN:VTIMEZONE\nTZID:Office\nBEGIN:STANDARD\nDTSTART:19700101T000000\nTZOFFSETFROM:+0530\n"
        "TZOFFSETTO:+0530\nEND:STANDARD\nEND:VTIMEZONE\n"
    )
    home = Home(
        {
            "a.ics": calendar("UID:utc\nDTSTART:20261124T100000Z\nSUMMARY:utc"),
            "b.ics": calendar("UID:floating\nDTSTART:20261124T103000\nDTEND:20261124T110000\nSUMMARY:floating"),
            "c.ics": calendar("UID:day\nDTSTART;VALUE=DATE:20261124\nSUMMARY:day"),
            "d.ics": calendar("UID:iana\nDTSTART;TZID=America/New_York:20261124T040000\nDURATION:PT30M\nSUMMARY:iana"),
            "e.ics": calendar('UID:own\nDTSTART;TZID="Office":20261124T150000\nSUMMARY:own', zones=custom),
            "f.ics": calendar("UID:windows\nDTSTART;TZID=W. Europe Standard Time:20261124T113000\nSUMMARY:windows"),
            "g.ics": calendar(
                "UID:vendor\nDTSTART;TZID=/mozilla.org/20050126_1/Europe/Paris:20261124T114500\nSUMMARY:vendor"
            ),
            "h.ics": calendar("UID:unknown\nDTSTART;TZID=No/Where:20261124T120000\nSUMMARY:unknown"),
        }
    )
    found = {e.title: e for e in find_events(home.call(), start=at(24), end=at(25))}
    assert {title: (e.start, e.end) for title, e in found.items()} == {
        "utc": (at(24, 11), at(24, 11)),
        "floating": (at(24, 10, 30), at(24, 11)),
        "day": (at(24), at(25)),
        "iana": (at(24, 10), at(24, 10, 30)),
        "own": (at(24, 10, 30), at(24, 10, 30)),
        "windows": (at(24, 11, 30), at(24, 11, 30)),
        "vendor": (at(24, 11, 45), at(24, 11, 45)),
        "unknown": (at(24, 12), at(24, 12)),
    }
    assert all(e.start.tzinfo == ZONE for e in found.values())
    assert home.notices == []


def test_a_series_is_expanded_with_exceptions_and_changes() -> None:
    home = Home({"yoga.ics": calendar(YOGA, YOGA_MOVED)})
    found = find_events(home.call(), start=at(17), end=at(20, month=12))
    assert [(e.id, e.title, e.start) for e in found] == [
        ("yoga#20261117T183000", "Yoga", at(17, 18, 30)),
        ("yoga#20261124T183000", "Yoga", at(24, 18, 30)),
        ("yoga#20261208T183000", "Yoga at the lake", at(9, 19, month=12)),
        ("yoga#20261215T183000", "Yoga", at(15, 18, 30, month=12)),
    ]
    assert {e.repeat for e in found} == {"weekly"}


def test_a_series_keeps_its_wall_clock_over_a_clock_change() -> None:
    home = Home({"yoga.ics": calendar(YOGA)})
    found = find_events(home.call(), start=at(20, month=10), end=at(5))
    assert [e.start.hour for e in found] == [18, 18, 18]
    assert [e.start.utcoffset() for e in found] == [dt.timedelta(hours=h) for h in (2, 1, 1)]


def test_without_a_time_a_series_comes_once_the_next_time() -> None:
    home = Home({"yoga.ics": calendar(YOGA, YOGA_MOVED), "x.ics": calendar(timed("x", "Dinner"))})
    assert [(e.title, e.start) for e in find_events(home.call())] == [
        ("Dinner", at(24, 11)),
        ("Yoga", at(24, 18, 30)),
    ]
    assert [e.start for e in find_events(home.call(), "lake")] == [at(9, 19, month=12)]


def test_rdate_hourly_and_ended_series() -> None:
    home = Home(
        {
            "r.ics": calendar(timed("r", "Dates", extra="RDATE:20261126T100000Z,20261128T100000Z")),
            "u.ics": calendar(timed("u", "Ended", "20250101T100000Z", "RRULE:FREQ=DAILY;UNTIL=20250105T100000Z")),
            "c.ics": calendar(timed("c", "Counted", "20261123T100000Z", "RRULE:FREQ=DAILY;COUNT=2")),
            "i.ics": calendar(timed("i", "Fortnight", "20261125T100000Z", "RRULE:FREQ=WEEKLY;INTERVAL=2")),
        }
    )
    found = find_events(home.call(), start=at(20), end=at(11, month=12))
    assert [(e.title, e.start.day) for e in found] == [
        *(("Counted", 23), ("Counted", 24), ("Dates", 24), ("Fortnight", 25), ("Dates", 26), ("Dates", 28)),
        ("Fortnight", 9),
    ]
    assert {e.title: e.repeat for e in found} == {
        "Counted": "daily",
        "Dates": "on other days",
        "Fortnight": "every 2 weeks",
    }


def test_two_files_with_zones_of_one_name_do_not_mix() -> None:
    def office(uid: str, offset: str) -> str:
        zone = (
            f"BEGIN:VTIMEZONE\nTZID:Customized Time Zone\nBEGIN:STANDARD\nDTSTART:19700101T000000\n"
            f"TZOFFSETFROM:{offset}\nTZOFFSETTO:{offset}\nEND:STANDARD\nEND:VTIMEZONE\n"
        )
        event = f"UID:{uid}\nDTSTART;TZID=Customized Time Zone:20261124T120000\nRRULE:FREQ=DAILY;COUNT=2\nSUMMARY:{uid}"
        return calendar(event, zones=zone)

    home = Home({"a.ics": office("a", "+0500"), "b.ics": office("b", "-0500")})
    found = find_events(home.call(), start=at(24), end=at(25))
    assert {e.title: e.start for e in found} == {"a": at(24, 8), "b": at(24, 18)}


@pytest.mark.parametrize(
    ("start", "end", "titles"),
    [
        (None, None, ["today later", "next week"]),
        (at(20), at(21), ["this morning", "today later"]),
        (None, at(19), ["yesterweek"]),
        (None, at(21), ["today later"]),
        (at(21), None, ["next week"]),
        (at(20, 9, 15), at(20, 9, 20), ["this morning"]),
        (at(20, 10), at(20, 10, 30), []),
    ],
)
def test_ranges(start: dt.datetime | None, end: dt.datetime | None, titles: list[str]) -> None:
    home = Home(
        {
            "a.ics": calendar(timed("a", "this morning", "20261120T070000Z", "X:1").replace("PT1H", "PT90M")),
            "b.ics": calendar(timed("b", "today later", "20261120T150000Z")),
            "c.ics": calendar(timed("c", "next week", "20261127T150000Z")),
            "d.ics": calendar(timed("d", "yesterweek", "20261113T150000Z")),
            "e.ics": calendar(timed("e", "in three years", "20291113T150000Z")),
        }
    )
    assert [e.title for e in find_events(home.call(), "", start, end)] == titles


def test_what_is_on_now_is_still_found() -> None:
    home = Home({"a.ics": calendar(timed("a", "now", "20261120T080000Z"))})
    assert [e.title for e in find_events(home.call())] == ["now"]
    with pytest.raises(NotFound):
        next_event(home.call(), "now")


def test_an_end_before_the_start_is_refused() -> None:
    with pytest.raises(ToolError, match=r"the end 2026-11-23.* is not after the start 2026-11-24.*; give a later end"):
        find_events(Home().call(), "", at(24), at(23))
    with pytest.raises(ToolError, match=r"the start '9999-12-31T00:00:00.*' is out of range"):
        find_events(Home().call(), "", dt.datetime(9999, 12, 31, tzinfo=ZONE))


@pytest.mark.parametrize(
    ("query", "n_found"),
    [
        ("dentist", 1),
        ("my DENTIST appointment", 1),
        ("zoe", 1),
        ("müller", 1),
        ("muller anna", 1),
        ("anna@example.org", 1),
        ("Ring bell", 1),
        ("rome", 1),
        ("dentist berlin", 0),
        ("plumber", 0),
        ("", 1),
    ],
)
def test_words_are_looked_for_in_every_field(query: str, n_found: int) -> None:
    extra = (
        "LOCATION:Rome\nDESCRIPTION:Ring the\\n bell\nATTENDEE;CN=Anna Müller:mailto:anna@example.org\n"
        "ATTENDEE:invalid:zoe\nCONTACT:unseen"
    )
    home = Home({"a.ics": calendar(timed("a", "Dentist Zoë", extra=extra))})
    assert len(find_events(home.call(), query)) == n_found


def test_words_that_no_event_has_are_named() -> None:
    home = Home({"a.ics": calendar(timed("a", "Lunch with Priya at Rosa's"))})
    call = home.call()
    assert len(find_events(call, "lunch, swan, with Priya at rosa's")) == 1
    assert call.notices == ["Nothing has all of the words: I ignored “swan”."]
    call = home.call()
    assert find_events(call, "swan lake ballet lunch") == []
    assert not call.notices


def test_cancelled_events_are_not_found() -> None:
    home = Home(
        {
            "a.ics": calendar(timed("a", "gone", extra="STATUS:CANCELLED")),
            "b.ics": calendar(YOGA, YOGA_MOVED + "STATUS:CANCELLED"),
        }
    )
    assert [e.start for e in find_events(home.call(), start=at(24), end=at(16, month=12))] == [
        at(24, 18, 30),
        at(15, 18, 30, month=12),
    ]


def test_more_than_can_be_listed_is_said() -> None:
    home = Home({"a.ics": calendar(*(timed(f"u{n}", f"Event {n}") for n in range(MAX_EVENTS + 3)))})
    assert len(find_events(home.call())) == MAX_EVENTS
    assert home.notices == ["3 more events were found; ask for a shorter time to see them."]


def test_an_event_in_two_files_is_one_event() -> None:
    home = Home({"a.ics": calendar(timed("same", "Dinner")), "copy of a.ics": calendar(timed("same", "Dinner"))})
    assert len(find_events(home.call())) == 1


def test_broken_files_are_named_and_the_others_read() -> None:
    home = Home(
        {
            "cut.ics": "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:cut\n",
            "binary.ics": "\x00\x01\x02",
            "nostart.ics": calendar("UID:nostart\nSUMMARY:x", timed("fine", "Fine")),
            "badtime.ics": calendar("UID:t\nDTSTART:tomorrow\nSUMMARY:x"),
            "mixed.ics": calendar("UID:m\nDTSTART:20261124T100000Z\nDTEND;VALUE=DATE:20261125\nSUMMARY:x"),
            "often.ics": calendar(timed("often", "x", extra="RRULE:FREQ=SECONDLY")),
            "zero.ics": calendar(timed("zero", "x", extra="RRULE:FREQ=DAILY;INTERVAL=0")),
            "rule.ics": calendar(timed("rule", "x", extra="RRULE:FREQ=DAILY;BYDAY=XX")),
            "old.ics": calendar(timed("old", "x", "00260101T100000Z", "RRULE:FREQ=DAILY")),
            "long.ics": calendar("UID:l\nDTSTART:19700101T000000Z\nDTEND:20261124T000000Z\nRRULE:FREQ=WEEKLY"),
            "end.ics": calendar("UID:e\nDTSTART;VALUE=DATE:99991231\nSUMMARY:x"),
        }
    )
    assert [e.title for e in find_events(home.call())] == ["Fine"]
    (notice,) = home.notices
    assert notice.startswith("Left out because it could not be read: ")
    assert "calendar/cut.ics (BEGIN:VEVENT has no END; the file is cut off)" in notice
    assert "calendar/badtime.ics ('tomorrow' is not an iCalendar time; expected one such as 20261120T183000Z)" in notice
    assert notice.endswith(" and 6 more.")


def test_a_foreign_file_with_other_components_is_read() -> None:
    home = Home(
        {
            "all.ics": "BEGIN:VCALENDAR\nVERSION:2.0\nX-WR-CALNAME:Mine\nBEGIN:VTODO\nUID:t\nSUMMARY:task\nEND:VTODO\n"
            f"BEGIN:VEVENT\n{timed('a', 'A')}\nBEGIN:VALARM\nTRIGGER:-PT5M\nSUMMARY:alarm\nEND:VALARM\nEND:VEVENT\n"
            f"END:VCALENDAR\n{calendar(timed('b', 'B'))}"
        }
    )
    assert [e.title for e in find_events(home.call())] == ["A", "B"]
    cancel_event(home.call(), EventId("b"))
    cancel_event(home.call(), EventId("a"))
    assert "BEGIN:VTODO" in home.text("all.ics"), "a file is deleted only when nothing is left in it"


# ── Next event ────────────────────────────────────────────────────────────────────────────────────────────


def test_the_next_event_of_all_and_of_some() -> None:
    home = Home({"yoga.ics": calendar(YOGA, YOGA_MOVED), "x.ics": calendar(timed("x", "Concert", "20280101T190000Z"))})
    assert next_event(home.call()).start == at(24, 18, 30)
    assert next_event(home.call(), "concert").start == at(1, 20, month=1, year=2028)


def test_any_event_is_an_appointment_where_none_is_called_so() -> None:
    dentist = Home({"x.ics": calendar(timed("x", "Dentist"), timed("y", "Lunch", "20261126T100000Z"))})
    assert next_event(dentist.call(), "appointment").title == "Dentist"
    assert next_event(dentist.call(), "appointments").title == "Dentist"
    with pytest.raises(NotFound):
        next_event(dentist.call(), "appointment opera")
    team = Home({"x.ics": calendar(timed("x", "Dentist"), timed("y", "Team meeting", "20261126T100000Z"))})
    assert next_event(team.call(), "meeting").title == "Team meeting"
    assert find_events(dentist.call(), "meeting") == []  # what may be cancelled next is not guessed


def test_no_next_event_says_when_the_last_was() -> None:
    home = Home({"x.ics": calendar(timed("x", "Dentist", "20261001T080000Z"))})
    with pytest.raises(
        NotFound, match="there is no event with 'dentist' to come; the last was 'Dentist' on 2026-10-01"
    ):
        next_event(home.call(), "dentist")
    with pytest.raises(
        NotFound, match="there is no event with 'opera' in the calendar, neither coming nor in the last"
    ):
        next_event(home.call(), "opera")
    with pytest.raises(NotFound, match="there is no event in the calendar"):
        next_event(Home().call())


# ── Moving and cancelling ─────────────────────────────────────────────────────────────────────────────────


def test_moving_keeps_the_length_and_every_other_byte() -> None:
    data = calendar(timed("a", "A", extra="X-KEEP;X-P=1:as  it is\nATTACH:x"), timed("b", "B")).replace("\n", "\r\n")
    home = Home({"a.ics": data})
    moved = move_event(home.call(), EventId("a"), at(25, 15))
    assert (moved.start, moved.end) == (at(25, 15), at(25, 16))
    expected = data.replace("UID:a\r\nDTSTART:20261124T100000Z", "UID:a\r\nDTSTART:20261125T140000Z").replace(
        "ATTACH:x\r\n",
        "ATTACH:x\r\nDTSTAMP:20261120T083000Z\r\nLAST-MODIFIED:20261120T083000Z\r\nSEQUENCE:1\r\n",
    )
    assert home.workspace.read("calendar/a.ics").decode() == expected


@pytest.mark.parametrize(
    ("event", "start", "moved_start", "moved_end", "line"),
    [
        (
            "DTSTART:20261124T100000Z\nDTEND:20261124T113000Z",
            at(25),
            at(25, 11),
            at(25, 12, 30),
            "DTSTART:20261125T100000Z",
        ),
        ("DTSTART;VALUE=DATE:20261124", at(27), at(27), at(28), "DTSTART;VALUE=DATE:20261127"),
        (
            "DTSTART;VALUE=DATE:20261124\nDTEND;VALUE=DATE:20261126",
            at(27),
            at(27),
            at(29),
            "DTEND;VALUE=DATE:20261129",
        ),
        (
            "DTSTART;VALUE=DATE:20261124",
            at(27, 15),
            at(27, 15),
            at(27, 16),
            "DTSTART;TZID=Europe/Berlin:20261127T150000",
        ),
        (
            "DTSTART:20261124T100000\nDTEND:20261124T110000",
            at(25, 15),
            at(25, 15),
            at(25, 16),
            "DTSTART:20261125T150000",
        ),
        (
            "DTSTART;TZID=America/New_York:20261124T100000\nDTEND;TZID=America/New_York:20261124T110000",
            at(25, 15),
            at(25, 15),
            at(25, 16),
            "DTEND;TZID=America/New_York:20261125T100000",
        ),
    ],
)
def test_moving_keeps_the_form_of_the_times(
    event: str, start: dt.datetime, moved_start: dt.datetime, moved_end: dt.datetime, line: str
) -> None:
    home = Home({"a.ics": calendar(f"UID:a\n{event}\nSUMMARY:x")})
    moved = move_event(home.call(), EventId("a"), start)
    assert (moved.start, moved.end) == (moved_start, moved_end)
    assert f"{line}\n" in home.text("a.ics")
    assert find_events(home.call()) == [moved]


def test_a_change_leaves_every_other_byte() -> None:
    data = calendar(timed("a", "A", extra="X-KEEP;X-P=1:as  it is"), timed("b", "B"))
    home = Home({"a.ics": data})
    anna = EmailAddress("anna@example.org")
    changed = change_event(home.call(), EventId("a"), title="Big A", place="Lake; north", attendees=(anna,))
    assert (changed.title, changed.place, changed.attendees) == ("Big A", "Lake; north", (anna,))
    again = change_event(home.call(), EventId("a"), attendees=(EmailAddress("ANNA@example.org"),))
    assert again.attendees == (anna,), "nobody takes part twice"
    assert (changed.start, changed.end) == (at(24, 11), at(24, 12))
    text = home.text("a.ics")
    assert "X-KEEP;X-P=1:as  it is" in text
    assert "ATTENDEE;SCHEDULE-AGENT=NONE:mailto:anna@example.org" in text
    assert timed("b", "B") in text


@pytest.mark.parametrize(
    ("organiser", "told"),
    [("me@mine.example", "anna@example.org"), ("boss@work.example", "boss@work.example"), ("", "")],
)
@pytest.mark.parametrize("is_on_server", [True, False])
def test_whom_the_server_would_write_to_goes_with_the_event(organiser: str, told: str, is_on_server: bool) -> None:
    who = ["ATTENDEE:mailto:anna@example.org", "ATTENDEE;SCHEDULE-AGENT=NONE:mailto:ben@example.org"]
    lines = [*([f"ORGANIZER:mailto:{organiser}"] if organiser else []), *who]
    assert told_of(*lines, is_on_server=is_on_server) == ((told,) if told and is_on_server else ())


def told_of(*lines: str, is_on_server: bool = True) -> tuple[str, ...]:
    """Whom a server would write to about an event with these lines."""
    data = calendar(timed("a", "A", extra="\n".join(lines)))
    if is_on_server:
        data = data.replace("VERSION:2.0", "VERSION:2.0\nX-HEARTH-HREF:/a.ics\nX-HEARTH-ETAG:1")
    workspace = InMemoryWorkspace({"calendar/caldav/a.ics": data}, FIXED_NOW)
    server: dict[str, Plain] = {"url": "https://calendar.example/"}
    call = make_call("k", FIXED_NOW, workspace, settings={"owner": {"email": "me@mine.example"}, "calendar": server})
    assert isinstance(cancel_event, FunctionTool)
    thing = cancel_event.resolvers["event"]("a", call, {})
    assert isinstance(thing, Referent)
    return thing.told


MINE = "ORGANIZER:mailto:me@mine.example"
MINE_BY_PATH = "ORGANIZER;EMAIL=Me@mine.example:/42/principal/"


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ((MINE, "ATTENDEE;CN=Zoe;EMAIL=zoe@other.example:urn:uuid:5f0c"), ("zoe@other.example",)),
        ((MINE, "ATTENDEE;EMAIL=zoe@other.example:/7/principal/"), ("zoe@other.example",)),
        ((MINE, "ATTENDEE: mailto:zoe@other.example"), ("zoe@other.example",)),
        ((MINE, "ATTENDEE:MAILTO:zoe@other.example"), ("zoe@other.example",)),
        ((MINE, "ATTENDEE;CN=Zoe:/7/principal/"), ("Zoe (/7/principal/)",)),
        ((MINE, "ATTENDEE:tel:+4930555"), ("tel:+4930555",)),
        ((MINE, "ATTENDEE;CN=Zoe:"), ("Zoe",)),
        ((MINE, "ATTENDEE;EMAIL=me@mine.example:mailto:zoe@other.example"), ("zoe@other.example",)),
        ((MINE_BY_PATH, "ATTENDEE;EMAIL=zoe@other.example:/7/principal/"), ("zoe@other.example",)),
        (("ORGANIZER;EMAIL=boss@work.example:urn:uuid:9", "ATTENDEE:mailto:me@mine.example"), ("boss@work.example",)),
        (("ORGANIZER;EMAIL=me@mine.example:mailto:boss@work.example",), ("boss@work.example",)),
        (("ORGANIZER;CN=Boss:/9/principal/",), ("boss (/9/principal/)",)),
        # nobody is written to
        ((MINE, "ATTENDEE;EMAIL=me@mine.example:/42/principal/"), ()),
        ((MINE, "ATTENDEE;SCHEDULE-AGENT=NONE;EMAIL=zoe@other.example:/7/principal/"), ()),
        ((MINE, "ATTENDEE;SCHEDULE-AGENT=client:tel:+4930555"), ()),
        (("ATTENDEE;EMAIL=zoe@other.example:/7/principal/",), ()),
        ((MINE_BY_PATH,), ()),
    ],
)
def test_whoever_takes_part_counts_however_the_server_names_them(lines: tuple[str, ...], told: tuple[str, ...]) -> None:
    assert told_of(*lines) == told


def test_who_is_named_by_a_path_takes_part_by_the_address_beside_it() -> None:
    line = "ATTENDEE;CN=Zoe;EMAIL=zoe@other.example:/7/principal/"
    home = Home({"a.ics": calendar(timed("a", "A", extra=f"{line}\nATTENDEE:tel:+4930555"))})
    (event,) = find_events(home.call(), "zoe")
    assert event.attendees == ("zoe@other.example",)
    again = change_event(home.call(), EventId("a"), attendees=(EmailAddress("zoe@other.example"),))
    assert again.attendees == ("zoe@other.example",)


def test_how_an_event_repeats_is_changed_for_the_series_and_the_rest_for_what_was_found() -> None:
    home = Home({"a.ics": calendar(timed("a", "A")), "yoga.ics": calendar(YOGA, YOGA_MOVED)})
    assert change_event(home.call(), EventId("a"), repeat="weekly").repeat == "weekly"
    assert starts(find_events(home.call(), "A", start=at(1, month=12), end=at(9, month=12)))[:1] == [
        at(1, 11, month=12)
    ]
    once = change_event(home.call(), EventId("yoga#20261124T183000"), place="Roof", length=dt.timedelta(hours=2))
    assert (once.place, once.end - once.start) == ("Roof", dt.timedelta(hours=2))
    others = [one.place for one in find_events(home.call(), "yoga", start=at(16), end=at(20)) if one.id != once.id]
    assert set(others) == {""}
    assert change_event(home.call(), EventId("yoga#20261124T183000"), repeat="monthly").repeat == "monthly"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "nothing to change"),
        ({"length": dt.timedelta(0)}, "no event's"),
        ({"length": dt.timedelta(days=40)}, "at most 31 days"),
        ({"title": "x" * 1001}, "at most 1000"),
    ],
)
def test_what_no_event_can_be_is_refused(arguments: dict[str, Any], told: str) -> None:
    home = Home({"a.ics": calendar(timed("a", "A"))})
    before = home.text("a.ics")
    with pytest.raises(ToolError, match=told):
        change_event(home.call(), EventId("a"), **arguments)
    assert home.text("a.ics") == before


def test_a_whole_day_has_no_length() -> None:
    home = Home({"d.ics": calendar("UID:d\nDTSTART;VALUE=DATE:20261124\nSUMMARY:D")})
    with pytest.raises(ToolError, match="whole days"):
        change_event(home.call(), EventId("d"), length=dt.timedelta(hours=2))


def test_one_occurrence_is_moved_alone() -> None:
    home = Home({"yoga.ics": calendar(YOGA, YOGA_MOVED)})
    before = home.text("yoga.ics")
    moved = move_event(home.call(), EventId("yoga#20261124T183000"), at(26, 20))
    assert (moved.id, moved.start, moved.end, moved.repeat) == (
        "yoga#20261124T183000",
        at(26, 20),
        at(26, 21),
        "weekly",
    )
    again = move_event(home.call(), EventId("yoga#20261124T183000"), at(27))
    assert again.start == at(27, 20), "midnight means the day alone"
    lake = move_event(home.call(), EventId("yoga#20261208T183000"), at(10, 8, month=12))
    assert (lake.title, lake.end) == ("Yoga at the lake", at(10, 9, month=12))
    found = find_events(home.call(), start=at(17), end=at(20, month=12))
    assert starts(found) == [at(17, 18, 30), at(27, 20), at(10, 8, month=12), at(15, 18, 30, month=12)]
    after = home.text("yoga.ics")
    assert after.count("X-KEEP;X-P=1:as it is") == 2, "what the series says of itself holds for the occurrence too"
    assert after.count("RRULE") == after.count("EXDATE") == 1
    series = YOGA.strip()
    assert series in before
    assert series in after


def test_one_occurrence_is_cancelled_alone() -> None:
    home = Home({"yoga.ics": calendar(YOGA, YOGA_MOVED)})
    cancelled = cancel_event(home.call(), EventId("yoga#20261124T183000"))
    assert (cancelled.title, cancelled.start) == ("Yoga", at(24, 18, 30))
    lake = cancel_event(home.call(), EventId("yoga#20261208T183000"))
    assert lake.title == "Yoga at the lake"
    assert starts(find_events(home.call(), start=at(17), end=at(20, month=12))) == [
        at(17, 18, 30),
        at(15, 18, 30, month=12),
    ]
    for gone in ("yoga#20261124T183000", "yoga#20261208T183000", "yoga#20261201T183000", "yoga#20261125T183000"):
        with pytest.raises(NotFound, match=r"the series has no occurrence at '2026.*' \(any more\)"):
            cancel_event(home.call(), EventId(gone))


def test_occurrences_of_whole_day_and_floating_series() -> None:
    home = Home(
        {
            "d.ics": calendar("UID:d\nDTSTART;VALUE=DATE:20261101\nRRULE:FREQ=WEEKLY\nSUMMARY:Bins"),
            "f.ics": calendar("UID:f\nDTSTART:20261102T080000\nDTEND:20261102T083000\nRRULE:FREQ=WEEKLY\nSUMMARY:Run"),
        }
    )
    found = find_events(home.call(), start=at(21), end=at(24))
    assert [(e.id, e.start, e.end) for e in found] == [
        ("d#20261122", at(22), at(23)),
        ("f#20261123T080000", at(23, 8), at(23, 8, 30)),
    ]
    assert move_event(home.call(), EventId("d#20261122"), at(23)).start == at(23)
    assert move_event(home.call(), EventId("f#20261123T080000"), at(23, 9)).start == at(23, 9)
    cancel_event(home.call(), EventId("d#20261129"))
    cancel_event(home.call(), EventId("f#20261130T080000"))
    assert "EXDATE;VALUE=DATE:20261129\n" in home.text("d.ics")
    assert "RECURRENCE-ID:20261123T080000\n" in home.text("f.ics")
    found = find_events(home.call(), start=at(21), end=at(8, month=12))
    assert [(e.title, e.start) for e in found] == [
        *(("Bins", at(23)), ("Run", at(23, 9)), ("Bins", at(6, month=12)), ("Run", at(7, 8, month=12))),
    ]


@pytest.mark.parametrize(
    ("rule", "start", "expected"),
    [
        ("FREQ=WEEKLY", at(25, 9), ["2026-11-25T09:00", "2026-12-02T09:00", "2026-12-09T09:00"]),
        ("FREQ=WEEKLY;BYDAY=TU", at(25, 9), ["2026-11-25T09:00", "2026-12-02T09:00", "2026-12-09T09:00"]),
        ("FREQ=WEEKLY;BYDAY=TU,TH", at(24, 9), ["2026-11-24T09:00", "2026-11-26T09:00", "2026-12-01T09:00"]),
        ("FREQ=MONTHLY", at(30, 9), ["2026-11-30T09:00", "2026-12-30T09:00", "2027-01-30T09:00", "2027-02-28T09:00"]),
        ("FREQ=DAILY;UNTIL=20261126T103000Z", at(25), ["2026-11-25T10:30", "2026-11-26T10:30", "2026-11-27T10:30"]),
    ],
)
def test_a_whole_series_is_moved_with_its_rule(rule: str, start: dt.datetime, expected: list[str]) -> None:
    event = f"UID:s\nDTSTART;TZID=Europe/Berlin:20261124T103000\nDURATION:PT1H\nRRULE:{rule}\nSUMMARY:x"
    home = Home({"s.ics": calendar(event)})
    moved = move_event(home.call(), EventId("s"), start)
    assert moved.id == "s"
    found = find_events(home.call(), start=at(20), end=at(1, month=4, year=2027))
    assert [e.start.strftime("%Y-%m-%dT%H:%M") for e in found][: len(expected)] == expected


def test_exceptions_and_changed_occurrences_move_with_the_series() -> None:
    home = Home({"yoga.ics": calendar(YOGA, YOGA_MOVED)})
    move_event(home.call(), EventId("yoga"), at(14, 19, month=10))
    found = find_events(home.call(), start=at(18), end=at(20, month=12))
    assert [(e.title, e.start) for e in found] == [
        *(("Yoga", at(18, 19)), ("Yoga", at(25, 19)), ("Yoga at the lake", at(9, 19, month=12))),
        ("Yoga", at(16, 19, month=12)),
    ]


def test_a_series_whose_rule_names_days_cannot_move_to_another() -> None:
    home = Home({"s.ics": calendar(timed("s", "x", extra="RRULE:FREQ=MONTHLY;BYDAY=4TU"))})
    before = home.text("s.ics")
    with pytest.raises(ToolError, match="repeats by 'FREQ=MONTHLY;BYDAY=4TU', which fits its day only; move one occ"):
        move_event(home.call(), EventId("s"), at(25, 9))
    home.workspace.write("calendar/d.ics", calendar("UID:d\nDTSTART;VALUE=DATE:20261124\nRRULE:FREQ=WEEKLY").encode())
    with pytest.raises(ToolError, match="a repeating whole-day event cannot get a time of day"):
        move_event(home.call(), EventId("d"), at(25, 9))
    assert home.text("s.ics") == before


def test_a_whole_series_is_cancelled_and_an_event_deleted_with_its_file() -> None:
    home = Home({"yoga.ics": calendar(YOGA, YOGA_MOVED), "two.ics": calendar(timed("a", "A"), timed("b", "B"))})
    assert cancel_event(home.call(), EventId("yoga")).title == "Yoga"
    assert cancel_event(home.call(), EventId("a")).title == "A"
    assert home.workspace.list() == ("calendar/two.ics",)
    assert home.text("two.ics") == calendar(timed("b", "B"))


def test_an_occurrence_invited_alone_can_be_moved_and_cancelled() -> None:
    alone = "UID:s\nRECURRENCE-ID:20261124T100000Z\nDTSTART:20261124T100000Z\nDURATION:PT1H\nSUMMARY:Guest"
    home = Home({"s.ics": calendar(alone)})
    (found,) = find_events(home.call())
    assert found.id == "s#20261124T100000"
    assert move_event(home.call(), found.id, at(25, 9)).start == at(25, 9)
    assert cancel_event(home.call(), found.id).start == at(25, 9)
    assert home.workspace.list() == ()


def test_a_change_for_all_following_is_left_to_the_program_that_made_it() -> None:
    moved = YOGA_MOVED.replace("RECURRENCE-ID;", "RECURRENCE-ID;RANGE=THISANDFUTURE;")
    home = Home({"yoga.ics": calendar(YOGA, moved)})
    with pytest.raises(ToolError, match="was changed together with all that follow it; change it in the program"):
        cancel_event(home.call(), EventId("yoga#20261208T183000"))


def test_events_without_a_uid_can_be_changed() -> None:
    home = Home({"a.ics": calendar("DTSTART:20261124T100000Z\nSUMMARY:A", "DTSTART:20261125T100000Z\nSUMMARY:B")})
    first, second = find_events(home.call())
    assert (first.id, second.id) == ("calendar/a.ics#0", "calendar/a.ics#1")
    assert move_event(home.call(), second.id, at(26, 9)).title == "B"
    cancel_event(home.call(), first.id)
    assert [(e.title, e.start) for e in find_events(home.call())] == [("B", at(26, 9))]


def test_a_uid_may_look_like_anything() -> None:
    for uid in ("a#20261124", "../../x", "ü/🎉 b", "x" * 300, "{F81D4FAE-7DEC}"):
        home = Home({"a.ics": calendar(timed(uid, "A"))})
        (found,) = find_events(home.call())
        assert found.id == uid
        assert move_event(home.call(), found.id, at(25, 9)).id == uid
        cancel_event(home.call(), found.id)
        assert home.workspace.list() == ()


def test_an_unknown_event_is_not_found() -> None:
    home = Home({"a.ics": calendar(timed("a", "A")), "bad.ics": "BEGIN:VCALENDAR\n"})
    with pytest.raises(NotFound, match=r"there is no event 'zzz'; look for it with find_events first .*bad.ics"):
        cancel_event(home.call(), EventId("zzz"))
    with pytest.raises(NotFound):
        cancel_event(home.call(), EventId("a#20261124T100000x"))
    with pytest.raises(ToolError, match=r"the event's file 'calendar/bad.ics' cannot be read: .*; mend or remove it"):
        move_event(home.call(), EventId("bad"), at(25, 9))


def test_an_event_cannot_be_moved_out_of_time() -> None:
    home = Home({"a.ics": calendar(timed("a", "A"))})
    before = home.text("a.ics")
    with pytest.raises(ToolError, match=r"the start '9999.*' is out of range"):
        move_event(home.call(), EventId("a"), at(1, month=1, year=9999))
    assert home.text("a.ics") == before


# ── Free time ─────────────────────────────────────────────────────────────────────────────────────────────


def free(home: Home, start: dt.datetime, end: dt.datetime, minutes: int = 0) -> list[tuple[dt.datetime, dt.datetime]]:
    length = dt.timedelta(minutes=minutes) if minutes else None
    return [(slot.start, slot.end) for slot in find_free_time(home.call(), start, end, length)]


def test_free_time_lies_between_events() -> None:
    home = Home(
        {
            "a.ics": calendar(timed("a", "A", "20261124T090000Z")),
            "b.ics": calendar(timed("b", "B", "20261124T093000Z")),
            "c.ics": calendar(timed("c", "free", "20261124T120000Z", "TRANSP:TRANSPARENT")),
            "d.ics": calendar("UID:d\nDTSTART;VALUE=DATE:20261124\nSUMMARY:Birthday"),
            "yoga.ics": calendar(YOGA),
        }
    )
    assert free(home, at(24, 10), at(24, 18)) == [(at(24, 11, 30), at(24, 18))]
    assert free(home, at(24), at(25)) == [
        (at(24, 8), at(24, 10)),
        (at(24, 11, 30), at(24, 18, 30)),
        (at(24, 19, 30), at(24, 22)),
    ]
    assert free(home, at(24), at(25), 150) == [(at(24, 11, 30), at(24, 18, 30)), (at(24, 19, 30), at(24, 22))]
    assert free(home, at(24, 10), at(24, 11)) == []


def test_of_a_moment_the_hour_from_then_counts() -> None:
    home = Home({"a.ics": calendar(timed("a", "A", "20261124T130000Z"))})
    assert free(home, at(24, 15), at(24, 15, 1)) == [(at(24, 15), at(24, 16))]
    assert free(home, at(24, 14), at(24, 14, 1)) == [], "busy then"
    assert free(home, at(24, 15), at(24, 15, 1), 90) == [(at(24, 15), at(24, 16, 30))]


def test_free_time_is_to_come_and_a_busy_day_blocks() -> None:
    home = Home({"d.ics": calendar("UID:d\nDTSTART;VALUE=DATE:20261121\nSUMMARY:Trip\nTRANSP:OPAQUE")})
    assert free(home, at(20), at(22)) == [(FIXED_NOW, at(20, 22))]
    assert free(home, at(20, 22), at(20, 23)) == [(at(20, 22), at(20, 23))], "a night asked for is looked at"


@pytest.mark.parametrize(
    ("start", "end", "length", "message"),
    [
        (at(24), at(23), None, "is not after the start"),
        (at(1), at(2), None, "2026-11-02T00:00:00.01:00 has passed; ask for a time to come"),
        (at(24), at(24, month=12, year=2027), None, "395 days are too many; ask for at most 92"),
        (at(24), at(25), dt.timedelta(0), "a length of 0:00:00 is no time"),
    ],
)
def test_free_time_that_cannot_be_looked_for(
    start: dt.datetime, end: dt.datetime, length: dt.timedelta | None, message: str
) -> None:
    with pytest.raises(ToolError, match=message):
        find_free_time(Home().call(), start, end, length)


# ── Undo and repetition ───────────────────────────────────────────────────────────────────────────────────


def test_every_change_is_undone_by_the_journal(folder: Folder) -> None:
    def call(key: str) -> CallContext:
        return make_call(key, workspace=folder.for_call(key))

    event = add_event(call("add"), "Yoga", at(24, 18, 30), repeat="weekly")
    occurrence = EventId(f"{event.id}#20261201T183000")
    states = [find_events(call("r"), start=at(20), end=at(31, month=12))]
    move_event(call("move"), occurrence, at(2, 19, month=12))
    states.append(find_events(call("r"), start=at(20), end=at(31, month=12)))
    cancel_event(call("cancel"), EventId(f"{event.id}#20261208T183000"))
    states.append(find_events(call("r"), start=at(20), end=at(31, month=12)))
    cancel_event(call("all"), event.id)
    assert find_events(call("r")) == []
    for key in ("all", "cancel", "move"):
        folder.undo(key)
        assert find_events(call("r"), start=at(20), end=at(31, month=12)) == states.pop()
    folder.undo("add")
    assert find_events(call("r")) == []
    add_event.undo({}, to_plain(event), call("add"))  # without a server there is nothing more to undo


def test_the_same_key_makes_the_same_event() -> None:
    first, second = Home(), Home()
    assert add_event(first.call(), "Lunch", at(24, 13)) == add_event(second.call(), "Lunch", at(24, 13))
    assert first.workspace.files == second.workspace.files
    assert add_event(first.call(), "Lunch", at(24, 13)).id != first.workspace.list()[0]
    assert len(first.workspace.list()) == 2


def test_an_answer_says_what_was_done() -> None:
    spec = add_event.spec
    assert spec.answer == "Added to your calendar: {title}, {start}[, {place}][, with {attendees}][, then {repeat}]."
    assert spec.parameter("attendees") is not None
    assert spec.parameters[0].name == "title"
    assert spec.fields["attendees"] == "list[EmailAddress]"
    assert spec.returns == "Event"
    assert EmailAddress("x") == "x"


def test_a_thousand_files_are_parsed_once() -> None:
    home = Home({f"once{n}.ics": calendar(timed(f"once{n}", f"Event number {n}")) for n in range(1000)})
    before = events._file.cache_info().misses
    assert len(find_events(home.call(), "number 512")) == 1
    assert events._file.cache_info().misses - before == 1000
    assert len(find_events(home.call(), "number 513")) == 1
    assert events._file.cache_info().misses - before == 1000
