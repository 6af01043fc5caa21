"""Train what tells asides from wishes: `python -m training.asides_train` (a minute).

Clauses of the shipped demonstrations: asides are those of requests with several whose words no argument takes and no
step is said by; wishes are the others, and all clauses of requests that nobody serves. A logistic function with a
ridge, solved by Newton's method; a fifth of the demonstrations is left out in turn for the figures in the file.
Writes src/hearth/data/asides.json.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hearth.agent import shipped_demonstrations
from hearth.language.reading import Utterance
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.arguments.alignment import ANY_TIME, Said, Slotted, explain, flat, named_in, tokens_of
from hearth.planning.retrieval.recall_planner import LIKELY, features_of
from hearth.types import Context, Demonstration

_OUT = Path(__file__).parents[1] / "src" / "hearth" / "data" / "asides.json"
_RIDGE, _ASIDE_WEIGHT, _N_STEPS, _N_FOLDS = 2.0, 3.0, 12, 5
_SHARED_WORDS, _SHARED_SHARE = 2, 0.4
_WORD = re.compile(r"\w+")

Floats = NDArray[np.float64]


def main() -> None:
    encoder = MiniLMEncoder.open()
    clauses = [found for one in shipped_demonstrations() for found in clauses_of(one)]
    features = features_of([text for _, text, _ in clauses], encoder).astype(np.float64)
    right = np.array([is_aside for _, _, is_aside in clauses], dtype=np.float64)
    folds = np.array([zlib.crc32(id.encode()) % _N_FOLDS for id, _, _ in clauses])
    chances = np.zeros(len(clauses))
    for fold in range(_N_FOLDS):
        weights = solved(features[folds != fold], right[folds != fold])
        chances[folds == fold] = 1 / (1 + np.exp(-features[folds == fold] @ weights))
    about = {
        "what": "logistic weights that tell a clause that wishes for nothing by itself",
        "n_asides": int(right.sum()),
        "n_wishes": int((1 - right).sum()),
        "left_out": {
            "found": round(float((chances[right == 1] >= LIKELY).mean()), 3),
            "wishes_taken": round(float((chances[right == 0] >= LIKELY).mean()), 4),
        },
        "command": "python -m training.asides_train",
        "weights": np.round(solved(features, right), 4).tolist(),
    }
    _OUT.write_text(json.dumps(about) + "\n")
    print({name: value for name, value in about.items() if name != "weights"})


def clauses_of(demonstration: Demonstration) -> Iterator[tuple[str, str, bool]]:
    """Yield the id, the text and whether it is an aside, of each clause that is surely one or the other."""
    text, plan = demonstration.request, demonstration.plan
    context = Context(entities=named_in(plan))
    said = Utterance(text, demonstration.now or ANY_TIME, context=context)
    if not plan.steps:
        yield from ((demonstration.id, text[act.start : act.end], False) for act in said.acts)
    elif len(said.acts) > 1:
        tokens, used = tokens_of(text, said.slots), used_by(demonstration)
        for act in said.acts:
            clause = text[act.start : act.end]
            places = {k for k, token in enumerate(tokens) if token.start >= act.start and token.end <= act.end}
            if places & used:
                yield demonstration.id, clause, False
            elif not any(_says(step.text, clause) for step in plan.steps):
                yield demonstration.id, clause, True


def used_by(demonstration: Demonstration) -> set[int]:
    """Return the tokens that arguments of the plan were taken from."""
    used: set[int] = set()
    for step in explain(demonstration)[0].steps:
        for source in flat(step.sources):
            if isinstance(source, Said):
                used |= set(range(source.first, source.last))
            elif isinstance(source, Slotted):
                used.add(source.token)
    return used


def _says(step: str, clause: str) -> bool:
    """Return whether a clause shares enough words with what a step is said to serve."""
    words = set(_WORD.findall(step.lower()))
    n_shared = len(words & set(_WORD.findall(clause.lower())))
    return bool(words) and n_shared >= max(_SHARED_WORDS, _SHARED_SHARE * len(words))


def solved(features: Floats, right: Floats) -> Floats:
    """Return the weights of a logistic regression with a ridge, by Newton's method."""
    weights = np.zeros(features.shape[1])
    importance = np.where(right == 1, _ASIDE_WEIGHT, 1.0)
    for _ in range(_N_STEPS):
        chances = 1 / (1 + np.exp(-features @ weights))
        bend = (features * (importance * chances * (1 - chances))[:, None]).T @ features
        slope = features.T @ (importance * (chances - right)) + _RIDGE * weights
        weights -= np.linalg.solve(bend + _RIDGE * np.eye(len(weights)), slope)
    return weights


if __name__ == "__main__":
    main()
