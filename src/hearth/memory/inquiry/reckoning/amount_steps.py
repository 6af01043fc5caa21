"""Reckons with amounts that are stated in the owner's things."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal

from hearth import patterns as re
from hearth.language.temporal.time_words import MONTHS
from hearth.language.tokens import listed, spoken_number, tokens
from hearth.memory.inquiry.answer_reading import MOST_DIGITS, money_in, money_text, number_in, number_text
from hearth.memory.inquiry.answer_telling import witness_of
from hearth.memory.inquiry.reckoning.dated_things import DatedThings, Moments, naming_keys, periods_meant
from hearth.memory.inquiry.reckoning.time_spans import AUX
from hearth.memory.search.passage_store import Passage, unwrapped
from hearth.memory.search.search_words import Period, key_of, key_set, keys_of, times_named, without_times
from hearth.protocols import HomeAnswer, Witness
from hearth.tools.memory import DOUBTED, N_SHOWN

# ── Stated amounts ────────────────────────────────────────────────────────────────────────────────────────
# Amounts as the owner's records state them: a number with the clause it stands in, and which of them words mean.
#
# A clause with one number states it: "Bun 42", "deposit of 2 000", "Royalty 10 percent", "about 800 words". Numbers
# of days and times are none. Words mean the amount whose clause holds most of their weight; those of its title, its
# person and its file's place count less. Records that state the same number are one.
#
# Not covered: amounts in words, clauses with two numbers, cells of tables (`table_answers`).

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


# ── Orders of records ───────────────────────────────────────────────────────────────────────────────────────
# Reads what is asked of a table: one operation, and what narrows its rows.
#
# Covered: counts, lists and means of records; the largest, the smallest, the first and the last of them, or all in
# order; a bound ("over 100 euros"). Not covered: two bounds at once; records of the calendar, of mails and cards, which
# others order; groups (`grouped_sums`).

Operation = Literal["sum", "mean", "count", "list", "most", "least", "first", "last"]

_COUNT, _LIST = re.compile(r"\s*how many\b", re.I), re.compile(r"\s*(?:which|who|whose|what)\b", re.I)
_TOTAL = re.compile(r"\s*how much\b|.*\btotal\b", re.I)

# ── Bounds and orders ─────────────────────────────────────────────────────────────────────────────────────
_COUNTS = {word: n for n, word in enumerate(listed("one two three four five six seven eight nine ten"), 1)}
_N = rf"(?:\d{{1,2}}|{'|'.join(_COUNTS)})"
_CURRENCY = r"(?:€|£|\$|(?:euros?|pounds?|dollars?|kr(?:oner)?|EUR|GBP|USD|CHF)\b)"
_BOUND = re.compile(
    r"\b(?P<how>more than|over|above|at least|less than|under|below|at most|up to|cheaper than|dearer than)"
    rf" (?P<limit>(?:[€£$] ?)?\d[\d.,]*(?<![.,])(?: ?{_CURRENCY})?)(?![\d%:/-])"
    r"(?! ?(?:%|per ?cent|(?:days?|nights?|weeks?|months?|years?|hours?|minutes?|people|persons?|times?|[ap]m)\b))",
    re.I,
)
"""Bounds an amount; "over 3 days" does not."""
_MEAN_SAID = re.compile(r"\b(?:on average|average|(?:the|my|our) mean)\b", re.I)
_MOST = re.compile(
    rf"\b(?:largest|biggest|highest|dearest|(?:most|more) expensive|best[- ]paid)\b|\btop(?= {_N}\b)", re.I
)
_LEAST = re.compile(r"\b(?:smallest|lowest|cheapest|least expensive|worst[- ]paid)\b", re.I)
_NO_TIME = (
    rf"(?! ?(?:names?|times?|years?|months?|weeks?|quarters?|nights?|days?|weekends?|{'|'.join(MONTHS)}|\w+day"
    r"|spring|summer|autumn|winter)\b)"
)
_LAST = re.compile(rf"\b(?:my|our) (?:{_N} )?(?:last|latest|newest|most recent)\b{_NO_TIME}", re.I)
_FIRST = re.compile(rf"\b(?:my|our) (?:{_N} )?(?:first|earliest|oldest)\b{_NO_TIME}", re.I)
_ENDS: tuple[tuple[Operation, re.Pattern[str]], ...] = (
    ("mean", _MEAN_SAID),
    ("most", _MOST),
    ("least", _LEAST),
    ("last", _LAST),
    ("first", _FIRST),
)
_FIRST_OF = "lowest|smallest|cheapest|oldest|earliest|highest|largest|biggest|dearest|newest|latest"
_SORTED = re.compile(
    r"\b(?:sorted|ordered|ranked|arranged|in order)(?: by| of| from)? (?P<by>.+)|\A\s*(?:sort|rank|order) .+? "
    rf"(?P<key>by .+)|\b(?:by|from) (?P<rank>[^?]*?\b(?:{_FIRST_OF})(?: first| to)\b.*)",
    re.I,
)
_UPWARDS = re.compile(
    r"\b(?:ascending|upwards|(?:lowest|smallest|cheapest|least|oldest|earliest)(?: first| to)|low to high)\b", re.I
)
_DOWNWARDS = re.compile(
    r"\b(?:descending|downwards|(?:highest|largest|biggest|dearest|most|newest|latest)(?: first| to)|high to low)\b",
    re.I,
)
_OF_DAYS = keys_of("date day time when oldest newest earliest latest")
_OPENS = re.compile(
    r"\s*(?:(?:please|can you|could you) )*(?:what(?:['’]?s)?|which|who|whose|how (?:many|much)|list|show|sort|rank"
    r"|order|give me|tell me|name|the average|average|my|our)\b",
    re.I,
)
_LEADS = re.compile(r"\b(?:give|show|tell) me\b", re.I)
_OWN = re.compile(
    r"\b(?:my|mine|our|ours|i|we|me|us)\b|\A\s*which\b.*\b(?:were|was|did|cost|had|took|earned|paid)\b", re.I
)
"""Says that a question is of the owner's own, and not of the world."""
_ORDERED_BY_OTHERS = keys_of(
    "event appointment meeting mail email message reminder timer alarm contact birthday photo picture video device "
    "note file folder thing"
)
_OF_ORDERS = keys_of("list show give tell sort rank order name please one ones which what much many")
_SAID_NUMBER = re.compile(
    r"\b(?:which|my|our|the|top|last|first|latest|oldest|newest|largest|smallest|cheapest|highest|lowest)"
    rf" (?P<n>{_N})\b",
    re.I,
)
_N_FEW = 3
"""Rows that are told where the largest of several are asked for, and not how many."""


@dataclass(frozen=True, slots=True)
class Bound:
    """What an amount is compared with."""

    how: str
    limit: float
    currency: str
    """Empty: none is said."""

    def holds(self, value: float) -> bool:
        """Return whether a value lies within it."""
        match self.how:
            case "at least":
                return value >= self.limit
            case "at most" | "up to":
                return value <= self.limit
            case "more than" | "over" | "above" | "dearer than":
                return value > self.limit
            case _:
                return value < self.limit


@dataclass(frozen=True, slots=True)
class RecordsAsked:
    """What is asked of records of one kind."""

    operation: Operation
    words: str
    """What is left of the question: the records have to speak of it."""
    bound: Bound | None = None
    by: str = ""
    """Words for what orders them; empty: their amounts."""
    n: int = 0
    """How many are asked for; 0: all."""

    @property
    def is_by_day(self) -> bool:
        """Whether the days of the rows order them."""
        return self.operation in ("first", "last") or bool(self.by and keys_of(self.by) & _OF_DAYS)


@dataclass(frozen=True, slots=True)
class _Order:
    """Which rows of an order are asked for, or what is made of them all."""

    operation: Operation
    said: tuple[int, int]
    """Where the question says it."""
    by: str = ""
    """Words for the column that orders them."""
    n: int = 0
    """How many of the first; 0: all."""


def _order_said(question: str) -> _Order | None:
    """Read an order: that of a whole list, else the end of one ("the largest") or the mean."""
    if (whole := _SORTED.search(question)) is not None:
        by = whole["by"] or whole["key"] or whole["rank"]
        is_upwards = _UPWARDS.search(by) or (keys_of(by) & _OF_DAYS and not _DOWNWARDS.search(by))
        begins = whole.start("key") if whole["key"] else whole.start()
        return _Order("least" if is_upwards else "most", (begins, whole.end()), by, N_SHOWN)
    ends = ((operation, form.search(question)) for operation, form in _ENDS)
    return next((_Order(operation, said.span(), n=_n_said(question)) for operation, said in ends if said), None)


def records_asked(question: str) -> RecordsAsked | None:
    """Parse a question for rows within a bound, for all in order, for the first of them or for their mean."""
    if not (_OPENS.match(question) and _OWN.search(_LEADS.sub("", question))):
        return None
    bounded, order = _BOUND.search(question), _order_said(question)
    if order is None:
        if bounded is None:
            return None
        operation: Operation = "count" if _COUNT.match(question) else "sum" if _TOTAL.match(question) else "list"
        order = _Order(operation, bounded.span())
    words, spans = question, {order.said, *([bounded.span()] if bounded is not None else [])}
    for start, stop in sorted(spans, reverse=True):
        words = f"{words[:start]} {words[stop:]}"
    words = words[opened.end() :] if (opened := _OPENS.match(words)) is not None else words
    if not keys_of(words) - _OF_ORDERS or keys_of(words) & _ORDERED_BY_OTHERS:
        return None
    words = re.sub(rf"\b{_N} (?=[^\W\d_])", " ", words)
    bound = _bound_of(bounded) if bounded is not None else None
    return RecordsAsked(order.operation, words, bound=bound, by=order.by, n=order.n)


def _n_said(question: str) -> int:
    """Return how many rows are asked for: "the three largest", "my last two"; of several that are not counted a few."""
    said = _SAID_NUMBER.search(question)
    if said is not None:
        return _COUNTS.get(said["n"].casefold()) or int(said["n"])
    return _N_FEW if re.search(r"\b(?:are|were)\b", question, re.I) else 1


def _bound_of(said: re.Match[str]) -> Bound:
    amounts = money_in(said["limit"])
    limit, currency = amounts[0][:2] if amounts else (number_in(said["limit"]), "")
    return Bound(" ".join(said["how"].casefold().split()), limit, currency)


# ── Amount steps ──────────────────────────────────────────────────────────────────────────────────────────
# Reckons with amounts that records state: numbers times prices, sums, differences, shares in per cent, an amount for
# each of several, and the mean, the largest and the smallest of a series.
#
# How an amount was reckoned is told with it. Two amounts of different currencies are never reckoned together.
#
# Records of one kind (invoices, receipts) are ordered and bounded by their amounts as the rows of a table are.
#
# Covered: amounts of one record or of several. Each answer is told with doubt: of homes that were not looked at, as
# many were wrong as right. Not covered: more than one of these steps in a question, but for something added to a
# product ("with the deposit").

_CENT = r"per ?cent(?:age)?|percentage|%"
_PARTS = {"half": 1 / 2, "a third": 1 / 3, "a quarter": 1 / 4, "a fifth": 1 / 5, "a tenth": 1 / 10}
_PARTS |= {"twice": 2, "double": 2}
_PART_OF = re.compile(
    rf"(?:\b(?P<n>\d+(?:[.,]\d+)?) ?(?:per ?cent|%)|\b(?P<part>{'|'.join(_PARTS)}))(?: of)? (?P<whole>[^,?]+)", re.I
)
_SHARE = re.compile(
    rf"\s*(?:in )?(?:what|which|how many) (?:{_CENT}|proportion|share|part|fraction) of (?P<whole>.+?)"
    rf" (?:{AUX}|to) (?P<part>.+)",
    re.I,
)
_MORE_CENT = re.compile(
    rf"\s*(?:by )?(?:how many|what) (?:{_CENT})(?: \w+)? (?:{AUX}|to) (?P<one>.+?)"
    r" (?:dearer|more|higher|cheaper|less|lower|costs?)(?: expensive)? than (?P<other>.+)",
    re.I,
)
_APART = re.compile(
    rf"\s*(?:by )?how much(?: (?:more|less|dearer|cheaper|higher|lower))?(?: expensive)? (?:{AUX}|to) (?P<one>.+?)"
    rf"(?: (?:dearer|cheaper|more(?: expensive)?|less(?: expensive)?|higher|lower|cost|costs))* than (?P<other>.+?)"
    r"(?: (?:was|did|is|cost|costs))?"
    r"|\s*what(?:['’]s| is| was) the (?:price )?difference between (?P<this>.+?) and (?P<that>.+)",
    re.I,
)
_LARGEST = re.compile(r"\b(?:largest|biggest|highest|dearest|most expensive)\b", re.I)
_SMALLEST = re.compile(r"\b(?:smallest|lowest|cheapest|least expensive)\b", re.I)
_MEAN = re.compile(r"\b(?:on average|average|mean)\b", re.I)
_WHOLE = re.compile(r"\b(?:altogether|in all|in total|total|together|combined|all told|both|sum of)\b", re.I)
_SUM = re.compile(
    r"\b(?:total|sum|altogether|in all|together|combined|(?:did|have) i (?:spen[dt]|pay|paid)|come to)\b", re.I
)
_DIFFERENCE = re.compile(r"\bdifference between (?:the|my) two\b", re.I)
_IN_A_YEAR = re.compile(
    r"\b(?P<half>half )?(?:a|per|whole|full|one) year(?:['’]s)?\b|\b(?:yearly|annual(?:ly)?)\b", re.I
)
_SERIES = re.compile(r"\b(?P<place>receipt|invoice|bill|quote|order|statement|payslip)s?\b", re.I)
_ASKS_AMOUNT = re.compile(
    r"\b(?:how much(?= (?:is|are|was|were|do|does|did|will|would|has|have|had|for|money|rent)\b|\Z)"
    r"|what(?:['’]?s)?|worth|costs?|owe|pay|price|damage|come to|set me back|value)\b",
    re.I,
)
_BOTH = re.compile(
    r"(?:.*[,:]\s*|.*?\b(?:for|from|of|are|is|do|does)\s+)?(?P<one>[\w'’ -]+?) (?:and|plus|&) (?P<other>[\w'’ -]+)",
    re.I,
)
_UNITS = "days|nights|weeks|months|hours|years|lessons|sessions|visits|persons|people"
_PLUS = re.compile(
    r"\b(?:add(?:ing)?|plus|with|including|and|on top of) (?:the |a |an |my |in )*(?P<what>[^\W\d_]+)", re.I
)
_NO_PRODUCT = re.compile(
    r"\bhow (?:many|long|old|often)\b|\b(?:each|every|only|without|except|but not|no|per ?cent|%) [^\W\d_]+", re.I
)
"""Asks for no product, or for more than one."""
_EACH = re.compile(r"\b(?:per|each|a) (?P<who>guest|person|head|people|child|member|each|of us)\b|\beach\b", re.I)


def amounts_answer(question: str, moments: Moments) -> HomeAnswer | None:
    """Reckon the amount that a question asks for; None where no step is asked for, or an amount is not known."""
    asked, stated = question.strip(" ?.!"), StatedAmounts(moments.things)
    first = (_share, _more_in_cent, _of_cent, _apart, _of_series, _for_each)
    steps = (*first, _product, _over_months, _in_a_year, _together)
    return next((told for step in steps if (told := step(asked, stated, moments)) is not None), None)


def _share(asked: str, stated: StatedAmounts, _moments: Moments) -> HomeAnswer | None:
    """Return what one amount is of another, in per cent."""
    found = _SHARE.fullmatch(re.sub(r",? in (?:%|per ?cent)\Z", "", asked, flags=re.I))
    if found is None or (part := stated.meant(found["part"], found["whole"])) is None:
        return None
    whole = stated.meant(found["whole"], but=(part.value,), is_meant=lambda one: one.unit == part.unit)
    return _in_cent(part, whole, 0.0) if whole is not None else None


def _more_in_cent(asked: str, stated: StatedAmounts, _moments: Moments) -> HomeAnswer | None:
    """Return by how many per cent one amount is more than another."""
    found = _MORE_CENT.fullmatch(asked)
    if found is None:
        return None
    one, other = stated.meant(found["one"], found["other"]), stated.meant(found["other"], found["one"])
    return _in_cent(one, other, 1.0) if one is not None and other is not None else None


def _in_cent(part: Stated, whole: Stated, less: float) -> HomeAnswer | None:
    if part.value == whole.value or not whole.value or same_currency((part, whole)) is None:
        return None
    if part.is_percent or whole.is_percent:
        return None
    share = abs(part.value / whole.value - less) * 100
    value = f"{share:.1f}% ({number_text(part.value)} {'against' if less else 'of'} {number_text(whole.value)})"
    return _answer("number", value, (part, whole))


def _of_cent(asked: str, stated: StatedAmounts, _moments: Moments) -> HomeAnswer | None:
    """Return a stated share of an amount that the question names."""
    if (part := _PART_OF.search(asked)) is not None and not _IN_A_YEAR.search(asked):
        return _part_of(part, stated)
    amounts = money_in(asked)
    if len(amounts) != 1 or not _ASKS_AMOUNT.search(asked):
        return None
    share = stated.meant(re.sub(r"\b(?:on|of|for) .*", "", asked), asked, is_meant=lambda one: one.is_percent)
    if share is None:
        return None
    value, currency, _ = amounts[0]
    whole, some = money_text(value, currency), money_text(value * share.value / 100, currency)
    return _answer("amount", f"{some} ({number_text(share.value)}% of {whole})", (share,))


def _part_of(part: re.Match[str], stated: StatedAmounts) -> HomeAnswer | None:
    """Return a half, a quarter or some per cent of a stated amount."""
    whole = stated.meant(re.sub(r" (?:be|cost|is|come to)\Z", "", part["whole"]), is_meant=_is_price)
    if whole is None:
        return None
    share = float(part["n"].replace(",", ".")) / 100 if part["n"] else _PARTS[part["part"].casefold()]
    some, of_all = (money_text(value, whole.currency) for value in (whole.value * share, whole.value))
    return _answer("amount", f"{some} ({share:.0%} of {of_all})", (whole,))


def _apart(asked: str, stated: StatedAmounts, moments: Moments) -> HomeAnswer | None:
    """Return how far two amounts are apart, of two things or of one in two times."""
    found = _APART.fullmatch(asked)
    if found is None:
        return None
    now, sides = moments.call.now, (found["one"] or found["this"], found["other"] or found["that"])
    when = [periods_meant(side, now) for side in sides]
    if all(when) and not amount_keys(without_times(sides[1], now)):
        what = without_times(sides[0], now)
        pair = [stated.meant(what, within=period[0], is_meant=_is_price) for period in when]
    else:
        pair = _pair(*sides, "", stated)
    one, other = pair
    if one is None or other is None or one.value == other.value:
        return None
    if (currency := same_currency((one, other))) is None or one.unit or other.unit:
        return None
    told = [money_text(each.value, currency) for each in (one, other)]
    value = f"{money_text(abs(one.value - other.value), currency)} ({' and '.join(told)})"
    return _answer("amount", value, (one, other))


def _of_series(asked: str, stated: StatedAmounts, moments: Moments) -> HomeAnswer | None:
    """Return the sum, the mean, the largest or the smallest amount of records of one kind: receipts, invoices."""
    place = _SERIES.search(asked)
    rows_asked = records_asked(asked) if place is not None else None
    if place is not None and rows_asked is not None and (rows_asked.bound is not None or rows_asked.n > 1):
        return _records_chosen(rows_asked, place["place"], stated, moments)
    forms = (_LARGEST, _SMALLEST, _MEAN, _SUM, _DIFFERENCE)
    how = next((form for form in forms if form.search(asked)), None)
    if place is None or how is None:
        return None
    found = stated.series(re.sub(r"\b(?:month|going|i|have|got)\b", "", asked, flags=re.I), place["place"])
    if (named := periods_meant(asked, moments.call.now)) and named[0].start < moments.call.now:
        found = [one for one in found if one.is_within(named[0])]
    rows = list({(one.value, one.at): one for one in found}.values())
    if not rows or (currency := same_currency(rows)) is None:
        return None
    if how in (_LARGEST, _SMALLEST):
        chosen = (max if how is _LARGEST else min)(rows, key=lambda one: one.value)
        return _answer("amount", f"{chosen.quote} ({money_text(chosen.value, currency)})", [chosen])
    if how is _DIFFERENCE:
        return _answer_apart(rows, currency)
    return _all_of(rows, currency, asked, is_mean=how is _MEAN)


def _records_chosen(asked: RecordsAsked, place: str, stated: StatedAmounts, moments: Moments) -> HomeAnswer | None:
    """Return the records of one kind whose amounts are the largest or lie within a bound, in order, or their mean."""
    if asked.is_by_day or asked.operation == "sum":
        return None
    period = next((one for one in periods_meant(asked.words, moments.call.now) if one.start < moments.call.now), None)
    found = stated.series(without_times(asked.words, moments.call.now), place)
    rows = wholes = _wholes([one for one in found if one.is_within(period)])
    if not wholes or (currency := same_currency(wholes)) is None:
        return None
    if asked.bound is not None:
        if asked.bound.currency not in ("", currency):
            return None
        rows = [one for one in rows if asked.bound.holds(one.value)]
    if asked.operation == "mean":
        return _all_of(rows, currency, "", is_mean=True) if rows else None
    if asked.operation in ("most", "least"):
        rows = sorted(rows, key=lambda one: one.value, reverse=asked.operation == "most")[: asked.n]
    named = [f"{one.passage.title} ({money_text(one.value, currency)})" for one in rows[:N_SHOWN]]
    if asked.operation == "count" or not rows:
        told = f"{len(rows)} of {len(wholes)}" + (f": {'; '.join(named)}" if named else "")
        return _answer("number", told, rows or wholes)
    return replace(_answer("amount", "; ".join(named), rows), kind="list" if len(rows) > 1 else "amount")


def _wholes(found: Sequence[Stated]) -> list[Stated]:
    """Return one amount for each record: of several the largest, which is the whole."""
    wholes: dict[str, Stated] = {}
    for one in found:
        kept = wholes.setdefault(one.passage.record, one)
        if one.value > kept.value:
            wholes[one.passage.record] = one
    return list(wholes.values())


def _all_of(rows: Sequence[Stated], currency: str, asked: str, *, is_mean: bool) -> HomeAnswer | None:
    """Return the sum or the mean of amounts; "the two quotes" are all of them only where there are two."""
    counts = [n for n, _ in _numbers(asked)]
    if not is_mean and (len(rows) < 2 or (counts and counts[0] != len(rows))):
        return None
    total = sum(one.value for one in rows) / (len(rows) if is_mean else 1)
    return _answer("amount", f"{money_text(total, currency)} ({len(rows)} amounts)", rows)


def _answer_apart(rows: Sequence[Stated], currency: str) -> HomeAnswer | None:
    """Return how far two amounts are apart, where there are two."""
    if len(rows) != 2:
        return None
    told = " and ".join(money_text(one.value, currency) for one in rows)
    value = f"{money_text(abs(rows[0].value - rows[1].value), currency)} ({told})"
    return _answer("amount", value, rows)


def _for_each(asked: str, stated: StatedAmounts, _moments: Moments) -> HomeAnswer | None:
    """Return an amount for each of the number of people that the question says."""
    each = _EACH.search(asked)
    numbers = _numbers(asked[each.end() :]) if each else []
    if each is None or len(numbers) != 1 or numbers[0][0] < 2 or not _ASKS_AMOUNT.search(asked[: each.start()]):
        return None
    what, n = stated.meant(asked[: each.start()], is_meant=lambda one: one.is_price and not one.rate), numbers[0][0]
    if what is None:
        return None
    told = f"{money_text(what.value / n, what.currency)} ({money_text(what.value, what.currency)} ÷ {number_text(n)})"
    return _answer("amount", told, (what,))


def _product(asked: str, stated: StatedAmounts, moments: Moments) -> HomeAnswer | None:
    """Return numbers times the prices of what they count, and what is added to it."""
    plain = without_times(asked, moments.call.now) if times_named(asked, moments.call.now) else asked
    counts = _numbers(plain if _numbers(plain) else asked)
    if not counts or not _ASKS_AMOUNT.search(asked) or _NO_PRODUCT.search(asked):
        return None
    priced: list[tuple[float, Stated]] = []
    for n, what in counts:
        unit = re.match(rf"(?:{_UNITS})\b", what, re.I)
        if unit is not None:
            rated = {"people": "person", "persons": "person"}.get(unit.group().casefold(), unit.group().casefold()[:-1])
            price = _rated(rated, asked, stated)
        else:
            price = _price_of(what, n, asked, stated)
        if price is None:
            return None
        priced.append((n, price))
    added = _added(asked, stated, priced[0][1]) if len(priced) == 1 else []
    rows = [price for _, price in priced] + added
    if (currency := same_currency(rows)) is None:
        return None
    total = sum(n * price.value for n, price in priced) + sum(one.value for one in added)
    parts = [f"{money_text(price.value, currency)} × {number_text(n)}" for n, price in priced]
    parts += [money_text(one.value, currency) for one in added]
    return _answer("amount", f"{money_text(total, currency)} ({' + '.join(parts)})", rows)


def _rated(unit: str, asked: str, stated: StatedAmounts) -> Stated | None:
    """Return the price for a day, a person or the like that a question speaks of."""
    return stated.meant(_without_numbers(asked), least=0.0, is_meant=lambda one: one.is_price and one.rate == unit)


def _price_of(what: str, n: float, asked: str, stated: StatedAmounts) -> Stated | None:
    """Return the price of what is counted: of all its words, else of the last."""
    for said in dict.fromkeys((what, *what.split()[-1:])):
        found = stated.meant(
            said, _without_numbers(asked), but=(n,), is_meant=lambda one: one.is_price and one.rate in ("", "kilo")
        )
        if found is not None:
            return found
    return None


def _is_price(one: Stated) -> bool:
    return one.is_price and not one.is_percent


def _over_months(asked: str, stated: StatedAmounts, moments: Moments) -> HomeAnswer | None:
    """Return a monthly amount for all months of a period."""
    named = periods_meant(asked, moments.call.now)
    if not named or not (_ASKS_AMOUNT.search(asked) or _WHOLE.search(asked)):
        return None
    start, end = named[0].start, named[0].end
    n = 12 * (end.year - start.year) + end.month - start.month
    if n < 2 or (start.day, end.day) != (1, 1):
        return None
    return _monthly(asked, n, stated, moments)


def _in_a_year(asked: str, stated: StatedAmounts, moments: Moments) -> HomeAnswer | None:
    """Return a monthly amount for a year, or half of it."""
    found = _IN_A_YEAR.search(asked)
    if found is None or not _ASKS_AMOUNT.search(asked):
        return None
    return _monthly(asked, 6 if found["half"] else 12, stated, moments)


def _monthly(asked: str, n: int, stated: StatedAmounts, moments: Moments) -> HomeAnswer | None:
    """Return what a question's words mean for a number of months, where it is an amount for each month."""
    what = stated.meant(_IN_A_YEAR.sub(" ", without_times(asked, moments.call.now)), is_meant=_is_price)
    if what is None or not any(one.rate == "month" and one.value == what.value for one in stated.all):
        return None
    told = f"{money_text(n * what.value, what.currency)} ({money_text(what.value, what.currency)} × {n})"
    return _answer("amount", told, (what,))


def _added(asked: str, stated: StatedAmounts, price: Stated) -> list[Stated]:
    """Return the amounts of a price's record that the question adds: "with the deposit"."""
    words = [found["what"] for found in _PLUS.finditer(asked)]
    found = [stated.meant(word, is_meant=lambda one: one.passage.record == price.passage.record) for word in words]
    return [one for one in found if one is not None and one.value != price.value]


def _together(asked: str, stated: StatedAmounts, _moments: Moments) -> HomeAnswer | None:
    """Return the sum of two amounts that the question names."""
    found = _BOTH.fullmatch(re.sub(rf"(?:,? ?{_WHOLE.pattern}| cost)+\Z", "", asked, flags=re.I))
    is_sum = _WHOLE.search(asked) is not None and _ASKS_AMOUNT.search(asked) is not None
    if found is None or not (is_sum or " plus " in asked.casefold()):
        return None
    one, other = _pair(found["one"], found["other"], asked[: found.start("one")], stated)
    if one is None or other is None or one.value == other.value or one.rate != other.rate:
        return None
    if (currency := same_currency((one, other))) is None:
        return None
    told = " + ".join(money_text(each.value, currency) for each in (one, other))
    return _answer("amount", f"{money_text(one.value + other.value, currency)} ({told})", (one, other))


def _pair(one: str, other: str, around: str, stated: StatedAmounts) -> list[Stated | None]:
    """Return the prices of two things: of the record that states both, where one does."""
    for prices in stated.prices_by_record.values():
        pair = [stated.meant(side, least=1.0, among=prices) for side in (one, other)]
        if None not in pair and pair[0] != pair[1]:
            return pair
    return [
        stated.meant(side, f"{around} {beside}", is_meant=_is_price) for side, beside in ((one, other), (other, one))
    ]


def _numbers(text: str) -> list[tuple[float, str]]:
    """Return the numbers that a text counts with, each with the words behind it."""
    said, found = tokens(text), []
    index = 0
    while index < len(said):
        number = spoken_number(said, index) if said[index].low not in ("half", "one") else None
        if number is None:
            index += 1
            continue
        value, index = number
        if value >= 10**MOST_DIGITS:
            return []
        behind = text[said[index].start :] if index < len(said) else ""
        words = re.match(r"(?:kilos?|kg|pieces?|cups?|loaves|boxes|bags)?(?: ?of )?(?:[\w'’-]+ ?){0,3}", behind, re.I)
        what = re.split(
            r"\b(?:and|at|for|if|on|in|with|of|from|every|each|worth|cost|to)\b", words.group() if words else ""
        )
        found.append(
            (value, next((part.strip() for part in what if amount_keys(part) or re.match(_UNITS, part.strip())), ""))
        )
    return found


def _without_numbers(asked: str) -> str:
    return re.sub(r"\d[\d.,]*", " ", asked)


def _answer(kind: str, value: str, rows: Sequence[Stated]) -> HomeAnswer:
    witnesses: dict[str, Witness] = {}
    for one in rows:
        witnesses.setdefault(f"{one.passage.record} {one.quote}", one.witness)
    return HomeAnswer("amount" if kind == "amount" else "number", value, "", tuple(witnesses.values()), DOUBTED)
