"""The only door to the network: closed but for the hosts the owner named, and everything that passes is written down.

`Egress.transport` is for code that speaks HTTP through httpx; `Egress.permit` lets a library that opens its own sockets
(IMAP, SMTP, CalDAV) reach one host and port while its block runs. `install_network_guard` makes the interpreter itself
refuse every other connection.

Covered: TCP and UDP through Python's `socket` in every thread (`connect`, `connect_ex`, `sendto`, `sendmsg`), name
look-ups, each hop of a redirect, an address that the permitted name does not resolve to.
Not covered: C extensions that open sockets themselves, child processes, Unix sockets, sockets that listen here and what
is sent on them, connections opened before the guard was installed, bytes of TLS and TCP themselves in the counts, and
what a permitted host does with what it gets.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import ipaddress
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hearth.errors import ConfigError, EgressError
from hearth.store import Store
from hearth.types import Disclosure

if TYPE_CHECKING:
    import httpx

# ── The interpreter's own check ───────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Permit:
    host: str
    port: int


N_LOOK_UPS = 3
"""A name with many addresses may give a different one at each look-up."""

_permits: ContextVar[tuple[_Permit, ...]] = ContextVar("hearth_network_permits", default=())
_is_resolving: ContextVar[bool] = ContextVar("hearth_network_resolving", default=False)
_is_installed = False


def install_network_guard() -> None:
    """From now on refuse any connection of this process that runs outside an egress permit, with EgressError.

    Cannot be taken back; calling it again changes nothing.
    """
    global _is_installed
    if not _is_installed:
        _is_installed = True
        sys.addaudithook(_audit)


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if not event.startswith("socket."):
        return
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        _check_address(args[0], args[1])
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"):
        _check_name(args[0])


def _check_address(sock: Any, address: object) -> None:
    """`address` is None for a sendmsg on a connected socket: the connection was checked."""
    if address is None or sock.family not in (socket.AF_INET, socket.AF_INET6):
        return
    host, port = (address[0], address[1]) if isinstance(address, tuple) and len(address) >= 2 else (address, 0)
    host = _normal(host)
    if any(permit.port == port and _leads_to(permit, host) for permit in _permits.get()):
        return
    raise EgressError(
        f"a connection to {host!r} port {port!r} was refused, nothing was sent; only the tools' network door may open "
        "one, to hosts under `allow` in [network] of hearth.toml"
    )


def _check_name(name: object) -> None:
    """A look-up of a name is a message to a name server."""
    if isinstance(name, tuple):
        name = name[0]
    host = _normal(name)
    if _is_resolving.get() or host in ("", "localhost") or _is_address(host):
        return
    if not any(permit.host == host for permit in _permits.get()):
        raise EgressError(
            f"looking up the name {host!r} was refused, nothing was sent; name the host under `allow` in [network] of "
            "hearth.toml, and reach it through the tools' network door"
        )


def _leads_to(permit: _Permit, host: str) -> bool:
    if host == permit.host:
        return True
    token = _is_resolving.set(True)
    try:
        for _ in range(N_LOOK_UPS):
            found = socket.getaddrinfo(permit.host, permit.port, type=socket.SOCK_STREAM)
            if any(_normal(entry[4][0]) == host for entry in found):
                return True
    except OSError:
        return False
    finally:
        _is_resolving.reset(token)
    return False


def _normal(host: object) -> str:
    if host is None:
        return ""
    text = host.decode("ascii", "replace") if isinstance(host, bytes | bytearray) else str(host)
    return text.rstrip(".").partition("%")[0].lower()


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


# ── The door ──────────────────────────────────────────────────────────────────────────────────────────────


class Egress:
    """A `protocols.Egress` for the hosts the owner allows.

    `purpose` is the id of the episode on whose behalf things leave; it is written beside each disclosure.
    """

    def __init__(self, allow: Iterable[str], store: Store, clock: Callable[[], dt.datetime]) -> None:
        """Open the door for `allow` (`host` or `host:port`, exact names).

        Raises:
            ConfigError: An entry is no plain host name.
        """
        self._allowed = frozenset(_entry(text) for text in allow)
        self._store = store
        self._clock = clock
        self.purpose = ""

    def transport(self, reason: str) -> httpx.BaseTransport:
        """See `protocols.Egress`. Each redirect is checked as a new request; no proxy of the environment is used."""
        from hearth.guard.http import CheckedTransport  # httpx costs a start 0.2 s, and most starts send nothing

        return CheckedTransport(self, reason)

    @contextlib.contextmanager
    def permit(self, host: str, port: int, reason: str) -> Iterator[None]:
        """See `protocols.Egress`. Holds for this thread (and task) only; the opening is written down, with 0 bytes."""
        with self.opened(host, port, reason, b"", 0):
            yield

    def record(self, host: str, payload: bytes, reason: str) -> None:
        """See `protocols.Egress`."""
        self._disclose(_normal(host), payload, len(payload), reason)

    def disclosures(self, purpose: str) -> tuple[Disclosure, ...]:
        """What left on behalf of one episode, in order."""
        rows = self._store.query(
            "SELECT host, n_bytes, reason, at FROM disclosure WHERE episode = ? AND episode <> '' ORDER BY number",
            (purpose,),
        )
        return tuple(Disclosure(r["host"], r["n_bytes"], r["reason"], dt.datetime.fromisoformat(r["at"])) for r in rows)

    @contextlib.contextmanager
    def opened(self, host: str, port: int, reason: str, payload: bytes, n_bytes: int) -> Iterator[None]:
        """Check the host, write down what is about to leave, and let this thread connect while the block runs.

        Raises:
            EgressError: The host is not allowed; nothing was sent.
            StoreError: It could not be written down; nothing was sent.
        """
        name = _normal(host)
        if (name, port) not in self._allowed and (name, 0) not in self._allowed:
            known = ", ".join(sorted(f"{h}:{p}" if p else h for h, p in self._allowed)) or "none"
            raise EgressError(
                f"{name!r} port {port} is not a host Hearth may reach, nothing was sent; allowed: {known}. "
                f'To allow it, add "{name}" to `allow` under [network] in hearth.toml'
            )
        self._disclose(name, payload, n_bytes, reason)
        token = _permits.set((*_permits.get(), _Permit(name, port)))
        try:
            yield
        finally:
            _permits.reset(token)

    def _disclose(self, host: str, payload: bytes, n_bytes: int, reason: str) -> None:
        with self._store.transaction() as cursor:
            cursor.execute(
                "INSERT INTO disclosure (at, host, reason, payload, n_bytes, episode) VALUES (?, ?, ?, ?, ?, ?)",
                (self._clock().isoformat(), host, reason, payload, n_bytes, self.purpose),
            )


def _entry(text: str) -> tuple[str, int]:
    host, colon, port = text.strip().rpartition(":")
    if not colon or _is_address(text.strip()):
        host, port = text.strip(), "0"
    host = _normal(host.strip("[]"))
    if not host or any(c in host for c in "*?/@ \t") or not port.isdigit() or int(port) > 65535:
        raise ConfigError(
            f"{text!r} under `allow` in [network] is not a host; write an exact name such as 'mail.example.org' or "
            "'mail.example.org:993', without wildcards or https://"
        )
    return host, int(port)
