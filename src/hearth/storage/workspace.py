"""The owner's folder: sandboxed, atomic, journalled, undoable. A file is either fully as before or fully as written.

Covered: what `sandbox` covers; crashes and power cuts at any moment of a write; a full disk; undoing a call after a
restart of the process or the machine; a file that another program changed meanwhile (never overwritten by a rollback or
an undo). Not covered: what `sandbox` does not cover; another program that writes a file in the instant between the last
check and the rename; owners and extended attributes of replaced files (mode and time are kept); empty folders.

Each write or deletion is one row of the journal, committed before the file is touched: the hash of the old content (the
content itself in the row up to 256 kB, above that in `<home>/journal/<hash>`) and of the new one. Comparing the hash of
the file with both shows whether the write happened, so no second commit is needed.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hearth.config.folders import has_key
from hearth.errors import Conflict, NotFound, StoreError, ToolError
from hearth.protocols import FileStat
from hearth.storage.database import Store
from hearth.storage.sandbox import (
    N_MAX_READ_BYTES,
    TEMPORARY_PREFIX,
    ContentSeal,
    Place,
    Sandbox,
    chunks,
    faults,
    folder_parts,
    hashed,
    opened,
    path_parts,
    remove_bare_folder,
    write_temporary,
)

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
            from hearth.storage.file_seal import seal_of  # only homes that are encrypted need it

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
                identity = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
                mode, modified_ns = stat.S_IMODE(status.st_mode), status.st_mtime_ns
                if self._seal is not None and status.st_size <= N_MAX_READ_BYTES:
                    content = self._sandbox.content(b"".join(chunks(handle, N_MAX_READ_BYTES)), path)
                    if len(content) > _N_MAX_ROW_BYTES:
                        return _Before(self._keep((content,)), None, mode, modified_ns, identity)
                    return _Before(hashlib.sha256(content).hexdigest(), content, mode, modified_ns, identity)
                if status.st_size <= _N_MAX_ROW_BYTES:
                    content = b"".join(chunks(handle, _N_MAX_ROW_BYTES))
                    return _Before(hashlib.sha256(content).hexdigest(), content, mode, modified_ns, identity)
                return _Before(self._keep(chunks(handle)), None, mode, modified_ns, identity)
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


def _check_unchanged(place: Place, before: _Before, path: str) -> None:
    try:
        status = os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)
    except FileNotFoundError:
        identity = None
    else:
        identity = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    if identity != before.identity:
        raise Conflict(f"{path!r} is being changed by another program; nothing was written; try again")
