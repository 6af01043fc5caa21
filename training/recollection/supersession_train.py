"""Train what tells that a later statement replaces an earlier one.

    python -m training.recollection.supersession_train

Ridge logistic regression, by Newton's method, on `memory.search.memory_index`'s signs and the later statement's vector,
over pairs of statements written for it (`data/changed_statements.jsonl`). Pairs about "my" things are also read as
pairs about somebody else's, and as a change of somebody else's thing that leaves mine as it is. Each earlier statement
is compared with the later ones nearest to it: its own change is right, all else is wrong, and what stands beside it in
its pair counts several times. The threshold keeps a set share of those that both hold, with a sixth of the pairs left
out in turn. No pair is of the benchmark's. Deterministic; no torch.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hearth.memory.search.memory_index import SIGNS, Statement, signs_of, statement_of
from hearth.models.sentence_encoder import MiniLMEncoder

DATA = Path(__file__).parents[1] / "data" / "changed_statements.jsonl"
OUT = Path(__file__).parents[2] / "src" / "hearth" / "data" / "supersession.json"
RIDGE_SIGNS, RIDGE_VECTOR = 3.0, 0.3
"""Of a sign in units of its deviation, and of a dimension of the vector."""
N_FOLDS = 6
N_BESIDE, N_STORES = 10, 4
"""Later statements that are compared with an earlier one, and parts of the pairs whose statements are compared: fewer
pairs of one part contradict each other by chance."""
HARD = 8.0
"""Weight of a pair that stands beside each other."""
KEPT = 0.9
"""Share of what both hold, as in the pairs, that is to be left in its place."""
_NAMES = ("Tom", "Hanne", "Joris", "Nadia", "Wim", "Sara", "Pavel", "Lotte")
_MINE = re.compile(r"\b[Mm]y\b")
_OF_ME = re.compile(r"\b(?:I|I'm|I've|me|[Ww]e|[Oo]ur|us)\b")
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Pair:
    earlier: str
    later: str
    question: str
    is_changed: bool
    fold: int


@dataclass(frozen=True, slots=True)
class Rows:
    signs: Floats
    is_right: NDArray[np.bool_]
    is_hard: NDArray[np.bool_]
    """True for a pair's own two statements, changed or not."""


def read_pairs(path: Path) -> list[Pair]:
    """Read the pairs, with those about somebody else that follow from them."""
    draw = random.Random(1)
    pairs = []
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        fold = int(hashlib.sha256(entry["question"].encode()).hexdigest(), 16) % N_FOLDS
        pair = Pair(entry["earlier"], entry["later"], entry["question"], entry["is_changed"], fold)
        pairs.append(pair)
        own = f"{draw.choice(_NAMES)}'s"
        is_mine = _MINE.search(pair.later) and _MINE.search(pair.question) and not _OF_ME.search(pair.later)
        if is_mine and pair.is_changed:
            pairs.append(replace(pair, later=_MINE.sub(own, pair.later), is_changed=False))
        if is_mine and _MINE.search(pair.earlier) and not _OF_ME.search(f"{pair.earlier} {pair.question}"):
            earlier, later, question = (_MINE.sub(own, text) for text in (pair.earlier, pair.later, pair.question))
            pairs.append(Pair(earlier, later, question, pair.is_changed, fold))
    return pairs


def rows_of(pairs: list[Pair], said: dict[str, Statement]) -> Rows:
    signs, is_right, is_hard = [], [], []
    for start in range(N_STORES):
        part = pairs[start::N_STORES]
        new = list(dict.fromkeys(pair.later for pair in part))
        for pair in part:
            earlier = said[pair.earlier]
            nearest = sorted(new, key=lambda text: -float(said[text].vector @ earlier.vector))[:N_BESIDE]
            for later in (pair.later, *(text for text in nearest if text != pair.later)):
                signs.append(signs_of(said[pair.question], earlier, said[later]))
                is_right.append(later == pair.later and pair.is_changed)
                is_hard.append(later == pair.later)
    return Rows(np.array(signs), np.array(is_right), np.array(is_hard))


def fitted(rows: Rows) -> Floats:
    """Return one weight for each sign and dimension, the constant last."""
    n = len(SIGNS)
    mean, spread = rows.signs.mean(axis=0), np.ones(rows.signs.shape[1])
    spread[:n] = rows.signs[:, :n].std(axis=0) + 1e-9
    scaled = np.c_[(rows.signs - mean) / spread, np.ones(len(rows.signs))]
    counted = np.where(rows.is_hard & ~rows.is_right, HARD, 1.0)
    penalty = np.full(scaled.shape[1], RIDGE_VECTOR)
    penalty[:n], penalty[-1] = RIDGE_SIGNS, 0
    weights = np.zeros(scaled.shape[1])
    for _ in range(40):
        chance = 1 / (1 + np.exp(-scaled @ weights))
        slope = scaled.T @ (counted * (chance - rows.is_right)) + penalty * weights
        bend = (scaled * (counted * chance * (1 - chance))[:, None]).T @ scaled + np.diag(penalty + 1e-9)
        step = np.linalg.solve(bend, slope)
        weights -= step
        if np.abs(step).max() < 1e-8:
            break
    plain = weights[:-1] / spread
    return np.append(plain, weights[-1] - plain @ mean)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    pairs = read_pairs(given.data)
    texts = list(dict.fromkeys(text for p in pairs for text in (p.earlier, p.later, p.question)))
    read = MiniLMEncoder.open(n_threads=1).encode_tokens(texts)
    said = {text: statement_of(text, vectors) for text, vectors in zip(texts, read, strict=True)}
    changed, beside, easy = [], [], []
    for fold in range(N_FOLDS):
        weights = fitted(rows_of([pair for pair in pairs if pair.fold != fold], said))
        left = rows_of([pair for pair in pairs if pair.fold == fold], said)
        scores = left.signs @ weights[:-1] + weights[-1]
        changed += scores[left.is_right].tolist()
        beside += scores[left.is_hard & ~left.is_right].tolist()
        easy += scores[~left.is_hard].tolist()
    least = float(np.quantile(beside, KEPT))
    record = {
        "what": f"logistic weights of {', '.join(SIGNS)}, of the later statement's vector, and the constant",
        "weights": [round(float(weight), 4) for weight in fitted(rows_of(pairs, said))],
        "least": round(least, 4),
        "left_out": {
            "changed_found": round(float(np.mean(np.array(changed) >= least)), 4),
            "beside_kept": round(float(np.mean(np.array(beside) < least)), 4),
            "others_kept": round(float(np.mean(np.array(easy) < least)), 4),
            "auroc_changed_against_beside": round(float(np.mean([c > b for c in changed for b in beside])), 4),
        },
        "n": {"changed": len(changed), "beside": len(beside), "others": len(easy)},
        "data_sha256": hashlib.sha256(given.data.read_bytes()).hexdigest(),
        "command": "python -m training.recollection.supersession_train",
    }
    given.out.write_text(json.dumps(record) + "\n")
    print(json.dumps({name: record[name] for name in ("least", "left_out", "n")}))


if __name__ == "__main__":
    main()
