"""Works out a number over one table: how many rows, the difference of two cells, a sum, where a question asks for it.

Rows are those of text with cells apart by ` | `; the first is the head. A row counts where it holds the words of the
question that stand somewhere in the table's cells, and meets a bound ("after 1990", "at least 500"). The column is the
one whose head shares most words with the question.

Not covered: several conditions on different columns with or, rows that follow one another, averages, units.
"""

from __future__ import annotations

from collections.abc import Sequence

from hearth import patterns as re
from hearth.language.text.tokens import word_set
from hearth.language.text.word_match import folded, stem

_ASKS = re.compile(
    r"\b(?:how many|number of|how much (?:more|less|older|younger)|difference|change|combined|total|altogether|sum)\b",
    re.I,
)
_DIFFERENCE = re.compile(r"\b(?:difference|change|how (?:many|much) (?:more|less|fewer|older|younger|longer))\b", re.I)
_SUM = re.compile(r"\b(?:combined|altogether|sum|total (?!number of)\w+|in total)\b", re.I)
_BOUND = re.compile(
    r"\b(?P<how>after|since|before|at least|more than|over|above|at most|less than|fewer than|under|below|until)\s+"
    r"(?P<n>\d[\d,.]*)",
    re.I,
)
_UP = frozenset({"after", "more than", "over", "above"})
_FROM = frozenset({"since", "at least"})
_DOWN = frozenset({"before", "less than", "fewer than", "under", "below"})
_SMALL = word_set("""how many much what which who is are was were the a an of in on at for to by from and or did do does
    has have had number total there their they with this that tell me all be been than more less difference change
    between combined sum altogether after before since least most over under above below until only not it its list
    listed""")
_NUMBER = re.compile(r"\(?-?[€£$]?\d[\d,]*(?:\.\d+)?\)?")
Row = Sequence[str]


def counted(question: str, text: str) -> str | None:
    """Return the number that answers a question over the table in `text`; None where there is none to work out."""
    rows = [[cell.strip() for cell in line.split("|")] for line in text.split("\n") if line.count("|") >= 1]
    if len(rows) < 3 or not _ASKS.search(question):
        return None
    head, body = rows[0], rows[1:]
    asked = _stems(question)
    if _DIFFERENCE.search(question):
        return _plain(_difference(question, asked, head, body))
    chosen = [row for row in body if _meets(question, asked, head, row, body)]
    if _SUM.search(question):
        column = _column(asked, head, body)
        values = [value for row in chosen if column < len(row) and (value := _value(row[column])) is not None]
        return _plain(sum(values)) if values else None
    return str(len(chosen)) if chosen else None


def _meets(question: str, asked: set[str], head: Row, row: Row, body: Sequence[Row]) -> bool:
    """Return whether a row holds the words that the table's cells know of the question, and meets its bound."""
    bound = _BOUND.search(question)
    if bound is not None:
        limit = _value(bound["n"])
        column = _bounded_column(asked, head, body, limit)
        value = _value(row[column]) if column < len(row) else None
        how = " ".join(bound["how"].casefold().split())
        if value is None or limit is None:
            return False
        if not _is_within(value, limit, how):
            return False
        asked = asked - _stems(bound["n"])
    known = {word for other in body for cell in other for word in _stems(cell)}
    wanted = (asked & known) - _stems(" ".join(head))
    return wanted <= {word for cell in row for word in _stems(cell)}


def _is_within(value: float, limit: float, how: str) -> bool:
    if how in _UP:
        return value > limit
    if how in _FROM:
        return value >= limit
    return value < limit if how in _DOWN else value <= limit


def _difference(question: str, asked: set[str], head: Row, body: Sequence[Row]) -> float | None:
    years = re.findall(r"\b(?:19|20)\d\d\b", question)
    heads = [head, *body[:3]]
    columns = [
        next((k for row in heads for k, cell in enumerate(row) if k and year in cell), -1)
        for year in dict.fromkeys(years)
    ]
    best = max(body, key=lambda row: len(asked & _stems(row[0])))
    if len(columns) == 2 and min(columns) >= 0:
        later, earlier = (columns[list(dict.fromkeys(years)).index(year)] for year in (max(years), min(years)))
        values = [_value(best[k]) if k < len(best) else None for k in (earlier, later)]
    else:
        named = sorted(body, key=lambda row: -len(asked & {w for cell in row for w in _stems(cell)}))[:2]
        column = _column(asked, head, body)
        values = [_value(row[column]) if column < len(row) else None for row in named]
    if len(values) < 2 or values[0] is None or values[1] is None:
        return None
    difference = values[1] - values[0]
    return difference if len(columns) == 2 and min(columns) >= 0 else abs(difference)


def _column(asked: set[str], head: Row, body: Sequence[Row]) -> int:
    """Return the column of numbers whose head shares most words with the question."""
    numeric = [
        k for k in range(len(head)) if sum(k < len(row) and _value(row[k]) is not None for row in body) * 2 > len(body)
    ]
    return max(numeric or [0], key=lambda k: (len(asked & _stems(head[k])), k))


def _bounded_column(asked: set[str], head: Row, body: Sequence[Row], limit: float | None) -> int:
    """Return the column that a bound speaks of: of years for a year, else the one that the question names."""
    if limit is not None and 1500 <= limit <= 2100:

        def n_years(k: int) -> int:
            return sum(k < len(row) and 1500 <= (_value(row[k]) or 0) <= 2100 for row in body)

        best = max(range(len(head)), key=n_years)
        if n_years(best):
            return best
    return _column(asked, head, body)


def _stems(text: str) -> set[str]:
    return {stem(word) for word in re.findall(r"\w+", folded(text))} - _SMALL


def _value(cell: str) -> float | None:
    found = _NUMBER.search(cell)
    if found is None:
        return None
    digits = re.sub(r"[^\d.]", "", found.group())
    value = float(digits) if digits.strip(".") else None
    is_negative = found.group().startswith(("(", "-")) and (found.group().endswith(")") or "-" in found.group())
    return -value if value is not None and is_negative else value


def _plain(value: float | None) -> str | None:
    return None if value is None else f"{round(value, 4):g}"
