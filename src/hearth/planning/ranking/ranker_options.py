"""Defines the options of the ranker: its features, its ridge penalties, how it weighs evidence; and those by device.

`[learning] profile` in hearth.toml chooses a device profile. The features of a smaller profile are an exact image of a
larger one's (`ReadingOptions`), so sums made on any device serve every smaller one, to the last bit; a prior for small
devices uses what all devices learned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from hearth.planning.ranking.features import ReadingOptions


@dataclass(frozen=True, slots=True)
class StudentOptions:
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    ridge: float = 0.1
    n_free: int = 15
    """Number of new combinations proposed beside known ones."""
    use_heads: bool = True
    use_neighbours: bool = True
    n_fit: int = 800
    """Number of demonstrations from which the combining weights are fitted."""
    text_trust: float = 3.0
    """Number of uses of a tool that count as much as what its text suggests."""
    hides_tools: bool = True
    """True to fit on tools hidden for the purpose, too: better with new tools, and takes several times as long."""
    weight_bits: int = 7
    """Significant bits of the heads' weights; fewer make the student's file smaller."""


ProfileName = Literal["small", "medium", "large"]

PROFILES: Mapping[ProfileName, StudentOptions] = MappingProxyType(
    {
        "small": StudentOptions(reading=ReadingOptions(128, 256), n_fit=200, hides_tools=False, weight_bits=5),
        "medium": StudentOptions(reading=ReadingOptions(256, 1024), n_fit=400, hides_tools=False, weight_bits=6),
        "large": StudentOptions(),
    }
)
"""`small`: 5 MB of sums while learning, for a board with 512 MB; `medium`: 22 MB; `large`: 70 MB."""
