"""Home Assistant's MQTT discovery: devices that announce themselves on `homeassistant/COMPONENT/…/config`.

Covered: lights (plain and JSON), switches, fans, climate and numbers that set a temperature, covers, locks, sensors and
binary sensors; availability; announcements that are retained, replaced and withdrawn; names that collide (both stay, by
their ids); an order topic that two different devices claim (no orders are sent to either, unless the owner named one of
them in `[[home.device]]`); floods (at most `MAX_THINGS`, of `MAX_TOPICS` topics); states too long or garbled. Not
covered: a broker on which a stranger may replace another device's announcement or answer for it: give each device its
own topics there (access lists); colours, presets, tilt, options.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pydantic import ValidationError

from hearth.errors import NotFound, ToolError
from hearth.protocols import SETTABLE, Message, Observation, Reading, Thing
from hearth_home.discovery_messages import (
    COMPONENTS,
    WHOLE,
    Absent,
    Announced,
    NoValue,
    ValueTemplate,
    order_text,
    things_in,
)

MAX_THINGS = 500
MAX_TOPICS = 2_000
MAX_STATE_BYTES = 8_000
MAX_TEXT_CHARS = 64
N_REFUSED_KEPT = 50
_PART = re.compile(r"[A-Za-z0-9_-]{1,64}")
_DOORS = frozenset({"garage", "gate", "door"})
_WORDS = {"true": True, "false": False}
_QUANTITIES = {"battery": "battery level", "carbon_dioxide": "carbon dioxide", "pm25": "fine dust", "": "reading"}


@dataclass(frozen=True, slots=True)
class _Reads:
    """Rule for reading one value of a device from a topic."""

    topic: str
    quantity: str
    template: ValueTemplate = WHOLE
    words: Mapping[str, Reading] = field(default_factory=dict)
    """Meanings of the messages; if empty, the value is a number or a few words."""
    low: float = 0.0
    high: float = 0.0
    """Upper end of the range that maps to percent, where it differs from the lower end."""
    unit: str = ""
    is_text: bool = False


@dataclass(frozen=True, slots=True)
class _Known:
    thing: Thing
    said: Announced
    component: str
    reads: tuple[_Reads, ...]


class HomeAssistant:
    """A `protocols.Sensor` for devices that announce themselves."""

    name = "homeassistant"

    def __init__(self, prefix: str = "homeassistant", owned: frozenset[str] = frozenset()) -> None:
        """Listen below `prefix`.

        Args:
            owned: Ids of devices that the owner named: they keep an order topic that another one also claims.
        """
        self._prefix = prefix
        self._owned = owned
        self._known: dict[str, _Known] = {}
        self._reachable: dict[str, dict[str, bool]] = {}
        self._refused: deque[str] = deque(maxlen=N_REFUSED_KEPT)

    @property
    def refused(self) -> tuple[str, ...]:
        return tuple(self._refused)

    @property
    def things(self) -> Mapping[str, Thing]:
        claims = self._claims()
        return {id: _without(one, self._contested(one, claims)) for id, one in self._known.items()}

    def topics(self) -> tuple[str, ...]:
        found = dict.fromkeys((f"{self._prefix}/+/+/config", f"{self._prefix}/+/+/+/config"))
        for one in self._known.values():
            found |= dict.fromkeys(reads.topic for reads in one.reads)
        return tuple(found)[: MAX_TOPICS + 2]

    def asks(self) -> tuple[Message, ...]:
        return ()

    # ── Announcements and states ──────────────────────────────────────────────────────────────────────────

    def take(self, message: Message, at: dt.datetime) -> tuple[Observation, ...]:
        parts = message.topic.split("/")
        prefix = self._prefix.split("/")
        if parts[: len(prefix)] == prefix and parts[-1] == "config" and len(parts) - len(prefix) in (3, 4):
            self._announced(parts[len(prefix) : -1], message)
            return ()
        if len(message.payload) > MAX_STATE_BYTES:
            self._refuse(message.topic, f"{len(message.payload)} bytes; a state has at most {MAX_STATE_BYTES}")
            return ()
        try:
            text = message.payload.decode()
        except UnicodeDecodeError:
            self._refuse(message.topic, "it is not text")
            return ()
        return tuple(
            found
            for id, one in self._known.items()
            for reads in one.reads
            if reads.topic == message.topic and (found := self._observed(id, reads, text, message, at)) is not None
        )

    def _announced(self, parts: list[str], message: Message) -> None:
        component, id = parts[0], f"{parts[0]}.{'_'.join(parts[1:])}"
        if not all(_PART.fullmatch(part) for part in parts):
            self._refuse(message.topic, "its parts are not letters, digits, `_` and `-`")
            return
        if component not in (*COMPONENTS, "device"):
            return  # a kind of device that is not supported is no error
        if not message.payload:
            self._withdraw(id, f"{parts[-1]}_" if component == "device" else "")
            return
        try:
            for platform, thing, said in things_in(component, id, message.payload):
                if platform in COMPONENTS:
                    self._keep(platform, thing, said)
        except ValidationError as error:
            fault = error.errors()[0]
            place = ".".join(map(str, fault["loc"]))[:60]
            why = str(fault["msg"]).removeprefix("Value error, ")
            self._refuse(message.topic, f"{place}: {why}" if place else why)
        except ValueError as error:
            self._refuse(message.topic, str(error))

    def _withdraw(self, id: str, stem: str) -> None:
        """Forget a device, or those announced together, whose announcement was emptied."""
        for known in list(self._known):
            if known == id or (stem and known.partition(".")[2].startswith(stem)):
                del self._known[known]

    def _keep(self, component: str, id: str, said: Announced) -> None:
        if id not in self._known and len(self._known) >= MAX_THINGS:
            raise ValueError(f"{MAX_THINGS} things are known already; more are not taken")
        alike = [known for known, one in self._known.items() if one.said.unique_id == said.unique_id and known != id]
        if said.unique_id and alike:
            raise ValueError(f"its unique_id is that of {alike[0]!r}; the first is kept")
        reads = tuple(_reads_of(component, said))
        settable = frozenset(_settable(component, said))
        told = frozenset(one.quantity for one in reads)
        name, room = _name_of(id, said), said.device.suggested_area
        measured = frozenset(q for q in told if q not in SETTABLE and q not in ("reachable", "moving"))
        thing = Thing(id, name, room, _kind_of(component, said), settable, settable & told, measured)
        if thing.kind == "sensor" and not reads:
            raise ValueError("it tells nothing and nothing can be ordered")
        self._known[id] = _Known(thing, said, component, reads)

    def _observed(self, id: str, reads: _Reads, text: str, message: Message, at: dt.datetime) -> Observation | None:
        try:
            value = _value(reads, reads.template.read(text))
        except NoValue as error:
            if text and not isinstance(error, Absent):
                self._refuse(message.topic, f"{reads.quantity} of {id}: {error}")
            return None
        if reads.quantity == "position" and value == "":
            return None  # on its way: its position is unknown
        if reads.quantity == "reachable":
            told = self._reachable.setdefault(id, {})
            told[reads.topic] = bool(value)
            mode = self._known[id].said.availability_mode
            value = bool(value) if mode == "latest" else all(told.values()) if mode == "all" else any(told.values())
        return Observation(id, reads.quantity, value, at, reads.unit, message.is_retained)

    def _refuse(self, topic: str, why: str) -> None:
        line = " ".join("".join(c if c.isprintable() else " " for c in f"{topic[:100]}: {why}").split())[:300]
        if line not in self._refused:
            self._refused.append(line)

    # ── Orders ────────────────────────────────────────────────────────────────────────────────────────────

    def order(
        self, thing: str, wanted: Mapping[str, bool | float], known: Mapping[str, Reading]
    ) -> tuple[Message, ...]:
        if thing not in self._known:
            raise NotFound(f"no thing {thing!r} has announced itself")
        one = self._known[thing]
        if others := self._contested(one, self._claims()):
            raise ToolError(
                f"{one.thing.name!r} shares an order topic with {', '.join(sorted(others))}, which says it is another "
                f'device, so neither is ordered about; if it is the right one, write mqtt = "{thing}" in its '
                "[[home.device]] in hearth.toml"
            )
        missing = [quantity for quantity in wanted if quantity not in one.thing.settable]
        if missing:
            can = ", ".join(sorted(one.thing.settable)) or "nothing"
            raise ToolError(f"{one.thing.name!r} takes no order for {missing[0]}; it takes {can}")
        return tuple(_orders(one.component, one.said, wanted, known))

    def _claims(self) -> dict[str, set[str]]:
        claims: dict[str, set[str]] = {}
        for id, one in self._known.items():
            for topic in _order_topics(one.said):
                claims.setdefault(topic, set()).add(id)
        return claims

    def _contested(self, one: _Known, claims: Mapping[str, set[str]]) -> set[str]:
        """Return ids of other devices that claim one of its order topics; none for what the owner named."""
        if one.thing.id in self._owned:
            return set()
        sharing = {id for topic in _order_topics(one.said) for id in claims.get(topic, ())} - {one.thing.id}
        own = one.said.device.identifiers
        return {id for id in sharing if not own or self._known[id].said.device.identifiers != own}


def _without(one: _Known, contested: set[str]) -> Thing:
    thing = one.thing
    if not contested:
        return thing
    return Thing(thing.id, thing.name, thing.room, thing.kind, frozenset(), frozenset(), thing.reads)


def _order_topics(said: Announced) -> set[str]:
    topics = (
        *(said.command_topic, said.brightness_command_topic, said.temperature_command_topic),
        *(said.mode_command_topic, said.set_position_topic),
    )
    return {topic for topic in topics if topic}


def _name_of(id: str, said: Announced) -> str:
    own, device = said.name, said.device.name
    if own and device and not own.lower().startswith(device.lower()):
        return f"{device} {own}"
    return own or device or id.partition(".")[2].replace("_", " ").replace("-", " ")


def _kind_of(component: str, said: Announced) -> str:
    if component == "cover":
        return "door" if said.device_class in _DOORS else "blinds"
    if component == "number":
        return "heating" if _sets_temperature(said) else "sensor"
    kinds = {"light": "lamp", "switch": "plug", "fan": "fan", "climate": "heating", "lock": "lock"}
    return kinds.get(component, "sensor")


def _sets_temperature(said: Announced) -> bool:
    return said.device_class == "temperature" and said.unit_of_measurement in ("°C", "C", "")


# ── What each component tells ─────────────────────────────────────────────────────────────────────────────


def _reads_of(component: str, said: Announced) -> Iterator[_Reads]:
    for one in said.available_by:
        words = {one.payload_available: True, one.payload_not_available: False}
        yield _Reads(one.topic, "reachable", one.value_template, words)
    if component == "cover":
        yield from _cover_reads(said)
    elif component == "climate":
        yield from _climate_reads(said)
    elif component == "light":
        yield from _light_reads(said)
    elif said.state_topic:
        yield from _state_reads(component, said)


def _state_reads(component: str, said: Announced) -> Iterator[_Reads]:
    """What a thing with one state tells of it."""
    if component in ("switch", "fan"):
        words = {said.state_on or said.payload_on or "ON": True, said.state_off or said.payload_off or "OFF": False}
        template = said.state_value_template if component == "fan" else said.value_template
        yield _Reads(said.state_topic, "is_on", template, words)
    elif component == "lock":
        words = {said.state_locked: True, said.state_unlocked: False}
        yield _Reads(said.state_topic, "is_locked", said.value_template, words)
    elif component == "number":
        quantity = "set_temperature" if _sets_temperature(said) else _quantity(said)
        yield _Reads(said.state_topic, quantity, said.value_template, unit=said.unit_of_measurement)
    elif component == "sensor":
        is_text = not said.unit_of_measurement and said.device_class in ("", "enum")
        yield _Reads(
            said.state_topic, _quantity(said), said.value_template, unit=said.unit_of_measurement, is_text=is_text
        )
    elif component == "binary_sensor":
        words = {said.payload_on or "ON": True, said.payload_off or "OFF": False}
        yield _Reads(said.state_topic, _quantity(said), said.value_template, words)


def _light_reads(said: Announced) -> Iterator[_Reads]:
    words: dict[str, Reading] = {said.payload_on or "ON": True, said.payload_off or "OFF": False}
    if said.schema_ == "json":
        if said.state_topic:
            yield _Reads(said.state_topic, "is_on", ValueTemplate(True, ("state",)), {"ON": True, "OFF": False})
            if said.brightness:
                template = ValueTemplate(True, ("brightness",))
                yield _Reads(said.state_topic, "brightness", template, high=said.brightness_scale)
        return
    if said.state_topic:
        yield _Reads(said.state_topic, "is_on", said.state_value_template, words)
    if said.brightness_state_topic:
        yield _Reads(
            said.brightness_state_topic, "brightness", said.brightness_value_template, high=said.brightness_scale
        )


def _climate_reads(said: Announced) -> Iterator[_Reads]:
    unit = "°C" if said.temperature_unit != "F" else "°F"
    if said.temperature_state_topic and unit == "°C":
        yield _Reads(said.temperature_state_topic, "set_temperature", said.temperature_state_template, unit=unit)
    if said.current_temperature_topic:
        yield _Reads(said.current_temperature_topic, "temperature", said.current_temperature_template, unit=unit)
    if said.mode_state_topic:
        words: dict[str, Reading] = {mode: mode != "off" for mode in said.modes}
        yield _Reads(said.mode_state_topic, "is_on", said.mode_state_template, words)


def _cover_reads(said: Announced) -> Iterator[_Reads]:
    if said.position_topic:
        low, high = said.position_closed, said.position_open
        yield _Reads(said.position_topic, "position", said.position_template, low=low, high=high)
    if said.state_topic:
        still: dict[str, Reading] = {said.state_open: "", said.state_closed: "", "stopped": ""}
        moving = {**still, said.state_opening: "opening", said.state_closing: "closing"}
        yield _Reads(said.state_topic, "moving", said.value_template, moving)
        if not said.position_topic:
            words: dict[str, Reading] = {
                **still,
                said.state_opening: "",
                said.state_closing: "",
                said.state_open: 100.0,
                said.state_closed: 0.0,
            }
            yield _Reads(said.state_topic, "position", said.value_template, words)


def _quantity(said: Announced) -> str:
    plain = said.device_class.replace("_", " ")
    return _QUANTITIES.get(said.device_class, plain if re.fullmatch(r"[a-z][a-z ]{1,30}", plain) else "reading")


def _value(reads: _Reads, text: str) -> Reading:
    """Extract a reading from a message. Raises: NoValue."""
    if reads.words:
        if text in reads.words:
            return reads.words[text]
        alike = {word.casefold(): value for word, value in reads.words.items()}
        if text.casefold() in alike:
            return alike[text.casefold()]
        known = ", ".join(map(repr, list(reads.words)[:6]))
        raise NoValue(f"{text[:40]!r} is none of {known}")
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if math.isfinite(number) and abs(number) < 1e12:
        if reads.low == reads.high:
            return number
        return round(min(100.0, max(0.0, (number - reads.low) / (reads.high - reads.low) * 100)), 1)
    if reads.is_text and text.strip() and len(text) <= MAX_TEXT_CHARS and text.isprintable():
        return text.strip()
    raise NoValue(f"{text[:40]!r} is not a number")


# ── What each component is ordered with ───────────────────────────────────────────────────────────────────


def _is_dimmable(said: Announced) -> bool:
    return bool(said.brightness_command_topic) or (said.schema_ == "json" and bool(said.brightness))


def _settable(component: str, said: Announced) -> Iterator[str]:
    if component in ("light", "switch", "fan") and said.command_topic:
        yield "is_on"
        if component == "light" and _is_dimmable(said):
            yield "brightness"
    elif component == "lock" and said.command_topic:
        yield "is_locked"
    elif component == "cover" and (said.command_topic or said.set_position_topic):
        yield "position"
    elif component == "number" and said.command_topic and _sets_temperature(said):
        yield "set_temperature"
    elif component == "climate":
        if said.temperature_command_topic and said.temperature_unit != "F":
            yield "set_temperature"
        if said.mode_command_topic and "off" in said.modes and len(said.modes) > 1:
            yield "is_on"


def _orders(
    component: str, said: Announced, wanted: Mapping[str, bool | float], known: Mapping[str, Reading]
) -> Iterator[Message]:
    """Yield the messages that bring a device into the wanted state. Raises: ToolError: Out of its range."""
    if component == "light":
        yield from _light_orders(said, wanted)
    elif component in ("switch", "fan"):
        payload = said.payload_on or "ON" if wanted["is_on"] else said.payload_off or "OFF"
        yield _message(said.command_topic, said.command_template, payload)
    elif component == "lock":
        payload = said.payload_lock if wanted["is_locked"] else said.payload_unlock
        yield _message(said.command_topic, said.command_template, payload)
    elif component == "cover":
        yield _cover_order(said, float(wanted["position"]))
    elif component == "number":
        value = _within(float(wanted["set_temperature"]), said.min, said.max)
        yield _message(said.command_topic, said.command_template, value)
    elif component == "climate":
        is_on = wanted.get("is_on")
        # Setting a temperature switches on a device known to be off, and no other.
        if is_on is not None and not ("set_temperature" in wanted and is_on and known.get("is_on") is not False):
            running = "heat" if "heat" in said.modes else next(mode for mode in said.modes if mode != "off")
            yield _message(said.mode_command_topic, said.mode_command_template, running if is_on else "off")
        if "set_temperature" in wanted:
            value = _within(float(wanted["set_temperature"]), said.min_temp, said.max_temp)
            yield _message(said.temperature_command_topic, said.temperature_command_template, value)


def _light_orders(said: Announced, wanted: Mapping[str, bool | float]) -> Iterator[Message]:
    bright = wanted.get("brightness")
    is_on = bool(wanted.get("is_on", True)) and bright != 0
    if said.schema_ == "json":
        order: dict[str, object] = {"state": "ON" if is_on else "OFF"}
        if is_on and bright is not None:
            order["brightness"] = round(bright / 100 * said.brightness_scale)
        yield Message(said.command_topic, json.dumps(order).encode())
        return
    switch = _message(said.command_topic, "", (said.payload_on or "ON") if is_on else (said.payload_off or "OFF"))
    if not is_on or bright is None:
        yield switch
        return
    level = round(bright / 100 * said.brightness_scale)
    dim = _message(said.brightness_command_topic, said.brightness_command_template, level)
    yield from {"first": (switch, dim), "last": (dim, switch), "brightness": (dim,)}[said.on_command_type]


def _cover_order(said: Announced, position: float) -> Message:
    if position in (0, 100) and said.command_topic:
        payload = said.payload_open if position else said.payload_close
        return _message(said.command_topic, said.command_template, payload)
    if not said.set_position_topic:
        raise ToolError(f"it opens and closes only as a whole, not to {position:g} %; expected 0 or 100")
    place = said.position_closed + position / 100 * (said.position_open - said.position_closed)
    return _message(said.set_position_topic, said.set_position_template, round(place))


def _within(value: float, low: float, high: float) -> float:
    if not low <= value <= high:
        raise ToolError(f"it takes {low:g} to {high:g}, not {value:g}; nothing was sent")
    return value


def _message(topic: str, template: str, value: str | float) -> Message:
    return Message(topic, order_text(template, value).encode())
