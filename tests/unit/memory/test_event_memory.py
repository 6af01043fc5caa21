"""Event memory: once per key, found by words, safe against any query, gone when forgotten."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hearth.errors import NotFound
from hearth.memory.event_memory import EventMemory
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW
from hearth.types import OWNER, Label

DAY = dt.timedelta(days=1)
TEXTS = (
    "Lotte is allergic to hazelnuts",
    "the locker number at the pool is 48",
    "parked the car in the Bergstraße behind the café",
    "Lotte runs every morning",
    "running shoes are in the hall",
)


@pytest.fixture
def memory(store: Store) -> EventMemory:
    memory = EventMemory(store)
    for number, text in enumerate(TEXTS):
        memory.remember(text, kind="note", at=FIXED_NOW + number * DAY, label=OWNER, key=f"k{number}")
    return memory


def kept(store: Store) -> list[str]:
    """Return the ids of all events, newest first."""
    return [row[0] for row in store.query("SELECT id FROM event ORDER BY at_unix_s DESC, number DESC")]


def found(memory: EventMemory, query: str, limit: int = 5) -> list[str]:
    return [hit.id for hit in memory.search(query, limit=limit)]


def test_the_same_key_is_one_event(memory: EventMemory, store: Store) -> None:
    assert memory.remember("another text", kind="note", at=FIXED_NOW, label=OWNER, key="k0") == "k0"
    assert found(memory, "another") == []
    assert found(memory, "hazelnuts") == ["k0"]
    assert len(kept(store)) == len(TEXTS)


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("what is Lotte allergic to?", ["k0", "k3"]),
        ("HAZELNUT", ["k0"]),
        ("where did I park my car", ["k2"]),
        ("Bergstraße", ["k2"]),
        ("cafe", ["k2"]),
        ("run", ["k4", "k3"]),
        ("48", ["k1"]),
        ("the", ["k4", "k1", "k2"]),
        ("zebra", []),
        ("", []),
        ("?!", []),
    ],
)
def test_search_finds_words_by_their_stem(memory: EventMemory, query: str, ids: list[str]) -> None:
    assert sorted(found(memory, query)) == sorted(ids)
    if query.startswith("what"):
        assert found(memory, query) == ids, "two words before one"


def test_hits_carry_text_kind_and_time(memory: EventMemory) -> None:
    (hit,) = memory.search("locker")
    assert (hit.text, hit.kind, hit.at) == (TEXTS[1], "note", FIXED_NOW + DAY)
    assert hit.score > 0
    assert memory.label("k1") == OWNER
    with pytest.raises(NotFound, match="no event 'k9'"):
        memory.label("k9")


def test_among_equals_the_most_recent_comes_first(memory: EventMemory, store: Store) -> None:
    for number in (3, 1, 2):
        memory.remember(
            "feed the cat", kind="note", at=FIXED_NOW + (100 + number) * DAY, label=OWNER, key=f"cat{number}"
        )
    assert found(memory, "cat") == ["cat3", "cat2", "cat1"]
    assert found(memory, "cat", limit=2) == ["cat3", "cat2"]
    assert found(memory, "cat", limit=0) == []
    assert kept(store)[:2] == ["cat3", "cat2"]


@pytest.mark.parametrize(
    "query",
    ['"', '""', "a AND", "NOT b", "NEAR(", "text:lotte", "* *", "^lotte", "(", "lotte) OR (1=1", "lotte'; DROP TABLE event; --",
     "{text}: x", "-lotte", "+", "lotte\0x", "\ud800 lotte", "AND OR NOT", "x" * 100_000, "lotte " * 20_000],
)  # fmt: skip
def test_no_query_is_read_as_syntax(memory: EventMemory, query: str, store: Store) -> None:
    hits = found(memory, query)
    assert ("k0" in hits) == ("lotte" in query)
    assert len(kept(store)) == len(TEXTS)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(st.characters(codec=None), max_size=40))
def test_any_text_is_a_safe_query(memory: EventMemory, query: str) -> None:
    memory.search(query)


def test_a_forgotten_event_is_in_no_byte_of_the_home(memory: EventMemory, store: Store, home: Path) -> None:
    for number in range(300):
        memory.remember(f"ordinary thing {number}", kind="note", at=FIXED_NOW, label=OWNER, key=f"o{number}")
    memory.remember("the code is Xylophonquartz", kind="note", at=FIXED_NOW, label=OWNER, key="secret")
    assert found(memory, "xylophonquartz") == ["secret"]
    memory.forget("secret")
    assert found(memory, "xylophonquartz") == []
    assert "secret" not in kept(store)
    assert not [p.name for p in home.rglob("*") if p.is_file() and b"ylophonquartz" in p.read_bytes()]
    assert found(memory, "lotte"), "the others are still found"
    with pytest.raises(NotFound, match="no event 'secret' in memory; it may have been forgotten"):
        memory.forget("secret")
    assert store.query("PRAGMA integrity_check")[0][0] == "ok"
    memory.remember("the code is new", kind="note", at=FIXED_NOW, label=OWNER, key="secret")
    assert found(memory, "code") == ["secret"]


def test_text_that_is_not_unicode_and_labels_with_readers(memory: EventMemory) -> None:
    label = Label(frozenset({"message"}), frozenset({"owner"}))
    memory.remember("broken \ud800 text", kind="mail", at=FIXED_NOW, label=label, key="b")
    assert memory.search("broken")[0].text == "broken ? text"
    assert memory.label("b") == label


def test_events_are_there_after_opening_anew(home: Path) -> None:
    with Store.open(home / "hearth.db") as store:
        EventMemory(store).remember("the boiler was serviced", kind="note", at=FIXED_NOW, label=OWNER, key="a")
    with Store.open(home / "hearth.db") as store:
        assert found(EventMemory(store), "boilers") == ["a"]


def test_a_clock_that_goes_back_loses_nothing(store: Store) -> None:
    memory = EventMemory(store)
    for number, days in enumerate((0, 5, -400, 3, -399)):
        at = FIXED_NOW + dt.timedelta(days=days)
        memory.remember(f"apples number{number}", kind="request", at=at, label=OWNER, key=f"e{number}")
        assert f"e{number}" in found(memory, "apples", 10)
    assert kept(store) == ["e1", "e3", "e0", "e4", "e2"]
    assert sorted(found(EventMemory(store), "apples", 10)) == sorted(found(memory, "apples", 10))
