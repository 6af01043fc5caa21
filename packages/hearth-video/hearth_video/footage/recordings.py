"""Manage recordings by camera and time; the files stay where they are.

A recording is identified by its content (size, first and last megabyte), so that the same file added twice is one, and
a file that was moved is recognised when it is added from its new place. Its start is given by the owner, else by its
name ("20261119_180000.mp4"), else by the file itself, and is stored with its time zone; its end is counted from there
in real seconds, so that a clock change within it shifts nothing.

Covered: files that are no video (each is refused with its reason, the rest is added), a time that a clock shows twice
or never, recordings of one camera that overlap (both are kept, and the owner is told), files moved, changed or gone.
Not covered: two files that differ only between their first and last megabyte.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import math
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hearth.errors import Conflict, NotFound, RequestError, ToolError
from hearth.protocols import Recording
from hearth.storage.database import Store
from hearth.storage.trace import moment_text, parse_moment
from hearth_video.footage.video_decode import probe

CHUNK_S = 60.0
"""Length of the chunks in which recordings are indexed and committed."""
_DIGESTED_BYTES = 1 << 20
_MOST_NAME = 60
_NAMED = re.compile(
    r"(?<!\d)(20\d\d)[-_.]?([01]\d)[-_.]?([0-3]\d)[T_ .-]{0,3}"
    r"([0-2]\d)[-_.:h]?([0-5]\d)(?:[-_.:m]?([0-5]\d))?(Z?)(?!\d)"
)

StartFrom = Literal["given", "name", "file"]


@dataclass(frozen=True, slots=True)
class Kept:
    """A recording with its place and how much of it was indexed."""

    number: int
    id: str
    camera: str
    room: str
    path: Path
    n_bytes: int
    start: dt.datetime
    duration_s: float
    width: int
    height: int
    codec: str
    start_from: StartFrom
    fault: str
    """Reason why it could not be read at the last attempt; empty if it could."""
    n_done: int
    """Number of chunks that were indexed."""

    @property
    def end(self) -> dt.datetime:
        return at(self.start, self.duration_s)

    @property
    def n_chunks(self) -> int:
        return max(1, math.ceil(self.duration_s / CHUNK_S - 1e-6))

    @property
    def is_indexed(self) -> bool:
        return self.n_done >= self.n_chunks

    def as_recording(self) -> Recording:
        return Recording(self.id, self.camera, self.room, self.start, self.end, self.is_indexed)

    def offset_s(self, moment: dt.datetime) -> float:
        """Return where a moment lies in the recording, in seconds from its start; may be outside."""
        return moment.timestamp() - self.start.timestamp()

    def chunks_between(self, start: dt.datetime, end: dt.datetime) -> range:
        """Return the chunks that a time touches; one at least."""
        first = min(self.n_chunks - 1, math.floor(max(0.0, self.offset_s(start)) / CHUNK_S))
        last = min(self.n_chunks, math.ceil(max(0.0, self.offset_s(end)) / CHUNK_S))
        return range(first, max(last, first + 1))

    def checked_path(self) -> Path:
        """Return the recording's file. Raises: NotFound: It is gone. ToolError: It is another one now."""
        try:
            n_bytes = self.path.stat().st_size
        except OSError as error:
            raise NotFound(
                f"the file {str(self.path)!r} of recording {self.id!r} cannot be read ({error.strerror}); put it back, "
                f"or add it from where it lies now: hearth video add FILE --camera {self.camera!r}"
            ) from None
        if n_bytes != self.n_bytes:
            raise ToolError(
                f"the file {str(self.path)!r} has {n_bytes} bytes, but had {self.n_bytes} when it was added as "
                f"{self.id!r}; it was changed since: forget that recording and add the file again"
            )
        return self.path


@dataclass(frozen=True, slots=True)
class Added:
    """The outcome of adding one file."""

    recording: Kept
    is_new: bool
    notes: tuple[str, ...] = ()
    """Notes for the owner: where the start was read from, what it overlaps with, that the file was moved."""


class Recordings:
    """The recordings of a home."""

    def __init__(self, store: Store, zone: dt.tzinfo) -> None:
        self._store = store
        self._zone = zone

    # ── Adding ────────────────────────────────────────────────────────────────────────────────────────────

    def add(self, path: Path, camera: str, room: str = "", start: dt.datetime | None = None) -> Added:
        """Add a file; it stays where it is.

        Args:
            room: Room of the camera, for all its recordings; empty: unchanged, or the camera's name.
            start: When the recording began, with time zone; None: as the file's name or the file itself says.
        Raises:
            NotFound: No such file. ToolError: No video that can be read, or nothing says when it began; Conflict: it
                is known as another camera's. RequestError: A camera's name that is none. MissingExtraError.
        """
        camera, room = _named(camera, "camera"), _named(room, "room") if room.strip() else ""
        path = path.expanduser().absolute()
        n_bytes, digest = _digest(path)
        known = self._kept("WHERE r.digest = ?", (digest,))
        if known:
            return self._known_already(known[0], path, camera, room, start)
        found = probe(path)
        start_from: StartFrom = "given"
        notes = []
        if start is None:
            start, start_from = self._start_of(path, found.created)
            which = "the file's name" if start_from == "name" else "what the file says of itself"
            notes.append(f"its start, {start:%Y-%m-%d %H:%M:%S %Z}, is read from {which}; --start says another")
        end = at(start, found.duration_s)
        for other in self.between(None, start, end):
            if other.camera.casefold() == camera.casefold():
                notes.append(f"it overlaps with {other.id!r} of the same camera: one of the two clocks may be wrong")
        with self._store.transaction() as cursor:
            notes += _with_camera(cursor, camera, room)
            id = _free_id(cursor, camera, start)
            cursor.execute(
                "INSERT INTO recording (id, camera, path, n_bytes, digest, start, start_unix_s, duration_s, width,"
                " height, codec, start_from) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(id, camera, str(path), n_bytes, digest, moment_text(start), start.timestamp()),
                    *(found.duration_s, found.width, found.height, found.codec, start_from),
                ),
            )
        return Added(self.one(id), True, tuple(notes))

    def began(self, path: Path) -> dt.datetime | None:
        """Return when a file says that it was recorded, by its name or in itself; None if it does not. Raises: As
        `add`."""
        path = path.expanduser().absolute()
        known = self._kept("WHERE r.digest = ?", (_digest(path)[1],))
        named = start_in_name(path.stem, self._zone)
        return known[0].start if known else named if named is not None else probe(path).created

    def _known_already(self, known: Kept, path: Path, camera: str, room: str, start: dt.datetime | None) -> Added:
        if known.camera.casefold() != camera.casefold():
            raise Conflict(
                f"{str(path)!r} is known already as {known.id!r} of the camera {known.camera!r}; "
                f"forget that first: hearth video forget {known.id}"
            )
        notes = []
        if start is not None and abs(start.timestamp() - known.start.timestamp()) >= 1:
            raise Conflict(
                f"{str(path)!r} is known already as {known.id!r}, which began at {known.start:%Y-%m-%d %H:%M:%S}; to "
                f"change that, forget it first: hearth video forget {known.id}"
            )
        with self._store.transaction() as cursor:
            notes += _with_camera(cursor, camera, room)
            if path != known.path:
                notes.append(f"it is found at its new place now; before it was {str(known.path)!r}")
            cursor.execute("UPDATE recording SET path = ?, fault = '' WHERE number = ?", (str(path), known.number))
        return Added(self.one(known.id), False, tuple(notes))

    def _start_of(self, path: Path, created: dt.datetime | None) -> tuple[dt.datetime, StartFrom]:
        named = start_in_name(path.stem, self._zone)
        if named is not None:
            return named, "name"
        if created is not None:
            return created.astimezone(self._zone), "file"
        raise ToolError(
            f"neither the name of {str(path)!r} nor the file itself says when it was recorded; "
            'say it: --start "2026-11-19 18:00"'
        )

    # ── Finding ───────────────────────────────────────────────────────────────────────────────────────────

    def all(self) -> tuple[Kept, ...]:
        """Return every recording, in order of time."""
        return self._kept("", ())

    def one(self, id: str) -> Kept:
        """Return a recording by id. Raises: NotFound: No such recording."""
        found = self._kept("WHERE r.id = ?", (id,))
        if not found:
            raise NotFound(f"no recording {id!r}; `hearth video list` shows the ones there are")
        return found[0]

    def numbered(self, numbers: Sequence[int]) -> dict[int, Kept]:
        """Return recordings by number; those that are gone are left out."""
        marks = ",".join("?" * len(numbers))
        return {kept.number: kept for kept in self._kept(f"WHERE r.number IN ({marks})", tuple(numbers))}

    def between(self, room: str | None, start: dt.datetime | None, end: dt.datetime | None) -> tuple[Kept, ...]:
        """Return recordings of a room (None: of all) that overlap a time, in order. Raises: NotFound: No camera has
        that room."""
        conditions, values = ["1"], list[object]()
        if room:
            conditions.append("c.room = ? COLLATE NOCASE")
            values.append(self.room(room))
        if end is not None:
            conditions.append("r.start_unix_s < ?")
            values.append(end.timestamp())
        if start is not None:
            conditions.append("r.start_unix_s + r.duration_s > ?")
            values.append(start.timestamp())
        return self._kept(f"WHERE {' AND '.join(conditions)}", tuple(values))

    def rooms(self) -> tuple[str, ...]:
        """Return the rooms that have a camera."""
        rows = self._store.query("SELECT DISTINCT room COLLATE NOCASE AS room FROM camera ORDER BY 1")
        return tuple(row["room"] for row in rows)

    def room(self, said: str) -> str:
        """Find a room by name, ignoring case and a leading "the"; a camera's name also stands for its room.

        Raises:
            NotFound: No camera has it; the message names the rooms with one.
        """
        wanted = re.sub(r"^(the|my|our)\s+", "", " ".join(said.casefold().replace("_", " ").split()))
        for row in self._store.query("SELECT name, room FROM camera ORDER BY name"):
            if wanted in (row["room"].casefold().replace("_", " "), row["name"].casefold().replace("_", " ")):
                return str(row["room"])
        rooms = self.rooms()
        known = f"rooms with a camera: {', '.join(rooms)}" if rooms else "there is none yet: `hearth video add`"
        raise NotFound(f"no camera is in {said!r}; {known}")

    def _kept(self, where: str, values: tuple[object, ...]) -> tuple[Kept, ...]:
        rows = self._store.query(
            "SELECT r.*, c.room, (SELECT count(*) FROM recording_chunk k WHERE k.recording = r.number) AS n_done"  # noqa: S608 - conditions of this module
            f" FROM recording r JOIN camera c ON c.name = r.camera {where} ORDER BY r.start_unix_s, r.number",
            values,
        )
        return tuple(_kept(row) for row in rows)


def at(start: dt.datetime, seconds: float) -> dt.datetime:
    """Return the moment `seconds` real seconds later, in the same time zone, also over a clock change."""
    zone = start.tzinfo or dt.UTC
    return (start.astimezone(dt.UTC) + dt.timedelta(seconds=seconds)).astimezone(zone)


def _kept(row: sqlite3.Row) -> Kept:
    return Kept(
        *(row["number"], row["id"], row["camera"], row["room"], Path(row["path"]), row["n_bytes"]),
        *(parse_moment(row["start"]), row["duration_s"], row["width"], row["height"], row["codec"]),
        *(row["start_from"], row["fault"], row["n_done"]),
    )


def _with_camera(cursor: sqlite3.Cursor, camera: str, room: str) -> list[str]:
    rows = cursor.execute("SELECT room FROM camera WHERE name = ?", (camera,)).fetchall()
    if not rows:
        cursor.execute("INSERT INTO camera (name, room) VALUES (?, ?)", (camera, room or camera))
    elif room and rows[0]["room"] != room:
        cursor.execute("UPDATE camera SET room = ? WHERE name = ?", (room, camera))
        return [f"the camera {camera!r} is in {room!r} now; before it was in {rows[0]['room']!r}"]
    return []


def _free_id(cursor: sqlite3.Cursor, camera: str, start: dt.datetime) -> str:
    stem = f"{re.sub(r'[^a-z0-9]+', '-', camera.casefold()).strip('-') or 'camera'}-{start:%Y%m%d-%H%M%S}"
    id, n = stem, 1
    while cursor.execute("SELECT 1 FROM recording WHERE id = ?", (id,)).fetchone():
        n += 1
        id = f"{stem}-{n}"
    return id


def _named(text: str, what: str) -> str:
    name = " ".join(text.split())
    if not name or len(name) > _MOST_NAME or not name.isprintable():
        raise RequestError(f"{text[:80]!r} is no name of a {what}; write one of up to {_MOST_NAME} letters: kitchen")
    return name


def _digest(path: Path) -> tuple[int, str]:
    """Return size and SHA-256 over size, first and last megabyte. Raises: NotFound, ToolError."""
    try:
        if not path.is_file():
            what = "is no plain file" if path.exists() else "is not there"
            raise NotFound(f"{str(path)!r} {what}; expected a video file")
        n_bytes = path.stat().st_size
        digest = hashlib.sha256(str(n_bytes).encode())
        with path.open("rb") as file:
            digest.update(file.read(_DIGESTED_BYTES))
            if n_bytes > _DIGESTED_BYTES:
                file.seek(max(_DIGESTED_BYTES, n_bytes - _DIGESTED_BYTES))
                digest.update(file.read(_DIGESTED_BYTES))
    except OSError as error:
        raise ToolError(f"cannot read {str(path)!r}: {error.strerror}; check its permissions") from None
    return n_bytes, digest.hexdigest()


# ── When it was recorded ──────────────────────────────────────────────────────────────────────────────────


def start_in_name(stem: str, zone: dt.tzinfo) -> dt.datetime | None:
    """Return the time in a file's name, as cameras and telephones write it; of a time that a clock shows twice, the
    first."""
    match = _NAMED.search(stem)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    try:
        said = dt.datetime(year, month, day, hour, minute, second, tzinfo=dt.UTC if match[7] else zone)
    except ValueError:
        return None
    return said.astimezone(dt.UTC).astimezone(zone)


def start_said(text: str, zone: dt.tzinfo) -> dt.datetime:
    """Read `--start`: a date and time in the owner's zone, or with its own offset.

    Raises:
        RequestError: No time, or one that the owner's clocks show twice or never; the message says what to write.
    """
    try:
        said = dt.datetime.fromisoformat(text.strip())
    except ValueError:
        said = None
    if said is None or len(text.strip()) <= 10:
        raise RequestError(f"{text!r} is no date and time; write it as in '2026-11-19 18:00'") from None
    if said.tzinfo is not None:
        return said.astimezone(zone)
    first, second = said.replace(tzinfo=zone, fold=0), said.replace(tzinfo=zone, fold=1)
    if first.utcoffset() == second.utcoffset():
        return first
    if first.astimezone(dt.UTC).astimezone(zone).replace(tzinfo=None) != said:
        raise RequestError(f"the clocks of {zone} go forward over {text!r}: there is no such time; write another")
    one, other = (f"{said:%Y-%m-%d %H:%M}{_offset(moment)}" for moment in (first, second))
    raise RequestError(f"the clocks of {zone} show {text!r} twice; write which: '{one}' or '{other}'")


def _offset(moment: dt.datetime) -> str:
    return f"{moment:%z}"[:3] + ":" + f"{moment:%z}"[3:5]
