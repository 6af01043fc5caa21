"""`hearth phones`: which phones are let in, and taking a lost one out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from hearth.cli.invocation import Invocation, as_json, print_json
from hearth.errors import NotFound
from hearth.formats.terminal_text import clean

if TYPE_CHECKING:
    from hearth.serve.phones.paired import Phones


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


@phones.command()
@click.argument("name")
@click.pass_obj
def revoke(invocation: Invocation, name: str) -> None:
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
    from hearth.serve.phones.paired import Phones
    from hearth.storage.database import Store

    with Store.open(invocation.made_home / "hearth.db") as store:
        yield Phones(store)
