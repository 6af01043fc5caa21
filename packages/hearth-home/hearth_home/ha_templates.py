"""Read the few Home Assistant templates that Hearth supports, without a template engine: nothing of them is executed.

Covered, of values: `{{ value }}`, `{{ value_json.a.b }}`, `{{ value_json['a'][0] }}`; then `| float`, `| int`,
`| round(1)`, `| lower`, `| upper`, `| trim` (`float` and `int` with a number for what is missing), and one `* / + -`
with a number. Of orders: text with `{{ value }}` in it, which may be `| int`, `| float` or `| round(1)`.
Not covered, and refused: everything else (conditions, loops, functions, other variables).
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass

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
