"""The scenes of the demo's day that look and listen: a photo, a voice, and the public footage where it is.

Judged by the owner's files and the answers. Without the experts, or without the footage, they are skipped.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

pytest.importorskip("av", reason="PyAV is not installed: pip install 'hearth-video[experts]'")
pytest.importorskip("rapidocr_onnxruntime", reason="rapidocr is not installed: see requirements-video.in")
pytest.importorskip("pocketsphinx", reason="pocketsphinx is not installed: pip install 'hearth-video[experts]'")

from hearth.demo.day import SCENES_OF_THE_DAY, Day, Said, add_props
from hearth.demo.demo_home import build_demo_home
from hearth.guard.policy.question import RefusingApprover
from hearth.types import Episode
from tests import ROOT

NOW = dt.datetime(2026, 11, 20, 10, 5, tzinfo=ZoneInfo("Europe/Berlin"))
MEDIA = Path(os.environ.get("HEARTH_DATA", str(ROOT / "../shared/data"))) / "media"
HALL = MEDIA / "one-by-one-person-detection.mp4"


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Day]:
    home = tmp_path_factory.mktemp("day") / "home"
    build_demo_home(home, NOW)
    add_props(home, NOW)
    day = Day(home, RefusingApprover(), os.environ, lambda: NOW, footage=HALL if HALL.exists() else None)
    try:
        for _ in day.agent.learn_shipped():
            pass
        yield day
    finally:
        day.close()


def played(day: Day, key: str) -> tuple[list[Episode], str]:
    """Play a scene; return its requests, and what it said beside them."""
    scene = next(scene for scene in SCENES_OF_THE_DAY if scene.key == key)
    shown = list(day.play(scene))
    return day.episodes[key], "\n".join(line for one in shown if isinstance(one, Said) for line in one.lines)


def test_the_total_of_a_photo_goes_on_a_list(day: Day) -> None:
    (episode,), _ = played(day, "photo")
    assert episode.answer.status == "done"
    assert "- [ ] market: 23.45 EUR" in (day.home / "owner/notes/expenses.md").read_text(encoding="utf-8")


def test_a_spoken_request_is_done(day: Day) -> None:
    before = set((day.home / "owner/reminders").iterdir())
    (episode,), said = played(day, "voice")
    assert "“on friday at nine remind me to call my mother”" in said
    assert episode.answer.status == "done"
    (made,) = set((day.home / "owner/reminders").iterdir()) - before
    text = made.read_text(encoding="utf-8")
    assert "call my mother" in text
    assert "T090000" in text


def test_real_footage_is_asked_about_in_every_form(day: Day) -> None:
    if not HALL.exists():
        pytest.skip(f"the public clip is not in {MEDIA}")
    episodes, said = played(day, "video")
    told = {episode.request.typed: episode.answer.text for episode in episodes}
    assert told["how many people were in the hall yesterday evening"].startswith("6 people: nobody I know")
    assert told["did anyone fall in the hall yesterday evening?"].startswith(
        "No, nobody was seen falling. Of 6 sightings"
    )
    assert "standing" in told["what were people doing in the hall yesterday evening"]
    silent = told["what was said in the hall yesterday evening"]
    assert silent.startswith("The video of that time in the hall has no sound.\nNote: There is video only of the hall")
    assert all(episode.answer.status == "done" for episode in episodes)
    assert all(not episode.disclosures for episode in episodes)
    if "front door" not in said:
        return
    who = told["who was at the front door yesterday evening?"]
    assert all(name in who for name in ("Alex", "Kit", "Barack", "Joe")), "the last two in one photograph"
    assert who.count("somebody I don't know") == 1, "Rose is beside Kit, and nobody enrolled her"
    assert "18:30" in told["when was Alex at the front door yesterday evening?"]
    pictures = [
        Path(line.strip())
        for line in told["show me who was at the front door yesterday evening"].split()
        if ".jpg" in line
    ]
    assert pictures
    assert all(path.stat().st_size > 1000 for path in pictures)
