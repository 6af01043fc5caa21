"""Hands memory back while nobody asks: the readers that answers and programs' functions open at first use.

Covered: after some quiet minutes, once for each time of work. Not covered: what every request needs, which stays.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import threading
import time
from collections.abc import Iterator

from hearth.agent import Agent
from hearth.serve.desk import Desk
from hearth.serve.programs.client_tools import ClientTools

AFTER_S = 300.0
"""How long nobody must have asked."""
_LOOK_EVERY_S = 30.0


class Resting:
    """What looks whether it has been quiet; made by `running`."""

    def __init__(self, desk: Desk, client_tools: ClientTools) -> None:
        self._desk = desk
        self._client_tools = client_tools
        self._rested_s = time.monotonic()

    def look(self, at_s: float) -> bool:
        """Hand memory back, if it has been quiet for long enough since the last work; return whether it was.

        Args:
            at_s: The monotonic clock.
        """
        last_s = max(self._desk.last_s, self._client_tools.last_s)
        if at_s - last_s < AFTER_S or last_s <= self._rested_s:
            return False
        self._client_tools.rest()
        self._desk.use_later(_rest)
        self._rested_s = at_s
        return True


def _rest(agent: Agent) -> None:
    agent.rest()
    let_go()


def let_go() -> None:
    """Hand freed memory to the system."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # only glibc keeps freed memory, and has this
        ctypes.CDLL(None).malloc_trim(0)


@contextlib.contextmanager
def running(desk: Desk, client_tools: ClientTools) -> Iterator[None]:
    """Look now and then, until the block ends."""
    resting = Resting(desk, client_tools)
    stopped = threading.Event()

    def watch() -> None:
        while not stopped.wait(_LOOK_EVERY_S):
            with contextlib.suppress(RuntimeError):  # the desk closes at this moment
                resting.look(time.monotonic())

    threading.Thread(target=watch, name="hearth-resting", daemon=True).start()
    try:
        yield
    finally:
        stopped.set()
