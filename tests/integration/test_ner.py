"""The shipped tagger finds what it found when it was made; any tagger keeps its promises on any text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.errors import ConfigError
from hearth.models.lora_encoder import MATRICES, WIDTH, packed, unpacked
from hearth.models.ner import (
    AFTER_LINE,
    GLUED,
    HEADS,
    KINDS,
    LEAST_CHANCE,
    NAMES,
    TAGGER_FILE,
    WINDOW_TOKENS,
    Span,
    Tagger,
    pieces_of,
    spans_of,
    tokens_of,
    windows,
)
from hearth.models.sentence_encoder import shared_tokenizer
from tests.work import grows_in_step


def random_tagger(seed: int = 0) -> bytes:
    rng = np.random.default_rng(seed)
    heads = {name: rng.normal(0, 0.2, shape).astype(np.float32) for name, shape in HEADS.items()}
    low = {f"{name}.down": rng.normal(0, 0.05, (2, WIDTH)).astype(np.float32) for name in MATRICES[:3]}
    low |= {f"{name}.up": rng.normal(0, 0.05, (WIDTH, 2)).astype(np.float32) for name in MATRICES[:3]}
    return packed(low, heads)


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return Tagger.shipped()


@pytest.fixture(scope="module")
def stray(tmp_path_factory: pytest.TempPathFactory) -> Tagger:
    """A tagger of random weights: it finds anything anywhere."""
    path = tmp_path_factory.mktemp("tagger") / "tagger.npz"
    path.write_bytes(random_tagger())
    return Tagger.open(path)


def named(text: str, spans: list[Span]) -> list[tuple[str, str]]:
    return [(text[s.start : s.end], s.kind) for s in spans if s.kind in NAMES]


# ── What is shipped ───────────────────────────────────────────────────────────────────────────────────────


def test_the_shipped_file_is_small_and_whole() -> None:
    data = TAGGER_FILE.read_bytes()
    assert len(data) <= 4_000_000
    adapter, heads = unpacked(data, HEADS)
    assert set(heads) == set(HEADS)
    assert all(np.isfinite(v).all() for v in adapter.values())


FOUND = [
    ("Call Siobhan Okafor about the invoice.", [("Siobhan Okafor", "person")]),
    ("remind me to text kenji at nine", [("kenji", "person")]),
    ("My new address is 14 Larkspur Lane, Millbrook.", [("14 Larkspur Lane, Millbrook", "address")]),
    ("She works at Thornbury and Sons in Leeds", [("Thornbury and Sons", "organisation"), ("Leeds", "place")]),
    ("Meine Adresse ist Ahornstraße 7, 50667 Köln.", [("Ahornstraße 7, 50667 Köln", "address")]),
    ("J'habite 12 rue des Lilas, Lyon.", [("12 rue des Lilas, Lyon", "address")]),
]
NOTHING = [
    "Set an alarm for 7 tomorrow morning",
    "Will it rain on Friday?",
    "Mark the task as done and turn off the kitchen lights",
    "Play Inception on Netflix",
    "may i leave early",
    "add milk, eggs and bread to my shopping list",
    "",
    "   \n",
    "?!",
]


@pytest.mark.parametrize(("text", "expected"), FOUND)
def test_names_are_found(tagger: Tagger, text: str, expected: list[tuple[str, str]]) -> None:
    assert named(text, tagger.spans([text])[0]) == expected


@pytest.mark.parametrize("text", NOTHING)
def test_ordinary_words_are_left_alone(tagger: Tagger, text: str) -> None:
    assert named(text, tagger.spans([text])[0]) == []


def test_the_numbers_are_those_of_the_file(tagger: Tagger) -> None:
    """Guards the graph, the rounding, the tokens and the shapes at once: any of them changed moves these chances."""
    (spans,) = tagger.spans(["dinner with rose at the green leaf on friday, 9 Quarry Road, Ashby"])
    assert [(s.start, s.end, s.kind) for s in spans] == [span[:3] for span in GUARD]
    assert [s.chance for s in spans] == pytest.approx([span[3] for span in GUARD], abs=0.06)


GUARD = [(12, 16, "person", 0.874), (20, 34, "organisation", 0.926), (46, 66, "address", 0.989)]
"""Chances of the network in full precision, which seven bits come near."""


def test_a_name_deep_in_a_long_text_is_found(tagger: Tagger) -> None:
    filler = "The meeting was long and nothing was decided, so we will meet again next week. "
    for n in (5, 14, 15, 16, 60):
        text = filler * n + "Please call Siobhan Okafor today. " + filler * 20
        assert ("Siobhan Okafor", "person") in named(text, tagger.spans([text])[0]), n


def test_a_name_beyond_the_first_block_is_found_where_it_stands(
    tagger: Tagger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hearth.models.ner._BLOCK_CHARACTERS", 500)
    filler = "The meeting was long and nothing was decided. "
    text = filler * 30 + "Please call Siobhan Okafor today."
    (span,) = (s for s in tagger.spans([text])[0] if s.kind in NAMES)
    assert text[span.start : span.end] == "Siobhan Okafor"


def test_a_text_does_not_depend_on_its_company(tagger: Tagger) -> None:
    texts = [text for text, _ in FOUND]
    assert tagger.spans(texts) == [tagger.spans([text])[0] for text in texts]


# ── What holds for every tagger ───────────────────────────────────────────────────────────────────────────

_HOSTILE = st.text(
    st.one_of(st.characters(), st.sampled_from("aA1 \n\t.,'-@\u200b\u202e\ud800\x00éßİ漢🙂")), max_size=400
)


@settings(max_examples=60)
@given(_HOSTILE)
def test_spans_lie_in_the_text_in_order_and_apart(stray: Tagger, text: str) -> None:
    (spans,) = stray.spans([text])
    place = 0
    for span in spans:
        assert place <= span.start < span.end <= len(text)
        assert text[span.start : span.end].strip()
        assert span.kind in KINDS
        assert LEAST_CHANCE / 8 < span.chance <= 1
        place = span.end


@given(st.integers(1, 5000))
def test_windows_take_each_token_once_with_room_around(n_tokens: int) -> None:
    taken: list[int] = []
    for first, last, kept_first, kept_last in windows(n_tokens):
        assert 0 <= first <= kept_first < kept_last <= last <= n_tokens
        assert last - first <= WINDOW_TOKENS
        assert kept_first == 0 or kept_first - first >= 16
        assert kept_last == n_tokens or last - kept_last >= 16
        taken += range(kept_first, kept_last)
    assert taken == list(range(n_tokens))


@given(st.text(st.sampled_from("ab \n"), max_size=9000))
def test_pieces_cover_the_text(text: str) -> None:
    assert "".join(text[a:b] for a, b in pieces_of(text)) == text


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("anna Anna ANNA A McDonald 12 b12 漢", [1, 2, 3, 7, 4, 5, 6, 8]),
        ("!", [0]),
    ],
)
def test_the_shape_of_a_word_is_seen(text: str, shapes: list[int]) -> None:
    tokens = tokens_of(shared_tokenizer(), text)
    starts = [i for i, (a, _) in enumerate(tokens.spans) if a == 0 or text[a - 1] == " "]
    assert [int(tokens.shapes[i, :AFTER_LINE].argmax()) for i in starts] == shapes


def test_a_new_line_and_a_missing_space_are_seen() -> None:
    tokens = tokens_of(shared_tokenizer(), "one\ntwo,three")
    assert tokens.shapes[:, AFTER_LINE].tolist() == [1, 1, 0, 0]
    assert tokens.shapes[:, GLUED].tolist() == [0, 0, 1, 1]


def test_whole_words_are_taken_and_neighbours_joined() -> None:
    text = "Tell Ann Lee, Bob\nand Eve-Marie"
    tokens = tokens_of(shared_tokenizer(), text)
    chances = np.zeros((len(tokens.ids), 1 + len(KINDS)), dtype=np.float32)
    chances[:, 0] = 1
    for word in ("Ann", "Lee", "Bob", "Eve", "Mar"):
        for row, (a, b) in enumerate(tokens.spans):
            if text[a:b].lower() in (word.lower(), "marie"):
                chances[row] = 0
                chances[row, 1] = 1
    found = [text[s.start : s.end] for s in spans_of(text, tokens.spans, chances)]
    assert found == ["Ann Lee", "Bob", "Eve-Marie"]


def test_a_long_text_takes_work_in_step_with_its_length(stray: Tagger) -> None:
    assert grows_in_step(lambda n: stray.spans(["some words and a name " * n]), 100, 400)


def test_one_word_without_end_is_read_in_pieces(stray: Tagger) -> None:
    (spans,) = stray.spans(["x" * 50_000])
    assert all(s.end <= 50_000 for s in spans)


def test_one_string_is_refused(stray: Tagger) -> None:
    with pytest.raises(TypeError, match=r"spans takes a list of texts, got one string 'Anna'"):
        stray.spans("Anna")


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "head"])
def test_a_damaged_file_is_refused_with_the_way_out(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "tagger.npz"
    if damage == "empty":
        path.write_bytes(b"")
    elif damage == "cut":
        path.write_bytes(random_tagger()[:-200])
    elif damage == "head":
        path.write_bytes(packed({}, {"tag": np.zeros((2, WIDTH), np.float32)}))
    with pytest.raises(ConfigError, match=r"the tagger's file .*tagger.npz.* cannot be read .*training.ner.ner_train"):
        Tagger.open(path)
