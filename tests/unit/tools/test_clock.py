from __future__ import annotations

import datetime as dt
import zoneinfo

import pytest

from hearth.errors import Ambiguous, NotFound
from hearth.language.values.identifying import LARGE_CITIES
from hearth.testing import FIXED_NOW, check_tool, make_call
from hearth.tools import clock
from hearth.tools.clock import TOOLS, Moment, current_time, find_zone, time_until


def test_contracts() -> None:
    check_tool(current_time, {"zone": "Tokyo"}, make_call())
    check_tool(time_until, {"date": "2026-12-31"}, make_call())
    assert all(2 <= len(t.spec.examples) <= 4 and t.spec.effect == "none" for t in TOOLS)


def test_the_time_here() -> None:
    assert current_time(make_call()) == Moment(
        "It is 09:30 on Friday, 20 November 2026.",
        dt.date(2026, 11, 20),
        dt.time(9, 30),
        "Friday",
        "Europe/Berlin",
    )


def test_the_time_elsewhere_may_be_another_day() -> None:
    call = make_call(now=dt.datetime(2026, 12, 31, 18, 5, 7, 99, tzinfo=FIXED_NOW.tzinfo))
    moment = current_time(call, "new zealand")
    assert moment.text == "It is 06:05 in New Zealand on Friday, 1 January 2027."
    assert (moment.date, moment.time, moment.zone) == (dt.date(2027, 1, 1), dt.time(6, 5, 7), "Pacific/Auckland")


def test_a_zone_without_a_name_is_named_by_its_offset() -> None:
    call = make_call(now=FIXED_NOW.astimezone(dt.timezone(dt.timedelta(hours=2))))
    assert current_time(call).zone == "UTC+02:00"


@pytest.mark.parametrize(
    ("place", "zone"),
    [
        ("Tokyo", "Asia/Tokyo"),
        ("new york", "America/New_York"),
        ("New York, USA", "America/New_York"),
        ("San Francisco", "America/Los_Angeles"),
        ("São Paulo", "America/Sao_Paulo"),
        ("Zürich", "Europe/Zurich"),
        ("Köln", "Europe/Berlin"),
        ("Munich", "Europe/Berlin"),
        ("london time", "Europe/London"),
        ("the UK", "Europe/London"),
        ("Germany", "Europe/Berlin"),
        ("Japan", "Asia/Tokyo"),
        ("St. Petersburg", "Europe/Moscow"),
        ("mumbai", "Asia/Kolkata"),
        ("Buenos Aires", "America/Argentina/Buenos_Aires"),
        ("UTC", "UTC"),
        ("PST", "America/Los_Angeles"),
        ("Europe/Paris", "Europe/Paris"),
        ("america/new_york", "America/New_York"),
    ],
)
def test_places_are_found(place: str, zone: str) -> None:
    found, expected = find_zone(place), zoneinfo.ZoneInfo(zone)
    for month in (1, 7):
        moment = dt.datetime(2026, month, 1, tzinfo=dt.UTC)
        assert moment.astimezone(found).utcoffset() == moment.astimezone(expected).utcoffset()


def test_every_listed_zone_exists() -> None:
    assert set(LARGE_CITIES) <= zoneinfo.available_timezones()
    for cities in clock._WIDE_COUNTRIES.values():
        for city in cities:
            find_zone(city)


def test_an_unknown_place_says_what_was_expected() -> None:
    with pytest.raises(
        NotFound,
        match="no time zone is known for 'New Yrok'; expected a large city, a country or a zone such as 'Asia/Tokyo'; "
        "did you mean 'New York'",
    ):
        current_time(make_call(), "New Yrok")
    with pytest.raises(NotFound, match=r"no time zone is known for 'Qqq'; expected a large city.*'Asia/Tokyo'$"):
        find_zone("Qqq")


def test_a_wide_country_asks_for_a_city() -> None:
    with pytest.raises(Ambiguous, match="'the USA' has several time zones; name a city, such as New York, Chicago"):
        find_zone("the USA")


@pytest.mark.parametrize(
    ("date", "text", "days"),
    [
        (dt.date(2026, 12, 31), "It is 41 days (5 weeks and 6 days) until Thursday, 31 December 2026.", 41),
        (dt.date(2026, 11, 27), "It is 7 days (1 week) until Friday, 27 November 2026.", 7),
        (dt.date(2026, 11, 21), "It is 1 day until Saturday, 21 November 2026.", 1),
        (dt.date(2026, 11, 20), "Friday, 20 November 2026 is today.", 0),
        (dt.date(2026, 11, 12), "Thursday, 12 November 2026 was 8 days (1 week and 1 day) ago.", -8),
        (
            dt.date(9999, 12, 31),
            "It is 2912119 days (416017 weeks) until Friday, 31 December 9999.",
            2912119,
        ),
    ],
)
def test_how_long_until(date: dt.date, text: str, days: int) -> None:
    span = time_until(make_call(), date)
    assert (span.text, span.days, span.date) == (text, days, date)
