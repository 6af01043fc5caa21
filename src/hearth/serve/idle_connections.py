"""Ends connections that say nothing, or say it too slowly, so that nobody can hold the places of others.

Covered: no request within a bound after connecting and between requests, heads that trickle in (bodies: `serve.door`).
Not covered: readers that take what they are sent slowly.
"""

from __future__ import annotations

import asyncio
from typing import cast

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_WITHIN_S = 10.0
"""How long a connection may take to say its request's head."""


class BoundedHttp(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, with a bound on waiting for a request."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first request."""
        super().connection_made(cast("asyncio.Transport", transport))
        self._deadline = self.loop.call_later(HEAD_WITHIN_S, self._end)

    def data_received(self, data: bytes) -> None:
        """Take what comes; until it is a whole head, the bound goes on counting."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_counting()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_WITHIN_S, self._end)

    def connection_lost(self, exc: Exception | None) -> None:
        """Count no more."""
        self._stop_counting()
        super().connection_lost(exc)

    def _stop_counting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _end(self) -> None:
        self._deadline = None
        if (self.cycle is None or self.cycle.response_complete) and not self.transport.is_closing():
            self.transport.close()
