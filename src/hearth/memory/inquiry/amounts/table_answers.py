"""Answers questions over the rows of a table: which, how many, their sum or mean, the largest, the last, in order, by
group.

A row is meant where it holds the words of the question that stand in cells, where its column of income and expenses
says the direction that is asked for, where its column of yes and no says that something is done or not, where its
amount lies within the bound, and where its day lies in the period named. Of several tables the one counts that most of
the question speaks of. A list of names with their values is a table, too; a row of totals is no row.

Covered: one table, its rows told with the answer by their names. A word of the question that no part of the table says
makes a sum, a count or a state doubtful; what only its form asks of a table is not answered then. Doubtful, too, is a
column that may not be meant, and a period where no row has a day.
Not covered: what the owner spent over mails and tables together (`record_answers`), several tables, amounts of several
currencies.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache

from hearth import patterns as re
from hearth.language.text.tokens import word_set
from hearth.memory.inquiry.amounts.table_questions import OF_SUMS, UNSAID, Direction, TableAsked, asked_of_table
from hearth.memory.inquiry.answer_telling import is_of, past_of, witness_of
from hearth.memory.inquiry.money import money_in, money_text, number_in
from hearth.memory.passages.passage_store import Passage, PassageStore
from hearth.memory.passages.text_tables import lists_in, tables_in
from hearth.memory.search.time_mentions import Period, times_named, without_times
from hearth.memory.search.word_forms import key_of, key_set, keys_of
from hearth.protocols import CallContext, HomeAnswer, ValueKind, Witness
from hearth.tools.memory import DOUBTED, N_SHOWN

_OF_IN = word_set("income in credit received earning earnings receipt receipts revenue takings +")
_OF_OUT = word_set("expense expenses out debit spending spent cost costs payment expenditure -")
_YES = word_set("yes y x true done paid ✓ ✔ settled sent")
_NO = frozenset(
    (
        *("no", "n", "", "-", "–", "false", "open", "unpaid", "outstanding", "overdue", "due", "not yet", "pending"),
        *("not paid", "not paid yet", "still to pay"),
    )
)
_PAID = key_of("paid")
_OF_PAYMENT = frozenset(map(key_of, ("paid", "settled", "received", "status")))
_AMOUNT = re.compile(
    r"\b(?:amount|sum|total|price|cost|owes?|owed|fee|due|value|paid in|eur|gbp|usd|euros?|pounds?)\b|[€£$]", re.I
)
_CALLED_IN = re.compile(r"\b(?:income|earn\w*|takings|taken|took|revenue|receipts|sales|sold|profit)\b", re.I)
_CALLED_OUT = re.compile(r"\b(?:expens\w+|costs?|fees?|spent|spending|outgoings|charges?)\b", re.I)
_NUMBER = re.compile(
    r"-?(?:[€£$]\s?|(?:EUR|GBP|USD|CHF)\s)?(?:\d[\d,]*(?:\.\d+)?|\d[\d.]*,\d{1,2})(?:\s?(?:€|£|\$|EUR|GBP|USD|CHF|kr|euros?))?"
)
_NAMES_ROWS = key_set("no nr number id year ref reference phone code postcode")
"""Words of heads whose numbers only name their rows."""
_OF_TOTALS = re.compile(r"(?:(?:grand|sub)[ -]?)?totals?|sum|altogether|balance", re.I)
_DATED = re.compile(r"\b\d{1,2}(?:st|nd|rd|th)? (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)", re.I)
_YEAR = re.compile(r"(?:19|20)\d\d")
_ISO = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_OF_TIME = frozenset({"month", "year"})
_BUYERS = keys_of("buyer customer client payer")
_N_KEPT = 5000
"""Texts whose tables are kept from one question to the next."""
_N_BESIDE = 5
"""Most rows that are told behind a number that was worked out from them."""
Row = tuple[str, ...]
DatedRow = tuple[Row, dt.datetime | None]
"""A row with the day that it names, where it names one."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the owner's with its heads."""

    passage: Passage
    head: Row
    rows: tuple[Row, ...]

    def column(self, k: int) -> list[str]:
        return [row[k] for row in self.rows]

    def of_cells(self, known: frozenset[str]) -> int | None:
        """Return the column all of whose cells are known words; None where none is."""
        columns = range(len(self.head))
        return next((k for k in columns if {cell.casefold() for cell in self.column(k)} <= known), None)

    def said_in_cells(self, but: Collection[int | None] = ()) -> set[str]:
        """Return the keys of the words of all cells, but of those in some columns."""
        return {key for row in self.rows for k, cell in enumerate(row) if k not in but for key in keys_of(cell)}

    def numbers(self) -> list[int]:
        """Return the columns that hold numbers alone; none whose numbers only name their rows."""
        columns = []
        for k, name in enumerate(self.head):
            cells = [cell for cell in self.column(k) if cell]
            if cells and all(_NUMBER.fullmatch(cell) for cell in cells) and not keys_of(name) & _NAMES_ROWS:
                columns.append(k)
        return columns

    def names(self) -> list[int]:
        """Return the columns of words: neither numbers nor days."""
        numbers = self.numbers()
        return [
            k
            for k in range(len(self.head))
            if k not in numbers
            and any(re.search(r"[^\W\d_]", cell) and not _DATED.match(cell) for cell in self.column(k))
        ]

    def days(self) -> int | None:
        """Return the column of days; None where there is none."""
        columns = range(len(self.head))
        return next(
            (k for k in columns if all(_ISO.match(cell) or _DATED.match(cell) for cell in self.column(k))), None
        )

    def currency(self, k: int) -> str | None:
        """Return the currency of a column's amounts, nothing where none says one; None where they differ."""
        said = {found[0][1] for cell in self.column(k) if (found := money_in(cell))}
        return next(iter(said), "") if len(said) <= 1 else None


def tables_of(passages: PassageStore) -> list[Table]:
    """Return the tables of the owner's documents and notes, and the notes' lists of names with values."""
    tables = []
    held = passages.all(("document", "note"))
    for record in dict.fromkeys(one.record for one in held if "|" in one.text or one.kind == "note"):
        pieces = passages.of_record(record)
        text = "\n".join(one.text for one in pieces)
        first = next((one for one in pieces if "|" in one.text), pieces[0])
        tables += [Table(first, head, rows) for head, rows in _read(text, has_lists=first.kind == "note")]
    return tables


@lru_cache(maxsize=_N_KEPT)
def _read(text: str, *, has_lists: bool) -> tuple[tuple[Row, tuple[Row, ...]], ...]:
    """Return the heads and the rows of a text's tables, without rows of totals."""
    found = []
    for table in (*tables_in(text), *(lists_in(text) if has_lists else ())):
        rows = tuple(row for row in table.texts() if not _OF_TOTALS.fullmatch(next(filter(None, row), "")))
        if rows:
            found.append((tuple(table.names()), rows))
    return tuple(found)


def row_day(row: Sequence[str], now: dt.datetime) -> dt.datetime | None:
    """Return the day that a row of a table names; None where it names none."""
    iso = _ISO.search(" ".join(row))
    with suppress(ValueError):
        if iso is not None:
            return dt.datetime(int(iso[1]), int(iso[2]), int(iso[3]), tzinfo=now.tzinfo)
    dated = next((cell for cell in row if _DATED.search(cell)), "")
    named = times_named(dated, now) if dated else ()
    return (named[0] if _YEAR.search(dated) else past_of(named[0], now)).start if named else None


# ── The column and the rows that are meant ────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Spoken:
    """What a table says of the words of a question that is about it."""

    filters: set[str]
    """Words that its cells alone say: a row that counts holds all of them."""
    unknown: set[str]
    """Words that no part of it says."""
    n: int
    """How many words it speaks of."""

    @classmethod
    def of(cls, asked: TableAsked, table: Table, but: Collection[int | None], group: int | None) -> _Spoken | None:
        """Tell the words apart; None where the question is about something else.

        Args:
            but: The columns whose cells are no words of a matter: those of amounts, directions and states.
            group: The column of the groups that are asked for, where the table has one.
        """
        about = keys_of(f"{table.passage.title} {' '.join(table.head)}")
        said = keys_of(asked.words)
        if asked.is_exact and not said & about:
            return None  # what its cells alone say is no subject
        words = said - UNSAID - (OF_SUMS if asked.group else set())
        beyond = words - about
        filters = beyond & table.said_in_cells(but) if beyond else set()
        unknown = beyond - filters - (OF_SUMS if asked.is_exact else set())
        subject = said if asked.is_exact else words | keys_of(asked.group or " ")
        n = len(subject & about) + len(filters) + (asked.state != "")
        is_known = not unknown if asked.is_exact or asked.group else not words or unknown != words
        is_about = bool(n or asked.direction or group is not None)
        return cls(filters, unknown, n) if is_known and is_about else None

    def kept(self, rows: Iterable[DatedRow], period: Period | None) -> list[DatedRow]:
        """Return the rows that hold the words that cells alone say, and whose days lie in a period."""
        return [
            (row, day)
            for row, day in rows
            if self.filters <= keys_of(" ".join(row)) and (period is None or period.holds(day))
        ]


@dataclass(frozen=True, slots=True)
class _Meant:
    """What a table has of what is asked."""

    asked: TableAsked
    table: Table
    rows: Sequence[DatedRow]
    """Those that count."""
    amounts: int | None
    """The column that is reckoned with."""
    currency: str
    typed: set[int]
    """The columns that say a direction or a state."""
    group: int | None
    n_spoken: int
    """How many words of the question it speaks of."""
    is_sure: bool

    @classmethod
    def of(cls, asked: TableAsked, table: Table, period: Period | None, now: dt.datetime) -> _Meant | None:
        """Find the rows and columns that are meant; None where the table has no such."""
        of_state = _of_state(asked, table)
        reckoned = _reckoned(asked, table, of_state[1]) if of_state is not None else None
        if of_state is None or reckoned is None:
            return None
        (rows, typed), (amounts, is_clear) = of_state, reckoned
        group = _group_column(asked, table)
        spoken = _Spoken.of(asked, table, typed | {amounts}, group)
        if spoken is None:
            return None
        dated = [(row, row_day(row, now)) for row in rows]
        is_undated = not any(day for _, day in dated)
        needs_days = asked.is_by_day or (asked.group and (group is None or period is not None))
        if is_undated and needs_days:
            return None
        within = None if is_undated else period
        if not (kept := spoken.kept(dated, within)):
            return None
        is_told = not spoken.unknown and (spoken.n > 0 or group is not None)
        is_sure = is_clear and is_told and within is period
        currency = table.currency(amounts) if amounts is not None else ""
        return cls(asked, table, kept, amounts, currency or "", typed, group, spoken.n, is_sure)


def _of_state(asked: TableAsked, table: Table) -> tuple[list[Row], set[int]] | None:
    """Return the rows of the direction and the state that are asked for, and the columns that say them; None where the
    table says nothing of it."""
    rows, typed = list(table.rows), set[int]()
    if asked.direction:
        column = table.of_cells(_OF_IN | _OF_OUT)
        if column is None:
            return None
        wanted = _OF_IN if asked.direction == "in" else _OF_OUT
        rows, typed = [row for row in rows if row[column].casefold() in wanted], {column}
    is_paid = _PAID in keys_of(asked.by)  # "which client paid the most" is none of what is still to be paid
    if asked.state or is_paid:
        column = _state_column(asked.state or _PAID, table)
        if column is None:
            return (rows, typed) if is_paid else None
        rows = [row for row in rows if row[column].casefold() in (_YES if asked.is_done or is_paid else _NO)]
        typed.add(column)
    return rows, typed


def _state_column(state: str, table: Table) -> int | None:
    """Return the column that says whether something is done, with yes and no in it: it is called so, or, where nothing
    is called anything, the list is or its cells say it."""
    for k, name in enumerate(table.head):
        called = keys_of(name) if name else keys_of(f"{table.passage.title} {' '.join(table.column(k))}")
        is_called = state in called or (state in _OF_PAYMENT and bool(called & _OF_PAYMENT))
        if is_called and {cell.casefold() for cell in table.column(k)} <= _YES | _NO:
            return k
    return None


def _reckoned(asked: TableAsked, table: Table, typed: set[int]) -> tuple[int | None, bool] | None:
    """Return the column that is reckoned with, and whether it is surely meant; None where it is needed, and none is
    meant, or several are, or its amounts are of several currencies."""
    is_needed = asked.bound is not None or bool(asked.group) or asked.operation in ("sum", "mean", "most", "least")
    found = _column_meant(asked, table, typed)
    if not is_needed or asked.is_by_day:
        return (found[0] if found is not None and found[1] else None), True
    currency = table.currency(found[0]) if found is not None else None
    if found is None or currency is None:
        return None
    is_other = asked.bound is not None and bool(asked.bound.currency and currency) and asked.bound.currency != currency
    return None if is_other else found


def _column_meant(asked: TableAsked, table: Table, typed: set[int]) -> tuple[int, bool] | None:
    """Return the column of numbers that the words of a question name; else, of income no column of costs."""
    numeric, wanted = [k for k in table.numbers() if k not in typed], keys_of(f"{asked.by} {asked.words}")
    named = [k for k in numeric if keys_of(table.head[k]) & wanted]
    if len(named) > 1:
        named = [k for k in named if keys_of(table.head[k]) & keys_of(asked.by)]
    if len(named) == 1:
        return named[0], True
    forms: dict[Direction, re.Pattern[str]] = {"in": _CALLED_IN, "out": _CALLED_OUT}
    if asked.sense:
        own, other = forms[asked.sense], forms["out" if asked.sense == "in" else "in"]
        of_sense = [k for k in numeric if own.search(table.head[k])]
        if len(of_sense) == 1:
            return of_sense[0], True
        typed = typed | {k for k in numeric if other.search(table.head[k])}
        numeric = [k for k in numeric if k not in typed]
    column = amount_column(table, typed)
    if column is None and len(numeric) == 1:
        return numeric[0], False
    called = [k for k in numeric if any(f.search(table.head[k]) for f in (_AMOUNT, *forms.values()))]
    is_clear = len(called) <= 1
    return (column, is_clear) if column is not None and (is_clear or not asked.is_exact) else None


def amount_column(table: Table, typed: Collection[int]) -> int | None:
    """Return the column of amounts: one of numbers that is called so, else the last of numbers with cents."""
    numeric = [k for k in table.numbers() if k not in typed]
    called = [k for k in numeric if _AMOUNT.search(table.head[k])]
    with_cents = [k for k in numeric if any(re.search(r"[.,]\d\d\b|[€£$]", cell) for cell in table.column(k))]
    return next(iter(called or with_cents[-1:]), None)


def _group_column(asked: TableAsked, table: Table) -> int | None:
    """Return the column that bears the name of the groups; a buyer may be called otherwise."""
    if not asked.group:
        return None
    wanted = _BUYERS if asked.group == "buyer" and asked.operation != "sum" else keys_of(asked.group)
    return next((k for k, name in enumerate(table.head) if keys_of(name) & wanted), None)


# ── Answers ───────────────────────────────────────────────────────────────────────────────────────────────


def answer_from_tables(question: str, passages: PassageStore, call: CallContext) -> HomeAnswer | None:
    """Work out the answer over the rows of a table; None if no such thing is asked, or no table has what is asked."""
    asked = asked_of_table(question)
    if asked is None:
        return None
    named = times_named(question, call.now, str(call.settings.get("owner", {}).get("country") or ""))
    period = past_of(named[0], call.now) if named else None
    asked = replace(asked, words=without_times(asked.words, call.now)) if named else asked
    found = [
        (meant.n_spoken, told)
        for one in tables_of(passages)
        if (meant := _Meant.of(asked, one, period, call.now)) is not None and (told := _told(meant)) is not None
    ]
    best = max((score for score, _ in found), default=0)
    likeliest = [answer for score, answer in found if score == best]
    if len(likeliest) == 1:
        return likeliest[0]
    # Of two tables that speak alike of what is asked, neither is surely meant.
    is_told = bool(likeliest and best) and not asked.is_exact
    return replace(likeliest[0], chance=min(DOUBTED, likeliest[0].chance)) if is_told else None


def _told(meant: _Meant) -> HomeAnswer | None:
    """Work out what is asked of the rows; None where the groups have no amounts."""
    asked, k, rows = meant.asked, meant.amounts, meant.rows
    if asked.group:
        return _by_group(meant)
    if asked.bound is not None and k is not None:
        rows = [(row, day) for row, day in rows if row[k] and asked.bound.holds(number_in(row[k]))]
        if not rows:
            return _made(meant, "text", f"None of {len(meant.rows)}", meant.rows)
    match asked.operation:
        case "count":
            return _made(meant, "number", f"{len(rows)} ({_named(meant, rows)})", rows)
        case "list":
            return _made(meant, "list", "; ".join(_told_rows(meant, rows)), rows)
        case "sum" | "mean" if k is not None:
            return _reckoned_answer(meant, [(row, day) for row, day in rows if row[k]], k)
        case _:
            return _in_order(meant, rows)


def _reckoned_answer(meant: _Meant, rows: Sequence[DatedRow], k: int) -> HomeAnswer | None:
    """Tell the sum or the mean of a column, and the rows it is of."""
    if not rows:
        return None
    is_mean = meant.asked.operation == "mean"
    value = sum(number_in(row[k]) for row, _ in rows) / (len(rows) if is_mean else 1)
    how = f"the mean of {len(rows)}" if is_mean else f"{len(rows)} rows"
    beside = f" ({how}: {_named(meant, rows)})" if len(rows) > 1 else ""
    return _made(meant, "amount" if meant.currency or not is_mean else "number", _amount(meant, value) + beside, rows)


def _amount(meant: _Meant, value: float) -> str:
    return money_text(value, meant.currency)


def _in_order(meant: _Meant, rows: Sequence[DatedRow]) -> HomeAnswer | None:
    """Tell the first rows of an order by days or amounts, and those that are level with the last of them."""
    asked, k = meant.asked, meant.amounts
    ranked: list[tuple[float, DatedRow]] = []
    for row, day in rows:
        if asked.is_by_day and day is not None:
            ranked.append((day.timestamp(), (row, day)))
        elif not asked.is_by_day and k is not None and row[k]:
            ranked.append((number_in(row[k]), (row, day)))
    ranked.sort(key=lambda one: one[0], reverse=asked.operation in ("most", "last"))
    if not ranked:
        return None
    last = ranked[min(asked.n, len(ranked)) - 1][0]
    n = max(place for place, one in enumerate(ranked, 1) if one[0] == last)
    told = _told_rows(meant, [one for _, one in ranked[:n]])
    # The rows that are told stand first among those that were compared.
    ordered = [one for _, one in ranked]
    if asked.n < N_SHOWN:
        return _made(meant, "list" if n > 1 else "text", "; ".join(told), ordered)
    more = [f"and {len(ranked) - n} more"] if len(ranked) > n else []
    return _made(meant, "list", "\n".join([*told, *more]), ordered)


def _by_group(meant: _Meant) -> HomeAnswer | None:
    """Tell the sums of the rows by their groups; of the one that is asked for first."""
    asked, amounts = meant.asked, meant.amounts
    if amounts is None or (meant.group is None and (asked.group not in _OF_TIME or not meant.n_spoken)):
        return None
    if meant.group == amounts:
        return None
    sums: dict[str, float] = defaultdict(float)
    n_rows, counted = Counter[str](), []
    for row, day in meant.rows:
        group = row[meant.group] if meant.group is not None else _time_of(asked.group, day)
        if group and row[amounts].strip():
            sums[group] += number_in(row[amounts])
            n_rows[group] += 1
            counted.append((row, day))
    told = {
        group: _amount(meant, total) + (f" ({n_rows[group]} rows)" if n_rows[group] > 1 else "")
        for group, total in sums.items()
    }
    if not told:
        return None
    if asked.operation == "sum":
        return _made(meant, "list", "\n".join(f"{group}: {total}" for group, total in told.items()), counted)
    ranked = sorted(sums, key=sums.__getitem__, reverse=asked.operation == "most")
    others = ", ".join(f"{group} {told[group]}" for group in ranked[1:4])
    value = f"{ranked[0]}, {told[ranked[0]]}" + (f"; then {others}" if others else "")
    return _made(meant, "list", value, counted)


def _time_of(key: str, day: dt.datetime | None) -> str:
    return "" if day is None else f"{day:%B %Y}" if key == "month" else f"{day.year}"


def _named(meant: _Meant, rows: Sequence[DatedRow]) -> str:
    """Tell the first rows behind a number that was worked out from them."""
    more = [f"and {len(rows) - _N_BESIDE} more"] if len(rows) > _N_BESIDE else []
    return "; ".join([*_told_rows(meant, rows[:_N_BESIDE]), *more])


def _told_rows(meant: _Meant, rows: Sequence[DatedRow]) -> list[str]:
    """Tell rows by their names: what the question calls them, else the first column of words; with their days, where
    two are called alike, and their amounts, where there are any."""
    table, k, wanted = meant.table, meant.amounts, keys_of(meant.asked.words)
    names = [one for one in table.names() if one not in meant.typed] or [0]
    label = next((one for one in names if keys_of(table.head[one]) & wanted), names[0])
    is_alike = len(set(table.column(label))) < len(table.rows)
    beside = [table.days()] if is_alike or meant.asked.is_by_day else []
    if meant.asked.state and meant.asked.operation == "list":
        k = None
    told = []
    for row, _ in rows[:N_SHOWN]:
        name = ", ".join(row[one] for one in (label, *beside) if one is not None)
        told.append(f"{name}: {row[k]}" if k is not None and row[k] and k != label else name)
    return told


def _made(meant: _Meant, kind: ValueKind, value: str, rows: Iterable[DatedRow]) -> HomeAnswer:
    """Make the answer of rows, which are quoted with their heads."""
    one = meant.table.passage
    witnesses = tuple(witness_of(one, _quote(meant.table.head, row)) for row, _ in rows)
    return HomeAnswer(kind, value, "", witnesses, 1.0 if meant.is_sure else DOUBTED)


def _quote(head: Row, row: Row) -> str:
    return " | ".join(f"{name}: {cell}" if name else cell for name, cell in zip(head, row, strict=True))


# ── A column by its name ──────────────────────────────────────────────────────────────────────────────────


def column_sum(
    what: str, words: Iterable[str], period: Period | None, passages: PassageStore, call: CallContext
) -> HomeAnswer | None:
    """Sum the column that is called as what is asked for, over the rows that hold what the table knows of the words and
    whose days lie in the period; None where no table has one. Doubtful where no part of the table says a word."""
    said = {key_of(word.casefold()) for word in words}
    found: list[tuple[set[str], list[tuple[float, Witness]]]] = []
    for table in tables_of(passages):
        if (k := next((k for k in table.numbers() if keys_of(what) <= keys_of(table.head[k])), None)) is None:
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


def _numbers_in(
    k: int, table: Table, filters: set[str], period: Period | None, now: dt.datetime
) -> list[tuple[float, Witness]]:
    """Return the numbers of a column with their rows: of those that hold all filters and whose day is in the period."""
    one = table.passage
    return [
        (number_in(row[k]), replace(witness_of(one, _quote(table.head, row)), at=at))
        for row in table.rows
        if filters <= keys_of(" ".join(row)) and row[k]
        for at in [row_day(row, now) or one.at]
        if period is None or (at is not None and is_of(one, at, period))
    ]
