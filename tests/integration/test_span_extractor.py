"""The reader's rows hold every question, its adapter file is checked, and a random adapter already keeps every promise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hearth.errors import ConfigError
from hearth.models.lora_encoder import MATRICES, WIDTH, AdaptedEncoder, Array, packed, unpacked
from hearth.models.sentence_encoder import MiniLMEncoder, shared_tokenizer
from hearth.models.span_extractor import (
    FORM_TOKENS,
    GIVEN,
    HEADS,
    MARKS,
    N_SIGNS,
    OPTION,
    SPAN,
    WINDOW_TOKENS,
    Form,
    Pieces,
    Question,
    SpanReader,
)

TEXT = "user: I want a table for two.\nagent: Where?\nuser: At Gino's, tomorrow."
FORM = Form(
    "book table: Book a table",
    (Question("required place"), Question("optional seats", ("1", "2", "3")), Question("required booking")),
    ("step 1 find gives id", "step 1 find gives name"),
)


def random_adapter(seed: int = 0) -> bytes:
    rng = np.random.default_rng(seed)
    heads = {name: rng.normal(0, 0.05, shape).astype(np.float32) for name, shape in HEADS.items()}
    low = {}
    for name in MATRICES[:3]:
        low[f"{name}.down"] = rng.normal(0, 0.05, (2, WIDTH)).astype(np.float32)
        low[f"{name}.up"] = rng.normal(0, 0.05, (WIDTH, 2)).astype(np.float32)
    return packed(low, heads)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("adapter") / "reader.npz"
    path.write_bytes(random_adapter())
    return path


@pytest.fixture(scope="module")
def reader(adapter: Path, cache: Path) -> SpanReader:
    return SpanReader.open(adapter, cache, n_threads=1)


@pytest.fixture(scope="module")
def pieces() -> Pieces:
    return Pieces(shared_tokenizer())


def test_an_empty_adapter_gives_the_encoder(cache: Path) -> None:
    plain = AdaptedEncoder.open({}, "none", cache, n_threads=1)
    ids = [101, 2655, 2026, 3566, 102]  # call my mom
    states = plain.states((plain.words[ids] + plain.places[:5] + plain.segments[0]).astype(np.float32))
    mean = states.mean(axis=0)
    expected = MiniLMEncoder.open(cache).encode(["call my mom"])[0]
    assert float(mean @ expected / np.linalg.norm(mean)) > 0.98  # int8 against float32


def test_a_row_holds_the_parts_in_order(pieces: Pieces) -> None:
    (row,) = pieces.rows(FORM, TEXT)
    assert row.ids[0] == 101
    assert [int(row.ids[at]) for at in row.question_at] == [MARKS[0]] * 3
    assert [len(at) for at in row.options_at] == [0, 3, 0]
    assert [int(row.ids[at]) for at in row.options_at[1]] == [MARKS[1]] * 3
    assert [int(row.ids[at]) for at in row.given_at] == [MARKS[2]] * 2
    assert max(row.given_at) < row.text_first
    said = [TEXT[a:b] for a, b in row.spans]
    assert "".join(said) == "".join(TEXT.split())
    assert len(row.ids) == row.text_first + len(row.spans) + 1


def test_a_long_form_is_read_in_several_passes(pieces: Pieces, reader: SpanReader) -> None:
    questions = tuple(Question(f"required parameter {k} of many, with words that take room") for k in range(40))
    rows = pieces.rows(Form("tool", questions), TEXT)
    assert len(rows) > 1
    assert [q for row in rows for q in row.questions] == list(range(40))
    assert all(row.text_first <= FORM_TOKENS + 40 for row in rows)
    assert len(reader.read(Form("tool", questions), TEXT).answers) == 40


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("user: one\n" + "agent: blah blah\n" * 4000 + "user: the end", None, "end"),
        ("start here " + "blah " * 20_000 + "stop here", "start", "here"),
    ],
)
def test_of_a_long_text_the_telling_parts_are_read(pieces: Pieces, text: str, first: str | None, last: str) -> None:
    (row,) = pieces.rows(FORM, text)
    assert len(row.ids) <= WINDOW_TOKENS
    said = [text[a:b] for a, b in row.spans]
    assert said[-1] == last
    assert first is None or said[0] == first


def test_answers_are_chances(reader: SpanReader) -> None:
    signs = np.ones((3, 2, N_SIGNS), np.float32)
    reading = reader.read(FORM, TEXT, signs).answers
    for answer, n_options in zip(reading, (0, 3, 0)):
        for scores in (answer.kinds, answer.start, answer.end, answer.given):
            assert np.exp(scores).sum() == pytest.approx(1.0, abs=1e-4)
        assert len(answer.options) == n_options
        assert len(answer.start) == len(answer.spans)
        assert (answer.kinds[OPTION] < -1000) == (n_options == 0)
    assert all(a.kinds[GIVEN] < -1000 for a in reader.read(Form("x", (Question("y"),)), TEXT).answers)


@pytest.mark.parametrize(
    "text", ["", " \n", "\ud800 lone", "日本語のテキスト", "\x00\x01", "a" * 10_000_000, "🙂" * 3000]
)
def test_hostile_texts(reader: SpanReader, text: str) -> None:
    reading = reader.read(FORM, text).answers
    assert len(reading) == 3
    for answer in reading:
        assert all(0 <= a <= b <= len(text) for a, b in answer.spans)
        assert len(answer.spans) or answer.kinds[SPAN] < -1000


def test_no_questions(reader: SpanReader) -> None:
    assert reader.read(Form("tool", ()), TEXT).answers == ()


def test_the_same_question_has_the_same_answer(reader: SpanReader, adapter: Path, cache: Path) -> None:
    again = SpanReader.open(adapter, cache, n_threads=1)
    for one, other in zip(reader.read(FORM, TEXT).answers, again.read(FORM, TEXT).answers):
        np.testing.assert_array_equal(one.kinds, other.kinds)
        np.testing.assert_array_equal(one.start, other.start)


def test_the_fit_is_read_without_questions_too(reader: SpanReader) -> None:
    assert np.isfinite(reader.read(Form("tool", ()), "").fit)
    assert reader.read(FORM, TEXT).fit != reader.read(Form("tool", ()), TEXT).fit


def test_vectors_are_unit(reader: SpanReader) -> None:
    vectors = reader.vectors(["book a table", ""])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1.0, 1.0], abs=1e-5)


def test_a_damaged_graph_is_built_again(adapter: Path, reader: SpanReader, cache: Path) -> None:
    expected = reader.read(FORM, TEXT).answers
    (graph,) = [p for p in cache.rglob("adapted-*.onnx") if p.stat().st_mtime_ns >= adapter.stat().st_mtime_ns][-1:]
    graph.write_bytes(b"damaged")
    again = SpanReader.open(adapter, cache, n_threads=1).read(FORM, TEXT).answers
    for one, other in zip(expected, again, strict=True):
        np.testing.assert_allclose(one.kinds, other.kinds, atol=1e-4)


def _without(name: str) -> bytes:
    adapter, heads = unpacked(random_adapter(), HEADS)
    return packed(adapter, {k: v for k, v in heads.items() if k != name})


def _misshapen(name: str) -> bytes:
    adapter, heads = unpacked(random_adapter(), HEADS)
    changed: dict[str, Array] = {**heads, name: heads[name][:1]}
    return packed(adapter, changed)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "cannot be read"),
        (b"PK\x03\x04 not really", "cannot be read"),
        (_without("start"), "its part 'start' is missing or not of shape (384, 384)"),
        (_misshapen("kind"), "its part 'kind' is missing"),
    ],
)
def test_a_bad_adapter_is_refused(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "reader.npz"
    path.write_bytes(data)
    with pytest.raises(ConfigError, match="the reader's adapter") as caught:
        SpanReader.open(path)
    assert words in str(caught.value)
    assert "python -m training.span_extractor_train" in str(caught.value)


def test_a_missing_adapter_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="none"):
        SpanReader.open(tmp_path / "none.npz")


def test_a_file_survives_packing() -> None:
    adapter, heads = unpacked(random_adapter(3), HEADS)
    assert packed(adapter, heads) == random_adapter(3)


def test_half_a_surrogate_pair_is_cut_into_pieces_as_any_letter(pieces: Pieces) -> None:
    assert pieces.ids("wa\ud800ter", 8) == pieces.ids("wa?ter", 8)
