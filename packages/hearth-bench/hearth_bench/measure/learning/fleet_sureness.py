"""Fit the sureness of repeated plans: `planning.repeat_planner.WEIGHTS`, on a pilot fleet.

    python -m hearth_bench.measure.learning.fleet_sureness [--edges 36] [--seed 1000]

It simulates the first month of a pilot fleet (other owners than any fleet of seed 0: other meanings, habits, rhythms;
the same instructions of Q2A's split `stream`), records the signs of the four likeliest plans of each request and
whether each was exact, and fits a logistic regression with ridge 1 by Newton's steps. Every third edge is held out to
see how often sure plans are right; the weights to ship are fitted on all edges. Writes
`packages/hearth-bench/results/fleet_sureness.json`.

A third of the edges is taught everything they get wrong, a third half of it, a third three in ten.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hearth.cli.invocation import Progress
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.repeat_planner import SIGNS, WEIGHTS
from hearth.types import Plan
from hearth_bench.fleet.habits import Habit
from hearth_bench.fleet.simulated_edge import STRATA, Pupil, judged, stratum_of
from hearth_bench.fleet.simulation import Fleet
from hearth_bench.fleet.simulation_parts import Ground, Settings, device_of
from hearth_bench.measure.result_file import write_result

Floats = NDArray[np.float64]
TAUGHT_SHARES = (1.0, 0.5, 0.3)
THRESHOLDS = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95)
N_PLANS = 4


class Seen:
    """Proposed plans: signs, whether exact, edge, request and stratum of each."""

    def __init__(self) -> None:
        self.signs: list[Floats] = []
        self.exact: list[bool] = []
        self.edge: list[int] = []
        self.request: list[int] = []
        self.stratum: list[int] = []


def live(edge: int, ground: Ground, seen: Seen) -> None:
    pupil = Pupil(ground.texts, device_of(edge))
    rng = np.random.Generator(np.random.PCG64([ground.settings.habit.seed, edge, 9]))
    share, day = TAUGHT_SHARES[(edge // 3) % len(TAUGHT_SHARES)], 0
    for number, asked in enumerate(ground.life(edge)):
        if asked.day != day:
            pupil.sleep()
            day = asked.day
        stratum, found = stratum_of(asked, pupil), pupil.proposals(asked, N_PLANS)
        judgements = [judged(one.plan, asked).exact for one in found]
        seen.signs += [one.signs for one in found]
        seen.exact += judgements
        seen.edge += [edge] * len(found)
        seen.request += [number] * len(found)
        seen.stratum += [stratum] * len(found)
        best = found[0] if found else None
        if (stratum < len(STRATA) - 1 or not (judgements and judgements[0])) and rng.random() < share:
            pupil.told(asked, asked.plan or Plan(()), best, str(number))


def fitted(signs: Floats, exact: Floats, ridge: float = 1.0) -> Floats:
    weights = np.zeros(signs.shape[1])
    for _ in range(40):
        p = 1 / (1 + np.exp(-signs @ weights))
        slope = signs.T @ (exact - p) - ridge * weights
        curve = (signs * (p * (1 - p))[:, None]).T @ signs + ridge * np.eye(len(weights))
        weights += np.linalg.solve(curve, slope)
    return weights


def held_out(seen: Seen, weights: Floats, chosen: NDArray[np.bool_]) -> dict[str, object]:
    """Return, for the surest plan of each held-out request, how many reach a threshold and how many of those are
    exact."""
    p = 1 / (1 + np.exp(-np.array(seen.signs) @ weights))
    first: dict[tuple[int, int], int] = {}
    for k in np.flatnonzero(chosen):
        key = (seen.edge[k], seen.request[k])
        if key not in first or p[k] > p[first[key]]:
            first[key] = int(k)
    rows = np.array(list(first.values()))
    exact, stratum = np.array(seen.exact)[rows], np.array(seen.stratum)[rows]
    found: dict[str, object] = {"n": len(rows)}
    for threshold in THRESHOLDS:
        sure = p[rows] >= threshold
        found[f"sure {threshold}"] = {
            "share": round(float(sure.mean()), 4),
            "exact": round(float(exact[sure].mean()), 4),
            **{f"share of {name}": round(float(sure[stratum == k].mean()), 4) for k, name in enumerate(STRATA)},
        }
    return found


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m hearth_bench.measure.learning.fleet_sureness", description="Fit how sure plans are."
    )
    parser.add_argument("--edges", type=int, default=36)
    parser.add_argument("--seed", type=int, default=1000, help="of the pilot fleet; not one that is reported on")
    parser.add_argument("--workspace", type=Path, help="where texts are kept as numbers (default: nowhere)")
    options = parser.parse_args(arguments)
    started, cpu, progress = time.perf_counter(), time.process_time(), Progress(sys.stderr)
    seen = Seen()
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(Settings(options.edges, Habit(seed=options.seed)), options.workspace or Path(folder))
        ground = fleet.ground(MiniLMEncoder.open(), progress)
        with progress.stage("Pilot", options.edges) as advance:
            for edge in range(options.edges):
                live(edge, ground, seen)
                advance(1)
    signs, exact, edges = np.array(seen.signs), np.array(seen.exact, float), np.array(seen.edge)
    out = edges % 3 == 0
    weights = fitted(signs, exact)
    results = {
        "n_edges": options.edges,
        "n_plans": len(exact),
        "held_out": held_out(seen, fitted(signs[~out], exact[~out]), out),
        "weights": dict(zip(SIGNS, weights.round(2).tolist(), strict=True)),
        "shipped": dict(zip(SIGNS, WEIGHTS.tolist(), strict=True)),
    }
    cpu_s, wall_s = time.process_time() - cpu, time.perf_counter() - started
    write_result("fleet_sureness", results, seed=options.seed, cpu_s=cpu_s, wall_s=wall_s)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
