"""Vectors looked up in place of read."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hearth.agent import shipped_demonstrations
from hearth.models.sentence_encoder import ShippedVectors
from hearth.planning.arguments import alignment
from hearth.planning.arguments.alignment import explain, lessons_of
from hearth.types import Plan


def unit_vectors(n: int) -> NDArray[np.float32]:
    drawn = np.random.default_rng(0).normal(size=(n, 384)).astype(np.float32)
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True), dtype=np.float32)


@given(st.lists(st.text(), unique=True, min_size=1, max_size=20), st.lists(st.text(), max_size=5))
def test_each_text_has_its_vector_and_no_other_has_one(kept: list[str], others: list[str]) -> None:
    vectors = unit_vectors(len(kept))
    table = ShippedVectors.of(kept, vectors)
    found = table.at(table.places_of(kept))
    assert (found * vectors).sum(axis=1).min() > 0.9999
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
    unknown = [text for text in others if text not in kept]
    assert (table.places_of(unknown) == -1).all()


def test_a_text_that_comes_twice_is_kept_once() -> None:
    assert len(ShippedVectors.of(["a", "b", "a"], unit_vectors(3)[[0, 1, 0]])) == 2


def test_every_shipped_demonstration_is_in_the_file() -> None:
    explained = [(one, explain(one)) for one in shipped_demonstrations()]
    assert all(lessons_of(one) == lessons for one, lessons in explained), "lessons are old: make them again"
    lessons = [lesson for _, mine in explained for lesson in mine]
    texts = {text for lesson in lessons for text in (lesson.form, lesson.plain)}
    missing = [text for text in texts if ShippedVectors.open().places_of([text])[0] < 0]
    assert not missing, "make them again: python -m training.shipped_vectors_make"
    assert len(ShippedVectors.open()) == len(texts), "vectors of texts that ship no more: make them again"


def test_a_demonstration_that_differs_in_anything_is_explained_as_ever() -> None:
    one = next(one for one in shipped_demonstrations() if one.plan.steps)
    (found, *_) = lessons_of(replace(one, request=f"{one.request} please"))
    assert found.words[-1] == "please"
    assert lessons_of(replace(one, plan=Plan(())))[0].steps == ()
    assert lessons_of(replace(one, source="owner")) == explain(one)


@pytest.mark.parametrize("kept", [b"", b"no archive", None])
def test_without_a_whole_file_lessons_are_explained_as_ever(
    kept: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = shipped_demonstrations()[0]
    whole = (files("hearth.data") / alignment.LESSONS_FILE).read_bytes()
    (tmp_path / alignment.LESSONS_FILE).write_bytes(whole[: len(whole) // 2] if kept is None else kept)
    monkeypatch.setattr(alignment, "files", lambda _: tmp_path)
    alignment.release_lessons()
    assert lessons_of(one) == explain(one)
    alignment.release_lessons()
