"""The owner's things are read ahead while nobody asks for anything, and nobody who asks waits for it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hearth.agent import Agent
from hearth.errors import StoreFullError
from hearth.memory.answers.home_answers import HomeAnswers
from hearth.memory.inquiry.answer_reading import AnswerReader
from hearth.serve.background.index_building import AFTER_S, FOLDER_EVERY_S, ReadingAhead, reading_ahead
from hearth.serve.desk import Caller, Desk
from hearth.storage.database import Store
from hearth.storage.workspace import Folder
from hearth.testing import HashEncoder
from hearth.types import Episode
from tests.served_home import ASKS, READS, made, scripted, until

OWNER = Caller("page", is_owner=True)
N_NOTES = 20


class Meanwhile:
    """Does something once, while passages get their vectors."""

    dim = 384

    def __init__(self) -> None:
        self._encoder = HashEncoder(384)
        self.once: Callable[[], None] | None = None
        self.n_calls = 0

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.n_calls += 1
        once, self.once = self.once, None
        if once is not None:
            once()
        return self._encoder.encode(texts)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = made(tmp_path / "home")
    for k in range(N_NOTES):
        (home / "owner" / "notes" / f"door-{k}.md").write_text(f"# Door {k}\n\nThe code of door {k} is {k * 37}.\n")
    return home


@pytest.fixture
def desk(home: Path) -> Iterator[Desk]:
    opened = Desk.open(home, os.environ, encoder=HashEncoder(384))
    opened.use(scripted).result(20)
    yield opened
    opened.close()


@pytest.fixture
def encoder() -> Meanwhile:
    return Meanwhile()


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    with Store.open(home / "hearth.db") as store:
        yield store


@pytest.fixture
def ahead(home: Path, desk: Desk, store: Store, encoder: Meanwhile) -> ReadingAhead:
    return made_ahead(home, desk, store, encoder)


def made_ahead(home: Path, desk: Desk, store: Store, encoder: Meanwhile, after_s: float = 0.0) -> ReadingAhead:
    call = desk.use(lambda agent: agent.call_context()).result(20)
    own = Folder(home / "owner", store).for_call("")
    answers = HomeAnswers(store, encoder, AnswerReader())
    return ReadingAhead(home, desk, answers, replace(call, workspace=own), after_s)


def n_vectors(store: Store) -> int:
    return int(store.query("SELECT count(*) FROM passage JOIN passage_vector USING (number)")[0][0])


def test_what_lies_in_the_home_is_read_while_it_is_quiet_and_once(
    ahead: ReadingAhead, store: Store, encoder: Meanwhile, home: Path, desk: Desk
) -> None:
    assert ahead.look(0.0)
    assert (n_vectors(store), ahead.states) == (N_NOTES, ())
    desk.touch()
    n_calls = encoder.n_calls
    assert ahead.look(1.0)
    assert encoder.n_calls == n_calls, "nothing is left"
    (home / "owner" / "notes" / "gate.md").write_text("# Gate\n\nThe code of the gate is 4711.\n")
    assert ahead.look(2.0)
    assert n_vectors(store) == N_NOTES, "nothing went on, and the folder was looked at a moment ago"
    desk.touch()  # mail came, say
    assert ahead.look(3.0)
    assert n_vectors(store) == N_NOTES + 1


def test_the_folder_is_looked_at_now_and_then_where_nothing_goes_on(
    ahead: ReadingAhead, store: Store, home: Path, desk: Desk
) -> None:
    assert ahead.look(0.0)
    version = desk.view.version
    (home / "owner" / "notes" / "gate.md").write_text("# Gate\n\nThe code of the gate is 4711.\n")
    assert ahead.look(FOLDER_EVERY_S - 1)
    assert (n_vectors(store), desk.view.version) == (N_NOTES, version)
    assert ahead.look(FOLDER_EVERY_S)
    assert n_vectors(store) == N_NOTES + 1


def test_a_request_is_answered_while_passages_are_in_hand(
    ahead: ReadingAhead, store: Store, encoder: Meanwhile, desk: Desk
) -> None:
    answered: list[Episode] = []
    encoder.once = lambda: answered.append(desk.ask(READS, OWNER).result(20))
    assert ahead.look(0.0)
    assert [episode.answer.status for episode in answered] == ["done"]
    assert n_vectors(store) == N_NOTES


def test_it_stops_for_who_asks_and_goes_on_afterwards(
    ahead: ReadingAhead, store: Store, encoder: Meanwhile, desk: Desk
) -> None:
    waiting: list[Future[Episode]] = []

    def ask() -> None:
        waiting.append(desk.ask(ASKS, OWNER))
        until(lambda: desk.view.asked)

    encoder.once = ask
    assert not ahead.look(0.0), "somebody is asked whether it may be done"
    n_first = n_vectors(store)
    assert 0 < n_first < N_NOTES
    assert "passages found by their meaning" in ahead.states[0].says
    assert not ahead.look(1.0)
    assert n_vectors(store) == n_first
    question = desk.view.asked
    assert question is not None
    desk.answer(question.id, "no")
    waiting[0].result(20)
    assert ahead.look(2.0)
    assert (n_vectors(store), ahead.states) == (N_NOTES, ())


def test_it_waits_until_nobody_asked_for_a_while(home: Path, desk: Desk, store: Store, encoder: Meanwhile) -> None:
    desk.ask(READS, OWNER).result(20)
    assert not made_ahead(home, desk, store, encoder, after_s=3600.0).look(0.0)
    assert not store.query("SELECT 1 FROM passage")
    assert AFTER_S > 0


def test_it_waits_for_work_that_somebody_waits_for(
    ahead: ReadingAhead, store: Store, encoder: Meanwhile, desk: Desk
) -> None:
    def look(_: Agent) -> bool:
        return ahead.look(0.0)  # a page is being made, or what waits is being learnt

    assert desk.use(look).result(20) is False
    assert not store.query("SELECT 1 FROM passage")


def test_the_agent_finds_what_was_read_beside_it(ahead: ReadingAhead, desk: Desk) -> None:
    def cosines(agent: Agent) -> int:
        passages = agent.home_answers.passages
        return len(passages._cosines(HashEncoder(384).encode(["the code of the gate"])[0], ()))

    assert desk.use(cosines).result(20) == 0
    ahead.look(0.0)
    assert desk.use(cosines).result(20) == N_NOTES


def test_a_full_disk_is_told_and_tried_again(
    ahead: ReadingAhead, store: Store, monkeypatch: pytest.MonkeyPatch, desk: Desk
) -> None:
    def full(*_: object) -> None:
        raise StoreFullError("the disk is \x1b[31mfull")

    with monkeypatch.context() as broken:
        broken.setattr(ahead._answers.passages, "put", full)
        assert ahead.look(0.0)
    (state,) = ahead.states
    assert (state.name, state.is_fault, "the disk is" in state.says, "\x1b" in state.says) == (
        *("Your things", True, True),
        False,
    )
    assert ahead.look(FOLDER_EVERY_S)
    assert (n_vectors(store), ahead.states) == (N_NOTES, ())


def test_it_begins_and_ends_with_the_home(home: Path, desk: Desk) -> None:
    call = desk.use(lambda agent: agent.call_context()).result(20)
    with reading_ahead(home, desk, call) as ahead:
        assert ahead.states == ()
    assert not [one for one in threading.enumerate() if one.name == "hearth-reading-ahead"]
