"""Fit how a plan's readings are weighed: `python -m training.option_weights_train` (some ten minutes).

A conditional logit over the ways to serve a request: of the second tenth of real people's requests (right is a way that
uses an accepted tool and changes nothing beside; one that asks for what the request does not lack counts less), of each
shipped demonstration planned without it and its lot, and of requests planned as if a third of the tools were new, to
learn what a tool's own texts are worth. The heads are solved anew each time without what is planned. Writes
src/hearth/data/option_weights.json. `alike` stays as given: what reads like a demonstration is planned like it.
"""

from __future__ import annotations

import argparse
import datetime as dt
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hearth.agent import shipped_demonstrations
from hearth.models.encoder.sentence_encoder import MiniLMEncoder
from hearth.planning.ranking.heads.tool_heads import PROBE, HeadPrior
from hearth.planning.retrieval.plan_assembly import READINGS, Option
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.registry import load_tools
from hearth.types import Context, Demonstration, Plan, Request, ToolSpec
from hearth_bench.data.request_corpus import RealRequest, is_held_out, read_real_requests
from training.tool_heads_train import (
    Row,
    asked_rows,
    data_folder,
    drawn_cosines,
    features_of,
    outputs_of,
    requests_to_learn,
    solved,
    taught_rows,
)

PART = 1
N_LOTS = 3
_NOW = dt.datetime.fromisoformat("2026-11-20T09:30:00+01:00")
_ALIKE = 8.0
_ASKS_NEEDLESSLY = 0.25
"""Worth of an option with the right tool that asks for what the request does not lack."""
_TOOLS_ALONE = 0.3
"""Worth of an option with the tools that were taught and other arguments."""
_REAL_WEIGHT = 2.0
"""Weight of a real person's request beside a demonstration."""
_NEW_TOOLS_WEIGHT = 0.3
"""Weight of a request planned with new tools among the rest."""
_PENALTY = 0.001
_N_STEPS, _STEP = 800, 0.03
Floats = NDArray[np.float64]


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--out", type=Path, default=Path("src/hearth/data/option_weights.json"))
    chosen = options.parse_args()
    specs, encoder = load_tools(None).specs, MiniLMEncoder.open()
    every = [one for one in read_real_requests(data_folder()) if one.kind != "either"]
    asked = [one for one in every if is_held_out(one, PART)]
    shown = list(shipped_demonstrations())
    heads = Heads(encoder, [*taught_rows(shown), *asked_rows(requests_to_learn((PART,)))])
    cases: list[Case] = []
    for lot in range(N_LOTS):
        hidden = frozenset(d.id for d in shown if _lot(d.id) == lot)
        planner = _planner(encoder, heads.without(hidden), [d for d in shown if d.id not in hidden])
        for d in (one for one in shown if one.id in hidden):
            found = planner.options(Request(d.request, d.now or _NOW), Context(country="DE"), specs)
            cases.append(_case(found, [_worth_beside(d.plan, option) for option in found], 1.0))
        if lot == 0:
            planner.add(d for d in shown if d.id in hidden)
            cases += [_asked(planner, one, specs, _REAL_WEIGHT) for one in asked]
        fresh = frozenset(name for name in specs if _lot(name) == lot)  # as if a plug-in had brought them today
        planner = _planner(encoder, heads.without(()).without(fresh), [d for d in shown if not fresh & _tools(d)])
        some = [one for number, one in enumerate(asked) if set(one.accept) & fresh or number % N_LOTS == lot]
        cases += [_asked(planner, one, specs, _NEW_TOOLS_WEIGHT) for one in some]
        print(f"{len(cases):,} requests read", file=sys.stderr)
    cases = [case for case in cases if case.worth.any()]
    weights, loss = fit(cases)
    about = {
        "weights": {name: round(float(weight), 3) for name, weight in zip(READINGS, weights)},
        "n_requests": len(cases),
        "loss": round(loss, 4),
        "command": "python -m training.option_weights_train",
    }
    chosen.out.write_text(json.dumps(about, indent=2) + "\n")
    print(json.dumps(about["weights"], indent=2))


@dataclass(frozen=True, slots=True)
class Case:
    """The ways to serve one request, and what each is worth."""

    readings: Floats
    """Shape [options, readings]."""
    worth: Floats
    """From 0 to 1, shape [options]."""
    weight: float


class Heads:
    """Heads solved without some demonstrations, from features that are made once."""

    def __init__(self, encoder: MiniLMEncoder, rows: Sequence[Row]) -> None:
        self._rows, self._outputs = rows, outputs_of(rows)
        self._projection, self._phases = drawn_cosines(encoder.dim)
        self._probe = encoder.encode([PROBE])[0]
        print(f"reading {len(rows):,} requests …", file=sys.stderr)
        self._features = features_of(rows, encoder, self._projection, self._phases)

    def without(self, hidden: Collection[str]) -> HeadPrior:
        """Return heads that never saw some demonstrations; nothing can be taught to them."""
        kept = [k for k, row in enumerate(self._rows) if row.id not in hidden]
        weights, _, _ = solved(self._features[kept], [self._rows[k] for k in kept], self._outputs)
        nothing = np.zeros(0, dtype=np.float32)
        return HeadPrior(self._outputs, weights, nothing, self._projection, self._phases, self._probe)


def _planner(encoder: MiniLMEncoder, prior: HeadPrior, shown: Iterable[Demonstration]) -> RecallPlanner:
    planner = RecallPlanner(encoder, prior=prior)
    planner.add(shown)
    return planner


def _tools(demonstration: Demonstration) -> set[str]:
    return {step.tool for step in demonstration.plan.steps}


def _lot(name: str) -> int:
    return hashlib.sha256(name.encode()).digest()[0] % N_LOTS


def _case(found: Sequence[Option], worth: Sequence[float], weight: float) -> Case:
    readings = np.array([[option.readings.get(name, 0.0) for name in READINGS] for option in found])
    return Case(readings, np.array(worth), weight)


def _asked(planner: RecallPlanner, one: RealRequest, specs: Mapping[str, ToolSpec], weight: float) -> Case:
    found = planner.options(Request(one.text, _NOW), Context(country="DE"), specs)
    return _case(found, [_worth(one, option, specs) for option in found], weight)


def _worth_beside(gold: Plan, option: Option) -> float:
    """Return what an option is worth beside the plan that was taught: most with the same arguments."""
    steps = option.bound.steps
    if Counter(step.tool for step in steps) != Counter(step.tool for step in gold.steps):
        return 0.0
    given = sorted((step.tool, repr(sorted(step.arguments.items(), key=str))) for step in steps)
    wanted = sorted((step.tool, repr(sorted(step.arguments.items(), key=str))) for step in gold.steps)
    return 1.0 if given == wanted else _TOOLS_ALONE


def _worth(one: RealRequest, option: Option, specs: Mapping[str, ToolSpec]) -> float:
    tools = {step.tool for step in option.bound.steps}
    if one.kind != "tool":
        return float(not tools)
    accepted = set(one.accept)
    is_right = bool(set(option.candidate.leaves) & accepted)
    is_right &= all(specs[tool].effect == "none" for tool in tools - accepted)
    return float(is_right) * (1.0 if one.asks or not option.bound.missing else _ASKS_NEEDLESSLY)


def fit(cases: Sequence[Case]) -> tuple[Floats, float]:
    """Return the weights under which what is worth most is likeliest, and the loss; `alike` is not fitted."""
    starts = np.cumsum([0, *(len(case.worth) for case in cases[:-1])])
    owner = np.repeat(np.arange(len(cases)), [len(case.worth) for case in cases])
    counts = np.array([case.weight for case in cases])
    counts /= counts.sum()
    stacked, worth = np.vstack([case.readings for case in cases]), np.concatenate([case.worth for case in cases])
    spread = stacked.std(axis=0) + 1e-9
    scaled, free = stacked / spread, np.array([name != "alike" for name in READINGS])
    weights = np.where(free, 0.0, _ALIKE * spread)
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    loss = 0.0
    for step in range(1, _N_STEPS + 1):
        score = scaled @ weights
        score -= np.maximum.reduceat(score, starts)[owner]
        each = np.exp(score)
        whole, good = np.add.reduceat(each, starts), np.add.reduceat(each * worth, starts) + 1e-30
        loss = float(-(counts * np.log(good / whole)).sum())
        pull = counts[owner] * (each / whole[owner] - each * worth / good[owner])
        slope = scaled.T @ pull + _PENALTY * weights
        slope = np.where(free, slope, 0.0)
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        weights = weights - _STEP * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-9)
    return weights / spread, loss


if __name__ == "__main__":
    main()
