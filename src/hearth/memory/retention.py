"""Folds old events into daily and then monthly summaries, or drops them, to keep memory within a budget.

A summary is extractive: sentences as they were said, each with its time and its speaker, and nothing else. The most
informative sentences are taken: greedily, by the rarity of the stems that no sentence taken before holds, so that what
is said every day is said once and what happened once stays. Events of one label are folded together, so that a summary
deserves as much trust as its sources.

Never folded: events that a fact rests on (its evidence stays as it was said), and what the owner asked to be
remembered. Each summary knows which event each of its sentences came from, and keeps a short digest of all that it
replaced. A period is folded in one transaction: if it is killed, either the events are there or their summary is.

Covered: a clock that jumps ahead folds nothing newer than the newest event allows; one that goes back folds nothing; a
budget that whole events would exceed folds them earlier, oldest first, and reports when even that is not enough.
Not covered: a clock that is wrong while events are remembered; words that are in no sentence taken are lost.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import heapq
import math
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from hearth.memory.event_memory import EventMemory, NewEvent, keep_vectors
from hearth.memory.search.memory_index import Row, is_vector, packed, unpacked_bytes
from hearth.memory.search.terms import HAS_NUMBER, HAS_TIME, Stemmer, signs_of
from hearth.storage.database import Store
from hearth.storage.trace import label_from_text, parse_moment

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
            _put_into(found, row, lines, digest_of(row["id"]))
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


def digest_of(id: str) -> bytes:
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
