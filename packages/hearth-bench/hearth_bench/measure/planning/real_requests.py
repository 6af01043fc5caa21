"""Measure what the agent plans for requests that real people typed or said, on the tenth that nothing was taught from.

    python -m hearth_bench.measure.planning.real_requests [--part N] [--limit N] [--slips] [--bounds] [--keep FILE]
                                                          [--show KIND]

Needs `$HEARTH_DATA/requests`. Writes packages/hearth-bench/results/real_requests.json (with `--slips`, of the same
requests with slips of the hand, real_requests_slips.json). The agent's own `plan` in the
demo home; nothing is run. Of requests that a tool serves: `right` (a plan with an accepted tool that changes nothing
beside), `asked_rightly` (it asks back where the request lacks what the tool must know), `good` (both), `wrong`,
`acts_wrongly` (the plan changes or sends something that is not accepted), `refused`, `asked`. Of requests that no tool
serves: `refused` (good), `memory` (the owner's own memory is asked), `wrong`, `acts_wrongly`. Talk counts apart:
whatever changes nothing is good. Not covered: whether the arguments are right.

`reliability` holds how often plans of each confidence are good, in ten bins, and `ece`, their mean distance
(`ece_floor`: that of a perfect confidence with so few plans); talk left out. `plan_ms` and `plan_cpu_ms` are of one
plan. `--keep` writes each verdict, to be compared (`kept_verdicts`).

`--bounds` writes real_requests_bounds.json instead: beside the plan, the plan of the nearest demonstration copied
(`floor_nearest_copied`), the best of the first six candidates for the whole request, and the better of that and the
plan, which is what ranking them better could reach. It says little of requests that no tool serves, as refusing is
always among the candidates.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hearth.agent import Agent, shipped_demonstrations
from hearth.demo.demo_home import build_demo_home
from hearth.language.reading import read
from hearth.testing import FixedApprover
from hearth.types import Plan, Refusal, Request, ToolSpec
from hearth_bench.data.request_corpus import SOURCES, RealRequest, is_held_out, read_real_requests
from hearth_bench.data.typing_slips import with_slips
from hearth_bench.measure.kept_verdicts import Kept, kept_file, write_kept
from hearth_bench.measure.planning.ranking_bounds import Copies, first_candidates
from hearth_bench.measure.result_file import write_result
from hearth_bench.metrics.plan_metrics import calibration_error, calibration_floor, reliability_curve

NOW = dt.datetime.fromisoformat("2026-11-20T09:30:00+01:00")
KINDS = {"tool": "served_requests", "none": "unserved_requests", "chat": "talk"}
"""Kind of request → its name in the results."""
_N_RESAMPLED = 1000


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--part", type=int, default=0, help="the tenth to measure; 0 was never learned from")
    options.add_argument("--limit", type=int, help="at most so many of each source")
    options.add_argument("--slips", action="store_true", help="as typed in a hurry: see hearth_bench.data.typing_slips")
    options.add_argument("--bounds", action="store_true", help="a floor and an oracle beside the plans; takes longer")
    options.add_argument("--keep", type=kept_file, metavar="FILE", help="write the verdict on each request here")
    options.add_argument("--show", choices=("wrong", "refused", "unserved"), help="print what went so")
    chosen = options.parse_args()
    asked = _asked(chosen.part, chosen.limit)
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
            judged = _planned(agent, asked, chosen.show)
            bounds = _bounds(agent, list(zip(asked, judged))) if chosen.bounds else None
        finally:
            agent.close()
    if chosen.keep is not None:
        write_kept(chosen.keep, "real_requests", [_kept(one, planned) for one, planned in zip(asked, judged)])
    name = "real_requests_part"
    if chosen.part == 0 and chosen.limit is None:
        name = f"real_requests{'_slips' if chosen.slips else ''}{'_bounds' if chosen.bounds else ''}"
    results = _figures(asked, judged) if bounds is None else bounds
    write_result(name, results, seed=0, cpu_s=time.process_time() - cpu, wall_s=time.perf_counter() - started)


def _asked(part: int, limit: int | None) -> list[RealRequest]:
    """Return the requests of a tenth, at most so many of each source."""
    folder = Path(os.environ.get("HEARTH_DATA", "../shared/data")) / "requests"
    held = [one for one in read_real_requests(folder) if is_held_out(one, part) and one.kind != "either"]
    return [one for source in SOURCES for one in [a for a in held if a.source == source][:limit]]


def _figures(asked: Sequence[RealRequest], judged: Sequence[Planned]) -> dict[str, object]:
    """Return the shares of each source and of all, times, and how far the confidence is to be relied on."""
    pairs = [(one, planned.verdict) for one, planned in zip(asked, judged)]
    of_sources = {source: _summary([(one, v) for one, v in pairs if one.source == source]) for source in SOURCES}
    return {
        **of_sources,
        "all": _summary(pairs),
        "plan_ms": _quantiles([planned.ms for planned in judged]),
        "plan_cpu_ms": _quantiles([planned.cpu_ms for planned in judged]),
        "reliability": reliability(list(zip(asked, judged))),
    }


@dataclass(frozen=True, slots=True)
class Planned:
    """What was planned for one request."""

    verdict: str
    confidence: float | None
    """None where nothing is planned."""
    ms: float
    cpu_ms: float


def _planned(agent: Agent, asked: Sequence[RealRequest], show: str | None) -> list[Planned]:
    specs, judged = agent.tools.specs, []
    for number, one in enumerate(asked):
        begun, cpu = time.perf_counter(), time.process_time()
        answer = agent.plan(Request(one.text, NOW), specs)
        ms, cpu_ms = (time.perf_counter() - begun) * 1000, (time.process_time() - cpu) * 1000
        confidence = answer.confidence if isinstance(answer, Plan) else None
        verdict = judge(one, answer, specs)
        judged.append(Planned(verdict, confidence, ms, cpu_ms))
        if show and (verdict_of_interest := _is_shown(one, verdict, show)):
            said = [(s.tool, dict(s.arguments)) for s in answer.steps] if isinstance(answer, Plan) else answer.reason
            sure = f"{answer.confidence:.2f}" if isinstance(answer, Plan) else ""
            print(f"{verdict_of_interest} {one.source} {one.text!r} {one.accept[:2]} -> {sure} {said}", file=sys.stderr)
        if number % 200 == 199:
            print(f"{number + 1:,} of {len(asked):,}", file=sys.stderr)
    return judged


def _kept(one: RealRequest, planned: Planned) -> Kept:
    groups = {"kind": KINDS[one.kind], "source": f"{one.source}: {KINDS[one.kind]}"}
    is_harmful = planned.verdict == "acts_wrongly"
    return Kept(one.id, planned.verdict, is_good(one, planned.verdict), is_harmful, groups)


def _quantiles(times_ms: Sequence[float]) -> dict[str, float]:
    found = {"p50": 0.5, "p95": 0.95}
    return {name: round(float(np.quantile(times_ms, share)), 1) for name, share in found.items()} if times_ms else {}


def reliability(judged: Sequence[tuple[RealRequest, Planned]]) -> dict[str, object]:
    """Return how often plans of each confidence are good ends of their requests; talk and what is no plan left out."""
    rows = [
        (planned.confidence, is_good(one, planned.verdict))
        for one, planned in judged
        if planned.confidence is not None and one.kind != "chat"
    ]
    if not rows:
        return {"n": 0, "bins": {}}
    sure, good = [row[0] for row in rows], [row[1] for row in rows]
    bins = {
        f"{one['from']:.1f} to {one['to']:.1f}": {
            key: round(value, 4) if isinstance(value, float) else value
            for key, value in one.items()
            if key not in ("from", "to")
        }
        for one in reliability_curve(sure, good)
    }
    return {
        "n": len(rows),
        "ece": round(calibration_error(sure, good), 4),
        "ece_floor": round(calibration_floor(sure), 4),
        "bins": bins,
    }


def _bounds(agent: Agent, judged: Sequence[tuple[RealRequest, Planned]]) -> dict[str, object]:
    """Return the share of good ends of the plan, of the floor and of the oracles, by source and kind."""
    specs = agent.tools.specs
    copies = Copies(agent.encoder, shipped_demonstrations())
    context, taught = agent.context(), agent.recall.taught_words()
    rows: list[tuple[RealRequest, dict[str, bool]]] = []
    for one, planned in judged:
        copied = copies.plan(one.text)
        floor = judge(one, copied if copied.steps else Refusal("out_of_scope", "a taught refusal"), specs)
        said = read(Request(one.text, NOW), context, taught)
        first = [judge(one, answer, specs) for answer in first_candidates(agent.recall, said, specs)]
        is_planned, is_among = is_good(one, planned.verdict), any(is_good(one, verdict) for verdict in first)
        found = {
            "plan": is_planned,
            "floor_nearest_copied": is_good(one, floor),
            "oracle_best_of_six": is_among,
            "oracle_best_of_six_or_plan": is_among or is_planned,
        }
        rows.append((one, found))
    return {source: _shares([row for row in rows if source in ("all", row[0].source)]) for source in (*SOURCES, "all")}


def _shares(rows: Sequence[tuple[RealRequest, Mapping[str, bool]]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for kind, name in KINDS.items():
        mine = [bounds for one, bounds in rows if one.kind == kind]
        if mine:
            found[name] = {
                "n": len(mine),
                **{key: round(sum(one[key] for one in mine) / len(mine), 4) for key in mine[0]},
            }
    return found


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
    for kind, name in KINDS.items():
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
