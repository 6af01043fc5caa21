"""The demo home's video: two portraits that installed packages carry walk through a drawn room, and who was there when.

No footage is shipped: the clip is composed when it is needed, the same each time. The portraits are in the public
domain: scikit-image's astronaut (Eileen Collins, NASA) and matplotlib's Grace Hopper (James S. Davis, US Navy).
Not covered: what real people do beside walking and standing, legs, turning away.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from hearth.errors import MissingExtraError
from hearth_video.installed import INSTALL_COMMAND, carried_file

if TYPE_CHECKING:
    from hearth_video.experts.expert_values import Pixels

WIDTH, HEIGHT = 768, 432
FRAMES_PER_S = 10
DURATION_S = 60
FEATURE = "the demo home's video"
_HEAD_TOP = 105
_N_GRAINS = 7


@dataclass(frozen=True, slots=True)
class Presence:
    """Somebody in view from a time to a time, in seconds of the clip."""

    name: str
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Clip:
    path: Path
    portraits: Mapping[str, Path]
    """To enroll the people in it by, by name."""
    truth: tuple[Presence, ...]


@dataclass(frozen=True, slots=True)
class _Walk:
    """Where somebody's middle is: (second, place across) points, straight lines between them."""

    name: str
    points: tuple[tuple[float, float], ...]

    def place(self, at_s: float) -> float | None:
        times, places = zip(*self.points, strict=True)
        if not times[0] <= at_s <= times[-1]:
            return None
        return float(np.interp(at_s, times, places))

    def is_walking(self, at_s: float) -> bool:
        here, soon = self.place(at_s), self.place(at_s + 0.2)
        return here is not None and soon is not None and abs(soon - here) > 1


_OUT = 150.0
"""So far beyond the edge nobody is in view."""
_SCRIPT = (
    _Walk("Eileen", ((4, -_OUT), (9, 250), (18, 250), (24, WIDTH + _OUT))),
    _Walk("Grace", ((28, WIDTH + _OUT), (33, 520), (52, 520), (57, WIDTH + _OUT))),
    _Walk("Eileen", ((38, -_OUT), (43, 210), (48, 210), (52, -_OUT))),
)


def portraits() -> Mapping[str, Path]:
    """The portraits, by the name of who is on them. Raises: MissingExtraError: A package is not installed."""
    return {
        "Eileen": carried_file("skimage", "data/astronaut.png", FEATURE),
        "Grace": carried_file("matplotlib", "mpl-data/sample_data/grace_hopper.jpg", FEATURE),
    }


def compose_clip(folder: Path) -> Clip:
    """Write `clip.mp4` and `clip.json`, its truth, into a folder.

    Raises:
        MissingExtraError: The extra is not installed. OSError: It cannot be written.
    """
    try:
        import av
    except ImportError:
        raise MissingExtraError(FEATURE, INSTALL_COMMAND) from None
    faces = portraits()
    figures = {name: _figure(path, name) for name, path in faces.items()}
    path = folder / "clip.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=FRAMES_PER_S)
        stream.width, stream.height, stream.pix_fmt, stream.bit_rate = WIDTH, HEIGHT, "yuv420p", 3_000_000
        stream.codec_context.time_base = Fraction(1, FRAMES_PER_S)
        for number, pixels in enumerate(_frames(figures)):
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, FRAMES_PER_S)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    truth = tuple(_seen(walk, figures[walk.name].width) for walk in _SCRIPT)
    document = {"duration_s": DURATION_S, "present": [asdict(one) for one in truth]}
    (folder / "clip.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return Clip(path, faces, truth)


def _seen(walk: _Walk, width: int) -> Presence:
    """From when on a third of them is in the picture until it is no longer."""
    times = [k / FRAMES_PER_S for k in range(DURATION_S * FRAMES_PER_S)]
    edge = width / 2 - width / 3
    inside = [t for t in times if (x := walk.place(t)) is not None and -edge <= x <= WIDTH + edge]
    return Presence(walk.name, inside[0], inside[-1])


def _frames(figures: Mapping[str, Image.Image]) -> Iterator[Pixels]:
    room = _room()
    random = np.random.default_rng(0)  # a sensor is never quite still
    grains = [random.normal(0, 1.5, (HEIGHT, WIDTH, 1)).round().astype(np.int16) for _ in range(_N_GRAINS)]
    for number in range(DURATION_S * FRAMES_PER_S):
        at_s = number / FRAMES_PER_S
        picture = room.copy()
        for walk in _SCRIPT:
            place = walk.place(at_s)
            if place is not None:
                _stand(picture, figures[walk.name], place, at_s, is_walking=walk.is_walking(at_s))
        noisy = np.asarray(picture, np.int16) + grains[number % _N_GRAINS]
        yield np.clip(noisy, 0, 255).astype(np.uint8)


# ── Drawing ───────────────────────────────────────────────────────────────────────────────────────────────


def _room() -> Image.Image:
    """A wall with a window and a shelf, a floor, a lamp."""
    image = Image.new("RGB", (WIDTH, HEIGHT), "#CFC6B4")
    draw = ImageDraw.Draw(image)
    for y in range(330):
        shade = 12 * y // 330
        draw.line((0, y, WIDTH, y), fill=(207 - shade, 198 - shade, 180 - shade))
    draw.rectangle((0, 330, WIDTH, HEIGHT), fill="#8A6A4A")
    for x in range(-200, WIDTH + 200, 48):
        draw.line((x, HEIGHT, WIDTH // 2 + (x - WIDTH // 2) // 2, 330), fill="#7A5C3E", width=2)
    draw.rectangle((0, 322, WIDTH, 332), fill="#EDE6D8")
    draw.rectangle((470, 40, 620, 190), fill="#9FC3DE", outline="#F4EFE4", width=8)
    draw.line((545, 40, 545, 190), fill="#F4EFE4", width=5)
    draw.rectangle((60, 90, 210, 100), fill="#6A4B30")
    for k, colour in enumerate(("#7D3C3C", "#34506B", "#6B7A3A", "#B48A3C", "#4A4A4A", "#8C5A78")):
        draw.rectangle((70 + 20 * k, 48 + 4 * (k % 3), 86 + 20 * k, 90), fill=colour)
    draw.rectangle((700, 150, 706, 360), fill="#3C3C3C")
    draw.polygon(((675, 150), (731, 150), (718, 105), (688, 105)), fill="#E8D39A")
    return image.filter(ImageFilter.GaussianBlur(0.6))


@dataclass(frozen=True, slots=True)
class _Cut:
    """Who is on a portrait, cut out of it, and the size they are drawn in."""

    outline: tuple[tuple[int, int], ...]
    scale: float
    clothes: str


_CUTS: Mapping[str, _Cut] = {
    "Eileen": _Cut(
        (
            *((160, 60), (190, 25), (230, 13), (275, 25), (300, 65), (298, 110), (275, 135), (262, 165), (300, 195)),
            *((308, 255), (345, 290), (362, 350), (330, 512), (22, 512), (30, 330), (60, 240), (110, 205), (125, 160)),
            *((185, 150), (178, 120), (155, 95)),
        ),
        0.55,
        "#C0502C",
    ),
    "Grace": _Cut(
        (
            *((150, 130), (172, 72), (220, 30), (270, 20), (320, 40), (365, 85), (376, 140), (376, 200), (360, 270)),
            *((340, 320), (400, 348), (480, 375), (508, 420), (511, 600), (5, 600), (45, 390), (100, 365), (190, 345)),
            *((200, 320), (170, 275), (152, 190)),
        ),
        0.4,
        "#1B1C26",
    ),
}


def _figure(path: Path, name: str) -> Image.Image:
    """Somebody cut out of their portrait, with a lower body drawn below it."""
    cut = _CUTS[name]
    photo = Image.open(path).convert("RGBA")
    mask = Image.new("L", photo.size, 0)
    ImageDraw.Draw(mask).polygon(cut.outline, fill=255)
    photo.putalpha(mask.filter(ImageFilter.GaussianBlur(2)))
    small = photo.resize((round(photo.width * cut.scale), round(photo.height * cut.scale)), Image.Resampling.LANCZOS)
    left = min(x for x, y in cut.outline) * cut.scale
    right = max(x for x, y in cut.outline) * cut.scale
    figure = Image.new("RGBA", (round(right - left) + 2, HEIGHT), (0, 0, 0, 0))
    middle = figure.width / 2
    body = ((middle - 0.36 * middle * 2, small.height - 30), (middle + 0.36 * middle * 2, small.height - 30))
    ImageDraw.Draw(figure).polygon(
        (*body, (middle + 0.3 * figure.width, HEIGHT), (middle - 0.3 * figure.width, HEIGHT)), fill=cut.clothes
    )
    figure.alpha_composite(small.crop((round(left), 0, round(left) + figure.width, small.height)))
    return figure


def _stand(picture: Image.Image, figure: Image.Image, place: float, at_s: float, *, is_walking: bool) -> None:
    """Put somebody into the picture; who walks goes up and down a little with each step, who stands breathes."""
    lift = 5 * abs(math.sin(math.pi * 1.8 * at_s)) if is_walking else 1.2 * math.sin(2 * math.pi * 0.25 * at_s)
    sway = 0.0 if is_walking else 3 * math.sin(2 * math.pi * 0.15 * at_s)
    picture.paste(figure, (round(place + sway - figure.width / 2), round(_HEAD_TOP - lift)), figure)
