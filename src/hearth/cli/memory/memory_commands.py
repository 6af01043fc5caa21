"""`hearth memory`: add, search, ask, count, share, show and correct facts; backups are in `archive_commands`."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hearth import errors
from hearth.cli.invocation import Invocation, as_json, bar_from, command_with, print_json
from hearth.cli.memory.archive_commands import COMMANDS
from hearth.cli.memory.opened_memory import (
    Opened,
    event_told,
    fact_json,
    known_people,
    moment,
    opened,
    origin,
    period,
    say,
    says,
    standing,
    table,
    told_in_line,
    width,
)
from hearth.formats.terminal_text import clean, short

if TYPE_CHECKING:
    from hearth.memory.answers.recollection import Recollection
    from hearth.memory.event_memory import Filter
    from hearth.memory.facts.fact_store import Fact


# ── Facts ──────────────────────────────────────────────────────────────────────────────────────────────


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


_STATUS = {"promoted": "held true", "amended": "put right by you", "proposed": "proposed", "revoked": "revoked"}


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


# ── The group ──────────────────────────────────────────────────────────────────────────────────────────


@click.group()
def memory() -> None:
    """See, correct and extend what is remembered and held true.

    Events are what happened; facts are what is held true, each with its start and its source. What strangers wrote is
    only proposed, until you confirm it.
    """


for command in (*COMMANDS, *FACT_COMMANDS):
    memory.add_command(command)


# ── Putting in ────────────────────────────────────────────────────────────────────────────────────────────


@memory.command()
@click.argument("text", required=False)
@click.option(
    "--fact", "triple", nargs=3, metavar="WHO WHAT VALUE", help='As in: --fact Ben "lives in" Ghent; "me" is you.'
)
@click.option("--since", default="", metavar="WHEN", help='With --fact: since when it is so, as in "March 2019".')
@as_json
@click.pass_obj
def add(
    invocation: Invocation, text: str | None, triple: tuple[str, str, str] | None, since: str, as_json: bool
) -> None:
    """Remember TEXT, and hold true what it states; or add one fact word for word.

    Questions, suppositions and what others are reported to have said state nothing.
    """
    from hearth.memory.event_memory import EventMemory
    from hearth.memory.facts.fact_extraction import Told, learn_from
    from hearth.memory.facts.fact_store import NewFact
    from hearth.types import OWNER

    if (text is None) == (triple is None):
        raise click.UsageError('say what: hearth memory add "my sister Ana lives in Porto", or --fact WHO WHAT VALUE')
    if since and triple is None:
        raise click.UsageError("--since goes with --fact; in a sentence, write it out")
    with opened(invocation.home) as at:
        key = f"added-{at.now:%Y%m%d-%H%M%S-%f}"
        if triple is not None:
            who, what, value = (" ".join(part.split()) for part in triple)
            begins = moment(since, at) if since else None
            new = NewFact(who, what, value, begins, reason="you added it")
            learnt: Sequence[Fact] = (at.facts.add(new, at.now),)
        else:
            said = " ".join((text or "").split())
            if not said:
                raise errors.RequestError("there is nothing to remember; write a sentence")
            EventMemory(at.store).remember(said, kind="remembered", at=at.now, label=OWNER, key=key)
            learnt = learn_from(at.facts, Told(key, said, "remembered", at.now, OWNER), known_people(at))
        if as_json:
            print_json(
                {"event": key if triple is None else None, "facts": [fact_json(fact, at.zone) for fact in learnt]}
            )
            return
        if triple is None:
            click.echo("Remembered.")
        for fact in learnt:
            click.echo(told_in_line(fact, at.zone))


@memory.command(name="import")
@click.argument("path", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--as",
    "kind",
    type=click.Choice(["mail", "calendar", "notes", "whatsapp", "telegram", "lines", "photos"]),
    help="What FILE is (default: found out, if possible).",
)
@click.option("--facts", "with_facts", is_flag=True, help="Also propose the facts it states; each waits for your word.")
@as_json
@click.pass_obj
def import_(invocation: Invocation, path: Path, kind: str | None, with_facts: bool, as_json: bool) -> int:
    """Bring in mail (mbox, Maildir), calendars (.ics), notes, chat exports or photos' times and places.

    The same import twice adds nothing. If you stop it, what is done is kept, and the same command carries on. What
    cannot be read is counted and named.
    """
    from hearth.memory.event_memory import EventMemory
    from hearth.memory.facts.fact_extraction import Told, learn_from
    from hearth.memory.transfer.import_sources import Source
    from hearth.memory.transfer.importers import Report, detect, imported, size_bytes

    with opened(invocation.home) as at:
        source = Source(path, kind or detect(path), at.zone, at.settings.owner.country == "US")
        known = known_people(at)
        report, n_proposed = Report(), 0
        with bar_from(1_000_000, size_bytes(path), "Reading") as show:
            for batch in imported(source, EventMemory(at.store), at.store, report):
                for event in batch if with_facts else ():
                    told = Told(event.key, event.text, event.kind, event.at, event.label, event.person)
                    n_proposed += len(learn_from(at.facts, told, known))
                show(report.n_bytes)
    if as_json:
        counts = {"n_new": report.n_new, "n_known": report.n_known, "n_bad": report.n_bad, "n_proposed": n_proposed}
        print_json({"kind": source.kind, **counts, "left_out": report.left_out, "bad": report.bad})
    else:
        click.echo(f"{report.n_new} new, {report.n_known} known already ({source.kind}).")
        if n_proposed:
            click.echo(f"{n_proposed} facts proposed; `hearth memory proposed` lists them.")
        for why, n in report.left_out.most_common():
            click.echo(f"  left out: {n} × {clean(why)}")
        for line in report.bad:
            click.echo(f"  not read: {clean(line)}", err=True)
        if report.n_bad > len(report.bad):
            click.echo(f"  … and {report.n_bad - len(report.bad)} more", err=True)
    return 6 if report.n_bad else 0


# ── Looking ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Where:
    """Where and when something was said or done, and by whom."""

    people: tuple[str, ...]
    kinds: tuple[str, ...]
    places: tuple[str, ...]
    since: str
    until: str

    def filter(self, at: Opened) -> Filter | None:
        """Return it as events are filtered by it; None where nothing was said of it."""
        from hearth.memory.event_memory import Filter

        if not (self.people or self.kinds or self.places or self.since or self.until):
            return None
        end = period(self.until, at)[1] if self.until else None
        return Filter(period(self.since, at)[0] if self.since else None, end, self.kinds, self.people, self.places)


@memory.command(cls=command_with({"where": _Where}))
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--person", "people", multiple=True, metavar="NAME", help="Only what this person said or did; repeatable."
)
@click.option(
    "--kind", "kinds", multiple=True, help="Only this kind: request, remembered, message, note, …; repeatable."
)
@click.option("--place", "places", multiple=True, help="Only what happened there; repeatable.")
@click.option("--since", default="", metavar="WHEN", help='As in "last Tuesday" or 2026-03-01.')
@click.option("--until", default="", metavar="WHEN", help="Up to and with that day.")
@click.option("--limit", type=click.IntRange(1, 1000), default=10, show_default=True)
@as_json
@click.pass_obj
def search(invocation: Invocation, query: tuple[str, ...], where: _Where, limit: int, as_json: bool) -> int:
    """Find what is held true and what happened, best first."""
    with opened(invocation.home) as at:
        hits = _recollection(at).search(" ".join(query), limit=limit, now=at.now, where=where.filter(at))
        if as_json:
            print_json([{"id": h.id, "kind": h.kind, "at": h.at, "score": h.score, "text": h.text} for h in hits])
            return 0 if hits else 4
        for hit in hits:
            when = f"{hit.at.astimezone(at.zone):%Y-%m-%d %H:%M}"
            click.echo(f"{when}  {short(hit.kind, 10):<10}  {short(hit.text, width() - 30)}")
            click.secho(f"{'':<18}{clean(hit.id)}", dim=True)
        if not hits:
            click.echo("I remember nothing about that.")
    return 0 if hits else 4


@memory.command()
@click.argument("question", nargs=-1, required=True)
@as_json
@click.pass_obj
def ask(invocation: Invocation, question: tuple[str, ...], as_json: bool) -> int:
    """Answer QUESTION from memory, with who said it and when; or say that memory has none.

    Every word of an answer was said, is held true, or is a date worked out from what was said. Nothing is changed.
    """
    asked = " ".join(question)
    with opened(invocation.home) as at:
        found = _recollection(at).answer(asked, now=at.now)
        told = [(e.at.astimezone(at.zone), e.speaker, e.text, e.id) for e in found.evidence if e.kind != "fact"]
        fact = next((e.id for e in found.evidence if e.kind == "fact"), None)
    is_known = found.kind != "unknown"
    if as_json:
        evidence = [{"id": id, "at": when, "person": who, "text": text} for when, who, text, id in told]
        number = None if fact is None else int(fact.removeprefix("fact:"))
        print_json(
            {"kind": found.kind, "answer": found.text, "chance": found.chance, "fact": number, "evidence": evidence}
        )
        return 0 if is_known else 4
    if found.kind == "listed":
        for hit in found.evidence:
            if hit.kind == "fact":
                click.echo(clean(hit.text))
    else:
        click.echo(clean(found.text))
    for when, who, text, _ in told:
        click.secho(f"  {when:%Y-%m-%d %H:%M}  {short(who, 20)}: {short(text, width() - 44)}", dim=True)
    return 0 if is_known else 4


@memory.command()
@as_json
@click.pass_obj
def stats(invocation: Invocation, as_json: bool) -> None:
    """Count what is remembered and held true."""
    with opened(invocation.home) as at:
        kinds = {
            row[0]: row[1] for row in at.store.query("SELECT kind, count(*) FROM event GROUP BY kind ORDER BY 2 DESC")
        }
        first, last = at.store.query("SELECT min(at_unix_s), max(at_unix_s) FROM event")[0]
        n_waiting = at.store.query("SELECT count(*) FROM event WHERE is_embedded = 0")[0][0]
        n_bytes = at.store.query("SELECT coalesce(sum(length(text)), 0) FROM event")[0][0]
        facts = at.facts.counts()
        document = {
            "n_events": sum(kinds.values()),
            "by_kind": kinds,
            "first": None if first is None else dt.datetime.fromtimestamp(first, at.zone),
            "last": None if last is None else dt.datetime.fromtimestamp(last, at.zone),
            "n_characters": n_bytes,
            "n_without_vector": n_waiting,
            "facts": facts,
        }
        if as_json:
            print_json(document)
            return
        click.echo(f"{sum(kinds.values())} events, {n_bytes} characters")
        if first is not None:
            click.echo(f"  from {document['first']:%Y-%m-%d} to {document['last']:%Y-%m-%d}")
        for kind, n in kinds.items():
            click.echo(f"  {short(kind, 20):<20}{n:>9}")
        click.echo(f"{sum(facts.get(name, 0) for name in ('promoted', 'amended'))} facts held true")
        for name, says in (("proposed", "wait for your word"), ("ended", "ended"), ("revoked", "revoked")):
            if facts.get(name):
                click.echo(f"  {facts[name]} {says}")


# ── Giving ────────────────────────────────────────────────────────────────────────────────────────────────


@memory.command()
@click.argument("id")
@click.option(
    "--to", "target", required=True, type=click.Path(path_type=Path, file_okay=False), help="The other's home."
)
@as_json
@click.pass_obj
def share(invocation: Invocation, id: str, target: Path, as_json: bool) -> None:
    """Give one fact or event, by its ID, to another home on this device.

    The other home gets a copy without the evidence, as your word: a fact waits there until its owner confirms it.
    """
    from hearth.memory.event_memory import EventMemory, NewEvent
    from hearth.memory.facts.fact_store import ME, NewFact
    from hearth.storage.trace import parse_moment
    from hearth.types import Label

    if target.resolve() == invocation.home.resolve():
        raise click.UsageError("that is this home; --to names another one")
    with opened(invocation.home) as at, opened(target) as there:
        name = " ".join(at.settings.owner.name.split()) or "another home"
        label = Label(frozenset({f"shared:{name}"}), frozenset())
        number = id.removeprefix("fact:")
        if number.isdigit():
            fact = standing(at.facts, int(number))
            if not fact.is_believed:
                raise errors.NotFound(f"fact {id} is {fact.status}; only what is held true is shared")
            subject = name if fact.subject == ME else fact.subject
            new = NewFact(
                *(subject, fact.relation, fact.value, fact.since, fact.until, fact.confidence, label),
                reason=f"{name} shared it",
            )
            shared = there.facts.add(new, there.now)
            what = says(shared, at.zone)
            document: dict[str, object] = {"fact": shared.id, "status": shared.status}
        else:
            said = event_told(at.store, id)
            if said is None:
                raise errors.NotFound(f"no event {id!r}; `hearth memory search` shows ids")
            when = parse_moment(said[0])
            event = NewEvent(f"shared:{id}", said[2], "shared", when, label, said[3] or name, said[4])
            n = EventMemory(there.store).remember_all([event])
            what, document = said[2], {"event": event.key, "status": "new" if n else "known"}
    if as_json:
        print_json({"to": str(target), **document})
    else:
        click.echo(f"Shared with {clean(str(target))}: {short(what, 80)}")


def _recollection(at: Opened) -> Recollection:
    from hearth import config
    from hearth.memory.answers.answer_spans import WordReader
    from hearth.memory.answers.recollection import Recollection
    from hearth.memory.event_memory import EventMemory
    from hearth.memory.search.time_mentions import times_named
    from hearth.models.encoder.sentence_encoder import MiniLMEncoder

    country = at.settings.owner.country
    encoder = MiniLMEncoder.open(config.cache_folder(os.environ))
    events = EventMemory(at.store, encoder, lambda text, now: times_named(text, now, country))
    return Recollection(events, at.facts, WordReader(config.cache_folder(os.environ)))
