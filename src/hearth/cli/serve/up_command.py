"""`hearth up`: one process per home, with its page, its ring, and what other programs speak to."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import webbrowser
from pathlib import Path

import click

from hearth.cli.invocation import Invocation
from hearth.errors import MissingExtraError

_UNIT = """\
[Unit]
Description=Hearth, the agent of {home}
After=default.target

[Service]
ExecStart={command} --home {home} up
Restart=on-failure
RestartSec=5
NoNewPrivileges=true

[Install]
WantedBy=default.target
"""
_PLIST = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict>
<key>Label</key><string>hearth</string>
<key>ProgramArguments</key><array><string>{command}</string><string>--home</string><string>{home}</string><string>up</string></array>
<key>RunAtLoad</key><true/>
<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
</dict></plist>
"""
_FORMS = {
    "systemd": (_UNIT, "~/.config/systemd/user/hearth.service"),
    "launchd": (_PLIST, "~/Library/LaunchAgents/hearth.plist"),
}


@click.command()
@click.option("--host", default="", help="Address to listen at instead of the one in hearth.toml.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Port instead of the one in hearth.toml; 0 takes a free one."
)
@click.option("--open", "opens", is_flag=True, help="Open the page in a browser.")
@click.option(
    "--print", "form", type=click.Choice(sorted(_FORMS)), help="Print a unit that starts it at login, and end."
)
@click.pass_obj
def up(invocation: Invocation, host: str, port: int | None, opens: bool, form: str | None) -> int:
    """Keep the home running: a page for your browser, reminders that ring, programs that ask.

    Prints the page's link, which holds the home's key. Ctrl-C ends it.
    """
    if form is not None:
        _print_unit(form, invocation.home)
        return 0
    try:
        from hearth.serve import house
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"the page ({error.name})", "pip install 'hearth-agent[serve]'") from None
    with contextlib.redirect_stdout(sys.stderr):  # a plug-in may print
        running = house.opened(invocation.home, os.environ, host=host, port=port)
    with running as serving:
        click.echo(f"Hearth is up: {serving.link}")
        if serving.voice:
            click.echo(f"Voice satellites are answered at {serving.voice}.", err=True)
        if serving.listening.getsockname()[0] not in house.LOOPBACK:
            click.echo("Others in this network can reach it; whoever has the link may act for you.", err=True)
        click.echo("Ctrl-C ends it.", err=True)
        if opens:
            webbrowser.open(serving.link)
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended by a service manager, it ends as by Ctrl-C
        with contextlib.suppress(KeyboardInterrupt):
            serving.serve()
    click.echo("Hearth is down.", err=True)
    return 0


def _print_unit(form: str, home: Path) -> None:
    text, place = _FORMS[form]
    command = shutil.which("hearth") or sys.argv[0]
    click.echo(text.format(command=command, home=home.resolve()), nl=False)
    click.echo(f"Put this into {place}", err=True)
