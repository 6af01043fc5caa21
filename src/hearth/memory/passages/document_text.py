"""Reads the text of a document, whatever its format says it is; formats of others only in a process of their own.

Text, Markdown, CSV and HTML are read here, as no more than bytes. PDF, Word, OpenDocument and Excel files are given to
a worker process (`python -m hearth.memory.passages.document_worker`) with a bound on memory, processor time and output;
their readers are the extra `documents`. What breaks the worker is a file that cannot be read, and nothing else.

Covered: wrong endings (the first bytes decide), archives within archives and documents that unpack to far more than
they are (the bounds), encrypted ones (said).
Not covered: pictures and scanned pages without text, presentations, old Word files.
"""

from __future__ import annotations

import csv
import io
import subprocess
import sys

from hearth.errors import HearthError
from hearth.tools.files import decoded
from hearth.tools.mail.html_text import looks_like_html, text_of_html

MAX_DOCUMENT_BYTES = 50_000_000
MAX_TEXT_CHARACTERS = 400_000
WORKER_S = 30.0
WORKER_BYTES = 1_000_000_000
"""Most memory that a worker may ask for."""
_MAX_ROWS = 5_000
_PACKED = b"PK\x03\x04"
_WORKED = {"pdf": "pdf", "docx": "docx", "odt": "odt", "xlsx": "xlsx", "xlsm": "xlsx"}


class Unreadable(HearthError):
    """A file whose text cannot be read, and why."""


def text_of(name: str, data: bytes) -> str:
    """Return the text of a file.

    Args:
        name: Its name or path; the ending tells formats apart that begin alike.
    Raises:
        Unreadable: It holds no text that can be read; says why and what to do.
    """
    ending = name.rpartition(".")[2].lower()
    if data.startswith(b"%PDF"):
        return _by_worker("pdf", data)
    if data.startswith(_PACKED):
        if ending not in _WORKED:
            raise Unreadable(
                "a packed file; bring an archive in with `hearth import`, or save it as PDF, DOCX, ODT or XLSX"
            )
        return _by_worker(_WORKED[ending], data)
    text = decoded(data)
    if text is None:
        raise Unreadable("no text: pictures, sound and programs are not read")
    text = text[:MAX_TEXT_CHARACTERS]
    if ending in ("html", "htm") or looks_like_html(text):
        return text_of_html(text)
    if ending in ("csv", "tsv"):
        return _table(text, "\t" if ending == "tsv" else ",")
    return text.replace("\r\n", "\n")


def _table(text: str, separator: str) -> str:
    """Return the rows of a table, their cells apart by ` | `."""
    first = text.partition("\n")[0]
    separator = ";" if separator == "," and first.count(";") > first.count(",") else separator
    try:
        rows = [row for _, row in zip(range(_MAX_ROWS), csv.reader(io.StringIO(text), delimiter=separator))]
    except csv.Error as error:
        raise Unreadable(f"no table of cells: {error}") from None
    return "\n".join(" | ".join(" ".join(cell.split()) for cell in row) for row in rows if any(row))


def _by_worker(kind: str, data: bytes) -> str:
    command = [sys.executable, "-P", "-m", "hearth.memory.passages.document_worker", kind, str(WORKER_BYTES)]
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=WORKER_S, check=False)
    except subprocess.TimeoutExpired:
        raise Unreadable(f"reading it takes longer than {WORKER_S:.0f} s") from None
    except OSError as error:
        raise Unreadable(f"no process could be started to read it: {error.strerror}") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise Unreadable(said[-1][:300] if said and done.returncode == 3 else "damaged: its reader broke on it")
    return done.stdout.decode(errors="replace")[:MAX_TEXT_CHARACTERS]
