"""Merging many edges: exact, bounded, robust against poison, with noise whose loss is accounted."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hearth.errors import StatisticsError
from hearth.planning.ranking.sufficient_statistics import Statistics, decode, encode, merged
from hearth_cloud.statistics.private_sums import epsilon_of, gaussian, rho_of
from hearth_cloud.statistics.robust_merge import (
    Merged,
    Terms,
    impossible,
    noisy,
    refusal,
    robust,
    sensitivities,
)
from tests.merging_world import PUBLIC, edge, edges, poisoned, ranker
from tests.small_world import lessons

TERMS = Terms(most=60, least=10)


def right_share(prior: Statistics) -> float:
    """Of held-out requests, planned by a new edge from the prior alone."""
    new = ranker()
    new.take_prior(prior)
    shown = lessons(40, 90_000)
    rankings = new.rank_readings(new.read([d.request for d in shown]))
    wanted = [tuple(step.tool for step in d.plan.steps) for d in shown]
    return float(np.mean([r.candidates[0].tools == w for r, w in zip(rankings, wanted, strict=True)]))


def with_text(statistics: Statistics, **changed: object) -> Statistics:
    return replace(statistics, sums=replace(statistics.sums, **changed))  # type: ignore[arg-type]


def kept_of(found: Merged) -> Statistics:
    assert found.statistics is not None
    return found.statistics


def test_honest_edges_are_all_kept_and_summed_exactly() -> None:
    given = edges(4)
    found = robust(given, TERMS)
    assert (found.kept, found.quarantined) == (tuple(given), ())
    assert np.array_equal(kept_of(found).sums.gram, merged(given.values()).sums.gram)
    assert kept_of(found).n_edges == 4
    assert all(one.explained is not None and one.explained > 0.3 for one in found.judged)


@pytest.mark.parametrize("way", ["swapped", "by lot", "one tool"])
@pytest.mark.parametrize("bad", [{1}, {1, 3}])
def test_poisoned_edges_are_set_aside_and_cost_less_than_a_point(way: str, bad: set[int]) -> None:
    honest = edges(6)
    given = {name: poisoned(k, way) if k in bad else one for k, (name, one) in enumerate(honest.items())}
    found = robust(given, TERMS)
    assert set(found.quarantined) == {f"edge-{k}" for k in bad}
    assert all("contradicts" in one.reason for one in found.judged if one.edge in found.quarantined)
    clean = right_share(merged(honest.values()))
    assert right_share(kept_of(found)) >= clean - 0.01
    assert clean > 0.9


def test_without_judging_the_poison_would_have_done_harm() -> None:
    given = [edge(0).statistics(PUBLIC), poisoned(1, "swapped"), poisoned(3, "swapped")]
    assert right_share(merged(given)) < right_share(edge(0).statistics(PUBLIC)) - 0.2


def test_a_majority_of_poisoners_is_seen_through_only_with_an_anchor() -> None:
    given = {f"edge-{k}": poisoned(k, "one tool") if k else edge(k).statistics(PUBLIC) for k in range(4)}
    anchor = edge(50, 200).statistics(PUBLIC)
    assert robust(given, TERMS, anchor).kept == ("edge-0",)
    assert "edge-0" not in robust(given, TERMS).kept


def test_what_is_scaled_flipped_or_made_up_is_impossible() -> None:
    one = edge(1).statistics(PUBLIC)
    text = one.sums
    skewed = text.moments.copy()
    trains = [text.outputs.index(f"t {tool}") for tool in ("find_train", "cancel_train")]
    skewed[:, text.outputs.index("t set_alarm")] = skewed[:, trains].sum(axis=1)
    swapped = np.where(np.arange(text.gram.size) % 7 == 3, -text.gram, text.gram)
    for wrong, reason in (
        (with_text(one, moments=1000 * text.moments), "exceed"),
        (with_text(one, gram=1000 * text.gram), "longer"),
        (with_text(one, gram=-text.gram), "negative"),
        (with_text(one, mass=1000 * text.mass), "as often"),
        (with_text(one, gram=swapped), "negative direction"),
        (replace(one, n_demonstrations=39), "as many"),
        (replace(one, sequences={}), "as many"),
    ):
        assert reason in refusal(wrong, TERMS), reason
    assert "no targets" in impossible(with_text(one, moments=skewed))
    assert refusal(one, TERMS) == impossible(one) == ""


def test_an_edge_counts_for_no_more_than_is_allowed_and_for_no_less() -> None:
    one = edge(1).statistics(PUBLIC)
    assert "at most 20" in refusal(one, Terms(most=20))
    assert "fewer than 41" in refusal(one, Terms(least=41))
    assert refusal(one, Terms(most=40, least=40)) == ""
    group = merged(edges(3).values())
    assert refusal(group, Terms(most=40, least=40)) == ""
    assert "at most 117" in refusal(group, Terms(most=39))


def test_two_edges_cannot_be_told_apart_and_nobody_at_all_gives_nothing() -> None:
    given = {"a": edge(1).statistics(PUBLIC), "b": poisoned(2, "swapped")}
    assert robust(given, TERMS).quarantined == ()
    assert robust({}, TERMS).statistics is None
    assert robust({"a": given["a"]}, Terms(least=1000)).statistics is None


# ── Noise ─────────────────────────────────────────────────────────────────────────────────────────────────


def gaussian_delta(sigma: float, epsilon: float) -> float:
    """δ of the Gaussian mechanism of sensitivity 1: Balle & Wang 2018, theorem 8, https://arxiv.org/abs/1805.06530."""

    def below(z: float) -> float:
        return 0.5 * math.erfc(-z / math.sqrt(2))

    return below(0.5 / sigma - epsilon * sigma) - math.exp(epsilon) * below(-0.5 / sigma - epsilon * sigma)


@pytest.mark.parametrize("rho", [0.001, 0.01, 0.1, 0.5, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_epsilon_lies_between_the_exact_one_and_the_simple_bound(rho: float, delta: float) -> None:
    epsilon = epsilon_of(rho, delta)
    assert epsilon <= rho + 2 * math.sqrt(rho * math.log(1 / delta)) + 1e-9
    assert gaussian_delta(1 / math.sqrt(2 * rho), epsilon) <= delta * (1 + 1e-6)


def test_epsilon_has_the_known_values() -> None:
    """The simple bound for rho 1 and delta 1e-6 is 1 + 2 sqrt(ln 1e6) = 8.43384; the order a of the tighter one is
    found here by trying orders on a fine grid."""
    rho, delta = 1.0, 1e-6
    orders = 1 + np.geomspace(1e-3, 1e3, 400_000)
    grid = np.min(
        rho * orders + (np.log(1 / delta) - np.log(orders - 1) + orders * np.log1p(-1 / orders)) / (orders - 1)
    )
    assert epsilon_of(rho, delta) == pytest.approx(grid, abs=1e-6)
    assert 1 + 2 * math.sqrt(math.log(1e6)) == pytest.approx(8.43384, abs=1e-5)
    assert grid < 8.43384
    assert epsilon_of(0, delta) == 0.0
    for wrong in ((-1.0, 0.1), (1.0, 0.0), (1.0, 1.0), (math.nan, 0.1)):
        with pytest.raises(ValueError, match="rho"):
            epsilon_of(*wrong)


@pytest.mark.parametrize(
    ("rho", "epsilon"), [(0.01, 0.621697), (0.1, 2.143044), (0.5, 5.221540), (1.0, 7.766238), (2.0, 11.688627)]
)
def test_epsilon_is_that_of_a_maintained_accountant(rho: float, epsilon: float) -> None:
    """Values of dp-accounting 0.6.0, `RdpAccountant` with `ZCDpEvent(rho)` at δ = 1e-6, whose grid of orders is coarser.
    It is no dependency: it wants attrs below 24."""
    assert epsilon_of(rho, 1e-6) == pytest.approx(epsilon, abs=2e-3)
    assert epsilon_of(rho, 1e-6) <= epsilon
    assert rho_of(epsilon_of(rho, 1e-6), 1e-6) == pytest.approx(rho, rel=1e-6)


def test_sensitivities_hold_for_the_longest_demonstration() -> None:
    most = sensitivities(1)
    one = ranker([lessons(1)[0]]).statistics(PUBLIC)
    assert np.linalg.norm(one.sums.gram.astype(float)) <= most["gram"]
    assert np.linalg.norm(one.sums.moments.astype(float)) <= most["moments"]
    assert sensitivities(7)["counts"] == pytest.approx(7 * most["counts"])


def test_the_noise_is_standard_normal_and_drawn_anew() -> None:
    drawn = gaussian(200_001, b"x" * 32)
    assert abs(drawn.mean()) < 0.01
    assert abs(drawn.std() - 1) < 0.01
    assert abs((np.abs(drawn) > 1.959964).mean() - 0.05) < 0.002
    assert len(drawn) == 200_001
    assert np.array_equal(drawn[:5], gaussian(200_001, b"x" * 32)[:5])
    assert not np.array_equal(gaussian(10), gaussian(10))


def test_with_little_noise_the_prior_serves_and_names_come_from_the_public_list_alone() -> None:
    exact = merged(edges(4).values())
    listed = [*exact.sequences, ("order_pizza",)]
    found = noisy(exact, 1e7, 40, listed, b"s" * 32)
    assert found.is_noisy
    assert found.n_edges == 4
    assert right_share(found) > 0.7
    assert set(noisy(exact, 1e7, 40, listed[:1], b"s" * 32).sequences) <= set(listed[:1])
    again = decode(encode(found))
    assert again.digest == found.digest


def test_with_much_noise_nothing_is_left_to_learn() -> None:
    exact = merged(edges(4).values())
    found = noisy(exact, 0.01, 40, list(exact.sequences), b"s" * 32)
    assert right_share(found) < right_share(exact)
    sums = found.sums.square().astype(float)
    assert np.linalg.eigvalsh(sums)[0] > 0
    assert epsilon_of(0.01, 1e-6) == pytest.approx(0.62169, abs=1e-4)


def test_noise_of_nothing_is_refused_and_noisy_sums_are_not_merged_again() -> None:
    exact = edge(1).statistics(PUBLIC)
    with pytest.raises(StatisticsError, match="rho above 0"):
        noisy(exact, 0.0, 40, list(exact.sequences))
    found = noisy(exact, 1e6, 40, list(exact.sequences), b"s" * 32)
    assert "noise" in refusal(found, TERMS)
