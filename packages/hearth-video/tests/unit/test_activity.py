"""Activities told from movements: of a drawn body, with gaps, without poses, falls, what the owner teaches."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hearth.errors import NotFound, RequestError, StoreCorruptError
from hearth.storage.database import Store
from hearth.testing import check_expert
from hearth_video.experts.activity import (
    NEUTRAL,
    ActivityExpert,
    Weights,
    load_weights,
    save_weights,
    shipped_weights,
    windows,
)
from hearth_video.experts.expert_values import Box, Moment, Movement, Pose
from hearth_video.footage.activities import Activities, Windowed, confusion, scores, shipped_heads, trained, weights_of
from hearth_video.train.activity_train import drawn_windows
from hearth_video.train.drawn_body import ACTIVITIES, Camera, camera, fall, movement, subject

NOW = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
AHEAD = Camera(up=1.4, away=4.0, focal=800, facing=0.6)


def drawn(seed: int, activity: str, duration_s: float = 8.0, fps: float = 5.0) -> Movement:
    """Somebody whom training did not see."""
    dice = np.random.default_rng([9, seed])
    return movement(activity, subject(dice), AHEAD, dice, duration_s=duration_s, frames_per_s=fps)


def told(found: Movement) -> list[str]:
    return [one.name for one in ActivityExpert().look(found)]


def most(found: Movement) -> str:
    """What was done for the longest time."""
    spent: dict[str, float] = {}
    for one in ActivityExpert().look(found):
        spent[one.name] = spent.get(one.name, 0) + one.end_s - one.start_s
    return max(spent, key=spent.__getitem__) if spent else ""


def test_the_contract() -> None:
    found = check_expert(ActivityExpert, drawn(1, "sit"), heavy_modules=("torch", "cv2"))
    assert [one.name for one in found] == ["sit"]
    assert 0.5 < found[0].score <= 1


@pytest.mark.parametrize("activity", ACTIVITIES)
@pytest.mark.parametrize("fps", [2.0, 10.0])
def test_each_activity_of_most_people(activity: str, fps: float) -> None:
    """Who reaches also stands between."""
    found = [drawn(seed, activity, fps=fps) for seed in range(12)]
    right = [activity in told(one) if activity == "reach" else most(one) == activity for one in found]
    assert sum(right) >= 10


def test_held_out_subjects_as_measured() -> None:
    test = drawn_windows(4711, 12)
    assert scores(confusion(shipped_weights(), test))["accuracy"] > 0.88


def joined(*parts: Movement) -> Movement:
    moments: list[Moment] = []
    for part in parts:
        shift = moments[-1].at_s + 0.2 if moments else 0.0
        moments += [Moment(m.at_s + shift, m.box, m.pose) for m in part.moments]
    return Movement(tuple(moments), parts[0].frame_width, parts[0].frame_height)


def test_one_after_the_other() -> None:
    """Sitting down at once, elsewhere, takes a moment of movement."""
    found = ActivityExpert().look(joined(drawn(3, "walk"), drawn(3, "stand"), drawn(3, "sit")))
    assert [one.name for one in found if one.end_s - one.start_s > 3] == ["walk", "stand", "sit"]
    assert found[0].end_s == pytest.approx(8, abs=1.5)
    assert found[1].end_s == pytest.approx(16, abs=1.5)
    assert all(one.end_s <= other.start_s + 0.01 for one, other in itertools.pairwise(found))


def test_nobody_knows_without_poses_but_a_moving_box_walks() -> None:
    still = Movement(tuple(Moment(k / 2, Box(100, 100, 160, 300)) for k in range(10)), 640, 480)
    moving = Movement(tuple(Moment(k / 2, Box(50 * k, 100, 50 * k + 60, 300)) for k in range(10)), 640, 480)
    assert ActivityExpert().look(still) == ()
    assert [one.name for one in ActivityExpert().look(moving)] == ["walk"]


def test_too_little_to_tell() -> None:
    some = drawn(1, "stand")
    for moments in ((), some.moments[:1], (some.moments[0], some.moments[0])):
        assert ActivityExpert().look(Movement(moments, 640, 480)) == ()


def test_a_gap_parts_what_is_told() -> None:
    before, after = drawn(2, "sit", 5), drawn(2, "sit", 5)
    moments = (*before.moments, *(Moment(m.at_s + 60, m.box, m.pose) for m in after.moments))
    found = ActivityExpert().look(Movement(moments, 1280, 720))
    assert [one.name for one in found] == ["sit", "sit"]
    assert found[0].end_s < 7 < 58 < found[1].start_s


def test_order_and_doubles_of_moments_do_not_matter() -> None:
    one = drawn(5, "wave")
    mixed = Movement((*one.moments[::-1], *one.moments[3:6]), one.frame_width, one.frame_height)
    assert ActivityExpert().look(mixed) == ActivityExpert().look(one)


def test_most_falls_are_told_and_lying_down_slowly_is_none() -> None:
    told = slow = 0
    for seed in range(20):
        dice = np.random.default_rng([11, seed])
        who, eye = subject(dice), camera(dice)
        for falls_s in (0.8, 4.0):
            found = ActivityExpert().look(fall(who, eye, dice, falls_s=falls_s, fps=4))
            told += falls_s == 0.8 and any(one.name == "fall" for one in found)
            slow += falls_s == 4.0 and any(one.name == "fall" for one in found)
    assert told >= 14
    assert slow <= 2


def test_who_leaves_by_the_side_does_not_fall() -> None:
    dice = np.random.default_rng(4)
    fell = fall(subject(dice), AHEAD, dice, falls_s=0.8, fps=4)
    assert any(one.name == "fall" for one in ActivityExpert().look(fell))
    cut = tuple(Moment(m.at_s, Box(m.box.left, m.box.top, 1280, m.box.bottom), m.pose) for m in fell.moments)
    assert not any(one.name == "fall" for one in ActivityExpert().look(Movement(cut, 1280, 720)))


@pytest.mark.parametrize("value", [0.0, 1e6, -1e6])
def test_strange_points_give_numbers(value: float) -> None:
    points = np.full((33, 4), value, np.float32)
    points[:, 3] = 0.5
    moments = tuple(Moment(k / 2, Box(0, 0, 10, 10), Pose(points)) for k in range(6))
    assert np.isfinite(windows(Movement(moments, 64, 64), 2.0).values).all()
    for one in ActivityExpert().look(Movement(moments, 64, 64)):
        assert 0 <= one.score <= 1


def test_points_that_are_no_numbers_tell_nothing() -> None:
    for value in (np.nan, np.inf):
        points = np.full((33, 4), value, np.float32)
        moments = tuple(Moment(k / 2, Box(0, 0, 10, 10), Pose(points)) for k in range(6))
        with np.errstate(all="ignore"):
            assert ActivityExpert().look(Movement(moments, 64, 64)) == ()


# ── Weights ───────────────────────────────────────────────────────────────────────────────────────────────


def test_the_shipped_weights_are_those_of_the_shipped_sums() -> None:
    shipped = shipped_weights()
    again = weights_of(shipped_heads(), shipped.middle, shipped.spread, shipped.sharpness, shipped.window_s)
    assert again.names == shipped.names
    assert np.allclose(again.linear, shipped.linear, atol=1e-6)


def test_weights_come_back_from_their_file(tmp_path: Path) -> None:
    save_weights(shipped_weights(), tmp_path / "w.npz")
    back = load_weights(tmp_path / "w.npz")
    assert back.names == shipped_weights().names
    assert np.array_equal(back.linear, shipped_weights().linear)
    for damaged in (b"", b"no weights", (tmp_path / "w.npz").read_bytes()[:900]):
        (tmp_path / "bad.npz").write_bytes(damaged)
        with pytest.raises(StoreCorruptError, match="damaged"):
            load_weights(tmp_path / "bad.npz")


def household(name: str) -> Weights:
    """Says one thing of everything."""
    shipped = shipped_weights()
    linear = np.zeros((len(shipped.linear), 2), np.float32)
    linear[0, 0] = 1e-2
    return Weights((name, "other"), shipped.middle, shipped.spread, linear, 10.0, 8.0)


def test_a_household_activity_goes_before_posture_where_it_is_sure() -> None:
    given = drawn(1, "sit")
    assert [one.name for one in ActivityExpert(None, household("eating")).look(given)] == ["eating"]
    assert [one.name for one in ActivityExpert(None, household(NEUTRAL)).look(given)] == ["sit"]


# ── What the owner teaches ────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def activities(tmp_path: Path) -> Iterator[Activities]:
    with Store.open(tmp_path / "hearth.db") as store:
        yield Activities(store)


def stretching(seed: int) -> Movement:
    """Bending to a side with both hands over the head: made of reaching, mirrored."""
    one = drawn(seed, "stand", fps=4)
    moments = []
    for m in one.moments:
        if m.pose is None:
            continue
        points = m.pose.points.copy()
        hips = points[[23, 24], :2].mean(axis=0)
        angle = 0.7 * math.sin(m.at_s)
        turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
        upper = list(range(23))
        points[[15, 16, 13, 14], 1] = points[[11, 12, 11, 12], 1] - np.array([1.0, 1.0, 0.5, 0.5]) * 100
        points[upper, :2] = (points[upper, :2] - hips) @ turn.T + hips
        moments.append(Moment(m.at_s, m.box, Pose(points.astype(np.float32))))
    return Movement(tuple(moments), 1280, 720)


def named(activities: Activities, given: Movement) -> set[str]:
    return {one.name for one in activities.expert().look(given)}


def test_a_few_examples_teach_a_new_activity_and_leave_the_others(activities: Activities) -> None:
    assert "stretching" not in named(activities, stretching(50))
    assert activities.teach(" Stretching ", [stretching(seed) for seed in range(3)], NOW) > 20
    assert activities.taught() == {"stretching": 3}
    assert sum("stretching" in named(activities, stretching(seed)) for seed in range(50, 58)) >= 7
    right = sum(named(activities, drawn(seed, name)) == {name} for name in ("sit", "walk", "lie") for seed in range(5))
    assert right >= 13


def test_what_is_forgotten_leaves_the_weights_as_they_were(activities: Activities) -> None:
    before = activities.weights()
    activities.teach("stretching", [stretching(1)], NOW)
    activities.teach("sit", [drawn(1, "sit")], NOW)
    with_one = activities.weights()
    activities.teach("hopping", [drawn(4, "wave")], NOW)
    activities.forget("hopping")
    assert np.array_equal(activities.weights().linear, with_one.linear)
    activities.forget("stretching")
    activities.forget("sit")
    assert np.array_equal(activities.weights().linear, before.linear)
    with pytest.raises(NotFound, match="taught: none yet"):
        activities.forget("stretching")


@pytest.mark.parametrize("name", ["", " ", "x" * 41, "fall", "a\nb"])
def test_names_that_cannot_be_taught(activities: Activities, name: str) -> None:
    with pytest.raises(RequestError, match="cannot be taught"):
        activities.teach(name, [drawn(1, "sit")], NOW)


def test_examples_without_a_body(activities: Activities) -> None:
    empty = Movement(tuple(Moment(k / 2, Box(0, 0, 9, 9)) for k in range(9)), 64, 64)
    with pytest.raises(RequestError, match="enough of a body"):
        activities.teach("hopping", [empty], NOW)
    assert activities.taught() == {}


def test_training_tells_what_it_was_given() -> None:
    data = drawn_windows(1, 6, 1)
    kept = [k for k, name in enumerate(data.names) if name in ("sit", "lie")]
    two = Windowed(data.values[kept], tuple(data.names[k] for k in kept), tuple(data.who[k] for k in kept))
    _, weights = trained(two, 2.0)
    assert weights.names == ("lie", "sit")
    assert scores(confusion(weights, two))["accuracy"] > 0.95
