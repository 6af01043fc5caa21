"""Memories forgotten by person, period and topic: what goes with them goes, what has other reasons stays."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.errors import NotFound
from hearth.learning.unlearning import Sought, find, forget
from hearth.learning.versions.learned_state import State
from hearth.memory.event_memory import EventMemory, NewEvent
from hearth.memory.facts import FactStore, NewFact
from hearth.memory.forgetting import Keeper, Retention
from hearth.protocols import Wanted
from hearth.testing import FIXED_NOW
from hearth.types import OWNER
from tests.small_world import opened
from tests.unit.memory.test_memory_index import WordEncoder

DAY = dt.timedelta(days=1)
SAID = {
    "a": (0, "Ana", "Quillfeather sings in the old harbour"),
    "b": (1, "Ben", "I met Ana at the harbour"),
    "c": (2, "Ben", "the mangowood table is sold"),
    "d": (3, "", "bananas are ripe"),
}


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    with opened(tmp_path / "state") as state:
        EventMemory(state.store).remember_all(
            NewEvent(key, text, "message", FIXED_NOW + day * DAY, OWNER, person)
            for key, (day, person, text) in SAID.items()
        )
        yield state


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        (Wanted(person="Ana"), "ab"),
        (Wanted(person="ana", until=FIXED_NOW + DAY), "a"),
        (Wanted(person="an"), ""),
        (Wanted(since=FIXED_NOW + 2 * DAY), "cd"),
        (Wanted(since=FIXED_NOW + DAY, until=FIXED_NOW + 2 * DAY), "b"),
        (Wanted(topic="harbour"), "ab"),
        (Wanted(topic="the old harbour"), "a"),
        (Wanted(topic="banana"), "d"),
        (Wanted(topic="'; DROP TABLE event; --"), ""),
    ],
)
def test_who_when_and_what_choose(state: State, wanted: Wanted, ids: str) -> None:
    assert {id for id, _ in find(state.store, Sought(wanted=wanted)).events} == set(ids)


@pytest.mark.parametrize(
    ("wanted", "matching", "events", "gone"),
    [
        (Wanted(person="Tom"), "", (), {1, 2, 3}),
        (Wanted(topic="Quivertown"), "", (), {1}),
        (Wanted(since=FIXED_NOW, until=FIXED_NOW + DAY), "", (), {1, 2, 3, 4}),
        (Wanted(since=FIXED_NOW + 9 * DAY), "", (), set()),
        (None, "quiver", (), {1}),
        (None, "", ("fact:2",), {1, 2}),
    ],
)
def test_facts_added_word_for_word_are_forgotten(
    state: State, wanted: Wanted | None, matching: str, events: tuple[str, ...], gone: set[int]
) -> None:
    facts = FactStore(state.store)
    facts.add(NewFact("Tom", "lives in", "Quivertown"), FIXED_NOW)
    facts.amend(1, "Ghent", FIXED_NOW)
    facts.add(NewFact("me", "friend", "Tom"), FIXED_NOW)
    facts.add(NewFact("me", "likes", "tomatoes"), FIXED_NOW)
    found = find(state.store, Sought(wanted=wanted, matching=matching, events=events))
    assert set(found.attached.facts) == gone
    assert found.is_empty is not bool(gone or found.events)
    forget(state, found)
    assert {row[0] for row in state.store.query("SELECT number FROM fact")} == {1, 2, 3, 4} - gone


def test_a_fact_that_is_not_there_is_not_forgotten(state: State) -> None:
    with pytest.raises(NotFound, match="no fact 7"):
        find(state.store, Sought(events=("fact:7",)))
    with pytest.raises(NotFound, match="no event 'fact:x'"):
        find(state.store, Sought(events=("fact:x",)))


def test_a_topic_reaches_what_is_near_in_meaning(state: State) -> None:
    found = find(state.store, Sought(wanted=Wanted(topic="bananas ripe fruit")), WordEncoder())
    assert [id for id, _ in found.events] == ["d"]


def test_facts_and_bytes_go_with_what_they_came_from(state: State, tmp_path: Path) -> None:
    store = state.store
    facts = FactStore(store)
    only = facts.add(NewFact("Quillfeather", "sings in", "the old harbour", events=("a",)), FIXED_NOW)
    changed = facts.amend(only.id, "the Quillfeather hall", FIXED_NOW)
    both = facts.add(NewFact("Ana", "likes", "the harbour", events=("a", "b")), FIXED_NOW)
    found = find(store, Sought(events=["a"]))
    assert set(found.attached.facts) == {only.id, changed.id}
    assert "Quillfeather sings in the Quillfeather hall" in found.attached.said
    receipt = forget(state, found)
    assert (receipt.n_events, receipt.n_facts, receipt.found_in) == (1, 2, ())
    assert [fact.id for fact in facts.believed()] == [both.id]
    assert facts.get(both.id).events == ("b",)
    held = [p for p in (tmp_path / "state").rglob("*") if p.is_file() and b"uillfeather" in p.read_bytes()]
    assert held == []
    assert (
        store.query("SELECT count(*) FROM event_vector v LEFT JOIN event e USING (number) WHERE e.id IS NULL")[0][0]
        == 0
    )


def test_sentences_of_summaries_go_and_the_others_stay(state: State, tmp_path: Path) -> None:
    memory = EventMemory(state.store, WordEncoder())
    for _ in memory.embed():
        pass
    memory.remember_all([NewEvent("now", "today", "message", FIXED_NOW + 40 * DAY)])
    memory.remember_all([NewEvent("c2", "the cat slept", "message", FIXED_NOW + 2 * DAY)])
    Keeper(state.store, memory, Retention(whole_days=10)).tend(FIXED_NOW + 40 * DAY)
    found = find(state.store, Sought(wanted=Wanted(topic="mangowood")))
    assert (found.events, found.attached.said) == ((), ("the mangowood table is sold",))
    receipt = forget(state, found)
    assert (receipt.n_lines, receipt.found_in) == (1, ())
    again = EventMemory(state.store, WordEncoder())
    assert again.search("mangowood") == ()
    assert "the cat slept" in again.search("cat slept")[0].text
    assert not [p for p in (tmp_path / "state").rglob("*") if p.is_file() and b"mangowood" in p.read_bytes()]
    gone = forget(state, find(state.store, Sought(matching="cat slept")))
    assert gone.n_lines == 1
    assert not state.store.query("SELECT 1 FROM summary WHERE event LIKE 'summary:day:2026-11-22%'")
