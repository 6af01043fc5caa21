"""Learnt scores of free text: shapes, what is known, and that nothing is read in vain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.formats.plans import canonical
from hearth.models.sentence_encoder import TokenVectors
from hearth.planning.arguments.alignment import tokens_of
from hearth.planning.arguments.binding import TEXT_TYPES
from hearth.planning.arguments.span_boundaries import HeardWords, ReadSpans, SpanScorer, shape_of, vectors_of
from hearth.registry import load_tools
from hearth.types import ToolSpec

DIM = 384


class Counting:
    """An encoder double: each piece is a word, its vector all ones; counts how often it is asked."""

    def __init__(self) -> None:
        self.n_asked = 0

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        self.n_asked += 1
        found = []
        for text in texts:
            spans, place = [(0, 0)], 0
            for word in text.split():
                place = text.index(word, place)
                spans.append((place, place + len(word)))
            n = len(spans)
            found.append(
                TokenVectors(
                    np.ones(DIM, np.float32),
                    np.ones((n, DIM), np.float32),
                    np.array(spans, np.int32),
                    np.zeros(n, np.float32),
                )
            )
        return found


@pytest.fixture(scope="module")
def tools() -> Mapping[str, ToolSpec]:
    return load_tools(None).specs


def test_what_was_trained_are_free_texts_of_tools_that_there_are(tools: Mapping[str, ToolSpec]) -> None:
    scorer = SpanScorer.shipped()
    known = {(tool, p.name) for tool, spec in tools.items() for p in spec.parameters if scorer.knows(tool, p.name)}
    assert len(known) == scorer.n_parameters, "a parameter was trained that no tool has"
    for tool, name in known:
        parameter = tools[tool].parameter(name)
        assert parameter is not None
        assert canonical(parameter.type) in TEXT_TYPES
        assert not parameter.enum


def test_another_tool_is_not_known() -> None:
    scorer = SpanScorer.shipped()
    assert not scorer.knows("book_ferry", "port")
    with pytest.raises(KeyError):
        scorer.score(scorer.read(["a"], np.zeros((1, DIM), np.float32)), "book_ferry", "port")


@given(st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=40), st.integers(0, 2**31))
def test_every_word_has_finite_scores(words: list[str], seed: int) -> None:
    scorer = SpanScorer.shipped()
    vectors = np.random.default_rng(seed).normal(size=(len(words), DIM)).astype(np.float32)
    scores = scorer.score(scorer.read(words, vectors), "add_to_list", "items")
    for values in (scores.begins, scores.ends, scores.inside):
        assert values.shape == (len(words),)
        assert np.isfinite(values).all()
    assert np.isfinite(scores.absent)


def test_a_request_is_read_once_and_only_where_something_is_asked_of_it() -> None:
    text, encoder = "put milk on the list", Counting()
    heard = HeardWords(encoder, text)
    spans = ReadSpans(SpanScorer.shipped(), tokens_of(text, ()), heard)
    assert spans.score("book_ferry", "port") is None
    assert encoder.n_asked == 0
    assert spans.score("add_to_list", "items") is not None
    assert spans.score("add_to_list", "list") is not None
    assert encoder.n_asked == 1


def test_nothing_said_has_no_scores() -> None:
    encoder = Counting()
    assert ReadSpans(SpanScorer.shipped(), (), HeardWords(encoder, "")).score("add_to_list", "items") is None
    assert encoder.n_asked == 0


def test_a_word_past_what_was_read_has_zeros() -> None:
    (read,) = Counting().encode_tokens(["put milk"])
    vectors = vectors_of(tokens_of("put milk on it", ()), read)
    assert vectors.shape == (4, DIM)
    assert vectors[:2].all()
    assert not vectors[2:].any()


@pytest.mark.parametrize(
    ("word", "shape"),
    [
        ("<date>", (True, False, False, False)),
        (",", (False, True, False, True)),
        ("12", (False, False, True, True)),
        ("garden", (False, False, False, False)),
    ],
)
def test_shapes(word: str, shape: tuple[bool, ...]) -> None:
    assert shape_of(word) == shape
