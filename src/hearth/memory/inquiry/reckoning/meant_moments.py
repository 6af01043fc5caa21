"""The moment that words mean: a birth, a birthday, a day they name, when a mail came, what a record states, or the time
of an event or reminder.

"From the end of aqua", "when Signe was born", "her deadline", "the mill fire". Of a thing with several times that one
is meant that lies in the time the words name, else the last or next as they say, else the one nearest to today. Words
that only point back ("they came") mean what the rest of the question names.

Not covered: several moments that one mail states (no moment is meant), moments that must be reckoned themselves.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from typing import Literal

from hearth import patterns as re
from hearth.memory.inquiry.answer_telling import past_of, witness_of
from hearth.memory.inquiry.people_meant import card_meant
from hearth.memory.inquiry.reckoning.dated_things import (
    EVENTS,
    KINDS,
    MAILS,
    DatedThings,
    Meant,
    Thing,
    Time,
    moment_said,
    naming_keys,
)
from hearth.memory.passages.collecting import said_birth, said_date
from hearth.memory.passages.passage_cutting import sentences_of
from hearth.memory.search.time_mentions import Period, times_named, without_times
from hearth.memory.search.word_forms import keys_of
from hearth.protocols import Witness

Exactness = Literal["year", "day", "minute"]
BIRTHDAY = r"b(?:irth)?-?days?\b"
_BORN = re.compile(r"\b(?:born|birth)\b", re.I)
_HAD = re.compile(r"\b(?:had|have|gave birth to|got)\s+(?P<who>.+)", re.I)
_BIRTHDAY = re.compile(rf"(?P<who>(?:[\w'’-]+ ){{0,2}}[\w-]+?)(?:['’]?s?)? (?:(?:next|last|\d+\w\w) )?{BIRTHDAY}", re.I)
_WROTE = re.compile(
    r"\b(?:mail(?:ed|s)?|e-?mail(?:ed)?|message[ds]?|letter|wr(?:ite|ote|itten|iting)|said|say|told|notice|warning"
    r"|announced?|sent|complain(?:ts?|ed)|quotes?|quoted|orders?|ordered|requests?|offers?|invoiced?|bill)\b",
    re.I,
)
_DUE = re.compile(r"\b(?:deadline|due(?: date)?|cut-?off|closing date|(?:last )?(?:date|day) (?:for|to))\b", re.I)
_STATES_DUE = re.compile(r"\b(?:by|until|till|before|due|deadline|no later than|at the latest)\b", re.I)
_END = re.compile(
    r"\b(?:ends?|ended|ending|over|finish\w*|closes?|(?:getting|got|get|coming|came|come|leaving) (?:out|home|back))\b",
    re.I,
)
_START = re.compile(r"\b(?:starts?|started|starting|begins?|began|beginning|opens?|opening)\b", re.I)
_LAST, _NEXT = re.compile(r"\b(?:last|latest|previous|most recent)\b", re.I), re.compile(r"\b(?:next|coming)\b", re.I)
_POINTS = re.compile(r"\b(?:they|he|she|it|them|him|her|his|its|their|that|this|these|those)\b", re.I)
_OF_SOMEBODY = re.compile(r"\W*(?:he|she|they)\b", re.I)
"""Begins what somebody does whom the rest of the question names."""
_YEAR = re.compile(r"\b(1[5-9]\d\d|20\d\d)\b")
_WAS = re.compile(r"\b(?:was|were|did|had)\b", re.I)
_MONTH_DAY = re.compile(r"\bthe \d{1,2}(?:st|nd|rd|th)\b(?! of\b)", re.I)
_FAR = dt.timedelta(days=183)
_ONE_DAY = dt.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Moment:
    """When something begins and ends."""

    start: dt.datetime
    end: dt.datetime
    exactness: Exactness
    witness: Witness | None
    is_sure: bool
    thing: Thing | None = None
    is_end: bool = False
    """Whether its end is meant."""
    is_start: bool = False

    @property
    def at(self) -> dt.datetime:
        return self.end if self.is_end else self.start


class Moments:
    """Finds the moments that the phrases of one question mean."""

    def __init__(self, things: DatedThings, within: Period | None = None) -> None:
        """Args: within: The time that the question names for all of its phrases."""
        self.things = things
        self.call = things.call
        self.within = within

    def of(self, phrase: str, context: str = "", *, in_years: bool = False, of_person: bool = False) -> Moment | None:
        """Return the moment that a phrase means; None where that is none for sure enough.

        Args:
            phrase: In the owner's words.
            context: The other words of the question, which a phrase that names nothing points back to.
            in_years: A year that a record states is exact enough.
            of_person: "She had Toby" is a birth.
        """
        named = periods_meant(phrase, self.call.now)
        left = without_times(phrase, self.call.now) if named else phrase
        if (born := self._birth(left, of_person=of_person)) is not None or (born := self._birthday(left)) is not None:
            return born
        if not naming_keys(left):
            if named and not _POINTS.search(left) and not _WROTE.search(left):
                return _of_period(named[0])
            left = f"{left} {context}"
        elif context and _OF_SOMEBODY.match(left):
            left = f"{left} {context}"
        within = named[0] if named else self.within
        if in_years and (stated := self._year(left)) is not None:
            return stated
        if _DUE.search(phrase):
            return self.due(left)
        return self._of_thing(left, phrase, within)

    def _of_thing(self, left: str, phrase: str, within: Period | None) -> Moment | None:
        """Return the time of the thing that words mean.

        Args:
            left: The words, with what they point back to and without times.
        """
        kinds = MAILS if _WROTE.search(phrase) else KINDS
        meant = self.things.meant(left, kinds)
        if meant is None and len(kinds) == 1:
            meant = self._newest_of_sender(left)
        if meant is None:
            return None
        if meant.thing.kind == "mail" and not _WROTE.search(phrase):
            return self._stated(meant)
        time = self.time_of(meant.thing, phrase, within)
        if time is None:
            return None
        has_ends = meant.thing.kind == "event"
        return Moment(
            *(time.start, time.end, "minute", time.witness, meant.is_sure, meant.thing),
            is_end=has_ends and _END.search(phrase) is not None,
            is_start=_START.search(phrase) is not None,
        )

    def both(self, phrase: str) -> tuple[Moment, Moment] | None:
        """Return the two moments of the thing that took place twice, or will."""
        meant = self.things.meant(phrase, EVENTS, least_sure=True)
        if meant is None or len(meant.thing.times) != 2:
            return None
        first, second = (
            Moment(one.start, one.end, "minute", one.witness, is_sure=True, thing=meant.thing)
            for one in meant.thing.times
        )
        return first, second

    def _newest_of_sender(self, phrase: str) -> Meant | None:
        """Return the newest of several mails that words mean alike, where one person wrote them all."""
        found = self.things.all_meant(phrase, MAILS)
        people = {one.thing.passage.person for one in found if one.thing.passage is not None}
        if len(people) != 1:
            return None
        return replace(max(found, key=lambda one: one.thing.times[0].start), is_sure=False)

    def time_of(self, thing: Thing, phrase: str, within: Period | None) -> Time | None:
        """Return the time of a thing that a phrase means."""
        now = self.call.now
        if within is not None:
            inside = [one for one in thing.times if within.start <= one.start < within.end]
            if inside or len(thing.times) > 1:
                return inside[0] if inside else None
        past = [one for one in thing.times if one.end <= now]
        ahead = [one for one in thing.times if one.end > now]
        if _LAST.search(phrase):
            return past[-1] if past else None
        if _NEXT.search(phrase):
            return ahead[0] if ahead else None
        return ahead[0] if ahead else past[-1]

    # ── Of people ─────────────────────────────────────────────────────────────────────────────────────────

    def _birth(self, phrase: str, *, of_person: bool) -> Moment | None:
        had = _HAD.search(phrase) if of_person else None
        who = had["who"] if had else _BORN.sub("", phrase) if _BORN.search(phrase) else ""
        card = card_meant(who, self.things.cards) if who else None
        if card is None or card.birth is None or (born := card.birth.date()) is None:
            return None
        at = dt.datetime.combine(born, dt.time(), self.call.now.tzinfo)
        witness = Witness(
            card.uid or card.name, f"card “{card.name}”", f"{card.name}: {said_birth(card.birth)}", "file"
        )
        return Moment(at, at, "day", witness, is_sure=True)

    def _birthday(self, phrase: str) -> Moment | None:
        found = _BIRTHDAY.search(phrase)
        words = found["who"].split() if found else []
        cards = (card_meant(" ".join(words[-n:]), self.things.cards) for n in range(1, len(words) + 1))
        card = next((one for one in cards if one is not None), None)
        if card is None or card.birth is None:
            return None
        today = self.call.now.date()
        days = [card.birth.in_year(year) for year in (today.year - 1, today.year, today.year + 1)]
        past = [day for day in days if day < today]
        day = past[-1] if _LAST.search(phrase) else next(day for day in days if day >= today)
        at = dt.datetime.combine(day, dt.time(), self.call.now.tzinfo)
        witness = Witness(card.uid or card.name, f"card “{card.name}”", f"{card.name}: {said_date(at)}", "file", at)
        return Moment(at, at, "day", witness, is_sure=True)

    # ── In texts ──────────────────────────────────────────────────────────────────────────────────────────

    def _stated(self, meant: Meant) -> Moment | None:
        """Return the only moment that a mail states."""
        passage, sent = meant.thing.passage, meant.thing.times[0].start
        assert passage is not None
        found = [(one, said) for said in sentences_of(passage.text) for one in times_named(said, sent)]
        if len(found) != 1:
            return None
        ((period, said),) = found
        return replace(_of_period(period), witness=witness_of(passage, said), is_sure=False)

    def due(self, phrase: str) -> Moment | None:
        """Return the day until which a mail wants something."""
        wanted = naming_keys(phrase)
        found: list[tuple[int, Moment]] = []
        for thing in self.things.all:
            passage = thing.passage
            if passage is None or not (n := len(wanted & (thing.named | thing.said))):
                continue
            sent = thing.times[0].start
            for said in sentences_of(passage.text):
                if not _STATES_DUE.search(said):
                    continue
                ends = [one.end for one in times_named(said, sent) if one.start <= sent + dt.timedelta(minutes=1)]
                for end in ends[:1]:
                    at = end - dt.timedelta(minutes=1)
                    day = Moment(at, at, "day", witness_of(passage, said), is_sure=wanted <= thing.named | thing.said)
                    found.append((n, day))
        most = max((n for n, _ in found), default=0)
        best = {one.at.date(): one for n, one in found if n == most}
        return next(iter(best.values())) if len(best) == 1 and 2 * most >= len(wanted) else None

    def _year(self, phrase: str) -> Moment | None:
        """Return the year that the only statements of a matter name: "mill fire, 1874"."""
        wanted = naming_keys(_YEAR.sub("", phrase))
        asked = _YEAR.search(phrase)
        found: dict[int, tuple[int, Witness]] = {}
        for one in self.things.passages.all(("note", "document", "mail")):
            for said in sentences_of(one.text):
                years = {int(year) for year in _YEAR.findall(re.sub(r"\b\d{4}-\d\d-\d\d\b", "", said))}
                n = len(wanted & (keys_of(said) | keys_of(one.title)))
                if len(years) == 1 and wanted & (keys_of(said) | keys_of(one.title)):
                    (year,) = years
                    if n > found.get(year, (0, None))[0] and (asked is None or int(asked[1]) == year):
                        found[year] = (n, witness_of(one, said))
        most = max((n for n, _ in found.values()), default=0)
        best = [(year, witness) for year, (n, witness) in found.items() if n == most]
        if len(best) != 1 or 2 * most < len(wanted):
            return None
        ((year, witness),) = best
        at = dt.datetime(year, 1, 1, tzinfo=self.call.now.tzinfo)
        return Moment(at, at, "year", witness, is_sure=most == len(wanted))


def periods_meant(text: str, now: dt.datetime, question: str = "") -> tuple[Period, ...]:
    """Return the times that a text names; a day of the month alone is of the month before, where the question tells of
    what was, and a month far ahead is the last one of its name."""
    named = times_named(text, now)
    if not re.search(r"\b(?:\d{4}|next|coming)\b", text):
        named = tuple(past_of(one, now) if one.start - now > _FAR else one for one in named)
    if not named or named[0].start <= now or not _WAS.search(question or text) or not _MONTH_DAY.search(text):
        return named
    return tuple(times_named(text, now.replace(day=1) - dt.timedelta(days=1))) or named


def _of_period(period: Period) -> Moment:
    is_day = period.end - period.start >= _ONE_DAY
    at = Witness("", "the question", moment_said(period.start), "device", period.start)
    return Moment(period.start, period.start, "day" if is_day else "minute", at, is_sure=True)
