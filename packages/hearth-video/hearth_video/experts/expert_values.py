"""Inputs and outputs of the experts: frames, boxes, tracks, faces, poses, activities, sound, speech, lines of text.

Values only. Pixels are RGB; places are pixels of the frame from its top left; times are seconds on the recording's own
clock, not counted frames.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Pixels: TypeAlias = NDArray[np.uint8]
"""RGB, shape [height, width, 3]."""
Samples: TypeAlias = NDArray[np.float32]
"""Sound between -1 and 1, one channel, shape [n_samples]."""
Vector: TypeAlias = NDArray[np.float32]

SAMPLES_PER_S = 16_000
"""Sampling rate of every sound given to an expert."""


# ── Sight ─────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One picture of a recording."""

    pixels: Pixels
    at_s: float


@dataclass(frozen=True, slots=True)
class Box:
    left: float
    top: float
    right: float
    bottom: float
    score: float = 1.0
    """The detector's confidence, in [0, 1]."""

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def area(self) -> float:
        return max(0.0, self.width) * max(0.0, self.height)

    def overlap(self, other: Box) -> float:
        """Return the intersection over union."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        shared = max(0.0, width) * max(0.0, height)
        return shared / (self.area + other.area - shared) if shared else 0.0


@dataclass(frozen=True, slots=True)
class TrackedBox:
    """A person in one frame; the same `track` is the same person, as far as they could be followed."""

    track: int
    box: Box


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """One frame with the people in it."""

    frame: Frame
    people: tuple[TrackedBox, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Face:
    """A face in a frame with the vector that identifies it."""

    box: Box
    vector: Vector
    """Embedding; the distance between two is small for one person; shape [128]."""
    quality: float = 1.0
    """Quality for identifying a person: size, sharpness, how far it is turned; in [0, 1]."""


POSE_POINTS = [
    "nose",
    "left_eye_inner",
    "left_eye",
    "left_eye_outer",
    "right_eye_inner",
    "right_eye",
    "right_eye_outer",
    "left_ear",
    "right_ear",
    "mouth_left",
    "mouth_right",
    "left_shoulder",
    "right_shoulder",
    "left_elbow",
    "right_elbow",
    "left_wrist",
    "right_wrist",
    "left_pinky",
    "right_pinky",
    "left_index",
    "right_index",
    "left_thumb",
    "right_thumb",
    "left_hip",
    "right_hip",
    "left_knee",
    "right_knee",
    "left_ankle",
    "right_ankle",
    "left_heel",
    "right_heel",
    "left_foot_index",
    "right_foot_index",
]
"""The 33 points of BlazePose (Bazarevsky et al. 2020), in order."""


@dataclass(frozen=True, slots=True, eq=False)
class Pose:
    """The positions of one person's body parts."""

    points: NDArray[np.float32]
    """x, y in pixels of the frame, z on the scale of x (negative is nearer), visibility in [0, 1]; shape [33, 4]."""


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """One person at one time, as input for recognising activities."""

    at_s: float
    box: Box
    pose: Pose | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Movement:
    """One person over time, in one view, with what is known of the place."""

    moments: tuple[Moment, ...]
    """In order of time; gaps are allowed."""
    frame_width: int
    frame_height: int
    room: str = ""
    hour: float | None = None
    """Time of day of the first moment, in hours."""


@dataclass(frozen=True, slots=True)
class Activity:
    """An activity of a person over a stretch of time."""

    name: str
    start_s: float
    end_s: float
    score: float
    """Probability that the name is right, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of writing in a picture."""

    text: str
    box: Box


# ── Hearing ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, eq=False)
class Sound:
    """A stretch of sound, `SAMPLES_PER_S` samples a second."""

    samples: Samples
    at_s: float = 0.0
    """Start of the sound, in seconds."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """Something said."""

    text: str
    start_s: float
    end_s: float
    score: float


@dataclass(frozen=True, slots=True)
class SoundEvent:
    """A sound event: `silence`, `speech`, `loud`, … as its expert names them."""

    name: str
    start_s: float
    end_s: float
    score: float
