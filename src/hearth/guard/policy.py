"""The owner's rules: every plan gets allow, ask or deny with a reason; what no rule and no default names is denied.

    [policy.send_mail]
    ruling = "ask"
    reason = "mail cannot be taken back"

Rules name tools exactly. Without a rule a tool that only reads runs, one that changes or sends something asks. A value
that a stranger may have written and that decides where data goes (a sink) turns an allow into an ask; so does a repair
that changes or sends something, because it may act on another record than the one that was meant.

Covered: which tools run, and the sources of sink values.
Not covered: amounts, how often a tool is called in one plan, and whether the plan is what the owner meant.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from hearth.errors import ConfigError, PlanError
from hearth.guard.labels import StepLabels, origins, predict
from hearth.types import Plan, Ruling, ToolSpec

Verdict = Literal["allow", "ask", "deny"]
_SEVERITY: Mapping[Verdict, int] = {"allow": 0, "ask": 1, "deny": 2}


class RuleSetting(Protocol):
    """The owner's word on one tool; `config.Rule` is one."""

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
class Judgement:
    """A ruling on a plan with what it was made of."""

    ruling: Ruling
    steps: tuple[Ruling, ...] = ()
    """One ruling per step; empty when the plan could not be read."""
    labels: tuple[StepLabels, ...] = ()


class Policy:
    """Rules by exact tool name, over safe defaults."""

    def __init__(self, rules: Mapping[str, RuleSetting] | None = None) -> None:
        self._rules = dict(rules or {})

    @classmethod
    def from_settings(cls, rules: Mapping[str, RuleSetting], tools: Mapping[str, object]) -> Policy:
        """Build from checked settings.

        Args:
            rules: By exact tool name.
            tools: Every registered tool, by name.
        Raises:
            ConfigError: A rule names no tool. It would silently rule on nothing, so Hearth does not start with it.
        """
        faults = [_unknown_tool(name, tools) for name in rules if name not in tools]
        if faults:
            raise ConfigError("\n".join(faults))
        return cls(rules)

    def rule_tool(self, spec: ToolSpec) -> Ruling:
        """What is said of calling this tool, whatever its arguments."""
        rule = self._rules.get(spec.name)
        if rule is not None:
            reason = rule.reason or f"your rule for {spec.name} says {rule.ruling}"
            return Ruling(rule.ruling, reason, f"policy.{spec.name}")
        if spec.effect == "none":
            return Ruling("allow", f"{spec.name} only reads", "default")
        if spec.effect == "change":
            return Ruling("ask", f"{spec.name} changes your data", "default")
        if spec.effect == "send":
            return Ruling("ask", f"{spec.name} sends something that cannot be taken back", "default")
        return Ruling("deny", f"{spec.name} declares the effect {spec.effect!r}, which no rule knows", "default")

    def judge(self, plan: Plan, tools: Mapping[str, ToolSpec], n_consented: int = 0) -> Judgement:
        """Rule on a whole plan: the strictest word on any of its steps, with every reason of that strictness.

        Args:
            n_consented: So many leading steps were allowed before; they are not ruled on again, but their labels count.
        """
        try:
            labels = predict(plan, tools)
        except PlanError as error:
            return Judgement(Ruling("deny", f"the plan cannot be run: {error}", "plan"))
        steps = tuple(
            Ruling("allow", "agreed to before", "consent")
            if index < n_consented
            else self._judge_step(plan, index, tools, labels[index])
            for index in range(len(plan.steps))
        )
        if not steps:
            return Judgement(Ruling("deny", "the plan has no steps", "plan"))
        strictest = max(steps, key=lambda ruling: _SEVERITY[ruling.verdict])
        deciding = [ruling for ruling in steps if ruling.verdict == strictest.verdict]
        reason = "; ".join(dict.fromkeys(ruling.reason for ruling in deciding))
        return Judgement(Ruling(strictest.verdict, reason, strictest.rule), steps, labels)

    def _judge_step(self, plan: Plan, index: int, tools: Mapping[str, ToolSpec], labels: StepLabels) -> Ruling:
        step = plan.steps[index]
        spec = tools[step.tool]
        ruling = self.rule_tool(spec)
        if ruling.verdict != "allow":
            return ruling
        if step.replaces is not None and spec.effect != "none":
            return Ruling("ask", f"{spec.name} would act on something else than you first asked for", "repair")
        for parameter in spec.parameters:
            label = labels.arguments.get(parameter.name)
            if parameter.is_sink and label is not None and not label.is_trusted:
                where = " and ".join(origins(plan, index, parameter.name, tools))
                reason = f"{parameter.name!r} of {spec.name} decides where data goes and comes from {where}"
                return Ruling("ask", f"{reason}, which a stranger may have written", "label")
        return ruling


def _unknown_tool(name: str, tools: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, tools, 1)
    hint = f"did you mean [policy.{near[0]}]?" if near else "see `hearth tools` for the names"
    return f"[policy.{name}] names no registered tool; {hint}"
