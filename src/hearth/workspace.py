"""The owner's folder: sandboxed, atomic, journalled, undoable. A file is wholly as before or wholly as written.

Covered: paths that leave the folder by `..`, as absolute paths or through symlinks anywhere in them (each name is
opened relative to the folder already open, never followed by the kernel, so nothing can be swapped between check and
use); pipes, sockets and devices; crashes and power cuts at any moment of a write; a full disk; undoing a call after the
process, or the machine, was started again; a file that another program changed meanwhile (never overwritten by a
rollback or an undo).
Not covered: hard links made by the owner to files outside, mounts below the folder, another program that writes a
file in the instant between its last check and the rename, names that are not UTF-8 (left out of listings), extended
attributes and owners of replaced files (mode and time are kept), empty folders.

Each write or deletion is one row of the journal, committed before the file is touched: the hash of what was there
(its content in the row up to 256 kB, above that in `<home>/journal/<hash>`) and of what comes. Comparing the hash of
the file with both says whether the write happened, so no second commit is needed.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import errno
import fnmatch
import hashlib
import os
import secrets
import sqlite3
import stat
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hearth.errors import Conflict, NotFound, SandboxError, StoreError, StoreFullError, ToolError
from hearth.protocols import FileStat
from hearth.store import Store

N_MAX_NAME_BYTES = 255
N_MAX_PATH_BYTES = 4000
N_MAX_READ_BYTES = 64 * 1024 * 1024
TEMPORARY_PREFIX = ".hearth-tmp-"
_N_MAX_ROW_BYTES = 256 * 1024
_N_MAX_LINKS = 40
_CHUNK_BYTES = 1 << 20
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def path_parts(path: str) -> tuple[str, ...]:
    """The names of a relative path, without `.` and doubled slashes.

    Raises:
        SandboxError: Empty, absolute, with `..`, a NUL, a name that is too long or not Unicode, or a reserved name.
    """
    if not isinstance(path, str) or "\0" in path:
        raise SandboxError(f"{path!r} is not a file path; expected text without NUL, relative to the owner's folder")
    if path.startswith("/"):
        raise SandboxError(f"{path!r} is an absolute path; give one relative to the owner's folder")
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    if not parts:
        raise SandboxError(f"{path!r} names no file; give a path relative to the owner's folder")
    if ".." in parts:
        raise SandboxError(f"{path!r} leaves the owner's folder by '..'; give a path below it")
    try:
        n_bytes = [len(part.encode()) for part in parts]
    except UnicodeEncodeError:
        raise SandboxError(f"{path!r} is not valid Unicode; rename the file") from None
    if max(n_bytes) > N_MAX_NAME_BYTES or sum(n_bytes) + len(parts) > N_MAX_PATH_BYTES:
        raise SandboxError(
            f"{path[:60] + '…'!r} is too long; a name has at most {N_MAX_NAME_BYTES} bytes, a path {N_MAX_PATH_BYTES}"
        )
    if any(part.startswith(TEMPORARY_PREFIX) for part in parts):
        raise SandboxError(f"{path!r} is reserved for unfinished writes; choose a name without {TEMPORARY_PREFIX!r}")
    return parts


def folder_parts(folder: str) -> tuple[str, ...]:
    """As `path_parts`, where an empty text (or `.`) is the owner's folder itself."""
    return () if folder in ("", ".", "./") else path_parts(folder)


@dataclass(frozen=True, slots=True)
class RollbackReport:
    restored: tuple[str, ...]
    """Files that are again as before the call."""
    conflicts: tuple[str, ...]
    """Files left alone because something else changed them since, or because they cannot be reached."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a path really leads: an open folder and a name in it that is no symlink."""

    folder: int
    name: str
    path: str
    n_made: int
    """Folders made on the way."""


@dataclass(frozen=True, slots=True)
class _Before:
    """A file as it was found."""

    hash: str | None
    """None when there was none."""
    content: bytes | None
    """None also for a large file, whose content is in the journal's folder."""
    mode: int
    modified_ns: int
    identity: tuple[int, int, int, int] | None
    """To see a change made meanwhile without reading again."""


class Folder:
    """The owner's folder `root` with its journal in `store`: one per home and process, thread-safe."""

    def __init__(self, root: Path, store: Store) -> None:
        """Open the folder, making it when absent; after a crash, remove what unfinished writes left.

        Raises:
            ToolError: It is no folder, or cannot be made.
        """
        self.root = root
        self._store = store
        self._blobs = store.path.parent / "journal"
        self._lock = threading.RLock()
        try:
            root.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(root, os.O_RDONLY | os.O_DIRECTORY))
        except OSError as error:
            raise ToolError(f"cannot use {str(root)!r} as the owner's folder: {error.strerror}") from None
        if store.query("SELECT 1 FROM meta WHERE name='unclean'"):
            self._sweep()
            with store.transaction() as cursor:
                cursor.execute("DELETE FROM meta WHERE name='unclean'")

    def for_call(self, key: str) -> KeyedFolder:
        """The folder as one call sees it: what it writes is journalled under `key`; without one it only reads."""
        return KeyedFolder(self, key)

    # ── Reading ───────────────────────────────────────────────────────────────────────────────────────────

    def read(self, path: str) -> bytes:
        """As `protocols.Workspace.read`. Raises also: ToolError: Larger than 64 MB, or a folder."""
        with _faults("read", path), self._place(path_parts(path)) as place, _opened(place, path) as (handle, status):
            if status.st_size > N_MAX_READ_BYTES:
                raise ToolError(
                    f"{path!r} has {status.st_size / 1e6:.0f} MB; at most {N_MAX_READ_BYTES / 1e6:.0f} MB can be read"
                )
            return b"".join(_chunks(handle, N_MAX_READ_BYTES))

    def exists(self, path: str) -> bool:
        """As `protocols.Workspace.exists`; False for folders, pipes and devices."""
        try:
            with _faults("look at", path), self._place(path_parts(path)) as place:
                return stat.S_ISREG(os.stat(place.name, dir_fd=place.folder, follow_symlinks=False).st_mode)
        except NotFound:
            return False

    def stat(self, path: str) -> FileStat:
        """As `protocols.Workspace.stat`."""
        with _faults("look at", path), self._place(path_parts(path)) as place:
            status = _status(place, path)
        identity = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        modified = dt.datetime.fromtimestamp(status.st_mtime_ns // 1000 / 1e6, dt.UTC)
        return FileStat(status.st_size, modified, "-".join(f"{number:x}" for number in identity))

    def files(self, folder: str = "", pattern: str = "*") -> tuple[str, ...]:
        """As `protocols.Workspace.list`. A symlink to a file inside is listed, one to a folder is not entered."""
        found: list[str] = []
        with _faults("list", folder):
            for path, is_link in self._walk(folder_parts(folder)):
                name = path.rpartition("/")[2]
                if fnmatch.fnmatchcase(name, pattern) and not name.startswith(TEMPORARY_PREFIX):
                    with contextlib.suppress(ToolError):
                        if not is_link or self.exists(path):
                            found.append(path)
        return tuple(sorted(found))

    def _walk(self, parts: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
        """Files and symlinks below a folder, with whether it is a symlink."""
        waiting = [parts]
        while waiting:
            parts = waiting.pop()
            try:
                handle = self._open_folder(parts)
            except (NotFound, PermissionError):
                continue
            try:
                with os.scandir(handle) as entries:
                    for entry in entries:
                        if not _is_unicode(entry.name):
                            continue
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append((*parts, entry.name))
                        elif entry.is_symlink() or entry.is_file(follow_symlinks=False):
                            yield "/".join((*parts, entry.name)), entry.is_symlink()
            finally:
                os.close(handle)

    # ── Writing ───────────────────────────────────────────────────────────────────────────────────────────

    def write(self, key: str, path: str, data: bytes) -> None:
        """As `protocols.Workspace.write`, journalled under `key`. Raises also: Conflict: It is being changed."""
        after = hashlib.sha256(data).hexdigest()
        with self._lock, _faults("write", path), self._place(path_parts(path), make=True) as place:
            before = self._before(place, path)
            if before.hash == after:
                return
            number = self._journal(key, place, before, after)
            try:
                temporary = _write_temporary(place.folder, (data,), before.mode, time.time_ns())
                try:
                    _check_unchanged(place, before, path)
                    os.rename(temporary, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
                except BaseException:
                    os.unlink(temporary, dir_fd=place.folder)
                    raise
            except (OSError, ToolError):
                self._withdraw(number, place)
                raise
            os.fsync(place.folder)

    def delete(self, key: str, path: str) -> None:
        """As `protocols.Workspace.delete`, journalled under `key`. Raises also: Conflict: It is being changed."""
        with self._lock, _faults("delete", path), self._place(path_parts(path)) as place:
            before = self._before(place, path)
            if before.hash is None:
                raise NotFound(f"no file {path!r} in the owner's folder")
            number = self._journal(key, place, before, None)
            try:
                _check_unchanged(place, before, path)
                os.unlink(place.name, dir_fd=place.folder)
            except (OSError, ToolError):
                self._withdraw(number, place)
                raise
            os.fsync(place.folder)

    def _before(self, place: _Place, path: str) -> _Before:
        """What is there now; the content of a large file goes to the journal's folder."""
        try:
            with _opened(place, path) as (handle, status):
                identity = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
                mode, modified_ns = stat.S_IMODE(status.st_mode), status.st_mtime_ns
                if status.st_size <= _N_MAX_ROW_BYTES:
                    content = b"".join(_chunks(handle, _N_MAX_ROW_BYTES))
                    return _Before(hashlib.sha256(content).hexdigest(), content, mode, modified_ns, identity)
                return _Before(self._keep(handle), None, mode, modified_ns, identity)
        except NotFound:
            return _Before(None, None, 0o600, 0, None)

    def _keep(self, handle: int) -> str:
        """Copy a large file to the journal's folder, under its hash."""
        self._blobs.mkdir(exist_ok=True, mode=0o700)
        folder = os.open(self._blobs, os.O_RDONLY | os.O_DIRECTORY)
        try:
            digest = hashlib.sha256()
            temporary = _write_temporary(folder, _hashed(_chunks(handle), digest), 0o600, time.time_ns())
            os.rename(temporary, digest.hexdigest(), src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)
            return digest.hexdigest()
        finally:
            os.close(folder)

    def _journal(self, key: str, place: _Place, before: _Before, after: str | None) -> int:
        with self._store.transaction() as cursor:
            cursor.execute(
                "INSERT INTO journal (key, path, before_hash, before, before_mode, before_modified_ns, after_hash,"
                " n_made_folders, at_unix_s, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'active')",
                (
                    key,
                    place.path,
                    before.hash,
                    before.content,
                    before.mode,
                    before.modified_ns,
                    after,
                    place.n_made,
                    time.time(),
                ),
            )
            return cursor.lastrowid or 0

    def _withdraw(self, number: int, place: _Place) -> None:
        """A write that did not happen leaves no row (if that cannot be written either, the hashes tell the same)."""
        with contextlib.suppress(StoreError), self._store.transaction() as cursor:
            cursor.execute("DELETE FROM journal WHERE number=?", (number,))
        self._remove_folders(path_parts(place.path), place.n_made)

    # ── Taking back ───────────────────────────────────────────────────────────────────────────────────────

    def rollback(self, key: str) -> RollbackReport:
        """Put every file written under `key` back, the last written first; files changed since are left alone.

        Safe to repeat, also when it was cut off itself.
        """
        with self._lock:
            rows = self._rows(key)
            for parent in {row["path"].rpartition("/")[0] for row in rows}:
                self._sweep(folder_parts(parent), is_deep=False)
            targets, conflicts = self._targets(rows)
            restored = []
            for path, row in targets.items():
                try:
                    self._restore(row)
                    restored.append(path)
                except ToolError as error:
                    conflicts[path] = str(error)
            self._close([row["number"] for row in rows if row["path"] not in conflicts])
        return RollbackReport(tuple(restored), tuple(conflicts))

    def undo(self, key: str) -> tuple[str, ...]:
        """Put every file written under `key` back.

        Returns:
            The files that are again as before; empty when there is nothing to undo.
        Raises:
            Conflict: A file was changed since; says which and by what. Nothing was changed.
        """
        with self._lock:
            rows = self._rows(key)
            targets, conflicts = self._targets(rows)
            if conflicts:
                faults = "; ".join(f"{path!r} {why}" for path, why in conflicts.items())
                raise Conflict(f"cannot undo: {faults}; nothing was changed")
            for row in targets.values():
                self._restore(row)
            self._close([row["number"] for row in rows])
        return tuple(targets)

    def changes(self, key: str) -> tuple[str, ...]:
        """Files written under `key` that `undo` would put back."""
        return tuple(dict.fromkeys(row["path"] for row in reversed(self._rows(key))))

    def prune(self, older_than: dt.timedelta) -> int:
        """Forget journal entries of that age, which can then not be undone any more.

        Returns:
            How many were forgotten.
        """
        limit = time.time() - older_than.total_seconds()
        with self._lock:
            with self._store.transaction() as cursor:
                n_forgotten = cursor.execute("DELETE FROM journal WHERE at_unix_s < ?", (limit,)).rowcount
            rows = self._store.query("SELECT before_hash FROM journal WHERE before IS NULL AND before_hash IS NOT NULL")
            needed = {row["before_hash"] for row in rows}
            for blob in self._blobs.iterdir() if self._blobs.is_dir() else ():
                if blob.name not in needed:
                    blob.unlink(missing_ok=True)
        return n_forgotten

    def _rows(self, key: str) -> list[sqlite3.Row]:
        return self._store.query("SELECT * FROM journal WHERE key=? AND state='active' ORDER BY number DESC", (key,))

    def _close(self, numbers: list[int]) -> None:
        if numbers:
            with self._store.transaction() as cursor:
                cursor.executemany("UPDATE journal SET state='undone' WHERE number=?", [(n,) for n in numbers])

    def _targets(self, rows: list[sqlite3.Row]) -> tuple[dict[str, sqlite3.Row], dict[str, str]]:
        """For each file the row whose before-image it must get, found by walking its writes backwards; and the files
        whose content none of them explains, with why."""
        found: dict[str, str | None] = {}
        contents: dict[str, str | None] = {}
        """Of each file, walking back from what was found."""
        targets: dict[str, sqlite3.Row] = {}
        conflicts: dict[str, str] = {}
        for row in rows:
            path = row["path"]
            if path in conflicts:
                continue
            if path not in contents:
                try:
                    # A call may put a folder where a file was: that folder goes before the file comes back.
                    is_folder = any(other["path"].startswith(path + "/") for other in rows)
                    contents[path] = found[path] = None if is_folder else self._hash(path)
                except ToolError as error:
                    conflicts[path] = f"cannot be read ({error})"
                    continue
            if contents[path] == row["after_hash"]:
                contents[path] = row["before_hash"]
                targets[path] = row
            elif contents[path] != row["before_hash"]:  # equal: this write never happened, or is taken back already
                targets.pop(path, None)
                conflicts[path] = self._why(row)
        return {path: row for path, row in targets.items() if row["before_hash"] != found[path]}, conflicts

    def _why(self, row: sqlite3.Row) -> str:
        later = self._store.query(
            "SELECT key FROM journal WHERE path=? AND number>? AND key<>? AND state='active'"
            " ORDER BY number DESC LIMIT 1",
            (row["path"], row["number"], row["key"]),
        )
        if later:
            return f"was changed again by a later call ({later[0]['key']!r}): undo that first"
        return "was changed since by the owner or another program"

    def _hash(self, path: str) -> str | None:
        try:
            with _faults("read", path), self._place(path_parts(path)) as place, _opened(place, path) as (handle, _):
                digest = hashlib.sha256()
                for chunk in _chunks(handle):
                    digest.update(chunk)
                return digest.hexdigest()
        except NotFound:
            return None

    def _restore(self, row: sqlite3.Row) -> None:
        path, parts = row["path"], path_parts(row["path"])
        if row["before_hash"] is None:
            with _faults("remove", path), self._place(parts) as place:
                os.unlink(place.name, dir_fd=place.folder)
                os.fsync(place.folder)
            self._remove_folders(parts, row["n_made_folders"])
            return
        with _faults("restore", path), self._place(parts, make=True) as place:
            digest = hashlib.sha256()
            chunks = _hashed(self._kept(row), digest)
            temporary = _write_temporary(place.folder, chunks, row["before_mode"], row["before_modified_ns"])
            if digest.hexdigest() != row["before_hash"]:
                os.unlink(temporary, dir_fd=place.folder)
                raise ToolError(f"the journal's copy of {path!r} is damaged; {path!r} was left as it is")
            os.rename(temporary, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
            os.fsync(place.folder)

    def _kept(self, row: sqlite3.Row) -> Iterator[bytes]:
        if row["before"] is not None:
            yield row["before"]
            return
        try:
            with (self._blobs / row["before_hash"]).open("rb") as file:
                yield from _chunks(file.fileno())
        except FileNotFoundError:
            raise ToolError(f"the journal's copy of {row['path']!r} is gone; it was left as it is") from None

    def _remove_folders(self, parts: tuple[str, ...], n_made: int) -> None:
        """Remove the folders that a write made, unless something else lies in them."""
        for depth in range(len(parts) - 1, len(parts) - 1 - n_made, -1):
            with contextlib.suppress(OSError, ToolError), self._place(parts[:depth]) as place:
                os.rmdir(place.name, dir_fd=place.folder)

    def _sweep(self, parts: tuple[str, ...] = (), *, is_deep: bool = True) -> None:
        """Remove what writes left that were cut off before their rename."""
        for path, _ in self._walk(parts):
            folder, _, name = path.rpartition("/")
            if name.startswith(TEMPORARY_PREFIX) and (is_deep or folder == "/".join(parts)):
                handle = self._open_folder(folder_parts(folder))
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=handle)
                os.close(handle)
        for blob in self._blobs.glob(f"{TEMPORARY_PREFIX}*"):
            blob.unlink(missing_ok=True)

    # ── Finding the way without following anything ────────────────────────────────────────────────────────

    @contextlib.contextmanager
    def _place(self, parts: tuple[str, ...], *, make: bool = False) -> Iterator[_Place]:
        """Open the folder a path really leads to, name by name; symlinks are read and walked, never followed.

        Raises:
            SandboxError: A symlink leaves the folder, or there are too many. With `make`: a dangling symlink.
            NotFound: A folder on the way is absent (without `make`), or the path is a folder by way of a symlink.
        """
        shown = "/".join(parts)
        waiting = [(part, False) for part in reversed(parts)]
        """Names still to be walked, last first, and whether each comes out of a symlink."""
        names: list[str] = []
        n_made = n_links = 0
        handle = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            while waiting:
                part, is_linked = waiting.pop()
                if part == "..":  # only ever from a symlink: `path_parts` refuses it
                    if not names:
                        raise SandboxError(f"{shown!r} leaves the owner's folder through a symlink")
                    names.pop()
                    os.close(handle)
                    handle = -1
                    handle = self._open_folder(tuple(names))
                    continue
                try:
                    mode = os.stat(part, dir_fd=handle, follow_symlinks=False).st_mode
                except FileNotFoundError:
                    if is_linked and make:
                        raise SandboxError(f"{shown!r} is a symlink to nothing; remove it or choose a name") from None
                    if not waiting:
                        yield _Place(handle, part, "/".join((*names, part)), n_made)
                        return
                    if not make:
                        raise NotFound(f"no file {shown!r} in the owner's folder") from None
                    os.mkdir(part, 0o700, dir_fd=handle)
                    os.fsync(handle)
                    n_made += 1
                    mode = stat.S_IFDIR
                if stat.S_ISLNK(mode):
                    n_links += 1
                    target = os.readlink(part, dir_fd=handle)
                    if target.startswith("/") or n_links > _N_MAX_LINKS or not _is_unicode(target):
                        raise SandboxError(f"{shown!r} leaves the owner's folder through a symlink")
                    waiting += [(name, True) for name in reversed(target.split("/")) if name not in ("", ".")]
                elif not waiting:
                    yield _Place(handle, part, "/".join((*names, part)), n_made)
                    return
                elif not stat.S_ISDIR(mode):
                    if make:
                        raise ToolError(f"cannot write {shown!r}: {'/'.join((*names, part))!r} is a file, not a folder")
                    raise NotFound(f"no file {shown!r} in the owner's folder")
                else:
                    deeper = os.open(part, _FOLDER_FLAGS, dir_fd=handle)
                    os.close(handle)
                    handle = deeper
                    names.append(part)
            raise NotFound(f"{shown!r} is a folder, not a file")
        finally:
            if handle >= 0:
                os.close(handle)

    def _open_folder(self, parts: tuple[str, ...]) -> int:
        """A handle on a folder; the caller closes it. Raises: NotFound: There is none."""
        if not parts:
            return os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        with self._place(parts) as place:
            try:
                return os.open(place.name, _FOLDER_FLAGS, dir_fd=place.folder)
            except (FileNotFoundError, NotADirectoryError):
                raise NotFound(f"no folder {'/'.join(parts)!r} in the owner's folder") from None


class KeyedFolder:
    """`protocols.Workspace` for one call; see `Folder`."""

    def __init__(self, folder: Folder, key: str) -> None:
        self._folder = folder
        self._key = key

    def read(self, path: str) -> bytes:
        return self._folder.read(path)

    def write(self, path: str, data: bytes) -> None:
        self._check_key(path)
        self._folder.write(self._key, path, data)

    def delete(self, path: str) -> None:
        self._check_key(path)
        self._folder.delete(self._key, path)

    def exists(self, path: str) -> bool:
        return self._folder.exists(path)

    def list(self, folder: str = "", pattern: str = "*") -> tuple[str, ...]:
        return self._folder.files(folder, pattern)

    def modified(self, path: str) -> dt.datetime:
        return self._folder.stat(path).modified

    def stat(self, path: str) -> FileStat:
        return self._folder.stat(path)

    def _check_key(self, path: str) -> None:
        if not self._key:
            raise ToolError(f"cannot change {path!r}: the folder was opened without a key, for reading only")


# ── Files in an open folder ───────────────────────────────────────────────────────────────────────────────


def _status(place: _Place, path: str) -> os.stat_result:
    """Raises: NotFound; ToolError: a folder; SandboxError: a pipe, socket or device."""
    with _faults("look at", path):
        status = os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)
    _check_regular(status, path)
    return status


def _check_regular(status: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise ToolError(f"{path!r} is a folder, not a file; give the name of a file")
    if not stat.S_ISREG(status.st_mode):
        raise SandboxError(f"{path!r} is a pipe, socket or device; only plain files are read and written")


@contextlib.contextmanager
def _opened(place: _Place, path: str) -> Iterator[tuple[int, os.stat_result]]:
    """A plain file opened for reading, without following a link and without waiting for a pipe's other end."""
    _status(place, path)
    with _faults("open", path):
        handle = os.open(place.name, _FILE_FLAGS, dir_fd=place.folder)
    try:
        status = os.fstat(handle)
        _check_regular(status, path)
        yield handle, status
    finally:
        os.close(handle)


def _check_unchanged(place: _Place, before: _Before, path: str) -> None:
    try:
        status = os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)
    except FileNotFoundError:
        identity = None
    else:
        identity = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    if identity != before.identity:
        raise Conflict(f"{path!r} is being changed by another program; nothing was written; try again")


def _write_temporary(folder: int, chunks: Iterable[bytes], mode: int, modified_ns: int) -> str:
    """Write a new file, on disk when this returns; its name. On a fault nothing is left."""
    name = TEMPORARY_PREFIX + secrets.token_hex(8)
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        for chunk in chunks:
            view = memoryview(chunk)
            while view:
                view = view[os.write(handle, view) :]
        os.fchmod(handle, mode)
        # The kernel's clock ticks in milliseconds: without this two writes could have one time and one fingerprint.
        os.utime(handle, ns=(modified_ns, modified_ns))
        os.fsync(handle)
    except BaseException:
        os.unlink(name, dir_fd=folder)
        raise
    finally:
        os.close(handle)
    return name


def _chunks(handle: int, limit_bytes: int | None = None) -> Iterator[bytes]:
    """Raises: ToolError: The file grew beyond the limit while it was read."""
    n_bytes = 0
    while chunk := os.read(handle, _CHUNK_BYTES):
        n_bytes += len(chunk)
        if limit_bytes is not None and n_bytes > limit_bytes:
            raise ToolError("the file grows while it is read; try again when the other program is done")
        yield chunk


def _hashed(chunks: Iterable[bytes], digest: hashlib._Hash) -> Iterator[bytes]:
    for chunk in chunks:
        digest.update(chunk)
        yield chunk


def _is_unicode(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


@contextlib.contextmanager
def _faults(verb: str, path: str) -> Iterator[None]:
    """Say in the owner's words what the system reports."""
    try:
        yield
    except FileNotFoundError:
        raise NotFound(f"no file {path!r} in the owner's folder") from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreFullError(f"no space left to {verb} {path!r}; nothing was changed; make room") from None
        if error.errno in (errno.ELOOP, errno.ENAMETOOLONG):
            raise SandboxError(f"cannot {verb} {path!r}: {error.strerror}; nothing was changed") from None
        raise ToolError(
            f"cannot {verb} {path!r}: {error.strerror}; nothing was changed; check its permissions"
        ) from None
