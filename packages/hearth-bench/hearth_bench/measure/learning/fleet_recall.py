"""Measure how recall plans a simulated fleet's requests when taught by its owner or by all owners.

    python -m hearth_bench.measure.learning.fleet_recall [--edges 12] [--days 14]

Every edge lives day by day. Three students plan each request and are then taught the right plan, as if always asking:
`personal` is recall with the owner's demonstrations; `shared` one recall for all edges, which learns by night what all
were taught that day; `repeats` is the fleet's student (`fleet.repeat_index` with heads). Recall begins
with the shipped demonstrations. Results are the exact plans of each student alone, by stratum and for requests that use
a convention; and among the plans sure enough to run (recall: 0.7, its setting's default) the exact ones and those with
wrong side effects. Writes `packages/hearth-bench/results/fleet_recall.json`. Recall takes some 0.1 s a request: a
thousand edges would take hours.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hearth.agent import shipped_demonstrations
from hearth.cli.invocation import Progress
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.types import OWNERS_WORD, Context, Demonstration, Plan, Refusal, Request, ToolSpec
from hearth_bench.fleet.habits import Asked, Habit, owner_of
from hearth_bench.fleet.simulated_edge import STRATA, Cloud, Pupil, judged, stratum_of
from hearth_bench.fleet.simulation import Fleet
from hearth_bench.fleet.simulation_parts import Settings, device_of
from hearth_bench.measure.result_file import write_result
from hearth_bench.suites.q2a.q2a_suite import ASK_BELOW

WAYS = ("personal", "shared", "repeats")
KINDS = (*STRATA, "convention", "all")
LAST_DAYS = 5


@dataclass
class Tally:
    n: int = 0
    n_exact: int = 0
    n_sure: int = 0
    n_sure_exact: int = 0
    n_sure_harmful: int = 0
    cpu_s: float = field(default=0.0)

    def add(self, *, is_exact: bool, is_sure: bool, is_harmful: bool, cpu_s: float) -> None:
        self.n += 1
        self.n_exact += is_exact
        self.n_sure += is_sure
        self.n_sure_exact += is_exact and is_sure
        self.n_sure_harmful += is_harmful and is_sure
        self.cpu_s += cpu_s

    def shares(self) -> dict[str, float]:
        n, n_sure = max(self.n, 1), max(self.n_sure, 1)
        return {
            "n": self.n,
            "exact": round(self.n_exact / n, 4),
            "sure": round(self.n_sure / n, 4),
            "exact_of_sure": round(self.n_sure_exact / n_sure, 4),
            "wrong_side_effect_of_sure": round(self.n_sure_harmful / n_sure, 4),
            "cpu_ms": round(1e3 * self.cpu_s / n, 2),
        }


@dataclass
class Edge:
    """Device of one owner: the requests still to come, and its own students."""

    life: itertools.chain[Asked]
    context: Context
    tools: Mapping[str, ToolSpec]
    recall: RecallPlanner
    pupil: Pupil


def recalled(recall: RecallPlanner, asked: Asked, edge: Edge) -> tuple[Plan | None, bool]:
    """Return recall's plan (empty if it refuses), and whether it is sure."""
    answer = recall.plan(Request(asked.wording.text, asked.now, "fleet"), edge.context, edge.tools)
    if isinstance(answer, Refusal):
        return Plan(()), answer.planner == OWNERS_WORD
    return answer, answer.confidence >= ASK_BELOW and not answer.unserved


def is_harmful(plan: Plan | None, right: Plan, tools: Mapping[str, ToolSpec]) -> bool:
    """Return whether a plan changes or sends something with a tool that the right plan uses less often."""
    effects = (s.tool for s in (plan.steps if plan else ()) if s.tool in tools and tools[s.tool].effect != "none")
    return bool(Counter(effects) - Counter(step.tool for step in right.steps))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m hearth_bench.measure.learning.fleet_recall", description="Recall in a fleet's lives."
    )
    parser.add_argument("--edges", type=int, default=12)
    parser.add_argument("--days", type=int, default=14)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    started, cpu, progress = time.perf_counter(), time.process_time(), Progress(sys.stderr)
    encoder = MiniLMEncoder.open()
    tallies = {(way, kind, is_last): Tally() for way in WAYS for kind in KINDS for is_last in (False, True)}
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(Settings(options.edges, Habit(seed=options.seed, n_variants=6)), Path(folder))
        ground = fleet.ground(encoder, progress)
        shared = RecallPlanner(encoder)
        shared.add(shipped_demonstrations())
        edges = []
        for number in range(options.edges):
            persona = fleet.personas[owner_of(number, fleet.settings.habit).persona]
            life = ground.life(number)
            first = next(life)
            known = persona.world.known(first.now)
            recall = RecallPlanner(encoder)
            recall.add(shipped_demonstrations())
            pupil = Pupil(ground.texts, device_of(number))
            edges.append(Edge(itertools.chain([first], life), known, persona.world.specs, recall, pupil))
        with progress.stage("Days", options.days) as advance:
            for day in range(options.days):
                is_last = day >= options.days - LAST_DAYS
                learnt = [
                    one
                    for number, edge in enumerate(edges)
                    for one in lived(day, number, edge, shared, tallies, is_last=is_last)
                ]
                shared.add(learnt)
                advance(1)
    results = {
        part: {way: {kind: told(tallies, way, kind, is_last) for kind in KINDS} for way in WAYS}
        for part, is_last in (("all_days", None), (f"last_{LAST_DAYS}_days", True))
    }
    cpu_s, wall_s = time.process_time() - cpu, time.perf_counter() - started
    of = {"n_edges": options.edges, "n_days": options.days}
    write_result("fleet_recall", of | results, seed=options.seed, cpu_s=cpu_s, wall_s=wall_s)
    return 0


def lived(
    day: int,
    number: int,
    edge: Edge,
    shared: RecallPlanner,
    tallies: Mapping[tuple[str, str, bool], Tally],
    *,
    is_last: bool,
) -> list[Demonstration]:
    """Simulate one day of an edge and return what it was taught."""
    learnt: list[Demonstration] = []
    edge.pupil.sleep()
    for asked in edge.life:
        if asked.day > day:
            edge.life = itertools.chain([asked], edge.life)
            break
        kinds = (STRATA[stratum_of(asked, edge.pupil)], "all", *(["convention"] if asked.is_convention else []))
        right, text = asked.plan or Plan(()), asked.wording.text
        at = time.process_time()
        found = {"personal": recalled(edge.recall, asked, edge)}
        after_own = time.process_time()
        found["shared"] = recalled(shared, asked, edge)
        after_shared = time.process_time()
        best = edge.pupil.propose(asked)
        found["repeats"] = (best.plan if best else None, best is not None and best.sureness >= Cloud().sure)
        took = (after_own - at, after_shared - after_own, time.process_time() - after_shared)
        for (way, (plan, is_sure)), cpu_s in zip(found.items(), took, strict=True):
            exact, harm = judged(plan, asked).exact, is_harmful(plan, right, edge.tools)
            for kind in kinds:
                tallies[way, kind, is_last].add(is_exact=exact, is_sure=is_sure, is_harmful=harm, cpu_s=cpu_s)
        one = Demonstration(f"fleet {number} {day} {len(learnt)}", text, right, source="owner", now=asked.now)
        edge.pupil.told(asked, right, best, one.id)
        edge.recall.add([one])
        learnt.append(one)
    return learnt


def told(tallies: Mapping[tuple[str, str, bool], Tally], way: str, kind: str, is_last: bool | None) -> dict[str, float]:
    """Return the shares over the last days, or over all days."""
    whole = Tally()
    for wanted in (True,) if is_last else (False, True):
        one = tallies[way, kind, wanted]
        whole.n, whole.n_exact, whole.n_sure = whole.n + one.n, whole.n_exact + one.n_exact, whole.n_sure + one.n_sure
        whole.n_sure_exact += one.n_sure_exact
        whole.n_sure_harmful += one.n_sure_harmful
        whole.cpu_s += one.cpu_s
    return whole.shares()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
