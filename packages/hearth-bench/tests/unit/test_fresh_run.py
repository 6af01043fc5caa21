"""A run is timed by its lines and ended above its memory."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from hearth_bench.measure.fresh_run import memory_bytes, processes, run, summary

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
SPENDS = "import time; held = bytearray(200_000_000); held[::4096] = b'x' * len(held[::4096]); time.sleep(60)"


def test_lines_are_timed_and_counted(tmp_path: Path) -> None:
    seen = run(
        ["sh", "-c", "echo '1/12  A'; echo '  answer    42'; echo '  left out: voice'"],
        tmp_path,
        dict(os.environ),
        10**9,
    )
    found = summary(seen, tmp_path, 10**9)
    assert (found["scenes"], found["left_out"], found["exit_code"], found["ended"]) == (1, ["left out: voice"], 0, "")
    assert found["first_answer_s"] is not None


def test_a_run_above_its_memory_is_killed_with_what_it_started(tmp_path: Path) -> None:
    seen = run(["sh", "-c", f'"{sys.executable}" -c "{SPENDS}"; true'], tmp_path, dict(os.environ), 100_000_000)
    assert "bytes of memory" in seen.ended
    assert seen.peak_bytes > 100_000_000
    assert seen.exit_code != 0


def test_memory_is_that_of_the_process_and_its_children() -> None:
    assert os.getpid() in processes(os.getpid())
    assert memory_bytes([os.getpid()]) > 1_000_000
    assert memory_bytes([2**22 + 1]) == 0
