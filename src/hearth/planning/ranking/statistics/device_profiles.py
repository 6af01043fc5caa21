"""Defines device profiles: the size of a student that fits a device. `[learning] profile` in hearth.toml chooses one.

The features of a smaller profile are an exact image of a larger one's (`ReadingOptions`), so sums made on any
device serve every smaller one, to the last bit; a prior for small devices uses what all devices learned.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from hearth.planning.ranking.features import ReadingOptions
from hearth.planning.ranking.ranker_options import StudentOptions

ProfileName = Literal["small", "medium", "large"]

PROFILES: Mapping[ProfileName, StudentOptions] = MappingProxyType(
    {
        "small": StudentOptions(reading=ReadingOptions(128, 256), n_fit=200, hides_tools=False, weight_bits=5),
        "medium": StudentOptions(reading=ReadingOptions(256, 1024), n_fit=400, hides_tools=False, weight_bits=6),
        "large": StudentOptions(),
    }
)
"""`small`: 5 MB of sums while learning, for a board with 512 MB; `medium`: 22 MB; `large`: 70 MB."""
