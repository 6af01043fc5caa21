"""Match the boxes of a frame to the people followed in the frames before.

Each person is a track: position and speed (a Kalman filter that knows the time between frames, which need not be even)
and the colours of their clothes. The boxes of a frame are assigned to the tracks at the least total cost. A person who
was lost inside the view and comes back soon nearby in the same clothes is the same track; one who left over an edge
either comes back over that edge or is somebody else.

Covered: people who cross, gaps of some seconds, boxes that grow as somebody walks into the view, uneven times.
Not covered: two people in the same clothes who cross while neither is seen; people who change clothes out of view.

Source:
    Kalman 1960; assignment by shortest augmenting paths, Jonker & Volgenant 1987.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hearth_video.experts.expert_values import Box, Vector
from hearth_video.experts.identity import alike

_ACCELERATION = 1.5
"""Acceleration of people, in their own heights a second squared: the filter's process noise."""
_MEASURED = 0.08
"""Standard deviation of a box's middle, in heights."""
_REACH = (0.5, 1.2, 2.2)
"""Largest distance from the expected place, in heights: at once, more for each second, at most."""
_WORST_COST = 0.8
_COMES_BACK_S = 5.0
_SAME_CLOTHES = 0.75
_AT_EDGE = 0.015
"""A box this near to an edge, as a share of the frame, touches it."""
_GOOD, _SURE = 0.62, 0.8
"""Scores of a good and of a sure find; two good finds or one sure one make a track a person."""
_FOLLOWED_S = 1.6
"""Time without a find after which a track is lost."""


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """A person detected in a frame, not yet assigned to a track."""

    box: Box
    clothes: Vector


@dataclass(slots=True, eq=False)
class Track:
    """One person followed through time."""

    number: int
    box: Box
    clothes: Vector
    seen_s: float
    """Time of the last find."""
    n_good: int = 0
    """Number of finds that were more than a guess."""
    is_person: bool = False
    """True once the track was found often or surely enough."""
    has_stirred: bool = False
    """True once the person has moved at all."""
    _speed: NDArray[np.float64] = field(default_factory=lambda: np.zeros(2))
    _spread: NDArray[np.float64] = field(default_factory=lambda: np.diag([_MEASURED**2, 1.0]))
    _at_s: float = 0.0

    def expected(self, at_s: float) -> Box:
        """Return the expected box at a later time, at unchanged speed."""
        passed = min(max(0.0, at_s - self._at_s), _COMES_BACK_S)
        # Nobody walks on at full speed for long: an unseen person slows down.
        way = self._speed * min(passed, 1.0)
        return _moved(self.box, float(way[0]), float(way[1]))

    def follow(self, seen: Seen, at_s: float) -> None:
        """Update the track with a find."""
        passed = max(1e-3, at_s - self._at_s)
        height = max(self.box.height, seen.box.height, 1.0)
        step = np.array([[1.0, passed], [0.0, 1.0]])
        noise = _ACCELERATION**2 * np.array([[passed**4 / 4, passed**3 / 2], [passed**3 / 2, passed**2]])
        spread = step @ self._spread @ step.T + noise
        gain = spread[:, 0] / (spread[0, 0] + _MEASURED**2)
        off = (_middle(seen.box) - _middle(self.box) - self._speed * passed) / height
        self._speed = self._speed + gain[1] * off * height
        self._spread = spread - np.outer(gain, spread[0])
        self.box = seen.box
        self.clothes = (0.8 * self.clothes + 0.2 * seen.clothes).astype(np.float32)
        self._at_s = self.seen_s = at_s
        self.n_good += seen.box.score >= _GOOD
        self.is_person = self.is_person or self.n_good > 1 or seen.box.score >= _SURE

    def hold(self, box: Box, at_s: float) -> None:
        """Keep the track in place without a find, because something of the person's shape is still there."""
        self.box, self._at_s = box, at_s
        self._speed = self._speed * 0.5


class Tracker:
    """All the people in one view."""

    def __init__(self, n_before: int = 0) -> None:
        """
        Args:
            n_before: Number of tracks counted elsewhere, so that no number is given twice.
        """
        self.tracks: list[Track] = []
        """Tracks that are followed now."""
        self.n_tracks = n_before
        self._lost: list[tuple[Track, frozenset[str]]] = []

    def follow(self, seen: Sequence[Seen], at_s: float, size: tuple[int, int]) -> list[Track]:
        """Assign each find to a track, or to a new one if it matches none.

        Args:
            size: Width and height of the frame.
        Returns:
            The track of each find, in their order.
        """
        owners: list[Track | None] = [None] * len(seen)
        costs = np.array([[_cost(track, find, at_s) for track in self.tracks] for find in seen]).reshape(
            len(seen), len(self.tracks)
        )
        for row, column in assigned(costs):
            if costs[row, column] <= _WORST_COST:
                owners[row] = self.tracks[column]
                self.tracks[column].follow(seen[row], at_s)
        return [
            owner or self._come_back(find, at_s, size) or self._begin(find, at_s)
            for owner, find in zip(owners, seen, strict=True)
        ]

    def lose(self, at_s: float, size: tuple[int, int]) -> None:
        """Drop tracks that were neither found nor held for a while."""
        for track in [track for track in self.tracks if at_s - track._at_s > _FOLLOWED_S]:
            self.tracks.remove(track)
            if track.is_person:
                self._lost.append((track, _edges(track.box, size)))
        self._lost = [(track, edges) for track, edges in self._lost if at_s - track.seen_s <= _COMES_BACK_S]

    def drop(self, track: Track) -> None:
        """Drop a track that turned out to be nobody."""
        self.tracks.remove(track)

    def _come_back(self, find: Seen, at_s: float, size: tuple[int, int]) -> Track | None:
        edges = _edges(find.box, size)
        for track, left_by in self._lost:
            reach = _REACH[0] + _REACH[1] * (at_s - track.seen_s)
            if (
                alike(track.clothes, find.clothes) >= _SAME_CLOTHES
                and _apart(track.box, find.box) <= min(reach, 2 * _REACH[2])
                and (not left_by or left_by & edges)
            ):
                self._lost.remove((track, left_by))
                self.tracks.append(track)
                track.follow(find, at_s)
                return track
        return None

    def _begin(self, find: Seen, at_s: float) -> Track:
        self.n_tracks += 1
        score = find.box.score
        track = Track(self.n_tracks, find.box, find.clothes, at_s, int(score >= _GOOD), score >= _SURE, _at_s=at_s)
        self.tracks.append(track)
        return track


def assigned(costs: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Return pairs of a row and a column, each used once, as many as possible, with the least sum."""
    n_rows, n_columns = costs.shape
    if n_rows == 0 or n_columns == 0:
        return []
    if n_rows > n_columns:
        return sorted((row, column) for column, row in assigned(costs.T))
    over_row, over_column = np.zeros(n_rows + 1), np.zeros(n_columns + 1)
    owner = np.zeros(n_columns + 1, int)  # row of each column, counted from 1; 0: none
    for row in range(1, n_rows + 1):
        owner[0], column = row, 0
        least, came_from = np.full(n_columns + 1, math.inf), np.zeros(n_columns + 1, int)
        used = np.zeros(n_columns + 1, bool)
        while owner[column]:
            used[column] = True
            here = owner[column]
            reduced = costs[here - 1] - over_row[here] - over_column[1:]
            better = ~used[1:] & (reduced < least[1:])
            least[1:][better] = reduced[better]
            came_from[1:][better] = column
            following = 1 + int(np.argmin(np.where(used[1:], math.inf, least[1:])))
            step = least[following]
            over_row[owner[used]] += step
            over_column[used] -= step
            least[~used] -= step
            column = following
        while column:
            owner[column] = owner[came_from[column]]
            column = int(came_from[column])
    return sorted((int(owner[column]) - 1, column - 1) for column in range(1, n_columns + 1) if owner[column])


def _cost(track: Track, find: Seen, at_s: float) -> float:
    """Return the cost of assigning a find to a track; in [0, 1] where it is allowed."""
    expected = track.expected(at_s)
    apart = min(_apart(expected, find.box), _apart(track.box, find.box))
    reach = min(_REACH[0] + _REACH[1] * (at_s - track.seen_s), _REACH[2])
    if apart > reach:
        return 10.0
    place = 0.45 * apart / reach + 0.25 * (1 - expected.overlap(find.box))
    return place + 0.3 * (1 - alike(track.clothes, find.clothes))


def _apart(one: Box, other: Box) -> float:
    """Return the distance between the middles, in heights of the larger."""
    height = max(one.height, other.height, 0.5 * one.width, 0.5 * other.width, 1.0)
    return float(np.linalg.norm(_middle(one) - _middle(other))) / height


def _middle(box: Box) -> NDArray[np.float64]:
    return np.array([(box.left + box.right) / 2, (box.top + box.bottom) / 2])


def _moved(box: Box, right: float, down: float) -> Box:
    return Box(box.left + right, box.top + down, box.right + right, box.bottom + down, box.score)


def _edges(box: Box, size: tuple[int, int]) -> frozenset[str]:
    width, height = size
    touched = {
        "left": box.left <= _AT_EDGE * width,
        "top": box.top <= _AT_EDGE * height,
        "right": box.right >= (1 - _AT_EDGE) * width,
        "bottom": box.bottom >= (1 - _AT_EDGE) * height,
    }
    return frozenset(edge for edge, is_touched in touched.items() if is_touched)
