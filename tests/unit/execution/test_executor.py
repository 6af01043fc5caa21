"""Plans run on a real store, trace and folder: order, limits, retries, stops, and every way a tool can misbehave."""

from __future__ import annotations

import dataclasses
import datetime as dt
import gc
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import pytest

from hearth.errors import CancelledError, NotFound, StoreFullError, ToolError, ToolTimeout, TransientToolError
from hearth.execution.executor import Executor, Pauses, _Run
from hearth.formats.tool_signature import FunctionTool, Sink, tool
from hearth.guard.monitor import Monitor
from hearth.guard.policy.rules import Policy, Rule
from hearth.protocols import CallContext
from hearth.storage.database import Store
from hearth.storage.trace import StartedStep, Trace, UnfinishedEpisode
from hearth.storage.workspace import Folder
from hearth.testing import FIXED_NOW, FixedApprover, make_call
from hearth.types import OWNER, Plan, Ref, Request, Ruling, Step, StepResult
from tests import ROOT

ALLOW = Ruling("allow", "a test")


class Bench:
    """A home with an executor over the given tools; everything is allowed."""

    def __init__(self, root: Path, *tools: FunctionTool, grace_s: float = 0.2) -> None:
        self.store = Store.open(root / "hearth.db")
        self.folder = Folder(root / "owner", self.store)
        self.trace = Trace(self.store)
        self.tools = {t.spec.name: t for t in tools}
        self.monitor = Monitor(self.tools, Policy(), FixedApprover(True))
        self.executor = Executor(
            self.monitor, self.trace, self.context, self.folder, Pauses(grace_s, retry_delay_s=0.001)
        )
        self.n_episodes = 0

    def context(self, key: str, now: dt.datetime) -> CallContext:
        return make_call(key, now, workspace=self.folder.for_call(key))

    def run(self, *steps: Step, done: tuple[StepResult, ...] = ()) -> tuple[StepResult, ...]:
        plan = Plan(steps)
        assert self.monitor.rule(plan).verdict == "allow"
        return self.executor.run(self.begin(plan), plan, self.monitor.specs, FIXED_NOW, done)

    def begin(self, plan: Plan, ruling: Ruling = ALLOW) -> str:
        self.n_episodes += 1
        id = f"e{self.n_episodes}"
        self.trace.begin(Request("x", FIXED_NOW), id)
        self.trace.planned(id, plan, None, ruling, 0.0)
        return id

    def recorded(self, id: str = "e1") -> dict[int, StepResult]:
        return {c.result.step: c.result for c in self.trace.calls(id) if c.result is not None}

    def lines(self, path: str = "log.md") -> list[str]:
        workspace = self.folder.for_call("look")
        return workspace.read(path).decode().splitlines() if workspace.exists(path) else []


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path, *TOOLS)
    yield bench
    bench.executor.close()
    bench.store.close()


def append(call: CallContext, text: str, path: str = "log.md") -> None:
    old = call.workspace.read(path) if call.workspace.exists(path) else b""
    call.workspace.write(path, old + text.encode() + b"\n")


@tool()
def echo(text: str = "") -> str:
    """Say it again."""
    return text


@tool(effect="change")
def write(text: str, call: CallContext) -> str:
    """Append a line."""
    append(call, text)
    return text


@tool(effect="change", timeout_s=0.1)
def write_and_hang(text: str, call: CallContext) -> str:
    """Append a line, then hang until released."""
    append(call, text)
    WROTE.set()
    HOLD.wait(20)
    LATE.append("tried")
    try:
        append(call, f"{text} late")
    except CancelledError:
        LATE.append("refused")
    return text


@tool(effect="change", timeout_s=0.1)
def write_and_notice(text: str, call: CallContext) -> str:
    """Append a line, then stop when asked to."""
    append(call, text)
    call.cancelled.wait(20)
    raise CancelledError("I noticed")


@tool(effect="change", timeout_s=0.05)
def write_slowly(text: str, call: CallContext) -> str:
    """Append a line a little too late."""
    call.cancelled.wait(20)
    append(call, text)
    return text


@tool(effect="change")
def write_and_raise(text: str, call: CallContext) -> str:
    """Append a line, then fail."""
    append(call, text)
    raise ToolError("it went wrong half-way")


@tool(effect="change")
def write_and_crash(text: str, call: CallContext) -> str:
    """Append a line, then crash."""
    append(call, text)
    raise ZeroDivisionError


@tool(effect="change", n_retries=2)
def write_in_the_end(text: str, call: CallContext) -> str:
    """Append a line at the third attempt; the first two leave something half-done."""
    append(call, f"attempt {len(ATTEMPTS)}")
    ATTEMPTS.append(call.key)
    if len(ATTEMPTS) < 3:
        raise TransientToolError("not yet")
    append(call, text)
    return text


@tool(n_retries=2)
def never() -> str:
    """Fail for a while, for ever."""
    ATTEMPTS.append("never")
    raise TransientToolError("still not")


@tool(timeout_s=0.1)
def hang() -> str:
    """Hang until released."""
    HOLD.wait(20)
    return "late"


@tool(effect="send", is_idempotent=False, timeout_s=0.1)
def send(to: Annotated[str, Sink], how: str = "") -> str:
    """Send something, in the way asked for."""
    SENT.append(to)
    if how == "hang":
        HOLD.wait(20)
    elif how == "crash":
        raise OSError("connection lost")
    elif how == "odd":
        return 3  # type: ignore[return-value]
    elif how == "refuse":
        raise ToolError("the server refused the address")
    elif how == "no word":
        raise ToolTimeout("the server never said whether it took it")
    return to


@tool(effect="change", is_idempotent=False)
def order(device: str) -> str:
    """Tell a device something that it never confirms."""
    raise ToolTimeout(f"{device} did not confirm it")


@tool()
def fail(kind: str) -> str:
    """Misbehave in the way asked for."""
    if kind == "raise":
        raise NotFound("there is none")
    if kind == "exit":
        raise SystemExit(3)
    if kind == "interrupt":
        raise KeyboardInterrupt
    if kind == "huge":
        return "x" * 50_000_000
    if kind == "wrong":
        return 3  # type: ignore[return-value]
    raise ValueError("unexpected")


@tool()
def meet() -> float:
    """Wait for the others."""
    MEETING.wait(5)
    return time.monotonic()


@tool(effect="change")
def change_alone(text: str, call: CallContext) -> int:
    """Count how many change at once."""
    ALONE.append(1)
    n = len(ALONE)
    time.sleep(0.01)
    append(call, text)
    ALONE.pop()
    return n


@tool()
def wait_for_it() -> str:
    """Wait until the other step has written."""
    WROTE.wait(5)
    return ""


@tool()
def found(n: int) -> list[dict[str, str]]:
    """Find n things."""
    return [{"id": f"id{k}", "title": f"Thing {k}"} for k in range(n)]


@tool()
def interrupt(call: CallContext) -> str:
    """Be running when the owner presses Ctrl-C."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    call.cancelled.wait(20)
    return "ended in time"


TOOLS = (
    echo, write, write_and_hang, write_and_notice, write_slowly, write_and_raise, write_and_crash, write_in_the_end,
    never, hang, send, fail, meet, change_alone, wait_for_it, found, interrupt,
)  # fmt: skip
HOLD = threading.Event()
WROTE = threading.Event()
MEETING = threading.Barrier(3)
LATE: list[str] = []
ATTEMPTS: list[str] = []
SENT: list[str] = []
ALONE: list[int] = []


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    HOLD.clear()
    WROTE.clear()
    for seen in (LATE, ATTEMPTS, SENT, ALONE):
        seen.clear()
    yield
    HOLD.set()


# ── Order ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_chain_runs_in_order_and_hands_its_results_on(bench: Bench) -> None:
    results = bench.run(
        Step("echo", {"text": "a"}), Step("write", {"text": Ref(0)}), Step("write", {"text": "b"}, after=(1,))
    )
    assert [(r.step, r.status, r.value) for r in results] == [(0, "done", "a"), (1, "done", "a"), (2, "done", "b")]
    assert [r.key for r in results] == ["e1-0", "e1-1", "e1-2"]
    assert results[1].label == OWNER.join(results[0].label)
    assert bench.lines() == ["a", "b"]
    assert bench.recorded() == dict(enumerate(results))


def test_steps_may_stand_in_any_order(bench: Bench) -> None:
    results = bench.run(Step("write", {"text": Ref(1)}), Step("echo", {"text": "a"}))
    assert [(r.step, r.value) for r in results] == [(0, "a"), (1, "a")]


def test_reading_steps_run_side_by_side(bench: Bench) -> None:
    results = bench.run(Step("meet"), Step("meet"), Step("meet"))
    assert [r.status for r in results] == ["done"] * 3, results


def test_changing_steps_run_one_at_a_time_in_plan_order(bench: Bench) -> None:
    results = bench.run(*(Step("change_alone", {"text": str(k)}) for k in range(6)))
    assert [r.value for r in results] == [1] * 6
    assert bench.lines() == [str(k) for k in range(6)]


def test_every_end_and_the_next_start_share_one_transaction(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[list[int], list[int]]] = []
    steps = bench.trace.steps

    def watched(id: str, *, finished: list[StepResult], started: list[StartedStep]) -> None:
        seen.append(([r.step for r in finished], [s.step for s in started]))
        steps(id, finished=finished, started=started)

    monkeypatch.setattr(bench.trace, "steps", watched)
    bench.run(Step("echo", {"text": "a"}), Step("echo", {"text": Ref(0)}), Step("echo", {"text": Ref(1)}))
    assert seen == [([], [0]), ([0], [1]), ([1], [2]), ([2], [])]


def test_results_there_are_already_stand(bench: Bench) -> None:
    done = (StepResult(0, "done", "kept", OWNER), StepResult(1, "failed", error="x"))
    results = bench.run(
        Step("write", {"text": "a"}),
        Step("write", {"text": "b"}),
        Step("write", {"text": Ref(0)}),
        Step("write", {"text": Ref(1)}),
        done=done,
    )
    assert [r.status for r in results] == ["done", "failed", "done", "skipped"]
    assert results[:2] == done
    assert bench.lines() == ["kept"]


# ── Failures ──────────────────────────────────────────────────────────────────────────────────────────────


def test_what_needs_a_failed_step_is_skipped_and_the_rest_goes_on(bench: Bench) -> None:
    results = bench.run(
        Step("fail", {"kind": "raise"}),
        Step("write", {"text": Ref(0)}),
        Step("write", {"text": "other"}, after=(1,)),
        Step("write", {"text": "independent"}),
    )
    assert [r.status for r in results] == ["failed", "skipped", "skipped", "done"]
    assert results[0].error_kind == "NotFound"
    assert results[1].error == "fail did not end well, and this needs it"
    assert bench.lines() == ["independent"]
    assert bench.recorded() == dict(enumerate(results))


@pytest.mark.parametrize(
    ("kind", "error_kind", "said"),
    [
        ("raise", "NotFound", "there is none"),
        ("crash", "ToolCrashed", "'fail' failed with ValueError: unexpected; this is a fault of the tool"),
        ("exit", "ToolCrashed", "'fail' failed with SystemExit: 3; this is a fault of the tool"),
        ("interrupt", "ToolCrashed", "'fail' failed with KeyboardInterrupt; this is a fault of the tool"),
        ("huge", "BadResult", "a text of 50,000,000 characters; a result may hold at most 1,000,000 bytes"),
        ("wrong", "BadResult", "'fail' returned 3 (int); declared text"),
    ],
)
def test_a_tool_that_misbehaves_is_a_failed_step(bench: Bench, kind: str, error_kind: str, said: str) -> None:
    (result, other) = bench.run(Step("fail", {"kind": kind}), Step("echo", {"text": "fine"}))
    assert (result.status, result.error_kind) == ("failed", error_kind)
    assert said in result.error
    assert "Traceback" not in result.error
    assert other.status == "done"


@pytest.mark.parametrize("name", ["write_and_raise", "write_and_crash"])
def test_a_change_that_fails_half_way_is_taken_back(bench: Bench, name: str) -> None:
    results = bench.run(Step("write", {"text": "before"}), Step(name, {"text": "half"}, after=(0,)))
    assert [r.status for r in results] == ["done", "failed"]
    assert bench.lines() == ["before"]


@pytest.mark.parametrize(
    ("how", "status", "error_kind"),
    [
        ("", "done", ""),
        ("refuse", "failed", "ToolError"),
        ("crash", "unknown", "ToolCrashed"),
        ("odd", "unknown", "BadResult"),
        ("hang", "unknown", "ToolTimeout"),
        ("no word", "unknown", "ToolTimeout"),
    ],
)
def test_what_may_have_been_sent_is_unknown_and_never_repeated(
    bench: Bench, how: str, status: str, error_kind: str
) -> None:
    result, after = bench.run(Step("send", {"to": "a@example.org", "how": how}), Step("echo", {}, after=(0,)))
    assert (result.status, result.error_kind) == (status, error_kind)
    assert SENT == ["a@example.org"]
    assert after.status == ("done" if status == "done" else "skipped")
    assert result.error.endswith("it may or may not have been done, so please check") == (status == "unknown")


@pytest.mark.parametrize(
    ("n", "error_kind", "said"),
    [
        (0, "NotFound", "I found nothing"),
        (3, "Ambiguous", "I found 3 things: 'Thing 0', 'Thing 1', 'Thing 2'; say which one you mean"),
    ],
)
def test_a_reference_to_none_or_several_is_a_failed_step_that_was_not_called(
    bench: Bench, n: int, error_kind: str, said: str
) -> None:
    _, result = bench.run(Step("found", {"n": n}), Step("write", {"text": Ref(0, ("id",))}))
    assert (result.status, result.error_kind, result.error, result.n_attempts) == ("failed", error_kind, said, 0)
    assert bench.lines() == []


def test_a_denied_call_is_denied_not_failed(bench: Bench) -> None:
    plan = Plan((Step("write", {"text": "a"}), Step("echo", {}, after=(0,))))
    results = bench.executor.run(bench.begin(plan), plan, bench.monitor.specs, FIXED_NOW)
    assert [r.status for r in results] == ["denied", "skipped"]
    assert "belongs to no plan that was allowed" in results[0].error
    assert bench.lines() == []


# ── Retries and time limits ───────────────────────────────────────────────────────────────────────────────


def test_transient_failures_are_tried_again_from_a_clean_state_under_one_key(bench: Bench) -> None:
    (result,) = bench.run(Step("write_in_the_end", {"text": "done"}))
    assert (result.status, result.n_attempts) == ("done", 3)
    assert set(ATTEMPTS) == {"e1-0"}
    assert bench.lines() == ["attempt 2", "done"]


def test_retries_end(bench: Bench) -> None:
    (result,) = bench.run(Step("never"))
    assert (result.status, result.error_kind, result.n_attempts) == ("failed", "TransientToolError", 3)
    assert len(ATTEMPTS) == 3


def test_a_hanging_reader_is_given_up_and_the_rest_goes_on(bench: Bench) -> None:
    results = bench.run(Step("hang"), Step("echo", {"text": "a"}), Step("echo", {}, after=(0,)))
    assert [r.status for r in results] == ["failed", "done", "skipped"]
    assert (results[0].error_kind, results[0].error) == ("ToolTimeout", "hang did not answer within 0.1 s")
    HOLD.set()
    assert bench.run(Step("echo", {"text": "still works"}))[0].value == "still works"


def test_a_change_that_hangs_is_taken_back_and_can_write_no_more(bench: Bench) -> None:
    results = bench.run(Step("write", {"text": "before"}), Step("write_and_hang", {"text": "x"}, after=(0,)))
    assert [r.status for r in results] == ["done", "unknown"]
    assert results[1].error == (
        "write_and_hang did not answer within 0.1 s; its changes to your files were taken back, "
        "what it did elsewhere is not known"
    )
    HOLD.set()
    until = time.monotonic() + 5
    while "refused" not in LATE and time.monotonic() < until:
        time.sleep(0.01)
    assert LATE == ["tried", "refused"]
    assert bench.lines() == ["before"]


def test_a_change_that_hangs_inside_a_write_is_left_for_the_owner(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_now = Folder.write

    def stuck(folder: Folder, key: str, path: str, data: bytes) -> None:
        HOLD.wait(20)
        write_now(folder, key, path, data)

    monkeypatch.setattr(Folder, "write", stuck)
    (result,) = bench.run(Step("write_and_hang", {"text": "x"}))
    assert result.status == "unknown"
    assert result.error.endswith("it is still writing, so please check what it changed")


def test_a_time_limit_shorter_than_the_step_before_is_kept(bench: Bench) -> None:
    results = bench.run(Step("echo", {"text": "a"}), Step("hang", {}, after=(0,)))
    assert [r.status for r in results] == ["done", "failed"]
    assert results[1].error == "hang did not answer within 0.1 s"


def test_a_change_that_stops_when_asked_is_taken_back_and_failed(bench: Bench) -> None:
    (result,) = bench.run(Step("write_and_notice", {"text": "x"}))
    assert (result.status, result.error_kind) == ("failed", "ToolTimeout")
    assert bench.lines() == []


def test_a_change_that_ends_within_the_grace_counts_as_done(bench: Bench) -> None:
    (result,) = bench.run(Step("write_slowly", {"text": "x"}))
    assert result.status == "done"
    assert bench.lines() == ["x"]


# ── Stops ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_ctrl_c_records_every_step_and_comes_out(bench: Bench) -> None:
    with pytest.raises(KeyboardInterrupt):
        bench.run(Step("interrupt"), Step("write", {"text": Ref(0)}))
    recorded = bench.recorded()
    assert {k: (r.status, r.error_kind) for k, r in recorded.items()} == {
        0: ("done", ""),
        1: ("skipped", "CancelledError"),
    }
    assert recorded[1].error == "it was stopped before it began"
    assert bench.lines() == []


@pytest.mark.parametrize(
    ("step", "status"),
    [
        (Step("write_and_notice", {"text": "x"}), "failed"),
        (Step("send", {"to": "a", "how": "hang"}), "unknown"),
        (Step("hang"), "failed"),
    ],
)
def test_what_runs_when_stopped_gets_a_result_of_its_own(
    bench: Bench, step: Step, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hearth.execution.executor.MAX_PARALLEL", 4)
    for function in (send, write_and_notice, hang):
        monkeypatch.setattr(function, "spec", _with_timeout(function))
    slow = Bench(bench.store.path.parent / "slow", *TOOLS, grace_s=0.1)
    threading.Timer(0.1, slow.executor.cancel).start()
    with pytest.raises(CancelledError, match="the run was stopped"):
        slow.run(step, Step("echo", {}, after=(0,)))
    recorded = slow.recorded()
    assert [recorded[0].status, recorded[1].status] == [status, "skipped"]
    assert recorded[0].error_kind == "CancelledError"
    assert recorded[0].error.startswith("it was stopped")
    assert slow.lines() == []
    slow.store.close()


def _with_timeout(function: FunctionTool) -> object:
    return dataclasses.replace(function.spec, timeout_s=30.0)


def test_a_thread_that_waits_holds_nothing_of_the_run(bench: Bench) -> None:
    bench.run(Step("echo"), Step("echo"))

    def held() -> int:
        gc.collect()
        return sum(isinstance(one, _Run) and one.parts is bench.executor._parts for one in gc.get_objects())

    until = time.monotonic() + 10
    while held() and time.monotonic() < until:  # the thread may not have come to waiting yet
        time.sleep(0.01)
    assert held() == 0


def test_a_full_disk_starts_nothing_without_a_record(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise StoreFullError("no space left")

    monkeypatch.setattr(bench.trace, "steps", full)
    with pytest.raises(StoreFullError):
        bench.run(Step("write", {"text": "a"}))
    assert bench.lines() == []


def test_a_full_disk_in_the_middle_cuts_off_what_runs(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    steps, n_calls = bench.trace.steps, [0]

    def full_at_the_second(id: str, *, finished: list[StepResult], started: list[StartedStep]) -> None:
        n_calls[0] += 1
        if n_calls[0] == 2:
            raise StoreFullError("no space left")
        steps(id, finished=finished, started=started)

    monkeypatch.setattr(bench.trace, "steps", full_at_the_second)
    monkeypatch.setattr(write_and_hang, "spec", _with_timeout(write_and_hang))
    with pytest.raises(StoreFullError):
        bench.run(Step("write_and_hang", {"text": "a"}), Step("wait_for_it"))
    HOLD.set()
    until = time.monotonic() + 5
    while "refused" not in LATE and time.monotonic() < until:
        time.sleep(0.01)
    assert LATE == ["tried", "refused"]
    (left,) = bench.trace.unfinished()
    monkeypatch.undo()
    assert [r.status for r in bench.executor.resume(left)] == ["done", "done"]


def test_a_hung_tool_does_not_keep_the_process_from_ending(tmp_path: Path) -> None:
    script = f"""
import sys, time
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from hearth.formats.tool_signature import tool
from hearth.types import Step
from tests.unit.execution.test_executor import Bench

@tool(timeout_s=0.05)
def sleep() -> str:
    "Sleep."
    time.sleep(3600)
    return ""

bench = Bench(Path({str(tmp_path)!r}), sleep)
print(bench.run(Step("sleep"))[0].status)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600)
    assert done.stdout == "failed\n", done.stderr


# ── After a crash ─────────────────────────────────────────────────────────────────────────────────────────


def cut_off(bench: Bench, plan: Plan, *started: int, finished: tuple[StepResult, ...] = ()) -> UnfinishedEpisode:
    """The record as a process leaves it that was killed while steps `started` were running."""
    id = bench.begin(plan)
    steps = [
        StartedStep(k, plan.steps[k].tool, f"{id}-{k}", {}, FIXED_NOW, bench.monitor.specs[plan.steps[k].tool].effect)
        for k in started
    ]
    bench.trace.steps(id, finished=finished, started=steps)
    (left,) = bench.trace.unfinished()
    return left


def test_half_done_changes_are_taken_back_and_done_again_once(bench: Bench) -> None:
    plan = Plan((Step("write", {"text": "a"}), Step("write", {"text": "b"}, after=(0,))))
    left = cut_off(bench, plan, 0)
    append(bench.context("e1-0", FIXED_NOW), "a")
    results = bench.executor.resume(left)
    assert [(r.status, r.n_attempts) for r in results] == [("done", 2), ("done", 1)]
    assert bench.lines() == ["a", "b"]


def test_what_was_done_before_the_crash_is_not_done_again(bench: Bench) -> None:
    plan = Plan((Step("write", {"text": "a"}), Step("write", {"text": Ref(0)})))
    append(bench.context("e1-0", FIXED_NOW), "a")
    left = cut_off(bench, plan, 1, finished=(StepResult(0, "done", "a", OWNER, key="e1-0"),))
    assert [r.status for r in bench.executor.resume(left)] == ["done", "done"]
    assert bench.lines() == ["a", "a"]


def test_changes_someone_built_on_are_reported_not_repeated(bench: Bench) -> None:
    plan = Plan((Step("write", {"text": "a"}), Step("echo", {}, after=(0,)), Step("write", {"text": "c"})))
    left = cut_off(bench, plan, 0)
    append(bench.context("e1-0", FIXED_NOW), "a")
    append(bench.context("owner", FIXED_NOW), "by the owner")
    results = bench.executor.resume(left)
    assert [r.status for r in results] == ["unknown", "skipped", "done"]
    assert results[0].error == (
        "write was cut off, and 'log.md' changed since, so its changes could not be taken back; please check"
    )
    assert bench.lines() == ["a", "by the owner", "c"]


def test_what_was_being_sent_is_reported_not_repeated(bench: Bench) -> None:
    left = cut_off(bench, Plan((Step("send", {"to": "a"}), Step("echo", {"text": "x"}))), 0, 1)
    results = bench.executor.resume(left)
    assert [r.status for r in results] == ["unknown", "done"]
    assert results[0].error == (
        "it was cut off and may or may not have been done; send cannot be repeated safely, so please check"
    )
    assert SENT == []
    assert bench.recorded()[0].status == "unknown"


def test_a_sending_step_that_is_idempotent_is_sent_again_under_its_key(tmp_path: Path) -> None:
    keys: list[str] = []

    @tool(effect="send")
    def put(call: CallContext) -> str:
        """Put."""
        keys.append(call.key)
        return call.key

    bench = Bench(tmp_path, put)
    (result,) = bench.executor.resume(cut_off(bench, Plan((Step("put"),)), 0))
    assert (result.status, keys) == ("done", ["e1-0"])
    bench.store.close()


def test_a_tool_that_is_gone_is_reported(bench: Bench, tmp_path: Path) -> None:
    left = cut_off(bench, Plan((Step("write", {"text": "a"}),)), 0)
    poorer = Executor(Monitor({"echo": echo}, Policy(), FixedApprover(True)), bench.trace, bench.context, bench.folder)
    (result,) = poorer.resume(left)
    assert result.status == "unknown"
    assert "write is not installed any more" in result.error


def test_a_plan_that_is_denied_now_is_not_carried_on_and_its_half_done_changes_are_taken_back(bench: Bench) -> None:
    left = cut_off(bench, Plan((Step("write", {"text": "a"}), Step("echo"))), 0)
    append(bench.context("e1-0", FIXED_NOW), "a")
    strict = Monitor(bench.tools, Policy({"write": Rule("deny", "not any more")}), FixedApprover(True))
    results = Executor(strict, bench.trace, bench.context, bench.folder).resume(left)
    assert [(r.status, r.error) for r in results] == [("denied", "not any more")] * 2
    assert bench.lines() == []


@pytest.mark.parametrize("ruling", [None, Ruling("deny", "nobody agreed")])
def test_a_plan_that_was_never_allowed_is_not_run(bench: Bench, ruling: Ruling | None) -> None:
    plan = Plan((Step("write", {"text": "a"}),))
    bench.trace.begin(Request("x", FIXED_NOW), "e9")
    bench.trace.planned("e9", plan, None, ruling, 0.0)
    (left,) = bench.trace.unfinished()
    assert bench.executor.resume(left) == ()
    assert bench.lines() == []


def test_an_episode_cut_off_before_planning_has_nothing_to_run(bench: Bench) -> None:
    bench.trace.begin(Request("x", FIXED_NOW), "e9")
    (left,) = bench.trace.unfinished()
    assert bench.executor.resume(left) == ()


# ── Cost ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_record_grows_linearly(bench: Bench) -> None:
    def n_bytes(n_steps: int) -> int:
        steps = tuple(Step("echo", {"text": "x"}, after=(k - 1,) if k else ()) for k in range(n_steps))
        bench.run(*steps)
        rows = bench.store.query("SELECT * FROM step WHERE place / 65536 = ?", (bench.n_episodes,))
        return sum(len(json.dumps(tuple(row))) for row in rows)

    ten, sixty = n_bytes(10), n_bytes(60)
    assert sixty < 6.3 * ten


def test_arguments_given_to_a_tool_are_those_on_record(bench: Bench) -> None:
    bench.run(Step("echo", {"text": "a"}), Step("write", {"text": Ref(0)}))
    started: Mapping[str, object] = {c.started.tool: c.started.arguments for c in bench.trace.calls("e1") if c.started}
    assert started == {"echo": {"text": "a"}, "write": {"text": "a"}}


def test_a_change_elsewhere_without_a_word_on_it_is_unknown(tmp_path: Path) -> None:
    bench = Bench(tmp_path, order)
    (result,) = bench.run(Step("order", {"device": "the lamp"}))
    assert (result.status, result.error) == ("unknown", "the lamp did not confirm it")
