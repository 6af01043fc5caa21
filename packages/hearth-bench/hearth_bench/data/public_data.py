"""Read public data sets of plans in their own layouts: TaskBench, GNN4TaskPlan, NesTools, NESTFUL, SGD, ToolTalk.

Each record becomes a line of the plan format and is checked by `datasets`, like any other: unknown fields are kept, and
a bad record is named by file and line (or number of the record) and either skipped or fatal.

Source:
    TaskBench https://arxiv.org/abs/2311.18760, GNN4TaskPlan https://arxiv.org/abs/2405.19119, NesTools
    https://arxiv.org/abs/2410.11805, NESTFUL https://arxiv.org/abs/2409.03797, SGD https://arxiv.org/abs/1909.05855,
    ToolTalk https://arxiv.org/abs/2311.10775.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

from hearth.errors import MissingExtraError, RequestError
from hearth.formats.plans import read_jsonl, read_tools
from hearth.types import Parameter, ToolSpec, canonical_type
from hearth_bench.data.datasets import PlanData, collect_plans, sha256_of

Layout = Literal["plans", "taskbench", "gnn4taskplan", "nestools", "nestful", "sgd", "tooltalk"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)
HUB_NAME = "microsoft/Taskbench"
HUB_FOLDERS: Mapping[str, str] = {
    "huggingface": "data_huggingface", "multimedia": "data_multimedia", "dailylife": "data_dailylifeapis",
}  # fmt: skip
_NESTFUL_REF = re.compile(r"\$\{?(\w+?)(?:\.([\w.]+?))?\}?\$")
_Line = tuple[str, dict[str, Any]]


def open_data(path: Path, *, split: str = "", skip_bad: bool = True) -> PlanData:
    """Read a data set, recognising its layout by its files.

    Args:
        path: A file of plans with `tool_desc.json` beside it, or a folder.
        split: `train` or `test` of GNN4TaskPlan's `split_ids.json`; a part's name (`dev`) of a folder of plan files.
        skip_bad: Skip bad records and note them in `faults`; otherwise the first one raises.
    Raises:
        RequestError: The layout is unknown, or as `datasets.read_plans`. RegistryError: A tool file is wrong.
    """
    readers: Mapping[Layout, Callable[[Path, str, list[str] | None], PlanData]] = {
        "plans": _read_plan_files,
        "taskbench": _read_taskbench,
        "gnn4taskplan": _read_gnn4taskplan,
        "nestools": _read_nestools,
        "nestful": _read_nestful,
        "sgd": _read_sgd,
        "tooltalk": _read_tooltalk,
    }
    return readers[layout_of(path)](path, split, [] if skip_bad else None)


def layout_of(path: Path) -> Layout:
    """Recognise the layout of a path. Raises: RequestError."""
    if path.is_file():
        first = _first_record(path)
        if {"api", "call", "task"} <= first.keys():
            return "nestools"
        if {"input", "output"} <= first.keys():
            return "nestful"
        if {"user_request", "instruction"} & first.keys():
            return "plans"
        if {"conversation", "apis_used"} <= first.keys():
            return "tooltalk"
    elif path.is_dir():
        here = {entry.name for entry in path.iterdir()}
        if {"data.json", "split_ids.json"} <= here:
            return "gnn4taskplan"
        if "data.json" in here:
            return "taskbench"
        if "schema.json" in here:
            return "sgd"
        if "easy" in here or any("apis_used" in _first_record(f) for f in sorted(path.glob("*.json"))[:1]):
            return "tooltalk"
        if any(name.endswith(".jsonl") for name in here) and any(name.endswith("tool_desc.json") for name in here):
            return "plans"
    else:
        raise RequestError(f"there is no {str(path)!r}; name a file or folder of plans")
    raise RequestError(f"{path}: none of the layouts {', '.join(LAYOUTS)}; see docs/howto/jobs.md")


def taskbench_from_hub(domain: str, folder: Path) -> Path:
    """Fetch a domain of TaskBench into a folder that `open_data` reads.

    Raises:
        RequestError: The domain does not exist or cannot be fetched. MissingExtraError: `huggingface_hub` is not
            installed.
    """
    if domain not in HUB_FOLDERS:
        raise RequestError(f"TaskBench has no domain {domain!r}; it has {', '.join(HUB_FOLDERS)}")
    try:
        fetch: Callable[..., str] = importlib.import_module("huggingface_hub").hf_hub_download
    except ImportError:
        raise MissingExtraError("fetching from the Hub", "pip install 'hearth-bench[hf]'") from None
    place = folder / HUB_FOLDERS[domain]
    for name in ("data.json", "tool_desc.json", "graph_desc.json"):
        try:
            fetch(repo_id=HUB_NAME, repo_type="dataset", filename=f"{place.name}/{name}", local_dir=str(folder))
        except Exception as error:  # the library raises many types of its own, besides those of its HTTP client
            raise RequestError(f"cannot fetch {place.name}/{name} of {HUB_NAME!r} from the Hub: {error}") from None
    return place


# ── Plan files, TaskBench, GNN4TaskPlan ───────────────────────────────────────────────────────────────────


def _read_plan_files(path: Path, split: str, faults: list[str] | None) -> PlanData:
    """Read a file of plans, or the part of a folder that `split` names, with tools from `SPLIT_tool_desc.json` if
    present."""
    if path.is_dir():
        files = sorted(path.glob("*.jsonl"))
        chosen = next((file for file in files if file.stem == split), files[0] if len(files) == 1 else None)
        if chosen is None:
            raise RequestError(f"{path}: has the parts {', '.join(f.stem for f in files)}; name one as the split")
        path = chosen
    own = path.with_name(f"{path.stem}_tool_desc.json")
    tools = read_tools(own if own.exists() else path.with_name("tool_desc.json"))
    return collect_plans(_jsonl(path, faults), tools, str(path), sha256_of(path), faults)


def _read_taskbench(path: Path, split: str, faults: list[str] | None) -> PlanData:
    if split:
        raise RequestError(f"{path}: TaskBench has no split {split!r}; leave it out")
    file = path / "data.json"
    return collect_plans(_jsonl(file, faults), read_tools(path / "tool_desc.json"), str(file), sha256_of(file), faults)


def _read_gnn4taskplan(path: Path, split: str, faults: list[str] | None) -> PlanData:
    """Read `data.json`; `split_ids.json` names the test requests by kind of plan, all others are for training."""
    file, ids = path / "data.json", _document(path / "split_ids.json")
    if split not in ("", "train", "test"):
        raise RequestError(f"{path}: no split {split!r}; it has train and test")
    listed = ids.get("test_ids") if isinstance(ids, dict) else None
    groups = [g for g in (listed.values() if isinstance(listed, dict) else [listed]) if isinstance(g, list)]
    if not groups:
        raise RequestError(f"{path / 'split_ids.json'}: expected {{'test_ids': {{kind: [id, …]}}}}")
    test = {str(id) for group in groups for id in group}
    lines = (
        (place, line)
        for place, line in _jsonl(file, faults)
        if not split or (str(line.get("id")) in test) == (split == "test")
    )
    return collect_plans(lines, read_tools(path / "tool_desc.json"), str(file), sha256_of(file), faults)


# ── NesTools, NESTFUL ─────────────────────────────────────────────────────────────────────────────────────


def _read_nestools(path: Path, split: str, faults: list[str] | None) -> PlanData:
    """Read lines of `task`, `api` (the tools offered) and `call`; a value `API_call_3` is the third response given."""
    _no_split(path, split)
    tools: dict[str, ToolSpec] = {}
    return _converted(path, list(_jsonl(path, faults)), lambda line: _nestools_line(line, tools), tools, faults)


def _nestools_tool(api: Mapping[str, Any]) -> ToolSpec:
    required = api.get("required") or []
    parameters = tuple(
        Parameter(name, canonical_type(str(p.get("type") or "any")), str(p.get("description") or ""), name in required)
        for name, p in (api.get("parameters") or {}).items()
    )
    given = api.get("responses") or {}
    fields = {name: canonical_type(str(r.get("type") or "any")) for name, r in given.items()}
    return ToolSpec(str(api["api_name"]), str(api.get("api_description") or ""), parameters, fields=fields)


def _nestools_line(line: Mapping[str, Any], tools: dict[str, ToolSpec]) -> dict[str, Any]:
    for api in line["api"]:
        _add(tools, _nestools_tool(api))
    given_by: dict[str, str] = {}
    nodes = []
    for number, call in enumerate(line["call"]):

        def referred(value: Any) -> Any:
            if isinstance(value, str) and value in given_by:
                return given_by[value]
            return _each(value, referred)

        nodes.append({"task": call["api_name"], "arguments": _arguments(referred(call.get("parameters") or {}))})
        responses = call.get("responses") or {}
        named = responses.items() if isinstance(responses, dict) else ((None, name) for name in responses)
        for field, name in named:
            given_by[str(name)] = f"<node-{number}.{field}>" if field else f"<node-{number}>"
    known = {"test_id", "task", "api", "call"}
    return {
        "id": f"nestools-{line.get('test_id', '')}", "user_request": line["task"], "task_nodes": nodes,
        "tools": [api["api_name"] for api in line["api"]], **{k: v for k, v in line.items() if k not in known},
    }  # fmt: skip


def _read_nestful(path: Path, split: str, faults: list[str] | None) -> PlanData:
    """Read records of `input` and `output`; a value `$var1.total$` is a field of the call labelled `$var1`.

    Tools are in the record, or in the file of the same name with `spec` for `data`.
    """
    _no_split(path, split)
    tools: dict[str, ToolSpec] = {}
    spec = path.with_name(path.name.replace("data", "spec"))
    if spec != path and spec.exists():
        for entry in _listed(_document(spec), spec):
            _add_openai(tools, entry)
    records = list(_records(path, faults))
    return _converted(path, records, lambda line: _nestful_line(line, tools), tools, faults)


def _nestful_line(line: Mapping[str, Any], tools: dict[str, ToolSpec]) -> dict[str, Any]:
    output, offered = (json.loads(v) if isinstance(v, str) else v for v in (line["output"], line.get("tools") or []))
    for entry in offered:
        _add_openai(tools, entry)
    labels: dict[str, int] = {}
    nodes: list[dict[str, Any]] = []
    for call in output:
        if call["name"] == "var_result":  # no call: it says how the answer is put together
            continue

        def referred(value: Any) -> Any:
            match = _NESTFUL_REF.fullmatch(value) if isinstance(value, str) else None
            if match and match[1] in labels:
                return f"<node-{labels[match[1]]}{f'.{match[2]}' if match[2] else ''}>"
            return _each(value, referred)

        arguments = _arguments(referred(call.get("arguments") or {}))
        if call.get("label"):
            labels[str(call["label"]).strip("${}")] = len(nodes)
        nodes.append({"task": call["name"], "arguments": arguments})
    known = {"input", "output", "tools", "sample_id"}
    kept = {key: value for key, value in line.items() if key not in known}
    return {
        "id": str(line.get("sample_id") or ""), "user_request": line["input"], "task_nodes": nodes,
        "tools": [entry["name"] for entry in offered], **kept,
    }  # fmt: skip


def _add_openai(tools: dict[str, ToolSpec], entry: Mapping[str, Any]) -> None:
    """Add a tool described as for function-calling models, its parameters with or without a schema around them."""
    given = entry.get("parameters") or entry.get("query_parameters") or {}
    required = entry.get("required") or given.get("required") or []
    properties = given.get("properties")
    named: Mapping[str, Any] = properties if isinstance(properties, dict) else given
    parameters = tuple(
        Parameter(
            name, canonical_type(str(p.get("type") or "any")), str(p.get("description") or ""),
            p.get("required") is True or (isinstance(required, list) and name in required),
        )
        for name, p in named.items() if isinstance(p, dict)
    )  # fmt: skip
    _add(tools, ToolSpec(str(entry["name"]), str(entry.get("description") or ""), parameters))


# ── Conversations: SGD, ToolTalk ──────────────────────────────────────────────────────────────────────────


def _read_sgd(path: Path, split: str, faults: list[str] | None) -> PlanData:
    """Read `schema.json` and `dialogues_*.json`: a service call is a sample, the conversation before it the request."""
    _no_split(path, split)
    tools: dict[str, ToolSpec] = {}
    for service in _listed(_document(path / "schema.json"), path / "schema.json"):
        _add_service(tools, service)
    files = sorted(path.glob("dialogues_*.json"))
    if not files:
        raise RequestError(f"{path}: has no dialogues_*.json beside its schema.json")
    dialogues = [(f"{f}:{k}", d) for f in files for k, d in enumerate(_listed(_document(f), f), 1)]
    lines = _spread(dialogues, _sgd_lines, faults)
    return collect_plans(lines, tools, str(path), sha256_of(path / "schema.json", *files), faults)


def _add_service(tools: dict[str, ToolSpec], service: Mapping[str, Any]) -> None:
    slots = {slot["name"]: slot for slot in service["slots"]}
    fields = dict.fromkeys(slots, "text")
    for intent in service["intents"]:
        required = list(intent["required_slots"])
        parameters = tuple(
            Parameter(
                name, "text", str(slots.get(name, {}).get("description", "")), name in required,
                enum=tuple(slots[name]["possible_values"]) if slots.get(name, {}).get("is_categorical") else (),
            )
            for name in dict.fromkeys([*required, *intent["optional_slots"]])
        )  # fmt: skip
        name = f"{service['service_name']}.{intent['name']}"
        _add(
            tools,
            ToolSpec(name, str(intent["description"]), parameters, fields=fields, domain=str(service["service_name"])),
        )


def _sgd_lines(dialogue: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    said: list[str] = []
    for number, turn in enumerate(dialogue["turns"]):
        for frame in turn["frames"]:
            call = frame.get("service_call")
            if call:
                node = {"task": f"{frame['service']}.{call['method']}", "arguments": _arguments(call["parameters"])}
                yield {
                    "id": f"{dialogue['dialogue_id']}-{number}", "user_request": "\n".join(said), "task_nodes": [node],
                    "services": dialogue.get("services", []),
                }  # fmt: skip
        said.append(f"{'user' if turn['speaker'] == 'USER' else 'agent'}: {turn['utterance']}")


def _read_tooltalk(path: Path, split: str, faults: list[str] | None) -> PlanData:
    """Read the conversations in `easy` and `tooltalk`: a turn's calls are a plan, the talk before it the request.

    The set's tools are programs; here they are described by the conversations' calls and the parameters these give.
    """
    folders = [path / name for name in ("easy", "tooltalk") if (path / name).is_dir() and split in ("", name)]
    files = [path] if path.is_file() else sorted(f for folder in folders or [path] for f in folder.glob("*.json"))
    if not files:
        raise RequestError(f"{path}: has no conversations{f' in {split!r}' if split else ''}")
    conversations: list[_Line] = []
    for file in files:
        try:
            conversations.append((f"{file}:1", _document(file)))
        except RequestError as error:
            if faults is None:
                raise
            faults.append(f"{file}:1: {error}")
    tools: dict[str, ToolSpec] = {}
    lines = list(_spread(conversations, lambda c: _tooltalk_lines(c, tools), faults))
    return collect_plans(lines, tools, str(path), sha256_of(*files), faults)


def _tooltalk_lines(conversation: Mapping[str, Any], tools: dict[str, ToolSpec]) -> Iterator[dict[str, Any]]:
    said: list[str] = []
    for turn in conversation["conversation"]:
        nodes = []
        for api in turn.get("apis") or ():
            name, given = api["request"]["api_name"], api["request"]["parameters"]
            nodes.append({"task": name, "arguments": _arguments(given)})
            known = tools.get(name, ToolSpec(name, name))
            more = [Parameter(p, "any", "", False) for p in given if known.parameter(p) is None]
            tools[name] = replace(known, parameters=(*known.parameters, *more))
        if nodes:
            facts = conversation.get("metadata") or {}
            yield {
                "id": f"{conversation['conversation_id']}-{turn['index']}", "user_request": "\n".join(said),
                "task_nodes": nodes, "now": str(facts["timestamp"]).replace(" ", "T") if "timestamp" in facts else None,
                "name": conversation.get("name"), "scenario": conversation.get("scenario"),
                "user": conversation.get("user"), "metadata": facts, "apis": turn["apis"],
            }  # fmt: skip
        said.append(f"{'user' if turn['role'] == 'user' else 'agent'}: {turn['text']}")


# ── Shared ────────────────────────────────────────────────────────────────────────────────────────────────


def _converted(
    path: Path,
    records: Iterable[_Line],
    convert: Callable[[Mapping[str, Any]], dict[str, Any]],
    tools: Mapping[str, ToolSpec],
    faults: list[str] | None,
) -> PlanData:
    lines = list(_spread(records, lambda record: iter([convert(record)]), faults))  # all tools first, then the checks
    return collect_plans(lines, tools, str(path), sha256_of(path), faults)


def _spread(
    records: Iterable[_Line],
    convert: Callable[[Mapping[str, Any]], Iterator[dict[str, Any]]],
    faults: list[str] | None,
) -> Iterator[_Line]:
    """Convert each record to lines, and yield them with the record's place."""
    for place, record in records:
        try:
            lines = list(convert(record))
        except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
            what = f"lacks {error}" if isinstance(error, KeyError) else str(error)
            fault = f"{place}: is no record of its data set: {what}"
            if faults is None:
                raise RequestError(fault) from None
            faults.append(fault)
            continue
        yield from ((place, line) for line in lines)


def _arguments(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"name": name, "value": value} for name, value in given.items()]


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    """Apply `change` to each item of a list or value of a mapping."""
    if isinstance(value, list):
        return [change(item) for item in value]
    if isinstance(value, dict):
        return {key: change(item) for key, item in value.items()}
    return value


def _add(tools: dict[str, ToolSpec], spec: ToolSpec) -> None:
    """Add a tool unless it is known; records of one set describe a tool alike."""
    tools.setdefault(spec.name, spec)


def _no_split(path: Path, split: str) -> None:
    if split:
        raise RequestError(f"{path}: has no split {split!r}; leave it out")


def _jsonl(path: Path, faults: list[str] | None) -> Iterator[_Line]:
    return ((f"{path}:{number}", data) for number, data in read_jsonl(path, faults))


def _records(path: Path, faults: list[str] | None) -> Iterator[_Line]:
    """Yield the records of a JSON list or of a JSONL file."""
    with path.open("rb") as file:
        is_list = file.read(64).lstrip()[:1] == b"["
    if not is_list:
        yield from _jsonl(path, faults)
        return
    for number, record in enumerate(_listed(_document(path), path), 1):
        yield f"{path}:{number}", record


def _document(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise RequestError(f"cannot read {str(path)!r}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise RequestError(f"{path}: not JSON in UTF-8 ({error})") from None


def _listed(document: Any, path: Path) -> Sequence[Any]:
    if not isinstance(document, list):
        raise RequestError(f"{path}: holds a {type(document).__name__}; expected a list")
    return document


def _first_record(path: Path) -> dict[str, Any]:
    """Return the first record of a file, or an empty mapping."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            start = file.readline()
        record = json.loads(start) if start.rstrip().endswith("}") else _document(path)
    except (OSError, ValueError, RecursionError, RequestError):
        return {}
    record = record[0] if isinstance(record, list) and record else record
    return record if isinstance(record, dict) else {}
