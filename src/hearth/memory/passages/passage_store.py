"""Keeps the passages of the owner's things, with their words and vectors, and finds those that may answer a question.

Everything here is read from the owner's folder and can be read again: a file that changed is replaced whole, a file
that is gone leaves no row, no word and no vector. What the owner had forgotten stays out by its keyed digest, although
its file still holds it.

Covered: words (BM25) and meaning (8-bit vectors, compared exactly) side by side; a passage without a vector is found by
its words.
Not covered: which of the passages found answers (`answer_reading`), languages without spaces.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hearth.memory.search.memory_index import DIM, FloatArray, packed
from hearth.memory.search.terms import STOP_WORDS, telling_words
from hearth.memory.search.word_forms import forms_of, in_single_words
from hearth.protocols import Encoder
from hearth.storage.database import Store
from hearth.storage.trace import moment_text, parse_moment

N_BY_WORDS, N_BY_MEANING = 40, 24
N_BESIDE = 4
"""Passages of other kinds that are found by words however many mails hold more of them."""
EMBED_BATCH = 32
_MOST_ASKED_WORDS = 24
_WORD = re.compile(r"\w+")
_WEIGHTS = "6.0, 4.0, 1.0"
"""BM25 weights of title, person and text."""


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
    """Likeness of meaning, in [-1, 1]; 0 without a vector."""


class PassageStore:
    """The passages in the home's database."""

    def __init__(self, store: Store, encoder: Encoder | None) -> None:
        self._store = store
        self.encoder = encoder
        self._matrix: tuple[NDArray[np.int64], NDArray[np.int8], FloatArray] | None = None

    # ── Keeping ───────────────────────────────────────────────────────────────────────────────────────────

    def fingerprints(self) -> dict[str, str]:
        """Return the fingerprint with which each file was read, by path."""
        return {row[0]: row[1] for row in self._store.query("SELECT path, fingerprint FROM passage_file")}

    def faults(self) -> dict[str, str]:
        """Return why files could not be read, by path."""
        rows = self._store.query("SELECT path, fault FROM passage_file WHERE fault <> '' ORDER BY path")
        return {row[0]: row[1] for row in rows}

    def counts(self) -> dict[str, int]:
        """Count the records of each kind, and the passages under `passage`."""
        rows = self._store.query("SELECT kind, count(DISTINCT record) FROM passage GROUP BY kind")
        n_passages = self._store.query("SELECT count(*) FROM passage")[0][0]
        return {**{row[0]: row[1] for row in rows}, **({"passage": n_passages} if n_passages else {})}

    def put(self, path: str, fingerprint: str, passages: Iterable[NewPassage], fault: str = "") -> None:
        """Replace everything of a file, in one transaction. Raises: StoreError: nothing was changed."""
        gone = {row[0] for row in self._store.query("SELECT digest FROM passage_forgotten")}
        with self._store.transaction(is_synced=False) as cursor:
            cursor.execute("DELETE FROM passage_file WHERE path = ?", (path,))
            cursor.execute("INSERT INTO passage_file VALUES (?, ?, ?)", (path, fingerprint, _plain(fault)))
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
        self._matrix = None

    def drop(self, paths: Iterable[str]) -> None:
        """Remove everything of files that are gone. Raises: StoreError."""
        with self._store.transaction(is_synced=False) as cursor:
            cursor.executemany("DELETE FROM passage_file WHERE path = ?", [(path,) for path in paths])
        self._matrix = None

    def reread(self) -> None:
        """Let go of what is held in RAM: the store was changed beside, by forgetting."""
        self._matrix = None

    def embed(self, limit: int | None = None, first: Sequence[int] = ()) -> Iterator[int]:
        """Give passages their vectors; yield how many are done. If stopped anywhere, finished work is kept.

        Args:
            first: Numbers of passages that are wanted first; with `limit` 0 only these.
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
                vectors = self.encoder.encode([_passage(row).read for row in rows])
                with self._store.transaction(is_synced=False) as cursor:
                    cursor.executemany(
                        "INSERT OR IGNORE INTO passage_vector SELECT number, ? FROM passage WHERE number = ?",
                        [(_small(vector), row["number"]) for vector, row in zip(vectors, rows, strict=True)],
                    )
                self._matrix = None
            n_done += EMBED_BATCH if some else len(rows)
            yield n_done

    # ── Finding ───────────────────────────────────────────────────────────────────────────────────────────

    def find(self, question: str, kinds: Sequence[str] = ()) -> list[Candidate]:
        """Find the passages that share words with a question or come near its meaning, in no order."""
        asked = _match(question)
        words = self._by_words(asked) if asked else {}
        for _ in self.embed(0, list(words)):
            pass
        vector = self.encoder.encode([question])[0] if self.encoder is not None else None
        cosines = self._cosines(vector)
        near = sorted(cosines, key=lambda number: -cosines[number])[:N_BY_MEANING] if len(cosines) else []
        rows = self._rows(dict.fromkeys([*words, *near]))
        if len(words) == N_BY_WORDS and sum(row["kind"] != "mail" for row in rows if row["number"] in words) < N_BESIDE:
            # The plus sign has each row found checked, instead of the words looked up once more for each row.
            beside = "AND +rowid IN (SELECT number FROM passage WHERE kind <> 'mail')"
            words |= self._by_words(asked, N_BESIDE, beside)
            rows = self._rows(dict.fromkeys([*words, *near]))
        return [
            Candidate(_passage(row), words.get(row["number"], 0.0), cosines.get(row["number"], 0.0))
            for row in rows
            if not kinds or row["kind"] in kinds
        ]

    def all(self, kinds: Sequence[str], match: str = "", limit: int = 2000) -> list[Passage]:
        """Return passages of some kinds, newest first; with `match`, those that hold all its content words."""
        marks = ",".join("?" * len(kinds))
        words = _match(match, " AND ")
        where = "AND number IN (SELECT rowid FROM passage_words WHERE passage_words MATCH ?)" if words else ""
        rows = self._store.query(
            f"SELECT * FROM passage WHERE kind IN ({marks}) {where} ORDER BY at DESC, number LIMIT ?",  # noqa: S608 - question marks only
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

    def _is_any(self, match: str) -> bool:
        return bool(self._store.query("SELECT 1 FROM passage_words WHERE passage_words MATCH ? LIMIT 1", (match,)))

    def _rows(self, numbers: Iterable[int]) -> list[sqlite3.Row]:
        wanted = list(numbers)
        marks = ",".join("?" * len(wanted))
        return list(self._store.query(f"SELECT * FROM passage WHERE number IN ({marks})", wanted))  # noqa: S608 - question marks only

    def _by_words(self, match: str, limit: int = N_BY_WORDS, where: str = "") -> dict[int, float]:
        rows = self._store.query(
            f"SELECT rowid, -bm25(passage_words, {_WEIGHTS}) AS score FROM passage_words"  # noqa: S608 - our own text
            f" WHERE passage_words MATCH ? {where} ORDER BY score DESC LIMIT ?",
            (match, limit),
        )
        return {row[0]: max(0.0, row[1]) for row in rows}

    def _cosines(self, vector: FloatArray | None) -> dict[int, float]:
        if vector is None:
            return {}
        if self._matrix is None:
            rows = self._store.query("SELECT number, vector FROM passage_vector ORDER BY number")
            raw = np.frombuffer(b"".join(row[1] for row in rows), np.uint8).reshape(len(rows), -1) if rows else None
            if raw is None:
                return {}
            scales = np.ascontiguousarray(raw[:, :4]).view(np.float32)[:, 0]
            self._matrix = (
                np.fromiter((row[0] for row in rows), np.int64, len(rows)),
                np.ascontiguousarray(raw[:, 4:]).view(np.int8),
                np.where(np.isfinite(scales), scales, 0).astype(np.float32),
            )
        numbers, codes, scales = self._matrix
        likeness = (codes @ vector.astype(np.float32)) * scales
        best = np.argpartition(-likeness, min(N_BY_MEANING * 4, len(likeness) - 1))[: N_BY_MEANING * 4]
        return {int(numbers[k]): float(likeness[k]) for k in best}


def salt_of(store: Store) -> bytes:
    """Return the key of the digests of what was forgotten; empty while nothing was."""
    rows = store.query("SELECT value FROM meta WHERE name = 'passage_salt'")
    return bytes.fromhex(rows[0][0]) if rows else b""


def digest_of(salt: bytes, text: str) -> bytes:
    """Return the keyed digest by which a forgotten passage is known again, whatever its spaces and case."""
    plain = " ".join(text.casefold().split()).encode(errors="replace")
    return hashlib.blake2b(plain, key=salt, digest_size=16).digest()


def _small(vector: FloatArray) -> bytes:
    """Pack a unit vector in 388 bytes: its scale and 384 integers."""
    return packed(vector)[: 4 + DIM]


def _match(question: str, join: str = " OR ") -> str:
    """Write a full-text query of a question's content words; empty if it has none."""
    words = [word for word in dict.fromkeys(telling_words(in_single_words(question))) if word not in STOP_WORDS]
    return join.join(map(_any_form, words[:_MOST_ASKED_WORDS]))


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
