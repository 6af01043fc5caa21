"""Applies the owner's rules: every plan gets allow, ask or deny with a reason; what nothing names is denied.

    [[rule]]                                    [policy.send_mail]
    tools = ["draft_mail"]                      ruling = "ask"
    when.to = { contact = true }                reason = "mail cannot be taken back"
    ruling = "allow"

`[[rule]]` tables are tried in order, then the table of the tool, then the default: a tool that only reads runs, one
that changes or sends something asks. A value that a stranger may have written and that decides where data goes (a sink)
turns an allow into an ask; so does a repair that changes or sends something, because it may act on another record than
the intended one.

A plan is judged before anything is read. Where a rule depends on a value that a reference will bring, the plan gets the
mildest ruling that is still possible, and the monitor judges the call again on the real values.

Covered: which tools run, with which arguments, from which sources, when and how often.
Not covered: whether the plan is what the owner meant (`guard.capability.warrant`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from hearth.config import OrderedRule, Settings
from hearth.errors import ConfigError, PlanError
from hearth.guard.flow.labels import PlannedStep, StepLabels, Value, origins, predict, refs_in
from hearth.guard.policy.rules import Circumstances, Compiled, Given, ToolRule, compiled, unknown_name
from hearth.registry import COMPANION_TOOLS
from hearth.types import Argument, Label, Plain, Plan, Ruling, Step, ToolSpec

Verdict = Literal["allow", "ask", "deny"]
SEVERITY: Mapping[str, int] = {"allow": 0, "ask": 1, "deny": 2}
MAX_FAULTS = 20
"""Most faults of a policy that are reported at once."""
UNKNOWN = Circumstances()


class RuleSetting(Protocol):
    """The owner's ruling on one tool; `config.Rule` is one."""

    @property
    def ruling(self) -> Verdict: ...

    @property
    def reason(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule made in code."""

    ruling: Verdict
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Tried:
    """One rule that was tried for a call, in order."""

    rule: str
    fits: bool | None
    """None: not known before the plan runs."""
    why: str


@dataclass(frozen=True, slots=True)
class Decision:
    """Decision of the rules on one call."""

    ruling: Ruling
    possible: tuple[Ruling, ...] = ()
    """Rulings that the real values may still bring instead."""
    tried: tuple[Tried, ...] = ()

    @property
    def is_open(self) -> bool:
        """Return whether the real values may bring another verdict."""
        return any(other.verdict != self.ruling.verdict for other in self.possible)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A ruling on a plan, with the step rulings it was made from."""

    ruling: Ruling
    steps: tuple[Ruling, ...] = ()
    """One ruling per step; empty when the plan could not be read."""
    labels: tuple[StepLabels, ...] = ()
    decisions: tuple[Decision, ...] = ()
    """Detailed decision for each step."""
    things: Mapping[int, Mapping[str, Value]] = field(default_factory=dict)
    """By step: the literals that name things, resolved as far as that could be done before the plan runs."""


class Policy:
    """Ordered rules, then rules by exact tool name, over safe defaults."""

    def __init__(
        self, rules: Mapping[str, RuleSetting] | None = None, ordered: Mapping[str, Sequence[ToolRule]] | None = None
    ) -> None:
        self._rules = dict(rules or {})
        self._ordered = {tool: tuple(several) for tool, several in (ordered or {}).items()}

    @classmethod
    def from_settings(
        cls,
        rules: Mapping[str, RuleSetting],
        specs: Mapping[str, ToolSpec],
        ordered: Sequence[OrderedRule] = (),
        *,
        lines: Mapping[str, int] | None = None,
        path: str = "hearth.toml",
    ) -> Policy:
        """Build from checked settings.

        Args:
            rules: The `[policy.TOOL]` rules, by exact tool name.
            specs: Every registered tool, by name.
            ordered: The `[[rule]]` tables.
            lines: Line numbers where tables begin: `policy.NAME` and `rule.N`.
        Raises:
            ConfigError: A rule could rule on nothing, or on something other than it says, so Hearth does not start with
                it; names file, line and fix of each.
        """
        lines = lines or {}
        faults = [
            f"{path}{_at(lines.get(f'policy.{name}', 0))}: [policy.{name}] "
            + unknown_name(name, specs, "registered tool", "`hearth tools`")
            for name in rules
            if name not in specs and name not in COMPANION_TOOLS
        ]
        tables = {name: lines.get(f"policy.{name}", 0) for name in rules}
        places = {place: lines.get(f"rule.{place}", 0) for place in range(len(ordered))}
        found = compiled(ordered, tables, specs, places, path) if ordered else Compiled({}, ())
        faults += found.faults
        if faults:
            more = len(faults) - MAX_FAULTS
            raise ConfigError("\n".join([*faults[:MAX_FAULTS], *([f"… and {more} more"] if more > 0 else [])]))
        return cls(rules, found.by_tool)

    @classmethod
    def of(cls, settings: Settings, specs: Mapping[str, ToolSpec], path: str = "hearth.toml") -> Policy:
        """Build the policy of a whole `hearth.toml`. Raises: ConfigError, as `from_settings`."""
        names = [*(f"policy.{name}" for name in settings.policy), *(f"rule.{k}" for k in range(len(settings.rule)))]
        lines = {name: settings.line_of(name) for name in names}
        return cls.from_settings(settings.policy, specs, settings.rule, lines=lines, path=path)

    def ordered_rules(self, tool: str) -> tuple[ToolRule, ...]:
        """The ordered rules that are tried for a tool."""
        return self._ordered.get(tool, ())

    def key_of(self, tool: str, rule: str) -> str:
        """Return what a standing answer stores of the rule that asked: for an ordered rule, its content too."""
        found = next((one for one in self.ordered_rules(tool) if one.name == rule), None)
        return f"{rule} {found.digest}" if found is not None else rule

    def rates(self, tool: str) -> frozenset[dt.timedelta]:
        """The lengths of time within which calls of a tool are counted."""
        return frozenset(rate.per for rule in self.ordered_rules(tool) for rate in rule.rates)

    def needs_values(self, tool: str) -> bool:
        """Return whether the ruling on a call depends on more than the tool's name."""
        return tool in self._ordered

    # ── One call ──────────────────────────────────────────────────────────────────────────────────────────

    def rule_tool(self, spec: ToolSpec) -> Ruling:
        """Rule on a call that no ordered rule decides, whatever its arguments."""
        rule = self._rules.get(spec.name)
        if rule is not None:
            reason = rule.reason or f"your rule for {spec.name} says {rule.ruling}"
            return Ruling(rule.ruling, reason, f"policy.{spec.name}")
        if spec.effect == "none":
            return Ruling("allow", f"{spec.name} only reads", "default")
        if spec.effect == "change":
            return Ruling("ask", f"{spec.name} would change your data", "default")
        if spec.effect == "send":
            return Ruling("ask", f"{spec.name} would send something that cannot be taken back", "default")
        return Ruling("deny", f"{spec.name} declares the effect {spec.effect!r}, which no rule knows", "default")

    def decide(
        self, spec: ToolSpec, given: Mapping[str, Given], circumstances: Circumstances, *, is_final: bool
    ) -> Decision:
        """Apply the rules to one call, as far as its arguments are known.

        Args:
            is_final: The values are the real ones. A condition that still cannot be decided counts against the call: a
                rule that allows does not hold, one that asks or denies does.
        """
        possible: list[Ruling] = []
        tried: list[Tried] = []
        decided: Ruling | None = None
        for rule in self._ordered.get(spec.name, ()):
            fits, why = rule.holds(spec, given, circumstances)
            if fits is None and is_final:
                fits = rule.verdict != "allow"
            tried.append(Tried(rule.name, fits, why))
            if fits:
                decided = rule.ruling(spec)
                break
            if fits is None:
                possible.append(rule.ruling(spec))
        if decided is None:
            decided = self.rule_tool(spec)
            tried.append(Tried(decided.rule, True, decided.reason))
        mildest = min((decided, *possible), key=lambda ruling: SEVERITY[ruling.verdict])
        others = tuple(ruling for ruling in (decided, *possible) if ruling is not mildest)
        return Decision(mildest, others, tuple(tried))

    def judge_call(self, spec: ToolSpec, arguments: Mapping[str, Value], circumstances: Circumstances) -> Decision:
        """Rule on a call with its real values."""
        given = {name: Given.known(value) for name, value in arguments.items()}
        return self.decide(spec, given, circumstances, is_final=True)

    # ── A whole plan ──────────────────────────────────────────────────────────────────────────────────────

    def judge(
        self,
        plan: Plan,
        tools: Mapping[str, ToolSpec],
        n_consented: int = 0,
        circumstances: Mapping[str, Circumstances] | None = None,
        things: Mapping[int, Mapping[str, Value]] | None = None,
    ) -> Judgement:
        """Rule on a whole plan: the strictest ruling on any of its steps, with every reason of that strictness.

        Args:
            n_consented: The number of leading steps that were allowed before; they are not ruled on again, but their
                labels count.
            circumstances: By tool; those of other tools are unknown.
            things: As `Judgement.things`; without it nothing that literals name is known yet.
        """
        things = things or {}
        try:
            labels = predict(plan, tools)
        except PlanError as error:
            return Judgement(Ruling("deny", f"the plan cannot be run: {error}", "plan"))
        n_planned: dict[str, int] = {}
        decisions: list[Decision] = []
        for index, step in enumerate(plan.steps):
            known = (circumstances or {}).get(step.tool, UNKNOWN)
            n_before = n_planned.get(step.tool, 0)
            n_planned[step.tool] = n_before + 1
            if index < n_consented:
                decisions.append(Decision(Ruling("allow", "agreed to before", "consent")))
            else:
                at_step = Circumstances(known.now, known.book, known.n_calls, n_before)
                planned = PlannedStep(plan, index, tools)
                decisions.append(self._judge_step(planned, labels[index], at_step, things.get(index, {})))
        if not decisions:
            return Judgement(Ruling("deny", "the plan has no steps", "plan"))
        steps = tuple(decision.ruling for decision in decisions)
        return Judgement(strictest(steps), steps, labels, tuple(decisions), things)

    def _judge_step(
        self, planned: PlannedStep, labels: StepLabels, circumstances: Circumstances, things: Mapping[str, Value]
    ) -> Decision:
        step, spec = planned.step, planned.spec
        if spec.name in self._ordered:
            given = {name: _given(spec, value, name, labels, things) for name, value in step.arguments.items()}
            given |= {name: Given.known(value) for name, value in things.items() if name not in given}
            decision = self.decide(spec, given, circumstances, is_final=False)
        else:
            decision = Decision(self.rule_tool(spec))
        if decision.ruling.verdict != "allow":
            return decision
        if step.replaces is not None and spec.effect != "none":
            asks = Ruling("ask", f"{spec.name} would act on something else than you first asked for", "repair")
            return Decision(asks, decision.possible, decision.tried)
        return self._with_sinks(planned, labels, decision)

    @staticmethod
    def _with_sinks(planned: PlannedStep, labels: StepLabels, decision: Decision) -> Decision:
        """Revise the decision by the sources of the values that decide where data goes."""
        for parameter in planned.spec.parameters:
            label = labels.arguments.get(parameter.name)
            if not parameter.is_sink or label is None or label.is_trusted:
                continue
            where = " and ".join(origins(planned, parameter.name))
            asks = Ruling("ask", stranger_reason(parameter.name, planned.spec.name, where), "label")
            if not labels.may_turn_out_trusted(parameter.name):
                return Decision(asks, decision.possible, decision.tried)
            decision = Decision(decision.ruling, (*decision.possible, asks), decision.tried)
        return decision


def stranger_reason(parameter: str, tool: str, where: str) -> str:
    return f"{parameter!r} of {tool} decides where data goes and comes from {where}, which a stranger may have written"


def strictest(steps: Sequence[Ruling]) -> Ruling:
    """The strictest of some rulings, with every reason of that strictness."""
    worst = max(steps, key=lambda ruling: SEVERITY[ruling.verdict])
    reasons = dict.fromkeys(ruling.reason for ruling in steps if ruling.verdict == worst.verdict)
    return Ruling(worst.verdict, "; ".join(reasons), worst.rule)


def _given(spec: ToolSpec, value: Argument, name: str, labels: StepLabels, things: Mapping[str, Value]) -> Given:
    """An argument of a plan: a literal is known, with the thing it names; a reference to a result is not."""
    parameter = spec.parameter(name)
    is_unresolved = parameter is not None and parameter.is_resolved and name not in things
    if refs_in(value) or is_unresolved or (name in things and things[name].is_open):
        return Given(None, labels.arguments[name], labels.best.get(name))
    return Given.known(things[name] if name in things else Value(literal(value), labels.arguments[name]))


def literals(step: Step, labels: Mapping[str, Label]) -> dict[str, Value]:
    """Return the arguments of a step that are known before it runs, with their labels."""
    return {name: Value(literal(one), labels[name]) for name, one in step.arguments.items() if not refs_in(one)}


def literal(value: Argument) -> Plain:
    """Return a literal as plain data."""
    if isinstance(value, list):
        return [literal(item) for item in value]
    if isinstance(value, dict):
        return {key: literal(item) for key, item in value.items()}
    assert value is None or isinstance(value, bool | int | float | str)
    return value


def _at(line: int) -> str:
    return f", line {line}" if line else ""
