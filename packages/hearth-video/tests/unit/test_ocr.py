"""Writing read from drawn pictures; needs the extra `video`."""

from __future__ import annotations

import logging

import matplotlib
import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from hearth.errors import ToolError
from hearth.testing import check_expert
from hearth_video.experts.expert_values import Box, Frame, Pixels, TextLine
from hearth_video.experts.ocr import OcrExpert, _ordered

pytest.importorskip(
    "rapidocr_onnxruntime", reason="the extra `video` is not installed: pip install 'hearth-video[experts]'"
)

FONT = f"{matplotlib.get_data_path()}/fonts/ttf/DejaVuSans.ttf"
LINES = ("Corner Bakery", "1 oat bread    4.95", "Total EUR 8.35")


def drawn(lines: tuple[str, ...] = LINES, size_px: int = 24) -> Pixels:
    image = Image.new("RGB", (size_px * 16, size_px * 2 * (len(lines) + 1)), "white")
    for k, text in enumerate(lines):
        place = (size_px, size_px + k * 2 * size_px)
        ImageDraw.Draw(image).text(place, text, font=ImageFont.truetype(FONT, size_px), fill="black")
    return np.asarray(image)


@pytest.fixture(scope="module")
def expert() -> OcrExpert:
    return OcrExpert()


def plain(found: tuple[TextLine, ...]) -> str:
    return "".join(line.text for line in found).replace(" ", "")


def test_the_contract() -> None:
    found = check_expert(OcrExpert, Frame(drawn(), 0.0), heavy_modules=("rapidocr_onnxruntime", "onnxruntime"))
    assert plain(found) == "".join(LINES).replace(" ", "")
    first = found[0]
    assert first.box.score > 0.8
    assert abs(first.box.top - 24) < 12
    assert abs(first.box.left - 24) < 8
    assert logging.getLogger("RapidOCR").handlers == []


def test_a_picture_upside_down(expert: OcrExpert) -> None:
    assert "Total" in plain(expert.look(Frame(np.ascontiguousarray(np.rot90(drawn(), 2)), 0.0)))


@pytest.mark.parametrize("size", [(7, 400), (60, 80), (1, 1)])
def test_where_nothing_is_written_nothing_is_read(expert: OcrExpert, size: tuple[int, int]) -> None:
    assert expert.look(Frame(np.full((*size, 3), 200, np.uint8), 0.0)) == ()


def test_a_picture_that_is_not_rgb_is_refused(expert: OcrExpert) -> None:
    with pytest.raises(ToolError, match="expected \\[height, width, 3\\] of 'uint8'"):
        expert.look(Frame(np.zeros((40, 40), np.uint8), 0.0))


def test_lines_go_from_the_top_down_and_those_at_one_height_from_left_to_right() -> None:
    lines = [
        TextLine("3.40", Box(200, 50, 240, 70)),
        TextLine("rolls", Box(20, 53, 90, 75)),
        TextLine("Bakery", Box(20, 10, 90, 30)),
        TextLine("Total", Box(20, 100, 90, 120)),
    ]
    assert [line.text for line in _ordered(lines)] == ["Bakery", "rolls", "3.40", "Total"]
