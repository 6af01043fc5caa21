"""The Q2A set: what the checker finds, what it lets pass, and what counts as the same plan and the same outcome."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from hearth.errors import RequestError
from hearth.formats.plans import check_plan
from hearth.types import Plan, Ref, Step
from hearth_bench.data.q2a_homes import World, effect_of, execute, read_world
from hearth_bench.data.q2a_instructions import (
    OWNERS,
    Sample,
    faults_of,
    main,
    read_all,
    read_owner,
    repetitions,
    split_of,
)
from hearth_bench.suites.q2a.q2a_suite import is_same

WORLD = {
    "owner": {"name": "Mara", "email": "m@x.example", "zone": "Europe/London", "country": "GB", "about": "somebody"},
    "conventions": [
        {"id": "night", "says": "night", "means": "lamp off", "since": "2026-09-07", "until": "2026-09-09"}
    ],
    "records": [{"kind": "contact", "id": "ben", "name": "Ben Whit", "email": "ben@x.example"}],
    "cameras": [{"name": "cam", "room": "kitchen"}],
    "seen": [{"camera": "cam", "start": "2026-09-07T06:10:00+01:00", "end": "2026-09-07T06:20:00+01:00"}],
    "home": {"device": [{"name": "lamp", "room": "hall", "kind": "lamp"}]},
}
LAMP = {"task": "turn_off", "arguments": [{"name": "device", "value": "hall lamp"}]}
BEN = {"task": "find_contact", "arguments": [{"name": "name", "value": "Ben"}]}


def line(number: int, text: str, *nodes: Mapping[str, object], day: int = 7, **more: object) -> dict[str, object]:
    return {
        "id": f"mara-{number:03d}",
        "user_request": text,
        "now": f"2026-09-{day:02d}T08:00:00+01:00",
        "task_steps": ["words"] * len(nodes),
        "task_nodes": list(nodes),
        "task_links": [],
        **more,
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mara.world.json").write_text(json.dumps(WORLD))
    return tmp_path


def faults(folder: Path, *lines: dict[str, object]) -> list[str]:
    (folder / "mara.jsonl").write_text("\n".join(json.dumps(one) for one in lines))
    world = read_world("mara", folder)
    return list(faults_of(read_owner("mara", folder), world, world.specs))


def test_a_right_instruction_has_no_fault(folder: Path) -> None:
    assert faults(folder, line(1, "the lamp in the hall, off with it", LAMP, convention="night")) == []


@pytest.mark.parametrize(
    ("said", "lines"),
    [
        ("no tool", [line(1, "fly away", {"task": "fly", "arguments": []})]),
        (
            "expected",
            [line(1, "warm it", {"task": "set_temperature", "arguments": [{"name": "temperature", "value": "x"}]})],
        ),
        (
            "no device is called",
            [line(1, "off", {"task": "turn_off", "arguments": [{"name": "device", "value": "moon"}]})],
        ),
        (
            "no contact is called",
            [line(1, "ring Zoe", {"task": "find_contact", "arguments": [{"name": "name", "value": "Zoe"}]})],
        ),
        (
            "says nearly what",
            [line(1, "put the hall lamp out at once", LAMP), line(2, "put the hall lamp out at once!", LAMP)],
        ),
        ("a shipped demonstration", [line(1, "what time is it", {"task": "current_time", "arguments": []})]),
        ("no convention", [line(1, "lamp off, night", LAMP, convention="night", day=10)]),
        ("no earlier instruction", [line(1, "and again", LAMP, follows="mara-002")]),
        ("is said before", [line(1, "lamp off", LAMP, day=9), line(2, "who is Ben", BEN, day=8)]),
        ("found nothing", [line(1, "events", {"task": "find_events", "arguments": []})]),
        (
            "no tool's parameter",
            [line(1, "send it", refusal={"kind": "needs", "reason": "what is it", "missing": ["a.b"]})],
        ),
        ("has no words", [{**line(1, "lamp off", LAMP), "task_steps": []}]),
    ],
)
def test_what_is_wrong_is_found(folder: Path, said: str, lines: list[dict[str, object]]) -> None:
    found = faults(folder, *lines)
    assert any(said in fault for fault in found), found


def test_finding_nothing_may_be_right(folder: Path) -> None:
    nothing = line(1, "anything on?", {"task": "find_events", "arguments": []}, finds_nothing=True)
    assert faults(folder, nothing) == []


@pytest.mark.parametrize(
    ("said", "broken"),
    [
        ("no offset", {"now": "2026-09-07T08:00:00"}),
        ("id", {"id": "Mara 1"}),
        ("either steps or a refusal", {"task_nodes": [], "task_steps": []}),
        ("style", {"style": ["loud"]}),
    ],
)
def test_a_line_of_another_shape_is_refused(folder: Path, said: str, broken: dict[str, object]) -> None:
    (folder / "mara.jsonl").write_text(json.dumps({**line(1, "lamp off", LAMP), **broken}))
    with pytest.raises(RequestError, match=said):
        read_owner("mara", folder)


def test_a_world_of_another_shape_is_refused(folder: Path) -> None:
    (folder / "mara.world.json").write_text(json.dumps({**WORLD, "pets": []}))
    with pytest.raises(RequestError, match="pets"):
        read_world("mara", folder)


def test_the_command_says_how_many_faults_there_are(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mara.jsonl").write_text(json.dumps(line(1, "fly away", {"task": "fly", "arguments": []})))
    assert main(["--check", "--owner", "mara", "--folder", str(folder)]) == 1
    assert "1 instructions, 1 faults" in capsys.readouterr().out


# ── The shipped set ───────────────────────────────────────────────────────────────────────────────────────


def test_there_are_twelve_hundred_in_three_splits() -> None:
    found = list(read_all())
    assert len(found) == 1200
    assert {sample.owner for sample in found} == set(OWNERS)
    assert {split_of(sample.id) for sample in found} == {"stream", "dev", "test"}
    kinds = [sample.kind for sample in found]
    assert sum(sample.plan is not None and len(sample.plan.steps) > 1 for sample in found) >= 720
    assert kinds.count("dag") >= 300
    assert 110 <= kinds.count("ask") + kinds.count("refuse") <= 130
    assert not list(repetitions([sample for sample in found if sample.owner == "jun"], 0.7))


@pytest.mark.parametrize("owner", OWNERS)
def test_some_plans_of_each_owner_run_in_their_home(owner: str) -> None:
    world = read_world(owner)
    everything = read_owner(owner)
    assert not list(faults_of(everything, world, world.specs, is_run=False))
    some: list[Sample] = [sample for sample in everything[::9] if not sample.follows]
    assert not list(faults_of(some, world, world.specs))


def test_a_convention_changes() -> None:
    world = read_world("tomas")
    before, after = (
        next(s for s in read_owner("tomas") if s.convention == "goodnight" and (s.request.now.month > 9) is is_later)
        for is_later in (False, True)
    )
    assert before.plan is not None
    assert after.plan is not None
    assert len(before.plan.steps) < len(after.plan.steps)
    assert world.convention_at("goodnight", before.request.now) != world.convention_at("goodnight", after.request.now)


# ── The same plan, the same outcome ───────────────────────────────────────────────────────────────────────


def test_steps_in_another_order_are_the_same_plan() -> None:
    lamp, ben = Step("turn_off", {"device": "hall lamp"}), Step("find_contact", {"name": "Ben"})
    draft = Step("draft_mail", {"to": [Ref(1, ("email",))], "text": "hi"})
    other = Step("draft_mail", {"to": [Ref(0, ("email",))], "text": "hi"})
    assert is_same((ben, other, lamp), (lamp, ben, draft)) or is_same((ben, lamp, other), (lamp, ben, draft))
    assert not is_same((lamp, ben), (lamp, ben, draft))
    assert not is_same((ben, dataclasses.replace(other, arguments={**other.arguments, "text": "ho"})), (ben, other))


def test_what_a_plan_came_to_is_told_apart(folder: Path) -> None:
    (folder / "mara.jsonl").write_text(json.dumps(line(1, "lamp off", LAMP)))
    world, sample = read_world("mara", folder), read_owner("mara", folder)[0]
    assert sample.plan is not None

    def came_to(*steps: Step) -> object:
        plan = check_plan(Plan(steps), world.specs)
        return effect_of(execute(plan, world, sample.request.now), plan)

    off = Step("turn_off", {"device": "hall lamp"})
    assert came_to(off) == came_to(Step("turn_off", {"device": "the lamp in the hall"}))
    assert came_to(off) != came_to(Step("turn_on", {"device": "hall lamp"}))
    assert came_to(Step("find_contact", {"name": "Ben"})) == came_to(Step("find_contact", {"name": "Ben Whit"}))
    assert came_to(Step("find_contact", {"name": "Ben"})) != came_to(Step("list_devices"))


def test_a_home_holds_only_what_had_come_by_then() -> None:
    world: World = read_world("tomas")
    early = next(s for s in read_owner("tomas")).request.now
    late = read_owner("tomas")[-1].request.now
    assert len(world.workspace(early).files) < len(world.workspace(late).files)
    assert len(world.footage(early).recordings()) < len(world.footage(late).recordings())
