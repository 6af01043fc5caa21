"""Data sets: what is read, what is refused, and how rows are split."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from hearth.errors import RequestError
from hearth.formats.plans import plan_from_json, read_graph
from hearth.types import ToolSpec
from hearth_bench.data.datasets import (
    PlanData,
    composition_split,
    domain_rounds,
    graph_of,
    random_split,
    read_plans,
    read_tool_file,
    tool_split,
)

TOOLS = {name: ToolSpec(name, name, domain=domain) for name, domain in (("a", "x"), ("b", "y"), ("c", "x"), ("d", "y"))}


def line(id: str, *tools: str) -> str:
    links = [{"source": s, "target": t} for s, t in pairwise(tools)]
    nodes = [{"task": tool} for tool in tools]
    return json.dumps({"id": id, "user_request": f"do {id}", "task_nodes": nodes, "task_links": links})


@pytest.fixture
def data(tmp_path: Path) -> PlanData:
    path = tmp_path / "plans.jsonl"
    plans = [("a", "b")] * 6 + [("b", "c")] * 6 + [("a", "c"), ("d",)]
    path.write_text("\n".join(line(str(k), *tools) for k, tools in enumerate(plans)))
    return read_plans(path, TOOLS)


def test_plans_are_read_with_their_links(data: PlanData) -> None:
    assert len(data.demonstrations) == 14
    assert len(data.sha256) == 64
    assert graph_of(data.demonstrations[0].plan).nodes == ("a", "b")
    assert graph_of(data.demonstrations[0].plan).links == (("a", "b"),)
    assert len(data.subset([1, 3]).demonstrations) == 2


def test_links_come_from_references_too() -> None:
    argument = {"name": "x", "value": "<node-0.field>"}
    plan = plan_from_json({"task_nodes": [{"task": "a"}, {"task": "b"}, {"task": "c", "arguments": [argument]}]})
    assert graph_of(plan).links == (("a", "c"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no demonstration"),
        (line("1", "a") + "\n" + line("1", "b"), "the id '1' is used twice"),
        (line("7", "a", "zz"), "demonstration '7' uses the unknown tool 'zz'; add it to the tool file"),
        ("{", "not a JSON object"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(text)
    with pytest.raises(RequestError, match=message):
        read_plans(path, TOOLS)


def test_bad_lines_are_passed_over_when_asked_and_named(tmp_path: Path) -> None:
    path = tmp_path / "mixed.jsonl"
    path.write_text("\n".join([line("1", "a"), "{", line("1", "b"), line("2", "zz"), "[]", line("3", "a", "b")]))
    data = read_plans(path, TOOLS, skip_bad=True)
    assert [d.id for d in data.demonstrations] == ["1", "3"]
    assert [fault.removeprefix(str(path)).split(":")[1] for fault in data.faults] == ["2", "3", "4", "5"]
    assert "'1' is used twice, first on line 1" in data.faults[1]
    assert "unknown tool 'zz'" in data.faults[2]
    path.write_text("{")
    with pytest.raises(RequestError, match=r"holds no demonstration; the first fault: .*mixed\.jsonl:1: not a JSON"):
        read_plans(path, TOOLS, skip_bad=True)


def test_right_values_own_tools_and_unknown_fields_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "plans.jsonl"
    node = {"task": "a", "arguments": [{"name": "x", "value": "New York", "accept": ["New York", "NYC"]}]}
    path.write_text(json.dumps({"user_request": "do it", "tools": ["b", "a"], "task_nodes": [node], "type": "single"}))
    data = read_plans(path, TOOLS)
    assert data.gold()[0].calls[0].right == {"x": ("New York", "NYC")}
    assert data.demonstrations[0].tools == ("b", "a")
    assert data.demonstrations[0].id == "plans-1"
    assert data.unknown == ({"type": "single"},)
    path.write_text(json.dumps({"user_request": "do it", "tools": ["zz"], "task_nodes": [node]}))
    with pytest.raises(RequestError, match=r"plans\.jsonl:1: .*unknown tool 'zz'"):
        read_plans(path, TOOLS)


def test_links_are_those_the_file_names(tmp_path: Path) -> None:
    """A tool used twice keeps its links; one named twice counts once; one between other tools is none."""
    path = tmp_path / "plans.jsonl"
    links = [("a", "b"), ("b", "a"), ("a", "b"), ("c", "b")]
    whole = {
        "user_request": "do it",
        "task_nodes": [{"task": tool} for tool in "aba"],
        "task_links": [{"source": s, "target": t} for s, t in links],
    }
    path.write_text(json.dumps(whole))
    assert read_plans(path, TOOLS).gold()[0].graph.links == (("a", "b"), ("b", "a"))


def test_taskbench_files_are_read_unchanged(tmp_path: Path) -> None:
    """Its data files have other names and lists as texts; its predictions hold the plan under `result`; tools without
    parameters take results by bare references."""
    path = tmp_path / "data.json"
    nodes = [{"task": "a", "arguments": ["example.jpg"]}, {"task": "b", "arguments": ["<node-0>", "text"]}]
    links = [{"source": "a", "target": "b"}]
    raw = {"id": 7, "instruction": "do it", "tool_steps": json.dumps(["one", "two"]), "tool_nodes": json.dumps(nodes)}
    prediction = {
        "id": "8",
        "user_request": "do it",
        "result": {"task_steps": [], "task_nodes": nodes, "task_links": links},
    }
    named = {"task": "a", "arguments": {"x": 1}}
    dated = {"id": "9", "user_request": "do it", "task_steps": None, "task_nodes": [named], "task_links": None}
    path.write_text("\n".join(map(json.dumps, [raw, prediction, dated])))
    first, second, third = read_plans(path, TOOLS).gold()
    assert first.graph == second.graph
    assert first.graph.links == (("a", "b"),)
    assert third.calls[0].right == {"x": (1,)}
    assert read_plans(path, TOOLS).demonstrations[0].task_steps == ("one", "two")


def test_fields_of_results_may_be_a_list(tmp_path: Path) -> None:
    path = tmp_path / "tool_desc.json"
    path.write_text(
        '{"nodes": [{"id": "a", "returns": [{"name": "price", "type": "float", "desc": "Its price."}, {}]}]}'
    )
    assert read_tool_file(path)["a"].fields == {"price": "number"}


def test_tool_files_may_name_several_domains(tmp_path: Path) -> None:
    path = tmp_path / "tool_desc.json"
    path.write_text('{"nodes": [{"id": "a", "domain": ["Train", "Flight"]}, {"id": "b", "domain": []}, {"id": "c"}]}')
    assert [spec.domain for spec in read_tool_file(path).values()] == ["Train", "", ""]


def test_graphs(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text('{"nodes": [], "links": [{"source": "a", "target": "b"}]}')
    assert read_graph(path) == {("a", "b")}
    path.write_text('{"links": [{"source": "a"}]}')
    with pytest.raises(RequestError, match=r"expected \{.links"):
        read_graph(path)
    with pytest.raises(RequestError, match="cannot read the graph"):
        read_graph(tmp_path / "absent.json")


def test_splits_cover_all_rows_once_and_follow_the_seed(data: PlanData) -> None:
    kept, held = random_split(14, 4, seed=1)
    assert sorted(kept + held) == list(range(14))
    assert (kept, held) == random_split(14, 4, seed=1)
    assert held != random_split(14, 4, seed=2)[1]


def test_composition_holds_out_single_sequences_of_known_tools(data: PlanData) -> None:
    kept, held = composition_split(data, 10, seed=0)
    assert held == [12]  # "d" alone is single too, and its tool occurs nowhere else
    uses = Counter(step.tool for row in kept for step in data.demonstrations[row].plan.steps)
    assert uses["a"] >= 5
    assert uses["c"] >= 5


def test_tools_held_out_occur_in_no_kept_row(data: PlanData) -> None:
    kept, touched, chosen = tool_split(data, 1, seed=0)
    assert len(chosen) == 1
    for row in kept:
        assert not chosen & {step.tool for step in data.demonstrations[row].plan.steps}
    for row in touched:
        assert chosen & {step.tool for step in data.demonstrations[row].plan.steps}
    assert sorted(kept + touched) == list(range(14))


def test_rounds_follow_domains(data: PlanData) -> None:
    rounds = domain_rounds(data, 2)
    assert sorted(row for rows in rounds for row in rows) == list(range(14))
    domains = [TOOLS[data.demonstrations[row].plan.steps[0].tool].domain for rows in rounds for row in rows]
    assert domains == sorted(domains)
