"""Tier two of a state: trained, judged, kept through saving and going back, dropped when it saw what is forgotten."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hearth.errors import HearthError, MissingExtraError
from hearth.learning.demonstration_store import Entry
from hearth.learning.finetune import second_tier
from hearth.learning.finetune.lessons import Epoch, Lesson, Task, Trained
from hearth.learning.unlearning import Sought, find, forget
from hearth.learning.versions import drafting, learned_state
from hearth.learning.versions.drafting import solved
from hearth.learning.versions.learned_state import State, silent
from hearth.protocols import Proposal
from hearth.storage.trace import Trace
from hearth.testing import FIXED_NOW
from hearth.types import Demonstration, Plain, Plan, Request, Step
from tests.small_world import OPTIONS, TOOLS, lessons, opened, shown
from tests.small_world import few_features as few_features

SAID = [f"{a} {b}" for a in ("splendid", "quaint", "hollow", "brisk") for b in ("umbrella", "thunder", "velvet")]
GIVEN: list[Demonstration | Lesson] = []
"""What the trainer was last given."""


class Told:
    """Proposes what it was told to, with all its might."""

    def __init__(self, plans: Mapping[str, Sequence[str]]) -> None:
        self.fingerprint = str(sorted(plans))
        self._plans = plans

    def propose(self, texts: Sequence[str]) -> list[Proposal]:
        return [proposal(self._plans.get(text, ("set_alarm",))) for text in texts]


def proposal(tools: Sequence[str]) -> Proposal:
    ends = ["", *tools, ""]
    return Proposal(dict.fromkeys(tools, 0.97), ((tuple(tools), -0.05),), dict.fromkeys(pairwise(ends), -0.05))


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[State]:
    """With a trainer that writes its plans down, and a reader of them."""

    def train(task: Task) -> Iterator[Epoch | Trained]:
        assert set(task.tools) == set(TOOLS)
        GIVEN[:] = task.lessons
        folder, given = task.folder, [one for one in task.lessons if isinstance(one, Demonstration)]
        folder.mkdir()
        plans = {d.request: [step.tool for step in d.plan.steps] for d in given}
        (folder / "plans.json").write_text(json.dumps(plans))
        yield Epoch(1, 1, len(given), 0.1, 0.1, 0.0)
        yield Trained(folder, {d.id: proposal(plans[d.request]) for d in given}, {"sha256": "abc"})

    def read(folder: Path, tools: Any, graph: Any) -> Told | None:
        return Told(json.loads((folder / "plans.json").read_text()))

    monkeypatch.setattr(second_tier, "train_pointer", train)
    monkeypatch.setattr(learned_state, "opened_tier", read)
    monkeypatch.setattr(second_tier, "tier_fault", lambda folder: "" if (folder / "plans.json").exists() else "gone")
    monkeypatch.setattr(second_tier, "LEAST_TAUGHT", 20)
    monkeypatch.setattr(drafting, "options_of", lambda _: OPTIONS)
    with opened(tmp_path / "state") as state:
        yield state


def odd(n: int = 12) -> list[Demonstration]:
    """Requests nobody could plan from their words: any of four plans may be right."""
    plans = (("order_pizza",), ("cancel_train",), ("set_alarm",), ("find_train", "book_train"))
    return [Demonstration(f"odd{k}", SAID[k], shown("", *plans[k * 7 % 4]).plan, source="teacher") for k in range(n)]


def test_what_helps_is_promoted_and_stays(state: State) -> None:
    state.learn([*lessons(30), *odd()])
    assert second_tier.is_due(state)
    number, verdict = second_tier.train(state, silent)
    assert number == 2
    assert verdict.is_promoted
    version = state.lineage.version(2)
    assert version.adapter.startswith("pointer-")
    assert version.record["tier_two"] == {"sha256": "abc"}
    assert not second_tier.is_due(state)
    before = state.digest()
    assert solved(state).rank(SAID[1]).candidates[0].tools == ("find_train", "book_train")
    assert state.digest() == before
    state.learn(lessons(8, 100), must_pass=False)
    assert state.lineage.version(3).adapter == version.adapter
    assert second_tier.is_due(state)


def test_what_the_owner_corrected_is_learnt_with_the_step_that_was_wrong(state: State) -> None:
    asked = shown("c1", "find_train", "book_train", source="owner")
    failed = Plan((Step("find_train"), Step("order_pizza", after=(0,))))
    trace = Trace(state.store)
    for id, plan in (("e1", failed), ("e2", asked.plan)):
        trace.begin(Request(asked.request, FIXED_NOW), id)
        trace.planned(id, plan, None, None, 1.0)
    same = replace(asked, id="c2", request="the other train, please")
    state.learn([*lessons(30), Entry(asked, episode="e1"), Entry(same, episode="e2")], must_pass=False)
    second_tier.train(state, silent)
    (reflection,) = [one for one in GIVEN if isinstance(one, Lesson)]
    assert (reflection.id, reflection.request) == (asked.id, asked.request)
    assert reflection.plans == ((("find_train", "order_pizza", "book_train"), 1.0),)
    assert reflection.wrong == {1}
    assert "c2" in {one.id for one in GIVEN if isinstance(one, Demonstration)}


def test_all_that_a_teacher_held_likely_is_learnt_by_its_share(state: State) -> None:
    asked = shown("t1", "find_train", "book_train")
    shares: Plain = [{"tools": ["find_train"], "share": 0.25}, {"tools": ["find_train", "book_train"], "share": 0.75}]
    odd_form = Entry(shown("t2", "find_train", "book_train"), candidates="as I said")
    state.learn([*lessons(30), Entry(asked, candidates=shares), odd_form], must_pass=False)
    second_tier.train(state, silent)
    (lesson,) = [one for one in GIVEN if isinstance(one, Lesson)]
    assert lesson.id == "t1"
    assert lesson.plans == ((("find_train", "book_train"), 0.75), (("find_train",), 0.25))
    assert [plan for plan, _ in lesson.ranking] == [plan for plan, _ in lesson.plans]
    assert lesson.ranking[0][1] - lesson.ranking[1][1] == pytest.approx(math.log(3))


def test_going_back_takes_it_out_and_brings_it_back(state: State) -> None:
    state.learn([*lessons(30), *odd()])
    alone = solved(state).rank(SAID[1])
    second_tier.train(state, silent)
    with_it = solved(state).rank(SAID[1])
    assert with_it != alone
    state.rollback(1)
    assert solved(state).rank(SAID[1]) == alone
    state.rollback(2)
    assert solved(state).rank(SAID[1]) == with_it


def test_it_is_dropped_when_it_saw_what_is_forgotten(state: State) -> None:
    state.learn([*lessons(30), *odd()])
    second_tier.train(state, silent)
    receipt = forget(state, find(state.store, Sought(demonstrations=["odd1"])))
    assert receipt.adapters_dropped == 1
    assert [v.adapter for v in state.lineage.versions()] == ["", ""]
    assert not list((state.folder / "learned").iterdir())
    assert solved(state).rank(SAID[1]).candidates


def test_it_is_kept_when_it_never_saw_it(state: State) -> None:
    state.learn([*lessons(30), *odd()])
    second_tier.train(state, silent)
    state.rollback(1)
    state.learn([shown("later", "order_pizza", source="owner")], must_pass=False)
    state.rollback(2)
    assert forget(state, find(state.store, Sought(demonstrations=["later"]))).adapters_dropped == 0
    assert state.lineage.version(2).adapter


def test_what_harms_is_refused_and_leaves_no_files(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    state.learn(lessons(40))
    before = state.digest()

    def train(task: Task) -> Iterator[Trained]:
        task.folder.mkdir()
        (task.folder / "plans.json").write_text("{}")
        yield Trained(task.folder, {d.id: proposal(("order_pizza",)) for d in task.lessons}, {})

    monkeypatch.setattr(second_tier, "train_pointer", train)
    number, verdict = second_tier.train(state, silent)
    assert number is None
    assert verdict.reason.startswith("nothing would improve")
    assert state.digest() == before
    assert not list((state.folder / "learned").iterdir())


def test_stopped_or_without_torch_nothing_has_changed(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HearthError, match="tier two is trained from 20 demonstrations on; there are 0"):
        second_tier.train(state, silent)
    state.learn(lessons(40))
    before = state.digest()
    for error in (KeyboardInterrupt(), MissingExtraError("training", "pip install")):

        def train(*_: Any, error: BaseException = error, **__: Any) -> Iterator[Trained]:
            raise error
            yield

        monkeypatch.setattr(second_tier, "train_pointer", train)
        with pytest.raises(type(error)):
            second_tier.train(state, silent)
    assert state.digest() == before


def test_damaged_files_of_it_are_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "pointer-1"
    folder.mkdir()
    assert learned_state.opened_tier(folder, TOOLS, None) is None
    assert learned_state.tier_proposals(folder) == {}
    (folder / "held.json").write_text("[]")
    assert learned_state.tier_proposals(folder) == {}
