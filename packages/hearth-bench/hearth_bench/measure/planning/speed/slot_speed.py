"""Measure the time of `find_slots` and `clauses` per request, of their import, and on 100 KB of hostile text.

    python -m hearth_bench.measure.planning.speed.slot_speed [--requests file.jsonl]

Writes a result file. Without `--requests` the requests of the table `tests/data/slot_times.txt` are read. One process,
one thread.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from zoneinfo import ZoneInfo

from hearth.language.values.slots import clauses, find_slots
from hearth.types import Context, Entity
from hearth_bench.measure.result_file import ROOT, write_result

NOW = dt.datetime(2026, 11, 20, 9, 30, tzinfo=ZoneInfo("Europe/Berlin"))
TABLE = ROOT / "tests" / "unit" / "slot_times.txt"
HOSTILE = {"digits": "1", "tomorrow": "tomorrow ", "numbers": "1 ", "quotes": "'a ", "spaces": " ", "sums": "1 + "}


def context(n_people: int) -> Context:
    people = tuple(Entity(f"First{n} Last{n}", "person") for n in range(n_people))
    return Context(entities=(*people, Entity("Ben Okoro", "person"), Entity("Anna Weber", "person")), country="DE")


def requests(path: Path | None) -> list[str]:
    if path is None:
        lines = TABLE.read_text(encoding="utf-8").splitlines()
        return [line.partition(" => ")[0] for line in lines if line and not line.startswith("#")]
    return [json.loads(line)["user_request"] for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def per_request_ms(texts: list[str], known: Context) -> dict[str, float]:
    spent = []
    for text in [*texts[:50], *texts]:  # the first fifty warm up
        started = time.perf_counter()
        clauses(text, find_slots(text, NOW, known))
        spent.append((time.perf_counter() - started) * 1e3)
    spent = sorted(spent[50:])
    return {
        "n_requests": len(spent),
        "p50_ms": round(statistics.median(spent), 4),
        "p95_ms": round(spent[int(0.95 * len(spent))], 4),
        "max_ms": round(spent[-1], 4),
    }


def import_ms() -> float:
    """Return the median import time of five fresh interpreters, less the start of an empty one."""
    code = (
        "import time; t = time.perf_counter(); import hearth.language.values.slots; "
        "print((time.perf_counter() - t) * 1e3)"
    )
    runs = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(5)
    ]
    return round(statistics.median(runs), 1)


def hostile_s(unit: str) -> float:
    text = unit * (100_000 // len(unit))
    started = time.process_time()
    clauses(text, find_slots(text, NOW, Context(country="DE")))
    return round(time.process_time() - started, 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--requests", type=Path)
    given = parser.parse_args()
    wall, cpu = time.perf_counter(), time.process_time()
    texts = requests(given.requests)
    results = {
        "import_ms": import_ms(),
        "few_contacts": per_request_ms(texts, context(20)),
        "5000_contacts": per_request_ms(texts, context(5000)),
        "hostile_100_kb_s": {name: hostile_s(unit) for name, unit in HOSTILE.items()},
    }
    write_result("slots", results, seed=0, cpu_s=time.process_time() - cpu, wall_s=time.perf_counter() - wall)


if __name__ == "__main__":
    main()
