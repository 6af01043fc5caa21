"""Index recordings minute by minute: people, their tracks, faces, poses and activities.

A minute is committed in one transaction with everything seen in it, so that Ctrl-C, a kill or a power cut lose at most
the current minute, and the same command carries on. Reading then begins some seconds earlier: a person in view at the
border is matched by their position, and stays one sighting. Of two people so close that they are followed as one, the
other is a sighting of their own when their face is seen. Memory holds one picture, a few cut-outs of each person in
view and one minute of boxes, however long the recording is.

Covered: a file that cannot be read or is damaged in parts (its minutes are marked, the rest goes on), two processes at
once (one waits), being cancelled between two pictures, forgetting during indexing. Not covered: somebody in view from
one file into the next is two sightings; a person who leaves the picture and returns is another sighting, which the face
may name.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hearth.config import Video
from hearth.errors import CancelledError, NotFound, ToolError
from hearth.memory.event_memory import EventMemory
from hearth.memory.search.memory_index import Row
from hearth.protocols import Expert
from hearth.storage.database import Store
from hearth_video.experts.expert_values import (
    Activity,
    Box,
    Face,
    Frame,
    Moment,
    Movement,
    Pose,
    Scene,
    TrackedBox,
)
from hearth_video.footage.pictures.cutouts import (
    GOOD_FACE,
    Cutout,
    FacesOfTrack,
    cut_out,
    is_alike,
    jpeg,
    place_of,
    side_of,
    told_apart,
    worth_of,
)
from hearth_video.footage.recordings import CHUNK_S, Kept, Recordings, at
from hearth_video.footage.sightings import Sightings, packed, scaled
from hearth_video.footage.video_decode import frames

WARM_S = 10.0
"""Time before a border that is indexed again, to match the people in view."""
_SAME_PLACE = 0.5
"""Overlap from which on two boxes of one time are the same person."""
_SAME_TIME_S = 0.02
_FEWEST_BOXES = 2
"""Least number of pictures for a person; fewer are a false detection."""
_N_CUTOUTS = 4
"""Number of cut-outs of a person in which a face is sought, per minute."""
_CUTOUT_EVERY_S = 2.0
_N_FACES = 8
"""After this many good faces of a sighting, only one more a minute is sought."""
_N_THUMBNAILS = 3
_TAIL_S = 10.0
"""Part of the minute before that is also used to recognise activities."""


@dataclass(frozen=True, slots=True)
class Experts:
    """The experts that index pictures."""

    person: Expert[Iterable[Frame], Iterator[Scene]]
    identity: Expert[tuple[Frame, Box], tuple[Face, ...]]
    pose: Expert[tuple[Frame, Box], Pose | None]
    activity: Expert[Movement, tuple[Activity, ...]]


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of indexing."""

    recording: str
    done_s: float
    """Seconds done of all that is to be indexed."""
    total_s: float
    fault: str = ""
    """Reason why this recording cannot be read."""


@dataclass(slots=True, eq=False)
class _Track:
    """A person followed within one reading."""

    number: int = 0
    """Number of the sighting; 0: none yet."""
    moments: list[Moment] = field(default_factory=list)
    """Moments of the current chunk, and at most `_TAIL_S` before it."""
    cutouts: dict[int, Cutout] = field(default_factory=dict)
    n_good_faces: int = 0
    n_thumbnails: int = 0


class Indexer:
    """Indexes the recordings of one home."""

    def __init__(
        self, store: Store, memory: EventMemory, recordings: Recordings, experts: Experts, settings: Video
    ) -> None:
        self._store = store
        self._memory = memory
        self._recordings = recordings
        self._sightings = Sightings(store, memory, recordings)
        self._experts = experts
        self._settings = settings

    def index(self, wanted: Sequence[tuple[Kept, range]], cancelled: threading.Event) -> Iterator[Progress]:
        """Index chunks of recordings that were not indexed yet.

        Yields:
            After each chunk, and once for each recording that cannot be read.
        Raises:
            MissingExtraError: An expert is not installed. CancelledError: What is done is kept.
            StoreError: Nothing of the current chunk is kept.
        """
        with only_one(self._store.path.with_name("video.lock"), cancelled):
            runs = [(kept, run) for kept, chunks in wanted for run in self._missing(kept, chunks)]
            total_s = sum(_length_s(kept, run) for kept, run in runs)
            done_s = 0.0
            for kept, run in runs:
                before_s = done_s
                try:
                    for chunk in self._run(kept, run, cancelled):
                        done_s = before_s + _length_s(kept, range(run.start, chunk + 1))
                        yield Progress(kept.id, done_s, total_s)
                except ToolError as error:
                    with self._store.transaction() as cursor:
                        cursor.execute("UPDATE recording SET fault = ? WHERE number = ?", (str(error), kept.number))
                    done_s = before_s + _length_s(kept, run)
                    yield Progress(kept.id, done_s, total_s, str(error))

    def _missing(self, kept: Kept, chunks: range) -> list[range]:
        """Return runs of chunks that were not indexed."""
        rows = self._store.query("SELECT chunk FROM recording_chunk WHERE recording = ?", (kept.number,))
        done = {row["chunk"] for row in rows}
        runs: list[range] = []
        for chunk in chunks:
            if chunk in done:
                continue
            if runs and runs[-1].stop == chunk:
                runs[-1] = range(runs[-1].start, chunk + 1)
            else:
                runs.append(range(chunk, chunk + 1))
        return runs

    # ── One reading ───────────────────────────────────────────────────────────────────────────────────────

    def _run(self, kept: Kept, run: range, cancelled: threading.Event) -> Iterator[int]:
        """Index consecutive chunks; yields each when it is committed. Raises: ToolError."""
        path = kept.checked_path()
        start_s = run.start * CHUNK_S
        end_s = math.inf if run.stop >= kept.n_chunks else run.stop * CHUNK_S
        pictures = frames(
            path,
            max(0.0, start_s - WARM_S),
            end_s,
            frames_per_s=self._settings.frames_per_s,
            longest_side=self._settings.longest_side_px,
        )
        border = self._border(kept, run.start)
        tracks: dict[int, _Track] = {}
        chunk, n_seen, size = run.start, 0, (1, 1)
        for scene in self._experts.person.look(_watched(pictures, cancelled)):
            size = (scene.frame.pixels.shape[1], scene.frame.pixels.shape[0])
            if scene.frame.at_s < start_s:
                border.compare(scene, size)
                continue
            if border.is_open:
                tracks = {track: _Track(number) for track, number in border.closed().items()}
                self._recall(tracks)
            while scene.frame.at_s >= (chunk + 1) * CHUNK_S and chunk + 1 < run.stop:
                self._commit(kept, chunk, tracks, size, n_seen)
                yield chunk
                chunk, n_seen = chunk + 1, 0
            n_seen += 1
            for person in scene.people:
                self._see(tracks.setdefault(person.track, _Track()), scene, person)
        while chunk < run.stop:
            self._commit(kept, chunk, tracks, size, n_seen)
            yield chunk
            chunk, n_seen = chunk + 1, 0

    def _see(self, track: _Track, scene: Scene, person: TrackedBox) -> None:
        frame = scene.frame
        pose = self._experts.pose.look((frame, person.box))
        track.moments.append(Moment(frame.at_s, person.box, pose))
        place = place_of(frame, person.box)
        if place is None:
            return
        crowded = max((person.box.overlap(one.box) for one in scene.people if one is not person), default=0.0)
        worth = worth_of(frame, person.box, place) * (1 - crowded) ** 2  # a neighbour's face is not theirs
        bucket = int(frame.at_s // _CUTOUT_EVERY_S)
        held = track.cutouts.get(bucket)
        if held is not None and held.worth >= worth:
            return
        track.cutouts[bucket] = cut_out(frame, person.box, place, worth)
        most = _N_CUTOUTS if track.n_good_faces < _N_FACES else 1
        if len(track.cutouts) > most:
            del track.cutouts[min(track.cutouts, key=lambda k: track.cutouts[k].worth)]

    def _border(self, kept: Kept, chunk: int) -> _Border:
        """Return the people in view at the end of the chunk before."""
        seen: dict[int, list[Moment]] = {}
        for row in self._store.query(
            "SELECT s.number FROM sighting_part p JOIN sighting s ON s.number = p.sighting"
            " WHERE s.recording = ? AND p.chunk = ?",
            (kept.number, chunk - 1),
        ):
            seen[row["number"]] = self._sightings.moments(row["number"], chunk * CHUNK_S - WARM_S, chunk * CHUNK_S)
        return _Border(seen)

    def _recall(self, tracks: dict[int, _Track]) -> None:
        """Load how much is already stored of the sightings that go on."""
        for track in tracks.values():
            (faces,) = self._store.query(
                "SELECT count(*) FROM sighting_face WHERE sighting = ? AND quality >= ?", (track.number, GOOD_FACE)
            )
            (pictures,) = self._store.query(
                "SELECT count(*) FROM sighting_thumbnail WHERE sighting = ?", (track.number,)
            )
            track.n_good_faces, track.n_thumbnails = faces[0], pictures[0]

    # ── Writing a chunk down ──────────────────────────────────────────────────────────────────────────────

    def _commit(self, kept: Kept, chunk: int, tracks: dict[int, _Track], size: tuple[int, int], n_seen: int) -> None:
        """Write everything seen in a chunk in one transaction; then drop what the next one does not need."""
        start_s, end_s = chunk * CHUNK_S, (chunk + 1) * CHUNK_S
        in_view: dict[int, FacesOfTrack] = {}
        for key, track in tracks.items():
            is_in = bool(track.moments) and track.moments[-1].at_s >= start_s
            if is_in and (track.number or len(track.moments) >= _FEWEST_BOXES):
                looked = [(c, self._upper_faces(c)) for c in sorted(track.cutouts.values(), key=lambda c: c.at_s)]
                in_view[key] = told_apart(looked)
        companions = _companions(tracks, in_view, start_s)
        seen = [
            (tracks[key], faces.own, self._activities(kept, tracks[key], size, start_s))
            for key, faces in in_view.items()
        ]
        seen += [(track, faces, []) for track, faces in companions]
        known, by = self._sightings.enrolled()
        gone: list[int] = []
        rows: list[Row] = []
        is_empty = not n_seen and min(kept.duration_s, end_s) - start_s > 1.0
        with self._store.transaction() as cursor:
            if not self._is_wanted(cursor, kept, chunk):
                tracks.clear()  # whoever is still in view afterwards is another sighting
                return
            cursor.execute(
                "INSERT INTO recording_chunk (recording, chunk, state) VALUES (?, ?, ?)",
                (kept.number, chunk, "unreadable" if is_empty else "done"),
            )
            cursor.execute("UPDATE recording SET fault = '' WHERE number = ? AND fault <> ''", (kept.number,))
            for track, faces, activities in seen:
                if not _goes_on(cursor, track, start_s):
                    continue
                track.number = self._put(cursor, kept, chunk, track, size)
                self._put_faces(cursor, track, faces)
                put_activities(cursor, track.number, activities)
                self._sightings.name(cursor, track.number, known, by)
                old, new = self._sightings.write_event(cursor, track.number)
                gone, rows = [*gone, *old], [*rows, *new]
        self._memory.follow(gone, rows)
        _let_go(tracks, end_s)

    def _is_wanted(self, cursor: sqlite3.Cursor, kept: Kept, chunk: int) -> bool:
        """Say whether a chunk is still to be written: another process may have forgotten it during indexing.

        Raises: NotFound: The recording was.
        """
        if not cursor.execute("SELECT 1 FROM recording WHERE number = ? AND id = ?", (kept.number, kept.id)).fetchall():
            raise NotFound(f"recording {kept.id!r} was forgotten while it was looked at; nothing more of it is kept")
        where = (kept.number, chunk)
        return not cursor.execute("SELECT 1 FROM recording_chunk WHERE recording = ? AND chunk = ?", where).fetchall()

    def _put(self, cursor: sqlite3.Cursor, kept: Kept, chunk: int, track: _Track, size: tuple[int, int]) -> int:
        """Write the sighting's row and its boxes; return its number."""
        new = [moment for moment in track.moments if moment.at_s >= chunk * CHUNK_S or not track.number]
        score = sum(moment.box.score for moment in new) / len(new)
        number = track.number
        # The last picture lasts until the next one would have been taken.
        end_s = min(new[-1].at_s + 1 / self._settings.frames_per_s, max(kept.duration_s, new[-1].at_s + 0.01))
        worn = [cutout.clothes for cutout in track.cutouts.values()]
        clothes_now = np.mean(worn, axis=0).astype("<f4").tobytes() if worn else None
        if number:
            cursor.execute(
                "UPDATE sighting SET end_s = ?, confidence = max(confidence, ?), clothes = coalesce(clothes, ?)"
                " WHERE number = ?",
                (end_s, score, clothes_now, number),
            )
        else:
            cursor.execute(
                "INSERT INTO sighting (recording, start_s, end_s, confidence, clothes) VALUES (?, ?, ?, ?, ?)",
                (kept.number, new[0].at_s, end_s, score, clothes_now),
            )
            number = int(cursor.lastrowid or 0)
        cursor.execute(
            "INSERT OR REPLACE INTO sighting_part (sighting, chunk, boxes, poses) VALUES (?, ?, ?, ?)",
            (number, chunk, *packed(new, *size)),
        )
        return number

    def _put_faces(self, cursor: sqlite3.Cursor, track: _Track, faces: Sequence[tuple[Cutout, Face | None]]) -> None:
        if self._settings.keep_faces_days:
            found = [(cutout, face) for cutout, face in faces if face is not None]
            cursor.executemany(
                "INSERT INTO sighting_face (sighting, at_s, quality, vector) VALUES (?, ?, ?, ?)",
                [
                    (track.number, cutout.at_s, face.quality, face.vector.astype("<f4").tobytes())
                    for cutout, face in found
                ],
            )
            track.n_good_faces += sum(face.quality >= GOOD_FACE for _, face in found)
        if self._settings.keep_thumbnails_days and faces and track.n_thumbnails < _N_THUMBNAILS:
            cutout, _ = max(faces, key=lambda pair: (pair[1].quality if pair[1] else 0.0, pair[0].worth))
            cursor.execute(
                "INSERT INTO sighting_thumbnail (sighting, at_s, jpeg) VALUES (?, ?, ?)",
                (track.number, cutout.at_s, jpeg(cutout)),
            )
            track.n_thumbnails += 1

    def _upper_faces(self, cutout: Cutout) -> tuple[Face, ...]:
        """Return the faces in the upper part of a cut-out, nearest to its middle first."""
        box = cutout.box
        found = self._experts.identity.look((Frame(cutout.pixels, cutout.at_s), box))
        upper = [face for face in found if (face.box.top + face.box.bottom) / 2 <= box.top + 0.6 * box.height]
        return tuple(sorted(upper, key=lambda face: abs(face.box.left + face.box.right - box.left - box.right)))

    def _activities(self, kept: Kept, track: _Track, size: tuple[int, int], start_s: float) -> list[Activity]:
        """Return a person's activities in the chunk, recognised from some seconds before it on."""
        begins = at(kept.start, track.moments[0].at_s)
        hour = begins.hour + begins.minute / 60
        found = self._experts.activity.look(Movement(tuple(track.moments), *size, kept.room, hour))
        return [
            Activity(a.name, max(a.start_s, start_s) if track.number else a.start_s, a.end_s, a.score)
            for a in found
            if a.name and (a.end_s > start_s or not track.number)
        ]


# ── Beside somebody ───────────────────────────────────────────────────────────────────────────────────────


def _companions(
    tracks: dict[int, _Track], in_view: Mapping[int, FacesOfTrack], start_s: float
) -> list[tuple[_Track, list[tuple[Cutout, Face | None]]]]:
    """Return tracks of those whom nobody followed, since they were close beside somebody; `tracks` gets them, too.

    A companion's boxes are their side of the other's, while their face was seen.
    """
    known = [face for faces in in_view.values() for _, face in faces.own if face is not None]
    found: list[tuple[_Track, list[tuple[Cutout, Face | None]]]] = []
    for key, faces in in_view.items():
        if not faces.beside or any(is_alike(faces.beside[0][1], face) for face in known):
            continue
        known.append(faces.beside[0][1])
        first_s = max(start_s, faces.beside[0][0].at_s - _CUTOUT_EVERY_S)
        last_s = faces.beside[-1][0].at_s + _CUTOUT_EVERY_S
        # A cut-out shows both, so that a small picture of the other one is not kept.
        companion = tracks.setdefault(-key, _Track(n_thumbnails=_N_THUMBNAILS))
        companion.moments += [
            Moment(one.at_s, side_of(one.box, faces), None)
            for one in tracks[key].moments
            if first_s <= one.at_s <= last_s
        ]
        found.append((companion, [(cutout, face) for cutout, face in faces.beside]))
    return found


def put_activities(cursor: sqlite3.Cursor, number: int, found: Iterable[Activity]) -> None:
    """Write a person's activities, within a transaction of the caller's."""
    cursor.executemany(
        "INSERT INTO sighting_activity (sighting, chunk, name, start_s, end_s, score) VALUES (?, ?, ?, ?, ?, ?)",
        [(number, int(a.start_s // CHUNK_S), a.name, a.start_s, a.end_s, a.score) for a in found if a.name],
    )


def _goes_on(cursor: sqlite3.Cursor, track: _Track, start_s: float) -> bool:
    """Say whether anybody is left on a track; drop the earlier part of a sighting that was forgotten meanwhile."""
    if track.number and not cursor.execute("SELECT 1 FROM sighting WHERE number = ?", (track.number,)).fetchall():
        track.number = track.n_good_faces = track.n_thumbnails = 0
        track.moments = [moment for moment in track.moments if moment.at_s >= start_s]
    return bool(track.moments)


# ── Across a border ───────────────────────────────────────────────────────────────────────────────────────


class _Border:
    """Matches people in view now to those before the reading began, by their positions at the same times."""

    def __init__(self, seen: dict[int, list[Moment]]) -> None:
        self.is_open = True
        self._seen = seen
        self._votes: dict[tuple[int, int], float] = {}

    def compare(self, scene: Scene, size: tuple[int, int]) -> None:
        """Compare one picture from before the border."""
        for number, moments in self._seen.items():
            for moment in moments:
                if abs(moment.at_s - scene.frame.at_s) > _SAME_TIME_S:
                    continue
                before = scaled(moment, *size).box
                for person in scene.people:
                    share = before.overlap(person.box)
                    if share >= _SAME_PLACE:
                        key = (person.track, number)
                        self._votes[key] = self._votes.get(key, 0.0) + share

    def closed(self) -> dict[int, int]:
        """Return tracks with the sightings that they continue; each at most once."""
        self.is_open = False
        found: dict[int, int] = {}
        for track, number in sorted(self._votes, key=lambda pair: -self._votes[pair]):
            if track not in found and number not in found.values():
                found[track] = number
        return found


def _let_go(tracks: dict[int, _Track], end_s: float) -> None:
    """Keep of each track what the next chunk needs; drop those that are over."""
    for name, track in list(tracks.items()):
        track.cutouts.clear()
        track.moments = [moment for moment in track.moments if moment.at_s >= end_s - _TAIL_S]
        if not track.moments:
            del tracks[name]


def _watched(pictures: Iterator[Frame], cancelled: threading.Event) -> Iterator[Frame]:
    for picture in pictures:
        if cancelled.is_set():
            raise CancelledError("looking at the recordings was stopped; what was looked at so far is kept")
        yield picture


def _length_s(kept: Kept, run: range) -> float:
    return max(0.0, min(kept.duration_s, run.stop * CHUNK_S) - run.start * CHUNK_S)


@contextlib.contextmanager
def only_one(path: Path, cancelled: threading.Event) -> Iterator[None]:
    """Wait until no other thread or process looks at this home's recordings. Raises: CancelledError."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if cancelled.wait(0.1):
                    raise CancelledError("stopped while waiting for another process that looks at video") from None
        yield
    finally:
        os.close(handle)
