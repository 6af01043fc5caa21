"""After each request memory is looked after for a moment: bounded, once a day, and carried on where it stopped."""

from __future__ import annotations

import datetime as dt
import types

import numpy as np
import pytest

from hearth.config import MemoryKept
from hearth.memory import forgetting
from hearth.memory.event_memory import EventMemory, NewEvent
from hearth.memory.forgetting import EMBEDDED_AT_ONCE, Keeper, Retention, retention_of, tend_a_little
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW
from tests.unit.memory.test_memory_index import WordEncoder
from tests.unit.memory.test_retention import DAY, kinds, lived


@pytest.fixture
def memory(store: Store) -> EventMemory:
    return EventMemory(store, WordEncoder())


def waiting(store: Store) -> int:
    return int(store.query("SELECT count(*) FROM event WHERE is_embedded = 0")[0][0])


def test_slice_by_slice_everything_is_done_as_in_one_go(store: Store, memory: EventMemory) -> None:
    lived(memory, 20, n_a_day=5)
    for _ in memory.embed():
        pass
    memory.remember_all([NewEvent("new", "not yet read", "message", FIXED_NOW)])
    slices = [tend_a_little(store, memory, Retention(whole_days=10), FIXED_NOW, limit_s=0.0)]
    assert slices[0].n_folded == 6, "even a slice without time takes one step, so that it ends one day"
    assert slices[0].n_embedded == 0
    while not slices[-1].is_done:
        slices.append(tend_a_little(store, memory, Retention(whole_days=10), FIXED_NOW, limit_s=0.02))
        assert len(slices) < 200
    assert sum(one.n_folded for one in slices) == 10 * 6
    assert kinds(store)["message"] == 10 * 6 + 1
    assert waiting(store) == 0
    again = Keeper(store, memory, Retention(whole_days=10)).tend(FIXED_NOW)
    assert (again.n_folded, again.n_dropped) == (0, 0), "nothing was left for the command"


def test_old_events_are_looked_for_once_a_day(store: Store, memory: EventMemory) -> None:
    lived(memory, 20, n_a_day=2)
    few, many = Retention(whole_days=19), Retention(whole_days=10)
    assert tend_a_little(store, memory, few, FIXED_NOW, limit_s=30).n_folded == 3
    assert tend_a_little(store, memory, many, FIXED_NOW, limit_s=30).n_folded == 0
    assert tend_a_little(store, memory, many, FIXED_NOW + DAY, limit_s=30).n_folded > 0


def test_a_clock_that_goes_back_folds_nothing_more(store: Store, memory: EventMemory) -> None:
    lived(memory, 20, n_a_day=2)
    kept = Retention(whole_days=10)
    assert tend_a_little(store, memory, kept, FIXED_NOW, limit_s=30).is_done
    before = kinds(store)
    assert tend_a_little(store, memory, kept, FIXED_NOW - 400 * DAY, limit_s=30).n_folded == 0
    assert kinds(store) == before


def test_a_slice_ends_when_its_time_is_over(store: Store, memory: EventMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = types.SimpleNamespace(now_s=0.0)
    monkeypatch.setattr(forgetting, "time", types.SimpleNamespace(monotonic=lambda: clock.now_s))

    class SlowEncoder(WordEncoder):
        n_read = 0

        def encode(self, texts: object) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
            clock.now_s += 0.02
            self.n_read += len(list(texts))  # type: ignore[call-overload]
            return super().encode(texts)

    encoder = SlowEncoder()
    memory = EventMemory(store, encoder)
    memory.remember_all(NewEvent(f"e{k}", f"word{k}", "message", FIXED_NOW) for k in range(2000))
    done = tend_a_little(store, memory, Retention(), FIXED_NOW, limit_s=0.1)
    assert 0.1 <= clock.now_s < 0.13
    assert 0 < done.n_embedded < 100
    assert done.n_embedded % EMBEDDED_AT_ONCE == 0
    assert encoder.n_read == done.n_embedded
    assert not done.is_done


def test_without_an_encoder_only_what_is_old_is_looked_after(store: Store) -> None:
    memory = EventMemory(store)
    lived(memory, 20, n_a_day=2)
    done = tend_a_little(store, memory, Retention(whole_days=10), FIXED_NOW, limit_s=30)
    assert (done.n_folded, done.n_embedded, done.is_done) == (30, 0, True)


def test_traces_of_slices_are_overwritten_by_the_command(store: Store, memory: EventMemory) -> None:
    lived(memory, 20, n_a_day=2, kind="observation")
    memory.remember_all([NewEvent("kept", "something else", "message", FIXED_NOW)])
    kept = Retention(whole_days=90, keep_days={"observation": 5})
    assert tend_a_little(store, memory, kept, FIXED_NOW, limit_s=30).n_dropped == 45
    assert store.query("SELECT 1 FROM meta WHERE name = 'memory_traces'")
    keeper = Keeper(store, memory, kept)
    assert keeper.tend(FIXED_NOW).n_dropped == 0
    assert not store.query("SELECT 1 FROM meta WHERE name = 'memory_traces'")
    assert b"zork3" not in store.path.read_bytes()


def test_settings_say_how_long() -> None:
    said = MemoryKept(whole_days=30, daily_days=60, keep_days={"observation": 3}, budget_mb=20)
    assert retention_of(said) == Retention(30, 60, {"observation": 3}, 20_000_000)


def test_stems_are_counted_without_reading_the_arrays(store: Store) -> None:
    memory = EventMemory(store)
    memory.remember_all(
        NewEvent(f"e{k}", "running dogs" if k % 2 else "a cat", "message", FIXED_NOW + k * dt.timedelta(minutes=1))
        for k in range(9)
    )
    memory.delete("e1")
    assert [memory.n_with(stem) for stem in ("run", "dog", "cat", "none")] == [3, 3, 5, 0]
    assert memory._index is None
    assert len(memory.index) == 8
    assert [memory.n_with(stem) for stem in ("run", "dog", "cat", "none")] == [3, 3, 5, 0]
