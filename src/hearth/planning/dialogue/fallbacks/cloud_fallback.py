"""Sends questions of general knowledge that no tool serves to the cloud, if there is one that answers.

Covered: questions and requests for ideas. Not covered: orders ("play music"), questions back, questions for memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from hearth.errors import PlanError
from hearth.formats.plan_validation import check_plan
from hearth.language.acts.questions import asked_of
from hearth.types import Plan, Refusal, Request, Step, ToolSpec

ASK_CLOUD = "ask_cloud"
NAME = "cloud"
_IDEAS = re.compile(
    r"\s*(?:please )?(?:(?:can|could|would) you )?(?:suggest|recommend|propose|explain|tell me (?:about|how|why|what)"
    r"|give me (?:some |an? )?(?:ideas?|tips?)|(?:any|some) (?:ideas?|tips?|suggestions?)|ideas? for|what about"
    r"|how about|(?:gift|dinner|lunch|breakfast|snack|meal|dessert|recipe|holiday)s? ideas?)\b",
    re.IGNORECASE,
)

_CLAUSE = re.compile(r"[^.!?,;\n]+[.!?]*")


def asked_of_cloud(request: Request, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> Plan | None:
    """Plan to ask the cloud; None when a plan was found, this is no question, or nobody may be asked."""
    if ASK_CLOUD not in tools or not isinstance(found, Refusal) or found.kind != "out_of_scope":
        return None
    text = request.text.strip()
    if not any(asked_of(part).is_question or _IDEAS.match(part) for part in _CLAUSE.findall(text)):
        return None
    try:
        return check_plan(Plan((Step(ASK_CLOUD, {"question": text}, text=text),), confidence=0.5, planner=NAME), tools)
    except PlanError:
        return None
