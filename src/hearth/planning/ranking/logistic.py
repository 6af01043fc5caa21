"""Fits small convex models to their one optimum: how to weigh evidence, and how sure to be. Deterministic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_N_STEPS = 50


@dataclass(frozen=True, slots=True)
class Weigher:
    """Scores of candidates from their features: z = ((f - mean) / spread) · weights."""

    mean: Floats
    spread: Floats
    weights: Floats

    def probabilities(self, features: Floats) -> Floats:
        """Return the softmax over the candidates of one request, features [n_candidates, n_features]."""
        z = (features - self.mean) / self.spread @ self.weights
        p = np.exp(z - z.max())
        return np.asarray(p / p.sum(), dtype=np.float64)


_PENALTY = 0.01


def fit_weigher(
    groups: Sequence[Floats],
    right: Sequence[int],
    penalty: float = _PENALTY,
    *,
    free: NDArray[np.bool_] | None = None,
    fixed: Weigher | None = None,
) -> Weigher:
    """Fit the weights under which the right candidates are likeliest.

    Args:
        groups: Features of each request's candidates, shape [n_candidates, n_features].
        right: Row of the right one in each group.
        free: Which weights to fit; None is all.
        fixed: Gives the others, 0 when left out.
    Source:
        Conditional logit: McFadden 1974; Newton's method with halving.
    """
    stacked = np.vstack(groups)
    mean, spread = stacked.mean(axis=0), stacked.std(axis=0) + 1e-9
    free = np.ones(stacked.shape[1], dtype=np.bool_) if free is None else free
    given = np.zeros(len(stacked))
    if fixed is not None:
        given = ((stacked - fixed.mean) / fixed.spread)[:, ~free] @ fixed.weights[~free]
    x = ((stacked - mean) / spread)[:, free]
    starts = np.cumsum([0, *(len(group) for group in groups[:-1])])
    owner = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    chosen = starts + np.asarray(right)
    wanted = x[chosen].sum(axis=0)
    n = len(groups)

    def loss(w: Floats) -> tuple[float, Floats]:
        z = x @ w + given
        top = np.maximum.reduceat(z, starts)
        e = np.exp(z - top[owner])
        total = np.add.reduceat(e, starts)
        value = (np.log(total) + top - z[chosen]).sum() / n + penalty / 2 * float(w @ w)
        return float(value), e / total[owner]

    w = np.zeros(x.shape[1])
    value, p = loss(w)
    for _ in range(_N_STEPS):
        gradient = (x.T @ p - wanted) / n + penalty * w
        expected = np.add.reduceat(x * p[:, None], starts)
        curvature = ((x.T * p) @ x - expected.T @ expected) / n + penalty * np.eye(len(w))
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        while True:
            fresh = w - size * step
            fresh_value, fresh_p = loss(fresh)
            if fresh_value <= value - 1e-4 * size * float(gradient @ step) or size < 1e-4:
                break
            size /= 2
        w, value, p = fresh, fresh_value, fresh_p
        if np.abs(size * step).max() < 1e-5:
            break
    weights = np.zeros(len(free))
    weights[free] = w
    if fixed is not None:
        mean, spread = np.where(free, mean, fixed.mean), np.where(free, spread, fixed.spread)
        weights = np.where(free, weights, fixed.weights)
    return Weigher(mean, spread, weights)


def leave_out_groups(
    weigher: Weigher,
    groups: Sequence[Floats],
    right: Sequence[int],
    free: NDArray[np.bool_],
    penalty: float = _PENALTY,
) -> list[Weigher]:
    """Return, for each group, the weights of `fit_weigher` as if it had not been fitted on: one Newton step from them.

    Source:
        Approximate leave-one-out: Rad & Maleki 2020, https://arxiv.org/abs/1801.10243, eq. 6.
    """
    n_free = int(free.sum())
    gradients, curvatures = np.zeros((len(groups), n_free)), np.zeros((len(groups), n_free, n_free))
    for k, (group, chosen) in enumerate(zip(groups, right)):
        x = ((group - weigher.mean) / weigher.spread)[:, free]
        p = weigher.probabilities(group)
        expected = p @ x
        gradients[k] = expected - x[chosen]
        curvatures[k] = (x.T * p) @ x - np.outer(expected, expected)
    whole = curvatures.sum(axis=0) + len(groups) * penalty * np.eye(n_free)
    moved = np.linalg.solve(whole - curvatures, gradients[:, :, None])[:, :, 0]
    weights = np.tile(weigher.weights, (len(groups), 1))
    weights[:, free] += moved
    return [Weigher(weigher.mean, weigher.spread, mine) for mine in weights]


def fit_logistic(features: Floats, is_right: Sequence[bool], penalty: float = 0.01) -> Weigher:
    """Fit a logistic regression with intercept; read its weights with `chance`."""
    x = np.column_stack([features, np.ones(len(features))])
    mean = np.append(features.mean(axis=0), 0.0)
    spread = np.append(features.std(axis=0) + 1e-9, 1.0)
    x = (x - mean) / spread
    y = np.asarray(is_right, dtype=np.float64)
    w = np.zeros(x.shape[1])
    for _ in range(_N_STEPS):
        p = 1 / (1 + np.exp(-np.clip(x @ w, -30, 30)))
        gradient = x.T @ (p - y) / len(y) + penalty * w
        curvature = (x.T * (p * (1 - p))) @ x / len(y) + penalty * np.eye(len(w))
        step = np.linalg.solve(curvature, gradient)
        step /= max(1.0, float(np.abs(step).max()) / 2)  # far from the optimum a Newton step may overshoot
        w -= step
        if np.abs(step).max() < 1e-6:
            break
    return Weigher(mean, spread, w)


def chance(weigher: Weigher, features: Floats) -> Floats:
    """Return the probability that each row is right, features [n, n_features], from `fit_logistic`."""
    x = (np.column_stack([features, np.ones(len(features))]) - weigher.mean) / weigher.spread
    return np.asarray(1 / (1 + np.exp(-np.clip(x @ weigher.weights, -30, 30))), dtype=np.float64)
