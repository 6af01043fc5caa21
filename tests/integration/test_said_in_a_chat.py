"""What is ticked off by its name, and what is sent by "it", through the shipped planner."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from hearth.agent import Agent, make_home
from hearth.protocols import Reply
from hearth.testing import FIXED_NOW
from hearth.types import Episode, Ruling

SENDING = """
[mail.smtp]
host = "127.0.0.1"
port = 2
security = "none"
"""


class Owner:
    """An owner who says yes to all but what is sent, and keeps what was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def approve(self, question: str, ruling: Ruling) -> Reply:
        self.asked.append(f"{question} {ruling.reason}")
        return "no" if "send_mail" in question else "once"


@pytest.fixture(scope="module")
def owner() -> Owner:
    return Owner()


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory, owner: Owner) -> Iterator[Agent]:
    home = tmp_path_factory.mktemp("chat")
    make_home(home, {"name": "Mira", "email": "mira@home.example", "time_zone": "Europe/London", "country": "GB"})
    with (home / "hearth.toml").open("a") as settings:
        settings.write(SENDING)
    for name in ("Ana Costa", "Bruno Dias", "Zoë Hall"):
        first, last = name.split()
        mail = f"{first.lower().replace('ë', 'e')}@court.example"
        card = f"BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{first}\r\nFN:{name}\r\nN:{last};{first};;;\r\nEMAIL:{mail}\r\n"
        (home / f"owner/contacts/{first}.vcf").write_text(f"{card}END:VCARD\r\n")
    (home / "owner/notes/shopping.md").write_text("# Shopping\n\n- [ ] pitta bread\n- [ ] oats\n- [ ] gym shoes\n")
    (home / "owner/notes/club.md").write_text("# Club to do\n\n- [ ] nets\n")
    agent = Agent.open(home, owner, environ=os.environ, clock=lambda: FIXED_NOW)
    for _ in agent.learn_shipped():
        pass
    said(agent, "remind me to buy gym shoes tomorrow at 9")
    yield agent
    agent.close()


def said(agent: Agent, text: str) -> Episode:
    return agent.run(agent.request_after(text))


def tools(episode: Episode) -> list[str]:
    return [step.tool for step in episode.plan.steps] if episode.plan is not None else []


def test_what_only_stands_on_a_list_is_ticked_there(agent: Agent, owner: Owner) -> None:
    owner.asked.clear()
    done = said(agent, "tick off pitta bread")
    assert "shopping" in " ".join(owner.asked).lower()  # the question names the list
    assert tools(done) == ["remove_from_list"]
    assert "pitta bread" not in done.answer.text
    assert "oats" in done.answer.text


def test_what_is_both_is_asked_about_and_a_reminder_stays_one(agent: Agent) -> None:
    asked = said(agent, "tick off gym shoes")
    assert asked.answer.status == "needs"
    assert asked.plan is None
    assert "gym shoes" in said(agent, "what's on the shopping list").answer.text
    assert tools(said(agent, "tick off the gym shoes reminder"))[-1] == "complete_reminder"


def test_a_list_is_picked_after_one_that_is_not_there(agent: Agent) -> None:
    assert "No list 'parish'" in said(agent, "what's on the parish list").answer.text
    assert "nets" in said(agent, "the club to do one").answer.text
    assert "nets" in said(agent, "what's on the club list").answer.text


def test_a_draft_is_sent_by_it_only_after_a_question(agent: Agent, owner: Owner) -> None:
    draft = said(agent, "email ana, bruno and zoe that the court is booked")
    assert [p for p in ("ana@", "bruno@", "zoe@") if p in draft.answer.text] == ["ana@", "bruno@", "zoe@"]
    owner.asked.clear()
    sent = said(agent, "send it")
    assert tools(sent) == ["send_mail"]
    assert sent.answer.status == "denied"
    assert "zoe@court.example" in " ".join(owner.asked)
