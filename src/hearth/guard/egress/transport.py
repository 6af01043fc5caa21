"""Sends HTTP through the network door: each request, redirects included, is checked and recorded before it is sent.

A connection goes to an address that was looked up once and checked, with the host's own name in TLS. The answer is
returned decompressed. A request with the extension `PACK` is sent with gzip: the record keeps its body uncompressed, so
that it can be read and searched, under the head that was sent, and counts the bytes that were sent. Of one with the
extension `SECRET_PATH` the record names the host and a digest of the path, which is as good as a password there.

Covered: the host and port of every request, its head and body; certificates, always; passwords and keys in the head,
which are blotted out in the record and never follow a redirect to another host; answers that are too large, before or
after decompression, or that drip for longer than the total time allowed.
Not covered: proxies of the environment (none is used), keys inside an address or a body, bytes of TLS.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import re
import ssl
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import httpcore
import httpx

from hearth.errors import EgressError
from hearth.guard.egress.audit_hook import Gateway, Way
from hearth.protocols import SECRET_PATH, Cause

if TYPE_CHECKING:
    import ssl


_SECRET_HEADER = re.compile(rb"(?i)(proxy-)?authorization|cookie|(x-)?api-?key|(x-.*|.*-)(token|secret|password)")
PACK = "hearth_pack"
"""Extension of a request that is to be compressed if that makes it smaller: `extensions={PACK: True}`."""
_PIECE_BYTES = 1 << 16
_MAX_IDLE = 4
_MAX_SECRETS = 1000
_IDLE_S = 5.0
_MAX_ADDRESSES = 4
"""Addresses of one host that are tried, one after another."""
_FAULTS: tuple[tuple[type[Exception], type[httpx.RequestError]], ...] = (
    (httpcore.ConnectTimeout, httpx.ConnectTimeout),
    (httpcore.ReadTimeout, httpx.ReadTimeout),
    (httpcore.WriteTimeout, httpx.WriteTimeout),
    (httpcore.TimeoutException, httpx.PoolTimeout),
    (httpcore.ConnectError, httpx.ConnectError),
    (httpcore.ReadError, httpx.ReadError),
    (httpcore.WriteError, httpx.WriteError),
    (httpcore.RemoteProtocolError, httpx.RemoteProtocolError),
    (httpcore.LocalProtocolError, httpx.LocalProtocolError),
    (httpcore.NetworkError, httpx.ReadError),
    (httpcore.ProtocolError, httpx.RemoteProtocolError),
)


class CheckedTransport(httpx.BaseTransport):
    """An httpx transport behind `Egress`."""

    def __init__(self, egress: Gateway, reason: str, cause: Cause, *, is_web: bool = False) -> None:
        self._egress = egress
        self._reason = reason
        self._cause = cause
        self._is_web = is_web
        self._lock = threading.Lock()
        self._idle: dict[str, list[_Connection]] = {}
        self._secrets: dict[tuple[bytes, bytes], httpcore.Origin] = {}
        """Password or key → the host it was first meant for."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        if url.scheme not in ("http", "https") or url.userinfo:
            what = "holds a user name or password" if url.userinfo else f"has the scheme {url.scheme!r}"
            raise EgressError(f"an address of {url.host!r} {what}, nothing was sent; expected https://host/…")
        host, port = url.raw_host.decode("ascii"), url.port or (443 if url.scheme == "https" else 80)
        origin = httpcore.Origin(url.scheme.encode(), url.raw_host, port)
        way = self._egress.way(Way(host, port, url.scheme == "https", self._is_web, self._reason, self._cause))
        head = self._head(request, origin)
        body = request.read()
        sent_body = _packed(body) if request.extensions.get(PACK) else body
        if sent_body is not body:
            head = [(n, b"%d" % len(sent_body) if n.lower() == b"content-length" else v) for n, v in head]
            head.append((b"Content-Encoding", b"gzip"))
        start = b"%s %s HTTP/1.1\r\n" % (request.method.encode(), url.raw_path)
        n_bytes = len(start) + sum(len(name) + len(value) + 4 for name, value in head) + 2 + len(sent_body)
        shown = [b"%s: %s\r\n" % (n, b"(secret)" if _SECRET_HEADER.fullmatch(n) else v) for n, v in head]
        is_secret = bool(request.extensions.get(SECRET_PATH)) and request.method == "GET"
        payload = (_without_path(url.raw_path) if is_secret else start) + b"".join(shown) + b"\r\n" + body

        timeouts: dict[str, Any] = request.extensions.get("timeout", {})
        with _faults_said(request):
            connection = self._taken(origin) or self._opened(way, origin, timeouts.get("connect"))
            try:
                self._egress.send(way, payload, n_bytes, connection.address, connection.tls)
                connection.stream.deadline = time.monotonic() + self._egress.limits.total_s
                target = httpcore.URL(scheme=origin.scheme, host=origin.host, port=port, target=url.raw_path)
                sent = httpcore.Request(
                    request.method, target, headers=head, content=sent_body, extensions={"timeout": timeouts}
                )
                answer = connection.http.handle_request(sent)
            except BaseException:
                connection.http.close()
                raise
        stream = _Unpacked(answer, self, connection, request, self._egress.limits.answer_bytes)
        kept = [(n, v) for n, v in answer.headers if n.lower() not in (b"content-encoding", b"content-length")]
        return httpx.Response(
            answer.status,
            headers=kept if stream.is_packed else answer.headers,
            stream=stream,
            extensions={k: v for k, v in answer.extensions.items() if k in ("http_version", "reason_phrase")},
        )

    def close(self) -> None:
        with self._lock:
            idle = [connection for several in self._idle.values() for connection in several]
            self._idle.clear()
        for connection in idle:
            connection.http.close()

    def _head(self, request: httpx.Request, origin: httpcore.Origin) -> list[tuple[bytes, bytes]]:
        """Build the head to send: it names no host but the one asked and has no key meant for another host."""
        head = []
        for name, value in request.headers.raw:
            lower = name.lower()
            if lower == b"host" and value.lower() != request.url.netloc.lower():
                raise EgressError(
                    f"a request to {request.url.host!r} names {value.decode('latin-1')!r} as its host; nothing was sent"
                )
            if lower == b"accept-encoding":
                value = b"gzip, deflate" if b"gzip" in value else b"identity"
            if _SECRET_HEADER.fullmatch(name) and not self._is_meant_for(origin, (lower, value)):
                continue
            head.append((name, value))
        return head

    def _is_meant_for(self, origin: httpcore.Origin, secret: tuple[bytes, bytes]) -> bool:
        """Return whether a password or key was not used for another host before."""
        with self._lock:
            first = self._secrets.setdefault(secret, origin)
            while len(self._secrets) > _MAX_SECRETS:  # some login schemes have a new one for each request
                del self._secrets[next(iter(self._secrets))]
        return first == origin

    # ── Connections ───────────────────────────────────────────────────────────────────────────────────────

    def _taken(self, origin: httpcore.Origin) -> _Connection | None:
        with self._lock:
            waiting = self._idle.get(str(origin), [])
            while waiting:
                connection = waiting.pop()
                if not connection.http.has_expired() and connection.http.is_available():
                    return connection
                connection.http.close()
        return None

    def give_back(self, connection: _Connection) -> None:
        """Keep an idle connection for the next request to the same host, or close it."""
        with self._lock:
            waiting = self._idle.setdefault(str(connection.origin), [])
            if connection.http.is_idle() and len(waiting) < _MAX_IDLE:
                waiting.append(connection)
                return
        connection.http.close()

    def _opened(self, way: Way, origin: httpcore.Origin, timeout_s: float | None) -> _Connection:
        """Connect to one of the addresses found for the host.

        Raises:
            EgressError, StoreError: As for `Egress.opened`. httpcore.ConnectError, httpcore.ConnectTimeout.
        """
        limit_s = min(timeout_s or self._egress.limits.connect_s, self._egress.limits.connect_s)
        deadline = time.monotonic() + limit_s
        context = self._egress.tls(way.host) if way.is_tls else None
        failed: Exception | None = None
        with self._egress.opened(way) as addresses:
            for address in addresses[:_MAX_ADDRESSES]:
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    break
                try:
                    stream = httpcore.SyncBackend().connect_tcp(address, way.port, timeout=left_s)
                    if context is not None:
                        left_s = max(deadline - time.monotonic(), 0.001)
                        stream = stream.start_tls(context, server_hostname=way.host, timeout=left_s)
                    return _Connection(origin, address, stream)
                except httpcore.ConnectError as error:
                    failed = error
                    if isinstance(error.__context__, ssl.SSLError):
                        break  # a host with a wrong certificate is not tried at another address
        raise failed or httpcore.ConnectTimeout(f"no connection to {way.host!r} within {limit_s:g} s")


def _without_path(path: bytes) -> bytes:
    return b"GET (a secret path of %d bytes, sha256 %s) HTTP/1.1\r\n" % (
        len(path),
        hashlib.sha256(path).hexdigest()[:16].encode(),
    )


def _packed(body: bytes) -> bytes:
    """Compress with gzip, to the same bytes each time; return the body itself if that is no larger."""
    packed = gzip.compress(body, 6, mtime=0)
    return packed if len(packed) < len(body) else body


class _Connection:
    """An open connection: the address it leads to, and how it is secured."""

    def __init__(self, origin: httpcore.Origin, address: str, stream: httpcore.NetworkStream) -> None:
        self.origin = origin
        self.address = address
        self.stream = _Timed(stream)
        secured = stream.get_extra_info("ssl_object")
        self.tls = f"{secured.version()} {secured.cipher()[0]}" if secured is not None else ""
        self.http = httpcore.HTTP11Connection(origin, self.stream, keepalive_expiry=_IDLE_S)


class _Timed(httpcore.NetworkStream):
    """A network stream whose reads and writes end at a deadline, however slowly data comes."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream
        self.deadline = float("inf")

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)

    def _left(self, timeout: float | None, late: type[Exception]) -> float | None:
        left_s = self.deadline - time.monotonic()
        if left_s <= 0:
            raise late("the answer took longer than total_s in [network] of hearth.toml allows")
        return timeout if left_s == float("inf") else left_s if timeout is None else min(timeout, left_s)


class _Unpacked(httpx.SyncByteStream):
    """The body of an answer, decompressed, up to a limit. Raises: EgressError: It is larger, or encoded otherwise."""

    def __init__(
        self,
        answer: httpcore.Response,
        owner: CheckedTransport,
        connection: _Connection,
        request: httpx.Request,
        limit_bytes: int,
    ) -> None:
        self._answer = answer
        self._owner = owner
        self._connection = connection
        self._request = request
        self._limit_bytes = limit_bytes
        self._is_closed = False
        packed = b",".join(value for name, value in answer.headers if name.lower() == b"content-encoding")
        self._coding = packed.strip().lower().decode("latin-1")
        self.is_packed = self._coding not in ("", "identity")

    def __iter__(self) -> Iterator[bytes]:
        with _faults_said(self._request):
            raw = self._limited(self._answer.iter_stream())
            if not self.is_packed:
                yield from raw
            elif self._coding in ("gzip", "x-gzip"):
                yield from self._limited(_inflated(raw, (31,), self._request))
            elif self._coding == "deflate":
                yield from self._limited(_inflated(raw, (15, -15), self._request))
            else:
                raise EgressError(
                    f"{self._request.url.host!r} answered packed as {self._coding[:40]!r}, which was not asked for; it "
                    "was not read; expected gzip or nothing"
                )

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._answer.close()
            self._owner.give_back(self._connection)

    def _limited(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        n_bytes = 0
        for chunk in chunks:
            n_bytes += len(chunk)
            if n_bytes > self._limit_bytes:
                raise EgressError(
                    f"{self._request.url.host!r} answered with more than {self._limit_bytes} bytes; the rest was not "
                    "read; if that is right, raise answer_bytes under [network] in hearth.toml"
                )
            yield chunk


def _inflated(chunks: Iterable[bytes], windows: Sequence[int], request: httpx.Request) -> Iterator[bytes]:
    """Decompress piece by piece, so that only one is held at a time; the first of `windows` that fits is used."""
    unpacker, is_begun = zlib.decompressobj(windows[0]), False
    for chunk in chunks:
        rest = chunk
        while rest and not unpacker.eof:
            try:
                piece = unpacker.decompress(rest, _PIECE_BYTES)
            except zlib.error as error:
                if is_begun or len(windows) == 1:
                    what = f"the answer is not packed as it says ({error})"
                    raise httpx.DecodingError(what, request=request) from None
                unpacker, windows = zlib.decompressobj(windows[1]), windows[1:]
                continue
            is_begun = True
            rest = unpacker.unconsumed_tail
            if piece:
                yield piece
    if piece := unpacker.flush():
        yield piece


@contextlib.contextmanager
def _faults_said(request: httpx.Request) -> Iterator[None]:
    """Raise faults of the connection as httpx's own."""
    try:
        yield
    except tuple(kind for kind, _ in _FAULTS) as error:
        kind = next(said for known, said in _FAULTS if isinstance(error, known))
        raise kind(str(error), request=request) from error
