"""What turns out other than it was agreed to is asked about while the plan runs: outside time limits, once, stoppable."""

from __future__ import annotations

import dataclasses
import datetime as dt
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import pytest

from hearth.execution.executor import Executor
from hearth.formats.tool_signature import Sink, tool
from hearth.guard.monitor import Monitor
from hearth.guard.policy.rules import Policy, Rule
from hearth.protocols import CallContext, Reply
from hearth.storage.database import Store
from hearth.storage.trace import Trace
from hearth.storage.workspace import Folder
from hearth.testing import FIXED_NOW, make_call
from hearth.types import EmailAddress, Plan, Ref, Request, Ruling, Step, StepResult

SENT: list[str] = []


@dataclasses.dataclass(frozen=True)
class Found:
    at: EmailAddress


@tool(source="message")
def read_strange() -> Found:
    """Read an address in a mail."""
    return Found(EmailAddress("mallory@example.net"))


@tool()
def echo(text: str) -> str:
    """Say it again."""
    return text


@tool(effect="send", timeout_s=0.1)
def send_there(to: Annotated[str, Sink]) -> str:
    """Send to somebody."""
    SENT.append(to)
    return to


@dataclasses.dataclass
class SlowOwner:
    """Answers after longer than any step may take; `nobody` stands for Ctrl-C."""

    answer: Reply
    threads: list[str] = dataclasses.field(default_factory=list)

    def approve(self, question: str, ruling: Ruling) -> Reply:
        self.threads.append(threading.current_thread().name)
        time.sleep(0.3)
        if self.answer == "nobody":
            raise KeyboardInterrupt
        return self.answer


class Bench:
    def __init__(self, root: Path) -> None:
        self.store = Store.open(root / "hearth.db")
        self.folder = Folder(root / "owner", self.store)
        self.trace = Trace(self.store)

    def run(self, owner: SlowOwner, *steps: Step) -> tuple[StepResult, ...]:
        tools = {t.spec.name: t for t in (read_strange, echo, send_there)}
        monitor = Monitor(tools, Policy({"send_there": Rule("allow")}), owner)
        executor = Executor(monitor, self.trace, self.context, self.folder)
        plan = Plan(steps)
        ruling = monitor.rule(plan)
        assert ruling.verdict == "allow"
        self.trace.begin(Request("x", FIXED_NOW), "e1")
        self.trace.planned("e1", plan, None, ruling, 0.0)
        try:
            return executor.run("e1", plan, monitor.specs, FIXED_NOW)
        finally:
            executor.close()

    def context(self, key: str, now: dt.datetime) -> CallContext:
        return make_call(key, now, workspace=self.folder.for_call(key))

    def recorded(self) -> dict[int, str]:
        return {c.result.step: c.result.status for c in self.trace.calls("e1") if c.result is not None}


TO_STRANGER = Step("send_there", {"to": Ref(0, ("at",))})


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    SENT.clear()
    bench = Bench(tmp_path)
    yield bench
    bench.store.close()


@pytest.mark.parametrize(("answer", "status"), [("once", "done"), ("no", "denied"), ("never", "denied")])
def test_a_question_waits_outside_every_time_limit_in_the_callers_thread(
    bench: Bench, answer: Reply, status: str
) -> None:
    owner = SlowOwner(answer)
    results = bench.run(
        owner, Step("read_strange"), TO_STRANGER, Step("echo", {"text": "x"}), Step("echo", {"text": Ref(1)})
    )
    after = "done" if status == "done" else "skipped"
    assert [r.status for r in results] == ["done", status, "done", after]
    assert owner.threads == ["MainThread"]
    assert (["mallory@example.net"] if status == "done" else []) == SENT
    assert bench.recorded() == dict(enumerate(["done", status, "done", after]))


def test_two_questions_are_asked_one_after_the_other(bench: Bench) -> None:
    owner = SlowOwner("once")
    results = bench.run(owner, Step("read_strange"), TO_STRANGER, TO_STRANGER)
    assert [r.status for r in results] == ["done"] * 3
    assert owner.threads == ["MainThread"] * 2


def test_ctrl_c_at_a_question_stops_the_run_with_every_step_on_record(bench: Bench) -> None:
    with pytest.raises(KeyboardInterrupt):
        bench.run(SlowOwner("nobody"), Step("read_strange"), TO_STRANGER, Step("echo", {"text": "x"}))
    assert bench.recorded() == {0: "done", 1: "skipped", 2: "done"}
    assert SENT == []
