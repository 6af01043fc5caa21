"""A checked way to a host, and what the transport asks of the gateway that checked it."""

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
    """A checked way to a host, and on whose behalf it is used."""

    host: str
    port: int
    is_tls: bool
    is_web: bool
    is_private_fine: bool
    reason: str
    cause: Cause


class Gateway(Protocol):
    """The network door as the transport sees it; `gateway.Egress` says what each method promises."""

    limits: Network

    def way(
        self, host: str, port: int, reason: str, cause: Cause, *, scheme: str = "https", is_web: bool = False
    ) -> Way: ...

    def opened(self, way: Way) -> AbstractContextManager[tuple[str, ...]]: ...

    def send(self, way: Way, payload: bytes, n_bytes: int, address: str, tls: str) -> None: ...

    def tls(self, host: str) -> ssl.SSLContext: ...
