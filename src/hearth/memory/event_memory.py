"""Keeps events the agent was told or saw until forgotten, and finds them by words, meaning, people and times.

Covered: the same key remembered twice is one event; any text is a safe question; a forgotten event is no longer found
at once, and after `forget` no page of its table, of the full-text index or of the write-ahead log holds it.
Not covered: languages without spaces, and the request by which an event was remembered, which stays in the trace.
"""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hearth.errors import NotFound
from hearth.memory.search.memory_index import NEIGHBOUR_S, EventIndex, Row, packed
from hearth.memory.search.memory_ranking import (
    Question,
    Ranked,
    advice_vector,
    as_preference,
    asks_for_advice,
    people_named,
    rank,
    reranked,
)
from hearth.memory.search.reranking import N_CLOSE, Closeness
from hearth.memory.search.supersession import Statement, statement_of
from hearth.memory.search.terms import weighed
from hearth.memory.search.time_mentions import Period
from hearth.models.encoder.sentence_encoder import TokenEncoder
from hearth.protocols import Encoder, MemoryHit
from hearth.storage.database import Store
from hearth.storage.trace import label_from_text, moment_text, parse_moment, short_label_text
from hearth.types import OWNER, Label

LEAST_COSINE = 0.35
"""An event that shares no word with a question is found if its meaning is at least this near."""
EMBED_BATCH = 32
_MOST_WAITING = 64
"""Most events without a vector that a search embeds first; if there are more, it goes on without their vectors."""
_MOST_TEXT_EMBEDDED = 2000
_MOST_QUESTION = 10_000
_MOST_STATEMENTS = 256
"""Most statements whose tokens are kept in RAM; some 20 kB each."""
_STEMS = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.event_stems USING fts5vocab ('main', 'event_words', 'row')"


@dataclass(frozen=True, slots=True)
class NewEvent:
    """Something to remember."""

    key: str
    """Used as its id; if the same key comes twice, only the first event is kept."""
    text: str
    kind: str
    at: dt.datetime
    label: Label = OWNER
    person: str = ""
    """Name of the person who said or did it."""
    place: str = ""
    thread: str = ""
    """The conversation it belongs to; if empty, that of its day."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions on the events to find; empty fields allow all."""

    since: dt.datetime | None = None
    until: dt.datetime | None = None
    """Exclusive."""
    kinds: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """An event that may answer a question, with its scores."""

    id: str
    text: str
    kind: str
    at: dt.datetime
    person: str
    """Name of the person who said or did it; empty for the owner."""
    before: str
    """Text said just before it in its conversation, with the speaker; empty if there is none."""
    total: float
    """Its weighted scores; greater is better, comparable within one question."""
    cosine: float
    close: float
    """Closeness of its words to the question's, about 0 to 1; 0 without the closer comparison."""
    people: tuple[str, ...]
    """People the question names who said something."""
    label: Label = OWNER
    """The label it was remembered with."""


class EventMemory:
    """Events in the home's database; `Recollection` answers questions with them."""

    def __init__(
        self,
        store: Store,
        encoder: Encoder | None = None,
        read_times: Callable[[str, dt.datetime], Sequence[Period]] | None = None,
    ) -> None:
        """Open the memory of a home.

        Args:
            encoder: Without one, events are found by their words alone.
            read_times: Reads the times a question names, relative to a moment; without it none are read.
        """
        self._store = store
        self._encoder = encoder
        self._read_times = read_times
        self._index: EventIndex | None = None
        self._has_stems = False
        self._statements: dict[str, Statement] = {}
        self._closeness = Closeness(encoder) if isinstance(encoder, TokenEncoder) else None

    @property
    def index(self) -> EventIndex:
        """All events as arrays; read from the store at first use."""
        if self._index is None:
            self._complete_old()
            self._index = EventIndex(self._store)
        return self._index

    def reread(self) -> None:
        """Let go of what is held in RAM: the store was changed beside, by forgetting."""
        self._index = None
        self._statements.clear()
        self._closeness = Closeness(self._encoder) if isinstance(self._encoder, TokenEncoder) else None

    # ── Remembering ───────────────────────────────────────────────────────────────────────────────────────

    def remember(self, text: str, *, kind: str, at: dt.datetime, label: Label, key: str) -> str:
        """Append an event; the same `key` twice appends once and keeps the first text.

        It reaches the disk with the record of the step or the episode it belongs to, which is written after it.

        Returns:
            The event's id, which is the key.
        Raises:
            StoreError: Nothing was written.
        """
        self._append([NewEvent(key, text, kind, at, label)], is_synced=False)
        return key

    def remember_all(self, events: Iterable[NewEvent]) -> int:
        """Append many in one transaction, on disk on return; return how many were new. Raises: StoreError: none was."""
        return self._append(list(events), is_synced=True)

    def _append(self, events: Sequence[NewEvent], is_synced: bool) -> int:
        with self._store.transaction(is_synced=is_synced) as cursor:
            rows = self.write(cursor, events)
        self.follow((), rows)
        return len(rows)

    def write(self, cursor: sqlite3.Cursor, events: Iterable[NewEvent]) -> list[Row]:
        """Append events within a transaction of the caller's; pass the rows to `follow` once it is committed."""
        rows = []
        for event in events:
            text = event.text.encode(errors="replace").decode()
            at_unix_s, thread = event.at.timestamp(), event.thread or f"{event.at:%y%m%d}"
            n_terms, signs = weighed(text)
            cursor.execute(
                "INSERT INTO event (id, kind, at, at_unix_s, label, text, person, place, thread, n_terms, signs)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
                (
                    *(event.key, event.kind, moment_text(event.at), at_unix_s, short_label_text(event.label), text),
                    *(event.person, event.place, thread, n_terms, signs),
                ),
            )
            if cursor.rowcount:
                number = cursor.lastrowid or 0
                rows.append(Row(number, at_unix_s, event.kind, event.person, event.place, thread, n_terms, signs, None))
        return rows

    def follow(self, gone: Iterable[int], rows: Iterable[Row]) -> None:
        """Update the state held in RAM for events removed and added in a transaction of the caller's."""
        gone = list(gone)
        if gone:
            self._statements.clear()
        for number in gone:
            if self._index is not None:
                self._index.remove(number)
            if self._closeness is not None:
                self._closeness.forget(number)
        if self._index is not None:
            self._index.add(rows)

    def embed(self, limit: int | None = None) -> Iterator[int]:
        """Give events their vectors, oldest first, each encoded with the one before it; yield how many are done.

        If stopped anywhere, finished work is kept. Without an encoder there is nothing to do.
        """
        n_done = 0
        while self._encoder is not None and (limit is None or n_done < limit):
            batch = EMBED_BATCH if limit is None else min(EMBED_BATCH, limit - n_done)
            rows = self._store.query(
                "SELECT number, text, person, thread, at_unix_s FROM event WHERE is_embedded = 0"
                " ORDER BY number LIMIT ?",
                (batch,),
            )
            if not rows:
                return
            vectors = [packed(vector) for vector in self._encoder.encode([self._with_previous(row) for row in rows])]
            with self._store.transaction(is_synced=False) as cursor:
                keep_vectors(cursor, [row["number"] for row in rows], vectors)
            if self._index is not None:
                for vector, row in zip(vectors, rows, strict=True):
                    self._index.set_vector(row["number"], vector)
            n_done += len(rows)
            yield n_done

    def _with_previous(self, row: sqlite3.Row) -> str:
        """Prefix an event's words with those before it in its conversation, as answers are short without questions."""
        before = self._store.query(
            "SELECT text, person FROM event WHERE number = (SELECT max(number) FROM event WHERE number < ?"
            " AND number > ? - 50 AND thread = ?) AND abs(at_unix_s - ?) <= ?",
            (row["number"], row["number"], row["thread"], row["at_unix_s"], NEIGHBOUR_S),
        )
        said = [f"{r['person']}: {r['text']}" if r["person"] else r["text"] for r in (*before, row)]
        return " ".join(part[:_MOST_TEXT_EMBEDDED] for part in said)

    def _complete_old(self) -> None:
        """Fill in columns that events written by earlier versions lack."""
        rows = self._store.query("SELECT number, text, at FROM event WHERE n_terms < 0")
        if rows:
            with self._store.transaction(is_synced=False) as cursor:
                cursor.executemany(
                    "UPDATE event SET n_terms = ?, signs = ?, thread = ? WHERE number = ?",
                    [(*weighed(r["text"]), r["at"][2:10].replace("-", ""), r["number"]) for r in rows],
                )

    def n_with(self, stem: str) -> int:
        """Count the events that hold a stem; asks the full-text index if the arrays are not read yet."""
        if self._index is not None:
            return len(self._index.postings(stem).slots)
        if not self._has_stems:
            with self._store.transaction(is_synced=False) as cursor:
                cursor.execute(_STEMS)
            self._has_stems = True
        rows = self._store.query("SELECT doc FROM temp.event_stems WHERE term = ?", (stem,))
        return int(rows[0][0]) if rows else 0

    # ── Finding ───────────────────────────────────────────────────────────────────────────────────────────

    def search(
        self,
        query: str,
        *,
        limit: int = 5,
        now: dt.datetime | None = None,
        where: Filter | None = None,
        is_close: bool = False,
    ) -> tuple[MemoryHit, ...]:
        """Find events that share a word with `query` or come near its meaning, best first: see `memory_ranking`.

        Args:
            now: The moment relative to which times in `query` are read; without it they count for nothing.
            where: Conditions on the events to find.
            is_close: Compare the best again, word by word: better, and some 4 ms for each event not compared lately.
        """
        found = self._looked(query, now, where, is_close) if limit > 0 else None
        if found is None:
            return ()
        ranked = found[0]
        is_near = ranked.has_words | (ranked.cosines >= LEAST_COSINE)
        slots, totals = ranked.slots[is_near][:limit], ranked.totals[is_near][:limit]
        return self._hits(self.index.numbers[slots], totals)

    def look_closely(
        self, question: str, *, limit: int = 5, now: dt.datetime | None = None, where: Filter | None = None
    ) -> tuple[Found, ...]:
        """Search with `is_close`, and also return how near each event comes and what was said before it."""
        looked = self._looked(question, now, where, is_close=True) if limit > 0 else None
        if looked is None:
            return ()
        ranked, close, people = looked
        near = np.flatnonzero(ranked.has_words | (ranked.cosines >= LEAST_COSINE))[:limit]
        numbers = self.index.numbers[ranked.slots[near]].tolist()
        previous = self.index.beside(ranked.slots[near])[0]
        before = np.where(previous >= 0, self.index.numbers[previous], -1).tolist()
        texts = self._texts(np.array([k for k in before if k >= 0], np.int64))
        rows = self._numbered(numbers)
        return tuple(
            Found(
                *(row["id"], row["text"], row["kind"], parse_moment(row["at"]), row["person"]),
                *(texts.get(preceding, ""), float(ranked.totals[place]), float(ranked.cosines[place])),
                *(close.get(number, 0.0), tuple(people), label_from_text(row["label"])),
            )
            for place, number, preceding in zip(near.tolist(), numbers, before, strict=True)
            if (row := rows.get(number)) is not None
        )

    def heard_share(self, words: Sequence[str]) -> float:
        """The share of `words` whose stem is in any event; 1 if there are no words."""
        stems = self.index.stems(words)
        return sum(len(self.index.postings(stem).slots) > 0 for stem in stems) / len(stems) if stems else 1.0

    def statements(self, texts: Sequence[str]) -> tuple[Statement, ...]:
        """Read texts as they are compared with each other; none without an encoder that gives tokens."""
        if not isinstance(self._encoder, TokenEncoder):
            return ()
        new = [text for text in dict.fromkeys(texts) if text not in self._statements]
        read = self._encoder.encode_tokens([text[:_MOST_TEXT_EMBEDDED] for text in new])
        known = self._statements | {
            text: statement_of(text[:_MOST_TEXT_EMBEDDED], one) for text, one in zip(new, read, strict=True)
        }
        self._statements = dict(list(known.items())[-_MOST_STATEMENTS:])
        return tuple(known[text] for text in texts)

    def times_in(self, text: str, at: dt.datetime) -> tuple[Period, ...]:
        """The periods that `text` names, relative to `at`; none without a reader of times."""
        return tuple(self._read_times(text, at)) if self._read_times is not None else ()

    def _looked(
        self, query: str, now: dt.datetime | None, where: Filter | None, is_close: bool
    ) -> tuple[Ranked, dict[int, float], list[str]] | None:
        """Return ranked events, the closeness of those compared again, by number, and the people the question names;
        None for an empty question."""
        text = query[:_MOST_QUESTION].encode(errors="ignore").decode()
        if not text.strip():
            return None
        index = self.index
        vector = None
        if self._encoder is not None:
            for _ in self.embed(_MOST_WAITING):
                pass
            vector = self._question_vector(self._encoder, text, is_close)
        people = people_named(index, text)
        if vector is not None and self._encoder is not None and not people and asks_for_advice(text):
            vector = advice_vector(vector, self._question_vector(self._encoder, as_preference(text), is_close))
            return rank(index, Question(text, vector, is_for_advice=True), self._mask(where)), {}, people
        periods = self.times_in(text, now) if now is not None else ()
        ranked = rank(index, Question(text, vector, periods), self._mask(where))
        if not is_close or self._closeness is None:
            return ranked, {}, people if is_close else []
        best = index.numbers[ranked.slots[:N_CLOSE]]
        texts = self._texts(best)
        close = self._closeness.of(text, people, {k: texts.get(k, "") for k in best.tolist()})
        return reranked(ranked, close), dict(zip(best.tolist(), close.tolist(), strict=True)), people

    def _question_vector(self, encoder: Encoder, text: str, is_close: bool) -> NDArray[np.float32]:
        """Encode a question: for a first search in 8 bits if the encoder can, which takes a third of the time, within
        cosine 0.99, and finds as much on LoCoMo. A closer search costs far more anyway, and its closeness is fitted on
        the full vector."""
        if isinstance(encoder, TokenEncoder) and not is_close:
            return encoder.encode_tokens([text])[0].whole
        vector: NDArray[np.float32] = encoder.encode([text])[0]
        return vector

    def _mask(self, where: Filter | None) -> NDArray[np.bool_] | None:
        if where is None:
            return None
        index = self.index
        mask = index.live.copy()
        at = index.at_unix_s[: len(mask)]
        if where.since is not None:
            mask &= at >= where.since.timestamp()
        if where.until is not None:
            mask &= at < where.until.timestamp()
        for column, wanted in (("kind", where.kinds), ("person", where.people), ("place", where.places)):
            if wanted:
                known = index.known(column)
                mask &= np.isin(index.ids(column), [known[value] for value in wanted if value in known])
        return mask

    def _texts(self, numbers: NDArray[np.int64]) -> dict[int, str]:
        """The texts of events, each with its speaker."""
        rows = self._numbered(numbers.tolist())
        return {k: f"{row['person']}: {row['text']}" if row["person"] else row["text"] for k, row in rows.items()}

    def _hits(self, numbers: NDArray[np.int64], scores: NDArray[np.float32]) -> tuple[MemoryHit, ...]:
        rows = self._numbered(numbers.tolist())
        pairs = zip(numbers.tolist(), scores.tolist(), strict=True)
        return tuple(_hit(rows[number], score) for number, score in pairs if number in rows)

    def _numbered(self, numbers: Sequence[int]) -> dict[int, sqlite3.Row]:
        marks = ",".join("?" * len(numbers))
        rows = self._store.query(f"SELECT * FROM event WHERE number IN ({marks})", numbers)  # noqa: S608 - question marks only
        return {row["number"]: row for row in rows}

    def said_by(self, name: str, limit: int, periods: Sequence[Period] = ()) -> tuple[MemoryHit, ...]:
        """Find what somebody said last, newest first; within the first of `periods`, if there is one.

        Args:
            name: The full name, or the beginning of it: "Tom" also finds Tom Maes.
        """
        since, until = (periods[0].start.timestamp(), periods[0].end.timestamp()) if periods else (-9e99, 9e99)
        rows = self._store.query(
            "SELECT * FROM event WHERE (person = ?1 COLLATE NOCASE OR substr(person, 1, length(?1) + 1) = ?1 || ' '"
            " COLLATE NOCASE) AND at_unix_s >= ?2 AND at_unix_s < ?3 ORDER BY at_unix_s DESC, number DESC LIMIT ?4",
            (name, since, until, limit),
        )
        return tuple(_hit(row, 0.0) for row in rows)

    def told(self, ids: Sequence[str]) -> tuple[MemoryHit, ...]:
        """Return the events with these ids that are not forgotten, latest first."""
        marks = ",".join("?" * len(ids))
        rows = self._store.query(f"SELECT * FROM event WHERE id IN ({marks}) ORDER BY at_unix_s DESC", list(ids))  # noqa: S608 - question marks only
        return tuple(_hit(row, 0.0) for row in rows)

    def label(self, id: str) -> Label:
        """Return the label an event was remembered with. Raises: NotFound."""
        rows = self._store.query("SELECT label FROM event WHERE id=?", (id,))
        if not rows:
            raise NotFound(f"no event {id!r} in memory")
        return label_from_text(rows[0]["label"])

    # ── Forgetting ────────────────────────────────────────────────────────────────────────────────────────

    def delete(self, id: str) -> None:
        """Delete an event: it is no longer found, but traces may remain in the file until `erase`. Raises: NotFound."""
        with self._store.transaction() as cursor:
            rows = cursor.execute("DELETE FROM event WHERE id=? RETURNING number", (id,)).fetchall()
            if not rows:
                raise NotFound(f"no event {id!r} in memory; it may have been forgotten already")
        self.follow([rows[0]["number"]], ())

    def erase(self) -> None:
        """Overwrite the traces of deleted events in the full-text index and the log."""
        with self._store.transaction() as cursor:
            # FTS5 marks words as deleted and drops them when segments are merged: merge them now.
            cursor.execute("INSERT INTO event_words (event_words) VALUES ('optimize')")
        self._store.erase_traces()

    def forget(self, id: str) -> None:
        """Remove an event for good: afterwards no page of its table, of the index or of the log holds its text.

        Raises:
            NotFound: No such event. StoreError: It is still there.
        """
        self.delete(id)
        self.erase()


def keep_vectors(cursor: sqlite3.Cursor, numbers: Sequence[int], vectors: Sequence[bytes]) -> None:
    """Store packed vectors for events, within a transaction of the caller's."""
    cursor.executemany(
        "INSERT OR REPLACE INTO event_vector (number, vector) VALUES (?, ?)", list(zip(numbers, vectors, strict=True))
    )
    cursor.executemany("UPDATE event SET is_embedded = 1 WHERE number = ?", [(number,) for number in numbers])


def _hit(row: sqlite3.Row, score: float) -> MemoryHit:
    label = label_from_text(row["label"])
    return MemoryHit(row["id"], row["text"], row["kind"], parse_moment(row["at"]), score, row["person"], label)
