"""What changed in a view: `.venv/bin/python -m pytest packages/hearth-video/tests/unit/test_background_subtraction.py` (needs OpenCV: `make test-video`)."""

from __future__ import annotations

import numpy as np
import pytest

from hearth_video.experts.background_subtraction import Background, Change
from hearth_video.experts.expert_values import Box, Pixels

pytest.importorskip("cv2", reason="the extra 'video' is not installed: make test-video")


def room(seed: int = 0) -> Pixels:
    """Soft shapes and a little noise."""
    rows, columns = np.mgrid[0:216, 0:384]
    plain = 150 + 40 * np.sin(columns / 50) + 20 * np.cos(rows / 30)
    noise = np.random.default_rng(seed).normal(0, 2, (216, 384, 3))
    return np.asarray(np.clip(plain[..., None] * [1.0, 0.9, 0.8] + noise, 0, 255), dtype=np.uint8)


def learned(n: int = 10) -> Background:
    background = Background()
    for seed in range(n):
        see(background, room(seed))
    return background


def see(background: Background, pixels: Pixels, *kept: Box, passed_s: float = 0.5) -> Change:
    change = background.change(pixels)
    background.learn(pixels, change, kept, passed_s)
    return change


def with_thing(seed: int = 99) -> Pixels:
    pixels = room(seed)
    pixels[80:180, 100:150] = (20, 60, 160)
    return pixels


def test_the_same_room_has_not_changed() -> None:
    change = learned().change(room(50))
    assert change.patches == ()
    assert not change.is_new_view


def test_a_thing_is_found_where_it_is() -> None:
    (patch,) = learned().change(with_thing()).patches
    assert patch.overlap(Box(100, 80, 150, 180)) > 0.8


@pytest.mark.parametrize("light", [0.6, 0.8, 1.2])
def test_brighter_or_darker_as_a_whole_is_no_change(light: float) -> None:
    lit = np.clip(room(50) * light, 0, 255).astype(np.uint8)
    assert learned().change(lit).patches == ()


def test_a_shadow_is_no_change_and_something_dark_is() -> None:
    shadow, thing = room(50).astype(np.float64), room(50).astype(np.float64)
    shadow[80:180, 100:150] *= 0.7
    thing[80:180, 100:150] *= 0.2
    assert learned().change(shadow.astype(np.uint8)).patches == ()
    assert len(learned().change(thing.astype(np.uint8)).patches) == 1


def test_another_view_is_learned_anew() -> None:
    background = learned()
    other = np.random.default_rng(1).integers(0, 256, (216, 384, 3)).astype(np.uint8)
    other = np.repeat(np.repeat(other[::24, ::24], 24, axis=0), 24, axis=1)
    assert see(background, other).is_new_view
    assert background.change(other).patches == ()


def test_a_moved_chair_becomes_part_of_the_room_and_a_person_does_not() -> None:
    left_alone, kept = learned(), learned()
    for seed in range(60):
        see(left_alone, with_thing(seed))
        see(kept, with_thing(seed), Box(90, 70, 160, 190))
    assert left_alone.change(with_thing()).patches == ()
    assert len(kept.change(with_thing()).patches) == 1


def test_share_and_outline_of_what_changed_in_a_box() -> None:
    change = learned().change(with_thing())
    assert change.share(Box(105, 85, 145, 175)) > 0.95
    assert change.share(Box(250, 80, 300, 180)) == 0.0
    assert change.share(Box(-50, -50, -10, -10)) == 0.0
    around = change.around(Box(80, 60, 170, 200))
    assert around is not None
    assert around.overlap(Box(100, 80, 150, 180)) > 0.8
    assert change.around(Box(250, 80, 300, 180)) is None


@pytest.mark.parametrize("shape", [(1, 1, 3), (2, 500, 3), (216, 384, 3)])
def test_any_size_is_taken(shape: tuple[int, ...]) -> None:
    background = Background()
    for _ in range(2):
        assert see(background, np.zeros(shape, np.uint8)).patches == ()
