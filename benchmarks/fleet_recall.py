"""The same lives with Hearth's recall planner: what it plans of a fleet's requests beside `planning.repeating`.

    python -m benchmarks.fleet_recall [--edges 6] [--requests 90]

Each edge's owner is lived for so many requests; both students are taught the right plan of every request after it was
planned (always asking), recall begins with the shipped demonstrations. Counted are exact plans of each alone, by
stratum, and of the plans sure enough to run (recall: 0.7, its setting's default) how many are exact. Writes
`benchmarks/results/fleet_recall.json`. Recall takes some 0.1 s a request: a thousand edges with it would take hours.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.record import write_result
from hearth.agent import shipped_demonstrations
from hearth.bench.fleet import Fleet
from hearth.bench.fleet_edge import STRATA, Cloud, Pupil, judged, stratum_of
from hearth.bench.fleet_habits import Asked, Habit, owner_of
from hearth.bench.fleet_parts import Settings, device_of
from hearth.bench.progress import Progress
from hearth.bench.suites.q2a import ASK_BELOW
from hearth.models.encoder import MiniLMEncoder
from hearth.planning.recall import OWNERS_WORD, RecallPlanner
from hearth.types import Context, Demonstration, Plan, Refusal, Request, ToolSpec


@dataclass
class Tally:
    n: int = 0
    n_exact: int = 0
    n_sure: int = 0
    n_sure_exact: int = 0
    cpu_s: float = field(default=0.0)

    def add(self, *, is_exact: bool, is_sure: bool, cpu_s: float) -> None:
        self.n += 1
        self.n_exact += is_exact
        self.n_sure += is_sure
        self.n_sure_exact += is_exact and is_sure
        self.cpu_s += cpu_s

    def shares(self) -> dict[str, float]:
        n = max(self.n, 1)
        return {
            "n": self.n,
            "exact": round(self.n_exact / n, 4),
            "sure": round(self.n_sure / n, 4),
            "exact_of_sure": round(self.n_sure_exact / max(self.n_sure, 1), 4),
            "cpu_ms": round(1e3 * self.cpu_s / n, 2),
        }


def recalled(
    recall: RecallPlanner, asked: Asked, context: Context, tools: dict[str, ToolSpec]
) -> tuple[Plan | None, bool]:
    """What recall plans (an empty plan: it refuses), and whether that is sure."""
    answer = recall.plan(Request(asked.wording.text, asked.now, "fleet"), context, tools)
    if isinstance(answer, Refusal):
        return Plan(()), answer.planner == OWNERS_WORD
    return answer, answer.confidence >= ASK_BELOW and not answer.unserved


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet_recall", description="Recall in a fleet's lives.")
    parser.add_argument("--edges", type=int, default=6)
    parser.add_argument("--requests", type=int, default=90, help="of each edge")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    started, cpu, progress = time.perf_counter(), time.process_time(), Progress(sys.stderr)
    encoder = MiniLMEncoder.open()
    tallies = {(name, stratum): Tally() for name in ("recall", "repeats") for stratum in (*STRATA, "all")}
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(Settings(options.edges, Habit(seed=options.seed, n_variants=6)), Path(folder))
        ground = fleet.ground(encoder, progress)
        with progress.stage("Lives", options.edges * options.requests) as advance:
            for edge in range(options.edges):
                persona = fleet.personas[owner_of(edge, fleet.settings.habit).persona]
                context, tools = persona.world.known(next(ground.life(edge)).now), persona.world.specs
                recall, pupil, day = RecallPlanner(encoder), Pupil(ground.texts, device_of(edge)), 0
                recall.add(shipped_demonstrations())
                for number, asked in zip(range(options.requests), ground.life(edge), strict=False):
                    if asked.day != day:
                        pupil.sleep()
                        day = asked.day
                    strata = (STRATA[stratum_of(asked, pupil)], "all")
                    at = time.process_time()
                    plan, is_sure = recalled(recall, asked, context, tools)
                    between = time.process_time()
                    best = pupil.propose(asked)
                    end = time.process_time()
                    for stratum in strata:
                        exact = judged(plan, asked).exact
                        tallies["recall", stratum].add(is_exact=exact, is_sure=is_sure, cpu_s=between - at)
                        exact = judged(best.plan if best else None, asked).exact
                        sure = best is not None and best.sureness >= Cloud().sure
                        tallies["repeats", stratum].add(is_exact=exact, is_sure=sure, cpu_s=end - between)
                    right, text = asked.plan or Plan(()), asked.wording.text
                    pupil.told(asked, right, best, str(number))
                    recall.add([Demonstration(f"fleet {number}", text, right, source="owner", now=asked.now)])
                    advance(1)
    results = {name: {s: tallies[name, s].shares() for s in (*STRATA, "all")} for name in ("recall", "repeats")}
    cpu_s, wall_s = time.process_time() - cpu, time.perf_counter() - started
    write_result("fleet_recall", results, seed=options.seed, cpu_s=cpu_s, wall_s=wall_s)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
