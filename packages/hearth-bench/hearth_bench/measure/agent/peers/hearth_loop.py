"""Measure Hearth's own loop with a scripted planner and an empty tool: as in `Agent.run`, with every step on disk.

A request is planned, checked, ruled on, run, answered and remembered; each start and end of a step is committed with a
full fsync.
"""

from __future__ import annotations

import datetime as dt
import threading

import hearth
from hearth.execution.executor import Executor
from hearth.execution.results import compose
from hearth.formats.plans import MAX_STEPS, check_plan
from hearth.formats.tool_signature import FunctionTool, tool
from hearth.guard.egress.gateway import Egress
from hearth.guard.monitor import Monitor
from hearth.guard.policy.question import RefusingApprover
from hearth.guard.policy.rules import Policy
from hearth.memory.answers.recollection import Recollection
from hearth.memory.event_memory import EventMemory
from hearth.memory.facts import FactStore
from hearth.protocols import CallContext
from hearth.storage.database import Store
from hearth.storage.trace import Trace
from hearth.storage.workspace import Folder
from hearth.testing import ScriptedPlanner
from hearth.types import OWNER, Context, Episode, Plan, Ref, Request, Step
from hearth_bench.measure.agent.peers.loop_clock import arguments, measure

given = arguments()
NOW = dt.datetime(2026, 11, 20, 9, 30, tzinfo=dt.UTC)
calls: list[str] = []


def echo(text: str) -> str:
    """Return the text."""
    calls.append(text)
    return text


def named(name: str) -> FunctionTool:
    return tool(name=name)(echo)


store = Store.open(given.folder / "hearth.db")
folder = Folder(given.folder / "owner", store)
trace = Trace(store)
memory = Recollection(EventMemory(store), FactStore(store))
egress = Egress((), store, lambda: NOW)
tools = {f"echo_{k}": named(f"echo_{k}") for k in range(given.tools)}
monitor = Monitor(tools, Policy(), RefusingApprover())


def make_context(key: str, now: dt.datetime) -> CallContext:
    return CallContext(key, now, folder.for_call(key), memory, egress, {}, threading.Event())


executor = Executor(monitor, trace, make_context, folder)
chain = Plan(tuple(Step("echo_0", {"text": Ref(k - 1) if k else "x"}) for k in range(given.steps)))
planner = ScriptedPlanner({"say x": chain})


def run(k: int) -> None:
    calls.clear()
    planner.requests.clear()
    id = f"e{k}"
    request = Request("say x", NOW)
    trace.begin(request, id)
    egress.purpose = id
    plan = planner.plan(request, Context(), monitor.specs)
    assert isinstance(plan, Plan)
    if given.steps <= MAX_STEPS:  # longer plans are refused; they are run here only to measure the record
        plan = check_plan(plan, monitor.specs)
    ruling = monitor.rule(plan)
    trace.planned(id, plan, None, ruling, 0.0)
    results = executor.run(id, plan, monitor.specs, NOW)
    answer = compose(plan, None, ruling, results, monitor.specs, NOW)
    memory.remember(request.text, kind="request", at=NOW, label=OWNER, key=id)
    trace.finish(Episode(id, request, plan, None, ruling, results, answer, egress.disclosures(id)))
    assert answer.status == "done", answer
    assert len(calls) == given.steps, calls


def n_bytes() -> int:
    store.query("PRAGMA wal_checkpoint(FULL)")
    return store.path.stat().st_size


measure(run, n_bytes, given.steps, given.runs, {"hearth": hearth.__version__})
