"""Generate the requests of a simulated fleet's owners: Q2A's instructions as habits, reworded, on other days.

An owner is one of Q2A's six personas with meanings of their own: what a phrase like "goodnight" stands for (which
lamp, how warm, whom to tell) is drawn for each owner where no word of the request says it. Each kind of request (an
instruction, or all instructions that use one convention) has a weight by Zipf's law; its rank is drawn for each owner.
Requests come from the split `stream` alone; `test` is kept for requests that were never taught.

A right plan is rewritten only where that is certain:

* times move by whole days if they lie today, tomorrow or yesterday and the words say so, and by whole weeks if the
  words name a day of the week; an instruction that names a date, or whose times do not follow from its words, is asked
  at most once;
* a value is exchanged for another if it occurs once in the words and once in the plan;
* a convention's values are exchanged if none of its instructions says them; an instruction that says some of them
  (it explains the convention) is left out.

Covered: the same seed gives the same fleet to the last letter, edge by edge.
Not covered: instructions that refer to the one before; needs that change with the season or with events; people who
learn to speak to it; running the plans (Q2A's checker ran those that they were made from).
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from zoneinfo import ZoneInfo

import numpy as np

from hearth.language.tokens import folded, stem
from hearth.planning.adaptation import moved, values_of
from hearth.types import Argument, Plan, Ref
from hearth_bench.data.q2a_homes import World, read_world
from hearth_bench.data.q2a_instructions import OWNERS, Sample, read_owner
from hearth_bench.fleet.paraphrases import others_like, said_otherwise

FIRST_DAY = dt.date(2026, 9, 14)
"""Day 0 of the simulation, in Q2A's calendar: most conventions change their meaning within the 30 days from here."""
N_VARIANTS = 12
"""Most wordings of each instruction; the first is its own."""
_VERBATIM_SHARE = 0.5
"""Share of requests said in the owner's favourite wording; the others use any wording."""
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d")
_DATED = re.compile(
    r"\b\d{1,2}(?:st|nd|rd|th)\b|\b\d{1,2}[./]\d{1,2}\b|\b\d{4}-\d\d|"
    r"\b(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)(?:uary|ruary|ch|il|e|y|ust|ember|tember|ober)?\b",
    re.IGNORECASE,
)
_WEEK = re.compile(r"\b(?:mon|tue|wed|thu|fri|sat|sun)\w*|\bweek\w*", re.IGNORECASE)
_NEXT = re.compile(r"\b(?:tomorrow|tmrw|tmr|tomorow|overnight)\b", re.IGNORECASE)
_LAST = re.compile(r"\b(?:yesterday|last night|night|this morning)\b", re.IGNORECASE)

Meaning = Mapping[tuple[str, str, str], Argument]
"""An owner's values in place of the persona's, by convention, tool and parameter, and the value's form."""


@dataclass(frozen=True, slots=True)
class Wording:
    """One wording of an instruction."""

    sample: Sample
    kind: str
    variant: int
    text: str
    plan: Plan | None
    """Right plan with the wording's exchanged values, at the instruction's own time and with the persona's meanings."""

    @property
    def id(self) -> str:
        return f"{self.sample.id}~{self.variant}"


@dataclass(frozen=True, slots=True)
class Kind:
    """Kind of request that an owner repeats."""

    name: str
    owner: str
    samples: tuple[Sample, ...]
    is_once: bool
    weekday: int | None
    """Only day of the week on which it can be asked; None: any."""

    @property
    def is_convention(self) -> bool:
        return bool(self.samples[0].convention)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of an owner with its right plan."""

    day: int
    now: dt.datetime
    wording: Wording
    plan: Plan | None
    """Right plan; None: asking or refusing is right."""

    @property
    def kind(self) -> str:
        return self.wording.kind

    @property
    def is_convention(self) -> bool:
        return bool(self.wording.sample.convention)


class Persona:
    """One of Q2A's owners: world, kinds of requests, and the instructions kept as never taught."""

    def __init__(self, owner: str, n_variants: int = N_VARIANTS) -> None:
        self.owner, self.n_variants = owner, n_variants
        self.world: World = read_world(owner)
        self.zone: ZoneInfo = self.world.zone
        samples = [one for one in read_owner(owner) if not one.follows]
        self._canonical = _canonical(samples, self.world)
        usable = [one for one in samples if not self._explains(one)]
        self.kinds = tuple(_kinds([one for one in usable if one.split == "stream"], self.zone))
        self.probes = tuple(one for one in usable if one.split == "test")
        self._wordings: dict[str, tuple[Wording, ...]] = {}
        self._open: dict[dt.date, dict[str, tuple[Sample, ...]]] = {}
        self._pools = _pools([one for one in samples if one.split != "test"])

    def _phase(self, sample: Sample) -> str:
        found = self.world.convention_at(sample.convention, sample.request.now)
        return f"{sample.convention}/{found.since if found else ''}"

    def _explains(self, sample: Sample) -> bool:
        """Return whether the instruction says a value that its convention stands for."""
        if not sample.convention or sample.plan is None:
            return False
        words = _stems(sample.request.text)
        canonical = self._canonical[self._phase(sample)]
        return any(_stems(str(value)) & words for *_, value in _located(sample.plan) if repr(value) in canonical)

    def wordings(self, sample: Sample) -> tuple[Wording, ...]:
        """Return every wording of an instruction, its own first."""
        if sample.id not in self._wordings:
            kind = _kind_of(sample)
            fixed = self._canonical[self._phase(sample)] if sample.convention else frozenset[str]()
            found = [Wording(sample, kind, 0, sample.request.text, sample.plan)]
            for variant in range(1, self.n_variants):
                text, plan = said_otherwise(sample, variant, self._pools, fixed)
                if all(text != one.text for one in found):
                    found.append(Wording(sample, kind, variant, text, plan))
            self._wordings[sample.id] = tuple(found)
        return self._wordings[sample.id]

    def meaning(self, rng: np.random.Generator) -> Meaning:
        """Draw the meaning of an owner's phrases: each value of a convention exchanged for another of its sort."""
        found: dict[tuple[str, str, str], Argument] = {}
        taken: set[tuple[str, str]] = set()
        places = sorted(
            {
                (sample.convention, tool, name, repr(value)): value
                for sample in [s for kind in self.kinds for s in kind.samples] + list(self.probes)
                if sample.convention and sample.plan is not None
                for tool, name, value in _located(sample.plan)
                if repr(value) in self._canonical[self._phase(sample)]
            }.items()
        )
        for (convention, tool, name, form), value in places:
            pool = [one for one in others_like(tool, name, value, self._pools) if (convention, repr(one)) not in taken]
            if pool:
                chosen = pool[int(rng.integers(len(pool)))]
                found[convention, f"{tool}.{name}", form] = chosen
                taken.add((convention, repr(chosen)))
        return found

    def at(self, wording: Wording, date: dt.date, meaning: Meaning) -> tuple[dt.datetime, Plan | None]:
        """Return the time on a day at which it is said, and the right plan for an owner with these meanings."""
        sample = wording.sample
        then = sample.request.now.astimezone(self.zone)
        now = dt.datetime.combine(date, then.time().replace(tzinfo=None), self.zone)
        if wording.plan is None:
            return now, None
        plan = moved(wording.plan, then, now)
        if sample.convention and meaning:
            plan = _meant(plan, sample.convention, self._canonical[self._phase(sample)], meaning)
        return now, plan

    def open_on(self, date: dt.date) -> Mapping[str, tuple[Sample, ...]]:
        """Return, by kind, the instructions that can be asked on a day."""
        if date not in self._open:
            self._open[date] = {
                kind.name: tuple(s for s in kind.samples if self.holds(s, date) and _fits(s, date, self.zone))
                for kind in self.kinds
                if kind.weekday in (None, date.weekday())
            }
        return self._open[date]

    def holds(self, sample: Sample, date: dt.date) -> bool:
        """Return whether an instruction's convention means on a day what it meant when the instruction was written."""
        if not sample.convention:
            return True
        noon = dt.datetime.combine(date, dt.time(12), self.zone)
        found = self.world.convention_at(sample.convention, noon)
        return found is not None and f"{sample.convention}/{found.since}" == self._phase(sample)


# ── Owners ────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Owner:
    """One owner of the fleet."""

    number: int
    persona: str
    rate: float
    """Mean requests per day."""


@dataclass(frozen=True, slots=True)
class Habit:
    """Settings by which a fleet's owners are drawn."""

    seed: int = 0
    n_days: int = 30
    requests_a_day: float = 7.0
    exponent: float = 1.0
    """Exponent of Zipf's law over an owner's kinds of requests."""
    own_meanings: bool = True
    """False: all owners of a persona mean the same by their phrases."""
    n_variants: int = N_VARIANTS


def owner_of(number: int, habit: Habit) -> Owner:
    """Draw the owner of an edge: the personas in turn, with a log-normal rate of requests around the mean."""
    rng = np.random.Generator(np.random.PCG64([habit.seed, number, 1]))
    spread = 0.5
    rate = habit.requests_a_day * float(np.exp(spread * rng.standard_normal() - spread**2 / 2))
    return Owner(number, OWNERS[number % len(OWNERS)], round(min(max(rate, 1.0), 40.0), 3))


def life_of(owner: Owner, persona: Persona, habit: Habit, tools: frozenset[str] | None = None) -> Iterator[Asked]:
    """Yield all requests of an owner, in order of time.

    Args:
        tools: Tools of the owner's device; requests that need others are left out. None: all.
    """
    rng = np.random.Generator(np.random.PCG64([habit.seed, owner.number, 2]))
    meaning = persona.meaning(rng) if habit.own_meanings else {}
    kinds = [kind for kind in persona.kinds if _can(kind, tools)]
    places = rng.permutation(len(kinds))
    frequent = np.array([len(kind.samples) if kind.is_convention else 1.0 for kind in kinds])
    weights = frequent / (1.0 + places) ** habit.exponent
    favourite = rng.integers(0, persona.n_variants, size=len(kinds))
    done: set[str] = set()
    for day in range(habit.n_days):
        date = FIRST_DAY + dt.timedelta(days=day)
        there = persona.open_on(date)
        open_ = np.array([bool(there.get(k.name)) and not (k.is_once and k.name in done) for k in kinds])
        odds = weights * open_
        drawn: list[tuple[dt.datetime, int, Asked]] = []
        for k in rng.choice(len(kinds), size=int(rng.poisson(owner.rate)), p=odds / odds.sum()):
            kind = kinds[int(k)]
            u, v, w = rng.random(3)
            if kind.is_once and kind.name in done:
                continue
            done.add(kind.name)
            samples = there[kind.name]
            ways = persona.wordings(samples[int(u * len(samples))])
            way = ways[int(favourite[int(k)]) % len(ways)] if v < _VERBATIM_SHARE else ways[int(w * len(ways))]
            now, plan = persona.at(way, date, meaning)
            drawn.append((now, len(drawn), Asked(day, now, way, plan)))
        yield from (asked for *_, asked in sorted(drawn, key=lambda each: each[:2]))


def probes_of(
    owner: Owner, persona: Persona, habit: Habit, day: int, tools: frozenset[str] | None = None
) -> list[Asked]:
    """Return requests that the owner never made: instructions of the split `test`, said on a day.

    Instructions whose day is fixed are said on their own day; conventions are those that hold on the day.
    """
    rng = np.random.Generator(np.random.PCG64([habit.seed, owner.number, 2]))
    meaning = persona.meaning(rng) if habit.own_meanings else {}
    today = FIRST_DAY + dt.timedelta(days=day)
    found = []
    for sample in persona.probes:
        if not persona.holds(sample, today) or (tools is not None and not _has_tools(sample, tools)):
            continue
        its_own = sample.request.now.astimezone(persona.zone).date()
        date = today if _how_it_moves(sample, persona.zone) == "days" else its_own
        way = Wording(sample, _kind_of(sample), 0, sample.request.text, sample.plan)
        now, plan = persona.at(way, date, meaning)
        found.append(Asked(day, now, way, plan))
    return found


def _can(kind: Kind, tools: frozenset[str] | None) -> bool:
    return tools is None or all(_has_tools(sample, tools) for sample in kind.samples)


def _has_tools(sample: Sample, tools: frozenset[str]) -> bool:
    return sample.plan is None or all(step.tool in tools for step in sample.plan.steps)


def _fits(sample: Sample, date: dt.date, zone: ZoneInfo) -> bool:
    how = _how_it_moves(sample, zone)
    return how != "weeks" or sample.request.now.astimezone(zone).weekday() == date.weekday()


# ── Kinds ─────────────────────────────────────────────────────────────────────────────────────────────────


def _kind_of(sample: Sample) -> str:
    return f"{sample.owner}:{sample.convention or sample.id}"


def _kinds(samples: Sequence[Sample], zone: ZoneInfo) -> list[Kind]:
    groups: dict[str, list[Sample]] = {}
    for sample in samples:
        if sample.convention and _how_it_moves(sample, zone) == "never":
            continue  # it belongs to a habit but is tied to one day
        groups.setdefault(_kind_of(sample), []).append(sample)
    found = []
    for name, mine in groups.items():
        how = {_how_it_moves(one, zone) for one in mine}
        days = {one.request.now.astimezone(zone).weekday() for one in mine}
        is_weekly = how == {"weeks"} and len(days) == 1
        found.append(Kind(name, mine[0].owner, tuple(mine), how == {"never"}, days.pop() if is_weekly else None))
    return found


def _how_it_moves(sample: Sample, zone: ZoneInfo) -> str:
    """Say how the right plan can be moved to another day with certainty: by `days`, by `weeks` or `never`."""
    if sample.plan is None:
        return "never" if _DATED.search(sample.request.text) else "days"
    moments = [v for v in values_of(sample.plan) if isinstance(v, str) and _MOMENT.match(v)]
    text = sample.request.text
    if _DATED.search(text):
        return "never"
    if not moments:
        return "weeks" if _WEEK.search(text) else "days"
    if _WEEK.search(text):
        return "weeks"
    today = sample.request.now.astimezone(zone).date()
    for value in moments:
        apart = (_local(value, zone) - today).days
        is_end = value[10:16] in ("T00:00", "")
        said = {1: bool(_NEXT.search(text)), -1: bool(_LAST.search(text)), 0: True}
        if is_end and apart > 0:
            apart -= 1  # a midnight that ends a day belongs to that day
        if not (said.get(apart, False) or (is_end and said.get(apart + 1, False))):
            return "never"
    return "days"


def _local(value: str, zone: ZoneInfo) -> dt.date:
    if len(value) == 10:
        return dt.date.fromisoformat(value)
    at = dt.datetime.fromisoformat(value)
    return at.astimezone(zone).date() if at.tzinfo else at.date()


# ── Conventions ───────────────────────────────────────────────────────────────────────────────────────────


def _canonical(samples: Sequence[Sample], world: World) -> dict[str, frozenset[str]]:
    """Return, by convention and meaning, the values that at least half of its instructions' plans share."""
    groups: dict[str, list[Sample]] = {}
    for sample in samples:
        if sample.convention:
            found = world.convention_at(sample.convention, sample.request.now)
            groups.setdefault(f"{sample.convention}/{found.since if found else ''}", []).append(sample)
    canonical = {}
    for name, mine in groups.items():
        planned = [one.plan for one in mine if one.plan is not None]
        counts = Counter(form for plan in planned for form in {repr(v) for *_, v in _located(plan)})
        canonical[name] = frozenset(form for form, n in counts.items() if 2 * n >= len(planned))
    return canonical


def _located(plan: Plan) -> Iterator[tuple[str, str, Argument]]:
    """Yield the exchangeable single values of a plan, each with tool and parameter."""
    for step in plan.steps:
        for name, value in step.arguments.items():
            if f"{step.tool}.{name}" in _MEANT:
                for one in value if isinstance(value, list) else [value]:
                    if not isinstance(one, Ref | dict | list):
                        yield step.tool, name, one


_MEANT = frozenset(
    {
        *("turn_on.device", "turn_off.device", "set_brightness.device", "lock_door.device", "close_blinds.device"),
        *("open_blinds.device", "set_temperature.device", "set_volume.device", "set_brightness.percent"),
        *("set_volume.percent", "set_temperature.temperature", "set_timer.length", "find_contact.name"),
        *("add_to_list.items", "add_to_list.list", "find_video.room"),
    }
)
"""Parameters whose value a convention may leave to its owner."""


def _meant(plan: Plan, convention: str, canonical: frozenset[str], meaning: Meaning) -> Plan:
    steps = []
    for step in plan.steps:
        arguments: dict[str, Argument] = {}
        for name, value in step.arguments.items():

            def own(one: Argument, key: str = f"{step.tool}.{name}") -> Argument:
                if isinstance(one, Ref) or repr(one) not in canonical:
                    return one
                return meaning.get((convention, key, repr(one)), one)

            arguments[name] = [own(one) for one in value] if isinstance(value, list) else own(value)
        steps.append(replace(step, arguments=arguments))
    return replace(plan, steps=tuple(steps))


def _pools(samples: Sequence[Sample]) -> dict[str, tuple[Argument, ...]]:
    """Collect the values of each parameter in a persona's plans."""
    found: dict[str, dict[str, Argument]] = {}
    for sample in samples:
        for step in sample.plan.steps if sample.plan else ():
            for name, value in step.arguments.items():
                for one in value if isinstance(value, list) else [value]:
                    if not isinstance(one, Ref | dict | list):
                        found.setdefault(f"{step.tool}.{name}", {})[repr(one)] = one
    return {key: tuple(values[form] for form in sorted(values)) for key, values in found.items()}


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in re.findall(r"[^\W_]+", folded(text)) if len(word) > 2 or word.isdigit())
