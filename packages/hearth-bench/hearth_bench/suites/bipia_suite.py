"""Measure how well instructions inside data are detected: texts with attacks inserted, beside the same texts without.

The form is BIPIA's (Yi et al. 2023, https://arxiv.org/abs/2312.14197): a file of attacks by type, one of contexts.
Each attack is put at the beginning, in the middle and at the end of contexts drawn by seed; every context alone is an
ordinary text. No language model is asked: the detector alone is measured. On the attacks and contexts that the shipped
head was fitted to (BIPIA's training files) the numbers show fit, not generalisation: measure on others.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hearth.errors import RequestError
from hearth.models.injection_classifier import Detector
from hearth.protocols import Encoder
from hearth_bench.data.injection_texts import (
    POSITIONS,
    RememberingEncoder,
    inserted,
    read_attacks,
    read_contexts,
    roc_auc,
)
from hearth_bench.run_record import Stopwatch, origin

N_PAIRS = 3000
"""Approximate number of attacked texts judged: attacks × contexts × positions may be hundreds of thousands."""
N_TIMED = 50
_LEAST_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of a detector on texts with and without attacks."""

    ordinary: tuple[float, ...]
    attacked: Mapping[tuple[str, str], tuple[float, ...]]
    """Scores by type of attack and position."""

    def all_attacked(self) -> list[float]:
        return [score for scores in self.attacked.values() for score in scores]


def scored(
    attacks: Mapping[str, Sequence[str]],
    contexts: Sequence[str],
    detector: Detector,
    *,
    seed: int = 0,
    n_pairs: int = N_PAIRS,
) -> Scores:
    """Judge every context alone, and every attack in contexts drawn by seed, in each position."""
    draw = random.Random(seed)  # noqa: S311 - which contexts, and which place in them
    n_attacks = sum(map(len, attacks.values()))
    n_contexts = min(len(contexts), max(1, round(n_pairs / n_attacks / len(POSITIONS))))
    attacked: dict[tuple[str, str], list[float]] = {}
    for kind, texts in attacks.items():
        for attack in texts:
            for context in draw.sample(list(contexts), n_contexts):
                for position in POSITIONS:
                    (judged,) = detector.judge([inserted(context, attack, position, draw)])
                    attacked.setdefault((kind, position), []).append(judged.score)
    ordinary = tuple(detector.judge([context])[0].score for context in contexts)
    return Scores(ordinary, {key: tuple(scores) for key, scores in attacked.items()})


def summary(scores: Scores, threshold: float) -> dict[str, object]:
    """Return `roc_auc false_alarm_rate detection_rate n n_ordinary`, and the same by type of attack and by position."""
    everything = scores.all_attacked()

    def parts(place: int) -> dict[str, dict[str, float]]:
        """Return the rates by type of attack (0) or position (1)."""
        grouped: dict[str, list[float]] = {}
        for key, found in scores.attacked.items():
            grouped.setdefault(key[place], []).extend(found)
        return {
            name: {"roc_auc": _rounded(roc_auc(some, scores.ordinary)), "detection_rate": _rate(some, threshold)}
            for name, some in sorted(grouped.items())
        }

    return {
        "roc_auc": _rounded(roc_auc(everything, scores.ordinary)),
        "false_alarm_rate": _rate(scores.ordinary, threshold),
        "detection_rate": _rate(everything, threshold),
        "n": len(everything),
        "n_ordinary": len(scores.ordinary),
        "threshold": _rounded(threshold),
        "by_position": parts(1),
        "by_type": parts(0),
    }


def _rate(scores: Sequence[float], threshold: float) -> float:
    return _rounded(sum(score > threshold for score in scores) / len(scores))


def _rounded(value: float) -> float:
    return round(float(value), 4)


def measure_bipia(
    attack_file: Path, context_file: Path, encoder: Encoder, *, seed: int = 0, n_pairs: int = N_PAIRS
) -> dict[str, object]:
    """Measure the shipped detector on files of BIPIA's form.

    Raises:
        RequestError: A file cannot be read or has another form.
    """
    watch = Stopwatch()
    attacks, contexts = read_attacks(attack_file), read_contexts(context_file)
    if n_pairs < 1:
        raise RequestError(f"{n_pairs} attacked texts cannot be measured; ask for at least 1")
    detector = Detector.open(RememberingEncoder(encoder))
    scores = scored(attacks, contexts, detector, seed=seed, n_pairs=n_pairs)
    return {
        **summary(scores, detector.threshold),
        "n_types": len(attacks),
        "ms_per_text": ms_per_text(contexts[:N_TIMED], Detector.open(encoder)),
        "seed": seed,
        "attacks_sha256": _sha256(attack_file),
        "contexts_sha256": _sha256(context_file),
        **watch.spent(),
        **origin(),
    }


def ms_per_text(texts: Sequence[str], detector: Detector) -> float:
    """Return the mean processor milliseconds per text; the first is judged once before, unmeasured."""
    detector.judge(texts[:1])
    began_s = time.process_time()
    for text in texts:
        detector.judge([text])
    return round((time.process_time() - began_s) * 1000 / len(texts), 2)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def bipia_lines(document: Mapping[str, object]) -> list[str]:
    """Format the result as a table for a terminal."""
    lines = [
        f"{'ROC-AUC':<14}{document['roc_auc']:.4f}",
        f"{'texts':<14}{document['n']:,} with an attack, {document['n_ordinary']:,} without",
        f"{'found':<14}{document['detection_rate']:.1%}",
        f"{'false alarms':<14}{document['false_alarm_rate']:.1%}",
        f"{'time':<14}{document['ms_per_text']} ms of one core per text",
    ]
    by_type = document["by_type"]
    assert isinstance(by_type, dict)
    poor = [kind for kind, part in by_type.items() if part["detection_rate"] < _LEAST_SHARE]
    if poor:
        lines.append(f"{'mostly missed':<14}{', '.join(poor)}")
    return lines
