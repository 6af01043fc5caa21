"""Measure the cost of the guard: append, verify and erase the ledger; call the monitor (`guard_calls`).

    python -m hearth_bench.measure.guard.guard_cost [SECTION…]

Writes its sections of packages/hearth-bench/results/guard.json. An append is forced to the disk, so it takes as long as
the disk needs for that; a single `fdatasync` on the same disk is measured beside it, and an append where forcing costs
nothing (a file system in memory, if there is one).
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from hearth.guard.egress.ledger import COLUMNS, GENESIS, STORED, Draft, Head, Ledger, content_hash, entry_hash
from hearth.storage.database import Store
from hearth_bench.measure.guard import guard_calls, warrant_calls
from hearth_bench.measure.result_file import RESULTS, write_result

N_APPENDS = 500
N_ENTRIES = 1_000_000
PAYLOAD = b'{"model": "m", "messages": [{"role": "user", "content": "when does [NAME_1] arrive?"}]}' * 40
MEMORY = Path("/dev/shm")


def ledger(n_entries: int) -> dict[str, object]:
    """Measure appends of 3.5 kB on the disk and in memory, and verifying many entries in a process of its own."""
    results: dict[str, object] = {"payload_bytes": len(PAYLOAD), "n_appends": N_APPENDS}
    with tempfile.TemporaryDirectory() as folder:
        results.update(_spread("append", _appends(Path(folder))))
        results.update(_spread("fdatasync_alone", _forced(Path(folder) / "alone")))
    if MEMORY.is_dir():
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            results.update(_spread("append_in_memory", _appends(Path(folder))))
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        _filled(Path(folder), n_entries)
        results.update(n_entries=n_entries, fill_s=round(time.perf_counter() - started, 1))
        command = [sys.executable, "-m", "hearth_bench.measure.guard.guard_cost", "--verify", folder]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        results.update(json.loads(done.stdout))
    return results


def _appends(folder: Path) -> list[float]:
    with Store.open(folder / "hearth.db") as store:
        book = Ledger(store)
        draft = Draft("sent", "api.example.org", "language model", PAYLOAD, len(PAYLOAD), {"[NAME_1]": "Zoë"}, port=443)
        book.append(draft)
        return _timed(lambda: book.append(draft))


def _forced(path: Path) -> list[float]:
    handle = os.open(path, os.O_RDWR | os.O_CREAT)
    os.pwrite(handle, bytes(4096), 0)
    os.fsync(handle)

    def force() -> None:
        os.pwrite(handle, os.urandom(4096), 0)
        os.fdatasync(handle)

    took = _timed(force)
    os.close(handle)
    return took


def _timed(act: Callable[[], object]) -> list[float]:
    took = []
    for _ in range(N_APPENDS):
        before = time.perf_counter()
        act()
        took.append((time.perf_counter() - before) * 1000)
    return took


def _spread(name: str, took_ms: list[float]) -> dict[str, float]:
    ordered = sorted(took_ms)
    return {
        f"{name}_p50_ms": round(statistics.median(ordered), 3),
        f"{name}_p95_ms": round(ordered[int(len(ordered) * 0.95)], 3),
    }


def _filled(folder: Path, n_entries: int) -> None:
    """Write a ledger of many small entries, computed here and written in bulk; the file does not show how it was
    written."""
    at = dt.datetime(2026, 11, 20, tzinfo=dt.UTC).isoformat()
    salt, payload, stands_for = bytes(16), b"x" * 20, "{}"
    content = content_hash(salt, payload, stands_for)
    row: dict[str, object] = dict.fromkeys(COLUMNS, "")
    row.update(kind="sent", at=at, day=at[:10], host="api.example.org", port=443, reason="language model", step=None)
    row.update(n_bytes=20, n_tokens=0, usd=0.0, content_hash=content)
    row.update(salt=salt, payload=payload, stands_for_json=stands_for)
    insert = f"INSERT INTO disclosure ({', '.join(STORED)}) VALUES ({', '.join(':' + name for name in STORED)})"
    head = Head(0, GENESIS)
    with Store.open(folder / "hearth.db") as store:
        book = Ledger(store)
        book.seal()  # a head that is made when entries are there already is told of for ever
        for start in range(0, n_entries, 20_000):
            rows = []
            for number in range(start + 1, min(start + 20_000, n_entries) + 1):
                row["number"] = number
                row["hash"] = entry_hash(head.hash, row)
                head = Head(number, str(row["hash"]))
                rows.append(dict(row))
            with store.transaction() as cursor:
                cursor.executemany(insert, rows)
                cursor.execute("INSERT OR REPLACE INTO meta VALUES ('ledger', ?)", (str(head),))
        book.seal()


def _verified(folder: Path) -> dict[str, object]:
    with Store.open(folder / "hearth.db") as store:
        book = Ledger(store)
        before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        started = time.perf_counter()
        n_told = 0

        def told(_: int) -> None:
            nonlocal n_told
            n_told += 1

        verdict = book.verify(told)
        assert verdict.is_whole, verdict
        after_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return {
            "verify_s": round(time.perf_counter() - started, 1),
            "verify_growth_mb": round((after_kb - before_kb) / 1024, 1),
            "verify_peak_rss_mb": round(after_kb / 1024, 1),
            "n_progress_calls": n_told,
        }


SECTIONS: dict[str, Callable[[int], Mapping[str, object]]] = {
    "ledger": ledger,
    "monitor": lambda _: guard_calls.monitor(),
    "judging": lambda _: guard_calls.judging(),
    "referents": lambda _: guard_calls.referents(),
    "rules": lambda _: guard_calls.rules(),
    "provenance": lambda _: guard_calls.provenance(),
    "warrant": lambda _: warrant_calls.warrant(),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], default=[])
    parser.add_argument("--entries", type=int, default=N_ENTRIES, help="how many are verified")
    parser.add_argument("--verify", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.verify:
        print(json.dumps(_verified(chosen.verify)))
        return
    path = RESULTS / "guard.json"
    results: dict[str, object] = json.loads(path.read_text())["results"] if path.exists() else {}
    started, cpu = time.perf_counter(), os.times()
    for name in chosen.sections or SECTIONS:
        results[name] = SECTIONS[name](chosen.entries)
    cpu_s = sum(os.times()[:4]) - sum(cpu[:4])
    write_result("guard", results, seed=0, cpu_s=cpu_s, wall_s=time.perf_counter() - started)


if __name__ == "__main__":
    main()
