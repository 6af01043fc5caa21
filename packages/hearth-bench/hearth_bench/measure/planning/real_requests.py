"""Measure what the agent plans for requests that real people typed or said, on the tenth that nothing was taught from.

    python -m hearth_bench.measure.planning.real_requests [--part N] [--limit N] [--slips] [--show KIND]

Needs `$HEARTH_DATA/requests`. Writes packages/hearth-bench/results/real_requests.json (with `--slips`, of the same
requests with slips of the hand, real_requests_slips.json). The agent's own `plan` in the
demo home; nothing is run. Of requests that a tool serves: `right` (a plan with an accepted tool that changes nothing
beside), `asked_rightly` (it asks back where the request lacks what the tool must know), `good` (both), `wrong`,
`acts_wrongly` (the plan changes or sends something that is not accepted), `refused`, `asked`. Of requests that no tool
serves: `refused` (good), `memory` (the owner's own memory is asked), `wrong`, `acts_wrongly`. Talk counts apart:
whatever changes nothing is good. Not covered: whether the arguments are right.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from hearth.agent import Agent
from hearth.demo.demo_home import build_demo_home
from hearth.testing import FixedApprover
from hearth.types import Plan, Refusal, Request, ToolSpec
from hearth_bench.data.request_corpus import SOURCES, RealRequest, is_held_out, read_real_requests
from hearth_bench.data.typing_slips import with_slips
from hearth_bench.measure.result_file import write_result

NOW = dt.datetime.fromisoformat("2026-11-20T09:30:00+01:00")
_N_RESAMPLED = 1000


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--part", type=int, default=0, help="the tenth to measure; 0 was never learned from")
    options.add_argument("--limit", type=int, help="at most so many of each source")
    options.add_argument("--slips", action="store_true", help="as typed in a hurry: see hearth_bench.data.typing_slips")
    options.add_argument("--show", choices=("wrong", "refused", "unserved"), help="print what went so")
    chosen = options.parse_args()
    folder = Path(os.environ.get("HEARTH_DATA", "../shared/data")) / "requests"
    asked = [one for one in read_real_requests(folder) if is_held_out(one, chosen.part) and one.kind != "either"]
    asked = [one for source in SOURCES for one in [a for a in asked if a.source == source][: chosen.limit]]
    if chosen.slips:
        asked = [replace(one, text=with_slips(one.text)) for one in asked]
    started, cpu = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder_name:
        home = Path(folder_name) / "home"
        build_demo_home(home, NOW)
        agent = Agent.open(home, FixedApprover(answer=False), environ=os.environ, clock=lambda: NOW)
        try:
            for _ in agent.learn_shipped():
                pass
            judged, times_ms = _planned(agent, asked, chosen.show)
        finally:
            agent.close()
    pairs = list(zip(asked, judged))
    results = {source: _summary([(one, v) for one, v in pairs if one.source == source]) for source in SOURCES}
    results["all"] = _summary(pairs)
    results["plan_ms"] = {
        "p50": round(float(np.median(times_ms)), 1),
        "p95": round(float(np.quantile(times_ms, 0.95)), 1),
    }
    is_whole = chosen.part == 0 and chosen.limit is None
    name = ("real_requests_slips" if chosen.slips else "real_requests") if is_whole else "real_requests_part"
    write_result(name, results, seed=0, cpu_s=time.process_time() - cpu, wall_s=time.perf_counter() - started)


def _planned(agent: Agent, asked: Sequence[RealRequest], show: str | None) -> tuple[list[str], list[float]]:
    specs, judged, times_ms = agent.tools.specs, [], []
    for number, one in enumerate(asked):
        begun = time.perf_counter()
        answer = agent.plan(Request(one.text, NOW), specs)
        times_ms.append((time.perf_counter() - begun) * 1000)
        judged.append(judge(one, answer, specs))
        if show and (verdict_of_interest := _is_shown(one, judged[-1], show)):
            said = [(s.tool, dict(s.arguments)) for s in answer.steps] if isinstance(answer, Plan) else answer.reason
            sure = f"{answer.confidence:.2f}" if isinstance(answer, Plan) else ""
            print(f"{verdict_of_interest} {one.source} {one.text!r} {one.accept[:2]} -> {sure} {said}", file=sys.stderr)
        if number % 200 == 199:
            print(f"{number + 1:,} of {len(asked):,}", file=sys.stderr)
    return judged, times_ms


def judge(one: RealRequest, answer: Plan | Refusal, specs: Mapping[str, ToolSpec]) -> str:
    """Return `right`, `asked_rightly`, `asked`, `refused`, `memory`, `wrong` or `acts_wrongly`."""
    if isinstance(answer, Refusal):
        if answer.kind == "needs":
            return "asked_rightly" if one.kind == "tool" and one.asks else "asked"
        return "refused"
    tools = [step.tool for step in answer.steps]
    acts = {tool for tool in tools if specs[tool].effect != "none"} - set(one.accept)
    if acts:
        return "acts_wrongly"
    if one.kind == "tool":
        return "right" if set(tools) & set(one.accept) else "wrong"
    if one.kind == "chat" or set(tools) <= set(one.accept):
        return "right"
    return "memory" if set(tools) <= {"search_memory", "find_answer"} else "wrong"


def is_good(one: RealRequest, verdict: str) -> bool:
    """Return whether a verdict is a good end of a request: one that a tool serves, none serves, or that is talk."""
    return verdict in (("right", "asked_rightly") if one.kind == "tool" else ("right", "refused"))


def _is_shown(one: RealRequest, verdict: str, show: str) -> str:
    is_served = one.kind == "tool"
    if show == "unserved":
        return verdict if not is_served and verdict not in ("refused", "right") else ""
    wanted = ("wrong", "acts_wrongly", "memory") if show == "wrong" else ("refused", "asked")
    return verdict if is_served and verdict in wanted else ""


def _summary(judged: Sequence[tuple[RealRequest, str]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for kind, name in (("tool", "served_requests"), ("none", "unserved_requests"), ("chat", "talk")):
        mine = [(one, verdict) for one, verdict in judged if one.kind == kind]
        verdicts = [verdict for _, verdict in mine]
        if not verdicts:
            continue
        share: dict[str, object] = {"n": len(verdicts)}
        for verdict in ("right", "asked_rightly", "asked", "refused", "memory", "wrong", "acts_wrongly"):
            share[verdict] = round(verdicts.count(verdict) / len(verdicts), 4)
        good = np.array([is_good(one, verdict) for one, verdict in mine], dtype=float)
        drawn = np.random.default_rng(0).integers(0, len(good), (_N_RESAMPLED, len(good)))
        interval = np.quantile(good[drawn].mean(axis=1), (0.025, 0.975))
        share["good"] = round(float(good.mean()), 4)
        share["good_interval_95"] = [round(float(end), 4) for end in interval]
        found[name] = share
    return found


if __name__ == "__main__":
    main()
