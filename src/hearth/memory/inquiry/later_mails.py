"""Finds a mail by which the time of an event has changed since, though the calendar does not say so.

A mail counts that came before the event, speaks of it by its title, its place or who takes part, and says in one
sentence that something changes, and another time or day than the calendar's. "Moved from 11:00 to 11:20" is no change
of an event that begins at 11:20.

Not covered: events that are called off, a change told over several sentences.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from hearth import patterns as re
from hearth.language.reading import Utterance
from hearth.language.temporal.time_words import MONTHS, WEEKDAYS, WEEKDAYS_PLURAL
from hearth.language.tokens import Slot
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
_OLD = re.compile(r"\b(?:from|not|than|instead of)\s+(?:at\s+|on\s+|the\s+)*\Z", re.IGNORECASE)
"""Stands before the time that no longer holds."""
_EXACT = re.compile(r"\b(?:1[3-9]|2[0-3])[:.]|[ap]\.?m\b", re.IGNORECASE)
"""Says which half of the day an hour is of."""
_LIGHT = key_set("the and with for from new old house home road street") | key_set(" ".join(WEEKDAYS))
_WEEKDAYS = WEEKDAYS | WEEKDAYS_PLURAL
_TO = frozenset(("to", "until"))
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
        if said.endswith("?") or not _CHANGES.search(said):
            continue
        keys, times = keys_of(said), Utterance(said, mail.at or begins).times
        is_meant = (is_titled or bool(_OF_THE_EVENT & keys)) and _MINE.search(said) is None
        is_of_day = day in said.casefold() or any(_day(one) == (begins.day, begins.month) for one in times)
        is_theirs = bool(title & keys) or (is_meant and (is_of_day or _ADDRESSES.search(said) is not None))
        if is_theirs and _says_another(said, times, begins):
            yield said


def _says_another(said: str, times: Sequence[Slot], begins: dt.datetime) -> bool:
    """Return whether a sentence says a day, or else a time of day, that is another than the event's."""
    now = [one for one in times if _OLD.search(said[: one.start]) is None]
    days = [day for one in now if (day := _day(one)) is not None]
    if days and (begins.day, begins.month) not in days:
        return True
    if any(one.cue.casefold() in _TO and not _is_of_day(one, begins) for one in now):
        return True
    weekdays = {weekday for one in times if (weekday := _weekday(one)) is not None}
    clocks = [one for one in now if "time" in one.views]
    is_meant = bool(days) or not weekdays or begins.weekday() in weekdays
    return is_meant and bool(clocks) and not any(_is_at(one, begins) for one in clocks)


def _words(time: Slot) -> list[str]:
    return re.findall(r"[a-z]+", time.text.casefold())


def _day(time: Slot) -> tuple[int, int] | None:
    """Return the day and month that are said; None of a weekday or a clock time alone."""
    if MONTHS.keys().isdisjoint(_words(time)) or "date" not in time.views:
        return None
    date = dt.date.fromisoformat(str(time.views["date"]))
    return date.day, date.month


def _weekday(time: Slot) -> int | None:
    return next((n for word in _words(time) if (n := _WEEKDAYS.get(word)) is not None), None)


def _is_of_day(time: Slot, begins: dt.datetime) -> bool:
    day = _day(time)
    return day == (begins.day, begins.month) if day is not None else _weekday(time) in (None, begins.weekday())


def _is_at(time: Slot, begins: dt.datetime) -> bool:
    """Return whether a time of day is the event's, in the morning or the afternoon where it may be either."""
    at = dt.time.fromisoformat(str(time.views["time"]))
    whole = 24 if _EXACT.search(time.text) else 12
    return (at.hour % whole, at.minute) == (begins.hour % whole, begins.minute)
