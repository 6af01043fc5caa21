"""Reads the text of a document, whatever its format says it is; formats of others only in a process of their own.

Text, Markdown, CSV and HTML are read here, as no more than bytes. PDF, Word, OpenDocument and Excel files are read in
the process for strangers' bytes (`formats.untrusted`) by `office_documents`; their readers are the extra
`documents`. What breaks that process is a file that cannot be read, and nothing else.

Covered: wrong endings (the first bytes decide), archives within archives and documents that unpack to far more than
they are (the bounds), encrypted ones (said).
The writing in pictures, and in pages of a PDF that are pictures, is read by what is installed for it (`hearth.readers`;
hearth-video brings a reader).
Not covered: presentations, old Word files, pages of a PDF that hold text and pictures with writing.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass

from hearth.errors import Unreadable
from hearth.formats.untrusted.bounded_reading import Bounds, read_bounded
from hearth.memory.passages.office_documents import PAGE_END, SCANNED
from hearth.registry import INSTALL_COMMANDS, READERS, place_of
from hearth.tools.files import decoded
from hearth.tools.mail.mime import looks_like_html, text_of_html

MAX_DOCUMENT_BYTES = 50_000_000
MAX_TEXT_CHARACTERS = 400_000
_MAX_ROWS = 5_000
_BOUNDS = Bounds(cpu_s=25, wait_s=30, n_most_bytes=4 * MAX_TEXT_CHARACTERS + 2_000_000)
_PICTURE_BOUNDS = Bounds(cpu_s=60, wait_s=90, n_most_bytes=_BOUNDS.n_most_bytes, memory_bytes=3_000_000_000)
_PICTURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")
"""First bytes of PNG and JPEG."""
_PAGE_WRITING = "hearth.memory.passages.office_documents:page_writing"
MAX_SCANNED_PAGES = 20
UNREAD_PICTURES = f"pictures, whose writing is read with {INSTALL_COMMANDS['hearth-video']}"
_PACKED = b"PK\x03\x04"
_RULE = re.compile(r"[\s|:-]*-[\s|:-]*")
_MARKDOWN_TABLE = re.compile(
    r"(?m)^[^\n|]*\|[^\n]*\n[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-*:?[ \t]*)+$(?:\n[^\n|]*\|[^\n]*)*"
)
"""The first row, the line of dashes below it, and the rows that follow."""
_WORKED = {"pdf": "pdf", "docx": "docx", "odt": "odt", "xlsx": "xlsx", "xlsm": "xlsx"}


@dataclass(frozen=True, slots=True)
class DocumentText:
    """What a document says, as far as it is read."""

    text: str
    fault: str = ""
    """What of it could not be read, and why."""
    is_waiting: bool = False
    """Whether pictures in it are still to be read."""


def text_of(name: str, data: bytes, *, with_pictures: bool = True) -> DocumentText:
    """Return the text of a file.

    Args:
        name: Its name or path; the ending tells formats apart that begin alike.
        with_pictures: Whether the writing in pictures is read now; a second or two each.
    Raises:
        Unreadable: It holds no text that can be read; says why and what to do.
    """
    ending = name.rpartition(".")[2].lower()
    if is_picture(data):
        if is_left := _left_pictures(with_pictures):
            return is_left
        return DocumentText(picture_text(data))
    if data.startswith(b"%PDF"):
        return _pdf_text(_office_text("pdf", data), data, with_pictures=with_pictures)
    if data.startswith(_PACKED):
        if ending not in _WORKED:
            raise Unreadable(
                "a packed file; bring an archive in with `hearth import`, or save it as PDF, DOCX, ODT or XLSX"
            )
        return DocumentText(_office_text(_WORKED[ending], data))
    text = decoded(data)
    if text is None:
        raise Unreadable("no text: pictures, sound and programs are not read")
    text = text[:MAX_TEXT_CHARACTERS]
    if ending in ("html", "htm") or looks_like_html(text):
        return DocumentText(text_of_html(text))
    if ending in ("csv", "tsv"):
        return DocumentText(_table(text, "\t" if ending == "tsv" else ","))
    return DocumentText(plain_tables(text.replace("\r\n", "\n")))


def is_of_read_kind(name: str, data: bytes) -> bool:
    """Return whether a file is of a kind whose text is read, so that none in it is a fault."""
    is_packed = data.startswith(_PACKED) and name.rpartition(".")[2].lower() in _WORKED
    return is_packed or data.startswith(b"%PDF") or is_picture(data)


def is_picture(data: bytes) -> bool:
    return data.startswith(_PICTURES)


def reads_pictures() -> bool:
    """Return whether something is installed that reads the writing in pictures."""
    return bool(place_of(READERS, "picture"))


def picture_text(data: bytes) -> str:
    """Return the lines of writing in a picture; empty where there is none. Raises: Unreadable: It is damaged, or takes
    too much."""
    read = read_bounded(place_of(READERS, "picture"), data, _PICTURE_BOUNDS, {})
    return read.decode(errors="replace")[:MAX_TEXT_CHARACTERS]


def _left_pictures(with_pictures: bool) -> DocumentText | None:
    """Return what is said of a picture that is left for later; None where it is to be read now."""
    if not reads_pictures():
        return DocumentText("", UNREAD_PICTURES, is_waiting=True)
    return None if with_pictures else DocumentText("", is_waiting=True)


def _pdf_text(read: str, data: bytes, *, with_pictures: bool) -> DocumentText:
    """Return the text of a PDF, page after page; of pages that are pictures, their writing."""
    pages = read.split(PAGE_END)
    scanned = [n for n, page in enumerate(pages) if SCANNED in page]
    left = _left_pictures(with_pictures) if scanned else None
    faults: list[str] = [left.fault] if left is not None and left.fault else []
    for n in () if left is not None else scanned[:MAX_SCANNED_PAGES]:
        asked = {"page": n, "reader": place_of(READERS, "picture")}
        try:
            pages[n] += read_bounded(_PAGE_WRITING, data, _PICTURE_BOUNDS, asked).decode(errors="replace")
        except Unreadable as error:
            faults.append(f"page {n + 1}: {error}")
    if left is None and len(scanned) > MAX_SCANNED_PAGES:
        faults.append(f"the scanned pages after the first {MAX_SCANNED_PAGES}")
    text = "".join(pages).replace(SCANNED, "")[:MAX_TEXT_CHARACTERS]
    return DocumentText(text, "; ".join(faults), is_waiting=left is not None)


def plain_tables(text: str) -> str:
    """Return a text whose Markdown tables have rows as all tables here: cells apart by ` | `, without the line of
    dashes."""

    def plain(found: re.Match[str]) -> str:
        rows = (row.strip().removeprefix("|").removesuffix("|") for row in found.group().split("\n"))
        lines = (
            " | ".join(" ".join(cell.split()) for cell in row.split("|")) for row in rows if not _RULE.fullmatch(row)
        )
        return "\n".join(lines)

    return _MARKDOWN_TABLE.sub(plain, text)


def _table(text: str, separator: str) -> str:
    """Return the rows of a table, their cells apart by ` | `."""
    first = text.partition("\n")[0]
    separator = ";" if separator == "," and first.count(";") > first.count(",") else separator
    try:
        rows = [row for _, row in zip(range(_MAX_ROWS), csv.reader(io.StringIO(text), delimiter=separator))]
    except csv.Error as error:
        raise Unreadable(f"no table of cells: {error}") from None
    return "\n".join(" | ".join(" ".join(cell.split()) for cell in row) for row in rows if any(row))


def _office_text(kind: str, data: bytes) -> str:
    read = read_bounded("hearth.memory.passages.office_documents:text_pieces", data, _BOUNDS, {"kind": kind})
    return read.decode(errors="replace")[:MAX_TEXT_CHARACTERS]
