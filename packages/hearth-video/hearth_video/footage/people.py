"""The people the owner enrolled: their consent, the vectors of their faces, and permanent forgetting.

A photo is read once and not kept; a face is kept as a vector of 128 numbers and its quality, in the home's database.
Nobody is enrolled without a recorded consent. Vectors are biometric data: no tool returns one, no export of memory
holds one, none passes egress; the encrypted backup of the whole home holds them, as it holds everything.

Covered: files of formats that run programs (PostScript is handed to nobody), photos without a face, with several, of
too poor a face, of somebody else than the other photos, the same photo twice; forgetting takes the vectors out of every
page of the file, and the name off what was seen. Not covered: backups and copies made before; whether the person who
consented had the right to (the owner answers for that).
"""

from __future__ import annotations

import datetime as dt
import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from hearth.errors import NotFound, RequestError
from hearth.protocols import Expert
from hearth.storage.database import Store
from hearth.storage.trace import parse_moment
from hearth_video.experts.expert_values import Box, Face, Frame, Vector
from hearth_video.experts.identity import N_VALUES, NEAREST, Known, distance
from hearth_video.footage.pictures.text_images import FORMATS

FEWEST_QUALITY = 0.35
"""Least quality of a face: poorer ones also match strangers."""
_N_MAX_PHOTO_BYTES = 50_000_000
_N_MAX_PIXELS = 100_000_000
_LONGEST_PX = 2560
_N_MAX_NAME = 80

Faces = Expert[tuple[Frame, Box], tuple[Face, ...]]


@dataclass(frozen=True, slots=True)
class Consent:
    """Record that somebody agreed to be recognised: who consented (themselves, or someone who may for a child), and
    when."""

    by: str
    at: dt.datetime


@dataclass(frozen=True, slots=True)
class Person:
    """An enrolled person, as shown to the owner."""

    name: str
    enrolled_at: dt.datetime
    consent: Consent
    n_photos: int
    quality: float
    """Quality of the best photo, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class Enrolment:
    """The outcome of enrolling."""

    person: Person
    qualities: tuple[float, ...]
    """Qualities of the given photos, in order."""
    n_new: int
    """Number of photos that were not known yet."""
    looks_like: tuple[str, ...] = ()
    """Enrolled people so alike that neither may be named by the face alone."""


class People:
    """The enrolled people of a home."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def enroll(self, name: str, photos: Sequence[Path], faces: Faces, consent: Consent) -> Enrolment:
        """Enrol a person by photos with one face each; further photos of a known person are added.

        Args:
            faces: Finds faces: the identity expert.
        Raises:
            RequestError: No name, no photo, no one who said yes; a photo that cannot be read, shows no face or
                several, too poor a one, or somebody else. Names the photo; nothing was enrolled.
            MissingExtraError: The expert is not installed.
        """
        name, by = name.strip(), consent.by.strip()
        if not name or len(name) > _N_MAX_NAME or not name.isprintable():
            raise RequestError(f"{name[:_N_MAX_NAME]!r} is no name; give one of 1 to {_N_MAX_NAME} letters")
        if not photos:
            raise RequestError(f"no photo of {name!r}; give at least one that shows their face alone")
        if not by:
            raise RequestError(f"nobody said yes to recognising {name!r}; ask them, then say who agreed")
        found = [_one_face(photo, faces) for photo in photos]
        self._check_same(name, photos, [face for _, face in found])
        at = consent.at.astimezone(dt.UTC).isoformat()
        with self._store.transaction() as cursor:
            cursor.execute(
                "INSERT INTO person (name, enrolled_at, consent_by, consent_at) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (name) DO UPDATE SET consent_by = excluded.consent_by, consent_at = excluded.consent_at",
                (name, at, by, at),
            )
            number = cursor.execute("SELECT number FROM person WHERE name = ?", (name,)).fetchone()[0]
            n_new = 0
            for digest, face in found:
                cursor.execute(
                    "INSERT OR IGNORE INTO person_face (person, photo_digest, quality, vector) VALUES (?, ?, ?, ?)",
                    (number, digest, face.quality, face.vector.astype("<f4").tobytes()),
                )
                n_new += cursor.rowcount
        vectors = np.stack([face.vector for _, face in found])
        alike = [
            other.name
            for other in self.known()
            if other.name.casefold() != name.casefold() and min(distance(v, other) for v in vectors) <= NEAREST
        ]
        return Enrolment(self.named(name), tuple(face.quality for _, face in found), n_new, tuple(alike))

    def _check_same(self, name: str, photos: Sequence[Path], faces: Sequence[Face]) -> None:
        """Check that each photo is near another one of the same name, where there is another."""
        mine = [person.vectors for person in self.known() if person.name.casefold() == name.casefold()]
        held = mine[0] if mine else np.zeros((0, N_VALUES), np.float32)
        for place, (photo, face) in enumerate(zip(photos, faces)):
            others = [other.vector for rank, other in enumerate(faces) if rank != place]
            rows = np.concatenate([held, np.array(others, np.float32).reshape(-1, N_VALUES)])
            if len(rows) and float(np.linalg.norm(rows - face.vector, axis=1).min()) > _SAME_PERSON:
                raise RequestError(
                    f"{str(photo)!r} does not look like the other photos of {name!r}; nothing was enrolled; leave it "
                    f"out, or enroll that person under another name"
                )

    def known(self) -> tuple[Known, ...]:
        """Return names with their vectors, to compare faces with. Not to be shown, exported or sent."""
        rows: dict[str, list[Vector]] = {}
        for row in self._store.query(
            "SELECT name, vector FROM person JOIN person_face ON person = person.number"
            " ORDER BY person.number, person_face.number"
        ):
            rows.setdefault(row["name"], []).append(np.frombuffer(row["vector"], "<f4").astype(np.float32))
        return tuple(Known(name, np.stack(vectors)) for name, vectors in rows.items())

    def list(self) -> tuple[Person, ...]:
        """Return the enrolled people, by name."""
        rows = self._store.query(
            "SELECT person.*, count(person_face.number) AS n_photos, max(quality) AS quality FROM person"
            " LEFT JOIN person_face ON person = person.number GROUP BY person.number ORDER BY name COLLATE NOCASE"
        )
        return tuple(
            Person(
                row["name"],
                parse_moment(row["enrolled_at"]),
                Consent(row["consent_by"], parse_moment(row["consent_at"])),
                row["n_photos"],
                row["quality"] or 0.0,
            )
            for row in rows
        )

    def named(self, name: str) -> Person:
        """Return an enrolled person. Raises: NotFound: Nobody of that name is enrolled; the message names those who
        are."""
        people = self.list()
        found = next((person for person in people if person.name.casefold() == name.strip().casefold()), None)
        if found is None:
            names = ", ".join(repr(person.name) for person in people) or "nobody yet"
            raise NotFound(f"nobody named {name!r} is enrolled; enrolled: {names}")
        return found

    def forget(self, name: str) -> int:
        """Forget a person permanently: the vectors of their photos, those of faces in recordings that were taken for
        theirs or are as near, the small pictures of those sightings, and their name on what was seen. The file is
        rewritten, so that no page holds them.

        Returns:
            How many vectors were removed.
        Raises:
            NotFound: Nobody of that name is enrolled. StoreFullError: No space to write the file anew; they are
                removed, and traces in free pages stay until it is.
        """
        person = self.named(name)
        theirs = next((known for known in self.known() if known.name == person.name), None)
        with self._store.transaction() as cursor:
            near = [
                (row["number"], row["sighting"])
                for row in cursor.execute(
                    "SELECT f.number, sighting, vector, name FROM sighting_face f"
                    " JOIN sighting s ON s.number = sighting"
                ).fetchall()
                if row["name"].casefold() == person.name.casefold()
                or (theirs is not None and distance(np.frombuffer(row["vector"], "<f4"), theirs) <= NEAREST)
            ]
            cursor.executemany("DELETE FROM sighting_face WHERE number = ?", [(number,) for number, _ in near])
            cursor.executemany(
                "DELETE FROM sighting_thumbnail WHERE sighting = ?", [(sighting,) for sighting in {s for _, s in near}]
            )
            cursor.execute(
                "DELETE FROM sighting_thumbnail WHERE sighting IN"
                " (SELECT number FROM sighting WHERE name = ? COLLATE NOCASE)",
                (person.name,),
            )
            cursor.execute(
                "UPDATE sighting SET name = '', name_confidence = 0, named_by = '' WHERE name = ? COLLATE NOCASE",
                (person.name,),
            )
            cursor.execute("DELETE FROM person WHERE name = ?", (person.name,))
        self._store.rewrite()
        return person.n_photos + len(near)


_SAME_PERSON = 0.65
"""Distance that photos of one person over many years can have; those of two people are seldom nearer."""


def _one_face(photo: Path, faces: Faces) -> tuple[str, Face]:
    """Return the photo's digest and its only face. Raises: RequestError."""
    data, frame = _read(photo)
    height, width = frame.pixels.shape[:2]
    found = faces.look((frame, Box(0, 0, width, height)))
    if not found:
        raise RequestError(
            f"{str(photo)!r} shows no face that can be recognised; nothing was enrolled; use a photo from the front, "
            "in good light"
        )
    if len(found) > 1:
        raise RequestError(
            f"{str(photo)!r} shows {len(found)} faces; nothing was enrolled; cut out the one that is meant"
        )
    if found[0].quality < FEWEST_QUALITY:
        raise RequestError(
            f"the face in {str(photo)!r} is too small, blurred or turned (quality {found[0].quality:.2f}, "
            f"{FEWEST_QUALITY} is needed); nothing was enrolled; use a larger, sharper photo from the front"
        )
    return hashlib.sha256(data).hexdigest(), found[0]


def _read(photo: Path) -> tuple[bytes, Frame]:
    try:
        if photo.stat().st_size > _N_MAX_PHOTO_BYTES:
            raise RequestError(
                f"{str(photo)!r} is larger than {_N_MAX_PHOTO_BYTES // 1_000_000} MB; give a smaller one"
            )
        data = photo.read_bytes()
    except OSError as error:
        raise RequestError(f"cannot read the photo {str(photo)!r}: {error.strerror}") from None
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            if image.width * image.height > _N_MAX_PIXELS:
                raise RequestError(
                    f"{str(photo)!r} has {image.width} x {image.height} pixels; give one of at most "
                    f"{_N_MAX_PIXELS // 1_000_000} million"
                )
            image.draft("RGB", (_LONGEST_PX, _LONGEST_PX))
            upright = ImageOps.exif_transpose(image).convert("RGB")
            upright.thumbnail((_LONGEST_PX, _LONGEST_PX))
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise RequestError(f"{str(photo)!r} is no picture that can be read ({error}); give a JPEG or PNG") from None
    return data, Frame(np.asarray(upright, dtype=np.uint8), 0.0)
