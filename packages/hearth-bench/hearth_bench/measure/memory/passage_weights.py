"""Fit what weighs passages: `python -m hearth_bench.measure.memory.passage_weights [--order QA.jsonl]`.

How likely each passage that is read answers: questions are asked of homes, those of newcomers and those that are tuned
on, with their events and cards, and `N_BLOCKS` stretches of `PIECES` in their order, some of one life, of whose
questions only those over pieces are asked that nothing learnt. Each passage read is a row: its signs
(`answer_reading.SIGNS`), and whether it answers: of a piece, that its words have half of SQuAD's F1 with a right answer
(for yes or no, that it is the piece); of a home, that its words or their sentence say all that is asked for. A logistic
regression with a ridge gives the weights, in which a row of a whole home counts `HOME_ROW` times. They give
probabilities: the least at which an answer is told stays what it is (`LEAST_CHANCE`).

Whether an answer is told without doubt: each home is read again with weights that learnt nothing of it, and each answer
that is told is a row: `answer_telling.SURE_SIGNS`, and whether what is told is right. A second regression of the same
kind gives the weights of these, and the least probability is the one at which, each home left out in turn, no more than
`MOST_WRONG` of the homes' questions are answered wrongly without doubt.

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
from contextlib import ExitStack
from dataclasses import dataclass, replace
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
    asks_yes_or_no,
    least_chance,
    order_signs,
    read_passages,
)
from hearth.memory.inquiry.answer_telling import SURE_SIGNS, answer_of, sentence_of, sure_signs
from hearth.memory.search.passage_store import PassageStore
from hearth.memory.search.search_words import fitted
from hearth.models.lora_encoder import QuestionEncoder
from hearth.models.sentence_encoder import MiniLMEncoder
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
LEAST_YES_OR_NO = 0.3
"""The same where yes or no is asked: over pieces that nothing learnt, in stretches of sixty, 215 of 343 such questions
are answered from there on, and 49 of 193 that nothing answers are, 40 of them with doubt; where the sentence had to say
half of the question's words, 85 and 32 were."""
SHARES = (0.05, 0.1, 0.15, 0.2, 0.3)
N_QUESTIONS, N_HOME_QUESTIONS = 400, 900
N_BLOCKS, PIECES, N_OF_BLOCK = 15, 60, 20
"""Stretches of pieces that are asked as homes, how many pieces each has, and how many questions are asked of it."""
KINDS = ("extractive", "abstain", "yesno")
SEED = 1
RIDGE = 1e-3
HOME_ROW = 3.0
"""How much a row of a whole home counts beside one of pieces, among which are neither events nor cards."""
MOST_WRONG = 0.03
"""The largest share of homes' questions that are answered wrongly without doubt, each home left out in turn."""
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Taught:
    """A question with what tells whether it is answered."""

    text: str
    is_told_in: Callable[[str, str], bool]
    """Given words, and the record they are from."""
    with_sentence: bool
    """Whether a passage answers that says it in the sentence of its words."""


@dataclass(frozen=True, slots=True)
class Home:
    """A home, or a stretch of pieces, with its questions."""

    is_whole: bool
    now: dt.datetime
    questions: tuple[Taught, ...]
    read: Callable[[str], list[Reading]]


@dataclass(frozen=True, slots=True)
class Looked:
    """What was read for one question, or told."""

    signs: Floats
    """Shape [n, n signs]."""
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
    with ExitStack() as stack:
        homes = [_newcomer(who, encoder, stack) for who in NEWCOMERS]
        homes += [_tuned(owner, encoder, reader, stack) for owner in TUNED]
        homes += _stretches(given.homes, encoder, reader, stack)
        read = [[_looked(one, home.read(one.text)) for one in home.questions] for home in homes]
        told = [_told_without(k, homes, read) for k in range(len(homes))]
    weights, sureness = (_fitted_on(homes, some) for some in (read, told))
    least, n_right, n_wrong = _least_sureness(homes, told)
    asked = [sum(len(home.questions) for home in homes if home.is_whole is is_whole) for is_whole in (False, True)]
    document = {
        "retrieval": json.loads(WEIGHTS.read_text())["retrieval"],
        "answers": _named(SIGNS, weights),
        "least_chance": LEAST_CHANCE,
        "least_yes_or_no": LEAST_YES_OR_NO,
        "sureness": _named(SURE_SIGNS, sureness),
        "least_sureness": least,
        "fitted_on": f"{asked[0]} questions over pieces in {N_BLOCKS} stretches of {PIECES}, seed {SEED}, and "
        f"{asked[1]} of {len(NEWCOMERS)} newcomers' homes and of {', '.join(TUNED)}",
        "refused_rightly_by_share_refused_wrongly": {
            name: _rates(
                [one for home, some in zip(homes, read, strict=True) if home.is_whole is of for one in some], weights
            )
            for name, of in (("pieces", False), ("homes", True))
        },
        "homes_left_out": {"told_rightly_without_doubt": n_right, "wrongly": n_wrong},
        "reader": READER_FILE,
        "pieces_sha256": hashlib.sha256(given.homes.read_bytes()).hexdigest(),
    }
    _write(document)
    print(json.dumps(document, indent=1))


def _named(signs: Sequence[str], weights: Floats) -> dict[str, float]:
    return {name: round(float(weight), 4) for name, weight in zip(signs, weights, strict=True)}


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


def _newcomer(who: str, encoder: MiniLMEncoder, stack: ExitStack) -> Home:
    """Open the home of a newcomer, with his questions that are not to be worked out."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    now = write_newcomer_home(who, folder)
    agent = Agent.open(folder, RefusingApprover(), environ=os.environ, clock=lambda: now, encoder=encoder)
    stack.callback(agent.close)
    home, call = agent.home_answers, agent.call_context()
    home.find_answer("anything", call)  # all is read
    asked = [one for one in read_newcomer_questions(who) if one.kind != "computed"]
    taught = (Taught(one.question.rstrip(" ?!"), _says_all(one.says), with_sentence=True) for one in asked)
    return Home(True, now, tuple(taught), lambda question: home.readings(question, call))


def _says_all(words: Sequence[str]) -> Callable[[str, str], bool]:
    return lambda text, _: bool(words) and all(word.casefold() in text.casefold() for word in words)


def _tuned(owner: str, encoder: MiniLMEncoder, reader: AnswerReader, stack: ExitStack) -> Home:
    """Open one of the homes that are tuned on, with the like questions."""
    world = read_world(owner)
    now = dt.datetime.fromisoformat(DAY).replace(tzinfo=ZoneInfo(world.file.owner.zone))
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    home = HomeAnswers(stack.enter_context(Store.open(Path(folder) / "a.db")), encoder, reader)
    call = world.context("bench", now, world.workspace(now), world.memory(now))
    home.find_answer("anything", call)
    asked = [one for one in read_home_questions() if one.owner == owner and one.kind != "computed"]
    taught = (Taught(one.question.rstrip(" ?!"), _holds(one), with_sentence=True) for one in asked)
    return Home(True, now, tuple(taught), lambda question: home.readings(question, call))


def _holds(question: HomeQuestion) -> Callable[[str, str], bool]:
    return lambda text, _: holds(text, question)


def _stretches(path: Path, encoder: MiniLMEncoder, reader: AnswerReader, stack: ExitStack) -> Iterator[Home]:
    """Open stretches of pieces, with questions over those pieces that nothing learnt."""
    pieces = [HomePiece.model_validate_json(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for number in range(N_BLOCKS):
        first = number * (len(pieces) - PIECES) // (N_BLOCKS - 1)
        block = pieces[first : first + PIECES]
        held = [one for k, one in enumerate(block, first) if k % HELD_EVERY == 0]
        asked = drawn([one for piece in held for one in questions_of(piece)], N_OF_BLOCK, SEED)
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        store = stack.enter_context(Store.open(Path(folder) / "a.db"))
        some = [one for piece in block for one in questions_of(piece)]
        yield _stretch(asked, document_store(some, store, encoder, QuestionEncoder(cache_folder())), reader)


def _stretch(asked: Sequence[DocumentQuestion], passages: PassageStore, reader: AnswerReader) -> Home:
    taught = (Taught(one.question, _is_said(one), with_sentence=False) for one in asked)
    now = dt.datetime.fromisoformat(DAY).replace(tzinfo=dt.UTC)
    return Home(False, now, tuple(taught), lambda question: read_passages(question, passages.find(question), reader))


def _is_said(one: DocumentQuestion) -> Callable[[str, str], bool]:
    return lambda text, record: (
        record == record_of(one)
        and (one.kind == "yesno" or max((span_f1(text, answer.text) for answer in one.answers), default=0.0) >= 0.5)
    )


def _looked(asked: Taught, readings: Sequence[Reading]) -> Looked:
    """Tell which passages answer; what a rule holds to be no answer at all is no row."""
    some = [one for one in readings if one.signs and one.chance > 0]
    is_right = [
        asked.is_told_in(
            f"{one.text} {sentence_of(one)}" if asked.with_sentence else one.text, one.candidate.passage.record
        )
        for one in some
    ]
    signs = np.array([one.signs for one in some], np.float64).reshape(-1, len(SIGNS))
    return Looked(signs, np.array(is_right, np.bool_))


def _told_without(number: int, homes: Sequence[Home], read: Sequence[Sequence[Looked]]) -> list[Looked]:
    """Read a home with weights that learnt nothing of it, and return what is told of it."""
    others = [k for k in range(len(homes)) if k != number]
    weights = _fitted_on([homes[k] for k in others], [read[k] for k in others])
    kept = fitted("passage_weights")  # what the reader weighs by
    kept["answers"] = _named(SIGNS, weights)
    home = homes[number]
    return [_told(one, home.read(one.text), home.now) for one in home.questions]


def _told(asked: Taught, readings: Sequence[Reading], now: dt.datetime) -> Looked:
    """Tell an answer, and whether its words are right, told without doubt; nothing where none is likely enough."""
    if not readings or readings[0].chance < least_chance():
        return Looked(np.zeros((0, len(SURE_SIGNS))), np.zeros(0, np.bool_))
    said = answer_of(asked.text, readings, now)
    place = said.witnesses[0]
    of_record = [one for one in readings if one.candidate.passage.record == place.record] or [readings[0]]
    first = next((one for one in of_record if sentence_of(one) == place.quote), of_record[0])
    words = said.value if said.kind == "list" or asks_yes_or_no(asked.text) else first.text
    signs = sure_signs(asked.text, replace(first, chance=readings[0].chance), readings, now)
    return Looked(np.array([signs]), np.array([asked.is_told_in(words, place.record)]))


def _least_sureness(homes: Sequence[Home], told: Sequence[Sequence[Looked]]) -> tuple[float, int, int]:
    """Return the least probability at which answers are told without doubt, and how many of homes then are told so
    rightly and wrongly, each home left out in turn."""
    chances, is_right = [], []
    for number, home in enumerate(homes):
        if home.is_whole:
            others = [k for k in range(len(homes)) if k != number]
            weights = _fitted_on([homes[k] for k in others], [told[k] for k in others])
            chances += [_chance(one.signs, weights) for one in told[number]]
            is_right += [one.is_right for one in told[number]]
    order = np.argsort(-np.concatenate(chances), kind="stable")
    sorted_chances, right = np.concatenate(chances)[order], np.concatenate(is_right)[order]
    most = int(MOST_WRONG * sum(len(home.questions) for home in homes if home.is_whole))
    last = int(np.searchsorted(np.cumsum(~right), most, side="right")) - 1
    return round(float(sorted_chances[last]), 3), int(right[: last + 1].sum()), int((~right[: last + 1]).sum())


def _rates(some: Sequence[Looked], weights: Floats) -> dict[str, float]:
    """Of what no passage that is read says, the share refused, by the share of the answerable that is refused."""
    answerable, nowhere = (
        np.array([_chance(one.signs, weights).max(initial=0.0) for one in some if one.is_right.any() == is_answered])
        for is_answered in (True, False)
    )
    return {str(share): round(float((nowhere < np.quantile(answerable, share)).mean()), 4) for share in SHARES}


def _fitted_on(homes: Sequence[Home], some: Sequence[Sequence[Looked]]) -> Floats:
    """Fit a logistic regression with a ridge to rows."""
    looked = np.vstack([one.signs for of_home in some for one in of_home])
    target = np.concatenate([one.is_right for of_home in some for one in of_home]).astype(np.float64)
    counts = np.repeat(
        [HOME_ROW if home.is_whole else 1.0 for home in homes],
        [sum(len(one.signs) for one in of_home) for of_home in some],
    )
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
