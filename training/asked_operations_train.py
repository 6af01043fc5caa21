"""Train what understands which operation a question asks for: `python -m training.asked_operations_train` (minutes).

`asked_operations.jsonl` holds questions as people of many lives would ask them, each with its operation, and the words
that name its matter and its time. Beside them stand real people's requests to assistants (`tool_heads_train`): orders,
look-ups that have a tool of their own, and what nobody serves; nothing of these is worked out. Operations: a
multinomial logistic regression; each word of the matter and of the time: a logistic function of the word in its place;
whether a question is for the owner's things: a logistic function, learnt from the questions and those over pieces of
homes (`home_passages.jsonl`) beside the real requests; all by Adam (Kingma & Ba 2015) over all rows at once. A fifth of
the questions, by their hash, is left out for the figures in the record; what ships has learnt all. Deterministic.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict

from hearth.agent import shipped_demonstrations
from hearth.memory.answers.home_answers import (
    LEAST_OWN,
    LEAST_TAKEN,
    N_CELLS,
    OPERATIONS,
    OPERATIONS_FILE,
    STRETCHES,
    Floats,
    cells_of,
    features_of,
    signs_of,
    stretch_of,
    words_of,
)
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth_bench.data.request_corpus import is_held_out, read_real_requests
from hearth_bench.suites.reading.home_pieces import read_documents, read_pieces
from training.logistic import chances_of, descended
from training.tool_heads_train import data_folder, requests_to_learn

HOMES = Path(__file__).with_name("home_passages.jsonl")
QUESTIONS = Path(__file__).with_name("asked_operations.jsonl")
UNSEEN = Path(__file__).parents[1] / "packages/hearth-bench/hearth_bench/measure/data/unseen_asked_operations.jsonl"
"""Questions of an author of whom nothing is learnt, only counted."""
_OUT = Path(__file__).parents[1] / "src" / "hearth" / "data" / OPERATIONS_FILE
_N_FOLDS = 5
_N_OWN, _N_NOT_OWN = 5_000, 9_000
_KINDS = ("none", "tool", "chat")
_OF_OWN_THINGS = frozenset({"find_answer", "search_memory"})
_N_REQUESTS, _SEED = 4000, 1
_NEAR = frozenset({"upcoming_birthdays", "next_event", "find_mail", "time_until", "find_answer", "search_memory"})
"""Tools that serve what is worked out, too: a request for them says which it is only where it has none of `_WORKED`."""
_WORKED = re.compile(
    r"\b(?:how (?:many|much|long|old|soon|often)|birthdays?|when|next|last|repl\w+|answer\w*|wait\w*|clash\w*"
    r"|conflict\w*|double|overlap\w*|until|till|age)\b",
    re.IGNORECASE,
)
_LOOK_UPS = (["find_events"], ["find_mail"], ["find_reminders"], ["find_free_time"], ["find_notes"], ["read_list"])
_RIDGE, _MARK_RIDGE = 2e-5, 1e-5
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
    own = own_fitted(features[[not one.is_request for one in asked]], encoder)
    kept_as = [value.astype(np.float16) for value in (operations, marks, own)]
    np.savez_compressed(_OUT, operations=kept_as[0], marks=kept_as[1], own=kept_as[2])
    record = {
        "what": "weights that tell which operation a question asks for, and its words that name matter and time",
        "n": len(asked),
        "left_out": judged(features[folds == 0][~requests], [o for o in held if not o.is_request], *tried),
        "left_out_requests": _tried_of_requests(features[folds == 0][requests], tried[0]),
        "another_author": judged(features_unseen, unseen, operations, marks),
        "own_things": own_judged(own, features_unseen, encoder),
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
    """Return some of the real requests that may be learnt from, always the same, and those demonstrations that look
    something up where it is listed."""
    every = [one.text for one in requests_to_learn(()) if _NEAR.isdisjoint(one.accept) or not _WORKED.search(one.text)]
    chosen = np.random.default_rng(_SEED).permutation(len(every))[:_N_REQUESTS]
    looked_up = [
        one.request
        for one in shipped_demonstrations()
        if [step.tool for step in one.plan.steps] in _LOOK_UPS and not _WORKED.search(one.request)
    ]
    texts = [every[k] for k in sorted(chosen)] + looked_up
    return [AskedQuestion(q=text, op="read", matter="", when="", is_request=True) for text in texts]


def own_fitted(features: Floats, encoder: MiniLMEncoder) -> Floats:
    """Return weights that tell questions for the owner's things from other requests, shape [features].

    Args:
        features: Those of the questions that are learnt, shape [n, features].
    """
    draw = np.random.default_rng(_SEED)
    of_pieces = [asked.q for piece in read_pieces(HOMES, held=False) for asked in piece.qa]
    others = [one.text for one in requests_to_learn(()) if _OF_OWN_THINGS.isdisjoint(one.accept)]
    drawn = [of_pieces[k] for k in draw.permutation(len(of_pieces))[:_N_OWN]]
    drawn += [others[k] for k in draw.permutation(len(others))[:_N_NOT_OWN]]
    rows = np.vstack([features, _features_of_texts(drawn, encoder)])
    target = np.zeros((len(rows), 1), np.float32)
    target[: len(features) + min(_N_OWN, len(of_pieces))] = 1

    def slope(weights: Floats) -> Floats:
        chances = 1 / (1 + np.exp(-rows @ weights))
        return np.asarray(rows.T @ (chances - target) / len(rows) + _RIDGE * weights, dtype=np.float32)

    return descended((rows.shape[1], 1), slope, _N_STEPS, _STEP)[:, 0]


def own_judged(own: Floats, features_unseen: Floats, encoder: MiniLMEncoder) -> dict[str, float]:
    """Return how many questions of authors not learnt are told to be for the owner's things, and how many of the real
    requests that are never learnt from."""
    pieces = [question.question for question in read_documents(UNSEEN.with_name("home_pieces.jsonl"))]
    real = [one for one in read_real_requests(data_folder()) if one.kind != "either" and is_held_out(one, 0)]

    def share(features: Floats) -> float:
        return round(float((1 / (1 + np.exp(-features @ own)) >= LEAST_OWN).mean()), 4)

    return {
        "to_be_worked_out_or_read": share(features_unseen),
        "of_pieces": share(_features_of_texts(pieces, encoder)),
        **{
            f"real_{kind}": share(_features_of_texts([o.text for o in real if o.kind == kind], encoder))
            for kind in _KINDS
        },
    }


def _features_of(asked: Sequence[AskedQuestion], encoder: MiniLMEncoder) -> Floats:
    return _features_of_texts([one.q for one in asked], encoder)


def _features_of_texts(texts: Sequence[str], encoder: MiniLMEncoder) -> Floats:
    return features_of(texts, np.vstack([encoder.encode(texts[k : k + 64]) for k in range(0, len(texts), 64)]))


def operations_fitted(features: Floats, asked: Sequence[AskedQuestion]) -> Floats:
    """Return weights, shape [features, operations]; a rare operation counts more."""
    right = np.array([[one.op == name for name in OPERATIONS] for one in asked], np.float32)
    importance = right @ (right.sum(axis=0).clip(1) ** -0.5)
    importance /= importance.mean()

    def slope(weights: Floats) -> Floats:
        rows = importance[:, None] * (chances_of(features @ weights) - right)
        return np.asarray(features.T @ rows / len(asked) + _RIDGE * weights, dtype=np.float32)

    return descended((features.shape[1], len(OPERATIONS)), slope, _N_STEPS, _STEP)


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

    return descended((len(STRETCHES), N_CELLS), slope, _N_STEPS, _STEP)


def _place(question: str, part: str) -> tuple[int, int]:
    start = question.find(part) if part else -1
    return (start, start + len(part)) if start >= 0 else (0, 0)


def judged(features: Floats, asked: Sequence[AskedQuestion], operations: Floats, marks: Floats) -> dict[str, float]:
    """Return how often what is said of questions is right."""
    chances = chances_of(features @ operations)
    said = [OPERATIONS[k] for k in chances.argmax(axis=1)]
    sure = chances.max(axis=1) >= LEAST_TAKEN
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
    chances = chances_of(features @ operations)
    chances[:, OPERATIONS.index("read")] = 0
    return {"n": len(features), "tried": round(float((chances.max(axis=1) >= LEAST_TAKEN).mean()), 4)}


if __name__ == "__main__":
    main()
