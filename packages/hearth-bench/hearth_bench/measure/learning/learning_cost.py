"""Measure what learning costs a home: one example that counts from the next request on, and 300 learnt at once.

    python -m hearth_bench.measure.learning.learning_cost [--examples N] [--learnt N]

Writes packages/hearth-bench/results/learning_cost.json (nothing where a number of its own is given). A fresh demo home
that knows what ships; the examples are the project's own requests with their right plans.

* `one_example_cpu_ms`: each example is asked, then corrected as `hearth correct` does. What is put off to the next
  request counts, too: the same request is planned twice afterwards, and what the first of them takes longer is added.
  `corrected_cpu_ms` and `put_off_cpu_ms` are the two parts.
* `learnt_300_cpu_s`: 300 examples are read, kept and solved, until the first request is planned.
* `gate_300_cpu_s`: the same as `hearth learn` does it, with the gate that first tries what it would plan with them.

Not covered: memory; what an example changes (`correction_reach`), or is worth (`lifelong`).
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from hearth.agent import Agent
from hearth.demo.demo_home import build_demo_home
from hearth.errors import PlanError
from hearth.formats.plans import check_plan, read_demonstrations
from hearth.learning.corrections import correct
from hearth.learning.versions.learned_state import Offer, State
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.protocols import Encoder
from hearth.registry import load_tools
from hearth.testing import FixedApprover
from hearth.types import Demonstration
from hearth_bench.measure.result_file import OWN_DATA, write_result

NOW = dt.datetime.fromisoformat("2026-11-20T09:30:00+01:00")
N_EXAMPLES, N_LEARNT = 20, 300
FILES = ("varied_requests.jsonl", "week_requests.jsonl")
ASKED = {"one_example_cpu_ms/p50": 50.0, "learnt_300_cpu_s": 1.0, "gate_300_cpu_s": 1.0}
_PLANNED = "remind me to call the plumber tomorrow at nine"
"""It has values: to read them, how arguments are said is counted over what was learnt."""


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--examples", type=_count, default=N_EXAMPLES, help="how many are corrected one by one")
    options.add_argument("--learnt", type=_count, default=N_LEARNT, help="how many are learnt at once")
    chosen = options.parse_args()
    started, cpu = time.perf_counter(), time.process_time()
    encoder = MiniLMEncoder.open()
    results: dict[str, object] = {"asked": ASKED, "n_examples": chosen.examples, "n_learnt": chosen.learnt}
    with tempfile.TemporaryDirectory() as name:
        examples = taken(chosen.examples + chosen.learnt, fresh_home(Path(name) / "one", encoder))
        one_by_one, at_once = examples[: chosen.examples], examples[chosen.examples :]
        results |= corrected_one_by_one(Path(name) / "one", encoder, one_by_one)
        fresh_home(Path(name) / "many", encoder)
        results["learnt_300_cpu_s"] = learnt_at_once(Path(name) / "many", encoder, at_once)
        fresh_home(Path(name) / "gate", encoder)
        results |= let_in_at_once(Path(name) / "gate", encoder, at_once)
    if (chosen.examples, chosen.learnt) == (N_EXAMPLES, N_LEARNT):
        write_result(
            "learning_cost", results, seed=0, cpu_s=time.process_time() - cpu, wall_s=time.perf_counter() - started
        )
    else:
        print(json.dumps(results, indent=2))


def _count(text: str) -> int:
    if not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of examples; give one from 1 on")
    return int(text)


def fresh_home(home: Path, encoder: Encoder) -> Path:
    """Make a demo home that knows what ships."""
    build_demo_home(home, NOW)
    agent = _opened(home, encoder)
    for _ in agent.learn_shipped():
        pass
    agent.close()
    return home


def _opened(home: Path, encoder: Encoder) -> Agent:
    return Agent.open(home, FixedApprover(answer=False), environ=os.environ, clock=lambda: NOW, encoder=encoder)


def taken(n: int, home: Path) -> list[Demonstration]:
    """Return the first `n` own requests whose right plan can be run. Raises: ValueError: There are fewer."""
    specs = load_tools(home).specs
    found: list[Demonstration] = []
    for name in FILES:
        for one in read_demonstrations(OWN_DATA / name):
            try:
                steps = check_plan(one.plan, specs).steps
            except PlanError:
                continue
            if steps:
                found.append(replace(one, id=f"cost:{len(found)}", source="owner", now=one.now or NOW))
    if len(found) < n:
        raise ValueError(f"{n} examples wanted, and {' and '.join(FILES)} hold {len(found)}; ask for fewer")
    return found[:n]


def corrected_one_by_one(home: Path, encoder: Encoder, examples: Sequence[Demonstration]) -> dict[str, object]:
    """Correct one request after another, as its owner would; CPU milliseconds of each."""
    agent = _opened(home, encoder)
    try:
        state = State.open(agent.home, encoder, Offer(agent.tools.specs), store=agent.store)
        corrected_ms, put_off_ms = [], []
        for one in examples:
            episode = agent.run(agent.request(one.request))
            begun = time.process_time()
            correct(state, agent.recall, episode, one.plan, agent.tools.specs)
            corrected_ms.append((time.process_time() - begun) * 1000)
            first, again = _plan_cpu_s(agent), _plan_cpu_s(agent)
            put_off_ms.append(max(first - again, 0.0) * 1000)
    finally:
        agent.close()
    whole_ms = [a + b for a, b in zip(corrected_ms, put_off_ms, strict=True)]
    return {
        "one_example_cpu_ms": _quantiles(whole_ms),
        "corrected_cpu_ms": _quantiles(corrected_ms),
        "put_off_cpu_ms": _quantiles(put_off_ms),
    }


def _plan_cpu_s(agent: Agent) -> float:
    request = agent.request(_PLANNED)
    begun = time.process_time()
    agent.plan(request, agent.tools.specs)
    return time.process_time() - begun


def _quantiles(values: Sequence[float]) -> dict[str, float]:
    return {name: round(float(np.quantile(values, share)), 1) for name, share in (("p50", 0.5), ("p95", 0.95))}


def learnt_at_once(home: Path, encoder: Encoder, examples: Sequence[Demonstration]) -> float:
    """Read, keep and solve examples, until the next request is planned; CPU seconds without that plan."""
    agent = _opened(home, encoder)
    try:
        _plan_cpu_s(agent)  # opens what the first plan opens
        begun = time.process_time()
        agent.recall.add(examples)
        learnt_s = time.process_time() - begun
        first, again = _plan_cpu_s(agent), _plan_cpu_s(agent)
    finally:
        agent.close()
    return round(learnt_s + max(first - again, 0.0), 2)


def let_in_at_once(home: Path, encoder: Encoder, examples: Sequence[Demonstration]) -> dict[str, object]:
    """Learn examples as `hearth learn` does, behind a first version of what ships; CPU seconds, and the gate's word."""
    agent = _opened(home, encoder)
    try:
        state = State.open(agent.home, encoder, Offer(agent.tools.specs), store=agent.store)
        state.learn()
        begun = time.process_time()
        report = state.learn(examples)
        cpu_s = time.process_time() - begun
    finally:
        agent.close()
    reason = report.verdict.reason if report.verdict is not None else ""
    return {
        "gate_300_cpu_s": round(cpu_s, 2),
        "gate": {"is_let_in": report.version is not None, "n_learnt": report.n_learnt, "reason": reason},
    }


if __name__ == "__main__":
    main()
