"""Finds a mail by which the time of an event has changed since, though the calendar does not say so.

A mail counts that came before the event, speaks of it by its title, its place or who takes part, and says in one
sentence that something changes, and another time or day than the calendar's. "Moved from 11:00 to 11:20" is no change
of an event that begins at 11:20.

Not covered: events that are called off, a change told over several sentences, times in words.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from hearth import patterns as re
from hearth.language.temporal.time_words import WEEKDAYS
from hearth.memory.search.passage_store import SENTENCE, Passage, unwrapped
from hearth.memory.search.search_words import key_set, keys_of

_CHANGES = re.compile(
    r"\b(?:moved|move|moves|moving|changed|changes|changing|rescheduled|reschedule|postponed|brought forward|put back"
    r"|pushed back|shifted|instead|no longer|from now on|new (?:time|date|day|slot)"
    r"|(?:not|n['’]t) [^.;]{1,40}\b(?:any ?more|any longer)|(?:is|are|begins?|starts?|meets?) now|now (?:at|on|begins?"
    r"|starts?|takes?)|(?:later|earlier) than)\b",
    re.IGNORECASE,
)
_OF_THE_EVENT = key_set(
    "appointment booking meeting session visit lesson class shift practice rehearsal begin start lunch dinner training"
)
_MINE = re.compile(r"\b(?:my|his|her|their)\b", re.IGNORECASE)
_ADDRESSES = re.compile(r"\b(?:you|your|our|the|we|us|it)\b", re.IGNORECASE)
_CLOCK = re.compile(
    r"(?<![\d.:/£€$-])(?P<h>\d{1,2})(?:[:.](?P<m>[0-5]\d)(?!\d)\s?(?P<half>[ap]\.?m\b)?|\s?(?P<late>[ap]\.?m\b))",
    re.IGNORECASE,
)
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_DAY = re.compile(
    rf"\b(?P<d>[0-3]?\d)(?:st|nd|rd|th)?(?: of)? (?P<month>{'|'.join(_MONTHS.split())})[a-z]*\b"
    rf"|\b(?P<first>{'|'.join(_MONTHS.split())})[a-z]* (?P<behind>[0-3]?\d)\b(?![:.]\d)",
    re.IGNORECASE,
)
_WEEKDAY = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day")
_OLD = re.compile(
    r"\b(?:from|not|instead of|rather than|than)\s+(?:at\s+|on\s+|the\s+)?"
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s+(?:the\s+)?)?\Z",
    re.IGNORECASE,
)
"""Stands before the time that no longer holds."""
_TO = re.compile(
    r"\b(?:to|until)\s+(?:the\s+)?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s+(?:the\s+)?)?\Z", re.IGNORECASE
)
_LIGHT = key_set("the and with for from new old house home road street") | key_set(" ".join(WEEKDAYS))
_LEAST_SHARED = 2
_WRITTEN = re.compile(r"^(?:LAST-MODIFIED|CREATED):(\d{8}T\d{6})Z", re.MULTILINE)


class Changed(NamedTuple):
    """A mail that says another time."""

    mail: Passage
    sentence: str


def later_word(event: Mapping[str, object], mails: Iterable[Passage], written: dt.datetime | None) -> Changed | None:
    """Return the newest mail that says another time of an event than the calendar, with its sentence.

    Args:
        written: When the event was last changed in the calendar, if it is known; mails before it are heeded there.
    """
    begins = _moment(event.get("start"))
    if begins is None:
        return None
    found = [
        Changed(mail, said)
        for mail in mails
        if mail.at is not None and mail.at < begins and (written is None or mail.at > written) and _is_of(event, mail)
        for said in _changing(event, begins, mail)
    ]
    return max(found, key=lambda one: one.mail.at or begins, default=None)


def written_at(raw: bytes) -> dt.datetime | None:
    """Return when an entry of the calendar says that it was last changed, or made; None where it does not say so."""
    times = [found[1] for found in _WRITTEN.finditer(raw.decode("utf-8", "replace"))]
    return max((dt.datetime.strptime(f"{one}+0000", "%Y%m%dT%H%M%S%z") for one in times), default=None)


def sought_for(event: Mapping[str, object]) -> str:
    """Return the words by which mails on an event are looked for."""
    return f"{_said(event, 'title')} {_said(event, 'place')} {_people(event)} new time moved changed"


def _moment(start: object) -> dt.datetime | None:
    if not isinstance(start, str) or "T" not in start:
        return None
    begins = dt.datetime.fromisoformat(start)
    return begins if begins.tzinfo is not None else None


def _said(event: Mapping[str, object], name: str) -> str:
    value = event.get(name)
    return value if isinstance(value, str) else ""


def _people(event: Mapping[str, object]) -> str:
    people = event.get("attendees")
    return " ".join(one for one in people if isinstance(one, str)) if isinstance(people, list) else ""


def _titled(event: Mapping[str, object]) -> set[str]:
    """Return the keys of the words that tell an event from others of its kind: "bakery" of a bakery shift."""
    return keys_of(_said(event, "title")) - _LIGHT - _OF_THE_EVENT


def _is_of(event: Mapping[str, object], mail: Passage) -> bool:
    """Return whether a mail shares a word of the title, two of the place, or one of who wrote it, with an event."""
    said = keys_of(f"{mail.person} {mail.title} {mail.text}")
    title, place = _titled(event), keys_of(_said(event, "place")) - _LIGHT
    by = keys_of(f"{_said(event, 'place')} {_people(event)}") - _LIGHT
    is_by = bool(by & keys_of(mail.person))
    return bool(title & keys_of(f"{mail.title} {mail.text}")) or len(place & said) >= _LEAST_SHARED or is_by


def _changing(event: Mapping[str, object], begins: dt.datetime, mail: Passage) -> Iterator[str]:
    """Yield the sentences of a mail that say that this event changes, and another time than it has."""
    title = _titled(event)
    is_titled = bool(title & keys_of(mail.title))
    day = f"{begins:%A}".casefold()
    for one in SENTENCE.finditer(unwrapped(mail.text)):
        said = " ".join(one.group().split())
        keys = keys_of(said)
        is_meant = (is_titled or bool(_OF_THE_EVENT & keys)) and _MINE.search(said) is None
        is_theirs = bool(title & keys) or (
            is_meant and (_ADDRESSES.search(said) is not None or day in said.casefold() or _says_day(said, begins))
        )
        if is_theirs and _CHANGES.search(said) and not said.endswith("?") and _says_another(said, begins, day):
            yield said


def _says_another(said: str, begins: dt.datetime, day: str) -> bool:
    """Return whether a sentence says a time of day, or else a day, that is another than the event's."""
    clocks = [(_clock(one), _OLD.search(said[: one.start()]) is not None) for one in _CLOCK.finditer(said)]
    now = [clock for clock, is_old in clocks if not is_old]
    own = (begins.day, begins.month)
    days = [(_day(one), said[: one.start()]) for one in _DAY.finditer(said)]
    new_days = [one for one, before in days if _OLD.search(before) is None]
    if (new_days and own not in new_days) or any(one != own and _TO.search(before) for one, before in days):
        return True
    names = [one for one in _WEEKDAY.findall(said.casefold()) if one]
    is_of_day = bool(new_days) or not names or day in names
    return bool(now) and is_of_day and all(not _is_at(clock, begins) for clock in now)


def _says_day(said: str, begins: dt.datetime) -> bool:
    return any(_day(one) == (begins.day, begins.month) for one in _DAY.finditer(said))


def _day(found: re.Match[str]) -> tuple[int, int]:
    number, month = (found["d"], found["month"]) if found["d"] else (found["behind"], found["first"])
    return int(number), _MONTHS.split().index(month[:3].casefold()) + 1


def _clock(found: re.Match[str]) -> tuple[int, int]:
    half = (found["half"] or found["late"] or "").casefold()
    hour = int(found["h"]) % 24
    hour = hour % 12 + (12 if half.startswith("p") else 0) if half else hour
    return hour, int(found["m"] or 0)


def _is_at(clock: tuple[int, int], begins: dt.datetime) -> bool:
    """Return whether a time of day is the event's, in the morning or the afternoon where it may be either."""
    return clock == (begins.hour, begins.minute) or (clock[0] + 12, clock[1]) == (begins.hour, begins.minute)
