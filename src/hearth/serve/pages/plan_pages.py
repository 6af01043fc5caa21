"""Forms that say a plan: what should have been done, and what should be done in place of what is asked about.

A correction teaches and does nothing. A plan put in the place of a question's is checked, ruled on and asked about like
any other: the form is no yes.

Covered: corrections in words, by form, or that nothing should have been done. Not covered: who may come in
(`serve.door`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from hearth.errors import PlanError, RequestError
from hearth.formats.plan_json import decode_argument, encode_argument
from hearth.formats.plan_validation import MAX_DEPTH, MAX_STEPS, canonical, check_plan, fits, renumbered
from hearth.formats.terminal_text import clean
from hearth.learning.demonstration_store import Entry
from hearth.serve.desk import Desk
from hearth.serve.pages.page_parts import Home, Templates, caller_of, done_soon, fields
from hearth.types import Argument, Parameter, Plan, Ref, Step, ToolSpec

# ── A plan as a form ───────────────────────────────────────────────────────────────────────────────────
# A plan as a form made from the tools' schemas, and the plan that a filled form says.
# Each step is a part of the form: its tool, and a field for each parameter by type. A field left empty is left out;
# the result of an earlier step is written as in a plan, `<node-0.email>`.
# Covered: every tool, arguments of any shape (what no field can hold is shown as JSON), steps added, removed, given
# another tool. Not covered: whether the plan can be run (`formats.plan_validation`) or may be (`guard`).


PLANNER = "owner's form"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the form, for one parameter."""

    name: str
    """As it is sent: `arg-0-title`."""
    label: str
    about: str
    kind: Literal["line", "text", "list", "choice", "json"]
    value: str
    is_required: bool
    choices: tuple[str, ...] = ()
    """For `choice`: what it may be."""
    results: tuple[tuple[str, str], ...] = ()
    """Results of earlier steps that fit: as written, and in words."""


@dataclass(frozen=True, slots=True)
class StepPart:
    """The part of the form for one step."""

    number: int
    tool: str
    """Empty: none was chosen yet."""
    about: str
    fields: tuple[Field, ...]
    """Of what is required or given."""
    more: tuple[Field, ...]
    """Of what may be given."""
    after: str
    """Steps it waits for though it uses nothing of theirs: `0,2`."""


# ── From a plan to its form ───────────────────────────────────────────────────────────────────────────────


def parts_of(plan: Plan, tools: Mapping[str, ToolSpec]) -> tuple[StepPart, ...]:
    """Return the parts of a plan's form; one part without a tool for a plan without steps."""
    return tuple(_part(k, step, plan, tools) for k, step in enumerate(plan.steps or (Step(""),)))


def _part(k: int, step: Step, plan: Plan, tools: Mapping[str, ToolSpec]) -> StepPart:
    spec = tools.get(step.tool)
    after = ",".join(map(str, step.after))
    if spec is None:
        return StepPart(k, "", "", (), (), after)
    shown: list[Field] = []
    more: list[Field] = []
    for parameter in spec.parameters:
        field = _field(k, parameter, step.arguments.get(parameter.name), plan, tools)
        (shown if parameter.is_required or field.value else more).append(field)
    return StepPart(k, spec.name, clean(spec.description), tuple(shown), tuple(more), after)


def _field(k: int, parameter: Parameter, value: Argument, plan: Plan, tools: Mapping[str, ToolSpec]) -> Field:
    kind, text = _written(parameter, value)
    results = []
    for earlier, step in enumerate(plan.steps[:k]):
        source = tools.get(step.tool)
        if source is not None:
            whole: dict[tuple[str, ...], str] = {(): source.returns}
            whole |= {(name,): type_ for name, type_ in source.fields.items()}
            for path, given in whole.items():
                if fits(given, parameter.type):
                    said = (
                        f"{path[0].replace('_', ' ')} of step {earlier + 1}"
                        if path
                        else f"result of step {earlier + 1}"
                    )
                    results.append((str(Ref(earlier, path)), said))
    choices = parameter.enum or (("yes", "no") if canonical(parameter.type) == "boolean" else ())
    if kind == "choice" and text and text not in choices:
        choices = (text, *choices)  # what the plan says is shown, also where it is wrong
    return Field(
        name=f"arg-{k}-{parameter.name}",
        label=parameter.name.replace("_", " "),
        about=clean(parameter.description),
        kind=kind,
        value=text,
        is_required=parameter.is_required,
        choices=choices,
        results=tuple(results),
    )


def _empty(parameter: Parameter) -> Literal["line", "text", "list", "choice"]:
    """Return the kind of field for a parameter that has no value yet."""
    kind = canonical(parameter.type)
    if parameter.enum or kind == "boolean":
        return "choice"
    if kind.startswith("list["):
        return "list"
    return "text" if kind in ("text", "any") else "line"


def _written(parameter: Parameter, value: Argument) -> tuple[Literal["line", "text", "list", "choice", "json"], str]:
    """Return the kind of field that can hold a value, and the value as it stands in it."""
    if value is None:
        return _empty(parameter), ""
    kind = canonical(parameter.type)
    is_closed = bool(parameter.enum) or kind == "boolean"
    plain = encode_argument(value)
    if kind.startswith("list["):
        items = plain if isinstance(plain, list) else [plain]
        if all(isinstance(item, str) and item.strip() == item and item and "\n" not in item for item in items):
            return "list", "\n".join(map(str, items))
    elif is_closed and not isinstance(value, Ref | list | dict):
        text = ("yes" if value else "no") if isinstance(value, bool) else str(value)
        return "choice", text
    elif isinstance(plain, str):
        is_line = kind not in ("text", "any") and "\n" not in plain
        return ("line" if is_line or isinstance(value, Ref) else "text"), plain
    elif isinstance(value, int | float) and kind in ("integer", "number"):
        return "line", str(value)
    return "json", json.dumps(plain, ensure_ascii=False)


# ── From a form to its plan ───────────────────────────────────────────────────────────────────────────────


def plan_in(given: Mapping[str, str], tools: Mapping[str, ToolSpec]) -> Plan:
    """Return the plan that a form says; a step whose tool was not chosen has an empty one.

    Raises:
        PlanError: It has too many steps, or a field holds no JSON where that was asked for.
    """
    steps: list[Step] = []
    while (tool := given.get(f"tool-{len(steps)}")) is not None:
        if len(steps) == MAX_STEPS:
            raise PlanError(f"the form has more than {MAX_STEPS} steps; split the request")
        k = len(steps)
        spec = tools.get(tool)
        arguments: dict[str, Argument] = {}
        for parameter in spec.parameters if spec is not None else ():
            text = given.get(f"arg-{k}-{parameter.name}", "").replace("\r\n", "\n")
            if text.strip():
                is_json = given.get(f"kind-{k}-{parameter.name}") == "json"
                arguments[parameter.name] = _read(parameter, text, is_json=is_json)
        after = tuple(int(one) for one in given.get(f"after-{k}", "").split(",") if _is_step(one))
        steps.append(Step(tool if spec is not None else "", arguments, after))
    return Plan(tuple(steps), 1.0, PLANNER)


def _is_step(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= len(str(MAX_STEPS))


def _read(parameter: Parameter, text: str, *, is_json: bool) -> Argument:
    kind = canonical(parameter.type)
    plain: Any = text
    if is_json:
        try:
            plain = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise PlanError(f"{parameter.name!r} is no JSON ({error}); it takes a {parameter.type}") from None
        if _is_deep(plain):
            raise PlanError(f"{parameter.name!r} is nested deeper than {MAX_DEPTH} levels; flatten it")
    elif kind.startswith("list["):
        plain = [line.strip() for line in text.splitlines() if line.strip()]
    elif kind == "boolean" and text in ("yes", "no"):
        plain = text == "yes"
    elif kind not in ("text", "any"):
        plain = text.strip()
    return decode_argument(plain)


def _is_deep(plain: Any) -> bool:
    """Return whether lists and records lie in each other too deep for what walks through them."""
    level = [plain]
    for _ in range(MAX_DEPTH + 2):
        level = [
            inner
            for one in level
            if isinstance(one, list | dict)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
    return bool(level)


def shaped(plan: Plan, what: str) -> Plan:
    """Return the plan with a step more (`add`), or without one (`remove-2`); what used its result is left empty."""
    if what == "add":
        return replace(plan, steps=(*plan.steps, Step("")))
    verb, _, number = what.partition("-")
    if verb != "remove" or not _is_step(number) or int(number) >= len(plan.steps):
        return plan
    gone = int(number)
    place = {k: k - (k > gone) for k in range(len(plan.steps)) if k != gone}
    steps = []
    for k, step in enumerate(plan.steps):
        if k != gone:
            kept = _without(step, gone)
            strays = {n: n for n in kept.needs() if n not in place}  # to no step: the check says so
            steps.append(renumbered(kept, {**strays, **place}))
    return replace(plan, steps=tuple(steps))


def _without(step: Step, gone: int) -> Step:
    """Return a step that needs nothing of another one."""
    arguments = {n: v for n, v in step.arguments.items() if gone not in Step("", {n: v}).needs()}
    return replace(step, arguments=arguments, after=tuple(k for k in step.after if k != gone))


# ── The pages ──────────────────────────────────────────────────────────────────────────────────────────


_OVER = "That was answered already, or is asked no more."


class PlanPages:
    """The routes of these forms, over one desk."""

    def __init__(self, desk: Desk, home: Home, templates: Templates) -> None:
        self._desk = desk
        self._home = home
        self._templates = templates

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        return [
            Route("/correct", self.correct, methods=["POST"]),
            Route("/correct/form", self.correction_form, methods=["POST"]),
            Route("/correct/plan", self.correct_by_form, methods=["POST"]),
            Route("/change/form", self.change_form, methods=["POST"]),
            Route("/change", self.change, methods=["POST"]),
        ]

    # ── Corrections ───────────────────────────────────────────────────────────────────────────────────────

    async def correct(self, request: Request) -> Response:
        """Learn what should have been understood, in other words; without any, that nothing should have been done."""
        given = await fields(request)
        return _learnt(await done_soon(self._desk.correct(given.get("id", ""), given.get("say", ""))))

    async def correction_form(self, request: Request) -> Response:
        """What should have been done, as a form: at first, what was."""
        given = await fields(request)
        episode = self._home.trace.episode(given.get("id", ""))
        return self._form(given, episode.plan, f"wrong-{episode.id}", "/correct/plan", "Learn that")

    async def correct_by_form(self, request: Request) -> Response:
        """Learn the plan that the form says."""
        given = await fields(request)
        plan = check_plan(plan_in(given, self._home.specs), self._home.specs)
        return _learnt(await done_soon(self._desk.correct(given.get("id", ""), "", plan)))

    # ── In the place of what is asked about ───────────────────────────────────────────────────────────────

    async def change_form(self, request: Request) -> Response:
        """What is asked about, as a form."""
        given = await fields(request)
        asked = self._desk.view.asked
        if asked is None or asked.id != given.get("id", ""):
            return JSONResponse({"says": _OVER}, 409)
        if asked.plan is None:
            raise RequestError("this question is answered with yes or no; say anew what you want")
        return self._form(given, asked.plan, "change", "/change", "Do it this way")

    async def change(self, request: Request) -> Response:
        """Do this in the place of what is asked about, which is answered with no."""
        given = await fields(request)
        plan = check_plan(plan_in(given, self._home.specs), self._home.specs)
        done = self._desk.change(given.get("id", ""), plan, caller_of(request))
        if done is None:
            return JSONResponse({"says": _OVER}, 409)
        done.add_done_callback(lambda ended: None if ended.cancelled() else ended.exception())
        return JSONResponse({"says": "Changed."})

    def _form(self, given: dict[str, str], plan: Plan | None, into: str, to: str, does: str) -> Response:
        """Return a plan's form, or the form that was sent in the shape that was asked for."""
        if "tool-0" in given:
            plan = shaped(plan_in(given, self._home.specs), given.get("shape", ""))
        is_change = to == "/change"
        return self._templates.piece(
            "plan_form.html", parts=parts_of(plan or Plan(()), self._home.specs), tools=sorted(self._home.specs),
            id=given["id"], into=into, to=to, to_shape="/change/form" if is_change else "/correct/form", does=does,
            heading="What should I do?" if is_change else "What should I have done?",
            about="You are asked again before it is done." if is_change else "This teaches, and does nothing now.",
        )  # fmt: skip


def _learnt(entry: Entry) -> Response:
    did = ", then ".join(step.tool.replace("_", " ") for step in entry.demonstration.plan.steps) or "do nothing"
    return JSONResponse({"says": clean(f"Learnt: I will {did} next time.")})
