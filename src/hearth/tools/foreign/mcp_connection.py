"""Speaks to another program's MCP server by the official package: lists its tools, calls one.

A server that is a process is started for the call, in an empty folder of its own, with the few variables of the
environment that are named and no others, and ended after it. A server that is an address is reached through the guard's
door alone, so that the ledger holds every byte.

Covered: text results, results that are too large, servers that hang, die, answer nonsense or start others. Not covered:
what a process does by itself (it runs with the owner's rights, and reaches what it wants); questions, sampling and
roots of a server.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from hearth.config import McpServer, secret
from hearth.errors import CancelledError, HearthError, MissingExtraError, ToolError, TransientToolError
from hearth.protocols import Egress
from hearth.tools.foreign.accepted_tools import MAX_TOOL_BYTES, MAX_TOOLS, OfferedTool
from hearth.tools.foreign.process_streams import process_streams

if TYPE_CHECKING:
    import httpx2
    from mcp import Client

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
