"""Measure the worth of a teacher in the cloud and the cost of asking, on the joint inference of `examples/ianvs`.

    python -m hearth_bench.measure.cloud.teacher_cost

Writes `packages/hearth-bench/results/asking_costs.json`: the quality of plans, and per request the calls, tokens and
bytes that leave the device, the share of its private texts that leave with them, and milliseconds. Floor: the student
alone. The teacher's answers are recorded, so its milliseconds are those of reading them.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from hearth_bench.energy_counter import EnergyCounter
from hearth_bench.measure.result_file import ROOT, write_result
from hearth_bench.run_record import Stopwatch

JOB = "jointinference"
CASES = {
    ("edge_and_teacher", "0.0"): "never",
    ("edge_and_teacher", "0.3"): "when_not_sure",
    ("edge_and_teacher", "1.1"): "always",
    ("unmasked", "1.1"): "always_unmasked",
}
MEASURES = (
    *("node_f1", "value_f1", "exact", "executed", "cloud_calls", "tokens", "bytes_out", "privacy_leak"),
    *("latency_p50_ms", "latency_p95_ms", "energy_j"),
)


def main() -> None:
    watch = Stopwatch()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "ianvs"
        skipped = shutil.ignore_patterns("workspace", "__pycache__")
        shutil.copytree(ROOT / "examples" / "ianvs", folder, ignore=skipped)
        command = [sys.executable, "-m", "hearth", "bench", "run", "benchmarkingjob.yaml"]
        done = subprocess.run(command, cwd=folder / JOB, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"the example ended with {done.returncode}: {done.stderr[-2000:]}")
        with (folder / JOB / "workspace" / JOB / "rank" / "all_rank.csv").open() as file:
            rows = list(csv.DictReader(file))
        asked = (folder / "data" / "mara_dev.jsonl").read_text().splitlines()
    results: dict[str, object] = {"n": len(asked)}
    for row in rows:
        name = CASES[row["algorithm"], row["hard_example_mining-threshold"]]
        results[name] = {key: None if row[key] == "nan" else float(row[key]) for key in MEASURES}
    reason = EnergyCounter.open().reason
    if reason:
        results["energy_absent"] = reason
    spent = watch.read()
    write_result("asking_costs", results, seed=0, cpu_s=spent["cpu_s"], wall_s=spent["wall_s"])


if __name__ == "__main__":
    main()
