"""Does with each of several devices what is said of them together: "turn off the hall lamp and the fan".

A planner may take such a row for one name, or its first member for all. Where the request names known devices in one
row, each gets the step. Not covered: rooms or kinds in a row ("the lights in the hall and the kitchen").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from hearth.errors import PlanError
from hearth.formats.plan_validation import check_plan
from hearth.language.reading import Utterance
from hearth.types import Plan, Step, ToolSpec

_PARAMETER = "device"
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
        device = step.arguments.get(_PARAMETER)
        row = next((row for row in rows if isinstance(device, str) and _is_of(device, row)), None)
        if row is None:
            steps.append(step)
            continue
        known = {other.arguments.get(_PARAMETER) for other in plan.steps if other is not step}
        mine = [name for name in row if name not in known]
        steps += [replace(step, arguments={**step.arguments, _PARAMETER: name}) for name in mine]
    left = tuple(text for text in plan.unserved if not any(_is_of(text, row) for row in rows))
    try:
        return check_plan(replace(plan, steps=tuple(steps), unserved=left), tools)
    except PlanError:
        return plan


def _whole_name(step: Step, text: str, names: set[str]) -> Step:
    """Return the step with its device by the whole name that was said: "dads lamp" is not the lamp."""
    value = step.arguments.get(_PARAMETER)
    if not isinstance(value, str) or not (part := _plain(value)):
        return step
    said = f" {_plain(text)} "
    longer = [name for name in names if f" {_plain(name)} " in said and _plain(name).endswith(f" {part}")]
    for name in longer:
        said = said.replace(f" {_plain(name)} ", "  ")
    if not longer or f" {part} " in said:
        return step
    return replace(step, arguments={**step.arguments, _PARAMETER: max(longer, key=len)})


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
