"""Taking a call back is judged as the call that it amounts to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import pytest

from hearth import Names, tool
from hearth.agent import Agent, make_home
from hearth.planning.deferral import Cascade
from hearth.protocols import CallContext, Reply
from hearth.testing import FIXED_NOW, FixedApprover, HashEncoder, ScriptedPlanner
from hearth.types import Plain, Plan, Referent, Step

Bridge = Annotated[str, Names(lambda value, call, given: Referent(str(value)))]
LOWER = Plan((Step("lower_bridge", {"bridge": "north"}),), 1.0, "scripted")


class River:
    """A drawbridge: lowering one that was up can be taken back, and then ships pass."""

    def __init__(self) -> None:
        self.raised: list[str] = []
        self.dimmed: list[str] = []
        river = self

        def back(arguments: object, result: Plain, call: CallContext) -> None:
            river.raised.append(str(result))

        def bright(arguments: object, result: Plain, call: CallContext) -> None:
            river.dimmed.append(str(result))

        @tool(effect="change", undo=back, undo_steps=lambda result: (Step("raise_bridge", {"bridge": str(result)}),))
        def lower_bridge(bridge: Bridge) -> str:
            """Lower a bridge, so that people can cross."""
            return bridge

        @tool(effect="send")
        def raise_bridge(bridge: Bridge) -> str:
            """Raise a bridge, so that ships can pass."""
            return bridge

        @tool(effect="change", undo=bright, undo_steps=lambda result: (Step("light_lantern", {"bridge": str(result)}),))
        def dim_lantern(bridge: Bridge) -> str:
            """Dim the lantern of a bridge."""
            return bridge

        @tool(effect="change")
        def light_lantern(bridge: Bridge) -> str:
            """Light the lantern of a bridge."""
            return bridge

        self.tools = (lower_bridge, raise_bridge, dim_lantern, light_lantern)


@contextmanager
def opened(home: Path, river: River, rules: str = "") -> Iterator[Agent]:
    make_home(home, {"name": "Mira", "email": "m@example.org", "time_zone": "Europe/Berlin", "country": ""})
    (home / "hearth.toml").write_text((home / "hearth.toml").read_text() + rules)
    agent = Agent.open(
        home, FixedApprover("once"), environ=os.environ, clock=lambda: FIXED_NOW, encoder=HashEncoder(),
        extra_tools=river.tools,
    )  # fmt: skip
    plans = {
        "lower the bridge": LOWER,
        "shade the lantern": Plan((Step("dim_lantern", {"bridge": "north"}),), 1.0, "scripted"),
        "the south one": Plan((Step("lower_bridge", {"bridge": "south"}),), 1.0, "scripted"),
    }
    agent.planner = Cascade([ScriptedPlanner(plans)], confident=0.0)
    try:
        yield agent
    finally:
        agent.close()


def answering(agent: Agent, reply: Reply) -> FixedApprover:
    agent.monitor.approver = approver = FixedApprover(reply)
    return approver


DENY = '\n[policy.raise_bridge]\nruling = "deny"\nreason = "no ships"\n'
ALLOW = '\n[policy.raise_bridge]\nruling = "allow"\n'


@pytest.mark.parametrize(
    ("rules", "reply", "n_asked", "is_raised"),
    [
        ("", "no", 1, False),
        ("", "nobody", 1, False),
        ("", "once", 1, True),
        (DENY, "once", 0, False),
        (ALLOW, "nobody", 0, True),
        (
            '\n[[rule]]\ntools = ["raise_bridge"]\nwhen.bridge = { one_of = ["north"] }\nruling = "deny"\n',
            "once",
            0,
            False,
        ),
    ],
)
def test_what_undoing_amounts_to_is_ruled_on(
    tmp_path: Path, rules: str, reply: Reply, n_asked: int, is_raised: bool
) -> None:
    river = River()
    with opened(tmp_path / "home", river, rules) as agent:
        done = agent.run(agent.request("lower the bridge"))
        asked = answering(agent, reply)
        report = agent.undo(done.id)
        assert (len(asked.questions), river.raised) == (n_asked, ["north"] if is_raised else [])
        assert bool(report.kept) is not is_raised
        if asked.questions:
            assert 'To take back what I did for "lower the bridge"' in asked.questions[0][0]
            assert "raise_bridge (cannot be undone)" in asked.questions[0][0]


@pytest.mark.parametrize(("rules", "reply"), [("", "no"), (DENY, "once")])
def test_a_correction_takes_nothing_back_that_the_owner_does_not_want_done(
    tmp_path: Path, rules: str, reply: Reply
) -> None:
    river = River()
    with opened(tmp_path / "home", river, rules) as agent:
        done = agent.run(agent.request("lower the bridge"))
        request = agent.request("the south one")
        answering(agent, reply)
        episode = agent.run(type(request)(request.text, request.now, request.id, revises=done.id))
        assert river.raised == []
        assert episode.answer.status == "denied"


def test_what_can_be_taken_back_itself_is_undone_without_a_question_unless_a_rule_asks(tmp_path: Path) -> None:
    river = River()
    with opened(tmp_path / "home", river) as agent:
        done = agent.run(agent.request("shade the lantern"))
        assert (answering(agent, "nobody").questions, agent.undo(done.id).kept, river.dimmed) == ([], (), ["north"])
    river = River()
    with opened(tmp_path / "other", river, '\n[policy.light_lantern]\nruling = "deny"\n') as agent:
        done = agent.run(agent.request("shade the lantern"))
        assert agent.undo(done.id).kept
        assert river.dimmed == []


def test_a_never_holds_for_what_undoing_amounts_to(tmp_path: Path) -> None:
    river = River()
    with opened(tmp_path / "home", river) as agent:
        done = agent.run(agent.request("lower the bridge"))
        answering(agent, "never")
        agent.undo(done.id)
        asked = answering(agent, "once")
        assert "said never" in agent.undo(done.id).kept[0]
        assert (asked.questions, river.raised) == ([], [])
