"""Draw a plan as a few lines of text that show what depends on what. Pure: the same plan gives the same lines.

    ●      1 find_files    query="roof report"
    │ ●    2 find_contact  name="Ben"
    ╰─┴─●  3 draft_mail    to=②.email  text="the roof report"  attachments=①.path  · changes

A node's result runs down its column to the steps that use it; `①.path` in an argument names the part that is used.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence

from hearth.formats.tool_signature import parse_duration
from hearth.types import Argument, Plan, Ref, Step, ToolSpec

MAX_VALUE = 48
"""Most characters of one value that are shown."""
MAX_LINE = 110
MAX_COLUMNS = 12
"""A plan that needs more columns than this is listed without them."""

_EFFECTS = {"none": "", "change": "changes", "send": "sends"}
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_DURATION = re.compile(r"P(?=[\dT])[\dDHMSTW.]+")


def plan_lines(plan: Plan, tools: Mapping[str, ToolSpec], max_line: int = MAX_LINE) -> list[str]:
    """Draw the plan as text, one step per line (more when its arguments are long), and say what it leaves out.

    Args:
        tools: To mark steps that change or send something; unknown ones are not marked.
        max_line: Characters after which arguments go to the next line.
    """
    rails = _rails(plan.steps)
    width = max((len(here) for here, _ in rails), default=0)
    longest = max((len(step.tool) for step in plan.steps), default=0)
    lines: list[str] = []
    for index, (step, (here, below)) in enumerate(zip(plan.steps, rails, strict=True)):
        head = f"{index + 1:>{len(str(len(plan.steps)))}} {step.tool:<{longest}}"
        said = [f"{name}={argument_text(value)}" for name, value in step.arguments.items()]
        waits = sorted(set(step.after) - {ref.step for ref in step.refs()})
        said += [f"after {' '.join(mark(k) for k in waits)}"] if waits else []
        spec = tools.get(step.tool)
        effect = _EFFECTS[spec.effect] if spec else ""
        said += [f"· {effect}"] if effect else []
        said += [f"· instead of {mark(step.replaces)}"] if step.replaces is not None else []
        room = max(max_line - width - len(head) - 4, 30)
        first, *more = _wrapped(said, room) or [""]
        gap = "  " if width else ""
        lines.append(f"{here:<{width}}{gap}{head}  {first}".rstrip())
        lines += [f"{below:<{width}}{gap}{'':<{len(head)}}  {line}".rstrip() for line in more]
    lines += [f"✗ not planned: “{part}”" for part in plan.unserved]
    if plan.offer is not None:
        lines.append(f"  offered instead: {plan.offer.tool}")
    return lines


def mark(index: int) -> str:
    """Return the circled number of a step: `①` for the first."""
    return chr(0x2460 + index) if index < 20 else f"({index + 1})"


def argument_text(value: Argument, limit: int = MAX_VALUE) -> str:
    """Write a value as a person reads it: dates in words, durations in hours, text in quotes, references marked."""
    if isinstance(value, Ref):
        return ".".join((mark(value.step), *value.path))
    if isinstance(value, list):
        items = [argument_text(item, limit) for item in value]
        return items[0] if len(items) == 1 else f"[{', '.join(items)}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {argument_text(item, limit)}" for key, item in value.items()) + "}"
    if isinstance(value, str):
        return moment_text(value) or _duration_text(value) or f'"{_short(value, limit)}"'
    return (
        {True: "yes", False: "no", None: "nothing"}[value] if value is None or isinstance(value, bool) else str(value)
    )


def moment_text(text: str) -> str:
    """Return `Thu 3 Dec 2026 09:00` for an ISO date or moment, empty for anything else."""
    try:
        if _MOMENT.fullmatch(text):
            moment = dt.datetime.fromisoformat(text)
            return f"{moment:%a} {moment.day} {moment:%b %Y %H:%M}"
        if _DAY.fullmatch(text):
            day = dt.date.fromisoformat(text)
            return f"{day:%a} {day.day} {day:%b %Y}"
    except ValueError:
        pass
    return ""


def _duration_text(text: str) -> str:
    """Return `1 h 30 min` for an ISO duration, empty for anything else."""
    if not _DURATION.fullmatch(text):
        return ""
    try:
        rest = parse_duration(text).total_seconds()
    except (ValueError, OverflowError):
        return ""
    parts = []
    for unit, length_s in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        count, rest = divmod(rest, length_s)
        if unit == "s":
            count += rest
        parts += [f"{count:g} {unit}"] if count else []
    return " ".join(parts) or "0 s"


def _short(text: str, limit: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _wrapped(parts: Sequence[str], room: int) -> list[str]:
    """Join `parts` into lines of at most `room` characters; a part is never cut."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + 2 + len(part) <= room:
            lines[-1] += f"  {part}"
        else:
            lines.append(part)
    return lines


# ── The drawing at the left ───────────────────────────────────────────────────────────────────────────────


def _rails(steps: Sequence[Step]) -> list[tuple[str, str]]:
    """Return for each step the drawing to its left, and the one on the lines that continue its arguments."""
    last_use = [
        max((k for k, other in enumerate(steps) if index in other.needs()), default=-1) for index in range(len(steps))
    ]
    columns: dict[int, int] = {}
    """Column → the step whose result runs down it."""
    rails: list[tuple[str, str]] = []
    for index, step in enumerate(steps):
        inputs = sorted(column for column, source in columns.items() if source in step.needs())
        own = next(c for c in range(len(steps) + 1) if c not in columns and c > (inputs[-1] if inputs else -1))
        ending = {column for column in inputs if last_use[columns[column]] <= index}
        here = _row(columns, inputs, ending, own)
        columns = {column: source for column, source in columns.items() if column not in ending}
        if last_use[index] > index:
            columns[own] = index
        below = "".join("│ " if c in columns else "  " for c in range(max(columns, default=-1) + 1)).rstrip()
        rails.append((here, below))
    if max((len(here) for here, _ in rails), default=0) > 2 * MAX_COLUMNS:
        return [("", "") for _ in steps]
    return rails


def _row(columns: Mapping[int, int], inputs: Sequence[int], ending: set[int], own: int) -> str:
    """Draw one step's line: its node, and its inputs joined to it from the left."""
    cells: list[str] = []
    first = inputs[0] if inputs else own
    for column in range(max(own, *columns, 0) + 1 if columns else own + 1):
        is_joined = first <= column < own
        if column == own:
            cell = "●"
        elif column in inputs:
            is_first = column == first
            cell = ("╰" if is_first else "┴") if column in ending else ("├" if is_first else "┼")
        elif column in columns:
            cell = "│"
        else:
            cell = "─" if is_joined else " "
        cells.append(cell + ("─" if is_joined else " "))
    return "".join(cells).rstrip()
