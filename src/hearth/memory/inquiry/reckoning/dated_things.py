"""Things with a date, and which of them, or which moment, a question means."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal

from hearth import patterns as re
from hearth.errors import ToolError
from hearth.language.tokens import NUMBER_WORDS, Query
from hearth.memory.inquiry.answer_telling import card_meant, card_witness, cards_of, past_of, witness_of
from hearth.memory.inquiry.record_answers import is_whole_days, witness_of_event
from hearth.memory.search.collecting import said_birth, said_date
from hearth.memory.search.passage_store import Passage, PassageStore, sentences_of
from hearth.memory.search.search_words import STOP_WORDS, Period, key_of, key_set, keys_of, times_named, without_times
from hearth.protocols import CallContext, Witness
from hearth.tools.mail.mailbox import SENT
from hearth.tools.mail.mime import read_head
from hearth.tools.pim.calendar import Entry, Event, Events, Search
from hearth.tools.pim.contacts import Card
from hearth.tools.pim.reminders import Reminder, times_between

# ── Dated things ──────────────────────────────────────────────────────────────────────────────────────────
# Everything of the owner that has a time, and which of it words mean.
#
# A thing is all events or reminders of one title with their times, or one mail with the moment it came. Words mean
# the thing that holds most of their weight, a rare word weighing more; people are known by all that their cards call
# them. What no thing says in words may be meant by its likeness ("the singing" for Choir): that is never sure.
#
# Each kind is read when it is first asked for. Invitations that the owner did not accept stand behind his own events
# of the same title. Where strangers wrote some times of a title, or a mail's address is on no card of the person
# whose name it bears, a thing is not meant for sure.
#
# Covered: times within a year of today or the times that the question names, done and repeated ones. Not covered: two
# things that one word means equally (neither is meant, unless their kinds differ: events come first); of mails, more
# passages than the store gives at once (`has_all_mails`).

Kind = Literal["event", "reminder", "mail"]
KINDS: tuple[Kind, ...] = ("event", "reminder", "mail")
"""What words mean first, where several things are meant alike."""
EVENTS: tuple[Kind, ...] = ("event",)
MAILS: tuple[Kind, ...] = ("mail",)
PLANNED: tuple[Kind, ...] = ("event", "reminder")
LOOKED_BACK, LOOKED_AHEAD = dt.timedelta(days=366), dt.timedelta(days=250)
"""How far back and ahead the times of things are looked for, unless the question names others."""
_FARTHEST = dt.timedelta(days=5 * 366)
"""How far back and ahead named times are looked for at most."""
_LONG_AGO = dt.timedelta(days=36500)
_N_KEPT = 20_000
"""Texts whose keys are kept from one question to the next."""
_N_MAILS = 2000
"""Most passages of mails that are read, the newest."""
_LEAST_SAID = 0.45
"""Least share of the weight of words that the thing they mean holds."""
_OF_TEXT = 0.7
"""Weight of a word that stands in a thing's text and not in its title or people."""
_UNKNOWN = 0.5
"""Weight of a word that no thing says, as a share of the rarest one's: it may only say how a thing takes place."""
_LEAST_LIKE, _LEAST_LIKER = 0.36, 0.14
"""Least likeness of meaning by which a thing is meant, and least difference from the next one."""
_ALIKE = 0.97
_HAPPENS = key_set(
    "start starts started starting begin begins beginning end ends ended ending over finish finishes finished stop "
    "done get gets got getting come comes came coming go goes went going gone take takes took taking place happen "
    "happens happened turn turning turned up out back here there time times day days date dates week weeks month "
    "months year years hour hours minute minutes night nights last latest first next previous recent earliest "
    "appointment event entry calendar thing things session sessions reminder said say says write wrote written "
    "mail mails mailed message messages email told tell let know ask asked arrive arrived today tonight tomorrow "
    "yesterday now still left again already really actually exactly it they she he them him her his its their one "
    "ones be being been am pm o'clock clock have having had open opens opened close closes closed leave left haven "
    "hasn hadn didn don doesn isn wasn aren weren havent hasnt didnt dont many more much long often old how "
    "further until till since before after between from by work out according altogether together total all every "
    "each both add added put summed combined number so far date dated due deadline notice warning send sent answer "
    "give gave given gives rang ring rung rings"
)
"""Words of questions that say how things take place and name none of them."""

_SMALL = frozenset(map(key_of, STOP_WORDS | NUMBER_WORDS))


@dataclass(frozen=True, slots=True)
class Time:
    """One time of a thing."""

    start: dt.datetime
    end: dt.datetime
    witness: Witness

    @property
    def is_all_day(self) -> bool:
        return is_whole_days(self.start, self.end)

    @property
    def last(self) -> dt.datetime:
        """The last moment: of whole days, within the last one."""
        return self.end - dt.timedelta(minutes=1) if self.is_all_day else self.end

    @property
    def said(self) -> str:
        """Its start in words; of whole days, the first one."""
        return said_date(self.start) if self.is_all_day else moment_said(self.start)

    @property
    def length(self) -> dt.timedelta:
        return real_length(self.start, self.end)


@dataclass(frozen=True, slots=True)
class Thing:
    """Something with times, the earliest first."""

    kind: Kind
    title: str
    named: frozenset[str]
    """Keys of the words that name it: its title and place, its people by all they are called."""
    said: frozenset[str]
    """Keys of the words of its text."""
    times: tuple[Time, ...]
    passage: Passage | None = None
    """Of a mail: what it says."""
    repeat: str = "none"


@dataclass(frozen=True, slots=True)
class Meant:
    """What words mean."""

    thing: Thing
    is_sure: bool
    """Whether the thing says all of the words, and is by whom it says."""


class DatedThings:
    """Everything that has a time, for one question."""

    def __init__(self, passages: PassageStore, call: CallContext, named: Sequence[Period] = ()) -> None:
        """Args: named: The times that the question names, which are looked at, too."""
        self.call = call
        self.passages = passages
        self.window = _window(call.now, named)
        self._of_kind: dict[Kind, tuple[Thing, ...]] = {}
        self._weights: dict[tuple[Kind, ...], dict[str, float]] = {}

    @cached_property
    def cards(self) -> list[Card]:
        """All cards of the owner."""
        return cards_of(self.call)

    def of(self, kinds: Iterable[Kind]) -> tuple[Thing, ...]:
        """Return all things of some kinds."""
        readers = {"event": self._events, "reminder": self._reminders, "mail": self._mails}
        for kind in kinds:
            if kind not in self._of_kind:
                self._of_kind[kind] = tuple(readers[kind]())
        return tuple(thing for kind in kinds for thing in self._of_kind[kind])

    def covers(self, start: dt.datetime, end: dt.datetime) -> bool:
        """Return whether all times of a period are looked at."""
        return self.window.start <= start and end <= self.window.end

    def has_earlier(self, thing: Thing) -> bool:
        """Return whether a thing may have times before those that are looked at."""
        start = self.window.start
        if thing.kind == "reminder":
            return any(one.text == thing.title for one in times_between(self.call, start - LOOKED_BACK, start))
        return any(event.title.casefold() == thing.title.casefold() for event in self._earlier)

    @cached_property
    def has_all_mails(self) -> bool:
        """Whether all mails are looked at, and not only the newest."""
        return len(self.passages.all(MAILS, limit=_N_MAILS + 1)) <= _N_MAILS

    @cached_property
    def _earlier(self) -> list[Event]:
        """The first time of each event and series that began before what is looked at."""
        search = Search(Query(""), self.call.now - _LONG_AGO, is_once=True)
        found = Events(self.call).read(refresh=False).find(search)
        return [event for _, event in found if event.start < self.window.start]

    def _weights_of(self, kinds: tuple[Kind, ...]) -> dict[str, float]:
        if kinds not in self._weights:
            things = self.of(kinds)
            n = Counter(key for thing in things for key in thing.named | thing.said)
            self._weights[kinds] = {key: math.log(1 + len(things) / count) for key, count in n.items()}
        return self._weights[kinds]

    def _events(self) -> Iterable[Thing]:
        call = self.call
        found = Events(call).read(refresh=False).find(Search(Query(""), self.window.start, self.window.end))
        by_title: dict[str, list[tuple[Entry, Event]]] = defaultdict(list)
        for entry, event in found:
            by_title[event.title.casefold()].append((entry, event))
        for of_title in by_title.values():
            # What somebody invites to counts only where the owner said yes, or has nothing of that name.
            rows = [row for row in of_title if self._is_planned(*row)] or of_title
            entry, event = rows[-1]
            times = tuple(Time(one.start, one.end, witness_of_event(one, call)) for _, one in rows)
            people = self.called(address for _, one in rows for address in one.attendees)
            named = _keys(f"{event.title} {event.place} {people}")
            yield Thing("event", event.title, named, _keys(entry.notes), times, repeat=event.repeat)

    def _is_planned(self, entry: Entry, event: Event) -> bool:
        """Return whether an event is the owner's own, or one that the owner said yes to."""
        owner = str(self.call.settings.get("owner", {}).get("email") or "").casefold()
        return self.call.origins.get(event.id) != "message" or owner in entry.accepted

    def _reminders(self) -> Iterable[Thing]:
        call = self.call
        by_text = defaultdict(list)
        for one in times_between(call, self.window.start, self.window.end):
            by_text[one.text.casefold()].append(one)
        for rows in by_text.values():
            times = tuple(Time(one.at, one.at, _witness_of(one, one.at)) for one in rows if one.at is not None)
            yield Thing("reminder", rows[0].text, _keys(rows[0].text), frozenset(), times, repeat=rows[0].repeat)

    def _mails(self) -> Iterable[Thing]:
        by_record: dict[str, list[Passage]] = defaultdict(list)
        for one in self.passages.all(MAILS, limit=_N_MAILS):
            by_record[one.record].append(one)
        for pieces in by_record.values():
            first = min(pieces, key=lambda one: one.number)
            if first.at is None or first.record.startswith(f"{SENT}/"):
                continue
            at = first.at.astimezone(self.call.now.tzinfo)
            named = _keys(first.title) | _keys(first.person) | _keys(self.called([first.person]))
            said = frozenset[str]().union(*(_keys(one.text) for one in pieces))
            yield Thing("mail", first.title, named, said, (Time(at, at, witness_of(first, first.title)),), first)

    def called(self, people: Iterable[str]) -> str:
        """Return what the cards of people, by name or address, call them."""
        cards = {id(card): card for person in people for card in self._by_name.get(person.casefold(), ())}
        return " ".join(map(names_of, cards.values()))

    @cached_property
    def _by_name(self) -> dict[str, list[Card]]:
        """The cards by their names and addresses."""
        found = defaultdict(list)
        for card in self.cards:
            for name in {card.name.casefold(), card.email.casefold()} - {""}:
                found[name].append(card)
        return found

    def is_by_whom_it_says(self, thing: Thing) -> bool:
        """Return whether a mail's address is on the card of somebody whose name it bears, or no card has that name."""
        if thing.passage is None:
            return True
        said = naming_keys(thing.passage.person)
        cards = [card for card in self.cards for name in (card.name, *card.nicknames) if _is_name(name, said)]
        if not cards:
            return True
        try:
            address = read_head(self.call.workspace.read(thing.passage.path)).sender.casefold()
        except ToolError:
            return False
        return any(card.email.casefold() == address for card in cards)

    # ── Which of it is meant ──────────────────────────────────────────────────────────────────────────────

    def meant(
        self, phrase: str, kinds: tuple[Kind, ...] = KINDS, *, least_sure: bool = False, is_said: bool = False
    ) -> Meant | None:
        """Return the thing that words mean; None where that is none, or several alike.

        Args:
            least_sure: Only a thing that says all of the words.
            is_said: Only one that says some of them, and none by its likeness.
        """
        found = self.all_meant(phrase, kinds)
        if not found:
            return None if least_sure or is_said else self._like(phrase, kinds)
        of_kind = [one for one in found if one.thing.kind == found[0].thing.kind]
        if len(of_kind) > 1 or (least_sure and not found[0].is_sure):
            return None
        return replace(found[0], is_sure=found[0].is_sure and self.is_by_whom_it_says(found[0].thing))

    def all_meant(self, phrase: str, kinds: tuple[Kind, ...] = KINDS) -> list[Meant]:
        """Return the things that words mean alike, those of the first kind first."""
        wanted = naming_keys(phrase)
        if not wanted:
            return []
        things, weights = self.of(kinds), self._weights_of(kinds)
        rarest = math.log(1 + len(things))
        weight = {key: weights.get(key, _UNKNOWN * rarest) for key in wanted}
        whole = sum(weight.values())
        scored = [
            (sum(weight[key] * (1.0 if key in one.named else _OF_TEXT) for key in wanted & (one.named | one.said)), one)
            for one in things
        ]
        most = max((score for score, _ in scored), default=0.0)
        if most < _LEAST_SAID * whole:
            return []
        best = [one for score, one in scored if score >= _ALIKE * most]
        return [
            Meant(one, wanted <= one.named | one.said and len({time.witness.source for time in one.times}) == 1)
            for one in sorted(best, key=lambda one: KINDS.index(one.kind))
        ]

    def _like(self, phrase: str, kinds: tuple[Kind, ...]) -> Meant | None:
        """Return the event or reminder whose meaning is nearest to words that none says."""
        wanted, encoder = naming_keys(phrase), self.passages.encoder
        if encoder is None or not wanted:
            return None
        for kind in PLANNED:
            things = self.of((kind,)) if kind in kinds else ()
            if not things:
                continue
            names = [", ".join((one.title, *_place_of(one))) for one in things]
            vectors = encoder.encode([_naming_part(phrase), *names])
            likeness = sorted(((float(v @ vectors[0]), k) for k, v in enumerate(vectors[1:])), reverse=True)
            best, next_best = likeness[0], likeness[1] if len(likeness) > 1 else (0.0, 0)
            if best[0] >= _LEAST_LIKE and best[0] - next_best[0] >= _LEAST_LIKER:
                return Meant(things[best[1]], is_sure=False)
        return None


def naming_keys(phrase: str) -> set[str]:
    """Return the keys of the words of a phrase that name a thing."""
    return {word for word in keys_of(phrase) if not word.isdigit() and word not in _HAPPENS | _SMALL}


def _naming_part(phrase: str) -> str:
    """Return a phrase from the words that lead to what names a thing to the last that does: "in the water"."""
    naming = [
        one for one in re.finditer(r"(?:\b(?:in|at|on|to|the|my|our|a) )*\b([\w'’-]+)", phrase) if naming_keys(one[1])
    ]
    return phrase[naming[0].start() : naming[-1].end()]


def names_of(card: Card) -> str:
    """Return all that a card calls somebody."""
    return " ".join((card.name, *card.nicknames, *card.titles, *card.related, *card.categories, card.organisation))


def _witness_of(one: Reminder, at: dt.datetime) -> Witness:
    kind = "" if "#" in one.id else "reminder"
    return Witness(one.id, f"reminder “{one.text}”", f"{one.text}: {moment_said(at)}", "file", at, kind=kind)


def _is_name(name: str, said: set[str]) -> bool:
    """Return whether what a mail calls its sender is a name on a card, or a part of it, or holds it."""
    keys = naming_keys(name)
    return bool(keys and said) and (keys <= said or said <= keys)


def _window(now: dt.datetime, named: Sequence[Period]) -> Period:
    """Return the time that is looked at."""
    start, end = now - LOOKED_BACK, now + LOOKED_AHEAD
    return Period(
        min([start, *(one.start for one in named if now - one.start < _FARTHEST)]),
        max([end, *(one.end for one in named if one.end - now < _FARTHEST)]),
    )


@lru_cache(maxsize=_N_KEPT)
def _keys(text: str) -> frozenset[str]:
    """Return the keys of a text's words."""
    return frozenset(keys_of(text))


def real_length(start: dt.datetime, end: dt.datetime) -> dt.timedelta:
    """Return how long it really is from one moment to another, also where the clocks change between them."""
    return end.astimezone(dt.UTC) - start.astimezone(dt.UTC)


def moment_said(at: dt.datetime) -> str:
    """Write a moment: `Tuesday 24 November 2026 at 18:00`."""
    return f"{said_date(at)} at {at:%H:%M}"


def in_order(times: Iterable[Time]) -> Sequence[Time]:
    """Return times by their start."""
    return sorted(times, key=lambda one: one.start)


def _place_of(thing: Thing) -> list[str]:
    _, at, place = thing.times[-1].witness.quote.partition(", at ")
    return [place] if at else []


# ── Meant moments ─────────────────────────────────────────────────────────────────────────────────────────
# The moment that words mean: a birth, a birthday, a day they name, when a mail came, what a record states, or the
# time of an event or reminder.
#
# "From the end of aqua", "when Signe was born", "her deadline", "the mill fire". Of a thing with several times that
# one is meant that lies in the time the words name, else the first, last or next as they say or their tense; where
# nothing says which, the next is meant with doubt. Words that only point back ("they came") mean what the rest of the
# question names.
#
# Not covered: several moments that one mail states (no moment is meant), moments that must be reckoned themselves.

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
