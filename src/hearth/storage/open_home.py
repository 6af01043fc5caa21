"""A home that is open: its folder, its settings, its database, and what ends with it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from hearth import config
from hearth.config import Settings
from hearth.protocols import Workspace
from hearth.storage.database import Store
from hearth.storage.workspace import Folder


@dataclass(frozen=True, slots=True)
class Home:
    """An open home, and the process's environment that goes with it."""

    path: Path
    settings: Settings
    store: Store
    environ: Mapping[str, str]
    clock: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC)
    """The time, in the owner's zone where an agent opened it."""
    resources: ExitStack = field(default_factory=ExitStack)
    """What is closed with the home, by whoever opened it."""

    @property
    def cache(self) -> Path:
        """The folder of what was worked out once and may be deleted."""
        return config.cache_folder(self.environ)

    def workspace(self) -> Workspace:
        """Return the owner's folder, to be read outside any call."""
        return Folder(self.path / "owner", self.store).for_call("")
