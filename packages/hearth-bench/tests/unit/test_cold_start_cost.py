"""What a command takes is measured from outside: wall time to the first and the last byte, and CPU time."""

from __future__ import annotations

import sys

from hearth_bench.measure.agent.cold_start import _ask

WAITS = "import time; print('a', flush=True); time.sleep(0.4)"
WORKS = "import time; end = time.process_time() + 0.4\nwhile time.process_time() < end: pass\nprint('a')"


def test_a_wait_is_wall_time_alone() -> None:
    first, whole, cpu = _ask([sys.executable, "-c", WAITS])
    assert first + 0.3 < whole
    assert 0 < cpu < 0.35


def test_work_is_cpu_time() -> None:
    first, whole, cpu = _ask([sys.executable, "-c", WORKS])
    assert 0.4 <= cpu < whole + 0.1
    assert first >= 0.4
