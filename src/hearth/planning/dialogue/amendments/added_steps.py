"""Adds to a plan what was asked for beside its request: a reminder, further recipients (`language.discourse`).

Not covered: a reminder of an event whose time is looked up; copies of a reply, which goes to whoever wrote.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace

from hearth.errors import PlanError
from hearth.formats.plan_validation import check_plan
from hearth.language.discourse.additions import Copied, Lead
from hearth.planning.plan_steps import moved
from hearth.types import Argument, Plan, Ref, Step, ToolSpec

_EVENT, _REMINDER = "add_event", "add_reminder"
_FIND, _DRAFT = "find_contact", "draft_mail"


def with_lead(plan: Plan, lead: Lead, now: dt.datetime, tools: Mapping[str, ToolSpec]) -> Plan | None:
    """Return the plan with the reminder; None where it adds no event, or one whose time is not known yet."""
    places = [k for k, step in enumerate(plan.steps) if step.tool == _EVENT]
    if len(places) != 1 or plan.unserved:
        return None
    start = plan.steps[places[0]].arguments.get("start")
    try:
        at = lead.at(dt.datetime.fromisoformat(start)) if isinstance(start, str) else None
        if at is None or at <= now:
            return None
        arguments: dict[str, Argument] = {"text": lead.deed or Ref(places[0], ("title",)), "at": at.isoformat()}
        return check_plan(replace(plan, steps=(*plan.steps, Step(_REMINDER, arguments, text=lead.text))), tools)
    except (PlanError, ValueError, TypeError):
        return None


def writes_to_fewer(plan: Plan, told: Copied) -> bool:
    """Return whether the one new mail of a plan goes to fewer people than are told."""
    to = [step.arguments.get("to") for step in plan.steps if step.tool == _DRAFT]
    return len(to) == 1 and isinstance(to[0], list) and len(to[0]) < 1 + len(told.names)


def with_copied(plan: Plan, copied: Copied, tools: Mapping[str, ToolSpec]) -> Plan | None:
    """Return the plan whose one new mail goes to them, too; None where it writes none."""
    places = [k for k, step in enumerate(plan.steps) if step.tool == _DRAFT]
    if len(places) != 1 or plan.unserved or _FIND not in tools:
        return None
    place, n = places[0], len(copied.names)
    to = plan.steps[place].arguments.get("to")
    if not isinstance(to, list):
        return None
    looked_up = [Step(_FIND, {"name": name}) for name in copied.names]
    at = {k: k if k < place else k + n for k in range(len(plan.steps))}
    steps_moved = [moved(step, at) for step in plan.steps]
    draft = steps_moved[place]
    further = [Ref(place + k, ("email",)) for k in range(n)]
    draft = replace(draft, arguments={**draft.arguments, "to": [*to, *further]})
    steps = (*steps_moved[:place], *looked_up, draft, *steps_moved[place + 1 :])
    try:
        return check_plan(replace(plan, steps=steps), tools)
    except PlanError:
        return None
