"""Says how far the things that a plan names are there: which of several readings of a request is about something real.

"Kill the dump run" may be an event, a reminder or a device. The planner sees none of the owner's records; here each
reading's look-ups run, as they may without a question, and the names it gives to tools are resolved. What is there
decides, and the question names it.

Covered: reading steps that the guard lets run unasked, on this device; names that tools resolve (devices, files,
lists). Not covered: plans that name nothing; what only the network tells.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping

from hearth.errors import Ambiguous, HearthError
from hearth.execution.reference_resolution import bind
from hearth.execution.speculation import WITHIN_S, ReadAhead
from hearth.guard.decision import Occasion
from hearth.guard.flow.labels import run_order
from hearth.guard.monitor import Monitor
from hearth.language.text.normalize import stems
from hearth.protocols import CallContext
from hearth.types import Plain, Plan, Step, StepResult, ToolSpec

NOTHING = 0.0
"""Something that the plan names is not there."""
LEAST_GROUNDED = 0.6
"""What another reading has to be more than: a record with one word of two is not what was named."""
WHOLE = 0.9
"""What a reading that takes something away has to reach: all but a small word of what is named."""
NOT_NAMED = -1.0
"""The plan names nothing that could be looked for."""
_WORDS = frozenset({"query", "name", "sender"})
"""Parameters of look-ups that hold what a thing is called."""
_SMALL = stems(
    "the a an my our your his her their that this these those of for to in on at by from with and or it he she they "
    "them me you i we one ones thing things all any anything everything something last next now then again please today"
)


def groundedness(
    monitor: Monitor,
    plan: Plan,
    tools: Mapping[str, ToolSpec],
    occasion: Occasion,
    make_context: Callable[[str, dt.datetime], CallContext],
) -> float:
    """Return how far what a plan names is there, in [0, 1]; `NOT_NAMED` where it names nothing.

    Args:
        make_context: Makes a call's context from key and time.
    """
    ahead = ReadAhead.begin(monitor, plan, tools, occasion, make_context)
    results: Mapping[int, StepResult] = {}
    if ahead is not None:
        results = ahead.finish(WITHIN_S)
        ahead.settle(None)
    context = make_context("", occasion.now)
    shares: list[float] = []
    for index in run_order(plan):
        step = plan.steps[index]
        if (said := said_of(step)) and index in results:
            shares.append(_share_named(said, results[index].value))
        elif said and tools[step.tool].effect == "none":
            return NOTHING  # the look-up failed
        elif _is_anything(plan, index, results):
            return NOTHING
        if not step.needs() <= results.keys():
            continue
        try:
            values = monitor.things_of(step, bind(plan, index, results, tools), context)
        except Ambiguous:
            continue
        except HearthError:
            return NOTHING
        shares += [1.0 for name, value in values.items() if value.things and isinstance(step.arguments.get(name), str)]
    return min(shares, default=NOT_NAMED)


def _is_anything(plan: Plan, index: int, results: Mapping[int, StepResult]) -> bool:
    """Return whether a look-up without a word found several things, of which another step wants the one."""
    found = results[index].value if index in results else None
    refs = [ref for step in plan.steps for ref in step.refs() if ref.step == index]
    is_one_wanted = any(ref.path and not ref.path[0].isdigit() for ref in refs)
    return not plan.steps[index].arguments and is_one_wanted and isinstance(found, list) and len(found) > 1


def said_of(step: Step) -> str:
    return " ".join(v for name, v in step.arguments.items() if name in _WORDS and isinstance(v, str))


def _share_named(said: str, found: Plain) -> float:
    """Return the share of the words that the record which has most of them has; 0 where nothing was found."""
    asked = stems(said) - _SMALL
    records = found if isinstance(found, list) else [found] if found is not None else []
    texts = [stems(" ".join(_texts(record))) for record in records[:20]]
    best = max((sum(word in text for word in asked) / max(1, len(asked)) for text in texts), default=NOTHING)
    return max(best, 0.1) if records else NOTHING


def _texts(value: Plain) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in _texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [value] if isinstance(value, str) else []
