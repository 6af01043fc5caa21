"""Stories through the command line: what a person types, sees, and finds on disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hearth import __version__
from tests.story import Hearth
from tests.warm_process import WarmProcesses


def test_a_reminder_becomes_a_file_and_can_be_taken_back(hearth: Hearth, home: Path) -> None:
    asked = hearth("ask", "remind me to water the plants tomorrow at nine")
    assert asked.code == 0, asked
    assert "nothing left the device" in asked.out
    (path,) = (home / "owner" / "reminders").glob("*.ics")
    assert "water the plants" in path.read_text()
    undone = hearth("undo")
    assert undone.code == 0
    assert "undone: add reminder" in undone.out
    assert list((home / "owner" / "reminders").glob("*.ics")) == []
    again = hearth("undo")
    assert again.code == 4
    assert "nothing is left to undo" in again.err


def test_without_a_terminal_what_would_ask_is_refused_with_the_reason(hearth: Hearth, home: Path) -> None:
    asked = hearth("ask", "add milk and eggs to the shopping list")
    assert asked.code == 5
    assert "I did nothing" in asked.out
    assert not list((home / "owner" / "notes").glob("*"))
    allowed = hearth("ask", "--yes", "add milk and eggs to the shopping list")
    assert allowed.code == 0
    assert (home / "owner" / "notes" / "shopping.md").read_text().count("- [ ]") == 2


def test_a_policy_rule_allows_without_asking(hearth: Hearth, home: Path) -> None:
    with (home / "hearth.toml").open("a") as file:
        file.write('\n[policy.add_to_list]\nruling = "allow"\n')
    assert hearth("ask", "add milk and eggs to the shopping list").code == 0


def test_json_is_one_document_on_standard_output(hearth: Hearth) -> None:
    asked = hearth("ask", "--json", "what time is it")
    document = json.loads(asked.out)
    assert (document["status"], document["left_the_device"], document["ruling"]["verdict"]) == ("done", [], "allow")
    assert document["plan"]["task_nodes"][0]["task"] == "current_time"
    listed = json.loads(hearth("history", "--json").out)
    assert [entry["id"] for entry in listed] == [document["id"]]
    assert json.loads(hearth("history", document["id"], "--json").out) == document
    replayed = json.loads(hearth("replay", document["id"], "--json").out)
    assert replayed["same"] is True


def test_a_plan_is_shown_and_nothing_runs(hearth: Hearth, home: Path) -> None:
    planned = hearth("plan", "--json", "move my dentist appointment to Thursday at 3")
    document = json.loads(planned.out)
    assert [node["task"] for node in document["task_nodes"]] == ["find_events", "move_event"]
    assert planned.code == 0
    assert json.loads(hearth("history", "--json").out) == []
    assert list((home / "owner" / "calendar").glob("*")) == []


def test_what_is_done_in_part_ends_with_its_own_code(hearth: Hearth) -> None:
    asked = hearth("ask", "--yes", "add milk to the shopping list and book me a flight to Lisbon")
    assert "milk" in asked.out
    assert "I can't do this part yet: “book me a flight to Lisbon”" in asked.out
    assert asked.code == 6


def test_what_is_not_known_ends_with_its_own_code(hearth: Hearth) -> None:
    asked = hearth("ask", "what is the code of the bike lock")
    assert "I don't know" in asked.out
    assert asked.code == 7
    nothing = hearth("ask", "what's on tomorrow")
    assert "No events found" in nothing.out
    assert nothing.code == 0


def test_what_no_tool_can_do_is_refused(hearth: Hearth) -> None:
    refused = hearth("ask", "book me a flight to Lisbon")
    assert refused.code == 3
    assert "can't" in refused.out


def test_something_missing_is_asked_for(hearth: Hearth, home: Path) -> None:
    asked = hearth("ask", "--json", "remind me to call the landlord")
    document = json.loads(asked.out)
    assert (asked.code, document["status"]) == (4, "needs")
    assert document["refusal"]["missing"] == ["add_reminder.at"]


def test_a_function_in_a_file_is_a_tool_at_once(hearth: Hearth, home: Path) -> None:
    path = home / "tools" / "dice.py"
    path.write_text(
        "import hearth\n\n@hearth.tool(answer='You rolled {value}.')\ndef roll_die() -> int:\n"
        '    """Roll a die.\n\n    Examples:\n        roll a die\n        throw a die for me\n    """\n    return 4\n'
    )
    path.chmod(0o644)
    asked = hearth("ask", "please roll a die")
    assert "You rolled 4." in asked.out


def test_chat_answers_line_by_line(home: Path) -> None:
    command = [sys.executable, "-m", "hearth", "--home", str(home), "chat"]
    done = subprocess.run(
        command, input="what time is it\nbook me a flight to Lisbon\n", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("nothing left the device") == 2


def test_tools_doctor_version_and_help(hearth: Hearth) -> None:
    assert "send_mail(draft)  sends" in hearth("tools").out
    names = [node["id"] for node in json.loads(hearth("tools", "--json").out)["nodes"]]
    assert {"add_event", "find_contact", "draft_mail", "search_memory"} <= set(names)
    checked = json.loads(hearth("doctor", "--json").out)
    assert all(finding["ok"] for finding in checked), checked
    assert {"part": "cloud", "ok": True, "says": "not joined"} in checked
    status = hearth("edge", "status")
    assert (status.code, "this home has not joined a cloud; join one with `hearth edge join URL`" in status.err) == (
        4,
        True,
    )
    assert __version__ in hearth("--version").out
    assert "Usage: hearth" in hearth("--help").out


def test_usage_faults_are_code_2(hearth: Hearth) -> None:
    assert hearth("ask", "--nonsense").code == 2
    assert hearth("nonsense").code == 2


def test_no_colours_when_asked_or_piped(home: Path) -> None:
    command = [sys.executable, "-m", "hearth", "--home", str(home), "doctor"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"})
    assert "\x1b[" not in done.stdout


# ── Homes that are not well ───────────────────────────────────────────────────────────────────────────────


def test_no_home(hearth: Hearth, tmp_path: Path) -> None:
    asked = hearth("--home", str(tmp_path / "none"), "ask", "what time is it")
    assert asked.code == 78
    assert "make a home there with `hearth init`" in asked.err


def test_init_twice_changes_nothing(hearth: Hearth, home: Path) -> None:
    before = (home / "hearth.toml").read_text()
    again = hearth("init", "--name", "Someone Else")
    assert "Time zone: Europe/Berlin (change it in hearth.toml)." in again.out
    assert (again.code, (home / "hearth.toml").read_text()) == (0, before)
    assert "is a home already" in again.out


def test_init_with_a_wrong_value_writes_nothing(hearth: Hearth, tmp_path: Path) -> None:
    made = hearth("--home", str(tmp_path / "new"), "init", "--time-zone", "Berlin")
    assert made.code == 78
    assert "'Berlin' is not a time zone" in made.err
    assert not (tmp_path / "new").exists()


def test_a_corrupt_config_names_key_and_fix(hearth: Hearth, home: Path) -> None:
    (home / "hearth.toml").write_text("[ownr]\n")
    asked = hearth("ask", "what time is it")
    assert asked.code == 78
    assert "did you mean 'owner'?" in asked.err


def test_a_policy_for_an_unknown_tool_is_named(hearth: Hearth, home: Path) -> None:
    with (home / "hearth.toml").open("a") as file:
        file.write('\n[policy.send_mial]\nruling = "deny"\n')
    asked = hearth("ask", "what time is it")
    assert asked.code == 78
    assert "send_mail" in asked.err


def test_a_damaged_database_is_kept_and_can_be_repaired(hearth: Hearth, home: Path) -> None:
    assert hearth("ask", "what time is it").code == 0
    database = home / "hearth.db"
    for beside in home.glob("hearth.db-*"):
        beside.unlink()
    content = bytearray(database.read_bytes())
    content[:100] = bytes(100)  # the file's head, without which SQLite sees no database at all
    content[-4096:] = b"\xff" * 4096
    database.write_bytes(content)
    asked = hearth("ask", "what time is it")
    assert asked.code == 74
    assert "hearth doctor --repair" in asked.err
    (kept,) = home.glob("hearth.db.damaged-*")
    assert kept.read_bytes() == database.read_bytes()
    assert hearth("doctor", "--repair").code == 0
    assert "what time is it" in hearth("history").out


def test_a_second_agent_on_one_home_says_so(hearth: Hearth, home: Path) -> None:
    command = [sys.executable, "-m", "hearth", "--home", str(home), "chat"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdin is not None
        assert first.stdout is not None
        first.stdin.write("what time is it\n")
        first.stdin.flush()
        first.stdout.readline()
        second = hearth("ask", "what time is it")
        first.stdin.close()
    assert second.code == 75
    assert str(first.pid) in second.err


# ── Requests that are not well ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text",
    [" ", "\n\t", "?!", "\x00\x01\x02\x03" * 50, "x" * 100_000, "remind me " * 10_000],
    ids=["blank", "white space", "marks", "control characters", "one long word", "100 kB"],
)
def test_unreadable_requests_are_refused_in_words(home: Path, text: str, warm: WarmProcesses) -> None:
    done = warm.hearth("--home", home, "ask", "-", input=text, capture_output=True, text=True, timeout=20)
    assert done.returncode == 3, done
    assert done.stdout.startswith("The request") or "hearth:" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "Erinnere mich morgen um neun daran, die Blumen zu gießen",
        "明日の朝九時に植物に水をやるように知らせて",
        "rappelle-moi d'arroser les plantes demain matin à neuf heures",
        "напомни мне завтра полить цветы",
        "erinnere mich bitte morgen um neun an die Milch",  # no misspelt "much bite"
    ],
)
def test_other_languages_are_refused_and_nothing_is_done(hearth: Hearth, home: Path, text: str) -> None:
    asked = hearth("ask", "--yes", text)
    assert asked.code == 3, asked
    assert "English" in asked.out
    assert list((home / "owner" / "reminders").glob("*")) == []


def test_wrong_encoding_is_named(home: Path) -> None:
    command = [sys.executable, "-m", "hearth", "--home", str(home), "ask"]
    done = subprocess.run(command, input="Jörg anrufen".encode("latin-1"), capture_output=True)
    assert done.returncode == 3
    assert "not UTF-8 text (byte 1 is 0xf6)" in done.stderr.decode()


def test_nothing_to_ask(home: Path) -> None:
    command = [sys.executable, "-m", "hearth", "--home", str(home), "ask"]
    done = subprocess.run(command, input="", capture_output=True, text=True)
    assert done.returncode == 3
