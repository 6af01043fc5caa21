"""Every call of a tool passes here, belongs to a plan that was allowed, and gives labelled plain data.

`rule` puts a plan to the policy and, once, to the owner; `call` runs one step of an allowed plan. A call that differs
from what was allowed (another tool, another literal value, a sink value from a source that was not foreseen) is refused
and nothing is called.

Covered: which tool is called with which values; type and size of results; everything a tool may raise, `SystemExit` and
`KeyboardInterrupt` included.
Not covered: what a tool does inside its call (the workspace and the network door watch that), how long it takes (the
executor's part), and code in this process that calls a tool's function itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hearth.errors import DeniedError, HearthError, NotFound, NotInEnum, ToolCrashed
from hearth.functions import from_plain
from hearth.guard.approval import question
from hearth.guard.labels import StepLabels, Value, join_all, result_label
from hearth.guard.policy import Judgement, Policy
from hearth.guard.results import checked
from hearth.protocols import Approver, CallContext, Cause, Tool
from hearth.types import UNTRUSTED_SOURCES, Argument, Parameter, Plain, Plan, Ref, Ruling, Step, ToolSpec

MAX_ALLOWED_PLANS = 64
"""Allowed plans are remembered until so many newer ones were allowed."""


@dataclass(frozen=True, slots=True)
class _Allowed:
    plan: Plan
    steps: tuple[Step, ...]
    """A copy of our own: what was allowed, even if the caller changes its plan."""
    labels: tuple[StepLabels, ...]
    rulings: tuple[Ruling, ...]
    """The policy's word on each step."""


class Monitor:
    """The only caller of tools."""

    def __init__(self, tools: Mapping[str, Tool], policy: Policy, approver: Approver) -> None:
        self._tools = dict(tools)
        self._policy = policy
        self._approver = approver
        self._allowed: dict[int, _Allowed] = {}
        self.specs: Mapping[str, ToolSpec] = {name: tool.spec for name, tool in self._tools.items()}
        """The registered tools as everyone else may see them."""
        self._parameters: dict[str, dict[str, Parameter]] = {}

    # ── Ruling ────────────────────────────────────────────────────────────────────────────────────────────

    def rule(self, plan: Plan, extends: Plan | None = None) -> Ruling:
        """Allow or deny `plan`; where the policy says ask, the owner is asked once for all of it.

        Args:
            extends: A plan allowed before of which `plan` is a continuation with the same first steps: only the further
                steps are ruled on and asked for.
        Returns:
            A final ruling, never `ask`.
        """
        before = self._allowed.get(id(extends)) if extends is not None else None
        n_consented = 0
        if before is not None and plan.steps[: len(before.steps)] == before.steps:
            n_consented = len(before.steps)
        judgement = self._policy.judge(plan, self.specs, n_consented)
        ruling = judgement.ruling
        if ruling.verdict == "ask":
            is_agreed = self._approver.approve(question(plan, self.specs, judgement), ruling)
            if is_agreed:
                ruling = Ruling("allow", f"you agreed ({ruling.reason})", ruling.rule)
            elif is_agreed is False:
                ruling = Ruling("deny", "you said no", ruling.rule)
            else:
                ruling = Ruling("deny", f"{ruling.reason}, and nobody agreed to it{self._advice(plan)}", ruling.rule)
        if ruling.verdict == "allow":
            self._remember(plan, judgement)
        return ruling

    def rulings(self, plan: Plan) -> tuple[Ruling, ...]:
        """The policy's word on each step of a plan that was allowed; of any other plan, nothing."""
        allowed = self._allowed.get(id(plan))
        return allowed.rulings if allowed is not None else ()

    def readmit(self, plan: Plan, recorded: Ruling) -> Ruling:
        """Take up a plan again that was allowed before a crash; nobody is asked twice, but a rule that now denies does.

        Args:
            recorded: The ruling in the trace.
        """
        if recorded.verdict != "allow":
            return Ruling("deny", f"the plan was not allowed: {recorded.reason}", recorded.rule)
        judgement = self._policy.judge(plan, self.specs)
        if judgement.ruling.verdict == "deny":
            return judgement.ruling
        self._remember(plan, judgement)
        return recorded

    def _advice(self, plan: Plan) -> str:
        asking = [s.tool for s in plan.steps if self._policy.rule_tool(self.specs[s.tool]).verdict == "ask"]
        if not asking:
            return "; ask at a terminal, or pass --yes"
        return f'; ask at a terminal, pass --yes, or write ruling = "allow" under [policy.{asking[0]}] in hearth.toml'

    def _remember(self, plan: Plan, judgement: Judgement) -> None:
        steps = tuple(
            Step(s.tool, {name: _copied(value) for name, value in s.arguments.items()}, s.after, s.text, s.replaces)
            for s in plan.steps
        )
        self._allowed[id(plan)] = _Allowed(plan, steps, judgement.labels, judgement.steps)
        while len(self._allowed) > MAX_ALLOWED_PLANS:
            del self._allowed[next(iter(self._allowed))]

    # ── Calling ───────────────────────────────────────────────────────────────────────────────────────────

    def call(self, plan: Plan, index: int, arguments: Mapping[str, Value], context: CallContext) -> Value:
        """Call the tool of step `index` of an allowed plan.

        Args:
            arguments: By parameter name: the step's literals, and the results its references point at, with labels.
        Raises:
            DeniedError: The call is not the one that was allowed; nothing was called.
            WrongType, NotInEnum: A result that was bound to a parameter does not fit it; nothing was called.
            ToolCrashed: The tool raised something it does not declare.
            BadResult: The result is too large or not of the declared type.
            HearthError: As the tool raised it.
        """
        step = self._checked_step(plan, index, arguments)
        tool = self._tools[step.tool]
        decoded = self._decoded(tool.spec, {name: value.data for name, value in arguments.items()}, context)
        cause = Cause(
            index,
            step.tool,
            tool.spec.effect,
            self.rulings(plan)[index].rule,
            join_all(v.label for v in arguments.values()),
        )
        try:
            result = tool.call(decoded, replace(context, egress=context.egress.on_behalf(cause)))
        except DeniedError as error:  # the guard's own word: from a tool it would pass for a call that never was
            raise _crashed(tool.spec.name, error) from error
        except HearthError:
            raise
        except BaseException as error:  # in a worker thread even SystemExit and KeyboardInterrupt are the tool's own
            raise _crashed(tool.spec.name, error) from error
        label = result_label(tool.spec, (value.label for value in arguments.values()))
        return Value(checked(result, tool.spec), label)

    def undo(self, tool_name: str, arguments: Mapping[str, Plain], result: Plain, context: CallContext) -> None:
        """Have a tool compensate a call the owner takes back; changes to files are the journal's part.

        Raises:
            NotFound: No such tool is registered any more.
            HearthError: It cannot be undone, as the tool says; ToolCrashed when it failed otherwise.
        """
        tool = self._tools.get(tool_name)
        if tool is None:
            raise NotFound(f"cannot undo {tool_name!r}: it is not registered any more; install its plug-in")
        decoded = self._decoded(tool.spec, arguments, context)
        try:
            tool.undo(decoded, result, context)
        except HearthError:
            raise
        except Exception as error:
            raise _crashed(tool_name, error) from error

    def _checked_step(self, plan: Plan, index: int, arguments: Mapping[str, Value]) -> Step:
        allowed = self._allowed.get(id(plan))
        if allowed is None or not 0 <= index < len(allowed.steps):
            raise DeniedError(f"step {index + 1} belongs to no plan that was allowed; put the plan to `rule` first")
        step = allowed.steps[index]
        if arguments.keys() != step.arguments.keys():
            raise DeniedError(
                f"{step.tool} was allowed with the arguments {sorted(step.arguments)}, "
                f"but is called with {sorted(arguments)}"
            )
        labels = allowed.labels[index].arguments
        parameters = self._parameters_of(self.specs[step.tool])
        for name, value in arguments.items():
            if not _matches(step.arguments[name], value.data):
                raise DeniedError(
                    f"{step.tool} was allowed with {name!r} = {step.arguments[name]!r}, "
                    f"but is called with {value.data!r}"
                )
            parameter = parameters.get(name)
            if parameter is not None and parameter.is_sink:
                unforeseen = (value.label.sources - labels[name].sources) & UNTRUSTED_SOURCES
                if unforeseen:
                    raise DeniedError(
                        f"{name!r} of {step.tool} decides where data goes; its value comes from "
                        f"{', '.join(sorted(unforeseen))}, which was not foreseen when the plan was allowed"
                    )
        return step

    def _parameters_of(self, spec: ToolSpec) -> dict[str, Parameter]:
        known = self._parameters.get(spec.name)
        if known is None:
            known = self._parameters[spec.name] = {p.name: p for p in spec.parameters}
        return known

    def _decoded(self, spec: ToolSpec, arguments: Mapping[str, Plain], context: CallContext) -> dict[str, object]:
        parameters = self._parameters_of(spec)
        decoded: dict[str, object] = {}
        for name, value in arguments.items():
            parameter = parameters.get(name)
            if parameter is None:
                raise DeniedError(f"{spec.name} has no parameter {name!r}; it takes {', '.join(parameters) or 'none'}")
            if value is None and not parameter.is_required:
                continue
            if parameter.enum and value not in parameter.enum:
                raise NotInEnum(
                    f"{name!r} of {spec.name} is {value!r}; expected one of {', '.join(parameter.enum)}", parameter=name
                )
            decoded[name] = from_plain(value, parameter.type, context.now.tzinfo)
        return decoded


def _copied(argument: Argument) -> Argument:
    if isinstance(argument, list):
        return [_copied(item) for item in argument]
    if isinstance(argument, dict):
        return {key: _copied(item) for key, item in argument.items()}
    return argument


def _matches(argument: Argument, value: Plain) -> bool:
    """Whether a bound value can have come from what stands in the plan: literals are equal, references are free."""
    if isinstance(argument, Ref):
        return True
    if isinstance(argument, list):
        return isinstance(value, list) and len(argument) == len(value) and all(map(_matches, argument, value))
    if isinstance(argument, dict):
        return (
            isinstance(value, dict)
            and argument.keys() == value.keys()
            and all(_matches(item, value[key]) for key, item in argument.items())
        )
    return type(argument) is type(value) and argument == value


def _crashed(tool: str, error: BaseException) -> ToolCrashed:
    message = str(error).strip().partition("\n")[0][:200]
    said = f": {message}" if message else ""
    return ToolCrashed(f"{tool!r} failed with {type(error).__name__}{said}; this is a fault of the tool, not of yours")
