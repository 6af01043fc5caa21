"""Every test runs on its own home, with a fixed clock and seed, without network and the caller's environment."""

from __future__ import annotations

import contextlib
import ctypes
import datetime as dt
import gc
import importlib.util
import itertools
import os
import platform
import random
import resource
import shutil
import signal
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as `hearth.cli.main` does
os.environ.setdefault("MALLOC_ARENA_MAX", "2")  # for the processes started from here: threads share what was freed
import numpy as np
import pytest

from hearth.storage.database import Store
from hearth.storage.workspace import Folder
from hearth.testing import FIXED_NOW
from tests import database_template, encoder_memory, learned_memory
from tests.story import learned_home as learned_home
from tests.warm_process import WarmProcesses

# Compiled once, not in every process: hundreds of processes are started, and each would compile all it imports, which
# takes longer than most of them run.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# In memory, where the machine has room for it: every home has databases, each of whose changes waits for the disk.
_IN_MEMORY = "/dev/shm"  # noqa: S108 - the place Linux keeps for files in memory; pytest makes its own folder there
with contextlib.suppress(OSError):
    if os.access(_IN_MEMORY, os.W_OK) and shutil.disk_usage(_IN_MEMORY).free > 4_000_000_000:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", _IN_MEMORY)

# The same examples on every machine: a test that fails fails everywhere, and a slow machine is no fault.
hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None, database=None, print_blob=True)
hypothesis.settings.load_profile("fixed")


# Started in the background, a process ignores Ctrl-C, and so do its children; at a terminal, none does.
signal.signal(signal.SIGINT, signal.default_int_handler)


_COMPANIONS = ("hearth_bench", "hearth_cloud", "hearth_home", "hearth_video")
_ABSENT = [name for name in _COMPANIONS if importlib.util.find_spec(name) is None]
_OF_THE_WHOLE = [
    "tests/docs/*",
    "tests/whole/*",
    "tests/unit/training/*",
    "tests/security/test_referents.py",
    "packages/*",
]
collect_ignore_glob = _OF_THE_WHOLE if _ABSENT else []
"""Without all companions the core is tested alone; these are tests of the whole house, and of the companions."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if _ABSENT:
        absent = pytest.mark.skip(reason=f"not installed: {', '.join(_ABSENT)}; `make test` installs all companions")
        for item in items:
            if item.get_closest_marker("companions"):
                item.add_marker(absent)


def pytest_report_header() -> str:
    return f"SQLite {sqlite3.sqlite_version}, {platform.platform()}"


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker tells the process that runs it how much memory it took at most."""
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["peak_mb"] = peak_mb()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    if "peak_mb" in (output := getattr(node, "workeroutput", {})):
        PEAKS_MB[node.gateway.id] = output["peak_mb"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    peaks = PEAKS_MB or {"this process": peak_mb()}
    terminalreporter.write_line("memory at most: " + ", ".join(f"{name} {mb} MB" for name, mb in peaks.items()))


PEAKS_MB: dict[str, int] = {}


def peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of this run share."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session", autouse=True)
def _shared_cache(run_folder: Path) -> Iterator[None]:
    """One cache for the whole run (building the encoder's graph takes seconds), never the caller's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEARTH_CACHE", str(run_folder / "hearth-cache"))
        yield


@pytest.fixture(scope="session", autouse=True)
def _remembered_vectors(run_folder: Path) -> Iterator[None]:
    """Each text is read once per run, by one encoder per process."""
    with encoder_memory.remembering(run_folder):
        yield


@pytest.fixture(scope="session", autouse=True)
def _remembered_lessons() -> Iterator[None]:
    """Each demonstration is explained once per process."""
    with learned_memory.remembering():
        yield


@pytest.fixture(scope="session", autouse=True)
def _copied_databases() -> Iterator[None]:
    """New databases are copies of one that was migrated once."""
    with database_template.copying():
        yield


@pytest.fixture
def real_migrations() -> Iterator[None]:
    """For tests of migrating itself."""
    with database_template.migrating():
        yield


@pytest.fixture(scope="module")
def real_encoder() -> Iterator[None]:
    """For a module whose subject is the encoder: every text is read, every `open` opens."""
    with encoder_memory.forgetting():
        yield


def pytest_collection_finish() -> None:
    """What was collected stays to the end: it is not looked through again by each collection of garbage, and there are
    fewer of those, an eighth of the time otherwise: `_memory_given_back` collects after every module."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


@pytest.fixture(scope="module", autouse=True)
def _memory_given_back() -> Iterator[None]:
    """What a module held, an encoder of 90 MB say, goes back to the system after it."""
    yield
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # the C library of Linux alone has it
        ctypes.CDLL(None).malloc_trim(0)


@pytest.fixture(scope="session")
def warm(run_folder: Path) -> Iterator[WarmProcesses]:
    """Real processes of `hearth` without their 1.5 s of imports."""
    processes = WarmProcesses(run_folder / "warm", run_folder)
    yield processes
    processes.close()


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(n) for n in itertools.count())  # `mktemp` looks at all that were made before


@pytest.fixture(autouse=True)
def _own_home(_homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    folder = next(_homes)
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("HEARTH_HOME", str(folder / "hearth"))
    monkeypatch.setenv("TZ", "Europe/Berlin")
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _fixed_seed() -> None:
    random.seed(0)
    np.random.seed(0)


@pytest.fixture(autouse=True)
def _ctrl_c() -> None:
    """Ctrl-C is what it is at a terminal, also after a test whose libraries put another handler in its place."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


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
