"""Reads birth dates and "since when" as people say them: `the 3rd of May`, `June 21st`, `2019-04-07`, `last year`."""

from __future__ import annotations

import datetime as dt

from hearth import patterns as re

MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_MONTH = "|".join(f"{name}|{name[:3]}" for name in MONTHS) + "|sept"
_DAY_MONTH = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH})\b\.?,?(?: (\d{{4}}))?", re.I)
_MONTH_DAY = re.compile(rf"\b({_MONTH})\.? (?:the )?(\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (\d{{4}}))?", re.I)
_ISO = re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b")
_NUMERIC = re.compile(r"\b(\d{1,2})[./](\d{1,2})[./]?(\d{4})?\b")
_YEAR = re.compile(r"\b(?:in )?((?:18|19|20)\d\d)\b")
_AGO = re.compile(
    r"\b(an?|one|two|three|four|five|six|seven|eight|nine|ten|\d{1,3}) (day|week|month|year)s? ago\b", re.I
)
_LASTED = re.compile(
    r"\bfor (an?|one|two|three|four|five|six|seven|eight|nine|ten|\d{1,3}) (day|week|month|year)s\b", re.I
)
_SINCE = re.compile(rf"\b(?:since|in|from) ({_MONTH})\b(?: ((?:19|20)\d\d))?", re.I)
_SINCE_YEAR = re.compile(r"\b(?:since|in|from) ((?:19|20)\d\d)\b", re.I)
_WORDS = ("a", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def is_tellable(moment: dt.datetime) -> bool:
    """Return whether a moment can be written in every zone: in the first and the last year there is, it may not."""
    return dt.MINYEAR < moment.year < dt.MAXYEAR


def _month(name: str) -> int:
    return next(k for k, month in enumerate(MONTHS, 1) if month.startswith(name.lower()[:3]))


def birthday_said(text: str, *, is_month_first: bool = False) -> tuple[int | None, int, int] | None:
    """Read year (None: not said), month and day of the first date in `text`; None if it holds no valid date."""
    year: int | None = None
    if found := _ISO.search(text):
        year, month, day = (int(part) for part in found.groups())
    elif found := _DAY_MONTH.search(text):
        year, month, day = _number(found[3]), _month(found[2]), int(found[1])
    elif found := _MONTH_DAY.search(text):
        year, month, day = _number(found[3]), _month(found[1]), int(found[2])
    elif found := _NUMERIC.search(text):
        first, second = int(found[1]), int(found[2])
        day, month = (second, first) if is_month_first else (first, second)
        year = _number(found[3])
    else:
        return None
    if year is None and (with_year := _YEAR.search(text)):
        year = int(with_year[1])
    try:
        dt.date(year or 2000, month, day)
    except ValueError:
        return None
    return year, month, day


def birthday_text(year: int | None, month: int, day: int) -> str:
    """Write a birthday: `3 May 1984`, or without the year `3 May`."""
    said = f"{day} {MONTHS[month - 1].capitalize()}"
    return f"{said} {year}" if year else said


def year_of_birth(age: int, month: int, day: int, now: dt.datetime) -> int:
    """Compute the year of birth of somebody who turns `age` on that day, the next time it comes."""
    is_past = (month, day) < (now.month, now.day)
    return now.year + is_past - age


def since_said(text: str, now: dt.datetime) -> dt.datetime | None:
    """Read since when something is so, if `text` says ("since 2019", "in March", "two weeks ago", "for three years"):
    the beginning of the period it names, never later than `now`."""
    begins: dt.datetime | None = None
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if found := _AGO.search(text) or _LASTED.search(text):
        count = found[1].lower()
        n = int(count) if count.isdigit() else _WORDS.index("a" if count == "an" else count) or 1
        begins = _before(midnight, n, found[2].lower())
    elif found := _SINCE.search(text):
        year = _number(found[2]) or now.year - (_month(found[1]) > now.month)
        begins = midnight.replace(year=year, month=_month(found[1]), day=1)
    elif found := _SINCE_YEAR.search(text):
        begins = midnight.replace(year=int(found[1]), month=1, day=1)
    elif re.search(r"\blast year\b", text, re.I):
        begins = midnight.replace(year=now.year - 1, month=1, day=1)
    elif re.search(r"\blast month\b", text, re.I):
        begins = (midnight.replace(day=1) - dt.timedelta(days=1)).replace(day=1)
    elif re.search(r"\blast week\b", text, re.I):
        begins = midnight - dt.timedelta(days=now.weekday() + 7)
    elif re.search(r"\byesterday\b", text, re.I):
        begins = midnight - dt.timedelta(days=1)
    return begins if begins is not None and begins <= now else None


def _before(moment: dt.datetime, n: int, unit: str) -> dt.datetime | None:
    if unit in ("day", "week"):
        return moment - dt.timedelta(days=n * (7 if unit == "week" else 1))
    months = moment.year * 12 + moment.month - 1 - n * (12 if unit == "year" else 1)
    if months < 12:
        return None
    return moment.replace(year=months // 12, month=months % 12 + 1, day=min(moment.day, 28))


def _number(text: str | None) -> int | None:
    return int(text) if text else None
