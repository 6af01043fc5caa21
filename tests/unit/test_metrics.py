"""Metrics against values worked out by hand from their sources' definitions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from hearth.bench.metrics import (
    PlanGraph,
    accuracy_at_coverage,
    average_accuracy,
    backward_transfer,
    calibration_error,
    f1,
    forgetting,
    forward_transfer,
    is_accurate,
    plan_scores,
    taskbench_node_f1,
)


def chain(*tools: str) -> PlanGraph:
    return PlanGraph(tools, tuple(pairwise(tools)))


@pytest.mark.parametrize(
    ("predicted", "gold", "wanted"),
    [
        (["a", "b"], ["a", "b"], 1.0),
        (["b", "a"], ["a", "b"], 1.0),
        (["a"], ["a", "b"], 2 / 3),
        (["a", "c", "d"], ["a", "b"], 0.4),
        (["a", "a"], ["a"], 2 / 3),  # a tool used twice counts twice in the length
        ([], ["a"], 0.0),
        ([], [], 0.0),
    ],
)
def test_f1(predicted: list[str], gold: list[str], wanted: float) -> None:
    assert f1(predicted, gold) == pytest.approx(wanted, abs=1e-6)


def test_accuracy_ignores_order() -> None:
    assert is_accurate(chain("b", "a"), chain("a", "b"))
    assert not is_accurate(chain("a"), chain("a", "b"))


def test_plan_scores() -> None:
    predicted = [chain("a", "b"), chain("b", "a", "x")]
    gold = [chain("a", "b"), chain("a", "b")]
    scores = plan_scores(predicted, gold, {"a", "b"}, {("a", "b"), ("b", "a")})
    assert scores["node_f1"] == pytest.approx((1 + 0.8) / 2, abs=1e-6)
    assert scores["link_f1"] == pytest.approx(0.5, abs=1e-6)
    assert scores["accuracy"] == 0.5
    assert scores["exact"] == 0.5
    assert scores["node_hallucination"] == pytest.approx(1 / 6)
    assert scores["node_hallucination_plans"] == 0.5
    assert scores["link_hallucination"] == pytest.approx(0.25)
    assert scores["link_hallucination_plans"] == 0.5
    assert scores["n"] == 2
    assert "link_hallucination" not in plan_scores(predicted, gold, {"a"})
    with pytest.raises(ValueError, match="2 plans for 1 samples"):
        plan_scores(predicted, gold[:1], {"a"})


def test_taskbench_pools_over_samples() -> None:
    predicted, gold = [chain("a"), chain("b", "c", "d")], [chain("a"), chain("x", "y", "z")]
    assert taskbench_node_f1(predicted, gold) == pytest.approx(2 * 1 / (4 + 4))
    assert taskbench_node_f1([PlanGraph((), ())], [PlanGraph((), ())]) == 0.0


def test_transfer_and_forgetting() -> None:
    r = np.array([[0.8, 0.2, 0.1], [0.7, 0.9, 0.3], [0.6, 0.7, 1.0]])
    assert average_accuracy(r) == pytest.approx((0.6 + 0.7 + 1.0) / 3)
    assert backward_transfer(r) == pytest.approx(((0.6 - 0.8) + (0.7 - 0.9)) / 2)
    assert forward_transfer(r, [0.0, 0.1, 0.1]) == pytest.approx(((0.2 - 0.1) + (0.3 - 0.1)) / 2)
    assert forgetting(r) == pytest.approx((0.2 + 0.2) / 2)
    one = np.array([[0.5]])
    assert (backward_transfer(one), forward_transfer(one, [0.0]), forgetting(one)) == (0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="expected as many rounds as tasks"):
        average_accuracy(r[:2])


def test_calibration() -> None:
    assert calibration_error([0.75] * 4, [True, True, True, False]) == pytest.approx(0.0)
    assert calibration_error([1.0, 1.0], [True, False]) == pytest.approx(0.5)
    assert calibration_error([0.05, 0.95], [True, True]) == pytest.approx((0.95 + 0.05) / 2)
    with pytest.raises(ValueError, match="1 confidences for 0 outcomes"):
        calibration_error([0.5], [])


def test_accuracy_of_the_surest() -> None:
    sure, right = [0.9, 0.1, 0.8, 0.2], [True, False, True, False]
    assert accuracy_at_coverage(sure, right, 0.5) == 1.0
    assert accuracy_at_coverage(sure, right, 1.0) == 0.5
    assert accuracy_at_coverage(sure, right, 0.01) == 1.0
