"""Keeps what is to be written out of the look-up of the mail it answers: "tell Ana on her mail that Friday is fine".

A planner fills the look-up from all words, those of the reply among them: a mail of Friday, or one that says "fine".
What stands in the reply's own text alone is no sign of the mail.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hearth.errors import PlanError
from hearth.formats.plan_validation import check_plan
from hearth.language.reading import Utterance
from hearth.types import Plan, Step, ToolSpec

_WRITES = frozenset({"draft_reply"})
_LOOKS_UP = "find_mail"


def without_told_filters(plan: Plan, said: Utterance, tools: Mapping[str, ToolSpec]) -> Plan:
    """Return the plan whose look-up of the mail to answer has no time or words of the answer's text."""
    steps = list(plan.steps)
    for step in plan.steps:
        text = step.arguments.get("text")
        start = said.text.find(text) if step.tool in _WRITES and isinstance(text, str) and text else -1
        if start < 0:
            continue
        rest = said.saying(f"{said.text[:start]} {said.text[start + len(str(text)) :]}")
        for ref in step.refs():
            if 0 <= ref.step < len(steps) and steps[ref.step].tool == _LOOKS_UP:
                steps[ref.step] = _of_the_rest(steps[ref.step], rest, said)
    try:
        return check_plan(replace(plan, steps=tuple(steps)), tools)
    except PlanError:
        return plan


def _of_the_rest(step: Step, rest: Utterance, said: Utterance) -> Step:
    arguments = dict(step.arguments)
    if not rest.times:
        arguments = {name: value for name, value in arguments.items() if name not in ("start", "end")}
    query = arguments.get("query")
    if isinstance(query, str) and query.lower() not in rest.text.lower() and query.lower() in said.text.lower():
        del arguments["query"]
    return replace(step, arguments=arguments) if arguments else step
