"""The requests that nobody has learnt: their plans can be run, and none of them ships."""

from __future__ import annotations

import pytest

from hearth.agent import shipped_demonstrations
from hearth.formats.plan_json import read_demonstrations
from hearth.formats.plan_validation import faults
from hearth.registry import load_tools
from tests import ROOT

NEW_PEOPLE = ROOT / "training/data/new_people.jsonl"


@pytest.mark.companions
def test_their_plans_can_be_run_and_none_of_them_ships() -> None:
    tools = load_tools(None).specs
    found = list(read_demonstrations(NEW_PEOPLE))
    assert len({one.id for one in found}) == len(found) > 1_400
    assert not [one.id for one in found if one.plan.steps and list(faults(one.plan, tools))]
    known = {one.request.casefold() for one in shipped_demonstrations()}
    assert not [one.id for one in found if one.request.casefold() in known]
