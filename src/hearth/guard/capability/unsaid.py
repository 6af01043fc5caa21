"""Tells what another planner made up from what the owner said: its values are that planner's, not the owner's.

A plan by a cloud that was joined or by a language model may hold anything. `with_unsaid` looks at each literal of it
and marks, with its source, what the request does not say; the mark stays with the step, so that rules, questions,
labels and the record see who it comes from, and `unsaid_in` finds it for the judge.

Covered: words, names, addresses, paths and numbers that are not the request's; a time where the request names none or
another one; nested lists and records.
Not covered: switches and choices; which deed is planned with the owner's own words; how words of the request are put
together; plans by this device, which takes values from the request or from what the owner taught.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from hearth.formats.plan_validation import literals
from hearth.guard.capability.evidence import Evidence
from hearth.guard.capability.parameter_roles import ADDRESS_TYPES, element_type
from hearth.guard.capability.record_extraction import Owner
from hearth.guard.capability.request_words import all_numbers, content_words, folded
from hearth.language.reading import Utterance
from hearth.types import Argument, Parameter, Plan, Step, ToolSpec

_MADE_BY = {"cloud:": "teacher", "language:": "model", "compact:": "model"}
"""How the names of planners begin that are not this device's, and the source of what they make up."""
_MOMENTS = frozenset({"date", "datetime", "time"})
_NUMBERS = frozenset({"integer", "number", "duration"})


def source_of(planner: str) -> str:
    """Return the source of what a planner makes up; empty for this device's planners."""
    return next((source for start, source in _MADE_BY.items() if planner.startswith(start)), "")


def with_unsaid(plan: Plan, request: Utterance, tools: Mapping[str, ToolSpec]) -> Plan:
    """Return the plan with what its planner made up marked as such; unchanged where this device made it."""
    source = source_of(plan.planner)
    if not source:
        return plan
    said = _Said(request)
    steps = tuple(
        replace(step, unsaid=dict.fromkeys(said.left_out(step, tools[step.tool]), source))
        if step.tool in tools
        else step
        for step in plan.steps
    )
    return replace(plan, steps=steps)


def unsaid_in(plan: Plan, index: int) -> tuple[int, str] | None:
    """Find the first value that a planner made up and that a step is given, or that decides what it is given: its own,
    else one of the steps that it takes results of. Returns: The step and the argument; None without one."""
    seen: set[int] = set()
    waiting = [index]
    while waiting:
        place = waiting.pop(0)
        if place in seen or not 0 <= place < len(plan.steps):
            continue
        seen.add(place)
        step = plan.steps[place]
        if step.unsaid:
            return place, next(iter(step.unsaid))
        waiting.extend(ref.step for ref in step.refs())
    return None


class _Said:
    """What one request says."""

    def __init__(self, request: Utterance) -> None:
        text = " ".join(filter(None, (request.text, request.said)))
        self._picked = frozenset(record.id for record in request.records)
        self._evidence = Evidence(replace(request, text=text), Owner())
        self._names = frozenset(
            folded(name)
            for one in request.context.entities
            for name in (one.name, *one.aliases)
            if any(self._says(other) for other in (one.name, *one.aliases))
        )
        slots = request.saying(text).slots
        self._has_time = any(slot.kind in ("time", "duration") for slot in slots)
        self._numbers = frozenset(
            float(value)
            for slot in slots
            for name, value in slot.views.items()
            if name in ("number", "integer") and isinstance(value, int | float)
        )
        self._values = frozenset(str(value) for slot in slots for value in slot.views.values())

    def left_out(self, step: Step, spec: ToolSpec) -> Iterator[str]:
        """Yield the arguments of a step with a literal that the request does not say."""
        for name, value in step.arguments.items():
            parameter = spec.parameter(name) or Parameter(name, "any")
            if any(not self._is_said(item, parameter, spec) for item in literals(value)):
                yield name

    def _is_said(self, value: Argument, parameter: Parameter, spec: ToolSpec) -> bool:
        if value is None or isinstance(value, bool) or parameter.enum or value == parameter.default:
            return True
        kind = element_type(parameter.type)
        if isinstance(value, int | float):
            is_known = float(value) in self._numbers or all_numbers(f"{value:g}") <= self._evidence.figures
            return spec.effect == "none" or is_known
        text = str(value)
        if not text.strip() or text in self._values or text in self._picked:
            return True
        return self._is_said_text(text, kind, parameter)

    def _is_said_text(self, text: str, kind: str, parameter: Parameter) -> bool:
        if kind in _MOMENTS:
            moment = text if kind != "time" else f" {text}"
            is_end = "end" in parameter.name or "until" in parameter.name
            return self._has_time and not self._evidence.times.contradict(moment, is_end=is_end)
        if kind in _NUMBERS:
            return self._has_time
        if kind in ADDRESS_TYPES or kind == "Url":
            return self._evidence.names(text)
        words = text.rpartition(".")[0] or text if kind == "FilePath" else text
        return self._says(words) or folded(text) in self._names

    def _says(self, text: str) -> bool:
        return self._evidence.says(text) and bool(content_words(text) or folded(text).strip() in self._evidence.text)
