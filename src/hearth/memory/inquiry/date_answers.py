"""Answers that are worked out from dates: ages, the last, first and next of events and birthdays.

Covered: people by any name on their card ("my mother"), events by the words of their titles; where no event holds all
the words that name it ("the last choir rehearsal"), those that hold most of them.
Not covered: ages at another event, days until an event (`reckoning`; a question for them is parsed here).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from hearth import patterns as re
from hearth.language.text.word_match import stems
from hearth.memory.inquiry.people_meant import card_meant, card_witness, cards_of
from hearth.memory.inquiry.record_answers import birthdays_in, events_in, is_whole_days, matter_of, witness_of_event
from hearth.memory.passages.collecting import said_date
from hearth.memory.search.time_mentions import Period, times_named, without_times
from hearth.protocols import CallContext, HomeAnswer, Witness
from hearth.tools.pim.calendar_events import Event

DateOperation = Literal["age", "until", "last", "first", "next", "next birthday"]
_DAY_OF = re.compile(r"['’]s (?:\w+ )?birthday\b.*|\b(?:in|on|at|next|be|when|going|turn\w*)\b.*", re.IGNORECASE)
"""What stands behind whose birthday or age is meant."""
_BIRTHDAY = re.compile(
    r"['’]s (?:\w+ )?birthday\b|\bbirthday\b|\b(?:be|when|going|turn\w*|day|moment)\b", re.IGNORECASE
)
_OF_ANOTHER = re.compile(r"\b([^\W\d_]+)['’]s [^\W\d_]")
_YEARS_BACK = dt.timedelta(days=3660)
_YEAR = dt.timedelta(days=366)
_FORMS: Mapping[DateOperation, str] = {
    "age": r"\s*how old (?:is|are|will|did|does|do) (?P<matter>.+)",
    "until": r"\s*how (?:many (?:days|weeks|nights)|long)"
    r"(?: (?:is|are|do|does|have|has|it|there|i|we|got|still|now|left|to go))*"
    r" (?:until|till|til|before|to) (?P<matter>.+)",
    "next birthday": r"\s*(?:who|whose)\b.*\bbirthday\b.*",
    "next": r"\s*what(?:'s|’s| is) (?:my|our|the) next (?P<matter>event|appointment|meeting)\b.*",
    "last": r".*\bwhen (?:was|were|did) (?P<matter>.*\b(?:last|latest|most recent(?:ly)?|previous)\b.*)",
    "first": r".*\bwhen (?:was|were|did) (?P<matter>.*\b(?:first|earliest)\b.*)",
}
_AGE_OF = re.compile(r"\A\s*what(?:['’]s| is) (?:the )?(?:current )?(.+?)['’]s (?:current )?age\b.*", re.IGNORECASE)
_TO_COME = re.compile(r"\b(?:will|next birthday|turn(?:s|ing)?|(?:going to|gonna) be)\b", re.IGNORECASE)


_HAPPENS = re.compile(
    r".* (?:runs? out|expires?|(?:is|are) (?:due|over|up|back)|ends?|starts?|begins?|opens?|closes?|breaks? up"
    r"|finish(?:es)?|arrives?|leaves?|lapses?)(?: again)?\W*",
    re.IGNORECASE,
)


def happens(matter: str) -> bool:
    """Return whether a matter is what becomes of a thing, and not a thing that takes place: "the policy runs out"."""
    return _HAPPENS.fullmatch(matter) is not None


@dataclass(frozen=True, slots=True)
class DateAsked:
    """What is to be worked out, and of what."""

    operation: DateOperation
    matter: str


def asked_of_dates(question: str) -> DateAsked | None:
    """Parse a question that is worked out from dates; None for any other."""
    question = _AGE_OF.sub(r"how old is \1", question)
    for operation, form in _FORMS.items():
        found = re.fullmatch(form, question.rstrip(" ?.!"), re.IGNORECASE)
        if found is None or (operation == "next birthday" and "next" not in question.casefold()):
            continue
        matter = found.groupdict().get("matter") or ""
        if operation in ("next", "next birthday") or matter_of(matter):
            return DateAsked(operation, matter)
    return None


def answer_from_dates(question: str, call: CallContext) -> HomeAnswer | None:
    """Work out the answer to a question; None if it asks for nothing of the kind, or nothing is known of its matter."""
    asked = asked_of_dates(question)
    if asked is None or asked.operation == "until":
        return None
    if asked.operation == "age":
        return _age(question, asked.matter, call)
    if asked.operation == "next birthday":
        born = birthdays_in(Period(call.now, call.now + _YEAR), call)
        return HomeAnswer("text", born[0].quote, "", (born[0],)) if born else None
    if asked.operation == "next":
        event = next((e for e in events_in(call, call.now, call.now + _YEAR) if e.start >= call.now), None)
        return HomeAnswer("text", f"{event.title}, {_when(event)}", "", _witness(event, call)) if event else None
    past = [e for e in _events_of(asked.matter, call.now - _YEARS_BACK, call.now, call) if e.end <= call.now]
    if not past or _is_mixed(past, call):
        return None
    chosen = past[-1 if asked.operation == "last" else 0]
    return HomeAnswer("date", _when(chosen), "", _witness(chosen, call))


def _age(question: str, matter: str, call: CallContext) -> HomeAnswer | None:
    who = _DAY_OF.sub("", matter)
    if matter_of(without_times(_BIRTHDAY.sub("", matter[len(who) :]), call.now)):
        return None  # another event's day is asked for
    card = card_meant(who, cards_of(call))
    if card is not None and (of := _OF_ANOTHER.search(who)) and of[1] in card.name:
        return None  # "Ruth's son" is not Ruth
    born = card.birth.date() if card is not None and card.birth is not None else None
    if card is None or card.birth is None or born is None:
        return None
    today = call.now.date()
    named = times_named(question, call.now)
    if named:
        # "In March" is on the birthday, where that is in March.
        birthdays = [card.birth.in_year(year) for year in (named[0].start.year, named[0].end.year)]
        start, end = named[0].start.date(), named[0].end.date()
        today = next((day for day in birthdays if start <= day < end), start)
    age = today.year - born.year - (card.birth.in_year(today.year) > today)
    if _TO_COME.search(question) and not named:
        age += card.birth.in_year(today.year) != today
    if age < 0:
        return None
    return HomeAnswer("number", str(age), "", (card_witness(card, f"born {born.day} {born:%B} {born.year}"),))


def _events_of(matter: str, start: dt.datetime, end: dt.datetime, call: CallContext) -> list[Event]:
    """Return the events that a matter names: with all its words, else with most of them."""
    words = matter_of(matter)
    if found := events_in(call, start, end, words):
        return found
    wanted = stems(words)
    events = [(len(wanted & stems(e.title)), e) for e in events_in(call, start, end)]
    most = max((n for n, _ in events), default=0)
    return [e for n, e in events if n == most > 0]


def _is_mixed(events: Sequence[Event], call: CallContext) -> bool:
    """Return whether others wrote some of several events: which of them is meant is weighed elsewhere (`reckoning`)."""
    return len({call.origins.get(event.id, "file") for event in events}) > 1


def _witness(event: Event, call: CallContext) -> tuple[Witness]:
    return (witness_of_event(event, call),)


def _when(event: Event) -> str:
    day = said_date(event.start)
    return day if is_whole_days(event.start, event.end) else f"{day} at {event.start:%H:%M}"
