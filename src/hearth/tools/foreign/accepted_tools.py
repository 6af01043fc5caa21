"""Keeps what the owner accepted of each MCP server: its tools, word for word, with a hash.

A tool whose description or schema is another than the one accepted is not called: a server could otherwise put new
words into plans, or take more than was agreed to, at any time after it was looked at.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from hearth.atomic_files import replacing
from hearth.errors import ConfigError

FILE = "mcp-accepted.json"
MAX_TOOL_BYTES = 32_768
MAX_TOOLS = 128


class OfferedTool(BaseModel):
    """A tool as its server describes it; all of it is a stranger's text."""

    model_config = ConfigDict(frozen=True)
    name: str
    description: str = ""
    input_schema: dict[str, Any]

    @property
    def hash(self) -> str:
        """Hash of all that is known of it."""
        text = json.dumps([self.name, self.description, self.input_schema], sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def n_bytes(self) -> int:
        return len(self.model_dump_json())


class _File(BaseModel):
    servers: dict[str, list[OfferedTool]] = {}


def accepted(home: Path) -> Mapping[str, tuple[OfferedTool, ...]]:
    """Read what was accepted, by server. Raises: ConfigError: The file is damaged."""
    path = home / FILE
    try:
        found = _File.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValidationError) as error:
        raise ConfigError(
            f"{str(path)!r} cannot be read ({error}); delete it and do `hearth mcp accept` again"
        ) from None
    return {server: tuple(tools) for server, tools in found.servers.items()}


def accept(home: Path, server: str, tools: tuple[OfferedTool, ...]) -> None:
    """Keep the tools of a server in place of those accepted before; none forgets the server."""
    known = {name: list(kept) for name, kept in accepted(home).items() if name != server}
    if tools:
        known[server] = list(tools)
    with replacing(home / FILE) as file:
        file.write(_File(servers=known).model_dump_json(indent=1).encode())
