"""Reads a reminder that is said with a new event: "put lunch with Anna on Friday at one, remind me 30 minutes before".

The event is planned without these words; the reminder follows it, a length before its start: of what is said to be done
then ("remind me the day before to bake a cake"), else of the event, by its title.
Not covered: the reminder said first, an event whose time is looked up.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from hearth.errors import PlanError
from hearth.formats.plan_validation import check_plan
from hearth.formats.tool_signature import parse_duration
from hearth.language.reading import Utterance
from hearth.types import Argument, Plan, Ref, Step, ToolSpec

_EVENT, _REMINDER = "add_event", "add_reminder"
_SAYS = re.compile(
    r"[\s,;.–-]*\b(?:(?:and|also|then|with|plus|please|can you|could you)\s+)*"
    r"(?:(?:remind|alert|notify|warn|ping|nudge) me|(?:set |add |have )?(?:a |an )?(?:reminder|alert|alarm))"
    r"(?: of it)?\s*$",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"\s*(?:before(?:hand)?|b4|ahead|in advance|earlier|prior)(?: it| that| then| it starts)?"
    r"(?:[ ,]+(?:to|that i(?: need to| have to| must| should)?) (?P<deed>\S.*?))?"
    r"(?:[ ,]*(?:please|pls|thanks|thank you))?[\s.!]*$",
    re.IGNORECASE,
)
_DAY = re.compile(r"\bthe (?P<unit>day|night|evening|morning|week)(?=\s+(?:before|b4)\b)", re.IGNORECASE)
_HOURS = {"night": 20, "evening": 18, "morning": 9}
_LONGEST = 2_000
_WHOLE_DAY_AT = 9
"""The hour at which one is reminded the day before what lasts all day."""


@dataclass(frozen=True, slots=True)
class Lead:
    """A reminder that is said with something else."""

    rest: str
    """The request without it."""
    before: dt.timedelta
    text: str
    """Its words."""
    deed: str = ""
    """What is to be done then, where that is said."""
    hour: int | None = None
    """The hour that "the evening before" is."""

    def at(self, start: dt.datetime) -> dt.datetime:
        """Return when it reminds of what starts then."""
        hour = self.hour
        if hour is None and self.before.days and start.time() == dt.time():
            hour = _WHOLE_DAY_AT
        at = start - self.before
        return at if hour is None else at.replace(hour=hour, minute=0)


def lead_of(said: Utterance) -> Lead | None:
    """Return the reminder that ends a request; None where none does."""
    text = said.text
    if len(text) > _LONGEST:
        return None
    for start, end, before, hour in _lengths(said):
        tail, says = _BEFORE.fullmatch(text, end), _SAYS.search(text, 0, start)
        if tail is not None and says is not None and says.start() > 0:
            words = text[says.start() :].lstrip(" ,;.–-")
            return Lead(text[: says.start()].rstrip(), before, words, tail["deed"] or "", hour)
    return None


def _lengths(said: Utterance) -> Iterator[tuple[int, int, dt.timedelta, int | None]]:
    """Yield where a length or a day counted from the event stands, and what it is."""
    for match in _DAY.finditer(said.text):
        unit = match["unit"].lower()
        yield match.start(), match.end(), dt.timedelta(days=7 if unit == "week" else 1), _HOURS.get(unit)
    for slot in said.slots:
        if slot.kind == "duration":
            yield slot.start, slot.end, parse_duration(str(slot.views["duration"])), None


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
