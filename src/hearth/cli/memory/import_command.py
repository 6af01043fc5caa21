"""`hearth import`: bring in mail, calendars, cards, notes, documents and chats from whatever a person has of them."""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from pathlib import Path

import click

from hearth.cli.invocation import Invocation, as_json, print_json
from hearth.cli.memory.opened_memory import opened
from hearth.cli.progress import Progress
from hearth.terminal import clean

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
        named = {name: {k: n for k, n in found.items() if (k in kinds) == is_kind} for name, is_kind in _SIDES}
        print_json(named)
        return 0
    for name, n in found.most_common():
        click.echo(f"{n:>7,} × {clean(name)}" + ("" if name in kinds else " (left out)"))
    return 0


_SIDES = (("found", True), ("left_out", False))
