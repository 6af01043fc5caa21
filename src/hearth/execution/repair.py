"""Repair a plan after a failed step: the rest is planned another way, and what is done stays done.

A repair only appends: earlier steps keep their number and their result, and each new step says which one it `replaces`.
The repaired plan passes the plan check and the monitor like any other, and the monitor asks again before a new step
changes or sends anything.

Tried in turn: a search that found nothing is repeated once without its dates (unless what it looks for is moved,
and named by that day), or with a shorter query; a broken tool is
replaced by another with the same type of result, if the planner knows one; a language planner, where there is one, is
told what failed. It gets the names of tools and kinds of errors, never the text of an error or a result, which a
stranger may have written. When several things match, none is guessed: the owner is asked.

Not covered: a step whose effect is unknown is left for the owner; nothing that was done is compensated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from hearth.errors import PlanError, PlannerError
from hearth.formats.plans import is_moment, renumbered
from hearth.guard.labels import refs_in, run_order
from hearth.guard.policy.warrant import with_unsaid
from hearth.language.reading import Utterance
from hearth.protocols import Planner
from hearth.types import Context, Plan, Request, Step, StepResult, ToolSpec

_BROKEN = frozenset({"TransientToolError", "ToolTimeout", "ToolCrashed", "BadResult", "EgressError"})
"""Error kinds caused by the tool, not by the request."""
_FINAL = frozenset({"Ambiguous", "DeniedError", "CancelledError"})
"""Error kinds that no other plan may get around."""
_KINDS = {
    "NotFound": "found nothing that matches",
    "TransientToolError": "could not be reached",
    "ToolTimeout": "did not answer in time",
    "ToolCrashed": "does not work",
    "BadResult": "gave an unusable result",
    "EgressError": "may not reach its server",
    "WrongType": "was given a value of a wrong type",
    "NotInEnum": "was given a value it does not know",
    "Conflict": "met a record that had changed",
}


@dataclass(frozen=True, slots=True)
class Reflection:
    """Summary of a plan's results so far."""

    failed: tuple[StepResult, ...]
    """Steps that failed and that no later one replaces, in plan order."""
    done: frozenset[int]
    """Steps whose results stand."""
    lost: frozenset[int]
    """Steps that have no usable result and no replacement."""
    text: str
    """The same for a language planner: names of tools and kinds of errors, in our own words."""


def reflect(plan: Plan, results: Sequence[StepResult]) -> Reflection:
    """Summarise `results` of `plan`."""
    replaced = {step.replaces for step in plan.steps}
    done = frozenset(r.step for r in results if r.status == "done")
    lost = frozenset(r.step for r in results if r.status in ("failed", "skipped") and r.step not in replaced)
    failed = tuple(r for r in results if r.status == "failed" and r.step in lost)
    faults = "; ".join(f"{plan.steps[r.step].tool} {_KINDS.get(r.error_kind, 'could not do its work')}" for r in failed)
    tools = ", ".join(plan.steps[k].tool for k in sorted(done)) or "nothing"
    text = f"(A first plan went wrong: {faults}. Done so far: {tools}. Reach the same in another way.)"
    return Reflection(failed, done, lost, text)


@dataclass(frozen=True, slots=True)
class _Failed:
    """A plan that went wrong, with the request it was made for."""

    request: Request
    context: Context
    plan: Plan
    seen: Reflection
    tools: Mapping[str, ToolSpec]


class Repairer:
    """Finds another way after a failure."""

    def __init__(self, planner: Planner, check: Callable[[Plan], Plan], language: Planner | None = None) -> None:
        """Set up the repairer.

        Args:
            planner: Asked for a plan without the tool that does not work.
            check: `formats.plans.check_plan` with the tools there are; raises PlanError.
            language: A planner that understands what went wrong when it is written behind the request.
        """
        self._planner = planner
        self._check = check
        self._language = language

    def repair(
        self,
        request: Request,
        context: Context,
        plan: Plan,
        results: Sequence[StepResult],
        tools: Mapping[str, ToolSpec],
    ) -> Plan | None:
        """Return a continuation of `plan` that may reach what failed, or None when there is none.

        Returns:
            A checked plan that begins with the steps of `plan`, so that `results` are results of it, too.
        """
        seen = reflect(plan, results)
        values = {result.step: result for result in results}
        for fault in seen.failed:
            if fault.error_kind in _FINAL:
                continue
            if fault.error_kind == "NotFound":
                days = _days_of_things(Utterance.of(request, context))
                if wider := _searched_wider(plan, fault, values, seen, tools, days):
                    return self._checked(plan, wider)
            if fault.error_kind in _BROKEN:
                other = self._with_another_tool(_Failed(request, context, plan, seen, tools), fault)
                if other is not None:
                    return other
        if self._language is None or all(fault.error_kind in _FINAL for fault in seen.failed):
            return None
        return self._replanned(self._language, _Failed(request, context, plan, seen, tools), tools)

    def _with_another_tool(self, failed: _Failed, fault: StepResult) -> Plan | None:
        plan, tools = failed.plan, failed.tools
        broken = plan.steps[fault.step].tool
        kind = tools[broken].returns
        rest = {name: spec for name, spec in tools.items() if name != broken}
        if not any(spec.returns == kind for spec in rest.values()):
            return None
        other = self._replanned(self._planner, failed, rest)
        if other is None:
            return None
        new = other.steps[len(plan.steps) :]
        return other if any(tools[step.tool].returns == kind for step in new) else None

    def _replanned(self, planner: Planner, failed: _Failed, offered: Mapping[str, ToolSpec]) -> Plan | None:
        request, seen = failed.request, failed.seen
        is_told = planner is self._language
        told = replace(request, text=f"{request.text}\n\n{seen.text}") if is_told else request
        try:
            fresh = planner.plan(told, failed.context, offered)
        except PlannerError:
            return None
        if not isinstance(fresh, Plan):
            return None
        fresh = with_unsaid(fresh, Utterance.of(request, failed.context), failed.tools)
        return self._checked(failed.plan, _grafted(failed.plan, fresh, seen, failed.tools))

    def _checked(self, plan: Plan, steps: tuple[Step, ...]) -> Plan | None:
        if len(steps) == len(plan.steps):
            return None
        try:
            checked = self._check(replace(plan, steps=steps))
        except PlanError:
            return None
        # A check that reorders the steps would assign the results to the wrong ones.
        return checked if checked.steps[: len(plan.steps)] == plan.steps else None


# ── A wider search ────────────────────────────────────────────────────────────────────────────────────────


_GOALS = frozenset(("to", "till", "until", "for"))
"""Words before the time that something is put to."""


def _days_of_things(said: Utterance) -> frozenset[str]:
    """Return the days that a request names otherwise than as a goal: "the swimming on Friday", but not "to Friday"."""
    return frozenset(
        str(slot.views["date"]) for slot in said.times if "date" in slot.views and slot.cue.lower() not in _GOALS
    )


def _searched_wider(
    plan: Plan,
    fault: StepResult,
    results: Mapping[int, StepResult],
    seen: Reflection,
    tools: Mapping[str, ToolSpec],
    days: Set[str],
) -> tuple[Step, ...] | None:
    """Return the steps with the empty search repeated in a wider form, and with all steps that need it.

    Args:
        days: The days that things are named by: what is moved within its day is not looked for on another.
    """
    search = _empty_search(plan, fault, results, tools)
    if search is None or plan.steps[search].replaces is not None or search in {s.replaces for s in plan.steps}:
        return None
    is_of_day = str(plan.steps[search].arguments.get("start"))[:10] in days
    is_moved = any(search in step.needs() and any(map(is_moment, step.arguments.values())) for step in plan.steps)
    wider = _relaxed(plan.steps[search], tools[plan.steps[search].tool], keeps_dates=is_of_day and is_moved)
    if wider is None:
        return None
    steps = list(plan.steps)
    place = {search: len(steps)}
    steps.append(replace(wider, replaces=search))
    for index in run_order(plan):
        step = plan.steps[index]
        if index in seen.lost and index != search and any(need in place for need in step.needs()):
            place[index] = len(steps)
            steps.append(replace(_moved(step, place), replaces=index))
    return tuple(steps)


def _empty_search(
    plan: Plan, fault: StepResult, results: Mapping[int, StepResult], tools: Mapping[str, ToolSpec]
) -> int | None:
    """Find the reading step that found nothing: the failed one itself, or one whose empty result it was to use.

    An empty result that was to become text ("mail Anna my appointments") is an answer, and is not searched wider.
    """
    step = plan.steps[fault.step]
    spec = tools[step.tool]
    if fault.n_attempts:
        return fault.step if spec.effect == "none" else None
    for name, value in step.arguments.items():
        parameter = spec.parameter(name)
        for ref in refs_in(value):
            is_empty = ref.step in results and results[ref.step].value in (None, [])
            if is_empty and parameter is not None and parameter.type not in ("text", "list[text]"):
                return ref.step if tools[plan.steps[ref.step].tool].effect == "none" else None
    return None


def _relaxed(step: Step, spec: ToolSpec, *, keeps_dates: bool = False) -> Step | None:
    """Return the search without its range of dates, or else with a shorter query; None when it has neither.

    A search of a sensor keeps its time: another time would give another answer.
    """
    if spec.source == "sensor":
        return None
    dates = [
        p.name
        for p in spec.parameters
        if p.name in step.arguments and not p.is_required and p.type in ("date", "datetime")
    ]
    if dates and not keeps_dates:
        arguments = {name: value for name, value in step.arguments.items() if name not in dates}
        return replace(step, arguments=arguments, text=_again(step, "at any time"))
    query = step.arguments.get("query")
    shorter = _shortened(query, spec) if isinstance(query, str) else ""
    if not shorter:
        return None
    return replace(step, arguments={**step.arguments, "query": shorter}, text=_again(step, f"for {shorter!r} alone"))


def _again(step: Step, how: str) -> str:
    return f"{step.text.rstrip('.') or step.tool.replace('_', ' ')}, {how}"


def _shortened(query: str, spec: ToolSpec) -> str:
    """Drop words that only name the kind of record ("dentist appointment"), or else keep the longest word alone."""
    words = query.split()
    kind = {
        word.strip(".,").rstrip("s") for word in f"{spec.name.replace('_', ' ')} {spec.description}".lower().split()
    }
    telling = [word for word in words if word.lower().rstrip("s") not in kind]
    if 0 < len(telling) < len(words):
        return " ".join(telling)
    return max(words, key=len) if len(words) > 1 else ""


# ── Another plan ──────────────────────────────────────────────────────────────────────────────────────────


def _grafted(plan: Plan, fresh: Plan, seen: Reflection, tools: Mapping[str, ToolSpec]) -> tuple[Step, ...]:
    """Append to the steps of `plan` those of `fresh` that are not done yet.

    A step of `fresh` counts as done when the same call was done, or a call of the same changing tool: a repair words a
    mail anew, but must not write it twice. No failed step of `plan` is called with the same values again.
    """
    steps = list(plan.steps)
    open_done = [k for k in sorted(seen.done) if k not in {step.replaces for step in plan.steps}]
    place: dict[int, int] = {}
    try:
        order = run_order(fresh)
    except PlanError:
        return plan.steps
    for index in order:
        step = _moved(fresh.steps[index], place)
        same = [k for k in open_done if _is_same_call(steps[k], step)]
        if not same and step.tool in tools and tools[step.tool].effect != "none":
            same = [k for k in open_done if steps[k].tool == step.tool]
        if same:
            place[index] = same[0]
            open_done.remove(same[0])
            continue
        if any(_is_same_call(steps[k], step) for k in seen.lost if not _hangs_on(plan, k, seen.lost)):
            return plan.steps
        place[index] = len(steps)
        steps.append(replace(step, replaces=None))
    return (*plan.steps, *_replacing(plan, steps[len(plan.steps) :], seen))


def _replacing(plan: Plan, new: Sequence[Step], seen: Reflection) -> list[Step]:
    """Set for each new step the lost one it replaces: one of the same tool, or else the first that is left."""
    left = sorted(seen.lost)
    chosen: list[int | None] = [None] * len(new)
    for k, step in enumerate(new):
        same = [index for index in left if plan.steps[index].tool == step.tool]
        if same:
            chosen[k] = same[0]
            left.remove(same[0])
    for k in range(len(new)):
        if chosen[k] is None and left:
            chosen[k] = left.pop(0)
    return [replace(step, replaces=index) for step, index in zip(new, chosen, strict=True)]


def _is_same_call(one: Step, other: Step) -> bool:
    return one.tool == other.tool and dict(one.arguments) == dict(other.arguments)


def _hangs_on(plan: Plan, index: int, lost: frozenset[int]) -> bool:
    """Say whether a step was lost only because another was."""
    return any(need in lost for need in plan.steps[index].needs())


def _moved(step: Step, place: Mapping[int, int]) -> Step:
    """Return `step` with its references renumbered to the moved steps; the others stay where they are."""
    return renumbered(step, {need: place.get(need, need) for need in step.needs()})
