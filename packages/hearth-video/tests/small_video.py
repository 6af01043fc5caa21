"""A drawn room with coloured people, as pictures and as files, and experts that know the colours: for tests of footage."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Never

import numpy as np
from numpy.typing import NDArray

from hearth.config import Settings, parse_settings
from hearth.errors import MissingExtraError
from hearth.memory.event_memory import EventMemory
from hearth.storage.database import Store
from hearth.storage.trace import moment_text
from hearth.testing import ScriptedExpert
from hearth_video.experts.expert_values import Activity, Box, Face, Frame, Movement, Pixels, Pose, Scene, TrackedBox
from hearth_video.footage.indexing import Experts
from hearth_video.footage.library import Library
from hearth_video.footage.recordings import Kept

WIDTH, HEIGHT = 160, 120
RED, GREEN, BLUE = (220, 30, 30), (30, 200, 30), (30, 30, 220)
START = dt.datetime.fromisoformat("2026-11-19T18:00:00+01:00")


def at(seconds: float) -> dt.datetime:
    """So long after the recordings begin."""
    return START + dt.timedelta(seconds=seconds)


SETTINGS = parse_settings('[owner]\ntime_zone = "Europe/Berlin"\n', Path("hearth.toml"))


@dataclass(frozen=True, slots=True)
class Walk:
    """Somebody of one colour who crosses the room from left to right."""

    colour: tuple[int, int, int]
    start_s: float
    end_s: float

    def left(self, at_s: float) -> int | None:
        if not self.start_s <= at_s < self.end_s:
            return None
        share = (at_s - self.start_s) / (self.end_s - self.start_s)
        return int(5 + share * (WIDTH - 40))


def picture(at_s: float, walks: Sequence[Walk], size: tuple[int, int] = (WIDTH, HEIGHT)) -> Pixels:
    pixels = np.full((HEIGHT, WIDTH, 3), 128, np.uint8)
    for row, walk in enumerate(walks):
        left = walk.left(at_s)
        if left is not None:
            top = 10 + 3 * (row % 3)
            pixels[top : top + 90, left : left + 30] = walk.colour
    if size != (WIDTH, HEIGHT):
        rows = np.arange(size[1]) * HEIGHT // size[1]
        columns = np.arange(size[0]) * WIDTH // size[0]
        pixels = np.ascontiguousarray(pixels[rows][:, columns])
    return pixels


# ── Experts that know the colours ─────────────────────────────────────────────────────────────────────────


def is_of(pixels: Pixels, colour: Sequence[int]) -> NDArray[np.bool_]:
    """Where one of the three colours is."""
    strong = int(np.argmax(colour))
    others = [k for k in range(3) if k != strong]
    return (pixels[:, :, strong] > 150) & (pixels[:, :, others[0]] < 100) & (pixels[:, :, others[1]] < 100)


class Colours:
    """Finds people by their colour; tracks are numbered anew in every reading."""

    card = ScriptedExpert.card

    def __init__(self) -> None:
        self.n_readings = 0

    def look(self, given: Iterable[Frame]) -> Iterator[Scene]:
        first = self.n_readings * 1000
        self.n_readings += 1
        seen: dict[tuple[int, int, int], tuple[int, float]] = {}
        n = 0
        for frame in given:
            people = []
            for colour in (RED, GREEN, BLUE):
                mask = is_of(frame.pixels, colour)
                if mask.sum() < 200:
                    continue
                rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
                track, last_s = seen.get(colour, (-1, -10.0))
                if frame.at_s - last_s > 3:
                    n += 1
                    track = first + n
                seen[colour] = (track, frame.at_s)
                box = Box(float(columns[0]), float(rows[0]), columns[-1] + 1.0, rows[-1] + 1.0, 0.9)
                people.append(TrackedBox(track, box))
            yield Scene(frame, tuple(people))


def vector_of(colour: Sequence[float]) -> NDArray[np.float32]:
    """Far apart for different colours, near for like ones."""
    vector = np.zeros(128, np.float32)
    vector[int(np.argmax(colour))] = 1.0
    return vector


class FaceOfColour:
    card = ScriptedExpert.card

    def look(self, given: tuple[Frame, Box]) -> tuple[Face, ...]:
        frame, box = given
        middle = frame.pixels[frame.pixels.shape[0] // 2, frame.pixels.shape[1] // 2]
        face = Box(box.left, box.top, box.right, box.top + box.height / 6)
        return (Face(face, vector_of(middle), 0.9),)


class Upright:
    card = ScriptedExpert.card

    def look(self, given: tuple[Frame, Box]) -> Pose | None:
        _, box = given
        points = np.zeros((33, 4), np.float32)
        points[:, 0], points[:, 1], points[:, 3] = box.left, np.linspace(box.top, box.bottom, 33), 1.0
        return Pose(points)


class Walking:
    card = ScriptedExpert.card

    def look(self, given: Movement) -> tuple[Activity, ...]:
        return (Activity("walk", given.moments[0].at_s, given.moments[-1].at_s + 0.5, 0.8),)


def experts() -> Experts:
    return Experts(Colours(), FaceOfColour(), Upright(), Walking())


class Absent:
    """An expert whose package is not installed."""

    card = ScriptedExpert.card

    def look(self, given: object) -> Never:
        raise MissingExtraError("finding people", "pip install 'hearth-video[experts]'")


def absent() -> Experts:
    one = Absent()
    return Experts(one, one, one, one)


# ── Homes with recordings ─────────────────────────────────────────────────────────────────────────────────


def drawn(walks: Sequence[Walk], duration_s: float) -> Any:
    """In place of `frames.frames`: pictures of the drawn room, as a file of it would give them."""

    def frames(
        path: Path, start_s: float = 0.0, end_s: float = 1e9, *, frames_per_s: float = 2.0, longest_side: int = 1280
    ) -> Iterator[Frame]:
        for k in range(int(duration_s * frames_per_s)):
            at_s = k / frames_per_s
            if start_s <= at_s < end_s:
                yield Frame(picture(at_s, walks), at_s)

    return frames


def put_recording(
    store: Store,
    path: Path,
    *,
    camera: str = "kitchen",
    room: str = "kitchen",
    start: dt.datetime = START,
    duration_s: float = 180.0,
) -> str:
    """A recording of a file that holds no video: pictures come from `drawn`."""
    path.write_bytes(path.name.encode())
    id = f"{camera}-{start:%Y%m%d-%H%M%S}"
    with store.transaction() as cursor:
        cursor.execute("INSERT OR IGNORE INTO camera (name, room) VALUES (?, ?)", (camera, room))
        cursor.execute(
            "INSERT INTO recording (id, camera, path, n_bytes, digest, start, start_unix_s, duration_s, width, height,"
            " codec, start_from) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 160, 120, 'drawn', 'given')",
            (
                *(id, camera, str(path), path.stat().st_size, id),
                *(moment_text(start), start.timestamp(), duration_s),
            ),
        )
    return id


def library(store: Store, settings: Settings = SETTINGS, seen_by: Experts | None = None) -> Library:
    return Library(store, EventMemory(store), settings, seen_by or experts())


def enroll(store: Store, name: str, colour: tuple[int, int, int]) -> None:
    """Somebody whose face is the colour."""
    with store.transaction() as cursor:
        cursor.execute(
            "INSERT INTO person (name, enrolled_at, consent_by, consent_at) VALUES (?, ?, 'themselves', ?)",
            (name, START.isoformat(), START.isoformat()),
        )
        number = cursor.lastrowid
        cursor.execute(
            "INSERT INTO person_face (person, photo_digest, quality, vector) VALUES (?, ?, 0.9, ?)",
            (number, name, vector_of(colour).astype("<f4").tobytes()),
        )


def all_kept(home: Library) -> tuple[Kept, ...]:
    return home.kept.all()


# ── Files ─────────────────────────────────────────────────────────────────────────────────────────────────


def write_video(
    path: Path,
    walks: Sequence[Walk] = (),
    *,
    duration_s: float = 3.0,
    rate: int = 10,
    size: tuple[int, int] = (WIDTH, HEIGHT),
    codec: str = "mpeg4",
    times: Sequence[float] = (),
    with_sound: bool = False,
    with_pictures: bool = True,
    created: str = "",
) -> Path:
    """A small file with PyAV.

    Args:
        times: Of each picture, for a variable rate; otherwise `rate` a second.
    """
    from fractions import Fraction

    import av

    with av.open(str(path), "w") as container:
        if created:
            container.metadata["creation_time"] = created
        sound = container.add_stream("aac", rate=16000, layout="mono") if with_sound else None
        if with_pictures:
            stream = container.add_stream(codec, rate=rate)
            stream.width, stream.height = size
            stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
            stream.time_base = stream.codec_context.time_base = Fraction(1, 1000)
            if codec == "mpeg4":
                stream.codec_context.options = {"g": "20"}
            for at_s in times or [k / rate for k in range(int(duration_s * rate))]:
                frame = av.VideoFrame.from_ndarray(picture(at_s, walks, size), format="rgb24")
                frame.pts, frame.time_base = round(at_s * 1000), Fraction(1, 1000)
                for packet in stream.encode(frame):
                    container.mux(packet)
            for packet in stream.encode():
                container.mux(packet)
        if sound is not None:
            for k in range(int(duration_s * 16000) // 1024):
                samples = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
                samples.sample_rate, samples.pts = 16000, k * 1024
                for packet in sound.encode(samples):
                    container.mux(packet)
            for packet in sound.encode():
                container.mux(packet)
    return path
