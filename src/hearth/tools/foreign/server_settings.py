"""Writes an MCP server into `hearth.toml`, or takes it out; everything else in the file stays as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from hearth.atomic_files import replacing
from hearth.config import McpServer, parse_settings, read_settings
from hearth.errors import ConfigError, NotFound

_HEADER = re.compile(r"(?m)^[ \t]*\[")


def with_server(path: Path, name: str, values: Mapping[str, str | Sequence[str]]) -> tuple[str, McpServer]:
    """Return the settings' text with a table `[mcp.servers.NAME]`, and the server that it names; nothing is written.

    Raises:
        ConfigError: There is one of that name, or the values are wrong.
    """
    before = read_settings(path)
    if name in before.mcp.servers:
        raise ConfigError(f"{path}: there is an MCP server {name!r} already; `hearth mcp remove {name}` takes it out")
    rows = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
    text = path.read_text(encoding="utf-8-sig").rstrip()
    text = "\n".join([text, "", f"[mcp.servers.{name}]", *rows, ""])
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
    text = path.read_text(encoding="utf-8-sig")
    header = re.search(rf"(?m)^[ \t]*\[mcp\.servers\.{re.escape(name)}\][ \t]*(?:#.*)?$", text)
    if header is None:
        raise _by_hand(path, name)
    end = _HEADER.search(text, header.end())
    write(path, f"{text[: header.start()].rstrip()}\n\n{text[end.start() :] if end else ''}".rstrip() + "\n", name)


def write(path: Path, text: str, name: str) -> None:
    """Write the text if it says what the file said, this server aside. Raises: ConfigError."""
    before, after = read_settings(path), parse_settings(text, path)
    others = [{k: v for k, v in one.mcp.servers.items() if k != name} for one in (before, after)]
    if before.model_dump(exclude={"mcp"}) != after.model_dump(exclude={"mcp"}) or others[0] != others[1]:
        raise _by_hand(path, name)
    with replacing(path, keeps_mode=True) as file:
        file.write(text.encode())


def _by_hand(path: Path, name: str) -> ConfigError:
    return ConfigError(
        f"{path}: is written in a way that is not changed here; nothing was changed; edit [mcp.servers.{name}] yourself"
    )
