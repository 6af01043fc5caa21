"""Tools for what was said and heard in home video, and for text in the owner's pictures.

The tools ask the owner's footage (`protocols.Footage`) and never hear a sample; what comes back may be a stranger's
words (sources `sensor` and `file`). Not covered: who speaks, what made a sound, languages other than English,
handwriting; a recogniser is wrong in one word of four at best, and the answer says so.
"""

from __future__ import annotations

from typing import Literal

from hearth.errors import ToolError
from hearth.formats.tool_signature import tool
from hearth.protocols import CallContext, Heard, Said, WrittenLine
from hearth.tools.files import ExistingFile, existing_document, size_text
from hearth_video.tools.recorded_time import VideoId, footage_of, parts_of_id, room_meant

SoundName = Literal["speech", "knock", "ring", "loud", "silence"]

LISTENING_S = 900.0
"""Longest time for listening to video that was never listened to."""
MAX_PICTURE_BYTES = 50_000_000
_UNSURE = 0.5


@tool(
    source="sensor",
    answer="{start}[ in the {room}]: “{text}”",
    answer_none="Nothing was said that I could make out.",
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
    said = list(footage.said(room_meant(room, footage), start, end, call.cancelled))
    if said:
        call.notices.append("Understood by a recogniser that gets one word in four wrong at best: take it as a hint")
    n_unsure = sum(one.confidence < _UNSURE for one in said)
    if n_unsure:
        call.notices.append(f"Of {n_unsure} of {len(said)} sentences it is itself unsure")
    return said


@tool(
    source="sensor",
    answer="{name}[ in the {room}], {start} to {end}",
    answer_none="Nothing like that was heard.",
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
    heard = footage.heard(room_meant(room, footage), start, end, call.cancelled)
    found = [one for one in heard if (one.name == sound if sound else one.name != "silence")]
    if any(one.name in ("loud", "knock", "ring") for one in found):
        call.notices.append("I tell sounds by their shape alone, not by what made them")
    return found


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


TOOLS = (transcribe_speech, detect_sounds, read_text)
