"""Makes tools of this home of those that MCP servers offer and the owner accepted.

Each is named `SERVER__tool` and sends, whatever its server says of it: it asks before every call, unless the owner
lists it under `reads`. Its description is a stranger's text: cleaned, cut, never more than a description. What an
argument names only the server knows, so rules and questions are about its words as they are sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hearth.config import Settings
from hearth.errors import ConfigError, ToolError
from hearth.protocols import CallContext, Resolver, Tool
from hearth.terminal import clean
from hearth.tools.foreign.accepted_tools import OfferedTool, accepted
from hearth.tools.foreign.mcp_connection import Connection
from hearth.types import Effect, Parameter, Plain, Referent, ToolSpec

MAX_DESCRIPTION_CHARACTERS = 300
_TYPES = {"string": "text", "integer": "integer", "number": "number", "boolean": "boolean"}
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


class ForeignTool:
    """A tool of an MCP server; satisfies `protocols.Tool`."""

    def __init__(self, offered: OfferedTool, connection: Connection) -> None:
        """Make the tool. Raises: ConfigError: A plan cannot express what it takes."""
        self._offered = offered
        self._connection = connection
        effect: Effect = "none" if offered.name in connection.server.reads else "send"
        parameters = _parameters(offered)
        self.spec = ToolSpec(
            name=tool_name(connection.name, offered.name),
            description=_short(offered.description or offered.name) or offered.name,
            parameters=parameters,
            returns="text",
            effect=effect,
            source="web",
            domain=f"MCP: {connection.name}",
            timeout_s=connection.server.timeout_s + 10,
            is_idempotent=False,
            answer="{value}",
            answer_none="It answered nothing.",
        )
        self.resolvers: Mapping[str, Resolver] = {p.name: _as_said for p in parameters if p.is_resolved}

    def call(self, arguments: Mapping[str, object], context: CallContext) -> object:
        """Call it on its server. Raises: ToolError."""
        return self._connection.ask(self._offered, arguments, context.egress, context.cancelled)

    def undo(self, arguments: Mapping[str, object], result: Plain, context: CallContext) -> None:  # noqa: ARG002
        """Raises: ToolError: What another program did cannot be taken back from here."""
        raise ToolError(f"what {self.spec.name!r} did cannot be taken back from here; its server may know how")


def foreign_tools(
    home: Path, settings: Settings, environ: Mapping[str, str]
) -> tuple[tuple[Tool, ...], tuple[str, ...]]:
    """Return the accepted tools of the servers in the settings, and what was left out, with the reason."""
    if not settings.mcp.servers:
        return (), ()
    try:
        kept = accepted(home)
    except ConfigError as error:
        return (), (str(error),)
    tools: dict[str, Tool] = {}
    faults = []
    for name, server in settings.mcp.servers.items():
        if name not in kept:
            faults.append(f"the MCP server {name!r}: look at its tools with `hearth mcp accept {name}`")
        for offered in kept.get(name, ()):
            try:
                tool = ForeignTool(offered, Connection(name, server, environ))
                if tool.spec.name in tools:
                    raise ConfigError(f"another tool is called {tool.spec.name!r}, too")
                tools[tool.spec.name] = tool
            except ConfigError as error:
                faults.append(f"the tool {clean(offered.name)[:60]!r} of the MCP server {name!r}: {error}")
    return tuple(tools.values()), tuple(faults)


def tool_name(server: str, tool: str) -> str:
    """Return the name here of a server's tool. Raises: ConfigError: Nothing of it can be used."""
    said = re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", tool).lower()).strip("_")
    if not said or len(said) > 40:
        raise ConfigError("its name has no letters, or more than 40; it is left out")
    return f"{server}__{said}"


def _parameters(offered: OfferedTool) -> tuple[Parameter, ...]:
    properties = offered.input_schema.get("properties", {})
    required = offered.input_schema.get("required", [])
    if not isinstance(properties, dict) or not isinstance(required, list):
        raise ConfigError("its schema is no schema of an object; it is left out")
    return tuple(_parameter(str(name), schema, name in required) for name, schema in properties.items())


def _parameter(name: str, schema: Any, is_required: bool) -> Parameter:
    if not _PARAMETER.fullmatch(name):
        raise ConfigError(f"it takes {clean(name)[:60]!r}, which a plan cannot name; it is left out")
    if not isinstance(schema, dict):
        schema = {}
    values = schema.get("enum")
    enum = tuple(values) if isinstance(values, list) and all(isinstance(v, str) for v in values) else ()
    plain = Parameter(name, _type(schema), _short(str(schema.get("description", ""))), is_required, enum=enum)
    if not plain.names_a_thing:
        return plain
    return Parameter(name, plain.type, plain.description, is_required, enum=enum, is_sink=True, is_resolved=True)


def _type(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, str) and kind in _TYPES:
        return _TYPES[kind]
    if kind == "array":
        items = schema.get("items")
        inner = items.get("type") if isinstance(items, dict) else None
        return f"list[{_TYPES.get(inner, 'any') if isinstance(inner, str) else 'any'}]"
    return "any"


def _as_said(value: object, context: CallContext, given: Mapping[str, object]) -> Referent | None:  # noqa: ARG001
    """Return the words as the thing: what they name only the server knows."""
    return Referent(value) if isinstance(value, str) else None


def _short(text: str) -> str:
    """A stranger's text for one line: no control characters, no line breaks, not long."""
    said = " ".join(clean(text).split())
    return said if len(said) <= MAX_DESCRIPTION_CHARACTERS else f"{said[: MAX_DESCRIPTION_CHARACTERS - 1].rstrip()}…"
