"""The service on both databases, and as a server on loopback. A PostgreSQL is started for the run where there is one."""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
import uvicorn
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hearth.formats import edge_protocol
from hearth.testing import FIXED_NOW
from hearth_cloud.cloud_settings import CloudSettings
from hearth_cloud.service.access.connection_limits import Bounds, Connection
from hearth_cloud.service.general_answers import Answering
from hearth_cloud.service.routing import Cloud
from hearth_cloud.service.service import Teachers, create_app
from hearth_cloud.service.teaching_queue import Planning
from hearth_cloud.storage.access_tokens import issue
from hearth_cloud.storage.cloud_storage import Storage

_PLACES = ("/usr/lib/postgresql/17/bin", "/usr/lib/postgresql/16/bin", "/usr/lib/postgresql/15/bin")
_USERS = ("postgres", "nobody")
_START_S = 30


@dataclass
class Clock:
    """Moves when it is told to."""

    at: dt.datetime

    def __call__(self) -> dt.datetime:
        return self.at

    def monotonic(self) -> float:
        return self.at.timestamp()

    def wait(self, seconds: float) -> None:
        self.at += dt.timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock(FIXED_NOW.astimezone(dt.UTC))


def wait_until(is_so: Callable[[], bool]) -> None:
    """Raises: AssertionError: It is not so within two minutes: CI runs beside other work."""
    until = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.002)


# ── Databases ─────────────────────────────────────────────────────────────────────────────────────────────


def _programs() -> Path | None:
    found = shutil.which("initdb")
    places = [Path(found).parent] if found else []
    return next((p for p in (*places, *map(Path, _PLACES)) if (p / "initdb").exists()), None)


def _unprivileged() -> str | None:
    """Who runs PostgreSQL, which refuses to be root; None: whoever runs the tests."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in _USERS if name in names)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The folder of a running PostgreSQL's socket."""
    programs = _programs()
    if programs is None:
        pytest.skip("no PostgreSQL on this machine: initdb is neither on PATH nor where Debian puts it")
    user = _unprivileged()
    folder = Path(tempfile.mkdtemp(prefix="hearth-pg-", dir="/tmp"))
    if user is not None:
        shutil.chown(folder, user)
    kept = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC"}

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [str(programs / arguments[0]), *arguments[1:]],
            user=user, cwd=folder, env=kept, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    made = start("initdb", "-D", str(folder / "data"), "-U", "hearth", "-A", "trust", "--no-sync", "-E", "UTF8")
    assert made.wait(_START_S) == 0, "initdb failed"
    server = start(
        "postgres", "-D", str(folder / "data"), "-k", str(folder), "-c", "listen_addresses=", "-c", "fsync=off",
        "-c", "full_page_writes=off", "-c", "max_connections=60", "-c", "shared_buffers=16MB",
    )  # fmt: skip
    try:
        _wait_for(folder, server)
        yield str(folder)
    finally:
        server.send_signal(2)  # at once, in order
        server.wait(_START_S)
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for(folder: Path, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _START_S
    while True:
        try:
            psycopg.connect(f"host={folder} user=hearth dbname=postgres").close()
            return
        except psycopg.OperationalError:
            assert server.poll() is None, "PostgreSQL ended at once"
            assert time.monotonic() < until, "PostgreSQL did not start"
            time.sleep(0.05)


_numbers = itertools.count()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'cloud.db'}"
    folder = request.getfixturevalue("postgres")
    name = f"t{next(_numbers)}"
    with psycopg.connect(f"host={folder} user=hearth dbname=postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"postgresql://hearth@/{name}?host={folder}"


@pytest.fixture
def storage(url: str, clock: Clock) -> Iterator[Storage]:
    """On both databases."""
    with Storage.open(url, clock) as storage:
        yield storage


@pytest.fixture
def small_storage(tmp_path: Path, clock: Clock) -> Iterator[Storage]:
    """On SQLite alone: for what does not depend on the database."""
    with Storage.open(f"sqlite:///{tmp_path / 'cloud.db'}", clock) as storage:
        yield storage


# ── What replicas share ───────────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def redis_running(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A Redis or Valkey with an empty memory; its address and process."""
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        pytest.skip("no Redis on this machine: `apt-get install redis-server`")
    path = folder / "redis.sock"
    said = ["--port", "0", "--unixsocket", str(path), "--save", "", "--dir", str(folder)]
    server = subprocess.Popen([program, *said], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(path.exists)
        yield f"unix://{path}", server
    finally:
        server.kill()
        server.wait(_START_S)


@contextlib.contextmanager
def s3_running() -> Iterator[str]:
    """The endpoint of an S3-compatible store with the bucket `hearth`."""
    program = shutil.which("moto_server")
    if program is None:
        pytest.skip("no S3-compatible store on this machine: `pipx install 'moto[s3,server]'`")
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
    command = [program, "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    endpoint = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + _START_S
        while True:
            try:
                httpx.put(f"{endpoint}/hearth", trust_env=False).raise_for_status()
                break
            except httpx.TransportError:
                assert time.monotonic() < until, "the object store did not start"
                time.sleep(0.05)
        yield endpoint
    finally:
        server.kill()
        server.wait(_START_S)


# ── The service ───────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Served:
    """A service that listens."""

    url: str
    storage: Storage
    settings: CloudSettings
    server: uvicorn.Server
    cloud: Cloud

    def token(self, edge: str = "kitchen") -> str:
        return issue(self.storage, edge, None).text

    def client(self, token: str = "", instance: str = "", **headers: str) -> httpx.Client:
        said = {edge_protocol.PROTOCOL_HEADER: str(edge_protocol.VERSION)}
        if token:
            said["Authorization"] = f"Bearer {token}"
        if instance:
            said[edge_protocol.INSTANCE_HEADER] = instance
        return httpx.Client(base_url=self.url, headers=said | headers, trust_env=False, timeout=10)


Serve = Callable[..., Served]


@contextlib.contextmanager
def serving(
    settings: CloudSettings,
    storage: Storage,
    *,
    teacher: Planning | None = None,
    answering: Answering | None = None,
    clock: Clock | None = None,
    key: Ed25519PrivateKey | None = None,
) -> Iterator[Served]:
    """A service on loopback, with real HTTP; stopped in order."""
    monotonic = clock.monotonic if clock is not None else time.monotonic
    key = key or Ed25519PrivateKey.generate()
    app = create_app(settings, storage, teachers=Teachers(teacher, answering), key=key, monotonic=monotonic)
    limits = settings.limits
    http: Any = partial(Connection, bounds=Bounds(limits.header_s, limits.send_s, limits.connections))
    config = uvicorn.Config(
        app,
        host="127.0.0.1",
        port=0,
        log_config=None,
        access_log=False,
        lifespan="on",
        http=http,
        proxy_headers=bool(settings.service.proxies),
        forwarded_allow_ips=list(settings.service.proxies),
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    until = time.monotonic() + 120
    while not server.started:
        assert thread.is_alive(), "the service did not start"
        assert time.monotonic() < until, "the service did not start in time"
        time.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield Served(f"http://127.0.0.1:{port}", storage, settings, server, app.state.cloud)
    finally:
        server.should_exit = True
        thread.join(15)
        assert not thread.is_alive(), "the service did not stop"


@pytest.fixture
def serve(small_storage: Storage) -> Iterator[Serve]:
    """Starts a service on SQLite; the system's clock for waiting, the test's for the rest."""
    with contextlib.ExitStack() as open_:

        def start(
            settings: CloudSettings | None = None,
            *,
            teacher: Planning | None = None,
            answering: Answering | None = None,
            clock: Clock | None = None,
        ) -> Served:
            chosen = settings or CloudSettings()
            return open_.enter_context(
                serving(chosen, small_storage, teacher=teacher, answering=answering, clock=clock)
            )

        yield start
