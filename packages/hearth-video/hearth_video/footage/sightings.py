"""Sightings in the home's database, with boxes, poses, faces, small pictures and activities.

A sighting is one person in view of one camera for as long as they could be followed. Places are kept as shares of the
picture's width and height, so that they fit it at any size. Each sighting is also an event of memory (`sighting-N`, of
the source `sensor`, readable only by this device), rewritten in the same transaction when more is known of it.

A sighting's id is `s12`; cut to a time, `s12.15000-30500` in milliseconds of its recording.

Names refer to the people enrolled now: a sighting named by an earlier set of people is named anew when it is next asked
about. If a face is equally near to two enrolled people, neither is named. Clothes of the same day help where a face is
undecided.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import sqlite3
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hearth.errors import NotFound
from hearth.memory.event_memory import EventMemory, NewEvent
from hearth.memory.search.memory_index import Row
from hearth.storage.database import Store
from hearth.types import Label
from hearth_video.experts.expert_values import Box, Face, Moment, Movement, Pose, Vector
from hearth_video.experts.identity import Known, Verdict, alike, verdict
from hearth_video.footage.people import People
from hearth_video.footage.recordings import Kept, Recordings, at

KIND = "sighting"
"""Kind of the events that sightings are."""
SEEN = Label(frozenset({"sensor"}), frozenset())
"""Label of everything in footage: from a sensor, readable only by this device."""
_ID = re.compile(r"s(\d{1,18})(?:\.(\d{1,12})-(\d{1,12}))?")
_POSE_VALUES = 33 * 4
_MERGED_GAP_S = 2.0
_SHORT_S = 45.0
_VERBS: Mapping[str, str] = {
    "walk": "walked through",
    "stand": "stood in",
    "sit": "sat in",
    "wave": "waved in",
    "reach": "reached for something in",
    "lie": "lay in",
    "fall": "fell in",
    "cook": "cooked in",
    "lay the table": "laid the table in",
    "eat": "ate in",
    "clear the table": "cleared the table in",
    "wash up": "washed up in",
    "clean": "cleaned",
    "work": "worked in",
}


@dataclass(frozen=True, slots=True)
class Part:
    """A sighting's row, and which stretch of it is meant."""

    number: int
    recording: Kept
    start_s: float
    end_s: float
    confidence: float
    name: str
    name_confidence: float
    is_cut: bool

    @property
    def id(self) -> str:
        cut = f".{round(self.start_s * 1000)}-{round(self.end_s * 1000)}" if self.is_cut else ""
        return f"s{self.number}{cut}"

    @property
    def start(self) -> dt.datetime:
        return at(self.recording.start, self.start_s)

    @property
    def end(self) -> dt.datetime:
        return at(self.recording.start, self.end_s)


@dataclass(frozen=True, slots=True)
class Stretch:
    """One activity for a while."""

    name: str
    start_s: float
    end_s: float
    score: float


class Sightings:
    """The sightings of a home."""

    def __init__(self, store: Store, memory: EventMemory, recordings: Recordings) -> None:
        self._store = store
        self._memory = memory
        self._recordings = recordings
        self._people = People(store)

    # ── Finding ───────────────────────────────────────────────────────────────────────────────────────────

    def between(self, kept: Kept, start: dt.datetime | None, end: dt.datetime | None) -> list[Part]:
        """Return the sightings of a recording that overlap a time, cut to it, in order."""
        first = 0.0 if start is None else max(0.0, kept.offset_s(start))
        last = kept.duration_s if end is None else min(kept.duration_s + 1, kept.offset_s(end))
        rows = self._store.query(
            "SELECT * FROM sighting WHERE recording = ? AND start_s < ? AND end_s > ? ORDER BY start_s, number",
            (kept.number, last, first),
        )
        return [_part(row, kept, first, last) for row in rows]

    def parts(self, ids: Sequence[str]) -> list[Part]:
        """Return the sightings with these ids, in this order. Raises: NotFound: No such sighting."""
        wanted = [_read_id(id) for id in ids]
        marks = ",".join("?" * len(wanted))
        rows = {
            row["number"]: row
            for row in self._store.query(
                f"SELECT * FROM sighting WHERE number IN ({marks})",  # noqa: S608 - question marks only
                [number for number, _, _ in wanted],
            )
        }
        kept = self._recordings.numbered(sorted({row["recording"] for row in rows.values()}))
        found = []
        for id, (number, first, last) in zip(ids, wanted, strict=True):
            row = rows.get(number)
            if row is None:
                raise NotFound(f"no sighting {id!r}; it was forgotten, or its recording was")
            whole = (row["start_s"], row["end_s"])
            found.append(_part(row, kept[row["recording"]], *(whole if first is None else (first, last or first))))
        return found

    def all(self) -> list[Part]:
        """Return every sighting, in order of recordings and time."""
        return [part for kept in self._recordings.all() for part in self.between(kept, None, None)]

    def moments(self, number: int, start_s: float = 0.0, end_s: float = 1e12) -> list[Moment]:
        """Return a person's positions and poses; places as shares of width and height."""
        rows = self._store.query("SELECT boxes, poses FROM sighting_part WHERE sighting = ? ORDER BY chunk", (number,))
        return [m for row in rows for m in unpacked(row["boxes"], row["poses"]) if start_s <= m.at_s < end_s]

    def stretches(self, part: Part) -> list[Stretch]:
        """Return a person's activities in order, cut to the part; stretches of one activity that touch are one."""
        found: list[Stretch] = []
        for row in self._store.query(
            "SELECT name, start_s, end_s, score FROM sighting_activity WHERE sighting = ? AND start_s < ? AND end_s > ?"
            " ORDER BY start_s",
            (part.number, part.end_s, part.start_s),
        ):
            start_s, end_s = max(row["start_s"], part.start_s), min(row["end_s"], part.end_s)
            last = found[-1] if found else None
            if last is not None and last.name == row["name"] and start_s - last.end_s <= _MERGED_GAP_S:
                length, more = last.end_s - last.start_s, end_s - start_s
                score = (last.score * length + row["score"] * more) / ((length + more) or 1.0)
                found[-1] = Stretch(last.name, last.start_s, max(last.end_s, end_s), score)
            else:
                found.append(Stretch(row["name"], start_s, end_s, row["score"]))
        return found

    # ── Naming ────────────────────────────────────────────────────────────────────────────────────────────

    def named(self, parts: Sequence[Part]) -> list[Part]:
        """Return the parts with the names of the people enrolled now; changed names are written down, in memory,
        too."""
        known = self._people.known()
        by = _digest(known)
        numbers = sorted({part.number for part in parts})
        rows = self._rows(numbers)
        stale = [number for number in numbers if rows[number]["named_by"] != by]
        if stale:
            self._name(stale, known, by)
            rows = self._rows(numbers)
        return [_named(part, rows[part.number]) for part in parts]

    def name_all(self) -> int:
        """Name every sighting by the people who are enrolled now; return how many were examined."""
        known = self._people.known()
        by = _digest(known)
        stale = [row["number"] for row in self._store.query("SELECT number FROM sighting WHERE named_by <> ?", (by,))]
        for first in range(0, len(stale), 200):
            self._name(stale[first : first + 200], known, by)
        return len(stale)

    def _name(self, numbers: Sequence[int], known: Sequence[Known], by: str) -> None:
        with self._store.transaction() as cursor:
            gone: list[int] = []
            rows: list[Row] = []
            for number in numbers:
                if self.name(cursor, number, known, by):
                    old, new = self.write_event(cursor, number)
                    gone, rows = [*gone, *old], [*rows, *new]
        self._memory.follow(gone, rows)

    def name(self, cursor: sqlite3.Cursor, number: int, known: Sequence[Known], by: str) -> bool:
        """Name one sighting, within a transaction of the caller's; return whether its name changed."""
        (row,) = cursor.execute("SELECT * FROM sighting WHERE number = ?", (number,)).fetchall()
        faces = [
            Face(_NOWHERE, np.frombuffer(face["vector"], "<f4"), face["quality"])
            for face in cursor.execute("SELECT vector, quality FROM sighting_face WHERE sighting = ?", (number,))
        ]
        if not faces and row["name"] and any(k.name.casefold() == row["name"].casefold() for k in known):
            found = Verdict(row["name"], row["name_confidence"])  # its faces were dropped by age; the name stays
        else:
            found = verdict(faces, known) if faces and known else Verdict()
            if not found.name and found.possible and row["clothes"] is not None:
                found = verdict(faces, known, _like_today(cursor, row, known))
        cursor.execute(
            "UPDATE sighting SET name = ?, name_confidence = ?, named_by = ? WHERE number = ?",
            (found.name, found.probability if found.name else 0.0, by, number),
        )
        told = cursor.execute("SELECT person FROM event WHERE id = ?", (event_key(number),)).fetchall()
        return bool(found.name != row["name"] or any(event["person"] != found.name for event in told))

    def enrolled(self) -> tuple[tuple[Known, ...], str]:
        """Return the people enrolled now, and a digest that shows whether they have changed."""
        known = self._people.known()
        return known, _digest(known)

    def _rows(self, numbers: Sequence[int]) -> dict[int, sqlite3.Row]:
        marks = ",".join("?" * len(numbers))
        rows = self._store.query(f"SELECT * FROM sighting WHERE number IN ({marks})", numbers)  # noqa: S608 - question marks only
        return {row["number"]: row for row in rows}

    # ── Memory ────────────────────────────────────────────────────────────────────────────────────────────

    def write_event(self, cursor: sqlite3.Cursor, number: int) -> tuple[list[int], list[Row]]:
        """Rewrite a sighting's event, within a transaction of the caller's; return what to hand to
        `EventMemory.follow`."""
        (row,) = cursor.execute("SELECT * FROM sighting WHERE number = ?", (number,)).fetchall()
        (kept,) = self._recordings.numbered([row["recording"]]).values()
        part = _part(row, kept, row["start_s"], row["end_s"])
        event = NewEvent(
            key=event_key(number),
            text=sentence(part, row["name"], self.stretches(part)),
            kind=KIND,
            at=part.start,
            label=SEEN,
            person=row["name"],
            place=kept.room,
            thread=f"video {number}",
        )
        old = cursor.execute("DELETE FROM event WHERE id = ? RETURNING number", (event.key,)).fetchall()
        return [gone["number"] for gone in old], self._memory.write(cursor, [event])


def name_anew(store: Store) -> int:
    """Name all sightings by the people who are enrolled now, in memory, too; return how many were examined.

    A name that nobody has any more leaves no trace in the file.
    """
    memory = EventMemory(store)
    n = Sightings(store, memory, Recordings(store, dt.UTC)).name_all()
    if n:
        memory.erase()
        store.rewrite()
    return n


def event_key(number: int) -> str:
    """Return the id of a sighting's event."""
    return f"sighting-{number}"


def sentence(part: Part, name: str, stretches: Sequence[Stretch]) -> str:
    """Return a sighting in words: "Anna walked through the kitchen", "Somebody was in the hall for 12 minutes: sit,
    stand"."""
    who, room = name or "Somebody", place(part.recording.room)
    length_s = part.end_s - part.start_s
    told = list(dict.fromkeys(stretch.name for stretch in stretches))
    if len(told) == 1 and told[0] in _VERBS:
        lasting = "" if length_s < _SHORT_S else f" for {lasted(length_s)}"
        return f"{who} {_VERBS[told[0]]} {room}{lasting}"
    lasting = f" for {lasted(length_s)}"
    return f"{who} was in {room}{lasting}" + (f": {', '.join(told)}" if told else "")


def place(room: str) -> str:
    """Return a room's name as used in a sentence."""
    return f"the {room}" if re.fullmatch(r"[a-z][a-z -]*", room) else room


def lasted(seconds: float) -> str:
    """Return a length of time in words, as exact as one would say it."""
    if seconds < 90:
        n = max(1, round(seconds))
        return f"{n} second{'' if n == 1 else 's'}"
    minutes = round(seconds / 60)
    return f"{minutes} minutes" if minutes < 120 else f"{seconds / 3600:.1f} hours"


# ── How it is kept ────────────────────────────────────────────────────────────────────────────────────────

_NOWHERE = Box(0, 0, 0, 0)


def packed(moments: Sequence[Moment], width: int, height: int) -> tuple[bytes, bytes]:
    """Compress boxes (seconds, left, top, right, bottom, score) and poses (a place among them, 33 × x, y, z, visible);
    places given in pixels of a picture of this size become shares of it."""
    boxes, poses = [], []
    for k, moment in enumerate(moments):
        box = moment.box
        boxes.append([box.left / width, box.top / height, box.right / width, box.bottom / height, box.score])
        if moment.pose is not None:
            poses.append((k, moment.pose.points / np.array([width, height, width, 1], np.float32)))
    at_s = np.array([moment.at_s for moment in moments], "<f8")
    places = np.array([k for k, _ in poses], "<u2")
    points = np.array([p for _, p in poses], "<f2").reshape(-1, _POSE_VALUES)
    with_boxes = at_s.tobytes() + np.array(boxes, "<f4").tobytes()
    return zlib.compress(with_boxes, 3), zlib.compress(places.tobytes() + points.tobytes(), 3) if poses else b""


def unpacked(boxes: bytes, poses: bytes) -> list[Moment]:
    """Undo `packed`; places are shares of width and height."""
    raw = zlib.decompress(boxes)
    n = len(raw) // (8 + 5 * 4)
    at_s = np.frombuffer(raw[: 8 * n], "<f8")
    rows = np.frombuffer(raw[8 * n :], "<f4").reshape(n, 5).astype(float)
    posed: dict[int, NDArray[np.float32]] = {}
    if poses:
        raw = zlib.decompress(poses)
        m = len(raw) // (2 + 2 * _POSE_VALUES)
        points = np.frombuffer(raw[2 * m :], "<f2").reshape(m, 33, 4).astype(np.float32)
        posed = dict(zip(np.frombuffer(raw[: 2 * m], "<u2").tolist(), points, strict=True))
    return [Moment(float(at_s[k]), Box(*rows[k].tolist()), Pose(posed[k]) if k in posed else None) for k in range(n)]


def scaled(moment: Moment, width: int, height: int) -> Moment:
    """Convert a moment's places from shares of width and height to pixels of a picture of this size."""
    box = moment.box
    placed = Box(box.left * width, box.top * height, box.right * width, box.bottom * height, box.score)
    pose = moment.pose and Pose(moment.pose.points * np.array([width, height, width, 1], np.float32))
    return Moment(moment.at_s, placed, pose)


def movement(moments: Sequence[Moment], kept: Kept, begins: dt.datetime) -> Movement:
    """Build the activity expert's input from moments whose places are shares of width and height."""
    size = (kept.width, kept.height)
    placed = tuple(scaled(moment, *size) for moment in moments)
    return Movement(placed, *size, kept.room, begins.hour + begins.minute / 60)


def _part(row: sqlite3.Row, kept: Kept, first_s: float, last_s: float) -> Part:
    start_s, end_s = max(row["start_s"], first_s), min(row["end_s"], last_s)
    is_cut = start_s > row["start_s"] + 1e-3 or end_s < row["end_s"] - 1e-3
    return Part(
        *(row["number"], kept, start_s, max(start_s, end_s), row["confidence"]),
        *(row["name"], row["name_confidence"], is_cut),
    )


def _named(part: Part, row: sqlite3.Row) -> Part:
    return Part(
        *(part.number, part.recording, part.start_s, part.end_s, part.confidence),
        *(row["name"], row["name_confidence"], part.is_cut),
    )


def _read_id(id: str) -> tuple[int, float | None, float | None]:
    match = _ID.fullmatch(id.strip())
    if match is None:
        raise NotFound(f"{id[:60]!r} is no sighting; expected an id such as 's12', as one is given for who was seen")
    if match[2] is None:
        return int(match[1]), None, None
    return int(match[1]), int(match[2]) / 1000, int(match[3]) / 1000


def _digest(known: Sequence[Known]) -> str:
    digest = hashlib.sha256()
    for person in known:
        digest.update(person.name.encode() + b"\0" + person.vectors.tobytes())
    return digest.hexdigest()[:16]


def _like_today(cursor: sqlite3.Cursor, row: sqlite3.Row, known: Sequence[Known]) -> dict[str, float]:
    """Return by name how similar the clothes are to those in which that person was seen and named within twelve
    hours."""
    (here,) = cursor.execute("SELECT start_unix_s FROM recording WHERE number = ?", (row["recording"],)).fetchall()
    at_unix_s = here["start_unix_s"] + row["start_s"]
    mine: Vector = np.frombuffer(row["clothes"], "<f4")
    found: dict[str, float] = {}
    for other in cursor.execute(
        "SELECT s.name, s.clothes FROM sighting s JOIN recording r ON r.number = s.recording WHERE s.name <> ''"
        " AND s.clothes IS NOT NULL AND s.number <> ? AND r.start_unix_s + s.start_s BETWEEN ? AND ?",
        (row["number"], at_unix_s - 43_200, at_unix_s + 43_200),
    ).fetchall():
        share = alike(mine, np.frombuffer(other["clothes"], "<f4"))
        found[other["name"]] = max(share, found.get(other["name"], 0.0))
    return {name: share for name, share in found.items() if any(person.name == name for person in known)}
