"""Commands that teach: the right plan for a request, and skills."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hearth import errors
from hearth.cli.asking import asking
from hearth.cli.invocation import Invocation, as_json, print_json
from hearth.cli.learning.learn_commands import folder_of, opened_state, opened_store
from hearth.formats.terminal_text import clean, short

if TYPE_CHECKING:
    from hearth.learning.skills import Skill
    from hearth.types import Episode, Plan, ToolSpec


# ── Correct command ───────────────────────────────────────────────────────────────────────────────────────
# `hearth correct`.

MAX_PLAN_BYTES = 1_000_000


@click.command()
@click.argument("id")
@click.option(
    "--plan", "plan_file", type=click.Path(path_type=Path), help="The right plan: a JSON file with `task_nodes`."
)
@click.option("--say", help="What should have been said: its plan becomes the right one.")
@click.option("--nothing", is_flag=True, help="Nothing should have been done.")
@as_json
@click.pass_obj
def correct(
    invocation: Invocation, id: str, plan_file: Path | None, say: str | None, nothing: bool, as_json: bool
) -> int:
    """Teach the plan that request ID should have had.

    Without an option, the plan opens in $EDITOR. It counts from the next request on; what the wrong plan did stays done
    until `hearth undo`. Ids are listed by `hearth history`.
    """
    if sum((plan_file is not None, say is not None, nothing)) > 1:
        raise click.UsageError("--plan, --say and --nothing exclude each other; give one")
    from hearth.formats.plans import plan_to_json
    from hearth.formats.terminal_text import plan_lines

    with asking(invocation, yes=False) as home:
        episode = home.episode(id)
        plan: Plan | None = None
        if plan_file is not None:
            plan = _read(plan_file)
        elif say is None and not nothing:
            plan = _edited(home.specs, episode)
            if plan is None:
                click.echo("Nothing was changed, so nothing was learnt.", err=True)
                return 1
        learnt, steps = home.correct(episode, say, plan)
        specs = home.specs
    if as_json:
        print_json({"id": learnt, "user_request": episode.request.text, **plan_to_json(steps)})
        return 0
    click.echo(f"Learnt, as {learnt}: “{clean(short(episode.request.text, 70))}”")
    for line in plan_lines(steps, specs) if steps.steps else ["nothing is to be done"]:
        click.echo(f"  {clean(line)}")
    if any(result.status == "done" for result in episode.results):
        click.echo(f"  what was done then stays done; to take it back: hearth undo {episode.id}")
    return 0


def _read(path: Path) -> Plan:
    """Read a plan from a file. Raises: RequestError, PlanError."""
    try:
        size = path.stat().st_size
        if size > MAX_PLAN_BYTES:
            raise errors.RequestError(f"{path}: {size:,} bytes; a plan has at most {MAX_PLAN_BYTES:,}")
        return _parsed(path.read_bytes().decode("utf-8-sig"), str(path))
    except OSError as error:
        raise errors.RequestError(f"cannot read {str(path)!r}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise errors.RequestError(f"{path}: not UTF-8 text ({error.reason}); save it as UTF-8") from None


def _parsed(text: str, where: str) -> Plan:
    """Parse a plan from JSON; lines that begin with # are skipped. Raises: RequestError, PlanError."""
    from hearth.formats.plans import plan_from_json

    body = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise errors.RequestError(f"{where}: not JSON ({error}); mend it, or use --say") from None
    if not isinstance(data, dict) or "task_nodes" not in data:
        raise errors.RequestError(f"{where}: expected an object with `task_nodes` (docs/reference/plan-format.md)")
    return plan_from_json(data)


_HELP = """\
# Request {id}: {request}
# Make this the plan it should have had, save and close. Lines that begin with # are skipped.
# A value from an earlier call is "<node-0.field>". Tools and their arguments: hearth tools
"""


def _edited(specs: Mapping[str, ToolSpec], episode: Episode) -> Plan | None:
    """Let the owner edit the plan in an editor; None when it was left as it is. Raises: RequestError, PlanError."""
    from hearth.formats.plans import plan_to_json
    from hearth.types import Plan

    plan = episode.plan or Plan(())
    nodes = plan_to_json(plan)["task_nodes"] or [{"task": next(iter(specs), ""), "arguments": []}]
    head = _HELP.format(id=episode.id, request=" ".join(clean(episode.request.text).split()))
    before = head + json.dumps({"task_nodes": nodes}, ensure_ascii=False, indent=2) + "\n"
    after = click.edit(before, extension=".json")
    if after is None or after.strip() == before.strip():
        return None
    return _parsed(after, "the edited plan")


# ── Skill commands ────────────────────────────────────────────────────────────────────────────────────────
# `hearth skills`: propose recurring tasks by name; they are installed only after a yes.


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
    from hearth.formats.plans import plan_to_json

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
