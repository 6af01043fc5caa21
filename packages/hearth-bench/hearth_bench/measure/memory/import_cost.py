"""Measure importing a large mailbox into memory: RAM compared with a small one, and speed.

python -m hearth_bench.measure.memory.import_cost [--mb 300]
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hearth_bench.measure.result_file import write_result

_WORDS = ("boiler", "meeting", "Tuesday", "garden", "invoice", "please", "train", "house", "window", "school", "dinner")
_CHILD = """
import json, resource, sys, time
from pathlib import Path
from zoneinfo import ZoneInfo
from hearth.memory.event_memory import EventMemory
from hearth.memory.transfer.importers import Report, imported
from hearth.memory.transfer.importers import Source
from hearth.storage.database import Store
began, report = time.perf_counter(), Report()
with Store.open(Path(sys.argv[2])) as store:
    for _ in imported(Source(Path(sys.argv[1]), "mail", ZoneInfo("Europe/Berlin")), EventMemory(store), store, report):
        pass
print(json.dumps({"n_new": report.n_new, "n_known": report.n_known, "n_bad": report.n_bad,
    "s": round(time.perf_counter() - began, 1),
    "max_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)}))
"""


def make(path: Path, n_bytes: int, seed: int = 0) -> None:
    """Write an mbox of mails of 1 to 60 kB, every hundredth with an attachment of 3 MB."""
    draw = random.Random(seed)
    with path.open("w") as file:
        k = 0
        while file.tell() < n_bytes:
            k += 1
            body = "\n".join(" ".join(draw.choices(_WORDS, k=12)) for _ in range(draw.randint(10, 700)))
            body += "\n" + ("QUJD" * 18 + "\n") * 41_000 if k % 100 == 0 else ""
            file.write(
                f"From x@example.org\nFrom: Ana <ana{k % 50}@example.org>\nSubject: number {k}\n"
                f"Message-ID: <{k}@example.org>\nDate: Fri, 20 Nov 2026 09:{k % 60:02}:00 +0100\n\n{body}\n\n"
            )


def measured(path: Path, database: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(path), str(database)], capture_output=True, text=True, check=True
    )
    return {**json.loads(done.stdout), "file_mb": round(path.stat().st_size / 1e6, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mb", type=int, default=300)
    given = parser.parse_args()
    wall, cpu = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder, "small.mbox"), Path(folder, "large.mbox")
        make(small, given.mb * 1_000_000 // 10)
        make(large, given.mb * 1_000_000)
        results = {
            "small": measured(small, Path(folder, "small.db")),
            "large": measured(large, Path(folder, "large.db")),
            "large_again": measured(large, Path(folder, "large.db")),
        }
    write_result("imports", results, seed=0, cpu_s=time.process_time() - cpu, wall_s=time.perf_counter() - wall)


if __name__ == "__main__":
    main()
