"""A home's one SQLite file: how it is opened, encrypted or not, and rows and transactions in it."""

from __future__ import annotations

import contextlib
import datetime as dt
import fcntl
import heapq
import os
import shutil
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from hearth.atomic_files import sync_folder
from hearth.config.setting_tables import KEY_FILE, has_key
from hearth.errors import (
    HomeBusyError,
    HomeKeyError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreLockedError,
    StoreVersionError,
)
from hearth.storage.migrations import APPLICATION_ID, MIGRATIONS, migrate

if TYPE_CHECKING:
    from hearth.storage.home_key import Seal


# ── Connections ───────────────────────────────────────────────────────────────────────────────────────────
# Opens the home's database and what was learnt, plain or encrypted, so that nobody else has to know which it is.
#
# The first bytes of a file tell: a plain database begins with SQLite's own words, an encrypted one with a random
# salt, an encrypted file with age's words.
#
# Whoever reads a database's files as bytes does so by `pieces`: to close a file, by whatever descriptor, lets go of
# all locks that the process has on it, those of SQLite's open connections among them (fcntl(2);
# https://sqlite.org/howtocorrupt.html, section 2.2), and another process would then write into what this one reads.

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


# ── Database ──────────────────────────────────────────────────────────────────────────────────────────────
# Keep everything the agent stores in one SQLite file; a committed transaction survives a crash and a power cut.
#
# `Store` opens the file (WAL, `synchronous=FULL`), brings its schema up to date in numbered migrations, and turns
# SQLite's errors into `StoreError`s that say what to do. `Store.salvage` rescues what is readable of a damaged file.
# `HomeLock` keeps a second agent away from the same home.
#
# Not covered: a disk that acknowledges writes it has not done, network file systems (WAL needs shared memory),
# programs that write the file without SQLite.

_TABLES = (
    *("meta", "episode", "step", "large_value", "journal", "demonstration", "event", "disclosure"),
    *("set_aside", "version", "version_change", "skill", "agreement", "teacher_use", "looked_at"),
    *("consent", "record_origin", "fact", "fact_event", "event_vector", "summary", "summary_line"),
    *("person", "person_face", "activity_example", "camera", "recording", "recording_chunk", "sighting"),
    *("sighting_part", "sighting_activity", "sighting_face", "sighting_thumbnail"),
    *("listened_chunk", "utterance", "sound_event"),
    "passage_forgotten",  # the passages themselves are read anew from the owner's folder
    *("edge_link", "edge_taken", "outbox", "outbox_pace", "outbox_dropped", "cloud_answer", "statistics_given"),
    *("ring", "agreed_step", "phone"),
)
_N_MAX_PROBES = 20_000


@dataclass(frozen=True, slots=True)
class SalvagedTable:
    n_rows: int
    is_complete: bool
    """False when part of the table could not be read."""


@dataclass(frozen=True, slots=True)
class SalvageReport:
    """The result of `Store.salvage`."""

    path: Path
    backup: Path
    """Copy of the damaged file as it was found; `-wal` and `-shm` lie beside it."""
    tables: Mapping[str, SalvagedTable]

    @property
    def is_complete(self) -> bool:
        return all(table.is_complete for table in self.tables.values())


FIRST_LOOK = "*"
"""The row of `record_origin` that says that the first contacts were taken as confirmed; not a record's name."""


class Store:
    """The home's database: one connection, shared by all threads of the process."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, was_unclean: bool, busy_timeout_s: float = 5.0
    ) -> None:
        self.path = path
        self.was_unclean = was_unclean
        """True when the process that had it open before did not close it (crash, power cut)."""
        self._connection = connection
        self._busy_timeout_s = busy_timeout_s
        self._lock = threading.RLock()

    @classmethod
    def open(cls, path: Path, *, busy_timeout_s: float = 5.0) -> Store:
        """Open the database, creating or migrating it as needed.

        After an unclean end the whole file is read and checked; otherwise only header, size and schema.

        Raises:
            StoreCorruptError: Damaged, or not a database; a copy was made first, the file itself is untouched.
            StoreLockedError: Another process holds it.
            StoreFullError: No space to make or migrate it; it is as before.
            StoreVersionError: Written by a newer Hearth.
            HomeKeyError: It is encrypted, and its key is not to be had.
            StoreError: Not a file that can be opened, or another program's database.
        """
        was_unclean = _was_unclean(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not path.exists():
                path.touch(mode=0o600)
            connection = connect(path, timeout_s=busy_timeout_s)
        except OSError as error:
            raise StoreError(
                f"cannot open the database {str(path)!r}: {error.strerror}; check the folder's permissions"
            ) from None
        except sqlite3.Error as error:
            _raise(error, path)
        store = cls(path, connection, was_unclean, busy_timeout_s)
        try:
            store._prepare()
        except sqlite3.Error as error:
            connection.close()
            _raise(error, path)
        except StoreError:
            connection.close()
            raise
        return store

    def close(self) -> None:
        """Write everything into the one file and release it. Closing twice does no harm."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def transaction(self, *, is_synced: bool = True) -> Iterator[sqlite3.Cursor]:
        """Run a block all or nothing: commit (on disk when the block is left) or, on any exception, roll back.

        Args:
            is_synced: False leaves it to the next synced commit to force this one to the disk: it outlives this
                process, but perhaps not a power cut. For data that is worthless without that next commit.
        Raises:
            StoreFullError, StoreLockedError, StoreCorruptError: Nothing of the block was written.
            StoreError: A transaction within a transaction, or the store is closed.
        """
        with self._lock:
            try:
                if self._connection.in_transaction:
                    raise StoreError("a transaction was begun within a transaction; hand the cursor on instead")
                if not is_synced:
                    self._connection.execute("PRAGMA synchronous=NORMAL")
                try:
                    cursor = self._connection.execute("BEGIN IMMEDIATE")
                    try:
                        yield cursor
                        self._connection.execute("COMMIT")
                    except BaseException:
                        if self._connection.in_transaction:
                            self._connection.execute("ROLLBACK")
                        raise
                    finally:
                        cursor.close()  # an open cursor would keep the file open after `close`
                finally:
                    if not is_synced:
                        self._connection.execute("PRAGMA synchronous=FULL")
            except sqlite3.Error as error:
                _raise(error, self.path)
            except OverflowError as error:
                raise StoreError(f"a number is too large for the database ({error}); nothing was written") from None

    def query(self, sql: str, parameters: Sequence[object] | Mapping[str, object] = ()) -> list[sqlite3.Row]:
        """Return the rows of a SELECT; inside a transaction of the same thread they show its changes.

        Raises:
            StoreError: As for `transaction`.
        """
        with self._lock:
            try:
                return self._connection.execute(sql, parameters).fetchall()
            except sqlite3.Error as error:
                _raise(error, self.path)

    def erase_traces(self) -> None:
        """Empty the write-ahead log after a deletion, because old pages remain there. SQLite zeroes the pages
        themselves."""
        with self._lock:
            try:
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.Error as error:
                _raise(error, self.path)

    def rewrite(self) -> None:
        """Rewrite the whole file, so that free space within its pages holds no deleted data either. Takes a second per
        100 MB and as much space. Raises: StoreFullError, StoreLockedError: the file is as before."""
        with self._lock:
            try:
                self._connection.execute("VACUUM")
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.Error as error:
                _raise(error, self.path)

    def _prepare(self) -> None:
        connection = self._connection
        connection.row_factory = rows_of(connection)
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA secure_delete=ON")
        connection.execute("BEGIN")  # one view of all three, since another process may be making the file
        n_tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        connection.execute("COMMIT")
        if application != APPLICATION_ID and (application or version or n_tables):
            raise StoreError(
                f"{str(self.path)!r} is the database of another program; move it away or choose another home"
            )
        if version > len(MIGRATIONS):
            raise StoreVersionError(
                f"{str(self.path)!r} has schema {version}, this Hearth knows up to {len(MIGRATIONS)}; "
                "it was written by a newer Hearth: upgrade with `pip install --upgrade hearth-agent`"
            )
        _keep_log(connection, self._busy_timeout_s)
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA journal_size_limit=16777216")
        if self.was_unclean:  # a cut-off file shows by its size, damage inside only by reading it all
            verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if verdict != "ok":
                raise sqlite3.DatabaseError(f"database disk image is malformed: {verdict}")
        if version < len(MIGRATIONS):
            migrate(connection)
        if self.was_unclean:
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('unclean', ?)", (_timestamp(),))

    @staticmethod
    def salvage(path: Path) -> SalvageReport:
        """Rebuild a damaged database from what can be read; the damaged one is kept beside it, untouched.

        Damaged stretches are narrowed down by row number from both ends and by bisection, so that only rows on
        unreadable pages are lost. A destroyed file header is rebuilt.

        Returns:
            Rows recovered per table, and where the damaged file is.
        Raises:
            StoreCorruptError: Not even the list of tables is readable; nothing was changed.
            StoreLockedError: A process holds the database; nothing was changed.
            StoreFullError: No space for the copy; nothing was changed.
        """
        if not path.exists():
            raise StoreError(f"there is no database {str(path)!r} to salvage")
        if has_key(path.parent) and not is_plain(path):
            raise StoreCorruptError(
                f"the database {str(path)!r} is encrypted, and of a damaged one no part can be read; restore a backup "
                "(`hearth memory restore`)"
            )
        holder = _holder(path)
        if holder:
            raise StoreLockedError(f"cannot salvage {str(path)!r} while {holder} has it open; end that first")
        backup = _set_aside(path)
        work = path.with_name(f"{path.name}.salvage-work")
        fresh = path.with_name(f"{path.name}.salvage-new")
        try:
            for rest in (work, fresh):
                _remove(rest)
            _copy(backup, work)
            _rebuild_header(work)
            with contextlib.closing(_open_damaged(work, backup)) as source, Store.open(fresh) as target:
                tables = {name: _salvage_table(source, target, name) for name in _TABLES}
            for suffix in ("-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            fresh.replace(path)
            sync_folder(path.parent)
        except OSError as error:
            raise StoreFullError(f"cannot salvage {str(path)!r}: {error.strerror}; nothing was changed") from None
        finally:
            for rest in (work, fresh):
                _remove(rest)
        return SalvageReport(path, backup, tables)


# ── Faults ────────────────────────────────────────────────────────────────────────────────────────────────


def _raise(error: sqlite3.Error, path: Path) -> NoReturn:
    """Turn an error of SQLite into one in the owner's words. Raises: StoreError or a subclass, always."""
    code = getattr(error, "sqlite_errorcode", 0) or 0
    name = getattr(error, "sqlite_errorname", "") or ""
    where = repr(str(path))
    if code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or (not code and "malformed" in str(error)):
        kept = _set_aside(path)
        keyless = "" if is_plain(path) or has_key(path.parent) else f"; if it is encrypted, its {KEY_FILE} is missing"
        raise StoreCorruptError(
            f"the database {where} is damaged ({error}); a copy is in {str(kept)!r}; "
            f"run `hearth doctor --repair` to rescue what is readable into a new one{keyless}"
        ) from None
    if code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        holder = _holder(path) or "another process"
        raise StoreLockedError(
            f"the database {where} is locked by {holder}; nothing was written; wait until it ends, or end it"
        ) from None
    if code & 0xFF == sqlite3.SQLITE_FULL or (code & 0xFF == sqlite3.SQLITE_IOERR and _is_disk_full(path)):
        raise StoreFullError(
            f"no space left for the database {where}; nothing was half-written; make room and try again"
        ) from None
    if isinstance(error, sqlite3.ProgrammingError | sqlite3.IntegrityError) or code == sqlite3.SQLITE_ERROR:
        raise StoreError(f"the database {where} refused a statement: {error}") from error
    raise StoreError(
        f"the database {where} cannot be used: {error}{f' ({name})' if name else ''}; "
        "check that the folder exists, can be written and is on a local disk"
    ) from error


def _keep_log(connection: sqlite3.Connection, timeout_s: float) -> None:
    """Switch to the write-ahead log, waiting for others that make the same file: here SQLite itself does not wait."""
    give_up_at = time.monotonic() + timeout_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > give_up_at:
                raise
        time.sleep(0.01)


def _is_disk_full(path: Path) -> bool:
    space = os.statvfs(path.parent)
    return space.f_bavail * space.f_frsize < 1 << 16


def _wal_size_bytes(path: Path) -> int:
    try:
        return path.with_name(path.name + "-wal").stat().st_size
    except OSError:
        return 0


def _was_unclean(path: Path) -> bool:
    """Say whether a crash left a write-ahead log that nobody has open: SQLite deletes it on a clean close."""
    return _wal_size_bytes(path) > 0 and not _holder(path)


def _holder(path: Path) -> str:
    """Return who has the database open, e.g. `process 4711 ('hearth chat')`, from the kernel's table of locks; or
    empty."""
    inodes = set()
    for suffix in ("", "-shm"):
        with contextlib.suppress(OSError):
            inodes.add(str(path.with_name(path.name + suffix).stat().st_ino))
    try:
        rows = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    except OSError:
        return ""
    # "1: POSIX  ADVISORY  WRITE 4711 fd:00:1234567 120 120"; a waiting process has "->" in the second place
    held = [
        (int(row[4]) == os.getpid(), row[3] != "WRITE", int(row[4]))
        for row in rows
        if len(row) >= 6 and row[1] == "POSIX" and row[5].rpartition(":")[2] in inodes
    ]
    if not held:
        return ""
    *_, pid = min(held)  # prefers another process to this one, a writer to a reader
    return f"process {pid} ({_command(pid)!r})"


def _command(pid: int) -> str:
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return "unknown command"
    return raw.replace(b"\0", b" ").decode(errors="replace").strip()[:200] or "unknown command"


def _timestamp() -> str:
    return dt.datetime.now(dt.UTC).strftime("%Y%m%dT%H%M%S")


# ── Copies and salvage ────────────────────────────────────────────────────────────────────────────────────


def _set_aside(path: Path) -> Path:
    """Copy database, log and index beside themselves, once per state of damage. Raises: StoreFullError."""
    for kept in sorted(path.parent.glob(f"{path.name}.damaged-*"), reverse=True):
        if not kept.name.endswith(("-wal", "-shm")) and _is_same(path, kept):
            return kept
    stem = f"{path.name}.damaged-{_timestamp()}"
    target = path.with_name(stem)
    number = 1
    while target.exists():
        number += 1
        target = path.with_name(f"{stem}.{number}")
    try:
        _copy(path, target)
    except OSError as error:
        _remove(target)
        raise StoreFullError(
            f"the database {str(path)!r} is damaged and could not be copied aside: {error.strerror}; "
            "nothing was changed; make room, then run `hearth doctor --repair`"
        ) from None
    return target


def _is_same(path: Path, kept: Path) -> bool:
    for suffix in ("", "-wal"):
        one, other = (p.with_name(p.name + suffix) for p in (path, kept))
        if one.exists() != other.exists() or (one.exists() and one.stat().st_size != other.stat().st_size):
            return False
        if one.exists() and any(a != b for a, b in zip(pieces(one), pieces(other), strict=False)):
            return False
    return True


def _copy(source: Path, target: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        file = source.with_name(source.name + suffix)
        if file.exists():
            with target.with_name(target.name + suffix).open("wb") as copy:
                copy.writelines(pieces(file))
            shutil.copystat(file, target.with_name(target.name + suffix))
    sync_folder(target.parent)


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _rebuild_header(path: Path) -> None:
    """Replace the destroyed first 100 bytes of a file by those of an empty store; the pages behind are left alone."""
    with path.open("r+b") as file:
        if file.read(16) == b"SQLite format 3\0":
            return
        with contextlib.closing(sqlite3.connect(":memory:")) as connection:
            migrate(connection)
            header = bytearray(connection.serialize()[:100])
        n_pages = path.stat().st_size // 4096
        header[18:20] = b"\2\2"  # WAL
        header[28:32] = n_pages.to_bytes(4, "big")
        header[32:40] = bytes(8)  # no list of free pages
        header[92:96] = header[24:28]  # makes the page count valid
        file.seek(0)
        file.write(header)


def _open_damaged(work: Path, backup: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(work, isolation_level=None)
    try:
        connection.execute("PRAGMA cell_size_check=ON")
        connection.execute("SELECT name, sql FROM sqlite_schema").fetchall()
    except sqlite3.Error as error:
        connection.close()
        raise StoreCorruptError(
            f"not even the list of tables can be read ({error}); the damaged file is kept in {str(backup)!r}; "
            "restore a backup, or move it away and start with an empty home"
        ) from None
    return connection


def _salvage_table(source: sqlite3.Connection, target: Store, table: str) -> SalvagedTable:
    columns = [row["name"] for row in target.query(f"PRAGMA table_info({table})")]
    try:
        known = {row[1] for row in source.execute(f"PRAGMA table_info({table})")}
    except sqlite3.Error:
        known = set()
    shared = [name for name in columns if name in known]
    if not shared:
        exists = source.execute("SELECT 1 FROM sqlite_schema WHERE name=?", (table,)).fetchone()
        return SalvagedTable(0, not exists)
    insert = f"INSERT INTO {table} ({', '.join(shared)}) VALUES ({', '.join('?' * len(shared))})"  # noqa: S608
    rows, is_complete = _readable_rows(source, table, shared)
    n_rows = 0
    with target.transaction() as cursor:
        for number in sorted(rows):
            try:
                cursor.execute(insert, rows[number])
                n_rows += 1
            except sqlite3.IntegrityError:  # a row read from a damaged page may be no row at all
                is_complete = False
    return SalvagedTable(n_rows, is_complete)


def _readable_rows(
    source: sqlite3.Connection, table: str, columns: Sequence[str]
) -> tuple[dict[int, tuple[object, ...]], bool]:
    """Return rows by row number: from both ends up to the damage, then probing the middle of the largest unread
    stretch."""
    rows: dict[int, tuple[object, ...]] = {}
    select = f"SELECT rowid, {', '.join(columns)} FROM {table} NOT INDEXED WHERE rowid"  # noqa: S608

    def read(condition: str, bounds: tuple[int, int]) -> int | None:
        """Keep rows until one cannot be read; return the last good row number, or None when all were read."""
        last = bounds[0] if "DESC" not in condition else bounds[1] + 1
        try:
            for row in source.execute(f"{select} BETWEEN ? AND ? ORDER BY rowid {condition}", bounds):
                last = row[0]
                rows[last] = tuple(row[1:])
        except (sqlite3.Error, OverflowError):
            return last
        return None

    low = read("ASC", (0, (1 << 63) - 1))
    if low is None:
        return rows, True
    high = read("DESC", (low + 1, (1 << 63) - 2))
    if high is None:
        return rows, False
    # Behind a damaged last page the highest row number is unknown; search well beyond the last one seen.
    gaps: list[tuple[int, int, int]] = []

    def unread(start: int, end: int) -> None:
        if start <= end:
            heapq.heappush(gaps, (start - end, start, end))

    unread(low + 1, min(high - 1, max(rows, default=1) * 4 + (1 << 20)))
    for _ in range(_N_MAX_PROBES):
        if not gaps:
            break
        _, start, end = heapq.heappop(gaps)
        middle = (start + end) // 2
        after = read("ASC", (middle, end))
        if after is not None:
            unread(max(after, middle) + 1, end)
        before = read("DESC", (start, middle - 1)) if middle > start else None
        if before is not None:
            unread(start, min(before, middle) - 1)
    return rows, False


# ── One agent per home ────────────────────────────────────────────────────────────────────────────────────


def lock_holder(home: Path) -> int:
    """Return the id of the process whose agent runs on a home; 0 when none does."""
    try:
        handle = os.open(home / "hearth.lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        pid = os.pread(handle, 4096, 0).decode(errors="replace").partition("\n")[0]
        return int(pid) if pid.isdecimal() else 0
    finally:
        os.close(handle)
    return 0


class HomeLock:
    """A lock held by the one agent that runs on a home; the kernel releases it when the process ends in any way."""

    def __init__(self, home: Path) -> None:
        self.path = home / "hearth.lock"
        self._handle = -1

    def acquire(self) -> HomeLock:
        """Take the lock without waiting.

        Raises:
            HomeBusyError: Another agent has it; names its process and what to do.
            StoreError: The home cannot be made or written.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(
                f"cannot use {str(self.path.parent)!r} as a home: {error.strerror}; check its permissions, "
                "or choose another home with --home"
            ) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid, _, command = os.pread(handle, 4096, 0).decode(errors="replace").partition("\n")
            os.close(handle)
            raise HomeBusyError(
                f"another Hearth already runs on {str(self.path.parent)!r}: process {pid or 'unknown'} "
                f"({command.strip() or 'unknown command'!r}); wait until it ends, end it with `kill {pid or 'PID'}`, "
                "or choose another home with --home"
            ) from None
        self._handle = handle
        with contextlib.suppress(OSError):  # on a full disk the lock holds, but names no owner
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n{' '.join(sys.argv)[:2000]}\n".encode(errors="replace"), 0)
        return self

    def release(self) -> None:
        """Release the lock. The empty file stays, as removing it would let two agents lock two files of one name."""
        if self._handle >= 0:
            os.ftruncate(self._handle, 0)
            os.close(self._handle)
            self._handle = -1

    def __enter__(self) -> HomeLock:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()
