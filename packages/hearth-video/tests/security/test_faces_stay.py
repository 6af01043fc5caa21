"""Vectors of faces are biometric data: no export, no tool, no egress; only the home's own database holds them."""

from __future__ import annotations

import base64
import datetime as dt
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hearth.agent import make_home
from hearth.cli.root import run
from hearth.protocols import ExpertCard
from hearth.storage.database import Store
from hearth_video.experts.expert_values import Box, Face, Frame
from hearth_video.footage.people import Consent, People

VECTOR = np.random.default_rng(8).normal(size=128).astype(np.float32) * np.float32(0.1)


class OneFace:
    card = ExpertCard("scripted", "a frame", "a face", "", 0.0, 0, ("It sees nothing.",))

    def look(self, given: tuple[Frame, Box]) -> tuple[Face, ...]:
        return (Face(Box(1, 1, 9, 9), VECTOR, 0.9),)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    make_home(folder, {"name": "Ada", "email": "a@example.org", "time_zone": "UTC", "country": "DE"})
    Image.new("RGB", (30, 30)).save(tmp_path / "ben.png")
    with Store.open(folder / "hearth.db") as store:
        People(store).enroll("Ben", [tmp_path / "ben.png"], OneFace(), Consent("Ben", dt.datetime.now(dt.UTC)))
    return folder


def forms() -> list[bytes]:
    """The vector as bytes, as text of its numbers, as base64."""
    raw = VECTOR.astype("<f4").tobytes()
    return [raw[:32], base64.b64encode(raw)[:40], f"{VECTOR[3]:.4f}".encode()[1:], repr(float(VECTOR[5])).encode()]


def said(capfd: pytest.CaptureFixture[str], home: Path, *arguments: str) -> tuple[int, str]:
    code = run(["--home", str(home), *arguments])
    shown = capfd.readouterr()
    return code, shown.out or shown.err


def test_memory_s_export_holds_no_vector_and_no_enrolment(
    home: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, shown = said(capfd, home, "memory", "export", str(tmp_path / "out.jsonl"))
    assert code == 0, shown
    written = (tmp_path / "out.jsonl").read_bytes()
    assert not any(form in written for form in forms())
    assert b"Ben" not in written


def test_the_commands_show_no_vector(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for arguments in (["people", "list"], ["people", "list", "--json"]):
        code, shown = said(capfd, home, *arguments)
        assert code == 0
        assert "Ben" in shown
        assert not any(form in shown.encode() for form in forms())


def test_a_vector_is_only_in_the_database_and_gone_from_the_home_when_forgotten(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def holding() -> set[str]:
        raw = VECTOR.astype("<f4").tobytes()
        return {path.name for path in home.rglob("*") if path.is_file() and raw in path.read_bytes()}

    assert holding() == {"hearth.db"}
    assert said(capfd, home, "people", "forget", "Ben")[0] == 5
    assert holding() == {"hearth.db"}
    code, shown = said(capfd, home, "people", "forget", "ben", "--yes", "--json")
    assert (code, json.loads(shown)) == (0, {"name": "Ben", "n_vectors": 1})
    assert not holding()
    assert said(capfd, home, "people", "forget", "Ben", "--yes")[0] == 4


def test_nobody_is_enrolled_by_the_command_without_a_yes(
    home: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, shown = said(capfd, home, "people", "enroll", "Cem", str(tmp_path / "ben.png"))
    assert code == 3
    assert "nobody said yes" in shown
    _, listed = said(capfd, home, "people", "list", "--json")
    assert [one["name"] for one in json.loads(listed)] == ["Ben"]
