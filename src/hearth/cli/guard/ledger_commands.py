"""`hearth ledger`: show what left this device, byte for byte, and check that the record of it is complete."""

from __future__ import annotations

import base64
import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hearth import errors
from hearth.cli.invocation import Invocation, as_json, bar_from, print_json
from hearth.formats.terminal_text import clean, short

if TYPE_CHECKING:
    from hearth.guard.egress.ledger import Entry, Head, Ledger, Verdict
    from hearth.guard.egress.masking_door import Masked
    from hearth.storage.database import Store


_N_FAULTS_SHOWN = 10
_MANY = 20_000
"""Number of entries from which on a bar is shown."""


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
        with bar_from(_MANY, _n_lines(path), "Checking") as progress:
            verdict = verify_file(path, progress, known)
    else:
        with _opened(invocation.home) as record, bar_from(_MANY, record.head().count, "Checking") as progress:
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
    with _opened(invocation.home) as record, bar_from(_MANY, record.head().count, "Writing") as progress:
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


def _n_lines(path: Path) -> int:
    try:
        with path.open("rb") as file:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))
    except OSError:
        return 0  # reading it reports what is wrong


# ── `hearth mask` ──────────────────────────────────────────────────────────────────────────────────────


MAX_BYTES = 50_000_000


@click.command()
@click.argument("text", nargs=-1)
@click.option(
    "--kinds",
    metavar="LIST",
    help="Which kinds, with commas between; `all` for every one (default: `kinds` under [mask] in hearth.toml).",
)
@click.option("--no-tagger", is_flag=True, help="Find by form and the owner's own names only.")
@as_json
@click.pass_obj
def mask(invocation: Invocation, text: tuple[str, ...], kinds: str | None, no_tagger: bool, as_json: bool) -> None:
    """Show what would leave of TEXT, and what each stand-in stands for.

    `-` or no TEXT reads standard input. Nothing is sent. In a home, its contacts, calendar and settings are used;
    without one, only what is found by form, and by the tagger if it is installed.
    """
    said = " ".join(text)
    if said in ("", "-"):
        raw = sys.stdin.buffer.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise errors.RequestError(f"the text has more than {MAX_BYTES:,} bytes; give it in parts")
        said = raw.decode("utf-8", "surrogateescape")
    if not said.strip():
        raise click.UsageError("there is no text to mask; give one, or a file: hearth mask - < FILE")
    masked = _masked(invocation, said, kinds, no_tagger)
    if as_json:
        kinds_of = masked.stand_ins.kinds
        shown = [
            {"stand_in": name, "kind": kinds_of[name], "stands_for": value} for name, value in masked.values.items()
        ]
        print_json({"text": masked.text, "stand_ins": shown, "comes_back": masked.unmask(masked.text) == said})
        return
    click.echo(clean(masked.text))
    if not masked.values:
        click.echo("\nNothing in this text needs masking.", err=True)
        return
    click.echo("\nOn this device only:", err=True)
    width = max(map(len, masked.values))
    for name, value in masked.values.items():
        click.echo(f"  {name:<{width}}  {masked.stand_ins.kinds[name]:<12}  {clean(' '.join(value.split()))}", err=True)


def _masked(invocation: Invocation, said: str, kinds: str | None, no_tagger: bool) -> Masked:
    """Mask by the home's settings, or without a home by form alone. Raises: ConfigError, UsageError."""
    from hearth import config
    from hearth.guard.egress.masking_door import MaskingDoor, Part
    from hearth.models.ner import TAGGER_FILE
    from hearth.storage.database import Store
    from hearth.storage.open_home import Home
    from hearth.types import OWNER

    chosen: tuple[str, ...] | None = None
    if kinds is not None:
        chosen = (
            config.MASK_KINDS if kinds == "all" else tuple(kind.strip() for kind in kinds.split(",") if kind.strip())
        )
        unknown = next((kind for kind in chosen if kind not in config.MASK_KINDS), None)
        if unknown is not None:
            raise click.UsageError(f"unknown kind {unknown!r}; known are {', '.join(config.MASK_KINDS)}")
    if not no_tagger and not TAGGER_FILE.exists():
        click.echo("the tagger is not installed: names you do not know are found by cues alone", err=True)
    parts, cache = [Part(said, OWNER)], config.cache_folder(os.environ)
    if not (invocation.home / "hearth.toml").exists():
        kinds_found = chosen or config.MASKED_KINDS
        return MaskingDoor.of_nobody(cache, kinds_found, is_tagged=not no_tagger).masked(parts)
    settings = config.read_settings(invocation.home / "hearth.toml")
    with Store.open(invocation.home / "hearth.db") as store:
        home = Home(invocation.home, settings, store, os.environ)
        return MaskingDoor.of_owner(home, kinds=chosen or None, is_tagged=not no_tagger).masked(parts)
