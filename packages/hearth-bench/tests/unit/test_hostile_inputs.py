"""A small run of the corpus of hostile files: every question is answered, with the good file found."""

from __future__ import annotations

import pytest

from hearth_bench.measure.guard import hostile_inputs
from hearth_bench.measure.guard.hostile_inputs import answered, inputs, measure


def test_the_corpus_is_the_same_for_the_same_seed_and_another_for_another() -> None:
    assert list(inputs(30, 7)) == list(inputs(30, 7))
    assert list(inputs(30, 7)) != list(inputs(30, 8))


def test_no_hostile_file_keeps_the_good_one_from_being_found() -> None:
    found = measure(240, seed=17)
    assert found["outcomes"] == {"found": 240}, found["not_answered"]
    assert found["n_over_limit"] == 0


def test_a_tool_that_fails_or_finds_nothing_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: object) -> object:
        raise IndexError

    kind = hostile_inputs.KINDS["notes"]
    for ask, outcome in ((fails, "IndexError"), (lambda _: [], "not found")):
        monkeypatch.setitem(hostile_inputs.KINDS, "notes", hostile_inputs.Kind(kind.path, kind.seeds, kind.good, ask))
        assert answered("notes", b"x")[0] == outcome
