"""Learns what waits while nobody asks for anything: what `hearth learn` does, without its second tier.

Whoever asks meanwhile does not wait: learning is ended, what was gathered stays, and it begins anew after the next
quiet while.

Covered: a teacher that is away or too dear (its budget holds), a run that finds nothing, a fault. Not covered: tier
two, which needs minutes and torch.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from hearth.errors import CancelledError, HearthError
from hearth.formats.terminal_text import clean
from hearth.serve.background.background_sync import SyncState
from hearth.serve.background.learning_process import Waiting, learn_aside
from hearth.serve.desk import Desk
from hearth.storage.fault_log import note_fault

BETWEEN_S = 3600.0
"""Least time between two runs that ended."""
_LOOK_EVERY_S = 30.0
_NAME = "Learning"


class IdleLearning:
    """What learns beside a home; made by `running`."""

    def __init__(self, home: Path, desk: Desk, after_s: float, now: Callable[[], dt.datetime]) -> None:
        """Prepare it.

        Args:
            after_s: How long nobody must have asked for anything.
        """
        self._home = home
        self._desk = desk
        self._after_s = after_s
        self._now = now
        self._next_s = 0.0
        self._waits: Waiting = frozenset()
        """What the last run left waiting, as the gate turned it away: no reason for another one."""
        self.states: tuple[SyncState, ...] = (SyncState(_NAME, f"waits for {after_s / 60:g} quiet minutes"),)
        """How it stands."""

    def look(self, at_s: float) -> bool:
        """Learn, if it has been quiet for long enough; return whether a run came to its end.

        Args:
            at_s: The monotonic clock.
        """
        if at_s < self._next_s or self._desk.quiet_s < self._after_s:
            return False
        try:
            learnt = self._desk.use(
                lambda agent: learn_aside(agent.home, agent.opened.environ, self._waits, lambda: self._desk.is_wanted)
            ).result()
        except CancelledError:
            return False
        except HearthError as error:
            says, is_fault = clean(str(error)), True
        except Exception as error:
            note_fault(self._home, error)
            says, is_fault = "a fault of Hearth's own; `hearth doctor` tells of it", True
        else:
            self._waits = learnt.waits
            says, is_fault = clean(learnt.says), False
        self._next_s = at_s + BETWEEN_S
        self.states = (SyncState(_NAME, says, self._now(), is_fault),)
        return True


@contextlib.contextmanager
def running(home: Path, desk: Desk, after_s: float, now: Callable[[], dt.datetime]) -> Iterator[IdleLearning]:
    """Learn while a home is quiet, until the block ends; not at all where `after_s` is 0."""
    learning = IdleLearning(home, desk, after_s, now)
    if not after_s:
        learning.states = ()
        yield learning
        return
    stopped = threading.Event()

    def watch() -> None:
        while not stopped.wait(_LOOK_EVERY_S):
            learning.look(time.monotonic())

    thread = threading.Thread(target=watch, name="hearth-learning", daemon=True)
    thread.start()
    try:
        yield learning
    finally:
        stopped.set()
