"""Reckons over the times of things that come again: the next one, how many there are, how long they last together.

Covered: bounds by other things ("before the autumn concert"), by periods and by today ("so far"); things of several
titles that words mean alike ("both tablets"), together.
Not covered: what was skipped and still stands in the calendar; times farther off than `dated_things` looks, where
nothing is told.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from hearth import patterns as re
from hearth.memory.inquiry.answer_telling import witness_of
from hearth.memory.inquiry.reckoning.dated_things import EVENTS, PLANNED, Meant, Time, in_order, naming_keys
from hearth.memory.inquiry.reckoning.meant_moments import Moments, periods_meant
from hearth.memory.inquiry.reckoning.time_spans import AUX, length_said
from hearth.memory.passages.passage_cutting import sentences_of
from hearth.memory.search.time_mentions import without_times
from hearth.memory.search.word_forms import keys_of
from hearth.protocols import HomeAnswer, Witness
from hearth.tools.memory import DOUBTED

_ASKS_NEXT = re.compile(r".*\b(?:when|what (?:day|date|time)|which (?:day|date))\b.*", re.I)
_AGAIN = re.compile(r"\b(?:next|again|due|comes? (?:a)?round)\b", re.I)
_NOW = re.compile(r"\s*when (?:is|am|are|do|does|must|should|will|shall|have|has|can)\b", re.I)
"""Asks when something is that comes again, and so for its next time."""
_HOW_MANY = re.compile(
    r".*?\bhow (?:(?:many|much)(?: (?:more|times))*|often)\b(?P<what>.*?)"
    r"(?P<bounds>,?\s*\b(?:before|until|till|up to|so far|since|after|this|last|in|between|from|by)\b.*)?",
    re.I,
)
_HOW_MANY_OF = re.compile(r"\s*how many (?:[^\W\d_]+ )??(?P<noun>[^\W\d_]+s)\b", re.I)
_LEFT = re.compile(r"\b(?:still|left|remaining|to come|more)\b", re.I)
_BEFORE = re.compile(r"\b(?:before|until|till|up to|by) (?P<what>(?!now\b|today\b)[^,]+)", re.I)
_SINCE = re.compile(r"\b(?:since|after) (?P<what>[^,]+)", re.I)
_SO_FAR = re.compile(r"\b(?:so far|up to (?:now|today)|until now|till now|by now|already|to date)\b", re.I)
_TODAY_TOO = re.compile(
    r"\b(?:today|tonight|this (?:morning|evening)|now)(?:['’]s)?\b.*\b(?:include|count)"
    r"|\b(?:includ|count)\w*.*\b(?:today|tonight)",
    re.I,
)
_TOTAL = re.compile(r".*?\bhow (?P<long>long|many (?P<unit>hours|hrs|minutes|mins))\b(?P<what>.*)", re.I)
_ALL = re.compile(r"\b(?:all|altogether|together|total|added up|in sum|combined|overall|each|every)\b", re.I)
_OTHER_COUNT = re.compile(
    r"\bhow many (?:more )?(?:minutes|hours|days|nights|weeks|months|years|people|words|mails?|e-?mails?|messages?"
    r"|guests?|kilos?|contacts?|cards?|numbers?|birthdays?|notes?|documents?|files?)\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class _Bounds:
    """From when until when times are counted."""

    start: dt.datetime
    end: dt.datetime
    is_sure: bool = True
    witness: tuple[Witness, ...] = ()
    """What says so, where the question does not."""
    is_so_far: bool = False
    """Whether all times until now are counted, and so also those before what is looked at."""


def next_answer(question: str, moments: Moments) -> HomeAnswer | None:
    """Return when a thing comes again; None where it does not, or no such thing is asked."""
    is_next, is_now = _AGAIN.search(question) is not None, _NOW.match(question) is not None
    if not _ASKS_NEXT.fullmatch(question) or not (is_next or is_now):
        return None
    if re.search(r"\bnext (?:week|month|year|weekend)\b|birthday|bday", question, re.I):
        return None
    meant = moments.things.meant(question, PLANNED, least_sure=not is_next)
    if meant is None or meant.thing.repeat == "none":
        return None
    ahead = [one for one in meant.thing.times if one.start > moments.call.now]
    if not ahead:
        return None
    return HomeAnswer("date", ahead[0].said, "", (ahead[0].witness,), _chance([meant]))


def times_answer(question: str, moments: Moments) -> HomeAnswer | None:
    """Count the times of things within bounds; None where no such thing is asked or the bounds are not known."""
    found = _HOW_MANY.fullmatch(question.strip(" ?.!"))
    if (quantity := _quantity(question, moments)) is not None:
        return quantity
    if found is None or _OTHER_COUNT.search(question) or not (found["bounds"] or "").strip(" ,"):
        return None
    if _is_quantity(_counted(found["what"]).rpartition(" ")[2], moments):
        return None
    meant = _all_meant(found["what"], question, moments)
    bounds = _bounds(f"{_left_in(found['what'])} {found['bounds']}", moments)
    if not meant or bounds is None:
        return None
    has_earlier = bounds.is_so_far and any(moments.things.has_earlier(one.thing) for one in meant)
    if has_earlier or not moments.things.covers(bounds.start, bounds.end):
        return None
    times = in_order(one for thing in meant for one in thing.thing.times if bounds.start <= one.start < bounds.end)
    if not times:
        return None
    chance, shown = _chance(meant) if bounds.is_sure else DOUBTED, (*_shown(times), *bounds.witness)
    return HomeAnswer("number", f"{len(times)} {_noun(found['what'], meant)}", "", shown, chance)


def _is_quantity(noun: str, moments: Moments) -> bool:
    """Return whether records state numbers of a thing, and not only its times: "120 rolls"."""
    stated = re.compile(rf"\b\d+(?: [^\W\d_]+)? {re.escape(noun)}\b", re.I)
    return noun != "" and any(
        stated.search(one.text) for one in moments.things.passages.all(("mail", "note", "document"), noun)
    )


def _left_in(what: str) -> str:
    found = _LEFT.search(what)
    return found.group() if found else ""


def _quantity(question: str, moments: Moments) -> HomeAnswer | None:
    """Multiply a number that a record states for each time ("120 rolls every Wednesday") by the times of a period."""
    found = _HOW_MANY_OF.match(question)
    named = periods_meant(question, moments.call.now)
    if found is None or not named:
        return None
    noun = re.escape(found["noun"])
    said = re.compile(
        rf"\b(?P<n>\d+)(?: [^\W\d_]+)? {noun}\b.*\b(?:each|every|daily|weekly|per|a (?:day|week|month))\b", re.I
    )
    wanted = naming_keys(question)
    stated = [
        (len(wanted & keys_of(f"{one.path} {one.person} {one.read}")), int(fit["n"]), witness_of(one, sentence))
        for one in moments.things.passages.all(("mail", "note", "document"), found["noun"])
        for sentence in sentences_of(one.text)
        if (fit := said.search(sentence)) is not None
    ]
    most = max((n for n, *_ in stated), default=0)
    rows = {number: witness for n, number, witness in stated if n == most}
    meant = moments.things.meant(without_times(question, moments.call.now), EVENTS)
    if len(rows) != 1 or meant is None or meant.thing.repeat == "none":
        return None
    ((n, witness),) = rows.items()
    times = [one for one in meant.thing.times if named[0].holds(one.start)]
    if not times or not moments.things.covers(named[0].start, named[0].end):
        return None
    value = f"{n * len(times)} {found['noun']} ({len(times)} × {n})"
    return HomeAnswer("number", value, "", (witness, *_shown(times)), DOUBTED)


def length_answer(question: str, moments: Moments) -> HomeAnswer | None:
    """Add up how long the times of a thing last in a period; of one time, how long it lasts."""
    found = _TOTAL.fullmatch(question.strip(" ?.!"))
    if found is None:
        return None
    if re.search(r"\b(?:before|after|since|until|till|between|ago)\b", found["what"], re.I):
        return None
    named = periods_meant(found["what"], moments.call.now)
    meant = moments.things.meant(without_times(found["what"], moments.call.now), EVENTS)
    if meant is None or not ((named and _ALL.search(found["what"])) or meant.is_sure):
        return None
    times = [one for one in meant.thing.times if named and named[0].holds(one.start)]
    if not named and len({one.length for one in meant.thing.times}) == 1:
        times = list(meant.thing.times[:1])
    unit = (found["unit"] or "").casefold()
    value = length_said(times, {"mins": "minutes", "hrs": "hours"}.get(unit, unit))
    if not value or not any(one.length for one in times):
        return None
    if named and not moments.things.covers(named[0].start, named[0].end):
        return None
    return HomeAnswer("number", value, "", _shown(times), _chance([meant]))


def _counted(what: str) -> str:
    """Return the words of what is counted, as they were said: at most two before the first verb or preposition."""
    words = re.findall(r"[\w'’-]+", re.split(rf"\b(?:{AUX}|to|of|with|at|in|left)\b", what, flags=re.I)[0])
    return " ".join(words[-2:])


def _noun(what: str, meant: Sequence[Meant]) -> str:
    """Return what is counted by the question's words, where a thing says one of them."""
    named = {key for one in meant for key in one.thing.named}
    counted = _counted(what)
    return counted if keys_of(counted) & named else "times" if not counted or counted == "times" else "events"


def _all_meant(what: str, question: str, moments: Moments) -> list[Meant]:
    """Return the repeated things that words mean; several only where the question takes them together."""
    found = moments.things.all_meant(what, PLANNED)
    if not found and (like := moments.things.meant(what, PLANNED)) is not None:
        found = [like]
    found = [one for one in found if one.thing.kind == found[0].thing.kind]
    return found if len(found) == 1 or _ALL.search(question) or re.search(r"\b(?:two|both)\b", question, re.I) else []


def _bounds(said: str, moments: Moments) -> _Bounds | None:
    """Return the bounds that a question names."""
    now = moments.call.now
    begin = now.replace(hour=0, minute=0, second=0, microsecond=0) if _TODAY_TOO.search(said) else now
    named = periods_meant(said, now)
    if (since := _SINCE.search(said)) is not None and naming_keys(without_times(since["what"], now)):
        first = moments.of(since["what"], tense="past")
        is_past = first is not None and first.start < now
        return _Bounds(first.end, now, first.is_sure, first.rests_on) if first is not None and is_past else None
    if (before := _BEFORE.search(said)) is not None and naming_keys(without_times(before["what"], now)):
        last = moments.of(_without_today(before["what"]), tense="ahead")
        is_ahead = last is not None and last.start > now
        return _Bounds(begin, last.start, last.is_sure, last.rests_on) if last is not None and is_ahead else None
    if _SO_FAR.search(said):
        if named and named[0].start < now:
            return _Bounds(named[0].start, now)
        return _Bounds(moments.things.window.start, now, is_so_far=True)
    if named:
        is_left = _LEFT.search(said) is not None and named[0].start < now < named[0].end
        return _Bounds(begin if is_left else named[0].start, named[0].end)
    return None


def _without_today(said: str) -> str:
    return re.sub(r"\b(?:today|tonight)(?:['’]s)?\b.*", "", said, flags=re.I)


def _shown(times: Sequence[Time]) -> tuple[Witness, ...]:
    return tuple(one.witness for one in times)


def _chance(meant: Sequence[Meant]) -> float:
    return 1.0 if all(one.is_sure for one in meant) else DOUBTED
