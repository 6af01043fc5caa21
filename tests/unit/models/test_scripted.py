"""The doubles of models keep the seams they stand in for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.errors import PlannerError
from hearth.models.llm.scripted import ScriptedModel
from hearth.testing import HashEncoder


def test_replies_come_in_turn_and_what_was_asked_is_kept() -> None:
    model = ScriptedModel(["one", PlannerError("the cable is out"), "two"])
    assert model.complete([{"role": "user", "content": "a"}]) == "one"
    with pytest.raises(PlannerError, match="the cable is out"):
        model.complete([{"role": "user", "content": "b"}], {"type": "object"})
    assert model.complete([]) == "two"
    assert model.asked == [
        (({"role": "user", "content": "a"},), None),
        (({"role": "user", "content": "b"},), {"type": "object"}),
        ((), None),
    ]


def test_out_of_replies() -> None:
    model = ScriptedModel(["only"])
    model.complete([])
    with pytest.raises(PlannerError, match="has 1 replies and was asked once more; add one"):
        model.complete([])


@settings(deadline=None)
@given(st.lists(st.text(), max_size=6), st.sampled_from([1, 8, 64, 100]))
def test_hash_encoder_gives_unit_vectors_the_same_every_time(texts: list[str], dim: int) -> None:
    vectors = HashEncoder(dim).encode(texts)
    assert vectors.shape == (len(texts), dim)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    np.testing.assert_array_equal(vectors, HashEncoder(dim).encode(texts))


def test_hash_encoder_shared_words_are_near() -> None:
    a, b, c = HashEncoder().encode(["Call Anna tomorrow", "tomorrow call anna!", "delete every photo of Lisbon"])
    assert a @ b == pytest.approx(1.0, abs=1e-5)
    assert a @ c < 0.5


def test_hash_encoder_refuses_one_string() -> None:
    with pytest.raises(TypeError, match="got one string 'call'"):
        HashEncoder().encode("call")
