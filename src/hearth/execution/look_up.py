"""Looks up what a plan would change before the owner is asked, so that the question names the thing itself.

"Cancel lunch with Jonas" is a search and a deletion. The search only reads and runs unasked anyway: it runs first, and
what it finds stands in the question. Where it finds nothing, or several things, there is nothing to agree to: the plan
ends there, and says so.

Covered: reading steps that the guard lets run without a question, on this device. Not covered: what only the network
tells; it is asked about in words, as planned, and again with the thing once that is known.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hearth.errors import Ambiguous, HearthError, NotFound
from hearth.execution.reference_resolution import bind
from hearth.execution.speculation import ReadAhead
from hearth.guard.decision import Occasion
from hearth.guard.flow.labels import Value, refs_in, run_order
from hearth.guard.monitor import Monitor
from hearth.protocols import CallContext
from hearth.types import Plan, StepResult, ToolSpec

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
    """Read what the plan's changing steps refer to. What was read is kept: the plan itself does not read it again.

    Args:
        make_context: Makes a call's context from key and time.
        done: Results of steps that ran already.
    """
    known = {result.step: result for result in done if result.status == "done"}
    asked = {
        k for k, r in enumerate(monitor.judge(plan, occasion).steps) if r.verdict == "ask" and plan.steps[k].refs()
    }
    ahead = ReadAhead.begin(monitor, plan, tools, occasion, make_context) if asked else None
    if ahead is None:
        return LookedUp()
    results = {**ahead.finish(WITHIN_S), **known}
    monitor.foreseen = ahead.settle(plan)
    things: dict[int, Mapping[str, Value]] = {}
    for index in run_order(plan):
        step = plan.steps[index]
        if index not in asked or not step.needs() <= results.keys():
            continue
        context = make_context("", occasion.now)
        try:
            values = monitor.things_of(step, bind(plan, index, results, tools), context)
        except (NotFound, Ambiguous) as error:
            return LookedUp(stuck=_stuck(plan, index, results, error))
        except HearthError:
            continue  # the call itself will say so; asked about in words
        things[index] = {name: value for name, value in values.items() if refs_in(step.arguments.get(name))}
    return LookedUp(things)


def _stuck(plan: Plan, index: int, results: Mapping[int, StepResult], error: HearthError) -> tuple[StepResult, ...]:
    fault = StepResult(index, "failed", error=str(error), error_kind=type(error).__name__, n_attempts=0)
    rest = set(range(len(plan.steps))) - results.keys() - {index}
    skipped = [StepResult(k, "skipped", error=f"step {index + 1} was not done", n_attempts=0) for k in rest]
    return tuple(sorted([*results.values(), fault, *skipped], key=lambda result: result.step))
