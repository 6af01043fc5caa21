"""People cut out of pictures, and whose the faces in the cut-outs are.

Where two people are so close that they are followed as one, their faces are told apart by likeness.
Not covered: two who are alike; somebody beside another whose face is never seen well.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from hearth_video.experts.expert_values import Box, Face, Frame, Pixels, Vector
from hearth_video.experts.identity import clothes

GOOD_FACE = 0.5
"""Least quality of a face that tells who somebody is by itself."""
_CUTOUT_MARGIN = 0.2
_CUTOUT_PX = 720
_SAME_FACE = 0.6
"""Distance below which two faces of one cut-out or track are the same person's."""
_FEWEST_BESIDE = 2
"""Somebody close beside a followed person is one more when their face was good in so many cut-outs."""
_THUMBNAIL_PX = 160
_THUMBNAIL_QUALITY = 80


@dataclass(frozen=True, slots=True, eq=False)
class Cutout:
    """A person cut out of a picture, with a margin."""

    at_s: float
    worth: float
    pixels: Pixels
    box: Box
    """Box of the person in the cut-out."""
    clothes: Vector


# ── Cut-outs ──────────────────────────────────────────────────────────────────────────────────────────────


def place_of(frame: Frame, box: Box) -> tuple[int, int, int, int] | None:
    """Return left, top, right, bottom of a person with a margin; None for a box that is hardly in the picture."""
    height, width = frame.pixels.shape[:2]
    x, y = box.width * _CUTOUT_MARGIN, box.height * _CUTOUT_MARGIN
    left, top = max(0, int(box.left - x)), max(0, int(box.top - y))
    right, bottom = min(width, int(box.right + x) + 1), min(height, int(box.bottom + y) + 1)
    return (left, top, right, bottom) if min(right - left, bottom - top) >= 8 else None


def worth_of(frame: Frame, box: Box, place: tuple[int, int, int, int]) -> float:
    """Estimate how useful a cut-out is for identification: by its size and how sharp its upper third is."""
    left, top, right, bottom = place
    upper = frame.pixels[top : top + max(8, (bottom - top) // 3), left:right]
    return math.sqrt(box.area) * box.score * (0.2 + _detail(upper))


def cut_out(frame: Frame, box: Box, place: tuple[int, int, int, int], worth: float) -> Cutout:
    """Cut out a person with a margin, no larger than needed to recognise a face."""
    left, top, right, bottom = place
    pixels = frame.pixels[top:bottom, left:right]
    scale = min(1.0, _CUTOUT_PX / max(pixels.shape[:2]))
    if scale < 1:
        size = (max(1, round(pixels.shape[1] * scale)), max(1, round(pixels.shape[0] * scale)))
        pixels = np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.BILINEAR))
    inside = Box(
        (box.left - left) * scale, (box.top - top) * scale, (box.right - left) * scale, (box.bottom - top) * scale
    )
    return Cutout(frame.at_s, worth, pixels.copy(), inside, clothes(frame, box))


def _detail(pixels: Pixels) -> float:
    """Return how sharp a picture is, in [0, 1]: edges against contrast, on every second pixel."""
    grey = pixels[::2, ::2, 1].astype(np.float32)
    if min(grey.shape) < 3:
        return 0.0
    edges = float(np.abs(np.diff(grey, axis=1)).mean() + np.abs(np.diff(grey, axis=0)).mean())
    return min(1.0, edges / (float(grey.std()) + 1.0))


def jpeg(cutout: Cutout) -> bytes:
    image = Image.fromarray(cutout.pixels)
    image.thumbnail((_THUMBNAIL_PX, _THUMBNAIL_PX), Image.Resampling.BILINEAR)
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=_THUMBNAIL_QUALITY)
    return buffer.getvalue()


# ── Whose face ────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class FacesOfTrack:
    """The faces seen where one person was followed."""

    own: list[tuple[Cutout, Face | None]]
    """Of the person who was followed, by cut-out."""
    beside: list[tuple[Cutout, Face]]
    """Of one who was close beside them all the while; empty: nobody."""
    border: float = 0.5
    """Where the two part, as a share of the box's width."""
    is_left: bool = False
    """Whether the other one is on the left."""


def told_apart(looked: Sequence[tuple[Cutout, Sequence[Face]]]) -> FacesOfTrack:
    """Tell a followed person's faces from those of somebody close beside them, with whom they share an outline.

    Their own are those most often nearest to the middle. In a cut-out without one of these the nearest counts: two
    people who were followed as one are named by neither.

    Args:
        looked: Cut-outs with the faces in them, nearest to the middle first.
    """
    nearest = [faces[0] for _, faces in looked if faces]
    if not nearest:
        return FacesOfTrack([(cutout, None) for cutout, _ in looked], [])
    usual = max(nearest, key=lambda face: sum(is_alike(face, other) for other in nearest))
    own: list[tuple[Cutout, Face | None]] = []
    others: list[tuple[Cutout, Face, Face]] = []
    for cutout, faces in looked:
        mine = next((face for face in faces if is_alike(face, usual)), None)
        own.append((cutout, mine or next(iter(faces), None)))
        if mine is not None:
            good = [face for face in faces if face.quality >= GOOD_FACE and not is_alike(face, mine)]
            others += [(cutout, mine, face) for face in good[:1]]
    if not others:
        return FacesOfTrack(own, [])
    clearest = max((face for _, _, face in others), key=lambda face: face.quality)
    pairs = [(cutout, mine, face) for cutout, mine, face in others if is_alike(face, clearest)]
    if len(pairs) < _FEWEST_BESIDE:
        return FacesOfTrack(own, [])
    border = sum((_across(c, mine) + _across(c, face)) / 2 for c, mine, face in pairs) / len(pairs)
    is_left = sum(_across(c, face) < _across(c, mine) for c, mine, face in pairs) * 2 > len(pairs)
    return FacesOfTrack(own, [(cutout, face) for cutout, _, face in pairs], border, is_left)


def side_of(box: Box, faces: FacesOfTrack) -> Box:
    border = box.left + faces.border * box.width
    return replace(box, right=border) if faces.is_left else replace(box, left=border)


def _across(cutout: Cutout, face: Face) -> float:
    """Return where a face's middle is, as a share of the width of the person's box."""
    share = ((face.box.left + face.box.right) / 2 - cutout.box.left) / max(cutout.box.width, 1.0)
    return min(1.0, max(0.0, share))


def is_alike(one: Face, other: Face) -> bool:
    return float(np.linalg.norm(one.vector - other.vector)) < _SAME_FACE
