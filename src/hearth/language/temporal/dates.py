"""Reads calendar dates at a place in a request ("March 4th", "the 3rd", "4.3.2027", "Christmas") and stretches of days.

Rules where English is ambiguous: a day and month without a year means the next such day, today included (in the past:
the last one). Numbers with slashes are day first, except in `MONTH_FIRST` countries, unless only the other order is a
date; with dots always day first. Longer stretches are weeks, months, seasons, and those counted from now: weeks begin
on Monday, "the last three days" reaches back to the midnight that began them, hours are counted exactly.
"""

from __future__ import annotations

import datetime as dt

from hearth.language.temporal import moments
from hearth.language.temporal.clock_times import RANGE_MARKS, Line
from hearth.language.temporal.durations import length
from hearth.language.temporal.moments import DAY, Clock, Said
from hearth.language.temporal.time_words import (
    HOLIDAYS,
    MONTHS,
    RISKY_MONTHS,
    SEASONS,
    UNITS,
    WEEKDAYS,
    add_months,
    holiday,
)
from hearth.language.text.tokens import ONES, TENS, listed

Reading = tuple[Said, int] | None
MONTH_FIRST = frozenset({"US", "PH", "FM", "PW", "MH", "GU", "PR", "AS", "VI"})
DATE_CUES = frozenset(
    listed("on by until since before after from of for in between to during onward at than every each")
)
ORDINALS = {
    word: value
    for value, word in enumerate(
        listed(
            "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
            "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
        ),
        start=1,
    )
} | {"thirtieth": 30}
_AFTER_ORDINAL = frozenset(
    listed(
        "at to from until and or in for with by around before after - – this next , . ? ! ; : of every each "
        "please now is i between through what who same it it's isn't was wasn't won't can't has instead rather but "
        "than not"
    )
)
_ORDERED = frozenset(
    listed(
        "floor team grade class form year place birthday anniversary edition round hole chapter time attempt league "
        "eleven half quarter page row seat gate lane street avenue platform hour lesson meeting session visit one"
    )
)
"""What is counted by an ordinal after a weekday: "Monday the 7th floor"."""


_YEARS = {"last": -1, "this": 0, "next": 1}


def holiday_day(line: Line, index: int, which: int) -> Reading:
    """Read a holiday: its next day (which=0 or 1), or the last one before today (-1)."""
    for n_words in (4, 3, 2, 1):
        words = tuple(line.words[index : index + n_words])
        if len(words) == n_words and words in HOLIDAYS:
            break
    else:
        return None
    place = index + n_words
    year = line.today.year
    if is_year(line.word(place)):
        return Said(first=holiday(words, int(line.word(place)), line.country)), place + 1
    if line.word(place) in _YEARS and line.word(place + 1) in ("year", "yr"):
        said = line.today.year + _YEARS[line.word(place)]
        return Said(first=holiday(words, said, line.country)), place + 2
    if line.is_past or which < 0:
        found = max(d for y in (year - 1, year) if (d := holiday(words, y, line.country)) < line.today)
    else:
        found = min(d for y in (year, year + 1) if (d := holiday(words, y, line.country)) >= line.today)
    return Said(first=found), place


def is_year(word: str) -> bool:
    return len(word) == 4 and word.isdecimal() and 1900 <= int(word) <= 2199


def _date(year: int, month: int, number: int) -> dt.date | None:
    try:
        return dt.date(year, month, number)
    except ValueError:
        return None


def _next_date(line: Line, month: int, number: int) -> dt.date | None:
    """Return the next such date, today included; in the past, the last one. Searches nine years, for leap days."""
    years = range(line.today.year, line.today.year + 9)
    if line.is_past:
        years = range(line.today.year, line.today.year - 9, -1)
    for year in years:
        found = _date(year, month, number)
        if found is not None and (found <= line.today if line.is_past else found >= line.today):
            return found
    return None


def with_year(line: Line, index: int, month: int) -> tuple[dt.date, int]:
    """Return the first day of a month, in the year said at `index`, else in the next or the last such month."""
    place = index + 1 if line.word(index) in (",", "of") else index
    if is_year(line.word(place)):
        return dt.date(int(line.word(place)), month, 1), place + 1
    today = line.today
    year = today.year
    if line.is_past and month > today.month:
        year -= 1
    elif not line.is_past and month < today.month:
        year += 1
    return dt.date(year, month, 1), index


def iso_date(line: Line, index: int) -> Reading:
    text = line.tokens[index].low.upper().replace(" ", "T")
    date, _, clock = text.partition("T")
    if clock.find(":") == 1:
        clock = f"0{clock}"
    try:
        if not clock:
            return Said(first=dt.date.fromisoformat(date)), index + 1
        stamp = dt.datetime.fromisoformat(f"{date}T{clock}").replace(microsecond=0)
    except ValueError:
        return None
    if stamp.tzinfo is not None:
        return Said(moment=stamp.astimezone(line.now.tzinfo)), index + 1
    return Said(first=stamp.date(), clock=Clock(stamp.hour, stamp.minute, stamp.second)), index + 1


def numeric_date(line: Line, index: int) -> Reading:
    word = line.words[index]
    mark = next(c for c in word if not c.isdecimal())
    a, b, year = (int(part) for part in word.split(mark))
    year += 2000 if year < 100 else 0
    found = _ordered(line, a, b, year, mark)
    return (Said(first=found), index + 1) if found is not None else None


def _ordered(line: Line, a: int, b: int, year: int, mark: str) -> dt.date | None:
    is_month_first = mark != "." and line.country.upper() in MONTH_FIRST
    month, number = (a, b) if is_month_first else (b, a)
    return _date(year, month, number) or (_date(year, number, month) if mark != "." else None)


def day_and_month(line: Line, index: int, cue: str) -> Reading:
    """Read 4.3. or 3/4 without a year, only after a cue: it may be a fraction or a version."""
    word = line.words[index]
    if cue != "joined" and (cue not in DATE_CUES or cue in ("of", "in", "for", "at")):
        return None
    mark = "/" if "/" in word else "."
    a, b = (int(part) for part in word.strip(".").split(mark))
    sample = _ordered(line, a, b, 2000, mark)
    found = _next_date(line, sample.month, sample.day) if sample is not None else None
    return (Said(first=found), index + 1) if found is not None else None


def month_first(line: Line, text: str, index: int, cue: str) -> Reading:
    """Read March 4th, March 4th, 2028, March 3-5, March 2028, March."""
    word = line.words[index]
    month, place = MONTHS[word], index + 1
    if line.word(place) == "." and line.touches(place) and len(word) <= 4 and line.word(place + 1)[:1].isdecimal():
        place += 1
    place += line.word(place) == "the"
    number = day_number(line, place)
    if number is not None:
        if line.word(number[1]) in RANGE_MARKS or line.word(number[1]) in ("to", "until", "through"):
            second = day_number(line, number[1] + 1)
            if second is not None and second[0] > number[0] and not line.has_half(second[1]):
                return _dated_range(line, month, number[0], second[0], second[1])
        return dated(line, month, number[0], number[1])
    if line.word(place - 1) == "the":
        return None
    if word in RISKY_MONTHS and cue not in DATE_CUES - {"to"}:
        is_named = index > 0 and line.is_capital(text, index) and line.word(index - 1) not in ".!?"
        if not (is_named and word != "may") and not is_year(line.word(place)):
            return None
    first, place = with_year(line, place, month)
    return Said(first=first, after=add_months(first, 1)), place


def dated(line: Line, month: int, number: int, index: int) -> Reading:
    place = index + 1 if line.word(index) in (",", "of") else index
    if is_year(line.word(place)) and line.tokens[place].kind == "number":
        found = _date(int(line.word(place)), month, number)
        return (Said(first=found), place + 1) if found is not None else None
    if line.word(index) in _YEARS and line.word(index + 1) == "year":
        found = _date(line.today.year + _YEARS[line.word(index)], month, number)
        return (Said(first=found), index + 2) if found is not None else None
    found = _next_date(line, month, number)
    return (Said(first=found), index) if found is not None else None


def _dated_range(line: Line, month: int, number: int, until: int, index: int) -> Reading:
    last = dated(line, month, until, index)
    if last is None or last[0].first is None:
        return None
    first = _date(last[0].first.year, month, number)
    return (Said(first=first, after=last[0].first + DAY), last[1]) if first is not None else None


def day_number(line: Line, index: int) -> tuple[int, int] | None:
    """Read a day of the month, 4, 4th or fourth, and the index after it; not the hour of a time."""
    word = line.word(index)
    if word in ORDINALS:
        return ORDINALS[word], index + 1
    if word in ("twenty", "thirty"):
        place = index + 1 + (line.word(index + 1) == "-")
        second = ORDINALS.get(line.word(place), 0)
        return (TENS[word] + second, place + 1) if 1 <= second <= 9 else None
    if not (1 <= len(word) <= 2 and word.isdecimal() and 1 <= int(word) <= 31) or line.tokens[index].kind != "number":
        return None
    place = index + 1
    if line.touches(place) and line.tokens[place].kind == "word":
        return (int(word), place + 1) if line.words[place] in ("st", "nd", "rd", "th") else None
    return (int(word), place) if not line.has_half(place) and line.word(place) not in ("%", "°") else None


def number_first(line: Line, index: int, cue: str) -> Reading:
    """Read 4 March, the 4th of March 2027, 3 to 14 March, the 1st and the 5th of December; a year after a cue."""
    word = line.words[index]
    if line.touches(index) and line.words[index - 1] in ("$", "€", "£", "#", "/", "."):
        return None
    if is_year(word) and cue in ("in", "since", "until", "before", "after", "from", "by", "during", "of", "for"):
        if line.word(index + 1) and line.word(index + 1) not in _AFTER_ORDINAL:
            return None
        year = int(word)
        return Said(first=dt.date(year, 1, 1), after=dt.date(year + 1, 1, 1)), index + 1
    number = day_number(line, index)
    if number is None:
        return None
    place = number[1] + (line.word(number[1]) == "of")
    if line.word(place) in MONTHS:
        return dated(line, MONTHS[line.word(place)], number[0], _past_dot(line, place))
    ranged = _number_range(line, number, cue)
    if ranged is not None:
        return ranged
    if number[1] > index + 1:
        return lone_ordinal(line, number, cue)
    return None


def _past_dot(line: Line, place: int) -> int:
    """Return the index after a month, and after the dot of an abbreviated month when a year follows."""
    if line.word(place + 1) == "." and len(line.words[place]) <= 4 and is_year(line.word(place + 2)):
        return place + 2
    return place + 1


def _number_range(line: Line, number: tuple[int, int], cue: str) -> Reading:
    mark, place = line.word(number[1]), number[1] + 1
    is_list = mark in ("and", "or", "&", ",") and cue != "between"
    if not (
        mark in RANGE_MARKS or mark in ("to", "until", "through") or is_list or (mark == "and" and cue == "between")
    ):
        return None
    place += line.word(place) == "the"
    second = day_number(line, place)
    if second is None or second[0] <= number[0]:
        return None
    place = second[1] + (line.word(second[1]) == "of")
    if is_list and (line.word(place) not in MONTHS or second[0] != number[0] + 1):
        if line.word(place) not in MONTHS:
            return None
        month = dated(line, MONTHS[line.word(place)], number[0], place + 1)
        return (month[0], number[1]) if month is not None else None  # "the 3rd and the 9th of March": two dates
    if line.word(place) in MONTHS:
        return _dated_range(line, MONTHS[line.word(place)], number[0], second[0], place + 1)
    if number[1] - 2 >= 0 and second[1] - place < 1 and line.words[second[1] - 1] in ("st", "nd", "rd", "th"):
        first = lone_day(line, number[0])
        last = _date(first.year, first.month, second[0]) if first is not None else None
        return (Said(first=first, after=last + DAY), second[1]) if last is not None else None
    return None


def lone_day(line: Line, number: int) -> dt.date | None:
    """Return the next such day of a month, today included; in the past, the last."""
    for n in range(13):
        month = add_months(line.today.replace(day=1), -n if line.is_past else n)
        found = _date(month.year, month.month, number)
        if found is not None and (found <= line.today if line.is_past else found >= line.today):
            return found
    return None


def lone_ordinal(line: Line, number: tuple[int, int], cue: str) -> Reading:
    """Read "the 3rd", "the 1st of next month", "the 1st of every month"."""
    value, place = number
    following = line.words[place : place + 3]
    if len(following) == 3 and following[0] == "of" and following[2] in ("month", "months"):
        if following[1] in ("every", "each"):
            first = lone_day(line, value)
            return (Said(first=first, repeat="monthly"), place + 3) if first is not None else None
        shift = {"the": 0, "this": 0, "next": 1, "last": -1}.get(following[1])
        if shift is not None:
            month = add_months(line.today.replace(day=1), shift)
            first = _date(month.year, month.month, value)
            return (Said(first=first), place + 3) if first is not None else None
    if cue not in DATE_CUES and cue not in ("joined", "the"):
        return None
    first = lone_day(line, value)
    is_timed = line.has_half(place + 1) or (place < len(line.tokens) and line.tokens[place].kind == "clock")
    if line.word(place) not in (*_AFTER_ORDINAL, "") and not is_timed:
        weekday = next((WEEKDAYS[word] for word in line.words[max(0, place - 4) : place] if word in WEEKDAYS), None)
        if first is None or first.weekday() != weekday or line.word(place) in _ORDERED:
            return None  # "Monday the 7th I've a run" is a date, "Monday the 7th floor" is none
    return (Said(first=first), place) if first is not None else None


def ordinal_first(line: Line, index: int, cue: str) -> Reading:
    """Read "first of March", "twenty-fourth of December", "first of every month"; never "first" alone."""
    number = day_number(line, index)
    if number is None or line.word(number[1]) not in ("of", *MONTHS):
        return None
    if line.words[number[1] + 1 : number[1] + 3][1:] in (["month"], ["months"]):
        return lone_ordinal(line, number, cue)
    place = number[1] + (line.word(number[1]) == "of")
    if line.word(place) not in MONTHS:
        return None
    return dated(line, MONTHS[line.word(place)], number[0], place + 1)


def ordinal_of(word: str) -> int:
    """Return 1 for "first", …; 0 for any other word."""
    return ORDINALS.get(word, 0)


def count_of(word: str) -> int:
    """Return 1 for "one" or "1", …; 0 for any other word."""
    return int(word) if word.isdecimal() and len(word) <= 3 else ONES.get(word, 0)


# ── Longer stretches ──────────────────────────────────────────────────────────────────────────────────


def period(line: Line, unit: str, shift: int, place: int) -> Reading:
    """Read this (0), next (1), last (-1), … week, weekend, month, quarter, year."""
    today = line.today
    name = UNITS[unit][0] if unit in UNITS else unit
    monday = today - DAY * today.weekday() + shift * 7 * DAY
    if unit in ("weekend", "weekends"):
        return Said(first=monday + 5 * DAY, after=monday + 7 * DAY), place
    if unit in ("quarter",):
        first = add_months(today.replace(month=(today.month - 1) // 3 * 3 + 1, day=1), 3 * shift)
        return Said(first=first, after=add_months(first, 3)), place
    if unit == "fortnight":
        return None
    if name == "week":
        return Said(first=monday, after=monday + 7 * DAY), place
    if name == "month":
        first = add_months(today.replace(day=1), shift)
        return Said(first=first, after=add_months(first, 1)), place
    if name == "year":
        first = today.replace(year=today.year + shift, month=1, day=1)
        return Said(first=first, after=first.replace(year=first.year + 1)), place
    return None


def season(line: Line, word: str, sign: int) -> Said:
    today = line.today
    first = dt.date(today.year, SEASONS[word], 1)
    options = [add_months(first, 12 * n) for n in (-2, -1, 0, 1, 2)]
    if sign < 0 or (line.is_past and sign == 0):
        first = max(o for o in options if add_months(o, 3) <= today or (sign == 0 and o <= today))
    elif sign > 0:
        first = min(o for o in options if o > today)
    else:
        first = min(o for o in options if add_months(o, 3) > today)
    return Said(first=first, after=add_months(first, 3))


def rolling(line: Line, place: int, sign: int, is_rolling: bool) -> Reading:
    """Read stretches counted from now: "the last 24 hours", "the past week", "the next three days"."""
    if sign == 0:
        return None
    is_bare = line.word(place) in UNITS
    if is_bare and line.word(place) not in ("hour", "minute") and not (is_rolling and sign < 0):
        return None
    if is_bare:
        from_word = line.words[place]
        amount, name = UNITS[from_word][1], UNITS[from_word][0]
        span, after = (amount, name), place + 1
        if name == "day":
            return None
        months, days, seconds = _spread(*span)
    else:
        read = length(line, place) if place < len(line.tokens) else None
        if read is None or read[0].is_article:
            return None
        months, days, seconds, after = int(read[0].months), int(read[0].days), read[0].seconds, read[1]
    now, today = line.now.replace(microsecond=0), line.today
    if seconds:
        other = moments.later(now, sign * (seconds + 86_400 * days))
        return Said(stretch=(now, other) if sign > 0 else (other, now)), after
    edge = add_months(today, sign * months) + DAY * days * sign
    if sign > 0:
        return Said(stretch=(now, moments.at(edge + DAY, 0, now))), after
    return Said(stretch=(moments.at(edge, 0, now), now)), after


def _spread(amount: float, name: str) -> tuple[int, int, float]:
    """Return the months, days and seconds of an amount in one unit."""
    count = int(amount)
    table = {
        "year": (12 * count, 0, 0.0),
        "month": (count, 0, 0.0),
        "week": (0, 7 * count, 0.0),
        "day": (0, count, 0.0),
        "hour": (0, 0, 3600.0 * count),
        "minute": (0, 0, 60.0 * count),
    }
    return table.get(name, (0, 0, float(count)))


def third_of(said: Said, word: str) -> Said:
    """Return the early, middle or late third of a period; for a week Mon to Wed, Tue to Thu, or Thu and Fri."""
    first, after = said.first, said.after
    if first is None or after is None:
        return said
    n_days = (after - first).days
    if n_days <= 7:
        cuts = {"early": (0, 3), "mid": (1, 4), "late": (3, 5)}[word]
    elif 28 <= n_days <= 31:
        cuts = {"early": (0, 10), "mid": (10, 20), "late": (20, n_days)}[word]
    else:
        cuts = {"early": (0, n_days // 3), "mid": (n_days // 3, 2 * n_days // 3), "late": (2 * n_days // 3, n_days)}[
            word
        ]
    return Said(first=first + cuts[0] * DAY, after=first + cuts[1] * DAY)


def calendar_week(line: Line, index: int, cue: str) -> Reading:
    """Read an ISO week: "in week 48"."""
    number = int(line.word(index + 1)) if len(line.word(index + 1)) <= 2 else 0
    if cue not in DATE_CUES or not 1 <= number <= 53:
        return None
    year = line.today.isocalendar().year
    try:
        monday = dt.date.fromisocalendar(year, number, 1)
        if monday + 7 * DAY <= line.today and not line.is_past:
            monday = dt.date.fromisocalendar(year + 1, number, 1)
    except ValueError:
        return None
    return Said(first=monday, after=monday + 7 * DAY), index + 2
