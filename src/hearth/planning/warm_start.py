"""Fits how a student with a prior and few demonstrations of its own weighs evidence.

A student with few demonstrations cannot fit that well, and what others fitted for themselves does not carry over (they
had many of their own). So it is fitted where the prior is made, on public demonstrations: several times some of them
are hidden from the prior, a few of the hidden are taught to a new student as its own, and the weights are those under
which the other hidden ones are planned correctly.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from hearth.errors import StatisticsError
from hearth.planning.ranking.calibration.weight_fitting import Joining, Outcome, digest, fit_outcomes
from hearth.planning.ranking.ranker import Student
from hearth.planning.ranking.statistics.statistics_codec import faults_of
from hearth.planning.ranking.statistics.sufficient_statistics import Statistics

_N_PARTS = 5
_N_HIDDEN_PARTS = 3
"""Number of the parts that are hidden in turn."""
_N_OWN = (0, 20, 60)
_N_CASES = 100
Numbers = tuple[tuple[tuple[float, ...], ...], ...]


def begun(prior: Statistics, shown: Student, public: Collection[str], *, is_in_prior: bool) -> Statistics:
    """Return the prior with weights fitted for beginners; takes a minute for a large one.

    Args:
        shown: A student that was taught the public demonstrations, without a prior.
        public: Names of public tools; demonstrations with others are ignored.
        is_in_prior: Whether the prior holds the statistics of `shown`: then each part is taken out while it is hidden.
    """
    allowed = frozenset(public)
    ids = sorted((id for id in shown.ids if allowed.issuperset(shown.taught(id).sequence)), key=digest)
    outcomes: list[Outcome] = []
    for part in range(_N_HIDDEN_PARTS):
        hidden = ids[part::_N_PARTS]
        rest = prior.minus(shown.statistics(public, ids=hidden)) if is_in_prior else prior
        own, cases = hidden[: _N_OWN[-1]], [shown.taught(id) for id in hidden[_N_OWN[-1] :][:_N_CASES]]
        student = shown.blank()
        student.take_prior(replace(rest, joining=()))
        done = 0
        for n_own in _N_OWN:
            student.know(shown.taught_in(own[done:n_own]))
            done = n_own
            outcomes += student.outcomes(cases)
    return replace(prior, joining=_numbers(fit_outcomes(outcomes)))


def beside(prior: Statistics, known: Statistics) -> Statistics:
    """Return the prior for a student that was taught `known` itself: exactly without `known`, if the prior holds it.

    The same demonstrations counted twice outweigh what others learned (log: "What devices learn from each other").

    `known` is not in the prior if the rest has a negative count of a sequence, a square below zero, or an entry beyond
    what its squares allow. Then nothing is taken out. Not covered: a prior with noise in it shows it by its counts
    alone.
    """
    try:
        rest = prior.minus(known)
    except StatisticsError:
        return prior
    rest = replace(rest, n_edges=prior.n_edges, joining=prior.joining)
    return prior if next(faults_of(rest), "") else rest


def _numbers(joining: Joining) -> Numbers:
    if joining.weigher is None or joining.sureness is None:
        return ()
    return tuple(
        tuple(tuple(np.asarray(part, dtype=np.float64).tolist()) for part in (one.mean, one.spread, one.weights))
        for one in (joining.weigher, joining.sureness)
    )
