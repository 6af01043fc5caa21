"""`protocols.Footage`: what tools ask of home video, answered from the index; what is missing of it is looked at first.

Opening it costs nothing: every module it needs is imported when it is first asked something, the experts when something
is to be looked at that was not yet. Pictures are drawn
from the owner's file when they are asked for, into a folder of the home that is emptied whenever anything is forgotten.
Faces of people who are not known are blurred unless the owner asks otherwise: of everyone who is not named, and every
other face in the picture that is not likelier to be somebody's who is named in it.

Covered: a file moved or changed since it was added, one that cannot be read (the others answer), experts that are not
installed, being cancelled, a time that was forgotten.
Not covered: in a picture, a stranger whom neither the detector of people nor that of faces found is not blurred:
somebody in profile behind others, or far away.
"""

from __future__ import annotations

import datetime as dt
import functools
import hashlib
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hearth.config import Settings
from hearth.errors import HearthError, MissingExtraError, NotFound, StoreFullError, ToolError
from hearth.memory.event_memory import EventMemory
from hearth.protocols import EnrolledPerson, Expert, Heard, Recording, Said, Sighting, WrittenLine
from hearth.storage.database import Store

if TYPE_CHECKING:
    from PIL.Image import Image

    from hearth_video.experts.expert_values import Box, Frame, Moment, TextLine
    from hearth_video.footage.heard import Ears, Listener
    from hearth_video.footage.indexing import Experts, Progress
    from hearth_video.footage.people import Person
    from hearth_video.footage.recordings import Kept, Recordings
    from hearth_video.footage.sightings import Part, Sightings, Stretch

_EVERY_PICTURE = 1000.0
"""A rate above that of any camera: no picture is left out."""
_SAME_FACE = 0.3
"""Faces found twice that overlap so much are one."""
_LONGEST_REQUEST_S = 60
"""Longest request that is read from a file of sound."""
_IN_VIEW_S = 0.75
"""A box is shown in a picture that is at most so far from it in time."""


class Library:
    """The recordings of one home and what was seen in them."""

    def __init__(
        self,
        store: Store,
        memory: EventMemory,
        settings: Settings,
        experts: Experts | None = None,
        *,
        ears: Ears | None = None,
    ) -> None:
        """Open the footage of a home.

        Args:
            experts, ears: Who looks and listens; the shipped ones by default, made when they are needed.
        """
        self._store = store
        self._memory = memory
        self._settings = settings.video
        self._zone = settings.zone
        self._experts = experts
        self._ears = ears
        self._reader: Expert[Frame, tuple[TextLine, ...]] | None = None

    @functools.cached_property
    def kept(self) -> Recordings:
        """The recordings."""
        from hearth_video.footage.recordings import Recordings

        return Recordings(self._store, self._zone())

    @functools.cached_property
    def sightings(self) -> Sightings:
        """What was seen in them."""
        from hearth_video.footage.sightings import Sightings

        return Sightings(self._store, self._memory, self.kept)

    # ── What is recorded ──────────────────────────────────────────────────────────────────────────────────

    def rooms(self) -> tuple[str, ...]:
        """Rooms that have a camera."""
        return self.kept.rooms()

    def recordings(
        self, room: str = "", start: dt.datetime | None = None, end: dt.datetime | None = None
    ) -> tuple[Recording, ...]:
        """Those of a room (empty: of all) that overlap a time, in order. Raises: NotFound: No camera there."""
        return tuple(kept.as_recording() for kept in self.kept.between(room, start, end))

    def looked_at(self, wanted: Sequence[Kept], cancelled: threading.Event) -> Iterator[Progress]:
        """Look at all of these recordings that was not looked at yet, and name everyone by who is enrolled now.

        Raises: As `Indexer.index`.
        """
        yield from self._indexed([(kept, range(kept.n_chunks)) for kept in wanted], cancelled)
        self.sightings.name_all()

    def told_anew(self) -> Iterator[int]:
        """Tell from the postures that are kept what everyone did, by what was taught since; no recording is looked at.

        Yields:
            How many sightings are done. Stopped in between, those are told anew and the others as before.
        """
        from hearth_video.footage.indexing import put_activities
        from hearth_video.footage.recordings import at
        from hearth_video.footage.sightings import movement

        experts = self._experts or shipped_experts(self._store)
        for n, part in enumerate(self.sightings.all(), 1):
            begins = at(part.recording.start, part.start_s)
            found = experts.activity.look(movement(self.sightings.moments(part.number), part.recording, begins))
            with self._store.transaction(is_synced=False) as cursor:
                cursor.execute("DELETE FROM sighting_activity WHERE sighting = ?", (part.number,))
                put_activities(cursor, part.number, found)
                gone, rows = self.sightings.write_event(cursor, part.number)
            self._memory.follow(gone, rows)
            yield n

    def tend(self, now: dt.datetime) -> None:
        """Let go of what is older than the settings keep it; nothing the second time of a day. Raises: StoreError."""
        today = now.date().isoformat()
        done = self._store.query("SELECT value FROM meta WHERE name = 'footage_tended'")
        if (done and done[0]["value"] == today) or not self._store.query("SELECT 1 FROM recording LIMIT 1"):
            return
        from hearth_video.footage.footage_retention import let_go

        let_go(self._store, self._settings, now)
        with self._store.transaction(is_synced=False) as cursor:
            cursor.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('footage_tended', ?)", (today,))

    def _indexed(self, wanted: Sequence[tuple[Kept, range]], cancelled: threading.Event) -> Iterator[Progress]:
        from hearth_video.footage.indexing import Indexer

        if self._experts is None:
            self._experts = shipped_experts(self._store)
        indexer = Indexer(self._store, self._memory, self.kept, self._experts, self._settings)
        yield from indexer.index(wanted, cancelled)

    # ── Who is recognised ─────────────────────────────────────────────────────────────────────────────────

    def enrolled(self) -> tuple[EnrolledPerson, ...]:
        """Who is recognised, by name."""
        from hearth_video.footage.people import People

        return tuple(_as_enrolled(person) for person in People(self._store).list())

    def enroll(self, name: str, photo: Path, consent_by: str) -> EnrolledPerson:
        """Recognise somebody from a photo, in what was seen before, too. Raises: As `People.enroll`."""
        from hearth_video.experts.identity import IdentityExpert
        from hearth_video.footage.people import Consent, People

        expert = self._experts.identity if self._experts is not None else IdentityExpert()
        consent = Consent(consent_by, dt.datetime.now(dt.UTC))
        done = People(self._store).enroll(name, (photo,), expert, consent)
        self._name_anew()
        return replace(_as_enrolled(done.person), looks_like=done.looks_like)

    def forget_face(self, name: str) -> None:
        """Forget somebody's face for good, and their name on what was seen. Raises: NotFound, StoreFullError."""
        from hearth_video.footage.footage_retention import remove_pictures
        from hearth_video.footage.people import People

        People(self._store).forget(name)
        self._name_anew()
        remove_pictures(self._store.path.parent)

    def _name_anew(self) -> None:
        """Name what was seen by who is enrolled now; a name that nobody has any more leaves no trace in the file."""
        if self.sightings.name_all():
            self._memory.erase()
            self._store.rewrite()

    # ── Who was seen ──────────────────────────────────────────────────────────────────────────────────────

    def people(
        self, room: str, start: dt.datetime, end: dt.datetime, cancelled: threading.Event
    ) -> tuple[Sighting, ...]:
        """Everyone seen between two times, cut to them, in order; neither named nor told what they do.

        Raises:
            NotFound: No camera has that room, or what was seen then was forgotten.
            ToolError: No recording of that time can be read, or the experts are not installed.
            CancelledError: `cancelled` was set; what was looked at so far is kept.
        """
        for _ in self.looking(room, start, end, cancelled):
            pass
        asked = [(kept, kept.chunks_between(start, end)) for kept in self.kept.between(room, start, end)]
        _, n_forgotten = self._missing(asked)
        parts = [part for kept, _ in asked for part in self.sightings.between(kept, start, end)]
        if not parts and n_forgotten and n_forgotten == sum(len(chunks) for _, chunks in asked):
            raise NotFound(
                "what was seen at that time was forgotten or is older than it is kept; nothing is left of it"
            )
        parts.sort(key=lambda part: (part.start, part.number))
        return tuple(_sighting(part) for part in parts)

    def looking(
        self, room: str, start: dt.datetime, end: dt.datetime, cancelled: threading.Event
    ) -> Iterator[Progress]:
        """Look at what of a time was not looked at yet, minute by minute. Raises: As `people`."""
        asked = [(kept, kept.chunks_between(start, end)) for kept in self.kept.between(room, start, end)]
        missing, _ = self._missing(asked)
        faults = {}
        try:
            for progress in self._indexed(missing, cancelled) if missing else ():
                if progress.fault:
                    faults[progress.recording] = progress.fault
                yield progress
        except MissingExtraError as error:
            raise ToolError(str(error)) from None
        if faults and len(faults) == len(asked):
            raise ToolError("; ".join(faults.values()))

    def _missing(self, asked: Sequence[tuple[Kept, range]]) -> tuple[list[tuple[Kept, range]], int]:
        """What was not looked at yet, and how many minutes were forgotten."""
        from hearth_video.footage.footage_retention import FORGOTTEN

        missing, n_forgotten = [], 0
        for kept, chunks in asked:
            states = {
                row["chunk"]: row["state"]
                for row in self._store.query(
                    "SELECT chunk, state FROM recording_chunk WHERE recording = ? AND chunk BETWEEN ? AND ?",
                    (kept.number, chunks.start, chunks.stop - 1),
                )
            }
            n_forgotten += sum(state == FORGOTTEN for state in states.values())
            if len(states) < len(chunks):
                missing.append((kept, chunks))
        return missing, n_forgotten

    def named(self, ids: Sequence[str]) -> tuple[Sighting, ...]:
        """The same sightings with names, by the people who are enrolled now. Raises: NotFound: No such sighting."""
        return tuple(_sighting(part, with_name=True) for part in self.sightings.named(self.sightings.parts(ids)))

    def doing(self, ids: Sequence[str]) -> tuple[Sighting, ...]:
        """The same with names and activities, a sighting for each stretch of one activity. Raises: NotFound."""
        found = []
        for part in self.sightings.named(self.sightings.parts(ids)):
            stretches = self.sightings.stretches(part)
            if not stretches:
                found.append(_sighting(part, with_name=True))
            for stretch in stretches:
                is_all = len(stretches) == 1
                cut = part if is_all else replace(part, start_s=stretch.start_s, end_s=stretch.end_s, is_cut=True)
                found.append(_sighting(cut, with_name=True, doing=stretch))
        return tuple(found)

    # ── What was heard, what is written ───────────────────────────────────────────────────────────────────

    def said(self, room: str, start: dt.datetime, end: dt.datetime, cancelled: threading.Event) -> tuple[Said, ...]:
        """Everything said between two times, whole where it reaches beyond them. Raises: As `people`."""
        listener, recorded = self._listened(room, start, end, cancelled)
        found = [one for kept in recorded for one in listener.said(kept, start, end)]
        return tuple(sorted(found, key=lambda one: (one.start, one.room)))

    def heard(self, room: str, start: dt.datetime, end: dt.datetime, cancelled: threading.Event) -> tuple[Heard, ...]:
        """Sounds between two times, cut to them. Raises: As `people`."""
        listener, recorded = self._listened(room, start, end, cancelled)
        found = [one for kept in recorded for one in listener.heard(kept, start, end)]
        return tuple(sorted(found, key=lambda one: (one.start, one.room, one.name)))

    def has_sound(self, room: str, start: dt.datetime, end: dt.datetime) -> bool:
        """Say whether any recording of a time has a track of sound. Raises: NotFound: As `recordings`."""
        from hearth_video.footage.audio_decode import has_sound

        for kept in self.kept.between(room, start, end):
            try:
                if has_sound(kept.checked_path()):
                    return True
            except HearthError:  # moved since, say: what was heard of it stands
                return True
        return False

    def _listened(
        self, room: str, start: dt.datetime, end: dt.datetime, cancelled: threading.Event
    ) -> tuple[Listener, tuple[Kept, ...]]:
        """The recordings of a time, all of which was listened to."""
        from hearth_video.footage.heard import Listener

        self._ears = self._ears or shipped_ears()
        listener = Listener(self._store, self._ears)
        recorded = self.kept.between(room, start, end)
        listener.listen_all(recorded, start, end, cancelled)
        return listener, recorded

    def spoken(self, path: Path) -> str:
        """What is said in a file of sound: a request that was recorded.

        Raises:
            NotFound: No such file, or nothing is said in it. ToolError: It is no sound, or too long.
            MissingExtraError: The experts are not installed.
        """
        from hearth_video.experts.expert_values import SAMPLES_PER_S
        from hearth_video.footage.audio_decode import sound_between

        sound = sound_between(path, 0.0, _LONGEST_REQUEST_S + 1)
        n_samples = len(sound.samples)
        if not n_samples:
            raise NotFound(f"there is no sound in {str(path)!r}")
        if n_samples > _LONGEST_REQUEST_S * SAMPLES_PER_S:
            raise ToolError(
                f"{str(path)!r} lasts longer than {_LONGEST_REQUEST_S} s; a spoken request is shorter: cut it"
            )
        self._ears = self._ears or shipped_ears()
        said = " ".join(one.text for one in self._ears.speech.look(sound))
        if not said:
            raise NotFound(f"nothing that I could understand is said in {str(path)!r}; I know English alone")
        return said

    def writing(self, picture: bytes) -> tuple[WrittenLine, ...]:
        """What is written in the picture that a file holds. Raises: ToolError: It is none, or cannot be read here."""
        from hearth_video.footage.pictures.text_images import picture as opened
        from hearth_video.footage.pictures.text_images import written_lines

        frame = opened(picture)
        if self._reader is None:
            from hearth_video.experts.ocr import OcrExpert

            self._reader = OcrExpert()
        try:
            return written_lines(self._reader.look(frame))
        except MissingExtraError as error:
            raise ToolError(str(error)) from None

    # ── Pictures ──────────────────────────────────────────────────────────────────────────────────────────

    def pictures(self, ids: Sequence[str], *, shows_strangers: bool = False) -> tuple[str, ...]:
        """Files with one annotated picture of each sighting: boxes, names, skeletons.

        Args:
            shows_strangers: Leave the faces of unknown people as they are instead of blurring them.
        Raises:
            NotFound: No such sighting, or its recording is gone. ToolError: It cannot be read.
            StoreFullError: No space for the pictures.
        """
        return tuple(self._picture(part, shows_strangers) for part in self.sightings.named(self.sightings.parts(ids)))

    def _picture(self, part: Part, shows_strangers: bool) -> str:
        from hearth_video.footage.pictures.still_pictures import Marked, draw_sighting
        from hearth_video.footage.recordings import at
        from hearth_video.footage.sightings import scaled

        frame = self._frame(part)
        height, width = frame.pixels.shape[:2]
        seen = [(one, scaled(moment, width, height)) for one, moment in self._in_view(part, frame.at_s)]
        strange = () if shows_strangers else self._strange_faces(frame, seen)
        people = [
            Marked(moment.box, one.name, moment.pose, not one.name and not shows_strangers) for one, moment in seen
        ]
        caption = f"{part.recording.room}, {at(part.recording.start, frame.at_s):%Y-%m-%d %H:%M:%S}"
        image = draw_sighting(frame.pixels, people, caption, strange)
        return self._written(image, f"{part.id}{'-all' if shows_strangers else ''}.jpg")

    def _strange_faces(self, frame: Frame, seen: Sequence[tuple[Part, Moment]]) -> list[Box]:
        """Faces in a picture that are of nobody who is named in it: somebody beside them, or to whom a name was given
        wrongly. Raises: ToolError: The expert is not installed."""
        from hearth_video.experts.expert_values import Box
        from hearth_video.experts.identity import is_likely

        names = {part.name for part, _ in seen if part.name}
        known = [person for person in self.sightings.enrolled()[0] if person.name in names]
        self._experts = self._experts or shipped_experts(self._store)
        height, width = frame.pixels.shape[:2]
        try:
            looked = [
                self._experts.identity.look((frame, place))
                for place in (Box(0, 0, width, height), *(moment.box for _, moment in seen))  # near by, small ones too
            ]
        except MissingExtraError as error:
            raise ToolError(str(error)) from None
        faces = [face for found in looked for face in found]
        theirs = [face.box for face in faces if any(is_likely(face, person) for person in known)]
        strange = [face.box for face in faces if not any(is_likely(face, person) for person in known)]
        return [box for box in strange if all(box.overlap(other) < _SAME_FACE for other in theirs)]

    def _frame(self, part: Part) -> Frame:
        """The picture in which they are seen best."""
        from hearth_video.footage.video_decode import frames

        moments = self.sightings.moments(part.number, part.start_s, part.end_s)
        if not moments:
            raise NotFound(f"of sighting {part.id!r} no place is kept; it was forgotten in part")
        best = self._store.query(
            "SELECT at_s FROM sighting_thumbnail WHERE sighting = ? AND at_s BETWEEN ? AND ? LIMIT 1",
            (part.number, part.start_s, part.end_s),
        )
        at_s = best[0]["at_s"] if best else moments[len(moments) // 2].at_s
        path = part.recording.checked_path()
        side = self._settings.longest_side_px
        found = next(frames(path, at_s - 1e-3, at_s + 5, frames_per_s=_EVERY_PICTURE, longest_side=side), None)
        if found is None:
            raise ToolError(f"{str(path)!r} can no longer be decoded at {at_s:.1f} s; it may be damaged")
        return found

    def _in_view(self, part: Part, at_s: float) -> list[tuple[Part, Moment]]:
        """Everyone in a picture, the one who is meant first."""
        numbers = [part.number] + [
            row["number"]
            for row in self._store.query(
                "SELECT number FROM sighting WHERE recording = ? AND start_s <= ? AND end_s >= ? AND number <> ?",
                (part.recording.number, at_s + _IN_VIEW_S, at_s - _IN_VIEW_S, part.number),
            )
        ]
        seen = []
        for one in self.sightings.named(self.sightings.parts([f"s{number}" for number in numbers])):
            near = self.sightings.moments(one.number, at_s - _IN_VIEW_S, at_s + _IN_VIEW_S)
            if near:
                seen.append((one, min(near, key=lambda moment: abs(moment.at_s - at_s))))
        return seen

    def timeline(self, sightings: Sequence[Sighting]) -> str:
        """File with a picture of who was where when, doing what. Raises: NotFound: Nobody was seen."""
        from hearth_video.footage.pictures.still_pictures import draw_timeline

        if not sightings:
            raise NotFound("nobody was seen: there is nothing to draw")
        start, end = min(one.start for one in sightings), max(one.end for one in sightings)
        told = "\n".join(f"{one.id} {one.name} {one.activity}" for one in sightings)
        name = hashlib.sha256(told.encode()).hexdigest()[:12]
        return self._written(draw_timeline(sightings, start, end), f"timeline-{name}.png")

    def _written(self, image: Image, name: str) -> str:
        from hearth_video.footage.footage_retention import PICTURES

        folder = self._store.path.parent / PICTURES
        path = folder / name
        temporary = folder / f".{name}.{os.getpid()}.{threading.get_ident()}"
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with temporary.open("wb") as file:
                os.fchmod(file.fileno(), 0o600)
                image.save(file, "JPEG" if path.suffix == ".jpg" else "PNG", quality=90)
            temporary.replace(path)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise StoreFullError(f"cannot write the picture {str(path)!r}: {error.strerror or error}") from None
        return str(path)


def _as_enrolled(person: Person) -> EnrolledPerson:
    return EnrolledPerson(person.name, person.n_photos, person.quality, person.consent.by, person.consent.at)


def shipped_experts(store: Store) -> Experts:
    """The experts that come with Hearth; each loads its model when it is first used.

    Args:
        store: Of the home whose owner may have taught activities.
    """
    from hearth_video.experts.identity import IdentityExpert
    from hearth_video.experts.person_detector import PersonExpert
    from hearth_video.experts.pose import PoseExpert
    from hearth_video.footage.activities import Activities
    from hearth_video.footage.indexing import Experts

    return Experts(PersonExpert(), IdentityExpert(), PoseExpert(), Activities(store).expert())


def shipped_ears() -> Ears:
    """Who listens; each loads its model when it is first used."""
    from hearth_video.experts.sound_events import SoundExpert
    from hearth_video.experts.speech import SpeechExpert
    from hearth_video.footage.heard import Ears

    return Ears(SpeechExpert(), SoundExpert())


def _sighting(part: Part, *, with_name: bool = False, doing: Stretch | None = None) -> Sighting:
    return Sighting(
        id=part.id,
        camera=part.recording.camera,
        room=part.recording.room,
        start=part.start,
        end=part.end,
        confidence=part.confidence,
        name=part.name if with_name else "",
        name_confidence=part.name_confidence if with_name else 0.0,
        activity=doing.name if doing else "",
        activity_confidence=doing.score if doing else 0.0,
    )
