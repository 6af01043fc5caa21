"""Names for faces: who is told, who stays unknown; faces found in pictures, where dlib is installed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_video.experts.expert_values import Box, Face, Frame, Vector
from hearth_video.experts.identity import (
    UNKNOWN,
    Known,
    alike,
    clothes,
    distance,
    is_likely,
    quality,
    sharpness,
    turn,
    verdict,
)


def directions() -> np.ndarray:
    drawn = np.random.default_rng(5).normal(size=(128, 128))
    return np.linalg.qr(drawn)[0].astype(np.float32)


WAYS = directions()


def person(name: str, way: int, n: int = 3) -> Known:
    """Photos about 0.3 apart, around a point 0.6 from others'."""
    return Known(name, np.stack([0.62 * WAYS[way] + 0.2 * WAYS[40 + 3 * way + k] for k in range(n)]))


def face(of: Known, away: float, quality: float = 0.9, along: int = 100) -> Face:
    return Face(Box(0, 0, 80, 80), (of.vectors.mean(axis=0) + away * WAYS[along]).astype(np.float32), quality)


ADA, BEN, CEM = person("Ada", 0), person("Ben", 1), person("Cem", 2)
ALL = (ADA, BEN, CEM)


def test_a_near_face_is_named_and_surely() -> None:
    said = verdict([face(ADA, 0.2)], ALL)
    assert (said.name, said.possible) == ("Ada", ("Ada",))
    assert said.probability > 0.95


def test_a_stranger_stays_unknown() -> None:
    stranger = person("Dan", 3)
    said = verdict([face(stranger, 0.1)], ALL)
    assert (said.name, said.possible) == ("", ())


def test_nobody_is_named_without_a_face_or_anyone_enrolled() -> None:
    assert verdict([], ALL) == UNKNOWN
    assert verdict([face(ADA, 0.0)], ()) == UNKNOWN


def test_twins_are_both_possible_and_neither_is_named() -> None:
    twin = Known("Bea", ADA.vectors + 0.02 * WAYS[99])
    said = verdict([face(ADA, 0.2)], (ADA, twin, CEM))
    assert said.name == ""
    assert set(said.possible) == {"Ada", "Bea"}
    assert said.probability < 0.9


def test_a_twin_apart_enough_is_told() -> None:
    """Enrolled people may be nearer to each other than strangers, and are told by the nearer photos."""
    twin = Known("Bea", ADA.vectors + 0.55 * WAYS[99])
    assert verdict([face(ADA, 0.1)], (ADA, twin)).name == "Ada"


def test_a_poor_face_says_less_and_several_say_more() -> None:
    at = 0.49
    good = verdict([face(ADA, at)], ALL).probability
    poor = verdict([face(ADA, at, 0.3)], ALL).probability
    several = verdict([face(ADA, at, along=100 + k) for k in range(4)], ALL).probability
    assert poor < good < several


def test_one_poor_face_of_somebody_else_does_not_spoil_a_track() -> None:
    seen = [face(ADA, 0.2), face(ADA, 0.25, along=101), face(BEN, 0.3, 0.2)]
    assert verdict(seen, ALL).name == "Ada"


def test_a_track_of_two_people_is_nobody() -> None:
    said = verdict([face(ADA, 0.2), face(BEN, 0.2)], ALL)
    assert said.name == ""


def test_beyond_the_threshold_no_number_of_faces_names() -> None:
    many = [face(ADA, 0.62, along=60 + k) for k in range(30)]
    assert min(distance(one.vector, ADA) for one in many) > 0.58
    assert verdict(many, (ADA,)).name == ""


def test_clothes_help_the_undecided_and_name_nobody_alone() -> None:
    undecided = [face(ADA, 0.56, 0.8)]
    alone = verdict(undecided, ALL)
    assert alone.name == ""
    assert verdict(undecided, ALL, {"Ada": 1.0}).probability > alone.probability
    assert verdict(undecided, ALL, {"Ada": 0.0}).probability < alone.probability
    assert verdict([], ALL, {"Ada": 1.0}) == UNKNOWN
    assert verdict([face(person("Dan", 3), 0.1)], ALL, {"Ada": 1.0}).name == ""


@given(st.permutations(range(3)), st.floats(0, 1), st.floats(0.05, 1))
def test_the_order_of_people_and_faces_counts_for_nothing(order: list[int], away: float, fit: float) -> None:
    faces = [face(ADA, away, fit), face(BEN, 0.4, 0.5), face(ADA, 0.3)]
    one = verdict(faces, ALL)
    other = verdict([faces[k] for k in order], [ALL[k] for k in order])
    assert one.name == other.name
    assert one.probability == pytest.approx(other.probability)


@given(st.lists(st.tuples(st.floats(0, 1.5), st.floats(0, 1)), min_size=1, max_size=40))
def test_probabilities_are_probabilities(seen: list[tuple[float, float]]) -> None:
    said = verdict([face(ADA, away, fit, 60 + k % 60) for k, (away, fit) in enumerate(seen)], ALL)
    assert 0 <= said.probability <= 1
    assert not said.name or said.probability >= 0.9


def test_a_nearer_face_is_never_less_probable() -> None:
    chances = [verdict([face(ADA, away)], ALL).probability for away in np.linspace(0, 1.2, 40)]
    assert all(later <= earlier + 1e-9 for earlier, later in itertools.pairwise(chances))


# ── How fit, and clothes ──────────────────────────────────────────────────────────────────────────────────


def test_quality_falls_with_size_blur_and_turn() -> None:
    assert quality(80, 0.6, 0.0) == 1.0
    assert quality(80, 0.6, 0.0) > quality(40, 0.6, 0.0) > quality(20, 0.6, 0.0) > quality(12, 0.6, 0.0) == 0.0
    assert quality(80, 0.6, 0.0) > quality(80, 0.3, 0.0)
    assert quality(80, 0.6, 0.0) > quality(80, 0.6, 0.5)


def test_sharpness_and_turn() -> None:
    drawn = np.random.default_rng(1).integers(0, 255, (150, 150, 3), dtype=np.uint8)
    flat = np.repeat(np.repeat(drawn[::15, ::15], 15, 0), 15, 1)
    assert sharpness(drawn) > sharpness(flat) > sharpness(np.full((150, 150, 3), 90, np.uint8))
    front = np.array([(100, 50), (80, 50), (20, 50), (40, 50), (60, 80)], np.float64)
    side = front + np.array([(0, 0)] * 4 + [(25, 0)])
    assert turn(front) == pytest.approx(0.0, abs=1e-9)
    assert turn(side) > 0.5
    assert turn(np.zeros((5, 2))) == 1.0


def dressed(top: tuple[int, int, int], legs: tuple[int, int, int]) -> Vector:
    pixels = np.zeros((100, 40, 3), np.uint8)
    pixels[:50], pixels[50:] = top, legs
    return clothes(Frame(pixels, 0.0), Box(0, 0, 40, 100))


def test_clothes_of_one_colour_are_alike_in_another_light() -> None:
    red = dressed((200, 20, 20), (30, 30, 60))
    assert alike(red, dressed((150, 15, 15), (22, 22, 45))) > 0.8
    assert alike(red, dressed((20, 200, 20), (30, 30, 60))) < 0.3
    assert alike(red, red) == pytest.approx(1.0)
    assert clothes(Frame(np.zeros((10, 10, 3), np.uint8), 0.0), Box(50, 50, 60, 60)).shape == red.shape


def test_a_sharp_face_of_somebody_else_among_many_leaves_a_track_unnamed() -> None:
    """Somebody who came where another had just been was followed as the same, and shown under their name."""
    first = [face(ADA, 0.2, 0.76, along=100 + k) for k in range(3)]
    assert verdict(first, ALL).name == "Ada"
    said = verdict([*first, face(person("Dan", 3), 0.1, 0.99)], ALL)
    assert (said.name, said.possible) == ("", ("Ada",))


def test_a_face_is_likely_near_the_photos_and_not_far_from_them() -> None:
    assert is_likely(face(ADA, 0.2), ADA)
    assert is_likely(face(ADA, 0.45, 0.3), ADA)
    assert not is_likely(face(BEN, 0.2), ADA)
