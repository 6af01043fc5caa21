"""Score task decomposition: how close a plan's steps, in words, are to the right ones. Pure functions.

ROUGE is computed as Google's `rouge-score` 0.1.2 does without stemming, which is what TaskBench and GNN4TaskPlan call
through `datasets`. They report the median of a bootstrap, which differs from run to run; here it is the mean itself.
"""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hearth.errors import MissingExtraError

if TYPE_CHECKING:
    from hearth.protocols import Encoder

_OTHER = re.compile(r"[^a-z0-9]+")
BERTSCORE_MODEL = "roberta-large"
"""BERTScore model, the same as TaskBench's."""


def step_scores(
    predicted: Sequence[Sequence[str]], gold: Sequence[Sequence[str]], encoder: Encoder | None = None
) -> dict[str, float]:
    """Return mean scores of plans' steps, each plan's steps joined by line breaks.

    Returns:
        `rouge1 rouge2 rougeL`, and `step_similarity` with an encoder.
    Raises:
        ValueError: Lengths differ, or there is nothing to score.
    """
    if len(predicted) != len(gold) or not gold:
        raise ValueError(f"{len(predicted)} plans for {len(gold)} samples; expected as many, at least one")
    ours, theirs = ["\n".join(steps) for steps in predicted], ["\n".join(steps) for steps in gold]
    pairs = [(rouge_tokens(p), rouge_tokens(g)) for p, g in zip(ours, theirs)]
    scores = {
        "rouge1": float(np.mean([_rouge_n(p, g, 1) for p, g in pairs])),
        "rouge2": float(np.mean([_rouge_n(p, g, 2) for p, g in pairs])),
        "rougeL": float(np.mean([_rouge_l(p, g) for p, g in pairs])),
    }
    if encoder is not None:
        scores["step_similarity"] = embedding_similarity(ours, theirs, encoder)
    return scores


def rouge_tokens(text: str) -> list[str]:
    """Split a text into lower-case runs of a–z and 0–9; as in the source, all else (accents, other scripts) separates.

    Source:
        `rouge_score.tokenize.tokenize` with `stemmer=None`.
    """
    return _OTHER.sub(" ", text.lower()).split()


def rouge_n(predicted: str, gold: str, n: int) -> float:
    """Return the F-measure of shared runs of `n` words, each counted as often as both texts hold it.

    Source:
        Lin 2004, https://aclanthology.org/W04-1013; `rouge_score.rouge_scorer`, `rouge1` and `rouge2`.
    """
    return _rouge_n(rouge_tokens(predicted), rouge_tokens(gold), n)


def rouge_l(predicted: str, gold: str) -> float:
    """Return the F-measure of the longest common subsequence of words.

    Source:
        Lin 2004; `rouge_score.rouge_scorer`, `rougeL`.
    """
    return _rouge_l(rouge_tokens(predicted), rouge_tokens(gold))


def embedding_similarity(predicted: Sequence[str], gold: Sequence[str], encoder: Encoder) -> float:
    """Return the mean cosine of both texts' sentence embeddings; an empty text scores 0.

    Source:
        Reimers & Gurevych 2019, https://arxiv.org/abs/1908.10084.
    """
    rows = [k for k, (p, g) in enumerate(zip(predicted, gold)) if p.strip() and g.strip()]
    if not rows:
        return 0.0
    ours = encoder.encode([predicted[k] for k in rows]).astype(np.float64)
    theirs = encoder.encode([gold[k] for k in rows]).astype(np.float64)
    lengths = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    return float(((ours * theirs).sum(axis=1) / np.maximum(lengths, 1e-12)).sum() / len(predicted))


def bert_score(predicted: Sequence[str], gold: Sequence[str]) -> dict[str, float]:
    """Return the mean BERTScore `precision recall f1`, by the package `bert-score` with its model on this machine.

    Raises:
        MissingExtraError: The package is not installed.
    Source:
        Zhang et al. 2020, https://arxiv.org/abs/1904.09675; the model is the one TaskBench's `evaluate.py` names.
    """
    try:
        score: Callable[..., Sequence[Sequence[float]]] = importlib.import_module("bert_score").score
    except ImportError:
        raise MissingExtraError("BERTScore", "pip install bert-score") from None
    found = score(list(predicted), list(gold), model_type=BERTSCORE_MODEL)
    means: Mapping[str, float] = {
        name: float(np.mean([float(v) for v in values])) for name, values in zip(("precision", "recall", "f1"), found)
    }
    return dict(means)


def _rouge_n(predicted: Sequence[str], gold: Sequence[str], n: int) -> float:
    ours, theirs = _ngrams(predicted, n), _ngrams(gold, n)
    n_both = sum(min(count, theirs[gram]) for gram, count in ours.items() if gram in theirs)
    return _f_measure(n_both, max(ours.total(), 1), max(theirs.total(), 1))


def _ngrams(tokens: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[k:] for k in range(n))))


def _rouge_l(predicted: Sequence[str], gold: Sequence[str]) -> float:
    if not predicted or not gold:
        return 0.0
    return _f_measure(common_length(predicted, gold), len(predicted), len(gold))


def _f_measure(n_both: int, n_ours: int, n_theirs: int) -> float:
    precision, recall = n_both / n_ours, n_both / n_theirs
    return 2 * precision * recall / (precision + recall) if n_both else 0.0


def common_length(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the length of the longest common subsequence, computed row by row in the bits of one number.

    Source:
        Hyyrö 2004, "Bit-parallel LCS-length computation revisited".
    """
    places: dict[str, int] = {}
    for k, item in enumerate(a):
        places[item] = places.get(item, 0) | 1 << k
    row = everything = (1 << len(a)) - 1
    for item in b:
        met = row & places.get(item, 0)
        row = (row + met | row - met) & everything
    return len(a) - row.bit_count()
