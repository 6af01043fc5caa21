"""Fit what decides memory's answers: `python -m hearth_bench.measure.memory.memory_at_scale --fit-answers`.

Two probabilities are each fitted by logistic regression. `related`, that the evidence is about the question: LoCoMo's
questions against those of another conversation with this one's names put in. `concerns`, that it is about the person
named: against questions that name the wrong person. Each may refuse a set share of the answerable questions
(`MOST_REFUSED`), measured on the conversation left out.

The words of an event that answer the question are chosen by a ridge regression on features of each run of words
(`answer_spans.LOOKED_AT`), whose target is the run's overlap with the right answer, measured in the same way.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hearth import config
from hearth.memory.answers.question_answering import (
    CONCERNS,
    LOOKED_AT,
    N_WEIGHED,
    RELATED,
    Signs,
    Span,
    WordReader,
    asks_for_time,
    candidates,
    is_asked_for,
    signs_of_evidence,
)
from hearth.memory.event_memory import EventMemory, Found
from hearth.memory.search.search_words import times_named
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.storage.database import Store
from hearth_bench.measure.result_file import ROOT
from hearth_bench.suites.answers_suite import ADVERSARIAL, FOREIGN, TokenF1, auroc, with_names
from hearth_bench.suites.recall_suite import FOREIGN_STEP, Conversation, EvidenceQuestion, read_conversations

Floats = NDArray[np.float64]
WEIGHTS = ROOT / "src/hearth/data/answer_weights.json"
MOST_REFUSED = {"least_related": 0.025, "least_concerns": 0.03, "least_related_alone": 0.1}
"""Share of the answerable questions that each probability alone may refuse. The last is for questions that name nobody,
where the other probability is not defined."""
RIDGE = 1e-3


@dataclass(frozen=True, slots=True)
class Case:
    conversation: int
    category: int
    signs: Signs
    question: str = ""
    right: str = ""
    spans: tuple[Span, ...] = ()

    @property
    def is_answerable(self) -> bool:
        return self.category not in (ADVERSARIAL, FOREIGN)


def fit_answers(path: Path) -> None:
    """Fit with each conversation left out in turn, then on all, and write the weights."""
    conversations = read_conversations(path)
    encoder = MiniLMEncoder.open()
    reader = WordReader(config.cache_folder(os.environ))
    cases = [
        case
        for number, one in enumerate(conversations)
        for case in _cases(one, conversations[(number + 1) % len(conversations)], number, encoder, reader)
    ]
    document = fitted(cases)
    WEIGHTS.write_text(json.dumps(document, indent=1) + "\n")
    print(json.dumps(document, indent=1))


def fitted(cases: list[Case]) -> dict[str, object]:
    """Return weights and thresholds, with their results on the conversations left out."""
    related = _left_out(cases, lambda some: _weights_of(some, "related"), _related)
    concerns = _left_out(cases, lambda some: _weights_of(some, "concerns"), _concerns)
    is_answerable = np.array([case.is_answerable for case in cases])
    chance = {"least_related": related, "least_concerns": concerns, "least_related_alone": related}
    least = {name: float(np.quantile(chance[name][is_answerable], share)) for name, share in MOST_REFUSED.items()}
    is_answered = (related >= least["least_related"]) & (concerns >= least["least_concerns"])
    kinds = np.array([case.category if not case.is_answerable else -1 for case in cases])
    names = {-1: "answerable", ADVERSARIAL: "adversarial", FOREIGN: "foreign"}
    left_out: dict[str, object] = {}
    for kind, name in names.items():
        of_kind = kinds == kind
        left_out[f"n_{name}"] = int(of_kind.sum())
        left_out[f"{name}_refused"] = _share(~is_answered[of_kind])
        left_out[f"{name}_refused_alone"] = _share(related[of_kind] < least["least_related_alone"])
    own = concerns[is_answerable]
    left_out["adversarial_auroc"] = auroc(own.tolist(), concerns[kinds == ADVERSARIAL].tolist())
    left_out["foreign_auroc"] = auroc(related[is_answerable].tolist(), related[kinds == FOREIGN].tolist())
    left_out["adversarial_refused_by_share_of_answerable_refused"] = {
        str(share): _share(concerns[kinds == ADVERSARIAL] < np.quantile(own, share)) for share in (0.05, 0.1, 0.2, 0.3)
    }
    return {
        "related": _named(RELATED, _weights_of(cases, "related")),
        "concerns": _named(CONCERNS, _weights_of(cases, "concerns")),
        **{name: round(value, 4) for name, value in least.items()},
        "spans": _named(LOOKED_AT, _span_weights(cases)) if any(case.spans for case in cases) else {},
        "fitted_on": f"LoCoMo, {len({case.conversation for case in cases})} conversations: questions with an answer "
        "against another conversation's with the names changed (related), against adversarial ones (concerns); words "
        "of the best events against the right answer (spans); ridge 0.001",
        "left_out": {**left_out, "span_f1": _span_f1(cases)},
    }


def _named(names: Sequence[str], weights: Floats) -> dict[str, float]:
    return {name: round(float(weight), 4) for name, weight in zip(names, weights, strict=True)}


def _share(values: NDArray[np.bool_]) -> float | None:
    return round(float(values.mean()), 4) if len(values) else None


def _left_out(
    cases: list[Case], fit: Callable[[list[Case]], Floats], chance: Callable[[Case, Floats], float]
) -> Floats:
    """Return each case's probability, by weights fitted on the other conversations."""
    chances = np.zeros(len(cases))
    for held in sorted({case.conversation for case in cases}):
        weights = fit([case for case in cases if case.conversation != held])
        for place, case in enumerate(cases):
            if case.conversation == held:
                chances[place] = chance(case, weights)
    return chances


def _related(case: Case, weights: Floats) -> float:
    return float(_chance(np.array([case.signs.related]), weights)[0])


def _concerns(case: Case, weights: Floats) -> float:
    return 1.0 if case.signs.concerns is None else float(_chance(np.array([case.signs.concerns]), weights)[0])


def _weights_of(cases: list[Case], name: str) -> Floats:
    """Fit the answerable cases against the foreign ones (`related`) or the adversarial ones (`concerns`)."""
    wrong = FOREIGN if name == "related" else ADVERSARIAL
    used = [case for case in cases if case.is_answerable or case.category == wrong]
    pairs = [(s, case.is_answerable) for case in used if (s := getattr(case.signs, name)) is not None]
    return _fitted(np.array([s for s, _ in pairs]), np.array([float(is_right) for _, is_right in pairs]))


# ── The words that are asked for ──────────────────────────────────────────────────────────────────────────


def _rights(case: Case, f1: TokenF1) -> Floats:
    """Return each run of words' F1 with the right answer, or with the nearest one if several are right."""
    parts = (
        case.right.split(",")
        if case.category == 1
        else [case.right.split(";")[0] if case.category == 3 else case.right]
    )
    return np.array([max(f1(span.text, part) for part in parts) for span in case.spans])


def _span_weights(cases: list[Case], rights: dict[int, Floats] | None = None) -> Floats:
    f1 = TokenF1()
    rows, targets = [], []
    for case in cases:
        if case.spans:
            right = rights[id(case)] if rights is not None else _rights(case, f1)
            if right.max() > 0:
                looked = np.array([span.looked_at for span in case.spans])
                rows.append(looked - looked.mean(axis=0))
                targets.append(right - right.mean())
    looked, target = np.vstack(rows), np.concatenate(targets)
    weights: Floats = np.linalg.solve(
        looked.T @ looked + RIDGE * len(looked) * np.eye(looked.shape[1]), looked.T @ target
    )
    return weights


def _span_f1(cases: list[Case]) -> dict[str, float | int | None]:
    """Return the mean F1 of the runs chosen, by weights fitted on the other conversations, and of the best runs."""
    f1 = TokenF1()
    asked = [case for case in cases if case.spans]
    rights = {id(case): _rights(case, f1) for case in asked}
    chosen = []
    for held in sorted({case.conversation for case in asked}):
        weights = _span_weights([case for case in asked if case.conversation != held], rights)
        for case in asked:
            if case.conversation == held:
                scores = np.array([span.looked_at for span in case.spans]) @ weights
                chosen.append(float(rights[id(case)][int(np.argmax(scores))]))
    if not chosen:
        return {"n": 0, "chosen": None, "best_there_was": None}
    best = [float(right.max()) for right in rights.values()]
    return {
        "n": len(chosen),
        "chosen": round(float(np.mean(chosen)), 4),
        "best_there_was": round(float(np.mean(best)), 4),
    }


def _cases(
    conversation: Conversation, other: Conversation, number: int, encoder: MiniLMEncoder, reader: WordReader
) -> list[Case]:
    questions: list[EvidenceQuestion] = [*conversation.questions]
    for question in other.questions[::FOREIGN_STEP]:
        text = with_names(question.text, other.people, conversation.people)
        questions.append(replace(question, text=text, category=FOREIGN, answer=""))
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "a.db") as store:
        memory = EventMemory(store, encoder, times_named)
        memory.remember_all(conversation.events)
        for _ in memory.embed():
            pass
        cases = []
        for question in questions:
            found = memory.look_closely(question.text, limit=N_WEIGHED, now=conversation.ends)
            if found:
                signs = signs_of_evidence(memory, question.text, found)
                spans = _spans(question, found, reader)
                cases.append(Case(number, question.category, signs, question.text, question.answer, spans))
        return cases


def _spans(question: EvidenceQuestion, found: Sequence[Found], reader: WordReader) -> tuple[Span, ...]:
    if not question.answer or asks_for_time(question.text) or not is_asked_for(question.text):
        return ()
    return tuple(candidates(question.text, found, reader))


def _fitted(signs: Floats, target: Floats) -> Floats:
    """Fit by Newton's method on the log-likelihood with a ridge; only the bias may have a negative weight.

    Otherwise, what an adversarial question shares with the event it was made from would count against every answer,
    also where nobody is named.
    """
    used = np.ones(signs.shape[1], bool)
    while True:
        weights = np.zeros(len(used))
        weights[used] = _newton(signs[:, used], target)
        is_against = weights < 0
        is_against[-1] = False
        if not is_against.any():
            return weights
        used &= ~is_against


def _newton(signs: Floats, target: Floats) -> Floats:
    weights = np.zeros(signs.shape[1])
    ridge = RIDGE * len(signs) * np.eye(len(weights))
    ridge[-1, -1] = 0  # the bias is free
    for _ in range(50):
        chance = _chance(signs, weights)
        curvature = (signs * (chance * (1 - chance))[:, None]).T @ signs + ridge
        weights -= np.linalg.solve(curvature, signs.T @ (chance - target) + ridge @ weights)
    return weights


def _chance(signs: Floats, weights: Floats) -> Floats:
    chance: Floats = 1 / (1 + np.exp(-signs @ weights))
    return chance
