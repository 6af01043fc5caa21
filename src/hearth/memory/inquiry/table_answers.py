"""Answers a question from a table of the owner's by the likeliest small program over its rows (`table_programs`).

Of the passages that were read for a question those that stand in a table are looked at, each table whole. What was
reckoned is told with the rows it came from.

Not covered: tables of which no passage was near enough to be read.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hearth import patterns as re
from hearth.memory.inquiry.answer_reading import (
    Reading,
    asks_yes_or_no,
    covered,
    least_chance,
    money_in,
    money_text,
    number_text,
    words_chance,
)
from hearth.memory.inquiry.answer_telling import kind_of, past_of, row_day, witness_of
from hearth.memory.inquiry.table_programs import (
    Grid,
    Meaning,
    Program,
    Told,
    head_texts,
    likeliest,
    words_of,
)
from hearth.memory.search.collecting import lists_in, tables_in
from hearth.memory.search.passage_store import Passage, PassageStore
from hearth.memory.search.search_words import fitted, times_named
from hearth.protocols import Encoder, HomeAnswer, ValueKind
from hearth.tools.memory import DOUBTED, N_SHOWN

N_TABLES = 4
"""Most tables that are looked at for a question, the likeliest first."""
_N_BESIDE = 5
"""Most rows that are told behind a number that was worked out from them."""
_MOST_IN_TEXT = 5
_RECKONED = frozenset({"sum", "mean", "count", "difference", "row sum", "columns apart", "days apart", "product"})
_EXTREMES = frozenset({"max", "min", "argmax", "argmin", "mode", "first", "last"})
_LISTS = frozenset({"list", "ranked", "ranked up"})
_SIGN = re.compile(r"[€£$¥₹]")
LEAST_TOLD = 0.2
"""The least probability at which a table's answer is told."""
_LEAST_HELD = 0.5
"""A table says yes or no only if it holds more than this share of the question's words."""
CHOICE_SIGNS = (
    *("bias", "chance", "silence", "spoken", "spoken of most", "about", "without heads", "titled", "rank", "first"),
    *("reckoned", "list", "yes or no", "extreme", "read", "read here", "agrees"),
    *("words", "cosine", "held", "held of most", "near", "read elsewhere", "rival"),
)
"""What is weighed of a table's answer beside what other passages say (`data/table_choice.json`)."""


@dataclass(frozen=True, slots=True)
class OfTable:
    """What a table tells, and the table."""

    told: Told
    grid: Grid
    near: float
    """How near the question is to the name of a column, as cosine."""

    @property
    def value(self) -> str:
        """The answer alone."""
        value = self.told.program.value
        return number_text(value) if isinstance(value, float) else "; ".join(value)


@dataclass(frozen=True, slots=True)
class TableCandidate:
    """What one record's table tells of a question, and what speaks for it."""

    of_table: OfTable
    passage: Passage
    """The first of the record."""
    signs: tuple[float, ...]
    """One number for each of `CHOICE_SIGNS`."""

    @property
    def chance(self) -> float:
        """The probability that this is the answer."""
        weights: dict[str, float] = fitted("table_choice")["weights"]
        score = sum(weights[name] * sign for name, sign in zip(CHOICE_SIGNS, self.signs, strict=True))
        return 1.0 / (1.0 + math.exp(-score))

    def answer(self, chance: float) -> HomeAnswer:
        """Tell it with the rows it came from; with doubt where a row says no number, or another table may be meant."""
        program, grid = self.of_table.told.program, self.of_table.grid
        if is_partly(program, grid) or not self.signs[CHOICE_SIGNS.index("titled")]:
            chance = min(chance, DOUBTED)
        value, kind = _told(program, grid)
        is_reckoned = program.operation in _RECKONED
        rows = program.chosen.rows if is_reckoned or program.operation in ("list", "yesno") else _rows_of(program, grid)
        quotes = [quote_of(grid, row) for row in rows[:N_SHOWN]] or [" | ".join(column.name for column in grid.columns)]
        witnesses = tuple(witness_of(self.passage, quote) for quote in quotes)
        return HomeAnswer(kind, value, "", witnesses, round(chance, 4), is_reckoned=is_reckoned)


def told_in(question: str, text: str, title: str, encoder: Encoder, *, has_lists: bool = False) -> OfTable | None:
    """Return the likeliest answer of the tables of a text, and of its lists; None where none tells."""
    best = _likeliest_in(question, text, title, encoder, has_lists=has_lists)
    return best if best is not None and best.told.is_likely else None


def _likeliest_in(question: str, text: str, title: str, encoder: Encoder, *, has_lists: bool) -> OfTable | None:
    found = []
    for table in (*tables_in(text), *(lists_in(text) if has_lists else ()))[:_MOST_IN_TEXT]:
        if (grid := Grid.of(table, title)) is None:
            continue
        asked, *named = encoder.encode([question, *head_texts(grid)])
        heads = np.stack(named)
        if (told := likeliest(question, grid, Meaning.of(asked, heads))) is not None:
            found.append(OfTable(told, grid, float((heads @ asked).max())))
    return max(found, key=lambda one: one.told.chance, default=None)


_WHETHER = re.compile(r"\b(?:if|whether)\b", re.IGNORECASE)


def table_answer(
    question: str,
    readings: Sequence[Reading],
    passages: PassageStore,
    encoder: Encoder,
    now: dt.datetime | None = None,
) -> HomeAnswer | None:
    """Return the likeliest answer of the tables among passages; None where what is read is likelier, or none tells.

    Args:
        readings: What was read for the question, the likeliest first.
        now: The time of the question, whose times choose the rows that are reckoned with.
    """
    found = table_candidates(question, readings, passages, encoder)
    if not (asks_yes_or_no(question) or _WHETHER.search(question)):
        found = [one for one in found if one.of_table.told.program.operation != "yesno"]  # "where are the passports"
    found = [one for one in found if not _counts_what_is_stated(one.of_table)]
    held = CHOICE_SIGNS.index("held")
    # "Is the museum open on Mondays" of a list of sales, one of them to the museum's shop.
    found = [one for one in found if one.of_table.told.program.operation != "yesno" or one.signs[held] > _LEAST_HELD]
    likely = max(found, key=lambda one: one.chance, default=None)
    if likely is None or likely.chance <= max(words_chance(readings[0]), LEAST_TOLD):
        return None
    best = readings[0].candidate.passage
    is_all_said = covered(question, f"{best.person} {best.read}") == 1.0  # "the kiln opening on Friday"
    if is_all_said and readings[0].chance >= least_chance() and likely.signs[held] < 1.0:
        return None
    within = likely if now is None else _within(likely, question, now)
    return within.answer(likely.chance) if within is not None else None


def _counts_what_is_stated(one: OfTable) -> bool:
    """Return whether lines of a list are counted that state numbers themselves: "Credits: 132 of 180, 48 to go" is no
    one credit."""
    program, grid = one.told.program, one.grid
    if program.operation != "count" or program.chosen.how == "all" or any(column.named for column in grid.columns):
        return False
    lines = [" ".join(column.cells[row] for column in grid.columns) for row in program.chosen.rows]
    return all(any(character.isdigit() for character in line) for line in lines)


def _within(candidate: TableCandidate, question: str, now: dt.datetime) -> TableCandidate | None:
    """Return what is reckoned of the rows of the time that a question names alone; None where no row is of it."""
    program, grid = candidate.of_table.told.program, candidate.of_table.grid
    named = times_named(question, now)[:1]
    if not named or program.operation not in ("sum", "mean", "count"):
        return candidate
    asked = words_of(question)
    dated = [column for column in grid.columns if column.kind == "date"]
    dated.sort(key=lambda column: column.named.isdisjoint(asked))
    days = [row_day([cell], now) for cell in dated[0].cells] if dated else []
    if not days or any(days[row] is None for row in program.chosen.rows):
        return candidate
    period = named[0] if re.search(r"\b(?:next|coming)\b|\b\d{4}\b", question, re.I) else past_of(named[0], now)
    rows = tuple(row for row in program.chosen.rows if period.holds(days[row]))
    if not rows or rows == program.chosen.rows:
        return candidate if rows else None
    values = [one for row in rows if (one := grid.columns[program.column].values[row]) is not None]
    total = sum(values) / (len(values) or 1 if program.operation == "mean" else 1)
    value = float(len(rows)) if program.operation == "count" else total
    how = "said" if program.chosen.how == "all" else program.chosen.how
    chosen = replace(program, chosen=replace(program.chosen, how=how, rows=rows), value=value)
    told = replace(candidate.of_table.told, program=chosen)
    return replace(candidate, of_table=replace(candidate.of_table, told=told))


def table_candidates(
    question: str, readings: Sequence[Reading], passages: PassageStore, encoder: Encoder
) -> list[TableCandidate]:
    """Return what each table among passages tells, with what speaks for it.

    Args:
        readings: What was read for the question, the likeliest first.
    """
    asked = _Asked(question, readings)
    found: list[tuple[OfTable, Passage, int, str]] = []
    for rank, record in enumerate(asked.records):
        pieces = passages.of_record(record)
        text, first = "\n".join(one.text for one in pieces), pieces[0]
        one = _likeliest_in(question, text, first.title, encoder, has_lists=first.kind == "note")
        if one is not None:
            found.append((one, first, rank, text))
    chances = [one.told.chance for one, *_ in found]
    rivals = [max([*chances[:k], *chances[k + 1 :]], default=0.0) for k in range(len(chances))]
    return [
        TableCandidate(one, first, (*asked.signs(one, first, rank, text), _log_odds(rival)))
        for (one, first, rank, text), rival in zip(found, rivals, strict=True)
    ]


class _Asked:
    """A question with what was read for it."""

    def __init__(self, question: str, readings: Sequence[Reading]) -> None:
        self.question, self.readings = question, readings
        self.keys = words_of(question)
        read = [one.candidate.passage for one in readings]
        records = dict.fromkeys(one.record for one in read if "|" in one.text or one.kind == "note")
        self.records = list(records)[:N_TABLES]
        self.most = max((covered(question, f"{one.person} {one.read}") for one in read), default=0.0) or 1.0
        """The largest share of the question's words that one of the passages holds."""

    def signs(self, one: OfTable, passage: Passage, rank: int, text: str) -> tuple[float, ...]:
        """Return one number for each of `CHOICE_SIGNS` but the last.

        Args:
            passage: The first of the table's record.
            text: All of the record.
        """
        told, best = one.told, self.readings[0]
        heads = frozenset().union(*(column.named for column in one.grid.columns))
        operation = told.program.operation
        of_record = [read.candidate for read in self.readings if read.candidate.passage.record == passage.record]
        is_here = best.candidate.passage.record == passage.record
        held = covered(self.question, f"{passage.title} {text}")
        return (
            1.0,
            _log_odds(told.chance),
            _log_odds(told.silence),
            told.spoken,
            min(told.spoken / self.most, 1.0),
            float(not (heads | one.grid.titled).isdisjoint(self.keys)),
            float(not heads),
            float(not one.grid.titled.isdisjoint(self.keys)),
            float(rank),
            float(rank == 0),
            float(operation in _RECKONED),
            float(operation in _LISTS),
            float(operation == "yesno"),
            float(operation in _EXTREMES),
            _log_odds(best.chance),
            float(is_here),
            float(best.text.strip().casefold() == one.value.casefold()),
            math.log1p(max(found.words for found in of_record)),
            max(found.cosine for found in of_record),
            held,
            min(held / self.most, 1.0),
            one.near,
            0.0 if is_here else _log_odds(best.chance),
        )


def _log_odds(chance: float) -> float:
    chance = min(max(chance, 0.01), 0.99)
    return math.log(chance / (1.0 - chance))


def is_partly(program: Program, grid: Grid) -> bool:
    """Return whether something was reckoned of which a row says no number ("1:30"), or that are shares in per cent."""
    if program.operation not in _RECKONED - {"count"} or program.column < 0:
        return False
    column = grid.columns[program.column]
    return "%" in column.units or any(
        column.values[row] is None and column.cells[row].strip(" -–") for row in program.chosen.rows
    )


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
    if program.operation == "days apart":
        return f"{number_text(value)} day{'s' if value != 1 else ''}", "number"
    column = grid.columns[program.column] if program.column >= 0 else None
    told, is_money = _measured(program, value, grid)
    rows = program.chosen.rows
    if program.operation == "count" and program.chosen.how != "all":
        return f"{told} ({_some([_name(grid, row) for row in rows])})", "number"
    if program.operation in ("sum", "mean") and column is not None:
        beside = [f"{_name(grid, row)}: {column.cells[row]}" for row in rows if column.values[row] is not None]
        how = f"{len(beside)} rows" if program.operation == "sum" else f"the mean of {len(beside)}"
        told = f"{told} ({how}: {_some(beside)})" if len(beside) > 1 else told
    return told, "amount" if is_money else "number"


def _measured(program: Program, value: float, grid: Grid) -> tuple[str, bool]:
    """Write a number with the currency or the unit of its column; say whether it is an amount of money."""
    column = grid.columns[program.column] if program.column >= 0 else None
    cells = column.cells if column is not None else ()
    if program.operation == "product":
        cells += grid.columns[program.order].cells
    signs = [found[0][1] for cell in cells if (found := money_in(cell))]
    signs = signs or [sign.group() for cell in cells if (sign := _SIGN.search(cell)) is not None]
    if signs:
        return money_text(value, signs[0]), True
    told = number_text(value)
    if column is None or program.operation in ("count", "product"):
        return told, False
    if column.units == {"%"}:
        return f"{told}%", False
    return (f"{told} {column.name}" if re.fullmatch(r"[^\W\d_]+s", column.name) else told), False


def _some(names: Sequence[str]) -> str:
    """Name the first of some rows, and say how many more there are."""
    more = [f"and {len(names) - _N_BESIDE} more"] if len(names) > _N_BESIDE else []
    return "; ".join([*names[:_N_BESIDE], *more])


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
