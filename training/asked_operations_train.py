"""Train what understands which operation a question asks for: `python -m training.asked_operations_train` (a minute).

`asked_operations.jsonl` holds questions as people of many lives would ask them, each with its operation, and the words
that name its matter and its time. Beside them stand real people's requests to assistants (`tool_heads_train`): orders,
look-ups that have a tool of their own, and what nobody serves; nothing of these is worked out. Operations: a
multinomial logistic regression; each word of the matter and of the time: a logistic function of the word in its place;
both by Adam (Kingma & Ba 2015) over all rows at once. A fifth of the questions, by their hash, is left out for the
figures in the record; what ships has learnt all. Deterministic.
"""

from __future__ import annotations

import hashlib
import json
import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict

from hearth.memory.inquiry.asked_operations import (
    FILE,
    LEAST_SURE,
    N_CELLS,
    OPERATIONS,
    STRETCHES,
    Floats,
    cells_of,
    features_of,
    signs_of,
    stretch_of,
    words_of,
)
from hearth.models.encoder.sentence_encoder import MiniLMEncoder
from training.tool_heads_train import requests_to_learn

QUESTIONS = Path(__file__).with_name("asked_operations.jsonl")
UNSEEN = Path(__file__).parents[1] / "packages/hearth-bench/hearth_bench/measure/data/unseen_asked_operations.jsonl"
"""Questions of an author of whom nothing is learnt, only counted."""
_OUT = Path(__file__).parents[1] / "src" / "hearth" / "data" / FILE
_N_FOLDS = 5
_N_REQUESTS, _SEED = 1600, 1
_NEAR = frozenset({"upcoming_birthdays", "next_event", "find_mail", "time_until", "find_answer", "search_memory"})
"""Tools that serve what is worked out, too: requests for them say neither."""
_RIDGE, _MARK_RIDGE = 5e-5, 1e-5
_N_STEPS, _STEP = 300, 0.1


class AskedQuestion(BaseModel):
    """A question with what it asks for."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    q: str
    op: str
    matter: str
    when: str
    is_request: bool = False
    """Whether it is a real person's request, of which nothing is worked out."""


def main() -> None:
    asked, unseen = read_asked(QUESTIONS), read_asked(UNSEEN)
    encoder = MiniLMEncoder.open()
    asked += requests_drawn()
    features, features_unseen = _features_of(asked, encoder), _features_of(unseen, encoder)
    folds = np.array([zlib.crc32(one.q.encode()) % _N_FOLDS for one in asked])
    kept = [one for one, fold in zip(asked, folds, strict=True) if fold]
    held = [one for one, fold in zip(asked, folds, strict=True) if not fold]
    tried = operations_fitted(features[folds > 0], kept), marks_fitted(kept)
    operations, marks = operations_fitted(features, asked), marks_fitted(asked)
    requests = np.array([one.is_request for one in held])
    np.savez_compressed(_OUT, operations=operations.astype(np.float16), marks=marks.astype(np.float16))
    record = {
        "what": "weights that tell which operation a question asks for, and its words that name matter and time",
        "n": len(asked),
        "left_out": judged(features[folds == 0][~requests], [o for o in held if not o.is_request], *tried),
        "left_out_requests": _tried_of_requests(features[folds == 0][requests], tried[0]),
        "another_author": judged(features_unseen, unseen, operations, marks),
        "questions_sha256": hashlib.sha256(QUESTIONS.read_bytes()).hexdigest(),
        "command": "python -m training.asked_operations_train",
        "sha256": hashlib.sha256(_OUT.read_bytes()).hexdigest(),
    }
    _OUT.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record, indent=1))


def read_asked(path: Path) -> list[AskedQuestion]:
    """Read questions, one a line."""
    return [AskedQuestion.model_validate_json(line) for line in path.read_text(encoding="utf-8").splitlines()]


def requests_drawn() -> list[AskedQuestion]:
    """Return some of the real requests that may be learnt from; always the same."""
    every = [one for one in requests_to_learn(()) if _NEAR.isdisjoint(one.accept)]
    chosen = np.random.default_rng(_SEED).permutation(len(every))[:_N_REQUESTS]
    return [AskedQuestion(q=every[k].text, op="read", matter="", when="", is_request=True) for k in sorted(chosen)]


def _features_of(asked: Sequence[AskedQuestion], encoder: MiniLMEncoder) -> Floats:
    texts = [one.q for one in asked]
    return features_of(texts, np.vstack([encoder.encode(texts[k : k + 64]) for k in range(0, len(texts), 64)]))


def operations_fitted(features: Floats, asked: Sequence[AskedQuestion]) -> Floats:
    """Return weights, shape [features, operations]; a rare operation counts more."""
    right = np.array([[one.op == name for name in OPERATIONS] for one in asked], np.float32)
    importance = right @ (right.sum(axis=0).clip(1) ** -0.5)
    importance /= importance.mean()

    def slope(weights: Floats) -> Floats:
        said = features @ weights
        chances = np.exp(said - said.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        rows = importance[:, None] * (chances - right)
        return np.asarray(features.T @ rows / len(asked) + _RIDGE * weights, dtype=np.float32)

    return _descended((features.shape[1], len(OPERATIONS)), slope)


def marks_fitted(asked: Sequence[AskedQuestion]) -> Floats:
    """Return weights of the words that name the matter and the time, shape [stretches, cells]."""
    cells, right = [], []
    for one in (one for one in asked if not one.is_request):
        words = words_of(one.q)
        named = [_place(one.q, part) for part in (one.matter, one.when)]
        cells += [cells_of(signs) for signs in signs_of(words, one.op)]
        right += [[a <= start and end <= b for a, b in named] for _, start, end in words]
    places, target = np.array(cells), np.array(right, np.float32)

    def slope(weights: Floats) -> Floats:
        chances = 1 / (1 + np.exp(-weights[:, places].sum(axis=2)))
        found = _MARK_RIDGE * weights
        for k, rest in enumerate(chances - target.T):
            found[k] += np.bincount(places.ravel(), np.repeat(rest, places.shape[1]), N_CELLS) / len(target)
        return np.asarray(found, dtype=np.float32)

    return _descended((len(STRETCHES), N_CELLS), slope)


def _place(question: str, part: str) -> tuple[int, int]:
    start = question.find(part) if part else -1
    return (start, start + len(part)) if start >= 0 else (0, 0)


def _descended(shape: tuple[int, int], slope: Callable[[Floats], Floats]) -> Floats:
    weights = np.zeros(shape, dtype=np.float32)
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, _N_STEPS + 1):
        now = slope(weights)
        mean = 0.9 * mean + 0.1 * now
        square = 0.99 * square + 0.01 * now**2
        rate = _STEP * (1 + np.cos(np.pi * step / _N_STEPS)) / 2 + 1e-4
        weights -= np.float32(rate) * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
        if step % 100 == 0:
            print(f"fitting, step {step} of {_N_STEPS} …", file=sys.stderr)
    return weights


def judged(features: Floats, asked: Sequence[AskedQuestion], operations: Floats, marks: Floats) -> dict[str, float]:
    """Return how often what is said of questions is right."""
    scores = features @ operations
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    said = [OPERATIONS[k] for k in chances.argmax(axis=1)]
    sure = chances.max(axis=1) >= LEAST_SURE
    right = np.array([a == one.op for a, one in zip(said, asked, strict=True)])
    worked = np.array([one.op != "read" for one in asked])
    tried = sure & np.array([one != "read" for one in said])
    parts = [
        [stretch_of(one.q, one.op, row) == part for row, part in zip(marks, (one.matter, one.when), strict=True)]
        for one in asked
    ]
    matters, times = np.array(parts).T
    return {
        "n": len(asked),
        "right": round(float(right.mean()), 3),
        "worked_out_tried_rightly": round(float((tried & right)[worked].mean()), 3),
        "worked_out_tried_wrongly": round(float((tried & ~right)[worked].mean()), 3),
        "read_tried": round(float(tried[~worked].mean()), 3),
        "matter_exact": round(float(matters[worked].mean()), 3),
        "when_exact": round(float(times[worked].mean()), 3),
    }


def _tried_of_requests(features: Floats, operations: Floats) -> dict[str, float]:
    """Return of how many requests something would be worked out."""
    scores = features @ operations
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    chances[:, OPERATIONS.index("read")] = 0
    return {"n": len(features), "tried": round(float((chances.max(axis=1) >= LEAST_SURE).mean()), 4)}


if __name__ == "__main__":
    main()
