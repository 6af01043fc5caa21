"""The shipped weights for activities, from the drawn body: python -m hearth.learn.activity_training

Subjects of training and of the test are others, and so are their cameras. Writes `activity.npz` (weights),
`activity_statistics.npz` (what the owner's examples are added to) and `activity.json` (how it was made, and its
confusion matrix), the same to the byte on the same kind of processor. No torch; about a minute.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hearth.experts.activity import N_FEATURES, N_VALUES, Floats, Weights, features, save_weights, windows
from hearth.learn.body_model import ACTIVITIES, camera, movement, subject
from hearth.models.heads import Heads

SEED = 20261122
N_SUBJECTS, N_TEST_SUBJECTS = 240, 60
N_VIEWS = 3
"""Cameras for each subject, each with all activities."""
RIDGE = 0.3
WINDOW_S = 2.0
FINGERPRINT = f"activity-{N_VALUES}-1"


@dataclass(frozen=True, slots=True, eq=False)
class Windowed:
    """Windows with what is done in them and who does it."""

    values: Floats
    names: tuple[str, ...]
    who: tuple[int, ...]


def drawn_windows(seed: int, n_subjects: int, n_views: int = N_VIEWS, window_s: float = WINDOW_S) -> Windowed:
    """Windows of subjects that no other seed draws."""
    values: list[Floats] = []
    names: list[str] = []
    who: list[int] = []
    for number in range(n_subjects):
        drawn = np.random.default_rng([seed, number])
        person = subject(drawn)
        for _ in range(n_views):
            eye = camera(drawn)
            for name in ACTIVITIES:
                cut = windows(movement(name, person, eye, drawn), window_s)
                told = cut.values[cut.told][1:-1:2]
                values.append(told)
                names += [name] * len(told)
                who += [number] * len(told)
    return Windowed(np.concatenate(values), tuple(names), tuple(who))


def learnt(data: Windowed, names: Sequence[str] = ACTIVITIES, window_s: float = WINDOW_S) -> tuple[Heads, Weights]:
    """Heads over the windows, and their weights with chances that are right as often as they say on `data` itself
    with each subject left out by fifths."""
    middle = np.median(data.values, axis=0)
    spread = np.maximum(np.percentile(data.values, 84, axis=0) - np.percentile(data.values, 16, axis=0), 1e-3) / 2
    rows = features(data.values, middle, spread)
    outputs = np.zeros((len(rows), len(names)))
    wanted = np.array([names.index(name) for name in data.names])
    folds = np.array(data.who) % 5
    for fold in np.unique(folds):
        inside = folds != fold
        heads = _heads(rows[inside], [data.names[k] for k in np.flatnonzero(inside)], names)
        outputs[~inside] = rows[~inside] @ heads
    sharpness = sharpest(outputs, wanted)
    heads_all = Heads(N_FEATURES, ridge=RIDGE, fingerprint=FINGERPRINT)
    heads_all.learn(rows, [{name: 1.0} for name in data.names])
    heads_all.renew()
    return heads_all, weights_of(heads_all, middle, spread, sharpness, window_s)


def weights_of(heads: Heads, middle: Floats, spread: Floats, sharpness: float, window_s: float) -> Weights:
    return Weights(heads.outputs, middle, spread, heads.solved().astype(np.float32), sharpness, window_s)


def _heads(rows: Floats, said: Sequence[str], names: Sequence[str]) -> Floats:
    heads = Heads(N_FEATURES, ridge=RIDGE)
    heads.learn(rows, [{name: 1.0} for name in said])
    weights = heads.weights
    columns = [heads.column(name) for name in names]
    return np.stack([weights[:, c] if c is not None else np.zeros(len(weights)) for c in columns], axis=1)


def sharpest(outputs: Floats, wanted: np.ndarray) -> float:
    """The factor whose chances give what was wanted the highest likelihood."""
    best = (np.inf, 1.0)
    for factor in np.geomspace(1, 30, 60):
        scaled = outputs * factor
        scaled -= scaled.max(axis=1, keepdims=True)
        loss = -np.mean(scaled[np.arange(len(wanted)), wanted] - np.log(np.exp(scaled).sum(axis=1)))
        best = min(best, (float(loss), float(factor)))
    return best[1]


def confusion(weights: Weights, data: Windowed) -> dict[str, dict[str, int]]:
    """Of single windows, without smoothing: what was done → what was said → how often."""
    said = [weights.names[k] for k in weights.chances(data.values).argmax(axis=1)]
    table = {name: dict.fromkeys(weights.names, 0) for name in sorted(set(data.names))}
    for name, other in zip(data.names, said):
        table[name][other] += 1
    return table


def scores(table: dict[str, dict[str, int]]) -> dict[str, float]:
    """Share that is right, and the mean over activities of their F1."""
    n = sum(sum(row.values()) for row in table.values())
    f1 = []
    for name, row in table.items():
        right = row.get(name, 0)
        said = sum(other.get(name, 0) for other in table.values())
        f1.append(2 * right / max(sum(row.values()) + said, 1))
    right_in_all = sum(row.get(name, 0) for name, row in table.items())
    return {"accuracy": round(right_in_all / max(n, 1), 4), "macro_f1": round(float(np.mean(f1)), 4)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent.parent / "data")
    folder: Path = parser.parse_args().out
    train, test = drawn_windows(SEED, N_SUBJECTS), drawn_windows(SEED + 1, N_TEST_SUBJECTS)
    heads, weights = learnt(train)
    save_weights(weights, folder / "activity.npz")
    heads.save(folder / "activity_statistics.npz")
    with np.load(folder / "activity_statistics.npz") as held:
        parts = {name: held[name] for name in held.files}
    np.savez_compressed(folder / "activity_statistics.npz", **parts)
    table = confusion(weights, test)
    document = {
        "command": "python -m hearth.learn.activity_training",
        "seed": SEED,
        "made_of": "hearth.learn.body_model: a drawn body; no filmed person",
        "n_subjects": N_SUBJECTS,
        "n_windows": len(train.names),
        "ridge": RIDGE,
        "sharpness": round(weights.sharpness, 3),
        "held_out": {
            "n_subjects": N_TEST_SUBJECTS,
            "n_windows": len(test.names),
            **scores(table),
            "chance": round(max(test.names.count(n) for n in set(test.names)) / len(test.names), 4),
            "confusion": table,
        },
    }
    (folder / "activity.json").write_text(json.dumps(document, indent=1) + "\n")
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
