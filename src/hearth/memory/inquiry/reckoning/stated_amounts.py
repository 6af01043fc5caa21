"""Amounts as the owner's records state them: a number with the clause it stands in, and which of them words mean.

A clause with one number states it: "Bun 42", "deposit of 2 000", "Royalty 10 percent", "about 800 words". Numbers of
days and times are none. Words mean the amount whose clause holds most of their weight; those of its title, its person
and its file's place count less. Records that state the same number are one.

Not covered: amounts in words, clauses with two numbers, cells of tables (`table_answers`).
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from hearth import patterns as re
from hearth.language.temporal.time_words import MONTHS
from hearth.memory.inquiry.answer_telling import witness_of
from hearth.memory.inquiry.money import MOST_DIGITS, money_in
from hearth.memory.inquiry.reckoning.dated_things import DatedThings, naming_keys
from hearth.memory.passages.passage_cutting import unwrapped
from hearth.memory.passages.passage_store import Passage
from hearth.memory.search.time_mentions import Period
from hearth.memory.search.word_forms import key_of, key_set, keys_of
from hearth.protocols import Witness

_N_KEPT = 5000
"""Passages whose amounts are kept from one question to the next."""
_KINDS = ("note", "mail", "document")
_CLAUSE = re.compile(r"(?:(?!,\s|;|\s(?:and|but|plus)\s|\.\s|\n).)+")
_MONTH = "|".join(f"{month[:3]}(?:{month[3:]})?" for month in MONTHS)
_TIMES = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_MONTH})\b|\b(?:{_MONTH})\.? \d{{1,2}}(?:st|nd|rd|th)?(?!\d)"
    r"|\b\d{4}-\d\d(?:-\d\d)?\b|\b\d{1,2}[:.]\d\d ?(?:am|pm)\b|\b\d{1,2}:\d\d\b|\b\d{1,2} ?(?:am|pm)\b"
    r"|\b\d+(?:st|nd|rd|th)\b|\b(?:19|20)\d\d\b(?! ?(?:kr|€|£|words?|a month|for))|\b\d+[-/]\d+(?:[-/]\d+)?\b"
    r"|\b(?:number|no\.?|stand|week|plot|room|chapter|question|minute) \d+\b",
    re.I,
)
"""Numbers that say when or which."""
_DIGIT = re.compile(r"\d")
_PERCENT = re.compile(r"(\d+(?:[.,]\d+)?) ?(?:%|per ?cent\b)", re.I)
_PLAIN = re.compile(
    r"(?<![\w.,:/-])\d{1,3}(?:[ ,\u00a0\u2009\u202f]\d{3})+(?![\w/:-])|(?<![\w.,:/-])\d+(?:\.\d{1,2})?(?![\w/:-])"
)
_UNIT = re.compile(r"\s*(?:of )?(?P<unit>[^\W\d_]+)", re.I)
_RATE = re.compile(
    r"(?:\b(?:per|a|an|each|every)|/) ?(?P<unit>day|night|week|month|hour|year|person|kilo|kg|lesson|session|visit)\b"
    r"|\b(?P<by>daily|nightly|weekly|monthly|hourly|yearly)\b",
    re.I,
)
_BY = {"daily": "day", "nightly": "night", "weekly": "week", "monthly": "month", "hourly": "hour", "yearly": "year"}
_OF_PRICES = re.compile(
    r"\b(?:price|prices|tariff|rates?|quotes?|menu|fees?|costs?|invoices?|deposits?|rent|bills?)\b", re.I
)
_NAMED_PRICE = re.compile(rf"{_OF_PRICES.pattern}(?:\W+(?:of|is|was|for|asks))*\W*\Z", re.I)
"""Stands before a number that is a price, whatever stands behind it: "invoice 1 600 follows"."""
_LIGHT = key_set(
    "cost costs price prices pay paid pays worth come comes amount total much many per cent percent percentage "
    "proportion share part difference dearer cheaper expensive less want wants ask asks charge charges spend spent "
    "buy bought new old need needs kilo kilos kg piece pieces make made set bill altogether whole euro euros pound "
    "pounds kroner dollar dollars average typical receipt receipts largest biggest smallest highest lowest "
    "most under money owe owes sum lose lost cut getting combined thru through"
)
"""Words of questions that amounts need not say."""
LEAST_SAID = 0.5
_BESIDE = 0.6
_ALIKE = 0.97


@dataclass(frozen=True, slots=True)
class Stated:
    """An amount where it stands."""

    value: float
    currency: str
    is_percent: bool
    unit: str
    """What stands behind a number without currency: `words`, `g`."""
    rate: str
    """What it is for each of: `day`; empty: not said."""
    named: frozenset[str]
    beside: frozenset[str]
    passage: Passage
    quote: str
    is_price: bool
    """Whether it may be a price: of money, or of a list of prices."""
    at: dt.datetime | None

    def is_within(self, period: Period | None) -> bool:
        """Return whether it is of a period, if one is given."""
        return period is None or period.holds(self.at)

    @property
    def witness(self) -> Witness:
        return witness_of(self.passage, self.quote)


class StatedAmounts:
    """All amounts that the owner's records state, for one question."""

    def __init__(self, things: DatedThings) -> None:
        self._things = things

    @cached_property
    def all(self) -> tuple[Stated, ...]:
        """All amounts, read when they are first asked for."""
        return tuple(
            one
            for passage in self._things.passages.all(_KINDS)
            for one in _stated_in(passage, self._things.called([passage.person]))
        )

    @cached_property
    def _weights(self) -> dict[str, float]:
        n = Counter(key for one in self.all for key in one.named | one.beside)
        return {key: math.log(1 + len(self.all) / count) for key, count in n.items()}

    @cached_property
    def prices_by_record(self) -> dict[str, list[Stated]]:
        """The prices of each record that states several."""
        found: dict[str, list[Stated]] = defaultdict(list)
        for one in self.all:
            if one.is_price and not one.is_percent:
                found[one.passage.record].append(one)
        return {record: rows for record, rows in found.items() if len(rows) > 1}

    def meant(
        self,
        phrase: str,
        context: str = "",
        *,
        within: Period | None = None,
        but: Collection[float] = (),
        least: float = LEAST_SAID,
        among: Sequence[Stated] | None = None,
        is_meant: Callable[[Stated], bool] = lambda _: True,
    ) -> Stated | None:
        """Return the amount that words mean; None where that is none, or several.

        Args:
            context: Other words of the question, which decide between amounts that the words mean alike.
            but: Values that are not meant.
            least: Least share of the weight of the words that it must hold.
            among: The amounts of which it is one; else all.
        """
        wanted, rarest = amount_keys(phrase), math.log(1 + len(self.all))
        rows = [
            one
            for one in (self.all if among is None else among)
            if one.value not in but and is_meant(one) and one.is_within(within)
        ]
        scores = [self._weight(wanted, one) for one in rows]
        most = max(scores, default=0.0)
        if not most or most < least * sum(self._weights.get(key, rarest) for key in wanted):
            return None
        best = [one for one, score in zip(rows, scores, strict=True) if score >= _ALIKE * most]
        best = _highest(best, lambda one: self._weight(amount_keys(context), one))
        if _n_values(best) != 1:
            # "Flour 2 140 kr" says less of other things than "From 1 October wheat flour costs …".
            best = _highest(best, lambda one: len(wanted & one.named) / len(one.named))
        if _n_values(best) != 1:
            return None
        return max(best, key=lambda row: row.currency != "")

    def _weight(self, wanted: Collection[str], one: Stated) -> float:
        return sum(
            self._weights.get(key, 0.0) * (1.0 if key in one.named else _BESIDE)
            for key in wanted
            if key in one.named | one.beside
        )

    def series(self, phrase: str, place: str) -> list[Stated]:
        """Return the prices of all records whose file or title says `place`, and that say a phrase."""
        wanted, key = amount_keys(phrase) - {key_of(place)}, key_of(place)
        return [one for one in self.all if one.is_price and key in one.beside and wanted <= one.named | one.beside]


@lru_cache(maxsize=_N_KEPT)
def _stated_in(passage: Passage, called: str) -> tuple[Stated, ...]:
    """Return the amounts of a passage. Args: called: What cards call its person."""
    if "|" in passage.text or not _DIGIT.search(passage.text):
        return ()
    beside = frozenset(keys_of(re.sub(r"[/_.-]", " ", f"{passage.title} {passage.person} {called} {passage.path}")))
    clauses = [found.group() for found in _CLAUSE.finditer(unwrapped(passage.text))]
    stated = [_stated(clause, passage, beside) for clause in clauses if _DIGIT.search(clause)]
    return tuple(one for one in stated if one is not None)


def _stated(clause: str, passage: Passage, beside: frozenset[str]) -> Stated | None:
    """Return the only amount of a clause."""
    said = _TIMES.sub(" ", clause)
    percents, money = _PERCENT.findall(said), money_in(said)
    plain = list(_PLAIN.finditer(_PERCENT.sub(" ", said))) if not money else []
    if len(percents) + len(money) + len(plain) != 1:
        return None
    if sum(map(str.isdigit, percents[0] if percents else plain[0].group() if plain else "")) > MOST_DIGITS:
        return None
    currency, unit = "", ""
    if percents:
        value = float(percents[0].replace(",", "."))
    elif money:
        value, currency, _ = money[0]
    else:
        if passage.kind == "mail" and re.search(rf"(?<!\d){re.escape(plain[0].group())}(?!\d)", passage.title):
            return None  # "Invoice 2231" is called so, and costs something else
        value = float(re.sub(r"[^\d.]", "", plain[0].group()))
        left = _PERCENT.sub(" ", said)
        behind = None if _NAMED_PRICE.search(left[: plain[0].start()]) else _UNIT.match(left, plain[0].end())
        unit = behind["unit"].casefold() if behind and keys_of(behind["unit"]) - _SMALL_UNITS else ""
    rate = _RATE.search(clause)
    is_listed = _OF_PRICES.search(f"{passage.title} {clause} {passage.path}".replace("-", " ")) is not None
    rated = (rate["unit"] or _BY[rate["by"].casefold()]).casefold() if rate else ""
    return Stated(
        value,
        currency,
        bool(percents),
        unit,
        "kilo" if rated == "kg" else rated,
        frozenset(keys_of(said)),
        beside,
        passage,
        " ".join(clause.split()),
        bool(currency) or (not percents and not unit and (is_listed or bool(rate))),
        _month_of(passage),
    )


def _highest(rows: Sequence[Stated], score: Callable[[Stated], float]) -> list[Stated]:
    """Return the amounts that score as high as the best."""
    most = max(map(score, rows))
    return [one for one in rows if score(one) >= _ALIKE * most]


def _n_values(rows: Sequence[Stated]) -> int:
    return len({(one.value, one.is_percent) for one in rows})


def amount_keys(phrase: str) -> set[str]:
    """Return the keys of the words that name an amount."""
    return naming_keys(phrase) - _LIGHT - _OF_MONTHS


def _month_of(passage: Passage) -> dt.datetime | None:
    """Return the day or month that a file is named by; else the time of its record."""
    named = re.search(r"\b(20\d\d)-(\d\d)\b", passage.path.rpartition("/")[2]) if passage.kind != "mail" else None
    if named is not None and 1 <= int(named[2]) <= 12 and passage.at is not None:
        return dt.datetime(int(named[1]), int(named[2]), 1, tzinfo=passage.at.tzinfo)
    return passage.at


def same_currency(rows: Sequence[Stated]) -> str | None:
    """Return the only currency of amounts, where one says none it is that of the others; None where they differ."""
    currencies = {one.currency for one in rows} - {""}
    return next(iter(currencies), "") if len(currencies) <= 1 else None


_OF_MONTHS = frozenset(map(key_of, MONTHS))
_SMALL_UNITS = key_set("is in a for the but on at to per each every with if and or after before by from")
