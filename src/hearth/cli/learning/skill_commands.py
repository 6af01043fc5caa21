"""`hearth skills`: propose recurring tasks by name; they are installed only after a yes."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import click

from hearth.cli.invocation import Invocation, as_json, print_json
from hearth.cli.learning.learn_commands import folder_of, opened_state, opened_store
from hearth.formats.terminal_text import clean

if TYPE_CHECKING:
    from hearth.learning.skills import Skill
    from hearth.types import ToolSpec


@click.group(invoke_without_command=True)
@as_json
@click.pass_context
def skills(ctx: click.Context, as_json: bool) -> None:
    """Find what you do again and again, and give it a name.

    Lists what was found in the record, and the skills there are. Nothing is installed before `hearth skills accept`.
    """
    if ctx.invoked_subcommand is not None:
        return
    from hearth.learning.skills import propose
    from hearth.learning.skills import skills as all_skills
    from hearth.registry import load_tools

    folder = folder_of(ctx.obj, None)
    specs = load_tools(folder).specs
    with opened_store(folder) as store:
        proposed = propose(store, specs, dt.datetime.now(dt.UTC))
        accepted = [skill for skill in all_skills(store) if skill.state == "accepted"]
    if as_json:
        print_json({"proposed": [_json(s) for s in proposed], "accepted": [_json(s) for s in accepted]})
        return
    for skill in accepted:
        click.secho(f"“{clean(skill.name)}”", bold=True)
        _show(skill, specs)
    for skill in proposed:
        click.secho(f"{skill.number}  {_evidence(skill)}", bold=True)
        _show(skill, specs)
    if proposed:
        click.echo(
            f'Keep one: hearth skills accept {proposed[0].number} --name "…" · not this: hearth skills dismiss N'
        )
    elif not accepted:
        click.echo("Nothing came back often enough yet: three times, on two days, two steps or more.")


@skills.command()
@click.argument("number", type=int)
@click.option("--name", default="", help="What you will say (default: its tools in words).")
@click.pass_obj
def accept(invocation: Invocation, number: int, name: str) -> None:
    """Install proposal NUMBER: saying its name plans it, and you are asked as for every plan."""
    from hearth.learning.skills import accept as accept_skill
    from hearth.planning.retrieval.recall_planner import RecallPlanner

    with opened_state(folder_of(invocation, None)) as (state, encoder):
        skill = accept_skill(state, number, name)
        RecallPlanner(encoder, state.store)  # computes its examples now, so that the next start need not
    more = " and what is open" if skill.open else ""
    click.echo(f"Say “{clean(skill.name)}”{more}; hearth skills remove takes it away.")


@skills.command()
@click.argument("number", type=int)
@click.pass_obj
def dismiss(invocation: Invocation, number: int) -> None:
    """Never propose NUMBER again."""
    from hearth.learning.skills import dismiss as dismiss_skill

    with opened_store(folder_of(invocation, None)) as store:
        dismiss_skill(store, number)
    click.echo("It will not be proposed again.")


@skills.command()
@click.argument("name")
@click.pass_obj
def remove(invocation: Invocation, name: str) -> None:
    """Take the skill NAME away."""
    from hearth.learning.skills import remove as remove_skill
    from hearth.storage.database import HomeLock

    folder = folder_of(invocation, None)
    with HomeLock(folder), opened_store(folder) as store:
        skill = remove_skill(store, name)
    click.echo(f"“{clean(skill.name)}” is not a skill any more.")


def _show(skill: Skill, specs: dict[str, ToolSpec]) -> None:
    from hearth.formats.terminal_text import plan_lines

    for line in plan_lines(skill.plan, specs):
        click.echo(f"    {clean(line)}")
    if skill.open:
        names = ", ".join(f"{name} of step {step}" for step, name in skill.open)
        click.secho(f"    open: {clean(names)} (an example is shown)", dim=True)


def _evidence(skill: Skill) -> str:
    return f"{skill.n_times} times from {skill.first} to {skill.last}"


def _json(skill: Skill) -> dict[str, Any]:
    from hearth.formats.plan_json import plan_to_json

    return {
        "number": skill.number,
        "name": skill.name,
        "n_times": skill.n_times,
        "first": skill.first,
        "last": skill.last,
        "episodes": list(skill.episodes),
        "open": [{"step": step, "argument": name} for step, name in skill.open],
        "plan": plan_to_json(skill.plan),
    }
