"""Run one case in the process that an engine started for it (`local_processes` is the engine's side).

`python -m hearth_bench.ianvs.cases.case_process MODULE:FUNCTION` imports the module, waits for a line of
`local_processes.order` on standard input, calls the function with the folder named there, and reports its progress on
standard output. What it and its modules print goes to `log.txt` in that folder.

Covered: Ctrl-C; the parent's death (this process ends too); connections, unless they were allowed; threads left behind.
Not covered: child processes of a module, which may connect and live on.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import NoReturn, TextIO

from hearth.errors import StoreError
from hearth.guard.egress.audit_hook import install_network_guard
from hearth_bench.ianvs.case_outcome import CANNOT_WRITE, Run

_REPORT_S = 0.1


def main(program: str) -> NoReturn:
    """Run one case and end the process.

    Args:
        program: `MODULE:FUNCTION` of a `Run`, such as `local_processes.JOB_CASE`.
    """
    code = _serve(program)
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)  # ends the process even if a module left threads behind


def _serve(program: str) -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell makes background processes ignore it
    told = os.fdopen(os.dup(0), "r")
    said = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    run = _imported(program)
    line = told.readline()
    if not line:
        return 0  # there is no case for this process
    asked = json.loads(line)
    folder = Path(asked["folder"])
    if not asked["network"]:
        install_network_guard()
    log = os.open(folder / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    threading.Thread(target=_end_with_parent, args=(told,), daemon=True).start()
    sys.path.append(os.getcwd())
    last_doing, last_at = "", 0.0

    def report(doing: str, share: float) -> None:
        nonlocal last_doing, last_at
        if doing != last_doing or time.monotonic() - last_at > _REPORT_S:
            last_doing, last_at = doing, time.monotonic()
            print(json.dumps({"doing": doing, "share": round(share, 4)}), file=said)

    try:
        run(folder, report)
    except KeyboardInterrupt:
        return 130
    except StoreError as error:
        print(json.dumps({"fault": str(error)}), file=said)
        return CANNOT_WRITE
    return 0


def _imported(program: str) -> Run:
    """Import the function with garbage collection off, since imported objects stay."""
    module, _, name = program.partition(":")
    gc.disable()
    try:
        found: Run = getattr(importlib.import_module(module), name)
    finally:
        gc.freeze()
        gc.enable()
    return found


def _end_with_parent(told: TextIO) -> None:
    """End this process when the pipe closes, which it does however the parent ends."""
    told.read()
    os._exit(130)


if __name__ == "__main__":
    main(sys.argv[1])
