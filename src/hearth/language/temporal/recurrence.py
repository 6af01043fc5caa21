"""Reads repeats at a place in a request: "every Monday", "daily", "every other week", "on Tuesdays and Thursdays"."""

from __future__ import annotations

from hearth.language.temporal import moments
from hearth.language.temporal.clock_times import Line
from hearth.language.temporal.dates import Reading, count_of, lone_day, ordinal_of
from hearth.language.temporal.days import day
from hearth.language.temporal.moments import Said
from hearth.language.temporal.time_words import MONTHS, PARTS, UNITS, WEEKDAYS, WEEKDAYS_PLURAL, Part

REPEATS = {
    "daily": ("daily", 1),
    "everyday": ("daily", 1),
    "nightly": ("daily", 1),
    "weekly": ("weekly", 1),
    "biweekly": ("weekly", 2),
    "fortnightly": ("weekly", 2),
    "monthly": ("monthly", 1),
    "quarterly": ("monthly", 3),
    "yearly": ("yearly", 1),
    "annually": ("yearly", 1),
    "hourly": ("hourly", 1),
}
_REPEAT_OF_UNIT = {
    "day": "daily",
    "week": "weekly",
    "month": "monthly",
    "year": "yearly",
    "hour": "hourly",
    "minute": "minutely",
}
_WORK_WEEK = (0, 1, 2, 3, 4)


def every(line: Line, text: str, place: int) -> Reading:
    """Read the words after "every" or "each"."""
    count, start = 1, place
    if line.word(place) in ("other", "second") and line.word(place + 1):
        count, place = 2, place + 1
    elif line.word(place) == "single":
        place += 1
    elif (number := count_of(line.word(place)) or ordinal_of(line.word(place))) and line.word(place + 1) in UNITS:
        count, place = number, place + 1
    word = line.word(place)
    if word in WEEKDAYS:
        return _weekday_list(line, place, count)
    if word in ("weekday", "workday", "weekdays"):
        return Said(repeat="daily", weekdays=_WORK_WEEK), place + 1
    if word in ("business", "working", "work") and line.word(place + 1) in ("day", "days"):
        return Said(repeat="daily", weekdays=_WORK_WEEK), place + 2
    if word in ("weekend", "weekends"):
        return Said(repeat="weekly", weekdays=(5, 6)), place + 1
    if word in PARTS:
        return Said(repeat="daily", part=PARTS[word], every=count), place + 1
    if word in UNITS and UNITS[word][0] in _REPEAT_OF_UNIT:
        name, factor = UNITS[word]
        return _repeated(line, _REPEAT_OF_UNIT[name], int(count * factor)), place + 1
    return _on_date(line, text, place) if place == start else None


def _on_date(line: Line, text: str, place: int) -> Reading:
    """Read a date that comes back each year, or each month: "every 3 May", "every 3rd of the month"."""
    read = day(line, text, place, "every")
    if read is None or read[0].first is None or read[0].repeat:
        return None
    first, after = read[0].first, read[1]
    is_monthly = line.tokens[place].kind == "number" or ordinal_of(line.word(place))
    if line.words[after : after + 3] == ["of", "the", "month"]:
        return Said(first=first, repeat="monthly"), after + 3
    if is_monthly and first < line.today and line.words[after - 3 : after] == ["of", "the", "month"]:
        first = lone_day(line, first.day) or first
    names_month = any(w in MONTHS for w in line.words[place:after])
    return Said(first=first, repeat="monthly" if is_monthly and not names_month else "yearly"), after


def _repeated(line: Line, repeat: str, count: int) -> Said:
    if repeat in ("hourly", "minutely"):
        seconds = count * (3600 if repeat == "hourly" else 60)
        return Said(moment=moments.later(line.now.replace(microsecond=0), seconds), repeat=repeat, every=count)
    return Said(repeat=repeat, every=count)


def _weekday_list(line: Line, place: int, count: int) -> Reading:
    found = [WEEKDAYS[line.words[place]]]
    place += 1
    while len(found) < 7:
        following = place + (line.word(place) == ",")
        following += line.word(following) in ("and", "&", "or")
        if following == place or (line.word(following) not in WEEKDAYS and line.word(following) not in WEEKDAYS_PLURAL):
            break
        word = line.words[following]
        found.append(WEEKDAYS.get(word, WEEKDAYS_PLURAL.get(word, 0)))
        place = following + 1
    return Said(repeat="weekly", every=count, weekdays=tuple(sorted(set(found)))), place


def adverb(line: Line, place: int, cue: str) -> Reading:
    """Read "daily", "on Mondays", "weekdays", "once a week"."""
    word = line.words[place]
    if word in REPEATS:
        repeat, count = REPEATS[word]
        said = _repeated(line, repeat, count)
        if word == "nightly":
            said.part = Part(*PARTS["night"])
        return said, place + 1
    if word in WEEKDAYS_PLURAL:
        following = place + 1 + (line.word(place + 1) == ",")
        following += line.word(following) in ("and", "&")
        if following > place + 1 and line.word(following) in WEEKDAYS_PLURAL:
            days = (WEEKDAYS_PLURAL[word], WEEKDAYS_PLURAL[line.words[following]])
            return Said(repeat="weekly", weekdays=tuple(sorted(days))), following + 1
        return Said(repeat="weekly", weekdays=(WEEKDAYS_PLURAL[word],)), place + 1
    if word == "weekdays":
        return Said(repeat="daily", weekdays=_WORK_WEEK), place + 1
    if word == "weekends":
        is_alone = line.word(place - 1) in ("", ".", ":", ";", ",") or line.word(place + 1) in ("only", "at", ",")
        return (Said(repeat="weekly", weekdays=(5, 6)), place + 1) if cue in ("on", "at") or is_alone else None
    if word == "once" and line.word(place + 1) in ("a", "every", "per") and line.word(place + 2) in UNITS:
        name = UNITS[line.words[place + 2]][0]
        if name in ("day", "week", "month", "year"):
            return Said(repeat=_REPEAT_OF_UNIT[name]), place + 3
    return None
