"""What tests keep of the demonstrations that ship (`tests.learned_memory`) is what is read without it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hearth.agent import Agent, make_home, shipped_demonstrations
from hearth.guard.policy.question import RefusingApprover
from hearth.planning.arguments import span_boundaries
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.registry import load_tools
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW, HashEncoder
from hearth.types import Context, Plan, Refusal, Request
from tests import learned_memory

MANY = shipped_demonstrations()[:150]
REQUEST = Request("remind me to water the plants tomorrow at nine", FIXED_NOW)


def planned(folder: Path, encoder: HashEncoder) -> tuple[str, Plan | Refusal]:
    """Learn, open again and plan: the digest of all that plans, and the plan."""
    with Store.open(folder) as store:
        RecallPlanner(encoder, store).add(MANY)
        opened = RecallPlanner(encoder, store)
        return opened.remembered.digest(), opened.plan(REQUEST, Context(), load_tools(None).specs)


def test_what_is_kept_plans_as_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = HashEncoder(32)
    first, again = (planned(tmp_path / name, encoder) for name in ("a.db", "b.db"))
    other = planned(tmp_path / "c.db", HashEncoder(48))
    monkeypatch.setattr("hearth.planning.retrieval.episodic_index._explained", learned_memory._explained)
    monkeypatch.setattr(span_boundaries, "_General", learned_memory._general)
    assert first == again == planned(tmp_path / "d.db", encoder)
    assert other[0] != first[0]


def test_who_learns_something_else_is_given_something_else() -> None:
    encoder = HashEncoder(32)
    one, other = RecallPlanner(encoder), RecallPlanner(encoder)
    one.add(MANY)
    other.add([replace(MANY[0], request="mend the roof of the shed"), *MANY[1:]])
    assert one.remembered.digest() != other.remembered.digest()


def test_a_home_that_learns_what_ships_anew_keeps_the_owners_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_home(tmp_path / "home", {"name": "", "email": "", "time_zone": "", "country": ""})
    agent = Agent.open(tmp_path / "home", RefusingApprover(), environ={}, encoder=HashEncoder(32))
    try:
        agent.recall.add([replace(MANY[0], id="owner:1", source="owner"), replace(MANY[1], id="an older one")])
        monkeypatch.setattr("hearth.agent.shipped_demonstrations", lambda: MANY[2:20])
        for _ in range(2):
            assert list(agent.learn_shipped())[-1] == 18
            assert set(agent.recall.ids()) == {"owner:1", *(one.id for one in MANY[2:20])}
        assert not agent.n_to_learn
    finally:
        agent.close()
