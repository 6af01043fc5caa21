"""Fit what weighs passages: `python -m hearth_bench.measure.memory.passage_weights [--order QA.jsonl]`.

How likely each passage that is read answers: questions are asked of homes, those of newcomers and those that are tuned
on, with their events and cards, and `N_BLOCKS` stretches of `PIECES` in their order, some of one life, of whose
questions only those over pieces are asked that nothing learnt. Each passage read is a row: its signs
(`answer_reading.SIGNS`), and whether it answers: of a piece, that its words have half of SQuAD's F1 with a right answer
(for yes or no, that it is the piece); of a home, that its words or their sentence say all that is asked for. A logistic
regression with a ridge gives the weights, in which a row of a whole home counts `HOME_ROW` times. They give
probabilities: the least at which an answer is told stays what it is (`LEAST_CHANCE`).

A document asked alone is no row: its only passage is the first that is found, whether it answers or not. Nor are pieces
of a thousand lives asked together: somebody else's bill answers as well.

With `--order` first the order in which passages are read: a softmax over all that were found, of which the one that
answers is to come first (`answer_reading.ORDER_SIGNS`), on questions over the pieces that nothing learnt, asked of all
of these and of the public documents kept for tuning together.
"""

from __future__ import annotations

import argparse
import datetime as dt
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from hearth.agent import Agent
from hearth.config import cache_folder
from hearth.guard.policy.question import RefusingApprover
from hearth.memory.answers.home_answers import HomeAnswers
from hearth.memory.inquiry.answer_reading import (
    ORDER_SIGNS,
    READER_FILE,
    SIGNS,
    AnswerReader,
    Reading,
    order_signs,
    read_passages,
)
from hearth.memory.inquiry.answer_telling import sentence_of
from hearth.memory.search.passage_store import PassageStore
from hearth.memory.search.search_words import fitted
from hearth.models.lora_encoder import QuestionEncoder
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.protocols import CallContext
from hearth.storage.database import Store
from hearth_bench.data.newcomer_home.newcomer import NEWCOMERS, read_newcomer_questions, write_newcomer_home
from hearth_bench.data.q2a_homes import read_world
from hearth_bench.measure.memory.home_questions import DAY, TUNED, HomeQuestion, holds
from hearth_bench.measure.memory.home_questions import read_questions as read_home_questions
from hearth_bench.measure.result_file import ROOT
from hearth_bench.suites.reading.home_pieces import HELD_EVERY, HomePiece, questions_of, read_pieces
from hearth_bench.suites.reading.question_file import DocumentQuestion, drawn, is_for_tuning, read_questions
from hearth_bench.suites.reading.reading_suite import document_store, record_of, span_f1

WEIGHTS = ROOT / "src/hearth/data/passage_weights.json"
HOMES = ROOT / "training/home_passages.jsonl"
LEAST_CHANCE = 0.15
"""From this probability on an answer is told; below `tools.memory.LEAST_SURE` with doubt."""
SHARES = (0.05, 0.1, 0.15, 0.2, 0.3)
N_QUESTIONS, N_HOME_QUESTIONS = 400, 900
N_BLOCKS, PIECES, N_OF_BLOCK = 15, 60, 20
"""Stretches of pieces that are asked as homes, how many pieces each has, and how many questions are asked of it."""
KINDS = ("extractive", "abstain", "yesno")
SEED = 1
RIDGE = 1e-3
HOME_ROW = 3.0
"""How much a row of a whole home counts beside one of pieces, among which are neither events nor cards."""
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Looked:
    """What was read for one question."""

    is_answered: bool
    """Whether anything in the home answers."""
    signs: Floats
    """Shape [n passages, n signs]."""
    is_right: NDArray[np.bool_]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--order", type=Path, help="fit the order as well; the public questions, one a line")
    parser.add_argument("--homes", type=Path, default=HOMES, help="pieces of homes, with their questions")
    given = parser.parse_args()
    encoder, reader = MiniLMEncoder.open(), AnswerReader(cache_folder())
    if given.order is not None:
        order = _order_of(given.order, given.homes, encoder)
        _write({**json.loads(WEIGHTS.read_text()), "retrieval": dict(zip(ORDER_SIGNS, order, strict=True))})
        fitted.cache_clear()
    of_pieces = list(_of_pieces(given.homes, encoder, reader))
    of_homes = [looked for who in NEWCOMERS for looked in _of_newcomer(who, encoder)]
    of_homes += [looked for owner in TUNED for looked in _of_tuned(owner, encoder, reader)]
    weights = _fitted(of_pieces, of_homes)
    document = {
        "retrieval": json.loads(WEIGHTS.read_text())["retrieval"],
        "answers": {name: round(float(weight), 4) for name, weight in zip(SIGNS, weights, strict=True)},
        "least_chance": LEAST_CHANCE,
        "fitted_on": f"{len(of_pieces)} questions over pieces in {N_BLOCKS} stretches of {PIECES}, seed {SEED}, and "
        f"{len(of_homes)} of {len(NEWCOMERS)} newcomers' homes and of {', '.join(TUNED)}",
        "refused_rightly_by_share_refused_wrongly": {
            "pieces": _rates(of_pieces, weights),
            "homes": _rates(of_homes, weights),
        },
        "reader": READER_FILE,
        "pieces_sha256": hashlib.sha256(given.homes.read_bytes()).hexdigest(),
    }
    _write(document)
    print(json.dumps(document, indent=1))


def _write(document: Mapping[str, object]) -> None:
    WEIGHTS.write_text(json.dumps(document, indent=1) + "\n")


def _order_of(data: Path, homes: Path, encoder: MiniLMEncoder) -> list[float]:
    tuned = [one for one in read_questions(data) if is_for_tuning(one) and one.kind in KINDS]
    of_homes = drawn(
        [one for piece in read_pieces(homes, held=True) for one in questions_of(piece)], N_HOME_QUESTIONS, SEED
    )
    questions = drawn(tuned, N_QUESTIONS, SEED) + of_homes
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "a.db") as store:
        passages = document_store(questions, store, encoder, QuestionEncoder(cache_folder()))
        return _order_fitted([_in_order(one, passages) for one in of_homes if one.kind != "abstain"])


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


def _of_pieces(path: Path, encoder: MiniLMEncoder, reader: AnswerReader) -> Iterator[Looked]:
    """Yield what is read for questions over pieces that nothing learnt, each asked of the pieces around it."""
    pieces = [HomePiece.model_validate_json(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for number in range(N_BLOCKS):
        first = number * (len(pieces) - PIECES) // (N_BLOCKS - 1)
        block = pieces[first : first + PIECES]
        held = [one for k, one in enumerate(block, first) if k % HELD_EVERY == 0]
        asked = drawn([one for piece in held for one in questions_of(piece)], N_OF_BLOCK, SEED)
        with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "a.db") as store:
            some = [one for piece in block for one in questions_of(piece)]
            passages = document_store(some, store, encoder, QuestionEncoder(cache_folder()))
            for one in asked:
                yield _looked(one, read_passages(one.question, passages.find(one.question), reader))


def _looked(one: DocumentQuestion, readings: Sequence[Reading]) -> Looked:
    is_own = np.array([reading.candidate.passage.record == record_of(one) for reading in readings], np.bool_)
    is_said = [
        one.kind == "yesno" or max((span_f1(r.text, answer.text) for answer in one.answers), default=0.0) >= 0.5
        for r in readings
    ]
    return Looked(one.kind != "abstain", _signs_of(readings), is_own & np.array(is_said, np.bool_))


def _signs_of(readings: Sequence[Reading]) -> Floats:
    return np.array([one.signs for one in readings], np.float64).reshape(-1, len(SIGNS))


def _of_newcomer(who: str, encoder: MiniLMEncoder) -> Iterator[Looked]:
    """Yield what is read for the questions of a newcomer that are not to be worked out."""
    with tempfile.TemporaryDirectory() as folder:
        now = write_newcomer_home(who, Path(folder))
        agent = Agent.open(Path(folder), RefusingApprover(), environ=os.environ, clock=lambda: now, encoder=encoder)
        home, call = agent.home_answers, agent.call_context()
        try:
            home.find_answer("anything", call)  # all is read
            for one in read_newcomer_questions(who):
                if one.kind != "computed":
                    yield _looked_at_home(one.question, partial(_says_all, one.says), home, call)
        finally:
            agent.close()


def _says_all(words: Sequence[str], text: str) -> bool:
    return bool(words) and all(word.casefold() in text.casefold() for word in words)


def _of_tuned(owner: str, encoder: MiniLMEncoder, reader: AnswerReader) -> Iterator[Looked]:
    """Yield the same for one of the homes that are tuned on."""
    world = read_world(owner)
    now = dt.datetime.fromisoformat(DAY).replace(tzinfo=ZoneInfo(world.file.owner.zone))
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "a.db") as store:
        home = HomeAnswers(store, encoder, reader)
        call = world.context("bench", now, world.workspace(now), world.memory(now))
        home.find_answer("anything", call)
        for one in read_home_questions():
            if one.owner == owner and one.kind != "computed":
                yield _looked_at_home(one.question, partial(_holds, one), home, call)


def _holds(question: HomeQuestion, text: str) -> bool:
    return holds(text, question)


def _looked_at_home(question: str, is_told_by: Callable[[str], bool], home: HomeAnswers, call: CallContext) -> Looked:
    """Read a home for a question; what a rule holds to be no answer at all is no row."""
    readings = [one for one in home.readings(question.rstrip(" ?!"), call) if one.signs and one.chance > 0]
    is_right = np.array([is_told_by(f"{one.text} {sentence_of(one)}") for one in readings], np.bool_)
    return Looked(bool(is_right.any()), _signs_of(readings), is_right)


def _rates(some: Sequence[Looked], weights: Floats) -> dict[str, float]:
    """Of what stands nowhere, the share refused, by the share of the answerable that is refused."""
    answerable, nowhere = (
        np.array([_chance(one.signs, weights).max(initial=0.0) for one in some if one.is_answered is is_answered])
        for is_answered in (True, False)
    )
    return {str(share): round(float((nowhere < np.quantile(answerable, share)).mean()), 4) for share in SHARES}


def _fitted(of_pieces: Sequence[Looked], of_homes: Sequence[Looked]) -> Floats:
    looked = np.vstack([one.signs for one in (*of_pieces, *of_homes)])
    target = np.concatenate([one.is_right for one in (*of_pieces, *of_homes)]).astype(np.float64)
    counts = np.repeat([1.0, HOME_ROW], [sum(len(one.signs) for one in some) for some in (of_pieces, of_homes)])
    weights: Floats = np.zeros(looked.shape[1])
    ridge = RIDGE * counts.sum() * np.eye(len(weights))
    ridge[0, 0] = 0  # the bias is free
    for _ in range(60):
        chance = _chance(looked, weights)
        curved = counts * chance * (1 - chance)
        curvature = (looked * curved[:, None]).T @ looked + ridge + 1e-9 * np.eye(len(weights))
        step = np.linalg.solve(curvature, looked.T @ (counts * (chance - target)) + ridge @ weights)
        weights = np.asarray(weights - step, dtype=np.float64)
    return weights


def _chance(looked: Floats, weights: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(looked @ weights, -50, 50))), dtype=np.float64)


if __name__ == "__main__":
    main()
