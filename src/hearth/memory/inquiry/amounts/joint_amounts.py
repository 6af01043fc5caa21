"""Works out amounts from amounts that are read: the prices of two things together or apart, a price for three days, a
whole among four.

Of two things each price is the only amount of the clause that names it, and both stand in one record: "how much is the
MOT with the tyres in all", "how much dearer is rye than wheat". Where a sum cannot be told, the sentence is the answer,
with doubt: one price of two is none. Of one thing the amount is what answers how much it is, for each day where it is
asked for days.

Not covered: more than two things, amounts in words, prices of different currencies, several steps.
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

_ASKED = re.compile(
    r"\s*(?:how much|what)(?:['’]s| (?:is|are|was|were|does|do|did|will|would))? (?:it )?(?P<one>.+?)"
    r" (?:and|with|plus|&) (?P<other>.+?)(?: (?:cost|come|be|make|costs?|set me back|to))*(?: (?:to|both))?"
    r" (?:together|both|altogether|in total|all in|all together|combined|in all|all told)\b[\s?.!]*",
    re.IGNORECASE,
)
_APART = re.compile(
    r"\s*(?:(?:by )?how much (?:dearer|cheaper|more expensive|less expensive|more|less)"
    r" (?:is|are|was|were|does|do|did|will|would) (?P<one>.+?)(?: cost)? than (?P<other>(?!last\b|before\b|in \d).+?)"
    r"|what(?:['’]s| is| was) the (?:price )?difference between (?P<this>.+?) and (?P<that>.+?))[\s?.!]*",
    re.IGNORECASE,
)
_COUNTS = {word: n for n, word in enumerate(listed("two three four five six seven eight nine ten eleven twelve"), 2)}
_N = rf"(?P<n>\d{{1,3}}|{'|'.join(_COUNTS)})"
_TIMES = re.compile(
    r"\s*(?:how much|what)(?:['’]s| (?:is|are|was|were|does|do|did|will|would))? (?:it )?(?P<one>.+?)"
    rf"(?: (?:cost|costs|be|come to|charge))*(?: me| us)? for {_N}"
    r" (?P<unit>days|nights|weeks|months|hours|years|lessons|people|sessions|visits)[\s?.!]*",
    re.IGNORECASE,
)
_AMONG = re.compile(
    r"\s*(?:how much|what)(?:['’]s| (?:is|are|was|were|does|do|did|will|would))? (?P<one>(?:my|our|the|each)\b.+?)"
    rf" (?:each |for each )?(?:if|when|split|shared|divided|between|among)\b.*?\b{_N}\b(?: of us| people| ways)?"
    r"(?: (?:pay|share|split|of us|it|ways))*[\s?.!]*",
    re.IGNORECASE,
)
_PER = r"(?:\b(?:per|a|an|each|every)|/)\s?"
_CLAUSE = re.compile(r"(?:(?!,\s|;|\s(?:and|but|plus)\s|\.\s|\n).)+")
_PLAIN = re.compile(r"(?<![\d.,:/-])\d{1,5}(?:\.\d\d)?(?![\d.,:/-]\d|[-/:%]|\s?(?:am|pm|th|st|nd|rd)\b)")
_DOUBTED = 0.6
"""The chance of a sum of which one amount stands without its currency, and of a sentence told instead of one."""


_LEAST_SAID = 0.4
"""The least share of a thing's words that the clause of its price says."""
_DOUBTED_MULTIPLE = 0.75
_PARTS = ("one", "other", "this", "that")
_BY = {"day": "daily", "week": "weekly", "month": "monthly", "night": "nightly", "hour": "hourly", "year": "yearly"}


@dataclass(frozen=True, slots=True)
class _Priced:
    """What a clause states."""

    start: int
    value: float
    currency: str


@dataclass(frozen=True, slots=True)
class MultipleAsked:
    """An amount that is asked for several times, or in parts."""

    question: str
    """Asks for the amount itself."""
    factor: float
    unit: str
    """What the amount must be for ("day"); empty: for all."""


def multiple_asked(question: str) -> MultipleAsked | None:
    """Parse a question for an amount several times, or shared; None for any other."""
    if (times := _TIMES.fullmatch(question)) is not None:
        unit = "person" if times["unit"].casefold() == "people" else times["unit"].casefold().removesuffix("s")
        return MultipleAsked(f"how much is {times['one']} per {unit}", float(_count(times["n"])), unit)
    if (among := _AMONG.fullmatch(question)) is not None and _count(among["n"]) > 1:
        one = re.sub(r" (?:share|part|half)\b|\beach (?=\w)", "", among["one"])
        return MultipleAsked(f"how much is {one}", 1 / _count(among["n"]), "")
    return None


def multiple_answer(asked: MultipleAsked, readings: Sequence[Reading]) -> HomeAnswer | None:
    """Work an amount out from what is read of it; None where none is read, or not for what it is asked."""
    for reading in readings[:1]:
        stated, sentence = money_in(reading.text), sentence_of(reading)
        plain = [float(one) for one in _PLAIN.findall(reading.text)] if not stated else []
        values = [(value, currency) for value, currency, _ in stated] or [(value, "") for value in plain]
        is_for_unit = not asked.unit or re.search(
            rf"{_PER}{asked.unit}\b|\b{_BY.get(asked.unit, asked.unit)}\b", sentence, re.I
        )
        if len(values) != 1 or not is_for_unit:
            return None
        value, currency = values[0]
        n = asked.factor if asked.factor > 1 else 1 / asked.factor
        how = f"{'×' if asked.factor > 1 else '÷'} {n:g}"
        told = f"{money_text(value * asked.factor, currency)} ({money_text(value, currency)} {how})"
        witness = witness_of(reading.candidate.passage, sentence)
        return HomeAnswer("amount", told, "", (witness,), round(min(_DOUBTED_MULTIPLE, reading.chance), 4))
    return None


def joint_answer(question: str, readings: Sequence[Reading]) -> HomeAnswer | None:
    """Add two prices that are asked for together, or take one from the other; None where no such thing is asked, or
    nothing is read."""
    asked, apart = _ASKED.fullmatch(question), _APART.fullmatch(question)
    if not readings or (asked is None and apart is None):
        return None
    said = apart or asked
    parts = [part for name, part in (said.groupdict() if said else {}).items() if part and name in _PARTS]
    for reading in (one for one in readings if one.chance >= least_chance()):
        if (told := _of_both(parts, reading, is_apart=apart is not None)) is not None:
            return told
    if apart is not None:
        return None
    best = readings[0]
    quote = sentence_of(best)
    witness = witness_of(best.candidate.passage, quote)
    return HomeAnswer("text", quote, "", (witness,), round(min(best.chance, _DOUBTED), 4))


def _of_both(parts: Sequence[str], reading: Reading, *, is_apart: bool) -> HomeAnswer | None:
    """Return the sum of what two things cost by one passage, or how far apart; None where it does not price both."""
    passage = reading.candidate.passage
    one, other = (_priced(part, passage) for part in parts)
    if one is None or other is None or one.start == other.start:
        return None
    currencies = {one.currency, other.currency} - {""}
    if len(currencies) > 1 or not (is_apart or currencies):
        return None
    currency = next(iter(currencies), "")
    total = abs(one.value - other.value) if is_apart else one.value + other.value
    shown = (" and " if is_apart else " + ").join(money_text(each.value, currency) for each in (one, other))
    chance = reading.chance if one.currency == other.currency else min(_DOUBTED, reading.chance)
    quote = " ".join(passage.text[min(one.start, other.start) :].split("\n")[0].split())
    value = f"{money_text(total, currency)} ({shown})"
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
