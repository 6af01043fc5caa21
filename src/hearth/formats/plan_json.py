"""Read and write tools, plans, demonstrations and episodes as JSON, in TaskBench's form: public data loads as it is.

The shape is fixed in `docs/reference/plan-format.md`. Reading checks the shape only; `formats.plan_validation` checks
whether a plan is runnable. Unknown fields are ignored when reading.
"""

from __future__ import annotations

import codecs
import datetime as dt
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from hearth.errors import PlanError, RegistryError, RequestError
from hearth.types import (
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
