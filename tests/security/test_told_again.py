"""Taking back what a server told others of is asked about as doing it was, with whom it may write to again."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NewType

import pytest

from hearth import Names, tool
from hearth.agent import Agent, make_home
from hearth.errors import NotFound
from hearth.formats.tool_signature import as_written
from hearth.planning.deferral import Cascade
from hearth.protocols import CallContext, Reply
from hearth.testing import FIXED_NOW, FixedApprover, HashEncoder, ScriptedPlanner
from hearth.types import Plain, Plan, Referent, Step

ShiftId = NewType("ShiftId", str)
FREELY = "".join(f"\n[policy.{name}]\nruling = 'allow'\n" for name in ("move_shift", "drop_shift", "plan_shift"))


@dataclass(frozen=True, slots=True)
class Shift:
    id: ShiftId
    day: str


PEOPLE: dict[str, tuple[str, ...]] = {}


def _meant(value: object, call: CallContext, given: object) -> Referent:
    if str(value) not in PEOPLE:
        raise NotFound(f"no shift {value!r}")
    return Referent(str(value), aliases=PEOPLE[str(value)], told=PEOPLE[str(value)])


Meant = Annotated[ShiftId, Names(_meant)]
Written = Annotated[str, Names(as_written)]


class Rota:
    """Shifts, of which a server tells whoever is on them."""

    def __init__(self) -> None:
        PEOPLE.clear()
        PEOPLE.update({"kitchen": ("omar@rota.example",), "garden": ()})
        self.people = PEOPLE
        self.back: list[str] = []
        rota = self

        def undo(arguments: object, result: Plain, call: CallContext) -> None:
            assert isinstance(result, dict)
            rota.back.append(str(result["id"]))
            call.notices.append("the rota may write to them, too")

        @tool(effect="change", undo=undo)
        def move_shift(shift: Meant, day: Written) -> Shift:
            """Move a shift to another day."""
            return Shift(shift, day)

        @tool(effect="change", undo=undo)
        def drop_shift(shift: Meant) -> Shift:
            """Drop a shift."""
            rota.people.pop(shift)
            return Shift(shift, "")

        @tool(effect="change", undo=undo)
        def plan_shift(name: Written) -> Shift:
            """Plan a new shift."""
            rota.people[name] = ()
            return Shift(ShiftId(name), "")

        self.tools = (move_shift, drop_shift, plan_shift)


def _plan(tool: str, **arguments: str) -> Plan:
    return Plan((Step(tool, dict(arguments)),), 1.0, "scripted")


PLANS = {
    "move the kitchen shift to Friday": _plan("move_shift", shift="kitchen", day="Friday"),
    "move the garden shift to Friday": _plan("move_shift", shift="garden", day="Friday"),
    "drop the kitchen shift": _plan("drop_shift", shift="kitchen"),
    "plan a cellar shift": _plan("plan_shift", name="cellar"),
}


@contextmanager
def opened(home: Path, rota: Rota, rules: str = FREELY) -> Iterator[tuple[Agent, FixedApprover]]:
    make_home(home, {"name": "Mira", "email": "m@example.org", "time_zone": "Europe/Berlin", "country": ""})
    with (home / "hearth.toml").open("a") as settings:
        settings.write(rules)
    clock, asked = itertools.count(), FixedApprover("once")
    agent = Agent.open(
        home, asked, environ=os.environ, clock=lambda: FIXED_NOW.replace(second=next(clock) % 60),
        encoder=HashEncoder(), extra_tools=rota.tools,
    )  # fmt: skip
    agent.planner = Cascade([ScriptedPlanner(PLANS)], confident=0.0)
    try:
        yield agent, asked
    finally:
        agent.close()


@pytest.mark.parametrize("did", ["move the kitchen shift to Friday", "drop the kitchen shift"])
@pytest.mark.parametrize("then", ["undo that", "no, the garden shift", ""])
@pytest.mark.parametrize("reply", ["no", "once"])
def test_whom_a_server_writes_to_again_is_asked_about(did: str, then: str, reply: Reply, tmp_path: Path) -> None:
    if did.startswith("drop") and "garden" in then:
        return
    rota = Rota()
    with opened(tmp_path / "home", rota) as (agent, asked):
        agent.run(agent.request_after(did))
        assert len(asked.questions) == 1  # a server tells of it
        agent.monitor.approver = asked = FixedApprover(reply)
        text = agent.run(agent.request_after(then)).answer.text if then else str(agent.undo(None))
        ((question, ruling),) = asked.questions
        assert "omar@rota.example" in ruling.reason
        assert did in question
        assert rota.back == (["kitchen"] if reply == "once" else [])
        assert ("the rota may write to them" in text) == (reply == "once")


def test_what_nobody_is_told_of_is_taken_back_without_a_question(tmp_path: Path) -> None:
    rota = Rota()
    with opened(tmp_path / "home", rota) as (agent, asked):
        for did in ("move the garden shift to Friday", "plan a cellar shift"):
            agent.run(agent.request_after(did))
            agent.run(agent.request_after("undo that"))
        assert rota.back == ["garden", "cellar"]
        assert not asked.questions


def test_who_came_to_it_since_is_told_of_it_too(tmp_path: Path) -> None:
    rota = Rota()
    with opened(tmp_path / "home", rota) as (agent, asked):
        agent.run(agent.request_after("plan a cellar shift"))
        rota.people["cellar"] = ("noor@rota.example",)
        agent.run(agent.request_after("undo that"))
        ((_, ruling),) = asked.questions
        assert "noor@rota.example" in ruling.reason


def test_a_rule_that_denies_the_change_denies_taking_it_back(tmp_path: Path) -> None:
    rota, denied = (
        Rota(),
        "\n[[rule]]\ntools = ['move_shift']\nwhen.shift = { one_of = ['noor@rota.example'] }\nruling = 'deny'\n",
    )
    with opened(tmp_path / "home", rota, FREELY + denied) as (agent, asked):
        agent.run(agent.request_after("move the garden shift to Friday"))
        rota.people["garden"] = ("noor@rota.example",)
        agent.run(agent.request_after("undo that"))
        assert rota.back == []
        assert not asked.questions
