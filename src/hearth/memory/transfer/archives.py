"""Archives of what was remembered: those that another service packed for its user, and Hearth's own JSON lines."""

from __future__ import annotations

import contextlib
import datetime as dt
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import IO, Annotated, Literal, Protocol

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from hearth.atomic_files import replacing
from hearth.errors import RequestError, ToolError
from hearth.formats.content_lines import Component, new_line, parse
from hearth.formats.export_forms import HEAD_BYTES, Form, form_of
from hearth.memory.event_memory import EventMemory, NewEvent
from hearth.memory.facts import FactStore, NewFact, is_tellable
from hearth.memory.search.collecting import BRING_IN, FOLDERS, UNREAD_PICTURES, is_picture, reads_pictures
from hearth.memory.transfer.importers import Report, Source, detect, imported, mbox_messages
from hearth.protocols import FileStat
from hearth.storage.database import Store
from hearth.storage.trace import label_from_text, moment_text, parse_moment
from hearth.tools.mail.mime import read_head
from hearth.tools.pim.ical import SENT_BY_OTHERS, is_sent
from hearth.types import Label

# ── Archive contents ──────────────────────────────────────────────────────────────────────────────────────
# Looks through what somebody hands over (a file, a folder, a ZIP or TAR archive, a folder of those) and says what is in
# it.
#
# Every file is a piece with a kind: `mbox`, `mail`, `calendar`, `contacts`, `note`, `document`, `chat`, or a reason
# why it is left out. Kinds are told by names and first bytes, so that a Google Takeout, an Apple archive, a
# Thunderbird or Apple Mail folder, a Maildir, an Obsidian vault, and exports of Notion, Keep, WhatsApp, Telegram and
# Signal need no option.
#
# Covered: encrypted, damaged and too tightly packed archives, links, names that lead elsewhere (a piece's name is
# never a place to write to), an archive in an archive, as Notion exports in parts; pictures, for their writing, where
# it can be read. A TAR archive is read from its beginning to its end, twice: to look through it, and to take what is in
# it. Not covered: archives three deep, archives in a TAR archive, other packers than ZIP and gzip, sound; documents in
# a chat's export, which count as the owner's.

MAX_FILE_BYTES = 25_000_000
MOST_PACKED = 200
"""A larger file that was packed to a smaller share than 1/200 is no text of anybody's."""
_MOST_UNPACKED_BYTES = 50_000_000
_MOST_INNER_BYTES = 2_000_000_000
_MOST_MEMBERS = 200_000
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""What exports are packed by; the others may ask for gigabytes of memory before their first byte."""
_BROKEN = (zipfile.BadZipFile, tarfile.TarError, zlib.error, NotImplementedError, OSError, EOFError, ValueError)
"""What is raised where an archive, or a file in it, is damaged."""
_DOCUMENTS = frozenset("pdf docx odt xlsx csv tsv html htm txt rtf".split())  # noqa: SIM905 - a list of words
_INNER, _DAMAGED = "archives that are not read", "damaged archives"
_LINKS, _TOO_TIGHT = "links and what is no plain file", "files packed too tightly to be real"
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
_KINDS: Mapping[Form, tuple[str, str]] = {
    "chat": ("chat", ""),
    "chat page": ("", "pages of a Telegram export beside its messages"),
    "Keep note": ("note", ""),
}
_READ_PICTURES = ("png", "jpg", "jpeg")
_OF_PHOTOS = re.compile(
    r"(?:dcim|camera(?: roll)?|(?:google|icloud) (?:photos|fotos)(?: part \d+ of \d+)?|.*\.photoslibrary)"
    r"(?:\.(?:zip|tgz))?",
    re.I,
)
"""Folders and archives in which cameras, phones and services keep what was taken: thousands of pictures without
writing."""
_SENT_IN_CHAT = re.compile(r"-WA\d{4,}\.\w+$|^\d{8}-PHOTO-", re.I)
"""Names that WhatsApp gives to what it received."""
_OF_CAMERA = "pictures of a camera"
_OF_OTHERS = "pictures in or beside chats, which others may have sent"
_INDEX = "archive_browser.html"
"""Page about a Google Takeout."""
_ID = re.compile(r"[ _-][0-9a-f]{32}(?=\.\w+$)")
"""What Notion puts behind each title."""


class Archives:
    """Opens the archives that pieces lie in. The last one stays open: to read the list of its members takes as long as
    there are members, and would be done for each of them. One that lies in another is unpacked to a passing file."""

    def __init__(self) -> None:
        self._last: tuple[Path, str, zipfile.ZipFile, contextlib.ExitStack] | None = None
        self._unpacked: _Unpacked | None = None

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

    def part(self, path: Path, offset: int, n_bytes: int) -> IO[bytes]:
        """Return a file of a TAR archive, open; until the next one is asked for. In the order in which they lie there,
        all of them take as long as the archive is.

        Raises:
            OSError: It cannot be read.
        """
        if self._unpacked is None or self._unpacked.path != path or self._unpacked.place > offset:
            self.close()
            self._unpacked = _Unpacked(path)
        while (n_left := offset - self._unpacked.place) > 0:
            self._unpacked.begin()  # what lies between was measured file by file when the archive was looked through
            self._unpacked.pass_by(min(n_left, 1 << 20))
        self._unpacked.begin()
        return io.BufferedReader(_Part(self._unpacked, n_bytes))

    def close(self) -> None:
        """Close what is open."""
        if self._last is not None:
            self._last[3].close()
            self._last = None
        if self._unpacked is not None:
            self._unpacked.close()
            self._unpacked = None


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
    offset: int = -1
    """Where it begins in a TAR archive, unpacked; -1: it lies in none."""

    def open(self, archives: Archives) -> IO[bytes]:
        """Open the file to read. Raises: OSError, zipfile.BadZipFile."""
        if self.offset >= 0:
            return archives.part(self.path, self.offset, self.n_bytes)
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
    """Look through a path; files in the order of their names, those of a TAR archive in its own.

    Raises:
        RequestError: There is nothing there, or it is a damaged archive.
    """
    if not path.exists():
        raise RequestError(f"there is no file or folder {str(path)!r}; give one that an export or a program made")
    if path.is_file():
        found = _members_or_itself(path, path.name, "")
    else:
        found = [piece for file in _files(path) for piece in _of_file(file, file.relative_to(path).as_posix())]
    html = {_without_ending(piece.name) for piece in found if piece.kind == "note" and piece.name.endswith(".json")}
    chats = {PurePosixPath(piece.name).parent for piece in found if piece.kind == "chat"}
    is_of_photos = not _is_loose(path) and _OF_PHOTOS.fullmatch(path.resolve().name) is not None
    kept = (_without_photo(_without_page(piece, html), chats, is_of_photos=is_of_photos) for piece in found)
    return sorted(kept, key=_order)


def _order(piece: Piece) -> tuple[str, int]:
    if piece.offset < 0:
        return piece.name, piece.offset
    return piece.name.removesuffix(piece.member), piece.offset


def _files(folder: Path) -> Iterator[Path]:
    for place, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if name not in (".git", ".obsidian", "__MACOSX", "node_modules"))
        yield from (Path(place, name) for name in sorted(files))


def _of_file(path: Path, name: str) -> list[Piece]:
    if path.is_symlink() or not path.is_file():
        return [Piece("", name, 0, path, why=_LINKS)]
    return _members_or_itself(path, name, name)


def _members_or_itself(path: Path, name: str, within: str) -> list[Piece]:
    if name.lower().endswith(_TAR_ENDINGS):
        return list(_tar_members(path, within))
    return _members(path, within) if _is_archive(name) else [_piece(path, name)]


def _is_loose(path: Path) -> bool:
    """Return whether a path is a file that holds no others."""
    return path.is_file() and not _is_packed(path.name)


def _is_packed(name: str) -> bool:
    return _is_archive(name) or name.lower().endswith(_TAR_ENDINGS)


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
            return [Piece("", within, 0, path, why=_DAMAGED)]
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
    except _BROKEN:
        return [replace(piece, why=_DAMAGED)]


def _members_of(archive: zipfile.ZipFile, path: Path, within: str, inner: str = "") -> list[Piece]:
    files = [one for one in archive.infolist() if not one.is_dir()]
    found = [replace(_member(archive, path, one, within), inner=inner) for one in files[:_MOST_MEMBERS]]
    if len(files) > _MOST_MEMBERS:
        found.append(Piece("", within or path.name, 0, path, why=f"files after the first {_MOST_MEMBERS:,}"))
    return found


def _member(archive: zipfile.ZipFile, path: Path, one: zipfile.ZipInfo, within: str) -> Piece:
    name = "/".join(part for part in (within, one.filename) if part)
    is_bomb = one.file_size > _MOST_UNPACKED_BYTES and one.file_size > MOST_PACKED * max(1, one.compress_size)
    why = "encrypted files" if one.flag_bits & 1 else _TOO_TIGHT if is_bomb else ""
    if one.compress_type not in _PACKINGS:
        why = "files packed in a way that is not read"
    if "__MACOSX/" in name or (one.external_attr >> 16) & 0o170000 == 0o120000:
        why = _LINKS
    if why:
        return Piece("", name, one.file_size, path, one.filename, why)
    try:
        with archive.open(one) as file:
            head = file.read(HEAD_BYTES)
    except _BROKEN:
        return Piece("", name, one.file_size, path, one.filename, "damaged files")
    return _told(Piece("", name, one.file_size, path, one.filename), head)


def _piece(path: Path, name: str) -> Piece:
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
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
    if place.name.startswith(".") or not head:
        return "", "hidden and empty files"
    form = form_of(name, head)
    if form in ("mbox", "mail"):
        return ("", "mail that was deleted, not sent or junk") if _NOT_OWN.search(name) else (form, "")
    if place.name == _INDEX or any(map(_is_hidden, place.parts[:-1])):  # `.trash` of Obsidian
        return "", "indexes and settings of other programs"
    if ending in ("ics", "vcf"):
        return ("calendar" if ending == "ics" else "contacts"), ""
    if form:
        return _KINDS[form]
    if ending == "json":
        return "", "data of other programs (JSON)"
    if _SIGNAL_BACKUP.search(name):
        return "", _SIGNAL_WHY
    if ending in ("md", "markdown"):
        return "note", ""
    if ending in _READ_PICTURES and is_picture(head):
        return _picture_kind(place)
    return ("document", "") if ending in _DOCUMENTS else ("", _WHY.get(ending, "files of other kinds"))


def _picture_kind(place: PurePosixPath) -> tuple[str, str]:
    """Return that a picture is a document, for the writing in it; or why it is left out."""
    if any(_OF_PHOTOS.fullmatch(folder) for folder in place.parts[:-1]):
        return "", _OF_CAMERA
    if _SENT_IN_CHAT.search(place.name):
        return "", _OF_OTHERS
    return ("document", "") if reads_pictures() else ("", UNREAD_PICTURES)


def _is_hidden(folder: str) -> bool:
    return folder.startswith(".") and folder != ".."


def _without_page(piece: Piece, notes: set[str]) -> Piece:
    """Return the piece; of a note that is there twice, the page is left out."""
    if piece.kind == "document" and piece.name.endswith(".html") and _without_ending(piece.name) in notes:
        return replace(piece, kind="", why="pages of notes that are taken")
    return piece


def _without_photo(piece: Piece, chats: set[PurePosixPath], *, is_of_photos: bool) -> Piece:
    """Return the piece; left out is a picture of a camera, and one in the folder of a chat or below it, which would
    count as the owner's."""
    place = PurePosixPath(piece.name)
    is_of_document = piece.kind == "document" or piece.why == UNREAD_PICTURES
    if not is_of_document or place.suffix.lower().removeprefix(".") not in _READ_PICTURES:
        return piece
    if is_of_photos:
        return replace(piece, kind="", why=_OF_CAMERA)
    return piece if chats.isdisjoint(place.parents) else replace(piece, kind="", why=_OF_OTHERS)


def _without_ending(name: str) -> str:
    return name.rpartition(".")[0]


# ── TAR archives ──────────────────────────────────────────────────────────────────────────────────────────
# Reads a TAR archive as it comes, packed by gzip or not: each header by the standard library, what stands between them
# here, in linear time and with bounds. (The library's own reader takes whatever size a header names into memory.)
#
# Covered: names of any length (GNU and POSIX), files over 8 GB, an archive that was cut off (what comes before is
# taken). Not covered: sparse files, and what lies behind a file that is packed too tightly to be real.

_TAR_ENDINGS = (".tgz", ".tar.gz", ".tar")
_BLOCK_BYTES = tarfile.BLOCKSIZE
_MOST_HEADER_BYTES = 64_000
"""Of a header that only tells of the next file; real ones hold a name and some times."""
_MOST_NAME_CHARACTERS = 4_096


class _TooTightError(ValueError):
    """A file is packed too tightly to be real."""


class _Unpacked:
    """The bytes of a TAR archive, unpacked, from the first to the last."""

    def __init__(self, path: Path) -> None:
        self.path, self.place = path, 0
        self._packed = path.open("rb")
        is_plain = path.name.lower().endswith(".tar")
        self._file: IO[bytes] = self._packed if is_plain else gzip.GzipFile(fileobj=self._packed)  # type: ignore[assignment]
        self._began = (0, 0)

    def begin(self) -> None:
        """Begin a file: from here on it is measured how tightly it is packed."""
        self._began = (self._packed.tell(), self.place)

    def read(self, n_bytes: int) -> bytes:
        """Return so many bytes; fewer at the end. Raises: _TooTightError."""
        data = self._file.read(n_bytes)
        self.place += len(data)
        n_packed, n_unpacked = self._packed.tell() - self._began[0], self.place - self._began[1]
        if n_unpacked > _MOST_UNPACKED_BYTES and n_unpacked > MOST_PACKED * max(1, n_packed):
            raise _TooTightError("it is packed too tightly to be real")
        return data

    def pass_by(self, n_bytes: int) -> None:
        """Raises: EOFError: The archive ends before. _TooTightError."""
        while n_bytes > 0:
            if not (data := self.read(min(n_bytes, 1 << 20))):
                raise EOFError("it was cut off")
            n_bytes -= len(data)

    def close(self) -> None:
        self._file.close()
        self._packed.close()


class _Part(io.RawIOBase):
    """One file of a TAR archive, as it comes."""

    def __init__(self, unpacked: _Unpacked, n_bytes: int) -> None:
        self._unpacked, self._n_left = unpacked, n_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, target: bytearray | memoryview) -> int:  # type: ignore[override]
        wanted = min(len(target), self._n_left)
        data = self._unpacked.read(wanted)
        if len(data) < wanted:
            raise EOFError("it was cut off")
        target[: len(data)] = data
        self._n_left -= len(data)
        return len(data)


def _tar_members(path: Path, within: str) -> Iterator[Piece]:
    """Yield the pieces of a TAR archive, in its order."""
    with contextlib.ExitStack() as opened:
        n_members = 0
        try:
            unpacked = _Unpacked(path)
            opened.callback(unpacked.close)
            for n_members, (name, info) in enumerate(_tar_headers(unpacked), 1):
                if n_members > _MOST_MEMBERS:
                    yield Piece("", within or path.name, 0, path, why=f"files after the first {_MOST_MEMBERS:,}")
                    return
                yield _tar_member(unpacked, name, info, within)
        except _TooTightError:
            yield Piece("", within or path.name, 0, path, why=f"{_TOO_TIGHT}, and what lies behind")
        except _BROKEN as error:
            if not (n_members or within):
                raise RequestError(
                    f"{str(path)!r} is no TAR archive that can be read: {error}; download it again"
                ) from None
            yield Piece("", within or path.name, 0, path, why=_DAMAGED)


def _tar_headers(unpacked: _Unpacked) -> Iterator[tuple[str, tarfile.TarInfo]]:
    """Yield the name and header of each file, its bytes coming next; what is not read of them is passed by.

    Raises:
        tarfile.TarError, ValueError, EOFError, zlib.error, OSError: It is damaged or was cut off.
    """
    said: dict[str, str] = {}
    while (block := unpacked.read(_BLOCK_BYTES)).strip(b"\0"):
        info = tarfile.TarInfo.frombuf(block, "utf-8", "replace")
        if info.type in (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, *_GNU_NAMES):
            if not 0 <= info.size <= _MOST_HEADER_BYTES:
                raise tarfile.TarError(f"a header of {info.size:,} bytes")
            told = unpacked.read(_whole_blocks(info.size))[: info.size]
            if info.type in _GNU_NAMES:
                said |= {_GNU_NAMES[info.type]: told.rstrip(b"\0").decode(errors="replace")}
            elif info.type != tarfile.XGLTYPE:
                said |= _pax_fields(told)
            continue
        info.size = int(said["size"]) if said.get("size", "").isdecimal() else info.size
        if info.size < 0:
            raise tarfile.TarError(f"a file of {info.size:,} bytes")
        if any(key.startswith("GNU.sparse.") for key in said):
            info.type = tarfile.GNUTYPE_SPARSE
        name, said = said.get("path", info.name)[:_MOST_NAME_CHARACTERS], {}
        has_bytes = info.isreg() or info.type not in tarfile.SUPPORTED_TYPES
        ends = unpacked.place + (_whole_blocks(info.size) if has_bytes else 0)
        if not info.isdir():  # folders alone, however many, are no files to begin anew with
            unpacked.begin()
            yield name, info
        unpacked.pass_by(ends - unpacked.place)
    if not unpacked.place:
        raise EOFError("it is empty")


_GNU_NAMES = {tarfile.GNUTYPE_LONGNAME: "path", tarfile.GNUTYPE_LONGLINK: "linkpath"}


def _whole_blocks(n_bytes: int) -> int:
    return -(-n_bytes // _BLOCK_BYTES) * _BLOCK_BYTES


def _pax_fields(data: bytes) -> dict[str, str]:
    """Read what a POSIX header says of the next file: lines of a length, a name and a value.
    Raises: ValueError: It is damaged."""
    fields: dict[str, str] = {}
    place = 0
    while place < len(data):
        blank = data.index(b" ", place, place + 8)
        n_bytes = int(data[place:blank])
        if n_bytes <= blank - place:
            raise ValueError("a damaged header")
        name, _, value = data[blank + 1 : place + n_bytes - 1].partition(b"=")
        fields[name.decode(errors="replace")] = value.decode(errors="replace")
        place += n_bytes
    return fields


def _tar_member(unpacked: _Unpacked, name: str, info: tarfile.TarInfo, within: str) -> Piece:
    """Return a file of a TAR archive as a piece. Raises: EOFError, zlib.error, OSError, _TooTightError."""
    piece = Piece("", "/".join(part for part in (within, name) if part), info.size, unpacked.path, name)
    if not info.isreg() or info.issparse() or info.type == tarfile.GNUTYPE_SPARSE or "__MACOSX/" in name:
        return replace(piece, n_bytes=0, why=_LINKS)
    piece = replace(piece, offset=unpacked.place)
    return _told(piece, unpacked.read(min(HEAD_BYTES, info.size)))


# ── Notes of Keep ─────────────────────────────────────────────────────────────────────────────────────────


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


# ── What waits beside the folders ─────────────────────────────────────────────────────────────────────────

_SAID = {"mbox": "a mailbox", "mail": "a mail", "calendar": "a calendar", "contacts": "cards"}
_SAID |= {"note": "a note", "document": "a document", "chat": "a chat"}
_MOST_LOOKED_AT = 200
"""Most files of one folder that are looked at."""


class Files(Protocol):
    """The owner's files, as far as they are read here."""

    def read(self, path: str) -> bytes: ...

    def stat(self, path: str) -> FileStat: ...


def waiting_beside(listing: Sequence[str], files: Files) -> dict[str, str]:
    """Return what lies in the owner's folder beside the folders that are read, and can be brought in: files and folders
    by name, each with the reason why it is not read.

    Args:
        listing: All paths of the owner's folder.

    Not covered: what lies behind the first files of a folder, files over 25 MB that only their bytes tell apart.
    """
    found: dict[str, str] = {}
    n_looked_at = Counter[str]()
    for path in listing:
        top, _, below = path.partition("/")
        if (top in FOLDERS and below) or top.startswith(".") or top in found or n_looked_at[top] >= _MOST_LOOKED_AT:
            continue
        n_looked_at[top] += 1
        if what := _offered(path, files):
            found[top] = f"{'a folder with what can be read' if below else what}; {BRING_IN}"
    return found


def _offered(path: str, files: Files) -> str:
    """Return what a file is that can be brought in; empty for any other."""
    if _is_packed(path):
        return "an archive"
    try:
        is_large = files.stat(path).size_bytes > MAX_FILE_BYTES
        head = b"\0" if is_large else files.read(path)[:HEAD_BYTES]
    except ToolError:
        return ""  # gone meanwhile
    return _SAID.get(kind_of(path, head)[0], "")


# ── Archive intake ────────────────────────────────────────────────────────────────────────────────────────
# Brings what was handed over into the owner's folder: mails, events, reminders, cards, notes, documents; chats into
# memory.
#
# Each thing is known again (a mail by its Message-ID, an event and a card by its UID, else by content), wherever in
# the home it came from, so that the same import twice adds nothing, and one that was stopped carries on.
#
# Covered: pieces that break (named, the rest goes on), a disk that is full (nothing is half written). Not covered: a
# newer version of an event or card that is there (the home's stays), what the owner has deleted since (it comes
# back), attachments that notes point to.

NAMES = {one: (one, f"{one}s") for one in ("mail", "event", "reminder", "card", "note", "document")}
NAMES |= {"message": ("chat message", "chat messages")}
_MESSAGE_ID = re.compile(rb"^message-id:[ \t]*(?:\r?\n[ \t]+)?<?([^>\s]{1,300})", re.IGNORECASE | re.MULTILINE)
_MAIL_HEAD_BYTES = 16_000
_UNSAFE = re.compile(r"[^\w .,()&+'-]+")
_SENT_BY_NAME = re.compile(
    r"(?:^|/)(?:sent(?: mail| items| messages)?|gesendet\w*)(?:-\d+)?(?:\.mbox)?(?:/|$)", re.IGNORECASE
)
_GMAIL_LABELS = re.compile(rb"^x-gmail-labels:[^\n]*\b(spam|trash|drafts?)\b", re.IGNORECASE | re.MULTILINE)
_MOZILLA_STATUS = re.compile(rb"^x-mozilla-status:[ \t]*([0-9a-f]{4})\b", re.IGNORECASE | re.MULTILINE)
_EXPUNGED = 0x0008
"""Flag of a mail that Thunderbird has deleted and not yet cut out of its file."""


@dataclass(slots=True)
class Taken:
    """How far an import came."""

    new: Counter[str] = field(default_factory=Counter)
    """Things put into the home, by kind as in `NAMES`."""
    known: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    """By reason."""
    faults: list[str] = field(default_factory=list)
    """Each piece that broke: where, and why."""


class Intake:
    """Puts pieces into one home; what is there already is read once."""

    def __init__(self, owner_folder: Path, memory: EventMemory, store: Store, source: Source, email: str) -> None:
        """Open the intake.

        Args:
            source: The zone and date order in which times are read.
            email: The owner's address; what it sent goes to the sent mails.
        """
        self.taken = Taken()
        self._root, self._memory, self._store = owner_folder, memory, store
        self._source, self._email = source, email.casefold()
        self._archives = Archives()
        self._mails = set(self._known_mails())
        self._uids = set(self._known_uids())
        self._documents = self._known_documents()

    def take(self, piece: Piece) -> Iterator[int]:
        """Put one piece into the home; yield how many of its bytes are done.

        If stopped anywhere, what was put in stays. Raises: StoreError: The disk is full, say.
        """
        if not piece.kind:
            self.taken.left_out[piece.why] += 1
            return
        try:
            if piece.kind == "mbox":
                yield from self.mbox(piece)
            else:
                _TAKES[piece.kind](self, piece)
                yield piece.n_bytes
        except (*_BROKEN, RecursionError) as error:
            self.taken.faults.append(f"{piece.name}: {str(error) or type(error).__name__}")

    def close(self) -> None:
        """Close the archive that is open."""
        self._archives.close()

    # ── Mail ──────────────────────────────────────────────────────────────────────────────────────────────

    def mbox(self, piece: Piece) -> Iterator[int]:
        with piece.open(self._archives) as file:
            for n_bytes, raw, n_line in mbox_messages(file, MAX_FILE_BYTES):
                if len(raw) >= MAX_FILE_BYTES:
                    self.taken.faults.append(f"{piece.name}, line {n_line}: a mail over {MAX_FILE_BYTES // 10**6} MB")
                elif _is_deleted(raw[:_MAIL_HEAD_BYTES]):
                    self.taken.left_out["mail that was deleted, not sent or junk"] += 1
                else:
                    self._mail(raw, piece.name)
                yield n_bytes

    def mail(self, piece: Piece) -> None:
        raw = piece.read(self._archives)
        length, _, rest = raw.partition(b"\n")
        if piece.name.lower().endswith(".emlx") and length.strip().isdigit():  # Apple Mail: how long it is, then it
            raw = rest[: int(length)]
        self._mail(raw, piece.name)

    def _mail(self, raw: bytes, name: str) -> None:
        head = read_head(raw)
        if head.date is None and not head.sender and not head.subject:
            self.taken.faults.append(f"{name}: no mail: it names no sender, subject or date")
            return
        identity = _mail_identity(raw)
        if identity in self._mails:
            self.taken.known["mail"] += 1
            return
        is_sent = _SENT_BY_NAME.search(name) or (self._email and head.sender.casefold() == self._email)
        at = int(head.date.timestamp()) if head.date is not None else 0
        box = self._root / "mail" / ".Sent" if is_sent else self._root / "mail"
        if is_sent and not (box / "maildirfolder").exists():
            self._put(box / "maildirfolder", b"")  # the mark of a folder in Maildir++
        self._put(box / "cur" / f"{max(0, at)}.H{identity[:20]}.import:2,S", raw)
        self._mails.add(identity)
        self.taken.new["mail"] += 1

    def _known_mails(self) -> Iterator[str]:
        for path in (self._root / "mail").glob("**/*"):
            if path.parent.name in ("cur", "new") and path.is_file():
                with path.open("rb") as file:
                    yield _mail_identity(file.read(_MAIL_HEAD_BYTES), path)

    # ── Events, reminders, cards ──────────────────────────────────────────────────────────────────────────

    def calendar(self, piece: Piece) -> None:
        """Put in each event and task with its overrides and zones as a file of its own.

        An invitation that names nobody who invites is marked as one: it would pass for the owner's own event.
        """
        document = parse(piece.read(self._archives))
        is_message = is_sent(document)
        for calendar in document.components("VCALENDAR"):
            for event in calendar.components("VEVENT"):
                if event.line("ORGANIZER") is None and (is_message or event.line("ATTENDEE") is not None):
                    event.put(new_line(SENT_BY_OTHERS, "TRUE"))
            zones = [one.render() for one in calendar.components("VTIMEZONE")]
            for name, kind, folder in (("VEVENT", "event", "calendar"), ("VTODO", "reminder", "reminders")):
                for uid, parts in _by_uid(calendar.components(name)).items():
                    data = b"".join((_BEGIN, *zones, *parts, b"END:VCALENDAR\r\n"))
                    self._record(kind, uid, self._root / folder / f"{uid_name(uid)}.ics", data)

    def contacts(self, piece: Piece) -> None:
        for card in parse(piece.read(self._archives)).components("VCARD"):
            data = card.render()
            uid = card.text("UID").strip() or hashlib.sha256(data).hexdigest()
            self._record("card", uid, self._root / "contacts" / f"{uid_name(uid)}.vcf", data)

    def _record(self, kind: str, uid: str, path: Path, data: bytes) -> None:
        if uid in self._uids or path.exists():
            self.taken.known[kind] += 1
            return
        self._put(path, data)
        self._uids.add(uid)
        self.taken.new[kind] += 1

    def _known_uids(self) -> Iterator[str]:
        for folder, ending in (("calendar", "ics"), ("reminders", "ics"), ("contacts", "vcf")):
            for path in (self._root / folder).rglob(f"*.{ending}"):
                yield from (found[1].decode(errors="replace").strip() for found in _UID.finditer(path.read_bytes()))

    # ── Notes, documents, chats ───────────────────────────────────────────────────────────────────────────

    def note(self, piece: Piece) -> None:
        data, title = piece.read(self._archives), piece.title
        if piece.name.lower().endswith(".json"):
            kept = keep_note(data)
            if kept is None:
                self.taken.left_out["notes that were deleted or are empty"] += 1
                return
            named, text = kept
            title, data = named or title, (f"# {named}\n\n{text}\n" if named else f"{text}\n").encode()
        self._text("note", self._root / "notes", f"{safe_name(title)}.md", data)

    def document(self, piece: Piece) -> None:
        parts = [safe_name(part) for part in PurePosixPath(piece.name).parts if part not in ("..", ".", "/")]
        data = piece.read(self._archives)
        if any(path.exists() and path.read_bytes() == data for path in self._documents.get(len(data), ())):
            self.taken.known["document"] += 1  # wherever in the home it came from
            return
        self._text("document", self._root.joinpath("documents", *parts[:-1]), parts[-1], data)

    def _known_documents(self) -> dict[int, list[Path]]:
        """Return the home's documents by their sizes."""
        found: dict[int, list[Path]] = {}
        for path in (self._root / "documents").rglob("*"):
            if path.is_file() and not path.is_symlink():
                found.setdefault(path.stat().st_size, []).append(path)
        return found

    def _text(self, kind: str, folder: Path, name: str, data: bytes) -> None:
        stem, dot, ending = name.rpartition(".")
        digest = hashlib.sha256(data).hexdigest()
        for path in (folder / name, folder / f"{stem} {digest[:8]}{dot}{ending}"):
            if not path.exists():
                self._put(path, data)
                self._documents.setdefault(len(data), []).append(path)
                self.taken.new[kind] += 1
                return
            if path.read_bytes() == data:
                break
        self.taken.known[kind] += 1

    def chat(self, piece: Piece) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / safe_name(PurePosixPath(piece.name).name)
            with piece.open(self._archives) as source, path.open("wb") as target:
                shutil.copyfileobj(source, target)
            report = Report()
            known = Source(path, detect(path), self._source.zone, self._source.is_month_first)
            for _ in imported(known, self._memory, self._store, report):
                pass
        self.taken.new["message"] += report.n_new
        self.taken.known["message"] += report.n_known
        self.taken.left_out += report.left_out
        self.taken.faults += [line.replace(str(path), piece.name) for line in report.bad]

    def _put(self, path: Path, data: bytes) -> None:
        with replacing(path, "import to", is_lasting=False) as file:
            file.write(data)


_BEGIN = b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Hearth//import//EN\r\n"
_UID = re.compile(rb"^UID[^:\r\n]*:([^\r\n]+)", re.MULTILINE)
_TAKES: Mapping[str, Callable[[Intake, Piece], None]] = {
    "mail": Intake.mail,
    "calendar": Intake.calendar,
    "contacts": Intake.contacts,
    "note": Intake.note,
    "document": Intake.document,
    "chat": Intake.chat,
}


def _is_deleted(head: bytes) -> bool:
    """Return whether a mail of an mbox is no more, by what Gmail or Thunderbird noted in its head."""
    status = _MOZILLA_STATUS.search(head)
    return bool(_GMAIL_LABELS.search(head)) or bool(status and int(status[1], 16) & _EXPUNGED)


def _mail_identity(raw: bytes, path: Path | None = None) -> str:
    """Return the digest by which a mail is known again: of its Message-ID, else of all of it."""
    found = _MESSAGE_ID.search(raw[:_MAIL_HEAD_BYTES].partition(b"\n\n")[0].partition(b"\r\n\r\n")[0])
    whole = raw if path is None or len(raw) < _MAIL_HEAD_BYTES else path.read_bytes()
    return hashlib.sha256(found[1] if found is not None else whole).hexdigest()


def _by_uid(components: list[Component]) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = {}
    for one in components:
        data = one.render()
        found.setdefault(one.text("UID").strip() or hashlib.sha256(data).hexdigest(), []).append(data)
    return found


def uid_name(uid: str) -> str:
    """Return the name of the file for a record."""
    return f"import-{hashlib.sha256(uid.encode(errors='replace')).hexdigest()[:24]}"


def safe_name(name: str) -> str:
    """Return a name for a file in the home: without marks that mean something to a file system, not hidden."""
    ending = PurePosixPath(name).suffix[:12]
    stem = _UNSAFE.sub(" ", name.removesuffix(ending) if ending else name)
    return (" ".join(stem.split()).lstrip(". ")[:80] or "unnamed") + _UNSAFE.sub("", ending)


# ── JSON lines ────────────────────────────────────────────────────────────────────────────────────────────
# Exports and imports events and facts as JSON lines that any program can read, in constant memory.
#
# Covered: reading the same lines again adds nothing; an invalid line is reported by its number, and what comes before
# it is kept; files from strangers: unless the owner says that the file is theirs, everything in it counts as found in
# a file, and facts wait for the owner's confirmation. Not covered: vectors (they are made again) and what was learnt.

MAX_LINE_BYTES = 4_000_000
_AT_ONCE = 1000
_FOUND = Label(frozenset({"file"}), frozenset())


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    sources: tuple[str, ...] = ()
    readers: tuple[str, ...] | None = ()

    def label(self, is_mine: bool) -> Label:
        said = Label(frozenset(self.sources), None if self.readers is None else frozenset(self.readers))
        return said if is_mine else said.join(_FOUND)


class _EventLine(_Line):
    type: Literal["event"]
    id: str = Field(min_length=1, max_length=1000)
    kind: str = Field(max_length=200)
    at: str = Field(max_length=100)
    text: str
    person: str = Field(default="", max_length=1000)
    place: str = Field(default="", max_length=1000)
    thread: str = Field(default="", max_length=1000)


class _FactLine(_Line):
    type: Literal["fact"]
    subject: str
    relation: str
    value: str
    since: AwareDatetime | None = None
    until: AwareDatetime | None = None
    learnt: AwareDatetime
    confidence: float = Field(ge=0, le=1)
    events: tuple[str, ...] = ()
    reason: str = ""


_LINE: TypeAdapter[_EventLine | _FactLine] = TypeAdapter(Annotated[_EventLine | _FactLine, Field(discriminator="type")])


@dataclass(frozen=True, slots=True)
class Added:
    """Counts of what was new in what was read."""

    n_lines: int
    n_events: int
    n_facts: int


def exported(store: Store) -> Iterator[str]:
    """Yield all events, then all believed facts, a line each."""
    last = 0
    while rows := store.query("SELECT * FROM event WHERE number > ? ORDER BY number LIMIT ?", (last, _AT_ONCE)):
        for row in rows:
            said = {name: row[name] for name in ("id", "kind", "at", "text", "person", "place", "thread")}
            yield _line("event", said, label_from_text(row["label"]))
        last = rows[-1]["number"]
    for fact in FactStore(store).believed():
        said = {
            name: getattr(fact, name) for name in ("subject", "relation", "value", "confidence", "events", "reason")
        }
        said |= {name: _text(getattr(fact, name)) for name in ("since", "until", "learnt")}
        yield _line("fact", said, fact.label)


def _line(kind: str, said: dict[str, object], label: Label) -> str:
    readers = None if label.readers is None else sorted(label.readers)
    return json.dumps({"type": kind, **said, "sources": sorted(label.sources), "readers": readers}, ensure_ascii=False)


def _text(moment: dt.datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def lines_imported(memory: EventMemory, facts: FactStore, lines: Iterable[bytes], *, is_mine: bool) -> Added:
    """Import lines that `exported` wrote; what exists already is left unchanged.
    Args: is_mine: The owner says that the file is theirs: its labels are believed.
    Raises: RequestError: A line is invalid; what came before it was imported."""
    n_lines = n_events = n_facts = 0
    waiting: list[NewEvent] = []
    try:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            read = _read(line, number)
            n_lines += 1
            if isinstance(read, _EventLine):
                waiting.append(_event(read, number, is_mine))
            else:
                n_facts += _add_fact(facts, read, is_mine)
            if len(waiting) >= _AT_ONCE:
                n_events += memory.remember_all(waiting)
                waiting.clear()
    finally:
        n_events += memory.remember_all(waiting)
    return Added(n_lines, n_events, n_facts)


def _read(line: bytes, number: int) -> _EventLine | _FactLine:
    if len(line) > MAX_LINE_BYTES:
        raise RequestError(f"line {number} has {len(line)} bytes; expected one event or fact, at most {MAX_LINE_BYTES}")
    try:
        return _LINE.validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the line"
        raise RequestError(
            f"line {number} is no event or fact ({where}: {first['msg']}); expected what `hearth memory export` writes"
        ) from None


def _event(line: _EventLine, number: int, is_mine: bool) -> NewEvent:
    try:
        at = parse_moment(line.at)
    except ValueError as error:
        raise RequestError(f"line {number}: {error}") from None
    if at.tzinfo is None:
        raise RequestError(
            f"line {number}: the time {line.at!r} names no zone; expected e.g. {moment_text(_EXAMPLE)!r}"
        )
    if not is_tellable(at):
        raise RequestError(f"line {number}: an event in the year {at.year}; expected one from 2 to 9998")
    label = line.label(is_mine)
    return NewEvent(line.id, line.text, line.kind, at, label, line.person, line.place, line.thread)


_EXAMPLE = dt.datetime(2026, 11, 20, 9, 30, tzinfo=dt.UTC)


def _add_fact(facts: FactStore, line: _FactLine, is_mine: bool) -> int:
    """Believe or propose the fact; return 1 if it was new."""
    same = [
        fact
        for fact in (*facts.believed(line.subject, line.relation), *facts.proposed())
        if (fact.subject.casefold(), fact.relation) == (line.subject.casefold(), line.relation)
        and fact.value.casefold() == line.value.casefold()
    ]
    if same:
        return 0
    new = NewFact(line.subject, line.relation, line.value, line.since, line.until, line.confidence, line.label(is_mine))
    facts.add(replace(new, events=line.events, reason=line.reason), line.learnt)
    return 1
