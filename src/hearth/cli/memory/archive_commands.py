"""`hearth memory export|load|backup|restore`: export or back up the memory, and bring it back."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from hearth import errors
from hearth.cli.guard.ledger_commands import opened_record
from hearth.cli.invocation import Invocation, as_json, print_json
from hearth.cli.memory.tend_command import tend
from hearth.terminal import clean

if TYPE_CHECKING:
    from hearth.memory.transfer.backup import Lock

_FILE = click.Path(path_type=Path, dir_okay=False)
_MB = 1_000_000


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
    with _bar(_size(invocation.home), "Writing") as progress:
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
    with _bar(archive.stat().st_size, "Reading") as progress:
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


@contextlib.contextmanager
def _bar(n_bytes: int, label: str) -> Iterator[Callable[[int], object]]:
    """Show a bar on standard error for long work where a person waits."""
    if n_bytes < 20 * _MB or not sys.stderr.isatty():
        yield lambda _: None
        return
    with click.progressbar(length=n_bytes, label=label, file=sys.stderr) as bar:
        yield lambda done: bar.update(min(done, n_bytes) - bar.pos)
