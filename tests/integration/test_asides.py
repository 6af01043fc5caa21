"""Asides told from wishes, by the weights that ship and the real encoder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.retrieval.recall_planner import is_aside


@pytest.fixture(scope="module")
def encoder() -> MiniLMEncoder:
    return MiniLMEncoder.open()


@pytest.mark.parametrize("clause", ["could you sort that", "jot that down please", "I've got my hands full"])
def test_what_wishes_for_nothing_by_itself(clause: str, encoder: MiniLMEncoder) -> None:
    assert is_aside(clause, encoder)


@pytest.mark.parametrize(
    "clause",
    [
        "pay the gas bill",
        "ring my brother",
        "order a taxi to the airport",
        "play some jazz",
        "water the plants",
        "I need a plumber",
        "post it on facebook",
        "translate it into French",
    ],
)
def test_a_wish_that_nobody_serves_is_none(clause: str, encoder: MiniLMEncoder) -> None:
    assert not is_aside(clause, encoder)


def test_another_encoder_is_not_judged_by() -> None:
    class Narrow:
        dim = 8

        def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
            return np.ones((len(texts), 8), np.float32)

    assert not is_aside("could you sort that", Narrow())
