"""Reads one document from standard input and writes its text to standard output, for `document_text`.

It limits its own memory and processor time before it reads a byte, opens no file and no connection, and ends with 3 and
one sentence on standard error where the document cannot be read.
"""

from __future__ import annotations

import io
import resource
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping

MAX_TEXT_CHARACTERS = 400_000
MAX_UNPACKED_BYTES = 200_000_000
MAX_PAGES = 1_000
MAX_ROWS = 5_000
CPU_S = 25
_INSTALL = "pip install 'hearth-agent[documents]'"


class _Fault(Exception):
    """Why a document cannot be read, in words for its owner."""


def _pdf(data: bytes) -> Iterator[str]:
    import pypdf

    reader = pypdf.PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise _Fault("it is encrypted; save it without a password")
    found = False
    for page, _ in zip(reader.pages, range(MAX_PAGES), strict=False):
        text = page.extract_text()
        found = found or bool(text.strip())
        yield f"{text}\n\n"
    if not found:
        raise _Fault("a PDF without text, such as a scan")


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
            raise _Fault("it is encrypted; save it without a password")
        if sum(part.file_size for part in parts) > MAX_UNPACKED_BYTES:
            raise _Fault(f"it unpacks to more than {MAX_UNPACKED_BYTES / 1e6:.0f} MB")
    return data


_READERS: Mapping[str, Callable[[bytes], Iterator[str]]] = {"pdf": _pdf, "docx": _docx, "odt": _odt, "xlsx": _xlsx}


def main(kind: str, n_most_bytes: int) -> int:
    """Read, write, and return the exit status: 0, or 3 with a sentence on standard error."""
    resource.setrlimit(resource.RLIMIT_AS, (n_most_bytes, n_most_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    n_written = 0
    try:
        for piece in _READERS[kind](sys.stdin.buffer.read()):
            sys.stdout.buffer.write(piece.encode(errors="replace"))
            n_written += len(piece)
            if n_written > MAX_TEXT_CHARACTERS:
                break
    except ModuleNotFoundError:
        print(f"the reader of {kind.upper()} files is not installed: {_INSTALL}", file=sys.stderr)
        return 3
    except _Fault as error:
        print(error, file=sys.stderr)
        return 3
    except Exception as error:
        # Whatever a reader breaks on: the file is a stranger's, and the process ends here.
        print(f"damaged: {type(error).__name__}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
