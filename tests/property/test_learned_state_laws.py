"""Whatever was learnt, replaced, forgotten and rolled back: the files depend on what is held now, and on nothing else."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import given, settings

from hearth.learning.unlearning import Sought, find, forget
from hearth.learning.versions.learned_state import State
from hearth.types import Demonstration, Plan, Step
from tests.small_world import few_features as few_features
from tests.small_world import first, lessons, opened, recall

POOL = lessons(30)
CHANGED = [replace(d, plan=Plan((Step("set_alarm"),)), task_steps=()) for d in POOL]

ids = st.integers(0, 29)
deeds = st.lists(
    st.one_of(
        st.tuples(st.just("learn"), st.lists(ids, min_size=1, max_size=24)),
        st.tuples(st.just("change"), st.lists(ids, min_size=1, max_size=4)),
        st.tuples(st.just("teach"), st.lists(ids, min_size=1, max_size=3)),
        st.tuples(st.just("forget"), st.lists(ids, min_size=1, max_size=4)),
        st.tuples(st.just("back"), st.lists(ids, min_size=1, max_size=1)),
    ),
    min_size=1,
    max_size=6,
)


def do(state: State, deed: str, numbers: list[int]) -> None:
    chosen = [POOL[k] for k in dict.fromkeys(numbers)]
    if deed == "learn":
        state.learn(chosen, must_pass=False)
    elif deed == "change":
        state.learn([CHANGED[k] for k in dict.fromkeys(numbers)], must_pass=False)
    elif deed == "teach":
        state.teach(chosen)
    elif deed == "forget":
        known = [d.id for d in chosen if state.buffer.find(matching=d.request) or d.id in state.buffer.ids()]
        if known:
            forget(state, find(state.store, Sought(demonstrations=known)))
    elif versions := state.lineage.versions():
        state.rollback(versions[numbers[0] % len(versions)].number)


def anew(demonstrations: list[Demonstration], folder: Path) -> str:
    with opened(folder) as state:
        state.learn(demonstrations)
        return state.digest()


@settings(max_examples=12)
@given(deeds)
def test_the_files_follow_from_what_is_held(story: list[tuple[str, list[int]]]) -> None:
    with tempfile.TemporaryDirectory() as root:
        with opened(Path(root) / "a") as state:
            for deed, numbers in story:
                do(state, deed, numbers)
            state.learn((), must_pass=False)  # of what waits, a version
            held = [entry.demonstration for entry in state.buffer.all()]
            members = state.lineage.members(state.lineage.current().number) if state.lineage.current() else {}  # type: ignore[union-attr]
            assert members == state.buffer.ids()
            if not held:
                return
            mine = state.digest()
            assert sorted(recall(state).ids()) == [d.id for d in held]
        assert mine == anew(held[::-1], Path(root) / "b")


@settings(max_examples=8)
@given(st.lists(ids, min_size=1, max_size=5, unique=True))
def test_forgetting_is_never_having_seen(numbers: list[int]) -> None:
    gone = {POOL[k].id for k in numbers}
    with tempfile.TemporaryDirectory() as root:
        with opened(Path(root) / "a") as state:
            state.learn(POOL)
            forget(state, find(state.store, Sought(demonstrations=sorted(gone))))
            mine, planned = state.digest(), first(state, POOL[numbers[0]].request)
        with opened(Path(root) / "b") as state:
            state.learn([d for d in POOL if d.id not in gone])
            assert state.digest() == mine
            assert first(state, POOL[numbers[0]].request) == planned
