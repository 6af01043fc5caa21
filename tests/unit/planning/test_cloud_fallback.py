"""Which requests go to a cloud that answers, where no tool serves them."""

from __future__ import annotations

import pytest

from hearth.planning.dialogue.fallbacks import asked_of_cloud
from hearth.testing import FIXED_NOW
from hearth.types import Parameter, Plan, Refusal, Request, Step, ToolSpec

TOOLS = {"ask_cloud": ToolSpec("ask_cloud", "Answer.", (Parameter("question", "text"),), source="teacher")}
NOTHING = Refusal("out_of_scope", "I can't do that yet.")


@pytest.mark.parametrize(
    ("text", "is_asked"),
    [
        ("what could I cook tonight", True),
        ("suggest a film for Friday", True),
        ("any ideas for dinner?", True),
        ("Lotte can't have nuts, what could I bake?", True),
        ("I am vegan. Any ideas for lunch?", True),
        ("how do I boil an egg", True),
        ("who invented the zipper", True),
        ("gift ideas for Ana", True),
        ("play some music", False),
        ("order me a pizza", False),
        ("water the plants", False),
        ("I live in Ghent", False),
        ("", False),
    ],
)
def test_questions_and_ideas_are_asked_orders_are_not(text: str, is_asked: bool) -> None:
    plan = asked_of_cloud(Request(text, FIXED_NOW), NOTHING, TOOLS)
    assert (plan is not None) is is_asked
    if plan is not None:
        assert [(step.tool, step.arguments) for step in plan.steps] == [("ask_cloud", {"question": text})]


@pytest.mark.parametrize(
    "found",
    [Plan((Step("x"),)), Refusal("needs", "which?", ("x.y",)), Refusal("unreadable", "what?")],
)
def test_what_was_found_stands(found: Plan | Refusal) -> None:
    assert asked_of_cloud(Request("what could I cook", FIXED_NOW), found, TOOLS) is None


def test_nobody_is_asked_where_nobody_may_be() -> None:
    assert asked_of_cloud(Request("what could I cook", FIXED_NOW), NOTHING, {}) is None
