"""Reads days and longer stretches at a place in a request: "next Tuesday", "the 3rd", "4.3.2027", "last month".

Rules where English is unsure: a weekday alone is the next one after today (looking back: the last one before it);
"next Friday" is Friday of next week; a day and month without a year is the next such day, today included; "the last
three days" reaches back to the midnight that began them; weeks begin on Monday. Numbers with slashes and no clear
order are day first, except in `MONTH_FIRST` countries; with dots always day first.
"""

from __future__ import annotations

import datetime as dt

from hearth.planning import moments
from hearth.planning.clock_times import RANGE_MARKS, Line, length
from hearth.planning.moments import DAY, Clock, Said
from hearth.planning.text import ONES, TENS, listed
from hearth.planning.time_words import (
    EARLY,
    END_OF_DAY,
    FIRST_THING,
    HOLIDAY_STARTS,
    HOLIDAYS,
    LATE,
    MEALS,
    MONTHS,
    PARTS,
    RISKY_MONTHS,
    RISKY_WEEKDAYS,
    SEASONS,
    UNITS,
    WEEKDAYS,
    Part,
    add_months,
    holiday,
)

Reading = tuple[Said, int] | None
MONTH_FIRST = frozenset({"US", "PH", "FM", "PW", "MH", "GU", "PR", "AS", "VI"})
DATE_CUES = frozenset(
    listed("on by until since before after from of for in between to during onward at than every each")
)
_TODAY = {"today": 0, "tomorrow": 1, "yesterday": -1}
_THIS = frozenset(["this", "current"])
_NEXT = frozenset(["next", "following", "coming", "upcoming"])
_LAST = frozenset(["last", "past", "previous"])
MODIFIERS = _THIS | _NEXT | _LAST
_ORDINALS = {
    word: value
    for value, word in enumerate(
        listed(
            "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
            "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
        ),
        start=1,
    )
} | {"thirtieth": 30}
_EDGES = {"end": "end", "beginning": "start", "start": "start", "middle": "middle"}
_AFTER_ORDINAL = frozenset(
    listed(
        "at to from until and or in for with by around before after - – this next , . ? ! ; : of every each "
        "please is i between through what who"
    )
)
DAY_STARTS = frozenset(
    {*_TODAY, *MODIFIERS, *WEEKDAYS, *MONTHS, *PARTS, *HOLIDAY_STARTS, *_ORDINALS, *_EDGES, *SEASONS}
    | set(listed("the tonight early late mid later rest remainder first eod cob week day same q1 q2 q3 q4 end twenty"))
)


def day(line: Line, text: str, index: int, cue: str, *, is_joined: bool = False) -> Reading:
    """What is said of days at a place; `is_joined` when it follows another part of the same expression."""
    if index >= len(line.tokens):
        return None
    token, word = line.tokens[index], line.words[index]
    if token.kind == "iso":
        return _iso(line, index)
    if token.kind == "numeric_date":
        return _numeric_date(line, index)
    if token.kind == "day_month":
        return _day_month(line, index, cue)
    if token.kind == "number":
        return _number_first(line, index, cue)
    if word not in DAY_STARTS:
        return None
    if word == "the":
        return _after_the(line, text, index, cue)
    if word in HOLIDAY_STARTS:
        found = _holiday(line, index, 0)
        if found is not None:
            return found
    if word in _TODAY:
        return _relative_day(line, index)
    if word == "tonight":
        return Said(first=line.today, part=PARTS["night"]), index + 1
    if word in MODIFIERS or word == "same":
        return _modified(line, index, has_the=False)
    if word in WEEKDAYS:
        return _weekday(line, text, index, cue, is_joined)
    if word in MONTHS:
        return _month(line, text, index, cue)
    if word in PARTS:
        return _part(line, index, cue, is_joined)
    if word in ("early", "late", "mid", "later"):
        return _early_or_late(line, text, index, cue)
    return _special(line, text, index, cue)


def _special(line: Line, text: str, index: int, cue: str) -> Reading:
    word = line.words[index]
    if word == "first" and line.word(index + 1) == "thing":
        return _first_thing(line, index + 2)
    if word in ("eod", "cob"):
        return Said(part=END_OF_DAY), index + 1
    if word in _EDGES:
        return _edge(line, text, index)
    if word in ("rest", "remainder"):
        return _rest(line, text, index)
    if word == "week" and line.words[index + 1 : index + 2] and line.word(index + 1).isdigit():
        return _calendar_week(line, index, cue)
    if word in SEASONS and cue in ("in", "since", "until", "before", "after", "during"):
        return _season(line, word, 0), index + 1
    if word in ("q1", "q2", "q3", "q4"):
        first = _with_year(line, index + 1, 3 * int(word[1]) - 2)
        return Said(first=first[0], after=add_months(first[0], 3)), first[1]
    if word in _ORDINALS or word == "twenty":
        return _ordinal_first(line, index, cue)
    return None


# ── Named days ────────────────────────────────────────────────────────────────────────────────────────────


def _relative_day(line: Line, index: int) -> Reading:
    word = line.words[index]
    if word == "today" and line.word(index + 1) == "week":  # British: today week
        return Said(first=line.today + 7 * DAY), index + 2
    return Said(first=line.today + _TODAY[word] * DAY), index + 1


def plain_weekday(line: Line, weekday: int) -> dt.date:
    """The next such day after today; looking back, the last one before today."""
    if line.is_past:
        return line.today - DAY * ((line.today.weekday() - weekday - 1) % 7 + 1)
    return line.today + DAY * ((weekday - line.today.weekday() - 1) % 7 + 1)


def _weekday(line: Line, text: str, index: int, cue: str, is_joined: bool) -> Reading:
    word = line.words[index]
    weekday = WEEKDAYS[word]
    is_sure = is_joined or (cue in DATE_CUES and line.word(index - 1) != "the")
    if word in RISKY_WEEKDAYS and not is_sure and not (index and line.is_capital(text, index)):
        return None
    place = index + 1
    if word in ("mon", "tue", "wed", "thu", "fri", "sat", "sun") and line.word(place) == "." and line.touches(place):
        place += 1 if line.words[place + 1 : place + 2] and cue else 0
    first = plain_weekday(line, weekday)
    if line.word(place) == "week" and cue in ("on", "until", "by", "") and not is_joined:
        return Said(first=plain_weekday(line, weekday) + 7 * DAY), place + 1
    if line.words[place : place + 2] == ["after", "next"]:
        return Said(first=_in_week(line, weekday, 2)), place + 2
    return Said(first=first, weekday=weekday), place


def _in_week(line: Line, weekday: int, weeks: int) -> dt.date:
    return line.today + DAY * (weekday - line.today.weekday() + 7 * weeks)


def _holiday(line: Line, index: int, which: int) -> Reading:
    """A holiday's next day (which=0), the one after (1), or the last one before today (-1)."""
    for n_words in (4, 3, 2, 1):
        words = tuple(line.words[index : index + n_words])
        if len(words) == n_words and words in HOLIDAYS:
            break
    else:
        return None
    place = index + n_words
    year = line.today.year
    if _is_year(line.word(place)):
        return Said(first=holiday(words, int(line.word(place)), line.country)), place + 1
    if line.is_past or which < 0:
        found = max(d for y in (year - 1, year) if (d := holiday(words, y, line.country)) < line.today)
    else:
        found = min(d for y in (year, year + 1) if (d := holiday(words, y, line.country)) >= line.today)
    return Said(first=found), place


# ── Dates ─────────────────────────────────────────────────────────────────────────────────────────────────


def _is_year(word: str) -> bool:
    return len(word) == 4 and word.isdigit() and 1900 <= int(word) <= 2199


def _date(year: int, month: int, number: int) -> dt.date | None:
    try:
        return dt.date(year, month, number)
    except ValueError:
        return None


def _next_date(line: Line, month: int, number: int) -> dt.date | None:
    """The next such day, today included; looking back, the last one. Leap days are searched for."""
    years = range(line.today.year, line.today.year + 9)
    if line.is_past:
        years = range(line.today.year, line.today.year - 9, -1)
    for year in years:
        found = _date(year, month, number)
        if found is not None and (found <= line.today if line.is_past else found >= line.today):
            return found
    return None


def _with_year(line: Line, index: int, month: int) -> tuple[dt.date, int]:
    """The first of a month, in the year said at `index`, else in the next or the last such month."""
    place = index + 1 if line.word(index) in (",", "of") else index
    if _is_year(line.word(place)):
        return dt.date(int(line.word(place)), month, 1), place + 1
    today = line.today
    year = today.year
    if line.is_past and month > today.month:
        year -= 1
    elif not line.is_past and month < today.month:
        year += 1
    return dt.date(year, month, 1), index


def _iso(line: Line, index: int) -> Reading:
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


def _numeric_date(line: Line, index: int) -> Reading:
    word = line.words[index]
    mark = next(c for c in word if not c.isdigit())
    a, b, year = (int(part) for part in word.split(mark))
    year += 2000 if year < 100 else 0
    found = _ordered(line, a, b, year, mark)
    return (Said(first=found), index + 1) if found is not None else None


def _ordered(line: Line, a: int, b: int, year: int, mark: str) -> dt.date | None:
    is_month_first = mark != "." and line.country.upper() in MONTH_FIRST
    month, number = (a, b) if is_month_first else (b, a)
    return _date(year, month, number) or (_date(year, number, month) if mark != "." else None)


def _day_month(line: Line, index: int, cue: str) -> Reading:
    """4.3. or 3/4 without a year: only after a cue, for it may be a fraction or a version."""
    word = line.words[index]
    if cue not in DATE_CUES or cue in ("of", "in", "for", "at"):
        return None
    mark = "/" if "/" in word else "."
    a, b = (int(part) for part in word.strip(".").split(mark))
    sample = _ordered(line, a, b, 2000, mark)
    found = _next_date(line, sample.month, sample.day) if sample is not None else None
    return (Said(first=found), index + 1) if found is not None else None


def _month(line: Line, text: str, index: int, cue: str) -> Reading:
    """March 4th, March 4th, 2028, March 3-5, March 2028, March."""
    word = line.words[index]
    month, place = MONTHS[word], index + 1
    if line.word(place) == "." and line.touches(place) and len(word) <= 4 and line.word(place + 1)[:1].isdigit():
        place += 1
    place += line.word(place) == "the"
    number = _day_number(line, place)
    if number is not None:
        if line.word(number[1]) in RANGE_MARKS or line.word(number[1]) in ("to", "until", "through"):
            second = _day_number(line, number[1] + 1)
            if second is not None and second[0] > number[0] and not _has_half(line, second[1]):
                return _dated_range(line, month, number[0], second[0], second[1])
        return _dated(line, month, number[0], number[1])
    if line.word(place - 1) == "the":
        return None
    if word in RISKY_MONTHS and cue not in DATE_CUES - {"to"}:
        is_named = index > 0 and line.is_capital(text, index) and line.word(index - 1) not in ".!?"
        if not (is_named and word != "may") and not _is_year(line.word(place)):
            return None
    first, place = _with_year(line, place, month)
    return Said(first=first, after=add_months(first, 1)), place


def _has_half(line: Line, index: int) -> bool:
    return line.word(index) in ("am", "pm")


def _dated(line: Line, month: int, number: int, index: int) -> Reading:
    place = index + 1 if line.word(index) in (",", "of") else index
    if _is_year(line.word(place)) and line.tokens[place].kind == "number":
        found = _date(int(line.word(place)), month, number)
        return (Said(first=found), place + 1) if found is not None else None
    found = _next_date(line, month, number)
    return (Said(first=found), index) if found is not None else None


def _dated_range(line: Line, month: int, number: int, until: int, index: int) -> Reading:
    last = _dated(line, month, until, index)
    if last is None or last[0].first is None:
        return None
    first = _date(last[0].first.year, month, number)
    return (Said(first=first, after=last[0].first + DAY), last[1]) if first is not None else None


def _day_number(line: Line, index: int) -> tuple[int, int] | None:
    """A day of the month, 4, 4th or fourth, and the index after it; not the hour of a time."""
    word = line.word(index)
    if word in _ORDINALS:
        return _ORDINALS[word], index + 1
    if word in ("twenty", "thirty"):
        place = index + 1 + (line.word(index + 1) == "-")
        second = _ORDINALS.get(line.word(place), 0)
        return (TENS[word] + second, place + 1) if 1 <= second <= 9 else None
    if not (1 <= len(word) <= 2 and word.isdigit() and 1 <= int(word) <= 31) or line.tokens[index].kind != "number":
        return None
    place = index + 1
    if line.touches(place) and line.tokens[place].kind == "word":
        return (int(word), place + 1) if line.words[place] in ("st", "nd", "rd", "th") else None
    return (int(word), place) if not _has_half(line, place) and line.word(place) not in ("%", "°") else None


def _number_first(line: Line, index: int, cue: str) -> Reading:
    """4 March, the 4th of March 2027, 3 to 14 March, the 1st and the 5th of December; a year after a cue."""
    word = line.words[index]
    if line.touches(index) and line.words[index - 1] in ("$", "€", "£", "#", "/", "."):
        return None
    if _is_year(word) and cue in ("in", "since", "until", "before", "after", "from", "by", "during", "of", "for"):
        if line.word(index + 1) and line.word(index + 1) not in _AFTER_ORDINAL:
            return None
        year = int(word)
        return Said(first=dt.date(year, 1, 1), after=dt.date(year + 1, 1, 1)), index + 1
    number = _day_number(line, index)
    if number is None:
        return None
    place = number[1] + (line.word(number[1]) == "of")
    if line.word(place) in MONTHS:
        return _dated(line, MONTHS[line.word(place)], number[0], _past_dot(line, place))
    ranged = _number_range(line, number, cue)
    if ranged is not None:
        return ranged
    if number[1] > index + 1:
        return _lone_ordinal(line, number, cue)
    return None


def _past_dot(line: Line, place: int) -> int:
    """The index after a month, and after the dot of a shortened one when a year follows."""
    if line.word(place + 1) == "." and len(line.words[place]) <= 4 and _is_year(line.word(place + 2)):
        return place + 2
    return place + 1


def _number_range(line: Line, number: tuple[int, int], cue: str) -> Reading:
    mark, place = line.word(number[1]), number[1] + 1
    if not (mark in RANGE_MARKS or mark in ("to", "until", "through") or (mark == "and" and cue == "between")):
        return None
    place += line.word(place) == "the"
    second = _day_number(line, place)
    if second is None or second[0] <= number[0]:
        return None
    place = second[1] + (line.word(second[1]) == "of")
    if line.word(place) in MONTHS:
        return _dated_range(line, MONTHS[line.word(place)], number[0], second[0], place + 1)
    if number[1] - 2 >= 0 and second[1] - place < 1 and line.words[second[1] - 1] in ("st", "nd", "rd", "th"):
        first = _lone_day(line, number[0])
        return (Said(first=first, after=first.replace(day=second[0]) + DAY), second[1]) if first else None
    return None


def _lone_day(line: Line, number: int) -> dt.date | None:
    """The next such day of a month, today included; looking back, the last."""
    for n in range(13):
        month = add_months(line.today.replace(day=1), -n if line.is_past else n)
        found = _date(month.year, month.month, number)
        if found is not None and (found <= line.today if line.is_past else found >= line.today):
            return found
    return None


def _lone_ordinal(line: Line, number: tuple[int, int], cue: str) -> Reading:
    """ "the 3rd", "the 1st of next month", "the 1st of every month"."""
    value, place = number
    following = line.words[place : place + 3]
    if len(following) == 3 and following[0] == "of" and following[2] in ("month", "months"):
        if following[1] in ("every", "each"):
            first = _lone_day(line, value)
            return (Said(first=first, repeat="monthly"), place + 3) if first is not None else None
        shift = {"the": 0, "this": 0, "next": 1, "last": -1}.get(following[1])
        if shift is not None:
            month = add_months(line.today.replace(day=1), shift)
            first = _date(month.year, month.month, value)
            return (Said(first=first), place + 3) if first is not None else None
    if cue not in DATE_CUES and cue not in ("joined", "the"):
        return None
    if line.word(place) and line.word(place) not in _AFTER_ORDINAL and line.tokens[place].kind != "clock":
        return None
    first = _lone_day(line, value)
    return (Said(first=first), place) if first is not None else None


def _ordinal_first(line: Line, index: int, cue: str) -> Reading:
    """ "first of March", "twenty-fourth of December", "first of every month"; never "first" alone."""
    number = _day_number(line, index)
    if number is None or line.word(number[1]) not in ("of", *MONTHS):
        return None
    if line.words[number[1] + 1 : number[1] + 3][1:] in (["month"], ["months"]):
        return _lone_ordinal(line, number, cue)
    place = number[1] + (line.word(number[1]) == "of")
    if line.word(place) not in MONTHS:
        return None
    return _dated(line, MONTHS[line.word(place)], number[0], place + 1)


# ── Modified and longer ───────────────────────────────────────────────────────────────────────────────────


def _after_the(line: Line, text: str, index: int, cue: str) -> Reading:
    """ "the" is part of the expression: the day after tomorrow, the 3rd, the weekend, the evening, the past week."""
    place = index + 1
    word = line.word(place)
    if word in ("day", "week", "night", "evening", "morning", "month", "weekend", "year"):
        found = _unit_after_the(line, text, place)
        if found is not None:
            return found
    if word == "day":
        return None
    if word in MODIFIERS:
        return _modified(line, place, has_the=True)
    if word in PARTS and word not in MEALS:
        return _part(
            line, place, "the" if cue in ("in", "by", "until", "during", "before", "after", "since") else "", False
        )
    if word in _ORDINALS or word in ("first", "twenty", "thirty"):
        if word == "first" and line.word(place + 1) == "thing":
            return None
        number = _day_number(line, place)
        if number is not None and cue in ("on", "by", "until", "since") and line.word(number[1]) in ("", ".", "?"):
            return _lone_ordinal(line, number, cue)
        return _ordinal_first(line, place, cue)
    if word in ("end", "beginning", "start", "middle"):
        return _edge(line, text, place)
    if word in ("rest", "remainder"):
        return _rest(line, text, place)
    if word in ("early", "late"):
        return _early_or_late(line, text, place, cue)
    if place < len(line.tokens) and line.tokens[place].kind == "number":
        return _number_first(line, place, cue or "the") if not _is_year(word) else None
    if word in HOLIDAY_STARTS and word != "new":
        return _holiday(line, place, 0)
    return _special_weekday(line, place)


def _special_weekday(line: Line, place: int) -> Reading:
    """ "the Friday after next", "the Monday after that" is none."""
    if line.word(place) in WEEKDAYS and line.words[place + 1 : place + 3] == ["after", "next"]:
        return Said(first=_in_week(line, WEEKDAYS[line.word(place)], 2)), place + 3
    return None


def _unit_after_the(line: Line, text: str, place: int) -> Reading:
    unit, relation = line.words[place], line.word(place + 1)
    if relation in ("after", "before") and line.word(place + 2) != "that":
        if line.word(place + 2) == "next" and relation == "after":
            return _period(line, unit, 2, place + 3)
        if line.word(place + 2) == "last" and relation == "before":
            return _period(line, unit, -2, place + 3)
        anchor = day(line, text, place + 2, "on")
        if anchor is not None and anchor[0].first is not None and unit in ("day", "night", "evening", "morning"):
            sign = 1 if relation == "after" else -1
            last = (anchor[0].after or anchor[0].first + DAY) - DAY
            first = (last if sign > 0 else anchor[0].first) + sign * DAY
            return Said(first=first, part=PARTS.get(unit)), anchor[1]
        if anchor is not None and anchor[0].first is not None and unit == "week":
            monday = anchor[0].first - DAY * anchor[0].first.weekday() + (7 if relation == "after" else -7) * DAY
            return Said(first=monday, after=monday + 7 * DAY), anchor[1]
    if unit == "week" and relation == "of":
        anchor = day(line, text, place + 2, "on")
        if anchor is not None and anchor[0].first is not None:
            monday = anchor[0].first - DAY * anchor[0].first.weekday()
            return Said(first=monday, after=monday + 7 * DAY), anchor[1]
    if unit == "weekend":
        return _period(line, unit, -1 if line.is_past else 0, place + 1)
    return None


def _period(line: Line, unit: str, shift: int, place: int) -> Reading:
    """This (0), next (1), last (-1), … week, weekend, month, quarter, year."""
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


def _modified(line: Line, index: int, *, has_the: bool) -> Reading:
    """ "this", "next", "last" and what they stand before."""
    word, place = line.words[index], index + 1
    if word in ("this", "same") and line.word(place) == "time":
        now = line.now
        return Said(clock=Clock(now.hour, now.minute)), place + 1
    if word == "same":
        return None
    if word in ("this", "the") and line.word(place) in _NEXT | _LAST:
        word, place = line.word(place), place + 1
    sign = 0 if word in _THIS else 1 if word in _NEXT else -1
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
        return _season(line, target, sign), place + 1
    if target in HOLIDAY_STARTS and (target != "new" or line.word(place + 1) in ("year", "years")):
        found = _holiday(line, place, sign)
        if found is not None:
            return found
    rolling = _rolling(line, place, sign, has_the or word == "past")
    if rolling is not None:
        return rolling
    if target in ("week", "weekend", "month", "year", "quarter"):
        return _period(line, target, sign, place + 1)
    if target == "day" and sign == 0:
        return None
    return None


def _modified_weekday(line: Line, word: str, sign: int, place: int) -> Reading:
    weekday, today = WEEKDAYS[line.words[place]], line.today
    if sign < 0:
        return Said(first=today - DAY * ((today.weekday() - weekday - 1) % 7 + 1)), place + 1
    if word in ("coming", "upcoming", "following"):
        return Said(first=today + DAY * ((weekday - today.weekday() - 1) % 7 + 1)), place + 1
    first = _in_week(line, weekday, sign)
    if sign == 0 and first < today and not line.is_past:
        first += 7 * DAY
    return Said(first=first), place + 1


def _modified_part(line: Line, target: str, sign: int, place: int) -> Reading:
    part = PARTS[target]
    if sign == 0:
        return Said(first=line.today, part=part), place + 1
    if sign < 0 and part is PARTS["night"]:
        return Said(first=line.today - DAY, part=Part(18, 30, 20)), place + 1
    if sign < 0:
        return Said(first=line.today - DAY, part=part), place + 1
    return None


def _modified_month(line: Line, sign: int, place: int) -> Reading:
    month, today = MONTHS[line.words[place]], line.today
    number = _day_number(line, place + 1)
    if number is not None:
        return _dated(line, month, number[0], number[1])
    year = today.year
    if sign < 0:
        year -= month >= today.month
    elif sign > 0:
        year += month <= today.month
    elif month < today.month and not line.is_past:
        year += 1
    first = dt.date(year, month, 1)
    return Said(first=first, after=add_months(first, 1)), place + 1


def _season(line: Line, word: str, sign: int) -> Said:
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


def _rolling(line: Line, place: int, sign: int, is_rolling: bool) -> Reading:
    """ "the last 24 hours", "the past week", "the next three days": counted from now, not by the calendar."""
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
    """Months, days and seconds of one unit."""
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


# ── Parts of days and of periods ──────────────────────────────────────────────────────────────────────────


def _part(line: Line, index: int, cue: str, is_joined: bool) -> Reading:
    """ "in the morning", "at night", "by evening", after a day "morning"; a bare "morning" is a greeting."""
    word = line.words[index]
    if word in MEALS:
        if cue in ("before", "after", "at", "until", "by") and not is_joined and line.word(index + 1) not in ("with",):
            return Said(part=PARTS[word]), index + 1
        return None
    allowed = is_joined or cue in ("the", "at", "by", "until", "before", "since", "during", "every", "each")
    if not allowed or (word == "eve" and not is_joined):
        return None
    return Said(part=PARTS[word]), index + 1


def _first_thing(line: Line, index: int) -> Reading:
    place = index + (2 if line.words[index : index + 2] == ["in", "the"] else 0)
    if place > index and line.word(place) == "morning":
        first = line.today if line.now.hour < FIRST_THING.moment else line.today + DAY
        return Said(first=first, part=FIRST_THING), place + 1
    return Said(part=FIRST_THING), index


def _early_or_late(line: Line, text: str, index: int, cue: str) -> Reading:
    """ "early tomorrow morning", "late afternoon", "early next week", "mid-March", "later today"."""
    word, place = line.words[index], index + 1
    if word == "later":
        found = day(line, text, place, "on") if line.word(place) in ("today", "tonight", "this") else None
        if found is not None and (found[0].first is not None):
            found[0].is_rest = True
            return found
        return None
    if line.word(place) == "-":
        place += 1
    if word == "early" and line.words[place : place + 2] == ["in", "the"]:
        place += 2
    elif line.word(place) in ("on", "in"):
        place += 1
    table = EARLY if word == "early" else LATE
    if line.word(place) in table and word != "mid":
        if not (cue in ("in", "the", "on", "at", "by", "until") or place > index + 1 or line.word(index - 1) == "the"):
            return None
        return Said(part=table[line.word(place)]), place + 1
    target = day(line, text, place, "in")
    if target is None:
        return None
    said, after = target
    if said.clock is not None or said.first is None:
        return None
    if said.after is not None:
        return _third(said, word), after
    if word == "mid":
        return None
    name = next((n for n, part in PARTS.items() if part is said.part), "")
    if name == "" and line.word(after) in table:
        name, after = line.word(after), after + 1
    said.part = table.get(name, said.part)
    return said, after


def _third(said: Said, word: str) -> Said:
    """The early, middle or late third of a period; of a week Monday to Wednesday, Tuesday to Thursday, Thursday on."""
    first, after = said.first, said.after
    if first is None or after is None:
        return said
    n_days = (after - first).days
    if n_days <= 7:
        cuts = {"early": (0, 3), "mid": (1, 4), "late": (3, 5)}[word]
    elif n_days <= 31:
        cuts = {"early": (0, 10), "mid": (10, 20), "late": (20, n_days)}[word]
    else:
        cuts = {"early": (0, n_days // 3), "mid": (n_days // 3, 2 * n_days // 3), "late": (2 * n_days // 3, n_days)}[
            word
        ]
    return Said(first=first + cuts[0] * DAY, after=first + cuts[1] * DAY)


def _edge(line: Line, text: str, index: int) -> Reading:
    """ "the end of the month", "the beginning of next week", "end of March", "end of the day"."""
    edge = _EDGES[line.words[index]]
    if line.word(index + 1) != "of":
        return None
    place = index + 2
    has_the = line.word(place) == "the"
    place += has_the
    unit = line.word(place)
    if unit in ("day", "business", "play", "today"):
        is_end = edge == "end"
        first = line.today if unit == "today" else None
        if unit == "day" and line.words[place + 1 : place + 2] == ["today"]:
            first, place = line.today, place + 1
        return (Said(first=first or line.today, part=END_OF_DAY), place + 1) if is_end else None
    if unit in ("week", "month", "year", "quarter") and (has_the or edge == "end"):
        found = _period(line, unit, 0, place + 1)
    else:
        found = day(line, text, place, "in")
    if found is None or found[0].first is None or found[0].after is None:
        return None
    first, after = found[0].first, found[0].after
    if (after - first).days == 7:
        picked = {"start": first, "middle": first + 2 * DAY, "end": first + 4 * DAY}[edge]
    else:
        middle = first.replace(day=15) if (after - first).days <= 31 else first + (after - first) // 2
        picked = {"start": first, "middle": middle, "end": after - DAY}[edge]
    if edge == "start" and picked < line.today and has_the:
        shifted = _period(line, unit, 1, place + 1)
        picked = shifted[0].first if shifted is not None and shifted[0].first is not None else picked
    return Said(first=picked), found[1]


def _rest(line: Line, text: str, index: int) -> Reading:
    if line.word(index + 1) != "of":
        return None
    place = index + 2
    if line.word(place) == "the":
        unit = line.word(place + 1)
        found = (Said(first=line.today), place + 2) if unit == "day" else None
        if unit in ("week", "month", "year", "weekend", "quarter"):
            found = _period(line, unit, 0, place + 2)
    else:
        found = day(line, text, place, "in")
    if found is None or found[0].first is None:
        return None
    found[0].is_rest = True
    return found


def _calendar_week(line: Line, index: int, cue: str) -> Reading:
    """ISO week: "in week 48"."""
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


def ordinal_of(word: str) -> int:
    """1 for "first", …; 0 for any other word."""
    return _ORDINALS.get(word, 0)


def count_of(word: str) -> int:
    """1 for "one" or "1", …; 0 for any other word."""
    return int(word) if word.isdigit() and len(word) <= 3 else ONES.get(word, 0)
