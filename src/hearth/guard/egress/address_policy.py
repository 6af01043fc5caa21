"""Decides which network addresses count as public: pure functions over addresses and names, without look-ups.

Covered: private, link-local, loopback, shared, reserved and multicast ranges of IPv4 and IPv6; cloud metadata
addresses; IPv4 addresses inside IPv6 ones (mapped, compatible, 6to4, Teredo, NAT64, ISATAP); decimal, octal,
hexadecimal and shortened forms, which do not count as addresses here, and which `config.host_and_port` does not accept.
Not covered: public addresses that a router leads back inside.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

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
