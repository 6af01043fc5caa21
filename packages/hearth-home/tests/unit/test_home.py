"""Devices of the home: which is meant, what can be set, what is written down, and which doors ask."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hearth.config import parse_settings
from hearth.errors import Ambiguous, ConfigError, NotFound, ToolError
from hearth.guard.policy.rules import Policy, Rule
from hearth.protocols import CallContext
from hearth.testing import InMemoryWorkspace, check_tool, make_call
from hearth.types import Plain
from hearth_home.tools.devices import NOT_CONNECTED, STATE_FILE, entities
from hearth_home.tools.home import (
    TOOLS,
    close_blinds,
    device_state,
    list_devices,
    lock_door,
    open_blinds,
    set_brightness,
    set_temperature,
    set_volume,
    start_scene,
    turn_off,
    turn_on,
    unlock_door,
)

DEVICES = [
    {"name": "ceiling lamp", "room": "kitchen", "kind": "lamp"},
    {"name": "reading lamp", "room": "living room", "kind": "lamp"},
    {"name": "floor lamp", "room": "living room", "kind": "lamp"},
    {"name": "coffee machine", "room": "kitchen", "kind": "plug"},
    {"name": "radiator", "room": "bathroom", "kind": "heating"},
    {"name": "radiator", "room": "living room", "kind": "heating"},
    {"name": "radio", "room": "kitchen", "kind": "speaker"},
    {"name": "shutters", "room": "living room", "kind": "blinds"},
    {"name": "front door", "room": "hall", "kind": "lock"},
    {"name": "garage door", "room": "garage", "kind": "door"},
]
SCENE = {"movie night": {"floor lamp": 20, "ceiling lamp": "off", "shutters": "closed", "front door": "locked"}}


@pytest.fixture
def call() -> CallContext:
    return make_call(settings={"home": {"device": DEVICES, "scene": SCENE}})  # type: ignore[dict-item]


def state(call: CallContext) -> Any:
    return json.loads(call.workspace.read(STATE_FILE))


def names(found: Any) -> list[str]:
    return [f"{one.room}/{one.name}" for one in found]


ARGUMENTS: Mapping[str, Mapping[str, object]] = {
    "list_devices": {"room": "kitchen"},
    "set_brightness": {"device": "floor lamp", "percent": 40},
    "set_temperature": {"temperature": 21, "device": "bathroom"},
    "set_volume": {"device": "kitchen radio", "percent": 20},
    "open_blinds": {"device": "shutters", "percent": 50},
    "close_blinds": {},
    "lock_door": {"device": "front door"},
    "unlock_door": {"device": "front door"},
    "start_scene": {"scene": "movie night"},
}


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: str(tool.spec.name))
def test_the_contract(tool: Any, call: CallContext) -> None:
    arguments = ARGUMENTS.get(tool.spec.name, {"device": "kitchen lamp"})
    check_tool(tool, arguments, call)
    assert tool.spec.domain == "home"


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("ceiling lamp", ["kitchen/ceiling lamp"]),
        ("the kitchen light", ["kitchen/ceiling lamp"]),
        ("lights in the living room", ["living room/reading lamp", "living room/floor lamp"]),
        ("all lights", ["kitchen/ceiling lamp", "living room/reading lamp", "living room/floor lamp"]),
        ("Floor Lamp", ["living room/floor lamp"]),
        ("everything in the kitchen", ["kitchen/ceiling lamp", "kitchen/coffee machine", "kitchen/radio"]),
        ("radio", ["kitchen/radio"]),
    ],
)
def test_which_device_is_meant(call: CallContext, said: str, meant: list[str]) -> None:
    assert names(turn_on(call, said)) == meant


def test_one_of_several_is_asked_about(call: CallContext) -> None:
    with pytest.raises(Ambiguous, match="reading lamp"):
        turn_off(call, "lamp")
    assert not call.workspace.exists(STATE_FILE)


def test_who_says_door_is_asked_which_of_two_to_open(call: CallContext) -> None:
    with pytest.raises(Ambiguous, match=r"front door .*garage door"):
        unlock_door(call, "the door")
    assert not call.workspace.exists(STATE_FILE)
    assert [one.state for one in lock_door(call, "the door")] == ["locked"]
    assert names(unlock_door(call, "front door")) == ["hall/front door"]
    assert [one.state for one in unlock_door(call, "all doors")] == ["unlocked", "open"]
    assert names(unlock_door(call, "hall/front door\ngarage/garage door")) == ["hall/front door", "garage/garage door"]


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        (turn_on, {"device": "toaster"}, "no device is called 'toaster'"),
        (turn_on, {"device": "front door"}, "cannot be set that way"),
        (set_brightness, {"device": "floor lamp", "percent": 120}, "expected 0 to 100"),
        (set_temperature, {"temperature": 95}, "expected 5 to 30"),
        (set_temperature, {"temperature": 22.99}, "finer than a tenth; say 23"),
        (set_brightness, {"device": "floor lamp", "percent": 49.9999}, "finer than a tenth; say 50"),
        (set_volume, {"device": "floor lamp", "percent": 10}, "cannot be set that way"),
        (open_blinds, {"device": "garage door"}, "is a door"),
        (list_devices, {"room": "attic"}, "there are some in"),
        (start_scene, {"scene": "party"}, "'movie night'"),
        (unlock_door, {"device": "shutters"}, "cannot be set that way"),
    ],
)
def test_what_cannot_be_done_says_why(call: CallContext, tool: Any, arguments: Mapping[str, object], told: str) -> None:
    with pytest.raises(ToolError, match=told):
        tool.call(arguments, call)
    assert not call.workspace.exists(STATE_FILE)


def test_what_no_room_is_as_hot_as_is_read_in_fahrenheit(call: CallContext) -> None:
    assert {one.state for one in set_temperature(call, 68)} == {"on, 20 °C"}
    assert any("Fahrenheit" in notice for notice in call.notices)


def test_states_are_kept_and_told(call: CallContext) -> None:
    assert device_state(call, "floor lamp")[0].state == "not known"
    assert set_brightness(call, "floor lamp", 40)[0].state == "on, 40 % bright"
    assert turn_off(call, "floor lamp")[0].state == "off"
    assert turn_on(call, "floor lamp")[0].state == "on, 40 % bright"
    assert [one.state for one in set_temperature(call, 21)] == ["on, 21 °C", "on, 21 °C"]
    assert open_blinds(call, percent=30)[0].state == "30 % open"
    assert close_blinds(call)[0].state == "closed"
    assert lock_door(call, "front door")[0].state == "locked"
    assert unlock_door(call, "garage door")[0].state == "open"
    assert lock_door(call, "garage door")[0].state == "closed"
    assert state(call)["living room/floor lamp"] == {"is_on": True, "brightness": 40}


def test_a_level_is_changed_from_what_it_is(call: CallContext) -> None:
    set_temperature(call, 21)
    assert [one.state for one in set_temperature(call, 2, change="up_by")] == ["on, 23 °C", "on, 23 °C"]
    assert {one.state for one in set_temperature(call, 20, change="down_by")} == {"on, 5 °C"}, "the end of the range"
    set_brightness(call, "floor lamp", 30)
    assert set_brightness(call, "floor lamp", 20, change="up_by")[0].state == "on, 50 % bright"
    assert set_brightness(call, "floor lamp", 100, change="down_by")[0].state == "off"
    set_volume(call, 35, "radio")
    assert set_volume(call, 10, "radio", change="down_by")[0].state == "volume 25 %"


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        (set_volume, {"device": "radio", "percent": 10, "change": "up_by"}, "how loud .* is not known"),
        (set_brightness, {"device": "floor lamp", "percent": 10, "change": "down_by"}, "say to how many percent"),
        (set_temperature, {"temperature": 2, "change": "up_by"}, "say to how many degrees"),
        (set_temperature, {"temperature": 40, "change": "up_by"}, "expected 0 to 25"),
    ],
)
def test_a_level_that_nobody_knows_is_not_changed_by_some(
    call: CallContext, tool: Any, arguments: Mapping[str, object], told: str
) -> None:
    with pytest.raises(ToolError, match=told):
        tool.call(arguments, call)
    assert not call.workspace.exists(STATE_FILE)


def test_it_is_said_that_nothing_is_connected(call: CallContext) -> None:
    turn_on(call, "floor lamp")
    start_scene(call, "movie night")
    assert set(call.notices) == {NOT_CONNECTED}
    device_state(call, "floor lamp")
    assert len(call.notices) == 1


def test_a_scene_sets_what_was_laid_down(call: CallContext) -> None:
    assert start_scene(call, "the movie night scene").name == "movie night"
    assert state(call) == {
        "living room/floor lamp": {"is_on": True, "brightness": 20},
        "kitchen/ceiling lamp": {"is_on": False},
        "living room/shutters": {"position": 0},
        "hall/front door": {"is_locked": True},
    }


@pytest.mark.parametrize("value", ["open", "unlocked", "purple", True])
def test_no_scene_opens_a_door(value: object) -> None:
    scene = {"visitors": {"garage door": value}}
    call = make_call(settings={"home": {"device": DEVICES, "scene": scene}})  # type: ignore[dict-item]
    with pytest.raises(ToolError, match="no door is opened by a scene"):
        start_scene(call, "visitors")


def test_unlocking_asks_and_a_rule_of_the_owners_may_allow_it() -> None:
    specs = {tool.spec.name: tool.spec for tool in TOOLS}
    unlock = specs["unlock_door"]
    assert unlock.effect == "send"
    assert Policy().rule_tool(unlock).verdict == "ask"
    assert Policy({"unlock_door": Rule("allow")}).rule_tool(unlock).verdict == "allow"
    assert Policy({"unlock_door": Rule("deny")}).rule_tool(unlock).verdict == "deny"
    assert Policy().rule_tool(specs["device_state"]).verdict == "allow"


def test_without_devices_it_says_how_to_name_them() -> None:
    with pytest.raises(NotFound, match=r"\[\[home.device\]\]"):
        turn_on(make_call(), "lamp")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 3}', "[" * 5000])
def test_a_spoilt_state_file_is_named_and_left_alone(text: str) -> None:
    workspace = InMemoryWorkspace({STATE_FILE: text})
    call = make_call(settings={"home": {"device": DEVICES}}, workspace=workspace)  # type: ignore[dict-item]
    with pytest.raises(ToolError, match="mend it, or delete it"):
        turn_on(call, "floor lamp")
    assert workspace.read(STATE_FILE) == text.encode()


def test_settings_name_devices_and_scenes() -> None:
    text = (
        '[[home.device]]\nname = "floor lamp"\nroom = "den"\nkind = "lamp"\n[home.scene.evening]\n"floor lamp" = 30\n'
    )
    settings = parse_settings(text, Path("hearth.toml"))
    call = make_call(settings=settings.for_tools({}))
    started = start_scene(call, "evening")
    assert (started.name, started.text) == ("evening", "evening: floor lamp (den): on, 30 % bright")
    assert [(one.name, one.kind) for one in entities(settings.for_tools({})["home"])] == [
        ("den", "room"),
        ("floor lamp", "device"),
        ("evening", "scene"),
    ]


def test_the_only_device_that_can_get_louder_is_meant_where_none_is_said() -> None:
    devices: list[Plain] = [{"name": "telly", "room": "den", "kind": "tv"}]
    settings: dict[str, dict[str, Plain]] = {"home": {"device": devices}}
    assert [one.name for one in set_volume(make_call(settings=settings), 20)] == ["telly"]
    with pytest.raises(ToolError, match="no device is called 'radio'"):
        set_volume(make_call(settings=settings), 20, "radio")
    devices.append({"name": "box", "room": "den", "kind": "tv"})
    with pytest.raises(ToolError, match="no device is called 'speaker'"):
        set_volume(make_call(settings=settings), 20)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[[home.device]]\nname = "x"\nkind = "rocket"\n', "kind"),
        ('[[home.device]]\nkind = "lamp"\n', "missing"),
        ('[[home.device]]\nname = "x"\nkind = "lamp"\n[[home.device]]\nname = "X"\nkind = "plug"\n', "twice"),
    ],
)
def test_settings_that_are_wrong_are_named(text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        parse_settings(text, Path("hearth.toml"))


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: str(tool.spec.name))
def test_an_order_is_never_given_twice_and_can_be_taken_back_but_for_a_door(tool: Any) -> None:
    changes = tool.spec.effect != "none"
    assert tool.spec.is_idempotent is not changes, "after a crash it is reported, not repeated"
    assert tool.spec.n_retries == 0 or not changes
    assert (tool._undo is not None) == (tool.spec.effect == "change")


@pytest.mark.parametrize(
    ("kind", "before", "steps"),
    [
        ("lock", {"is_locked": False}, [("unlock_door", {"device": "d"})]),
        ("lock", {"is_locked": True}, [("lock_door", {"device": "d"})]),
        ("door", {"position": 30.0}, [("unlock_door", {"device": "d"})]),
        ("door", {"position": 0}, [("lock_door", {"device": "d"})]),
        ("blinds", {"position": 30.0}, [("open_blinds", {"device": "d", "percent": 30.0})]),
        ("lamp", {"is_on": False, "brightness": 40}, [("turn_off", {"device": "d"})]),
        (
            "heating",
            {"is_on": True, "set_temperature": 19.5},
            [("turn_on", {"device": "d"}), ("set_temperature", {"device": "d", "temperature": 19.5})],
        ),
        ("lamp", {}, []),
    ],
)
def test_setting_back_amounts_to_the_calls_that_would_set_it_so(
    kind: str, before: dict[str, Plain], steps: list[tuple[str, dict[str, Plain]]]
) -> None:
    records: Plain = [{"id": "d", "name": "d", "kind": kind, "before": before}]
    for tool, result in ((lock_door, records), (start_scene, {"name": "night", "devices": records})):
        assert [(step.tool, dict(step.arguments)) for step in tool.undo_steps(result)] == steps
