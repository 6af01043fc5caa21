"""Fit what weighs passages: `python -m hearth_bench.measure.memory.passage_weights --data QA.jsonl`.

Questions over the documents kept for tuning and over the pieces of homes kept from training (none of which the reader
ever learnt) are asked of their own document, and of all these documents together. Each passage read is a row: its signs
(`answer_reading.SIGNS`), and whether it answers: its words have half of SQuAD's F1 with a right answer and it stands in
the right document; for yes or no, that it is of the right document. A logistic regression with a ridge gives the
weights. They give probabilities: the least at which an answer is told stays what it is (`LEAST_CHANCE`).

Before, the order in which passages are read is fitted on the questions over pieces of homes: a softmax over all that
were found, of which the one that answers is to come first (`answer_reading.ORDER_SIGNS`).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hearth.config import cache_folder
from hearth.memory.inquiry.answer_reading import (
    ORDER_SIGNS,
    READER_FILE,
    SIGNS,
    AnswerReader,
    Reading,
    order_signs,
    read_passages,
)
from hearth.memory.search.passage_store import PassageStore
from hearth.memory.search.search_words import fitted
from hearth.models.lora_encoder import QuestionEncoder
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.storage.database import Store
from hearth_bench.measure.result_file import ROOT
from hearth_bench.suites.reading.home_pieces import questions_of, read_pieces
from hearth_bench.suites.reading.question_file import DocumentQuestion, drawn, is_for_tuning, read_questions
from hearth_bench.suites.reading.reading_suite import document_store, own_candidates, record_of, span_f1

WEIGHTS = ROOT / "src/hearth/data/passage_weights.json"
HOMES = ROOT / "training/home_passages.jsonl"
LEAST_CHANCE = 0.15
"""From this probability on an answer is told; below `tools.memory.LEAST_SURE` with doubt."""
SHARES = (0.05, 0.1, 0.15, 0.2, 0.3)
N_QUESTIONS, N_HOME_QUESTIONS = 1200, 2_400
KINDS = ("extractive", "abstain", "yesno")
SEED = 1
RIDGE = 1e-3
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Looked:
    """What was read for one question."""

    kind: str
    signs: Floats
    """Shape [n passages, n signs]."""
    is_right: NDArray[np.bool_]
    is_own: NDArray[np.bool_]
    """Whether each passage is of the question's document."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--homes", type=Path, default=HOMES, help="pieces of homes, with their questions")
    parser.add_argument("--questions", type=int, default=N_QUESTIONS, help="most over documents, by lot")
    parser.add_argument("--home-questions", type=int, default=N_HOME_QUESTIONS, help="most over pieces, by lot")
    given = parser.parse_args()
    tuned = [one for one in read_questions(given.data) if is_for_tuning(one) and one.kind in KINDS]
    pieces = read_pieces(given.homes, held=True)
    of_homes = drawn([one for piece in pieces for one in questions_of(piece)], given.home_questions, SEED)
    questions = drawn(tuned, given.questions, SEED) + of_homes
    encoder, reader = MiniLMEncoder.open(), AnswerReader(cache_folder())
    of_questions = QuestionEncoder(cache_folder())
    own: list[Looked] = []
    whole: list[Looked] = []
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "a.db") as store:
        passages = document_store(questions, store, encoder, of_questions)
        order = _order_fitted([_in_order(one, passages) for one in of_homes if one.kind != "abstain"])
        _write({**json.loads(WEIGHTS.read_text()), "retrieval": dict(zip(ORDER_SIGNS, order, strict=True))})
        fitted.cache_clear()
        for one in questions:
            own.append(_looked(one, read_passages(one.question, own_candidates(one, encoder, of_questions), reader)))
            whole.append(_looked(one, read_passages(one.question, passages.find(one.question), reader)))
    some = [one for one in (*own, *whole) if len(one.signs)]
    target = np.concatenate([one.is_right for one in some]).astype(np.float64)
    weights = _fitted(np.vstack([one.signs for one in some]), target)
    document = {
        "retrieval": dict(zip(ORDER_SIGNS, order, strict=True)),
        "answers": {name: round(float(weight), 4) for name, weight in zip(SIGNS, weights, strict=True)},
        "least_chance": LEAST_CHANCE,
        "fitted_on": f"{len(questions)} questions over documents kept for tuning and {len(pieces)} pieces of homes "
        f"({len(of_homes)} questions), seed {SEED}",
        "refused_rightly_by_share_refused_wrongly": _rates(whole, [o for o in whole if o.kind == "abstain"], weights),
        "the_same_with_the_own_document_left_out": _rates(whole, list(map(_elsewhere, _answerable(whole))), weights),
        "reader": READER_FILE,
        "data_sha256": hashlib.sha256(given.data.read_bytes()).hexdigest(),
    }
    _write(document)
    print(json.dumps(document, indent=1))


def _write(document: Mapping[str, object]) -> None:
    WEIGHTS.write_text(json.dumps(document, indent=1) + "\n")


def _in_order(one: DocumentQuestion, passages: PassageStore) -> tuple[Floats, int | None]:
    """Return the signs of the passages that are found for a question, shape [n, signs], and the place of the first that
    answers it; None: none was found."""
    found = passages.find(one.question)
    answers = [
        candidate.passage.record == record_of(one) and any(a.text in candidate.passage.text for a in one.answers)
        for candidate in found
    ]
    return np.array(order_signs(one.question, found)), answers.index(True) if any(answers) else None


def _order_fitted(some: Sequence[tuple[Floats, int | None]]) -> list[float]:
    """Fit a softmax over what is found for each question (Newton's method, its steps halved where they go too far)."""
    asked = [(signs, place) for signs, place in some if place is not None]

    def loss(weights: Floats) -> float:
        scores = [signs @ weights for signs, _ in asked]
        return sum(float(np.logaddexp.reduce(one) - one[place]) for one, (_, place) in zip(scores, asked, strict=True))

    weights: Floats = np.zeros(len(ORDER_SIGNS))
    for _ in range(30):
        slope, curvature = np.zeros_like(weights), 1e-6 * np.eye(len(weights))
        for signs, place in asked:
            chances = np.exp(signs @ weights - np.logaddexp.reduce(signs @ weights))
            mean = chances @ signs
            slope += mean - signs[place]
            curvature += (signs * chances[:, None]).T @ signs - np.outer(mean, mean)
        step, before = np.linalg.solve(curvature, slope), loss(weights)
        while loss(weights - step) > before and np.abs(step).max() > 1e-6:
            step /= 2
        weights = weights - step
    return [round(float(weight), 3) for weight in weights]


def _looked(one: DocumentQuestion, readings: Sequence[Reading]) -> Looked:
    is_own = np.array([reading.candidate.passage.record == record_of(one) for reading in readings], np.bool_)
    is_said = [
        one.kind == "yesno" or max((span_f1(r.text, answer.text) for answer in one.answers), default=0.0) >= 0.5
        for r in readings
    ]
    signs = np.array([reading.signs for reading in readings], np.float64).reshape(-1, len(SIGNS))
    return Looked(one.kind, signs, is_own & np.array(is_said, np.bool_), is_own)


def _answerable(some: Sequence[Looked]) -> list[Looked]:
    return [one for one in some if one.kind != "abstain"]


def _elsewhere(one: Looked) -> Looked:
    """Leave out what was read in the question's own document: so its answer stands nowhere."""
    return Looked("abstain", one.signs[~one.is_own], one.is_right[~one.is_own], one.is_own[~one.is_own])


def _best(some: Sequence[Looked], weights: Floats) -> Floats:
    return np.array([_chance(one.signs, weights).max(initial=0.0) for one in some])


def _rates(some: Sequence[Looked], nowhere: Sequence[Looked], weights: Floats) -> dict[str, float]:
    """Of what stands nowhere, the share refused, by the share of the answerable that is refused."""
    answerable, others = _best(_answerable(some), weights), _best(nowhere, weights)
    return {str(share): round(float((others < np.quantile(answerable, share)).mean()), 4) for share in SHARES}


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
