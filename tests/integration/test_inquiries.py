"""Who owes an answer, whose turn it is, what is asked by when, and sums by group, through the shipped planner."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.agent import Agent, make_home
from hearth.guard.policy.question import YesApprover
from hearth.testing import FIXED_NOW

OWNER = "Mira <mira@home.example>"
ANA, LENA, SAM = "Ana Costa <ana@costa.example>", "Lena Brandt <lena@brandt.example>", "Sam Ode <sam@ode.example>"
MAILS = (
    (OWNER, ANA, "Exhibition", 8, "Hi Ana, which weekend suits you for the exhibition?", ""),
    (LENA, OWNER, "Lisbon", 5, "Our flight leaves on 6 February. Can you send me the money by Friday?", ""),
    (OWNER, LENA, "Re: Lisbon", 6, "I will transfer it tomorrow. Which hotel did you book?", "<m1@x>"),
    (LENA, OWNER, "Re: Lisbon", 7, "I booked the Hotel Borges. Money arrived, thanks.", "<m2@x>"),
    ("Yusuf <y@kiln.example>", OWNER, "Kiln rent", 2, "The kiln rent this month comes to £65.00.", ""),
    (SAM, OWNER, "Sunday", 9, "Hi Mira, could you let me know by Tuesday 1 December whether you come?", ""),
)


SALES = """Date,Fair,Buyer,Item,Amount
2026-09-05,Bath fair,Jon,Bowl,£40
2026-09-05,Bath fair,Eva,Vase,£75
2026-10-10,Wells fair,Jon,Mug,£18
2026-11-14,Frome fair,Kim,Vase,£80
"""


def write_mails(home: Path) -> None:
    for k, (sender, to, subject, day, text, reference) in enumerate(MAILS):
        folder = home / "owner/mail" / (".Sent/cur" if sender == OWNER else "cur")
        folder.mkdir(parents=True, exist_ok=True)
        answers = f"In-Reply-To: {reference}\nReferences: {reference}\n" if reference else ""
        head = f"From: {sender}\nTo: {to}\nSubject: {subject}\nMessage-ID: <m{k}@x>\n{answers}"
        (folder / f"{k}.x:2,S").write_text(f"{head}Date: {day} Nov 2026 12:00:00 +0000\n\n{text}\n")


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    home = tmp_path_factory.mktemp("awaited")
    make_home(home, {"name": "Mira", "email": "mira@home.example", "time_zone": "Europe/London", "country": "GB"})
    for k, who in enumerate((ANA, LENA, SAM)):
        name, _, address = who.rstrip(">").partition(" <")
        first, last = name.split()
        card = f"UID:c{k}\r\nFN:{name}\r\nN:{last};{first};;;\r\nEMAIL:{address}\r\n"
        (home / f"owner/contacts/c{k}.vcf").write_text(f"BEGIN:VCARD\r\nVERSION:3.0\r\n{card}END:VCARD\r\n")
    write_mails(home)
    (home / "owner/documents/Sales 2026.csv").write_text(SALES)
    agent = Agent.open(home, YesApprover(), environ=os.environ, clock=lambda: FIXED_NOW)
    for _ in agent.learn_shipped():
        pass
    yield agent
    agent.close()


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("who has not answered me", "Ana Costa (mail “Exhibition” to Ana Costa"),
        ("who hasn't replied to me", "Ana Costa (mail “Exhibition” to Ana Costa"),
        ("whose answer am I waiting for", "Ana Costa (mail “Exhibition” to Ana Costa"),
        ("who is waiting for an answer", "Sam Ode (mail “Sunday” from Sam Ode"),
        ("whose turn is it with Lena", "Nobody's: Lena Brandt wrote last, Saturday 7 November 2026"),
        ("whose turn is it in the thread with Lena about Lisbon", "Nobody's: Lena Brandt wrote last"),
        ("whose turn is it with Ana", "Ana Costa's: you wrote last"),
        ("whose turn is it with Sam", "Yours: Sam Ode wrote last"),
        ("did Ana answer me about the exhibition", "No: your mail of Sunday 8 November 2026 has no answer"),
        ("has Lena replied to me about the hotel", "Lena Brandt, Saturday 7 November"),
        ("what is asked of me by when", "Tuesday 1 December 2026: Sam Ode"),
        ("what are the deadlines in my mails", "Tuesday 1 December 2026: Sam Ode"),
    ],
)
def test_it_is_told_who_writes_next(agent: Agent, asked: str, told: str) -> None:
    assert agent.run(agent.request(asked)).answer.text.startswith(told)


def test_what_people_want_is_of_the_time_that_is_named(agent: Agent) -> None:
    assert agent.run(agent.request("what do people want from me next week")).answer.text.startswith("Nothing")


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("what did I spend by month on the kiln", "November 2026: £65.00"),
        ("kiln rent by month", "November 2026: £65.00"),
        ("sales per buyer", "Jon: £58.00 (2 rows)\nEva: £75.00\nKim: £80.00"),
        ("how much did each buyer pay", "Jon: £58.00 (2 rows)\nEva: £75.00\nKim: £80.00"),
        ("who bought the most from me at fairs", "Kim, £80.00; then Eva £75.00, Jon £58.00 (2 rows)"),
        ("sales by month", "September 2026: £115.00 (2 amounts)\nOctober 2026: £18.00\nNovember 2026: £80.00"),
    ],
)
def test_sums_are_told_by_group(agent: Agent, asked: str, told: str) -> None:
    assert agent.run(agent.request(asked)).answer.text.startswith(told)
