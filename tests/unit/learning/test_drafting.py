"""The student that drafts: made of what is remembered, as it counts now, and nothing of it read again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hearth.learning.versions import drafting
from hearth.learning.versions.drafting import solved
from hearth.learning.versions.learned_state import Offer, State
from hearth.testing import HashEncoder
from tests.small_world import OPTIONS, TOOLS, lessons, opened, shown
from tests.small_world import few_features as few_features


class Listening(HashEncoder):
    """Keeps what it is asked to encode."""

    def __init__(self) -> None:
        super().__init__(32)
        self.heard: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.heard += texts
        return super().encode(texts)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafting, "options_of", lambda _: OPTIONS)


def test_nothing_that_is_remembered_is_read_again(tmp_path: Path) -> None:
    with opened(tmp_path) as state:
        state.learn(lessons(24))
        expected = solved(state)
    encoder = Listening()
    with State.open(tmp_path, encoder, Offer(TOOLS)) as state:
        student = solved(state)
    assert student.ids == tuple(sorted(one.id for one in lessons(24)))
    assert not any("please" in text for text in encoder.heard)  # as every lesson says, and no tool
    assert np.array_equal(student.heads.weights, expected.heads.weights)


def test_what_was_taught_since_the_last_version_counts(tmp_path: Path) -> None:
    with opened(tmp_path) as state:
        state.learn(lessons(24))
        state.teach(
            [shown("new", "order_pizza", source="owner"), replace(lessons(1)[0], plan=shown("", "set_alarm").plan)]
        )
        student = solved(state)
        assert student.taught("new").sequence == ("order_pizza",)
        assert student.taught("d000").sequence == ("set_alarm",)
        assert len(student) == 25


def test_a_request_gives_the_same_numbers_taught_and_asked(tmp_path: Path) -> None:
    with opened(tmp_path) as state:
        state.learn(lessons(24))
        student = solved(state)
        for one in lessons(8):
            reading, taught = student.read([one.request])[0], student.taught(one.id)
            assert np.abs(reading.vectors - taught.reading.vectors).max() <= 1
            assert np.array_equal(reading.words, taught.reading.words)
