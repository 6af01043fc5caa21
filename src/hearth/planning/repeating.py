"""What was asked before in nearly the same words: the plan taught then, with its times moved and its words exchanged.

People ask for the same few things again and again, in other words, on other days, with another name or text in them.
`Repeats` lays a request beside each demonstration like it, word by word; errors of typing count as the same word.
Moments of the plan move by the days in between, values that stood in the taught words are read from their place in the
new ones, all else stays as it was taught. It says of each plan how like the words are (`Signs`) and how sure it is.

Covered: repetition with other politeness, order, spelling; one's own phrases for fixed plans; changed meanings, as far
as somebody contradicts the old one (`contradict`).
Not covered: dates written out ("the 12th") in a request asked again on another day, values that must be reckoned,
requests of a kind never taught: for these the sureness is low, and another planner must be asked.
"""

from __future__ import annotations

import datetime as dt
import functools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hearth.tools.words import folded
from hearth.types import Argument, Demonstration, Plan, Ref

Floats = NDArray[np.float64]
_WORD = re.compile(r"[^\W_]+")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?(?:[+-]\d\d:\d\d|Z)?)?")
_POLITE = frozenset(
    re.findall(r"\S+", "please pls plz thanks thank ta hey hi hello ok okay so um uh right hearth you can could would")
)
"""Words that change nothing; they count little when requests are compared."""
_N_NEAR, _N_SHARED = 6, 6
"""Looked at closely: so many by the sentence's vector, so many by rare words in common."""
_LEAST_FUZZY = 4
SIGNS = (
    *("bias", "cosine", "kept", "new", "both", "exchanged", "unfilled", "agreed", "margin", "hour", "nothing"),
    *("likely", "short"),
)
WEIGHTS = np.array([-2.97, -1.82, 1.25, 0.81, 3.26, -3.32, -3.0, 1.56, 4.24, -3.14, 1.25, -2.15, 5.19])


@dataclass(frozen=True, slots=True)
class Repeat:
    """One plan for a request: that of a demonstration, fitted to it."""

    plan: Plan
    """Without steps: nothing is to be done."""
    id: str
    """Of the demonstration."""
    likeness: float
    signs: Floats
    """In the order of `SIGNS`."""

    @property
    def sureness(self) -> float:
        """How likely the plan is right, as fitted (`benchmarks.fleet_sureness`)."""
        return float(1 / (1 + math.exp(-float(self.signs @ WEIGHTS))))


@dataclass(frozen=True, slots=True)
class _Taught:
    id: str
    said: tuple[str, ...]
    slots: tuple[tuple[int, int, Argument], ...]
    """Stretches of words that are values of the plan: first, behind the last, the value."""
    plan: Plan
    form: tuple[object, ...]
    """What the plan does, whatever its moments and exchanged values are."""
    now: dt.datetime | None
    quoted: Mapping[int, tuple[int, int]]
    """Of a stretch in quotation marks, by its first word: which of how many it is."""


class Repeats:
    """Demonstrations by their words. Not thread-safe; the same demonstrations in the same order, the same answers."""

    def __init__(self, rarity: Mapping[str, float], dim: int, most: int = 1 << 30) -> None:
        """Nothing taught yet.

        Args:
            rarity: Of words, as `rarity_of` counts it among other people's requests.
            dim: Of the vectors.
            most: So many are kept; the one whose plan was wanted longest ago is dropped for a new one.
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
        """Remember; one with a known id replaces the older."""
        self.remove(demonstration.id)
        if len(self._taught) >= self._most:
            self.remove(min(self._used, key=lambda id: (self._used[id], id)))
        said, places = _words(demonstration.request)
        slots = _slots(demonstration.request, demonstration.plan, places)
        form = form_of(demonstration.plan, [slot[2] for slot in slots])
        one = _Taught(demonstration.id, said, slots, demonstration.plan, form, demonstration.now,
                      _quoted(demonstration.request, [(a, places[a][0]) for a, *_ in slots]))  # fmt: skip
        self._taught[one.id] = one
        if len(self._rows) == len(self._vectors):
            self._vectors = np.vstack([self._vectors, np.zeros_like(self._vectors)])
        self._vectors[len(self._rows)] = vector
        self._place[one.id] = len(self._rows)
        self._rows.append(one.id)
        self._touch(one.id)
        for word in set(said) - _POLITE:
            for key in _spellings(word):
                self._with.setdefault(key, {})[one.id] = None

    def remove(self, id: str) -> None:
        """Forget one; an unknown id is passed over."""
        one = self._taught.pop(id, None)
        if one is None:
            return
        row = self._place.pop(id)
        last = self._rows.pop()
        if last != id:
            self._rows[row], self._place[last] = last, row
            self._vectors[row] = self._vectors[len(self._rows)]
        del self._used[id]
        for word in set(one.said) - _POLITE:
            for key in _spellings(word):
                self._with[key].pop(id, None)

    def _touch(self, id: str) -> None:
        self._clock += 1
        self._used[id] = self._clock

    def propose(
        self,
        text: str,
        vector: NDArray[np.float32],
        now: dt.datetime,
        likely: Callable[[Plan], float] | None = None,
        cosines: NDArray[np.float32] | None = None,
    ) -> list[Repeat]:
        """Plans for a request, the surest first; none of two that do the same.

        Args:
            likely: What another model says of a plan's tools for this request, in [0, 1].
            cosines: Of the vector with those of `vectors`, where they were computed for many at once.
        """
        if not self._taught:
            return []
        said, places = _words(text)
        weights = np.array([self._weight(word) for word in said])
        if cosines is None:
            cosines = self.vectors @ vector
        found = []
        for row in self._near(said, cosines):
            one = self._taught[self._rows[row]]
            fitted = _fit(one, text, said, places, weights, [self._weight(word) for word in one.said], now)
            cosine = float(cosines[row])
            found.append((one, fitted, cosine, 0.5 * cosine + 0.5 * fitted.kept * fitted.new))
        found.sort(key=lambda each: (-each[3], -self._used[each[0].id]))
        return self._ranked(found, likely, len(said))

    def _near(self, said: Sequence[str], cosines: NDArray[np.float32]) -> list[int]:
        """Rows worth a closer look."""
        n = min(_N_NEAR, len(cosines))
        near = np.argpartition(-cosines, n - 1)[:n] if len(cosines) > n else np.arange(len(cosines))
        shared: dict[str, float] = {}
        for word in dict.fromkeys(said):
            if word in _POLITE:
                continue
            met: dict[str, None] = {}
            for key in _spellings(word):
                met.update(self._with.get(key, {}))
            weight = self._weight(word)
            if len(met) <= max(64, len(cosines) // 20):  # a word of everybody tells nothing
                for id in met:
                    shared[id] = shared.get(id, 0.0) + weight
        best = sorted(shared, key=lambda id: (-shared[id], -self._used[id]))[:_N_SHARED]
        return list(dict.fromkeys([*map(int, sorted(near)), *(self._place[id] for id in best)]))

    def _ranked(
        self,
        found: Sequence[tuple[_Taught, _Fitted, float, float]],
        likely: Callable[[Plan], float] | None,
        n_words: int,
    ) -> list[Repeat]:
        best: dict[object, float] = {}
        mass: dict[object, float] = {}
        for one, _, _, likeness in found:
            best.setdefault(one.form, likeness)
            mass[one.form] = mass.get(one.form, 0.0) + math.exp(12 * (likeness - found[0][3]))
        whole = sum(mass.values())
        ranked: dict[object, Repeat] = {}
        for one, fitted, cosine, likeness in found:
            if one.form in ranked and ranked[one.form].likeness >= likeness:
                continue
            other = max((value for form, value in best.items() if form != one.form), default=0.0)
            plan = fitted.plan
            signs = np.array([
                1.0, cosine, fitted.kept, fitted.new, fitted.kept * fitted.new, float(fitted.is_exchanged),
                fitted.unfilled, mass[one.form] / whole, likeness - other, fitted.hours / 12, float(not plan.steps),
                likely(plan) if likely else 0.0, 1 / (1 + n_words),
            ])  # fmt: skip
            ranked[one.form] = Repeat(plan, one.id, likeness, signs)
        return sorted(ranked.values(), key=lambda each: (-each.sureness, -each.likeness))

    @property
    def vectors(self) -> NDArray[np.float32]:
        """Of the demonstrations, in the order of their places."""
        return self._vectors[: len(self._rows)]

    def nearest(self, vector: NDArray[np.float32]) -> Plan | None:
        """The plan of the demonstration with the nearest vector, as it was taught."""
        if not self._rows:
            return None
        return self._taught[self._rows[int(np.argmax(self.vectors @ vector))]].plan

    def used(self, id: str) -> None:
        """Its plan was wanted again."""
        if id in self._used:
            self._touch(id)

    def contradict(self, text: str, vector: NDArray[np.float32], wrong: Repeat, right: Plan, least: float = 0.5) -> int:
        """The plan proposed for a request was wrong: forget what says the same of such words; how many there were.

        Nothing is forgotten where it does what is right but for the values that were said: they were misread.
        """
        rested = self._taught.get(wrong.id)
        if rested is None:
            return 0
        said, places = _words(text)
        if form_of(right, [slot[2] for slot in _slots(text, right, places)]) == rested.form:
            return 0
        telling = set(said) - _POLITE
        gone = [
            one.id
            for one, other in ((self._taught[id], self._vectors[row]) for row, id in enumerate(self._rows))
            if one.form == rested.form and (float(other @ vector) >= least or telling & set(one.said))
        ]
        for id in gone:
            self.remove(id)
        return len(gone)

    def _weight(self, word: str) -> float:
        return 0.1 if word in _POLITE else self._rarity.get(word, self._unknown)


def rarity_of(requests: Iterable[str]) -> dict[str, float]:
    """How much a word tells, from how few of many people's requests have it."""
    counts: Counter[str] = Counter()
    n = 0
    for text in requests:
        counts.update(set(_words(text)[0]))
        n += 1
    return {word: 0.2 + math.log((n + 1) / (count + 0.5)) / math.log(n + 2) for word, count in counts.items()}


# ── Plans ─────────────────────────────────────────────────────────────────────────────────────────────────


def moved(plan: Plan, then: dt.datetime, now: dt.datetime) -> Plan:
    """The plan with its moments as many days later as `now` is than `then`, at the same hour of the clock in `now`'s
    zone."""
    days = (now.date() - then.astimezone(now.tzinfo).date()).days
    if not days:
        return plan
    return exchanged(plan, lambda value: _moved(value, days, now.tzinfo) if isinstance(value, str) else value)


def _moved(value: str, days: int, zone: dt.tzinfo | None) -> str:
    if not _MOMENT.fullmatch(value):
        return value
    if len(value) == 10:
        return (dt.date.fromisoformat(value) + dt.timedelta(days=days)).isoformat()
    at = dt.datetime.fromisoformat(value)
    if at.tzinfo is None:
        return (at + dt.timedelta(days=days)).isoformat()
    wall = at.astimezone(zone).replace(tzinfo=None) + dt.timedelta(days=days)
    return wall.replace(tzinfo=zone).isoformat()


def exchanged(plan: Plan, change: Callable[[Argument], Argument]) -> Plan:
    """The plan with each single value of its arguments changed; references stay."""

    def of(value: Argument) -> Argument:
        if isinstance(value, list):
            return [of(one) for one in value]
        if isinstance(value, dict):
            return {name: of(one) for name, one in value.items()}
        return value if isinstance(value, Ref) else change(value)

    steps = tuple(replace(s, arguments={name: of(v) for name, v in s.arguments.items()}) for s in plan.steps)
    return replace(plan, steps=steps)


def values_of(plan: Plan) -> list[Argument]:
    """Each single value of a plan, references left out."""
    found: list[Argument] = []

    def keep(value: Argument) -> Argument:
        found.append(value)
        return value

    exchanged(plan, keep)
    return found


def form_of(plan: Plan, said: Sequence[Argument]) -> tuple[object, ...]:
    """What a plan does: tools and values, without moments and what is said each time anew."""
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


# ── Words ─────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Fitted:
    plan: Plan
    kept: float
    """Share of the taught words, by weight, that are in the request."""
    new: float
    """Share of the request's words, by weight, that were taught or stand in a value's place."""
    is_exchanged: bool
    unfilled: float
    """Share of the values that were said then of which nothing was found now."""
    hours: float
    """How far the hours of the day are apart."""


@functools.lru_cache(maxsize=200_000)
def _words(text: str) -> tuple[tuple[str, ...], tuple[tuple[int, int], ...]]:
    found = [match.span() for match in _WORD.finditer(text)]
    return tuple(folded(text[a:b]) for a, b in found), tuple(found)


@functools.lru_cache(maxsize=200_000)
def _spellings(word: str) -> frozenset[str]:
    """The word and, of a longer one, what is left of it without one letter: two words with one in common are an error
    of typing apart.

    Source:
        Symmetric deletion: Garbe 2012, SymSpell; Mor & Fraenkel 1982.
    """
    if len(word) < _LEAST_FUZZY or not word.isalpha():
        return frozenset([word])
    return frozenset([word, *(word[:k] + word[k + 1 :] for k in range(len(word)))])


def _is_alike(a: str, b: str) -> bool:
    if a == b:
        return True
    if min(len(a), len(b)) < _LEAST_FUZZY or abs(len(a) - len(b)) > 1:
        return False
    return not _spellings(a).isdisjoint(_spellings(b))


def _slots(text: str, plan: Plan, places: Sequence[tuple[int, int]]) -> tuple[tuple[int, int, Argument], ...]:
    """Values of the plan that stand in the words, once in both."""
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


def _fit(
    one: _Taught,
    text: str,
    said: Sequence[str],
    places: Sequence[tuple[int, int]],
    weights: Floats,
    own: Sequence[float],
    now: dt.datetime,
) -> _Fitted:
    """Lay a request beside a demonstration: which words are the same, which stand for others."""
    pairs = _paired(one, said)
    slotted = {k for a, b, _ in one.slots for k in range(a, b)}
    frame = [k for k in range(len(one.said)) if k not in slotted]
    partner = dict(pairs)
    changes: dict[str, Argument] = {}
    filled: set[int] = set()
    n_unfilled = 0
    for a, b, value in one.slots:
        span = _quoted_at(one.quoted[a], text, places) if a in one.quoted else None
        if span is None:
            span = _place_of((a, b), partner, len(one.said), len(said))
            if span is None:
                n_unfilled += 1
                continue
            filled.update(range(*span))
            span = _trimmed(span, text, said, places)
        filled.update(range(*span))
        if span[0] == span[1] or tuple(said[slice(*span)]) == one.said[a:b]:
            continue
        if (new := _as(value, text[places[span[0]][0] : places[span[1] - 1][1]])) is not None:
            changes[repr(value)] = new
    framed = sum(own[k] for k in frame)
    kept = sum(own[k] for k in frame if k in partner) / framed if framed else 1.0
    covered = {partner[k] for k in frame if k in partner} | filled
    whole = float(weights.sum())
    new_share = sum(float(weights[j]) for j in covered) / whole if whole else 1.0
    plan = one.plan
    if changes:
        plan = exchanged(plan, lambda value: changes.get(repr(value), value))
    hours = 0.0
    if one.now is not None:
        then = one.now.astimezone(now.tzinfo)
        plan = moved(plan, one.now, now)
        apart = abs((then.hour * 60 + then.minute) - (now.hour * 60 + now.minute)) / 60
        hours = min(apart, 24 - apart)
    return _Fitted(plan, kept, new_share, bool(changes), n_unfilled / max(len(one.slots), 1), hours)


def _paired(one: _Taught, said: Sequence[str]) -> list[tuple[int, int]]:
    """Words of the demonstration beside words of the request: the same, or one error of typing apart; in order where
    there is a choice."""
    pairs: list[tuple[int, int]] = []
    taken: set[int] = set()
    at = 0
    for k, word in enumerate(one.said):
        choices = [j for j, other in enumerate(said) if j not in taken and _is_alike(word, other)]
        if choices:
            j = min(choices, key=lambda j: (said[j] != word, j < at, abs(j - at)))
            pairs.append((k, j))
            taken.add(j)
            at = j + 1
    return pairs


def _place_of(slot: tuple[int, int], partner: Mapping[int, int], n_taught: int, n_said: int) -> tuple[int, int] | None:
    """Where in the request the words stand that are in a value's place: between those beside it."""
    a, b = slot
    if all(k in partner for k in range(a, b)):
        inside = [partner[k] for k in range(a, b)]
        if inside == list(range(inside[0], inside[0] + len(inside))):
            before = partner.get(a - 1, -1) if a else -1
            if b < n_taught or a == 0 or before + 1 == inside[0]:
                end = inside[-1] + 1
                return inside[0], end
    left = next((partner[k] + 1 for k in range(a - 1, -1, -1) if k in partner), 0)
    outer = {partner[k] for k in partner if not a <= k < b}
    right = next((partner[k] for k in range(b, n_taught) if k in partner and partner[k] >= left), n_said)
    while left < right and left in outer:
        left += 1
    return (left, right) if left < right and outer.isdisjoint(range(left, right)) else None


_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»]+)[\"”“»]")
_QUOTES = frozenset('"“”„«»')


def _quoted(text: str, starts: Sequence[tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """Of stretches (first word, where it begins) those that begin a quotation: which it is, of how many."""
    found = [match.start(1) for match in _QUOTED.finditer(text)]
    return {word: (found.index(at), len(found)) for word, at in starts if at in found}


def _quoted_at(which: tuple[int, int], text: str, places: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """The words of the quotation in the same place, where there are as many."""
    found = [match.span(1) for match in _QUOTED.finditer(text)]
    if len(found) != which[1]:
        return None
    start, end = found[which[0]]
    inside = [k for k, (a, b) in enumerate(places) if a >= start and b <= end]
    return (inside[0], inside[-1] + 1) if inside else None


def _trimmed(
    span: tuple[int, int], text: str, said: Sequence[str], places: Sequence[tuple[int, int]]
) -> tuple[int, int]:
    """The words of a value alone: nothing polite before it, nothing of another sentence."""
    first, end = span
    while first < end and said[first] in _POLITE:
        first += 1
    for k in range(end - 1, first, -1):
        gap = _gap(text, places, k)
        if set(gap) & _QUOTES or (":" in gap and " " in gap):
            return (k, end) if ":" in gap else (first, k)
    return first, end


def _gap(text: str, places: Sequence[tuple[int, int]], k: int) -> str:
    """What stands between a word and the one before."""
    return text[places[k - 1][1] : places[k][0]]


def _as(value: Argument, words: str) -> Argument | None:
    """Words as a value of the same type; None when they are none."""
    if isinstance(value, str):
        return words
    number = re.fullmatch(r"\d+(?:\.\d+)?", words)
    if number is None:
        return None
    return int(words) if isinstance(value, int) and words.isdigit() else float(words)
