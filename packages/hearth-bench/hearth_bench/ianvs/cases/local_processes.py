"""Define the engine interface that runs cases, and the engine that runs them in processes of this machine.

Covered: a case that dies or hangs (with a limit) affects no other; closing the iterator, Ctrl-C and the parent's
death end all cases; a case that is ended has three seconds to write what it has.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hearth_bench.ianvs.case_outcome import CANNOT_WRITE

JOB_CASE = "hearth_bench.ianvs.cases.job_case:run_case"
"""Program that runs one case of a job, as the place of its `Run`."""
_GRACE_S = 3.0
"""Seconds that a stopped case has to write what it has."""


@dataclass(frozen=True, slots=True)
class Case:
    """A case and the folder it runs in."""

    number: int
    label: str
    folder: Path
    fingerprint: str = ""
    was_done: bool = False
    """True when the case was done before this run and the run is resumed."""


@dataclass(frozen=True, slots=True)
class Event:
    """Report of an engine on a case: its progress, or its end."""

    case: Case
    doing: str = ""
    share: float = 0.0
    has_ended: bool = False
    fault: str = ""
    """Reason why there is no outcome, if the case ended without one."""
    could_write: bool = True
    """False when the outcome could not be written: other cases cannot write either."""


class Engine(Protocol):
    """Runs cases, in local processes or on a cluster with the same file system."""

    def run(self, cases: Sequence[Case]) -> Iterator[Event]:
        """Run all cases; closing the iterator stops the running ones."""
        ...


def command(program: str) -> list[str]:
    """Return the command that starts a case's process."""
    return [sys.executable, "-P", "-m", "hearth_bench.ianvs.cases.case_process", program]


def environment(seed: int) -> dict[str, str]:
    """Return the environment of a case's process.

    Hashes depend on the seed alone, and sums are computed by one thread, so results are the same on every machine; the
    variable `OPENBLAS_NUM_THREADS` gives numpy more threads.
    """
    return {"OPENBLAS_NUM_THREADS": "1", **os.environ, "PYTHONHASHSEED": str(seed % 2**32)}


def order(folder: Path, network: bool) -> str:
    """Return the line that a case's process reads from its standard input."""
    return json.dumps({"folder": str(folder), "network": network}) + "\n"


@dataclass(frozen=True, slots=True)
class Conditions:
    """Conditions that each case runs under."""

    limit_s: float = 0.0
    """Seconds after which it is ended; 0 for no limit."""
    seed: int = 0
    network: bool = False
    """Its modules may open connections."""
    program: str = JOB_CASE
    """Program that runs it."""


class LocalEngine:
    """Runs cases in processes of this machine, and starts the next one while others work, so that imports cost no time.

    Args:
        n_at_once: Number of cases run side by side.
        starts_now: Start the first process at once, before any case is given.
    """

    def __init__(self, n_at_once: int = 1, conditions: Conditions = Conditions(), *, starts_now: bool = True) -> None:
        self._n_at_once, self._conditions = n_at_once, conditions
        self._spare: subprocess.Popen[str] | None = self._start() if starts_now else None

    def run(self, cases: Sequence[Case]) -> Iterator[Event]:
        events: queue.Queue[Event] = queue.Queue()
        running: dict[int, tuple[Case, subprocess.Popen[str], float]] = {}
        waiting = list(cases)
        try:
            while waiting or running:
                while waiting and len(running) < self._n_at_once:
                    case = waiting.pop(0)
                    child, self._spare = self._spare or self._start(), None
                    self._give(child, case, events)
                    running[case.number] = (case, child, time.monotonic())
                    if waiting:
                        self._spare = self._start()
                event = self._next(events, running)
                if event is not None:
                    if event.has_ended:
                        del running[event.case.number]
                    yield event
        finally:
            self.close()
            _end([child for _, child, _ in running.values()])

    def close(self) -> None:
        """End the spare process that waits for a case."""
        if self._spare is not None:
            _end([self._spare])
            _close(self._spare)
            self._spare = None

    def _next(
        self, events: queue.Queue[Event], running: Mapping[int, tuple[Case, subprocess.Popen[str], float]]
    ) -> Event | None:
        with contextlib.suppress(queue.Empty):
            return events.get(timeout=0.5)
        for _, child, started in running.values():
            if self._conditions.limit_s and time.monotonic() - started > self._conditions.limit_s:
                _end([child])  # its reader thread reports the end
        return None

    def _start(self) -> subprocess.Popen[str]:
        # A session of its own: the terminal's Ctrl-C reaches the parent alone, which then ends the cases in order.
        return subprocess.Popen(
            command(self._conditions.program),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            env=environment(self._conditions.seed),
        )

    def _give(self, child: subprocess.Popen[str], case: Case, events: queue.Queue[Event]) -> None:
        assert child.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it died; its reader thread reports that
            child.stdin.write(order(case.folder, self._conditions.network))
            child.stdin.flush()
        threading.Thread(target=self._listen, args=(child, case, events.put, time.monotonic()), daemon=True).start()

    def _listen(self, child: subprocess.Popen[str], case: Case, put: Callable[[Event], None], started: float) -> None:
        assert child.stdout is not None
        fault = ""
        for line in child.stdout:
            with contextlib.suppress(ValueError):
                told = json.loads(line)
                fault = told.get("fault", fault)
                if "share" in told:
                    put(Event(case, str(told["doing"]), float(told["share"])))
        code = child.wait()
        _close(child)
        if self._conditions.limit_s and time.monotonic() - started > self._conditions.limit_s:
            fault = f"no end after {self._conditions.limit_s:g} s"
        elif code < 0:
            fault = f"its process was ended by {signal.Signals(-code).name}"
        fault = fault or f"its process ended with code {code}"
        put(Event(case, has_ended=True, fault=fault, could_write=code != CANNOT_WRITE))


def _end(children: Sequence[subprocess.Popen[str]]) -> None:
    """End processes: first ask them, so that they write what they have."""
    for child in children:
        if child.poll() is None:
            child.send_signal(signal.SIGINT)
    until = time.monotonic() + _GRACE_S
    for child in children:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(max(0.0, until - time.monotonic()))
        if child.poll() is None:
            child.kill()
            child.wait()


def _close(child: subprocess.Popen[str]) -> None:
    """Close the process's pipes; what is left in them is not needed."""
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
