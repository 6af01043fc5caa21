"""`hearth up`: one process per home, with its page, its ring, and what other programs speak to."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import webbrowser
from typing import TYPE_CHECKING

import click

from hearth.atomic_files import replacing
from hearth.cli.invocation import Invocation
from hearth.errors import HearthError, MissingExtraError
from hearth.terminal import clean

if TYPE_CHECKING:
    from hearth.serve.house import House


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
        from hearth.cli.serve.service_files import service_file

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
