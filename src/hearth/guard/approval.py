"""One question per plan, in plain words: what will happen, to whom, with which values, what can be undone.

Values are shown quoted and cut, with control and direction characters escaped, so that a value cannot pass for a part
of the question. Not covered: values that are not known yet; they are named by the step they will come from.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Mapping
from typing import TextIO

from hearth.guard.labels import origins
from hearth.guard.policy import Judgement
from hearth.plan_text import moment_text
from hearth.types import Argument, Effect, Plan, Ref, Ruling, Step, ToolSpec

MAX_VALUE_CHARS = 200
_CONSEQUENCE: Mapping[Effect, str] = {
    "none": "only reads",
    "change": "changes your data; can be undone",
    "send": "cannot be undone",
}


def question(plan: Plan, tools: Mapping[str, ToolSpec], judgement: Judgement) -> str:
    """The whole plan as text for the owner, ending in the reasons for asking.

    Args:
        judgement: Of this plan, by `Policy.judge`. Steps it counts as agreed to before are left out.
    """
    lines = ["This is what I would do:"]
    for index, step in enumerate(plan.steps):
        if judgement.steps[index].rule != "consent":
            lines.extend(_step_lines(plan, index, step, tools))
    lines.append(f"I ask because {judgement.ruling.reason}.")
    return "\n".join(lines)


def _step_lines(plan: Plan, index: int, step: Step, tools: Mapping[str, ToolSpec]) -> list[str]:
    spec = tools[step.tool]
    lines = [f"  {index + 1}. {spec.name} ({_CONSEQUENCE[spec.effect]})"]
    for name, value in step.arguments.items():
        parameter = spec.parameter(name)
        is_sink = parameter is not None and parameter.is_sink
        line = f"       {name}{' (decides where it goes)' if is_sink else ''}: {_said(value, plan)}"
        if is_sink and (strangers := origins(plan, index, name, tools)):
            line += f" [a stranger may have written this: {', '.join(strangers)}]"
        lines.append(line)
    return lines


def _said(value: Argument, plan: Plan) -> str:
    if isinstance(value, Ref):
        what = f"the {'.'.join(value.path)}" if value.path else "the result"
        return f"{what} from {value.step + 1} ({plan.steps[value.step].tool})"
    if isinstance(value, list):
        return ", ".join(_said(item, plan) for item in value) or "nothing"
    if isinstance(value, dict):
        return ", ".join(f"{quoted(key)} = {_said(item, plan)}" for key, item in value.items())
    if isinstance(value, str):
        return moment_text(value) or quoted(value)
    return str(value)


def quoted(text: str) -> str:
    """`text` in quotation marks on one line, at most `MAX_VALUE_CHARS` of it, nothing invisible in it."""
    shown = "".join(
        repr(c)[1:-1] if unicodedata.category(c) in _INVISIBLE else f"\\{c}" if c in '"\\' else c
        for c in text[:MAX_VALUE_CHARS]
    )
    rest = len(text) - MAX_VALUE_CHARS
    return f'"{shown}"' if rest <= 0 else f'"{shown}…" (and {rest} more characters)'


_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


class TerminalApprover:
    """Asks on a terminal: the question on standard error, the answer from standard input.

    Anything but a clear yes is a no, and so is the end of input; where input is no terminal there is nobody to ask.
    """

    def __init__(self, answers: TextIO | None = None, shown: TextIO | None = None) -> None:
        self._answers = answers
        self._shown = shown

    def approve(self, question: str, ruling: Ruling) -> bool | None:  # noqa: ARG002 - the question holds the reason
        answers, shown = self._answers or sys.stdin, self._shown or sys.stderr
        if answers is None or not answers.isatty():
            return None
        shown.write(f"{question}\nDo it? [y/n] ")
        shown.flush()
        while line := answers.readline():
            answer = line.strip().lower()
            if answer in ("y", "yes"):
                return True
            if answer in ("n", "no", ""):
                return False
            shown.write("Please answer y or n: ")
            shown.flush()
        return False


class RefusingApprover:
    """There is nobody to ask, so nothing is approved."""

    def approve(self, question: str, ruling: Ruling) -> bool | None:  # noqa: ARG002 - the seam's signature
        return None


class YesApprover:
    """The owner said yes to everything beforehand (`--yes`). A rule that denies still denies."""

    def approve(self, question: str, ruling: Ruling) -> bool:  # noqa: ARG002 - the seam's signature
        return True
