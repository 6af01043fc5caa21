"""Measure `hearth cloud serve` on this machine: plans per second, latency and memory, with clients on the same cores.

    python -m hearth_bench.measure.cloud.service_load

Writes packages/hearth-bench/results/cloud_service.json in some five minutes;
`python -m hearth_bench.measure.cloud.service_soak` serves for a day at ten times the speed.

The teacher is a student merged from eight devices' statistics over the shipped demonstrations, of which a part is held
out and asked for. Every plan is made anew (`cached_plans = 0`) unless a row says otherwise. Requests are sent at a
given rate whether or not answers have come, and a latency counts from the moment a request was due, so a server that
stalls cannot hide it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from hearth.formats import edge_protocol
from hearth.formats.plans import read_demonstrations, tool_to_json
from hearth.learning.versions.drafting import begun
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.arguments.schema_filler import Filler
from hearth.planning.ranking.ranker import PROFILES, ProfileName, Ranker
from hearth.planning.ranking.sufficient_statistics import decode, encode, merged
from hearth.registry import load_tools
from hearth.testing import FIXED_NOW
from hearth.types import Context, Demonstration
from hearth_bench.measure.result_file import ROOT, write_result
from hearth_cloud.statistics.signing import make_key
from hearth_cloud.storage.access_tokens import issue
from hearth_cloud.storage.cloud_storage import Storage

SEED = 0
N_EDGES = 64
N_TAUGHT = 1500
N_MERGED = 8
RATE, SECONDS, WARM_S = 300.0, 10.0, 2.0
_START_S = 60
_N_ROUNDS = 5
DEMONSTRATIONS = ROOT / "src" / "hearth" / "data" / "demonstrations.jsonl"


@dataclass(frozen=True)
class Setting:
    """Configuration of a service and its load."""

    name: str
    workers: int = 1
    profile: ProfileName = "large"
    arguments: str = "finders"
    batch: int = 16
    batch_ms: float = 4.0
    cached: int = 0
    whole_tools: bool = False
    """True: tools are sent in full with every request, not by their hash."""
    rate: float = RATE


SETTINGS = (
    Setting("asked"),
    Setting("two processes", workers=2),
    Setting("no waiting for a batch", batch_ms=0.0),
    Setting("no batches", batch=1, batch_ms=0.0),
    Setting("arguments left to the edge", arguments="edge"),
    Setting("arguments read, too", arguments="reader", rate=40.0),
    Setting("medium prior", profile="medium"),
    Setting("tools with every request", whole_tools=True),
    Setting("100 a second", rate=100.0),
    Setting("answers kept", cached=4096),
    Setting("answers kept, two processes", cached=4096, workers=2),
    Setting("answers kept, 1000 a second", cached=4096, rate=1000.0),
)


# ── What is served ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class World:
    folder: Path
    tokens: tuple[str, ...]
    held_out: tuple[Demonstration, ...]
    tools: list[dict[str, object]]


def make_world(folder: Path, profiles: Sequence[ProfileName]) -> World:
    """Make a service's folder with edges and priors."""
    demonstrations = list(read_demonstrations(DEMONSTRATIONS))
    random.Random(SEED).shuffle(demonstrations)
    specs = load_tools(None).specs
    taught, held_out = demonstrations[:N_TAUGHT], demonstrations[N_TAUGHT:]
    encoder = MiniLMEncoder.open()
    make_key(folder / "cloud.key")
    with Storage.open(f"sqlite:///{folder / 'cloud.db'}") as storage:
        tokens = tuple(issue(storage, f"edge-{k}", None).text for k in range(N_EDGES))
        for profile in profiles:
            shown = Ranker(encoder, specs, PROFILES[profile])
            shown.learn(taught)
            ids = shown.ids
            parts = [shown.statistics(set(specs), ids=ids[k::N_MERGED]) for k in range(N_MERGED)]
            prior = begun(merged(parts), shown, set(specs), is_in_prior=True)
            data = encode(prior)
            manifest = edge_protocol.Manifest(
                kind="prior", sha256=storage.put_blob(data), n_bytes=len(data), fingerprint=prior.fingerprint,
                n_edges=prior.n_edges, n_demonstrations=prior.n_demonstrations, serial=1, made=FIXED_NOW,
            )  # fmt: skip
            storage.put_manifest(f"prior {profile}", 1, manifest.model_dump_json(), manifest.sha256)
    tools: list[dict[str, object]] = [dict(tool_to_json(spec)) for spec in specs.values()]
    return World(folder, tokens, tuple(held_out), tools)


TOML = """\
[service]
port = 0
workers = {workers}
[teacher]
kind = "merged"
profile = "{profile}"
arguments = "{arguments}"
[limits]
requests_per_s = 1000.0
burst = 2000
plans_per_day = 100000000
new_tools_per_day = 100000000
demonstrations_per_day = 100000000
received_bytes_per_day = 100000000000
batch = {batch}
batch_ms = {batch_ms}
cached_plans = {cached}
[statistics]
mode = "off"
"""


@contextlib.contextmanager
def served(world: World, setting: Setting) -> Iterator[tuple[int, int]]:
    """Run the service, and yield its port and the id of its first process."""
    values = {
        name: getattr(setting, name) for name in ("workers", "profile", "arguments", "batch", "batch_ms", "cached")
    }
    (world.folder / "cloud.toml").write_text(TOML.format(**values))
    command = [sys.executable, "-m", "hearth", "cloud", "--folder", str(world.folder), "serve", "--log", "warning"]
    environ = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    log = world.folder / "log"
    with log.open("w") as stream:
        process = subprocess.Popen(command, stderr=stream, env=environ)
    try:
        until = time.perf_counter() + _START_S
        while "Serving" not in (said := log.read_text()):
            assert time.perf_counter() < until, "the service did not start"
            time.sleep(0.05)
        port = urlsplit(said.partition("Serving at ")[2].partition(";")[0]).port
        assert port is not None
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(_START_S)


def memory_mb(pid: int) -> tuple[float, float]:
    """Return the memory of a process and its children: total resident, and with shared pages counted once."""
    rss = pss = 0.0
    for one in [pid, *children(pid)]:
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{one}/smaps_rollup").read_text().splitlines():
                rss += int(line.split()[1]) / 1024 if line.startswith("Rss:") else 0
                pss += int(line.split()[1]) / 1024 if line.startswith("Pss:") else 0
    return rss, pss


def peak_mb(pid: int) -> float:
    """Return the sum of the peak memory of a process and of each child, including while they solved a prior."""
    total = 0.0
    for one in [pid, *children(pid)]:
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{one}/status").read_text().splitlines():
                total += int(line.split()[1]) / 1024 if line.startswith("VmHWM:") else 0
    return total


def cpu_s(pid: int) -> float:
    """Return the processor time of a process and its children."""
    total = 0.0
    for one in [pid, *children(pid)]:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def children(pid: int) -> list[int]:
    try:
        own = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return own + [child for one in own for child in children(one)]


# ── Who asks ──────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Load:
    """Raw requests, sent at a rate over a number of connections."""

    port: int
    requests: tuple[bytes, ...]
    rate: float
    seconds: float
    n_connections: int = N_EDGES


def plan_requests(world: World, whole_tools: bool) -> tuple[bytes, ...]:
    """Return one request of each held-out demonstration, the edges taking turns."""
    said = edge_protocol.tools_hash(world.tools)
    found = []
    for k, one in enumerate(world.held_out):
        body: dict[str, object] = {"id": f"q{k}", "request": one.request, "now": FIXED_NOW.isoformat()}
        body |= {"tools": world.tools} if whole_tools else {"tools": [], "tools_sha256": said}
        found.append(post("/v1/plans", body, world.tokens[k % N_EDGES]))
    return tuple(found)


def post(path: str, body: Mapping[str, object], token: str) -> bytes:
    raw = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        f"{edge_protocol.PROTOCOL_HEADER}: 1\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n"
    )
    return head.encode() + raw


async def _drive(load: Load) -> tuple[list[float], dict[int, int], float]:
    """Return latencies in ms since each was due, answers by status, and seconds from the first request to the last
    answer."""
    due: asyncio.Queue[tuple[float, bytes] | None] = asyncio.Queue()
    taken: list[float] = []
    statuses: dict[int, int] = {}

    async def connection() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", load.port)
        while (one := await due.get()) is not None:
            at, request = one
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
            await reader.readexactly(length)
            status = int(head[9:12])
            statuses[status] = statuses.get(status, 0) + 1
            taken.append((time.perf_counter() - at) * 1000)
        writer.close()

    connections = [asyncio.create_task(connection()) for _ in range(load.n_connections)]
    rng, began, k = random.Random(SEED), time.perf_counter(), 0
    at = began
    while at < began + load.seconds:
        wait_s = at - time.perf_counter()
        if wait_s > 0:
            await asyncio.sleep(wait_s)
        due.put_nowait((at, load.requests[k % len(load.requests)]))
        k += 1
        at += rng.expovariate(load.rate)
    for _ in connections:
        due.put_nowait(None)
    await asyncio.gather(*connections)
    return taken, statuses, time.perf_counter() - began


Asked = tuple[list[float], dict[int, int], float, float]


def _client(load: Load, told: multiprocessing.Queue[Asked]) -> None:
    import uvloop

    began = time.process_time()
    taken, statuses, lasted_s = uvloop.run(_drive(load))
    told.put((taken, statuses, lasted_s, time.process_time() - began))


def asked(load: Load) -> Asked:
    """Run `_drive` in a process of its own; the last value is that process's processor time."""
    context = multiprocessing.get_context("spawn")
    told = context.Queue()
    process = context.Process(target=_client, args=(load, told))
    process.start()
    found: Asked = told.get(timeout=load.seconds * 6 + 60)
    process.join()
    return found


# ── Measuring ─────────────────────────────────────────────────────────────────────────────────────────────


def measured(world: World, setting: Setting, seconds: float) -> dict[str, object]:
    """Measure plans per second and latencies of one setting."""
    requests = plan_requests(world, setting.whole_tools)
    whole = plan_requests(replace(world, held_out=world.held_out[:1]), whole_tools=True)
    with served(world, setting) as (port, pid):
        asked(Load(port, whole, 4.0 * setting.workers, 3.0, 16))  # every process solves its student and knows the tools
        asked(Load(port, requests, setting.rate / 2, WARM_S))
        before = cpu_s(pid)
        taken, statuses, lasted_s, client_s = asked(Load(port, requests, setting.rate, seconds))
        server_s = cpu_s(pid) - before
        rss, pss = memory_mb(pid)
        peak = peak_mb(pid)
    p50, p99 = np.percentile(taken, [50, 99])
    n_good = statuses.get(200, 0)
    return {
        "rate_asked_per_s": setting.rate,
        "plans_per_s": round(n_good / lasted_s, 1),
        "p50_ms": round(float(p50), 1),
        "p99_ms": round(float(p99), 1),
        "max_ms": round(max(taken), 1),
        "answers": {str(status): n for status, n in sorted(statuses.items())},
        "server_cpu_ms_per_plan": round(server_s / max(len(taken), 1) * 1000, 2),
        "client_cpu_ms_per_plan": round(client_s / max(len(taken), 1) * 1000, 2),
        "rss_mb": round(rss, 1),
        "pss_mb": round(pss, 1),
        "peak_rss_mb": round(peak, 1),
        "sent_for_s": seconds,
        "lasted_s": round(lasted_s, 1),
        "load_average": round(os.getloadavg()[0], 1),
    }


def student_of(world: World, profile: ProfileName) -> Ranker:
    """Return the merged student, as the service makes it."""
    with Storage.open(f"sqlite:///{world.folder / 'cloud.db'}") as storage:
        said = storage.manifest(f"prior {profile}")
        assert said is not None
        data = storage.read_blob(edge_protocol.read(edge_protocol.Manifest, said.encode()).sha256)
    student = Ranker.of_prior(MiniLMEncoder.open(n_threads=1), PROFILES[profile], decode(data))
    student.set_tools(load_tools(None).specs)
    return student


def quality(world: World, student: Ranker) -> dict[str, float]:
    """Measure how often the merged student plans held-out requests with the right tools, so that speed is not all."""
    planned = [one for one in world.held_out if one.plan.steps]
    rankings = student.rank_readings(student.read([one.request for one in planned]))
    exact = sum(
        bool(r.candidates) and r.candidates[0].tools == tuple(s.tool for s in d.plan.steps)
        for d, r in zip(planned, rankings)
    )
    return {"n": len(planned), "exact_tools": round(exact / len(planned), 3)}


def costs(world: World, student: Ranker, n_batch: int = 16) -> dict[str, float]:
    """Measure processor time per plan in batches, without the service around it: the least of a few rounds."""
    texts = [one.request for one in world.held_out]
    filler, specs = Filler(None, None), load_tools(None).specs
    least = dict.fromkeys(("reading_ms", "ranking_ms", "arguments_ms"), float("inf"))
    for _ in range(_N_ROUNDS):
        at = [time.process_time()]
        readings = [r for k in range(0, len(texts), n_batch) for r in student.read(texts[k : k + n_batch])]
        at.append(time.process_time())
        rankings = [
            r for k in range(0, len(readings), n_batch) for r in student.rank_readings(readings[k : k + n_batch])
        ]
        at.append(time.process_time())
        for text, ranking in zip(texts, rankings):
            filler.fill(text, [specs[tool] for tool in ranking.candidates[0].tools], FIXED_NOW, Context())
        at.append(time.process_time())
        taken = [(b - a) / len(texts) * 1000 for a, b in pairwise(at)]
        least = {name: min(was, now) for (name, was), now in zip(least.items(), taken)}
    return {name: round(ms, 2) for name, ms in least.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each measurement")
    parser.add_argument("--only", default="", metavar="NAME", help="one setting, printed and not written")
    parser.add_argument("--some", default="", metavar="NAME,NAME", help="these settings alone, written")
    parser.add_argument("--world", type=Path, metavar="DIR", help="keep the service's folder there, for the next time")
    options = parser.parse_args()
    started, before = time.perf_counter(), os.times()
    names = {name for name in options.some.split(",") if name}
    chosen = [s for s in SETTINGS if options.only in ("", s.name) and (not names or s.name in names)]
    profiles = sorted({s.profile for s in chosen})
    with tempfile.TemporaryDirectory() as temporary:
        world = world_in(options.world or Path(temporary), ["large", "medium"] if options.world else profiles)
        results: dict[str, object] = {s.name: measured(world, s, options.seconds) for s in chosen}
        students = {profile: student_of(world, profile) for profile in profiles}
        results["quality"] = {profile: quality(world, student) for profile, student in students.items()}
        results["costs"] = {profile: costs(world, student) for profile, student in students.items()}
    if options.only:
        print(json.dumps(results, indent=2))
        return
    spent = sum(os.times()[:4]) - sum(before[:4])
    write_result("cloud_service", results, seed=SEED, cpu_s=spent, wall_s=time.perf_counter() - started)


def world_in(folder: Path, profiles: Sequence[ProfileName]) -> World:
    """Return a new world, or the one that was kept in the folder."""
    kept = folder / "tokens.json"
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        made = make_world(folder, profiles)
        kept.write_text(json.dumps(made.tokens))
        return made
    demonstrations = list(read_demonstrations(DEMONSTRATIONS))
    random.Random(SEED).shuffle(demonstrations)
    tools: list[dict[str, object]] = [dict(tool_to_json(spec)) for spec in load_tools(None).specs.values()]
    return World(folder, tuple(json.loads(kept.read_text())), tuple(demonstrations[N_TAUGHT:]), tools)


if __name__ == "__main__":
    main()
