"""A process killed at any moment of a plan loses no acknowledged write and does nothing twice.

Run as a script, this file is the harness: it forks a child per trial (so that imports are paid once), kills it with
SIGKILL at a moment drawn from a seed, has further children resume, some of which are killed, too, and prints what is
left as JSON. The pytest process only judges.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from hearth.execution.executor import Executor
from hearth.formats.tool_signature import tool
from hearth.guard.decision import Occasion, Records
from hearth.guard.monitor import Monitor
from hearth.guard.policy.question import RefusingApprover, YesApprover
from hearth.guard.policy.rules import Policy
from hearth.protocols import Approver, CallContext
from hearth.storage.database import Store
from hearth.storage.trace import StartedStep, Trace
from hearth.storage.workspace import Folder
from hearth.testing import ClosedEgress, InMemoryMemory
from hearth.types import Answer, Episode, Plan, Ref, Request, Step, StepResult

N_TRIALS = 50
PAUSE_S = 0.004
NOW = dt.datetime(2026, 11, 20, 9, 30, tzinfo=dt.UTC)

# ── Tools that write files, slowly enough to be killed in the middle ────────────────────────────────────────


@tool(effect="change")
def append(path: str, text: str, call: CallContext) -> str:
    """Append a line in two writes."""
    old = call.workspace.read(path) if call.workspace.exists(path) else b""
    time.sleep(PAUSE_S)
    call.workspace.write(path, old + text.encode())
    time.sleep(PAUSE_S)
    call.workspace.write(path, old + text.encode() + b"\n")
    return text


@tool(effect="change")
def count(path: str, call: CallContext) -> int:
    """Add one to a number in a file."""
    n = int(call.workspace.read(path)) if call.workspace.exists(path) else 0
    time.sleep(PAUSE_S)
    call.workspace.write(path, str(n + 1).encode())
    return n + 1


@tool(effect="change")
def make_two(name: str, call: CallContext) -> list[str]:
    """Make two files that belong together, named by the call."""
    paths = [f"{name}/{call.key}-{part}.txt" for part in ("left", "right")]
    for path in paths:
        call.workspace.write(path, call.now.isoformat().encode())
        time.sleep(PAUSE_S)
    return paths


@tool(effect="change")
def move(path: str, to: str, call: CallContext) -> str:
    """Move a file: write the new one, delete the old one."""
    call.workspace.write(to, call.workspace.read(path))
    time.sleep(PAUSE_S)
    call.workspace.delete(path)
    return to


@tool()
def look(path: str, call: CallContext) -> str:
    """Read a file."""
    time.sleep(PAUSE_S)
    return call.workspace.read(path).decode()


@tool(effect="send", is_idempotent=False)
def post(text: str, call: CallContext) -> str:
    """Send a line to where nothing can be taken back."""
    time.sleep(PAUSE_S)
    with Path(str(call.settings["post"]["outbox"])).open("a") as outbox:
        outbox.write(text + "\n")
        outbox.flush()
        os.fsync(outbox.fileno())
    time.sleep(PAUSE_S)
    return text


TOOLS = {t.spec.name: t for t in (append, count, make_two, move, look, post)}
PLAN = Plan(
    (
        Step("append", {"path": "log.md", "text": "one"}),
        Step("look", {"path": "log.md"}, after=(0,)),
        Step("count", {"path": "n.txt"}),
        Step("make_two", {"name": "pairs"}),
        Step("append", {"path": "log.md", "text": Ref(1)}),
        Step("move", {"path": Ref(3, ("0",)), "to": "pairs/moved.txt"}),
        Step("count", {"path": "n.txt"}, after=(2,)),
        Step("post", {"text": Ref(4)}),
        Step("look", {"path": "n.txt"}, after=(6,)),
        Step("append", {"path": "log.md", "text": Ref(8)}, after=(4,)),
    )
)
SEND = 7

# ── The harness ───────────────────────────────────────────────────────────────────────────────────────────


class SpeakingTrace(Trace):
    """Says which steps are acknowledged, after they are on disk."""

    def __init__(self, store: Store, say: Callable[[str], None]) -> None:
        super().__init__(store)
        self._say = say

    def steps(self, id: str, *, finished: Sequence[StepResult], started: Sequence[StartedStep]) -> None:
        super().steps(id, finished=finished, started=started)
        for result in finished:
            self._say(f"{result.step} {result.status}")


def act(home: Path, say: Callable[[str], None]) -> list[StepResult]:
    """Run the plan in `home`, or carry on what is left of it."""
    with Store.open(home / "hearth.db") as store:
        folder = Folder(home / "owner", store)
        trace = SpeakingTrace(store, say)
        settings: Mapping[str, Mapping[str, Any]] = {"post": {"outbox": str(home / "outbox")}}

        def context(key: str, now: dt.datetime) -> CallContext:
            workspace = folder.for_call(key)
            return CallContext(key, now, workspace, InMemoryMemory(), ClosedEgress(), settings, threading.Event())

        left = trace.unfinished()
        approver: Approver = RefusingApprover() if left else YesApprover()
        monitor = Monitor(TOOLS, Policy(), approver, Records.of(store))
        executor = Executor(monitor, trace, context, folder)
        if left:
            say("begin")
        if trace.episodes():  # killed after the end, before the exit
            return list(trace.episode("e1").results)
        if left:
            results = executor.resume(left[0])
        else:
            trace.begin(Request("do it all", NOW), "e1")
            ruling = monitor.rule(PLAN, occasion=Occasion(NOW, folder.for_call(""), "e1"))
            trace.planned("e1", PLAN, None, ruling, 0.0)
            say("begin")
            results = executor.run("e1", PLAN, monitor.specs, NOW)
        trace.finish(Episode("e1", Request("do it all", NOW), PLAN, None, None, results, Answer("done", "done")))
        return list(results)


def forked(home: Path, kill_after_s: float | None) -> tuple[list[str], bool, float]:
    """Act in a child, killed `kill_after_s` after it began.

    Returns:
        What it said, whether it came to its end, seconds from its beginning to its end.
    """
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        code = 1

        def say(line: str) -> None:
            os.write(write_end, f"{line}\n".encode())

        try:
            for r in act(home, say):
                say(f"end {r.step} {r.status} {r.n_attempts} {r.error}")
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(write_end)
    with os.fdopen(read_end) as said:
        lines = [said.readline().strip()]
        began = time.monotonic()
        if kill_after_s is not None:
            time.sleep(kill_after_s)
            os.kill(child, signal.SIGKILL)
        lines += said.read().splitlines()
    _, status = os.waitpid(child, 0)
    return lines, status == 0, time.monotonic() - began


def files(home: Path) -> dict[str, str]:
    root = home / "owner"
    return {str(p.relative_to(root)): p.read_text() for p in sorted(root.rglob("*")) if p.is_file()}


def trial(home: Path, kills_s: Sequence[float]) -> dict[str, Any]:
    """Run, kill, resume, kill …, then resume to the end."""
    home.mkdir()
    said: list[list[str]] = []
    is_done = False
    for kill_s in (*kills_s, None, None):
        lines, is_done, _ = forked(home, kill_s)
        said.append(lines)
        if is_done:
            break
    outbox = (home / "outbox").read_text().splitlines() if (home / "outbox").exists() else []
    return {"is_done": is_done, "said": said, "files": files(home), "outbox": outbox}


def _duration_s(home: Path) -> float:
    """From the first step to the end, so that kills are drawn from the time in which steps run."""
    home.mkdir()
    return forked(home, None)[2]


def harness(root: Path, seed: int) -> None:
    draw = random.Random(seed)
    print(json.dumps(trial(root / "whole", ())))
    duration_s = min(_duration_s(root / f"timed-{k}") for k in range(3))
    for k in range(N_TRIALS):
        kills_s = [draw.uniform(0, duration_s) for _ in range(draw.choice((1, 1, 2, 3)))]
        print(json.dumps(trial(root / f"killed-{k}", kills_s)))


# ── The judgement ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    root = tmp_path_factory.mktemp("kill")
    command = [sys.executable, "-W", "error", __file__, str(root), "20261120"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def endings(one: dict[str, Any]) -> dict[int, list[str]]:
    """By step: status, attempts, error."""
    lines = [line.split(" ", 4)[1:] for line in one["said"][-1] if line.startswith("end ")]
    return {int(line[0]): line[1:] for line in lines}


def acknowledged(one: dict[str, Any]) -> list[tuple[int, str]]:
    lines = [line.split() for said in one["said"] for line in said if line[:1].isdigit()]
    return [(int(step), status) for step, status in lines]


def test_undisturbed_the_plan_does_what_it_says(trials: list[dict[str, Any]]) -> None:
    whole = trials[0]
    assert whole["files"] == {
        "log.md": "one\none\n\n2\n",
        "n.txt": "2",
        "pairs/e1-3-right.txt": NOW.isoformat(),
        "pairs/moved.txt": NOW.isoformat(),
    }
    assert whole["outbox"] == ["one", ""]
    assert [status for status, *_ in endings(whole).values()] == ["done"] * len(PLAN.steps)


def test_after_every_kill_the_files_are_as_if_nothing_had_happened(trials: list[dict[str, Any]]) -> None:
    assert len(trials) == N_TRIALS + 1
    for number, one in enumerate(trials[1:]):
        assert one["is_done"], (number, one)
        assert one["files"] == trials[0]["files"], (number, one["said"])


def test_every_step_ends_done_but_a_sending_one_that_was_cut_off(trials: list[dict[str, Any]]) -> None:
    for number, one in enumerate(trials[1:]):
        ended = endings(one)
        assert sorted(ended) == list(range(len(PLAN.steps))), (number, one)
        for step, (status, *_) in ended.items():
            assert status == "done" or (step == SEND and status == "unknown"), (number, one)


def test_nothing_is_sent_twice(trials: list[dict[str, Any]]) -> None:
    for number, one in enumerate(trials[1:]):
        n_sent = len(one["outbox"]) // 2
        assert n_sent <= 1, (number, one)
        assert n_sent == 1 or endings(one)[SEND][0] == "unknown", (number, one)


def test_what_was_acknowledged_is_never_run_again(trials: list[dict[str, Any]]) -> None:
    for number, one in enumerate(trials[1:]):
        steps = [step for step, status in acknowledged(one) if status == "done"]
        assert len(steps) == len(set(steps)), (number, one["said"])


def test_the_kills_fell_everywhere(trials: list[dict[str, Any]]) -> None:
    """Guards the test itself: it proves little when all kills fall before the first or after the last step."""
    n_acknowledged = [sum(line[:1].isdigit() for line in one["said"][0]) for one in trials[1:] if len(one["said"]) > 1]
    assert len(n_acknowledged) >= 30, "too few children were killed before their end"
    assert len(set(n_acknowledged)) >= 6, n_acknowledged
    again = [one for one in trials[1:] if any(int(n) > 1 for _, n, *_ in endings(one).values())]
    assert len(again) >= 10, "too few kills fell inside a step"


if __name__ == "__main__":
    harness(Path(sys.argv[1]), int(sys.argv[2]))
