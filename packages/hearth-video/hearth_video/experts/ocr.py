"""Read printed lines of text in a picture, from the top down.

Covered: letters turned by quarters or upside down (their lines come in the order of the picture), slanted lines, small
print in large pictures (as far as it is sharp), pictures without writing.
Not covered: handwriting; letters under about 10 pixels high; tables as tables (cells come as lines of their own);
scripts other than Latin and Chinese; the order of columns.

Source:
    PP-OCRv4 (PaddleOCR, Apache-2.0) as rapidocr-onnxruntime carries it.
"""

from __future__ import annotations

import contextlib
import logging
from typing import Any

import numpy as np

from hearth.errors import MissingExtraError, ToolError
from hearth.protocols import ExpertCard
from hearth_video.experts.expert_values import Box, Frame, TextLine
from hearth_video.installed import INSTALL_COMMAND

_LEAST_SIDE_PX = 8
_SAME_LINE = 0.5
"""Parts whose middles are nearer than this share of their height are on the same line."""


class OcrExpert:
    """Reads lines of text in a picture."""

    card = ExpertCard(
        name="ocr",
        takes="a Frame",
        gives="a TextLine for each line, or part of one, from the top down: its text and its box with how sure",
        extra="video",
        cpu_ms=800.0,
        memory_bytes=650_000_000,
        cannot=(
            "It does not read handwriting.",
            "It leaves out spaces between words, more often in small print.",
            "It does not read letters under about 10 pixels high.",
            "It does not tell what belongs together: columns and tables come as lines.",
            "Of a picture that is upside down it gives the lines in reverse.",
            "It leaves off accents: it was made for English and Chinese.",
        ),
    )

    def __init__(self) -> None:
        self._reader: Any = None

    def look(self, given: Frame) -> tuple[TextLine, ...]:
        """Return lines of text, from the top down and from left to right; none where nothing is written.

        Raises:
            MissingExtraError: The reader is not installed. ToolError: The pixels are not RGB.
        """
        shape, kind = given.pixels.shape, given.pixels.dtype
        if len(shape) != 3 or shape[2] != 3 or kind != np.uint8:
            raise ToolError(
                f"the picture has pixels of shape {shape} and type {str(kind)!r}; expected [height, width, 3] of "
                "'uint8', RGB: convert it first"
            )
        if min(shape[:2]) < _LEAST_SIDE_PX:
            return ()
        if self._reader is None:
            self._reader = _load()
        found, _ = self._reader(np.ascontiguousarray(given.pixels[:, :, ::-1]))
        lines = []
        for corners, text, score in found or ():
            x, y = [corner[0] for corner in corners], [corner[1] for corner in corners]
            if text.strip():
                lines.append(TextLine(text.strip(), Box(min(x), min(y), max(x), max(y), round(float(score), 3))))
        return _ordered(lines)


def _load() -> Any:
    try:
        from rapidocr_onnxruntime import RapidOCR
    except ImportError:
        raise MissingExtraError("reading writing in pictures", INSTALL_COMMAND) from None
    reader = RapidOCR(intra_op_num_threads=1, inter_op_num_threads=1)
    log = logging.getLogger("RapidOCR")
    for handler in list(log.handlers):  # drops its own handlers, which write to the terminal
        with contextlib.suppress(ValueError):
            log.removeHandler(handler)
    log.setLevel(logging.WARNING)
    return reader


def _ordered(lines: list[TextLine]) -> tuple[TextLine, ...]:
    """Sort lines from the top down; those at one height from left to right."""
    rows: list[list[TextLine]] = []
    for line in sorted(lines, key=lambda one: one.box.top + one.box.bottom):
        row = rows[-1] if rows else []
        if row and abs(_middle(row[0]) - _middle(line)) < _SAME_LINE * min(row[0].box.height, line.box.height):
            row.append(line)
        else:
            rows.append([line])
    return tuple(line for row in rows for line in sorted(row, key=lambda one: one.box.left))


def _middle(line: TextLine) -> float:
    return (line.box.top + line.box.bottom) / 2
