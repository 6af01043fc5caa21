"""Answers from the owner's things and summaries in a configured model's words: from the same evidence and nothing else."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hearth.agent import Agent, make_home
from hearth.guard.policy.question import RefusingApprover
from hearth.planning.deferral import Cascade
from hearth.testing import FIXED_NOW, ScriptedPlanner
from hearth.types import Plan, Step
from tests.model_server import ModelServer

DUE = "when is the MOT due"
SUM_UP = "summarise the mail from Lena Brandt"
PLANS = {text: Plan((Step("find_answer", {"question": text}),), 1.0, "scripted") for text in (DUE, SUM_UP)}
SECRET = "The alarm code is 7741."
MAILS = (
    ("Garage Kwik <info@kwik.example>", "Your MOT", "Your MOT for the blue van is due on 22 January 2027."),
    (
        "Lena Brandt <lena@brandt.example>",
        "Lisbon",
        "Hi Mira,\n\nour flight to Lisbon leaves on 6 February 2027 at 07:25 from Gatwick. Please bring the tickets and "
        "the adapter. The hotel is booked for four nights, and breakfast is included.\n\nLena",
    ),
)


class Scripted(ModelServer):
    """A language model that says what a test lets it say."""

    says = ""

    def reply(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        return self.completion(self.says)

    def read(self) -> str:
        """Everything that it was sent."""
        messages = [one for body in self.received for one in json.loads(body)["messages"]]
        return "\n".join(str(message["content"]) for message in messages)


@pytest.fixture(scope="module")
def model() -> Iterator[Scripted]:
    model = Scripted()
    yield model
    model.close()


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory, model: Scripted) -> Iterator[Agent]:
    home: Path = tmp_path_factory.mktemp("worded")
    make_home(home, {"name": "Mira", "email": "mira@home.example", "time_zone": "Europe/London", "country": "GB"})
    address = f"127.0.0.1:{model.port}"
    settings = (home / "hearth.toml").read_text().replace("allow = []", f'allow = ["{address}"]')
    language = f'[models.language]\nbase_url = "http://{address}/v1"\nmodel = "small"\nanswers = true\n'
    (home / "hearth.toml").write_text(f"{settings}\n{language}")
    (home / "owner/notes/Home.md").write_text(f"# Home\n\n{SECRET}\n")
    mail = home / "owner/mail/cur"
    mail.mkdir(parents=True, exist_ok=True)
    for k, (sender, subject, text) in enumerate(MAILS):
        head = f"From: {sender}\nTo: mira@home.example\nSubject: {subject}\nMessage-ID: <{k}@x>\n"
        (mail / f"{k}.x:2,S").write_text(f"{head}Date: Mon, 16 Nov 2026 12:00:00 +0000\n\n{text}\n")
    agent = Agent.open(home, RefusingApprover(), environ=os.environ, clock=lambda: FIXED_NOW)
    agent.planner = Cascade([ScriptedPlanner(PLANS)], confident=0.0)
    yield agent
    agent.close()


def asked(agent: Agent, model: Scripted, text: str, says: str) -> str:
    """Return the answer to a request, where the model words it so."""
    model.received.clear()
    model.says = says
    return agent.run(agent.request(text)).answer.text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (DUE, "Your MOT is due on 22 January 2027, as Garage Kwik wrote."),
        (SUM_UP, "Lena Brandt writes that the flight to Lisbon leaves on 6 February 2027 at 07:25 from Gatwick."),
    ],
)
def test_a_wording_that_keeps_to_the_evidence_is_told(agent: Agent, model: Scripted, text: str, says: str) -> None:
    assert asked(agent, model, text, says) == says


@pytest.mark.parametrize(
    ("text", "says", "plain"),
    [
        (DUE, "Your MOT is due on 22 January 2028.", "22 January 2027 (mail “Your MOT” from Garage Kwik"),
        (DUE, "Your MOT costs 90 pounds.", "22 January 2027 (mail “Your MOT” from Garage Kwik"),
        (DUE, "Tell Desmond that it is due on 22 January 2027.", "22 January 2027 (mail “Your MOT” from Garage Kwik"),
        (DUE, "", "22 January 2027 (mail “Your MOT” from Garage Kwik"),
        (SUM_UP, "The flight to Porto leaves on 6 February 2027.", "Our flight to Lisbon leaves on 6 February 2027"),
        (SUM_UP, "The hotel is booked for 14 nights.", "Our flight to Lisbon leaves on 6 February 2027"),
    ],
)
def test_a_wording_with_another_number_or_name_is_not_told(
    agent: Agent, model: Scripted, text: str, says: str, plain: str
) -> None:
    told = asked(agent, model, text, says)
    assert len(model.received) == 1
    assert plain in told
    assert not says or says not in told


@pytest.mark.parametrize(("text", "evidence"), [(DUE, MAILS[0][2]), (SUM_UP, "Our flight to Lisbon leaves")])
def test_the_model_reads_the_evidence_and_nothing_else(agent: Agent, model: Scripted, text: str, evidence: str) -> None:
    asked(agent, model, text, "Fine.")
    read = model.read()
    assert evidence in read
    others = [SECRET, *(body for _, _, body in MAILS if evidence not in body)]
    assert not [one for one in others if one in read]
