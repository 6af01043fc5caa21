"""Heads that are solved: what is taught counts exactly, what is forgotten is gone to the last bit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.language.request_sketch import N_SKETCH, request_features
from hearth.models.intent_classifier import IntentClassifier
from hearth.planning.tool_heads import (
    CLASSIFIER_SHARE,
    LOGITS,
    NOTHING,
    PROBE,
    HeadPrior,
    Said,
    ToolHeads,
    read_prior,
    shipped_prior,
)
from hearth.testing import HashEncoder

DIM = 6
TEXTS = ("turn on the lamp", "switch the lamp off", "remind me <time>", "play some jazz", "what time is it", "thanks")
TOOLS = ("turn_on", "turn_off", "add_reminder", "", "current_time", "")


def vectors_of(texts: tuple[str, ...]) -> np.ndarray:
    return HashEncoder(DIM).encode(texts).astype(np.float32)


def as_said(*texts: str) -> Said:
    return Said(texts, vectors_of(texts), [text.split() for text in texts])


def taught(order: list[int], heads: ToolHeads | None = None) -> ToolHeads:
    heads = heads or ToolHeads(DIM, None)
    for k in order:
        targets = [(TOOLS[k],) if TOOLS[k] else ()]
        heads.teach([f"d{k}"], as_said(TEXTS[k]), targets)
    return heads


def said(heads: ToolHeads, text: str) -> dict[str, float]:
    return dict(heads.scores(as_said(text))[0])


def made_prior(factor: np.ndarray, weights: np.ndarray) -> HeadPrior:
    dim = len(weights)
    nothing = np.zeros((DIM, 0), dtype=np.float32)
    probe = HashEncoder(DIM).encode([PROBE])[0]
    packed = factor[np.tril_indices(dim)]
    return HeadPrior(("turn_on", NOTHING), weights, packed, nothing, np.zeros(0, dtype=np.float32), probe)


def test_what_was_taught_is_meant() -> None:
    heads = taught([0, 1, 2, 3, 4, 5])
    for text, tool in zip(TEXTS, TOOLS):
        scores = said(heads, text)
        assert max(scores, key=scores.__getitem__) == (tool or NOTHING)
    scores = said(heads, "please turn on the hall lamp")
    assert max(scores, key=scores.__getitem__) == "turn_on"


def test_one_that_knows_nothing_says_nothing() -> None:
    assert said(ToolHeads(DIM, None), "turn on the lamp") == {}


@settings(max_examples=25)
@given(st.permutations(range(6)), st.sets(st.integers(0, 5)))
def test_order_does_not_count_and_what_is_forgotten_was_never_seen(order: list[int], gone: set[int]) -> None:
    heads = taught(order)
    heads.forget([f"d{k}" for k in gone])
    heads.forget(["never taught"])
    alone = taught([k for k in range(6) if k not in gone])
    assert said(heads, "turn the lamp") == said(alone, "turn the lamp")


def test_a_row_taught_again_replaces_the_older_one() -> None:
    heads = taught([0, 1])
    heads.teach(["d0"], as_said(TEXTS[0]), [("turn_off",)])
    assert "turn_on" not in said(heads, TEXTS[0])


def test_joined_with_others_sums_it_is_solved_from_both(tmp_path: Path) -> None:
    draw = np.random.default_rng(4)
    dim = 1 + DIM + N_SKETCH
    weights = draw.normal(0, 0.02, (dim, 2)).astype(np.float32)
    prior = made_prior(np.eye(dim, dtype=np.float32) / 2, weights)  # of an inverse Gram matrix of I / 4
    none = np.zeros((DIM, 0), dtype=np.float32)
    rows = request_features(vectors_of(TEXTS[:3]), [text.split() for text in TEXTS[:3]], none, np.zeros(0, np.float32))
    wanted = np.array([[1, 0], [0, 1], [0, 0]], dtype=np.float32)  # of `turn_on` and of a tool that nobody knew
    both = prior.joined(["turn_on", "add_reminder"], rows.T @ rows, rows.T @ wanted)
    before, targets = np.zeros((dim, 3)), np.zeros((3, 3))
    before[:, :2], targets[:, [0, 2]] = weights, wanted
    inside = np.linalg.inv(np.eye(3) + rows @ rows.T / 4)  # Woodbury's, as `ToolHeads` adds what is taught at home
    assert both.outputs == ("turn_on", NOTHING, "add_reminder")
    known = rows @ before / (1 - CLASSIFIER_SHARE)  # with what the classifier is taken to say
    assert both.weights == pytest.approx(before + rows.T / 4 @ inside @ (targets - known), abs=1e-4)
    factor, one = both.unpacked_factor(), draw.normal(0, 1, dim)
    assert factor.T @ (factor @ one) == pytest.approx(one / 4 - rows.T / 16 @ inside @ (rows @ one), abs=1e-4)
    with (tmp_path / "heads.npz").open("wb") as file:
        both.write(file)
    again = read_prior(tmp_path / "heads.npz")
    assert again is not None
    assert again.outputs == both.outputs
    assert again.weights == pytest.approx(both.weights, abs=1e-3)


def test_home_beside_a_prior_equals_one_ridge_over_both() -> None:
    here = ("switch on the light", "dim the lamp")
    cosines = (np.zeros((DIM, 0), dtype=np.float32), np.zeros(0, dtype=np.float32))
    rows = request_features(vectors_of(here), [t.split() for t in here], *cosines).astype(np.float64)
    draw = np.random.default_rng(0)
    spread = draw.uniform(0.5, 1.5, rows.shape[1])
    weights = draw.standard_normal((rows.shape[1], 2)).astype(np.float32) / 10
    heads = ToolHeads(DIM, made_prior(np.diag(spread).astype(np.float32), weights))
    heads.teach(["a", "b"], as_said(*here), [("turn_on",), ("set_brightness",)])
    importance, gram = 12.0, np.diag(spread**-2)  # of a demonstration of this home; what the prior was solved with
    before = np.hstack([weights, np.zeros((len(weights), 1))])
    known = rows @ before  # where the prior says more than a target asks for, there is nothing to learn
    targets = np.where([[1, 0, 0], [0, 0, 1]], np.maximum(1, known), np.minimum(0, known))
    whole = np.linalg.solve(gram + importance * rows.T @ rows, gram @ before + importance * rows.T @ targets)
    asked = request_features(vectors_of(("light on",)), [["light", "on"]], *cosines).astype(np.float64) @ whole
    scores = said(heads, "light on")
    assert [scores["turn_on"], scores[NOTHING], scores["set_brightness"]] == pytest.approx(asked[0], abs=1e-4)
    heads.forget(["a", "b"])
    fresh = ToolHeads(DIM, made_prior(np.diag(spread).astype(np.float32), weights))
    assert said(heads, "light on") == said(fresh, "light on")


def test_more_rows_than_numbers_are_solved_the_other_way_round() -> None:
    heads = ToolHeads(DIM, None)
    n = 1 + DIM + N_SKETCH + 5
    texts = tuple(f"word{k} lamp" for k in range(n))
    heads.teach([str(k) for k in range(n)], as_said(*texts), [("turn_on",)] * n)
    assert said(heads, "word3 lamp")["turn_on"] == pytest.approx(1, abs=0.05)


def test_what_the_prior_knows_better_than_a_lesson_is_not_pulled_back() -> None:
    cosines = (np.zeros((DIM, 0), dtype=np.float32), np.zeros(0, dtype=np.float32))
    row = request_features(vectors_of(("light on",)), [["light", "on"]], *cosines)[0]
    weights = np.stack([1.5 * row, -0.5 * row], axis=1).astype(np.float32) / float(row @ row)
    heads = ToolHeads(DIM, made_prior(np.eye(len(row), dtype=np.float32), weights))
    heads.teach(["a"], as_said("light on"), [("turn_on",)])
    assert said(heads, "light on") == pytest.approx({"turn_on": 1.5, NOTHING: -0.5}, abs=1e-5)
    heads.teach(["a"], as_said("light on"), [("open_door",)])
    scores = said(heads, "light on")
    assert scores["open_door"] > 0.8
    assert scores["turn_on"] < 0.2


class Says(IntentClassifier):
    """Says the same of every text."""

    def __init__(self, **log_odds: float) -> None:
        self.outputs = tuple(log_odds)
        self._log_odds = np.array(list(log_odds.values()), dtype=np.float32)

    def scores(self, texts: Sequence[str]) -> np.ndarray:
        return np.tile(self._log_odds, (len(texts), 1))


def heads_beside(classifier: IntentClassifier | None) -> ToolHeads:
    dim = 1 + DIM + N_SKETCH
    return ToolHeads(DIM, made_prior(np.eye(dim, dtype=np.float32), np.zeros((dim, 2), dtype=np.float32)), classifier)


def test_what_the_classifier_says_is_added_to_the_tools_that_the_prior_knows() -> None:
    scores = said(heads_beside(Says(turn_on=LOGITS, of_another_home=LOGITS)), "light on")
    assert scores == pytest.approx({"turn_on": CLASSIFIER_SHARE, NOTHING: 0.0})


@pytest.mark.parametrize("log_odds", [-4.0, 0.0, 4.0, 16.0])
def test_a_lesson_is_learnt_whatever_the_classifier_says(log_odds: float) -> None:
    heads = heads_beside(Says(turn_on=log_odds))
    before = said(heads, "light on")
    heads.teach(["a"], as_said("light on"), [("open_door",)])
    scores = said(heads, "light on")
    assert scores["open_door"] > 0.9
    assert scores["turn_on"] < 0.2
    (without,) = heads.scores(as_said("light on"), ["a"])
    assert without == pytest.approx(before, abs=1e-5)
    heads.forget(["a"])
    assert said(heads, "light on") == before


def test_nothing_is_meant_less_where_a_tool_is_that_the_classifier_never_heard_of() -> None:
    heads = heads_beside(Says(turn_on=0.0, **{NOTHING: 8.0}))
    before = said(heads, "let in the stars")[NOTHING]
    assert before == pytest.approx(0.8 * CLASSIFIER_SHARE)
    heads.teach(["a"], as_said("let in the moon"), [("open_roof",)])
    scores = said(heads, "let in the stars")
    assert scores["open_roof"] > 0.2
    assert scores[NOTHING] < before * (1 - scores["open_roof"]) + 0.01


def test_a_prior_of_another_encoder_does_not_fit() -> None:
    prior = shipped_prior()
    assert prior is not None
    assert not prior.fits(HashEncoder(len(prior.probe)))
    assert not prior.fits(HashEncoder(DIM))


@pytest.mark.parametrize("damage", ["cut", "noise", "gone", "other arrays", "wrong shape"])
def test_a_damaged_prior_is_none(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "heads.npz"
    if damage == "cut":
        np.savez(path, about=np.zeros(3, dtype=np.uint8))
        path.write_bytes(path.read_bytes()[:-40])
    elif damage == "noise":
        path.write_bytes(b"\x00\xffnot an archive")
    elif damage == "other arrays":
        np.savez(path, about=np.zeros(3, dtype=np.uint8))
    elif damage == "wrong shape":
        about = np.frombuffer(b'{"outputs": ["a"]}', dtype=np.uint8)
        one = np.zeros((2, 2), dtype=np.float16)
        np.savez(path, about=about, weights=one, factor=one, projection=one, phases=one, probe=one)
    assert read_prior(path) is None


def test_words_that_no_writing_holds_are_read() -> None:
    texts = ("", "\ud800 lamp", "a" * 5000, "🙂🙂 ünïcode")
    cosines = (np.zeros((DIM, 0), dtype=np.float32), np.zeros(0, dtype=np.float32))
    features = request_features(np.zeros((4, DIM), dtype=np.float32), [t.split() for t in texts], *cosines)
    assert features.shape == (4, 1 + DIM + N_SKETCH)
    assert np.isfinite(features).all()
