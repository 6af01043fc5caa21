"""Quarantine demonstrations that a stranger may have had a hand in: kept apart, shown, and learnt only once released.

They lie in `set_aside` under `quarantined`, apart from those that count or wait; no version, index or neighbour search
ever sees them. Covered: release and dropping by the owner, after seeing the whole plan; forgetting finds them like any
other. Not covered: an owner who releases without reading.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hearth.errors import NotFound, RequestError
from hearth.learning.demonstration_store import Entry, entry_of, hold, why_not
from hearth.storage.database import Store
from hearth.types import Label, ToolSpec

RELEASED = Label(frozenset({"owner"}), frozenset())
"""Label of a demonstration that its owner has read and released."""


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A demonstration in quarantine, with the reason."""

    entry: Entry
    reason: str


class Quarantine:
    """The quarantined demonstrations in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def all(self) -> tuple[Quarantined, ...]:
        """Return everything in quarantine, oldest first."""
        rows = self._store.query("SELECT * FROM set_aside WHERE why='quarantined' ORDER BY number")
        return tuple(Quarantined(entry_of(row), row["reason"]) for row in rows)

    def one(self, id: str) -> Quarantined:
        """Return the demonstration of that id, the newest of several. Raises: NotFound."""
        found = [kept for kept in self.all() if kept.entry.id == id]
        if not found:
            raise NotFound(f"no demonstration {id!r} is in quarantine; `hearth learn quarantine` lists what is")
        return found[-1]

    def release(self, id: str, tools: Mapping[str, ToolSpec]) -> Entry:
        """Release one, on the owner's word: it waits for the next `hearth learn`.

        Raises:
            NotFound: It is not in quarantine. RequestError: It could not be learnt in any case; says why.
        """
        entry = replace(self.one(id).entry, label=RELEASED)
        if fault := why_not(entry, tools):
            raise RequestError(f"{fault}; it stays in quarantine, or drop it")
        with self._store.transaction() as cursor:
            cursor.execute("DELETE FROM set_aside WHERE id=? AND why='quarantined'", (id,))
            hold(cursor, [entry], "waiting", "")
        return entry

    def drop(self, id: str) -> int:
        """Remove it for good; return how many there were of that id. Raises: NotFound."""
        self.one(id)
        with self._store.transaction() as cursor:
            n = cursor.execute("DELETE FROM set_aside WHERE id=? AND why='quarantined'", (id,)).rowcount
        self._store.erase_traces()
        return int(n)
