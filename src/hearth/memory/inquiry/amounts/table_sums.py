"""Sums, counts and lists the rows of a table that a question means: what came in, what a hall spent on oil, who has not
paid.

A row is meant where it holds the words of the question that stand in cells, where its column of income and expenses
says the direction that is asked for, where its column of yes and no says that something is done or not, and where its
day lies in the period named. Of several tables the one counts that most of the question speaks of.

Covered: one table, its rows told with the answer; a word of the question that no part of the table says makes it
doubtful.
Not covered: what the owner spent over mails and tables together (`record_answers`), averages, several tables.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from hearth import patterns as re
from hearth.language.text.tokens import listed
from hearth.memory.inquiry.answer_telling import is_of, past_of
from hearth.memory.inquiry.money import money_in, money_text
from hearth.memory.passages.collecting import where_of
from hearth.memory.passages.passage_store import Passage, PassageStore
from hearth.memory.passages.text_tables import tables_in
from hearth.memory.search.time_mentions import Period, times_named
from hearth.memory.search.word_forms import key_of, keys_of
from hearth.protocols import CallContext, HomeAnswer, Witness
from hearth.tools.memory import DOUBTED, N_SHOWN

Direction = Literal["in", "out", ""]
_IN = re.compile(
    r"\b(?:income|earnings|takings|revenue|receipts|earn(?:ed|s|t)?|(?:taken?|took|come|came|brought) in|received)\b",
    re.I,
)
_OUT = re.compile(r"\b(?:expens\w+|expenditure|outgoings|spen[dt]|spends|spending|paid out|gone out|went out)\b", re.I)
_DEEDS = "paid|settled|returned|delivered|answered|sold|sent|finished|signed|collected|received|done"
_NOT = re.compile(
    rf"(?:\bun(?P<un>{_DEEDS})|(?:\bnot|\bnever|n['’]?t)"
    rf" (?:yet )?(?:been )?(?:yet )?(?P<not>{_DEEDS})|\b(?P<owed>outstanding|overdue"
    r"|(?:still )?owes?|owed|owing|still (?:due|open|to (?:pay|get|come))))\b",
    re.I,
)
_DONE = re.compile(
    rf"\b(?:have|has|are|is|were|was|been|already) (?:all |been |already )*(?P<done>{_DEEDS})\b",
    re.I,
)
_SUM = re.compile(r"\s*(?:how much|what(?:['’]s| is| are| was| were| did| has| have| do| does)?)\b", re.I)
_COUNT, _LIST = re.compile(r"\s*how many\b", re.I), re.compile(r"\s*(?:which|who|whose|what)\b", re.I)
_OWN_SPENDING = re.compile(r"\b(?:did|have|do|had) (?:i|we)\b|\b(?:i|we)['’]ve\b", re.I)
_OF_IN = frozenset(listed("income in credit received earning earnings receipt receipts revenue takings +"))
_OF_OUT = frozenset(listed("expense expenses out debit spending spent cost costs payment expenditure -"))
_YES = frozenset(listed("yes y x true done paid ✓ ✔ settled sent"))
_NO = frozenset(
    ("no", "n", "", "-", "–", "false", "open", "unpaid", "outstanding", "overdue", "due", "not yet", "pending")
)
_OF_PAYMENT = frozenset(map(key_of, ("paid", "settled", "received", "status")))
_AMOUNT = re.compile(
    r"\b(?:amount|sum|total|price|cost|owes?|owed|fee|due|value|paid in|eur|gbp|usd|euros?|pounds?)\b|[€£$]", re.I
)
_NUMBER = re.compile(r"-?(?:[€£$]\s?)?\d[\d,]*(?:\.\d+)?(?:\s?(?:€|£|\$|EUR|GBP|USD|kr))?")
_DATED = re.compile(r"\b\d{1,2}(?:st|nd|rd|th)? (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)", re.I)
_YEAR = re.compile(r"(?:19|20)\d\d")
_ISO = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_UNSAID = frozenset(
    key_of(word)
    for word in listed(
        "how much many which what total sum altogether all year month week quarter this last there still yet accounts "
        "account books table list income earnings takings revenue receipts earn earned taken take took in come came "
        "brought received expense expenses expenditure outgoings spend spent spending paid unpaid pay out gone went "
        "outstanding overdue owe owes owed owing due open get one ones so far got have has been to from money got made "
        "january february march april may june july august september october november december clients people "
        "haven hasn hadn aren isn weren wasn didn don doesn won"
    )
)
"""Words of questions that no table has to say."""


@dataclass(frozen=True, slots=True)
class TableAsked:
    """What is asked of a table."""

    operation: Literal["sum", "count", "list"]
    direction: Direction
    state: str
    """Key of what was done or not ("paid"); empty: not asked."""
    is_done: bool


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the owner's with its heads."""

    passage: Passage
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def column(self, k: int) -> list[str]:
        return [row[k] for row in self.rows]

    def of_cells(self, known: frozenset[str]) -> int | None:
        """Return the column all of whose cells are known words; None where none is."""
        columns = range(len(self.head))
        return next((k for k in columns if {cell.casefold() for cell in self.column(k)} <= known), None)

    def said_in_cells(self, but: Container[int | None] = ()) -> set[str]:
        """Return the keys of the words of all cells, but of those in some columns."""
        return {key for row in self.rows for k, cell in enumerate(row) if k not in but for key in keys_of(cell)}


def asked_of_table(question: str) -> TableAsked | None:
    """Parse a question that the rows of one table may answer; None for any other."""
    undone, done = _NOT.search(question), _DONE.search(question)
    direction: Direction = "in" if _IN.search(question) else "out" if _OUT.search(question) else ""
    word = (undone["un"] or undone["not"] or "paid") if undone else done["done"] if done else ""
    if _COUNT.match(question):
        return TableAsked("count", "", key_of(word.casefold()), undone is None) if word else None
    if re.match(r"\s*how much\b", question, re.I) and undone:
        return TableAsked("sum", "", key_of(word.casefold()), is_done=False)
    if direction and _SUM.match(question) and not _OWN_SPENDING.search(question):
        return TableAsked("sum", direction, "", is_done=False)
    if undone and not undone["owed"] and _LIST.match(question):
        return TableAsked("list", "", key_of(word.casefold()), is_done=False)
    return None


def answer_from_tables(question: str, passages: PassageStore, call: CallContext) -> HomeAnswer | None:
    """Work out the answer over the rows of a table; None if no such thing is asked, or no table has what is asked."""
    asked = asked_of_table(question)
    if asked is None:
        return None
    named = times_named(question, call.now, str(call.settings.get("owner", {}).get("country") or ""))
    period = past_of(named[0], call.now) if named else None
    found = [
        (score, answer)
        for one in tables_of(passages)
        if (told := _told(asked, question, one, period, call.now))
        for score, answer in [told]
    ]
    best = max((score for score, _ in found), default=0)
    likeliest = [answer for score, answer in found if score == best]
    return likeliest[0] if likeliest and (best or len(likeliest) == 1) else None


def column_sum(
    what: str, words: Iterable[str], period: Period | None, passages: PassageStore, call: CallContext
) -> HomeAnswer | None:
    """Sum the column that is called as what is asked for, over the rows that hold what the table knows of the words and
    whose days lie in the period; None where no table has one. Doubtful where no part of the table says a word."""
    said = {key_of(word.casefold()) for word in words}
    found: list[tuple[set[str], list[tuple[float, Witness]]]] = []
    for table in tables_of(passages):
        if (k := _called(what, table)) is None:
            continue
        filters = said & table.said_in_cells([k])
        if rows := _numbers_in(k, table, filters, period, call.now):
            found.append((filters | said & keys_of(f"{table.passage.title} {' '.join(table.head)}"), rows))
    most = max((len(told) for told, _ in found), default=0)
    meant = [(told, rows) for told, rows in found if len(told) == most]
    if not meant:
        return None
    rows = [row for _, of_table in meant for row in of_table]
    total, witnesses = sum(value for value, _ in rows), tuple(witness for _, witness in rows)
    chance = 1.0 if all(said <= told for told, _ in meant) else DOUBTED
    return HomeAnswer("number", f"{round(total, 4):g} {what}", "", witnesses, chance)


def _called(what: str, table: Table) -> int | None:
    """Return the first column of numbers with all words of a name; None where none has them."""
    return next(
        (
            k
            for k, name in enumerate(table.head)
            if keys_of(what) <= keys_of(name) and all(_NUMBER.fullmatch(cell) for cell in table.column(k) if cell)
        ),
        None,
    )


def _numbers_in(
    k: int, table: Table, filters: set[str], period: Period | None, now: dt.datetime
) -> list[tuple[float, Witness]]:
    """Return the numbers of a column with their rows: of those that hold all filters and whose day is in the period."""
    one = table.passage
    return [
        (number_in(row[k]), Witness(one.record, where_of(one), " | ".join(row), one.source, at))
        for row in table.rows
        if filters <= keys_of(" ".join(row)) and _NUMBER.fullmatch(row[k])
        for at in [row_day(row, now) or one.at]
        if period is None or (at is not None and is_of(one, at, period))
    ]


def row_day(row: Sequence[str], now: dt.datetime) -> dt.datetime | None:
    """Return the day that a row of a table names; None where it names none."""
    iso = _ISO.search(" ".join(row))
    with suppress(ValueError):
        if iso is not None:
            return dt.datetime(int(iso[1]), int(iso[2]), int(iso[3]), tzinfo=now.tzinfo)
    dated = next((cell for cell in row if _DATED.search(cell)), "")
    named = times_named(dated, now) if dated else ()
    return (named[0] if _YEAR.search(dated) else past_of(named[0], now)).start if named else None


def tables_of(passages: PassageStore) -> list[Table]:
    """Return the tables of the owner's documents and notes."""
    records = dict.fromkeys(one.record for one in passages.all(("document", "note")) if "|" in one.text)
    tables = []
    for record in records:
        pieces = passages.of_record(record)
        first = next(one for one in pieces if "|" in one.text)
        for table in tables_in("\n".join(one.text for one in pieces)):
            tables.append(Table(first, tuple(table.names()), tuple(table.texts())))
    return tables


def _told(
    asked: TableAsked, question: str, table: Table, period: Period | None, now: dt.datetime
) -> tuple[int, HomeAnswer] | None:
    """Return the answer that a table gives, and how many words of the question it speaks of."""
    rows = list(table.rows)
    typed: set[int] = set()
    if asked.direction:
        column = table.of_cells(_OF_IN | _OF_OUT)
        if column is None:
            return None
        wanted = _OF_IN if asked.direction == "in" else _OF_OUT
        rows, typed = [row for row in rows if row[column].casefold() in wanted], {column}
    if asked.state:
        column = _of_state(asked.state, table)
        if column is None:
            return None
        rows = [row for row in rows if row[column].casefold() in (_YES if asked.is_done else _NO)]
        typed.add(column)
    amounts = amount_column(table, typed)
    if asked.operation == "sum" and amounts is None:
        return None
    if period is not None:
        rows = [row for row in rows if (day := row_day(row, now)) is None or period.start <= day < period.end]
    words = keys_of(question) - _UNSAID
    cells = table.said_in_cells(typed | {amounts})
    of_title, of_head = keys_of(table.passage.title), keys_of(" ".join(table.head))
    filters = words & cells - of_title - of_head
    rows = [row for row in rows if filters <= keys_of(" ".join(row))]
    n_spoken = len(words & (of_title | of_head)) + len(filters) + (asked.state != "")
    if not rows or not (n_spoken or asked.direction):
        return None
    is_told = n_spoken > 0 and words <= of_title | of_head | filters
    return n_spoken, _answer(asked, question, table, rows, (amounts, typed), 1.0 if is_told else DOUBTED)


def _answer(
    asked: TableAsked,
    question: str,
    table: Table,
    rows: Sequence[tuple[str, ...]],
    columns: tuple[int | None, set[int]],
    chance: float,
) -> HomeAnswer:
    """Make the answer of rows.

    Args:
        columns: That of amounts, and those that say a direction or a state.
    """
    amounts, typed = columns
    one = table.passage
    witnesses = tuple(Witness(one.record, where_of(one), " | ".join(row), one.source, one.at) for row in rows)
    if asked.operation == "count":
        return HomeAnswer("number", str(len(rows)), "", witnesses, chance)
    if asked.operation == "list" or amounts is None:
        wanted = keys_of(question)
        named = next(
            (k for k, name in enumerate(table.head) if keys_of(name) & wanted and k not in typed | {amounts}), None
        )
        told = [row[named] if named is not None else ", ".join(row[:2]) for row in rows]
        return HomeAnswer("list", "; ".join(told[:N_SHOWN]), "", witnesses, chance)
    stated = [money_in(row[amounts]) for row in rows]
    currency = next((found[0][1] for found in stated if found), "")
    total = sum(number_in(row[amounts]) for row in rows)
    n = f" ({len(rows)} rows)" if len(rows) > 1 else ""
    return HomeAnswer("amount", money_text(total, currency) + n, "", witnesses, chance)


def _of_state(state: str, table: Table) -> int | None:
    """Return the column that says whether something is done: called so, with yes and no in it."""
    for k, name in enumerate(table.head):
        is_called = state in keys_of(name) or (state in _OF_PAYMENT and bool(keys_of(name) & _OF_PAYMENT))
        if is_called and {cell.casefold() for cell in table.column(k)} <= _YES | _NO:
            return k
    return None


def amount_column(table: Table, typed: set[int]) -> int | None:
    """Return the column of amounts: one of numbers that is called so, else the last of numbers with cents."""
    numeric = [
        k
        for k in range(len(table.head))
        if k not in typed and all(_NUMBER.fullmatch(cell) for cell in table.column(k) if cell)
    ]
    called = [k for k in numeric if _AMOUNT.search(table.head[k])]
    with_cents = [k for k in numeric if any(re.search(r"\.\d\d\b|[€£$]", cell) for cell in table.column(k))]
    return next(iter(called or with_cents[-1:]), None)


def number_in(cell: str) -> float:
    """Return the number that a cell holds; 0 without one."""
    digits = re.sub(r"[^\d.-]", "", cell)
    return float(digits) if digits.strip(".-") else 0.0
