"""`hearth forget`: what is removed is shown first, then leaves weights, memory, versions and files."""

from __future__ import annotations

import contextlib
import datetime as dt
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hearth import errors
from hearth.cli.invocation import Invocation, as_json, command_with, print_json
from hearth.cli.learning.learn_commands import Bars, folder_of, open_encoder, opened_state, opened_store, state_option
from hearth.formats.terminal_text import clean, short

if TYPE_CHECKING:
    from hearth.learning.unlearning import Found, Receipt
    from hearth.protocols import Wanted

_N_SHOWN = 8


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is to be forgotten, as it was asked for."""

    kind: str | None
    ids: tuple[str, ...]
    matching: str
    source: str
    episode: str
    person: str
    since: dt.datetime | None
    until: dt.datetime | None
    topic: str
    keep_record: bool

    def of_memory(self, folder: Path) -> Wanted | None:
        """Return what of memory is meant; days are those of the owner's time zone."""
        from hearth import config
        from hearth.protocols import Wanted

        zone: dt.tzinfo = dt.UTC
        if (self.since or self.until) and (folder / "hearth.toml").exists():
            zone = config.read_settings(folder / "hearth.toml").zone()
        first, last = (moment and moment.replace(tzinfo=zone) for moment in (self.since, self.until))
        wanted = Wanted(self.person.strip(), first, last, self.topic.strip())
        return None if wanted.is_empty else wanted


@click.command(cls=command_with({"asked": _Asked}))
@click.argument("kind", type=click.Choice(["demonstration", "event"]), required=False)
@click.argument("ids", nargs=-1)
@click.option("--matching", default="", metavar="TEXT", help="All that holds TEXT: examples, memories, requests.")
@click.option("--source", default="", help="All demonstrations of a source: teacher, success, owner, …")
@click.option("--from-episode", "episode", default="", metavar="ID", help="What came of one request, and the request.")
@click.option("--person", default="", metavar="NAME", help="Memories that NAME said, or that name them.")
@click.option("--since", type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M"]), help="Memories from this day on.")
@click.option("--until", type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M"]), help="Memories before this day.")
@click.option("--topic", default="", metavar="WORDS", help="Memories with these words, or near their meaning.")
@click.option("--keep-record", is_flag=True, help="Keep the recorded requests; questions that wait for the cloud go.")
@state_option
@click.option("--yes", is_flag=True, help="Forget without asking.")
@as_json
@click.pass_obj
def forget(invocation: Invocation, asked: _Asked, state_folder: Path | None, yes: bool, as_json: bool) -> int:
    """Forget demonstrations or memories for good.

    Of --person, --since, --until and --topic, all that are given must hold. What is forgotten is shown first. It is
    removed from the weights (which then equal those of a student that never saw it), the memory, every version and the
    files' bytes, together with facts and sentences of summaries that rest on it alone. A receipt, which
    repeats nothing of it, is written to `receipts/`.
    """
    from hearth.learning.unlearning import Sought, find
    from hearth.learning.unlearning import forget as forget_found

    if asked.kind is not None and not asked.ids:
        raise click.UsageError(f"say which: hearth forget {asked.kind} ID…")
    folder = folder_of(invocation, state_folder)
    wanted = asked.of_memory(folder)
    if asked.kind is None and not (asked.matching or asked.source or asked.episode) and wanted is None:
        raise click.UsageError(
            "say what: demonstration ID…, event ID…, --matching, --person, --since, --until, --topic, --source or "
            "--from-episode"
        )
    with opened_store(folder) as store:
        sought = Sought(
            demonstrations=asked.ids if asked.kind == "demonstration" else (),
            events=asked.ids if asked.kind == "event" else (),
            matching=asked.matching,
            source=asked.source,
            episode=asked.episode,
            with_record=not asked.keep_record,
            wanted=wanted,
        )
        found = find(store, sought, open_encoder() if asked.topic else None)
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
    return 6 if receipt.found_in or receipt.failed else 0


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
        "facts_and_sentences": list(found.attached.said),
        "n_facts": len(found.attached.facts),
        "held": [
            {"holder": held.holder, "counts": {count.many: count.n for count in held.counts}, "texts": list(held.texts)}
            for held in found.held
        ],
        "questions": [{"id": id, "request": text} for id, text in found.questions],
    }


def _show(found: Found) -> None:
    parts = (
        ("demonstration", [(entry.id, entry.demonstration.request) for entry in found.demonstrations]),
        ("memory", list(found.events)),
        ("request", list(found.episodes)),
        *((held.holder, [("", text) for text in held.texts]) for held in found.held),
        ("waits", [("", text or "a question that was answered") for _, text in found.questions]),
    )
    for name, rows in parts:
        for id, text in rows[:_N_SHOWN]:
            click.echo(f"  {name:<13} {clean(id)}  {short(text, 70)}")
        if len(rows) > _N_SHOWN:
            click.echo(f"  {name:<13} … and {len(rows) - _N_SHOWN} more")
    attached = found.attached
    for text in attached.said[:_N_SHOWN]:
        click.echo(f"  {'with it':<13} {short(text, 80)}")
    if len(attached.said) > _N_SHOWN:
        click.echo(f"  {'with it':<13} … and {len(attached.said) - _N_SHOWN} more facts and sentences of summaries")
    for held in found.held:
        for count in held.counts:
            if count.n:
                click.echo(f"  {count}")
        if held.stays and not held.is_empty:
            click.echo(f"  stays: {clean(held.stays)}")
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
        (receipt.n_facts, "fact", "facts"),
        (receipt.n_lines, "sentence of a summary", "sentences of summaries"),
        (receipt.n_erased, "message's bytes", "messages' bytes"),
        (receipt.n_questions, "question that waited for the cloud", "questions that waited for the cloud"),
    )
    said = [f"{n} {one if n == 1 else many}" for n, one, many in counted if n] + [
        clean(count) for count in receipt.held
    ]
    click.echo(f"Forgotten: {', '.join(said)}.")
    for line in receipt.rebuilt:
        click.echo(f"  rebuilt   {line}")
    for what in receipt.failed:
        click.echo(f"  still in  {clean(what)}")
    for what in receipt.stays:
        click.echo(f"  kept      {clean(what)}")
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
