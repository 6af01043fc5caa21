"""What memory gives back keeps the label it was remembered with: another's words stay another's, however they are asked
for, and nobody else's are told as what the owner said."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.agent import Agent, make_home
from hearth.guard.policy.question import RefusingApprover
from hearth.memory.event_memory import NewEvent
from hearth.memory.facts import NewFact
from hearth.testing import FIXED_NOW, FixedApprover
from hearth.types import OWNER, Episode, Label, Plan, Ref, Step

RULE = """
[[rule]]
tools = ["draft_mail"]
when.text = { not_from = ["file", "message", "web", "sensor"] }
ruling = "allow"
"""
KEPT = Label(frozenset({"device"}), frozenset())


def of(*sources: str) -> Label:
    return Label(frozenset(sources), frozenset())


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    home = tmp_path / "home"
    make_home(
        home, {"name": "Ines Duarte", "email": "ines@duarte.example", "time_zone": "Europe/Lisbon", "country": ""}
    )
    with (home / "hearth.toml").open("a") as file:
        file.write(RULE)
    agent = Agent.open(home, RefusingApprover(), environ=os.environ, clock=lambda: FIXED_NOW)
    try:
        yield agent
    finally:
        agent.close()


def remembered(agent: Agent, text: str, label: Label, kind: str = "note", person: str = "", key: str = "e") -> None:
    at = FIXED_NOW - dt.timedelta(days=1)
    agent.memory.remember_all([NewEvent(key, text, kind, at, label, person)])


def drafted(agent: Agent, *steps: Step, approver: FixedApprover | None = None) -> tuple[Episode, FixedApprover]:
    """Draft a mail with what a look-up found, and return what was asked."""
    agent.monitor.approver = approver = approver or FixedApprover("no")
    plan = Plan(steps, planner="owner")
    return agent.run(agent.request("write to luis@costa.example"), plan), approver


def mail(*path: str) -> Step:
    return Step("draft_mail", {"to": ["luis@costa.example"], "subject": "as asked", "text": Ref(0, path)})


FIND = Step("find_answer", {"question": "what is the code of the shed"})
SEARCH = Step("search_memory", {"query": "what is the code of the shed"})
SAID = "the code of the shed is 5151"


@pytest.mark.parametrize(
    ("label", "kind", "person"),
    [
        (of("message"), "message", "Rui"),  # a chat
        (of("sensor"), "sighting", ""),
        (of("file"), "note", ""),
        (of("file", "owner"), "request", ""),  # a file says that the owner asked it
        (of("file", "owner"), "remembered", ""),
        (of("device", "web"), "remembered", ""),  # kept on request, from a page
        (of("message"), "said", "You"),
    ],
)
@pytest.mark.parametrize(
    ("look", "path"), [(FIND, ("value",)), (SEARCH, ("0", "text")), (FIND, ("rests_on", "0", "text"))]
)
def test_a_rule_about_origins_holds_for_what_is_remembered(
    look: Step, path: tuple[str, ...], label: Label, kind: str, person: str, agent: Agent
) -> None:
    remembered(agent, SAID, label, kind, person)
    episode, asked = drafted(agent, look, mail(*path))
    assert episode.results[0].label.sources >= label.sources
    assert len(asked.questions) == 1, episode.answer.text
    assert episode.answer.status == "denied"


@pytest.mark.parametrize(("look", "path"), [(FIND, ("value",)), (SEARCH, ("0", "text"))])
@pytest.mark.parametrize(
    ("label", "kind"), [(KEPT, "remembered"), (OWNER, "remembered"), (OWNER, "request"), (KEPT, "memory")]
)
def test_what_the_owner_said_goes_where_the_owners_words_may(
    label: Label, kind: str, look: Step, path: tuple[str, ...], agent: Agent
) -> None:
    remembered(agent, SAID, label, kind)
    episode, asked = drafted(agent, look, mail(*path))
    assert not asked.questions, asked.questions
    assert episode.answer.status == "done"
    assert "5151" in episode.answer.text


def test_anothers_words_on_another_matter_lend_the_owners_nothing(agent: Agent) -> None:
    remembered(agent, SAID, KEPT, "remembered")
    remembered(agent, "we could paint the shed in spring", of("message"), "message", "Rui", "m")
    for look, path in ((FIND, ("value",)), (SEARCH, ("0", "text"))):
        episode, asked = drafted(agent, look, mail(*path))
        assert not asked.questions, asked.questions
        assert "5151" in episode.answer.text


@pytest.mark.parametrize(
    ("label", "kind", "person", "by"),
    [
        (of("file", "owner"), "request", "", "a file"),
        (of("file"), "remembered", "", "a file"),
        (of("message"), "message", "You", "“You” in a message"),
        (of("message"), "message", "me (new phone)", "“me (new phone)” in a message"),
        (of("message"), "message", "Rui", "Rui"),
        (of("device", "web"), "remembered", "", "a web page"),
        (of("sensor"), "sighting", "", "a sensor"),
        (KEPT, "remembered", "", "you"),
        (OWNER, "request", "", "you"),
    ],
)
def test_who_said_it_is_told_by_its_label(label: Label, kind: str, person: str, by: str, agent: Agent) -> None:
    remembered(agent, SAID, label, kind, person)
    found = agent.run(agent.request("the code"), Plan((FIND,), planner="owner"))
    assert f"what {by} said" in found.answer.text
    searched = agent.run(agent.request("the code"), Plan((SEARCH,), planner="owner"))
    assert f"({by}" in searched.answer.text


def test_a_fact_lends_its_label_too(agent: Agent) -> None:
    waiting = agent.facts.add(NewFact("me", "dentist", "Vera Pinto", label=of("file")), FIXED_NOW, is_proposed=True)
    agent.facts.promote(waiting.id, FIXED_NOW)
    agent.facts.add(NewFact("me", "vet", "Nuno Reis"), FIXED_NOW)
    for who, n_asked in (("dentist", 1), ("vet", 0)):
        _, asked = drafted(agent, Step("find_answer", {"question": f"who is my {who}"}), mail("value"))
        assert len(asked.questions) == n_asked, who


def test_remembering_beside_anothers_words_keeps_them_apart(agent: Agent) -> None:
    remembered(agent, "the code of the shed is 9999", of("message"), "message", "Rui", "m")
    agent.monitor.approver = FixedApprover("once")
    made = agent.run(agent.request("keep it"), Plan((Step("remember", {"text": SAID}),), planner="owner"))
    assert made.results[0].label.is_trusted
    assert agent.memory.label(str(made.results[0].value["id"])) == KEPT  # type: ignore[index,call-overload]
