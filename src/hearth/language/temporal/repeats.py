"""Reads times that come again, and one time whose words stand in two places of a request."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from hearth.language.temporal import time_words
from hearth.language.temporal.clock_times import Line
from hearth.language.temporal.dates import Reading, count_of, counted_from, day, lone_day, ordinal_of
from hearth.language.temporal.time_words import MONTHS, PARTS, UNITS, WEEKDAYS, WEEKDAYS_PLURAL, Clues, Part, Said
from hearth.language.tokens import Slot

# ── Recurrence ────────────────────────────────────────────────────────────────────────────────────────────
# Reads repeats at a place in a request: "every Monday", "daily", "every other week", "on Tuesdays and Thursdays".

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
        return Said(moment=time_words.later(line.now.replace(microsecond=0), seconds), repeat=repeat, every=count)
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


# ── Split expressions ─────────────────────────────────────────────────────────────────────────────────────
# Joins times that one clause says in two places: "remind me tomorrow to call Ben at 5", "every day at 8am and at
# 8pm".
#
# A clock time without a day takes the day its clause names; the day then stands for that moment. A time after "to"
# ("move the meeting on Friday to 3pm") is the new time and stays apart from the old one.


class TimeSaid(NamedTuple):
    """A time slot with what it was made of; `said` is None for a duration."""

    slot: Slot
    said: Said | None
    clues: Clues


_TARGETS = frozenset({"to", "until", "till", "til"})
_LIST_MARKS = frozenset(["", "and", "or", "&", ",", ", and", ", or"])
_NEXT_THING = re.compile(r"\b(?:and|or|but|then|while)\b|[&,;]", re.IGNORECASE)
"""Words and marks after which a sentence may go on about something else."""
_STILL_OF_REPEAT = re.compile(r"\W*(?:(?:both|each|all|always|every time|please)\W*)*", re.IGNORECASE)
"""What may stand between a repeat and its hour after such a mark: "daily, always at 7"."""


_THAT = re.compile(r"\bthat (?:day|morning|afternoon|evening|night)\b", re.IGNORECASE)
_BEGINNING = re.compile(
    r"\b(?:begin(?:s|ning)?|start(?:s|ing)?|first (?:one|time))(?:'s| is)?(?: on| from)?\s*$", re.IGNORECASE
)
_NEAR_BEGINNING = 24
"""So many characters before a day the word that makes it the first is looked for."""
_NEAR_REPEAT = 3
"""So many times before and after a repeat its first day is looked for."""


def begun(text: str, found: Sequence[TimeSaid], now: dt.datetime) -> list[TimeSaid]:
    """Let each repeat begin on the day that is said for it: "every Monday at 6, starting on the 11th"."""
    result = list(found)
    for place, (_, said, _) in enumerate(found):
        if said is None or not said.repeat or said.first is not None:
            continue
        for other in range(max(0, place - _NEAR_REPEAT), min(place + _NEAR_REPEAT + 1, len(found))):
            slot, start, clues = found[other]
            if start is None or start.first is None or start.repeat or not _is_beginning(text, slot, start, now):
                continue
            first = max(start.first, now.date())
            while said.weekdays and first.weekday() not in said.weekdays:
                first += time_words.ONE_DAY
            hours = said if said.clock is not None or said.part is not None else start
            said = replace(said, first=first, clock=hours.clock, to_clock=hours.to_clock, part=hours.part)
            if said.clock is not None:
                said.moment = None  # "every 30 minutes from 12 to 2 on Saturday" begins there, not in 30 minutes
            result[place] = _changed(found[place], said, now)
            if start.clock is None and said.clock is not None and start.after is None:
                result[other] = _changed(found[other], replace(start, stands_at=_moment(said, clues, now)), now)
            break
    return result


def _is_beginning(text: str, slot: Slot, said: Said, now: dt.datetime) -> bool:
    """Return whether a day beside a repeat is its first: "from Saturday", "first one on the 11th"."""
    if said.first is None or (said.after or said.first + time_words.ONE_DAY) <= now.date():
        return False
    if said.bound == "onward" or slot.cue == "from":
        return True
    return _BEGINNING.search(text, max(0, slot.start - _NEAR_BEGINNING), slot.start) is not None


def _changed(item: TimeSaid, said: Said, now: dt.datetime) -> TimeSaid:
    return item._replace(said=said, slot=_rebuilt(item, said, now))


def joined(text: str, found: Sequence[TimeSaid], now: dt.datetime, before: Said | None = None) -> list[Slot]:
    """Return the slots of one clause, each completed with the day and hour that the others name.

    Args:
        before: A day that the sentence named before the clause; used for clock times when the clause names no day.
    """
    changed = _clocks_with_days(text, found, now, before) | _days_with_clocks(text, found, now)
    return [_rebuilt(item, changed.get(place), now) for place, item in enumerate(found)]


def _clocks_with_days(text: str, found: Sequence[TimeSaid], now: dt.datetime, before: Said | None) -> dict[int, Said]:
    """Give each clock time without a day the last day named before it, else the one after it, by its place."""
    day: Said | None = None
    day_place = end = 0
    changed: dict[int, Said] = {}
    for place, (slot, said, clues) in enumerate(found):
        if said is None:
            continue
        if _is_clock_only(said) or is_of_that_day(found[place]):
            donor = day or _coming_day(found, place) or before
            between = text[end : slot.cue_start if slot.cue else slot.start]
            if donor is None or (donor.repeat and not _is_of_repeat(between, donor, said)):
                continue
            if said.beside is not None and donor.repeat:
                continue
            changed[place] = _with_day(said, donor)
            if said.beside is not None:
                day, day_place, end = changed[place], place, slot.end
            if donor.repeat:
                end = slot.end
                hour = replace(changed[place], bound="")
                if _takes_hour(donor, hour, clues, now) and (said.bound or day_place not in changed):
                    changed[day_place] = hour  # "every week … at 7": the rhythm is that of the hour
        if said.repeat or _names_day(slot, said, now):
            day, day_place, end = said, place, slot.end
    return changed


def _names_day(slot: Slot, said: Said, now: dt.datetime) -> bool:
    """Return whether a time names a day that hours after it may be of."""
    is_to_come = said.first is not None and (said.after is None or said.first > now.date())
    return is_to_come and not said.bound and slot.cue not in _TARGETS


def _is_of_repeat(between: str, repeat: Said, said: Said) -> bool:
    """Return whether an hour belongs to the repeat said before it: "daily … at 7"; no "run daily and eat at 7".

    Of "every minute until 9" the hour is the end, and takes no repeat.
    """
    if said.bound:
        return said.bound == "onward" or (said.bound == "after" and repeat.moment is not None)
    mark = _NEXT_THING.search(between)
    is_list = between.strip().lower() in _LIST_MARKS
    return mark is None or is_list or _STILL_OF_REPEAT.fullmatch(between, mark.end()) is not None


def _takes_hour(repeat: Said, hour: Said, clues: Clues, now: dt.datetime) -> bool:
    """Return whether an hour becomes that of a repeat: one without an hour, whose part of the day the hour is in."""
    if repeat.clock is not None or repeat.part is None:
        return repeat.clock is None
    moment = _moment(hour, clues, now)
    return moment is not None and repeat.part.start <= moment.hour <= repeat.part.end


def _days_with_clocks(text: str, found: Sequence[TimeSaid], now: dt.datetime) -> dict[int, Said]:
    """Let each day without a clock time stand for the moment that a time said elsewhere makes of it, by its place."""
    changed: dict[int, Said] = {}
    for place, (slot, said, clues) in enumerate(found):
        if said is None or said.clock is not None or said.first is None or said.after is not None or said.repeat:
            continue
        is_target = slot.cue in _TARGETS and not said.bound
        hours = _hours_for(found, place, is_target=is_target) or _hours_of_list(text, found, place)
        if hours is not None and said.part is not None and hours.to_clock is not None and not is_target:
            changed[place] = replace(hours, first=said.first, part=said.part)  # "Friday morning for the van 8 to 9.30"
        elif hours is not None:
            changed[place] = replace(
                said, stands_at=_moment(replace(hours, first=said.first, part=hours.part or said.part), clues, now)
            )
    return changed


def carried(found: Sequence[TimeSaid], now: dt.datetime) -> Said | None:
    """Return the last day that a clause names, for the clauses after it: "choir on Friday at 7, remind me at 6"."""
    for _, said, clues in reversed(found):
        if said is not None and said.first is not None and said.after is None and not said.repeat:
            return said if said.first >= now.date() and not clues.is_past else None
    return None


def _is_clock_only(said: Said) -> bool:
    is_dated = said.first is not None or said.moment is not None or said.stretch is not None
    return said.clock is not None and not is_dated and not said.repeat


def is_of_that_day(time: TimeSaid) -> bool:
    """Return whether a day was said that counts from one named elsewhere: "that morning", "the day before"."""
    said = time.said
    return (
        said is not None
        and said.first is None
        and (said.beside is not None or _THAT.search(time.slot.text) is not None)
    )


def _coming_day(found: Sequence[TimeSaid], place: int) -> Said | None:
    """Return the day said after a clock time, unless something is moved to that day."""
    for slot, said, _ in found[place + 1 :]:
        if said is not None and said.first is not None and said.after is None and not said.bound:
            return said if slot.cue not in {"for", *_TARGETS} and not said.repeat else None
    return None


def _with_day(said: Said, donor: Said) -> Said:
    if said.beside is not None and donor.first is not None:
        counted = counted_from(donor.first, donor.after, said.beside)
        return replace(said, first=counted.first, after=counted.after, beside=None, is_within_day=True)
    return replace(
        said,
        first=donor.first,
        after=donor.after if donor.repeat else None,
        part=said.part or (donor.part if donor.clock is None else None),
        is_within_day=True,
        repeat=donor.repeat,
        every=donor.every,
        weekdays=donor.weekdays,
    )


def _hours_for(found: Sequence[TimeSaid], place: int, *, is_target: bool) -> Said | None:
    """Return the clock time for a day said elsewhere: the last one before a target day, else the only one."""
    clocks = [
        (index, slot, said) for index, (slot, said, _) in enumerate(found) if said is not None and _is_clock_only(said)
    ]
    if is_target:
        before = [said for index, _, said in clocks if index < place]
        return before[-1] if before else None
    free = [said for _, slot, said in clocks if slot.cue not in _TARGETS and not said.bound]
    return free[0] if len(free) == 1 else None


def _hours_of_list(text: str, found: Sequence[TimeSaid], place: int) -> Said | None:
    """Return the clock time at the end of a list of days: "on Monday and Wednesday at 6pm"."""
    for (slot, _, _), (following, said, _) in pairwise(found[place:]):
        between = text[slot.end : following.cue_start if following.cue else following.start].strip().lower()
        if said is None or following.cue in _TARGETS or between not in _LIST_MARKS:
            return None
        if following.cue == "for" and not between and not _may_be_same_day(found[place].said, said):
            return None  # "move the gym on Monday for Wednesday at 6pm"
        if said.clock is not None:
            return said
    return None


def _may_be_same_day(said: Said | None, other: Said) -> bool:
    return said is not None and other.first in (None, said.first)


def _moment(said: Said, clues: Clues, now: dt.datetime) -> dt.datetime | None:
    made = time_words.views(said, now, clues)
    return dt.datetime.fromisoformat(str(made[0]["datetime"])).astimezone(now.tzinfo) if made else None


def _rebuilt(item: TimeSaid, said: Said | None, now: dt.datetime) -> Slot:
    made = time_words.views(said, now, item.clues) if said is not None else None
    if made is None:
        return item.slot
    return replace(item.slot, views=made[0], is_timed=item.slot.is_timed or made[1], ahead={})
