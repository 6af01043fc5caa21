"""python -m pytest tests/unit/planning/test_cascade.py"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from hearth.errors import PlannerError
from hearth.planning.deferral import Agreements, Cascade, Comparing, comparison
from hearth.storage.database import Store
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


# ── The teacher ───────────────────────────────────────────────────────────────────────────────────────────

TAUGHT = Plan((Step("current_time"),), confidence=0.75, planner="language:x")
OTHER = Plan((Step("set_timer"),), confidence=0.9, planner="first")


def outcome(store: Store, planner: str) -> list[tuple[bool, float, bool]]:
    return [(o.is_right, o.share, o.is_drawn) for o in Agreements(store).outcomes(planner)]


def test_a_sure_plan_does_not_ask_the_teacher(store: Store) -> None:
    teacher = Fixed(TAUGHT)
    assert (
        Cascade([Fixed(SURE)], teacher=teacher, comparing=Comparing(Agreements(store))).plan(REQUEST, Context(), {})
        is SURE
    )
    assert teacher.n_asked == 0


def test_an_unsure_plan_asks_the_teacher_and_the_agreement_is_kept(store: Store) -> None:
    cascade = Cascade([Fixed(UNSURE)], teacher=Fixed(TAUGHT), comparing=Comparing(Agreements(store)))
    assert cascade.plan(REQUEST, Context(), {}) is TAUGHT
    assert outcome(store, "unsure") == [(True, 1.0, False)]


def test_by_lot_a_sure_plan_is_compared_too(store: Store) -> None:
    cascade = Cascade([Fixed(OTHER)], teacher=Fixed(TAUGHT), comparing=Comparing(Agreements(store), share=1.0))
    assert cascade.plan(REQUEST, Context(), {}) is TAUGHT
    assert outcome(store, "first") == [(False, 1.0, True)]


def test_of_what_a_program_asks_nothing_is_compared(store: Store) -> None:
    request = replace(REQUEST, asked_by="cook book")
    for planner, found in ((Fixed(SURE), SURE), (Fixed(UNSURE), TAUGHT)):
        cascade = Cascade([planner], teacher=Fixed(TAUGHT), comparing=Comparing(Agreements(store), share=1.0))
        assert cascade.plan(request, Context(), {}) is found
    assert [outcome(store, name) for name in ("first", "unsure")] == [[], []]


@pytest.mark.parametrize("answer", [NO, PlannerError("unreachable"), PARTIAL])
def test_a_teacher_with_nothing_better_changes_nothing(answer: Plan | Refusal | PlannerError, store: Store) -> None:
    cascade = Cascade([Fixed(SURE)], teacher=Fixed(answer), comparing=Comparing(Agreements(store), share=1.0))
    assert cascade.plan(REQUEST, Context(), {}) is SURE


def test_what_the_owner_refused_is_not_planned_by_others(store: Store) -> None:
    refused = Refusal("out_of_scope", "I can't do that yet.", planner="owner")
    second, teacher = Fixed(SURE), Fixed(TAUGHT)
    cascade = Cascade([Fixed(refused), second], teacher=teacher, comparing=Comparing(Agreements(store)))
    assert cascade.plan(REQUEST, Context(), {}) is refused
    assert (second.n_asked, teacher.n_asked) == (0, 0)


def test_a_blank_request_is_not_put_to_the_teacher(store: Store) -> None:
    teacher = Fixed(TAUGHT)
    cascade = Cascade([Fixed(UNREADABLE)], teacher=teacher, comparing=Comparing(Agreements(store), share=1.0))
    assert cascade.plan(Request(" ", FIXED_NOW), Context(), {}) is UNREADABLE
    assert teacher.n_asked == 0


def test_the_threshold_is_that_of_the_settings_until_enough_is_known(store: Store) -> None:
    agreements = Agreements(store)
    cascade = Cascade([Fixed(SURE)], confident=0.6, teacher=Fixed(TAUGHT), comparing=Comparing(agreements))
    assert cascade.threshold("first") is None
    made = replace(comparison(REQUEST, SURE, "teacher", SURE, {}), is_drawn=True)
    for _ in range(60):
        agreements.note(made)
    assert cascade.threshold("first") is None, "read once, until something is noted through the cascade"
    fresh = Cascade([Fixed(SURE)], confident=0.6, teacher=Fixed(TAUGHT), comparing=Comparing(agreements))
    assert fresh.threshold("first") == 0.85, "the surest of those that cost the same"
    assert fresh.threshold("another") is None


@pytest.mark.parametrize(("expected", "is_asked"), [(0.95, False), (0.8, True)])
def test_a_learnt_threshold_is_compared_with_the_expected_f1(store: Store, expected: float, is_asked: bool) -> None:
    agreements, sure = Agreements(store), replace(SURE, expected_f1=0.9)
    for _ in range(60):
        agreements.note(replace(comparison(REQUEST, sure, "teacher", sure, {}), is_drawn=True))
    plan, teacher = replace(UNSURE, planner="first", expected_f1=expected), Fixed(TAUGHT)
    answer = Cascade([Fixed(plan)], teacher=teacher, comparing=Comparing(agreements)).plan(REQUEST, Context(), {})
    assert answer is (TAUGHT if is_asked else plan)
    assert teacher.n_asked == is_asked


def test_until_there_is_a_learnt_threshold_confidence_counts_and_not_the_expected_f1(store: Store) -> None:
    teacher = Fixed(TAUGHT)
    cascade = Cascade(
        [Fixed(replace(UNSURE, expected_f1=0.99))], teacher=teacher, comparing=Comparing(Agreements(store))
    )
    assert cascade.plan(REQUEST, Context(), {}) is TAUGHT
    surely = replace(SURE, expected_f1=0.1)
    assert (
        Cascade([Fixed(surely)], teacher=teacher, comparing=Comparing(Agreements(store))).plan(REQUEST, Context(), {})
        is surely
    )


def test_a_planner_that_is_often_wrong_is_asked_about_however_sure_it_is(store: Store) -> None:
    agreements = Agreements(store)
    for k in range(60):
        agreements.note(replace(comparison(REQUEST, SURE, "teacher", SURE if k % 2 else NO, {}), is_drawn=True))
    teacher = Fixed(TAUGHT)
    cascade = Cascade([Fixed(SURE)], teacher=teacher, comparing=Comparing(agreements))
    assert cascade.plan(REQUEST, Context(), {}) is TAUGHT
    assert teacher.n_asked == 1
