"""Tasks: found the same in any order, scored, told apart from what was never seen."""

from __future__ import annotations

import random

import numpy as np
import pytest

from hearth.learning.versions.promotion_gate import (
    Task,
    by_sample,
    find_frontier,
    find_tasks,
    grouped,
    with_scores,
    without,
)
from hearth.testing import HashEncoder
from tests.small_world import lessons


def world(n: int = 40, seed: int = 0) -> tuple[dict[str, tuple[str, ...]], dict[str, np.ndarray]]:
    found = lessons(n)
    random.Random(seed).shuffle(found)
    vectors = HashEncoder(32).encode([d.request for d in found])
    sequences = {d.id: tuple(step.tool for step in d.plan.steps) for d in found}
    return sequences, dict(zip(sequences, vectors))


def test_the_same_samples_give_the_same_tasks() -> None:
    tasks = find_tasks(*world())
    assert find_tasks(*world(seed=5)) == tasks
    assert len(tasks) == 4
    assert {"find_train + book_train", "cancel_train"} <= {task.name for task in tasks}
    assert sorted(id for task in tasks for id in task.members) == sorted(world()[0])


def test_alike_tool_sets_are_one_task_and_tasks_that_share_tools_are_akin() -> None:
    sequences: dict[str, tuple[str, ...]] = {f"a{k}": ("read", "write") for k in range(6)}
    sequences |= {"b": ("read", "write", "close")}
    sequences |= {f"c{k}": ("fly",) for k in range(3)} | {f"d{k}": ("fly", "land", "read") for k in range(3)}
    vectors = {id: np.ones(4) for id in sequences}
    tasks = find_tasks(sequences, vectors)
    owner = by_sample(tasks)
    assert owner["a0"] == owner["b"] == "read + write"
    assert owner["c0"] != owner["a0"]
    assert dict(tasks[0].tools) == {"read": 1.0, "write": 1.0, "close": pytest.approx(1 / 7, abs=1e-4)}
    assert any(task.akin for task in tasks)


def test_tasks_round_trip_and_refusals_are_a_task_of_their_own() -> None:
    tasks = with_scores(find_tasks(*world()), {"d000": 0.5, "d004": 1.0})
    assert [Task.from_json(task.to_json()) for task in tasks] == list(tasks)
    scored = next(task for task in tasks if "d000" in task.members)
    assert (scored.score, scored.n_judged) == (0.75, 2)
    assert find_tasks({"x": ()}, {"x": np.ones(2)}) == (Task("(nothing)", (), ("x",)),)


def test_small_tasks_are_judged_together() -> None:
    tasks = (Task("a", (), ("1", "2", "3")), Task("b", (), ("4",)), Task("c", (), ("6",)))
    found = grouped(tasks, ["1", "2", "3", "4", "5", "6"], 3)
    assert found == {"a": ["1", "2", "3"], "(new)": ["5"], "(small tasks)": ["4", "6"]}


def test_without_a_sample_its_task_is_as_the_others_make_it() -> None:
    sequences = {"1": ("a", "b"), "2": ("a",), "3": ("a",), "4": ("z",)}
    tasks = (
        Task("a + b", (("a", 1.0), ("b", 0.33)), ("1", "2", "3"), 0.5, 3),
        Task("z", (("z", 1.0),), ("4",), 1.0, 1),
    )
    kept = without(tasks, frozenset({"1", "4"}), sequences, {"2": 1.0})
    assert kept == (Task("a", (("a", 1.0),), ("2", "3"), 1.0, 1),)
    assert without(tasks, frozenset(), sequences, {}) == tasks


def test_a_frontier_catches_most_of_what_is_unseen_at_few_alarms() -> None:
    frontier = find_frontier([0.8, *[0.9] * 4, *[0.95] * 5], [0.2, 0.3, 0.85, 0.92])
    assert frontier is not None
    assert frontier.threshold == pytest.approx(0.9)
    assert [frontier.caught, frontier.false_alarms] == pytest.approx([0.75, 0.1])
    assert find_frontier([], [0.3]) is None
