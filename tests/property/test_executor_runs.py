"""Whatever the plan and whichever steps fail: every step has one result, on record, and order is kept."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hearth.errors import ToolError, TransientToolError
from hearth.execution.executor import Executor, Pauses
from hearth.formats.tool_signature import tool
from hearth.guard.monitor import Monitor
from hearth.guard.policy.question import YesApprover
from hearth.guard.policy.rules import Policy
from hearth.protocols import CallContext
from hearth.storage.database import Store
from hearth.storage.trace import Trace
from hearth.storage.workspace import Folder
from hearth.testing import FIXED_NOW, make_call
from hearth.types import Argument, Plan, Ref, Request, Ruling, Step

CLOCK = itertools.count()
SEEN: list[tuple[str, str, int]] = []
CHANGING = threading.Lock()


@tool(n_retries=1)
def look(how: str, given: str, call: CallContext) -> str:
    """Read something."""
    return act(how, call)


@tool(effect="change", n_retries=1)
def change(how: str, given: str, call: CallContext) -> str:
    """Write something."""
    assert CHANGING.acquire(blocking=False), "two changing steps at once"
    try:
        call.workspace.write(f"{call.key}.txt", b"half")
        result = act(how, call)
        call.workspace.write(f"{call.key}.txt", b"whole")
        return result
    finally:
        CHANGING.release()


def act(how: str, call: CallContext) -> str:
    SEEN.append(("begin", call.key, next(CLOCK)))
    if how == "fail" or (how == "once" and sum(k == call.key for what, k, _ in SEEN if what == "begin") == 1):
        raise (ToolError if how == "fail" else TransientToolError)("as asked")
    if how == "crash":
        raise ZeroDivisionError
    SEEN.append(("end", call.key, next(CLOCK)))
    return call.key


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    steps = []
    for k in range(draw(st.integers(1, 9))):
        earlier = st.integers(0, k - 1)
        given: Argument = Ref(draw(earlier)) if k and draw(st.booleans()) else "literal"
        after = tuple(draw(st.sets(earlier, max_size=2))) if k else ()
        how = draw(st.sampled_from(["well", "well", "well", "once", "fail", "crash"]))
        steps.append(Step(draw(st.sampled_from(["look", "change"])), {"how": how, "given": given}, after))
    return Plan(tuple(steps))


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Monitor, Trace, Folder, Executor]]:
    root: Path = tmp_path_factory.mktemp("runs")
    store = Store.open(root / "hearth.db")
    folder = Folder(root / "owner", store)
    monitor = Monitor({"look": look, "change": change}, Policy(), YesApprover())
    trace = Trace(store)
    executor = Executor(
        monitor, trace, lambda key, now: make_call(key, now, folder.for_call(key)), folder, Pauses(retry_delay_s=0.0)
    )
    yield monitor, trace, folder, executor
    executor.close()
    store.close()


NUMBERS = itertools.count()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plans())
def test_every_plan_comes_to_its_end(parts: tuple[Monitor, Trace, Folder, Executor], plan: Plan) -> None:
    monitor, trace, folder, executor = parts
    SEEN.clear()
    id = f"e{next(NUMBERS)}"
    trace.begin(Request("x", FIXED_NOW), id)
    trace.planned(id, plan, None, Ruling("allow", "a test"), 0.0)
    assert monitor.rule(plan).verdict == "allow"
    results = executor.run(id, plan, monitor.specs, FIXED_NOW)

    assert [r.step for r in results] == list(range(len(plan.steps)))
    assert tuple(c.result for c in trace.calls(id)) == results
    ends = {key: at for what, key, at in SEEN if what == "end"}
    for result, step in zip(results, plan.steps, strict=True):
        needs = [results[k].status for k in step.needs()]
        how = step.arguments["how"]
        expected = "skipped" if set(needs) - {"done"} else "done" if how in ("well", "once") else "failed"
        assert result.status == expected
        begins = [at for what, key, at in SEEN if what == "begin" and key == f"{id}-{result.step}"]
        assert len(begins) == (0 if expected == "skipped" else 2 if how == "once" else 1)
        for k in step.needs():
            assert not begins or ends[f"{id}-{k}"] < begins[0]
        path = folder.root / f"{id}-{result.step}.txt"
        assert path.exists() == (result.status == "done" and step.tool == "change")
        assert not path.exists() or path.read_bytes() == b"whole"
