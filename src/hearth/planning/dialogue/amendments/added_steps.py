"""Adds to a plan what was asked for beside its request: a reminder, further recipients (`language.discourse`); and the
reminders of days whose events are listed.

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
_EVENTS, _REMINDERS = "find_events", "find_reminders"
_LONGEST = dt.timedelta(days=7, hours=2)
"""The longest span of days whose reminders are told beside the events: a week, in which the clocks may change."""


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


def reminders_of_days(plan: Plan, now: dt.datetime, tools: Mapping[str, ToolSpec]) -> tuple[Step, ...]:
    """Return the steps that list what is due on the days whose events a plan lists; none where it looks for words or
    for hours, for more than a week, or does anything else."""
    if _REMINDERS not in tools or any(step.tool != _EVENTS for step in plan.steps):
        return ()
    spans = [_whole_days(step, now) for step in plan.steps]
    if None in spans:
        return ()
    return tuple(Step(_REMINDERS, {**span}, text=step.text) for step, span in zip(plan.steps, spans) if span)


def _whole_days(step: Step, now: dt.datetime) -> Mapping[str, Argument] | None:
    """Return the start and the end of whole days, the first of which may have begun; None for any other span."""
    start, end = step.arguments.get("start"), step.arguments.get("end")
    if not isinstance(start, str) or not isinstance(end, str) or step.arguments.get("query"):
        return None
    first, last = dt.datetime.fromisoformat(start), dt.datetime.fromisoformat(end)
    begins = first.time() == dt.time() or abs(first - now) < dt.timedelta(minutes=1)
    return {"start": start, "end": end} if begins and last.time() == dt.time() and last - first <= _LONGEST else None
