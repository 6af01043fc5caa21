"""Send the outbox once: each kind's messages in order, as many as the cloud takes, and a back-off for the rest.

A message is delivered when the cloud says that it has it, now or from before; until then (no answer, a garbled one, a
kill, a full disk) it is sent again under the same id. A message that will never be taken becomes a dead letter: it is
found by halving the batch it came in. When a service breaks on one message alone, again and again, the next one is
tried; if the service takes that, the first is a dead letter.

Not covered: a cloud that says it has a message and has not.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import fcntl
import hashlib
import json
import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hearth.edge import enrolment
from hearth.edge.cloud_link import Link
from hearth.edge.outbox import KINDS, Kind, Outbox, Waiting
from hearth.edge.share_policy import Kept, Shareable, Sharer
from hearth.errors import HomeBusyError, LinkError
from hearth.formats import edge_protocol
from hearth.guard.egress.gateway import sending
from hearth.storage.database import Store

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
