"""Measure planning by recall with 10,000 demonstrations and 10,000 tools, and how fast a home with them starts.

    python -m hearth_bench.measure.planning.speed.recall_at_size  writes packages/hearth-bench/results/planning.json

The 10,000 demonstrations are the shipped ones with one or two words replaced by the seed, so that their forms and
shapes are real; the 10,000 tools are invented by the seed beside the real ones. Requests are the held-out ones. Latency
is wall time of `RecallPlanner.plan` alone, encoding included, one request after another.
"""

from __future__ import annotations

import datetime as dt
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from hearth.agent import shipped_demonstrations
from hearth.config import cache_folder
from hearth.formats.plans import read_demonstrations, tool_to_json
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.registry import load_tools
from hearth.storage.database import Store
from hearth.types import Context, Demonstration, Parameter, Request, ToolSpec
from hearth_bench.measure.result_file import OWN_DATA, write_result

SEED = 20261120
N_DEMONSTRATIONS = 10_000
N_TOOLS = 10_000
N_STARTS = 5
WORDS = [
    "kitchen",
    "garden",
    "invoice",
    "bicycle",
    "letter",
    "museum",
    "engine",
    "blanket",
    "violin",
    "ladder",
    "orchard",
    "passport",
    "lantern",
    "bakery",
    "harbour",
    "carpet",
    "pencil",
    "mirror",
    "saddle",
    "window",
    "ticket",
    "basket",
    "hammer",
    "pillow",
    "bottle",
    "guitar",
    "tunnel",
    "rocket",
    "spring",
    "river",
    "meadow",
]
VERBS = [
    "open",
    "close",
    "start",
    "stop",
    "list",
    "check",
    "clean",
    "paint",
    "move",
    "count",
    "weigh",
    "print",
    "sort",
    "pack",
    "lock",
    "rent",
]
START = """\
import sys, time
started = time.perf_counter()
from pathlib import Path
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.formats.plans import read_tools
from hearth.storage.database import Store
from hearth.types import Context, Request
import datetime as dt
import json
tools = read_tools(Path(sys.argv[2]))
planner = RecallPlanner(MiniLMEncoder.open(), Store.open(Path(sys.argv[1])), Path(sys.argv[3]))
opened = time.perf_counter()
now = dt.datetime.fromisoformat("2026-11-20T09:30:00+01:00")
planner.plan(Request("remind me to water the plants tomorrow at nine", now), Context(), tools)
print(opened - started, time.perf_counter() - started)
"""


def main() -> None:
    started, cpu = time.perf_counter(), time.process_time()
    specs = load_tools(None).specs
    held_out = list(read_demonstrations(OWN_DATA / "held_out_requests.jsonl"))
    many_tools = {**specs, **invented_tools(N_TOOLS - len(specs))}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hearth.db"
        with Store.open(path) as store:
            planner = RecallPlanner(MiniLMEncoder.open(), store, cache_folder())
            planner.add(shipped_demonstrations())
            shipped = latency(planner, held_out, specs)
            tools_cold_s, _ = timed(planner, held_out[0], many_tools)
            with_tools = latency(planner, held_out, many_tools)
            planner.add(invented_demonstrations(N_DEMONSTRATIONS - len(planner)))
            full = latency(planner, held_out, specs)
            both = latency(planner, held_out, many_tools)
            one = replace(held_out[0], id="one-more")
            before = time.perf_counter()
            planner.add([one])
            add_ms = (time.perf_counter() - before) * 1000
        starts = [start(path, many_tools, Path(folder)) for _ in range(N_STARTS)]
    results = {
        "shipped_demonstrations": shipped,
        f"{N_DEMONSTRATIONS}_demonstrations": full,
        f"{N_TOOLS}_tools": with_tools,
        f"{N_DEMONSTRATIONS}_demonstrations_{N_TOOLS}_tools": both,
        "first_plan_ever_with_new_tools_s": round(tools_cold_s, 2),
        "start_p50_s": round(statistics.median(s[0] for s in starts), 3),
        "start_and_first_plan_p50_s": round(statistics.median(s[1] for s in starts), 3),
        "add_one_demonstration_ms": round(add_ms, 2),
        "n_shipped": len(shipped_demonstrations()),
    }
    write_result("planning", results, seed=SEED, cpu_s=time.process_time() - cpu, wall_s=time.perf_counter() - started)


def latency(planner: RecallPlanner, requests: Sequence[Demonstration], specs: Mapping[str, ToolSpec]) -> object:
    for request in requests[:10]:
        timed(planner, request, specs)
    taken = sorted(timed(planner, request, specs) for request in requests)
    wall = [w for w, _ in taken]
    return {
        "p50_ms": round(statistics.median(wall) * 1000, 2),
        "p95_ms": round(wall[int(len(wall) * 0.95)] * 1000, 2),
        "cpu_p50_ms": round(statistics.median(c for _, c in taken) * 1000, 2),
    }


def timed(planner: RecallPlanner, line: Demonstration, specs: Mapping[str, ToolSpec]) -> tuple[float, float]:
    """Return the wall and CPU seconds of one plan."""
    now = line.now or dt.datetime.fromisoformat("2026-11-20T09:30:00+01:00")
    wall, cpu = time.perf_counter(), time.process_time()
    planner.plan(Request(line.request, now), Context(country="DE"), specs)
    return time.perf_counter() - wall, time.process_time() - cpu


def invented_demonstrations(n: int) -> list[Demonstration]:
    """Make shipped demonstrations with one or two words replaced, in the request and the arguments alike."""
    chance = random.Random(SEED)
    made = []
    for number in range(n):
        one = chance.choice(shipped_demonstrations())
        words = [w for w in re.findall(r"[a-z]{5,}", one.request) if one.request.count(w) == 1]
        request, steps = one.request, one.plan.steps
        for old in chance.sample(words, min(2, len(words))):
            new = chance.choice(WORDS)
            request = request.replace(old, new)
            steps = tuple(
                replace(
                    s, arguments={k: v.replace(old, new) if isinstance(v, str) else v for k, v in s.arguments.items()}
                )
                for s in steps
            )
        made.append(replace(one, id=f"invented-{number}", request=request, plan=replace(one.plan, steps=steps)))
    return made


def invented_tools(n: int) -> dict[str, ToolSpec]:
    chance = random.Random(SEED)
    tools: dict[str, ToolSpec] = {}
    while len(tools) < n:
        verb, first, second = chance.choice(VERBS), chance.choice(WORDS), chance.choice(WORDS)
        name = f"{verb}_{first}_{second}_{len(tools)}"
        text = f"{verb.capitalize()} the {first} of the {second}."
        tools[name] = ToolSpec(name, text, (Parameter(second, "text", f"Which {second}."),), "text")
    return tools


def start(path: Path, tools: Mapping[str, ToolSpec], folder: Path) -> tuple[float, float]:
    """Return the seconds until a fresh process has opened the planner, and until it has made its first plan."""
    file = folder / "tool_desc.json"
    if not file.exists():
        file.write_text(json.dumps({"nodes": [tool_to_json(spec) for spec in tools.values()]}))
    command = [sys.executable, "-c", START, str(path), str(file), str(cache_folder())]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    opened, planned = map(float, ran.stdout.split())
    return opened, planned


if __name__ == "__main__":
    main()
