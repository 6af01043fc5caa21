"""`hearth memory show|why|edit|revoke|proposed|confirm`: show facts and their sources, and correct them."""

from __future__ import annotations

import datetime as dt

import click

from hearth.cli.invocation import Invocation, as_json, print_json
from hearth.cli.memory.opened_memory import (
    event_told,
    fact_json,
    moment,
    opened,
    origin,
    period,
    say,
    says,
    standing,
    table,
    told_in_line,
)
from hearth.terminal import clean, short


@click.command()
@click.argument("who", required=False)
@click.option("--as-of", default="", metavar="WHEN", help='What was believed then, as in "last Tuesday".')
@click.option("--at", "at_time", default="", metavar="WHEN", help="What was so then, as far as is known now.")
@click.option("--ended", is_flag=True, help="What was so once and is so no longer.")
@as_json
@click.pass_obj
def show(invocation: Invocation, who: str | None, as_of: str, at_time: str, ended: bool, as_json: bool) -> int:
    """List what is held true, of everyone or of WHO (`me` is you)."""
    with opened(invocation.home) as at:
        if ended:
            found = [f for f in at.facts.ended() if who is None or f.subject.casefold() == who.casefold()]
        else:
            then = period(as_of, at)[1] - dt.timedelta(seconds=1) if as_of else None
            found = list(at.facts.believed(who, at=moment(at_time, at) if at_time else None, as_of=then))
            if who is not None and not as_of and not at_time:
                found += [fact for fact in at.facts.about(who) if fact not in found]
        if as_json:
            print_json([fact_json(fact, at.zone) for fact in found])
        else:
            table(found, at.zone)
            if not found:
                click.echo("Nothing is held true" + (f" of {clean(who)}." if who else "."))
    return 0


@click.command()
@click.argument("id", type=int)
@as_json
@click.pass_obj
def why(invocation: Invocation, id: int, as_json: bool) -> None:
    """Explain fact ID: how it came to be, what it replaced, and the very sentences it rests on."""
    from hearth.storage.trace import parse_moment

    with opened(invocation.home) as at:
        history = at.facts.history(id)
        sentences = {event: event_told(at.store, event) for fact in history for event in fact.events}
        if as_json:
            told = [
                {"id": id, "at": s and parse_moment(s[0]).astimezone(at.zone), "kind": s and s[1], "text": s and s[2]}
                for id, s in sentences.items()
            ]
            print_json({"history": [fact_json(fact, at.zone) for fact in history], "rests_on": told})
            return
        for fact in history:
            learnt = f"{fact.learnt.astimezone(at.zone):%Y-%m-%d %H:%M}"
            gone = "" if fact.unlearnt is None else f", until {fact.unlearnt.astimezone(at.zone):%Y-%m-%d %H:%M}"
            click.echo(f"{learnt}  {_STATUS[fact.status]}{gone}: {says(fact, at.zone)}")
            click.secho(f"{'':<18}{clean(fact.reason or 'no reason was given')} · from {origin(fact)}", dim=True)
        click.echo("Rests on:" if sentences else "It rests on no event: it was added word for word.")
        for event, said in sentences.items():
            if said is None:
                click.echo(f"  {clean(event)}: forgotten")
            else:
                when = parse_moment(said[0]).astimezone(at.zone)
                click.echo(f"  {when:%Y-%m-%d %H:%M}  {clean(said[1])}: “{short(said[2], 300)}”")


_STATUS = {
    "promoted": "held true",
    "amended": "put right by you",
    "proposed": "proposed",
    "revoked": "revoked",
}


# ── Putting right ─────────────────────────────────────────────────────────────────────────────────────────


@click.command()
@click.argument("id", type=int)
@click.argument("value", required=False)
@click.option("--ended", default="", metavar="WHEN", help='It is so no longer, since WHEN, as in "last month".')
@as_json
@click.pass_obj
def edit(invocation: Invocation, id: int, value: str | None, ended: str, as_json: bool) -> None:
    """Put another VALUE in fact ID's place: the old one was wrong. Or say that it has --ended."""
    if (value is None) == (not ended):
        raise click.UsageError("give the right VALUE, or --ended WHEN when it was so and is so no longer")
    with opened(invocation.home) as at:
        fact = standing(at.facts, id)
        if value is not None:
            changed = at.facts.amend(fact.id, " ".join(value.split()), at.now)
        else:
            changed = at.facts.end(fact.id, moment(ended, at), at.now)
        say(changed, at, as_json)


@click.command()
@click.argument("ids", type=int, nargs=-1, required=True)
@click.option("--because", default="", metavar="TEXT", help="Kept with it.")
@as_json
@click.pass_obj
def revoke(invocation: Invocation, ids: tuple[int, ...], because: str, as_json: bool) -> None:
    """Say that facts are not so, and never were. They are not proposed again."""
    with opened(invocation.home) as at:
        reason = f"you revoked it: {because}" if because else "you revoked it"
        found = {fact.id: fact for fact in (standing(at.facts, id) for id in ids)}
        refused_first = sorted(found.values(), key=lambda fact: fact.status != "revoked")  # all, or none
        gone = [at.facts.revoke(fact.id, at.now, reason) for fact in refused_first]
        if as_json:
            print_json([fact_json(fact, at.zone) for fact in gone])
        else:
            for fact in gone:
                click.echo(f"No longer held true: {says(fact, at.zone)}")


@click.command()
@click.option("--look", is_flag=True, help="First look for what repeats: times, places, people.")
@as_json
@click.pass_obj
def proposed(invocation: Invocation, look: bool, as_json: bool) -> None:
    """List what waits for your word: what strangers wrote, and what was worked out."""
    from hearth.memory.routines import propose_routines

    with opened(invocation.home) as at:
        if look:
            propose_routines(at.store, at.facts, at.zone, at.now)
        found = at.facts.proposed()
        if as_json:
            print_json([fact_json(fact, at.zone) for fact in found])
            return
        table(found, at.zone, with_origin=True)
        click.echo(
            "`hearth memory confirm ID` holds it true, `hearth memory revoke ID` puts it away."
            if found
            else "Nothing waits for your word."
        )


@click.command()
@click.argument("ids", type=int, nargs=-1, required=True)
@as_json
@click.pass_obj
def confirm(invocation: Invocation, ids: tuple[int, ...], as_json: bool) -> None:
    """Say that proposed facts are so."""
    with opened(invocation.home) as at:
        waiting = {fact.id for fact in at.facts.proposed()}
        found = dict.fromkeys(at.facts.get(id).id for id in ids)
        refused_first = sorted(found, key=lambda id: id in waiting)  # all, or none
        kept = [at.facts.promote(id, at.now) for id in refused_first]
        if as_json:
            print_json([fact_json(fact, at.zone) for fact in kept])
        else:
            for fact in kept:
                click.echo(told_in_line(fact, at.zone))


FACT_COMMANDS = (show, why, edit, revoke, proposed, confirm)
"""Commands added to the group `hearth memory`."""
