"""Hearth: a personal agent that lives on its owner's device and learns at home."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hearth.version import __version__

if TYPE_CHECKING:
    from hearth.formats.tool_signature import Sink, Unit, tool
    from hearth.protocols import CallContext

__all__ = ["CallContext", "Sink", "Unit", "__version__", "tool"]


def __getattr__(name: str) -> Any:
    """What tools import, loaded when they do: a process that makes none starts in half the time."""
    if name not in ("CallContext", "Sink", "Unit", "tool"):
        raise AttributeError(f"module 'hearth' has no attribute {name!r}")
    from hearth.formats import tool_signature

    return getattr(tool_signature, name)
