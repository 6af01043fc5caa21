"""`hearth mcp`: the home as a server of the Model Context Protocol, and other programs' servers as its tools."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import click

from hearth.cli.asking import link_to
from hearth.cli.invocation import Invocation, as_json, command_with, print_json, yes_option
from hearth.errors import ConfigError, MissingExtraError, NotFound
from hearth.formats.terminal_text import clean
from hearth.tools.foreign import OfferedTool, accepted
from hearth.tools.foreign import accept as accept_tools

if TYPE_CHECKING:
    from pathlib import Path

    from hearth.config import McpServer
    from hearth.serve.programs.mcp_server import Line


@click.group(invoke_without_command=True)
@click.option("--read-only", is_flag=True, help="Serve what reads; what would change something is refused.")
@click.option("--may-look", is_flag=True, help="The program may list all that was asked, and all that left.")
@click.pass_context
def mcp(ctx: click.Context, read_only: bool, may_look: bool) -> None:
    """Serve this home to a program that speaks MCP, over standard input and output.

    The program starts it: name this command in its settings. What would change or send something is asked of you in
    that program, and on the page if `hearth up` has the home.

    The commands below are about the other direction: servers of other programs, whose tools become tools of this home.
    """
    if ctx.invoked_subcommand is None:
        _serve(ctx.ensure_object(Invocation), read_only, may_look)


def _serve(invocation: Invocation, read_only: bool, may_look: bool) -> None:
    try:
        from hearth.serve.door import Client
        from hearth.serve.programs import mcp_server
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"`hearth mcp` ({error.name})", "pip install 'hearth-agent[mcp]'") from None
    owner = Client("MCP", may_change=not read_only, digest="", may_answer=True, may_look=may_look)
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


# ── Other programs' servers ───────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Server:
    """A server of tools, as its table in the settings holds it."""

    command: tuple[str, ...]
    url: str
    token_env: str
    env: tuple[str, ...]
    reads: tuple[str, ...]


@mcp.command(cls=command_with({"wanted": _Server}))
@click.argument("name")
@click.argument("command", nargs=-1)
@click.option("--url", default="", help="Address of a server that runs elsewhere, in place of a command.")
@click.option(
    "--token-env", default="", metavar="VARIABLE", help="Environment variable with the token for the address."
)
@click.option("--env", multiple=True, metavar="VARIABLE", help="Environment variable that the program is given.")
@click.option("--reads", multiple=True, metavar="TOOL", help="A tool that only reads: it runs without asking.")
@yes_option
@click.pass_obj
def add(invocation: Invocation, name: str, wanted: _Server, yes: bool) -> int:
    """Use the tools of an MCP server: hearth mcp add NAME -- COMMAND ARGUMENTS.

    Shows the tools, and keeps them once you accept them. They are called NAME__tool and ask before each call; name
    those that only read with --reads.
    """
    from hearth.tools.foreign import with_server, write_server

    path = invocation.home / "hearth.toml"
    text, server = with_server(path, name, {key: value for key, value in asdict(wanted).items() if value})
    tools = _offered(invocation.home, name, server)
    if missing := [one for one in wanted.reads if one not in {tool.name for tool in tools}]:
        raise NotFound(f"{name!r} has no tool {missing[0]!r} for --reads; it has {', '.join(t.name for t in tools)}")
    if not _is_accepted(name, server, tools, yes=yes):
        return 5
    write_server(path, text, name)
    accept_tools(invocation.home, name, tools)
    click.echo(f"{name}: {len(tools)} tools, from the next start of Hearth on.")
    return 0


@mcp.command()
@click.argument("name")
@yes_option
@click.pass_obj
def accept(invocation: Invocation, name: str, yes: bool) -> int:
    """Look at the tools of the server NAME again, and accept them as they are now."""
    server = _servers(invocation.home).get(name)
    if server is None:
        raise _unknown(invocation.home, name)
    tools = _offered(invocation.home, name, server)
    known = {tool.name: tool.hash for tool in accepted(invocation.home).get(name, ())}
    if {tool.name: tool.hash for tool in tools} == known:
        click.echo(f"{name}: as it was accepted, {len(tools)} tools.")
        return 0
    if not _is_accepted(name, server, tools, yes=yes, known=known):
        return 5
    accept_tools(invocation.home, name, tools)
    click.echo(f"{name}: {len(tools)} tools, from the next start of Hearth on.")
    return 0


@mcp.command("list")
@as_json
@click.pass_obj
def list_servers(invocation: Invocation, as_json: bool) -> None:
    """List the servers and the tools that were accepted of each."""
    kept = accepted(invocation.home)
    servers = _servers(invocation.home)
    if as_json:
        print_json(
            [
                {"name": name, "command": list(one.command), "url": one.url, "reads": list(one.reads)}
                | {"tools": [tool.name for tool in kept.get(name, ())]}
                for name, one in servers.items()
            ]
        )
        return
    for name, server in servers.items():
        click.echo(f"{name}  {clean(server.url or ' '.join(server.command))}")
        for tool in kept.get(name, ()):
            click.echo(f"  {_line_of(name, server, tool)}")
        if name not in kept:
            click.echo(f"  none accepted yet; look at them with `hearth mcp accept {name}`")
    if not servers:
        click.echo("No MCP server is used; `hearth mcp add NAME -- COMMAND` adds one.")


@mcp.command()
@click.argument("name")
@click.pass_obj
def remove(invocation: Invocation, name: str) -> None:
    """Use the server NAME no more."""
    from hearth.tools.foreign import remove_server

    remove_server(invocation.home / "hearth.toml", name)
    accept_tools(invocation.home, name, ())
    click.echo(f"{name} is used no more, from the next start of Hearth on.")


def _servers(home: Path) -> Mapping[str, McpServer]:
    from hearth.config import read_settings

    return read_settings(home / "hearth.toml").mcp.servers


def _unknown(home: Path, name: str) -> NotFound:
    known = ", ".join(_servers(home)) or "none"
    return NotFound(f"no MCP server is called {name!r}; known are {known}")


def _offered(home: Path, name: str, server: McpServer) -> tuple[OfferedTool, ...]:
    import datetime as dt

    from hearth.config import read_settings
    from hearth.guard.egress.gateway import Egress
    from hearth.storage.database import Store
    from hearth.tools.foreign import Connection

    settings = read_settings(home / "hearth.toml")
    zone = settings.zone()
    with Store.open(home / "hearth.db") as store:
        egress = Egress.from_settings(settings, store, lambda: dt.datetime.now(zone))
        return Connection(name, server, os.environ).tools(egress)


def _is_accepted(
    name: str, server: McpServer, tools: tuple[OfferedTool, ...], *, yes: bool, known: Mapping[str, str] | None = None
) -> bool:
    """Show the tools, those that are new or other than before marked, and ask."""
    for tool in tools:
        mark = (
            ""
            if known is None or known.get(tool.name) == tool.hash
            else "new: "
            if tool.name not in known
            else "changed: "
        )
        click.echo(f"  {mark}{_line_of(name, server, tool)}")
    if yes:
        return True
    if not sys.stdin.isatty():
        click.echo("Not accepted: nobody can be asked here; pass --yes.", err=True)
        return False
    return click.confirm("Use these tools? What they say of themselves is their maker's word", err=True)


def _line_of(name: str, server: McpServer, tool: OfferedTool) -> str:
    from hearth.formats.terminal_text import short
    from hearth.tools.foreign import tool_name

    try:
        called = tool_name(name, tool.name)
    except ConfigError as error:
        called = f"{clean(tool.name)[:60]} ({error})"
    effect = "reads" if tool.name in server.reads else "asks"
    return f"{called}  {effect}  {short(clean(' '.join(tool.description.split())), 90)}"
