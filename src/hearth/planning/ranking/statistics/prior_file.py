"""Stores a prior as a file in the folder of learned state: named by its content, written at once or not at all."""

from __future__ import annotations

from pathlib import Path

from hearth.atomic_files import replacing
from hearth.errors import StoreError
from hearth.planning.ranking.statistics.statistics_codec import decode, encode
from hearth.planning.ranking.statistics.sufficient_statistics import Statistics


def keep(folder: Path, prior: Statistics) -> str:
    """Write a prior to `folder` unless it is there, and return its file's name.

    Raises:
        StoreFullError, StoreError: It cannot be written; the folder is as before.
    """
    name = f"prior-{prior.digest[:16]}"
    path = folder / name
    if not path.exists():
        with replacing(path, "write the prior to") as file:
            file.write(encode(prior))
    return name


def read(path: Path) -> Statistics:
    """Read the statistics in a file: a prior that was fetched, or one kept here.

    Raises:
        StoreError: It cannot be read. StatisticsError: It is no such file, or damaged.
    """
    try:
        return decode(path.read_bytes())
    except OSError as error:
        raise StoreError(f"cannot read a prior from {str(path)!r}: {error.strerror}") from None
