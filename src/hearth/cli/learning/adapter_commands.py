"""`hearth adapters`: manage versions of a language student, made by distillation from the demonstrations of a home."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hearth import errors
from hearth.cli.invocation import Invocation, Number, as_json, command_with, print_json
from hearth.cli.learning.learn_commands import Bars, folder_of, opened_state, state_option
from hearth.formats.terminal_text import clean

if TYPE_CHECKING:
    from hearth.learning.learned_state import State
    from hearth.learning.llm.adapter_versions import Adapters, AdapterVersion, Distilled
    from hearth.types import Demonstration

# Models and their libraries are imported by the commands that need them.


@click.group()
def adapters() -> None:
    """Teach a local language model; list its versions, choose one, move one to another model."""


@adapters.command("list")
@state_option
@as_json
@click.pass_obj
def list_versions(invocation: Invocation, state_folder: Path | None, as_json: bool) -> None:
    """List the adapters: on which model, from how much, how good; `*` is the one in use."""
    versions = _adapters(folder_of(invocation, state_folder)).versions()
    if as_json:
        print_json([_version_json(version) for version in versions])
        return
    for version in versions:
        record = version.record
        score = record.scores.get("node_f1")
        click.echo(
            f"{'*' if version.is_current else ' '} {version.number:>4}  {record.made[:16].replace('T', ' ')}  "
            f"{f'{score:.3f}' if score is not None else '    –'}  {len(record.ids):,} demonstrations, "
            f"{len(record.replayed):,} replayed{f', from {clean(record.parent)}' if record.parent else ''}  "
            f"on {clean(record.base)}"
        )
    if not versions:
        click.echo("There is no adapter yet: hearth adapters distil --base MODEL")


@dataclass(frozen=True, slots=True)
class _Sources:
    """Where the demonstrations and their tools come from."""

    source_file: Path | None
    tools_file: Path | None
    state_folder: Path | None


@dataclass(frozen=True, slots=True)
class _Training:
    """How an adapter is trained."""

    epochs: float
    rank: int
    lr: float
    replay: float
    tool_tokens: bool
    seed: int


@adapters.command(cls=command_with({"sources": _Sources, "training": _Training}))
@click.option("--base", required=True, metavar="MODEL", help="Folder of a transformers model, or a name in its cache.")
@click.option(
    "--from", "source_file", type=click.Path(path_type=Path), metavar="FILE.jsonl", help="New demonstrations."
)
@click.option("--tools", "tools_file", type=click.Path(path_type=Path), help="Tools the plans may use: tool_desc.json.")
@state_option
@click.option("--epochs", type=Number(min=0, min_open=True), default=3.0, show_default=True)
@click.option("--rank", type=click.IntRange(1, 512), default=16, show_default=True, help="Rank of the adapter.")
@click.option("--lr", type=Number(0, 1, min_open=True), default=2e-4, show_default=True, help="Learning rate.")
@click.option(
    "--replay", type=Number(min=0), default=1.0, show_default=True, help="Earlier demonstrations replayed per new one."
)
@click.option("--tool-tokens", is_flag=True, help="Give each tool's name a token of its own: for very small models.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@as_json
@click.pass_obj
def distil(invocation: Invocation, base: str, sources: _Sources, training: _Training, as_json: bool) -> int:
    """Teach a model what the home's demonstrations show; the result is used only if the gate finds it no worse.

    It teaches what no adapter was taught yet (or what a file holds), and replays some of the rest.
    """
    from hearth.learning.demonstration_store import read_entries
    from hearth.learning.llm.distillation import LanguageOptions, Lessons

    options = LanguageOptions(
        n_epochs=training.epochs,
        rank=training.rank,
        lr=training.lr,
        replay=training.replay,
        tool_tokens=training.tool_tokens,
    )
    folder = folder_of(invocation, sources.state_folder)
    with opened_state(folder, tools_file=sources.tools_file) as (state, _):
        kept = _adapters(folder)
        held = {d.id: d for d in _usable(state)}
        now = kept.current()
        known = now.record.seen | frozenset(now.record.held) if now else frozenset[str]()
        new = [d for id, d in held.items() if id not in known]
        if sources.source_file is not None:
            entries, faults = read_entries(sources.source_file)
            checked = state.buffer.check(entries, state.tools)
            for fault in (*faults, *checked.refused):
                click.echo(f"skipped: {clean(fault.reason)}", err=True)
            new = [entry.demonstration for entry in checked.entries]
        if not new:
            raise errors.RequestError("every demonstration was taught already; give new ones with --from")
        fresh = {d.id for d in new}
        bars = Bars()
        try:
            lessons = Lessons(new, state.tools, [d for id, d in held.items() if id not in fresh], training.seed)
            made = kept.distil(base, lessons, options=options, progress=lambda done, n: bars("learning", done, n))
        finally:
            bars.close()
    return _said(made, as_json)


@adapters.command()
@click.argument("number", type=int)
@state_option
@click.pass_obj
def promote(invocation: Invocation, number: int, state_folder: Path | None) -> None:
    """Use adapter NUMBER from now on, whatever the gate said."""
    _adapters(folder_of(invocation, state_folder)).promote(number)
    click.echo(f"Adapter {number} is in use.")


@adapters.command()
@click.argument("number", type=int, required=False)
@state_option
@click.pass_obj
def rollback(invocation: Invocation, number: int | None, state_folder: Path | None) -> None:
    """Use the adapter before the present one again, or adapter NUMBER."""
    current = _adapters(folder_of(invocation, state_folder)).rollback(number)
    click.echo(f"Adapter {current.number} is in use." if current else "No adapter is in use; the model alone is.")


@adapters.command()
@click.argument("number", type=int)
@click.option("--base", required=True, metavar="MODEL", help="The model to move to.")
@click.option("--tools", "tools_file", type=click.Path(path_type=Path), help="Tools the plans may use: tool_desc.json.")
@state_option
@as_json
@click.pass_obj
def move(
    invocation: Invocation, number: int, base: str, tools_file: Path | None, state_folder: Path | None, as_json: bool
) -> int:
    """Make adapter NUMBER anew on another model, from the demonstrations it was taught that are still held."""
    folder = folder_of(invocation, state_folder)
    with opened_state(folder, tools_file=tools_file) as (state, _):
        buffer = _usable(state)
        bars = Bars()
        try:
            made = _adapters(folder).move(
                number, base, buffer, state.tools, progress=lambda done, n: bars("learning", done, n)
            )
        finally:
            bars.close()
    return _said(made, as_json)


@adapters.command()
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--base", type=click.Path(path_type=Path), help="Folder of its model (default: [models.language] path).")
@click.option("--tools", "tools_file", type=click.Path(path_type=Path), help="Tools the plans may use: tool_desc.json.")
@state_option
@as_json
@click.pass_obj
def take(
    invocation: Invocation,
    file: Path | None,
    base: Path | None,
    tools_file: Path | None,
    state_folder: Path | None,
    as_json: bool,
) -> int:
    """Take the adapter that `hearth edge sync` fetched, or the packed one in FILE, as a version of this home.

    It must have been made on the same model, and is in use only if the gate finds that it plans what was taught here no
    worse. `hearth adapters rollback` goes back.
    """
    folder = folder_of(invocation, state_folder)
    chosen = base or _own_model(invocation)
    with opened_state(folder, tools_file=tools_file) as (state, _):
        source = file if file is not None else _fetched(state, folder)
        made = _adapters(folder).take(source, chosen, _usable(state), state.tools)
    return _said(made, as_json)


def _own_model(invocation: Invocation) -> Path:
    """Return the path of the home's local model. Raises: ConfigError: The home names no local model."""
    from hearth import config

    chosen = config.read_settings(invocation.home / "hearth.toml").models.language
    if chosen is None or chosen.kind != "huggingface":
        raise errors.ConfigError(
            'no local model is named; an adapter goes on one: write kind = "huggingface" and path under '
            "[models.language] of hearth.toml, or give --base"
        )
    return invocation.home / Path(chosen.path).expanduser()


def _fetched(state: State, folder: Path) -> Path:
    """Return the adapter that was fetched. Raises: NotFound: None was fetched. WireError: It is not what was
    fetched."""
    from hearth.edge.artifact_fetch import taken

    found = taken(state.store, folder, "adapter")
    if found is None:
        raise errors.NotFound(
            "no adapter was fetched yet; fetch one with `hearth edge sync --take adapter`, or name a file"
        )
    return found.path


def _adapters(folder: Path) -> Adapters:
    from hearth.learning.llm.adapter_versions import Adapters
    from hearth.models.llm.from_settings import ADAPTERS

    return Adapters(folder / ADAPTERS)


def _usable(state: State) -> list[Demonstration]:
    """Return the demonstrations whose plans use only tools of this state."""
    known = [entry.demonstration for entry in state.buffer.all()]
    return [d for d in known if all(step.tool in state.tools for step in d.plan.steps)]


def _said(made: Distilled, as_json: bool) -> int:
    version, verdict = made.version, made.verdict
    if as_json:
        print_json({**_version_json(version), "gate": verdict.to_json()})
    else:
        record = version.record
        click.echo(
            f"Adapter {version.number}: {len(record.ids):,} demonstrations, {record.n_trained:,} of "
            f"{record.n_parameters:,} parameters, {record.cpu_s:.0f} s of CPU."
        )
        click.echo(f"  gate      {clean(verdict.reason)}")
        if not verdict.is_promoted:
            click.echo(f"  It is not in use. `hearth adapters promote {version.number}` uses it all the same.")
    return 0 if verdict.is_promoted else 1


def _version_json(version: AdapterVersion) -> dict[str, Any]:
    from dataclasses import asdict

    return {"number": version.number, "is_current": version.is_current, "record": asdict(version.record)}
