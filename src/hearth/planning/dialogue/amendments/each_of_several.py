"""Does with each what is said of several: "every Monday and Thursday", "at 6 and at 6:15", "the hall lamp and the fan".

A tool repeats on one day of the week, or on all weekdays or weekends; a planner takes the first of several days, or
every day, and a row of devices for one name, or its first member for all. Covered: repetitions by days of the week in a
plan whose steps stand alone; clock times in a row for one deed; known devices in a row. Not covered: "Monday to Friday"
of one week, every other week on several days, rooms or kinds in a row ("the lights in the hall and the kitchen").
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from hearth.errors import PlanError
from hearth.formats.plan_validation import check_plan
from hearth.language.discourse.relative_anchors import names_a_day
from hearth.language.reading import Utterance
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


# ── Devices ───────────────────────────────────────────────────────────────────────────────────────────────

_DEVICE = "device"
_ARTICLE = r"(?:(?:the|my|our)\s+)?"
_JOINT = r"\s*(?:,\s*(?:and\s+)?|\band\s+|&\s*|\bplus\s+|\bn\s+)"


def with_each_device(plan: Plan, said: Utterance, tools: Mapping[str, ToolSpec]) -> Plan:
    """Return the plan with a step for each device of a row; the same where none is named, or steps use results."""
    devices = [entity for entity in said.context.entities if entity.kind == "device"]
    names = {name for device in devices for name in (device.name, *device.aliases)}
    plan = replace(plan, steps=tuple(_whole_name(step, said.text, names) for step in plan.steps))
    if len(names) < 2 or any(step.needs() for step in plan.steps):
        return plan
    rows = _rows(said.text, names)
    steps: list[Step] = []
    for step in plan.steps:
        device = step.arguments.get(_DEVICE)
        row = next((row for row in rows if isinstance(device, str) and _is_of(device, row)), None)
        if row is None:
            steps.append(step)
            continue
        known = {other.arguments.get(_DEVICE) for other in plan.steps if other is not step}
        mine = [name for name in row if name not in known]
        steps += [replace(step, arguments={**step.arguments, _DEVICE: name}) for name in mine]
    left = tuple(text for text in plan.unserved if not any(_is_of(text, row) for row in rows))
    try:
        return check_plan(replace(plan, steps=tuple(steps), unserved=left), tools)
    except PlanError:
        return plan


def _whole_name(step: Step, text: str, names: set[str]) -> Step:
    """Return the step with its device by the whole name that was said: "dads lamp" is not the lamp."""
    value = step.arguments.get(_DEVICE)
    if not isinstance(value, str) or not (part := _plain(value)):
        return step
    said = f" {_plain(text)} "
    longer = [name for name in names if f" {_plain(name)} " in said and _plain(name).endswith(f" {part}")]
    for name in longer:
        said = said.replace(f" {_plain(name)} ", "  ")
    if not longer or f" {part} " in said:
        return step
    return replace(step, arguments={**step.arguments, _DEVICE: max(longer, key=len)})


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", re.sub(r"['’]", "", text.lower())))


def _rows(text: str, names: set[str]) -> list[list[str]]:
    """Return the devices of each row of two or more, as the request calls them."""
    one = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    row = re.compile(rf"\b{_ARTICLE}(?:{one})\b(?:{_JOINT}{_ARTICLE}(?:{one})\b)+", re.IGNORECASE)
    each = re.compile(rf"\b(?:{one})\b", re.IGNORECASE)
    return [list(dict.fromkeys(found[0] for found in each.finditer(match[0]))) for match in row.finditer(text)]


def _is_of(said: str, row: list[str]) -> bool:
    """Return whether words are a member of a row, or the row."""
    low = re.sub(rf"\A{_ARTICLE}", "", " ".join(said.lower().split()))
    words = [name.lower() for name in row]
    rest = low
    for name in sorted(words, key=len, reverse=True):
        rest = rest.replace(name, "")
    return low in words or (rest != low and not re.sub(r"\b(?:the|my|our|and|plus|n)\b|[\s,&]", "", rest))
