"""A question may stand for half an hour: rules about hours and rates are about the call, not about the request."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

import pytest

from hearth.agent import Agent, make_home
from hearth.config import parse_settings
from hearth.errors import DeniedError
from hearth.formats.tool_signature import tool
from hearth.guard.decision import Occasion
from hearth.guard.labels import Value
from hearth.guard.monitor import Monitor
from hearth.guard.policy.rules import Policy
from hearth.protocols import Reply
from hearth.testing import FIXED_NOW, HashEncoder, make_call
from hearth.types import OWNER, Plan, Ruling, Step

EVENING = FIXED_NOW.replace(hour=21, minute=58)
AT_NIGHT = '[[rule]]\ntools = ["add_note"]\nbetween = ["22:00", "07:00"]\nruling = "deny"\nreason = "night"\n'
TWICE_AN_HOUR = (
    '[[rule]]\ntools = ["add_note"]\nmore_than = {calls = 2, per = "hour"}\nruling = "deny"\nreason = "rate"\n'
)
BY_DAY = '[[rule]]\ntools = ["add_note"]\nbetween = ["07:00", "22:00"]\nruling = "allow"\n'
NOTE = Plan((Step("add_note", {"text": "hello"}),))


class Late:
    """An owner whose clock goes on by some minutes before they say yes."""

    def __init__(self, minutes: int) -> None:
        self.now = EVENING
        self.questions: list[str] = []
        self._minutes = minutes

    def approve(self, question: str, ruling: Ruling) -> Reply:
        self.questions.append(question)
        self.now += dt.timedelta(minutes=self._minutes)
        return "once"


def added(tmp_path: Path, rules: str, owner: Late, n: int = 1) -> list[str]:
    """How `n` requests for a note end, each a minute after the one before."""
    home = tmp_path / "home"
    make_home(home, {"name": "Me", "email": "me@mine.example", "time_zone": "Europe/Berlin", "country": "DE"})
    settings = home / "hearth.toml"
    settings.write_text(settings.read_text().replace('[policy.add_note]\nruling = "allow"\n', "") + rules)
    agent = Agent.open(home, owner, environ=os.environ, clock=lambda: owner.now, encoder=HashEncoder())
    try:
        ended: list[str] = []
        for _ in range(n):
            ended.append(agent.run(agent.request("note: hello"), NOTE).answer.status)
            owner.now += dt.timedelta(minutes=1)
        return ended
    finally:
        agent.close()


@pytest.mark.parametrize(("minutes", "status"), [(1, "done"), (25, "denied")])
def test_a_rule_of_the_night_counts_when_the_call_is_made(tmp_path: Path, minutes: int, status: str) -> None:
    owner = Late(minutes)
    assert added(tmp_path, AT_NIGHT, owner) == [status]
    assert len(owner.questions) == 1


def test_what_is_allowed_by_day_alone_is_asked_about_at_night(tmp_path: Path) -> None:
    owner = Late(0)
    assert added(tmp_path, BY_DAY, owner, n=4) == ["done"] * 4
    assert len(owner.questions) == 2  # at 21:58 and 21:59 none


@pytest.mark.parametrize(("minutes", "statuses"), [(50, ["done", "done", "denied"]), (60, ["done", "done", "done"])])
def test_rates_count_calls_by_when_they_were_made(tmp_path: Path, minutes: int, statuses: list[str]) -> None:
    assert added(tmp_path, TWICE_AN_HOUR, Late(minutes), n=3) == statuses


def test_a_step_nobody_was_asked_about_is_asked_about_once_its_hours_are_over() -> None:
    @tool(effect="change")
    def add_note(text: str) -> str:
        """Add a note."""
        return text

    owner = Late(0)
    policy = Policy.of(parse_settings(BY_DAY, Path("hearth.toml")), {"add_note": add_note.spec})
    guard = Monitor({"add_note": add_note}, policy, owner, clock=lambda: owner.now)
    call = make_call(now=EVENING)
    assert guard.rule(NOTE, occasion=Occasion(EVENING, call.workspace)).verdict == "allow"
    given = {"text": Value("hello", OWNER)}
    assert guard.admit(NOTE, 0, given, call).verdict == "allow"
    owner.now += dt.timedelta(minutes=2)
    assert guard.admit(NOTE, 0, given, call).verdict == "ask"
    with pytest.raises(DeniedError):
        guard.call(NOTE, 0, given, call)
