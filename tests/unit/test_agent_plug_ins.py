"""An agent whose plug-ins fail while it works: it goes on without them, and says so as long as they fail."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hearth import agent as agents
from hearth.agent import Agent, make_home
from hearth.errors import CancelledError, ConfigError, NotFound, StoreError
from hearth.protocols import CallContext
from hearth.registry import ENTITIES, FOOTAGE, Part, Parts
from hearth.testing import FIXED_NOW, FixedApprover, HashEncoder, ScriptedFootage
from hearth.types import Entity

ANA = Entity("Ana Ruiz", "person")
Make = Callable[..., Agent]


@pytest.fixture
def make(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Open an agent with these parts and no others."""
    make_home(home, {"name": "Mira", "email": "", "time_zone": "Europe/Berlin", "country": "DE"})
    made: list[Agent] = []

    def opened(**parts: tuple[Part, ...]) -> Agent:
        by_group = {ENTITIES: parts.get("entities", ()), FOOTAGE: parts.get("footage", ())}
        monkeypatch.setattr(agents, "load_parts", lambda group: Parts(by_group[group]))
        approver = FixedApprover(answer=False)
        encoder = HashEncoder(32)
        made.append(Agent.open(home, approver, environ=os.environ, clock=lambda: FIXED_NOW, encoder=encoder))
        return made[-1]

    yield opened
    for one in made:
        one.close()


def raises(error: BaseException) -> Callable[..., object]:
    def part(*given: object) -> object:
        raise error

    return part


def later(call: CallContext) -> Iterator[Entity]:
    yield ANA
    raise ZeroDivisionError("halfway")


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (raises(ZeroDivisionError("x")), "'acme' of acme 1.0 failed: ZeroDivisionError: x; update it, or uninstall it"),
        (raises(SystemExit(0)), "SystemExit: 0"),
        (raises(NotFound("no calendar 'work'; add it")), "no calendar 'work'; add it"),
        (later, "ZeroDivisionError: halfway"),
        (lambda call: None, "'NoneType' object is not iterable"),
        (lambda call: ("Ana",), "TypeError: it names 'Ana', which is no Entity"),
    ],
)
def test_names_that_cannot_be_had_are_left_out_and_said(make: Make, broken: Callable[..., object], said: str) -> None:
    agent = make(entities=(Part("acme", broken, "acme 1.0"), Part("good", lambda call: (ANA,), "good 1.0")))
    assert not agent.faults
    assert agent.context().entities == (ANA,)
    assert agent.context().entities == (ANA,)
    (fault,) = agent.faults
    assert said in fault


def test_names_that_can_be_had_again_are_no_fault_any_more(make: Make) -> None:
    answers: list[Callable[..., object]] = [raises(ZeroDivisionError("x")), lambda call: (ANA,)]
    agent = make(entities=(Part("acme", lambda call: answers.pop(0)(call), "acme 1.0"),))
    assert agent.context().entities == ()
    assert agent.faults
    assert agent.context().entities == (ANA,)
    assert not agent.faults


def test_ctrl_c_while_names_are_read_stops(make: Make) -> None:
    agent = make(entities=(Part("acme", raises(KeyboardInterrupt()), "acme 1.0"),))
    with pytest.raises(KeyboardInterrupt):
        agent.context()


def test_home_video_that_cannot_be_opened_is_left_out(make: Make) -> None:
    agent = make(footage=(Part("acme", raises(ZeroDivisionError("x")), "acme 1.0"),))
    assert agent.footage is None
    assert agent.faults == ("'acme' of acme 1.0 failed: ZeroDivisionError: x; update it, or uninstall it",)


def test_what_the_database_says_while_home_video_is_opened_is_no_plug_ins_fault(make: Make) -> None:
    with pytest.raises(StoreError, match="full"):
        make(footage=(Part("acme", raises(StoreError("the disk is full")), "acme 1.0"),))


def test_of_two_that_offer_home_video_the_first_is_taken_and_the_other_named(make: Make) -> None:
    first, second = ScriptedFootage(), ScriptedFootage()
    offered = (Part("a", lambda *given: first, "a 1.0"), Part("b", lambda *given: second, "b 1.0"))
    agent = make(footage=offered)
    assert agent.footage is first
    assert agent.faults == ("home video is taken from a 1.0, so b 1.0 is not used; uninstall all but one",)


@pytest.mark.parametrize(("error", "n_faults"), [(ZeroDivisionError("x"), 1), (CancelledError("stopped"), 0)])
def test_home_video_that_does_not_let_go_of_what_is_old_is_said_after_the_answer(
    make: Make, error: Exception, n_faults: int
) -> None:
    class Stuck(ScriptedFootage):
        def tend(self, now: dt.datetime) -> None:
            raise error

    agent = make(footage=(Part("a", lambda *given: Stuck(), "a 1.0"),))
    agent.tend()
    assert len(agent.faults) == n_faults


def test_a_rule_for_a_tool_that_was_not_loaded_says_what_was_not_loaded(home: Path, make: Make) -> None:
    with (home / "hearth.toml").open("a") as file:
        file.write('\n[policy.switch_lamp]\nruling = "deny"\n[policy.turn_on]\nruling = "deny"\n')
    (home / "tools" / "lamp.py").write_text("1/0")
    with pytest.raises(ConfigError) as caught:
        make()
    first, second = str(caught.value).splitlines()
    assert "[policy.switch_lamp] names no registered tool" in first
    assert second.startswith(f"not loaded: {home / 'tools' / 'lamp.py'}: ZeroDivisionError")
