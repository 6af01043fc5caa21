"""The command line where nothing is as it should be: closed streams, files that are none, tools that misbehave."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from hearth import cli
from hearth.demo.day import MAX_LINE_BYTES, read_requests
from hearth.storage.migrations import MIGRATIONS
from tests.story import Hearth

LOUD = '''
import threading, time
import hearth
print("loud at import")

@hearth.tool()
def current_gizmo() -> str:
    """Tell the current gizmo."""
    print("loud in a call")
    return "gizmo"
'''
LINGERING = """
import threading, time
import hearth
threading.Thread(target=time.sleep, args=(600,), name="lingerer").start()

@hearth.tool()
def current_gizmo() -> str:
    'Tell the current gizmo.'
    return "gizmo"
"""


def start(home: Path, *arguments: str, closed: tuple[int, ...] = ()) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, with some of its standard streams closed."""
    command = " ".join(f"{number}>&-" for number in closed)
    return subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -m hearth "$@" {command}', sys.executable, "--home", str(home), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def plug_in(home: Path, text: str) -> None:
    path = home / "tools" / "gizmo.py"
    path.write_text(text)
    path.chmod(0o644)


@pytest.mark.parametrize("closed", [(0,), (0, 2), (0, 1, 2)])
def test_closed_streams_are_stood_in_for(home: Path, closed: tuple[int, ...]) -> None:
    ran = start(home, "ask", "what time is it", closed=closed)
    assert (ran.returncode, "Traceback" in ran.stderr) == (0, False), ran
    assert ("It is" in ran.stdout) is (1 not in closed)
    assert (home / "hearth.lock").read_bytes() == b""


def test_what_a_plug_in_prints_is_not_part_of_the_json(home: Path, hearth: Hearth) -> None:
    plug_in(home, LOUD)
    listed = hearth("tools", "--json")
    assert "current_gizmo" in {node["id"] for node in json.loads(listed.out)["nodes"]}
    asked = hearth("ask", "--json", "what time is it")
    assert json.loads(asked.out)["status"] == "done"
    assert "loud at import" in asked.err


def test_a_thread_that_a_plug_in_leaves_does_not_keep_the_process(home: Path) -> None:
    plug_in(home, LINGERING)
    ran = start(home, "ask", "what time is it")
    assert ran.returncode == 0
    assert "It is" in ran.stdout
    assert "a tool left 'lingerer' running; it is ended now" in ran.stderr


def test_ids_and_limits_that_no_record_can_have(hearth: Hearth) -> None:
    assert hearth("ask", "--yes", "add milk to the shopping list").code == 0
    empty = hearth("undo", "")
    assert (empty.code, "no episode ''" in empty.err) == (4, True)
    foreign = hearth("history", "\x1b[31m\udcff")
    assert (foreign.code, "\x1b" in foreign.err) == (4, False)
    assert hearth("history", "--limit", "9" * 20).code == 2
    assert hearth("undo").code == 0


def test_a_terminal_is_not_steered_by_what_is_recovered(home: Path, hearth: Hearth) -> None:
    plug_in(
        home,
        "import os\nimport hearth\n@hearth.tool()\ndef current_gizmo() -> str:\n"
        "    'Tell the current gizmo.'\n    return 'a\\x1b]0;owned\\x07b'\n",
    )
    begin = (
        "import sys, datetime as dt\nfrom pathlib import Path\nfrom hearth.storage.database import Store\n"
        "from hearth.storage.trace import Trace\nfrom hearth.types import Plan, Request, Ruling, Step\n"
        "with Store.open(Path(sys.argv[1]) / 'hearth.db') as store:\n"
        "    trace = Trace(store)\n"
        "    trace.begin(Request('go', dt.datetime.now(dt.UTC)), 'e1')\n"
        "    trace.planned('e1', Plan((Step('current_gizmo', {}),)), None, Ruling('allow', 'reads'), 1.0)\n"
    )
    subprocess.run([sys.executable, "-c", begin, str(home)], check=True)
    asked = hearth("ask", "what time is it")
    assert "recovered: e1 done: a·]0;owned·b" in asked.err


def test_a_home_that_cannot_be_used_is_bad_for_the_doctor(home: Path, hearth: Hearth) -> None:
    (home / "hearth.lock").unlink(missing_ok=True)
    (home / "hearth.lock").mkdir()
    examined = hearth("doctor")
    assert examined.code == 1
    assert "bad  home" in examined.out


def test_only_a_damaged_database_is_repaired(home: Path, hearth: Hearth) -> None:
    path = home / "hearth.db"
    before = sorted(home.iterdir())
    sound = hearth("doctor", "--repair")
    assert (sound.code, "there is nothing to repair" in sound.out) == (0, True)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version=99")
    newer = path.read_bytes()
    refused = hearth("doctor", "--repair")
    assert (refused.code, "written by a newer Hearth" in refused.err, path.read_bytes()) == (74, True, newer)
    path.unlink()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE mine (a)")
        connection.commit()
    refused = hearth("doctor", "--repair")
    assert (refused.code, "database of another program" in refused.err) == (74, True)
    assert sorted(home.iterdir()) == before
    path.write_bytes(newer[:8192] + os.urandom(4096) + newer[12288:])
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version={len(MIGRATIONS)}")
    assert "The damaged database is kept as" in hearth("doctor", "--repair").out


# ── Files of requests ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        (b'{"a":' * 100_000, "not JSON: maximum recursion depth exceeded"),
        (b'[{"user_request": "hi"}]', "part of a JSON array; write one JSON object per line"),
        (b"[\n", "part of a JSON array"),
        ("hi".encode("utf-16"), "not UTF-8 text at byte 0; save the file as UTF-8"),
        (b"x" * (MAX_LINE_BYTES + 1), f"the line has {MAX_LINE_BYTES + 2} bytes"),
        (b"x" * (3 * MAX_LINE_BYTES), f"the line has {3 * MAX_LINE_BYTES + 1} bytes"),
    ],
)
def test_a_line_that_cannot_be_read_is_named_and_the_next_is_read(tmp_path: Path, raw: bytes, fault: str) -> None:
    path = tmp_path / "requests.jsonl"
    path.write_bytes(raw.rstrip(b"\n") + b"\nwhat time is it\n")
    first, second = read_requests(path)
    assert fault in first.fault
    assert (second.text, second.fault) == ("what time is it", "")


def test_a_line_of_exactly_the_limit_is_read(tmp_path: Path) -> None:
    path = tmp_path / "requests.txt"
    path.write_bytes(b"x" * (MAX_LINE_BYTES - 1) + b"\nlast")
    first, second = read_requests(path)
    assert (len(first.text), first.fault, second.text) == (MAX_LINE_BYTES - 1, "", "last")


def demo(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = cli.run(["demo", *arguments])
    return code, capfd.readouterr().err


def test_the_demo_says_before_the_work_what_it_cannot_do(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").touch()
    code, said = demo(capfd, "--requests", str(tmp_path / "empty"), "--report", str(tmp_path / "r.html"))
    assert (code, "expected one per line, as text or as a JSON object" in said) == (3, True)
    code, said = demo(capfd, "--report", str(tmp_path))
    assert (code, "cannot write the report" in said) == (3, True)
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    os.symlink(tmp_path / "nowhere", tmp_path / "link")
    for path in (mine, tmp_path / "link"):
        code, said = demo(capfd, "--keep", str(path), "--report", str(tmp_path / "r.html"))
        assert (code, "is a file or a link; the demo home needs an empty folder" in said) == (78, True)
    assert (mine.read_text(), (tmp_path / "nowhere").exists()) == ("mine", False)
