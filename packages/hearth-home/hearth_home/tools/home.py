"""Tools for lamps, heating, blinds, doors and scenes of the owner's home, addressed by name.

An order to a connected device is given once: these tools are never repeated after a crash (`is_idempotent`), and
undoing one sets the device back to the state it had reported before. Not covered: see `hearth_home.tools.devices`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from hearth.errors import NotFound, ToolError, ToolTimeout
from hearth.formats.tool_signature import LevelOr, Names, Unit, tool
from hearth.language.tokens import folded, stems
from hearth.protocols import CallContext, Resolver
from hearth.types import Plain, Referent, Step
from hearth_home.assistant_states import is_connected
from hearth_home.tools.devices import Ability, Device, Devices, Known, devices_of, scenes_in, state_before

MIN_CELSIUS, MAX_CELSIUS = 5.0, 30.0
Percent = Annotated[float, Unit("percent")]
Level = Annotated[float, Unit("percent"), LevelOr("change")]
Celsius = Annotated[float, Unit("celsius"), LevelOr("change")]
Change = Literal["to", "up_by", "down_by"]
"""`to` sets a level; `up_by` and `down_by` change it by so much."""
ORDER_S = 60.0
"""Time in which a broker is connected to, listened to and answered."""
_SAID = "{name}[ ({room})]: {state}"


@dataclass(frozen=True, slots=True)
class SceneResult:
    """A scene that was started."""

    name: str
    text: str
    devices: list[Device]


def _set_back(arguments: Mapping[str, object], result: Plain, call: CallContext) -> None:  # noqa: ARG001 - the seam's
    """Set connected devices back to their earlier state; what is only written down was undone by the journal."""
    if is_connected(call.settings.get("home", {})):
        with devices_of(call) as devices:
            devices.undo(_devices_in(result))


def _steps_back(result: Plain) -> tuple[Step, ...]:
    """Return the calls that setting the devices of a result back amounts to: an open door is unlocked again."""
    found: list[Step] = []
    for one in _devices_in(result):
        found += _steps_to(str(one.get("id")), str(one.get("kind")), state_before(one))
    return tuple(found)


def _devices_in(result: Plain) -> list[dict[str, Plain]]:
    records = result.get("devices") if isinstance(result, dict) else result
    return [one for one in records if isinstance(one, dict)] if isinstance(records, list) else []


def _changed(devices: Devices, several: Sequence[Known], ability: Ability, change: Change, by: float) -> list[Device]:
    """Set each device up or down from how it is set now, at most to the end of its range. Raises: As `Devices.put`."""
    least, most = (MIN_CELSIUS, MAX_CELSIUS) if ability == "temperature" else (0, 100)
    signed = by if change == "up_by" else -by
    levels = {one.key: round(min(most, max(least, devices.level(one, ability) + signed)), 1) for one in several}
    found: list[Device] = []
    for level in sorted(set(levels.values())):  # those that become alike are told at once
        found += _set(devices, [one for one in several if levels[one.key] == level], ability, level)
    return found


def _set(devices: Devices, several: Sequence[Known], ability: Ability, level: float) -> list[Device]:
    if ability == "brightness":
        return devices.put(several, is_on=level > 0, brightness=level)
    if ability == "temperature":
        return devices.put(several, is_on=True, temperature=level)
    return devices.put(several, volume=level)


def _percent(value: float, what: str) -> float:
    if not 0 <= value <= 100:
        raise ToolError(f"a {what} of {value:g} % is not possible; expected 0 to 100")
    return _of_tenths(value)


def _of_tenths(value: float) -> float:
    """Return a level that devices can take. A finer one is not rounded: a rule was asked about the one that was said.

    Raises:
        ToolError: It is finer than a tenth.
    """
    if abs(value - round(value, 1)) > 1e-9:
        raise ToolError(f"{value:.10g} is finer than a tenth; say {round(value, 1):g}")
    return round(value, 1)


# ── Which ─────────────────────────────────────────────────────────────────────────────────────────────────


def _devices_meant(find: Callable[[Devices, str], Sequence[Known]]) -> Resolver:
    """Make a resolver of words to the devices that `find` finds among those the owner named."""

    def resolve(value: object, call: CallContext, given: Mapping[str, object]) -> tuple[Referent, ...] | None:  # noqa: ARG001
        try:
            devices = Devices(call)  # those that the settings name, without a word to a broker
            return tuple(devices.referent(one) for one in find(devices, str(value)))
        except NotFound:
            if not is_connected(call.settings.get("home", {})):
                raise
            return None  # it may be a device that only the broker knows, and nobody speaks with it before the call

    return resolve


def _able(ability: Ability | None = None) -> Names:
    return Names(_devices_meant(lambda devices, said: devices.meant(said, ability)))


def _doors(devices: Devices, device: str) -> list[Known]:
    """Find the doors of that name: those that can be locked, else those that open by themselves. Raises: NotFound."""
    try:
        return devices.meant(device, "locked")
    except NotFound:
        doors = [one for one in devices.meant(device, "position") if one.kind == "door"]
        if not doors:
            raise
    return doors


def _entrances(devices: Devices, device: str) -> list[Known]:
    """Find the doors of that name to let somebody in at.

    Raises:
        NotFound: None. Ambiguous: One that can be locked and one that opens by itself fit alike; no tool chooses which.
    """
    keys = [key.strip() for key in device.split("\n")]
    by_key = [one for key in keys for one in devices.in_home() if one.key == key and one.kind in ("lock", "door")]
    if len(by_key) == len(keys):
        return by_key
    doors = _doors(devices, device)
    if doors[0].kind == "door":
        return doors
    try:
        others = [one for one in devices.meant(device, "position") if one.kind == "door"]
    except NotFound:
        return doors
    is_exact = any(folded(one.name) in folded(device) for one in doors)
    if not others or (is_exact and not any(folded(one.name) in folded(device) for one in others)):
        return doors
    return devices.chosen([*doors, *others], device)


def _blinds(devices: Devices, device: str) -> list[Known]:
    """Find the blinds of that name. Raises: ToolError: It is a door: only `unlock_door` opens one."""
    blinds = [one for one in devices.meant(device, "position") if one.kind == "blinds"]
    if not blinds:
        raise ToolError(f"{device.strip()[:100]!r} is a door; doors are locked and unlocked")
    return blinds


def _heatings(devices: Devices, device: str) -> list[Known]:
    asked = "all heating" if folded(device).strip() in ("heating", "the heating", "") else device
    return devices.meant(asked, "temperature")


def _scene_meant(scene: object, call: CallContext, given: Mapping[str, object]) -> Referent:  # noqa: ARG001 - a Resolver
    name = _scene(str(scene), call)
    laid_down = scenes_in(call)[name]
    text = "\n".join(f"{device}: {value}" for device, value in laid_down.items())
    set_off: list[Step] = []
    for device, value in laid_down.items():
        for key, kind in _kinds_meant(call, device, value):
            set_off += _steps_to(key, kind, _state_in_scene(device, kind, value))
    return Referent(name, text=text, sets_off=tuple(set_off))


def _kinds_meant(call: CallContext, device: str, value: Plain) -> list[tuple[str, str]]:
    """Return the devices that a scene sets, each by its key, with its kind; one that perhaps only the broker knows as
    anything it may be. Raises: NotFound; Ambiguous."""
    try:
        return [(one.key, one.kind) for one in Devices(call).meant(device)]
    except NotFound:
        if not is_connected(call.settings.get("home", {})):
            raise
        return [(device, kind) for kind in _SETTABLE if kind != "door" or value != "open"]  # no scene opens a door


def _scene(said: str, call: CallContext) -> str:
    """Find the scene of that name. Raises: NotFound."""
    scenes = scenes_in(call)
    asked = stems(said[:200]) - {"the", "scene", "mode", "my"}
    name = said if said in scenes else ""
    name = name or next((one for one in scenes if stems(one) - {"the", "scene", "mode", "my"} == asked), "")
    if not name:
        known = ", ".join(repr(one) for one in scenes) or "none; write one as [home.scene.NAME] in hearth.toml"
        raise NotFound(f"there is no scene {said.strip()[:100]!r}; there is: {known}")
    return name


AnyDevice = Annotated[str, _able()]
Switch = Annotated[str, _able("on")]
Lamp = Annotated[str, _able("brightness")]
Speaker = Annotated[str, _able("volume")]
Heating = Annotated[str, Names(_devices_meant(_heatings))]
Blinds = Annotated[str, Names(_devices_meant(_blinds))]
Door = Annotated[str, Names(_devices_meant(_doors))]
Entrance = Annotated[str, Names(_devices_meant(_entrances))]
Scene = Annotated[str, Names(_scene_meant)]

# ── Tools ─────────────────────────────────────────────────────────────────────────────────────────────────


@tool(answer=_SAID, answer_none="No devices.")
def list_devices(call: CallContext, room: str = "") -> list[Device]:
    """List the lamps, heating, blinds, doors and other devices of the home, with the state of each.

    Args:
        room: Only those in this room.
    Examples:
        what devices do I have
        which lights are on
        what's there to switch in the bedroom
    """
    with devices_of(call) as devices:
        return devices.in_room(room)


@tool(answer=_SAID, answer_none="No such device.")
def device_state(call: CallContext, device: AnyDevice) -> list[Device]:
    """Say whether a device is on, open or locked, how bright, how warm or how loud it is set.

    Args:
        device: Which, as said: its name, or its kind and room (`the bedroom lamp`), or several (`all lights`).
    Examples:
        is the garage door closed
        is the light in the kitchen still on
        what is the heating set to
    """
    with devices_of(call) as devices:
        return [devices.device(one) for one in devices.meant(device)]


@tool(effect="change", answer=_SAID, is_idempotent=False, timeout_s=ORDER_S, undo=_set_back, undo_steps=_steps_back)
def turn_on(call: CallContext, device: Switch) -> list[Device]:
    """Switch a lamp, plug, fan, television, radio or heating on.

    Args:
        device: Which, as said: its name, or its kind and room (`the bedroom lamp`), or several (`all lights`).
    Examples:
        turn on the lights in the hallway
        switch the coffee machine on
        lights on in the kitchen please
    """
    with devices_of(call) as devices:
        return devices.put(devices.meant(device, "on"), is_on=True)


@tool(effect="change", answer=_SAID, is_idempotent=False, timeout_s=ORDER_S, undo=_set_back, undo_steps=_steps_back)
def turn_off(call: CallContext, device: Switch) -> list[Device]:
    """Switch a lamp, plug, fan, television, radio or heating off.

    Args:
        device: Which, as said: its name, or its kind and room (`the bedroom lamp`), or several (`all lights`).
    Examples:
        turn off the lights in the hallway
        switch the telly off
        all lights off
    """
    with devices_of(call) as devices:
        return devices.put(devices.meant(device, "on"), is_on=False)


@tool(effect="change", answer=_SAID, is_idempotent=False, timeout_s=ORDER_S, undo=_set_back, undo_steps=_steps_back)
def set_brightness(call: CallContext, device: Lamp, percent: Level, change: Change = "to") -> list[Device]:
    """Dim or brighten a lamp.

    Args:
        device: Which lamp, as said; several at once too.
        percent: How bright, 0 to 100.
        change: `up_by` or `down_by`: brighter or dimmer by so much than it is now.
    Examples:
        dim the bedroom lamp to twenty percent
        set the living room lights to 60 %
        make the reading lamp half as bright, 50 percent
    """
    value = _percent(percent, "brightness")
    with devices_of(call) as devices:
        meant = devices.meant(device, "brightness")
        if change != "to":
            return _changed(devices, meant, "brightness", change, value)
        return _set(devices, meant, "brightness", value)


@tool(effect="change", answer=_SAID, is_idempotent=False, timeout_s=ORDER_S, undo=_set_back, undo_steps=_steps_back)
def set_temperature(
    call: CallContext, temperature: Celsius, device: Heating = "heating", change: Change = "to"
) -> list[Device]:
    """Set the heating of a room or of the whole home to a temperature.

    Args:
        temperature: How warm, in degrees Celsius.
        device: Which heating, as said (`the heating in the bathroom`, `bedroom`); all of it when not said.
        change: `up_by` or `down_by`: warmer or cooler by so much than it is set now.
    Examples:
        set the heating to 21 degrees
        make it 19 degrees in the bedroom
        turn the radiator in the bathroom up to 23
    """
    if change != "to":
        if not 0 <= temperature <= MAX_CELSIUS - MIN_CELSIUS:
            raise ToolError(
                f"{temperature:g} degrees up or down is no room's; expected 0 to {MAX_CELSIUS - MIN_CELSIUS:g}"
            )
        with devices_of(call) as devices:
            meant = _heatings(devices, device)
            return _changed(devices, meant, "temperature", change, temperature)
    if MIN_CELSIUS <= (celsius := (temperature - 32) / 1.8) <= MAX_CELSIUS < temperature:
        call.notices.append(f"{temperature:g} was read as degrees Fahrenheit.")  # no room is that hot
        temperature = round(celsius, 1)
    if not MIN_CELSIUS <= temperature <= MAX_CELSIUS:
        raise ToolError(f"{temperature:g} °C is not a room's temperature; expected {MIN_CELSIUS:g} to {MAX_CELSIUS:g}")
    with devices_of(call) as devices:
        return _set(devices, _heatings(devices, device), "temperature", _of_tenths(temperature))


@tool(effect="change", answer=_SAID, is_idempotent=False, timeout_s=ORDER_S, undo=_set_back, undo_steps=_steps_back)
def set_volume(call: CallContext, percent: Level, device: Speaker = "speaker", change: Change = "to") -> list[Device]:
    """Make a speaker, radio or television louder or softer.

    Args:
        percent: How loud, 0 to 100.
        device: Which, as said; the speaker when not said.
        change: `up_by` or `down_by`: louder or softer by so much than it is now.
    Examples:
        set the volume to 30 percent
        turn the kitchen radio down to 20 %
        television to fifty percent volume
    """
    value = _percent(percent, "volume")
    with devices_of(call) as devices:
        meant = devices.meant(device, "volume")
        if change != "to":
            return _changed(devices, meant, "volume", change, value)
        return _set(devices, meant, "volume", value)


@tool(effect="change", answer=_SAID, is_idempotent=False, timeout_s=ORDER_S, undo=_set_back, undo_steps=_steps_back)
def open_blinds(call: CallContext, device: Blinds = "blinds", percent: Percent = 100.0) -> list[Device]:
    """Open blinds, shutters or curtains, whole or in part.

    Args:
        device: Which, as said; all blinds when not said.
        percent: How far, 0 to 100.
    Examples:
        open the blinds
        raise the shutters in the bedroom
        open the curtains halfway, 50 percent
    """
    value = _percent(percent, "opening")
    with devices_of(call) as devices:
        return devices.put(_blinds(devices, device), position=value)


@tool(effect="change", answer=_SAID, is_idempotent=False, timeout_s=ORDER_S, undo=_set_back, undo_steps=_steps_back)
def close_blinds(call: CallContext, device: Blinds = "blinds") -> list[Device]:
    """Close blinds, shutters or curtains.

    Args:
        device: Which, as said; all blinds when not said.
    Examples:
        close the blinds
        let the shutters down in the living room
        curtains shut in the bedroom please
    """
    with devices_of(call) as devices:
        return devices.put(_blinds(devices, device), position=0)


@tool(effect="change", answer=_SAID, is_idempotent=False, timeout_s=ORDER_S, undo=_set_back, undo_steps=_steps_back)
def lock_door(call: CallContext, device: Door = "door") -> list[Device]:
    """Lock a door, or close a garage door or gate.

    Args:
        device: Which door, as said.
    Examples:
        lock the front door
        lock up please
        shut the garage door
    """
    with devices_of(call) as devices:
        return _put_doors(devices, _doors(devices, device), is_locked=True)


@tool(effect="send", answer=_SAID, is_idempotent=False, timeout_s=ORDER_S)
def unlock_door(call: CallContext, device: Entrance) -> list[Device]:
    """Unlock a door, or open a garage door or gate, so that people can come in.

    It counts as something that cannot be taken back: who came in, came in.

    Args:
        device: Which door, as said.
    Examples:
        unlock the front door
        open the garage door
        let the plumber in at the back door
    """
    with devices_of(call) as devices:
        return _put_doors(devices, _entrances(devices, device), is_locked=False)


def _put_doors(devices: Devices, doors: Sequence[Known], *, is_locked: bool) -> list[Device]:
    locks = [one for one in doors if one.kind != "door"]
    opening = [one for one in doors if one.kind == "door"]
    done = devices.put(locks, is_locked=is_locked) if locks else []
    return [*done, *(devices.put(opening, position=0 if is_locked else 100) if opening else [])]


@tool(effect="change", answer="{text}", is_idempotent=False, timeout_s=ORDER_S, undo=_set_back, undo_steps=_steps_back)
def start_scene(call: CallContext, scene: Scene) -> SceneResult:
    """Start a scene: several devices set as the owner laid down for an occasion.

    Args:
        scene: Its name, e.g. `movie night`.
    Examples:
        start movie night
        good night scene please
        switch to the breakfast scene
    """
    name = _scene(scene, call)
    done: list[Device] = []
    with devices_of(call) as devices:
        for device, value in scenes_in(call)[name].items():
            try:
                done += _set_in_scene(devices, device, value)
            except ToolError as error:
                if any(one.before for one in done):  # an order that was given cannot be rolled back
                    raise ToolTimeout(f"{_list_said(done)} was set; then: {error}") from None
                raise
    call.notices[:] = dict.fromkeys(call.notices)
    said = _list_said(done)
    return SceneResult(name, f"{name}: {said}" if said else f"{name}: nothing is laid down for it", done)


def _list_said(done: Sequence[Device]) -> str:
    return "; ".join(f"{one.name}{f' ({one.room})' if one.room else ''}: {one.state}" for one in done)


_SCENE_STATES: Mapping[str, Mapping[str, bool | float]] = {
    "on": {"is_on": True},
    "off": {"is_on": False},
    "open": {"position": 100.0},
    "closed": {"position": 0.0},
    "locked": {"is_locked": True},
}
_SCENE_NUMBERS = {"lamp": "brightness", "heating": "temperature", "blinds": "position"}
"""What a number sets of a kind of device; of all others their volume."""


def _set_in_scene(devices: Devices, device: str, value: Plain) -> list[Device]:
    """Set a device in a scene. Raises: ToolError: As `_state_in_scene`, and as `Devices.put`."""
    states = [(one, _state_in_scene(device, one.kind, value)) for one in devices.meant(device)]
    done: list[Device] = []
    while states:  # those that become alike are told at once
        state = states[0][1]
        done += devices.put([one for one, own in states if own == state], **state)
        states = [(one, own) for one, own in states if own != state]
    return done


def _state_in_scene(device: str, kind: str, value: Plain) -> dict[str, bool | float]:
    """Return how a scene sets a device of a kind for `on`, `off`, `open`, `closed`, `locked` or a number. Raises:
    ToolError: It cannot be set so."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        quantity = _SCENE_NUMBERS.get(kind, "volume")
        return {quantity: float(value)} if quantity == "position" else {"is_on": True, quantity: float(value)}
    state = dict(_SCENE_STATES.get(str(value), {}))
    if not state or (kind == "door" and state.get("position")):
        raise ToolError(
            f"the scene sets {device!r} to {value!r}; expected on, off, open, closed, locked or a number, and no door "
            "is opened by a scene"
        )
    return state


def _steps_to(device: str, kind: str, state: Mapping[str, bool | float]) -> tuple[Step, ...]:
    """Return the calls that would set a device of a kind so."""
    found: list[Step] = []
    for quantity, value in state.items():
        if quantity == "is_on":
            found.append(Step("turn_on" if value else "turn_off", {"device": device}))
        elif quantity == "is_locked":
            found.append(Step("lock_door" if value else "unlock_door", {"device": device}))
        elif quantity == "position" and kind == "door":
            found.append(Step("unlock_door" if value else "lock_door", {"device": device}))
        elif quantity in _LEVELS:
            tool_name, parameter = _LEVELS[quantity]
            found.append(Step(tool_name, {"device": device, parameter: float(value)}))
        else:
            found.append(Step("open_blinds", {"device": device, "percent": float(value)}))
            found += [] if value else [Step("close_blinds", {"device": device})]
    return tuple(found)


_LEVELS = {
    "brightness": ("set_brightness", "percent"),
    "temperature": ("set_temperature", "temperature"),
    "set_temperature": ("set_temperature", "temperature"),
    "volume": ("set_volume", "percent"),
}
_SETTABLE = ("lamp", "heating", "blinds", "speaker", "door")
"""Kinds that stand for every way in which a device may be set."""


TOOLS = (
    list_devices,
    device_state,
    turn_on,
    turn_off,
    set_brightness,
    set_temperature,
    set_volume,
    open_blinds,
    close_blinds,
    lock_door,
    unlock_door,
    start_scene,
)
