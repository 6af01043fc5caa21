"""Corrections: a hundred rephrasings and a hundred siblings, whose right plans can be run; counts joined by group."""

from __future__ import annotations

import pytest

from hearth.agent import shipped_demonstrations
from hearth.formats.plans import check_plan, plan_from_json
from hearth.registry import load_tools
from hearth.types import Plan, Step
from hearth_bench.measure.planning.correction_reach import (
    N_LOOKED_AT,
    asked_of,
    gold_nodes,
    is_dangerous,
    is_right,
    read_cases,
    summary,
    taught_by,
)

SPECS = load_tools(None).specs
CASES = read_cases()


def test_there_are_a_hundred_rephrasings_and_a_hundred_siblings() -> None:
    kinds = [kind for case in CASES for kind, _, _ in asked_of(case)]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {"itself": 25, "rephrasings": 100, "siblings": 100}
    assert len({case["id"] for case in CASES}) == len(CASES) > N_LOOKED_AT
    texts = [text for case in CASES for _, text, _ in asked_of(case)]
    assert len(set(texts)) == len(texts)


def test_no_rephrasing_and_no_sibling_is_a_shipped_demonstration() -> None:
    shipped = {one.request.casefold() for one in shipped_demonstrations()}
    asked = {text for case in CASES for kind, text, _ in asked_of(case) if kind != "itself"}
    assert {text for text in asked if text.casefold() in shipped} == set()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_every_right_plan_can_be_run(case: dict[str, object]) -> None:
    for _, text, gold in asked_of(case):
        assert check_plan(plan_from_json({"task_nodes": gold_nodes(gold)}), SPECS).steps, text


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_what_is_taught_is_right_for_itself_and_its_rephrasings_and_for_no_sibling(case: dict[str, object]) -> None:
    taught = taught_by(case).plan
    right = {(kind, is_right(text, gold, taught, SPECS)) for kind, text, gold in asked_of(case)}
    assert right == {("itself", True), ("rephrasings", True), ("siblings", False)}


def test_a_value_that_says_where_and_is_not_said_is_dangerous() -> None:
    plan = Plan((Step("draft_mail", {"to": ["ivy@home.example"], "text": "yes"}),))
    assert is_dangerous("tell Ivy yes", plan, SPECS)
    assert not is_dangerous("tell ivy@home.example yes", plan, SPECS)


def test_counts_of_groups_are_joined() -> None:
    found = summary([{"siblings": [True, False]}, {"siblings": [True, True], "dangerous": [False]}])
    assert found == {"siblings": 0.75, "dangerous": 0.0, "n": {"siblings": 4, "dangerous": 1}}
