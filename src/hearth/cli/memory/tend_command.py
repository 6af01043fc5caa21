"""`hearth memory tend`: do all maintenance at once that is otherwise spread over many requests."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from hearth import config, errors
from hearth.cli.invocation import Invocation, as_json, print_json
from hearth.cli.memory.opened_memory import Opened, known_people, opened
from hearth.terminal import clean

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

    from hearth.learning.llm.llm_fact_extraction import Reading
    from hearth.memory.event_memory import EventMemory
    from hearth.protocols import LanguageModel

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
        with _bar(n_waiting, "Reading") as bar:
            for n_done in memory.embed():
                if bar is not None:
                    bar.update(n_done - bar.pos)
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
        bar = stack.enter_context(_bar(MAX_EVENTS, "Proposing"))
        if isinstance(model, RemoteModel | MaskedModel):
            stack.callback(model.close)
        reader = InjectionReader.of(MiniLMEncoder.open(config.cache_folder(os.environ)))
        is_away = leaves_device(chosen)
        for done in read_facts(at.store, model, known, leaves_device=is_away, reader=reader):
            if bar is not None:
                bar.update(done.n_events - bar.pos)
    return done


@contextlib.contextmanager
def _bar(n: int, label: str) -> Iterator[ProgressBar[int] | None]:
    """Show a bar on standard error for long work where a person waits."""
    if n < _MANY or not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=n, label=label, file=sys.stderr) as bar:
        yield bar
