"""Measure a loop in its own process after a warm-up, the same way for all; uses only the standard library."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

N_WARM_UP = 40
"""Runs before measuring, enough for a write-ahead log to reach its final size."""


def arguments() -> argparse.Namespace:
    """Parse `--steps`, `--tools`, `--runs`, `--folder`, which every loop gets."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--tools", type=int, required=True)
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    return parser.parse_args()


def measure(
    run: Callable[[int], None], n_bytes: Callable[[], int], n_steps: int, n_runs: int, versions: dict[str, str]
) -> None:
    """Print the cost of one run as JSON.

    Args:
        run: Function that does one whole run of `n_steps` tool calls; it gets the run's number.
        n_bytes: Function that returns the size of the record on disk so far.
    """
    for k in range(N_WARM_UP):
        run(k)
    size, cpu, wall = n_bytes(), time.process_time(), time.perf_counter()
    for k in range(N_WARM_UP, N_WARM_UP + n_runs):
        run(k)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    per_step = 1000 / (n_runs * n_steps)
    result = {
        "cpu_ms_per_step": cpu * per_step,
        "wall_ms_per_step": wall * per_step,
        "n_bytes_per_run": (n_bytes() - size) / n_runs,
        "versions": {**versions, "python": f"{sys.version} in {sys.base_prefix}"},
    }
    print(json.dumps(result))
