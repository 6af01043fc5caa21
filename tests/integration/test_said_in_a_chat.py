"""What is ticked off by its name, and what is sent by "it", through the shipped planner."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator

import pytest

from hearth.agent import Agent, make_home
from hearth.guard.decision import Occasion, Rights
from hearth.protocols import Reply
from hearth.testing import FIXED_NOW
from hearth.types import Episode, Plan, Ruling

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


@pytest.mark.parametrize("thing", ["oats", "gym shoes"])
@pytest.mark.parametrize("rights", ["reads", "asks"])
def test_others_are_not_told_where_something_stands(agent: Agent, owner: Owner, thing: str, rights: Rights) -> None:
    owner.asked.clear()
    answered = agent.run(agent.request(f"tick off {thing}"), rights=rights)
    told = f"{answered.answer.text} {owner.asked}".lower()
    assert not any(word in told for word in ("shopping", "club", "list"))
    assert "remove_from_list" not in tools(answered)


def test_what_stands_on_a_list_is_not_told_where_lists_are_not_read_unasked(
    agent: Agent, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    foresee = agent.monitor.foresee

    def of_no_list(plan: Plan, occasion: Occasion) -> frozenset[int]:
        return frozenset() if plan.steps[0].tool == "read_list" else foresee(plan, occasion)

    owner.asked.clear()
    with monkeypatch.context() as patch:
        patch.setattr(agent.monitor, "foresee", of_no_list)
        left = said(agent, "tick off oats")
    assert "remove_from_list" not in tools(left)
    assert "shopping" not in f"{left.answer.text} {owner.asked}".lower()
    assert tools(said(agent, "tick off oats")) == ["remove_from_list"]


def test_the_owners_words_mend_the_owners_requests_alone(agent: Agent) -> None:
    asked: list[Collection[str]] = []

    def noted(_: object, words: Collection[str]) -> frozenset[str]:
        asked.append(words)
        return frozenset()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(agent.home_answers.passages), "said", noted)
        agent.run(agent.request("what is a pittta"), rights="reads")
        agent.run(agent.request("what is a pittta"), rights="asks")
        assert asked == []
        agent.run(agent.request("what is a pittta"))
        assert asked
