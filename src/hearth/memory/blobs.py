"""Keeps data too large for the database as files named by their content's hash.

A file is written once, however often it is remembered: its name is its SHA-256. The table `blob_use` says which events
refer to it; a file that nothing refers to is removed by `sweep`. The file is on disk before its row is committed, so
that a row never names a file that does not exist; a crash in between leaves a file without a row, which `sweep`
removes.

Covered: a crash at any moment, a full disk (nothing new is kept, what was there stays), a file changed on the disk
(noticed when it is read), the same content kept by two processes at once.
Not covered: deduplication of parts; the content is not searched.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hearth.atomic_files import sync_folder
from hearth.errors import NotFound, StoreCorruptError, StoreFullError
from hearth.storage.database import Store

FOLDER = "blobs"
"""Name of the folder in the home."""
_CHUNK_BYTES = 1 << 20
_NAME = re.compile(r"[0-9a-f]{64}")
_UNFINISHED = ".unfinished-"


@dataclass(frozen=True, slots=True)
class Swept:
    """Files and bytes that a sweep removed."""

    n_files: int
    n_bytes: int


class Blobs:
    """The files of a home that events refer to."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.folder = store.path.parent / FOLDER

    def keep(self, event: str, chunks: Iterable[bytes]) -> str:
        """Keep data that an event refers to, streamed; the same data again is kept once.

        Returns:
            Its SHA-256 in hex, by which it is read.
        Raises:
            NotFound: No such event. StoreFullError: No space. Nothing was kept.
        """
        if not self._store.query("SELECT 1 FROM event WHERE id = ?", (event,)):
            raise NotFound(f"no event {event!r} in memory; remember it before what belongs to it")
        temporary = self.folder / f"{_UNFINISHED}{secrets.token_hex(8)}"
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            name, n_bytes = _written(temporary, chunks)
            with self._store.transaction() as cursor:  # a sweep of another process waits until it is committed
                path = self._path(name)
                path.parent.mkdir(mode=0o700, exist_ok=True)
                temporary.replace(path)
                for folder in (path.parent, self.folder):
                    sync_folder(folder)
                cursor.execute("INSERT OR IGNORE INTO blob (hash, n_bytes) VALUES (?, ?)", (name, n_bytes))
                cursor.execute("INSERT OR IGNORE INTO blob_use (event, hash) VALUES (?, ?)", (event, name))
        except OSError as error:
            raise StoreFullError(
                f"cannot keep what belongs to {event!r}: {error.strerror}; nothing was kept; make room and try again"
            ) from None
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()
        return name

    def read(self, name: str) -> Iterator[bytes]:
        """Yield the data kept under a hash, in pieces; the hash is checked after the last one.

        Raises:
            NotFound: Nothing is kept under it. StoreCorruptError: after the last piece: it is not what was kept.
        """
        if not _NAME.fullmatch(name) or not self._path(name).is_file():
            raise NotFound(f"nothing is kept under {name[:80]!r}; expected the 64 hexadecimal digits of a SHA-256")
        digest = hashlib.sha256()
        with self._path(name).open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                digest.update(chunk)
                yield chunk
        if digest.hexdigest() != name:
            raise StoreCorruptError(
                f"what is kept under {name!r} was changed on the disk; restore it from a backup, "
                "or forget the event it belongs to"
            )

    def of(self, event: str) -> tuple[str, ...]:
        """The hashes of the data an event refers to."""
        rows = self._store.query("SELECT hash FROM blob_use WHERE event = ? ORDER BY hash", (event,))
        return tuple(row[0] for row in rows)

    def n_bytes(self) -> int:
        """The bytes that all of them take."""
        return int(self._store.query("SELECT coalesce(sum(n_bytes), 0) FROM blob")[0][0])

    def only_of(self, events: Iterable[str]) -> tuple[str, ...]:
        """The hashes of the data that nothing would refer to without these events."""
        gone = set(events)
        used: dict[str, set[str]] = {}
        for row in self._store.query("SELECT event, hash FROM blob_use ORDER BY hash"):
            used.setdefault(row["hash"], set()).add(row["event"])
        return tuple(name for name, by in used.items() if by <= gone)

    def sweep(self) -> Swept:
        """Remove data that no event refers to, and files that a crash left.

        The bytes of the files are overwritten with zeros first, as far as the file system allows.
        """
        with self._store.transaction() as cursor:
            cursor.execute("DELETE FROM blob WHERE hash NOT IN (SELECT hash FROM blob_use)")
        n_files = n_bytes = 0
        with self._store.transaction() as cursor:  # once that is on disk, no row names a file that is gone
            held = {row[0] for row in cursor.execute("SELECT hash FROM blob")}
            for path in sorted(self.folder.rglob("*")) if self.folder.is_dir() else ():
                if path.is_file() and not path.is_symlink() and path.name not in held:
                    n_bytes += path.stat().st_size
                    n_files += 1
                    _erase(path)
        return Swept(n_files, n_bytes)

    def _path(self, name: str) -> Path:
        return self.folder / name[:2] / name


def _written(path: Path, chunks: Iterable[bytes]) -> tuple[str, int]:
    """Write a new file to disk; return its SHA-256 and size. Raises: OSError."""
    digest, n_bytes = hashlib.sha256(), 0
    with path.open("xb") as file:
        path.chmod(0o600)
        for chunk in chunks:
            file.write(chunk)
            digest.update(chunk)
            n_bytes += len(chunk)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest(), n_bytes


def _erase(path: Path) -> None:
    with contextlib.suppress(OSError), path.open("r+b") as file:
        left = path.stat().st_size
        while left > 0:
            left -= file.write(bytes(min(left, _CHUNK_BYTES)))
        file.flush()
        os.fsync(file.fileno())
    path.unlink()
