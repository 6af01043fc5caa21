"""Poses found in pictures, whichever way up; needs the extra `video`."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
from PIL import Image

from hearth.testing import check_expert
from hearth_video.experts.expert_values import POSE_POINTS, Box, Frame, Pixels
from hearth_video.experts.pose import PoseExpert

for needed in ("ai_edge_litert", "cv2"):
    pytest.importorskip(needed, reason="the extra `video` is not installed: pip install 'hearth-video[experts]'")

NOSE, LEFT_SHOULDER, RIGHT_SHOULDER = (POSE_POINTS.index(n) for n in ("nose", "left_shoulder", "right_shoulder"))


@pytest.fixture(scope="module")
def portrait() -> Pixels:
    """Grace Hopper, public domain, head and shoulders; her nose is near (265, 245)."""
    path = f"{matplotlib.get_data_path()}/sample_data/grace_hopper.jpg"
    return np.asarray(Image.open(path).convert("RGB"))


@pytest.fixture(scope="module")
def expert() -> PoseExpert:
    return PoseExpert()


def whole(pixels: Pixels) -> tuple[Frame, Box]:
    return Frame(pixels, 0.0), Box(0, 0, pixels.shape[1], pixels.shape[0])


def test_the_contract(portrait: Pixels) -> None:
    pose = check_expert(PoseExpert, whole(portrait), heavy_modules=("ai_edge_litert", "cv2", "mediapipe"))
    assert pose is not None
    assert pose.points.shape == (33, 4)
    x, y, _, visibility = pose.points[NOSE]
    assert abs(x - 265) < 40
    assert abs(y - 245) < 40
    assert visibility > 0.9
    # Her left is on the right of a picture from the front; both below the nose.
    assert pose.points[RIGHT_SHOULDER, 0] < x < pose.points[LEFT_SHOULDER, 0]
    assert pose.points[[LEFT_SHOULDER, RIGHT_SHOULDER], 1].min() > y
    assert np.all((pose.points[:, 3] >= 0) & (pose.points[:, 3] <= 1))
    assert pose.points[POSE_POINTS.index("left_ankle"), 3] < 0.5, "out of view"


def test_of_a_small_person_in_a_large_frame(expert: PoseExpert, portrait: Pixels) -> None:
    small = np.asarray(Image.fromarray(portrait).resize((68, 80)))
    room = np.full((480, 640, 3), 110, np.uint8)
    room[200:280, 400:468] = small
    pose = expert.look((Frame(room, 0.0), Box(400, 200, 468, 280)))
    assert pose is not None
    assert abs(pose.points[NOSE, 0] - (400 + 265 * 68 / 512)) < 8
    assert abs(pose.points[NOSE, 1] - (200 + 245 * 80 / 600)) < 8


def test_somebody_lying_across_the_picture(expert: PoseExpert, portrait: Pixels) -> None:
    pose = expert.look(whole(np.ascontiguousarray(np.rot90(portrait))))
    assert pose is not None
    assert abs(pose.points[NOSE, 0] - 245) < 50
    assert abs(pose.points[NOSE, 1] - (512 - 265)) < 50


def test_nobody(expert: PoseExpert, portrait: Pixels) -> None:
    noise = np.random.default_rng(2).integers(0, 255, (240, 200, 3), dtype=np.uint8)
    assert expert.look(whole(noise)) is None
    assert expert.look(whole(np.zeros((200, 200, 3), np.uint8))) is None
    for box in (Box(900, 900, 1000, 1000), Box(-80, -80, -10, -10), Box(50, 50, 50, 50), Box(0, 0, 3, 3)):
        assert expert.look((Frame(portrait, 0.0), box)) is None
