"""What leaves memory: by the owner's wish, by age, at the daily round."""

from __future__ import annotations

import datetime as dt
import hashlib
import heapq
import math
import re
import secrets
import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, cast

import numpy as np

from hearth.config import MemoryKept
from hearth.errors import HearthError
from hearth.memory.event_memory import EventMemory, NewEvent, keep_vectors
from hearth.memory.facts import FactStore
from hearth.memory.search.memory_index import Row, is_vector, packed, unpacked_bytes
from hearth.memory.search.passage_store import digest_of, note_change, salt_of
from hearth.memory.search.search_words import HAS_NUMBER, HAS_TIME, Stemmer, signs_of, telling_words
from hearth.protocols import Count, Encoder, Held, Holder, Wanted
from hearth.registry import HOLDERS, INSTALL_COMMANDS, load_parts
from hearth.storage import fault_log
from hearth.storage.database import FIRST_LOOK, Store
from hearth.storage.trace import label_from_text, parse_moment

# ── Retention ─────────────────────────────────────────────────────────────────────────────────────────────
# Folds old events into daily and then monthly summaries, or drops them, to keep memory within a budget.
#
# A summary is extractive: sentences as they were said, each with its time and its speaker, and nothing else. The most
# informative sentences are taken: greedily, by the rarity of the stems that no sentence taken before holds, so that
# what is said every day is said once and what happened once stays. Events of one label are folded together, so that a
# summary deserves as much trust as its sources.
#
# Never folded: events that a fact rests on (its evidence stays as it was said), and what the owner asked to be
# remembered. Each summary knows which event each of its sentences came from, and keeps a short digest of all that it
# replaced. A period is folded in one transaction: if it is killed, either the events are there or their summary is.
#
# Covered: a clock that jumps ahead folds nothing newer than the newest event allows; one that goes back folds
# nothing; a budget that whole events would exceed folds them earlier, oldest first, and reports when even that is not
# enough. Not covered: a clock that is wrong while events are remembered; words that are in no sentence taken are
# lost.

Level = Literal["day", "month", "year"]
N_LINES: Mapping[Level, int] = {"day": 16, "month": 120, "year": 240}
"""Most sentences of a summary, for one label."""
N_LINES_PART = 6
"""Most sentences in one event: few enough that its vector still represents what it is about."""
SUMMARY = "summary"
"""The kind of events that are summaries."""
KEPT_KINDS = frozenset({SUMMARY, "remembered"})
LEAST_WHOLE_DAYS = 7
"""Events newer than this are not folded for any budget."""
_SIZES = ("page_count", "freelist_count", "page_size")
_MARKS = ",".join("?" * len(KEPT_KINDS))
_NO_EVIDENCE = "id NOT IN (SELECT event FROM fact_event)"
_IS_THERE = "SELECT 1 FROM event WHERE number = ?"
_OF_A_DAY = (
    "SELECT e.number, id, at, label, person, text, vector FROM event e LEFT JOIN event_vector v ON v.number = e.number"  # noqa: S608 - our own text
    f" WHERE at_unix_s BETWEEN ? AND ? AND substr(at, 1, 10) = ? AND kind NOT IN ({_MARKS}) AND {_NO_EVIDENCE}"
    " ORDER BY at_unix_s, e.number"
)
DIGEST_BYTES = 8
_MOST_LINE = 400
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")
_DROPPED_AT_ONCE = 1000
_TRACES = "memory_traces"
"""Name of the mark that events were removed whose traces `Keeper.clean` has not overwritten yet."""
_FREE_SHARE = 0.25
"""The file is rewritten when at least this share of it is free."""


@dataclass(frozen=True, slots=True)
class Retention:
    """Periods for which events and summaries are kept."""

    whole_days: int = 90
    """Events are kept whole for so many days, then as daily summaries."""
    daily_days: int = 365
    """Daily summaries are kept for so many days, then as monthly ones."""
    keep_days: Mapping[str, int] = field(default_factory=dict)
    """Events of these kinds are dropped without a summary after so many days."""
    budget_bytes: int = 500_000_000


@dataclass(frozen=True, slots=True)
class Tended:
    """Counts of what was done with old events."""

    n_dropped: int
    n_folded: int
    """Events that are part of a summary now."""
    n_summaries: int
    used_bytes: int
    is_within: bool
    """True if the budget holds; otherwise nothing that may be folded is left."""


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence of a summary."""

    at: str
    source: str
    """Id of the event it was taken from."""
    person: str
    text: str
    vector: bytes | None


@dataclass(frozen=True, slots=True)
class _Summary:
    """A summary of one day or month, or a part of one."""

    level: Level
    period: str
    label: str
    part: int
    lines: Sequence[Line]

    @property
    def name(self) -> str:
        digest = hashlib.blake2b(self.label.encode(), digest_size=4).hexdigest()
        return f"{SUMMARY}:{self.level}:{self.period}:{digest}:{self.part}"


class Keeper:
    """Tends the events of one home."""

    def __init__(self, store: Store, memory: EventMemory, retention: Retention) -> None:
        self._store, self._memory, self._retention = store, memory, retention
        self._stemmer = Stemmer()
        self._n_documents: dict[str, int] = {}
        self._n_all = 1.0

    def tend(self, now: dt.datetime) -> Tended:
        """Drop and fold what is old enough, then what the budget requires; safe to call at any time.

        Raises:
            StoreError: For example, the disk is full; every period is either folded or as before.
        """
        n_dropped = n_folded = n_summaries = 0
        for dropped, folded, made in self.steps(now):
            n_dropped, n_folded, n_summaries = n_dropped + dropped, n_folded + folded, n_summaries + made
        self.clean()
        used = self.used_bytes()
        return Tended(n_dropped, n_folded, n_summaries, used, used <= self._retention.budget_bytes)

    def steps(self, now: dt.datetime) -> Iterator[tuple[int, int, int]]:
        """Do as `tend`, one transaction at a time; yield how many events were dropped and folded, and summaries made.

        If stopped anywhere, finished steps stay and the same call continues. Traces of removed events linger in the
        file until `clean`.
        """
        newest = self._store.query("SELECT max(at_unix_s) FROM event WHERE kind <> ?", (SUMMARY,))[0][0]
        if newest is None:
            return
        today = dt.datetime.fromtimestamp(min(now.timestamp(), newest + 86400), dt.UTC).date()
        self._n_all = float(self._store.query("SELECT count(*) FROM event")[0][0]) or 1.0
        self._n_documents.clear()
        for n_dropped in self._drop(today):
            yield n_dropped, 0, 0
        for level, period, is_due in self._periods(today):
            if not is_due and self.used_bytes() <= self._retention.budget_bytes:
                break
            folded, made = self._fold(level, period)
            yield 0, folded, made

    def clean(self) -> None:
        """Overwrite the traces of folded and dropped events in the file, if any; release much free space."""
        if self._store.query("SELECT 1 FROM meta WHERE name = ?", (_TRACES,)):
            self._memory.erase()
            pages, free, _ = (self._store.query(f"PRAGMA {name}")[0][0] for name in _SIZES)
            if free > _FREE_SHARE * pages:
                self._store.rewrite()
            with self._store.transaction() as cursor:
                cursor.execute("DELETE FROM meta WHERE name = ?", (_TRACES,))

    def used_bytes(self) -> int:
        """Sum the bytes of the database's used pages."""
        pages, free, size = (self._store.query(f"PRAGMA {name}")[0][0] for name in _SIZES)
        return int((pages - free) * size)

    # ── What is due ───────────────────────────────────────────────────────────────────────────────────────

    def _drop(self, today: dt.date) -> Iterator[int]:
        for kind, days in self._retention.keep_days.items():
            before = dt.datetime.combine(today - dt.timedelta(days=days), dt.time(), dt.UTC).timestamp()
            while True:
                with self._store.transaction() as cursor:
                    gone = [
                        row[0]
                        for row in cursor.execute(
                            f"SELECT number FROM event WHERE kind = ? AND at_unix_s < ? AND {_NO_EVIDENCE} LIMIT ?",  # noqa: S608 - our own text
                            (kind, before, _DROPPED_AT_ONCE),
                        ).fetchall()
                    ]
                    cursor.executemany("DELETE FROM event WHERE number = ?", [(number,) for number in gone])
                    _leave_mark(cursor, gone)
                self._memory.follow(gone, ())
                yield len(gone)
                if len(gone) < _DROPPED_AT_ONCE:
                    break

    def _periods(self, today: dt.date) -> Iterator[tuple[Level, str, bool]]:
        """Yield the periods that may be folded, in order; True: it is due, whatever the budget."""
        kept = today - dt.timedelta(days=self._retention.whole_days)
        daily = (today - dt.timedelta(days=self._retention.daily_days)).isoformat()[:7]
        least = today - dt.timedelta(days=LEAST_WHOLE_DAYS)
        yield from (("day", day, True) for day in self._days(kept))
        yield from (("month", month, True) for month in self._summarised("day", 7) if month < daily)
        # From here on only while the budget is exceeded: the oldest first, and the least costly.
        yield from (("day", day, False) for day in self._days(least))
        yield from (("month", month, False) for month in self._summarised("day", 7) if month < today.isoformat()[:7])
        yield from (("year", year, False) for year in self._summarised("month", 4) if year < today.isoformat()[:4])

    def _days(self, before: dt.date) -> list[str]:
        """Days before `before` with whole events that may be folded."""
        rows = self._store.query(
            f"SELECT DISTINCT substr(at, 1, 10) FROM event WHERE at_unix_s < ? AND kind NOT IN ({_MARKS})"  # noqa: S608 - our own text
            f" AND {_NO_EVIDENCE} ORDER BY 1",
            (_around(before.isoformat())[1], *KEPT_KINDS),
        )
        return [row[0] for row in rows if row[0] < before.isoformat()]

    def _summarised(self, level: Level, n_characters: int) -> list[str]:
        """Months or years with summaries of a level."""
        rows = self._store.query(
            "SELECT DISTINCT substr(e.at, 1, ?) FROM summary s JOIN event e ON e.id = s.event WHERE s.level = ?"
            " ORDER BY 1",
            (n_characters, level),
        )
        return [row[0] for row in rows]

    # ── Folding ───────────────────────────────────────────────────────────────────────────────────────────

    def _fold(self, level: Level, period: str) -> tuple[int, int]:
        """Replace a period's events by one summary for each label; return how many were removed and how many added."""
        by_label = (
            self._whole(period) if level == "day" else self._lines("day" if level == "month" else "month", period)
        )
        taken = {
            label: sorted(self._telling(lines, N_LINES[level]), key=lambda line: line.at)
            for label, (_, lines, _) in by_label.items()
        }
        gone = [number for numbers, _, _ in by_label.values() for number in numbers]
        rows: list[Row] = []
        with self._store.transaction() as cursor:
            if not all(cursor.execute(_IS_THERE, (number,)).fetchone() for number in gone):
                return 0, 0  # something was forgotten since it was read, and the chosen lines may hold it; next time
            cursor.executemany("DELETE FROM event WHERE number = ?", [(number,) for number in gone])
            _leave_mark(cursor, gone)
            for label, lines in taken.items():
                for part in range(0, len(lines), N_LINES_PART):
                    said = b"" if part else by_label[label][2]
                    summary = _Summary(level, period, label, part, lines[part : part + N_LINES_PART])
                    rows += self._write(cursor, summary, said)
        self._memory.follow(gone, rows)
        return len(gone), len(rows)

    def _whole(self, day: str) -> dict[str, tuple[list[int], list[Line], bytes]]:
        found: dict[str, tuple[list[int], list[Line], bytes]] = {}
        for row in self._store.query(_OF_A_DAY, (*_around(day), day, *KEPT_KINDS)):
            said = filter(None, map(str.strip, _SENTENCE.split(row["text"])))
            lines = [Line(row["at"], row["id"], row["person"], one[:_MOST_LINE], row["vector"]) for one in said]
            _put_into(found, row, lines, digest_of_id(row["id"]))
        return found

    def _lines(self, level: Level, period: str) -> dict[str, tuple[list[int], list[Line], bytes]]:
        rows = self._store.query(
            "SELECT e.number, e.id, e.label, s.replaced FROM event e JOIN summary s ON s.event = e.id"
            " WHERE s.level = ? AND substr(e.at, 1, ?) = ? ORDER BY e.at_unix_s, e.number",
            (level, len(period), period),
        )
        found: dict[str, tuple[list[int], list[Line], bytes]] = {}
        for row in rows:
            _put_into(found, row, lines_of(self._store, row["id"]), row["replaced"])
        return found

    def _write(self, cursor: sqlite3.Cursor, summary: _Summary, said: bytes) -> list[Row]:
        level, period, label, lines = summary.level, summary.period, summary.label, summary.lines
        name = summary.name
        while cursor.execute("SELECT 1 FROM event WHERE id = ?", (name,)).fetchone():
            name += "+"  # events that came late for a day already folded
        at = parse_moment(lines[0].at)
        event = NewEvent(
            *(name, rendered(level, lines), SUMMARY, at, label_from_text(label)), thread=f"{SUMMARY}:{period[:7]}"
        )
        rows = self._memory.write(cursor, [event])
        cursor.execute(
            "INSERT INTO summary (event, level, n_replaced, replaced) VALUES (?, ?, ?, ?)",
            (name, level, len(said) // DIGEST_BYTES, said),
        )
        put_lines(cursor, name, lines)
        vector = mean_vector(lines)
        if vector is not None:
            keep_vectors(cursor, [rows[0].number], [vector])
            rows = [replace(rows[0], vector=vector)]
        return rows

    # ── Choosing ──────────────────────────────────────────────────────────────────────────────────────────

    def _telling(self, lines: Sequence[Line], limit: int) -> list[Line]:
        """Choose the sentences that together tell most: rare stems count, each once; numbers and times add a little."""
        if len(lines) <= limit:
            return list(dict.fromkeys(lines))
        stems = [frozenset(counts) for counts in self._stemmer.stems([line.text for line in lines])]
        rarity = {stem: self._rarity(stem) for stem in set().union(*stems)}
        weight = [_weight(line.text) / math.sqrt(3 + len(found)) for line, found in zip(lines, stems, strict=True)]

        def gain(k: int) -> float:
            return weight[k] * sum(rarity[stem] for stem in stems[k] - seen)

        seen: set[str] = set()
        heap = [(-gain(k), k) for k in range(len(lines))]
        heapq.heapify(heap)
        taken: list[int] = []
        while heap and len(taken) < limit:
            _, k = heapq.heappop(heap)
            now = gain(k)
            if heap and -now > heap[0][0]:
                heapq.heappush(heap, (-now, k))  # others said it meanwhile: it waits its turn
            elif now <= 0:
                break
            else:
                taken.append(k)
                seen |= stems[k]
        return [lines[k] for k in taken]

    def _rarity(self, stem: str) -> float:
        n = self._n_documents.get(stem)
        if n is None:
            n = self._n_documents[stem] = self._memory.n_with(stem)
        return math.log(1 + self._n_all / (1 + n)) ** 2


def _put_into(
    found: dict[str, tuple[list[int], list[Line], bytes]], row: sqlite3.Row, lines: Sequence[Line], replaced: bytes
) -> None:
    """Add an event to those of its label."""
    numbers, before, said = found.get(row["label"], ([], [], b""))
    numbers.append(row["number"])
    before += lines
    found[row["label"]] = (numbers, before, said + replaced)


def _leave_mark(cursor: sqlite3.Cursor, gone: Sequence[int]) -> None:
    """Mark that something was removed, so that `clean` knows it in any process."""
    if gone:
        cursor.execute("INSERT OR IGNORE INTO meta (name, value) VALUES (?, '')", (_TRACES,))


def digest_of_id(id: str) -> bytes:
    """The digest that a summary keeps of the id of an event it replaced."""
    return hashlib.blake2b(id.encode(errors="replace"), digest_size=DIGEST_BYTES).digest()


def lines_of(store: Store, event: str) -> list[Line]:
    """The sentences of a summary."""
    rows = store.query("SELECT * FROM summary_line WHERE event = ? ORDER BY place", (event,))
    return [Line(row["at"], row["source"], row["person"], row["text"], row["vector"]) for row in rows]


def put_lines(cursor: sqlite3.Cursor, event: str, lines: Sequence[Line]) -> None:
    cursor.executemany(
        "INSERT INTO summary_line (event, place, at, source, person, text, vector) VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(event, k, one.at, one.source, one.person, one.text, one.vector) for k, one in enumerate(lines)],
    )


def rendered(level: str, lines: Sequence[Line]) -> str:
    """Write a summary as a person reads it, and as it is searched."""
    said = []
    for line in lines:
        at = parse_moment(line.at)
        when = f"{at:%H:%M}" if level == "day" else f"{at.day} {at:%B %H:%M}"
        said.append(f"{when} {line.person}: {line.text}" if line.person else f"{when} {line.text}")
    return "\n".join(said)


def mean_vector(lines: Sequence[Line]) -> bytes | None:
    """Average the vectors of the events its sentences came from; None if not all of them have one."""
    vectors = [line.vector for line in lines if line.vector is not None and is_vector(line.vector)]
    if not vectors or len(vectors) < len(lines):
        return None
    mean = np.mean([unpacked_bytes(vector) for vector in vectors], axis=0)
    return packed((mean / max(1e-9, float(np.linalg.norm(mean)))).astype(np.float32))


def _weight(text: str) -> float:
    signs = signs_of(text)
    return 1 + 0.3 * bool(signs & HAS_NUMBER) + 0.1 * bool(signs & HAS_TIME)


def _around(day: str) -> tuple[float, float]:
    """Bounds of a day in any zone, in seconds."""
    noon = dt.datetime.combine(dt.date.fromisoformat(day), dt.time(12), dt.UTC).timestamp()
    return noon - 2 * 86400, noon + 2 * 86400


# ── Forgetting ────────────────────────────────────────────────────────────────────────────────────────────
# Finds what is to be forgotten in every store of the owner's data, and removes it with everything derived from it.
#
# With an event of memory go its words and vector, the sentences of summaries that were taken from it (the summary is
# rewritten from those that stay) and the facts that rest on nothing else, with all they replaced. A fact with other
# evidence stays and loses the link. Other stores have holders in their own rooms; `learning.unlearning` walks over all.
#
# The other stores are `protocols.Holder`s: `open_holders` opens them, says which of them cannot be loaded, and names
# what the database keeps for a companion that is no longer installed. Of the core's own, rings, standing answers and
# the file of faults hold words beside memory: a row goes when what is wanted, or the words, stand in it; the file
# goes whole, as one traceback may repeat what another says. Passages are of the owner's files, which stay as they are
# (they are the owner's to delete): a keyed digest of each forgotten passage is kept, and the passage is not read from
# its file again while its words are the same.
#
# Covered: a summary's sentences by the event they came from, by speaker, by time and by their words. Not covered: a
# topic in words that come near neither an event nor its meaning: what would go is shown first; a passage whose words
# were changed by hand afterwards, or that is cut elsewhere since; what a third party's plug-in kept before it was
# uninstalled; standing answers by a period alone, as they hold until they are taken back; what a fault says in other
# words; names of phones, cameras and people let in, which are permissions and have commands of their own.

NEAR = 0.6
"""An event is about a topic, without sharing its words, if its meaning is at least this near."""


@dataclass(frozen=True, slots=True)
class Attached:
    """Everything that goes with some events."""

    facts: tuple[int, ...] = ()
    """Rows of facts that rest on nothing else, or are meant themselves."""
    lines: tuple[tuple[str, int], ...] = ()
    """Sentences of summaries: the summary's id and their place."""
    said: tuple[str, ...] = ()
    """Texts of the facts and sentences, to be shown before they go."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """What memory keeps of what is to be forgotten."""

    events: tuple[tuple[str, str], ...] = ()
    """Id and text of each."""
    attached: Attached = field(default_factory=Attached)
    """What goes with them, and the facts and sentences that are meant themselves."""


@dataclass(slots=True)
class MemoryHolder:
    """A `protocols.Dependent` holder of events of memory, with the facts and sentences that go with them."""

    store: Store
    encoder: Encoder | None = None
    """Finds events by what a topic means, too."""
    facts: Sequence[int] = ()
    """Facts that the owner named: each goes with all it replaced."""
    name: str = "memories"

    def find(self, events: Collection[str], wanted: Wanted | None, words: str) -> Held:
        """Find these events, those that are meant, and those that hold the words; facts and sentences likewise."""
        meant = events_meant(self.store, self.encoder, wanted) if wanted is not None else set()
        topics = [one for one in (wanted, Wanted(topic=words) if words else None) if one is not None]
        lines = {line for topic in topics for line in lines_meant(self.store, topic)}
        facts = {fact.id for number in self.facts for fact in FactStore(self.store).history(number)}
        if topics:
            facts |= facts_meant(self.store, wanted, words)
        return self._held(events_of(self.store, {*events, *meant}, words), lines, facts)

    def find_with(self, found: Held, others: Sequence[Held]) -> Held:
        """Widen by the events that go with what the others keep."""
        known = set(found.events)
        if {id for other in others for id in other.events} <= known:
            return found
        attached = remembered_in(found).attached
        ids = known.union(*(other.events for other in others))
        return self._held(events_of(self.store, ids), attached.lines, attached.facts)

    def _held(
        self, events: tuple[tuple[str, str], ...], lines: Iterable[tuple[str, int]], facts: Iterable[int]
    ) -> Held:
        with_them = attached(self.store, {id for id, _ in events}, lines, facts)
        counts = (
            Count(len(events), "memory", "memories"),
            Count(len(with_them.facts), "fact", "facts"),
            Count(len(with_them.lines), "sentence of a summary", "sentences of summaries"),
        )
        texts = (*(text for _, text in events), *with_them.said)
        rows = Remembered(events, with_them) if any(count.n for count in counts) else None
        return Held(self.name, counts, texts, tuple(id for id, _ in events), rows=rows)

    def remove(self, cursor: sqlite3.Cursor, held: Held) -> None:
        """Remove the events and all that goes with them."""
        found = remembered_in(held)
        remove(cursor, self.store, [id for id, _ in found.events], found.attached)

    def sweep(self, home: Path, held: Held) -> None:
        """Remove nothing: memory has no files."""


def remembered_in(held: Held) -> Remembered:
    """Return what memory keeps of what was found."""
    return held.rows if isinstance(held.rows, Remembered) else Remembered()


def events_meant(store: Store, encoder: Encoder | None, wanted: Wanted) -> set[str]:
    """Find the ids of the events that are meant, summaries aside."""
    near = _near(store, encoder, wanted.topic) if wanted.topic else set()
    return {
        row["id"]
        for row in store.query("SELECT id, at_unix_s, person, text FROM event WHERE kind <> ?", (SUMMARY,))
        if is_meant(wanted, row["at_unix_s"], row["person"], row["text"], is_near=row["id"] in near)
    }


def lines_meant(store: Store, wanted: Wanted) -> set[tuple[str, int]]:
    """Find the sentences of summaries that are meant: a summary's id, and their place in it."""
    return {
        (row["event"], row["place"])
        for row in store.query("SELECT event, place, at, person, text FROM summary_line")
        if is_meant(wanted, parse_moment(row["at"]).timestamp(), row["person"], row["text"])
    }


def events_of(store: Store, ids: Collection[str], words: str = "") -> tuple[tuple[str, str], ...]:
    """Return id and text of the events with these ids, and of those that hold the words; summaries by id alone."""
    return tuple(
        (row["id"], row["text"])
        for row in store.query("SELECT id, text, kind FROM event ORDER BY number")
        if row["id"] in ids or (words and row["kind"] != SUMMARY and words.casefold() in row["text"].casefold())
    )


def _near(store: Store, encoder: Encoder | None, topic: str) -> set[str]:
    memory = EventMemory(store, encoder)
    if encoder is None:
        return set()
    for _ in memory.embed():
        pass
    index = memory.index
    cosines = index.cosines(encoder.encode([topic])[0])
    numbers = index.numbers[np.flatnonzero((cosines >= NEAR) & index.live)].tolist()
    return {row[0] for number in numbers for row in store.query("SELECT id FROM event WHERE number = ?", (number,))}


def is_meant(wanted: Wanted, at_unix_s: float, person: str, text: str, *, is_near: bool = False) -> bool:
    """Return whether something said at a time is to be forgotten: every given condition of `wanted` holds.

    Args:
        is_near: Its meaning is near the topic, whatever its words.
    """
    if wanted.since is not None and at_unix_s < wanted.since.timestamp():
        return False
    if wanted.until is not None and at_unix_s >= wanted.until.timestamp():
        return False
    if wanted.person and person.casefold() != wanted.person.casefold() and not _names(text, wanted.person):
        return False
    if wanted.topic and not is_near:
        words = {word.removesuffix("s") for word in telling_words(text)}
        return all(word.removesuffix("s") in words for word in telling_words(wanted.topic))
    return True


def _names(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None


def facts_meant(store: Store, wanted: Wanted | None, matching: str = "") -> set[int]:
    """Find the rows of facts that are meant by their own words, whatever they rest on, including facts added directly.
    A period alone means those that rest on no event, by when they were learnt."""
    found = set()
    is_period = wanted is not None and not (wanted.person or wanted.topic)
    for row in store.query("SELECT *, number IN (SELECT fact FROM fact_event) AS has_events FROM fact"):
        text = f"{row['subject']} {row['relation']} {row['value']}"
        is_free = not (is_period and row["has_events"])
        is_wanted = wanted is not None and is_free and is_meant(wanted, row["learnt_unix_s"], row["subject"], text)
        said = (str(row[name]).casefold() for name in ("subject", "relation", "value", "reason"))
        if is_wanted or (matching and any(matching.casefold() in one for one in said)):
            found.add(row["number"])
    return found


def attached(
    store: Store, events: Collection[str], lines: Iterable[tuple[str, int]] = (), facts: Iterable[int] = ()
) -> Attached:
    """Find what goes with these events and sentences, and with facts that are meant themselves."""
    gone = set(events)
    rests_on: dict[int, set[str]] = {}
    for row in store.query("SELECT fact, event FROM fact_event"):
        rests_on.setdefault(row["fact"], set()).add(row["event"])
    going = sorted({fact for fact, by in rests_on.items() if by <= gone} | set(facts))
    known = {(row["event"], row["place"]): row for row in store.query("SELECT * FROM summary_line")}
    taken = sorted({key for key, row in known.items() if row["source"] in gone} | (set(lines) & known.keys()))
    said = [known[key]["text"] for key in taken]
    for fact in going:
        (row,) = store.query("SELECT subject, relation, value FROM fact WHERE number = ?", (fact,))
        said.append(f"{row['subject']} {row['relation']} {row['value']}")
    return Attached(tuple(going), tuple(taken), tuple(dict.fromkeys(said)))


def remove(cursor: sqlite3.Cursor, store: Store, events: Collection[str], with_them: Attached) -> None:
    """Delete events and what goes with them, within a transaction of the caller's."""
    for fact in with_them.facts:
        cursor.execute("UPDATE fact SET follows = NULL WHERE follows = ?", (fact,))
        cursor.execute("DELETE FROM fact WHERE number = ?", (fact,))
    for event in sorted({event for event, _ in with_them.lines}):
        _without(cursor, store, event, {place for name, place in with_them.lines if name == event})
    for event in events:
        cursor.execute("DELETE FROM fact_event WHERE event = ?", (event,))
        cursor.execute("DELETE FROM event WHERE id = ?", (event,))
    if events or with_them.lines:  # FTS5 only marks words as deleted until its segments are merged
        cursor.execute("INSERT INTO event_words (event_words) VALUES ('optimize')")


def _without(cursor: sqlite3.Cursor, store: Store, event: str, gone: set[int]) -> None:
    """Rewrite a summary from the sentences that stay; if none stays, delete it."""
    rows = cursor.execute("SELECT number FROM event WHERE id = ?", (event,)).fetchall()
    left = [line for place, line in enumerate(lines_of(store, event)) if place not in gone]
    if not rows:
        return
    if not left:
        cursor.execute("DELETE FROM event WHERE id = ?", (event,))
        return
    number = rows[0][0]
    level = cursor.execute("SELECT level FROM summary WHERE event = ?", (event,)).fetchone()[0]
    # The full-text index drops the old words of a changed text only by deletion and insertion.
    columns = "number, id, kind, at, at_unix_s, label, person, place, thread, is_embedded"
    old = cursor.execute(f"SELECT {columns} FROM event WHERE number = ?", (number,)).fetchone()  # noqa: S608 - our own text
    said = cursor.execute("SELECT n_replaced, replaced FROM summary WHERE event = ?", (event,)).fetchone()
    cursor.execute("DELETE FROM event WHERE number = ?", (number,))
    text = rendered(level, left)
    vector = mean_vector(left)
    cursor.execute(
        f"INSERT INTO event ({columns}, text, n_terms, signs) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - our own text
        (*tuple(old)[:-1], vector is not None, text, len(telling_words(text)), signs_of(text)),
    )
    if vector is not None:
        cursor.execute("INSERT INTO event_vector (number, vector) VALUES (?, ?)", (number, vector))
    cursor.execute(
        "INSERT INTO summary (event, level, n_replaced, replaced) VALUES (?, ?, ?, ?)", (event, level, *tuple(said))
    )
    put_lines(cursor, event, left)


# ── Passages of the owner's files ─────────────────────────────────────────────────────────────────────


PASSAGES = "passages"
_STAYS = "the files in the owner's folder that held it, and their names: delete or rename them yourself"


class PassageHolder:
    """A `protocols.Holder` of the passages in the home's database."""

    name = PASSAGES

    def __init__(self, store: Store) -> None:
        self._store = store

    def find(self, events: Collection[str], wanted: Wanted | None, words: str) -> Held:  # noqa: ARG002 - the seam's
        """Find the passages that are wanted forgotten, or hold `words`."""
        numbers: list[int] = []
        texts: list[str] = []
        for row in self._store.query("SELECT number, title, person, at, text FROM passage"):
            said = f"{row['title']} {row['text']}"
            is_wanted = wanted is not None and is_meant(wanted, _unix_s(row["at"]), row["person"], said)
            if is_wanted or (words and words.casefold() in said.casefold()):
                numbers.append(row["number"])
                texts.append(row["text"])
        count = Count(len(numbers), "passage of your files", "passages of your files")
        return Held(PASSAGES, (count,), tuple(texts), stays=_STAYS if numbers else "", rows=tuple(numbers) or None)

    def remove(self, cursor: sqlite3.Cursor, held: Held) -> None:
        """Remove what `find` found, and keep the digests by which it stays out."""
        numbers = [int(number) for number in held.rows] if isinstance(held.rows, tuple) else []
        if not numbers:
            return
        salt = salt_of(self._store)
        if not salt:
            salt = secrets.token_bytes(32)
            cursor.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('passage_salt', ?)", (salt.hex(),))
        digests = [(digest_of(salt, text),) for text in held.texts]
        cursor.executemany("INSERT OR IGNORE INTO passage_forgotten (digest) VALUES (?)", digests)
        cursor.executemany("DELETE FROM passage WHERE number = ?", [(number,) for number in numbers])
        note_change(cursor)
        # FTS5 marks words as deleted and drops them when segments are merged: merge them now.
        cursor.execute("INSERT INTO passage_words (passage_words) VALUES ('optimize')")

    def sweep(self, home: Path, held: Held) -> None:
        """Remove nothing: no file of Hearth's own shows a passage."""


def _unix_s(at: str) -> float:
    return parse_moment(at).timestamp() if at else 0.0


# ── Rows, faults, and all that take part ──────────────────────────────────────────────────────────────


FOOTAGE_HOLDER = "footage"
"""The entry point of hearth-video's holder, which forgets from the tables of home video that the core makes."""
_OF_FOOTAGE = (
    ("recording", "recording", "recordings"),
    ("sighting", "sighting", "sightings"),
    ("utterance", "sentence heard", "sentences heard"),
    ("sound_event", "sound", "sounds"),
)


@dataclass(frozen=True, slots=True)
class Holders:
    """Who takes part in forgetting."""

    by_name: Mapping[str, Holder]
    faults: tuple[str, ...] = ()
    """What would stay, each with what to do: while there is one, nothing is to be forgotten."""


def open_holders(store: Store) -> Holders:
    """Open everything that is installed. Never raises for a plug-in."""
    parts = load_parts(HOLDERS)
    faults = list(parts.faults)
    opened: dict[str, Holder] = {PASSAGES: PassageHolder(store), **{one.name: one for one in row_holders(store)}}
    for part in parts.loaded:
        try:
            holder = cast("Holder", part.invoke(store))
        except HearthError as error:
            faults.append(str(error))
        else:
            opened[part.name] = holder
    if not faults and FOOTAGE_HOLDER not in opened:
        faults += _unheld_footage(store)
    return Holders(opened, tuple(faults))


def _unheld_footage(store: Store) -> list[str]:
    counts = [
        Count(store.query(f"SELECT count(*) FROM {table}")[0][0], one, many)  # noqa: S608 - names of this module
        for table, one, many in _OF_FOOTAGE
    ]
    held = ", ".join(str(count) for count in counts if count.n)
    if not held:
        return []
    return [
        f"{held} of home video are in the database, and hearth-video, which alone can take them out, is not installed; "
        f"install it with: {INSTALL_COMMANDS['hearth-video']}"
    ]


# ── The core's own, beside memory ─────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class RowHolder:
    """A `protocols.Holder` of the rows of one table that have a text of their own."""

    store: Store
    name: str
    table: str
    text: str
    """The column that is looked into."""
    one: str
    many: str
    moment: str = ""
    """The column that says when; empty where rows have no time that an owner would mean."""
    kept: str = ""
    """The text of a row that nobody wrote, which stays whatever is forgotten."""

    def find(self, events: Collection[str], wanted: Wanted | None, words: str) -> Held:  # noqa: ARG002 - the seam's
        """Find the rows that hold the words, or are wanted forgotten."""
        found: dict[int, str] = {}
        if wanted is not None and not (self.moment or wanted.person or wanted.topic):
            wanted = None  # a period says nothing of rows without a time
        moment = f", {self.moment} AS moment" if self.moment else ", '' AS moment"
        for row in self.store.query(f"SELECT rowid AS number, {self.text} AS text{moment} FROM {self.table}"):  # noqa: S608 - names of this module
            text = str(row["text"])
            if self.kept and text == self.kept:
                continue
            at_unix_s = parse_moment(row["moment"]).timestamp() if row["moment"] else 0.0
            is_wanted = wanted is not None and is_meant(wanted, at_unix_s, "", text)
            if is_wanted or (words and words.casefold() in text.casefold()):
                found[row["number"]] = text
        return Held(
            self.name, (Count(len(found), self.one, self.many),), tuple(found.values()), rows=tuple(found) or None
        )

    def remove(self, cursor: sqlite3.Cursor, held: Held) -> None:
        """Remove the rows that were found."""
        rows = held.rows if isinstance(held.rows, tuple) else ()
        cursor.executemany(f"DELETE FROM {self.table} WHERE rowid = ?", [(row,) for row in rows])  # noqa: S608 - as above

    def sweep(self, home: Path, held: Held) -> None:
        """Remove nothing: rows have no files."""


@dataclass(slots=True)
class FaultHolder:
    """A `protocols.Holder` of the file of faults, whose tracebacks may repeat words of what was asked."""

    store: Store
    name: str = "faults"

    def find(self, events: Collection[str], wanted: Wanted | None, words: str) -> Held:
        """Find the file if it holds the words, the person or topic that is wanted, or the text of one of the events."""
        path = self.store.path.parent / fault_log.NAME
        told = path.read_text(encoding="utf-8", errors="replace").casefold() if path.is_file() else ""
        sought = [words, *((wanted.person, wanted.topic) if wanted is not None else ())]
        if told:
            sought += [row["text"] for row in self.store.query("SELECT id, text FROM event") if row["id"] in events]
        n = int(any(text.strip() and text.casefold() in told for text in sought))
        return Held(self.name, (Count(n, "file of faults", "files of faults"),), rows=(fault_log.NAME,) if n else None)

    def remove(self, cursor: sqlite3.Cursor, held: Held) -> None:
        """Remove nothing: it is a file."""

    def sweep(self, home: Path, held: Held) -> None:
        """Delete the file."""
        if held.rows:
            (home / fault_log.NAME).unlink(missing_ok=True)


def row_holders(store: Store) -> tuple[RowHolder | FaultHolder, ...]:
    """Return the holders of the core's small tables and files."""
    return (
        RowHolder(store, "rings", "ring", "text", "reminder that rang", "reminders that rang", "rings_at"),
        RowHolder(store, "standing answers", "consent", "pattern_json", "standing answer", "standing answers"),
        # A note is called by its first words; of a record whose origin is forgotten, nobody is trusted to have made it.
        # That the contacts were looked at before stays: else whatever cards are there now would be taken for confirmed.
        RowHolder(
            store, "origins", "record_origin", "record", "origin of a record", "origins of records", kept=FIRST_LOOK
        ),
        FaultHolder(store),
    )


# ── Maintenance ───────────────────────────────────────────────────────────────────────────────────────────
# Tends memory for a moment after each request: folds old events and gives vectors to new ones, without being asked.
#
# A slice is bounded in time: it begins no further step once its time is over, and a step is one transaction of some
# tens of milliseconds. Old events are looked for once a day; the next slice continues what one leaves undone. If
# killed, every step is either done or not begun.
#
# Covered: a home with a large backlog (an import of years) catches up slice by slice; at least half of each slice is
# left to vectors, so that neither waits for the other. Not covered: overwriting the traces of what was folded, which
# takes seconds in a large home: `hearth memory tend` does that, and everything at once.

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
