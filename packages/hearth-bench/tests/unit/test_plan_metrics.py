"""Metrics against values worked out by hand from their sources' definitions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from hearth_bench.metrics.plan_metrics import (
    PlanGraph,
    accuracy_at_coverage,
    average_accuracy,
    backward_transfer,
    calibration_error,
    calibration_floor,
    f1,
    forgetting,
    forward_transfer,
    ianvs_backward_transfer,
    ianvs_forward_transfer,
    ianvs_matrix,
    ianvs_samples_transfer_ratio,
    ianvs_task_avg_acc,
    is_accurate,
    plan_scores,
    split_ianvs_matrix,
    taskbench_edit_distance,
    taskbench_link_f1,
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


def test_links_of_single_calls_are_not_scored() -> None:
    """The source gives no link score for single calls; a chain's missing links still cost."""
    scores = plan_scores(
        [chain("a"), chain("a", "b"), chain("a")], [chain("a"), chain("a", "b"), chain("a", "b")], {"a"}
    )
    assert scores["link_f1"] == pytest.approx(0.5, abs=1e-6)
    assert "link_f1" not in plan_scores([chain("a", "b")], [chain("a")], {"a"})


def test_a_tool_used_twice_cannot_be_accurate() -> None:
    """As in GNN4TaskPlan: the overlap is of sets, the lengths are of lists."""
    twice = chain("a", "b", "a")
    assert f1(twice.nodes, twice.nodes) == pytest.approx(2 / 3, abs=1e-6)
    assert not is_accurate(twice, twice)


def test_taskbench_pools_over_samples() -> None:
    predicted, gold = [chain("a"), chain("b", "c", "d")], [chain("a"), chain("x", "y", "z")]
    assert taskbench_node_f1(predicted, gold) == pytest.approx(2 * 1 / (4 + 4))
    assert taskbench_node_f1([PlanGraph((), ())], [PlanGraph((), ())]) == 0.0


def test_taskbench_counts_a_tool_once_and_an_unknown_one_never() -> None:
    predicted, gold = [chain("a", "a", "zz")], [chain("a", "b")]
    assert taskbench_node_f1(predicted, gold, {"a", "b"}) == pytest.approx(2 * 1 / (1 + 2))
    assert taskbench_node_f1(predicted, gold) == pytest.approx(2 * 1 / (2 + 2))


def test_taskbench_links() -> None:
    predicted, gold = [chain("a", "b", "c"), chain("a")], [chain("a", "b"), chain("a", "b")]
    assert taskbench_link_f1(predicted, gold) == pytest.approx(2 * 1 / (2 + 2))
    assert taskbench_link_f1([chain("a")], [chain("b")]) is None


@pytest.mark.parametrize(
    ("predicted", "gold", "wanted"),
    [
        ("abc", "abc", 0.0),
        ("abc", "acb", 1 - 2 * 2 / 6),  # one moved: deleted and inserted
        ("", "ab", 1.0),
        ("", "", 0.0),
        ("xa", "ya", 0.0),  # unknown tools are all alike
    ],
)
def test_taskbench_edit_distance(predicted: str, gold: str, wanted: float) -> None:
    assert taskbench_edit_distance([chain(*predicted)], [chain(*gold)], set("abc")) == pytest.approx(wanted)


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


def test_perfect_confidences_of_few_samples_still_show_an_error() -> None:
    sure = [(k % 100) / 100 for k in range(10_000)]
    assert calibration_floor(sure) < 0.02 < 0.05 < calibration_floor(sure[:100])
    assert calibration_floor([0.0, 1.0]) == 0.0  # nothing is left to chance
    assert calibration_floor(sure[:100]) == calibration_floor(sure[:100])


# ── Ianvs' own ────────────────────────────────────────────────────────────────────────────────────────────


def ianvs_rows(*rows: list[float]) -> list[list[dict[str, float]]]:
    return [[{"accuracy": score} for score in row] for row in rows]


def test_ianvs_names_other_things_bwt_and_fwt() -> None:
    """The learner forgets task 1 (.6 to .5); Ianvs' BWT is positive all the same."""
    rows = ianvs_rows([0.1, 0.2], [0.6, 0.3], [0.5, 0.8])
    assert ianvs_backward_transfer(rows) == pytest.approx(0.25)
    assert ianvs_forward_transfer(rows) == pytest.approx(0.05)
    assert ianvs_matrix(rows) == [[0.6, 0.3], [0.5, 0.8]]
    r, untaught = split_ianvs_matrix(rows)
    assert backward_transfer(r) == pytest.approx(-0.10)
    assert forward_transfer(r, untaught) == pytest.approx(0.10)
    assert forgetting(r) == pytest.approx(0.10)
    assert average_accuracy(r) == pytest.approx(0.65)


@pytest.mark.parametrize(
    "rows",
    [
        [],
        ianvs_rows([0.1]),
        ianvs_rows([0.1, 0.2], [0.1, 0.2]),  # a round was skipped
        [*ianvs_rows([0.1]), [{"f1": 0.2}]],
        [*ianvs_rows([0.1]), [""]],
    ],
)
def test_a_malformed_ianvs_matrix_is_nan(rows: list[list[dict[str, float]]]) -> None:
    assert np.isnan(ianvs_backward_transfer(rows))
    assert np.isnan(ianvs_forward_transfer(rows))
    assert ianvs_matrix(rows) == []
    with pytest.raises(ValueError, match="expected one more than tasks"):
        split_ianvs_matrix(rows)


def test_other_ianvs_metrics() -> None:
    assert ianvs_samples_transfer_ratio([(range(24), range(6)), (range(10), range(5))]) == 0.3143
    assert ianvs_samples_transfer_ratio([]) == 0.0
    assert ianvs_task_avg_acc([{"accuracy": 0.5}, {"accuracy": 0.8335}]) == 0.667
