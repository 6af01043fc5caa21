"""`hearth/sync` at a real broker: heard, never looked at, and listened to again after the broker was away."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hearth import cli
from hearth.edge import scheduler as edge_running
from hearth.edge.scheduler import Times
from hearth.guard.egress.ledger import Ledger
from hearth.storage.database import Store
from hearth_home.kubeedge import sync_listener
from hearth_home.kubeedge.sync_listener import TOPIC, Listener
from tests.mqtt_broker import BROKERS, Things, free_port, running


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with running(BROKERS[0], tmp_path_factory.mktemp("broker")) as port:
        yield port


@pytest.fixture
def things(port: int) -> Iterator[Things]:
    found = Things(port)
    yield found
    for topic in found.kept:
        found.say(topic, b"")
    found.close()


@pytest.fixture
def _signals_as_before() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Heard:
    """A listener in a thread, and what it said."""

    def __init__(self, home: Path) -> None:
        self.asked, self.stop, self.said = threading.Event(), threading.Event(), list[str]()
        self.listener = Listener(home, {}, self.asked, self.stop, self.said.append, random.Random(0))
        self.thread = threading.Thread(target=self.listener.run)
        self.thread.start()


def wait_until(is_so: Callable[[], bool], limit_s: float = 120.0) -> None:
    until = time.monotonic() + limit_s
    while not is_so():
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.01)


def write_settings(home: Path, port: int, *allowed: str) -> None:
    (home / "hearth.toml").write_text(
        f'[home.mqtt]\nhost = "127.0.0.1"\nport = {port}\nsecurity = "none"\n[network]\nallow = {json.dumps(allowed)}\n'
    )


@contextlib.contextmanager
def heard(home: Path, port: int, *, is_allowed: bool = True) -> Iterator[Heard]:
    write_settings(home, port, *([f"127.0.0.1:{port}"] if is_allowed else []))
    found = Heard(home)
    try:
        yield found
    finally:
        found.stop.set()
        found.thread.join(10)
        assert not found.thread.is_alive()


@pytest.mark.parametrize("payload", [b"", b"{}", b"\x00\xff" * 1000, b'{"command": "learn"}'])
def test_whatever_comes_there_asks_for_a_sync_and_for_nothing_else(
    home: Path, port: int, things: Things, payload: bytes
) -> None:
    with heard(home, port) as one:
        wait_until(one.listener.is_listening.is_set)
        things.say("hearth/other", b"", is_kept=False)
        things.say("node/user/hearth/sync", b"", is_kept=False)
        time.sleep(0.3)
        assert not one.asked.is_set()
        things.say(TOPIC, payload, is_kept=False)
        assert one.asked.wait(5)
    assert one.said == []


def test_what_the_broker_kept_from_before_asks_for_nothing(home: Path, port: int, things: Things) -> None:
    things.say(TOPIC, b"an old word")
    with heard(home, port) as one:
        wait_until(one.listener.is_listening.is_set)
        time.sleep(0.3)
        assert not one.asked.is_set()
        things.say(TOPIC, b"new", is_kept=False)
        assert one.asked.wait(5)


def test_it_is_in_the_ledger_and_the_home_is_free_meanwhile(home: Path, port: int) -> None:
    with heard(home, port) as one, Store.open(home / "hearth.db") as store:
        wait_until(one.listener.is_listening.is_set)
        said = [(entry.payload or b"").decode() for entry in Ledger(store).entries() if entry.kind == "sent"]
        assert said == ["CONNECT without a name (password not kept)", f"SUBSCRIBE {TOPIC}"]
        store.erase_traces()


def test_a_broker_that_comes_later_is_listened_to(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync_listener, "_FIRST_WAIT_S", 0.2)
    later = free_port()
    with heard(home, later) as one:
        wait_until(lambda: bool(one.said))
        time.sleep(0.5)  # several tries are one word
        with running(BROKERS[0], tmp_path, port=later):
            wait_until(one.listener.is_listening.is_set, 20)
            things = Things(later)
            things.say(TOPIC, b"", is_kept=False)
            assert one.asked.wait(5)
            things.close()
        wait_until(lambda: not one.listener.is_listening.is_set())
        wait_until(lambda: len(one.said) >= 2)
    assert all(line.startswith("not listening at hearth/sync: ") for line in one.said)


def test_a_broker_that_is_not_allowed_is_not_asked(home: Path, port: int) -> None:
    with heard(home, port, is_allowed=False) as one:
        wait_until(lambda: bool(one.said))
        assert "is not a host Hearth may reach" in one.said[0]
        assert not one.listener.is_listening.is_set()
    with Store.open(home / "hearth.db") as store:
        assert [entry.kind for entry in Ledger(store).entries()] == ["refused"]


def test_a_home_without_a_broker_says_so_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync_listener, "_FIRST_WAIT_S", 0.05)
    with heard(home, 1883) as one:
        (home / "hearth.toml").write_text("")
        wait_until(lambda: any("names no broker" in line for line in one.said))
        time.sleep(0.3)
    assert sum("names no broker" in line for line in one.said) == 1


@pytest.mark.usefixtures("_signals_as_before")
def test_the_loop_itself_listens_and_syncs_sooner(
    home: Path, port: int, things: Things, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    write_settings(home, port, f"127.0.0.1:{port}")
    (home / "edge").mkdir()
    (home / "edge" / "token").write_text("hearth_x\n")  # so that it tries; no cloud was joined
    monkeypatch.setattr(edge_running, "Times", functools.partial(Times, hasten_s=0.5))
    said: list[str] = []

    def n_syncs() -> int:
        said.append(capfd.readouterr().out)
        return "".join(said).count("edge sync: ")

    def tell() -> None:
        try:
            wait_until(lambda: n_syncs() == 1, 30)
            for _ in range(200):
                things.say(TOPIC, b"", is_kept=False)
            wait_until(lambda: n_syncs() >= 2, 30)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=tell)
    thread.start()
    never = ("--sync-every", "100000", "--tend-every", "100000", "--learn-every", "100000")
    assert cli.run(["--home", str(home), "edge", "run", "--node", "node-1", *never]) == 0
    thread.join()
    assert 2 <= n_syncs() <= 4, said
    assert "memory tend" in "".join(said)
    assert "".join(said).count("memory tend") == 1
