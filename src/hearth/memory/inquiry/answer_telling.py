"""Makes the answer of readings: the words, their type, where they stand, and what other records say instead.

Of records that come again (a bill of each month) the newest counts. Records that answer the same question with another
amount, date or number are told with their dates, the newest first: which of them holds is the owner's to judge.

Not covered: other words for the same thing ("Yusuf" and "the landlord"): only amounts, dates and numbers are compared.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import replace

from hearth.memory.inquiry.answer_reading import Reading, asks_yes_or_no, covered, least_chance
from hearth.memory.inquiry.money import money_in
from hearth.memory.passages.collecting import where_of
from hearth.memory.passages.passage_cutting import sentence_at
from hearth.memory.passages.passage_store import Passage
from hearth.memory.search.memory_ranking import Period
from hearth.memory.search.time_mentions import times_named
from hearth.protocols import HomeAnswer, ValueKind, Witness

N_WITNESSES = 3
_LEAST_OTHER = 0.5
"""Least probability, as a share of the best one's, at which another record's answer is told beside it."""
_AMOUNT = re.compile(r"(?:[€£$¥]\s?\d|\b\d[\d.,]*\s?(?:€|£|EUR|GBP|USD|CHF|euros?|pounds?|dollars?)\b)")
_DATE = re.compile(
    r"\b(?:\d{1,2}(?:st|nd|rd|th)? )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\b|\b\d{4}-\d\d-\d\d\b"
    r"|\b\d{1,2}[/.]\d{1,2}[/.]\d{2,4}\b|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b|\b(?:19|20)\d\d\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[+-]?\d[\d.,]*(?:\s?[\w%°]+)?")
_OF_ONE = re.compile(
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\b|\d+", re.IGNORECASE
)
_LONG_AGO = dt.datetime.min.replace(tzinfo=dt.UTC)


def answer_of(question: str, readings: Sequence[Reading], now: dt.datetime) -> HomeAnswer:
    """Make the answer of readings, the likeliest first, of which the first is likely enough."""
    best = readings[0]
    named = times_named(question, now)  # "the bill of September" names one of them
    best = _within(named[0], best, readings) if named else _newest_like(best, readings)
    if asks_yes_or_no(question):
        # Whether it is yes or no is left to the owner: the reader is right about it hardly more often than by chance.
        quote = sentence_of(best)
        return HomeAnswer("text", quote, "", (witness_of(best.candidate.passage, quote),), round(best.chance, 4))
    others = _others(question, best, readings)
    told = [best, *others]
    rivals = [one for one in others if _contradicts(_value(best), _value(one), now)]
    if rivals and not times_named(question, now):
        told = sorted((best, *rivals), key=_at, reverse=True)
    value = _value(told[0])
    witnesses = [
        replace(witness_of(one.candidate.passage, sentence_of(one)), value=_value(one) if rivals and k else "")
        for k, one in enumerate(told[:N_WITNESSES])
    ]
    return HomeAnswer(kind_of(value), value, "", tuple(witnesses), round(best.chance, 4))


def sentence_of(one: Reading) -> str:
    """Return the sentence of the passage in which the answer stands."""
    return sentence_at(one.candidate.passage.read, one.start) or " ".join(one.text.split())


def witness_of(passage: Passage, quote: str) -> Witness:
    """Return the place of an answer."""
    return Witness(passage.record, where_of(passage), quote, passage.source, passage.at)


def kind_of(value: str) -> ValueKind:
    """Tell the type of a value by its form."""
    if _AMOUNT.search(value) and len(value) < 40:
        return "amount"
    if _DATE.search(value) and len(value) < 60:
        return "date"
    return "number" if _NUMBER.fullmatch(value.strip()) else "text"


def _newest_like(best: Reading, readings: Sequence[Reading]) -> Reading:
    """Of records of one series (a bill of each month), choose the newest that answers as well."""
    like = _series_of(best, readings)
    return replace(max(like, key=lambda one: (_at(one), one.chance)), chance=best.chance) if like else best


def _within(named: Period, best: Reading, readings: Sequence[Reading]) -> Reading:
    """Of records of one series, choose the one of the time that the question names; `best` where none is."""
    if named.start <= _at(best) < named.end:
        return best
    like = [one for one in _series_of(best, readings) if named.start <= _at(one) < named.end]
    return replace(max(like, key=lambda one: one.chance), chance=best.chance) if like else best


def _series_of(best: Reading, readings: Sequence[Reading]) -> list[Reading]:
    """Return the readings of the records of one series that answer as well, or say the same with other numbers."""
    said = _OF_ONE.sub("", sentence_of(best))
    return [
        one
        for one in readings
        if _is_like(one, best)
        and one.candidate.passage.at
        and (one.chance >= least_chance() or (one.text and _OF_ONE.sub("", sentence_of(one)) == said))
    ]


def _is_like(one: Reading, best: Reading) -> bool:
    a, b = one.candidate.passage, best.candidate.passage
    return (a.kind, _series(a.title), a.person) == (b.kind, _series(b.title), b.person)


def _series(title: str) -> str:
    """Return what the titles of records that come again have in common: no month, no number."""
    return " ".join(_OF_ONE.sub(" ", title).casefold().split())


def _others(question: str, best: Reading, readings: Sequence[Reading]) -> list[Reading]:
    """Return the readings of other matters' records that answer nearly as likely and speak of all that `best` does."""
    least = max(least_chance(), _LEAST_OTHER * best.chance)
    spoken = covered(question, best.candidate.passage.read)
    return [
        one
        for one in readings
        if one.candidate.passage.record != best.candidate.passage.record
        and not _is_like(one, best)
        and one.chance >= least
        and covered(question, one.candidate.passage.read) >= spoken
    ]


def _contradicts(value: str, other: str, now: dt.datetime) -> bool:
    """Return whether two values of one type are not the same amount, time or number."""
    kind = kind_of(value)
    if kind == "text" or kind_of(other) != kind:
        return False
    if kind == "amount":
        return {row[:2] for row in money_in(value)}.isdisjoint(row[:2] for row in money_in(other))
    if kind == "date":
        a, b = times_named(value, now), times_named(other, now)
        return bool(a and b) and not any(x.start < y.end and y.start < x.end for x in a for y in b)
    return re.findall(r"\d+", value) != re.findall(r"\d+", other)


def _value(one: Reading) -> str:
    return one.text.strip(" ,;:")


def _at(one: Reading) -> dt.datetime:
    return one.candidate.passage.at or _LONG_AGO
