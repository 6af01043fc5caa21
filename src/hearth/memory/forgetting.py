"""Finds the memories an owner means by a person, a period or a topic, and removes them with everything derived from
them.

With an event go its words and vector, the sentences of summaries that were taken from it (the summary is rewritten from
those that stay) and the facts that rest on nothing else, with all they replaced. A fact with other evidence stays and
loses the link. Demonstrations, weights, recorded requests and the ledger's bytes are removed by `learning.unlearning`,
which calls `remove` within its one transaction.

Covered: a summary's sentences by the event they came from, by speaker, by time and by their words.
Not covered: a topic in words that come near neither an event nor its meaning: what would go is shown first.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from hearth.memory.event_memory import EventMemory
from hearth.memory.retention import SUMMARY, lines_of, mean_vector, put_lines, rendered
from hearth.memory.search.terms import signs_of, telling_words
from hearth.protocols import Encoder, Wanted
from hearth.storage.database import Store
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
    by_period = (
        "" if wanted is None or wanted.person or wanted.topic else " WHERE number NOT IN (SELECT fact FROM fact_event)"
    )
    for row in store.query(f"SELECT * FROM fact{by_period}"):  # noqa: S608 - our own text
        text = f"{row['subject']} {row['relation']} {row['value']}"
        if wanted is not None and is_meant(wanted, row["learnt_unix_s"], row["subject"], text):
            found.add(row["number"])
    if matching:
        for row in store.query("SELECT number, subject, relation, value, reason FROM fact"):
            if any(
                matching.casefold() in str(row[name]).casefold() for name in ("subject", "relation", "value", "reason")
            ):
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
