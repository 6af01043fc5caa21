"""Everything of the owner that has a time, and which of it words mean.

A thing is all events or reminders of one title with their times, or one mail with the moment it came. Words mean the
thing that holds most of their weight, a rare word weighing more; people are known by all that their cards call them.
What no thing says in words may be meant by its likeness ("the singing" for Choir): that is never sure.

Each kind is read when it is first asked for. Invitations that the owner did not accept stand behind his own events of
the same title. Where strangers wrote some times of a title, or a mail's address is on no card of the person whose name
it bears, a thing is not meant for sure.

Covered: times within a year of today or the times that the question names, done and repeated ones.
Not covered: two things that one word means equally (neither is meant, unless their kinds differ: events come first);
of mails, more passages than the store gives at once (`has_all_mails`).
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal

from hearth import patterns as re
from hearth.errors import ToolError
from hearth.language.text.tokens import NUMBER_WORDS
from hearth.language.text.word_match import Query
from hearth.memory.inquiry.answer_telling import witness_of
from hearth.memory.inquiry.people_meant import cards_of
from hearth.memory.inquiry.record_answers import is_whole_days, witness_of_event
from hearth.memory.passages.collecting import said_date
from hearth.memory.passages.passage_store import Passage, PassageStore
from hearth.memory.search.terms import STOP_WORDS
from hearth.memory.search.time_mentions import Period
from hearth.memory.search.word_forms import key_of, key_set, keys_of
from hearth.protocols import CallContext, Witness
from hearth.tools.mail.mailbox import SENT
from hearth.tools.mail.mime import read_head
from hearth.tools.pim.calendar_events import Entry, Event, Events, Search
from hearth.tools.pim.cards import Card
from hearth.tools.pim.reminders import Reminder, times_between

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
