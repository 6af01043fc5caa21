"""Record versions, machine, time and cost of a result, and write it whole or not at all."""

from __future__ import annotations

import datetime as dt
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import hearth
from hearth.atomic_files import write_bytes
from hearth.version import __version__
from hearth_bench.energy_counter import EnergyCounter


def _cpu_s() -> float:
    """Return CPU seconds of this process and of those it waited for."""
    return sum(os.times()[:4])


@dataclass(frozen=True, slots=True)
class Stopwatch:
    """Wall and CPU seconds since it was made."""

    wall: float = field(default_factory=time.perf_counter)
    cpu: float = field(default_factory=_cpu_s)
    counter: EnergyCounter = field(default_factory=EnergyCounter.open)
    energy_uj: tuple[int, ...] | None = field(default_factory=lambda: EnergyCounter.open().read_uj())

    def read(self) -> dict[str, float]:
        """Return `wall_s` and `cpu_s`."""
        return {"wall_s": round(time.perf_counter() - self.wall, 2), "cpu_s": round(_cpu_s() - self.cpu, 2)}

    def spent(self) -> dict[str, object]:
        """Return `wall_s`, `cpu_s`, and `energy_j` of the whole processor or else `energy_absent`, the reason."""
        spent_j = self.counter.spent_j(self.energy_uj)
        reason = self.counter.reason or "the energy counter could not be read again"
        energy = {"energy_absent": reason} if spent_j is None else {"energy_j": round(spent_j, 2)}
        return {**self.read(), **energy}


def peak_rss_bytes() -> int:
    """Return the most memory this program held; `ru_maxrss`, which starts at what the parent held, is the fallback."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        lines = []
    found = next((line.split()[1] for line in lines if line.startswith("VmHWM:")), "")
    if not found:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return int(found) * 1024


def origin() -> dict[str, object]:
    """Return where and by what a result was made: `version commit machine at`, one text each."""
    import platform  # here, and git below: a case that writes no result of its own pays for neither

    return {
        "version": __version__,
        "commit": commit(),
        "machine": f"{cpu_name()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}",
        "at": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
    }


def commit() -> str:
    """Return the short hash of HEAD of Hearth's source tree, with `+` when its source differs; empty outside one."""
    source = Path(hearth.__file__).resolve().parent
    if not (source.parents[1] / ".git").exists():
        return ""
    import subprocess

    asked = ["git", "status", "--porcelain=v2", "--branch", "--", "."]
    try:
        done = subprocess.run(asked, cwd=source, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = done.stdout.splitlines() if done.returncode == 0 else []
    head = next((line.split()[2][:7] for line in lines if line.startswith("# branch.oid ")), "")
    return head + ("+" if head and any(not line.startswith("#") for line in lines) else "")


def cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    found = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    if not found:
        import platform

        return platform.processor() or platform.machine()
    return found


def write_json(path: Path, document: Mapping[str, object], *, is_lasting: bool = True) -> None:
    """Write a result; see `atomic_files.write_bytes`. Raises: StoreError, StoreFullError (the file is as before)."""
    write_bytes(path, (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode(), is_lasting=is_lasting)
