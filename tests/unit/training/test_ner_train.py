"""Sentences for the tagger and its training; needs the extra `train`."""

from __future__ import annotations

import functools
import random
import re
from dataclasses import replace
from pathlib import Path
from unittest.mock import ANY

import pytest

pytest.importorskip("faker", reason="needs the extra 'train' (Faker)")
pytest.importorskip("torch", reason="needs the extra 'train' (torch)")

import torch

from hearth.models.lora_encoder import unpacked
from hearth.models.ner import HEADS, KINDS, Tagger, tokens_of
from hearth.models.sentence_encoder import shared_tokenizer
from training.changed_encoder import ChangedEncoder
from training.ner import ner_train
from training.ner.ner_data import (
    Example,
    Sentences,
    is_held_form,
    read_forms,
    skeleton,
    without_names,
)
from training.ner.ner_train import Options, row_of, train
from training.ner.ner_values import KIND_OF_SLOT, Values, chosen


@pytest.fixture(scope="module")
def values() -> Values:
    return Values(1)


def test_every_form_can_be_filled(values: Values) -> None:
    rng = random.Random(0)
    for section, forms in read_forms().items():
        for form in forms:
            assert form.count("[") == form.count("]"), form
            for slot in re.findall(r"\{(\w+)\}", form):
                assert values.draw(slot, rng, section.partition(".")[0]).strip(), slot


def test_plain_forms_hold_no_marked_slot() -> None:
    for section, forms in read_forms().items():
        if section.endswith(".plain"):
            for form in forms:
                assert not [s for s in re.findall(r"\{(\w+)\}", form) if s in KIND_OF_SLOT], form


def test_the_kinds_are_those_of_the_tagger() -> None:
    assert set(KIND_OF_SLOT.values()) == set(KINDS)


def test_the_same_seed_gives_the_same_examples(values: Values) -> None:
    first, again = ([Sentences(v).example(random.Random(seed)) for seed in range(40)] for v in (values, Values(1)))
    assert first == again


def test_spans_are_in_order_apart_and_not_empty(values: Values) -> None:
    sentences = Sentences(values)
    kinds = set()
    for seed in range(800):
        example = sentences.example(random.Random(seed))
        place = 0
        for start, end, kind in example.spans:
            assert place <= start < end <= len(example.text)
            assert example.text[start:end].strip()
            kinds.add(kind)
            place = end
    assert kinds == set(KINDS)


def test_forms_held_back_are_not_trained_on(values: Values, monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[str] = []

    def noted(form: str, rng: random.Random) -> str:
        used.append(form)
        return chosen(form, rng)

    monkeypatch.setattr("training.ner.ner_data.chosen", noted)
    sentences = Sentences(values)
    for held in (False, True):
        used.clear()
        for seed in range(300):
            sentences.example(random.Random(seed), held=held)
        assert len(set(used)) > 15
        assert {is_held_form(form) for form in used} == {held}


def test_choices_may_lie_in_choices() -> None:
    found = {chosen("a[b|c[d|e]|]", random.Random(seed)) for seed in range(60)}
    assert found == {"ab", "acd", "ace", "a"}


@pytest.mark.parametrize(
    ("request_text", "is_kept"),
    [
        ("Please set an alarm for seven tomorrow morning", True),
        ("I want to listen to music on Spotify", True),
        ("Please book a flight to Lisbon", False),
        ("please write to olga about the report", False),
        ("please pay my card 1234 56789012", False),
        ("I want to meet Mr. Grunwald", False),
        ("go", False),
    ],
)
def test_requests_with_names_are_kept_out(values: Values, request_text: str, is_kept: bool) -> None:
    assert (without_names([request_text], values) == [request_text]) == is_kept


def test_texts_of_one_form_have_one_skeleton() -> None:
    one = skeleton("Call Ann at 7, please!", [(5, 8, "person")])
    assert one == skeleton("call Bob Smith at 12 please", [(5, 14, "person")])
    assert one != skeleton("call the office at 12 please", [])


def test_tokens_get_the_kind_of_their_span() -> None:
    example = Example("call Anna Kowalczyk now", ((5, 19, "person"),))
    tokens = tokens_of(shared_tokenizer(), example.text)
    row = row_of(example, tokens)
    inside = [5 <= a < 19 for a, _ in tokens.spans]
    assert [t == 1 + KINDS.index("person") for t in row.targets] == inside
    assert [t == 0 for t in row.targets] == [not i for i in inside]


def test_training_in_pieces_gives_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: Values
) -> None:
    monkeypatch.setattr(ner_train, "Values", lambda _seed: values)
    single = functools.partial(
        ChangedEncoder, precision=torch.float32
    )  # some processors take ten times as long in half
    monkeypatch.setattr(ner_train, "ChangedEncoder", single)
    monkeypatch.setattr(ner_train, "_POOL", 24)
    monkeypatch.setattr(ner_train, "read_requests", lambda *_: (["set an alarm"], {}))
    options = Options(stages=((2, 1.0), (1, 0.5)), rank=2, batch_tokens=256)
    whole = train(tmp_path, options, tmp_path / "a", float("inf"))
    assert whole is not None
    first = train(tmp_path, replace(options, stages=options.stages[:1]), tmp_path / "c", float("inf"))
    assert first is not None
    assert first[0] != whole[0]
    assert train(tmp_path, options, tmp_path / "c", float("inf"), (1, first[0])) == (whole[0], ANY)
    found = None
    n_pieces = 0
    clock = iter(range(1000))  # every look at it is a second later, so that a piece is a step or two
    monkeypatch.setattr("training.ner.ner_train.time.monotonic", lambda: next(clock))
    while found is None:
        found = train(tmp_path, options, tmp_path / "b", 1.5)
        n_pieces += 1
    assert n_pieces > 1
    assert found[0] == whole[0]
    assert not (tmp_path / "b").exists()
    adapter, _ = unpacked(found[0], HEADS)
    assert any("down" in name for name in adapter)
    path = tmp_path / "tagger.npz"
    path.write_bytes(found[0])
    Tagger.open(path).spans(["call Anna"])
