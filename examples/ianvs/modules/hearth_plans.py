"""A sample's question and answer: JSON texts in the plan format, since Ianvs hands modules these two texts alone."""

from __future__ import annotations

import datetime as dt
import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hearth.plan_format import demonstration_from_json, plan_from_json, plan_to_json, read_tools
from hearth.types import Demonstration, Plan, Refusal, Request, ToolSpec

DATA = Path(__file__).resolve().parents[1] / "data"


@functools.cache
def tools() -> Mapping[str, ToolSpec]:
    """The tools on offer, from the file."""
    return read_tools(DATA / "tools.json")


def request_of(question: str) -> Request:
    """What was asked, and when."""
    line = json.loads(str(question))
    return Request(line["user_request"], dt.datetime.fromisoformat(line["now"]), line["id"])


def demonstrations_of(questions: Sequence[str], answers: Sequence[str]) -> list[Demonstration]:
    """What there is to learn; an answer without steps teaches a refusal."""
    return [demonstration_from_json(line_of(q, a)) for q, a in zip(questions, answers)]


def line_of(question: str, answer: str) -> dict[str, Any]:
    """Both as one line of a file in the plan format."""
    return {**json.loads(str(question)), **json.loads(str(answer))}


def answer_of(found: Plan | Refusal) -> str:
    """A planner's word as an answer; a refusal or a question back has no steps."""
    return json.dumps(plan_to_json(found if isinstance(found, Plan) else Plan(())))


def plan_of(answer: Any) -> Plan:
    """The plan of an answer, in whatever a paradigm wraps it: a list of one, or joint inference's four things."""
    while not isinstance(answer, (str, Mapping)):
        answer = answer[1 if len(answer) == 4 else 0]
    return plan_from_json(json.loads(str(answer["completion"] if isinstance(answer, Mapping) else answer)))
