"""Which addresses a connection may go to, the way to one that was checked, and a hook that refuses all others."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from hearth.config import Network
from hearth.errors import EgressError
from hearth.protocols import Cause

if TYPE_CHECKING:
    import ssl


# ── Audit hook ────────────────────────────────────────────────────────────────────────────────────────────
# Installs an audit hook with which the interpreter refuses every connection and look-up made outside a permit.
#
# Covered: TCP and UDP through Python's `socket` in every thread (`connect`, `connect_ex`, `sendto`, `sendmsg`), name
# look-ups, an address that the permitted name does not resolve to, a public name that leads inside. Not covered: C
# extensions that open sockets themselves, child processes, Unix sockets, sockets that listen here and what is sent on
# them, connections opened before the hook was installed.

# ── Public addresses ───────────────────────────────────────────────────────────────────────────────────
# Decides which network addresses count as public: pure functions over addresses and names, without look-ups.
# Covered: private, link-local, loopback, shared, reserved and multicast ranges of IPv4 and IPv6; cloud metadata
# addresses; IPv4 addresses inside IPv6 ones (mapped, compatible, 6to4, Teredo, NAT64, ISATAP); decimal, octal,
# hexadecimal and shortened forms, which do not count as addresses here, and which `config.host_and_port` does not
# accept.
# Not covered: public addresses that a router leads back inside.


Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_METADATA = frozenset(
    ipaddress.ip_address(text) for text in ("169.254.169.254", "168.63.129.16", "100.100.100.200", "fd00:ec2::254")
)
"""Cloud metadata services, which give a machine its own secrets; one of them is in a public range."""
_NAT64 = tuple(ipaddress.IPv6Network(text) for text in ("64:ff9b::/96", "64:ff9b:1::/48"))
_COMPATIBLE = ipaddress.IPv6Network("::/96")
_LOCAL_ENDINGS = ("local", "localhost", "lan", "home", "home.arpa", "internal", "intranet", "private")


def as_address(text: str) -> Address | None:
    """Parse `text` as an address in its plain form, without a zone; None for anything else.

    Only an IPv6 address has a zone: `127.0.0.1%a.example` is a name, and is looked up as one.
    """
    plain, zone, _ = text.partition("%")
    try:
        found = ipaddress.ip_address(plain)
    except ValueError:
        return None
    return found if not zone or found.version == 6 else None


def is_public(text: str) -> bool:
    """Return whether `text` is a public internet address, and so is every address embedded in it."""
    address = as_address(text)
    return address is not None and all(_is_public(inner) for inner in _with_embedded(address))


def is_local_name(host: str) -> bool:
    """Return whether a name is plainly of this machine or this house: an address, `nas`, `nas.local`."""
    if as_address(host) is not None:
        return True
    return bool(host) and ("." not in host or any(host.endswith(f".{ending}") for ending in _LOCAL_ENDINGS))


def _is_public(address: Address) -> bool:
    if address in _METADATA or address.is_multicast or address.is_unspecified or address.is_reserved:
        return False
    return address.is_global and not address.is_private


def _with_embedded(address: Address) -> Iterator[Address]:
    if isinstance(address, ipaddress.IPv4Address):
        yield address
        return
    low = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    inside: list[ipaddress.IPv4Address] = []
    if address.ipv4_mapped is not None:
        inside.append(address.ipv4_mapped)
    if address.sixtofour is not None:
        inside.append(address.sixtofour)
    if address.teredo is not None:
        inside.extend(address.teredo)
    is_translated = any(address in network for network in _NAT64)
    is_isatap = (int(address) >> 32) & 0xFDFFFFFF == 0x5EFE
    if is_translated or is_isatap or address in _COMPATIBLE:
        inside.append(low)
    if not is_translated or address not in _NAT64[0]:  # the well-known prefix is only as public as its inside
        yield address
    yield from inside


# ── The hook ───────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Permit:
    """Hosts and addresses to which a thread may connect while a block of its code runs."""

    host: str
    port: int
    is_private_fine: bool
    addresses: frozenset[str] = frozenset()
    """Addresses it may lead to, looked up once; empty: whatever the name resolves to when it is used."""


N_LOOK_UPS = 3
"""Look-ups of a name with many addresses, which may give a different one each time."""

_permits: ContextVar[tuple[Permit, ...]] = ContextVar("hearth_network_permits", default=())
_is_resolving: ContextVar[bool] = ContextVar("hearth_network_resolving", default=False)
_is_installed = False


def install_network_guard() -> None:
    """From now on refuse, with EgressError, any connection of this process outside an egress permit.

    It cannot be undone; calling it again changes nothing.
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
    """Check an address; it is None for a sendmsg on a connected socket, whose connection was checked."""
    if address is None or sock.family not in (socket.AF_INET, socket.AF_INET6):
        return
    host, port = (address[0], address[1]) if isinstance(address, tuple) and len(address) >= 2 else (address, 0)
    host = normal(host)
    if any(permit.port == port and _leads_to(permit, host) for permit in _permits.get()):
        return
    raise EgressError(
        f"a connection to {host!r} port {port!r} was refused, nothing was sent; only the tools' network door may open "
        "one, to hosts under `allow` in [network] of hearth.toml"
    )


def _check_name(name: object) -> None:
    """Check a name: looking it up is a message to a name server."""
    if isinstance(name, tuple):
        name = name[0]
    host = normal(name)
    if _is_resolving.get() or host in ("", "localhost") or as_address(host) is not None:
        return
    if not any(permit.host == host for permit in _permits.get()):
        raise EgressError(
            f"looking up the name {host!r} was refused, nothing was sent; name the host under `allow` in [network] of "
            "hearth.toml, and reach it through the tools' network door"
        )


def _leads_to(permit: Permit, host: str) -> bool:
    if permit.addresses:
        return host in permit.addresses
    if host == permit.host:
        return True
    if not permit.is_private_fine and not is_public(host):
        return False
    return any(host in look_up(permit.host, permit.port) for _ in range(N_LOOK_UPS))


def look_up(host: str, port: int) -> Sequence[str]:
    """Look up the addresses of a host that was checked; empty when it has none."""
    token = _is_resolving.set(True)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    finally:
        _is_resolving.reset(token)
    return tuple(dict.fromkeys(normal(entry[4][0]) for entry in found))


def normal(host: object) -> str:
    """Normalise a host for comparison: lower case, without a dot at its end, an address without its zone.

    A `%` in a name stays, because the part before it is another name than the one that is looked up.
    """
    if host is None:
        return ""
    text = host.decode("ascii", "replace") if isinstance(host, bytes | bytearray) else str(host)
    text = text.rstrip(".").lower()
    return text if as_address(text) is None else text.partition("%")[0]


@contextlib.contextmanager
def permitted(permit: Permit) -> Iterator[None]:
    """Let this thread (and task) connect where `permit` says while the block runs."""
    token = _permits.set((*_permits.get(), permit))
    try:
        yield
    finally:
        _permits.reset(token)


def permitted_port(host: str) -> int:
    """The port at which this thread may reach `host`; 0 if it may not."""
    return next((permit.port for permit in reversed(_permits.get()) if permit.host == host), 0)


# ── Way ───────────────────────────────────────────────────────────────────────────────────────────────────
# A way to a host, and what the transport asks of the gateway that checked it.


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
