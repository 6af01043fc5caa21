"""How a plan is compared with the right one: each rule with a row that counts and one that does not."""

from __future__ import annotations

from typing import Any

import pytest

from hearth.registry import load_tools
from hearth.types import Argument, Demonstration, Plan, Step
from hearth_bench.measure.planning.requests import judge

SPECS = load_tools(None).specs


def is_right(
    tool: str, wanted: dict[str, Argument], given: dict[str, Argument], accept: list[Any] | None = None
) -> bool:
    arguments = [{"name": name, "value": value, "accept": accept or []} for name, value in wanted.items()]
    raw = {"task_nodes": [{"task": tool, "arguments": arguments}]}
    gold = Demonstration("g", "", Plan((Step(tool, wanted),)))
    return judge(gold, raw, Plan((Step(tool, given),)), SPECS).exact


@pytest.mark.parametrize(
    ("wanted", "given", "right"),
    [
        ("07700 900418", "+497700900418", True),
        ("0171 555-0142", "+49 171 5550142", True),
        ("07700 900418", "+497700900419", False),
        ("07700 900418", "+447700900418", False),
        ("the dentist", "Dentist.", True),
        ("the dentist", "dentist at nine", False),
    ],
)
def test_what_is_forgiven_in_text(wanted: str, given: str, right: bool) -> None:
    assert is_right("add_contact", {"name": "Ivy", "phone": wanted}, {"name": "ivy", "phone": given}) is right


def test_an_argument_may_be_left_out_only_where_that_is_accepted() -> None:
    assert is_right("find_mail", {"sender": "Ivy"}, {}, [None])
    assert not is_right("find_mail", {"sender": "Ivy"}, {})
    assert not is_right("find_mail", {"sender": "Ivy"}, {"sender": "Ivy", "query": "rent"})


def test_what_is_told_as_left_undone_counts_against_a_plan() -> None:
    gold = Demonstration("g", "", Plan((Step("list_devices"),)))
    raw: dict[str, Any] = {"task_nodes": [{"task": "list_devices", "arguments": []}]}
    assert judge(gold, raw, Plan((Step("list_devices"),)), SPECS).exact
    assert not judge(gold, raw, Plan((Step("list_devices"),), unserved=("the rest",)), SPECS).exact


def test_what_changes_beside_is_a_wrong_side_effect() -> None:
    gold = Demonstration("g", "", Plan((Step("list_devices"),)))
    raw: dict[str, Any] = {"task_nodes": [{"task": "list_devices", "arguments": []}]}
    beside = Plan((Step("list_devices"), Step("turn_on", {"device": "lamp"})))
    assert judge(gold, raw, beside, SPECS).wrong_side_effect
    assert not judge(gold, raw, Plan((Step("list_devices"), Step("current_time"))), SPECS).wrong_side_effect
