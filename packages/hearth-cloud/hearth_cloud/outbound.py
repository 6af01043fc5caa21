"""The service's outbound HTTP: only to the hosts that `cloud.toml` names.

Covered: requests of this process's HTTP clients to any other host, redirects (which no client here follows), also where
the command line's check of connections is on. Not covered: the database's driver, which opens its own connections.
"""

from __future__ import annotations

import httpx

from hearth.errors import EgressError
from hearth.guard.egress.audit_hook import Permit, normal, permitted

_PORTS = {"http": 80, "https": 443}


class NamedHosts(httpx.BaseTransport):
    """A transport to one named host that verifies certificates."""

    def __init__(self, url: httpx.URL, inner: httpx.BaseTransport | None = None) -> None:
        """Args: url: The scheme, host and port that may be reached. inner: Replaced in tests."""
        self._place = _place(url)
        self._inner = inner or httpx.HTTPTransport(trust_env=False)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request to the named host. Raises: EgressError: It is for another host; nothing was sent."""
        if _place(request.url) != self._place:
            raise EgressError(
                f"{request.url.host!r} is not the host that cloud.toml names; nothing was sent; name it there"
            )
        _, host, port = self._place
        with permitted(Permit(host, port, is_private_fine=True)):
            return self._inner.handle_request(request)

    def close(self) -> None:
        self._inner.close()


def _place(url: httpx.URL) -> tuple[str, str, int]:
    return url.scheme, normal(url.host), url.port or _PORTS.get(url.scheme, 0)
