"""Plans and episodes as a few lines of text for a person at a terminal, and what such a terminal asks for: texts
without control characters, questions that nothing typed before answers, the command's own name.

    ●      1 find_files    query="roof report"
    │ ●    2 find_contact  name="Ben"

A plan's lines show what depends on what; the same plan gives the same lines. Text from outside (mails, files, web
pages) may hold terminal control characters; `clean` removes them from everything that is shown.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import re
import select
import shutil
import sys
import termios
import textwrap
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from hearth.formats.tool_signature import parse_duration
from hearth.types import Argument, Episode, Plan, Ref, Step, StepResult, ToolSpec

# ── Plans ─────────────────────────────────────────────────────────────────────────────────────────────


MAX_VALUE = 48
"""Most characters of one value that are shown."""
MAX_LINE = 110
MAX_COLUMNS = 12
"""A plan that needs more columns than this is listed without them."""

_PICKED = "the one that was shown"
"""Stands for the id of a record that the owner pointed at."""
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
        picked = {p.name for p in tools[step.tool].parameters if p.type.endswith("Id")} if step.tool in tools else set()
        said = [
            f"{name}={_PICKED if name in picked and isinstance(value, str) else argument_text(value)}"
            for name, value in step.arguments.items()
        ]
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
    lines += [f"✗ I can't do this part yet: “{part}”" for part in plan.unserved]
    if plan.offer is not None:
        lines.append(f"  {plan.offer.text}")
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


# ── Episodes ──────────────────────────────────────────────────────────────────────────────────────────


WIDTH = 100


def command_name() -> str:
    """Return the command that runs Hearth here: `hearth` when it is on the path, else the file that was started."""
    found = shutil.which("hearth")
    started = Path(sys.argv[0])
    if found or started.stem != "hearth":
        return "hearth"
    return os.path.relpath(started) if started.is_relative_to(Path.cwd()) else str(started)


def clean(text: str) -> str:
    """Replace control and invisible format characters (escape sequences, direction overrides); keep line breaks."""
    return "".join(c if c == "\n" or unicodedata.category(c) not in ("Cc", "Cf", "Co", "Cs") else "·" for c in text)


def drop_typed_ahead(stream: TextIO) -> None:
    """Forget what was typed or pasted before it is read, so that it answers no question that nobody has seen yet: a
    pasted text whose second line is "y", say. What is no terminal keeps what it has."""
    with contextlib.suppress(OSError, ValueError, termios.error):  # no descriptor, or no terminal
        handle = stream.fileno()
        if os.isatty(handle):
            termios.tcflush(handle, termios.TCIFLUSH)


def is_typed_ahead(stream: TextIO) -> bool:
    """Say whether something was typed or pasted at a terminal that nobody has read yet."""
    with contextlib.suppress(OSError, ValueError):  # no descriptor
        return os.isatty(stream.fileno()) and bool(select.select([stream], [], [], 0)[0])
    return False


def short(text: str, width: int = WIDTH) -> str:
    """Return one line of at most `width` characters."""
    line = " ".join(clean(text).split())
    return line if len(line) <= width else line[: width - 1] + "…"


def episode_lines(episode: Episode, tools: Mapping[str, ToolSpec]) -> list[str]:
    """Return the whole of an episode: plan, ruling, results, answer with evidence, what left the device, time."""
    lines: list[str] = []
    if episode.plan is not None:
        lines += ["  plan", *(f"    {clean(line)}" for line in plan_lines(episode.plan, tools))]
        lines.append(f"    confidence {episode.plan.confidence:.2f} · by {episode.plan.planner}")
    elif episode.refusal is not None:
        lines.append(f"  no plan ({episode.refusal.kind.replace('_', ' ')})")
    if episode.ruling is not None:
        lines.append(f"  ruling    {episode.ruling.verdict}: {short(episode.ruling.reason)}")
    if episode.asked:
        n = len(episode.asked)
        answers = ", ".join(asked.answer for asked in episode.asked)
        lines.append(f"  asked     {n} question{'' if n == 1 else 's'} (answered: {answers})")
    if episode.plan is not None and episode.results:
        lines.append("  results")
        lines += [f"    {result_line(episode, result)}" for result in episode.results]
    lines += _under("answer", answer_lines(episode))
    n_records = len(episode.answer.evidence)
    in_answer = [f"{n_records} record{'' if n_records == 1 else 's'}, said above"] if n_records else []
    lines += _under("evidence", evidence_lines(episode, is_new=True) or in_answer)
    lines.append(f"  sent      {left(episode)}")
    lines.append(f"  time      {episode.duration_ms:.0f} ms, of which planning {episode.planning_ms:.0f} ms")
    return lines


def answer_lines(episode: Episode, width: int = WIDTH - 12) -> list[str]:
    """Return the answer, broken into lines between words."""
    return wrapped(clean(episode.answer.text), width)


def evidence_lines(episode: Episode, *, is_new: bool = False, width: int = WIDTH - 12) -> list[str]:
    """Return the records the answer rests on, one line per step.

    Args:
        is_new: Leave out the steps whose records the answer itself states.
    """
    lines = []
    for step in dict.fromkeys(e.step for e in episode.answer.evidence):
        said = [" ".join(clean(e.text).split()) for e in episode.answer.evidence if e.step == step]
        if is_new and all(text in " ".join(episode.answer.text.split()) for text in said):
            continue
        count = f"{len(said)} records: " if len(said) > 1 else ""
        source = next(e.source for e in episode.answer.evidence if e.step == step).split(":")[0]
        lines.append(short(f"[{step + 1}] {source}: {count}{'; '.join(said)}", width))
    return lines


def wrapped(text: str, width: int) -> list[str]:
    """Return `text` in lines of at most `width` characters, broken between words and with the indentation kept."""
    lines: list[str] = []
    for line in text.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        hanging = indent + ("  " if line.lstrip().startswith(("· ", "- ", "* ")) else "")
        lines += textwrap.wrap(
            line,
            max(width, 20),
            subsequent_indent=hanging,
            break_long_words=False,
            break_on_hyphens=False,
            drop_whitespace=True,
        ) or [""]
    return lines


def _under(heading: str, lines: Sequence[str]) -> list[str]:
    return [f"  {heading if not k else '':<10}{line}".rstrip() for k, line in enumerate(lines)]


def result_line(episode: Episode, result: StepResult) -> str:
    """Return one step's outcome in a line."""
    assert episode.plan is not None
    tool = episode.plan.steps[result.step].tool if result.step < len(episode.plan.steps) else "?"
    outcome = result.error if result.status != "done" else _gist(result)
    head = f"{result.step + 1} {tool}: {result.status}, {result.duration_ms:.0f} ms"
    return f"{head} · {short(outcome, 70)}" if outcome else head


def _gist(result: StepResult) -> str:
    value = result.value
    if isinstance(value, list):
        return f"{len(value)} found"
    if isinstance(value, dict):
        named = [str(value[k]) for k in ("title", "name", "value", "text", "subject", "path") if value.get(k)]
        return named[0] if named else "a record"
    return "nothing" if value is None else str(value)


def left(episode: Episode) -> str:
    """Return what left the device, in words."""
    if not episode.disclosures:
        return "nothing left the device"
    total = sum(d.n_bytes for d in episode.disclosures)
    hosts = sorted({d.host for d in episode.disclosures})
    return f"{total} bytes to {', '.join(hosts)} (`hearth ledger show --episode {episode.id}` shows them)"


def table_lines(episodes: Sequence[Episode]) -> list[str]:
    """Return a table with a line for each episode: what was typed, how it ended, what it took, what left the device."""
    lines = [f"  {'request':<52} {'status':<8} {'steps':>5} {'ms':>6}  left"]
    for episode in episodes:
        n_steps = len(episode.plan.steps) if episode.plan else 0
        gone = f"{sum(d.n_bytes for d in episode.disclosures):,} bytes" if episode.disclosures else "nothing"
        lines.append(
            f"  {short(episode.request.typed, 52):<52} {episode.answer.status:<8} {n_steps:>5} "
            f"{episode.duration_ms:>6.0f}  {gone}"
        )
    return lines


def summary_lines(episodes: Sequence[Episode]) -> list[str]:
    """Return a table of many episodes: counts by status and reason, and durations."""
    counts: Counter[str] = Counter(e.answer.status for e in episodes)
    times = sorted(e.duration_ms for e in episodes)
    planning = sorted(e.planning_ms for e in episodes)
    lines = [f"  {'status':<10}{'requests':>9}   meaning"]
    for status, meaning in MEANINGS.items():
        if counts[status]:
            lines.append(f"  {status:<10}{counts[status]:>9}   {meaning}")
    lines.append(f"  {'all':<10}{len(episodes):>9}")
    if times:
        lines.append(
            f"  time per request: p50 {_percentile(times, 50):.0f} ms, p95 {_percentile(times, 95):.0f} ms"
            f" (planning p50 {_percentile(planning, 50):.1f} ms)"
        )
    n_bytes = sum(d.n_bytes for e in episodes for d in e.disclosures)
    lines.append(f"  left the device: {n_bytes} bytes" if n_bytes else "  left the device: nothing")
    return lines


MEANINGS = {
    "done": "planned, run, answered",
    "partly": "a part was done, the rest refused or failed, and the answer says which",
    "needs": "something is missing or ambiguous: a question back",
    "refused": "no tool fits: said so, with the nearest thing offered",
    "denied": "the guard or the person said no",
    "failed": "a step went wrong: reported",
}


def _percentile(ordered: Sequence[float], percent: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]
