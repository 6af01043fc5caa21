"""Processes of `hearth` that start at once: forked from one that has imported everything, instead of 1.5 s of imports.

`WarmProcesses` starts the server below and writes a command `hearth` that asks it for a child. The child is a process
like any other: its own arguments, folder, environment, standard streams, exit code and, through the command, signals.
What starting, killing or isolating a process means is tested with real ones. The children read texts through
`encoder_memory`.

    python -m tests.warm_process SOCKET VECTORS
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import gc
import importlib
import io
import json
import os
import pkgutil
import random
import select
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from hearth import agent, patterns
from hearth.errors import MissingExtraError
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.registry import load_tools
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW
from hearth.types import Context, Request
from tests import ROOT, learned_memory
from tests.encoder_memory import remembering

COMMAND = r"""#!{python} -IS
import json, os, signal, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({path!r})
asked = json.dumps([{kind}, os.getcwd(), dict(os.environ)]).encode("utf-8", "surrogateescape")
socket.send_fds(server, [len(asked).to_bytes(4, "big")], [0, 1, 2])
server.sendall(asked)
child = int.from_bytes(server.recv(4), "big")
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda number, frame: os.kill(child, number))
code = int.from_bytes(server.recv(4), "big", signed=True)
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""
_LEFT_OUT = ("__main__", ".migrations", "hearth_bench.measure", "hearth_bench.ianvs")
"""What no command needs, or what replaces modules where it is imported."""


class WarmProcesses:
    """A server with its commands, shared by all workers of a run; end it with `close`."""

    def __init__(self, folder: Path, vectors: Path) -> None:
        """Join the server of `folder`, started by the first who asks; it ends when all have closed, or died."""
        self.bin = folder / "bin"
        """To go first on `PATH`: holds `hearth`."""
        folder.mkdir(exist_ok=True)
        users = folder / "users"
        self._starting: int | None = None
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # given back when the file is closed
            if not self.bin.exists():
                self._start(folder, users, vectors)
            self._use = os.open(users, os.O_WRONLY)
            if self._starting is not None:
                os.close(self._starting)

    def _start(self, folder: Path, users: Path, vectors: Path) -> None:
        """Return once the server serves. It is no child of this process, which may end before others have."""
        path = str(folder / "warm.sock")
        os.mkfifo(users)
        reading = os.open(users, os.O_RDONLY | os.O_NONBLOCK)  # does not wait for a writer, who can only come after it
        self._starting = os.open(users, os.O_WRONLY)
        command = [sys.executable, "-m", "tests.warm_process", path, str(vectors)]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        try:
            subprocess.run(command, cwd=ROOT, env=environment, stdin=reading, stdout=subprocess.DEVNULL, check=True)
        finally:
            os.close(reading)
        self.bin.mkdir()
        for name, kind in (("hearth", '["hearth", *sys.argv]'), ("warm-python", '["code", *sys.argv[1:]]')):
            file = self.bin / name
            file.write_text(COMMAND.format(python=sys.executable, path=path, kind=kind))
            file.chmod(file.stat().st_mode | stat.S_IXUSR)

    def close(self) -> None:
        os.close(self._use)

    def hearth(self, *arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[Any]:
        """`subprocess.run` of a command line."""
        return subprocess.run([str(self.bin / "hearth"), *map(str, arguments)], check=False, **options)

    def python(self, code: str, **options: Any) -> subprocess.CompletedProcess[Any]:
        """`subprocess.run` of a program, as `python -c` runs it."""
        return subprocess.run([str(self.bin / "warm-python"), code], check=False, **options)


# ── The server ────────────────────────────────────────────────────────────────────────────────────────────


def main(path: str, vectors: str) -> None:
    _import_all()
    with remembering(Path(vectors)), learned_memory.remembering():
        _plan_once(MiniLMEncoder.open())
        gc.freeze()  # what is shared with the children is not looked through in them, which would copy it
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
            server.listen()
            if os.fork():  # who waits for this process now knows that it serves
                os._exit(0)
            asked = _serve(server)
        if asked is not None:
            _end(_code_of(*asked))


def _import_all() -> None:
    """Import what commands import when they are asked for. Nothing runs: a thread would not live on in a child."""
    for package in ("hearth", "hearth_cloud", "hearth_home", "hearth_video", "hearth_bench"):
        try:
            root = importlib.import_module(package)
        except ModuleNotFoundError:  # a companion that is not installed
            continue
        for module in pkgutil.walk_packages(root.__path__, f"{package}."):
            if any(part in module.name for part in _LEFT_OUT):
                continue
            with contextlib.suppress(ImportError, MissingExtraError):  # what needs an extra that is not installed
                importlib.import_module(module.name)
    for one in gc.get_objects():
        if type(one) is patterns._AtFirstUse:
            one.match  # noqa: B018 compiled now, not in every child


def _plan_once(encoder: MiniLMEncoder) -> None:
    """Fill the caches of what is read in the shipped demonstrations and the tools' examples."""
    request = Request("remind me to water the plants tomorrow at nine", FIXED_NOW)
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "hearth.db") as store:
        planner, shipped = RecallPlanner(encoder, store), agent.shipped_demonstrations()
        for start in range(0, len(shipped), agent.LEARN_BATCH):  # as a new home learns them
            planner.add(shipped[start : start + agent.LEARN_BATCH])
        RecallPlanner(encoder, store).plan(request, Context(), load_tools(None).specs)  # as a home opened again reads


def _serve(server: socket.socket) -> tuple[list[str], str, dict[str, str]] | None:
    """Fork a child for each that asks; returns what is asked in a child, nothing at the end."""
    while True:
        ready, _, _ = select.select([server, sys.stdin], [], [], 1.0)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if sys.stdin in ready:
            return None
        if server not in ready:
            continue
        connection, _ = server.accept()
        if os.fork():
            connection.close()
            continue
        server.close()
        return _minded(connection)


def _minded(connection: socket.socket) -> tuple[list[str], str, dict[str, str]]:
    """In a process that waits for the child: fork the child and return there alone."""
    head, streams, _, _ = socket.recv_fds(connection, 4, 3)
    data = b""
    while len(data) < int.from_bytes(head, "big"):
        data += connection.recv(1 << 16)
    child = os.fork()
    if child == 0:
        connection.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        words, folder, environment = json.loads(data.decode("utf-8", "surrogateescape"))
        return words, folder, environment
    for stream in (*streams, 0, 1, 2):
        os.close(stream)
    connection.sendall(child.to_bytes(4, "big"))
    ended = os.pidfd_open(child)
    ready, _, _ = select.select([ended, connection.fileno()], [], [])
    if connection.fileno() in ready:  # the command was killed
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with contextlib.suppress(OSError):
        connection.sendall(code.to_bytes(4, "big", signed=True))
    os._exit(0)


def _code_of(words: Sequence[str], folder: str, environment: Mapping[str, str]) -> int:
    try:
        _run(words, folder, environment)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _end(code: int) -> NoReturn:
    """End as the interpreter does, without taking apart the modules that the server still needs."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _run(words: Sequence[str], folder: str, environment: Mapping[str, str]) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    random.seed()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", closefd=False)  # type: ignore[misc]  # noqa: SIM115
    sys.stdout = sys.__stdout__ = _writing(1, "strict")  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _writing(2, "backslashreplace")  # type: ignore[misc]
    kind, *arguments = words
    if kind == "hearth":
        from hearth.cli import main as hearth

        sys.argv = list(arguments)
        hearth()
    program = types.ModuleType("__main__")
    sys.argv, sys.modules["__main__"] = ["-c", *arguments[1:]], program
    sys.path.insert(0, "")
    exec(compile(arguments[0], "<string>", "exec"), program.__dict__)


def _writing(number: int, errors: str) -> io.TextIOWrapper:
    raw = open(number, "wb", buffering=io.DEFAULT_BUFFER_SIZE, closefd=False)  # noqa: SIM115 lives on
    return io.TextIOWrapper(raw, encoding="utf-8", errors=errors, line_buffering=number == 2 or os.isatty(number))


if __name__ == "__main__":
    main(*sys.argv[1:])
