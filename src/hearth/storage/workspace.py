"""The owner's folder: sandboxed, atomic, journalled, undoable. A file is either fully as before or fully as written.

Covered: paths below one root; crashes and power cuts at any moment of a write; a full disk; undoing a call after a
restart of the process or the machine; a file that another program changed meanwhile (never overwritten by a rollback or
an undo). Not covered: what paths do not cover; another program that writes a file in the instant between the last
check and the rename; owners and extended attributes of replaced files (mode and time are kept); empty folders.

Each write or deletion is one row of the journal, committed before the file is touched: the hash of the old content (the
content itself in the row up to 256 kB, above that in `<home>/journal/<hash>`) and of the new one. Comparing the hash of
the file with both shows whether the write happened, so no second commit is needed.
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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from hearth import config
from hearth.config import Settings
from hearth.config.setting_tables import has_key
from hearth.errors import Conflict, NotFound, SandboxError, StoreError, StoreFullError, ToolError
from hearth.protocols import FileStat, Workspace
from hearth.storage.database import Store

# ── Workspace ─────────────────────────────────────────────────────────────────────────────────────────────

# ── Paths below one root ───────────────────────────────────────────────────────────────────────────────
# Confine file access to the owner's folder: paths below one root, opened name by name.
# Covered: `..`, absolute paths, symlinks anywhere in a path (each name is opened relative to the folder already open
# and never followed by the kernel, so nothing can be swapped between check and use), pipes, sockets and devices
# (refused without opening them, so without waiting), names that are too long.
# Not covered: hard links made by the owner to files outside, mounts below the folder, names that are not UTF-8 (left
# out of listings). Permissions and the journal of changes are other parts' concern.


N_MAX_NAME_BYTES = 255
N_MAX_PATH_BYTES = 4000
N_MAX_READ_BYTES = 64 * 1024 * 1024
TEMPORARY_PREFIX = ".hearth-tmp-"
_N_MAX_LINKS = 40
_N_MAX_LISTINGS, _N_MAX_KEPT_FILES = 64, 50_000
_SETTLED_NS = 3_000_000_000
"""A folder that changed less than this ago may change again without its time telling: clocks of file systems tick."""
_CHUNK_BYTES = 1 << 20
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_ROOT_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FOLDER_FLAGS = _ROOT_FLAGS | os.O_NOFOLLOW
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def path_parts(path: str) -> tuple[str, ...]:
    """Return the names of a relative path, without `.` and doubled slashes.

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
    """Return the names as `path_parts` does; an empty text (or `.`) is the owner's folder itself."""
    return () if folder in ("", ".", "./") else path_parts(folder)


@dataclass(frozen=True, slots=True)
class Place:
    """The real place of a path: an open folder and a name in it that is no symlink."""

    folder: int
    name: str
    path: str
    n_made: int
    """Number of folders made on the way."""


_Stamp = tuple[int, int, int, int]
"""Device, inode, time of last change of content and of status of a folder, ns."""
_NO_STAMP: _Stamp = (-1, -1, -1, -1)


@dataclass(frozen=True, slots=True)
class _Listing:
    """The files below a folder, and its folders as they were when it was listed."""

    folders: tuple[tuple[str, _Stamp], ...]
    files: tuple[str, ...]

    def is_as_it_was(self) -> bool:
        """Return whether no folder was changed since, nor another put in its place."""
        try:
            return all(_stamp(os.stat(folder)) == stamp for folder, stamp in self.folders)
        except (OSError, ValueError):
            return False


def _stamp(status: os.stat_result) -> _Stamp:
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns


class ContentSeal(Protocol):
    """Encrypts and decrypts the content of files; `storage.home_key.Seal` is one."""

    def sealed(self, content: bytes) -> bytes: ...

    def opened(self, raw: bytes, path: str) -> bytes:
        """Raises: ToolError: It was changed since it was encrypted."""
        ...


class Sandbox:
    """The files below `root`. Read-only, except for folders on the way to a place and what `sweep` removes."""

    def __init__(self, root: Path, seal: ContentSeal | None = None) -> None:
        """Open the folder, making it when absent; `seal` opens files that are encrypted. Raises: ToolError: It is no
        folder, or cannot be made."""
        self.root = root
        self._seal = seal
        self._listings: dict[tuple[tuple[str, ...], str], _Listing] = {}
        try:
            root.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(root, _ROOT_FLAGS))
        except OSError as error:
            raise ToolError(f"cannot use {str(root)!r} as the owner's folder: {error.strerror}") from None

    def read(self, path: str) -> bytes:
        """Read a file as `protocols.Workspace.read`. Raises also: ToolError: Larger than 64 MB, or a folder."""
        with faults("read", path), self.place(path_parts(path)) as place, opened(place, path) as (handle, status):
            if status.st_size > N_MAX_READ_BYTES:
                raise ToolError(
                    f"{path!r} has {status.st_size / 1e6:.0f} MB; at most {N_MAX_READ_BYTES / 1e6:.0f} MB can be read"
                )
            return self.content(b"".join(chunks(handle, N_MAX_READ_BYTES)), path)

    def content(self, raw: bytes, path: str) -> bytes:
        """Return what a file holds, decrypted where it is encrypted. Raises: ToolError: It was changed."""
        return raw if self._seal is None else self._seal.opened(raw, path)

    def exists(self, path: str) -> bool:
        """Return as `protocols.Workspace.exists`; False for folders, pipes and devices."""
        try:
            with faults("look at", path), self.place(path_parts(path)) as place:
                return stat.S_ISREG(os.stat(place.name, dir_fd=place.folder, follow_symlinks=False).st_mode)
        except NotFound:
            return False

    def stat(self, path: str) -> FileStat:
        """Return as `protocols.Workspace.stat`."""
        with faults("look at", path), self.place(path_parts(path)) as place:
            status = _status(place, path)
        identity = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        modified = _EPOCH + dt.timedelta(microseconds=status.st_mtime_ns // 1000)
        return FileStat(status.st_size, modified, "-".join(f"{number:x}" for number in identity))

    def files(self, folder: str = "", pattern: str = "*") -> tuple[str, ...]:
        """List files as `protocols.Workspace.list`. A symlink to a file inside is listed, one to a folder is not
        entered. As long as no folder changed, the same tuple is returned again."""
        parts = folder_parts(folder)
        known = self._listings.get((parts, pattern))
        if known is not None and known.is_as_it_was():
            return known.files
        found: list[str] = []
        stamps: dict[str, _Stamp] | None = {}
        with faults("list", folder):
            for path, is_link in self._walk(parts, stamps=stamps):
                name = path.rpartition("/")[2]
                if fnmatch.fnmatchcase(name, pattern) and not name.startswith(TEMPORARY_PREFIX):
                    with contextlib.suppress(ToolError):
                        if not is_link or self.exists(path):
                            found.append(path)
                if is_link:
                    stamps = None  # what a link leads to may go without a trace in its own folder
        listing = _Listing(tuple(stamps.items()) if stamps else (), tuple(sorted(found)))
        self._keep((parts, pattern), listing)
        return listing.files

    def _keep(self, key: tuple[tuple[str, ...], str], listing: _Listing) -> None:
        """Keep a listing for the next time, if a later change of its folders would show."""
        self._listings.pop(key, None)
        stamps = [stamp for _, stamp in listing.folders]
        if not stamps or _NO_STAMP in stamps or len(listing.files) > _N_MAX_KEPT_FILES:
            return
        if time.time_ns() - max(max(stamp[2:]) for stamp in stamps) < _SETTLED_NS:
            return
        self._listings[key] = listing
        while len(self._listings) > _N_MAX_LISTINGS:
            with contextlib.suppress(KeyError, RuntimeError):  # another thread may have dropped it
                del self._listings[next(iter(self._listings))]

    def _walk(
        self, parts: tuple[str, ...], *, is_deep: bool = True, stamps: dict[str, _Stamp] | None = None
    ) -> Iterator[tuple[str, bool]]:
        """Yield files and symlinks below a folder (or directly in it), with whether each is a symlink.

        Args:
            stamps: Gets what tells each folder from what it was before it changed, by its path on this machine; an
                impossible one for a folder that could not be opened.
        """
        waiting = [parts]
        while waiting:
            parts = waiting.pop()
            try:
                handle = self._open_folder(parts)
            except (NotFound, PermissionError):
                if stamps is not None:
                    stamps["/".join((str(self.root), *parts))] = _NO_STAMP
                continue
            try:
                if stamps is not None:  # before it is read, so that a change meanwhile shows
                    stamps["/".join((str(self.root), *parts))] = _stamp(os.fstat(handle))
                with os.scandir(handle) as entries:
                    for entry in entries:
                        if not is_unicode(entry.name):
                            continue
                        if entry.is_dir(follow_symlinks=False):
                            if is_deep:
                                waiting.append((*parts, entry.name))
                        elif entry.is_symlink() or entry.is_file(follow_symlinks=False):
                            yield "/".join((*parts, entry.name)), entry.is_symlink()
            finally:
                os.close(handle)

    def unlisted(self) -> Iterator[tuple[str, str]]:
        """Yield what lies in the folder and is neither listed nor entered, by path, with what it is."""
        waiting: list[tuple[str, ...]] = [()]
        while waiting:
            parts = waiting.pop()
            try:
                handle = self._open_folder(parts)
            except (NotFound, PermissionError):
                yield "/".join(parts), "a folder that cannot be opened"
                continue
            try:
                with os.scandir(handle) as entries:
                    for entry in sorted(entries, key=lambda entry: entry.name):
                        path = "/".join((*parts, entry.name))
                        if not is_unicode(entry.name):
                            yield path.encode(errors="replace").decode(), "a name that is no UTF-8"
                        elif entry.is_dir(follow_symlinks=False):
                            waiting.append((*parts, entry.name))
                        elif what := self._unread_kind(path, entry.stat(follow_symlinks=False).st_mode):
                            yield path, what
            finally:
                os.close(handle)

    def _unread_kind(self, path: str, mode: int) -> str:
        """Return what a name is that is no file to be read; empty where it is one."""
        if stat.S_ISREG(mode):
            return ""
        if not stat.S_ISLNK(mode):
            return "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
        try:
            target = (self.root / path).resolve(strict=True)
        except (OSError, RuntimeError):
            return "a symbolic link to nothing"
        if not target.is_relative_to(self.root.resolve()):
            return "a symbolic link that leads out of the home; put a copy here instead"
        if target.is_dir():
            return "a symbolic link to a folder; put the files here instead"
        with contextlib.suppress(ToolError):
            if self.exists(path):
                return ""
        return "a symbolic link that is not followed"

    def hash(self, path: str) -> str | None:
        """Return the SHA-256 of a file's content; None when there is no file, or a folder without one.

        Raises:
            ToolError: It cannot be read.
        """
        try:
            if self.is_bare(path):
                return None
            with faults("read", path), self.place(path_parts(path)) as place, opened(place, path) as (handle, status):
                is_sealed = self._seal is not None and status.st_size <= N_MAX_READ_BYTES
                digest = hashlib.sha256()
                for chunk in [self.content(b"".join(chunks(handle)), path)] if is_sealed else chunks(handle):
                    digest.update(chunk)
                return digest.hexdigest()
        except NotFound:
            return None

    def is_bare(self, path: str) -> bool:
        """Say whether a folder holds, at any depth, nothing but folders. Raises: NotFound."""
        with faults("look at", path), self.place(path_parts(path)) as place:
            mode = os.stat(place.name, dir_fd=place.folder, follow_symlinks=False).st_mode
            return stat.S_ISDIR(mode) and not any(True for _ in self._walk(path_parts(path)))

    def remove_folders(self, parts: tuple[str, ...], n_made: int) -> None:
        """Remove the folders that a write made, unless something else lies in them."""
        for depth in range(len(parts) - 1, len(parts) - 1 - n_made, -1):
            with contextlib.suppress(OSError, ToolError), self.place(parts[:depth]) as place:
                os.rmdir(place.name, dir_fd=place.folder)

    def sweep(self, parts: tuple[str, ...] = (), *, is_deep: bool = True) -> None:
        """Remove temporary files of writes that were cut off before their rename."""
        for path, _ in self._walk(parts, is_deep=is_deep):
            folder, _, name = path.rpartition("/")
            if name.startswith(TEMPORARY_PREFIX):
                handle = self._open_folder(folder_parts(folder))
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=handle)
                os.close(handle)

    @contextlib.contextmanager
    def place(self, parts: tuple[str, ...], *, make: bool = False) -> Iterator[Place]:
        """Open the folder a path really leads to, name by name; symlinks are read and walked, never followed.

        Raises:
            SandboxError: A symlink leaves the folder, or there are too many. With `make`: a dangling symlink.
            NotFound: A folder on the way is absent (without `make`), or the path is a folder by way of a symlink.
        """
        shown = "/".join(parts)
        waiting = [(part, False) for part in reversed(parts)]
        """Names still to be walked, last first, and whether each comes from a symlink."""
        names: list[str] = []
        n_made = n_links = 0
        handle = os.open(self.root, _ROOT_FLAGS)
        try:
            while waiting:
                part, is_linked = waiting.pop()
                if part == "..":  # only from a symlink: `path_parts` refuses it
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
                        yield Place(handle, part, "/".join((*names, part)), n_made)
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
                    if target.startswith("/") or n_links > _N_MAX_LINKS or not is_unicode(target):
                        raise SandboxError(f"{shown!r} leaves the owner's folder through a symlink")
                    waiting += [(name, True) for name in reversed(target.split("/")) if name not in ("", ".")]
                elif not waiting:
                    yield Place(handle, part, "/".join((*names, part)), n_made)
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

    def real_path(self, path: str) -> str:
        """Return the path that `path` leads to, as `protocols.Workspace.real_path`."""
        parts = path_parts(path)
        for depth in range(len(parts), 0, -1):
            with contextlib.suppress(NotFound), faults("look at", path), self.place(parts[:depth]) as place:
                return "/".join((place.path, *parts[depth:]))
        return "/".join(parts)

    def _open_folder(self, parts: tuple[str, ...]) -> int:
        """Open a handle on a folder; the caller closes it. Raises: NotFound: There is none."""
        if not parts:
            return os.open(self.root, _ROOT_FLAGS)
        with self.place(parts) as place:
            try:
                return os.open(place.name, _FOLDER_FLAGS, dir_fd=place.folder)
            except (FileNotFoundError, NotADirectoryError):
                raise NotFound(f"no folder {'/'.join(parts)!r} in the owner's folder") from None


# ── Files in an open folder ───────────────────────────────────────────────────────────────────────────────


def _status(place: Place, path: str) -> os.stat_result:
    """Return the status of a plain file. Raises: NotFound; ToolError: a folder; SandboxError: a pipe, socket or
    device."""
    with faults("look at", path):
        status = os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)
    _check_regular(status, path)
    return status


def _check_regular(status: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise ToolError(f"{path!r} is a folder, not a file; give the name of a file")
    if not stat.S_ISREG(status.st_mode):
        raise SandboxError(f"{path!r} is a pipe, socket or device; only plain files are read and written")


@contextlib.contextmanager
def opened(place: Place, path: str) -> Iterator[tuple[int, os.stat_result]]:
    """Open a plain file for reading, without following a link and without waiting for a pipe's other end."""
    _status(place, path)
    with faults("open", path):
        handle = os.open(place.name, _FILE_FLAGS, dir_fd=place.folder)
    try:
        status = os.fstat(handle)
        _check_regular(status, path)
        yield handle, status
    finally:
        os.close(handle)


def remove_bare_folder(folder: int, name: str) -> None:
    """Remove a folder that holds nothing but folders; anything else is left as it is. Raises: OSError."""
    handle = os.open(name, _FOLDER_FLAGS, dir_fd=folder)
    try:
        for entry in os.listdir(handle):
            remove_bare_folder(handle, entry)
    finally:
        os.close(handle)
    os.rmdir(name, dir_fd=folder)


def write_temporary(folder: int, chunks: Iterable[bytes], mode: int, modified_ns: int) -> str:
    """Write a new file, on disk when this returns; return its name. On an error nothing is left."""
    name = TEMPORARY_PREFIX + secrets.token_hex(8)
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        for chunk in chunks:
            view = memoryview(chunk)
            while view:
                view = view[os.write(handle, view) :]
        os.fchmod(handle, mode)
        # The kernel's clock ticks in milliseconds: without this, two writes could have the same time and fingerprint.
        os.utime(handle, ns=(modified_ns, modified_ns))
        os.fsync(handle)
    except BaseException:
        os.unlink(name, dir_fd=folder)
        raise
    finally:
        os.close(handle)
    return name


def chunks(handle: int, limit_bytes: int | None = None) -> Iterator[bytes]:
    """Yield the content in chunks. Raises: ToolError: The file grew beyond the limit while it was read."""
    n_bytes = 0
    while chunk := os.read(handle, _CHUNK_BYTES):
        n_bytes += len(chunk)
        if limit_bytes is not None and n_bytes > limit_bytes:
            raise ToolError("the file grows while it is read; try again when the other program is done")
        yield chunk


def hashed(chunks: Iterable[bytes], digest: hashlib._Hash) -> Iterator[bytes]:
    for chunk in chunks:
        digest.update(chunk)
        yield chunk


def is_unicode(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


@contextlib.contextmanager
def faults(verb: str, path: str) -> Iterator[None]:
    """Turn errors of the system into errors in the owner's words."""
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


# ── Writes with a journal ──────────────────────────────────────────────────────────────────────────────


_N_MAX_ROW_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class RollbackReport:
    restored: tuple[str, ...]
    """Files that are again as before the call."""
    conflicts: tuple[str, ...]
    """Files left alone because something else changed them since, or because they cannot be reached."""


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
    """Identity that shows a change made meanwhile without reading the file again."""


class Folder:
    """The owner's folder `root` with its journal in `store`: one per home and process, thread-safe."""

    def __init__(self, root: Path, store: Store) -> None:
        """Open the folder, making it when absent; after a crash, remove what unfinished writes left.

        Raises:
            ToolError: It is no folder, or cannot be made.
        """
        self.root = root
        self._seal: ContentSeal | None = None
        if has_key(store.path.parent):
            from hearth.storage.home_key import seal_of  # only homes that are encrypted need it

            self._seal = seal_of(store.path.parent)
        self._sandbox = Sandbox(root, self._seal)
        self._store = store
        self._blobs = store.path.parent / "journal"
        self._lock = threading.RLock()
        if store.query("SELECT 1 FROM meta WHERE name='unclean'"):
            self._sandbox.sweep()
            for blob in self._blobs.glob(f"{TEMPORARY_PREFIX}*"):
                blob.unlink(missing_ok=True)
            with store.transaction() as cursor:
                cursor.execute("DELETE FROM meta WHERE name='unclean'")

    def for_call(self, key: str) -> KeyedFolder:
        """Return the folder as one call sees it: its writes are journalled under `key`; without one it is read-only."""
        return KeyedFolder(self, self._sandbox, key)

    # ── Writing ───────────────────────────────────────────────────────────────────────────────────────────

    def write(self, key: str, path: str, data: bytes) -> None:
        """Write a file as `protocols.Workspace.write`, journalled under `key`. Raises also: Conflict: It is being
        changed."""
        after = hashlib.sha256(data).hexdigest()
        with self._lock, faults("write", path), self._sandbox.place(path_parts(path), make=True) as place:
            before = self._before(place, path)
            if before.hash == after:
                return
            number = self._journal(key, place, before, after)
            try:
                temporary = write_temporary(place.folder, (self._sealed(data),), before.mode, time.time_ns())
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
        """Delete a file as `protocols.Workspace.delete`, journalled under `key`. Raises also: Conflict: It is being
        changed."""
        with self._lock, faults("delete", path), self._sandbox.place(path_parts(path)) as place:
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

    def _before(self, place: Place, path: str) -> _Before:
        """Return the current state of a file; the content of a large one goes to the journal's folder."""
        try:
            with opened(place, path) as (handle, status):
                at = stat.S_IMODE(status.st_mode), status.st_mtime_ns, _identity(status)
                if self._seal is not None and status.st_size <= N_MAX_READ_BYTES:
                    content = self._sandbox.content(b"".join(chunks(handle, N_MAX_READ_BYTES)), path)
                elif status.st_size <= _N_MAX_ROW_BYTES:
                    content = b"".join(chunks(handle, _N_MAX_ROW_BYTES))
                else:
                    return _Before(self._keep(chunks(handle)), None, *at)
                if len(content) > _N_MAX_ROW_BYTES:
                    return _Before(self._keep((content,)), None, *at)
                return _Before(hashlib.sha256(content).hexdigest(), content, *at)
        except NotFound:
            return _Before(None, None, 0o600, 0, None)

    def _sealed(self, content: bytes) -> bytes:
        return content if self._seal is None else self._seal.sealed(content)

    def _keep(self, content: Iterable[bytes]) -> str:
        """Copy a large file to the journal's folder, under the hash of its content."""
        self._blobs.mkdir(exist_ok=True, mode=0o700)
        folder = os.open(self._blobs, os.O_RDONLY | os.O_DIRECTORY)
        try:
            digest = hashlib.sha256()
            pieces = hashed(content, digest)
            if self._seal is not None:
                pieces = iter((self._sealed(b"".join(pieces)),))
            temporary = write_temporary(folder, pieces, 0o600, time.time_ns())
            os.rename(temporary, digest.hexdigest(), src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)
            return digest.hexdigest()
        finally:
            os.close(folder)

    def _journal(self, key: str, place: Place, before: _Before, after: str | None) -> int:
        image = (before.hash, before.content, before.mode, before.modified_ns)
        with self._store.transaction() as cursor:
            cursor.execute(
                "INSERT INTO journal (key, path, before_hash, before, before_mode, before_modified_ns, after_hash,"
                " n_made_folders, at_unix_s, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'active')",
                (key, place.path, *image, after, place.n_made, time.time()),
            )
            return cursor.lastrowid or 0

    def _withdraw(self, number: int, place: Place) -> None:
        """Remove the row of a write that did not happen (if that cannot be written either, the hashes show the
        same)."""
        with contextlib.suppress(StoreError), self._store.transaction() as cursor:
            cursor.execute("DELETE FROM journal WHERE number=?", (number,))
        self._sandbox.remove_folders(path_parts(place.path), place.n_made)

    # ── Taking back ───────────────────────────────────────────────────────────────────────────────────────

    def rollback(self, key: str) -> RollbackReport:
        """Restore every file written under `key`, the last written first; files changed since are left alone.

        Safe to repeat, even after it was cut off itself.
        """
        with self._lock:
            rows = self._rows(key)
            for parent in {row["path"].rpartition("/")[0] for row in rows}:
                self._sandbox.sweep(folder_parts(parent), is_deep=False)
            targets, conflicts = self._targets(rows)
            self._announce(targets)
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
        """Restore every file written under `key`.

        Returns:
            The files that are again as before; empty when there is nothing to undo.
        Raises:
            Conflict: A file was changed since; says which and by what. Nothing was restored.
        """
        with self._lock:
            rows = self._rows(key)
            targets, conflicts = self._targets(rows)
            if conflicts:
                reasons = "; ".join(f"{path!r} {why}" for path, why in conflicts.items())
                raise Conflict(f"cannot undo: {reasons}; nothing was changed")
            self._announce(targets)
            for row in targets.values():
                self._restore(row)
            self._close([row["number"] for row in rows])
        return tuple(targets)

    def changes(self, key: str) -> tuple[str, ...]:
        """Return the files written under `key` that `undo` would restore."""
        return tuple(dict.fromkeys(row["path"] for row in reversed(self._rows(key))))

    def as_left(self, keys: Collection[str]) -> frozenset[str]:
        """Return those of some calls whose files are as the last of these calls to write them left them; a call that
        wrote none, too."""
        with self._lock:
            rows = sorted((row for key in keys for row in self._rows(key)), key=lambda row: -row["number"])
            last = {row["path"]: row["after_hash"] for row in reversed(rows)}
            others: set[str] = set()
            for path, after in last.items():
                try:
                    is_left = self._sandbox.hash(path) == after
                except ToolError:
                    is_left = False
                if not is_left:
                    others.add(path)
        return frozenset(keys) - {row["key"] for row in rows if row["path"] in others}

    def settle(self, key: str) -> None:
        """Forget how files were before they were written under `key`: nobody takes back a copy of what is elsewhere."""
        with self._lock, self._store.transaction(is_synced=False) as cursor:
            cursor.execute("DELETE FROM journal WHERE key = ?", (key,))

    def prune(self, older_than: dt.timedelta) -> int:
        """Forget journal entries of that age, which can then no longer be undone.

        Returns:
            The number forgotten.
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

    def _announce(self, targets: Mapping[str, sqlite3.Row]) -> None:
        """Mark a restore as begun, so that after an interruption the next start sweeps its unfinished files."""
        if targets:
            with self._store.transaction() as cursor:
                cursor.execute("INSERT OR REPLACE INTO meta VALUES ('unclean', 'restoring')")

    def _close(self, numbers: list[int]) -> None:
        if numbers:
            with self._store.transaction() as cursor:
                cursor.executemany("UPDATE journal SET state='undone' WHERE number=?", [(n,) for n in numbers])
                cursor.execute("DELETE FROM meta WHERE name='unclean'")

    def _targets(self, rows: list[sqlite3.Row]) -> tuple[dict[str, sqlite3.Row], dict[str, str]]:
        """Find for each file the row whose before-image it must get, by walking its writes backwards; also return the
        files whose content none of them explains, with the reason. Files that an interrupted rollback has already
        restored match an earlier write than the last."""
        found: dict[str, str | None] = {}
        contents: dict[str, str | None] = {}
        """Content hash of each file, walking back from what was found."""
        targets: dict[str, sqlite3.Row] = {}
        conflicts: dict[str, str] = {}
        unread: set[str] = set()
        for row in rows:
            path = row["path"]
            if path in unread:
                continue
            if path not in contents:
                try:
                    # A call may put a folder where a file was: that folder is removed before the file comes back.
                    is_folder = any(other["path"].startswith(path + "/") for other in rows)
                    contents[path] = found[path] = None if is_folder else self._sandbox.hash(path)
                except ToolError as error:
                    conflicts[path] = f"cannot be read ({error})"
                    unread.add(path)
                    continue
            if contents[path] == row["after_hash"]:
                contents[path] = row["before_hash"]
                targets[path] = row
                conflicts.pop(path, None)
            elif contents[path] == row["before_hash"]:  # this write never happened, or was undone already
                conflicts.pop(path, None)
            else:
                targets.pop(path, None)
                conflicts.setdefault(path, self._why(row))
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

    def _restore(self, row: sqlite3.Row) -> None:
        path, parts = row["path"], path_parts(row["path"])
        if row["before_hash"] is None:
            with faults("remove", path), self._sandbox.place(parts) as place:
                os.unlink(place.name, dir_fd=place.folder)
                os.fsync(place.folder)
            self._sandbox.remove_folders(parts, row["n_made_folders"])
            return
        with faults("restore", path), self._sandbox.place(parts, make=True) as place:
            digest = hashlib.sha256()
            content = hashed(self._kept(row), digest)
            if self._seal is not None:
                content = iter((self._sealed(b"".join(content)),))
            temporary = write_temporary(place.folder, content, row["before_mode"], row["before_modified_ns"])
            if digest.hexdigest() != row["before_hash"]:
                os.unlink(temporary, dir_fd=place.folder)
                raise ToolError(f"the journal's copy of {path!r} is damaged; {path!r} was left as it is")
            with contextlib.suppress(NotFound):
                if self._sandbox.is_bare(path):  # left by an interrupted write below it
                    remove_bare_folder(place.folder, place.name)
            os.rename(temporary, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
            os.fsync(place.folder)

    def _kept(self, row: sqlite3.Row) -> Iterator[bytes]:
        if row["before"] is not None:
            yield row["before"]
            return
        try:
            with (self._blobs / row["before_hash"]).open("rb") as file:
                if self._seal is None:
                    yield from chunks(file.fileno())
                else:
                    yield self._sandbox.content(file.read(), row["path"])
        except FileNotFoundError:
            raise ToolError(f"the journal's copy of {row['path']!r} is gone; it was left as it is") from None


class KeyedFolder:
    """`protocols.Workspace` for one call; see `Folder`."""

    def __init__(self, folder: Folder, sandbox: Sandbox, key: str) -> None:
        self._folder = folder
        self._sandbox = sandbox
        self._key = key

    def read(self, path: str) -> bytes:
        return self._sandbox.read(path)

    def write(self, path: str, data: bytes) -> None:
        self._check_key(path)
        self._folder.write(self._key, path, data)

    def delete(self, path: str) -> None:
        self._check_key(path)
        self._folder.delete(self._key, path)

    def exists(self, path: str) -> bool:
        return self._sandbox.exists(path)

    def list(self, folder: str = "", pattern: str = "*") -> tuple[str, ...]:
        return self._sandbox.files(folder, pattern)

    def modified(self, path: str) -> dt.datetime:
        return self._sandbox.stat(path).modified

    def stat(self, path: str) -> FileStat:
        return self._sandbox.stat(path)

    def real_path(self, path: str) -> str:
        return self._sandbox.real_path(path)

    def _check_key(self, path: str) -> None:
        if not self._key:
            raise ToolError(f"cannot change {path!r}: the folder was opened without a key, for reading only")


def _identity(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _check_unchanged(place: Place, before: _Before, path: str) -> None:
    try:
        identity = _identity(os.stat(place.name, dir_fd=place.folder, follow_symlinks=False))
    except FileNotFoundError:
        identity = None
    if identity != before.identity:
        raise Conflict(f"{path!r} is being changed by another program; nothing was written; try again")


# ── Open home ─────────────────────────────────────────────────────────────────────────────────────────────
# A home that is open: its folder, its settings, its database, and what ends with it.


@dataclass(frozen=True, slots=True)
class Home:
    """An open home, and the process's environment that goes with it."""

    path: Path
    settings: Settings
    store: Store
    environ: Mapping[str, str]
    clock: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC)
    """The time, in the owner's zone where an agent opened it."""
    resources: ExitStack = field(default_factory=ExitStack)
    """What is closed with the home, by whoever opened it."""

    @property
    def cache(self) -> Path:
        """The folder of what was worked out once and may be deleted."""
        return config.cache_folder(self.environ)

    def workspace(self) -> Workspace:
        """Return the owner's folder, to be read outside any call."""
        return Folder(self.path / "owner", self.store).for_call("")
