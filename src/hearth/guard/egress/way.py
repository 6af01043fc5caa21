"""A way to a host, and what the transport asks of the gateway that checked it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from hearth.config import Network
from hearth.protocols import Cause

if TYPE_CHECKING:
    import ssl


@dataclass(frozen=True, slots=True)
class Way:
    """A way to a host, and on whose behalf it is used."""

    host: str
    port: int
    is_tls: bool
    is_web: bool
    reason: str
    cause: Cause
    is_private_fine: bool = False
    """Whether it may lead to an address that is not out in the internet; the gateway says so when it checks the way."""


class Gateway(Protocol):
    """The network door as the transport sees it; `gateway.Egress` says what each method promises."""

    limits: Network

    def way(self, wanted: Way) -> Way: ...

    def opened(self, way: Way) -> AbstractContextManager[tuple[str, ...]]: ...

    def send(self, way: Way, payload: bytes, n_bytes: int, address: str, tls: str) -> None: ...

    def tls(self, host: str) -> ssl.SSLContext: ...
