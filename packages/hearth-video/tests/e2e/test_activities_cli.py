"""`hearth video train-activity` and `activities`: from files to what is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hearth.agent import make_home
from hearth.cli.root import run
from hearth.storage.database import Store
from hearth_video.dahlia import write_sample


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    make_home(folder, {"name": "Ada", "email": "a@example.org", "time_zone": "UTC", "country": "DE"})
    Store.open(folder / "hearth.db").close()
    return folder


def said(capfd: pytest.CaptureFixture[str], home: Path, *arguments: object) -> tuple[int, str, str]:
    code = run(["--home", str(home), "video", *map(str, arguments)])
    shown = capfd.readouterr()
    return code, shown.out, shown.err


def household(capfd: pytest.CaptureFixture[str], home: Path) -> list[str]:
    return list(json.loads(said(capfd, home, "activities", "--json")[1])["household"])


def test_dahlia_s_activities_are_told_once_they_were_learnt(
    home: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write_sample(tmp_path / "dahlia", n_subjects=2, activity_s=12)
    learn = ("train-activity", "--dahlia", tmp_path / "dahlia", "--view", 2, "--held-out", 2)
    code, out, _ = said(capfd, home, *learn, "--dry-run", "--json")
    assert code == 0
    assert json.loads(out)["kept"] is False
    assert household(capfd, home) == []
    code, out, _ = said(capfd, home, *learn)
    assert code == 0
    assert "Measured on subjects 2, who were not learnt from" in out
    assert "most frequent" in out
    assert "Kept" in out
    assert household(capfd, home) == [
        *("clearing table", "cooking", "eating", "housework", "laying table", "washing dishes", "working"),
    ]


def test_what_cannot_be_learnt_from(home: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty" / "stretching").mkdir(parents=True)
    for arguments, code, text in (
        ((), 2, "say what to learn from"),
        (("--dahlia", tmp_path, "--clips", tmp_path), 2, "say what to learn from"),
        (("--dahlia", tmp_path / "absent"), 3, "there is no folder"),
        (("--dahlia", tmp_path / "empty"), 3, "holds no sequence of DAHLIA"),
        (("--clips", tmp_path / "absent"), 3, "there is no folder"),
        (("--clips", tmp_path / "empty"), 3, "holds no clip"),
    ):
        found, _, err = said(capfd, home, "train-activity", *arguments)
        assert found == code, err
        assert text in err
    code, _, err = said(capfd, home, "activities", "--forget", "hopping")
    assert code == 4
    assert "taught: none yet" in err


def test_a_damaged_model_is_named(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (home / "activities").mkdir()
    (home / "activities" / "household.npz").write_bytes(b"not it")
    code, _, err = said(capfd, home, "activities")
    assert code == 74
    assert "train them anew" in err
