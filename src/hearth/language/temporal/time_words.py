"""The words that times are made of, and the moments they stand for."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from hearth.formats.tool_signature import duration_text
from hearth.language.tokens import listed
from hearth.types import Plain

# ── Words ─────────────────────────────────────────────────────────────────────────────────────────────────
# Lists the English words for time: names, units, parts of the day, holidays, and their usual misspellings.
#
# Nothing here depends on when a request is said.

WEEKDAYS = {
    name: index
    for index, names in enumerate(
        (
            "monday mon",
            "tuesday tue tues",
            "wednesday wed weds",
            "thursday thu thur thurs",
            "friday fri",
            "saturday sat",
            "sunday sun",
        )
    )
    for name in names.split()
}
WEEKDAYS_PLURAL = {f"{name}s": index for name, index in WEEKDAYS.items() if name.endswith("day")}
RISKY_WEEKDAYS = frozenset({"sun", "sat", "wed", "mon"})
"""Abbreviations that are also other words or names: they need a cue, a capital, or a clock time beside them."""
DAY_CODES = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")

MONTHS = {
    name: index
    for index, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sep sept",
            "october oct",
            "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
RISKY_MONTHS = frozenset({"may", "march", "mar", "jan", "dec", "august", "april", "june"})
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""First month of each season; northern, three whole months."""

SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, YEAR = "second", "minute", "hour", "day", "week", "month", "year"
UNITS: dict[str, tuple[str, float]] = {
    "second": (SECOND, 1),
    "sec": (SECOND, 1),
    "minute": (MINUTE, 1),
    "min": (MINUTE, 1),
    "hour": (HOUR, 1),
    "hr": (HOUR, 1),
    "day": (DAY, 1),
    "night": (DAY, 1),
    "week": (WEEK, 1),
    "wk": (WEEK, 1),
    "fortnight": (WEEK, 2),
    "month": (MONTH, 1),
    "quarter": (MONTH, 3),
    "year": (YEAR, 1),
    "yr": (YEAR, 1),
    "decade": (YEAR, 10),
}
UNITS |= {f"{name}s": value for name, value in UNITS.items()}
UNITS |= {"s": (SECOND, 1), "m": (MINUTE, 1), "h": (HOUR, 1), "d": (DAY, 1)}
SHORT_UNITS = frozenset({"s", "m", "h", "d"})
"""Units only when they touch their number."""
UNITS |= {"minuts": (MINUTE, 1), "mintues": (MINUTE, 1), "minuets": (MINUTE, 1), "houres": (HOUR, 1)}
UNITS |= {"secounds": (SECOND, 1), "weeek": (WEEK, 1), "weaks": (WEEK, 1), "monthes": (MONTH, 1)}
SECONDS = {SECOND: 1, MINUTE: 60, HOUR: 3600, DAY: 86_400, WEEK: 604_800}


class Part(NamedTuple):
    """A part of the day: its hours, and the hour that stands for it when one moment is asked for."""

    start: int
    end: int
    moment: int


PARTS = {
    "morning": Part(6, 12, 9),
    "forenoon": Part(6, 12, 9),
    "afternoon": Part(12, 18, 14),
    "evening": Part(18, 22, 18),
    "eve": Part(18, 22, 18),
    "night": Part(18, 24, 20),
    "lunchtime": Part(12, 14, 12),
    "teatime": Part(16, 18, 16),
    "dinnertime": Part(18, 20, 18),
    "breakfast": Part(7, 10, 8),
    "lunch": Part(12, 14, 12),
    "dinner": Part(18, 20, 18),
}
MEALS = frozenset({"breakfast", "lunch", "dinner"})
"""Parts of the day only after "before", "after", "at", "until" and "by"."""
OCCUPIED = {
    ("before", "work"): Part(8, 18, 7),
    ("before", "school"): Part(7, 16, 7),
    ("after", "work"): Part(8, 18, 18),
    ("after", "school"): Part(7, 16, 16),
}
"""Hours of which only what is before and after them is said as a time."""
EARLY = {"morning": Part(6, 9, 7), "afternoon": Part(12, 15, 13), "evening": Part(18, 20, 18), "": Part(6, 10, 7)}
LATE = {
    "morning": Part(10, 12, 10),
    "afternoon": Part(15, 18, 16),
    "evening": Part(20, 22, 21),
    "night": Part(21, 24, 22),
    "": Part(18, 24, 20),
}
FIRST_THING = Part(6, 9, 8)
END_OF_DAY = Part(17, 18, 17)

MORNING_WORDS = frozenset(["wake", "alarm", "breakfast", "jog", "jogging", "sunrise"])
EVENING_WORDS = frozenset(
    listed("dinner supper party concert movie movies film cinema theatre theater drinks pub bar opera disco sunset")
)

MOVING = frozenset(listed("move reschedule postpone shift push moved change delay bring slide bump nudge"))
MOVED = frozenset(listed("alarm meeting appointment reminder event call lunch dinner breakfast flight it"))
COUNTING = frozenset(
    listed(
        "number numbers random count pick choose pages page score scale rate rows lines multiply multiplied "
        "divide divided increase increased decrease reduce raise convert temperature thermostat volume "
        "heating heat heater radiator radiators furnace "
        "brightness chapters chapter levels level"
    )
)
"""Words near which a bare number is not an hour."""

SPELLINGS = {
    "tmrw": "tomorrow",
    "tmr": "tomorrow",
    "tmw": "tomorrow",
    "tomo": "tomorrow",
    "tommorow": "tomorrow",
    "tommorrow": "tomorrow",
    "tomoro": "tomorrow",
    "2moro": "tomorrow",
    "2morrow": "tomorrow",
    "tonite": "tonight",
    "2nite": "tonight",
    "2day": "today",
    "todya": "today",
    "toady": "today",
    "yest": "yesterday",
    "ystrday": "yesterday",
    "yday": "yesterday",
    "wensday": "wednesday",
    "wendsday": "wednesday",
    "wenesday": "wednesday",
    "weds": "wednesday",
    "wednsday": "wednesday",
    "teusday": "tuesday",
    "tuseday": "tuesday",
    "thrusday": "thursday",
    "thrsday": "thursday",
    "saterday": "saturday",
    "satday": "saturday",
    "feburary": "february",
    "febuary": "february",
    "janurary": "january",
    "setember": "september",
    "setpember": "september",
    "agust": "august",
    "augest": "august",
    "apirl": "april",
    "aprill": "april",
    "marhc": "march",
    "juni": "june",
    "jully": "july",
    "mornign": "morning",
    "morining": "morning",
    "evning": "evening",
    "evenning": "evening",
    "afternon": "afternoon",
    "aftenoon": "afternoon",
    "midnite": "midnight",
    "nite": "night",
    "xmas": "christmas",
    "chrismas": "christmas",
    "cristmas": "christmas",
    "weekand": "weekend",
    "everyday": "everyday",
    "arvo": "afternoon",
    "afore": "before",
    "b4": "before",
    "morrow": "tomorrow",
    "till": "until",
    "til": "until",
    "untill": "until",
    "thru": "through",
    "evry": "every",
    "bewteen": "between",
    "nxt": "next",
    "minites": "minutes",
    "fortnite": "fortnight",
}
_GUESSED = listed(
    "monday tuesday wednesday thursday friday saturday sunday january february september october november "
    "december tomorrow yesterday weekend tonight christmas"
)
_NOT_GUESSED = frozenset(["sundae", "sundry", "mondays", "tonic", "weekends", "weekender"])


def _deletions(word: str) -> set[str]:
    return {word, *(word[:i] + word[i + 1 :] for i in range(len(word)))}


_NEAR: dict[str, str] = {}
for _word in _GUESSED:
    for _form in _deletions(_word):
        _NEAR.setdefault(_form, _word)


def spelling(word: str) -> str:
    """Return the time word that was meant: `tommorow` is `tomorrow`. Other words are returned as they are.

    Day and month names of six letters or more are recognised with one letter wrong, missing, doubled or swapped with
    its neighbour, if the first letter is right.
    """
    known = SPELLINGS.get(word)
    if known is not None:
        return known
    if not 6 <= len(word) <= 10 or word[0] not in "mtwfsjondyc" or word in _NOT_GUESSED or word in WEEKDAYS_PLURAL:
        return word
    for form in _deletions(word):
        near = _NEAR.get(form)
        if near is not None and near[0] == word[0] and abs(len(near) - len(word)) <= 1:
            return near
    return word


# ── Holidays ──────────────────────────────────────────────────────────────────────────────────────────────


def _fixed(month: int, day: int) -> tuple[int, int, int, int]:
    return (month, day, 0, 0)


_Rule: TypeAlias = tuple[int, int, int, int]


def _of_saint(name: str, month: int, day: int) -> dict[tuple[str, ...], _Rule]:
    """Return how the day of a saint is said, with the apostrophe and without."""
    said = (("st", name, "'s", "day"), ("saint", name, "'s", "day"), ("st", f"{name}s", "day"))
    return dict.fromkeys(said, _fixed(month, day))


_EASTER = 0
HOLIDAYS: dict[tuple[str, ...], _Rule] = {
    ("christmas",): _fixed(12, 25),
    ("christmas", "day"): _fixed(12, 25),
    ("christmas", "eve"): _fixed(12, 24),
    ("boxing", "day"): _fixed(12, 26),
    ("new", "year", "'s", "eve"): _fixed(12, 31),
    ("new", "years", "eve"): _fixed(12, 31),
    ("new", "year", "eve"): _fixed(12, 31),
    ("nye",): _fixed(12, 31),
    ("hogmanay",): _fixed(12, 31),
    ("new", "year", "'s", "day"): _fixed(1, 1),
    ("new", "years", "day"): _fixed(1, 1),
    ("new", "year", "'s"): _fixed(1, 1),
    ("epiphany",): _fixed(1, 6),
    ("valentine", "'s", "day"): _fixed(2, 14),
    ("valentines", "day"): _fixed(2, 14),
    ("valentine", "'s"): _fixed(2, 14),
    **_of_saint("patrick", 3, 17),
    **_of_saint("stephen", 12, 26),
    ("stephens", "day"): _fixed(12, 26),
    ("paddys", "day"): _fixed(3, 17),
    ("paddy", "'s", "day"): _fixed(3, 17),
    **_of_saint("brigid", 2, 1),
    **_of_saint("david", 3, 1),
    **_of_saint("george", 4, 23),
    **_of_saint("andrew", 11, 30),
    ("bonfire", "night"): _fixed(11, 5),
    ("burns", "night"): _fixed(1, 25),
    ("april", "fools", "day"): _fixed(4, 1),
    ("may", "day"): _fixed(5, 1),
    ("independence", "day"): _fixed(7, 4),
    ("halloween",): _fixed(10, 31),
    ("st", "nicholas", "day"): _fixed(12, 6),
    ("thanksgiving",): (11, 0, 3, 4),
    ("thanksgiving", "day"): (11, 0, 3, 4),
    ("black", "friday"): (11, 1, 3, 4),
    ("labor", "day"): (9, 0, 0, 1),
    ("labour", "day"): _fixed(5, 1),
    ("memorial", "day"): (5, 0, 0, -1),
    ("mother", "'s", "day"): (5, 0, 6, 2),
    ("mothers", "day"): (5, 0, 6, 2),
    ("father", "'s", "day"): (6, 0, 6, 3),
    ("fathers", "day"): (6, 0, 6, 3),
    ("easter",): (_EASTER, 0, 0, 0),
    ("easter", "sunday"): (_EASTER, 0, 0, 0),
    ("easter", "monday"): (_EASTER, 1, 0, 0),
    ("shrove", "tuesday"): (_EASTER, -47, 0, 0),
    ("pancake", "day"): (_EASTER, -47, 0, 0),
    ("mothering", "sunday"): (_EASTER, -21, 0, 0),
    ("good", "friday"): (_EASTER, -2, 0, 0),
    ("maundy", "thursday"): (_EASTER, -3, 0, 0),
    ("ash", "wednesday"): (_EASTER, -46, 0, 0),
    ("ascension", "day"): (_EASTER, 39, 0, 0),
    ("pentecost",): (_EASTER, 49, 0, 0),
    ("whit", "monday"): (_EASTER, 50, 0, 0),
}
"""Rule of each holiday: (month, day, 0, 0); or (month, days later, weekday, which one; -1 the last); or (0, days after
Easter Sunday, 0, 0). Thanksgiving is the American one unless the country is Canada; Mother's and Father's Day are the
American ones.
"""
HOLIDAY_STARTS = frozenset(words[0] for words in HOLIDAYS)


def _easter(year: int) -> dt.date:
    """Return Easter Sunday of a Gregorian year.

    Source:
        The anonymous algorithm of "Nature", 1876, in Meeus, Astronomical Algorithms (2nd ed., 1998), chapter 8.
    """
    a, b, c = year % 19, year // 100, year % 100
    g = (8 * b + 13) // 25
    h = (19 * a + b - b // 4 - g + 15) % 30
    m = (a + 11 * h) // 319
    i, k = divmod(c, 4)
    r = (2 * (b % 4) + 2 * i - k - h + m + 32) % 7
    month = (h - m + r + 90) // 25
    day = (h - m + r + month + 19) % 32
    return dt.date(year, month, day)


def holiday(words: tuple[str, ...], year: int, country: str) -> dt.date:
    """Return the day a holiday of `HOLIDAYS` falls on in a year (1583 to 4099)."""
    month, day, weekday, which = HOLIDAYS[words]
    if month == _EASTER:
        return _easter(year) + dt.timedelta(days=day)
    if words[0] == "thanksgiving" and country == "CA":
        return nth_weekday(year, 10, 0, 2)
    if which == 0:
        return dt.date(year, month, day)
    return nth_weekday(year, month, weekday, which) + dt.timedelta(days=day)


def nth_weekday(year: int, month: int, weekday: int, which: int) -> dt.date:
    """Return the first, second, … (1, 2, …) or last (-1) such weekday of a month."""
    if which < 0:
        end = add_months(dt.date(year, month, 1), 1) - dt.timedelta(days=1)
        return end - dt.timedelta(days=(end.weekday() - weekday) % 7)
    first = dt.date(year, month, 1)
    return first + dt.timedelta(days=(weekday - first.weekday()) % 7 + 7 * (which - 1))


def add_months(day: dt.date, months: int) -> dt.date:
    """Return the same day `months` later, or the last of that month when it has no such day."""
    index = day.year * 12 + day.month - 1 + months
    year, month = divmod(index, 12)
    last = (dt.date(year + month // 11, (month + 1) % 12 + 1, 1) - dt.timedelta(days=1)).day
    return dt.date(year, month + 1, min(day.day, last))


# ── Moments ───────────────────────────────────────────────────────────────────────────────────────────────
# Places a time expression on the calendar, as aware datetimes in the zone of the request.
#
# Days are counted by the wall clock, hours by elapsed time, so a day across a clock change has 23 or 25 hours. A time
# that the change skips is moved forward by it; of a time that comes twice the first is meant.
#
# How a bare hour is read (no am, pm, 24-hour form or part of the day): 12 is noon; 1 to 6 are in the afternoon; 7 to
# 11 are in the morning when a day is named, else whichever comes next. Words about waking or breakfast nearby make it
# morning, words about dinner or going out make it evening.

Leaning = Literal["", "am", "pm"]
ONE_DAY = dt.timedelta(days=1)
MORNING_HOUR = 9
"""Hour that stands for a day when one moment is asked for."""


@dataclass(slots=True)
class Clock:
    """A time of day; `is_exact` is False when it may be in either half of the day. Hour 24 is the coming midnight."""

    hour: int
    minute: int = 0
    second: int = 0
    is_exact: bool = True

    def seconds(self, hour: int | None = None) -> int:
        return (self.hour if hour is None else hour) * 3600 + self.minute * 60 + self.second

    def readings(self) -> tuple[int, ...]:
        """Return the seconds after midnight it may mean, ascending."""
        if self.is_exact:
            return (self.seconds(),)
        return (self.seconds(self.hour % 12), self.seconds(self.hour % 12 + 12))


@dataclass(slots=True)
class Said:
    """Content of one time expression; every field may be absent."""

    first: dt.date | None = None
    after: dt.date | None = None
    """Day after the last one; None with `first` means one day."""
    weekday: int | None = None
    """Weekday said without this, next or last: `first` is then only the default reading."""
    part: Part | None = None
    clock: Clock | None = None
    to_clock: Clock | None = None
    moment: dt.datetime | None = None
    stretch: tuple[dt.datetime, dt.datetime] | None = None
    stands_at: dt.datetime | None = None
    """Moment that stands for a day or stretch when it is not the morning."""
    bound: str = ""
    """`until`, `since`, `before`, `after`, `by`, `onward`; or empty."""
    is_within_day: bool = False
    """True when the bound belongs to a day named before it: "tomorrow until noon" begins with tomorrow."""
    length: dt.timedelta | None = None
    """Length from now, when said so: "in 20 minutes"; such a moment has no end."""
    beside: tuple[str, int] | None = None
    """A day, weekday or weekend that counts from a day named elsewhere, and 1 for after it, -1 for before it."""
    is_rest: bool = False
    """True when only the remainder is meant: later today, the rest of the week."""
    repeat: str = ""
    every: int = 1
    weekdays: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Clues:
    """Clues about an expression from the words around it."""

    is_past: bool = False
    leaning: Leaning = ""


def views(said: Said, now: dt.datetime, clues: Clues) -> tuple[dict[str, Plain], bool] | None:
    """Return the views of a time slot and whether it is timed; None when it falls off the calendar."""
    try:
        return _views(said, now, clues)
    except (ValueError, OverflowError):
        return None


def _views(said: Said, now: dt.datetime, clues: Clues) -> tuple[dict[str, Plain], bool]:
    if said.repeat:
        said = _first_of_repeat(said, now, clues)
    start, end, moment, is_timed = _placed(said, now, clues)
    has_range = said.to_clock is not None
    start_bound, end_bound = _bounded(said, start, end, now, is_timed)
    day = moment.date() if is_timed or said.first is None else said.first
    result: dict[str, Plain] = {"date": day.isoformat()}
    if said.clock is not None or said.moment is not None:
        result["time"] = moment.time().isoformat()
    result["datetime"] = moment.isoformat()
    if start_bound is not None:
        result["start"] = start_bound.isoformat()
    if end_bound is not None and said.length is None:
        result["end"] = end_bound.isoformat()
    if has_range:
        result["duration"] = duration_text(elapsed(start, end))
    elif said.length is not None:
        result["duration"] = duration_text(said.length)
    if said.repeat:
        result["repeat"] = said.repeat
        if said.every != 1:
            result["repeat_every"] = said.every
        if said.weekdays:
            result["repeat_days"] = [DAY_CODES[index] for index in said.weekdays]
    return result, is_timed


def moment_at(day: dt.date, seconds: int, now: dt.datetime) -> dt.datetime:
    """Return the moment `seconds` after the midnight that begins `day`, by the wall clock in the zone of `now`."""
    days, rest = divmod(seconds, 86_400)
    naive = dt.datetime.combine(day + dt.timedelta(days=days), dt.time()) + dt.timedelta(seconds=rest)
    aware = naive.replace(tzinfo=now.tzinfo)
    return aware.astimezone(dt.UTC).astimezone(now.tzinfo)


def later(now: dt.datetime, seconds: float) -> dt.datetime:
    """Return the moment `seconds` of elapsed time after `now` (negative: before)."""
    return (now.astimezone(dt.UTC) + dt.timedelta(seconds=seconds)).astimezone(now.tzinfo)


def elapsed(start: dt.datetime, end: dt.datetime) -> dt.timedelta:
    """Return the real time between two moments, across clock changes."""
    return end.astimezone(dt.UTC) - start.astimezone(dt.UTC)


def next_full_hour(now: dt.datetime) -> dt.datetime:
    """Return the coming full hour of the wall clock."""
    return later(now.replace(minute=0, second=0, microsecond=0), 3600)


# ── Where it falls ────────────────────────────────────────────────────────────────────────────────────────


def _placed(said: Said, now: dt.datetime, clues: Clues) -> tuple[dt.datetime, dt.datetime, dt.datetime, bool]:
    """Return start, end, the one moment that stands for the expression, and whether it is timed."""
    if said.moment is not None:
        return said.moment, later(said.moment, 60), said.moment, True
    if said.stretch is not None:
        start, end = said.stretch
        return start, end, said.stands_at or start, False
    if said.clock is not None:
        start, end = _clocked(said, said.clock, now, clues)
        return start, end, start, True
    if said.part is not None:
        return _parted(said, said.part, now, clues)
    first = said.first or now.date()
    start, end = moment_at(first, 0, now), moment_at(said.after or first + ONE_DAY, 0, now)
    moment = said.stands_at or moment_at(first, MORNING_HOUR * 3600, now)
    if said.stands_at is None and start <= now < end and moment <= now:
        moment = _soon(now, end)
    return start, end, moment, False


def _soon(now: dt.datetime, end: dt.datetime) -> dt.datetime:
    """Return the next full hour, or the next minute when that is too late."""
    hour = next_full_hour(now)
    return hour if hour < end else later(now.replace(second=0, microsecond=0), 60)


def _parted(
    said: Said, part: Part, now: dt.datetime, clues: Clues
) -> tuple[dt.datetime, dt.datetime, dt.datetime, bool]:
    day = said.first
    if day is None:
        day = now.date()
        if clues.is_past and moment_at(day, part.start * 3600, now) > now:
            day -= ONE_DAY
        elif not clues.is_past and moment_at(day, (part.moment if part.end <= 12 else part.end) * 3600, now) <= now:
            day += ONE_DAY
    start, end = moment_at(day, part.start * 3600, now), moment_at(day, part.end * 3600, now)
    moment = said.stands_at or moment_at(day, part.moment * 3600, now)
    if start <= now < end and moment <= now:
        moment = _soon(now, end)
    return start, end, moment, True


def _clocked(said: Said, clock: Clock, now: dt.datetime, clues: Clues) -> tuple[dt.datetime, dt.datetime]:
    days = _candidate_days(said, now, clues)
    if said.to_clock is not None:
        pairs = _range_readings(clock, said.to_clock, said.part, clues.leaning)
        options = [(moment_at(day, a, now), moment_at(day, b, now)) for day in days for a, b in pairs]
        if said.first is not None and (said.first != now.date() or said.repeat):
            return options[0]
        if clues.is_past:
            return max((o for o in options if o[0] <= now), default=options[0])
        return min((o for o in options if o[1] > now), default=options[0])
    readings = _readings(clock, said, clues.leaning)
    if said.first is not None and (said.first != now.date() or len(readings) == 1):
        moment = moment_at(said.first, readings[0], now)
    elif clues.is_past:
        past = [m for day in days for s in readings if (m := moment_at(day, s, now)) <= now]
        moment = max(past) if past else moment_at(days[0], readings[0], now)
    else:
        ahead = [m for day in days for s in readings if (m := moment_at(day, s, now)) > now]
        moment = min(ahead) if ahead else moment_at(days[0], readings[0], now)
    return moment, later(moment, 60)


def _candidate_days(said: Said, now: dt.datetime, clues: Clues) -> list[dt.date]:
    if said.first is not None:
        return [said.first]
    today = now.date()
    return [today, today - ONE_DAY] if clues.is_past else [today, today + ONE_DAY]


def _readings(clock: Clock, said: Said, leaning: Leaning) -> tuple[int, ...]:
    """Return the seconds after midnight that one clock time may mean, the likeliest first."""
    if clock.is_exact:
        return (clock.seconds(),)
    hour, early, late = clock.hour, clock.seconds(clock.hour % 12), clock.seconds(clock.hour % 12 + 12)
    if said.part is not None:
        if said.part.end <= 12:
            return (early,)
        if said.part.start >= 17 and (hour == 12 or hour <= 4):
            return (early + 86_400,)
        return (late,)
    if leaning == "am" and 3 <= hour <= 11:
        return (early,)
    if leaning == "pm" and 4 <= hour <= 11:
        return (late,)
    if hour == 12 or hour <= 6:
        return (late,)
    if said.first is None and not said.repeat:
        return (early, late)
    return (early,) if said.repeat else (early, late)


def _range_readings(clock: Clock, to_clock: Clock, part: Part | None, leaning: Leaning) -> list[tuple[int, int]]:
    """Return the possible start and end of a clock range, in seconds after midnight, the likeliest first."""
    starts, ends = clock.readings(), to_clock.readings()
    if not to_clock.is_exact and to_clock.hour == 12:
        ends = (*ends, to_clock.seconds(24))
    half_day_s = 43_200
    pairs = [(a, b) for a in starts for b in ends if a < b and (b - a <= half_day_s or to_clock.is_exact)]
    if part is not None and part.end <= 12 and clock.hour == 24:  # "between midnight and six this morning"
        return [(0, ends[0])]
    if not pairs:
        return [(a, b + 86_400) for a in starts[-1:] for b in ends[:1]]
    if not clock.is_exact and to_clock.is_exact:
        return [max(pairs)]
    if clock.is_exact:
        return [min(pairs)]
    if part is not None:
        middle = (part.start + part.end) * 1800
        return [min(pairs, key=lambda pair: (abs(pair[0] - middle), pair[1]))]
    wanted = starts[0] if _is_morning(clock, leaning) else starts[-1]
    likely = [pair for pair in pairs if pair[0] == wanted]
    return _alike(min(likely) if likely else (starts[-1], ends[0] + 86_400), pairs, leaning)


def _alike(first: tuple[int, int], pairs: list[tuple[int, int]], leaning: Leaning) -> list[tuple[int, int]]:
    """Return a range and, where nothing says which half of the day, the later ones that are as long."""
    others = [] if leaning else [p for p in pairs if p[0] > first[0] and p[1] - p[0] == first[1] - first[0]]
    return [first, *others]


def _is_morning(clock: Clock, leaning: Leaning) -> bool:
    """Return whether the first of a range's two readings is the likelier, where nothing of it says am or pm."""
    return leaning == "am" if leaning and clock.hour != 12 else clock.hour in (7, 8, 9, 10, 11)


# ── Bounds and repeats ────────────────────────────────────────────────────────────────────────────────────


def _bounded(
    said: Said, start: dt.datetime, end: dt.datetime, now: dt.datetime, is_timed: bool
) -> tuple[dt.datetime | None, dt.datetime | None]:
    """Apply "until", "since", "before", "after", "by", "from … on" to start and end; None where a side is open."""
    if said.is_rest:
        return max(start, now), end
    if not said.bound:
        return start, end
    if said.bound in ("until", "by", "before"):
        return _until(said, start, end, now)
    if said.bound == "after":
        return _after(said, start if _is_clocked(said) or said.moment is not None else end, now, is_timed=is_timed)
    return start, (now if said.bound == "since" and start <= now else None)


def _is_clocked(said: Said) -> bool:
    """Return whether one clock time is said, and no range of two."""
    return said.clock is not None and said.to_clock is None


def _until(
    said: Said, start: dt.datetime, end: dt.datetime, now: dt.datetime
) -> tuple[dt.datetime | None, dt.datetime]:
    """Return the stretch up to a bound, from now or from the beginning of its day on."""
    is_clocked = _is_clocked(said)
    limit = start if is_clocked or said.moment is not None or said.bound == "before" else end
    opening = now
    is_of_day = said.is_within_day and (is_clocked or said.part is not None)
    if (is_of_day or (is_clocked and said.bound == "before")) and said.first is not None and said.first != now.date():
        opening = moment_at(said.first, 0, now)
    return (opening if opening <= limit else None), limit


def _after(
    said: Said, begin: dt.datetime, now: dt.datetime, *, is_timed: bool
) -> tuple[dt.datetime, dt.datetime | None]:
    """Return the stretch from a bound on, to the end of its day where an hour is said."""
    if is_timed and said.part is not None and said.part.end > 24 and said.first is not None:
        return begin, moment_at(said.first, said.part.end * 3600, now)  # "last night after eleven"
    if is_timed:
        return begin, moment_at(begin.date() + ONE_DAY, 0, now)
    return begin, (now if begin < now else None)


def _first_of_repeat(said: Said, now: dt.datetime, clues: Clues) -> Said:
    """Return the expression with the day of its first occurrence that is still to come."""
    begins = now.date()
    if said.after is not None and said.first is not None and _recurs_within(said, clues):
        begins = max(said.first, begins)
    elif said.first is not None or said.repeat in ("hourly", "minutely"):
        return said
    day = begins
    for n in range(1, 9):
        day_said = _on(said, day)
        matches = not said.weekdays or day.weekday() in said.weekdays
        if matches and _is_ahead(day_said, now, clues) and _starts(said, day, now):
            return day_said
        if said.weekdays or said.repeat == "daily":
            day = begins + n * ONE_DAY
        elif said.repeat == "weekly":
            day = begins + 7 * n * ONE_DAY
        else:
            day = add_months(begins, n * (12 if said.repeat == "yearly" else 1))
    return _on(said, day)


_DAYS_OF_REPEAT = {"daily": 1, "weekly": 7, "monthly": 28, "yearly": 365}


def _recurs_within(said: Said, clues: Clues) -> bool:
    """Return whether a repeat comes back within a stretch of days: "every Monday this month", "daily this week at 6".

    Not where the stretch itself comes back, "the first week of every month". "Every day this week", without hours, is
    the week.
    """
    if said.first is None or said.after is None or said.repeat not in _DAYS_OF_REPEAT or clues.is_past:
        return False
    is_long = (said.after - said.first).days >= _DAYS_OF_REPEAT[said.repeat]
    return is_long and (said.clock is not None or said.part is not None or bool(said.weekdays))


def _is_ahead(said: Said, now: dt.datetime, clues: Clues) -> bool:
    start, _, moment, is_timed = _placed(said, now, clues)
    return (start if is_timed else moment) > now


def _starts(said: Said, day: dt.date, now: dt.datetime) -> bool:
    """Return whether a repeat may begin on this day; an untimed one begins today only before its morning."""
    return bool(said.clock or said.part) or moment_at(day, MORNING_HOUR * 3600, now) > now


def _on(said: Said, day: dt.date) -> Said:
    return Said(
        first=day,
        part=said.part,
        clock=said.clock,
        to_clock=said.to_clock,
        bound=said.bound,
        repeat=said.repeat,
        every=said.every,
        weekdays=said.weekdays,
    )
