"""`hearth video` through the command line, with experts that know the colours of a drawn room."""

from __future__ import annotations

import importlib.util
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import small_video as room
from PIL import Image
from small_video import GREEN, RED, Walk

from hearth.storage.database import Store
from hearth_video.experts.expert_values import Box, Pixels
from hearth_video.footage import indexing, library
from hearth_video.footage.pictures import still_pictures as pictures_part
from hearth_video.footage.pictures.still_pictures import Marked
from hearth_video.installed import INSTALL_COMMAND
from tests.story import Hearth

WALKS = (Walk(RED, 5, 20), Walk(GREEN, 50, 90))
needs_av = pytest.mark.skipif(
    importlib.util.find_spec("av") is None, reason="PyAV is not installed: pip install 'hearth-video[experts]'"
)
PERIOD = ("--since", "2026-11-19T18:00", "--until", "2026-11-19T18:10")


@pytest.fixture(autouse=True)
def _experts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "shipped_experts", lambda _: room.experts())


@pytest.fixture
def filmed(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A kitchen that was filmed for two minutes, in pictures drawn without a file."""
    monkeypatch.setattr(indexing, "frames", room.drawn(WALKS, 120.0))
    with Store.open(home / "hearth.db") as store:
        room.enroll(store, "Anna", RED)
        return room.put_recording(store, tmp_path / "kitchen.mp4", duration_s=120.0)


def test_a_home_without_recordings_says_how_to_add_one(hearth: Hearth) -> None:
    assert "hearth video add FILE" in hearth("video", "list").out
    assert hearth("video", "index").out.startswith("0 new sightings")
    ran = hearth("video", "show", *PERIOD)
    assert (ran.code, "There is no recording of that time." in ran.out) == (4, True)
    ran = hearth("video", "list", "--room", "cellar")
    assert (ran.code, "no camera is in 'cellar'" in ran.err) == (4, True)


def test_without_the_extra_the_command_that_installs_it_is_said(
    hearth: Hearth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    (tmp_path / "a.mp4").write_bytes(b"anything")
    ran = hearth("video", "add", str(tmp_path / "a.mp4"), "--camera", "hall")
    assert ran.code == 78
    assert INSTALL_COMMAND in ran.err


def test_indexed_shown_found_in_memory_and_forgotten(hearth: Hearth, filmed: str) -> None:
    assert "0 of 2 minutes looked at" in hearth("video", "list").out
    assert "2 new sightings, 2 in all, in 1 recording." in hearth("video", "index").out
    assert "0 new sightings, 2 in all" in hearth("video", "index", filmed, "--activities").out
    (listed,) = json.loads(hearth("video", "list", "--json").out)
    assert (listed["id"], listed["is_indexed"]) == (filmed, True)
    out = hearth("video", "show", *PERIOD, "--room", "the Kitchen").out
    assert "18:00:05–18:00:20 kitchen Anna (" in out
    assert "somebody unknown, walk (80% sure)" in out
    shown = json.loads(hearth("video", "show", *PERIOD, "--json").out)
    assert [one["name"] for one in shown["sightings"]] == ["Anna", ""]
    assert "Anna walked through the kitchen" in hearth("memory", "search", "Anna", "kitchen").out
    assert hearth("video", "show", "--since", "2026-11-19T18:03", "--until", "2026-11-19T18:04").code == 4
    ran = hearth("video", "forget", filmed)
    assert (ran.code, "--yes forgets it" in ran.err) == (5, True)
    assert "1 recording, 2 sightings" in hearth("video", "forget", filmed, "--yes").out
    assert "Anna walked" not in hearth("memory", "search", "Anna", "kitchen").out
    assert hearth("video", "forget", filmed, "--yes").code == 4


def test_forgetting_a_person_takes_what_was_seen_of_them(hearth: Hearth, filmed: str) -> None:
    hearth("video", "index")
    told = hearth("forget", "--person", "Anna")
    assert "1 sighting with its pictures" in told.out
    assert "stays: the recordings" in told.out
    ran = hearth("forget", "--person", "Anna", "--yes")
    assert "1 sighting with its pictures" in ran.out
    assert "the recordings: they are your own files" in ran.out
    out = hearth("video", "show", *PERIOD).out
    assert "Anna" not in out
    assert "somebody unknown" in out


def test_an_export_of_memory_tells_of_sightings_and_holds_no_vector(
    hearth: Hearth, filmed: str, tmp_path: Path
) -> None:
    hearth("video", "index")
    assert hearth("memory", "export", str(tmp_path / "memory.jsonl")).code == 0
    events: list[dict[str, Any]] = [json.loads(line) for line in (tmp_path / "memory.jsonl").read_text().splitlines()]
    seen = [event for event in events if event.get("kind") == "sighting"]
    assert len(seen) == 2
    assert {tuple(event["sources"]) for event in seen} == {("sensor",)}
    assert all(event["readers"] == [] for event in seen)
    assert not {"vector", "faces", "jpeg", "clothes"} & {key for event in seen for key in event}


def test_doctor_says_whether_video_can_be_looked_at(hearth: Hearth, filmed: str) -> None:
    is_there = importlib.util.find_spec("mediapipe") is not None and importlib.util.find_spec("av") is not None
    ran = hearth("doctor")
    assert ("1 recording; the experts for home video are installed" if is_there else INSTALL_COMMAND) in ran.out


class Typed(io.StringIO):
    """What somebody types at a terminal."""

    def isatty(self) -> bool:
        return True


# ── With files ────────────────────────────────────────────────────────────────────────────────────────────


@needs_av
def test_files_are_added_where_they_lie_and_each_once(hearth: Hearth, tmp_path: Path) -> None:
    one = room.write_video(tmp_path / "one.mp4", [Walk(RED, 0, 3)])
    two = room.write_video(tmp_path / "two.mp4", [Walk(GREEN, 0, 3)])
    ran = hearth(
        "video", "add", str(one), str(two), "--camera", "cam 1", "--room", "kitchen", "--start", "2026-11-19 18:00"
    )
    assert ran.code == 0, ran.err
    assert "added: cam-1-20261119-180000  cam 1 (kitchen)  2026-11-19 18:00:00–18:00:03" in ran.out
    assert "added: cam-1-20261119-180003" in ran.out  # further files follow the first
    assert "known already" in hearth("video", "add", str(one), "--camera", "cam 1").out
    moved = one.rename(tmp_path / "elsewhere.mp4")
    ran = hearth("video", "show", *PERIOD)
    assert "cannot be read" not in ran.out
    assert "somebody unknown" in ran.out  # the other file answers
    assert "found at its new place" in hearth("video", "add", str(moved), "--camera", "cam 1").out
    assert "2 in all" in hearth("video", "index").out
    ran = hearth("video", "add", str(moved), "--camera", "hall")
    assert (ran.code, "known already as 'cam-1-20261119-180000' of the camera 'cam 1'" in ran.err) == (1, True)
    ran = hearth("video", "add", str(moved), "--camera", "cam 1", "--start", "2026-11-19 19:00")
    assert (ran.code, "forget it first" in ran.err) == (1, True)


@needs_av
def test_what_cannot_be_added_is_said_and_the_rest_is_added(
    hearth: Hearth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = room.write_video(tmp_path / "20261119_180000.mp4", [Walk(RED, 0, 3)])
    (tmp_path / "empty.mp4").write_bytes(b"")
    ran = hearth(
        "video", "add", str(tmp_path / "empty.mp4"), str(tmp_path / "absent.mp4"), str(good), "--camera", "hall"
    )
    assert ran.code == 6
    assert "'empty.mp4'" in ran.err.replace(str(tmp_path) + "/", "")
    assert "is not there" in ran.err
    assert "its start, 2026-11-19 18:00:00 CET, is read from the file's name" in ran.out
    nameless = room.write_video(tmp_path / "clip.mkv", [Walk(GREEN, 0, 3)])
    ran = hearth("video", "add", str(nameless), "--camera", "hall")
    assert (ran.code, '--start "2026-11-19 18:00"' in ran.err) == (1, True)
    monkeypatch.setattr(sys, "stdin", Typed("2026-11-19 17:00\n"))
    ran = hearth("video", "add", str(nameless), "--camera", "hall")
    assert (ran.code, "When did clip.mkv begin" in ran.err) == (0, True)
    assert "hall  2026-11-19 17:00:00–17:00:03" in ran.out
    monkeypatch.setattr(sys, "stdin", Typed(""))
    assert hearth("video", "add", str(nameless), "--camera", "hall").code == 0  # known already: not asked again
    dated = room.write_video(tmp_path / "clip.mp4", [Walk(GREEN, 0, 2)], created="2026-11-19T17:00:01.000000Z")
    ran = hearth("video", "add", str(dated), "--camera", "hall", "--json")
    (row,) = json.loads(ran.out)
    assert row["start"] == "2026-11-19T18:00:01+01:00"
    assert "overlaps with 'hall-20261119-180000' of the same camera" in row["notes"][1]


@needs_av
def test_what_follows_a_file_that_cannot_be_read_is_not_put_into_its_place(hearth: Hearth, tmp_path: Path) -> None:
    files = [room.write_video(tmp_path / f"{name}.mp4", [Walk(RED, 0, k + 2)]) for k, name in enumerate("abc")]
    files[1].write_bytes(b"cut off")
    said = ("--camera", "hall", "--start", "2026-11-19 18:00")
    ran = hearth("video", "add", *map(str, files), *said)
    assert ran.code == 6
    assert "/c.mp4' follows" in ran.err
    assert "add it alone with its own --start" in ran.err
    assert [one["id"] for one in json.loads(hearth("video", "list", "--json").out)] == ["hall-20261119-180000"]


@needs_av
def test_a_files_name_cannot_write_a_line_of_its_own(hearth: Hearth, tmp_path: Path) -> None:
    film = room.write_video(tmp_path / "a.mp4", [Walk(RED, 0, 2)]).rename(tmp_path / "\x1b[31ma\nadded: b.mp4")
    ran = hearth("video", "add", str(film), "--camera", "hall", "--start", "2026-11-19 18:00")
    assert (ran.code, ran.out.count("\n"), "\x1b" in ran.out) == (0, 1, False)


@pytest.mark.parametrize(
    ("start", "said"),
    [
        ("2026-10-25 02:30", "twice; write which: '2026-10-25 02:30+02:00' or '2026-10-25 02:30+01:00'"),
        ("2026-03-29 02:30", "there is no such time"),
        ("yesterday", "write it as in '2026-11-19 18:00'"),
        ("2026-11-19", "write it as in '2026-11-19 18:00'"),
    ],
)
def test_a_start_that_is_none_is_refused(hearth: Hearth, tmp_path: Path, start: str, said: str) -> None:
    (tmp_path / "a.mp4").write_bytes(b"anything")
    ran = hearth("video", "add", str(tmp_path / "a.mp4"), "--camera", "hall", "--start", start)
    assert (ran.code, said in ran.err) == (3, True), ran.err


@needs_av
def test_a_recording_over_a_change_of_the_clock_lasts_as_long_as_it_lasts(hearth: Hearth, tmp_path: Path) -> None:
    film = room.write_video(tmp_path / "a.mkv", [Walk(RED, 0, 7000)], times=[0, 1800, 3600, 7199])
    ran = hearth("video", "add", str(film), "--camera", "hall", "--start", "2026-10-25 02:30+02:00", "--json")
    (row,) = json.loads(ran.out)
    assert row["start"] == "2026-10-25T02:30:00+02:00"
    assert row["end"].startswith("2026-10-25T03:")
    assert row["end"].endswith("+01:00")
    assert 7199 <= row["duration_s"] <= 7199 + 3600


@needs_av
def test_pictures_and_a_timeline_are_drawn_from_the_file(
    hearth: Hearth, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[tuple[list[str], list[bool]]] = []

    def draw(pixels: Pixels, people: list[Marked], caption: str, strange: list[Box]) -> Image.Image:
        drawn.append(([one.name for one in people], [one.is_blurred for one in people]))
        assert "hall, 2026-11-19 18:00" in caption
        return draw_sighting(pixels, people, caption, strange)

    draw_sighting = pictures_part.draw_sighting
    monkeypatch.setattr(pictures_part, "draw_sighting", draw)
    with Store.open(home / "hearth.db") as store:
        room.enroll(store, "Anna", RED)
    film = room.write_video(tmp_path / "a.mp4", [Walk(RED, 0, 4), Walk(GREEN, 2, 8)], duration_s=4)
    assert hearth("video", "add", str(film), "--camera", "hall", "--start", "2026-11-19 18:00").code == 0
    shown = json.loads(hearth("video", "show", *PERIOD, "--pictures", "--json").out)
    assert [one["name"] for one in shown["sightings"]] == ["Anna", ""]
    *pictures, timeline = (Path(file) for file in shown["files"])
    assert [path.suffix for path in (*pictures, timeline)] == [".jpg", ".jpg", ".png"]
    assert all(path.is_relative_to(home / "video" / "pictures") for path in (*pictures, timeline))
    assert drawn == [(["Anna", ""], [False, True]), (["", "Anna"], [True, False])]  # the one who is meant first
    drawn.clear()
    assert hearth("video", "show", *PERIOD, "--pictures", "--strangers").code == 0
    assert [blurred for _, blurred in drawn] == [[False, False]] * 2
    film.unlink()
    ran = hearth("video", "show", *PERIOD, "--pictures")
    assert (ran.code, "hearth video add FILE --camera 'hall'" in ran.err) == (4, True)
    assert hearth("video", "show", *PERIOD).code == 0  # words need no file
    hearth("forget", "--person", "Anna", "--yes")
    assert not list((home / "video" / "pictures").iterdir())


@needs_av
def test_a_file_that_went_bad_is_said_and_the_others_are_looked_at(hearth: Hearth, tmp_path: Path) -> None:
    bad, good = (
        room.write_video(tmp_path / f"{name}.mp4", [Walk(colour, 0, 3)]) for name, colour in (("a", RED), ("b", GREEN))
    )
    assert hearth("video", "add", str(bad), str(good), "--camera", "hall", "--start", "2026-11-19 18:00").code == 0
    bad.write_bytes(bytes(bad.stat().st_size))
    ran = hearth("video", "index")
    assert ran.code == 6
    assert "not looked at: hall-20261119-180000" in ran.err
    assert "1 new sightings, 1 in all, in 2 recordings." in ran.out
    assert "no video that can be read" in hearth("video", "list").out
    assert hearth("video", "show", *PERIOD).code == 0
    ran = hearth("video", "show", "--since", "2026-11-19T18:00:00", "--until", "2026-11-19T18:00:02")
    assert (ran.code, "no video that can be read" in ran.err) == (1, True)
    ran = hearth("doctor")
    assert "recording 'hall-20261119-180000'" in ran.out
