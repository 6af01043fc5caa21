"""`hearth forget`: what is removed is shown first, then leaves weights, memory, versions and files."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hearth import errors
from hearth.cli.invocation import Invocation, as_json, print_json
from hearth.cli.learning import Bars, folder_of, opened_state, opened_store, state_option
from hearth.terminal import clean, short

if TYPE_CHECKING:
    from hearth.learn.unlearn import Found, Receipt

_N_SHOWN = 8


@click.command()
@click.argument("kind", type=click.Choice(["demonstration", "event"]), required=False)
@click.argument("ids", nargs=-1)
@click.option("--matching", default="", metavar="TEXT", help="All that holds TEXT: examples, memories, requests.")
@click.option("--source", default="", help="All demonstrations of a source: teacher, success, owner, …")
@click.option("--from-episode", "episode", default="", metavar="ID", help="What came of one request, and the request.")
@click.option("--keep-record", is_flag=True, help="Leave the recorded requests of `hearth history`.")
@state_option
@click.option("--yes", is_flag=True, help="Forget without asking.")
@as_json
@click.pass_obj
def forget(
    invocation: Invocation,
    kind: str | None,
    ids: tuple[str, ...],
    matching: str,
    source: str,
    episode: str,
    keep_record: bool,
    state_folder: Path | None,
    yes: bool,
    as_json: bool,
) -> int:
    """Forget demonstrations or memories for good.

    They leave the weights (which then equal those of a student that never saw them), the memory, every version and the
    files' bytes. What would go is shown first. A receipt, which repeats nothing of it, is written to `receipts/`.
    """
    from hearth.learn.unlearn import find
    from hearth.learn.unlearn import forget as forget_found

    if kind is not None and not ids:
        raise click.UsageError(f"say which: hearth forget {kind} ID…")
    if kind is None and not (matching or source or episode):
        raise click.UsageError("say what: demonstration ID…, event ID…, --matching, --source or --from-episode")
    folder = folder_of(invocation, state_folder)
    with opened_store(folder) as store:
        found = find(
            store,
            demonstrations=ids if kind == "demonstration" else (),
            events=ids if kind == "event" else (),
            matching=matching,
            source=source,
            episode=episode,
            with_record=not keep_record,
        )
    if found.is_empty:
        raise errors.NotFound("nothing of that is held; there is nothing to forget")
    if not yes:
        if as_json:
            print_json(_json(found))
        else:
            _show(found)
        if as_json or not _agreed():
            click.echo("Nothing was forgotten; --yes forgets it.", err=True)
            return 5
    bars = Bars()
    try:
        with opened_state(folder) as (state, _):
            receipt = forget_found(state, found, bars)
    finally:
        bars.close()
    if as_json:
        print_json(asdict(receipt))
    else:
        _say(receipt)
    return 6 if receipt.found_in else 0


def _agreed() -> bool:
    if sys.stdin.isatty():
        with contextlib.suppress(click.Abort):
            return click.confirm("Forget this for good?", default=False, err=True)
    return False


def _json(found: Found) -> dict[str, object]:
    return {
        "forgotten": False,
        "demonstrations": [{"id": e.id, "request": e.demonstration.request} for e in found.demonstrations],
        "events": [{"id": id, "text": text} for id, text in found.events],
        "episodes": [{"id": id, "request": text} for id, text in found.episodes],
        "n_agreements": found.n_agreements,
        "n_sent": len(found.sent),
    }


def _show(found: Found) -> None:
    parts = (
        ("demonstration", [(entry.id, entry.demonstration.request) for entry in found.demonstrations]),
        ("memory", list(found.events)),
        ("request", list(found.episodes)),
    )
    for name, rows in parts:
        for id, text in rows[:_N_SHOWN]:
            click.echo(f"  {name:<13} {clean(id)}  {short(text, 70)}")
        if len(rows) > _N_SHOWN:
            click.echo(f"  {name:<13} … and {len(rows) - _N_SHOWN} more")
    if found.n_agreements:
        click.echo(f"  {found.n_agreements} comparisons with a teacher")
    if found.sent:
        click.echo(f"  the bytes of {len(found.sent)} messages in the ledger; that they left stays")
    if found.episodes:
        click.echo("  What these requests changed in your files stays, and can no longer be undone by Hearth.")


def _say(receipt: Receipt) -> None:
    counted = (
        (receipt.n_demonstrations, "demonstration", "demonstrations"),
        (receipt.n_events, "memory", "memories"),
        (receipt.n_episodes, "recorded request", "recorded requests"),
        (receipt.skills_removed, "skill", "skills"),
        (receipt.n_erased, "message's bytes", "messages' bytes"),
    )
    said = [f"{n} {one if n == 1 else many}" for n, one, many in counted if n]
    click.echo(f"Forgotten: {', '.join(said)}.")
    for line in receipt.rebuilt:
        click.echo(f"  rebuilt   {line}")
    if receipt.versions_rewritten:
        click.echo(f"  versions  {', '.join(map(str, receipt.versions_rewritten))} rewritten without it")
    if receipt.adapters_dropped:
        click.echo("  tier two  dropped, as it had seen it; the next `hearth learn` trains it anew")
    if receipt.n_erased:
        click.echo(f"  ledger    the bytes of {receipt.n_erased} messages erased; that they left stays written down")
    if receipt.disclosures:
        click.echo(f"  kept      the record of {receipt.disclosures} messages that left this device and hold it")
    for name in receipt.found_in:
        todo = (
            "find it with --matching; do not remove that file"
            if name.startswith("hearth.db")
            else "remove that copy yourself"
        )
        click.echo(f"  still in  {clean(name)}: {todo}")
