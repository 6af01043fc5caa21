"""Who was seen is forgotten by person, period and recording: from footage and from memory, and stays forgotten."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import small_video as room
from small_video import GREEN, RED, START, Walk, vector_of

from hearth.errors import NotFound
from hearth.learning.unlearning import Receipt, Sought, find, forget
from hearth.learning.versions.learned_state import State
from hearth.memory.event_memory import EventMemory, NewEvent
from hearth.memory.forgetting import Keeper, Retention
from hearth.protocols import Count, Wanted
from hearth.types import OWNER
from hearth_video.footage import indexing
from hearth_video.footage.footage_retention import PICTURES
from hearth_video.footage.library import Library
from tests.small_world import opened

WALKS = (Walk(RED, 5, 20), Walk(GREEN, 50, 130), Walk(RED, 140, 150))
NEVER = threading.Event()


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[State]:
    monkeypatch.setattr(indexing, "frames", room.drawn(WALKS, 180.0))
    with opened(tmp_path / "state") as state:
        room.put_recording(state.store, tmp_path / "kitchen.mp4")
        room.enroll(state.store, "Anna", RED)
        room.enroll(state.store, "Ben", GREEN)
        room.library(state.store).people("", START, at(180), NEVER)
        yield state


def at(seconds: float) -> dt.datetime:
    return START + dt.timedelta(seconds=seconds)


def who(state: State) -> list[str]:
    library: Library = room.library(state.store)
    seen = library.people("", START, at(180), NEVER)
    return [one.name for one in library.named([one.id for one in seen])]


def _n_sightings(counts: tuple[Count, ...]) -> int:
    return next((count.n for count in counts if count.many.startswith("sightings")), 0)


def _removed(receipt: Receipt) -> int:
    """The number of sightings that a receipt says were removed."""
    return next((int(said.split()[0]) for said in receipt.held if "sighting" in said), 0)


def held(state: State, table: str) -> int:
    return int(state.store.query(f"SELECT count(*) FROM {table}")[0][0])


def test_a_person_leaves_footage_and_memory_and_the_file(state: State) -> None:
    pictures = state.folder / PICTURES
    pictures.mkdir(parents=True)
    (pictures / "s1.jpg").write_bytes(b"Anna and Ben")
    found = find(state.store, Sought(wanted=Wanted(person="anna")))
    assert _n_sightings(tuple(count for held in found.held for count in held.counts)) == 2
    assert {text for _, text in found.events} == {"Anna walked through the kitchen"}
    receipt = forget(state, found)
    assert (_removed(receipt), receipt.n_events) == (2, 2)
    assert receipt.found_in == ()
    assert who(state) == ["Ben"]
    assert held(state, "sighting_face") == held(state, "sighting_face WHERE sighting IN (SELECT number FROM sighting)")
    assert not list(pictures.iterdir())
    with state.store.transaction() as cursor:  # what is enrolled is forgotten by `hearth people forget`
        cursor.execute("DELETE FROM person WHERE name = 'Anna'")
    state.store.rewrite()
    data = (state.folder / "hearth.db").read_bytes()
    assert vector_of(RED).tobytes() not in data
    assert vector_of(GREEN).tobytes() in data
    assert b"Anna walked" not in data


@pytest.mark.parametrize(
    ("since", "until", "left"),
    [(0, 30, ["Ben", "Anna"]), (0, 51, ["Anna"]), (125, 139, ["Anna", "Anna"]), (-900, 0, None), (150, 900, None)],
)
def test_a_period_takes_whoever_was_in_view_in_it(
    state: State, since: float, until: float, left: list[str] | None
) -> None:
    wanted = Wanted(since=at(since), until=at(until))
    found = find(state.store, Sought(wanted=wanted))
    assert found.is_empty == (left is None)
    if left is not None:
        assert _removed(forget(state, found)) == 3 - len(left)
        assert who(state) == left
        assert held(state, "event WHERE kind = 'sighting'") == len(left)


def test_a_forgotten_time_is_not_looked_at_again_and_says_so(state: State) -> None:
    forget(state, find(state.store, Sought(wanted=Wanted(since=at(-1), until=at(200)))))
    blind = room.library(state.store, seen_by=room.absent())
    with pytest.raises(NotFound, match="was forgotten"):
        blind.people("kitchen", START, at(180), NEVER)


def test_one_event_takes_its_sighting_and_others_take_none(state: State) -> None:
    EventMemory(state.store).remember_all([NewEvent("said", "the harbour is closed", "message", at(10), OWNER, "Anna")])
    assert find(state.store, Sought(events=["said"])).held[0].is_empty
    (first, *_) = [row["id"] for row in state.store.query("SELECT id FROM event WHERE kind = 'sighting'")]
    assert _removed(forget(state, find(state.store, Sought(events=[first])))) == 1
    assert who(state) == ["Ben", "Anna"]


def test_a_sighting_that_memory_has_folded_into_a_summary_is_forgotten_with_its_sentence(state: State) -> None:
    memory = EventMemory(state.store)
    memory.remember_all([NewEvent("later", "a later day", "message", at(200 * 86_400), OWNER)])
    Keeper(state.store, memory, Retention()).tend(at(201 * 86_400))
    assert held(state, "event WHERE kind = 'sighting'") == 0
    receipt = forget(state, find(state.store, Sought(wanted=Wanted(person="Anna"))))
    assert _removed(receipt) == 2
    assert receipt.n_lines >= 1
    assert b"Anna walked" not in (state.folder / "hearth.db").read_bytes()
