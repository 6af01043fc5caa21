"""Events the agent was told or saw, kept until forgotten and found by their words.

Covered: the same key remembered twice is one event; any text is a safe query; a forgotten event is gone from the table,
from the index and from the write-ahead log.
Not covered: meaning (a search finds words and their inflections, not synonyms), languages without spaces, and the
request by which an event was remembered, which stays in the trace.
"""

from __future__ import annotations

import datetime as dt
import re
import sqlite3

from hearth.errors import NotFound
from hearth.protocols import MemoryHit
from hearth.store import Store
from hearth.trace import label_from_text, label_text, moment_text, parse_moment
from hearth.types import Label

_STOP_WORDS = frozenset(
    """a about after all am an and any are as at be been before but by can could did do does for from had has have he
    her here him his how i if in into is it its just let like me might mine must my no not now of off on or our out
    over please shall she should so some tell than that the their them then there these they this those to too up us
    was we were what when where which who whom whose why will with would you your""".split()  # noqa: SIM905 - a hundred quoted words are harder to read
)
_N_MAX_TERMS = 64


class EventMemory:
    """`protocols.Memory` in the home's database."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def remember(self, text: str, *, kind: str, at: dt.datetime, label: Label, key: str) -> str:
        """Append an event; the same `key` twice appends once and keeps the first text.

        It is on disk with the record of the step or the episode it belongs to, which is written after it.

        Returns:
            The event's id, which is the key.
        Raises:
            StoreError: Nothing was written.
        """
        clean = text.encode(errors="replace").decode()
        with self._store.transaction(is_synced=False) as cursor:
            cursor.execute(
                "INSERT INTO event (id, kind, at, at_unix_s, label, text) VALUES (?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (id) DO NOTHING",
                (key, kind, moment_text(at), at.timestamp(), label_text(label), clean),
            )
        return key

    def search(self, query: str, *, limit: int = 5) -> tuple[MemoryHit, ...]:
        """Events that share a word with `query`, best first (BM25), the most recent first among equals.

        Words are compared by their stem (Porter), without case and accents; words such as "the" or "my" count only when
        the query has no others.
        """
        terms = _terms(query)
        if not terms or limit < 1:
            return ()
        # Every term is quoted, so that nothing in a query is read as FTS5's syntax.
        match = " OR ".join(f'"{term}"' for term in terms)
        rows = self._store.query(
            "SELECT event.*, round(-bm25(event_words), 9) AS score FROM event_words"
            " JOIN event ON event.number = event_words.rowid WHERE event_words MATCH ?"
            " ORDER BY score DESC, event.at_unix_s DESC, event.number DESC LIMIT ?",
            (match, limit),
        )
        return tuple(_hit(row, row["score"]) for row in rows)

    def recent(self, limit: int = 20) -> tuple[MemoryHit, ...]:
        """The latest events, newest first."""
        rows = self._store.query("SELECT * FROM event ORDER BY at_unix_s DESC, number DESC LIMIT ?", (limit,))
        return tuple(_hit(row, 0.0) for row in rows)

    def label(self, id: str) -> Label:
        """The label an event was remembered with. Raises: NotFound."""
        rows = self._store.query("SELECT label FROM event WHERE id=?", (id,))
        if not rows:
            raise NotFound(f"no event {id!r} in memory")
        return label_from_text(rows[0]["label"])

    def forget(self, id: str) -> None:
        """Remove an event for good: no page of its table, of the index or of the log holds its text afterwards.

        Raises:
            NotFound: No such event. StoreError: It is still there.
        """
        with self._store.transaction() as cursor:
            if not cursor.execute("DELETE FROM event WHERE id=?", (id,)).rowcount:
                raise NotFound(f"no event {id!r} in memory; it may have been forgotten already")
            # FTS5 marks words as deleted and drops them when segments are merged: merge them now.
            cursor.execute("INSERT INTO event_words (event_words) VALUES ('optimize')")
        self._store.erase_traces()


def _terms(query: str) -> list[str]:
    words = list(dict.fromkeys(re.findall(r"\w+", query.lower().encode(errors="ignore").decode())))
    telling = [word for word in words if word not in _STOP_WORDS]
    return (telling or words)[:_N_MAX_TERMS]


def _hit(row: sqlite3.Row, score: float) -> MemoryHit:
    return MemoryHit(row["id"], row["text"], row["kind"], parse_moment(row["at"]), score)
