"""Requests that no tool should be made to serve, through the whole agent: nothing is planned, asked or written."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator

import pytest

from hearth.agent import Agent, make_home
from hearth.guard.policy.question import YesApprover
from hearth.learning.corrections import correct
from hearth.learning.versions.learned_state import Offer, State
from hearth.testing import FIXED_NOW
from hearth.types import Plan


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    home = tmp_path_factory.mktemp("beyond")
    make_home(home, {"name": "Mira", "email": "mira@home.example", "time_zone": "Europe/Berlin", "country": "DE"})
    agent = Agent.open(home, YesApprover(), environ=os.environ, clock=lambda: FIXED_NOW)
    for _ in agent.learn_shipped():
        pass
    yield agent
    agent.close()


def test_they_are_answered_and_nothing_is_written(agent: Agent) -> None:
    budget = agent.home / "owner/documents/budget.csv"
    budget.write_text("1\n2\n")
    card = "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:k\r\nFN:Karin Vogt\r\nN:Vogt;Karin;;;\r\nEMAIL:karin@home.example\r\nEND:VCARD\r\n"
    (agent.home / "owner/contacts/karin.vcf").write_text(card)
    script = agent.run(agent.request("write a python script that sums the numbers in budget.csv"))
    assert (script.plan, script.answer.status) == (None, "refused")
    assert "I left your files alone" in script.answer.text
    assert budget.read_text() == "1\n2\n"
    low = agent.run(agent.request("I feel really anxious"))
    assert low.plan is None
    assert low.answer.text.startswith("I'm sorry that you feel like that.")
    daily = agent.run(agent.request("every morning at 7 tell me what is on my calendar"))
    assert daily.plan is None
    assert "remind you of it" in daily.answer.text
    draft = agent.run(agent.request("write Karin that I will be late in my usual style"))
    assert draft.plan is not None
    assert draft.plan.steps[-1].arguments["text"] == "I will be late"
    assert draft.answer.status == "partly"
    assert "I can't do this part yet: “in my usual style”." in draft.answer.text


@pytest.mark.parametrize(
    ("asked", "then", "shown"),
    [
        ("what is on my calendar tomorrow", "the second one", "Dentist"),
        ("what is on my calendar tomorrow", "when is the third one", "Choir"),
        ("list my contacts", "what is the phone number of the second one", "+49 30 555 0199"),
        ("what notes do I have", "the second one", "Water: the blue tap"),
    ],
)
def test_the_second_one_of_a_list_is_shown(agent: Agent, asked: str, then: str, shown: str) -> None:
    owner = agent.home / "owner"
    for hour, title in ((8, "Bakery"), (10, "Dentist"), (19, "Choir")):
        day = f"{FIXED_NOW + dt.timedelta(days=1):%Y%m%d}"
        lines = f"UID:{title}\nDTSTART:{day}T{hour:02}0000Z\nDTEND:{day}T{hour:02}3000Z\nSUMMARY:{title}\n"
        (owner / f"calendar/{title}.ics").write_text(
            f"BEGIN:VCALENDAR\nVERSION:2.0\nBEGIN:VEVENT\n{lines}END:VEVENT\nEND:VCALENDAR\n"
        )
    for given, phone in (("Ada", "0198"), ("Bea", "0199")):
        card = f"UID:{given}\nFN:{given} Alt\nN:Alt;{given};;;\nTEL:+49 30 555 {phone}\n"
        (owner / f"contacts/{given}.vcf").write_text(f"BEGIN:VCARD\nVERSION:3.0\n{card}END:VCARD\n")
    for number, (name, text) in enumerate((("garden", "Water: the blue tap"), ("attic", "Boxes: by year"))):
        (owner / f"notes/{name}.md").write_text(f"# {name.title()}\n\n{text}\n")
        os.utime(owner / f"notes/{name}.md", (number, number))
    agent.run(agent.request(asked))
    picked = agent.run(agent.request_after(then))
    assert picked.answer.status == "done"
    assert shown in picked.answer.text
    assert "\n" not in picked.answer.text, "it alone is shown"


@pytest.mark.parametrize(
    "text", ["any new mails", "what mails did I get this week", "show me the mails from last week"]
)
def test_mails_without_a_sender_are_from_everybody(agent: Agent, text: str) -> None:
    plan = agent.plan(agent.request(text), agent.tools.specs)
    assert isinstance(plan, Plan)
    assert [step.tool for step in plan.steps] == ["find_mail"]
    assert "sender" not in plan.steps[0].arguments


@pytest.mark.parametrize(
    ("text", "tools", "arguments"),
    [
        ("turn the volume of the radio down by 5 percent", ["set_volume"], {"change": "down_by"}),
        ("turn the volume of the radio up by 5 percent", ["set_volume"], {"change": "up_by"}),
        ("turn the temperature down 2 degrees", ["set_temperature"], {"temperature": 2, "change": "down_by"}),
        ("turn the tv down, the kids are asleep", ["set_volume"], {"change": "down_by"}),
        ("did I forward the menu to mum", ["find_answer"], {}),
        ("what day is the 12th of december", ["time_until"], {"date": "2026-12-12"}),
        ("i park at the back, remember that", ["remember"], {"text": "i park at the back"}),
        ("delete Tom's old number", None, "off a contact's card"),
        ("take Maureen out of the lunch on friday", None, "take somebody out of"),
        ("disarm the alarm", None, "security alarm"),
        ("is Karin free on Friday afternoon", None, "only see your own calendar"),
    ],
)
def test_a_plan_does_not_contradict_its_request(
    agent: Agent, text: str, tools: list[str] | None, arguments: dict[str, object] | str
) -> None:
    plan = agent.plan(agent.request(text), agent.tools.specs)
    if isinstance(plan, Plan):
        assert isinstance(arguments, dict)
        assert [step.tool for step in plan.steps] == tools
        assert arguments.items() <= plan.steps[0].arguments.items()
    else:
        assert tools is None
        assert str(arguments) in plan.reason


@pytest.mark.parametrize("said", ["checkup moved to 3", "the checkup's been moved to 3", "the checkup is at 3 now"])
def test_a_move_told_as_done_keeps_the_day(agent: Agent, said: str) -> None:
    day = FIXED_NOW + dt.timedelta(days=5)
    lines = f"UID:checkup\nDTSTART:{day:%Y%m%d}T100000Z\nDTEND:{day:%Y%m%d}T103000Z\nSUMMARY:Checkup\n"
    (agent.home / "owner/calendar/checkup.ics").write_text(
        f"BEGIN:VCALENDAR\nVERSION:2.0\nBEGIN:VEVENT\n{lines}END:VEVENT\nEND:VCALENDAR\n"
    )
    plan = agent.plan(agent.request_after(said), agent.tools.specs)
    assert isinstance(plan, Plan)
    assert plan.steps[-1].tool == "move_event"
    assert str(plan.steps[-1].arguments["start"]).startswith(f"{day:%Y-%m-%d}T15:00")


def test_an_own_lesson_goes_before(agent: Agent) -> None:
    said = "I feel really anxious"
    before = agent.run(agent.request(said))
    plan = agent.plan(agent.request("add a note that says breathe"), agent.tools.specs)
    assert isinstance(plan, Plan)
    state = State.open(agent.home, agent.encoder, Offer(agent.tools.specs), store=agent.store)
    correct(state, agent.recall, before, plan, agent.tools.specs)
    after = agent.run(agent.request(said))
    assert after.plan is not None
    assert [step.tool for step in after.plan.steps] == ["add_note"]


def test_what_was_only_asked_answers_nothing_later(agent: Agent) -> None:
    asked = ("sales per buyer", "any clash on Wednesday")
    for text in (*asked, "my locker code is 4821"):
        agent.run(agent.request(text))
    kinds = {row[0]: row[1] for row in agent.store.query("SELECT text, kind FROM event")}
    assert [kinds[text] for text in (*asked, "my locker code is 4821")] == ["asked", "asked", "request"]
    answer = agent.run(agent.request("what is the sum of sales by buyer")).answer
    assert "sales per buyer" not in answer.text
    assert "4821" in agent.run(agent.request("what is my locker code")).answer.text


def test_what_a_note_needs_is_no_list(agent: Agent) -> None:
    (agent.home / "owner/notes/Boat.md").write_text("# Boat\n\nWe need rope, varnish and two fenders.\n")
    answer = agent.run(agent.request("what do we need for the boat")).answer
    assert answer.text.startswith("rope, varnish and two fenders")


@pytest.mark.parametrize(
    ("asked", "is_theirs"),
    [
        ("what will a half pitch cost from next may", True),
        ("how much is a half pitch going to be from may", True),
        ("how do you poach an egg", False),
        ("what is the boiling point of lead", False),
    ],
)
def test_a_question_that_no_tool_serves_is_put_to_what_answers_it(agent: Agent, asked: str, is_theirs: bool) -> None:
    fees = agent.home / "owner/notes/pitch fees.md"
    fees.write_text("# Pitch fees\n\nA half pitch goes up to £45 from May 2027, decided at the club meeting.\n")
    plan = agent.run(agent.request(asked)).plan
    fees.unlink()
    assert [step.tool for step in (plan.steps if plan is not None else ())] == (["find_answer"] if is_theirs else [])


@pytest.mark.parametrize(("birth", "is_lacking"), [("", True), ("BDAY:1984-03-02\n", False), ("BDAY:--0302\n", False)])
def test_a_card_without_a_birthday_says_so(agent: Agent, birth: str, is_lacking: bool) -> None:
    card = agent.home / "owner/contacts/nele.vcf"
    card.write_text(
        f"BEGIN:VCARD\nVERSION:4.0\nUID:nele\nFN:Nele Busch\nN:Busch;Nele;;;\nTEL:+49 30 555 0144\n{birth}END:VCARD\n"
    )
    told = agent.run(agent.request("when was Nele Busch born")).answer.text
    card.unlink()
    assert ("The card of Nele Busch has no birthday." in told) is is_lacking


@pytest.mark.parametrize(
    ("asked", "is_asked_beyond"),
    [
        ("when's Nele's optician appointment", True),
        ("when is Nele's eye test", True),
        ("when is Nele's haircut", True),
        ("what time is Nele's arrival", True),
        ("when is Nele's choir practice", False),
        ("when is Nele's practice", False),
        ("what day is Nele's hygienist", False),
        ("when is the choir practice of Nele", False),
    ],
)
def test_an_event_that_says_only_whose_it_is_does_not_tell_when(
    agent: Agent, asked: str, *, is_asked_beyond: bool
) -> None:
    card = agent.home / "owner/contacts/nele.vcf"
    card.write_text("BEGIN:VCARD\nVERSION:4.0\nUID:nele\nFN:Nele Busch\nN:Busch;Nele;;;\nEND:VCARD\n")
    written = [card]
    for days, title in ((2, "Choir practice Nele"), (9, "Nele hygienist")):
        day = FIXED_NOW + dt.timedelta(days=days)
        lines = f"UID:{title}\nDTSTART:{day:%Y%m%d}T100000Z\nDTEND:{day:%Y%m%d}T103000Z\nSUMMARY:{title}\n"
        written.append(agent.home / f"owner/calendar/{days}.ics")
        written[-1].write_text(f"BEGIN:VCALENDAR\nVERSION:2.0\nBEGIN:VEVENT\n{lines}END:VEVENT\nEND:VCALENDAR\n")
    plan = agent.run(agent.request(asked)).plan
    for path in written:
        path.unlink()
    assert plan is not None
    assert (plan.steps[-1].tool == "find_answer") is is_asked_beyond


@pytest.mark.parametrize(
    ("asked", "tool"),
    [
        ("is the caravan insured", "find_answer"),
        ("does the strimmer still work", "find_answer"),
        ("is subsidence covered", "find_answer"),
        ("is the boiler covered by the warranty", "find_answer"),
        ("which of the two window people is dearer", "find_answer"),
        ("is the kitchen lamp on", "device_state"),
        ("is the front door locked", "device_state"),
        ("is the heating on", "device_state"),
        ("is the tv off", "device_state"),
        ("list my contacts", "list_contacts"),
    ],
)
def test_whether_something_holds_is_asked_of_ones_things_and_of_devices_their_state(
    agent: Agent, asked: str, tool: str
) -> None:
    plan = agent.run(agent.request(asked)).plan
    assert plan is not None
    assert plan.steps[-1].tool == tool
