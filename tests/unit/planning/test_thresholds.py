"""python -m pytest tests/unit/planning/test_thresholds.py"""

from __future__ import annotations

import math

import numpy as np
import pytest

from hearth.planning.deferral import (
    ALWAYS_ASK,
    Costs,
    Outcome,
    cheapest,
    is_drawn,
    learn_threshold,
    least_drawn,
    safe_thresholds,
    tail,
)


def outcomes(n: int, p_right: float, confidence: float, seed: int = 0) -> list[Outcome]:
    right = np.random.default_rng(seed).random(n) < p_right
    return [Outcome(confidence, bool(r)) for r in right]


def test_the_binomial_tail_is_exact() -> None:
    for n, k, p in ((10, 0, 0.1), (10, 3, 0.25), (200, 11, 0.1), (1, 1, 0.5)):
        exact = sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))
        assert tail(k, n, p) == pytest.approx(exact, rel=1e-9)
    assert tail(0, 0, 0.1) == 1.0
    assert 0 < tail(100, 2000, 0.1) < 1e-10


def test_too_few_outcomes_teach_nothing() -> None:
    costs = Costs()
    few = [Outcome(0.95, True)] * (least_drawn(costs) - 1)
    assert learn_threshold(few, costs) is None
    assert learn_threshold([*few, Outcome(0.95, True)], costs) is not None
    assert learn_threshold([Outcome(0.95, True, is_drawn=False)] * 1000, costs) is None


def test_always_right_plans_need_not_be_asked_about() -> None:
    learnt = learn_threshold([Outcome(c, True) for c in np.linspace(0.3, 1, 200)], Costs())
    assert learnt is not None
    assert learnt <= 0.5


def test_plans_that_are_wrong_too_often_are_always_asked_about() -> None:
    learnt = learn_threshold(outcomes(400, 0.7, 0.99), Costs(risk=0.1))
    assert learnt is not None
    assert learnt == ALWAYS_ASK


def test_the_bound_cuts_where_mistakes_begin() -> None:
    seen = outcomes(300, 0.99, 0.9) + outcomes(300, 0.3, 0.6, seed=1)
    safe = safe_thresholds(seen, 0.1, 0.1)
    assert 0.6 < min(safe) <= 0.9


def test_where_questions_cost_nothing_everything_is_asked() -> None:
    seen = outcomes(300, 0.97, 0.9)
    learnt = learn_threshold(seen, Costs(question=0.0, mistake=1.0))
    assert learnt is not None
    assert learnt == ALWAYS_ASK
    dear = learn_threshold(seen, Costs(question=0.5, mistake=1.0))
    assert dear is not None
    assert dear <= 0.9


def test_dearer_questions_never_ask_more() -> None:
    drawn = np.random.default_rng(3)
    sure = drawn.random(800)
    seen = [Outcome(float(s), bool(drawn.random() < s)) for s in sure]
    chosen = [cheapest(seen, Costs(question=q, mistake=1.0), [k / 10 for k in range(10)]) for q in (0.0, 0.1, 0.3, 0.9)]
    assert chosen == sorted(chosen, reverse=True)
    assert chosen[1] == pytest.approx(0.9, abs=0.11)  # asked where p(wrong) > the price of a question
    assert chosen[2] == pytest.approx(0.7, abs=0.11)


def test_outcomes_seen_by_lot_stand_for_those_not_seen() -> None:
    """Of a hundred sure plans ten were compared; counted once each they would seem too few to matter."""
    unsure = [Outcome(0.4, True)] * 60
    sure = [Outcome(0.9, False, share=0.1)] * 10
    costs = Costs(question=0.3, mistake=1.0)
    assert cheapest([*unsure, *sure], costs, [0.3]) == ALWAYS_ASK
    assert cheapest([*unsure, *(Outcome(0.9, False) for _ in sure)], costs, [0.3]) == 0.3


@pytest.mark.parametrize("risk", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("n", [60, 300])
def test_the_bound_is_rarely_broken(risk: float, n: int) -> None:
    """Over many draws of outcomes, whatever the confidences are worth."""
    drawn = np.random.default_rng(0)
    n_broken, n_repeats = 0, 300
    for _ in range(n_repeats):
        sure = drawn.beta(2, 1, n)
        right = drawn.random(n) < sure**1.3
        t = min(safe_thresholds([Outcome(float(s), bool(r)) for s, r in zip(sure, right)], risk, 0.1), default=2.0)
        mass = 1 - t**2
        n_broken += t < 1 and (mass - 2 * (1 - t**3.3) / 3.3) / mass > risk
    assert n_broken / n_repeats <= 0.1


def test_lots_are_fair_and_the_same_each_time() -> None:
    keys = [f"request {k}" for k in range(5000)]
    share = sum(is_drawn(key, 0.1) for key in keys) / len(keys)
    assert share == pytest.approx(0.1, abs=0.02)
    assert [is_drawn(key, 0.1) for key in keys[:50]] == [is_drawn(key, 0.1) for key in keys[:50]]
    assert not any(is_drawn(key, 0.0) for key in keys)
    assert all(is_drawn(key, 1.0) for key in keys)
    assert isinstance(is_drawn("\ud800", 0.5), bool)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("risk", 0.0, "risk is 0.0; expected more than 0 and less than 1"),
        ("assurance", 1.0, "assurance is 1.0; expected more than 0 and less than 1"),
        ("question", -1.0, "the cost of a question is -1.0; expected 0 or more"),
        ("mistake", math.nan, "the cost of a mistake is nan; expected 0 or more"),
    ],
)
def test_costs_that_make_no_sense_are_said(field: str, value: float, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        Costs(**{field: value})
