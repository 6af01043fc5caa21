"""What came of a case, as the case writes it and the job reads it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hearth.formats.run_record import write_bytes

CANNOT_WRITE = 74
"""Exit code of a case whose outcome could not be written."""
Report = Callable[[str, float], None]
"""What is being done, and which share of the case is done."""
Run = Callable[[Path, Report], object]
"""Runs what a folder describes and writes there what came of it."""


@dataclass(slots=True)
class Outcome:
    """What came of a case."""

    status: str = "failed"
    """`done`, `failed` or `stopped`."""
    stage: str = "import"
    """Where it failed."""
    error: str = ""
    metrics: dict[str, Any] = field(default_factory=dict)
    """By name in the job's order; null is none or not a number."""
    faults: list[str] = field(default_factory=list)
    """What went wrong without ending it."""
    continual: dict[str, Any] = field(default_factory=dict)
    """R matrix and what the literature makes of it, of lifelong learning."""
    cost: dict[str, float] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    """What this machine cannot measure, and why: nothing is wrong with the case."""
    at: str = ""


def write_outcome(folder: Path, outcome: Outcome) -> None:
    """Write `outcome.json`. Raises: StoreError."""
    document = {name: getattr(outcome, name) for name in Outcome.__dataclass_fields__}
    write_bytes(folder / "outcome.json", (json.dumps(jsonable(document), ensure_ascii=False, indent=2) + "\n").encode())


def read_outcome(folder: Path) -> Outcome | None:
    """What came of a case; None while nothing has."""
    try:
        document = json.loads((folder / "outcome.json").read_text())
        # What is newer than the file is as it begins.
        found = Outcome(**{k: document[k] for k in Outcome.__dataclass_fields__ if k in document or k == "status"})
    except (OSError, ValueError, KeyError, TypeError):
        return None
    parts = (found.metrics, found.continual, found.cost, found.absent)
    return found if all(isinstance(part, dict) for part in parts) and isinstance(found.faults, list) else None


def jsonable(value: Any) -> Any:
    """A value as JSON has it; what is not a number or infinite becomes null, what JSON has no word for text."""
    if hasattr(value, "tolist"):  # numpy's
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [jsonable(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int) else str(value)
