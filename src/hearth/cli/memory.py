"""`hearth memory`: what is remembered, what is held true and why; correct it, bring more in, share it."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hearth import config, errors
from hearth.cli.archive import COMMANDS
from hearth.cli.invocation import Invocation, as_json, print_json
from hearth.cli.ledger import opened_record
from hearth.terminal import clean, short

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

    from hearth.config import Settings
    from hearth.memory.facts import Fact, FactStore
    from hearth.memory.predicates import Known
    from hearth.memory.recollection import Recollection
    from hearth.store import Store

_SOURCES = {
    "owner": "you",
    "device": "worked out on this device",
    "contacts": "your contacts",
    "message": "a message that came in",
    "web": "a web page",
    "file": "a file",
    "sensor": "a sensor",
    "memory": "what was remembered",
}


@dataclass(frozen=True, slots=True)
class _Opened:
    """The memory of a home, also while an agent runs on it."""

    home: Path
    settings: Settings
    store: Store
    facts: FactStore
    now: dt.datetime

    @property
    def zone(self) -> dt.tzinfo:
        return self.settings.zone()


@contextlib.contextmanager
def _opened(home: Path) -> Iterator[_Opened]:
    from hearth.memory.facts import FactStore

    with opened_record(home) as store:
        settings = config.read_settings(home / "hearth.toml")
        yield _Opened(home, settings, store, FactStore(store), dt.datetime.now(settings.zone()))


@click.group()
def memory() -> None:
    """See, correct and extend what is remembered and held true.

    Events are what happened; facts are what is held true, each with since when and from where. What strangers wrote is
    only proposed, until you confirm it.
    """


for command in COMMANDS:
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
    from hearth.memory.events import EventMemory
    from hearth.memory.facts import NewFact
    from hearth.memory.inference import Told, learn_from
    from hearth.types import OWNER

    if (text is None) == (triple is None):
        raise click.UsageError('say what: hearth memory add "my sister Ana lives in Porto", or --fact WHO WHAT VALUE')
    if since and triple is None:
        raise click.UsageError("--since goes with --fact; in a sentence, write it out")
    with _opened(invocation.home) as at:
        key = f"added-{at.now:%Y%m%d-%H%M%S-%f}"
        if triple is not None:
            who, what, value = (" ".join(part.split()) for part in triple)
            begins = _moment(since, at) if since else None
            new = NewFact(who, what, value, begins, reason="you added it")
            learnt: Sequence[Fact] = (at.facts.add(new, at.now),)
        else:
            said = " ".join((text or "").split())
            if not said:
                raise errors.RequestError("there is nothing to remember; write a sentence")
            EventMemory(at.store).remember(said, kind="remembered", at=at.now, label=OWNER, key=key)
            learnt = learn_from(at.facts, Told(key, said, "remembered", at.now, OWNER), _known(at))
        if as_json:
            print_json({"event": key if triple is None else None, "facts": [_json(fact, at.zone) for fact in learnt]})
            return
        if triple is None:
            click.echo("Remembered.")
        for fact in learnt:
            click.echo(_line(fact, at.zone))


@memory.command(name="import")
@click.argument("path", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--as",
    "kind",
    type=click.Choice(["mail", "calendar", "notes", "whatsapp", "telegram", "lines", "photos"]),
    help="What it is; found out by itself where it can be.",
)
@click.option("--facts", "with_facts", is_flag=True, help="Also propose the facts it states; each waits for your word.")
@as_json
@click.pass_obj
def import_(invocation: Invocation, path: Path, kind: str | None, with_facts: bool, as_json: bool) -> int:
    """Bring in mail (mbox, Maildir), calendars (.ics), notes, chat exports or photos' times and places.

    The same import twice adds nothing. Stopped, what is done is kept, and the same command carries on. What cannot be
    read is counted and named.
    """
    from hearth.memory.events import EventMemory
    from hearth.memory.imports import Report, Source, detect, imported, size_bytes
    from hearth.memory.inference import Told, learn_from

    with _opened(invocation.home) as at:
        source = Source(path, kind or detect(path), at.zone, at.settings.owner.country == "US")
        known = _known(at)
        report, n_proposed = Report(), 0
        with _bar(size_bytes(path)) as bar:
            for batch in imported(source, EventMemory(at.store), at.store, report):
                for event in batch if with_facts else ():
                    told = Told(event.key, event.text, event.kind, event.at, event.label, event.person)
                    n_proposed += len(learn_from(at.facts, told, known))
                if bar is not None:
                    bar.update(report.n_bytes - bar.pos)
    if as_json:
        counts = {"n_new": report.n_new, "n_known": report.n_known, "n_bad": report.n_bad, "n_proposed": n_proposed}
        print_json({"kind": source.kind, **counts, "bad": report.bad})
    else:
        click.echo(f"{report.n_new} new, {report.n_known} known already ({source.kind}).")
        if n_proposed:
            click.echo(f"{n_proposed} facts proposed; `hearth memory proposed` lists them.")
        for line in report.bad:
            click.echo(f"  not read: {clean(line)}", err=True)
        if report.n_bad > len(report.bad):
            click.echo(f"  … and {report.n_bad - len(report.bad)} more", err=True)
    return 6 if report.n_bad else 0


# ── Looking ───────────────────────────────────────────────────────────────────────────────────────────────


@memory.command()
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
def search(
    invocation: Invocation,
    query: tuple[str, ...],
    people: tuple[str, ...],
    kinds: tuple[str, ...],
    places: tuple[str, ...],
    since: str,
    until: str,
    limit: int,
    as_json: bool,
) -> int:
    """Find what is held true and what happened, best first."""
    from hearth.memory.events import Filter

    with _opened(invocation.home) as at:
        where = None
        if people or kinds or places or since or until:
            end = _period(until, at)[1] if until else None
            where = Filter(_period(since, at)[0] if since else None, end, kinds, people, places)
        hits = _recollection(at).search(" ".join(query), limit=limit, now=at.now, where=where)
        if as_json:
            print_json([{"id": h.id, "kind": h.kind, "at": h.at, "score": h.score, "text": h.text} for h in hits])
            return 0 if hits else 4
        for hit in hits:
            when = f"{hit.at.astimezone(at.zone):%Y-%m-%d %H:%M}"
            click.echo(f"{when}  {short(hit.kind, 10):<10}  {short(hit.text, _width() - 30)}")
            click.secho(f"{'':<18}{clean(hit.id)}", dim=True)
        if not hits:
            click.echo("I remember nothing about that.")
    return 0 if hits else 4


@memory.command()
@click.argument("question", nargs=-1, required=True)
@as_json
@click.pass_obj
def ask(invocation: Invocation, question: tuple[str, ...], as_json: bool) -> int:
    """Answer QUESTION from memory, with who said it and when; or say that memory does not.

    Every word of an answer was said, is held true, or is a date worked out from what was said. Nothing is changed.
    """
    from hearth.memory.answering import answer
    from hearth.trace import parse_moment

    asked = " ".join(question)
    with _opened(invocation.home) as at:
        recollection = _recollection(at)
        facts = [fact for fact, share in recollection.facts_for(asked) if share >= 1]
        held = _says(facts[0], at.zone) if facts else ""
        found = answer(recollection.events, asked, at.now, held=held)
        told = [(e.at.astimezone(at.zone), e.person or "you", e.text) for e in found.evidence]
        if facts:  # the sentences it rests on, and no older ones
            rests_on = [said for event in facts[0].events if (said := _event(at.store, event)) is not None]
            told = [(parse_moment(said[0]).astimezone(at.zone), said[3] or "you", said[2]) for said in rests_on]
    is_known = found.kind != "unknown"
    if as_json:
        evidence = [{"at": when, "person": who, "text": text} for when, who, text in told]
        fact = facts[0].id if facts else None
        print_json(
            {"kind": found.kind, "answer": found.text, "chance": found.chance, "fact": fact, "evidence": evidence}
        )
        return 0 if is_known else 4
    click.echo(clean(found.text))
    for when, who, text in told if is_known else ():
        click.secho(f"  {when:%Y-%m-%d %H:%M}  {short(who, 20)}: {short(text, _width() - 44)}", dim=True)
    return 0 if is_known else 4


@memory.command()
@click.argument("who", required=False)
@click.option("--as-of", default="", metavar="WHEN", help='What was believed then, as in "last Tuesday".')
@click.option("--at", "at_time", default="", metavar="WHEN", help="What was so then, as far as is known now.")
@click.option("--ended", is_flag=True, help="What was so once and is so no longer.")
@as_json
@click.pass_obj
def show(invocation: Invocation, who: str | None, as_of: str, at_time: str, ended: bool, as_json: bool) -> int:
    """List what is held true, of everyone or of WHO (`me` is you)."""
    with _opened(invocation.home) as at:
        if ended:
            found = [f for f in at.facts.ended() if who is None or f.subject.casefold() == who.casefold()]
        else:
            then = _period(as_of, at)[1] - dt.timedelta(seconds=1) if as_of else None
            found = list(at.facts.believed(who, at=_moment(at_time, at) if at_time else None, as_of=then))
            if who is not None and not as_of and not at_time:
                found += [fact for fact in at.facts.about(who) if fact not in found]
        if as_json:
            print_json([_json(fact, at.zone) for fact in found])
        else:
            _table(found, at.zone)
            if not found:
                click.echo("Nothing is held true" + (f" of {clean(who)}." if who else "."))
    return 0


@memory.command()
@click.argument("id", type=int)
@as_json
@click.pass_obj
def why(invocation: Invocation, id: int, as_json: bool) -> None:
    """Explain fact ID: how it came to be, what it replaced, and the very sentences it rests on."""
    from hearth.trace import parse_moment

    with _opened(invocation.home) as at:
        history = at.facts.history(id)
        sentences = {event: _event(at.store, event) for fact in history for event in fact.events}
        if as_json:
            told = [
                {"id": id, "at": s and parse_moment(s[0]).astimezone(at.zone), "kind": s and s[1], "text": s and s[2]}
                for id, s in sentences.items()
            ]
            print_json({"history": [_json(fact, at.zone) for fact in history], "rests_on": told})
            return
        for fact in history:
            learnt = f"{fact.learnt.astimezone(at.zone):%Y-%m-%d %H:%M}"
            gone = "" if fact.unlearnt is None else f", until {fact.unlearnt.astimezone(at.zone):%Y-%m-%d %H:%M}"
            click.echo(f"{learnt}  {_STATUS[fact.status]}{gone}: {_says(fact, at.zone)}")
            click.secho(f"{'':<18}{clean(fact.reason or 'no reason was given')} · from {_origin(fact)}", dim=True)
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


@memory.command()
@as_json
@click.pass_obj
def stats(invocation: Invocation, as_json: bool) -> None:
    """Count what is remembered and held true."""
    with _opened(invocation.home) as at:
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


# ── Putting right ─────────────────────────────────────────────────────────────────────────────────────────


@memory.command()
@click.argument("id", type=int)
@click.argument("value", required=False)
@click.option("--ended", default="", metavar="WHEN", help='It is so no longer, since WHEN, as in "last month".')
@as_json
@click.pass_obj
def edit(invocation: Invocation, id: int, value: str | None, ended: str, as_json: bool) -> None:
    """Put another VALUE in fact ID's place: the old one was wrong. Or say that it has --ended."""
    if (value is None) == (not ended):
        raise click.UsageError("give the right VALUE, or --ended WHEN when it was so and is so no longer")
    with _opened(invocation.home) as at:
        fact = _standing(at.facts, id)
        if value is not None:
            changed = at.facts.amend(fact.id, " ".join(value.split()), at.now)
        else:
            changed = at.facts.end(fact.id, _moment(ended, at), at.now)
        _say(changed, at, as_json)


@memory.command()
@click.argument("ids", type=int, nargs=-1, required=True)
@click.option("--because", default="", metavar="TEXT", help="Kept with it.")
@as_json
@click.pass_obj
def revoke(invocation: Invocation, ids: tuple[int, ...], because: str, as_json: bool) -> None:
    """Say that facts are not so, and never were. They are not proposed again."""
    with _opened(invocation.home) as at:
        reason = f"you revoked it: {because}" if because else "you revoked it"
        gone = [at.facts.revoke(_standing(at.facts, id).id, at.now, reason) for id in ids]
        if as_json:
            print_json([_json(fact, at.zone) for fact in gone])
        else:
            for fact in gone:
                click.echo(f"No longer held true: {_says(fact, at.zone)}")


@memory.command()
@click.option("--look", is_flag=True, help="First look for what repeats: times, places, people.")
@as_json
@click.pass_obj
def proposed(invocation: Invocation, look: bool, as_json: bool) -> None:
    """List what waits for your word: what strangers wrote, and what was worked out."""
    from hearth.memory.routines import propose_routines

    with _opened(invocation.home) as at:
        if look:
            propose_routines(at.store, at.facts, at.zone, at.now)
        found = at.facts.proposed()
        if as_json:
            print_json([_json(fact, at.zone) for fact in found])
            return
        _table(found, at.zone, with_origin=True)
        click.echo(
            "`hearth memory confirm ID` holds it true, `hearth memory revoke ID` puts it away."
            if found
            else "Nothing waits for your word."
        )


@memory.command()
@click.argument("ids", type=int, nargs=-1, required=True)
@as_json
@click.pass_obj
def confirm(invocation: Invocation, ids: tuple[int, ...], as_json: bool) -> None:
    """Say that proposed facts are so."""
    with _opened(invocation.home) as at:
        kept = [at.facts.promote(id, at.now) for id in ids]
        if as_json:
            print_json([_json(fact, at.zone) for fact in kept])
        else:
            for fact in kept:
                click.echo(_line(fact, at.zone))


@memory.command()
@click.argument("id")
@click.option(
    "--to", "target", required=True, type=click.Path(path_type=Path, file_okay=False), help="The other's home."
)
@as_json
@click.pass_obj
def share(invocation: Invocation, id: str, target: Path, as_json: bool) -> None:
    """Give one fact or event, by its ID, to another home on this device.

    A copy: what it rests on stays here. There it is your word, not the owner's: a fact waits until it is confirmed.
    """
    from hearth.memory.events import EventMemory, NewEvent
    from hearth.memory.facts import ME, NewFact
    from hearth.trace import parse_moment
    from hearth.types import Label

    if target.resolve() == invocation.home.resolve():
        raise click.UsageError("that is this home; --to names another one")
    with _opened(invocation.home) as at, _opened(target) as there:
        name = " ".join(at.settings.owner.name.split()) or "another home"
        label = Label(frozenset({f"shared:{name}"}), frozenset())
        number = id.removeprefix("fact:")
        if number.isdigit():
            fact = _standing(at.facts, int(number))
            if not fact.is_believed:
                raise errors.NotFound(f"fact {id} is {fact.status}; only what is held true is shared")
            subject = name if fact.subject == ME else fact.subject
            new = NewFact(
                *(subject, fact.relation, fact.value, fact.since, fact.until, fact.confidence, label),
                reason=f"{name} shared it",
            )
            shared = there.facts.add(new, there.now)
            what = _says(shared, at.zone)
            document: dict[str, object] = {"fact": shared.id, "status": shared.status}
        else:
            said = _event(at.store, id)
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


# ── Reading and showing ───────────────────────────────────────────────────────────────────────────────────


def _known(at: _Opened) -> Known:
    from hearth.memory.inference import known_from
    from hearth.tools.people import entities
    from hearth.workspace import Folder

    people = [
        (e.name, *e.aliases) for e in entities(Folder(at.home / "owner", at.store).for_call("")) if e.kind == "person"
    ]
    return known_from(at.facts, people, is_month_first=at.settings.owner.country == "US")


def _recollection(at: _Opened) -> Recollection:
    from hearth.memory.events import EventMemory
    from hearth.memory.recollection import Recollection
    from hearth.models.encoder import MiniLMEncoder
    from hearth.planning.times_named import times_named

    country = at.settings.owner.country
    encoder = MiniLMEncoder.open(config.cache_folder(os.environ))
    return Recollection(EventMemory(at.store, encoder, lambda text, now: times_named(text, now, country)), at.facts)


def _period(text: str, at: _Opened) -> tuple[dt.datetime, dt.datetime]:
    """The stretch of time `text` names. Raises: UsageError."""
    from hearth.planning.times_named import times_named

    with contextlib.suppress(ValueError):
        moment = dt.datetime.fromisoformat(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=at.zone)
        return moment, moment + dt.timedelta(days=1) if len(text) <= 10 else moment
    found = times_named(text, at.now, at.settings.owner.country)
    if not found:
        raise click.UsageError(
            f'{text!r} names no time I know; write it as in 2026-03-01, "last Tuesday" or "March 2019"'
        )
    return found[0].start, found[0].end


def _moment(text: str, at: _Opened) -> dt.datetime:
    return _period(text, at)[0]


def _standing(facts: FactStore, id: int) -> Fact:
    """The row that stands in the place of any row of a fact's history. Raises: NotFound."""
    return facts.history(id)[-1]


def _event(store: Store, id: str) -> tuple[str, str, str, str, str] | None:
    """Time, kind, text, person and place of an event; None when it was forgotten."""
    rows = store.query("SELECT at, kind, text, person, place FROM event WHERE id = ?", (id,))
    return (rows[0][0], rows[0][1], rows[0][2], rows[0][3], rows[0][4]) if rows else None


def _says(fact: Fact, zone: dt.tzinfo) -> str:
    from hearth.memory.recollection import sentence

    return short(sentence(fact, zone), 200)


def _line(fact: Fact, zone: dt.tzinfo) -> str:
    return f"{fact.id:>5}  {_says(fact, zone)}" + ("  (proposed)" if fact.status == "proposed" else "")


def _say(fact: Fact, at: _Opened, as_json: bool) -> None:
    if as_json:
        print_json(_json(fact, at.zone))
    else:
        click.echo(_line(fact, at.zone))


def _origin(fact: Fact) -> str:
    return ", ".join(clean(_SOURCES.get(source, source)) for source in sorted(fact.label.sources)) or "nobody known"


def _table(facts: Sequence[Fact], zone: dt.tzinfo, *, with_origin: bool = False) -> None:
    """Facts in columns that fit the terminal."""
    if not facts:
        return
    left = _width() - 5 - 2 - 22 - 12 - 8
    widths = max(10, left // 4), max(12, left // 4)
    rest = max(14, left - sum(widths))
    titles = ("id", "who", "what", "value", "since", "from" if with_origin else "learnt", "sure")
    for row in (titles, *(_cells(fact, zone, with_origin) for fact in facts)):
        id, who, what, value, since, learnt, sure = row
        cells = f"{id:>5}  {short(who, widths[0]):<{widths[0]}}  {short(what, widths[1]):<{widths[1]}}"
        line = f"{cells}  {short(value, rest):<{rest}}  {since:<10}  {short(learnt, 12):<12}  {sure:>4}"
        click.secho(line, bold=row is titles)


def _cells(fact: Fact, zone: dt.tzinfo, with_origin: bool) -> tuple[str, ...]:
    since = "" if fact.since is None else f"{fact.since.astimezone(zone):%Y-%m-%d}"
    who = "you" if fact.subject == "me" else fact.subject
    learnt = _origin(fact) if with_origin else f"{fact.learnt.astimezone(zone):%Y-%m-%d}"
    value = fact.value if fact.until is None else f"{fact.value} (until {fact.until.astimezone(zone):%Y-%m-%d})"
    return str(fact.id), who, fact.relation, value, since, learnt, f"{fact.confidence:.2f}"


def _width() -> int:
    import shutil

    return max(80, min(shutil.get_terminal_size().columns, 120)) if sys.stdout.isatty() else 120


def _json(fact: Fact, zone: dt.tzinfo) -> dict[str, object]:
    def local(moment: dt.datetime | None) -> dt.datetime | None:
        return None if moment is None else moment.astimezone(zone)

    return {
        "id": fact.id,
        "subject": fact.subject,
        "relation": fact.relation,
        "value": fact.value,
        "since": local(fact.since),
        "until": local(fact.until),
        "learnt": local(fact.learnt),
        "unlearnt": local(fact.unlearnt),
        "confidence": fact.confidence,
        "status": fact.status,
        "sources": sorted(fact.label.sources),
        "reason": fact.reason,
        "events": list(fact.events),
        "follows": fact.follows,
    }


@contextlib.contextmanager
def _bar(n_bytes: int) -> Iterator[ProgressBar[int] | None]:
    """A bar on standard error where a person waits for many bytes."""
    if n_bytes < 1_000_000 or not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=n_bytes, label="Reading", file=sys.stderr) as bar:
        yield bar
