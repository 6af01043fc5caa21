"""Killed before and after every write of learning, teaching, going back and forgetting: the state is before or after.

Run as a script, this file is the harness. A kill leaves what the files hold at that moment, so a child that works through
all stages copies its folder at every write; for every twentieth, another child is really killed there. Of each folder a
further child says which stage it finds (forked: imports are paid once). The pytest process only judges.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hearth.learning.unlearning import Sought, find, forget
from hearth.storage.database import Store
from tests import ROOT
from tests.small_world import lessons, opened, recall, shown

STAGES = ("opened", "learnt", "more", "taught", "rolled back", "forgotten", "learnt again")


def work(folder: Path, say: Callable[[str], None]) -> None:
    """All stages, each said when it is done."""
    with opened(folder) as state:
        say("opened")
        state.learn(lessons(12))
        say("learnt")
        state.learn(lessons(4, 12), must_pass=False)
        say("more")
        state.teach([shown("mine", "order_pizza", source="owner")])
        say("taught")
        state.rollback(1)
        say("rolled back")
        forget(state, find(state.store, Sought(demonstrations=["d003"])))
        say("forgotten")
        state.learn((), must_pass=False)
        say("learnt again")


def seen(folder: Path) -> dict[str, Any]:
    """What an opened state is, in few words."""
    with opened(folder) as state:
        version = state.lineage.current()
        planner = recall(state)
        left = [p.name for p in (folder / "learned").glob("*")] if (folder / "learned").exists() else []
        return {
            "version": version.number if version else 0,
            "held": sorted(state.buffer.ids()),
            "waiting": len(state.buffer.set_aside("waiting")),
            "ids": sorted(planner.ids()),
            "weights": planner.remembered.digest() if len(planner) else "",
            "n_folders": len(left),
            "erased": not state.store.query("SELECT 1 FROM meta WHERE name='erase'"),
            "holds_forgotten": b"d003" in (folder / "hearth.db").read_bytes(),
        }


# ── The harness ───────────────────────────────────────────────────────────────────────────────────────────


def at_every_write(do: Callable[[int], None]) -> None:
    """Have `do` called at each write of this process, with its number: each counts twice, just before and just after."""
    count = 0

    def tick() -> None:
        nonlocal count
        count += 1
        do(count)

    def counted(really: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **keywords: Any) -> Any:
            tick()
            result = really(*arguments, **keywords)
            tick()
            return result

        return call

    for module, name in ((os, "fsync"), (os, "replace"), (shutil, "rmtree")):
        setattr(module, name, counted(getattr(module, name)))
    for name in ("rewrite", "erase_traces"):
        setattr(Store, name, counted(getattr(Store, name)))
    transaction = Store.transaction

    @contextlib.contextmanager
    def watched(self: Store, *, is_synced: bool = True) -> Iterator[Any]:
        tick()
        with transaction(self, is_synced=is_synced) as cursor:
            yield cursor
            tick()
        tick()

    Store.transaction = watched  # type: ignore[method-assign]


def say(pipe: int, text: str) -> None:
    os.write(pipe, (text + "\n").encode())


def forked(job: Callable[[Callable[[str], None]], None]) -> tuple[list[str], int]:
    """Run a job in a child; what it said, and how it ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        code = 1
        try:
            job(lambda text: say(writing, text))
            code = 0
        except BaseException as error:
            os.write(writing, f"error {error!r}\n".encode())
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as file:
        said = file.read().splitlines()
    return said, os.waitpid(child, 0)[1]


def harness(root: Path) -> None:
    def whole(say: Callable[[str], None]) -> None:
        def note(stage: str) -> None:
            say(stage)
            copy = root / f"at-{STAGES.index(stage)}"
            shutil.copytree(root / "whole", copy, ignore=shutil.ignore_patterns("*.lock"))
            say(json.dumps(seen(copy)))

        work(root / "whole", note)

    print(json.dumps(forked(whole)))
    worked = root / "worked"
    worked.mkdir()
    told: list[str] = []

    def keep(n: int) -> None:
        shutil.copytree(worked, root / f"moment-{n}")
        (root / f"moment-{n}.json").write_text(json.dumps(told))

    def copied(say: Callable[[str], None]) -> None:
        at_every_write(keep)
        work(worked, told.append)

    assert forked(copied)[1] == 0
    n_moments = sum(path.is_dir() for path in root.glob("moment-*"))
    for n in range(1, n_moments + 1):
        judge(root / f"moment-{n}", json.loads((root / f"moment-{n}.json").read_text()), 0)
    for n in range(1, n_moments + 1, 20):
        folder = root / f"killed-{n}"

        def killed(say: Callable[[str], None], n: int = n, folder: Path = folder) -> None:
            at_every_write(lambda count: os.kill(os.getpid(), signal.SIGKILL) if count == n else None)
            work(folder, say)

        said, ended = forked(killed)
        assert ended == signal.SIGKILL
        judge(folder, said, ended)
    judge(worked, list(STAGES), 0)


def judge(folder: Path, said: list[str], ended: int) -> None:
    """Print what was said, how it ended, and what is found."""

    def look(say: Callable[[str], None]) -> None:
        say(json.dumps(seen(folder)))

    print(json.dumps([said, ended, forked(look)]))
    shutil.rmtree(folder, ignore_errors=True)


# ── The judgement ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, dict[str, Any]], list[Any]]:
    root = tmp_path_factory.mktemp("learn-kill")
    done = subprocess.run(
        [sys.executable, "-W", "error", __file__, str(root)],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    first, *rest = [json.loads(line) for line in done.stdout.splitlines()]
    assert first[1] == 0, first
    stages = {first[0][k]: json.loads(first[0][k + 1]) for k in range(0, len(first[0]), 2)}
    return stages, rest


def test_undisturbed_every_stage_is_another(trials: tuple[dict[str, dict[str, Any]], list[Any]]) -> None:
    stages, _ = trials
    assert tuple(stages) == STAGES
    assert [stages[name]["version"] for name in STAGES] == [0, 1, 2, 2, 1, 1, 3]
    assert "mine" in stages["taught"]["ids"]
    assert "d003" not in stages["forgotten"]["ids"]
    assert len({json.dumps(stage) for stage in stages.values()}) == len(STAGES)


def test_after_every_kill_the_state_is_as_before_or_as_after(
    trials: tuple[dict[str, dict[str, Any]], list[Any]],
) -> None:
    stages, rest = trials
    assert len(rest) > 60, "too few writes were seen for this test to prove anything"
    names = list(STAGES)
    for number, (said, _, (found, ended)) in enumerate(rest, 1):
        assert ended == 0, (number, said, found)
        state = json.loads(found[0])
        done = len(said)
        possible = [stages[names[done - 1]]] if done else [{**stages["opened"]}]
        if done < len(names):
            possible.append(stages[names[done]])
        for one in list(possible):  # what was given is held before the version is made
            possible.append({**one, "waiting": {1: 12, 2: 4}.get(done, 0)})
        assert state in possible, (number, said, state)


def test_nothing_forgotten_is_in_the_file_once_it_was_opened_again(
    trials: tuple[dict[str, dict[str, Any]], list[Any]],
) -> None:
    _, rest = trials
    found = [json.loads(found[0]) for said, _, (found, _) in rest if len(said) >= STAGES.index("forgotten")]
    gone = [state for state in found if "d003" not in state["held"]]
    assert len(gone) > 5
    assert all(state["erased"] and not state["holds_forgotten"] for state in gone)


def test_no_files_are_left_behind(trials: tuple[dict[str, dict[str, Any]], list[Any]]) -> None:
    _, rest = trials
    assert all(json.loads(found[0])["n_folders"] <= 1 for _, _, (found, _) in rest)


if __name__ == "__main__":
    harness(Path(sys.argv[1]))
