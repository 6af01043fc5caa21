"""What waits is learnt while nobody asks for anything, and nobody who asks waits for it."""

from __future__ import annotations

import datetime as dt
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from hearth.errors import CancelledError, HearthError, PlannerError
from hearth.learning.versions.learned_state import Lineage
from hearth.serve.background import background_sync
from hearth.serve.background.background_sync import BETWEEN_S, IdleLearning
from hearth.serve.background.learning_process import Learnt, learn_aside, learnt
from hearth.serve.desk import Caller
from hearth.storage.database import Store
from tests.served_home import ASKS, Served, made, served

OWNER = Caller("page", is_owner=True)


@pytest.fixture
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = made(tmp_path_factory.mktemp("idle") / "home")
    with (home / "hearth.toml").open("a") as settings:
        settings.write('\n[learning]\nprofile = "small"\n')
    with served(home) as running:
        yield running


def idle(up: Served, after_s: float = 0.0) -> IdleLearning:
    return IdleLearning(up.house.home, up.desk, after_s, lambda: dt.datetime.now(dt.UTC))


def n_versions(up: Served) -> int:
    with Store.open(up.house.home / "hearth.db") as store:
        return len(Lineage(store).versions())


def teach(up: Served) -> None:
    with up.answering("no"):
        id = up.desk.ask(ASKS, OWNER).result(20).id
    up.desk.correct(id, "what time is it").result(20)


def test_what_was_taught_becomes_a_version_once(up: Served) -> None:
    teach(up)
    learning = idle(up)
    assert learning.look(0.0)
    assert n_versions(up) == 1
    (state,) = learning.states
    assert (state.says, state.is_fault) == ("learnt 1 demonstration: version 1", False)
    assert not learning.look(BETWEEN_S - 1)
    assert learnt(up.house.home, frozenset()) == Learnt("nothing new to learn", frozenset())
    assert n_versions(up) == 1


def test_it_waits_for_quiet_and_gives_way_to_who_asks(up: Served) -> None:
    teach(up)
    assert not idle(up, after_s=3600.0).look(0.0)  # something was asked a moment ago
    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(idle(up).look, 0.0)
        while not up.desk._n_works:
            time.sleep(0.001)
        answered = up.desk.ask("what time is it", OWNER)
        assert answered.result(20).answer.status == "done"
        assert looking.result(20) is False
    assert n_versions(up) == 0
    with up.answering("no"):
        assert up.desk.quiet_s > 0
        waiting = up.desk.ask(ASKS, OWNER)
        assert up.desk.quiet_s == 0
        waiting.result(20)


def test_what_the_process_says_is_read_and_a_fault_of_its_own_is_told(tmp_path: Path) -> None:
    with pytest.raises(HearthError, match="no hearth"):
        learn_aside(tmp_path / "nowhere", os.environ, frozenset(), lambda: False)
    with pytest.raises(CancelledError):
        learn_aside(tmp_path, os.environ, frozenset(), lambda: True)


def test_a_fault_is_said_on_the_page_and_ends_nothing(up: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise PlannerError("the teacher <b>is away</b>")

    monkeypatch.setattr(background_sync, "learn_aside", broken)
    learning = idle(up)
    assert learning.look(0.0)
    assert (learning.states[0].is_fault, learning.states[0].says) == (True, "the teacher <b>is away</b>")
    with httpx.Client(base_url=up.address, follow_redirects=True) as browser:
        browser.get(up.house.link)
        assert "waits for 15 quiet minutes" in browser.get("/today").text  # of the house's own
