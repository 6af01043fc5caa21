"""Measure the agent loop's cost per tool step against other frameworks' loops, each with its own scripted model.

    python -m hearth_bench.measure.agent.agent_loop          writes packages/hearth-bench/results/agent_loop.json

The task is ten calls of an empty tool, with 1 or 100 tools registered. Each loop runs in a process of its own with its
own interpreter, after the same warm-up. The loops take turns, so that a busy machine is busy for all of them; results
are medians over the rounds. CPU time counts every thread and the kernel's work for the writes. Hearth plans the ten
steps at once, and records the start and the end of each with a full fsync; LangGraph's checkpointer writes after each
of its steps; smolagents writes nothing. The peers are installed by
packages/hearth-bench/hearth_bench/measure/agent/peers/run.sh; without them only Hearth is measured.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hearth_bench.measure.result_file import write_result

PEERS = Path(__file__).parent / "peers"
N_ROUNDS = 7
N_RUNS = 60
N_STEPS = 10
N_TOOLS = (1, 100)
RECORD_STEPS = (10, 20, 40, 80)
N_RECORD_RUNS = 20
LOOPS = {
    "hearth": ("hearth_loop",),
    "smolagents": ("smolagents_loop",),
    "langgraph_sqlite": ("langgraph_loop",),
    "langgraph_no_checkpoints": ("langgraph_loop", "--no-checkpoints"),
}


@dataclass(frozen=True)
class Cost:
    """Measurements of one process."""

    cpu_ms_per_step: float
    wall_ms_per_step: float
    n_bytes_per_run: float
    versions: dict[str, str]


def main() -> None:
    started, cpu = time.perf_counter(), os.times()
    python = peers_python()
    loops = LOOPS if python else {"hearth": LOOPS["hearth"]}
    rounds: dict[str, dict[str, list[Cost]]] = {f"{n}_tools": {name: [] for name in loops} for n in N_TOOLS}
    for number in range(N_ROUNDS):
        for n_tools in N_TOOLS:
            for name in loops:
                print(f"round {number + 1} of {N_ROUNDS}: {name}, {n_tools} tools", file=sys.stderr)
                rounds[f"{n_tools}_tools"][name].append(run_loop(name, python, N_STEPS, n_tools, N_RUNS))
    records = {
        name: {str(n): round(run_loop(name, python, n, 1, N_RECORD_RUNS).n_bytes_per_run) for n in RECORD_STEPS}
        for name in ("hearth", "langgraph_sqlite")
        if name in loops
    }
    results = {
        "cpu_ms_per_step": _table(rounds, lambda costs: statistics.median(c.cpu_ms_per_step for c in costs)),
        "wall_ms_per_step": _table(rounds, lambda costs: statistics.median(c.wall_ms_per_step for c in costs)),
        "cpu_ratio_hearth_to": {
            tools: {
                name: round(
                    statistics.median(h.cpu_ms_per_step / c.cpu_ms_per_step for h, c in zip(by["hearth"], costs)), 3
                )
                for name, costs in by.items()
                if name != "hearth"
            }
            for tools, by in rounds.items()
        },
        "cpu_ms_per_step_by_round": {
            tools: {name: [round(c.cpu_ms_per_step, 3) for c in costs] for name, costs in by.items()}
            for tools, by in rounds.items()
        },
        "n_bytes_per_run_by_steps": records,
        "record_growth_10_to_80_steps": {name: round(sizes["80"] / sizes["10"], 2) for name, sizes in records.items()},
        "peers": _versions(rounds)
        if python
        else "not installed here: packages/hearth-bench/hearth_bench/measure/agent/peers/run.sh failed",
        "n_rounds": N_ROUNDS,
        "n_runs_per_round": N_RUNS,
        "n_steps": N_STEPS,
    }
    after = os.times()
    cpu_s = sum(after[:4]) - sum(cpu[:4])
    write_result("agent_loop", results, seed=0, cpu_s=cpu_s, wall_s=time.perf_counter() - started)


def _table(
    rounds: dict[str, dict[str, list[Cost]]], median: Callable[[list[Cost]], float]
) -> dict[str, dict[str, float]]:
    return {tools: {name: round(median(costs), 4) for name, costs in by.items()} for tools, by in rounds.items()}


def _versions(rounds: dict[str, dict[str, list[Cost]]]) -> dict[str, str]:
    costs = [cost for by in rounds.values() for each in by.values() for cost in each]
    return {name: number for cost in costs for name, number in cost.versions.items() if name != "hearth"}


def peers_python() -> Path | None:
    """Return the interpreter that has the peers, installing them on the first call; None if that is not possible
    here."""
    python = PEERS / ".venv" / "bin" / "python"
    own = str(Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}")
    if not python.exists() and subprocess.run([str(PEERS / "run.sh")], env={**os.environ, "PYTHON": own}).returncode:
        print("the peers cannot be installed here; measuring Hearth alone", file=sys.stderr)
        return None
    return python


def run_loop(name: str, python: Path | None, n_steps: int, n_tools: int, n_runs: int) -> Cost:
    """Run one loop in a process and return its measurements."""
    module, *options = LOOPS[name]
    interpreter = sys.executable if name == "hearth" else str(python)
    numbers = ["--steps", str(n_steps), "--tools", str(n_tools), "--runs", str(n_runs)]
    with tempfile.TemporaryDirectory() as folder:
        command = [
            interpreter,
            "-m",
            f"hearth_bench.measure.agent.peers.{module}",
            *options,
            *numbers,
            "--folder",
            folder,
        ]
        done = subprocess.run(command, capture_output=True, text=True, cwd=PEERS.parents[3])
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr}")
    cost = Cost(**json.loads(done.stdout.splitlines()[-1]))
    build = f"{sys.version} in {sys.base_prefix}"
    if cost.versions["python"] != build:
        other = cost.versions["python"]
        raise SystemExit(f"{name} runs on {other!r}, Hearth on {build!r}; remove {PEERS / '.venv'} and run again")
    return cost


if __name__ == "__main__":
    main()
