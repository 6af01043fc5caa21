"""Train the shipped activity weights on the drawn body: python -m hearth_video.train.activity_train

Training and test use different subjects and cameras. Writes `activity.npz` (weights), `activity_statistics.npz` (what
the owner's examples are added to) and `activity.json` (how it was made, and its confusion matrix), byte for byte the
same on the same kind of processor. No torch; about a minute.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from hearth_video.experts.activity import Floats, save_weights, windows
from hearth_video.footage.activities import RIDGE, Windowed, confusion, scores, trained
from hearth_video.train.drawn_body import ACTIVITIES, camera, movement, subject

SEED = 20261122
N_SUBJECTS, N_TEST_SUBJECTS = 240, 60
N_VIEWS = 3
"""Cameras for each subject, each with all activities."""
WINDOW_S = 2.0


def drawn_windows(seed: int, n_subjects: int, n_views: int = N_VIEWS, window_s: float = WINDOW_S) -> Windowed:
    """Return windows of subjects that no other seed draws."""
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent.parent / "data")
    folder: Path = parser.parse_args().out
    train, test = drawn_windows(SEED, N_SUBJECTS), drawn_windows(SEED + 1, N_TEST_SUBJECTS)
    heads, weights = trained(train, WINDOW_S)
    save_weights(weights, folder / "activity.npz")
    heads.save(folder / "activity_statistics.npz")
    with np.load(folder / "activity_statistics.npz") as held:
        parts = {name: held[name] for name in held.files}
    np.savez_compressed(folder / "activity_statistics.npz", **parts)
    table = confusion(weights, test)
    document = {
        "command": "python -m hearth_video.train.activity_train",
        "seed": SEED,
        "made_of": "hearth_video.train.drawn_body: a drawn body; no filmed person",
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
