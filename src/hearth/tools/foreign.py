"""Tools of other programs' MCP servers, as tools of this home, once the owner named and accepted them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import posixpath
import re
import signal
import tempfile
import threading
import unicodedata
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import DEVNULL
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict, ValidationError

from hearth.atomic_files import replacing
from hearth.config import McpServer, Settings, parse_settings, read_settings, secret
from hearth.config.settings_edit import TomlValue, with_values
from hearth.errors import (
    CancelledError,
    ConfigError,
    Conflict,
    HearthError,
    MissingExtraError,
    NotFound,
    ToolError,
    TransientToolError,
)
from hearth.formats.terminal_text import clean
from hearth.protocols import CallContext, Egress, Resolver, Tool
from hearth.types import Effect, Parameter, Plain, Referent, ToolSpec

if TYPE_CHECKING:
    import httpx2
    from anyio.abc import Process
    from mcp import Client


# ── Process streams ───────────────────────────────────────────────────────────────────────────────────────
# Runs an MCP server as a process for one call, and exchanges one JSON message a line with it.
#
# When a line cannot be read, the package's own client prints it with a traceback and waits until the time is over; it
# reads lines without end, and leaves what the server started to itself. Here the call ends at once, and the whole
# group.
#
# Covered: lines that are no message, messages that cannot be read or never end, a server that goes on after its call
# with what it started. Lines that are no JSON (a banner) are left out. Not covered: a process that leaves its group.

MAX_ANSWERED_BYTES = 8_000_000
"""Most that a server may write in one call: its tools and a result."""
_ENDS_S = 2.0
"""How long a server may take to end by itself once its input is closed."""
_STREAM_LOOK_S = 0.01
_KEPT = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
"""Variables that the protocol lets every server have."""


@contextlib.asynccontextmanager
async def process_streams(command: Sequence[str], env: Mapping[str, str], folder: str) -> AsyncIterator[Any]:
    """Start a server; yield the streams of messages that the package's client takes.

    Raises:
        OSError: It cannot be started. ToolError: It answered what cannot be read, or too much.
    """
    import anyio
    from mcp.shared.message import SessionMessage

    kept = {name: os.environ[name] for name in _KEPT if name in os.environ and not os.environ[name].startswith("()")}
    process = await anyio.open_process(command, env={**kept, **env}, stderr=DEVNULL, cwd=folder, start_new_session=True)
    told, heard = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    says, said = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_read, process, told)
            group.start_soon(_write, process, said)
            yield heard, says
            group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await _ended(process)
            for stream in (told, heard, says, said):
                await stream.aclose()


async def _read(process: Process, told: Any) -> None:
    """Hand on the messages of a server. Raises: ToolError."""
    import anyio
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    assert process.stdout is not None
    line, n_bytes = bytearray(), 0
    async with told:
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for chunk in process.stdout:
                n_bytes += len(chunk)
                if n_bytes > MAX_ANSWERED_BYTES:
                    raise ToolError(
                        f"the server answered with more than {MAX_ANSWERED_BYTES:,} bytes; nothing is taken"
                    )
                first, *more = chunk.split(b"\n")
                line += first
                for following in more:
                    if line.lstrip()[:1] == b"{":
                        try:
                            message = jsonrpc_message_adapter.validate_json(bytes(line), by_name=False)
                        except (ValueError, RecursionError):
                            raise ToolError("the server answered with a message that cannot be read") from None
                        await told.send(SessionMessage(message))
                    line = bytearray(following)


async def _write(process: Process, said: Any) -> None:
    """Hand messages to a server; ends where it reads no more."""
    import anyio

    assert process.stdin is not None
    with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        async with said:
            async for one in said:
                text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
                await process.stdin.send(f"{text}\n".encode())


async def _ended(process: Process) -> None:
    """Let a server end by itself, then end it and all that it started."""
    import anyio

    assert process.stdin is not None
    with contextlib.suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await process.stdin.aclose()
    with anyio.move_on_after(_ENDS_S):
        while process.returncode is None:  # not `wait`, which waits for what holds its output, too
            await anyio.sleep(_STREAM_LOOK_S)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with anyio.move_on_after(_ENDS_S):
        await process.aclose()


# ── Accepted tools ────────────────────────────────────────────────────────────────────────────────────────
# Keeps what the owner accepted of each MCP server: its tools, word for word, with a hash.
#
# A tool whose description or schema is another than the one accepted is not called: a server could otherwise put new
# words into plans, or take more than was agreed to, at any time after it was looked at.

ACCEPTED_FILE = "mcp-accepted.json"
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
    path = home / ACCEPTED_FILE
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
    with replacing(home / ACCEPTED_FILE) as file:
        file.write(_File(servers=known).model_dump_json(indent=1).encode())


# ── MCP connection ────────────────────────────────────────────────────────────────────────────────────────
# Speaks to another program's MCP server by the official package: lists its tools, calls one.
#
# A server that is a process is started for the call, in an empty folder of its own, with the few variables of the
# environment that are named and no others, and ended after it. A server that is an address is reached through the
# guard's door alone, so that the ledger holds every byte.
#
# Covered: text results, results that are too large, servers that hang, die, answer nonsense or start others. Not
# covered: what a process does by itself (it runs with the owner's rights, and reaches what it wants); questions,
# sampling and roots of a server.

MAX_RESULT_CHARACTERS = 20_000
_LOOK_S = 0.05
_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class Connection:
    """The way to one server."""

    name: str
    server: McpServer
    environ: Mapping[str, str]

    def tools(self, egress: Egress) -> tuple[OfferedTool, ...]:
        """Ask the server for its tools. Raises: ToolError: It cannot be reached, or offers too much."""
        return self._run(_listed, egress, threading.Event())

    def ask(
        self, tool: OfferedTool, arguments: Mapping[str, object], egress: Egress, cancelled: threading.Event
    ) -> str:
        """Call a tool that is as it was accepted, and return the text of its result.

        Raises:
            ToolError: It is another by now (nothing was called), it failed, or the server cannot be reached.
        """

        async def use(client: Client) -> str:
            now = next((one for one in await _listed(client) if one.name == tool.name), None)
            if now is None or now.hash != tool.hash:
                what = "is gone" if now is None else "is not as it was when you accepted it"
                raise ToolError(
                    f"the tool {tool.name!r} of the MCP server {self.name!r} {what}, so it was not called; look at it "
                    f"and accept it with `hearth mcp accept {self.name}`"
                )
            return _text(await client.call_tool(tool.name, dict(arguments)))

        return self._run(use, egress, cancelled)

    def _run(self, use: Callable[[Client], Awaitable[_Found]], egress: Egress, cancelled: threading.Event) -> _Found:
        try:
            import anyio
            import mcp  # noqa: F401 - whether it is there
        except ModuleNotFoundError:
            raise MissingExtraError(f"the MCP server {self.name!r}", "pip install 'hearth-agent[mcp]'") from None
        if cancelled.is_set():
            raise CancelledError("it was stopped before it began")
        try:
            return anyio.run(self._used, use, egress, cancelled)
        except HearthError:
            raise
        except BaseExceptionGroup as group:
            raise self._fault(_first(group)) from None
        except Exception as error:
            raise self._fault(error) from None

    def _fault(self, error: BaseException) -> BaseException:
        if isinstance(error, HearthError | KeyboardInterrupt):
            return error
        where = self.server.url or " ".join(self.server.command)
        said = " ".join(str(error).split())[:300] or type(error).__name__
        return TransientToolError(f"the MCP server {self.name!r} ({where}) did not do it: {said}")

    async def _used(
        self, use: Callable[[Client], Awaitable[_Found]], egress: Egress, cancelled: threading.Event
    ) -> _Found:
        import anyio
        from mcp import Client

        found: list[_Found] = []
        async with AsyncExitStack() as stack, anyio.create_task_group() as group:
            group.start_soon(self._watch, cancelled)
            with anyio.fail_after(self.server.timeout_s):
                transport = await self._transport(stack, egress)
                async with Client(transport, read_timeout_seconds=self.server.timeout_s) as client:
                    found.append(await use(client))
            group.cancel_scope.cancel()
        return found[0]

    async def _watch(self, cancelled: threading.Event) -> None:
        import anyio

        while not cancelled.is_set():
            await anyio.sleep(_LOOK_S)
        raise CancelledError("it was stopped")

    async def _transport(self, stack: AsyncExitStack, egress: Egress) -> Any:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        if self.server.url:
            headers = {}
            if token := self._token():
                headers["authorization"] = f"Bearer {token}"
            door = _door(egress, f"the MCP server {self.name}")
            http = httpx2.AsyncClient(transport=door, headers=headers, timeout=self.server.timeout_s, trust_env=False)
            return streamable_http_client(self.server.url, http_client=await stack.enter_async_context(http))
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="hearth-mcp-"))
        command, *arguments = self.server.command
        passed = {name: self.environ[name] for name in self.server.env if name in self.environ}
        return process_streams([command, *map(os.path.expanduser, arguments)], passed, folder)

    def _token(self) -> str:
        for key, value in (("token_env", self.server.token_env), ("token_file", self.server.token_file)):
            if value:
                return secret(key, value, f"[mcp.servers.{self.name}]", self.environ)
        return ""


async def _listed(client: Client) -> tuple[OfferedTool, ...]:
    found: list[OfferedTool] = []
    cursor: str | None = None
    while len(found) <= MAX_TOOLS:
        page = await client.list_tools(cursor=cursor)
        found += [
            OfferedTool(name=one.name, description=one.description or "", input_schema=one.input_schema)
            for one in page.tools
        ]
        cursor = page.next_cursor
        if cursor is None:
            break
    if len(found) > MAX_TOOLS:
        raise ToolError(f"the server offers more than {MAX_TOOLS} tools, more than can be looked at; use another")
    if large := [one.name for one in found if one.n_bytes > MAX_TOOL_BYTES]:
        raise ToolError(f"the server's tool {large[0][:60]!r} is described in more than {MAX_TOOL_BYTES:,} bytes")
    return tuple(found)


def _text(result: Any) -> str:
    """Raises: ToolError: The tool says that it failed."""
    parts = [part.text if part.type == "text" else f"[{part.type}]" for part in result.content]
    text = "\n".join(parts)
    if len(text) > MAX_RESULT_CHARACTERS:
        text = f"{text[:MAX_RESULT_CHARACTERS]}… (cut: it has {len(text):,} characters)"
    if result.is_error:
        raise ToolError(f"the server says: {' '.join(text.split())[:500]}")
    return text


def _first(group: BaseExceptionGroup[Any]) -> BaseException:
    """Return the fault that says most: ours, else the first."""
    found: list[BaseException] = []
    waiting: list[BaseException] = [group]
    while waiting:
        error = waiting.pop(0)
        if isinstance(error, BaseExceptionGroup):
            waiting.extend(error.exceptions)
        else:
            found.append(error)
    return next((one for one in found if isinstance(one, HearthError | KeyboardInterrupt)), found[0])


def _door(egress: Egress, reason: str) -> httpx2.AsyncBaseTransport:
    """Return a transport of the package's HTTP library that sends through the guard's door."""
    import anyio.to_thread
    import httpx
    import httpx2

    class Door(httpx2.AsyncBaseTransport):
        """Sends each request whole and reads its answer whole; a stream that stays open is not asked for."""

        def __init__(self) -> None:
            self._inner = egress.transport(reason)

        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            if request.method == "GET":
                return httpx2.Response(405)
            body = await request.aread()
            headers = [(k, v) for k, v in request.headers.raw if k.lower() not in (b"host", b"content-length")]
            sent = httpx.Request(request.method, str(request.url), headers=headers, content=body)
            status, kept, content = await anyio.to_thread.run_sync(self._exchange, sent)
            return httpx2.Response(status, headers=kept, content=content)

        def _exchange(self, request: httpx.Request) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
            answer = self._inner.handle_request(request)
            try:
                content = answer.read()
            finally:
                answer.close()
            dropped = (b"content-length", b"content-encoding", b"transfer-encoding")
            return answer.status_code, [(k, v) for k, v in answer.headers.raw if k.lower() not in dropped], content

        async def aclose(self) -> None:
            self._inner.close()

    return Door()


# ── Server settings ───────────────────────────────────────────────────────────────────────────────────────
# Writes an MCP server into `hearth.toml`, or takes it out; everything else in the file stays as it is.


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
    placed: dict[tuple[str, ...], TomlValue | None] = {
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
    write_server(path, with_values(path, path.read_text(encoding="utf-8-sig"), {("mcp", "servers", name): None}), name)


def write_server(path: Path, text: str, name: str) -> None:
    """Write the text if it says what the file says now, this server aside. Raises: Conflict: It was changed since."""
    before, after = read_settings(path), parse_settings(text, path)
    others = [{k: v for k, v in one.mcp.servers.items() if k != name} for one in (before, after)]
    if before.model_dump(exclude={"mcp"}) != after.model_dump(exclude={"mcp"}) or others[0] != others[1]:
        raise Conflict(f"{path.name} was changed meanwhile; nothing was written; run this again")
    with replacing(path, keeps_mode=True) as file:
        file.write(text.encode())


# ── JSON schemas ──────────────────────────────────────────────────────────────────────────────────────────
# Reads what another program's tool takes, from the JSON schema that the program gives.
#
# Names, types, options and what is required are read; descriptions are a stranger's text: cleaned and cut. Not
# covered: schemas that refer to others, shapes inside objects, limits and patterns; such a parameter takes any value.

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


# ── MCP tools ─────────────────────────────────────────────────────────────────────────────────────────────
# Makes tools of this home of those that MCP servers offer and the owner accepted.
#
# Each is named `SERVER__tool` and sends, whatever its server says of it: it asks before every call, unless the owner
# lists it under `reads`. Its description is a stranger's text: cleaned, cut, never more than a description. What an
# argument names only the server knows, so rules and questions are about its words as they are sent.


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
