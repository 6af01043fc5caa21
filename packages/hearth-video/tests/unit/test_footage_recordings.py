"""When a recording began, by its name; which room is meant."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import small_video as room

from hearth.errors import NotFound, RequestError
from hearth.storage.database import Store
from hearth_video.footage.recordings import Recordings, start_in_name, start_said

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("20261119_180000", "2026-11-19T18:00:00+01:00"),
        ("VID_20260719_180102", "2026-07-19T18:01:02+02:00"),
        ("VID-20260719-WA0001", ""),
        ("2026-11-19 18.00.05", "2026-11-19T18:00:05+01:00"),
        ("kitchen 2026-11-19_18h00", "2026-11-19T18:00:00+01:00"),
        ("cam1_20261119T170000Z", "2026-11-19T18:00:00+01:00"),
        ("2026-11-19", ""),
        ("20261340_180000", ""),
        ("IMG_1234567890123456", ""),
        ("holiday", ""),
        ("20261025_023000", "2026-10-25T02:30:00+02:00"),  # shown twice: the first
        ("20260329_023000", "2026-03-29T03:30:00+02:00"),  # shown never: what it would be
    ],
)
def test_a_name_says_when(name: str, says: str) -> None:
    found = start_in_name(name, BERLIN)
    assert (found.isoformat() if found else "") == says


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("2026-11-19 18:00", "2026-11-19T18:00:00+01:00"),
        (" 2026-11-19T18:00:30 ", "2026-11-19T18:00:30+01:00"),
        ("2026-11-19 18:00+00:00", "2026-11-19T19:00:00+01:00"),
        ("2026-10-25 02:30+01:00", "2026-10-25T02:30:00+01:00"),
    ],
)
def test_a_start_is_read_in_the_owners_zone(text: str, says: str) -> None:
    assert start_said(text, BERLIN).isoformat() == says


@pytest.mark.parametrize("text", ["", "18:00", "2026-11-19", "soon", "2026-02-30 10:00", "2026-10-25 02:30"])
def test_what_is_no_start_says_what_to_write(text: str) -> None:
    with pytest.raises(RequestError, match=r"write (it as in|which)"):
        start_said(text, BERLIN)


@pytest.fixture
def recordings(tmp_path: Path) -> Iterator[Recordings]:
    with Store.open(tmp_path / "hearth.db") as store:
        room.put_recording(store, tmp_path / "a.mp4", camera="cam 1", room="kitchen")
        room.put_recording(store, tmp_path / "b.mp4", camera="Door_2", room="Hall", start=room.at(60))
        room.put_recording(store, tmp_path / "c.mp4", camera="cam 1", room="kitchen", start=room.at(170))
        yield Recordings(store, BERLIN)


@pytest.mark.parametrize("said", ["kitchen", "the kitchen", "Kitchen", "our  kitchen", "cam 1", "cam_1"])
def test_a_room_is_known_however_it_is_said(recordings: Recordings, said: str) -> None:
    assert recordings.room(said) == "kitchen"


def test_a_room_without_a_camera_names_those_with_one(recordings: Recordings) -> None:
    assert recordings.room("door 2") == "Hall"
    with pytest.raises(NotFound, match="rooms with a camera: Hall, kitchen"):
        recordings.room("cellar")


def test_recordings_of_a_time_are_those_that_overlap_it(recordings: Recordings) -> None:
    def found(place: str | None, start_s: float, end_s: float) -> list[str]:
        return [kept.path.name for kept in recordings.between(place, room.at(start_s), room.at(end_s))]

    assert found(None, 0, 1000) == ["a.mp4", "b.mp4", "c.mp4"]
    assert found("kitchen", 175, 178) == ["a.mp4", "c.mp4"]  # one camera's clock was wrong: both are there
    assert found("hall", 0, 60) == []
    assert found("hall", 0, 60.1) == ["b.mp4"]
    assert found(None, 180, 190) == ["b.mp4", "c.mp4"]
    assert recordings.between(None, room.at(9999), None) == ()


def test_a_length_is_counted_in_real_seconds_over_a_change_of_the_clock(tmp_path: Path) -> None:
    start = dt.datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN)
    with Store.open(tmp_path / "hearth.db") as store:
        room.put_recording(store, tmp_path / "a.mp4", start=start, duration_s=7200.0)
        (kept,) = Recordings(store, BERLIN).all()
    assert kept.end.isoformat() == "2026-10-25T03:30:00+01:00"
    assert kept.offset_s(dt.datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=BERLIN)) == 3600
    assert kept.chunks_between(kept.start, kept.end) == range(120)
    assert kept.chunks_between(start - dt.timedelta(hours=9), start - dt.timedelta(hours=8)) == range(1)
