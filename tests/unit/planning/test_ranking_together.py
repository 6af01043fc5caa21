"""What is counted for many candidates at once is what is counted for each by itself."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, permutations

import numpy as np
import pytest

from hearth.planning.ranking.features import (
    ENDS,
    FEATURES,
    MOST_STEPS,
    Counts,
    Evidence,
    Grounds,
    Sequence_,
    candidates,
    features,
    steps_of,
)
from hearth.planning.ranking.weight_fitting import least_risk, overlap

NAMES = tuple("abcdefghijkl")


def evidence(drawn: np.random.Generator, neighbours: Sequence[tuple[Sequence_, float]] = ()) -> Evidence:
    n = len(NAMES)
    links = [(a, b) for a in (*NAMES, ENDS) for b in (*NAMES, ENDS) if drawn.random() < 0.7]
    return Evidence(
        {name: place for place, name in enumerate(NAMES)},
        drawn.random(n),
        drawn.random(n),
        drawn.random(n),
        drawn.random((3, n)),
        drawn.random((3, n)),
        drawn.random(n),
        drawn.random(len(links)).astype(np.float32),
        {link: column for column, link in enumerate(links)},
        {k: float(drawn.random()) for k in range(1, 7)},
        sequences(drawn, 20),
        neighbours,
        0.5,
        np.where(drawn.random(n) < 0.3, drawn.random(n), 0.0),
    )


def sequences(drawn: np.random.Generator, n: int) -> list[Sequence_]:
    """Of 1 to 10 steps, some with a tool twice."""
    found = (tuple(drawn.choice(NAMES, size=int(drawn.integers(1, 11))).tolist()) for _ in range(n))
    return list(dict.fromkeys(found))


def counts_of(some: Sequence[Sequence_]) -> Counts:
    counts = Counts()
    for sequence in some:
        counts.add(sequence)
    return counts


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("has_neighbours", [False, True])
def test_signs_of_many_are_those_of_each_to_the_last_bit(seed: int, has_neighbours: bool) -> None:
    drawn = np.random.default_rng(seed)
    neighbours = [(one, 0.1) for one in sequences(drawn, 10)] if has_neighbours else []
    given = evidence(drawn, neighbours)
    grounds = Grounds(given, counts_of(sequences(drawn, 30)))
    found = candidates(grounds, 15)
    lengths = {len(one) for one in found}
    assert len(lengths) > 4
    assert max(lengths) > 7
    together = features(found, grounds)
    is_exact = np.array([name != "order_log" for name in FEATURES])
    for k, one in enumerate(found):
        alone = features([one], grounds)[0]
        assert np.array_equal(alone[is_exact], together[k][is_exact]), one
        assert alone == pytest.approx(together[k], abs=1e-12)  # 120 orders are added by blocks


@pytest.mark.parametrize("seed", range(4))
def test_signs_are_what_they_say(seed: int) -> None:
    drawn = np.random.default_rng(seed)
    given = evidence(drawn)
    counts = counts_of(sequences(drawn, 30))
    grounds = Grounds(given, counts)
    found = candidates(grounds, 15)
    for sequence, row in zip(found, features(found, grounds)):
        signs = dict(zip(FEATURES, row))
        scores = {name: float(given.tools[place]) for name, place in given.place.items()}
        mine = set(sequence)
        assert signs["tools_fit"] == pytest.approx(sum(2 * np.clip(scores[t], 0.01, 0.99) - 1 for t in mine))
        missed = max((scores[t] for t in NAMES if t not in mine), default=0.0)
        assert signs["tools_missed"] == pytest.approx(np.log(max(missed, 0.01)))
        rare = max((scores[t] * given.rarity[given.place[t]] for t in NAMES if t not in mine), default=0.0)
        assert signs["rare_missed"] == pytest.approx(np.log(max(rare, 0.01) / 0.01))
        at = [float(given.said[given.place[t]]) for t in sequence]
        assert signs["said_back"] == pytest.approx(sum(min(b - a, 0.0) for a, b in pairwise(at)))
        assert signs["size_more"] == (len(sequence) > 3)
        cover = sum(clause[[given.place[t] for t in mine]].max() - clause.max() for clause in given.by_clause)
        assert signs["cover"] == pytest.approx(cover)
        assert signs["votes_links"] == -0.5 * (len(sequence) + 1)
        assert signs["order_log"] == pytest.approx(order_log(sequence, grounds))


def order_log(sequence: Sequence_, grounds: Grounds) -> float:
    if not 2 <= len(sequence) <= MOST_STEPS:
        return 0.0
    every = [strength(order, grounds) for order in permutations(sequence)]
    return strength(sequence, grounds) - float(np.log(np.exp(every).sum()))


def strength(sequence: Sequence_, grounds: Grounds) -> float:
    return sum(float(grounds.strength[grounds.place[a], grounds.place[b]]) for a, b in steps_of(sequence))


@pytest.mark.parametrize("seed", range(4))
def test_new_sets_come_in_their_two_likeliest_orders(seed: int) -> None:
    drawn = np.random.default_rng(seed)
    grounds = Grounds(evidence(drawn), counts_of(sequences(drawn, 30)))
    known = len(candidates(grounds, 0))
    proposed = candidates(grounds, 15)[known:]
    assert proposed
    for k, one in enumerate(proposed):
        ranked = sorted((strength(order, grounds) for order in set(permutations(one))), reverse=True)
        assert strength(one, grounds) == pytest.approx(ranked[0]) or strength(one, grounds) == pytest.approx(ranked[1])
        if len(one) > 1 and k and set(proposed[k - 1]) == set(one):
            assert strength(proposed[k - 1], grounds) >= strength(one, grounds)


@pytest.mark.parametrize("seed", range(8))
def test_the_choice_is_the_one_with_the_highest_expected_score(seed: int) -> None:
    drawn = np.random.default_rng(seed)
    found = sequences(drawn, 12)
    p = drawn.random(len(found))
    links = [steps_of(one)[1:-1] for one in found]

    def gain(i: int, j: int) -> float:
        if i == j:
            return 1.0 + bool(links[i])
        a, b = set(links[i]), set(links[j])
        return overlap(found[i], found[j]) + 2 * len(a & b) / max(len(a) + len(b), 1)

    expected = [sum(gain(i, j) * p[j] for j in range(len(found))) for i in range(len(found))]
    assert least_risk(found, p) == int(np.argmax(expected))
