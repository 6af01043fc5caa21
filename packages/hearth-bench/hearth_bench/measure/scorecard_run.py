"""Measure the scorecard's quick parts in at most ten minutes and write the page: `make bench`.

python -m hearth_bench.measure.scorecard_run [--all] [--list] [--limit SECONDS]

Measurements that need only this machine and the project's own data run one after another, if the duration of their last
run fits into the time left; then the best of each number is kept, what was lost is said (`best_results`), and
`docs/scorecard.md` is written from all result files. A part that did not fit or
failed keeps its earlier file, and the page says how old that is. `--all` has no limit and measures the slow parts too.
The agent loop beside its peers needs their packages:
`packages/hearth-bench/hearth_bench/measure/agent/peers/run.sh`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from hearth_bench.measure.best_results import main as keep_best
from hearth_bench.measure.result_file import RESULTS, ROOT
from hearth_bench.measure.scorecard import main as write_scorecard

LIMIT_S = 570.0
"""Time limit within ten minutes; the rest is for starting and for writing the page."""
_LEAST_S = 1.0


@dataclass(frozen=True, slots=True)
class Part:
    """One measurement."""

    name: str
    arguments: tuple[str, ...]
    """Arguments for this Python interpreter."""
    result: str
    """Name of the result file that it writes, whose `wall_s` says how long it takes."""


def _module(result: str, module: str, *arguments: str) -> Part:
    return Part(result, ("-m", f"hearth_bench.measure.{module}", *arguments), result)


def _bench(name: str, result: str, *arguments: str) -> Part:
    return Part(
        name, ("-m", "hearth", "bench", *arguments, "--json", f"packages/hearth-bench/results/{result}.json"), result
    )


_MESSAGES = "packages/hearth-bench/hearth_bench/data/messages.jsonl"
QUICK = (
    _module("slots", "planning.speed.slot_speed"),
    _module("asking", "memory.memory_questions"),
    _module("start", "agent.cold_start"),
    _module("guard", "guard.guard_cost", "monitor", "judging", "rules", "provenance", "warrant"),
    _bench("changed preferences", "bench_changed", "recall"),
    _bench("privacy", "privacy_messages", "privacy", "--data", _MESSAGES),
    _module("real_requests", "planning.real_requests"),
    _module("asking_costs", "cloud.teacher_cost"),
    _bench("injection", "bench_injection_own", "injection", "--suite", "own"),
)
"""Quick parts, shortest first, so that a slow machine leaves out as few as possible."""
SLOW = (
    _bench("q2a, dev", "bench_q2a_quick", "q2a", "--split", "dev", "--limit", "10", "--jobs", "2"),
    _bench("q2a", "bench_q2a", "q2a", "--split", "test"),
    _module("requests", "planning.requests"),
    _module("natural_requests", "planning.natural_requests"),
    _module("conversations", "planning.conversations"),
    _module("encoder", "planning.speed.encoder_cost"),
    _module("planning", "planning.speed.recall_at_size"),
    _module("plan_metrics", "planning.speed.metric_speed"),
    _module("memory_years", "memory.memory_years"),
    _module("guard", "guard.guard_cost", "ledger"),
)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m hearth_bench.measure.scorecard_run", description="Measure, and write the scorecard."
    )
    parser.add_argument("--all", action="store_true", help="the slow parts too, without a limit")
    parser.add_argument("--list", action="store_true", help="say what would be measured, and how long it took last")
    parser.add_argument("--limit", type=float, default=LIMIT_S, metavar="SECONDS", help="the most it may take")
    chosen = parser.parse_args(arguments)
    parts = (*QUICK, *SLOW) if chosen.all else QUICK
    if chosen.list:
        for part in parts:
            print(f"{part.name:<22}{last_s(part):7.1f} s  python {' '.join(part.arguments)}")
        print(f"{'together':<22}{sum(map(last_s, parts)):7.1f} s")
        return 0
    left_out = measure(parts, float("inf") if chosen.all else chosen.limit)
    for name, why in left_out.items():
        print(f"not measured: {name}: {why}", file=sys.stderr)
    keep_best([])  # says what was lost
    code = write_scorecard([])
    return code or int(any(not why.startswith("took") for why in left_out.values()))


def measure(parts: Sequence[Part], limit_s: float) -> dict[str, str]:
    """Run the parts that fit, and return why each of the others was not measured."""
    ends = time.monotonic() + limit_s
    why: dict[str, str] = {}
    for part in parts:
        left = ends - time.monotonic()
        if last_s(part) > left:
            why[part.name] = f"took {last_s(part):.0f} s the last time, and {max(left, 0):.0f} s are left"
            continue
        print(f"── {part.name} ──", flush=True)
        try:
            limit = None if left == float("inf") else left
            code = subprocess.run([sys.executable, *part.arguments], cwd=ROOT, timeout=limit).returncode
        except subprocess.TimeoutExpired:
            why[part.name] = f"took longer than the {left:.0f} s that were left"
            continue
        if code:
            why[part.name] = f"it ended with exit code {code}"
    return why


def last_s(part: Part) -> float:
    """Return the seconds that a part took the last time, on any machine; one second if unknown."""
    try:
        return max(_LEAST_S, float(json.loads((RESULTS / f"{part.result}.json").read_text())["wall_s"]))
    except (OSError, ValueError, KeyError, TypeError):
        return _LEAST_S


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
