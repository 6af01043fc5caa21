"""`hearth import`, as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hearth.cli.root import run
from hearth.memory.search.collecting import UNREAD_PICTURES
from hearth.memory.transfer import archives
from hearth.memory.transfer.archives import Intake, Piece
from hearth.storage.database import Store


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (home / "hearth.toml").write_text('[owner]\nemail = "me@home.example"\ntime_zone = "UTC"\n')
    Store.open(home / "hearth.db").close()
    return home


def test_an_import_says_what_is_new_and_what_was_left_out(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = tmp_path / "given"
    given.mkdir()
    (given / "roof.md").write_text("# Roof\n\nThe felt is brittle.\n")
    (given / "a.gif").write_bytes(b"GIF89a")
    (given / "bad.ics").write_text("BEGIN:VCALENDAR\nEND:VEVENT\n")
    arguments = ["--home", str(home), "import", str(given)]
    assert run([*arguments, "--dry-run"]) == 0
    assert "1 × pictures (left out)" in capsys.readouterr().out
    assert not (home / "owner").exists()
    assert run(arguments) == 6
    said = capsys.readouterr()
    assert said.out.splitlines() == ["New: 1 note.", "  left out: 1 × pictures"]
    assert said.err.startswith("  not read: bad.ics: ")
    assert run([*arguments, "--json"]) == 6
    again = json.loads(capsys.readouterr().out)
    assert (again["new"], again["known"]) == ({}, {"note": 1})


def test_pictures_are_counted_with_the_command_that_installs_their_reader(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.jpg").write_bytes(b"\xff\xd8\xff")
    arguments = ["--home", str(home), "import", str(tmp_path / "a.jpg")]
    monkeypatch.setattr(archives, "reads_pictures", lambda: False)
    assert run(arguments) == 0
    assert capsys.readouterr().out == f"New: nothing.\n  left out: 1 × {UNREAD_PICTURES}\n"
    monkeypatch.setattr(archives, "reads_pictures", lambda: True)
    assert run(arguments) == 0
    assert capsys.readouterr().out == "New: 1 document.\n"


def test_an_import_that_is_interrupted_is_carried_on(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = tmp_path / "given"
    given.mkdir()
    for name in ("a", "b", "c"):
        (given / f"{name}.md").write_text(f"# {name}\n\nsome words\n")
    arguments = ["--home", str(home), "import", str(given)]
    take = Intake.note

    def stopping(intake: Intake, piece: Piece) -> None:
        if piece.name == "b.md":
            raise KeyboardInterrupt
        take(intake, piece)

    monkeypatch.setattr(archives, "_TAKES", {**archives._TAKES, "note": stopping})
    assert run(arguments) == 130
    assert [path.name for path in (home / "owner/notes").iterdir()] == ["a.md"]
    monkeypatch.undo()
    capsys.readouterr()
    assert run(arguments) == 0
    assert capsys.readouterr().out == "New: 2 notes.\nKnown already: 1 note.\n"
    assert run(arguments) == 0
    assert capsys.readouterr().out == "New: nothing.\nKnown already: 3 notes.\n"


def test_what_is_not_there_is_said(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--home", str(home), "import", "/nowhere"]) == 3
    assert "no file or folder '/nowhere'" in capsys.readouterr().err
