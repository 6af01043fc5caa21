"""A prior as a file among what was learnt: named by what it holds, written at once or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from hearth.errors import StoreError, StoreFullError
from hearth.planning.statistics import Statistics
from hearth.planning.statistics_file import decode, encode
from hearth.planning.student_file import sync_folder


def keep(folder: Path, prior: Statistics) -> str:
    """Write it below `folder` unless it is there; its file's name.

    Raises:
        StoreFullError, StoreError: It cannot be written; the folder is as before.
    """
    name = f"prior-{prior.digest[:16]}"
    path, temporary = folder / name, folder / f".{name}.{os.getpid()}.tmp"
    if path.exists():
        return name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(encode(prior))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_folder(folder)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        kind = StoreFullError if error.errno in (errno.ENOSPC, errno.EDQUOT) else StoreError
        raise kind(f"cannot write the prior to {str(path)!r}: {error.strerror}; it is as before") from None
    return name


def read(path: Path) -> Statistics:
    """The statistics in a file: a prior that was fetched, or one kept here.

    Raises:
        StoreError: It cannot be read. StatisticsError: It is no such file, or damaged.
    """
    try:
        return decode(path.read_bytes())
    except OSError as error:
        raise StoreError(f"cannot read a prior from {str(path)!r}: {error.strerror}") from None
