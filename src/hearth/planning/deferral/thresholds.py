"""Learns when a plan is sure enough to run without asking the teacher, from how often plans agreed with it.

`safe_thresholds` bounds the share of wrong plans among those that run unasked, with a stated assurance and for any
number of observations; among these `cheapest` weighs what a question costs against what a wrong plan costs.

Covered: observations drawn alike with the requests to come. Not covered: a stream that changes faster than its record
(old observations should be left out), a teacher that is wrong, and arguments in free words (see `agreement_log`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hearth.types import Plan

ALWAYS_ASK = math.inf
"""A threshold that no confidence reaches."""
_GRID = tuple(k / 100 for k in range(99, -1, -1))
_STARTS = (0.95, 0.85, 0.7, 0.5)
"""Starts of the tests, each with its share of the allowed error.

A single start at the top would mostly end there, for want of observations that sure.
"""


def sureness(plan: Plan) -> float:
    """Return what is compared with a learned threshold.

    This is how much of the plan is expected to be right, if its planner says so (it predicts better which plans a
    teacher would correct), else its confidence.
    """
    return plan.confidence if plan.expected_f1 is None else plan.expected_f1


def is_sure(plan: Plan, learnt: float | None, confident: float) -> bool:
    """Return whether a plan may run unasked: by the learned threshold, or by its confidence until there is one."""
    return plan.confidence >= confident if learnt is None else sureness(plan) >= learnt


@dataclass(frozen=True, slots=True)
class Outcome:
    """One plan that was compared with the teacher's."""

    confidence: float
    """The plan's `sureness`."""
    is_right: bool
    share: float = 1.0
    """Probability that it was compared: 1 for a plan too unsure to run unasked, the lot's share for a sure one."""
    is_drawn: bool = True
    """True when it was compared by lot or held back for comparing, whatever its confidence.

    Only such outcomes say how often sure plans are wrong.
    """


@dataclass(frozen=True, slots=True)
class Costs:
    """Costs of questions and mistakes, as the owner says."""

    question: float = 0.002
    """Cost of one question to the teacher, in the owner's currency, its time and its loss of privacy included."""
    mistake: float = 0.05
    """Cost of one wrong plan run without asking."""
    risk: float = 0.1
    """Greatest share of the plans run without asking that may be wrong."""
    assurance: float = 0.9
    """Probability with which the bound must hold."""

    def __post_init__(self) -> None:
        for name in ("risk", "assurance"):
            value = getattr(self, name)
            if not 0 < value < 1:
                raise ValueError(f"{name} is {value!r}; expected more than 0 and less than 1")
        for name in ("question", "mistake"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"the cost of a {name} is {value!r}; expected 0 or more")


@dataclass(frozen=True, slots=True)
class Threshold:
    """Result of learning when to ask."""

    value: float
    """Least confidence with which a plan runs without asking; `ALWAYS_ASK` when none does."""
    least_safe: float
    """Least threshold that keeps the bound; `ALWAYS_ASK` when none was shown to."""
    n_outcomes: int


def least_drawn(costs: Costs) -> int:
    """Return how many drawn outcomes the bound needs at least, all of them right."""
    return math.ceil(math.log((1 - costs.assurance) / len(_STARTS)) / math.log(1 - costs.risk))


def learn_threshold(outcomes: Sequence[Outcome], costs: Costs) -> Threshold | None:
    """Learn the threshold to use from now on: safe, and no lower than pays. None while there is too little data."""
    drawn = [outcome for outcome in outcomes if outcome.is_drawn]
    if len(drawn) < least_drawn(costs):
        return None
    safe = safe_thresholds(drawn, costs.risk, 1 - costs.assurance)
    return Threshold(cheapest(outcomes, costs, safe), min(safe, default=ALWAYS_ASK), len(outcomes))


def safe_thresholds(drawn: Sequence[Outcome], risk: float, error: float) -> tuple[float, ...]:
    """Return thresholds t shown to keep P(wrong | confidence >= t) <= `risk`, highest first.

    With probability 1 - `error` over the draw of the outcomes the bound holds for all of them at once, for requests
    drawn alike; no assumption is made about confidences, which may be badly calibrated.

    Source:
        Learn then Test, fixed sequence testing with several starts: Angelopoulos, Bates, Candès, Jordan & Lei 2021,
        https://arxiv.org/abs/2110.01052; exact binomial tail as p-value of a selective risk: Geifman & El-Yaniv 2017,
        https://arxiv.org/abs/1705.08500.
    """
    confidences = np.array([outcome.confidence for outcome in drawn])
    wrong = np.array([not outcome.is_right for outcome in drawn], dtype=np.bool_)
    shown: set[float] = set()
    for start in _STARTS:
        for threshold in _GRID:
            if threshold > start:
                continue
            sure = confidences >= threshold
            if tail(int(wrong[sure].sum()), int(sure.sum()), risk) > error / len(_STARTS):
                break
            shown.add(threshold)
    return tuple(sorted(shown, reverse=True))


def tail(n_wrong: int, n: int, risk: float) -> float:
    """Return P(Binomial(n, risk) <= n_wrong): how likely so few mistakes are if the risk is at its bound."""
    if n == 0:
        return 1.0
    k = np.arange(n_wrong + 1)
    steps = np.log((n - k[1:] + 1) / k[1:]) + math.log(risk) - math.log1p(-risk)
    logs = n * math.log1p(-risk) + np.concatenate([[0.0], np.cumsum(steps)])
    top = float(logs.max())
    return min(1.0, math.exp(top) * float(np.exp(logs - top).sum()))


def cheapest(outcomes: Sequence[Outcome], costs: Costs, among: Sequence[float]) -> float:
    """Return the one of some thresholds, or `ALWAYS_ASK`, under which these outcomes would have cost least.

    Each outcome is weighted by the inverse of its probability of being compared.
    """
    confidences = np.array([outcome.confidence for outcome in outcomes])
    weights = np.array([1 / max(outcome.share, 1e-6) for outcome in outcomes])
    wrong = np.array([not outcome.is_right for outcome in outcomes], dtype=np.bool_)
    choices = np.array([ALWAYS_ASK, *sorted(among, reverse=True)])
    unasked = confidences[None] >= choices[:, None]
    spent = (np.where(unasked, wrong * costs.mistake, costs.question) * weights).sum(axis=1)
    return float(choices[int(spent.argmin())])  # of equals the surest


def is_drawn(key: str, share: float) -> bool:
    """Return whether a request is compared with the teacher by lot: `share` of all, the same one always alike."""
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:7], "big") < share * 2**56
