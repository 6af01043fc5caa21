"""Parse Home Assistant discovery messages: keys in full or abbreviated, each checked; unknown keys are ignored.

Covered: the keys of the components in `COMPONENTS`, their abbreviations, `~` in topics, one device per message or
several (`device` with `components`), sizes and alphabets of names and topics. Not covered: other keys (icons, entity
categories, options), which are ignored.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

# ── Templates ──────────────────────────────────────────────────────────────────────────────────────────
# Read the few Home Assistant templates that Hearth supports, without a template engine: nothing of them is executed.
# Covered, of values: `{{ value }}`, `{{ value_json.a.b }}`, `{{ value_json['a'][0] }}`; then `| float`, `| int`, `|
# round(1)`, `| lower`, `| upper`, `| trim` (`float` and `int` with a number for what is missing), and one `* / + -`
# with a number. Of orders: text with `{{ value }}` in it, which may be `| int`, `| float` or `| round(1)`.
# Not covered, and refused: everything else (conditions, loops, functions, other variables).


MAX_CHARS = 300
_PATH = r"(?:\.[A-Za-z_]\w{0,63}|\[(?:'[^'\]]{1,64}'|\"[^\"\]]{1,64}\"|\d{1,3})\])"
_NUMBER = r"-?\d{1,9}(?:\.\d{1,9})?"
_FILTER = rf"(?:float|int|round|lower|upper|trim)(?:\(\s*(?:{_NUMBER})?\s*\))?"
_VALUE = re.compile(
    rf"\s*\{{\{{-?\s*(?P<source>value(?:_json{_PATH}{{0,8}})?)(?P<before>(?:\s*\|\s*{_FILTER}){{0,6}})"
    rf"(?:\s*(?P<sign>[*/+-])\s*(?P<number>{_NUMBER}))?(?P<after>(?:\s*\|\s*{_FILTER}){{0,6}})\s*-?\}}\}}\s*"
)
_IN_ORDER = re.compile(r"\{\{\s*value\s*(?:\|\s*(int|float|round)\s*(?:\(\s*(\d)?\s*\))?\s*)?\}\}")
_STEP = re.compile(r"(float|int|round|lower|upper|trim)(?:\(\s*(-?[\d.]+)?\s*\))?")
_PART = re.compile(r"\.(\w+)|\['([^']*)'\]|\[\"([^\"]*)\"\]|\[(\d+)\]")


class NoTemplate(ValueError):
    """The template is none of those covered."""


class NoValue(ValueError):
    """The message does not hold what the template takes."""


class Absent(NoValue):
    """The message does not mention this value, which is usual."""


@dataclass(frozen=True, slots=True)
class ValueTemplate:
    """Extracts a value from a message."""

    is_json: bool = False
    path: tuple[str | int, ...] = ()
    steps: tuple[tuple[str, float | None], ...] = ()
    """Names of filters, or `* / + -`, each with its number."""

    def read(self, payload: str) -> str:
        """Return the value as text, as Home Assistant would render it. Raises: NoValue."""
        value: object = payload
        if self.is_json:
            try:
                value = json.loads(payload)
            except (ValueError, RecursionError):
                raise NoValue("it is not JSON") from None
            for part in self.path:
                value = _inside(value, part)
        for name, number in self.steps:
            value = _done(name, number, value)
        if value is None or isinstance(value, dict | list):
            raise NoValue(f"there is no single value at {'.'.join(map(str, self.path)) or 'the top'}")
        return f"{value:.10g}" if isinstance(value, float) else str(value)


WHOLE = ValueTemplate()
"""The template that returns the whole message."""


def value_template(text: str) -> ValueTemplate:
    """Parse a value template. Raises: NoTemplate: It is none of those covered."""
    match = _VALUE.fullmatch(text) if len(text) <= MAX_CHARS else None
    if match is None:
        raise NoTemplate(f"the template {text[:80]!r} is not one Hearth reads (a value, a path into JSON, a number)")
    path = tuple(int(d) if d else (a or b or c) for a, b, c, d in _PART.findall(match["source"]))
    steps = _steps(match["before"])
    if match["sign"]:
        if match["sign"] == "/" and float(match["number"]) == 0:
            raise NoTemplate(f"the template {text[:80]!r} divides by 0")
        steps += ((match["sign"], float(match["number"])),)
    return ValueTemplate(match["source"] != "value", path, steps + _steps(match["after"]))


def order_text(template: str, value: str | float) -> str:
    """Return the message of an order. Raises: NoTemplate: It is none of those covered."""
    if not template:
        return _plain(value)
    rest = _IN_ORDER.sub("", template) if len(template) <= MAX_CHARS else "{{"
    if "{{" in rest or "{%" in rest or "{#" in rest:
        raise NoTemplate(f"the template {template[:80]!r} is not one Hearth writes (text with {{{{ value }}}} in it)")

    def filled(match: re.Match[str]) -> str:
        kind, digits = match[1], int(match[2] or 0)
        if kind is None or isinstance(value, str):
            return _plain(value)
        return (
            str(int(value)) if kind == "int" else f"{float(value)}" if kind == "float" else _plain(round(value, digits))
        )

    return _IN_ORDER.sub(filled, template)


def _plain(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.10g}"


def _steps(text: str) -> tuple[tuple[str, float | None], ...]:
    return tuple((name, float(number) if number else None) for name, number in _STEP.findall(text))


def _inside(value: object, part: str | int) -> object:
    if isinstance(value, dict) and isinstance(part, str) and part in value:
        return value[part]
    if isinstance(value, list) and isinstance(part, int) and part < len(value):
        return value[part]
    raise Absent(f"it holds no {part!r}")


def _done(name: str, number: float | None, value: object) -> object:
    if name in ("lower", "upper", "trim"):
        text = str(value)
        return text.lower() if name == "lower" else text.upper() if name == "upper" else text.strip()
    amount = _number(value)
    if amount is None:
        if name in ("float", "int") and number is not None:
            return number
        raise NoValue(f"{str(value)[:40]!r} is not a number")
    if name == "float":
        return amount
    if name == "int":
        return int(amount)
    if name == "round":
        return round(amount, int(number or 0))
    assert number is not None
    return {"*": amount * number, "/": amount / (number or 1), "+": amount + number, "-": amount - number}[name]


def _number(value: object) -> float | None:
    try:
        amount = float(value) if isinstance(value, int | float | str) else math.nan
    except (ValueError, OverflowError):
        return None
    return amount if math.isfinite(amount) else None


# ── Messages ───────────────────────────────────────────────────────────────────────────────────────────


Component = Literal["light", "switch", "fan", "climate", "number", "cover", "lock", "sensor", "binary_sensor"]
COMPONENTS: tuple[str, ...] = get_args(Component)
MAX_CONFIG_BYTES = 20_000
MAX_COMPONENTS = 60
MAX_LEVELS = 50
"""Largest number of levels in a topic."""
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NAME = re.compile(r"[^\W_][\w '’.,()&/+-]{0,59}")
_TOPIC = re.compile(r"[^#+\0$][^#+\0]{0,255}")

SHORT: Mapping[str, str] = {
    "avty": "availability",
    "avty_mode": "availability_mode",
    "avty_t": "availability_topic",
    "avty_tpl": "availability_template",
    "bri_cmd_t": "brightness_command_topic",
    "bri_cmd_tpl": "brightness_command_template",
    "bri_scl": "brightness_scale",
    "bri_stat_t": "brightness_state_topic",
    "bri_val_tpl": "brightness_value_template",
    "cmd_t": "command_topic",
    "cmd_tpl": "command_template",
    "cmps": "components",
    "curr_temp_t": "current_temperature_topic",
    "curr_temp_tpl": "current_temperature_template",
    "dev": "device",
    "dev_cla": "device_class",
    "ids": "identifiers",
    "max_temp": "max_temp",
    "min_temp": "min_temp",
    "mode_cmd_t": "mode_command_topic",
    "mode_cmd_tpl": "mode_command_template",
    "mode_stat_t": "mode_state_topic",
    "mode_stat_tpl": "mode_state_template",
    "obj_id": "object_id",
    "on_cmd_type": "on_command_type",
    "p": "platform",
    "pl": "payload",
    "pl_avail": "payload_available",
    "pl_cls": "payload_close",
    "pl_lock": "payload_lock",
    "pl_not_avail": "payload_not_available",
    "pl_off": "payload_off",
    "pl_on": "payload_on",
    "pl_open": "payload_open",
    "pl_unlk": "payload_unlock",
    "pos_clsd": "position_closed",
    "pos_open": "position_open",
    "pos_t": "position_topic",
    "pos_tpl": "position_template",
    "sa": "suggested_area",
    "set_pos_t": "set_position_topic",
    "set_pos_tpl": "set_position_template",
    "stat_clsd": "state_closed",
    "stat_closing": "state_closing",
    "stat_locked": "state_locked",
    "stat_off": "state_off",
    "stat_on": "state_on",
    "stat_open": "state_open",
    "stat_opening": "state_opening",
    "stat_t": "state_topic",
    "stat_tpl": "state_template",
    "stat_unlocked": "state_unlocked",
    "stat_val_tpl": "state_value_template",
    "t": "topic",
    "temp_cmd_t": "temperature_command_topic",
    "temp_cmd_tpl": "temperature_command_template",
    "temp_stat_t": "temperature_state_topic",
    "temp_stat_tpl": "temperature_state_template",
    "temp_unit": "temperature_unit",
    "uniq_id": "unique_id",
    "unit_of_meas": "unit_of_measurement",
    "val_tpl": "value_template",
}
"""Full key by abbreviated key, for the keys used here."""


def _topic(text: str) -> str:
    # A broker ends the connection, and with it that of all other devices, over a topic that is no plain text or too
    # deep.
    if text and not (_TOPIC.fullmatch(text) and text.isprintable() and text.count("/") < MAX_LEVELS):
        raise ValueError(
            f"{text[:60]!r} is no topic of one thing (no `+`, `#`, leading `$`, control characters; at most 256 "
            f"characters and {MAX_LEVELS} levels)"
        )
    return text


def _called(text: str) -> str:
    if text and not _NAME.fullmatch(text):
        raise ValueError(f"{text[:60]!r} is no name: up to 60 letters, digits and simple marks")
    return text


def _as_text(value: object) -> object:
    """Return the value as payload text: JSON's `true` and numbers as Home Assistant writes them, null as none."""
    if value is None:
        return ""
    return str(value) if isinstance(value, bool | int | float) else value


def _template(value: object) -> object:
    return value_template(value) if isinstance(value, str) and value else ValueTemplate()


def _order(text: str) -> str:
    order_text(text, 0)
    return text


Topic = Annotated[str, BeforeValidator(_as_text), AfterValidator(_topic)]
Name = Annotated[str, BeforeValidator(_as_text), AfterValidator(_called)]
Payload = Annotated[str, BeforeValidator(_as_text), Field(max_length=100)]
Template = Annotated[ValueTemplate, BeforeValidator(_template)]
OrderTemplate = Annotated[str, BeforeValidator(_as_text), AfterValidator(_order)]
Number = Annotated[float, Field(ge=-1e6, le=1e6, allow_inf_nan=False)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, arbitrary_types_allowed=True)


class Device(_Table):
    name: Name = ""
    identifiers: tuple[str, ...] = ()
    suggested_area: Name = ""

    @model_validator(mode="before")
    @classmethod
    def _one_identifier(cls, given: Any) -> Any:
        if isinstance(given, dict) and isinstance(given.get("identifiers"), str):
            return {**given, "identifiers": [given["identifiers"]]}
        return given


class Available(_Table):
    """A topic that says whether a device can be reached."""

    topic: Topic
    payload_available: Payload = "online"
    payload_not_available: Payload = "offline"
    value_template: Template = ValueTemplate()


class Announced(_Table):
    """An announced device."""

    name: Name = ""
    unique_id: Annotated[str, BeforeValidator(_as_text), Field(max_length=200)] = ""
    device: Device = Device()
    device_class: Annotated[str, BeforeValidator(_as_text), Field(max_length=40)] = ""
    unit_of_measurement: Annotated[str, BeforeValidator(_as_text), Field(max_length=12)] = ""
    schema_: Annotated[str, Field(alias="schema")] = "basic"
    state_topic: Topic = ""
    value_template: Template = ValueTemplate()
    state_value_template: Template = ValueTemplate()
    command_topic: Topic = ""
    command_template: OrderTemplate = ""
    payload_on: Payload = ""
    payload_off: Payload = ""
    state_on: Payload = ""
    state_off: Payload = ""
    brightness: bool = False
    brightness_scale: Annotated[float, Field(gt=0, le=65535)] = 255
    brightness_command_topic: Topic = ""
    brightness_command_template: OrderTemplate = ""
    brightness_state_topic: Topic = ""
    brightness_value_template: Template = ValueTemplate()
    on_command_type: Literal["last", "first", "brightness"] = "last"
    temperature_command_topic: Topic = ""
    temperature_command_template: OrderTemplate = ""
    temperature_state_topic: Topic = ""
    temperature_state_template: Template = ValueTemplate()
    temperature_unit: Literal["C", "F", ""] = ""
    current_temperature_topic: Topic = ""
    current_temperature_template: Template = ValueTemplate()
    min_temp: Number = 5
    max_temp: Number = 35
    mode_command_topic: Topic = ""
    mode_command_template: OrderTemplate = ""
    mode_state_topic: Topic = ""
    mode_state_template: Template = ValueTemplate()
    modes: tuple[Annotated[str, Field(max_length=30)], ...] = ("auto", "off", "cool", "heat", "dry", "fan_only")
    min: Number = 1
    max: Number = 100
    position_topic: Topic = ""
    position_template: Template = ValueTemplate()
    set_position_topic: Topic = ""
    set_position_template: OrderTemplate = ""
    position_open: Number = 100
    position_closed: Number = 0
    payload_open: Payload = "OPEN"
    payload_close: Payload = "CLOSE"
    state_open: Payload = "open"
    state_opening: Payload = "opening"
    state_closed: Payload = "closed"
    state_closing: Payload = "closing"
    payload_lock: Payload = "LOCK"
    payload_unlock: Payload = "UNLOCK"
    state_locked: Payload = "LOCKED"
    state_unlocked: Payload = "UNLOCKED"
    availability: tuple[Available, ...] = Field(default=(), max_length=8)
    availability_mode: Literal["all", "any", "latest"] = "latest"
    availability_topic: Topic = ""
    availability_template: Template = ValueTemplate()
    payload_available: Payload = "online"
    payload_not_available: Payload = "offline"

    @model_validator(mode="after")
    def _is_readable(self) -> Announced:
        if self.schema_ not in ("basic", "default", "json"):
            raise ValueError(f"the schema {self.schema_[:20]!r} is not one Hearth reads (basic, json)")
        if self.position_open == self.position_closed:
            raise ValueError("open and closed are the same position")
        return self

    @property
    def available_by(self) -> tuple[Available, ...]:
        """All topics that say whether the device can be reached."""
        if not self.availability_topic:
            return self.availability
        own = Available(
            topic=self.availability_topic,
            payload_available=self.payload_available,
            payload_not_available=self.payload_not_available,
        ).model_copy(update={"value_template": self.availability_template})
        return (own, *self.availability)


def things_in(component: str, id: str, payload: bytes) -> Iterator[tuple[str, str, Announced]]:
    """Yield component, id and keys of each device that a discovery message announces.

    Args:
        component: Component in the topic; `device` announces several.
    Raises:
        ValueError: It cannot be used; says why (a pydantic ValidationError is one).
    """
    if len(payload) > MAX_CONFIG_BYTES:
        raise ValueError(f"it has {len(payload)} bytes; an announcement has at most {MAX_CONFIG_BYTES}")
    try:
        said = json.loads(payload)
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None
    if not isinstance(said, dict):
        raise ValueError("it is not a JSON object")
    whole = _in_full(said)
    if component != "device":
        yield component, id, Announced.model_validate(whole)
        return
    parts = whole.pop("components", None)
    if not isinstance(parts, dict) or not 0 < len(parts) <= MAX_COMPONENTS:
        raise ValueError(f"it announces a device without components, or more than {MAX_COMPONENTS}")
    for name, part in parts.items():
        if not _ID.fullmatch(name) or not isinstance(part, dict):
            raise ValueError(f"the component {name[:40]!r} has no plain name, or no keys")
        if part := _in_full(part):
            platform = str(part.get("platform", ""))
            yield platform, f"{platform}.{id.partition('.')[2]}_{name}", Announced.model_validate({**whole, **part})


def _in_full(said: Mapping[str, Any]) -> dict[str, Any]:
    """Spell out abbreviated keys, and replace `~` in topics."""
    found = {SHORT.get(key, key): value for key, value in said.items()}
    stem = found.pop("~", "")
    if isinstance(found.get("device"), dict):
        found["device"] = {SHORT.get(key, key): value for key, value in found["device"].items()}
    listed = found.get("availability")
    if isinstance(listed, dict):
        listed = [listed]
    if isinstance(listed, list):
        found["availability"] = [
            {SHORT.get(k, k): _joined(SHORT.get(k, k), v, stem) for k, v in one.items()}
            for one in listed
            if isinstance(one, dict)
        ]
    return {key: _joined(key, value, stem) for key, value in found.items()}


def _joined(key: str, value: Any, stem: Any) -> Any:
    if isinstance(stem, str) and stem and isinstance(value, str) and (key == "topic" or key.endswith("_topic")):
        if value.startswith("~"):
            return stem + value[1:]
        if value.endswith("~"):
            return value[:-1] + stem
    return value
