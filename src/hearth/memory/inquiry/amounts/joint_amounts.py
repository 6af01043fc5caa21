"""Works out amounts from amounts that are read: the prices of two things together, a whole among four.

Of two things each price is the only amount of the clause that names it, and both stand in one record: "how much is the
MOT with the tyres in all". Where a sum cannot be told, the sentence is the answer, with doubt: one price of two is no
sum.

Not covered: more than two things, amounts in words, prices of different currencies, several steps; how far two prices
are apart, and a price for three days (`reckoning`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hearth import patterns as re
from hearth.language.text.tokens import listed
from hearth.memory.inquiry.answer_telling import sentence_of, witness_of
from hearth.memory.inquiry.money import money_in, money_text
from hearth.memory.inquiry.reading.answer_reading import Reading, least_chance
from hearth.memory.passages.passage_cutting import unwrapped
from hearth.memory.passages.passage_store import Passage
from hearth.memory.search.word_forms import keys_of
from hearth.protocols import HomeAnswer
from hearth.tools.memory import DOUBTED

_ASKED = re.compile(
    r"\s*(?:how much|what)(?:['’]s| (?:is|are|was|were|does|do|did|will|would))? (?:it )?(?P<one>.+?)"
    r" (?:and|with|plus|&) (?P<other>.+?)(?: (?:cost|come|be|make|costs?|set me back|to))*(?: (?:to|both))?"
    r" (?:together|both|altogether|in total|all in|all together|combined|in all|all told)\b[\s?.!]*",
    re.IGNORECASE,
)
_COUNTS = {word: n for n, word in enumerate(listed("two three four five six seven eight nine ten eleven twelve"), 2)}
_N = rf"(?P<n>\d{{1,3}}|{'|'.join(_COUNTS)})"
_AMONG = re.compile(
    r"\s*(?:how much|what)(?:['’]s| (?:is|are|was|were|does|do|did|will|would))? (?P<one>(?:my|our|the|each)\b.+?)"
    rf" (?:each |for each )?(?:if|when|split|shared|divided|between|among)\b.*?\b{_N}\b(?: of us| people| ways)?"
    r"(?: (?:pay|share|split|of us|it|ways))*[\s?.!]*",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"(?:(?!,\s|;|\s(?:and|but|plus)\s|\.\s|\n).)+")
_PLAIN = re.compile(r"(?<![\d.,:/-])\d{1,5}(?:\.\d\d)?(?![\d.,:/-]\d|[-/:%]|\s?(?:am|pm|th|st|nd|rd)\b)")
_LEAST_SAID = 0.4
"""The least share of a thing's words that the clause of its price says."""
_DOUBTED_SHARE = 0.75


@dataclass(frozen=True, slots=True)
class _Priced:
    """What a clause states."""

    start: int
    value: float
    currency: str


@dataclass(frozen=True, slots=True)
class ShareAsked:
    """An amount that is asked for in equal parts."""

    question: str
    """Asks for the whole amount."""
    n: int
    """Among how many it is shared."""


def share_asked(question: str) -> ShareAsked | None:
    """Parse a question for an amount that is shared; None for any other."""
    among = _AMONG.fullmatch(question)
    if among is None or _count(among["n"]) < 2:
        return None
    one = re.sub(r" (?:share|part|half)\b|\beach (?=\w)", "", among["one"])
    return ShareAsked(f"how much is {one}", _count(among["n"]))


def share_answer(asked: ShareAsked, readings: Sequence[Reading]) -> HomeAnswer | None:
    """Share the amount that is likeliest read; None where none is read, or several are."""
    best = readings[0] if readings else None
    if best is None:
        return None
    plain = [(float(one), "") for one in _PLAIN.findall(best.text)]
    values = [(value, currency) for value, currency, _ in money_in(best.text)] or plain
    if len(values) != 1:
        return None
    ((value, currency),) = values
    told = f"{money_text(value / asked.n, currency)} ({money_text(value, currency)} ÷ {asked.n})"
    witness = witness_of(best.candidate.passage, sentence_of(best))
    return HomeAnswer("amount", told, "", (witness,), round(min(_DOUBTED_SHARE, best.chance), 4))


def joint_answer(question: str, readings: Sequence[Reading]) -> HomeAnswer | None:
    """Add two prices that are asked for together; None where no such thing is asked, or nothing is read."""
    asked = _ASKED.fullmatch(question)
    if not readings or asked is None:
        return None
    for reading in (one for one in readings if one.chance >= least_chance()):
        if (told := _of_both(asked["one"], asked["other"], reading)) is not None:
            return told
    best = readings[0]
    quote = sentence_of(best)
    witness = witness_of(best.candidate.passage, quote)
    return HomeAnswer("text", quote, "", (witness,), round(min(best.chance, DOUBTED), 4))


def _of_both(first: str, second: str, reading: Reading) -> HomeAnswer | None:
    """Return the sum of what two things cost by one passage; None where it does not price both."""
    passage = reading.candidate.passage
    one, other = _priced(first, passage), _priced(second, passage)
    if one is None or other is None or one.start == other.start:
        return None
    currencies = {one.currency, other.currency} - {""}
    if len(currencies) != 1:
        return None
    (currency,) = currencies
    shown = " + ".join(money_text(each.value, currency) for each in (one, other))
    chance = reading.chance if one.currency == other.currency else min(DOUBTED, reading.chance)
    quote = " ".join(passage.text[min(one.start, other.start) :].split("\n")[0].split())
    value = f"{money_text(one.value + other.value, currency)} ({shown})"
    return HomeAnswer("amount", value, "", (witness_of(passage, quote),), round(chance, 4))


def _count(word: str) -> int:
    return _COUNTS.get(word.casefold()) or int(word)


def _priced(part: str, passage: Passage) -> _Priced | None:
    """Return the only amount of the clause that says most of a part; None where none or several do."""
    wanted, text = keys_of(part), unwrapped(passage.text)
    clauses = [(len(wanted & keys_of(one.group())), one) for one in _CLAUSE.finditer(text)]
    most = max((n for n, _ in clauses), default=0)
    best = [one for n, one in clauses if n == most >= _LEAST_SAID * len(wanted)]
    found = [priced for one in best if (priced := _amount(one)) is not None]
    return found[0] if len(found) == 1 else None


def _amount(clause: re.Match[str]) -> _Priced | None:
    stated = money_in(clause.group())
    if len(stated) == 1:
        return _Priced(clause.start(), stated[0][0], stated[0][1])
    plain = _PLAIN.findall(clause.group()) if not stated else []
    return _Priced(clause.start(), float(plain[0]), "") if len(plain) == 1 else None
