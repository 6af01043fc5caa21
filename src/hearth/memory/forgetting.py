"""Finds what is to be forgotten in every store of the owner's data, and removes it with everything derived from it.

With an event of memory go its words and vector, the sentences of summaries that were taken from it (the summary is
rewritten from those that stay) and the facts that rest on nothing else, with all they replaced. A fact with other
evidence stays and loses the link. Demonstrations, weights, recorded requests and the ledger's bytes are removed by
`learning.unlearning`, which calls `remove` within its one transaction.

The other stores are `protocols.Holder`s: `open_holders` opens them, says which of them cannot be loaded, and names what
the database keeps for a companion that is no longer installed. Of the core's own, rings, standing answers and the file
of faults hold words beside memory: a row goes when what is wanted, or the words, stand in it; the file goes whole, as
one traceback may repeat what another says. Passages are of the owner's files, which stay as they are (they are the
owner's to delete): a keyed digest of each forgotten passage is kept, and the passage is not read from its file again
while its words are the same.

Covered: a summary's sentences by the event they came from, by speaker, by time and by their words.
Not covered: a topic in words that come near neither an event nor its meaning: what would go is shown first; a passage
whose words were changed by hand afterwards, or that is cut elsewhere since; what a third party's plug-in kept before it
was uninstalled; standing answers by a period alone, as they hold until they are taken back; what a fault says in other
words; names of phones, cameras and people let in, which are permissions and have commands of their own.
"""

from __future__ import annotations

import re
import secrets
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from hearth.errors import HearthError
from hearth.memory.event_memory import EventMemory
from hearth.memory.passages.passage_store import digest_of, salt_of
from hearth.memory.retention import SUMMARY, lines_of, mean_vector, put_lines, rendered
from hearth.memory.search.terms import signs_of, telling_words
from hearth.protocols import Count, Encoder, Held, Holder, Wanted
from hearth.registry import HOLDERS, INSTALL_COMMANDS, load_parts
from hearth.storage import fault_log
from hearth.storage.database import FIRST_LOOK, Store
from hearth.storage.trace import parse_moment

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


def events_meant(store: Store, encoder: Encoder | None, wanted: Wanted) -> tuple[set[str], set[tuple[str, int]]]:
    """Find the ids of the events, and the sentences of summaries, that are meant."""
    near = _near(store, encoder, wanted.topic) if wanted.topic else set()
    meant = {
        row["id"]
        for row in store.query("SELECT id, at_unix_s, person, text FROM event WHERE kind <> ?", (SUMMARY,))
        if is_meant(wanted, row["at_unix_s"], row["person"], row["text"], is_near=row["id"] in near)
    }
    lines = {
        (row["event"], row["place"])
        for row in store.query("SELECT event, place, at, person, text FROM summary_line")
        if is_meant(wanted, parse_moment(row["at"]).timestamp(), row["person"], row["text"])
    }
    return meant, lines


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
