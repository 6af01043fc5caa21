"""Measure the CPU time of reading texts made to be slow: it should grow in step with their length.

`python -m hearth_bench.measure.planning.speed.hostile_texts`. Each text repeats one of
`tests/data/hostile_pieces.json`. The tests count calls of functions on the same texts; what happens within one call,
such as a search with a regular expression that tries again and again, only shows in seconds. Target: a text of four
times the length takes at most twelve times as long (in step 4, in step with the square 16), the least of three
measurements each.
"""

from __future__ import annotations

import datetime as dt
import json
import time

from hearth.language.values.slots import clauses, find_slots
from hearth.testing import FIXED_NOW
from hearth.types import Context
from hearth_bench.measure.result_file import ROOT, write_result
from hearth_bench.run_record import Stopwatch

SHORT, LONG = 10_000, 40_000
"""Characters."""
MAX_GROWTH = 12
_LEAST_S = 0.004
"""Less is the clock's own grain."""


def read_s(text: str, now: dt.datetime) -> float:
    """Return the least CPU seconds of three to find the slots and clauses of `text`."""
    found = []
    for _ in range(3):
        began = time.process_time()
        clauses(text, find_slots(text, now, Context()))
        found.append(time.process_time() - began)
    return min(found)


def main() -> None:
    """Measure every piece and write the result."""
    watch = Stopwatch()
    pieces: list[str] = json.loads((ROOT / "tests" / "data" / "hostile_pieces.json").read_text())
    rows = []
    for piece in pieces:
        short_s, long_s = (read_s(piece * (n // len(piece)), FIXED_NOW) for n in (SHORT, LONG))
        growth = long_s / max(short_s, _LEAST_S)
        rows.append(
            {"piece": piece, "ms": round(1000 * long_s), "growth": round(growth, 1), "is_met": growth < MAX_GROWTH}
        )
    rows.sort(key=lambda row: -float(str(row["growth"])))
    results = {
        "characters": LONG,
        "n_pieces": len(rows),
        "growth_at_most": rows[0]["growth"],
        "target": MAX_GROWTH,
        "pieces": rows,
    }
    write_result("hostile_texts", results, seed=0, **watch.read())


if __name__ == "__main__":
    main()
