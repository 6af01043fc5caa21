"""Write a result file: benchmark, time, commit, machine, versions, seed and results."""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from hearth_bench.run_record import commit, cpu_name

ROOT = Path(__file__).resolve().parents[4]
"""Folder of the checkout, whose files the benchmarks read and write."""
OWN_DATA = Path(__file__).parent / "data"
RESULTS = ROOT / "packages" / "hearth-bench" / "results"


def write_result(name: str, results: Mapping[str, object], *, seed: int, cpu_s: float, wall_s: float) -> Path:
    """Write `packages/hearth-bench/results/NAME.json` and print it."""
    document = {
        "benchmark": name,
        "at": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "commit": commit() or "unknown",
        "seed": seed,
        "machine": {
            "cpu": cpu_name(),
            "n_cores": os.cpu_count(),
            "platform": platform.platform(),
            "python": platform.python_version(),
            "sqlite": sqlite3.sqlite_version,
        },
        "wall_s": round(wall_s, 1),
        "cpu_s": round(cpu_s, 1),
        "results": results,
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(document, indent=2) + "\n")
    print(json.dumps(document, indent=2))
    return path
