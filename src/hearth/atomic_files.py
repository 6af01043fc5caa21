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

from hearth.errors import StoreError, StoreFullError

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
