"""Measure what a new edge gains from others' statistics, and the cost of poisoning, noise and secrecy.

    python -m hearth_bench.measure.learning.prior_gain
    --part curves | devices | poison | noise | private | rounds   --profile small | medium | large

Q2A, one owner left out at a time: the other five's streams are merged exactly; the sixth begins from that prior and is
taught its own stream in order. Scored on the sixth's instructions of a split (`--split dev` for tuning, `test` once):
the share of right tool sequences and node F1 of tools, for instructions with a plan only (arguments are not the
student's). Three priors: the five others alone, with the shipped demonstrations as a sixth giver, and those alone.
Floors: nothing taught; the same number of the owner's own demonstrations without a prior. Oracle: the five others, the
shipped and all of the owner's own, taught to one student (which the prior with all of the owner's own equals, except
for how evidence is joined).

Parts are written into `packages/hearth-bench/results/merging.json` side by side, so that each can be run alone.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import get_args

import numpy as np

from hearth.agent import shipped_demonstrations
from hearth.edge.federation import Opened, Participant, total
from hearth.learning.versions.drafting import begun
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.ranking.features import Reading, Taught
from hearth.planning.ranking.ranker import PROFILES, ProfileName, Ranker
from hearth.planning.ranking.sufficient_statistics import (
    Layout,
    Statistics,
    decode,
    encode,
    merged,
    public_sequences,
    public_tools,
    summed,
)
from hearth_bench.data.q2a_homes import read_world
from hearth_bench.data.q2a_instructions import OWNERS, Sample, Split, read_owner
from hearth_bench.measure.result_file import RESULTS, write_result
from hearth_bench.run_record import commit
from hearth_bench.suites.q2a.q2a_suite import demonstration_of
from hearth_cloud.cloud_settings import StatisticsSettings
from hearth_cloud.statistics.private_sums import Budget, epsilon_of
from hearth_cloud.statistics.public_acts import share_of
from hearth_cloud.statistics.robust_merge import Terms, evidence_of, noisy, robust, shared
from hearth_cloud.statistics.shipped_statistics import acts_of

N_OWN = (0, 20, 60, 200)
WAYS = ("swapped", "by lot", "one tool")
DELTA = 1e-6
TERMS = Terms(most=400, least=30)


class World:
    """Students taught once: one for each owner's stream, one for the shipped demonstrations."""

    def __init__(self, profile: ProfileName, *, has_shipped: bool = True) -> None:
        self.encoder = MiniLMEncoder.open()
        self.tools = read_world(OWNERS[0]).specs
        self.options = PROFILES[profile]
        self.samples = {owner: [s for s in read_owner(owner) if s.plan is not None] for owner in OWNERS}
        self.shown = {owner: self._taught(owner) for owner in OWNERS}
        self.shipped = self.blank()
        if has_shipped:
            self.shipped.learn([d for d in shipped_demonstrations() if d.plan.steps])
        self.public = frozenset(self.tools) | public_tools()
        self.given = {owner: self.shown[owner].statistics(self.public) for owner in OWNERS}
        self.shipped_given = self.shipped.statistics(self.public)

    def blank(self) -> Ranker:
        return Ranker(self.encoder, self.tools, self.options)

    def _taught(self, owner: str) -> Ranker:
        student = self.blank()
        student.learn([demonstration_of(s) for s in self.samples[owner] if s.split == "stream"])
        return student

    def others(self, owner: str, *, with_shipped: bool) -> Statistics:
        mine = merged(one for name, one in self.given.items() if name != owner)
        return mine.plus(self.shipped_given) if with_shipped else mine

    def own(self, owner: str, n: int) -> list[str]:
        """Return the ids of the owner's first `n` demonstrations."""
        return [f"q2a {s.id}" for s in self.samples[owner] if s.split == "stream"][:n]

    def asked(self, owner: str, split: Split) -> tuple[list[Sample], list[Reading]]:
        found = [s for s in self.samples[owner] if s.split == split]
        return found, self.shipped.read([s.request.text for s in found])


def score(student: Ranker, samples: Sequence[Sample], readings: Sequence[Reading]) -> list[tuple[float, float]]:
    """Return for each instruction whether the tools are right and in order, and the node F1."""
    found = []
    for ranking, sample in zip(student.rank_readings(readings), samples, strict=True):
        assert sample.plan is not None
        mine = ranking.candidates[0].tools if ranking.candidates else ()
        gold = tuple(step.tool for step in sample.plan.steps)
        both = len(set(mine) & set(gold))
        found.append((float(mine == gold), 2 * both / max(len(set(mine)) + len(set(gold)), 1)))
    return found


def mean(scores: Sequence[tuple[float, float]]) -> dict[str, float]:
    right, f1 = np.mean(np.array(scores), axis=0)
    return {"right": round(float(right), 4), "node_f1": round(float(f1), 4), "n": len(scores)}


def difference(one: Sequence[tuple[float, float]], other: Sequence[tuple[float, float]]) -> dict[str, list[float]]:
    """Return the bootstrap interval (95 %) of the paired differences of means."""
    drawn = np.random.default_rng(0)
    apart = np.array(one) - np.array(other)
    means = [apart[drawn.integers(0, len(apart), len(apart))].mean(axis=0) for _ in range(2_000)]
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    return {name: [round(float(low[k]), 4), round(float(high[k]), 4)] for k, name in enumerate(("right", "node_f1"))}


def curves(world: World, split: Split) -> dict[str, object]:
    """Measure a new edge by the number of its own demonstrations, without and with a prior."""
    scores: dict[str, list[tuple[float, float]]] = {}
    for owner in OWNERS:
        samples, readings = world.asked(owner, split)
        priors: dict[str, Statistics | None] = {"blank": None}
        alone, both = (world.others(owner, with_shipped=is_with) for is_with in (False, True))
        priors["others"] = begun(alone, world.shipped, world.public, is_in_prior=False)
        priors["others_and_shipped"] = begun(both, world.shipped, world.public, is_in_prior=True)
        priors["shipped"] = begun(world.shipped_given, world.shipped, world.public, is_in_prior=True)
        for name, prior in priors.items():
            student = world.blank()
            student.take_prior(prior)
            done = 0
            for n in N_OWN:
                ids = world.own(owner, n)
                student.know(world.shown[owner].taught_in(ids[done:]))
                done = len(ids)
                student.settle()
                scores.setdefault(f"{name}.{n}", []).extend(score(student, samples, readings))
        print(owner, {name: mean(found) for name, found in scores.items()}, flush=True)
    found: dict[str, object] = {name: mean(listed) for name, listed in scores.items()}
    asked = scores["blank.200"]
    for name in ("others.20", "others_and_shipped.20", "others_and_shipped.0"):
        found[f"{name}_minus_blank.200"] = difference(scores[name], asked)
    found["n_own_at_most"] = max(len(world.own(owner, 200)) for owner in OWNERS)
    return found


def devices(world: World, split: Split) -> dict[str, object]:
    """Measure a real device: taught the shipped demonstrations, with a prior of the five others beside them.

    `twice`: the prior holds the shipped demonstrations as well, as a service publishes it.
    """
    scores: dict[str, list[tuple[float, float]]] = {}
    for owner in OWNERS:
        samples, readings = world.asked(owner, split)
        alone, both = (world.others(owner, with_shipped=is_with) for is_with in (False, True))
        for name, prior in (("shipped_here", None), ("others_and_shipped_here", alone), ("shipped_twice", both)):
            student = world.blank()
            student.know(world.shipped.taught_in(world.shipped.ids))
            student.take_prior(prior)
            for n in (0, 20):
                student.know(world.shown[owner].taught_in(world.own(owner, n)))
                student.settle()
                scores.setdefault(f"{name}.{n}", []).extend(score(student, samples, readings))
        print(owner, {name: mean(found) for name, found in scores.items()}, flush=True)
    found: dict[str, object] = {name: mean(listed) for name, listed in scores.items()}
    for name, other in (("others_and_shipped_here", "shipped_here"), ("shipped_twice", "shipped_here")):
        found[f"{name}.20_minus_{other}.20"] = difference(scores[f"{name}.20"], scores[f"{other}.20"])
    return found


def poisoned(world: World, owner: str, way: str) -> Statistics:
    """Return the statistics of the owner's real requests with wrong plans."""
    student = world.shown[owner]
    taught = {id: student.taught(id) for id in student.ids}
    names = sorted({tool for one in taught.values() for tool in one.sequence})
    drawn = random.Random(0)
    swapped = dict(zip(names, drawn.sample(names, len(names)), strict=True))
    plans = [one.sequence for one in taught.values()]
    drawn.shuffle(plans)

    def wrong(k: int, one: Taught) -> Taught:
        if way == "swapped":
            tools = tuple(swapped[tool] for tool in one.sequence)
            asked = tuple(tuple(swapped[tool] for tool in mine) for mine in one.act_tools)
            return replace(one, sequence=tools, act_tools=asked, asked=frozenset(tools))
        tools = (names[0],) if way == "one tool" else plans[k]
        return replace(
            one,
            sequence=tools,
            links=frozenset(),
            act_tools=tuple(tools[:1] for _ in one.act_tools),
            asked=frozenset(tools[:1]),
        )

    return summed(student.reader, {id: wrong(k, one) for k, (id, one) in enumerate(taught.items())}, world.public)


def poison(world: World, split: Split) -> dict[str, object]:
    """Measure a new edge from the plain and from the robust sum, two of the five others being poisoners."""
    scores: dict[str, list[tuple[float, float]]] = {}
    n_found = n_wrongly = 0
    for place, owner in enumerate(OWNERS):
        samples, readings = world.asked(owner, split)
        others = [name for name in OWNERS if name != owner]
        bad = {others[place % 5], others[(place + 2) % 5]}

        def judged(name: str, given: Mapping[str, Statistics], asked: object = (samples, readings)) -> None:
            student = world.blank()
            student.take_prior(merged(given.values()))
            scores.setdefault(name, []).extend(score(student, *asked))  # type: ignore[misc]

        honest = {name: world.given[name] for name in others}
        judged("honest", honest)
        judged("honest_three", {name: one for name, one in honest.items() if name not in bad})
        for way in WAYS:
            given = {name: poisoned(world, name, way) if name in bad else one for name, one in honest.items()}
            kept = robust(given, TERMS).kept
            n_found += len(bad - set(kept))
            n_wrongly += len(honest.keys() - bad - set(kept))
            judged(f"{way}.sum", given)
            judged(f"{way}.robust", {name: given[name] for name in kept})
        for name, factor in (("scaled 1000", 1000), ("flipped", -1)):
            given = {
                o: replace(one, sums=replace(one.sums, moments=factor * one.sums.moments)) if o in bad else one
                for o, one in honest.items()
            }
            kept = robust(given, TERMS).kept
            n_found += len(bad - set(kept))
            n_wrongly += len(honest.keys() - bad - set(kept))
            judged(f"{name}.robust", {o: given[o] for o in kept})
        print(owner, flush=True)
    found: dict[str, object] = {name: mean(listed) for name, listed in scores.items()}
    n_cases = len(OWNERS) * (len(WAYS) + 2)
    return {**found, "poisoners_found": n_found, "of": 2 * n_cases, "honest_set_aside": n_wrongly, "of_": 3 * n_cases}


def noise(world: World, split: Split) -> dict[str, object]:
    """Measure a noisy prior, by privacy loss of a whole edge and by the number of contributing edges.

    The edges are five, and many times five (each owner's sums counted that often, which equals as many edges like it).
    Only two owners are the new edge.
    """
    found: dict[str, object] = {}
    for times in (1, 1_000, 20_000):
        for rho in (0.1, 1.0):
            scores: list[tuple[float, float]] = []
            for owner in OWNERS[:2]:
                samples, readings = world.asked(owner, split)
                exact = _times(world.others(owner, with_shipped=False), times)
                most = max(one.n_demonstrations for one in world.given.values())
                prior = noisy(exact, rho, most, public_sequences(), bytes([OWNERS.index(owner)]) * 32)
                student = world.blank()
                student.take_prior(prior)
                scores += score(student, samples, readings)
            found[f"edges_{5 * times}.epsilon_{epsilon_of(rho, DELTA):.2f}"] = mean(scores)
            print(times, rho, mean(scores), flush=True)
    return {"delta": DELTA, **found}


def _times(one: Statistics, times: int) -> Statistics:
    s = one.sums
    sums = replace(s, n_rows=times * s.n_rows, gram=times * s.gram, moments=times * s.moments, mass=times * s.mass)
    counts = {name: times * n for name, n in one.sequences.items()}
    links = {name: times * n for name, n in one.links.items()}
    return replace(
        one, sums=sums, sequences=counts, links=links,
        n_edges=times * one.n_edges, n_demonstrations=times * one.n_demonstrations,
    )  # fmt: skip


def private(world: World, split: Split) -> dict[str, object]:
    """Measure a real device, taught what is shipped and 20 of its own: without a prior, with the five others' exact
    sums, and with a prior of many owners with the noise that the service's defaults give it.

    The many are the five others, each counted as often as it takes; their sum is held to public acts, as the service
    does. A prior of which no share holds is none.
    """
    budget = Budget(StatisticsSettings().epsilon, StatisticsSettings().delta, StatisticsSettings().priors)
    scores: dict[str, list[tuple[float, float]]] = {}
    shares: dict[str, list[float]] = {}
    shipped = [one for one in shipped_demonstrations() if one.plan.steps]
    acts = acts_of(world.encoder, world.tools, shipped, world.shipped_given)
    public = evidence_of(world.shipped_given)
    for owner in OWNERS:
        samples, readings = world.asked(owner, split)
        alone = world.others(owner, with_shipped=False)
        priors: dict[str, Statistics | None] = {"none": None, "exact_5": alone}
        for n_edges in (1_000, 20_000, 100_000):
            many = _times(alone, n_edges // 5)
            for epsilon in (budget.epsilon, 16.0):
                rho = replace(budget, epsilon=epsilon).rho / 3  # shared by the profiles
                seed = bytes([OWNERS.index(owner)]) * 32
                hidden = noisy(many, rho, StatisticsSettings().most, public_sequences(), seed)
                share = share_of(evidence_of(hidden), public, acts)
                name = f"private_{n_edges}.epsilon_{epsilon:g}"
                priors[name] = shared(hidden, share) if share else None
                shares.setdefault(name, []).append(share)
        for name, prior in priors.items():
            student = world.blank()
            student.know(world.shipped.taught_in(world.shipped.ids))
            student.take_prior(prior)
            student.know(world.shown[owner].taught_in(world.own(owner, 20)))
            student.settle()
            scores.setdefault(name, []).extend(score(student, samples, readings))
        print(owner, {name: mean(found) for name, found in scores.items()}, flush=True)
    found: dict[str, object] = {name: mean(listed) for name, listed in scores.items()}
    for name in scores:
        if name != "none":
            found[f"{name}_minus_none"] = difference(scores[name], scores["none"])
    return {"delta": budget.delta, "priors": budget.n_priors, "shares_taken": shares, **found}


def rounds(world: World, _: Split) -> dict[str, object]:
    """Measure a secret sum of eight edges, two of which leave: seconds and bytes of one edge and of the service."""
    one = world.given[OWNERS[0]]
    sequences = tuple(sorted({*public_sequences(), *one.sequences}))
    layout = Layout(one.encoder, one.n_inputs, one.reading, sequences)
    row = layout.row(one)
    edges = [Participant("round", least=5) for _ in range(8)]
    everyone = {edge.edge: edge.keys for edge in edges}
    began = time.perf_counter()
    boxes = {edge.edge: edge.share(everyone, 5) for edge in edges}
    shares_s = (time.perf_counter() - began) / len(edges)
    began = time.perf_counter()
    rows = {
        edge.edge: edge.hide(row, {name: mine[edge.edge] for name, mine in boxes.items() if name != edge.edge})
        for edge in edges[:6]
    }
    hiding_s = (time.perf_counter() - began) / len(rows)
    opened = {edge.edge: Opened(*edge.open(list(rows))) for edge in edges[:6]}
    began = time.perf_counter()
    found = total("round", everyone, list(boxes), rows, opened, 5)
    total_s = time.perf_counter() - began
    assert np.array_equal(found, row * np.uint64(6))
    body = encode(one)
    began = time.perf_counter()
    assert decode(body).digest == one.digest
    return {
        "n_values": layout.n_values,
        "row_bytes": row.nbytes,
        "shares_s": round(shares_s, 4),
        "hiding_s": round(hiding_s, 3),
        "total_of_six_with_two_gone_s": round(total_s, 3),
        "plain_bytes": len(body),
        "plain_check_s": round(time.perf_counter() - began, 3),
        "prior_bytes": len(encode(world.others("", with_shipped=True))),
    }


PARTS = {"curves": curves, "devices": devices, "poison": poison, "noise": noise, "private": private, "rounds": rounds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=[*PARTS], action="append", help="only this (may be given again)")
    parser.add_argument("--profile", choices=get_args(ProfileName), default="small")
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    options = parser.parse_args()
    began, cpu = time.perf_counter(), time.process_time()
    path = RESULTS / "merging.json"
    results = json.loads(path.read_text())["results"] if path.exists() else {}
    world = World(options.profile, has_shipped=options.part != ["noise"])
    for name in options.part or PARTS:
        found = PARTS[name](world, options.split)
        wall_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu
        made = {
            "at": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            "commit": commit(),
            "cpu_s": round(cpu_s, 1),
        }
        results[f"{name}.{options.profile}.{options.split}"] = {**found, "made": made}
        write_result("merging", results, seed=0, cpu_s=cpu_s, wall_s=wall_s)


if __name__ == "__main__":
    main()
