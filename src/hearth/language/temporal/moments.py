"""Places a time expression on the calendar, as aware datetimes in the zone of the request.

Days are counted by the wall clock, hours by elapsed time, so a day across a clock change has 23 or 25 hours. A time
that the change skips is moved forward by it; of a time that comes twice the first is meant.

How a bare hour is read (no am, pm, 24-hour form or part of the day): 12 is noon; 1 to 6 are in the afternoon; 7 to 11
are in the morning when a day is named, else whichever comes next. Words about waking or breakfast nearby make it
morning, words about dinner or going out make it evening.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Literal

from hearth.formats.tool_signature import duration_text
from hearth.language.temporal.time_words import DAY_CODES, Part, add_months
from hearth.types import Plain

Leaning = Literal["", "am", "pm"]
DAY = dt.timedelta(days=1)
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


def at(day: dt.date, seconds: int, now: dt.datetime) -> dt.datetime:
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
    start, end = at(first, 0, now), at(said.after or first + DAY, 0, now)
    moment = said.stands_at or at(first, MORNING_HOUR * 3600, now)
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
        if clues.is_past and at(day, part.start * 3600, now) > now:
            day -= DAY
        elif not clues.is_past and at(day, (part.moment if part.end <= 12 else part.end) * 3600, now) <= now:
            day += DAY
    start, end = at(day, part.start * 3600, now), at(day, part.end * 3600, now)
    moment = said.stands_at or at(day, part.moment * 3600, now)
    if start <= now < end and moment <= now:
        moment = _soon(now, end)
    return start, end, moment, True


def _clocked(said: Said, clock: Clock, now: dt.datetime, clues: Clues) -> tuple[dt.datetime, dt.datetime]:
    days = _candidate_days(said, now, clues)
    if said.to_clock is not None:
        pairs = _range_readings(clock, said.to_clock, said.part, clues.leaning)
        options = [(at(day, a, now), at(day, b, now)) for day in days for a, b in pairs]
        if said.first is not None and (said.first != now.date() or said.repeat):
            return options[0]
        if clues.is_past:
            return max((o for o in options if o[0] <= now), default=options[0])
        return min((o for o in options if o[1] > now), default=options[0])
    readings = _readings(clock, said, clues.leaning)
    if said.first is not None and (said.first != now.date() or len(readings) == 1):
        moment = at(said.first, readings[0], now)
    elif clues.is_past:
        past = [m for day in days for s in readings if (m := at(day, s, now)) <= now]
        moment = max(past) if past else at(days[0], readings[0], now)
    else:
        ahead = [m for day in days for s in readings if (m := at(day, s, now)) > now]
        moment = min(ahead) if ahead else at(days[0], readings[0], now)
    return moment, later(moment, 60)


def _candidate_days(said: Said, now: dt.datetime, clues: Clues) -> list[dt.date]:
    if said.first is not None:
        return [said.first]
    today = now.date()
    return [today, today - DAY] if clues.is_past else [today, today + DAY]


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
    is_of_day = said.is_within_day or said.bound == "before"
    if is_clocked and is_of_day and said.first is not None and said.first != now.date():
        opening = at(said.first, 0, now)
    return (opening if opening <= limit else None), limit


def _after(
    said: Said, begin: dt.datetime, now: dt.datetime, *, is_timed: bool
) -> tuple[dt.datetime, dt.datetime | None]:
    """Return the stretch from a bound on, to the end of its day where an hour is said."""
    if is_timed and said.part is not None and said.part.end > 24 and said.first is not None:
        return begin, at(said.first, said.part.end * 3600, now)  # "last night after eleven"
    if is_timed:
        return begin, at(begin.date() + DAY, 0, now)
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
            day = begins + n * DAY
        elif said.repeat == "weekly":
            day = begins + 7 * n * DAY
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
    return bool(said.clock or said.part) or at(day, MORNING_HOUR * 3600, now) > now


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
