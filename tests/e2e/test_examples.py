"""The shipped examples work as they stand: each keeps the contract of a tool, and serves requests from a home."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

from hearth.testing import check_tool, make_call
from tests import ROOT
from tests.warm_process import WarmProcesses

EXAMPLE = ROOT / "examples" / "one_file_tool.py"


@pytest.fixture(scope="module")
def plants() -> ModuleType:
    spec = importlib.util.spec_from_file_location("one_file_tool", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_both_tools_keep_the_contract(plants: ModuleType) -> None:
    call = make_call()
    assert check_tool(plants.note_watering, {"plant": "ficus"}, call) == {"plant": "ficus", "day": "2026-11-20"}
    plants.note_watering("ficus", call)
    assert check_tool(plants.last_watering, {"plant": "ficus"}, call) == {"plant": "ficus", "day": "2026-11-20"}


def test_a_plant_never_watered_is_named(plants: ModuleType) -> None:
    with pytest.raises(Exception, match="no watering of the basil is written down"):
        plants.last_watering("basil", make_call())


def test_copied_into_a_home_it_serves_its_requests(learned_home: Path, warm: WarmProcesses, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(learned_home / "hearth.db", home)  # `init` finds what it would learn

    def hearth(*words: str) -> str:
        done = warm.hearth(
            "--home",
            home,
            *words,
            env={**os.environ, "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            timeout=60,
            input="",
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return str(done.stdout)

    hearth("init", "--name", "Mira")
    shutil.copy(EXAMPLE, home / "tools" / "plants.py")
    (home / "tools" / "plants.py").chmod(0o644)
    assert "Written down: the basil was watered today." in hearth(
        "ask", "--yes", "write in the plant diary that I watered the basil"
    )
    assert "You last watered the basil today." in hearth("ask", "when did I last water the basil?")
    assert "undone: note watering" in hearth("undo")
