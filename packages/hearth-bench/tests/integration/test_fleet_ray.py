"""A simulated fleet on a cluster of two machines, both this one: the document to the last letter that of one process.

Needs the extra `ray`; left out where it is not installed.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_ray_engine import CLUSTER

from tests import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs pip install 'hearth-bench[ray]'"),
]
RUN = """
import sys
from pathlib import Path
from test_fleet import Letters, document_of
from hearth_bench.fleet.simulation import Fleet, simulate
from hearth_bench.fleet.habits import Habit
from hearth_bench.fleet.simulation_parts import Settings
made = Fleet(Settings(26, Habit(seed=3, n_days=2, requests_a_day=2.0, n_variants=4), n_probed=1), Path(sys.argv[1]))
made.open(resumes=True)
simulate(made, Letters(), engine=sys.argv[2], n_processes=2)
print(document_of(made))
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    command = [sys.executable, "-c", CLUSTER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as made:
        assert made.stdout is not None
        yield made.stdout.readline().strip()
        made.communicate(timeout=60)


def run(folder: Path, engine: str, address: str) -> str:
    root = str(ROOT)
    paths = [root, os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "RAY_ADDRESS": address, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(folder), engine],
        capture_output=True,
        text=True,
        env=environment,
        cwd=root,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_the_cluster_gives_the_result_of_one_process(address: str, tmp_path: Path) -> None:
    on_ray, here = run(tmp_path / "ray", "ray", address), run(tmp_path / "local", "local", "")
    assert on_ray == here
    assert len(list((tmp_path / "ray" / "parts").glob("*.npz"))) == 5


def test_no_cluster_is_said(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"cannot reach the Ray cluster '127\.0\.0\.1:9'"):
        run(tmp_path / "none", "ray", "127.0.0.1:9")
