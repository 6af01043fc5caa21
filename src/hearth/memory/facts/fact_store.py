"""Stores facts: subject, relation, value, with their source, the time they were true and the time they were believed.

Two times (Snodgrass 1999): when something was true in the world (`since`, `until`) and when it was believed here
(`learnt`, `unlearnt`). Rows are never overwritten: a change closes the row that was believed and adds another that
follows it. So "what did you believe last Tuesday, and why" is a query, and an owner's correction leaves a trace.

A fact is *promoted* (believed), *amended* (the owner corrected it; believed), *proposed* (inferred, or told by an
untrusted text: never believed before the owner confirms it) or *revoked*. For a relation that has one value at a time
(where someone lives, a birthday), a later value ends the earlier one; nothing is thrown away.

Covered: contradictions of single-valued relations, corrections, both times, sources; a fact whose label is not trusted
stays proposed whatever its confidence.
Not covered: whether a fact is true; contradictions between different relations; names that several people have.
"""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from hearth.errors import NotFound, RequestError
from hearth.memory.facts.fact_dates import is_tellable
from hearth.storage.database import Store
from hearth.storage.trace import label_from_text, label_text
from hearth.types import OWNER, Label

Status = Literal["proposed", "promoted", "amended", "revoked"]
BELIEVED = ("promoted", "amended")
ME = "me"
"""The owner as a subject."""
MAX_CHARACTERS = 1000
_GREATEST_NUMBER = 2**63 - 1
"""Greatest integer of SQLite."""

SINGLE_VALUED = frozenset(
    {
        *("name", "birthday", "age", "lives in", "works at", "job", "phone", "email", "address", "partner", "mother"),
        *("father", "time zone", "nationality", "size", "height", "shoe size", "favourite colour", "located at"),
    }
)
"""Relations that have one value at a time."""


@dataclass(frozen=True, slots=True)
class NewFact:
    """A fact to believe or to propose."""

    subject: str
    relation: str
    value: str
    since: dt.datetime | None = None
    """Time it began to be true; None: unknown."""
    until: dt.datetime | None = None
    confidence: float = 1.0
    label: Label = OWNER
    events: tuple[str, ...] = ()
    """Ids of the events it was taken from."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """A row of the table of facts: believed, proposed, ended or revoked."""

    id: int
    subject: str
    relation: str
    value: str
    since: dt.datetime | None
    until: dt.datetime | None
    """Time it ceased to be true; None: it has not, as far as is known."""
    learnt: dt.datetime
    unlearnt: dt.datetime | None
    """Time this row was replaced by another; None: it stands."""
    confidence: float
    status: Status
    label: Label
    reason: str
    events: tuple[str, ...]
    follows: int | None
    """Id of the row it replaced."""

    @property
    def is_believed(self) -> bool:
        return self.status in BELIEVED and self.unlearnt is None


class FactStore:
    """Facts in the home's database."""

    def __init__(self, store: Store) -> None:
        self._store = store

    # ── Learning ──────────────────────────────────────────────────────────────────────────────────────────

    def add(self, new: NewFact, now: dt.datetime, *, is_proposed: bool = False) -> Fact:
        """Believe `new` from now on, or propose it: if a stranger may have said it, or with `is_proposed`.

        If the same fact stands already, its events are added to that row, which keeps the greater confidence. For a
        single-valued relation the earlier value ends when the later one begins.

        Raises:
            RequestError: It is empty, too long, or ends before it begins. Nothing was written.
        """
        _check(new)
        status: Status = "promoted" if new.label.is_trusted and not is_proposed else "proposed"
        with self._store.transaction() as cursor:
            same = self._like(cursor, new, "until_unix_s IS NULL AND status <> 'revoked' ORDER BY number DESC")
            if same is not None and (same.status in BELIEVED or status == "proposed"):
                return self._confirmed(cursor, same, new)
            # What the owner denied is not proposed again.
            denied = self._like(cursor, new, "status = 'revoked'") if same is None and status == "proposed" else None
            if denied is not None:
                return denied
            if same is not None:
                self._close(cursor, same.id, now)
            if status == "promoted":
                self._end_earlier(cursor, new, now)
            return self._insert(cursor, new, status, now, same.id if same is not None else None)

    def _like(self, cursor: sqlite3.Cursor, new: NewFact, condition: str) -> Fact | None:
        """Find a row of the same fact that was not replaced."""
        row = cursor.execute(
            "SELECT * FROM fact WHERE subject = ? COLLATE NOCASE AND relation = ? AND value = ? COLLATE NOCASE"  # noqa: S608 - our own text
            f" AND unlearnt_unix_s IS NULL AND {condition} LIMIT 1",
            (new.subject, new.relation, new.value),
        ).fetchone()
        return None if row is None else self._fact(row)

    def _confirmed(self, cursor: sqlite3.Cursor, fact: Fact, new: NewFact) -> Fact:
        cursor.execute("UPDATE fact SET confidence = max(confidence, ?) WHERE number = ?", (new.confidence, fact.id))
        self._keep_events(cursor, fact.id, new.events)
        return self._fact(cursor.execute("SELECT * FROM fact WHERE number = ?", (fact.id,)).fetchone())

    def _end_earlier(self, cursor: sqlite3.Cursor, new: NewFact, now: dt.datetime) -> None:
        """End the earlier values that a new value of a single-valued relation contradicts."""
        if new.relation not in SINGLE_VALUED or new.until is not None:
            return
        rows = cursor.execute(
            "SELECT * FROM fact WHERE subject = ? COLLATE NOCASE AND relation = ? AND unlearnt_unix_s IS NULL"
            " AND until_unix_s IS NULL AND status IN ('promoted', 'amended')",
            (new.subject, new.relation),
        ).fetchall()
        begins = new.since or now
        for fact in map(self._fact, rows):
            if fact.value.casefold() == new.value.casefold() or (fact.since is not None and fact.since > begins):
                continue
            self._close(cursor, fact.id, now)
            ended = _renewed(fact, f"ended by {new.relation} {new.value!r}", until=begins)
            self._insert(cursor, ended, fact.status, now, fact.id)

    def promote(self, id: int, now: dt.datetime) -> Fact:
        """Promote a proposed fact that the owner confirmed. Raises: NotFound: it does not stand as proposed."""
        with self._store.transaction() as cursor:
            fact = self._open(cursor, id)
            if fact.status != "proposed":
                raise NotFound(f"fact {id} is {fact.status}, not proposed; `hearth memory why {id}` shows it")
            label = Label(fact.label.sources | {"owner"}, fact.label.readers)
            new = _renewed(fact, "you confirmed it", confidence=1.0, label=label)
            self._close(cursor, id, now)
            self._end_earlier(cursor, new, now)
            return self._insert(cursor, new, "promoted", now, id)

    def amend(self, id: int, value: str, now: dt.datetime, reason: str = "you corrected it") -> Fact:
        """Correct the value of a fact: the old one was wrong all along. Raises: NotFound, RequestError."""
        return self._replaced(id, now, "amended", reason, value=value, confidence=1.0, label=OWNER)

    def revoke(self, id: int, now: dt.datetime, reason: str = "you revoked it") -> Fact:
        """Revoke a fact: it is not so, and never was. Raises: NotFound."""
        return self._replaced(id, now, "revoked", reason, confidence=0.0)

    def end(self, id: int, until: dt.datetime, now: dt.datetime) -> Fact:
        """End a fact: it is no longer so. Raises: NotFound; RequestError: it would end before it began."""
        return self._replaced(id, now, None, "it ended", until=until)

    def _replaced(self, id: int, now: dt.datetime, status: Status | None, reason: str, **changed: Any) -> Fact:
        """Close a row and insert one that differs in some fields, by default with the same status."""
        with self._store.transaction() as cursor:
            fact = self._open(cursor, id)
            new = _renewed(fact, reason, **changed)
            if status != "revoked":
                _check(new)
            self._close(cursor, id, now)
            return self._insert(cursor, new, status or fact.status, now, id)

    def _open(self, cursor: sqlite3.Cursor, id: int) -> Fact:
        row = cursor.execute("SELECT * FROM fact WHERE number = ? AND unlearnt_unix_s IS NULL", (id,)).fetchone()
        if row is None or row["status"] == "revoked":
            raise NotFound(f"no fact {id} stands; `hearth memory show` lists those that do")
        return self._fact(row)

    def _close(self, cursor: sqlite3.Cursor, id: int, now: dt.datetime) -> None:
        # Never before it was learnt: if the clock was set back, no query could reach the row.
        cursor.execute(
            "UPDATE fact SET unlearnt_unix_s = max(learnt_unix_s, ?) WHERE number = ?", (now.timestamp(), id)
        )

    def _insert(
        self, cursor: sqlite3.Cursor, new: NewFact, status: Status, now: dt.datetime, follows: int | None
    ) -> Fact:
        learnt = now.timestamp()
        if follows is not None:
            learnt = cursor.execute(
                "SELECT max(?, coalesce(unlearnt_unix_s, 0)) FROM fact WHERE number = ?", (learnt, follows)
            ).fetchone()[0]
        cursor.execute(
            "INSERT INTO fact (subject, relation, value, is_single, since_unix_s, until_unix_s, learnt_unix_s,"
            " confidence, status, label, reason, follows) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(new.subject, new.relation, new.value, new.relation in SINGLE_VALUED),
                *(_seconds(new.since), _seconds(new.until), learnt),
                *(new.confidence, status, label_text(new.label), new.reason, follows),
            ),
        )
        number = cursor.lastrowid or 0
        self._keep_events(cursor, number, new.events)
        return self._fact(cursor.execute("SELECT * FROM fact WHERE number = ?", (number,)).fetchone())

    def _keep_events(self, cursor: sqlite3.Cursor, number: int, events: Sequence[str]) -> None:
        cursor.executemany(
            "INSERT OR IGNORE INTO fact_event (fact, event) VALUES (?, ?)", [(number, event) for event in events]
        )

    # ── Asking ────────────────────────────────────────────────────────────────────────────────────────────

    def believed(
        self,
        subject: str | None = None,
        relation: str | None = None,
        *,
        at: dt.datetime | None = None,
        as_of: dt.datetime | None = None,
    ) -> tuple[Fact, ...]:
        """Find believed facts.

        Args:
            at: Facts that were true in the world at that moment; None: those that have not ended, as far as is known.
            as_of: Facts as believed at that moment; None: now.
        """
        wanted = ["status IN ('promoted', 'amended')"]
        given: list[object] = []
        if as_of is None:
            wanted.append("unlearnt_unix_s IS NULL")
        else:
            wanted.append("learnt_unix_s <= ? AND (unlearnt_unix_s IS NULL OR unlearnt_unix_s > ?)")
            given += [as_of.timestamp()] * 2
        if at is None:
            wanted.append("until_unix_s IS NULL")
        else:
            wanted.append("coalesce(since_unix_s, -9e99) <= ? AND coalesce(until_unix_s, 9e99) > ?")
            given += [at.timestamp()] * 2
        for column, value in (("subject", subject), ("relation", relation)):
            if value is not None:
                wanted.append(f"{column} = ? COLLATE NOCASE")
                given.append(value)
        return self._many(" AND ".join(wanted), given)

    def proposed(self) -> tuple[Fact, ...]:
        """Find the facts that wait for the owner's confirmation."""
        return self._many("status = 'proposed' AND unlearnt_unix_s IS NULL", [])

    def ended(self) -> tuple[Fact, ...]:
        """Find the facts that were true once and no longer are, as far as is known."""
        return self._many(
            "status IN ('promoted', 'amended') AND unlearnt_unix_s IS NULL AND until_unix_s IS NOT NULL", []
        )

    def standing(self, subject: str, relation: str) -> tuple[Fact, ...]:
        """Find every row that was not replaced, also proposed and revoked ones."""
        condition = "subject = ? COLLATE NOCASE AND relation = ? AND unlearnt_unix_s IS NULL"
        return self._many(condition, [subject, relation])

    def counts(self) -> dict[str, int]:
        """Count the rows that stand, by status; ended ones separately."""
        rows = self._store.query(
            "SELECT CASE WHEN until_unix_s IS NOT NULL AND status IN ('promoted', 'amended') THEN 'ended' ELSE status "
            "END, count(*) FROM fact WHERE unlearnt_unix_s IS NULL GROUP BY 1 ORDER BY 1"
        )
        return {row[0]: row[1] for row in rows}

    def about(self, name: str) -> tuple[Fact, ...]:
        """Find believed facts with `name` as the subject or as the value: its neighbours in the graph."""
        return self._many(
            "(subject = ? COLLATE NOCASE OR value = ? COLLATE NOCASE) AND status IN ('promoted', 'amended')"
            " AND unlearnt_unix_s IS NULL AND until_unix_s IS NULL",
            [name, name],
        )

    def get(self, id: int) -> Fact:
        """Return any row, believed or not. Raises: NotFound."""
        found = self._many("number = ?", [id]) if abs(id) <= _GREATEST_NUMBER else ()
        if not found:
            raise NotFound(f"there is no fact {id}; `hearth memory show` lists those that stand")
        return found[0]

    def history(self, id: int) -> tuple[Fact, ...]:
        """Return a fact with all that it replaced and that replaced it, oldest first. Raises: NotFound."""
        first = self.get(id)
        while first.follows is not None:
            first = self.get(first.follows)
        found = [first]
        while later := self._many("follows = ?", [found[-1].id]):
            found.append(later[0])
        return tuple(found)

    def from_event(self, event: str) -> tuple[Fact, ...]:
        """Find the facts that rest on an event, whatever their status."""
        return self._many("number IN (SELECT fact FROM fact_event WHERE event = ?)", [event])

    def erase(self, ids: Sequence[int]) -> int:
        """Delete rows for good, as forgetting does: no trace of the belief remains. Return how many there were."""
        n = 0
        with self._store.transaction() as cursor:
            for id in ids:
                cursor.execute("UPDATE fact SET follows = NULL WHERE follows = ?", (id,))
                n += cursor.execute("DELETE FROM fact WHERE number = ?", (id,)).rowcount
        return n

    def _many(self, condition: str, given: Sequence[object]) -> tuple[Fact, ...]:
        rows = self._store.query(f"SELECT * FROM fact WHERE {condition} ORDER BY number", given)  # noqa: S608 - our own text
        return tuple(self._fact(row) for row in rows)

    def _fact(self, row: sqlite3.Row) -> Fact:
        events = self._store.query("SELECT event FROM fact_event WHERE fact = ? ORDER BY event", (row["number"],))
        return Fact(
            id=row["number"],
            subject=row["subject"],
            relation=row["relation"],
            value=row["value"],
            since=_moment(row["since_unix_s"]),
            until=_moment(row["until_unix_s"]),
            learnt=dt.datetime.fromtimestamp(row["learnt_unix_s"], dt.UTC),
            unlearnt=_moment(row["unlearnt_unix_s"]),
            confidence=row["confidence"],
            status=row["status"],
            label=label_from_text(row["label"]),
            reason=row["reason"],
            events=tuple(event[0] for event in events),
            follows=row["follows"],
        )


def _renewed(fact: Fact, reason: str, **changed: Any) -> NewFact:
    """Return what replaces a row."""
    kept = {one.name: getattr(fact, one.name) for one in fields(NewFact)}
    return NewFact(**{**kept, "reason": reason, **changed})


def _check(new: NewFact) -> None:
    for name, text in (("subject", new.subject), ("relation", new.relation), ("value", new.value)):
        if not text.strip() or len(text) > MAX_CHARACTERS:
            what = "is empty" if not text.strip() else f"has {len(text)} characters; at most {MAX_CHARACTERS}"
            raise RequestError(f"the {name} of a fact {what}; write a few words, as in 'Ben', 'lives in', 'Ghent'")
    if not 0 <= new.confidence <= 1:
        raise RequestError(f"the confidence {new.confidence!r} is not between 0 and 1")
    for moment in (new.since, new.until):
        if moment is not None and not is_tellable(moment):
            raise RequestError(f"a fact cannot begin or end in the year {moment.year}; write one from 2 to 9998")
    if new.since is not None and new.until is not None and new.until <= new.since:
        raise RequestError(f"a fact cannot end ({new.until.date()}) before it began ({new.since.date()})")


def _seconds(moment: dt.datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()


def _moment(seconds: float | None) -> dt.datetime | None:
    return None if seconds is None else dt.datetime.fromtimestamp(seconds, dt.UTC)
