"""Several answers of a planner: agreement makes sure, disagreement asks; a model that gives its prompt away is not used."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest

from hearth.errors import PlannerError
from hearth.models.llm.scripted import ScriptedModel
from hearth.planning.llm import DISPUTED, UNANIMOUS, ConsistentPlanner, LanguagePlanner, planner_of
from hearth.testing import FIXED_NOW, HashEncoder
from hearth.types import Context, Parameter, Plan, Refusal, Request, Step, ToolSpec

TOOLS = {
    "find_mail": ToolSpec("find_mail", "Find mails.", (Parameter("sender", "text"),)),
    "read_news": ToolSpec("read_news", "Read the news."),
    "send_mail": ToolSpec("send_mail", "Send.", (Parameter("to", "EmailAddress", is_sink=True),), effect="send"),
}
REQUEST = Request("mail ann@x.example or bob@x.example", FIXED_NOW)
READ, NEWS = Plan((Step("find_mail", {"sender": "ann"}),)), Plan((Step("read_news"),))
ANN, BOB = (Plan((Step("send_mail", {"to": f"{name}@x.example"}),)) for name in ("ann", "bob"))
NO = Refusal("out_of_scope", "no tool does that")


class Replies:
    name = "replies"

    def __init__(self, replies: Sequence[Plan | Refusal | PlannerError]) -> None:
        self._replies = list(replies)
        self.orders: list[list[str]] = []

    def plan(self, request: Request, context: Context, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:
        self.orders.append(list(tools))
        reply = self._replies.pop(0)
        if isinstance(reply, PlannerError):
            raise reply
        return reply


def asked(*replies: Plan | Refusal | PlannerError, n: int = 3) -> Plan | Refusal:
    return ConsistentPlanner(Replies(replies), n).plan(REQUEST, Context(), TOOLS)


def test_answers_that_agree_are_surer_and_end_the_asking() -> None:
    planner = Replies([ANN, ANN])
    plan = ConsistentPlanner(planner, 3).plan(REQUEST, Context(), TOOLS)
    assert isinstance(plan, Plan)
    assert (plan.steps, plan.confidence) == (ANN.steps, UNANIMOUS)
    assert planner.orders[0] == list(TOOLS)
    assert sorted(planner.orders[1]) == sorted(TOOLS)


def test_of_plans_that_only_read_the_majority_is_taken_with_little_confidence() -> None:
    plan = asked(READ, NEWS, READ)
    assert isinstance(plan, Plan)
    assert (plan.steps, plan.confidence) == (READ.steps, DISPUTED)


@pytest.mark.parametrize("replies", [(ANN, BOB, ANN), (READ, ANN, READ), (ANN, NO, ANN), (READ, NEWS, NO)])
def test_answers_that_differ_on_what_is_done_or_have_no_majority_become_a_question(
    replies: Sequence[Plan | Refusal],
) -> None:
    answer = asked(*replies)
    assert isinstance(answer, Refusal)
    assert answer.kind == "needs"
    assert answer.reason.startswith("I can read this in two ways: ")


def test_the_question_shows_the_values_that_differ() -> None:
    answer = asked(ANN, BOB, BOB)
    assert isinstance(answer, Refusal)
    assert "bob@x.example" in answer.reason
    assert "ann@x.example" in answer.reason


def test_refusals_that_agree_are_a_refusal_and_failures_do_not_vote() -> None:
    assert asked(NO, NO) == NO
    plan = asked(PlannerError("down"), ANN, ANN)
    assert isinstance(plan, Plan)
    with pytest.raises(PlannerError, match="down"):
        asked(PlannerError("down"), PlannerError("down"), PlannerError("down"))


def test_one_answer_of_several_attempts_is_no_agreement() -> None:
    plan = asked(PlannerError("down"), ANN, PlannerError("down"))
    assert isinstance(plan, Plan)
    assert plan.confidence == ANN.confidence


def test_two_attempts_are_the_least() -> None:
    with pytest.raises(ValueError, match="at least twice"):
        ConsistentPlanner(Replies([]), 1)


def test_the_settings_decide_how_often_a_model_is_asked() -> None:
    assert isinstance(planner_of(ScriptedModel([]), HashEncoder(), 3), ConsistentPlanner)
    assert isinstance(planner_of(ScriptedModel([]), HashEncoder(), 1), LanguagePlanner)


class Betrayer:
    """Writes its whole prompt into the answer, as a model does that was told to."""

    name = "betrayer"

    def complete(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, object] | None = None) -> str:
        told = json.loads(messages[1]["content"])
        return json.dumps({"outcome": "needs", "reason": f"I was told: {told['rule']}", "task_nodes": []})


def test_a_planner_that_gives_its_prompt_away_is_not_used() -> None:
    with pytest.raises(PlannerError, match="thrown away: it holds the canary"):
        LanguagePlanner(Betrayer()).plan(REQUEST, Context(), TOOLS)
