"""Answers Home Assistant's voice satellites over the Wyoming protocol, as the service that handles what was said.

The protocol knows no keys: whoever reaches the port may ask. So it listens on this machine alone unless told, only
reads unless told, and a change waits for a yes on the page, never for one that a room could say.

Covered: transcripts and requests to recognise, pings, descriptions; events that are garbled, large or never end. Not
covered: hearing and speaking, which the satellite's other services do; who speaks.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import cast

from wyoming.asr import Transcript
from wyoming.event import Event, async_read_event, async_write_event
from wyoming.handle import Handled, NotHandled
from wyoming.info import Attribution, Describe, HandleModel, HandleProgram, Info
from wyoming.intent import Recognize
from wyoming.ping import Ping, Pong

from hearth.errors import HearthError
from hearth.formats.terminal_text import clean
from hearth.serve.desk import Caller
from hearth.serve.programs.home_api import HomeLine
from hearth.serve.programs.home_link import Standing
from hearth.version import __version__

MOST_EVENT_BYTES = 100_000
MOST_CONNECTIONS = 16
IDLE_S = 300.0
"""After so long without an event a connection is ended."""
PATIENCE_S = 8.0
"""How long a satellite waits for an answer: then it is told where the question stands, or that it takes longer."""


class _BoundedReader:
    """The part of a stream that an event is read from; one that claims to be large is cut off."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    async def readline(self) -> bytes:
        return await self._reader.readline()

    async def readexactly(self, n: int) -> bytes:
        if not isinstance(n, int) or not 0 <= n <= MOST_EVENT_BYTES:
            raise ValueError(f"an event of {n!r} bytes; at most {MOST_EVENT_BYTES:,} are taken")
        return await self._reader.readexactly(n)


class WyomingService:
    """The service on a socket that listens already; run it in `lifespan`."""

    def __init__(self, line: HomeLine, listening: socket.socket, *, may_change: bool) -> None:
        self._line = line
        self._listening = listening
        self._caller = Caller("voice", may_change=may_change)
        self._connected: set[asyncio.StreamWriter] = set()

    @asynccontextmanager
    async def lifespan(self, application: object) -> AsyncIterator[None]:  # noqa: ARG002 - Starlette's signature
        """Serve until the block ends."""
        server = await asyncio.start_server(self._serve, sock=self._listening, limit=MOST_EVENT_BYTES)
        try:
            yield
        finally:
            server.close()
            for writer in self._connected:
                writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connected.add(writer)
        bounded = cast("asyncio.StreamReader", _BoundedReader(reader))
        try:
            while len(self._connected) <= MOST_CONNECTIONS:
                event = await asyncio.wait_for(async_read_event(bounded), IDLE_S)
                if event is None:
                    break
                if (answer := await self._answer(event)) is not None:
                    await async_write_event(answer, writer)
        except (OSError, EOFError, TimeoutError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            pass  # garbled, or gone: the connection ends
        finally:
            self._connected.discard(writer)
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, event: Event) -> Event | None:
        if Describe.is_type(event.type):
            return _described().event()
        if Ping.is_type(event.type):
            return Pong(text=Ping.from_event(event).text).event()
        if Transcript.is_type(event.type):
            return await self._handled(Transcript.from_event(event).text)
        if Recognize.is_type(event.type):
            return await self._handled(Recognize.from_event(event).text)
        return None

    async def _handled(self, said: object) -> Event:
        """Do what was said, and return what is to be spoken."""
        try:
            number = await self._line.begin(str(said), self._caller)
            standing = await self._line.standing(number, within_s=PATIENCE_S)
            if standing.question is not None:  # somebody may be at the page
                standing = await self._line.standing(number, seen=standing.question.id, within_s=PATIENCE_S)
        except HearthError as error:
            return NotHandled(text=clean(str(error))).event()
        return _spoken(standing)


def _spoken(standing: Standing) -> Event:
    if standing.state == "asked":
        return Handled(text="That needs your yes. The question is on Hearth's page.").event()
    if standing.state in ("waiting", "working"):
        return Handled(text="That takes longer. The answer will be on Hearth's page.").event()
    if standing.state == "failed":
        return NotHandled(text=clean(standing.fault)).event()
    kind = NotHandled if standing.status in ("refused", "needs") else Handled
    return kind(text=clean(standing.answer)).event()


def _described() -> Info:
    by = Attribution(name="Hearth", url="")
    model = HandleModel("hearth", by, True, "This home's own agent", __version__, languages=["en"])
    program = HandleProgram("hearth", by, True, "Hearth", __version__, models=[model], supports_home_control=True)
    return Info(handle=[program])
