"""Requests of new people, some learnt and the others to judge by: their plans can be run, and none of them ships."""

from __future__ import annotations

import pytest

from hearth.agent import shipped_demonstrations
from hearth.formats.plan_json import read_demonstrations
from hearth.formats.plan_validation import faults
from hearth.registry import load_tools
from tests import ROOT
from training.tool_heads_train import asides_to_learn, people_to_learn

JUDGING = ROOT / "packages/hearth-bench/hearth_bench/measure/data/new_people_requests.jsonl"


@pytest.mark.companions
def test_their_plans_can_be_run_and_none_of_them_ships() -> None:
    tools = load_tools(None).specs
    found = [*people_to_learn(), *read_demonstrations(JUDGING)]
    assert len({one.id for one in found}) == len(found) > 1_400
    assert not [one.id for one in found if one.plan.steps and list(faults(one.plan, tools))]
    known = {one.request.casefold() for one in shipped_demonstrations()}
    assert not [one.id for one in found if one.request.casefold() in known]


def test_most_of_them_judge_what_is_learnt_of_the_others() -> None:
    learnt = {one.id for one in people_to_learn()}
    judging = {one.id for one in read_demonstrations(JUDGING)}
    assert len(judging) > len(learnt) > 500
    assert {id.partition("-")[0] for id in learnt}.isdisjoint(id.partition("-")[0] for id in judging)


def test_what_is_said_beside_is_no_request() -> None:
    asides = [text.casefold() for text in asides_to_learn()]
    assert len(set(asides)) == len(asides) > 800
    asked = {
        one.request.casefold() for one in (*shipped_demonstrations(), *people_to_learn(), *read_demonstrations(JUDGING))
    }
    assert asked.isdisjoint(asides)
