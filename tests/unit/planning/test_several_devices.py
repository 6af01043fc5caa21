"""Several devices that are named in one row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.language.reading import Utterance
from hearth.planning.dialogue.amendments import with_each_device
from hearth.testing import FIXED_NOW
from hearth.types import Context, Entity, Parameter, Plan, Ref, Step, ToolSpec

HOME = Context("Mira", tuple(Entity(name, "device") for name in ("hall lamp", "lamp", "fan", "tv", "dad's fan")))
TOOLS = {"turn_off": ToolSpec("turn_off", "", (Parameter("device", "text"),), effect="change", returns="text")}


def devices(text: str, *said: str) -> list[object]:
    plan = Plan(tuple(Step("turn_off", {"device": one}) for one in said), unserved=())
    found = with_each_device(plan, Utterance(text, FIXED_NOW, context=HOME), TOOLS)
    return [step.arguments["device"] for step in found.steps]


@pytest.mark.parametrize(
    ("text", "said", "meant"),
    [
        ("turn off the hall lamp and the fan", "hall lamp and the fan", ["hall lamp", "fan"]),
        ("turn off the hall lamp and the fan, I'm off", "hall lamp", ["hall lamp", "fan"]),
        ("turn the tv, the fan and the lamp off", "tv, the fan and the lamp", ["tv", "fan", "lamp"]),
        ("turn off the Fan n TV", "Fan n TV", ["Fan", "TV"]),
        ("turn off the fan and text Ben", "fan", ["fan"]),
        ("turn off the lamp and the heater", "lamp and the heater", ["lamp and the heater"]),
        ("turn off the lamp", "lamp", ["lamp"]),
        ("turn off the hall lamp", "lamp", ["hall lamp"]),
        ("turn off dads fan", "fan", ["dad's fan"]),
        ("turn off dad’s fan", "fan", ["dad's fan"]),
        ("turn off the fan", "fan", ["fan"]),
    ],
)
def test_each_device_of_a_row_gets_the_step(text: str, said: str, meant: list[str]) -> None:
    assert devices(text, said) == meant


def test_a_device_that_has_its_step_gets_no_second() -> None:
    assert devices("turn off the fan and the tv", "fan", "tv") == ["fan", "tv"]


def test_a_short_name_beside_a_longer_one_stays() -> None:
    assert devices("turn off the hall lamp and the lamp", "hall lamp", "lamp") == ["hall lamp", "lamp"]


def test_steps_that_use_results_stay() -> None:
    plan = Plan((Step("turn_off", {"device": "fan"}), Step("turn_off", {"device": Ref(0, ("id",))})))
    assert with_each_device(plan, Utterance("turn off the fan and the tv", FIXED_NOW, context=HOME), TOOLS) == plan


@given(st.text(max_size=60), st.text(max_size=20))
def test_any_text_is_read(text: str, said: str) -> None:
    assert devices(text, said)
