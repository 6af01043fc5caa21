"""`--engine ray` on a cluster of two machines, both this one: results to the bit those of local processes.

Needs the extra `ray`; left out where it is not installed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import BENCH_DATA

JOBS = BENCH_DATA / "ianvs"
CLUSTER = """
import sys
from ray.cluster_utils import Cluster
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
for _ in range(2):
    cluster.add_node(num_cpus=1)
print(cluster.address, flush=True)
sys.stdin.read()
cluster.shutdown()
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs pip install 'hearth-bench[ray]'"),
]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    command = [sys.executable, "-c", CLUSTER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as made:
        assert made.stdout is not None
        yield made.stdout.readline().strip()
        made.communicate(timeout=60)


def run(folder: Path, address: str, *more: str) -> tuple[int, str]:
    environment = {**os.environ, "RAY_ADDRESS": address}
    command = [sys.executable, "-m", "hearth", "bench", "run", *more]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=180)
    return done.returncode, done.stdout + done.stderr


def results(workspace: Path) -> list[tuple[str, bytes, object]]:
    found = []
    for case in sorted(workspace.glob("*/*/case.json")):
        outcome = json.loads((case.parent / "outcome.json").read_text())
        predictions = case.with_name("predictions.jsonl").read_bytes()
        found.append((case.read_text(), predictions, outcome["metrics"]))
    return sorted(found, key=lambda result: result[0])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(JOBS, tmp_path / "jobs"))


def test_results_are_those_of_local_processes(folder: Path, address: str) -> None:
    model = folder / "toy_model.py"
    model.write_text(  # what is drawn and what is hashed must be the same too
        model.read_text()
        .replace("import json\n", "import json\nimport random\n")
        .replace("return [f if", "return [str(random.random()) + str(hash(f)) if random.random() < 0.5 else f if")
    )
    assert run(folder, "", "job_single.yaml", "--workspace", "local", "--seed", "5")[0] == 0
    code, said = run(
        folder, address, "job_single.yaml", "--workspace", "ray", "--engine", "ray", "--jobs", "2", "--seed", "5"
    )
    assert code == 0, said
    assert len(results(folder / "ray" / "single")) == 4
    assert results(folder / "ray" / "single") == results(folder / "local" / "single")


def test_a_case_that_dies_there_loses_no_other(folder: Path, address: str) -> None:
    model = folder / "toy_model.py"
    model.write_text(
        model.read_text().replace(
            "        return self\n", "        self.mode == 'b' and os.kill(os.getpid(), 9)\n        return self\n"
        )
    )
    code, said = run(folder, address, "job_single.yaml", "--engine", "ray", "--jobs", "2")
    assert (code, "2 of 4 cases done" in said, "its process ended with code -9" in said) == (6, True, True), said


def test_a_cluster_that_is_not_there_is_said(folder: Path) -> None:
    code, said = run(folder, "127.0.0.1:1", "job_single.yaml", "--engine", "ray")
    assert (code, "cannot reach the Ray cluster '127.0.0.1:1'" in said) == (3, True), said


def test_users_of_a_stream_come_to_the_same_numbers_there(tmp_path: Path, address: str) -> None:
    """Two owners, the first instructions of each, recall alone: some minutes of one processor, all told."""
    documents: list[dict[str, object]] = []
    for more, where in (([], ""), (["--jobs", "2"], ""), (["--jobs", "2", "--engine", "ray"], address)):
        out = tmp_path / f"{len(documents)}.json"
        command = [sys.executable, "-m", "hearth", "bench", "q2a", "--owner", "mara", "--owner", "jun"]
        command += ["--limit", "2", "--users", str(tmp_path / f"users-{len(documents)}"), "--json", str(out), *more]
        done = subprocess.run(
            command, env={**os.environ, "RAY_ADDRESS": where}, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, done.stderr
        documents.append(json.loads(out.read_text()))
    clocks = ("_ms", "_s", "at", "energy_j", "commit")  # the tree may be edited meanwhile
    numbers = [{key: v for key, v in one.items() if not key.endswith(clocks)} for one in documents]
    assert numbers[0]["n"] == 4
    assert numbers[0] == numbers[1] == numbers[2]

    def kept(users: Path) -> list[str]:
        found = []
        for path in sorted(users.glob("*/result.json")):
            result = json.loads(path.read_text())
            for line in [*result["floor"], *(one for way in result["judged"].values() for one in way)]:
                line.pop("ms")
            found.append(json.dumps(result))
        return found

    assert len(kept(tmp_path / "users-0")) == 2
    assert kept(tmp_path / "users-0") == kept(tmp_path / "users-1") == kept(tmp_path / "users-2")  # to the bit
