"""Train and provide the activity weights: the shipped statistics, the owner's own examples, and a model from DAHLIA.

The heads are those of the planner (`models.ridge`): a ridge regression kept as sums, so that an owner's example counts
as soon as it is given, and what was learnt from it is removed exactly when it is forgotten. Nothing learnt is stored
besides the examples: the heads are computed anew from shipped sums and examples whenever they change.

An example is kept as twenty numbers for each of its windows, without pictures or landmarks.
"""

from __future__ import annotations

import datetime as dt
import importlib.resources
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hearth.errors import NotFound, RequestError
from hearth.models.ridge import Heads
from hearth.storage.database import Store
from hearth_video.experts.activity import (
    FALL,
    N_FEATURES,
    N_VALUES,
    ActivityExpert,
    Floats,
    Weights,
    features,
    load_weights,
    shipped_weights,
    windows,
)
from hearth_video.experts.expert_values import Movement

HOUSEHOLD_FILE = "activities/household.npz"
"""File under the home with weights of longer windows, trained on DAHLIA or on the owner's clips in its layout."""
RIDGE = 0.3
FINGERPRINT = f"activity-{N_VALUES}-1"
EXAMPLE_WEIGHT = 32.0
"""Number of drawn windows that one of the owner's counts for: a few examples are a hundred windows among 20,000."""
_N_MAX_NAME = 40


@dataclass(frozen=True, slots=True, eq=False)
class Windowed:
    """Windows with their activity and person."""

    values: Floats
    names: tuple[str, ...]
    who: tuple[int, ...]


class Activities:
    """The activities that a home can recognise."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.household_file = store.path.parent / HOUSEHOLD_FILE

    def teach(self, name: str, movements: Sequence[Movement], now: dt.datetime) -> int:
        """Add examples of an activity, shipped or new.

        Returns:
            The number of windows in them.
        Raises:
            RequestError: A name that cannot be one, or no movement shows enough of a body; nothing was learnt.
        """
        name = name.strip().casefold()
        if not name or len(name) > _N_MAX_NAME or not name.isprintable() or name == FALL:
            raise RequestError(f"{name[:_N_MAX_NAME]!r} cannot be taught; give a word of your own such as 'stretching'")
        window_s = shipped_weights().window_s
        found = [cut.values[cut.told] for cut in (windows(movement, window_s) for movement in movements)]
        found = [values for values in found if len(values)]
        if not found:
            raise RequestError(f"no example of {name!r} shows enough of a body for two pictures; give others")
        with self._store.transaction() as cursor:
            cursor.executemany(
                "INSERT INTO activity_example (name, at, features) VALUES (?, ?, ?)",
                [(name, now.astimezone(dt.UTC).isoformat(), values.astype("<f4").tobytes()) for values in found],
            )
        return sum(map(len, found))

    def taught(self) -> dict[str, int]:
        """Return the number of examples for each activity the owner taught."""
        rows = self._store.query("SELECT name, count(*) FROM activity_example GROUP BY name ORDER BY name")
        return {row[0]: row[1] for row in rows}

    def forget(self, name: str) -> int:
        """Remove all examples of an activity; the weights are then those without them.

        Raises:
            NotFound: None was taught.
        """
        known = self.taught()
        if name.casefold() not in known:
            raise NotFound(f"no example of {name!r} was taught; taught: {', '.join(map(repr, known)) or 'none yet'}")
        with self._store.transaction() as cursor:
            cursor.execute("DELETE FROM activity_example WHERE name = ?", (name.casefold(),))
        self._store.rewrite()
        return known[name.casefold()]

    def weights(self) -> Weights:
        """Return the shipped weights with the owner's examples learnt."""
        shipped = shipped_weights()
        rows = self._store.query("SELECT name, features FROM activity_example ORDER BY name, number")
        if not rows:
            return shipped
        heads = shipped_heads()
        for row in rows:
            values = np.frombuffer(row["features"], "<f4").reshape(-1, N_VALUES).astype(np.float64)
            learn(heads, features(values, shipped.middle, shipped.spread), [row["name"]] * len(values), EXAMPLE_WEIGHT)
        heads.renew()
        return weights_of(heads, shipped.middle, shipped.spread, shipped.sharpness, shipped.window_s)

    def expert(self) -> ActivityExpert:
        """Return an expert with all available weights. Raises: StoreCorruptError: The household model's file is
        damaged."""
        household = load_weights(self.household_file) if self.household_file.exists() else None
        return ActivityExpert(self.weights(), household)


def shipped_heads() -> Heads:
    """Load the sums that the shipped weights come from."""
    with importlib.resources.as_file(
        importlib.resources.files("hearth_video").joinpath("data").joinpath("activity_statistics.npz")
    ) as path:
        return Heads.load(path, FINGERPRINT)


# ── Training ──────────────────────────────────────────────────────────────────────────────────────────────


def learn(heads: Heads, rows: Floats, names: Sequence[str], weight: float = 1.0) -> None:
    heads.learn(rows, [{name: 1.0} for name in names], [weight] * len(names))


def weights_of(heads: Heads, middle: Floats, spread: Floats, sharpness: float, window_s: float) -> Weights:
    return Weights(heads.outputs, middle, spread, heads.solved().astype(np.float32), sharpness, window_s)


def trained(data: Windowed, window_s: float) -> tuple[Heads, Weights]:
    """Train heads on windows, and return them with their weights. Confidence is fitted by cross-validation over fifths
    of the subjects."""
    names = sorted(set(data.names))
    middle = np.median(data.values, axis=0)
    spread = np.maximum(np.percentile(data.values, 84, axis=0) - np.percentile(data.values, 16, axis=0), 1e-3) / 2
    rows = features(data.values, middle, spread)
    said = np.array(data.names)
    outputs = np.zeros((len(rows), len(names)))
    folds = np.array(data.who) % 5
    for fold in np.unique(folds) if len(np.unique(folds)) > 1 else []:
        heads = Heads(N_FEATURES, ridge=RIDGE)
        learn(heads, rows[folds != fold], said[folds != fold].tolist())
        columns = [heads.column(name) for name in names]
        solved = heads.weights
        for place, column in enumerate(columns):
            if column is not None:
                outputs[folds == fold, place] = rows[folds == fold] @ solved[:, column]
    sharpness = sharpest(outputs, np.array([names.index(name) for name in data.names])) if outputs.any() else 5.0
    heads = Heads(N_FEATURES, ridge=RIDGE, fingerprint=FINGERPRINT)
    learn(heads, rows, data.names)
    heads.renew()
    return heads, weights_of(heads, middle, spread, sharpness, window_s)


def sharpest(outputs: Floats, wanted: np.ndarray) -> float:
    """Return the factor whose probabilities give the wanted outputs the highest likelihood."""
    best = (np.inf, 1.0)
    for factor in np.geomspace(1, 30, 60):
        scaled = outputs * factor
        scaled -= scaled.max(axis=1, keepdims=True)
        loss = -np.mean(scaled[np.arange(len(wanted)), wanted] - np.log(np.exp(scaled).sum(axis=1)))
        best = min(best, (float(loss), float(factor)))
    return best[1]


Confusion = dict[str, dict[str, int]]
"""Counts by true activity, then by predicted activity."""


def confusion(weights: Weights, data: Windowed) -> Confusion:
    """Return the confusion matrix of single windows, without smoothing."""
    said = [weights.names[k] for k in weights.chances(data.values).argmax(axis=1)]
    table = {name: dict.fromkeys(weights.names, 0) for name in sorted(set(data.names))}
    for name, other in zip(data.names, said):
        table[name][other] += 1
    return table


def scores(table: Mapping[str, Mapping[str, int]]) -> dict[str, float]:
    """Return the share of correct windows, and the mean F1 over activities."""
    n = sum(sum(row.values()) for row in table.values())
    f1 = []
    for name, row in table.items():
        said = sum(other.get(name, 0) for other in table.values())
        f1.append(2 * row.get(name, 0) / max(sum(row.values()) + said, 1))
    right = sum(row.get(name, 0) for name, row in table.items())
    return {"accuracy": round(right / max(n, 1), 4), "macro_f1": round(float(np.mean(f1)), 4)}
