"""Does at each time what is said of several: "every Monday and Thursday", "on weekdays", "at 6 and at 6:15".

A tool repeats on one day of the week, or on all weekdays or weekends; a planner takes the first of several days, or
every day. Covered: repetitions by days of the week in a plan whose steps stand alone; clock times in a row for one
deed. Not covered: "Monday to Friday" of one week, every other week on several days.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from hearth.errors import PlanError
from hearth.formats.plan_validation import check_plan
from hearth.language.reading import Utterance
from hearth.planning.dialogue.references.relative_anchors import names_a_day
from hearth.types import Argument, Plan, Step, ToolSpec

_REPEAT = "repeat"
_CODES = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_SETS = {frozenset(_CODES[:5]): "on weekdays", frozenset(_CODES[5:]): "on weekends"}
_TIMES = frozenset({"datetime", "date"})


def with_each_day(plan: Plan, said: Utterance, tools: Mapping[str, ToolSpec]) -> Plan:
    """Return the plan that repeats on all the days that are said; the same where one or none is, or it says them."""
    if any(step.needs() for step in plan.steps):
        return plan
    repeated = [(slot.views["datetime"], slot.views["repeat_days"]) for slot in said.times if _is_of_days(slot.views)]
    steps: list[Step] = []
    for step in plan.steps:
        days = next((days for moment, days in repeated if moment in step.arguments.values()), None)
        steps += _on_days(step, days, tools[step.tool], said.now.tzinfo) if isinstance(days, list) else [step]
    if tuple(steps) == plan.steps:
        return plan
    try:
        return check_plan(replace(plan, steps=tuple(steps)), tools)
    except PlanError:
        return plan


_BESIDE = re.compile(r"\s*(?:,|,?\s*(?:and|&|n)|,?\s*and\s+(?:again\s+)?at|(?:and\s+)?again\s+at)\s*", re.IGNORECASE)
_MOST_TIMES = 6


def with_each_time(plan: Plan, said: Utterance, tools: Mapping[str, ToolSpec]) -> Plan:
    """Return the plan with a step for each clock time of a row: "wake me at 6 and at 6:15". The same where a step has a
    start and an end, or the times do not stand beside each other."""
    if len(plan.steps) != 1 or tools[plan.steps[0].tool].effect != "change":
        return plan
    (step,) = plan.steps
    names = [p.name for p in tools[step.tool].parameters if p.type in _TIMES]
    given = step.arguments.get(names[0]) if len(names) == 1 else None
    row = _clock_row(said)
    if not isinstance(given, str) or not 1 < len(row) <= _MOST_TIMES:
        return plan
    day = dt.datetime.fromisoformat(given)
    if f"{day:%H:%M}" not in row:
        return plan
    moments = [day.replace(hour=int(time[:2]), minute=int(time[3:])) for time in row]
    steps = [replace(step, arguments={**step.arguments, names[0]: moment.isoformat()}) for moment in moments]
    left = tuple(text for text in plan.unserved if not any(text in words for words in row.values()))
    try:
        return check_plan(replace(plan, steps=tuple(steps), unserved=left), tools)
    except PlanError:
        return plan


def _clock_row(said: Utterance) -> Mapping[str, str]:
    """Return the clock times that stand in one row, in which no second day is said, each with its words."""
    slots = said.times
    times = [str(slot.views.get("time", ""))[:5] for slot in slots]
    gaps = [said.text[a.end : b.start] for a, b in pairwise(slots)]
    is_row = all(times) and all(_BESIDE.fullmatch(gap) for gap in gaps)
    words = {time: slot.text for time, slot in zip(times, slots)}
    return words if is_row and not any(map(names_a_day, slots[1:])) else {}


def _is_of_days(views: Mapping[str, object]) -> bool:
    days = views.get("repeat_days")
    return (
        isinstance(days, list) and 1 < len(days) < len(_CODES) and "datetime" in views and "repeat_every" not in views
    )


def _on_days(step: Step, days: Sequence[object], spec: ToolSpec, zone: dt.tzinfo | None) -> list[Step]:
    """Return the step as one that repeats on these days, or as one for each of them."""
    parameter = spec.parameter(_REPEAT)
    if parameter is None:
        return [step]
    together = _SETS.get(frozenset(map(str, days)), "")
    if together in parameter.enum:
        return [replace(step, arguments={**step.arguments, _REPEAT: together})]
    if "weekly" not in parameter.enum:
        return [step]
    times = {
        name for name, value in step.arguments.items() if (p := spec.parameter(name)) and p.type in _TIMES and value
    }
    found = []
    for code in map(str, days):
        moved = {name: _on_day(value, code, zone) if name in times else value for name, value in step.arguments.items()}
        found.append(replace(step, arguments={**moved, _REPEAT: "weekly"}))
    return sorted(found, key=lambda one: min(str(one.arguments[name]) for name in times)) if times else [step]


def _on_day(value: Argument, code: str, zone: dt.tzinfo | None) -> Argument:
    """Return a time on the next such day of the week from its own day on, at the same hour there."""
    if not isinstance(value, str):
        return value
    day = dt.datetime.fromisoformat(value)
    moved = day + dt.timedelta(days=(_CODES.index(code) - day.weekday()) % 7)
    return moved.replace(tzinfo=zone or day.tzinfo).isoformat() if "T" in value else moved.date().isoformat()
