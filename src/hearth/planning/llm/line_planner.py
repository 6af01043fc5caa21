"""Writes a plan as one short line for a small model: exact both ways, with a grammar that decoders can enforce.

  > /find_contact(name="Ben") /draft_mail(to="<node-0.email>", text="hello")

A leading `>` says that each step follows the one before it; without it, `/tool(…)@0,2` says which steps come first;
references order steps by themselves. `none` is the plan without steps. Values are JSON. Covered: a written plan is
read back the same; a line that is not a plan is refused with its place. Not covered: whether the plan is runnable
(`formats.plan_validation`), bounds that a grammar cannot express.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from math import exp

from hearth.errors import PlanError, PlannerError
from hearth.formats.plan_json import decode_argument, encode_argument
from hearth.formats.plan_validation import check_plan, faults
from hearth.planning.llm.json_planner import LanguagePlanner, Shortlist, describe, invented, unreadable, value_schema
from hearth.planning.llm.self_consistency import ConsistentPlanner
from hearth.protocols import Encoder, GrammarModel, LanguageModel, Planner
from hearth.types import Argument, Context, Plan, Refusal, Request, Step, ToolSpec

MAX_TEXT = 400
"""Number of characters of one text value that the grammar lets a model write."""
N_BEST = 4
"""Number of lines asked for; the first valid one is taken."""
N_TOOLS = 24
MAX_STEPS = 16
"""Most steps in one line."""
NONE = "none"

_INSTRUCTIONS = """\
Answer the owner's request with one line that calls tools listed below, in order, and nothing else.
Form: ` /tool(name=value, name=value) /tool`; begin with `>` when each call follows the one before it; `@0,2` after \
a call names calls that come first. Values are JSON; "<node-k.field>" is from call k, counting from 0. Write none when \
no tool serves the request.
"""

_NAME = re.compile(r" ?/([^\s/()@]+)")
_AFTER = re.compile(r"@(\d{1,3}(?:,\d{1,3})*)")
_KEY = re.compile(r"([^\s=,()]+)=")


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no JSON")


_JSON = json.JSONDecoder(parse_constant=_no_number)


# ── Writing and reading ───────────────────────────────────────────────────────────────────────────────────


def plan_line(plan: Plan) -> str:
    """Write the plan as one line. Texts, confidence and unserved parts are not in it."""
    if not plan.steps:
        return NONE
    is_chain = len(plan.steps) > 1 and all(step.after == ((k - 1,) if k else ()) for k, step in enumerate(plan.steps))
    calls = []
    for step in plan.steps:
        arguments = ", ".join(f"{name}={_json(value)}" for name, value in step.arguments.items())
        after = "" if is_chain or not step.after else "@" + ",".join(str(k) for k in step.after)
        calls.append(f" /{step.tool}{f'({arguments})' if arguments else ''}{after}")
    return ">" * is_chain + "".join(calls)


def _json(value: Argument) -> str:
    return json.dumps(encode_argument(value), ensure_ascii=False)


def read_line(text: str) -> Plan:
    """Read a plan that `plan_line` wrote.

    Raises:
        PlanError: Not such a line; names the place.
    """
    text = text.strip()
    if text == NONE:
        return Plan(())
    is_chain = text.startswith(">")
    place, steps = int(is_chain), list[Step]()
    while place < len(text):
        match = _NAME.match(text, place)
        if match is None:
            raise PlanError(f"the plan's line is malformed at {text[place : place + 40]!r}; expected ' /tool'")
        tool, place = match[1], match.end()
        arguments: dict[str, Argument] = {}
        if text.startswith("(", place):
            arguments, place = _read_arguments(text, place + 1)
        after: tuple[int, ...] = (len(steps) - 1,) if is_chain and steps else ()
        named = _AFTER.match(text, place)
        if named is not None:
            after, place = tuple(int(k) for k in named[1].split(",")), named.end()
        if any(k >= len(steps) for k in after):
            raise PlanError(f"step {len(steps)} ({tool}) comes after {after}, which are not before it")
        steps.append(Step(tool, arguments, after))
    if not steps:
        raise PlanError(f"the plan's line {text[:40]!r} holds no step; expected ' /tool' or {NONE!r}")
    return Plan(tuple(steps))


def _read_arguments(text: str, place: int) -> tuple[dict[str, Argument], int]:
    found: dict[str, Argument] = {}
    while True:
        match = _KEY.match(text, place)
        if match is None or match[1] in found:
            raise PlanError(f"the plan's line is malformed at {text[place : place + 40]!r}; expected name=value")
        try:
            value, place = _JSON.raw_decode(text, match.end())
        except (ValueError, RecursionError):
            raise PlanError(f"the value of {match[1]!r} is no JSON: {text[match.end() :][:40]!r}") from None
        found[match[1]] = decode_argument(value)
        if text.startswith(")", place):
            return found, place + 1
        if not text.startswith(", ", place):
            raise PlanError(f"the plan's line is malformed at {text[place : place + 40]!r}; expected ', ' or ')'")
        place += 2


def plan_grammar(tools: Mapping[str, ToolSpec]) -> str:
    """Return a Lark grammar of lines that call `tools`: their names, their argument names, types and options."""
    lines = [
        f'start: "{NONE}" | ">" chained{{2,{MAX_STEPS}}} | free{{1,{MAX_STEPS}}}',
        'chained: " /" call',
        'free: " /" call after?',
        'after: "@" /[0-9]{1,2}(,[0-9]{1,2}){0,7}/',
        f"call: {' | '.join(f't{k}' for k in range(len(tools)))}",
    ]
    for k, spec in enumerate(tools.values()):
        name = json.dumps(spec.name, ensure_ascii=False)
        if not spec.parameters:
            lines.append(f"t{k}: {name}")
            continue
        may_be_bare = "" if any(p.is_required for p in spec.parameters) else "?"
        more = f'(", " a{k}){{0,{len(spec.parameters) - 1}}} ' if len(spec.parameters) > 1 else ""
        lines.append(f't{k}: {name} ("(" a{k} {more}")"){may_be_bare}')
        lines.append(f"a{k}: {' | '.join(f'a{k}_{i}' for i in range(len(spec.parameters)))}")
        for i, parameter in enumerate(spec.parameters):
            key = json.dumps(f"{parameter.name}=", ensure_ascii=False)
            lines.append(f"a{k}_{i}: {key} v{k}_{i}")
            lines.append(f"v{k}_{i}: %json {json.dumps(_bounded(value_schema(parameter)))}")
    return "\n".join(lines) + "\n"


def _bounded(schema: Mapping[str, object]) -> dict[str, object]:
    """Return `schema` with a maximum length for texts and lists, so that no model writes without end."""
    bounded = {key: _bounded(value) if isinstance(value, dict) else value for key, value in schema.items()}
    if isinstance(schema.get("anyOf"), list):
        bounded["anyOf"] = [_bounded(option) for option in schema["anyOf"]]  # type: ignore[attr-defined]
    if schema.get("type") == "string" and "enum" not in schema:
        bounded["maxLength"] = MAX_TEXT
    if schema.get("type") == "array":
        bounded["maxItems"] = 32
    return bounded


# ── What the model is told ────────────────────────────────────────────────────────────────────────────────


def plan_messages(request: str, tools: Mapping[str, ToolSpec]) -> list[dict[str, str]]:
    """Return the model's prompt, in training as in planning: the offered tools described, then the request's words."""
    described = "\n".join(describe(spec) for spec in tools.values())
    return [
        {"role": "system", "content": f"{_INSTRUCTIONS}Tools:\n{described}"},
        {"role": "user", "content": request.encode("utf-8", "replace").decode("utf-8")},
    ]


def planner_of(model: LanguageModel, encoder: Encoder, n_samples: int = 1) -> Planner:
    """Return the planner that suits `model`.

    A model that has learned to write plans as lines is asked for lines; any other is asked for JSON up to `n_samples`
    times.
    """
    if not (isinstance(model, GrammarModel) and getattr(model, "writes_plans", False)):
        planner = LanguagePlanner(model, encoder)
        return ConsistentPlanner(planner, n_samples) if n_samples > 1 else planner
    # Tools that its chat form does not show need not be chosen: it knows them by name.
    return CompactPlanner(model, encoder if getattr(model, "reads_tools", True) else None)


class CompactPlanner:
    """Satisfies `protocols.Planner` with a `GrammarModel` that has learned to write such lines."""

    def __init__(self, model: GrammarModel, encoder: Encoder | None = None, n_tools: int = N_TOOLS) -> None:
        """Keep the model. With an `encoder`, only the `n_tools` tools nearest to a request are offered; else all."""
        self.name = f"compact:{model.name}"
        self._model = model
        self._shortlist = Shortlist(encoder, n_tools) if encoder is not None else None
        self._grammar: tuple[tuple[ToolSpec, ...], str] = ((), "")

    def plan(
        self,
        request: Request,
        context: Context,  # noqa: ARG002  nothing was said of it when the model learnt
        tools: Mapping[str, ToolSpec],
    ) -> Plan | Refusal:
        """Return the most probable line that is a runnable plan, with the line's probability as its confidence.

        Raises:
            PlannerError: The model failed, or none of its lines is a runnable plan.
        """
        refusal = unreadable(request.text, tools, self.name)
        if refusal is not None:
            return refusal
        offered = self._shortlist.choose(request.text, tools) if self._shortlist is not None else tools
        written = self._model.write(plan_messages(request.text, offered), self._grammar_of(offered), N_BEST)
        problem = ""
        for line in written:
            confidence = min(1.0, exp(line.log_probability))
            try:
                plan = read_line(line.text)
                if not plan.steps:
                    return Refusal("out_of_scope", "no tool I know serves this", planner=self.name)
                found = [str(fault) for fault in faults(plan, tools)] or invented(plan, request.text, tools)
                if not found:
                    return check_plan(replace(plan, confidence=confidence, planner=self.name), tools)
                problem = problem or found[0]
            except PlanError as error:
                problem = problem or str(error)
        raise PlannerError(
            f"{self._model.name!r} wrote {len(written)} lines, none a runnable plan; the first fault: {problem[:300]}; "
            "teach it more demonstrations or say it in smaller steps"
        )

    def _grammar_of(self, tools: Mapping[str, ToolSpec]) -> str:
        specs = tuple(tools.values())
        if specs != self._grammar[0]:
            self._grammar = (specs, plan_grammar(tools))
        return self._grammar[1]
