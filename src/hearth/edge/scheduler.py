"""Run a device's recurring work between requests as commands: sending and fetching, tending, learning.

The loop itself holds nothing and locks nothing: each piece of work is a process (`hearth edge sync`, `hearth memory
tend`, `hearth learn --fast`) that takes the home, does its work and gives the home and its memory back. So a request of
the owner's hardly ever waits, and a piece that fails or hangs does so alone. The outcome of each piece is in a small
file that probes read.

Covered: a home that is in use (tried again later), pieces that fail, hang or are killed, being told to end while one
runs (it gets Ctrl-C, which loses nothing, and time to finish), a health file that cannot be written.
Not covered: the clock set back by hours (a piece then waits as much longer).
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hearth.errors import ConfigError, StoreError

BUSY, FAULT, UNREADABLE, UNSET = 75, 70, 74, 78
"""Exit codes of `hearth`: in use, a fault in Hearth, files that cannot be read or written, settings that are wrong."""
BAD = (FAULT, UNREADABLE, UNSET)
"""With one of these a device is not ready: somebody has to look."""
HEALTH_FILE = "health.json"
_RETRY_S = 60.0
_POLL_S = 0.2
_OUTPUT_CHARACTERS = 2_000
_DATABASE = ("hearth.db", "hearth.db-wal")


@dataclass(frozen=True, slots=True)
class Piece:
    """A command that is run again and again."""

    arguments: tuple[str, ...]
    every_s: float
    needs_quiet: bool = False
    """Run only while the owner has asked nothing for a while."""
    needs_file: Path | None = None
    """Run only while this file exists."""
    is_once: bool = False
    """Do not run again once it is done."""
    may_be: tuple[int, ...] = (0, 6)
    """Exit codes that count as done."""
    may_be_hastened: bool = False
    """May run sooner when somebody asks for it."""

    @property
    def name(self) -> str:
        return " ".join(self.arguments)


@dataclass(frozen=True, slots=True)
class Ran:
    """Outcome of one run of a piece."""

    at: dt.datetime
    code: int
    says: str
    took_s: float

    def to_json(self) -> dict[str, object]:
        return {"at": self.at.isoformat(), "code": self.code, "says": self.says, "took_s": round(self.took_s, 2)}


@dataclass(frozen=True, slots=True)
class Times:
    """Intervals and limits, in seconds."""

    tick_s: float = 30.0
    """Interval of writing the health file."""
    quiet_s: float = 600.0
    """Time without requests before learning begins."""
    limit_s: float = 3600.0
    """A piece that runs longer is ended."""
    grace_s: float = 20.0
    """Time a piece may take to end when it is told to."""
    hasten_s: float = 60.0
    """Least time between a piece's end and its next run on request."""


@dataclass
class _Due:
    piece: Piece
    at_s: float
    last: Ran | None = None
    ended_s: float = float("-inf")


@dataclass
class Runner:
    """Runs pieces on a home until it is told to stop. One thread."""

    home: Path
    pieces: Sequence[Piece]
    health: Path
    times: Times = field(default_factory=Times)
    say: Callable[[str], None] = print
    command: tuple[str, ...] = (sys.executable, "-m", "hearth")
    stop: threading.Event = field(default_factory=threading.Event)
    asked: threading.Event | None = None
    """Set by whoever asks for pieces that may be hastened; None when nobody does."""
    _touched: Mapping[str, int] = field(default_factory=dict)
    """Last modification of the database files, as far as the loop knows."""
    _others_s: float = 0.0
    """Last time somebody else wrote to the database."""

    def run(self, *, once: bool = False) -> bool:
        """Run what is due, until `stop` is set; with `once`, each piece once, in order.

        Returns:
            Whether every piece ended well the last time it ran.
        """
        started_s = time.monotonic()
        due = [_Due(piece, started_s) for piece in self.pieces]
        while not self.stop.is_set():
            self._hasten(due)
            now_s = time.monotonic()
            for one in due:
                if one.at_s > now_s or self.stop.is_set():
                    continue
                if not self._may_run(one.piece, once=once):
                    one.at_s = time.monotonic() + min(_RETRY_S, one.piece.every_s)
                    continue
                one.last = self._ran(one.piece, due)
                one.ended_s = time.monotonic()
                wait_s = min(_RETRY_S, one.piece.every_s) if one.last.code == BUSY else one.piece.every_s
                if one.piece.is_once and one.last.code == 0:
                    wait_s = float("inf")
                one.at_s = time.monotonic() + wait_s
            self._write("waiting", due)
            if once:
                break
            soonest_s = min((one.at_s for one in due), default=now_s + self.times.tick_s) - time.monotonic()
            self._wait(max(0.0, min(self.times.tick_s, soonest_s)))
        self._write("ended", due)
        return all(one.last is None or one.last.code in (*one.piece.may_be, BUSY) for one in due)

    def _hasten(self, due: Sequence[_Due]) -> None:
        """Bring pieces that were asked for forward, as soon as they may run again; intervals stay as they are."""
        if self.asked is None or not self.asked.is_set():
            return
        self.asked.clear()
        for one in due:
            if one.piece.may_be_hastened:
                one.at_s = min(one.at_s, one.ended_s + self.times.hasten_s)

    def _wait(self, seconds: float) -> None:
        """Wait until something is due or asked for, or the loop is told to stop."""
        until_s = time.monotonic() + seconds
        while self.asked is not None and not self.asked.is_set() and not self.stop.is_set():
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                return
            self.stop.wait(min(left_s, _POLL_S))
        if self.asked is None:
            self.stop.wait(seconds)

    def _may_run(self, piece: Piece, *, once: bool) -> bool:
        if piece.needs_file is not None and not piece.needs_file.exists():
            return False
        return once or not piece.needs_quiet or self._is_quiet()

    def _ran(self, piece: Piece, due: Sequence[_Due]) -> Ran:
        """Run one piece to its end, writing the health file meanwhile."""
        self._note_others()
        at, started_s = dt.datetime.now(dt.UTC), time.monotonic()
        line = [*self.command, "--home", str(self.home), *piece.arguments]
        try:
            child = subprocess.Popen(
                line,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C at a terminal reaches the loop alone, which passes it on
            )
        except OSError as error:
            return Ran(at, UNREADABLE, f"cannot be started: {error.strerror}", 0.0)
        said: list[bytes] = []
        reader = threading.Thread(target=_drained, args=(child, said), daemon=True)
        reader.start()
        ended, written_s = "", float("-inf")
        while child.poll() is None:
            if time.monotonic() - written_s >= self.times.tick_s:
                self._write(f"running {piece.name}", due)
                written_s = time.monotonic()
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout=min(self.times.tick_s, _POLL_S))
            if self.stop.is_set() or time.monotonic() - started_s > self.times.limit_s:
                ended = "told to end" if self.stop.is_set() else f"ended after {self.times.limit_s:g} s"
                self._end(child)
        reader.join(timeout=1.0)
        took_s = time.monotonic() - started_s
        text = b"".join(said)[-_OUTPUT_CHARACTERS:].decode(errors="replace").strip()
        last = text.splitlines()[-1] if text else ""
        ran = Ran(at, child.returncode, ended or last, took_s)
        if ran.code not in piece.may_be or text:
            mark = "" if ran.code in piece.may_be else f" ended with {ran.code}:"
            self.say(f"{piece.name}:{mark} {ended or text}")
        self._touched = self._stamps()
        return ran

    def _end(self, child: subprocess.Popen[bytes]) -> None:
        """End a child process: with Ctrl-C first, which every command answers to, then with stronger signals."""
        for number, wait_s in ((signal.SIGINT, self.times.grace_s), (signal.SIGTERM, 2.0), (signal.SIGKILL, 10.0)):
            with contextlib.suppress(ProcessLookupError):
                child.send_signal(number)
            try:
                child.wait(timeout=wait_s)
                return
            except subprocess.TimeoutExpired:
                continue

    def _stamps(self) -> dict[str, int]:
        found = {}
        for name in _DATABASE:
            with contextlib.suppress(OSError):
                found[name] = (self.home / name).stat().st_mtime_ns
        return found

    def _is_quiet(self) -> bool:
        """Say whether nobody but the loop has written to the home's database for a while."""
        self._note_others()
        return abs(time.time() - self._others_s) >= self.times.quiet_s

    def _note_others(self) -> None:
        """Notice writes by others: every write since the loop's own last piece was somebody else's."""
        now = self._stamps()
        if now != self._touched:
            self._others_s = max(now.values(), default=0) / 1e9
            self._touched = now

    def _write(self, state: str, due: Sequence[_Due]) -> None:
        document = {
            "at": dt.datetime.now(dt.UTC).isoformat(),
            "pid": os.getpid(),
            "state": state,
            "commands": {one.piece.name: one.last.to_json() for one in due if one.last is not None},
        }
        temporary = self.health.with_name(f".{self.health.name}.{os.getpid()}.tmp")
        try:
            self.health.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(json.dumps(document, indent=1) + "\n")
            temporary.replace(self.health)
        except OSError as error:  # a probe then finds it stale, as it should
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            self.say(f"cannot write the health file {str(self.health)!r}: {error.strerror}")


def _drained(child: subprocess.Popen[bytes], said: list[bytes]) -> None:
    assert child.stdout is not None
    with child.stdout as pipe:
        while piece := pipe.read1(65536):  # type: ignore[attr-defined]  # a BufferedReader
            said.append(piece)
            del said[:-64]


# ── What probes read ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Health:
    """Contents of the health file."""

    age_s: float
    state: str
    bad: tuple[str, ...]
    """Pieces that ended so that somebody has to look, each with its output."""

    def fault(self, max_age_s: float, *, ready: bool) -> str:
        """Return why the loop is not well; empty when it is. Args: ready: Whether failures of its pieces count, too."""
        if self.age_s > max_age_s:
            return f"the health file was written {self.age_s:.0f} s ago; expected at most {max_age_s:g}"
        if ready and self.bad:
            return "; ".join(self.bad)
        return ""


def read_health(file: Path, now: dt.datetime) -> Health:
    """Read a health file.

    Raises:
        StoreError: There is none. ConfigError: It is not what the loop writes.
    """
    try:
        document = json.loads(file.read_bytes())
        at = dt.datetime.fromisoformat(document["at"])
        bad = tuple(
            f"{name}: {ran['says'] or 'it said nothing'}"
            for name, ran in document["commands"].items()
            if ran["code"] in BAD
        )
        return Health(abs((now - at).total_seconds()), str(document["state"]), bad)
    except OSError as error:
        raise StoreError(f"no health file {str(file)!r} ({error.strerror}); `hearth edge run` writes it") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{str(file)!r} is no health file of `hearth edge run` ({error!r})") from None
