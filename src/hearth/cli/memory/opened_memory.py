"""Open the memory of a home for `hearth memory`, and print facts on a terminal."""

from __future__ import annotations

import contextlib
import datetime as dt
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hearth.cli.guard.ledger_commands import opened_record
from hearth.cli.invocation import print_json
from hearth.formats.terminal_text import clean, short

if TYPE_CHECKING:
    from hearth.config import Settings
    from hearth.memory.facts.fact_rules import Known
    from hearth.memory.facts.fact_store import Fact, FactStore
    from hearth.storage.database import Store

_SOURCES = {
    "owner": "you",
    "device": "worked out on this device",
    "contacts": "your contacts",
    "message": "a message that came in",
    "web": "a web page",
    "file": "a file",
    "sensor": "a sensor",
    "memory": "what was remembered",
    "model": "a language model",
}


@dataclass(frozen=True, slots=True)
class Opened:
    """The open memory of a home, also while an agent runs on it."""

    home: Path
    settings: Settings
    store: Store
    facts: FactStore
    now: dt.datetime

    @property
    def zone(self) -> dt.tzinfo:
        return self.settings.zone()


@contextlib.contextmanager
def opened(home: Path) -> Iterator[Opened]:
    """Open the memory of `home` and its facts; both are closed afterwards."""
    from hearth.memory.facts.fact_store import FactStore

    with opened_record(home) as store:
        from hearth import config

        settings = config.read_settings(home / "hearth.toml")
        yield Opened(home, settings, store, FactStore(store), dt.datetime.now(settings.zone()))


def known_people(at: Opened) -> Known:
    """Return the people the owner knows, from contacts and facts."""
    from hearth.memory.facts.fact_extraction import known_from
    from hearth.storage.workspace import Folder
    from hearth.tools.pim.cards import entities

    people = [
        (e.name, *e.aliases) for e in entities(Folder(at.home / "owner", at.store).for_call("")) if e.kind == "person"
    ]
    return known_from(at.facts, people, is_month_first=at.settings.owner.country == "US")


def period(text: str, at: Opened) -> tuple[dt.datetime, dt.datetime]:
    """Return the period that `text` names. Raises: UsageError."""
    from hearth.memory.facts.fact_dates import is_tellable
    from hearth.memory.search.time_mentions import times_named

    with contextlib.suppress(ValueError):
        said = dt.datetime.fromisoformat(text)
        if not is_tellable(said):
            raise click.UsageError(f"{text!r} is in the year {said.year}; write one from 2 to 9998")
        said = said if said.tzinfo else said.replace(tzinfo=at.zone)
        return said, said + dt.timedelta(days=1) if len(text) <= 10 else said
    found = times_named(text, at.now, at.settings.owner.country)
    if not found:
        raise click.UsageError(
            f'{text!r} names no time I know; write it as in 2026-03-01, "last Tuesday" or "March 2019"'
        )
    return found[0].start, found[0].end


def moment(text: str, at: Opened) -> dt.datetime:
    """Return the start of the period that `text` names. Raises: UsageError."""
    return period(text, at)[0]


def standing(facts: FactStore, id: int) -> Fact:
    """Return the current row for any row of a fact's history. Raises: NotFound."""
    return facts.history(id)[-1]


def event_told(store: Store, id: str) -> tuple[str, str, str, str, str] | None:
    """Return time, kind, text, person and place of an event; None when it was forgotten."""
    rows = store.query("SELECT at, kind, text, person, place FROM event WHERE id = ?", (id,))
    return (rows[0][0], rows[0][1], rows[0][2], rows[0][3], rows[0][4]) if rows else None


def says(fact: Fact, zone: dt.tzinfo) -> str:
    """Return a fact as a sentence of one line."""
    from hearth.memory.answers.recollection import sentence

    return short(sentence(fact, zone), 200)


def told_in_line(fact: Fact, zone: dt.tzinfo) -> str:
    """Return a fact with its id, and whether it is only proposed."""
    return f"{fact.id:>5}  {says(fact, zone)}" + ("  (proposed)" if fact.status == "proposed" else "")


def say(fact: Fact, at: Opened, as_json: bool) -> None:
    """Print one fact."""
    if as_json:
        print_json(fact_json(fact, at.zone))
    else:
        click.echo(told_in_line(fact, at.zone))


def origin(fact: Fact) -> str:
    """Return the source of a fact, in words."""
    return ", ".join(clean(_SOURCES.get(source, source)) for source in sorted(fact.label.sources)) or "nobody known"


def table(facts: Sequence[Fact], zone: dt.tzinfo, *, with_origin: bool = False) -> None:
    """Print facts in columns that fit the terminal."""
    if not facts:
        return
    left = width() - 5 - 2 - 22 - 12 - 8
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
    learnt = origin(fact) if with_origin else f"{fact.learnt.astimezone(zone):%Y-%m-%d}"
    value = fact.value if fact.until is None else f"{fact.value} (until {fact.until.astimezone(zone):%Y-%m-%d})"
    return str(fact.id), who, fact.relation, value, since, learnt, f"{fact.confidence:.2f}"


def width() -> int:
    """Return the number of columns to print in."""
    import shutil

    return max(80, min(shutil.get_terminal_size().columns, 120)) if sys.stdout.isatty() else 120


def fact_json(fact: Fact, zone: dt.tzinfo) -> dict[str, object]:
    """Return a fact for programs, times in the owner's zone."""

    def local(at: dt.datetime | None) -> dt.datetime | None:
        return None if at is None else at.astimezone(zone)

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
