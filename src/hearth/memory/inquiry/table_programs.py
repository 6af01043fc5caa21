"""Finds what a question asks of a table: a small program over its rows, by weights learnt from such questions.

A program chooses rows (all; those that hold a word of the question, or lie beyond a number that it says; those with a
tick or without one; those with or without anything in a column) and makes one thing of them: a cell, a list, a count, a
sum, a mean, an extreme or the name of its row, a difference, the days between, a sum of products, yes or no. Every
small program is made and run; a log-linear model of what the question says beside what a program uses gives each its
probability (Pasupat and Liang 2015, "Compositional semantic parsing on semi-structured tables",
https://arxiv.org/abs/1508.00305). One of them says that the table does not tell. The weights
(`data/table_programs.npz`) are made by `training.table_programs_train`.

Covered: one table of at most `MOST_ROWS` rows, two conditions on rows, a bound, the days and months that cells write.
Not covered: several tables, shares in per cent, rows that follow one another, conversions of units.
"""

from __future__ import annotations

import datetime as dt
import functools
import itertools
import math
import operator
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from importlib.resources import files
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from hearth import patterns as re
from hearth.memory.search.collecting import Table
from hearth.memory.search.search_words import STOP_WORDS, keys_of

FILE = "table_programs.npz"
MOST_ROWS = 200
_MOST_COLUMNS = 12
_MOST_SINGLE = 80
"""Most conditions that are tried, those that use most of the question first."""
_MOST_SAID = 12
"""Most different words of a question by which one column's cells are told apart."""
LONGEST_QUESTION = 300
_MOST_PAIRS = 24
"""Most pairs of conditions that are tried together."""
_MOST_COMPARED = 4
"""Most columns of numbers that are compared with each other."""
_MOST_LIMITS = 3
_MOST_LISTED = 12
"""Most rows of which all are told as a list."""
_MOST_RANKED = 30
"""Most rows that are told in order."""
_MOST_PROGRAMS = 4000
N_CELLS = 1 << 13
"""Cells of the sketch of a question's words beside an operation, a power of two."""
N_PAIRS = 1 << 14
"""Cells of the sketch of a question's words beside a column's, a power of two."""
ROLES = ("told", "reckoned", "orders", "conditions", "passed over")
"""What a program uses a column for."""

# fmt: off
Operation = Literal[
    "cell", "list", "count", "sum", "mean", "max", "min", "argmax", "argmin", "first", "last", "difference", "row sum",
    "columns apart", "days apart", "product", "mode", "ranked", "ranked up", "yesno", "nothing",
]
Selection = Literal[
    "all", "said", "said wholly", "either", "not said", "above", "from", "below", "to", "more", "ticked", "unticked",
    "filled", "empty", "two", "no such", "nothing",
]
# fmt: on
ColumnKind = Literal["number", "date", "mark", "text"]
OPERATIONS: tuple[Operation, ...] = get_args(Operation)
SELECTIONS: tuple[Selection, ...] = get_args(Selection)
_KINDS: tuple[ColumnKind, ...] = get_args(ColumnKind)
N_LABELS = len(OPERATIONS) * len(_KINDS)

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NUMBER = re.compile(
    r"\(?[-−+]?(?P<before>[€£$¥₹]|[A-Z]{3}|Rs\.?|R|kr)?\s?[-−]?"
    r"(?P<n>\d{1,3}(?:[, ]\d{3})+(?:[.,]\d+)?|\d{1,3}(?:\.\d{3})+,\d+|\d+(?:[.,]\d+)?)\)?"
    r"\s?(?P<unit>%|[^\W\d_]{1,8}\.?|[€£$¥₹])?-?"
)
_DAY_NAMES = re.compile(
    r"\b(?:(?P<weekday>mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?s?|(?P<month>jan(?:uary)?|feb(?:ruary)?"
    r"|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?))\b",
    re.I,
)
_DAY_SAID = re.compile(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th)\b|\b(\d{{1,2}}) (?=(?:{'|'.join(_MONTHS)}))"
    rf"|\b(?:{'|'.join(_MONTHS)})[a-z]* (\d{{1,2}})\b(?![.,:/-]\d)",
    re.I,
)
_MINUS = re.compile(r"\(|[-−]|[^\d]{1,4}[-−]|.*\d[^\d]?-\Z")
_MOST_DIGITS = 24
_SIGN = re.compile(r"[€£$¥₹]|\b[A-Z]{3}\b")
_NUMBERS = re.compile(r"\d+(?:[.,:/-]\d+)*")
_IN_QUESTION = re.compile(r"(?<![\w.,])[€£$¥₹]?\d+(?:[.,]\d+)*(?![\w%]|[.,]\d)")
_MONTH = re.compile(rf"\b(?P<m>{'|'.join(_MONTHS)})[a-z]*\b", re.I)
_ISO = re.compile(r"\b(?P<y>\d{4})-(?P<m>\d\d)(?:-(?P<d>\d\d))?\b")
_SLASHED = re.compile(
    r"\b(?P<d>\d{1,2})(?:/(?P<m>\d{1,2})(?:/(?P<y>\d{2,4}))?|\.(?P<m2>\d{1,2})\.(?P<y2>\d{2,4})?)(?!\d)"
)
_DAY, _YEAR = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)?\b"), re.compile(r"\b((?:1[5-9]|20)\d\d)\b")
_YES = frozenset({"yes", "y", "x", "true", "done", "paid", "✓", "✔", "settled", "ok", "sent", "returned", "1"})
_NO = frozenset({"no", "n", "", "-", "–", "false", "open", "unpaid", "not yet", "pending", "0"})
_ORDINARY = 0.6
"""Share of a column's filled cells that make its kind."""
_ASKING = frozenset(
    {"who", "where", "when", "what", "how", "have", "had", "out", "in", "off", "by", "for", "from", "to", "on"}
)
"""Small words that name columns."""
_BLANK = " -–"
_NO_LEAP_YEAR = 2027
_UNSAID = STOP_WORDS | {"st", "nd", "rd", "th"}
_BEYOND: dict[Selection, Callable[[float, float], bool]] = {
    "above": operator.gt,
    "from": operator.ge,
    "below": operator.lt,
    "to": operator.le,
}
_TOTALS = re.compile(
    r"(?:(?:grand|sub)[ -]?)?totals?\b"
    r"|(?:sum|sum total|altogether|all together|in all|balance(?: due| carried.*)?|gesamt)\Z",
    re.I,
)
"""Begins a row of totals."""
_RULE = re.compile(r"[-:= ]*")

Floats = NDArray[np.float32]


# ── The table ─────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Column:
    """A column with what its cells say."""

    name: str
    cells: tuple[str, ...]
    kind: ColumnKind
    values: tuple[float | None, ...]
    """Of each cell its number, the ordinal of its day, or 1 and 0 for a tick and none; None: it says no such thing."""
    keys: tuple[frozenset[str], ...]
    """Of each cell its words."""
    named: frozenset[str]
    """Words of its name."""
    units: frozenset[str]
    """Currencies and units of its numbers: of two or more nothing is reckoned together."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table's columns; rows of totals are none of its rows."""

    columns: tuple[Column, ...]
    n_rows: int
    titled: frozenset[str]
    """Words of what the table is called."""

    @classmethod
    def of(cls, table: Table, title: str = "") -> Grid | None:
        """Type the columns of a table; None of one with fewer than two rows."""
        rows = [tuple(row) for row in table.texts() if not _is_beside(row)][:MOST_ROWS]
        if len(rows) < 2:
            return None
        names = table.names()[:_MOST_COLUMNS]
        columns = tuple(_column(name, tuple(row[k] for row in rows)) for k, name in enumerate(names))
        if any(map(_is_named_by_value, columns)):  # the table has no heads
            rows = [tuple(names), *rows]
            columns = tuple(_column("", tuple(row[k] for row in rows)) for k in range(len(names)))
        return cls(columns, len(rows), frozenset(keys_of(title)))


def _is_named_by_value(column: Column) -> bool:
    """Return whether what stands at the head of a column is one of its values: a number, unless a year, or a day."""
    if column.kind == "number":
        return number_of(column.name) is not None and not _YEAR.fullmatch(column.name.strip())
    return column.kind == "date" and day_of(column.name) is not None and re.search(r"\d", column.name) is not None


def _is_beside(row: Sequence[str]) -> bool:
    """Return whether a row is of totals, or only a rule below the heads."""
    return _TOTALS.match(next(filter(None, row), "").strip(" :")) is not None or all(map(_RULE.fullmatch, row))


def _column(name: str, cells: tuple[str, ...]) -> Column:
    kind, values = _typed(cells)
    keys = tuple(frozenset(words_of(cell)) for cell in cells)
    if kind == "date":
        keys = tuple(said | day_words(day) for said, day in zip(keys, values, strict=True))
    named = frozenset(words_of(name) | {*re.findall(r"[^\W\d_]+", name.casefold())} & _ASKING)
    units = frozenset(filter(None, map(unit_of, cells))) if kind == "number" else frozenset()
    return Column(name, cells, kind, values, keys, named, units)


def _typed(cells: Sequence[str]) -> tuple[ColumnKind, tuple[float | None, ...]]:
    """Return what kind of things cells say, with the number of each."""
    filled = sum(cell.strip() not in ("", "-", "–") for cell in cells) or 1
    low = [cell.strip().casefold() for cell in cells]
    if 1 < len({*low}) <= 4 and all(cell in _YES or cell in _NO for cell in low):
        return "mark", tuple(float(cell in _YES) for cell in low)
    is_american = any(int(found["m"] or 0) > 12 for cell in cells if (found := _SLASHED.fullmatch(cell.strip())))
    days = tuple(day_of(cell, is_american=is_american) for cell in cells)
    if sum(day is not None for day in days) >= _ORDINARY * filled:
        return "date", days
    numbers = tuple(number_of(cell) for cell in cells)
    if sum(number is not None for number in numbers) >= _ORDINARY * filled:
        return "number", numbers
    return "text", (None,) * len(cells)


def words_of(text: str) -> set[str]:
    """Return the keys of a text's words but the smallest; a number is one word."""
    words = {key for key in keys_of(_NUMBERS.sub(" ", text)) if key not in _UNSAID}
    words |= {found.group().replace(",", "") for found in _NUMBERS.finditer(text)}
    for found in _DAY_NAMES.finditer(text):
        words = words - keys_of(found.group()) | {f"{found.lastgroup} {found.group()[:3].casefold()}"}
    days = {day for found in _DAY_SAID.finditer(text) for day in found.groups() if day}
    return words - days | {f"day {int(day)}" for day in days}


def number_of(cell: str) -> float | None:
    """Return the number a cell is, with its unit or currency; None of another."""
    found = _NUMBER.fullmatch(cell.strip())
    if found is None or len(found["n"]) > _MOST_DIGITS:
        return None
    digits, is_money = found["n"].replace(" ", ""), _SIGN.search(cell) is not None
    if is_money or "," in digits:
        digits = re.sub(r"\.(?=\d{3}(?:,|\Z))", "", digits)  # "€ 1.450"
    digits = re.sub(r",(?=\d{3}\b)", "", digits).replace(",", ".")
    value = float(digits)
    return -value if _MINUS.match(cell.strip()) else value


def unit_of(cell: str) -> str:
    """Return the sign of a cell's currency, else its unit; empty: it has none, or is no number."""
    found = _NUMBER.fullmatch(cell.strip())
    return (found["before"] or found["unit"] or "").casefold().strip(".") if found is not None else ""


def day_words(day: float | None) -> frozenset[str]:
    """Return the words by which questions name a day: its month, its day of the month, its day of the week."""
    if day is None:
        return frozenset()
    year, month, place = _parts_of(day)
    said = {f"month {_MONTHS[month - 1]}", f"day {place}"}
    with suppress(ValueError):
        said.add(f"weekday {dt.date(year, month, place):%a}".casefold())
    return frozenset(said)


def _parts_of(day: float) -> tuple[int, int, int]:
    """Return the year, or 0, the month and the day of the month of an ordinal."""
    year, rest = divmod(int(day) - 1, 372)
    month, place = divmod(rest, 31)
    return year, month + 1, place + 1


def days_between(one: float | None, other: float | None) -> float | None:
    """Return how many days lie between two days' ordinals; years that neither says are taken as one without a leap day.

    None where a day is missing or there is no such day.
    """
    if one is None or other is None:
        return None
    (year, *first), (other_year, *second) = _parts_of(one), _parts_of(other)
    with suppress(ValueError):
        start = dt.date(year or other_year or _NO_LEAP_YEAR, *first)
        return float(abs((start - dt.date(other_year or year or _NO_LEAP_YEAR, *second)).days))
    return None


def day_of(cell: str, *, is_american: bool = False) -> float | None:
    """Return the ordinal of the day a cell writes, a month as its first, a year left out as none; None of another."""
    if len(cell) > 40:
        return None
    year = month = day = 0
    if (found := _ISO.search(cell)) or (found := _SLASHED.fullmatch(cell.strip())):
        said = {name: int(value or 0) for name, value in found.groupdict().items()}
        year, month, day = said["y"] or said.get("y2", 0), said["m"] or said.get("m2", 0), said["d"]
        year += 2000 if 0 < year < 100 else 0
        if is_american and "/" in cell:
            month, day = day, month
    elif found := _MONTH.search(cell):
        month = _MONTHS.index(found["m"].casefold()) + 1
        years = _YEAR.search(cell)
        year = int(years[1]) if years else 0
        rest = cell.replace(years[1], " ") if years else cell
        days = _DAY.search(rest)
        day = int(days[1]) if days else 0
    if not 1 <= month <= 12 or day > 31:
        return None
    return float(year * 372 + (month - 1) * 31 + max(day, 1))


# ── Choosing rows ─────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that a question may mean."""

    how: Selection
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    """The columns by which they are chosen."""
    said: frozenset[str]
    """The words of the question that choose them."""
    fullness: float
    """The share of the words of the cells that the question says."""


def selections_of(asked: frozenset[str], question: str, grid: Grid) -> list[Rows]:
    """Return every choice of rows with one condition, or two."""
    every = tuple(range(grid.n_rows))
    single = [
        one
        for one in (*_said(asked, grid), *_bounded(question, grid), *_marked(asked, grid), *_compared(asked, grid))
        if one.rows
    ]
    single = sorted(single, key=lambda rows: -len(rows.said))[:_MOST_SINGLE]
    pairs = [both for one, other in itertools.combinations(single, 2) if (both := _both(one, other)) is not None]
    pairs.sort(key=lambda rows: (-len(rows.said), len(rows.rows) or grid.n_rows))
    return [Rows("all", every, (), frozenset(), 1.0), *single, *pairs[:_MOST_PAIRS]]


def _both(one: Rows, other: Rows) -> Rows | None:
    """Return the rows that meet two conditions on different columns, maybe none; None where these are those of one."""
    if one.columns == other.columns or "not said" in (one.how, other.how):
        return None
    among = frozenset(other.rows)
    rows = tuple(r for r in one.rows if r in among)
    if len(rows) == min(len(one.rows), len(other.rows)) or (not rows and "said" not in (one.how, other.how)):
        return None
    return Rows(
        "two" if rows else "no such",
        rows,
        one.columns + other.columns,
        one.said | other.said,
        min(one.fullness, other.fullness),
    )


def _marked(asked: frozenset[str], grid: Grid) -> Iterator[Rows]:
    """Yield the rows with a tick and those without one, those with and those without anything in a column."""
    every = tuple(range(grid.n_rows))
    for k, column in enumerate(grid.columns):
        named = asked & column.named
        if column.kind == "mark":
            yield Rows("ticked", tuple(r for r in every if column.values[r] == 1.0), (k,), named, 1.0)
            yield Rows("unticked", tuple(r for r in every if column.values[r] == 0.0), (k,), named, 1.0)
        elif empty := tuple(r for r in every if not column.cells[r].strip(_BLANK)):
            yield Rows("empty", empty, (k,), named, 1.0)
            yield Rows("filled", tuple(r for r in every if r not in empty), (k,), named, 1.0)


def _compared(asked: frozenset[str], grid: Grid) -> Iterator[Rows]:
    """Yield the rows whose number in one column is larger than in another: what is not fully paid."""
    numeric = [(k, column) for k, column in enumerate(grid.columns) if column.kind == "number"][:_MOST_COMPARED]
    for (k, column), (other_k, other) in itertools.permutations(numeric, 2):
        pairs = zip(column.values, other.values, strict=True)
        rows = tuple(r for r, (value, less) in enumerate(pairs) if (value or 0) > (less or 0))
        yield Rows("more", rows, (k, other_k), asked & (column.named | other.named), 1.0)


def _said(asked: frozenset[str], grid: Grid) -> Iterator[Rows]:
    """Yield the rows whose cell in a column holds words of the question: all that it says of any cell there, or of one
    cell; and the rows that do not hold them."""
    for k, column in enumerate(grid.columns):
        by_words: dict[frozenset[str], list[int]] = defaultdict(list)
        for r, keys in enumerate(column.keys):
            if said := keys & asked:
                by_words[frozenset(said)].append(r)
        if not by_words:
            continue
        for said in sorted(by_words, key=lambda words: (-len(words), sorted(words)))[:_MOST_SAID]:
            rows = tuple(r for r, keys in enumerate(column.keys) if said <= keys)
            # A day has many names, of which one says it.
            fullness = 1.0 if column.kind == "date" else max(len(said) / len(column.keys[r]) for r in by_words[said])
            yield Rows("said", rows, (k,), said, fullness)
            wholly = tuple(r for r in rows if column.keys[r] == said)
            if 0 < len(wholly) < len(rows):
                yield Rows("said wholly", wholly, (k,), said, 1.0)
        if len(by_words) == 1:
            (said,) = by_words
            rest = tuple(r for r, keys in enumerate(column.keys) if not said <= keys)
            yield Rows("not said", rest, (k,), said, 1.0)
        else:
            several = tuple(sorted(r for rows in by_words.values() for r in rows))
            yield Rows("either", several, (k,), frozenset().union(*by_words), 0.5)


def _bounded(question: str, grid: Grid) -> Iterator[Rows]:
    """Yield the rows beyond a number or a day that the question says, on either side."""
    said = (number_of(found.group()) for found in _IN_QUESTION.finditer(question))
    numbers = {number for number in said if number is not None}
    near_month = (question[max(found.start() - 8, 0) : found.end() + 8] for found in _MONTH.finditer(question))
    days = {day for text in near_month if (day := day_of(text)) is not None}
    for k, column in enumerate(grid.columns):
        limits = numbers if column.kind == "number" else set[float]()
        if column.kind == "date":
            year = max(int(value or 0) // 372 for value in column.values)
            limits = {day + 372 * year if day < 372 else day for day in days}
        for limit in sorted(limits)[:_MOST_LIMITS]:
            for how, is_beyond in _BEYOND.items():
                values = enumerate(column.values)
                rows = tuple(r for r, value in values if value is not None and is_beyond(value, limit))
                yield Rows(how, rows, (k,), frozenset({f"{limit:g}"}), 1.0)


# ── Programs ──────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Program:
    """What is made of which rows."""

    operation: Operation
    chosen: Rows
    column: int
    """The column that is told or reckoned with; -1: none."""
    order: int
    """The column that orders the rows, or is taken from the other; -1: none."""
    value: tuple[str, ...] | float
    """What it comes to: the texts of cells, or a number."""

    @property
    def is_number(self) -> bool:
        return isinstance(self.value, float)


_NOTHING = Program("nothing", Rows("nothing", (), (), frozenset(), 0.0), -1, -1, ())


def programs_of(asked: frozenset[str], question: str, grid: Grid) -> list[Program]:
    """Make and run every small program; the first says that the table does not tell."""
    programs = [_NOTHING]
    for chosen in selections_of(asked, question, grid):
        programs += _programs_over(chosen, grid)
        if len(programs) > _MOST_PROGRAMS:
            break
    return programs


def _programs_over(chosen: Rows, grid: Grid) -> Iterator[Program]:
    rows, columns = chosen.rows, grid.columns
    yield Program("yesno", chosen, -1, -1, ("yes" if rows else "no",))
    if not rows:
        return
    if chosen.how in ("said", "said wholly", "two"):
        for k, column in enumerate(columns):
            if column.kind == "mark" and len(rows) == 1 and k not in chosen.columns:
                yield Program("yesno", chosen, k, -1, ("yes" if column.values[rows[0]] else "no",))
    yield Program("count", chosen, -1, -1, float(len(rows)))
    told = [k for k in range(len(columns)) if k not in chosen.columns or len(columns) == 1]
    for k in told:
        yield from _told_of(chosen, k, grid)
    for k in range(len(columns)):
        yield from _over_values(chosen, k, told, grid)
    yield from _across_columns(chosen, told, grid)


def _told_of(chosen: Rows, k: int, grid: Grid) -> Iterator[Program]:
    """Make what tells cells of one column."""
    column, n = grid.columns[k], len(chosen.rows)
    cells = [column.cells[r] for r in chosen.rows]
    if n == 1:
        if cells[0]:
            yield Program("cell", chosen, k, -1, (cells[0],))
        return
    if any(cells) and (n < grid.n_rows or grid.n_rows <= _MOST_LISTED):
        yield Program("list", chosen, k, -1, tuple(dict.fromkeys(filter(None, cells))))
    if cells[0]:
        yield Program("first", chosen, k, -1, (cells[0],))
    if cells[-1]:
        yield Program("last", chosen, k, -1, (cells[-1],))
    counts = Counter(filter(None, cells)).most_common(2) if column.kind == "text" else []
    if counts and counts[0][1] > 1 and (len(counts) < 2 or counts[0][1] > counts[1][1]):
        yield Program("mode", chosen, k, -1, (counts[0][0],))


def _across_columns(chosen: Rows, told: Sequence[int], grid: Grid) -> Iterator[Program]:
    """Make what reckons with several columns of the rows."""
    rows, columns = chosen.rows, grid.columns
    dated = [k for k in told if columns[k].kind == "date"][:_MOST_LIMITS] if len(rows) == 1 else []
    for k, other in itertools.combinations(dated, 2):
        if (days := days_between(columns[k].values[rows[0]], columns[other].values[rows[0]])) is not None:
            yield Program("days apart", chosen, k, other, days)
    numeric = [k for k in told if columns[k].kind == "number"]
    if chosen.how != "more":
        yield from _products(chosen, numeric[:_MOST_COMPARED], grid)
    if len(numeric) < 2 or len(frozenset().union(*(columns[k].units for k in numeric))) > 1:
        return
    if len(rows) == 1:
        values = [value for k in numeric if (value := columns[k].values[rows[0]]) is not None]
        yield Program("row sum", chosen, -1, -1, float(sum(values)))
    if chosen.how != "more":
        sums = [(sum(columns[k].values[r] or 0.0 for r in rows), k) for k in numeric[:_MOST_COMPARED]]
        for (a, k), (b, other) in itertools.combinations(sums, 2):
            if a != b:
                yield Program("columns apart", chosen, k, other, abs(a - b))


def _products(chosen: Rows, numeric: Sequence[int], grid: Grid) -> Iterator[Program]:
    """Make the sums of one column's numbers times another's, of which at most one is of money."""
    for k, other in itertools.combinations(numeric, 2):
        one, beside = grid.columns[k], grid.columns[other]
        if (_money_signs(one) and _money_signs(beside)) or max(len(one.units), len(beside.units)) > 1:
            continue
        pairs = ((one.values[r], beside.values[r]) for r in chosen.rows)
        if products := [a * b for a, b in pairs if a is not None and b is not None]:
            yield Program("product", chosen, k, other, float(sum(products)))


def _money_signs(column: Column) -> frozenset[str]:
    return frozenset(unit for unit in column.units if _SIGN.fullmatch(unit.upper()))


def _by_value_down(one: tuple[float, int]) -> tuple[float, int]:
    return -one[0], one[1]


def _over_values(chosen: Rows, k: int, told: Sequence[int], grid: Grid) -> Iterator[Program]:
    """Make what orders or reckons with the values of one column."""
    column = grid.columns[k]
    valued = [(value, r) for r in chosen.rows if (value := column.values[r]) is not None]
    if len(valued) == 1 and column.kind == "number" and k not in chosen.columns:
        yield Program("sum", chosen, k, -1, valued[0][0])
    if len(valued) < 2 or column.kind not in ("number", "date") or len(column.units) > 1:
        return
    highest, lowest = max(valued), min(valued)
    highest, lowest = (next(one for one in valued if one[0] == end[0]) for end in (highest, lowest))
    is_whole = len(valued) == 2 or chosen.how == "all"
    if column.kind == "number":
        values = [value for value, _ in valued]
        yield Program("sum", chosen, k, -1, float(sum(values)))
        yield Program("mean", chosen, k, -1, sum(values) / len(values))
        yield Program("max", chosen, k, -1, highest[0])
        yield Program("min", chosen, k, -1, lowest[0])
        if is_whole:
            yield Program("difference", chosen, k, -1, highest[0] - lowest[0])
    else:
        yield Program("max", chosen, k, -1, (column.cells[highest[1]],))
        yield Program("min", chosen, k, -1, (column.cells[lowest[1]],))
        if is_whole and (days := days_between(highest[0], lowest[0])) is not None:
            yield Program("days apart", chosen, k, -1, days)
    for j in told:
        if j != k:
            yield from _in_order(chosen, j, k, valued, grid)


def _in_order(chosen: Rows, j: int, k: int, valued: Sequence[tuple[float, int]], grid: Grid) -> Iterator[Program]:
    """Make what tells one column in the order of another's values."""
    cells = grid.columns[j].cells
    upwards = [r for _, r in sorted(valued)]
    downwards = [r for _, r in sorted(valued, key=_by_value_down)]
    if grid.columns[j].kind == "text" and len(valued) <= _MOST_RANKED and any(cells[r] for r in upwards):
        yield Program("ranked up", chosen, j, k, tuple(cells[r] for r in upwards if cells[r]))
        yield Program("ranked", chosen, j, k, tuple(cells[r] for r in downwards if cells[r]))
    if cells[downwards[0]]:
        yield Program("argmax", chosen, j, k, (cells[downwards[0]],))
    if cells[upwards[0]]:
        yield Program("argmin", chosen, j, k, (cells[upwards[0]],))


# ── What speaks for a program ─────────────────────────────────────────────────────────────────────────────

SIGNS = (
    *("nothing", "left out", "left out of cells", "left out of heads", "column named", "column fully", "only numbers"),
    *("order named", "fullness", "n said", "bounded", "one row", "all rows", "share of rows", "value said"),
    *("first words", "last column", "titled", "money", "two conditions", "no condition", "condition named"),
    *("beside condition", "order is money", "best column", "best order", "several", "near", "order near"),
    *("condition near", "number named", "less said"),
)
"""What is weighed of each program, beside the words of the question with its operation and its way to choose rows."""
_MONEY = re.compile(r"[€£$]|\b(?:eur|gbp|usd|price|cost|amount|total|paid|fee|sum|due|value)\b", re.I)


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a question means, beside the names of a table's columns."""

    question: Floats
    """Its sentence vector, shape [dim]."""
    near: Floats
    """How near it is to each column's name, in deviations from their mean, shape [columns]."""

    @classmethod
    def of(cls, question: Floats, heads: Floats) -> Meaning:
        """Compare a question with the names of columns.

        Args:
            question: Its sentence vector, shape [dim].
            heads: Those of the names, shape [columns, dim].
        """
        cosines = heads @ question
        return cls(question, np.asarray((cosines - cosines.mean()) / (cosines.std() + 0.05), dtype=np.float32))


@dataclass(frozen=True, slots=True)
class Weights:
    """The model: a weight for each sign by operation's group, and for each word beside an operation and a choice."""

    signs: Floats
    """Shape [operations, signs]."""
    words: Floats
    """Shape [labels, N_CELLS]."""
    choices: Floats
    """Shape [selections, N_CELLS]."""
    pairs: Floats
    """Shape [roles, N_PAIRS]: of a word of the question beside one of a column's."""
    meant: Floats
    """Shape [labels, dim]: of the question's meaning beside an operation."""
    meant_choices: Floats
    """Shape [selections, dim]: of the question's meaning beside a choice."""


@functools.cache
def shipped_weights() -> Weights:
    """Return the weights that ship."""
    with np.load(str(files("hearth.data") / FILE)) as kept:
        return Weights(*(kept[field.name].astype(np.float32) for field in fields(Weights)))


@dataclass(frozen=True, slots=True)
class Weighed:
    """The programs for a question with what speaks for each."""

    programs: list[Program]
    signs: Floats
    """Shape [programs, signs]."""
    operations: NDArray[np.int32]
    labels: NDArray[np.int32]
    choices: NDArray[np.int32]
    words: NDArray[np.int32]
    """Cells of the question's words."""
    pairs: list[NDArray[np.int32]]
    """Of each column the cells of the question's words beside its own."""
    uses: NDArray[np.float32]
    """How much a program uses a column in a role, shape [programs, roles, columns]."""
    meaning: Floats
    """The question's sentence vector, shape [dim]."""

    def scores(self, weights: Weights) -> Floats:
        """Return the log-odds of each program, shape [programs]."""
        of_words = weights.words[:, self.words].sum(axis=1) + weights.meant @ self.meaning
        of_choices = weights.choices[:, self.words].sum(axis=1) + weights.meant_choices @ self.meaning
        said: Floats = (self.signs * weights.signs[self.operations]).sum(axis=1)
        of_pairs = np.stack([weights.pairs[:, cells].sum(axis=1) for cells in self.pairs], axis=1)
        used: Floats = np.einsum("prc,rc->p", self.uses, of_pairs)
        scores: Floats = said + of_words[self.labels] + of_choices[self.choices] + used
        return scores


def weighed(question: str, grid: Grid, meaning: Meaning) -> Weighed:
    """Make the programs for a question and tell what speaks for each."""
    asked = frozenset(words_of(question))
    programs = programs_of(asked, question, grid)
    table = _Spoken(question, asked, grid, meaning.near)
    for one in programs:
        if one.chosen.how != "either":
            most = table.most_said[one.chosen.columns]
            table.most_said[one.chosen.columns] = max(most, len(one.chosen.said))
    signs = np.array([table.signs(one) for one in programs], dtype=np.float32)
    operations = np.array([OPERATIONS.index(one.operation) for one in programs], dtype=np.int32)
    kinds = np.array([_KINDS.index(_kind_of(one, grid)) for one in programs], dtype=np.int32)
    choices = np.array([SELECTIONS.index(one.chosen.how) for one in programs], dtype=np.int32)
    uses = np.zeros((len(programs), len(ROLES), len(grid.columns)), dtype=np.float32)
    numeric = [k for k, column in enumerate(grid.columns) if column.kind == "number"]
    for n, one in enumerate(programs):
        if one.column >= 0:
            uses[n, ROLES.index("reckoned" if one.is_number else "told"), one.column] = 1.0
        if one.order >= 0:
            uses[n, ROLES.index("orders"), one.order] = 1.0
        if one.operation == "count":
            uses[n, ROLES.index("passed over"), numeric] = 1.0
        for k in one.chosen.columns:
            uses[n, ROLES.index("conditions"), k] = 1.0
    labels = operations * len(_KINDS) + kinds
    pairs = [table.pairs(column) for column in grid.columns]
    return Weighed(programs, signs, operations, labels, choices, table.cells(), pairs, uses, meaning.question)


def _kind_of(one: Program, grid: Grid) -> ColumnKind:
    return grid.columns[one.column].kind if one.column >= 0 else "number" if one.is_number else "text"


class _Spoken:
    """What a question says of a table."""

    def __init__(self, question: str, asked: frozenset[str], grid: Grid, near: Floats) -> None:
        self.question, self.asked, self.grid = question, asked, grid
        self.said = asked | {*re.findall(r"[^\W\d_]+", question.casefold())} & _ASKING
        self.heads = frozenset().union(*(column.named for column in grid.columns))
        self.in_cells = [frozenset().union(*column.keys) for column in grid.columns]
        self.known_cells = frozenset().union(*self.in_cells) & asked
        self.known_heads = self.heads & asked
        self.named = [self._named(column) for column in grid.columns]
        self.best_named = max(self.named, default=0.0)
        self.low = re.sub(r"['’]", "", question.casefold())  # "hasn't" as people type it
        self.first_text = next((k for k, c in enumerate(grid.columns) if c.kind == "text"), 0)
        self.n_numeric = sum(column.kind == "number" for column in grid.columns)
        self.is_money = [
            _MONEY.search(c.name) is not None or any(re.search(r"[€£$]", cell) for cell in c.cells[:3])
            for c in grid.columns
        ]
        self.n_asked = max(len(asked), 1)
        self.near = near
        self.number_named = max(
            (named for named, column in zip(self.named, grid.columns, strict=True) if column.kind == "number"),
            default=0.0,
        )
        self.most_said: dict[tuple[int, ...], int] = defaultdict(int)
        """Of each column how many words of the question one choice by its cells uses."""

    def signs(self, one: Program) -> list[float]:
        """Return one number for each of `SIGNS`."""
        if one.operation == "nothing":
            known = self.known_cells | self.known_heads | (self.grid.titled & self.asked)
            beyond = len(self.asked - known) / self.n_asked
            is_titled = float(bool(self.grid.titled & self.asked))
            said = {"nothing": 1.0, "left out": beyond, "titled": is_titled, "number named": self.number_named}
            said["near"] = float(self.near.max(initial=0.0))
            return [said.get(name, 0.0) for name in SIGNS]
        columns, chosen = self.grid.columns, one.chosen
        used = {*chosen.said}
        for k in (one.column, one.order, *chosen.columns):
            if k >= 0:
                used |= columns[k].named & self.asked
        left = self.asked - used
        k, order = one.column, one.order
        named = self.named[k] if k >= 0 else 0.0
        ordered = self.named[order] if order >= 0 else 0.0
        of_choice = max((self.named[c] for c in chosen.columns), default=0.0)
        kind = columns[k].kind if k >= 0 else ""
        texts = one.value if isinstance(one.value, tuple) else ()
        n = len(chosen.rows)
        return [
            0.0,
            len(left - self.grid.titled) / self.n_asked,
            float(len(left & self.known_cells)),
            float(len(left & self.known_heads)),
            float(named > 0),
            named,
            float(kind == "number" and self.n_numeric == 1),
            ordered,
            chosen.fullness if chosen.said else 0.0,
            float(len(chosen.said)),
            float(chosen.how in _BEYOND),
            float(n == 1),
            float(n == self.grid.n_rows),
            n / self.grid.n_rows,
            float(bool(texts) and all(text.casefold() in self.low for text in texts)),
            float(k == self.first_text),
            float(k == len(columns) - 1),
            float(bool(self.grid.titled & left)),
            float(k >= 0 and self.is_money[k]),
            float(chosen.how == "two"),
            float(chosen.how == "all"),
            of_choice,
            float(k >= 0 and k - 1 in chosen.columns),
            float(order >= 0 and self.is_money[order]),
            float(named == self.best_named > 0),
            float(order >= 0 and ordered == self.best_named > 0),
            math.log1p(len(texts)) if len(texts) > 1 else 0.0,
            float(self.near[k]) if k >= 0 else 0.0,
            float(self.near[order]) if order >= 0 else 0.0,
            float(max((self.near[c] for c in chosen.columns), default=0.0)),
            self.number_named,
            float(self.most_said.get(chosen.columns, 0) - len(chosen.said)),
        ]

    def _named(self, column: Column) -> float:
        """Return the share of a column's name that the question says; of an abbreviated word a little less."""
        said = len(column.named & self.said)
        short = sum(
            any(
                len(key) > 2 and len(word) > 2 and (key.startswith(word) or word.startswith(key)) for word in self.asked
            )
            for key in column.named - self.said
        )
        return (said + 0.7 * short) / max(len(column.named), 1)

    def pairs(self, column: Column) -> NDArray[np.int32]:
        """Return the cells of the question's words beside those of a column's name and its kind."""
        is_money = any(re.search(r"[€£$¥₹]", cell) for cell in column.cells[:3])
        own = [*re.findall(r"[^\W\d_]+", column.name.casefold())[:4], f"_{column.kind}{is_money}"]
        asked = dict.fromkeys([*re.findall(r"[^\W\d_]+", self.low)[:20], "_any"])
        return np.array([zlib.crc32(f"{a}|{b}".encode()) % N_PAIRS for a in asked for b in own], dtype=np.int32)

    def cells(self) -> NDArray[np.int32]:
        """Return the cells of the question's words, alone and by twos; what the table says stands as such."""
        words = ["^"]
        for word in re.findall(r"\w+", self.low)[:30]:
            keys = words_of(word)
            if word.isdigit():
                words.append("0000" if len(word) == 4 else "0")
            elif keys & self.known_cells:
                words.append("_cell")
            elif keys & self.known_heads:
                words.append("_head")
            else:
                words.append(word)
        grams = [
            *words,
            *("_est" for word in words if len(word) > 4 and word.endswith("est")),
            *(f"{a} {b}" for a, b in itertools.pairwise(words)),
            f"^ {' '.join(words[1:3])}",
            f"^ {' '.join(words[1:4])}",
        ]
        return np.array([zlib.crc32(gram.encode("utf-8", "surrogatepass")) % N_CELLS for gram in grams], dtype=np.int32)


@dataclass(frozen=True, slots=True)
class Told:
    """The likeliest program for a question over a table."""

    program: Program
    chance: float
    silence: float
    """The probability that the table does not tell."""
    spoken: float
    """The share of the question's words that the program uses, or that the table is called by."""

    @property
    def is_likely(self) -> bool:
        """Whether the table likelier tells this than nothing."""
        return self.chance > self.silence


def head_texts(grid: Grid) -> list[str]:
    """Return what is embedded of each column: its name with its first cell."""
    return [f"{column.name}: {next(filter(None, column.cells), '')}"[:60] for column in grid.columns]


def likeliest(question: str, grid: Grid, meaning: Meaning, weights: Weights | None = None) -> Told | None:
    """Return what a table likeliest tells of a question with its probability; None of a question that is too long.

    Programs that come to the same value count together.
    """
    if len(question) > LONGEST_QUESTION:
        return None
    made = weighed(question, grid, meaning)
    scores = made.scores(weights or shipped_weights()).astype(np.float64)
    chances = np.exp(scores - scores.max())
    chances /= chances.sum()
    by_value: dict[object, float] = defaultdict(float)
    best: dict[object, int] = {}
    for i, one in enumerate(made.programs[1:], 1):
        by_value[one.value] += float(chances[i])
        if one.value not in best or chances[i] > chances[best[one.value]]:
            best[one.value] = i
    value = max(by_value, key=lambda key: by_value[key], default=None)
    if value is None:
        return None
    program = made.programs[best[value]]
    asked = words_of(question)
    used = program.chosen.said | grid.titled
    for k in {program.column, program.order, *program.chosen.columns} - {-1}:
        used |= grid.columns[k].named
    return Told(program, by_value[value], float(chances[0]), len(asked & used) / max(len(asked), 1))
