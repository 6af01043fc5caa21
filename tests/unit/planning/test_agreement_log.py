"""python -m pytest tests/unit/planning/test_agreement_log.py"""

from __future__ import annotations

from dataclasses import replace

import pytest

from hearth.planning.deferral import Agreements, Outcome, agrees, comparison
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW
from hearth.types import Parameter, Plan, Ref, Refusal, Request, Step, ToolSpec

TOOLS = {
    spec.name: spec
    for spec in (
        ToolSpec("find", "Find.", (Parameter("query", "text"),), returns="list[Thing]"),
        ToolSpec("remind", "Remind.", (Parameter("text", "text"), Parameter("at", "datetime")), effect="change"),
        ToolSpec("send", "Send.", (Parameter("thing", "Thing"), Parameter("kind", "text", enum=("a", "b")))),
    )
}
BASE = Plan(
    (Step("find", {"query": "x"}), Step("send", {"thing": Ref(0), "kind": "a"})), confidence=0.8, planner="recall"
)
REMIND = Plan((Step("remind", {"text": "call mum", "at": "2026-11-20T18:00:00"}),))


@pytest.mark.parametrize(
    ("plan", "answer", "same"),
    [
        (BASE, BASE, True),
        (BASE, replace(BASE, confidence=0.1, planner="teacher"), True),
        (BASE, Plan((Step("find", {"query": "other words"}), BASE.steps[1])), True),
        (BASE, Plan((BASE.steps[0], Step("send", {"thing": Ref(0), "kind": "b"}))), False),
        (BASE, Plan((BASE.steps[0], Step("send", {"thing": "id-7", "kind": "a"}))), False),
        (BASE, Plan(BASE.steps[:1]), False),
        (BASE, Plan((*BASE.steps, BASE.steps[0])), False),
        (BASE, Refusal("out_of_scope", "no"), False),
        (BASE, replace(BASE, unserved=("and sing",)), False),
        (REMIND, Plan((Step("remind", {"text": "mum", "at": "2026-11-20T18:00:00"}),)), True),
        (REMIND, Plan((Step("remind", {"text": "call mum", "at": "2026-11-21T18:00:00"}),)), False),
        (
            Plan((Step("find", {"query": "x"}), *REMIND.steps)),
            Plan((*REMIND.steps, Step("find", {"query": "x"}))),
            True,
        ),
        (
            Plan((Step("find", {"query": "x"}), replace(REMIND.steps[0], after=(0,)))),
            Plan((*REMIND.steps, Step("find", {"query": "x"}))),
            False,
        ),
    ],
)
def test_plans_agree_that_do_the_same(plan: Plan, answer: Plan | Refusal, same: bool) -> None:
    assert agrees(plan, answer, TOOLS) is same


def test_steps_that_wait_for_each_other_are_compared_without_end() -> None:
    circle = Plan((Step("find", {"query": Ref(1)}), Step("find", {"query": Ref(0)})))
    assert agrees(circle, circle, TOOLS)
    assert not agrees(circle, BASE, TOOLS)


def test_comparisons_are_kept_by_planner(store: Store) -> None:
    request = Request("send x \ud800", FIXED_NOW)
    agreements = Agreements(store)
    drawn = replace(comparison(request, BASE, "gold", BASE, TOOLS), share=0.1, is_drawn=True, episode="e1")
    agreements.note(drawn)
    agreements.note(comparison(request, BASE, "gold", Refusal("out_of_scope", "no"), TOOLS))
    agreements.note(comparison(request, replace(BASE, planner="student", confidence=0.3), "gold", BASE, TOOLS))
    assert agreements.outcomes("recall") == (Outcome(0.8, True, 0.1, True), Outcome(0.8, False, 1.0, False))
    assert agreements.outcomes("student") == (Outcome(0.3, True, 1.0, False),)
    assert agreements.outcomes("nobody") == ()
    assert agreements.n_right() == {"recall": (1, 2), "student": (1, 1)}
