"""A question about a device changes nothing."""

from __future__ import annotations

import pytest

from hearth.planning.dialogue.amendments import with_state_asked
from hearth.testing import FIXED_NOW
from hearth.types import Parameter, Plan, Request, Step, ToolSpec

TOOLS = {
    "lock_door": ToolSpec("lock_door", "", (Parameter("device", "text"),), effect="change", returns="text"),
    "device_state": ToolSpec("device_state", "", (Parameter("device", "text"),), returns="text"),
}


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("did I lock the shed door", "device_state"),
        ("is the shed door locked?", "device_state"),
        ("hey have we locked up the shed door", "device_state"),
        ("lock the shed door", "lock_door"),
        ("can you lock the shed door", "lock_door"),
        ("is the shed door open? then lock it", "lock_door"),
        ("I did not lock the shed door, lock it", "lock_door"),
    ],
)
def test_what_is_asked_is_looked_at(text: str, tool: str) -> None:
    plan = Plan((Step("lock_door", {"device": "shed door"}),))
    found = with_state_asked(plan, Request(text, FIXED_NOW), TOOLS)
    assert found.steps == (Step(tool, {"device": "shed door"}),)


def test_several_things_stay() -> None:
    plan = Plan((Step("device_state", {"device": "shed door"}), Step("lock_door", {"device": "shed door"})))
    assert with_state_asked(plan, Request("is the shed door locked", FIXED_NOW), TOOLS) == plan
