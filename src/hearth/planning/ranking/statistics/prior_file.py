"""Stores a prior as a file in the folder of learned state: named by its content, written at once or not at all.

Beside it lie the heads that plan at home with it (`heads.taken_heads`): those that ship, joined with the prior's sums.
They are made when a prior is taken, and again (`renew`) where they are missing or of other shipped heads. Sums over
fewer features than the heads have, of a smaller profile, cannot be joined: they count where files of requests are
drafted.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from hearth.atomic_files import replacing
from hearth.errors import StatisticsError, StoreError
from hearth.planning.ranking.features import HALF, ReadingOptions
from hearth.planning.ranking.heads import taken_heads
from hearth.planning.ranking.heads.tool_heads import HeadPrior, shipped_prior
from hearth.planning.ranking.statistics.statistics_codec import decode, encode
from hearth.planning.ranking.statistics.sufficient_statistics import Statistics
from hearth.protocols import Encoder


def keep(folder: Path, prior: Statistics, heads: HeadPrior | None = None) -> str:
    """Write a prior to `folder` unless it is there, with the heads joined from it, and return its file's name.

    Raises:
        StoreFullError, StoreError: It cannot be written; the folder is as before.
    """
    name = f"prior-{prior.digest[:16]}"
    path = folder / name
    if not path.exists():
        with replacing(path, "write the prior to") as file:
            file.write(encode(prior))
    if heads is not None:
        _keep_heads(folder, name, heads)
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


def joined(prior: Statistics, encoder: Encoder) -> HeadPrior | None:
    """Return the shipped heads joined with a prior's sums; None where these are over other features or texts."""
    base = shipped_prior()
    is_whole = prior.reading == ReadingOptions() and prior.n_inputs == encoder.dim
    if base is None or not is_whole or not base.fits(encoder):
        return None
    asked = [column for column, output in enumerate(prior.sums.outputs) if output.startswith("a ")]
    outputs = [prior.sums.outputs[column].removeprefix("a ") for column in asked]
    gram = (prior.sums.square() / HALF**2).astype(np.float32)
    moments = (prior.sums.moments[:, asked] / HALF).astype(np.float32)
    return replace(base.joined(outputs, gram, moments), base=base.digest)


def renew(folder: Path, name: str, encoder: Encoder) -> None:
    """Join the heads of a prior again where they are missing, or of other heads than those that ship now.

    Raises:
        StoreError: They cannot be written.
    """
    base = shipped_prior()
    is_due = bool(name) and base is not None and base.fits(encoder) and taken_heads.read_taken(folder, name) is None
    if not is_due:
        return
    with contextlib.suppress(StatisticsError):
        if (folder / name).exists() and (made := joined(read(folder / name), encoder)) is not None:
            _keep_heads(folder, name, made)


def _keep_heads(folder: Path, name: str, heads: HeadPrior) -> None:
    with replacing(taken_heads.path_of(folder, name), "write the heads to") as file:
        heads.write(file)
