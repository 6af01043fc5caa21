"""Run the parts of a fleet's simulation: some edges with one way of learning, one file each, always the same file.

Ways: `personal` (a student of the owner's own, blank at first), `shared` (one student for all, taught everybody's
demonstrations, updated every night), and those of newcomers, one edge in four: `merged` (begun with the shipped
demonstrations and the merged statistics of the founders, the other three in four), `strangers` (the same, from founders
of other personas only), `private` (with the merged statistics as a service of many owners publishes them, with noise),
`shipped` (begun with the shipped demonstrations alone).
"""

from __future__ import annotations

import copy
import json
import os
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hearth.cli.invocation import SILENT, Progress
from hearth.formats.plans import plan_to_json
from hearth.models.ridge import Heads
from hearth.planning.ranking.features import targets_of
from hearth.planning.repeat_planner import Repeat
from hearth.protocols import Encoder
from hearth.types import Demonstration, Plan
from hearth_bench.data.q2a_instructions import OWNERS
from hearth_bench.fleet.fleet_prior import Arguments, Founders, Fresh, Guide, write_likely
from hearth_bench.fleet.habits import Asked, Habit, Persona, life_of, owner_of, probes_of
from hearth_bench.fleet.simulated_edge import (
    DEVICES,
    MEASURES,
    STRATA,
    Cloud,
    Counts,
    Device,
    Pupil,
    Texts,
    Wire,
    blank_heads,
    judged,
    live,
    stratum_of,
    taught,
)

Way = Literal["personal", "merged", "strangers", "private", "shipped", "shared"]
WAYS: tuple[Way, ...] = ("personal", "shared", "merged", "strangers", "private", "shipped")
OF_NEWCOMERS: tuple[Way, ...] = ("merged", "strangers", "private", "shipped")
Arrays: TypeAlias = Mapping[str, NDArray[np.generic]]
CHECKPOINTS = (0, 5, 10, 20, 50, 100, 200)
"""Numbers of requests after which a newcomer's student is probed with requests it was never taught."""
PROBED = (
    *("n", "exact", "node_f1", "tools", "n_convention", "exact_convention", "n_unplanned", "exact_unplanned"),
    *("n_common", "exact_common", "node_f1_common", "tools_common"),
)
"""Columns of a probe. `convention`: uses one of the owner's; `unplanned`: asking or refusing is right; `common`: all
others, which other owners may know as well."""
CHUNK = 24
"""Number of edges per part."""
_A_CYCLE = len(OWNERS)


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of one simulation; the same settings give the same result to the bit."""

    n_edges: int = 1_000
    habit: Habit = field(default_factory=Habit)
    cloud: Cloud = field(default_factory=Cloud)
    n_newcomers: int = 96
    """Most edges that live in each way of newcomers."""
    n_probed: int = 60
    """Most newcomers whose students are probed with requests they were never taught."""

    def to_json(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Part:
    """Some edges with one way of learning; `shared` has one part of all."""

    way: Way
    number: int
    edges: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"{self.way}-{self.number:04d}.npz"


def is_newcomer(edge: int) -> bool:
    return (edge // _A_CYCLE) % 4 == 3


def device_of(edge: int) -> Device:
    return DEVICES[(edge // _A_CYCLE) % len(DEVICES)]


def probed_edges(settings: Settings) -> tuple[int, ...]:
    found = [edge for edge in range(settings.n_edges) if is_newcomer(edge)]
    return tuple(found[: settings.n_probed])


def parts_of(settings: Settings, way: Way) -> tuple[Part, ...]:
    edges = list(range(settings.n_edges))
    if way in OF_NEWCOMERS:
        edges = [edge for edge in edges if is_newcomer(edge)][: settings.n_newcomers]
    size = len(edges) if way == "shared" else CHUNK
    starts = range(0, len(edges), max(size, 1))
    return tuple(Part(way, k, tuple(edges[start : start + size])) for k, start in enumerate(starts))


# ── What every part needs ─────────────────────────────────────────────────────────────────────────────────


class Ground:
    """Personas and encoded texts, made once for each process."""

    def __init__(
        self,
        personas: Mapping[str, Persona],
        texts: Texts,
        settings: Settings,
        shipped: Sequence[Demonstration],
    ) -> None:
        """
        Args:
            shipped: Demonstrations that everybody has, part of every prior.
        """
        self.personas, self.texts, self.settings, self.shipped = personas, texts, settings, shipped

    def life(self, edge: int) -> Iterator[Asked]:
        owner = owner_of(edge, self.settings.habit)
        return life_of(owner, self.personas[owner.persona], self.settings.habit, self.tools(edge))

    def probes(self, edge: int, day: int) -> list[Asked]:
        owner = owner_of(edge, self.settings.habit)
        return probes_of(owner, self.personas[owner.persona], self.settings.habit, day, self.tools(edge))

    def tools(self, edge: int) -> frozenset[str]:
        return _tools_of(edge, self.personas[owner_of(edge, self.settings.habit).persona])


def _tools_of(edge: int, persona: Persona) -> frozenset[str]:
    """Return the names of the tools that the edge's device offers."""
    without = device_of(edge).without
    return frozenset(name for name, spec in persona.world.specs.items() if spec.domain not in without)


def texts_said(settings: Settings, personas: Mapping[str, Persona]) -> tuple[str, ...]:
    """Return every text of a simulation, requests and probes, sorted."""
    found: set[str] = set()
    for edge in range(settings.n_edges):
        owner = owner_of(edge, settings.habit)
        persona = personas[owner.persona]
        life = life_of(owner, persona, settings.habit, _tools_of(edge, persona))
        found.update(asked.wording.text for asked in life)
        found.update(sample.request.text for sample in persona.probes)
    return tuple(sorted(found))


def run_part(part: Part, ground: Ground, folder: Path) -> Path:
    """Simulate a part, write its file and return the path. `merged` reads what it needs from the parts of
    `personal`."""
    spent = time.process_time()
    if part.way == "shared":
        arrays = _shared(part, ground)
    else:
        arrays = _alone(part, ground, folder)
    path = folder / part.name
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.tmp.npz")
    with temporary.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays, cpu_s=np.array(time.process_time() - spent))
    temporary.replace(path)
    return path


# ── A student of one's own ────────────────────────────────────────────────────────────────────────────────


def _alone(part: Part, ground: Ground, folder: Path) -> Arrays:
    settings = ground.settings
    n_days = settings.habit.n_days
    sums = np.zeros((len(part.edges), n_days, len(STRATA), 2, len(MEASURES)))
    probed = np.full((len(part.edges), len(CHECKPOINTS), len(PROBED)), np.nan)
    learnt: list[tuple[int, int, str]] = []
    shapes: dict[str, int] = {}
    fetched = np.zeros(len(part.edges), dtype=np.int64)
    priors = _Priors(ground, folder, part.way) if part.way != "personal" else None
    chosen = set(probed_edges(settings))
    for k, edge in enumerate(part.edges):
        owner, life = owner_of(edge, settings.habit), list(ground.life(edge))
        device = device_of(edge)
        without = owner.persona if part.way == "strangers" else ""
        heads = priors.heads(device, without) if priors else None
        pupil = Pupil(ground.texts, device, heads, priors.guide(edge, without) if priors else None)
        fetched[k] = priors.n_bytes(without) if priors else 0
        rng = np.random.Generator(np.random.PCG64([settings.habit.seed, edge, 3]))
        watch = _Watch(ground, edge, probed[k]) if edge in chosen else None
        counts = live(life, pupil, settings.cloud, rng, n_days, watch)
        sums[k] = counts.sums
        if part.way == "personal":
            learnt += [(edge, row, shape) for row, shape in pupil.history]
    found: dict[str, NDArray[np.generic]] = {
        "fetched_bytes": fetched,
        "edges": np.array(part.edges),
        "sums": sums,
        "probed": probed,
    }
    if part.way == "personal":
        found |= {
            "learnt_edge": np.array([one[0] for one in learnt], dtype=np.int32),
            "learnt_row": np.array([one[1] for one in learnt], dtype=np.int32),
            "learnt_shape": np.array([shapes.setdefault(one[2], len(shapes)) for one in learnt], dtype=np.int32),
            "shapes": np.array(list(shapes), dtype=np.str_),
        }
    return found


class _Watch:
    """Probe a student with requests it was never taught, at each checkpoint."""

    def __init__(self, ground: Ground, edge: int, into: NDArray[np.float64]) -> None:
        self._ground, self._edge, self._into = ground, edge, into

    def __call__(self, n_lived: int, day: int, pupil: Pupil) -> None:
        if n_lived in CHECKPOINTS:
            pupil.sleep()
            self._into[CHECKPOINTS.index(n_lived)] = probe(self._ground.probes(self._edge, day), pupil)


def probe(probes: Sequence[Asked], pupil: Pupil) -> list[float]:
    """Return the `PROBED` values of a student's own plans."""
    found = dict.fromkeys(PROBED, 0.0)
    for asked in probes:
        best = pupil.propose(asked)
        own = judged(best.plan if best else None, asked)
        sort = "unplanned" if asked.plan is None else "convention" if asked.is_convention else "common"
        measured = {"n": 1.0, "exact": own.exact, "node_f1": own.node_f1, "tools": own.tools}
        for name, value in measured.items():
            found[name] += value
            if f"{name}_{sort}" in found:
                found[f"{name}_{sort}"] += value
    return [float(found[name]) for name in PROBED]


class _Learnt:
    """Demonstrations that the founders learnt, from the parts of `personal`."""

    def __init__(self, ground: Ground, folder: Path) -> None:
        settings = ground.settings
        text_at = {row: text for text, row in ground.texts.place.items()}
        self.rows: list[tuple[int, int, tuple[str, ...]]] = []
        """Edge, place of the text, tools."""
        taught: dict[int, list[tuple[str, str]]] = {}
        for part in parts_of(settings, "personal"):
            read = np.load(folder / part.name)
            shapes = [str(one) for one in read["shapes"]]
            tools = [tuple(str(step[0]) for step in json.loads(shape)) for shape in shapes]
            for edge, row, k in zip(read["learnt_edge"], read["learnt_row"], read["learnt_shape"], strict=True):
                if not is_newcomer(int(edge)):
                    self.rows.append((int(edge), int(row), tools[k]))
                    taught.setdefault(int(edge), []).append((text_at[int(row)], shapes[k]))
        self.persona = {edge: owner_of(edge, settings.habit).persona for edge in taught}
        self.founders = Founders(taught, self.persona)


def make_priors(way: Way, ground: Ground, folder: Path, encoder: Encoder, progress: Progress = SILENT) -> None:
    """Write the output of a way's priors where `_Priors` looks for it, unless it is there already."""
    path = folder / f"{way}.json"
    if path.exists() or way not in OF_NEWCOMERS:
        return
    asked: dict[str, set[str]] = {}
    for part in parts_of(ground.settings, way):
        for edge in part.edges:
            persona = owner_of(edge, ground.settings.habit).persona
            mine = asked.setdefault(persona if way == "strangers" else "", set())
            mine.update(one.wording.text for one in ground.life(edge))
            mine.update(sample.request.text for sample in ground.personas[persona].probes)
    tools = next(iter(ground.personas.values())).world.specs
    texts = {without: sorted(mine) for without, mine in asked.items()}
    founders = _Learnt(ground, folder).founders if way != "shipped" else Founders({}, {})
    fresh = Fresh(encoder, tools, ground.shipped)
    write_likely(path, founders, fresh, texts, progress, is_private=way == "private")


class _Priors:
    """Priors made from what the founders learnt; each student that begins with one gets a copy."""

    def __init__(self, ground: Ground, folder: Path, way: Way) -> None:
        self._ground = ground
        self._made: dict[tuple[str, str], Heads] = {}
        self._learnt = _Learnt(ground, folder) if way not in ("shipped", "private") else None
        self._said = json.loads((folder / f"{way}.json").read_text())
        self._arguments = Arguments(ground.shipped)

    def heads(self, device: Device, without: str) -> Heads | None:
        """Return heads over the device's features, learnt from all founders except one persona's; None without
        founders, or where what they learnt is published with noise alone."""
        if self._learnt is None:
            return None
        if (device.name, without) not in self._made:
            if len(self._made) > 3:  # each holds two large matrices
                self._made.clear()
            persona = self._learnt.persona
            mine = [(row, tools) for edge, row, tools in self._learnt.rows if persona[edge] != without]
            self._made[device.name, without] = heads_of(mine, self._ground.texts, device)
        return copy.deepcopy(self._made[device.name, without])

    def guide(self, edge: int, without: str) -> Guide:
        specs = self._ground.personas[owner_of(edge, self._ground.settings.habit).persona].world.specs
        offered = self._ground.tools(edge)
        tools = {name: spec for name, spec in specs.items() if name in offered}
        return Guide(self._said[without]["likely"], self._arguments, tools)

    def n_bytes(self, without: str) -> int:
        """Return the size of the prior as it is fetched."""
        return int(self._said[without]["n_bytes"])


PRIOR_WEIGHT = 300.0
"""Number of demonstrations that a prior counts for beside the owner's own; heavier priors are decayed to that."""


def heads_of(learnt: Sequence[tuple[int, tuple[str, ...]]], texts: Texts, device: Device) -> Heads:
    """Return the heads that merging the statistics of all who learnt this gives, to the bit."""
    features = texts.features[device.name]
    heads = blank_heads(texts, device)
    for start in range(0, len(learnt), 512):
        some = learnt[start : start + 512]
        heads.learn(np.asarray(features[[row for row, _ in some]]), [targets_of(tools) for _, tools in some])
    if heads.weight_seen > PRIOR_WEIGHT:
        heads.decay(PRIOR_WEIGHT / heads.weight_seen)
    heads.settle()
    return heads


# ── One student for all ───────────────────────────────────────────────────────────────────────────────────

SHARED_DEVICE = DEVICES[-1]
_N_MEANINGS = 3
"""Number of plans kept for the same words; a new one replaces the oldest."""


class _Everybodys:
    """The shared student: taught by all at night, asked by all during the day."""

    def __init__(self, ground: Ground) -> None:
        self._texts = ground.texts
        self.pupil = Pupil(ground.texts, replace(SHARED_DEVICE, most_demonstrations=1 << 30))
        self._today: dict[tuple[str, object], Repeat | None] = {}
        self._learnt: list[tuple[Asked, Plan]] = []
        self._turn: Counter[str] = Counter()

    def open_day(self, asked: Sequence[Asked]) -> None:
        """Plan all requests of a day with the knowledge of its morning."""
        self._today = {}
        first = {(one.wording.text, one.now): one for one in asked}
        keys = list(first)
        for start in range(0, len(keys), 256):
            some = keys[start : start + 256]
            rows = np.asarray(self._texts.vectors[[self._texts.place[text] for text, _ in some]])
            cosines = rows @ self.pupil.repeats.vectors.T
            for key, mine in zip(some, cosines, strict=True):
                self._today[key] = self.pupil.propose(first[key], mine)

    def propose(self, asked: Asked) -> Repeat | None:
        return self._today[asked.wording.text, asked.now]

    def told(self, asked: Asked, plan: Plan) -> None:
        self._learnt.append((asked, plan))

    def sleep(self) -> int:
        """Learn at night, and return the bytes that every edge then fetches: the new demonstrations and the solved
        heads."""
        pack, n_bytes = zlib.compressobj(6), 0
        for asked, plan in self._learnt:
            line = {"user_request": asked.wording.text, **plan_to_json(plan)}
            n_bytes += len(pack.compress(json.dumps(line).encode()))
            text = asked.wording.text
            turn = self._turn[text] % _N_MEANINGS
            self._turn[text] += 1
            self.pupil.learn(asked, plan, f"{self._texts.place[text]}:{turn}")
        self._learnt = []
        self.pupil.sleep()
        heads = self.pupil.heads
        return n_bytes + len(pack.flush()) + heads.n_features * len(heads.outputs) * SHARED_DEVICE.weight_bytes


def _shared(part: Part, ground: Ground) -> Arrays:
    settings = ground.settings
    n_days, cloud, wire = settings.habit.n_days, settings.cloud, Wire()
    everybody = _Everybodys(ground)
    sums = np.zeros((len(part.edges), n_days, len(STRATA), 2, len(MEASURES)))
    lives = [_ByDay(ground.life(edge)) for edge in part.edges]
    draws = [np.random.Generator(np.random.PCG64([settings.habit.seed, edge, 3])) for edge in part.edges]
    chosen = [edge for edge in probed_edges(settings) if edge in set(part.edges)]
    probed = np.full((n_days, len(PROBED)), np.nan)
    fetched = np.zeros(n_days, dtype=np.int64)
    for day in range(n_days):
        today = [life.of(day) for life in lives]
        everybody.open_day([asked for mine in today for asked in mine])
        for k, mine in enumerate(today):
            for asked in mine:
                _ask_everybodys(asked, everybody, cloud, wire, draws[k], Counts(sums[k]))
        fetched[day] = everybody.sleep()
        if day in _PROBED_DAYS or day == n_days - 1:
            probed[day] = np.sum([probe(ground.probes(edge, day), everybody.pupil) for edge in chosen], axis=0)
    return {"edges": np.array(part.edges), "sums": sums, "probed": probed, "fetched_bytes": fetched}


_PROBED_DAYS = (0, 4, 9, 19)


class _ByDay:
    """A life read one day at a time."""

    def __init__(self, life: Iterator[Asked]) -> None:
        self._life = life
        self._next = next(life, None)

    def of(self, day: int) -> list[Asked]:
        found = []
        while self._next is not None and self._next.day == day:
            found.append(self._next)
            self._next = next(self._life, None)
        return found


def _ask_everybodys(
    asked: Asked, everybody: _Everybodys, cloud: Cloud, wire: Wire, rng: np.random.Generator, counts: Counts
) -> None:
    stratum = stratum_of(asked, everybody.pupil)
    best = everybody.propose(asked)
    own = judged(best.plan if best else None, asked)
    is_sure = best is not None and best.sureness >= cloud.sure
    is_compared = bool(rng.random() < cloud.compared_share) and is_sure
    is_corrected = rng.random() < cloud.corrected_share
    values: dict[str, float] = {"own_exact": own.exact, "own_node_f1": own.node_f1, "own_tools": own.tools}
    final = own
    if is_compared or not is_sure:
        plan = taught(asked, rng, cloud.teacher_errors)
        final = judged(plan, asked)
        values |= {"asked": 1, "compared": is_compared} | wire.cost(asked, plan, cloud)
        everybody.told(asked, plan)
    elif not own.exact and is_corrected:
        values["corrected"] = 1
        everybody.told(asked, asked.plan or Plan(()))
    counts.add(asked, stratum, values | {"exact": final.exact, "node_f1": final.node_f1})
