"""Give one call a workspace that can be cut off: after that, the call changes no file any more.

A tool that hangs cannot be ended, only left behind. Its thread may wake up after its changes were rolled back, or after
the same step was done in another way; what it then tries to write is refused. Covered: `write` and `delete`, also when
one is going on while the leash is cut. Not covered: what the tool does outside its workspace.
"""

from __future__ import annotations

import datetime as dt
import threading

from hearth.errors import CancelledError
from hearth.protocols import FileStat, Workspace


class Leash:
    """A `protocols.Workspace` that works until it is cut."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = threading.Lock()
        self._is_cut = False

    def cut(self, within_s: float) -> bool:
        """Let no write begin any more; return False when one is still going on after `within_s`."""
        is_quiet = self._lock.acquire(timeout=within_s)
        self._is_cut = True
        if is_quiet:
            self._lock.release()
        return is_quiet

    def _check(self) -> None:
        if self._is_cut:
            raise CancelledError("this call was stopped; nothing more is written for it")

    def write(self, path: str, data: bytes) -> None:
        with self._lock:
            self._check()
            self._workspace.write(path, data)

    def delete(self, path: str) -> None:
        with self._lock:
            self._check()
            self._workspace.delete(path)

    def read(self, path: str) -> bytes:
        return self._workspace.read(path)

    def exists(self, path: str) -> bool:
        return self._workspace.exists(path)

    def list(self, folder: str = "", pattern: str = "*") -> tuple[str, ...]:
        return self._workspace.list(folder, pattern)

    def modified(self, path: str) -> dt.datetime:
        return self._workspace.modified(path)

    def stat(self, path: str) -> FileStat:
        return self._workspace.stat(path)

    def real_path(self, path: str) -> str:
        return self._workspace.real_path(path)
