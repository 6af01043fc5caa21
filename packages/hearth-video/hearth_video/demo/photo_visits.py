"""Visits at the front door, made of photographs of real people that are not among those they are enrolled with.

The photographs lie beside the checkout (`$HEARTH_DATA/media/faces`); they are read by path and never copied into the
project. One after another is held before a plain wall and sways a little, with nobody there in between, so that what is
recognised is a face that was not enrolled, whatever moves.
Not covered: people who turn or walk, faces from the side: the public clip of the hall has bodies, seen from above.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageOps

from hearth.errors import MissingExtraError, NotFound
from hearth_video.installed import INSTALL_COMMAND

if TYPE_CHECKING:
    from hearth_video.experts.expert_values import Pixels

WIDTH, HEIGHT = 768, 432
FRAMES_PER_S = 10
FEATURE = "video of photographed visits"
VISIT_S, GAP_S = 6.0, 9.0
ENROLLED: Mapping[str, str] = {
    "Alex": "alex_lacamoire",
    "Kit": "kit_harington",
    "Barack": "obama",
    "Joe": "biden",
}
"""Who is known at the door, by the folder of the photographs they are enrolled with. Rose is left a stranger."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One photograph shown for a while."""

    photo: str
    names: tuple[str, ...]
    """Who is on it, and enrolled."""
    n_people: int
    place: float
    """Middle of the photograph, in parts of the picture's width."""
    start_s: float

    @property
    def end_s(self) -> float:
        return self.start_s + VISIT_S


_SHOWN = (
    ("alex_lacamoire1.jpg", ("Alex",), 1, 0.3),
    ("kit_with_rose.jpg", ("Kit",), 2, 0.5),
    ("obama1.jpg", ("Barack",), 1, 0.7),
    ("johnsnow_test1.jpg", ("Kit",), 1, 0.3),
    ("obama_and_biden.jpg", ("Barack", "Joe"), 2, 0.5),
)
VISITS = tuple(
    Visit(photo, names, n, place, 3.0 + number * (VISIT_S + GAP_S))
    for number, (photo, names, n, place) in enumerate(_SHOWN)
)
DURATION_S = VISITS[-1].end_s + 5.0


def gallery_in(media: Path) -> Path | None:
    """Return the folder with the photographs below `media`; None where there are none."""
    folder = media / "faces" / "knn_examples"
    whole = all((folder / "test" / visit.photo).is_file() for visit in VISITS)
    return folder if whole and all((folder / "train" / name).is_dir() for name in ENROLLED.values()) else None


def enrolment_photos(gallery: Path) -> dict[str, list[Path]]:
    """Return the photographs that each person is enrolled with."""
    return {name: sorted((gallery / "train" / folder).iterdir()) for name, folder in ENROLLED.items()}


def film_visits(gallery: Path, path: Path) -> None:
    """Write the video.

    Raises:
        NotFound: A photograph cannot be read. MissingExtraError: The extra is not installed.
        OSError: The video cannot be written.
    """
    try:
        import av
    except ImportError:
        raise MissingExtraError(FEATURE, INSTALL_COMMAND) from None
    try:
        photos = {visit.photo: _cut_to_size(gallery / "test" / visit.photo) for visit in VISITS}
    except OSError as error:
        raise NotFound(f"a photograph in {str(gallery)!r} cannot be read: {error}") from None
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=FRAMES_PER_S)
        stream.width, stream.height, stream.pix_fmt, stream.bit_rate = WIDTH, HEIGHT, "yuv420p", 3_000_000
        stream.codec_context.time_base = Fraction(1, FRAMES_PER_S)
        for number, pixels in enumerate(_frames(photos)):
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, FRAMES_PER_S)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def _cut_to_size(path: Path) -> Image.Image:
    with Image.open(path) as opened:
        photo = ImageOps.exif_transpose(opened).convert("RGB")
    # What covers more of the view than this would be taken for another view, with the photograph as the room.
    most = math.sqrt(0.5 * WIDTH * HEIGHT / (photo.width * photo.height))
    scale = min((WIDTH - 120) / photo.width, (HEIGHT - 30) / photo.height, most)
    return photo.resize((round(photo.width * scale), round(photo.height * scale)), Image.Resampling.LANCZOS)


def _frames(photos: Mapping[str, Image.Image]) -> Iterator[Pixels]:
    wall = Image.new("RGB", (WIDTH, HEIGHT), "#96908A")
    random = np.random.default_rng(0)  # a sensor is never quite still
    grains = [random.normal(0, 1.5, (HEIGHT, WIDTH, 1)).round().astype(np.int16) for _ in range(7)]
    for number in range(round(DURATION_S * FRAMES_PER_S)):
        at_s = number / FRAMES_PER_S
        picture = wall.copy()
        for visit in VISITS:
            if visit.start_s <= at_s < visit.end_s:
                photo = photos[visit.photo]
                sway = 10 * math.sin(2 * math.pi * 0.2 * at_s)
                free = WIDTH - photo.width
                left = min(max(visit.place * WIDTH - photo.width / 2, 10), free - 10) + sway
                picture.paste(photo, (round(left), HEIGHT - photo.height))
        noisy = np.asarray(picture, np.int16) + grains[number % len(grains)]
        yield np.clip(noisy, 0, 255).astype(np.uint8)
