"""`hearth learn prior`: begin with what other devices learnt. `hearth edge give`: give what was learnt here."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hearth import errors
from hearth.cli.invocation import Invocation, Number, as_json, print_json
from hearth.cli.learning.learn_commands import Bars, folder_of, opened_state, state_option
from hearth.terminal import clean

if TYPE_CHECKING:
    from hearth.learning.learned_state import State
    from hearth.planning.ranking.statistics.sufficient_statistics import Statistics


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--remove", is_flag=True, help="Know no longer what others learnt; what was taught here stays.")
@click.option("--force", is_flag=True, help="Take it whatever the gate says.")
@state_option
@as_json
@click.pass_obj
def prior(
    invocation: Invocation, file: Path | None, remove: bool, force: bool, state_folder: Path | None, as_json: bool
) -> int:
    """Begin with what other devices learnt: the prior in FILE, or the one that `hearth edge sync` fetched.

    It becomes a version like any other, if no task gets worse; `hearth learn rollback` goes back. What was taught here
    stays apart from it: forgetting it, and removing the prior, are exact.
    """
    if remove and file is not None:
        raise errors.RequestError("give a file to take, or --remove, and not both")
    folder = folder_of(invocation, state_folder)
    bars = Bars()
    with opened_state(folder) as (state, _):
        wanted = None if remove else _wanted(state, folder, file)
        report = state.take_prior(wanted, bars, must_pass=not force)
        bars.close()
    verdict = report.verdict.to_json() if report.verdict is not None else None
    if as_json:
        print_json(
            {
                "version": report.version,
                "n_edges": wanted.n_edges if wanted else 0,
                "n_demonstrations": wanted.n_demonstrations if wanted else 0,
                "gate": verdict,
                "notes": list(report.notes),
            }
        )
    else:
        for note in report.notes:
            click.echo(f"Nothing was changed: {note}.")
        if report.version is not None and wanted is not None:
            click.echo(
                f"Version {report.version} begins with what {wanted.n_edges} devices learnt "
                f"({wanted.n_demonstrations:,} demonstrations, {len(wanted.tools)} tools)."
            )
        elif report.version is not None:
            click.echo(f"Version {report.version} knows what was taught here, and nothing of others.")
        elif report.verdict is not None:
            click.echo(f"It was not taken: {clean(report.verdict.reason)}. --force takes it all the same.")
    return 0 if report.version is not None or report.notes else 3


def _wanted(state: State, folder: Path, file: Path | None) -> Statistics:
    """Raises: NotFound: None was named, none was fetched. StatisticsError: It is for other features."""
    from hearth.edge.artifact_fetch import taken
    from hearth.planning.ranking.statistics import prior_file

    if file is None:
        found = taken(state.store, folder, "prior")
        if found is None:
            raise errors.NotFound("no prior was fetched yet; `hearth edge sync --take prior` does, or name a file")
        file = found.path
    return prior_file.read(file).seen_by(state.student.options.reading)


@click.command()
@click.option("--withdraw", is_flag=True, help="Take back what was given plainly, for every prior made from now on.")
@click.option("--minutes", type=Number(0, 1440), default=120.0, help="How long a round may take (120).")
@click.option("--yes", is_flag=True, help="Do not ask before anything leaves.")
@as_json
@click.pass_obj
def give(invocation: Invocation, withdraw: bool, minutes: float, yes: bool, as_json: bool) -> int:
    """Give the joined cloud sums of what was learnt here, for a prior that new devices begin with.

    Requests are masked before they are summed, plans with tools of your own stay out, and with fewer than 30
    demonstrations nothing leaves. A service in mode "secret" sees the sum over several devices alone.
    """
    from hearth.cli.edge.edge_commands import parts
    from hearth.cli.edge.join_commands import now_of, opened, settings_of
    from hearth.cli.learning.learn_commands import open_encoder
    from hearth.edge.federation import contribution
    from hearth.planning.ranking.ranker import Student
    from hearth.planning.ranking.statistics.device_profiles import PROFILES

    home, settings = invocation.home, settings_of(invocation)
    with opened(home) as store, parts(home, settings, store) as (joined, link, sharer):
        if withdraw:
            was = contribution.withdraw(link)
            click.echo("Taken back; priors made from now on are without it." if was else "Nothing was given plainly.")
            return 0
        is_agreed = yes or "statistics" in settings.edge.share
        if not is_agreed and not click.confirm(
            f"Give {joined.server or joined.url} sums of what was learnt here, masked?", default=False, err=True
        ):
            raise errors.DeniedError("nothing was given; --yes agrees, or `share` under [edge]")
        profile = settings.learning.profile
        student = Student(open_encoder(), sharer.tools, PROFILES[profile])
        found = contribution.give(
            link, store, student, sharer, profile, lambda: now_of(settings), time.sleep, 60 * minutes
        )
    if as_json:
        print_json(asdict(found))
    elif found.reason:
        click.echo(f"Nothing was given: {clean(found.reason)}.")
    else:
        with_whom = f"in a sum over {found.n_edges} devices" if found.n_edges > 1 else "plainly"
        click.echo(f"Given, {with_whom}: sums over {found.n_demonstrations} demonstrations.")
    return 3 if found.reason else 0
