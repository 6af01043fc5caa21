"""Tools for what was said and heard in home video, and for text in the owner's pictures: all of it, or its total.

The tools ask the owner's footage (`protocols.Footage`) and never hear a sample; what comes back may be a stranger's
words (sources `sensor` and `file`). Not covered: who speaks, what made a sound, languages other than English,
handwriting; a recogniser is wrong in one word of four at best, and the answer says so.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hearth.errors import NotFound, ToolError
from hearth.formats.tool_signature import tool
from hearth.protocols import CallContext, Heard, Said, WrittenLine
from hearth.tools.files import ExistingFile, existing_document, size_text
from hearth_video.tools.recorded_time import VideoId, footage_of, in_room, parts_of_id, room_meant

SoundName = Literal["speech", "knock", "ring", "loud", "silence"]

LISTENING_S = 900.0
"""Longest time for listening to video that was never listened to."""
MAX_PICTURE_BYTES = 50_000_000
_UNSURE = 0.5


@tool(
    source="sensor",
    answer="{start}[ in the {room}]: “{text}”",
    domain="video",
    timeout_s=LISTENING_S,
    n_retries=1,
)
def transcribe_speech(call: CallContext, video: VideoId) -> list[Said]:
    """Write down what was said in a video: English words with their time, not who said them.

    Args:
        video: The video, as found.
    Examples:
        what was said in the kitchen at seven
        what were they talking about in the hall this morning
        write down what people said in the living room yesterday evening
    """
    room, start, end = parts_of_id(video)
    footage = footage_of(call)
    place = room_meant(room, footage)
    said = list(footage.said(place, start, end, call.cancelled))
    if not said:
        call.notices.append(_why_silent(call, place, start, end) or "I heard nobody say anything")
    else:
        call.notices.append("Understood by a recogniser that gets one word in four wrong at best: take it as a hint")
    n_unsure = sum(one.confidence < _UNSURE for one in said)
    if n_unsure:
        call.notices.append(f"Of {n_unsure} of {len(said)} sentences it is itself unsure")
    return said


@tool(
    source="sensor",
    answer="{name}[ in the {room}], {start} to {end}",
    domain="video",
    timeout_s=LISTENING_S,
    n_retries=1,
)
def detect_sounds(call: CallContext, video: VideoId, sound: SoundName | None = None) -> list[Heard]:
    """Listen for sounds in a video: talking, knocking, ringing, something loud, silence; or for one of these.

    Args:
        video: The video, as found.
        sound: Only this; without it everything but silence.
    Examples:
        did the doorbell ring this afternoon
        did somebody knock at the front door yesterday
        was there a loud noise in the garage last night
    """
    room, start, end = parts_of_id(video)
    footage = footage_of(call)
    place = room_meant(room, footage)
    heard = footage.heard(place, start, end, call.cancelled)
    found = [one for one in heard if (one.name == sound if sound else one.name != "silence")]
    if not found:
        no_sound = "" if heard else _why_silent(call, place, start, end)
        call.notices.append(no_sound or "Nothing like that was heard")
    if any(one.name in ("loud", "knock", "ring") for one in found):
        call.notices.append("I tell sounds by their shape alone, not by what made them")
    return found


def _why_silent(call: CallContext, room: str, start: dt.datetime, end: dt.datetime) -> str:
    """Say that there was nothing to hear, where no recording of that time has sound; else nothing."""
    return "" if footage_of(call).has_sound(room, start, end) else f"The video of that time{in_room(room)} has no sound"


@tool(
    source="file",
    answer="{text}",
    answer_none="I can read no writing in it.",
    domain="files",
    timeout_s=120,
)
def read_text(call: CallContext, path: ExistingFile) -> list[WrittenLine]:
    """Read the printed text in a photo or scan among the owner's documents, line by line.

    Args:
        path: Its path below the documents folder, e.g. "receipts/baker.jpg", or just its name.
    Examples:
        what does the receipt in baker.jpg say
        read the text in scans/letter.png
        what is written on warranty.jpg
    """
    return _written(call, path)


def _written(call: CallContext, path: ExistingFile) -> list[WrittenLine]:
    """Read the lines in a picture. Raises: ToolError, NotFound: It cannot be read."""
    if call.footage is None:
        raise ToolError("pictures cannot be read here; run this on a home made with `hearth init`")
    found = existing_document(path, call.workspace)
    n_bytes = call.workspace.stat(found).size_bytes
    if n_bytes > MAX_PICTURE_BYTES:
        raise ToolError(f"{found!r} has {size_text(n_bytes)}; I read pictures up to {size_text(MAX_PICTURE_BYTES)}")
    try:
        return list(call.footage.writing(call.workspace.read(found)))
    except ToolError as error:
        raise ToolError(f"{found!r}: {error}") from None


@dataclass(frozen=True, slots=True)
class Total:
    """What a receipt or bill says is to be paid."""

    amount: float
    currency: str
    """As it is written there (`EUR`, `€`); empty where none is."""
    price: str
    """Both, as they are said: `23.45 EUR`."""
    text: str
    """In words for a list: whose receipt, and how much."""
    line: str
    """The line it was read from."""


_TOTAL = re.compile(
    r"\b(?:grand ?)?(?:total|amount ?due|balance ?due|to ?pay|summe|gesamt|betrag|zu ?zahlen)", re.IGNORECASE
)
"""Without an end: a reader often loses the space behind a word."""
_PART = re.compile(r"\b(?:sub ?total|zwischensumme|total ?(?:items|vat|tax|savings)|items?\b|pieces\b)", re.IGNORECASE)
_AMOUNT = re.compile(r"(?<![\d.,])(\d{1,3}(?:[.,' ]\d{3})*|\d+)[.,] ?(\d{2})(?![\d%])")
_CURRENCY = re.compile(r"€|\$|£|(?:EUR|USD|GBP|CHF)\b|\beuros?\b", re.IGNORECASE)
_NEAR = 3
"""An amount is looked for in so many lines behind a word for the total: a reader may give the columns one by one."""


@tool(source="file", answer="The total is {price}.", domain="files", timeout_s=120)
def read_total(call: CallContext, path: ExistingFile) -> Total:
    """Read the total of a receipt or bill in a photo or scan among the owner's documents.

    Args:
        path: Its path below the documents folder, e.g. "receipts/baker.jpg", or just its name.
    Examples:
        how much is the receipt in baker.jpg
        what is the total on the bill in scans/repair.png
        what did I pay according to receipt.jpg
    """
    lines = [line.text for line in _written(call, path)]
    return total_in(lines, existing_document(path, call.workspace))


def total_in(lines: Sequence[str], path: str) -> Total:
    """Find the total among the lines of a receipt; the last line that calls itself so.

    Raises:
        NotFound: No line says what the total is.
    """
    for place in reversed([k for k, line in enumerate(lines) if _TOTAL.search(line) and not _PART.search(line)]):
        for line in lines[place : place + _NEAR]:
            if amount := _AMOUNT.search(line):
                whole = re.sub(r"\D", "", amount[1])
                said = _CURRENCY.search(line) or next(filter(None, map(_CURRENCY.search, lines)), None)
                currency = said[0] if said else ""
                name = path.rpartition("/")[2].rpartition(".")[0]
                price = f"{whole}.{amount[2]} {currency}".strip()
                return Total(float(f"{whole}.{amount[2]}"), currency, price, f"{name}: {price}", lines[place])
    raise NotFound(f"no total can be read in {path!r}; read_text says what can")


TOOLS = (transcribe_speech, detect_sounds, read_text, read_total)
