"""Asks the owner one question per plan, in plain words: what happens, to whom, with which values, what can be undone.

Values are shown quoted and cut, with control and direction characters escaped, so that a value cannot pass for a part
of the question. A value not known yet is named by the step and the field it will come from, with who may have written
it. If a call turns out different from what was agreed to, only the difference is asked about, with the real values.

Covered: every step of a plan with its values, their sources, what can be undone.
Not covered: whether the owner reads it; a value longer than `MAX_VALUE_CHARS` is cut, with its length given.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Mapping
from typing import TextIO

from hearth.formats.plan_text import moment_text
from hearth.guard.flow.labels import StepLabels, Value, origins, refs_in
from hearth.guard.flow.trusted_contacts import KnownAddresses
from hearth.guard.policy.policy import Judgement
from hearth.protocols import Reply
from hearth.types import Argument, Effect, Label, Plain, Plan, Ref, Ruling, Step, ToolSpec

MAX_VALUE_CHARS = 200
MAX_ADDRESS_CHARS = 320
"""Limit for an address, whose end decides: longer than any that mail can go to."""
UNFORESEEN = "label.unforeseen"
"""The rule that asks about a value from an unforeseen source."""
_CONSEQUENCE: Mapping[Effect, str] = {
    "none": "only reads",
    "change": "changes your data; can be undone",
    "send": "cannot be undone",
}


_SOURCES = {
    "owner": "your request",
    "device": "your own records",
    "contacts": "your contacts",
    "message": "a message you received",
    "web": "a web page",
    "file": "a file",
    "sensor": "a sensor",
    "teacher": "the teacher",
    "model": "a language model",
    "memory": "memory",
    "injection": "a text that reads like an instruction to me",
}


def question(
    plan: Plan,
    tools: Mapping[str, ToolSpec],
    judgement: Judgement,
    behind: Mapping[str, Value] | None = None,
    book: KnownAddresses | None = None,
) -> str:
    """Write the whole plan as text for the owner, ending in the reasons for asking.

    Args:
        judgement: The judgement of this plan by `Policy.judge`. Steps already agreed to are left out.
        behind: Recipients that ids in the plan stand for ("send it"): shown in place of the id.
        book: Gives the names to whom those addresses belong.
    """
    lines = ["This is what I would do:"]
    for index, step in enumerate(plan.steps):
        if judgement.steps[index].rule != "consent":
            lines.extend(_step_lines(plan, index, step, tools, judgement.labels[index], behind or {}, book))
    lines.append(f"I ask because {shown(judgement.ruling.reason)}.")
    return "\n".join(lines)


def difference(
    plan: Plan,
    index: int,
    tools: Mapping[str, ToolSpec],
    arguments: Mapping[str, Value],
    ruling: Ruling,
    book: KnownAddresses | None = None,
    *,
    is_seen: bool = True,
) -> str:
    """Describe how one step differs from what was agreed to, with its real values.

    Args:
        arguments: The arguments of the call, with recipients in place of the ids that stand for them.
        book: Gives the name to whom an address belongs.
        is_seen: The owner saw the plan; for a step that nobody was asked about so far, every value is shown.
    """
    step = plan.steps[index]
    spec = tools[step.tool]
    lines = [f"Before I go on with {index + 1}. {spec.name} ({_CONSEQUENCE[spec.effect]}):"]
    for name, value in arguments.items():
        parameter = spec.parameter(name)
        is_sink = parameter is not None and parameter.is_sink
        planned = step.arguments.get(name)
        if is_seen and not is_sink and not refs_in(planned):
            continue  # it is as planned, and nothing depends on it
        line = f"       {name}{' (decides where it goes)' if is_sink else ''}: {_said_value(value.data, book)}"
        line += _said_files(value)
        if refs_in(planned):
            line += f", as {_said(planned, plan)}"
        lines.append(f"{line} [from {source_words(value.label)}]")
    lines.append(f"I ask because {shown(ruling.reason)}.")
    return "\n".join(lines)


def _said_files(value: Value) -> str:
    return f", with the files {', '.join(map(quoted, value.files))}" if value.files else ""


def source_words(label: Label) -> str:
    """Name the sources of a value in words, strangers first."""
    names = [*sorted(label.strangers), *sorted(label.sources - label.strangers)]
    return ", ".join(dict.fromkeys(_SOURCES.get(name, name) for name in names)) or "nowhere in particular"


def _said_value(value: Plain, book: KnownAddresses | None) -> str:
    if isinstance(value, list):
        return ", ".join(_said_value(item, book) for item in value) or "nothing"
    if isinstance(value, dict):
        return ", ".join(f"{quoted(key)} = {_said_value(item, book)}" for key, item in value.items())
    if not isinstance(value, str):
        return str(value)
    if book is not None and "@" in value:
        name = book.name_of(value)
        return f"{quoted(value)} ({f'{quoted(name)} in your contacts' if name else 'not in your contacts'})"
    return moment_text(value) or quoted(value)


def _step_lines(
    plan: Plan,
    index: int,
    step: Step,
    tools: Mapping[str, ToolSpec],
    labels: StepLabels,
    behind: Mapping[str, Value],
    book: KnownAddresses | None,
) -> list[str]:
    spec = tools[step.tool]
    lines = [f"  {index + 1}. {spec.name} ({_CONSEQUENCE[spec.effect]})"]
    for name, value in step.arguments.items():
        parameter = spec.parameter(name)
        is_sink = parameter is not None and parameter.is_sink
        known = behind.get(value) if is_sink and isinstance(value, str) else None
        said = _said(value, plan) if known is None else f"to {_said_value(known.data, book)}{_said_files(known)}"
        line = f"       {name}{' (decides where it goes)' if is_sink else ''}: {said}"
        label = labels.arguments[name]
        if known is not None:
            line += f" [from {source_words(known.label)}]"
        elif is_sink and labels.expected(name).is_trusted and not label.is_trusted:
            line += f" [from {source_words(labels.expected(name))}; if it turns out otherwise, I ask again]"
        elif is_sink and (strangers := origins(plan, index, name, tools)):
            unless = ", unless it is a contact of yours" if labels.may_turn_out_trusted(name) else ""
            line += f" [a stranger may have written this: {', '.join(strangers)}{unless}]"
        elif refs_in(value) and spec.effect != "none":
            line += f" [from {source_words(label)}]"
        lines.append(line)
    return lines


def _said(value: Argument, plan: Plan) -> str:
    if isinstance(value, Ref):
        what = f"the {'.'.join(value.path)}" if value.path else "the result"
        return f"{shown(what)} from {value.step + 1} ({plan.steps[value.step].tool})"
    if isinstance(value, list):
        return ", ".join(_said(item, plan) for item in value) or "nothing"
    if isinstance(value, dict):
        return ", ".join(f"{quoted(key)} = {_said(item, plan)}" for key, item in value.items())
    if isinstance(value, str):
        return moment_text(value) or quoted(value)
    return str(value)


def shown(text: str) -> str:
    """Escape everything invisible in `text`; a reason may hold a value."""
    return "".join(repr(c)[1:-1] if unicodedata.category(c) in _INVISIBLE else c for c in text)


def quoted(text: str) -> str:
    """Put `text` in quotation marks on one line, at most `MAX_VALUE_CHARS` of it, with nothing invisible in it."""
    limit = MAX_ADDRESS_CHARS if "@" in text and not any(map(str.isspace, text)) else MAX_VALUE_CHARS
    shown = "".join(
        repr(c)[1:-1] if unicodedata.category(c) in _INVISIBLE else f"\\{c}" if c in '"\\' else c for c in text[:limit]
    )
    rest = len(text) - limit
    return f'"{shown}"' if rest <= 0 else f'"{shown}…" (and {rest} more characters)'


_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


_ANSWERS: Mapping[str, Reply] = {
    "y": "once",
    "yes": "once",
    "a": "always",
    "always": "always",
    "n": "no",
    "no": "no",
    "": "no",
    "never": "never",
}
PROMPT = "Do it? [y]es, [a]lways when it is like this, [n]o, never: "


class TerminalApprover:
    """Asks on a terminal: writes the question to standard error, reads the answer from standard input.

    Anything but a clear yes is a no, and so is the end of input; where input is no terminal there is nobody to ask.
    """

    def __init__(self, answers: TextIO | None = None, shown: TextIO | None = None) -> None:
        self._answers = answers
        self._shown = shown

    def approve(self, question: str, ruling: Ruling) -> Reply:  # noqa: ARG002 - the question holds the reason
        answers, shown = self._answers or sys.stdin, self._shown or sys.stderr
        if answers is None or not answers.isatty():
            return "nobody"
        shown.write(f"{question}\n{PROMPT}")
        shown.flush()
        while line := answers.readline():
            answer = _ANSWERS.get(line.strip().lower())
            if answer is not None:
                return answer
            shown.write("Please answer y, a, n or never: ")
            shown.flush()
        return "no"


class RefusingApprover:
    """An approver for when there is nobody to ask: nothing is approved."""

    def approve(self, question: str, ruling: Ruling) -> Reply:  # noqa: ARG002 - the seam's signature
        return "nobody"


class YesApprover:
    """An approver for an owner who said yes to every plan beforehand (`--yes`). A rule that denies still denies.

    Not covered by that yes: an unforeseen stranger's value (a contact that turns out not to be the owner's own).
    """

    def approve(self, question: str, ruling: Ruling) -> Reply:  # noqa: ARG002 - the seam's signature
        return "nobody" if ruling.rule == UNFORESEEN else "once"
