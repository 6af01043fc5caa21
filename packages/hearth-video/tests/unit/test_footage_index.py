"""What was seen, from pictures to answers: a drawn room, experts that know its colours."""

from __future__ import annotations

import dataclasses
import datetime as dt
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import small_video as room
from small_video import BLUE, GREEN, RED, START, Walk

from hearth.errors import CancelledError, MissingExtraError, NotFound, ToolError
from hearth.memory.event_memory import EventMemory, Filter
from hearth.protocols import Sighting
from hearth.storage.database import Store
from hearth.storage.trace import label_from_text
from hearth.testing import ScriptedExpert
from hearth_video.experts.expert_values import Activity, Box, Face, Frame, Movement
from hearth_video.footage import footage_retention, indexing
from hearth_video.footage.library import Library
from hearth_video.footage.people import People
from hearth_video.footage.pictures.cutouts import Cutout, told_apart
from hearth_video.footage.sightings import name_anew

WALKS = (Walk(RED, 5, 20), Walk(GREEN, 50, 130), Walk(RED, 100, 110), Walk(BLUE, 58, 63))
"""The second is in view over two borders of minutes, the last over one."""
NEVER = threading.Event()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "hearth.db") as store:
        yield store


@pytest.fixture
def home(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    monkeypatch.setattr(indexing, "frames", room.drawn(WALKS, 180.0))
    room.put_recording(store, tmp_path / "kitchen.mp4")
    return room.library(store)


def at(seconds: float) -> dt.datetime:
    return START + dt.timedelta(seconds=seconds)


def spans(found: tuple[Sighting, ...]) -> list[tuple[float, float]]:
    return [((one.start - START).total_seconds(), (one.end - START).total_seconds()) for one in found]


EXPECTED = [(5.0, 20.0), (50.0, 130.0), (58.0, 63.0), (100.0, 110.0)]


def test_a_period_is_looked_at_and_everyone_is_one_sighting_over_borders(home: Library) -> None:
    found = home.people("kitchen", START, at(180), NEVER)
    assert spans(found) == EXPECTED
    assert all(one.room == one.camera == "kitchen" and one.confidence == pytest.approx(0.9) for one in found)
    assert {(one.name, one.activity) for one in found} == {("", "")}


def test_what_was_looked_at_is_not_looked_at_again(home: Library) -> None:
    home.people("kitchen", START, at(180), NEVER)
    assert room.all_kept(home)[0].is_indexed
    again = room.library(home._store, seen_by=room.absent())
    assert spans(again.people("", START, at(180), NEVER)) == EXPECTED


def test_only_the_minutes_asked_about_are_looked_at(home: Library) -> None:
    assert spans(home.people("kitchen", at(70), at(110), NEVER)) == [(70.0, 110.0), (100.0, 110.0)]
    assert home.kept.all()[0].n_done == 1


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1)])
def test_minutes_looked_at_in_any_order_give_everyone_seen(home: Library, order: tuple[int, ...]) -> None:
    for minute in order:
        home.people("kitchen", at(60 * minute), at(60 * minute + 60), NEVER)
    found = spans(home.people("kitchen", START, at(180), NEVER))
    assert (5.0, 20.0) in found
    assert (100.0, 110.0) in found
    if order == (0, 1, 2):  # only backwards nobody can be joined to what comes after
        assert found == EXPECTED


def test_sightings_are_cut_to_the_time_asked_about_and_stay_cut(home: Library) -> None:
    (one, *_) = home.people("kitchen", at(10), at(15), NEVER)
    assert spans((one,)) == [(10.0, 15.0)]
    assert spans(home.named([one.id])) == [(10.0, 15.0)]
    assert spans(home.doing([one.id])) == [(10.0, 15.0)]


def test_names_are_those_of_the_people_enrolled_now(home: Library, store: Store) -> None:
    ids = [one.id for one in home.people("kitchen", START, at(180), NEVER)]
    assert [one.name for one in home.named(ids)] == ["", "", "", ""]
    room.enroll(store, "Anna", RED)
    room.enroll(store, "Ben", GREEN)
    named = home.named(ids)
    assert [one.name for one in named] == ["Anna", "Ben", "", "Anna"]
    assert all(one.name_confidence > 0.9 for one in named if one.name)
    with store.transaction() as cursor:
        cursor.execute("DELETE FROM person WHERE name = 'Anna'")
    assert [one.name for one in home.named(ids)] == ["", "Ben", "", ""]


class GreenBeside(room.FaceOfColour):
    """Sees beside everybody's own face, which is off the middle, that of somebody in green on the left."""

    def look(self, given: tuple[Frame, Box]) -> tuple[Face, ...]:
        (own,) = super().look(given)
        third = own.box.left + own.box.width / 3
        right = Face(dataclasses.replace(own.box, left=third), own.vector, own.quality)
        return (Face(dataclasses.replace(own.box, right=third), room.vector_of(GREEN), 0.8), right)


@pytest.mark.parametrize("is_over_a_border", [False, True])
def test_somebody_close_beside_another_is_seen_too(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_over_a_border: bool
) -> None:
    start_s, end_s = (50.0, 75.0) if is_over_a_border else (5.0, 20.0)
    monkeypatch.setattr(indexing, "frames", room.drawn((Walk(RED, start_s, end_s),), 120.0))
    room.put_recording(store, tmp_path / "kitchen.mp4", duration_s=120.0)
    room.enroll(store, "Anna", RED)
    room.enroll(store, "Ben", GREEN)
    home = room.library(store, seen_by=dataclasses.replace(room.experts(), identity=GreenBeside()))
    found = home.named([one.id for one in home.people("kitchen", START, at(120), NEVER)])
    assert [one.name for one in found] == ["Anna", "Ben"]
    whole, beside = spans(found)
    assert whole == (start_s, end_s)
    assert beside[0] - start_s < 8
    assert end_s - beside[1] < 8
    halves = {moment.at_s: moment.box for moment in home.sightings.moments(2)}
    wholes = {moment.at_s: moment.box for moment in home.sightings.moments(1)}
    assert all(box.left == wholes[at_s].left and box.right < wholes[at_s].right for at_s, box in halves.items())


def test_who_is_followed_already_is_not_seen_twice_beside_somebody(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "frames", room.drawn((Walk(RED, 5, 45), Walk(GREEN, 15, 35)), 60.0))
    room.put_recording(store, tmp_path / "kitchen.mp4", duration_s=60.0)
    room.enroll(store, "Anna", RED)
    room.enroll(store, "Ben", GREEN)
    home = room.library(store, seen_by=dataclasses.replace(room.experts(), identity=GreenBeside()))
    found = home.named([one.id for one in home.people("kitchen", START, at(60), NEVER)])
    assert sorted(one.name for one in found) == ["Anna", "Ben"]


def face(person: tuple[int, int, int], across: float, quality: float = 0.9) -> Face:
    return Face(Box(100 * across - 5, 0, 100 * across + 5, 10), room.vector_of(person), quality)


def cutout(at_s: float) -> Cutout:
    pixels = np.zeros((8, 8, 3), np.uint8)
    return Cutout(at_s, 1.0, pixels, Box(0, 0, 100, 200), np.zeros(34, np.float32))


def test_faces_of_two_are_told_apart() -> None:
    red, green = face(RED, 0.6), face(GREEN, 0.2)
    looked = [(cutout(1), (red, green)), (cutout(3), (face(GREEN, 0.4), red)), (cutout(5), (red,)), (cutout(7), ())]
    told = told_apart(looked)
    assert [one and one.vector.tolist() for _, one in told.own] == [red.vector.tolist()] * 3 + [None]
    assert [one.vector.tolist() for _, one in told.beside] == [green.vector.tolist()] * 2
    assert (told.is_left, round(told.border, 2)) == (True, 0.45)
    once = told_apart([(cutout(1), (red, green)), (cutout(3), (red, face(BLUE, 0.2)))])
    assert once.beside == [], "a face seen once is nobody yet"
    poor = told_apart([(cutout(k), (red, face(GREEN, 0.2, 0.4))) for k in (1, 3)])
    assert poor.beside == [], "nor is a poor one"
    mixed = told_apart([(cutout(1), (red,)), (cutout(3), (red,)), (cutout(5), (green,))])
    assert mixed.own[2][1] is green, "who was followed in the place of another is not hidden"
    assert told_apart([(cutout(1), ())]).own[0][1] is None


def test_two_who_cross_keep_their_names(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "frames", room.drawn((Walk(RED, 5, 45), Walk(GREEN, 15, 35)), 60.0))
    room.put_recording(store, tmp_path / "kitchen.mp4", duration_s=60.0)
    room.enroll(store, "Anna", RED)
    room.enroll(store, "Ben", GREEN)
    home = room.library(store)
    ids = [one.id for one in home.people("kitchen", START, at(60), NEVER)]
    assert [one.name for one in home.named(ids)] == ["Anna", "Ben"]


def test_activities_are_stretches_joined_over_borders(home: Library) -> None:
    ids = [one.id for one in home.people("kitchen", START, at(180), NEVER)]
    done = home.doing(ids)
    assert {one.activity for one in done} == {"walk"}
    assert spans(done) == EXPECTED
    assert all(one.activity_confidence == pytest.approx(0.8) for one in done)


def test_what_was_taught_since_is_told_of_what_was_seen_before(home: Library, store: Store) -> None:
    ids = [one.id for one in home.people("kitchen", START, at(180), NEVER)]
    sitting = room.library(store, seen_by=dataclasses.replace(room.absent(), activity=Sitting()))
    assert list(sitting.told_anew()) == [1, 2, 3, 4]
    assert [(one.activity, one.activity_confidence) for one in home.doing(ids)] == [("sit", 0.7)] * 4
    texts = [row["text"] for row in store.query("SELECT text FROM event WHERE kind = 'sighting'")]
    assert sorted(texts) == ["Somebody sat in the kitchen"] * 3 + ["Somebody sat in the kitchen for 80 seconds"]


class Sitting:
    card = ScriptedExpert.card

    def look(self, given: Movement) -> tuple[Activity, ...]:
        assert (given.frame_width, given.frame_height, given.room) == (160, 120, "kitchen")
        assert given.moments[0].box.height == pytest.approx(90, abs=0.1)
        assert given.moments[0].pose is not None
        return (Activity("sit", given.moments[0].at_s, given.moments[-1].at_s + 0.5, 0.7),)


def test_every_sighting_is_an_event_that_names_its_person_and_room(home: Library, store: Store) -> None:
    room.enroll(store, "Ben", GREEN)
    home.people("kitchen", START, at(180), NEVER)
    events = store.query("SELECT * FROM event WHERE kind = 'sighting' ORDER BY at_unix_s")
    assert [event["text"] for event in events] == [
        "Somebody walked through the kitchen",
        "Ben walked through the kitchen for 80 seconds",
        "Somebody walked through the kitchen",
        "Somebody walked through the kitchen",
    ]
    assert [event["person"] for event in events] == ["", "Ben", "", ""]
    assert {event["place"] for event in events} == {"kitchen"}
    label = label_from_text(events[0]["label"])
    assert (label.sources, label.readers) == (frozenset({"sensor"}), frozenset())
    hits = EventMemory(store).search("Ben in the kitchen", where=Filter(kinds=("sighting",)))
    assert hits[0].text.startswith("Ben walked")


def test_an_event_is_written_anew_when_somebody_is_enrolled(home: Library, store: Store) -> None:
    home.people("kitchen", START, at(180), NEVER)
    room.enroll(store, "Anna", RED)
    assert home.sightings.name_all() == 4
    texts = [row["text"] for row in store.query("SELECT text FROM event WHERE person = 'Anna'")]
    assert texts == ["Anna walked through the kitchen"] * 2
    assert store.query("SELECT count(*) FROM event WHERE kind = 'sighting'")[0][0] == 4


def test_somebody_who_is_no_longer_enrolled_leaves_memory_and_the_file(home: Library, store: Store) -> None:
    room.enroll(store, "Quillfeather", RED)
    home.people("kitchen", START, at(180), NEVER)
    assert len(store.query("SELECT 1 FROM event WHERE person = 'Quillfeather'")) == 2
    People(store).forget("quillfeather")
    name_anew(store)
    assert store.query("SELECT count(*) FROM event WHERE kind = 'sighting'")[0][0] == 4
    assert b"Quillfeather" not in store.path.read_bytes()
    assert EventMemory(store).search("Quillfeather") == ()


def test_boxes_and_poses_come_back_as_they_were_seen(home: Library) -> None:
    (one, *_) = home.people("kitchen", START, at(60), NEVER)
    (part,) = home.sightings.parts([one.id])
    moments = home.sightings.moments(part.number)
    assert len(moments) == 30
    first = moments[0]
    assert (first.box.left * 160, first.box.bottom * 120) == pytest.approx((5, 100), abs=0.01)
    assert first.pose is not None
    assert first.pose.points[-1, 1] * 120 == pytest.approx(100, abs=0.2)


def test_a_few_faces_and_small_pictures_are_kept_not_the_pixels(home: Library, store: Store) -> None:
    home.people("kitchen", START, at(180), NEVER)
    faces = [row[0] for row in store.query("SELECT count(*) FROM sighting_face GROUP BY sighting")]
    assert len(faces) == 4
    assert all(2 <= n <= 10 for n in faces)
    thumbnails = [row["jpeg"] for row in store.query("SELECT jpeg FROM sighting_thumbnail")]
    assert 4 <= len(thumbnails) <= 12
    assert all(jpeg[:3] == b"\xff\xd8\xff" and len(jpeg) < 10_000 for jpeg in thumbnails)


def test_being_cancelled_keeps_what_was_done_and_goes_on_later(home: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    cancelled = threading.Event()
    draw = room.drawn(WALKS, 180.0)

    def stopping(*args: object, **options: object) -> Iterator[Frame]:
        for frame in draw(*args, **options):
            if frame.at_s >= 80:
                cancelled.set()
            yield frame

    monkeypatch.setattr(indexing, "frames", stopping)
    with pytest.raises(CancelledError, match="so far is kept"):
        home.people("kitchen", START, at(180), cancelled)
    assert home.kept.all()[0].n_done == 1
    monkeypatch.setattr(indexing, "frames", draw)
    assert spans(home.people("kitchen", START, at(180), NEVER)) == EXPECTED


def test_missing_experts_say_the_pip_command_and_write_nothing(store: Store, home: Library) -> None:
    without = room.library(store, seen_by=room.absent())
    with pytest.raises(ToolError, match=r"pip install 'hearth-video\[experts\]'"):
        without.people("kitchen", START, at(60), NEVER)
    with pytest.raises(MissingExtraError):
        list(without.looked_at(without.kept.all(), NEVER))
    assert without.kept.all()[0].n_done == 0


def test_a_recording_that_cannot_be_read_is_said_and_the_rest_goes_on(
    home: Library, store: Store, tmp_path: Path
) -> None:
    room.put_recording(store, tmp_path / "hall.mp4", camera="hall", room="hall")
    (tmp_path / "hall.mp4").unlink()
    assert len(home.people("", START, at(180), NEVER)) == 4
    with pytest.raises(ToolError, match=r"hall\.mp4.*cannot be read"):
        home.people("hall", START, at(180), NEVER)
    assert [bool(kept.fault) for kept in home.kept.all()] == [False, True]
    (tmp_path / "hall.mp4").write_bytes(b"another file, longer than before")
    with pytest.raises(ToolError, match="changed since"):
        home.people("hall", START, at(180), NEVER)


def test_what_is_asked_must_be_there(home: Library) -> None:
    with pytest.raises(NotFound, match="rooms with a camera: kitchen"):
        home.recordings("cellar")
    assert home.people("the kitchen", at(9999), at(10000), NEVER) == ()
    for id in ("s99", "nonsense", "s1.5"):
        with pytest.raises(NotFound):
            home.named([id])


def test_minutes_without_a_picture_are_marked_and_not_taken_for_empty(
    home: Library, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "frames", room.drawn(WALKS, 70.0))
    home.people("kitchen", START, at(180), NEVER)
    assert [row["state"] for row in store.query("SELECT state FROM recording_chunk")] == ["done", "done", "unreadable"]


# ── Letting go ────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_old_is_let_go_by_its_own_age(home: Library, store: Store) -> None:
    home.people("kitchen", START, at(180), NEVER)
    counts = "SELECT (SELECT count(*) FROM sighting), (SELECT count(*) FROM sighting_face),"
    counts += " (SELECT count(*) FROM sighting_thumbnail)"

    def left(days: int) -> list[bool]:
        footage_retention.let_go(store, room.SETTINGS.video, START + dt.timedelta(days=days))
        return [n > 0 for n in store.query(counts)[0]]

    assert left(29) == [True, True, True]
    assert left(31) == [True, True, False]
    room.enroll(store, "Anna", RED)
    assert left(89) == [True, True, False]
    assert home.sightings.name_all() == 4
    assert left(91) == [True, False, False]
    ids = [one.id for one in home.people("kitchen", START, at(180), NEVER)]
    assert [one.name for one in home.named(ids)] == ["Anna", "", "", "Anna"]  # who it was, is known still
    assert left(366) == [False, False, False]
    with pytest.raises(NotFound, match="older than it is kept"):
        home.people("kitchen", START, at(180), NEVER)


def test_what_is_old_is_let_go_once_a_day(home: Library, store: Store) -> None:
    home.tend(at(0))
    home.people("kitchen", START, at(180), NEVER)
    later = START + dt.timedelta(days=31)
    home.tend(later)
    assert store.query("SELECT count(*) FROM sighting_thumbnail")[0][0] == 0
    with store.transaction() as cursor:
        cursor.execute("INSERT INTO sighting_thumbnail (sighting, at_s, jpeg) VALUES (1, 1, 'x')")
    home.tend(later + dt.timedelta(minutes=5))
    assert store.query("SELECT count(*) FROM sighting_thumbnail")[0][0] == 1
    home.tend(later + dt.timedelta(days=1))
    assert store.query("SELECT count(*) FROM sighting_thumbnail")[0][0] == 0


def test_a_recording_is_forgotten_with_all_that_was_seen_in_it(home: Library, store: Store, tmp_path: Path) -> None:
    home.people("kitchen", START, at(180), NEVER)
    pictures = tmp_path / footage_retention.PICTURES
    pictures.mkdir(parents=True)
    (pictures / "s1.jpg").write_bytes(b"a picture")
    id = home.kept.all()[0].id
    assert footage_retention.forget_recording(store, EventMemory(store), home.kept, id) == 4
    for table in ("sighting", "sighting_part", "sighting_face", "sighting_thumbnail", "sighting_activity", "camera"):
        assert store.query(f"SELECT count(*) FROM {table}")[0][0] == 0, table
    assert store.query("SELECT count(*) FROM event")[0][0] == 0
    assert not list(pictures.iterdir())
    assert (tmp_path / "kitchen.mp4").exists()
    with pytest.raises(NotFound, match="video list"):
        home.kept.one(id)


@pytest.mark.parametrize("what", ["recording", "period", "sighting"])
def test_what_is_forgotten_while_it_is_looked_at_stays_forgotten(
    home: Library, store: Store, tmp_path: Path, what: str
) -> None:
    room.put_recording(store, tmp_path / "hall.mp4", camera="hall", room="hall")
    (first, second) = sorted(home.kept.all(), key=lambda kept: kept.camera != "kitchen")
    faults = []
    for n, progress in enumerate(home.looked_at([first, second], NEVER)):
        faults += [progress.fault] if progress.fault else []
        if n == 0 and what == "recording":
            footage_retention.forget_recording(store, EventMemory(store), home.kept, first.id)
        elif n == 0 and what == "period":
            with store.transaction() as cursor:
                footage_retention.remove(cursor, footage_retention.Meant(chunks=((first.number, 1),)))
        elif n == 0:
            with store.transaction() as cursor:  # the second, who is in view over the border
                footage_retention.remove(cursor, footage_retention.Meant(sightings=(2,)))
    assert len(home.sightings.between(second, None, None)) == 4  # the rest goes on
    left = [(round(part.start_s), round(part.end_s)) for part in home.sightings.between(first, None, None)]
    if what == "recording":
        assert left == []
        assert ["was forgotten while it was looked at" in fault for fault in faults] == [True]
    elif what == "period":
        assert left == [(5, 20), (50, 60), (58, 60), (120, 130)]
    else:
        assert left == [(5, 20), (58, 63), (60, 130), (100, 110)]
