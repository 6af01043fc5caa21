"""Reads what another program's tool takes, from the JSON schema that the program gives.

Names, types, options and what is required are read; descriptions are a stranger's text: cleaned and cut. Not covered:
schemas that refer to others, shapes inside objects, limits and patterns; such a parameter takes any value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hearth.errors import ConfigError
from hearth.formats.terminal_text import clean
from hearth.types import Parameter

MAX_DESCRIPTION_CHARACTERS = 300
_TYPES = {"string": "text", "integer": "integer", "number": "number", "boolean": "boolean"}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


def parameters_of(schema: Mapping[str, Any]) -> tuple[Parameter, ...]:
    """Return the parameters that the schema of an object describes. Raises: ConfigError: A plan cannot express it."""
    properties = schema.get("properties", {})
    required = schema.get("required", [])
    if not isinstance(properties, dict) or not isinstance(required, list):
        raise ConfigError("its schema is no schema of an object; it is left out")
    return tuple(_parameter(str(name), one, name in required) for name, one in properties.items())


def one_line(text: str) -> str:
    """Return a stranger's text for one line: no control characters, no line breaks, not long."""
    said = " ".join(clean(text).split())
    return said if len(said) <= MAX_DESCRIPTION_CHARACTERS else f"{said[: MAX_DESCRIPTION_CHARACTERS - 1].rstrip()}…"


def _parameter(name: str, schema: Any, is_required: bool) -> Parameter:
    if not _NAME.fullmatch(name):
        raise ConfigError(f"it takes {clean(name)[:60]!r}, which a plan cannot name; it is left out")
    if not isinstance(schema, dict):
        schema = {}
    values = schema.get("enum")
    enum = tuple(values) if isinstance(values, list) and all(isinstance(v, str) for v in values) else ()
    return Parameter(name, _type(schema), one_line(str(schema.get("description", ""))), is_required, enum=enum)


def _type(schema: Mapping[str, Any]) -> str:
    kind = _kind(schema)
    if kind in _TYPES:
        return _TYPES[kind]
    if kind == "array":
        items = schema.get("items")
        return f"list[{_TYPES.get(_kind(items), 'any') if isinstance(items, dict) else 'any'}]"
    return "any"


def _kind(schema: Mapping[str, Any]) -> str:
    """Return the type that a schema names beside null; empty where it names none, or several."""
    kind = schema.get("type")
    kinds = [one for one in kind if one != "null"] if isinstance(kind, list) else [kind]
    return kinds[0] if len(kinds) == 1 and isinstance(kinds[0], str) else ""
