"""Plans, tools and demonstrations as JSON in TaskBench's form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hearth.errors import PlanError, RegistryError, RequestError
from hearth.formats.plans import (
    decode_argument,
    encode_argument,
    plan_from_json,
    plan_to_json,
    read_demonstrations,
    read_graph,
    read_jsonl,
    read_tools,
    tool_to_json,
)
from hearth.registry import load_tools
from hearth.testing import FIXED_NOW
from hearth.types import Offer, Parameter, Plan, Ref, Step, ToolSpec, Whence, canonical_type

EXAMPLE = {
    "id": "42",
    "user_request": "Who was in the kitchen yesterday?",
    "tools": ["find_video", "detect_people"],
    "task_steps": ["Find yesterday's kitchen video", "See who is in it"],
    "task_nodes": [
        {"task": "find_video", "arguments": [{"name": "room", "value": "kitchen"}]},
        {"task": "detect_people", "arguments": [{"name": "video", "value": "<node-0>"}]},
    ],
    "task_links": [{"source": "find_video", "target": "detect_people"}],
    "something": "unknown",
}


def test_a_line_of_the_design_is_read(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(json.dumps(EXAMPLE) + "\n\n")
    (demonstration,) = read_demonstrations(path)
    assert demonstration.request == "Who was in the kitchen yesterday?"
    assert demonstration.plan.steps[1] == Step("detect_people", {"video": Ref(0)}, (), "See who is in it")


def test_a_plan_survives_the_round_trip() -> None:
    plan = Plan(
        steps=(
            Step("a", {"x": 1, "y": ["<node-0>", Ref(0, ("id",))]}, (), "first"),
            Step("b", {"deep": {"k": [Ref(0, ("to", "0"))]}}, (0,), ""),
        ),
        confidence=0.5,
        planner="recall",
        rests_on=("d1",),
        unserved=("and fly me home",),
        ignored=("swan lake",),
        offer=Offer("add_event", "I can put it in your calendar"),
    )
    assert plan_from_json(json.loads(json.dumps(plan_to_json(plan)))) == plan


@pytest.mark.parametrize("text", ["<node-0>", "\\<node-0>", "\\\\<node-1.a.b>", "plain", "<node-x>", "\\"])
def test_text_that_looks_like_a_reference_stays_text(text: str) -> None:
    assert decode_argument(encode_argument(text)) == text


def test_links_without_references_become_order() -> None:
    plan = plan_from_json(
        {"task_nodes": [{"task": "a"}, {"task": "b"}], "task_links": [{"source": "a", "target": "b"}]}
    )
    assert plan.steps[1].after == (0,)


@pytest.mark.parametrize(
    "data",
    [
        {"task_nodes": [{"arguments": []}]},
        {"task_nodes": "x"},
        {"task_nodes": [{"task": "a", "arguments": [{"name": 3}]}]},
    ],
)
def test_a_malformed_plan_names_the_field_of_its_nodes(data: dict[str, Any]) -> None:
    with pytest.raises(PlanError, match="task_nodes"):
        plan_from_json(data)


@pytest.mark.parametrize("data", [{"confidence": "high"}, {"task_nodes": [{"task": "a", "after": ["x"]}]}])
def test_numbers_that_are_none_are_named(data: dict[str, Any]) -> None:
    with pytest.raises(PlanError, match=r"confidence|after"):
        plan_from_json(data)


def test_bad_lines_name_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_bytes(b'{"user_request": "a"}\n\xff\xfe\n')
    with pytest.raises(RequestError, match=r"d\.jsonl:2: not a JSON object in UTF-8"):
        list(read_demonstrations(path))
    path.write_text('{"user_request": "a"}\n[1]\n')
    with pytest.raises(RequestError, match=r"d\.jsonl:2: a list, expected a JSON object"):
        list(read_jsonl(path))
    path.write_text('{"user_request": "a"}\n{"request": "a"}\n')
    with pytest.raises(RequestError, match=r"d\.jsonl:2: user_request"):
        list(read_demonstrations(path))
    with pytest.raises(RequestError, match="cannot read"):
        list(read_jsonl(tmp_path / "absent.jsonl"))


def test_tools_round_trip(tmp_path: Path) -> None:
    spec = ToolSpec(
        "add", "Add.", (Parameter("a", "text", "It", enum=("x", "y")),), "Sum", {"value": "number"}, domain="d"
    )
    path = tmp_path / "tool_desc.json"
    path.write_text(json.dumps({"nodes": [tool_to_json(spec)]}))
    (read,) = read_tools(path).values()
    assert (read.name, read.parameters, read.fields, read.domain) == ("add", spec.parameters, spec.fields, "d")


def test_a_tool_that_gives_a_list_of_records_still_does_when_read_back(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    specs = load_tools(None).specs
    path.write_text(json.dumps({"nodes": [tool_to_json(spec) for spec in specs.values()]}))
    read = read_tools(path)
    assert {name: spec.returns for name, spec in read.items()} == {
        n: canonical_type(s.returns) for n, s in specs.items()
    }
    assert read["find_mail"].returns == "list[Mail]"


def test_public_spellings_of_types_are_understood(tmp_path: Path) -> None:
    path = tmp_path / "tool_desc.json"
    path.write_text('{"nodes": [{"id": "t", "parameters": [{"name": "x", "type": "string"}], "output-type": ["int"]}]}')
    spec = read_tools(path)["t"]
    assert (spec.parameters[0].type, spec.returns) == ("text", "integer")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "tool_desc.json"),
        ('{"nodes": [{"desc": "x"}]}', "nodes.0.id"),
        ('{"nodes": [{"id": "a"}, {"id": "a"}]}', "'a' is described twice"),
    ],
)
def test_a_bad_tool_file_names_the_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "tool_desc.json"
    path.write_text(text)
    with pytest.raises(RegistryError, match=message):
        read_tools(path)


def test_fields_told_as_a_list_come_with_their_words(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    returns = [{"name": "code", "type": "string", "desc": "airport code"}, {"name": "name"}, "nonsense"]
    path.write_text(json.dumps({"nodes": [{"id": "find_airport", "returns": returns}]}))
    spec = read_tools(path)["find_airport"]
    assert spec.fields == {"code": "text", "name": "any"}
    assert spec.field_texts == {"code": "airport code", "name": ""}


@pytest.mark.parametrize(
    ("spelling", "name"), [("Number", "number"), ("enum", "text"), ("Boolean", "boolean"), ("EventId", "EventId")]
)
def test_spellings_of_types(tmp_path: Path, spelling: str, name: str) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({"nodes": [{"id": "t", "parameters": [{"name": "p", "type": spelling}]}]}))
    assert read_tools(path)["t"].parameters[0].type == name


def test_a_tool_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps({"nodes": [{"id": "t", "desc": "", "parameters": []}]}).encode())
    assert list(read_tools(path)) == ["t"]


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"\xfb\xff" * 20_000, r"is not UTF-8 \(byte 0 is 0xfb\)"),
        (b'{"links": ' + b"[" * 100_000, "expected {'links'"),
        (b"[]", "expected {'links'"),
        (b"{", "expected {'links'"),
    ],
)
def test_a_graph_that_is_none_is_said_in_a_line(tmp_path: Path, raw: bytes, words: str) -> None:
    path = tmp_path / "graph.json"
    path.write_bytes(raw)
    with pytest.raises(RequestError, match=words) as caught:
        read_graph(path)
    assert len(str(caught.value)) < 500


def test_the_record_that_says_a_literal_leaves_with_no_plan() -> None:
    mail = Whence("message", "INBOX/1", "mail", "MOT", "g@garage.example", FIXED_NOW)
    step = Step("add_reminder", {"at": "2026-12-03"}, unsaid={"at": "message"}, said_in={"at": mail})
    said = plan_to_json(Plan((step,)))
    assert "garage" not in json.dumps(said)
    assert plan_from_json(said).steps == (step,)
