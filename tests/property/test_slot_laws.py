"""What holds of slots for any text, at any time, in any zone."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.formats.tool_signature import from_plain
from hearth.language.values.slots import Slot, clauses, find_slots
from hearth.types import Context, Entity

ZONES = ("Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "UTC")
CONTEXT = Context(
    country="DE",
    entities=(Entity("Anna Schmidt", "person", ("Annie",)), Entity("Ben Okoro", "person"), Entity("Hall", "room")),
)
PIECES = [
    "tomorrow",
    "at",
    "5",
    "5pm",
    "on",
    "Friday",
    "the",
    "3rd",
    "of",
    "March",
    "2027",
    "next",
    "last",
    "week",
    "every",
    "day",
    "and",
    "then",
    "call",
    "Anna",
    "Anna Schmidt",
    "ben",
    "in",
    "20",
    "minutes",
    "from",
    "to",
    "until",
    "between",
    "half",
    "past",
    "seven",
    "quarter",
    "a",
    "an",
    "hour",
    "noon",
    "tonight",
    "morning",
    ",",
    ".",
    "?",
    ";",
    "-",
    "–",
    "'",
    '"',
    "“",
    "”",
    "12/24/2026",
    "4.3.2027",
    "2026-12-24",
    "17:45",
    "2h30",
    "15%",
    "$30",
    "5 km",
    "+49 151 23456789",
    "ben@x.org",
    "report.pdf",
    "~/a.txt",
    "https://x.org/a",
    "remind me",
    "hundred",
    "twenty",
    "dozen",
    "first",
    "end",
    "after",
    "before",
    "ago",
    "since",
    "by",
    "weekend",
    "month",
    "year",
    "Christmas",
    "early",
    "late",
    "(",
    ")",
    "+",
    "*",
    "3/4",
    "\n",
    "’s",
    "'s",
    "4111 1111 1111 1111",
    "Hall",
    "did",
    "sent",
    "tommorow",
    "now",
    "time",
    "two",
    "weeks",
    "around",
    "daily",
    "Mondays",
    "9999",
    "0",
    "-5",
    "°C",
    "e.g.",
    "p.m.",
    "😀",
    "ﬁ",
    "İ",
    "ǅ",
]

nows = st.builds(
    lambda moment, zone: moment.replace(tzinfo=dt.UTC).astimezone(ZoneInfo(zone)),
    st.datetimes(dt.datetime(1999, 1, 1), dt.datetime(2060, 1, 1)),
    st.sampled_from(ZONES),
)
requests = st.lists(st.sampled_from(PIECES), max_size=14).flatmap(
    lambda pieces: st.sampled_from([" ", "", "  "]).map(lambda space: space.join(pieces))
)
texts = st.one_of(requests, st.text(max_size=80), st.text(alphabet="0123456789 +-/.,:()am'\"", max_size=40))

TYPES = {
    "date": "date",
    "time": "time",
    "datetime": "datetime",
    "start": "datetime",
    "end": "datetime",
    "duration": "duration",
    "number": "number",
    "integer": "integer",
    "email": "EmailAddress",
    "phone": "PhoneNumber",
    "url": "Url",
    "path": "FilePath",
}


def check(text: str, slots: tuple[Slot, ...]) -> None:
    place = 0
    for slot in slots:
        assert place <= slot.start < slot.end <= len(text)
        assert text[slot.start : slot.end] == slot.text
        assert 0 <= slot.cue_start <= slot.start
        assert bool(slot.cue) == (slot.cue_start < slot.start)
        place = slot.end
        for view, value in slot.views.items():
            if view in TYPES:
                from_plain(value, TYPES[view])
        if "start" in slot.views and "end" in slot.views:
            start, end = (dt.datetime.fromisoformat(str(slot.views[view])) for view in ("start", "end"))
            assert start <= end


@settings(max_examples=200, deadline=None)
@given(texts, nows)
def test_any_text_gives_ordered_slots_of_decodable_values(text: str, now: dt.datetime) -> None:
    slots = find_slots(text, now, CONTEXT)
    check(text, slots)
    assert find_slots(text, now, CONTEXT) == slots


@settings(max_examples=100, deadline=None)
@given(texts, nows)
def test_clauses_are_in_order_and_share_out_the_slots(text: str, now: dt.datetime) -> None:
    slots = find_slots(text, now, CONTEXT)
    found = clauses(text, slots)
    place = 0
    for clause in found:
        assert place <= clause.start < clause.end <= len(text)
        assert text[clause.start : clause.end] == clause.text
        assert all(clause.start <= slot.start and slot.end <= clause.end for slot in clause.slots)
        place = clause.end
    assert [slot for clause in found for slot in clause.slots] == list(slots)


@given(st.integers(1, 5000), nows)
def test_days_are_counted_by_the_calendar(n_days: int, now: dt.datetime) -> None:
    (slot,) = find_slots(f"in {n_days} days", now, Context())
    assert slot.views["date"] == (now.date() + dt.timedelta(days=n_days)).isoformat()


@given(st.integers(1, 5000), st.sampled_from([("minutes", 60), ("hours", 3600), ("seconds", 1)]), nows)
def test_hours_are_counted_by_elapsed_time(count: int, unit: tuple[str, int], now: dt.datetime) -> None:
    (slot,) = find_slots(f"remind me in {count} {unit[0]}", now, Context())
    moment = dt.datetime.fromisoformat(str(slot.views["datetime"]))
    elapsed = moment.astimezone(dt.UTC) - now.replace(microsecond=0).astimezone(dt.UTC)
    assert elapsed == dt.timedelta(seconds=count * unit[1])


@given(st.dates(dt.date(1990, 1, 1), dt.date(2099, 12, 31)), nows)
def test_a_full_date_is_itself_in_every_form(day: dt.date, now: dt.datetime) -> None:
    month = day.strftime("%B")
    forms = [
        day.isoformat(),
        f"{day.day}.{day.month}.{day.year}",
        f"{day.day:02}/{day.month:02}/{day.year}",
        f"{day.day} {month} {day.year}",
        f"{month} {day.day}, {day.year}",
        f"the {day.day}th of {month[:3]} {day.year}",
    ]
    for form in forms:
        assert [slot.views.get("date") for slot in find_slots(f"on {form}", now, Context())] == [day.isoformat()], form
    american = f"{day.month}/{day.day}/{day.year}"
    (slot,) = find_slots(american, now, Context(country="US"))
    assert slot.views["date"] == day.isoformat()


@given(st.sampled_from(["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]), nows)
def test_a_weekday_is_within_the_next_seven_days(name: str, now: dt.datetime) -> None:
    (slot,) = find_slots(f"on {name}", now, Context())
    day = dt.date.fromisoformat(str(slot.views["date"]))
    assert day.strftime("%A") == name
    assert 1 <= (day - now.date()).days <= 7


@given(st.times().filter(lambda said: said.hour not in (10, 11)), nows)  # 10:30 may be in the evening
def test_a_clock_time_is_the_next_such_time(said: dt.time, now: dt.datetime) -> None:
    (slot,) = find_slots(f"at {said:%H:%M}", now, Context())
    moment = dt.datetime.fromisoformat(str(slot.views["datetime"]))
    ahead = moment.astimezone(dt.UTC) - now.astimezone(dt.UTC)
    assert dt.timedelta() < ahead <= dt.timedelta(hours=26)
    skipped = moment.time() != said.replace(second=0, microsecond=0)  # the clocks went forward over it
    assert not skipped or moment.utcoffset() != (moment - dt.timedelta(hours=3)).astimezone(now.tzinfo).utcoffset()


@given(st.integers(0, 999_999))
def test_digits_and_their_groups_are_the_same_number(number: int) -> None:
    now = dt.datetime(2026, 11, 20, 9, 30, tzinfo=dt.UTC)
    for form in {str(number), f"{number:,}"}:
        (slot,) = find_slots(f"{form} eggs", now, Context())
        assert slot.views["integer"] == number
