"""Sums the amounts of a table by the cells of one column: per buyer, per month, or the group with most or least; and
their means by group, of the rows or of the months.

A group that an order names ("ignore what was said and …") is left out, and that is said, whoever wrote the table.

Not covered: two groups at once but for the mean per month or year of each, groups over several tables, means by month
or year alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from hearth import patterns as re
from hearth.language.tokens import listed
from hearth.memory.inquiry.answer_reading import money_in, money_text, number_text
from hearth.memory.inquiry.answer_telling import witness_of
from hearth.memory.inquiry.table_answers import quote_of
from hearth.memory.inquiry.table_programs import Column, Grid, words_of
from hearth.memory.search.collecting import tables_in, where_of
from hearth.memory.search.passage_store import Passage, PassageStore
from hearth.memory.search.search_words import keys_of
from hearth.protocols import HomeAnswer
from hearth.tools.memory import DOUBTED, N_SHOWN

_MONEY = (
    r"(?:sales?|sold|takings|spen[dt]|spending|earn(?:ed|ings)?|income|paid|pay|costs?|rent|bills?|expens\w+|amounts?"
    r"|sums?|totals?|invoices?|fees?|charges?|revenue)"
)
_GROUPS = (
    "month|year|buyer|customer|client|payer|person|member|tenant|pupil|student|guest|supplier|vendor|shop|store|fair"
    "|market|company|firm|provider|venue|place|room|event|course|class|job|project|category|kind|type|item|product|name"
)
"""What people sum by; "by card" and "by six" are none."""
_BY = re.compile(rf"\b(?P<by>by|for (?:each|every)|per|each|every) (?:the )?(?P<key>{_GROUPS})s?\b", re.I)
_SUMMED = re.compile(r"\b(?:did|have|has|sums?|totals?|spent|earned|sold|sales|takings|expenses)\b", re.I)
_EACH_PAYS = re.compile(rf"\s*how much (?:did|has|have) (?:each|every) (?P<key>{_GROUPS})\b(?P<rest>.*)", re.I)
_WHO_MOST = re.compile(
    r"\s*who (?:has )?(?:bought|spent|paid|ordered) (?:the )?(?P<most>most|least)(?: from (?:me|us))?(?P<rest>.*)", re.I
)
_WHICH_MOST = re.compile(
    rf"\s*which (?:of (?:my|our|the) )?(?P<key>{_GROUPS})s? (?:has |have )?(?:earned|took|brought in|made|sold|paid"
    r"|spent|costs?) (?:me |us )?(?:the )?(?P<most>most|least)\b(?P<rest>.*)",
    re.I,
)
_BUYERS = keys_of("buyer customer client payer")
_OF_SUMS = keys_of("sum total amount price value cost worth sale sales sold pay paid spend spent earn earned did each")
"""Words for what is summed, which a table may call otherwise."""
_AMOUNT = re.compile(r"\b(?:amount|sum|total|price|cost|owed|fee|due|value|paid|takings|sales?)\b|[€£$¥₹]", re.I)
_OF_MONTHS = listed("January February March April May June July August September October November December")
_MEAN = re.compile(r"\b(?:what(?:['’]s| is| was) )?(?:the |my |our )?(?:average|mean|on average|typical)\b", re.I)
_TIMES = frozenset({"month", "year"})
_LONGEST_QUESTION = 300
_LEAST_ORDER = 4
"""Words of the shortest name of a group that may be an order."""


@dataclass(frozen=True, slots=True)
class GroupsAsked:
    """By what amounts are to be summed."""

    operation: Literal["sum", "mean", "most", "least"]
    group: str
    words: str
    """What is left of the question: the table has to speak of it."""
    per: str = ""
    """Of a mean: `month` or `year`, where what came in each is added before; empty: of the rows."""


def groups_asked(question: str) -> GroupsAsked | None:
    """Parse a question for sums by group; None for any other. "How much is the rent per month" asks for a price."""
    if len(question) > _LONGEST_QUESTION:
        return None
    for form in (_WHO_MOST, _WHICH_MOST):
        if (found := form.match(question)) is not None:
            said = found.groupdict()
            end: Literal["most", "least"] = "most" if said["most"].casefold() == "most" else "least"
            return GroupsAsked(end, (said.get("key") or "buyer").casefold(), said["rest"])
    if (each := _EACH_PAYS.match(question)) is not None:
        return GroupsAsked("sum", each["key"].casefold(), each["rest"])
    if _MEAN.search(question):
        return _mean_asked(question)
    by = _BY.search(question)
    if by is None or re.search(rf"\b{_MONEY}\b", question, re.I) is None:
        return None
    rest = question[: by.start()] + question[by.end() :]
    if not by["by"].casefold().endswith("by") and not _SUMMED.search(rest):
        return None
    return GroupsAsked("sum", by["key"].casefold(), rest)


def _mean_asked(question: str) -> GroupsAsked | None:
    """Parse a question for means by group: "average bill per month by company"."""
    keys = [(found, found["key"].casefold()) for found in _BY.finditer(question)]
    times = [key for _, key in keys if key in _TIMES]
    groups = [key for _, key in keys if key not in _TIMES]
    if len(groups) != 1 or len(times) > 1:
        return None
    rest = _MEAN.sub("", question)
    for found, _ in keys:
        rest = rest.replace(found.group(), "")
    if re.search(rf"\s*(?:and|or) (?:by )?(?:{_GROUPS})s?\b", rest, re.I):  # by two at once
        return None
    return GroupsAsked("mean", groups[0], rest, "".join(times))


def grouped_answer(
    asked: GroupsAsked, passages: PassageStore, is_order: Callable[[Passage, str], bool]
) -> HomeAnswer | None:
    """Return the sums of the table that speaks of most that is asked; None where none has the group and amounts.

    Args:
        is_order: Tells whether a quotation of a passage, or the whole of it, reads like an instruction.
    """
    words = words_of(asked.words) - _OF_SUMS
    found = []
    for passage, grid in _grids(passages):
        known = grid.titled | frozenset().union(*(column.named for column in grid.columns))
        cells = frozenset().union(*(keys for column in grid.columns for keys in column.keys))
        told = _told(asked, passage, grid, is_order) if words <= known | cells else None
        if told is not None:
            found.append((len(words & known), replace(told, chance=1.0 if words <= known else DOUBTED)))
    most = max((n for n, _ in found), default=0)
    likeliest = [told for n, told in found if n == most]
    return likeliest[0] if len(likeliest) == 1 else None


def _grids(passages: PassageStore) -> Iterator[tuple[Passage, Grid]]:
    held = passages.all(("document", "note"))
    for record in dict.fromkeys(one.record for one in held if "|" in one.text):
        pieces = passages.of_record(record)
        for table in tables_in("\n".join(one.text for one in pieces)):
            if (grid := Grid.of(table, pieces[0].title)) is not None:
                yield pieces[0], grid


def _told(
    asked: GroupsAsked, passage: Passage, grid: Grid, is_order: Callable[[Passage, str], bool]
) -> HomeAnswer | None:
    """Sum the rows of one table by their groups; of the one that is asked for first."""
    amounts = _amounts(grid)
    groups = _groups(asked, grid)
    if amounts is None or groups is None:
        return None
    if len(amounts.units) > 1:
        return None  # nothing of two currencies is added
    orders = {
        group
        for group in groups
        if len(group.split()) >= _LEAST_ORDER and is_order(replace(passage, text=group), group)
    }
    times = _groups(replace(asked, group=asked.per), grid) if asked.per else [""] * len(groups)
    if times is None:
        return None
    summed = _summed(asked, [group if group not in orders else "" for group in groups], times, amounts)
    if not summed.totals:
        return None
    witnesses = tuple(witness_of(passage, quote_of(grid, row)) for row in summed.rows[:N_SHOWN])
    left_out = (f"a row of {where_of(passage)}",) if orders else ()
    return HomeAnswer("list", _said(asked, summed), "", witnesses, is_reckoned=True, left_out=left_out)


@dataclass(frozen=True, slots=True)
class _Summed:
    """What the rows of each group come to."""

    totals: Mapping[str, float]
    """Sums, or means."""
    n_of: Mapping[str, int]
    """How many rows make up a sum; over how many parts a mean is taken."""
    sign: str
    """Of the currency; empty where the amounts have none."""
    rows: Sequence[int]


def _summed(asked: GroupsAsked, groups: Sequence[str], times: Sequence[str], amounts: Column) -> _Summed:
    """Add up the amounts of each group; a row without a group counts for none."""
    sums, rows, called = defaultdict[str, float](float), [], dict[str, str]()
    parts: dict[str, list[str]] = defaultdict(list)
    for row, (said, value) in enumerate(zip(groups, amounts.values, strict=True)):
        group = called.setdefault(said.casefold(), said)
        if group and value is not None:
            sums[group] += value
            parts[group].append(times[row] if asked.per else str(row))
            rows.append(row)
    sign = next((money[0][1] for cell in amounts.cells if (money := money_in(cell))), "")
    if asked.operation != "mean":
        return _Summed(sums, {group: len(of) for group, of in parts.items()}, sign, rows)
    n_of = {group: len(set(of)) for group, of in parts.items()}
    return _Summed({group: total / n_of[group] for group, total in sums.items()}, n_of, sign, rows)


def _said(asked: GroupsAsked, summed: _Summed) -> str:
    """Say what each group comes to, or which comes to most or least."""
    of = f"{asked.per}s" if asked.per else "rows"
    told = {
        group: (money_text(total, summed.sign) if summed.sign else number_text(total))
        + (f" ({summed.n_of[group]} {of})" if summed.n_of[group] > 1 else "")
        for group, total in summed.totals.items()
    }
    if asked.operation not in ("most", "least"):
        return "\n".join(f"{group}: {total}" for group, total in told.items())
    ranked = sorted(told, key=lambda group: summed.totals[group], reverse=asked.operation == "most")
    others = ", ".join(f"{group} {told[group]}" for group in ranked[1:4])
    return f"{ranked[0]}, {told[ranked[0]]}" + (f"; then {others}" if others else "")


def _amounts(grid: Grid) -> Column | None:
    """Return the column of amounts: one of numbers with a currency, else one that is called so."""
    numeric = [column for column in grid.columns if column.kind == "number"]
    with_signs = [column for column in numeric if any(money_in(cell) for cell in column.cells)]
    return next(
        iter(with_signs or [column for column in numeric if _AMOUNT.search(column.name.replace("_", " "))]), None
    )


def _groups(asked: GroupsAsked, grid: Grid) -> list[str] | None:
    """Return the group of each row; None where no column bears the groups' name. A buyer may be called otherwise."""
    wanted = _BUYERS if asked.group == "buyer" and asked.operation in ("most", "least") else keys_of(asked.group)
    column = next((column for column in grid.columns if keys_of(column.name) & wanted), None)
    if column is not None and column.kind != "number":
        return list(column.cells)
    days = next((column for column in grid.columns if column.kind == "date"), None)
    if days is None or asked.group not in ("month", "year"):
        return None
    return [_time_of(asked.group, day) for day in days.values]


def _time_of(group: str, day: float | None) -> str:
    if day is None:
        return ""
    year, rest = divmod(int(day) - 1, 372)
    said = f"{year}" if year else ""
    return said if group == "year" else f"{_OF_MONTHS[rest // 31]} {said}".strip()
