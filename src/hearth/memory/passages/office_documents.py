"""Reads the text of PDF, Word, OpenDocument and Excel files, in the process for strangers' bytes alone.

Not covered: bounds on processor time and memory; `formats.untrusted` sets those around the whole process.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator, Mapping

from hearth.errors import Unreadable

MAX_TEXT_CHARACTERS = 400_000
MAX_UNPACKED_BYTES = 200_000_000
MAX_PAGES = 1_000
MAX_ROWS = 5_000
_INSTALL = "pip install 'hearth-agent[documents]'"


def _pdf(data: bytes) -> Iterator[str]:
    import pypdf

    reader = pypdf.PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise Unreadable("it is encrypted; save it without a password")
    found = False
    for page, _ in zip(reader.pages, range(MAX_PAGES), strict=False):
        text = page.extract_text()
        found = found or bool(text.strip())
        yield f"{text}\n\n"
    if not found:
        raise Unreadable("a PDF without text, such as a scan")


def _docx(data: bytes) -> Iterator[str]:
    import docx
    from docx.table import Table

    for block in docx.Document(io.BytesIO(_checked(data))).iter_inner_content():
        if isinstance(block, Table):
            yield (
                "\n".join(" | ".join(" ".join(cell.text.split()) for cell in row.cells) for row in block.rows) + "\n\n"
            )
        else:
            yield f"{block.text}\n\n"


def _odt(data: bytes) -> Iterator[str]:
    from odf import teletype
    from odf.opendocument import load
    from odf.table import TableRow

    for part in load(io.BytesIO(_checked(data))).text.childNodes:
        rows = part.getElementsByType(TableRow)
        for row in rows:
            yield " | ".join(" ".join(teletype.extractText(cell).split()) for cell in row.childNodes) + "\n"
        yield "\n" if rows else f"{teletype.extractText(part)}\n\n"


def _xlsx(data: bytes) -> Iterator[str]:
    import openpyxl

    book = openpyxl.load_workbook(io.BytesIO(_checked(data)), read_only=True, data_only=True)
    for sheet in book.worksheets:
        yield f"{sheet.title}\n\n"
        for row, _ in zip(sheet.iter_rows(values_only=True), range(MAX_ROWS), strict=False):
            if any(cell is not None for cell in row):
                yield " | ".join("" if cell is None else " ".join(str(cell).split()) for cell in row) + "\n"
        yield "\n"


def _checked(data: bytes) -> bytes:
    """Return a packed document, if what it unpacks to is bounded and not encrypted."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = archive.infolist()
        if any(part.flag_bits & 1 for part in parts):
            raise Unreadable("it is encrypted; save it without a password")
        if sum(part.file_size for part in parts) > MAX_UNPACKED_BYTES:
            raise Unreadable(f"it unpacks to more than {MAX_UNPACKED_BYTES / 1e6:.0f} MB")
    return data


_READERS: Mapping[str, Callable[[bytes], Iterator[str]]] = {"pdf": _pdf, "docx": _docx, "odt": _odt, "xlsx": _xlsx}


def text_pieces(data: bytes, options: Mapping[str, str]) -> Iterator[bytes]:
    """Yield the text of a document of the kind that `options` name, until there is enough of it.

    Raises:
        Unreadable: It is encrypted, has no text, or unpacks to too much, or its reader is not installed.
    """
    kind = options["kind"]
    n_characters = 0
    try:
        for piece in _READERS[kind](data):
            yield piece[:MAX_TEXT_CHARACTERS].encode(errors="replace")
            n_characters += len(piece)
            if n_characters > MAX_TEXT_CHARACTERS:
                return
    except ModuleNotFoundError:
        raise Unreadable(f"the reader of {kind.upper()} files is not installed: {_INSTALL}") from None
