"""PrefEval's figures: the place of an option, which gives the answer away in the files, is worth nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from hearth.testing import HashEncoder
from hearth_bench.suites.preferences_suite import PreferenceCase, measure_preferences

OPTIONS = ("oak benches", "wicker chairs", "wicker stools", "wicker sofas")
CASES = [
    PreferenceCase(f"I hate wicker, number {k}.", f"What to sit on in garden number {k}?", OPTIONS) for k in range(200)
]


class Blind:
    """Everything is alike to it."""

    dim = 384

    def encode(self, texts: Sequence[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        return np.full((len(texts), self.dim), self.dim**-0.5, np.float32)


def test_who_sees_no_difference_is_right_by_chance() -> None:
    figures = measure_preferences(CASES, Blind())
    for name in ("choice_right", "given_choice_right", "floor_question_choice_right", "floor_odd_one_choice_right"):
        assert figures[name] == pytest.approx(0.25, abs=0.1), name
    assert figures["floor_chance_choice_right"] == 0.25


def test_who_sees_the_difference_is_right_in_whatever_order() -> None:
    for seed in (1, 2):
        figures = measure_preferences(CASES[:20], HashEncoder(384), seed)
        assert figures["given_choice_right"] == 1
        assert figures["prefeval_shuffle_seed"] == seed
        assert figures["prefeval_n_choices"] == 20


def test_a_floor_that_sees_no_difference_finds_by_chance() -> None:
    alike = [PreferenceCase(f"I hate wicker {'wicker ' * k}", "What about wicker?", ()) for k in range(40)]
    figures = measure_preferences(alike, Blind())
    for name in ("floor_words_", "floor_meaning_"):
        assert figures[f"{name}preference_recall_at_1"] == 1 / 40
        assert figures[f"{name}preference_recall_at_10"] == 10 / 40
