"""Every test runs on its own home, with a fixed clock and seed, without network and the caller's environment."""

from __future__ import annotations

import datetime as dt
import os
import platform
import random
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import hypothesis

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as `hearth.cli.main` does
import numpy as np
import pytest

from hearth.storage.database import Store
from hearth.storage.workspace import Folder
from hearth.testing import FIXED_NOW

# The same examples on every machine: a test that fails fails everywhere, and a slow machine is no fault.
hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None, database=None, print_blob=True)
hypothesis.settings.load_profile("fixed")


# Started in the background, a process ignores Ctrl-C, and so do its children; at a terminal, none does.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header() -> str:
    return f"SQLite {sqlite3.sqlite_version}, {platform.platform()}"


@pytest.fixture(scope="session", autouse=True)
def _shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One cache for the whole run (building the encoder's graph takes seconds), never the caller's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEARTH_CACHE", str(tmp_path_factory.mktemp("hearth-cache")))
        yield


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("HEARTH_HOME", str(folder / "hearth"))
    monkeypatch.setenv("TZ", "Europe/Berlin")
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _fixed_seed() -> None:
    random.seed(0)
    np.random.seed(0)


@pytest.fixture
def now() -> dt.datetime:
    """The moment at which every test happens: a Friday morning in Berlin."""
    return FIXED_NOW


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty home folder."""
    folder = tmp_path / "hearth"
    folder.mkdir()
    return folder


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    with Store.open(home / "hearth.db") as store:
        yield store


@pytest.fixture
def folder(home: Path, store: Store) -> Folder:
    return Folder(home / "owner", store)
