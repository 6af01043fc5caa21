"""Adapts the plan of a demonstration in nearly the same words: moves its times and exchanges its values.

People ask for the same few things again and again, in other words, on other days, with another name or text in them.
`Repeats` aligns a request word by word with each similar demonstration; a word with a typing error counts as the same
word. Moments of the plan move by the days in between, values that stood in the taught words are read from their place
in the new ones, and everything else stays as taught. Each plan comes with features of the match (`SIGNS`) and a
probability that it is right.

Covered: repetition with other politeness, order, spelling; the owner's own phrases for fixed plans; changed meanings,
when the old one is contradicted (`contradict`).
Not covered: dates written out ("the 12th") in a request asked again on another day, values that must be computed,
requests of a kind never taught: for these the sureness is low, and another planner must be asked.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hearth.planning.adaptation.word_alignment import (
    POLITE,
    Said,
    as_value,
    place_of,
    quotations,
    quoted_at,
    spellings_of,
    trimmed,
    words_of,
)
from hearth.types import Argument, Demonstration, Plan, Ref, Request, Step

Floats = NDArray[np.float64]
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?(?:[+-]\d\d:\d\d|Z)?)?")
_N_NEAR, _N_SHARED = 6, 6
"""Candidates looked at closely: so many by the sentence's vector, so many by shared rare words."""
_N_COMMON = 64
"""A word that occurs in more demonstrations than this makes none of them a candidate."""
SIGNS = (
    *("bias", "cosine", "kept", "new", "both", "exchanged", "unfilled", "agreed", "margin", "hour", "nothing"),
    *("likely", "short"),
)
WEIGHTS = np.array([-4.65, 0.4, 0.48, -0.28, 3.06, -1.94, -3.29, 0.93, 4.18, -2.57, 3.01, 3.26, 5.06])
"""Weights of the signs in the log-odds that a plan is right: `hearth_bench.measure.learning.fleet_sureness`."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """One plan for a request: that of a demonstration, adapted to it."""

    plan: Plan
    """Plan for the request; without steps when nothing is to be done."""
    id: str
    """Id of the demonstration."""
    likeness: float
    signs: Floats
    """Features of the match, in the order of `SIGNS`."""

    @property
    def sureness(self) -> float:
        """Return the probability that the plan is right, as fitted (`hearth_bench.measure.learning.fleet_sureness`)."""
        return float(1 / (1 + math.exp(-float(self.signs @ WEIGHTS))))


@dataclass(frozen=True, slots=True)
class _Taught:
    id: str
    said: tuple[str, ...]
    slots: tuple[tuple[int, int, Argument], ...]
    """Word spans that are values of the plan: first word, index after the last, the value."""
    plan: Plan
    form: tuple[object, ...]
    """Form of the plan: its effect without its moments and exchanged values."""
    now: dt.datetime | None
    weights: tuple[float, ...]
    """Weights of its words."""
    quoted: Mapping[int, tuple[int, int]]
    """For a span in quotation marks, by its first word: its position among the quotations, and their number."""


class Repeats:
    """Demonstrations indexed by their words; the same ones in the same order give the same answers. Not thread-safe."""

    def __init__(self, rarity: Mapping[str, float], dim: int, most: int = 1 << 30) -> None:
        """Start without demonstrations.

        Args:
            rarity: Weight of each word, as `rarity_of` counts it among other people's requests.
            dim: Dimension of the vectors.
            most: Number of demonstrations kept; a new one replaces the one whose plan was wanted longest ago.
        """
        self._rarity, self._most = rarity, most
        self._unknown = max(rarity.values(), default=1.0)
        self._taught: dict[str, _Taught] = {}
        self._rows: list[str] = []
        self._place: dict[str, int] = {}
        self._vectors: NDArray[np.float32] = np.zeros((16, dim), dtype=np.float32)
        self._with: dict[str, dict[str, None]] = {}  # ids by word and by its spellings
        self._used: dict[str, int] = {}
        self._clock = 0

    def __len__(self) -> int:
        return len(self._taught)

    def add(self, demonstration: Demonstration, vector: NDArray[np.float32]) -> None:
        """Add a demonstration; one with a known id replaces the older."""
        self.remove(demonstration.id)
        if len(self._taught) >= self._most:
            self.remove(min(self._used, key=lambda id: (self._used[id], id)))
        said, places = words_of(demonstration.request)
        slots = _slots(demonstration.request, demonstration.plan, places)
        form = form_of(demonstration.plan, [slot[2] for slot in slots])
        weights = tuple(self._weight(word) for word in said)
        quoted = quotations(demonstration.request, [(a, places[a][0]) for a, *_ in slots])
        one = _Taught(demonstration.id, said, slots, demonstration.plan, form, demonstration.now, weights, quoted)
        self._taught[one.id] = one
        if len(self._rows) == len(self._vectors):
            self._vectors = np.vstack([self._vectors, np.zeros_like(self._vectors)])
        self._vectors[len(self._rows)] = vector
        self._place[one.id] = len(self._rows)
        self._rows.append(one.id)
        self._touch(one.id)
        for word in set(said) - POLITE:
            for key in spellings_of(word):
                self._with.setdefault(key, {})[one.id] = None

    def remove(self, id: str) -> None:
        """Forget a demonstration; an unknown id is ignored."""
        one = self._taught.pop(id, None)
        if one is None:
            return
        row = self._place.pop(id)
        last = self._rows.pop()
        if last != id:
            self._rows[row], self._place[last] = last, row
            self._vectors[row] = self._vectors[len(self._rows)]
        del self._used[id]
        for word in set(one.said) - POLITE:
            for key in spellings_of(word):
                self._with[key].pop(id, None)

    def _touch(self, id: str) -> None:
        self._clock += 1
        self._used[id] = self._clock

    def propose(
        self,
        request: Request,
        vector: NDArray[np.float32],
        likely: Callable[[Plan], float] | None = None,
        cosines: NDArray[np.float32] | None = None,
        most: int = 1,
    ) -> list[Repeat]:
        """Return plans for a request, the surest first; of several that do the same, only one.

        Args:
            likely: Another model's probability, in [0, 1], of a plan's tools for this request.
            cosines: Cosines of the vector with `vectors`, when they were computed for many at once.
            most: Greatest number of plans returned.
        """
        if not self._taught:
            return []
        said, now = Said(request.text, self._weight), request.now
        if cosines is None:
            cosines = self.vectors @ vector
        found = []
        for row in self._near(said.words, cosines):
            one = self._taught[self._rows[row]]
            fitted = _fit(one, said, one.weights, now)
            cosine = float(cosines[row])
            found.append((one, fitted, cosine, 0.5 * cosine + 0.5 * fitted.kept * fitted.new))
        found.sort(key=lambda each: (-each[3], -self._used[each[0].id]))
        return self._ranked(found, likely, now, len(said.words), most)

    def _near(self, said: Sequence[str], cosines: NDArray[np.float32]) -> list[int]:
        """Return the rows worth a closer look."""
        n = min(_N_NEAR, len(cosines))
        near = np.argpartition(-cosines, n - 1)[:n] if len(cosines) > n else np.arange(len(cosines))
        shared: dict[str, float] = {}
        for word in dict.fromkeys(said):
            if word in POLITE:
                continue
            met: dict[str, None] = {}
            for key in spellings_of(word):
                met.update(self._with.get(key, {}))
            weight = self._weight(word)
            if len(met) <= _N_COMMON:  # a word that is in many demonstrations tells nothing
                for id in met:
                    shared[id] = shared.get(id, 0.0) + weight
        best = sorted(shared, key=lambda id: (-shared[id], -self._used[id]))[:_N_SHARED]
        return list(dict.fromkeys([*map(int, sorted(near)), *(self._place[id] for id in best)]))

    def _ranked(
        self,
        found: Sequence[tuple[_Taught, _Fitted, float, float]],
        likely: Callable[[Plan], float] | None,
        now: dt.datetime,
        n_words: int,
        most: int,
    ) -> list[Repeat]:
        best: dict[object, tuple[_Taught, _Fitted, float, float]] = {}
        mass: dict[object, float] = {}
        for each in found:
            form = each[0].form
            best.setdefault(form, each)  # the most similar comes first
            mass[form] = mass.get(form, 0.0) + math.exp(12 * (each[3] - found[0][3]))
        whole = sum(mass.values())
        top = sorted((each[3] for each in best.values()), reverse=True)[:2]
        ranked = []
        for one, fitted, cosine, likeness in best.values():
            other = top[0] if likeness < top[0] else top[1] if len(top) > 1 else 0.0
            signs = np.array([
                1.0, cosine, fitted.kept, fitted.new, fitted.kept * fitted.new, float(bool(fitted.changes)),
                fitted.unfilled, mass[one.form] / whole, likeness - other, fitted.hours / 12, float(not one.plan.steps),
                likely(one.plan) if likely else 0.0, 1 / (1 + n_words),
            ])  # fmt: skip
            ranked.append((float(signs @ WEIGHTS), likeness, one, fitted, signs))
        ranked.sort(key=lambda each: (-each[0], -each[1]))
        return [
            Repeat(_planned(one, fitted.changes, now), one.id, likeness, signs)
            for _, likeness, one, fitted, signs in ranked[:most]
        ]

    @property
    def vectors(self) -> NDArray[np.float32]:
        """Return the vectors of the demonstrations, in the order of their rows."""
        return self._vectors[: len(self._rows)]

    def nearest(self, vector: NDArray[np.float32]) -> Plan | None:
        """Return the plan of the demonstration with the nearest vector, as it was taught."""
        if not self._rows:
            return None
        return self._taught[self._rows[int(np.argmax(self.vectors @ vector))]].plan

    def used(self, id: str) -> None:
        """Record that its plan was wanted again."""
        if id in self._used:
            self._touch(id)

    def contradict(self, text: str, vector: NDArray[np.float32], wrong: Repeat, right: Plan, least: float = 0.5) -> int:
        """Forget the demonstrations that made a wrong proposal for a request, and return how many they were.

        Forgotten are those that mean the same plan for similar words. Nothing is forgotten when the right plan differs
        only in values that were said: these were misread.
        """
        rested = self._taught.get(wrong.id)
        if rested is None:
            return 0
        said, places = words_of(text)
        if form_of(right, [slot[2] for slot in _slots(text, right, places)]) == rested.form:
            return 0
        telling = set(said) - POLITE
        gone = [
            one.id
            for one, other in ((self._taught[id], self._vectors[row]) for row, id in enumerate(self._rows))
            if one.form == rested.form and (float(other @ vector) >= least or telling & set(one.said))
        ]
        for id in gone:
            self.remove(id)
        return len(gone)

    def _weight(self, word: str) -> float:
        return 0.1 if word in POLITE else self._rarity.get(word, self._unknown)


def rarity_of(requests: Iterable[str]) -> dict[str, float]:
    """Weigh words by how few of many people's requests have them."""
    counts: Counter[str] = Counter()
    n = 0
    for text in requests:
        counts.update(set(words_of(text)[0]))
        n += 1
    return {word: 0.2 + math.log((n + 1) / (count + 0.5)) / math.log(n + 2) for word, count in counts.items()}


# ── Plans ─────────────────────────────────────────────────────────────────────────────────────────────────


def moved(plan: Plan, then: dt.datetime, now: dt.datetime) -> Plan:
    """Return the plan with its moments moved by the days from `then` to `now`, at the same hour in `now`'s zone."""
    days = (now.date() - then.astimezone(now.tzinfo).date()).days
    if not days:
        return plan
    return exchanged(plan, lambda value: moment_later(value, days, now.tzinfo) if isinstance(value, str) else value)


def moment_later(value: str, days: int, zone: dt.tzinfo | None) -> str:
    """Return a moment `days` later, at the same wall-clock hour; any other value stays."""
    try:
        return _later(value, days, zone) if _MOMENT.fullmatch(value) else value
    except (ValueError, OverflowError):  # "2026-13-45" is a text
        return value


def _later(value: str, days: int, zone: dt.tzinfo | None) -> str:
    if len(value) == 10:
        return (dt.date.fromisoformat(value) + dt.timedelta(days=days)).isoformat()
    at = dt.datetime.fromisoformat(value)
    if at.tzinfo is None:
        return (at + dt.timedelta(days=days)).isoformat()
    wall = at.astimezone(zone).replace(tzinfo=None) + dt.timedelta(days=days)
    return wall.replace(tzinfo=zone).isoformat()


def exchanged(plan: Plan, change: Callable[[Argument], Argument]) -> Plan:
    """Return the plan with `change` applied to each single value of its arguments; references stay."""

    def of(value: Argument) -> Argument:
        if isinstance(value, list):
            return [of(one) for one in value]
        if isinstance(value, dict):
            return {name: of(one) for name, one in value.items()}
        return value if isinstance(value, Ref) else change(value)

    steps = tuple(
        Step(s.tool, {name: of(v) for name, v in s.arguments.items()}, s.after, s.text, s.replaces) for s in plan.steps
    )
    return replace(plan, steps=steps)


def values_of(plan: Plan) -> list[Argument]:
    """Return each single value of a plan, without references."""
    found: list[Argument] = []

    def keep(value: Argument) -> Argument:
        found.append(value)
        return value

    exchanged(plan, keep)
    return found


def form_of(plan: Plan, said: Sequence[Argument]) -> tuple[object, ...]:
    """Return a plan's form: its tools and values, without moments and the values in `said`."""
    spoken = {repr(value) for value in said}

    def kept(value: Argument) -> object:
        if isinstance(value, list):
            return tuple(kept(one) for one in value)
        if isinstance(value, dict):
            return tuple((name, kept(one)) for name, one in value.items())
        if isinstance(value, Ref):
            return value.step, value.path
        if isinstance(value, str) and _MOMENT.fullmatch(value):
            return value[10:16]
        return "…" if repr(value) in spoken else value

    return tuple((s.tool, tuple((name, kept(v)) for name, v in sorted(s.arguments.items()))) for s in plan.steps)


# ── One demonstration ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Fitted:
    changes: Mapping[str, Argument]
    kept: float
    """Share of the taught words, by weight, that are in the request."""
    new: float
    """Share of the request's words, by weight, that were taught or stand in a value's place."""
    unfilled: float
    """Share of the values said then for which nothing was found now."""
    hours: float
    """Distance between the two hours of the day."""


def _slots(text: str, plan: Plan, places: Sequence[tuple[int, int]]) -> tuple[tuple[int, int, Argument], ...]:
    """Find the values of the plan that stand in the words exactly once, and once in the plan."""
    values = [v for v in values_of(plan) if isinstance(v, str | int | float) and not isinstance(v, bool)]
    counts = Counter(repr(value) for value in values)
    found: list[tuple[int, int, Argument]] = []
    low = text.lower()
    for value in values:
        written = str(value).strip().rstrip(".!?").lower()
        if not written or counts[repr(value)] > 1 or _MOMENT.fullmatch(written):
            continue
        spots = [m.span() for m in re.finditer(rf"(?<!\w){re.escape(written)}(?!\w)", low)]
        if len(spots) != 1:
            continue
        inside = [k for k, (a, b) in enumerate(places) if a >= spots[0][0] and b <= spots[0][1]]
        if inside and not any(a <= inside[-1] and inside[0] < b for a, b, _ in found):
            found.append((inside[0], inside[-1] + 1, value))
    return tuple(sorted(found, key=lambda slot: slot[0]))


def _fit(one: _Taught, said: Said, own: Sequence[float], now: dt.datetime) -> _Fitted:
    """Align a request with a demonstration: which words are the same, which replace others."""
    partner = said.paired(one.said)
    slotted = {k for a, b, _ in one.slots for k in range(a, b)}
    framed = kept = 0.0
    covered: set[int] = set()
    for k, weight in enumerate(own):
        if k not in slotted:
            framed += weight
            if k in partner:
                kept += weight
                covered.add(partner[k])
    if not framed:  # every word of it is a value: compare by the values
        framed, kept = sum(own), sum(own[k] for k in partner)
    changes: dict[str, Argument] = {}
    n_unfilled = 0
    for a, b, value in one.slots:
        span = quoted_at(one.quoted[a], said.text, said.places) if a in one.quoted else None
        if span is None:
            span = place_of((a, b), partner, len(one.said), len(said.words))
            if span is None:
                n_unfilled += 1
                continue
            covered.update(range(*span))
            span = trimmed(span, said.text, said.words, said.places)
        covered.update(range(*span))
        if span[0] == span[1] or said.words[slice(*span)] == one.said[a:b]:
            continue
        words = said.text[said.places[span[0]][0] : said.places[span[1] - 1][1]]
        if (new := as_value(value, words)) is not None:
            changes[repr(value)] = new
    hours = 0.0
    if one.now is not None:
        then = one.now.astimezone(now.tzinfo)
        apart = abs((then.hour * 60 + then.minute) - (now.hour * 60 + now.minute)) / 60
        hours = min(apart, 24 - apart)
    return _Fitted(
        changes,
        kept / framed if framed else 1.0,
        sum(said.weights[j] for j in covered) / said.whole if said.whole else 1.0,
        n_unfilled / max(len(one.slots), 1),
        hours,
    )


def _planned(one: _Taught, changes: Mapping[str, Argument], now: dt.datetime) -> Plan:
    """Return the demonstration's plan, values exchanged and moments moved."""
    plan = one.plan
    if changes:
        plan = exchanged(plan, lambda value: changes.get(repr(value), value))
    return plan if one.now is None else moved(plan, one.now, now)
