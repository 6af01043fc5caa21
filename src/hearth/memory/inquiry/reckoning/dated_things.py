"""Everything of the owner that has a time, and which of it words mean.

A thing is all events or reminders of one title with their times, or one mail with the moment it came. Words mean the
thing that holds most of their weight, a rare word weighing more; people are known by all that their cards call them.
What no thing says in words may be meant by its likeness ("the singing" for Choir): that is never sure.

Covered: times within a year of today, done and repeated ones.
Not covered: two things that one word means equally (neither is meant, unless their kinds differ: events come first).
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from hearth import patterns as re
from hearth.language.text.tokens import NUMBER_WORDS, listed
from hearth.language.text.word_match import Query
from hearth.memory.inquiry.answer_telling import witness_of
from hearth.memory.inquiry.people_meant import cards_of
from hearth.memory.inquiry.record_answers import witness_of_event
from hearth.memory.passages.collecting import said_date
from hearth.memory.passages.passage_store import Passage, PassageStore
from hearth.memory.search.terms import STOP_WORDS
from hearth.memory.search.word_forms import key_of, keys_of
from hearth.protocols import CallContext, Witness
from hearth.tools.mail.mailbox import SENT
from hearth.tools.pim.calendar_events import Events, Search
from hearth.tools.pim.cards import Card
from hearth.tools.pim.reminders import times_between

Kind = Literal["event", "reminder", "mail"]
KINDS: tuple[Kind, ...] = ("event", "reminder", "mail")
"""What words mean first, where several things are meant alike."""
EVENTS: tuple[Kind, ...] = ("event",)
MAILS: tuple[Kind, ...] = ("mail",)
PLANNED: tuple[Kind, ...] = ("event", "reminder")
LOOKED_BACK, LOOKED_AHEAD = dt.timedelta(days=366), dt.timedelta(days=250)
"""How far back and ahead the times of things are looked for."""
_LEAST_SAID = 0.45
"""Least share of the weight of words that the thing they mean holds."""
_OF_TEXT = 0.7
"""Weight of a word that stands in a thing's text and not in its title or people."""
_UNKNOWN = 0.5
"""Weight of a word that no thing says, as a share of the rarest one's: it may only say how a thing takes place."""
_LEAST_LIKE, _LEAST_LIKER = 0.36, 0.14
"""Least likeness of meaning by which a thing is meant, and least difference from the next one."""
_ALIKE = 0.97
_HAPPENS = frozenset(
    key_of(word)
    for word in listed(
        "start starts started starting begin begins beginning end ends ended ending over finish finishes finished stop "
        "done get gets got getting come comes came coming go goes went going gone take takes took taking place happen "
        "happens happened turn turning turned up out back here there time times day days date dates week weeks month "
        "months year years hour hours minute minutes night nights last latest first next previous recent earliest "
        "appointment event entry calendar thing things session sessions reminder said say says write wrote written "
        "mail mails mailed message messages email told tell let know ask asked arrive arrived today tonight tomorrow "
        "yesterday now still left again already really actually exactly it they she he them him her his its their "
        "one ones be being been am pm o'clock clock have having had open opens opened close closes closed leave left "
        "haven hasn hadn "
        "didn don doesn isn wasn aren weren havent hasnt didnt dont many more much long "
        "often old how further until till since before after between from by work out according "
        "altogether together total all every each both add added put summed combined number so far date dated due "
        "deadline notice warning send sent answer give gave given gives rang ring rung rings"
    )
)
"""Words of questions that say how things take place and name none of them."""

_SMALL = frozenset(map(key_of, STOP_WORDS | NUMBER_WORDS))


@dataclass(frozen=True, slots=True)
class Time:
    """One time of a thing."""

    start: dt.datetime
    end: dt.datetime
    witness: Witness


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
    """Whether the thing says all of the words."""


class DatedThings:
    """Everything that has a time, for one question."""

    def __init__(self, passages: PassageStore, call: CallContext) -> None:
        self.call = call
        self.passages = passages

    @cached_property
    def cards(self) -> list[Card]:
        """All cards of the owner."""
        return cards_of(self.call)

    @cached_property
    def all(self) -> tuple[Thing, ...]:
        """All things, read when they are first asked for."""
        return (*self._events(), *self._reminders(), *self._mails())

    @cached_property
    def _weights(self) -> dict[str, float]:
        n = Counter(key for thing in self.all for key in thing.named | thing.said)
        return {key: math.log(1 + len(self.all) / count) for key, count in n.items()}

    def _events(self) -> Iterable[Thing]:
        call = self.call
        found = (
            Events(call).read(refresh=False).find(Search(Query(""), call.now - LOOKED_BACK, call.now + LOOKED_AHEAD))
        )
        by_title = defaultdict(list)
        for entry, event in found:
            by_title[event.title.casefold()].append((entry, event))
        for rows in by_title.values():
            entry, event = rows[-1]
            times = tuple(Time(one.start, one.end, witness_of_event(one)) for _, one in rows)
            people = self._called(address for _, one in rows for address in one.attendees)
            named = frozenset(keys_of(f"{event.title} {event.place} {people}"))
            yield Thing("event", event.title, named, frozenset(keys_of(entry.notes)), times, repeat=event.repeat)

    def _reminders(self) -> Iterable[Thing]:
        call = self.call
        by_text = defaultdict(list)
        for one in times_between(call, call.now - LOOKED_BACK, call.now + LOOKED_AHEAD):
            by_text[one.text.casefold()].append(one)
        for rows in by_text.values():
            times = tuple(
                Time(at, at, Witness(one.id, f"reminder “{one.text}”", f"{one.text}: {moment_said(at)}", "file", at))
                for one in rows
                if (at := one.at) is not None
            )
            text = rows[0].text
            yield Thing("reminder", text, frozenset(keys_of(text)), frozenset(), times, repeat=rows[0].repeat)

    def _mails(self) -> Iterable[Thing]:
        by_record: dict[str, list[Passage]] = defaultdict(list)
        for one in self.passages.all(("mail",)):
            by_record[one.record].append(one)
        for pieces in by_record.values():
            first = min(pieces, key=lambda one: one.number)
            if first.at is None or first.record.startswith(f"{SENT}/"):
                continue
            at = first.at.astimezone(self.call.now.tzinfo)
            named = frozenset(keys_of(f"{first.title} {first.person} {self._called([first.person])}"))
            said = frozenset(key for one in pieces for key in keys_of(one.text))
            yield Thing("mail", first.title, named, said, (Time(at, at, witness_of(first, first.title)),), first)

    def _called(self, people: Iterable[str]) -> str:
        """Return what the cards of people, by name or address, call them."""
        wanted = {person.casefold() for person in people}
        return " ".join(names_of(card) for card in self.cards if {card.name.casefold(), card.email.casefold()} & wanted)

    # ── Which of it is meant ──────────────────────────────────────────────────────────────────────────────

    def meant(
        self, phrase: str, kinds: Collection[Kind] = KINDS, *, least_sure: bool = False, is_said: bool = False
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
        return found[0]

    def all_meant(self, phrase: str, kinds: Collection[Kind] = KINDS) -> list[Meant]:
        """Return the things that words mean alike, those of the first kind first."""
        wanted = naming_keys(phrase)
        if not wanted:
            return []
        rarest = math.log(1 + len(self.all))
        weight = {key: self._weights.get(key, _UNKNOWN * rarest) for key in wanted}
        whole = sum(weight.values())
        scored = [
            (sum(weight[key] * (1.0 if key in one.named else _OF_TEXT) for key in wanted & (one.named | one.said)), one)
            for one in self.all
            if one.kind in kinds
        ]
        most = max((score for score, _ in scored), default=0.0)
        if most < _LEAST_SAID * whole:
            return []
        best = [one for score, one in scored if score >= _ALIKE * most]
        return [
            Meant(one, wanted <= one.named | one.said) for one in sorted(best, key=lambda one: KINDS.index(one.kind))
        ]

    def _like(self, phrase: str, kinds: Collection[Kind]) -> Meant | None:
        """Return the event or reminder whose meaning is nearest to words that none says."""
        wanted, encoder = naming_keys(phrase), self.passages.encoder
        if encoder is None or not wanted:
            return None
        for kind in ("event", "reminder"):
            things = [one for one in self.all if one.kind == kind and kind in kinds]
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


def moment_said(at: dt.datetime) -> str:
    """Write a moment: `Tuesday 24 November 2026 at 18:00`."""
    return f"{said_date(at)} at {at:%H:%M}"


def in_order(times: Iterable[Time]) -> Sequence[Time]:
    """Return times by their start."""
    return sorted(times, key=lambda one: one.start)


def _place_of(thing: Thing) -> list[str]:
    _, at, place = thing.times[-1].witness.quote.partition(", at ")
    return [place] if at else []
