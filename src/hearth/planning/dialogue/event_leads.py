"""Reads a reminder that is said with a new event: "put lunch with Anna on Friday at one, remind me 30 minutes before".

The event is planned without these words; the reminder follows it, by the event's own title, a length before its start.
Not covered: the reminder said first, a lead without a length ("the evening before"), an event whose time is looked up.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hearth.errors import PlanError
from hearth.formats.plan_validation import check_plan
from hearth.formats.tool_signature import parse_duration
from hearth.language.values.slots import find_slots
from hearth.types import Argument, Context, Plan, Ref, Step, ToolSpec

_EVENT, _REMINDER = "add_event", "add_reminder"
_SAYS = re.compile(
    r"[\s,;.–-]*\b(?:(?:and|also|then|with|plus|please|can you|could you)\s+)*"
    r"(?:(?:remind|alert|notify|warn|ping|nudge) me|(?:set |add |have )?(?:a |an )?(?:reminder|alert|alarm))"
    r"(?: of it)?\s*$",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"\s*(?:before(?:hand)?|b4|ahead|in advance|earlier|prior)(?: it| that| then| it starts)?"
    r"(?:[ ,]*(?:please|pls|thanks|thank you))?[\s.!]*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Lead:
    """A reminder that is said with something else."""

    rest: str
    """The request without it."""
    before: dt.timedelta
    text: str
    """Its words."""


def lead_of(text: str, now: dt.datetime) -> Lead | None:
    """Return the reminder that ends a request; None where none does."""
    for slot in find_slots(text, now, Context()):
        if slot.kind != "duration" or _BEFORE.fullmatch(text, slot.end) is None:
            continue
        says = _SAYS.search(text, 0, slot.start)
        if says is not None and says.start() > 0:
            before = parse_duration(str(slot.views["duration"]))
            return Lead(text[: says.start()].rstrip(), before, text[says.start() :].lstrip(" ,;.–-"))
    return None


def with_lead(plan: Plan, lead: Lead, now: dt.datetime, tools: Mapping[str, ToolSpec]) -> Plan | None:
    """Return the plan with the reminder; None where it adds no event, or one whose time is not known yet."""
    places = [k for k, step in enumerate(plan.steps) if step.tool == _EVENT]
    if len(places) != 1 or plan.unserved:
        return None
    start = plan.steps[places[0]].arguments.get("start")
    try:
        at = dt.datetime.fromisoformat(start) - lead.before if isinstance(start, str) else None
        if at is None or at <= now:
            return None
        arguments: dict[str, Argument] = {"text": Ref(places[0], ("title",)), "at": at.isoformat()}
        return check_plan(replace(plan, steps=(*plan.steps, Step(_REMINDER, arguments, text=lead.text))), tools)
    except (PlanError, ValueError, TypeError):
        return None
