"""Requests of new people, some learnt and the others to judge by: their plans can be run, and none of them ships."""

from __future__ import annotations

import pytest

from hearth.agent import shipped_demonstrations
from hearth.formats.plans import faults, read_demonstrations
from hearth.registry import load_tools
from hearth.types import Demonstration
from tests import ROOT
from training.tool_heads_train import asides_to_learn, people_to_learn

FOLDER = ROOT / "packages/hearth-bench/hearth_bench/measure/data"


def judging() -> list[Demonstration]:
    files = (FOLDER / "new_people_requests.jsonl", FOLDER / "unseen_people_requests.jsonl")
    return [one for path in files for one in read_demonstrations(path)]


@pytest.mark.companions
def test_their_plans_can_be_run_and_none_of_them_ships() -> None:
    tools = load_tools(None).specs
    found = [*people_to_learn(), *judging()]
    assert len({one.id for one in found}) == len(found) > 11_000
    assert not [one.id for one in found if one.plan.steps and list(faults(one.plan, tools))]
    known = {one.request.casefold() for one in shipped_demonstrations()}
    assert not [one.id for one in found if one.request.casefold() in known]


def test_nothing_is_learnt_of_those_who_judge() -> None:
    learnt, others = people_to_learn(), judging()
    assert len(learnt) > 9_000
    assert len(others) > 1_600
    authors = ({one.id.partition("-")[0] for one in some} for some in (learnt, others))
    assert set.isdisjoint(*authors)
    assert {one.request.casefold() for one in learnt}.isdisjoint(one.request.casefold() for one in others)


def test_what_is_said_beside_is_no_request() -> None:
    asides = [text.casefold() for text in asides_to_learn()]
    assert len(set(asides)) == len(asides) > 800
    asked = {one.request.casefold() for one in (*shipped_demonstrations(), *people_to_learn(), *judging())}
    assert asked.isdisjoint(asides)
