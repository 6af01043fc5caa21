"""Reads dates, days and stretches of days at a place in a request."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

from hearth.language.temporal import time_words
from hearth.language.temporal.clock_times import AFTER_HOUR, RANGE_MARKS, Line, length
from hearth.language.temporal.time_words import (
    EARLY,
    END_OF_DAY,
    FIRST_THING,
    HOLIDAY_STARTS,
    HOLIDAYS,
    LATE,
    MEALS,
    MONTHS,
    OCCUPIED,
    ONE_DAY,
    PARTS,
    RISKY_MONTHS,
    RISKY_WEEKDAYS,
    SEASONS,
    UNITS,
    WEEKDAYS,
    Clock,
    Part,
    Said,
    add_months,
    holiday,
    nth_weekday,
)
from hearth.language.tokens import ONES, TENS, listed

# ── Dates ─────────────────────────────────────────────────────────────────────────────────────────────────
# Reads calendar dates at a place in a request ("March 4th", "the 3rd", "4.3.2027", "Christmas") and stretches of
# days.
#
# Rules where English is ambiguous: a day and month without a year means the next such day, today included (in the
# past: the last one). Numbers with slashes are day first, except in `MONTH_FIRST` countries, unless only the other
# order is a date; with dots always day first. Longer stretches are weeks, months, seasons, and those counted from
# now: weeks begin on Monday, "the last three days" reaches back to the midnight that began them, hours are counted
# exactly.

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
_AFTER_YEAR = _AFTER_ORDINAL | frozenset(
    listed("on about altogether together alone so overall already only we you he she they did do does have were are")
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
    return (Said(first=first, after=last[0].first + ONE_DAY), last[1]) if first is not None else None


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
        if line.word(index + 1) and line.word(index + 1) not in _AFTER_YEAR:
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
        return (Said(first=first, after=last + ONE_DAY), second[1]) if last is not None else None
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
    monday = today - ONE_DAY * today.weekday() + shift * 7 * ONE_DAY
    if unit in ("weekend", "weekends"):
        return Said(first=monday + 5 * ONE_DAY, after=monday + 7 * ONE_DAY), place
    if unit in ("quarter",):
        first = add_months(today.replace(month=(today.month - 1) // 3 * 3 + 1, day=1), 3 * shift)
        return Said(first=first, after=add_months(first, 3)), place
    if unit == "fortnight":
        return None
    if name == "week":
        return Said(first=monday, after=monday + 7 * ONE_DAY), place
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
        other = time_words.later(now, sign * (seconds + 86_400 * days))
        return Said(stretch=(now, other) if sign > 0 else (other, now)), after
    edge = add_months(today, sign * months) + ONE_DAY * days * sign
    if sign > 0:
        return Said(stretch=(now, time_words.moment_at(edge + ONE_DAY, 0, now))), after
    return Said(stretch=(time_words.moment_at(edge, 0, now), now)), after


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
    return Said(first=first + cuts[0] * ONE_DAY, after=first + cuts[1] * ONE_DAY)


def calendar_week(line: Line, index: int, cue: str) -> Reading:
    """Read an ISO week: "in week 48"."""
    number = int(line.word(index + 1)) if len(line.word(index + 1)) <= 2 else 0
    if cue not in DATE_CUES or not 1 <= number <= 53:
        return None
    year = line.today.isocalendar().year
    try:
        monday = dt.date.fromisocalendar(year, number, 1)
        if monday + 7 * ONE_DAY <= line.today and not line.is_past:
            monday = dt.date.fromisocalendar(year + 1, number, 1)
    except ValueError:
        return None
    return Said(first=monday, after=monday + 7 * ONE_DAY), index + 2


# ── Days ──────────────────────────────────────────────────────────────────────────────────────────────────
# Reads days and longer stretches at a place in a request: "next Tuesday", "the 3rd", "4.3.2027", "last month".
#
# Rules where English is ambiguous: a weekday alone is the next one after today (in the past: the last one before it);
# "next Friday" is Friday of next week. Dates and longer stretches: `language.temporal.dates`,
# `language.temporal.dates`.

_DEEPEST = 4
"""Deepest nesting of one expression in another: "the day after the end of next month"."""
_TODAY = {"today": 0, "tomorrow": 1, "yesterday": -1}
_THIS = frozenset(["this", "current"])
_NEXT = frozenset(["next", "following", "coming", "upcoming"])
_LAST = frozenset(["last", "past", "previous"])
MODIFIERS = _THIS | _NEXT | _LAST
_SIGNS = dict.fromkeys(_THIS, 0) | dict.fromkeys(_NEXT, 1) | dict.fromkeys(_LAST, -1)
_EDGES = {"end": "end", "beginning": "start", "start": "start", "middle": "middle"}
_NEAR_DAY = 30
"""So many words before "that morning" its day is looked for."""
_ORDINAL_ENDS = frozenset(["st", "nd", "rd", "th", *ORDINALS])
_PARTS_OF_THAT_DAY = frozenset(["morning", "afternoon", "evening", "night"])
_SITTING = frozenset(listed("i we he she they you who that has have had"))
"""Words after which "sat" is no day and "wed" no day either: "they wed at 10"."""
_BUYING = frozenset(listed("the buy order get draw paint watch read see"))
"""Words before a thing, not a day, where only a bare number follows: "buy sun 2", "the sun at 12"."""
_ENDS = frozenset(["", *".,?!;"])
_AFTER_HOUR_OF_DAY = frozenset(
    listed("is by near if until before after then or when while because so sharp today i we - – — : ( o'clock")
)
"""More words that may follow an hour after "sat at"; others are counted by it: "the cat sat at 7 doors"."""
_NEAR_PLANS = 8
_MAKING = frozenset(listed("set add make create put book schedule plan"))
_PLANS = frozenset(
    listed("reminders alarms events meetings appointments calendar diary schedule agenda plans tasks todos birthdays")
)
_AFTER_NIGHT = frozenset(["", *".,?!;", *listed("and or in at on by from while please")])
_AFTER_BESIDE = frozenset(["", *".,?!;", *listed("at to and about for i please too as in around by")])
"""What may follow "the day before" where it counts from a day named elsewhere."""
_AFTER_WORK = frozenset(
    ["", *".,?!;", *listed("on at and or to today tomorrow this next please pls with about remind i we"), *WEEKDAYS]
)
"""What may follow "after work" where it is a time: no "after work drinks"."""
_AFTER_OWN = frozenset(["", *".,?!;:", *listed("look looks looking like and ahead shaping going is full busy packed")])
DAY_STARTS = frozenset(
    {*_TODAY, *MODIFIERS, *WEEKDAYS, *MONTHS, *PARTS, *HOLIDAY_STARTS, *ORDINALS, *_EDGES, *SEASONS}
    | set(
        listed(
            "the that tonight overnight early late mid later rest remainder first eod cob week day weekend same "
            "q1 q2 q3 q4 end work school "
            "twenty"
        )
    )
)


def day(line: Line, text: str, index: int, cue: str, *, is_joined: bool = False) -> Reading:
    """Read the day or stretch at a place; `is_joined` when it follows another part of the same expression."""
    if index >= len(line.tokens) or line.depth >= _DEEPEST:
        return None
    line.depth += 1
    found = _day(line, text, index, cue, is_joined)
    line.depth -= 1
    return found


def _day(line: Line, text: str, index: int, cue: str, is_joined: bool) -> Reading:
    token, word = line.tokens[index], line.words[index]
    if token.kind == "iso":
        return iso_date(line, index)
    if token.kind == "numeric_date":
        return numeric_date(line, index)
    if token.kind == "day_month":
        return day_and_month(line, index, cue)
    if token.kind == "number":
        return number_first(line, index, cue)
    if word not in DAY_STARTS:
        return None
    if word == "the":
        return _after_the(line, text, index, cue)
    if word in HOLIDAY_STARTS:
        found = holiday_day(line, index, 0)
        if found is not None:
            return found
    if word in _TODAY:
        return _relative_day(line, index)
    if word == "that":
        return _of_that_day(line, index)
    if word == "tonight":
        return Said(first=line.today, part=PARTS["night"]), index + 1
    if word in MODIFIERS or word == "same":
        return _counted(line, text, index) or _modified(line, index, has_the=False)
    if word in WEEKDAYS:
        return _weekday(line, text, index, cue, is_joined)
    if word in MONTHS:
        return month_first(line, text, index, cue)
    if word in PARTS:
        return _part(line, index, cue, is_joined)
    if (cue, word) in OCCUPIED:
        return _beside_work(line, index, OCCUPIED[cue, word])
    if word in ("early", "late", "mid", "later"):
        return _early_or_late(line, text, index, cue)
    return _special(line, text, index, cue)


def _special(line: Line, text: str, index: int, cue: str) -> Reading:
    word = line.words[index]
    if word == "first" and line.word(index + 1) == "thing":
        return _first_thing(line, index + 2)
    if word == "overnight":
        return _overnight(line, index)
    if word in ("eod", "cob"):
        return Said(part=END_OF_DAY), index + 1
    if word in _EDGES:
        return _edge(line, text, index)
    if word in ("rest", "remainder"):
        return _rest(line, text, index)
    if word == "day" and line.word(index + 1) in ("after", "before") and line.word(index + 2) in _TODAY:
        return _unit_after_the(line, text, index)
    if word in ("week", "day", "weekend") and line.word(index - 1) in ("my", "our"):
        return _own(line, index)
    if word == "week" and line.words[index + 1 : index + 2] and line.word(index + 1).isdecimal():
        return calendar_week(line, index, cue)
    if word in SEASONS:
        return _season_said(line, index, cue)
    if word in ("q1", "q2", "q3", "q4"):
        first = with_year(line, index + 1, 3 * int(word[1]) - 2)
        return Said(first=first[0], after=add_months(first[0], 3)), first[1]
    if word in ORDINALS or word == "twenty":
        return _counted(line, text, index) or ordinal_first(line, index, cue)
    return None


def _overnight(line: Line, index: int) -> Reading:
    """Read "overnight" as last night where the past is asked for; no "overnight oats", no "leave it on overnight"."""
    if not line.is_past or line.word(index + 1) not in _AFTER_NIGHT:
        return None
    return Said(first=line.today - ONE_DAY, part=Part(18, 30, 20)), index + 1


def _season_said(line: Line, index: int, cue: str) -> Reading:
    """Read "summer 2024", "since spring"."""
    word = line.words[index]
    if is_year(line.word(index + 1)):
        begins = dt.date(int(line.word(index + 1)), SEASONS[word], 1)
        return Said(first=begins, after=add_months(begins, 3)), index + 2
    if cue in ("in", "since", "until", "before", "after", "during"):
        return season(line, word, 0), index + 1
    return None


def _own(line: Line, index: int) -> Reading:
    """Read "what does my week look like", "how is my day"."""
    is_praised = line.word(index - 2) in ("make", "made", "makes", "save", "saved")
    if is_praised or line.word(index + 1) not in _AFTER_OWN:
        return None
    word = line.words[index]
    return (Said(first=line.today), index + 1) if word == "day" else period(line, word, 0, index + 1)


# ── Named days ────────────────────────────────────────────────────────────────────────────────────────────


def _relative_day(line: Line, index: int) -> Reading:
    word = line.words[index]
    if word == "today" and line.word(index + 1) == "week":  # British: today week
        return Said(first=line.today + 7 * ONE_DAY), index + 2
    return Said(first=line.today + _TODAY[word] * ONE_DAY), index + 1


def plain_weekday(line: Line, weekday: int) -> dt.date:
    """Return the next such day after today; in the past, the last one before today."""
    if line.is_past:
        return line.today - ONE_DAY * ((line.today.weekday() - weekday - 1) % 7 + 1)
    return line.today + ONE_DAY * ((weekday - line.today.weekday() - 1) % 7 + 1)


def _weekday(line: Line, text: str, index: int, cue: str, is_joined: bool) -> Reading:
    word = line.words[index]
    weekday = WEEKDAYS[word]
    is_sure = is_joined or (cue in DATE_CUES and line.word(index - 1) != "the") or _is_followed_by_time(line, index + 1)
    is_sure = is_sure or _stands_in_list(line, index)
    if word in RISKY_WEEKDAYS and not is_sure and not (index and line.is_capital(text, index)):
        return None
    place = index + 1
    if word in ("mon", "tue", "wed", "thu", "fri", "sat", "sun") and line.word(place) == "." and line.touches(place):
        place += 1 if line.words[place + 1 : place + 2] and cue else 0
    if line.word(place) == "week" and cue in ("on", "until", "by", "to", "for", ""):
        return Said(first=plain_weekday(line, weekday) + 7 * ONE_DAY), place + 1
    if line.words[place : place + 2] == ["after", "next"]:
        return Said(first=_in_week(line, weekday, 2)), place + 2
    return Said(first=plain_weekday(line, weekday), weekday=weekday), place


def _stands_in_list(line: Line, index: int) -> bool:
    """Return whether another weekday stands beside one: "mon tue and wed"; no "sun sat down"."""
    for step in (-1, 1):
        place = index + step
        is_joined = line.word(place) in (",", "and", "&")
        beside = line.word(place + step * is_joined)
        if beside in WEEKDAYS and (is_joined or beside not in RISKY_WEEKDAYS):
            return True
    return False


def _is_followed_by_time(line: Line, index: int) -> bool:
    """Return whether a time follows a weekday: "sat 7:30pm", "wed at 10", "sat 10 until 12", "sun morning"."""
    if line.word(index) in RANGE_MARKS and line.word(index + 1) in WEEKDAYS:
        return True
    if line.word(index) in PARTS:
        return line.word(index) not in MEALS
    if _is_its_number(line, index):
        return True
    is_at, before = line.word(index) == "at", line.word(index - 2)
    may_be_verb = before in _SITTING
    index += is_at
    if index >= len(line.tokens) or line.tokens[index].kind not in ("clock", "number"):
        return False
    is_range = line.word(index + 1) in (*RANGE_MARKS, "to", "until") and line.word(index + 2)[:1].isdecimal()
    is_hour = line.word(index + 1) in (AFTER_HOUR | _AFTER_HOUR_OF_DAY if is_at else _ENDS) and before not in _BUYING
    is_sure = line.tokens[index].kind == "clock" or line.has_half(index + 1) or is_range
    return not (is_at and may_be_verb) if is_sure else is_hour and not may_be_verb


def _is_its_number(line: Line, index: int) -> bool:
    """Return whether the number of such a day follows a weekday: "sat 27th", where the next 27th is a Saturday."""
    number = day_number(line, index) if index + 1 < len(line.tokens) and line.touches(index + 1) else None
    found = lone_day(line, number[0]) if number is not None and number[1] == index + 2 else None
    is_verb = line.word(index - 2) in _SITTING  # "he sat 27th of 40"
    return not is_verb and found is not None and found.weekday() == WEEKDAYS.get(line.word(index - 1))


def _in_week(line: Line, weekday: int, weeks: int) -> dt.date:
    return line.today + ONE_DAY * (weekday - line.today.weekday() + 7 * weeks)


# ── Modified and longer ───────────────────────────────────────────────────────────────────────────────────


def _after_the(line: Line, text: str, index: int, cue: str) -> Reading:
    """Read expressions that include "the": the day after tomorrow, the 3rd, the weekend, the evening, the past week."""
    place = index + 1
    word = line.word(place)
    found = _beside_named(line, place) if place < len(line.words) else None
    if found is not None:
        return found
    if cue == "for" and word in ("day", "week", "month") and _is_of_plans(line, place):
        return (Said(first=line.today), place + 1) if word == "day" else period(line, word, 0, place + 1)
    if word in ("day", "week", "night", "evening", "morning", "month", "weekend", "year"):
        found = _unit_after_the(line, text, place)
        if found is not None:
            return found
    if word == "day":
        return None
    if word in MODIFIERS:
        return _counted(line, text, place) or _modified(line, place, has_the=True)
    return _named_after_the(line, text, place, cue)


def _named_after_the(line: Line, text: str, place: int, cue: str) -> Reading:
    """Read a part, a number or a name of a day after "the": the evening, the 3rd, the end of May, the bank holiday."""
    word = line.word(place)
    if word in PARTS and word not in MEALS:
        is_told = cue in ("in", "by", "until", "during", "before", "after", "since")
        return _part(line, place, "the" if is_told else "", False)
    if word in ORDINALS or word in ("first", "twenty", "thirty"):
        return _ordinal(line, text, place, cue)
    if word in ("end", "beginning", "start", "middle"):
        return _edge(line, text, place)
    if word in ("rest", "remainder"):
        return _rest(line, text, place)
    if word in ("early", "late"):
        return _early_or_late(line, text, place, cue)
    if place < len(line.tokens) and line.tokens[place].kind == "number":
        return number_first(line, place, cue or "the") if not is_year(word) else None
    if word in HOLIDAY_STARTS and word != "new":
        return holiday_day(line, place, 0)
    return _special_weekday(line, place)


def _ordinal(line: Line, text: str, place: int, cue: str) -> Reading:
    """Read what follows "the": "first Monday of April", "3rd of May", and "3rd" alone where a day is told."""
    counted = _counted(line, text, place)
    if counted is not None:
        return counted
    if line.word(place) == "first" and line.word(place + 1) == "thing":
        return None
    dated_ = ordinal_first(line, place, cue)
    number = day_number(line, place)
    if dated_ is not None or number is None:
        return dated_
    if cue not in ("on", "by", "until", "since", "joined") and not _is_new_day(line, number[1], cue):
        return None
    after = number[1] + 1
    is_list = line.word(after - 1) == "and" and (line.word(after) == "the" or day_number(line, after) is not None)
    return None if is_list else lone_ordinal(line, number, cue)


def _is_new_day(line: Line, after: int, cue: str) -> bool:
    """Return whether "to the fifth" says where something is moved to."""
    return cue == "to" and (line.is_moving or line.word(after) in ("", ".", "?"))


def _is_of_plans(line: Line, place: int) -> bool:
    """Return whether "for the week" ends what is said of plans that there are: "my reminders for the week"; no "rent it
    for the week", no "set alarms for the week"."""
    near = range(max(0, place - _NEAR_PLANS), place + _NEAR_PLANS)
    are_said = any(line.word(index) in _PLANS and line.word(index - 1) not in _MAKING for index in near)
    return are_said and line.word(place + 1) in (*_ENDS, "please")


def _beside_named(line: Line, place: int) -> Reading:
    """Read "the day before", "the friday before", "the weekend after" where a day was named before it."""
    word, sign = line.words[place], {"before": -1, "after": 1}.get(line.word(place + 1))
    if sign is None or line.word(place + 2) not in _AFTER_BESIDE or not _is_day_named(line, place):
        return None
    if word in WEEKDAYS or word in ("day", "weekend"):
        return Said(beside=(word, sign)), place + 2
    return (Said(beside=("day", sign), part=PARTS[word]), place + 2) if word in _PARTS_OF_THAT_DAY else None


def _is_day_named(line: Line, index: int) -> bool:
    before = line.words[max(0, index - _NEAR_DAY) : index]
    return any(word in _TODAY or word in WEEKDAYS or word in MONTHS or word in _ORDINAL_ENDS for word in before)


def counted_from(day: dt.date, after: dt.date | None, beside: tuple[str, int]) -> Said:
    """Return the day or weekend before or after a day, or after the last before `after`."""
    what, sign = beside
    edge = after - ONE_DAY if after is not None and sign > 0 else day
    if what == "day":
        return Said(first=edge + sign * ONE_DAY)
    wanted = WEEKDAYS.get(what, 5)
    if what == "weekend" and edge.weekday() == 6 and sign < 0:
        edge -= ONE_DAY  # the weekend before a Sunday is not its own
    n_days = (wanted - edge.weekday()) % 7 if sign > 0 else (edge.weekday() - wanted) % 7
    first = edge + sign * (n_days or 7) * ONE_DAY
    return Said(first=first, after=first + 2 * ONE_DAY if what == "weekend" else None)


def _special_weekday(line: Line, place: int) -> Reading:
    """Read "the Friday after next"; "the Monday after that" is not read."""
    if line.word(place) in WEEKDAYS and line.words[place + 1 : place + 3] == ["after", "next"]:
        return Said(first=_in_week(line, WEEKDAYS[line.word(place)], 2)), place + 3
    return None


def _unit_after_the(line: Line, text: str, place: int) -> Reading:
    unit, relation, following = line.words[place], line.word(place + 1), line.word(place + 2)
    if (relation, following) == ("after", "next"):
        return period(line, unit, 2, place + 3)
    if (relation, following) == ("before", "last"):
        return period(line, unit, -2, place + 3)
    if (relation in ("after", "before") and following != "that") or (unit, relation) == ("week", "of"):
        found = _beside_day(line, text, place)
        if found is not None:
            return found
    if unit == "weekend":
        return period(line, unit, -1 if line.is_past else 0, place + 1)
    return None


def _beside_day(line: Line, text: str, place: int) -> Reading:
    """Read "day after the 3rd", "evening before Christmas", "week of the 3rd"."""
    unit, sign = line.words[place], {"after": 1, "of": 0, "before": -1}[line.words[place + 1]]
    anchor = day(line, text, place + 2, "on")
    if anchor is None or anchor[0].first is None:
        return None
    said, end = anchor
    begins = anchor[0].first
    if unit == "week":
        monday = begins - ONE_DAY * begins.weekday() + sign * 7 * ONE_DAY
        return Said(first=monday, after=monday + 7 * ONE_DAY), end
    if unit not in ("day", "night", "evening", "morning"):
        return None
    last = (said.after or begins + ONE_DAY) - ONE_DAY
    return Said(first=(last if sign > 0 else begins) + sign * ONE_DAY, part=PARTS.get(unit)), end


def _modified(line: Line, index: int, *, has_the: bool) -> Reading:
    """Read "this", "next" or "last" and the word after it."""
    word, place = line.words[index], index + 1
    if word == "same" or (word == "this" and line.word(place) == "time"):
        return _this_time(line, index)
    if word in ("this", "the") and line.word(place) in _NEXT | _LAST:
        word, place = line.word(place), place + 1
    sign = _SIGNS[word]
    target = line.word(place)
    if target in ("early", "late"):
        return None
    if target in WEEKDAYS:
        return _modified_weekday(line, word, sign, place)
    if target in PARTS and target not in MEALS:
        return _modified_part(line, target, sign, place)
    if target in MONTHS:
        return _modified_month(line, sign, place)
    if target in SEASONS:
        return season(line, target, sign), place + 1
    if target in HOLIDAY_STARTS and (target != "new" or line.word(place + 1) in ("year", "years")):
        found = holiday_day(line, place, sign)
        if found is not None:
            return found
    counted = rolling(line, place, sign, has_the or word == "past")
    return counted if counted is not None else _modified_period(line, word, sign, place)


def _modified_period(line: Line, word: str, sign: int, place: int) -> Reading:
    """Read "next week", "the coming weekend", which begins this week, "last quarter"."""
    target = line.word(place)
    if target == "weekend" and word in ("coming", "upcoming") and line.today.weekday() < 5:
        sign = 0
    if target in ("week", "weekend", "month", "year", "quarter"):
        return period(line, target, sign, place + 1)
    return None


def _this_time(line: Line, index: int) -> Reading:
    """Read "this time", "the same time"; where something is moved, "same" is its own time, which is not known here."""
    if line.word(index + 1) != "time" or (line.words[index] == "same" and line.is_moving):
        return None
    return Said(clock=Clock(line.now.hour, line.now.minute)), index + 2


def _modified_weekday(line: Line, word: str, sign: int, place: int) -> Reading:
    weekday, today = WEEKDAYS[line.words[place]], line.today
    if sign < 0:
        return Said(first=today - ONE_DAY * ((today.weekday() - weekday - 1) % 7 + 1)), place + 1
    if word in ("coming", "upcoming", "following"):
        return Said(first=today + ONE_DAY * ((weekday - today.weekday() - 1) % 7 + 1)), place + 1
    first = _in_week(line, weekday, sign)
    if sign == 0 and first < today and not line.is_past:
        first += 7 * ONE_DAY
    return Said(first=first), place + 1


def _modified_part(line: Line, target: str, sign: int, place: int) -> Reading:
    part = PARTS[target]
    if sign == 0:
        return Said(first=line.today, part=part), place + 1
    if sign < 0 and part is PARTS["night"]:
        return Said(first=line.today - ONE_DAY, part=Part(18, 30, 20)), place + 1
    if sign < 0:
        return Said(first=line.today - ONE_DAY, part=part), place + 1
    return None


def _modified_month(line: Line, sign: int, place: int) -> Reading:
    month, today = MONTHS[line.words[place]], line.today
    number = day_number(line, place + 1)
    if number is not None:
        return dated(line, month, number[0], number[1])
    year = today.year
    if sign < 0:
        year -= month >= today.month
    elif sign > 0:
        year += month <= today.month
    elif month < today.month and not line.is_past:
        year += 1
    first = dt.date(year, month, 1)
    return Said(first=first, after=add_months(first, 1)), place + 1


# ── Parts of days and of periods ──────────────────────────────────────────────────────────────────────────


def _part(line: Line, index: int, cue: str, is_joined: bool) -> Reading:
    """Read "in the morning", "at night", "by evening", or "morning" after a day; a bare "morning" is a greeting."""
    word = line.words[index]
    if word in MEALS:
        is_bound = cue in ("before", "after", "until", "by")  # "on Monday before lunch", but not "Friday at lunch"
        if (is_bound or (cue == "at" and not is_joined)) and line.word(index + 1) != "with":
            return Said(part=PARTS[word]), index + 1
        return None
    allowed = is_joined or cue in ("the", "at", "by", "until", "before", "since", "during", "every", "each")
    if not allowed or (word == "eve" and not is_joined):
        return None
    return Said(part=PARTS[word]), index + 1


def _beside_work(line: Line, index: int, part: Part) -> Reading:
    """Read "after work" where nothing goes on from it, and no clock time says when that is: "after school, 15:35"."""
    behind = line.tokens[index + 2].kind if index + 2 < len(line.tokens) else ""
    is_timed = line.word(index + 1) in (",", "at") and behind in ("clock", "number")
    return (Said(part=part), index + 1) if line.word(index + 1) in _AFTER_WORK and not is_timed else None


def _of_that_day(line: Line, index: int) -> Reading:
    """Read "that morning" where a day was named before it: "the ram goes out on the fifth, remind me that morning"."""
    part = line.word(index + 1)
    if not (part in _PARTS_OF_THAT_DAY or part == "day") or not _is_day_named(line, index):
        return None
    return Said(part=PARTS.get(part)), index + 2


def _counted(line: Line, text: str, index: int) -> Reading:
    """Read "the first Monday of April", "the last Friday of the month", "the second week of May"."""
    which = -1 if line.word(index) == "last" else ORDINALS.get(line.word(index), 0)
    what = line.word(index + 1)
    if not (which == -1 or 1 <= which <= 5) or line.word(index + 2) not in ("of", "in"):
        return None
    if what not in WEEKDAYS and what not in ("week", "weekend", "day"):
        return None
    place = index + 3
    if line.words[place : place + 2] in (["the", "month"], ["every", "month"], ["each", "month"]):
        found = period(line, "month", 0, place + 2)
        is_repeated = line.word(place) != "the"
    else:
        found, is_repeated = day(line, text, place, "in"), False
    if found is None or found[0].first is None or found[0].after is None:
        return None
    first, after = found[0].first, found[0].after
    if not 28 <= (after - first).days <= 31:
        return None
    picked = _picked(first, after, what, which)
    if picked is not None and line.word(place) == "the" and picked.first is not None and picked.first < line.today:
        first, after = after, add_months(after, 1)
        picked = _picked(first, after, what, which) if not line.is_past else picked
    if picked is None:
        return None
    picked.repeat = "monthly" if is_repeated else ""
    return picked, found[1]


def _picked(first: dt.date, after: dt.date, what: str, which: int) -> Said | None:
    """Pick one weekday, week, weekend or day of the month from `first` to `after`."""
    if what in ("week", "day"):
        n_days = 7 if what == "week" else 1
        start = after - n_days * ONE_DAY if which < 0 else first + (which - 1) * n_days * ONE_DAY
        end = min(start + n_days * ONE_DAY, after)
    else:
        start = nth_weekday(first.year, first.month, WEEKDAYS.get(what, 5), which)
        end = start + (2 if what == "weekend" else 1) * ONE_DAY
    if not first <= start < after:
        return None
    return Said(first=start, after=end if (end - start).days > 1 else None)


def _first_thing(line: Line, index: int) -> Reading:
    place = index + (2 if line.words[index : index + 2] == ["in", "the"] else 0)
    if place > index and line.word(place) == "morning":
        first = line.today if line.now.hour < FIRST_THING.moment else line.today + ONE_DAY
        return Said(first=first, part=FIRST_THING), place + 1
    return Said(part=FIRST_THING), index


def _early_or_late(line: Line, text: str, index: int, cue: str) -> Reading:
    """Read "early tomorrow morning", "late afternoon", "early next week", "mid-March", "later today"."""
    word, place = line.words[index], index + 1
    if word == "later":
        return _later(line, text, place)
    if line.word(place) == "-":
        place += 1
    if word == "early" and line.words[place : place + 2] == ["in", "the"]:
        place += 2
    elif line.word(place) in ("on", "in"):
        place += 1
    table = EARLY if word == "early" else LATE
    if line.word(place) and line.word(place) in table and word != "mid":
        if not (cue in ("in", "the", "on", "at", "by", "until") or place > index + 1 or line.word(index - 1) == "the"):
            return None
        return Said(part=table[line.word(place)]), place + 1
    target = day(line, text, place, "in") if line.word(place) not in ("early", "late", "mid", "later") else None
    if target is None:
        return None
    said, after = target
    if said.clock is not None or said.first is None:
        return None
    if said.after is not None:
        return third_of(said, word), after
    return _narrowed(line, said, after, table) if word != "mid" else None


def _later(line: Line, text: str, place: int) -> Reading:
    """Read the day after "later": what is left of it."""
    found = day(line, text, place, "on") if line.word(place) in ("today", "tonight", "this") else None
    if found is None or found[0].first is None:
        return None
    found[0].is_rest = True
    return found


def _narrowed(line: Line, said: Said, after: int, table: Mapping[str, Part]) -> Reading:
    """Narrow a day to the early or late hours of its part, said before or after it: "early tomorrow morning"."""
    name = next((n for n, part in PARTS.items() if part is said.part), "")
    if name == "" and line.word(after) and line.word(after) in table:
        name, after = line.word(after), after + 1
    said.part = table.get(name, said.part)
    return said, after


def _edge(line: Line, text: str, index: int) -> Reading:
    """Read "the end of the month", "the beginning of next week", "end of March", "end of the day"."""
    edge = _EDGES[line.words[index]]
    if line.word(index + 1) != "of":
        return None
    place = index + 2
    has_the = line.word(place) in ("the", "my", "our")
    place += has_the
    unit = line.word(place)
    if unit in ("day", "business", "play", "today"):
        place += unit == "day" and line.word(place + 1) == "today"
        return (Said(first=line.today, part=END_OF_DAY), place + 1) if edge == "end" else None
    if unit in ("week", "month", "year", "quarter") and (has_the or edge == "end"):
        found = period(line, unit, 0, place + 1)
    else:
        found = day(line, text, place, "in")
    if found is None or found[0].first is None or found[0].after is None:
        return None
    first, after = found[0].first, found[0].after
    if (after - first).days == 7:
        picked = {"start": first, "middle": first + 2 * ONE_DAY, "end": first + 4 * ONE_DAY}[edge]
    else:
        middle = first.replace(day=15) if (after - first).days <= 31 else first + (after - first) // 2
        picked = {"start": first, "middle": middle, "end": after - ONE_DAY}[edge]
    if edge == "start" and picked < line.today and has_the:
        shifted = period(line, unit, 1, place + 1)
        picked = shifted[0].first if shifted is not None and shifted[0].first is not None else picked
    return Said(first=picked), found[1]


def _rest(line: Line, text: str, index: int) -> Reading:
    if line.word(index + 1) != "of":
        return None
    place = index + 2
    if line.word(place) in ("the", "my", "our"):
        unit = line.word(place + 1)
        found = (Said(first=line.today), place + 2) if unit == "day" else None
        if unit in ("week", "month", "year", "weekend", "quarter"):
            found = period(line, unit, 0, place + 2)
    else:
        found = day(line, text, place, "in")
    if found is None or found[0].first is None:
        return None
    found[0].is_rest = True
    return found
