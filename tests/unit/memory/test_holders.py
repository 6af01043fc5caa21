"""Who takes part in forgetting: each plug-in that keeps something, or the reason why nothing may be forgotten."""

from __future__ import annotations

import datetime as dt
import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hearth.errors import RegistryError, StoreError
from hearth.learning.unlearning import Sought, find, forget
from hearth.learning.versions.learned_state import State
from hearth.memory import forgetting
from hearth.memory.event_memory import EventMemory, NewEvent
from hearth.memory.forgetting import open_holders
from hearth.protocols import Held, Wanted
from hearth.registry import INSTALL_COMMANDS, Part, Parts
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW, ScriptedDependent, ScriptedHolder, check_holder
from hearth.types import OWNER
from tests.small_world import opened

Offer = Callable[..., None]
OF_THE_CORE = ("passages", "rings", "standing answers", "origins", "faults")


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch) -> Offer:
    """Let these be all the holders that plug-ins offer."""

    def these(*offered: object, faults: tuple[str, ...] = ()) -> None:
        parts = tuple(
            Part(getattr(one, "name", f"part{k}"), one if callable(one) else lambda store, one=one: one, f"acme{k} 1.0")
            for k, one in enumerate(offered)
        )
        monkeypatch.setattr(forgetting, "load_parts", lambda group: Parts(parts, faults))

    return these


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    with opened(tmp_path / "state") as state:
        EventMemory(state.store).remember_all(
            NewEvent(id, text, "message", FIXED_NOW + dt.timedelta(seconds=k), OWNER)
            for k, (id, text) in enumerate([("e1", "the harbour is closed"), ("e2", "a parcel came"), ("e3", "rain")])
        )
        yield state


def put_recording(store: Store) -> None:
    with store.transaction() as cursor:
        cursor.execute("INSERT INTO camera VALUES ('hall', 'hall')")
        cursor.execute(
            "INSERT INTO recording (id, camera, path, n_bytes, digest, start, start_unix_s, duration_s, width, height,"
            " codec, start_from) VALUES ('r1', 'hall', '/r1.mp4', 1, 'd', '2026-01-01', 0, 60, 1, 1, 'h264', 'name')"
        )
        cursor.execute("INSERT INTO utterance (recording, start_s, end_s, text, score) VALUES (1, 0, 1, 'hush', 0.9)")


def test_home_video_without_the_companion_that_forgets_it_is_said_to_be_held_by_nobody(
    state: State, offer: Offer
) -> None:
    offer()
    assert open_holders(state.store).faults == ()
    put_recording(state.store)
    (fault,) = open_holders(state.store).faults
    assert fault == (
        "1 recording, 1 sentence heard of home video are in the database, and hearth-video, which alone can take them "
        f"out, is not installed; install it with: {INSTALL_COMMANDS['hearth-video']}"
    )
    with pytest.raises(RegistryError, match="nothing was forgotten, as some of it would stay: 1 recording"):
        find(state.store, Sought(matching="harbour"))
    assert "hearth-video" not in "".join(forgetting.open_holders(state.store).by_name)


@pytest.mark.companions
def test_with_it_nothing_is_missing(state: State) -> None:
    put_recording(state.store)
    found = open_holders(state.store)
    assert (list(found.by_name), found.faults) == ([*OF_THE_CORE, "footage"], ())


def broken(store: Store) -> None:
    raise ZeroDivisionError("no such table")


@pytest.mark.parametrize("is_loaded", [True, False])
def test_while_one_cannot_be_opened_nothing_is_forgotten(state: State, offer: Offer, is_loaded: bool) -> None:
    other = ScriptedHolder({"e1": "harbour"})
    offer(other)
    found = find(state.store, Sought(matching="harbour"))
    offer(other, *([broken] if is_loaded else []), faults=() if is_loaded else ("acme 1.0 cannot be loaded",))
    said = "part1' of acme1 1.0 failed: ZeroDivisionError" if is_loaded else "acme 1.0 cannot be loaded"
    for attempt in (lambda: find(state.store, Sought(matching="harbour")), lambda: forget(state, found)):
        with pytest.raises(RegistryError, match=f"nothing was forgotten, as some of it would stay: .*{said}"):
            attempt()
    assert other.texts == {"e1": "harbour"}
    assert len(state.store.query("SELECT 1 FROM event")) == 3


class Failing(ScriptedHolder):
    """Fails in one of its parts."""

    def __init__(self, part: str, error: BaseException) -> None:
        super().__init__({"e1": "harbour"}, "failing")
        self._part, self._error = part, error

    def _reach(self, part: str) -> None:
        if part == self._part:
            raise self._error

    def find(self, events: object, wanted: Wanted | None, words: str) -> Held:
        self._reach("find")
        return super().find((), wanted, words)

    def remove(self, cursor: sqlite3.Cursor, held: Held) -> None:
        self._reach("remove")

    def sweep(self, home: Path, held: Held) -> None:
        self._reach("sweep")


@pytest.mark.parametrize("error", [ZeroDivisionError("x"), SystemExit(0)])
def test_a_holder_that_cannot_be_asked_is_named_and_nothing_is_forgotten(
    state: State, offer: Offer, error: BaseException
) -> None:
    offer(Failing("find", error))
    with pytest.raises(RegistryError, match=r"nothing was forgotten, as the plug-in 'failing' failed: .*uninstall it"):
        find(state.store, Sought(matching="harbour"))
    assert len(state.store.query("SELECT 1 FROM event")) == 3


@pytest.mark.parametrize("error", [ZeroDivisionError("x"), SystemExit(0), PermissionError(13, "denied")])
@pytest.mark.parametrize("part", ["remove", "sweep"])
def test_when_a_holder_fails_the_rest_goes_and_the_receipt_says_what_stays(
    state: State, offer: Offer, part: str, error: BaseException
) -> None:
    other = ScriptedHolder({"e1": "harbour"}, "other")
    offer(Failing(part, error), other)
    receipt = forget(state, find(state.store, Sought(matching="harbour")))
    (said,) = receipt.failed
    assert re.match(r"what the plug-in 'failing' keeps of it stays, as it failed: .*; update it, or uninstall it", said)
    assert other.texts == {}
    assert [row["id"] for row in state.store.query("SELECT id FROM event")] == ["e2", "e3"]
    (path,) = (state.folder / "receipts").iterdir()
    assert json.loads(path.read_text())["failed"] == [said]


class Half(ScriptedHolder):
    """Fails after it has begun to change rows."""

    def remove(self, cursor: sqlite3.Cursor, held: Held) -> None:
        cursor.execute("DELETE FROM event")
        raise ZeroDivisionError("x")


class Mistaken(ScriptedHolder):
    """Asks the database for a table that is not there."""

    def remove(self, cursor: sqlite3.Cursor, held: Held) -> None:
        cursor.execute("DELETE FROM no_such_table")


def test_a_holders_wrong_statement_is_its_own_fault_and_the_rest_goes(state: State, offer: Offer) -> None:
    offer(Mistaken({"e1": "harbour"}, "mistaken"))
    receipt = forget(state, find(state.store, Sought(matching="harbour")))
    assert [said for said in receipt.failed if "no such table" in said]
    assert [row["id"] for row in state.store.query("SELECT id FROM event")] == ["e2", "e3"]


def test_what_a_holder_began_and_did_not_end_is_taken_back(state: State, offer: Offer) -> None:
    offer(Half({"e1": "harbour"}))
    forget(state, find(state.store, Sought(matching="harbour")))
    assert [row["id"] for row in state.store.query("SELECT id FROM event")] == ["e2", "e3"]


class Lying(ScriptedHolder):
    """Says that it removes, and does not."""

    def remove(self, cursor: sqlite3.Cursor, held: Held) -> None:
        """Remove nothing."""

    def sweep(self, home: Path, held: Held) -> None:
        """Remove nothing."""


def test_a_holder_that_says_it_removed_what_it_did_not_is_found_by_the_search(state: State, offer: Offer) -> None:
    kept = state.folder / "acme" / "notes.bin"
    kept.parent.mkdir()
    kept.write_bytes(b"\x00\x01the picture of the harbour wall\x00")
    offer(Lying({"e1": "the picture of the harbour wall"}, "lying"))
    receipt = forget(state, find(state.store, Sought(matching="harbour")))
    assert receipt.found_in == ("acme/notes.bin",)


def test_what_the_database_says_is_not_blamed_on_the_holder(state: State, offer: Offer) -> None:
    offer(Failing("remove", sqlite3.OperationalError("database or disk is full")))
    with pytest.raises(StoreError, match="full"):
        forget(state, find(state.store, Sought(matching="harbour")))


def test_two_holders_that_call_themselves_the_same_are_told_apart_by_their_entry_points(
    state: State, offer: Offer, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = ScriptedHolder({"e1": "harbour one"}), ScriptedHolder({"e1": "harbour two"})
    parts = tuple(Part(name, lambda store, one=one: one, name) for name, one in (("a", first), ("b", second)))
    monkeypatch.setattr(forgetting, "load_parts", lambda group: Parts(parts))
    found = find(state.store, Sought(matching="harbour"))
    assert [held.holder for held in found.held] == [*OF_THE_CORE, "a", "b"]
    forget(state, found)
    assert (first.texts, second.texts) == ({}, {})


@pytest.mark.parametrize("is_first", [True, False])
def test_what_goes_with_one_holders_find_goes_from_the_others_too(state: State, offer: Offer, is_first: bool) -> None:
    one = ScriptedHolder({"e2": "nothing but a harbour"}, "one")
    other = ScriptedHolder({"e2": "the picture of a parcel", "e3": "of rain"}, "other")
    offer(*((one, other) if is_first else (other, one)))
    receipt = forget(state, find(state.store, Sought(matching="harbour")))
    assert (one.texts, other.texts) == ({}, {"e3": "of rain"})
    assert receipt.n_events == 2
    assert [row["id"] for row in state.store.query("SELECT id FROM event")] == ["e3"]


@pytest.mark.parametrize("is_first", [True, False])
def test_a_plug_in_whose_rows_repeat_what_others_keep_is_asked_once_more(
    state: State, offer: Offer, is_first: bool
) -> None:
    one = ScriptedHolder({"e9": "a parcel of the harbour"}, "one")
    other = ScriptedDependent({"e2": "quoted: A parcel of the harbour", "e3": "quoted: rain"}, "other")
    offer(*((other, one) if is_first else (one, other)))
    receipt = forget(state, find(state.store, Sought(matching="the harbour")))
    assert (one.texts, other.texts) == ({}, {"e3": "quoted: rain"})
    assert [row["id"] for row in state.store.query("SELECT id FROM event")] == ["e3"]
    assert receipt.held == ("1 scripted text", "1 scripted text")


def test_what_memory_forgets_is_told_to_a_holder_that_repeats_it(state: State, offer: Offer) -> None:
    other = ScriptedDependent({"x": "heard that rain", "y": "heard that a parcel came"}, "other")
    offer(other)
    forget(state, find(state.store, Sought(events=["e2"])))
    assert other.texts == {"x": "heard that rain"}


class Confused(ScriptedDependent):
    """Cannot say what goes with what the others keep."""

    def find_with(self, found: Held, others: object) -> Held:
        raise ZeroDivisionError("x")


def test_one_that_cannot_be_asked_once_more_is_named_and_nothing_is_forgotten(state: State, offer: Offer) -> None:
    offer(Confused({"e1": "harbour"}, "confused"))
    with pytest.raises(RegistryError, match="nothing was forgotten, as the plug-in 'confused' failed"):
        find(state.store, Sought(matching="harbour"))
    assert len(state.store.query("SELECT 1 FROM event")) == 3


class Greedy(ScriptedDependent):
    """Takes everything along, whatever the others found."""

    def find_with(self, found: Held, others: object) -> Held:
        return self.find(self.texts, None, "")


def test_the_contract_finds_a_holder_that_takes_along_what_depends_on_nothing(state: State) -> None:
    holder = Greedy({"e1": "Anna was here", "e2": "Ben was here"})
    with pytest.raises(AssertionError, match="finds 2 scripted texts with another holder that found nothing"):
        check_holder(lambda store: holder, state.store, Wanted(person="Anna"), Wanted(person="Ben"))


@pytest.mark.parametrize("double", [ScriptedHolder, ScriptedDependent])
def test_the_double_keeps_the_contract(state: State, double: type[ScriptedHolder]) -> None:
    holder = double({"e1": "Anna was here", "e2": "Ben was here"})
    found = check_holder(lambda store: holder, state.store, Wanted(person="Anna"), Wanted(person="Ben"))
    assert (found.texts, found.events) == (("Anna was here",), ("e1",))
    assert holder.texts == {"e2": "Ben was here"}
    assert holder.swept[-1] == found
