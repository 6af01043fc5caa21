"""Rings reminders, each due time once, through restarts, kills and clocks that jump.

A ring is a row: written before anybody is told, keyed by reminder and due time, so that whatever happens afterwards it
is never made twice. It stays open, on the page, until it is done or snoozed. What was due while nobody was up rings
on return, marked late; in the quiet hours what is late waits.

Covered: due times, repeats, snoozing, late ones, clocks set forward and back. Not covered: a device that sleeps; other
programs' alarms; whether anybody heard it.
"""

from __future__ import annotations

import datetime as dt
import html
import queue
import shutil
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

from hearth.formats.terminal_text import clean
from hearth.protocols import CallContext
from hearth.storage.database import Store
from hearth.tools.pim.reminders import due_between, still_due

LOOK_BACK = dt.timedelta(days=7)
"""How long ago something may have been due to ring on return."""
LATE = dt.timedelta(minutes=2)
"""From when on a ring is late: nobody was up, or the clock jumped. What comes to be known so long after it was due, a
file that another program brings say, rings still."""
AHEAD = dt.timedelta(minutes=10)
"""How far ahead the reminders are read at once."""
_KEPT = dt.timedelta(days=30)
_UNTIL = "rung_until"
_MOST_UNTOLD = 100
"""How many rings may wait for a notifier that hangs; further ones are on the page alone."""


@dataclass(frozen=True, slots=True)
class Ring:
    """A reminder that rings now."""

    number: int
    reminder: str
    text: str
    due: dt.datetime
    is_late: bool


@dataclass(frozen=True, slots=True)
class EndedRing:
    """A ring that was ended, and its state before."""

    number: int
    state: str


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
        """Show it."""
        self.show(f"{'Late: ' if ring.is_late else ''}{ring.text}", f"{ring.due:%H:%M}")

    def show(self, said: str, below: str) -> None:
        """Show two texts; nothing where the desktop has no such command."""
        if self._command is None:
            return
        with suppress(OSError, ValueError, subprocess.TimeoutExpired):
            arguments = [self._command, "--app-name=Hearth", "--", _as_summary(said[:300]), _as_body(below[:300])]
            subprocess.run(arguments, timeout=5, check=False, capture_output=True)


def _as_summary(text: str) -> str:
    """Write a text as a notification's first line: it is plain text, but some desktops draw its tags."""
    return text.replace("<", "‹").replace(">", "›")


def _as_body(text: str) -> str:
    """Write a text as a notification's body, of which desktops draw links, pictures and letters' forms, and in which
    `notify-send` reads backslashes as signs of others."""
    return html.escape(text, quote=False).replace("\\", "\\\\")


class Aside:
    """Tells through another notifier in a thread of its own, so that one that hangs holds up neither the next ring nor
    the end of the process."""

    def __init__(self, notifier: Notifier) -> None:
        """Start the thread; `close` ends it."""
        self._notifier = notifier
        self._untold: queue.Queue[Ring | None] = queue.Queue(_MOST_UNTOLD)
        self._is_closed = False
        threading.Thread(target=self._tell_all, name="hearth-notifier", daemon=True).start()

    def tell(self, ring: Ring) -> None:
        """Have it told, and return at once."""
        with suppress(queue.Full):
            self._untold.put_nowait(ring)

    def close(self) -> None:
        """Tell of nothing more; what is being told is not waited for."""
        self._is_closed = True
        with suppress(queue.Full):
            self._untold.put_nowait(None)

    def _tell_all(self) -> None:
        while (ring := self._untold.get()) is not None and not self._is_closed:
            with suppress(Exception):  # what fails is left: the ring stays open on the page
                self._notifier.tell(ring)


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
        self._quiet = hours_in(quiet_hours)
        self._seen: object = None
        self._read_until: dt.datetime | None = None
        self._last_tick: dt.datetime | None = None
        self._ahead: list[tuple[dt.datetime, str, str]] = []
        """Due times to come, soonest first, with reminder and text."""
        self._n_dropped = 0

    @property
    def n_dropped(self) -> int:
        """How many open rings ended by themselves so far: their reminder was done, deleted or moved elsewhere."""
        return self._n_dropped

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
        is_quiet = is_within(self._quiet, now)
        waiting = [one for one in due if is_quiet and now - one[0] > LATE]
        rung = [ring for one in due if one not in waiting for ring in self._ring(*one, now)]
        rung += self._again(now)
        self._last_tick = now
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
        """Return until when everything due has rung; now, at the very first time and where the clock was set back."""
        rows = self._store.query("SELECT value FROM meta WHERE name = ?", (_UNTIL,))
        if not rows:
            self._remember(now)
            return now
        until = dt.datetime.fromisoformat(rows[0][0]).astimezone(now.tzinfo)
        if now < until:
            self._remember(now)
        return max(min(until, now), now - LOOK_BACK)

    def _remember(self, now: dt.datetime) -> None:
        with self._store.transaction() as cursor:
            cursor.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (_UNTIL, _text(now)))
            old = _text(now - _KEPT)
            cursor.execute("DELETE FROM ring WHERE state = 'over' AND rings_at < ?", (old,))

    def _read(self, until: dt.datetime, now: dt.datetime) -> None:
        # What rang already is known by its row: to look back too far rings nothing twice. To look back too little loses
        # what was due since the last tick, or what somebody added a moment too late.
        start = min(until, self._last_tick or until, now - LATE)
        start = max(start.replace(microsecond=0) + dt.timedelta(seconds=1), now - LOOK_BACK)
        end = now + AHEAD
        found = due_between(replace(self._call, now=now), start, end)
        self._ahead = sorted((one.at, str(one.id), clean(one.text)) for one in found if one.at is not None)
        self._read_until = end
        self._drop(now)

    def _drop(self, now: dt.datetime) -> None:
        """End the rings, open and snoozed, whose reminder was done, deleted or moved."""
        rows = self._store.query("SELECT * FROM ring WHERE state <> 'over'")
        if not rows:
            return
        rung = {row["number"]: (row["reminder"], dt.datetime.fromisoformat(row["due"])) for row in rows}
        due = still_due(replace(self._call, now=now), rung.values())
        over = [(number,) for number, one in rung.items() if one not in due]
        if over:
            with self._store.transaction() as cursor:
                cursor.executemany("UPDATE ring SET state = 'over' WHERE number = ?", over)
            self._n_dropped += len(over)

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
        snoozed = "SELECT * FROM ring WHERE state = 'snoozed' AND rings_at <= ?"
        if not self._store.query(snoozed, (_text(now),)):
            return []
        self._drop(now)
        rows = self._store.query(snoozed, (_text(now),))
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
    with store.transaction() as cursor:
        cursor.execute(
            "UPDATE ring SET state = 'snoozed', rings_at = ? WHERE number = ? AND state = 'ringing'",
            (_text(until), number),
        )
        return cursor.rowcount == 1


def end(store: Store, number: int) -> tuple[EndedRing, ...]:
    """End a ring and the others of its reminder: done once, it is done for all. Empty when it is over already."""
    with store.transaction() as cursor:
        cursor.execute(
            "SELECT number, state FROM ring WHERE state <> 'over'"
            " AND reminder = (SELECT reminder FROM ring WHERE number = ? AND state = 'ringing')",
            (number,),
        )
        ended = tuple(EndedRing(row["number"], row["state"]) for row in cursor.fetchall())
        cursor.executemany("UPDATE ring SET state = 'over' WHERE number = ?", [(one.number,) for one in ended])
    return ended


def ring_on(store: Store, ended: Sequence[EndedRing]) -> None:
    """Let rings be as they were before `end`: what they remind of could not be done."""
    with store.transaction() as cursor:
        cursor.executemany(
            "UPDATE ring SET state = ? WHERE number = ? AND state = 'over'", [(one.state, one.number) for one in ended]
        )


def _ring_of(row: sqlite3.Row, now: dt.datetime | None) -> Ring:
    due = dt.datetime.fromisoformat(row["due"]).astimezone(now.tzinfo if now else None)
    return Ring(row["number"], row["reminder"], clean(row["text"]), due, bool(row["is_late"]))


def _text(moment: dt.datetime) -> str:
    """UTC with a fixed width, so that texts compare as moments do."""
    return moment.astimezone(dt.UTC).isoformat(timespec="microseconds")


def hours_in(quiet: str) -> tuple[int, int] | None:
    """Read hours like `22:00-24:00` as minutes of the day. Raises: ValueError: They are none."""
    if not quiet:
        return None
    start, end = (clock.partition(":") for clock in quiet.split("-"))
    return int(start[0]) * 60 + int(start[2]), int(end[0]) * 60 + int(end[2])


def is_within(hours: tuple[int, int] | None, now: dt.datetime) -> bool:
    """Say whether a moment lies in such hours, which may go over midnight."""
    if hours is None:
        return False
    start, end = hours
    minute = now.hour * 60 + now.minute
    return start <= minute < end if start <= end else minute >= start or minute < end
