"""Backs up a whole home into one encrypted file that standard tools open, and restores it.

An archive is a tar file of two members: `key.age`, the archive's own key locked with a passphrase (age, scrypt), and
`home.tar.gz.age`, the home encrypted to that key (age, X25519, in pieces of 64 KB). If locked with a key file instead,
it has no `key.age`. So `tar`, `age` and `gzip` read it without Hearth. Everything is streamed; the last member of the
home is `manifest.json` with the SHA-256 of every file.

The database is copied by SQLite's own backup while others go on using it. Restoring writes everything beside the new
home, checks it all, and only then moves it into place.

Covered: a wrong passphrase, a file that was cut off or changed (nothing is put in place), a full disk, being stopped or
killed (a half-written file has another name and is removed by the next attempt), names that lead out of the home.
An encrypted home stays encrypted in its archive, with its key, which its own passphrase or recovery code opens.
Not covered: caches (they are rebuilt), links in the owner's folder, a forgotten passphrase, and what the archive's size
reveals.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import os
import shutil
import sqlite3
import tarfile
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hearth.atomic_files import sync_folder
from hearth.config.setting_tables import has_key
from hearth.errors import MissingExtraError, RequestError, SandboxError, StoreError, StoreFullError
from hearth.storage.database import connect
from hearth.storage.home_key import check_passphrase, home_key
from hearth.storage.workspace import is_unicode, path_parts
from hearth.version import __version__

try:
    import pyrage
except ModuleNotFoundError:
    raise MissingExtraError("a sealed copy of the home", "pip install 'hearth-agent[backup]'") from None

KEY, HOME, MANIFEST = "key.age", "home.tar.gz.age", "manifest.json"
DATABASE = "hearth.db"
_UNFINISHED = ".unfinished"
_COPY = ".hearth-backup.db"
_LEFT_OUT = ("hearth.lock", _COPY)
_CHUNK_BYTES = 1 << 20
_BLOCK = tarfile.BLOCKSIZE

Progress = Callable[[int], object]
"""Callback with the number of bytes of the home done so far."""


@dataclass(frozen=True, slots=True)
class Lock:
    """A passphrase, or the text of a file with an age key (`AGE-SECRET-KEY-…`), that opens an archive."""

    passphrase: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class Contents:
    """Counts of what an archive holds."""

    n_files: int
    n_bytes: int
    """Size when unpacked."""


def new_key() -> str:
    """Make a key for a key file, in age's own form, with its public half in a comment."""
    identity = pyrage.x25519.Identity.generate()
    return f"# public key: {identity.to_public()}\n{identity}\n"


# ── Writing ───────────────────────────────────────────────────────────────────────────────────────────────


def backup(home: Path, target: Path, lock: Lock, progress: Progress = lambda _: None) -> Contents:
    """Write a whole home into one encrypted file; agents may go on using the home.

    Raises:
        RequestError: There is no home, the target exists, or the passphrase is too short.
        StoreFullError: No space for the copy of the database or for the archive; no archive was left behind.
        StoreError: The database cannot be read.
    """
    if not (home / DATABASE).exists():
        raise RequestError(f"there is no home in {str(home)!r} to back up; make one with `hearth init`")
    if target.exists():
        raise RequestError(f"{str(target)!r} exists already; name another file, or remove that one first")
    if has_key(home) and home_key(home).is_turning:  # which key the copy would have is not certain
        raise RequestError("encrypting the home was cut off; run `hearth encrypt` to finish it, then back it up")
    unfinished = target.with_name(target.name + _UNFINISHED)
    copy = home / _COPY
    try:
        _copy_database(home / DATABASE, copy)
        handle = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w+b") as file:
            recipient = _write_key(file, lock)
            contents = _write_home(file, recipient, home, copy, progress)
            file.flush()
            os.fsync(file.fileno())
        unfinished.rename(target)
        sync_folder(target.parent)
    except OSError as error:
        raise StoreFullError(
            f"cannot write the archive {str(target)!r}: {error.strerror or error}; none was left behind; make room, "
            "or name a file on another disk"
        ) from None
    finally:
        unfinished.unlink(missing_ok=True)
        for suffix in ("", "-wal", "-shm", "-journal"):
            copy.with_name(copy.name + suffix).unlink(missing_ok=True)
    return contents


def _copy_database(source: Path, target: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        target.with_name(target.name + suffix).unlink(missing_ok=True)  # from a backup that was killed
    target.touch(mode=0o600)
    try:
        with contextlib.closing(connect(source)) as one, contextlib.closing(connect(target)) as other:
            one.backup(other, pages=4096)
            other.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            raise StoreFullError(
                f"no space for a copy of the database in {str(target.parent)!r} ({error}); it needs as much again"
            ) from None
        raise StoreError(f"the database {str(source)!r} cannot be read: {error}; run `hearth doctor`") from None


def _write_key(file: IO[bytes], lock: Lock) -> pyrage.x25519.Recipient:
    """Write the archive's locked key at the beginning of the file; return the recipient for the rest."""
    if lock.key:
        return _identity(lock.key).to_public()
    check_passphrase(lock.passphrase)
    identity = pyrage.x25519.Identity.generate()
    locked = pyrage.passphrase.encrypt(f"{identity}\n".encode(), lock.passphrase, armored=True)
    file.write(_header(KEY, len(locked)) + locked + bytes(-len(locked) % _BLOCK))
    return identity.to_public()


def _write_home(
    file: IO[bytes], recipient: pyrage.x25519.Recipient, home: Path, copy: Path, progress: Progress
) -> Contents:
    """Write the home's member; its size is known only at its end, and is written into its header then."""
    place = file.tell()
    file.write(bytes(_BLOCK))
    with (
        _Sealing(lambda source: pyrage.encrypt_io(source, file, [recipient])) as pipe,
        gzip.GzipFile(fileobj=pipe, mode="wb", compresslevel=1, mtime=0) as squeezed,
    ):
        contents = _pack(squeezed, home, copy, progress)
    n_bytes = file.seek(0, os.SEEK_END) - place - _BLOCK
    file.write(bytes(-n_bytes % _BLOCK) + bytes(2 * _BLOCK))
    file.seek(place)
    file.write(_header(HOME, n_bytes))
    return contents


def _header(name: str, n_bytes: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mode = n_bytes, 0o600
    return info.tobuf(tarfile.GNU_FORMAT)


class _Sealing:
    """A pipe to write into, whose other end age reads in a thread of its own: age pulls, `tarfile` pushes."""

    def __init__(self, work: Callable[[IO[bytes]], object]) -> None:
        self._work = work
        self._failed: BaseException | None = None
        source, sink = os.pipe()
        self._source, self._sink = os.fdopen(source, "rb"), os.fdopen(sink, "wb")
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        with self._source:
            try:
                self._work(self._source)
            except BaseException as error:
                self._failed = error

    def __enter__(self) -> IO[bytes]:
        self._thread.start()
        return self._sink

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._sink.close()
        self._thread.join()
        if self._failed is not None and (error is None or isinstance(error, BrokenPipeError)):
            raise self._failed


def _pack(out: gzip.GzipFile, home: Path, copy: Path, progress: Progress) -> Contents:
    """Write the home as a tar, the manifest last."""
    manifest: dict[str, dict[str, object]] = {}
    total = 0
    with tarfile.open(fileobj=out, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        for path, name in _files(home, copy):
            with path.open("rb") as file:
                status = os.fstat(file.fileno())
                info = tarfile.TarInfo(name)
                info.size, info.mode, info.mtime = status.st_size, status.st_mode & 0o777, int(status.st_mtime)
                counted = _Counted(file, progress, total)
                tar.addfile(info, counted)
            total += status.st_size
            manifest[name] = {"n_bytes": status.st_size, "sha256": counted.digest.hexdigest()}
        data = json.dumps({"hearth": __version__, "files": manifest}, ensure_ascii=False, indent=1).encode()
        info = tarfile.TarInfo(MANIFEST)
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))
    return Contents(len(manifest), total)


class _Counted:
    """A file that is hashed as it is read."""

    def __init__(self, file: IO[bytes], progress: Progress, n_before: int) -> None:
        self._file, self._progress = file, progress
        self.digest = hashlib.sha256()
        self._n_bytes = n_before

    def read(self, size: int = -1) -> bytes:
        # A file that shrinks while it is read is filled up with zeros, so that the archive stays whole.
        data = self._file.read(size).ljust(max(size, 0), b"\0")
        self.digest.update(data)
        self._n_bytes += len(data)
        self._progress(self._n_bytes)
        return data


def _files(home: Path, copy: Path) -> Iterator[tuple[Path, str]]:
    """Yield every plain file of a home with its name in the archive; the copy stands for the database."""
    yield copy, DATABASE
    for folder, folders, names in os.walk(home):
        folders.sort()
        for name in sorted(names):
            path = Path(folder) / name
            inside = path.relative_to(home)
            is_left_out = len(inside.parts) == 1 and name.startswith((DATABASE, *_LEFT_OUT))
            if not is_left_out and not path.is_symlink() and path.is_file() and is_unicode(str(inside)):
                yield path, inside.as_posix()


# ── Restoring ─────────────────────────────────────────────────────────────────────────────────────────────


def restore(archive: Path, home: Path, lock: Lock, progress: Progress = lambda _: None) -> Contents:
    """Make a home from an archive; `home` must not exist, or must be empty.

    Raises:
        RequestError: The home holds something, the archive is not one, was cut off or changed, or the passphrase or key
            is wrong. StoreFullError: No space. Nothing was put in place.
    """
    if home.exists() and (not home.is_dir() or any(home.iterdir())):
        raise RequestError(f"{str(home)!r} is not empty; restore into another folder with --home, and look at it first")
    unfinished = home.with_name(home.name + _UNFINISHED)
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        file = archive.open("rb")
    except OSError as error:
        raise RequestError(f"cannot read {str(archive)!r}: {error.strerror}; name an archive") from None
    try:
        with file:
            identity, size = _opened(file, lock, archive)
            unfinished.mkdir(parents=True, mode=0o700)
            contents = _unpacked(_Limited(file, size), identity, archive, unfinished, progress)
        if home.exists():
            home.rmdir()
        unfinished.rename(home)
        sync_folder(home.parent)
    except OSError as error:
        raise StoreFullError(
            f"cannot restore into {str(home)!r}: {error.strerror or error}; nothing was put in place; make room, or "
            "choose another folder with --home"
        ) from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return contents


def _opened(file: IO[bytes], lock: Lock, archive: Path) -> tuple[pyrage.x25519.Identity, int]:
    """Read the archive's key and the size of the home's member, where the file then stands. Raises: RequestError."""
    n_bytes = os.fstat(file.fileno()).st_size
    locked = b""
    try:
        info = tarfile.TarInfo.frombuf(file.read(_BLOCK), "utf-8", "surrogateescape")
        if info.name == KEY and info.size <= _CHUNK_BYTES:
            locked = file.read(info.size)
            file.seek(-info.size % _BLOCK, os.SEEK_CUR)
            info = tarfile.TarInfo.frombuf(file.read(_BLOCK), "utf-8", "surrogateescape")
        if info.name != HOME or file.tell() + info.size > n_bytes:
            raise tarfile.HeaderError(f"it has {n_bytes} bytes and names {info.name[:40]!r}")
    except tarfile.HeaderError as error:
        raise RequestError(f"{str(archive)!r} is no archive of a home, or was cut off: {error}; copy it anew") from None
    if lock.key:
        return _identity(lock.key), info.size
    if not locked:
        raise RequestError(f"{str(archive)!r} was locked with a key file; name it with --key-file")
    try:
        opened = pyrage.passphrase.decrypt(locked, lock.passphrase).decode()
        return pyrage.x25519.Identity.from_str(opened.strip()), info.size
    except (pyrage.DecryptError, pyrage.IdentityError, UnicodeDecodeError):
        raise RequestError(
            f"this passphrase does not open {str(archive)!r}; mind capitals and the keyboard's language"
        ) from None


def _identity(text: str) -> pyrage.x25519.Identity:
    line = next((line.strip() for line in text.splitlines() if line.startswith("AGE-SECRET-KEY-")), "")
    try:
        return pyrage.x25519.Identity.from_str(line)
    except pyrage.IdentityError:
        raise RequestError(
            "the key file holds no line 'AGE-SECRET-KEY-1…'; make one with `hearth memory backup --new-key FILE`"
        ) from None


class _Limited:
    """The part of a file that age reads."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._left = file, size

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(data)
        return data


def _unpacked(
    source: _Limited, identity: pyrage.x25519.Identity, archive: Path, folder: Path, progress: Progress
) -> Contents:
    """Write an archive's files below `folder` and check them. Raises: RequestError, OSError."""
    reading, writing = os.pipe()
    failed: list[Exception] = []
    contents: Contents | None = None

    def decrypt() -> None:
        with os.fdopen(writing, "wb", buffering=0) as sink:
            try:
                pyrage.decrypt_io(source, sink, [identity])
            except Exception as error:
                failed.append(error)
                with contextlib.suppress(OSError):
                    sink.flush()

    thread = threading.Thread(target=decrypt, daemon=True)
    with os.fdopen(reading, "rb") as pipe:
        thread.start()
        try:
            contents = _write_files(pipe, folder, progress)
        except (tarfile.TarError, zlib.error, EOFError, gzip.BadGzipFile, SandboxError, ValueError, KeyError) as error:
            failed.append(error)
        else:
            while pipe.read(_CHUNK_BYTES):  # age checks the last piece only at its end
                pass
    thread.join()
    if contents is None or failed:
        fault = next((one for one in failed if isinstance(one, pyrage.DecryptError)), failed[0])
        if isinstance(fault, pyrage.DecryptError) and "matching key" in str(fault):
            raise RequestError(f"this key does not open {str(archive)!r}; name the key file it was made with")
        raise RequestError(
            f"{str(archive)!r} was cut off or changed ({fault}); nothing was put in place; copy it anew from where it "
            "is kept"
        )
    return contents


def _write_files(pipe: IO[bytes], folder: Path, progress: Progress) -> Contents:
    """Write the files of a tar and check them. Raises: TarError, ValueError, KeyError and others: It differs from the
    original. OSError: No space."""
    found: dict[str, Mapping[str, object]] = {}
    total = 0
    with gzip.GzipFile(fileobj=pipe, mode="rb") as plain, tarfile.open(fileobj=plain, mode="r|") as tar:
        for info in tar:
            data = tar.extractfile(info) if info.isreg() else None
            if data is None:
                raise ValueError(f"{info.name[:80]!r} is no plain file")
            if info.name == MANIFEST:
                files = json.loads(data.read(1 << 30))["files"]
                wrong = [name for name, said in files.items() if found.get(name) != said]
                if wrong or len(found) != len(files):
                    raise ValueError(f"{wrong[0] if wrong else 'a file'!r} is not what was put into it")
                while plain.read(_CHUNK_BYTES):  # to its end, where gzip keeps its checksum
                    pass
                return Contents(len(found), total)
            path = folder.joinpath(*path_parts(info.name))
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            digest = hashlib.sha256()
            with path.open("xb") as file:
                while chunk := data.read(_CHUNK_BYTES):
                    file.write(chunk)
                    digest.update(chunk)
                    total += len(chunk)
                    progress(total)
                file.flush()
                os.fsync(file.fileno())
            path.chmod(info.mode & 0o700 | 0o600)
            os.utime(path, (info.mtime, info.mtime))
            found[info.name] = {"n_bytes": info.size, "sha256": digest.hexdigest()}
    raise ValueError("its end is missing")
