"""What the gate judges by: the planner of the home, each demonstration as if it alone had not been taught."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hearth.learning.demonstration_store import Entry
from hearth.learning.versions.promotion_gate import JUDGE, Rehearsal
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW
from hearth.types import Context, Demonstration, Plan, Request, Step
from tests.small_world import ENCODER, TOOLS, first, learnt, lessons, opened, recall, shown
from tests.small_world import few_features as few_features

MINE = [
    replace(shown("goodnight", "set_alarm", "check_weather", source="owner"), request="goodnight then"),
    replace(shown("never", "order_pizza", source="owner"), request="bake me a cake", plan=Plan(())),
    shown("pizza", "order_pizza", source="success", ending=" with olives"),
]


def tools(planner: RecallPlanner, one: Demonstration) -> tuple[str, ...]:
    found = planner.plan(Request(one.request, FIXED_NOW), Context(), TOOLS)
    return tuple(step.tool for step in found.steps) if isinstance(found, Plan) else ()


def test_each_is_planned_as_by_one_that_never_saw_it_and_as_before_afterwards() -> None:
    every = [replace(one, now=FIXED_NOW) for one in (*lessons(16), *MINE)]
    planner = RecallPlanner(ENCODER)
    planner.add(every)
    before = [tools(planner, one) for one in every]
    for one in every:
        never = RecallPlanner(ENCODER)
        never.add([other for other in every if other.id != one.id])
        found = planner.plan_untaught(one, TOOLS)
        assert (tuple(step.tool for step in found.steps) if isinstance(found, Plan) else ()) == tools(never, one), one
    assert [tools(planner, one) for one in every] == before


def test_what_is_supposed_is_written_nowhere(tmp_path: Path) -> None:
    with learnt(tmp_path / "state", 40) as state:
        before = state.digest()
        rehearsal = Rehearsal(ENCODER, state.store, state.tools)
        assert rehearsal.digest() == before
        rehearsal.suppose(MINE, ["d003"])
        assert {"goodnight", "never", "pizza"} <= set(rehearsal.ids)
        assert "d003" not in rehearsal.ids
        assert rehearsal.digest() != before
        assert state.digest() == before
        assert "d003" in recall(state).ids()


def test_what_another_process_writes_does_not_end_what_is_supposed(tmp_path: Path) -> None:
    with learnt(tmp_path / "state", 40) as state, Store.open(state.store.path) as other:
        rehearsal = Rehearsal(ENCODER, state.store, state.tools)
        rehearsal.suppose(MINE, ["d003"])
        before = rehearsal.digest()
        with other.transaction() as cursor:
            cursor.execute("CREATE TABLE rung (at TEXT)")
        rehearsal.tried(MINE[2])
        assert rehearsal.digest() == before
        with other.transaction() as cursor:
            cursor.execute("DELETE FROM demonstration WHERE id < 'd020'")
            cursor.execute("UPDATE demonstration SET request = request || ' now' WHERE id = 'd021'")
        for one in (*MINE, *lessons(40)[20:24]):
            rehearsal.tried(one)
        assert {"goodnight", "never", "pizza", "d021"} <= set(rehearsal.ids)
        assert {"d001", "d003"}.isdisjoint(rehearsal.ids)
        assert rehearsal.tools_of("pizza") == ("order_pizza",)


def test_what_is_most_alike_and_planned_otherwise_is_a_rival(tmp_path: Path) -> None:
    with learnt(tmp_path / "state", 40) as state:
        rehearsal = Rehearsal(ENCODER, state.store, state.tools)
        wrong = replace(shown("w", "cancel_train"), plan=Plan((Step("order_pizza"),)), task_steps=())
        rehearsal.suppose([wrong])
        assert {rehearsal.tools_of(id) for id in rehearsal.rivals(["w"])} == {("cancel_train",)}


def test_the_first_version_is_judged_beside_what_is_shipped(tmp_path: Path) -> None:
    with opened(tmp_path) as state:
        shipped = [replace(one, source="shipped") for one in lessons(80)]
        state.teach(shipped)
        wrong = [
            replace(shown(f"w{k}", "cancel_train", ending=f" {k}"), plan=Plan((Step("set_alarm"),))) for k in range(9)
        ]
        report = state.learn(wrong)
        assert report.version is None
        assert len(report.refused) == len(wrong)
        good = state.learn([shown("mine", "order_pizza", source="owner")])
        assert (good.version, good.n_learnt) == (1, 1)
        assert state.lineage.version(1).record["judged_by"] == JUDGE
        state.learn([shown("more", "order_pizza", source="owner", ending=" now")])
        state.rollback(1)
        assert set(recall(state).ids()) == {*(one.id for one in shipped), "mine"}


def test_what_ships_alone_may_be_the_first_version_and_is_gone_back_to(tmp_path: Path) -> None:
    with opened(tmp_path) as state:
        state.teach(replace(one, source="shipped") for one in lessons(20))
        report = state.learn()
        assert (report.version, report.n_learnt, report.verdict) == (1, 20, None)
        assert state.learn().version is None
        before = state.digest()
        state.learn([shown("mine", "order_pizza", source="owner")])
        state.rollback(1)
        assert state.digest() == before
        state.teach([replace(shown("later", "order_pizza"), source="shipped")])
        assert state.learn().version is None, "what is shipped is nobody's lesson"
        state.rollback(1)
        assert "later" in recall(state).ids()


def test_scores_of_another_judge_are_made_again(tmp_path: Path) -> None:
    with learnt(tmp_path / "state", 40) as state:
        with state.store.transaction() as cursor:
            cursor.execute("UPDATE version SET record_json='{}', samples_json='{\"d000\": 0.0}'")
        report = state.learn([Entry(shown("mine", "order_pizza", source="owner"))])
        assert report.verdict is not None
        assert report.verdict.n > 30
        assert report.verdict.before > 0.9


def test_no_student_is_loaded_to_ask_to_teach_to_learn_or_to_forget() -> None:
    rooms = (
        "hearth.agent",
        "hearth.learning.stream",
        "hearth.learning.corrections",
        "hearth.learning.unlearning",
    )
    code = f"import sys, {', '.join(rooms)}; print([name for name in sys.modules if 'ranking.ranker' in name])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_what_a_version_learnt_need_not_be_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with learnt(tmp_path / "state", 40) as state:
        state.learn([shown("mine", "order_pizza", source="owner")])
        before = state.digest()
        monkeypatch.setattr("hearth.planning.retrieval.episodic_index.lessons_of", lambda _: 1 / 0)
        assert state.digest() == before
        assert first(state, shown("mine", "order_pizza").request) == ("order_pizza",)
