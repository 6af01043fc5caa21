"""`hearth bench run`: the jobs of `tests/data/ianvs`, whose rankings and calls real Ianvs gave, and all that goes wrong."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hearth import cli
from hearth.errors import StoreFullError
from hearth_bench import run_record
from hearth_bench.ianvs import job_runner
from tests import BENCH_DATA

JOBS = BENCH_DATA / "ianvs"
Ran = tuple[int, str, str]
Run = Callable[..., Ran]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the jobs, from where commands run."""
    target = tmp_path / "jobs"
    shutil.copytree(JOBS, target)
    monkeypatch.chdir(target)
    return target


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: object) -> Ran:
        capfd.readouterr()
        code = cli.run(["bench", "run", *(str(argument) for argument in arguments)])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return run


def rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text, f"{old!r} is not in {path}"
    path.write_text(text.replace(old, new))


def record_of(workspace: Path) -> dict[str, Any]:
    (path,) = (workspace / "runs").iterdir()
    return dict(json.loads(path.read_text()))


# ── As Ianvs does ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["single", "joint", "no-inference", "hard-example-mining", "default"])
def test_the_ranking_is_that_of_ianvs(name: str, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_CALLS", str(folder / "calls.txt"))
    code, said, told = run(folder / f"job_{name}.yaml")
    assert code == 0, told
    expected = json.loads((JOBS / "expected" / f"{name}.json").read_text())
    found = rows(folder / "workspace" / name / "rank" / "all_rank.csv")
    assert [{key: row[key] for key in wanted} for row, wanted in zip(found, expected)] == expected
    assert len(found) == len(expected)
    assert list(found[0])[-2:] == ["time", "url"]
    assert rows(folder / "workspace" / name / "rank" / "selected_rank.csv") == found
    assert said.splitlines()[1].split("|")[1].strip() == "rank"
    if name == "joint":
        assert (folder / "calls.txt").read_text() == (JOBS / "expected" / "joint_calls.txt").read_text()
    for row in found:
        place = Path(row["url"])
        assert {"case.json", "outcome.json", "predictions.jsonl", "log.txt"} <= {p.name for p in place.iterdir()}


def test_a_case_keeps_its_predictions_and_a_run_what_it_was_started_from(folder: Path, run: Run) -> None:
    assert run("job_single.yaml", "--seed", 7, "--workspace", "elsewhere")[0] == 0
    kept = record_of(folder / "elsewhere" / "single")
    assert (kept["seed"], kept["n_samples"], kept["passed_over"]) == (7, {"train.jsonl": 60, "test.jsonl": 15}, {})
    assert set(kept["settings"]) == {"job_single.yaml", "testenv_single.yaml", "algorithm_single.yaml"}
    assert kept["packages"]["numpy"]
    assert kept["outcome"] == {"done": 4, "failed": {}, "faults": {}, "absent": {}, "was_stopped": False}
    first = Path(kept["cases"][0]["folder"])
    lines = [json.loads(line) for line in (first / "predictions.jsonl").read_text().splitlines()]
    assert len(lines) == 15
    assert lines[0] == {
        "index": 0, "question": "weather request number 100", "answer": "call_weather(0)",
        "prediction": "call_weather(2)",
    }  # fmt: skip
    outcome = json.loads((first / "outcome.json").read_text())
    assert outcome["cost"]["wall_s"] >= 0
    assert json.loads((first / "case.json").read_text())["seed"] == 7


def test_a_lifelong_case_keeps_its_matrix_in_the_words_of_the_literature(folder: Path, run: Run) -> None:
    edit(folder / "testenv_no-inference.yaml", '{name: "BWT"}', '{name: "BWT"}\n    - {name: "BWT_std"}')
    assert run("job_no-inference.yaml")[0] == 0
    (row,) = rows(folder / "workspace/no-inference/rank/all_rank.csv")
    continual = json.loads((Path(row["url"]) / "outcome.json").read_text())["continual"]
    assert len(continual["r_matrix"]) == len(continual["untaught"]) == 3
    assert float(row["BWT"]) == continual["ianvs_bwt"] == pytest.approx(0.0556, abs=1e-4)
    assert float(row["BWT_std"]) == continual["bwt"] == pytest.approx(0.375)
    assert continual["acc"] == pytest.approx(sum(continual["r_matrix"][-1]) / 3)


def test_several_at_once_rank_as_one_after_another(folder: Path, run: Run) -> None:
    assert run("job_single.yaml", "--workspace", "one")[0] == 0
    assert run("job_single.yaml", "--workspace", "four", "--jobs", 4)[0] == 0
    drop = ("time", "url")
    both = [[{k: v for k, v in row.items() if k not in drop} for row in rows(folder / w / "single/rank/all_rank.csv")]
            for w in ("one", "four")]  # fmt: skip
    assert sorted(map(str, both[0])) == sorted(map(str, both[1]))


def test_resumed_a_job_runs_what_is_left_or_has_changed(folder: Path, run: Run) -> None:
    edit(
        folder / "toy_model.py",
        "        self.lr, self.mode",
        "        assert (lr, mode) != (0.2, 'b')\n        self.lr, self.mode",
    )
    code, _, told = run("job_single.yaml")
    assert code == 6
    assert "AssertionError" in told
    before = {row["url"] for row in rows(folder / "workspace/single/rank/all_rank.csv")}
    code, _, told = run("job_single.yaml", "--resume")
    assert (code, "3 of 4 cases done (3 from before)" in told, "Running 1 cases" in told) == (6, True, True)
    assert {row["url"] for row in rows(folder / "workspace/single/rank/all_rank.csv")} == before
    edit(folder / "toy_model.py", "        assert (lr, mode) != (0.2, 'b')\n", "")  # the file is another: all run again
    code, _, told = run("job_single.yaml", "--resume")
    assert (code, "4 of 4 cases done, in" in told) == (0, True)
    assert "Running 0 cases" in run("job_single.yaml", "--resume")[2]


def test_a_dry_run_names_the_cases_and_runs_none(folder: Path, run: Run) -> None:
    code, said, _ = run("job_single.yaml", "--dry-run")
    assert code == 0
    assert "60 samples, 0 bad lines" in said
    assert "4. toy: singletasklearning; basemodel ToyModel lr=0.2 mode=b" in said
    assert not (folder / "workspace").exists()


def test_paths_beside_the_yaml_are_found_from_anywhere(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    code, _, told = run("jobs/job_no-inference.yaml", "--workspace", "here")
    assert code == 0, told
    assert rows(folder.parent / "here/no-inference/rank/all_rank.csv")


# ── What goes wrong ───────────────────────────────────────────────────────────────────────────────────────

_BAD = {
    "at import": ("import json\n", "import json\nraise ValueError('boom')\n", "in import: ValueError: boom (toy_model.py:4"),
    "no such class": ('alias="ToyModel"', 'alias="Toymodel"', "registers no general 'ToyModel'; registered are"),
    "in train": ("        for x, y in zip", "        raise OSError('bad disk')\n        for x, y in zip", "in run: OSError: bad disk"),
    "in predict": ("        found = [", "        found = 1 / 0 or [", "in run: ZeroDivisionError: division by zero (toy_model.py:36, in predict)"),
    "exits": ("        return self\n", "        raise SystemExit(3)\n", "in run: SystemExit: 3"),
    "dies": ("        return self\n", "        os.kill(os.getpid(), 9)\n", "its process was ended by SIGKILL"),
    "full disk": ("        return self\n", "        raise OSError(28, 'No space left on device')\n", "No space left on device"),
}  # fmt: skip


@pytest.mark.parametrize("what", _BAD)
def test_a_case_that_fails_loses_no_other(what: str, folder: Path, run: Run) -> None:
    """The second algorithm is the good one; the first has a file of the same name."""
    bad = folder / "bad"
    bad.mkdir()
    shutil.copy(folder / "toy_model.py", bad / "toy_model.py")
    old, new, message = _BAD[what]
    edit(bad / "toy_model.py", old, new)
    algorithm = (
        (folder / "algorithm_single.yaml").read_text().replace("[0.1, 0.2]", "[0.1]").replace('["a", "b"]', '["a"]')
    )
    (folder / "algorithm_single.yaml").write_text(algorithm)
    (bad / "algorithm.yaml").write_text(algorithm.replace("./toy_model.py", "bad/toy_model.py"))
    edit(
        folder / "job_single.yaml",
        "    algorithms:\n",
        '    algorithms:\n      - {name: "bad", url: "bad/algorithm.yaml"}\n',
    )
    code, _, told = run("job_single.yaml")
    assert code == 6
    assert message in told
    assert "1 of 2 cases done" in told
    (row,) = rows(folder / "workspace/single/rank/all_rank.csv")
    assert (row["algorithm"], row["acc"]) == ("toy", "0.2")
    assert message in record_of(folder / "workspace/single")["outcome"]["failed"]["1. bad (lr=0.1, mode=a)"]


def test_modules_connect_only_when_they_may(folder: Path, run: Run) -> None:
    connect = "        import socket; socket.socket().connect_ex(('127.0.0.1', 9))\n        for x, y in zip"
    edit(folder / "toy_model.py", "        for x, y in zip", connect)
    code, _, told = run("job_no-inference.yaml")
    assert (code, "EgressError" in told or "127.0.0.1" in told) == (1, True), told
    assert "--network" in told
    assert run("job_no-inference.yaml", "--network")[0] == 0


def test_no_sign_of_a_job_steers_the_terminal(folder: Path, run: Run) -> None:
    edit(folder / "algorithm_single.yaml", '["a", "b"]', '["a", "\\u202e\\x1b[31mred"]')
    code, said, told = run("job_single.yaml")
    assert (code, "4 of 4 cases done" in told) == (0, True)
    assert "[31mred" in told
    assert not {"\x1b", "\u202e"} & set(said + told)


def test_when_all_fail_there_is_no_ranking(folder: Path, run: Run) -> None:
    edit(folder / "toy_model.py", "        for x, y in zip", "        raise ValueError('no')\n        for x, y in zip")
    code, said, told = run("job_single.yaml")
    assert (code, said) == (1, "")
    assert told.count("ValueError: no (toy_model.py") == 8
    (log,) = list((folder / "workspace/single/toy").glob("*/log.txt"))[:1]
    assert "Traceback" in log.read_text()


def test_a_metric_that_is_no_number_or_raises_is_said(folder: Path, run: Run) -> None:
    (folder / "accuracy.py").write_text(
        "from sedna.common.class_factory import ClassFactory, ClassType\n"
        "@ClassFactory.register(ClassType.GENERAL, alias='odd')\n"
        "def odd(y, p): return float('nan')\n"
        "@ClassFactory.register(ClassType.GENERAL, alias='broken')\n"
        "def broken(y, p): raise KeyError('x')\n"
    )
    more = '\n    - {name: "odd", url: "accuracy.py"}\n    - {name: "broken", url: "accuracy.py"}\n'
    edit(
        folder / "testenv_single.yaml",
        '{name: "acc", url: "./toy_metrics.py"}\n',
        '{name: "acc", url: "./toy_metrics.py"}' + more,
    )
    edit(folder / "job_single.yaml", '[{"acc": "descend"}]', '[{"odd": "descend"}, {"acc": "ascend"}]')
    code, _, told = run("job_single.yaml")
    assert code == 6
    assert "the metric 'odd' is nan" in told
    assert "the metric 'broken' failed: KeyError: 'x' (accuracy.py:5, in broken)" in told
    found = rows(folder / "workspace/single/rank/all_rank.csv")
    assert [(row["acc"], row["odd"], row["broken"]) for row in found] == [("0.0", "nan", "nan")] * 2 + [
        ("0.2", "nan", "nan")
    ] * 2


def test_bad_lines_are_named_and_passed_over_or_fatal(folder: Path, run: Run) -> None:
    edit(folder / "test.jsonl", '{"question": "mail request number 101"', '{"questio": "mail request number 101"')
    with (folder / "train.jsonl").open("a") as file:
        file.write("{not json\n\n")
    code, _, told = run("job_no-inference.yaml")
    assert code == 6
    assert "skipped: train.jsonl:61: not a JSON object in UTF-8" in told
    assert "skipped: test.jsonl:2: the line has 'questio', 'answer', 'user'; expected the field 'question'" in told
    assert record_of(folder / "workspace/no-inference")["passed_over"] == {"train.jsonl": 1, "test.jsonl": 1}
    code, _, told = run("job_no-inference.yaml", "--strict", "--workspace", "strict")
    assert (code, "train.jsonl:61" in told, (folder / "strict").exists()) == (3, True, False)


def test_a_case_that_takes_too_long_is_ended(folder: Path, run: Run) -> None:
    edit(
        folder / "toy_model.py",
        "        for x, y in zip",
        "        import time; time.sleep(60 * (self.mode == 'b'))\n        for x, y in zip",
    )
    code, _, told = run("job_single.yaml", "--limit", "1.5", "--jobs", 4)
    assert (code, "2 of 4 cases done" in told) == (6, True)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_stopped_what_is_done_is_on_disk(how: signal.Signals, folder: Path) -> None:
    slow = "        import time; time.sleep(60 * (self.mode == 'b'))\n        open('started.txt', 'a').write(f'{os.getpid()}\\n')\n        time.sleep(0)\n"
    edit(
        folder / "toy_model.py",
        "        for x, y in zip",
        slow.replace("time.sleep(60", "open('started.txt', 'a').write(f'{os.getpid()}\\n'); time.sleep(60", 1)
        + "        for x, y in zip",
    )
    command = [sys.executable, "-m", "hearth", "bench", "run", "job_single.yaml"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    ranking = folder / "workspace/single/rank/all_rank.csv"
    until = time.monotonic() + 60
    while not (ranking.exists() and len((folder / "started.txt").read_text().split()) >= 3):
        assert time.monotonic() < until
        time.sleep(0.05)
    child.send_signal(how)
    _, told = child.communicate(timeout=30)
    (row,) = rows(ranking)
    assert (row["basemodel-mode"], row["acc"]) == ("a", "0.2")
    if how == signal.SIGINT:
        assert (child.returncode, "stopped; carry on with" in told) == (130, True)
        outcome = record_of(folder / "workspace/single")["outcome"]
        assert (outcome["was_stopped"], outcome["done"], len(outcome["failed"])) == (True, 1, 3)
    last = int((folder / "started.txt").read_text().split()[-1])
    while time.monotonic() < until:  # no case outlives the command
        try:
            os.kill(last, 0)
        except ProcessLookupError:
            return
        if "Z" in Path(f"/proc/{last}/stat").read_text().rpartition(")")[2].split()[0]:
            return
        time.sleep(0.05)
    raise AssertionError(f"process {last} still runs")


def test_a_full_disk_is_said_and_leaves_what_was_there(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("job_single.yaml")[0] == 0
    before = (folder / "workspace/single/rank/all_rank.csv").read_bytes()

    def full(path: Path, data: bytes, *, is_lasting: bool = True) -> None:
        raise StoreFullError(f"cannot write {str(path)!r}: No space left on device; it is as before")

    monkeypatch.setattr(run_record, "write_bytes", full)
    code, _, told = run("job_single.yaml")
    assert (code, "No space left on device" in told) == (74, True)
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(job_runner, "save_rank", lambda *_: full(Path("all_rank.csv"), b""))
    code, _, told = run("job_single.yaml")
    assert (code, "No space left on device" in told) == (74, True)
    assert (folder / "workspace/single/rank/all_rank.csv").read_bytes() == before


def test_a_case_that_cannot_write_what_came_of_it_ends_the_job(folder: Path, run: Run) -> None:
    """A limit on the size of files stands for the disk; nothing can be logged then either."""
    full = "        import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)) if self.mode == 'b' else 0\n"
    edit(folder / "toy_model.py", "        found = [", full + "        found = [")
    code, _, told = run("job_single.yaml")
    assert (code, "toy (lr=0.1, mode=b): cannot write" in told, "File too large" in told) == (74, True, True), told
    (row,) = rows(folder / "workspace/single/rank/all_rank.csv")
    assert row["basemodel-mode"] == "a"
    edit(folder / "toy_model.py", full, "")
    assert "4 of 4 cases done" in run("job_single.yaml", "--resume")[2]


@pytest.mark.parametrize(
    "ranking", [b"\xff\xfe", b"a,b\n1,2\n", b"rank,algorithm,paradigm,time,url\n" + b"x" * 200_000]
)
def test_a_ranking_that_is_none_is_said_before_anything_runs(ranking: bytes, folder: Path, run: Run) -> None:
    path = folder / "workspace/single/rank/all_rank.csv"
    path.parent.mkdir(parents=True)
    path.write_bytes(ranking)
    code, _, told = run("job_single.yaml")
    assert (code, "move it away" in told, path.read_bytes() == ranking) == (3, True, True), told
    assert [one.name for one in (folder / "workspace/single").iterdir()] == ["rank"]


def test_what_cannot_be_read_ends_in_words(folder: Path, run: Run, tmp_path: Path) -> None:
    code, _, told = run(tmp_path / "none.yaml")
    assert (code, "cannot read" in told) == (3, True)
    (folder / "workspace").write_text("a file")
    code, _, told = run("job_single.yaml")
    assert (code, "cannot make the workspace" in told) == (3, True)
    code, _, told = run("job_single.yaml", "--engine", "ray")
    assert (code, "pip install 'hearth-bench[ray]'" in told) == (78, True)


@pytest.mark.parametrize(
    "asks", ["import numpy as np; drawn = np.random.rand()", "from numpy.random import rand; drawn = rand()"]
)
def test_what_modules_draw_from_numpy_hangs_on_the_seed(asks: str, folder: Path, run: Run) -> None:
    """Whether they import it at once or while they predict."""
    edit(
        folder / "toy_model.py",
        "        found = [",
        f"        {asks}\n        return [str(drawn)] * len(x)\n        found = [",
    )
    found = []
    for k, seed in enumerate((3, 3, 4)):
        assert run("job_single.yaml", "--seed", seed, "--workspace", f"w{k}")[0] == 0
        cases = sorted((folder / f"w{k}" / "single").glob("*/*/case.json"), key=lambda path: path.read_text())
        lines = [json.loads(case.with_name("predictions.jsonl").read_text().splitlines()[0]) for case in cases]
        found.append([line["prediction"] for line in lines])
    assert found[0] == found[1]
    assert len(set(found[0])) == 1  # each case begins anew
    assert found[0] != found[2]
