"""A reminder that counts from a date which stands in a mail, a note or a card, through the shipped planner."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from hearth.agent import Agent, make_home
from hearth.protocols import Reply
from hearth.testing import FIXED_NOW
from hearth.types import Plan, Refusal, Ruling


class Refuser:
    """An owner who says no, and keeps what was asked."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def approve(self, question: str, ruling: Ruling) -> Reply:
        self.reasons.append(ruling.reason)
        return "no"


@pytest.fixture(scope="module")
def asked() -> Refuser:
    return Refuser()


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory, asked: Refuser) -> Iterator[Agent]:
    home = tmp_path_factory.mktemp("dated")
    make_home(home, {"name": "Mira", "email": "mira@home.example", "time_zone": "Europe/London", "country": "GB"})
    card = "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:c1\r\nFN:Ana Costa\r\nN:Costa;Ana;;;\r\nBDAY:1988-12-09\r\nEND:VCARD\r\n"
    (home / "owner/contacts/c1.vcf").write_text(card)
    card = (
        "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:c2\r\nFN:Priya Nair\r\nN:Nair;Priya;;;\r\nBDAY:1985-07-01\r\nEND:VCARD\r\n"
    )
    (home / "owner/contacts/c2.vcf").write_text(card)
    (home / "owner/notes/Bins.md").write_text("# Bins\n\nThe brown bin goes out on alternate Thursdays.\n")
    (home / "owner/notes/Picking.md").write_text(
        "# Apple picking day\n\nApple picking is on 5 December 2026 at 10:00.\n"
    )
    (home / "owner/notes/Passport.md").write_text("# Passport\n\nMy passport expires on 17 May 2028.\n")
    mail = (
        "From: Garage Kwik <info@kwik.example>\nTo: mira@home.example\nSubject: Your MOT\nMessage-ID: <1@x>\n"
        "Date: Mon, 16 Nov 2026 12:00:00 +0000\n\nYour MOT for the blue van is due on 22 January 2027.\n"
    )
    (home / "owner/mail/cur").mkdir(parents=True, exist_ok=True)
    (home / "owner/mail/cur/1.x:2,S").write_text(mail)
    mail = (
        "From: Lena Brandt <lena@brandt.example>\nTo: mira@home.example\nSubject: Trip to Lisbon\nMessage-ID: <2@x>\n"
        "Date: Thu, 05 Nov 2026 12:00:00 +0000\n\n"
        "Hi Mira,\n\nour flight to Lisbon is TP1363 and leaves on 6 February 2027 at 07:25 from Gatwick.\n\nLena\n"
    )
    (home / "owner/mail/cur/2.x:2,S").write_text(mail)
    event = (
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//x//EN\r\nBEGIN:VEVENT\r\nUID:{uid}\r\nDTSTAMP:20261101T000000Z\r\n"
        "SUMMARY:{uid}\r\nDTSTART;TZID=Europe/London:{day}T123000\r\nDTEND;TZID=Europe/London:{day}T133000\r\n"
        "END:VEVENT\r\nEND:VCALENDAR\r\n"
    )
    for uid, day in (("Lunch with Ana", "20261203"), ("Choir", "20261123")):
        (home / f"owner/calendar/{uid}.ics").write_text(event.format(uid=uid, day=day))
    agent = Agent.open(home, asked, environ=os.environ, clock=lambda: FIXED_NOW)
    for _ in agent.learn_shipped():
        pass
    yield agent
    agent.close()


@pytest.mark.parametrize(
    ("said", "question", "at", "text"),
    [
        ("remind me a day before the MOT is due", "when is the MOT due", "2027-01-21T09:00", "MOT"),
        ("remind me 2 days before Ana's birthday", "when is Ana's birthday", "2026-12-07T09:00", "birthday"),
        ("remind me a week before the passport expires", "when does the passport expire", "2028-05-10", "passport"),
        ("remind me to renew the MOT on the day it is due", "when is the MOT due", "2027-01-22", "renew the MOT"),
        ("remind me on Ana's birthday to call", "when is Ana's birthday", "2026-12-09T09:00", "call"),
        (
            "remind me to call Ana on her birthday and to buy a cake",
            "when is Ana Costa's birthday",
            "2026-12-09T09:00",
            "call Ana and buy a cake",
        ),
        (
            "remind me two days before the flight to Lisbon to check in",
            "when is the flight to Lisbon",
            "2027-02-04T07:25",
            "check in",
        ),
        ("remind me to call Ana on her birthday", "when is Ana Costa's birthday", "2026-12-09", "call Ana"),
    ],
)
def test_its_date_is_found(agent: Agent, said: str, question: str, at: str, text: str) -> None:
    plan = agent.plan(agent.request(said), agent.tools.specs)
    assert isinstance(plan, Plan)
    assert [step.tool for step in plan.steps] == ["find_answer", "add_reminder"]
    assert plan.steps[0].arguments == {"question": question}
    assert str(plan.steps[1].arguments["at"]).startswith(at)
    assert text in str(plan.steps[1].arguments["text"])


def test_only_a_strangers_date_is_asked_about(agent: Agent, asked: Refuser) -> None:
    own = agent.run(agent.request("remind me a week before the passport expires"))
    assert own.answer.status == "done"
    assert "17 May 2028 (note “Passport”" in own.answer.text
    assert not asked.reasons
    assert agent.run(agent.request("remind me a day before the MOT is due")).answer.status == "denied"
    assert 'comes from the mail "' in asked.reasons[0]
    assert "a message you received" not in asked.reasons[0]


@pytest.mark.parametrize(
    "said",
    [
        "remind me an hour before the opera",
        "remind me a week before my birthday",
        "remind me a week before my wife's birthday",
        "remind me a week before Mum's birthday",
        "remind me a week before his birthday",
        "remind me a month before Ana's birthday to call her",
        "remind me an hour before sunset",
        "remind me a day before my anniversary",
        "remind me the day before the bins go out",
        "remind me a day before I leave to pack",
        "remind me a week before the choir ends",
    ],
)
def test_what_nothing_dates_is_asked_back(agent: Agent, said: str) -> None:
    plan = agent.plan(agent.request(said), agent.tools.specs)
    assert isinstance(plan, Refusal), plan
    assert (plan.kind, plan.missing, plan.reason[:5]) == ("needs", ("add_reminder.at",), "When?")


def test_a_reminder_dates_no_other(agent: Agent) -> None:
    assert agent.run(agent.request("remind me on 20 December 2026 to buy the opera tickets")).answer.status == "done"
    assert isinstance(agent.plan(agent.request("remind me a day before the opera tickets"), agent.tools.specs), Refusal)
