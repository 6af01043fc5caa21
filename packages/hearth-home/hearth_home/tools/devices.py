"""The devices of the owner's home: what `hearth.toml` names under `[home]`, and what speaks where it says they are.

A device that is connected (`[home.mqtt]`, `[home.assistant]`) says itself how it is, and confirms what it is told; what
is set of any other is written down in `home/devices.json` in the owner's folder, through the journalled workspace, so
that `hearth undo` takes it back, and every change says that it is written down only. A device is meant by its name, by
its kind and room, or by several at once (`all the lights upstairs`).

Covered: names from the broker are data: they are compared and shown, never planned with; two devices of one name are
told apart by their ids, and the owner is asked which; a device that does not answer is said not to have answered.
Not covered: what is switched by hand of a device that is not connected.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NewType, cast, get_args

from hearth.errors import Ambiguous, MissingExtraError, NotFound, ToolError, ToolTimeout, TransientToolError
from hearth.language.tokens import folded, stems
from hearth.protocols import CallContext, Observation, Reading, Thing
from hearth.types import Entity, Plain, Referent
from hearth_home.assistant_states import PREFIX, is_connected
from hearth_home.mqtt_broker import settings_of

if TYPE_CHECKING:
    from hearth_home.connected_devices import Connected

STATE_FILE = "home/devices.json"
NOT_CONNECTED = "Written down only: no device is connected yet, so switch it by hand"

DeviceId = NewType("DeviceId", str)
DeviceKind = Literal["lamp", "plug", "fan", "tv", "speaker", "heating", "blinds", "door", "lock", "sensor"]
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
    "sensor": (),
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
    "sensor": frozenset({"sensor"}),
}
"""Stems of the words by which a kind is called."""
_SMALL = frozenset(
    re.findall(
        r"\w+", "the my our a an all every both of in on off at to up down for please and only everywhere house home"
    )
)
_SEVERAL = frozenset({"all", "every", "both", "everything", "everywhere", "lights", "lamps", "blinds", "shutters"})
_MANY = frozenset({"everything", "thing", "device"})
_UNNAMED = {"volume": "speaker"}
"""What a tool takes where no device was said: the only one that can be set so may have another name."""
_MAX_CHARS = 200


@dataclass(frozen=True, slots=True)
class Device:
    id: DeviceId
    name: str
    room: str
    kind: str
    state: str
    """In words; `not known` before it was first set."""
    before: Mapping[str, bool | float] = field(default_factory=dict)
    """Of a connected device that was set: how it was, where it had said so; with it, this can be taken back."""


@dataclass(frozen=True, slots=True)
class Known:
    """A device as the settings name it, or as it announced itself."""

    name: str
    room: str
    kind: str
    thing: str = ""
    """Id of the thing on the broker, or in Home Assistant; empty: not connected."""
    is_named: bool = True
    """The owner named it."""
    reads: frozenset[str] = frozenset()
    """What it measures."""

    @property
    def key(self) -> str:
        if not self.is_named:
            return self.thing
        return f"{self.room}/{self.name}" if self.room else self.name

    @property
    def said(self) -> str:
        return f"{self.name} ({self.room})" if self.room else self.name


@contextlib.contextmanager
def devices_of(call: CallContext) -> Iterator[Devices]:
    """The devices of the home, connected for the block where a broker is configured.

    A broker that cannot be reached leaves those that are not connected as they are, with a notice.

    Raises:
        ToolError: There are none, or their states cannot be read. TransientToolError: Nobody answers who has them.
        EgressError: The broker is not an allowed host.
    """
    home = call.settings.get("home", {})
    with contextlib.ExitStack() as stack:
        found = None
        if is_connected(home):
            try:
                found = stack.enter_context(connected_home(call))
                if found.faults and not _all_of(home, found.things):
                    raise TransientToolError("; ".join(found.faults))
                call.notices.extend(f"Devices that are connected are left out: {fault}" for fault in found.faults)
            except TransientToolError as error:
                if not _all_of(home, {}):  # there are no others
                    raise
                call.notices.append(f"Devices that are connected are left out: {error}")
            except MissingExtraError as error:  # a tool's fault is said as a tool's
                raise ToolError(str(error)) from None
        yield Devices(call, found)


def connected_home(call: CallContext) -> contextlib.AbstractContextManager[Connected]:
    """What is where the settings say. Raises (on entry): As `hearth_home.connected_devices.opened`."""
    from hearth_home.connected_devices import opened  # its checks take 0.1 s to load; most homes have no broker

    zone = call.now.tzinfo
    return opened(
        call.settings.get("home", {}),
        call.egress,
        lambda: dt.datetime.now(zone),
        reason="speak with devices of the home",
        cancelled=call.cancelled,
    )


class Devices:
    """The devices of a home and their states, for one call."""

    def __init__(self, call: CallContext, connected: Connected | None = None) -> None:
        """Raises: ToolError: There are none, or their states cannot be read."""
        self._call = call
        self._connected = connected
        things = connected.things if connected is not None else {}
        self._all = _all_of(call.settings.get("home", {}), things)
        if not self._all:
            raise NotFound(
                "no devices of your home are set up; name each under [[home.device]] in hearth.toml, e.g. "
                'name = "ceiling lamp", room = "kitchen", kind = "lamp"'
            )
        self._states = self._read()

    # ── Which ─────────────────────────────────────────────────────────────────────────────────────────────

    def in_home(self) -> list[Known]:
        return list(self._all)

    def in_room(self, room: str) -> list[Device]:
        """Those of a room, or all. Raises: NotFound: names the rooms."""
        asked = stems(room[:_MAX_CHARS]) - _SMALL
        found = [one for one in self._all if not asked or asked <= stems(one.room)]
        if not found:
            rooms = sorted({one.room for one in self._all if one.room})
            raise NotFound(f"there are no devices in {room.strip()[:100]!r}; there are some in {_and(rooms)}")
        return [self.device(one) for one in found]

    def _by_key(self, said: str, able: list[Known]) -> list[Known]:
        """The devices whose keys these are, one a line; empty where one is none, or is not able."""
        keys = [key.strip() for key in said.split("\n")]
        found = [one for key in keys for one in self._all if one.key == key]
        return found if len(found) == len(keys) and all(one in able for one in found) else []

    def meant(self, said: str, ability: Ability | None = None) -> list[Known]:
        """The devices that words mean, of those that can be set that way.

        Raises:
            NotFound: None; names what there is. Ambiguous: One was meant and several fit.
        """
        able = [one for one in self._all if ability is None or ability in ABILITIES[one.kind]]
        if by_key := self._by_key(said, able):
            return by_key
        asked = stems(said[:_MAX_CHARS]) - _SMALL
        exact = [one for one in able if stems(one.name) == asked or stems(f"{one.room} {one.name}") == asked]
        if len(exact) == 1:
            return exact
        fitting = [one for one in able if _fits(one, asked)]
        if not fitting and len(able) == 1 and said == _UNNAMED.get(ability or ""):
            return able
        if not fitting:
            raise NotFound(self._none(said, able, ability))
        return self.chosen(fitting, said)

    def chosen(self, fitting: list[Known], said: str) -> list[Known]:
        """Those that fit, where one fits or several were meant. Raises: Ambiguous: One was meant."""
        words = re.findall(r"\w+", folded(said[:_MAX_CHARS]))
        if len(fitting) == 1 or _SEVERAL & set(words) or stems(said[:_MAX_CHARS]) - _SMALL <= _MANY:
            return fitting
        alike = len({one.said.casefold() for one in fitting}) < len(fitting)
        names = "; ".join(f"{one.said} [{one.key}]" if alike else one.said for one in fitting[:10])
        raise Ambiguous(f"{len(fitting)} devices fit {said.strip()[:100]!r}: {names}; say which one, or `all`")

    def _none(self, said: str, able: Sequence[Known], ability: Ability | None) -> str:
        if not able:
            return f"none of the devices can do that; there are {_and([one.said for one in self._all[:10]])}"
        others = [one for one in self._all if _fits(one, stems(said) - _SMALL)]
        if ability is not None and others:
            can = ", ".join(ABILITIES[others[0].kind]) or "nothing: it only tells"
            return f"{others[0].said} cannot be set that way; of a {others[0].kind} there is: {can}"
        return f"no device is called {said.strip()[:100]!r}; there are {_and([one.said for one in able[:10]])}"

    def referent(self, one: Known) -> Referent:
        """A device by its key, with the names that rules may give it."""
        names = (one.name, f"{one.room} {one.name}".strip())
        is_sole = sum(other.name.casefold() == one.name.casefold() for other in self._all) == 1
        return Referent(one.key, one.said, spellings=names if is_sole else (), aliases=names)

    # ── What state ────────────────────────────────────────────────────────────────────────────────────────

    def device(self, one: Known, before: Mapping[str, bool | float] | None = None) -> Device:
        if not one.thing:
            state = _in_words(self._states.get(one.key, {}))
        elif self._connected is None:
            state = "not known: out of reach"
        else:
            self._call.origins[one.key] = "sensor"
            state = _as_said(self._connected.states.get(one.thing, {}))
        return Device(DeviceId(one.key), one.name, one.room, one.kind, state, before or {})

    def put(self, several: Collection[Known], **state: bool | float) -> list[Device]:
        """Give each a new state, what is not given stays: connected ones are told so, once, and their word on it is
        waited for; of the others it is written down.

        Raises:
            ToolError: One of them cannot be set so; nothing was sent. TransientToolError: The broker is out of reach.
            ToolTimeout: Not one of those that are connected confirmed it: what became of it is not known.
        """
        written = [one for one in several if not one.thing]
        before = self._tell([one for one in several if one.thing], state)
        for one in written:
            self._states[one.key] = {**self._states.get(one.key, {}), **state}
        if written:
            data = json.dumps(self._states, ensure_ascii=False, indent=1, sort_keys=True)
            self._call.workspace.write(STATE_FILE, f"{data}\n".encode())
            self._call.notices.append(NOT_CONNECTED)
        return [self.device(one, before.get(one.thing)) for one in several]

    def level(self, one: Known, ability: Ability) -> float:
        """Return how bright, loud or warm a device is set.

        Raises:
            ToolError: It is not known: it was never set, or does not say so.
        """
        value: Plain | Reading = self._states.get(one.key, {}).get(ability)
        if one.thing and self._connected is not None:
            said = self._connected.states.get(one.thing, {})
            name = {"temperature": "set_temperature"}.get(ability, ability)
            value = said[name].value if name in said else None
        if isinstance(value, bool) or not isinstance(value, int | float):
            how = {"brightness": "bright", "volume": "loud"}.get(ability, "warm")
            to = "degrees" if ability == "temperature" else "percent"
            raise ToolError(
                f"how {how} {one.said} is set is not known, so it cannot be changed by some; say to how many {to}"
            )
        return float(value)

    def _tell(
        self, several: Collection[Known], state: Mapping[str, bool | float]
    ) -> dict[str, dict[str, bool | float]]:
        """How each was before, where it had said so."""
        if not several:
            return {}
        if self._connected is None:
            raise TransientToolError(
                f"{_and([one.said for one in several])} cannot be reached: what connects it is not there"
            )
        away = [one for one in several if self._connected.known(one.thing).get("reachable") is False]
        if away:
            raise ToolError(f"{_and([one.said for one in away])} is not there, it says itself; nothing was sent")
        things = self._connected.things
        wanted = {
            one.thing: _wanted(state, things[one.thing]) if one.thing in things else dict(_named_so(state))
            for one in several
        }
        confirm_s = settings_of(self._call.settings.get("home", {})).confirm_s
        outcomes = self._connected.order(wanted, confirm_s)
        self._say(several, {thing: outcome for thing, (outcome, _) in outcomes.items()}, confirm_s)
        return {
            thing: {q: v for q, v in before.items() if q in wanted[thing] and not isinstance(v, str)}
            for thing, (_, before) in outcomes.items()
        }

    def _say(self, several: Collection[Known], outcomes: Mapping[str, str], confirm_s: float) -> None:
        """Raises: ToolTimeout."""
        unknown = [one.said for one in several if outcomes[one.thing] == "unknown"]
        silent = [one.said for one in several if outcomes[one.thing] == "silent"]
        if unknown:
            text = f"{_and(unknown)} did not confirm it within {confirm_s:g} s: whether it was done is not known"
            if len(unknown) == len(outcomes):
                raise ToolTimeout(f"the order was sent, but {text}; look before you ask again")
            self._call.notices.append(f"{text[0].upper()}{text[1:]}; look there")
        if silent:
            self._call.notices.append(f"{_and(silent)} was told, and never says whether it did")

    def undo(self, records: Sequence[Mapping[str, Plain]]) -> None:
        """Tell connected devices to become what they were before a call returned these records of them.

        Raises:
            ToolError: One of them had not said how it was, or cannot be reached.
        """
        by_key = {one.key: one for one in self._all}
        changed = [one for one in records if (known := by_key.get(str(one.get("id")))) and known.thing]
        blind = [str(one.get("name")) for one in changed if not one.get("before")]
        for one in changed:
            wanted = state_before(one)
            if wanted and self._connected is not None:
                thing = by_key[str(one["id"])].thing
                outcome, _ = self._connected.order({thing: wanted}, settings_of(self._call.settings["home"]).confirm_s)[
                    thing
                ]
                if outcome == "unknown":
                    blind.append(str(one.get("name")))
            elif one.get("before"):
                blind.append(str(one.get("name")))
        if blind:
            raise ToolError(f"{_and(blind)} could not be set back: how it was, or whether it heard, is not known")

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


def state_before(record: Mapping[str, Plain]) -> dict[str, bool | float]:
    """Return the state that the device of a record is set back to; empty where it had not said how it was."""
    before = record.get("before")
    state = {q: v for q, v in before.items() if isinstance(v, bool | int | float)} if isinstance(before, dict) else {}
    return {"is_on": False} if state.get("is_on") is False else state  # how bright it had been while off is not set


def scenes_in(call: CallContext) -> Mapping[str, Mapping[str, Plain]]:
    """The scenes the settings name, by name."""
    scenes = call.settings.get("home", {}).get("scene", {})
    return cast("Mapping[str, Mapping[str, Plain]]", scenes) if isinstance(scenes, dict) else {}


def entities(settings: Mapping[str, Plain]) -> tuple[Entity, ...]:
    """Rooms, devices and scenes by name, for planners."""
    known = _named_in(settings)
    laid_down = settings.get("scene", {})
    scenes = laid_down if isinstance(laid_down, dict) else {}
    rooms = dict.fromkeys(one.room for one in known if one.room)
    names = dict.fromkeys(one.name for one in known)
    return (
        *(Entity(room, "room") for room in rooms),
        *(Entity(name, "device") for name in names),
        *(Entity(name, "scene") for name in scenes),
    )


def known_devices(call: CallContext) -> tuple[Entity, ...]:
    """Return the home's rooms, devices and scenes, for planners; an entry point of the group `hearth.entities`."""
    return entities(call.settings["home"])


def _all_of(settings: Mapping[str, Plain], things: Mapping[str, Thing]) -> list[Known]:
    """Those the owner named, then what else is on the broker; the owner's own words go before the broker's."""
    found = []
    for one in _named_in(settings):
        thing = things.get(one.thing)
        found.append(Known(one.name, one.room, one.kind, one.thing, True, thing.reads if thing else frozenset()))
    owned = {one.thing for one in found if one.thing}
    finds_others = settings_of(settings).is_discovering
    for id, thing in things.items():
        if id not in owned and (finds_others or id.startswith(PREFIX)):
            found.append(Known(thing.name, thing.room, thing.kind, id, False, thing.reads))
    return found


def _named_in(settings: Mapping[str, Plain]) -> list[Known]:
    given = settings.get("device", [])
    found = []
    for one in given if isinstance(given, list | tuple) else []:
        if isinstance(one, Mapping) and one.get("name") and one.get("kind") in get_args(DeviceKind):
            entity = str(one.get("entity") or "")
            thing = str(one.get("mqtt") or one.get("twin") or (f"{PREFIX}{entity}" if entity else ""))
            found.append(Known(str(one["name"]), str(one.get("room") or ""), str(one["kind"]), thing))
    return found


def _fits(one: Known, asked: Collection[str]) -> bool:
    """Whether every word is of its name, its room or its kind, and not all are of the room alone."""
    name, room = stems(one.name), stems(one.room)
    if not asked:
        return False
    if set(asked) <= _MANY | room and set(asked) & _MANY:
        return True
    measured = frozenset[str]().union(*(stems(quantity) for quantity in one.reads))
    return set(asked) <= name | room | _CALLED[one.kind] | measured


_QUANTITIES = {"temperature": "set_temperature"}


def _named_so(state: Mapping[str, bool | float]) -> Iterator[tuple[str, bool | float]]:
    for key, value in state.items():
        yield _QUANTITIES.get(key, key), value


def _wanted(state: Mapping[str, bool | float], thing: Thing) -> dict[str, bool | float]:
    """What a thing is told of a new state: that it is to be on goes without saying where a warmth or brightness is set
    and it has no switch. A garage door is locked by closing it."""
    wanted = dict(_named_so(state))
    if len(wanted) > 1 and "is_on" in wanted and "is_on" not in thing.settable:
        del wanted["is_on"]
    return wanted


def _as_said(said: Mapping[str, Observation]) -> str:
    """How a thing says it is: `on, 40 % bright, temperature 21.5 °C`."""
    state: dict[str, Plain] = {}
    for quantity, one in said.items():
        if quantity in ("is_on", "is_locked", "position", "brightness", "volume"):
            state[quantity] = one.value
        elif quantity == "set_temperature":
            state["temperature"] = one.value
    parts = [_in_words(state)] if state else []
    if moving := str(said["moving"].value) if "moving" in said else "":
        parts = [moving, *(part for part in parts if "open" not in part and "closed" not in part)]
    for quantity, one in said.items():
        if quantity not in ("reachable", "moving", "set_temperature") and quantity not in state:
            parts.append(reading_in_words(quantity, one.value, one.unit))
    if "reachable" in said and said["reachable"].value is False:
        parts = ["not there, it says itself", *parts]
    return ", ".join(parts) or "not known"


def reading_in_words(quantity: str, value: Reading, unit: str) -> str:
    """`temperature 12.5 °C`, `motion: yes`."""
    if isinstance(value, bool):
        return f"{quantity}: {'yes' if value else 'no'}"
    return f"{quantity} {value}" if isinstance(value, str) else f"{quantity} {value:.4g} {unit}".rstrip()


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
