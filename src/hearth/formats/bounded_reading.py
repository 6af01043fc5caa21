"""Reads a stranger's bytes in a process of their own, with limits of processor time, memory, output and waiting.

`read_bounded("module:function", data)` has a kept process (`reading_worker`) import the function and call it
with the bytes; what comes back are bytes, which the caller checks as it checks any stranger's. Whatever breaks the
process, or holds it longer than it may, is that item's fault: it is named, the process is replaced, the next is read.

The process is started when the first item comes, and ends when it was idle for a minute. It gets none of this process'
variables but those that Python needs: no passphrase and no key.

Covered: endless and quadratic readers, packed bombs, crashes of native decoders, readers that answer too much.
Not covered: see `reading_worker`. Two items at a time are read, others wait for them.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hearth.errors import Unreadable
from hearth.formats.reading_worker import ASKED, READ, SAID

IN_PROCESS_BYTES = 64_000
"""What is no larger may be read in this process, by a reader whose own bounds were measured (decision 16)."""
MEMORY_BYTES = 1_000_000_000
_MOST_WORKERS = 2
_PYTHON_NEEDS = ("PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LANG", "LC_ALL")


@dataclass(frozen=True, slots=True)
class Bounds:
    """What reading one item may take."""

    cpu_s: float
    wait_s: float
    n_most_bytes: int
    """Of the result."""
    memory_bytes: int = MEMORY_BYTES


@dataclass(frozen=True, slots=True)
class Usage:
    """What processes take."""

    n_bytes: int
    """Of memory."""
    cpu_s: float


class _NoAnswerError(Exception):
    """The process ended, or answered more than it may."""

    def __init__(self, *, n_bytes: int) -> None:
        super().__init__()
        self.n_bytes = n_bytes


class _Worker:
    """One process; it reads one item at a time."""

    def __init__(self, memory_bytes: int) -> None:
        worker = "hearth.formats.reading_worker"
        command = [sys.executable, "-P", "-W", "ignore", "-m", worker, str(memory_bytes)]
        variables = {name: os.environ[name] for name in _PYTHON_NEEDS if name in os.environ}
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            # Libraries of numbers would start a thread, with its own memory, for each core.
            env=variables | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        )
        self.memory_bytes = memory_bytes
        self.started_by = os.getpid()

    @property
    def is_alive(self) -> bool:
        """Whether it can read another item; not in a fork of the process that started it, whose pipes those are."""
        return self.started_by == os.getpid() and self._process.poll() is None

    def read(self, reader: str, options: Mapping[str, object], data: bytes, bounds: Bounds) -> bytes:
        """Raises: Unreadable: As `read_bounded`. BrokenPipeError: It had ended by itself before it was asked."""
        request = {"reader": reader, "options": options, "cpu_s": math.ceil(bounds.cpu_s)}
        line = json.dumps(request | {"n_most_bytes": bounds.n_most_bytes}).encode()
        is_late = threading.Event()
        timer = threading.Timer(bounds.wait_s, self._end_late, [is_late])
        timer.daemon = True
        timer.start()
        try:
            self._send(ASKED.pack(len(line), len(data)) + line)
            with contextlib.suppress(BrokenPipeError):  # it fell while it took the item: why is found below
                self._send(data)
            mark, answer = self._answer(bounds)
        except _NoAnswerError as error:
            raise self._why(error, bounds, is_late=is_late.is_set()) from None
        finally:
            timer.cancel()
            timer.join()
            if is_late.is_set():
                self.end()
        if mark != READ:
            raise Unreadable(answer.decode(errors="replace"))
        return answer

    def _end_late(self, is_late: threading.Event) -> None:
        is_late.set()
        self._process.kill()

    def _answer(self, bounds: Bounds) -> tuple[int, bytes]:
        """Raises: _NoAnswerError."""
        head = self._receive(SAID.size)
        if len(head) < SAID.size:
            raise _NoAnswerError(n_bytes=len(head))
        mark, n_bytes = SAID.unpack(head)
        if n_bytes > max(bounds.n_most_bytes, 1_000):
            self._process.kill()
            raise _NoAnswerError(n_bytes=len(head))
        answer = self._receive(n_bytes)
        if len(answer) < n_bytes:
            raise _NoAnswerError(n_bytes=len(head) + len(answer))
        return mark, answer

    def _why(self, missing: _NoAnswerError, bounds: Bounds, *, is_late: bool) -> Exception:
        """Say what became of the process that has closed its pipe."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=1.0)
        self.end()
        if is_late:
            return Unreadable(f"reading it takes longer than {bounds.wait_s:.0f} s")
        if self._process.returncode == 0 and not missing.n_bytes:
            return BrokenPipeError("it ended as it was asked")
        if self._process.returncode == -signal.SIGXCPU:
            return Unreadable(f"reading it takes more than {bounds.cpu_s:.0f} s of the processor")
        return Unreadable("damaged: its reader broke on it")

    def _send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        view = memoryview(data)
        while view:
            view = view[self._process.stdin.write(view) or 0 :]

    def _receive(self, n_bytes: int) -> bytes:
        """Return so many bytes; fewer, where the process ended before."""
        assert self._process.stdout is not None
        data = bytearray()
        while len(data) < n_bytes and (piece := self._process.stdout.read(min(n_bytes - len(data), 1 << 20))):
            data += piece
        return bytes(data)

    def usage(self) -> Usage:
        """Return what it holds and has used."""
        memory = Path(f"/proc/{self._process.pid}/statm").read_text().split()
        times = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        ticks = int(times[11]) + int(times[12])
        return Usage(int(memory[1]) * os.sysconf("SC_PAGE_SIZE"), ticks / os.sysconf("SC_CLK_TCK"))

    def end(self) -> None:
        """End the process, whatever it does."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()
        if self.started_by == os.getpid():
            self._process.kill()
            self._process.wait()


class _Workers:
    """The processes that are kept, and how many may read at once."""

    def __init__(self) -> None:
        self._free = threading.BoundedSemaphore(_MOST_WORKERS)
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []

    def read(self, reader: str, options: Mapping[str, object], data: bytes, bounds: Bounds) -> bytes:
        """Raises: Unreadable."""
        with self._free:
            for _ in range(3):
                worker = self._taken(bounds.memory_bytes)
                try:
                    return worker.read(reader, options, data, bounds)
                except BrokenPipeError:
                    worker.end()  # it had been idle for so long, or had become so large, that it ended just now
                finally:
                    self._give_back(worker)
        raise Unreadable("no process could be kept alive to read it; see what limits this machine sets")

    def _taken(self, memory_bytes: int) -> _Worker:
        with self._lock:
            while fitting := [worker for worker in self._idle if worker.memory_bytes == memory_bytes]:
                self._idle.remove(worker := fitting[-1])
                if worker.is_alive:
                    return worker
                worker.end()
        try:
            return _Worker(memory_bytes)
        except OSError as error:
            raise Unreadable(f"no process could be started to read it: {error.strerror}") from None

    def _give_back(self, worker: _Worker) -> None:
        if not worker.is_alive:
            worker.end()
            return
        with self._lock:
            self._idle.append(worker)

    def usage(self) -> Usage:
        """Return what the processes that read nothing now hold and have used."""
        with self._lock:
            each = [worker.usage() for worker in self._idle]
        return Usage(sum(one.n_bytes for one in each), sum(one.cpu_s for one in each))

    def end(self) -> None:
        """End every process that reads nothing."""
        with self._lock:
            ended, self._idle = self._idle, []
        for worker in ended:
            worker.end()


_workers = _Workers()
atexit.register(_workers.end)


def read_bounded(reader: str, data: bytes, bounds: Bounds, options: Mapping[str, object] | None = None) -> bytes:
    """Have a stranger's bytes read in a process of their own.

    Args:
        reader: `module:function`; the function takes the bytes and the options, yields the result in pieces, and raises
            `Unreadable` where it can say why. Only of this code, never of what comes from outside.
        options: What else the function is told, fit for JSON.
    Raises:
        Unreadable: It cannot be read, or not within the bounds; says why. Anything else can be read afterwards.
    """
    return _workers.read(reader, options or {}, data, bounds)


def end_readers() -> None:
    """End the processes that read nothing now; the next item starts one."""
    _workers.end()


def readers_usage() -> Usage:
    """Return what the processes that are kept and read nothing now hold and have used."""
    return _workers.usage()
