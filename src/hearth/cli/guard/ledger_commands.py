"""`hearth ledger`: show what left this device, byte for byte, and check that the record of it is complete."""

from __future__ import annotations

import base64
import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hearth import errors
from hearth.cli.invocation import Invocation, as_json, print_json
from hearth.terminal import clean, short

if TYPE_CHECKING:
    from hearth.guard.egress.ledger import Entry, Head, Ledger, Verdict
    from hearth.storage.database import Store

_N_FAULTS_SHOWN = 10


@click.group()
def ledger() -> None:
    """Show and check the record of what left this device.

    Every message out is written down before it is sent: the exact bytes, to whom, when, why, how and under which rule.
    Each entry is chained to the one before it, so that a change is found.
    """


@ledger.command()
@click.option("--episode", default="", metavar="ID", help="Only what left for this request.")
@click.option("--bytes", "n_bytes", type=click.IntRange(min=0), default=0, metavar="N", help="Also the first N bytes.")
@click.option(
    "--limit", type=click.IntRange(1, 1_000_000), default=20, show_default=True, help="How many, the latest ones."
)
@as_json
@click.pass_obj
def show(invocation: Invocation, episode: str, n_bytes: int, limit: int, as_json: bool) -> None:
    """List what left: when, to whom, how much, why, and what stand-ins stood for."""
    with _opened(invocation.home) as record:
        if episode:
            entries = list(record.entries(episode=episode))
            if not entries:
                _check_episode(invocation.home, episode)
        else:
            entries = list(record.entries(after=max(0, record.head().count - limit)))
    if as_json:
        print_json([_json(entry, n_bytes) for entry in entries])
        return
    for entry in entries:
        click.echo("\n".join(entry_lines(entry, n_bytes)))
    if not entries:
        click.echo("Nothing left this device for that request." if episode else "Nothing has left this device.")


@ledger.command()
@click.option("--file", "path", type=click.Path(path_type=Path), metavar="FILE", help="Check an export instead.")
@click.option("--head", "kept", default="", metavar="COUNT:HASH", help="A head you kept elsewhere: it must still fit.")
@as_json
@click.pass_obj
def verify(invocation: Invocation, path: Path | None, kept: str, as_json: bool) -> int:
    """Check that no byte of the ledger was changed, and no entry taken out, put in or cut off.

    Exits with 1 when something was, and names the first entry that is broken.
    """
    from hearth.guard.egress.ledger import head_from_text, verify_file

    known: Head | None = None
    if kept:
        try:
            known = head_from_text(kept)
        except ValueError as error:
            raise click.UsageError(str(error)) from None
    if path is not None:
        with _progress(_n_lines(path), "Checking") as progress:
            verdict = verify_file(path, progress, known)
    else:
        with _opened(invocation.home) as record, _progress(record.head().count, "Checking") as progress:
            verdict = record.verify(progress, known)
    if as_json:
        print_json({"whole": verdict.is_whole, **asdict(verdict), "head": str(verdict.head)})
    else:
        _say(verdict)
    return 0 if verdict.is_whole else 1


@ledger.command()
@click.argument("target", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@as_json
@click.pass_obj
def export(invocation: Invocation, target: Path, as_json: bool) -> None:
    """Write the whole ledger into FILE as JSON lines; keep the head it prints somewhere else.

    It holds everything that left, and what stand-ins stood for: only you can read the file.
    """
    with _opened(invocation.home) as record, _progress(record.head().count, "Writing") as progress:
        head = record.export(target, progress)
    if as_json:
        print_json({"file": str(target), "count": head.count, "head": str(head)})
    else:
        click.echo(f"{head.count} {_entries(head.count)} in {clean(str(target))}")
        click.echo(f"head {head}")


# ── Lines ─────────────────────────────────────────────────────────────────────────────────────────────────


def entry_lines(entry: Entry, n_bytes: int = 0) -> list[str]:
    """Format one entry for a person."""
    where = f"{entry.host}:{entry.port}" if entry.port else entry.host
    if entry.address and entry.address != entry.host:
        where += f" ({entry.address})"
    size = {
        "sent": f"{entry.n_bytes} bytes",
        "used": f"{entry.n_tokens} tokens" + (f", {entry.usd:.4f} USD" if entry.usd else ""),
    }.get(entry.kind, "")
    parts = [f"{entry.number:>5}  {entry.at[:19].replace('T', ' ')}", entry.kind, where, size, entry.tls]
    lines = ["  ".join(clean(part) for part in parts if part)]
    why = [entry.reason, f"request {entry.episode}" if entry.episode else ""]
    why += [f"step {entry.step + 1}" if entry.step is not None else "", f"rule {entry.rule}" if entry.rule else ""]
    lines.append(f"       why: {clean(' · '.join(part for part in why if part))}")
    if entry.payload is None:
        lines.append("       what was in it was forgotten")
    for name, value in sorted((entry.stands_for or {}).items()):
        lines.append(f"       {clean(name)} stood for {short(value, 80)}")
    if n_bytes and entry.payload and entry.kind == "sent":
        shown = clean(entry.payload[:n_bytes].decode("utf-8", "backslashreplace").replace("\r\n", "\n"))
        lines += [f"       | {line}" for line in shown.split("\n")]
        if len(entry.payload) > n_bytes:
            lines.append(f"       … and {len(entry.payload) - n_bytes} bytes more (--bytes {len(entry.payload)})")
    return lines


def _json(entry: Entry, n_bytes: int) -> dict[str, object]:
    document = {name: value for name, value in asdict(entry).items() if name != "payload"}
    document["is_forgotten"] = entry.payload is None
    if n_bytes and entry.payload is not None:
        document["payload_base64"] = base64.b64encode(entry.payload[:n_bytes]).decode()
    return document


def _say(verdict: Verdict) -> None:
    n = verdict.n_entries
    if verdict.is_whole:
        click.echo(f"Whole: {n} {_entries(n)}, none of them changed, missing or added.")
    else:
        first = min((fault.number for fault in verdict.faults if fault.number), default=0)
        where = f", the first at entry {first}" if first else ""
        click.echo(f"Broken: {verdict.n_faults} fault{'' if verdict.n_faults == 1 else 's'}{where}.")
        for fault in verdict.faults[:_N_FAULTS_SHOWN]:
            click.echo(f"  {f'entry {fault.number}' if fault.number else 'the ledger'}: {clean(fault.what)}")
        if verdict.n_faults > _N_FAULTS_SHOWN:
            click.echo(f"  … and {verdict.n_faults - _N_FAULTS_SHOWN} more")
    for note in verdict.notes:
        click.echo(f"  note: {note}")
    if verdict.n_erased:
        click.echo(f"  {verdict.n_erased} {_entries(verdict.n_erased)} had their bytes forgotten; the chain holds them")
    click.echo(f"head {verdict.head}")


def _entries(n: int) -> str:
    return "entry" if n == 1 else "entries"


# ── Shared ────────────────────────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def opened_record(home: Path) -> Iterator[Store]:
    """Open the database of a home, also while an agent runs on it. Raises: ConfigError: There is none."""
    from hearth.storage.database import Store

    if not (home / "hearth.db").exists():
        raise errors.ConfigError(f"no record in {str(home)!r}; make a home there with `hearth init`")
    with Store.open(home / "hearth.db") as store:
        yield store


@contextlib.contextmanager
def _opened(home: Path) -> Iterator[Ledger]:
    from hearth.guard.egress.ledger import Ledger

    with opened_record(home) as store:
        yield Ledger(store)


def _check_episode(home: Path, id: str) -> None:
    from hearth.storage.trace import Trace

    with opened_record(home) as store:
        if not Trace(store).has(id):
            raise errors.NotFound(f"no episode {id!r}; `hearth history` lists the ones there are")


@contextlib.contextmanager
def _progress(n: int, label: str) -> Iterator[Callable[[int], object]]:
    """Show a bar on standard error where a person waits for many entries."""
    if n < 20_000 or not sys.stderr.isatty():
        yield lambda _: None
        return
    with click.progressbar(length=n, label=label, file=sys.stderr) as bar:
        yield lambda done: bar.update(done - bar.pos)


def _n_lines(path: Path) -> int:
    try:
        with path.open("rb") as file:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))
    except OSError:
        return 0  # reading it reports what is wrong
