"""Drawn frames and timelines: who is marked, whose head is gone, what stands on the axis."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from PIL import Image

from hearth.protocols import Sighting
from hearth.testing import FIXED_NOW
from hearth_video.experts.expert_values import POSE_POINTS, Box, Pixels, Pose
from hearth_video.footage.pictures.still_pictures import Marked, draw_sighting, draw_timeline, head_of

WHOLE = Box(100, 40, 180, 340)
CLOSE = Box(200, 60, 420, 360)


def checked(height: int = 360, width: int = 640) -> Pixels:
    """Squares of 8 pixels: fine detail everywhere."""
    board = (np.indices((height, width)) // 8).sum(axis=0) % 2
    return np.repeat((board * 200 + 20).astype(np.uint8)[..., None], 3, axis=2)


def pose_at(x: float, y: float) -> Pose:
    points = np.zeros((33, 4), np.float32)
    for k, name in enumerate(POSE_POINTS):
        points[k] = (x + 3 * (k % 11), y + 2 * (k % 5), 0, 1) if k < 11 else (x, y + 60 + 5 * k, 0, 1)
        assert name
    return Pose(points)


def detail(image: Image.Image, box: Box) -> float:
    part = image.crop((round(box.left) + 6, round(box.top) + 6, round(box.right) - 6, round(box.bottom) - 6))
    return float(np.asarray(part.convert("L"), np.float32).std())


def drawn(blurred: bool, pose: Pose | None = None, box: Box = WHOLE) -> Image.Image:
    return draw_sighting(checked(), [Marked(box, "", pose, blurred)])


@pytest.mark.parametrize("box", [WHOLE, CLOSE], ids=["whole", "close"])
def test_a_stranger_has_no_face(box: Box) -> None:
    head = head_of(box, None)
    inner = Box(head.left + 20, head.top + 30, head.right - 20, head.bottom - 10)
    assert detail(drawn(True, box=box), inner) < 20 < 60 < detail(drawn(False, box=box), inner)


def test_a_face_in_no_box_is_gone_too() -> None:
    face = Box(400, 100, 440, 150)
    image = draw_sighting(checked(), [Marked(WHOLE, "Anna")], "", [face])
    assert detail(image, face) < 30 < 60 < detail(drawn(False), face)


def test_the_head_is_where_the_pose_has_it() -> None:
    low = pose_at(120, 250)  # somebody lying down
    head = head_of(WHOLE, low)
    assert head.top < 250 < head.bottom
    face = Box(120, 246, 150, 262)
    assert detail(drawn(True, low), face) < 30 < detail(drawn(True), face)


def test_a_pose_without_a_face_says_nothing_of_the_head() -> None:
    hidden = pose_at(120, 250)
    hidden.points[:11, 3] = 0.1
    assert head_of(WHOLE, hidden) == head_of(WHOLE, None)


def test_known_people_keep_their_faces_beside_strangers() -> None:
    people = [Marked(WHOLE, "Anna"), Marked(CLOSE, is_blurred=True)]
    image = draw_sighting(checked(), people, "kitchen, 18:03")
    assert image.size == (640, 360)
    assert detail(image, Box(110, 60, 170, 120)) > 60
    assert detail(image, Box(220, 90, 400, 200)) < 25


@pytest.mark.parametrize(
    "box", [Box(-50, -50, 40, 40), Box(630, 350, 900, 900), Box(10, 10, 10, 10), Box(700, 400, 800, 500)]
)
def test_boxes_over_the_edge_are_drawn_as_far_as_they_are_in_view(box: Box) -> None:
    assert draw_sighting(checked(), [Marked(box, "Zoë \x00 Müller" * 20, is_blurred=True)]).size == (640, 360)


def test_the_same_frame_is_drawn_the_same() -> None:
    assert drawn(True).tobytes() == drawn(True).tobytes()
    pixels = checked()
    draw_sighting(pixels, [Marked(WHOLE, is_blurred=True)])
    assert (pixels == checked()).all()


def seen(name: str, room: str, start_s: float, length_s: float, activity: str = "", sure: float = 0.9) -> Sighting:
    start = FIXED_NOW + dt.timedelta(seconds=start_s)
    end = start + dt.timedelta(seconds=length_s)
    return Sighting(f"{name}{start_s}", room, room, start, end, 0.9, name, sure if name else 0.0, activity, 0.9)


@pytest.mark.parametrize("span_s", [0.0, 1, 20, 400, 7000, 90_000, 3_000_000])
def test_a_timeline_of_any_length(span_s: float) -> None:
    ones = [seen("Anna", "kitchen", 0, span_s / 2, "walk"), seen("", "hall", span_s / 2, span_s / 2)]
    image = draw_timeline(ones, ones[0].start, ones[-1].end)
    assert image.width == 1200
    assert np.asarray(image).std() > 5


def test_of_many_rows_some_are_left_out_and_odd_names_do_no_harm() -> None:
    ones = [seen(f"$P{k}_{{x}}^2 \n{'long' * 20}", "kitchen", k, 5 + k, "sit", 0.6) for k in range(30)]
    image = draw_timeline(ones, ones[0].start, ones[-1].end)
    assert image.height < 1200
