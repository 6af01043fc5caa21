"""Episodic memory: what was said and done and what was told of it, searched by meaning, words and time."""

from __future__ import annotations

import datetime as dt
import math
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hearth.errors import NotFound
from hearth.language.tokens import listed
from hearth.memory.facts import ME, MONTHS, Fact, FactStore, NewFact
from hearth.memory.search.memory_index import (
    N_CLOSE,
    NEIGHBOUR_S,
    Closeness,
    EventIndex,
    Question,
    Ranked,
    Row,
    Statement,
    advice_vector,
    as_preference,
    asks_for_advice,
    packed,
    people_named,
    rank,
    reranked,
    statement_of,
)
from hearth.memory.search.search_words import Period, telling_words, weighed
from hearth.models.sentence_encoder import TokenEncoder
from hearth.protocols import Encoder, MemoryHit
from hearth.storage.database import Store
from hearth.storage.trace import label_from_text, moment_text, parse_moment, short_label_text
from hearth.types import OWNER, Label

# ── Event memory ──────────────────────────────────────────────────────────────────────────────────────────
# Keeps events the agent was told or saw until forgotten, and finds them by words, meaning, people and times.
#
# Covered: the same key remembered twice is one event; any text is a safe question; a forgotten event is no longer
# found at once, and after `forget` no page of its table, of the full-text index or of the write-ahead log holds it.
# Not covered: languages without spaces, and the request by which an event was remembered, which stays in the trace.

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
        """Find events that share a word with `query` or come near its meaning, best first: see `memory_index`.

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


# ── Routines ──────────────────────────────────────────────────────────────────────────────────────────────
# Finds routines to propose as facts: similar requests at like times, places one goes to, people one meets.
#
# Events that share most of their content words are of one kind. A kind (a place, a person) with three events or more
# on different days is a routine when most of them lie at like times: within 90 minutes of their middle on the clock,
# counted round midnight, and perhaps on one weekday. The confidence, if `k` of `n` events are at like times, is `(k +
# 1) / (n + 2)` (Laplace's rule of succession, 1814); if `w` of those `k` are on the commonest weekday, it is
# multiplied by `(w + 1) / (k + 2)`, else no weekday is named. Below `LEAST_SURE` nothing is proposed.
#
# Covered: clock times, weekdays, places, people; the owner's zone. Everything is proposed, never believed at once.
# Not covered: rhythms other than weekly or daily (every other week, monthly), routines that have ended.

LEAST_EVENTS = 3
LEAST_SURE = 0.6
LEAST_SHARED = 0.6
"""Least share of words (Jaccard) for two events to be of one kind."""
LIKE_TIMES = dt.timedelta(minutes=90)
MOST_EVENTS = 20_000
"""Limit on the latest events that are examined."""
DEVICE = Label(frozenset({"device"}), frozenset())
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_TIME_WORDS = frozenset(
    (
        *(day.lower() for day in DAYS),
        *MONTHS,
        *listed("today tomorrow tonight yesterday morning evening afternoon noon midnight next last minutes hour"),
        *listed("one two three four five six seven eight nine ten eleven twelve half past quarter week month year day"),
    )
)
_REQUESTS = ("request", "asked")
_KINDS = (*_REQUESTS, "visit", "photo", "calendar")


@dataclass(frozen=True, slots=True)
class Happened:
    """One event, as far as routines need it."""

    id: str
    text: str
    at: dt.datetime
    """Time in the owner's zone."""
    kind: str
    person: str = ""
    place: str = ""


def routines(events: Iterable[Happened]) -> tuple[NewFact, ...]:
    """Find what repeats among `events`, surest first."""
    happened = list(events)
    groups: list[tuple[str, str, list[Happened]]] = [
        ("habit", _shortest(group), group) for group in _of_one_kind([e for e in happened if e.kind in _REQUESTS])
    ]
    for relation, name in (("goes to", "place"), ("meets often", "person")):
        by_name: dict[str, list[Happened]] = defaultdict(list)
        for event in happened:
            if event.kind not in _REQUESTS and (value := event.place if name == "place" else event.person):
                by_name[value].append(event)
        groups += [(relation, value, found) for value, found in by_name.items()]
    found = [fact for relation, value, group in groups if (fact := _routine(relation, value, group)) is not None]
    return tuple(sorted(found, key=lambda fact: (-fact.confidence, fact.relation, fact.value)))


def _of_one_kind(events: Sequence[Happened]) -> list[list[Happened]]:
    """Group events that share most of their content words with the first of their group."""
    groups: list[tuple[frozenset[str], list[Happened]]] = []
    by_word: dict[str, list[int]] = defaultdict(list)
    for event in events:
        words = frozenset(w for w in telling_words(event.text) if w not in _TIME_WORDS and not w[0].isdigit())
        if len(words) < 1:
            continue
        near = Counter(group for word in words for group in by_word[word])
        best = next((g for g, n in near.most_common(5) if n / len(words | groups[g][0]) >= LEAST_SHARED), None)
        if best is None:
            for word in words:
                by_word[word].append(len(groups))
            groups.append((words, [event]))
        else:
            groups[best][1].append(event)
    return [group for _, group in groups]


def _shortest(group: Sequence[Happened]) -> str:
    return min((event.text for event in group), key=len)[:120]


def _routine(relation: str, value: str, group: Sequence[Happened]) -> NewFact | None:
    days = {event.at.date() for event in group}
    if len(days) < LEAST_EVENTS:
        return None
    middle, like = _at_like_times(group)
    sure = (len(like) + 1) / (len(group) + 2)
    weekday, n_on_it = Counter(event.at.weekday() for event in like).most_common(1)[0]
    on_weekday = (n_on_it + 1) / (len(like) + 2)
    n_weeks = max(1, (max(days) - min(days)).days / 7)
    if n_on_it >= LEAST_EVENTS and on_weekday * sure >= LEAST_SURE and n_on_it >= n_weeks / 2:
        when, sure = f"on {DAYS[weekday]}s", sure * on_weekday
        like = [event for event in like if event.at.weekday() == weekday]
    elif len({event.at.date() for event in like}) >= max(LEAST_EVENTS, n_weeks * 2.5):
        when = "most days"
    else:
        when = "often"
    if sure < LEAST_SURE or len({event.at.date() for event in like}) < LEAST_EVENTS:
        return None
    return NewFact(
        *(ME, relation, f"{value}: {when} about {middle:%H:%M}", None, None, round(sure, 3), DEVICE),
        events=tuple(event.id for event in like[-50:]),
        reason=f"{len(like)} of {len(group)} times at like times",
    )


def _at_like_times(group: Sequence[Happened]) -> tuple[dt.time, list[Happened]]:
    """Find the middle of their times on the clock (the time nearest to all others), and the events near it."""
    minutes = [event.at.hour * 60 + event.at.minute for event in group]
    middle = min(minutes, key=lambda m: (sum(min(_apart(m, other), 240) for other in minutes), m))
    most = LIKE_TIMES.total_seconds() / 60
    like = [event for event, minute in zip(group, minutes, strict=True) if _apart(middle, minute) <= most]
    shift = sum(math.remainder(m - middle, 1440) for m in minutes if _apart(middle, m) <= most) / max(1, len(like))
    rounded = int(15 * round((middle + shift) / 15)) % 1440
    return dt.time(rounded // 60, rounded % 60), like


def _apart(a: int, b: int) -> float:
    return abs(math.remainder(a - b, 1440))


def propose_routines(store: Store, facts: FactStore, zone: dt.tzinfo, now: dt.datetime) -> tuple[Fact, ...]:
    """Propose the routines in the latest events that are new; return all facts that wait for the owner's confirmation.
    Those the owner knows already, or revoked, are not proposed again."""
    marks = ",".join("?" * len(_KINDS))
    rows = store.query(
        f"SELECT id, text, at_unix_s, kind, person, place FROM event WHERE kind IN ({marks})"  # noqa: S608 - question marks
        " ORDER BY number DESC LIMIT ?",
        (*_KINDS, MOST_EVENTS),
    )
    found = routines(_happened(row, zone) for row in reversed(rows))
    known = {
        _what(fact.value) for relation in ("habit", "goes to", "meets often") for fact in facts.standing(ME, relation)
    }
    for new in found:
        if _what(new.value) not in known:
            facts.add(new, now, is_proposed=True)
    return facts.proposed()


def _what(value: str) -> str:
    """Strip a value of its times, which drift."""
    return value.rpartition(": ")[0] or value


def _happened(row: sqlite3.Row, zone: dt.tzinfo) -> Happened:
    at = dt.datetime.fromtimestamp(row["at_unix_s"], zone)
    return Happened(row["id"], row["text"], at, row["kind"], row["person"], row["place"])
