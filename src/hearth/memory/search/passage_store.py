"""The owner's documents and records, cut into passages that can be searched."""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import hashlib
import itertools
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hearth import patterns as re
from hearth.errors import StoreError
from hearth.memory.search.memory_index import DIM, FloatArray
from hearth.memory.search.search_words import STOP_WORDS, forms_of, in_single_words, telling_words
from hearth.protocols import Encoder
from hearth.storage.database import Store
from hearth.storage.trace import moment_text, parse_moment

# ── Passage cutting ───────────────────────────────────────────────────────────────────────────────────────
# Cuts a text into passages and sentences: pieces that are found, read and quoted on their own.
#
# A passage ends at a blank line, else at the end of a line, else of a sentence, else between words; only a single
# word longer than a passage is cut. Where a table's rows fill several passages, each begins with the table's first
# row, so that a cell can be read by its column.
#
# Not covered: headings that say what the passages below them are about (the record's title is put before each
# instead).

N_MOST_CHARACTERS = 700
_LEAST_FULL = 0.4
"""A passage is ended at a weaker boundary only if ending it at a stronger one would leave it emptier than this."""
_BOUNDARIES = tuple(re.compile(form) for form in (r"\n[ \t]*\n\s*", r"\n\s*", r"(?<=[.!?…])[\"”’)\]]*\s+", r"\s+"))
SENTENCE = re.compile(
    r"(?:[^.!?\n]|[.](?=\w)|(?<=\b[DM]r)[.]|(?<=\bMrs)[.]|(?<=\bMs)[.]|(?<=\bNo)[.](?= ?\d)"
    r"|(?<=\b[A-Z])[.](?= [A-Z]))+[.!?]*"
)
"""A sentence; it goes on behind a title or an initial: "Dr. Hartlen", "C. Muise"."""
_WRAPPED = re.compile(
    r"(?m)^(?:[^\n|]{40,}[^\s.!?:|](?=\n(?:[ \t]{0,4}[a-z]|[(\d])(?![^\n:]{0,60}:(?:\s|$))[^\n|]*$)"
    r"|[^\n|]{40,} \d{1,2}(?=\n(?:Jan|Febr|March|April|May|June|July|Aug|Sept|Octo|Nov|Dec)[a-z]*\b[^\n|]*$)"
    r"|[^\n|]{70,} (?:an?|the|my|our|your|his|their|its|this|these|that|of|to|from|with|by|for|in|on|at|into|until|till"
    r"|between|and|or|but|as|if|because|is|are|was|were|be|been|have|has|had|will|would|shall|should|can|could|may"
    r"|might|must|every|each|which|whose|we|they)(?=\n[ \t]{0,4}[^\W_](?![\w '’-]{0,30}:\s)[^\n|]*$))\n"
)
"""A line broken within a sentence: the next goes on with a small letter or a digit, or it ends with the day of a month,
or is long and ends in a word that ends no sentence."""
_ROW = re.compile(r"[^\n|]*(?:\|[^\n|]*){1,40}")


@dataclass(frozen=True, slots=True)
class Cut:
    """A stretch of a text."""

    start: int
    end: int
    head: str = ""
    """The first row of the table that the stretch continues; empty: it continues none."""


@functools.lru_cache(maxsize=64)
def unwrapped(text: str) -> str:
    """Return a text of the same length in which a line broken in the middle of a sentence goes on with a blank."""
    return _WRAPPED.sub(lambda found: f"{found.group()[:-1]} ", text)


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text in order, their blanks made single."""
    return [said for found in SENTENCE.finditer(unwrapped(text)) if (said := " ".join(found.group().split()))]


def sentence_at(text: str, place: int) -> str:
    """Return the sentence that holds the character at a place; empty between sentences."""
    found = next((one for one in SENTENCE.finditer(unwrapped(text)) if one.start() <= place < one.end()), None)
    return " ".join(found.group().split()) if found is not None else ""


def passages_of(text: str, n_most: int = N_MOST_CHARACTERS) -> Iterator[Cut]:
    """Cut a text into passages of at most `n_most` characters, in order, without the blanks around them."""
    start, head = 0, ""
    while start < len(text):
        end = _end(text, start, n_most)
        piece = text[start:end]
        first = start + len(piece) - len(piece.lstrip())
        last = first + len(piece.strip())
        if first < last:
            yield Cut(first, last, head)
        head = _head(text, first, end, head)
        start = end


def _end(text: str, start: int, n_most: int) -> int:
    if len(text) - start <= n_most:
        return len(text)
    window = text[start : start + n_most]
    for boundary in _BOUNDARIES:
        ends = [found.end() for found in boundary.finditer(window)]
        if ends and ends[-1] >= _LEAST_FULL * n_most:
            return start + ends[-1]
    return start + n_most


def _head(text: str, start: int, end: int, head: str) -> str:
    """Return the first row of the table that goes on behind `end`; empty when none does."""
    after = text[end : end + 1000].lstrip(" \t").partition("\n")[0]
    rows = text[start:end].rstrip().split("\n")
    if not (_ROW.fullmatch(after) and _ROW.fullmatch(rows[-1])):
        return ""
    n_rows = next((n for n, row in enumerate(reversed(rows)) if not _ROW.fullmatch(row)), len(rows))
    return head if head and n_rows == len(rows) else rows[len(rows) - n_rows][:200]


# ── Passage store ─────────────────────────────────────────────────────────────────────────────────────────
# Keeps the passages of the owner's things, with their words and vectors, and finds those that may answer a question.
#
# Everything here is read from the owner's folder and can be read again: a file that changed is replaced whole, a file
# that is gone leaves no row, no word and no vector. What the owner had forgotten stays out by its keyed digest,
# although its file still holds it.
#
# Whether a passage reads like an instruction hangs on its text alone, so it is judged once, ahead of any question, and
# its verdict is kept beside its vector, with what judged it.
#
# Covered: words (BM25) and meaning (vectors of a passage and of its windows, 2 bits a number, compared exactly) side
# by side; a passage without a vector is found by its words. Not covered: which of the passages found answers
# (`answer_reading`), languages without spaces.

N_BY_WORDS, N_BY_MEANING = 40, 24
N_BESIDE = 4
"""Passages of other kinds that are found by words however many mails hold more of them."""
EMBED_BATCH = 4
"""Passages that get their vectors and verdicts at once, with all their windows: well under a second, so that nobody
waits longer for whoever gives way between two batches."""
N_NEAR = 200
"""Passages whose windows are compared, those that are nearest as a whole."""
WINDOW_CHARACTERS = 150
"""Length of a window: a passage of many facts lies near no question, but the sentence does that answers it."""
_LEVELS = np.array([-10, -3, 3, 10], np.int8)
_STEP = 0.151 / DIM**0.5
"""A number of a unit vector is one of four levels, times this: the best four for a normal distribution (Max 1960)."""
_BETWEEN = np.array([-0.9816, 0.0, 0.9816]) / DIM**0.5
_CODE_BYTES = DIM // 4
_BLOCK = 1024
"""Passages whose vectors are compared at once."""
_BYTE_LEVELS = _LEVELS[(np.arange(256)[:, None] >> np.array([0, 2, 4, 6])) & 3]
"""The four levels that each byte holds, shape [256, 4]."""
_MOST_ASKED_WORDS = 24
_WEIGHTS = "1.0, 6.0, 4.0"
"""BM25 weights of text, title and person."""
_OF_OTHERS = frozenset({"mail", "document"})
"""Kinds of records that others may have written."""
_CHANGED = "passages_changed"
"""Under which the database counts changes of passages."""
_FILES_CHANGED = "passage_files_changed"
"""Under which it counts changes of files that were read."""
_MANY = 2000
"""From so many passages on it takes long to weigh all that hold a word."""
_N_SAYING = 20
"""Most passages that are looked at for a word."""
_JUDGED = "SELECT passage.*, verdict FROM passage LEFT JOIN passage_vector USING (number)"


class Verdict(NamedTuple):
    """How a passage's text reads."""

    is_instruction: bool
    is_calm: bool
    """No sentence of it reads like an order by itself."""


class Judge(Protocol):
    """Tells how a text reads."""

    @property
    def version(self) -> int:
        """Of another version are other verdicts; at least 0, below 2**21."""
        ...

    def verdict(self, text: str) -> Verdict: ...


@dataclass(frozen=True, slots=True)
class NewPassage:
    """A piece of one of the owner's things."""

    record: str
    """Id of the record as its tool names it: a mail, an event, a note; for a document, its path."""
    kind: str
    """`mail`, `note`, `document`, `event`, `contact`, `reminder`."""
    source: str
    """Who may have written it, as a label's source: `message`, `file`, `device`."""
    title: str
    person: str
    at: dt.datetime | None
    text: str


@dataclass(frozen=True, slots=True)
class Passage(NewPassage):
    """A passage as it is kept."""

    number: int
    path: str

    @property
    def read(self) -> str:
        """The passage as it is embedded and read: its title, who wrote it, its text."""
        head = " · ".join(part for part in (self.title, self.person) if part)
        return f"{head}\n{self.text}" if head else self.text


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage that may answer, with its scores."""

    passage: Passage
    words: float
    """BM25, at least 0; 0: it shares no word."""
    cosine: float
    """Likeness of meaning, of the passage and of its best window in the mean, in [-1, 1]; 0 without a vector."""
    verdict: Verdict | None = None
    """How its text reads; None: it was not judged ahead."""


class PassageStore:
    """The passages in the home's database."""

    def __init__(
        self,
        store: Store,
        encoder: Encoder | None,
        questions: Encoder | None = None,
        judge: Callable[[], Judge] | None = None,
    ) -> None:
        """Open the passages.

        Args:
            encoder: Of passages; None: they are found by words alone.
            questions: Of questions, into the same space; None: as passages.
            judge: Opens what judges passages ahead; None: nothing is judged.
        """
        self._store = store
        self._judge = judge
        self.encoder = encoder
        self._questions = questions or encoder
        self._vectors: _Vectors | None = None
        self._read_at = ""
        """What `_stamp` was when the vectors were read."""
        self._files: _Files | None = None
        self._counted: tuple[str, int] | None = None
        """What `_stamp` was, and how many passages there were."""

    # ── Keeping ───────────────────────────────────────────────────────────────────────────────────────────

    def fingerprints(self) -> Mapping[str, str]:
        """Return the fingerprint with which each file was read, by path; the same mapping again as long as no process
        read one anew or dropped one."""
        stamp = self._stamp(_FILES_CHANGED)
        if self._files is None or self._files.stamp != stamp:
            rows = self._store.query("SELECT path, fingerprint FROM passage_file")
            self._files = _Files.of(stamp, {row[0]: row[1] for row in rows})
        return self._files.shown

    def faults(self) -> dict[str, str]:
        """Return why files could not be read, by path."""
        rows = self._store.query("SELECT path, fault FROM passage_file WHERE fault <> '' ORDER BY path")
        return {row[0]: row[1] for row in rows}

    def counts(self) -> dict[str, int]:
        """Count the records of each kind, and the passages under `passage`."""
        rows = self._store.query("SELECT kind, count(DISTINCT record) FROM passage GROUP BY kind")
        n_passages = self._store.query("SELECT count(*) FROM passage")[0][0]
        return {**{row[0]: row[1] for row in rows}, **({"passage": n_passages} if n_passages else {})}

    def _n_passages(self) -> int:
        """Count the passages, once as long as nothing changes."""
        stamp = self._stamp(_CHANGED)
        if self._counted is None or self._counted[0] != stamp:
            self._counted = stamp, int(self._store.query("SELECT count(*) FROM passage")[0][0])
        return self._counted[1]

    def n_waiting(self) -> int:
        """Count the passages that have no vector yet."""
        rows = self._store.query("SELECT count(*) FROM passage WHERE number NOT IN (SELECT number FROM passage_vector)")
        return int(rows[0][0])

    def n_unjudged(self, judge: int) -> int:
        """Count the passages that have a vector and no verdict of the judge of this version."""
        query = "SELECT count(*) FROM passage_vector WHERE vector IS NOT NULL AND ifnull(verdict, -1) >> 2 <> ?"
        return int(self._store.query(query, (judge,))[0][0])

    def put(self, path: str, fingerprint: str, passages: Iterable[NewPassage], fault: str = "") -> None:
        """Replace everything of a file, in one transaction. Raises: StoreError: nothing was changed."""
        gone = {row[0] for row in self._store.query("SELECT digest FROM passage_forgotten")}
        with self._store.transaction(is_synced=False) as cursor:
            cursor.execute("DELETE FROM passage_file WHERE path = ?", (path,))
            numbers: list[int] = []
            for one in passages:
                if gone and digest_of(salt_of(self._store), one.text) in gone:
                    continue
                cursor.execute(
                    "INSERT INTO passage (path, record, kind, source, title, person, at, text)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        *(path, _plain(one.record), one.kind, one.source, _plain(one.title), _plain(one.person)),
                        *(moment_text(one.at) if one.at is not None else "", _plain(one.text)),
                    ),
                )
                numbers.append(cursor.lastrowid or 0)
            cursor.execute(
                "INSERT INTO passage_file VALUES (?, ?, ?, ?, ?)",
                (path, fingerprint, _plain(fault), *((numbers[0], numbers[-1]) if numbers else (None, None))),
            )
            stamp = _count(cursor, _FILES_CHANGED)
            note_change(cursor)
        if self._files is not None:
            self._files = self._files.with_one(stamp, path, fingerprint)

    def drop(self, paths: Iterable[str]) -> None:
        """Remove everything of files that are gone. Raises: StoreError."""
        with self._store.transaction(is_synced=False) as cursor:
            cursor.executemany("DELETE FROM passage_file WHERE path = ?", [(path,) for path in paths])
            _count(cursor, _FILES_CHANGED)
            note_change(cursor)

    def embed(self, limit: int | None = None, first: Sequence[int] = ()) -> Iterator[int]:
        """Give passages their vectors; yield how many are done. If stopped anywhere, finished work is kept.

        Args:
            first: Numbers of passages that are wanted first; with `limit` 0 only these. Somebody waits for them, so
                they are judged later.
        """
        n_done = 0
        while self.encoder is not None:
            some = ",".join(map(str, map(int, first[n_done : n_done + EMBED_BATCH])))
            left = EMBED_BATCH if limit is None else min(EMBED_BATCH, limit - n_done + len(first))
            where = f"number IN ({some}) AND" if some else ""
            if not some and left <= 0:
                return
            rows = self._store.query(
                f"SELECT * FROM passage WHERE {where} number NOT IN (SELECT number FROM passage_vector)"  # noqa: S608 - whole numbers only
                f" ORDER BY number DESC LIMIT {EMBED_BATCH if some else left}"
            )
            if not rows and not some:
                return
            if rows:
                vectors = _vectors_of([_passage(row) for row in rows], self.encoder)
                verdicts = [None if some else self._verdict_of(row["text"]) for row in rows]
                with self._store.transaction(is_synced=False) as cursor:
                    cursor.executemany(
                        # A file that was read anew meanwhile may have given its number to other words.
                        "INSERT OR IGNORE INTO passage_vector (number, verdict, vector) SELECT number, ?, ?"
                        " FROM passage WHERE number = ? AND title = ? AND person = ? AND text = ?",
                        [
                            (verdict, vector, row["number"], row["title"], row["person"], row["text"])
                            for verdict, vector, row in zip(verdicts, vectors, rows, strict=True)
                        ],
                    )
                    note_change(cursor)
            n_done += EMBED_BATCH if some else len(rows)
            yield n_done

    def judge(self) -> Iterator[int]:
        """Judge the passages that got a vector but no verdict, or another judge's; yield how many are done."""
        n_done = last = 0
        if self._judge is None:
            return
        while rows := self._store.query(
            f"{_JUDGED} WHERE number > ? AND vector IS NOT NULL AND ifnull(verdict, -1) >> 2 <> ? ORDER BY number"
            " LIMIT ?",
            (last, self._judge().version, EMBED_BATCH),
        ):
            last = rows[-1]["number"]
            verdicts = [(self._verdict_of(row["text"]), row["number"], row["text"]) for row in rows]
            with self._store.transaction(is_synced=False) as cursor:
                cursor.executemany(
                    "UPDATE passage_vector SET verdict = ?"
                    " WHERE number = (SELECT number FROM passage WHERE number = ? AND text = ?)",
                    verdicts,
                )
            n_done += len(rows)
            yield n_done

    def _verdict_of(self, text: str) -> int | None:
        """Return a verdict as it is kept: who judged, and in the last bits what."""
        if self._judge is None:
            return None
        judge = self._judge()
        found = judge.verdict(text)
        return judge.version << 2 | found.is_calm << 1 | found.is_instruction

    def _verdict_in(self, row: sqlite3.Row) -> Verdict | None:
        """Return this judge's verdict, where it is kept."""
        kept = row["verdict"]
        is_known = self._judge is not None and isinstance(kept, int) and kept >> 2 == self._judge().version
        return Verdict(bool(kept & 1), bool(kept & 2)) if is_known else None

    def merge_words(self) -> None:
        """Merge the lists of words into one, after many files were read: it is smaller, and read faster."""
        with self._store.transaction(is_synced=False) as cursor:
            cursor.execute("INSERT INTO passage_words (passage_words) VALUES ('optimize')")

    # ── Finding ───────────────────────────────────────────────────────────────────────────────────────────

    def find(self, question: str, kinds: Sequence[str] = ()) -> list[Candidate]:
        """Find the passages that share words with a question or come near its meaning, in no order."""
        whole = _match(question)
        asked = self._telling_match(question, whole)
        words = self._by_words(asked) if asked else {}
        is_full = len(words) == N_BY_WORDS and sum(row["kind"] != "mail" for row in self._rows(words)) < N_BESIDE
        if asked != whole or is_full:
            # The plus sign has each row found checked, instead of the words looked up once more for each row.
            beside = "AND +rowid IN (SELECT number FROM passage INDEXED BY passage_beside_mail WHERE kind <> 'mail')"
            words = self._by_words(whole, N_BESIDE, beside) | words
        with contextlib.suppress(StoreError):  # the disk is full, say: those without a vector are found by their words
            for _ in self.embed(0, list(words)):
                pass
        vector = self._questions.encode([question])[0] if self._questions is not None else None
        cosines = self._cosines(vector, words)
        near = sorted(cosines, key=lambda number: -cosines[number])[:N_BY_MEANING] if len(cosines) else []
        rows = self._rows(dict.fromkeys([*words, *near]))
        return [
            Candidate(
                *(_passage(row), words.get(row["number"], 0.0), cosines.get(row["number"], 0.0)), self._verdict_in(row)
            )
            for row in rows
            if not kinds or row["kind"] in kinds
        ]

    def all(self, kinds: Sequence[str], match: str = "", limit: int = 2000) -> list[Passage]:
        """Return passages of some kinds, newest first; with `match`, those that hold all its content words."""
        marks = ",".join("?" * len(kinds))
        words = _match(match, " AND ")
        beside = "AND kind <> 'mail'" if "mail" not in kinds else ""  # by the index of the few that are none
        where = "AND number IN (SELECT rowid FROM passage_words WHERE passage_words MATCH ?)" if words else ""
        rows = self._store.query(
            f"SELECT * FROM passage WHERE kind IN ({marks}) {beside} {where} ORDER BY at DESC, number LIMIT ?",  # noqa: S608 - question marks only
            (*kinds, *((words,) if words else ()), limit),
        )
        return [_passage(row) for row in rows]

    def of_record(self, record: str) -> list[Passage]:
        """Return the passages of one record, in order."""
        return [
            _passage(row)
            for row in self._store.query("SELECT * FROM passage WHERE record = ? ORDER BY number", (record,))
        ]

    def holds_all(self, words: Sequence[str]) -> bool:
        """Return whether one passage, with its title and its people, holds every word, whatever its ending."""
        return self._is_any(" AND ".join(map(_any_form, words)))

    def has_title(self, words: Sequence[str], *, every: bool = False) -> bool:
        """Return whether a word, or every one, whatever its ending, is in the title of any record."""
        asked = (" AND " if every else " OR ").join(f'"{word}"' for word in words)
        return self._is_any(f"title : ({asked})")

    def said(self, words: Iterable[str]) -> frozenset[str]:
        """Return those words, in lower case, that the owner's things say as they stand: no slips of the hand. What
        mails and documents alone say stands in two of them: whoever wrote one may have mistyped it."""
        return frozenset(word for word in words if self._is_said(word))

    def _is_said(self, word: str) -> bool:
        exact = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
        records = set()
        for row in self._rows(self._by_words(f'"{word}"', _N_SAYING)):
            if exact.search(f"{row['title']}\n{row['person']}\n{row['text']}".replace("’", "'")):
                records.add(row["record"])
                if row["kind"] not in _OF_OTHERS or len(records) > 1:
                    return True
        return False

    def _telling_match(self, question: str, whole: str) -> str:
        """Write a full-text query of a question's content words, without those that more than half of many passages
        hold: BM25 weighs them with nothing, and to weigh all their passages took longer than all else of a question.

        Args:
            whole: The query of all of them.
        """
        n = self._n_passages()
        if n < _MANY:
            return whole
        forms = dict.fromkeys(form for word in _asked_words(question) for form in forms_of(word))
        common = [form for form in forms if self._n_holding(f'"{form}"') > n / 2]
        rest = " OR ".join(f'"{form}"' for form in forms if form not in common)
        return rest if common and rest and self._is_any(rest) else whole

    def _n_holding(self, match: str) -> int:
        return int(self._store.query("SELECT count(*) FROM passage_words WHERE passage_words MATCH ?", (match,))[0][0])

    def _is_any(self, match: str) -> bool:
        return bool(self._store.query("SELECT 1 FROM passage_words WHERE passage_words MATCH ? LIMIT 1", (match,)))

    def _rows(self, numbers: Iterable[int]) -> list[sqlite3.Row]:
        wanted = list(numbers)
        marks = ",".join("?" * len(wanted))
        return list(self._store.query(f"{_JUDGED} WHERE number IN ({marks})", wanted))

    def _by_words(self, match: str, limit: int = N_BY_WORDS, where: str = "") -> dict[int, float]:
        rows = self._store.query(
            f"SELECT rowid, -bm25(passage_words, {_WEIGHTS}) AS score FROM passage_words"  # noqa: S608 - our own text
            f" WHERE passage_words MATCH ? {where} ORDER BY score DESC LIMIT ?",
            (match, limit),
        )
        return {row[0]: max(0.0, row[1]) for row in rows}

    def _cosines(self, vector: FloatArray | None, beside: Collection[int]) -> dict[int, float]:
        """Return the likeness of the passages that are nearest as a whole, and of those `beside` them."""
        if vector is None:
            return {}
        vectors, stamp = self._vectors, self._stamp(_CHANGED)
        if vectors is None or stamp != self._read_at:
            rows = self._store.query("SELECT number, vector FROM passage_vector")  # they lie in another order
            kept = sorted((number, code) for number, code in rows if code and len(code) % _CODE_BYTES == 0)
            vectors = self._vectors = _Vectors.of(kept)
            self._read_at = stamp
        return vectors.likenesses(vector, beside)

    def _stamp(self, name: str) -> str:
        rows = self._store.query("SELECT value FROM meta WHERE name = ?", (name,))
        return str(rows[0][0]) if rows else ""


@dataclass(frozen=True, slots=True)
class _Files:
    """The files that were read."""

    stamp: str
    """What the database had counted of their changes."""
    fingerprints: dict[str, str]
    shown: Mapping[str, str]
    """The same, to be told from what it was before any change by which object it is."""

    @classmethod
    def of(cls, stamp: str, fingerprints: dict[str, str]) -> _Files:
        return cls(stamp, fingerprints, MappingProxyType(fingerprints))

    def with_one(self, stamp: str, path: str, fingerprint: str) -> _Files | None:
        """Return the files after one was read; None where another process changed some meanwhile."""
        if int(stamp) != int(self.stamp or 0) + 1:
            return None
        self.fingerprints[path] = fingerprint  # a copy for each of 20,000 would take longer than to read them
        return _Files.of(stamp, self.fingerprints)


@dataclass(frozen=True, slots=True)
class _Vectors:
    """The vectors of all passages, in RAM."""

    numbers: NDArray[np.int64]
    """Of the passages, ascending, shape [n]."""
    wholes: NDArray[np.int8]
    """The levels of each passage, shape [n, DIM]."""
    codes: NDArray[np.uint8]
    """Of each passage and then of its windows, shape [m, DIM / 4]."""
    firsts: NDArray[np.int64]
    """Where in `codes` each passage begins, and last where they end, shape [n + 1]."""

    @classmethod
    def of(cls, rows: Sequence[tuple[int, bytes]]) -> _Vectors:
        """Lay out what is kept: numbers ascending, with their vectors."""
        codes = np.frombuffer(b"".join(row[1] for row in rows), np.uint8).reshape(-1, _CODE_BYTES)
        firsts = np.cumsum([0, *(len(row[1]) // _CODE_BYTES for row in rows)])
        return cls(np.array([row[0] for row in rows], np.int64), _levels(codes[firsts[:-1]]), codes, firsts)

    def likenesses(self, vector: FloatArray, beside: Collection[int]) -> dict[int, float]:
        """Return the likeness to a unit vector of the nearest passages and of those `beside` them, by their numbers."""
        if not len(self.numbers):
            return {}
        asked = vector.astype(np.float32) * np.float32(_STEP)
        # Block by block: of all at once a copy four times as large would be made.
        blocks = (self.wholes[k : k + _BLOCK] @ asked for k in range(0, len(self.wholes), _BLOCK))
        nearest = np.argpartition(-np.concatenate([*blocks]), min(N_NEAR, len(self.numbers) - 1))[:N_NEAR]
        places = np.union1d(nearest, np.flatnonzero(np.isin(self.numbers, list(beside))))
        codes = [self.codes[self.firsts[k] : self.firsts[k + 1]] for k in places]
        likeness = _levels(np.concatenate(codes)) @ asked
        ends = np.cumsum([len(some) for some in codes])[:-1]
        return {
            int(self.numbers[k]): float(own[0] + own[min(1, len(own) - 1) :].max()) / 2
            for k, own in zip(places, np.split(likeness, ends), strict=True)
        }


def note_change(cursor: sqlite3.Cursor) -> None:
    """Let whoever holds vectors in RAM, in this process or another, read them anew: passages change in this
    transaction."""
    _count(cursor, _CHANGED)


def _count(cursor: sqlite3.Cursor, name: str) -> str:
    """Count a change; return the count."""
    cursor.execute(
        "INSERT INTO meta (name, value) VALUES (?, '1')"
        " ON CONFLICT (name) DO UPDATE SET value = CAST(value AS INTEGER) + 1",
        (name,),
    )
    return str(cursor.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()[0])


def salt_of(store: Store) -> bytes:
    """Return the key of the digests of what was forgotten; empty while nothing was."""
    rows = store.query("SELECT value FROM meta WHERE name = 'passage_salt'")
    return bytes.fromhex(rows[0][0]) if rows else b""


def digest_of(salt: bytes, text: str) -> bytes:
    """Return the keyed digest by which a forgotten passage is known again, whatever its spaces and case."""
    plain = " ".join(text.casefold().split()).encode(errors="replace")
    return hashlib.blake2b(plain, key=salt, digest_size=16).digest()


def likenesses(question: str, passages: Sequence[Passage], encoder: Encoder, questions: Encoder) -> list[float]:
    """Return the likeness of passages to a question as `PassageStore.find` computes it."""
    kept = _Vectors.of(list(enumerate(_vectors_of(passages, encoder))))
    found = kept.likenesses(questions.encode([question])[0], range(len(passages)))
    return [found[k] for k in range(len(passages))]


def _vectors_of(passages: Sequence[Passage], encoder: Encoder) -> list[bytes]:
    """Return the packed vectors of each passage: of the whole, then of its windows."""
    texts = [_texts_of(passage) for passage in passages]
    codes = iter(_coded(encoder.encode([text for some in texts for text in some])))
    return [b"".join(itertools.islice(codes, len(some))) for some in texts]


def _texts_of(passage: Passage) -> list[str]:
    """Return what of a passage has a vector: the whole, and its windows with its title where it has several."""
    lead = passage.read[: len(passage.read) - len(passage.text)]
    windows = [passage.text[cut.start : cut.end] for cut in passages_of(passage.text, WINDOW_CHARACTERS)]
    return [passage.read, *(lead + window for window in windows if len(windows) > 1)]


def _coded(vectors: FloatArray) -> list[bytes]:
    """Pack unit vectors in 96 bytes each: 2 bits a number."""
    levels = np.searchsorted(_BETWEEN, vectors).astype(np.uint8).reshape(len(vectors), _CODE_BYTES, 4)
    codes = (levels << np.array([0, 2, 4, 6], np.uint8)).sum(axis=2, dtype=np.uint8)
    return [code.tobytes() for code in codes]


def _levels(codes: NDArray[np.uint8]) -> NDArray[np.int8]:
    """Unpack what `_coded` packed, shape [n, DIM]."""
    levels: NDArray[np.int8] = _BYTE_LEVELS[codes].reshape(len(codes), DIM)
    return levels


def _match(question: str, join: str = " OR ") -> str:
    """Write a full-text query of a question's content words; empty if it has none."""
    return join.join(map(_any_form, _asked_words(question)))


def _asked_words(question: str) -> list[str]:
    words = [word for word in dict.fromkeys(telling_words(in_single_words(question))) if word not in STOP_WORDS]
    return words[:_MOST_ASKED_WORDS]


def _any_form(word: str) -> str:
    """Write one word of a full-text query, as any of its forms."""
    forms = [f'"{form}"' for form in forms_of(word)]
    return forms[0] if len(forms) == 1 else f"({' OR '.join(forms)})"


def _plain(text: str) -> str:
    return text.encode(errors="replace").decode().replace("\0", "\ufffd")


def _passage(row: sqlite3.Row) -> Passage:
    return Passage(
        *(row["record"], row["kind"], row["source"], row["title"], row["person"]),
        *(parse_moment(row["at"]) if row["at"] else None, row["text"], row["number"], row["path"]),
    )
