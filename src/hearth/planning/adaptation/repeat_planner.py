"""Plans a request that the owner made before in nearly the same words: reads the plan that was right then for today.

`planning.adaptation.case_adaptation` finds the demonstration and says how sure it is; here its plan is made to fit:
times that were said are read anew from the request's own words, other moments move by the days in between, and every
value that the request says must appear in the plan. If anything is left over, nothing is proposed, and another planner
is asked.

Covered: what was taught, with other politeness, order or spelling, another quotation, name or number in it, another
day. Not covered: requests that deny, ask about or limit what was taught ("don't …", "did you …", "… but not …"), plans
with the id of one record in them or with an address written out, values or "on" and "off" that changed places,
references to words of that day ("send it"), moments that cannot be read anew: another planner is always asked for them.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hearth.errors import PlanError
from hearth.formats.plan_validation import check_plan, is_moment, literals, only_reads
from hearth.language.reading import Utterance
from hearth.language.text.tokens import Slot
from hearth.planning.adaptation.case_adaptation import SIGNS, Repeat, Repeats, exchanged, moment_later, moved, values_of
from hearth.planning.adaptation.word_alignment import POLITE, Said, words_of
from hearth.types import TYPE_NAMES, Argument, Demonstration, Plan, Ref, Request, Step, ToolSpec

SURE, SURE_WHOLE = 0.8, 0.5
"""Least sureness of a repeated plan, and of one for a request in the very same words.

In the lives of a pilot fleet .998 of such plans are right, and more than half of what owners ask is so sure.
"""
N_NEAR = 12
"""Number of demonstrations compared with a request."""
_SOON_S = 3600.0
"""A moment that was not said and lies nearer than this was counted from the moment of asking."""
_TURNS = frozenset(
    re.findall(
        r"\w+",
        "not no don dont never without except but unless instead cancel stop undo which whose did does has have had is "
        "are was were on off up down in out open opens close shut lock unlock start begin end send sends draft add "
        "remove delete more less all none first last next before after left right high low higher lower brighter "
        "dimmer darker louder quieter softer warmer cooler colder t cannot nor neither nobody nothing none skip avoid "
        "if until till later soon should shall might increase decrease raise reduce mute unmute pause resume enable "
        "disable arm disarm accept decline yes",
    )
)
"""Words that reverse a request when they are in only one of it and the demonstration."""
_POINTS = frozenset(("it", "that", "this", "them", "those", "these", "same", "him", "her"))
"""Words that refer to what was said before, when they are among the first few."""
_N_FIRST = 4
_CLOSE = 0.5
"""Least share of words that are the same in two requests of which one may be the other turned round."""
_QUESTIONS = frozenset(("what", "when", "who", "why", "how", "where"))
"""Question words; they count only at the beginning."""
_IDLE = POLITE | frozenset(
    re.findall(
        r"\w+",
        "a an the my our your this that it its i and so well oh ah now then just again quickly when think cheers there "
        "s m",
    )
)
"""Words that change nothing when they are added or left out."""


@dataclass(frozen=True, slots=True)
class SaidAgain:
    """Plan for a request that was made before."""

    plan: Plan
    """Plan for the request; without steps when the owner taught that nothing is to be done."""
    is_exchanged: bool
    """True when a value replaces another; times and quotations do not count."""
    is_whole: bool
    """True when every word of either is in the other, except idle words, times and values."""
    left: frozenset[str] = frozenset()
    """Words of either that are neither in the other nor in the plan."""


def said_again(
    request: Utterance,
    form: NDArray[np.float32],
    near: Sequence[tuple[Demonstration, NDArray[np.float32]]],
    rarity: Mapping[str, float],
    tools: Mapping[str, ToolSpec],
) -> SaidAgain | None:
    """Return the plan that was taught for a request like this one, when it is surely meant.

    Args:
        form: The request's form vector.
        near: The owner's demonstrations most similar to it, oldest first, each with its form vector.
        rarity: Weight of each word (`case_adaptation.rarity_of`).
    """
    likeliest = _likeliest(request, form, near, rarity)
    if likeliest is None:
        return None
    best, one = likeliest
    if (
        _is_turned(one.request, request.text)
        or _points_back(one)
        or any(names_a_record(step, tools) for step in best.plan.steps)
    ):
        return None
    then, now = Utterance(one.request, one.now or request.now, context=request.known).slots, request.slots
    plan = _read_anew(best, one, request, then, now)
    if plan is None or not _is_accounted(then, now, one.plan, plan) or _is_swapped(one, request.text, then, plan):
        return None
    left = _left_over(one.request, request.text, then, now)
    is_exchanged = bool(left & words_in(one.plan, plan))
    others = frozenset(left - words_in(one.plan, plan))
    if best.sureness < SURE and (is_exchanged or others):
        return None
    if not plan.steps:
        return None if others else SaidAgain(Plan((), rests_on=(one.id,)), is_exchanged, True)
    is_new = bool(best.signs[SIGNS.index("exchanged")])
    steps = tuple(replace(step, text=request.text) if is_new else step for step in plan.steps)
    try:
        whole = check_plan(Plan(steps, confidence=round(best.sureness, 4), rests_on=(one.id,)), tools)
    except PlanError:  # its tools are missing, or what was said is not a value of theirs
        return None
    return SaidAgain(whole, is_exchanged, not others, others)


def _telling(text: str) -> list[str]:
    return [word for word in words_of(text)[0] if word not in POLITE]


def _newest_of_each(
    near: Sequence[tuple[Demonstration, NDArray[np.float32]]],
) -> dict[tuple[str, ...], tuple[Demonstration, NDArray[np.float32]]]:
    """Keep the newest of the demonstrations in the same words, polite ones aside.

    A correction by the owner also stands against later actions that nobody objected to.
    """
    found: dict[tuple[str, ...], tuple[Demonstration, NDArray[np.float32]]] = {}
    for one in near:
        words = tuple(_telling(one[0].request)) or words_of(one[0].request)[0]
        known = found.get(words)
        if known is None or one[0].source == "owner" or known[0].source != "owner":
            found.pop(words, None)
            found[words] = one
    return found


def _is_turned(taught: str, said: str) -> bool:
    then, now = words_of(taught)[0], words_of(said)[0]
    first = [next((word for word in words if word not in POLITE), "") for words in (then, now)]
    asks = (first[0] in _QUESTIONS) != (first[1] in _QUESTIONS)
    return asks or bool((set(then) ^ set(now)) & _TURNS)


def does_the_opposite(
    answer: Plan,
    request: Request,
    near: Sequence[tuple[Demonstration, NDArray[np.float32]]],
    tools: Mapping[str, ToolSpec],
) -> bool:
    """Return whether a plan does what the owner taught for the same words with one turned round: on for off.

    Heads and votes find a long request almost the same although one word of it says the contrary. What is done for one
    act of several is compared with what that act says.
    """
    if only_reads(answer, tools):
        return False
    done = {request.text: [(step.tool, dict(step.arguments)) for step in answer.steps]}
    for step in answer.steps:
        if step.text and step.text != request.text:
            done.setdefault(step.text, []).append((step.tool, dict(step.arguments)))
    for one, _ in near:
        taught = [(step.tool, dict(step.arguments)) for step in one.plan.steps]
        said = [text for text, steps in done.items() if taught and steps == taught]
        if any(_is_close(one.request, text) and _is_turned(one.request, text) for text in said):
            return True
    return False


def _is_close(taught: str, text: str) -> bool:
    words, said = set(_telling(taught)), set(_telling(text))
    return len(words & said) >= _CLOSE * max(len(words), len(said), 1)


def _points_back(taught: Demonstration) -> bool:
    """Return whether a request was about something said before it ("send it"): its plan has values of that day."""
    said = set(words_of(taught.request)[0])
    unsaid = (value.split() for value in _written(taught.plan) if not re.match(r" \d", value))
    first = _telling(taught.request)[:_N_FIRST]  # later in the request it stands for what this request itself names
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


def holds_what_is_gone(plan: Plan, tools: Mapping[str, ToolSpec], slots: Sequence[Slot], now: dt.datetime) -> bool:
    """Return whether a step that changes or sends something has a past moment that nobody said.

    Such a moment belongs to the day on which it was taught.
    """
    said = {str(view)[:16] for slot in slots for view in slot.views.values()}
    steps = [step for step in plan.steps if tools[step.tool].effect != "none"]
    return any(
        isinstance(value, str) and is_moment(value) and value[:16] not in said and _is_gone(value, now)
        for step in steps
        for argument in step.arguments.values()
        for value in literals(argument)
    )


# ── Values that are said ──────────────────────────────────────────────────────────────────────────────────


def _left_over(taught: str, said: str, then: Sequence[Slot], now: Sequence[Slot]) -> set[str]:
    """Return the words of either request that the other lacks, except idle words, times and quotations."""
    pairs = Said(said, lambda _: 1.0).paired(words_of(taught)[0])
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
    pairs = Said(said, lambda _: 1.0).paired(taught[0])
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


def _likeliest(
    request: Request,
    form: NDArray[np.float32],
    near: Sequence[tuple[Demonstration, NDArray[np.float32]]],
    rarity: Mapping[str, float],
) -> tuple[Repeat, Demonstration] | None:
    """Return the repeat that is likeliest meant, with what was taught for it; None where none is sure enough."""
    taught = _newest_of_each(near)
    repeats = Repeats(rarity, len(form))
    likeness = []
    for one, its_form in taught.values():
        repeats.add(one, its_form)
        likeness.append(1.0 if _telling(one.request) == _telling(request.text) else float(its_form @ form))
    cosines = np.array(likeness, dtype=np.float32)  # forms leave out values: those of the same words differ
    best = next(iter(repeats.propose(request, form, cosines=cosines)), None)
    if best is None or best.sureness < SURE_WHOLE:
        return None
    return best, next(one for one, _ in taught.values() if one.id == best.id)


def _read_anew(
    best: Repeat, taught: Demonstration, request: Request, then: Sequence[Slot], now: Sequence[Slot]
) -> Plan | None:
    """Return the plan with its times as the request says them; None when they cannot be read."""
    moments = [value for value in values_of(taught.plan) if isinstance(value, str) and is_moment(value)]
    if not moments:
        return best.plan
    times, others = ([slot for slot in slots if slot.kind == "time"] for slots in (then, now))
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
    return exchanged(best.plan, lambda value: changes.get(value, value) if isinstance(value, str) else value)


def _moved_on(
    value: str, times: Sequence[Slot], others: Sequence[Slot], then: dt.datetime, now: dt.datetime
) -> str | None:
    """Return a moment that the request does not say, as many days later as the times it says; None when not known."""
    days = _days_later(times, others)
    if days is None and not times and not _is_soon(value, then):
        days = (now.date() - then.astimezone(now.tzinfo).date()).days
    later = None if days is None else moment_later(value, days, now.tzinfo)
    if later is None or (_is_gone(later, now) and not _is_gone(value, then)):
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


def _is_gone(value: str, now: dt.datetime) -> bool:
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
