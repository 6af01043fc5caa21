"""Plans, tools and demonstrations as JSON, and whether a plan can run."""

from __future__ import annotations

import codecs
import datetime as dt
import difflib
import functools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from hearth import patterns as re
from hearth.errors import (
    BadReference,
    Cycle,
    EmptyPlan,
    MissingArgument,
    NotInEnum,
    PlanError,
    PlanTooLong,
    RegistryError,
    RequestError,
    UnknownArgument,
    UnknownTool,
    WrongType,
)
from hearth.formats.tool_signature import from_plain
from hearth.types import (
    TYPE_NAMES,
    Argument,
    Demonstration,
    Episode,
    Offer,
    Parameter,
    Plain,
    Plan,
    Ref,
    Refusal,
    Step,
    StepResult,
    ToolSpec,
    canonical_type,
)

# ── Plan json ─────────────────────────────────────────────────────────────────────────────────────────────
# Read and write tools, plans, demonstrations and episodes as JSON, in TaskBench's form: public data loads as it is.
#
# The shape is fixed in `docs/reference/plan-format.md`. Reading checks the shape only; `formats.plans` checks whether
# a plan is runnable. Unknown fields are ignored when reading.

_REF = re.compile(r"^<node-(\d{1,9})((?:\.[A-Za-z0-9_]+)*)>$")


class _Loose(BaseModel):
    model_config = ConfigDict(extra="ignore", populate_by_name=True)


class _Parameter(_Loose):
    name: str
    type: str = "any"
    desc: str = ""
    required: bool = True
    default: Any = None
    enum: list[Any] = Field(default_factory=list)


class _Tool(_Loose):
    id: str
    desc: str = ""
    domain: str | list[str] = ""
    parameters: list[_Parameter] = Field(default_factory=list)
    returns: Any = None
    input_type: list[str] = Field(default_factory=list, alias="input-type")
    output_type: list[str] = Field(default_factory=list, alias="output-type")


class _Tools(_Loose):
    nodes: list[_Tool]


T = TypeVar("T")


def _listed(value: Any) -> Any:
    """Normalise public files, which write lists as JSON texts, as null, and arguments as one object."""
    if value is None:
        return []
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value
    return [{"name": k, "value": v} for k, v in value.items()] if isinstance(value, dict) else value


_Listed = Annotated[list[T], BeforeValidator(_listed)]


class _Argument(_Loose):
    name: str
    value: Any
    accept: list[Any] = Field(default_factory=list)


class _Node(_Loose):
    task: str
    arguments: _Listed[_Argument | str] = Field(default_factory=list)
    after: list[int] = Field(default_factory=list)
    replaces: int | None = None
    unsaid: dict[str, str] = Field(default_factory=dict)


class _Link(_Loose):
    source: str
    target: str


class _Line(_Loose):
    id: str | int = ""
    user_request: str = Field(validation_alias=AliasChoices("user_request", "instruction"))
    now: dt.datetime | None = None
    tools: _Listed[str] = Field(default_factory=list)
    task_steps: _Listed[str] = Field(default_factory=list, validation_alias=AliasChoices("task_steps", "tool_steps"))
    task_nodes: _Listed[_Node] = Field(default_factory=list, validation_alias=AliasChoices("task_nodes", "tool_nodes"))
    task_links: _Listed[_Link] = Field(default_factory=list, validation_alias=AliasChoices("task_links", "tool_links"))
    source: str = ""
    confidence: float = 0.0
    expected_f1: float | None = None

    @model_validator(mode="before")
    @classmethod
    def _unwrapped(cls, data: Any) -> Any:
        """Unwrap TaskBench's predictions, which hold the plan under `result`."""
        if isinstance(data, dict) and isinstance(data.get("result"), dict) and "task_nodes" not in data:
            return {**data, **data["result"]}
        return data


# ── Tools ─────────────────────────────────────────────────────────────────────────────────────────────────


def read_tools(path: Path) -> dict[str, ToolSpec]:
    """Read a `tool_desc.json`.

    Raises:
        RegistryError: Unreadable, not that shape, or two tools of one name; names the file and the place.
    """
    try:
        raw = path.read_bytes()
        if fault := _not_utf8(raw):
            raise RegistryError(f"{path}: {fault}")
        tools = _Tools.model_validate_json(raw.removeprefix(codecs.BOM_UTF8)).nodes
    except OSError as error:
        raise RegistryError(f"cannot read the tool file {str(path)!r}: {error.strerror}") from None
    except ValidationError as error:
        raise RegistryError(
            f"{path}: {_first(error)}; expected {{'nodes': [{{'id', 'desc', 'parameters'}}]}}"
        ) from None
    return _specs(tools, f"{path}: ")


def tools_from_json(document: object) -> dict[str, ToolSpec]:
    """Like `read_tools`, from a document that is already parsed. Raises: RegistryError."""
    try:
        tools = _Tools.model_validate(document).nodes
    except ValidationError as error:
        raise RegistryError(f"{_first(error)}; expected {{'nodes': [{{'id', 'desc', 'parameters'}}]}}") from None
    return _specs(tools, "")


def _specs(tools: list[_Tool], where: str) -> dict[str, ToolSpec]:
    specs: dict[str, ToolSpec] = {}
    for tool in tools:
        if tool.id in specs:
            raise RegistryError(f"{where}tool {tool.id!r} is described twice; keep one")
        specs[tool.id] = _spec(tool)
    return specs


def _not_utf8(raw: bytes) -> str:
    """Say what is wrong with a file in an encoding other than UTF-8; empty for UTF-8."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "is written in UTF-16; save it as UTF-8"
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return f"is not UTF-8 (byte {error.start} is {raw[error.start]:#04x}); save it as UTF-8"
    return ""


def read_graph(path: Path) -> frozenset[tuple[str, str]]:
    """Read the links of a `graph_desc.json`.

    Raises:
        RequestError: Unreadable, or not of that form.
    """
    try:
        raw = path.read_bytes()
        if fault := _not_utf8(raw):
            raise RequestError(f"{path}: {fault}")
        links = json.loads(raw.removeprefix(codecs.BOM_UTF8))["links"]
        return frozenset((str(link["source"]), str(link["target"])) for link in links)
    except OSError as error:
        raise RequestError(f"cannot read the graph {str(path)!r}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RequestError(f"{path}: {error!r}; expected {{'links': [{{'source', 'target'}}]}}") from None


def _spec(tool: _Tool) -> ToolSpec:
    returns, fields, field_texts = "any", dict[str, str](), dict[str, str]()
    if isinstance(tool.returns, str):
        returns = canonical_type(tool.returns)
    elif isinstance(tool.returns, dict):
        fields = {name: canonical_type(kind) for name, kind in tool.returns.items() if isinstance(kind, str)}
    elif isinstance(tool.returns, list):
        for entry in tool.returns:
            if isinstance(entry, dict) and isinstance(entry.get("name"), str):
                fields[entry["name"]] = canonical_type(str(entry.get("type") or "any"))
                field_texts[entry["name"]] = str(entry.get("desc") or "")
    if returns == "any" and tool.output_type:
        returns = canonical_type(tool.output_type[0])
    return ToolSpec(
        name=tool.id,
        description=tool.desc,
        domain=tool.domain if isinstance(tool.domain, str) else next(iter(tool.domain), ""),
        returns=returns,
        fields=fields,
        field_texts=field_texts,
        parameters=tuple(
            Parameter(
                name=p.name,
                type=canonical_type(p.type),
                description=p.desc,
                is_required=p.required,
                default=p.default,
                enum=tuple(str(e) for e in p.enum),
            )
            for p in tool.parameters
        ),
    )


def tool_to_json(spec: ToolSpec) -> dict[str, Plain]:
    """Encode one node of a `tool_desc.json`; effect, source and unit are added fields that others ignore."""
    parameters: list[Plain] = []
    for p in spec.parameters:
        entry: dict[str, Plain] = {"name": p.name, "type": p.type, "desc": p.description, "required": p.is_required}
        if p.enum:
            entry["enum"] = list(p.enum)
        if p.unit:
            entry["unit"] = p.unit
        parameters.append(entry)
    return {
        "id": spec.name,
        "desc": spec.description,
        "domain": spec.domain,
        "parameters": parameters,
        "returns": dict(spec.fields) if spec.fields else spec.returns,
        "output-type": [spec.returns],
        "effect": spec.effect,
        "source": spec.source,
    }


# ── Plans ─────────────────────────────────────────────────────────────────────────────────────────────────


def encode_argument(value: Argument) -> Plain:
    """Write references as `<node-k.field>`; a literal text of that very form is escaped with a backslash."""
    if isinstance(value, Ref):
        return str(value)
    if isinstance(value, list):
        return [encode_argument(item) for item in value]
    if isinstance(value, dict):
        return {key: encode_argument(item) for key, item in value.items()}
    if isinstance(value, str) and _REF.match(value.lstrip("\\")):
        return "\\" + value
    return cast(Plain, value)


def decode_argument(value: Any) -> Argument:
    """Decode what `encode_argument` wrote."""
    if isinstance(value, list):
        return [decode_argument(item) for item in value]
    if isinstance(value, dict):
        return {key: decode_argument(item) for key, item in value.items()}
    if isinstance(value, str):
        match = _REF.match(value)
        if match:
            return Ref(int(match[1]), tuple(match[2].split(".")[1:]))
        if value.startswith("\\") and _REF.match(value.lstrip("\\")):
            return value[1:]
    return cast(Argument, value)


def plan_to_json(plan: Plan) -> dict[str, Plain]:
    """Return `task_steps`, `task_nodes` and `task_links` of a plan, and Hearth's own fields besides."""
    nodes: list[Plain] = []
    links: list[Plain] = []
    for step in plan.steps:
        arguments: list[Plain] = [
            {"name": name, "value": encode_argument(value)} for name, value in step.arguments.items()
        ]
        node: dict[str, Plain] = {"task": step.tool, "arguments": arguments}
        if step.after:
            node["after"] = list(step.after)
        if step.replaces is not None:
            node["replaces"] = step.replaces
        if step.unsaid:
            node["unsaid"] = dict(step.unsaid)
        nodes.append(node)
        for source in sorted(step.needs()):
            links.append({"source": plan.steps[source].tool, "target": step.tool})
    data: dict[str, Plain] = {
        "task_steps": [step.text for step in plan.steps],
        "task_nodes": nodes,
        "task_links": links,
        "confidence": round(plan.confidence, 4),
        "planner": plan.planner,
        "rests_on": list(plan.rests_on),
    }
    if plan.unserved:
        data["unserved"] = list(plan.unserved)
    if plan.ignored:
        data["ignored"] = list(plan.ignored)
    if plan.expected_f1 is not None:
        data["expected_f1"] = round(plan.expected_f1, 4)
    if plan.offer:
        data["offer"] = {"tool": plan.offer.tool, "text": plan.offer.text}
    return data


def _line_of_plan(data: Mapping[str, Any]) -> _Line:
    try:
        return _Line.model_validate({"user_request": "", **data})
    except ValidationError as error:
        raise PlanError(f"the plan is malformed: {_first(error)}") from None


def plan_from_json(data: Mapping[str, Any]) -> Plan:
    """Read what `plan_to_json` wrote; also reads plans that public data sets and models write.

    Raises:
        PlanError: Not that shape; names the field.
    """
    line = _line_of_plan(data)
    offer = data.get("offer")
    return Plan(
        steps=_steps(line),
        confidence=line.confidence,
        planner=str(data.get("planner") or ""),
        rests_on=tuple(str(i) for i in data.get("rests_on") or ()),
        unserved=tuple(str(i) for i in data.get("unserved") or ()),
        ignored=tuple(str(i) for i in data.get("ignored") or ()),
        offer=Offer(str(offer.get("tool", "")), str(offer.get("text", ""))) if isinstance(offer, Mapping) else None,
        expected_f1=line.expected_f1,
    )


def _steps(line: _Line) -> tuple[Step, ...]:
    steps = []
    for index, node in enumerate(line.task_nodes):
        arguments = {a.name: decode_argument(a.value) for a in node.arguments if isinstance(a, _Argument)}
        # TaskBench's tools without parameters take results by bare references.
        bare = [decode_argument(a) for a in node.arguments if isinstance(a, str)]
        before = [ref.step for ref in bare if isinstance(ref, Ref) and ref.step != index]
        text = line.task_steps[index] if index < len(line.task_steps) else ""
        after = tuple(dict.fromkeys([*node.after, *before]))
        steps.append(Step(node.task, arguments, after, text, node.replaces, node.unsaid))
    return _order_from_links(tuple(steps), line.task_links)


def _order_from_links(steps: tuple[Step, ...], links: list[_Link]) -> tuple[Step, ...]:
    """Turn a link between two tools that no reference expresses into an ordering (`after`)."""
    places: dict[str, list[int]] = {}
    for index, step in enumerate(steps):
        places.setdefault(step.tool, []).append(index)
    result = list(steps)
    for link in links:
        sources, targets = places.get(link.source, []), places.get(link.target, [])
        if len(sources) != 1 or len(targets) != 1 or sources == targets:
            continue
        source, target = sources[0], targets[0]
        step = result[target]
        if source not in step.needs():
            result[target] = replace(step, after=(*step.after, source))
    return tuple(result)


def refusal_to_json(refusal: Refusal) -> dict[str, Plain]:
    """Encode a refusal: why there is no plan, and what is offered instead."""
    return {
        "kind": refusal.kind,
        "reason": refusal.reason,
        "missing": [*refusal.missing],
        "offer": {"tool": refusal.offer.tool, "text": refusal.offer.text} if refusal.offer else None,
        "planner": refusal.planner,
    }


class _Offered(BaseModel):
    tool: str
    text: str


class _Refused(BaseModel):
    kind: Literal["out_of_scope", "needs", "unreadable"]
    reason: str
    missing: tuple[str, ...] = ()
    offer: _Offered | None = None
    planner: str = ""


def refusal_from_json(data: Mapping[str, Any]) -> Refusal:
    """Read what `refusal_to_json` wrote. Raises: PlanError: Not that shape; names the field."""
    try:
        read = _Refused.model_validate(data)
    except ValidationError as error:
        raise PlanError(f"the refusal is malformed: {_first(error)}") from None
    offer = Offer(read.offer.tool, read.offer.text) if read.offer else None
    return Refusal(read.kind, read.reason, read.missing, offer, read.planner)


def episode_to_json(episode: Episode) -> dict[str, Plain]:
    """Encode an episode as one document: what `--json` prints. Times are ISO 8601, durations in ms."""
    plan, refusal, ruling = episode.plan, episode.refusal, episode.ruling
    return {
        "id": episode.id,
        "user_request": episode.request.text,
        **({"said": episode.request.said} if episode.request.said else {}),
        "request_id": episode.request.id,
        "now": episode.request.now.isoformat(),
        "status": episode.answer.status,
        "answer": episode.answer.text,
        "evidence": [{"step": e.step, "text": e.text, "source": e.source} for e in episode.answer.evidence],
        "plan": plan_to_json(plan) if plan else None,
        "refusal": refusal_to_json(refusal) if refusal else None,
        "ruling": {"verdict": ruling.verdict, "reason": ruling.reason, "rule": ruling.rule} if ruling else None,
        "results": [_result_to_json(result) for result in episode.results],
        "left_the_device": [
            {"host": d.host, "n_bytes": d.n_bytes, "reason": d.reason, "at": d.at.isoformat()}
            for d in episode.disclosures
        ],
        "duration_ms": round(episode.duration_ms, 3),
        "planning_ms": round(episode.planning_ms, 3),
        "repair_rounds": episode.rounds,
        "asked": [{"question": asked.question, "answer": asked.answer} for asked in episode.asked],
    }


def _result_to_json(result: StepResult) -> dict[str, Plain]:
    return {
        "step": result.step,
        "status": result.status,
        "value": result.value,
        "sources": [*sorted(result.label.sources)],
        "field_sources": {name: [*sorted(label.sources)] for name, label in result.fields.items()},
        "error": result.error,
        "error_kind": result.error_kind,
        "duration_ms": round(result.duration_ms, 3),
        "attempts": result.n_attempts,
        "key": result.key,
        "notices": [*result.notices],
    }


# ── Demonstrations and request files ──────────────────────────────────────────────────────────────────────


def read_demonstrations(path: Path, faults: list[str] | None = None) -> Iterator[Demonstration]:
    """Read a JSONL file of requests with plans, one at a time.
    Args: faults: Collects bad lines, which are then skipped; None stops at the first.
    Raises: RequestError: A line is not JSON or not that shape (names file and line), or the file cannot be read."""
    for number, data in read_jsonl(path, faults):
        try:
            yield demonstration_from_json(data, f"{path.stem}-{number}")
        except RequestError as error:
            if faults is None:
                raise RequestError(f"{path}:{number}: {error}") from None
            faults.append(f"{path}:{number}: {error}")


def demonstration_from_json(data: Mapping[str, Any], default_id: str = "") -> Demonstration:
    """Read one line of such a file.

    Raises:
        RequestError: Not that shape; names the field.
    """
    try:
        line = _Line.model_validate(data)
    except ValidationError as error:
        raise RequestError(_first(error)) from None
    return Demonstration(
        id=str(line.id) or default_id,
        request=line.user_request,
        plan=Plan(_steps(line)),
        tools=tuple(line.tools),
        source=line.source or "shipped",
        now=line.now,
        task_steps=tuple(line.task_steps),
    )


def right_values(
    data: Mapping[str, Any],
) -> tuple[tuple[dict[str, tuple[Argument, ...]], ...], tuple[tuple[str, str], ...]]:
    """Return the right values and links of a line. Values: for each node its arguments, each with every right value
    (the one written first, then those of `accept`). Links: as they are named, each once.

    Raises:
        PlanError: Not that shape; names the field.
    """
    line = _line_of_plan(data)
    links = tuple(dict.fromkeys((link.source, link.target) for link in line.task_links))
    values = tuple(
        {
            a.name: tuple(decode_argument(v) for v in (a.value, *(v for v in a.accept if v != a.value)))
            for a in node.arguments
            if isinstance(a, _Argument)
        }
        for node in line.task_nodes
    )
    return values, links


def read_jsonl(path: Path, faults: list[str] | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield line number (from 1) and object of each non-empty line.
    Args: faults: Collects bad lines, which are then skipped; None stops at the first.
    Raises: RequestError: The file cannot be read, or a line is not a JSON object in UTF-8."""
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                if not raw.strip():
                    continue
                try:
                    data = json.loads(raw.decode("utf-8-sig"))
                    fault = (
                        "" if isinstance(data, dict) else f"a {type(data).__name__}, expected a JSON object per line"
                    )
                except (UnicodeDecodeError, ValueError, RecursionError) as error:
                    fault = f"not a JSON object in UTF-8 ({error})"
                if not fault:
                    yield number, data
                elif faults is None:
                    raise RequestError(f"{path}:{number}: {fault}")
                else:
                    faults.append(f"{path}:{number}: {fault}")
    except OSError as error:
        raise RequestError(f"cannot read {str(path)!r}: {error.strerror}") from None


def _first(error: ValidationError) -> str:
    fault = error.errors()[0]
    place = ".".join(str(part) for part in fault["loc"]) or "the whole"
    return f"{place}: {fault['msg']}"


# ── Plan validation ───────────────────────────────────────────────────────────────────────────────────────
# Check that a plan can be run: every tool exists, every argument is typed, every reference fits.
#
# Covered: names of tools and arguments, types and enums of literal values, required arguments, types of references
# through lists and record fields, cycles, length. Harmless differences in spelling ("5" for 5, "Daily" for "daily", a
# date for a datetime, one item for a list of one) are corrected rather than refused. Not covered: whether a plan is
# allowed (the guard decides) and whether it is what the owner meant.

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
