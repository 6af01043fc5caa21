"""`hearth mcp`: the home as a server of the Model Context Protocol, over standard input and output."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from hearth.cli.invocation import Invocation
from hearth.cli.serve.asking import link_to
from hearth.errors import MissingExtraError

if TYPE_CHECKING:
    from pathlib import Path

    from hearth.serve.programs.mcp_server import Line


@click.group(invoke_without_command=True)
@click.option("--read-only", is_flag=True, help="Serve what reads; what would change something is refused.")
@click.pass_context
def mcp(ctx: click.Context, read_only: bool) -> None:
    """Serve this home to a program that speaks MCP, over standard input and output.

    The program starts it: name this command in its settings. What would change or send something is asked of you in
    that program, and on the page if `hearth up` has the home.
    """
    if ctx.invoked_subcommand is None:
        _serve(ctx.ensure_object(Invocation), read_only)


def _serve(invocation: Invocation, read_only: bool) -> None:
    try:
        from hearth.serve.door import Client
        from hearth.serve.programs import mcp_server
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"`hearth mcp` ({error.name})", "pip install 'hearth-agent[mcp]'") from None
    owner = Client("MCP", may_change=not read_only, digest="", may_answer=True)
    if sys.stdin.isatty():
        click.echo(
            "This speaks MCP, which programs speak; name `hearth mcp` in their settings. Ctrl-C ends it.", err=True
        )
    with _line(invocation.home) as (line, has_page):
        mcp_server.server_of(invocation.home, line, owner, has_page=has_page).run("stdio")


@contextlib.contextmanager
def _line(home: Path) -> Iterator[tuple[Line, bool]]:
    """Reach the `hearth up` that has the home; without one, open its agent here."""
    link = link_to(home)
    if link is not None:
        from hearth.serve.programs.mcp_server import FarLine

        with contextlib.closing(link):
            yield FarLine(link), True
        return
    from hearth.serve.desk import Desk
    from hearth.serve.programs.home_api import HomeLine

    with contextlib.redirect_stdout(sys.stderr):  # a plug-in may print
        desk = Desk.open(home, os.environ)
    try:
        yield HomeLine(desk), False
    finally:
        desk.close()
