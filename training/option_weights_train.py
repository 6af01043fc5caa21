"""Fit how a plan's readings are weighed: `python -m training.option_weights_train` (half an hour; extra `train`).

A conditional logit with one hidden layer over the ways to serve a request: of six tenths of real people's requests
(right is a way that uses an accepted tool and changes nothing beside; one that asks for what the request does not lack,
or does not ask for what it lacks, counts less; where no way is right, refusing is right), of each shipped demonstration
and new people's request, and each act of theirs, planned without it and its lot, and of requests and demonstrations
planned as if a third of the tools were new and what they do were nothing that any did, to learn what a tool's own texts
are worth, and what a few examples are that its owner has shown since. The heads and the classifier of intents are
fitted anew for each pair of tenths without what is planned. Writes src/hearth/data/option_weights.json.
`alike` stays as given: what reads like a demonstration is planned like it.

What ships was carried on from the weights before (`--carry-on`), by what is planned as above and by what new people of
whom nothing had been learnt yet, and some real people, came to with the models that shipped then (`--ask-shipped FILE`
keeps these cases; at the commit before 9f69706b): models that ship are surer than those fitted without a third of what
is said, and weights that know only the latter plan fewer requests right (decision 28).
"""

from __future__ import annotations

import argparse
import datetime as dt
import hashlib
import json
import pickle
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from hearth.agent import shipped_demonstrations
from hearth.language.reading import Utterance
from hearth.language.request_sketch import drawn_cosines
from hearth.models.intent_classifier import IntentClassifier, MarkedToken
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.arguments.alignment import explain
from hearth.planning.retrieval.plan_assembly import Option
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.planning.retrieval.voting import ALIKE, READINGS, OptionOdds, shipped_odds
from hearth.planning.tool_heads import NOTHING, PROBE, HeadPrior
from hearth.registry import load_tools
from hearth.types import Context, Demonstration, Plan, ToolSpec
from hearth_bench.data.request_corpus import RealRequest, is_held_out
from training.act_labels import pieces_of
from training.intent_classifier_train import Lower, taught
from training.tool_heads_train import (
    Row,
    asked_rows,
    features_of,
    fitted,
    mistyped,
    outputs_of,
    people_to_learn,
    requests_to_learn,
    rows_shown,
)

PARTS = ((1, 2), (3, 4), (5, 6))
"""Tenths planned together by heads that saw neither; a third of the demonstrations and tools goes with each."""
N_HIDDEN = 12
_N_PROCESSES = 2
"""One for each lot that is planned; a third lot changes little and would have to wait for a core."""
SEED = 0
_NOW = dt.datetime.fromisoformat("2026-11-20T09:30:00+01:00")
_ASKS_AMISS, _GUESSED = 0.25, 0.25
"""Worth of an option with the right tool that asks for what the request does not lack, or changes something without
asking for what it lacks; share of the worth of one that takes a value from a look-up of nothing in particular."""
_TOOLS_ALONE = 0.3
"""Worth of an option with the tools that were taught and other arguments."""
_EVERY_REAL = 2
"""One real request of so many is planned: to plan all of them takes half an hour more."""
WEIGHTS = {"real": 4.0, "shown": 3.0, "person": 3.0, "new": 1.5, "examples": 1.5}
"""Weight of a case by its kind: a real person's request; a demonstration, or an act of one; a new person's request; any
of these planned with new tools among the rest; and with new tools of which the owner has shown examples."""
CARRIED_ON_WEIGHTS = {"asked": 6.0, "stranger": 6.0, "person": 0.7, "new": 0.5, "examples": 0.7}
"""The same where weights are carried on, in which `asked` and `stranger` are a real and a new person's request planned
by the models that shipped."""
_PULL, _N_CARRIED_ON, _CARRIED_ON_STEP, _SHARE_TAKEN = 0.02, 400, 0.005, 0.7
"""How much weights that are carried on are pulled back to what they were; steps, and the longest; the share of the way
from the old to the new that is gone in the end (Wortsman et al. 2022)."""
_N_ASKED, _N_STRANGERS, _MOST_STEPS, _MOST_ACTS = 2500, 4000, 2, 2
"""Real requests and new people's that the shipped models are asked, by lot; most steps of one that is planned whole,
and most acts of one that are planned."""
_EVERY_NEW, _EVERY_PERSON, _N_EXAMPLES = 6, 4, 3
"""One request of so many is planned with new tools although it asks for none of them; one of so many of new people's
is planned that asks for a new tool; so many examples of a new tool were shown."""
_PENALTY = 0.001
_N_STEPS, _STEP = 900, 0.015
Floats = NDArray[np.float64]


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--out", type=Path, default=Path("src/hearth/data/option_weights.json"))
    options.add_argument("--cases", type=Path, nargs="+", default=[], help="read cases from these files")
    options.add_argument("--keep", type=Path, help="keep what was planned in this file")
    options.add_argument(
        "--ask-shipped", type=Path, metavar="FILE", help="only plan with what ships, and keep it there"
    )
    options.add_argument("--carry-on", action="store_true", help="go on from the weights that ship")
    chosen = options.parse_args()
    if chosen.ask_shipped is not None:
        chosen.ask_shipped.write_bytes(pickle.dumps(cases_of_shipped()))
        return
    if chosen.carry_on and not chosen.cases:
        options.error("--carry-on wants the files of --ask-shipped and --keep: --cases FILE FILE")
    cases: list[Case] = [case for path in chosen.cases for case in pickle.loads(path.read_bytes())]  # its own files
    if not chosen.cases:
        with ProcessPoolExecutor(_N_PROCESSES, get_context("spawn")) as pool:
            cases = [case for lot in pool.map(cases_of, range(_N_PROCESSES)) for case in lot]
    if chosen.keep is not None:
        chosen.keep.write_bytes(pickle.dumps(cases))
    by_kind = CARRIED_ON_WEIGHTS if chosen.carry_on else WEIGHTS
    cases = [case for case in cases if by_kind.get(case.kind) and case.worth.any()]
    before = shipped_odds() if chosen.carry_on else None
    odds, loss = fit(cases, by_kind, before)
    odds = _between(before, odds) if before is not None else odds
    weights = {"linear": odds.linear, "hidden": odds.hidden, "bias": odds.bias, "outer": odds.outer}
    about = {
        "readings": READINGS,
        "odds": {name: np.round(values, 4).tolist() for name, values in weights.items()},
        "n_requests": dict(sorted(Counter(case.kind for case in cases).items())),
        "loss": round(loss, 4),
        "seed": SEED,
        "command": "python -m training.option_weights_train" + (" --carry-on --cases …" if chosen.carry_on else ""),
    }
    chosen.out.write_text(json.dumps(about, ensure_ascii=False) + "\n")


@dataclass(frozen=True, slots=True)
class Case:
    """The ways to serve one request, and what each is worth."""

    readings: Floats
    """Shape [options, readings]."""
    worth: Floats
    """From 0 to 1, shape [options]."""
    kind: str
    """Of `WEIGHTS` or `CARRIED_ON_WEIGHTS`."""
    alike: Floats
    """Shape [options]."""


def cases_of(lot: int) -> list[Case]:
    """Return what is planned without one pair of tenths, one lot of the demonstrations, and one of the tools."""
    torch.set_num_threads(1)
    parts = PARTS[lot]
    specs, encoder = load_tools(None).specs, MiniLMEncoder.open()
    asked = requests_to_learn(())
    shown, people = list(shipped_demonstrations()), people_to_learn()
    heads = Heads(encoder, asked)
    hidden = frozenset(d.id for d in (*shown, *people) if _lot(d.id) == lot)
    with tempfile.TemporaryDirectory() as folder:
        classifier = heads.classifier_without(parts, hidden, Path(folder))
        planner = RecallPlanner(encoder, prior=heads.without(parts, hidden), classifier=classifier)
        planner.add(d for d in shown if d.id not in hidden)
        cases = []
        for kind, every in (("shown", shown), ("person", people)):
            unseen = [d for d in every if d.id in hidden]
            cases += [_shown(planner, d, specs, kind) for d in (*unseen, *_acts(unseen))]
            print(f"lot {lot}: {len(cases):,} requests read", file=sys.stderr)
        planner.add(d for d in shown if d.id in hidden)
        some = [one for one in asked if any(is_held_out(one, part) for part in parts)][::_EVERY_REAL]
        cases += [_asked(planner, one, specs, "real") for one in some]
        print(f"lot {lot}: {len(cases):,} requests read", file=sys.stderr)
        fresh = frozenset(name for name in specs if _lot(name) == lot)  # as if a plug-in had brought them today
        before = _BeforeNewTools(classifier, fresh)
        planner = RecallPlanner(encoder, prior=heads.without(parts, fresh=fresh), classifier=before)
        planner.add(d for d in shown if not fresh & _tools(d))
        asking = [one for number, one in enumerate(some) if set(one.accept) & fresh or number % _EVERY_NEW == lot]
        singles = [d for d in shown if fresh & _tools(d) and len(d.plan.steps) == 1]
        theirs = [d for d in (*people, *_acts(people)) if fresh & _tools(d) and len(d.plan.steps) == 1]
        cases += _cases_of_new_tools(planner, fresh, asking, singles, theirs)
    print(f"lot {lot}: {len(cases):,} requests read", file=sys.stderr)
    return cases


def _cases_of_new_tools(
    planner: RecallPlanner,
    fresh: frozenset[str],
    asking: Sequence[RealRequest],
    singles: Sequence[Demonstration],
    theirs: Sequence[Demonstration],
) -> Iterator[Case]:
    """Yield what a planner that knows no demonstration of the fresh tools plans, then with a few of each.

    Args:
        singles: The shipped demonstrations of one step with a fresh tool; some of them become the examples.
        theirs: Those of people.
    """
    specs = load_tools(None).specs
    yield from (_asked(planner, one, specs, "new") for one in asking)
    yield from (_shown(planner, d, specs, "new") for d in (*singles, *theirs[::_EVERY_PERSON]))
    examples = [d for tool in sorted(fresh) for d in [d for d in singles if tool in _tools(d)][:_N_EXAMPLES]]
    planner.add(replace(d, source="owner") for d in examples)
    others = [d for d in singles if d not in examples]
    yield from (_shown(planner, d, specs, "examples") for d in (*others, *theirs[1::_EVERY_PERSON]))
    yield from (_asked(planner, one, specs, "examples") for one in asking[::2])


def cases_of_shipped() -> list[Case]:
    """Return what new people's and real requests come to with the models that ship: for people not learnt yet."""
    specs, encoder = load_tools(None).specs, MiniLMEncoder.open()
    planner = RecallPlanner(encoder)
    planner.add(shipped_demonstrations())
    people, asked = people_to_learn(), requests_to_learn(())
    random.Random(SEED).shuffle(people)
    random.Random(SEED).shuffle(asked)
    some = people[:_N_STRANGERS]
    whole = [d for d in some if len(d.plan.steps) <= _MOST_STEPS]
    acts = [act for d in some for act in _acts([d])[:_MOST_ACTS]]
    cases = [_shown(planner, d, specs, "stranger") for d in (*whole, *acts)]
    return cases + [_asked(planner, one, specs, "asked") for one in asked[:_N_ASKED]]


def _acts(demonstrations: Iterable[Demonstration]) -> list[Demonstration]:
    """Return the acts of those that are cut into acts nowhere else."""
    return [piece for d in demonstrations if len(explain(d)) == 1 for piece in pieces_of(d) if piece.plan.steps]


class _BeforeNewTools(IntentClassifier):
    """A classifier that never heard of some tools: who asks for one of them is taken to ask for another, or nothing."""

    def __init__(self, whole: IntentClassifier, fresh: Collection[str]) -> None:
        self._whole = whole
        self.outputs = tuple(name for name in whole.outputs if name not in fresh)
        self._kept = [whole.outputs.index(name) for name in self.outputs]

    def scores(self, texts: Sequence[str]) -> NDArray[np.float32]:
        found: NDArray[np.float32] = self._whole.scores(texts)[:, self._kept]
        return found

    def marked(self, text: str) -> tuple[MarkedToken, ...]:
        return self._whole.marked(text)


class Heads:
    """Heads solved without some of what was said, from features that are made once."""

    def __init__(self, encoder: MiniLMEncoder, asked: Sequence[RealRequest]) -> None:
        taught, again = rows_shown(), mistyped(asked)
        self._rows: list[Row] = [*taught, *asked_rows(asked), *asked_rows(typed for _, typed in again)]
        self._tenths = [0] * len(taught) + [_tenth_of(one) for one in (*asked, *(one for one, _ in again))]
        self._outputs = outputs_of(self._rows)
        self._projection, self._phases = drawn_cosines(encoder.dim)
        self._probe = encoder.encode([PROBE])[0]
        print(f"reading {len(self._rows):,} requests …", file=sys.stderr)
        self._features = features_of(self._rows, encoder, self._projection, self._phases)

    def without(self, parts: Collection[int], hidden: Collection[str] = (), fresh: Collection[str] = ()) -> HeadPrior:
        """Return heads that never saw some tenths of the requests, nor some demonstrations.

        Args:
            fresh: Tools that there were not: who asked for one of them asked for nothing that any did.
        """
        rows = list(enumerate(zip(self._rows, self._tenths)))
        kept = [k for k, (row, tenth) in rows if tenth not in parts and row.id not in hidden]
        seen = [self._rows[k] for k in kept]
        seen = [replace(row, outputs=tuple(o for o in row.outputs if o not in fresh) or (NOTHING,)) for row in seen]
        outputs = tuple(name for name in self._outputs if name not in fresh)
        weights, gram, _ = fitted(self._features[kept], seen, outputs)
        factor = np.linalg.inv(np.linalg.cholesky(gram.astype(np.float64)))
        packed = factor[np.tril_indices(len(factor))].astype(np.float32)
        return HeadPrior(outputs, weights, packed, self._projection, self._phases, self._probe)

    def classifier_without(self, parts: Collection[int], hidden: Collection[str], cache: Path) -> IntentClassifier:
        """Return the classifier that never saw some tenths of the requests, nor some demonstrations."""
        rows = list(enumerate(zip(self._rows, self._tenths)))
        kept = [k for k, (row, tenth) in rows if tenth not in parts and row.id not in hidden]
        seen = [self._rows[k] for k in kept]
        return taught(seen, Lower([row.form for row in seen]), range(len(kept)), self._outputs, ()).opened(cache)


def _tenth_of(one: RealRequest) -> int:
    return next((part for pair in PARTS for part in pair if is_held_out(one, part)), 0)


def _tools(demonstration: Demonstration) -> set[str]:
    return {step.tool for step in demonstration.plan.steps}


def _lot(name: str) -> int:
    return hashlib.sha256(name.encode()).digest()[0] % len(PARTS)


def _case(found: Sequence[Option], worth: Sequence[float], kind: str) -> Case:
    readings = np.array([[option.readings.get(name, 0.0) for name in READINGS] for option in found])
    alike = np.array([option.readings.get("alike", 0.0) for option in found])
    return Case(readings, np.array(worth), kind, alike)


def _shown(planner: RecallPlanner, d: Demonstration, specs: Mapping[str, ToolSpec], kind: str) -> Case:
    found = planner.options(Utterance(d.request, d.now or _NOW, context=Context(country="DE")), specs)
    return _case(found, [_worth_beside(d.plan, option) for option in found], kind)


def _asked(planner: RecallPlanner, one: RealRequest, specs: Mapping[str, ToolSpec], kind: str) -> Case:
    found = planner.options(Utterance(one.text, _NOW, context=Context(country="DE")), specs)
    worth = [_worth(one, option, specs) for option in found]
    if kind in ("real", "asked") and not any(worth):  # what cannot be served rightly is refused
        worth = [float(option.is_nothing) for option in found]
    return _case(found, worth, kind)


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
    is_right_to_ask = one.asks and not all(specs[tool].effect == "none" for tool in tools)
    worth = float(is_right) * (1.0 if is_right_to_ask == bool(option.bound.missing) else _ASKS_AMISS)
    is_guessed = option.readings.get("acts") and option.readings.get("idle")
    return worth * (_GUESSED if is_guessed else 1.0)


def fit(
    cases: Sequence[Case], by_kind: Mapping[str, float], before: OptionOdds | None = None
) -> tuple[OptionOdds, float]:
    """Return the net under which what is worth most is likeliest, and its loss; `alike` is not fitted.

    Adam (Kingma & Ba 2015) over all cases at once, with a step that falls as a cosine.

    Args:
        by_kind: Weight of each kind of case.
        before: A net to go on from; it is pulled back to it, where a new one is pulled to nothing.
    """
    starts = np.cumsum([0, *(len(case.worth) for case in cases[:-1])])
    owner = np.repeat(np.arange(len(cases)), [len(case.worth) for case in cases])
    counts = np.array([by_kind[case.kind] for case in cases])
    counts /= counts.sum()
    stacked, worth = np.vstack([case.readings for case in cases]), np.concatenate([case.worth for case in cases])
    alike = ALIKE * np.concatenate([case.alike for case in cases])
    spread = stacked.std(axis=0) + 1e-6
    rows = (stacked / spread).astype(np.float32)
    parts = _drawn(rows.shape[1]) if before is None else _scaled(before, spread)
    home = [np.zeros_like(part) for part in parts] if before is None else [part.copy() for part in parts]
    pulls = [_PENALTY, _PENALTY, 0.0, _PENALTY] if before is None else [_PULL] * len(parts)
    n_steps, first = (_N_STEPS, _STEP) if before is None else (_N_CARRIED_ON, _CARRIED_ON_STEP)
    means, squares = [np.zeros_like(part) for part in parts], [np.zeros_like(part) for part in parts]
    loss = 0.0
    for step in range(1, n_steps + 1):
        linear, hidden, bias, outer = parts
        units = np.tanh(rows @ hidden + bias)
        score = rows @ linear + units @ outer + alike
        score -= np.maximum.reduceat(score, starts)[owner]
        each = np.exp(score)
        whole, good = np.add.reduceat(each, starts), np.add.reduceat(each * worth, starts) + 1e-30
        loss = float(-(counts * np.log(good / whole)).sum())
        pull = counts[owner] * (each / whole[owner] - each * worth / good[owner])
        inner = pull[:, None] * outer * (1 - units**2)
        slopes = [rows.T @ pull, rows.T @ inner, inner.sum(axis=0), units.T @ pull]
        rate = first * (1 + np.cos(np.pi * step / n_steps)) + (1e-4 if before is None else 0.0)
        for k, slope in enumerate(slopes):
            slope = slope + pulls[k] * (parts[k] - home[k])
            means[k] = 0.9 * means[k] + 0.1 * slope
            squares[k] = 0.99 * squares[k] + 0.01 * slope**2
            parts[k] = parts[k] - rate * (means[k] / (1 - 0.9**step)) / (np.sqrt(squares[k] / (1 - 0.99**step)) + 1e-9)
    linear, hidden, bias, outer = parts
    return OptionOdds(linear / spread, hidden / spread[:, None], bias, outer), loss


def _drawn(n: int) -> list[Floats]:
    """Return the parts of a new net over `n` readings."""
    draw = np.random.default_rng(SEED)
    return [
        np.zeros(n),
        draw.normal(0, 0.5 / n**0.5, (n, N_HIDDEN)),
        np.zeros(N_HIDDEN),
        draw.normal(0, 0.1, N_HIDDEN),
    ]


def _between(before: OptionOdds, after: OptionOdds) -> OptionOdds:
    pairs = ((getattr(before, name), getattr(after, name)) for name in ("linear", "hidden", "bias", "outer"))
    return OptionOdds(*(old + _SHARE_TAKEN * (new - old) for old, new in pairs))


def _scaled(odds: OptionOdds, spread: Floats) -> list[Floats]:
    """Return the parts of a net over readings that are divided by their spread."""
    return [odds.linear * spread, odds.hidden * spread[:, None], odds.bias.copy(), odds.outer.copy()]


if __name__ == "__main__":
    main()
