"""People in frames: `make test-video`, or `python -m pytest packages/hearth-video/tests/unit/test_person_detector.py` with the extra installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hearth.errors import ToolError
from hearth.testing import check_expert
from hearth_video.experts.expert_values import Frame, Pixels, Scene
from hearth_video.experts.person_detector import PersonExpert
from hearth_video.installed import carried_file

REASON = "the extra 'video' is not installed: make test-video"
cv2: Any = pytest.importorskip("cv2", reason=REASON)
pytest.importorskip("ai_edge_litert", reason=REASON)

WIDTH, HEIGHT = 480, 270


@pytest.fixture(scope="module")
def expert() -> PersonExpert:
    return PersonExpert()


@pytest.fixture(scope="module")
def portrait() -> Pixels:
    """The astronaut of scikit-image, 200 pixels high."""
    path: Path = carried_file("skimage", "data/astronaut.png", "the test")
    picture = cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB)
    return np.asarray(cv2.resize(picture[:, 60:400], (133, 200), interpolation=cv2.INTER_AREA), dtype=np.uint8)


def room(seed: int) -> Pixels:
    pixels = np.full((HEIGHT, WIDTH, 3), (190, 185, 170), np.uint8)
    pixels[190:] = (120, 90, 60)
    pixels[40:110, 330:420] = (220, 230, 240)
    noise = np.random.default_rng(seed).normal(0, 2, pixels.shape)
    return np.clip(pixels + noise, 0, 255).astype(np.uint8)


def with_person(portrait: Pixels, left: int, seed: int = 0) -> Pixels:
    pixels = room(seed)
    first, last = max(0, left), min(WIDTH, left + portrait.shape[1])
    if first < last:
        pixels[HEIGHT - portrait.shape[0] :, first:last] = portrait[:, first - left : last - left]
    return pixels


def walk(portrait: Pixels) -> list[Frame]:
    """Empty for 2 s, from left to right in 5 s, empty for 2 s."""
    places = [-200] * 4 + list(range(-100, 480, 58)) + [600] * 4
    return [Frame(with_person(portrait, left, n), n / 2) for n, left in enumerate(places)]


def counts(scenes: list[Scene]) -> list[int]:
    return [len(scene.people) for scene in scenes]


def test_the_contract(portrait: Pixels) -> None:
    found = check_expert(PersonExpert, tuple(walk(portrait)[6:10]), ("ai_edge_litert",))
    assert len(tuple(found)) == 4


def test_who_walks_through_is_one_track_and_an_empty_room_is_empty(expert: PersonExpert, portrait: Pixels) -> None:
    given = walk(portrait)
    scenes = list(expert.look(given))
    assert [scene.frame for scene in scenes] == given
    assert counts(scenes)[:4] == [0] * 4
    assert counts(scenes)[-3:] == [0] * 3
    assert counts(scenes)[6:12] == [1] * 6
    assert {person.track for scene in scenes for person in scene.people} == {1}


def test_the_box_is_around_the_person(expert: PersonExpert, portrait: Pixels) -> None:
    (person,) = next(expert.look([Frame(with_person(portrait, 170), 0.0)])).people
    middle = (person.box.left + person.box.right) / 2
    assert 170 < middle < 303
    assert 60 < person.box.width < 180
    assert 120 < person.box.height <= 230


def test_who_stands_still_does_not_become_part_of_the_room(expert: PersonExpert, portrait: Pixels) -> None:
    places = [-200, -200, -60, 40, 120, *[180] * 45]
    scenes = list(expert.look(Frame(with_person(portrait, left, n), float(n)) for n, left in enumerate(places)))
    assert counts(scenes)[5:] == [1] * 45
    assert len({person.track for scene in scenes for person in scene.people}) == 1


def test_a_picture_on_the_wall_is_found_out(expert: PersonExpert, portrait: Pixels) -> None:
    scenes = list(expert.look(Frame(with_person(portrait, 200, n), float(n)) for n in range(50)))
    assert counts(scenes)[-10:] == [0] * 10


def test_a_grey_picture_will_do(expert: PersonExpert, portrait: Pixels) -> None:
    grey = with_person(portrait, 170).mean(axis=2, keepdims=True).repeat(3, axis=2).astype(np.uint8)
    assert counts(list(expert.look([Frame(grey, 0.0)]))) == [1]


def test_a_large_frame_is_shrunk_and_its_boxes_are_its_own(expert: PersonExpert, portrait: Pixels) -> None:
    large = cv2.resize(with_person(portrait, 170), (WIDTH * 8, HEIGHT * 8))
    (scene,) = expert.look([Frame(large, 0.0)])
    (person,) = scene.people
    assert 170 * 8 < (person.box.left + person.box.right) / 2 < 303 * 8


@pytest.mark.parametrize(
    "pixels",
    [
        np.zeros((HEIGHT, WIDTH, 3), np.uint8),
        np.full((HEIGHT, WIDTH, 3), 255, np.uint8),
        np.zeros((1, 1, 3), np.uint8),
        np.zeros((8, 300, 3), np.uint8),
        np.zeros((30, 2000, 3), np.uint8),
    ],
    ids=["black", "white", "one pixel", "flat", "a strip"],
)
def test_nobody_where_there_is_nothing(expert: PersonExpert, pixels: Pixels) -> None:
    assert counts(list(expert.look(Frame(pixels, n / 2) for n in range(3)))) == [0, 0, 0]


def test_no_frames_no_scenes(expert: PersonExpert) -> None:
    assert list(expert.look([])) == []


@pytest.mark.parametrize(
    "pixels",
    [
        np.zeros((20, 20), np.uint8),
        np.zeros((20, 20, 4), np.uint8),
        np.zeros((20, 20, 3)),
        np.zeros((0, 5, 3), np.uint8),
    ],
    ids=["two axes", "four colours", "floats", "empty"],
)
def test_what_is_no_frame_is_said(expert: PersonExpert, pixels: Any) -> None:
    with pytest.raises(ToolError, match=r"the frame at 3 s has pixels of shape .* expected \[height, width, 3\]"):
        list(expert.look([Frame(pixels, 3.0)]))


def test_when_time_goes_back_or_the_size_changes_tracks_begin_anew(expert: PersonExpert, portrait: Pixels) -> None:
    first = [Frame(with_person(portrait, 150 + n, n), 100 + n / 2) for n in range(3)]
    earlier = [Frame(with_person(portrait, 150 + n, n), n / 2) for n in range(3)]
    smaller = [Frame(frame.pixels[:, :400], 2 + frame.at_s) for frame in earlier]
    scenes = list(expert.look(first + earlier + smaller))
    assert [scene.frame for scene in scenes] == first + earlier + smaller
    assert [[person.track for person in scene.people] for scene in scenes] == [[1]] * 3 + [[2]] * 3 + [[3]] * 3


def test_frames_at_the_same_time_are_taken(expert: PersonExpert, portrait: Pixels) -> None:
    scenes = list(expert.look(Frame(with_person(portrait, 150, n), 5.0) for n in range(3)))
    assert counts(scenes) == [1, 1, 1]


def test_no_more_is_read_than_is_kept(expert: PersonExpert) -> None:
    n_read = 0

    def endless() -> Iterator[Frame]:
        nonlocal n_read
        while True:
            yield Frame(room(n_read), n_read / 30)
            n_read += 1

    scenes = expert.look(endless())
    for _ in range(20):
        next(scenes)
    assert n_read <= 20 + 9
