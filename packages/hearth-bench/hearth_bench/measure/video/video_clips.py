"""Compose clips of public-domain portraits and drawn rooms, with the truth of what they show.

The portraits come with installed packages: scikit-image's astronaut and photographer, matplotlib's Grace Hopper;
scikit-image's cat, coffee and motorcycle move through rooms without being people. Everything follows from the seed.
"""

from __future__ import annotations

import functools
import importlib.util
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from hearth_video.experts.expert_values import Box, Frame, Pixels
from hearth_video.installed import carried_file

WIDTH, HEIGHT = 768, 432
RATE = 2.0
_NOISE_LEVELS = 2.0
_LEAST_IN_VIEW = 0.15
"""Share of a portrait that must be in view for it to count as a person."""


@dataclass(frozen=True, slots=True)
class Stay:
    """One portrait (or thing) shown from one time to another, moving from place to place in straight lines."""

    who: str
    start_s: float
    end_s: float
    height_px: int
    way: tuple[tuple[float, float, float], ...]
    """Positions of the middle of the foot: second, right, down."""
    is_person: bool = True

    def foot(self, at_s: float) -> tuple[float, float]:
        times = [time for time, _, _ in self.way]
        return (
            float(np.interp(at_s, times, [right for _, right, _ in self.way])),
            float(np.interp(at_s, times, [down for _, _, down in self.way])),
        )


@dataclass(frozen=True, slots=True)
class Clip:
    name: str
    duration_s: float
    stays: tuple[Stay, ...]
    light: Callable[[float], float] = lambda _: 1.0
    moved_px: Callable[[float], int] = lambda _: 0
    noise_levels: float = _NOISE_LEVELS
    on_the_wall: str = ""
    """Person whose picture hangs on the wall all the time; empty: nobody."""

    def truth(self, at_s: float) -> list[tuple[str, Box]]:
        """Return the people in view with their boxes."""
        found = []
        for stay in self.stays:
            if stay.is_person and stay.start_s <= at_s < stay.end_s:
                box = _place(stay, at_s)
                seen = Box(max(0.0, box.left), max(0.0, box.top), min(WIDTH, box.right), min(HEIGHT, box.bottom))
                if seen.width > 0 and seen.height > 0 and seen.area >= _LEAST_IN_VIEW * box.area:
                    found.append((stay.who, seen))
        return found

    def frames(self, seed: int) -> Iterator[Frame]:
        """Yield the pictures at `RATE`."""
        rng = np.random.default_rng(seed)
        room = _room(seed, self.on_the_wall)
        for number in range(int(self.duration_s * RATE)):
            at_s = number / RATE
            canvas = np.roll(room, self.moved_px(at_s), axis=1)
            for stay in self.stays:
                if stay.start_s <= at_s < stay.end_s:
                    _paste(canvas, stay.who, stay.height_px, _place(stay, at_s))
            noise = rng.standard_normal(canvas.shape, dtype=np.float32) * self.noise_levels
            lit = canvas.astype(np.float32) * self.light(at_s) + noise
            yield Frame(np.clip(lit, 0, 255).astype(np.uint8), at_s)


def _through(who: str, start_s: float, end_s: float, height: int, *, leftwards: bool = False) -> Stay:
    ends = (WIDTH + 150.0, -150.0) if leftwards else (-150.0, WIDTH + 150.0)
    return Stay(who, start_s, end_s, height, ((start_s, ends[0], HEIGHT), (end_s, ends[1], HEIGHT)))


def _stays(who: str, start_s: float, end_s: float, height: int, right: float) -> Stay:
    way = (
        (start_s, -150.0, HEIGHT),
        (start_s + 4, right, HEIGHT),
        (end_s - 4, right, HEIGHT),
        (end_s, -150.0, HEIGHT),
    )
    return Stay(who, start_s, end_s, height, tuple((t, float(x), float(y)) for t, x, y in way))


def _things() -> tuple[Stay, ...]:
    return (
        Stay("cat", 8, 30, 160, ((8, -100, 420), (18, 400, 430), (30, 900, 420)), is_person=False),
        Stay("coffee", 35, 60, 140, ((35, 200, 400), (36, 220, 400)), is_person=False),
        Stay("motorcycle", 40, 60, 220, ((40, 900, 430), (45, 560, 430)), is_person=False),
    )


CLIPS = (
    Clip(
        "one after the other",
        60,
        (_through("astronaut", 5, 15, 300), _stays("hopper", 22, 50, 320, 420)),
    ),
    Clip(
        "two crossing",
        40,
        (_through("astronaut", 5, 20, 260), _through("hopper", 6, 21, 280, leftwards=True)),
    ),
    Clip(
        "three at once",
        50,
        (
            _stays("hopper", 4, 45, 260, 180),
            _through("astronaut", 10, 24, 240),
            _stays("photographer", 8, 40, 260, 620),
        ),
    ),
    Clip("far away", 50, (_through("astronaut", 5, 18, 110), _stays("hopper", 22, 45, 120, 500))),
    Clip(
        "light fades, then is switched",
        70,
        (_stays("astronaut", 5, 30, 300, 380), _through("hopper", 48, 62, 300)),
        light=lambda at_s: 0.55 if at_s >= 40 else 1 - 0.35 * math.sin(math.pi * min(at_s, 40) / 40),
    ),
    Clip(
        "empty, light changing",
        60,
        (),
        light=lambda at_s: 0.8 + 0.2 * math.sin(at_s / 5) if at_s < 40 else 0.5,
    ),
    Clip("a cat, a cup, a motorcycle", 70, _things()),
    Clip("camera moved", 60, (_through("hopper", 35, 50, 300),), moved_px=lambda at_s: 60 if at_s >= 20 else 0),
    Clip("stands still for two minutes", 150, (_stays("hopper", 6, 140, 300, 380),)),
    Clip("picture on the wall", 150, (_through("astronaut", 90, 105, 300),), on_the_wall="hopper"),
    Clip("dim and noisy", 50, (_stays("astronaut", 6, 40, 300, 400),), light=lambda _: 0.3, noise_levels=6.0),
    Clip("already there", 50, (_stays("hopper", -8, 30, 300, 380),)),
)


def _place(stay: Stay, at_s: float) -> Box:
    right, down = stay.foot(at_s)
    picture, _ = _cut_out(stay.who, stay.height_px)
    height, width = picture.shape[:2]
    left, top = round(right - width / 2), round(down - height)
    return Box(left, top, left + width, top + height)


def _paste(canvas: Pixels, who: str, height_px: int, place: Box) -> None:
    picture, alpha = _cut_out(who, height_px)
    left, top = int(place.left), int(place.top)
    rows = slice(max(0, top), min(canvas.shape[0], top + picture.shape[0]))
    columns = slice(max(0, left), min(canvas.shape[1], left + picture.shape[1]))
    if rows.start >= rows.stop or columns.start >= columns.stop:
        return
    part = (slice(rows.start - top, rows.stop - top), slice(columns.start - left, columns.stop - left))
    share = alpha[part][..., None]
    canvas[rows, columns] = (share * picture[part] + (1 - share) * canvas[rows, columns]).astype(np.uint8)


@functools.cache
def _cut_out(who: str, height_px: int) -> tuple[Pixels, NDArray[np.float32]]:
    """Return a portrait without its background, and how much of each pixel is the person."""
    picture, alpha = _outlined(who)
    scale = height_px / picture.shape[0]
    size = (max(1, round(picture.shape[1] * scale)), height_px)
    small: Any = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
    return small, np.asarray(cv2.resize(alpha, size, interpolation=cv2.INTER_AREA), dtype=np.float32)


@functools.cache
def _outlined(who: str) -> tuple[Pixels, NDArray[np.float32]]:
    """Cut a portrait out at a fixed size by GrabCut, taking the wall behind to be at the sides and above."""
    picture = _picture(who)
    size = (round(picture.shape[1] * 400 / picture.shape[0]), 400)
    small: Any = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
    if who in ("coffee", "motorcycle"):
        return small, np.ones(small.shape[:2], np.float32)
    mask = np.zeros(small.shape[:2], np.uint8)
    inset = (round(0.06 * size[0]), round(0.02 * size[1]), round(0.88 * size[0]), round(0.98 * size[1]))
    cv2.setRNGSeed(0)
    cv2.grabCut(small, mask, inset, np.zeros((1, 65)), np.zeros((1, 65)), 4, cv2.GC_INIT_WITH_RECT)
    inside = ((mask == cv2.GC_FGD) | (mask == cv2.GC_PR_FGD)).astype(np.uint8)
    _, labels, stats, _ = cv2.connectedComponentsWithStats(inside, connectivity=4)
    label = 1 + int(np.argmax(stats[1:, cv2.CC_STAT_AREA]))
    alpha = np.asarray(cv2.GaussianBlur((labels == label).astype(np.float32), (3, 3), 0), dtype=np.float32)
    left, top, width, height = (int(value) for value in stats[label, :4])
    part = (slice(top, top + height), slice(left, left + width))
    return small[part], alpha[part]


def _picture(who: str) -> Pixels:
    files = {
        "astronaut": "data/astronaut.png",
        "photographer": "data/camera.png",
        "cat": "data/chelsea.png",
        "coffee": "data/coffee.png",
        "motorcycle": "data/motorcycle_left.png",
    }
    if who == "hopper":
        spec = importlib.util.find_spec("matplotlib")
        assert spec is not None
        assert spec.origin is not None
        path = Path(spec.origin).parent / "mpl-data" / "sample_data" / "grace_hopper.jpg"
    else:
        path = carried_file("skimage", files[who], "composing clips")
    return np.asarray(cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB), dtype=np.uint8)


def _room(seed: int, on_the_wall: str) -> Pixels:
    """Draw a wall, a floor, a window and some furniture."""
    rng = np.random.default_rng(seed)
    room = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    wall, floor = rng.integers(150, 225, 3), rng.integers(70, 150, 3)
    shade = np.linspace(1.0, 0.85, WIDTH)[None, :, None]
    room[:300] = (wall * shade).astype(np.uint8)
    room[300:] = (floor * shade).astype(np.uint8)
    for column in range(0, WIDTH, 48):
        cv2.line(room, (column, 300), (column * 2 - WIDTH // 2, HEIGHT), tuple(int(v) for v in floor - 15), 1)
    cv2.rectangle(room, (520, 50), (680, 190), (225, 235, 245), -1)
    cv2.rectangle(room, (520, 50), (680, 190), (90, 80, 70), 5)
    cv2.rectangle(room, (60, 230), (210, 350), tuple(int(v) for v in rng.integers(40, 160, 3)), -1)
    cv2.circle(room, (320, 120), 30, tuple(int(v) for v in rng.integers(40, 200, 3)), -1)
    if on_the_wall:
        picture = _picture(on_the_wall)
        small = cv2.resize(
            picture, (150, round(150 * picture.shape[0] / picture.shape[1])), interpolation=cv2.INTER_AREA
        )
        room[30 : 30 + small.shape[0], 340:490] = small
    return room
