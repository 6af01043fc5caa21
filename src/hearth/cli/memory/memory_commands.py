"""Commands about memory: add, search, ask, facts and their sources, export, backup, restore, import."""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools
import math
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from hearth import config, errors
from hearth.cli.invocation import SECONDS, Invocation, Progress, as_json, bar_from, command_with, print_json
from hearth.cli.why_command import opened_record
from hearth.formats.terminal_text import clean, short

if TYPE_CHECKING:
    from hearth.config import Settings
    from hearth.learning.finetune.llm_fact_extraction import Reading
    from hearth.memory.answers.home_answers import Stage
    from hearth.memory.answers.recollection import Recollection
    from hearth.memory.event_memory import EventMemory, Filter
    from hearth.memory.fact_extraction import Known
    from hearth.memory.facts import Fact, FactStore
    from hearth.memory.transfer.archives import Taken
    from hearth.memory.transfer.backup import Lock
    from hearth.protocols import LanguageModel
    from hearth.storage.database import Store


# ── Opened memory ─────────────────────────────────────────────────────────────────────────────────────────
# Open the memory of a home for `hearth memory`, and print facts on a terminal.

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
    from hearth.memory.facts import FactStore

    with opened_record(home) as store:
        from hearth import config

        settings = config.read_settings(home / "hearth.toml")
        yield Opened(home, settings, store, FactStore(store), dt.datetime.now(settings.zone()))


def known_people(at: Opened) -> Known:
    """Return the people the owner knows, from contacts and facts."""
    from hearth.memory.fact_extraction import known_from
    from hearth.storage.workspace import Folder
    from hearth.tools.pim.contacts import entities

    people = [
        (e.name, *e.aliases) for e in entities(Folder(at.home / "owner", at.store).for_call("")) if e.kind == "person"
    ]
    return known_from(at.facts, people, is_month_first=at.settings.owner.country == "US")


def period(text: str, at: Opened) -> tuple[dt.datetime, dt.datetime]:
    """Return the period that `text` names. Raises: UsageError."""
    from hearth.memory.facts import is_tellable
    from hearth.memory.search.search_words import times_named

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


# ── Archive commands ──────────────────────────────────────────────────────────────────────────────────────
# `hearth memory export|load|backup|restore`: export or back up the memory, and bring it back.

# ── `hearth memory tend` ───────────────────────────────────────────────────────────────────────────────


_MB = 1_000_000
_MANY = 200
"""Number of events from which on a bar is shown."""


@click.command()
@click.option(
    "--propose",
    is_flag=True,
    help="Also let the model in [models.language] read what was said and propose facts; each waits for your word.",
)
@click.option(
    "--at-most",
    "most_s",
    type=SECONDS,
    metavar="SECONDS",
    help="Read your things for no longer than this; the next time goes on. (default: until all is read)",
)
@as_json
@click.pass_obj
def tend(invocation: Invocation, propose: bool, most_s: float | None, as_json: bool) -> int:
    """Fold old events into summaries, delete those past their time, index new ones and your things.

    As `[memory]` says. Mails, notes, documents, events and cards that are new are read, and can then be found by their
    meaning as well as their words. A little of it is done after each request, and while `hearth up` is not asked
    anything; this does all of it. If you stop it, the same command carries on. Exits with 6 when the space
    budget cannot be held by that, or when the model could not be asked.
    """
    from hearth.memory.event_memory import EventMemory
    from hearth.memory.forgetting import Keeper, retention_of

    with opened(invocation.home) as at:
        said = at.settings.memory
        done = Keeper(at.store, EventMemory(at.store), retention_of(said)).tend(at.now)
        n_embedded = _embed(at)
        built = _build_index(at, math.inf if most_s is None else most_s)
        read = _propose(at) if propose or (said.propose and at.settings.models.language is not None) else None
    if as_json:
        index = {"files": built["files"], "pictures": built["pictures"], "passages": built["meaning"]}
        proposed = None if read is None else asdict(read)
        print_json({**asdict(done), "n_embedded": n_embedded, "n_indexed": index, "proposed": proposed})
    else:
        click.echo(f"{done.n_folded} events became part of {done.n_summaries} summaries; {done.n_dropped} were let go.")
        click.echo(f"In use: {done.used_bytes / _MB:.1f} MB of {said.budget_mb} MB.")
        if not done.is_within:
            click.echo("That is more than the budget, and nothing that may be folded is left; forget something.")
        _say_built(built)
        if read is not None:
            click.echo(f"{read.n_events} events read, {read.n_proposed} facts proposed: `hearth memory proposed`.")
            if read.fault:
                click.echo(f"hearth: stopped there, and carried on next time: {clean(read.fault)}", err=True)
    return 0 if done.is_within and not (read is not None and read.fault) else 6


_STAGES_SAID: Mapping[Stage, tuple[str, str]] = {
    "files": ("file read", "files read"),
    "pictures": ("file read for its pictures", "files read for their pictures"),
    "meaning": ("passage found by its meaning, too", "passages found by their meaning, too"),
    "verdicts": ("passage looked through for instructions", "passages looked through for instructions"),
}


def _build_index(at: Opened, most_s: float = math.inf) -> Counter[Stage]:
    """Read what is new of the owner's things and give vectors to what has none, with a bar where a person waits, until
    it took `most_s`; return how much each stage did."""
    from hearth.memory.answers.home_answers import HomeAnswers, judge_version
    from hearth.memory.inquiry.answer_reading import AnswerReader
    from hearth.models.sentence_encoder import MiniLMEncoder
    from hearth.storage.workspace import Folder

    reader = AnswerReader(config.cache_folder(os.environ))
    workspace = Folder(at.home / "owner", at.store).for_call("")
    shown = Progress(sys.stderr if sys.stderr.isatty() else None)
    ends = time.monotonic() + most_s

    def built(answers: HomeAnswers) -> Counter[Stage]:
        steps = answers.build(workspace, at.zone)
        return shown.follow(itertools.takewhile(lambda _: time.monotonic() < ends, steps))

    answers = HomeAnswers(at.store, None, reader)
    done = built(answers)
    passages = answers.passages
    # The model is opened for them alone.
    if (passages.n_waiting() or passages.n_unjudged(judge_version())) and time.monotonic() < ends:
        done += built(HomeAnswers(at.store, MiniLMEncoder.open(reader.cache_dir), reader))
    return done


def _say_built(built: Counter[Stage]) -> None:
    """Say what became of the owner's things; nothing where there was nothing to do."""
    said = [
        f"{built[stage]:,} {one if built[stage] == 1 else several}"
        for stage, (one, several) in _STAGES_SAID.items()
        if built[stage]
    ]
    if said:
        click.echo(f"Your things: {', '.join(said)}.")


def _embed(at: Opened) -> int:
    """Compute the vectors of events that lack them; return how many."""
    from hearth.memory.event_memory import EventMemory
    from hearth.models.sentence_encoder import MiniLMEncoder

    n_waiting = at.store.query("SELECT count(*) FROM event WHERE is_embedded = 0")[0][0]
    n_done = 0
    if n_waiting:
        memory: EventMemory = EventMemory(at.store, MiniLMEncoder.open(config.cache_folder(os.environ)))
        with bar_from(_MANY, n_waiting, "Reading") as show:
            for n_done in memory.embed():
                show(n_done)
    return n_done


def _propose(at: Opened) -> Reading:
    """Read what was said with the language model, and propose facts. Raises: ConfigError: No language model is
    configured, or it cannot be used; nothing was read."""
    from hearth.guard.egress.gateway import Egress
    from hearth.guard.egress.masking_door import MaskedModel, leaves_device, open_masked
    from hearth.guard.injection import InjectionReader
    from hearth.learning.finetune.llm_fact_extraction import MAX_EVENTS, Reading, read_facts
    from hearth.models.llm.openai_endpoint import RemoteModel
    from hearth.models.sentence_encoder import MiniLMEncoder
    from hearth.storage.workspace import Home

    chosen = at.settings.models.language
    if chosen is None:
        raise errors.ConfigError(
            "no language model is configured: --propose asks the one in [models.language] of hearth.toml"
        )
    egress = Egress.from_settings(at.settings, at.store, lambda: dt.datetime.now(at.zone))
    home = Home(at.home, at.settings, at.store, os.environ)
    model: LanguageModel = open_masked(chosen, home, egress, reason="facts proposed")
    done = Reading()
    known = known_people(at)
    if getattr(model, "writes_plans", False):
        raise errors.ConfigError("the model in [models.language] was taught to write plans alone; name another one")
    with contextlib.ExitStack() as stack:
        show = stack.enter_context(bar_from(_MANY, MAX_EVENTS, "Proposing"))
        if isinstance(model, RemoteModel | MaskedModel):
            stack.callback(model.close)
        reader = InjectionReader.of(MiniLMEncoder.open(config.cache_folder(os.environ)))
        is_away = leaves_device(chosen)
        for done in read_facts(at.store, model, known, leaves_device=is_away, reader=reader):
            show(done.n_events)
    return done


# ── Out, and back in ───────────────────────────────────────────────────────────────────────────────────


_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("target", metavar="FILE", type=_FILE)
@as_json
@click.pass_obj
def export(invocation: Invocation, target: Path, as_json: bool) -> None:
    """Write events and facts into FILE as JSON lines that any program reads; `memory load` takes them in again.

    The file is not encrypted: only you can read it, and `memory backup` makes one that nobody else can.
    """
    from hearth.memory.transfer.archives import exported

    n = 0
    with opened_record(invocation.home) as store:
        try:
            handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise errors.RequestError(f"{str(target)!r} exists already; name another file, or remove it") from None
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            for line in exported(store):
                file.write(line + "\n")
                n += 1
    if as_json:
        print_json({"file": str(target), "n_lines": n})
    else:
        click.echo(f"{n} events and facts in {clean(str(target))}")


@click.command()
@click.argument("source", metavar="FILE", type=click.File("rb"))
@click.option("--mine", is_flag=True, help="You wrote this file: believe what it says about its sources.")
@as_json
@click.pass_obj
def load(invocation: Invocation, source: IO[bytes], mine: bool, as_json: bool) -> None:
    """Take in what `memory export` wrote; what is there already is not added twice.

    Without --mine all of it counts as found in a file: facts wait until you confirm them.
    """
    from hearth.memory.event_memory import EventMemory
    from hearth.memory.facts import FactStore
    from hearth.memory.transfer.archives import MAX_LINE_BYTES, lines_imported

    with opened_record(invocation.home) as store:
        lines = iter(lambda: source.readline(MAX_LINE_BYTES + 1), b"")
        added = lines_imported(EventMemory(store), FactStore(store), lines, is_mine=mine)
    if as_json:
        print_json(asdict(added))
    else:
        click.echo(f"{added.n_lines} read: {added.n_events} events and {added.n_facts} facts are new.")


@click.command()
@click.argument("target", metavar="FILE", type=_FILE)
@click.option("--key-file", type=_FILE, help="Lock with this age key instead of a passphrase.")
@click.option("--new-key", type=_FILE, help="Make such a key in this file first; keep it apart from the archive.")
@as_json
@click.pass_obj
def backup(invocation: Invocation, target: Path, key_file: Path | None, new_key: Path | None, as_json: bool) -> None:
    """Write the whole home into one encrypted FILE: your files, the database, what was learnt; no caches.

    The passphrase is asked for, or taken from $HEARTH_PASSPHRASE. `tar`, `age` and `gzip` open the archive without
    Hearth. Others may go on using the home meanwhile.
    """
    from hearth.memory.transfer.backup import backup as write_archive
    from hearth.memory.transfer.backup import new_key as made_key

    if new_key is not None:
        try:
            handle = os.open(new_key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise errors.RequestError(f"{str(new_key)!r} exists already; a key is never written over") from None
        with os.fdopen(handle, "w") as file:
            file.write(made_key())
    lock = _lock(new_key or key_file, is_new=True)
    with bar_from(20 * _MB, _size(invocation.home), "Writing") as progress:
        contents = write_archive(invocation.home, target, lock, progress)
    if as_json:
        print_json({"file": str(target), **asdict(contents)})
    else:
        click.echo(f"{contents.n_files} files ({contents.n_bytes / _MB:.1f} MB) in {clean(str(target))}")


@click.command()
@click.argument("archive", metavar="FILE", type=_FILE)
@click.option("--key-file", type=_FILE, help="The age key it was locked with.")
@as_json
@click.pass_obj
def restore(invocation: Invocation, archive: Path, key_file: Path | None, as_json: bool) -> None:
    """Restore a home from an archive; the home named by --home must be empty.

    Everything is checked before anything is put in place.
    """
    from hearth.memory.transfer.backup import restore as read_archive

    if not archive.exists():
        raise errors.RequestError(
            f"cannot read {str(archive)!r}: no such file; name one made by `hearth memory backup`"
        )
    with bar_from(20 * _MB, archive.stat().st_size, "Reading") as progress:
        contents = read_archive(archive, invocation.home, _lock(key_file, is_new=False), progress)
    if as_json:
        print_json({"home": str(invocation.home), **asdict(contents)})
    else:
        click.echo(f"{contents.n_files} files ({contents.n_bytes / _MB:.1f} MB) in {clean(str(invocation.home))}")


COMMANDS = (export, load, backup, restore, tend)
"""Commands added to the group `hearth memory`."""


def _lock(key_file: Path | None, *, is_new: bool) -> Lock:
    from hearth.memory.transfer.backup import Lock

    if key_file is not None:
        try:
            return Lock(key=key_file.read_text())
        except (OSError, UnicodeDecodeError) as error:
            raise errors.RequestError(
                f"cannot read the key file {str(key_file)!r} ({error}); name a text file"
            ) from None
    if "HEARTH_PASSPHRASE" in os.environ:
        return Lock(passphrase=os.environ["HEARTH_PASSPHRASE"])
    if not sys.stdin.isatty():
        raise errors.RequestError("no passphrase: set HEARTH_PASSPHRASE, or name a key file with --key-file")
    return Lock(passphrase=click.prompt("Passphrase", hide_input=True, confirmation_prompt=is_new, err=True))


def _size(home: Path) -> int:
    return sum(path.stat().st_size for path in home.rglob("*") if path.is_file() and not path.is_symlink())


# ── `hearth import` ────────────────────────────────────────────────────────────────────────────────────


MAX_FAULTS_SHOWN = 20


@click.command(name="import")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Only say what is there and what would be left out.")
@as_json
@click.pass_obj
def import_(invocation: Invocation, path: Path, dry_run: bool, as_json: bool) -> int:
    """Bring in what PATH holds: mails, events, cards, notes, documents, chats.

    PATH is a Google Takeout or another archive (.zip, .tgz), a folder of mail (Thunderbird, Apple Mail, Maildir), an
    .mbox, .eml, .ics or .vcf file, a chat exported from WhatsApp, Telegram or Signal, an Obsidian vault, notes of
    Notion or Keep, or a folder of documents. Copies go to the home; PATH stays as it is. The same import twice adds
    nothing; if you stop it, the same command carries on. At a terminal, what is new is then read, so that questions
    find it.
    """
    from hearth.cli.asking import link_to
    from hearth.memory.event_memory import EventMemory
    from hearth.memory.transfer.archives import Intake, pieces_of
    from hearth.memory.transfer.importers import Source

    pieces = pieces_of(path)
    if dry_run:
        found = Counter(piece.kind or piece.why for piece in pieces)
        kinds = {piece.kind for piece in pieces if piece.kind}
        return _say_found(found, kinds, as_json)
    with opened(invocation.home) as at:
        source = Source(path, "", at.zone, at.settings.owner.country == "US")
        owner = at.settings.owner
        intake = Intake(at.home / "owner", EventMemory(at.store), at.store, source, owner.email)
        shown = Progress(sys.stderr if sys.stderr.isatty() else None)
        n_bytes = sum(piece.n_bytes for piece in pieces if piece.kind)
        with contextlib.closing(intake), shown.stage("Importing", n_bytes, counts=False) as done:
            for piece in pieces:
                for n_more in intake.take(piece):
                    done(n_more)
        _say_intake(intake.taken, as_json)
        if intake.taken.new and sys.stderr.isatty() and link_to(at.home) is None:
            _read_imported(at)
    return 6 if intake.taken.faults else 0


def _read_imported(at: Opened) -> None:
    """Build the index at once, where a person sees how far it is and may stop it."""
    try:
        click.echo("What is new is read now, so that questions find it; Ctrl-C leaves the rest for later.", err=True)
        _build_index(at)
        _embed(at)
    except KeyboardInterrupt:
        click.echo("\nEverything is brought in; `hearth memory tend` reads the rest.", err=True)


def _say_intake(taken: Taken, as_json: bool) -> None:
    if as_json:
        print_json({name: dict(getattr(taken, name)) for name in ("new", "known", "left_out")} | {"bad": taken.faults})
        return
    _say_taken(taken.new, taken.known)
    for why, n in taken.left_out.most_common():
        click.echo(f"  left out: {n} × {clean(why)}")
    for line in taken.faults[:MAX_FAULTS_SHOWN]:
        click.echo(f"  not read: {clean(line)}", err=True)
    if len(taken.faults) > MAX_FAULTS_SHOWN:
        click.echo(f"  … and {len(taken.faults) - MAX_FAULTS_SHOWN} more", err=True)


def _say_taken(new: Counter[str], known: Counter[str]) -> None:
    from hearth.memory.transfer.archives import NAMES

    def counted(counts: Counter[str]) -> str:
        return ", ".join(f"{n:,} {NAMES[kind][n != 1]}" for kind, n in counts.items() if n)

    click.echo(f"New: {counted(new) or 'nothing'}.")
    if known.total():
        click.echo(f"Known already: {counted(known)}.")


def _say_found(found: Counter[str], kinds: set[str], as_json: bool) -> int:
    if as_json:
        sides = {"found": True, "left_out": False}
        print_json(
            {name: {k: n for k, n in found.items() if (k in kinds) == is_kind} for name, is_kind in sides.items()}
        )
        return 0
    for name, n in found.most_common():
        click.echo(f"{n:>7,} × {clean(name)}" + ("" if name in kinds else " (left out)"))
    return 0


# ── Memory commands ───────────────────────────────────────────────────────────────────────────────────────
# `hearth memory`: add, search, ask, count, share, show and correct facts; backups are in "Archive commands".

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
    from hearth.memory.event_memory import propose_routines

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
    from hearth.memory.fact_extraction import Told, learn_from
    from hearth.memory.facts import NewFact
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
def import_memories(invocation: Invocation, path: Path, kind: str | None, with_facts: bool, as_json: bool) -> int:
    """Bring in mail (mbox, Maildir), calendars (.ics), notes, chat exports or photos' times and places.

    The same import twice adds nothing. If you stop it, what is done is kept, and the same command carries on. What
    cannot be read is counted and named.
    """
    from hearth.memory.event_memory import EventMemory
    from hearth.memory.fact_extraction import Told, learn_from
    from hearth.memory.transfer.importers import Report, Source, detect, imported, size_bytes

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
    from hearth.memory.facts import ME, NewFact
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
    from hearth.memory.answers.question_answering import WordReader
    from hearth.memory.answers.recollection import Recollection
    from hearth.memory.event_memory import EventMemory
    from hearth.memory.search.search_words import times_named
    from hearth.models.sentence_encoder import MiniLMEncoder

    country = at.settings.owner.country
    encoder = MiniLMEncoder.open(config.cache_folder(os.environ))
    events = EventMemory(at.store, encoder, lambda text, now: times_named(text, now, country))
    return Recollection(events, at.facts, WordReader(config.cache_folder(os.environ)))
