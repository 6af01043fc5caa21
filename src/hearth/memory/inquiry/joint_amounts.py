"""Adds the prices of two things that a question asks for together: "how much is the MOT with the tyres in all".

Each thing's price is the only amount of the clause that names it, and both stand in one record. Where that cannot be
told, the sentence is the answer, with doubt: one price of two is none.

Not covered: more than two things, amounts in words, prices of different currencies.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hearth.memory.inquiry.answer_telling import sentence_of, witness_of
from hearth.memory.inquiry.money import money_in, money_text
from hearth.memory.inquiry.reading.answer_reading import Reading
from hearth.memory.passages.passage_cutting import unwrapped
from hearth.memory.passages.passage_store import Passage
from hearth.memory.search.word_forms import keys_of
from hearth.protocols import HomeAnswer

_ASKED = re.compile(
    r"\s*(?:how much|what)(?:['’]s| (?:is|are|was|were|does|do|did|will|would))? (?:it )?(?P<one>.+?)"
    r" (?:and|with|plus|&) (?P<other>.+?)(?: (?:cost|come|be|make|costs?|set me back|to))*(?: (?:to|both))?"
    r" (?:together|both|altogether|in total|all in|all together|combined|in all|all told)\b[\s?.!]*",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"(?:(?!,\s|;|\s(?:and|but|plus)\s|\.\s|\n).)+")
_PLAIN = re.compile(r"(?<![\d.,:/-])\d{1,5}(?:\.\d\d)?(?![\d.,:/-]\d|[-/:%]|\s?(?:am|pm|th|st|nd|rd)\b)")
_DOUBTED = 0.6
"""The chance of a sum of which one amount stands without its currency, and of a sentence told instead of one."""


@dataclass(frozen=True, slots=True)
class _Priced:
    """What a clause states."""

    start: int
    value: float
    currency: str


def joint_answer(question: str, readings: Sequence[Reading]) -> HomeAnswer | None:
    """Add two prices that are asked for together; None where no such thing is asked, or nothing is read."""
    asked = _ASKED.fullmatch(question)
    if asked is None or not readings:
        return None
    for reading in readings:
        passage = reading.candidate.passage
        priced = [_priced(part, passage) for part in (asked["one"], asked["other"])]
        one, other = priced
        if one is None or other is None or one.start == other.start:
            continue
        currencies = {one.currency, other.currency} - {""}
        if len(currencies) != 1:
            continue
        (currency,) = currencies
        parts = " + ".join(money_text(each.value, currency) for each in (one, other))
        chance = reading.chance if one.currency == other.currency else min(_DOUBTED, reading.chance)
        quote = " ".join(passage.text[min(one.start, other.start) :].split("\n")[0].split())
        value = f"{money_text(one.value + other.value, currency)} ({parts})"
        return HomeAnswer("amount", value, "", (witness_of(passage, quote),), round(chance, 4))
    best = readings[0]
    quote = sentence_of(best)
    witness = witness_of(best.candidate.passage, quote)
    return HomeAnswer("text", quote, "", (witness,), round(min(best.chance, _DOUBTED), 4))


def _priced(part: str, passage: Passage) -> _Priced | None:
    """Return the only amount of the clause that says most of a part; None where none or several do."""
    wanted, text = keys_of(part), unwrapped(passage.text)
    clauses = [(len(wanted & keys_of(one.group())), one) for one in _CLAUSE.finditer(text)]
    most = max((n for n, _ in clauses), default=0)
    best = [one for n, one in clauses if n == most > 0]
    found = [priced for one in best if (priced := _amount(one)) is not None]
    return found[0] if len(found) == 1 else None


def _amount(clause: re.Match[str]) -> _Priced | None:
    stated = money_in(clause.group())
    if len(stated) == 1:
        return _Priced(clause.start(), stated[0][0], stated[0][1])
    plain = _PLAIN.findall(clause.group()) if not stated else []
    return _Priced(clause.start(), float(plain[0]), "") if len(plain) == 1 else None
