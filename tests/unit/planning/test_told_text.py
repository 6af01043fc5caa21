"""Texts are turned to the one who is told."""

from __future__ import annotations

import datetime as dt

import pytest

from hearth.planning.dialogue.told_text import as_question, said_to, turned_to_told
from hearth.types import Context, Entity, Plan, Ref, Request, Step

_NOW = dt.datetime(2026, 11, 23, 9, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("text", "told", "turned"),
    [
        ("she can come", "Ivy", "you can come"),
        ("we'll pick her up at six", "Ivy", "we'll pick you up at six"),
        ("her parcel is here", "Ivy", "your parcel is here"),
        ("the boiler makes that noise again and can he get someone out", "Graham", None),
        ("he's late again", "Tom", "you're late again"),
        ("he's got until Friday", "Tom", "you've got until Friday"),
        ("she needs to bring her own towel", "Ivy", "you need to bring your own towel"),
        ("she never replies", "Ivy", "you never reply"),
        ("if she watches it herself, it is hers", "Ivy", "if you watch it yourself, it is yours"),
        ("is he in on Monday", "Tom", "are you in on Monday"),
        ("I saw him", "Tom", "I saw you"),
        ("He was right", "Tom", "You were right"),
    ],
)
def test_what_is_said_of_the_one_told_is_said_to_them(text: str, told: str, turned: str | None) -> None:
    if turned is None:
        turned = text.replace("can he", "can you")
    assert said_to(text, told, {"ivy", "tom", "graham"}) == turned


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Mia says she is ill", "Ivy"),  # somebody else was named
        ("she will see him", "Ivy"),  # two people
        ("he is asleep", "mum"),  # not of her
        ("the class begins at nine", "Ivy"),  # of nobody
        ("they can come", "Ivy"),  # not covered
        ("my brother lost his key", "Ivy"),
    ],
)
def test_what_may_be_of_somebody_else_stays(text: str, told: str) -> None:
    assert said_to(text, told, {"ivy", "mia"}) == text


def _plan(text: str) -> Plan:
    return Plan(
        (Step("find_contact", {"name": "Ivy"}), Step("draft_mail", {"to": [Ref(0, ("email",))], "text": text})),
        planner="recall",
    )


@pytest.mark.parametrize(
    ("said", "text", "turned"),
    [
        ("tell Ivy that she can come", "she can come", "you can come"),
        ("let ivy know she can come", "she can come", "you can come"),
        ('email Ivy "she can come"', "she can come", "she can come"),  # her own words
        ("my note about Ivy: she can come", "she can come", "she can come"),  # nobody is told
    ],
)
def test_a_draft_is_turned_where_the_request_tells(said: str, text: str, turned: str) -> None:
    context = Context(entities=(Entity("Ivy Lang", "person", ("Ivy",)),))
    found = turned_to_told(_plan(text), Request(said, _NOW), context)
    assert found.steps[1].arguments["text"] == turned
    assert found.steps[0] == _plan(text).steps[0]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("if you can come on Friday", "Can you come on Friday?"),
        ("whether you still want the bike", "Do you still want the bike?"),
        ("if you're in", "Are you in?"),
        ("if we could swap.", "Could we swap?"),
        ("if it fits", "if it fits"),
        ("if the shop is open", "if the shop is open"),
        ("when you are home", "when you are home"),
    ],
)
def test_what_somebody_is_asked_is_a_question(text: str, question: str) -> None:
    assert as_question(text) == question


@pytest.mark.parametrize(
    ("said", "text", "written"),
    [
        ("ask Tom if hes coming", "if hes coming", "Are you coming?"),
        ("tell Tom I'll see if he can", "I'll see if he can", "I'll see if you can"),
    ],
)
def test_a_question_is_written_only_where_somebody_is_asked(said: str, text: str, written: str) -> None:
    steps = (Step("find_contact", {"name": "Tom"}), Step("draft_mail", {"to": [Ref(0, ("email",))], "text": text}))
    known = Context("Mira", (Entity("Tom", "person"),))
    assert turned_to_told(Plan(steps), Request(said, _NOW), known).steps[1].arguments["text"] == written
