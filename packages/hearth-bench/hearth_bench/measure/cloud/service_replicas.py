"""Measure replicas of `hearth cloud serve` behind HAProxy, and kill each part while a secret round is under way.

    python -m hearth_bench.measure.cloud.service_replicas [--replicas 2 4 8] [--seconds 10]

Writes packages/hearth-bench/results/cloud_replicas.json in some five minutes. Needs PostgreSQL, Redis (or Valkey) and
HAProxy (Debian's packages) and an S3-compatible store (`moto_server`); all run as processes on this machine, as do the
replicas and the clients.

*Speed*: 32 connections ask one after the other for plans by a recorded teacher, nothing cached, so what is measured is
the service, its proxy and its database; meanwhile devices send demonstrations. *Limits*: one token asks as fast as it
can, over all replicas. *Kills*: eight devices hold a secret round (profile `small`) while, turn by turn, a replica,
Redis, PostgreSQL, the object store and at last all replicas are killed or held; devices try again as theirs do. What
was acknowledged has to be there at the end, and the sum has to be the exact one.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import json
import os
import pwd
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import numpy as np
import psycopg

from hearth.agent import shipped_demonstrations
from hearth.edge.federation import Keys, Participant
from hearth.formats import edge_protocol
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.ranking.ranker import PROFILES, Ranker
from hearth.planning.ranking.sufficient_statistics import (
    Statistics,
    decode,
    merged,
    public_sequences,
    public_tools,
    summed,
)
from hearth.registry import load_tools
from hearth_bench.measure.cloud.service_pressure import Line, Place, _certificate, _head
from hearth_bench.measure.result_file import ROOT, write_result
from hearth_cloud.cloud_settings import read_cloud_settings
from hearth_cloud.statistics.signing import make_key
from hearth_cloud.statistics.statistics_desk import Features
from hearth_cloud.storage.access_tokens import issue
from hearth_cloud.storage.cloud_storage import Storage
from hearth_cloud.storage.storage_place import StoragePlace

SEED = 0
N_CONNECTIONS, N_GIVERS, N_TEACHERS = 32, 8, 4
_START_S, _TRY_FOR_S, _HELD_S = 120.0, 150.0, 4.0
_PG = ("/usr/lib/postgresql/17/bin", "/usr/lib/postgresql/16/bin", "/usr/lib/postgresql/15/bin")
_TOML = """\
[service]
database = "{database}"
objects = "s3://hearth/town"
objects_endpoint = "{endpoint}"
redis = "unix://{redis}"
proxies = ["127.0.0.1"]
[teacher]
kind = "recorded"
path = "plans.jsonl"
[limits]
requests_per_s = 100.0
burst = 100
cached_plans = 0
plans_per_day = 1000000
demonstrations_per_day = 1000000
[statistics]
mode = "secret"
owners = "one"
with_public = false
k = 4
group = 8
gather_s = 5.0
turn_s = 120.0
least = 20
"""
_PLAN = '{"id": "1", "user_request": "water the garden", "task_nodes": [{"task": "sprinkler_on", "arguments": []}]}\n'


# ── The parts ─────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Part:
    """A process that can be killed, held and started again."""

    command: Sequence[str]
    folder: Path
    user: str | None = None
    environ: dict[str, str] | None = None
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with (self.folder / f"log.{Path(self.command[0]).name}.{time.monotonic_ns()}").open("wb") as log:
            self.process = subprocess.Popen(
                self.command, user=self.user, cwd=self.folder, stdout=log, stderr=log, env=self.environ
            )

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(_START_S)

    def hold(self, seconds: float) -> None:
        """Let it answer nothing for a time."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(self.process.pid, signal.SIGCONT)

    @property
    def pss_mb(self) -> float:
        assert self.process is not None
        said = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return sum(int(line.split()[1]) for line in said.splitlines() if line.startswith("Pss:")) * 1_024 / 1e6


@dataclass
class Town:
    """All parts, and how they are reached."""

    folder: Path
    postgres: Part
    redis: Part
    objects: Part
    replicas: list[Part]
    place: Place
    tokens: dict[str, str] = field(default_factory=dict)

    def storage(self) -> Storage:
        return StoragePlace.of(read_cloud_settings(self.folder)).open()


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


def awaited(is_so: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + _START_S
    while True:
        with contextlib.suppress(OSError, httpx.HTTPError, psycopg.Error):
            if is_so():
                return
        assert time.monotonic() < until, f"{what} did not start"
        time.sleep(0.1)


@contextlib.contextmanager
def town_of(n_replicas: int) -> Iterator[Town]:
    """Start everything, with an empty database and bucket."""
    with tempfile.TemporaryDirectory(prefix="hearth-town-") as name, contextlib.ExitStack() as open_:
        folder = Path(name)
        folder.chmod(0o755)
        postgres, database = _postgres(folder, open_)
        redis = _started(Part([_program("redis-server", "valkey-server"), *_redis_options(folder)], folder), open_)
        s3_port = free_port()
        objects = _started(Part([_program("moto_server"), "-H", "127.0.0.1", "-p", str(s3_port)], folder), open_)
        endpoint = f"http://127.0.0.1:{s3_port}"
        awaited(lambda: httpx.put(f"{endpoint}/hearth", trust_env=False).status_code == 200, "the object store")
        (folder / "cloud.toml").write_text(
            _TOML.format(database=database, endpoint=endpoint, redis=folder / "redis.sock")
        )
        (folder / "plans.jsonl").write_text(_PLAN)
        make_key(folder / "cloud.key")
        os.environ |= {"AWS_ACCESS_KEY_ID": "hearth", "AWS_SECRET_ACCESS_KEY": "here", "AWS_REGION": "us-east-1"}
        ports = [free_port() for _ in range(n_replicas)]
        serve = [sys.executable, "-m", "hearth", "cloud", "--folder", str(folder), "serve", "--log", "warning"]
        replicas = [_started(Part([*serve, "--port", str(port)], folder), open_) for port in ports]
        for port in ports:
            awaited(lambda p=port: _is_ready(p), "a replica")  # type: ignore[misc]
        town = Town(folder, postgres, redis, objects, replicas, _proxy(folder, ports, open_))
        with town.storage() as storage:
            names = [f"{kind}-{k}" for kind, n in _EDGES.items() for k in range(n)]
            town.tokens = {edge: issue(storage, edge, None).text for edge in names}
        yield town


_EDGES = {"asks": N_CONNECTIONS, "gives": N_GIVERS, "teaches": N_TEACHERS, "floods": 1}


def _started(part: Part, open_: contextlib.ExitStack) -> Part:
    part.start()
    open_.callback(part.kill)
    return part


def _program(*names: str) -> str:
    found = next((path for path in map(shutil.which, names) if path is not None), None)
    if found is None:
        raise SystemExit(f"{names[0]} is not installed; it is a part of what is measured")
    return found


def _redis_options(folder: Path) -> list[str]:
    return ["--port", "0", "--unixsocket", str(folder / "redis.sock"), "--save", "", "--dir", str(folder)]


def _postgres(folder: Path, open_: contextlib.ExitStack) -> tuple[Part, str]:
    """Start PostgreSQL as Debian would, with its usual care for the disk; return it and its address."""
    programs = next((Path(path) for path in _PG if Path(path, "initdb").exists()), None)
    if programs is None:
        raise SystemExit("PostgreSQL is not installed; it is a part of what is measured")
    here = folder / "postgres"
    here.mkdir()
    names = {entry.pw_name for entry in pwd.getpwall()}
    user = next(name for name in ("postgres", "nobody") if name in names) if os.geteuid() == 0 else None
    if user is not None:
        shutil.chown(here, user)
    environ = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    data = str(here / "data")
    made = Part([str(programs / "initdb"), "-D", data, "-U", "hearth", "-A", "trust"], here, user, environ)
    made.start()
    assert made.process is not None
    assert made.process.wait(_START_S) == 0, "initdb failed"
    options = ["-D", data, "-k", str(here), "-c", "listen_addresses=", "-c", "max_connections=200"]
    part = _started(Part([str(programs / "postgres"), *options], here, user, environ), open_)
    awaited(lambda: _is_open(here), "PostgreSQL")
    return part, f"postgresql://hearth@/postgres?host={here}"


def _is_open(here: Path) -> bool:
    psycopg.connect(f"host={here} user=hearth dbname=postgres").close()
    return True


def _is_ready(port: int) -> bool:
    return httpx.get(f"http://127.0.0.1:{port}/readyz", trust_env=False).status_code == 200


def _proxy(folder: Path, ports: Sequence[int], open_: contextlib.ExitStack) -> Place:
    """Start the deployed proxy; all devices have one address here, so its limits for an address are lifted."""
    said = (ROOT / "deploy" / "proxy" / "haproxy.cfg").read_text()
    template = next(line for line in said.splitlines() if "server-template" in line)
    options = template.partition("check ")[2].partition(" init-addr")[0]
    port, certificate = free_port(), _certificate(folder)
    servers = [f"    server cloud{k} 127.0.0.1:{one} check {options}" for k, one in enumerate(ports)]
    for deployed, here in (
        (template, "\n".join(servers)),
        (":8443", f"127.0.0.1:{port}"),
        ("/etc/haproxy/tls/hearth.pem", str(certificate)),
        ("maxconn 20000", "maxconn 4000"),
        ("conn_cur gt 64", "conn_cur gt 1000"),
        ("conn_rate gt 200", "conn_rate gt 100000"),
        ("http_req_rate gt 400", "http_req_rate gt 1000000"),
    ):
        assert deployed in said, deployed
        said = said.replace(deployed, here)
    (folder / "haproxy.cfg").write_text(said)
    _started(Part([_program("haproxy"), "-db", "-f", str(folder / "haproxy.cfg")], folder), open_)
    context = ssl.create_default_context(cafile=str(certificate))
    client = httpx.Client(verify=context, trust_env=False)
    awaited(lambda: client.get(f"https://localhost:{port}/healthz").status_code == 200, "the proxy")
    return Place(port, str(certificate))


# ── Speed and limits ──────────────────────────────────────────────────────────────────────────────────────


async def _asked(town: Town, seconds: float) -> dict[str, object]:
    """Ask for plans on all connections, one after the other; return how many a second, and how long each took."""
    taken: list[float] = []
    statuses: dict[int, int] = {}
    until = time.perf_counter() + seconds
    body = json.dumps(
        {
            "id": "p",
            "request": "Water the garden",
            "now": "2026-09-07T08:00:00+02:00",
            "tools": [{"id": "sprinkler_on", "desc": "Water the garden."}],
        }
    ).encode()

    async def one(k: int) -> None:
        line, request = Line(town.place), _head("POST", "/v1/plans", town.tokens[f"asks-{k}"], len(body)) + body
        while time.perf_counter() < until:
            began = time.perf_counter()
            status = await line.ask(request)
            taken.append((time.perf_counter() - began) * 1_000)
            statuses[status] = statuses.get(status, 0) + 1

    await asyncio.gather(*(one(k) for k in range(N_CONNECTIONS)))
    p50, p99 = np.percentile(taken, [50, 99])
    return {
        "plans_per_s": round(statuses.get(200, 0) / seconds, 1),
        "p50_ms": round(float(p50), 1),
        "p99_ms": round(float(p99), 1),
        "answers": {str(status or "none"): n for status, n in sorted(statuses.items())},
    }


async def _flooded(town: Town, seconds: float) -> dict[str, object]:
    """Ask with one token on sixteen connections, as fast as is answered; return how much was let through."""
    request = _head("GET", "/v1/tasks", town.tokens["floods-0"])
    statuses: dict[int, int] = {}
    began = time.perf_counter()
    until = began + seconds

    async def one() -> None:
        line = Line(town.place)
        while time.perf_counter() < until:
            status = await line.ask(request)
            statuses[status] = statuses.get(status, 0) + 1

    await asyncio.gather(*(one() for _ in range(16)))
    return {
        "let_through": statuses.get(200, 0),
        "allowed": round(100 + 100 * (time.perf_counter() - began)),
        "answers": {str(status or "none"): n for status, n in sorted(statuses.items())},
    }


class Teaching:
    """Devices that send demonstrations until told to stop, and remember what was acknowledged."""

    def __init__(self, town: Town) -> None:
        self._town, self._is_over = town, threading.Event()
        self.acknowledged: set[tuple[str, str]] = set()
        self.n_tried = 0
        self._threads = [threading.Thread(target=self._send, args=(k,), daemon=True) for k in range(N_TEACHERS)]

    def __enter__(self) -> Teaching:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join(60)

    def _send(self, k: int) -> None:
        edge, n = f"teaches-{k}", 0
        client = _client(self._town, edge)
        line = {"user_request": "water the garden", "task_nodes": [{"task": "sprinkler_on", "arguments": []}]}
        while not self._is_over.is_set():
            id = f"d{n}"
            self.n_tried += 1
            with contextlib.suppress(httpx.HTTPError):
                answer = client.post("/v1/demonstrations", json={"id": f"m{n}", "demonstrations": [{"id": id, **line}]})
                if answer.status_code == 200:
                    self.acknowledged.add((edge, id))
                    n += 1
            self._is_over.wait(0.05)

    def lost(self) -> int:
        """Return how many that were acknowledged are not in the database."""
        with self._town.storage() as storage:
            kept = {(edge, str(json.loads(line)["id"])) for edge, line in storage.demonstrations()}
        return len(self.acknowledged - kept)


def _client(town: Town, edge: str) -> httpx.Client:
    context = ssl.create_default_context(cafile=town.place.certificate)
    said = {edge_protocol.PROTOCOL_HEADER: "1", "Authorization": f"Bearer {town.tokens[edge]}"}
    base = f"https://localhost:{town.place.port}"
    return httpx.Client(base_url=base, headers=said, verify=context, trust_env=False, timeout=30)


# ── A secret round, with kills ────────────────────────────────────────────────────────────────────────────


def given_by_each() -> list[Statistics]:
    """Return what each device gives: a part of the shipped demonstrations."""
    student = Ranker(MiniLMEncoder.open(), load_tools(None).specs, PROFILES["small"])
    student.learn([one for one in shipped_demonstrations() if one.plan.steps])
    known = set(public_sequences())
    names = sorted(name for name, one in student._taught.items() if one.sequence in known)
    parts = [names[k::N_GIVERS][:100] for k in range(N_GIVERS)]
    return [summed(student._reader, {n: student._taught[n] for n in part}, public_tools()) for part in parts]


class Giver:
    """A device in a round, turn by turn; it tries each again until it is answered."""

    def __init__(self, town: Town, number: int, statistics: Statistics) -> None:
        self._client = _client(town, f"gives-{number}")
        self._participant = Participant(least=4)
        self._row = Features().layout("small").row(statistics)
        self.n_tries = 0

    def ask(self, method: str, path: str, *, json: object = None, content: bytes | None = None) -> httpx.Response:
        """Ask until there is an answer, as a device does."""
        until = time.monotonic() + _TRY_FOR_S
        while True:
            self.n_tries += 1
            with contextlib.suppress(httpx.HTTPError):
                answer = self._client.request(method, f"/v1/statistics/rounds{path}", json=json, content=content)
                if answer.status_code < 500 and answer.status_code != 429:
                    return answer
            assert time.monotonic() < until, f"{method} {path} was not answered"
            time.sleep(0.3)

    def told(self, state: str) -> edge_protocol.RoundTold:
        """Wait until the round is at a state."""
        until = time.monotonic() + _TRY_FOR_S
        while True:
            answer = self.ask("GET", "")
            told = edge_protocol.read(edge_protocol.RoundTold, answer.content)
            if told.state == state:
                return told
            assert told.state != "void", told.reason
            assert time.monotonic() < until, f"the round stays at {told.state}, not {state}"
            time.sleep(0.3)

    def join(self) -> None:
        keys = self._participant.keys
        shown = {"sealing": _text(keys.sealing), "masking": _text(keys.masking)}
        self.ask("POST", "", json={"id": "j", "profile": "small", **shown})

    def share(self) -> None:
        told = self.told("shares")
        self._participant.round_id = told.round
        everyone = {name: Keys(*map(base64.b64decode, keys)) for name, keys in told.everyone.items()}
        boxes = self._participant.share(everyone, told.threshold)
        self.ask("POST", f"/{told.round}/shares", json={"id": "s", "boxes": _texts(boxes)})

    def send(self) -> None:
        told = self.told("rows")
        hidden = self._participant.hide(self._row, {name: base64.b64decode(box) for name, box in told.boxes.items()})
        self.ask("POST", f"/{told.round}/row", content=hidden.astype("<u8").tobytes())

    def open(self) -> None:
        told = self.told("opening")
        seeds, keys = self._participant.open(told.arrived)
        self.ask("POST", f"/{told.round}/opening", json={"id": "o", "seeds": _texts(seeds), "keys": _texts(keys)})


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _texts(many: dict[str, bytes]) -> dict[str, str]:
    return {name: _text(data) for name, data in many.items()}


def with_kills(town: Town, given: Sequence[Statistics]) -> dict[str, object]:
    """Hold a round; kill a part in the middle of each turn; return what was lost."""
    givers = [Giver(town, k, one) for k, one in enumerate(given)]
    began, done = time.perf_counter(), []

    def turn(name: str, harm: Callable[[], None], what: str) -> None:
        """Let half of the devices take their turn, then the others while a part is killed."""
        for one in givers[: N_GIVERS // 2]:
            getattr(one, name)()
        threads = [threading.Thread(target=getattr(one, name), daemon=True) for one in givers[N_GIVERS // 2 :]]
        for thread in threads:
            thread.start()
        harm()
        for thread in threads:
            thread.join(_TRY_FOR_S)
            assert not thread.is_alive(), f"a device was not answered: {name}"
        done.append(f"{name}: {what}")

    def again(*parts: Part) -> None:
        for part in parts:
            part.kill()
        for part in parts:
            part.start()

    with Teaching(town) as teaching:
        turn("join", lambda: again(town.replicas[0]), "a replica is killed")
        turn("share", town.redis.kill, "Redis is killed and does not come back")
        turn("send", lambda: again(town.postgres), "PostgreSQL is killed and started")
        town.objects.hold(_HELD_S)
        done.append("between rows and opening: the object store does not answer for 4 s")
        turn("open", lambda: again(*town.replicas), "all replicas are killed while the last devices open")
        givers[0].told("done")
        seconds = time.perf_counter() - began
        time.sleep(2.0)
    with town.storage() as storage:
        sums = storage.manifests("sum")
        sum_ = decode(storage.read_blob(sums[0][2]))
        rounds = [round.state for round in storage.rounds("shares", "rows", "opening", "summing", "done", "void")]
    return {
        "kills": done,
        "rounds": rounds,
        "sums": len(sums),
        "the sum is exact": sum_.digest == merged(given).digest,
        "seconds": round(seconds, 1),
        "tries_of_devices": sum(one.n_tries for one in givers),
        "demonstrations_acknowledged": len(teaching.acknowledged),
        "demonstrations_tried": teaching.n_tried,
        "demonstrations_lost": teaching.lost(),
    }


# ── All of it ─────────────────────────────────────────────────────────────────────────────────────────────


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--replicas", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--seconds", type=float, default=10.0)
    chosen = parser.parse_args()
    began, cpu = time.perf_counter(), time.process_time()
    found: dict[str, object] = {"connections": N_CONNECTIONS}
    given = given_by_each()
    for n in chosen.replicas:
        with town_of(n) as town:
            with Teaching(town) as teaching:
                asyncio.run(_asked(town, 2.0))
                speed = asyncio.run(_asked(town, chosen.seconds))
            row: dict[str, object] = {"plans": speed, "one token": asyncio.run(_flooded(town, 4.0))}
            row["demonstrations_lost"] = teaching.lost()
            row["replica_pss_mb"] = [round(part.pss_mb, 1) for part in town.replicas]
            row["load_average"] = round(os.getloadavg()[0], 2)
            row["kills"] = with_kills(town, given)
            found[f"{n} replicas"] = row
            print(json.dumps({n: row}, indent=1), flush=True)
    whole = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = time.process_time() - cpu + whole.ru_utime + whole.ru_stime
    write_result("cloud_replicas", found, seed=SEED, cpu_s=cpu_s, wall_s=time.perf_counter() - began)


if __name__ == "__main__":
    main()
