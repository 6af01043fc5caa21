"""Reckons with the lines of recipes: what another number of things takes, and what all of a line weighs.

A line is a head, in brackets how many it makes, and its items: "Cardamom buns (24): 1 kg flour, 600 g milk".

Covered: one line whose head the question says whole; grams and kilos, millilitres and litres.
Not covered: other units beside one another, parts of a line ("what share of the flour").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hearth import patterns as re
from hearth.language.text.tokens import spoken_number, tokens
from hearth.memory.inquiry.answer_telling import witness_of
from hearth.memory.inquiry.reckoning.dated_things import naming_keys
from hearth.memory.inquiry.reckoning.moments import Moments
from hearth.memory.passages.passage_store import Passage
from hearth.memory.search.word_forms import keys_of
from hearth.protocols import HomeAnswer

_LINE = re.compile(
    r"(?m)^[-*•·\s]*(?P<head>[^\W\d][^:\n(]{1,60}?) ?(?:\((?P<n>\d{1,4})[^)\n]{0,20}\))?: ?(?P<items>\S[^\n]*)$"
)
_ITEM = re.compile(
    r"(?P<n>\d+(?:[.,]\d+)?) ?(?P<unit>kg|g|ml|dl|cl|l|tsp|tbsp|cups?)?\s+(?P<what>[^\W\d][\w '’-]*)", re.I
)
_ASKS_PART = re.compile(
    r"\s*how (?:much|many) (?P<what>[\w '’-]+?) (?:do|does|must|should|will|would|is|are|for|to|need)\b(?P<rest>.*)",
    re.I,
)
_ASKS_WEIGHT = re.compile(r"\s*(?:how much|what) (?:do|does|will|would) (?P<what>.+?) weigh\b(?P<rest>.*)", re.I)
_IN_SMALL = {"kg": ("g", 1000.0), "l": ("ml", 1000.0), "dl": ("ml", 100.0), "cl": ("ml", 10.0)}
_LEAST_ITEMS = 2


@dataclass(frozen=True, slots=True)
class _Item:
    amount: float
    unit: str
    named: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Line:
    makes: int
    """0: not said."""
    named: frozenset[str]
    items: tuple[_Item, ...]
    passage: Passage
    quote: str


def recipe_answer(question: str, moments: Moments) -> HomeAnswer | None:
    """Return what a number of things takes of an item, or what a line weighs in all; None where no line says it."""
    asked = question.strip(" ?.!")
    if (part := _ASKS_PART.fullmatch(asked)) is not None:
        return _scaled(part["what"], part["rest"], moments)
    if (whole := _ASKS_WEIGHT.fullmatch(asked)) is not None:
        return _weighed(whole["what"], moments)
    return None


def _scaled(what: str, rest: str, moments: Moments) -> HomeAnswer | None:
    said = tokens(rest)
    numbers = [number[0] for k in range(len(said)) if (number := spoken_number(said, k)) is not None]
    wanted = naming_keys(rest)
    found = [
        (line, item)
        for line in _lines(moments)
        if line.makes and line.named & wanted and line.named <= wanted
        for item in line.items
        if naming_keys(what) and naming_keys(what) <= item.named
    ]
    if len(numbers) != 1 or len(found) != 1:
        return None
    ((line, item),) = found
    amount = item.amount * numbers[0] / line.makes
    value = f"{_plain(amount)} {item.unit} ({_plain(item.amount)} {item.unit} × {numbers[0]:g} ÷ {line.makes})"
    return HomeAnswer("number", " ".join(value.split()), "", (witness_of(line.passage, line.quote),))


def _weighed(what: str, moments: Moments) -> HomeAnswer | None:
    wanted = naming_keys(what) - _OF_DOUGH
    found = [line for line in _lines(moments) if wanted and wanted <= line.named]
    if len(found) != 1 or {item.unit for item in found[0].items} != {"g"}:
        return None
    total = sum(item.amount for item in found[0].items)
    shown = " + ".join(_plain(item.amount) for item in found[0].items)
    return HomeAnswer("number", f"{_plain(total)} g ({shown})", "", (witness_of(found[0].passage, found[0].quote),))


def _lines(moments: Moments) -> Iterator[_Line]:
    """Yield the lines of notes and documents that list several amounts."""
    for passage in moments.things.passages.all(("note", "document")):
        for found in _LINE.finditer(passage.text):
            items = tuple(_item(one) for one in _ITEM.finditer(found["items"]))
            if len(items) >= _LEAST_ITEMS:
                named = frozenset(naming_keys(found["head"]))
                yield _Line(int(found["n"] or 0), named, items, passage, found.group().strip())


def _item(found: re.Match[str]) -> _Item:
    amount, unit = float(found["n"].replace(",", ".")), (found["unit"] or "").casefold()
    small, factor = _IN_SMALL.get(unit, (unit, 1.0))
    return _Item(amount * factor, small, frozenset(keys_of(found["what"])))


def _plain(amount: float) -> str:
    return f"{round(amount, 1):,g}" if amount < 1_000_000 else f"{amount:,.0f}"


_OF_DOUGH = frozenset(keys_of("dough batch batter mixture recipe everything"))
