"""Makes tools of this home of those that MCP servers offer and the owner accepted.

Each is named `SERVER__tool` and sends, whatever its server says of it: it asks before every call, unless the owner
lists it under `reads`. Its description is a stranger's text: cleaned, cut, never more than a description. What an
argument names only the server knows, so rules and questions are about its words as they are sent.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

from hearth.config import Settings
from hearth.errors import ConfigError, ToolError
from hearth.formats.terminal_text import clean
from hearth.protocols import CallContext, Resolver, Tool
from hearth.tools.foreign.accepted_tools import OfferedTool, accepted
from hearth.tools.foreign.json_schemas import one_line, parameters_of
from hearth.tools.foreign.mcp_connection import Connection
from hearth.types import Effect, Parameter, Plain, Referent, ToolSpec


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
            description=one_line(offered.description or offered.name) or offered.name,
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
    """Return what it takes; what names a thing is judged by its words. Raises: ConfigError."""
    plain = parameters_of(offered.input_schema)
    return tuple(replace(p, is_sink=True, is_resolved=True) if p.names_a_thing else p for p in plain)


def _as_said(value: object, context: CallContext, given: Mapping[str, object]) -> Referent | None:  # noqa: ARG001
    """Return the words as the thing: what they name only the server knows. Rules that deny heed them as a path, too,
    without steps up and down, escapes and wide letters."""
    if not isinstance(value, str):
        return None
    plain = unicodedata.normalize("NFKC", unquote(value)).strip().replace("\\", "/")
    return Referent(value, aliases=tuple(dict.fromkeys((plain, posixpath.normpath(plain)))) if plain else ())
