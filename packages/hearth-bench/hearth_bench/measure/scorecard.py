"""Write `docs/scorecard.md` from the result files: nothing in it is typed by hand.

python -m hearth_bench.measure.scorecard [--check]

The first tables say what was asked of planning and of answers, and what is measured (`scorecard_goals`). A table below
names its file and the place of each row's numbers in it (`scorecard_tables`, `scorecard_answers`). A bound known by
definition (a perfect plan scores 1) is marked as such. Under each table stands what it was measured on, and whether the
measured code has changed since.

Not covered: whether a goal is met beyond chance; the files hold the intervals where there are any.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from hearth_bench.measure.best_results import kept, lost
from hearth_bench.measure.result_file import RESULTS, ROOT
from hearth_bench.measure.scorecard_answers import ANSWER_TABLES
from hearth_bench.measure.scorecard_goals import GOALS, Goal, GoalTable
from hearth_bench.measure.scorecard_tables import TABLES, Row, Table

PAGE = ROOT / "docs" / "scorecard.md"
HEAD = """<!-- Written by `python -m hearth_bench.measure.scorecard` from packages/hearth-bench/results; measure again,
do not edit. -->

# Scorecard

Every number comes from a file in [`packages/hearth-bench/results`](../packages/hearth-bench/results), which a program
wrote. Each table stands between a floor (what costs nothing, or what others do) and an oracle (what could be reached
at best; *by definition* where that needs no measurement). `make bench` measures what fits into ten minutes on this
project's own data and writes this page; the rest is of the day that stands beneath it.
"""


def main(arguments: Sequence[str]) -> int:
    text = scorecard(RESULTS, (*TABLES, *ANSWER_TABLES), GOALS)
    if "--check" in arguments:
        is_same = PAGE.exists() and PAGE.read_text() == text
        print("docs/scorecard.md is up to date" if is_same else "docs/scorecard.md is not of these results")
        return 0 if is_same else 1
    PAGE.write_text(text)
    print(f"written to {PAGE.relative_to(ROOT)}")
    return 0


def scorecard(folder: Path, tables: Sequence[Table], goals: Sequence[GoalTable] = ()) -> str:
    """Build the page from the result files of a folder."""
    parts = [HEAD, *(_goals(folder, one) for one in goals)]
    group = ""
    for table in tables:
        if table.group != group:
            group = table.group
            parts.append(f"\n## {group}\n")
        parts.append(_table(folder, table))
    parts.append(_lost(folder))
    return "\n".join(parts)


def _lost(folder: Path) -> str:
    """List the numbers that were better by more than a fifth at an earlier commit."""
    rows = [
        f"| `{key}` | {best.value:g} | {best.commit}, {best.at[:10]} | **{now:g}** |"
        for key, best, now in lost(kept(folder), folder)
    ]
    if not rows:
        return "\n## Lost\n\nNo watched number was better by more than a fifth at an earlier commit.\n"
    head = ["", "## Lost", "", "Numbers that were better by more than a fifth at an earlier commit (`best.json`).", ""]
    return "\n".join([*head, "| number | best | at | now |", "|---|---:|---|---:|", *rows, ""])


def _goals(folder: Path, table: GoalTable) -> str:
    lines = ["", f"## Asked: {table.title}", "", *([table.note, ""] if table.note else [])]
    lines.append("| measure | then | asked | measured | reached | of | command |")
    lines.append("|---|---:|---:|---:|---|---|---|")
    for goal in table.goals:
        then = "" if goal.then is None else number(goal.then)
        asked = "–" if goal.asked is None else f"{'≤' if goal.is_at_most else '≥'} {number(goal.asked)}"
        lines.append(f"| {goal.label} | {then} | {asked} | {' | '.join(found_of(folder, goal))} | `{goal.command}` |")
    return "\n".join([*lines, ""])


def found_of(folder: Path, goal: Goal) -> tuple[str, str, str]:
    """Return what is measured of a goal, whether that is enough, and when it was measured at which commit."""
    if not goal.file:
        return f"a test: `{goal.at}`", "as long as it passes", ""
    document = read_result(folder / f"{goal.file}.json")
    if document is None:
        return "**not measured yet**", "", f"`{goal.file}.json` is not there"
    found = value_at(document, goal.at)
    of = f"{str(document.get('at', 'no date'))[:10]}, {document.get('commit') or 'unknown'}"
    if not isinstance(found, bool | int | float):
        return "**not measured yet**", "", f"not in `{goal.file}.json` of {of}"
    if goal.asked is None:
        return number(found), "", of
    is_enough = found <= goal.asked if goal.is_at_most else found >= goal.asked
    shown = ("yes" if found else "no") if isinstance(found, bool) else number(found)
    return shown, "yes" if is_enough else "**no**", of


def _table(folder: Path, table: Table) -> str:
    lines = [f"**{table.title}.**{' ' + table.note if table.note else ''}", ""]
    document = read_result(folder / f"{table.file}.json")
    if document is None:
        return "\n".join([*lines[:1], "", f"Not measured yet: `{table.command}`.", ""])
    lines.append("| | " + " | ".join(label for label, _ in table.columns) + " |")
    lines.append("|---|" + "---:|" * len(table.columns))
    for row in table.rows:
        cells = [_cell(document, row, key) for _, key in table.columns]
        lines.append(f"| {_label(row)} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", f"<sub>{measured(document, table)}</sub>", ""])


def _label(row: Row) -> str:
    if row.by_definition is not None:
        return f"{row.label} *by definition*"
    return row.label if row.label.startswith(("floor", "oracle")) else f"**{row.label}**"


def _cell(document: Mapping[str, Any], row: Row, key: str) -> str:
    if row.by_definition is not None:
        return number(row.by_definition.get(key))
    return number(value_at(document, place_of(row, key)))


def place_of(row: Row, key: str) -> str:
    """Return the place of a row's value in the file; `@name/` in the row's place goes after the column's key."""
    before, _, behind = row.at.partition("@")
    return f"{before}{key}/{behind.rstrip('/')}" if behind else row.at + key


def read_result(path: Path) -> dict[str, Any] | None:
    """Read a result; None if it was not measured yet. Raises: ValueError: The file is no result."""
    if not path.exists():
        return None
    document = json.loads(path.read_text())
    if not isinstance(document, dict):
        raise ValueError(f"{path}: expected an object")
    return document


def value_at(document: Mapping[str, Any], place: str) -> Any:
    """Return the value at `key/key/…`, or None if there is none."""
    found: Any = document
    for key in place.split("/"):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def number(value: object) -> str:
    """Format a value as tables show it; anything but a number becomes a dash."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "–"
    if isinstance(value, int) or (value.is_integer() and abs(value) >= 10):
        return f"{value:,.0f}"
    if 0 < abs(value) < 0.001:
        return f"{value:.1e}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}" if abs(value) >= 100 else f"{value:.3f}"


# ── What it was measured on ───────────────────────────────────────────────────────────────────────────────


def measured(document: Mapping[str, Any], table: Table) -> str:
    """Describe the measurement: date, commit, machine, seed, cost, and whether it is older than the code."""
    machine = document.get("machine", "")
    if isinstance(machine, Mapping):
        cores = f"{machine['n_cores']} cores" if machine.get("n_cores") else ""
        machine = ", ".join(filter(None, [str(machine.get("cpu", "")), cores, f"Python {machine.get('python', '?')}"]))
    seed = document.get("seed")
    parts = [
        f"{document.get('at', 'no date')[:16].replace('T', ' ')} UTC",
        f"commit {document.get('commit') or 'unknown'}",
        str(machine) or "machine unknown",
        "no seed: nothing is drawn" if seed is None else f"seed {seed}",
        (f"{document['wall_s']:,.0f} s, " if "wall_s" in document else "")
        + f"{document.get('cpu_s', 0):,.0f} {'' if 'wall_s' in document else 's '}of the processor",
        f"`{table.command}`",
    ]
    return " · ".join([*parts, age(str(document.get("commit") or ""), table.code)])


@cache
def age(commit: str, code: tuple[str, ...]) -> str:
    """Describe changes to the measured code since; `+` after a commit means a tree with uncommitted changes."""
    bare = commit.rstrip("+")
    n = _changes(bare, code) if bare else None
    if n is None:
        return "**its commit is not in this history: it may be older than the code**"
    dirty = "its tree held changes that were not committed; " if commit.endswith("+") else ""
    if n == 0:
        return f"{dirty}the code it measures has not changed since"
    return f"{dirty}**older than the code: {n} later {'commit' if n == 1 else 'commits'} to what it measures**"


def _changes(commit: str, code: tuple[str, ...]) -> int | None:
    """Count later commits that touch these paths; None without git or without the commit."""
    try:
        done = subprocess.run(
            ["git", "rev-list", "--count", f"{commit}..HEAD", "--", *code],
            cwd=ROOT, capture_output=True, text=True, timeout=30,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return int(done.stdout) if done.returncode == 0 and done.stdout.strip().isdigit() else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
