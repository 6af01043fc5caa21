"""Finds what is asked for beside a request and is planned after it: a reminder of a new event, copies of a mail.

"Put lunch with Anna on Friday at one, remind me 30 minutes before" is the event, and a reminder that follows it: of
what is said to be done then ("remind me the day before to bake a cake"), else of the event. "Email Pieter that the
heating is off and cc Noor" is the mail, and whom it goes to as well.

Covered: both at the end of a request; known people. Not covered: the reminder said first; an address after "cc", which
is read with the rest; people who are not known: their words stay.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass

from hearth import patterns as re
from hearth.formats.tool_signature import parse_duration
from hearth.language.reading import Utterance

_SAYS = re.compile(
    r"[\s,;.–-]*\b(?:(?:and|also|then|with|plus|please|can you|could you)\s+)*"
    r"(?:(?:remind|alert|notify|warn|ping|nudge) me|(?:set |add |have )?(?:a |an )?(?:reminder|alert|alarm))"
    r"(?: of it)?\s*$",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"\s*(?:before(?:hand)?|b4|ahead|in advance|earlier|prior)(?: it| that| then| it starts)?"
    r"(?:[ ,]+(?:to|that i(?: need to| have to| must| should)?) (?P<deed>\S.*?))?"
    r"(?:[ ,]*(?:please|pls|thanks|thank you))?[\s.!]*$",
    re.IGNORECASE,
)
_DAY = re.compile(r"\bthe (?P<unit>day|night|evening|morning|week)(?=\s+(?:before|b4)\b)", re.IGNORECASE)
_HOURS = {"night": 20, "evening": 18, "morning": 9}
_LONGEST = 2_000
_WHOLE_DAY_AT = 9
"""The hour at which one is reminded the day before what lasts all day."""


@dataclass(frozen=True, slots=True)
class Lead:
    """A reminder that is said with something else."""

    rest: str
    """The request without it."""
    before: dt.timedelta
    text: str
    """Its words."""
    deed: str = ""
    """What is to be done then, where that is said."""
    hour: int | None = None
    """The hour that "the evening before" is."""

    def at(self, start: dt.datetime) -> dt.datetime:
        """Return when it reminds of what starts then."""
        hour = self.hour
        if hour is None and self.before.days and start.time() == dt.time():
            hour = _WHOLE_DAY_AT
        at = start - self.before
        return at if hour is None else at.replace(hour=hour, minute=0)


def lead_of(said: Utterance) -> Lead | None:
    """Return the reminder that ends a request; None where none does."""
    text = said.text
    if len(text) > _LONGEST:
        return None
    for start, end, before, hour in _lengths(said):
        tail, says = _BEFORE.fullmatch(text, end), _SAYS.search(text, 0, start)
        if tail is not None and says is not None and says.start() > 0:
            words = text[says.start() :].lstrip(" ,;.–-")
            return Lead(text[: says.start()].rstrip(), before, words, tail["deed"] or "", hour)
    return None


def _lengths(said: Utterance) -> Iterator[tuple[int, int, dt.timedelta, int | None]]:
    """Yield where a length or a day counted from the event stands, and what it is."""
    for match in _DAY.finditer(said.text):
        unit = match["unit"].lower()
        yield match.start(), match.end(), dt.timedelta(days=7 if unit == "week" else 1), _HOURS.get(unit)
    for slot in said.slots:
        if slot.kind == "duration":
            yield slot.start, slot.end, parse_duration(str(slot.views["duration"])), None


_COPY = re.compile(
    r"[\s,;.–-]+(?:(?:and|also|please|with)\s+)*(?:(?:a\s+)?b?cc(?:\s+to|['’]?d|ing|ed)?|cop(?:y|ying)(?:\s+(?:in|to))?|"
    r"(?:a|with\s+a)\s+copy\s+to)\s*:?\s+(?P<who>\S.{0,120}?)(?:\s+(?:in|too|as\s+well|please|on\s+(?:it|that|this)))*\s*[.!]*\s*$",
    re.IGNORECASE,
)
_JOINT = re.compile(r"\s*,?\s*(?:and\s+|&\s*)?", re.IGNORECASE)
_MOST_COPIED = 6


@dataclass(frozen=True, slots=True)
class Copied:
    """Who else gets a mail."""

    rest: str
    """The request without them."""
    names: tuple[str, ...]


def copied_in(said: Utterance) -> Copied | None:
    """Return who else gets the mail that a request asks for; None where nobody is named so, or somebody unknown."""
    match = _COPY.search(said.text) if len(said.text) <= _LONGEST else None
    if match is None or match.start() == 0:
        return None
    who = f"tell {match['who']}"
    slots = said.saying(who).slots
    names = [str(slot.views["name"]) for slot in slots if slot.kind == "person"]
    place = len("tell ")
    for slot in slots:
        if slot.kind != "person" or (place < slot.start and _JOINT.fullmatch(who, place, slot.start) is None):
            return None
        place = slot.end
    if not names or len(names) > _MOST_COPIED or who[place:].strip():
        return None
    return Copied(said.text[: match.start()], tuple(names))
