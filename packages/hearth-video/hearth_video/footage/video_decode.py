"""Decode pictures from video files at a chosen rate, between two times, with the file's own timestamps, in constant
memory.

Times are seconds since the first picture of the file by its timestamps, not counted frames: a variable rate, lost
pictures and cut files keep their true times. Pictures come upright (the display matrix is applied), with square pixels,
and no larger than asked for. A picture has the same time wherever reading begins, so that the results of two readings
can be put together.

Covered: truncated and damaged files (what can be decoded is given), sound without pictures, files without length or
timestamps, pictures too large, pipes and devices, playlists and other files that make FFmpeg open further files or the
network (only containers of a short list are read, only from the file itself).
Not covered: a fault in FFmpeg's decoders that a made-up file may use: they run in this process.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import math
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hearth.errors import MissingExtraError, NotFound, ToolError
from hearth_video.experts.expert_values import Frame, Pixels
from hearth_video.installed import INSTALL_COMMAND

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream


FORMATS = "mov,mp4,matroska,webm,avi,mpegts,mpeg,flv,asf,ogg,3gp"
"""Container formats that are read; none of them names other files."""
MAX_PIXELS = 40_000_000
"""Largest number of pixels in one picture: somewhat more than 8K."""
MAX_DURATION_S = 30 * 86_400.0
_OPEN_S = 30.0
_MAX_FAULTS = 2_000
"""Number of consecutive undecodable packets that end the reading."""
_SEEK_FROM_S = 2.0
_STEPS_BACK_S = (0.0, 4.0, 30.0, math.inf)
"""Steps back before the target, since some containers seek to somewhat after it."""
_TAIL_S = 20.0
_LEAST_SPARED = 10.0
"""Pictures that no other is made from are skipped when there are this many times more than asked for; with fewer, the
times of the remaining ones would be too uneven."""


@dataclass(frozen=True, slots=True)
class Probe:
    """The facts about a video file, from its header and from reading it."""

    duration_s: float
    """Seconds from the first picture to the end of the last one."""
    width: int
    """Width of the upright picture, in square pixels."""
    height: int
    codec: str
    container: str
    created: dt.datetime | None
    """Time of creation that the file states, if it does."""


def probe(path: Path) -> Probe:
    """Read a file's beginning and end.

    Raises:
        NotFound: No such file. MissingExtraError: PyAV is not installed.
        ToolError: It is no video that can be read; the message says why.
    """
    with _opened(path) as (container, stream):
        first = next(_decoded(container, stream, path), None)
        if first is None:
            raise ToolError(f"{str(path)!r} holds no picture that can be decoded; it may be cut off or damaged")
        width, height = _size(stream, first)
        origin = _origin(stream, first)
        created = _created(container)
        name, codec = container.format.name, stream.codec_context.name
    duration_s = _last_moment(path) - origin
    if not 0 < duration_s <= MAX_DURATION_S:
        raise ToolError(
            f"{str(path)!r} says that it lasts {duration_s:.1f} s; expected more than 0 s and at most 30 days; "
            "its timestamps are damaged, so write it anew with a video program"
        )
    return Probe(duration_s, width, height, codec, name.partition(",")[0], created)


def frames(
    path: Path,
    start_s: float = 0.0,
    end_s: float = math.inf,
    *,
    frames_per_s: float = 2.0,
    longest_side: int = 1280,
) -> Iterator[Frame]:
    """Yield pictures of a file in order of time: the first one of each stretch of 1 / `frames_per_s`.

    Args:
        start_s, end_s: Half-open, on the file's own clock.
        longest_side: Larger pictures are scaled down to it.
    Raises:
        As `probe`. What cannot be decoded is left out.
    """
    step_s = 1.0 / frames_per_s
    with _opened(path) as (container, stream):
        rate = float(stream.average_rate or 0)
        if rate >= _LEAST_SPARED * frames_per_s:
            stream.codec_context.skip_frame = "NONREF"
        size: tuple[int, int] | None = None
        previous_slot = -1
        for picture, at_s in _from(container, stream, path, start_s):
            slot = math.floor(at_s / step_s + 1e-6)
            if at_s >= end_s:
                return
            if at_s < start_s or slot <= previous_slot:
                previous_slot = max(slot, previous_slot)
                continue
            previous_slot = slot
            size = size or _size(stream, picture, longest_side)
            yield Frame(_upright(picture, size), at_s)


# ── Opening ───────────────────────────────────────────────────────────────────────────────────────────────


def _av() -> Any:
    try:
        import av
    except ImportError:
        raise MissingExtraError("reading video", INSTALL_COMMAND) from None
    return av


@contextlib.contextmanager
def opened_file(path: Path, what: str = "video", formats: str = FORMATS) -> Iterator[InputContainer]:
    """Open a file's container, which reads from the file alone.

    Raises:
        NotFound: No such file. MissingExtraError: PyAV is not installed.
        ToolError: It is no plain file of one of the formats; `what` was expected.
    """
    av = _av()
    try:
        status = path.stat()
    except OSError as error:
        raise NotFound(f"cannot read the {what} {str(path)!r}: {error.strerror}") from None
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"{str(path)!r} is no plain file; expected a {what} file")
    if not status.st_size:
        raise ToolError(f"{str(path)!r} is empty; expected a {what} file")
    try:
        container = av.open(
            str(path.absolute()),
            options={"protocol_whitelist": "file", "format_whitelist": formats, "max_pixels": str(MAX_PIXELS)},
            timeout=_OPEN_S,
        )
    except (av.error.FFmpegError, OSError, ValueError) as error:
        raise ToolError(
            f"{str(path)!r} is no {what} that can be read ({_said(error)}); expected a whole file of one of these: "
            f"{formats.replace(',', ', ')}"
        ) from None
    with contextlib.closing(container):
        yield container


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[tuple[InputContainer, VideoStream]]:
    with opened_file(path) as container:
        video = pictured(container)
        if not video:
            held = "sound alone" if container.streams.audio else "no pictures"
            raise ToolError(f"{str(path)!r} holds {held}; expected a video")
        stream = video[0]
        if stream.codec_context is None:
            raise ToolError(f"{str(path)!r}: its kind of video is not known to FFmpeg; convert it to H.264")
        width, height = stream.codec_context.width, stream.codec_context.height
        if not 0 < width * height <= MAX_PIXELS:  # FFmpeg reports 0 for what is more than it may decode
            raise ToolError(
                f"the pictures of {str(path)!r} have no size that can be decoded ({width} × {height}); expected at "
                f"most {MAX_PIXELS} pixels"
            )
        stream.codec_context.options = {"max_pixels": str(MAX_PIXELS)}
        yield container, stream


def pictured(container: InputContainer) -> list[VideoStream]:
    """Return the streams of moving pictures."""
    return [stream for stream in container.streams.video if not _is_cover(stream)]


def _is_cover(stream: VideoStream) -> bool:
    """Say whether a stream is the cover picture of a piece of music."""
    return "attached_pic" in str(getattr(stream, "disposition", "")).lower()


def _said(error: Exception) -> str:
    return str(getattr(error, "strerror", "") or error).split("\n")[0][:200]


def _created(container: InputContainer) -> dt.datetime | None:
    text = container.metadata.get("com.apple.quicktime.creationdate") or container.metadata.get("creation_time", "")
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    return moment if moment.year > 1971 else None  # a clock that was never set


# ── Decoding ──────────────────────────────────────────────────────────────────────────────────────────────


def _decoded(container: InputContainer, stream: VideoStream, path: Path) -> Iterator[VideoFrame]:
    """Yield every picture from the container's position on; damaged packets are left out. Raises: ToolError."""
    av = _av()
    n_faults = 0
    packets = container.demux(stream)
    while n_faults < _MAX_FAULTS:
        try:
            packet = next(packets)
        except StopIteration:
            return
        except av.error.FFmpegError:  # cut off, or no container any more
            return
        try:
            pictures = packet.decode()
        except av.error.FFmpegError:
            n_faults += 1
            continue
        except (MemoryError, ValueError) as error:
            raise ToolError(f"{str(path)!r} cannot be decoded: {_said(error)}") from None
        for picture in pictures:
            if picture.is_corrupt or picture.width * picture.height > MAX_PIXELS:
                n_faults += 1
                continue
            n_faults = 0
            yield picture


def _from(
    container: InputContainer, stream: VideoStream, path: Path, start_s: float
) -> Iterator[tuple[VideoFrame, float]]:
    """Yield pictures with their times, the first of them at or before `start_s` where there is one."""
    av = _av()
    origin = None if stream.start_time is None else float(stream.start_time * (stream.time_base or 0))
    for back_s in _STEPS_BACK_S if start_s > _SEEK_FROM_S and origin is not None else (math.inf,):
        target_s = max(0.0, start_s - back_s)
        assert stream.time_base is not None or target_s == 0
        if start_s > _SEEK_FROM_S:
            try:
                ticks = int(((origin or 0.0) + target_s) / (stream.time_base or 1))
                container.seek(ticks, backward=True, stream=stream)
            except av.error.FFmpegError:
                if target_s:
                    continue  # the container has no index: the next target is nearer its beginning
        pictures = _timed(container, stream, path, origin)
        first = next(pictures, None)
        if first is None:
            return
        if first[1] <= start_s or not target_s:
            yield first
            yield from pictures
            return


def _timed(
    container: InputContainer, stream: VideoStream, path: Path, origin: float | None
) -> Iterator[tuple[VideoFrame, float]]:
    """Yield pictures with the seconds since the file's first; one without a time comes one picture after the last."""
    last_s, step_s = None, 1.0 / float(stream.average_rate or 25)
    for picture in _decoded(container, stream, path):
        if picture.time is not None:
            origin = picture.time if origin is None else origin
            at_s = picture.time - origin
        else:
            at_s = 0.0 if last_s is None else last_s + step_s
        if last_s is not None and at_s <= last_s:  # a clock that goes back within the file
            continue
        last_s = at_s
        yield picture, max(0.0, at_s)


def _origin(stream: VideoStream, first: VideoFrame) -> float:
    if stream.start_time is not None and stream.time_base is not None:
        return float(stream.start_time * stream.time_base)
    return float(first.time or 0.0)


def _last_moment(path: Path) -> float:
    """Return when the last picture of a file ends, by the timestamps of its packets."""
    av = _av()
    with _opened(path) as (container, stream):
        base = float(stream.time_base or 0)
        hint = None
        if stream.duration is not None:
            hint = stream.duration + (stream.start_time or 0)
        elif container.duration is not None and base:
            hint = int(container.duration / av.time_base / base) + (stream.start_time or 0)
        last = None
        if hint is not None and hint * base > 2 * _TAIL_S:
            with contextlib.suppress(av.error.FFmpegError):
                container.seek(max(0, hint - int(_TAIL_S / base)), backward=True, stream=stream)
                last = _end_of(container, stream)
    if last is not None:
        return last * base
    with _opened(path) as (container, stream):
        return (_end_of(container, stream) or 0.0) * float(stream.time_base or 0)


def _end_of(container: InputContainer, stream: VideoStream) -> float | None:
    """Return the end of the last picture from the container's position on, in the stream's ticks."""
    av = _av()
    last: int | None = None
    length = 0
    with contextlib.suppress(av.error.FFmpegError):
        for packet in container.demux(stream):
            at = packet.pts if packet.pts is not None else packet.dts
            if at is None or not packet.size or (last is not None and at <= last):
                continue
            length = packet.duration or (at - last if last is not None else 0)
            last = at
    if last is None:
        return None
    if not length and stream.average_rate and stream.time_base:
        length = int(1 / (stream.average_rate * stream.time_base))
    return float(last + length)


# ── Pictures ──────────────────────────────────────────────────────────────────────────────────────────────


def _size(stream: VideoStream, picture: VideoFrame, longest_side: int = 1 << 16) -> tuple[int, int]:
    """Return width and height of the output, upright, in square pixels, at most `longest_side`."""
    aspect = float(stream.sample_aspect_ratio or 1)
    width, height = picture.width * (aspect if 0.2 < aspect < 5 else 1.0), float(picture.height)
    if _turns(picture) % 2:
        width, height = height, width
    scale = min(1.0, longest_side / max(width, height))
    return max(2, round(width * scale)), max(2, round(height * scale))


def _turns(picture: VideoFrame) -> int:
    """Return the number of quarter turns to the left that make the picture upright."""
    return round(float(picture.rotation or 0) / 90) % 4


def _upright(picture: VideoFrame, size: tuple[int, int]) -> Pixels:
    turns = _turns(picture)
    width, height = size if turns % 2 == 0 else size[::-1]
    read = picture.reformat(width=width, height=height, format="rgb24", interpolation="BILINEAR").to_ndarray()
    pixels = np.asarray(read, dtype=np.uint8)
    return np.ascontiguousarray(np.rot90(pixels, turns)) if turns else pixels
