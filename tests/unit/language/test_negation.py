"""Requests that forbid do nothing; texts keep their "not"."""

from __future__ import annotations

import datetime as dt

import pytest

from hearth.agent import shipped_demonstrations
from hearth.language.clauses import forbids, with_denials
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.registry import load_tools
from hearth.types import OWNERS_WORD, Context, Demonstration, Plan, Ref, Refusal, Request, Step

NOW = dt.datetime(2026, 11, 16, 9, 30, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    "text",
    [
        "don't add milk to the shopping list",
        "Please do not lock the door.",
        "never open the garage door",
        "ok, dont wake me at seven",
        "no need to add milk to the list",
        "I don't want you to mail Tom",
        "you don't need to call the plumber",
        "don’t ever delete my notes",
        "hey hearth, don't you dare send it",
    ],
)
def test_what_forbids(text: str) -> None:
    assert forbids(text)


@pytest.mark.parametrize(
    "text",
    [
        "add milk to the shopping list",
        "don't let me forget the milk",
        "don't forget to call mum",
        "don't worry about the light, turn the heating off",
        "I don't want the survey mail any longer, get rid of it",
        "don't show me this mail any more",
        "no need to show me Bruno's mail as unread any more",
        "why don't you turn the light on",
        "I don't know when the dentist is",
        "note: never buy kale again",
        "tell Tom not to come",
        "no, turn it on",
        "",
        "don't",
    ],
)
def test_what_does_not(text: str) -> None:
    assert not forbids(text)


@pytest.mark.parametrize(
    ("request_text", "text", "whole"),
    [
        ("remind me not to eat sugar", "eat sugar", "not to eat sugar"),
        ("tell Tom don't come", "come", "don't come"),
        ("write that we never met", "met", "never met"),
        ("remind me to eat sugar", "eat sugar", "eat sugar"),
        ("remind me not to eat sugar", "not to eat sugar", "not to eat sugar"),
        ("note: eat. not now, eat", "eat", "eat"),  # which of the two is meant cannot be told
    ],
)
def test_a_text_keeps_its_denial(request_text: str, text: str, whole: str) -> None:
    plan = Plan((Step("add_note", {"text": text, "note": Ref(0)}), Step("find_notes", {"query": text})))
    kept = with_denials(plan, request_text)
    assert kept.steps[0].arguments == {"text": whole, "note": Ref(0)}
    assert kept.steps[1] == plan.steps[1]


def test_recall_does_nothing_and_asks_nobody_else_unless_the_owner_taught_it() -> None:
    tools, context = load_tools(None).specs, Context(country="DE")
    planner = RecallPlanner(MiniLMEncoder.open())
    planner.add(one for one in shipped_demonstrations() if "list" in one.request)
    said = "don't add milk to the shopping list"
    answer = planner.plan(Request(said, NOW, "r"), context, tools)
    assert isinstance(answer, Refusal)
    assert answer.planner == OWNERS_WORD
    assert "not to" in answer.reason
    assert isinstance(planner.plan(Request(said.partition(" ")[2], NOW, "r"), context, tools), Plan)
    plan = Plan((Step("find_notes", {"query": "milk"}),))
    planner.add([Demonstration("own", said, plan, source="owner", now=NOW)])
    taught = planner.plan(Request(said, NOW, "r"), context, tools)
    assert isinstance(taught, Plan)
    assert [step.tool for step in taught.steps] == ["find_notes"]
