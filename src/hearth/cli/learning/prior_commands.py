"""`hearth learn prior`: start from what other devices learnt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hearth import errors
from hearth.cli.invocation import as_json, print_json
from hearth.cli.learning.learn_commands import Bars, folder_within, opened_state, state_option
from hearth.terminal import clean

if TYPE_CHECKING:
    from hearth.learning.learned_state import State
    from hearth.planning.ranking.statistics.sufficient_statistics import Statistics


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--remove", is_flag=True, help="Remove what others learnt; what was taught here stays.")
@click.option("--force", is_flag=True, help="Take it whatever the gate says.")
@state_option
@as_json
@click.pass_context
def prior(
    ctx: click.Context, file: Path | None, remove: bool, force: bool, state_folder: Path | None, as_json: bool
) -> int:
    """Plan with what other devices learnt: the prior in FILE, or the one that `hearth edge sync` fetched.

    What is asked here is planned from it, from what ships and from what was taught; so are drafts of files. It becomes
    a version like any other, if no task gets worse; `hearth learn rollback` goes back. What was taught here stays apart
    from it: forgetting it, and removing the prior, are exact.
    """
    if remove and file is not None:
        raise errors.RequestError("give a file to take, or --remove, and not both")
    folder = folder_within(ctx, state_folder)
    from hearth.learning import drafting
    from hearth.planning.ranking.ranker_options import StudentOptions

    bars = Bars()
    with opened_state(folder) as (state, _):
        options = drafting.options_of(state)
        wanted = None if remove else _wanted(state, folder, file).seen_by((options or StudentOptions()).reading)
        report = drafting.take_prior(state, wanted, bars, options=options, must_pass=not force)
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
            click.echo(f"Version {report.version} holds only what was taught here.")
        elif report.verdict is not None:
            click.echo(f"It was not taken: {clean(report.verdict.reason)}. --force takes it all the same.")
    return 0 if report.version is not None or report.notes else 3


def _wanted(state: State, folder: Path, file: Path | None) -> Statistics:
    """Return the statistics to use. Raises: NotFound: None was named, none was fetched."""
    from hearth.edge.artifact_fetch import taken
    from hearth.planning.ranking.statistics import prior_file

    if file is None:
        found = taken(state.store, folder, "prior")
        if found is None:
            raise errors.NotFound(
                "no prior was fetched yet; fetch one with `hearth edge sync --take prior`, or name a file"
            )
        file = found.path
    return prior_file.read(file)
