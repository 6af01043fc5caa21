"""The writing in pictures among the owner's documents is read, in the process for strangers' bytes."""

from __future__ import annotations

import io

import pytest

pytest.importorskip(
    "rapidocr_onnxruntime", reason="the extra `video` is not installed: pip install 'hearth-video[experts]'"
)

from PIL import Image, ImageDraw, ImageFont

from hearth.errors import Unreadable
from hearth.memory.passages.document_text import is_picture, picture_text
from hearth_video import picture_writing


def drawn(*lines: str, form: str = "PNG", turned: int = 0, beside: str = "") -> bytes:
    picture = Image.new("RGB", (900, 60 + 90 * len(lines)), "white")
    pen, font = ImageDraw.Draw(picture), ImageFont.load_default(36)
    for n, line in enumerate(lines):
        pen.text((40, 40 + 90 * n), line, font=font, fill="black")
    pen.text((620, 40), beside, font=font, fill="black")
    kept, exif = io.BytesIO(), Image.Exif()
    exif[0x0112] = {0: 1, 90: 6}[turned]  # how the camera was held
    picture.rotate(turned, expand=True).save(kept, form, exif=exif)
    return kept.getvalue()


@pytest.mark.parametrize(("form", "turned"), [("PNG", 0), ("JPEG", 0), ("JPEG", 90)])
def test_lines_are_read_from_the_top_down(form: str, turned: int) -> None:
    data = drawn("Next visit: 14 March 2027", "Total: 185.00", form=form, turned=turned)
    assert is_picture(data)
    said = "".join(picture_text(data).split())
    assert said.index("14March2027") < said.index("185.00")


def test_what_stands_at_one_height_is_one_line() -> None:
    assert picture_text(drawn("Total", beside="185.00")) == "Total 185.00\n"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (drawn("Total")[:300], "a damaged picture"),
        (drawn(), "a picture without writing"),
        (b"\xff\xd8\xff" + b"\0" * 100, "a damaged picture"),
    ],
)
def test_what_cannot_be_read_says_why(data: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        picture_text(data)


def test_a_picture_of_too_many_points_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture_writing, "MAX_POINTS", 10_000)
    with pytest.raises(Unreadable, match="a picture of 900 x 150 points"):
        list(picture_writing.read_writing(drawn("Total"), {}))
