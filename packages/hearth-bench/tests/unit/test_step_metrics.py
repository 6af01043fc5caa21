"""Scores of steps in words; ROUGE itself is compared with `rouge-score` in test_reference_metrics.py."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hearth.errors import MissingExtraError
from hearth_bench.metrics.step_metrics import (
    bert_score,
    common_length,
    embedding_similarity,
    rouge_n,
    rouge_tokens,
    step_scores,
)


class Letters:
    """Counts of a, b and c."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([[text.count(letter) for letter in "abc"] for text in texts], dtype=np.float32)


def test_similarity_is_the_mean_cosine_and_nothing_is_like_nothing() -> None:
    encoder: object = Letters()
    found = embedding_similarity(["aab", "", "c"], ["aabaab", "a", "a"], encoder)  # type: ignore[arg-type]
    assert found == pytest.approx(1 / 3)
    assert embedding_similarity([""], ["a"], encoder) == 0.0  # type: ignore[arg-type]


def test_scores_of_steps_are_means_over_plans() -> None:
    scores = step_scores([["Find the photo", "Send it"], []], [["find the photo", "send it"], ["x"]])
    assert scores == {"rouge1": 0.5, "rouge2": 0.5, "rougeL": 0.5}
    with pytest.raises(ValueError, match="1 plans for 2 samples"):
        step_scores([[]], [[], []])


def test_other_scripts_are_gaps_as_in_the_source() -> None:
    assert rouge_tokens("Café 10:30, 東京!") == ["caf", "10", "30"]
    assert rouge_n("東京", "東京", 1) == 0.0


@given(st.text("abc", max_size=12), st.text("abc", max_size=12))
def test_the_common_subsequence_is_that_of_the_table(a: str, b: str) -> None:
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1][j + 1] = table[i][j] + 1 if x == y else max(table[i][j + 1], table[i + 1][j])
    assert common_length(a, b) == table[-1][-1]


def test_bertscore_asks_for_its_package_and_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bert_score", None)
    with pytest.raises(MissingExtraError, match="pip install bert-score"):
        bert_score(["a"], ["a"])
    package = ModuleType("bert_score")
    asked = []

    def score(predicted: list[str], gold: list[str], model_type: str) -> list[list[float]]:
        asked.append(model_type)
        return [[0.25, 0.75], [1.0, 1.0], [0.5, 0.5]]

    package.score = score  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "bert_score", package)
    assert bert_score(["a", "b"], ["a", "b"]) == {"precision": 0.5, "recall": 1.0, "f1": 0.5}
    assert asked == ["roberta-large"]
