"""`hearth up`: one process per home, with its page, its ring, and what other programs speak to."""

from __future__ import annotations

import contextlib
import json
import os
import plistlib
import shutil
import signal
import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hearth.atomic_files import replacing
from hearth.cli.invocation import Invocation
from hearth.errors import ConfigError, HearthError, MissingExtraError
from hearth.formats.terminal_text import clean
from hearth.version import __version__

if TYPE_CHECKING:
    from hearth.serve.house import House


# ── What starts it with the machine ────────────────────────────────────────────────────────────────────
# Writes what starts `hearth up` with the machine: a systemd user unit, a launchd property list, a compose service.
# Paths are quoted by each format's own rules, so that spaces, quotes, `%`, `$` and `&` in them stay what they are.


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


# ── The command ────────────────────────────────────────────────────────────────────────────────────────


@click.command()
@click.option("--host", default="", help="Address to listen at instead of the one in hearth.toml.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Port instead of the one in hearth.toml; 0 takes a free one."
)
@click.option("--open", "opens", is_flag=True, help="Open the page in a browser.")
@click.option(
    "--print",
    "form",
    type=click.Choice(("compose", "launchd", "systemd")),
    help="Print what starts it with the machine, and end.",
)
@click.pass_obj
def up(invocation: Invocation, host: str, port: int | None, opens: bool, form: str | None) -> int:
    """Keep the home running: a page for your browser, reminders that ring, programs that ask.

    Prints the page's link, which holds the home's key. Ctrl-C ends it.
    """
    if form is not None:
        text, place = service_file(form, shutil.which("hearth") or sys.argv[0], invocation.home.resolve())
        click.echo(text, nl=False)
        click.echo(f"Put this into {place}", err=True)
        return 0
    try:
        from hearth.serve import house
        from hearth.serve.background import resting
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"the page ({error.name})", "pip install 'hearth-agent[serve]'") from None
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended by a service manager, it ends as by Ctrl-C
    settings_file = invocation.home / "hearth.toml"
    good = b""
    while True:
        try:
            with contextlib.redirect_stdout(sys.stderr):  # a plug-in may print
                running = house.opened(invocation.home, os.environ, house.Address(host, port))
            with running as serving:
                good = settings_file.read_bytes()
                _tell(serving)
                if opens:
                    webbrowser.open(serving.link)
                taken = serving.listening.getsockname()[1]
                with contextlib.suppress(KeyboardInterrupt):
                    serving.serve()
                if not serving.is_again.is_set():
                    break
                opens = False
                if port == 0:
                    port = taken  # browsers come back to where they were
            del running, serving
            resting.let_go()  # its parts know each other, and each new start would add 100 MB
        except HearthError as error:
            if not good or settings_file.read_bytes() == good:
                raise
            # Changed on the page, and nobody may be at the machine: better up as before than not at all.
            click.echo(f"hearth: {clean(str(error))}; the settings are as they were before", err=True)
            with replacing(settings_file, keeps_mode=True) as file:
                file.write(good)
    click.echo("Hearth is down.", err=True)
    return 0


def _tell(serving: House) -> None:
    from hearth.serve.house import LOOPBACK

    click.echo(f"Hearth is up: {serving.link}")
    if serving.voice:
        click.echo(f"Voice satellites are answered at {serving.voice}.", err=True)
    if serving.phones:
        click.echo(f"Phones come in at {serving.phones}; let them in on the page Phones.", err=True)
    if serving.listening.getsockname()[0] not in LOOPBACK:
        click.echo("Others in this network can reach it; whoever has the link may act for you.", err=True)
    click.echo("Ctrl-C ends it.", err=True)
