"""Finds the heads with which a home plans: those that ship, or these joined with a prior that the home took.

The version in use names the prior (`learning.versions.lineage`); its heads lie beside it, in `learned/`. Not covered:
joining them (`ranking.statistics.prior_file`): where they are missing, or were joined with other heads than those that
ship now, a home plans with what ships until it next learns.
"""

from __future__ import annotations

import json
from pathlib import Path

from hearth.planning.ranking.heads.tool_heads import HeadPrior, read_prior, shipped_prior
from hearth.storage.database import Store

_ENDING = "-heads.npz"


def path_of(folder: Path, prior: str) -> Path:
    """Return where the heads of a prior lie, in a folder of learned state."""
    return folder / f"{prior}{_ENDING}"


def prior_of(file: str) -> str:
    """Return the name of the prior that a file is of, be it the prior's own or its heads'."""
    return file.removesuffix(_ENDING)


def prior_in(store: Store) -> str:
    """Return the name of the prior that a home took; empty for none."""
    rows = store.query(
        "SELECT record_json FROM version JOIN meta ON meta.name='learned_version' "
        "AND version.number = CAST(meta.value AS INTEGER)"
    )
    return str(json.loads(rows[0][0]).get("prior", "")) if rows else ""


def read_taken(folder: Path, prior: str) -> HeadPrior | None:
    """Return the heads of a prior; None where there are none for what ships now."""
    base = shipped_prior()
    found = read_prior(path_of(folder, prior)) if prior and base is not None else None
    return found if found is not None and base is not None and found.base == base.digest else None
