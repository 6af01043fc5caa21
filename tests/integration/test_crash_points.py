"""Killed before and after every single system call of a call, a rollback and an undo: nothing is lost, nothing halved.

`test_workspace` kills at random moments; here every moment is tried, by counting the calls into the system in a forked
child and killing it at the n-th, for every n until one runs through.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

SCRIPT = """
    import json, os, shutil, signal, sqlite3, sys
    from pathlib import Path

    from hearth.storage.workspace import TEMPORARY_PREFIX
    from hearth.storage.database import Store
    from hearth.storage.workspace import Folder

    scenario, home = sys.argv[1], Path(sys.argv[2])
    LARGE = bytes(range(256)) * 2048

    def disk():
        root = home / "owner"
        return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}

    def open_folder():
        store = Store.open(home / "hearth.db")
        return store, Folder(home / "owner", store)

    def prepare():
        shutil.rmtree(home, ignore_errors=True)
        (home / "owner").mkdir(parents=True)
        for name, data in (("a.txt", b"old"), ("gone.txt", b"gone"), ("large.bin", LARGE), ("turn", b"file")):
            (home / "owner" / name).write_bytes(data)

    def act(folder):
        call = folder.for_call("k")
        call.write("a.txt", b"new")
        call.write("a.txt", b"newer")
        call.write("new/deep/b.txt", b"made")
        call.delete("gone.txt")
        call.write("large.bin", b"small")
        call.delete("turn")
        call.write("turn/inside.txt", b"folder")

    def kill_at(n):
        calls = 0
        def counted(really):
            def call(*arguments, **keywords):
                nonlocal calls
                calls += 1
                if calls == n:
                    os.kill(os.getpid(), signal.SIGKILL)
                result = really(*arguments, **keywords)
                calls += 1
                if calls == n:
                    os.kill(os.getpid(), signal.SIGKILL)
                return result
            return call
        for name in ("rename", "unlink", "fsync", "mkdir", "rmdir", "write", "utime"):
            setattr(os, name, counted(getattr(os, name)))
        class Counted(sqlite3.Connection):
            def execute(self, sql, *rest):
                return counted(super().execute)(sql, *rest) if sql in ("COMMIT",) else super().execute(sql, *rest)
        sqlite3.connect = lambda *arguments, **keywords: Counted(*arguments, **keywords)

    n = n_killed = 0
    while True:
        n += 1
        prepare()
        before = disk()
        if scenario != "call":
            store, folder = open_folder()
            act(folder)
            store.close()
        after_call = disk()
        child = os.fork()
        if not child:
            kill_at(n)
            store, folder = open_folder()
            {"call": act, "rollback": lambda f: f.rollback("k"), "undo": lambda f: f.undo("k")}[scenario](folder)
            store.close()
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        store, folder = open_folder()
        found = disk()
        assert not [path for path in found if TEMPORARY_PREFIX in path], (n, list(found))
        whole = {"a.txt": (b"old", b"new", b"newer"), "gone.txt": (b"gone", None), "large.bin": (LARGE, b"small"),
                 "turn": (b"file", None), "turn/inside.txt": (b"folder", None), "new/deep/b.txt": (b"made", None)}
        for path, states in whole.items():
            assert found.get(path) in states, (n, path)
        if scenario == "undo":
            folder.undo("k")
        else:
            report = folder.rollback("k")
            assert report.conflicts == (), (n, report)
        assert disk() == before, (n, sorted(disk()))
        act(folder)
        assert folder.undo("k"), n
        assert disk() == before, n
        store.close()
        if status == 0:
            break
        n_killed += 1
    print(json.dumps(n_killed))
"""


@pytest.mark.parametrize(("scenario", "n_least"), [("call", 60), ("rollback", 40), ("undo", 40)])
def test_every_moment_of_a_crash(tmp_path: Path, scenario: str, n_least: int) -> None:
    script = tmp_path / "crash.py"
    script.write_text(textwrap.dedent(SCRIPT))
    done = subprocess.run(
        [sys.executable, str(script), scenario, str(tmp_path / "home")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) >= n_least
