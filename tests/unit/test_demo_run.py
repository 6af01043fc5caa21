"""What `hearth demo` does beside its requests: where the report goes, what runs beside it, the page at the end."""

from __future__ import annotations

import datetime as dt
import os
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from hearth.demo.demo_run import Meanwhile, _report_path, _serve_page
from hearth.errors import HearthError, RequestError
from hearth.testing import FIXED_NOW

NAME = "hearth-report-20261120-093000.html"


def test_the_report_goes_elsewhere_from_a_folder_that_cannot_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sealed, mine = tmp_path / "a checkout", tmp_path / "mine"
    for folder in (sealed, mine):
        folder.mkdir()
    monkeypatch.chdir(sealed)
    monkeypatch.setenv("HOME", str(mine))
    assert _report_path(None, FIXED_NOW, quiet=False) == sealed / NAME
    monkeypatch.setattr(os, "access", lambda path, _mode: Path(path) != sealed)  # root may write anywhere
    assert _report_path(None, FIXED_NOW, quiet=False) == mine / NAME
    assert "This folder cannot be written to; the report goes to" in capsys.readouterr().out
    with pytest.raises(RequestError, match="choose another place with --report"):
        _report_path(sealed / "r.html", FIXED_NOW, quiet=False)
    with pytest.raises(RequestError, match="choose another place with --report"):
        _report_path(mine, FIXED_NOW, quiet=False)
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    with pytest.raises(RequestError, match="choose another place with --report"):
        _report_path(None, FIXED_NOW, quiet=False)


def test_what_runs_beside_is_waited_for(tmp_path: Path) -> None:
    mark = tmp_path / "installed"
    beside = Meanwhile(f"touch {mark}")
    assert list(beside.wait()) == []
    assert mark.exists()
    assert list(beside.wait()) == [], "it is over"
    beside.close()
    nothing = Meanwhile("")
    assert list(nothing.wait()) == []
    nothing.close()


def test_what_fails_beside_is_told_with_its_last_words() -> None:
    beside = Meanwhile("echo first; echo no space left; exit 3")
    assert list(beside.wait()) == ["it could not be installed: no space left"]
    beside.close()
    silent = Meanwhile("exit 3")
    assert list(silent.wait()) == ["it could not be installed: exit code 3"]
    silent.close()


def test_what_runs_too_long_is_told_and_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hearth.demo.demo_run._SAID_EVERY_S", 0.01)
    beside = Meanwhile("sleep 600")
    assert next(beside.wait()).startswith("waiting for what this scene needs to be installed")
    process = beside._process
    assert process is not None
    beside.close()
    assert process.poll() is not None


def test_the_present_moment_names_the_report() -> None:
    later = FIXED_NOW + dt.timedelta(seconds=5)
    assert _report_path(None, later, quiet=True).name == "hearth-report-20261120-093005.html"


def test_without_the_pages_parts_or_its_port_the_run_ends_with_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from hearth.serve import house

    def taken(*_: object) -> NoReturn:
        raise HearthError("the port is taken")

    monkeypatch.setattr(house, "opened", taken)
    _serve_page(tmp_path)
    assert capsys.readouterr().err == "No page: the port is taken\n"
    monkeypatch.setitem(sys.modules, "hearth.serve.house", None)
    monkeypatch.delattr("hearth.serve.house")
    _serve_page(tmp_path)
    assert "A page shows this home in a browser: pip install 'hearth-agent[serve]'" in capsys.readouterr().out
