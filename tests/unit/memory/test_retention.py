"""Old events become summaries of what was said, and nothing else; the budget holds; evidence stays."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path

import numpy as np
import pytest

from hearth.memory.event_memory import EventMemory, NewEvent
from hearth.memory.facts import FactStore, NewFact
from hearth.memory.forgetting import SUMMARY, Keeper, Retention, digest_of_id
from hearth.memory.search.memory_index import EventIndex
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW
from hearth.types import OWNER, Label
from tests.unit.memory.test_memory_index import WordEncoder

DAY = dt.timedelta(days=1)
STRANGER = Label(frozenset({"message"}), frozenset())
ROUTINE = ("Coffee at eight again.", "Took the bus to work.", "Dinner was fine.", "The weather is as always.")


def lived(memory: EventMemory, n_days: int, n_a_day: int = 30, kind: str = "message") -> None:
    """Routines, and each day one thing that happens once."""
    draw = random.Random(1)
    for day in range(n_days):
        at = FIXED_NOW - (n_days - day) * DAY
        events = [
            NewEvent(f"{day}-{k}", draw.choice(ROUTINE), kind, at + k * dt.timedelta(minutes=9), OWNER, "Ana")
            for k in range(n_a_day)
        ]
        events.append(NewEvent(f"once-{day}", f"Fine. Ben found the zork{day} lamp. Fine.", kind, at, OWNER, "Ben"))
        memory.remember_all(events)


def keeper(store: Store, memory: EventMemory, **what: object) -> Keeper:
    return Keeper(store, memory, Retention(**what))  # type: ignore[arg-type]


@pytest.fixture
def memory(store: Store) -> EventMemory:
    return EventMemory(store, WordEncoder())


def kinds(store: Store) -> dict[str, int]:
    return {row[0]: row[1] for row in store.query("SELECT kind, count(*) FROM event GROUP BY kind")}


def test_old_days_become_summaries_in_which_what_happened_once_is_found(store: Store, memory: EventMemory) -> None:
    lived(memory, 40)
    for _ in memory.embed():
        pass
    done = keeper(store, memory, whole_days=10).tend(FIXED_NOW)
    assert done.n_folded == 30 * 31
    assert kinds(store)["message"] == 10 * 31
    (hit,) = memory.search("zork3 lamp", limit=1)
    assert hit.kind == SUMMARY
    assert "Ben: Ben found the zork3 lamp." in hit.text
    assert hit.text.count("Coffee at eight again.") <= 1
    assert memory.search("zork35", limit=1)[0].id == "once-35"
    said = {line for row in store.query("SELECT text FROM event WHERE kind='summary'") for line in row[0].split("\n")}
    known = {*ROUTINE, "Fine.", *(f"Ben found the zork{k} lamp." for k in range(40))}
    assert {line.split(": ", 1)[1] for line in said} <= known, "nothing is said that was not said"
    assert keeper(store, memory, whole_days=10).tend(FIXED_NOW).n_folded == 0


def test_the_index_follows_the_folding(store: Store, memory: EventMemory) -> None:
    lived(memory, 20)
    memory.search("zork1")
    for _ in memory.embed():
        pass
    keeper(store, memory, whole_days=8).tend(FIXED_NOW)
    fresh, kept = EventIndex(store), memory.index
    live = kept.numbers[: len(kept.live)][kept.live]
    assert live.tolist() == fresh.numbers[: len(fresh.live)].tolist()
    for word in ("zork1", "coffee", "lamp"):
        (stem,) = kept.stems([word])
        ours = kept.postings(stem).slots
        assert kept.numbers[ours[kept.live[ours]]].tolist() == fresh.numbers[fresh.postings(stem).slots].tolist()
    question = WordEncoder().encode(["zork1 lamp"])[0]
    assert kept.cosines(question)[kept.live] == pytest.approx(fresh.cosines(question), abs=0.01)


def test_daily_summaries_become_monthly_and_yearly_ones(store: Store, memory: EventMemory) -> None:
    lived(memory, 100, 6)
    tended = keeper(store, memory, whole_days=10, daily_days=20).tend(FIXED_NOW)
    levels = {row[0]: row[1] for row in store.query("SELECT level, sum(n_replaced) FROM summary GROUP BY level")}
    assert levels["month"] > 0 < levels["day"]
    assert sum(levels.values()) == 90 * 7
    assert tended.is_within
    hit = memory.search("zork5 lamp", limit=1)[0]
    assert "Ben: Ben found the zork5 lamp." in hit.text
    replaced = b"".join(row[0] for row in store.query("SELECT replaced FROM summary"))
    assert digest_of_id("once-5") in replaced
    assert digest_of_id("once-95") not in replaced
    source = store.query("SELECT source FROM summary_line WHERE text LIKE '%zork5 %'")
    assert [row[0] for row in source] == ["once-5"]


def test_what_a_fact_rests_on_and_what_was_asked_to_be_remembered_stays_whole(
    store: Store, memory: EventMemory
) -> None:
    lived(memory, 30)
    memory.remember("my locker is 48", kind="remembered", at=FIXED_NOW - 29 * DAY, label=OWNER, key="asked")
    FactStore(store).add(NewFact("Ben", "has", "a lamp", events=("once-2",)), FIXED_NOW)
    keeper(store, memory, whole_days=7, keep_days={"message": 20}).tend(FIXED_NOW)
    left = {row[0] for row in store.query("SELECT id FROM event")}
    assert {"once-2", "asked"} <= left
    assert "once-3" not in left


def test_kinds_leave_after_their_days_without_a_summary(store: Store, memory: EventMemory) -> None:
    lived(memory, 30, kind="observation")
    done = keeper(store, memory, keep_days={"observation": 5}).tend(FIXED_NOW)
    assert (done.n_dropped, done.n_folded) == (25 * 31, 0)
    assert memory.search("zork3") == ()
    assert memory.search("zork28") != ()


def test_events_of_different_labels_never_share_a_summary(store: Store, memory: EventMemory) -> None:
    at = FIXED_NOW - 30 * DAY
    memory.remember_all(
        NewEvent(f"{label.sources}{k}", f"word{k} of it", "message", at, label)
        for k in range(9)
        for label in (OWNER, STRANGER)
    )
    memory.remember_all([NewEvent("now", "now", "message", FIXED_NOW)])
    keeper(store, memory, whole_days=7).tend(FIXED_NOW)
    found = {row[0] for row in store.query("SELECT id FROM event WHERE kind='summary'")}
    assert {memory.label(id) for id in found} == {OWNER, STRANGER}


def test_the_budget_folds_earlier_and_says_when_it_cannot_hold(store: Store, memory: EventMemory) -> None:
    lived(memory, 30, 80)
    before = keeper(store, memory).tend(FIXED_NOW)
    assert (before.n_folded, before.is_within) == (0, True)
    done = keeper(store, memory, budget_bytes=before.used_bytes * 9 // 10).tend(FIXED_NOW)
    assert done.is_within
    assert 0 < done.n_folded < 23 * 81
    assert not keeper(store, memory, budget_bytes=1000).tend(FIXED_NOW).is_within
    assert 7 * 81 <= kinds(store)["message"] < 8 * 81, "the newest days are whole whatever the budget"


@pytest.mark.parametrize("days", [-400, 400])
def test_a_wrong_clock_folds_nothing(store: Store, memory: EventMemory, days: int) -> None:
    lived(memory, 20)
    assert keeper(store, memory, whole_days=60).tend(FIXED_NOW + days * DAY).n_folded == 0
    assert kinds(store) == {"message": 20 * 31}


def test_what_comes_late_for_a_day_that_was_folded_is_folded_beside_it(store: Store, memory: EventMemory) -> None:
    lived(memory, 20)
    keeper(store, memory, whole_days=7).tend(FIXED_NOW)
    memory.remember_all([NewEvent("late", "Ana saw a heron.", "message", FIXED_NOW - 18 * DAY, OWNER, "Ana")])
    assert keeper(store, memory, whole_days=7).tend(FIXED_NOW).n_folded == 1
    assert "Ana saw a heron." in memory.search("heron")[0].text
    assert "zork3" in memory.search("zork3")[0].text


def test_folded_events_are_in_no_byte_of_the_file(store: Store, memory: EventMemory, home: Path) -> None:
    lived(memory, 20)
    old = "the quillfeather " * 30 + "matter"
    memory.remember_all([NewEvent("o", "plain. " + old, "observation", FIXED_NOW - 19 * DAY)])
    keeper(store, memory, whole_days=7, keep_days={"observation": 3}).tend(FIXED_NOW)
    assert not [p for p in home.rglob("*") if p.is_file() and b"quillfeather" in p.read_bytes()]


@pytest.mark.parametrize("damage", [b"", b"short", b"\xff" * 436, b"\0" * 436, b"\x7f" * 436])
def test_vectors_that_cannot_be_read_are_no_part_of_a_summary(store: Store, memory: EventMemory, damage: bytes) -> None:
    lived(memory, 20, n_a_day=3)
    for _ in memory.embed():
        pass
    with store.transaction() as cursor:
        cursor.execute("UPDATE event_vector SET vector = ? WHERE number % 3 = 0", (damage,))
    assert keeper(store, memory, whole_days=10).tend(FIXED_NOW).n_folded == 40
    fresh = EventIndex(store)
    assert np.isfinite(fresh.scales).all()
    assert np.isfinite(fresh.cosines(WordEncoder().encode(["lamp"])[0])).all()
    assert np.isfinite(memory.index.cosines(WordEncoder().encode(["lamp"])[0])).all()
    assert "zork3" in memory.search("zork3 lamp", limit=1)[0].text
