"""The composed clip: its script is its truth; it is the same each time; without the extra the demo says so."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hearth.config import Settings
from hearth.errors import MissingExtraError
from hearth.testing import FIXED_NOW
from hearth_video.demo import composed_clip
from hearth_video.demo.composed_clip import DURATION_S, compose_clip, portraits
from hearth_video.demo.demo_footage import add_video

needs_extra = pytest.mark.skipif(
    importlib.util.find_spec("av") is None or importlib.util.find_spec("skimage") is None,
    reason="needs the extra `video`: make video",
)


def test_the_truth_lies_within_the_clip() -> None:
    found = [composed_clip._seen(walk, 190) for walk in composed_clip._SCRIPT]
    assert {one.name for one in found} == {"Eileen", "Grace"}
    assert all(0 < one.start_s < one.end_s < DURATION_S for one in found)


def test_without_the_extra_video_is_left_out_and_how_to_have_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object) -> Path:
        raise MissingExtraError("the demo home's video", "pip install this")

    monkeypatch.setattr(composed_clip, "carried_file", missing)
    with pytest.raises(MissingExtraError, match="is not installed; install it with: "):
        compose_clip(tmp_path)

    (said,) = add_video(cast(Any, SimpleNamespace(settings=Settings())), tmp_path / "r", FIXED_NOW, None)
    assert isinstance(said, str)
    assert "left out" in said
    assert "is not installed; install it with: " in said


@needs_extra
def test_it_is_composed_with_its_truth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(composed_clip, "DURATION_S", 6)
    monkeypatch.setattr(composed_clip, "_SCRIPT", composed_clip._SCRIPT[:1])
    made = compose_clip(tmp_path)
    assert made.path.stat().st_size > 10_000
    truth = json.loads((tmp_path / "clip.json").read_text())
    assert truth["present"] == [{"name": "Eileen", "start_s": 5.5, "end_s": 5.9}]
    assert set(made.portraits) == set(portraits()) == {"Eileen", "Grace"}
