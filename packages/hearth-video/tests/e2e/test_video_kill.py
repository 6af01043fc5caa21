"""A process that looks at video is killed anywhere: nothing is half-written, and what follows is as if it never was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest
import small_video as room

from hearth.storage.database import Store
from hearth_video.footage import indexing
from hearth_video.footage.library import Library
from tests import ROOT

TESTS = ROOT / "packages" / "hearth-video" / "tests"
DURATION_S = 300.0
SCRIPT = f"""
    import sys, threading
    from pathlib import Path
    from hearth_video.footage import indexing
    from hearth.storage.database import Store
    import small_video as room
    from test_video_kill import WALKS
    indexing.frames = room.drawn(WALKS, {DURATION_S})
    with Store.open(Path(sys.argv[1]) / "hearth.db") as store:
        home = room.library(store)
        print("began", flush=True)
        for progress in home.looked_at(home.kept.all(), threading.Event()):
            print(progress.done_s, flush=True)
"""
WALKS = tuple(
    room.Walk((room.RED, room.GREEN, room.BLUE)[k % 3], 7.0 + 31 * k, 7.0 + 31 * k + (70 if k % 2 else 20))
    for k in range(8)
)


def told(store: Store) -> list[tuple[object, ...]]:
    """Everything that is held of footage and of memory, but row numbers."""
    found: list[tuple[object, ...]] = []
    for sql in (
        "SELECT start_s, end_s, round(confidence, 6), name FROM sighting ORDER BY start_s, end_s",
        "SELECT state, count(*) FROM recording_chunk GROUP BY state",
        "SELECT s.start_s, sum(length(p.boxes) > 0) FROM sighting_part p JOIN sighting s ON s.number = p.sighting"
        " GROUP BY s.number ORDER BY s.start_s",
        "SELECT at, text, person, place FROM event ORDER BY at, text",
        "SELECT count(*) FROM event WHERE id NOT IN (SELECT 'sighting-' || number FROM sighting)",
    ):
        found += [tuple(row) for row in store.query(sql)]
    return found


def run(home: Path, killed_after_lines: int | None) -> bool:
    """Look on; says whether it came to its end."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), str(home)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, TESTS, TESTS / "e2e")))},
    )
    assert process.stdout is not None
    with process.stdout:
        for n, _ in enumerate(process.stdout):
            if n == killed_after_lines:
                process.send_signal(signal.SIGKILL)
                break
    return process.wait() == 0


def test_killed_again_and_again_it_ends_as_if_it_had_never_been(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    for home in (whole, cut):
        home.mkdir()
        with Store.open(home / "hearth.db") as store:
            room.put_recording(store, tmp_path / "kitchen.mp4", duration_s=DURATION_S)
            room.enroll(store, "Anna", room.RED)
    assert run(whole, None)
    n_killed = 0
    for lines in (0, 1, 2):
        n_killed += not run(cut, lines)
    assert run(cut, None)
    assert n_killed == 3
    with Store.open(whole / "hearth.db") as one, Store.open(cut / "hearth.db") as other:
        assert told(other) == told(one)
        assert one.query("SELECT count(*) FROM sighting")[0][0] == len(WALKS)
        assert other.query("PRAGMA integrity_check")[0][0] == "ok"


def test_two_at_once_look_at_nothing_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "frames", room.drawn(WALKS, DURATION_S))
    with Store.open(tmp_path / "hearth.db") as store:
        room.put_recording(store, tmp_path / "kitchen.mp4", duration_s=DURATION_S)
        homes = [room.library(store), room.library(store)]
        faults: list[BaseException] = []

        def look(home: Library) -> None:
            try:
                list(home.looked_at(home.kept.all(), threading.Event()))
            except BaseException as error:
                faults.append(error)

        threads = [threading.Thread(target=look, args=(home,)) for home in homes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert faults == []
        assert store.query("SELECT count(*) FROM sighting")[0][0] == len(WALKS)
