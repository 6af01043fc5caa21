"""Files that are whole, or as they were: written beside, forced to the disk, put in place.

Covered: a full disk, a fault or a signal while writing, a power cut (the renaming reaches the disk, too). Not covered:
two processes that replace one file at once (the last one stands), file systems whose `fsync` does not wait.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from hearth.errors import RequestError, StoreError, StoreFullError

_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextlib.contextmanager
def replacing(
    path: Path, doing: str = "write", *, keeps_mode: bool = False, is_lasting: bool = True
) -> Iterator[BinaryIO]:
    """A file to write, which takes the place of `path` when the block ends well.

    Args:
        doing: What the message says cannot be done to the path: `save the student to`.
        keeps_mode: The new file may be read and written by whom the old one may; else as the process makes files.
        is_lasting: Wait until the disk has it, for what a power cut must not take; not for what is soon written anew.
    Raises:
        StoreFullError, StoreError: The file is as before.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            if keeps_mode:
                os.chmod(temporary, path.stat().st_mode & 0o777)
            yield file
            file.flush()
            if is_lasting:
                os.fsync(file.fileno())
        temporary.replace(path)
        if is_lasting:
            sync_folder(path.parent)
    except OSError as error:
        kind = StoreFullError if error.errno in _FULL else StoreError
        raise kind(f"cannot {doing} {str(path)!r}: {error.strerror}; it is as before") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make a renaming in a folder survive a power cut. Raises: OSError."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_bytes(path: Path, data: bytes, *, is_lasting: bool = True) -> None:
    """Replace a file at once.

    Args:
        is_lasting: Wait until the data is on disk, for what a power cut must not take; not for what is soon written
            anew.
    Raises:
        StoreError, StoreFullError: The file is as before.
    """
    with replacing(path, is_lasting=is_lasting) as file:
        file.write(data)


def check_writable(path: Path) -> None:
    """Check before hours of work that the result can be written.

    Raises:
        RequestError: The folder is missing, is no folder, or may not be written to; or the path is a folder.
    """
    folder = path.absolute().parent
    if path.is_dir():
        raise RequestError(f"{str(path)!r} is a folder; name a file in it")
    if not folder.is_dir():
        raise RequestError(f"cannot write {str(path)!r}: there is no folder {str(folder)!r}; make it first")
    if not os.access(folder, os.W_OK):
        raise RequestError(f"cannot write {str(path)!r}: the folder may not be written to")
