"""A value that a request only names is found first and told, through the shipped planner of a home that knows people."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from hearth.agent import Agent, make_home
from hearth.guard.policy.question import YesApprover
from hearth.testing import FIXED_NOW
from hearth.types import Plan, Ref

PEOPLE = ("Sam Okoro", "Tom Hale", "Priya Nair", "Ana Costa", "Ben Reed")


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    home = tmp_path_factory.mktemp("values")
    make_home(home, {"name": "Mira", "email": "mira@home.example", "time_zone": "Europe/London", "country": "GB"})
    for k, name in enumerate(PEOPLE):
        first, last = name.split()
        mail = f"EMAIL:{first.lower()}@home.example\r\nTEL:+44 117 496 000{k}\r\n"
        card = f"BEGIN:VCARD\r\nVERSION:3.0\r\nUID:c{k}\r\nFN:{name}\r\nN:{last};{first};;;\r\n{mail}END:VCARD\r\n"
        (home / f"owner/contacts/c{k}.vcf").write_text(card)
    notes = {
        "Places.md": "Pasture: 12 Portwall Lane, Bristol BS1 6NB, great lamb.",
        "Home.md": "The alarm code is 7741.",
    }
    for name, text in notes.items():
        (home / "owner/notes" / name).write_text(f"# {name.removesuffix('.md')}\n\n{text}\n")
    agent = Agent.open(home, YesApprover(), environ=os.environ, clock=lambda: FIXED_NOW)
    for _ in agent.learn_shipped():
        pass
    yield agent
    agent.close()


def planned(agent: Agent, text: str) -> Plan:
    found = agent.plan(agent.request(text), agent.tools.specs)
    assert isinstance(found, Plan)
    return found


@pytest.mark.parametrize(
    ("said", "to", "question"),
    [
        ("email Sam the address of Pasture", "Sam Okoro", "what is the address of Pasture"),
        ("write Sam the address of Pasture", "Sam Okoro", "what is the address of Pasture"),
        ("email Sam Pasture's address", "Sam Okoro", "what is the address of Pasture"),
        ("email Sam the wifi password", "Sam Okoro", "what is the wifi password"),
        ("write Tom the wifi password", "Tom Hale", "what is the wifi password"),
        ("email the wifi password to Tom", "Tom Hale", "what is the wifi password"),
        ("send Tom the wifi password", "Tom Hale", "what is the wifi password"),
        ("mail Priya the alarm code", "Priya Nair", "what is the alarm code"),
        ("please send an email to Tom with the wifi password", "Tom Hale", "what is the wifi password"),
        ("could you email Tom the wifi password please", "Tom Hale", "what is the wifi password"),
        ("can you email Tom the wifi password?", "Tom Hale", "what is the wifi password"),
        ("let Priya know the alarm code", "Priya Nair", "what is the alarm code"),
        ("email Tom the executor of my will", "Tom Hale", "what is the executor of my will"),
        ("email Tom the notice period of the lease", "Tom Hale", "what is the notice period of the lease"),
        ("email Tom the flight number to Lisbon", "Tom Hale", "what is the flight number to Lisbon"),
        ("email Tom my passport number", "Tom Hale", "what is my passport number"),
        ("email Ben when the school play is", "Ben Reed", "when is the school play"),
        ("write Tom when the parents evening is", "Tom Hale", "when is the parents evening"),
        ("email Ana what we decided in the studio meeting", "Ana Costa", "what we decided in the studio meeting"),
    ],
)
def test_a_mail_tells_the_value_that_is_named(agent: Agent, said: str, to: str, question: str) -> None:
    plan = planned(agent, said)
    asked = next(k for k, step in enumerate(plan.steps) if step.tool == "find_answer")
    contact = next(k for k, step in enumerate(plan.steps) if step.tool == "find_contact")
    draft = next(step for step in plan.steps if step.tool == "draft_mail")
    assert plan.steps[asked].arguments == {"question": question}
    assert plan.steps[contact].arguments == {"name": to}
    assert (draft.arguments["to"], draft.arguments["text"]) == ([Ref(contact, ("email",))], Ref(asked, ("value",)))
    assert "attachments" not in draft.arguments


def test_an_answer_to_a_mail_tells_the_value_too(agent: Agent) -> None:
    plan = planned(agent, "reply to Sam with the address of Pasture")
    assert [step.tool for step in plan.steps] == ["find_mail", "find_answer", "draft_reply"]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("email Sam the good news", "the good news"),
        ("email Tom that the code is 7741", "the code is 7741"),
        ("email Tom about the alarm code", "the alarm code"),
        ("email Ana happy birthday", "happy birthday"),
        ("email Tom that I found the wifi password", "I found the wifi password"),
    ],
)
def test_words_that_are_meant_stay(agent: Agent, said: str, text: str) -> None:
    assert planned(agent, said).steps[-1].arguments["text"] == text


@pytest.mark.parametrize(
    "said",
    [
        "email Tom to send me the alarm code",
        "ask Priya for the gate code",
        "email Sam asking for the address of Pasture",
        "email Tom to tell me the gate code",
        "email Tom whether he knows the wifi password",
        "email Priya please send the address of the venue",
        "email Tom to send me Ana's number",
        "email Tom the alarm code?",
        "email Tom what the alarm code is?",
        "email Tom, what is the alarm code?",
        "reply to Tom with a request for the alarm code",
    ],
)
def test_who_is_asked_for_a_value_is_not_sent_it(agent: Agent, said: str) -> None:
    plan = planned(agent, said)
    assert not {"find_answer", "send_mail"} & {step.tool for step in plan.steps}
    assert isinstance(plan.steps[-1].arguments["text"], str)


@pytest.mark.parametrize(
    "said",
    [
        "tell Priya the code of conduct is attached",
        "email Tom the cost of living is insane",
        "email Tom my number",
        "email Ana when we are back I will call",
        "email Ana what I said yesterday was wrong",
        "tell Sam the number of guests is 12",
        "tell Tom the name of the plumber is Dawes",
        "email Ana that the address of the venue is on the flyer",
        "send Ana the address of the venue is on the flyer",
        "email Sam the size of it",
        "email Sam the owner",
        "email Sam our model",
        "email Sam the address of Pasture and Bosco",
        "email Sam the wifi password and the alarm code",
    ],
)
def test_words_that_say_something_are_no_value(agent: Agent, said: str) -> None:
    assert "find_answer" not in [step.tool for step in planned(agent, said).steps]


@pytest.mark.parametrize(
    ("said", "to", "of", "field"),
    [
        ("email Sam Ana's phone number", "Sam Okoro", "Ana Costa", "phone"),
        ("email Sam Ana's email address", "Sam Okoro", "Ana Costa", "email"),
        ("email Sam Ana's birthday", "Sam Okoro", "Ana Costa", "birthday"),
        ("email Tom Ana's number", "Tom Hale", "Ana Costa", "phone"),
        ("email Zoltan Ana's birthday", "Zoltan", "Ana Costa", "birthday"),
        ("pass Ana's number on to Tom", "Tom Hale", "Ana Costa", "phone"),
        ("please hand bens email address over to sam", "Sam Okoro", "Ben Reed", "email"),
        ("share tom's birthday with priya", "Priya Nair", "Tom Hale", "birthday"),
        ("give Sam Ben's mobile", "Sam Okoro", "Ben Reed", "phone"),
        ("let tom have anas number", "Tom Hale", "Ana Costa", "phone"),
        ("forward the number of Ana to Ben", "Ben Reed", "Ana Costa", "phone"),
    ],
)
def test_a_known_person_s_value_is_their_card_s(agent: Agent, said: str, to: str, of: str, field: str) -> None:
    plan = planned(agent, said)
    contacts = {step.arguments["name"]: k for k, step in enumerate(plan.steps) if step.tool == "find_contact"}
    draft = next(step for step in plan.steps if step.tool == "draft_mail").arguments
    assert (draft["to"], draft["text"]) == ([Ref(contacts[to], ("email",))], Ref(contacts[of], (field,)))
    assert {step.tool for step in plan.steps} == {"find_contact", "draft_mail"}


@pytest.mark.parametrize("said", ["give me Ana's number", "what is anas number", "pass me Ana's number"])
def test_who_asks_for_a_value_is_told_it_and_nothing_is_written(agent: Agent, said: str) -> None:
    assert {step.tool for step in planned(agent, said).steps} <= {"find_contact", "find_answer"}


def test_a_mail_is_forwarded_where_one_is_named(agent: Agent) -> None:
    assert "draft_forward" in [step.tool for step in planned(agent, "forward Ana's mail to Ben").steps]


def test_what_nothing_says_is_told_so_and_nothing_is_written(agent: Agent) -> None:
    missed = agent.run(agent.request("email Tom the date of the regatta"))
    assert missed.answer.status == "failed"
    assert "I looked for “what is the date of the regatta”" in missed.answer.text
    told = agent.run(agent.request("email Sam the address of Pasture"))
    assert "12 Portwall Lane" in told.answer.text


def test_a_doubtful_value_of_something_else_is_told_with_its_place_and_not_written(agent: Agent) -> None:
    told = agent.run(agent.request("email Tom the gate code"))
    assert told.answer.status == "needs"
    assert "I wrote nothing" in told.answer.text
    assert "I am not sure, perhaps: 7741 (note “Home”: “The alarm code is 7741.”)" in told.answer.text


@pytest.mark.parametrize(
    "said",
    ["email Sam the weight of the world", "email Priya the time of our lives", "email Tom the cost of living report"],
)
def test_what_only_sounds_like_a_value_is_asked_about_and_not_written(agent: Agent, said: str) -> None:
    """No list of sayings tells them from values; what was found is told, and the owner says which is meant."""
    told = agent.run(agent.request(said))
    assert told.answer.status in ("needs", "failed"), told.answer
    assert "Draft to" not in told.answer.text
