"""Where `make` puts its environment: in the checkout, or in the cache of whoever may not write there."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import ROOT

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def environment_in(folder: Path, home: str, user: int | None = None) -> str:
    """Return what the Makefile takes for its environment, run in a folder."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8") + "\nwhere:\n\t@echo $(VENV)\n"
    command = ["make", "--no-print-directory", "-f", "-", "where"]
    environ = {"HOME": home, "PATH": os.environ["PATH"]}
    ran = subprocess.run(
        command, cwd=folder, input=text, env=environ, user=user, capture_output=True, text=True, timeout=30, check=True
    )
    return ran.stdout.strip()


def test_it_lies_in_the_checkout_also_under_a_path_with_spaces(tmp_path: Path) -> None:
    checkout = tmp_path / "a check out"
    checkout.mkdir()
    assert environment_in(checkout, str(tmp_path)) == ".venv"


def test_a_checkout_that_cannot_be_written_to_has_it_in_the_cache() -> None:
    nobody = 65534 if os.geteuid() == 0 else None  # root may write anywhere
    uid = nobody or os.geteuid()
    assert environment_in(Path("/"), "/srv/mira", nobody) == "/srv/mira/.cache/hearth/venv"
    assert environment_in(Path("/"), "/srv/mira l", nobody) == f"/var/tmp/hearth-{uid}", "make knows no spaces"
