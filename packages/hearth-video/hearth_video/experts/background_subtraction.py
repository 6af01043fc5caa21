"""Detect changes in the view of a fixed camera, against a slowly learnt picture of the room.

The room is learnt where nobody is. A change that then stays the same, outside the places that are protected, becomes
part of the room after `_SETTLES_S`: a chair that was moved, a lamp switched on.

Covered: the light getting brighter or darker as a whole (each colour is levelled first), shadows on what was there, the
camera's noise, a camera that is moved or a wholly different picture (the room is learnt anew). Not covered: light that
changes in one corner only, trees in the wind, mirrors, screens: they count as change.

Source:
    A mean and a deviation for each pixel, after Wren et al., Pfinder (1997); shadows by brightness against colour after
    Horprasert et al. (1999).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hearth_video.experts.expert_values import Box, Pixels

Mask = NDArray[np.bool_]

_WIDTH_PX = 192
_LEARNING_S = 30.0
"""Time constant with which the room follows slow changes."""
_SETTLES_S = 20.0
_LEAST_LEVELS = 14.0
"""Least difference that counts as a change, in levels of 256."""
_DEVIATIONS = 4.0
_DARKEST_SHADOW = 0.45
_SHADOW_COLOUR = 0.045
"""Largest change of colour (shares of red, green, blue) that still counts as a shadow."""
_ANOTHER_VIEW = 0.55
"""If more than this share of the view changed at once, it is another view."""
_LEAST_AREA = 0.0012
"""Least area of a patch, as a share of the view; smaller ones are noise."""


@dataclass(frozen=True, slots=True)
class Change:
    """The places where a frame differs from the room."""

    mask: Mask
    """Mask at the model's own size."""
    scale: float
    """Number of frame pixels per mask pixel."""
    patches: tuple[Box, ...]
    """Boxes around each connected change, in pixels of the frame, largest first."""
    is_new_view: bool = False

    def share(self, box: Box) -> float:
        """Return the share of the box that changed."""
        left, top, right, bottom = (round(edge / self.scale) for edge in (box.left, box.top, box.right, box.bottom))
        part = self.mask[max(0, top) : max(0, bottom), max(0, left) : max(0, right)]
        return float(part.mean()) if part.size else 0.0

    def around(self, box: Box) -> Box | None:
        """Return the smallest box around the changes within `box`; None when there are none."""
        left, top = max(0, round(box.left / self.scale)), max(0, round(box.top / self.scale))
        part = self.mask[top : max(0, round(box.bottom / self.scale)), left : max(0, round(box.right / self.scale))]
        if not part.any():
            return None
        rows, columns = np.flatnonzero(part.any(axis=1)), np.flatnonzero(part.any(axis=0))
        return Box(
            (left + columns[0]) * self.scale,
            (top + rows[0]) * self.scale,
            (left + columns[-1] + 1) * self.scale,
            (top + rows[-1] + 1) * self.scale,
        )


class Background:
    """The room as one camera sees it."""

    def __init__(self) -> None:
        self._mean: NDArray[np.float32] | None = None
        self._spread: NDArray[np.float32] = np.zeros(0, np.float32)
        self._changed_s: NDArray[np.float32] = np.zeros(0, np.float32)

    def change(self, pixels: Pixels) -> Change:
        """Return the current differences from the room; the first picture becomes the room."""
        small, scale = _small(pixels)
        if self._mean is None or self._mean.shape != small.shape:
            self._begin(small)
            return Change(np.zeros(small.shape[:2], np.bool_), scale, (), is_new_view=True)
        mean = self._mean * self._level(small)
        far = np.abs(small - mean).max(axis=2)
        mask = far > np.maximum(_LEAST_LEVELS, _DEVIATIONS * self._spread)
        mask &= ~_is_shadow(small, mean)
        if mask.mean() > _ANOTHER_VIEW:
            self._begin(small)
            return Change(np.zeros(small.shape[:2], np.bool_), scale, (), is_new_view=True)
        mask, patches = _connected(mask, scale)
        return Change(mask, scale, patches)

    def learn(self, pixels: Pixels, change: Change, kept: tuple[Box, ...], passed_s: float) -> None:
        """Update the room with a picture, except where it changed a short while ago.

        Args:
            kept: Boxes that are never learnt, however long they stay: people.
            passed_s: Seconds since the picture before.
        """
        small, scale = _small(pixels)
        if self._mean is None or self._mean.shape != small.shape:
            return
        held = np.zeros(change.mask.shape, np.bool_)
        for box in kept:
            left, top, right, bottom = (round(edge / scale) for edge in (box.left, box.top, box.right, box.bottom))
            held[max(0, top) : max(0, bottom), max(0, left) : max(0, right)] = True
        self._changed_s = np.where(change.mask & ~held, self._changed_s + passed_s, 0).astype(np.float32)
        settled = self._changed_s > _SETTLES_S
        weight = np.where(change.mask | held, 0.0, 1 - np.exp(-passed_s / _LEARNING_S)).astype(np.float32)
        weight[settled] = 1.0
        self._changed_s[settled] = 0
        apart = small - self._mean
        self._spread += weight * (np.abs(apart).max(axis=2) - self._spread)
        self._spread[settled] = 0
        self._mean += weight[..., None] * apart

    def _begin(self, small: NDArray[np.float32]) -> None:
        self._mean = small.copy()
        self._spread = np.zeros(small.shape[:2], np.float32)
        self._changed_s = np.zeros(small.shape[:2], np.float32)

    def _level(self, small: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return how much brighter each colour is now than in the room, by the median of all pixels."""
        assert self._mean is not None
        ratios = (small[::3, ::3] + 8) / (self._mean[::3, ::3] + 8)
        level: NDArray[np.float32] = np.median(ratios.reshape(-1, 3), axis=0).astype(np.float32)
        return np.clip(level, 0.4, 2.5)


def _small(pixels: Pixels) -> tuple[NDArray[np.float32], float]:
    import cv2

    height, width = pixels.shape[:2]
    scale = max(1.0, max(height, width) / _WIDTH_PX)
    size = (max(1, round(width / scale)), max(1, round(height / scale)))
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), dtype=np.float32), scale


def _is_shadow(small: NDArray[np.float32], mean: NDArray[np.float32]) -> Mask:
    brightness, usual = small.sum(axis=2) + 1, mean.sum(axis=2) + 1
    darker = brightness / usual
    moved = np.abs(small / brightness[..., None] - mean / usual[..., None]).max(axis=2)
    found: Mask = (darker > _DARKEST_SHADOW) & (darker < 1) & (moved < _SHADOW_COLOUR)
    return found


def _connected(mask: Mask, scale: float) -> tuple[Mask, tuple[Box, ...]]:
    """Return the mask without specks and with gaps closed, and the remaining patches."""
    import cv2

    kernel = np.ones((3, 3), np.uint8)
    clean = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_OPEN, kernel)
    closed = cv2.morphologyEx(clean, cv2.MORPH_CLOSE, np.ones((7, 7), np.uint8))
    _, labels, stats, _ = cv2.connectedComponentsWithStats(closed, connectivity=8)
    kept = [
        (int(area), index, (left, top, width, height))
        for index, (left, top, width, height, area) in enumerate(stats)
        if index and area >= max(6.0, _LEAST_AREA * mask.size)
    ]
    kept.sort(reverse=True)
    boxes = tuple(
        Box(left * scale, top * scale, (left + width) * scale, (top + height) * scale)
        for _, _, (left, top, width, height) in kept
    )
    return np.isin(labels, [index for _, index, _ in kept]), boxes
