"""Each distribution's wheel in an empty environment: whether it installs, how much it brings, and its main command.

    python -m hearth_bench.measure.installs

Builds the five wheels, makes an environment for each, installs it there from the package index and the wheels built,
and runs its main command. Writes `installs.json`. Sizes are those of the environment's files, less an empty one's.

Not covered: the encoder's weights, which the core asks for with their own command, and optional extras.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Mapping
from pathlib import Path

from hearth_bench.measure.result_file import ROOT, write_result

DISTRIBUTIONS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "hearth-agent": (".", ("tools",)),
    "hearth-home": ("packages/hearth-home", ("devices", "--help")),
    "hearth-video": ("packages/hearth-video", ("video", "--help")),
    "hearth-cloud": ("packages/hearth-cloud", ("cloud", "--help")),
    "hearth-bench": ("packages/hearth-bench", ("bench", "--help")),
}
"""Distribution -> its folder, and a command of it that needs neither weights nor a network."""


def main() -> int:
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        _run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(work), *_places()], ROOT)
        empty = _bytes(_environment(work / "empty"))
        results = {name: _installed(name, work, empty) for name in DISTRIBUTIONS}
    write_result("installs", results, seed=0, cpu_s=time.process_time() - cpu_s, wall_s=time.perf_counter() - wall_s)
    return 0 if all(result["main_command_exit_code"] == 0 for result in results.values()) else 1


def _places() -> list[str]:
    return [str(ROOT / place) for place, _ in DISTRIBUTIONS.values()]


def _environment(folder: Path) -> Path:
    venv.create(folder, with_pip=True)
    return folder


def _installed(name: str, work: Path, empty_bytes: int) -> dict[str, object]:
    print(f"── {name} ──", flush=True)
    folder = _environment(work / name)
    started_s = time.perf_counter()
    python = str(folder / "bin" / "python")
    _run([python, "-m", "pip", "install", "-q", "--no-compile", "--find-links", str(work), name], work)
    install_s = time.perf_counter() - started_s
    n_bytes = _bytes(folder) - empty_bytes
    command = DISTRIBUTIONS[name][1]
    home = {**os.environ, "HOME": str(work / "home"), "HEARTH_HOME": str(work / "home" / "hearth")}
    said = subprocess.run([folder / "bin" / "hearth", "--version"], capture_output=True, text=True, env=home)
    ran = subprocess.run([folder / "bin" / "hearth", *command], capture_output=True, text=True, env=home)
    (wheel,) = work.glob(f"{name.replace('-', '_')}-*.whl")
    return {
        "says": said.stdout.strip(),
        "main_command": " ".join(("hearth", *command)),
        "main_command_exit_code": ran.returncode,
        "wheel_mb": round(wheel.stat().st_size / 1e6, 2),
        "installed_mb": round(n_bytes / 1e6, 1),
        "install_s": round(install_s, 1),
    }


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def _run(command: list[str], cwd: Path) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")


if __name__ == "__main__":
    sys.exit(main())
