"""Measure `make run` as on a fresh machine: first answer, whole run, disk and memory, within limits that end the run.

    python -m hearth_bench.measure.fresh_run                 writes results/fresh_run.json
    python -m hearth_bench.measure.fresh_run --keep DIR      keeps the checkout and its environment
    python -m hearth_bench.measure.fresh_run --check DIR     runs there again, with all installed; writes nothing

The commit that is checked out is cloned into a folder with a space in its name; home folder and caches are empty, pip
gets no settings but the certificates of this machine, so everything comes from the package index. Two cores. There is
no terminal, no browser and no sound device.

Memory is the sum of the proportional set sizes (`/proc/*/smaps_rollup`) of `make` and all that it starts, read five
times a second. A run above the limit is killed and the program ends with 1.

Not covered: what the kernel keeps of files in its cache; peaks between two readings. Linux only.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from hearth_bench.measure.result_file import ROOT, write_result

MAX_MEMORY_BYTES = 2_000_000_000
FIRST_ANSWER_S, WHOLE_RUN_S, INSTALLED_BYTES = 180.0, 300.0, 1_500_000_000
"""What the run may take: the first answer, all of it, and the environment on the disk."""
_SAMPLED_EVERY_S = 0.2
_ENDS_AFTER_S = 1800.0
_ANSWERED = "  answer "
"""How the line of the output begins that holds an answer."""


@dataclass
class Run:
    """What was seen of one run."""

    lines: list[tuple[float, str]] = field(default_factory=list)
    """Seconds after the start, and what was printed."""
    peak_bytes: int = 0
    peak_at_s: float = 0.0
    ended: str = ""
    """Why it was ended before its time; empty where it was not."""
    exit_code: int = 0
    wall_s: float = 0.0

    def first(self, beginning: str) -> float | None:
        return next((round(at, 1) for at, line in self.lines if line.startswith(beginning)), None)


def processes(root: int) -> list[int]:
    """Return a process and all that it started, whichever of them still run."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError, ValueError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found, waiting = [], [root]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += children.get(one, [])
    return found


def memory_bytes(pids: list[int]) -> int:
    """Return the sum of proportional set sizes: what is shared counts once."""
    total = 0
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        total += sum(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:"))
    return total


def run(command: list[str], cwd: Path, environ: dict[str, str], max_memory_bytes: int) -> Run:
    """Run a command on two cores, with every line's time, and end it above the memory it may take."""
    seen, cores = Run(), sorted(os.sched_getaffinity(0))[:2]
    began = time.perf_counter()
    process = subprocess.Popen(
        ["taskset", "-c", ",".join(map(str, cores)), *command],
        cwd=cwd,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    lines = process.stdout

    def listen() -> None:
        for line in lines:
            seen.lines.append((time.perf_counter() - began, line.rstrip("\n")))
            print(f"{seen.lines[-1][0]:7.1f}  {seen.lines[-1][1]}", flush=True)

    listening = threading.Thread(target=listen)
    listening.start()
    while process.poll() is None:
        now_s, now_bytes = time.perf_counter() - began, memory_bytes(processes(process.pid))
        if now_bytes > seen.peak_bytes:
            seen.peak_bytes, seen.peak_at_s = now_bytes, now_s
        if now_bytes > max_memory_bytes:
            seen.ended = f"{now_bytes:,} bytes of memory after {now_s:.1f} s"
        elif now_s > _ENDS_AFTER_S:
            seen.ended = f"it took more than {_ENDS_AFTER_S:.0f} s"
        if seen.ended:
            os.killpg(process.pid, signal.SIGKILL)
            break
        time.sleep(_SAMPLED_EVERY_S)
    seen.exit_code = process.wait()
    listening.join()
    lines.close()
    seen.wall_s = time.perf_counter() - began
    return seen


def environment(folder: Path) -> dict[str, str]:
    """Return the variables of somebody who has just signed in: nothing of this shell but certificates and data."""
    data = os.environ.get("HEARTH_DATA", str(ROOT.parent / "shared" / "data"))
    kept = {
        name: os.environ[name]
        for name in ("PIP_CERT", "SSL_CERT_FILE", "http_proxy", "https_proxy")
        if name in os.environ
    }
    home = folder / "home"
    home.mkdir(exist_ok=True)
    path = "/usr/local/bin:/usr/bin:/bin"
    return {
        "HOME": str(home),
        "PATH": path,
        "LANG": "C.UTF-8",
        "HEARTH_DATA": data,
        "PIP_CONFIG_FILE": os.devnull,
        **kept,
    }


def folder_bytes(folder: Path) -> int:
    """Return what the files of a folder take; a file with several names counts once."""
    sizes: dict[tuple[int, int], int] = {}
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            status = path.stat()
            sizes[status.st_dev, status.st_ino] = status.st_blocks * 512
    return sum(sizes.values())


def summary(seen: Run, checkout: Path, max_memory_bytes: int) -> dict[str, object]:
    first, whole = seen.first(_ANSWERED), round(seen.wall_s, 1)
    installed = folder_bytes(checkout / ".venv") if (checkout / ".venv").is_dir() else 0
    moments = [at for at, _ in seen.lines]
    silence_s = max((later - at for at, later in itertools.pairwise(moments)), default=0.0)
    scenes = sum(1 for _, line in seen.lines if "/12  " in line[:7])
    return {
        "asked": {
            "first_answer_s": FIRST_ANSWER_S,
            "whole_run_s": WHOLE_RUN_S,
            "installed_bytes": INSTALLED_BYTES,
            "memory_bytes": max_memory_bytes,
        },
        "first_line_s": round(seen.lines[0][0], 1) if seen.lines else None,
        "hearth_begins_s": seen.first("Demo home in "),
        "first_answer_s": first,
        "whole_run_s": whole,
        "longest_silence_s": round(silence_s, 1),
        "installed_bytes": installed,
        "peak_memory_bytes": seen.peak_bytes,
        "peak_memory_at_s": round(seen.peak_at_s, 1),
        "memory_limit": "enforced: killed above it (sum of proportional set sizes, sampled)",
        "scenes": scenes,
        "left_out": [line.strip() for _, line in seen.lines if line.startswith("  left out: ")],
        "exit_code": seen.exit_code,
        "ended": seen.ended,
        "load_at_the_end": [round(one, 2) for one in os.getloadavg()],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, help="the folder for checkout and home, kept afterwards")
    parser.add_argument("--check", type=Path, help="a folder that --keep made: run there again, write nothing")
    parser.add_argument("--memory-bytes", type=int, default=MAX_MEMORY_BYTES, help="end the run above this")
    given = parser.parse_args()
    cpu_s = time.process_time()
    folder = given.check or given.keep or Path(tempfile.mkdtemp(prefix="hearth-fresh-"))
    checkout = folder / "a fresh checkout"
    try:
        if given.check is None:
            folder.mkdir(parents=True, exist_ok=True)
            subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(checkout)], check=True)
        seen = run(["make", "run"], checkout, environment(folder), given.memory_bytes)
        results = summary(seen, checkout, given.memory_bytes)
    finally:
        if given.keep is None and given.check is None:
            shutil.rmtree(folder, ignore_errors=True)
    if given.check is None:
        write_result("fresh_run", results, seed=0, cpu_s=time.process_time() - cpu_s, wall_s=seen.wall_s)
    else:
        print(results)
    return 1 if seen.ended or seen.exit_code else 0


if __name__ == "__main__":
    sys.exit(main())
