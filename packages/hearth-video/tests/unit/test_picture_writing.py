"""The writing in pictures among the owner's documents is read, in the process for strangers' bytes."""

from __future__ import annotations

import io
from email.message import EmailMessage

import pypdf
import pytest

pytest.importorskip(
    "rapidocr_onnxruntime", reason="the extra `video` is not installed: pip install 'hearth-video[experts]'"
)

from PIL import Image, ImageDraw, ImageFont

from hearth.errors import Unreadable
from hearth.memory.search.collecting import is_picture, passages_in, picture_text, text_of
from hearth.testing import InMemoryWorkspace
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
        (b"\xff\xd8\xff" + b"\0" * 100, "a damaged picture"),
    ],
)
def test_what_cannot_be_read_says_why(data: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        picture_text(data)


def test_a_picture_without_writing_says_nothing_and_is_named_among_documents() -> None:
    assert picture_text(drawn()) == ""
    workspace = InMemoryWorkspace({"documents/sky.png": ""})
    workspace.write("documents/sky.png", drawn())
    with pytest.raises(Unreadable, match="a picture without writing"):
        passages_in("documents/sky.png", workspace, None)


@pytest.mark.parametrize("turned", [0, 90])
def test_the_writing_on_scanned_pages_is_read_page_after_page(turned: int) -> None:
    pages = [Image.open(io.BytesIO(drawn(line))) for line in ("Boiler serviced", "Next visit 2031")]
    kept = io.BytesIO()
    pages[0].rotate(turned, expand=True).save(kept, "PDF", save_all=True, append_images=[pages[1]])
    if turned:
        writer = pypdf.PdfWriter(clone_from=io.BytesIO(kept.getvalue()))
        writer.pages[0].rotate(turned)
        writer.write(kept := io.BytesIO())
    found = text_of("scan.pdf", kept.getvalue())
    assert (found.fault, found.is_waiting) == ("", False)
    said = "".join(found.text.split())
    assert said.index("Boilerserviced") < said.index("2031")
    left = text_of("scan.pdf", kept.getvalue(), with_pictures=False)
    assert (left.text.strip(), left.is_waiting) == ("", True)


@pytest.mark.parametrize("is_inline", [False, True])
def test_pictures_in_mails_are_read(is_inline: bool) -> None:
    letter = EmailMessage()
    letter["From"], letter["Subject"], letter["Date"] = (
        "Ana <a@x.example>",
        "Receipt",
        "Fri, 20 Nov 2026 09:00:00 +0000",
    )
    letter.set_content("See below.")
    data = drawn("Total 185.00")
    kind = "inline" if is_inline else "attachment"
    letter.add_attachment(data, maintype="image", subtype="png", filename="r.png", disposition=kind, cid="<1@x>")
    workspace = InMemoryWorkspace({"mail/cur/1.a:2,S": ""})
    workspace.write("mail/cur/1.a:2,S", letter.as_bytes())
    first = passages_in("mail/cur/1.a:2,S", workspace, None)
    assert (len(first.passages), first.is_waiting) == (1, True)
    read = passages_in("mail/cur/1.a:2,S", workspace, None, with_pictures=True)
    assert (read.fault, read.is_waiting) == ("", False)
    assert [(one.title, one.source) for one in read.passages] == [("Receipt", "message"), ("Receipt, r.png", "message")]
    assert "185.00" in read.passages[1].text


def test_a_picture_of_too_many_points_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture_writing, "MAX_POINTS", 10_000)
    with pytest.raises(Unreadable, match="a picture of 900 x 150 points"):
        list(picture_writing.read_writing(drawn("Total"), {}))
