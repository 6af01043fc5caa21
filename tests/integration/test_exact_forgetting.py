"""Forgetting with the encoder that ships: its rounding leaves no trace of one demonstration in the vectors of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.learning.unlearning import Sought, find, forget
from hearth.learning.versions.learned_state import Offer, State
from hearth.models.sentence_encoder import MiniLMEncoder
from tests.small_world import TOOLS, lessons, shown

pytestmark = pytest.mark.usefixtures("real_encoder")


def test_with_the_shipped_encoder_what_is_forgotten_leaves_no_trace_in_what_came_with_it(tmp_path: Path) -> None:
    encoder = MiniLMEncoder.open()
    with State.open(tmp_path / "a", encoder, Offer(TOOLS)) as state:
        state.learn(lessons(24))
        whole = state.digest()
        state.learn([shown("mine", "order_pizza", source="owner")])
        state.rollback(1)
        state.rollback(2)
        state.rollback(1)
        assert state.digest() == whole
        forget(state, find(state.store, Sought(demonstrations=["d003", "d004"])))
        left = state.digest()
    with State.open(tmp_path / "b", encoder, Offer(TOOLS)) as state:
        state.learn([one for one in lessons(24) if one.id not in ("d003", "d004")])
        assert state.digest() == left
