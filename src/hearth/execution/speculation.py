"""Reads before a plan is settled: while a teacher is asked, and to tell which of several readings is about something.

When the teacher's plan arrives, each of its calls that was made meanwhile has its result; the others are dropped. "Kill
the dump run" may be an event, a reminder or a device: each reading's look-ups run, and the names it gives to tools are
resolved; what is there decides, and the question names it. The planner sees none of the owner's records. The guard says
which steps may be read ahead (`Monitor.foresee`): those that change and send nothing and need nobody's approval, with
network access shut.

Source:
    Speculative execution of a draft while a better one is awaited, as in speculative decoding: Leviathan, Kalman &
    Matias 2023, https://arxiv.org/abs/2211.17192. Here a wrong draft costs a read.

Covered: tools that raise or hang while read ahead (the settled plan calls them again, or never), several requests in
one process; names that tools resolve (devices, files, lists). Not covered: what a hung tool's thread holds: it is left
behind, as in the executor; plans that name nothing; what only the network tells.
"""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hearth.errors import Ambiguous, HearthError, NotFound
from hearth.execution.reference_resolution import bind
from hearth.formats.plan_validation import texts_in
from hearth.guard.decision import Occasion
from hearth.guard.egress.speculative_reads import Foreseen, ShutEgress
from hearth.guard.flow.labels import Value, refs_in, run_order
from hearth.guard.monitor import Monitor
from hearth.language.text.word_match import called, stems
from hearth.protocols import CallContext
from hearth.types import Plain, Plan, Step, StepResult, ToolSpec

# ── While a teacher is asked ──────────────────────────────────────────────────────────────────────────


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
        found = StepResult(index, "done", value=value.data, label=value.label, fields=value.fields, notices=notices)
        return replace(found, whence=value.whence)


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


# ── Which reading is about something real ─────────────────────────────────────────────────────────────


NOTHING = 0.0
"""Something that the plan names is not there."""
LEAST_GROUNDED = 0.6
"""What another reading has to be more than: a record with one word of two is not what was named."""
WHOLE = 0.9
"""What a reading that takes something away has to reach: all but a small word of what is named."""
NOT_NAMED = -1.0
"""The plan names nothing that could be looked for."""
_WORDS = frozenset({"query", "name", "sender"})
"""Parameters of look-ups that hold what a thing is called."""
_SMALL = stems(
    "the a an my our your his her their that this these those of for to in on at by from with and or it he she they "
    "them me you i we one ones thing things all any anything everything something last next now then again please today"
)


def groundedness(
    monitor: Monitor,
    plan: Plan,
    tools: Mapping[str, ToolSpec],
    occasion: Occasion,
    make_context: Callable[[str, dt.datetime], CallContext],
) -> float:
    """Return how far what a plan names is there, in [0, 1]; `NOT_NAMED` where it names nothing.

    Args:
        make_context: Makes a call's context from key and time.
    """
    ahead = ReadAhead.begin(monitor, plan, tools, occasion, make_context)
    results: Mapping[int, StepResult] = {}
    if ahead is not None:
        results = ahead.finish(WITHIN_S)
        ahead.settle(None)
    context = make_context("", occasion.now)
    shares: list[float] = []
    for index in run_order(plan):
        step = plan.steps[index]
        if (said := said_of(step)) and index in results:
            shares.append(_share_named(said, results[index].value))
        elif said and tools[step.tool].effect == "none":
            return NOTHING  # the look-up failed
        elif _is_anything(plan, index, results):
            return NOTHING
        if not step.needs() <= results.keys():
            continue
        try:
            values = monitor.things_of(step, bind(plan, index, results, tools), context)
        except Ambiguous:
            continue
        except HearthError:
            return NOTHING
        shares += [1.0 for name, value in values.items() if value.things and isinstance(step.arguments.get(name), str)]
    return min(shares, default=NOT_NAMED)


def _is_anything(plan: Plan, index: int, results: Mapping[int, StepResult]) -> bool:
    """Return whether a look-up without a word found several things, of which another step wants the one."""
    found = results[index].value if index in results else None
    refs = [ref for step in plan.steps for ref in step.refs() if ref.step == index]
    is_one_wanted = any(ref.path and not ref.path[0].isdigit() for ref in refs)
    return not plan.steps[index].arguments and is_one_wanted and isinstance(found, list) and len(found) > 1


def said_of(step: Step) -> str:
    return " ".join(v for name, v in step.arguments.items() if name in _WORDS and isinstance(v, str))


def _share_named(said: str, found: Plain) -> float:
    """Return the share of the words that the record which has most of them has; 0 where nothing was found."""
    asked = stems(said) - _SMALL
    records = found if isinstance(found, list) else [found] if found is not None else []
    texts = [stems(" ".join(texts_in(record))) for record in records[:20]]
    shares = (sum(not text.isdisjoint(called(word)) for word in asked) / max(1, len(asked)) for text in texts)
    best = max(shares, default=NOTHING)
    return max(best, 0.1) if records else NOTHING
