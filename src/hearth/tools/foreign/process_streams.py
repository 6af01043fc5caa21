"""Runs an MCP server as a process for one call, and exchanges one JSON message a line with it.

When a line cannot be read, the package's own client prints it with a traceback and waits until the time is over; it
reads lines without end, and leaves what the server started to itself. Here the call ends at once, and the whole group.

Covered: lines that are no message, messages that cannot be read or never end, a server that goes on after its call with
what it started. Lines that are no JSON (a banner) are left out. Not covered: a process that leaves its group.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from subprocess import DEVNULL
from typing import TYPE_CHECKING, Any

from hearth.errors import ToolError

if TYPE_CHECKING:
    from anyio.abc import Process

MAX_ANSWERED_BYTES = 8_000_000
"""Most that a server may write in one call: its tools and a result."""
_ENDS_S = 2.0
"""How long a server may take to end by itself once its input is closed."""
_LOOK_S = 0.01
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
            await anyio.sleep(_LOOK_S)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with anyio.move_on_after(_ENDS_S):
        await process.aclose()
