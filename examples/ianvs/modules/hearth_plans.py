"""A sample's question and answer: JSON texts in the plan format, since Ianvs hands modules these two texts alone."""

from __future__ import annotations

import datetime as dt
import functools
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hearth.formats.plans import demonstration_from_json, plan_from_json, plan_to_json, read_tools
from hearth.types import Demonstration, Plan, Refusal, Request, ToolSpec
from hearth_bench.energy_counter import EnergyCounter
from hearth_bench.scoring.system_metrics import Usage

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


def answer_of(found: Plan | Refusal, usage: Usage | None = None) -> str:
    """A planner's word as an answer, with what it cost; a refusal or a question back has no steps."""
    cost = {} if usage is None else {"usage": usage.document()}
    return json.dumps({**plan_to_json(found if isinstance(found, Plan) else Plan(())), **cost})


AT_HOME = Usage(prompt_tokens=0, completion_tokens=0, cloud_calls=0, bytes_out=0, sent=())
"""What a planner without a language model costs that asks nobody, beside its time and energy."""


class Meter:
    """Time and energy since it was made; no energy where the processor's counter cannot be read."""

    counter = EnergyCounter.open()

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._energy_uj = self.counter.read_uj()

    def read(self, usage: Usage) -> Usage:
        """`usage` with both."""
        spent_j = self.counter.spent_j(self._energy_uj)
        return replace(usage, latency_ms=1000 * (time.perf_counter() - self._started), energy_j=spent_j)


def plan_of(answer: Any) -> Plan:
    """The plan of an answer, in whatever a paradigm wraps it: a list of one, or joint inference's four things."""
    while not isinstance(answer, (str, Mapping)):
        answer = answer[1 if len(answer) == 4 else 0]
    return plan_from_json(json.loads(str(answer["completion"] if isinstance(answer, Mapping) else answer)))
