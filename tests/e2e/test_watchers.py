"""What plug-ins watch is remembered by the agent that is up; one that fails is named, and the rest goes on."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from hearth.agent import Agent
from hearth.protocols import Remembering
from hearth.registry import Part, Parts
from hearth.serve.background import background_sync
from hearth.types import Label
from tests.served_home import made, served, until

Say = Callable[[str], None]
SENSOR = Label(frozenset({"sensor"}), frozenset())


def gauge(home: Path, environ: Mapping[str, str], memory: Remembering, stop: threading.Event, say: Say) -> None:
    at = dt.datetime.now(dt.UTC)
    memory.remember("The water stood at 12 cm.", kind="observation", at=at, label=SENSOR, key="gauge")
    say("")
    stop.wait(60)


def broken(home: Path, environ: Mapping[str, str], memory: Remembering, stop: threading.Event, say: Say) -> None:
    raise ValueError("<b>no\x1b gauge</b>")


def silent(home: Path, environ: Mapping[str, str], memory: Remembering, stop: threading.Event, say: Say) -> None:
    """Has nothing to watch."""


def test_what_is_sensed_is_found_by_the_next_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [Part(one.__name__, one, "tests") for one in (gauge, broken, silent)]
    monkeypatch.setattr(background_sync, "load_parts", lambda _: Parts(tuple(parts), ("old: cannot be loaded",)))

    def found(agent: Agent) -> bool | None:
        return bool(agent.memory.search("water")) or None

    with served(made(tmp_path / "home")) as up:
        assert up.desk.use(lambda agent: agent.memory.search("boiler")).result(20) == ()  # memory was read before
        assert until(lambda: up.desk.use(found).result(20))
        with background_sync.watching(up.house.home, {}, up.desk, lambda: dt.datetime.now(dt.UTC)) as running:
            states = until(lambda: {one.name: one for one in running.states} if len(running.states) == 3 else None)
            assert (states["Gauge"].says, states["Gauge"].is_fault) == ("listened to", False)
            assert "ValueError" in states["Broken"].says
            assert "\x1b" not in states["Broken"].says
            assert states["Old"].is_fault
        assert [thread for thread in threading.enumerate() if thread.name == "hearth-broken"] == []
