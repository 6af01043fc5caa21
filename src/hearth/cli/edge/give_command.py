"""`hearth edge give`: give the joined cloud sums of what was learnt here."""

from __future__ import annotations

import time
from dataclasses import asdict

import click

from hearth import errors
from hearth.cli.edge.join_commands import connected, now_of, opened, settings_of
from hearth.cli.invocation import Invocation, Number, as_json, print_json
from hearth.terminal import clean


@click.command()
@click.option("--withdraw", is_flag=True, help="Take back what was given plainly, for every prior made from now on.")
@click.option("--minutes", type=Number(0, 1440), default=120.0, help="How long a round may take (120).")
@click.option("--yes", is_flag=True, help="Do not ask before anything leaves.")
@as_json
@click.pass_obj
def give(invocation: Invocation, withdraw: bool, minutes: float, yes: bool, as_json: bool) -> int:
    """Give the joined cloud sums of what was learnt here, for a prior that new devices begin with.

    Requests are masked before they are summed, and plans with tools of your own stay out. With fewer than 30
    demonstrations nothing leaves. A service in mode "secret" sees only the sum over several devices.
    """
    from hearth.cli.learning.learn_commands import open_encoder
    from hearth.edge import federation
    from hearth.planning.ranking.ranker import Student
    from hearth.planning.ranking.statistics.device_profiles import PROFILES

    home, settings = invocation.home, settings_of(invocation)
    with opened(home) as store, connected(home, settings, store) as (joined, link, sharer):
        if withdraw:
            was = federation.withdraw(link)
            click.echo("Taken back; priors made from now on are without it." if was else "Nothing was given plainly.")
            return 0
        is_agreed = yes or "statistics" in settings.edge.share
        if not is_agreed and not click.confirm(
            f"Give {joined.server or joined.url} sums of what was learnt here, masked?", default=False, err=True
        ):
            raise errors.DeniedError("nothing was given; --yes agrees, or `share` under [edge]")
        profile = settings.learning.profile
        student = Student(open_encoder(), sharer.tools, PROFILES[profile])
        pace = federation.Pace(lambda: now_of(settings), time.sleep, 60 * minutes)
        found = federation.give(link, store, student, sharer, profile, pace)
    if as_json:
        print_json(asdict(found))
    elif found.reason:
        click.echo(f"Nothing was given: {clean(found.reason)}.")
    else:
        with_whom = f"in a sum over {found.n_edges} devices" if found.n_edges > 1 else "plainly"
        click.echo(f"Given, {with_whom}: sums over {found.n_demonstrations} demonstrations.")
    return 3 if found.reason else 0
