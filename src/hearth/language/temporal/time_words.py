"""Lists the English words for time: names, units, parts of the day, holidays, and their usual misspellings.

Nothing here depends on when a request is said.
"""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple, TypeAlias

from hearth.language.text.tokens import listed

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
