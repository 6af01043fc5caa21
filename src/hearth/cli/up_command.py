"""Commands of a home that is up: `hearth up`, and who may come in: programs, phones, the people who live there."""

from __future__ import annotations

import contextlib
import json
import os
import plistlib
import shutil
import signal
import sys
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from hearth.atomic_files import replacing
from hearth.cli.invocation import Invocation, as_json, print_json
from hearth.errors import ConfigError, HearthError, MissingExtraError, NotFound
from hearth.formats.terminal_text import clean
from hearth.version import __version__

if TYPE_CHECKING:
    from hearth.serve.door import Keys, Phones
    from hearth.serve.house import House
    from hearth.serve.members import Members


# ── Up command ────────────────────────────────────────────────────────────────────────────────────────────
# `hearth up`: one process per home, with its page, its ring, and what other programs speak to.

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
        from hearth.serve.background import background_sync
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
            background_sync.let_go()  # its parts know each other, and each new start would add 100 MB
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


# ── Client commands ───────────────────────────────────────────────────────────────────────────────────────
# `hearth clients`: the tokens of programs that may ask this home.


@click.group()
def clients() -> None:
    """Give other programs tokens, and take them back.

    A program with a token may ask through OpenAI's protocol and MCP while `hearth up` runs. It reads; with --may-change
    it may also ask for changes, which you then allow or refuse on the page; with --may-answer also in the program. Of
    what was asked and what left it sees its own, with --may-look everything.
    """


@clients.command()
@click.argument("name")
@click.option("--may-change", is_flag=True, help="It may ask for changes; each is put to you.")
@click.option("--may-answer", is_flag=True, help="You may say yes in the program itself, too (MCP).")
@click.option("--may-look", is_flag=True, help="It may list all that was asked, and all that left (MCP).")
@click.pass_obj
def add(invocation: Invocation, name: str, may_change: bool, may_answer: bool, may_look: bool) -> None:
    """Make a token for the program NAME, and print it once.

    Give --may-answer only to programs that show you the question: one that does not could say yes by itself.
    """
    if may_answer and not may_change:
        raise click.UsageError("--may-answer goes with --may-change")
    click.echo(_keys(invocation).add(name, may_change=may_change, may_answer=may_answer, may_look=may_look))
    click.echo("It is not shown again; only its digest is kept.", err=True)


@clients.command("list")
@as_json
@click.pass_obj
def list_clients(invocation: Invocation, as_json: bool) -> None:
    """List the programs that have a token."""
    known = _keys(invocation).clients
    if as_json:
        print_json(
            [
                {"name": c.name, "may_change": c.may_change, "may_answer": c.may_answer, "may_look": c.may_look}
                for c in known
            ]
        )
        return
    for client in known:
        rights = "reads" if not client.may_change else "may ask for changes"
        rights += ", and show you the question" if client.may_answer else ""
        rights += ", sees all that was asked" if client.may_look else ""
        click.echo(f"{clean(client.name)}  {rights}")
    if not known:
        click.echo("No program has a token; `hearth clients add NAME` makes one.")


@clients.command()
@click.argument("name")
@click.pass_obj
def revoke(invocation: Invocation, name: str) -> None:
    """Take the token of the program NAME back; it is let in no more, also by a `hearth up` that runs."""
    _keys(invocation).revoke(name)
    click.echo(f"{clean(name)} is let in no more.")


def _keys(invocation: Invocation) -> Keys:
    from hearth.serve.door import KEYS_FILE, Keys

    return Keys(invocation.made_home / KEYS_FILE)


# ── Phone commands ────────────────────────────────────────────────────────────────────────────────────────
# `hearth phones`: which phones are let in, and taking a lost one out.


@click.group()
def phones() -> None:
    """Show the phones that are let in, and take a lost one out.

    A phone is let in on the page Phones of `hearth up`.
    """


@phones.command("list")
@as_json
@click.pass_obj
def list_phones(invocation: Invocation, as_json: bool) -> None:
    """List the phones that are let in."""
    with _opened(invocation) as known:
        listed = known.listed()
    if as_json:
        rows = [{"name": p.name, "seen_at": p.seen_at, "has_notifications": p.subscription is not None} for p in listed]
        print_json(rows)
        return
    for phone in listed:
        told = "  notifications" if phone.subscription else ""
        click.echo(f"{clean(phone.name)}  last here {phone.seen_at[:16].replace('T', ' ')}{told}")
    if not listed:
        click.echo("No phone is let in; the page Phones of `hearth up` lets one in.")


@phones.command("revoke")
@click.argument("name")
@click.pass_obj
def revoke_phone(invocation: Invocation, name: str) -> None:
    """Let the phone NAME in no more, also by a `hearth up` that runs: what it follows ends within a second."""
    with _opened(invocation) as known:
        listed = known.listed()
        found = next((phone for phone in listed if phone.name == name), None)
        if found is None:
            names = ", ".join(repr(phone.name) for phone in listed) or "none"
            raise NotFound(f"no phone is called {name!r}; let in are {names}")
        known.revoke(found.number)
    click.echo(f"{clean(name)} is let in no more.")


@contextlib.contextmanager
def _opened(invocation: Invocation) -> Iterator[Phones]:
    from hearth.serve.door import Phones
    from hearth.storage.database import Store

    with Store.open(invocation.made_home / "hearth.db") as store:
        yield Phones(store)


# ── Household commands ────────────────────────────────────────────────────────────────────────────────────
# `hearth household`: several people, each with a home of their own, one place to sign in.

_COMMAND = "pip install 'hearth-agent[serve,household]'"


@click.group()
def household() -> None:
    """Let several people live here, each in their own home.

    Everybody signs in with a password or a passkey at one address, and sees their own home alone.
    """


@household.command("add")
@click.argument("name")
@click.option(
    "--home-of",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Their home, made by `hearth init` (default: this one).",
)
@click.option("--password-file", type=click.File("r"), help="Read the password from a file, - for standard input.")
@click.pass_obj
def add_member(invocation: Invocation, name: str, folder: Path | None, password_file: TextIO | None) -> None:
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


@household.command("up")
@click.option("--host", default="127.0.0.1", help="Address to listen at; beside the loopback address with TLS.")
@click.option("--port", type=click.IntRange(0, 65535), default=8470, help="Port; 0 takes a free one.")
@click.pass_obj
def up_for_all(invocation: Invocation, host: str, port: int) -> int:
    """Keep everybody's home running, behind one place to sign in. Ctrl-C ends it."""
    _members(invocation)
    from hearth.serve import served

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

        from hearth.serve.members import MEMBERS_FILE, Members
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"a household ({error.name})", _COMMAND) from None
    return Members(invocation.made_home / MEMBERS_FILE)
