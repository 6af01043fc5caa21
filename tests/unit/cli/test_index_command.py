"""The index of the owner's things is built by `hearth memory tend`, by an import, and before a first request."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from hearth.agent import Agent
from hearth.cli.asking import MANY_NEW, AskingHere
from hearth.cli.invocation import Progress
from hearth.cli.memory import memory_commands
from hearth.cli.root import run
from hearth.errors import StoreFullError
from hearth.guard.policy.question import RefusingApprover
from hearth.memory.answers.home_answers import Building, HomeAnswers
from hearth.memory.search.passage_store import PassageStore
from hearth.storage.database import Store
from hearth.testing import HashEncoder
from tests.served_home import made


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal() -> Terminal:
    """What a person sees of `seen_at`."""
    return Terminal()


def seen_at(terminal: Terminal, *arguments: str) -> int:
    """Run a command line whose standard error a person sees."""
    with contextlib.redirect_stderr(terminal):
        return run([*arguments])


def read_first(agent: Agent, terminal: Terminal) -> None:
    with contextlib.redirect_stderr(terminal):
        AskingHere(agent).read_first()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (home / "owner" / "notes").mkdir(parents=True)
    (home / "hearth.toml").write_text('[owner]\nemail = "me@home.example"\ntime_zone = "UTC"\n')
    Store.open(home / "hearth.db").close()
    return home


def write_notes(home: Path, n: int) -> None:
    """Write so many notes; those that are there stay as they are."""
    for k in range(n):
        note = home / "owner" / "notes" / f"door-{k}.md"
        if not note.exists():
            note.write_text(f"# Door {k}\n\nThe code of door {k} is {k * 37}.\n")


def n_waiting(home: Path) -> int:
    with Store.open(home / "hearth.db") as store:
        return PassageStore(store, None).n_waiting()


def n_passages(home: Path) -> int:
    with Store.open(home / "hearth.db") as store:
        return PassageStore(store, None).counts().get("passage", 0)


def stop_after(n: int) -> Callable[..., Iterator[Building]]:
    """Build as always, and press Ctrl-C after so many steps."""
    build = HomeAnswers.build

    def stopped(*given: object) -> Iterator[Building]:
        for k, step in enumerate(build(*given)):  # type: ignore[arg-type]
            if k == n:
                raise KeyboardInterrupt
            yield step

    return stopped


def test_tend_says_what_it_did_and_nothing_where_nothing_was_left(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_notes(home, 3)
    assert run(["--home", str(home), "memory", "tend"]) == 0
    said = capsys.readouterr()
    assert "Your things: 3 files read, 3 passages found by their meaning, too." in said.out.splitlines()
    assert (said.err, n_waiting(home)) == ("", 0)
    assert run(["--home", str(home), "memory", "tend"]) == 0
    assert "Your things" not in capsys.readouterr().out
    write_notes(home, 4)
    assert run(["--home", str(home), "memory", "tend", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_indexed"] == {"files": 1, "pictures": 0, "passages": 1}


def test_tend_looks_for_instructions_where_nothing_did(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_notes(home, 3)
    assert run(["--home", str(home), "memory", "tend"]) == 0
    with Store.open(home / "hearth.db") as store, store.transaction() as cursor:
        cursor.execute("UPDATE passage_vector SET verdict = NULL")
    capsys.readouterr()
    assert run(["--home", str(home), "memory", "tend"]) == 0
    assert "Your things: 3 passages looked through for instructions." in capsys.readouterr().out.splitlines()
    assert run(["--home", str(home), "memory", "tend"]) == 0
    assert "Your things" not in capsys.readouterr().out


def test_tend_shows_how_far_it_is_and_goes_on_after_a_stop(
    home: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_notes(home, 20)
    with monkeypatch.context() as pressed:
        pressed.setattr(HomeAnswers, "build", stop_after(5))
        assert seen_at(terminal, "--home", str(home), "memory", "tend") == 130
    assert n_passages(home) == 6, "what was read is kept, that in hand too"
    assert "Reading files" in terminal.getvalue()
    assert seen_at(terminal, "--home", str(home), "memory", "tend") == 0
    assert "14 files read, 20 passages found" in capsys.readouterr().out
    assert "Reading for meaning" in terminal.getvalue()
    assert "20/20" in terminal.getvalue()


def test_tend_reads_for_no_longer_than_it_may(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_notes(home, 20)
    seconds = itertools.count()  # each look at the clock is a second later
    monkeypatch.setattr(memory_commands, "time", SimpleNamespace(monotonic=lambda: float(next(seconds))))
    assert run(["--home", str(home), "memory", "tend", "--at-most", "5"]) == 0
    assert "Your things: 4 files read." in capsys.readouterr().out.splitlines()
    assert run(["--home", str(home), "memory", "tend", "--at-most", "nan"]) == 2
    assert run(["--home", str(home), "memory", "tend"]) == 0
    assert "15 files read, 20 passages found" in capsys.readouterr().out


def test_at_a_terminal_an_import_is_read_at_once(
    home: Path, tmp_path: Path, terminal: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "roof.md").write_text("# Roof\n\nThe felt is brittle.\n")
    assert seen_at(terminal, "--home", str(home), "import", str(tmp_path / "roof.md")) == 0
    assert capsys.readouterr().out == "New: 1 note.\n"
    assert "Ctrl-C leaves the rest for later" in terminal.getvalue()
    assert (n_passages(home), n_waiting(home)) == (1, 0)
    before = terminal.getvalue()
    assert seen_at(terminal, "--home", str(home), "import", str(tmp_path / "roof.md")) == 0
    assert "Ctrl-C" not in terminal.getvalue()[len(before) :], "nothing is new"


def test_an_import_that_is_stopped_while_it_is_read_has_come_to_its_end(
    home: Path, tmp_path: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "roof.md").write_text("# Roof\n\nThe felt is brittle.\n")
    monkeypatch.setattr(HomeAnswers, "build", stop_after(0))
    assert seen_at(terminal, "--home", str(home), "import", str(tmp_path / "roof.md")) == 0
    assert "`hearth memory tend` reads the rest" in terminal.getvalue()


def test_a_program_that_imports_does_not_wait_for_the_reading(home: Path, tmp_path: Path) -> None:
    (tmp_path / "roof.md").write_text("# Roof\n\nThe felt is brittle.\n")
    with contextlib.redirect_stderr(io.StringIO()):
        assert run(["--home", str(home), "import", str(tmp_path / "roof.md")]) == 0
    assert n_passages(home) == 0


def test_progress_tells_each_stage_apart() -> None:
    steps = [Building("files", 1, 2), Building("files", 2, 2), Building("meaning", 8, 9), Building("meaning", 9, 9)]
    assert Progress(None).follow(steps) == {"files": 2, "meaning": 9}
    assert Progress(None).follow([]) == {}


# ── Before the first request ──────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    agent = Agent.open(made(tmp_path / "asked"), RefusingApprover(), environ=os.environ, encoder=HashEncoder(384))
    yield agent
    agent.close()


def n_read(agent: Agent) -> int:
    return len(agent.home_answers.passages.fingerprints())


def test_many_new_files_are_read_before_the_first_request(agent: Agent, terminal: Terminal) -> None:
    write_notes(agent.home, MANY_NEW)
    read_first(agent, terminal)
    assert (n_read(agent), terminal.getvalue()) == (0, ""), "so few are read with the question"
    write_notes(agent.home, MANY_NEW + 1)
    read_first(agent, terminal)
    assert n_read(agent) == MANY_NEW + 1
    assert terminal.getvalue().startswith("201 of your files are new, and are read first; Ctrl-C")
    assert "201/201" in terminal.getvalue()
    shown = len(terminal.getvalue())
    read_first(agent, terminal)
    assert len(terminal.getvalue()) == shown


def test_where_nobody_sees_it_nothing_is_read_first(agent: Agent) -> None:
    write_notes(agent.home, MANY_NEW + 1)
    with contextlib.redirect_stderr(io.StringIO()):
        AskingHere(agent).read_first()
    assert n_read(agent) == 0


def test_reading_first_is_left_by_ctrl_c_and_goes_on(
    agent: Agent, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_notes(agent.home, MANY_NEW + 20)
    put, n_puts = PassageStore.put, 0

    def pressed(*given: object) -> None:
        nonlocal n_puts
        n_puts += 1
        if n_puts == 10:
            raise KeyboardInterrupt
        put(*given)  # type: ignore[arg-type]

    with monkeypatch.context() as stopping:
        stopping.setattr(PassageStore, "put", pressed)
        read_first(agent, terminal)
    assert n_read(agent) == 9
    assert "`hearth memory tend` reads all of it" in terminal.getvalue()
    read_first(agent, terminal)
    assert n_read(agent) == MANY_NEW + 20


def test_a_full_disk_keeps_no_request_from_being_asked(
    agent: Agent, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StoreFullError("the disk is full")

    write_notes(agent.home, MANY_NEW + 1)
    monkeypatch.setattr(PassageStore, "put", full)
    read_first(agent, terminal)
    assert "the rest could not be read: the disk is full" in terminal.getvalue()
