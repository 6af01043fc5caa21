"""`hearth clients`: the tokens of programs that may ask this home."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hearth.cli.invocation import Invocation, as_json, print_json
from hearth.formats.terminal_text import clean

if TYPE_CHECKING:
    from hearth.serve.door import Keys


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
