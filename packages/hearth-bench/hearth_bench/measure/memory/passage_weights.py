"""Fit what weighs passages: `python -m hearth_bench.measure.memory.passage_weights --data QA.jsonl`.

Questions over the documents kept for tuning (none of which the reader was trained on) are asked of all these documents
together. Each passage read is a row: its signs (`answer_reading.SIGNS`), and whether it answers: its words have half of
SQuAD's F1 with a right answer and it stands in the right document; for yes or no, that it is of the right document. A
logistic regression with a ridge gives the weights; the least chance is the one at which the share `MOST_REFUSED` of the
answerable questions is refused.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hearth.config import cache_folder
from hearth.memory.passages.answer_reading import READER_FILE, SIGNS, AnswerReader, read_passages
from hearth.models.encoder.sentence_encoder import MiniLMEncoder
from hearth.storage.database import Store
from hearth_bench.measure.result_file import ROOT
from hearth_bench.suites.reading.question_file import drawn, is_for_tuning, read_questions
from hearth_bench.suites.reading.reading_suite import document_store, record_of, span_f1

WEIGHTS = ROOT / "src/hearth/data/passage_weights.json"
MOST_REFUSED = 0.2
"""Share of the answerable questions that are refused: at .05 nearly all that stands nowhere was answered too."""
SHARES = (0.05, 0.1, 0.15, 0.2, 0.3)
RETRIEVAL = {"words": 1.0, "cosine": 1.0, "covered": 1.5}
"""Weights of the order in which passages are read, set once."""
N_QUESTIONS = 700
SEED = 1
RIDGE = 1e-3
Floats = NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=N_QUESTIONS)
    given = parser.parse_args()
    tuned = [
        one
        for one in read_questions(given.data)
        if is_for_tuning(one) and one.kind in ("extractive", "abstain", "yesno")
    ]
    questions = drawn(tuned, given.questions, SEED)
    encoder, reader = MiniLMEncoder.open(), AnswerReader(cache_folder())
    groups: list[tuple[bool, Floats, NDArray[np.bool_]]] = []
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "a.db") as store:
        passages = document_store(questions, store, encoder)
        for one in questions:
            readings = read_passages(one.question, passages.find(one.question), reader)
            own = record_of(one)
            is_right = [
                reading.candidate.passage.record == own
                and (
                    one.kind == "yesno"
                    or max((span_f1(reading.text, answer.text) for answer in one.answers), default=0.0) >= 0.5
                )
                for reading in readings
            ]
            groups.append((one.kind != "abstain", np.array([r.signs for r in readings]), np.array(is_right)))
    looked = np.vstack([signs for _, signs, _ in groups if len(signs)])
    target = np.concatenate([right for _, signs, right in groups if len(signs)]).astype(np.float64)
    weights = _fitted(looked, target)
    best = np.array([(_chance(signs, weights).max() if len(signs) else 0.0) for _, signs, _ in groups])
    is_answerable = np.array([answerable for answerable, _, _ in groups])
    least = float(np.quantile(best[is_answerable], MOST_REFUSED))
    document = {
        "retrieval": RETRIEVAL,
        "answers": {name: round(float(weight), 4) for name, weight in zip(SIGNS, weights, strict=True)},
        "least_chance": round(least, 4),
        "fitted_on": f"{len(questions)} questions over documents kept for tuning, seed {SEED}",
        "refused_rightly_by_share_refused_wrongly": {
            str(share): round(float((best[~is_answerable] < np.quantile(best[is_answerable], share)).mean()), 4)
            for share in SHARES
        },
        "reader": READER_FILE,
        "data_sha256": hashlib.sha256(given.data.read_bytes()).hexdigest(),
    }
    WEIGHTS.write_text(json.dumps(document, indent=1) + "\n")
    print(json.dumps(document, indent=1))


def _fitted(looked: Floats, target: Floats) -> Floats:
    weights: Floats = np.zeros(looked.shape[1])
    ridge = RIDGE * len(looked) * np.eye(len(weights))
    ridge[0, 0] = 0  # the bias is free
    for _ in range(60):
        chance = _chance(looked, weights)
        curvature = (looked * (chance * (1 - chance))[:, None]).T @ looked + ridge + 1e-9 * np.eye(len(weights))
        step = np.linalg.solve(curvature, looked.T @ (chance - target) + ridge @ weights)
        weights = np.asarray(weights - step, dtype=np.float64)
    return weights


def _chance(looked: Floats, weights: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(looked @ weights, -50, 50))), dtype=np.float64)


if __name__ == "__main__":
    main()
