"""Measure the time that the metrics of 10,000 plans take, and the memory that a million lines of plans take.

`python -m hearth_bench.measure.planning.speed.metric_speed`. The plans are made up by seed. Targets: at most 5 s, and
at most 300 MB.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from hearth.formats.plans import plan_from_json, read_tools
from hearth.types import ToolSpec
from hearth_bench.data.datasets import gold_of, stream_plans
from hearth_bench.measure.result_file import write_result
from hearth_bench.metrics.argument_f1 import argument_scores
from hearth_bench.metrics.plan_metrics import plan_scores
from hearth_bench.metrics.taskbench import count_plan, taskbench_scores
from hearth_bench.run_record import Stopwatch, peak_rss_bytes

N_PLANS = 10_000
N_LINES = 1_000_000
N_TOOLS = 40
TEXT = "find the latest video of a room then tell family about dinner plans for tomorrow evening with all of them"
WORDS = tuple(dict.fromkeys(TEXT.split()))


def made_up(drawn: random.Random, number: int) -> dict[str, Any]:
    """Make up a plan of one to six steps with arguments and references."""
    n = drawn.randint(1, 6)
    nodes = []
    for k in range(n):
        arguments = [{"name": f"p{j}", "value": drawn.choice(WORDS)} for j in range(drawn.randint(0, 3))]
        if k and drawn.random() < 0.6:
            arguments.append({"name": "from", "value": f"<node-{drawn.randrange(k)}>"})
        nodes.append({"task": f"tool_{drawn.randrange(N_TOOLS)}", "arguments": arguments})
    links = [{"source": nodes[k - 1]["task"], "target": nodes[k]["task"]} for k in range(1, n)]
    steps = [" ".join(drawn.choices(WORDS, k=drawn.randint(4, 12))) for _ in range(n)]
    request = " ".join(drawn.choices(WORDS, k=12))
    return {"id": str(number), "user_request": request, "task_steps": steps, "task_nodes": nodes, "task_links": links}


def time_metrics(seed: int) -> dict[str, float]:
    """Return the seconds of each group over all plans, without reading them."""
    drawn = random.Random(seed)
    golds = [made_up(drawn, k) for k in range(N_PLANS)]
    predictions = [gold if drawn.random() < 0.3 else made_up(drawn, 0) for gold in golds]
    names = [f"tool_{k}" for k in range(N_TOOLS)]
    tools = {name: ToolSpec(name, name) for name in names}
    plans = [(plan_from_json(p), plan_from_json(g)) for p, g in zip(predictions, golds)]
    right = [gold_of(g) for _, g in plans]
    graphs = [gold_of(p).graph for p, _ in plans]
    links = {(a, b) for a in names for b in names[:20]}
    laps: dict[str, float] = {}
    started = time.perf_counter()
    plan_scores(graphs, [g.graph for g in right], set(names), links)
    laps["tool_invocation_s"] = time.perf_counter() - started
    started = time.perf_counter()
    argument_scores([p.steps for p, _ in plans], [g.calls for g in right], tools)
    laps["parameter_prediction_s"] = time.perf_counter() - started
    started = time.perf_counter()
    counted = [count_plan(p) for p in predictions], [count_plan(g) for g in golds]
    taskbench_scores(*counted, names)
    laps["taskbench_with_rouge_s"] = time.perf_counter() - started
    return {**{name: round(s, 3) for name, s in laps.items()}, "all_s": round(sum(laps.values()), 3)}


def stream(path: Path, tools: Path) -> None:
    """Read all lines, and print their number and the peak memory."""
    n = sum(1 for _ in stream_plans(path, read_tools(tools)))
    print(json.dumps({"n_lines": n, "peak_rss_bytes": peak_rss_bytes()}))


def measure_stream(seed: int) -> dict[str, float]:
    drawn = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path, tools = Path(folder) / "plans.jsonl", Path(folder) / "tool_desc.json"
        tools.write_text(json.dumps({"nodes": [{"id": f"tool_{k}"} for k in range(N_TOOLS)]}))
        lines = [json.dumps(made_up(drawn, 0)) for _ in range(1_000)]
        with path.open("w") as file:
            for k in range(N_LINES):
                file.write(lines[k % len(lines)].replace('"id": "0"', f'"id": "{k}"', 1) + "\n")
        started = time.perf_counter()
        command = [sys.executable, "-m", "hearth_bench.measure.planning.speed.metric_speed", str(path), str(tools)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        seconds = round(time.perf_counter() - started, 1)
        return {**found, "file_bytes": path.stat().st_size, "seconds": seconds}


def main() -> None:
    if len(sys.argv) == 3:
        stream(Path(sys.argv[1]), Path(sys.argv[2]))
        return
    watch, seed = Stopwatch(), 0
    results = {"n_plans": N_PLANS, "metrics": time_metrics(seed), "stream": measure_stream(seed)}
    write_result("plan_metrics", results, seed=seed, cpu_s=watch.read()["cpu_s"], wall_s=watch.read()["wall_s"])


if __name__ == "__main__":
    main()
