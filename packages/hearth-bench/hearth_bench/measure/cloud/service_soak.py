"""Run `hearth cloud serve` for a day with its clock ten times as fast, and see if memory, open files or database grow.

    python -m hearth_bench.measure.cloud.service_soak               # 2.4 hours
    python -m hearth_bench.measure.cloud.service_soak --hours 1     # of the service's clock: six minutes

Writes packages/hearth-bench/results/cloud_soak.json. A thousand requests are sent in 1,000 seconds of the service's
clock (ten a second of ours): plans asked for in words that came before and in words that never came, demonstrations,
the list of tasks, the prior, and malformed requests. Every limit and lifetime is at its default and follows the fast
clock: quotas restart, kept answers age, and old data are deleted every hour. Ctrl-C ends it; what was measured until
then is written.

Not covered: rounds of statistics, TLS, a language model as teacher.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import datetime as dt
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from hearth.formats import edge_protocol
from hearth.formats.plans import plan_to_json
from hearth.testing import FIXED_NOW
from hearth_bench.measure.cloud.service_load import N_EDGES, World, children, cpu_s, make_world, memory_mb, post
from hearth_bench.measure.result_file import write_result

SEED, SPEED, RATE = 0, 10.0, 10.0
N_CONNECTIONS = 16
SAMPLE_S, CONNECTION_S = 30.0, 60.0
_START_S = 120
TOML = """\
[service]
port = 0
[teacher]
kind = "merged"
[statistics]
mode = "off"
"""


def serve(folder: Path, speed: float) -> None:
    """Run the service as `hearth cloud serve` does, except for its clocks."""
    import socket

    import uvicorn

    from hearth_cloud.cloud_settings import read_cloud_settings
    from hearth_cloud.service.logs import start_logging
    from hearth_cloud.service.service import create_app
    from hearth_cloud.storage.cloud_storage import Storage

    began, began_at = time.monotonic(), dt.datetime.now(dt.UTC)

    def monotonic() -> float:
        return (time.monotonic() - began) * speed

    def clock() -> dt.datetime:
        return began_at + dt.timedelta(seconds=monotonic())

    start_logging("warning")
    settings = read_cloud_settings(folder)
    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    with Storage.open(settings.database_url({}), clock) as storage:
        app = create_app(settings, storage, monotonic=monotonic)
        uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False)).run([listening])


@contextlib.contextmanager
def served(folder: Path, speed: float) -> Iterator[tuple[int, int]]:
    """Run the service, and yield its port and its process id."""
    (folder / "cloud.toml").write_text(TOML)
    command = [
        sys.executable,
        "-m",
        "hearth_bench.measure.cloud.service_soak",
        "--serve",
        str(folder),
        "--speed",
        str(speed),
    ]
    environ = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environ)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline()), process.pid
    finally:
        process.terminate()
        process.wait(_START_S)
        process.stdout.close()


# ── What is sent ──────────────────────────────────────────────────────────────────────────────────────────


def requests_of(world: World) -> Iterator[bytes]:
    """Yield requests without end, the same for the same seed; the first ones teach the service the tools."""
    rng = random.Random(SEED)
    said = edge_protocol.tools_hash(world.tools)
    lines = [
        {"user_request": d.request, **{n: v for n, v in plan_to_json(d.plan).items() if n.startswith("task")}}
        for d in world.held_out
        if d.plan.steps
    ]
    k = 0
    while True:
        k += 1
        token, drawn = world.tokens[k % N_EDGES], rng.random()
        if drawn < 0.7 or k < 3:
            request = rng.choice(world.held_out).request
            if rng.random() < 0.5:
                request += f" for {rng.randrange(10**9)}"  # a request that nobody made before
            body: dict[str, object] = {"id": f"q{k}", "request": request, "now": FIXED_NOW.isoformat()}
            body |= {"tools": world.tools} if k < 3 else {"tools": [], "tools_sha256": said}
            yield post("/v1/plans", body, token)
        elif drawn < 0.82:
            line = {**rng.choice(lines), "id": f"d{k}"}
            yield post("/v1/demonstrations", {"id": f"m{k}", "demonstrations": [line]}, token)
        elif drawn < 0.94:
            yield get(rng.choice(("/v1/hello", "/v1/tasks", "/v1/prior?profile=large", "/metrics")), token)
        elif drawn < 0.97:
            yield get("/v1/tasks", "nobody's")
        else:
            yield post("/v1/plans", {"id": f"b{k}", "request": "x" * rng.randrange(20_000), "more": [k]}, token)


def get(path: str, token: str) -> bytes:
    return (
        f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        f"{edge_protocol.PROTOCOL_HEADER}: 1\r\n\r\n"
    ).encode()


class Soak:
    """Clients of the service, and the measurements."""

    def __init__(self, world: World, port: int, pid: int) -> None:
        self._port, self._pid, self._folder = port, pid, world.folder
        self._requests = requests_of(world)
        self.statuses: dict[int, int] = {}
        self.taken_ms: list[float] = []
        self.samples: list[dict[str, float]] = []
        self.n_broken = 0

    async def run(self, seconds: float, rate: float) -> None:
        """Send requests for the given time; one that waits for a connection counts from when it was due."""
        due: asyncio.Queue[tuple[float, bytes] | None] = asyncio.Queue()
        asking = [asyncio.create_task(self._connection(due)) for _ in range(N_CONNECTIONS)]
        rng, began = random.Random(SEED), time.perf_counter()
        at, sample_at = began, began + SAMPLE_S
        while at < began + seconds:
            await asyncio.sleep(max(0.0, at - time.perf_counter()))
            due.put_nowait((at, next(self._requests)))
            at += rng.expovariate(rate)
            if at >= sample_at:
                self._sample(time.perf_counter() - began, due.qsize())
                sample_at += SAMPLE_S
        for _ in asking:
            due.put_nowait(None)
        await asyncio.gather(*asking)
        self._sample(time.perf_counter() - began, 0)

    async def _connection(self, due: asyncio.Queue[tuple[float, bytes] | None]) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        opened = time.perf_counter()
        while (one := await due.get()) is not None:
            if time.perf_counter() - opened > CONNECTION_S:
                writer.close()
                reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
                opened = time.perf_counter()
            at, request = one
            try:
                status = await _answer(reader, writer, request)
            except (OSError, EOFError):  # the service had closed an idle connection
                reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
                self.n_broken += 1
                status = await _answer(reader, writer, request)
            self.statuses[status] = self.statuses.get(status, 0) + 1
            self.taken_ms.append((time.perf_counter() - at) * 1000)
        writer.close()

    def _sample(self, seconds: float, n_waiting: int) -> None:
        rss_mb, pss_mb = memory_mb(self._pid)
        n_files = sum(len(os.listdir(f"/proc/{one}/fd")) for one in [self._pid, *children(self._pid)])
        database = sum(path.stat().st_size for path in self._folder.glob("cloud.db*"))
        sample = {
            "s": round(seconds), "n": len(self.taken_ms), "waiting": n_waiting, "rss_mb": round(rss_mb, 1),
            "pss_mb": round(pss_mb, 1), "open_files": n_files, "database_mb": round(database / 1e6, 2),
        }  # fmt: skip
        self.samples.append(sample)
        print(json.dumps(sample), file=sys.stderr, flush=True)


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> int:
    """Send a request, read the whole answer, and return its status."""
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
    await reader.readexactly(length)
    return int(head[9:12])


# ── Told ──────────────────────────────────────────────────────────────────────────────────────────────────


def told(soak: Soak, speed: float, rate: float, cpu: float) -> dict[str, object]:
    """Return the results; growth is the slope over the second half, per day of the service's clock."""
    half = soak.samples[len(soak.samples) // 2 :]
    days = [sample["s"] * speed / 86_400 for sample in half]
    slope = {
        name: float(np.polyfit(days, [sample[name] for sample in half], 1)[0]) if len(half) > 2 else float("nan")
        for name in ("pss_mb", "open_files")
    }
    lasted_s = soak.samples[-1]["s"]
    return {
        "hours_of_the_service": round(lasted_s * speed / 3600, 2),
        "speed": speed,
        "rate_per_s": rate,
        "n_requests": len(soak.taken_ms),
        "answers": {str(status): k for status, k in sorted(soak.statuses.items())},
        "connections_begun_anew_by_the_service": soak.n_broken,
        "p50_ms": round(float(np.percentile(soak.taken_ms, 50)), 1),
        "p99_ms": round(float(np.percentile(soak.taken_ms, 99)), 1),
        "server_cpu_share": round(cpu / max(lasted_s, 1), 3),
        "pss_mb_first": soak.samples[0]["pss_mb"],
        "pss_mb_half": half[0]["pss_mb"],
        "pss_mb_last": soak.samples[-1]["pss_mb"],
        "pss_mb_growth_a_day_in_the_second_half": round(slope["pss_mb"], 2),
        "open_files_growth_a_day_in_the_second_half": round(slope["open_files"], 2),
        "samples": soak.samples,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=24.0, help="of the service's clock")
    parser.add_argument("--speed", type=float, default=SPEED)
    parser.add_argument("--rate", type=float, default=RATE, help="requests a second of our clock")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.speed)
        return
    started, before = time.perf_counter(), os.times()
    with tempfile.TemporaryDirectory() as folder:
        world = make_world(Path(folder), ["large"])
        with served(world.folder, options.speed) as (port, pid):
            soak = Soak(world, port, pid)
            with contextlib.suppress(KeyboardInterrupt):
                asyncio.run(soak.run(options.hours * 3600 / options.speed, options.rate))
            results = told(soak, options.speed, options.rate, cpu_s(pid))
    spent = sum(os.times()[:4]) - sum(before[:4])
    write_result("cloud_soak", results, seed=SEED, cpu_s=spent, wall_s=time.perf_counter() - started)


if __name__ == "__main__":
    main()
