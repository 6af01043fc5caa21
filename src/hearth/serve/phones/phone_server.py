"""The second entrance: TLS on the home's own network, for phones alone."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass

import uvicorn
from uvicorn.server import ServerState

from hearth.errors import EgressError
from hearth.guard.egress.audit_hook import Permit, permitted
from hearth.serve.idle_connections import BoundedHttp
from hearth.serve.phones.authority import is_homely

_HANDSHAKE_S = 10.0
_NOWHERE = "192.0.2.1"
"""An address kept for documents (RFC 5737): connecting a datagram socket to it sends nothing and tells the way out."""


@dataclass(frozen=True, slots=True)
class PhoneServer:
    """What answers phones, on a socket that listens."""

    options: uvicorn.Config
    """With the door for phones and the certificate."""
    listening: socket.socket

    @contextlib.asynccontextmanager
    async def lifespan(self, application: object) -> AsyncIterator[None]:  # noqa: ARG002 - Starlette's signature
        """Serve until the block ends."""
        self.options.load()
        state = ServerState()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: BoundedHttp(self.options, state, {}),
            sock=self.listening,
            ssl=self.options.ssl,
            ssl_handshake_timeout=_HANDSHAKE_S,
        )
        try:
            yield
        finally:
            server.close()
            for connection in list(state.connections):
                connection.transport.close()


def own_addresses(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return under which addresses and names phones may reach this machine, the likeliest first."""
    found: list[str] = []
    with contextlib.suppress(OSError, EgressError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        with permitted(Permit(_NOWHERE, 9, is_private_fine=True)):
            asking.connect((_NOWHERE, 9))
        found.append(asking.getsockname()[0])
    host = socket.gethostname().partition(".")[0]
    found += [f"{host}.local".lower(), *(name.partition(":")[0].lower() for name in names)]
    return tuple(dict.fromkeys(name for name in found if is_homely(name)))
