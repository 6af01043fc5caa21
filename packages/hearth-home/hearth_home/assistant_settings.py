"""Check `[home.assistant]`: which Home Assistant to use, and how to connect to it.

Covered: TLS is required except for this machine and, where the owner says so, for an address or name of this house. Not
covered: whether the host may be reached, which the egress gateway decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from hearth.errors import ToolError
from hearth.types import Plain
from hearth_home.mqtt_settings import configured, is_of_this_house, is_this_machine

PREFIX = "assistant:"
"""Begins the id of each of its things, so that none passes for a thing of the broker."""


@dataclass(frozen=True, slots=True)
class Assistant:
    """A Home Assistant as configured under `[home.assistant]`."""

    host: str
    port: int
    is_tls: bool
    token: str = field(default="", repr=False)
    only: frozenset[str] = frozenset()
    """Entities that are used; empty: all that are of a kind."""

    def __str__(self) -> str:
        return f"Home Assistant at {self.host}:{self.port}"

    @property
    def address(self) -> str:
        """Of its websocket."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'wss' if self.is_tls else 'ws'}://{host}:{self.port}/api/websocket"


def assistant_of(home: Mapping[str, Plain]) -> Assistant | None:
    """Return the Home Assistant under `assistant` of the table `[home]`, or None.

    Raises:
        ToolError: It would carry the token where others can read it; or there is none.
    """
    table = home.get("assistant")
    if not isinstance(table, Mapping) or not table.get("url"):
        return None
    parts = urlsplit(str(table["url"]))
    host, is_tls = parts.hostname or "", parts.scheme == "https"
    if not is_tls and not is_this_machine(host):
        if not is_of_this_house(host):
            raise ToolError(f"url under [home.assistant] carries the token to {host!r} without TLS; write https://")
        if table.get("unencrypted") is not True:
            raise ToolError(
                f"everybody in the house could read the token on its way to {host!r}; write https:// in url under "
                "[home.assistant], or unencrypted = true where that is fine"
            )
    token = str(table.get("token") or "")
    if not token:
        raise ToolError("[home.assistant] has no token; make one in Home Assistant (profile, long-lived access tokens)")
    only = table.get("entities")
    named = frozenset(map(str, only)) if isinstance(only, list | tuple) else frozenset[str]()
    return Assistant(host, parts.port or (443 if is_tls else 8123), is_tls, token, named)


def is_connected(home: Mapping[str, Plain]) -> bool:
    """Say whether devices of the table `[home]` are connected. Raises: ToolError: As `configured`, `assistant_of`."""
    return configured(home) is not None or assistant_of(home) is not None
