"""Finds the periods of time a question names, for memory to search in."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from hearth import patterns as re
from hearth.language.reading import Utterance
from hearth.types import Context

_EARLIEST = dt.timedelta(days=36500)
_LEAD = re.compile(r"(?:\b(?:on|in|at|of|for|during|from|the)\s+)*\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time that a question names."""

    start: dt.datetime
    end: dt.datetime

    def holds(self, at: dt.datetime | None) -> bool:
        """Return whether a moment lies in it; no unknown one does."""
        return at is not None and self.start <= at < self.end


def times_named(text: str, now: dt.datetime, country: str = "") -> tuple[Period, ...]:
    """Find the bounded times in `text`, relative to `now`; "before June" and "since Monday" are open on one side and
    cut at a hundred years before and at `now`."""
    periods = []
    for slot in Utterance(text, now, context=Context(country=country)).times:
        if not {"date", "start", "end"} & slot.views.keys():
            continue
        start, end = (_moment(slot.views.get(name), now) for name in ("start", "end"))
        if start is None and end is None:
            start = _moment(slot.views.get("date"), now)
            end = start and start + dt.timedelta(days=1)
        start, end = start or now - _EARLIEST, end or now
        if start < end:
            periods.append(Period(start, end))
    return tuple(periods)


def _moment(value: object, now: dt.datetime) -> dt.datetime | None:
    if not isinstance(value, str):
        return None
    moment = dt.datetime.fromisoformat(value)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=now.tzinfo)


def without_times(text: str, now: dt.datetime) -> str:
    """Return a text without the words that name a time, and what leads to them ("on the 27th")."""
    left = text
    for slot in sorted(Utterance(text, now, context=Context()).times, key=lambda one: one.start, reverse=True):
        before = _LEAD.sub("", left[: slot.start])
        left = f"{before} {left[slot.end :]}"
    return " ".join(left.split())
