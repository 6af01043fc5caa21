"""Read the energy spent from the processor's own counter: RAPL, as Linux shows it in `/sys/class/powercap`.

Source: the kernel's `Documentation/power/powercap`; H. David et al., *RAPL: Memory Power Estimation and Capping*,
ISLPED 2010. The packages are counted (cores, caches, memory controller); where there are none, `psys`, the whole board.

Covered: several packages, a counter that starts again; no counter, or one that only root may read (usual since 2020):
nothing is counted then, and the reason is given. Not covered: the counter includes whatever else ran meanwhile; the
screen, the disk and the network.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_POWERCAP = Path("/sys/class/powercap")
_ZONE = re.compile(r"intel-rapl:\d+")
"""Names of packages, also on AMD processors. Parts of a package have one more number, and would count twice."""


@dataclass(frozen=True, slots=True)
class EnergyCounter:
    """The readable counters; when there are none, the reason."""

    zones: tuple[Path, ...] = ()
    reason: str = ""
    """Reason why there are none."""

    @classmethod
    def open(cls, root: Path | None = None) -> EnergyCounter:
        """Look for counters; never raises."""
        root = root or _POWERCAP
        try:
            found = sorted(zone for zone in root.iterdir() if _ZONE.fullmatch(zone.name))
        except OSError:
            return cls(reason=f"there is no energy counter here (no {root})")
        named = {zone: _text(zone / "name") for zone in found}
        zones = [zone for zone, name in named.items() if name.startswith("package")]
        zones = zones or [zone for zone, name in named.items() if name == "psys"]
        if not zones:
            return cls(reason=f"there is no energy counter here (no package in {root})")
        counter = cls(tuple(zones))
        if counter.read_uj() is None:
            return cls(reason=f"the energy counter may not be read ({zones[0] / 'energy_uj'}; only root may, mostly)")
        return counter

    def read_uj(self) -> tuple[int, ...] | None:
        """Return each zone's microjoules so far; None where one cannot be read."""
        if not self.zones:
            return None
        try:
            return tuple(int((zone / "energy_uj").read_text()) for zone in self.zones)
        except (OSError, ValueError):
            return None

    def spent_j(self, since_uj: Sequence[int] | None) -> float | None:
        """Return the joules since `read_uj` gave `since_uj`; None where that cannot be told.

        A counter that is lower now has started again once, after `max_energy_range_uj`.
        """
        now_uj = self.read_uj()
        if since_uj is None or now_uj is None:
            return None
        total_uj = 0
        for zone, before, after in zip(self.zones, since_uj, now_uj, strict=True):
            if after < before:
                range_uj = _text(zone / "max_energy_range_uj")
                if not range_uj.isdecimal():
                    return None
                after += int(range_uj)
            total_uj += after - before
        return total_uj / 1e6


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
