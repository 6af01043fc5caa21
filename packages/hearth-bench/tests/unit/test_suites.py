"""The suites on a small world: keys, the upper bound, and a stream that ends where joint training does."""

from __future__ import annotations

import numpy as np
import pytest

from hearth.planning.ranking.features import ReadingOptions
from hearth.planning.ranking.ranker import Candidate, Ranker, RankerOptions, Ranking
from hearth.testing import HashEncoder
from hearth.types import Demonstration, Plan, Step, ToolSpec
from hearth_bench.data.datasets import PlanData, graph_of
from hearth_bench.metrics.plan_metrics import average_accuracy, backward_transfer
from hearth_bench.suites.continual_suite import Readings, Stream, rounds_of, run_student, tasks_of
from hearth_bench.suites.planning_suite import (
    METHODS,
    Method,
    PlanningOptions,
    judge,
    options_for,
    read_all,
    run_planning,
    tools_right_by_kind,
)

OPTIONS = RankerOptions(reading=ReadingOptions(n_cosines=64, n_words=64), n_fit=60)
THINGS = ("train", "hotel", "pizza", "alarm")
TOOLS = {
    f"{verb}_{thing}": ToolSpec(f"{verb}_{thing}", f"{verb} a {thing}.", domain=thing)
    for thing in THINGS
    for verb in ("find", "book", "cancel")
}


def world(n: int, name: str) -> PlanData:
    found = []
    for k in range(n):
        thing = THINGS[k % len(THINGS)]
        verbs = (("find", "book"), ("cancel",), ("find", "cancel"))[k // len(THINGS) % 3]
        steps = tuple(Step(f"{verb}_{thing}", after=(j - 1,) if j else ()) for j, verb in enumerate(verbs))
        request = f"Please {' and then '.join(f'{verb} me a {thing}' for verb in verbs)} number {k}"
        found.append(Demonstration(f"{name}{k}", request, Plan(steps)))
    return PlanData(tuple(found), TOOLS, "0" * 64)


ENCODER = HashEncoder(48)
TRAIN, TEST = world(72, "train"), world(24, "test")


@pytest.mark.parametrize("method", METHODS)
def test_planning_gives_flat_results(method: Method) -> None:
    options = PlanningOptions(method=method, n_timed=3, student=OPTIONS)
    results = run_planning(read_all(TRAIN, ENCODER, OPTIONS), TEST, ENCODER, options, known={"seed": 7})
    wanted = (
        "node_f1 link_f1 accuracy exact node_hallucination link_hallucination latency_p50_ms latency_p99_ms ece n method "
        "learn_cpu_s seed"
    )
    assert set(wanted.split()) <= set(results)
    assert results["method"] == method
    assert results["n"] == 24
    assert float(str(results["node_f1"])) > 0.9
    assert results["node_hallucination"] == 0.0


def test_the_right_plans_score_one() -> None:
    right = []
    for d in TEST.demonstrations:
        tools = graph_of(d.plan).nodes
        links = tuple((source, k) for k, step in enumerate(d.plan.steps) for source in step.needs())
        right.append(Ranking((Candidate(tools, links, 1.0),), 1.0, ()))
    scores = judge(right, TEST.demonstrations, frozenset(TOOLS))
    assert {scores[key] for key in ("accuracy", "exact", "accuracy_in_first_6", "accuracy_steps_2")} == {1.0}
    assert scores["node_f1"] == pytest.approx(1.0)
    assert scores["ece"] == 0.0
    nothing = judge([Ranking((), 0.0, ())] * 24, TEST.demonstrations, frozenset(TOOLS))
    assert nothing["node_f1"] == nothing["accuracy"] == 0.0
    assert nothing["node_f1_asking_40"] == pytest.approx(10 / 24)


def test_the_requests_put_to_the_teacher_are_those_expected_to_be_worst() -> None:
    shown = TEST.demonstrations[:10]
    right = [graph_of(d.plan).nodes for d in shown]
    sure = [Ranking((Candidate(tools, (), 1.0),), 1.0, ()) for tools in right]
    wrong = [Ranking((Candidate(("nothing",), (), 0.2),), 0.9, ())] * 4
    names = frozenset(TOOLS)
    assert judge([*wrong, *sure[4:]], shown, names)["node_f1_asking_40"] == pytest.approx(1.0)
    proud = [Ranking((Candidate(("nothing",), (), 1.0),), 0.1, ())] * 4
    doubting = [Ranking((Candidate(tools, (), 0.2),), 1.0, ()) for tools in right[4:]]
    assert judge([*proud, *doubting], shown, names)["node_f1_asking_40"] == pytest.approx(0.6)


def test_right_tools_are_counted_by_kind() -> None:
    kinds = ("one", "one", "several", "several", "several")
    shown = tuple(
        Demonstration(f"k{k}", "", Plan((Step("find_train"), Step("book_train"))))
        if kind == "several"
        else Demonstration(f"k{k}", "", Plan((Step("find_train"),)))
        for k, kind in enumerate(kinds)
    )
    data = PlanData(shown, TOOLS, "", unknown=tuple({"kind": kind} for kind in kinds))
    planned = (
        ("find_train",),
        ("find_hotel",),
        ("book_train", "find_train"),  # in another order
        ("find_train", "book_train", "book_train"),  # once too often
        ("find_train",),  # too few
    )
    plans = [Plan(tuple(map(Step, tools))) for tools in planned]
    right = {"tools_right_one": 0.5, "n_one": 2, "tools_right_several": 0.3333, "n_several": 3}
    assert tools_right_by_kind(plans, data) == right
    alike = PlanData(shown[:2], TOOLS, "", unknown=({"kind": "one"}, {"kind": "one"}))
    assert tools_right_by_kind(plans[:2], alike) == {}


def test_an_unknown_method_is_named() -> None:
    with pytest.raises(ValueError, match="unknown method 'magic'; known are student, heads, recall"):
        options_for("magic", OPTIONS)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["student", "heads", "recall"])
def test_a_stream_ends_where_joint_training_does(method: Method) -> None:
    stream = Stream.of(TRAIN, TEST, "domain", 4, 0)
    taught = read_all(TRAIN, ENCODER, OPTIONS)
    readings = Ranker(ENCODER, TOOLS, OPTIONS).read([d.request for d in TEST.demonstrations])
    blank = Ranker(ENCODER, TRAIN.tools, options_for(method, OPTIONS))
    results, joint = run_student(stream, method, blank, Readings(taught, readings))
    r = np.array(results["r_matrix"])
    assert r.shape == (4, 4)
    assert results["acc"] == pytest.approx(average_accuracy(r), abs=1e-3)
    assert results["bwt"] == pytest.approx(backward_transfer(r), abs=1e-3)
    assert results["acc"] == results["joint_acc"] == joint["acc"]
    assert float(str(results["max_weight_difference"])) < 1e-6
    assert len(results["round_cpu_s"]) == 4  # type: ignore[arg-type]
    assert {"fwt", "forgetting", "final_node_f1", "final_accuracy"} <= set(results)
    assert joint["acc"] == joint["joint_acc"], "its own upper bound"
    assert joint["bwt"] == 0.0


def test_rounds_hold_each_row_once_in_the_order_asked_for() -> None:
    for order in ("domain", "shuffle", "file"):
        rounds = rounds_of(TRAIN, order, 5, seed=1)
        assert sorted(row for rows in rounds for row in rows) == list(range(72))
    assert rounds_of(TRAIN, "file", 5, seed=1)[0] == list(range(15))
    assert rounds_of(TRAIN, "shuffle", 5, seed=1) != rounds_of(TRAIN, "shuffle", 5, seed=2)
    with pytest.raises(ValueError, match="unknown order 'size'; known are domain, shuffle, file"):
        rounds_of(TRAIN, "size", 5, seed=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="100 rounds of 72 demonstrations; expected 1 to 72"):
        rounds_of(TRAIN, "file", 100, seed=1)


def test_test_requests_belong_to_the_round_that_uses_their_tools() -> None:
    rounds = rounds_of(TRAIN, "domain", 4, seed=0)
    for rows, test_rows in zip(rounds, tasks_of(TRAIN, rounds, TEST)):
        mine = {TOOLS[TRAIN.demonstrations[row].plan.steps[0].tool].domain for row in rows}
        assert test_rows
        assert {TOOLS[TEST.demonstrations[row].plan.steps[0].tool].domain for row in test_rows} <= mine
