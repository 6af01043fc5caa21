"""Adapts what was taught for one request to another: its plan, with the values that the other request has.

    adapted = adapt(demonstration, request, tools)
    adapted.plan          # with the request's own values and times
    adapted.reason        # of a `Misfit`: why it has none

Covered: the same request with other politeness, order, spelling, with another name, number, text or quotation in it,
on another day. Not covered: which demonstration is meant and how surely (`planning.repeat_planner`), phrases that stand
for a part of one (`planning.owner_macros`, which has its times moved here), values that must be worked out.
"""

from __future__ import annotations

import datetime as dt
import functools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hearth.errors import PlanError
from hearth.formats.plans import check_plan, is_moment
from hearth.language.reading import Utterance
from hearth.language.tokens import Slot, folded
from hearth.types import TYPE_NAMES, Argument, Demonstration, Plan, Ref, Request, Step, ToolSpec

# ── Word alignment ────────────────────────────────────────────────────────────────────────────────────────
# Aligns a request with a demonstration: which words are the same, where the words of a value stand.
#
# Two words are the same when they are equal, or when both have four letters or more and differ by one typing error. A
# value is found by the words around it, a quotation by its position among the quotations.
#
# Covered: other politeness, order and spelling, values at either end. Not covered: words of the same meaning,
# languages without spaces between words.

_WORD = re.compile(r"[^\W_]+")
POLITE = frozenset(
    re.findall(r"\S+", "please pls plz thanks thank ta hey hi hello ok okay so um uh right hearth you can could would")
)
"""Words that change nothing; they count little when requests are compared."""
_LEAST_FUZZY = 4
Span = tuple[int, int]
"""First index and the index after the last: letters of a text, or words of a request."""


@functools.lru_cache(maxsize=200_000)
def words_of(text: str) -> tuple[tuple[str, ...], tuple[Span, ...]]:
    found = [match.span() for match in _WORD.finditer(text)]
    return tuple(folded(text[a:b]) for a, b in found), tuple(found)


@functools.lru_cache(maxsize=200_000)
def spellings_of(word: str) -> frozenset[str]:
    """Return a word and, if it is longer, all its forms with one letter deleted.

    Two words with a form in common differ by one typing error.

    Source:
        Symmetric deletion: Garbe 2012, SymSpell; Mor & Fraenkel 1982.
    """
    if len(word) < _LEAST_FUZZY or not word.isalpha():
        return frozenset([word])
    return frozenset([word, *(word[:k] + word[k + 1 :] for k in range(len(word)))])


class Said:
    """A request with its words indexed for lookup."""

    def __init__(self, text: str, weight: Callable[[str], float]) -> None:
        self.text = text
        self.words, self.places = words_of(text)
        self.weights = [weight(word) for word in self.words]
        self.whole = sum(self.weights)
        self._by_word: dict[str, list[int]] = {}
        self._by_spelling: dict[str, list[int]] = {}
        for place, word in enumerate(self.words):
            self._by_word.setdefault(word, []).append(place)
            if len(word) >= _LEAST_FUZZY:
                for spelling in spellings_of(word):
                    self._by_spelling.setdefault(spelling, []).append(place)

    def paired(self, taught: Sequence[str]) -> dict[int, int]:
        """Pair a demonstration's words with the request's: equal or one typing error apart, in order if possible."""
        pairs: dict[int, int] = {}
        taken: set[int] = set()
        at = 0
        for k, word in enumerate(taught):
            choices = [j for j in self._by_word.get(word, ()) if j not in taken]
            if not choices and len(word) >= _LEAST_FUZZY:
                alike = {j for spelling in spellings_of(word) for j in self._by_spelling.get(spelling, ())}
                choices = [j for j in sorted(alike) if j not in taken and abs(len(self.words[j]) - len(word)) <= 1]
            if choices:
                place = at
                j = min(choices, key=lambda j: (j < place, abs(j - place)))
                pairs[k] = j
                taken.add(j)
                at = j + 1
        return pairs


def place_of(slot: Span, partner: Mapping[int, int], n_taught: int, n_said: int) -> Span | None:
    """Find the span of the request that stands in a value's place: between the words around the value."""
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


def quotations(text: str, starts: Sequence[Span]) -> dict[int, Span]:
    """Map the words that begin a quotation to its position and the number of quotations."""
    found = [match.start(1) for match in _QUOTED.finditer(text)]
    return {word: (found.index(at), len(found)) for word, at in starts if at in found}


def quoted_at(which: Span, text: str, places: Sequence[Span]) -> Span | None:
    """Return the words of the quotation in the same position, when there are as many quotations."""
    found = [match.span(1) for match in _QUOTED.finditer(text)]
    if len(found) != which[1]:
        return None
    start, end = found[which[0]]
    inside = [k for k, (a, b) in enumerate(places) if a >= start and b <= end]
    return (inside[0], inside[-1] + 1) if inside else None


def trimmed(span: Span, text: str, said: Sequence[str], places: Sequence[Span]) -> Span:
    """Trim a value's words: nothing polite before it, nothing of another sentence."""
    first, end = span
    while first < end and said[first] in POLITE:
        first += 1
    for k in range(end - 1, first, -1):
        gap = _gap(text, places, k)
        if set(gap) & _QUOTES or (":" in gap and " " in gap):
            return (k, end) if ":" in gap else (first, k)
    return first, end


def _gap(text: str, places: Sequence[Span], k: int) -> str:
    """Return the text between a word and the one before."""
    return text[places[k - 1][1] : places[k][0]]


def as_value(value: Argument, words: str) -> Argument | None:
    """Convert words to a value of the same type; None when they are none."""
    if isinstance(value, str):
        return words
    number = re.fullmatch(r"\d+(?:\.\d+)?", words)
    if number is None:
        return None
    return int(words) if isinstance(value, int) and words.isdigit() else float(words)


def _alike(word: str) -> float:  # noqa: ARG001 - whatever the word
    """Return the weight of a word where all count the same."""
    return 1.0


_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?(?:[+-]\d\d:\d\d|Z)?)?")


# ── Plans ─────────────────────────────────────────────────────────────────────────────────────────────────


def moved(plan: Plan, then: dt.datetime, now: dt.datetime) -> Plan:
    """Return the plan with its moments moved by the days from `then` to `now`, at the hour that the clock showed.

    Days are counted by the calendar of where each was asked; the clock is one in `now`'s zone.
    """
    days = (now.date() - then.date()).days
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
    if value.endswith("Z"):  # written by a program: no clock that somebody looked at
        at = at.astimezone(zone)
    wall = at.replace(tzinfo=None) + dt.timedelta(days=days)
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
class Case:
    """A demonstration as it is laid beside a request."""

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


@dataclass(frozen=True, slots=True)
class Fitted:
    """How a request lies beside a demonstration."""

    changes: Mapping[str, Argument]
    kept: float
    """Share of the taught words, by weight, that are in the request."""
    new: float
    """Share of the request's words, by weight, that were taught or stand in a value's place."""
    unfilled: float
    """Share of the values said then for which nothing was found now."""
    hours: float
    """Distance between the two hours of the day."""


def case_of(demonstration: Demonstration, weight: Callable[[str], float] = _alike) -> Case:
    """Lay a demonstration out. Args: weight: Of a word."""
    said, places = words_of(demonstration.request)
    slots = values_said(demonstration.request, demonstration.plan, places)
    return Case(
        demonstration.id,
        said,
        slots,
        demonstration.plan,
        form_of(demonstration.plan, [slot[2] for slot in slots]),
        demonstration.now,
        tuple(weight(word) for word in said),
        quotations(demonstration.request, [(a, places[a][0]) for a, *_ in slots]),
    )


def values_said(text: str, plan: Plan, places: Sequence[tuple[int, int]]) -> tuple[tuple[int, int, Argument], ...]:
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


def fit(one: Case, said: Said, now: dt.datetime) -> Fitted:
    """Align a request with a demonstration: which words are the same, which replace others."""
    partner = said.paired(one.said)
    slotted = {k for a, b, _ in one.slots for k in range(a, b)}
    framed = kept = 0.0
    covered: set[int] = set()
    for k, weight in enumerate(one.weights):
        if k not in slotted:
            framed += weight
            if k in partner:
                kept += weight
                covered.add(partner[k])
    if not framed:  # every word of it is a value: compare by the values
        framed, kept = sum(one.weights), sum(one.weights[k] for k in partner)
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
    return Fitted(
        changes,
        kept / framed if framed else 1.0,
        sum(said.weights[j] for j in covered) / said.whole if said.whole else 1.0,
        n_unfilled / max(len(one.slots), 1),
        hours,
    )


def planned(one: Case, changes: Mapping[str, Argument], now: dt.datetime) -> Plan:
    """Return the demonstration's plan, values exchanged and moments moved."""
    plan = one.plan
    if changes:
        plan = exchanged(plan, lambda value: changes.get(repr(value), value))
    return plan if one.now is None else moved(plan, one.now, now)


# ── Adapting ──────────────────────────────────────────────────────────────────────────────────────────────
# Times that were said are read anew from the request's own words, other moments move by the days in between, values
# that stood in the taught words are read from their place in the new ones, and every value that the request says must
# appear in the plan. What decides where something goes (a recipient, an address, a file, the id of a record) is never
# kept from an earlier day.
#
# Not covered: requests that deny, ask about or limit what was taught ("don't …", "did you …", "… but not …"), values
# or "on" and "off" that changed places, references to words of that day ("send it"), moments that cannot be read anew:
# none of them is adapted.

_SOON_S = 3600.0
"""A moment that was not said and lies nearer than this was counted from the moment of asking."""
_TURNS = frozenset(
    re.findall(
        r"\w+",
        "not no don dont never without except but unless instead cancel stop undo which whose off open opens "
        "close shut lock unlock start begin end finish send sends draft add remove delete more less all none "
        "first last next before after left right high low higher lower brighter dimmer darker louder quieter "
        "softer warmer cooler hot cold colder t cannot nor neither nobody nothing none skip avoid if later soon "
        "should shall might must increase decrease raise reduce mute unmute pause resume enable disable arm "
        "disarm accept decline pin unpin unread yes",
    )
)
"""Words that reverse a request when they are in only one of it and the demonstration."""
_PARTICLES = frozenset(("on", "off", "in", "out", "up", "down", "over", "back", "forward", "away"))
"""Words that make another deed of a verb where one stands for another: "hand it in", "hand it on"; one alone may be of
a time or a place."""
_CONTRARY = {
    "on": "off",
    "off": "on",
    "in": "out",
    "out": "in",
    "up": "down",
    "down": "up",
    "back": "forward",
    "forward": "back",
}
_POINTS = frozenset(("it", "that", "this", "them", "those", "these", "same", "him", "her"))
"""Words that refer to what was said before, when they are among the first few."""
_N_FIRST = 4
_QUESTIONS = frozenset(re.findall(r"\w+", "what when who why how where is are was were did does has have had"))
"""Words that begin a question; they count only at the beginning."""
_IDLE = POLITE | frozenset(
    re.findall(
        r"\w+",
        "a an the my our your this that it its i and so well oh ah now then just again quickly when think cheers there "
        "s m",
    )
)
"""Words that change nothing when they are added or left out."""


@dataclass(frozen=True, slots=True)
class Adapted:
    """What a demonstration comes to for another request."""

    plan: Plan
    """The plan, checked; without steps where it was taught that nothing is to be done."""
    taken: Mapping[str, Argument] = field(default_factory=dict)
    """Value of the demonstration, as it is written → what the request says in its place."""
    is_exchanged: bool = False
    """True when a value replaces another; times and quotations do not count."""
    left: frozenset[str] = frozenset()
    """Words of either request that are neither in the other nor in the plan."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """A demonstration that does not fit a request."""

    reason: str


def adapt(demonstration: Demonstration, request: Utterance, tools: Mapping[str, ToolSpec]) -> Adapted | Misfit:
    """Return the plan of a demonstration with the values of another request, or why it has none."""
    if is_turned(demonstration.request, request.text):
        return Misfit("the request says the contrary, or asks where an order was taught")
    if _points_back(demonstration):
        return Misfit("what was taught was about something said before it")
    if any(names_a_record(step, tools) for step in demonstration.plan.steps):
        return Misfit("its plan has a tool that there is not, or where something goes, written out that day")
    case = case_of(demonstration)
    changes = fit(case, Said(request.text, _alike), request.now).changes
    then = Utterance(demonstration.request, demonstration.now or request.now, context=request.known).slots
    plan = _read_anew(planned(case, changes, request.now), demonstration, request, then)
    if plan is None:
        return Misfit("its times cannot be read anew")
    if not _is_accounted(then, request.slots, demonstration.plan, plan):
        return Misfit("a value that is said would be missing, or one that is no longer said be kept")
    if _is_swapped(demonstration, request.text, then, plan):
        return Misfit("its values are not said, or in another order")
    left = _left_over(demonstration.request, request.text, then, request.slots)
    of_plans = words_in(demonstration.plan, plan)
    whole = Plan(plan.steps)
    try:
        whole = check_plan(whole, tools) if whole.steps else whole
    except PlanError as error:  # what was said is not a value of its tools
        return Misfit(str(error))
    return Adapted(whole, changes, bool(left & of_plans), frozenset(left - of_plans))


def telling(text: str) -> list[str]:
    """Return the words of a text without the polite ones."""
    return [word for word in words_of(text)[0] if word not in POLITE]


def is_turned(taught: str, said: str) -> bool:
    """Return whether one of two requests reverses the other, or asks where it orders."""
    then, now = words_of(taught)[0], words_of(said)[0]
    first = [next((word for word in words if word not in POLITE), "") for words in (then, now)]
    asks = (first[0] in _QUESTIONS) != (first[1] in _QUESTIONS)
    gone, new = set(Counter(then) - Counter(now)), set(Counter(now) - Counter(then))
    is_another_deed = bool(gone & _PARTICLES and new & _PARTICLES)
    return asks or is_another_deed or bool((gone | new) & _TURNS)


def nearest_particle(before: Sequence[str], after: Sequence[str]) -> str:
    """Return the particle that belongs to a deed, of the words on both sides of it: the first behind it, else the last
    before it; empty where there is none."""
    return next((word for word in (*after, *reversed(before)) if word in _PARTICLES), "")


def is_contrary(one: str, other: str) -> bool:
    """Return whether two particles stand for contrary deeds: "in" and "out", but not "in" and "on"."""
    return _CONTRARY.get(one) == other


def _points_back(taught: Demonstration) -> bool:
    """Return whether a request was about something said before it ("send it"): its plan has values of that day."""
    said = set(words_of(taught.request)[0])
    unsaid = (value.split() for value in _written(taught.plan) if not re.match(r" \d", value))
    first = telling(taught.request)[:_N_FIRST]  # later in the request it stands for what this request itself names
    return not _POINTS.isdisjoint(first) and any(words and said.isdisjoint(words) for words in unsaid)


def names_a_record(step: Step, tools: Mapping[str, ToolSpec]) -> bool:
    """Return whether a value written out is the id of one record, or decides where something goes."""
    spec = tools.get(step.tool)
    return spec is None or any(
        (p.is_sink or p.type.removeprefix("list[").removesuffix("]") not in TYPE_NAMES)
        and any(not isinstance(one, Ref) for one in _items(step.arguments.get(p.name)))
        for p in spec.parameters
        if p.name in step.arguments
    )


def _items(value: Argument) -> list[Argument]:
    return value if isinstance(value, list) else [value]


# ── Values that are said ──────────────────────────────────────────────────────────────────────────────────


def _left_over(taught: str, said: str, then: Sequence[Slot], now: Sequence[Slot]) -> set[str]:
    """Return the words of either request that the other lacks, except idle words, times and quotations."""
    pairs = Said(said, _alike).paired(words_of(taught)[0])
    left: set[str] = set()
    for text, slots, known in ((taught, then, pairs.keys()), (said, now, set(pairs.values()))):
        spans = [(slot.start, slot.end) for slot in slots if slot.kind in ("time", "quoted")]
        for k, (word, (start, end)) in enumerate(zip(*words_of(text), strict=True)):
            if k not in known and not any(a <= start and end <= b for a, b in spans):
                left.add(word)
    return left - _IDLE


def _is_swapped(one: Demonstration, said: str, then: Sequence[Slot], plan: Plan) -> bool:
    """Return whether the plan would hold something not said now, or its words are said in another order.

    The order matters for words of its values and words that reverse: "the report to Tom, the invoice to Anna" and the
    other way about.
    """
    taught, now = words_of(one.request), words_of(said)[0]
    pairs = Said(said, _alike).paired(taught[0])
    still = words_in(plan) - _IDLE

    def held(is_time: bool) -> set[int]:
        spans = [(slot.start, slot.end) for slot in then if (slot.kind == "time") == is_time]
        return {k for k, (a, b) in enumerate(taught[1]) if any(c <= a and b <= d for c, d in spans)}

    timed, slotted = held(True), held(False)
    if any(
        word in still and word not in now and (k not in pairs or now[pairs[k]] not in still)
        for k, word in enumerate(taught[0])
        if k not in timed
    ):
        return True
    telling = (words_in(one.plan) | _TURNS) - _IDLE
    order = [pairs[k] for k, word in enumerate(taught[0]) if k in pairs and (word in telling or k in slotted - timed)]
    return order != sorted(order)


def _read_anew(plan: Plan, taught: Demonstration, request: Utterance, then: Sequence[Slot]) -> Plan | None:
    """Return the plan with its times as the request says them; None when they cannot be read."""
    moments = [value for value in values_of(taught.plan) if isinstance(value, str) and is_moment(value)]
    if not moments:
        return plan
    times, others = ([slot for slot in slots if slot.kind == "time"] for slots in (then, request.slots))
    if taught.now is None or len(times) != len(others):
        return None
    changes: dict[str, str] = {}
    read: set[str] = set()
    for slot, other in zip(times, others, strict=True):
        for name, value in _moments_in(slot, taught.plan):
            said = other.views.get(name)
            moved_to = _after_moving(value, taught, request)
            if not isinstance(said, str) or changes.setdefault(moved_to, _like(value, said)) != _like(value, said):
                return None  # two things at one moment then, at two now
            read.add(value)
    for value in set(moments) - read:
        later = _moved_on(value, times, others, taught.now, request.now)
        if later is None:
            return None
        if changes.setdefault(_after_moving(value, taught, request), later) != later:
            return None
    return exchanged(plan, lambda value: changes.get(value, value) if isinstance(value, str) else value)


def _moved_on(
    value: str, times: Sequence[Slot], others: Sequence[Slot], then: dt.datetime, now: dt.datetime
) -> str | None:
    """Return a moment that the request does not say, as many days later as the times it says; None when not known."""
    days = _days_later(times, others)
    if days is None and not times and not _is_soon(value, then):
        days = (now.date() - then.date()).days
    later = None if days is None else moment_later(value, days, now.tzinfo)
    if later is None or (is_gone(later, now) and not is_gone(value, then)):
        return None
    return later


def _days_later(then: Sequence[Slot], now: Sequence[Slot]) -> int | None:
    """Return by how many days all times said now are later than those said then; None when the numbers differ."""
    found: set[int | None] = set()
    for a, b in zip(then, now, strict=True):
        before, after = (str(slot.views.get("datetime") or slot.views.get("date") or "") for slot in (a, b))
        if not before or not after or before[10:16] != after[10:16]:
            return None
        found.add((dt.date.fromisoformat(after[:10]) - dt.date.fromisoformat(before[:10])).days)
    return found.pop() if len(found) == 1 else None


def _is_soon(value: str, now: dt.datetime) -> bool:
    """Return whether a moment was counted from the moment of asking: "in a bit"."""
    return len(value) > 10 and abs((_at(value, now) - now).total_seconds()) < _SOON_S


def is_gone(value: str, now: dt.datetime) -> bool:
    return value < now.date().isoformat() if len(value) == 10 else _at(value, now) < now


def _at(value: str, now: dt.datetime) -> dt.datetime:
    try:
        at = dt.datetime.fromisoformat(value)
    except ValueError:  # a text that begins like a moment
        return now
    return at if at.tzinfo is not None else at.replace(tzinfo=now.tzinfo)


def _moments_in(slot: Slot, plan: Plan) -> Iterator[tuple[str, str]]:
    """Return the views of a time that are moments of a plan: view name and value in the plan."""
    for value in values_of(plan):
        if isinstance(value, str) and is_moment(value):
            names = [n for n, view in slot.views.items() if isinstance(view, str) and view[:16] == value[:16]]
            if names:
                yield names[0], value


def _after_moving(value: str, taught: Demonstration, request: Request) -> str:
    """Return the value that a taught moment has in a repeated plan."""
    if taught.now is None:
        return value
    step = moved(Plan((Step("", {"at": value}),)), taught.now, request.now).steps[0]
    return str(step.arguments["at"])


def _like(value: str, said: str) -> str:
    """Write a moment in the form of another: a day alone, or a day with its time."""
    return said[:10] if len(value) == 10 else said


def _is_accounted(then: Sequence[Slot], now: Sequence[Slot], taught: Plan, plan: Plan) -> bool:
    """Return whether each value said now was said when it was taught, or is in the plan; and the other way about."""
    same = {_words(slot) for slot in then} & {_words(slot) for slot in now}
    before, after = _written(taught), _written(plan)

    def is_left(slot: Slot, holds: Plan, written: Sequence[str]) -> bool:
        return not (any(_moments_in(slot, holds)) if slot.kind == "time" else _stands_in(slot, written))

    if any(is_left(slot, plan, after) for slot in now if _words(slot) not in same):
        return False
    gone = [slot for slot in then if _words(slot) not in same]
    return not any(is_left(s, taught, before) or (s.kind != "time" and _stands_in(s, after)) for s in gone)


def _words(slot: Slot) -> tuple[str, ...]:
    return slot.kind, *words_of(slot.text)[0]


def _written(plan: Plan) -> list[str]:
    """Return the words of a plan's values, with a space on either side of each value."""
    return [f" {' '.join(words_of(str(v))[0])} " for v in values_of(plan) if not isinstance(v, bool)]


def words_in(*plans: Plan) -> set[str]:
    """Return the words of the values of plans."""
    return {word for plan in plans for value in _written(plan) for word in value.split()}


def _stands_in(slot: Slot, written: Sequence[str]) -> bool:
    said = f" {' '.join(words_of(str(slot.views.get('text', slot.text)))[0])} "
    return any(said in value or (value in said and value.strip()) for value in written)
