"""Decode sound from video and audio files: 16 000 samples a second, one channel, with the file's own timestamps.

Times are on the clock of the file's pictures (`hearth_video.footage.video_decode`): seconds since its first picture, or
since its first sound where there are no pictures. Sound comes in blocks, in constant memory; after a gap in the file a
new block begins at its own time. Several channels are mixed into one.

Covered: files without sound (nothing comes), sound that begins after the pictures or ends before them, truncated and
damaged files (what can be decoded is given), any rate and number of channels, pipes, playlists and other hostile files
as `hearth_video.footage.video_decode` does.
Not covered: files with several languages (the first sound track is taken); a fault in FFmpeg's decoders that a made-up
file may use.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hearth_video.experts.expert_values import SAMPLES_PER_S, Samples, Sound
from hearth_video.footage.video_decode import FORMATS, opened_file, pictured

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import InputContainer

SOUND_FORMATS = f"{FORMATS},wav,mp3,flac,aac"
BLOCK_S = 10.0
_GAP_S = 0.1
"""Least gap in the timestamps that counts as one; smaller ones are jitter."""
_BACK_S = (1.0, 10.0, math.inf)
"""Distances before the start at which reading begins, because containers seek by pictures."""
_MAX_FAULTS = 2_000


def sounds(path: Path, start_s: float = 0.0, end_s: float = math.inf, *, block_s: float = BLOCK_S) -> Iterator[Sound]:
    """Yield a file's sound between two times, in blocks of at most `block_s`.

    Args:
        start_s, end_s: Half-open.
    Raises:
        NotFound: No such file. MissingExtraError: PyAV is not installed. ToolError: It is no file that can be read.
    """
    with opened_file(path, "video or sound", SOUND_FORMATS) as container:
        if not container.streams.audio:
            return
        stream = container.streams.audio[0]
        if stream.codec_context is None:
            return
        pieces = _pieces(container, stream, start_s)
        yield from _blocks(_within(pieces, start_s, end_s), int(block_s * SAMPLES_PER_S))


def has_sound(path: Path) -> bool:
    """Say whether a file has a track of sound. Raises: As `sounds`."""
    with opened_file(path, "video or sound", SOUND_FORMATS) as container:
        return bool(container.streams.audio)


def sound_between(path: Path, start_s: float, end_s: float) -> Sound:
    """Return a file's sound between two times as one piece, silent where there is none. Raises: As `sounds`."""
    samples = np.zeros(max(0, round((end_s - start_s) * SAMPLES_PER_S)), np.float32)
    n_heard = 0
    for block in sounds(path, start_s, end_s):
        first = max(0, round((block.at_s - start_s) * SAMPLES_PER_S))
        part = block.samples[: len(samples) - first]
        samples[first : first + len(part)] = part
        n_heard = max(n_heard, first + len(part))
    return Sound(samples[:n_heard], start_s)


# ── Decoding ──────────────────────────────────────────────────────────────────────────────────────────────


def _pieces(container: InputContainer, stream: AudioStream, start_s: float) -> Iterator[tuple[float, Samples]]:
    """Yield decoded pieces with their times, the first of them at or before `start_s` where there is one."""
    import av

    video = pictured(container)
    first = video[0] if video else stream
    known = first.start_time if first.start_time is not None else stream.start_time
    base = (first if first.start_time is not None else stream).time_base
    origin_s = float(known * base) if known is not None and base is not None else 0.0
    for back_s in _BACK_S if start_s > _BACK_S[0] else (math.inf,):
        target_s = max(0.0, start_s - back_s)
        if start_s > _BACK_S[0]:
            try:
                container.seek(int((origin_s + target_s) / (stream.time_base or 1)), backward=True, stream=stream)
            except av.error.FFmpegError:
                if target_s:
                    continue
        pieces = _timed(container, stream, origin_s)
        earliest = next(pieces, None)
        if earliest is None:
            return
        if earliest[0] <= start_s or not target_s:
            yield from itertools.chain([earliest], pieces)
            return


def _timed(container: InputContainer, stream: AudioStream, origin_s: float) -> Iterator[tuple[float, Samples]]:
    import av

    resampler = av.AudioResampler(format="flt", layout="mono", rate=SAMPLES_PER_S)
    next_s: float | None = None
    for frame in _decoded(container, stream):
        at_s = frame.time - origin_s if frame.time is not None else next_s
        at_s = 0.0 if at_s is None else at_s
        if next_s is None or abs(at_s - next_s) > _GAP_S:
            if next_s is not None:
                resampler = av.AudioResampler(format="flt", layout="mono", rate=SAMPLES_PER_S)
                if at_s < next_s:  # a clock that goes back within the file
                    at_s = next_s
            next_s = at_s
        try:
            parts = resampler.resample(frame)
        except (av.error.FFmpegError, ValueError):  # rate or channels change within the file
            resampler = av.AudioResampler(format="flt", layout="mono", rate=SAMPLES_PER_S)
            parts = resampler.resample(frame)
        for part in parts:
            samples = part.to_ndarray().reshape(-1).astype(np.float32)
            yield next_s, samples
            next_s += len(samples) / SAMPLES_PER_S


def _decoded(container: InputContainer, stream: AudioStream) -> Iterator[Any]:
    """Yield every piece from the container's position on; damaged packets are left out."""
    import av

    n_faults = 0
    packets = container.demux(stream)
    while n_faults < _MAX_FAULTS:
        try:
            packet = next(packets)
        except (StopIteration, av.error.FFmpegError):
            return
        try:
            frames = packet.decode()
        except (av.error.FFmpegError, MemoryError, ValueError):
            n_faults += 1
            continue
        for frame in frames:
            if frame.samples and not frame.is_corrupt:
                n_faults = 0
                yield frame


def _within(pieces: Iterator[tuple[float, Samples]], start_s: float, end_s: float) -> Iterator[tuple[float, Samples]]:
    for at_s, samples in pieces:
        if at_s >= end_s:
            return
        first = max(0, round((start_s - at_s) * SAMPLES_PER_S))
        last = len(samples) if end_s == math.inf else round((end_s - at_s) * SAMPLES_PER_S)
        part = samples[first : max(first, last)]
        if len(part):
            yield at_s + first / SAMPLES_PER_S, part


def _blocks(pieces: Iterator[tuple[float, Samples]], n_most: int) -> Iterator[Sound]:
    held: list[Samples] = []
    begins_s, n_held = 0.0, 0
    for at_s, samples in pieces:
        rest = samples
        if held and abs(at_s - (begins_s + n_held / SAMPLES_PER_S)) > _GAP_S:
            yield Sound(np.concatenate(held), begins_s)
            held, n_held = [], 0
        while len(rest):
            if not held:
                begins_s = at_s + (len(samples) - len(rest)) / SAMPLES_PER_S
            part, rest = rest[: n_most - n_held], rest[n_most - n_held :]
            held.append(part)
            n_held += len(part)
            if n_held >= n_most:
                yield Sound(np.concatenate(held), begins_s)
                held, n_held = [], 0
    if held:
        yield Sound(np.concatenate(held), begins_s)
