"""HTTP through the network door: each request, redirects included, is checked and written down before it is sent.

Covered: the host and port of every request, its head and body. Passwords and keys in the head are blotted out in the
record. Not covered: proxies of the environment (none is used), bytes of TLS.
"""

from __future__ import annotations

import httpx

from hearth.guard.egress import Egress

_SECRET_HEADERS = frozenset({b"authorization", b"proxy-authorization", b"cookie", b"x-api-key", b"api-key"})


class CheckedTransport(httpx.BaseTransport):
    """An httpx transport behind `Egress`."""

    def __init__(self, egress: Egress, reason: str) -> None:
        self._egress = egress
        self._reason = reason
        self._inner = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        port = url.port or (443 if url.scheme == "https" else 80)
        body = request.read()
        start = b"%s %s HTTP/1.1\r\n" % (request.method.encode(), url.raw_path)
        head = [(name, value) for name, value in request.headers.raw]
        n_bytes = len(start) + sum(len(name) + len(value) + 4 for name, value in head) + 2 + len(body)
        shown = [b"%s: %s\r\n" % (n, b"(secret)" if n.lower() in _SECRET_HEADERS else v) for n, v in head]
        payload = start + b"".join(shown) + b"\r\n" + body
        with self._egress.opened(url.host, port, self._reason, payload, n_bytes):
            return self._inner.handle_request(request)

    def close(self) -> None:
        self._inner.close()
