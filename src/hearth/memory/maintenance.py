"""Tends memory for a moment after each request: folds old events and gives vectors to new ones, without being asked.

A slice is bounded in time: it begins no further step once its time is over, and a step is one transaction of some tens
of milliseconds. Old events are looked for once a day; the next slice continues what one leaves undone. If killed, every
step is either done or not begun.

Covered: a home with a large backlog (an import of years) catches up slice by slice; at least half of each slice is left
to vectors, so that neither waits for the other.
Not covered: overwriting the traces of what was folded, which takes seconds in a large home: `hearth memory tend` does
that, and everything at once.
"""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import dataclass

from hearth.config import MemoryKept
from hearth.memory.event_memory import EventMemory
from hearth.memory.retention import Keeper, Retention
from hearth.storage.database import Store

SLICE_S = 0.4
EMBEDDED_AT_ONCE = 8
_TENDED = "memory_tended"
"""Name of the entry for the day on which the last search for old events was completed."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Counts of what was done in one slice."""

    n_dropped: int
    n_folded: int
    n_embedded: int
    is_done: bool
    """True if nothing is left for today."""


def retention_of(kept: MemoryKept) -> Retention:
    """Read the retention from `[memory]` in the settings."""
    return Retention(kept.whole_days, kept.daily_days, kept.keep_days, kept.budget_mb * 1_000_000)


def tend_a_little(
    store: Store, memory: EventMemory, retention: Retention, now: dt.datetime, limit_s: float = SLICE_S
) -> Slice:
    """Fold and drop what is due, then give events their vectors, until `limit_s` is over.

    Raises:
        StoreError: For example, the disk is full; every step is either done or not begun.
    """
    began_s = time.monotonic()
    n_dropped = n_folded = 0
    is_tended = _is_tended(store, now)
    if not is_tended:
        for dropped, folded, _ in Keeper(store, memory, retention).steps(now):
            n_dropped, n_folded = n_dropped + dropped, n_folded + folded
            if time.monotonic() - began_s >= limit_s / 2:
                break
        else:
            is_tended = True
            with store.transaction(is_synced=False) as cursor:
                cursor.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (_TENDED, _day(now)))
    n_embedded, is_embedded = 0, False
    while time.monotonic() - began_s < limit_s and not is_embedded:
        n = next(memory.embed(EMBEDDED_AT_ONCE), 0)
        n_embedded, is_embedded = n_embedded + n, n < EMBEDDED_AT_ONCE
    return Slice(n_dropped, n_folded, n_embedded, is_tended and is_embedded)


def _is_tended(store: Store, now: dt.datetime) -> bool:
    rows = store.query("SELECT value FROM meta WHERE name = ?", (_TENDED,))
    return bool(rows) and rows[0][0] == _day(now)


def _day(now: dt.datetime) -> str:
    return now.date().isoformat()
