"""Measure `hearth ask` from process start to first output, its CPU time, and the resident memory of an idle agent.

    python -m hearth_bench.measure.agent.cold_start          writes packages/hearth-bench/results/start.json

Each start is a process of its own on one home with the shipped demonstrations learnt; the file cache is warm.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hearth_bench.measure.result_file import write_result

N_STARTS = 15
REQUEST = "what is on my calendar tomorrow"
IDLE = """\
import os, sys
from pathlib import Path
from hearth.agent import Agent
from hearth.guard.policy.question import RefusingApprover
agent = Agent.open(Path(sys.argv[1]), RefusingApprover(), environ=os.environ)
def resident_mb():
    return next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("VmRSS")) / 1024
opened = resident_mb()
agent.run(agent.request("what is on my calendar tomorrow"))
print(opened, resident_mb())
"""


def main() -> None:
    started, cpu = time.perf_counter(), os.times()
    hearth = str(Path(sys.executable).parent / "hearth")
    with tempfile.TemporaryDirectory() as folder:
        home = str(Path(folder) / "home")
        before = time.perf_counter()
        subprocess.run([hearth, "--home", home, "init", "--name", "A"], check=True, capture_output=True)
        init_s = time.perf_counter() - before
        first, whole, cpus = zip(*(_ask([hearth, "--home", home, "ask", REQUEST]) for _ in range(N_STARTS)))
        idle = subprocess.run([sys.executable, "-c", IDLE, home], check=True, capture_output=True, text=True)
        helps = [_ask([hearth, "--help"])[1] for _ in range(N_STARTS)]
    opened_mb, used_mb = map(float, idle.stdout.split())
    after = os.times()
    results = {
        "ask_first_output_p50_s": round(statistics.median(first), 3),
        "ask_first_output_max_s": round(max(first), 3),
        "ask_whole_p50_s": round(statistics.median(whole), 3),
        "ask_cpu_p50_s": round(statistics.median(cpus), 3),
        "ask_cpu_least_s": round(min(cpus), 3),
        "help_p50_s": round(statistics.median(helps), 3),
        "init_with_learning_s": round(init_s, 3),
        "idle_rss_mb": round(opened_mb, 1),
        "rss_after_one_request_mb": round(used_mb, 1),
        "n_starts": N_STARTS,
    }
    cpu_s = sum(after[:4]) - sum(cpu[:4])
    write_result("start", results, seed=0, cpu_s=cpu_s, wall_s=time.perf_counter() - started)


def _ask(command: list[str]) -> tuple[float, float, float]:
    """Return the seconds to the first byte of output and to the end, and those of CPU, of its own children too."""
    before, cpu_before = time.perf_counter(), _children_cpu_s()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        first = time.perf_counter() - before
        process.stdout.read()
    return first, time.perf_counter() - before, _children_cpu_s() - cpu_before


def _children_cpu_s() -> float:
    """Return the CPU time of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
