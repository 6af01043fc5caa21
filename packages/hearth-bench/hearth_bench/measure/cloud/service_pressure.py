"""Measure what others notice while somebody presses on `hearth cloud serve`: with and without the proxy before it.

    python -m hearth_bench.measure.cloud.service_pressure [--seconds 20] [--small]

Writes packages/hearth-bench/results/cloud_pressure.json in some five minutes. `--small` prints a short run and writes
nothing.

Each attack runs in a process of its own, from 127.0.0.2, on the same cores as the service. Meanwhile `/healthz` is
asked 25 times a second and eight edges ask for 40 plans a second, each request due at its own time whether or not the
one before has come back. The teacher is recorded, so a plan's time is the service's own and a slow-down is seen most
clearly. The proxy is HAProxy with `deploy/proxy/haproxy.cfg`; without HAProxy on the machine those rows are left out.
On a machine with other work, `nice -n -10` puts all of it, the attacker too, before that work; the file says so.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import datetime as dt
import json
import multiprocessing
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from hearth.formats import edge_protocol
from hearth_bench.measure.result_file import ROOT, write_result
from hearth_cloud.statistics.artifacts import MadeOf, offer
from hearth_cloud.statistics.signing import make_key
from hearth_cloud.storage.access_tokens import issue
from hearth_cloud.storage.cloud_storage import Storage

SEED = 0
N_EDGES, PLANS_PER_S, HEALTH_PER_S = 8, 40.0, 25.0
SECONDS, WARM_S = 20.0, 2.0
_ATTACKER = "127.0.0.2"
_START_S = 60.0
_LATE_S = 30.0
_TOML = """\
[service]
port = 0
proxies = ["127.0.0.1"]
[teacher]
kind = "recorded"
path = "plans.jsonl"
[limits]
requests_per_s = 1000.0
burst = 1000
cached_plans = 0
[statistics]
mode = "plain"
"""
_PLAN = '{"id": "1", "user_request": "water the garden", "task_nodes": [{"task": "sprinkler_on", "arguments": []}]}\n'


@dataclass(frozen=True)
class Place:
    """Where the service is reached."""

    port: int
    certificate: str = ""
    """PEM file of the proxy's certificate; empty: no TLS."""

    def context(self) -> ssl.SSLContext | None:
        return ssl.create_default_context(cafile=self.certificate) if self.certificate else None


@dataclass(frozen=True)
class World:
    folder: Path
    tokens: tuple[str, ...]
    attackers: tuple[str, ...]
    blob: str


# ── The service and its proxy ─────────────────────────────────────────────────────────────────────────────


def make_world(folder: Path) -> World:
    """Make a service's folder with edges, and a prior large enough to be read slowly."""
    (folder / "cloud.toml").write_text(_TOML)
    (folder / "plans.jsonl").write_text(_PLAN)
    key = make_key(folder / "cloud.key")
    with Storage.open(f"sqlite:///{folder / 'cloud.db'}") as storage:
        tokens = tuple(issue(storage, f"edge-{k}", None).text for k in range(N_EDGES))
        attackers = tuple(issue(storage, f"attacker-{k}", None).text for k in range(4))
        blob = offer(storage, key, "prior", "large", os.urandom(8_000_000), MadeOf("f")).sha256
    return World(folder, tokens, attackers, blob)


@contextlib.contextmanager
def served(folder: Path) -> Iterator[tuple[int, int]]:
    """Run the service; yield its port and the id of its process."""
    command = [sys.executable, "-m", "hearth", "cloud", "--folder", str(folder), "serve", "--log", "warning"]
    log = folder / "log"
    with log.open("w") as stream:
        process = subprocess.Popen(command, stderr=stream)
    try:
        until = time.perf_counter() + _START_S
        while "Serving" not in (said := log.read_text()):
            assert time.perf_counter() < until, "the service did not start"
            time.sleep(0.05)
        port = urlsplit(said.partition("Serving at ")[2].partition(";")[0]).port
        assert port is not None
        health = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        assert asyncio.run(Line(Place(port)).ask(health)) == 200, log.read_text()
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(_START_S)


@contextlib.contextmanager
def proxied(folder: Path, service_port: int) -> Iterator[Place | None]:
    """Run the deployed proxy before the service; None where HAProxy is not installed."""
    program = shutil.which("haproxy")
    if program is None:
        yield None
        return
    certificate = _certificate(folder)
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
    said = (ROOT / "deploy" / "proxy" / "haproxy.cfg").read_text()
    for deployed, here in (
        (":8443", f"127.0.0.1:{port}"),
        ("/etc/haproxy/tls/hearth.pem", str(certificate)),
        ("server-template cloud 16", "server cloud1"),
        ('"${HEARTH_CLOUD_HOST}:8420"', f"127.0.0.1:{service_port}"),
        ("maxconn 20000", "maxconn 4000"),
        ("http_req_rate gt 400", "http_req_rate gt 4000"),  # all honest edges have one address here
    ):
        said = said.replace(deployed, here)
    (folder / "haproxy.cfg").write_text(said)
    with (folder / "haproxy.log").open("w") as stream:
        process = subprocess.Popen([program, "-db", "-f", str(folder / "haproxy.cfg")], stdout=stream, stderr=stream)
    try:
        time.sleep(1.0)
        assert process.poll() is None, (folder / "haproxy.log").read_text()
        yield Place(port, str(certificate))
    finally:
        process.terminate()
        process.wait(_START_S)


def _certificate(folder: Path) -> Path:
    key, now = ec.generate_private_key(ec.SECP256R1()), dt.datetime.now(dt.UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now - dt.timedelta(1)).not_valid_after(now + dt.timedelta(1))
    made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path = folder / "hearth.pem"
    path.write_bytes(made.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM) + pem)
    return path


# ── Honest clients ────────────────────────────────────────────────────────────────────────────────────────


class Line:
    """One connection that is used again, and made anew when it was lost."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: bytes) -> int:
        """Send a request; return the status, 0 where there was no answer."""
        try:
            async with asyncio.timeout(_LATE_S):
                if self._streams is None:
                    host = "localhost" if self._place.certificate else None
                    self._streams = await asyncio.open_connection(
                        "127.0.0.1", self._place.port, ssl=self._place.context(), server_hostname=host
                    )
                reader, writer = self._streams
                writer.write(request)
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
                await reader.readexactly(length)
                return int(head[9:12])
        except (OSError, TimeoutError, asyncio.IncompleteReadError, ValueError):
            if self._streams is not None:
                self._streams[1].close()
            self._streams = None
            return 0


async def _paced(
    lines: list[Line], request: Callable[[int], bytes], rate: float, seconds: float
) -> tuple[list[float], Counter[int]]:
    """Send requests at a rate; return latencies in ms from the moment each was due, and the statuses."""
    free: asyncio.Queue[Line] = asyncio.Queue()
    for line in lines:
        free.put_nowait(line)
    taken: list[float] = []
    statuses: Counter[int] = Counter()
    began = time.perf_counter()

    async def one(k: int, due: float) -> None:
        line = await free.get()
        status = await line.ask(request(k))
        free.put_nowait(line)
        taken.append((time.perf_counter() - due) * 1000)
        statuses[status] += 1

    tasks = []
    for k in range(int(rate * seconds)):
        due = began + k / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        tasks.append(asyncio.create_task(one(k, due)))
    await asyncio.gather(*tasks)
    return taken, statuses


def _plan_request(world: World, k: int) -> bytes:
    body = json.dumps(
        {
            "id": f"p{k}",
            "request": "Water the garden",
            "now": "2026-09-07T08:00:00+02:00",
            "tools": [{"id": "sprinkler_on", "desc": "Water the garden."}],
        }
    ).encode()
    return _head("POST", "/v1/plans", world.tokens[k % N_EDGES], len(body)) + body


def _head(method: str, path: str, token: str, n_bytes: int = 0, more: str = "") -> bytes:
    said = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{edge_protocol.PROTOCOL_HEADER}: 1\r\n"
    said += f"Authorization: Bearer {token}\r\n{more}"
    return (said + f"Content-Type: application/json\r\nContent-Length: {n_bytes}\r\n\r\n").encode()


async def _watched(place: Place, world: World, seconds: float) -> dict[str, object]:
    health = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    looked, planned = await asyncio.gather(
        _paced([Line(place) for _ in range(4)], lambda _: health, HEALTH_PER_S, seconds),
        _paced([Line(place) for _ in range(16)], lambda k: _plan_request(world, k), PLANS_PER_S, seconds),
    )
    return {"healthz": _numbers(*looked), "plans": _numbers(*planned)}


def _numbers(taken: list[float], statuses: Counter[int]) -> dict[str, object]:
    p50, p99 = np.percentile(taken, [50, 99])
    return {
        "p50_ms": round(float(p50), 1),
        "p99_ms": round(float(p99), 1),
        "max_ms": round(max(taken), 1),
        "answers": {str(status or "none"): n for status, n in sorted(statuses.items())},
    }


# ── Attacks ───────────────────────────────────────────────────────────────────────────────────────────────


async def _connected(place: Place, *, is_spoken: bool = True) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Open a connection from the attacker's address; one that is not spoken on does no handshake."""
    context = place.context() if is_spoken else None
    host = "localhost" if context is not None else None
    return await asyncio.open_connection(
        "127.0.0.1", place.port, ssl=context, server_hostname=host, local_addr=(_ATTACKER, 0)
    )


async def idle(place: Place, world: World, told: Counter[str]) -> None:
    """2,200 connections that say nothing, made again when they are ended."""

    async def one() -> None:
        while True:
            try:
                reader, writer = await _connected(place, is_spoken=False)
                told["connected"] += 1
                await reader.read()
                writer.close()
                told["ended"] += 1
            except OSError:
                told["refused"] += 1
            await asyncio.sleep(1.0)

    await asyncio.gather(*(one() for _ in range(2_200)))


async def bombs(place: Place, world: World, told: Counter[str]) -> None:
    """1,000 bodies of 62 kB that unpack to 64 MB each, forty at once, with one token."""
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    packed = b"".join(packer.compress(bytes(1_000_000)) for _ in range(63)) + packer.flush()
    request = _head("POST", "/v1/statistics", world.attackers[0], len(packed), "Content-Encoding: gzip\r\n") + packed
    left = iter(range(1_000))

    async def one() -> None:
        for _ in left:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                reader, writer = await _connected(place)
                writer.write(request)
                told[(await reader.readuntil(b"\r\n"))[9:12].decode()] += 1
                writer.close()

    await asyncio.gather(*(one() for _ in range(40)))


async def slow_readers(place: Place, world: World, told: Counter[str]) -> None:
    """64 connections of four tokens that ask for eight megabytes and read none of it."""

    async def one(k: int) -> None:
        while True:
            with contextlib.suppress(OSError):
                _, writer = await _connected(place)
                writer.transport.pause_reading()  # type: ignore[attr-defined]
                writer.write(_head("GET", f"/v1/blobs/{world.blob}", world.attackers[k % len(world.attackers)]))
                told["asked"] += 1
                await asyncio.sleep(15)
                writer.close()

    await asyncio.gather(*(one(k) for k in range(64)))


async def slow_writers(place: Place, world: World, told: Counter[str]) -> None:
    """200 connections of four tokens whose bodies arrive a byte a second."""

    async def one(k: int) -> None:
        while True:
            with contextlib.suppress(OSError):
                _, writer = await _connected(place)
                writer.write(_head("POST", "/v1/plans", world.attackers[k % len(world.attackers)], 1_000))
                told["asked"] += 1
                for _ in range(60):
                    await asyncio.sleep(1.0)
                    if writer.transport.is_closing():
                        break
                    writer.write(b" ")
                writer.close()

    await asyncio.gather(*(one(k) for k in range(200)))


Attack = Callable[[Place, World, Counter[str]], Awaitable[None]]
ATTACKS: Mapping[str, Attack | None] = {
    "nobody": None,
    "2,200 idle connections": idle,
    "1,000 bombs": bombs,
    "slow readers": slow_readers,
    "slow writers": slow_writers,
}


def _attack(name: str, place: Place, world: World, seconds: float, told: multiprocessing.Queue[dict[str, int]]) -> None:
    attack = ATTACKS[name]
    assert attack is not None
    counted: Counter[str] = Counter()

    async def run() -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await attack(place, world, counted)

    asyncio.run(run())
    told.put(dict(counted))


def measured(name: str, place: Place, world: World, pid: int, seconds: float) -> dict[str, object]:
    """Return what honest clients notice during an attack."""
    context = multiprocessing.get_context("spawn")
    told = context.Queue()
    process = None
    if ATTACKS[name] is not None:
        process = context.Process(target=_attack, args=(name, place, world, seconds + WARM_S + 4, told))
        process.start()
        time.sleep(4.0)  # it has begun
    asyncio.run(_watched(place, world, WARM_S))
    found = asyncio.run(_watched(place, world, seconds))
    found["load_average"] = round(os.getloadavg()[0], 1)
    found["service_rss_mb"] = round(_rss_mb(pid), 1)
    if process is not None:
        found["attacker_was_told"] = told.get(timeout=60)
        process.join()
    return found


def _rss_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def run(seconds: float, names: list[str]) -> dict[str, object]:
    """Measure each attack, each on a fresh service, with and without the proxy."""
    found: dict[str, dict[str, object]] = {"direct": {}, "behind HAProxy": {}}
    for name in names:
        for way in found:
            with tempfile.TemporaryDirectory() as temporary:
                world = make_world(Path(temporary))
                with served(world.folder) as (port, pid), proxied(world.folder, port) as proxy:
                    place = proxy if way != "direct" else Place(port)
                    if place is not None:
                        found[way][name] = measured(name, place, world, pid, seconds)
    for rows in found.values():
        usual = rows.get("nobody")
        for one in rows.values():
            if isinstance(one, dict) and isinstance(usual, dict):
                one["plans_p50_times_usual"] = round(one["plans"]["p50_ms"] / usual["plans"]["p50_ms"], 2)
                one["plans_p99_times_usual"] = round(one["plans"]["p99_ms"] / usual["plans"]["p99_ms"], 2)
    rates = {"plans_per_s": PLANS_PER_S, "healthz_per_s": HEALTH_PER_S}
    return {**rates, "seconds": seconds, "nice": os.nice(0), **found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each measurement")
    parser.add_argument("--only", default="", metavar="NAME", help="one attack beside nobody, printed and not written")
    parser.add_argument("--small", action="store_true", help="three seconds each, printed and not written")
    options = parser.parse_args()
    started, before = time.perf_counter(), os.times()
    names = [name for name in ATTACKS if options.only in ("", name) or name == "nobody"]
    found = run(3.0 if options.small else options.seconds, names)
    if options.only or options.small:
        print(json.dumps(found, indent=2))
        return
    after = os.times()
    cpu_s = after.user + after.system + after.children_user + after.children_system - before.user - before.system
    write_result("cloud_pressure", found, seed=SEED, cpu_s=cpu_s, wall_s=time.perf_counter() - started)


if __name__ == "__main__":
    main()
