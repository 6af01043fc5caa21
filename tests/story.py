"""A learnt home, made once and copied for each story."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from hearth import cli
from hearth.storage.database import Store


@dataclass(frozen=True, slots=True)
class Ran:
    """What one command line gave."""

    code: int
    out: str
    err: str


Hearth = Callable[..., Ran]


@pytest.fixture(scope="session")
def learned_home(run_folder: Path) -> Path:
    """Made by the first worker that asks. Not to be changed: copy it."""
    home = run_folder / "learned" / "home"
    with (run_folder / "learned.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # given back when the file is closed
        if not home.exists():
            making = run_folder / "learning" / "home"
            options = ["--name", "Mira Lindqvist", "--email", "mira@example.org", "--time-zone", "Europe/Berlin"]
            assert cli.run(["--home", str(making), "init", *options, "--country", "DE"]) == 0
            with (making / "hearth.toml").open("a") as settings:
                settings.write('\n[learning]\nprofile = "small"\n')  # a ninth of the time; `ranker` has its own tests
            making.parent.rename(home.parent)
    return home


def with_few_demonstrations(home: Path, ending: str = "3") -> None:
    """Learning all that is shipped takes half a minute; a tenth of it, by the ids' ends, tells as much here."""
    with Store.open(home / "hearth.db") as store, store.transaction() as cursor:
        cursor.execute("DELETE FROM demonstration WHERE source = 'shipped' AND id NOT LIKE '%' || ?", (ending,))


@pytest.fixture
def home(learned_home: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(learned_home, tmp_path / "home"))


@pytest.fixture
def hearth(home: Path, capfd: pytest.CaptureFixture[str]) -> Hearth:
    """Run a command line on the home, in this process."""

    def run(*arguments: str) -> Ran:
        capfd.readouterr()
        code = cli.run(["--home", str(home), *arguments])
        captured = capfd.readouterr()
        return Ran(code, captured.out, captured.err)

    return run
