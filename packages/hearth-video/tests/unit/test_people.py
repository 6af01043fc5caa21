"""Enrolling people: consent, photos that cannot be used, forgetting that leaves nothing in the file."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import EpsImagePlugin, Image

from hearth.config import Settings
from hearth.errors import NotFound, RequestError
from hearth.memory.event_memory import EventMemory
from hearth.protocols import ExpertCard
from hearth.storage.database import Store
from hearth_video.experts.expert_values import Box, Face, Frame, Vector
from hearth_video.footage.indexing import Experts
from hearth_video.footage.library import Library
from hearth_video.footage.people import FEWEST_QUALITY, Consent, People

YES = Consent("Ada", dt.datetime(2026, 11, 1, 9, tzinfo=dt.UTC))


def vector(seed: int, away: float = 0.0) -> Vector:
    """Somebody's face; `away` from it at so great a distance."""
    drawn = np.random.default_rng(seed)
    middle = drawn.normal(size=128)
    off = drawn.normal(size=128)
    return (middle / np.linalg.norm(middle) + away * off / np.linalg.norm(off)).astype(np.float32)


class ByColour:
    """Finds in a photo the faces that the test says belong to the red value of its first pixel."""

    card = ExpertCard("scripted", "a frame", "faces", "", 0.0, 0, ("It sees nothing.",))

    def __init__(self, **faces: list[Face]) -> None:
        self._faces = {int(name.removeprefix("c")): found for name, found in faces.items()}

    def look(self, given: tuple[Frame, Box]) -> tuple[Face, ...]:
        return tuple(self._faces[int(given[0].pixels[0, 0, 0])])


def face(of: Vector, quality: float = 0.9) -> Face:
    return Face(Box(1, 1, 5, 5), of, quality)


EXPERT = ByColour(
    c10=[face(vector(1))],
    c20=[face(vector(1, 0.4), 0.7)],
    c30=[face(vector(2))],
    c40=[],
    c50=[face(vector(1)), face(vector(2))],
    c60=[face(vector(1), FEWEST_QUALITY - 0.01)],
    c70=[face(vector(1, 0.3))],
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "hearth.db") as store:
        yield store


def picture(folder: Path, red: int) -> Path:
    path = folder / f"photo{red}.png"
    Image.new("RGB", (40, 30), (red, 0, 0)).save(path)
    return path


def test_enrolled_with_consent_and_listed(store: Store, tmp_path: Path) -> None:
    people = People(store)
    done = people.enroll("Ada", [picture(tmp_path, 10), picture(tmp_path, 20)], EXPERT, YES)
    assert (done.n_new, done.qualities) == (2, (0.9, 0.7))
    assert not done.looks_like
    (person,) = people.list()
    assert (person.name, person.n_photos, person.consent) == ("Ada", 2, YES)
    (known,) = people.known()
    assert known.vectors.shape == (2, 128)
    assert np.array_equal(known.vectors[0], vector(1))


def test_further_photos_are_added_and_the_same_one_once(store: Store, tmp_path: Path) -> None:
    people = People(store)
    people.enroll("Ada", [picture(tmp_path, 10)], EXPERT, YES)
    again = people.enroll("ada", [picture(tmp_path, 10), picture(tmp_path, 20)], EXPERT, YES)
    assert (again.person.name, again.n_new, again.person.n_photos) == ("Ada", 1, 2)


@pytest.mark.parametrize(
    ("red", "says"),
    [
        (40, r"photo40.png' shows no face"),
        (50, r"photo50.png' shows 2 faces"),
        (60, r"photo60.png' is too small, blurred or turned"),
        (30, r"photo30.png' does not look like the other photos of 'Ada'"),
    ],
)
def test_one_photo_that_cannot_be_used_enrols_nothing(store: Store, tmp_path: Path, red: int, says: str) -> None:
    photos = [picture(tmp_path, 10), picture(tmp_path, 20), picture(tmp_path, red)]
    with pytest.raises(RequestError, match=says):
        People(store).enroll("Ada", photos, EXPERT, YES)
    assert People(store).list() == ()


def test_a_program_in_place_of_a_photo_is_handed_to_nobody(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interpreted(*_: object, **__: object) -> None:
        raise AssertionError("PostScript was run")

    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", interpreted)
    photo = tmp_path / "anna.jpg"
    photo.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 40 30\n%%EndComments\nshowpage\n%%EOF\n")
    with pytest.raises(RequestError, match="is no picture that can be read"):
        People(store).enroll("Ada", [photo], EXPERT, YES)


def test_a_later_photo_of_somebody_else_is_refused(store: Store, tmp_path: Path) -> None:
    people = People(store)
    people.enroll("Ada", [picture(tmp_path, 10)], EXPERT, YES)
    with pytest.raises(RequestError, match="does not look like"):
        people.enroll("Ada", [picture(tmp_path, 30)], EXPERT, YES)
    assert people.list()[0].n_photos == 1


def test_nobody_without_a_yes_a_name_or_a_photo(store: Store, tmp_path: Path) -> None:
    photos = [picture(tmp_path, 10)]
    for name, given, consent, says in (
        ("Ada", photos, Consent(" ", YES.at), "nobody said yes"),
        ("  ", photos, YES, "is no name"),
        ("A" * 81, photos, YES, "is no name"),
        ("Ada\n", [], YES, "no photo of 'Ada'"),
        ("A\x1bda", photos, YES, "is no name"),
    ):
        with pytest.raises(RequestError, match=says):
            People(store).enroll(name, given, EXPERT, consent)
    assert People(store).list() == ()


def test_files_that_are_no_pictures(store: Store, tmp_path: Path) -> None:
    text = tmp_path / "note.jpg"
    text.write_text("not a picture")
    cut = tmp_path / "cut.png"
    cut.write_bytes(picture(tmp_path, 10).read_bytes()[:60])
    for path, says in ((text, "no picture"), (cut, "no picture"), (tmp_path / "absent.jpg", "cannot read the photo")):
        with pytest.raises(RequestError, match=says):
            People(store).enroll("Ada", [path], EXPERT, YES)


def test_a_photo_of_too_many_pixels_is_not_unpacked(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hearth_video.footage.people._N_MAX_PIXELS", 1000)
    with pytest.raises(RequestError, match="40 x 30 pixels"):
        People(store).enroll("Ada", [picture(tmp_path, 10)], EXPERT, YES)


def test_those_who_look_alike_are_said(store: Store, tmp_path: Path) -> None:
    people = People(store)
    people.enroll("Ada", [picture(tmp_path, 10)], EXPERT, YES)
    assert people.enroll("Bea", [picture(tmp_path, 70)], EXPERT, YES).looks_like == ("Ada",)
    assert people.enroll("Cem", [picture(tmp_path, 30)], EXPERT, YES).looks_like == ()


def saw(store: Store, number: int, of: Vector, name: str = "") -> None:
    with store.transaction() as cursor:
        cursor.execute("INSERT OR IGNORE INTO camera VALUES ('c', 'kitchen')")
        cursor.execute(
            "INSERT OR IGNORE INTO recording (number, id, camera, path, n_bytes, digest, start, start_unix_s, duration_s,"
            " width, height, codec, start_from) VALUES (1, 'r', 'c', '', 0, '', '', 0, 0, 0, 0, '', '')"
        )
        cursor.execute(
            "INSERT INTO sighting (number, recording, start_s, end_s, confidence, name) VALUES (?, 1, 0, 1, 1, ?)",
            (number, name),
        )
        cursor.execute(
            "INSERT INTO sighting_face (sighting, at_s, quality, vector) VALUES (?, 0, 1, ?)",
            (number, of.astype("<f4").tobytes()),
        )
        cursor.execute(
            "INSERT INTO sighting_thumbnail (sighting, at_s, jpeg) VALUES (?, 0, ?)", (number, b"picture %d" % number)
        )


def test_forgotten_vectors_are_in_no_byte_of_the_file(store: Store, tmp_path: Path) -> None:
    people = People(store)
    people.enroll("Ada", [picture(tmp_path, 10), picture(tmp_path, 20)], EXPERT, YES)
    people.enroll("Cem", [picture(tmp_path, 30)], EXPERT, YES)
    saw(store, 1, vector(1, 0.2), "Ada")
    saw(store, 2, vector(1, 0.25))  # nobody said it was Ada, and it is near her
    saw(store, 3, vector(2, 0.2), "Cem")
    assert people.forget("ADA") == 4
    assert [known.name for known in people.known()] == ["Cem"]
    assert [row["name"] for row in store.query("SELECT name FROM sighting ORDER BY number")] == ["", "", "Cem"]
    store.close()
    held = b"".join(path.read_bytes() for path in tmp_path.glob("hearth.db*"))
    assert [n for n in (1, 2, 3) if b"picture %d" % n in held] == [3]
    for gone in (vector(1), vector(1, 0.4), vector(1, 0.2), vector(1, 0.25)):
        assert gone.astype("<f4").tobytes()[:64] not in held
    for kept in (vector(2), vector(2, 0.2)):
        assert kept.astype("<f4").tobytes()[:64] in held


def test_forgetting_somebody_unknown_names_those_enrolled(store: Store, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="enrolled: nobody yet"):
        People(store).forget("Ada")
    People(store).enroll("Cem", [picture(tmp_path, 30)], EXPERT, YES)
    with pytest.raises(NotFound, match="enrolled: 'Cem'"):
        People(store).forget("Ada")


def test_the_library_enrols_and_forgets_as_the_page_asks(store: Store, tmp_path: Path) -> None:
    (tmp_path / "hearth.toml").write_text("")
    nothing: Any = None
    library = Library(store, EventMemory(store), Settings(), Experts(nothing, EXPERT, nothing, nothing))
    done = library.enroll("Ada", picture(tmp_path, 10), "Ada")
    assert (done.name, done.n_photos, done.consent_by, done.looks_like) == ("Ada", 1, "Ada", ())
    assert library.enroll("Ada", picture(tmp_path, 20), "Ada").n_photos == 2
    with pytest.raises(RequestError, match="shows no face"):
        library.enroll("Ben", picture(tmp_path, 40), "Ben")
    assert [one.name for one in library.enrolled()] == ["Ada"]
    library.forget_face("ada")
    assert library.enrolled() == ()
    with pytest.raises(NotFound):
        library.forget_face("Ada")
