"""What `find_slots` finds, by tables read by hand; times are in `slot_times.txt` beside this file."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from collections.abc import Iterator
from zoneinfo import ZoneInfo

import pytest

from hearth.language.values.slots import Slot, clauses, find_slots
from hearth.types import Context, Entity
from tests import DATA
from tests.work import grows_in_step

NOW = dt.datetime(2026, 11, 20, 9, 30, tzinfo=ZoneInfo("Europe/Berlin"))  # a Friday
CONTEXT = Context(
    owner="Kim Larsen",
    country="DE",
    entities=(
        Entity("Anna Schmidt", "person", ("Annie",)),
        Entity("Anna Weber", "person"),
        Entity("Ben Okoro", "person"),
        Entity("Will Hart", "person"),
        Entity("Mark Twain", "person"),
        Entity("April Jones", "person"),
        Entity("José Álvarez", "person"),
        Entity("Sue Hart", "person", ("Mum",)),
        Entity("Dr. Ines Roth", "person"),
        Entity("Living Room", "room", ("lounge",)),
        Entity("shopping list", "list"),
    ),
)


def find(text: str, country: str = "DE") -> tuple[Slot, ...]:
    return find_slots(text, NOW, Context(CONTEXT.owner, CONTEXT.entities, country))


# ── Times ─────────────────────────────────────────────────────────────────────────────────────────────────


def time_rows() -> Iterator[tuple[dt.datetime, str, str, str]]:
    now, country = NOW, ""
    for line in (DATA / "slot_times.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            moment, zone, country = (part.strip() for part in line[3:].split(","))
            now = dt.datetime.fromisoformat(moment).replace(tzinfo=ZoneInfo(zone))
        elif line and not line.startswith("#"):
            request, _, wanted = line.partition(" => ")
            yield now, country, request, wanted


def short(value: object) -> str:
    if value is None:
        return "-"
    text = str(dt.datetime.fromisoformat(str(value)).replace(tzinfo=None))
    return text.removesuffix(":00")


def said(slot: Slot) -> str:
    parts = [slot.text, *(short(slot.views.get(view)) for view in ("start", "end", "datetime"))]
    return " | ".join([*parts, str(slot.views["repeat"])] if "repeat" in slot.views else parts)


TIME_ROWS = list(time_rows())


def test_the_table_of_times_is_as_long_as_promised() -> None:
    assert len(TIME_ROWS) >= 330


@pytest.mark.parametrize(("now", "country", "request_text", "wanted"), TIME_ROWS)
def test_times(now: dt.datetime, country: str, request_text: str, wanted: str) -> None:
    found = [slot for slot in find_slots(request_text, now, Context(country=country)) if slot.kind == "time"]
    assert " ; ".join(said(slot) for slot in found) == ("" if wanted == "nothing" else wanted)
    for slot in found:
        moments = [
            dt.datetime.fromisoformat(str(slot.views[v])) for v in ("datetime", "start", "end") if v in slot.views
        ]
        assert all(m.utcoffset() == m.replace(tzinfo=now.tzinfo).utcoffset() for m in moments)


def test_a_day_across_a_clock_change_has_25_hours() -> None:
    now = dt.datetime(2026, 10, 24, 20, tzinfo=ZoneInfo("Europe/Berlin"))
    (slot,) = find_slots("tomorrow", now, Context())
    assert slot.views["start"] == "2026-10-25T00:00:00+02:00"
    assert slot.views["end"] == "2026-10-26T00:00:00+01:00"


def test_a_range_of_clock_times_has_its_real_length() -> None:
    now = dt.datetime(2027, 3, 27, 20, tzinfo=ZoneInfo("Europe/Berlin"))
    (slot,) = find_slots("tomorrow from 1am to 4am", now, Context())
    assert slot.views["duration"] == "PT2H"  # one of the three hours is skipped


def test_fixed_offsets_and_utc_work_as_zones() -> None:
    now = dt.datetime(2026, 11, 20, 9, 30, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=30)))
    (slot,) = find_slots("at 5pm", now, Context())
    assert slot.views["datetime"] == "2026-11-20T17:00:00+05:30"


def test_an_iso_time_with_an_offset_is_brought_to_the_owners_zone() -> None:
    (slot,) = find("2026-12-24T18:30:00Z")
    assert slot.views["datetime"] == "2026-12-24T19:30:00+01:00"


@pytest.mark.parametrize(
    ("text", "views"),
    [
        ("tomorrow at 5", {"date": "2026-11-21", "time": "17:00:00"}),
        ("tomorrow", {"date": "2026-11-21", "time": None}),
        ("tomorrow evening", {"date": "2026-11-21", "time": None}),
        ("from 2 to 3:30pm", {"time": "14:00:00", "duration": "PT1H30M"}),
        ("every weekday at 7", {"repeat": "daily", "repeat_days": ["MO", "TU", "WE", "TH", "FR"], "time": "07:00:00"}),
        ("every other week", {"repeat": "weekly", "repeat_every": 2}),
        ("every 2 hours", {"repeat": "hourly", "repeat_every": 2, "time": "11:30:00"}),
        ("every first Monday of the month", {"repeat": "monthly", "date": "2026-12-07"}),
        ("the last Friday of december", {"date": "2026-12-25", "repeat": None}),
    ],
)
def test_further_views_of_times(text: str, views: dict[str, object]) -> None:
    (slot,) = find(text)
    assert {view: slot.views.get(view) for view in views} == views


@pytest.mark.parametrize(
    ("text", "is_timed"),
    [
        ("tomorrow", False),
        ("next week", False),
        ("in 3 days", False),
        ("at 5", True),
        ("tonight", True),
        ("in 20 minutes", True),
        ("every Monday", False),
        ("the past week", False),
        ("2026-12-24 18:30", True),
    ],
)
def test_is_timed(text: str, is_timed: bool) -> None:
    assert [slot.is_timed for slot in find(text)] == [is_timed]


@pytest.mark.parametrize(
    ("text", "cue", "value"),
    [
        ("call me at around 5", "at around", "5"),
        ("free until Friday", "until", "Friday"),
        ("no later than Friday", "no later than", "Friday"),
        ("every Monday", "every", "Monday"),
        ("for 20 minutes", "for", "20 minutes"),
        ("lunch with Ben", "with", "Ben"),
        ("from ben", "from", "ben"),
        ("divide by 12", "by", "12"),
        ("tomorrow", "", "tomorrow"),
    ],
)
def test_cues_stand_before_the_value(text: str, cue: str, value: str) -> None:
    (slot,) = find(text)
    assert (slot.cue, slot.text) == (cue, value)
    assert text[slot.cue_start : slot.start].strip() == cue


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="has no time zone; give it the owner's"):
        find_slots("tomorrow", dt.datetime(2026, 11, 20, 9, 30), Context())


# ── Other values ──────────────────────────────────────────────────────────────────────────────────────────

VALUES: list[tuple[str, list[tuple[str, str, dict[str, object]]]]] = [
    ("what is 12 chairs at 35 euros", [("expression", "12 chairs at 35", {"expression": "12 * 35"})]),
    ("26 tiles at £4.20 each", [("expression", "26 tiles at £4.20", {"expression": "26 * 4.2"})]),
    ("book 2 tickets at 8", [("number", "2", {"number": 2}), ("time", "8", {"time": "20:00:00"})]),
    ("120 guests at 38.50 a head", [("expression", "120 guests at 38.50", {"expression": "120 * 38.5"})]),
    ("46 litres at 1.629 a litre", [("expression", "46 litres at 1.629", {"expression": "46 * 1.629"})]),
    ("12 guests at 8.30 a quiet table", [("number", "12", {}), ("time", "8.30", {"time": "20:30:00"})]),
    ("add 10 to 200", [("expression", "add 10 to 200", {"expression": "200 + 10"})]),
    ("take £5 from 30 please", [("expression", "take £5 from 30", {"expression": "30 - 5"})]),
    ("multiply 6 by 9", [("expression", "multiply 6 by 9", {"expression": "6 * 9"})]),
    ("add up 4.20, 13.75 and 22", [("expression", "add up 4.20, 13.75 and 22", {"expression": "4.2 + 13.75 + 22"})]),
    ("add 5 to 10 eggs to the list", [("number", "5", {}), ("number", "10", {})]),
    ("what is 10 added to 200", [("expression", "10 added to 200", {"expression": "10 + 200"})]),
    ("add 2 eggs and 3 lemons", [("number", "2", {}), ("number", "3", {})]),
    ("89.95 with 25 percent off", [("expression", "89.95 with 25 percent off", {"expression": "89.95 - 25%"})]),
    ("89.95 with 25 percent cotton", [("number", "89.95", {}), ("number", "25 percent", {})]),
    ("12.50 a week after 52 weeks", [("expression", "12.50 a week after 52 weeks", {"expression": "12.5 * 52"})]),
    ("minus 12 celsius in fahrenheit", [("quantity", "minus 12 celsius", {"number": -12}), ("unit", "fahrenheit", {})]),
    ("what is 20 minus 12 celsius", [("expression", "20 minus 12", {"expression": "20 - 12"})]),
    ("640 plus 7% vat", [("expression", "640 plus 7% vat", {"expression": "640 + 7%"})]),
    ("add 10% tip to £84", [("expression", "add 10% tip to £84", {"expression": "84 + 10%"})]),
    ("add 10% tip", [("number", "10%", {"number": 10, "unit": "percent"})]),
    ("what is 5k plus 10%", [("expression", "5k plus 10%", {"expression": "5000 + 10%"})]),
    ("15 percent tip on 48", [("expression", "15 percent tip on 48", {"expression": "15% of 48"})]),
    ("split the 240 euros between three", [("expression", "split the 240 euros between three", {"expression": "240 / 3"})]),
    ("split £1,850 three ways", [("expression", "split £1,850 three", {"expression": "1850 / 3"})]),
    ("32 children at 4.75 each", [("expression", "32 children at 4.75", {"expression": "32 * 4.75"})]),
    ("2 children at 6.45", [("number", "2", {}), ("time", "6.45", {"time": "18:45:00"})]),
    ("412 lambs at 118.50", [("expression", "412 lambs at 118.50", {"expression": "412 * 118.5"})]),
    ("40 seats at 7.30", [("number", "40", {}), ("time", "7.30", {"time": "19:30:00"})]),
    ("3 bags of gravel at £6.40", [("expression", "3 bags of gravel at £6.40", {"expression": "3 * 6.4"})]),
    ("48 guests at six pounds seventy-five apiece", [("expression", "48 guests at six pounds seventy-five", {"expression": "48 * 6.75"})]),
    ("six pounds seventy grams", [("quantity", "six pounds", {}), ("quantity", "seventy grams", {})]),
    ("12 lamps at 34.50 plus 2 hours at 110", [("expression", "12 lamps at 34.50 plus 2 hours at 110", {"expression": "12 * 34.5 + 2 * 110"})]),
    ("38 boxes at $12.95 less 7 percent", [("expression", "38 boxes at $12.95 less 7 percent", {"expression": "38 * 12.95 - 7%"})]),
    ("9 bags of gravel at 6.40 plus 35, tot that up", [("expression", "9 bags of gravel at 6.40 plus 35", {"expression": "9 * 6.4 + 35"})]),
    ("9 bags of gravel at 6.40 plus 35", [("number", "9", {}), ("expression", "6.40 plus 35", {})]),
    ("340 plus vat at 13.5 percent", [("expression", "340 plus vat at 13.5 percent", {"expression": "340 + 13.5%"})]),
    ("90.50 minus the 12 refund", [("expression", "90.50 minus the 12", {"expression": "90.5 - 12"})]),
    ("340 plus vat at 4", [("number", "340", {}), ("time", "4", {})]),
    ("31 euros an hour times 16 hours", [("expression", "31 euros an hour times 16 hours", {"expression": "31 * 16"})]),
    ("900 euros rent split by 4", [("expression", "900 euros rent split by 4", {"expression": "900 / 4"})]),
    ("900 euros rent by 4", [("quantity", "900 euros", {}), ("time", "4", {})]),
    ("four pounds and a half in grams", [("quantity", "four pounds and a half", {"number": 4.5, "unit": "pound"}), ("unit", "grams", {})]),
    ("four pounds and a half pint", [("quantity", "four pounds", {"number": 4})]),
    ("6850 feet, make that miles", [("quantity", "6850 feet", {}), ("unit", "miles", {"unit": "mile"})]),
    ("3 ounces of wool, grams please", [("quantity", "3 ounces", {}), ("unit", "grams", {"unit": "gram"})]),
    ("3 ounces of wool, grams of salt", [("quantity", "3 ounces", {})]),
    ("volume nought", [("number", "nought", {"number": 0})]),
    ("porch light to full", [("number", "full", {"number": 100, "unit": "percent"})]),
    ("yard light full whack, it's dark", [("number", "full whack", {"number": 100})]),
    ("lights on full moon nights", []),
    ("is the light full?", []),
    ("open the blinds half way", [("number", "half way", {"number": 50, "unit": "percent"})]),
    ("blinds halfway please", [("number", "halfway", {"number": 50})]),
    ("lights on, I'm halfway", []),
    ("blinds halfway up the stairs", []),
    ("35 minutes, and 50 for the rice", [("duration", "35 minutes", {}), ("duration", "50", {"duration": "PT50M", "number": 50.0})]),
    ("35 minutes, and buy 50 for the rice", [("duration", "35 minutes", {}), ("number", "50", {})]),
    ("25 minutes for the essay, followed by 10 for marking", [("duration", "25 minutes", {}), ("duration", "10", {"duration": "PT10M"})]),
    ("noodles need 4 mins and the mask needs 12", [("duration", "4 mins", {}), ("duration", "12", {"duration": "PT12M"})]),
    ("noodles need 4 mins and the choir needs 12 chairs", [("duration", "4 mins", {}), ("number", "12", {})]),
    ("ribs 1h20, and the stock 45", [("duration", "1h20", {}), ("duration", "45", {"duration": "PT45M"})]),
    ("set 20 minutes and the volume 45", [("duration", "20 minutes", {}), ("number", "45", {})]),
    ("pasta eleven minutes, the lentils another twenty five", [("duration", "eleven minutes", {}), ("duration", "twenty five", {"duration": "PT25M"})]),
    ("two hours for the roast and 5 for guests", [("duration", "two hours", {}), ("number", "5", {})]),
    ("a quarter hour", [("duration", "a quarter hour", {"duration": "PT15M"})]),
    ("split 20 at 3", [("number", "20", {"number": 20}), ("time", "3", {"time": "15:00:00"})]),
    ("share the album with 3 people", [("number", "3", {"number": 3})]),
    ("how many ml in a pint", [("unit", "ml", {"unit": "milliliter"}), ("quantity", "a pint", {"number": 1, "unit": "pint"})]),
    ("a pint of milk", []),
    ("email the contract.docx to ben.okoro@firma.de", [("file", "contract.docx", {"path": "contract.docx"}), ("email", "ben.okoro@firma.de", {"email": "ben.okoro@firma.de"})]),
    ("write (ben@x.org), please", [("email", "ben@x.org", {"email": "ben@x.org"})]),
    ("text jose that I'm late", [("person", "jose", {"name": "José Álvarez"})]),
    ("text Annie that I'm late", [("person", "Annie", {"name": "Anna Schmidt"})]),
    ("Ask Anna Weber for her address", [("person", "Anna Weber", {"name": "Anna Weber"})]),
    ("who is anna", [("person", "anna", {"name": "anna", "candidates": ["Anna Schmidt", "Anna Weber"]})]),
    ("what is Ben's phone number", [("person", "Ben", {"name": "Ben Okoro"})]),
    ("ask ben's boss", [("person", "ben", {"name": "Ben Okoro"})]),
    ("mail José Álvarez", [("person", "José Álvarez", {"name": "José Álvarez"})]),
    ("Will it rain?", []),
    ("will you mark this as done", []),
    ("Will you call Will?", [("person", "Will", {"name": "Will Hart"})]),
    ("meet Mark", [("person", "Mark", {"name": "Mark Twain"})]),
    ("call april", [("person", "april", {"name": "April Jones"})]),
    ("in April", [("time", "April", {"date": "2027-04-01"})]),
    ("turn on the light in the lounge", [("room", "lounge", {"name": "Living Room"})]),
    ("ask Clara Meier about it", [("unknown_person", "Clara Meier", {"name": "Clara Meier"})]),
    ("send it to Clara and Tom", [("unknown_person", "Clara", {"name": "Clara"}), ("unknown_person", "Tom", {"name": "Tom"})]),
    ("remind Dr. Lee about it", [("unknown_person", "Dr. Lee", {"name": "Dr. Lee"})]),
    ("pay €45.50 to Clara", [("quantity", "€45.50", {"number": 45.5, "unit": "EUR"}), ("unknown_person", "Clara", {})]),
    ("fly to Paris", []),
    ("call Mrs. Okoro and dr weber", [("person", "Mrs. Okoro", {"name": "Ben Okoro"}), ("person", "dr weber", {"name": "Anna Weber"})]),
    ("a gift for mum", [("person", "mum", {"name": "Sue Hart"})]),
    ("ask Dr. Ines Roth or ines", [("person", "Dr. Ines Roth", {"name": "Dr. Ines Roth"}), ("person", "ines", {"name": "Dr. Ines Roth"})]),
    ("convert 100 fahrenheit to celsius", [("quantity", "100 fahrenheit", {"number": 100, "unit": "fahrenheit"}), ("unit", "celsius", {"unit": "celsius"})]),
    ("5 miles in km", [("quantity", "5 miles", {"number": 5, "integer": 5, "unit": "mile"}), ("unit", "km", {"unit": "kilometer"})]),
    ("how many cups in 2 litres", [("unit", "cups", {"unit": "cup"}), ("quantity", "2 litres", {"unit": "liter"})]),
    ("40 square metres in square feet", [("quantity", "40 square metres", {"unit": "meter ** 2"}), ("unit", "square feet", {"unit": "foot ** 2"})]),
    ("how many miles is 26k", [("unit", "miles", {"unit": "mile"}), ("quantity", "26k", {"number": 26, "unit": "kilometer"})]),
    ("how many feet is 3k metres", [("unit", "feet", {"unit": "foot"}), ("number", "3k", {"number": 3000})]),
    ("a 5000 m race is how many miles", [("quantity", "5000 m", {"number": 5000, "unit": "meter"}), ("unit", "miles", {"unit": "mile"})]),
    ("20 c in f", [("quantity", "20 c", {"unit": "celsius"}), ("unit", "f", {"unit": "fahrenheit"})]),
    ("play 4 c minor scales", [("number", "4", {})]),
    ("yards to metres: 220", [("unit", "yards", {"unit": "yard"}), ("unit", "metres", {"unit": "meter"}), ("number", "220", {})]),
    ("I read 15 psi on the gauge, what's that in bar", [("quantity", "15 psi", {"unit": "psi"}), ("unit", "bar", {"unit": "bar"})]),
    ("meet Ben in the bar", [("person", "Ben", {})]),
    ("convert 5 miles to km", [("quantity", "5 miles", {"unit": "mile"}), ("unit", "km", {"unit": "kilometer"})]),
    ("how many minutes are 3 hours", [("unit", "minutes", {"unit": "minute"}), ("duration", "3 hours", {"duration": "PT3H", "number": 3.0, "unit": "hour"})]),
    ("what's 12.5% of 360", [("expression", "12.5% of 360", {"expression": "12.5% of 360"})]),
    ("compute (4 + 5) * 7", [("expression", "(4 + 5) * 7", {"expression": "(4 + 5) * 7"})]),
    ("what is 144 divided by 12", [("expression", "144 divided by 12", {"expression": "144 / 12"})]),
    ("what is twenty plus five", [("expression", "twenty plus five", {"expression": "20 + 5"})]),
    ("the square root of 81", [("expression", "square root of 81", {"expression": "sqrt(81)"})]),
    ("sqrt(2)", [("expression", "sqrt(2)", {"expression": "sqrt(2)"})]),
    ("what is 2/3 of 450", [("expression", "2/3 of 450", {"expression": "2/3 of 450"})]),
    ("half of 90", [("expression", "half of 90", {"expression": "1/2 of 90"})]),
    ("take 20% off 135", [("expression", "20% off 135", {"expression": "20% off 135"})]),
    ("minus 40 plus 115.5 gives?", [("expression", "minus 40 plus 115.5", {"expression": "-40 + 115.5"})]),
    ("Do the maths: (48 - 6) / 7", [("expression", "(48 - 6) / 7", {"expression": "(48 - 6) / 7"})]),
    ("whats 86.40 divided by 6", [("expression", "86.40 divided by 6", {"expression": "86.4 / 6"})]),
    ("if I split 94.80 / 4, what does everyone pay", [("expression", "94.80 / 4", {"expression": "94.8 / 4"})]),
    ("the average of 72, 85 and 91", [("expression", "average of 72, 85 and 91", {"expression": "average(72, 85, 91)"})]),
    ("2 ** 10", [("expression", "2 ** 10", {"expression": "2 ^ 10"})]),
    ("pages 10 - 12", [("number", "10", {}), ("number", "12", {})]),
    ("transfer 1,250.75 dollars", [("quantity", "1,250.75 dollars", {"number": 1250.75, "unit": "USD"})]),
    ("$30", [("quantity", "$30", {"number": 30, "unit": "USD"})]),
    ("$5k", [("quantity", "$5k", {"number": 5000, "unit": "USD"})]),
    ("20 °C", [("quantity", "20 °C", {"number": 20, "unit": "celsius"})]),
    ("-5 °C outside", [("quantity", "-5 °C", {"number": -5, "unit": "celsius"})]),
    ("half a cup", [("quantity", "half a cup", {"number": 0.5, "unit": "cup"})]),
    ("1/2 cup of milk", [("quantity", "1/2 cup", {"number": 0.5, "unit": "cup"})]),
    ("3,5 kg", [("quantity", "3,5 kg", {"number": 3.5, "unit": "kilogram"})]),
    ("80 km/h", [("quantity", "80 km/h", {"number": 80, "unit": "kilometer_per_hour"})]),
    ("twenty five eggs", [("number", "twenty five", {"number": 25, "integer": 25})]),
    ("two hundred and six", [("number", "two hundred and six", {"integer": 206})]),
    ("three thousand four hundred", [("number", "three thousand four hundred", {"integer": 3400})]),
    ("a dozen eggs", [("number", "a dozen", {"integer": 12})]),
    ("three point one four", [("number", "three point one four", {"number": 3.14})]),
    ("fifty percent", [("number", "fifty percent", {"number": 50, "unit": "percent", "fraction": 0.5})]),
    ("this one and the 3rd item and the second", []),
    ("version v1.5 or 1.2.3 on 192.168.1.1", []),
    ("room A4, flight LH2040", []),
    ("set a timer for an hour and twenty minutes", [("duration", "an hour and twenty minutes", {"duration": "PT1H20M"})]),
    ("start a 25-minute timer", [("duration", "25-minute", {"duration": "PT25M", "number": 25.0, "unit": "minute"})]),
    ("an hour and a half", [("duration", "an hour and a half", {"duration": "PT1H30M"})]),
    ("2h30", [("duration", "2h30", {"duration": "PT2H30M"})]),
    ("1h 15m", [("duration", "1h 15m", {"duration": "PT1H15M"})]),
    ("two weeks and 3 days", [("duration", "two weeks and 3 days", {"duration": "P17D"})]),
    ("for a couple of hours", [("duration", "a couple of hours", {"duration": "PT2H"})]),
    ("90 min", [("duration", "90 min", {"duration": "PT1H30M"})]),
    ("for two months", [("duration", "two months", {"duration": "P60D"})]),
    ("2 hours 15 for the brisket", [("duration", "2 hours 15", {"duration": "PT2H15M"})]),
    ("an hour and a quarter", [("duration", "an hour and a quarter", {"duration": "PT1H15M"})]),
    ("a timer for an hour and twenty", [("duration", "an hour and twenty", {"duration": "PT1H20M"})]),
    ("an hour and twenty people", [("duration", "an hour", {"duration": "PT1H"}), ("number", "twenty", {})]),
    ("start a half hour one", [("duration", "a half hour", {"duration": "PT30M"})]),
    ("the under 12s", []),
    ("a timer of 12s", [("duration", "12s", {"duration": "PT12S"})]),
    ("2 hours 15 people", [("duration", "2 hours", {"duration": "PT2H"}), ("number", "15", {})]),
    ("I want three uninterrupted hours", [("duration", "three uninterrupted hours", {"duration": "PT3H"})]),
    ("the first free hour", [("duration", "free hour", {"duration": "PT1H"})]),
    ("find me a free hour", [("duration", "a free hour", {"duration": "PT1H"})]),
    ("squeeze in 30 minutes", [("duration", "30 minutes", {"duration": "PT30M"})]),
    ("a timer that ends in 55 minutes", [("time", "55 minutes", {"duration": "PT55M", "datetime": "2026-11-20T10:25:00+01:00"})]),
    ("snooze the laundry for 3 hours", [("duration", "3 hours", {"duration": "PT3H", "datetime": "2026-11-20T12:30:00+01:00"})]),
    ("book it for 3 hours", [("duration", "3 hours", {"duration": "PT3H", "datetime": None})]),
    ("twice a day", []),
    ("she is 5 years old", [("number", "5", {"integer": 5})]),
    ("open https://news.example.com/today?x=1. Then go", [("url", "https://news.example.com/today?x=1", {"url": "https://news.example.com/today?x=1"})]),
    ("see https://en.wikipedia.org/wiki/Hearth_(novel)", [("url", "https://en.wikipedia.org/wiki/Hearth_(novel)", {})]),
    ("look at www.example.org", [("url", "www.example.org", {"url": "https://www.example.org"})]),
    ("example.com/a", [("url", "example.com/a", {"url": "https://example.com/a"})]),
    ("go home.it is late", []),
    ("move photos/2025/beach.jpg to archive/", [("file", "photos/2025/beach.jpg", {"name": "beach.jpg"}), ("file", "archive/", {"path": "archive/", "name": "archive"})]),
    ("open ~/notes/todo.md", [("file", "~/notes/todo.md", {"path": "~/notes/todo.md", "name": "todo.md"})]),
    (r"C:\Users\kim\a.txt", [("file", r"C:\Users\kim\a.txt", {"name": "a.txt"})]),
    ('attach "my holiday plan.docx"', [("file", "my holiday plan.docx", {"path": "my holiday plan.docx"})]),
    ("report-2026-11-20.pdf", [("file", "report-2026-11-20.pdf", {})]),
    ("he/she and/or both", []),
    ("write 'back at six' on it", [("quoted", "'back at six'", {"text": "back at six"})]),
    ("don't say it's over, that's fine", []),
    ("add a note titled “Trip ideas”", [("quoted", "“Trip ideas”", {"text": "Trip ideas"})]),
    ('say "call Anna at 5"', [("quoted", '"call Anna at 5"', {"text": "call Anna at 5"})]),
    ('mail "ben@x.org"', [("email", "ben@x.org", {"email": "ben@x.org"})]),
    ("„Guten Morgen“", [("quoted", "„Guten Morgen“", {"text": "Guten Morgen"})]),
    ("put 3 lemons on the shopping list", [("number", "3", {"integer": 3}), ("list", "shopping list", {"name": "shopping list"})]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), VALUES)
def test_values(text: str, wanted: list[tuple[str, str, dict[str, object]]]) -> None:
    found = find(text)
    assert [(slot.kind, slot.text) for slot in found] == [(kind, part) for kind, part, _ in wanted]
    for slot, (_, _, views) in zip(found, wanted, strict=True):
        assert {view: slot.views.get(view) for view in views} == views


def test_an_ambiguous_name_says_so() -> None:
    (anna, ben) = find("anna and ben")
    assert (anna.is_ambiguous, ben.is_ambiguous) == (True, False)


def test_a_changed_context_is_not_mistaken_for_the_one_before() -> None:
    for name in ("Mia Berg", "Noa Lind", "Mia Berg"):
        (slot,) = find_slots("call mia and noa", NOW, Context(entities=(Entity(name, "person"),)))
        assert slot.views["name"] == name


def test_slots_can_be_kept_in_a_set() -> None:
    assert len({*find("call ben and anna"), *find("call ben and anna")}) == 2


def test_every_slot_has_its_text_as_a_view() -> None:
    for slot in find("mail Anna Weber report.pdf tomorrow at 5 for 2 hours, 3 km, 15% of 80, ben@x.org"):
        assert slot.views["text"] == slot.text


# ── Phone numbers ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "country", "wanted"),
    [
        ("call +49 151 23456789", "DE", {"+49 151 23456789": "+4915123456789"}),
        ("call +1 (415) 555-2671 now", "DE", {"+1 (415) 555-2671": "+14155552671"}),
        ("dial 030 1234567 at 5", "DE", {"030 1234567": "+49301234567"}),
        ("0171/2345678", "DE", {"0171/2345678": "+491712345678"}),
        ("(415) 555-2671", "US", {"(415) 555-2671": "+14155552671"}),
        ("415-555-2671", "US", {"415-555-2671": "+14155552671"}),
        ("0044 20 7946 0958", "DE", {"0044 20 7946 0958": "+442079460958"}),
        ("+442079460958", "", {"+442079460958": "+442079460958"}),
        ("call 020 7946 0958", "", {"020 7946 0958": "02079460958"}),
        ("+49 151 23456789, +49 30 1234567", "DE", {"+49 151 23456789": "+4915123456789", "+49 30 1234567": "+49301234567"}),
        ("my card is 4111 1111 1111 1111", "US", {}),
        ("card 4111111111111111 please", "US", {}),
        ("card number 3782 822463 10005", "US", {}),
        ("IBAN DE89 3704 0044 0532 0130 00", "DE", {}),
        ("order 20261120123", "DE", {}),
        ("on 24.12.2026 or 2026-12-24 or 12/24/2026", "US", {}),
        ("0.123456789", "DE", {}),
        ("it costs 1234567 euros", "DE", {}),
        ("call me at 5", "DE", {}),
        ("192.168.100.200", "US", {}),
    ],
)  # fmt: skip
def test_phones(text: str, country: str, wanted: dict[str, str]) -> None:
    found = {slot.text: slot.views["phone"] for slot in find(text, country) if slot.kind == "phone"}
    assert found == wanted


@pytest.mark.parametrize("text", ["4111 1111 1111 1111", "DE89 3704 0044 0532 0130 00", "4111111111111111"])
def test_long_codes_are_no_amounts(text: str) -> None:
    assert find(f"my number is {text}") == ()


# ── Clauses and form ──────────────────────────────────────────────────────────────────────────────────────

CLAUSES = """
Find Anna Schmidt's number and call her || Find Anna Schmidt's number | call her
Remind me to buy milk, eggs and bread and call Ben || Remind me to buy milk, eggs and bread and call Ben
remind me to call Ben at 5 and email Anna Weber the report.pdf || remind me to call Ben at 5 | email Anna Weber the report.pdf
What is on my calendar tomorrow and when is my next dentist appointment? || What is on my calendar tomorrow | when is my next dentist appointment?
Find the mail from Ben, forward it to Anna Weber, and add a reminder to follow up on Friday || Find the mail from Ben | forward it to Anna Weber | add a reminder to follow up on Friday
Move my meeting with Anna and Ben to Friday; then tell them about it || Move my meeting with Anna and Ben to Friday | tell them about it
Add milk and book to the shopping list and then read it to me || Add milk and book to the shopping list | read it to me
Search for "cats and find dogs" and email it || Search for "cats and find dogs" | email it
Tomorrow, remind me to water the plants || Tomorrow, remind me to water the plants
If it rains, close the windows || If it rains, close the windows
When I say go, start the timer || When I say go, start the timer
I'd like to book a table for two at 7. Also, send Ben the address. || I'd like to book a table for two at 7 | send Ben the address
take a photo, after that send it to Ben || take a photo | send it to Ben
Create a note called Ideas and add it to my list and what's the weather like || Create a note called Ideas | add it to my list | what's the weather like
Set an alarm for 7 am and 8 am || Set an alarm for 7 am and 8 am
can you convert 5 miles to km and also 10 kg to pounds || can you convert 5 miles to km and also 10 kg to pounds
tell Ben that I'm late and call Anna || tell Ben that I'm late and call Anna
tell me who called and text Ben || tell me who called | text Ben
ask Ben to call me and send the file || ask Ben to call me and send the file
call Dr. Smith tomorrow. Cancel lunch. || call Dr. Smith tomorrow | Cancel lunch
mail ben@x.de at 8 p.m. Then go on. || mail ben@x.de at 8 p.m. | go on
Look up the phone number of Ben then call him || Look up the phone number of Ben | call him
I have been away since then. What happened? || I have been away since then | What happened?
Write an email to Ben, make it short, and send it || Write an email to Ben | make it short | send it
Call Anna and Ben || Call Anna and Ben
Create a list called fish and chips || Create a list called fish and chips
What's the time in London? And what's the date? || What's the time in London? | what's the date?
cancel my dentist appointment and find another slot next week, after that mail Anna Weber || cancel my dentist appointment | find another slot next week | mail Anna Weber
Note: call the bank; also buy stamps || Note: call the bank | buy stamps
Can you look up Ben's birthday and add it to my calendar? || Can you look up Ben's birthday | add it to my calendar?
and then and then || and then and then
12 minutes for the rice, oh and what's 2/3 of 450? || 12 minutes for the rice | what's 2/3 of 450?
set a timer for 8 minutes, and by the way what's 30% of 65 || set a timer for 8 minutes | what's 30% of 65
move the gym to tomorrow at 7 and, while you're at it, cancel the sauna || move the gym to tomorrow at 7 | cancel the sauna
find the phone list of the choir and, separately, my reminders for Wednesday || find the phone list of the choir | my reminders for Wednesday
remember that the key hangs in the shed, then tick off the key reminder || remember that the key hangs in the shed | tick off the key reminder
book the sauna on Friday at 8, plus a reminder at 7 || book the sauna on Friday at 8 | a reminder at 7
I'd like both the inspection moved to Tuesday at 9 and a reminder for it on Monday at 6 pm || I'd like both the inspection moved to Tuesday at 9 | a reminder for it on Monday at 6 pm
a timer for 30 minutes, a reminder tomorrow at 10 to pay and an entry on Monday at 9 || a timer for 30 minutes | a reminder tomorrow at 10 to pay | an entry on Monday at 9
any mail from the school, any events with them next week? || any mail from the school | any events with them next week?
cancel the sauna on Saturday, what's the date today, and 15 min timer || cancel the sauna on Saturday | what's the date today | 15 min timer
Wednesday 6 pm choir, Thursday 7 pm quiz night || Wednesday 6 pm choir | Thursday 7 pm quiz night
whos coming and have I got Ben's email || whos coming | have I got Ben's email
what time is it in Toronto, and has Ben emailed? || what time is it in Toronto | has Ben emailed?
Tomorrow at 5, remind me to call Ben || Tomorrow at 5, remind me to call Ben
write plasters and tick tweezers onto the list || write plasters and tick tweezers onto the list
when and where is the meeting || when and where is the meeting
cancel the meeting and the reminder || cancel the meeting and the reminder
add a contact for Ben with email ben@x.de and phone 030 1234567 || add a contact for Ben with email ben@x.de and phone 030 1234567
put an apple, a note and a pen on the list || put an apple, a note and a pen on the list
remind me on Friday, Saturday and Sunday at 6 || remind me on Friday, Saturday and Sunday at 6
remind me to write a note and a mail || remind me to write a note and a mail
tell Anna Weber that it fits and ask Ben whether he has a drill || tell Anna Weber that it fits | ask Ben whether he has a drill
tell Anna Weber to come and ask Ben about the drill || tell Anna Weber to come and ask Ben about the drill
tell Ben that I called and ask Ben himself || tell Ben that I called and ask Ben himself
book tea with Ben on the sunday then at 4 || book tea with Ben on the sunday then at 4
book tea with Ben then at 4 call Anna Weber || book tea with Ben | at 4 call Anna Weber
meet Ben on Friday at 5 or Saturday at 6 || meet Ben on Friday at 5 or Saturday at 6
""".strip()  # fmt: skip


@pytest.mark.parametrize("row", CLAUSES.splitlines())
def test_clauses(row: str) -> None:
    text, _, wanted = row.partition(" || ")
    found = clauses(text, find(text))
    assert [clause.text for clause in found] == wanted.split(" | ")
    assert all(text[clause.start : clause.end] == clause.text for clause in found)


def test_lines_of_a_list_are_clauses_without_their_bullets() -> None:
    text = "Please do this:\n- call Ben\n* buy milk\n1. add eggs\n2) email Anna Weber"
    assert [slot.text for slot in find(text)] == ["Ben", "Anna Weber"]
    found = [clause.text for clause in clauses(text, find(text))]
    assert found == ["Please do this:", "call Ben", "buy milk", "add eggs", "email Anna Weber"]


def test_each_clause_has_the_slots_that_lie_in_it() -> None:
    text = "call Ben at 5 and then mail Anna Weber tomorrow"
    found = clauses(text, find(text))
    assert [[slot.text for slot in clause.slots] for clause in found] == [["Ben", "5"], ["Anna Weber", "tomorrow"]]


def test_an_empty_text_has_neither_slots_nor_clauses() -> None:
    assert (find(""), clauses("", ())) == ((), ())
    assert clauses(" \n ", find(" \n ")) == clauses("...", find("...")) == ()


# ── Cost ──────────────────────────────────────────────────────────────────────────────────────────────────


def assert_read(text: str) -> None:
    """Assert that values stand where they say, and that each is of one clause."""
    slots = find(text)
    assert all(text[slot.start : slot.end] == slot.text for slot in slots)
    assert sum(len(clause.slots) for clause in clauses(text, slots)) == len(slots)


LONG = ["1", "tomorrow ", " ", "\n", ".", "a"]


@pytest.mark.parametrize("unit", LONG)
def test_100_kilobytes_of_the_same_are_read(unit: str) -> None:
    """What takes time in step with the square takes minutes."""
    assert_read(unit * (100_000 // len(unit)))


HOSTILE: list[str] = json.loads((DATA / "hostile_pieces.json").read_text())


@pytest.mark.parametrize("unit", [*HOSTILE, *LONG])
def test_hostile_text_takes_work_in_step_with_its_length(unit: str) -> None:
    assert grows_in_step(lambda n: assert_read(unit * (n // len(unit))), 1_000, 4_000)


def test_importing_brings_no_heavy_library() -> None:
    script = (
        "import sys, hearth.language.values.slots\n"
        "print(*({'phonenumbers', 'dateutil.parser', 'pint', 'numpy', 'dateparser', 'stdnum'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []


@pytest.mark.parametrize("text", ["whats bens number", "call annies phone", "what is josé álvarezs address"])
def test_a_name_with_an_s_and_no_apostrophe_is_the_name(text: str) -> None:
    (person,) = (slot for slot in find(text) if slot.kind == "person")
    assert person.views["name"] in {"Ben Okoro", "Anna Schmidt", "José Álvarez"}


def test_an_s_that_makes_another_word_is_no_possessive() -> None:
    assert not [slot for slot in find("it marks the wills") if slot.kind == "person"]


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("turn off the lamp\nand the heater", ["turn off the lamp\nand the heater"]),
        ("call mum\nand the lights off please", ["call mum", "the lights off please"]),
        ("turn off the lamp\nand turn on the heater", ["turn off the lamp", "turn on the heater"]),
        ("turn off the lamp\nthe heater too", ["turn off the lamp", "the heater too"]),
    ],
)
def test_a_line_that_names_one_more_thing_goes_on(text: str, cut: list[str]) -> None:
    assert [clause.text.removeprefix("and ") for clause in clauses(text, find(text))] == cut


def test_a_range_that_ends_behind_its_month_is_no_range() -> None:
    slots = find_slots("birthdays between 25th and 31st of this month", NOW, Context())
    assert all("31" not in str(slot.views.get("end", "")) for slot in slots)
