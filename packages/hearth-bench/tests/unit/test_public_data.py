"""Public data sets by their own layouts, on records made up here in the same form; and on the real ones where they are."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hearth.errors import MissingExtraError, RequestError
from hearth.formats.plans import read_tools
from hearth.types import Ref
from hearth_bench.data.datasets import stream_plans
from hearth_bench.data.public_data import layout_of, open_data, taskbench_from_hub
from tests import SHARED

DATA = Path(os.environ.get("HEARTH_DATA", SHARED)) / "plans"


def write(path: Path, *records: Any, as_list: bool = False) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(records) if as_list else "".join(json.dumps(record) + "\n" for record in records))
    return path


def plan(id: str, *tools: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "user_request": f"do {id}", "task_nodes": [{"task": tool} for tool in tools], **more}


def tools(path: Path, *names: str) -> Path:
    return write(path, {"nodes": [{"id": name} for name in names]})


def test_taskbench(tmp_path: Path) -> None:
    tools(tmp_path / "tool_desc.json", "a", "b")
    write(tmp_path / "data.json", plan("1", "a", n_tools=1), plan("2", "zz"), plan("3", "a", "b"))
    data = open_data(tmp_path)
    assert layout_of(tmp_path) == "taskbench"
    assert [d.id for d in data.demonstrations] == ["1", "3"]
    assert data.unknown[0] == {"n_tools": 1}
    assert data.faults[0].startswith(f"{tmp_path}/data.json:2: demonstration '2' uses the unknown tool 'zz'")
    with pytest.raises(RequestError, match=r"data.json:2: .*unknown tool 'zz'"):
        open_data(tmp_path, skip_bad=False)


def test_gnn4taskplan_keeps_the_test_apart(tmp_path: Path) -> None:
    tools(tmp_path / "tool_desc.json", "a")
    write(tmp_path / "data.json", *(plan(str(k), "a") for k in range(5)))
    write(tmp_path / "split_ids.json", {"test_ids": {"single": ["1"], "chain": ["3"]}})
    assert [d.id for d in open_data(tmp_path, split="test").demonstrations] == ["1", "3"]
    assert [d.id for d in open_data(tmp_path, split="train").demonstrations] == ["0", "2", "4"]
    assert len(open_data(tmp_path).demonstrations) == 5
    with pytest.raises(RequestError, match="no split 'dev'"):
        open_data(tmp_path, split="dev")
    write(tmp_path / "split_ids.json", {"test": []})
    with pytest.raises(RequestError, match=r"expected \{'test_ids'"):
        open_data(tmp_path)


def test_nestools(tmp_path: Path) -> None:
    api = {"api_description": "Books.", "parameters": {"day": {"type": "str", "description": "When."}}, "required": ["day"],
           "responses": {"id": {"type": "int"}}}  # fmt: skip
    record = {
        "test_id": 7, "task": "Book it and pay.", "api": [{"api_name": "book", **api}, {"api_name": "pay", **api}], "level": 2,
        "call": [
            {"api_name": "book", "parameters": {"day": "Monday"}, "responses": ["API_call_0", "API_call_1"]},
            {"api_name": "pay", "parameters": {"ids": ["API_call_1", "x"]}, "responses": {"id": "API_call_2"}},
            {"api_name": "pay", "parameters": {"id": "API_call_2"}, "responses": []},
        ],
    }  # fmt: skip
    data = open_data(write(tmp_path / "test_data.jsonl", record, {**record, "call": [{}]}, "no object"))
    (found,) = data.demonstrations
    assert (found.id, found.tools) == ("nestools-7", ("book", "pay"))
    assert [s.arguments for s in found.plan.steps] == [
        {"day": "Monday"},
        {"ids": [Ref(0), "x"]},
        {"id": Ref(1, ("id",))},
    ]
    assert data.tools["book"].parameters[0].is_required
    assert data.tools["book"].fields == {"id": "integer"}
    assert data.unknown == ({"level": 2},)
    assert [fault.partition("test_data.jsonl:")[2][:1] for fault in data.faults] == ["2", "3"]
    assert "is no record of its data set: lacks 'api_name'" in data.faults[0]


@pytest.mark.parametrize("as_list", [True, False])
def test_nestful(as_list: bool, tmp_path: Path) -> None:
    record = {
        "sample_id": "s1", "input": "Add, then double.", "gold_answer": 6,
        "output": [
            {"name": "add", "label": "$var1", "arguments": {"a": 1, "b": 2}},
            {"name": "double", "label": "$var2", "arguments": {"x": "$var1.sum$", "note": "costs $5"}},
            {"name": "var_result", "arguments": {"r": "$var2$"}},
        ],
    }  # fmt: skip
    spec = [
        {
            "name": "add",
            "description": "Adds.",
            "parameters": {"properties": {"a": {"type": "int"}}, "required": ["a"]},
        },
        {"name": "double", "parameters": {"x": {"type": "int", "required": True}}},
    ]
    path = write(tmp_path / "glaive-data.json", record, as_list=as_list)
    write(tmp_path / "glaive-spec.json", *spec, as_list=True)
    for kept in (open_data(path), open_data(write(tmp_path / "own.json", {**record, "tools": spec}, as_list=as_list))):
        steps = kept.demonstrations[0].plan.steps
        assert [step.tool for step in steps] == ["add", "double"]
        assert steps[1].arguments == {"x": Ref(0, ("sum",)), "note": "costs $5"}
        assert kept.tools["double"].parameters[0].is_required
        assert kept.unknown == ({"gold_answer": 6},)


def test_sgd(tmp_path: Path) -> None:
    slots = [
        {"name": "city", "description": "Where.", "is_categorical": True, "possible_values": ["Rome"]},
        {"name": "day"},
    ]
    intent = {
        "name": "Find",
        "description": "Finds.",
        "required_slots": ["city"],
        "optional_slots": {"day": "dontcare"},
    }
    write(tmp_path / "schema.json", {"service_name": "Hotels_1", "slots": slots, "intents": [intent]}, as_list=True)
    call = {"method": "Find", "parameters": {"city": "Rome"}}
    turns = [
        {"speaker": "USER", "utterance": "A hotel in Rome.", "frames": [{"service": "Hotels_1"}]},
        {"speaker": "SYSTEM", "utterance": "Here.", "frames": [{"service": "Hotels_1", "service_call": call}]},
        {"speaker": "SYSTEM", "utterance": "More.", "frames": [{"service": "Hotels_1", "service_call": call}]},
    ]
    write(tmp_path / "dialogues_001.json", {"dialogue_id": "1_0", "turns": turns}, {"turns": [{}]}, as_list=True)
    data = open_data(tmp_path)
    assert [d.id for d in data.demonstrations] == ["1_0-1", "1_0-2"]
    assert data.demonstrations[1].request == "user: A hotel in Rome.\nagent: Here."
    assert data.demonstrations[0].plan.steps[0].arguments == {"city": "Rome"}
    spec = data.tools["Hotels_1.Find"]
    assert (spec.domain, [p.is_required for p in spec.parameters], spec.parameters[0].enum) == (
        "Hotels_1",
        [True, False],
        ("Rome",),
    )
    assert "dialogues_001.json:2: is no record" in data.faults[0]


def test_tooltalk(tmp_path: Path) -> None:
    def call(name: str, **parameters: Any) -> dict[str, Any]:
        return {"request": {"api_name": name, "parameters": parameters}, "response": {"id": 1}, "exception": None}

    turns = [
        {"index": 0, "role": "user", "text": "Wake me at 7."},
        {
            "index": 1,
            "role": "assistant",
            "text": "Done.",
            "apis": [call("FindAlarms"), call("AddAlarm", time="07:00:00")],
        },
    ]
    whole = {
        "name": "n",
        "conversation_id": "c",
        "apis_used": [],
        "conversation": turns,
        "metadata": {"timestamp": "2023-09-11 09:00:00"},
    }
    write(tmp_path / "easy" / "a.json", whole)
    write(tmp_path / "easy" / "b.json", {**whole, "conversation_id": "d", "conversation": [{"index": 0}]})
    (tmp_path / "easy" / "c.json").write_text("{")
    data = open_data(tmp_path)
    (found,) = data.demonstrations
    assert (found.id, found.request, str(found.now)) == ("c-1", "user: Wake me at 7.", "2023-09-11 09:00:00")
    assert [step.tool for step in found.plan.steps] == ["FindAlarms", "AddAlarm"]
    assert [p.name for p in data.tools["AddAlarm"].parameters] == ["time"]
    assert data.unknown[0]["apis"][0]["response"] == {"id": 1}
    assert len(data.faults) == 2
    assert len(open_data(tmp_path / "easy" / "a.json").demonstrations) == 1


def test_plan_files_beside_their_tools(tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl", plan("1", "a"))
    write(tmp_path / "dev.jsonl", plan("2", "b"))
    tools(tmp_path / "tool_desc.json", "a")
    tools(tmp_path / "dev_tool_desc.json", "b")
    assert open_data(tmp_path, split="dev").demonstrations[0].id == "2"
    assert open_data(tmp_path / "train.jsonl").demonstrations[0].id == "1"
    with pytest.raises(RequestError, match="has the parts dev, train; name one"):
        open_data(tmp_path)


def test_what_is_no_data_set_is_said(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="there is no"):
        open_data(tmp_path / "none")
    with pytest.raises(RequestError, match="none of the layouts plans, taskbench"):
        open_data(tmp_path)
    with pytest.raises(RequestError, match="none of the layouts"):
        open_data(write(tmp_path / "x.jsonl", {"a": 1}))


def test_lines_are_streamed_one_by_one(tmp_path: Path) -> None:
    path = write(tmp_path / "plans.jsonl", plan("1", "a"), plan("2", "zz"), plan("3", "a", colour="red"))
    specs = read_tools(tools(tmp_path / "tool_desc.json", "a"))
    faults: list[str] = []
    found = list(stream_plans(path, specs, faults))
    assert [(s.demonstration.id, dict(s.unknown)) for s in found] == [("1", {}), ("3", {"colour": "red"})]
    assert [fault.split(":")[1] for fault in faults] == ["2"]
    with pytest.raises(RequestError, match=r"plans\.jsonl:2"):
        list(stream_plans(path, specs))


def test_taskbench_from_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'hearth-bench\[hf\]'"):
        taskbench_from_hub("dailylife", tmp_path)
    asked: list[str] = []

    def fetch(repo_id: str, repo_type: str, filename: str, local_dir: str) -> str:
        asked.append(filename)
        if "graph" in filename:
            raise OSError("offline")
        return filename

    hub = ModuleType("huggingface_hub")
    hub.hf_hub_download = fetch  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    with pytest.raises(
        RequestError, match=r"cannot fetch data_dailylifeapis/graph_desc.json of 'microsoft/Taskbench' .*: offline"
    ):
        taskbench_from_hub("dailylife", tmp_path)
    assert asked[0] == "data_dailylifeapis/data.json"
    with pytest.raises(RequestError, match="it has huggingface, multimedia, dailylife"):
        taskbench_from_hub("kitchen", tmp_path)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "split", "n"),
    [("tooltalk", "", 28), ("nestools", "", 500), ("nestful", "", 150), ("sgd", "dev", 600), ("ultratool", "dev", 300)],
)
def test_the_real_ones(name: str, split: str, n: int) -> None:
    if not (DATA / name).exists():
        pytest.skip(f"needs {DATA / name} (HEARTH_DATA)")
    data = open_data(DATA / name, split=split)
    assert len(data.demonstrations) + len(data.faults) >= n
    assert len(data.faults) <= 0.04 * n, data.faults[:3]  # NESTFUL's calls name five tools that it does not describe
