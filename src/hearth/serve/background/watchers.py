"""Runs what plug-ins watch while `hearth up` runs (`registry.WATCHERS`): sensors, say. What they report is remembered.

Events are written by the desk's thread, as the running agent's memory is read into RAM once: so the next question finds
them.

Covered: a plug-in that cannot be loaded, that fails or ends (the page says so; the rest goes on). Not covered: one that
does not end when it is told to: the process leaves it.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from hearth.errors import HearthError
from hearth.formats.terminal_text import clean
from hearth.registry import WATCHERS, Part, blamed, load_parts
from hearth.serve.background.background_sync import SyncState
from hearth.serve.desk import Desk
from hearth.types import Label

ENDS_WITHIN_S = 2.0


class DeskMemory:
    """Puts down what was sensed, by the desk (a `protocols.Remembering`)."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def remember(self, text: str, *, kind: str, at: dt.datetime, label: Label, key: str) -> str:
        """Put it down once the desk is free. Returns: The key, by which it is kept."""
        self._desk.use_later(lambda agent: agent.memory.remember(text, kind=kind, at=at, label=label, key=key))
        return key


class Watchers:
    """What watches beside a home; made by `running`."""

    def __init__(self, now: Callable[[], dt.datetime]) -> None:
        self._now = now
        self._states: dict[str, SyncState] = {}

    @property
    def states(self) -> tuple[SyncState, ...]:
        """How each stands, by name; none of those that have nothing to watch."""
        return tuple(self._states[name] for name in sorted(self._states))

    def say(self, name: str, fault: str) -> None:
        """Note how one stands; an empty text: it is well."""
        title = name.replace("_", " ").capitalize()
        self._states[name] = SyncState(title, clean(fault) or "listened to", self._now(), bool(fault))

    def watch(
        self, part: Part, home: Path, environ: Mapping[str, str], memory: DeskMemory, stop: threading.Event
    ) -> None:
        """Let one watch until it ends; what it fails of is said."""
        try:
            with blamed(f"{part.name!r} of {part.origin}"):
                part.invoke(home, environ, memory, stop, lambda fault: self.say(part.name, fault))
        except HearthError as error:
            if not stop.is_set():
                self.say(part.name, f"no longer listened to: {error}")


@contextlib.contextmanager
def running(home: Path, environ: Mapping[str, str], desk: Desk, now: Callable[[], dt.datetime]) -> Iterator[Watchers]:
    """Let everything that is installed watch until the block ends."""
    watchers = Watchers(now)
    parts = load_parts(WATCHERS)
    for fault in parts.faults:
        watchers.say(fault.partition(":")[0][:40], fault)
    stop = threading.Event()
    given = (home, environ, DeskMemory(desk), stop)
    threads = [
        threading.Thread(target=watchers.watch, args=(part, *given), name=f"hearth-{part.name}", daemon=True)
        for part in parts.loaded
    ]
    for thread in threads:
        thread.start()
    try:
        yield watchers
    finally:
        stop.set()
        ends = time.monotonic() + ENDS_WITHIN_S
        for thread in threads:
            thread.join(max(0.0, ends - time.monotonic()))
