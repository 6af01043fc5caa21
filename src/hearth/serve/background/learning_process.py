"""Learns what waits in a home in a process of its own, whose memory goes with it: what `hearth learn --fast` does.

The process that holds the home starts it while nothing else is done there, and ends it as soon as somebody wants the
agent: killed at any moment, what was given waits, and the version that plans is as it was.

Covered: a parent that is killed (its child ends, too), a teacher's budget, what the gate turned away (not tried again).
Not covered: an encrypted home whose passphrase was typed at the terminal: it is said that it cannot be opened.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hearth.errors import CancelledError, HearthError

if TYPE_CHECKING:
    from hearth.learning.versions.learned_state import State

_LOOK_EVERY_S = 0.05
_NICE = 10
"""How far it stands behind everything else."""

Waiting = frozenset[tuple[str, str]]
"""Id and digest of what is not learnt."""


@dataclass(frozen=True, slots=True)
class Learnt:
    """Outcome of a learning run."""

    says: str
    waits: Waiting


def learn_aside(home: Path, environ: Mapping[str, str], known: Waiting, is_wanted: Callable[[], bool]) -> Learnt:
    """Learn what waits in a process of its own, unless that is what is `known` to wait; the caller holds the home.

    Raises:
        CancelledError: Somebody wants the agent; nothing was learnt. HearthError: It failed, with its reason.
    """
    command = [sys.executable, "-P", "-m", "hearth.serve.background.learning_process", str(home)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=dict(environ)
    ) as child:
        assert child.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            child.stdin.write(json.dumps(sorted(known)) + "\n")  # it stays open: its end is the parent's
            child.stdin.flush()
        try:
            said = _followed(child, is_wanted)
        finally:
            if child.poll() is None:
                child.kill()
    try:
        found = json.loads(said)
        if "fault" in found:
            raise HearthError(str(found["fault"]))
        return Learnt(str(found["says"]), frozenset((str(id), str(digest)) for id, digest in found["waits"]))
    except (ValueError, KeyError, TypeError):
        raise HearthError(f"learning ended with {child.returncode}, not saying why; try `hearth learn`") from None


def _followed(child: subprocess.Popen[str], is_wanted: Callable[[], bool]) -> str:
    while True:
        if is_wanted():
            raise CancelledError("learning waits until nobody asks for anything")
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_LOOK_EVERY_S)
            assert child.stdout is not None
            return child.stdout.read()


# ── In the process of its own ─────────────────────────────────────────────────────────────────────────────


def learnt(home: Path, known: Waiting) -> Learnt:
    """Gather what the home's requests teach, and learn what waits. Raises: HearthError."""
    from hearth import config
    from hearth.learning.stream import gather
    from hearth.learning.versions.learned_state import Offer, State
    from hearth.learning.versions.promotion_gate import silent
    from hearth.models.sentence_encoder import MiniLMEncoder
    from hearth.registry import load_tools
    from hearth.storage.database import Store

    encoder = MiniLMEncoder.open(config.cache_folder(os.environ))
    with Store.open(home / "hearth.db") as store:
        state = State.open(home, encoder, Offer(load_tools(home).specs), store=store)
        gather(state, home, encoder, silent)
        waits = _waiting(state)
        if waits <= known:
            return Learnt("nothing new to learn", waits)
        report = state.learn()
        if report.version is not None:
            what = f"{report.n_learnt:,} demonstration{'s' * (report.n_learnt != 1)}"
            return Learnt(f"learnt {what}: version {report.version}", _waiting(state))
        says = f"not learnt: {report.verdict.reason}" if report.verdict is not None else "nothing new to learn"
        return Learnt(says, _waiting(state))


def _waiting(state: State) -> Waiting:
    current = state.lineage.current()
    members = state.lineage.members(current.number if current is not None else None)
    taught = {(id, digest) for id, digest in state.buffer.ids().items() if members.get(id) != digest}
    return frozenset(taught | {(entry.id, entry.digest) for entry in state.buffer.set_aside("waiting")})


def main() -> None:
    """Learn in the home that is named; what was known to wait comes in, the outcome goes out, each a line of JSON."""
    os.nice(_NICE)
    out = os.dup(1)
    os.dup2(2, 1)  # a plug-in may print
    known = frozenset((id, digest) for id, digest in json.loads(sys.stdin.readline()))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        found = learnt(Path(sys.argv[1]), known)
        said: dict[str, object] = {"says": found.says, "waits": sorted(found.waits)}
    except HearthError as error:
        said = {"fault": str(error)}
    os.write(out, json.dumps(said).encode())


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(3)


if __name__ == "__main__":
    main()
