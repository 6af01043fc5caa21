"""Connections of the service: none waits for ever, and silent ones make room for those that ask.

uvicorn's own protocol bounds only the time between requests. Here the head of a request has to arrive in time, counted
from the connection or the head's first byte; a reader that does not take its answer is cut off; and where there are
too many connections, the one that has waited longest without a request goes, instead of everybody being told 503.

Covered: connections without a word, heads that arrive drop by drop, also on a connection that asked before, readers
that stop. Not covered: connections during a TLS handshake (asyncio ends these after a minute), and floods that a
proxy or the kernel should stop (`deploy/proxy/haproxy.cfg`).
"""

from __future__ import annotations

import asyncio
import socket
from collections import OrderedDict
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

BUFFER_BYTES = 262_144
"""Bytes of an answer that wait for a reader before the service waits, too."""


class Bounds:
    """Limits that the connections of one server share, and those of them that wait without a request."""

    def __init__(self, header_s: float, send_s: float, most: int) -> None:
        self.header_s, self.send_s, self.most = header_s, send_s, most
        self.waiting: OrderedDict[Connection, None] = OrderedDict()
        """Connections without a request, in the order in which they began to wait."""

    def make_room(self, n_connections: int) -> None:
        """Cut the connections that have waited longest, where there are too many."""
        for _ in range(min(n_connections - self.most, len(self.waiting))):
            connection, _ = self.waiting.popitem(last=False)
            connection.cut()


class Connection(HttpToolsProtocol):
    """uvicorn's protocol with time limits; asyncio calls its methods."""

    def __init__(self, *arguments: Any, bounds: Bounds, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._bounds = bounds
        self._head_due: asyncio.TimerHandle | None = None
        self._reader_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast(asyncio.Transport, transport))
        self.transport.set_write_buffer_limits(high=BUFFER_BYTES, low=0)
        sock = self.transport.get_extra_info("socket")
        if sock is not None:  # else the kernel holds megabytes for each reader that stops, and copies them at once
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
        self._await_head()
        self._bounds.waiting[self] = None
        self._bounds.make_room(len(self.connections))

    def connection_lost(self, exc: Exception | None) -> None:
        self._bounds.waiting.pop(self, None)
        self._head_due, self._reader_due = _ended(self._head_due), _ended(self._reader_due)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._head_due is None and self in self._bounds.waiting:
            self._await_head()
        super().data_received(data)

    def on_headers_complete(self) -> None:
        self._head_due = _ended(self._head_due)
        self._bounds.waiting.pop(self, None)
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing():
            self._bounds.waiting[self] = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reader_due = self._reader_due or self.loop.call_later(self._bounds.send_s, self.cut)

    def resume_writing(self) -> None:
        self._reader_due = _ended(self._reader_due)
        super().resume_writing()

    def cut(self) -> None:
        """End the connection at once, with what was not taken."""
        self.transport.abort()

    def _await_head(self) -> None:
        self._head_due = self.loop.call_later(self._bounds.header_s, self.cut)


def _ended(timer: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
    if timer is not None:
        timer.cancel()
    return None
