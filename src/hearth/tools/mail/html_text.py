"""Extract plain text from an HTML mail in linear time, whatever the mail holds.

Uses an own scanner: the standard library's parser takes quadratic time on tags that never close, and mails come from
strangers. Covered: blocks and lists as lines; a table's rows as lines of cells apart by ` | `, or as `label: value`
where a cell says what the next one is; links as `words (address)`; scripts, styles, comments and what the mail hides
from view are left out. Not covered: layout, pictures (their `alt` text is kept), frames.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

N_MAX_CHARACTERS = 400_000
N_MAX_TAG_CHARACTERS = 4_000

_BLOCKS = frozenset(
    ["address", "article", "aside", "blockquote", "center", "dd", "div", "dl", "dt", "fieldset", "figure", "footer"]
)
_BLOCKS |= frozenset(
    ["form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre"]
)
_BLOCKS |= frozenset(["section", "table", "tbody", "tfoot", "thead", "tr", "ul", "body", "html", "br", "caption"])
_ROW_GROUPS = frozenset(["tbody", "tfoot", "thead"])
_UNSEEN = frozenset(["script", "style", "head", "title", "template", "noscript", "object", "svg", "select", "iframe"])
_VOID = frozenset(
    ["br", "hr", "img", "input", "meta", "link", "area", "base", "col", "embed", "source", "track", "wbr"]
)
_NAME = re.compile(r"</?([a-zA-Z][a-zA-Z0-9:-]*)")
_ATTRIBUTE = re.compile(r"(?<![\w-])(href|alt|style|hidden)(?:\s{0,5}=\s{0,5}(\"[^\"]*\"|'[^']*'|[^\s>\"']+))?", re.I)
_HIDING = re.compile(
    r"display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}hidden|font-size\s{0,3}:\s{0,3}0(?![.\d])", re.I
)


_MOST_CELL_CHARACTERS = 160
"""A longer cell holds a text of its own, as where a table only lays a mail out."""
_MOST_LABEL_CHARACTERS = 60
_LEAST_CELLS = 2


@dataclass(slots=True)
class _Row:
    """A row of a table that is being read."""

    start: int
    """Its place among the pieces."""
    cells: list[int] = field(default_factory=list)
    """Where each cell begins."""
    is_heading: list[bool] = field(default_factory=list)
    """Whether a cell is one that says what others are: marked so, or bold from its beginning."""
    is_layout: bool = False
    """Whether it holds a table itself."""


@dataclass(slots=True)
class _Table:
    row: _Row | None = None
    n_rows: int = 0
    is_headed: bool = False
    """Whether its first row says what the columns are."""


def text_of_html(source: str) -> str:
    """Return the plain text of an HTML document; anything beyond 400,000 characters is not read."""
    return _Scanner(source[:N_MAX_CHARACTERS]).text()


class _Scanner:
    def __init__(self, source: str) -> None:
        self._source = source
        self._lowered = source.lower() if len(source.lower()) == len(source) else source
        self._pieces: list[str] = []
        self._tables: list[_Table] = []
        self._link: tuple[str, int] | None = None
        """Address of the open link and its place in `_pieces`; links do not nest."""
        self._unseen = ""
        """Name of the element that is being left out, and the number of open ones of that name in it."""
        self._n_unseen = 0
        self._has_no_more: set[str] = set()
        """End tags that were searched for once without success; they are not searched for again."""

    def text(self) -> str:
        place, source = 0, self._source
        while place < len(source):
            start = source.find("<", place)
            self._say(source[place : start if start >= 0 else len(source)])
            if start < 0:
                break
            place = self._markup(start)
        lines = [" ".join(line.split()) for line in "".join(self._pieces).split("\n")]
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()

    def _say(self, text: str) -> None:
        if not self._unseen and text:
            self._pieces.append(re.sub(r"\s+", " ", html.unescape(text)))

    def _markup(self, start: int) -> int:
        """Read the markup that begins at `start`; return the place after it."""
        source = self._source
        if source.startswith("<!--", start):
            return self._after("-->", start + 4)
        if source.startswith(("<!", "<?"), start):
            return self._after(">", start + 2)
        name = _NAME.match(source, start)
        end = source.find(">", start, start + N_MAX_TAG_CHARACTERS) if name else -1
        if name is None or end < 0:
            self._say("<")
            return start + 1
        tag = name[1].lower()
        if source[start + 1] == "/":
            self._close(tag)
        else:
            self._open(tag, source[name.end() : end])
            if tag in ("script", "style") and self._unseen == tag:
                # Their content is no markup: only their own end tag ends them.
                return self._after_unseen(f"</{tag}", end + 1)
        return end + 1

    def _after(self, ending: str, place: int) -> int:
        if ending in self._has_no_more:
            return len(self._source)
        found = self._source.find(ending, place)
        if found < 0:
            self._has_no_more.add(ending)
            return len(self._source)
        return found + len(ending)

    def _after_unseen(self, ending: str, place: int) -> int:
        found = self._lowered.find(ending, place)
        return found if found >= 0 else len(self._source)

    def _open(self, tag: str, rest: str) -> None:
        if self._unseen:
            self._n_unseen += tag == self._unseen
            return
        attributes = {m[1].lower(): html.unescape((m[2] or "").strip("\"'")) for m in _ATTRIBUTE.finditer(rest)}
        is_hidden = "hidden" in attributes or _HIDING.search(attributes.get("style", "")) is not None
        if (tag in _UNSEEN or is_hidden) and tag not in _VOID:
            self._unseen, self._n_unseen = tag, 1
            return
        if tag in ("table", "tr", "td", "th", "b", "strong"):
            self._open_in_table(tag)
        if tag in ("td", "th"):
            self._pieces.append(" ")
        if tag in _BLOCKS:
            self._pieces.append(
                "\n- "
                if tag == "li"
                else "\n\n"
                if tag in ("p", "table", "h1", "h2", "h3")
                else ""
                if tag in _ROW_GROUPS
                else "\n"
            )
        elif tag == "img":
            self._say(attributes.get("alt", ""))
        elif tag == "a":
            self._link = (attributes.get("href", "").strip(), len(self._pieces))

    def _close(self, tag: str) -> None:
        if self._unseen:
            self._n_unseen -= tag == self._unseen
            if not self._n_unseen:
                self._unseen = ""
        elif tag in _BLOCKS:
            if tag in ("tr", "table") and self._tables:
                self._end_row(self._tables[-1] if tag == "tr" else self._tables.pop())
            self._pieces.append("" if tag in _ROW_GROUPS or tag == "tr" else "\n")
        elif tag == "a" and self._link:
            (address, place), self._link = self._link, None
            said = "".join(self._pieces[place:]).strip()
            address = address.removeprefix("mailto:")
            if address and said and not address.startswith(("#", "javascript:", "data:")) and said not in address:
                self._pieces.append(f" ({address})")

    # ── Tables ────────────────────────────────────────────────────────────────────────────────────────────

    def _open_in_table(self, tag: str) -> None:
        """Note where a table, a row, a cell or its heading begins."""
        if tag == "table":
            if self._tables and self._tables[-1].row is not None:
                self._tables[-1].row.is_layout = True
            self._tables.append(_Table())
            return
        if not self._tables:
            return
        table = self._tables[-1]
        if tag == "tr":
            self._end_row(table)
        elif tag in ("td", "th"):
            table.row = table.row or _Row(len(self._pieces))
            table.row.cells.append(len(self._pieces))
            table.row.is_heading.append(tag == "th")
        elif table.row is not None and not "".join(self._pieces[table.row.cells[-1] :]).strip():
            table.row.is_heading[-1] = True

    def _end_row(self, table: _Table) -> None:
        """Write the row that is being read as a line of its cells, if it is one of short cells."""
        row, table.row = table.row, None
        if row is None or row.is_layout:
            return
        ends = [*row.cells[1:], len(self._pieces)]
        cells = [" ".join("".join(self._pieces[start:end]).split()) for start, end in zip(row.cells, ends, strict=True)]
        told = _row_text(cells, row.is_heading, table)
        table.n_rows += 1
        if told:
            self._pieces[row.start :] = [told]
            self._link = None


def _row_text(cells: Sequence[str], is_heading: Sequence[bool], table: _Table) -> str:
    """Write a row: its cells apart by ` | `, or each label with its value; empty where it only lays a text out."""
    if sum(map(bool, cells)) < _LEAST_CELLS or max(map(len, cells)) > _MOST_CELL_CHARACTERS:
        return ""
    if all(is_heading) and not table.n_rows:
        table.is_headed = True
    labels, values = cells[0::2], cells[1::2]
    is_alternating = len(cells) % 2 == 0 and all(is_heading[0::2]) and not any(is_heading[1::2])
    if table.is_headed or not (is_alternating or len(cells) == _LEAST_CELLS):
        return " | ".join(cells)
    if max(map(len, labels)) > _MOST_LABEL_CHARACTERS:
        return ""
    return "\n".join(f"{label.rstrip(':')}: {value}" for label, value in zip(labels, values, strict=True) if value)


def looks_like_html(text: str) -> bool:
    """Say whether a text that claims to be plain is actually HTML."""
    return re.match(r"\s*(?:<!doctype html|<html|<body)\b", text[:200], re.I) is not None
