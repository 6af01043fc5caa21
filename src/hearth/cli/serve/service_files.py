"""Writes what starts `hearth up` with the machine: a systemd user unit, a launchd property list, a compose service.

Paths are quoted by each format's own rules, so that spaces, quotes, `%`, `$` and `&` in them stay what they are.
"""

from __future__ import annotations

import json
import plistlib
from collections.abc import Callable
from pathlib import Path

from hearth.errors import ConfigError
from hearth.version import __version__

_UNIT = """\
[Unit]
Description=Hearth, the agent of {name}
After=default.target

[Service]
ExecStart={command} --home {home} up
Restart=on-failure
RestartSec=5
NoNewPrivileges=true

[Install]
WantedBy=default.target
"""
_COMPOSE = """\
# A page on this machine alone; deploy/docker/Dockerfile.edge of the source makes the image.
services:
  hearth:
    image: {image}
    command: ["--home", "/var/lib/hearth", "up", "--host", "0.0.0.0"]
    user: "{user}"
    read_only: true
    tmpfs: ["/tmp", "/var/cache/hearth", "/run/hearth"]
    cap_drop: [ALL]
    security_opt: ["no-new-privileges:true"]
    restart: unless-stopped
    ports: ["127.0.0.1:8470:8470"]
    volumes:
      - type: bind
        source: {home}
        target: /var/lib/hearth
"""


def service_file(form: str, command: str, home: Path) -> tuple[str, str]:
    """Return the file that starts `command` for a home, and where to put it.

    Args:
        form: `systemd`, `launchd` or `compose`.
    Raises:
        ConfigError: The path has a line break, which no such file can hold.
    """
    if any(ord(character) < 32 for text in (command, str(home)) for character in text):
        raise ConfigError(f"{str(home)!r} or {command!r} has a control character; move it to a path without one")
    forms: dict[str, tuple[Callable[[str, Path], str], str]] = {
        "systemd": (_unit, "~/.config/systemd/user/hearth.service"),
        "launchd": (_property_list, "~/Library/LaunchAgents/hearth.plist"),
        "compose": (_compose, "compose.yaml, then: docker compose up -d; docker compose logs shows the link"),
    }
    written, place = forms[form]
    return written(command, home), place


def _unit(command: str, home: Path) -> str:
    name = str(home).replace("%", "%%")
    # The program's own name knows specifiers and no variables: a doubled $ there would be two.
    return _UNIT.format(name=name, command=_quoted(command), home=_quoted(str(home)).replace("$", "$$"))


def _quoted(text: str) -> str:
    """Quote a word of ExecStart. Source: systemd.syntax(7), "Quoting"; systemd.unit(5), "Specifiers"."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _property_list(command: str, home: Path) -> str:
    told = {
        "Label": "hearth",
        "ProgramArguments": [command, "--home", str(home), "up"],
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
    }
    return plistlib.dumps(told, sort_keys=False).decode()


def _compose(command: str, home: Path) -> str:  # noqa: ARG001 - the image has its own
    owner = home.stat() if home.exists() else None
    user = f"{owner.st_uid}:{owner.st_gid}" if owner else "10001:10001"
    # JSON strings are YAML's; compose reads $ as a variable's beginning.
    source = json.dumps(str(home), ensure_ascii=False).replace("$", "$$")
    return _COMPOSE.format(image=f"hearth-edge:{__version__}", user=user, home=source)
