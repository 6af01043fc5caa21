"""Devices as KubeEdge's device twins: the messages that EventBus and DeviceTwin carry on
`$hw/events/device/NAMESPACE/NAME/…`.

A twin has properties, each with its actual value (`actual`) and its wanted one (`expected`); an order writes
`expected`, and the device's mapper answers with `actual`. A twin tells neither room nor kind: the owner does, in
`[[home.device]]`.

Covered: `twin/get` and its result, `twin/update` with its result and document; keys of fewer than 128 characters of
KubeEdge's alphabet, values of fewer than 512 bytes, both ways; property names as mappers usually give them (`NAMES`).
Not covered: units (`temperature` is taken as degrees Celsius, `humidity` as percent), membership of a node, orders that
the cloud gives meanwhile.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from hearth.errors import NotFound, ToolError
from hearth.protocols import Message, Observation, Reading, Thing

MAX_VALUE_BYTES = 511
MAX_MESSAGE_BYTES = 60_000
MAX_PROPERTIES = 64
N_REFUSED_KEPT = 20
DEVICE = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?/[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
"""`namespace/name`, as Kubernetes names things."""
_KEY = re.compile(r"[A-Za-z0-9\-_.,:/@#]{1,127}")
_TRUE, _FALSE = ("true", "on", "1", "yes", "locked", "open"), ("false", "off", "0", "no", "unlocked", "closed")

NAMES: Mapping[str, str] = {
    "on": "is_on",
    "power": "is_on",
    "switch": "is_on",
    "brightness": "brightness",
    "volume": "volume",
    "target-temperature": "set_temperature",
    "set-temperature": "set_temperature",
    "setpoint": "set_temperature",
    "position": "position",
    "locked": "is_locked",
    "lock": "is_locked",
}
"""Quantity by property, in lower case with `-` for `_`; any other property is a measurement under its own name."""
_UNITS = {"temperature": "°C", "humidity": "%"}
_NUMBERS = frozenset({"brightness", "volume", "set_temperature", "position"})


def _key(text: str) -> str:
    if not _KEY.fullmatch(text):
        raise ValueError(f"the key {text[:40]!r} is not up to 127 letters, digits or -_.,:/@#")
    return text


def _short(text: str) -> str:
    if len(text.encode(errors="replace")) > MAX_VALUE_BYTES:
        raise ValueError(f"a value has {len(text)} characters; a twin's is less than 512 bytes")
    return text


class _Value(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)
    value: Annotated[str, AfterValidator(_short)] | None = None


class _Type(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)
    type: str = Field(default="string", max_length=32)


class _Property(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)
    actual: _Value | None = None
    expected: _Value | None = None
    metadata: _Type | None = None


class _Document(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)
    current: _Property | None = None


class _Twin(BaseModel):
    """The result of `twin/get`."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    twin: dict[Annotated[str, AfterValidator(_key)], _Property | None] = Field(max_length=MAX_PROPERTIES)


class _Changed(BaseModel):
    """`twin/update/document`."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    twin: dict[Annotated[str, AfterValidator(_key)], _Document | None] = Field(max_length=MAX_PROPERTIES)


class _Result(BaseModel):
    """`twin/update/result`, where it is an error."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    code: int = 0
    reason: str = Field(default="", max_length=2_000)


@dataclass(frozen=True, slots=True)
class Named:
    """A twin as the owner names it."""

    device: str
    """`namespace/name`."""
    name: str
    room: str
    kind: str


class Twins:
    """A `protocols.Sensor` for device twins."""

    name = "twins"

    def __init__(self, named: Sequence[Named]) -> None:
        self._named = {one.device: one for one in named}
        self._keys: dict[str, dict[str, str]] = {one.device: {} for one in named}
        """By device: the key of the property for each quantity."""
        self._types: dict[tuple[str, str], str] = {}
        self._refused: deque[str] = deque(maxlen=N_REFUSED_KEPT)

    @property
    def things(self) -> Mapping[str, Thing]:
        found = {}
        for device, named in self._named.items():
            quantities = frozenset(self._keys[device])
            settable = quantities & frozenset(NAMES.values())
            found[device] = Thing(
                *(device, named.name, named.room, named.kind), settable, settable, quantities - settable
            )
        return found

    @property
    def refused(self) -> tuple[str, ...]:
        return tuple(self._refused)

    def topics(self) -> tuple[str, ...]:
        ends = ("get/result", "update/document", "update/result")
        return tuple(f"$hw/events/device/{device}/twin/{end}" for device in self._named for end in ends)

    def asks(self) -> tuple[Message, ...]:
        payload = b'{"event_id": "", "timestamp": 0}'
        return tuple(Message(f"$hw/events/device/{device}/twin/get", payload) for device in self._named)

    def take(self, message: Message, at: dt.datetime) -> tuple[Observation, ...]:
        device, _, end = message.topic.removeprefix("$hw/events/device/").partition("/twin/")
        if device not in self._named or end not in ("get/result", "update/document", "update/result"):
            return ()
        if len(message.payload) > MAX_MESSAGE_BYTES:
            self._refuse(device, f"{len(message.payload)} bytes; a twin's message has at most {MAX_MESSAGE_BYTES}")
            return ()
        try:
            if end == "update/result":
                said = _Result.model_validate_json(message.payload)
                if said.code >= 400:
                    self._refuse(device, f"the order was turned away ({said.code} {_line(said.reason)})")
                return ()
            if end == "get/result":
                properties = _Twin.model_validate_json(message.payload).twin
            else:
                changed = _Changed.model_validate_json(message.payload).twin
                properties = {key: one.current if one else None for key, one in changed.items()}
        except ValidationError as error:
            fault = error.errors()[0]
            place = ".".join(map(str, fault["loc"]))[:60]
            why = _line(str(fault["msg"]).removeprefix("Value error, "))
            self._refuse(device, f"{why} ({place})" if place else why)
            return ()
        found = [self._observed(device, key, one, at) for key, one in properties.items() if one is not None]
        return tuple(one for one in found if one is not None)

    def _observed(self, device: str, key: str, said: _Property, at: dt.datetime) -> Observation | None:
        plain = key.lower().replace("_", "-")
        quantity = NAMES.get(plain, plain.replace("-", " "))
        known = self._keys[device].setdefault(quantity, key)
        if known != key:
            self._refuse(device, f"{known!r} and {key!r} both stand for {quantity!r}; the first is taken")
            return None
        if said.metadata is not None:
            self._types[device, key] = said.metadata.type
        if said.actual is None or said.actual.value is None:
            return None
        value = _read(said.actual.value, quantity, self._types.get((device, key), "string"))
        if value is None:
            self._refuse(device, f"{said.actual.value[:40]!r} is no value of {quantity!r}")
            return None
        return Observation(device, quantity, value, at, _UNITS.get(quantity, ""))

    def order(
        self,
        thing: str,
        wanted: Mapping[str, bool | float],
        known: Mapping[str, Reading],  # noqa: ARG002 - the seam's
    ) -> tuple[Message, ...]:
        if thing not in self._named:
            raise NotFound(f"no twin {thing!r}; there are: {', '.join(self._named) or 'none'}")
        keys = self._keys[thing]
        twin = {}
        for quantity, value in wanted.items():
            if quantity not in keys:
                has = ", ".join(sorted(keys)) or "nothing yet"
                raise ToolError(f"the twin {thing!r} has no property for {quantity!r}; it told of {has}")
            text = str(value).lower() if isinstance(value, bool) else f"{value:.10g}"
            twin[keys[quantity]] = {"expected": {"value": _short(text)}}
        payload = json.dumps({"event_id": "", "timestamp": 0, "twin": twin}).encode()
        return (Message(f"$hw/events/device/{thing}/twin/update", payload),)

    def _refuse(self, device: str, why: str) -> None:
        self._refused.append(f"twin {device}: {why}")


def _read(text: str, quantity: str, type: str) -> Reading | None:
    plain = text.strip().lower()
    if type == "boolean" or quantity in ("is_on", "is_locked"):
        return True if plain in _TRUE else False if plain in _FALSE else None
    try:
        number = float(plain)
    except ValueError:
        number = math.nan
    if math.isfinite(number):
        return number
    is_number = quantity in _NUMBERS or type in ("int", "integer", "float", "double")
    return None if is_number or not text.isprintable() or len(text) > 64 else text.strip()


def _line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:160]
