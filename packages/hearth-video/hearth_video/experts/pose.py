"""Estimate a person's pose, 33 body points, from one picture, whichever way up they are.

The person's part of the frame is enlarged, BlazePose's detector finds hips and head in it, and its landmark network
looks at the body turned upright and scaled to 256 pixels. When the resulting points say that the body lies otherwise in
the picture than assumed, it looks once more. Nothing is carried from one frame to the next.

Covered: people from behind, lying, upside down, half in view (points out of view have a low visibility), small ones.
Not covered: two people in one box (the one nearer to its middle is taken); hands and fingers beyond one point each;
depth is a guess; hidden points are guessed, and have a low visibility.

Source:
    Bazarevsky et al., BlazePose: on-device real-time body pose tracking (2020), https://arxiv.org/abs/2006.10204; the
    region of interest as in MediaPipe 0.10.21.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearth.errors import MissingExtraError
from hearth.protocols import ExpertCard
from hearth_video.experts.blaze import Detector, Find, Network, person_detector
from hearth_video.experts.expert_values import POSE_POINTS, Box, Frame, Pixels, Pose
from hearth_video.installed import INSTALL_COMMAND, carried_file

_FEATURE = "finding poses"
_LEAST_PERSON = 0.3
"""Least score of the detector, within a box that is known to hold a person."""
_LEAST_POSE = 0.5
"""Least score of the landmark network."""
_ROOM = 1.4
"""Side of the square that the detector looks at, in lengths of the box."""
_AROUND = 1.25
"""Side of the square that the landmark network looks at, in widths of the circle around the body."""
_MOVED = 0.12
"""A second look is taken when the assumed middle or size was off by more than this share of the square."""
_TURNED = math.radians(20)
_LEAST_SIDE_PX = 16
_HIPS, _TOP = 33, 34
"""Indices of the network's points: the middle of the hips, and the top of the circle around the body."""


@dataclass(frozen=True, slots=True)
class _Region:
    """A square of the frame, turned so that the body stands upright in it."""

    x: float
    y: float
    side: float
    angle: float

    def is_far_from(self, other: _Region) -> bool:
        moved = math.hypot(self.x - other.x, self.y - other.y) / other.side
        grown = abs(math.log(self.side / other.side))
        turned = abs(math.remainder(self.angle - other.angle, math.tau))
        return moved > _MOVED or grown > 2 * _MOVED or turned > _TURNED


@dataclass(frozen=True, slots=True)
class _Loaded:
    detector: Detector
    landmarks: Network
    cv2: Any


class PoseExpert:
    """Estimates the pose of the person in one part of a frame."""

    card = ExpertCard(
        name="pose",
        takes="a Frame and the Box of one person in it",
        gives="a Pose, 33 points with how visible each is, or None where there is none",
        extra="video",
        cpu_ms=30.0,
        memory_bytes=120_000_000,
        cannot=(
            "It sees one person in each box.",
            "It guesses where hidden parts are, and how deep.",
            "It does not see people smaller than about 40 pixels.",
            "It takes dolls, statues and people on pictures for people.",
        ),
    )

    def __init__(self) -> None:
        self._loaded: _Loaded | None = None

    def look(self, given: tuple[Frame, Box]) -> Pose | None:
        """Return the pose of the person in a box; None where no body is seen.

        Raises:
            MissingExtraError, ConfigError: What it needs is not installed.
        """
        frame, box = given
        if self._loaded is None:
            self._loaded = _load()
        height, width = frame.pixels.shape[:2]
        inside = (min(box.right, width) - max(box.left, 0), min(box.bottom, height) - max(box.top, 0))
        if min(inside) < 4 or max(inside) < _LEAST_SIDE_PX:
            return None
        region = _first_region(self._loaded, frame.pixels, box)
        for _ in range(2):
            points, score = _points(self._loaded, frame.pixels, region)
            better = _around(points[_HIPS, :2], points[_TOP, :2])
            if better is None or not region.is_far_from(better):
                break
            region = better
        seen = points[: len(POSE_POINTS)][points[: len(POSE_POINTS), 3] >= 0.5]
        inside_box = [_is_in(point, box) for point in seen]
        if score < _LEAST_POSE or 2 * sum(inside_box) <= len(inside_box):
            return None  # nobody, or somebody beside the box
        return Pose(points[: len(POSE_POINTS)])


def _load() -> _Loaded:
    try:
        import cv2
    except ImportError:
        raise MissingExtraError(_FEATURE, INSTALL_COMMAND) from None
    file = carried_file("mediapipe", "modules/pose_landmark/pose_landmark_full.tflite", _FEATURE)
    return _Loaded(person_detector(_FEATURE), Network(file, _FEATURE), cv2)


def _first_region(loaded: _Loaded, pixels: Pixels, box: Box) -> _Region:
    """Return the region from the detector; where it sees nobody, the box itself, assuming somebody upright."""
    middle_x, middle_y = (box.left + box.right) / 2, (box.top + box.bottom) / 2
    side = max(box.width, box.height)
    part = _Region(middle_x, middle_y, side * _ROOM, 0.0)
    small, back = _cut(loaded, pixels, part, min(512, max(224, round(part.side))))
    finds = loaded.detector.find(small, _LEAST_PERSON)
    places = [_placed(find, back) for find in finds]
    near = [
        (math.hypot(points[0][0] - middle_x, points[0][1] - middle_y), place)
        for place, points in enumerate(places)
        if _is_in(points[0], box) or _is_in(points[2], box)
    ]
    if near:
        found = _around(*places[min(near)[1]][:2])
        if found is not None:
            return found
    return _Region(middle_x, middle_y, side * _AROUND, 0.0)


def _placed(find: Find, back: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(find.points @ back[:, :2].T + back[:, 2], dtype=np.float64)


def _around(hips: NDArray[np.floating], top: NDArray[np.floating]) -> _Region | None:
    x, y = float(top[0] - hips[0]), float(top[1] - hips[1])
    radius = math.hypot(x, y)
    if not 2 < radius < 1e5:
        return None
    return _Region(float(hips[0]), float(hips[1]), 2 * radius * _AROUND, math.atan2(x, -y))


def _is_in(point: NDArray[np.floating], box: Box) -> bool:
    """Say whether a point is in a box, with a quarter of the box to spare."""
    x, y = float(point[0]), float(point[1])
    wide, high = 0.25 * box.width, 0.25 * box.height
    return box.left - wide <= x <= box.right + wide and box.top - high <= y <= box.bottom + high


def _cut(loaded: _Loaded, pixels: Pixels, region: _Region, side_px: int) -> tuple[Pixels, NDArray[np.float64]]:
    """Return the region scaled to a square, and the map from its pixels to those of the frame."""
    scale = region.side / side_px
    cos, sin = math.cos(region.angle) * scale, math.sin(region.angle) * scale
    half = side_px / 2
    back = np.array(
        [
            [cos, -sin, region.x - cos * half + sin * half],
            [sin, cos, region.y - sin * half - cos * half],
        ]
    )
    cv2 = loaded.cv2
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    return np.asarray(cv2.warpAffine(pixels, back, (side_px, side_px), flags=flags), dtype=np.uint8), back


def _points(loaded: _Loaded, pixels: Pixels, region: _Region) -> tuple[NDArray[np.float32], float]:
    """Return all points of the network in the frame, with their visibility, and the confidence that a body is there."""
    side = loaded.landmarks.side
    square, back = _cut(loaded, pixels, region, side)
    outputs = loaded.landmarks.run((square / 255).astype(np.float32))
    raw = next(output for output in outputs if output.shape == (195,)).reshape(39, 5)
    score = float(next(output for output in outputs if output.shape == (1,))[0])
    points = np.empty((39, 4), np.float32)
    points[:, :2] = raw[:, :2] @ back[:, :2].T + back[:, 2]
    points[:, 2] = raw[:, 2] * (region.side / side)
    points[:, 3] = 1 / (1 + np.exp(-np.clip(raw[:, 3], -30, 30)))
    return points, score
