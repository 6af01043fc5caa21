"""Keeps the results of reads made before it is known whether they are needed, for one request, with no network.

While a teacher is asked, the read-only steps of the device's own plan may begin (`execution.executor`). Their
results are kept here by tool, values and labels; when the settled plan makes the very same call, it gets that result
instead of a second call. Another call finds nothing here.

Covered: nothing leaves the device on account of a plan that may be dropped; a result is never used for other values, or
for values that came from elsewhere; results last only for one request, and only until its first step that changes or
sends something: what is read after that is read again. Not covered: changes to a record between the two moments
(seconds, while the teacher answered); a step's own words, which memory search reads beside its query.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NoReturn

from hearth.errors import EgressError
from hearth.guard.labels import Value
from hearth.protocols import Cause
from hearth.storage.trace import label_text

if TYPE_CHECKING:
    import ssl

    import httpx


class Foreseen:
    """Results of read calls, made in one thread and used in others."""

    def __init__(self) -> None:
        self._values: dict[str, tuple[Value, tuple[str, ...]]] = {}
        self._lock = threading.Lock()
        self.n_taken = 0
        """Number of results used."""

    def keep(self, tool: str, arguments: Mapping[str, Value], result: Value, notices: tuple[str, ...]) -> None:
        """Remember the result of a call, and its notices."""
        with self._lock:
            self._values[_key(tool, arguments)] = (result, notices)

    def take(self, tool: str, arguments: Mapping[str, Value]) -> tuple[Value, tuple[str, ...]] | None:
        """Take the result of the very same call, once; None if it was not made."""
        with self._lock:
            found = self._values.pop(_key(tool, arguments), None) if self._values else None
            self.n_taken += found is not None
            return found


def _key(tool: str, arguments: Mapping[str, Value]) -> str:
    values = {name: [label_text(value.label), value.data] for name, value in arguments.items()}
    return json.dumps([tool, values], sort_keys=True, default=repr)


class ShutEgress:
    """A `protocols.Egress` for calls of an unsettled plan: nothing leaves on their account, nothing is recorded."""

    def transport(self, reason: str, *, is_web: bool = False) -> httpx.BaseTransport:  # noqa: ARG002 - the seam's
        """Raises: EgressError."""
        _refuse()

    @contextlib.contextmanager
    def permit(self, host: str, port: int, reason: str) -> Iterator[None]:  # noqa: ARG002
        """Raises: EgressError."""
        _refuse()
        yield

    def record(self, host: str, payload: bytes, reason: str, *, tls: str = "") -> None:  # noqa: ARG002
        """Raises: EgressError."""
        _refuse()

    def tls(self, host: str) -> ssl.SSLContext:  # noqa: ARG002
        """Raises: EgressError."""
        _refuse()

    def spent(self, host: str, n_tokens: int, reason: str) -> None:  # noqa: ARG002
        """Raises: EgressError."""
        _refuse()

    def on_behalf(self, cause: Cause) -> ShutEgress:  # noqa: ARG002
        """Return the same closed egress."""
        return self


def _refuse() -> NoReturn:
    raise EgressError("nothing is sent for a plan that is not settled yet; the step is run when it is")
