"""The extra for home video: the command that installs it, the models it carries."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hearth.errors import ConfigError, MissingExtraError
from hearth_video.experts.person_detector import PersonExpert
from hearth_video.installed import INSTALL_COMMAND, PIP_COMMAND, carried_file, install_command
from tests import ROOT


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with one model, which must never be imported."""
    folder = tmp_path / "carrier"
    (folder / "models").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('imported')")
    (folder / "models" / "one.tflite").write_bytes(b"weights")
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


def test_a_model_is_found_without_importing_its_package(package: Path) -> None:
    assert carried_file("carrier", "models/one.tflite", "seeing").read_bytes() == b"weights"
    assert "carrier" not in sys.modules


def test_a_missing_package_answers_with_the_command() -> None:
    with pytest.raises(MissingExtraError) as caught:
        carried_file("no_such_carrier", "models/one.tflite", "seeing")
    assert str(caught.value) == f"seeing needs a part that is not installed; install it with: {INSTALL_COMMAND}"


def test_another_version_is_told_from_a_missing_package(package: Path) -> None:
    with pytest.raises(ConfigError, match=r"'models/two.tflite', which the installed 'carrier' does not carry"):
        carried_file("carrier", "models/two.tflite", "seeing")


def test_without_the_extra_an_expert_is_made_and_says_the_command_when_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    expert = PersonExpert()
    with pytest.raises(MissingExtraError, match="finding people needs a part that is not installed") as caught:
        expert.look([])
    assert INSTALL_COMMAND in str(caught.value)


def test_the_lock_holds_what_the_command_names() -> None:
    lock = (ROOT / "requirements-video.lock").read_text()
    for pinned in PIP_COMMAND.split("--no-deps ")[1].split():
        assert f"\n{pinned} " in f"\n{lock}", f"{pinned} is not what `make video` installs"


def test_in_an_environment_that_make_made_it_is_had_by_make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert install_command() == PIP_COMMAND
    (tmp_path / ".core").touch()
    assert install_command() == "make video"
