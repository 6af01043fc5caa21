"""What was said, heard and is written, as tools tell it."""

from __future__ import annotations

import dataclasses
import datetime as dt
import io
import struct
import threading
import zlib
from collections.abc import Mapping
from typing import Any

import pytest
from PIL import Image

from hearth.errors import CancelledError, NotFound, ToolError
from hearth.protocols import CallContext, Heard, Recording, Said, Tool, WrittenLine
from hearth.testing import FIXED_NOW, InMemoryWorkspace, ScriptedFootage, ScriptedSound, check_tool, make_call
from hearth_video.experts.expert_values import Box, TextLine
from hearth_video.footage.pictures.text_images import picture, written_lines
from hearth_video.tools.listening import TOOLS, detect_sounds, read_text, read_total, total_in, transcribe_speech
from hearth_video.tools.recorded_time import video_id


def at(hour: int, minute: int = 0) -> dt.datetime:
    return FIXED_NOW.replace(day=19, hour=hour, minute=minute)


FOOTAGE = ScriptedFootage(
    [Recording("k", "kitchen", "kitchen", at(17), at(22), False), Recording("h", "hall", "hall", at(18), at(20), True)],
    sound=ScriptedSound(
        [
            Said("turn on the light", at(18, 5), at(18, 5) + dt.timedelta(seconds=3), "kitchen", 0.8),
            Said("for queen of clubs", at(19), at(19) + dt.timedelta(seconds=2), "hall", 0.3),
        ],
        [
            Heard("silence", at(17), at(18), "kitchen"),
            Heard("ring", at(18, 30), at(18, 31), "hall"),
            Heard("speech", at(18, 5), at(18, 6), "kitchen"),
        ],
    ),
    lines=[WrittenLine("Total EUR 8.35", 0.98)],
)
EVENING = str(video_id("", at(17), at(22)))
KITCHEN = str(video_id("kitchen", at(17), at(22)))


def run(tool: Tool, arguments: Mapping[str, object], call: CallContext) -> Any:
    return tool.call(arguments, call)


@pytest.fixture
def call() -> CallContext:
    files = {"documents/receipts/baker.jpg": b"jpeg", "documents/empty.png": b""}
    return make_call(footage=FOOTAGE, workspace=InMemoryWorkspace(files))


def test_every_tool_keeps_the_contract(call: CallContext) -> None:
    arguments: dict[str, dict[str, object]] = {"read_text": {"path": "baker.jpg"}, "read_total": {"path": "baker.jpg"}}
    for tool in TOOLS:
        check_tool(tool, arguments.get(tool.spec.name, {"video": EVENING}), call)


def test_what_was_said_comes_with_a_warning(call: CallContext) -> None:
    said = run(transcribe_speech, {"video": EVENING}, call)
    assert [one.text for one in said] == ["turn on the light", "for queen of clubs"]
    assert any("one word in four" in notice for notice in call.notices)
    assert any("1 of 2 sentences" in notice for notice in call.notices)


def test_only_of_the_room_that_is_asked_about(call: CallContext) -> None:
    assert [one.room for one in run(transcribe_speech, {"video": KITCHEN}, call)] == ["kitchen"]
    assert not any("sentences" in notice for notice in call.notices)


def test_silence_is_told_only_where_it_is_asked_for(call: CallContext) -> None:
    assert [one.name for one in run(detect_sounds, {"video": EVENING}, call)] == ["ring", "speech"]
    assert any("not by what made them" in notice for notice in call.notices)
    other = dataclasses.replace(call, notices=[])
    assert [one.name for one in run(detect_sounds, {"video": EVENING, "sound": "silence"}, other)] == ["silence"]
    assert other.notices == []
    assert run(detect_sounds, {"video": EVENING, "sound": "knock"}, other) == []
    assert other.notices == ["Nothing like that was heard"]


def test_both_are_a_sensors_and_writing_is_a_files() -> None:
    assert [tool.spec.source for tool in TOOLS] == ["sensor", "sensor", "file", "file"]


@pytest.mark.parametrize("tool", [transcribe_speech, detect_sounds])
def test_a_video_that_was_not_found_and_being_stopped(tool: Tool, call: CallContext) -> None:
    with pytest.raises(NotFound, match="look for it with find_video"):
        run(tool, {"video": "the kitchen"}, call)
    stopped = threading.Event()
    stopped.set()
    with pytest.raises(CancelledError):
        run(tool, {"video": EVENING}, dataclasses.replace(call, cancelled=stopped))
    with pytest.raises(NotFound, match="no video has been added"):
        run(tool, {"video": EVENING}, make_call(footage=ScriptedFootage()))


def test_writing_is_read_from_a_picture_among_the_documents(call: CallContext) -> None:
    assert run(read_text, {"path": "baker.jpg"}, call) == [WrittenLine("Total EUR 8.35", 0.98)]
    with pytest.raises(ToolError, match=r"'documents/empty.png': the file is empty"):
        run(read_text, {"path": "empty.png"}, call)
    with pytest.raises(NotFound, match="no file 'butcher"):
        run(read_text, {"path": "butcher.jpg"}, call)
    with pytest.raises(ToolError, match="cannot be read here"):
        run(read_text, {"path": "baker.jpg"}, dataclasses.replace(call, footage=None))


def test_amounts_stand_on_the_line_of_the_words_beside_them() -> None:
    def piece(text: str, left: float, top: float, score: float = 0.9) -> TextLine:
        return TextLine(text, Box(left, top, left + 60, top + 20, score))

    pieces = [
        *(piece("Receipt", 10, 0), piece("Apples 2kg", 10, 30), piece("5.80", 200, 33, 0.7)),
        *(piece("4.60", 200, 60), piece("Dear Ann,", 10, 90), piece("Yours", 200, 90), piece("TOTALEUR", 10, 120)),
        *(piece("€ 1.023,45", 150, 118), piece("12,00 B", 220, 121)),
    ]
    lines = written_lines(pieces)
    assert [one.text for one in lines] == [
        *("Receipt", "Apples 2kg  5.80", "4.60", "Dear Ann,", "Yours", "TOTALEUR  € 1.023,45  12,00 B"),
    ]
    assert [one.confidence for one in lines][:2] == [0.9, 0.7]


# ── Pictures in files ─────────────────────────────────────────────────────────────────────────────────────


def test_pictures_are_made_upright_plain_and_not_too_large() -> None:
    def data(image: Image.Image, format: str, **more: Any) -> bytes:
        buffer = io.BytesIO()
        image.save(buffer, format, **more)
        return buffer.getvalue()

    turned = Image.new("RGB", (60, 40), "red")
    exif = turned.getexif()
    exif[0x0112] = 6
    assert picture(data(turned, "JPEG", exif=exif)).pixels.shape == (60, 40, 3)
    assert picture(data(Image.new("RGB", (6000, 1500)), "PNG")).pixels.shape == (640, 2560, 3)
    clear = picture(data(Image.new("RGBA", (9, 9), (0, 0, 0, 0)), "PNG")).pixels
    assert clear.min() == 255, "what is transparent is white"
    assert picture(data(Image.new("L", (9, 9), 7), "TIFF")).pixels.max() == 7


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty"),
        (b"not a picture", "no picture that can be read"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "no picture that can be read"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 40, "no picture that can be read"),
        (b"BM" + b"\xff" * 60, "no picture that can be read"),
    ],
)
def test_what_is_no_picture_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(ToolError, match=why):
        picture(data)


def test_a_picture_that_claims_to_be_enormous_is_refused_before_it_is_decoded() -> None:
    head = struct.pack(">IIBBBBB", 20_000, 20_000, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", 13) + b"IHDR" + head + struct.pack(">I", zlib.crc32(b"IHDR" + head))
    with pytest.raises(ToolError, match="pixels"):
        picture(b"\x89PNG\r\n\x1a\n" + chunk + b"\0\0\0\0IDAT\0\0\0\0\0\0\0\0IEND")


def test_the_total_of_a_receipt_is_ready_for_a_list(call: CallContext) -> None:
    found = run(read_total, {"path": "baker.jpg"}, call)
    assert (found.amount, found.currency, found.price, found.text) == (8.35, "EUR", "8.35 EUR", "baker: 8.35 EUR")


@pytest.mark.parametrize(
    ("lines", "amount"),
    [
        (["Bread 3.20", "Subtotal 3.20", "TOTAL 3,90"], 3.9),
        (["Total items 4", "Total", "EUR", "1.204,50", "Cash 1.300,00"], 1204.5),
        (["SUMME EUR 12,40", "Total VAT 7% 0,81"], 12.4),
        (["Amount due: $ 45.00", "Thank you"], 45.0),
        (["Beetroot", "2.70", "TOTALEUR", "23.45", "Cash", "25.00"], 23.45),
        (["Beetroot  2.70", "TOTALEUR  23.45", "Cash  25.00"], 23.45),
    ],
)
def test_totals_as_receipts_write_them(lines: list[str], amount: float) -> None:
    assert total_in(lines, "a/r.png").amount == amount


@pytest.mark.parametrize("lines", [[], ["Bread 3.20"], ["Total", "see overleaf"], ["Subtotal 3.20"]])
def test_no_total_is_said_and_none_made_up(lines: list[str]) -> None:
    with pytest.raises(NotFound, match="no total can be read"):
        total_in(lines, "a/r.png")


def test_nobody_who_says_anything_is_told_where_there_is_sound() -> None:
    call = make_call(footage=ScriptedFootage([Recording("h", "hall", "hall", at(18), at(20), True)]))
    assert run(transcribe_speech, {"video": str(video_id("hall", at(18), at(20)))}, call) == []
    assert call.notices == ["I heard nobody say anything"]


@pytest.mark.parametrize("tool", [transcribe_speech, detect_sounds])
def test_video_without_sound_says_that_it_has_none(tool: Tool) -> None:
    mute = ScriptedFootage([Recording("h", "hall", "hall", at(18), at(20), True)], sound=None)
    call = make_call(footage=mute)
    assert run(tool, {"video": str(video_id("hall", at(18), at(20)))}, call) == []
    assert call.notices == ["The video of that time in the hall has no sound"]
