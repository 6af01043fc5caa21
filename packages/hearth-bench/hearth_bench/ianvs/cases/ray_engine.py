"""Run cases on a Ray cluster: the same processes, on machines that see the same files under the same paths.

Covered: the same results as on one machine (each case has its own process and seed); Ctrl-C ends the cases; the loss of
a machine is reported. Not covered: copying data or code to the machines.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import ray

from hearth.errors import RequestError
from hearth.guard.egress.audit_hook import Permit, permitted
from hearth_bench.ianvs.case_outcome import CANNOT_WRITE
from hearth_bench.ianvs.cases.local_processes import Case, Conditions, Event, command, environment, order

_WAIT_S = 0.5
_REACH_S = 5.0


def _run_folder(program: str, folder: str, working: str, seed: int, limit_s: float, network: bool) -> str:
    """Run one case on the machine that Ray chose, and return why it ended. The case's process ends with this one."""
    if not (Path(working).is_dir() and Path(folder).is_dir()):
        return f"this machine does not see {folder!r}; share the workspace, the data and the code"
    child = subprocess.Popen(
        command(program),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=working,
        env=environment(seed),
    )
    assert child.stdin is not None
    with child.stdin:
        child.stdin.write(order(Path(folder), network))
        child.stdin.flush()
        try:
            code = child.wait(limit_s or None)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            return f"no end after {limit_s:g} s"
    return f"its process ended with code {code}"


def _check_reachable(address: str) -> None:
    """Check that something listens at the address; Ray itself would end this process after a quarter of a minute."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not (host and port.isdecimal()):
        if address in ("auto", "local"):
            return
        raise RequestError(f"RAY_ADDRESS is {address!r}; expected HOST:PORT, 'auto' or 'local'")
    try:
        with permitted(Permit(host, int(port), is_private_fine=True)):
            socket.create_connection((host, int(port)), _REACH_S).close()
    except OSError as error:
        raise RequestError(f"cannot reach the Ray cluster {address!r} (RAY_ADDRESS): {error}") from None


def join_cluster(n_at_once: int, address: str) -> None:
    """Connect to the cluster at `address`, or start one here.

    Raises:
        RequestError: There is no cluster at the address.
    """
    if address:
        _check_reachable(address)
    if ray.is_initialized():
        return
    try:
        ray.init(
            address=address or None,
            num_cpus=None if address else n_at_once,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="ERROR",
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise RequestError(f"cannot reach the Ray cluster {address!r} (RAY_ADDRESS): {error}") from None


class RayEngine:
    """Runs `n_at_once` cases on the cluster at `address`, or on one started here.

    Raises:
        RequestError: There is no cluster at the address.
    """

    def __init__(self, n_at_once: int, conditions: Conditions, address: str = "") -> None:
        self._n_at_once, self._conditions = n_at_once, conditions
        join_cluster(n_at_once, address)

    def run(self, cases: Sequence[Case]) -> Iterator[Event]:
        remote: Any = ray.remote(num_cpus=1, max_retries=0)(_run_folder)
        waiting, running = list(cases), dict[Any, Case]()
        working = os.getcwd()
        try:
            while waiting or running:
                while waiting and len(running) < self._n_at_once:
                    case = waiting.pop(0)
                    folder, how = str(case.folder.absolute()), self._conditions
                    running[remote.remote(how.program, folder, working, how.seed, how.limit_s, how.network)] = case
                done, _ = ray.wait(list(running), timeout=_WAIT_S)
                for reference in done:
                    case = running.pop(reference)
                    try:
                        fault = str(ray.get(reference))
                    except ray.exceptions.RayError as error:
                        fault = f"its machine was lost: {type(error).__name__}"
                    could_write = not fault.endswith(f" {CANNOT_WRITE}")
                    yield Event(case, has_ended=True, fault=fault, could_write=could_write)
        finally:
            for reference in running:
                with contextlib.suppress(ray.exceptions.RayError):
                    ray.cancel(reference, force=True)
            if running:
                time.sleep(_WAIT_S)  # time for the cases to notice that their parents are gone
