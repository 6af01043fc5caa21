"""Prepare the owner's pictures for reading text, upright, in plain colours, not too large; and put its amounts beside
their words.

Covered: files that are no picture, formats that name other files or run programs (only a short list of formats is
opened), pictures that claim to be enormous, animations (their first picture), transparency (on white).
Not covered: a fault in the decoders of those formats; PDF.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageOps

from hearth.errors import ToolError
from hearth.protocols import WrittenLine
from hearth_video.experts.expert_values import Frame, TextLine

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")
MAX_PIXELS = 100_000_000
_LONGEST_PX = 2560
_AMOUNT = re.compile(r"[-+]?\s?(?:[€$£]\s?)?\d[\d.,' ]*[.,]\d{2}\s?(?:€|EUR|USD|GBP|CHF|[A-Z*])?")
_SAME_HEIGHT = 0.5
"""Two pieces of writing whose middles differ by less than this share of their height stand beside one another."""


def written_lines(pieces: Sequence[TextLine]) -> tuple[WrittenLine, ...]:
    """Return pieces of writing as lines; an amount alone, as on a receipt, goes on the line of the words beside it.

    Other pieces side by side stay lines of their own: they may be columns.

    Args:
        pieces: From the top down and from left to right.
    """
    lines: list[WrittenLine] = []
    before: TextLine | None = None
    for piece in pieces:
        if before is not None and _AMOUNT.fullmatch(piece.text) and _is_beside(before, piece):
            last = lines.pop()
            lines.append(WrittenLine(f"{last.text}  {piece.text}", min(last.confidence, piece.box.score)))
        else:
            lines.append(WrittenLine(piece.text, piece.box.score))
        before = piece
    return tuple(lines)


def _is_beside(left: TextLine, right: TextLine) -> bool:
    apart = abs(left.box.top + left.box.bottom - right.box.top - right.box.bottom) / 2
    return right.box.left > left.box.left and apart < _SAME_HEIGHT * min(left.box.height, right.box.height)


def picture(data: bytes) -> Frame:
    """Return the picture that a file holds. Raises: ToolError: It holds none that can be read, and why."""
    if not data:
        raise ToolError("the file is empty; expected a picture")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(data), formats=FORMATS) as image:
                width, height = image.size
                if width * height > MAX_PIXELS:
                    raise ToolError(
                        f"the picture has {width} × {height} pixels; expected at most {MAX_PIXELS}: make it smaller"
                    )
                image.draft("RGB", (_LONGEST_PX, _LONGEST_PX))
                upright = ImageOps.exif_transpose(image)
                upright.thumbnail((_LONGEST_PX, _LONGEST_PX))
                seen = upright.convert("RGBA")
                ground = Image.new("RGBA", seen.size, "white")
                return Frame(np.asarray(Image.alpha_composite(ground, seen).convert("RGB")), 0.0)
    except ToolError:
        raise
    except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError) as error:
        raise ToolError(
            f"this is no picture that can be read ({str(error)[:100]}); expected a whole file of one of these: "
            f"{', '.join(FORMATS)}"
        ) from None
