"""Stories of corrections: what the owner teaches is planned right from the next request on."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.learning.versions.drafting import solved
from hearth.learning.versions.learned_state import Offer, State
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.registry import load_tools
from hearth.storage.database import Store
from tests.integration.test_teacher_endpoint import Server
from tests.story import Hearth, with_few_demonstrations

REQUEST = "tidy the shed shelves on sunday at 5"


def asked(hearth: Hearth, text: str = REQUEST) -> str:
    """Ask, and give the id of the request."""
    return str(json.loads(hearth("ask", "--json", text).out)["id"])


def planned(hearth: Hearth, text: str) -> list[str]:
    nodes = json.loads(hearth("plan", "--json", text).out)["task_nodes"]
    return [node["task"] for node in nodes]


def test_a_correction_in_conversation_teaches_a_sibling_and_a_change_of_mind_does_not(hearth: Hearth) -> None:
    first = "put down the boiler service for tomorrow at 3pm"
    sibling = "put down the window cleaner for friday at 10am"
    assert planned(hearth, sibling) == planned(hearth, first) == ["add_event"]
    assert hearth("ask", "--yes", first).code == 0
    moved = hearth("ask", "--yes", "no, on friday")
    assert "Taken back: “put down the boiler" in moved.out
    assert "learnt" not in moved.out
    other = hearth("ask", "--yes", "no, as a reminder")
    assert other.code == 0, other
    assert "boiler service, Friday" in other.out
    assert "learnt: “put down the boiler service for" in other.out
    assert planned(hearth, sibling) == ["add_reminder"]
    assert "No events found" in hearth("ask", "what is on my calendar on friday").out


def test_what_should_have_been_said_teaches_the_request_and_near_ones(hearth: Hearth) -> None:
    assert planned(hearth, REQUEST) != ["add_reminder"]
    corrected = hearth("correct", asked(hearth), "--say", f"remind me to {REQUEST}")
    assert corrected.code == 0, corrected
    assert "add_reminder" in corrected.out
    for text in (REQUEST, "tidy the shed shelves on monday at 9", "tidy the pantry shelves on friday at 4"):
        assert planned(hearth, text) == ["add_reminder"], text
    done = json.loads(hearth("ask", "--json", REQUEST).out)
    assert done["status"] == "done"
    assert done["plan"]["rests_on"][0].startswith("owner:")


@pytest.fixture
def teacher() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def test_the_student_that_drafts_knows_it_too(hearth: Hearth, home: Path) -> None:
    """Once as part of a version, once as what was taught since."""
    with_few_demonstrations(home)
    settings = (home / "hearth.toml").read_text()
    (home / "hearth.toml").write_text(settings.replace('profile = "small"', 'profile = "medium"'))
    hearth("correct", asked(hearth), "--say", f"remind me to {REQUEST}")
    assert hearth("learn", "--fast").code == 0
    id = asked(hearth, "frobnicate the gadget")
    plan = home / "plan.json"
    nodes = [{"task": "read_list", "arguments": [{"name": "list", "value": "gadgets"}]}]
    plan.write_text(json.dumps({"task_nodes": nodes}))
    assert hearth("correct", id, "--plan", str(plan)).code == 0
    with State.open(home, MiniLMEncoder.open(), Offer(load_tools(None).specs)) as state:
        student = solved(state)
        for text, tool in ((REQUEST, "add_reminder"), ("frobnicate the gadget", "read_list")):
            ranking = student.rank(text)
            assert ranking.candidates[0].tools == (tool,)
            assert ranking.rests_on[0].startswith("owner:")


def test_the_homes_teacher_is_asked_by_learning(
    hearth: Hearth, home: Path, teacher: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_few_demonstrations(home)
    arguments = [{"name": "text", "value": "x"}, {"name": "at", "value": "2031-01-01T09:00"}]
    reply = json.dumps({"outcome": "plan", "task_nodes": [{"task": "add_reminder", "arguments": arguments}]})
    monkeypatch.setattr(teacher, "reply", lambda request: teacher.completion(reply))
    with (home / "hearth.toml").open("a") as file:
        file.write(f'\n[models.teacher]\nbase_url = "{teacher.url}"\nmodel = "tiny"\n')
    settings = (home / "hearth.toml").read_text()
    (home / "hearth.toml").write_text(settings.replace("allow = []", 'allow = ["127.0.0.1"]'))
    assert hearth("ask", "defrobnicate the gizmo fluxes").code == 3
    learnt = hearth("learn", "--fast", "--json")
    assert learnt.code == 0, learnt
    assert any("1 of 1 questions were answered" in note for note in json.loads(learnt.out)["notes"])
    with Store.open(home / "hearth.db") as store:
        (row,) = store.query("SELECT teacher, episode <> '' FROM demonstration WHERE source = 'teacher'")
        assert tuple(row) == ("tiny", 1)
    assert hearth("learn", "--fast").code == 0
    assert len(teacher.received) == 1, "what was answered is not asked again"
    assert planned(hearth, "defrobnicate the gizmo fluxes") == ["add_reminder"]


def test_a_file_may_answer_in_the_teachers_place(hearth: Hearth, home: Path, tmp_path: Path) -> None:
    with_few_demonstrations(home)
    text = "defrobnicate the gizmo fluxes"
    asked(hearth, text)
    gold = tmp_path / "gold.jsonl"
    nodes = [{"task": "read_list", "arguments": [{"name": "list", "value": "gizmo"}]}]
    gold.write_text(json.dumps({"id": "g", "user_request": text, "task_nodes": nodes}) + "\n")
    learnt = hearth("learn", "--fast", "--teacher", str(gold))
    assert learnt.code == 0, learnt
    assert "1 of 1 questions were answered" in learnt.out
    assert planned(hearth, text) == ["read_list"]
    status = json.loads(hearth("learn", "status", "--json").out)
    assert set(status["agreement"]) <= {"recall", "student"}
    both = hearth("learn", "--teacher", str(gold), "--from", str(gold))
    assert both.code == 2
    assert "give one" in both.err


def test_a_plan_file_and_nothing(hearth: Hearth, tmp_path: Path) -> None:
    id = asked(hearth)
    path = tmp_path / "plan.json"
    path.write_text('# mine\n{"task_nodes": [{"task": "current_time", "arguments": []}]}\n')
    assert hearth("correct", id, "--plan", str(path)).code == 0
    assert planned(hearth, REQUEST) == ["current_time"]
    said = hearth("correct", id, "--nothing")
    assert said.code == 0
    assert "nothing is to be done" in said.out
    assert planned(hearth, REQUEST) == []


def editor(path: Path, script: str) -> str:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_the_plan_opens_in_the_editor(hearth: Hearth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    id = asked(hearth, "what time is it")
    monkeypatch.setenv("EDITOR", editor(tmp_path / "edit", 'sed -i s/current_time/next_event/ "$1"'))
    monkeypatch.delenv("VISUAL", raising=False)
    edited = hearth("correct", id, "--json")
    assert edited.code == 0, edited
    assert json.loads(edited.out)["task_nodes"][0]["task"] == "next_event"
    assert planned(hearth, "what time is it") == ["next_event"]
    monkeypatch.setenv("EDITOR", editor(tmp_path / "leave", "true"))
    left = hearth("correct", id)
    assert left.code == 1
    assert "Nothing was changed" in left.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[]", "expected an object with `task_nodes`"),
        ('{"task_nodes": [{"task": "rocket"}]}', "'rocket', which is no tool"),
        ('{"task_nodes": []}', "the plan has no steps"),
        ('{"task_nodes": [{"task": "add_reminder", "arguments": []}]}', "needs 'text'"),
        ("x" * 1_000_001, "a plan has at most 1,000,000"),
    ],
)
def test_a_plan_that_cannot_be_run_is_refused(hearth: Hearth, tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(content)
    before = planned(hearth, REQUEST)
    refused = hearth("correct", asked(hearth), "--plan", str(path))
    assert refused.code != 0
    assert message in refused.err
    assert planned(hearth, REQUEST) == before


def test_what_is_wrong_with_the_command_is_said(hearth: Hearth, tmp_path: Path) -> None:
    unknown = hearth("correct", "nope", "--nothing")
    assert unknown.code == 4
    assert "no episode 'nope'" in unknown.err
    id = asked(hearth)
    both = hearth("correct", id, "--nothing", "--say", "x")
    assert both.code == 2
    assert "exclude each other" in both.err
    worse = hearth("correct", id, "--say", "frobnicate the gizmo")
    assert worse.code == 3
    assert "give the plan itself: --plan FILE" in worse.err
    absent = hearth("correct", id, "--plan", str(tmp_path / "absent.json"))
    assert absent.code == 3
    assert "cannot read" in absent.err
    latin = tmp_path / "latin.json"
    latin.write_bytes(b'{"task_nodes": "\xe9"}')
    assert "not UTF-8" in hearth("correct", id, "--plan", str(latin)).err


def test_what_was_done_stays_until_it_is_taken_back(hearth: Hearth, home: Path) -> None:
    id = asked(hearth, "remind me to water the plants tomorrow at nine")
    said = hearth("correct", id, "--nothing")
    assert f"hearth undo {id}" in said.out
    assert len(list((home / "owner" / "reminders").glob("*.ics"))) == 1
