"""Publish sums over many owners so that no owner's part can be told from them, and count what that costs.

A contribution is a few tables of whole numbers by name, whatever these are; each has a bound on its length (L2), which
is checked when it is taken. A Gaussian of a spread that fits the bounds is added to the sums before anybody sees them.
So whether an owner took part, with everything it ever gave, changes what is published by no more than ε and δ say.
Every publication counts against one budget, which is kept in the database: when it is spent, nothing more is published.

Covered: all that one owner gave, as one; several publications; numbers and names (names come from public lists alone).
Not covered: an owner with two tokens counts twice; how many owners there are, which is told; the service itself, which
sees contributions in mode `plain`; floating-point Gaussians are not ideal (Mironov 2012): rounded to whole numbers at a
spread of thousands, their low bits are gone, and their tails end at 8.5 spreads.

Source:
    Gaussian mechanism, composition and conversion under zero-concentrated differential privacy: Bun & Steinke 2016,
    lemmas 2.5 and 1.7, https://arxiv.org/abs/1605.02065; Canonne, Kamath, Steinke 2020, corollary 13,
    https://arxiv.org/abs/2004.00010.
"""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hearth.edge.federation import stream
from hearth_cloud.storage.cloud_storage import Storage

Whole = NDArray[np.int64]
Tables = Mapping[str, Whole]
_SPENT = "privacy"


@dataclass(frozen=True, slots=True)
class Budget:
    """What all publications together may cost an owner."""

    epsilon: float
    delta: float
    n_priors: int
    """Number of publications that share it."""

    @property
    def rho(self) -> float:
        """Zero-concentrated privacy loss of each publication."""
        return rho_of(self.epsilon, self.delta) / self.n_priors


def epsilon_of(rho: float, delta: float) -> float:
    """Return the ε for which ρ-zCDP is (ε, δ)-differentially private.

    Source:
        Canonne, Kamath, Steinke 2020, corollary 13; never above Bun & Steinke 2016, proposition 1.3
        (ρ + 2√(ρ ln 1/δ)).
    """
    if not (rho >= 0 and 0 < delta < 1):
        raise ValueError(f"rho {rho!r} must be at least 0 and delta {delta!r} between 0 and 1")
    if rho == 0:
        return 0.0
    low, high = 0.0, rho + 2 * math.sqrt(rho * math.log(1 / delta))
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if _log_delta(rho, middle) <= math.log(delta) else (middle, high)
    return high


def rho_of(epsilon: float, delta: float) -> float:
    """Return the largest ρ whose ρ-zCDP is (ε, δ)-differentially private."""
    low, high = 0.0, epsilon  # ρ < ε for any δ that is used
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _log_delta(middle, epsilon) <= math.log(delta) else (low, middle)
    return low


def _log_delta(rho: float, epsilon: float) -> float:
    """Return log δ of ρ-zCDP at ε: the least over orders a > 1 of (a − 1)(aρ − ε) − log(a − 1) + a log(1 − 1/a)."""

    def at(a: float) -> float:
        return (a - 1) * (a * rho - epsilon) - math.log(a - 1) + a * math.log1p(-1 / a)

    low, high = 1 + 1e-9, max((epsilon + 1) / (2 * rho) + 2, 2.0)
    for _ in range(200):  # convex in a: golden section
        left, right = low + 0.382 * (high - low), low + 0.618 * (high - low)
        low, high = (low, right) if at(left) <= at(right) else (left, high)
    return min(at((low + high) / 2), 0.0)


# ── The mechanism ─────────────────────────────────────────────────────────────────────────────────────────


def spreads(bounds: Mapping[str, float], shares: Mapping[str, float], rho: float) -> dict[str, float]:
    """Return the spread of the noise of each table; `shares` of ρ add up to 1 over the tables."""
    return {name: bounds[name] / math.sqrt(2 * rho * shares[name]) for name in bounds}


def released(sums: Tables, spread: Mapping[str, float], seed: bytes | None = None) -> dict[str, Whole]:
    """Return the sums as they may be published: each number with rounded Gaussian noise.

    Args:
        seed: 32 bytes, for tests; None draws from the system.
    """
    drawn = gaussian(sum(table.size for table in sums.values()), seed)
    found, at = {}, 0
    for name, table in sums.items():
        noise = drawn[at : at + table.size].reshape(table.shape) * spread[name]
        found[name] = table + np.rint(noise).astype(np.int64)
        at += table.size
    return found


def gaussian(n: int, seed: bytes | None = None) -> NDArray[np.float64]:
    """Return `n` standard normal numbers from a cipher's stream (Box & Muller 1958)."""
    whole = stream(seed if seed is not None else secrets.token_bytes(32), 2 * ((n + 1) // 2))
    uniform = ((whole >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53
    length, angle = np.sqrt(-2 * np.log(uniform[::2])), 2 * np.pi * uniform[1::2]
    return np.concatenate([length * np.cos(angle), length * np.sin(angle)])[:n]


# ── What was spent ────────────────────────────────────────────────────────────────────────────────────────


def spent(storage: Storage) -> float:
    """Return the ρ of all publications so far, whatever became of their bytes."""
    said = storage.note(_SPENT)
    return float(json.loads(said)["rho"]) if said else 0.0


def is_left(storage: Storage, budget: Budget) -> bool:
    """Say whether one more publication is within the budget."""
    return spent(storage) + budget.rho <= budget.rho * budget.n_priors * (1 + 1e-9)


def spend(storage: Storage, budget: Budget) -> float:
    """Count one publication, before it is made; return the ε of all so far, this one included. Sums that are published
    together share its ρ."""
    rho = spent(storage) + budget.rho
    storage.put_note(_SPENT, json.dumps({"rho": rho, "delta": budget.delta}))
    return epsilon_of(rho, budget.delta)
