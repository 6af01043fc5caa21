"""Serves requests on this machine alone, for doubles of services that speak HTTP."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def served_here(handler: type[http.server.BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve with `handler` on a free port, a thread for each request; yields the address, and ends it when left."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def tell(handler: http.server.BaseHTTPRequestHandler, status: int, body: bytes) -> None:
    """Answer the request that a handler has in hand with JSON."""
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)
