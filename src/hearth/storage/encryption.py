"""Turns a home over: encrypted, under another key, plain again. Killed anywhere it loses nothing, and can be finished.

The key file says what is wanted and holds the newest key and, while a home is turned over, the one before. `finish`
brings everything there that is not there yet: the database is copied into a new file, read back and put in the place
of the old one in one renaming; the owner's files are replaced one by one. Only then is the older key given up.

Covered: a kill, a power cut or a full disk at any moment; another process that has the database open (nothing is done);
a plain database that somebody put in the place of the encrypted one (refused).
Not covered: copies of the plain files that the disk keeps where it writes anew (flash, snapshots); what `plain_beside`
names: models trained in `learned/`, settings, tokens, receipts, pictures.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from hearth.atomic_files import sync_folder
from hearth.config.setting_tables import has_key
from hearth.errors import RequestError, StoreError, StoreFullError, StoreLockedError
from hearth.storage import home_key as keys
from hearth.storage.cipher_connection import connected
from hearth.storage.database import HomeLock, is_plain, refuse_plain, with_keys
from hearth.storage.home_key import MAGIC, MAX_BYTES, HomeKey, Seal, new_identity
from hearth.storage.migrations import APPLICATION_ID
from hearth.storage.workspace import TEMPORARY_PREFIX

DATABASE = "hearth.db"
_TURNING = "hearth.db.turning"
_FOLDERS = ("owner", "journal")
"""Folders whose files are encrypted where the owner wants it: the owner's, and large before-images of them."""
_LEARNT = ("student.npz", "held.json")
"""Files below `learned/` that are always encrypted. Trained models are read by other libraries, by their paths."""
_COVERED = ("hearth.db", "hearth.lock", "key.json", "ledger.head")
"""What of a home is encrypted, sealed, or says nothing of its owner."""
_LEFT = "-turning"
"""How the temporary files of a turning end."""

Progress = Callable[[str], object]
"""Callback with what is being done."""


@dataclass(frozen=True, slots=True)
class Turned:
    """What was done to a home."""

    is_database_turned: bool
    n_files: int
    too_large: tuple[str, ...] = ()
    """Files that stay as they are, as no tool can read them either."""
    recovery_code: str = ""
    """Shown once; opens the key where passphrase or keyring are lost."""


def encrypt(home: Path, passphrase: str | None, *, with_files: bool, progress: Progress = lambda _: None) -> Turned:
    """Encrypt a home under a passphrase, or under the system's keyring where that is None.

    Raises:
        RequestError: There is no home, or it is encrypted already. HomeBusyError, StoreLockedError: It is at work.
        StoreFullError: No space for the second copy. MissingExtraError. Nothing is lost then, and it can be finished.
    """
    with HomeLock(home):
        if has_key(home):
            raise RequestError(f"{str(home)!r} is encrypted already; `hearth encrypt --new-key` changes its key")
        if not (home / DATABASE).exists():
            raise RequestError(f"there is no home in {str(home)!r} to encrypt; make one with `hearth init`")
        master = keys.new_master()
        wraps, code = keys.wraps_for(master, passphrase)
        key = HomeKey(master, (keys.new_database_key(),), (new_identity(),), True, with_files, True)
        keys.write(home, key, wraps)
        return replace(_finish(home, progress), recovery_code=code)


def change_key(home: Path, passphrase: str | None, progress: Progress = lambda _: None) -> Turned:
    """Put everything under new keys, and these under another passphrase or the keyring; the old ones are given up.

    Raises: As `encrypt`; HomeKeyError: The key there is now is not to be had.
    """
    with HomeLock(home):
        before = _key_of(home)
        master = keys.new_master()
        wraps, code = keys.wraps_for(master, passphrase)
        key = replace(
            before,
            master=master,
            database=(keys.new_database_key(), *before.database),
            files=(new_identity(), *before.files),
            is_turning=True,
        )
        keys.write(home, key, wraps)
        return replace(_finish(home, progress), recovery_code=code)


def set_files(home: Path, *, with_files: bool, progress: Progress = lambda _: None) -> Turned:
    """Encrypt the owner's folder of an encrypted home, or leave it plain from now on. Raises: As `change_key`."""
    with HomeLock(home):
        keys.write(home, replace(_key_of(home), with_files=with_files, is_turning=True))
        return _finish(home, progress)


def decrypt(home: Path, progress: Progress = lambda _: None) -> Turned:
    """Make a home plain again, and remove its key. Raises: As `change_key`."""
    with HomeLock(home):
        keys.write(home, replace(_key_of(home), is_on=False, is_turning=True))
        return _finish(home, progress)


def finish(home: Path, progress: Progress = lambda _: None) -> Turned:
    """Finish what was cut off, and encrypt files that came in plain since. Raises: As `change_key`."""
    with HomeLock(home):
        _key_of(home)
        return _finish(home, progress)


def plain_files(home: Path, *, with_files: bool) -> tuple[str, ...]:
    """Return the files of an encrypted home that should be encrypted and are not."""
    return tuple(
        path.relative_to(home).as_posix()
        for path, is_owners in _files(home)
        if (with_files or not is_owners) and _is_plain_file(path, is_owners=is_owners)
    )


def _is_plain_file(path: Path, *, is_owners: bool) -> bool:
    with path.open("rb") as file:
        is_small = not is_owners or os.fstat(file.fileno()).st_size <= MAX_BYTES
        return is_small and file.read(len(MAGIC)) != MAGIC


def plain_beside(home: Path, *, with_files: bool) -> tuple[str, ...]:
    """Return what lies in an encrypted home in plain, as nothing encrypts it."""
    found = []
    for path in sorted(home.iterdir()):
        if path.name.startswith(_COVERED) or (path.name in _FOLDERS and with_files):
            continue
        left = (one for one in path.rglob("*") if one.is_file()) if path.is_dir() else iter((path,))
        if any(path.name != "learned" or one.name not in _LEARNT for one in left):
            found.append(f"{path.name}/" if path.is_dir() else path.name)
    return tuple(found)


def _key_of(home: Path) -> HomeKey:
    if not has_key(home):
        raise RequestError(f"{str(home)!r} is not encrypted; `hearth encrypt` does that")
    return keys.home_key(home)


def _finish(home: Path, progress: Progress) -> Turned:
    """Bring everything to where the key file says it should be; the caller holds the home."""
    key = keys.home_key(home)
    try:
        for suffix in ("", "-wal", "-shm", "-journal"):
            (home / f"{_TURNING}{suffix}").unlink(missing_ok=True)
        is_turned = _turn_database(home, key, progress)
        n_files, too_large = _turn_files(home, key, progress)
    except OSError as error:
        kind = StoreFullError if error.errno is not None else StoreError
        raise kind(
            f"stopped at {str(error.filename or home)!r}: {error.strerror or error}; nothing is lost; make room, then "
            "run `hearth encrypt` again to finish"
        ) from None
    if not key.is_on:
        keys.remove(home)
        sync_folder(home)
    elif key.is_turning:
        keys.write(home, replace(key, database=key.database[:1], files=key.files[:1], is_turning=False))
    return Turned(is_turned, n_files, too_large)


# ── The database ──────────────────────────────────────────────────────────────────────────────────────────


def _turn_database(home: Path, key: HomeKey, progress: Progress) -> bool:
    """Bring the database under the newest key, or under none; False where it is already."""
    path, wanted = home / DATABASE, key.database[0] if key.is_on else ""
    if not path.exists():
        return False
    if key.is_on and not key.is_turning:
        refuse_plain(path)
    was_plain = is_plain(path)
    if was_plain:
        source = connected(path, "", 2.0)
    else:
        with contextlib.suppress(StoreError):
            with_keys(path, (wanted,) if wanted else ()).close()
            return False
        source = with_keys(path, key.database, 2.0)
    if was_plain and not wanted:
        source.close()
        return False
    progress("the database")
    try:
        _copy(source, home / _TURNING, wanted)
        # The old one is held until here, so that nobody writes into it meanwhile. Opening and closing it beside SQLite
        # would give up its locks; after this it has no name.
        with _writable(path) as old:
            (home / _TURNING).replace(path)
            sync_folder(home)
            if was_plain:
                _blacken(old)
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise StoreLockedError(
                f"another process has {str(path)!r} open; end it, then run `hearth encrypt` again to finish"
            ) from None
        kind = StoreFullError if code == sqlite3.SQLITE_FULL else StoreError
        raise kind(f"the database {str(path)!r} could not be copied: {error}; it is as before") from None
    finally:
        with contextlib.suppress(sqlite3.Error):
            source.close()
    return True


def _copy(source: sqlite3.Connection, target: Path, key: str) -> None:
    """Copy a database into a new file under another key or none, and read it back. Raises: sqlite3.Error,
    StoreError."""
    # Without a log all is in the one file; that fails while another process has it open, and nobody can open it after.
    source.execute("PRAGMA locking_mode=EXCLUSIVE")
    if source.execute("PRAGMA journal_mode=DELETE").fetchone()[0] != "delete":
        raise StoreLockedError("the database is in use by another process; end it and try again")
    source.execute("BEGIN EXCLUSIVE")
    source.execute("COMMIT")
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    version = source.execute("PRAGMA user_version").fetchone()[0]
    source.execute("ATTACH DATABASE ? AS turned KEY ?", (str(target), f"x'{key}'" if key else ""))
    source.execute("SELECT sqlcipher_export('turned')")
    source.execute(f"PRAGMA turned.user_version={int(version)}")
    source.execute(f"PRAGMA turned.application_id={APPLICATION_ID}")
    source.execute("DETACH DATABASE turned")
    with contextlib.closing(connected(target, key, 2.0)) as copy:
        faults = [row[0] for row in copy.execute("PRAGMA integrity_check(1)").fetchall()]
        if key:
            faults += [row[0] for row in copy.execute("PRAGMA cipher_integrity_check").fetchall()]
        if faults != ["ok"] or _counts(copy) != _counts(source):
            raise StoreError(f"the copy of the database is not what was copied ({faults[-1]}); it is as before")
    handle = os.open(target, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _counts(connection: sqlite3.Connection) -> dict[str, int]:
    tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    counts = {}
    for (name,) in connection.execute(tables).fetchall():
        (counts[name],) = connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()  # noqa: S608 - its own names
    return counts


# ── Files ─────────────────────────────────────────────────────────────────────────────────────────────────


def _files(home: Path) -> Iterator[tuple[Path, bool]]:
    """Yield the files that can be encrypted, and whether they are the owner's."""
    for name in (*_FOLDERS, "learned"):
        for folder, _, names in os.walk(home / name):
            for one in names:
                path, is_owners = Path(folder) / one, name != "learned"
                is_meant = is_owners or one in _LEARNT or one.startswith(TEMPORARY_PREFIX)
                if is_meant and path.is_file() and not path.is_symlink():
                    yield path, is_owners


def _turn_files(home: Path, key: HomeKey, progress: Progress) -> tuple[int, tuple[str, ...]]:
    """Bring every file under the newest key, or under none; each is replaced whole."""
    if not key.files:
        return 0, ()
    n_turned, too_large = 0, []
    for path, is_owners in _files(home):
        is_on = key.is_on and (key.with_files or not is_owners)
        seal = Seal(key.files, is_on=is_on)
        if path.name.startswith(TEMPORARY_PREFIX):
            if path.name.endswith(_LEFT):
                path.unlink()  # of a turning that was killed
            continue
        name, status = path.relative_to(home).as_posix(), path.stat()
        if is_owners and status.st_size > MAX_BYTES + (1 << 20):
            too_large.append(name)
            continue
        raw = path.read_bytes()
        if seal.is_newest(raw) if is_on else not seal.opens(raw):
            continue
        if n_turned % 100 == 0:
            progress(name)
        n_turned += _replaced(path, status, seal.sealed(seal.opened(raw, name), MAX_BYTES if is_owners else None))
    return n_turned, tuple(too_large)


def _replaced(path: Path, status: os.stat_result, content: bytes) -> bool:
    """Put new content in the place of a file's, with its mode and time; what was there is overwritten. False where
    another program wrote it meanwhile: it stays as that left it."""
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{os.getpid()}{_LEFT}")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), status.st_mode & 0o7777)
            file.flush()
            os.utime(file.fileno(), ns=(status.st_mtime_ns, status.st_mtime_ns))
            os.fsync(file.fileno())
        with _writable(path) as old:
            now = path.stat()
            if (now.st_ino, now.st_size, now.st_mtime_ns) != (status.st_ino, status.st_size, status.st_mtime_ns):
                return False
            temporary.replace(path)
            sync_folder(path.parent)
            _blacken(old)
    finally:
        temporary.unlink(missing_ok=True)
    return True


@contextlib.contextmanager
def _writable(path: Path) -> Iterator[int]:
    """Hold a file that is about to lose its name, so that its content can be overwritten; -1 where it is read-only."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    except PermissionError:
        yield -1
        return
    try:
        yield handle
    finally:
        os.close(handle)


def _blacken(handle: int) -> None:
    """Overwrite a file that has no name any more with zeros, as far as the file system allows. One that still has a
    name, as the owner linked it elsewhere, stays as it is."""
    if handle < 0 or os.fstat(handle).st_nlink:
        return
    left = os.fstat(handle).st_size
    os.lseek(handle, 0, os.SEEK_SET)
    with contextlib.suppress(OSError):
        while left > 0:
            left -= os.write(handle, bytes(min(left, 1 << 20)))
        os.fsync(handle)
