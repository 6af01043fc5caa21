"""What a home has learnt: versions, the gate's word, going back, being killed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hearth.errors import HomeBusyError, NotFound, RegistryError
from hearth.learning.demonstration_store import Entry
from hearth.learning.versions.learned_state import State
from hearth.types import Plan, Step
from tests.small_world import ENCODER, TOOLS, first, learnt, lessons, opened, recall, shown, wrong_trains
from tests.small_world import few_features as few_features


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    """It has learnt forty lessons."""
    with learnt(tmp_path / "state", 40) as state:
        yield state


@pytest.fixture
def state_80(tmp_path: Path) -> Iterator[State]:
    with learnt(tmp_path / "state", 80) as state:
        yield state


def test_what_is_learnt_is_planned_and_is_there_again_after_closing(tmp_path: Path) -> None:
    with opened(tmp_path) as state:
        report = state.learn(lessons())
        assert (report.version, report.n_learnt, report.refused) == (1, 40, ())
        assert first(state, "find a train to Ulm, then book the train seat please") == ("find_train", "book_train")
        weights = state.digest()
    with State.open(tmp_path, ENCODER) as state:
        assert len(recall(state)) == 40
        assert state.tools.keys() == TOOLS.keys()
        assert state.digest() == weights
        version = state.lineage.current()
        assert version is not None
        assert version.number == 1
        assert version.record["n"] == 40
        assert version.reason == "learnt 40 from teacher"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["hearth.db", "hearth.lock", "tools.json"]


def test_nothing_new_makes_no_version(state: State) -> None:
    again = state.learn(lessons())
    assert again.version is None
    assert again.n_known == 40
    assert len(state.lineage.versions()) == 1


def test_a_demonstration_taught_counts_at_once_and_waits_for_a_version(state: State) -> None:
    request = "the usual friday thing"
    new = replace(shown("mine", "order_pizza", "check_weather", source="owner"), request=request, task_steps=())
    assert first(state, request) != ("order_pizza", "check_weather")
    state.teach([new])
    assert first(state, request) == ("order_pizza", "check_weather")
    assert state.lineage.members(1).keys() == {d.id for d in lessons()}
    report = state.learn()
    assert report.version == 2
    assert report.new_tools == ("order_pizza",)
    assert "mine" in state.lineage.members(2)


def test_a_waiting_demonstration_counts_after_opening_again(tmp_path: Path) -> None:
    request = "the usual friday thing"
    with opened(tmp_path) as state:
        state.learn(lessons())
        state.teach([replace(shown("mine", "order_pizza"), request=request)])
    with opened(tmp_path) as state:
        assert first(state, request) == ("order_pizza",)


def test_learning_in_pieces_gives_the_weights_of_learning_at_once(tmp_path: Path) -> None:
    with opened(tmp_path / "a") as pieces, opened(tmp_path / "b") as whole:
        for start in (0, 20, 24):
            pieces.learn(lessons(20 if not start else 4 if start == 20 else 16, start), must_pass=False)
        whole.learn([*lessons(20), *lessons(4, 20), *lessons(16, 24)])
        assert pieces.digest() == whole.digest()


def test_going_back_restores_the_weights_to_the_last_bit_and_forth_again(state: State) -> None:
    before = state.digest()
    state.learn(
        [shown("p1", "order_pizza", source="owner"), replace(lessons()[0], plan=Plan((Step("set_alarm"),)))],
        must_pass=False,
    )
    after = state.digest()
    assert after != before
    version, lost = state.rollback(1)
    assert (version.number, lost) == (1, ())
    assert state.digest() == before
    assert "p1" not in recall(state).ids()
    assert first(state, lessons()[0].request) == ("find_train", "book_train")
    assert {e.id for e in state.buffer.set_aside("rolled back")} == {"p1", "d000"}
    state.rollback(2)
    assert state.digest() == after
    state.rollback(1)
    assert state.learn([shown("p2", "order_pizza", source="owner")]).version == 3
    assert state.lineage.version(3).parent == 1


def test_a_batch_that_harms_is_refused_and_the_old_version_stays(state_80: State) -> None:
    before = state_80.digest()
    wrong = wrong_trains()
    report = state_80.learn(wrong)
    assert report.version is None
    assert report.verdict is not None
    assert "worse" in report.verdict.reason or "do not follow from one another" in report.verdict.reason
    assert len(report.refused) == len(wrong)
    assert state_80.digest() == before
    assert first(state_80, "find a train to Ulm, then book the train seat please") == ("find_train", "book_train")
    assert state_80.buffer.n_set_aside() == {"refused": len(wrong)}
    assert not state_80.buffer.of(d.id for d in wrong)


def test_the_owners_own_are_tried_apart_from_a_refused_batch(state_80: State) -> None:
    wrong = wrong_trains()
    mine = replace(shown("mine", "order_pizza", source="owner"), request="the usual friday thing")
    report = state_80.learn([*wrong, mine])
    assert report.version == 2
    assert len(report.refused) == len(wrong)
    assert state_80.lineage.members(2).keys() - state_80.lineage.members(1).keys() == {"mine"}


def test_what_the_gate_refuses_can_be_learnt_all_the_same(state_80: State) -> None:
    wrong = wrong_trains()
    assert state_80.learn(wrong, must_pass=False).version == 2


def test_tools_are_needed_once(tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match="knows no tools yet; give them with --tools"):
        State.open(tmp_path, ENCODER)
    opened(tmp_path).close()
    with State.open(tmp_path, ENCODER) as state:
        assert state.tools == TOOLS


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with opened(tmp_path), pytest.raises(HomeBusyError):
        opened(tmp_path)


def test_damaged_forms_are_made_again_from_the_demonstrations(tmp_path: Path) -> None:
    with opened(tmp_path) as state:
        state.learn(lessons())
        before = state.digest()
        with state.store.transaction() as cursor:
            cursor.execute("UPDATE demonstration SET vector=substr(vector, 1, 50) WHERE id='d003'")
    with opened(tmp_path) as state:
        assert len(recall(state)) == 40
        assert state.digest() == before
        assert first(state, "find a train to Ulm, then book the train seat please") == ("find_train", "book_train")


def test_an_unknown_version_names_the_last(tmp_path: Path) -> None:
    with opened(tmp_path) as state, pytest.raises(NotFound, match="no version 3; nothing was learnt yet"):
        state.rollback(3)
    with learnt(tmp_path / "learnt") as state, pytest.raises(NotFound, match="no version 7; the last is 1"):
        state.rollback(7)


def test_versions_are_compared(state: State) -> None:
    changed = replace(lessons()[0], request="find me a train and a seat")
    state.learn([shown("p1", "order_pizza", source="owner"), changed], must_pass=False)
    found = state.lineage.compare(1, 2)
    assert (found.added, found.removed, found.changed) == (("p1",), (), ("d000",))
    assert any(a is not None and b is not None for a, b in found.scores.values())
    assert state.lineage.compare(2, 1).removed == ("p1",)


def test_tasks_are_found_and_the_unseen_is_recognised(state_80: State) -> None:
    tasks = state_80.tasks()
    assert {task.name for task in tasks} >= {"find_train + book_train", "cancel_train"}
    assert sum(len(task.members) for task in tasks) == 80
    assert all(task.score is not None and task.score > 0.9 for task in tasks)
    version = state_80.lineage.current()
    assert version is not None
    frontier = version.record["frontier"]
    assert isinstance(frontier, dict)
    assert frontier["caught"] == 1.0
    assert float(str(frontier["false_alarms"])) <= 0.1


def test_entries_keep_what_is_known_of_them(tmp_path: Path) -> None:
    with opened(tmp_path) as state:
        given = Entry(lessons()[0], teacher="big", candidates=[{"p": 0.5}], episode="e1")
        state.teach([given])
        (kept,) = state.buffer.all()
        assert replace(kept, added="") == given
        assert kept.added


def test_of_what_waits_the_newest_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = "the usual friday thing"
    versions = [replace(shown("mine", tool), request=request) for tool in ("order_pizza", "set_alarm", "cancel_train")]
    with opened(tmp_path) as state:
        state.learn(lessons(12))
        state.teach(versions[:1])
        for one in versions[1:]:
            monkeypatch.setattr(State, "_described", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                state.learn([one])
            monkeypatch.undo()
        assert [e.demonstration.plan.steps[0].tool for e in state.buffer.set_aside("waiting")] == ["cancel_train"]
        assert state.learn((), must_pass=False).n_learnt == 1
        assert first(state, request) == ("cancel_train",)
        assert state.learn().version is None
