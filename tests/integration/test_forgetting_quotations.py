"""What is forgotten of the owner's files does not stay where it was quoted: in the record of what was asked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.agent import Agent, make_home
from hearth.guard.policy.question import YesApprover
from hearth.learning.unlearning import Sought, find
from hearth.protocols import Wanted
from hearth.testing import FIXED_NOW

CANOE = "The canoe hire costs 45 pounds a day at Quayside."


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    make_home(tmp_path, {"name": "Mira", "email": "mira@home.example", "time_zone": "Europe/London", "country": "GB"})
    mails = tmp_path / "owner" / "mail" / "cur"
    mails.mkdir(parents=True, exist_ok=True)
    for k, (sender, text) in enumerate((("Ana Costa", CANOE), ("Tom Hale", "The kiln firing costs 9 pounds a shelf."))):
        head = f"From: {sender} <p{k}@x.example>\nTo: mira@home.example\nSubject: Price {k}\nMessage-ID: <{k}@x>\n"
        (mails / f"{k}.x:2,S").write_text(f"{head}Date: Thu, 19 Nov 2026 08:00:00 +0000\n\n{text}\n")
    agent = Agent.open(tmp_path, YesApprover(), environ=os.environ, clock=lambda: FIXED_NOW)
    for _ in agent.learn_shipped():
        pass
    yield agent
    agent.close()


def test_an_answer_that_quotes_what_goes_goes_with_it(agent: Agent) -> None:
    quoting = agent.run(agent.request("how much is the canoe hire"))
    other = agent.run(agent.request("how much is the kiln firing"))
    assert CANOE in quoting.answer.text
    assert "9 pounds" in other.answer.text
    ana = Wanted(person="Ana Costa")
    found = find(agent.store, Sought(wanted=ana))
    assert [id for id, _ in found.episodes] == [quoting.id]
    kept = find(agent.store, Sought(wanted=ana, with_record=False))
    assert kept.episodes == ()
    assert find(agent.store, Sought(wanted=Wanted(person="Nobody"))).is_empty
