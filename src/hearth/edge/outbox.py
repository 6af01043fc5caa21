"""What waits for the cloud, what of a demonstration may be shared, and sending it."""

from __future__ import annotations

import contextlib
import datetime as dt
import fcntl
import hashlib
import hmac
import json
import math
import os
import random
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from hearth.edge import enrolment
from hearth.edge.cloud_link import Link
from hearth.errors import EgressError, HomeBusyError, LinkError, PlanError
from hearth.formats import edge_protocol
from hearth.formats.plans import plan_from_json
from hearth.guard.egress.gateway import sending
from hearth.guard.egress.masking_door import MaskingDoor, Part
from hearth.protocols import Count, Held, Wanted
from hearth.storage.database import Store
from hearth.storage.trace import holds, label_from_text
from hearth.types import TRUSTED_SOURCES, Label, ToolSpec, canonical_type

# ── Share policy ──────────────────────────────────────────────────────────────────────────────────────────
# Mask a demonstration for sharing: request, words of the steps and literal values, and send nothing else of it.
#
# What leaves: the masked request, when it was said, the masked words and arguments of the plan's steps, the names of
# the tools it calls. What stays: every name, number, address and file (`guard.deidentify.masker`); the id (the cloud
# gets one that tells nothing); which other tools there are; who planned it and how sure.
#
# Covered: a label that keeps the demonstration here, or says that a stranger's text touched it; a demonstration that
# was taken back or replaced meanwhile; a value whose type says that it is personal (a person, an address, a number, a
# file), whether or not masking finds it by its form; a masked value that occurs again in another text, as a key or as
# a number. Not covered: what a request tells through its matter and its time; names of the owner's own tools; what
# masking does not find (`guard.deidentify.masker` says what).

_KINDS = {"PersonName": "person", "EmailAddress": "email", "PhoneNumber": "phone", "Url": "url", "FilePath": "file"}
"""Types of personal values, with the kinds masking knows them by."""
_TIMES = ("date", "time", "datetime", "duration")
_TIME_FORM = re.compile(r"[0-9TPZWYMDHS:.+-]{1,40}")
"""Forms of times in a plan; masking takes some of their digits for a personal number."""


@dataclass(frozen=True, slots=True)
class Shareable:
    """A demonstration as it is sent."""

    payload: bytes
    """A line of the plan format."""
    stands_for: Mapping[str, str]
    """Pseudonym → the value it stands for. Never leaves."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The reason a demonstration stays here."""

    reason: str
    is_gone: bool = False
    """True when it no longer counts here; nothing is said of it."""


@dataclass(frozen=True, slots=True)
class Sharer:
    """Masks demonstrations of one home for one host."""

    store: Store
    host: str
    door: MaskingDoor
    tools: Mapping[str, ToolSpec]

    def shareable(self, id: str, about: str, digest: str) -> Shareable | Kept:
        """Return the demonstration `about`, masked, for the host under the name `id`; or why it stays."""
        rows = self.store.query("SELECT * FROM demonstration WHERE id = ? AND digest = ?", (about, digest))
        return _shareable(rows, id, self.host, self.door, self.tools)


def _shareable(
    rows: Sequence[sqlite3.Row], id: str, host: str, door: MaskingDoor, tools: Mapping[str, ToolSpec]
) -> Shareable | Kept:
    if not rows:
        return Kept("it was taken back, or replaced by another", is_gone=True)
    row = rows[0]
    try:
        label = label_from_text(row["label"])
        data = json.loads(row["plan_json"])
        plan = plan_from_json(data)
    except (ValueError, PlanError) as error:
        return Kept(f"it cannot be read ({error})")
    if label.readers is not None and host not in label.readers:
        return Kept("its label keeps it on this device")
    if strangers := sorted(label.sources - TRUSTED_SOURCES):
        return Kept(f"text from {', '.join(strangers)} touched it")
    if not plan.steps:
        return Kept("it says that nothing is to be done, which teaches others nothing")
    try:
        return _masked(Said(row["request"], row["now"], label), data, id, door, tools)
    except EgressError as error:
        return Kept(str(error))


@dataclass(frozen=True, slots=True)
class Said:
    """A request, when it was said, and the label of its words."""

    text: str
    now: str | None
    label: Label


def _masked(
    said: Said, data: Mapping[str, Any], id: str, door: MaskingDoor, tools: Mapping[str, ToolSpec]
) -> Shareable:
    """Mask all texts in one conversation, so that a value has the same stand-in in request and plan."""
    nodes: list[dict[str, Any]] = []
    told = [said.text, *map(str, data.get("task_steps") or ())]
    parts = [Part(text, said.label) for text in told]
    for node in data["task_nodes"]:
        arguments = [dict(argument) for argument in node["arguments"] if isinstance(argument, dict)]
        nodes.append({**{k: node[k] for k in ("task", "after") if k in node}, "arguments": arguments})
        spec = tools.get(node["task"])
        for argument in arguments:
            argument["plain"] = _is_plain(argument["value"], spec, argument["name"])
            if not argument["plain"]:
                kind = _kind(spec, argument["name"])
                parts += [Part(text, said.label, kind) for text in _literals(argument["value"])]
    masked = door.masked(parts).everywhere()
    rest = iter(masked.texts[len(told) :])
    for node in nodes:
        node["arguments"] = [
            {"name": a["name"], "value": a["value"] if a["plain"] else _filled(a["value"], rest, masked.values)}
            for a in node["arguments"]
        ]
    line = {
        "id": id,
        "user_request": masked.texts[0],
        **({"now": said.now} if said.now else {}),
        "tools": sorted({node["task"] for node in nodes}),
        "task_steps": list(masked.texts[1 : len(told)]),
        "task_nodes": nodes,
        "task_links": data.get("task_links") or [],
    }
    return Shareable(json.dumps(line, ensure_ascii=False).encode(errors="replace"), dict(masked.values))


def _kind(spec: ToolSpec | None, name: str) -> str:
    """Return the kind of value an argument holds, where its type says that it is personal; empty otherwise."""
    parameter = spec.parameter(name) if spec is not None else None
    kind = canonical_type(parameter.type) if parameter is not None else ""
    return _KINDS.get(kind.removeprefix("list[").removesuffix("]"), "")


def _is_plain(value: object, spec: ToolSpec | None, name: str) -> bool:
    """Say whether a value tells nothing of anybody: a time, or one of the options its parameter has."""
    parameter = spec.parameter(name) if spec is not None else None
    if parameter is None or not isinstance(value, str):
        return False
    is_time = canonical_type(parameter.type) in _TIMES and _TIME_FORM.fullmatch(value) is not None
    return is_time or value in parameter.enum


_REFERENCE = re.compile(r"<node-\d{1,9}(?:\.[A-Za-z0-9_]+)*>")


_SOMEBODYS_NUMBER = 100_000
"""Numbers from here on may be personal: an account, a telephone, a code; smaller ones are counts and amounts."""


def _literals(value: object) -> list[str]:
    """Return the texts written out in an encoded argument, with keys and long numbers, without references."""
    if isinstance(value, str):
        return [] if _REFERENCE.fullmatch(value) else [value]
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in (key, *_literals(item))]
    if isinstance(value, int | float):
        return [str(value)] if _SOMEBODYS_NUMBER <= abs(value) < math.inf else []
    return [text for item in value for text in _literals(item)] if isinstance(value, list) else []


def _filled(value: object, texts: Iterator[str], values: Mapping[str, str]) -> object:
    """Return `value` with its texts, in order, replaced by masked ones."""
    if isinstance(value, str):
        return value if _REFERENCE.fullmatch(value) else next(texts)
    if isinstance(value, list):
        return [_filled(item, texts, values) for item in value]
    if isinstance(value, dict):
        return {next(texts): _filled(item, texts, values) for item in value.values()}
    if isinstance(value, int | float) and _SOMEBODYS_NUMBER <= abs(value) < math.inf:
        text = next(texts)
        return text if text != str(value) else _of_digits(value, values)
    return value


def _of_digits(value: float, values: Mapping[str, str]) -> object:
    """Return the stand-in of a value with the digits of this number, however it was written; else the number."""
    digits = re.sub(r"\D", "", str(int(value)))
    held = (stand_in for stand_in, text in values.items() if digits in re.sub(r"\D", "", text))
    return next(held, value)


# ── Outbox ────────────────────────────────────────────────────────────────────────────────────────────────
# Keep what waits to be sent to the cloud: on disk in the transaction that made it, in order, until the cloud has it.
#
# Each message has an id that never changes, made from a secret of this device and from what it is about: when it is
# sent again after a lost answer, a kill or a day offline, the cloud recognises it. It is sent at least once and has
# its effect once. Kinds do not wait for each other; within a kind the order is kept.
#
# A demonstration is noted by reference when it is learnt and masked when it is sent, with the names known by then; if
# it is taken back, replaced or forgotten before, it is not sent at all (a database trigger removes it). What the
# cloud will never take is a dead letter, with the reason. When the bounds are exceeded, messages are dropped and
# counted with the reason: dead letters, then questions (they can be asked again), then demonstrations, the oldest
# first; what was learnt stays learnt here in any case. Of statistics only the newest waits.
#
# Not covered: a message the cloud took cannot be called back; a database restored from an older copy sends again, and
# the cloud, which knows the ids, does nothing twice.

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


class QuestionHolder:
    """A `protocols.Dependent` holder of the questions that wait for the cloud, or for their answer to be taken; they
    can be asked again. A demonstration that waits goes with the demonstration, by the database's own trigger."""

    name = "questions"

    def __init__(self, store: Store) -> None:
        self._store = store

    def find(self, events: Collection[str], wanted: Wanted | None, words: str) -> Held:  # noqa: ARG002 - the seam's
        """Find the questions that hold the words."""
        return self._held([(id, text) for id, text in questions(self._store) if words and holds([text], words)])

    def find_with(self, found: Held, others: Sequence[Held]) -> Held:
        """Widen to all that wait where anything else goes: their words may be its words, masked."""
        return found if all(other.is_empty for other in others) else self._held(questions(self._store))

    def _held(self, asked: Sequence[tuple[str, str]]) -> Held:
        count = Count(len(asked), "question that waits", "questions that wait")
        return Held(self.name, (count,), tuple(text for _, text in asked), rows=tuple(id for id, _ in asked) or None)

    def remove(self, cursor: sqlite3.Cursor, held: Held) -> None:
        """Remove them with their answers."""
        ids = held.rows if isinstance(held.rows, tuple) else ()
        cursor.executemany("DELETE FROM outbox WHERE kind = 'question' AND id = ?", [(id,) for id in ids])

    def sweep(self, home: Path, held: Held) -> None:
        """Remove nothing: they have no files."""


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


# ── Delivery ───────────────────────────────────────────────────────────────────────────────────────────
# Send the outbox once: each kind's messages in order, as many as the cloud takes, and a back-off for the rest.
# A message is delivered when the cloud says that it has it, now or from before; until then (no answer, a garbled one,
# a kill, a full disk) it is sent again under the same id. A message that will never be taken becomes a dead letter:
# it is found by halving the batch it came in. When a service breaks on one message alone, again and again, the next
# one is tried; if the service takes that, the first is a dead letter.
# Not covered: a cloud that says it has a message and has not.


MAX_BATCH_BYTES = 400_000
_N_ALONE = 8
"""Failures of the service on one message alone before the next one is tried."""
_NEVER = (400, 413, 422)
"""Status codes of a service that will not take a message as it is."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Counts of one turn, of one kind or of all."""

    n_delivered: int = 0
    n_known: int = 0
    """Number of those delivered that the cloud had already: an answer had been lost."""
    n_answered: int = 0
    n_dead: int = 0
    n_withdrawn: int = 0
    """Number taken out because what they told is no longer so here."""
    n_requests: int = 0
    held: tuple[tuple[Kind, str], ...] = field(default=())
    """Kinds that go on waiting, each with the reason."""

    def plus(self, other: Turn) -> Turn:
        """Add two turns."""
        return Turn(
            self.n_delivered + other.n_delivered,
            self.n_known + other.n_known,
            self.n_answered + other.n_answered,
            self.n_dead + other.n_dead,
            self.n_withdrawn + other.n_withdrawn,
            self.n_requests + other.n_requests,
            (*self.held, *other.held),
        )


@contextlib.contextmanager
def one_at_a_time(home: Path) -> Iterator[None]:
    """Keep a second sender away from this home's outbox; an agent may run meanwhile. Raises: HomeBusyError."""
    (home / "edge").mkdir(mode=0o700, exist_ok=True)
    handle = os.open(home / "edge" / "sending.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise HomeBusyError(
                f"another `hearth edge sync` runs on {str(home)!r}; nothing was sent twice; wait for it, or end it"
            ) from None
        yield
    finally:
        os.close(handle)


class Sender:
    """Sends what waits in one home's outbox over one link."""

    def __init__(
        self,
        store: Store,
        link: Link,
        sharer: Sharer,
        clock: Callable[[], dt.datetime],
        lot: random.Random | None = None,
    ) -> None:
        """Prepare the sender; nothing is sent yet.

        Args:
            lot: Spreads the waits; seeded in tests.
        """
        self._store = store
        self._link = link
        self._sharer = sharer
        self._clock = clock
        self._lot = lot or random.Random()  # noqa: S311 - no secret is made of it
        self._outbox = Outbox(store, clock)

    def turn(self, kinds: Sequence[Kind] = KINDS, *, is_patient: bool = True) -> Turn:
        """Send the messages of `kinds` that are due.

        Args:
            is_patient: False also tries kinds that should still wait: somebody asked for it.
        Raises:
            StoreError: What was sent may not be recorded; it is sent again, and has no second effect.
        """
        whole = Turn()
        for kind in kinds:
            pace = self._outbox.pace(kind)
            if is_patient and not pace.is_due(self._clock()):
                if self._outbox.head(kind, 1):
                    whole = whole.plus(Turn(held=((kind, pace.reason),)))
                continue
            whole = whole.plus(self._kind(kind))
        return whole

    def _kind(self, kind: Kind) -> Turn:
        done = Turn()
        most = _at_once(kind, self._outbox.pace(kind).n_failures)
        while True:
            rows, n_gone, n_kept = self._made(kind, most)
            done = done.plus(Turn(n_withdrawn=n_gone, n_dead=n_kept))
            if not rows:
                if n_gone or n_kept:
                    continue
                return done
            try:
                done = done.plus(self._sent(kind, rows)).plus(Turn(n_requests=1))
                most = min(_at_once(kind, 0), most * 4)
            except LinkError as error:
                done = done.plus(Turn(n_requests=1))
                if error.status in _NEVER and len(rows) > 1:
                    most = max(1, len(rows) // 2)
                elif error.status in _NEVER:
                    self._outbox.bury(kind, {rows[0].id: str(error)})
                    done = done.plus(Turn(n_dead=1))
                else:
                    return done.plus(self._waits(kind, rows, error))

    def _made(self, kind: Kind, most: int) -> tuple[list[Waiting], int, int]:
        """Build the next messages up to a size; also count those withdrawn and those made dead letters."""
        made: list[Waiting] = []
        fresh: list[Waiting] = []
        n_bytes = n_gone = n_kept = 0
        for message in self._outbox.head(kind, most):
            if message.payload is None:
                found = self._sharer.shareable(message.id, message.about, message.digest)
                if isinstance(found, Kept):
                    if found.is_gone:
                        self._outbox.withdraw(message)
                        n_gone += 1
                    else:
                        self._outbox.bury(kind, {message.id: f"kept here: {found.reason}"})
                        n_kept += 1
                    continue
                message = replace(message, payload=found.payload, stands_for=found.stands_for)
                fresh.append(message)
            assert message.payload is not None
            n_bytes += len(message.payload)
            if made and n_bytes > MAX_BATCH_BYTES:
                break
            made.append(message)
        if fresh:
            self._outbox.fix(fresh)
        return made, n_gone, n_kept

    def _sent(self, kind: Kind, rows: Sequence[Waiting]) -> Turn:
        """Send messages and record the outcome. Raises: LinkError: Nothing is recorded."""
        if kind == "question":
            (message,) = rows
            assert message.payload is not None
            with sending(message.stands_for):
                given = self._link.plan_of(message.id, message.payload)
            self._outbox.answered(message.id, given.model_dump_json().encode())
            self._heard()
            return Turn(n_answered=1)
        id, body = _batch(kind, rows)
        path = "/v1/demonstrations" if kind == "demonstration" else "/v1/statistics"
        with sending(_joined(rows)):
            receipt = self._link.give(path, id, body)
        sent = {row.id for row in rows}
        delivered = [id for id in dict.fromkeys((*receipt.accepted, *receipt.known)) if id in sent]
        refused = {turned.id: turned.reason for turned in receipt.refused if turned.id in sent}
        if not delivered and not refused:
            raise LinkError(
                f"{self._link.host!r} said nothing of the {len(sent)} messages it was sent", code="away", status=200
            )
        if both := set(delivered) & refused.keys():
            raise LinkError(
                f"{self._link.host!r} says both that it took and refused {min(both)!r}", code="away", status=200
            )
        self._outbox.settle(kind, delivered, refused)
        self._heard()
        n_known = sum(id in sent for id in set(receipt.known))
        return Turn(n_delivered=len(delivered), n_known=n_known, n_dead=len(refused))

    def _heard(self) -> None:
        told = "another device uses the same identity" if self._link.notice == "two-agents" else ""
        enrolment.note_heard(self._store, self._clock(), told)

    def _waits(self, kind: Kind, rows: Sequence[Waiting], error: LinkError) -> Turn:
        """Back off with this kind; where one message alone breaks the service, try the next one."""
        if error.status >= 500 and len(rows) == 1:
            self._outbox.count_failure(rows[0])
            if rows[0].n_failures + 1 >= _N_ALONE and self._goes_past(kind, rows[0]):
                why = f"the service broke on it {rows[0].n_failures + 1} times, and took the one after it: {error}"
                self._outbox.bury(kind, {rows[0].id: why})
                return Turn(n_dead=1)
        enrolment.note_heard(self._store, self._clock(), str(error))
        self._outbox.back_off(kind, str(error), self._lot, error.retry_after_s)
        return Turn(held=((kind, str(error)),))

    def _goes_past(self, kind: Kind, first: Waiting) -> bool:
        """Send the message after `first`; return whether the service took it."""
        behind = [message for message in self._outbox.head(kind, 2) if message.id != first.id]
        made = [message for message in behind if message.payload is not None]
        if kind == "demonstration" and behind and not made:
            found = self._sharer.shareable(behind[0].id, behind[0].about, behind[0].digest)
            if isinstance(found, Shareable):
                made = [replace(behind[0], payload=found.payload, stands_for=found.stands_for)]
                self._outbox.fix(made)
        if not made:
            return False
        try:
            self._sent(kind, made)
        except LinkError:
            return False
        return True


def _at_once(kind: Kind, n_failures: int) -> int:
    """Return how many messages go in one request: fewer after failures, to isolate one that breaks the service."""
    return max(1, edge_protocol.MAX_BATCH >> min(n_failures, 8)) if kind == "demonstration" else 1


def _batch(kind: Kind, rows: Sequence[Waiting]) -> tuple[str, bytes]:
    """Return id and body of a request. The same messages make the same request."""
    payloads = [row.payload or b"" for row in rows]
    if kind != "demonstration":
        return rows[0].id, payloads[0]
    digest = hashlib.sha256(b"\n".join(payloads)).hexdigest()
    id = f"b-{digest[:40]}"
    body = {"id": id, "demonstrations": [json.loads(payload) for payload in payloads]}
    return id, json.dumps(body, ensure_ascii=False).encode()


def _joined(rows: Sequence[Waiting]) -> dict[str, str]:
    """Merge the pseudonyms of several messages for the ledger: one pseudonym may stand for another value in each."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        for name, value in row.stands_for.items():
            found.setdefault(name, {})[value] = None
    return {name: " | ".join(values) for name, values in found.items()}
