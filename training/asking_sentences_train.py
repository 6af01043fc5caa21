"""Train the reader of sentences that ask something: `python -m training.asking_sentences_train --data ACTIONS.jsonl`.

Ridge logistic regression, by Newton's method, on the sentence encoder's vectors and signs of wording. A fifth of the
sentences, chosen by their hash, is held out; the ridge is chosen on a fifth of the rest. Deterministic; no torch.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hearth.memory.inquiry.asking_mails import sentence_features
from hearth.models.sentence_encoder import MiniLMEncoder

OUT = Path(__file__).parents[1] / "src" / "hearth" / "data" / "asking_sentences.json"
SPLIT_SEED = "asks-1"
LEAST_PRECISION = 0.88
"""A person who is told wrongly that somebody waits stops asking who waits."""
RIDGES = (0.3, 1.0, 3.0, 10.0, 30.0)
Floats = NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="sentences with `asks`, one a line")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    raw = given.data.read_bytes()
    rows = [json.loads(line) for line in raw.splitlines() if line.strip()]
    texts = [row["text"] for row in rows]
    encoder = MiniLMEncoder.open()
    looked = sentence_features(texts, np.vstack([encoder.encode(texts[k : k + 64]) for k in range(0, len(texts), 64)]))
    asks = np.array([float(row["asks"]) for row in rows])
    side = np.array([_share(text) for text in texts])
    held, tuned, fitted = side < 0.2, (side >= 0.2) & (side < 0.36), side >= 0.36
    best = max(RIDGES, key=lambda ridge: _f1(looked[tuned] @ _fit(looked[fitted], asks[fitted], ridge), asks[tuned])[0])
    weights = _fit(looked[~held], asks[~held], best)
    least = _f1(looked[tuned] @ _fit(looked[fitted], asks[fitted], best), asks[tuned])[1]
    said = looked[held] @ weights >= least
    right = asks[held] > 0.5
    floor = np.array([text.rstrip().endswith("?") for text, is_held in zip(texts, held, strict=True) if is_held])
    record = {
        "what": "logistic weights of a sentence that asks something: encoder vector, signs of wording, bias",
        "weights": [round(float(weight), 4) for weight in weights],
        "least": round(float(least), 4),
        "ridge": best,
        "n": {"fitted": int((~held).sum()), "held_out": int(held.sum())},
        "held_out": {name: _scores(one, right) for name, one in (("trained", said), ("floor_question_mark", floor))},
        "data_sha256": hashlib.sha256(raw).hexdigest(),
        "split_seed": SPLIT_SEED,
        "licence": "trained on sentences of Enron mails (EmailIntentDataSet, Apache-2.0)",
        "command": "python -m training.asking_sentences_train --data actions.jsonl",
    }
    given.out.write_text(json.dumps(record) + "\n")
    print(record["ridge"], record["least"], record["held_out"])


def _share(text: str) -> float:
    digest = hashlib.sha256(f"{SPLIT_SEED}\0{text}".encode(errors="replace")).digest()
    return int.from_bytes(digest[:4], "big") / 2**32


def _fit(looked: Floats, target: Floats, ridge: float) -> Floats:
    weights: Floats = np.zeros(looked.shape[1])
    penalty = ridge * np.eye(len(weights))
    penalty[-1, -1] = 0
    for _ in range(30):
        chance = 1 / (1 + np.exp(-np.clip(looked @ weights, -40, 40)))
        curvature = (looked * (chance * (1 - chance))[:, None]).T @ looked + penalty
        step = np.linalg.solve(
            curvature + 1e-6 * np.eye(len(weights)), looked.T @ (chance - target) + penalty @ weights
        )
        weights = np.asarray(weights - step, dtype=np.float64)
        if float(np.abs(step).max()) < 1e-6:
            break
    return weights


def _f1(scores: Floats, target: Floats) -> tuple[float, float]:
    """Return the best F1 over the thresholds whose precision is enough, and its threshold."""
    best, least = 0.0, float("inf")
    for threshold in np.linspace(-2, 3, 51):
        said = _scores(scores >= threshold, target > 0.5)
        if said["precision"] >= LEAST_PRECISION and said["f1"] > best:
            best, least = said["f1"], float(threshold)
    return best, least


def _scores(said: NDArray[np.bool_], right: NDArray[np.bool_]) -> dict[str, float]:
    both = float((said & right).sum())
    precision, recall = both / max(1.0, float(said.sum())), both / max(1.0, float(right.sum()))
    f1 = 2 * precision * recall / max(1e-9, precision + recall)
    return {
        "precision": round(precision, 4),
        "recall": round(recall, 4),
        "f1": round(f1, 4),
        "accuracy": round(float((said == right).mean()), 4),
    }


if __name__ == "__main__":
    main()
