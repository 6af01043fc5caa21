"""A value that a request only names is found and noted, listed, dated or told, through the shipped planner."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from hearth.agent import Agent, make_home
from hearth.language.reading import Utterance
from hearth.planning.dialogue.kept_answers import with_noted_answer
from hearth.protocols import Reply
from hearth.testing import FIXED_NOW
from hearth.types import Episode, Plan, Refusal, Ruling

NOTES = {
    "Wifi": "The wifi password is tangerine-42-goose.",
    "Plumber": "Dawes the plumber charges £65 an hour.",
    "Lease": "The lease of the flat ends on 31 March 2027.",
    "Shed": "The shed padlock number is 4812.",
    "Places": "Pasture: 12 Portwall Lane, Bristol BS1 6NB, great lamb.",
    "Regatta": "The regatta is on 4 June 2027.",
    "Old": "The permit expired on 3 May 2024.",
}
MAILS = (
    ("Garage Kwik <info@kwik.example>", "Your MOT", "Your MOT for the blue van is due on 22 January 2027."),
    ("Gate Co <x@gateco.example>", "Gate code", "Hello,\n\nthe gate code is 5521 from now on.\n\nGate Co"),
    ("Ana Costa <ana@home.example>", "Regatta", "Hi,\n\nthe regatta is on 11 June 2027.\n\nAna"),
)


class Owner:
    """Says what the test wants said, and keeps what was asked."""

    def __init__(self) -> None:
        self.says: Reply = "once"
        self.reasons: list[str] = []

    def approve(self, question: str, ruling: Ruling) -> Reply:
        self.reasons.append(ruling.reason)
        return self.says


@pytest.fixture(scope="module")
def owner() -> Owner:
    return Owner()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("kept")
    make_home(home, {"name": "Mira", "email": "mira@home.example", "time_zone": "Europe/London", "country": "GB"})
    for k, name in enumerate(("Sam Okoro", "Tom Hale", "Ana Costa")):
        first, last = name.split()
        lines = f"EMAIL:{first.lower()}@home.example\r\n" + ("BDAY:1988-12-09\r\n" if first == "Ana" else "")
        card = f"BEGIN:VCARD\r\nVERSION:3.0\r\nUID:c{k}\r\nFN:{name}\r\nN:{last};{first};;;\r\n{lines}END:VCARD\r\n"
        (home / f"owner/contacts/c{k}.vcf").write_text(card)
    for name, text in NOTES.items():
        (home / f"owner/notes/{name}.md").write_text(f"# {name}\n\n{text}\n")
    for name in ("Packing", "Shopping", "To-do"):
        (home / f"owner/notes/{name.lower()}.md").write_text(f"# {name}\n\n- [ ] soap\n")
    mail = home / "owner/mail/cur"
    mail.mkdir(parents=True, exist_ok=True)
    for k, (sender, subject, text) in enumerate(MAILS):
        head = f"From: {sender}\nTo: mira@home.example\nSubject: {subject}\nMessage-ID: <{k}@x>\n"
        (mail / f"{k}.x:2,S").write_text(f"{head}Date: Mon, 16 Nov 2026 12:00:00 +0000\n\n{text}\n")
    event = (
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//x//EN\r\nBEGIN:VEVENT\r\nUID:e1\r\nDTSTAMP:20261101T000000Z\r\n"
        "SUMMARY:Concert\r\nDTSTART:20261205T190000Z\r\nDTEND:20261205T210000Z\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    )
    (home / "owner/calendar/e1.ics").write_text(event)
    return home


@pytest.fixture(scope="module")
def agent(home: Path, owner: Owner) -> Iterator[Agent]:
    agent = Agent.open(home, owner, environ=os.environ, clock=lambda: FIXED_NOW)
    for _ in agent.learn_shipped():
        pass
    yield agent
    agent.close()


@pytest.fixture
def taken_back(agent: Agent, owner: Owner) -> Iterator[list[Episode]]:
    """Episodes whose changes are taken back, so that no answer rests on what another test noted."""
    owner.says, done = "once", list[Episode]()
    owner.reasons.clear()
    yield done
    for episode in done:
        if episode.answer.status == "done":
            agent.undo(episode.id)


def tools_of(found: Plan | Refusal) -> list[str]:
    return [step.tool for step in found.steps] if isinstance(found, Plan) else []


# ── Notes ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("said", "question", "noted"),
    [
        ("note down the wifi password", "what is the wifi password", "Wifi password: tangerine-42-goose"),
        ("please jot down the wifi password", "what is the wifi password", "Wifi password: tangerine-42-goose"),
        ("can you note the wifi password for me", "what is the wifi password", "Wifi password: tangerine-42-goose"),
        ("make a note of what the plumber charges", "what does the plumber charge", "£65 an hour"),
        ("note down when the lease ends", "when does the lease end", "When the lease ends: 31 March 2027"),
        ("take a note of the day the lease ends", "when does the lease end", "31 March 2027"),
        ("write down the address of Pasture", "what is the address of Pasture", "12 Portwall Lane"),
    ],
)
def test_a_note_holds_the_value_that_is_named(
    agent: Agent, taken_back: list[Episode], said: str, question: str, noted: str
) -> None:
    done = agent.run(agent.request(said))
    taken_back.append(done)
    assert done.plan is not None
    assert tools_of(done.plan) == ["find_answer", "add_note"]
    assert done.plan.steps[0].arguments == {"question": question}
    assert done.answer.text.startswith("Noted: ")
    assert noted in done.answer.text


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("note that the wifi is down", "the wifi is down"),
        ("note down the wifi is down", "the wifi is down"),
        ("note down the wifi password tangerine-43", "the wifi password tangerine-43"),
        ("make a note: the wifi password", "the wifi password"),
        ('note down "the wifi password"', "the wifi password"),
        ("make a note to change the wifi password", "change the wifi password"),
        ("make a note that I forgot the wifi password", "I forgot the wifi password"),
        ("take a note: what the plumber charges is outrageous", "what the plumber charges is outrageous"),
        ("note down the lease ends in March", "the lease ends in March"),
        ("note down my idea for the name of the boat", "the name of the boat"),
        ("write down the recipe", "the recipe"),
        ("note the date", "the date"),
    ],
)
def test_a_note_that_says_something_stays(agent: Agent, said: str, text: str) -> None:
    found = agent.plan(agent.request(said), agent.tools.specs)
    assert isinstance(found, Plan)
    assert [(step.tool, step.arguments["text"]) for step in found.steps] == [("add_note", text)]


def test_a_note_bears_the_label_of_what_it_holds(agent: Agent, taken_back: list[Episode]) -> None:
    for said, sources in (("note down the gate code", {"message"}), ("note down the wifi password", set[str]())):
        done = agent.run(agent.request(said))
        taken_back.append(done)
        assert done.results[1].label.strangers & {"message"} == sources
        assert ("Note: 5521 (mail “Gate code” from Gate Co" in done.answer.text) == bool(sources)


def test_a_doubtful_value_of_something_else_is_not_noted(agent: Agent, home: Path) -> None:
    before = sorted((home / "owner/notes").iterdir())
    done = agent.run(agent.request("note down the garage code"))
    assert done.answer.status in ("needs", "failed")
    assert sorted((home / "owner/notes").iterdir()) == before


# ── Lists ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("said", "listed"),
    [
        ("put the shed padlock number on the packing list", "On the packing list: soap and 4812."),
        ("add the address of Pasture to my packing list", "soap and 12 Portwall Lane, Bristol BS1 6NB."),
        ("please add the wifi password to the packing list", "soap and tangerine-42-goose."),
    ],
)
def test_a_list_holds_the_value_that_is_surely_known(
    agent: Agent, taken_back: list[Episode], said: str, listed: str
) -> None:
    done = agent.run(agent.request(said))
    taken_back.append(done)
    assert done.plan is not None
    assert tools_of(done.plan) == ["find_answer", "add_to_list"]
    assert listed.removeprefix("On the packing list: ") in done.answer.text


@pytest.mark.parametrize(
    ("said", "item"),
    [
        ("add milk to the shopping list", "milk"),
        ("add wifi password to the packing list", "wifi password"),
        ("add the wifi password to my to-do list", "wifi password"),
        ("add the rent to the shopping list", "rent"),
        ("add the birthday cake to the shopping list", "the birthday cake"),
        ("add the door code sticker to the shopping list", "door code sticker"),
        ("put the padlock number plate on the packing list", "padlock number plate"),
        ("add the garage code to the packing list", "garage code"),
    ],
)
def test_a_thing_that_goes_on_a_list_stays(agent: Agent, said: str, item: str) -> None:
    found = agent.plan(agent.request(said), agent.tools.specs)
    assert isinstance(found, Plan)
    assert tools_of(found) == ["add_to_list"]
    (kept,) = cast("list[str]", found.steps[0].arguments["items"])
    assert kept.removeprefix("the ") == item.removeprefix("the ")


# ── The calendar ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("said", "question", "title", "start"),
    [
        ("put the MOT due date in my calendar", "what is the MOT due date", "MOT due date", "2027-01-22T00:00"),
        ("add the day the lease ends to my calendar", "when does the lease end", "Lease ends", "2027-03-31T00:00"),
        (
            "could you put the day the MOT is due in my diary please",
            "when is the MOT due",
            "MOT is due",
            "2027-01-22T00:00",
        ),
        ("add Ana's birthday to my calendar", "when is Ana's birthday", "Ana's birthday", "2026-12-09T00:00"),
    ],
)
def test_an_event_is_on_the_day_that_is_found(agent: Agent, said: str, question: str, title: str, start: str) -> None:
    found = agent.plan(agent.request(said), agent.tools.specs)
    assert tools_of(found) == ["find_answer", "add_event"]
    assert isinstance(found, Plan)
    assert found.steps[0].arguments == {"question": question}
    assert found.steps[1].arguments["title"] == title
    assert str(found.steps[1].arguments["start"]).startswith(start)


def test_only_a_strangers_day_is_asked_about(agent: Agent, owner: Owner, taken_back: list[Episode]) -> None:
    own = agent.run(agent.request("add the day the lease ends to my calendar"))
    taken_back.append(own)
    assert "31 March 2027 (note “Lease”" in own.answer.text
    assert "Added to your calendar: Lease ends, Wednesday 31 March 2027." in own.answer.text
    assert "comes from" not in owner.reasons.pop()
    owner.says = "no"
    assert agent.run(agent.request("put the MOT due date in my calendar")).answer.status == "denied"
    assert 'comes from the mail "Your MOT" by "info@kwik.example"' in owner.reasons[0]


@pytest.mark.parametrize(
    "said",
    [
        "put dentist in my calendar",
        "put the dentist in my calendar",
        "put lunch with Tom in my calendar",
        "put it in my calendar",
        "add the MOT and the lease to my calendar",
        "put the wifi password in my calendar",
        "put the date the permit expired in my calendar",
        "put the regatta in my calendar",
        "put the concert in my calendar",
        "put my birthday in my calendar",
    ],
)
def test_the_day_of_what_nothing_surely_dates_is_asked_for(agent: Agent, said: str) -> None:
    found = agent.plan(agent.request(said), agent.tools.specs)
    assert isinstance(found, Refusal), found
    assert (found.kind, found.missing, found.reason[:5]) == ("needs", ("add_event.start",), "When?")


def test_what_the_calendar_has_is_said(agent: Agent) -> None:
    found = agent.plan(agent.request("put the concert in my calendar"), agent.tools.specs)
    assert isinstance(found, Refusal)
    assert found.reason.startswith("When? Your calendar has it already: ")
    assert "“Concert”" in found.reason  # so that a namesake is seen to be one


def test_another_event_is_not_said_to_be_the_one(agent: Agent) -> None:
    found = agent.plan(agent.request("put the school play in my calendar"), agent.tools.specs)
    assert isinstance(found, Refusal)
    assert found.reason.startswith("When? I found nothing in your things that surely says it")


def test_an_order_to_note_a_value_is_no_source_of_it(agent: Agent, taken_back: list[Episode]) -> None:
    taken_back.append(agent.run(agent.request("note down the wifi password")))
    agent.run(agent.request("note down the boathouse code"))
    told = agent.run(agent.request("what is the boathouse code")).answer.text
    assert "note down" not in told


def test_a_day_that_is_said_stands(agent: Agent) -> None:
    found = agent.plan(agent.request("put the MOT in my calendar on friday"), agent.tools.specs)
    assert isinstance(found, Plan)
    assert [(step.tool, str(step.arguments["start"])[:10]) for step in found.steps] == [("add_event", "2026-11-27")]


# ── Mails ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("email Sam the wifi password and say I'll be late", "tangerine-42-goose\n\nI'll be late\n\nMira"),
        ("email Sam the gate code and say I'll be late", "5521\n\nI'll be late\n\nMira"),
        ("mail Sam the wifi password, and say that it works", "tangerine-42-goose\n\nit works\n\nMira"),
    ],
)
def test_what_is_said_beside_a_value_stands_below_it(
    agent: Agent, taken_back: list[Episode], said: str, text: str
) -> None:
    done = agent.run(agent.request(said))
    taken_back.append(done)
    assert text in done.answer.text
    assert "can't do this part" not in done.answer.text


def test_no_file_is_looked_for_by_the_words_of_a_value_that_is_told_beside_others(agent: Agent) -> None:
    found = agent.plan(agent.request("send Tom the wifi password and mention that it works"), agent.tools.specs)
    assert isinstance(found, Plan)
    assert "find_files" not in tools_of(found)
    assert not any("attachments" in step.arguments for step in found.steps)
    texts = cast("list[object]", found.steps[tools_of(found).index("draft_mail")].arguments["text"])
    assert texts[1] == "it works"


def test_a_value_is_not_looked_for_in_a_long_text(agent: Agent) -> None:
    request = Utterance.of(agent.request("note down the wifi password"), agent.context())
    refused = Refusal("out_of_scope", "")
    for text, is_found in ((request.text, True), (f"{request.text}{'.' * 20_000}", False)):
        longer = replace(request, text=text)
        plan = with_noted_answer(longer, refused, request.context, agent.tools.specs)
        assert (plan is not None) == is_found


@pytest.mark.parametrize(
    "said",
    [
        "email Sam and say I'll be late",
        "email Tom to send me the gate code and say thanks",
        "ask Sam for the gate code and say I'll be late",
        "email Sam the good news and say I'll be late",
        "tell Sam the wifi password is out and say sorry",
        "email Sam when the parcel arrives",
        "email Sam what the boss says",
    ],
)
def test_words_that_name_no_value_are_written(agent: Agent, said: str) -> None:
    found = agent.plan(agent.request(said), agent.tools.specs)
    assert "find_answer" not in tools_of(found)
    assert "draft_mail" in tools_of(found)


def test_a_doubtful_value_is_not_written_beside_other_words(agent: Agent) -> None:
    done = agent.run(agent.request("email Sam the garage code and say I'll be late"))
    assert done.answer.status in ("needs", "failed")
    assert "Draft to" not in done.answer.text
