"""Reads what is asked about a device as a question: "did I lock the front door" locks nothing.

A planner goes by the words that an order has, too. Covered: yes-or-no questions that are the whole request and whose
plan would change one device. Not covered: "can you …", which orders.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from hearth.errors import PlanError
from hearth.formats.plan_validation import check_plan
from hearth.types import Plan, Request, ToolSpec

_STATE, _PARAMETER = "device_state", "device"
_ASKS = re.compile(
    r"\s*(?:(?:hey|hi|so|um|wait)\b,?\s+)*(?:did|have|has|is|are|was|were)\s+(?:i|we|he|she|they|someone|somebody|anyone|"
    r"anybody|the|my|our|all)\b[^.;!?]*[?.!\s]*",
    re.IGNORECASE,
)


def with_state_asked(plan: Plan, request: Request, tools: Mapping[str, ToolSpec]) -> Plan:
    """Return the plan that looks at the device which a question is about; the same where nothing such is asked."""
    if len(plan.steps) != 1 or _STATE not in tools or _ASKS.fullmatch(request.text) is None:
        return plan
    step = plan.steps[0]
    device = step.arguments.get(_PARAMETER)
    if tools[step.tool].effect == "none" or not isinstance(device, str):
        return plan
    try:
        return check_plan(replace(plan, steps=(replace(step, tool=_STATE, arguments={_PARAMETER: device}),)), tools)
    except PlanError:
        return plan
