"""The loop between requests: what runs when, what is said of it, and how it ends. Commands are small scripts.

python -m pytest -q tests/unit/edge/test_scheduler.py
"""

from __future__ import annotations

import datetime as dt
import json
import os
import sys
import threading
import time
from pathlib import Path

import pytest

from hearth.edge.scheduler import BUSY, FAULT, Piece, Runner, Times, read_health
from hearth.errors import ConfigError, StoreError

NOW = dt.datetime(2026, 3, 6, 9, 30, tzinfo=dt.UTC)
SCRIPT = """
import os, signal, sys, time
home, name, *rest = sys.argv[2:]
def note(text):
    with open(os.path.join(home, "ran"), "a") as file:
        file.write(text + chr(10))
note(name)
if name == "slow":
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        note("stopped gently")
        sys.exit(130)
if name == "deaf":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    note("deaf now")
    time.sleep(60)
print("said by", name)
sys.exit(int(rest[0]) if rest else 0)
"""


def runner(home: Path, *pieces: Piece, times: Times | None = None) -> tuple[Runner, list[str]]:
    said: list[str] = []
    (home / "script.py").write_text(SCRIPT)
    command = (sys.executable, str(home / "script.py"))
    return Runner(home, pieces, home / "health.json", times or Times(), say=said.append, command=command), said


def ran(home: Path) -> list[str]:
    file = home / "ran"
    return file.read_text().split("\n")[:-1] if file.exists() else []


def stopped_when(one: Runner, home: Path, wanted: str, limit_s: float = 20.0) -> threading.Thread:
    """Tells the loop to stop as soon as a command wrote `wanted`."""

    def watch() -> None:
        until = time.monotonic() + limit_s
        while wanted not in ran(home) and time.monotonic() < until:
            time.sleep(0.01)
        one.stop.set()

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def test_once_runs_each_in_order_and_says_how_it_went(home: Path) -> None:
    one, said = runner(home, Piece(("first",), 1.0), Piece(("second", "6"), 1.0))
    assert one.run(once=True)
    assert ran(home) == ["first", "second"]
    assert said == ["first: said by first", "second 6: said by second"]
    document = json.loads((home / "health.json").read_text())
    assert {name: (c["code"], c["says"]) for name, c in document["commands"].items()} == {
        "first": (0, "said by first"),
        "second 6": (6, "said by second"),
    }
    assert document["state"] == "ended"


@pytest.mark.parametrize(("code", "is_well", "is_ready"), [(1, False, True), (FAULT, False, False), (BUSY, True, True)])
def test_what_fails_is_said_and_the_rest_goes_on(code: int, is_well: bool, is_ready: bool, home: Path) -> None:
    one, said = runner(home, Piece(("bad", str(code)), 1.0), Piece(("good",), 1.0))
    assert one.run(once=True) is is_well
    assert ran(home) == ["bad", "good"]
    assert said[0] == f"bad {code}: ended with {code}: said by bad"
    found = read_health(home / "health.json", dt.datetime.now(dt.UTC))
    assert found.fault(60, ready=False) == ""
    assert (found.fault(60, ready=True) == "") is is_ready


def test_pieces_come_round_each_in_its_time(home: Path) -> None:
    one, _ = runner(home, Piece(("often",), 0.05), Piece(("seldom",), 3600.0), Piece(("join",), 0.05, is_once=True))
    thread = threading.Thread(target=one.run)
    thread.start()
    until = time.monotonic() + 20
    while ran(home).count("often") < 3 and time.monotonic() < until:
        time.sleep(0.01)
    one.stop.set()
    thread.join(20)
    assert ran(home).count("often") >= 3
    assert (ran(home).count("seldom"), ran(home).count("join")) == (1, 1)


def test_what_needs_a_file_waits_for_it(home: Path) -> None:
    one, _ = runner(home, Piece(("sync",), 1.0, needs_file=home / "token"))
    one.run(once=True)
    assert ran(home) == []
    (home / "token").write_text("x")
    one.run(once=True)
    assert ran(home) == ["sync"]


def test_learning_waits_until_the_owner_is_quiet(home: Path) -> None:
    """Also when the loop's own work came between; its own writing is not the owner's."""
    (home / "hearth.db").write_bytes(b"")
    learn = Piece(("learn",), 0.05, needs_quiet=True)
    one, _ = runner(home, learn, Piece(("tend",), 0.05), learn, times=Times(quiet_s=1000.0))
    thread = stopped_when(one, home, "tend")
    one.run()
    thread.join()
    assert set(ran(home)) == {"tend"}
    assert not one._is_quiet()
    old = time.time() - 2000
    os.utime(home / "hearth.db", (old, old))
    (home / "ran").unlink()
    again, _ = runner(home, learn, times=Times(quiet_s=1000.0))
    thread = stopped_when(again, home, "learn")
    again.run()
    thread.join()
    assert "learn" in ran(home)


def test_told_to_stop_it_stops_what_runs_gently(home: Path) -> None:
    one, said = runner(home, Piece(("slow",), 1.0), times=Times(grace_s=10.0))
    thread = stopped_when(one, home, "slow")
    one.run()
    thread.join()
    assert ran(home) == ["slow", "stopped gently"]
    assert said == ["slow: ended with 130: told to end"]
    assert json.loads((home / "health.json").read_text())["commands"]["slow"]["code"] == 130


def test_what_does_not_listen_is_ended_all_the_same(home: Path) -> None:
    one, _ = runner(home, Piece(("deaf",), 1.0), times=Times(grace_s=0.1))
    one_more = stopped_when(one, home, "deaf now")
    one.run()
    one_more.join()
    assert json.loads((home / "health.json").read_text())["commands"]["deaf"]["code"] == -9


def test_what_hangs_is_ended(home: Path) -> None:
    one, said = runner(home, Piece(("slow",), 1.0), times=Times(limit_s=0.5))
    assert not one.run(once=True)
    assert said == ["slow: ended with 130: ended after 0.5 s"]


def test_a_command_that_cannot_be_started_is_said(home: Path) -> None:
    one, _ = runner(home, Piece(("x",), 1.0))
    one.command = (str(home / "none"),)
    assert not one.run(once=True)
    found = read_health(home / "health.json", dt.datetime.now(dt.UTC))
    assert "cannot be started" in found.fault(60, ready=True)


def test_a_health_file_that_cannot_be_written_is_said_and_the_work_goes_on(home: Path) -> None:
    one, said = runner(home, Piece(("first",), 1.0))
    (home / "blocked").write_text("a file")
    one.health = home / "blocked" / "health.json"
    one.run(once=True)
    assert ran(home) == ["first"]
    assert any("cannot write the health file" in line for line in said)


# ── What probes read ──────────────────────────────────────────────────────────────────────────────────────


def kept(home: Path, **changed: object) -> Path:
    document: dict[str, object] = {"at": NOW.isoformat(), "pid": 1, "state": "waiting", "commands": {}, **changed}
    (home / "health.json").write_text(json.dumps(document))
    return home / "health.json"


def test_it_is_well_while_it_is_fresh(home: Path) -> None:
    found = read_health(kept(home), NOW + dt.timedelta(seconds=100))
    assert found.fault(120, ready=True) == ""
    assert "100 s ago; expected at most 90" in found.fault(90, ready=False)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"at": "noon"}', '{"at": "2026-03-06T09:30:00+00:00", "commands": []}']
)
def test_another_file_is_no_health_file(text: str, home: Path) -> None:
    (home / "health.json").write_text(text)
    with pytest.raises(ConfigError, match="is no health file"):
        read_health(home / "health.json", NOW)


def test_no_file_is_said(home: Path) -> None:
    with pytest.raises(StoreError, match="`hearth edge run` writes it"):
        read_health(home / "health.json", NOW)


# ── Asked for ─────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_asked_for_comes_sooner_and_no_more_often_than_it_may(home: Path) -> None:
    one, _ = runner(home, Piece(("a",), 1000.0, may_be_hastened=True), Piece(("b",), 1000.0), times=Times(hasten_s=0.6))
    one.asked = threading.Event()

    def ask() -> None:
        while ran(home).count("a") < 3:  # a flood
            assert one.asked is not None
            one.asked.set()
            time.sleep(0.005)
        one.stop.set()

    thread = threading.Thread(target=ask)
    thread.start()
    began_s = time.monotonic()
    assert one.run()
    thread.join()
    n = ran(home).count("a")
    assert 2 <= n <= 1 + (time.monotonic() - began_s) / 0.6
    assert ran(home).count("b") == 1, "what may not be hastened is not"


def test_what_is_asked_for_once_comes_once(home: Path) -> None:
    one, _ = runner(home, Piece(("a",), 1000.0, may_be_hastened=True), times=Times(hasten_s=0.05))
    one.asked = threading.Event()

    def ask() -> None:
        time.sleep(0.8)
        assert one.asked is not None
        one.asked.set()
        time.sleep(0.8)
        one.stop.set()

    thread = threading.Thread(target=ask)
    thread.start()
    assert one.run()
    thread.join()
    assert ran(home) == ["a", "a"]


def test_what_needs_a_file_needs_it_when_it_is_asked_for_too(home: Path) -> None:
    one, _ = runner(home, Piece(("a",), 1000.0, needs_file=home / "token", may_be_hastened=True))
    one.asked = threading.Event()
    one.asked.set()
    threading.Timer(0.5, one.stop.set).start()
    assert one.run()
    assert ran(home) == []
