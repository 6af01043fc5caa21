"""The index of remembered texts, and the order in which what it finds is told."""

from __future__ import annotations

import functools
import math
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np
import simsimd
from numpy.typing import NDArray

from hearth import patterns as re
from hearth.memory.facts import KIN
from hearth.memory.search.search_words import (
    ASKS,
    HAS_NUMBER,
    HAS_TIME,
    STOP_WORDS,
    Period,
    Stemmer,
    fitted,
    keys_of,
    telling_words,
)
from hearth.models.sentence_encoder import TokenEncoder, TokenVectors
from hearth.storage.database import Store

# ── Memory index ──────────────────────────────────────────────────────────────────────────────────────────
# Holds events as arrays in RAM: speaker, time, conversation, words and vector; scans them exactly.
#
# SQLite is the only durable store: `EventIndex` is read from it when first needed and follows every insert and
# deletion. Vectors are 8-bit integers with one scale each; a scan compares all of them with the question's, also in 8
# bits, and the best are compared again with the question in full. Words come from the full-text index's own lists,
# read when a question first needs them.
#
# Covered: a vector that cannot be read counts as none; deletion takes effect at once; deleted rows are removed when
# they are a quarter of all. Not covered: approximate search (every vector is compared: some 25 ms for a million), and
# vectors of other lengths.

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


# ── Memory ranking ────────────────────────────────────────────────────────────────────────────────────────
# Ranks the events that may answer a question: words, meaning, conversation, person and time, weighted together.
#
# Each candidate gets ten scores (`SCORES`); a weighted sum ranks them. The weights are fitted (conditional logit over
# the events of a conversation) and kept in `hearth/data/recall_weights.json` with what they were fitted on. Scores
# are added, not ranks: fusing ranks gives a weak list as much influence as a strong one (LoCoMo: worse than words
# alone).
#
# Covered: words by their stem (BM25, Robertson & Zaragoza 2009, of the event, and, if it has neighbours, of it with
# them and of its whole conversation), meaning, speaker, the times a question names, questions for a time or a number.
# Not covered: synonyms beyond what the encoder knows, languages other than English for the cues, and inference over
# several events: each is ranked by itself.

SCORES = ("window", "conversation", "words", "meaning", "person", "time", "when", "number", "asks", "length")
N_BY_WORDS, N_BY_MEANING = 256, N_RESCORED
_K1, _B = 1.2, 0.75
_BEFORE_S, _AFTER_S = 3 * 86400.0, 7 * 86400.0
"""Decay of the time score before and after the time a question names: later events tell of it rather than earlier."""
_NEEDS_TIME = re.compile(r"\s*(?:when|how long|since when|what (?:day|date|time|year|month))\b", re.IGNORECASE)
_NEEDS_NUMBER = re.compile(r"\s*how (?:many|much|often|long|old|far|big|tall)\b", re.IGNORECASE)

_ADVICE = re.compile(
    r"\b(?:recommend\w*|suggest\w*|advi[cs]e|tips|ideas?|options)\b|\b(?:what|which|how|where|who)\b.{0,40}\b(?:should"
    r"|could|can|would|might) (?:i|we)\b|\b(?:can|could|would) you (?:help|plan|find|give|tell|provide|share|list)\b"
    r"|\bwhat are some\b|\bwhat(?:'s|’s| is| are| would be)\b.{0,40}\b(?:good|best|great|effective|popular|ways?|top)\b"
    r"|\bi(?:'m| am)? (?:looking for|planning|thinking (?:of|about)|considering|need)\b",
    re.IGNORECASE,
)
_OF_THE_PAST = re.compile(r"\b(?:did|has|had|was|were|gave|given)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Question:
    """A question as the ranking needs it."""

    text: str
    vector: FloatArray | None = None
    """Its unit vector; without one, meaning does not count."""
    periods: tuple[Period, ...] = ()
    is_for_advice: bool = False
    """Whether what the owner likes decides the answer, which shares its matter with the question and hardly a word."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """Candidates with their scores, best first."""

    slots: Slots
    totals: FloatArray
    scores: FloatArray
    """Shape [n_candidates, len(SCORES)]."""
    has_words: NDArray[np.bool_]
    """True for those that share a content word with the question."""
    cosines: FloatArray
    """Cosines with the question; 0 without its vector."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Events that may answer a question, in the order of slots."""

    slots: Slots
    scores: FloatArray
    """Shape [n_candidates, len(SCORES)]."""
    has_words: NDArray[np.bool_]
    cosines: FloatArray


def rank(index: EventIndex, question: Question, mask: NDArray[np.bool_] | None = None) -> Ranked:
    """Rank every event that is near the question in words or meaning, or that lies beside such a one.

    Args:
        mask: Events that may be found, shape [n_slots]; None: all that live.
    """
    found = candidates(index, question, None if mask is None else mask & index.live)
    is_by_meaning = question.is_for_advice and question.vector is not None
    totals = found.scores[:, SCORES.index("meaning")] if is_by_meaning else found.scores @ weights()
    order = np.lexsort((-index.at_unix_s[found.slots], -totals.round(4)))  # among equals the most recent first
    return Ranked(found.slots[order], totals[order], found.scores[order], found.has_words[order], found.cosines[order])


def reranked(ranked: Ranked, close: FloatArray) -> Ranked:
    """Reorder the first `len(close)` by their scores and their closeness together; the others stay behind them."""
    n = len(close)
    if not n:
        return ranked
    totals = ranked.scores[:n] @ weights("close")[:-1] + weights("close")[-1] * standardised(close)
    order = np.argsort(-totals, kind="stable")
    behind = ranked.totals[n:] - (ranked.totals[n] if n < len(ranked.totals) else 0) + totals.min(initial=0)
    return Ranked(
        np.concatenate([ranked.slots[:n][order], ranked.slots[n:]]),
        np.concatenate([totals[order], behind]).astype(np.float32),
        *(np.concatenate([a[:n][order], a[n:]]) for a in (ranked.scores, ranked.has_words, ranked.cosines)),
    )


def standardised(close: FloatArray) -> FloatArray:
    """Scale to mean 0 and deviation 1."""
    result: FloatArray = (close - close.mean()) / max(1e-6, float(close.std()))
    return result


def asks_for_advice(text: str) -> bool:
    """Return whether a question asks for something to choose or a way to go: "can you suggest a restaurant"."""
    return _ADVICE.search(text) is not None and _OF_THE_PAST.search(text) is None


def as_preference(text: str) -> str:
    """Write the matter of a question as one would say what one likes of it."""
    return f"I prefer, like or avoid: {' '.join(word for word in telling_words(text) if word not in STOP_WORDS)}"


def advice_vector(question: FloatArray, preference: FloatArray) -> FloatArray:
    """Return the unit vector by which preferences are sought for a question for advice: the question's, less what all
    such questions share, and half that of its matter written as a preference."""
    matter = question - np.float32(_SHARED) * _mean_advice()
    vector: FloatArray = matter / np.linalg.norm(matter) + np.float32(_AS_PREFERENCE) * preference
    return vector / np.float32(np.linalg.norm(vector))


_SHARED, _AS_PREFERENCE = 0.5, 0.5
"""Chosen on five of PrefEval's nine topics."""


@functools.cache
def _mean_advice() -> FloatArray:
    return np.array(fitted("advice_vector")["vector"], np.float32)


@functools.cache
def weights(kind: str = "weights") -> FloatArray:
    """One weight for each of `SCORES`; for kind `close` one more, for closeness."""
    kept = fitted("recall_weights")[kind]
    return np.array([kept[name] for name in (*SCORES, "close") if name in kept], np.float32)


def candidates(index: EventIndex, question: Question, allowed: NDArray[np.bool_] | None = None) -> Candidates:
    """Select the events to rank, with their scores.

    Args:
        allowed: Events that may be found, shape [n_slots]; None: all. Removed ones hold no word and no meaning.
    """
    people = people_named(index, question.text)
    named = {word for person in people for word in telling_words(person)}
    words = [word for word in telling_words(question.text) if word.removesuffix("s") not in named and word not in named]
    lists = [index.postings(stem) for stem in index.stems(words)]
    n_live = max(1, len(index))
    idf = np.array([math.log(1 + max(0.0, n_live - len(p.slots) + 0.5) / (len(p.slots) + 0.5)) for p in lists])
    own = np.zeros(len(index.live), np.float32)
    for rarity, found in zip(idf, lists, strict=True):
        norm = np.float32(_K1) * (1 - _B + np.float32(_B / index.mean_terms) * index.n_terms[found.slots])
        own[found.slots] += np.float32(rarity * (_K1 + 1)) * found.counts / (found.counts + norm)
    cosines, nearest = None, np.zeros(0, np.int64)
    if question.vector is not None:
        cosines, nearest = index.nearest(question.vector, allowed)
    slots = _chosen(index, own, nearest, allowed)
    near = np.zeros(len(slots), np.float32) if cosines is None else cosines[slots]
    scores = np.zeros((len(slots), len(SCORES)), np.float32)
    if len(slots):
        window = _window(index, lists, idf, slots)
        conversation = _conversation(index, lists, slots)
        for column, values in enumerate((window, conversation, own[slots])):
            scores[:, column] = values / max(1e-9, float(values.max()))
        is_alone = np.logical_and(*(beside < 0 for beside in index.beside(slots)))
        scores[:, :2] = _among_others(scores[:, :2], scores[:, 2], is_alone)
        if cosines is not None:
            mean, deviation = _spread(cosines, len(index)) if allowed is None else _spread(cosines[allowed])
            scores[:, 3] = (near - mean) / max(1e-6, deviation)
        scores[:, 4:] = _signs(index, question, people, slots)
    return Candidates(slots, scores, own[slots] > 0, near)


def _spread(cosines: FloatArray, n: int | None = None) -> tuple[float, float]:
    """Mean and deviation of `n` cosines, of which those not given are 0."""
    n = len(cosines) if n is None else n
    mean = float(cosines.sum()) / max(1, n)
    square = float(np.dot(cosines, cosines)) - n * mean * mean
    return mean, math.sqrt(max(0.0, square) / max(1, n))


def people_named(index: EventIndex, text: str) -> list[str]:
    """Find the speakers who are named in the question."""
    low = text.casefold()
    return [
        person
        for person in index.known("person")
        if person and re.search(rf"\b{re.escape(person.casefold())}(?:'?s)?\b", low)
    ]


def _chosen(index: EventIndex, own: FloatArray, nearest: Slots, allowed: NDArray[np.bool_] | None) -> Slots:
    with_words = np.flatnonzero(own > 0)
    if allowed is not None:
        with_words = with_words[allowed[with_words]]
    near = np.concatenate([with_words[top(own[with_words], N_BY_WORDS)], nearest])
    found = _distinct(np.concatenate([near, *index.beside(near)]))
    found = found[found >= 0]
    return found[(index.live if allowed is None else allowed)[found]]


def _distinct(slots: Slots) -> Slots:
    """Each slot once, in order."""
    slots = np.sort(slots)
    return slots[np.append(True, slots[1:] != slots[:-1])] if len(slots) else slots


def _window(index: EventIndex, lists: Sequence[Postings], idf: FloatArray, slots: Slots) -> FloatArray:
    """BM25 of each event together with the one before and the one after it in its conversation."""
    parts = np.concatenate([slots, *index.beside(slots)])
    lengths = np.where(parts >= 0, index.n_terms[parts], np.float32(0)).reshape(3, -1).sum(axis=0)
    norm = _K1 * (1 - _B + _B * lengths / (3 * index.mean_terms))
    total = np.zeros(len(slots), np.float32)
    for rarity, found in zip(idf, lists, strict=True):
        said = _counts_at(found, parts).reshape(3, -1).sum(axis=0)
        total += rarity * said * (_K1 + 1) / (said + norm)
    return total


def _among_others(scores: FloatArray, words: FloatArray, is_alone: NDArray[np.bool_]) -> FloatArray:
    """Score events that stand alone and so have no conversation: they get the scores of an event with the same words,
    by a straight line through the others. Otherwise their own words would count three times over, and more than their
    meaning."""
    result = scores.copy()
    others = ~is_alone
    mean = scores[others].mean(axis=0) if others.any() else np.zeros(2, np.float32)
    mean_words = float(words[others].mean()) if others.any() else 0.0
    spread = float(((words[others] - mean_words) ** 2).sum())
    slope = _SLOPES
    if spread > _LEAST_SPREAD:
        slope = np.maximum(0, (words[others] - mean_words) @ (scores[others] - mean)) / np.float32(spread)
    result[is_alone] = mean + (words[is_alone] - np.float32(mean_words))[:, None] * slope
    return result


_SLOPES = np.array([0.5, 0.0], np.float32)
"""Slopes for window and conversation, used when no other events show them."""
_LEAST_SPREAD = 1e-3


def _counts_at(found: Postings, slots: Slots) -> FloatArray:
    """Count the stem in each of `slots`; -1 is no event."""
    if not len(found.slots):
        return np.zeros(len(slots), np.float32)
    places = np.searchsorted(found.slots, slots)
    places[places == len(found.slots)] = 0
    counts: FloatArray = np.where(found.slots[places] == slots, found.counts[places], np.float32(0))
    return counts


def _conversation(index: EventIndex, lists: Sequence[Postings], slots: Slots) -> FloatArray:
    """BM25 of the whole conversation each event belongs to."""
    threads = index.ids("thread")
    n_threads = max(1, len(index.known("thread")))
    lengths = index.thread_terms
    n_used = max(1, int((lengths > 0).sum()))
    norm = _K1 * (1 - _B + _B * lengths / max(1.0, lengths.sum() / n_used))
    total = np.zeros(n_threads)
    for found in lists:
        said = np.bincount(threads[found.slots], found.counts, n_threads)
        n_with = int((said > 0).sum())
        total += math.log(1 + max(0.0, n_used - n_with + 0.5) / (n_with + 0.5)) * said * (_K1 + 1) / (said + norm)
    result: FloatArray = total[threads[slots]].astype(np.float32)
    return result


def _signs(index: EventIndex, question: Question, people: Sequence[str], slots: Slots) -> FloatArray:
    """Compute the scores `person`, `time`, `when`, `number`, `asks` and `length` of each candidate."""
    signs = index.signs[slots]
    found = np.zeros((len(slots), 6), np.float32)
    if len(people) == 1:
        found[:, 0] = index.ids("person")[slots] == index.known("person")[people[0]]
    found[:, 1] = _nearness(index.at_unix_s[slots], question.periods)
    found[:, 2] = bool(_NEEDS_TIME.match(question.text)) & (signs & HAS_TIME > 0)
    found[:, 3] = bool(_NEEDS_NUMBER.match(question.text)) & (signs & HAS_NUMBER > 0)
    found[:, 4] = signs & ASKS > 0
    found[:, 5] = np.log1p(index.n_terms[slots])
    return found


def _nearness(at_unix_s: NDArray[np.float64], periods: Sequence[Period]) -> NDArray[np.float64]:
    """Nearness in time: 1 within a period, less the further outside."""
    best = np.zeros(len(at_unix_s))
    for period in periods:
        start, end = period.start.timestamp(), period.end.timestamp()
        after_s = max(_AFTER_S, (end - start) / 2)
        gap = np.where(at_unix_s < start, (start - at_unix_s) / _BEFORE_S, np.maximum(0, at_unix_s - end) / after_s)
        best = np.maximum(best, np.exp(-gap))
    return best


# ── Reranking ─────────────────────────────────────────────────────────────────────────────────────────────
# Reranks the best events by comparing each word of the question with each word of the event, in context.
#
# Late interaction (ColBERT, Khattab & Zaharia 2020) on the encoder's own token vectors, untrained: for each content
# token of the question the nearest token of the event, averaged with rare tokens counting more. Token vectors are
# made when an event is first compared and kept in RAM in 8 bits, for the most recently used events.
#
# Covered: at most `N_CLOSE` events a question; the cache never exceeds `MAX_CACHED` events. Not covered: events that
# the first search did not find; the first comparison of an event costs some 4 ms.

N_CLOSE = 24
"""Events compared for a question. 48 find no more (LoCoMo: the share among the first five within 0.002), at twice the
time."""
MAX_CACHED = 4096
"""Events in the cache; some 10 KB each."""
_MOST_TEXT = 2000


class Closeness:
    """Compares questions with events word by word."""

    def __init__(self, encoder: TokenEncoder) -> None:
        self._encoder = encoder
        self._kept: OrderedDict[int, NDArray[np.int8]] = OrderedDict()

    def of(self, question: str, people: Sequence[str], events: Mapping[int, str]) -> FloatArray:
        """Compute how close each event comes to the question, about 0 to 1, in the order of `events`.

        Args:
            people: Names in the question that say whose words are wanted; they are not compared.
            events: Number → text; a number always stands for the same text.
        """
        new = [number for number in events if number not in self._kept]
        for number, found in zip(
            new, self._encoder.encode_tokens([events[number][:_MOST_TEXT] for number in new]), strict=True
        ):
            self._kept[number] = np.rint(found.vectors[1:-1] * 127).astype(np.int8)
        tokens, rarity = self._tokens(question, people)
        result = np.zeros(len(events), np.float32)
        for place, number in enumerate(events):
            self._kept.move_to_end(number)
            vectors = self._kept[number]
            if len(vectors) and len(tokens):
                nearest = (tokens @ (vectors.T.astype(np.float32) / 127)).max(axis=1)
                result[place] = float(nearest @ rarity) / float(rarity.sum())
        while len(self._kept) > MAX_CACHED:
            self._kept.popitem(last=False)
        return result

    def forget(self, number: int) -> None:
        """Drop what is kept of an event."""
        self._kept.pop(number, None)

    def _tokens(self, question: str, people: Sequence[str]) -> tuple[FloatArray, FloatArray]:
        (found,) = self._encoder.encode_tokens([question])
        names = {word for person in people for word in person.casefold().split()}
        words = [question[start:end].casefold() for start, end in found.spans]
        is_telling = np.array([bool(w) and w[0].isalnum() and w not in STOP_WORDS and w not in names for w in words])
        if not is_telling.any():
            is_telling[1:-1] = True
        tokens: FloatArray = found.vectors[is_telling].astype(np.float32)
        return tokens, np.maximum(found.rarity[is_telling], 0).astype(np.float32) + np.float32(0.5)


# ── Supersession ──────────────────────────────────────────────────────────────────────────────────────────
# Tells whether a later statement replaces an earlier one, so that what no longer holds is not said as if it did.
#
# A logistic function of the encoder's vector of the later statement, which tells that something has changed, and of
# signs of how question, earlier and later statement lie to each other, in words and in meaning. Its weights are
# learnt from pairs of statements, of which some changed something and some stood beside each other
# (`data/supersession.json`, made by `training.recollection.supersession_train`).
#
# Covered: a change in any words, also one that names the old value ("I sold the Volvo and bought a Renault"). Not
# covered: a change that only knowledge of the world shows ("my accounts are at Triodos" of a bank), and statements of
# several things of which one has changed.

SIGNS = ("like", "near_later", "near_earlier", "held", "lost", "again", "another", "length", "beside")
"""What is weighed beside the later statement's vector: cosine of both statements, of each with the question; how near
the later one comes to the question's words, and the most by which it is further from one of them than the earlier;
rarity of a word of the earlier one that the later one says again; names and kin that the question and the earlier one
name and the later one does not; its length; how near its words come to those of the earlier one."""
_NAMED = re.compile(r"(?<!^)\b[A-Z]\w+")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement or question as it is compared."""

    text: str
    vector: FloatArray
    """Unit vector, shape [dim]."""
    tokens: FloatArray
    """Unit vectors of its tokens that carry content, shape [n, dim]."""
    rarity: FloatArray
    keys: tuple[frozenset[str], ...]
    """What each of these tokens is known by."""
    all_keys: frozenset[str]
    names: frozenset[str]


def statement_of(text: str, read: TokenVectors) -> Statement:
    """Take from a text and its token vectors what is compared."""
    words = [text[start:end].casefold() for start, end in read.spans]
    is_telling = np.array([bool(w) and w[0].isalnum() and w not in STOP_WORDS for w in words])
    if not is_telling.any():
        is_telling[:] = True
    names = {word.casefold() for word in _NAMED.findall(text) if word != "I"}
    return Statement(
        text,
        read.whole / max(1e-9, float(np.linalg.norm(read.whole))),
        read.vectors[is_telling].astype(np.float32),
        (np.maximum(read.rarity[is_telling], 0) + 0.5).astype(np.float32),
        tuple(frozenset(keys_of(word)) for word, tells in zip(words, is_telling, strict=True) if tells),
        frozenset(keys_of(text)),
        frozenset(names | {word for word in telling_words(text) if word in KIN}),
    )


def signs_of(question: Statement, earlier: Statement, later: Statement) -> NDArray[np.float64]:
    """Return what is weighed: `SIGNS`, then the later statement's vector, shape [len(SIGNS) + dim]."""
    share = question.rarity / question.rarity.sum()
    in_earlier = (question.tokens @ earlier.tokens.T).max(axis=1)
    in_later = (question.tokens @ later.tokens.T).max(axis=1)
    beside = (later.tokens @ earlier.tokens.T).max(axis=1)
    said_again = [
        float(rarity)
        for keys, rarity in zip(earlier.keys, earlier.rarity, strict=True)
        if keys & later.all_keys and not keys & question.all_keys
    ]
    low = earlier.text.casefold(), later.text.casefold()
    signs = (
        float(earlier.vector @ later.vector),
        float(question.vector @ later.vector),
        float(question.vector @ earlier.vector),
        float(share @ in_later),
        float((np.maximum(0, in_earlier - in_later) * share).max() / share.max()),
        max(said_again, default=0.0),
        float(sum(name in low[0] and name not in low[1] for name in question.names)),
        float(np.log(max(1, len(later.text.split())))),
        float(beside @ later.rarity / later.rarity.sum()),
    )
    return np.concatenate([np.array(signs), later.vector.astype(np.float64)])


def sureness(question: Statement, earlier: Statement, later: Statement) -> float:
    """Return by how much it is surer than needed that `later` replaces what `earlier` says on the question."""
    weights, least = _kept()
    return float(signs_of(question, earlier, later) @ weights[:-1] + weights[-1] - least)


@cache
def _kept() -> tuple[NDArray[np.float64], float]:
    kept = fitted("supersession")
    return np.array(kept["weights"]), float(kept["least"])
