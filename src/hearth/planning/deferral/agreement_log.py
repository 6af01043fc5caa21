"""Records how often a planner's plans agreed with the teacher's; thresholds for asking are learned from it.

Each comparison is on disk when `note` returns. Two plans agree when they call the same tools, linked alike, with the
same values; values in free words (titles, texts, queries) may differ, as two people word them differently.
"""

from __future__ import annotations

import datetime as dt
import json
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hearth.formats.plan_json import encode_argument, plan_to_json
from hearth.formats.plan_validation import canonical
from hearth.planning.deferral.thresholds import Outcome, sureness
from hearth.storage.database import Store
from hearth.types import Plan, Refusal, Request, Step, ToolSpec

N_REMEMBERED = 2000
"""Number of newest comparisons that count: the planner changes over time."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A plan beside the teacher's answer to the same request."""

    request: str
    planner: str
    plan: Plan
    teacher: str
    answer: Plan | Refusal
    is_right: bool
    share: float = 1.0
    """Probability that this comparison was made; see `thresholds.Outcome`."""
    is_drawn: bool = False
    episode: str = ""


class Agreements:
    """Comparisons in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def note(self, comparison: Comparison) -> None:
        """Write a comparison down. Raises: StoreError: Nothing was written."""
        with self._store.transaction() as cursor:
            note(cursor, comparison)

    def outcomes(self, planner: str) -> tuple[Outcome, ...]:
        """Return the newest comparisons of one planner, oldest first."""
        rows = self._store.query(
            "SELECT confidence, is_right, share, is_drawn FROM agreement WHERE planner = ? "
            "ORDER BY number DESC LIMIT ?",
            (planner, N_REMEMBERED),
        )
        return tuple(Outcome(r[0], bool(r[1]), r[2], bool(r[3])) for r in reversed(rows))

    def n_right(self) -> dict[str, tuple[int, int]]:
        """Return, by planner, how many plans agreed, and how many were compared."""
        rows = self._store.query("SELECT planner, sum(is_right), count(*) FROM agreement GROUP BY planner")
        return {row[0]: (int(row[1]), int(row[2])) for row in rows}


def note(cursor: sqlite3.Cursor, made: Comparison) -> None:
    """Write a comparison down within a transaction."""
    answer = plan_to_json(made.answer) if isinstance(made.answer, Plan) else {"refusal": made.answer.kind}
    cursor.execute(
        "INSERT INTO agreement (at, episode, request, planner, confidence, plan_json, teacher, teacher_json, is_right, "
        "share, is_drawn) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            made.episode,
            made.request.encode("utf-8", "replace").decode(),
            made.planner,
            sureness(made.plan),
            json.dumps(plan_to_json(made.plan)),
            made.teacher,
            json.dumps(answer),
            made.is_right,
            made.share,
            made.is_drawn,
        ),
    )


def agrees(plan: Plan, answer: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> bool:
    """Return whether `plan` does what the teacher's answer does, however its texts are worded."""
    if not isinstance(answer, Plan) or plan.unserved or answer.unserved:
        return False
    return _essence(plan.steps, tools) == _essence(answer.steps, tools)


def _essence(steps: Sequence[Step], tools: Mapping[str, ToolSpec]) -> Counter[str]:
    """Write each step as text, the steps it needs in place of their numbers: order does not matter."""
    said: dict[int, str] = {}

    def essence(index: int, above: tuple[int, ...]) -> str:
        if index in said:
            return said[index]
        if index in above or not 0 <= index < len(steps):
            return "?"
        step = steps[index]
        needs = sorted(essence(k, (*above, index)) for k in step.needs())
        spec = tools.get(step.tool)
        values = {
            name: encode_argument(value)
            for name, value in step.arguments.items()
            if not step_refers(step, name) and not _is_free(spec, name)
        }
        said[index] = json.dumps([step.tool, values, needs], sort_keys=True, ensure_ascii=True)
        return said[index]

    return Counter(essence(index, ()) for index in range(len(steps)))


def step_refers(step: Step, name: str) -> bool:
    """Return whether an argument uses a result."""
    return bool(Step(step.tool, {name: step.arguments[name]}).refs())


def _is_free(spec: ToolSpec | None, name: str) -> bool:
    """Return whether a parameter holds words of the owner's own."""
    parameter = spec.parameter(name) if spec else None
    if parameter is None or parameter.enum:
        return False
    return canonical(parameter.type).removeprefix("list[").removesuffix("]") in ("text", "any")


def comparison(
    request: Request, plan: Plan, teacher: str, answer: Plan | Refusal, tools: Mapping[str, ToolSpec]
) -> Comparison:
    """Compare a plan with the teacher's answer."""
    return Comparison(request.text, plan.planner, plan, teacher, answer, agrees(plan, answer, tools))
