"""Hearth: a personal agent that lives on its owner's device and learns at home.

In: what an owner asks. Out: plans that were allowed, run and recorded, and answers; all else is in the rooms below.
Here: `agent` (`Agent.run`, the one flow), `types`, `errors` and `protocols` (nouns, error tree, seams), `config`
(`hearth.toml`), `registry` (plug-ins), `doctor` (a home's health), `atomic_files`, `permissions`, `version`. A tool's
author needs only what is exported here: `tool`, `Names`, `Sink`, `Unit`, `CallContext`, `Referent`.
Not here: measurement, the cloud's service, home devices and home video, which are distributions of `packages/`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hearth.version import __version__

if TYPE_CHECKING:
    from hearth.formats.tool_signature import Names, Sink, Unit, tool
    from hearth.protocols import CallContext
    from hearth.types import Referent

__all__ = ["CallContext", "Names", "Referent", "Sink", "Unit", "__version__", "tool"]


def __getattr__(name: str) -> Any:
    """Load what tools import, when they do: a process that makes none starts in half the time."""
    if name not in __all__:
        raise AttributeError(f"module 'hearth' has no attribute {name!r}")
    from hearth.formats import tool_signature

    return getattr(tool_signature, name)
