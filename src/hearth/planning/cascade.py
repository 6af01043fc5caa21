"""Several planners asked in turn: the first confident, complete plan is taken; the next is asked only without one.

What an earlier planner found is kept: when a later one fails or does no better, the best answer so far stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hearth.errors import PlannerError
from hearth.protocols import Planner
from hearth.types import Context, Plan, Refusal, Request, ToolSpec

CONFIDENT = 0.7
"""A complete plan at least this confident is taken without asking the next planner."""

_REFUSAL_RANK = {"unreadable": 0, "out_of_scope": 1, "needs": 3}


class Cascade:
    """A `protocols.Planner` made of others, cheapest first (recall, then a language model)."""

    name = "cascade"

    def __init__(self, planners: Sequence[Planner], *, confident: float = CONFIDENT) -> None:
        """`planners` in the order they are asked; `confident` in [0, 1]."""
        self.planners = tuple(planners)
        self.confident = confident

    def plan(self, request: Request, context: Context, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:
        """The first confident and complete plan, else the best answer any planner gave.

        Raises:
            PlannerError: No planner could answer at all.
        """
        best: Plan | Refusal | None = None
        failure = PlannerError("no planner is set up; name one under [models] in hearth.toml")
        for planner in self.planners:
            try:
                answer = planner.plan(request, context, tools)
            except PlannerError as error:
                failure = error
                continue
            if isinstance(answer, Plan) and not answer.unserved and answer.confidence >= self.confident:
                return answer
            if best is None or _rank(answer) > _rank(best):
                best = answer
            if not request.text.strip():
                break  # there is nothing a further planner could read
        if best is None:
            raise failure
        return best


def _rank(answer: Plan | Refusal) -> tuple[int, float]:
    """Plans before refusals, complete before partial, confident before unsure, a question before a plain no."""
    if isinstance(answer, Plan):
        return (6 if not answer.unserved else 5, answer.confidence)
    return (_REFUSAL_RANK[answer.kind] + (answer.offer is not None), 0.0)
