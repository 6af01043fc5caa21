"""Reads what is asked of a table: one operation, and what narrows its rows.

Covered: sums, means, counts and lists of rows; the largest, the smallest, the first and the last of them, or all in
order; a direction (income or expenses), a state (paid or not), a bound ("over 100 euros"), groups by a column or by
month. Whether any table has what is asked is for `table_answers`.
Not covered: two bounds or two groups at once; records of the calendar, of mails and cards, which others order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hearth import patterns as re
from hearth.language.temporal.time_words import MONTHS
from hearth.language.text.tokens import listed
from hearth.memory.inquiry.money import money_in, number_in
from hearth.memory.search.word_forms import key_of, key_set, keys_of
from hearth.tools.memory import N_SHOWN

Operation = Literal["sum", "mean", "count", "list", "most", "least", "first", "last"]
Direction = Literal["in", "out", ""]

# ── Directions and states ─────────────────────────────────────────────────────────────────────────────────
_IN = re.compile(
    r"\b(?:income|earnings|takings|revenue|receipts|earn(?:ed|s|t)?|(?:taken?|took|come|came|brought) in|received)\b",
    re.I,
)
_TOOK = re.compile(r"\b(?:took|taken|made)\b", re.I)
_OUT = re.compile(r"\b(?:expens\w+|expenditure|outgoings|spen[dt]|spends|spending|paid out|gone out|went out)\b", re.I)
_COSTS = re.compile(r"\bcosts?\b", re.I)
_DEEDS = "paid|settled|returned|delivered|answered|sold|sent|finished|signed|collected|received|done"
_NOT = re.compile(
    rf"(?:\bun(?P<un>{_DEEDS})|(?:\bnot|\bnever|n['’]?t) (?:yet )?(?:been )?(?:yet )?(?P<not>{_DEEDS})|\b"
    r"(?P<owed>outstanding|overdue|(?:still )?owes?|owed|owing|still (?:due|open|to (?:pay|get|come))))\b",
    re.I,
)
_DONE = re.compile(rf"\b(?:have|has|are|is|were|was|been|already) (?:all |been |already )*(?P<done>{_DEEDS})\b", re.I)
_SUM = re.compile(r"\s*(?:how much|what(?:['’]s| is| are| was| were| did| has| have| do| does)?)\b", re.I)
_COUNT, _LIST = re.compile(r"\s*how many\b", re.I), re.compile(r"\s*(?:which|who|whose|what)\b", re.I)
_HOW_MUCH = re.compile(r"\s*how much\b", re.I)
_TOTAL = re.compile(r"\s*how much\b|.*\btotal\b", re.I)
_OWN_SPENDING = re.compile(r"\b(?:did|have|do|had) (?:i|we)\b|\b(?:i|we)['’]ve\b", re.I)

# ── Groups ────────────────────────────────────────────────────────────────────────────────────────────────
_MONEY = (
    r"(?:sales?|sold|takings|spen[dt]|spending|earn(?:ed|ings)?|income|paid|pay|costs?|rent|bills?|expens\w+|amounts?"
    r"|sums?|totals?|invoices?|fees?|charges?|revenue)"
)
_GROUPS = (
    "month|year|buyer|customer|client|payer|person|member|tenant|pupil|student|guest|supplier|vendor|shop|store|fair"
    "|market|venue|place|room|event|course|class|job|project|category|kind|type|item|product|name"
)
"""What people sum by; "by card" and "by six" are none."""
_BY = re.compile(rf"\b(?P<by>by|for (?:each|every)|per|each|every) (?:the )?(?P<key>{_GROUPS})s?\b", re.I)
_SUMMED = re.compile(r"\b(?:did|have|has|sums?|totals?|spent|earned|sold|sales|takings|expenses)\b", re.I)
_EACH_PAYS = re.compile(rf"\s*how much (?:did|has|have) (?:each|every) (?P<key>{_GROUPS})\b(?P<rest>.*)", re.I)
_WHO_MOST = re.compile(
    r"\s*who (?:has )?(?:bought|spent|paid|ordered) (?:the )?(?P<most>most|least)(?: from (?:me|us))?(?P<rest>.*)", re.I
)
_WHICH_MOST = re.compile(
    rf"\s*which (?:of (?:my|our|the) )?(?P<key>{_GROUPS})s? (?:has |have )?(?P<did>earned|took|brought in|made|sold"
    r"|paid|spent|costs?) (?:me |us )?(?:the )?(?P<most>most|least)\b(?P<rest>.*)",
    re.I,
)

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
_MEAN = re.compile(r"\b(?:on average|average|(?:the|my|our) mean)\b", re.I)
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
    ("mean", _MEAN),
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
class TableAsked:
    """What is asked of a table."""

    operation: Operation
    words: str
    """What is left of the question: the table has to speak of it."""
    direction: Direction = ""
    """Whether only rows of income or of expenses count."""
    state: str = ""
    """Key of what was done or not ("paid"); empty: not asked."""
    is_done: bool = False
    bound: Bound | None = None
    by: str = ""
    """Words for the column that is reckoned with; empty: that of amounts."""
    n: int = 0
    """How many rows are asked for; 0: all."""
    group: str = ""
    """Word for what the rows are summed by; empty: by nothing."""
    is_exact: bool = False
    """Whether the table has to speak of every word, as the form of the question says little."""

    @property
    def is_by_day(self) -> bool:
        """Whether the days of the rows order them."""
        return self.operation in ("first", "last") or bool(self.by and keys_of(self.by) & _OF_DAYS)

    @property
    def sense(self) -> Direction:
        """Whether the column that is reckoned with is of income or of expenses."""
        said = f"{self.by} {self.words}"
        if _IN.search(said) or _TOOK.search(said):
            return "in"
        return "out" if _OUT.search(said) or _COSTS.search(said) else ""


def asked_of_table(question: str) -> TableAsked | None:
    """Parse a question that the rows of one table may answer; None for any other."""
    return _groups_asked(question) or _states_asked(question) or _rows_asked(question)


def _groups_asked(question: str) -> TableAsked | None:
    """Parse a question for sums by group. "How much is the rent per month" asks for a price."""
    if (who := _WHO_MOST.match(question)) is not None:
        return TableAsked(_end_of(who["most"]), who["rest"], group="buyer")
    if (which := _WHICH_MOST.match(question)) is not None:
        return TableAsked(_end_of(which["most"]), which["rest"], by=which["did"], group=which["key"].casefold())
    if (each := _EACH_PAYS.match(question)) is not None:
        return TableAsked("sum", each["rest"], group=each["key"].casefold())
    said = _BY.search(question)
    if said is None or _SORTED.search(question) or re.search(rf"\b{_MONEY}\b", question, re.I) is None:
        return None
    rest = question[: said.start()] + question[said.end() :]
    if not said["by"].casefold().endswith("by") and not _SUMMED.search(rest):
        return None
    return TableAsked("sum", rest, group=said["key"].casefold())


def _end_of(most: str) -> Operation:
    return "most" if most.casefold() == "most" else "least"


@dataclass(frozen=True, slots=True)
class _State:
    """A deed that a question says was done, or was not."""

    deed: str
    """Its key: "paid"."""
    is_done: bool
    is_listed: bool
    """Whether its rows may be asked for by their names: not what is only owed, and of what was done what was paid."""


def _state_said(question: str) -> _State | None:
    """Read a state; where one deed was not done and another was, the one that was not."""
    if (undone := _NOT.search(question)) is not None:
        deed = undone["un"] or undone["not"] or "paid"
        return _State(key_of(deed.casefold()), is_done=False, is_listed=not undone["owed"])
    if (done := _DONE.search(question)) is not None:
        deed = done["done"].casefold()
        return _State(key_of(deed), is_done=True, is_listed=deed in ("paid", "settled"))
    return None


def _states_asked(question: str) -> TableAsked | None:
    """Parse a question for rows that something was done to or not, or for all income or expenses."""
    if any(form.search(question) for form in (_BOUND, _SORTED, _MEAN, _MOST, _LEAST)):
        return None
    state = _state_said(question)
    if state is not None and _COUNT.match(question):
        return TableAsked("count", question, state=state.deed, is_done=state.is_done)
    if state is not None and not state.is_done and _HOW_MUCH.match(question):
        return TableAsked("sum", question, state=state.deed)
    direction: Direction = "in" if _IN.search(question) else "out" if _OUT.search(question) else ""
    if direction and _SUM.match(question) and not _OWN_SPENDING.search(question):
        return TableAsked("sum", question, direction)
    if state is not None and state.is_listed and _LIST.match(question):
        return TableAsked("list", question, state=state.deed, is_done=state.is_done)
    return None


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


def _rows_asked(question: str) -> TableAsked | None:
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
    return TableAsked(order.operation, words, bound=bound, by=order.by, n=order.n, is_exact=True)


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


UNSAID = key_set(
    "how much many which what total sum altogether all year month week quarter this last there still yet accounts "
    "account books table list income earnings takings revenue receipts earn earned taken take took in come came "
    "brought received expense expenses expenditure outgoings spend spent spending paid unpaid pay out gone went "
    "outstanding overdue owe owes owed owing due open get one ones so far got have has been to from money got made "
    "january february march april may june july august september october november december clients people "
    "haven hasn hadn aren isn weren wasn didn don doesn won show give tell sort rank order name please"
)
"""Words of questions that no table has to say."""
OF_SUMS = keys_of("sum total amount price value cost worth sale sales sold pay paid spend spent earn earned")
"""Words for what is reckoned, which the column of amounts may call otherwise."""
