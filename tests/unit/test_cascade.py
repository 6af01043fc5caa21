"""python -m pytest tests/unit/test_cascade.py"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from hearth.errors import PlannerError
from hearth.planning.cascade import Cascade
from hearth.testing import FIXED_NOW
from hearth.types import Context, Offer, Plan, Refusal, Request, Step, ToolSpec

REQUEST = Request("what time is it", FIXED_NOW)
SURE = Plan((Step("current_time"),), confidence=0.9, planner="first")
UNSURE = Plan((Step("current_time"),), confidence=0.4, planner="unsure")
PARTIAL = Plan((Step("current_time"),), confidence=0.9, unserved=("and sing",), planner="partial")
NO = Refusal("out_of_scope", "I can't do that yet.")
NO_BUT = Refusal("out_of_scope", "I can't do that yet.", offer=Offer("current_time", "I can tell the time."))
QUESTION = Refusal("needs", "When?", missing=("add_reminder.at",))
UNREADABLE = Refusal("unreadable", "I read English only.")


class Fixed:
    def __init__(self, answer: Plan | Refusal | PlannerError) -> None:
        self.name = "fixed"
        self.answer = answer
        self.n_asked = 0

    def plan(self, request: Request, context: Context, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:
        self.n_asked += 1
        if isinstance(self.answer, PlannerError):
            raise self.answer
        return self.answer


def test_a_confident_plan_asks_nobody_else() -> None:
    first, second = Fixed(SURE), Fixed(UNSURE)
    assert Cascade([first, second]).plan(REQUEST, Context(), {}) is SURE
    assert second.n_asked == 0


@pytest.mark.parametrize(
    ("answers", "winner"),
    [
        ([UNSURE, SURE], SURE),
        ([PARTIAL, UNSURE], UNSURE),
        ([UNSURE, PARTIAL], UNSURE),
        ([NO, PARTIAL], PARTIAL),
        ([UNSURE, NO], UNSURE),
        ([NO, NO_BUT], NO_BUT),
        ([QUESTION, NO_BUT], QUESTION),
        ([NO, QUESTION], QUESTION),
        ([UNREADABLE, NO], NO),
        ([UNREADABLE, SURE], SURE),
        ([NO, Refusal("out_of_scope", "later")], NO),
        ([UNSURE, PlannerError("unreachable")], UNSURE),
        ([PlannerError("unreachable"), NO], NO),
    ],
)
def test_the_best_answer_stands(answers: list[Plan | Refusal | PlannerError], winner: Plan | Refusal) -> None:
    assert Cascade([Fixed(a) for a in answers]).plan(REQUEST, Context(), {}) is winner


def test_without_any_answer_the_failure_is_raised() -> None:
    with pytest.raises(PlannerError, match="unreachable"):
        Cascade([Fixed(PlannerError("unreachable"))]).plan(REQUEST, Context(), {})
    with pytest.raises(PlannerError, match="no planner is set up"):
        Cascade([]).plan(REQUEST, Context(), {})


def test_a_blank_request_goes_no_further() -> None:
    second = Fixed(SURE)
    answer = Cascade([Fixed(UNREADABLE), second]).plan(Request(" \n", FIXED_NOW), Context(), {})
    assert answer is UNREADABLE
    assert second.n_asked == 0
