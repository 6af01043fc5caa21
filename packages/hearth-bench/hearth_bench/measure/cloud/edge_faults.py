"""Inject a thousand faults between an edge and its cloud: every request is answered, every demonstration arrives once.

An agent with a joined home goes on answering while another process of the same home learns and sends to a real service
(`hearth cloud serve`'s application, its database on disk), while faults strike one by one:

* a proxy refuses, stalls, cuts a request, loses an answer after its effect, cuts it short, garbles it, sends it twice,
  repeats the request, answers in the service's place (503, 429, 500, HTML, a redirect);
* the service is killed (SIGKILL) with a request in its hands, and started again;
* the sending process is killed (SIGKILL) at any statement of SQLite it runs;
* its disk is full at any page it wants to write;
* the service is in a network namespace, and the way there is cut, flaps, or has a round trip of 500 ms and loses 5 % of
  all packets each way, where this machine allows it (root, TUN devices; `tc netem` is not asked for).

During each fault the edge's clock is right or an hour off, either way.

At the end all faults are removed, and the service's demonstrations are compared with those learnt.

    python -m hearth_bench.measure.cloud.edge_faults [--faults 1000] [--seed 11] [--no-namespaces]
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import datetime as dt
import fcntl
import heapq
import io
import json
import os
import random
import resource
import select
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from hearth import cli
from hearth.agent import Agent, make_home
from hearth.edge import enrolment
from hearth.edge.cloud_link import Link
from hearth.edge.outbox import Outbox, Sender, Sharer
from hearth.errors import StoreError
from hearth.guard.deidentify.masker import Masker
from hearth.guard.deidentify.names import OwnerNames, OwnName
from hearth.guard.egress.gateway import Egress
from hearth.guard.egress.masking_door import MaskingDoor
from hearth.guard.policy.question import YesApprover
from hearth.learning import demonstration_store as rows
from hearth.learning.demonstration_store import Entry
from hearth.storage.database import Store
from hearth.types import Demonstration, Label, Plan, Step

HOST = "127.0.0.1"
TIMEOUT_S = 0.6
"""Timeout of one answer over loopback: short, so that a stalled one costs little here."""
SHARES = {
    "refused": 60,
    "stalled": 15,
    "request cut": 80,
    "answer lost": 110,
    "answer cut": 90,
    "answer garbled": 90,
    "answer twice": 60,
    "request twice": 70,
    "503": 40,
    "429": 30,
    "500": 40,
    "html": 30,
    "redirect": 20,
    "edge killed": 200,
    "disk full": 80,
    "service killed": 40,
    "link cut": 15,
    "link flaps": 15,
    "500 ms, 5 % loss": 30,
}
"""Relative frequency of each fault."""
NAMESPACE_FAULTS = ("link cut", "link flaps", "500 ms, 5 % loss")
REQUESTS = (
    "what time is it",
    "add a note: the boiler was mended",
    "remind me to water the plants tomorrow at nine",
    "what is 17 * 23",
    "xyzzy the frobnicator of the seventh moon",
)
"""Requests to the agent; nobody here can plan the last one, so the cloud is asked as well."""


# ── The service ───────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Service:
    """The real service in a process of its own, optionally in its own network namespace."""

    folder: Path
    port: int
    bind: str = HOST
    inside: tuple[str, ...] = ()
    """Command prefix that runs a command in its namespace."""
    process: subprocess.Popen[bytes] | None = None
    n_starts: int = 0

    def make(self) -> str:
        """Make the service's folder and return a token for one edge."""
        self._hearth("cloud", "--folder", str(self.folder), "init")
        return self._hearth("cloud", "--folder", str(self.folder), "token", "new", "edge").split()[-1]

    def start(self) -> None:
        command = [*self.inside, sys.executable, "-m", "hearth", "cloud", "--folder", str(self.folder), "serve"]
        log = open(self.folder / "serve.log", "ab")  # noqa: SIM115 - closed with the process's own copy
        with log:
            self.process = subprocess.Popen(
                [*command, "--host", self.bind, "--port", str(self.port), "--log", "error"], stdout=log, stderr=log
            )
        self.n_starts += 1
        self.wait()

    def wait(self) -> None:
        """Wait until the service answers."""
        for _ in range(600):
            try:
                if httpx.get(f"http://{self.bind}:{self.port}/healthz", timeout=5, trust_env=False).is_success:
                    return
            except httpx.HTTPError:
                assert self.process is None or self.process.poll() is None, (self.folder / "serve.log").read_text()
                time.sleep(0.05)
        raise TimeoutError("the service did not start")

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(20)

    def held(self) -> list[tuple[str, str]]:
        """Return ids and requests of the demonstrations it took, in the order it took them."""
        with contextlib.closing(sqlite3.connect(self.folder / "cloud.db")) as connection:
            rows = connection.execute("SELECT id, line FROM demonstration ORDER BY rowid").fetchall()
        return [(id, json.loads(line)["user_request"]) for id, line in rows]

    def _hearth(self, *arguments: str) -> str:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            assert cli.run(list(arguments)) == 0
        return said.getvalue()


# ── A proxy that breaks things ────────────────────────────────────────────────────────────────────────────

ANSWERS = {
    "503": b"HTTP/1.1 503 Busy\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
    "429": b"HTTP/1.1 429 Slower\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
    "500": b"HTTP/1.1 500 Broken\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
    "html": b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\nconnection: close\r\n\r\nlog in",
    "redirect": b"HTTP/1.1 302 Found\r\nlocation: http://elsewhere.example/\r\ncontent-length: 0\r\n"
    b"connection: close\r\n\r\n",
}


class Proxy:
    """Proxy between edge and service, with one request per connection; it breaks the next one as set."""

    def __init__(self, target: tuple[str, int], lot: random.Random) -> None:
        self.target = target
        self.fault = ""
        self.n_struck = 0
        self.on_kill: Callable[[], None] = lambda: None
        self._lot = lot
        self._listener = socket.create_server((HOST, 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            fault, self.fault = self.fault, ""
            threading.Thread(target=self._serve, args=(client, fault), daemon=True).start()

    def _serve(self, client: socket.socket, fault: str) -> None:
        with client, contextlib.suppress(OSError):
            self.n_struck += bool(fault)
            if fault == "refused":
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                return
            client.settimeout(5)
            request = _whole(client)
            if not request:
                return
            if fault == "stalled":
                time.sleep(TIMEOUT_S * 2)
                return
            if fault in ANSWERS:
                client.sendall(ANSWERS[fault])
                return
            if fault == "request cut":
                self._forward(request[: self._lot.randrange(1, len(request))], cut=True)
                return
            if fault == "service killed":
                self._killed(request)
                return
            if fault == "request twice":
                self._forward(request)
            client.sendall(self._broken(self._forward(request), fault))

    def _broken(self, answer: bytes, fault: str) -> bytes:
        head, _, body = answer.partition(b"\r\n\r\n")
        if fault == "answer lost":
            return b""
        if fault == "answer cut":
            return answer[: self._lot.randrange(1, len(answer))]
        if fault == "answer twice":
            return answer + answer
        if fault == "answer garbled" and body:
            said = bytearray(body)
            for _ in range(self._lot.randint(1, 6)):
                said[self._lot.randrange(len(said))] ^= 1 << self._lot.randrange(8)
            return head + b"\r\n\r\n" + bytes(said)
        return answer

    def _killed(self, request: bytes) -> None:
        with socket.create_connection(self.target, 5) as server:
            server.sendall(_closing(request))
            time.sleep(self._lot.uniform(0, 0.03))
            self.on_kill()

    def _forward(self, request: bytes, *, cut: bool = False) -> bytes:
        with socket.create_connection(self.target, 5) as server:
            server.settimeout(10)
            server.sendall(request if cut else _closing(request))
            if cut:
                return b""
            return _whole(server)


def _closing(request: bytes) -> bytes:
    """Make a request close its connection, so that the next request meets its own fault."""
    return request.replace(b"\r\nConnection: keep-alive", b"\r\nConnection: close", 1)


def _whole(source: socket.socket) -> bytes:
    """Read one message of HTTP/1.1 with its body, or as much as arrived before the connection was cut."""
    data = b""
    with contextlib.suppress(OSError):
        while piece := source.recv(1 << 16):
            data += piece
            head, found, body = data.partition(b"\r\n\r\n")
            lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            if found and len(body) >= (int(lengths[0].partition(b":")[2]) if lengths else 0):
                if lengths or b"transfer-encoding" not in head.lower():
                    break
                if data.endswith(b"0\r\n\r\n"):
                    break
    return data


# ── A link of its own ─────────────────────────────────────────────────────────────────────────────────────


class Namespace:
    """A network namespace at the other end of a pipe of IP packets.

    Two TUN devices, and a thread between them that delays, drops and cuts. The packets are the kernel's own, and so are
    the retransmissions that loss causes.
    """

    def __init__(self, number: int, lot: random.Random) -> None:
        self.name, self.near, self.far = f"hearth{number}", f"ht{number}a", f"ht{number}b"
        self.here, self.there = f"10.213.{number % 250}.1", f"10.213.{number % 250}.2"
        self.inside = ("ip", "netns", "exec", self.name)
        self.delay_s = self.loss = 0.0
        """Delay and loss for one direction."""
        self.is_cut = False
        self._lot = lot
        self._ends: list[int] = []

    def make(self) -> bool:
        """Create the namespace; return whether this machine allows it."""
        if shutil.which("ip") is None or os.geteuid() != 0 or not os.access("/dev/net/tun", os.R_OK | os.W_OK):
            return False
        try:
            self._run("ip", "netns", "add", self.name)
            self._ends = [_tun(self.near), _tun(self.far)]
            self._run("ip", "link", "set", self.far, "netns", self.name)
            self._run("ip", "addr", "add", self.here, "peer", self.there, "dev", self.near)
            self._run(*self.inside, "ip", "addr", "add", self.there, "peer", self.here, "dev", self.far)
            for command, device in (((), self.near), (self.inside, self.far), (self.inside, "lo")):
                self._run(*command, "ip", "link", "set", device, "up")
        except (subprocess.CalledProcessError, OSError):
            self.remove()
            return False
        threading.Thread(target=self._pump, daemon=True).start()
        return True

    def remove(self) -> None:
        subprocess.run(["ip", "netns", "del", self.name], capture_output=True, check=False)
        ends, self._ends = self._ends, []
        for end in ends:
            os.close(end)

    def _pump(self) -> None:
        """Carry packets until the devices are gone."""
        waiting: list[tuple[float, int, int, bytes]] = []
        n = 0
        while len(self._ends) == 2:
            near, far = self._ends
            wait_s = max(0.0, waiting[0][0] - time.monotonic()) if waiting else 0.1
            try:
                for end in select.select(self._ends, [], [], min(wait_s, 0.1))[0]:
                    packet = os.read(end, 1 << 16)
                    if not self.is_cut and self._lot.random() >= self.loss:
                        n += 1
                        due_s = time.monotonic() + self.delay_s * self._lot.uniform(0.95, 1.05)
                        heapq.heappush(waiting, (due_s, n, far if end == near else near, packet))
                while waiting and waiting[0][0] <= time.monotonic():
                    _, _, end, packet = heapq.heappop(waiting)
                    if not self.is_cut:
                        os.write(end, packet)
            except (OSError, ValueError):
                return

    def _run(self, *command: str) -> None:
        subprocess.run(command, capture_output=True, check=True)


def _tun(name: str) -> int:
    """Make a TUN device, and return the end from which programs read its packets."""
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
    fcntl.ioctl(end, 0x400454CA, struct.pack("16sH22x", name.encode(), 0x0001 | 0x1000))
    return end


# ── The edge's own process ────────────────────────────────────────────────────────────────────────────────


def serve_turns(home: Path, url: str, timeout_s: float) -> None:
    """Read orders from standard input, one JSON object per line, and carry out each in a child process."""
    for line in sys.stdin:
        child = os.fork()
        if not child:
            try:
                said = _turn(home, url, timeout_s, json.loads(line))
            except BaseException as error:  # the parent is told of any error
                said = {"fault": f"{type(error).__name__}: {error}"}
            os.write(1, (json.dumps(said) + "\n").encode())
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        if status:
            os.write(1, (json.dumps({"killed": os.WTERMSIG(status)}) + "\n").encode())


def _turn(home: Path, url: str, timeout_s: float, order: dict[str, int]) -> dict[str, object]:
    """Learn `n` demonstrations, then send; killed before statement `kill_at`, disk full after `pages` more pages."""
    if order.get("kill_at"):
        _die_at(order["kill_at"])
    skew = dt.timedelta(seconds=order["skew_s"])

    def clock() -> dt.datetime:
        return dt.datetime.now(dt.UTC) + skew

    full = ""
    names = OwnerNames([OwnName("Anna Bergmann", "person")])
    with Store.open(home / "hearth.db") as store:
        if "pages" in order:
            n_pages = store.query("PRAGMA page_count")[0][0]
            store.query(f"PRAGMA max_page_count={n_pages + order['pages']}")
        try:
            made = []
            for k in range(order["first"], order["first"] + order["n"]):
                plan = Plan((Step("add_note", {"text": f"word{k:05d}"}),))
                text = f"note that word{k:05d} of Anna Bergmann is at anna{k}@bergmann.example"
                one = Demonstration(f"owner:{k:05d}", text, plan, source="owner", now=clock())
                made.append(Entry(one, Label(frozenset({"owner"})), "owner"))
            with store.transaction() as cursor:
                rows.keep(cursor, made, None)
            egress = Egress([httpx.URL(url).host], store, clock)
            token = (home / "edge" / "token").read_text().strip()
            with Link(url, egress, lambda: token, "edge-1", timeout_s=timeout_s) as link:
                sharer = Sharer(store, link.host, MaskingDoor(Masker(names=names)), {})
                turn = Sender(store, link, sharer, clock, random.Random(order["first"])).turn(is_patient=False)
            said: dict[str, object] = {"delivered": turn.n_delivered, "known": turn.n_known, "held": bool(turn.held)}
            said |= {"dead": turn.n_dead, "why": [reason for _, reason in turn.held]}
        except StoreError as error:
            full, said = str(error), {}
        return {**said, "full": full, "waiting": len(Outbox(store, clock).head("demonstration", 100_000))}


def _die_at(n: int) -> None:
    """SIGKILL this process before its n-th SQLite statement, counted from the opening of the database."""
    really, seen = sqlite3.connect, 0

    def trace(_: str) -> None:
        nonlocal seen
        seen += 1
        if seen >= n:
            os.kill(os.getpid(), signal.SIGKILL)

    def connect(*arguments: object, **keywords: object) -> sqlite3.Connection:
        connection = really(*arguments, **keywords)  # type: ignore[call-overload]
        connection.set_trace_callback(trace)
        return connection  # type: ignore[no-any-return]

    sqlite3.connect = connect  # type: ignore[assignment]


@dataclass
class Worker:
    """Process of the edge that learns and sends."""

    process: subprocess.Popen[str]

    @classmethod
    def start(cls, home: Path, url: str, timeout_s: float) -> Worker:
        command = [
            sys.executable,
            "-m",
            "hearth_bench.measure.cloud.edge_faults",
            "--turns",
            str(home),
            url,
            str(timeout_s),
        ]
        return cls(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))

    def turn(self, order: dict[str, int]) -> dict[str, object]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        found: dict[str, object] = json.loads(self.process.stdout.readline())
        return found

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()


# ── The run ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Tally:
    n_faults: Counter[str] = field(default_factory=Counter)
    """Number of faults that struck, by kind."""
    n_answered: int = 0
    n_asked: int = 0
    slowest_ms: float = 0.0
    n_learnt: int = 0
    n_turns: int = 0
    n_known: int = 0
    problems: list[str] = field(default_factory=list)


class Run:
    """One home, one service, many faults."""

    def __init__(self, folder: Path, seed: int, *, with_namespaces: bool, home: Path | None = None) -> None:
        """Create a run; `home` is one already made and taught, and is made if left out."""
        self.lot = random.Random(seed)
        self.folder = folder
        self.home = home or folder / "home"
        self.tally = Tally()
        self._namespace = Namespace(os.getpid() % 100_000, random.Random(seed)) if with_namespaces else None
        self.has_namespaces = self._namespace is not None and self._namespace.make()
        self.resources = contextlib.ExitStack()

    def __enter__(self) -> Run:
        with contextlib.ExitStack() as stack:
            if self.has_namespaces and self._namespace is not None:
                stack.callback(self._namespace.remove)
            space = self._namespace if self.has_namespaces else None
            bind = space.there if space else HOST
            self.service = Service(self.folder / "cloud", _free_port(), bind, space.inside if space else ())
            token = self.service.make()
            self.service.start()
            stack.callback(self.service.stop)
            self.proxy = Proxy((bind, self.service.port), self.lot)
            stack.callback(self.proxy.close)
            self.proxy.on_kill = self.service.kill
            self.url = f"http://{HOST}:{self.proxy.port}"
            _joined(self.home, self.url, token)
            self.worker = Worker.start(self.home, self.url, TIMEOUT_S)
            stack.callback(self.worker.close)
            self.far = self.worker
            if space is not None:
                self.far = Worker.start(self.home, f"http://{bind}:{self.service.port}", 4.0)
                stack.callback(self.far.close)
            self.agent = _agent(self.home)
            stack.callback(self.agent.close)
            self.statuses = {text: self._status(text) for text in REQUESTS}
            self.resources = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.resources.close()

    def _status(self, text: str) -> str:
        started = time.perf_counter()
        status: str = self.agent.run(self.agent.request(text)).answer.status
        self.tally.slowest_ms = max(self.tally.slowest_ms, (time.perf_counter() - started) * 1000)
        return status

    def fault(self, kind: str) -> None:
        """Learn, let one fault strike during sending, and ask the agent something meanwhile."""
        order = {"first": self.tally.n_learnt, "n": self.lot.randint(0, 2), "skew_s": self.lot.choice((-3600, 0, 3600))}
        if kind in NAMESPACE_FAULTS:
            asked = self._over_the_link(kind, order)
        else:
            asked = self._at_home(kind, order)
        if asked.get("killed") or asked.get("full"):
            self._recount()
        else:
            self.tally.n_learnt += order["n"]
        if asked.get("fault") or asked.get("dead"):
            self.tally.problems.append(f"{kind}: {asked}")
        self.tally.n_known += int(str(asked.get("known", 0)))
        self.tally.n_turns += 1

    def _at_home(self, kind: str, order: dict[str, int]) -> dict[str, object]:
        if kind == "edge killed":
            order["kill_at"] = self.lot.randint(1, 60)
        elif kind == "disk full":
            order["pages"] = self.lot.randint(0, 3)
            order["n"] = self.lot.randint(1, 4)
        else:
            order["n"] = max(order["n"], 1)
            self.proxy.fault = kind
        before = self.proxy.n_struck
        self._ask()
        asked = self.worker.turn(order)
        struck = {"edge killed": bool(asked.get("killed")), "disk full": bool(asked.get("full"))}
        self.tally.n_faults[kind] += struck.get(kind, self.proxy.n_struck > before)
        self.proxy.fault = ""
        if kind == "service killed" and self.service.process is not None and self.service.process.poll() is not None:
            self.worker.turn({"first": 0, "n": 0, "skew_s": 0})  # the service is down: that is a fault, too
            self.tally.n_faults["service down"] += 1
            self.service.start()
        return asked

    def _over_the_link(self, kind: str, order: dict[str, int]) -> dict[str, object]:
        assert self._namespace is not None
        order["n"] = max(order["n"], 1)
        done = threading.Event()
        space = self._namespace

        def flap() -> None:
            while not done.wait(self.lot.uniform(0.02, 0.3)):
                space.is_cut = not space.is_cut

        thread = threading.Thread(target=flap)
        if kind == "link cut":
            space.is_cut = True
        elif kind == "link flaps":
            thread.start()
        else:
            space.delay_s, space.loss = 0.25, 0.05
        try:
            self._ask()
            asked = self.far.turn(order)
        finally:
            done.set()
            if thread.ident is not None:
                thread.join()
            space.delay_s, space.loss, space.is_cut = 0.0, 0.0, False
        self.tally.n_faults[kind] += 1
        return asked

    def _ask(self) -> None:
        """Ask the agent a request during the fault."""
        text = self.lot.choice(REQUESTS)
        self.tally.n_asked += 1
        status = self._status(text)
        if status == self.statuses[text]:
            self.tally.n_answered += 1
        else:
            self.tally.problems.append(f"{text!r} was {status}, {self.statuses[text]} before")

    def _recount(self) -> None:
        """Count the demonstrations on disk; if the process was killed before the commit, none of its order is."""
        rows = self.agent.store.query("SELECT count(*) FROM demonstration WHERE source = 'owner'")
        self.tally.n_learnt = int(rows[0][0])

    def heal(self) -> dict[str, object]:
        """Send what waits, now without faults, and compare."""
        for _ in range(400):
            said = self.worker.turn({"first": self.tally.n_learnt, "n": 0, "skew_s": 0})
            if said.get("waiting") == 0:
                break
        self._recount()
        return self.compared()

    def compared(self) -> dict[str, object]:
        """Compare what was learnt with what the service holds."""
        learnt = [
            row[0] for row in self.agent.store.query("SELECT id FROM demonstration WHERE source='owner' ORDER BY id")
        ]
        sent = self.agent.store.query("SELECT id, about FROM outbox WHERE kind='demonstration' ORDER BY about")
        held = self.service.held()
        words = [next(word for word in text.split() if word.startswith("word")) for _, text in held]
        leaked = [
            entry.number
            for entry in self.agent.egress.ledger.entries()
            if entry.kind == "sent" and any(name in (entry.payload or b"") for name in (b"Bergmann", b"bergmann"))
        ]
        return {
            "n_demonstrations": len(learnt),
            "n_lost": len({row["id"] for row in sent} - {id for id, _ in held}) + len(learnt) - len(sent),
            "n_doubled": len(held) - len(set(words)),
            "n_strange": len({id for id, _ in held} - {row["id"] for row in sent}),
            "in_order": words == sorted(words),
            "n_dead_letters": int(self.agent.store.query("SELECT count(*) FROM outbox WHERE state = 'dead'")[0][0]),
            "n_entries_with_a_name": len(leaked),
            "ledger_is_whole": not self.agent.egress.ledger.verify().faults,
        }


def _joined(home: Path, url: str, token: str) -> None:
    if not home.exists():
        make_home(home, {"name": "Mara", "email": "", "time_zone": "Europe/Berlin", "country": "DE"})
    with (home / "hearth.toml").open("a") as file:
        file.write("\n[policy.add_note]\nruling = 'allow'\n\n[edge]\nteaches = true\ntimeout_s = 2\n")
    text = (home / "hearth.toml").read_text().replace("allow = []", f"allow = ['{HOST}']", 1)
    (home / "hearth.toml").write_text(text)
    key = base64.b64encode(b"k" * 32).decode()
    with Store.open(home / "hearth.db") as store:
        enrolment.join(store, home, enrolment.Cloud(url, "service", key), "edge-1", token, dt.datetime.now(dt.UTC))


def _agent(home: Path) -> Agent:
    agent = Agent.open(home, YesApprover(), environ=os.environ)
    for _ in agent.learn_shipped():
        pass
    return agent


def _free_port() -> int:
    with socket.create_server((HOST, 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def kinds(n: int, lot: random.Random, *, with_namespaces: bool) -> list[str]:
    """Draw `n` faults by their shares, in random order."""
    shares = {kind: share for kind, share in SHARES.items() if with_namespaces or kind not in NAMESPACE_FAULTS}
    least = [kind for kind in shares if n >= 3 * len(shares)]
    chosen = [*least, *lot.choices(list(shares), list(shares.values()), k=n - len(least))]
    lot.shuffle(chosen)
    return chosen


@contextlib.contextmanager
def opened(seed: int, *, with_namespaces: bool) -> Iterator[Run]:
    with tempfile.TemporaryDirectory() as folder, Run(Path(folder), seed, with_namespaces=with_namespaces) as run:
        yield run


def measure(n_faults: int, seed: int, *, with_namespaces: bool) -> dict[str, object]:
    """Break things until the given number of faults have struck, then heal and compare."""
    with opened(seed, with_namespaces=with_namespaces) as run:
        while (struck := sum(run.tally.n_faults.values())) < n_faults:
            for kind in kinds(n_faults - struck, run.lot, with_namespaces=run.has_namespaces):
                run.fault(kind)
        healed = run.heal()
        tally = run.tally
        return {
            "n_faults": sum(tally.n_faults.values()),
            "by_kind": dict(sorted(tally.n_faults.items())),
            "has_namespaces": run.has_namespaces,
            "n_turns": tally.n_turns,
            "n_service_starts": run.service.n_starts,
            "n_requests": tally.n_asked,
            "n_answered_here": tally.n_answered,
            "slowest_request_ms": round(tally.slowest_ms, 1),
            "n_answers_lost_and_known_again": tally.n_known,
            **healed,
            "problems": tally.problems[:20],
        }


def together(runs: Sequence[Mapping[str, Any]]) -> dict[str, object]:
    """Combine several runs: counts are added, times are the slowest, flags are true if true of each run."""
    found: dict[str, object] = {}
    for key, value in runs[0].items():
        values = [run[key] for run in runs]
        if isinstance(value, bool):
            found[key] = all(values)
        elif key.startswith("slowest"):
            found[key] = max(values)
        elif isinstance(value, dict):
            found[key] = dict(sorted(sum((Counter(one) for one in values), Counter[str]()).items()))
        elif isinstance(value, list):
            found[key] = [item for one in values for item in one]
        elif key != "seed":
            found[key] = sum(values)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--faults", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--no-namespaces", action="store_true")
    parser.add_argument("--add", action="store_true", help="add to the runs in the result file, as another of them")
    parser.add_argument("--turns", nargs=3, metavar=("HOME", "URL", "TIMEOUT_S"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.turns:
        serve_turns(Path(chosen.turns[0]), chosen.turns[1], float(chosen.turns[2]))
        return
    from hearth_bench.measure.result_file import RESULTS, write_result

    started_s = time.perf_counter()
    results = measure(chosen.faults, chosen.seed, with_namespaces=not chosen.no_namespaces)
    runs = [{"seed": chosen.seed, **results}]
    if chosen.add:
        runs = [*json.loads((RESULTS / "edge_faults.json").read_text())["results"]["runs"], *runs]
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu_s = sum(one.ru_utime + one.ru_stime for one in used)
    wall_s = time.perf_counter() - started_s
    write_result("edge_faults", {**together(runs), "runs": runs}, seed=chosen.seed, cpu_s=cpu_s, wall_s=wall_s)


if __name__ == "__main__":
    main()
