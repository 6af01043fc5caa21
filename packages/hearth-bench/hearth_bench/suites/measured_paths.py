"""Where the files of a measurement are, apart from what it takes to read them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Paths:
    """Where the files of a measurement are."""

    train: Path
    test: Path
    tools: Path
    train_tools: Path | None = None
    """Tools of the demonstrations, where they are others."""
    graph: Path | None = None
