"""Plan speculatively: while a teacher is asked, the reading steps of the device's own plan already run.

When the teacher's plan arrives, each of its calls that was made meanwhile has its result; the others are dropped. The
guard says which steps may be read ahead (`Monitor.foresee`): those that change and send nothing and need nobody's
approval, with network access shut.

Source:
    Speculative execution of a draft while a better one is awaited, as in speculative decoding: Leviathan, Kalman &
    Matias 2023, https://arxiv.org/abs/2211.17192. Here a wrong draft costs a read.

Covered: tools that raise or hang while read ahead (the settled plan calls them again, or never), several requests in
one process. Not covered: what a hung tool's thread holds; it is left behind, as in the executor.
"""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hearth.errors import Ambiguous, HearthError, NotFound
from hearth.execution.reference_resolution import bind
from hearth.guard.decision import Occasion
from hearth.guard.egress.speculative_reads import Foreseen, ShutEgress
from hearth.guard.flow.labels import Value, refs_in, run_order
from hearth.guard.monitor import Monitor
from hearth.protocols import CallContext
from hearth.types import Plan, Step, StepResult, ToolSpec


@dataclass(slots=True, eq=False)
class ReadAhead:
    """The reading steps of one plan, run in a thread of their own. Make it with `begin`, end it with `settle`."""

    monitor: Monitor
    plan: Plan
    tools: Mapping[str, ToolSpec]
    steps: frozenset[int]
    """The steps that may be read ahead."""
    make_context: Callable[[str, dt.datetime], CallContext]
    now: dt.datetime
    _foreseen: Foreseen = field(default_factory=Foreseen, init=False)
    _results: dict[int, StepResult] = field(default_factory=dict, init=False)
    _cancelled: threading.Event = field(default_factory=threading.Event, init=False)
    _current: int | None = field(default=None, init=False)
    _thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._read, name="hearth-ahead", daemon=True)

    @classmethod
    def begin(
        cls,
        monitor: Monitor,
        plan: Plan,
        tools: Mapping[str, ToolSpec],
        occasion: Occasion,
        make_context: Callable[[str, dt.datetime], CallContext],
    ) -> ReadAhead | None:
        """Start reading ahead for `plan`; None where nothing may be read.

        Args:
            make_context: Makes a call's context from key and time; its network access is shut here.
        """
        steps = monitor.foresee(plan, occasion)
        if not steps:
            return None
        ahead = cls(monitor, plan, tools, steps, make_context, occasion.now)
        ahead._thread.start()
        return ahead

    def settle(self, plan: Plan | None) -> Foreseen:
        """End the reading; a running call is waited for where `plan`, the settled one, calls the same tool."""
        wanted = {step.tool for step in plan.steps} if plan is not None else set()
        self._cancelled.set()
        current = self._current
        if current is not None and (tool := self.plan.steps[current].tool) in wanted:
            self._thread.join(self.tools[tool].timeout_s)
        return self._foreseen

    def finish(self, within_s: float) -> Mapping[int, StepResult]:
        """Wait until all is read, and return the results by step; of what takes longer, what is there by then."""
        self._thread.join(within_s)
        return dict(self._results)

    def _read(self) -> None:
        results = self._results
        for index in run_order(self.plan):
            if self._cancelled.is_set():
                return
            if index not in self.steps or not self.plan.steps[index].needs() <= results.keys():
                continue
            self._current = index
            try:
                results[index] = self._result(index, results)
            except HearthError:
                pass  # the settled plan calls it again, and says what is wrong
            finally:
                self._current = None

    def _result(self, index: int, results: Mapping[int, StepResult]) -> StepResult:
        arguments = bind(self.plan, index, results, self.tools)
        context = self.make_context("", self.now)
        context = replace(context, words=self.plan.steps[index].text, egress=ShutEgress(), cancelled=threading.Event())
        value = self.monitor.call(self.plan, index, arguments, context)
        notices = tuple(context.notices)
        self._foreseen.keep(self.plan.steps[index].tool, arguments, value, notices)
        return StepResult(index, "done", value=value.data, label=value.label, fields=value.fields, notices=notices)


# ── Looking up what is asked about ─────────────────────────────────────────────────────────────────────
# Looks up what a plan would change before the owner is asked, so that the question names the thing itself.
# "Cancel lunch with Jonas" is a search and a deletion. The search only reads and runs unasked anyway: it runs first,
# and what it finds stands in the question, also what an allowed step is given: a draft that is written unasked and
# then sent. Where it finds nothing, or several things, there is nothing to agree to: the plan ends there, and says
# so. So it does before anything is taken back for it, unless taking that back may bring what it looks for.
# Covered: reading steps that the guard lets run without a question, on this device. Not covered: what only the
# network tells; it is asked about in words, as planned, and again with the thing once that is known.


WITHIN_S = 10.0
"""How long the reading may take; what is not read by then is asked about in words."""


@dataclass(frozen=True, slots=True)
class LookedUp:
    """What was read before the question."""

    things: Mapping[int, Mapping[str, Value]] = field(default_factory=dict)
    """By step, the arguments that refer to what was read: the things they turned out to be."""
    stuck: tuple[StepResult, ...] = ()
    """Where a step has nothing to act on: the results so far, its failure, and the steps after it as skipped."""


def look_up(
    monitor: Monitor,
    plan: Plan,
    tools: Mapping[str, ToolSpec],
    occasion: Occasion,
    make_context: Callable[[str, dt.datetime], CallContext],
    done: Sequence[StepResult] = (),
) -> LookedUp:
    """Read what the plan's changing steps refer to, where one of them is asked about or something is taken back first.
    What was read is kept: the plan itself does not read it again.

    Args:
        make_context: Makes a call's context from key and time.
        done: Results of steps that ran already.
    """
    known = {result.step: result for result in done if result.status == "done"}
    asking = {k for k, ruling in enumerate(monitor.judge(plan, occasion).steps) if ruling.verdict == "ask"}
    given = {k for k, step in enumerate(plan.steps) if step.refs() and (k in asking or _changes(step, tools))}
    is_asked = bool(asking or occasion.takes_back)
    ahead = ReadAhead.begin(monitor, plan, tools, occasion, make_context) if is_asked and given else None
    if ahead is None:
        return LookedUp()
    results = {**ahead.finish(WITHIN_S), **known}
    monitor.foreseen = ahead.settle(plan)
    things: dict[int, Mapping[str, Value]] = {}
    for index in run_order(plan):
        step = plan.steps[index]
        if index not in given or not step.needs() <= results.keys():
            continue
        context = make_context("", occasion.now)
        try:
            values = monitor.things_of(step, bind(plan, index, results, tools), context)
        except (NotFound, Ambiguous) as error:
            if occasion.restores if occasion.takes_back else index not in asking:
                continue  # it may be there once that is taken back; others are asked about
            return LookedUp(stuck=_stuck(plan, index, results, error))
        except HearthError:
            continue  # the call itself will say so; asked about in words
        things[index] = {name: value for name, value in values.items() if refs_in(step.arguments.get(name))}
    return LookedUp(things)


def _changes(step: Step, tools: Mapping[str, ToolSpec]) -> bool:
    return step.tool in tools and tools[step.tool].effect != "none"


def _stuck(plan: Plan, index: int, results: Mapping[int, StepResult], error: HearthError) -> tuple[StepResult, ...]:
    fault = StepResult(index, "failed", error=str(error), error_kind=type(error).__name__, n_attempts=0)
    rest = set(range(len(plan.steps))) - results.keys() - {index}
    skipped = [StepResult(k, "skipped", error=f"step {index + 1} was not done", n_attempts=0) for k in rest]
    return tuple(sorted([*results.values(), fault, *skipped], key=lambda result: result.step))
