"""`hearth ask` and its like while `hearth up` has the home."""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import stat
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from hearth import cli
from hearth.serve.programs.home_link import ADDRESS_FILE, HomeLink
from tests.served_home import ASKS, READS, Served, made, served, until


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(made(tmp_path_factory.mktemp("forwarding") / "home")) as running:
        yield running


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """What is written to it is typed at the terminal of the command."""
    keyboard, seen_by_command = os.openpty()
    with open(seen_by_command) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield keyboard
    os.close(keyboard)


def run(up: Served, *arguments: str) -> int:
    return cli.run(["--home", str(up.house.home), *arguments])


@dataclass(frozen=True)
class Screen:
    """What a command prints, read while it runs: emptying a capture again and again loses what is written in between."""

    out_file: Path
    err_file: Path

    @property
    def out(self) -> str:
        return self.out_file.read_text(encoding="utf-8")

    @property
    def err(self) -> str:
        return self.err_file.read_text(encoding="utf-8")

    def wait_for_question(self) -> None:
        until(lambda: "Do it?" in self.err or None)


@contextlib.contextmanager
def shown_on(folder: Path) -> Iterator[Screen]:
    """Print to a screen of files; inside the test, as pytest puts its own streams back after a test's fixtures."""
    shown = Screen(folder / "out", folder / "err")
    with shown.out_file.open("wb", buffering=0) as out, shown.err_file.open("wb", buffering=0) as err:
        # A question ends without a line's end, so nothing may wait in a buffer.
        to_out = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
        to_err = io.TextIOWrapper(err, encoding="utf-8", write_through=True)
        with contextlib.redirect_stdout(to_out), contextlib.redirect_stderr(to_err):
            yield shown


def test_a_request_is_done_by_the_process_that_has_the_home(up: Served, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(up, "ask", READS) == 0
    assert "nothing left the device" in capfd.readouterr().out
    assert run(up, "ask", "--json", "sing") == 3
    assert json.loads(capfd.readouterr().out)["refusal"]["planner"] == "scripted"


def test_without_a_terminal_nothing_is_changed(up: Served, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(up, "ask", ASKS) == 5
    assert "needs your yes" in capfd.readouterr().out
    assert up.notes == []


def test_said_yes_beforehand_and_taken_back(up: Served, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(up, "ask", "--yes", ASKS) == 0
    assert "take back: hearth undo" in capfd.readouterr().out
    assert up.notes == ["boiler"]
    assert run(up, "undo") == 0
    assert f"“{ASKS}”" in capfd.readouterr().out
    assert up.notes == []
    assert run(up, "undo", "e-unknown") == 4
    assert "e-unknown" in capfd.readouterr().err


def test_the_question_is_answered_at_the_terminal(up: Served, terminal: int, tmp_path: Path) -> None:
    with shown_on(tmp_path) as screen:
        os.write(terminal, b"y\n")  # typed before there is a question: no answer to it
        codes: list[int] = []
        command = threading.Thread(target=lambda: codes.append(run(up, "ask", ASKS)))
        command.start()
        screen.wait_for_question()
        assert up.notes == []
        os.write(terminal, b"perhaps\ny\n")
        command.join(120)
        assert codes == [0]
        assert "Boiler" in screen.err
        assert "Please answer y, a, n or never" in screen.err
        assert up.notes == ["boiler"]
        up.desk.undo(None).result(20)


def test_or_on_the_page_whichever_is_first(up: Served, terminal: int, tmp_path: Path) -> None:
    with shown_on(tmp_path) as screen:
        codes: list[int] = []
        command = threading.Thread(target=lambda: codes.append(run(up, "ask", ASKS)))
        command.start()
        screen.wait_for_question()
        question = up.question()
        assert question.caller == "terminal"
        assert up.desk.answer(question.id, "once")
        command.join(120)
        assert codes == [0]
        assert "Answered elsewhere." in screen.err
        up.desk.undo(None).result(20)


def test_chat_goes_there_too(up: Served, terminal: int, tmp_path: Path) -> None:
    with shown_on(tmp_path) as screen:
        os.write(terminal, f"{READS}\n{ASKS}\n".encode())
        codes: list[int] = []
        command = threading.Thread(target=lambda: codes.append(run(up, "chat")))
        command.start()
        screen.wait_for_question()
        os.write(terminal, b"n\n\n")
        command.join(120)
        assert codes == [0]
        assert screen.out.count("nothing left the device") == 2
        assert up.notes == []


def test_plans_and_corrections_go_there_too(up: Served, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(up, "plan", "--json", ASKS) == 0
    assert json.loads(capfd.readouterr().out)["task_nodes"][0]["task"] == "add_note"
    assert run(up, "plan", ASKS) == 0
    assert "Boiler" in capfd.readouterr().out
    assert run(up, "plan", "sing") == 3
    assert capfd.readouterr().out.strip()
    assert run(up, "ask", "--json", READS) == 0
    id = json.loads(capfd.readouterr().out)["id"]
    assert run(up, "correct", id, "--say", ASKS) == 0
    assert "Boiler" in capfd.readouterr().out
    right = tmp_path / "plan.json"
    right.write_text(json.dumps({"task_nodes": [{"task": "current_time", "arguments": []}]}))
    assert run(up, "correct", "--json", id, "--plan", str(right)) == 0
    assert json.loads(capfd.readouterr().out)["task_nodes"][0]["task"] == "current_time"
    assert run(up, "correct", id, "--nothing") == 0
    assert "nothing is to be done" in capfd.readouterr().out
    assert run(up, "correct", id, "--say", " ") == 3
    assert run(up, "correct", id, "--say", "sing") == 3
    assert run(up, "correct", "e-unknown", "--nothing") == 4
    assert up.notes == []


def test_a_request_waits_for_the_one_before(up: Served, capfd: pytest.CaptureFixture[str]) -> None:
    link = HomeLink.to(up.house.home)
    assert link is not None
    number = link.begin(ASKS, may_change=True)
    question = up.question()
    codes: list[int] = []
    later = threading.Thread(target=lambda: codes.append(run(up, "ask", READS)))
    later.start()
    until(lambda: len(up.desk.view.turns) == 2 or None)
    assert link.standing(number + 1).state == "waiting"
    assert link.answer(question.id, "no")
    later.join(120)
    assert codes == [0]
    assert link.standing(number, within_s=20).status == "denied"
    link.close()


def test_the_address_is_for_the_owner_alone_and_goes_at_the_end(tmp_path: Path) -> None:
    home = made(tmp_path / "home")
    with served(home):
        assert stat.S_IMODE((home / ADDRESS_FILE).stat().st_mode) == 0o600
        link = HomeLink.to(home)
        assert link is not None
        assert link.status()["n_waiting"] == 0
        link.close()
        left = (home / ADDRESS_FILE).read_bytes()
    assert not (home / ADDRESS_FILE).exists()

    with socket.create_server(("127.0.0.1", 0)) as stranger:  # took the port of one that was killed
        address = f"http://127.0.0.1:{stranger.getsockname()[1]}"
        (home / ADDRESS_FILE).write_text(json.dumps({**json.loads(left), "address": address}))
        assert HomeLink.to(home) is None
        stranger.setblocking(False)
        with pytest.raises(BlockingIOError):
            stranger.accept()


def test_a_program_with_a_token_is_not_the_owner(up: Served) -> None:
    headers = {"authorization": f"Bearer {up.token('curious', may_change=True)}"}
    with httpx.Client(base_url=up.address, headers=headers) as http:
        assert http.get("/v1/home/status").status_code == 403
        assert http.post("/v1/home/answers", json={"id": "x", "reply": "once"}).status_code == 403
    with httpx.Client(base_url=up.address, headers={"authorization": f"Bearer {up.keys.key}"}) as http:
        for path, body in (("requests", {"text": ""}), ("answers", {"id": 3}), ("undo", []), ("plans", {"text": " "})):
            answer = http.post(f"/v1/home/{path}", json=body)
            assert (answer.status_code, answer.json()["kind"]) == (400, "RequestError")
        for number in ("99999", "9" * 5000, "-1", "x", "١"):
            assert http.get(f"/v1/home/requests/{number}").json()["kind"] == "NotFound", number
        assert http.get("/v1/home/requests/1?within_s=nan").json()["kind"] == "RequestError"
        assert http.get("/v1/home/requests/1?within_s=soon").json()["kind"] == "RequestError"
        assert http.post("/v1/home/plans", json={"text": ASKS}).json()["task_nodes"][0]["task"] == "add_note"
    assert up.notes == []
