"""`hearth import`, as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hearth.cli.root import run
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
    (given / "a.jpg").write_bytes(b"\xff\xd8\xff")
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


def test_what_is_not_there_is_said(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--home", str(home), "import", "/nowhere"]) == 3
    assert "no file or folder '/nowhere'" in capsys.readouterr().err
