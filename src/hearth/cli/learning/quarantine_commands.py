"""`hearth learn quarantine`: show, release or drop demonstrations that strangers may have influenced."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from hearth.cli.invocation import as_json, print_json
from hearth.cli.learning.learn_commands import folder_within, learn, opened_state, opened_store, state_option
from hearth.cli.learning.prior_commands import prior
from hearth.terminal import clean, short


@click.group(invoke_without_command=True)
@state_option
@as_json
@click.pass_context
def quarantine(ctx: click.Context, state_folder: Path | None, as_json: bool) -> None:
    """Demonstrations kept apart because a stranger's text touched them.

    They are never learnt. `release ID` lets one in after you have read it, `drop ID` removes it.
    """
    if ctx.invoked_subcommand is not None:
        ctx.obj = (ctx.obj, state_folder)
        return
    _show(folder_within(ctx, state_folder), as_json)


@quarantine.command(name="list")
@state_option
@as_json
@click.pass_context
def list_(ctx: click.Context, state_folder: Path | None, as_json: bool) -> None:
    """List them, each with its plan and the reason."""
    _show(folder_within(ctx, state_folder), as_json)


def _show(folder: Path, is_json: bool) -> None:
    from hearth.formats.plan_json import plan_to_json
    from hearth.formats.plan_text import plan_lines
    from hearth.learning.corrections import Quarantine

    with opened_store(folder) as store:
        kept = Quarantine(store).all()
    if is_json:
        print_json(
            {
                "quarantine": [
                    {
                        "id": one.entry.id,
                        "reason": one.reason,
                        "user_request": one.entry.demonstration.request,
                        "sources": sorted(one.entry.label.sources),
                        "episode": one.entry.episode,
                        **plan_to_json(one.entry.demonstration.plan),
                    }
                    for one in kept
                ]
            }
        )
        return
    if not kept:
        click.echo("Nothing is in quarantine.")
    for one in kept:
        click.echo(clean(f"{one.entry.id}  “{short(one.entry.demonstration.request, 100)}”"))
        for line in plan_lines(one.entry.demonstration.plan, {}):
            click.echo(f"    {clean(line)}")
        click.echo(f"    {clean(one.reason)}")


@quarantine.command()
@click.argument("id")
@click.option("--yes", is_flag=True, help="Do not ask.")
@state_option
@click.pass_context
def release(ctx: click.Context, id: str, yes: bool, state_folder: Path | None) -> int:
    """Let the demonstration ID in: the next `hearth learn` learns it."""
    from hearth.formats.plan_text import plan_lines
    from hearth.learning.corrections import Quarantine

    with opened_state(folder_within(ctx, state_folder)) as (state, _):
        kept = Quarantine(state.store).one(id)
        click.echo(clean(f"“{kept.entry.demonstration.request}”"))
        for line in plan_lines(kept.entry.demonstration.plan, state.tools):
            click.echo(f"  {clean(line)}")
        click.echo(f"  {clean(kept.reason)}")
        if not yes and not (sys.stdin.isatty() and click.confirm("Learn from it all the same?")):
            click.echo("It stays in quarantine.", err=True)
            return 1
        Quarantine(state.store).release(id, state.tools)
    click.echo("The next `hearth learn` learns it.")
    return 0


@quarantine.command()
@click.argument("id")
@state_option
@click.pass_context
def drop(ctx: click.Context, id: str, state_folder: Path | None) -> None:
    """Remove the demonstration ID for good."""
    from hearth.learning.corrections import Quarantine

    with opened_state(folder_within(ctx, state_folder)) as (state, _):
        n = Quarantine(state.store).drop(id)
    click.echo(f"Removed {n} from quarantine.")


learn.add_command(quarantine)
learn.add_command(prior)
