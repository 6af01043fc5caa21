"""`hearth chat` through a running `hearth up`: taking back, correcting, looking back."""

from __future__ import annotations

import contextlib
import os
import pty
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth import cli
from hearth.cli.asking import HELP, AskingUp, answer_aside, is_aside
from hearth.formats import terminal_text
from hearth.serve.programs.home_link import HomeLink
from tests.served_home import ASKS, READS, Served, made, served


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Served]:
    with served(made(tmp_path / "home")) as running:
        yield running


@pytest.fixture
def asking(up: Served) -> Iterator[AskingUp]:
    link = HomeLink.to(up.house.home)
    assert link is not None
    with contextlib.closing(link):
        yield AskingUp(up.house.home, link, yes=True)


def test_what_was_done_is_taken_back_corrected_and_looked_back_at(
    up: Served, asking: AskingUp, capsys: pytest.CaptureFixture[str]
) -> None:
    last = asking.ask(ASKS).id
    assert up.notes
    answer_aside(asking, "/history", last)
    assert ASKS in capsys.readouterr().out
    answer_aside(asking, "/why", last)
    assert "add_note" in capsys.readouterr().out
    answer_aside(asking, "/undo", last)
    assert "undone" in capsys.readouterr().out
    assert not up.notes
    answer_aside(asking, f"/wrong {READS}", last)
    assert "current_time" in capsys.readouterr().out
    rows = up.desk.use(lambda agent: agent.store.query("SELECT request FROM demonstration WHERE source <> 'shipped'"))
    assert [row["request"] for row in rows.result()] == [ASKS]
    answer_aside(asking, "/wrong", last)
    assert "nothing is to be done" in capsys.readouterr().out


@pytest.mark.parametrize("line", ["/undo", "undo", "/why", "/wrong what time is it"])
def test_what_cannot_be_done_is_said_and_the_chat_goes_on(
    asking: AskingUp, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answer_aside(asking, line, "")
    found = capsys.readouterr()
    assert found.err.startswith("hearth: ")
    assert not found.out


def test_an_unknown_word_lists_what_there_is(asking: AskingUp, capsys: pytest.CaptureFixture[str]) -> None:
    answer_aside(asking, "/dance", "")
    assert capsys.readouterr().out == f"{HELP}\n"


def test_a_whole_chat(up: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    lines = iter([ASKS, "/undo", READS, ""])
    monkeypatch.setattr("builtins.input", lambda _: next(lines))
    assert cli.run(["--home", str(up.house.home), "chat", "--yes"]) == 0
    said = capsys.readouterr().out
    assert "undone" in said
    assert not up.notes


def test_a_line_of_a_pasted_text_takes_nothing_back(
    up: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = iter([ASKS, "/undo", ""])
    monkeypatch.setattr("builtins.input", lambda _: next(lines))
    monkeypatch.setattr(terminal_text, "is_typed_ahead", lambda _: True)
    assert cli.run(["--home", str(up.house.home), "chat", "--yes"]) == 0
    said = capsys.readouterr()
    assert "type it again" in said.err
    assert "undone" not in said.out
    assert up.notes


def test_what_waits_at_a_terminal_is_seen_and_what_is_no_terminal_has_none(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    with (
        os.fdopen(ours, "wb", buffering=0) as keyboard,
        os.fdopen(theirs) as screen,
        (tmp_path / "a").open("w+") as file,
    ):
        assert not terminal_text.is_typed_ahead(screen)
        keyboard.write(b"/undo\n")
        assert terminal_text.is_typed_ahead(screen)
        assert not terminal_text.is_typed_ahead(file)


@pytest.mark.parametrize(
    ("line", "expected"), [("undo", True), ("Undo ", True), ("/x", True), ("undo the note", False)]
)
def test_only_what_is_to_the_chat_is_kept_from_the_planner(line: str, *, expected: bool) -> None:
    assert is_aside(line) is expected
