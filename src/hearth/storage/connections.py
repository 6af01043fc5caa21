"""Opens the home's database and what was learnt, plain or encrypted, so that nobody else has to know which it is.

The first bytes of a file tell: a plain database begins with SQLite's own words, an encrypted one with a random salt, an
encrypted file with age's words.

Whoever reads a database's files as bytes does so by `pieces`: to close a file, by whatever descriptor, lets go of all
locks that the process has on it, those of SQLite's open connections among them (fcntl(2); https://sqlite.org/howtocorrupt.html,
section 2.2), and another process would then write into what this one reads.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hearth.config.folders import has_key
from hearth.errors import HomeKeyError

if TYPE_CHECKING:
    from hearth.storage.home_key import Seal

PLAIN_HEADER = b"SQLite format 3\0"


PIECE_BYTES = 1 << 20
_HELD: dict[tuple[int, int], int] = {}
"""Descriptors of databases' files by device and inode, open until the process ends or the file has no name any more."""
_HOLDING = threading.Lock()


def pieces(path: Path, size: int = PIECE_BYTES) -> Iterator[bytes]:
    """Yield the bytes of a file of a database, and let no lock of this process go. Raises: OSError."""
    handle, start = _held(path), 0
    while piece := os.pread(handle, size, start):
        yield piece
        start += len(piece)


def _held(path: Path) -> int:
    """Return a descriptor of a file that stays open. Raises: OSError."""
    with _HOLDING:
        for key, handle in list(_HELD.items()):
            if os.fstat(handle).st_nlink == 0:  # no other process can open it any more
                os.close(_HELD.pop(key))
        status = path.stat()
        known = _HELD.get((status.st_dev, status.st_ino))
        if known is not None:
            return known
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        status = os.fstat(handle)
        return _HELD.setdefault((status.st_dev, status.st_ino), handle)


def is_plain(path: Path) -> bool:
    """Say whether a database is not encrypted; True also for one that is not there or empty."""
    try:
        header = next(pieces(path, len(PLAIN_HEADER)), b"")
    except FileNotFoundError:
        return True
    return not header or header == PLAIN_HEADER


def connect(path: Path, *, timeout_s: float = 5.0) -> sqlite3.Connection:
    """Connect to a database: with its home's key where it is encrypted, or new in an encrypted home.

    Raises:
        HomeKeyError: The key is not to be had, or does not open it, or the database is plain although its home is
            encrypted whole: somebody put another in its place. MissingExtraError: What opens it is not installed.
        sqlite3.Error: It cannot be opened.
    """
    if has_key(path.parent):
        from hearth.storage.home_key import home_key  # as in `with_keys`

        key = home_key(path.parent)
        is_new = not path.exists() or path.stat().st_size == 0
        if key.is_on and not key.is_turning:
            refuse_plain(path)
        if key.is_on or not is_plain(path):
            try:
                return with_keys(path, key.database, timeout_s)
            except HomeKeyError:
                if is_new or not is_plain(path):
                    raise
    return sqlite3.connect(path, timeout=timeout_s, isolation_level=None, check_same_thread=False)


def refuse_plain(path: Path) -> None:
    """Refuse a plain database, that is not a new one, in a home that is encrypted whole. Raises: HomeKeyError."""
    if path.exists() and path.stat().st_size and is_plain(path):
        raise HomeKeyError(
            f"{str(path)!r} is not encrypted, but its home is: another database was put in its place, and nothing is "
            "read from it or written to it; restore a backup (`hearth memory restore`)"
        )


def with_keys(path: Path, keys: tuple[str, ...], timeout_s: float = 5.0) -> sqlite3.Connection:
    """Connect to an encrypted database by the first of some keys that opens it. Raises: HomeKeyError: None does."""
    from hearth.storage.cipher_connection import connected  # only homes that are encrypted need it

    for key in keys:
        connection = connected(path, key, timeout_s)
        try:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_NOTADB:
                connection.close()
                continue
        return connection  # what is wrong with it besides the key shows at its first use
    raise HomeKeyError(
        f"the key of {str(path.parent)!r} does not open {path.name!r}: it belongs to another home, or the first page "
        "of the database is damaged; restore a backup"
    )


def rows_of(connection: sqlite3.Connection) -> type[sqlite3.Row]:
    """Return the kind of rows that a connection can make."""
    if isinstance(connection, sqlite3.Connection):
        return sqlite3.Row
    from hearth.storage.cipher_connection import Row

    return Row


# ── What was learnt ───────────────────────────────────────────────────────────────────────────────────────


LEARNED = "learned"
"""Folder in the home of what was learnt: a folder for each version in it."""


def sealed_bytes(path: Path, content: bytes) -> bytes:
    """Return content as a file of a version is to hold it: encrypted in an encrypted home, whatever its owner chose for
    the folder `owner`. Raises: HomeKeyError."""
    seal = _seal_of(_home_of(path))
    return seal.sealed(content, None) if seal is not None else content


def opened_bytes(path: Path, home: Path | None = None) -> bytes:
    """Read such a file, or any of `home`. Raises: OSError. ToolError: It was cut off or changed. HomeKeyError."""
    raw, seal = path.read_bytes(), _seal_of(home or _home_of(path))
    return seal.opened(raw, str(path)) if seal is not None else raw


def _home_of(path: Path) -> Path | None:
    """Return the home of a version's file; None for a state that somebody keeps elsewhere."""
    folder = path.absolute().parent.parent
    return folder.parent if folder.name == LEARNED else None


def _seal_of(home: Path | None) -> Seal | None:
    if home is None or not has_key(home):
        return None
    from hearth.storage.home_key import seal_of  # as in `with_keys`

    return seal_of(home, is_owners=False)
