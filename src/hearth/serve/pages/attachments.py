"""Files that the owner drops onto the page, pastes or photographs: typed by what they hold, bounded, kept as documents.

A file's own name and type are a stranger's word: the type is read from its bytes, the name is cleaned, and nothing is
ever replaced. What Hearth cannot read is turned away. A kept file is one of the owner's documents like any other.

Covered: pictures, PDF, office documents, mails, calendars, cards, plain text; names that would leave the folder or
hide. Not covered: what a document contains (it is read as a stranger's text, like every file); sound and video.
"""

from __future__ import annotations

import datetime as dt
import io
import re
import secrets
import zipfile
from pathlib import PurePosixPath

from hearth.errors import NotFound, RequestError
from hearth.protocols import Workspace
from hearth.serve.door import MOST_ATTACHED_BYTES
from hearth.terminal import clean

FOLDER = "documents/attached"
_MOST_NAME = 80
_MOST_ALIKE = 100
_MAGIC = (
    (b"\xff\xd8\xff", "jpg"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"%PDF-", "pdf"),
)
_OFFICE = (("word/document.xml", "docx"), ("xl/workbook.xml", "xlsx"))
_OPEN_OFFICE = {
    b"application/vnd.oasis.opendocument.text": "odt",
    b"application/vnd.oasis.opendocument.spreadsheet": "ods",
}
_TEXTS = ((r"\s*BEGIN:VCALENDAR\r?\n", "ics"), (r"\s*BEGIN:VCARD\r?\n", "vcf"))
_MAIL = re.compile(r"(?:[A-Za-z][A-Za-z-]{1,40}:[^\n]*\n(?:[ \t][^\n]*\n)*){3,}\r?\n")
KINDS = "a picture (JPEG, PNG, GIF, WebP), PDF, Word, Excel, OpenDocument, mail, calendar, card or plain text"


def kind_of(data: bytes) -> str:
    """Return the ending that fits what a file holds. Raises: RequestError: Nothing that Hearth reads."""
    for magic, ending in _MAGIC:
        if data.startswith(magic):
            return ending
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    if data.startswith(b"PK\x03\x04"):
        return _packed(data)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _unknown() from None
    if not text.strip() or re.search(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]", text):
        raise _unknown()
    for form, ending in _TEXTS:
        if re.match(form, text):
            return ending
    head = text[:20_000].replace("\r\n", "\n")
    is_mail = _MAIL.match(head) and re.search(r"^(?:From|Date|Message-ID):", head, re.MULTILINE | re.IGNORECASE)
    return "eml" if is_mail else "txt"


def _packed(data: bytes) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            names = set(packed.namelist())
            for member, ending in _OFFICE:
                if member in names:
                    return ending
            said = packed.getinfo("mimetype") if "mimetype" in names else None
            # What is packed in other ways may ask for gigabytes of memory before its first byte.
            is_plain = said is not None and said.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
            if said is not None and is_plain and said.file_size < 100:
                kind = packed.read("mimetype").strip()
                if kind in _OPEN_OFFICE:
                    return _OPEN_OFFICE[kind]
    except Exception as error:  # zipfile raises more than it says, of what strangers made
        raise _unknown() from error
    raise _unknown()


def _unknown() -> RequestError:
    return RequestError(f"this is no file that Hearth reads; expected {KINDS}")


def keep(workspace: Workspace, name: str, data: bytes, now: dt.datetime) -> str:
    """Keep a file among the owner's documents, and return its path in the owner's folder.

    Raises:
        RequestError: It is empty, too large, or nothing that Hearth reads; nothing was kept.
        StoreError: The disk is full, say; nothing was kept.
    """
    if not data or len(data) > MOST_ATTACHED_BYTES:
        raise RequestError(f"a file has 1 to {MOST_ATTACHED_BYTES:,} bytes, not {len(data):,}; nothing was kept")
    ending = kind_of(data)
    stem = _cleaned(name) or f"{now:%Y-%m-%d %H.%M}"
    for k in range(1, _MOST_ALIKE):
        path = f"{FOLDER}/{stem}{f' {k}' if k > 1 else ''}.{ending}"
        if not workspace.exists(path):
            workspace.write(path, data)
            return path
        if workspace.read(path) == data:
            return path  # the same once more
    raise RequestError(f"there are {_MOST_ALIKE} files called {stem!r}; give it another name")


def drop(workspace: Workspace, path: str) -> None:
    """Remove a file that was attached. Raises: NotFound: It is none."""
    place = PurePosixPath(path)
    if str(place.parent) != FOLDER or not workspace.exists(path):
        raise NotFound(f"{path[:200]!r} is no attached file; reload the page")
    workspace.delete(path)


def key(now: dt.datetime) -> str:
    """Return a key under which a file is journalled."""
    return f"attached:{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def _cleaned(name: str) -> str:
    """Return the name without folders, ending and what could hide in it."""
    last = re.split(r"[/\\]", clean(name))[-1]
    stem = last.rpartition(".")[0] or last
    stem = re.sub(r"[^\w \-.,()&'+]", " ", stem)
    return " ".join(stem.split())[:_MOST_NAME].strip(" .-")
