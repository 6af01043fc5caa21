"""What all sensors keep: the double, Home Assistant's discovery, device twins; the contract fails for one that does not."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping

import pytest

from hearth.protocols import Message, Observation, Reading
from hearth.testing import FIXED_NOW, ScriptedSensor, check_sensor
from hearth_home.device_twins import Named, Twins
from hearth_home.home_assistant import HomeAssistant

LIGHT = {"name": "ceiling lamp", "cmd_t": "z/k/set", "stat_t": "z/k", "schema": "json", "brightness": True}
TWIN = {
    "twin": {
        "power": {"actual": {"value": "true"}, "metadata": {"type": "boolean"}},
        "temperature": {"actual": {"value": "21"}},
    }
}


def test_the_double_keeps_the_contract() -> None:
    check_sensor(ScriptedSensor, [Message("scripted/lamp", b"on")], "lamp", FIXED_NOW)


def test_discovery_keeps_the_contract() -> None:
    told = [Message("homeassistant/light/k/config", json.dumps(LIGHT).encode()), Message("z/k", b'{"state": "ON"}')]
    sensor = check_sensor(HomeAssistant, told, "light.k", FIXED_NOW)
    assert sensor.refused


def test_twins_keep_the_contract() -> None:
    told = [Message("$hw/events/device/default/lamp/twin/get/result", json.dumps(TWIN).encode())]
    sensor = check_sensor(
        lambda: Twins([Named("default/lamp", "lamp", "hall", "lamp")]), told, "default/lamp", FIXED_NOW
    )
    assert sensor.things["default/lamp"].reads == {"temperature"}
    assert sensor.refused


class Gullible(ScriptedSensor):
    """Believes whatever it is told of itself."""

    def take(self, message: Message, at: dt.datetime) -> tuple[Observation, ...]:
        return (Observation("lamp", "is_on", message.payload == b"on", at),)


class Toggling(ScriptedSensor):
    """Orders the opposite every time."""

    _is_on = False

    def order(
        self, thing: str, wanted: Mapping[str, bool | float], known: Mapping[str, Reading]
    ) -> tuple[Message, ...]:
        super().order(thing, wanted, known)
        self._is_on = not self._is_on
        return (Message("scripted/lamp/set", b"on" if self._is_on else b"off"),)


class Lasting(ScriptedSensor):
    """Orders that the broker keeps."""

    def order(
        self, thing: str, wanted: Mapping[str, bool | float], known: Mapping[str, Reading]
    ) -> tuple[Message, ...]:
        return tuple(Message(one.topic, one.payload, True) for one in super().order(thing, wanted, known))


@pytest.mark.parametrize("make", [Gullible, Toggling, Lasting])
def test_one_that_does_not_keep_it_is_found(make: type[ScriptedSensor]) -> None:
    with pytest.raises(AssertionError):
        check_sensor(make, [Message("scripted/lamp", b"on")], "lamp", FIXED_NOW)
