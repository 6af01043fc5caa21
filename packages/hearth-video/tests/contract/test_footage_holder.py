"""What all holders keep, of home video: what is found is gone, from the file's bytes too, and nothing else."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import small_video as room

from hearth.protocols import Held, Wanted
from hearth.storage.database import Store
from hearth.testing import check_holder
from hearth_video.footage import indexing
from hearth_video.footage.footage_retention import PICTURES, FootageHolder, Meant

WALKS = (room.Walk(room.RED, 5, 20), room.Walk(room.GREEN, 50, 130), room.Walk(room.RED, 140, 150))
SAID = ((10.0, "Anna hid the silver spoon behind the stove"), (60.0, "Ben is late again for the harbour train"))


@pytest.fixture
def filmed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """Three minutes of a kitchen, with what was seen and heard in them."""
    monkeypatch.setattr(indexing, "frames", room.drawn(WALKS, 180.0))
    with Store.open(tmp_path / "hearth.db") as store:
        room.put_recording(store, tmp_path / "kitchen.mp4")
        room.enroll(store, "Anna", room.RED)
        room.enroll(store, "Ben", room.GREEN)
        library = room.library(store)
        library.named([one.id for one in library.people("", room.at(0), room.at(180), threading.Event())])
        with store.transaction() as cursor:
            cursor.executemany(
                "INSERT INTO utterance (recording, start_s, end_s, text, score) SELECT number, ?, ?, ?, 0.9"
                " FROM recording",
                [(start_s, start_s + 3, text) for start_s, text in SAID],
            )
        yield store


@pytest.mark.parametrize(
    ("wanted", "stays"),
    [
        (Wanted(person="Anna"), Wanted(person="Ben")),
        (Wanted(since=room.at(0), until=room.at(30)), Wanted(since=room.at(45), until=room.at(180))),
        (Wanted(topic="silver spoon"), Wanted(topic="harbour")),
    ],
)
def test_home_video_keeps_the_contract(filmed: Store, wanted: Wanted, stays: Wanted) -> None:
    pictures = filmed.path.parent / PICTURES
    pictures.mkdir(parents=True)
    (pictures / "s1.jpg").write_bytes(b"drawn")
    (filmed.path.parent / "other.jpg").write_bytes(b"the owner's")
    found = check_holder(FootageHolder, filmed, wanted, stays)
    assert found.texts == (SAID[0][1],)
    assert list(pictures.iterdir()) == []
    assert (filmed.path.parent / "other.jpg").exists()
    assert len(filmed.query("SELECT 1 FROM recording")) == 1, "recordings are the owner's"


class Forgetful(FootageHolder):
    def remove(self, cursor: sqlite3.Cursor, held: Held) -> None:
        if isinstance(held.rows, Meant):
            super().remove(cursor, Held(held.holder, rows=Meant(held.rows.sightings)))


class Greedy(FootageHolder):
    def remove(self, cursor: sqlite3.Cursor, held: Held) -> None:
        if held.rows is not None:
            cursor.execute("DELETE FROM sighting")
            cursor.execute("DELETE FROM utterance")


class Eager(FootageHolder):
    def remove(self, cursor: sqlite3.Cursor, held: Held) -> None:
        cursor.execute("DELETE FROM utterance WHERE number = 1")


class Meddling(FootageHolder):
    def remove(self, cursor: sqlite3.Cursor, held: Held) -> None:
        super().remove(cursor, held)
        if held.rows is not None:
            cursor.execute("DELETE FROM event")


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        (Forgetful, "1 sentence heard in recordings of .* are left after remove"),
        (Greedy, "goes something of"),
        (Eager, "removes something for an empty find"),
        (Meddling, "remove.. changes 'event', which is not the holder's"),
    ],
)
def test_a_holder_that_breaks_the_contract_is_found(filmed: Store, broken: type[FootageHolder], fault: str) -> None:
    with pytest.raises(AssertionError, match=fault):
        check_holder(broken, filmed, Wanted(person="Anna"), Wanted(person="Ben"))
