"""Holds events as arrays in RAM: speaker, time, conversation, words and vector; scans them exactly.

SQLite is the only durable store: `EventIndex` is read from it when first needed and follows every insert and deletion.
Vectors are 8-bit integers with one scale each; a scan compares all of them with the question's, also in 8 bits, and the
best are compared again with the question in full. Words come from the full-text index's own lists, read when a question
first needs them.

Covered: a vector that cannot be read counts as none; deletion takes effect at once; deleted rows are removed when they
are a quarter of all.
Not covered: approximate search (every vector is compared: some 25 ms for a million), and vectors of other lengths.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import simsimd
from numpy.typing import NDArray

from hearth.memory.search.terms import Stemmer
from hearth.storage.database import Store

DIM = 384
N_RESCORED = 128
"""Number of the best by 8 bits that are compared again with the question in full."""
VECTOR_BYTES = 4 + DIM + DIM // 8
_MOST_UNREAD = 500
"""Most new events whose words are stemmed one by one for a question; if there are more, all lists are read again."""
_LEAST_SWEPT = 1024
_MOST_STEMS = 20_000
"""Most words of questions whose stems are kept."""
_MANY, _DRAWN = 20_000, 4000
NEIGHBOUR_S = 3600.0
"""Longest time, before or after, within which events of one conversation are neighbours: so that a day's separate
requests to the agent do not count as context of each other."""

_TERMS = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.event_terms USING fts5vocab ('main', 'event_words', 'instance')"

_ARRAYS = ("numbers", "at_unix_s", "n_terms", "signs", "is_live", "previous", "next", "scales")

Slots: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Row:
    """Columns that the index keeps of an event."""

    number: int
    at_unix_s: float
    kind: str
    person: str
    place: str
    thread: str
    n_terms: int
    signs: int
    vector: bytes | None


@dataclass(frozen=True, slots=True)
class Postings:
    """The events that hold a stem."""

    slots: Slots
    counts: FloatArray
    n_removed: int = 0
    """The number of events removed from the index when deleted ones were last left out."""


def packed(vector: FloatArray) -> bytes:
    """Pack a unit vector for the store: its scale in 4 bytes, 384 integers of 8 bits, and a ninth bit for each: whether
    the true value lies above the integer."""
    scale = float(np.abs(vector).max()) / 127 or 1.0
    exact = vector / scale
    whole = np.rint(exact)
    return bytes(np.float32(scale).tobytes() + whole.astype(np.int8).tobytes() + np.packbits(exact > whole).tobytes())


def unpacked(codes: NDArray[np.int8], halves: NDArray[np.uint8], scales: FloatArray) -> FloatArray:
    """Rebuild vectors from their parts, shape [n, dim], to 9 bits."""
    above: FloatArray = np.unpackbits(halves, axis=-1).astype(np.float32)
    result: FloatArray = ((codes + (above - np.float32(0.5)) / 2) * scales[..., None]).astype(np.float32)
    return result


def unpacked_bytes(vector: bytes) -> FloatArray:
    """Unpack what `packed` made, to 9 bits."""
    return unpacked(
        np.frombuffer(vector, np.int8, DIM, offset=4),
        np.frombuffer(vector, np.uint8, offset=4 + DIM),
        np.frombuffer(vector, np.float32, count=1),
    )


def is_vector(vector: bytes | None) -> bool:
    """Return whether these bytes can be a packed unit vector: they have its length and a possible scale."""
    if vector is None or len(vector) != VECTOR_BYTES:
        return False
    return bool(0 < np.frombuffer(vector, np.float32, count=1)[0] < 1)  # also False for NaN


class EventIndex:
    """All events of a store; slots are positions in its arrays, in the order of events' numbers."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stemmer = Stemmer()
        self._stems: dict[str, tuple[str, ...]] = {}
        with store.transaction(is_synced=False) as cursor:
            cursor.execute(_TERMS)
        self._load()

    def __len__(self) -> int:
        return self.n_live

    # ── Reading all ───────────────────────────────────────────────────────────────────────────────────────

    def _load(self) -> None:
        rows = self._store.query(
            "SELECT number, at_unix_s, kind, person, place, thread, n_terms, signs FROM event ORDER BY number"
        )
        n = self._n = len(rows)
        capacity = max(1024, n + n // 4)
        self._names: dict[str, dict[str, int]] = {"kind": {}, "person": {}, "place": {}, "thread": {}}
        self.numbers = np.zeros(capacity, np.int64)
        self.at_unix_s = np.zeros(capacity, np.float64)
        self.n_terms = np.zeros(capacity, np.float32)
        self.signs = np.zeros(capacity, np.uint8)
        self.is_live = np.zeros(capacity, np.bool_)
        self._columns = {name: np.zeros(capacity, np.int32) for name in self._names}
        self.previous = np.full(capacity, -1, np.int64)
        self.next = np.full(capacity, -1, np.int64)
        self._codes = np.zeros((capacity, DIM), np.int8)
        self._halves = np.zeros((capacity, DIM // 8), np.uint8)
        self.scales = np.zeros(capacity, np.float32)
        self._last_of: dict[int, int] = {}
        self._postings: dict[str, Postings] = {}
        self._n_removed = 0
        self._unread: list[int] = []
        self._thread_terms = np.zeros(64)
        self._n_all_terms = 0
        if n:
            columns = list(zip(*rows, strict=True))
            self.numbers[:n], self.at_unix_s[:n] = columns[0], columns[1]
            for name, values in zip(self._names, columns[2:6], strict=True):
                ids = self._names[name]
                self._columns[name][:n] = [ids.setdefault(value, len(ids)) for value in values]
            self.n_terms[:n], self.signs[:n] = np.maximum(columns[6], 0), columns[7]
            self.is_live[:n] = True
            self._read_vectors()
            self._link(np.lexsort((np.arange(n), self._columns["thread"][:n])))
            self._thread_terms = np.bincount(self._columns["thread"][:n], self.n_terms[:n]).astype(np.float64)
            self._n_all_terms = int(self._thread_terms.sum())
        self.n_live = n

    def _slots_of(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Find where events of these numbers are kept, and which are."""
        slots = np.searchsorted(self.numbers[: self._n], numbers)
        is_known = slots < self._n
        is_known[is_known] = self.numbers[slots[is_known]] == numbers[is_known]
        return slots, is_known

    def _read_vectors(self) -> None:
        rows = self._store.query(
            "SELECT number, vector FROM event_vector WHERE length(vector) = ? ORDER BY number", (VECTOR_BYTES,)
        )
        if not rows:
            return
        raw = np.frombuffer(b"".join(row[1] for row in rows), np.uint8).reshape(len(rows), -1)
        numbers = np.fromiter((row[0] for row in rows), np.int64, len(rows))
        slots, is_known = self._slots_of(numbers)
        slots, raw = slots[is_known], raw[is_known]
        self._codes[slots] = raw[:, 4 : 4 + DIM].view(np.int8)
        self._halves[slots] = raw[:, 4 + DIM :]
        scales = np.ascontiguousarray(raw[:, :4]).view(np.float32)[:, 0]
        self.scales[slots] = np.where(np.isfinite(scales) & (scales > 0) & (scales < 1), scales, 0)

    def _link(self, order: Slots) -> None:
        threads = self._columns["thread"][order]
        is_same = threads[1:] == threads[:-1]
        self.previous[order[1:][is_same]] = order[:-1][is_same]
        self.next[order[:-1][is_same]] = order[1:][is_same]
        ends = np.append(~is_same, True)
        self._last_of = dict(zip(threads[ends].tolist(), order[ends].tolist(), strict=True))

    # ── Following changes ─────────────────────────────────────────────────────────────────────────────────

    def add(self, rows: Iterable[Row]) -> None:
        """Add events that were written to the store; their numbers exceed all known ones that still live."""
        for row in rows:
            if self.slot(row.number) >= 0:
                continue  # read with all others, when earlier deletions made the arrays be reloaded
            while self._n and self.numbers[self._n - 1] >= row.number:
                if self.is_live[self._n - 1]:
                    raise ValueError(f"event {row.number} is older than known ones; load the index anew")
                self._n -= 1  # a number once used by an event that is deleted
                self._postings.clear()
                self._unread.clear()
            slot = self._n
            if slot == len(self.numbers):
                self._grow()
            self._n += 1
            self.numbers[slot], self.at_unix_s[slot] = row.number, row.at_unix_s
            self.n_terms[slot], self.signs[slot], self.is_live[slot] = max(row.n_terms, 0), row.signs, True
            for name, value in zip(self._names, (row.kind, row.person, row.place, row.thread), strict=True):
                ids = self._names[name]
                self._columns[name][slot] = ids.setdefault(value, len(ids))
            thread = int(self._columns["thread"][slot])
            self._count_terms(thread, max(row.n_terms, 0))
            before = self._last_of.get(thread, -1)
            self.previous[slot], self.next[slot] = before, -1
            if before >= 0:
                self.next[before] = slot
            self._last_of[thread] = slot
            self.scales[slot] = 0
            if row.vector is not None:
                self.set_vector(row.number, row.vector)
            self._unread.append(slot)
            self.n_live += 1

    def _count_terms(self, thread: int, n_terms: int) -> None:
        if thread >= len(self._thread_terms):
            self._thread_terms = np.append(self._thread_terms, np.zeros(max(64, thread)))
        self._thread_terms[thread] += n_terms
        self._n_all_terms += n_terms

    def _grow(self) -> None:
        n = len(self.numbers) * 2
        for name in (*_ARRAYS, "_codes", "_halves"):
            old = getattr(self, name)
            new = np.zeros((n, *old.shape[1:]), old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)
        self._columns = {name: np.append(old, np.zeros(n - len(old), np.int32)) for name, old in self._columns.items()}

    def set_vector(self, number: int, vector: bytes) -> None:
        """Keep the packed vector of an event."""
        slot = self.slot(number)
        if slot >= 0 and is_vector(vector):
            self._read_one(slot, vector)

    def _read_one(self, slot: int, vector: bytes) -> None:
        self._codes[slot] = np.frombuffer(vector, np.int8, DIM, offset=4)
        self._halves[slot] = np.frombuffer(vector, np.uint8, offset=4 + DIM)
        self.scales[slot] = np.frombuffer(vector, np.float32, count=1)[0]

    def remove(self, number: int) -> None:
        """Remove an event from the index; unknown numbers are ignored."""
        slot = self.slot(number)
        if slot < 0:
            return
        self._count_terms(int(self._columns["thread"][slot]), -int(self.n_terms[slot]))
        self.is_live[slot], self.scales[slot], self._codes[slot], self.n_terms[slot] = False, 0, 0, 0
        self._n_removed += 1
        before, after = int(self.previous[slot]), int(self.next[slot])
        if before >= 0:
            self.next[before] = after
        if after >= 0:
            self.previous[after] = before
        else:
            thread = int(self._columns["thread"][slot])
            if before >= 0:
                self._last_of[thread] = before
            else:
                self._last_of.pop(thread, None)
        self.n_live -= 1
        if self._n - self.n_live > max(_LEAST_SWEPT, self._n // 4):
            self._load()

    def slot(self, number: int) -> int:
        """Return the slot of an event; -1 if it has none."""
        place = int(np.searchsorted(self.numbers[: self._n], number))
        return place if place < self._n and self.numbers[place] == number and self.is_live[place] else -1

    # ── Looking ───────────────────────────────────────────────────────────────────────────────────────────

    @property
    def live(self) -> NDArray[np.bool_]:
        """Mask of the slots that hold an event, shape [n_slots]."""
        return self.is_live[: self._n]

    def ids(self, column: str) -> NDArray[np.int32]:
        """The values of `kind`, `person`, `place` or `thread` as small integers, shape [n_slots]."""
        return self._columns[column][: self._n]

    def known(self, column: str) -> dict[str, int]:
        """The values of a column with their integers."""
        return self._names[column]

    @property
    def thread_terms(self) -> NDArray[np.float64]:
        """The number of content words in all events of each conversation, shape [n_conversations]."""
        n = max(1, len(self._names["thread"]))
        if n > len(self._thread_terms):
            self._thread_terms = np.append(self._thread_terms, np.zeros(n))
        return self._thread_terms[:n]

    def beside(self, slots: Slots) -> tuple[Slots, Slots]:
        """Find the event before and after each in its conversation, within `NEIGHBOUR_S` of it; -1: none."""
        found = []
        for neighbours in (self.previous[slots], self.next[slots]):
            is_near = np.abs(self.at_unix_s[neighbours] - self.at_unix_s[slots]) <= NEIGHBOUR_S
            found.append(np.where((neighbours >= 0) & is_near, neighbours, -1))
        return found[0], found[1]

    @property
    def mean_terms(self) -> float:
        """The mean number of content words of an event; at least 1."""
        return max(1.0, self._n_all_terms / max(1, self.n_live))

    def cosines(self, question: FloatArray, mask: NDArray[np.bool_] | None = None) -> FloatArray:
        """Cosine of the question with every event, as `nearest` returns it."""
        return self.nearest(question, mask)[0]

    def nearest(self, question: FloatArray, mask: NDArray[np.bool_] | None = None) -> tuple[FloatArray, Slots]:
        """Cosine of the question with every event, and the best, whose cosines are exact to the events' 9 bits.

        Args:
            question: Unit vector, shape [dim].
            mask: Events that count when the best are chosen, shape [n_slots]; None: all.
        Returns:
            Cosines, shape [n_slots], 0 if an event has no vector or was removed; and slots, the best by 8 bits first.
        """
        n = self._n
        if not n:
            return np.zeros(0, np.float32), np.zeros(0, np.int64)
        scale = float(np.abs(question).max()) / 127 or 1.0
        code = np.rint(question / scale).astype(np.int8)
        found: FloatArray = np.asarray(simsimd.cdist(code[None], self._codes[:n], "dot", out_dtype="float32"))[0]
        found *= self.scales[:n]
        found *= np.float32(scale)
        best = top(found if mask is None else np.where(mask, found, np.float32(-2)), N_RESCORED)
        found[best] = unpacked(self._codes[best], self._halves[best], self.scales[best]) @ question
        return found, best

    def postings(self, stem: str) -> Postings:
        """Find the events that hold a stem."""
        self._read_new()
        known = self._postings.get(stem)
        if known is None:
            rows = self._store.query("SELECT doc, count(*) FROM temp.event_terms WHERE term = ? GROUP BY doc", (stem,))
            numbers = np.fromiter((row[0] for row in rows), np.int64, len(rows))
            counts = np.fromiter((row[1] for row in rows), np.float32, len(rows))
            slots, is_known = self._slots_of(numbers)
            known = self._postings[stem] = Postings(slots[is_known], counts[is_known], self._n_removed)
        elif known.n_removed != self._n_removed:
            is_there = self.is_live[known.slots]
            known = self._postings[stem] = Postings(known.slots[is_there], known.counts[is_there], self._n_removed)
        return known

    def _read_new(self) -> None:
        """Update the lists read before with the events added since."""
        if not self._unread:
            return
        slots = [slot for slot in self._unread if slot < self._n and self.is_live[slot]]
        self._unread.clear()
        if not self._postings:
            return
        if len(slots) > _MOST_UNREAD:
            self._postings.clear()
            return
        marks = ",".join("?" * len(slots))
        numbers = [int(self.numbers[slot]) for slot in slots]
        rows = self._store.query(f"SELECT number, text FROM event WHERE number IN ({marks})", numbers)  # noqa: S608 - question marks only
        texts = {row[0]: row[1] for row in rows}
        for slot, stems in zip(slots, self._stemmer.stems([texts.get(k, "") for k in numbers]), strict=True):
            for stem, count in stems.items():
                if (old := self._postings.get(stem)) is not None:
                    counts = np.append(old.counts, np.float32(count))
                    self._postings[stem] = Postings(np.append(old.slots, slot), counts, old.n_removed)

    def stems(self, words: Sequence[str]) -> list[str]:
        """The stems of words, each once, in order."""
        new = [word for word in words if word not in self._stems]
        if new:
            if len(self._stems) > _MOST_STEMS:
                self._stems.clear()
                new = list(words)
            self._stems |= dict(zip(new, map(tuple, self._stemmer.stems(new)), strict=True))
        return list(dict.fromkeys(stem for word in words for stem in self._stems[word]))


def top(scores: FloatArray, k: int) -> Slots:
    """The positions of the `k` largest, largest first, earlier ones first among equals."""
    n = len(scores)
    if k < n and n > _MANY:
        # A few thousand drawn evenly show a lower bound of the largest, so that far fewer are sorted.
        drawn = scores[:: n // _DRAWN]
        place = len(drawn) - 1 - 4 * k * len(drawn) // n
        bound = np.partition(drawn, place)[place]
        chosen = np.flatnonzero(scores >= bound)
        if k <= len(chosen) < n // 2:
            return chosen[top(scores[chosen], k)]
    if k < n:
        chosen = np.argpartition(-scores, k)[:k]
        chosen.sort()
    else:
        chosen = np.arange(n)
    found: Slots = chosen[np.argsort(-scores[chosen], kind="stable")]
    return found
