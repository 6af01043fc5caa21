"""Check `[home.mqtt]`: which broker to use, and how to connect to it.

Covered: TLS is required except for this machine and, without a password, for an address or name of this house. Not
covered: whether the host may be reached, which the egress gateway decides.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field

from hearth.errors import ToolError
from hearth.types import Plain

_LOCAL_ENDINGS = (".local", ".localhost", ".lan", ".home", ".home.arpa", ".internal")


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker as configured under `[home.mqtt]`."""

    host: str
    port: int = 8883
    security: str = "tls"
    username: str = ""
    password: str = field(default="", repr=False)

    def __str__(self) -> str:
        return f"the MQTT broker {self.host}:{self.port}"


def configured(home: Mapping[str, Plain]) -> Broker | None:
    """Return the broker under `mqtt` of the table `[home]`, or None.

    Raises:
        ToolError: It would carry a password, or orders, where others can read or change them.
    """
    table = home.get("mqtt")
    if not isinstance(table, Mapping) or not table.get("host"):
        return None
    security, port = str(table.get("security") or "tls"), table.get("port")
    password = str(table.get("password") or "")
    default_port = 8883 if security == "tls" else 1883
    broker = Broker(
        str(table["host"]),
        port if isinstance(port, int) and port else default_port,
        *(security, str(table.get("username") or ""), password),
    )
    if security == "none" and not is_this_machine(broker.host) and (password or not is_of_this_house(broker.host)):
        why = "everybody in the house could read the password" if password else "anybody on the way could switch things"
        raise ToolError(f'security = "none" under [home.mqtt] is not for {broker.host!r}: {why}; write "tls"')
    return broker


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of `[home.mqtt]` other than the broker."""

    prefix: str = "homeassistant"
    is_discovering: bool = True
    confirm_s: float = 5.0


def settings_of(home: Mapping[str, Plain]) -> Settings:
    """Read the settings from the table `[home]`."""
    table = home.get("mqtt")
    if not isinstance(table, Mapping):
        other = home.get("assistant")
        waits = other.get("confirm_s") if isinstance(other, Mapping) else None
        return Settings(confirm_s=float(waits)) if isinstance(waits, int | float) else Settings()
    prefix, confirm_s = table.get("discovery_prefix"), table.get("confirm_s")
    return Settings(
        str(prefix or "homeassistant"),
        table.get("discover") is not False,
        float(confirm_s) if isinstance(confirm_s, int | float) else 5.0,
    )


def is_this_machine(host: str) -> bool:
    """Say whether a host is this machine itself."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_of_this_house(host: str) -> bool:
    """Say whether a host is in the home's own network, by its address or name."""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return "." not in host or host.lower().endswith(_LOCAL_ENDINGS)
