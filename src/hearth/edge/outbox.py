"""Keep what waits to be sent to the cloud: on disk in the transaction that made it, in order, until the cloud has it.

Each message has an id that never changes, made from a secret of this device and from what it is about: when it is sent
again after a lost answer, a kill or a day offline, the cloud recognises it. It is sent at least once and has its effect
once. Kinds do not wait for each other; within a kind the order is kept.

A demonstration is noted by reference when it is learnt and masked when it is sent, with the names known by then; if it
is taken back, replaced or forgotten before, it is not sent at all (a database trigger removes it). What the cloud will
never take is a dead letter, with the reason. When the bounds are exceeded, messages are dropped and counted with the
reason: dead letters, then questions (they can be asked again), then demonstrations, the oldest first; what was learnt
stays learnt here in any case. Of statistics only the newest waits.

Not covered: a message the cloud took cannot be called back; a database restored from an older copy sends again, and the
cloud, which knows the ids, does nothing twice.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import json
import random
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from hearth.storage.database import Store

Kind = Literal["demonstration", "statistics", "question"]
KINDS: tuple[Kind, ...] = ("demonstration", "statistics", "question")

SHARED_SOURCES = ("owner", "success")
"""Sources of demonstrations that may be shared: the owner's own, and what was done here and stood."""
MAX_WAITING = 10_000
MAX_WAITING_BYTES = 20_000_000
N_DELIVERED_KEPT = 50_000
"""Number of ids of delivered messages that are remembered, the newest."""
FIRST_WAIT_S = 2.0
LONGEST_WAIT_S = 3600.0
_DROP_ORDER = (
    ("dead", "demonstration"),
    ("dead", "statistics"),
    ("dead", "question"),
    ("answered", "question"),
    ("waiting", "question"),
    ("waiting", "demonstration"),
    ("waiting", "statistics"),
)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A message that waits."""

    number: int
    """Position in the order."""
    kind: Kind
    id: str
    about: str
    """Id of the demonstration it tells; empty for other kinds."""
    digest: str
    payload: bytes | None
    """The bytes to send; None before they are made."""
    stands_for: Mapping[str, str]
    """Pseudonyms in the payload → the values they stand for. Never leaves."""
    n_failures: int


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message the cloud will not take."""

    kind: str
    id: str
    about: str
    reason: str
    at: str


@dataclass(frozen=True, slots=True)
class Pace:
    """Back-off of a kind: when its messages are tried again."""

    n_failures: int = 0
    due_unix_s: float = 0.0
    wait_s: float = 0.0
    reason: str = ""

    def is_due(self, now: dt.datetime) -> bool:
        """Say whether it is time, also if the clock was set back before the wait: none outlives its length."""
        unix_s = now.timestamp()
        return unix_s >= self.due_unix_s or unix_s < self.due_unix_s - self.wait_s


# ── Putting in, within the caller's transaction ───────────────────────────────────────────────────────────


def note_demonstrations(cursor: sqlite3.Cursor, learnt: Iterable[tuple[str, str, str]], now: dt.datetime) -> None:
    """Note that demonstrations were learnt; nothing before a cloud was joined, and nothing twice.

    Args:
        cursor: Of the transaction they are learnt in.
        learnt: Id, digest and source of each.
    """
    link = cursor.execute("SELECT secret FROM edge_link").fetchone()
    if link is None:
        return
    rows = [
        (stable_id(link["secret"], "demonstration", id, digest), id, digest, now.isoformat(timespec="seconds"))
        for id, digest, source in learnt
        if source in SHARED_SOURCES
    ]
    cursor.executemany(
        "INSERT OR IGNORE INTO outbox (kind, id, about, digest, at) VALUES ('demonstration', ?, ?, ?, ?)", rows
    )
    if rows:
        trim(cursor, now)


def note_all_demonstrations(cursor: sqlite3.Cursor, now: dt.datetime) -> None:
    """Also note the demonstrations learnt before the cloud was joined."""
    rows = cursor.execute("SELECT id, digest, source FROM demonstration ORDER BY added, rowid").fetchall()
    note_demonstrations(cursor, [(row["id"], row["digest"], row["source"]) for row in rows], now)


def put(
    cursor: sqlite3.Cursor,
    kind: Kind,
    id: str,
    payload: bytes,
    now: dt.datetime,
    stands_for: Mapping[str, str] | None = None,
) -> bool:
    """Put in a message that is already serialised, under an id that never changes; return whether it is new.

    Statistics replace older ones that wait, as they contain all of those.
    """
    cursor.execute(
        "INSERT OR IGNORE INTO outbox (kind, id, payload, stands_for_json, at) VALUES (?, ?, ?, ?, ?)",
        (kind, id, payload, json.dumps(dict(stands_for or {})), now.isoformat(timespec="seconds")),
    )
    is_new = cursor.rowcount > 0
    if is_new and kind == "statistics":
        cursor.execute("DELETE FROM outbox WHERE kind = 'statistics' AND state = 'waiting' AND id <> ?", (id,))
    trim(cursor, now)
    return is_new


def stable_id(secret: bytes, kind: str, *parts: str) -> str:
    """Return an id that is the same whenever it is made, and tells nobody else what it is about."""
    text = "\n".join((kind, *parts)).encode(errors="surrogatepass")
    return f"{kind[0]}-{hmac.new(secret, text, hashlib.sha256).hexdigest()[:40]}"


def trim(cursor: sqlite3.Cursor, now: dt.datetime, most: int = MAX_WAITING, most_bytes: int = MAX_WAITING_BYTES) -> int:
    """Drop what exceeds the bounds, in the order the module says, and count it; return how many."""
    n, n_bytes = cursor.execute(
        "SELECT count(*), coalesce(sum(length(payload)), 0) + coalesce(sum(length(answer)), 0) "
        "FROM outbox WHERE state <> 'delivered'"
    ).fetchone()
    n_dropped = 0
    for state, kind in _DROP_ORDER:
        if n <= most and n_bytes <= most_bytes:
            break
        rows = cursor.execute(
            "SELECT number, coalesce(length(payload), 0) + coalesce(length(answer), 0) AS size FROM outbox "
            "WHERE state = ? AND kind = ? ORDER BY number",
            (state, kind),
        ).fetchall()
        gone: list[int] = []
        for row in rows:
            if n <= most and n_bytes <= most_bytes:
                break
            gone.append(row["number"])
            n, n_bytes = n - 1, n_bytes - row["size"]
        cursor.executemany("DELETE FROM outbox WHERE number = ?", [(number,) for number in gone])
        _count_dropped(cursor, kind, f"too many {state}", len(gone), now)
        n_dropped += len(gone)
    return n_dropped


def _count_dropped(cursor: sqlite3.Cursor, kind: str, why: str, n: int, now: dt.datetime) -> None:
    if n:
        cursor.execute(
            "INSERT INTO outbox_dropped (kind, why, n, last_at) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (kind, why) DO UPDATE SET n = n + excluded.n, last_at = excluded.last_at",
            (kind, why, n, now.isoformat(timespec="seconds")),
        )


# ── Taking out ────────────────────────────────────────────────────────────────────────────────────────────


def questions(store: Store) -> tuple[tuple[str, str], ...]:
    """Return id and words of questions that wait or were answered (no words once they were answered)."""
    found = []
    for row in store.query("SELECT id, payload, stands_for_json FROM outbox WHERE kind = 'question' ORDER BY number"):
        text = str(json.loads(row["payload"])["request"]) if row["payload"] is not None else ""
        stands_for: dict[str, str] = json.loads(row["stands_for_json"])
        for name in sorted(stands_for, key=len, reverse=True):
            text = text.replace(name, stands_for[name])
        found.append((str(row["id"]), text))
    return tuple(found)


def forget_questions(cursor: sqlite3.Cursor, ids: Iterable[str]) -> None:
    """Delete questions and their answers, within the forgetting transaction."""
    cursor.executemany("DELETE FROM outbox WHERE kind = 'question' AND id = ?", [(id,) for id in ids])


class Outbox:
    """The messages of one home. A method's changes are on disk when it returns."""

    def __init__(self, store: Store, clock: Callable[[], dt.datetime]) -> None:
        self._store = store
        self._clock = clock

    def head(self, kind: Kind, n: int) -> tuple[Waiting, ...]:
        """Return the next `n` messages of a kind, in order."""
        rows = self._store.query(
            "SELECT * FROM outbox WHERE state = 'waiting' AND kind = ? ORDER BY number LIMIT ?", (kind, n)
        )
        return tuple(
            Waiting(
                *(row["number"], row["kind"], row["id"], row["about"], row["digest"], row["payload"]),
                json.loads(row["stands_for_json"]),
                row["n_failures"],
            )
            for row in rows
        )

    def fix(self, messages: Iterable[Waiting]) -> None:
        """Write down the bytes to send: from now on every attempt sends the same bytes."""
        with self._store.transaction() as cursor:
            cursor.executemany(
                "UPDATE outbox SET payload = ?, stands_for_json = ? WHERE number = ? AND state = 'waiting'",
                [(one.payload, json.dumps(dict(one.stands_for)), one.number) for one in messages],
            )

    def settle(self, kind: Kind, delivered: Sequence[str], refused: Mapping[str, str]) -> None:
        """Record the cloud's verdict on messages: delivered, or refused for good and why. Ends the kind's back-off."""
        with self._store.transaction() as cursor:
            cursor.executemany(
                "UPDATE outbox SET state = 'delivered', payload = NULL, stands_for_json = '{}' "
                "WHERE kind = ? AND id = ? AND state = 'waiting'",
                [(kind, id) for id in delivered],
            )
            _bury(cursor, kind, refused)
            cursor.execute("DELETE FROM outbox_pace WHERE kind = ?", (kind,))
            cursor.execute(
                "DELETE FROM outbox WHERE state = 'delivered' AND number <= "
                "(SELECT number FROM outbox WHERE state = 'delivered' ORDER BY number DESC LIMIT 1 OFFSET ?)",
                (N_DELIVERED_KEPT,),
            )

    def answered(self, id: str, answer: bytes) -> None:
        """Keep the cloud's answer to a question until it is used."""
        with self._store.transaction() as cursor:
            cursor.execute(
                "UPDATE outbox SET state = 'answered', answer = ?, payload = NULL, stands_for_json = '{}' "
                "WHERE kind = 'question' AND id = ? AND state = 'waiting'",
                (answer, id),
            )
            cursor.execute("DELETE FROM outbox_pace WHERE kind = 'question'")

    def answer_to(self, id: str) -> bytes | None:
        """Return the cloud's answer to a question that had waited; None where there is none."""
        rows = self._store.query(
            "SELECT answer FROM outbox WHERE kind = 'question' AND id = ? AND state = 'answered'", (id,)
        )
        return rows[0]["answer"] if rows else None

    def bury(self, kind: Kind, refused: Mapping[str, str]) -> None:
        """Turn messages into dead letters, with the reasons."""
        with self._store.transaction() as cursor:
            _bury(cursor, kind, refused)

    def withdraw(self, message: Waiting) -> None:
        """Take out a message that is not to be sent after all."""
        with self._store.transaction() as cursor:
            cursor.execute("DELETE FROM outbox WHERE number = ?", (message.number,))

    def count_failure(self, message: Waiting) -> None:
        """Count a failure of the service on this message alone."""
        with self._store.transaction() as cursor:
            cursor.execute("UPDATE outbox SET n_failures = n_failures + 1 WHERE number = ?", (message.number,))

    # ── Pace ──────────────────────────────────────────────────────────────────────────────────────────────

    def pace(self, kind: Kind) -> Pace:
        """Return the back-off of this kind."""
        rows = self._store.query("SELECT * FROM outbox_pace WHERE kind = ?", (kind,))
        if not rows:
            return Pace()
        row = rows[0]
        return Pace(row["n_failures"], row["due_unix_s"], row["wait_s"], row["reason"])

    def back_off(self, kind: Kind, reason: str, lot: random.Random, at_least_s: float | None = None) -> Pace:
        """Wait longer: a random time up to twice the last bound, so that a thousand edges do not come back at once.

        Args:
            at_least_s: The wait the cloud asked for; the random part is added to it.
        """
        before = self.pace(kind)
        n = before.n_failures + 1
        wait_s = lot.uniform(0.0, min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(n - 1, 30)))
        if at_least_s is not None:
            wait_s = at_least_s + min(wait_s, at_least_s * 0.1 + 1.0)
        pace = Pace(n, self._clock().timestamp() + wait_s, wait_s, reason[:500])
        with self._store.transaction() as cursor:
            cursor.execute(
                "INSERT OR REPLACE INTO outbox_pace (kind, n_failures, due_unix_s, wait_s, reason) "
                "VALUES (?, ?, ?, ?, ?)",
                (kind, pace.n_failures, pace.due_unix_s, pace.wait_s, pace.reason),
            )
        return pace

    # ── Looking ───────────────────────────────────────────────────────────────────────────────────────────

    def counts(self) -> dict[tuple[str, str], int]:
        """Count the messages, by kind and state (`waiting`, `delivered`, `answered`, `dead`)."""
        rows = self._store.query("SELECT kind, state, count(*) AS n FROM outbox GROUP BY kind, state")
        return {(row["kind"], row["state"]): row["n"] for row in rows}

    def dead(self) -> tuple[DeadLetter, ...]:
        """Return the dead letters, oldest first."""
        rows = self._store.query("SELECT * FROM outbox WHERE state = 'dead' ORDER BY number")
        return tuple(DeadLetter(row["kind"], row["id"], row["about"], row["reason"], row["at"]) for row in rows)

    def dropped(self) -> tuple[tuple[str, str, int, str], ...]:
        """Return what was dropped for exceeding the bounds: kind, reason, number, last time."""
        return tuple(tuple(row) for row in self._store.query("SELECT * FROM outbox_dropped ORDER BY kind, why"))

    def revive(self) -> int:
        """Let dead letters wait once more, behind all others; return how many."""
        with self._store.transaction() as cursor:
            rows = cursor.execute("SELECT number FROM outbox WHERE state = 'dead' ORDER BY number").fetchall()
            last: int = cursor.execute("SELECT coalesce(max(number), 0) FROM outbox").fetchone()[0]
            for place, row in enumerate(rows, last + 1):
                cursor.execute(
                    "UPDATE outbox SET number = ?, state = 'waiting', n_failures = 0, reason = '' WHERE number = ?",
                    (place, row["number"]),
                )
        return len(rows)

    def trim(self, most: int, most_bytes: int) -> int:
        """Apply the owner's bounds; return how many were dropped."""
        with self._store.transaction() as cursor:
            return trim(cursor, self._clock(), most, most_bytes)


def _bury(cursor: sqlite3.Cursor, kind: Kind, refused: Mapping[str, str]) -> None:
    cursor.executemany(
        "UPDATE outbox SET state = 'dead', reason = ? WHERE kind = ? AND id = ? AND state = 'waiting'",
        [(reason[:500], kind, id) for id, reason in refused.items()],
    )
