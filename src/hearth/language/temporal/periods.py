"""Reads stretches longer than a day: weeks, months, seasons, and those counted from now ("the last 24 hours").

Weeks begin on Monday. "The last three days" reaches back to the midnight that began them; hours are counted exactly.
"""

from __future__ import annotations

import datetime as dt

from hearth.language.temporal import moments
from hearth.language.temporal.clock_times import Line
from hearth.language.temporal.dates import DATE_CUES, Reading
from hearth.language.temporal.durations import length
from hearth.language.temporal.moments import DAY, Said
from hearth.language.temporal.time_words import SEASONS, UNITS, add_months


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
