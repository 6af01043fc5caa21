"""Reads the text of PDF, Word, OpenDocument, Excel and RTF files, in the process for strangers' bytes alone; and of a
PDF's pages that are pictures, as scans are, the writing.

Not covered: bounds on processor time and memory; `formats.bounded_reading` sets those around the whole process.
"""

from __future__ import annotations

import importlib
import io
import zipfile
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from hearth.errors import Unreadable
from hearth.memory.search.rich_text import rtf_pieces

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

MAX_TEXT_CHARACTERS = 400_000
MAX_UNPACKED_BYTES = 200_000_000
MAX_PAGES = 1_000
MAX_ROWS = 5_000
MAX_PAGE_PICTURES = 20
SCANNED, PAGE_END = "\x1a", "\f"
"""Stand in the text of a PDF for a page that is a picture, and behind each page."""
_LEAST_LETTERS = 20
"""What a page with pictures holds beside them is no text below this: a number, a mark of the scanner."""
_ENCRYPTED = "it is encrypted; save it without a password"
_MOST_MANIFEST_BYTES = 2_000_000
_INSTALL = "pip install 'hearth-agent[documents]'"


def _pdf(data: bytes) -> Iterator[str]:
    for page, _ in zip(_opened(data).pages, range(MAX_PAGES), strict=False):
        text = page.extract_text().replace(PAGE_END, " ").replace(SCANNED, " ")
        is_scanned = sum(map(str.isalnum, text)) < _LEAST_LETTERS and bool(page.images.keys())
        yield f"{text}\n\n{SCANNED if is_scanned else ''}{PAGE_END}"


def _opened(data: bytes) -> PdfReader:
    import pypdf

    reader = pypdf.PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise Unreadable(_ENCRYPTED)
    return reader


def page_writing(data: bytes, options: Mapping[str, object]) -> Iterator[bytes]:
    """Yield the writing in the pictures of one page of a PDF.
    Args: options: `page`, counted from 0, and `reader`, what reads the writing in a picture, as `module:function`.
    Raises: Unreadable: As the reader says, or the pictures are packed in a way that is not read."""
    module, _, function = str(options["reader"]).partition(":")
    read: Callable[[bytes, Mapping[str, object]], Iterator[bytes]] = getattr(importlib.import_module(module), function)
    for picture in _page_pictures(_opened(data).pages[int(str(options["page"]))]):
        yield from read(picture, {})


def _page_pictures(page: PageObject) -> Iterator[bytes]:
    """Yield a page's pictures as PNG or JPEG, upright."""
    for picture, _ in zip(page.images, range(MAX_PAGE_PICTURES), strict=False):
        if picture.data.startswith(b"\xff\xd8\xff") and not page.rotation:
            yield picture.data
        elif picture.image is None:
            raise Unreadable("a picture packed in a way that is not read")
        else:
            kept = io.BytesIO()
            picture.image.convert("RGB").rotate(-page.rotation, expand=True).save(kept, "PNG")
            yield kept.getvalue()


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

    if _is_encrypted_odt(_checked(data)):
        raise Unreadable(_ENCRYPTED)
    for part in load(io.BytesIO(data)).text.childNodes:
        rows = part.getElementsByType(TableRow)
        for row in rows:
            yield " | ".join(" ".join(teletype.extractText(cell).split()) for cell in row.childNodes) + "\n"
        yield "\n" if rows else f"{teletype.extractText(part)}\n\n"


def _is_encrypted_odt(data: bytes) -> bool:
    """Return whether an OpenDocument file lists parts that are encrypted: the archive itself does not say so."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if "META-INF/manifest.xml" not in archive.namelist():
            return False
        with archive.open("META-INF/manifest.xml") as manifest:
            return b"encryption-data" in manifest.read(_MOST_MANIFEST_BYTES)


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
            raise Unreadable(_ENCRYPTED)
        if sum(part.file_size for part in parts) > MAX_UNPACKED_BYTES:
            raise Unreadable(f"it unpacks to more than {MAX_UNPACKED_BYTES / 1e6:.0f} MB")
    return data


_READERS: Mapping[str, Callable[[bytes], Iterator[str]]] = {
    "pdf": _pdf,
    "docx": _docx,
    "odt": _odt,
    "xlsx": _xlsx,
    "rtf": rtf_pieces,
}


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
