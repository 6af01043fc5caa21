"""The gate's rulings, and what is chosen to judge on."""

from __future__ import annotations

from collections import Counter

import pytest

from hearth.learning.versions.promotion_gate import choose, drawn, judge, node_f1


def scores(**by_task: list[float]) -> tuple[dict[str, float], dict[str, list[str]]]:
    tasks = {name: [f"{name}{k}" for k in range(len(values))] for name, values in by_task.items()}
    return {f"{name}{k}": v for name, values in by_task.items() for k, v in enumerate(values)}, tasks


def test_an_improvement_that_harms_no_task_is_promoted() -> None:
    before, tasks = scores(a=[0.5] * 10, b=[1.0] * 10)
    after, _ = scores(a=[0.8] * 10, b=[1.0] * 10)
    verdict = judge(before, after, tasks, taught_new=False)
    assert verdict.is_promoted
    assert verdict.reason == "no task got worse, and the whole improved (75.0 → 90.0 points)"
    assert [verdict.before, verdict.after] == pytest.approx([0.75, 0.9])
    assert verdict.n == 20


def test_one_task_made_worse_is_enough_to_refuse() -> None:
    before, tasks = scores(a=[0.5] * 50, b=[1.0] * 10, c=[1.0] * 5)
    after, _ = scores(a=[1.0] * 50, b=[1.0] * 4 + [0.0] * 6, c=[1.0] * 5)
    verdict = judge(before, after, tasks, taught_new=True)
    assert not verdict.is_promoted
    assert verdict.reason == "it would make 1 task worse: b (100.0 → 40.0)"
    assert [(c.task, c.is_worse) for c in verdict.changes] == [("b", True), ("a", False)]


def test_a_point_may_be_lost_and_chance_is_no_harm() -> None:
    before, tasks = scores(a=[0.5] * 50, b=[0.8] * 100)
    after, _ = scores(a=[1.0] * 50, b=[0.795] * 100)
    assert judge(before, after, tasks, taught_new=False).is_promoted
    mixed = [1.0, 0.0] * 3 + [0.9, 0.0]
    before, tasks = scores(a=[0.5] * 50, b=mixed)
    after, _ = scores(a=[1.0] * 50, b=[0.0, 1.0] * 3 + [0.0, 0.0])
    assert judge(before, after, tasks, taught_new=False).is_promoted


def test_nothing_gained_is_refused_unless_the_owner_taught_something_new() -> None:
    before, tasks = scores(a=[0.5] * 10)
    assert judge(before, before, tasks, taught_new=False).reason == "nothing would improve (50.0 → 50.0 points)"
    verdict = judge(before, before, tasks, taught_new=True)
    assert (verdict.is_promoted, verdict.reason) == (True, "no task got worse (50.0 → 50.0 points), and it is new")


def test_new_plans_must_follow_from_one_another_and_from_what_is_known() -> None:
    before, tasks = scores(a=[0.9] * 20, new=[0.0] * 6)
    after, _ = scores(a=[0.9] * 20, new=[0.2] * 6)
    assert judge(before, after, tasks, taught_new=True).is_promoted
    verdict = judge(before, after, tasks, taught_new=True, fresh=set(tasks["new"]))
    assert not verdict.is_promoted
    assert verdict.reason == (
        "its plans do not follow from one another or from what is known: 20.0 points with each left out, "
        "where known ones have 90.0"
    )
    after, _ = scores(a=[0.9] * 20, new=[0.4] * 6)
    assert judge(before, after, tasks, taught_new=True, fresh=set(tasks["new"])).is_promoted
    few = {id: score for id, score in after.items() if id not in ("new4", "new5")} | {"new0": 0.0}
    assert judge(before, few, tasks, taught_new=True, fresh=set(tasks["new"])).is_promoted


def test_of_few_samples_chance_excuses_no_fall() -> None:
    assert not judge({"a": 0.6}, {"a": 0.1}, {"mail": ["a"]}, taught_new=True).is_promoted
    assert judge({"a": 0.6}, {"a": 0.595}, {"mail": ["a"]}, taught_new=True).is_promoted
    four = {f"s{k}": 0.5 for k in range(4)}
    assert not judge(four, {**four, "s0": 0.4}, {"mail": list(four)}, taught_new=True).is_promoted
    five = {f"s{k}": 0.5 for k in range(5)}
    assert judge(five, {**five, "s0": 0.4}, {"mail": list(five)}, taught_new=True).is_promoted


def test_with_nothing_to_compare_there_is_no_harm() -> None:
    assert judge({}, {"a": 1.0}, {}, taught_new=False).reason == "nothing was learnt before that could get worse"


def test_samples_are_chosen_evenly_and_the_same_again() -> None:
    tasks = {"large": [f"l{k}" for k in range(100)], "small": ["s1", "s2"], "none": []}
    chosen = choose(tasks, 10)
    assert {"s1", "s2"} <= set(chosen)
    assert len(chosen) == 10
    assert choose({name: members[::-1] for name, members in tasks.items()}, 10) == chosen
    many = {f"t{k}": [f"{k}-{j}" for j in range(k)] for k in range(1, 9)}
    counts = Counter(id.split("-")[0] for id in choose(many, 24))
    assert [counts[str(k)] for k in range(1, 9)] == [1, 1, 1, 1, 5, 5, 5, 5]
    assert choose(tasks, 1000) == sorted(["s1", "s2", *tasks["large"]])
    assert drawn(tasks["large"], 3) == drawn(tasks["large"][::-1], 3)


@pytest.mark.parametrize(
    ("planned", "wanted", "score"),
    [(["a"], ["a"], 1.0), (["a"], ["b"], 0.0), (["a", "b"], ["a"], 2 / 3), ([], ["a"], 0.0), ([], [], 1.0)],
)
def test_node_f1(planned: list[str], wanted: list[str], score: float) -> None:
    assert node_f1(planned, wanted) == pytest.approx(score)
