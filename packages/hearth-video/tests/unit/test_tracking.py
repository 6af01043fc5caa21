"""Following boxes through time: `.venv/bin/python -m pytest packages/hearth-video/tests/unit/test_tracking.py`."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_video.experts.expert_values import Box, Vector
from hearth_video.experts.tracking import Seen, Tracker, assigned

SIZE = (768, 432)


def clothes(colour: int) -> Vector:
    """Of one colour, top and trousers."""
    half = np.zeros(17, np.float32)
    half[colour] = 1
    return np.concatenate([half, half])


def seen(left: float, colour: int = 0, top: float = 100, score: float = 0.9) -> Seen:
    return Seen(Box(left, top, left + 100, top + 250, score), clothes(colour))


def numbers(tracker: Tracker, at_s: float, *finds: Seen) -> list[int]:
    tracks = tracker.follow(finds, at_s, SIZE)
    tracker.lose(at_s, SIZE)
    return [track.number for track in tracks]


@given(
    st.integers(1, 5).flatmap(
        lambda n: st.lists(
            st.lists(st.floats(0, 10, allow_subnormal=False), min_size=n, max_size=n), min_size=1, max_size=5
        )
    )
)
def test_the_assignment_is_the_cheapest_there_is(rows: list[list[float]]) -> None:
    costs = np.array(rows)
    pairs = assigned(costs)
    n_rows, n_columns = costs.shape
    assert len(pairs) == min(n_rows, n_columns)
    assert len({row for row, _ in pairs}) == len({column for _, column in pairs}) == len(pairs)
    wide = costs if n_rows <= n_columns else costs.T
    best = min(
        sum(wide[row, column] for row, column in enumerate(columns))
        for columns in itertools.permutations(range(wide.shape[1]), wide.shape[0])
    )
    assert sum(costs[row, column] for row, column in pairs) == pytest.approx(best)


def test_nothing_is_assigned_to_nothing() -> None:
    assert assigned(np.zeros((0, 3))) == assigned(np.zeros((3, 0))) == []


def test_somebody_who_walks_is_one_track() -> None:
    tracker = Tracker()
    assert {numbers(tracker, 0.5 * n, seen(20 + 70 * n))[0] for n in range(10)} == {1}


def test_two_who_cross_keep_their_numbers() -> None:
    tracker = Tracker()
    found = [numbers(tracker, 0.5 * n, seen(50 + 60 * n, 0), seen(600 - 60 * n, 5)) for n in range(10)]
    assert found == [[1, 2]] * 10


def test_who_is_lost_in_the_room_comes_back_in_the_same_clothes() -> None:
    tracker = Tracker()
    assert numbers(tracker, 0.0, seen(300)) == [1]
    for n in range(1, 7):
        assert numbers(tracker, 0.5 * n) == []
    assert numbers(tracker, 3.5, seen(340)) == [1]


@pytest.mark.parametrize(
    ("after_s", "left", "colour"),
    [(3.5, 340, 7), (9.0, 340, 0)],
    ids=["in other clothes", "too late"],
)
def test_who_comes_otherwise_is_somebody_else(after_s: float, left: float, colour: int) -> None:
    tracker = Tracker()
    numbers(tracker, 0.0, seen(300))
    for n in range(1, int(after_s * 2)):
        numbers(tracker, 0.5 * n)
    assert numbers(tracker, after_s, seen(left, colour)) == [2]


def test_who_left_over_one_edge_does_not_come_in_over_another() -> None:
    tracker = Tracker()
    numbers(tracker, 0.0, seen(668))
    for n in range(1, 5):
        numbers(tracker, 0.5 * n)
    assert numbers(tracker, 2.5, seen(500, top=182)) == [2]


def test_a_guess_makes_nobody_and_two_good_finds_do() -> None:
    tracker = Tracker()
    (track,) = tracker.follow([seen(300, score=0.5)], 0.0, SIZE)
    for n in range(1, 4):
        tracker.follow([seen(300, score=0.5)], 0.5 * n, SIZE)
    assert not track.is_person
    tracker.follow([seen(300, score=0.7)], 2.0, SIZE)
    assert not track.is_person
    tracker.follow([seen(300, score=0.7)], 2.5, SIZE)
    assert track.is_person


def test_one_sure_find_makes_a_person() -> None:
    (track,) = Tracker().follow([seen(300, score=0.9)], 0.0, SIZE)
    assert track.is_person


def test_times_that_stand_still_break_nothing() -> None:
    tracker = Tracker()
    assert [numbers(tracker, 1.0, seen(300))[0] for _ in range(3)] == [1, 1, 1]


def test_numbers_go_on_after_those_given_before() -> None:
    assert numbers(Tracker(4), 0.0, seen(300)) == [5]
