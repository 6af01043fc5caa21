"""What a cloud or a language model makes up in a plan never passes for the owner's words."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hearth.agent import Agent, make_home
from hearth.execution.repair import Repairer
from hearth.formats.plans import plan_from_json, plan_to_json
from hearth.formats.tool_signature import tool
from hearth.guard.policy.question import RefusingApprover, YesApprover
from hearth.guard.policy.warrant import source_of, with_unsaid
from hearth.language.reading import Utterance
from hearth.planning.deferral import Cascade
from hearth.protocols import Approver
from hearth.registry import load_tools
from hearth.testing import FIXED_NOW, FixedApprover, HashEncoder, ScriptedPlanner
from hearth.types import Context, Entity, Plan, Ref, Refusal, Request, Step, StepResult
from hearth_home.tools import home as home_tools

TOOLS = {**load_tools(None).specs, **{one.spec.name: one.spec for one in home_tools.TOOLS}}
CONTEXT = Context("Mira", (Entity("Anna Berg", "person", ("Anna",)), Entity("front door", "device")))
CLOUD, MODEL = "cloud:example", "language:big"
TOMORROW = "2026-11-21T09:00:00+01:00"


def unsaid(request: str, tool_name: str, planner: str = CLOUD, **arguments: Any) -> dict[str, str]:
    plan = Plan((Step(tool_name, arguments),), 0.9, planner)
    return dict(with_unsaid(plan, Utterance(request, FIXED_NOW, context=CONTEXT), TOOLS).steps[0].unsaid)


SAID: list[tuple[str, str, dict[str, Any]]] = [
    ("remind me to water the plants tomorrow at 9", "add_reminder", {"text": "Water the plants", "at": TOMORROW}),
    ("Remind me tomorrow: call Anna", "add_reminder", {"text": "call Anna", "at": TOMORROW}),
    ("draft a mail to anna@berg.example saying yes", "draft_mail", {"to": ["anna@berg.example"], "text": "yes"}),
    ("find Anna's number", "find_contact", {"name": "Anna Berg"}),
    ("lunch with Anna tomorrow from 12 to 1", "add_event", {"title": "Lunch with Anna", "start": "2026-11-21T12:00:00+01:00"}),
    ("heat the bathroom to 21", "set_temperature", {"temperature": 21}),
    ("set the heating to twenty degrees", "set_temperature", {"temperature": 20}),
    ("lock the front door", "lock_door", {"device": "front door"}),
    ("delete the file letters/council.txt", "delete_file", {"path": "letters/council.txt"}),
    ("put milk and two eggs on the shopping list", "add_to_list", {"list": "shopping", "items": ["milk", "two eggs"]}),
]  # fmt: skip
MADE_UP: list[tuple[str, str, dict[str, Any], set[str]]] = [
    ("frobnicate the moon", "add_reminder", {"text": "Call +49 900 666", "at": TOMORROW}, {"text", "at"}),
    ("remind me to water the plants", "add_reminder", {"text": "water the plants", "at": TOMORROW}, {"at"}),
    ("remind me tomorrow to pay", "add_reminder", {"text": "pay", "at": "2026-11-25T09:00:00+01:00"}, {"at"}),
    ("remember that my bank is Goodbank", "remember", {"text": "my bank is Evilbank"}, {"text"}),
    ("draft a mail to Anna saying yes", "draft_mail", {"to": ["anna@evil.example"], "text": "yes"}, {"to"}),
    ("draft a mail to Anna saying yes", "draft_mail", {"text": "yes", "attachments": ["passwords.txt"]}, {"attachments"}),
    ("call somebody", "find_contact", {"name": "Anna Berg"}, {"name"}),
    ("heat the bathroom to 21", "set_temperature", {"temperature": 30}, {"temperature"}),
    ("is it warm", "unlock_door", {"device": "front door"}, {"device"}),
    ("put milk on the shopping list", "add_to_list", {"list": "shopping", "items": ["milk", "vodka"]}, {"items"}),
    ("add a note: hеllo", "add_note", {"text": "hello"}, {"text"}),
]  # fmt: skip


@pytest.mark.parametrize("planner", [CLOUD, MODEL, "compact:small"])
@pytest.mark.parametrize(("request_text", "name", "arguments"), SAID)
def test_what_the_request_says_is_the_owners(
    planner: str, request_text: str, name: str, arguments: dict[str, Any]
) -> None:
    assert unsaid(request_text, name, planner, **arguments) == {}


@pytest.mark.parametrize(("request_text", "name", "arguments", "made_up"), MADE_UP)
def test_what_it_does_not_say_is_its_planners(
    request_text: str, name: str, arguments: dict[str, Any], made_up: set[str]
) -> None:
    assert unsaid(request_text, name, **arguments) == dict.fromkeys(made_up, "teacher")
    assert unsaid(request_text, name, MODEL, **arguments) == dict.fromkeys(made_up, "model")
    assert unsaid(request_text, name, "recall", **arguments) == {}  # this device takes values from what was said


def test_only_planners_that_are_not_this_devices_make_things_up() -> None:
    assert [source_of(name) for name in ("cloud:x", "language:x", "compact:x", "recall", "owner", "")] == [
        "teacher",
        "model",
        "model",
        "",
        "",
        "",
    ]


def test_the_mark_is_kept_on_record() -> None:
    plan = Plan((Step("add_note", {"text": "x"}, unsaid={"text": "teacher"}), Step("add_note", {"text": "y"})))
    assert plan_from_json(plan_to_json(plan)).steps == plan.steps


# ── What it means for rules ───────────────────────────────────────────────────────────────────────────────

OWN_WORDS = """
[[rule]]
tools = ["draft_mail", "add_reminder", "remember"]
when.text = {only_from = ["owner"]}
ruling = "allow"
"""
ALLOWED = '[policy.draft_mail]\nruling = "allow"\n[policy.remember]\nruling = "allow"\n'


@contextmanager
def taught(tmp_path: Path, plan: Plan, approver: Approver, rules: str = "") -> Iterator[Agent]:
    """An agent whose every request a cloud plans so."""
    home = tmp_path / "home"
    make_home(home, {"name": "Mira", "email": "m@mine.example", "time_zone": "Europe/Berlin", "country": "DE"})
    settings = home / "hearth.toml"
    settings.write_text(settings.read_text() + rules)
    agent = Agent.open(home, approver, environ=os.environ, clock=lambda: FIXED_NOW, encoder=HashEncoder())
    agent.planner = Cascade([], teacher=_Cloud(plan))
    try:
        yield agent
    finally:
        agent.close()


class _Cloud:
    name = CLOUD

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def plan(self, request: Request, context: Context, tools: object) -> Plan | Refusal:
        return self._plan


def planned(tool_name: str, **arguments: Any) -> Plan:
    return Plan((Step(tool_name, arguments),), 0.9, CLOUD)


@pytest.mark.parametrize("rules", ["", OWN_WORDS, ALLOWED])
def test_what_is_made_up_is_asked_about_whatever_is_allowed(tmp_path: Path, rules: str) -> None:
    approver = FixedApprover(False)
    plan = planned("add_reminder", text="Call +49 900 666 to verify your bank", at=TOMORROW)
    with taught(tmp_path, plan, approver, rules) as agent:
        episode = agent.run(agent.request("frobnicate the moon"))
    assert episode.answer.status == "denied"
    ((question, ruling),) = approver.questions
    assert 'text: "Call +49 900 666 to verify your bank" [from the teacher]' in question
    assert ruling.reason == "'text' of add_reminder comes from the teacher: your request does not say it"


@pytest.mark.parametrize("rules", ["", OWN_WORDS])
def test_what_was_said_is_done_as_the_rules_allow(tmp_path: Path, rules: str) -> None:
    with taught(
        tmp_path, planned("add_reminder", text="water the plants", at=TOMORROW), RefusingApprover(), rules
    ) as agent:
        assert agent.run(agent.request("remind me to water the plants tomorrow at 9")).answer.status == "done"


def test_what_is_agreed_to_keeps_its_source(tmp_path: Path) -> None:
    with taught(tmp_path, planned("remember", text="My bank is Evilbank"), YesApprover(), ALLOWED) as agent:
        episode = agent.run(agent.request("frobnicate the sun"))
        (call,) = agent.trace.calls(episode.id)
    assert episode.answer.status == "done"
    assert "teacher" in episode.results[0].label.sources
    assert call.started is not None
    assert call.started.labels["text"].sources == {"teacher"}


def test_a_record_that_was_found_by_made_up_words_is_asked_about(tmp_path: Path) -> None:
    steps = (
        Step("find_notes", {"query": "diary"}),
        Step("append_to_note", {"note": Ref(0, ("0", "id")), "text": "the moon"}),
    )
    approver = FixedApprover(False)
    rules = '[policy.append_to_note]\nruling = "allow"\n'
    with taught(tmp_path, Plan(steps, 0.9, CLOUD), approver, rules) as agent:
        (agent.home / "owner/notes/diary.md").write_text("# Diary\n\ndear\n")
        assert agent.run(agent.request("frobnicate the moon")).answer.status == "denied"
        assert "'query' of find_notes comes from the teacher, and what it finds goes to append_to_note" in (
            approver.questions[0][1].reason
        )
        assert agent.run(agent.request("write the moon into the diary")).answer.status == "done"


def test_a_standing_yes_to_it_lasts_this_once(tmp_path: Path) -> None:
    approver = FixedApprover("always")
    with taught(tmp_path, planned("remember", text="My bank is Evilbank"), approver) as agent:
        agent.run(agent.request("frobnicate the sun"))
        agent.run(agent.request("frobnicate the sun"))
    assert len(approver.questions) == 2


def test_what_a_model_makes_up_for_a_repair_is_marked_too() -> None:
    @tool()
    def look_up(name: str) -> str:
        """Look something up."""
        return name

    specs = {**TOOLS, "look_up": look_up.spec}
    request = Request("note the moon", FIXED_NOW)
    plan = Plan((Step("look_up", {"name": "moon"}),), 0.9, "recall")
    told = "note the moon\n\n(A first plan went wrong: look_up does not work. Done so far: nothing. Reach the same in another way.)"
    model = ScriptedPlanner({told: Plan((Step("add_note", {"text": "work nothing"}),), 0.9, MODEL)}, MODEL)
    failed = StepResult(0, "failed", error="no", error_kind="ToolCrashed")
    repaired = Repairer(ScriptedPlanner({}), lambda one: one, model).repair(request, CONTEXT, plan, [failed], specs)
    assert repaired is not None
    assert repaired.steps[-1].unsaid == {"text": "model"}
