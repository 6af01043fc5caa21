"""`hearth household`: several people, each with a home of their own, one place to sign in."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from hearth.cli.invocation import Invocation, as_json, print_json
from hearth.errors import ConfigError, MissingExtraError
from hearth.formats.terminal_text import clean

if TYPE_CHECKING:
    from hearth.serve.household.members import Members

_COMMAND = "pip install 'hearth-agent[serve,household]'"


@click.group()
def household() -> None:
    """Let several people live here, each in their own home.

    Everybody signs in with a password or a passkey at one address, and sees their own home alone.
    """


@household.command()
@click.argument("name")
@click.option(
    "--home-of",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Their home, made by `hearth init` (default: this one).",
)
@click.option("--password-file", type=click.File("r"), help="Read the password from a file, - for standard input.")
@click.pass_obj
def add(invocation: Invocation, name: str, folder: Path | None, password_file: TextIO | None) -> None:
    """Let NAME live here; asks for their password."""
    home = (folder or invocation.home).resolve()
    if not (home / "hearth.toml").exists():
        raise ConfigError(f"no home in {str(home)!r}; make one with `hearth --home {home} init`")
    member = _members(invocation).add(name, home, _password(password_file))
    click.echo(f"{clean(member.name)} lives here, in {clean(str(member.home))}.")


@household.command("list")
@as_json
@click.pass_obj
def list_members(invocation: Invocation, as_json: bool) -> None:
    """List who lives here."""
    known = _members(invocation).listed()
    if as_json:
        print_json([{"name": m.name, "home": str(m.home), "n_passkeys": len(m.passkeys)} for m in known])
        return
    for member in known:
        click.echo(f"{clean(member.name)}  {clean(str(member.home))}  {len(member.passkeys)} passkeys")
    if not known:
        click.echo("Nobody lives here yet; `hearth household add NAME` lets somebody.")


@household.command()
@click.argument("name")
@click.pass_obj
def remove(invocation: Invocation, name: str) -> None:
    """Let NAME live here no more: signed out at once. Their home stays where it is."""
    member = _members(invocation).remove(name)
    click.echo(f"{clean(member.name)} is let in no more; the home stays in {clean(str(member.home))}.")


@household.command()
@click.argument("name")
@click.option("--password-file", type=click.File("r"), help="Read the password from a file, - for standard input.")
@click.pass_obj
def password(invocation: Invocation, name: str, password_file: TextIO | None) -> None:
    """Give NAME a new password: signed out everywhere, passkeys taken back."""
    _members(invocation).set_password(name, _password(password_file))
    click.echo("Changed.")


@household.command()
@click.option("--host", default="127.0.0.1", help="Address to listen at; beside the loopback address with TLS.")
@click.option("--port", type=click.IntRange(0, 65535), default=8470, help="Port; 0 takes a free one.")
@click.pass_obj
def up(invocation: Invocation, host: str, port: int) -> int:
    """Keep everybody's home running, behind one place to sign in. Ctrl-C ends it."""
    _members(invocation)
    from hearth.serve.household import served

    with contextlib.redirect_stdout(sys.stderr):  # a plug-in may print
        running = served.opened(invocation.home, os.environ, host=host, port=port)
    with running as homes:
        names = ", ".join(clean(name) for name in homes.houses)
        click.echo(f"The household is up: {homes.address}")
        click.echo(f"Who signs in there: {names}. Ctrl-C ends it.", err=True)
        for reason in homes.unshared:
            click.echo(f"Not shared: {clean(reason)}.", err=True)
        for reason in homes.closed:
            click.echo(f"Not open: {clean(reason)}.", err=True)
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended by a service manager, it ends as by Ctrl-C
        with contextlib.suppress(KeyboardInterrupt):
            homes.serve()
    click.echo("The household is down.", err=True)
    return 0


def _password(file: TextIO | None) -> str:
    if file is not None:
        return str(file.read()).rstrip("\r\n")
    return str(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))


def _members(invocation: Invocation) -> Members:
    """Raises: MissingExtraError, ConfigError."""
    try:
        import webauthn  # noqa: F401 - asked for here, so that the message comes before anything is opened

        from hearth.serve.household.members import MEMBERS_FILE, Members
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"a household ({error.name})", _COMMAND) from None
    return Members(invocation.made_home / MEMBERS_FILE)
