"""Hearth: a personal agent that lives on its owner's device and learns at home."""

from hearth.functions import Sink, Unit, tool
from hearth.protocols import CallContext

__all__ = ["CallContext", "Sink", "Unit", "__version__", "tool"]
__version__ = "0.1.0"
