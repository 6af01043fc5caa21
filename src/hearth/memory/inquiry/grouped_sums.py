"""Sums by group: what was spent in each month, what each buyer paid, who bought the most.

The rows of one table are grouped by the column that the question names, or by the month of their day; where no table
speaks of the matter, the amounts of mails and documents are summed month by month, as `record_answers` finds them.

Covered: a column by its name, months, years; the one who bought or paid most or least.
Not covered: two groups at once, averages by group, several tables.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hearth import patterns as re
from hearth.memory.inquiry.amounts.table_sums import Table, amount_column, number_in, row_day, tables_of
from hearth.memory.inquiry.money import money_in, money_text
from hearth.memory.inquiry.record_answers import answer_from_records, matter_of
from hearth.memory.passages.collecting import where_of
from hearth.memory.passages.passage_store import PassageStore
from hearth.memory.search.time_mentions import Period, times_named
from hearth.memory.search.word_forms import keys_of
from hearth.protocols import CallContext, HomeAnswer, Witness

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
_OF_TIME = frozenset({"month", "year"})
_BUYERS = keys_of("buyer customer client payer")
_OF_SUMS = keys_of("sum total amount sale sales sold pay paid spend spent cost")
_MOST_MONTHS = 12


@dataclass(frozen=True, slots=True)
class GroupsAsked:
    """What is summed, and by what."""

    key: str
    """The word for the groups, as the question says it."""
    matter: str
    order: Literal["", "most", "least"] = ""
    """Which group is asked for; empty: all."""


def asked_of_groups(question: str) -> GroupsAsked | None:
    """Parse a question for sums by group; None for any other. "How much is the rent per month" asks for a price."""
    if (most := _WHO_MOST.match(question)) is not None:
        return GroupsAsked("buyer", matter_of(most["rest"]), "most" if most["most"].casefold() == "most" else "least")
    if (each := _EACH_PAYS.match(question)) is not None:
        return GroupsAsked(each["key"].casefold(), matter_of(each["rest"]))
    said = _BY.search(question)
    if said is None or re.search(rf"\b{_MONEY}\b", question, re.I) is None:
        return None
    rest = question[: said.start()] + question[said.end() :]
    if not said["by"].casefold().endswith("by") and not _SUMMED.search(rest):
        return None
    return GroupsAsked(said["key"].casefold(), matter_of(rest))


def answer_by_group(question: str, passages: PassageStore, call: CallContext) -> HomeAnswer | None:
    """Work out the sums of the groups; None if none are asked for, or nothing has such groups."""
    asked = asked_of_groups(question)
    if asked is None:
        return None
    named = times_named(question, call.now)
    period = named[0] if named else None
    found = [told for table in tables_of(passages) if (told := _by_rows(asked, table, period, call.now)) is not None]
    if found:
        return max(found, key=lambda one: one[0])[1]
    return _by_months(asked, period, passages, call) if asked.key == "month" and asked.matter else None


def _by_rows(
    asked: GroupsAsked, table: Table, period: Period | None, now: dt.datetime
) -> tuple[int, HomeAnswer] | None:
    """Return the sums of a table's rows, and how many words of the matter it speaks of; None where it has no such
    groups or speaks of something else."""
    column, amounts = _group_column(asked, table), amount_column(table, set())
    words = keys_of(asked.matter) - _OF_SUMS
    one = table.passage
    about = keys_of(f"{one.title} {' '.join(table.head)}")
    if amounts is None or (column is None and asked.key not in _OF_TIME) or column == amounts:
        return None
    counted: list[tuple[str, tuple[str, ...]]] = []
    for row in table.rows:
        day = row_day(row, now)
        is_in = period is None or (day is not None and period.start <= day < period.end)
        group = row[column] if column is not None else _time_of(asked.key, day)
        if words - about <= keys_of(" ".join(row)) and is_in and group and row[amounts].strip():
            counted.append((group, row))
    if not counted or (column is None and not words):
        return None
    value = _summed(counted, amounts, asked.order)
    witnesses = tuple(Witness(one.record, where_of(one), " | ".join(row), one.source, one.at) for _, row in counted)
    return len(words) + len(keys_of(asked.matter) & about), HomeAnswer("list", value, "", witnesses)


def _summed(counted: Sequence[tuple[str, tuple[str, ...]]], amounts: int, order: str) -> str:
    """Tell the sums of rows by their groups.

    Args:
        amounts: The column that is summed.
        order: As in `GroupsAsked`.
    """
    sums: dict[str, float] = defaultdict(float)
    for group, row in counted:
        sums[group] += number_in(row[amounts])
    currency = next((found[0][1] for _, row in counted if (found := money_in(row[amounts]))), "")
    n_rows = Counter(group for group, _ in counted)
    told = {
        group: money_text(total, currency) + (f" ({n_rows[group]} rows)" if n_rows[group] > 1 else "")
        for group, total in sums.items()
    }
    return _first(sums, told, order) if order else _lines(told)


def _group_column(asked: GroupsAsked, table: Table) -> int | None:
    """Return the column that bears the name of the groups; who bought may be called otherwise."""
    wanted = _BUYERS if asked.order else keys_of(asked.key)
    return next((k for k, name in enumerate(table.head) if keys_of(name) & wanted), None)


def _time_of(key: str, day: dt.datetime | None) -> str:
    return "" if day is None else f"{day:%B %Y}" if key == "month" else f"{day.year}"


def _by_months(
    asked: GroupsAsked, period: Period | None, passages: PassageStore, call: CallContext
) -> HomeAnswer | None:
    """Sum what mails and documents state month by month; a month without an amount is left out."""
    told: dict[str, str] = {}
    witnesses: list[Witness] = []
    for month in _months(period, call.now):
        name = f"{month:%B %Y}"
        found = answer_from_records(f"what did I spend on {asked.matter} in total in {name}", passages, call)
        if found is not None and found.kind == "amount":
            told[name] = found.value
            witnesses.extend(found.witnesses)
    return HomeAnswer("list", _lines(told), "", tuple(witnesses)) if told else None


def _months(period: Period | None, now: dt.datetime) -> list[dt.date]:
    """Return the first days of the months of a period up to now, at most a year's, the oldest first."""
    end = min(period.end, now) if period is not None else now
    first = dt.date(end.year, end.month, 1)
    months: list[dt.date] = []
    while len(months) < _MOST_MONTHS and (period is None or first >= period.start.date().replace(day=1)):
        months.append(first)
        first = (first - dt.timedelta(days=1)).replace(day=1)
    return months[::-1]


def _lines(told: dict[str, str]) -> str:
    return "\n".join(f"{group}: {total}" for group, total in told.items())


def _first(sums: dict[str, float], told: dict[str, str], order: str) -> str:
    """Tell the group asked for, and the others behind it."""
    ranked = sorted(sums, key=sums.__getitem__, reverse=order == "most")
    others = ", ".join(f"{group} {told[group]}" for group in ranked[1:4])
    return f"{ranked[0]}, {told[ranked[0]]}" + (f"; then {others}" if others else "")
