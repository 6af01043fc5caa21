"""Labels follow the data: no step and no argument ever has fewer sources than the values it was made from.

Pure functions over a plan and its tools. `predict` says before anything runs which label each value will carry, from
where its references point; the monitor computes the labels of real values by the same join.

Covered: flows through arguments, nested lists and records included.
Not covered: what a step tells by running at all (a plan is fixed before any result is seen, so a result decides whether
a later step runs only by failing); labels of single fields (a record carries one label).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, reduce

from hearth.errors import BadReference, Cycle, UnknownTool
from hearth.types import ANYONE, OWNER, PUBLIC, Argument, Label, Plain, Plan, Ref, Step, ToolSpec


@dataclass(frozen=True, slots=True)
class Value:
    """Plain data with its label: what the monitor takes and gives."""

    data: Plain
    label: Label


@dataclass(frozen=True, slots=True)
class StepLabels:
    """The labels a step will have."""

    arguments: Mapping[str, Label]
    """By parameter name."""
    result: Label


PUBLIC_SOURCES = frozenset({"web"})
"""Sources whose results anyone may read; those of all others are for this device alone."""


def join_all(labels: Iterable[Label]) -> Label:
    """The least label at least as restrictive as each; of none, `PUBLIC`."""
    return reduce(Label.join, labels, PUBLIC)


def source_label(spec: ToolSpec) -> Label:
    """What a tool adds to everything it returns."""
    return _label_of(spec.source)


@cache
def _label_of(source: str) -> Label:
    return Label(frozenset({source}), ANYONE if source in PUBLIC_SOURCES else frozenset())


def result_label(spec: ToolSpec, arguments: Iterable[Label]) -> Label:
    """Label of a result: of its origin and of everything it was made from."""
    label = source_label(spec)
    for argument in arguments:
        label = argument.join(label)
    return label


def argument_label(step: Step, name: str, results: Mapping[int, Label]) -> Label:
    """Label of one argument, given the labels of the results it may refer to.

    What is not a reference was read in the owner's request: planners see nothing a stranger wrote.
    """
    value = step.arguments[name]
    if isinstance(value, Ref):
        return results[value.step]
    return reduce(Label.join, (results[ref.step] for ref in refs_in(value)), OWNER)


def refs_in(value: Argument) -> tuple[Ref, ...]:
    """Every reference in one argument, in order."""
    if isinstance(value, Ref):
        return (value,)
    return Step("", {"": value}).refs() if isinstance(value, list | dict) else ()


def predict(plan: Plan, tools: Mapping[str, ToolSpec]) -> tuple[StepLabels, ...]:
    """The labels of every step, from where its references point.

    Raises:
        UnknownTool: A step calls a tool that is not in `tools`.
        BadReference: A reference points outside the plan.
        Cycle: Steps wait for each other.
    """
    results: dict[int, Label] = {}
    found: dict[int, StepLabels] = {}
    for index in run_order(plan):
        step = plan.steps[index]
        spec = tools.get(step.tool)
        if spec is None:
            raise UnknownTool(f"step {index} calls {step.tool!r}, which is no tool", step=index)
        arguments = {name: argument_label(step, name, results) for name in step.arguments}
        results[index] = result_label(spec, arguments.values())
        found[index] = StepLabels(arguments, results[index])
    return tuple(found[index] for index in range(len(plan.steps)))


def run_order(plan: Plan) -> tuple[int, ...]:
    """Indices of the steps, each after those it needs; otherwise as given.

    Raises:
        BadReference: A step needs one that is not there.
        Cycle: Steps wait for each other.
    """
    order: list[int] = []
    waiting = {index: set(step.needs()) for index, step in enumerate(plan.steps)}
    if all(min(needs, default=0) >= 0 and max(needs, default=-1) < index for index, needs in waiting.items()):
        return tuple(waiting)
    for index, needs in waiting.items():
        if absent := [k for k in needs if not 0 <= k < len(plan.steps)]:
            raise BadReference(f"step {index} needs step {absent[0]}, which is not in the plan", step=index)
    while waiting:
        ready = [index for index, rest in waiting.items() if not rest]
        if not ready:
            circle = ", ".join(f"{index} ({plan.steps[index].tool})" for index in waiting)
            raise Cycle(f"steps {circle} wait for each other", step=min(waiting))
        for index in ready:
            del waiting[index]
        for rest in waiting.values():
            rest.difference_update(ready)
        order.extend(ready)
    return tuple(order)


def origins(plan: Plan, index: int, name: str, tools: Mapping[str, ToolSpec]) -> tuple[str, ...]:
    """The untrusted sources of one argument with the steps they enter by, in words: `find_mail (message)`."""
    seen: set[int] = set()
    waiting = [ref.step for ref in refs_in(plan.steps[index].arguments[name])]
    found: list[str] = []
    while waiting:
        k = waiting.pop(0)
        if k in seen:
            continue
        seen.add(k)
        step = plan.steps[k]
        if not source_label(tools[step.tool]).is_trusted:
            found.append(f"{step.tool} ({tools[step.tool].source})")
        waiting.extend(ref.step for ref in step.refs())
    return tuple(dict.fromkeys(found))
