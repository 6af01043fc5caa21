"""Tests of the core, and of the house as a whole (`docs`, `whole`); each companion's tests lie beside it."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
"""The checkout."""
DATA = ROOT / "tests" / "data"
BENCH_DATA = ROOT / "packages" / "hearth-bench" / "tests" / "data"
SHARED = ROOT.parent / "shared" / "data"
"""Real data, beside the checkout; `HEARTH_DATA` names another place."""
