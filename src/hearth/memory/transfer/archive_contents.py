"""Looks through what somebody hands over (a file, a folder, a ZIP archive, a folder of those) and says what is in it.

Every file is a piece with a kind: `mbox`, `mail`, `calendar`, `contacts`, `note`, `document`, `chat`, or a reason why
it is left out. Kinds are told by names and first bytes, so that a Google Takeout, an Apple archive, a Thunderbird or
Apple Mail folder, a Maildir, an Obsidian vault, and exports of Notion, Keep, WhatsApp, Telegram and Signal need no
option.

Covered: encrypted, damaged and too tightly packed archives, links, names that lead elsewhere (a piece's name is never
a place to write to), an archive in an archive, as Notion exports in parts.
Not covered: archives three deep, other packers than ZIP, pictures, sound.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO

from hearth.errors import RequestError
from hearth.memory.transfer.chat_exports import chat_kind
from hearth.memory.transfer.telegram_export import is_telegram_page

MAX_FILE_BYTES = 25_000_000
MOST_PACKED = 200
"""A larger file that was packed to a smaller share than 1/200 is no text of anybody's."""
_MOST_UNPACKED_BYTES = 50_000_000
_MOST_INNER_BYTES = 2_000_000_000
_MOST_MEMBERS = 200_000
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""What exports are packed by; the others may ask for gigabytes of memory before their first byte."""
_HEAD_BYTES = 20_000
_DOCUMENTS = frozenset("pdf docx odt xlsx csv tsv html htm txt rtf".split())  # noqa: SIM905 - a list of words
_INNER = "archives that are not read"
_LEFT_OUT = {
    "pictures": "jpg jpeg png gif webp tif tiff heic svg bmp",
    "sound and video": "mp3 m4a wav ogg opus flac mp4 mov avi mkv webm 3gp aac",
    _INNER: "zip tar tgz gz 7z rar",
    "indexes and settings of other programs": "msf dat db sqlite sqlite3 plist ini log css js xml lock",
}
_WHY = {ending: why for why, endings in _LEFT_OUT.items() for ending in endings.split()}
_NOT_OWN = re.compile(
    r"(?:^|/)(?:trash|deleted[ \w]*|junk|spam|drafts?|papierkorb|entw[uü]rfe)(?:\.mbox)?(?:/|$)", re.I
)
_SIGNAL_BACKUP = re.compile(r"(?:^|/)signal-[\d-]+\.backup$|(?:^|/)signal-backup-[\d-]+/(?:main|metadata|files)$", re.I)
"""A phone's backup in one file, and the newer one in a folder."""
_SIGNAL_WHY = (
    "backups of Signal, which are encrypted and only Signal opens; in Signal choose Settings, Chats, Export chat "
    "history, and import the folder or .zip that it writes"
)
_INDEX = "archive_browser.html"
"""Page about a Google Takeout."""
_ID = re.compile(r"[ _-][0-9a-f]{32}(?=\.\w+$)")
"""What Notion puts behind each title."""


class Archives:
    """Opens the archives that pieces lie in. The last one stays open: to read the list of its members takes as long as
    there are members, and would be done for each of them. One that lies in another is unpacked to a passing file."""

    def __init__(self) -> None:
        self._last: tuple[Path, str, zipfile.ZipFile, contextlib.ExitStack] | None = None

    def of(self, path: Path, inner: str = "") -> zipfile.ZipFile:
        """Return an archive, open.

        Args:
            inner: The member that is an archive itself and is meant; empty: `path` is.
        Raises:
            OSError, zipfile.BadZipFile: It cannot be read.
        """
        if self._last is None or self._last[:2] != (path, inner):
            self.close()
            archive, opened = _opened(path, inner)
            self._last = path, inner, archive, opened
        return self._last[2]

    def close(self) -> None:
        """Close what is open."""
        if self._last is not None:
            self._last[3].close()
            self._last = None


def _opened(path: Path, inner: str) -> tuple[zipfile.ZipFile, contextlib.ExitStack]:
    """Open an archive, and one that lies in it; return it with what closes all that was opened."""
    opened = contextlib.ExitStack()
    try:
        archive = opened.enter_context(zipfile.ZipFile(path))
        if inner:
            unpacked = opened.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
            with archive.open(inner) as member:
                while chunk := member.read(1 << 20):
                    unpacked.write(chunk)
            archive = opened.enter_context(zipfile.ZipFile(unpacked))
    except BaseException:
        opened.close()
        raise
    return archive, opened


@dataclass(frozen=True, slots=True)
class Piece:
    """One file of what was handed over."""

    kind: str
    """One of the module's kinds; empty: left out."""
    name: str
    """Its place below what was handed over, for people and for the names of what is made of it."""
    n_bytes: int
    path: Path
    """The file, or the archive that holds it."""
    member: str = ""
    why: str = ""
    """Why it is left out."""
    inner: str = ""
    """The archive in the archive that holds it."""

    def open(self, archives: Archives) -> IO[bytes]:
        """Open the file to read. Raises: OSError, zipfile.BadZipFile."""
        return archives.of(self.path, self.inner).open(self.member) if self.member else self.path.open("rb")

    def read(self, archives: Archives) -> bytes:
        """Read at most `MAX_FILE_BYTES`. Raises: OSError, zipfile.BadZipFile."""
        with self.open(archives) as file:
            return file.read(MAX_FILE_BYTES)

    @property
    def title(self) -> str:
        """The file's name without its ending, and without what Notion adds."""
        return PurePosixPath(_ID.sub("", self.name)).stem


def pieces_of(path: Path) -> list[Piece]:
    """Look through a path; files in the order of their names.

    Raises:
        RequestError: There is nothing there, or it is a damaged archive.
    """
    if not path.exists():
        raise RequestError(f"there is no file or folder {str(path)!r}; give one that an export or a program made")
    if path.is_file():
        found = _members(path, "") if _is_archive(path.name) else [_piece(path, path.name)]
    else:
        found = [piece for file in _files(path) for piece in _of_file(file, file.relative_to(path).as_posix())]
    html = {_without_ending(piece.name) for piece in found if piece.kind == "note" and piece.name.endswith(".json")}
    return sorted((_without_page(piece, html) for piece in found), key=lambda piece: piece.name)


def _files(folder: Path) -> Iterator[Path]:
    for place, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if name not in (".git", ".obsidian", "__MACOSX", "node_modules"))
        yield from (Path(place, name) for name in sorted(files))


def _of_file(path: Path, name: str) -> list[Piece]:
    if path.is_symlink() or not path.is_file():
        return [Piece("", name, 0, path, why="links and what is no plain file")]
    return _members(path, name) if _is_archive(name) else [_piece(path, name)]


def _is_archive(name: str) -> bool:
    return name.lower().endswith(".zip")


def _members(path: Path, within: str) -> list[Piece]:
    """Return the pieces of an archive, and of those that lie in it."""
    with contextlib.closing(Archives()) as archives:
        try:
            found = _members_of(archives.of(path), path, within)
        except (zipfile.BadZipFile, NotImplementedError, OSError) as error:
            if not within:
                raise RequestError(
                    f"{str(path)!r} is no ZIP archive that can be read: {error}; download it again"
                ) from None
            return [Piece("", within, 0, path, why="damaged archives")]
        return [
            piece
            for one in found
            for piece in (_inner(archives, one) if _is_archive(one.member) and one.why == _INNER else [one])
        ]


def _inner(archives: Archives, piece: Piece) -> list[Piece]:
    """Return the pieces of an archive that lies in another."""
    if piece.n_bytes > _MOST_INNER_BYTES:
        return [piece]
    try:
        return _members_of(archives.of(piece.path, piece.member), piece.path, piece.name, piece.member)
    except (zipfile.BadZipFile, NotImplementedError, OSError, EOFError, ValueError):
        return [replace(piece, why="damaged archives")]


def _members_of(archive: zipfile.ZipFile, path: Path, within: str, inner: str = "") -> list[Piece]:
    files = [one for one in archive.infolist() if not one.is_dir()]
    found = [replace(_member(archive, path, one, within), inner=inner) for one in files[:_MOST_MEMBERS]]
    if len(files) > _MOST_MEMBERS:
        found.append(Piece("", within or path.name, 0, path, why=f"files after the first {_MOST_MEMBERS:,}"))
    return found


def _member(archive: zipfile.ZipFile, path: Path, one: zipfile.ZipInfo, within: str) -> Piece:
    name = "/".join(part for part in (within, one.filename) if part)
    is_bomb = one.file_size > _MOST_UNPACKED_BYTES and one.file_size > MOST_PACKED * max(1, one.compress_size)
    why = "encrypted files" if one.flag_bits & 1 else "files packed too tightly to be real" if is_bomb else ""
    if one.compress_type not in _PACKINGS:
        why = "files packed in a way that is not read"
    if "__MACOSX/" in name or (one.external_attr >> 16) & 0o170000 == 0o120000:
        why = "links and what is no plain file"
    if why:
        return Piece("", name, one.file_size, path, one.filename, why)
    try:
        with archive.open(one) as file:
            head = file.read(_HEAD_BYTES)
    except (zipfile.BadZipFile, NotImplementedError, OSError, EOFError, ValueError):
        return Piece("", name, one.file_size, path, one.filename, "damaged files")
    return _told(Piece("", name, one.file_size, path, one.filename), head)


def _piece(path: Path, name: str) -> Piece:
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError as error:
        return Piece("", name, 0, path, why=f"files that cannot be opened ({error.strerror})")
    return _told(Piece("", name, path.stat().st_size, path), head)


def _told(piece: Piece, head: bytes) -> Piece:
    """Return the piece with its kind, by its name and first bytes."""
    kind, why = kind_of(piece.name, head)
    if not why and kind != "mbox" and kind != "chat" and piece.n_bytes > MAX_FILE_BYTES:
        kind, why = "", f"files over {MAX_FILE_BYTES // 1_000_000} MB"
    return replace(piece, kind=kind, why=why)


def kind_of(name: str, head: bytes) -> tuple[str, str]:
    """Return the kind of a file by its name and first bytes, or none and why."""
    place = PurePosixPath(name)
    ending = place.suffix.lower().removeprefix(".")
    is_mail = place.parent.name in ("cur", "new") or ending in ("eml", "emlx", "mbox") or head.startswith(b"From ")
    if place.name.startswith(".") or not head:
        return "", "hidden and empty files"
    if is_mail:
        return (
            ("", "mail that was deleted, not sent or junk") if _NOT_OWN.search(name) else (_mail_kind(ending, head), "")
        )
    if place.name == _INDEX or any(map(_is_hidden, place.parts[:-1])):  # `.trash` of Obsidian
        return "", "indexes and settings of other programs"
    if ending in ("ics", "vcf"):
        return ("calendar" if ending == "ics" else "contacts"), ""
    if chat_kind(place.name, head):
        return "chat", ""
    if ending == "json":
        return _json_kind(head)
    if is_telegram_page(head):
        return "", "pages of a Telegram export beside its messages"
    if _SIGNAL_BACKUP.search(name):
        return "", _SIGNAL_WHY
    if ending in ("md", "markdown"):
        return "note", ""
    return ("document", "") if ending in _DOCUMENTS else ("", _WHY.get(ending, "files of other kinds"))


def _is_hidden(folder: str) -> bool:
    return folder.startswith(".") and folder != ".."


def _mail_kind(ending: str, head: bytes) -> str:
    return "mbox" if head.startswith(b"From ") and ending != "eml" else "mail"


def _json_kind(head: bytes) -> tuple[str, str]:
    is_note = b'"textContent"' in head or b'"listContent"' in head
    return ("note", "") if is_note else ("", "data of other programs (JSON)")


def _without_page(piece: Piece, notes: set[str]) -> Piece:
    """Return the piece; of a note that is there twice, the page is left out."""
    if piece.kind == "document" and piece.name.endswith(".html") and _without_ending(piece.name) in notes:
        return replace(piece, kind="", why="pages of notes that are taken")
    return piece


def _without_ending(name: str) -> str:
    return name.rpartition(".")[0]


def keep_note(data: bytes) -> tuple[str, str] | None:
    """Read a note of Google Keep: its title and text; None if it was deleted or is empty. Raises: ValueError: It is
    none."""
    said = json.load(io.BytesIO(data))
    if not isinstance(said, dict):
        raise ValueError("no note of Keep")
    if said.get("isTrashed"):
        return None
    rows = said.get("listContent")
    lines = [
        f"- [{'x' if row.get('isChecked') else ' '}] {row.get('text', '')}"
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, dict)
    ]
    text = str(said.get("textContent") or "\n".join(lines))
    if not text.strip():
        return None
    return str(said.get("title") or "").strip(), text
