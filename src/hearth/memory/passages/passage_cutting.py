"""Cuts a text into passages and sentences: pieces that are found, read and quoted on their own.

A passage ends at a blank line, else at the end of a line, else of a sentence, else between words; only a single word
longer than a passage is cut. Where a table's rows fill several passages, each begins with the table's first row, so
that a cell can be read by its column.

Not covered: headings that say what the passages below them are about (the record's title is put before each instead).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hearth import patterns as re

N_MOST_CHARACTERS = 700
_LEAST_FULL = 0.4
"""A passage is ended at a weaker boundary only if ending it at a stronger one would leave it emptier than this."""
_BOUNDARIES = tuple(re.compile(form) for form in (r"\n[ \t]*\n\s*", r"\n\s*", r"(?<=[.!?…])[\"”’)\]]*\s+", r"\s+"))
SENTENCE = re.compile(
    r"(?:[^.!?\n]|[.](?=\w)|(?<=\b[DM]r)[.]|(?<=\bMrs)[.]|(?<=\bMs)[.]|(?<=\bNo)[.](?= ?\d)"
    r"|(?<=\b[A-Z])[.](?= [A-Z]))+[.!?]*"
)
"""A sentence; it goes on behind a title or an initial: "Dr. Hartlen", "C. Muise"."""
_WRAPPED = re.compile(r"(?m)^([^\n|]{40,}[^\s.!?:|])\n(?=[a-z(\d](?![^\n:]{0,60}:(?:\s|$))[^\n|]*$)")
_ROW = re.compile(r"[^\n|]*(?:\|[^\n|]*){1,40}")


@dataclass(frozen=True, slots=True)
class Cut:
    """A stretch of a text."""

    start: int
    end: int
    head: str = ""
    """The first row of the table that the stretch continues; empty: it continues none."""


def unwrapped(text: str) -> str:
    """Return a text of the same length in which a line broken in the middle of a sentence goes on with a blank."""
    return _WRAPPED.sub(lambda found: f"{found[1]} ", text)


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text in order, their blanks made single."""
    return [said for found in SENTENCE.finditer(unwrapped(text)) if (said := " ".join(found.group().split()))]


def sentence_at(text: str, place: int) -> str:
    """Return the sentence that holds the character at a place; empty between sentences."""
    found = next((one for one in SENTENCE.finditer(unwrapped(text)) if one.start() <= place < one.end()), None)
    return " ".join(found.group().split()) if found is not None else ""


def passages_of(text: str, n_most: int = N_MOST_CHARACTERS) -> Iterator[Cut]:
    """Cut a text into passages of at most `n_most` characters, in order, without the blanks around them."""
    start, head = 0, ""
    while start < len(text):
        end = _end(text, start, n_most)
        piece = text[start:end]
        first = start + len(piece) - len(piece.lstrip())
        last = first + len(piece.strip())
        if first < last:
            yield Cut(first, last, head)
        head = _head(text, first, end, head)
        start = end


def _end(text: str, start: int, n_most: int) -> int:
    if len(text) - start <= n_most:
        return len(text)
    window = text[start : start + n_most]
    for boundary in _BOUNDARIES:
        ends = [found.end() for found in boundary.finditer(window)]
        if ends and ends[-1] >= _LEAST_FULL * n_most:
            return start + ends[-1]
    return start + n_most


def _head(text: str, start: int, end: int, head: str) -> str:
    """Return the first row of the table that goes on behind `end`; empty when none does."""
    after = text[end : end + 1000].lstrip(" \t").partition("\n")[0]
    rows = text[start:end].rstrip().split("\n")
    if not (_ROW.fullmatch(after) and _ROW.fullmatch(rows[-1])):
        return ""
    n_rows = next((n for n, row in enumerate(reversed(rows)) if not _ROW.fullmatch(row)), len(rows))
    return head if head and n_rows == len(rows) else rows[len(rows) - n_rows][:200]
