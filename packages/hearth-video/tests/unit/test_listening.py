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
from hearth.testing import FIXED_NOW, InMemoryWorkspace, ScriptedFootage, check_tool, make_call
from hearth_video.footage.text_images import picture
from hearth_video.tools.listening import TOOLS, detect_sounds, read_text, transcribe_speech
from hearth_video.tools.recorded_time import video_id


def at(hour: int, minute: int = 0) -> dt.datetime:
    return FIXED_NOW.replace(day=19, hour=hour, minute=minute)


FOOTAGE = ScriptedFootage(
    [Recording("k", "kitchen", "kitchen", at(17), at(22), False), Recording("h", "hall", "hall", at(18), at(20), True)],
    said=[
        Said("turn on the light", at(18, 5), at(18, 5) + dt.timedelta(seconds=3), "kitchen", 0.8),
        Said("for queen of clubs", at(19), at(19) + dt.timedelta(seconds=2), "hall", 0.3),
    ],
    heard=[
        Heard("silence", at(17), at(18), "kitchen"),
        Heard("ring", at(18, 30), at(18, 31), "hall"),
        Heard("speech", at(18, 5), at(18, 6), "kitchen"),
    ],
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
    arguments: dict[str, dict[str, object]] = {"read_text": {"path": "baker.jpg"}}
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


def test_both_are_a_sensors_and_writing_is_a_files() -> None:
    assert [tool.spec.source for tool in TOOLS] == ["sensor", "sensor", "file"]


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
