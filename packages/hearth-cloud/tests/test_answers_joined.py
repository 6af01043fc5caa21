"""A question asked of the real service over HTTP, and its answer joined with private facts on the device."""

from __future__ import annotations

import json
import os
from pathlib import Path

from cloud_fixtures import Serve

from hearth.agent import Agent, make_home
from hearth.edge import enrolment
from hearth.edge.cloud_link import Link
from hearth.guard.egress.gateway import Egress
from hearth.guard.policy.question import RefusingApprover
from hearth.memory.facts import NewFact
from hearth.planning.deferral import Cascade
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW, HashEncoder, ScriptedPlanner
from hearth_cloud.service.general_answers import RecordedAnswers

RECORDED = {
    "question": "what could I cook for Person1 tonight",
    "text": "Person1 will like soup.",
    "items": [
        {"name": "Prawn cocktail", "text": "", "tags": ["prawn", "contains: crustaceans"]},
        {"name": "Soup for Person1", "text": "warm", "tags": ["leek", "contains: none"]},
    ],
}


def test_the_service_answers_and_the_device_joins(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "answers.jsonl").write_text(json.dumps(RECORDED) + "\n")
    served = serve(answering=RecordedAnswers(tmp_path / "answers.jsonl"))
    home = tmp_path / "home"
    make_home(home, {"name": "Mira", "email": "m@example.org", "time_zone": "Europe/Berlin", "country": ""})
    host = served.url.removeprefix("http://")
    settings = (home / "hearth.toml").read_text().replace("allow = []", f'allow = ["{host}"]')
    (home / "hearth.toml").write_text(f"{settings}\n[edge]\nanswers = true\n")
    with Store.open(home / "hearth.db") as store:
        egress = Egress([host], store, lambda: FIXED_NOW)
        with Link(served.url, egress, None, "edge-1") as link:
            hello = link.hello()
        cloud = enrolment.Cloud(served.url, hello.server, hello.public_key)
        enrolment.join(store, home, cloud, "edge-1", served.token(), FIXED_NOW)
    agent = Agent.open(home, RefusingApprover(), environ=os.environ, clock=lambda: FIXED_NOW, encoder=HashEncoder())
    agent.planner = Cascade([ScriptedPlanner({})], confident=0.0)
    try:
        agent.facts.add(NewFact("Lotte", "allergic to", "shellfish"), FIXED_NOW)
        episode = agent.run(agent.request("what could I cook for Lotte tonight"))
        left = b"".join(entry.payload or b"" for entry in agent.egress.ledger.entries(episode=episode.id))
        joined = enrolment.joined(agent.store, home)
        assert joined is not None
        assert joined.heard_at  # an answer is hearing of it, too
    finally:
        agent.close()
    text = episode.answer.text
    assert text.startswith("Lotte will like soup.\n  · Soup for Lotte: warm\n"), text
    assert "Left out: Prawn cocktail (it contains prawn, and Lotte is allergic to shellfish)." in text
    assert (
        "From the cloud (file:answers.jsonl); from your facts: Lotte is allergic to shellfish, so one was left out."
        in text
    )
    assert b"what could I cook for Person1 tonight" in left
    assert b"Lotte" not in left
    assert b"shellfish" not in left
    assert [one.n_bytes > 0 for one in episode.disclosures] == [True]
