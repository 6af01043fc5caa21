"""Compares the numbers and moments in a call's values with those the owner said.

A moment contradicts the request when the
request names days (or clock times) and the moment is on none of them; a request that names none is never contradicted.

Covered: `400`, `1.6`, `39 euros`, `0900 555 321`, ISO days and times; weekdays, `3rd of December`, `half past nine`.
Not covered: numbers in words; moments the owner gives relative to another ("an hour before"), for which only days are
checked, or not even those ("two days before").
"""

from __future__ import annotations

import datetime as dt

from hearth import patterns as re
from hearth.guard.capability.request_words import days_said, folded

_NUMBER = re.compile(r"(?<![\w])\d[\d.,]*(?:[ /-]\d[\d.,]*)*")
_RECKONED = re.compile(
    r"\b(?:before|after|later|earlier|sooner|ahead|prior|in (?:an?|one|two|three|\d+|half) \w+|instead)\b"
)
_DAYS_RECKONED = re.compile(r"\b(?:days?|weeks?|months?|years?|nights?|weekend|fortnight)\b")
_CLOCK = re.compile(
    r"\b(?P<past>half past|quarter past|quarter to|half)\s+(?P<word>\w+)\b"
    r"|\b(?P<hour>\d{1,2})(?::|\.)?(?P<minute>[0-5]\d)?\s*(?P<half>[ap])\.?m\b"
    r"|\b(?P<h>[01]?\d|2[0-3]):(?P<m>[0-5]\d)\b|\b(?:at|from|by|until|till|to|for)\s+"
    r"(?!half\b|quarter\b|noon|mid)(?P<bare>\w+)\b(?![:.]\d|\s*[ap]\.?m\b|\s+(?:of\s+)?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))"
    r"|\b(?P<noon>noon|midday|midnight)\b"
)
_HOURS = {
    name: number
    for number, name in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), 1
    )
}


def all_numbers(text: str) -> frozenset[str]:
    """Find every number of a text in the same form, and each part of a number written in groups."""
    found = _NUMBER.findall(folded(text))
    return frozenset(digits_of(part) for number in found for part in (number, *re.split(r"[ /-]", number)))


def digits_of(number: str) -> str:
    """Normalise a number: `1,200.50` to `1200.5`, `030 1234` to `0301234`."""
    number = number.strip(" .,/-")
    decimals = re.fullmatch(r"([\d., ]*?)[.,](\d{1,2})", number)
    if decimals is None or " " in number:
        return re.sub(r"\D", "", number)
    whole = re.sub(r"\D", "", decimals[1])
    rest = decimals[2].rstrip("0")
    return f"{whole}.{rest}" if rest else whole


class SaidTimes:
    """The days and clock times named in one request."""

    def __init__(self, text: str, today: dt.date) -> None:
        low = folded(text)
        self.today = today
        self.days = days_said(text, today)
        is_reckoned = _RECKONED.search(low) is not None
        if is_reckoned and _DAYS_RECKONED.search(low):
            self.days = frozenset()
        self.clocks = frozenset() if is_reckoned else clocks_said(low)

    def contradict(self, moment: str, *, is_end: bool) -> bool:
        """Return whether an ISO moment is on none of the days, or at none of the times, that were said.

        The year is usually unsaid, so any year within one of the present one is accepted.
        """
        low = moment.casefold().replace("t", " ")
        day, _, clock = low.partition(" ")
        if self.days and re.fullmatch(r"\d{4}-\d{2}-\d{2}", day):
            is_near = abs(int(day[:4]) - self.today.year) <= 1
            if not is_near or day[4:] not in {said[4:] for said in self.days}:
                return True
        return bool(self.clocks and not is_end and clock and clock[:5] not in self.clocks)


def clocks_said(low: str) -> frozenset[str]:
    """Find clock times as `HH:MM`, in both halves of the day unless the text says which."""
    found: set[str] = set()
    for said in _CLOCK.finditer(low):
        if said["noon"]:
            found.add("00:00" if said["noon"] == "midnight" else "12:00")
        elif said["past"]:
            hour = _hour(said["word"])
            if hour is not None:
                minute = {"half past": 30, "half": 30, "quarter past": 15, "quarter to": 45}[said["past"]]
                found |= _both(hour - (said["past"] == "quarter to"), minute)
        elif said["half"]:
            hour = int(said["hour"]) % 12 + (12 if said["half"] == "p" else 0)
            found.add(f"{hour:02}:{int(said['minute'] or 0):02}")
        elif said["h"]:
            found.add(f"{int(said['h']):02}:{said['m']}")
            if int(said["h"]) < 12:
                found.add(f"{int(said['h']) + 12:02}:{said['m']}")
        elif (hour := _hour(said["bare"])) is not None:
            found |= _both(hour, 0)
    return frozenset(found)


def _hour(word: str) -> int | None:
    if word.isdigit() and len(word) < 3 and int(word) < 24:
        return int(word)
    return _HOURS.get(word)


def _both(hour: int, minute: int) -> set[str]:
    return {f"{h % 24:02}:{minute:02}" for h in ((hour, hour + 12) if hour <= 12 else (hour,))}
