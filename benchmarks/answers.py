"""The chance that memory answers a question, fitted: `python -m benchmarks.recall --fit-answers`.

Logistic regression over `answering.SIGNS`: questions that a conversation answers against those that name the wrong
person (LoCoMo's adversarial ones) and those of another conversation with this one's names. Measured on the conversation
that was left out; the threshold is where one in twenty of the answerable is refused.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hearth.bench.suites.answers import ADVERSARIAL, FOREIGN, auroc, with_names
from hearth.bench.suites.recall import FOREIGN_STEP, Conversation, EvidenceQuestion, read_conversations
from hearth.memory.answering import N_WEIGHED, SIGNS, signs_of_evidence
from hearth.memory.events import EventMemory
from hearth.models.encoder import MiniLMEncoder
from hearth.planning.times_named import times_named
from hearth.store import Store

Floats = NDArray[np.float64]
WEIGHTS = Path(__file__).parents[1] / "src/hearth/data/answer_weights.json"
MOST_REFUSED = 0.05
RIDGE = 1e-3


@dataclass(frozen=True, slots=True)
class Case:
    conversation: int
    category: int
    signs: tuple[float, ...]

    @property
    def is_answerable(self) -> bool:
        return self.category not in (ADVERSARIAL, FOREIGN)


def fit_answers(path: Path) -> None:
    """Fit, leave one conversation out, write the weights."""
    conversations = read_conversations(path)
    encoder = MiniLMEncoder.open()
    cases = [
        case
        for number, one in enumerate(conversations)
        for case in _cases(one, conversations[(number + 1) % len(conversations)], number, encoder)
    ]
    document = fitted(cases)
    WEIGHTS.write_text(json.dumps(document, indent=1) + "\n")
    print(json.dumps(document, indent=1))


def fitted(cases: list[Case]) -> dict[str, object]:
    """Weights and threshold, with how they do on the conversation that was left out."""
    chances = np.zeros(len(cases))
    numbers = sorted({case.conversation for case in cases})
    for held in numbers:
        weights = _fitted([case for case in cases if case.conversation != held])
        for place, case in enumerate(cases):
            if case.conversation == held:
                chances[place] = _chance(np.array([case.signs]), weights)[0]
    weights = _fitted(cases)
    kinds = ["adversarial" if c.category == ADVERSARIAL else "foreign" if c.category == FOREIGN else "" for c in cases]
    by_kind = {
        name or "answerable": chances[[kind == name for kind in kinds]] for name in ("", "adversarial", "foreign")
    }
    least = float(np.quantile(by_kind["answerable"], MOST_REFUSED))
    n_right = int((by_kind["answerable"] >= least).sum() + (by_kind["adversarial"] < least).sum())
    has_foreign = len(by_kind["foreign"]) > 0
    return {
        "weights": {name: round(float(w), 3) for name, w in zip(SIGNS, weights, strict=True)},
        "least_chance": round(least, 4),
        "fitted_on": f"LoCoMo, {len(numbers)} conversations: questions with an answer against adversarial ones "
        + ("and another conversation's with the names changed" if has_foreign else "alone")
        + "; ridge 0.001",
        "left_out": {
            **{f"n_{name}": len(values) for name, values in by_kind.items()},
            "adversarial_auroc": auroc(by_kind["answerable"].tolist(), by_kind["adversarial"].tolist()),
            "foreign_auroc": auroc(by_kind["answerable"].tolist(), by_kind["foreign"].tolist()),
            "accuracy_on_adversarial_and_answerable": round(
                n_right / (len(by_kind["answerable"]) + len(by_kind["adversarial"])), 4
            ),
            **{
                f"{name}_refused": round(float((values < least).mean()), 4)
                for name, values in by_kind.items()
                if len(values)
            },
            "adversarial_refused_by_share_of_answerable_refused": {
                str(share): round(float((by_kind["adversarial"] < np.quantile(by_kind["answerable"], share)).mean()), 4)
                for share in (0.05, 0.1, 0.2, 0.3)
            },
        },
    }


def _cases(conversation: Conversation, other: Conversation, number: int, encoder: MiniLMEncoder) -> list[Case]:
    questions: list[EvidenceQuestion] = [*conversation.questions]
    for question in other.questions[::FOREIGN_STEP]:
        text = with_names(question.text, other.people, conversation.people)
        questions.append(replace(question, text=text, category=FOREIGN))
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "a.db") as store:
        memory = EventMemory(store, encoder, times_named)
        memory.remember_all(conversation.events)
        for _ in memory.embed():
            pass
        cases = []
        for question in questions:
            found = memory.look_closely(question.text, limit=N_WEIGHED, now=conversation.ends)
            if found:
                cases.append(Case(number, question.category, signs_of_evidence(question.text, found)))
        return cases


def _fitted(cases: list[Case]) -> Floats:
    """Newton's method on the log-likelihood less a ridge; no sign but the bias may weigh against an answer.

    Without that, what an adversarial question shares with the event it was made from counts against every answer, also
    where nobody is named.
    """
    signs = np.array([case.signs for case in cases])
    target = np.array([float(case.is_answerable) for case in cases])
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
