"""Reads days and longer stretches at a place in a request: "next Tuesday", "the 3rd", "4.3.2027", "last month".

Rules where English is ambiguous: a weekday alone is the next one after today (in the past: the last one before it);
"next Friday" is Friday of next week. Dates and longer stretches: `language.temporal.dates`,
`language.temporal.dates`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

from hearth.language.temporal.clock_times import AFTER_HOUR, RANGE_MARKS, Line
from hearth.language.temporal.dates import (
    DATE_CUES,
    ORDINALS,
    Reading,
    calendar_week,
    dated,
    day_and_month,
    day_number,
    holiday_day,
    is_year,
    iso_date,
    lone_day,
    lone_ordinal,
    month_first,
    number_first,
    numeric_date,
    ordinal_first,
    period,
    rolling,
    season,
    third_of,
    with_year,
)
from hearth.language.temporal.moments import DAY, Clock, Said
from hearth.language.temporal.time_words import (
    EARLY,
    END_OF_DAY,
    FIRST_THING,
    HOLIDAY_STARTS,
    LATE,
    MEALS,
    MONTHS,
    PARTS,
    RISKY_WEEKDAYS,
    SEASONS,
    WEEKDAYS,
    Part,
    add_months,
    nth_weekday,
)
from hearth.language.text.tokens import listed

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
_AFTER_OWN = frozenset(["", *".,?!;:", *listed("look looks looking like and ahead shaping going is full busy packed")])
DAY_STARTS = frozenset(
    {*_TODAY, *MODIFIERS, *WEEKDAYS, *MONTHS, *PARTS, *HOLIDAY_STARTS, *ORDINALS, *_EDGES, *SEASONS}
    | set(
        listed(
            "the that tonight overnight early late mid later rest remainder first eod cob week day weekend same "
            "q1 q2 q3 q4 end "
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
    return Said(first=line.today - DAY, part=Part(18, 30, 20)), index + 1


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
        return Said(first=line.today + 7 * DAY), index + 2
    return Said(first=line.today + _TODAY[word] * DAY), index + 1


def plain_weekday(line: Line, weekday: int) -> dt.date:
    """Return the next such day after today; in the past, the last one before today."""
    if line.is_past:
        return line.today - DAY * ((line.today.weekday() - weekday - 1) % 7 + 1)
    return line.today + DAY * ((weekday - line.today.weekday() - 1) % 7 + 1)


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
        return Said(first=plain_weekday(line, weekday) + 7 * DAY), place + 1
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
    return line.today + DAY * (weekday - line.today.weekday() + 7 * weeks)


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
    edge = after - DAY if after is not None and sign > 0 else day
    if what == "day":
        return Said(first=edge + sign * DAY)
    wanted = WEEKDAYS.get(what, 5)
    if what == "weekend" and edge.weekday() == 6 and sign < 0:
        edge -= DAY  # the weekend before a Sunday is not its own
    n_days = (wanted - edge.weekday()) % 7 if sign > 0 else (edge.weekday() - wanted) % 7
    first = edge + sign * (n_days or 7) * DAY
    return Said(first=first, after=first + 2 * DAY if what == "weekend" else None)


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
        monday = begins - DAY * begins.weekday() + sign * 7 * DAY
        return Said(first=monday, after=monday + 7 * DAY), end
    if unit not in ("day", "night", "evening", "morning"):
        return None
    last = (said.after or begins + DAY) - DAY
    return Said(first=(last if sign > 0 else begins) + sign * DAY, part=PARTS.get(unit)), end


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
    if counted is not None:
        return counted
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
        if cue in ("before", "after", "at", "until", "by") and not is_joined and line.word(index + 1) not in ("with",):
            return Said(part=PARTS[word]), index + 1
        return None
    allowed = is_joined or cue in ("the", "at", "by", "until", "before", "since", "during", "every", "each")
    if not allowed or (word == "eve" and not is_joined):
        return None
    return Said(part=PARTS[word]), index + 1


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
        start = after - n_days * DAY if which < 0 else first + (which - 1) * n_days * DAY
        end = min(start + n_days * DAY, after)
    else:
        start = nth_weekday(first.year, first.month, WEEKDAYS.get(what, 5), which)
        end = start + (2 if what == "weekend" else 1) * DAY
    if not first <= start < after:
        return None
    return Said(first=start, after=end if (end - start).days > 1 else None)


def _first_thing(line: Line, index: int) -> Reading:
    place = index + (2 if line.words[index : index + 2] == ["in", "the"] else 0)
    if place > index and line.word(place) == "morning":
        first = line.today if line.now.hour < FIRST_THING.moment else line.today + DAY
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
        picked = {"start": first, "middle": first + 2 * DAY, "end": first + 4 * DAY}[edge]
    else:
        middle = first.replace(day=15) if (after - first).days <= 31 else first + (after - first) // 2
        picked = {"start": first, "middle": middle, "end": after - DAY}[edge]
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
