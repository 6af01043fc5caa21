"""Check that a plan can be run: every tool exists, every argument is typed, every reference fits.

Covered: names of tools and arguments, types and enums of literal values, required arguments, types of references
through lists and record fields, cycles, length. Harmless differences in spelling ("5" for 5, "Daily" for "daily", a
date for a datetime, one item for a list of one) are corrected rather than refused. Not covered: whether a plan is
allowed (the guard decides) and whether it is what the owner meant.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, cast

from hearth import patterns as re
from hearth.errors import (
    BadReference,
    Cycle,
    EmptyPlan,
    MissingArgument,
    NotInEnum,
    PlanError,
    PlanTooLong,
    UnknownArgument,
    UnknownTool,
    WrongType,
)
from hearth.formats.tool_signature import from_plain
from hearth.types import TYPE_NAMES, Argument, Parameter, Plan, Ref, Step, ToolSpec, canonical_type

MAX_STEPS = 64
MAX_DEPTH = 16
"""Deepest nesting of lists and records in an argument."""

_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d|$)")
_TEXT_FORMS = {
    "EmailAddress": (re.compile(r"[^@\s,;<>]+@[^@\s,;<>]+"), "an e-mail address such as 'mia@example.org'"),
    "PhoneNumber": (re.compile(r"(?=(?:\D*\d){3})[^A-Za-z]*(?:\s*(?:ext\.?|x)\s*\d+)?"), "a phone number"),
    "Url": (re.compile(r"\S*[.:/]\S*"), "a web address"),
    "PersonName": (re.compile(r"(?s).*\S.*"), "a person's name"),
    "FilePath": (re.compile(r"[^\0\n]*[^\0\s][^\0\n]*"), "a file path"),
}


def check_plan(plan: Plan, tools: Mapping[str, ToolSpec]) -> Plan:
    """Return the plan with steps in order of dependence, and values in their plain forms.

    Raises:
        PlanError: The first of `faults`; one subclass per kind of fault.
    """
    found, steps, is_in_order = _examine(plan, tools)
    if found:
        raise found[0]
    return replace(plan, steps=tuple(steps) if is_in_order else _in_order(steps))


def faults(plan: Plan, tools: Mapping[str, ToolSpec]) -> tuple[PlanError, ...]:
    """Return everything that keeps `plan` from running, by step; empty when it can be run."""
    return tuple(_examine(plan, tools)[0])


def only_reads(plan: Plan, tools: Mapping[str, ToolSpec]) -> bool:
    """Return whether every step is of a known tool that changes nothing and sends nothing."""
    return all(step.tool in tools and tools[step.tool].effect == "none" for step in plan.steps)


_TAKING_AWAY = frozenset({"delete", "cancel", "remove", "complete", "unlock", "open"})
"""First words of tools after which something is gone, or stands open."""


def is_taking_away(step: Step, tools: Mapping[str, ToolSpec]) -> bool:
    """Return whether something is gone after a step, or stands open."""
    return tools[step.tool].effect != "none" and step.tool.partition("_")[0] in _TAKING_AWAY


def _examine(plan: Plan, tools: Mapping[str, ToolSpec]) -> tuple[list[PlanError], list[Step], bool]:
    """Return all faults, the steps with their values normalised, and whether each needs only steps before it."""
    if not plan.steps:
        return [EmptyPlan("the plan has no steps; give at least one, or refuse the request")], [], True
    if len(plan.steps) > MAX_STEPS:
        message = f"the plan has {len(plan.steps)} steps; at most {MAX_STEPS} are run, so split the request"
        return [PlanTooLong(message)], [], False
    found: list[PlanError] = []
    steps: list[Step] = []
    for index, step in enumerate(plan.steps):
        spec = tools.get(step.tool)
        if spec is None:
            message = f"step {index} calls {step.tool!r}, which is no tool{_meant(step.tool, tools)}"
            found.append(UnknownTool(message, step=index))
            steps.append(step)
            continue
        arguments = _StepArguments(index, spec, plan.steps, tools, found).checked(step)
        steps.append(step.given(arguments))
    return found, steps, _check_order(plan.steps, found)


# ── Arguments of one step ─────────────────────────────────────────────────────────────────────────────────


class _StepArguments:
    """Checks the arguments of one step, adding to `found`."""

    def __init__(
        self, index: int, spec: ToolSpec, steps: tuple[Step, ...], tools: Mapping[str, ToolSpec], found: list[PlanError]
    ) -> None:
        self._index = index
        self._spec = spec
        self._steps = steps
        self._tools = tools
        self._found = found

    def checked(self, step: Step) -> dict[str, Argument]:
        result: dict[str, Argument] = {}
        names = [p.name for p in self._spec.parameters]
        for name, value in step.arguments.items():
            parameter = self._spec.parameter(name)
            if parameter is None:
                message = f"{self._where()} has no argument {name!r}{_meant(name, names, 'it takes')}"
                self._found.append(UnknownArgument(message, step=self._index, parameter=name))
            elif value is None and not parameter.is_required:
                continue
            elif value is None or (value == [] and parameter.is_required):
                self._missing(parameter)
            else:
                result[name] = self._argument(parameter, value)
        for parameter in self._spec.parameters:
            if parameter.is_required and parameter.name not in step.arguments:
                self._missing(parameter)
        return result

    def _where(self) -> str:
        return f"step {self._index} ({self._spec.name})"

    def _missing(self, parameter: Parameter) -> None:
        what = f": {parameter.description}" if parameter.description else ""
        message = f"{self._where()} needs {parameter.name!r} ({parameter.type}){what}"
        self._found.append(MissingArgument(message, step=self._index, parameter=parameter.name))

    def _argument(self, parameter: Parameter, value: Argument) -> Argument:
        if not parameter.is_required and value == parameter.default:
            return value
        try:
            return self._value(parameter, canonical(parameter.type), value, 0)
        except PlanError as error:
            error.step, error.parameter = self._index, parameter.name
            self._found.append(error)
            return value

    def _value(self, parameter: Parameter, kind: str, value: Argument, depth: int) -> Argument:
        """Return the normalised value. Raises: PlanError."""
        if depth > MAX_DEPTH:
            raise WrongType(f"{self._where()}: {parameter.name!r} is nested deeper than {MAX_DEPTH} levels; flatten it")
        if isinstance(value, Ref):
            self._check_reference(parameter, kind, value)
            return value
        if kind.startswith("list["):
            items = value if isinstance(value, list) else [value]
            return [self._value(parameter, kind[5:-1], item, depth + 1) for item in items]
        if parameter.enum and isinstance(value, str | int | float):
            return self._option(parameter, value)
        if isinstance(value, list) and len(value) == 1 and kind in TYPE_NAMES and kind != "any":
            return self._value(parameter, kind, value[0], depth + 1)
        if isinstance(value, list | dict):
            if kind in TYPE_NAMES and kind not in ("any", "text"):
                raise self._wrong_type(parameter, value, f"one {kind}")
            return self._nested(parameter, value, depth)
        return self._literal(parameter, kind, value)

    def _nested(
        self, parameter: Parameter, value: list[Argument] | dict[str, Argument], depth: int
    ) -> list[Argument] | dict[str, Argument]:
        """Check a list or record for a parameter that takes anything: only its references are checked."""
        if isinstance(value, list):
            return [self._value(parameter, "any", item, depth + 1) for item in value]
        return {key: self._value(parameter, "any", item, depth + 1) for key, item in value.items()}

    def _option(self, parameter: Parameter, value: str | int | float) -> str:
        text = str(value)
        if text in parameter.enum:
            return text
        same = [option for option in parameter.enum if option.lower() == text.strip().lower()]
        if len(same) == 1:
            return same[0]
        raise NotInEnum(
            f"{self._where()}: {parameter.name!r} is {value!r}{_meant(text, parameter.enum, 'it is one of')}"
        )

    def _literal(self, parameter: Parameter, kind: str, value: bool | int | float | str | None) -> Argument:
        if value is None:
            if kind == "any":
                return value
            raise self._wrong_type(parameter, value, f"a value of type {kind}")
        if kind == "datetime" and isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value.strip()):
            value = f"{value.strip()}T00:00:00"
        try:
            decoded = from_plain(value, kind)
        except WrongType as error:
            raise self._wrong_type(parameter, value, str(error).rpartition("expected ")[2]) from None
        if kind in _TEXT_FORMS and not _TEXT_FORMS[kind][0].fullmatch(cast(str, decoded)):
            raise self._wrong_type(parameter, value, _TEXT_FORMS[kind][1])
        if kind in ("integer", "boolean", "text"):
            return cast("int | bool | str", decoded)
        if kind == "number":
            number = cast(float, decoded)
            return int(number) if number.is_integer() and not isinstance(value, float) else number
        return value

    def _wrong_type(self, parameter: Parameter, value: Argument, expected: str) -> WrongType:
        return WrongType(f"{self._where()}: {parameter.name!r} is {value!r}; expected {expected}")

    def _check_reference(self, parameter: Parameter, kind: str, ref: Ref) -> None:
        if not 0 <= ref.step < len(self._steps):
            last = len(self._steps) - 1
            raise BadReference(
                f"{self._where()}: {parameter.name!r} refers to {ref}, but the plan has steps 0 to {last}"
            )
        source = self._tools.get(self._steps[ref.step].tool)
        if ref.step == self._index or source is None:
            return  # reported as a cycle, or as an unknown tool
        given = reference_type(ref, source)
        if given is None:
            name = next((part for part in ref.path if not part.lstrip("-").isdigit()), ref.path[0])
            fields = _meant(name, source.fields, "it has") if source.fields else f"; it gives a {source.returns}"
            raise BadReference(
                f"{self._where()}: {parameter.name!r} refers to {ref}, but the result of {source.name!r} has no field "
                f"{name!r}{fields}"
            )
        if fits(given, kind):
            return
        fitting = [str(Ref(ref.step, (name,))) for name, field in source.fields.items() if fits(field, kind)]
        hint = f"; {' or '.join(fitting)} would fit" if fitting else ""
        raise WrongType(
            f"{self._where()}: {parameter.name!r} refers to {ref}, which is a {given}; expected a {kind}{hint}"
        )


@functools.lru_cache(maxsize=4096)
def canonical(kind: str) -> str:
    """Apply `types.canonical_type`, also inside `list[…]`."""
    kind = kind.strip()
    if kind.startswith("list[") and kind.endswith("]"):
        return f"list[{canonical(kind[5:-1])}]"
    return canonical_type(kind)


def reference_type(ref: Ref, source: ToolSpec) -> str | None:
    """Return the type of what `ref` points at in the result of `source`; `any` when unknown, None for no such field."""
    kind = canonical(source.returns)
    is_whole = True
    for part in ref.path:
        inner = kind[5:-1] if kind.startswith("list[") else kind
        if inner != kind and part.lstrip("-").isdigit():
            kind = inner
        elif is_whole and source.fields:
            if part not in source.fields:
                return None
            kind, is_whole = canonical(source.fields[part]), False
        elif inner in TYPE_NAMES and inner != "any":
            return None
        else:
            return "any"
    return kind


def fits(given: str, wanted: str) -> bool:
    """Say whether a result of type `given` can be bound to a parameter of type `wanted`; a list of one is unwrapped."""
    given, wanted = canonical(given), canonical(wanted)
    while given.startswith("list["):
        given = given[5:-1]
    while wanted.startswith("list["):
        wanted = wanted[5:-1]
    if "any" in (given, wanted) or wanted == "text" or given == wanted:
        return True
    return (given, wanted) in {("integer", "number"), ("datetime", "date")}


# ── Order ─────────────────────────────────────────────────────────────────────────────────────────────────


def _check_order(steps: tuple[Step, ...], found: list[PlanError]) -> bool:
    """Add to `found` what keeps steps from being ordered; return whether each needs only steps before it already."""
    for index, step in enumerate(steps):
        for other in step.after:
            if not 0 <= other < len(steps):
                message = f"step {index} comes after step {other}, but the plan has steps 0 to {len(steps) - 1}"
                found.append(BadReference(message, step=index))
    if _is_in_order(steps):
        return True
    circle = sorted(set(range(len(steps))) - set(dependence_order([step.needs() for step in steps])))
    if circle:
        names = ", ".join(f"{i} ({steps[i].tool})" for i in circle)
        message = f"steps {names} wait for each other; a step may only use results of steps before it"
        found.append(Cycle(message, step=circle[0]))
    return False


def _is_in_order(steps: Iterable[Step]) -> bool:
    """Return whether each step needs only steps before it, as most plans have it."""
    return all(all(other < index for other in step.needs()) for index, step in enumerate(steps))


def dependence_order(needs: Sequence[Set[int]]) -> list[int]:
    """Return indices of steps, each as early as what it needs allows; steps in or behind a cycle are left out.

    Args:
        needs: `Step.needs` of each step; one that does not exist is not waited for.
    """
    waiting = dict(enumerate(needs))
    order: list[int] = []
    while (ready := next((i for i, before in waiting.items() if not before & waiting.keys()), None)) is not None:
        order.append(ready)
        del waiting[ready]
    return order


def _in_order(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Put steps in order of dependence, references renumbered."""
    given = tuple(steps)
    order = dependence_order([step.needs() for step in given])
    place = {old: new for new, old in enumerate(order)}
    return tuple(renumbered(given[old], place) for old in order)


def with_refs(value: Argument, changed: Callable[[Ref], Any]) -> Any:
    """Return an argument with every reference in it changed."""
    if isinstance(value, Ref):
        return changed(value)
    if isinstance(value, list):
        return [with_refs(item, changed) for item in value]
    return {key: with_refs(item, changed) for key, item in value.items()} if isinstance(value, dict) else value


def renumbered(step: Step, place: Mapping[int, int]) -> Step:
    """Return `step` with every reference and ordering moved to its new place."""
    arguments = {
        name: with_refs(value, lambda ref: Ref(place[ref.step], ref.path)) for name, value in step.arguments.items()
    }
    return replace(step, arguments=arguments, after=tuple(place[k] for k in step.after))


def shifted(steps: Sequence[Step], by: int) -> list[Step]:
    """Return the steps with every reference and ordering shifted by `by`."""
    return [renumbered(step, {k: k + by for k in range(-by, len(steps))}) for step in steps]


# ── Values ────────────────────────────────────────────────────────────────────────────────────────────────


def is_moment(value: object) -> bool:
    """Return whether a value is a date, or a date and time, written out."""
    return isinstance(value, str) and _MOMENT.match(value) is not None


def literals(value: Argument) -> list[Argument]:
    """Return the values written out in an argument, without references."""
    if isinstance(value, list):
        return [one for item in value for one in literals(item)]
    if isinstance(value, dict):
        return [one for item in value.values() for one in literals(item)]
    return [] if isinstance(value, Ref) or value is None else [value]


def texts_in(value: object) -> list[str]:
    """Return the texts in an argument or a value of JSON, those in lists and records included."""
    if isinstance(value, str):
        return [value]
    items = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
    return [text for item in items for text in texts_in(item)]


def _meant(name: str, known: Iterable[str], rest: str = "known are") -> str:
    """Suggest close names, or list the known ones when nothing is close."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    if close:
        return f"; did you mean {' or '.join(map(repr, close))}?"
    return f"; {rest} {', '.join(names[:12])}{', …' if len(names) > 12 else ''}" if names else ""
