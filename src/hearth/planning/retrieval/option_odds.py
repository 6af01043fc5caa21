"""Says how likely a way to serve a request is, from what was read of it: a small net whose sums are log-odds.

A conditional logit over the ways to serve one request: the score of a way is linear in its readings plus one layer of
tanh over them; the probability is the score's share after exponentials. `training.option_weights_train` fits it.

Not covered: whether the arguments are right beyond what the readings count.

Source: McFadden 1974, "Conditional logit analysis of qualitative choice behavior".
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

READINGS = (
    "votes",
    "text",
    "meant",
    "odds",
    "rival",
    "unmeant",
    "untaught",
    "described",
    "missing",
    "askable",
    "unused",
    "strange",
    "doubt",
    "idle",
    "doubled",
    "steps",
    "acts",
    "nothing",
)
"""What is read of an option, beside `alike`: that it reads like a demonstration, which counts as `ALIKE`."""
ALIKE = 8.0

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class OptionOdds:
    """The net; without hidden units it is a sum."""

    linear: Floats
    """Shape [readings]."""
    hidden: Floats
    """Shape [readings, units]."""
    bias: Floats
    """Shape [units]."""
    outer: Floats
    """Shape [units]."""

    def of(self, readings: Mapping[str, float]) -> float:
        """Return the score of one option."""
        return float(self.of_rows(np.array([[readings.get(name, 0.0) for name in READINGS]]))[0]) + ALIKE * (
            readings.get("alike", 0.0)
        )

    def of_rows(self, rows: Floats) -> Floats:
        """Return scores without `alike`; `rows` has the shape [options, readings]."""
        scores: Floats = rows @ self.linear + np.tanh(rows @ self.hidden + self.bias) @ self.outer
        return scores


@functools.cache
def shipped_odds() -> OptionOdds:
    """Return the net that comes with Hearth."""
    given: dict[str, Sequence[float]] = json.loads((files("hearth.data") / "option_weights.json").read_bytes())["odds"]
    parts = [np.array(given[name], dtype=np.float64) for name in ("linear", "hidden", "bias", "outer")]
    return OptionOdds(*parts)
