"""Chooses among the weighed candidates by minimum risk, and computes the signs of how sure the choice is."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hearth.planning.ranking.candidates import Evidence, Sequence_, set_of, steps_of

_LEAST_CHANCE = 0.02
_SAME = 0.93
"""Likeness from which two requests count as the same; different requests hardly ever reach it."""
_SAME_WEIGHT = 0.8
"""Share of the nearest one's weight from which others count as equally near."""
_TAUGHT_SHARE = 0.9


def best_of(found: Sequence[Sequence_], gold: Sequence_) -> int | None:
    """Return the right candidate: the very sequence, else the one with its tools and the most of its links."""
    links = set(pairwise(gold))
    wanted = set_of(gold)
    same = [k for k, sequence in enumerate(found) if set_of(sequence) == wanted]
    return max(same, key=lambda k: (found[k] == gold, len(links & set(pairwise(found[k]))), -k), default=None)


def least_risk(found: Sequence[Sequence_], p: NDArray[np.float64]) -> int:
    """Return the candidate with the highest expected score (node F1 + link F1) under the others' probabilities.

    Source:
        Minimum Bayes risk: Kumar & Byrne 2004, https://aclanthology.org/N04-1022.
    """
    sets = [set(s) for s in found]
    links = [set(steps_of(s)[1:-1]) for s in found]
    gain = _overlaps(sets) + _overlaps(links)
    gain[np.diag_indices(len(found))] = [1.0 + bool(mine) for mine in links]
    return int((gain @ p).argmax())


def _overlaps(sets: Sequence[Collection[Hashable]]) -> NDArray[np.float64]:
    """Return the F1 of each set with each, shape [n, n]."""
    places = {one: place for place, one in enumerate(dict.fromkeys(one for mine in sets for one in mine))}
    sizes = np.array([len(mine) for mine in sets])
    has = np.zeros((len(sets), len(places)))
    has[np.repeat(np.arange(len(sets)), sizes), [places[one] for mine in sets for one in mine]] = 1.0
    return np.asarray(2 * (has @ has.T) / np.maximum(sizes[:, None] + sizes, 1), dtype=np.float64)


def overlap(mine: Sequence_, theirs: Sequence_) -> float:
    """Return the node F1 of two plans' tools: 1 for the same set."""
    a, b = set(mine), set(theirs)
    return 2 * len(a & b) / max(len(a) + len(b), 1)


def as_taught(found: Sequence[Sequence_], p: NDArray[np.float64], evidence: Evidence) -> NDArray[np.float64]:
    """Correct the probabilities if this very request was taught.

    They then mostly follow what was taught for it, whatever a model trained earlier proposes; otherwise they stay.
    """
    if evidence.nearest < _SAME or not evidence.neighbours:
        return p
    least = _SAME_WEIGHT * evidence.neighbours[0][1]
    taught = np.zeros(len(found))
    for sequence, weight in evidence.neighbours:
        if weight >= least and sequence in found:
            taught[found.index(sequence)] += weight
    if not taught.any():
        return p
    return np.asarray((1 - _TAUGHT_SHARE) * p + _TAUGHT_SHARE * taught / taught.sum(), dtype=np.float64)


N_SURENESS_SIGNS = 5


def sureness_signs(
    first: Sequence_, found: Sequence[Sequence_], p: NDArray[np.float64], evidence: Evidence
) -> NDArray[np.float64]:
    """Return the signs of a right choice: the probability of all candidates with its tools, and how alone it is."""
    mine = set_of(first)
    together = float(sum(q for sequence, q in zip(found, p) if set_of(sequence) == mine))
    together = min(max(together, _LEAST_CHANCE), 1 - 1e-3)
    least = min((float(evidence.tools[evidence.place[tool]]) for tool in mine), default=0.0)
    agree = sum(w for sequence, w in evidence.neighbours if set_of(sequence) == mine)
    return np.array([np.log(together / (1 - together)), least, agree, evidence.nearest, float(len(first) > 2)])
