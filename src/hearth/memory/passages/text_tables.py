"""Reads the tables of a text: rows of cells apart by ` | `, as every reader of documents and mails here writes them.

The first row is the head where it says what the columns are: no cell of it is a number, an amount or a date. Rows with
another number of cells end a table.

Not covered: cells that span columns, heads of two rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_LINE = re.compile(r"[^\n]+")
_VALUE = re.compile(
    r"(?:[€£$+-]\s?)?\d[\d., ]*(?:\s?(?:€|£|\$|%|kr|[A-Z]{3}))?|\d{4}-\d\d-\d\d.*|\d{1,2}[./]\d{1,2}[./]\d{2,4}"
)
_LEAST_COLUMNS = 2


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell without the blanks around it."""

    text: str
    start: int
    """Its place in the text."""


Row = tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a table, all as long as its head."""

    head: Row
    """Empty cells where no row says what the columns are."""
    rows: tuple[Row, ...]

    def names(self) -> list[str]:
        """Return what the columns are called."""
        return [cell.text for cell in self.head]

    def texts(self) -> list[tuple[str, ...]]:
        """Return the rows as texts alone."""
        return [tuple(cell.text for cell in row) for row in self.rows]


def tables_in(text: str) -> list[Table]:
    """Find the tables of a text, in order; a head that is repeated, where a table was cut, is one."""
    found = []
    for rows in _runs(text):
        is_headed = len(rows) > 1 and not any(_VALUE.fullmatch(cell.text) for cell in rows[0])
        head = rows[0] if is_headed else tuple(Cell("", cell.start) for cell in rows[0])
        said = [cell.text for cell in head]
        body = tuple(row for row in rows[is_headed:] if [cell.text for cell in row] != said)
        if body:
            found.append(Table(head, body))
    return found


def _runs(text: str) -> Iterator[Sequence[Row]]:
    """Yield the runs of lines that have as many cells as each other."""
    run: list[Row] = []
    for line in _LINE.finditer(text):
        cells = _cells(line) if "|" in line.group() else ()
        if run and len(cells) != len(run[0]):
            yield run
            run = []
        if len(cells) >= _LEAST_COLUMNS:
            run.append(cells)
    if run:
        yield run


def _cells(line: re.Match[str]) -> Row:
    cells, place = [], line.start()
    for part in line.group().split("|"):
        blanks = len(part) - len(part.lstrip())
        cells.append(Cell(part.strip(), place + (blanks if part.strip() else 0)))
        place += len(part) + 1
    return tuple(cells)
