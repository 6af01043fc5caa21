"""Measure the cost of the encoder: cold start, resident memory, latency, and distance from the reference vectors.

    python packages/hearth-bench/hearth_bench/measure/planning/speed/encoder_cost.py

Writes packages/hearth-bench/results/encoder.json and prints it. Each cold start is a process of its own with a warm
cache folder; results are medians. Latency is measured after a few calls to warm up, over texts drawn by the seed.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime

from hearth.models.sentence_encoder import WEIGHTS_SHA256, MiniLMEncoder
from hearth_bench.measure.result_file import RESULTS, ROOT

SEED = 20261120
N_STARTS = 7
N_CALLS = 200

_COLD_START = """\
import sys, time
started = time.perf_counter()
from pathlib import Path
from hearth.models.sentence_encoder import MiniLMEncoder
imported = time.perf_counter()
encoder = MiniLMEncoder.open(Path(sys.argv[1]))
opened = time.perf_counter()
def resident_mb():
    return next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("VmRSS")) / 1024
loaded_mb = resident_mb()
encoder.encode(["remind me to water the plants tomorrow at nine"])
first = time.perf_counter()
one_mb = resident_mb()
encoder.encode(["a sentence of eight or nine words, number %d" % i for i in range(2000)])
print(imported - started, opened - imported, first - opened, loaded_mb, one_mb, resident_mb())
"""

_CLAUSES = (
    "remind me to water the plants tomorrow at nine",
    "text Anna that I am late",
    "add milk to the shopping list",
    "what is on my calendar on friday",
    "move the dentist to next tuesday afternoon",
    "find the photo of the red bicycle",
    "how much is 15% of 80",
    "draft a short apology to the landlord about the noise",
)


def main() -> None:
    cpu_before, wall_before = os.times(), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        started = time.perf_counter()
        encoder = MiniLMEncoder.open(cache)
        first_ever_s = time.perf_counter() - started
        starts = [_cold_start(cache) for _ in range(N_STARTS)]
    medians = [statistics.median(column) for column in zip(*starts)]
    results = {
        "first_start_ever_open_s": round(first_ever_s, 3),
        "cold_import_s": round(medians[0], 3),
        "cold_open_s": round(medians[1], 3),
        "cold_import_and_open_s": round(statistics.median(start[0] + start[1] for start in starts), 3),
        "first_encode_ms": round(medians[2] * 1000, 2),
        "rss_loaded_mb": round(medians[3], 1),
        "rss_after_one_text_mb": round(medians[4], 1),
        "rss_after_2000_texts_mb": round(medians[5], 1),
        **_latencies(encoder),
        "min_cosine_to_reference": _min_cosine(encoder),
    }
    cpu_after = os.times()
    cpu_s = sum(cpu_after[:4]) - sum(cpu_before[:4])
    report = {
        "benchmark": "encoder",
        "at": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "seed": SEED,
        "weights_sha256": WEIGHTS_SHA256,
        "machine": {
            "cpu": _cpu_model(),
            "n_cores": len(os.sched_getaffinity(0)),
            "platform": f"{platform.system()} {platform.machine()}",
            "python": platform.python_version(),
            "onnxruntime": onnxruntime.__version__,
        },
        "wall_s": round(time.perf_counter() - wall_before, 1),
        "cpu_s": round(cpu_s, 1),
        "n_starts": N_STARTS,
        "n_calls": N_CALLS,
        "results": results,
    }
    path = RESULTS / "encoder.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(report, indent=2) + "\n")
    print(json.dumps(report, indent=2))


def _cold_start(cache: Path) -> list[float]:
    """Return the seconds to import, open and encode once, and the megabytes after loading, one text and 2,000 texts."""
    command = [sys.executable, "-c", _COLD_START, str(cache)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float(number) for number in done.stdout.split()]


def _latencies(encoder: MiniLMEncoder) -> dict[str, float]:
    drawn = random.Random(SEED)
    results: dict[str, float] = {}
    for name, n_texts in (("one_text", 1), ("batch_of_4", 4), ("batch_of_32", 32)):
        batches = [
            [f"{drawn.choice(_CLAUSES)} {drawn.randrange(100)}" for _ in range(n_texts)]
            for _ in range(N_CALLS if n_texts < 32 else N_CALLS // 4)
        ]
        times_ms = _times_ms(encoder, batches)
        results[f"{name}_p50_ms"] = round(statistics.median(times_ms), 2)
        results[f"{name}_p95_ms"] = round(sorted(times_ms)[int(len(times_ms) * 0.95)], 2)
    bulk = [f"{drawn.choice(_CLAUSES)} {drawn.randrange(10_000)}" for _ in range(1000)]
    results["bulk_texts_per_s"] = round(1000 / (_times_ms(encoder, [bulk])[0] / 1000))
    return results


def _times_ms(encoder: MiniLMEncoder, batches: Sequence[Sequence[str]]) -> list[float]:
    for batch in batches[:5]:
        encoder.encode(batch[:32])
    times_ms = []
    for batch in batches:
        started = time.perf_counter()
        encoder.encode(batch)
        times_ms.append((time.perf_counter() - started) * 1000)
    return times_ms


def _min_cosine(encoder: MiniLMEncoder) -> float:
    data = ROOT / "tests" / "data"
    reference = np.load(data / "encoder_reference.npz")["vectors"].astype(np.float32)
    reference /= np.linalg.norm(reference, axis=1, keepdims=True)
    vectors = encoder.encode(json.loads((data / "encoder_sentences.json").read_text()))
    return round(float((vectors * reference).sum(axis=1).min()), 7)


def _commit() -> str:
    """Return the short commit hash, with a plus sign if the encoder differs from what was committed."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    changed = subprocess.run(
        ["git", "diff", "--quiet", "HEAD", "--", "src/hearth/models", __file__], cwd=ROOT, check=False
    )
    return commit.stdout.strip() + ("+" if changed.returncode else "")


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


if __name__ == "__main__":
    main()
