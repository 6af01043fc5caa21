"""The devices of the owner's home: what `hearth.toml` names under `[home]`, and the state each was left in.

The state is kept in `home/devices.json` in the owner's folder, through the journalled workspace, so that `hearth undo`
takes it back. Nothing is connected: it is what Hearth was told to do, not what a lamp says of itself, and every change
says so. A device is meant by its name, by its kind and room, or by several at once (`all the lights upstairs`).
Not covered: driving devices over the network, and what is switched by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NewType, cast, get_args

from hearth.errors import Ambiguous, NotFound, ToolError
from hearth.protocols import CallContext
from hearth.tools.words import folded, stems
from hearth.types import Entity, Plain

STATE_FILE = "home/devices.json"
NOT_CONNECTED = "Written down only: no device is connected yet, so switch it by hand"

DeviceId = NewType("DeviceId", str)
DeviceKind = Literal["lamp", "plug", "fan", "tv", "speaker", "heating", "blinds", "door", "lock"]
Ability = Literal["on", "brightness", "volume", "temperature", "position", "locked"]

ABILITIES: Mapping[str, tuple[Ability, ...]] = {
    "lamp": ("on", "brightness"),
    "plug": ("on",),
    "fan": ("on",),
    "tv": ("on", "volume"),
    "speaker": ("on", "volume"),
    "heating": ("on", "temperature"),
    "blinds": ("position",),
    "door": ("position",),
    "lock": ("locked",),
}
"""What can be set, by kind; `door` is one that opens by itself (a garage, a gate)."""
_CALLED: Mapping[str, frozenset[str]] = {
    "lamp": frozenset({"lamp", "light", "lighting"}),
    "plug": frozenset({"plug", "socket", "outlet"}),
    "fan": frozenset({"fan", "ventilator"}),
    "tv": frozenset({"tv", "television", "telly", "screen"}),
    "speaker": frozenset({"speaker", "music", "radio", "stereo", "sound"}),
    "heating": frozenset({"heating", "heat", "heater", "radiator", "thermostat", "temperature"}),
    "blinds": frozenset({"blind", "blinds", "shutter", "curtain", "roller"}),
    "door": frozenset({"door", "gate", "garage"}),
    "lock": frozenset({"lock", "door", "gate"}),
}
"""Stems of the words by which a kind is called."""
_SMALL = frozenset(
    re.findall(
        r"\w+", "the my our a an all every both of in on at to up down for please and only everywhere house home"
    )
)
_SEVERAL = frozenset({"all", "every", "both", "everything", "everywhere", "lights", "lamps", "blinds", "shutters"})
_MANY = frozenset({"everything", "thing", "device"})
_MAX_CHARS = 200


@dataclass(frozen=True, slots=True)
class Device:
    id: DeviceId
    name: str
    room: str
    kind: str
    state: str
    """In words; `not known` before it was first set."""


@dataclass(frozen=True, slots=True)
class Known:
    """A device as the settings name it."""

    name: str
    room: str
    kind: str

    @property
    def key(self) -> str:
        return f"{self.room}/{self.name}" if self.room else self.name

    @property
    def said(self) -> str:
        return f"{self.name} ({self.room})" if self.room else self.name


class Devices:
    """The devices of a home and their states, for one call."""

    def __init__(self, call: CallContext) -> None:
        """Raises: ToolError: None are named in the settings, or their states cannot be read."""
        self._call = call
        self._all = _named_in(call.settings.get("home", {}))
        if not self._all:
            raise NotFound(
                "no devices of your home are set up; name each under [[home.device]] in hearth.toml, e.g. "
                'name = "ceiling lamp", room = "kitchen", kind = "lamp"'
            )
        self._states = self._read()

    # ── Which ─────────────────────────────────────────────────────────────────────────────────────────────

    def in_room(self, room: str) -> list[Device]:
        """Those of a room, or all. Raises: NotFound: names the rooms."""
        asked = stems(room[:_MAX_CHARS]) - _SMALL
        found = [one for one in self._all if not asked or asked <= stems(one.room)]
        if not found:
            rooms = sorted({one.room for one in self._all if one.room})
            raise NotFound(f"there are no devices in {room.strip()[:100]!r}; there are some in {_and(rooms)}")
        return [self.device(one) for one in found]

    def meant(self, said: str, ability: Ability | None = None) -> list[Known]:
        """The devices that words mean, of those that can be set that way.

        Raises:
            NotFound: None; names what there is. Ambiguous: One was meant and several fit.
        """
        words = re.findall(r"\w+", folded(said[:_MAX_CHARS]))
        able = [one for one in self._all if ability is None or ability in ABILITIES[one.kind]]
        asked = stems(said[:_MAX_CHARS]) - _SMALL
        exact = [one for one in able if stems(one.name) == asked or stems(f"{one.room} {one.name}") == asked]
        if len(exact) == 1:
            return exact
        fitting = [one for one in able if _fits(one, asked)]
        if len(fitting) <= 1 or _SEVERAL & set(words) or asked <= _MANY:
            if fitting:
                return fitting
            raise NotFound(self._none(said, able, ability))
        names = "; ".join(one.said for one in fitting[:10])
        raise Ambiguous(f"{len(fitting)} devices fit {said.strip()[:100]!r}: {names}; say which one, or `all`")

    def _none(self, said: str, able: Sequence[Known], ability: Ability | None) -> str:
        if not able:
            return f"none of the devices can do that; there are {_and([one.said for one in self._all[:10]])}"
        others = [one for one in self._all if _fits(one, stems(said) - _SMALL)]
        if ability is not None and others:
            can = ", ".join(ABILITIES[others[0].kind])
            return f"{others[0].said} cannot be set that way; of a {others[0].kind} there is: {can}"
        return f"no device is called {said.strip()[:100]!r}; there are {_and([one.said for one in able[:10]])}"

    # ── What state ────────────────────────────────────────────────────────────────────────────────────────

    def device(self, one: Known) -> Device:
        return Device(DeviceId(one.key), one.name, one.room, one.kind, _in_words(self._states.get(one.key, {})))

    def put(self, several: Collection[Known], **state: bool | float) -> list[Device]:
        """Write down a new state of each, what is not given stays, and say that nothing is connected."""
        for one in several:
            self._states[one.key] = {**self._states.get(one.key, {}), **state}
        data = json.dumps(self._states, ensure_ascii=False, indent=1, sort_keys=True)
        self._call.workspace.write(STATE_FILE, f"{data}\n".encode())
        self._call.notices.append(NOT_CONNECTED)
        return [self.device(one) for one in several]

    def _read(self) -> dict[str, dict[str, Plain]]:
        if not self._call.workspace.exists(STATE_FILE):
            return {}
        try:
            states = json.loads(self._call.workspace.read(STATE_FILE))
            if isinstance(states, dict) and all(isinstance(one, dict) for one in states.values()):
                return cast("dict[str, dict[str, Plain]]", states)
        except (ValueError, RecursionError):
            pass
        raise ToolError(f"{STATE_FILE} holds no states of devices; mend it, or delete it to begin anew")


def scenes_in(call: CallContext) -> Mapping[str, Mapping[str, Plain]]:
    """The scenes the settings name, by name."""
    scenes = call.settings.get("home", {}).get("scene", {})
    return cast("Mapping[str, Mapping[str, Plain]]", scenes) if isinstance(scenes, dict) else {}


def entities(settings: Mapping[str, Plain]) -> tuple[Entity, ...]:
    """Rooms and devices by name, for planners."""
    known = _named_in(settings)
    rooms = dict.fromkeys(one.room for one in known if one.room)
    names = dict.fromkeys(one.name for one in known)
    return (*(Entity(room, "room") for room in rooms), *(Entity(name, "device") for name in names))


def _named_in(settings: Mapping[str, Plain]) -> list[Known]:
    given = settings.get("device", [])
    found = []
    for one in given if isinstance(given, list | tuple) else []:
        if isinstance(one, Mapping) and one.get("name") and one.get("kind") in get_args(DeviceKind):
            found.append(Known(str(one["name"]), str(one.get("room") or ""), str(one["kind"])))
    return found


def _fits(one: Known, asked: Collection[str]) -> bool:
    """Whether every word is of its name, its room or its kind, and not all are of the room alone."""
    name, room = stems(one.name), stems(one.room)
    if not asked:
        return False
    if set(asked) <= _MANY | room and set(asked) & _MANY:
        return True
    return set(asked) <= name | room | _CALLED[one.kind]


def _in_words(state: Mapping[str, Plain]) -> str:
    """`on, 40 % bright`."""
    parts: list[str] = []
    if "is_on" in state:
        parts.append("on" if state["is_on"] else "off")
    if "is_locked" in state:
        parts.append("locked" if state["is_locked"] else "unlocked")
    if isinstance(place := state.get("position"), int | float):
        parts.append("open" if place >= 100 else "closed" if place <= 0 else f"{place:g} % open")
    if parts[:1] != ["off"]:
        for key, form in (("brightness", "{:g} % bright"), ("volume", "volume {:g} %"), ("temperature", "{:g} °C")):
            if isinstance(number := state.get(key), int | float):
                parts.append(form.format(number))
    return ", ".join(parts) or "not known"


def _and(items: Sequence[str]) -> str:
    return ", ".join(items[:-1]) + f" and {items[-1]}" if len(items) > 1 else "".join(items)
