"""Reads the writing in a picture of the owner's documents and mails: what `hearth.readers` names for pictures.

It runs in the process for strangers' bytes (`hearth.formats.bounded_reading`), which keeps the reader loaded. Covered:
what
`experts.ocr` covers; a picture taken sideways whose file says so; one with too many points, of which nothing is
unpacked. Not covered: what `experts.ocr` does not cover.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hearth.errors import MissingExtraError, Unreadable
from hearth_video.experts.expert_values import Frame, TextLine
from hearth_video.experts.ocr import OcrExpert

MAX_POINTS = 60_000_000
LONGEST_SIDE_PX = 2_000
"""A larger picture is made smaller before it is read."""


def read_writing(data: bytes, _: Mapping[str, object]) -> Iterator[bytes]:
    """Yield the lines of a PNG or JPEG from the top down, what stands at one height on one line.

    Raises:
        Unreadable: It is damaged, has too many points, or the reader is not installed.
    """
    try:
        lines = _expert().look(Frame(_pixels(data), 0.0))
    except MissingExtraError as error:
        raise Unreadable(str(error)) from None
    for row in _rows(lines):
        yield (" ".join(line.text for line in row) + "\n").encode()


@functools.cache
def _expert() -> OcrExpert:
    return OcrExpert()


def _pixels(data: bytes) -> NDArray[np.uint8]:
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(data), formats=("PNG", "JPEG")) as picture:
            if picture.width * picture.height > MAX_POINTS:
                raise Unreadable(f"a picture of {picture.width} x {picture.height} points; at most 60 million are read")
            picture.thumbnail((LONGEST_SIDE_PX, LONGEST_SIDE_PX))
            return np.asarray(ImageOps.exif_transpose(picture).convert("RGB"))
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError) as error:
        raise Unreadable(f"a damaged picture: {error}") from None


def _rows(lines: Sequence[TextLine]) -> list[list[TextLine]]:
    """Put together what follows at the same height."""
    rows: list[list[TextLine]] = []
    for line in lines:
        if rows and line.box.top < (rows[-1][-1].box.top + rows[-1][-1].box.bottom) / 2 < line.box.bottom:
            rows[-1].append(line)
        else:
            rows.append([line])
    return rows
