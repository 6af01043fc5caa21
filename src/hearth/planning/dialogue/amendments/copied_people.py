"""Reads whom a mail goes to as well: "email Pieter that the heating is off and cc Noor".

The mail is planned without these words; whoever is named there becomes a further recipient, as a draft knows no copies.
Covered: known people at the end of the request. Not covered: an address there, which the planner reads itself; people
who are not in the contacts, and replies, which go to whoever wrote: their words stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hearth.errors import PlanError
from hearth.formats.plan_validation import check_plan
from hearth.language.reading import Utterance
from hearth.planning.plan_steps import moved
from hearth.types import Plan, Ref, Step, ToolSpec

_FIND, _DRAFT = "find_contact", "draft_mail"
_COPY = re.compile(
    r"[\s,;.–-]+(?:(?:and|also|please|with)\s+)*(?:(?:a\s+)?b?cc(?:\s+to|['’]?d|ing|ed)?|cop(?:y|ying)(?:\s+(?:in|to))?|"
    r"(?:a|with\s+a)\s+copy\s+to)\s*:?\s+(?P<who>\S.{0,120}?)(?:\s+(?:in|too|as\s+well|please|on\s+(?:it|that|this)))*\s*[.!]*\s*$",
    re.IGNORECASE,
)
_JOINT = re.compile(r"\s*,?\s*(?:and\s+|&\s*)?", re.IGNORECASE)
_MOST, _LONGEST = 6, 2_000


@dataclass(frozen=True, slots=True)
class Copied:
    """Who else gets a mail."""

    rest: str
    """The request without them."""
    names: tuple[str, ...]


def copied_in(said: Utterance) -> Copied | None:
    """Return who else gets the mail that a request asks for; None where nobody is named so, or somebody unknown."""
    match = _COPY.search(said.text) if len(said.text) <= _LONGEST else None
    if match is None or match.start() == 0:
        return None
    who = f"tell {match['who']}"
    slots = said.saying(who).slots
    names = [str(slot.views["name"]) for slot in slots if slot.kind == "person"]
    place = len("tell ")
    for slot in slots:
        if slot.kind != "person" or (place < slot.start and _JOINT.fullmatch(who, place, slot.start) is None):
            return None
        place = slot.end
    if not names or len(names) > _MOST or who[place:].strip():
        return None
    return Copied(said.text[: match.start()], tuple(names))


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
