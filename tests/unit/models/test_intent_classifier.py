"""The classifier of intents: each text by itself, any text, and a damaged file is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hearth.errors import ConfigError
from hearth.models.intent_classifier import FILE, IntentClassifier, shipped_classifier
from hearth.models.lora_encoder import MATRICES, WIDTH, in_steps, merged, packed, unpacked
from hearth.models.sentence_encoder import MOST_STEPS, MiniLMEncoder
from hearth.planning.retrieval.episodic_index import Remembered
from hearth.planning.tool_heads import Said

SAID = ("turn on the lamp", "scrap netball trials, my ankle's had it", "", "🙂 ünïcode \ud800", "lamp " * 900)


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> IntentClassifier:
    draw = np.random.default_rng(0)
    low = {
        f"{MATRICES[0]}.down": draw.normal(0, 0.05, (2, WIDTH)),
        f"{MATRICES[0]}.up": draw.normal(0, 0.05, (WIDTH, 2)),
    }
    outputs = {name: draw.normal(0, 1, WIDTH + 1).astype(np.float32) for name in ("turn_on", "cancel_event")}
    path = tmp_path_factory.mktemp("classifier") / "classifier.npz"
    path.write_bytes(packed({name: value.astype(np.float32) for name, value in low.items()}, outputs))
    return IntentClassifier.open(path, tmp_path_factory.mktemp("cache"))


def test_a_text_is_scored_by_itself_in_any_company(classifier: IntentClassifier) -> None:
    together = classifier.scores(SAID)
    assert together.shape == (len(SAID), 2)
    assert np.isfinite(together).all()
    for text, row in zip(SAID, together):
        assert np.array_equal(classifier.scores([text])[0], row)
    assert classifier.scores([]).shape == (0, 2)


def test_a_matrix_that_is_replaced_is_kept_to_half_a_step() -> None:
    matrix = np.random.default_rng(0).normal(0, 0.05, (WIDTH, WIDTH)).astype(np.float32)
    matrix[3] = 0
    adapter, _ = unpacked(packed(in_steps(MATRICES[0], matrix), {}), {})
    weights = {f"{name}.weight": np.ones((WIDTH, WIDTH), dtype=np.float32) for name in MATRICES}
    found = merged(weights, adapter)
    step = np.abs(matrix).max(axis=1, keepdims=True) / MOST_STEPS
    assert (np.abs(found[f"{MATRICES[0]}.weight"] - matrix) <= 0.55 * step + 1e-9).all()
    assert (found[f"{MATRICES[1]}.weight"] == 1).all()


@pytest.mark.parametrize("damage", ["gone", "cut", "noise", "of another shape", "empty"])
def test_a_damaged_file_is_named(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "classifier.npz"
    if damage == "cut":
        path.write_bytes(FILE.read_bytes()[:-400])
    elif damage == "noise":
        path.write_bytes(b"\x00\xffnot an archive")
    elif damage == "of another shape":
        path.write_bytes(packed({}, {"turn_on": np.zeros(7, dtype=np.float32)}))
    elif damage == "empty":
        path.write_bytes(packed({}, {}))
    with pytest.raises(ConfigError, match=r"intent classifier .*classifier\.npz.*reinstall Hearth"):
        IntentClassifier.open(path, tmp_path)


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("scrap netball trials, my ankle's had it", "cancel_event"),
        ("turn on the lamp", "turn_on"),
        ("what's the weather like", "<nothing>"),
    ],
)
def test_what_ships_says_what_is_asked_for(text: str, tool: str) -> None:
    shipped = shipped_classifier()
    assert shipped is not None
    assert shipped.outputs[int(np.argmax(shipped.scores([text])[0]))] == tool


def test_without_it_the_heads_say_as_much_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hearth.planning.retrieval.episodic_index.shipped_classifier", lambda: None)
    encoder, text = MiniLMEncoder.open(), "turn on the lamp"
    remembered = Remembered(encoder, None)
    (scores,) = remembered.meant(Said([text], encoder.encode([text]), [text.split()]))
    assert max(scores, key=scores.__getitem__) == "turn_on"
    assert scores["turn_on"] > 0.7
