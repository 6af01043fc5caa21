"""Tools to find, read, write, move, copy and delete files below the owner's `documents/` folder.

Covered: no path leaves `documents/` (the workspace refuses `..`, absolute paths and symlinks that lead out; `~`,
backslashes and invisible direction marks are refused here); moving and copying never replace a file; everything but
reading can be undone.
Not covered: the text inside PDF, Word and other binary files; folders without files; times and rights of moved files.
"""

from __future__ import annotations

import codecs
import contextlib
import datetime as dt
import difflib
import functools
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from hearth.errors import Ambiguous, Conflict, NotFound, SandboxError, ToolError
from hearth.formats.tool_signature import Names, tool
from hearth.language.tokens import Wanted, fold, names, wanted
from hearth.protocols import CallContext, Workspace
from hearth.types import FilePath, Referent

ROOT = "documents"
N_MAX_TEXT_CHARACTERS = 200_000
N_MAX_WRITE_BYTES = 5_000_000
N_MAX_READ_BYTES = 50_000_000
N_MAX_COPY_BYTES = 500_000_000
N_MAX_SEARCHED_BYTES = 200_000
"""Size in bytes up to which file contents are searched; larger files are found by their name only."""
N_MAX_FOUND = 100

Kind = Literal["any", "text", "image", "document", "spreadsheet", "audio", "video"]


@dataclass(frozen=True, slots=True)
class File:
    path: FilePath
    """Inside the owner's folder, e.g. `documents/letters/council.txt`."""
    name: str
    size_bytes: int
    modified: dt.datetime


@dataclass(frozen=True, slots=True)
class FileText:
    path: FilePath
    text: str


_GENERIC = frozenset(
    ["file", "document", "folder", "picture", "photo", "image", "recording", "video", "audio", "spreadsheet", "called"]
)
_EXTENSION_NAMES = {
    "text": "txt md markdown rst org tex log csv tsv json xml yaml yml toml ini html htm py sh",
    "image": "jpg jpeg png gif bmp tif tiff webp svg heic heif avif raw dng psd xcf",
    "document": "pdf doc docx odt rtf txt md markdown rst org tex html htm epub ppt pptx odp pages key",
    "spreadsheet": "csv tsv xls xlsx xlsm ods numbers",
    "audio": "mp3 m4a aac ogg oga opus flac wav aiff wma amr mid",
    "video": "mp4 m4v mov mkv avi webm mpg mpeg wmv 3gp ogv",
    "packed": "pdf doc docx odt xls xlsx ods ppt pptx odp epub zip gz 7z rar tar exe",
}
_EXTENSIONS = {kind: frozenset(known.split()) for kind, known in _EXTENSION_NAMES.items()}
_NO_TEXT = frozenset().union(*(_EXTENSIONS[kind] for kind in ("image", "audio", "video", "packed"))) - {"svg"}
"""Extensions of files that could not be opened if a text were saved under them."""

# ── Which file ───────────────────────────────────────────────────────────────────────────────────────────


def file_meant(path: object, call: CallContext, given: Mapping[str, object]) -> Referent:  # noqa: ARG001 - a Resolver
    """Resolve the path or the name of a document that is there. Raises: As `existing_document`."""
    return file_referent(call.workspace.real_path(existing_document(path, call.workspace)), call)


def file_referent(path: str, call: CallContext) -> Referent:
    """A file by its real path below the owner's folder, with its size and time where it is there."""
    inner = path.removeprefix(ROOT + "/")
    state: tuple[tuple[str, str], ...] = ()
    if not path.endswith("/"):
        with contextlib.suppress(ToolError):  # not there yet, or a folder
            stat = call.workspace.stat(path)
            state = (
                ("its size", f"{stat.size_bytes} bytes"),
                ("its time", stat.modified.isoformat(timespec="milliseconds")),
            )
    return Referent(path, inner, aliases=(posixpath.basename(path),), state=state)


def _new_file(path: object, call: CallContext, given: Mapping[str, object]) -> Referent:  # noqa: ARG001 - a Resolver
    """Resolve where a text is saved; a file that is there already would be replaced."""
    said = _new_path(path)
    found = file_referent(call.workspace.real_path(said) + ("/" if said.endswith("/") else ""), call)
    return replace(found, text="is there already and would be replaced") if found.state else found


def _target_file(to: object, call: CallContext, given: Mapping[str, object]) -> Referent:
    """Resolve where a file is moved or copied to, which depends on the file."""
    target = _target(existing_document(given.get("path"), call.workspace), to, call.workspace)
    return file_referent(call.workspace.real_path(target), call)


ExistingFile = Annotated[FilePath, Names(file_meant)]
NewFile = Annotated[FilePath, Names(_new_file)]
TargetFile = Annotated[FilePath, Names(_target_file)]

# ── Finding and reading ───────────────────────────────────────────────────────────────────────────────────


@tool(source="file", answer="{path}, changed {modified}", answer_none="I found no such file in your documents.")
def find_files(
    call: CallContext,
    query: str = "",
    kind: Kind = "any",
    start: dt.datetime | None = None,
    end: dt.datetime | None = None,
) -> list[File]:
    """Find files among the owner's documents by words of their name, folder or text, by kind and by date.
    The newest come first.

    Args:
        query: Words of the name, the folder or, for text files, of what is in it; all must occur.
        kind: Only files of this kind.
        start: Only files changed at this time or later.
        end: Only files changed before this time.
    Examples:
        where is the rental contract
        find all pictures from last month
        which spreadsheets do I have
        do we have a photo of the fuse box
    """
    words = wanted(query, _GENERIC)
    by_name: list[File] = []
    by_text: list[File] = []
    for path in _shown(call.workspace.list(ROOT)):
        _stop_when_cancelled(call)
        if kind != "any" and _extension(path) not in _EXTENSIONS[kind]:
            continue
        inner = path.removeprefix(ROOT + "/")
        missing = words.missing_in(inner.replace("_", " ").replace("-", " "))
        if missing and by_name:
            continue
        file = _file(path, call)
        if (start and file.modified < start) or (end and file.modified >= end):
            continue
        if not missing:
            by_name.append(file)
        elif _text_holds(file, missing, call.workspace):
            by_text.append(file)
    found = by_name or by_text
    found.sort(key=lambda file: (-file.modified.timestamp(), file.path))
    if len(found) > N_MAX_FOUND:
        call.notices.append(f"{len(found)} files were found; the newest {N_MAX_FOUND} are given.")
    return found[:N_MAX_FOUND]


@tool(source="file", answer="{path}:\n{text}")
def read_file(path: ExistingFile, call: CallContext) -> FileText:
    """Read a text file among the owner's documents.

    Args:
        path: Its path below the documents folder, e.g. "letters/council.txt", or just its name.
    Examples:
        what does wifi-setup.txt say
        read recipes/pancakes.md
    """
    found = existing_document(path, call.workspace)
    n_bytes = call.workspace.stat(found).size_bytes
    if n_bytes > N_MAX_READ_BYTES:
        raise ToolError(f"{found!r} has {size_text(n_bytes)}; I read text files up to {size_text(N_MAX_READ_BYTES)}")
    data = call.workspace.read(found)
    text = decoded(data)
    if text is None:
        raise ToolError(
            f"{found!r} is {_kind_of(data, found)} ({size_text(n_bytes)}), not text; I can read text files only, so "
            "open it in its own program"
        )
    if len(text) > N_MAX_TEXT_CHARACTERS:
        call.notices.append(
            f"{found} has {len(text):,} characters; only the first {N_MAX_TEXT_CHARACTERS:,} were read."
        )
    return FileText(FilePath(found), text[:N_MAX_TEXT_CHARACTERS])


# ── Changing ──────────────────────────────────────────────────────────────────────────────────────────────


@tool(effect="change", answer="Saved {path}.")
def write_file(path: NewFile, text: str, call: CallContext) -> File:
    """Save a text as a file among the owner's documents; a file of that name is replaced, which can be undone.

    Args:
        path: Where, below the documents folder, e.g. "ideas.txt" or "letters/council.txt".
        text: What is in the file.
    Examples:
        create a file called ideas.txt with the text "call it Hazel"
        save "meter reading 48210" in meter.txt
    """
    target = _new_path(path)
    if target.endswith("/"):
        raise ToolError(f"{path!r} names a folder; add a file name, e.g. {path + 'note.txt'!r}")
    if _extension(target) in _NO_TEXT:
        raise ToolError(f"text cannot be saved as a .{_extension(target)} file; use .txt or .md")
    data = text_bytes(text, "text of the file", N_MAX_WRITE_BYTES)
    call.workspace.write(target, data)
    return File(FilePath(target), posixpath.basename(target), len(data), call.now)


@tool(effect="change", answer="Moved to {path}.")
def move_file(path: ExistingFile, to: TargetFile, call: CallContext) -> File:
    """Move or rename a file among the owner's documents. No other file is replaced.

    Args:
        path: The file, by its path below the documents folder or its name.
        to: A new name ("garden.jpg"), a new path ("taxes/scan.pdf"), or a folder ("taxes/").
    Examples:
        rename draft.md to chapter1.md
        move scan0042.pdf to taxes/scan0042.pdf
    """
    source = existing_document(path, call.workspace)
    target = _target(source, to, call.workspace)
    file = _copied(source, target, call)
    call.workspace.delete(source)
    return file


@tool(effect="change", answer="Copied to {path}.")
def copy_file(path: ExistingFile, to: TargetFile, call: CallContext) -> File:
    """Copy a file among the owner's documents. No other file is replaced.

    Args:
        path: The file, by its path below the documents folder or its name.
        to: The copy's name ("budget-2027.csv"), path ("archive/letter.txt"), or a folder ("archive/").
    Examples:
        make a copy of budget.csv called budget-2027.csv
        copy letter.txt to archive/letter.txt
    """
    source = existing_document(path, call.workspace)
    return _copied(source, _target(source, to, call.workspace), call)


@tool(effect="change", answer="Deleted {path}.")
def delete_file(path: ExistingFile, call: CallContext) -> File:
    """Delete a file among the owner's documents. It can be brought back with `hearth undo`.

    Args:
        path: The file, by its path below the documents folder or its name.
    Examples:
        delete the file old-list.txt
        erase tmp/export.csv
    """
    found = existing_document(path, call.workspace)
    file = _file(found, call)
    call.workspace.delete(found)
    return file


def _copied(source: str, target: str, call: CallContext) -> File:
    n_bytes = call.workspace.stat(source).size_bytes
    if n_bytes > N_MAX_COPY_BYTES:
        raise ToolError(f"{source!r} has {size_text(n_bytes)}; I move and copy up to {size_text(N_MAX_COPY_BYTES)}")
    call.workspace.write(target, call.workspace.read(source))
    return File(FilePath(target), posixpath.basename(target), n_bytes, call.now)


# ── Paths ─────────────────────────────────────────────────────────────────────────────────────────────────

_DIRECTION_MARKS = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u061c\ufeff")


def document_path(path: object) -> str:
    """Return a path as the owner says it (`letters/a.txt`, `documents/letters/a.txt`), relative to the owner's folder.

    Raises:
        SandboxError: It is no path below `documents/`.
    """
    if not isinstance(path, str):
        raise SandboxError(f"{path!r} is not a file path; expected text such as 'letters/council.txt'")
    clean = path.strip()
    if not clean or clean in (".", "./", ROOT, ROOT + "/"):
        raise SandboxError(f"{path!r} names no file; give a path below your documents, e.g. 'letters/council.txt'")
    if clean.startswith("~") or "\\" in clean or clean[1:2] == ":":
        raise SandboxError(
            f"{path[:60]!r} is not a path below your documents; write it with forward slashes, e.g. "
            "'letters/council.txt'"
        )
    if clean.startswith("/") or ".." in clean.split("/"):
        raise SandboxError(f"{path[:60]!r} leaves your documents folder; give a path below it")
    clean = clean.removeprefix("./")
    return clean if clean.startswith(ROOT + "/") else f"{ROOT}/{clean}"


def existing_document(path: object, workspace: Workspace) -> str:
    """Return the one file that `path` means: that exact path, else a file whose path ends so, with or without its
    extension.

    Raises:
        NotFound: There is none; names the nearest. Ambiguous: There are several. SandboxError: No path below documents.
    """
    full = document_path(path)
    said = full.removeprefix(ROOT + "/")
    if "/" in said and not said.endswith("/") and workspace.exists(full):
        return full
    ends = _ends(workspace.list(ROOT))
    if full in ends.listed:  # what lies right in the folder is in its list, a link to a file, too
        return full
    asked = "/" + fold(said)
    found = ends.matching(asked)
    if len(found) == 1:
        return found[0]
    if found:
        raise Ambiguous(f"several files are called {path!r}: {names(found)}; say which one with its folder")
    words = wanted(asked.rpartition("/")[2].replace("-", " ").replace("_", " "))
    alike = difflib.get_close_matches(asked.lstrip("/"), [end.lstrip("/") for end in ends.by_path.values()], 3)
    near = [c for c, end in ends.by_path.items() if end.lstrip("/") in alike or (words and not words.missing_in(end))]
    shown = [c.removeprefix(ROOT + "/") for c in near]
    hint = f"; near it: {names(shown)}" if shown else "; find_files lists what is there"
    raise NotFound(f"no file {str(path)[:100]!r} in your documents{hint}")


def _shown(paths: Iterable[str]) -> list[str]:
    """Return every document that is not hidden; a hidden one is reached only by its exact path."""
    return [path for path in paths if "/." not in path]


@dataclass(frozen=True, slots=True)
class _Ends:
    """What the paths of documents may be said to end with, as it is compared."""

    listed: frozenset[str]
    by_path: Mapping[str, str]
    by_name: Mapping[str, Sequence[tuple[str, str]]]
    """Paths and what they end with, by the last name in it."""
    by_stem: Mapping[str, Sequence[tuple[str, str]]]
    """The same without their extensions."""

    def matching(self, asked: str) -> list[str]:
        """Return the documents whose path ends so, with or else without its extension; `asked` begins with a slash."""
        name = asked.rpartition("/")[2]
        for known in (self.by_name, self.by_stem):
            if found := [path for path, end in known.get(name, ()) if end.endswith(asked)]:
                return found
        return []


@functools.lru_cache(maxsize=4)
def _ends(listing: tuple[str, ...]) -> _Ends:
    by_path = {path: "/" + fold(path.removeprefix(ROOT + "/")) for path in _shown(listing)}
    by_name: dict[str, list[tuple[str, str]]] = {}
    by_stem: dict[str, list[tuple[str, str]]] = {}
    for path, end in by_path.items():
        stem = posixpath.splitext(end)[0]
        by_name.setdefault(end.rpartition("/")[2], []).append((path, end))
        by_stem.setdefault(stem.rpartition("/")[2], []).append((path, stem))
    return _Ends(frozenset(listing), by_path, by_name, by_stem)


def _new_path(path: object) -> str:
    full = document_path(path)
    wrong = next((c for c in full if c < " " or c == "\x7f" or c in _DIRECTION_MARKS), "")
    if wrong and wrong != "\0":  # a NUL is refused by the workspace
        raise SandboxError(f"{full!r} holds the invisible character {wrong!r}; leave it out of the name")
    return full


def _target(source: str, to: object, workspace: Workspace) -> str:
    """Return the new path of a moved or copied file."""
    said = _new_path(to)
    folder, name = posixpath.split(source)
    is_bare = isinstance(to, str) and "/" not in to.strip()
    if said.endswith("/") or workspace.list(said):
        target = f"{said.rstrip('/')}/{name}"
    else:
        target = f"{folder}/{said.removeprefix(ROOT + '/')}" if is_bare else said
        if not posixpath.splitext(target)[1]:
            # "rename report.txt to summary" means summary.txt.
            target += posixpath.splitext(name)[1]
    if target == source:
        raise Conflict(f"{source!r} is there already under that name; give another one")
    if workspace.exists(target):
        raise Conflict(f"{target!r} exists already and is not replaced; give another name or delete it first")
    return target


def _file(path: str, call: CallContext) -> File:
    stat = call.workspace.stat(path)
    modified = stat.modified.astimezone(call.now.tzinfo)
    return File(FilePath(path), posixpath.basename(path), stat.size_bytes, modified)


def _extension(path: str) -> str:
    return posixpath.splitext(path)[1].lstrip(".").lower()


def _stop_when_cancelled(call: CallContext) -> None:
    if call.cancelled.is_set():
        raise ToolError("stopped before all files were looked at; ask again, or for less")


# ── Text ──────────────────────────────────────────────────────────────────────────────────────────────────


def text_bytes(text: str, what: str, n_max_bytes: int) -> bytes:
    """Return `text` as UTF-8.

    Raises:
        ToolError: Too long, or with characters no text file holds.
    """
    if not isinstance(text, str):
        raise ToolError(f"the {what} is {text!r}; expected text")
    if "\0" in text:
        raise ToolError(f"the {what} holds a NUL character, which is not text; leave it out")
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise ToolError(f"the {what} holds {text[error.start]!r}, half of a character; leave it out") from None
    if len(data) > n_max_bytes:
        raise ToolError(f"the {what} has {size_text(len(data))}; expected at most {size_text(n_max_bytes)}; shorten it")
    return data


_BOMS: Sequence[tuple[bytes, str]] = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LEAST_NUL = 0.8
"""Share of NUL among the high bytes of a text of Latin letters; the others are of dashes, quotation marks and the
like."""
_MOST_NUL = 0.02
_MOST_BEYOND_ASCII = 0.3
"""Share of other letters in a text of Latin ones; in the numbers of a picture or of sound there are more."""
_ASCII = bytes(range(9, 14)) + bytes(range(32, 127))
_CONTROLS = bytes(set(range(32)) - {9, 10, 12, 13, 27}) + b"\x7f"


def decoded(data: bytes) -> str | None:
    """Return the text in `data` (UTF-8, UTF-16 or -32 with their marks, UTF-16 of Latin letters without, else
    Windows-1252), or None when it is no text."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            try:
                return data.decode(encoding).replace("\0", "\ufffd")
            except UnicodeDecodeError:
                return None
    head = data[:100_000]
    if encoding := _unmarked(head):
        try:
            return data.decode(encoding).replace("\0", "\ufffd")
        except UnicodeDecodeError:
            return None
    if b"\0" in head or not _is_printable(head):
        return None
    try:
        return data.decode().replace("\0", "\ufffd")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace").replace("\0", "\ufffd")


def _is_printable(codes: bytes) -> bool:
    return len(codes.translate(None, _CONTROLS)) >= 0.98 * len(codes)


def _unmarked(head: bytes) -> str:
    """Return the encoding of a text in UTF-16 that bears no mark of it: of Latin letters, every second byte is NUL."""
    for first, encoding in ((0, "utf-16-le"), (1, "utf-16-be")):
        low, high = head[first::2], head[1 - first :: 2]
        is_latin = high.count(0) > _LEAST_NUL * len(high) and low.count(0) < _MOST_NUL * len(low)
        is_ascii = len(low.translate(None, _ASCII)) < _MOST_BEYOND_ASCII * len(low)
        if is_latin and is_ascii and _is_printable(head.decode(encoding, "replace").encode()):
            return encoding
    return ""


_MAGIC: Sequence[tuple[bytes, str]] = (
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a packed file (such as a Word document, a spreadsheet or an archive)"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"\xd0\xcf\x11\xe0", "an old Office document"),
    (b"\x7fELF", "a program"),
    (b"ID3", "an audio file"),
    (b"OggS", "an audio or video file"),
    (b"SQLite format 3", "a database"),
)


def _kind_of(data: bytes, path: str) -> str:
    for mark, kind in _MAGIC:
        if data.startswith(mark):
            return kind
    by_name = next((kind for kind in ("image", "audio", "video") if _extension(path) in _EXTENSIONS[kind]), "")
    return {"image": "a picture", "audio": "an audio file", "video": "a video"}.get(by_name, "a binary file")


def size_text(n_bytes: int) -> str:
    """Return a size such as `17 bytes`, `1.2 MB`."""
    if n_bytes < 1000:
        return f"{n_bytes} bytes"
    for factor, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if n_bytes >= factor:
            return f"{n_bytes / factor:.1f}".removesuffix(".0") + f" {unit}"
    return f"{n_bytes} bytes"


def _text_holds(file: File, missing: Wanted, workspace: Workspace) -> bool:
    """Say whether a small text file holds the words its path lacks."""
    if file.size_bytes > N_MAX_SEARCHED_BYTES or _extension(file.path) in _NO_TEXT:
        return False
    text = decoded(workspace.read(file.path))
    return text is not None and not missing.missing_in(text)


TOOLS = (find_files, read_file, write_file, move_file, copy_file, delete_file)
