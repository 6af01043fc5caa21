"""Compare the toy lifelong job (60 samples, 3 rounds) in real Ianvs and in Hearth, run in turn.

`python -m hearth_bench.measure.cloud.ianvs_beside IANVS`: IANVS is its command, in an environment of its own
(docs/howto/jobs.md makes one). Measures wall and processor time of the whole command, including its start; the rankings
must be the same. Target: Hearth takes at most a fifth of the time.
"""

from __future__ import annotations

import csv
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hearth_bench.measure.result_file import ROOT, write_result
from hearth_bench.run_record import Stopwatch

JOB = "job_no-inference.yaml"
N_PAIRS = 10


def timed(command: list[str], folder: Path) -> tuple[float, float]:
    """Return the wall and processor seconds of a command, including its child processes."""
    started, spent = time.perf_counter(), os.times()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{command[0]} failed: {(done.stderr or done.stdout)[-2000:]}")
    now = os.times()
    cpu_s = now.children_user + now.children_system - spent.children_user - spent.children_system
    return time.perf_counter() - started, cpu_s


def scores(workspace: Path) -> dict[str, str]:
    """Return the metrics of the last row, without time and place."""
    with (workspace / "no-inference" / "rank" / "all_rank.csv").open() as file:
        row = list(csv.DictReader(file))[-1]
    return {key: value for key, value in sorted(row.items()) if key not in ("rank", "time", "url")}


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    watch, hearth = Stopwatch(), str(Path(sys.executable).with_name("hearth"))
    pairs = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "jobs"
        shutil.copytree(ROOT / "tests" / "data" / "ianvs", folder)
        for _ in range(N_PAIRS + 1):
            theirs = timed([str(Path(sys.argv[1]).absolute()), "-f", JOB], folder)
            ours = timed([hearth, "bench", "run", JOB, "--workspace", "ours"], folder)
            pairs.append((theirs, ours))
        same = scores(folder / "workspace") == scores(folder / "ours")
        found = scores(folder / "ours")
    pairs = pairs[1:]  # the first pair fills the caches of both
    results: dict[str, object] = {"job": JOB, "same_scores": same, "scores": found, "n_pairs": N_PAIRS}
    for k, what in enumerate(("wall", "cpu")):
        ratios = [ours[k] / theirs[k] for theirs, ours in pairs]
        results[what] = {
            "ianvs_median_s": round(statistics.median(theirs[k] for theirs, _ in pairs), 3),
            "hearth_median_s": round(statistics.median(ours[k] for _, ours in pairs), 3),
            "ratio_median": round(statistics.median(ratios), 3),
            "ratio_best": round(min(ratios), 3),
            "ratio_worst": round(max(ratios), 3),
            "pairs_s": [[round(theirs[k], 3), round(ours[k], 3)] for theirs, ours in pairs],
        }
    results["load_average"] = [round(x, 1) for x in os.getloadavg()]
    spent = watch.read()
    write_result("ianvs_beside", results, seed=0, cpu_s=spent["cpu_s"], wall_s=spent["wall_s"])


if __name__ == "__main__":
    main()
