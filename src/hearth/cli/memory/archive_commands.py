"""`hearth memory export|load|backup|restore`: export or back up the memory, and bring it back."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from hearth import config, errors
from hearth.cli.guard.ledger_commands import opened_record
from hearth.cli.invocation import Invocation, Progress, as_json, bar_from, print_json
from hearth.cli.memory.opened_memory import Opened, known_people, opened
from hearth.formats.terminal_text import clean

if TYPE_CHECKING:
    from hearth.learning.llm.llm_fact_extraction import Reading
    from hearth.memory.event_memory import EventMemory
    from hearth.memory.transfer.backup import Lock
    from hearth.protocols import LanguageModel


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
@as_json
@click.pass_obj
def tend(invocation: Invocation, propose: bool, as_json: bool) -> int:
    """Fold old events into summaries, delete those past their time, index new ones.

    As `[memory]` says. A little of it is done after each request; this does all of it. Exits with 6 when the space
    budget cannot be held by that, or when the model could not be asked.
    """
    from hearth.memory.event_memory import EventMemory
    from hearth.memory.maintenance import retention_of
    from hearth.memory.retention import Keeper

    with opened(invocation.home) as at:
        said = at.settings.memory
        done = Keeper(at.store, EventMemory(at.store), retention_of(said)).tend(at.now)
        n_embedded = _embed(at)
        read = _propose(at) if propose or (said.propose and at.settings.models.language is not None) else None
    if as_json:
        print_json({**asdict(done), "n_embedded": n_embedded, "proposed": None if read is None else asdict(read)})
    else:
        click.echo(f"{done.n_folded} events became part of {done.n_summaries} summaries; {done.n_dropped} were let go.")
        click.echo(f"In use: {done.used_bytes / _MB:.1f} MB of {said.budget_mb} MB.")
        if not done.is_within:
            click.echo("That is more than the budget, and nothing that may be folded is left; forget something.")
        if read is not None:
            click.echo(f"{read.n_events} events read, {read.n_proposed} facts proposed: `hearth memory proposed`.")
            if read.fault:
                click.echo(f"hearth: stopped there, and carried on next time: {clean(read.fault)}", err=True)
    return 0 if done.is_within and not (read is not None and read.fault) else 6


def _embed(at: Opened) -> int:
    """Compute the vectors of events that lack them; return how many."""
    from hearth.memory.event_memory import EventMemory
    from hearth.models.encoder.sentence_encoder import MiniLMEncoder

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
    from hearth.guard.flow.injection import InjectionReader
    from hearth.learning.llm.llm_fact_extraction import MAX_EVENTS, Reading, read_facts
    from hearth.models.encoder.sentence_encoder import MiniLMEncoder
    from hearth.models.llm.openai_endpoint import RemoteModel
    from hearth.storage.open_home import Home

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
    from hearth.memory.transfer.jsonl import exported

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
    from hearth.memory.facts.fact_store import FactStore
    from hearth.memory.transfer.jsonl import MAX_LINE_BYTES, imported

    with opened_record(invocation.home) as store:
        lines = iter(lambda: source.readline(MAX_LINE_BYTES + 1), b"")
        added = imported(EventMemory(store), FactStore(store), lines, is_mine=mine)
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

    PATH is a Google Takeout or another archive (.zip), a folder of mail (Thunderbird, Apple Mail, Maildir), an .mbox,
    .eml, .ics or .vcf file, a chat exported from WhatsApp, Telegram or Signal, an Obsidian vault, notes of Notion or
    Keep, or a folder of documents. Copies go to the home; PATH stays as it is. The same import twice adds nothing; if
    you stop it, the same command carries on.
    """
    from hearth.memory.event_memory import EventMemory
    from hearth.memory.transfer.archive_contents import pieces_of
    from hearth.memory.transfer.archive_intake import Intake
    from hearth.memory.transfer.import_sources import Source

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
    taken = intake.taken
    if as_json:
        print_json({name: dict(getattr(taken, name)) for name in ("new", "known", "left_out")} | {"bad": taken.faults})
    else:
        _say_taken(taken.new, taken.known)
        for why, n in taken.left_out.most_common():
            click.echo(f"  left out: {n} × {clean(why)}")
        for line in taken.faults[:MAX_FAULTS_SHOWN]:
            click.echo(f"  not read: {clean(line)}", err=True)
        if len(taken.faults) > MAX_FAULTS_SHOWN:
            click.echo(f"  … and {len(taken.faults) - MAX_FAULTS_SHOWN} more", err=True)
    return 6 if taken.faults else 0


def _say_taken(new: Counter[str], known: Counter[str]) -> None:
    from hearth.memory.transfer.archive_intake import NAMES

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
