"""`hearth encrypt` and `hearth decrypt`: the home under a key from the system's keyring or a passphrase, and back."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hearth import errors
from hearth.cli.invocation import Invocation, as_json, print_json
from hearth.config.folders import has_key
from hearth.formats.terminal_text import clean

if TYPE_CHECKING:
    from hearth.storage.encryption import Turned

NEW_PASSPHRASE = "HEARTH_NEW_PASSPHRASE"  # noqa: S105 - the name of a variable
"""Variable that holds the passphrase to be set, for scripts."""


@click.command()
@click.option("--keyring", "in_keyring", is_flag=True, help="Keep the key in the system's keyring: nothing to type.")
@click.option(
    "--files/--no-files",
    "with_files",
    default=None,
    help="Encrypt your folder, too (default: the database only). Other programs can then no longer read it.",
)
@click.option("--new-key", is_flag=True, help="Encrypt everything anew under another key and passphrase.")
@as_json
@click.pass_obj
def encrypt(invocation: Invocation, in_keyring: bool, with_files: bool | None, new_key: bool, as_json: bool) -> None:
    """Encrypt the home: its database, and with --files your folder, too.

    The passphrase is asked for, or taken from $HEARTH_NEW_PASSPHRASE; from then on each start of Hearth asks for it, or
    takes it from $HEARTH_HOME_PASSPHRASE, or from the system's keyring. A recovery code is shown once: write it down.
    Stopped or killed in the middle nothing is lost, and the same command finishes it. On a home that is encrypted it
    also takes in files that came in plain since.
    """
    from hearth.storage import encryption

    home = invocation.home
    if not has_key(home):
        if new_key:
            raise errors.RequestError(f"{str(home)!r} is not encrypted, so there is no key to change")
        turned = encryption.encrypt(home, _new_secret(in_keyring), with_files=bool(with_files), progress=_progress)
    elif new_key:
        turned = encryption.change_key(home, _new_secret(in_keyring), _progress)
    elif in_keyring:
        raise errors.RequestError("the home is encrypted already; `hearth encrypt --new-key --keyring` changes its key")
    elif with_files is not None:
        turned = encryption.set_files(home, with_files=with_files, progress=_progress)
    else:
        turned = encryption.finish(home, _progress)
    _tell(home, turned, as_json=as_json)


@click.command()
@as_json
@click.pass_obj
def decrypt(invocation: Invocation, as_json: bool) -> None:
    """Make an encrypted home plain again and remove its key. Killed in the middle, the same command finishes it."""
    from hearth.storage import encryption

    _tell(invocation.home, encryption.decrypt(invocation.home, _progress), as_json=as_json)


def _new_secret(in_keyring: bool) -> str | None:
    """Return a new passphrase; None for the keyring. Raises: RequestError: Nobody can be asked for one."""
    if in_keyring:
        return None
    if NEW_PASSPHRASE in os.environ:
        return os.environ[NEW_PASSPHRASE]
    if not sys.stdin.isatty():
        raise errors.RequestError(f"no passphrase: run this at a terminal, set {NEW_PASSPHRASE}, or pass --keyring")
    said: str = click.prompt("New passphrase (four words or more)", hide_input=True, confirmation_prompt=True, err=True)
    return said


def _progress(doing: str) -> None:
    if sys.stderr.isatty():
        click.echo(f"turning over {clean(doing)} …", err=True)


def _tell(home: Path, turned: Turned, *, as_json: bool) -> None:
    is_encrypted = has_key(home)
    if as_json:
        print_json({"home": str(home), "is_encrypted": is_encrypted, **asdict(turned)})
        return
    what = ["the database"] if turned.is_database_turned else []
    what += [f"{turned.n_files} file{'' if turned.n_files == 1 else 's'}"] if turned.n_files else []
    done = " and ".join(what) or "nothing had to be done"
    click.echo(f"{clean(str(home))} is {'encrypted' if is_encrypted else 'plain'}: {done}.")
    for name in turned.too_large:
        click.echo(f"left as it is, larger than any tool can read: {clean(name)}", err=True)
    if turned.recovery_code:
        click.echo(f"\nRecovery code, shown this once: {turned.recovery_code}")
        click.echo(
            "It opens the home where the passphrase or the keyring is lost: type it in place of the passphrase. Keep "
            "it on paper, apart from this device. Without both, nobody can open the home again."
        )
