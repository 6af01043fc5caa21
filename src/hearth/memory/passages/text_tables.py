"""Reads the tables of a text: rows of cells apart by ` | `, as every reader of documents and mails here writes them,
and lists of names with a value each.

The first row is the head where it says what the columns are: no cell of it is a number, an amount or a date, but for
years beside each other above columns that hold other things. Rows with another number of cells end a table.

Not covered: cells that span columns, heads of two rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_LINE = re.compile(r"[^\n]+")
_VALUE = re.compile(
    r"(?:[€£$+-]\s?)?\d[\d., ]*(?:\s?(?:€|£|\$|%|kr|[A-Z]{3}))?|\d{4}-\d\d-\d\d.*|\d{1,2}[./]\d{1,2}[./]\d{2,4}"
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_LEAST_COLUMNS = 2
_LISTED = re.compile(
    r"[^\S\n]*(?:[-*•·][^\S\n]+|\d{1,2}[.)][^\S\n]+)?(?:\[(?P<box>[ xX]?)\][^\S\n]+)?(?P<name>[^\s|:][^|:\n]{0,60}?)"
    r"(?:(?:[^\S\n]*[:=][^\S\n]*|[^\S\n]+[–—-][^\S\n]+|,[^\S\n]+|[^\S\n]+(?=[€£$]))(?P<value>[^|:\n]{1,30}?))?[.,;]?"
)
"""A line of a list: `- Ana: paid`, `Harbour fair – €320`, `- [x] Sam`."""


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
        is_headed = len(rows) > 1 and _is_head(rows)
        head = rows[0] if is_headed else tuple(Cell("", cell.start) for cell in rows[0])
        said = [cell.text for cell in head]
        body = tuple(row for row in rows[is_headed:] if [cell.text for cell in row] != said)
        if body:
            found.append(Table(head, body))
    return found


def with_heads(text: str) -> tuple[str, NDArray[np.int32]]:
    """Say before each cell of a table, but the first of its row, the name of its column: `Ana | 9 | 4` is
    `Ana: fee 9; paid 4`.

    Returns:
        The text, and of each of its characters the place in the text as it was, shape [n]; -1: it was added.
    """
    parts: list[tuple[str, int]] = []
    place = 0
    for table in tables_in(text):
        if not all(table.names()[1:]):
            continue
        for row in table.rows:
            parts.append((text[place : row[0].start], place))
            parts.append((row[0].text, row[0].start))
            told = [(head.text, cell) for head, cell in zip(table.head[1:], row[1:], strict=True) if cell.text]
            for k, (name, cell) in enumerate(told):
                parts += [(f"{'; ' if k else ': '}{name} ", -1), (cell.text, cell.start)]
            place = row[-1].start + len(row[-1].text)
    parts.append((text[place:], place))
    places = [np.full(len(said), -1) if at < 0 else np.arange(at, at + len(said)) for said, at in parts]
    return "".join(said for said, _ in parts), np.concatenate(places).astype(np.int32)


def _is_head(rows: Sequence[Row]) -> bool:
    """Return whether the first row says what the columns are. A year does where another stands beside it and none
    below: "2025 | 2026", but not "Rent | 2000" above other amounts."""
    columns = list(zip(*rows, strict=True))
    years = [k for k, (head, *_) in enumerate(columns) if _YEAR.fullmatch(head.text)]
    if len(years) < _LEAST_COLUMNS or any(_YEAR.fullmatch(one.text) for k in years for one in columns[k][1:]):
        years = []
    return not any(_VALUE.fullmatch(cell.text) for k, cell in enumerate(rows[0]) if k not in years)


def lists_in(text: str) -> list[Table]:
    """Find the lists whose lines each give a name one value, or are ticked or not; their columns have no heads."""
    found, rows, has_boxes = [], list[Row](), False
    for line in (*_LINE.finditer(text), None):
        said = _LISTED.fullmatch(line.group()) if line is not None else None
        is_box = said is not None and said["box"] is not None
        if said is None or is_box is not has_boxes or (not is_box and said["value"] is None):
            if len(rows) >= _LEAST_COLUMNS:
                found.append(Table((Cell("", rows[0][0].start), Cell("", rows[0][1].start)), tuple(rows)))
            rows, has_boxes = [], is_box
        if line is not None and said is not None and (is_box or said["value"] is not None):
            value = "box" if is_box else "value"
            name = line.group()[said.start("name") :].strip() if is_box else said["name"].strip()
            places = (line.start() + said.start("name"), line.start() + said.start(value))
            rows.append((Cell(name, places[0]), Cell(said[value].strip(), places[1])))
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
