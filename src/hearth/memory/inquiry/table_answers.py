"""Answers a question from a table of the owner's by the likeliest small program over its rows (`table_programs`).

Of the passages that were read for a question those that stand in a table are looked at, each table whole. What was
reckoned is told with the rows it came from.

Not covered: tables of which no passage was near enough to be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hearth import patterns as re
from hearth.memory.inquiry.answer_reading import covered, money_in, money_text, number_text
from hearth.memory.inquiry.answer_telling import kind_of, witness_of
from hearth.memory.inquiry.table_programs import Grid, Program, Told, head_texts, likeliest, nearness, words_of
from hearth.memory.search.collecting import lists_in, tables_in
from hearth.memory.search.passage_store import Passage, PassageStore
from hearth.protocols import Encoder, HomeAnswer, ValueKind
from hearth.tools.memory import DOUBTED, N_SHOWN

N_TABLES = 3
"""Most tables that are looked at for a question, the likeliest first."""
_N_BESIDE = 5
"""Most rows that are told behind a number that was worked out from them."""
_MOST_IN_TEXT = 5
_UNCALLED = 0.5
_RECKONED = frozenset({"sum", "mean", "count", "difference", "row sum", "columns apart"})
_SIGN = re.compile(r"[€£$¥₹]")


@dataclass(frozen=True, slots=True)
class OfTable:
    """What a table tells, and the table."""

    told: Told
    grid: Grid

    @property
    def value(self) -> str:
        """The answer alone."""
        value = self.told.program.value
        return number_text(value) if isinstance(value, float) else "; ".join(value)


def told_in(question: str, text: str, title: str, encoder: Encoder, *, has_lists: bool = False) -> OfTable | None:
    """Return the likeliest answer of the tables of a text, and of its lists; None where none tells."""
    found = []
    for table in (*tables_in(text), *(lists_in(text) if has_lists else ()))[:_MOST_IN_TEXT]:
        if (grid := Grid.of(table, title)) is None:
            continue
        asked, *heads = encoder.encode([question, *head_texts(grid)])
        if (told := likeliest(question, grid, nearness(asked, np.stack(heads)))) is not None:
            found.append(OfTable(told, grid))
    return max(found, key=lambda one: one.told.chance, default=None)


def table_answer(question: str, read: Sequence[Passage], passages: PassageStore, encoder: Encoder) -> HomeAnswer | None:
    """Return the likeliest answer of the tables among passages; None where none tells.

    A program that leaves unused what another passage speaks of is less likely to be meant.

    Args:
        read: The passages that were read for the question, the likeliest first.
    """
    found: list[tuple[float, OfTable, Passage]] = []
    most = max((covered(question, f"{one.person} {one.read}") for one in read), default=0.0) or 1.0
    records = dict.fromkeys(one.record for one in read if "|" in one.text or one.kind == "note")
    for record in list(records)[:N_TABLES]:
        pieces = passages.of_record(record)
        text, first = "\n".join(one.text for one in pieces), pieces[0]
        if (one := told_in(question, text, first.title, encoder, has_lists=first.kind == "note")) is not None:
            found.append((_chance(question, one, most), one, first))
    if not found:
        return None
    chance, best, passage = max(found, key=lambda one: one[0])
    program, grid = best.told.program, best.grid
    if grid.titled.isdisjoint(words_of(question)):
        chance = min(chance, DOUBTED)  # another table may be meant
    if is_partly(program, grid):
        chance = min(chance, DOUBTED)
    value, kind = _told(program, grid)
    is_reckoned = program.operation in _RECKONED
    rows = program.chosen.rows if is_reckoned or program.operation in ("list", "yesno") else _rows_of(program, grid)
    quotes = [quote_of(grid, row) for row in rows[:N_SHOWN]] or [" | ".join(column.name for column in grid.columns)]
    witnesses = tuple(witness_of(passage, quote) for quote in quotes)
    return HomeAnswer(kind, value, "", witnesses, round(chance, 4), is_reckoned=is_reckoned)


def is_partly(program: Program, grid: Grid) -> bool:
    """Return whether something was reckoned of which a row says no number ("1:30"), or that are shares in per cent."""
    if program.operation not in _RECKONED - {"count"} or program.column < 0:
        return False
    column = grid.columns[program.column]
    return "%" in column.units or any(
        column.values[row] is None and column.cells[row].strip(" -–") for row in program.chosen.rows
    )


def _chance(question: str, one: OfTable, most: float) -> float:
    """Return how likely a table's answer is meant among other passages.

    Less, where its program leaves unused what another passage speaks of, and where the question shares no word with
    what the table or its columns are called; such a list without heads is not meant.

    Args:
        most: The largest share of the question's words that one of the passages holds.
    """
    heads = frozenset().union(*(column.named for column in one.grid.columns))
    is_about = not (heads | one.grid.titled).isdisjoint(words_of(question))
    least = 1.0 if is_about else _UNCALLED if heads else 0.0
    return one.told.chance * min(one.told.spoken / most, 1.0) ** 2 * least


def _told(program: Program, grid: Grid) -> tuple[str, ValueKind]:
    """Return what a program comes to in words, and its type."""
    if isinstance(program.value, float):
        return _number(program, program.value, grid)
    if program.operation == "yesno":
        return ("Yes" if program.value == ("yes",) else "No"), "yesno"
    if len(program.value) > 1:
        return "; ".join(program.value), "list"
    (text,) = program.value
    if program.order >= 0 and (rows := _rows_of(program, grid)):
        text = f"{text} ({grid.columns[program.order].cells[rows[0]]})"
    return text, kind_of(program.value[0])


def _number(program: Program, value: float, grid: Grid) -> tuple[str, ValueKind]:
    """Tell a number with the currency of its column, and the rows it came from."""
    column = grid.columns[program.column] if program.column >= 0 else None
    cells = column.cells if column is not None else ()
    signs = [found[0][1] for cell in cells if (found := money_in(cell))]
    signs = signs or [sign.group() for cell in cells if (sign := _SIGN.search(cell)) is not None]
    told = money_text(value, signs[0]) if signs else number_text(value)
    if not signs and program.operation != "count" and column is not None and re.fullmatch(r"[^\W\d_]+s", column.name):
        told = f"{told} {column.name}"
    if column is not None and column.units == {"%"}:
        told = f"{told}%"
    rows = program.chosen.rows
    if program.operation in ("sum", "mean") and column is not None:
        rows = tuple(row for row in rows if column.values[row] is not None)
    names = [_name(grid, row) for row in rows[:_N_BESIDE]]
    if program.operation == "count" and program.chosen.how != "all":
        more = [f"and {len(rows) - _N_BESIDE} more"] if len(rows) > _N_BESIDE else []
        return f"{told} ({'; '.join([*names, *more])})", "number"
    if program.operation in ("sum", "mean") and column is not None:
        beside = [f"{name}: {column.cells[row]}" for name, row in zip(names, rows, strict=False)]
        more = [f"and {len(rows) - _N_BESIDE} more"] if len(rows) > _N_BESIDE else []
        how = f"{len(rows)} rows" if program.operation == "sum" else f"the mean of {len(rows)}"
        told = f"{told} ({how}: {'; '.join([*beside, *more])})" if len(rows) > 1 else told
    return told, "amount" if signs else "number"


def _rows_of(program: Program, grid: Grid) -> tuple[int, ...]:
    """Return the rows among those that were chosen whose cell is told."""
    if program.column < 0 or isinstance(program.value, float):
        return program.chosen.rows
    cells = grid.columns[program.column].cells
    return tuple(row for row in program.chosen.rows if cells[row] in program.value)


def _name(grid: Grid, row: int) -> str:
    """Return what a row is called: its first cell of words, else its first."""
    k = next((k for k, column in enumerate(grid.columns) if column.kind == "text" and column.cells[row]), 0)
    return grid.columns[k].cells[row]


def quote_of(grid: Grid, row: int) -> str:
    """Write a row with the names of its columns."""
    said = ((column.name, column.cells[row]) for column in grid.columns)
    return " | ".join(f"{name}: {cell}" if name else cell for name, cell in said)
