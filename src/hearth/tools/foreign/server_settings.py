"""Writes an MCP server into `hearth.toml`, or takes it out; everything else in the file stays as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from hearth.atomic_files import replacing
from hearth.config import McpServer, parse_settings, read_settings
from hearth.config.toml_text import Value, with_values
from hearth.errors import ConfigError, Conflict, NotFound


def with_server(path: Path, name: str, values: Mapping[str, str | Sequence[str]]) -> tuple[str, McpServer]:
    """Return the settings' text with a table `[mcp.servers.NAME]`, and the server that it names; nothing is written.

    Raises:
        ConfigError: There is one of that name, or the values are wrong.
    """
    before = read_settings(path)
    if name in before.mcp.servers:
        raise ConfigError(f"{path}: there is an MCP server {name!r} already; `hearth mcp remove {name}` takes it out")
    if not values:
        raise ConfigError(f"the MCP server {name!r} has neither a command nor a url; give one of the two")
    placed: dict[tuple[str, ...], Value | None] = {
        ("mcp", "servers", name, key): value for key, value in values.items()
    }
    text = with_values(path, path.read_text(encoding="utf-8-sig"), placed)
    return text, parse_settings(text, path).mcp.servers[name]


def remove_server(path: Path, name: str) -> None:
    """Take the table `[mcp.servers.NAME]` out.

    Raises:
        NotFound: There is none. ConfigError: It is written in another way.
    """
    before = read_settings(path)
    if name not in before.mcp.servers:
        known = ", ".join(before.mcp.servers) or "none"
        raise NotFound(f"no MCP server is called {name!r} in {str(path)!r}; known are {known}")
    write(path, with_values(path, path.read_text(encoding="utf-8-sig"), {("mcp", "servers", name): None}), name)


def write(path: Path, text: str, name: str) -> None:
    """Write the text if it says what the file says now, this server aside. Raises: Conflict: It was changed since."""
    before, after = read_settings(path), parse_settings(text, path)
    others = [{k: v for k, v in one.mcp.servers.items() if k != name} for one in (before, after)]
    if before.model_dump(exclude={"mcp"}) != after.model_dump(exclude={"mcp"}) or others[0] != others[1]:
        raise Conflict(f"{path.name} was changed meanwhile; nothing was written; run this again")
    with replacing(path, keeps_mode=True) as file:
        file.write(text.encode())
