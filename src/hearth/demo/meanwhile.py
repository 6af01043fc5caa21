"""A command that runs beside the demo: it installs what the later scenes need while the first ones are played."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator

_SAID_EVERY_S = 10.0
_ENDS_S = 5.0


class Meanwhile:
    """Starts the command at once. Close it: a command that still runs then is ended."""

    def __init__(self, command: str) -> None:
        """Start `command` in a shell; an empty one is over at once."""
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the command
        self._process: subprocess.Popen[bytes] | None = None
        if command:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", command], stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.STDOUT
            )

    def wait(self) -> Iterator[str]:
        """Wait until the command is over, yielding lines of progress; how it failed, if it did."""
        process = self._process
        if process is None:
            return
        waited_s = 0.0
        while True:
            try:
                process.wait(_SAID_EVERY_S if waited_s else 0.1)
                break
            except subprocess.TimeoutExpired:
                yield f"waiting for what this scene needs to be installed … {waited_s:.0f} s"
                waited_s += _SAID_EVERY_S
        if process.returncode:
            self._log.seek(0)
            last = self._log.read().decode(errors="replace").strip().splitlines()[-1:]
            yield f"it could not be installed: {last[0] if last else f'exit code {process.returncode}'}"
        self._process = None

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_ENDS_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._log.close()
