"""The moment that words mean: a birth, a birthday, a day they name, when a mail came, what a record states, or the time
of an event or reminder.

"From the end of aqua", "when Signe was born", "her deadline", "the mill fire". Of a thing with several times that one
is meant that lies in the time the words name, else the first, last or next as they say or their tense; where nothing
says which, the next is meant with doubt. Words that only point back ("they came") mean what the rest of the question
names.

Not covered: several moments that one mail states (no moment is meant), moments that must be reckoned themselves.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from hearth import patterns as re
from hearth.memory.inquiry.answer_telling import past_of, witness_of
from hearth.memory.inquiry.people_meant import card_meant, card_witness
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
from hearth.tools.pim.cards import Card

Exactness = Literal["year", "day", "minute"]
Tense = Literal["", "past", "ahead"]
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
_FIRST = re.compile(r"\b(?:first|earliest)\b", re.I)
_POINTS = re.compile(r"\b(?:they|he|she|it|them|him|her|his|its|their|that|this|these|those)\b", re.I)
_OF_SOMEBODY = re.compile(r"\W*(?:he|she|they)\b", re.I)
"""Begins what somebody does whom the rest of the question names."""
_YEAR = re.compile(r"\b(1[5-9]\d\d|20\d\d)\b")
_WAS = re.compile(r"\b(?:was|were|did|had|came)\b", re.I)
_WILL = re.compile(r"\b(?:is|are|does|do|will|shall|should|must|can|comes?)\b|\w['’]s (?:my|our|the)\b", re.I)
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
    card: Card | None = None
    """Of a birthday: whose it is."""

    @property
    def rests_on(self) -> tuple[Witness, ...]:
        """What says when it is; nothing where the question does."""
        return (self.witness,) if self.witness is not None and self.witness.record else ()

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

    def of(
        self, phrase: str, context: str = "", *, in_years: bool = False, of_person: bool = False, tense: Tense = ""
    ) -> Moment | None:
        """Return the moment that a phrase means; None where that is none for sure enough.

        Args:
            phrase: In the owner's words.
            context: The other words of the question, which a phrase that names nothing points back to.
            in_years: A year that a record states is exact enough.
            of_person: "She had Toby" is a birth.
            tense: Of the question, which says whether a time that was or one to come is meant; empty: the phrase's own.
        """
        named = periods_meant(phrase, self.call.now)
        left = without_times(phrase, self.call.now) if named else phrase
        tense = tense or tense_of(phrase)
        if (born := self._birth(left, of_person=of_person) or self._birthday(left, tense)) is not None:
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
        return self._of_thing(left, phrase, within, tense)

    def _of_thing(self, left: str, phrase: str, within: Period | None, tense: Tense) -> Moment | None:
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
        chosen = self.time_of(meant.thing, phrase, within, tense)
        if chosen is None:
            return None
        time, is_said = chosen
        has_ends = meant.thing.kind == "event"
        return replace(
            moment_of(time, meant.thing),
            is_sure=meant.is_sure and is_said,
            is_end=has_ends and _END.search(phrase) is not None,
            is_start=_START.search(phrase) is not None,
        )

    def both(self, phrase: str) -> tuple[Moment, Moment] | None:
        """Return the two moments of the thing that took place twice, or will."""
        meant = self.things.meant(phrase, EVENTS, least_sure=True)
        if meant is None or len(meant.thing.times) != 2:
            return None
        first, second = (moment_of(one, meant.thing) for one in meant.thing.times)
        return first, second

    def _newest_of_sender(self, phrase: str) -> Meant | None:
        """Return the newest of several mails that words mean alike, where one person wrote them all."""
        found = self.things.all_meant(phrase, MAILS)
        people = {one.thing.passage.person for one in found if one.thing.passage is not None}
        if len(people) != 1:
            return None
        return replace(max(found, key=lambda one: one.thing.times[0].start), is_sure=False)

    def time_of(self, thing: Thing, phrase: str, within: Period | None, tense: Tense = "") -> tuple[Time, bool] | None:
        """Return the time of a thing that a phrase means, and whether the words say which."""
        which = _which_said(phrase)
        inside = [one for one in thing.times if within and within.holds(one.start)]
        if inside:
            return inside[-1 if which == "last" else 0], which in ("last", "first") or len(inside) == 1
        if within is not None and len(thing.times) > 1:
            return None
        past = [one for one in thing.times if one.end <= self.call.now]
        ahead = [one for one in thing.times if one.end > self.call.now]
        if which:
            said = {"last": past[-1:], "next": ahead[:1], "first": thing.times[:1]}[which]
            return (said[0], True) if said and not (which == "first" and self.things.has_earlier(thing)) else None
        is_past = (tense == "past" and bool(past)) or not ahead
        # A thing's only time that lies outside of the time that is named may not be meant.
        is_said = within is None and (len(thing.times) == 1 or tense == ("past" if is_past else "ahead"))
        return past[-1] if is_past else ahead[0], is_said

    # ── Of people ─────────────────────────────────────────────────────────────────────────────────────────

    def _birth(self, phrase: str, *, of_person: bool) -> Moment | None:
        had = _HAD.search(phrase) if of_person else None
        who = had["who"] if had else _BORN.sub("", phrase) if _BORN.search(phrase) else ""
        card = card_meant(who, self.things.cards) if who else None
        if card is None or card.birth is None or (born := card.birth.date()) is None:
            return None
        at = dt.datetime.combine(born, dt.time(), self.call.now.tzinfo)
        return Moment(at, at, "day", card_witness(card, said_birth(card.birth)), is_sure=True)

    def _birthday(self, phrase: str, tense: Tense) -> Moment | None:
        found = _BIRTHDAY.search(phrase)
        words = found["who"].split() if found else []
        cards = (card_meant(" ".join(words[-n:]), self.things.cards) for n in range(1, len(words) + 1))
        card = next((one for one in cards if one is not None), None)
        if card is None or card.birth is None:
            return None
        today = self.call.now.date()
        days = birthdays_about(card, today)
        is_past = _LAST.search(phrase) is not None or tense == "past"
        day = max(day for day in days if day < today) if is_past else min(day for day in days if day >= today)
        return birthday_on(card, day, self.call.now.tzinfo)

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
        """Return the day until which a mail wants something: the only one that those state which say most of it."""
        wanted = naming_keys(phrase)
        by_n: dict[int, list[Thing]] = defaultdict(list)
        for thing in self.things.of(MAILS):
            by_n[len(wanted & (thing.named | thing.said))].append(thing)
        for n in sorted(by_n, reverse=True):
            if not n or 2 * n < len(wanted):
                return None
            found: dict[dt.date, tuple[Thing, Moment]] = {}
            for thing in by_n[n]:
                found |= {day.start.date(): (thing, day) for day in self._days_due(thing)}
                if len(found) > 1:
                    return None
            for thing, day in found.values():
                is_sure = wanted <= thing.named | thing.said and self.things.is_by_whom_it_says(thing)
                return replace(day, is_sure=is_sure)
        return None

    @staticmethod
    def _days_due(mail: Thing) -> Iterator[Moment]:
        """Yield the days until which a mail wants something."""
        if mail.passage is None:
            return
        sent = mail.times[0].start
        for said in sentences_of(mail.passage.text):
            if not _STATES_DUE.search(said):
                continue
            named = [one for one in times_named(said, sent) if one.start <= sent + dt.timedelta(minutes=1)]
            for end in [one.end for one in named if one.end > sent][:1]:
                at = end - dt.timedelta(minutes=1)
                yield Moment(at, at, "day", witness_of(mail.passage, said), is_sure=False)

    def _year(self, phrase: str) -> Moment | None:
        """Return the year that the only statements of a matter name: "mill fire, 1874"."""
        wanted = naming_keys(_YEAR.sub("", phrase))
        asked = _YEAR.search(phrase)
        found: dict[int, tuple[int, Witness]] = {}
        for one in self.things.passages.all(("note", "document", "mail")):
            for said in sentences_of(one.text) if _YEAR.search(one.text) else ():
                years = {int(year) for year in _YEAR.findall(re.sub(r"\b\d{4}-\d\d-\d\d\b", "", said))}
                if len(years) == 1 and (n := len(wanted & (keys_of(said) | keys_of(one.title)))):
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


def tense_of(text: str) -> Tense:
    """Return whether words ask for what was or for what is to come; empty where they do not say."""
    return "past" if _WAS.search(text) else "ahead" if _WILL.search(text) else ""


def _which_said(phrase: str) -> Literal["last", "first", "next", ""]:
    """Return which of a thing's times words say; empty where they say none."""
    if _LAST.search(phrase):
        return "last"
    return "first" if _FIRST.search(phrase) else "next" if _NEXT.search(phrase) else ""


def moment_of(time: Time, thing: Thing) -> Moment:
    """Return one time of a thing as a moment."""
    exactness: Exactness = "day" if time.is_all_day else "minute"
    return Moment(time.start, time.last, exactness, time.witness, is_sure=True, thing=thing)


def birthdays_about(card: Card, day: dt.date) -> list[dt.date]:
    """Return the birthdays in the year of a day, in the one before it and the one after it."""
    years = [year for year in (day.year - 1, day.year, day.year + 1) if dt.MINYEAR <= year <= dt.MAXYEAR]
    return [card.birth.in_year(year) for year in years] if card.birth is not None else []


def birthday_on(card: Card, day: dt.date, zone: dt.tzinfo | None) -> Moment:
    """Return somebody's birthday on a day as a moment."""
    at = dt.datetime.combine(day, dt.time(), zone)
    return Moment(at, at, "day", card_witness(card, said_date(at), at), is_sure=True, card=card)


def _of_period(period: Period) -> Moment:
    is_day = period.end - period.start >= _ONE_DAY
    at = Witness("", "the question", moment_said(period.start), "device", period.start)
    return Moment(period.start, period.start, "day" if is_day else "minute", at, is_sure=True)
