"""Reading ahead while the teacher is asked: what may begin, what is kept, and that nothing leaves."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from hearth import tool
from hearth.agent import Agent, make_home
from hearth.errors import EgressError, PlannerError
from hearth.formats.tool_signature import FunctionTool
from hearth.guard.egress.speculative_reads import Foreseen, ShutEgress
from hearth.guard.labels import Value
from hearth.guard.policy.question import YesApprover
from hearth.planning.deferral import Cascade
from hearth.protocols import CallContext, Cause, Tool
from hearth.testing import FIXED_NOW, HashEncoder, ScriptedPlanner
from hearth.types import OWNER, Context, Label, Plan, Ref, Refusal, Request, Step, ToolSpec

OWNERS = {"name": "Mira", "email": "m@example.org", "time_zone": "Europe/Berlin", "country": ""}


class Waiting:
    """A teacher that answers once what it waits for has happened, or after a minute."""

    name = "teacher"

    def __init__(self, answer: Plan | Refusal | PlannerError, until: threading.Event) -> None:
        self._answer = answer
        self._until = until
        self.was_in_time = False

    def plan(self, request: Request, context: Context, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:
        self.was_in_time = self._until.wait(60)
        if isinstance(self._answer, PlannerError):
            raise self._answer
        return self._answer


@contextmanager
def opened(home: Path, tools: Iterable[Tool], draft: Plan, teacher: Waiting, *, settings: str = "") -> Iterator[Agent]:
    make_home(home, OWNERS)
    with (home / "hearth.toml").open("a") as file:
        file.write(settings)
    agent = Agent.open(
        home, YesApprover(), environ=os.environ, clock=lambda: FIXED_NOW, encoder=HashEncoder(), extra_tools=tools
    )
    agent.planner = Cascade([ScriptedPlanner({"go": draft})], teacher=teacher)
    try:
        yield agent
    finally:
        agent.close()


def plan_of(*steps: Step, confidence: float = 0.4) -> Plan:
    return Plan(steps, confidence=confidence, planner="scripted")


def reading() -> tuple[FunctionTool, list[str], threading.Event]:
    """A tool that reads, what it was called with, and an event for its first call."""
    calls: list[str] = []
    called = threading.Event()

    @tool()
    def look_at(place: str) -> str:
        """Look at a place."""
        calls.append(place)
        called.set()
        return f"{place}: quiet"

    return look_at, calls, called


def test_what_the_teacher_wants_too_is_read_once(tmp_path: Path) -> None:
    look_at, calls, called = reading()
    steps = (Step("look_at", {"place": "hall"}), Step("look_at", {"place": Ref(0)}))
    teacher = Waiting(plan_of(*steps, Step("look_at", {"place": "attic"}), confidence=0.9), called)
    with opened(tmp_path / "home", [look_at], plan_of(*steps), teacher) as agent:
        episode = agent.run(agent.request("go"))
    assert teacher.was_in_time, "it was read while the teacher was asked"
    assert [result.value for result in episode.results] == ["hall: quiet", "hall: quiet: quiet", "attic: quiet"]
    assert sorted(calls) == ["attic", "hall", "hall: quiet"], "none of them twice"


def test_what_the_teacher_does_not_want_is_dropped(tmp_path: Path) -> None:
    look_at, calls, called = reading()
    teacher = Waiting(plan_of(Step("look_at", {"place": "attic"}), confidence=0.9), called)
    draft = plan_of(Step("look_at", {"place": "hall"}))
    with opened(tmp_path / "home", [look_at], draft, teacher) as agent:
        episode = agent.run(agent.request("go"))
        assert calls == ["hall", "attic"]
        assert [result.value for result in episode.results] == ["attic: quiet"]
        assert agent.monitor.foreseen is None


@pytest.mark.parametrize("effect", ["change", "send"])
def test_what_changes_or_sends_waits_for_the_settled_plan(tmp_path: Path, effect: str) -> None:
    look_at, calls, called = reading()
    done: list[str] = []

    @tool(effect=effect)  # type: ignore[arg-type]
    def act(text: str) -> str:
        """Do something."""
        done.append(text)
        return text

    draft = plan_of(Step("act", {"text": "wrong"}), Step("look_at", {"place": "hall"}))
    teacher = Waiting(plan_of(Step("act", {"text": "right"}), confidence=0.9), called)
    with opened(tmp_path / "home", [look_at, act], draft, teacher) as agent:
        agent.run(agent.request("go"))
    assert teacher.was_in_time
    assert done == ["right"]
    assert calls == ["hall"]


def test_a_tool_the_owner_wants_to_be_asked_about_is_not_read_ahead(tmp_path: Path) -> None:
    look_at, calls, called = reading()
    called.set()
    teacher = Waiting(Refusal("out_of_scope", "no"), called)
    rule = '\n[policy.look_at]\nruling = "ask"\n'
    with opened(tmp_path / "home", [look_at], plan_of(Step("look_at", {"place": "hall"})), teacher, settings=rule) as a:
        ahead = a._read_ahead(a.request("go"), plan_of(Step("look_at", {"place": "hall"})))
    assert ahead is None
    assert calls == []


def test_it_can_be_switched_off(tmp_path: Path) -> None:
    look_at, calls, called = reading()
    called.set()
    teacher = Waiting(plan_of(Step("look_at", {"place": "attic"}), confidence=0.9), called)
    off = "\n[planning]\nreads_ahead = false\n"
    draft = plan_of(Step("look_at", {"place": "hall"}))
    with opened(tmp_path / "home", [look_at], draft, teacher, settings=off) as agent:
        agent.run(agent.request("go"))
    assert calls == ["attic"]


def test_planning_alone_reads_nothing(tmp_path: Path) -> None:
    look_at, calls, called = reading()
    called.set()
    draft = plan_of(Step("look_at", {"place": "hall"}))
    with opened(tmp_path / "home", [look_at], draft, Waiting(draft, called)) as agent:
        agent.plan(agent.request("go"), agent.tools.specs)
    assert calls == []


def test_a_teacher_that_fails_leaves_the_draft_with_what_was_read(tmp_path: Path) -> None:
    look_at, calls, called = reading()
    draft = plan_of(Step("look_at", {"place": "hall"}))
    with opened(tmp_path / "home", [look_at], draft, Waiting(PlannerError("down"), called)) as agent:
        episode = agent.run(agent.request("go"))
    assert [result.value for result in episode.results] == ["hall: quiet"]
    assert calls == ["hall"]


def test_nothing_leaves_for_a_plan_that_is_not_settled(tmp_path: Path) -> None:
    tried = threading.Event()

    @tool(source="web")
    def fetch(call: CallContext) -> str:
        """Fetch a page."""
        tried.set()
        call.egress.transport("a page")
        return "page"

    teacher = Waiting(plan_of(Step("current_time"), confidence=0.9), tried)
    with opened(tmp_path / "home", [fetch], plan_of(Step("fetch", {})), teacher) as agent:
        episode = agent.run(agent.request("go"))
        assert teacher.was_in_time
        assert [result.status for result in episode.results] == ["done"]
        assert list(agent.egress.ledger.entries()) == []


def test_a_tool_that_fails_ahead_is_called_again(tmp_path: Path) -> None:
    n_calls = 0
    called = threading.Event()

    @tool()
    def shaky() -> str:
        """Work the second time."""
        nonlocal n_calls
        n_calls += 1
        called.set()
        if n_calls == 1:
            raise RuntimeError("not yet")
        return "fine"

    draft = plan_of(Step("shaky", {}))
    with opened(tmp_path / "home", [shaky], draft, Waiting(plan_of(Step("shaky"), confidence=0.9), called)) as agent:
        episode = agent.run(agent.request("go"))
    assert [result.value for result in episode.results] == ["fine"]


def test_a_result_is_only_for_the_same_values_from_the_same_source() -> None:
    foreseen = Foreseen()
    mine = {"place": Value("hall", OWNER)}
    foreseen.keep("look_at", mine, Value("quiet", OWNER), ())
    assert foreseen.take("look_at", {"place": Value("attic", OWNER)}) is None
    assert foreseen.take("look_at", {"place": Value("hall", Label(frozenset({"message"})))}) is None
    assert foreseen.take("listen_at", mine) is None
    assert foreseen.take("look_at", mine) == (Value("quiet", OWNER), ())
    assert foreseen.take("look_at", mine) is None, "once"


def _permit(door: ShutEgress) -> None:
    with door.permit("mail.example.org", 993, "mail"):
        pass


@pytest.mark.parametrize(
    "use",
    [
        lambda door: door.transport("a page", is_web=True),
        _permit,
        lambda door: door.record("mail.example.org", b"x", "mail"),
        lambda door: door.tls("mail.example.org"),
        lambda door: door.spent("mail.example.org", 1, "mail"),
    ],
)
def test_every_part_of_the_door_is_shut(use: Callable[[ShutEgress], object]) -> None:
    with pytest.raises(EgressError, match="not settled"):
        use(ShutEgress().on_behalf(Cause()))


def test_what_was_read_before_a_change_is_read_again_after_it(tmp_path: Path) -> None:
    look_at, calls, called = reading()

    @tool(effect="change")
    def tidy(place: str) -> str:
        """Tidy a place."""
        calls.append(f"tidied {place}")
        return place

    teacher = Waiting(
        plan_of(Step("tidy", {"place": "hall"}), Step("look_at", {"place": "hall"}, after=(0,)), confidence=0.9),
        called,
    )
    with opened(tmp_path / "home", [look_at, tidy], plan_of(Step("look_at", {"place": "hall"})), teacher) as agent:
        agent.run(agent.request("go"))
    assert calls == ["hall", "tidied hall", "hall"]
