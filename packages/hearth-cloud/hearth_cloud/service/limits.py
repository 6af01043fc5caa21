"""Limit how much one edge may ask: token buckets per second, quotas per day, bodies read no further than allowed.

Covered: bursts, floods, bodies without or with a wrong length, bodies that arrive drop by drop, gzip that inflates
without end, bytes after its end. Not covered: floods of connections below HTTP (left to a proxy or the kernel). Limits
per second are counted by each process alone, and daily counts are compared between processes only every few seconds, so
with several processes an edge may get somewhat more than it should.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import zlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool

from hearth_cloud.problems import Fault
from hearth_cloud.storage.cloud_storage import Storage

_MOST_BUCKETS = 20_000
_PIECE_BYTES = 65_536


class Buckets:
    """One token bucket per name."""

    def __init__(self, per_s: float, burst: int, monotonic: Callable[[], float]) -> None:
        self._per_s, self._burst, self._monotonic = per_s, float(burst), monotonic
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str, n: float = 1.0) -> None:
        """Take from a bucket. Raises: Fault: 429 with how long to wait; nothing was taken."""
        now = self._monotonic()
        left, at = self._left.get(name, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._per_s)
        if left < n:
            self._left[name] = (left, now)
            raise Fault(
                429,
                "rate",
                f"more than {self._per_s:g} requests a second came from here; wait and send it again",
                (n - left) / self._per_s,
            )
        self._left[name] = (left - n, now)
        self._left.move_to_end(name)
        if len(self._left) > _MOST_BUCKETS:
            self._left.popitem(last=False)


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


async def read_body(
    receive: Callable[[], Any], headers: Mapping[str, str], most_bytes: int, within_s: float
) -> bytes | None:
    """Read the body of a request and decompress gzip; None when the client has left.

    Raises:
        Fault: 413 too large, as sent or decompressed; 400 no gzip; 408 not in time; 415 another encoding.
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
    try:
        async with asyncio.timeout(within_s):
            n_sent = 0
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                piece = message.get("body", b"")
                n_sent += len(piece)
                if n_sent > most_bytes:
                    raise _too_much(most_bytes)
                body += inflating.of(piece) if inflating is not None else piece
                if not message.get("more_body", False):
                    break
    except TimeoutError:
        raise Fault(
            408, "busy", f"the request did not arrive within {within_s:g} s; send it again, or send less", 1.0
        ) from None
    if inflating is not None:
        inflating.end()
    return bytes(body)


class _Inflating:
    """Decompresses gzip piece by piece, never beyond a bound."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._left = most_bytes
        self._stream = zlib.decompressobj(zlib.MAX_WBITS | 16)

    def of(self, piece: bytes) -> bytes:
        """Decompress one piece. Raises: Fault: 413, 400."""
        found = bytearray()
        while piece:
            if self._stream.eof:
                raise Fault(400, "shape", "there are bytes behind the end of the gzip body; send one body alone")
            try:
                found += self._stream.decompress(piece, min(_PIECE_BYTES, self._left + 1 - len(found)))
            except zlib.error:
                raise Fault(400, "shape", "the body is said to be gzip and is not; send it as it says") from None
            if len(found) > self._left:
                raise _too_much(self._most_bytes)
            piece = self._stream.unconsumed_tail or self._stream.unused_data
        self._left -= len(found)
        return bytes(found)

    def end(self) -> None:
        """Check that the data is complete. Raises: Fault: 400: It was cut off."""
        if not self._stream.eof:
            raise Fault(400, "shape", "the gzip body was cut off; send it whole")


def _too_much(most_bytes: int) -> Fault:
    return Fault(413, "size", f"more than {most_bytes:,} bytes were sent; send less at once")
