"""Rings reminders, each due time once, through restarts, kills and clocks that jump.

A ring is a row: written before anybody is told, keyed by reminder and due time, so that whatever happens afterwards it
is never made twice. It stays open, on the page, until it is done or snoozed. What was due while nobody was up rings
on return, marked late; in the quiet hours what is late waits.

Covered: due times, repeats, snoozing, late ones, clocks set forward and back. Not covered: a device that sleeps; other
programs' alarms; whether anybody heard it.
"""

from __future__ import annotations

import datetime as dt
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

from hearth.protocols import CallContext
from hearth.storage.database import Store
from hearth.tools.pim.reminders import due_between

LOOK_BACK = dt.timedelta(days=7)
"""How long ago something may have been due to ring on return."""
LATE = dt.timedelta(minutes=2)
"""From when on a ring is late: nobody was up, or the clock jumped."""
AHEAD = dt.timedelta(minutes=10)
"""How far ahead the reminders are read at once."""
_KEPT = dt.timedelta(days=30)
_UNTIL = "rung_until"


@dataclass(frozen=True, slots=True)
class Ring:
    """A reminder that rings now."""

    number: int
    reminder: str
    text: str
    due: dt.datetime
    is_late: bool


class Notifier(Protocol):
    """Tells the owner of a ring somewhere beside the page."""

    def tell(self, ring: Ring) -> None:
        """Tell of it. What fails is left: the ring stays open on the page."""
        ...


class DesktopNotifier:
    """Shows rings by the desktop's own notifications, through `notify-send`."""

    def __init__(self) -> None:
        self._command = shutil.which("notify-send")

    def tell(self, ring: Ring) -> None:
        """Show it; nothing where the desktop has no such command."""
        if self._command is None:
            return
        with suppress(OSError, subprocess.TimeoutExpired):
            said = f"{'Late: ' if ring.is_late else ''}{ring.text}"[:300]
            arguments = [self._command, "--app-name=Hearth", "--", said, f"{ring.due:%H:%M}"]
            subprocess.run(arguments, timeout=5, check=False, capture_output=True)


class Ringing:
    """The rings of one home. Not thread-safe; `tick` it about once a second."""

    def __init__(
        self,
        store: Store,
        call: CallContext,
        changed: Callable[[], object],
        notifiers: Sequence[Notifier] = (),
        quiet_hours: str = "",
    ) -> None:
        """Ring the reminders of a home.

        Args:
            call: What a call would get; its folder is read.
            changed: A value that differs once a reminder was changed: they are read again then.
            quiet_hours: Like `22:00-07:00`, or empty.
        """
        self._store = store
        self._call = call
        self._changed = changed
        self._notifiers = notifiers
        self._quiet = _hours(quiet_hours)
        self._seen: object = None
        self._read_until: dt.datetime | None = None
        self._ahead: list[tuple[dt.datetime, str, str]] = []
        """Due times to come, soonest first, with reminder and text."""

    def tick(self, now: dt.datetime) -> tuple[Ring, ...]:
        """Ring what is due by now and rang not yet; tell of each, and return them.

        Raises:
            StoreError: The home's disk is full, say; what did not ring rings at the next tick.
        """
        until = self._until(now)
        seen = self._changed()
        if seen != self._seen or self._read_until is None or now >= self._read_until:
            self._read(until, now)
            self._seen = seen
        due = [one for one in self._ahead if one[0] <= now]
        is_quiet = _is_within(self._quiet, now)
        waiting = [one for one in due if is_quiet and now - one[0] > LATE]
        rung = [ring for one in due if one not in waiting for ring in self._ring(*one, now)]
        rung += self._again(now)
        self._ahead = [*waiting, *(one for one in self._ahead if one[0] > now)]
        if rung:
            self._read_until = None  # one that repeats may come again before the next reading
        if not waiting and (rung or now - until > dt.timedelta(minutes=1)):
            self._remember(now)
        for ring in rung:
            for notifier in self._notifiers:
                notifier.tell(ring)
        return tuple(rung)

    def _until(self, now: dt.datetime) -> dt.datetime:
        """Return until when everything due has rung; now, at the very first time."""
        rows = self._store.query("SELECT value FROM meta WHERE name = ?", (_UNTIL,))
        if not rows:
            self._remember(now)
            return now
        return max(dt.datetime.fromisoformat(rows[0][0]).astimezone(now.tzinfo), now - LOOK_BACK)

    def _remember(self, now: dt.datetime) -> None:
        with self._store.transaction() as cursor:
            cursor.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (_UNTIL, _text(now)))
            old = _text(now - _KEPT)
            cursor.execute("DELETE FROM ring WHERE state = 'over' AND rings_at < ?", (old,))

    def _read(self, until: dt.datetime, now: dt.datetime) -> None:
        # From the next second on: what was due until then has rung, and due times are whole seconds. A clock set back:
        # what rang already is known by its row.
        start = min(until.replace(microsecond=0) + dt.timedelta(seconds=1), now)
        end = now + AHEAD
        found = due_between(replace(self._call, now=now), start, end)
        self._ahead = sorted((one.at, str(one.id), one.text) for one in found if one.at is not None)
        self._read_until = end

    def _ring(self, due: dt.datetime, reminder: str, text: str, now: dt.datetime) -> list[Ring]:
        is_late = now - due > LATE
        with self._store.transaction() as cursor:
            cursor.execute(
                "INSERT OR IGNORE INTO ring (reminder, due, text, rings_at, state, is_late) VALUES (?, ?, ?, ?, ?, ?)",
                (reminder, _text(due), text, _text(now), "ringing", is_late),
            )
            number = cursor.lastrowid if cursor.rowcount == 1 else None
        return [] if number is None else [Ring(number, reminder, text, due, is_late)]

    def _again(self, now: dt.datetime) -> list[Ring]:
        """Ring what was snoozed until now."""
        rows = self._store.query("SELECT * FROM ring WHERE state = 'snoozed' AND rings_at <= ?", (_text(now),))
        if rows:
            with self._store.transaction() as cursor:
                cursor.executemany("UPDATE ring SET state = 'ringing' WHERE number = ?", [(r["number"],) for r in rows])
        return [_ring_of(row, now) for row in rows]


def open_rings(store: Store) -> tuple[Ring, ...]:
    """Return what rings in a home, the oldest first; for readers beside the one that rings."""
    rows = store.query("SELECT * FROM ring WHERE state = 'ringing' ORDER BY due, number")
    return tuple(_ring_of(row, None) for row in rows)


def snooze(store: Store, number: int, until: dt.datetime) -> bool:
    """Let a ring be silent until then; False when it is over."""
    return _set(store, number, "snoozed", until)


def end(store: Store, number: int) -> bool:
    """End a ring; False when it is over already."""
    return _set(store, number, "over", None)


def _set(store: Store, number: int, state: str, at: dt.datetime | None) -> bool:
    with store.transaction() as cursor:
        cursor.execute(
            "UPDATE ring SET state = ?, rings_at = coalesce(?, rings_at) WHERE number = ? AND state = 'ringing'",
            (state, _text(at) if at else None, number),
        )
        return cursor.rowcount == 1


def _ring_of(row: sqlite3.Row, now: dt.datetime | None) -> Ring:
    due = dt.datetime.fromisoformat(row["due"]).astimezone(now.tzinfo if now else None)
    return Ring(row["number"], row["reminder"], row["text"], due, bool(row["is_late"]))


def _text(moment: dt.datetime) -> str:
    """UTC with a fixed width, so that texts compare as moments do."""
    return moment.astimezone(dt.UTC).isoformat(timespec="microseconds")


def _hours(quiet: str) -> tuple[dt.time, dt.time] | None:
    if not quiet:
        return None
    start, _, end = quiet.partition("-")
    return dt.time.fromisoformat(start), dt.time.fromisoformat(end)


def _is_within(hours: tuple[dt.time, dt.time] | None, now: dt.datetime) -> bool:
    if hours is None:
        return False
    start, end = hours
    at = now.time()
    return start <= at < end if start <= end else at >= start or at < end
