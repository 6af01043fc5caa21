"""Limit how much one edge may ask: token buckets per second, requests and bytes at once, quotas per day, and bodies
that are unpacked piece by piece, each charged to the edge before it is unpacked.

Covered: bursts, floods, bodies without or with a wrong length, bodies that arrive drop by drop, gzip that inflates
without end, bytes after its end, many of these at once. Not covered: floods of connections below HTTP
(`connection_limits` bounds them, a proxy does it better). Limits at once are counted by each process alone, as
they protect its memory; so are those per second where no Redis is named (`shared_rates`). Daily counts are
compared between processes only every few seconds, so with several processes an edge may get somewhat more than it
should.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import zlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import anyio
from starlette.concurrency import run_in_threadpool

from hearth_cloud.problems import Fault
from hearth_cloud.storage.cloud_storage import Storage

_MOST_BUCKETS = 20_000
_PIECE_BYTES = 262_144
"""Bytes unpacked at a time, each in a thread."""
_DEFLATES_AT_MOST = 1_032
"""Greatest ratio at which gzip packs anything."""
_MOST_RATIO, _FREE_RATIO_BYTES = 100, 1_000_000
"""A body that unpacks to more than the second, and to more than the first times what arrived, is a bomb: text packs at
3 to 20."""
_N_UNPACKING = 2
"""Threads that unpack bodies, so that these never hold the threads that everything else needs."""
_HELD_BODIES = 8
"""So many of the largest bodies may be in memory together, and one of them for each edge."""


class Rates(Protocol):
    """Limits of requests per second, one for each name."""

    async def take(self, name: str) -> None:
        """Count a request. Raises: Fault: 429 with how long to wait; nothing was counted."""
        ...

    async def close(self) -> None:
        """Close what is open."""
        ...


def too_fast(per_s: float, wait_s: float) -> Fault:
    """Return the answer to somebody who asks faster than `per_s`."""
    return Fault(429, "rate", f"more than {per_s:g} requests a second came from here; wait and send it again", wait_s)


class Buckets:
    """One token bucket per name, in this process alone."""

    def __init__(self, per_s: float, burst: int, monotonic: Callable[[], float]) -> None:
        self._per_s, self._burst, self._monotonic = per_s, float(burst), monotonic
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def take(self, name: str) -> None:
        """Take from a bucket. Raises: Fault: 429 with how long to wait; nothing was taken."""
        now = self._monotonic()
        left, at = self._left.get(name, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._per_s)
        if left < 1:
            self._left[name] = (left, now)
            raise too_fast(self._per_s, (1 - left) / self._per_s)
        self._left[name] = (left - 1, now)
        self._left.move_to_end(name)
        if len(self._left) > _MOST_BUCKETS:
            self._left.popitem(last=False)

    async def close(self) -> None:
        """Nothing is open."""


class Quotas:
    """Counts each edge's usage today, by kind; kept in memory and written to the database every few seconds."""

    def __init__(self, storage: Storage, most: Mapping[str, int]) -> None:
        """Args: most: Limit per day, by kind."""
        self._storage = storage
        self._most = dict(most)
        self._sums: dict[tuple[str, str, str], int] = {}
        self._unwritten: dict[tuple[str, str, str], int] = {}

    async def take(self, edge: str, kind: str, n: int = 1) -> None:
        """Count usage. Raises: Fault: 429 with how long it is until tomorrow (UTC); nothing was counted. StoreError."""
        now = self._storage.now().astimezone(dt.UTC)
        key = (edge, now.date().isoformat(), kind)
        if key not in self._sums:
            told = await run_in_threadpool(self._storage.use, {key: 0})
            self._sums.setdefault(key, told[key])
        used = self._sums[key] + self._unwritten.get(key, 0)
        most = self._most[kind]
        if used + n > most:
            tomorrow = dt.datetime.combine(now.date() + dt.timedelta(days=1), dt.time(), dt.UTC)
            raise Fault(
                429,
                "quota",
                f"{used:,} of {most:,} {kind.replace('_', ' ')} were used today; go on tomorrow (UTC), or ask the "
                f"service's keeper to raise {kind}_per_day",
                (tomorrow - now).total_seconds(),
            )
        self._unwritten[key] = self._unwritten.get(key, 0) + n

    async def write(self) -> None:
        """Write down what was used since the last time, read what other processes wrote, and drop other days."""
        amounts, self._unwritten = self._unwritten, {}
        if amounts:
            try:
                self._sums |= await run_in_threadpool(self._storage.use, amounts)
            except BaseException:
                for key, n in amounts.items():
                    self._unwritten[key] = self._unwritten.get(key, 0) + n
                raise
        today = self._storage.now().astimezone(dt.UTC).date().isoformat()
        self._sums = {key: n for key, n in self._sums.items() if key[1] == today}

    def give_back(self, edge: str, kind: str, n: int) -> None:
        """Take back what was counted today and not used after all."""
        key = (edge, self._storage.now().astimezone(dt.UTC).date().isoformat(), kind)
        self._unwritten[key] = self._unwritten.get(key, 0) - n


class AtOnce:
    """Counts what each name has under way at this moment."""

    def __init__(self, most: int, most_together: int, what: str) -> None:
        """Args: most: Of one name. most_together: Of all. what: Named in messages."""
        self._most, self._most_together, self._what = most, most_together, what
        self._n: dict[str, int] = {}
        self._n_together = 0

    def enter(self, name: str, n: int = 1) -> None:
        """Count more. Raises: Fault: 429: Too much of this name; 503: of all together; nothing was counted."""
        if self._n.get(name, 0) + n > self._most:
            raise Fault(429, "rate", f"more than {self._most:,} {self._what} at once came from here; wait for one", 1.0)
        if self._n_together + n > self._most_together:
            raise Fault(503, "busy", f"too many {self._what} are under way; ask again later", 2.0)
        if n:
            self._n[name] = self._n.get(name, 0) + n
            self._n_together += n

    def leave(self, name: str, n: int = 1) -> None:
        """Count less."""
        if not n:
            return  # a name of which nothing was counted is not known
        self._n_together -= n
        self._n[name] -= n
        if not self._n[name]:
            del self._n[name]


class Bodies:
    """Reads bodies of requests within bounds: by size, by time, by what an edge holds in memory, by its day."""

    def __init__(self, quotas: Quotas, largest_bytes: int, within_s: float) -> None:
        """Args: largest_bytes: Of the largest body of any route. within_s: Time that one may take to arrive."""
        self._quotas, self._within_s = quotas, within_s
        self._held = AtOnce(largest_bytes, _HELD_BODIES * largest_bytes, "bytes of bodies")
        self._threads: anyio.CapacityLimiter | None = None

    async def read(
        self, receive: Callable[[], Any], headers: Mapping[str, str], most_bytes: int, held: Held
    ) -> bytes | None:
        """Read the body of a request and decompress gzip; None when the client has left.

        Args:
            held: Counts the bytes as they come; to be left when the request is over.
        Raises:
            Fault: 413 too large, as sent or decompressed; 400 no gzip; 408 not in time; 415 another encoding; 429, 503
                more than this edge may hold, or send today.
        """
        coding = headers.get("content-encoding", "identity").strip().lower()
        if coding not in ("identity", "gzip", ""):
            raise Fault(415, "shape", "Content-Encoding is neither identity nor gzip; send it as one of them")
        length = headers.get("content-length", "")
        if length and not (length.isascii() and length.isdigit() and len(length) <= 18):
            raise Fault(400, "shape", "Content-Length is no number; send the number of bytes, or none")
        if length and int(length) > most_bytes:
            raise _too_much(most_bytes)
        inflating = _Inflating(most_bytes) if coding == "gzip" else None
        body = bytearray()
        n_sent = 0
        try:
            async with asyncio.timeout(self._within_s):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    piece = message.get("body", b"")
                    n_sent += len(piece)
                    if n_sent > most_bytes:
                        raise _too_much(most_bytes)
                    if inflating is None:
                        await held.take(len(piece))
                        body += piece
                    else:
                        await self._inflate(inflating, piece, body, held)
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            raise Fault(
                408, "busy", f"the request did not arrive within {self._within_s:g} s; send it again, or send less", 1.0
            ) from None
        if inflating is not None:
            inflating.end()
        return bytes(body)

    async def _inflate(self, inflating: _Inflating, piece: bytes, body: bytearray, held: Held) -> None:
        """Unpack what arrived onto `body`, each step charged before. Raises: Fault."""
        while piece:
            bound = inflating.at_most(piece)
            await held.take(bound)
            if self._threads is None:
                self._threads = anyio.CapacityLimiter(_N_UNPACKING)
            found, piece = await anyio.to_thread.run_sync(inflating.step, piece, bound, limiter=self._threads)
            held.give_back(bound - len(found))
            body += found

    def held(self, edge: str) -> Held:
        """Return a count of the bytes that a request of an edge brings; of nobody where it is empty."""
        return Held(self._quotas, self._held, edge)


class Held:
    """Bytes that one request holds, counted against its edge's memory and day."""

    def __init__(self, quotas: Quotas, at_once: AtOnce, edge: str) -> None:
        self._quotas, self._at_once, self._edge = quotas, at_once, edge
        self._n = 0

    async def take(self, n: int) -> None:
        """Count more bytes. Raises: Fault: 429, 503."""
        self._at_once.enter(self._edge, n)
        self._n += n
        if self._edge:
            await self._quotas.take(self._edge, "received_bytes", n)

    def give_back(self, n: int) -> None:
        """Count less: that many did not come after all."""
        self._at_once.leave(self._edge, n)
        self._n -= n
        if self._edge:
            self._quotas.give_back(self._edge, "received_bytes", n)

    def leave(self) -> None:
        """The request is over: its bytes are no longer held; its day stays charged."""
        n, self._n = self._n, 0
        self._at_once.leave(self._edge, n)


class _Inflating:
    """Decompresses gzip step by step, never beyond a bound."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._n_sent, self._n_found = 0, 0
        self._stream = zlib.decompressobj(zlib.MAX_WBITS | 16)

    def at_most(self, piece: bytes) -> int:
        """Return the most bytes that the next step makes of a piece."""
        return min(
            _PIECE_BYTES, self._most_bytes + 1 - self._n_found, len(piece) * _DEFLATES_AT_MOST + _PIECE_BYTES // 8
        )

    def step(self, piece: bytes, bound: int) -> tuple[bytes, bytes]:
        """Decompress up to `bound` bytes; return them and what is left of the piece. Raises: Fault: 413, 400."""
        if self._stream.eof:
            raise Fault(400, "shape", "there are bytes behind the end of the gzip body; send one body alone")
        try:
            found = self._stream.decompress(piece, bound)
        except zlib.error:
            raise Fault(400, "shape", "the body is said to be gzip and is not; send it as it says") from None
        rest = self._stream.unconsumed_tail or self._stream.unused_data
        self._n_sent += len(piece) - len(rest)
        self._n_found += len(found)
        if self._n_found > self._most_bytes:
            raise _too_much(self._most_bytes)
        if self._n_found > max(_FREE_RATIO_BYTES, _MOST_RATIO * self._n_sent):
            raise Fault(413, "size", f"the body unpacks to over {_MOST_RATIO} times its size; send it unpacked")
        return found, rest

    def end(self) -> None:
        """Check that the data is complete. Raises: Fault: 400: It was cut off."""
        if not self._stream.eof:
            raise Fault(400, "shape", "the gzip body was cut off; send it whole")


def _too_much(most_bytes: int) -> Fault:
    return Fault(413, "size", f"more than {most_bytes:,} bytes were sent; send less at once")
