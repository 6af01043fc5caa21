"""Define the outcome of a case, which the case writes and the job reads."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hearth.atomic_files import write_bytes

CANNOT_WRITE = 74
"""Exit code of a case whose outcome could not be written."""
Report = Callable[[str, float], None]
"""Callback that is told what is being done, and which share of the case is done."""
Run = Callable[[Path, Report], object]
"""Function that runs the case described in a folder and writes its outcome there."""


@dataclass(slots=True)
class Outcome:
    """Status, metrics and faults of a case."""

    status: str = "failed"
    """`done`, `failed` or `stopped`."""
    stage: str = "import"
    """Stage in which it failed."""
    error: str = ""
    metrics: dict[str, Any] = field(default_factory=dict)
    """Values by name in the job's order; null: no value or not a number."""
    faults: list[str] = field(default_factory=list)
    """Faults that did not end the case."""
    continual: dict[str, Any] = field(default_factory=dict)
    """R matrix and the literature's metrics from it, for lifelong learning."""
    cost: dict[str, float] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    """Metrics that this machine cannot measure, with the reasons; they are no fault of the case."""
    at: str = ""


def write_outcome(folder: Path, outcome: Outcome) -> None:
    """Write `outcome.json`. Raises: StoreError."""
    document = {name: getattr(outcome, name) for name in Outcome.__dataclass_fields__}
    write_bytes(folder / "outcome.json", (json.dumps(jsonable(document), ensure_ascii=False, indent=2) + "\n").encode())


def read_outcome(folder: Path) -> Outcome | None:
    """Read the outcome of a case; None while there is none."""
    try:
        document = json.loads((folder / "outcome.json").read_text())
        # a field added after the file was written keeps its default
        found = Outcome(**{k: document[k] for k in Outcome.__dataclass_fields__ if k in document or k == "status"})
    except (OSError, ValueError, KeyError, TypeError):
        return None
    parts = (found.metrics, found.continual, found.cost, found.absent)
    return found if all(isinstance(part, dict) for part in parts) and isinstance(found.faults, list) else None


def jsonable(value: Any) -> Any:
    """Convert a value to JSON's types: NaN and infinity become null, unknown types text."""
    if hasattr(value, "tolist"):  # a numpy array or number
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [jsonable(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int) else str(value)
